// SPDX-License-Identifier: MIT
/*
 * What a program that runs for days does to a real TensorFlow Lite with the delegate.
 *
 * usage: real_lasting RUNTIME DELEGATE WHAT COUNT MODEL... [-- KEY=VALUE...]
 *
 * WHAT:
 *   inferences  COUNT of the first model: no memory, descriptors or mappings are left over
 *   rounds      delegates and interpreters are made, used and given up COUNT times: the same
 *   many        COUNT interpreters at once, a delegate each; all of them compute what the first
 *               does
 *   threads     two threads make, use and give up COUNT interpreters each, of all models; each
 *               inference is compared with the plain runtime's
 *   fork        a child goes on with what its parent has made, and so does the parent
 *   first       the delegate is destroyed before its interpreter, which is then used
 *   reset       COUNT times some inferences, after which variables are reset, or tensors allocated
 *               again; each is compared with the plain runtime's, and the first one after a reset
 *               with the first one of all
 */
#include <dirent.h>
#include <err.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tflite/real_child.h"
#include "tflite/real_plugin.h"

/* What libraries allocate once, and caches, have come to rest after these. */
#define WARM_UP 100

static struct real_given given;

/* struct pair - an interpreter, and the delegate that it has; NULL: the plain runtime */
struct pair {
	void *delegate;
	void *interpreter;
};

static struct pair pair_new(size_t model, bool ours)
{
	struct pair p = { 0 };

	if (ours && plugin.create)
		p.delegate = real_delegate(&given);
	p.interpreter = tfl_interpreter(given.models[model], p.delegate);
	if (!p.interpreter)
		errx(1, "no interpreter");
	return p;
}

static void pair_free(struct pair *p)
{
	tfl.interpreter_free(p->interpreter);
	if (p->delegate)
		plugin.destroy(p->delegate);
}

static void infer(void *interpreter, uint64_t seed)
{
	tfl_draw_inputs(interpreter, seed);
	if (tfl.invoke(interpreter) != TFL_OK)
		errx(1, "seed %llu: the inference fails", (unsigned long long)seed);
}

static void same(const void *a, const void *b, uint64_t seed)
{
	for (int32_t i = 0; i < tfl.output_count(a); i++) {
		const struct tfl_tensor *x = tfl.output(a, i), *y = tfl.output(b, i);

		if (x->bytes != y->bytes || memcmp(x->data.raw, y->data.raw, x->bytes) != 0)
			errx(1, "seed %llu: output %d differs", (unsigned long long)seed, i);
	}
}

/* ------------------------------------------------------------------------ growth */

/* struct held - what the process has: bytes of the heap and resident, descriptors, mappings */
struct held {
	size_t heap;
	size_t resident;
	unsigned int descriptors;
	unsigned int mappings;
};

static unsigned int count_lines(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned int lines = 0;
	int c;

	if (!file)
		err(2, "%s", path);
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

static unsigned int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	if (!dir)
		err(2, "/proc/self/fd");
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static struct held held_now(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t total = 0, resident = 0;

	if (!file || fscanf(file, "%zu %zu", &total, &resident) != 2)
		err(2, "/proc/self/statm");
	fclose(file);
	return (struct held){ mallinfo2().uordblks, resident * (size_t)sysconf(_SC_PAGESIZE),
			      count_descriptors(), count_lines("/proc/self/maps") };
}

/*
 * Reading the figures takes some pages by itself. What malloc() keeps for the next call counts as
 * the process's: without GLIBC_TUNABLES=glibc.malloc.tcache_count=0 the heap grows a little.
 */
static void check_held(const struct held *before, uint64_t count)
{
	struct held after = held_now();

	printf("%llu: heap %zu to %zu, resident %zu to %zu, descriptors %u to %u, mappings %u to %u\n",
	       (unsigned long long)count, before->heap, after.heap, before->resident,
	       after.resident, before->descriptors, after.descriptors, before->mappings,
	       after.mappings);
	if (after.descriptors > before->descriptors || after.mappings > before->mappings)
		errx(1, "descriptors or mappings are left over");
	if (!REAL_SANITIZED &&
	    (after.heap > before->heap + 4096 || after.resident > before->resident + (256u << 10)))
		errx(1, "memory is left over");
}

static void inferences(uint64_t count)
{
	struct pair p = pair_new(0, true);
	struct held before = { 0 };

	for (uint64_t i = 0; i < count + WARM_UP; i++) {
		if (i == WARM_UP)
			before = held_now();
		infer(p.interpreter, i);
	}
	check_held(&before, count);
	pair_free(&p);
}

static void rounds(uint64_t count)
{
	struct held before = { 0 };

	for (uint64_t i = 0; i < count + WARM_UP; i++) {
		struct pair p;

		if (i == WARM_UP)
			before = held_now();
		p = pair_new(0, true);
		infer(p.interpreter, i);
		pair_free(&p);
	}
	check_held(&before, count);
}

/* --------------------------------------------------------------------- at once */

static void many(uint64_t count)
{
	struct pair *all = calloc(count, sizeof(*all));

	if (!all)
		err(2, "memory");
	for (uint64_t i = 0; i < count; i++)
		all[i] = pair_new(0, true);
	for (uint64_t i = 0; i < count; i++) {
		infer(all[i].interpreter, 1);
		same(all[0].interpreter, all[i].interpreter, 1);
	}
	for (uint64_t i = 0; i < count; i++)
		pair_free(&all[i]);
	free(all);
}

static void *thread(void *user)
{
	const uint64_t *count = user;

	for (uint64_t i = 0; i < *count; i++) {
		struct pair plain = pair_new(i % given.count, false);
		struct pair ours = pair_new(i % given.count, true);

		for (uint64_t seed = 1; seed <= 3; seed++) {
			infer(plain.interpreter, seed);
			infer(ours.interpreter, seed);
			same(plain.interpreter, ours.interpreter, seed);
		}
		pair_free(&ours);
		pair_free(&plain);
	}
	return NULL;
}

static void threads(uint64_t count)
{
	pthread_t both[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&both[i], NULL, thread, &count))
			err(2, "thread");
	for (int i = 0; i < 2; i++)
		pthread_join(both[i], NULL);
}

