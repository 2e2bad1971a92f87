/* SPDX-License-Identifier: MIT */
/* npumemctl top: who holds the carveout of a device, and what runs, again and again. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "npumem.h"
#include "commands.h"
#include "cli/cli.h"
#include "live/event_text.h"
#include "live/top.h"

#define SECONDS	   2.0
/* Lines that are shown where nobody says how many there is room for. */
#define MANY_LINES 10000

struct arguments {
	const char *device;
	double seconds;
	uint32_t count;
	bool json;
};

static const struct command_option options[] = {
	{ "count", 'n', VALUE_COUNT, "N",
	  "End after N times; where the output is no terminal, 1 is the default",
	  offsetof(struct arguments, count), .min = 1, .max = 1000000000 },
	{ "delay", 0, VALUE_SECONDS, "SECONDS", "Time from one to the next (2)",
	  offsetof(struct arguments, seconds) },
	{ "device", 'd', VALUE_TEXT, "PATH", "Another device node than the first",
	  offsetof(struct arguments, device), .files = DEVICE_NODES },
	{ "json", 'j', VALUE_FLAG, NULL, "Print a JSON object in a line, each time",
	  offsetof(struct arguments, json) },
	{ 0 },
};

static const struct command command = {
	.options = options,
	.parse = no_arguments,
	.doc = "Show who holds how much of a device's carveout, how busy its engines are and with "
	       "whose jobs, and what is moved between arenas and host memory. It ends with q.",
};

static volatile sig_atomic_t ended, stopped;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

/* ------------------------------------------------------------------- terminal */

/*
 * struct screen - where it is shown
 * @draws: on a terminal, each time in the same place
 * @keys: standard input gives keys as they are pressed; @saved is what it did before
 */
struct screen {
	bool draws;
	bool keys;
	struct termios saved;
};

static struct screen screen_begin(bool json)
{
	struct screen screen = { .draws = !json && terminal_rewrites(STDOUT_FILENO) };

	if (!screen.draws)
		return screen;
	screen.keys = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &screen.saved);
	if (screen.keys) {
		struct termios raw = screen.saved;

		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	/* Another screen, without a cursor; what was there comes back in the end. */
	fputs("\033[?1049h\033[?25l", stdout);
	return screen;
}

static void screen_end(const struct screen *screen)
{
	if (screen->draws)
		fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (screen->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen->saved);
}

static void catch_signal(int signal, void (*handler)(int signal))
{
	const struct sigaction action = { .sa_handler = handler };
	struct sigaction old;

	if (!sigaction(signal, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(signal, &action, NULL);
}

/* Whatever ends or stops it leaves the terminal as it was. */
static void catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		catch_signal(ends[i], end);
	catch_signal(SIGTSTP, stop);
}

/*
 * Stops as ^Z asks for, and goes on with the other screen, if it had that. The signal does as it
 * would have, which is nothing where no shell is there that could let it go on.
 */
static void screen_stop(struct screen *screen)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	bool draws = screen->draws;

	screen_end(screen);
	stopped = 0;
	sigaction(SIGTSTP, &usual, NULL);
	raise(SIGTSTP);
	catch_signal(SIGTSTP, stop);
	*screen = screen_begin(!draws);
}

/* Waits until a time; a key may end it all. After a stop there is nothing to wait for. */
static void wait_until(struct screen *screen, int64_t until)
{
	struct pollfd input = { .fd = screen->keys ? STDIN_FILENO : -1, .events = POLLIN };

	while (!ended) {
		int64_t left = until - npumem_deadline(0);
		char key;

		if (stopped) {
			screen_stop(screen);
			return;
		}
		if (left <= 0)
			return;
		if (poll(&input, 1, (int)(left / 1000000 + 1 < 1000 ? left / 1000000 + 1 : 1000)) <=
		    0)
			continue;
		if (read(STDIN_FILENO, &key, 1) != 1)
			input.fd = -1;
		else if (key == 'q' || key == 'Q' || key == 4)
			ended = 1;
	}
}

/* -------------------------------------------------------------------- samples */

static void sample_free(struct top_sample *sample)
{
	free(sample->banks);
	free(sample->engines);
	live_free(&sample->clients);
	*sample = (struct top_sample){ 0 };
}

static int add_holders(struct npumem_device *device, struct top_sample *sample,
		       struct npumem_error *error)
{
	struct drm_npumem_holder *holders = NULL;
	uint32_t count = 0;
	int err = npumem_device_holders(device, &holders, &count, error);

