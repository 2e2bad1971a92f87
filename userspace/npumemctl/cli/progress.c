// SPDX-License-Identifier: MIT
#include "progress.h"

#include <signal.h>
#include <unistd.h>

#include "cli.h"
#include "../../monotonic/monotonic.h"

/* Seconds between two drawings. */
#define PERIOD 0.1

/*
 * What ends a search.  SIGXCPU comes at a soft limit of processor time, and then every
 * second up to the hard one: it is never the end by itself.
 */
static const int signals[] = { SIGINT, SIGTERM, SIGXCPU };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t interrupted;
static struct sigaction before[SIGNALS];

static void on_interrupt(int signal)
{
	interrupted = 1;
}

void progress_text(const struct npuplan_pack_progress *now, double limit, char *text, size_t size)
{
	const char *what = now->traffic ? "traffic" : "arena";
	int used;

	if (now->top == UINT64_MAX)
		used = snprintf(text, size, "no %s yet", now->traffic ? "plan" : "packing");
	else
		used = snprintf(text, size, "%s %s", what, short_size(now->top).s);
	/* Of traffic, none at all is a bound like others. */
	if (now->lower_bound || (now->traffic && now->top != UINT64_MAX))
		used += snprintf(text + used, size - used, ", bound %s",
				 short_size(now->lower_bound).s);
	if (now->top != UINT64_MAX && (now->lower_bound || now->traffic))
		used += snprintf(text + used, size - used, ", gap %.2f %%", 100 * now->gap);
	used += snprintf(text + used, size - used, ", %.1f s", now->seconds);
	if (limit > 0)
		snprintf(text + used, size - used, ", at most %.1f s left",
			 limit > now->seconds ? limit - now->seconds : 0.0);
}

void progress_begin(struct progress *progress, double limit)
{
	*progress =
		(struct progress){ .limit = limit, .drawn = -1, .started = monotonic_seconds() };
	progress->draws = isatty(STDERR_FILENO) && terminal_rewrites(STDERR_FILENO);
	for (size_t i = 0; i < SIGNALS; i++) {
		const struct sigaction action = {
			.sa_handler = on_interrupt,
			.sa_flags = SA_RESTART | (signals[i] == SIGXCPU ? 0 : SA_RESETHAND),
		};

		/* Also where it was ignored, as a shell has it of jobs in the background. */
		sigaction(signals[i], &action, &before[i]);
	}
}

bool progress_interrupted(void)
{
	return interrupted;
}

const char *progress_ended_by(bool memory, double seconds, double deadline, uint64_t work,
			      uint64_t work_limit)
{
	if (interrupted)
		return "interrupt";
	if (memory)
		return "memory";
	if (deadline > 0 && seconds >= deadline)
		return "deadline";
	if (work_limit && work >= work_limit)
		return "work";
	return NULL;
}

int progress_show(void *context, const struct npuplan_pack_progress *now)
{
	struct progress *progress = context;
	char text[160];

	progress->work = now->work;
	if (progress->draws && (progress->drawn < 0 || now->seconds - progress->drawn >= PERIOD)) {
		progress->drawn = now->seconds;
		progress_text(now, progress->limit, text, sizeof(text));
		fputs("\r\033[K", stderr);
		/* In the last place the cursor would go on to the next line. */
		print_cut(stderr, text, terminal_width(STDERR_FILENO) - 1);
		fflush(stderr);
	}
	return interrupted;
}

void progress_end(struct progress *progress)
{
	progress->seconds = monotonic_seconds() - progress->started;
	if (progress->drawn >= 0)
		fprintf(stderr, "\r\033[K");
	if (interrupted)
		fprintf(stderr, "npumemctl: interrupted: the best found so far\n");
	fflush(stderr);
	for (size_t i = 0; i < SIGNALS; i++)
		if (signals[i] != SIGXCPU)
			sigaction(signals[i], &before[i], NULL);
}
