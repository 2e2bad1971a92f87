// SPDX-License-Identifier: MIT
/*
 * storm - a program that runs a model in TensorFlow Lite with the delegate, again and again, while
 * daemon, engine or device come and go: whatever it is told, no output may be wrong.
 *
 * usage: npumem_storm RUNTIME DELEGATE MODEL KEY=VALUE...
 *
 * First it has each of some inputs computed in this process (device=none), where nothing comes and
 * goes. Then, until the file "calm" is there, it makes an interpreter, runs some inferences, and
 * makes another one. An interpreter or an inference may be refused: the first time it makes a file
 * "refused". After a round that goes well it makes a file "right". When it is calm, all has to go
 * well again: an interpreter within a minute, and its inferences; also of a process with a child,
 * which has others of its own. Prints how many were right and refused, and the different reasons;
 * exit 1: an output was wrong, or none was right, or in the end all did not go well.
 */
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tflite/tflite_runtime.h"

#define INPUTS	   4
#define INFERENCES 4
#define OPTIONS	   16
#define REASONS	   64

static struct {
	void *(*create)(char **keys, char **values, size_t count, void (*report)(const char *text));
	void (*destroy)(void *delegate);
} plugin;

/* struct given - what the command line says */
struct given {
	void *model;
	char *keys[OPTIONS], *values[OPTIONS];
	size_t count;
};

/* struct pair - an interpreter with a delegate of its own */
struct pair {
	void *delegate;
	void *interpreter;
};

static struct {
	unsigned int right, refused, wrong, made, not_made;
} counts;

static char *reasons[REASONS];
static unsigned int reason_count;

/* Numbers in it may be others each time: two that differ in digits only are one. */
static bool same_words(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		a += strspn(a, "0123456789");
		b += strspn(b, "0123456789");
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
	return *a == *b;
}

static void note_reason(const char *text)
{
	for (unsigned int i = 0; i < reason_count; i++)
		if (same_words(reasons[i], text))
			return;
	if (reason_count < REASONS)
		reasons[reason_count++] = strdup(text);
}

static void note_report(const char *text)
{
	note_reason(text);
}

static struct pair pair_new(struct given *given, size_t count)
{
	struct pair p = { plugin.create(given->keys, given->values, count, note_report), NULL };

	if (!p.delegate)
		return p;
	*tfl_said = '\0';
	p.interpreter = tfl_interpreter(given->model, p.delegate);
	if (!p.interpreter)
		note_reason(*tfl_said ? tfl_said : "no interpreter, and no reason");
	return p;
}

static void pair_free(struct pair *p)
{
	if (p->interpreter)
		tfl.interpreter_free(p->interpreter);
	if (p->delegate)
		plugin.destroy(p->delegate);
}

/* 0: it is refused. */
static uint64_t infer(const struct pair *p, uint64_t seed)
{
	tfl_draw_inputs(p->interpreter, seed);
	*tfl_said = '\0';
	if (tfl.invoke(p->interpreter) == TFL_OK)
		return tfl_hash_outputs(p->interpreter) | 1;
	note_reason(*tfl_said ? tfl_said : "an inference fails, without a reason");
	return 0;
}

static void find_right(struct given *given, uint64_t *right)
{
	static char device[] = "device", none[] = "none";
	struct pair p;

	given->keys[given->count] = device;
	given->values[given->count] = none;
	p = pair_new(given, given->count + 1);
	if (!p.interpreter)
		errx(2, "not even in this process");
	for (uint64_t i = 0; i < INPUTS; i++) {
		right[i] = infer(&p, i + 1);
		if (!right[i])
			errx(2, "not even in this process");
	}
	pair_free(&p);
}

/*
 * What a program reads of a device that is gone has no meaning. It may have gone after an inference
 * has ended, and before its outputs were read: then the next inference says so.
 */
static bool is_gone(const struct pair *p)
{
	return !infer(p, 1) && strstr(tfl_said, strerror(ENODEV));
}

