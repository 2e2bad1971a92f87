// SPDX-License-Identifier: MIT
/*
 * Damaged models in a real TensorFlow Lite: the delegate must not crash, hang or compute anything
 * else where the plain runtime does none of that.
 *
 * usage: real_mutants RUNTIME DELEGATE truncated|mutated FIRST COUNT MODEL... [-- KEY=VALUE...]
 *
 * Seeds FIRST to FIRST+COUNT-1 each take a model and damage it. Each attempt is a process of its
 * own. The plain runtime tries it twice, on fresh memory of different bytes: a model that reads
 * what nobody wrote has no right answer. Prints a line for each seed that is not as it should be,
 * and how many there were of each kind; exit 1: there was such a line. A single seed prints what
 * the runtime says, too, and leaves the model as mutant.tflite.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "tflite/real_child.h"
#include "tflite/real_plugin.h"

/* enum fate - what became of an attempt; the later ones are the worse ones */
enum fate {
	RAN,
	FAILED,	 /* refused when it was to run */
	REFUSED, /* refused before */
	CRASHED,
	HUNG,
	FATES,
};

/*
 * struct attempt - what a child says
 * @hash: of all outputs
 * @claimed: operators that the delegate has
 */
struct attempt {
	enum fate fate;
	uint64_t hash;
	uint32_t claimed;
};

struct bytes {
	unsigned char *data;
	size_t size;
};

static struct real_given given;
static struct bytes files[REAL_MODELS];
static bool loud;

static struct bytes file_of(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct bytes b = { 0 };
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 1)
		err(2, "%s", path);
	rewind(file);
	b.size = (size_t)size;
	b.data = malloc(b.size);
	if (!b.data || fread(b.data, 1, b.size, file) != b.size)
		err(2, "%s", path);
	fclose(file);
	return b;
}

/* -------------------------------------------------------------------- mutations */

static size_t below(uint64_t *state, size_t limit)
{
	return (size_t)(random_next(state) % limit);
}

/*
 * Where a model is damaged. Most of a file are weights, which may have any bytes; small numbers are
 * offsets, sizes, shapes and indices, so half of all places are such.
 */
static size_t place(const struct bytes *b, uint64_t *state)
{
	bool structure = random_next(state) & 1;
	size_t at = 0;

	for (int tries = 0; tries < 64; tries++) {
		uint32_t word;

		at = below(state, b->size / 4) * 4;
		memcpy(&word, b->data + at, sizeof(word));
		if (!structure || (word && word < 4096))
			break;
	}
	return at;
}

static void mutate_once(struct bytes *b, uint64_t *state)
{
	static const uint32_t numbers[] = { 0,	    1,	 2,	     3,	    4,	     0xffffffff,
					    0xfffe, 255, 0x7fffffff, 65536, 16777216 };
	size_t at = place(b, state), length;
	uint32_t word;

	memcpy(&word, b->data + at, sizeof(word));
	switch (below(state, 6)) {
	case 0:
		b->data[at + below(state, 4)] ^= (unsigned char)(1u << below(state, 8));
		return;
	case 1:
		b->data[at + below(state, 4)] = (unsigned char)random_next(state);
		return;
	case 2:
		word = numbers[below(state, sizeof(numbers) / sizeof(numbers[0]))];
		break;
	case 3:
		word += (uint32_t)below(state, 9) - 4;
		break;
	case 4: /* what is elsewhere in the file */
		memcpy(&word, b->data + place(b, state), sizeof(word));
		break;
	default:
		length = below(state, 16) * 4;
		if (at + length <= b->size)
			memset(b->data + at, 0, length);
		return;
	}
	memcpy(b->data + at, &word, sizeof(word));
}

/* The model that a seed makes; free() its data. */
static struct bytes mutant(uint64_t seed, bool truncate, size_t *model)
{
	uint64_t state = seed;
	const struct bytes *from;
	struct bytes b;