/* ------------------------------------------------------------------------- misuse */

static void both_sides(uint64_t count)
{
	struct pair plain = pair_new(0, false), ours = pair_new(0, true);
	int status = 0;
	pid_t pid = fork();

	for (uint64_t seed = 1; seed <= count; seed++) {
		infer(plain.interpreter, seed);
		infer(ours.interpreter, seed);
		same(plain.interpreter, ours.interpreter, seed);
	}
	pair_free(&ours);
	pair_free(&plain);
	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		errx(1, "the child fails");
}

static void destroyed_first(uint64_t count)
{
	struct pair plain = pair_new(0, false), ours = pair_new(0, true);

	plugin.destroy(ours.delegate);
	ours.delegate = NULL;
	for (uint64_t seed = 1; seed <= count; seed++) {
		infer(plain.interpreter, seed);
		infer(ours.interpreter, seed);
		same(plain.interpreter, ours.interpreter, seed);
	}
	pair_free(&ours);
	pair_free(&plain);
}

/* ---------------------------------------------------------------------- variables */

static void begin_anew(void *interpreter, bool allocate)
{
	if ((allocate ? tfl.allocate(interpreter) : tfl.reset(interpreter)) != TFL_OK)
		errx(1, "%s fails", allocate ? "allocating tensors" : "resetting variables");
}

/* Returns how many outputs of the same input differed, as the state did. */
static uint64_t resets(size_t model, uint64_t count)
{
	struct pair plain = pair_new(model, false), ours = pair_new(model, true);
	uint64_t first = 0, differ = 0;

	for (uint64_t i = 0; i < count; i++) {
		for (uint64_t k = 0; k < 3; k++) {
			infer(plain.interpreter, 1);
			infer(ours.interpreter, 1);
			same(plain.interpreter, ours.interpreter, 1);
			if (!first)
				first = tfl_hash_outputs(ours.interpreter);
			differ += tfl_hash_outputs(ours.interpreter) != first;
			if (!k && i % 3 != 2 && tfl_hash_outputs(ours.interpreter) != first)
				errx(1, "round %llu: a reset leaves something of the state",
				     (unsigned long long)i);
		}
		/* Tensors that are allocated again are not reset, by neither. */
		if (i % 3 == 1)
			begin_anew(plain.interpreter, true), begin_anew(ours.interpreter, true);
		else
			begin_anew(plain.interpreter, false), begin_anew(ours.interpreter, false);
	}
	pair_free(&ours);
	pair_free(&plain);
	return differ;
}

static void reset(uint64_t count)
{
	uint64_t differ = 0;

	for (size_t i = 0; i < given.count; i++)
		differ += resets(i, count);
	printf("%llu outputs of %zu models were others for their state\n",
	       (unsigned long long)differ, given.count);
	if (!differ)
		errx(1, "none of these models has a state");
}

static const struct {
	const char *name;
	void (*run)(uint64_t count);
} all[] = {
	{ "inferences", inferences }, { "rounds", rounds },   { "many", many },
	{ "threads", threads },	      { "fork", both_sides }, { "first", destroyed_first },
	{ "reset", reset },
};

int main(int argc, char **argv)
{
	if (argc < 6)
		errx(2, "usage: see the head of real_lasting.c");
	real_load(argv[1], argv[2]);
	real_take(&given, argc - 5, argv + 5);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].name, argv[3]) == 0) {
			all[i].run(strtoull(argv[4], NULL, 10));
			real_give_up(&given);
			return 0;
		}
	errx(2, "%s: there is no such part", argv[3]);
}