	/* Then only those are shown whose open files may be seen. */
	sample->clients.partial = err == -EACCES;
	if (err == -EACCES)
		return 0;
	err = err ? err : live_add_holders(&sample->clients, holders, count);
	free(holders);
	return err;
}

static int sample_take(struct npumem_device *device, const char *path, struct top_sample *sample,
		       struct npumem_error *error)
{
	struct drm_npumem_info info = { 0 };
	struct stat status;
	int err;

	*sample = (struct top_sample){ .path = path, .time_ns = npumem_deadline(0) };
	*error = (struct npumem_error){ 0 };
	err = npumem_device_info(device, &info, error);
	sample->clock = clock_seconds();
	sample->daemon = info.daemon;
	if (!stat(path, &status))
		sample->device = minor(status.st_rdev);
	if (!err)
		err = npumem_device_banks(device, &sample->banks, &sample->bank_count, error);
	if (!err)
		err = npumem_device_engines(device, &sample->engines, &sample->engine_count, error);
	if (!err)
		err = live_find("/proc", path, &sample->clients);
	if (!err)
		err = add_holders(device, sample, error);
	if (!err)
		return 0;
	if (!*error->text)
		snprintf(error->text, sizeof(error->text), "%s", strerror(-err));
	sample_free(sample);
	return err;
}

/* Prints a sample; 0, or a negative errno. */
static int show(const struct screen *screen, bool json, const struct top_sample *now,
		const struct top_sample *before)
{
	unsigned int width = terminal_width(STDOUT_FILENO), lines = MANY_LINES;
	json_t *object;
	char *line;

	if (json) {
		object = top_json(now, before);
		line = object ? json_dumps(object, JSON_COMPACT) : NULL;
		json_decref(object);
		if (!line)
			return -ENOMEM;
		puts(line);
		free(line);
	} else {
		/*
		 * The last line stays free, and none is continued on the next whatever $COLUMNS
		 * says, so that nothing scrolls.
		 */
		if (screen->draws) {
			lines = terminal_height(STDOUT_FILENO) - 1;
			if (width > terminal_columns(STDOUT_FILENO))
				width = terminal_columns(STDOUT_FILENO);
			fputs("\033[H\033[J", stdout);
		}
		top_print(stdout, now, before, width, lines);
	}
	return fflush(stdout) ? -errno : 0;
}

static int watch(struct npumem_device *device, const char *path, const struct arguments *args)
{
	int64_t delay = (int64_t)((args->seconds > 0 ? args->seconds : SECONDS) * 1e9);
	struct top_sample now = { 0 }, before = { 0 };
	struct npumem_error error = { 0 };
	int err = sample_take(device, path, &before, &error);
	struct screen screen;
	uint32_t left;

	if (err)
		return failure(path, "%s", error.text);
	catch_signals();
	screen = screen_begin(args->json);
	left = args->count ? args->count : screen.draws ? 0 : 1;
	/* Something is there at once, as far as it is known. */
	if (screen.draws)
		err = show(&screen, args->json, &before, NULL);
	while (!err) {
		wait_until(&screen, before.time_ns + delay);
		if (ended)
			break;
		err = sample_take(device, path, &now, &error);
		if (err)
			break;
		/* The last of those that were asked for stays to be read. */
		if (left == 1) {
			screen_end(&screen);
			screen = (struct screen){ 0 };
		}
		err = show(&screen, args->json, &now, &before);
		sample_free(&before);
		before = now;
		if (left == 1)
			break;
		left -= left != 0;
	}
	sample_free(&before);
	screen_end(&screen);
	if (err)
		return failure(*error.text ? path : "standard output", "%s",
			       *error.text ? error.text : strerror(-err));
	return EXIT_OK;
}

int cmd_top(int argc, char **argv)
{
	struct npumem_error error = { 0 };
	struct npumem_device *device = NULL;
	struct arguments args = { 0 };
	char **paths = NULL;
	uint32_t count = 0;
	int status;

	command_parse(&command, argc, argv, &args);
	if (!args.device && (npumem_device_list(&paths, &count, &error) || !count))
		return no_device(&error);
	if (!args.device)
		args.device = paths[0];
	if (npumem_device_open(args.device, &device, &error))
		status = failure(args.device, "%s", error.text);
	else
		status = watch(device, args.device, &args);
	npumem_device_close(device);
	free(paths);
	return status;
}