	*model = below(&state, given.count);
	from = &files[*model];
	b.size = truncate ? below(&state, from->size) : from->size;
	b.data = malloc(b.size + 1);
	if (!b.data)
		err(2, "memory");
	memcpy(b.data, from->data, b.size);
	if (!truncate)
		for (size_t i = 1 + below(&state, 4); i; i--)
			mutate_once(&b, &state);
	return b;
}

/* --------------------------------------------------------------------- attempts */

/* Inputs and outputs may be no tensors; inputs may have no memory: nobody reads these then. */
static enum fate infer(void *interpreter, struct attempt *a)
{
	for (int32_t i = 0; i < tfl.input_count(interpreter); i++)
		if (!tfl.input(interpreter, i) ||
		    (!tfl.input(interpreter, i)->data.raw && tfl.input(interpreter, i)->bytes))
			return FAILED;
	for (uint64_t seed = 1; seed <= 2; seed++) {
		tfl_draw_inputs(interpreter, seed);
		if (tfl.invoke(interpreter) != TFL_OK)
			return FAILED;
		a->hash = a->hash * 31 + tfl_hash_outputs(interpreter);
	}
	return RAN;
}

static void try(const struct bytes *b, bool ours, struct attempt *a)
{
	struct npumem_tflite_stats stats = { .size = sizeof(stats) };
	void *model = tfl.model_of_bytes(b->data, b->size), *delegate = NULL, *interpreter;

	a->fate = REFUSED;
	if (!model)
		return;
	if (ours)
		delegate = real_delegate(&given);
	interpreter = tfl_interpreter(model, delegate);
	if (interpreter)
		a->fate = infer(interpreter, a);
	if (ours && !plugin.stats(delegate, &stats))
		a->claimed = stats.claimed;
	if (interpreter)
		tfl.interpreter_free(interpreter);
	if (ours)
		plugin.destroy(delegate);
	tfl.model_free(model);
}

/* struct trial - what a child gets */
struct trial {
	const struct bytes *bytes;
	bool ours;
};

static void run(void *user, void *answer)
{
	const struct trial *trial = user;

	try(trial->bytes, trial->ours, answer);
}

static struct attempt attempt(const struct bytes *b, bool ours, int fill)
{
	struct trial trial = { b, ours };
	struct attempt a;
	const struct real_attempt child = { run, &trial, &a, sizeof(a), fill, loud };
	enum real_end end = real_try(&child);

	if (end != REAL_ENDED)
		a.fate = end == REAL_HUNG ? HUNG : CRASHED;
	return a;
}

/* ----------------------------------------------------------------------- verdict */

static const char *const names[FATES] = { "runs", "fails", "refuses", "crashes", "hangs" };

static bool is_bad(enum fate fate)
{
	return fate == CRASHED || fate == HUNG;
}

/* struct counts - how many seeds came to what */
struct counts {
	unsigned int plain[FATES], ours[FATES];
	unsigned int claimed, compared, refused_alone, run_alone, beyond, wrong;
};

/*
 * Who refuses more than the plain runtime says so, and is no danger. The plain runtime fails where
 * an operator reads a tensor that nobody writes; the delegate cannot tell that from an input of the
 * model, and has zeros there.
 */
static bool is_wrong(const struct attempt *plain, bool steady, const struct attempt *ours,
		     struct counts *counts)
{
	counts->plain[plain->fate]++;
	counts->ours[ours->fate]++;
	counts->claimed += ours->fate == RAN && ours->claimed;
	if (is_bad(plain->fate))
		return false;
	if (is_bad(ours->fate))
		return true;
	counts->refused_alone += plain->fate == RAN && ours->fate != RAN;
	counts->run_alone += plain->fate == FAILED && ours->fate == RAN;
	if (plain->fate != RAN || ours->fate != RAN)
		return plain->fate == REFUSED && ours->fate == RAN;
	counts->compared += steady;
	return steady && plain->hash != ours->hash;
}

