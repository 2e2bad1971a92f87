// SPDX-License-Identifier: MIT
#include "progress.h"

#include <signal.h>
#include <unistd.h>

#include "npumemctl.h"

/* Seconds between two drawings. */
#define PERIOD 0.1

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	interrupted = 1;
}

void progress_text(const struct npuplan_pack_progress *now, double limit, char *text, size_t size)
{
	struct size_text top = size_text(now->top), bound = size_text(now->lower_bound);
	int used;

	if (now->top == UINT64_MAX)
		used = snprintf(text, size, "no %s yet, bound %s, %.1f s",
				now->traffic ? "plan" : "packing", bound.s, now->seconds);
	else
		used = snprintf(text, size, "%s %s, bound %s, gap %.2f %%, %.1f s",
				now->traffic ? "traffic" : "arena", top.s, bound.s, 100 * now->gap,
				now->seconds);
	if (limit > 0 && (size_t)used < size)
		snprintf(text + used, size - used, ", at most %.1f s left",
			 limit > now->seconds ? limit - now->seconds : 0.0);
}

void progress_begin(struct progress *progress, double limit)
{
	const struct sigaction action = {
		.sa_handler = on_interrupt,
		.sa_flags = SA_RESETHAND | SA_RESTART,
	};

	*progress = (struct progress){ .limit = limit, .drawn = -1 };
	if (!isatty(STDERR_FILENO))
		return;
	progress->out = stderr;
	interrupted = 0;
	sigaction(SIGINT, &action, NULL);
}

int progress_show(void *context, const struct npuplan_pack_progress *now)
{
	struct progress *progress = context;
	char text[160];

	if (!progress->out)
		return 0;
	if (progress->drawn < 0 || now->seconds - progress->drawn >= PERIOD) {
		progress->drawn = now->seconds;
		progress_text(now, progress->limit, text, sizeof(text));
		fprintf(progress->out, "\r\033[K%s", text);
		fflush(progress->out);
	}
	return interrupted;
}

void progress_end(struct progress *progress)
{
	if (!progress->out)
		return;
	if (progress->drawn >= 0)
		fprintf(progress->out, "\r\033[K");
	if (interrupted)
		fprintf(progress->out, "npumemctl: interrupted: the best found so far\n");
	fflush(progress->out);
	signal(SIGINT, SIG_DFL);
}
