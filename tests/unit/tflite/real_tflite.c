// SPDX-License-Identifier: MIT
/*
 * Models run by a real TensorFlow Lite, with the delegate and without, on the same random inputs:
 * all outputs must have the same bytes.
 *
 * usage: real_tflite RUNTIME DELEGATE SEEDS MODEL [KEY=VALUE]...
 *
 * DELEGATE "-": only without. KEY "once": inputs are written before each inference; KEY "batch":
 * all of it again with so many inputs at a time, and once more with one. Exit 3: the runtime
 * itself does not run the model; 1: with the delegate it does not, or outputs differ.
 */
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real_plugin.h"

#define MAX_OPTIONS 16

/* --------------------------------------------------------------------- compare */

static bool same_outputs(const void *plain, const void *ours, uint64_t seed)
{
	for (int32_t i = 0; i < tfl.output_count(plain); i++) {
		const struct tfl_tensor *a = tfl.output(plain, i), *b = tfl.output(ours, i);

		if (a->bytes == b->bytes && !memcmp(a->data.raw, b->data.raw, a->bytes))
			continue;
		printf("seed %llu: output %d differs\n", (unsigned long long)seed, i);
		return false;
	}
	return true;
}

/* Without the plain runtime's approval there is nothing to compare with: exit 3. */
static int compare(void *plain, void *ours, unsigned int seeds, bool once)
{
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		tfl_draw_inputs(plain, seed);
		tfl_draw_inputs(ours, seed);
		/* The second time with the inputs as they are: a runtime keeps them. */
		for (int again = 0; again < (once ? 1 : 2); again++) {
			if (tfl.invoke(plain) != TFL_OK)
				return 3;
			if (tfl.invoke(ours) != TFL_OK) {
				printf("seed %llu: invoke fails\n", (unsigned long long)seed);
				return 1;
			}
			if (!same_outputs(plain, ours, seed))
				return 1;
		}
	}
	return 0;
}

static void say_stats(void *delegate)
{
	struct npumem_tflite_stats stats = { .size = sizeof(stats) };

	if (plugin.stats(delegate, &stats))
		errx(1, "no statistics");
	printf("claimed %u of %u, partitions %u, arena %llu, bound %llu, tensors %llu, by %u, cached %u\n",
	       stats.claimed, stats.operators, stats.partitions,
	       (unsigned long long)stats.arena_bytes, (unsigned long long)stats.lower_bound,
	       (unsigned long long)stats.tensor_bytes, stats.enforced_by, stats.cached);
}

/* The first dimension of each input is how many there are at a time. */
static int set_batch(void *interpreter, int batch)
{
	for (int32_t i = 0; i < tfl.input_count(interpreter); i++) {
		const struct tfl_ints *dims = tfl.input(interpreter, i)->dims;
		int sizes[8];

		if (dims->size < 1 || dims->size > 8)
			return TFL_ERROR;
		memcpy(sizes, dims->data, (size_t)dims->size * sizeof(sizes[0]));
		sizes[0] = batch;
		if (tfl.resize(interpreter, i, sizes, dims->size) != TFL_OK)
			return TFL_ERROR;
	}
	return tfl.allocate(interpreter);
}

static int compare_batches(void *plain, void *ours, unsigned int seeds, int batch)
{
	const int batches[] = { batch, 1 };
	int result = 0;

	for (int i = 0; i < 2 && !result; i++) {
		if (set_batch(plain, batches[i]) != TFL_OK)
			return 3;
		if (set_batch(ours, batches[i]) != TFL_OK) {
			printf("%d at a time: no memory\n", batches[i]);
			return 1;
		}
		result = compare(plain, ours, seeds, false);
	}
	return result;
}

static int run_plain(void *plain, unsigned int seeds)
{
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		tfl_draw_inputs(plain, seed);
		if (tfl.invoke(plain) != TFL_OK)
			return 3;
	}
	return 0;
}

static int run_both(const void *model, void *plain, void *delegate, unsigned int seeds, bool once,
		    int batch)
{
	void *ours = delegate ? tfl_interpreter(model, delegate) : NULL;
	int result;

	if (!ours) {
		puts("the delegate does not take the model");
		return 1;
	}
	result = compare(plain, ours, seeds, once);
	if (!result && batch)
		result = compare_batches(plain, ours, seeds, batch);
	say_stats(delegate);
	tfl.interpreter_free(ours);
	return result;
}

int main(int argc, char **argv)
{
	char *keys[MAX_OPTIONS], *values[MAX_OPTIONS];
	void *model, *plain, *delegate = NULL;
	size_t count = 0;
	bool once = false;
	int result, batch = 0;

	if (argc < 5 || argc > 5 + MAX_OPTIONS)
		errx(2, "usage: real_tflite RUNTIME DELEGATE SEEDS MODEL [KEY=VALUE]...");
	real_load(argv[1], argv[2]);
	for (int i = 5; i < argc; i++) {
		keys[count] = strtok(argv[i], "=");
		values[count] = strtok(NULL, "");
		if (strcmp(keys[count], "once") == 0)
			once = true;
		else if (strcmp(keys[count], "batch") == 0)
			batch = atoi(values[count]);
		else
			count++;
	}
	model = tfl.model_new(argv[4]);
	plain = model ? tfl_interpreter(model, NULL) : NULL;
	if (!plain)
		return 3;
	if (!plugin.create) {
		result = run_plain(plain, (unsigned int)atoi(argv[3]));
	} else {
		delegate = plugin.create(keys, values, count, NULL);
		result = run_both(model, plain, delegate, (unsigned int)atoi(argv[3]), once, batch);
		plugin.destroy(delegate);
	}
	tfl.interpreter_free(plain);
	tfl.model_free(model);
	return result;
}