/* Counts an inference of the @i-th input. True: it was right. */
static bool judge(const struct pair *p, uint64_t i, const uint64_t *right)
{
	uint64_t hash = infer(p, i % INPUTS + 1);
	bool good = hash == right[i % INPUTS], refused = !hash || (!good && is_gone(p));

	counts.right += good;
	counts.refused += refused;
	counts.wrong += !good && !refused;
	return good;
}

/* True: all was right. */
static bool one_round(struct given *given, const uint64_t *right)
{
	struct pair p = pair_new(given, given->count);
	bool good = p.interpreter != NULL;

	counts.made += good;
	counts.not_made += !good;
	for (uint64_t i = 0; p.interpreter && i < INFERENCES; i++)
		if (!judge(&p, i, right))
			good = false;
	pair_free(&p);
	return good;
}

/*
 * A child has what its parent has, and goes on with it while that does, too; then with what is its
 * own. Whatever becomes of the child's, both have no wrong output, and the parent none refused.
 */
static bool both_go_on(struct given *given, const uint64_t *right)
{
	struct pair p = pair_new(given, given->count);
	unsigned int refused = counts.refused, wrong = counts.wrong;
	int status = 1;
	bool good;
	pid_t pid;

	if (!p.interpreter) {
		pair_free(&p);
		return false;
	}
	pid = fork();
	for (uint64_t i = 0; i < INFERENCES; i++)
		judge(&p, i, right);
	pair_free(&p);
	if (!pid) {
		good = one_round(given, right);
		printf("a child: %u inferences of its parent's interpreter refused, %u wrong; its "
		       "own %s\n",
		       counts.refused - refused, counts.wrong - wrong,
		       good ? "right" : "not right");
		fflush(stdout);
		_exit(!good || counts.wrong != wrong);
	}
	good = counts.refused == refused && counts.wrong == wrong;
	return waitpid(pid, &status, 0) == pid && !status && good;
}

/* To whoever makes the storm: there is a file. */
static void tell(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

static void take_options(struct given *given, int argc, char **argv)
{
	for (int i = 0; i < argc && given->count < OPTIONS - 1; i++) {
		given->keys[given->count] = strtok(argv[i], "=");
		given->values[given->count++] = strtok(NULL, "");
	}
}

int main(int argc, char **argv)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	struct given given = { 0 };
	uint64_t right[INPUTS];
	bool well = false;
	void *library;
	time_t end;

	if (argc < 4)
		errx(2, "usage: npumem_storm RUNTIME DELEGATE MODEL KEY=VALUE...");
	tfl_load(argv[1]);
	library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		errx(2, "%s", dlerror());
	tfl_find(library, "tflite_plugin_create_delegate", &plugin.create);
	tfl_find(library, "tflite_plugin_destroy_delegate", &plugin.destroy);
	given.model = tfl.model_new(argv[3]);
	if (!given.model)
		errx(2, "%s: not a model", argv[3]);
	take_options(&given, argc - 4, argv + 4);
	find_right(&given, right);
	while (access("calm", F_OK)) {
		bool good = one_round(&given, right);

		tell(good ? "right" : "refused");
		if (!good)
			nanosleep(&moment, NULL);
	}
	for (end = now() + 60; !well && now() < end;) {
		well = one_round(&given, right);
		if (!well)
			nanosleep(&moment, NULL);
	}
	fflush(stdout);
	if (well && !both_go_on(&given, right)) {
		puts("parent and child do not both go on");
		well = false;
	}
	printf("%u inferences right, %u refused, %u wrong; %u interpreters made, %u refused\n",
	       counts.right, counts.refused, counts.wrong, counts.made, counts.not_made);
	for (unsigned int i = 0; i < reason_count; i++)
		printf("  %.300s\n", reasons[i]);
	if (!well)
		puts("in the end all does not go well");
	return !well || counts.wrong || !counts.right;
}
