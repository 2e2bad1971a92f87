// SPDX-License-Identifier: MIT
/*
 * A careless program: random calls of TensorFlow Lite's C interface in a random order, with the
 * delegate and without. Both must say the same, and compute the same.
 *
 * usage: real_calls RUNTIME DELEGATE FIRST COUNT MODEL... [-- KEY=VALUE...]
 *
 * Seeds FIRST to FIRST+COUNT-1 each are a model and a sequence of calls: inputs are resized, also
 * to what cannot be, memory is allocated, inputs are written or not, inferences are run. Each
 * sequence runs in a process of its own. Prints a line for each seed where the two are not the
 * same; exit 1: there was one. A single seed prints the calls.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "tflite/real_child.h"
#include "tflite/real_plugin.h"

#define STEPS 24

enum call { ALLOCATE, RESIZE, FILL, INVOKE, CALLS };

/* struct step - a call: whether it failed, and a hash of the outputs after it */
struct step {
	enum call call;
	bool failed;
	uint64_t hash;
};

struct trace {
	struct step steps[STEPS];
};

static struct real_given given;
static bool loud;

/* struct sequence - what a child is to do */
struct sequence {
	uint64_t seed;
	bool ours;
};

static size_t below(uint64_t *state, size_t limit)
{
	return (size_t)(random_next(state) % limit);
}

/* Most of the time the shape that it has, with another first dimension; else any. */
static int resize(void *interpreter, uint64_t *state)
{
	static const int sizes[] = { 0, 1, 2, 3, 5, 1, 2, 3, -1, 1 << 20, 1 << 30 };
	int32_t i = (int32_t)below(state, (size_t)tfl.input_count(interpreter));
	const struct tfl_ints *dims = tfl.input(interpreter, i)->dims;
	int count = dims && dims->size < 8 ? dims->size : 0, shape[10] = { 0 };

	for (int d = 0; d < count; d++)
		shape[d] = dims->data[d];
	if (count && below(state, 6))
		shape[0] = sizes[below(state, 8)];
	else
		shape[below(state, (size_t)count + 1)] =
			sizes[below(state, sizeof(sizes) / sizeof(sizes[0]))];
	if (!below(state, 12))
		count = (int)below(state, 9);
	if (loud)
		printf("resize input %d: %d dimensions, %d %d %d %d\n", i, count, shape[0],
		       shape[1], shape[2], shape[3]);
	return tfl.resize(interpreter, i, shape, count);
}

/* A program writes only where there is memory. */
static bool fill(void *interpreter, uint64_t seed)
{
	for (int32_t i = 0; i < tfl.input_count(interpreter); i++)
		if (!tfl.input(interpreter, i)->data.raw && tfl.input(interpreter, i)->bytes)
			return false;
	tfl_draw_inputs(interpreter, seed);
	return true;
}

/*
 * Once inputs are resized, memory that was given before may be too small until there is new: a
 * program that writes there, or reads outputs, is beyond help. What is in new memory before it is
 * written nobody knows.
 */
static void take_steps(void *interpreter, uint64_t *state, struct trace *trace)
{
	bool is_settled = true, is_written = true;

	for (size_t i = 0; i < STEPS; i++) {
		struct step *step = &trace->steps[i];
		uint64_t seed = random_next(state);

		step->call = (enum call)below(state, CALLS);
		if (step->call == RESIZE) {
			step->failed = resize(interpreter, state) != TFL_OK;
			is_settled = is_written = false;
		} else if (step->call == ALLOCATE) {
			step->failed = tfl.allocate(interpreter) != TFL_OK;
			is_settled = !step->failed;
		} else if (step->call == FILL && is_settled) {
			step->failed = !fill(interpreter, seed);
			is_written = !step->failed;
		} else if (step->call == INVOKE) {
			step->failed = tfl.invoke(interpreter) != TFL_OK;
			if (!step->failed && is_settled && is_written)
				step->hash = tfl_hash_outputs(interpreter);
		}
		if (loud)
			printf("call %zu: %d%s, outputs %016llx\n", i, step->call,
			       step->failed ? " fails" : "", (unsigned long long)step->hash);
	}
}

static void run(void *user, void *answer)
{
	const struct sequence *sequence = user;
	uint64_t state = sequence->seed;
	const void *model = given.models[below(&state, given.count)];
	void *delegate = NULL, *interpreter;

	if (sequence->ours)
		delegate = real_delegate(&given);
	interpreter = tfl_interpreter(model, delegate);
	if (!interpreter)
		errx(2, "no interpreter");
	tfl_draw_inputs(interpreter, sequence->seed);
	take_steps(interpreter, &state, answer);
	tfl.interpreter_free(interpreter);
	if (delegate)
		plugin.destroy(delegate);
}

static enum real_end try(uint64_t seed, bool ours, int fill_byte, struct trace *trace)
{
	struct sequence sequence = { seed, ours };
	const struct real_attempt attempt = {
		run, &sequence, trace, sizeof(*trace), fill_byte, loud
	};

	return real_try(&attempt);
}

/* The first call that the two differ at, or -1. */
static int differ(const struct trace *a, const struct trace *b)
{
	for (int i = 0; i < STEPS; i++)
		if (a->steps[i].failed != b->steps[i].failed ||
		    a->steps[i].hash != b->steps[i].hash)
			return i;
	return -1;
}

/* struct counts - sequences: in which the plain runtime is not steady or crashes; and all others */
struct counts {
	unsigned int unsteady, same, wrong;
};

static void judge(uint64_t seed, struct counts *counts)
{
	static struct trace plain, other, ours;
	uint64_t state = seed;
	const char *path = given.paths[below(&state, given.count)];
	enum real_end end;
	int at;

	if (try(seed, false, 0, &plain) != REAL_ENDED ||
	    try(seed, false, 0x5a, &other) != REAL_ENDED || differ(&plain, &other) >= 0) {
		counts->unsteady++;
		return;
	}
	end = try(seed, true, 0x5a, &ours);
	at = differ(&plain, &ours);
	if (end == REAL_ENDED && at < 0) {
		counts->same++;
		return;
	}
	counts->wrong++;
	printf("WRONG seed %llu, %s: ", (unsigned long long)seed, path);
	if (end == REAL_ENDED)
		printf("call %d %s, plain %s; outputs %016llx, plain %016llx\n", at,
		       ours.steps[at].failed ? "fails" : "works",
		       plain.steps[at].failed ? "fails" : "works",
		       (unsigned long long)ours.steps[at].hash,
		       (unsigned long long)plain.steps[at].hash);
	else
		puts(end == REAL_HUNG ? "hangs" : "crashes");
}

int main(int argc, char **argv)
{
	struct counts counts = { 0 };
	uint64_t first, count;

	if (argc < 6)
		errx(2, "usage: see the head of real_calls.c");
	real_load(argv[1], argv[2]);
	first = strtoull(argv[3], NULL, 10);
	count = strtoull(argv[4], NULL, 10);
	real_take(&given, argc - 5, argv + 5);
	loud = count == 1;
	for (uint64_t seed = first; seed < first + count; seed++)
		judge(seed, &counts);
	printf("seeds %llu to %llu: same %u, no right answer %u, wrong %u\n",
	       (unsigned long long)first, (unsigned long long)(first + count - 1), counts.same,
	       counts.unsteady, counts.wrong);
	real_give_up(&given);
	/* Nothing compared is nothing shown. */
	return counts.wrong != 0 || (count > 1 && !counts.same);
}