/*
 * Kernels that go beyond their tensors, as some do with strides that overflow, compute what lies
 * there: something else with each plan.
 */
static bool depends_on_places(const struct bytes *b, const struct attempt *ours)
{
	static const char *const planners[] = { "greedy-start", "greedy-duration", "nnc" };
	bool differs = false;

	for (size_t i = 0; i < given.option_count; i++)
		if (strcmp(given.keys[i], "planner") == 0)
			return false;
	given.keys[given.option_count] = strdup("planner");
	for (size_t i = 0; i < sizeof(planners) / sizeof(planners[0]) && !differs; i++) {
		struct attempt other;

		given.values[given.option_count++] = strdup(planners[i]);
		other = attempt(b, true, 0x5a);
		free(given.values[--given.option_count]);
		differs = other.fate != ours->fate || other.hash != ours->hash;
	}
	free(given.keys[given.option_count]);
	return differs;
}

static void judge(uint64_t seed, size_t model, const struct bytes *b, struct counts *counts)
{
	struct attempt plain = attempt(b, false, 0);
	struct attempt other = is_bad(plain.fate) ? plain : attempt(b, false, 0x5a);
	struct attempt ours = attempt(b, true, 0x5a);
	bool steady = plain.fate == other.fate && plain.hash == other.hash, wrong;
	const char *name = strrchr(given.paths[model], '/');

	if (is_bad(other.fate))
		plain = other;
	wrong = is_wrong(&plain, steady, &ours, counts);
	if (wrong && ours.fate == RAN && depends_on_places(b, &ours)) {
		counts->beyond++;
		wrong = false;
	}
	counts->wrong += wrong;
	if (wrong || loud || plain.fate != ours.fate)
		printf("%s seed %llu, %s: plain %s, delegate %s%s\n", wrong ? "WRONG" : "note",
		       (unsigned long long)seed, name ? name + 1 : given.paths[model],
		       names[plain.fate], names[ours.fate],
		       wrong && ours.fate == RAN ? ", and outputs differ" : "");
}

static void keep(const struct bytes *b)
{
	FILE *file = fopen("mutant.tflite", "wb");

	if (!file || fwrite(b->data, 1, b->size, file) != b->size || fclose(file))
		err(2, "mutant.tflite");
}

int main(int argc, char **argv)
{
	struct counts counts = { 0 };
	uint64_t first, count;
	bool truncated;

	if (argc < 7)
		errx(2, "usage: see the head of real_mutants.c");
	real_load(argv[1], argv[2]);
	truncated = strcmp(argv[3], "truncated") == 0;
	first = strtoull(argv[4], NULL, 10);
	count = strtoull(argv[5], NULL, 10);
	real_take(&given, argc - 6, argv + 6);
	for (size_t i = 0; i < given.count; i++)
		files[i] = file_of(given.paths[i]);
	loud = count == 1;
	for (uint64_t seed = first; seed < first + count; seed++) {
		size_t model;
		struct bytes b = mutant(seed, truncated, &model);

		if (loud)
			keep(&b);
		judge(seed, model, &b, &counts);
		free(b.data);
	}
	printf("%s, seeds %llu to %llu:", argv[3], (unsigned long long)first,
	       (unsigned long long)(first + count - 1));
	for (int i = 0; i < FATES; i++)
		printf(" plain %s %u, delegate %u;", names[i], counts.plain[i], counts.ours[i]);
	printf(" with operators claimed %u, compared %u, refused by the delegate alone %u, "
	       "run by it alone %u, kernels that go beyond their tensors %u, wrong %u\n",
	       counts.claimed, counts.compared, counts.refused_alone, counts.run_alone,
	       counts.beyond, counts.wrong);
	for (size_t i = 0; i < given.count; i++)
		free(files[i].data);
	real_give_up(&given);
	/* Nothing compared is nothing shown; of a file that is cut off there is nothing. */
	return counts.wrong != 0 || (count > 1 && !truncated && !counts.compared);
}
