// SPDX-License-Identifier: MIT
/*
 * Models run by a real TensorFlow Lite, with the delegate and without, on the same random inputs:
 * all outputs must have the same bytes.
 *
 * usage: real_tflite RUNTIME DELEGATE SEEDS MODEL [KEY=VALUE]...
 *
 * DELEGATE "-": only without. KEY "once": inputs are written before each inference; KEY "batch":
 * all of it again with so many inputs at a time, and once more with one; KEY "sha256": nothing is
 * compared, but outputs must have the digest of test_engine_models.c, which TensorFlow Lite's
 * reference kernels have made. Exit 3: the runtime itself does not run the model; 1: with the
 * delegate it does not, or outputs differ.
 */
#include <err.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "tflite/real_plugin.h"

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

/* The seed and the inferences of the digests; floats are (-128 to 127)/128. */
#define DIGEST_SEED 20261123
#define DIGEST_RUNS 2

static void draw(struct tfl_tensor *t, uint64_t *state)
{
	unsigned char *bytes = t->data.raw;

	for (size_t i = 0; i < t->bytes; i++) {
		float value = (float)(int8_t)random_next(state) / 128.0f;

		if (t->type == TFL_FLOAT32)
			memcpy(&bytes[i], &value, sizeof(value));
		else
			bytes[i] = (unsigned char)(int)(value * 128.0f);
		i += t->type == TFL_FLOAT32 ? sizeof(value) - 1 : 0;
	}
}

static int check_digest(void *ours, const char *expected)
{
	unsigned char bytes[SHA256_DIGEST_SIZE];
	char text[2 * sizeof(bytes) + 1];
	uint64_t state = DIGEST_SEED;
	struct sha256_ctx sha;

	sha256_init(&sha);
	for (int run = 0; run < DIGEST_RUNS; run++) {
		for (int32_t i = 0; i < tfl.input_count(ours); i++)
			draw(tfl.input(ours, i), &state);
		if (tfl.invoke(ours) != TFL_OK)
			return 1;
		for (int32_t i = 0; i < tfl.output_count(ours); i++)
			sha256_update(&sha, tfl.output(ours, i)->bytes,
				      tfl.output(ours, i)->data.raw);
	}
	sha256_digest(&sha, sizeof(bytes), bytes);
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	if (strcmp(text, expected) == 0)
		return 0;
	printf("outputs have digest %s\n", text);
	return 1;
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

/* struct wanted - the KEYs that are not the delegate's */
struct wanted {
	bool once;
	int batch;
	const char *digest;
};

static int run_both(const void *model, void *plain, void *delegate, unsigned int seeds,
		    const struct wanted *wanted)
{
	void *ours = delegate ? tfl_interpreter(model, delegate) : NULL;
	int result;

	if (!ours) {
		puts("the delegate does not take the model");
		return 1;
	}
	if (wanted->digest)
		result = check_digest(ours, wanted->digest);
	else
		result = compare(plain, ours, seeds, wanted->once);
	if (!result && wanted->batch)
		result = compare_batches(plain, ours, seeds, wanted->batch);
	say_stats(delegate);
	tfl.interpreter_free(ours);
	return result;
}

int main(int argc, char **argv)
{
	char *keys[MAX_OPTIONS], *values[MAX_OPTIONS];
	void *model, *plain, *delegate = NULL;
	struct wanted wanted = { 0 };
	size_t count = 0;
	int result;

	if (argc < 5 || argc > 5 + MAX_OPTIONS)
		errx(2, "usage: real_tflite RUNTIME DELEGATE SEEDS MODEL [KEY=VALUE]...");
	real_load(argv[1], argv[2]);
	for (int i = 5; i < argc; i++) {
		keys[count] = strtok(argv[i], "=");
		values[count] = strtok(NULL, "");
		if (strcmp(keys[count], "once") == 0)
			wanted.once = true;
		else if (strcmp(keys[count], "batch") == 0)
			wanted.batch = atoi(values[count]);
		else if (strcmp(keys[count], "sha256") == 0)
			wanted.digest = values[count];
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
		result = run_both(model, plain, delegate, (unsigned int)atoi(argv[3]), &wanted);
		plugin.destroy(delegate);
	}
	tfl.interpreter_free(plain);
	tfl.model_free(model);
	return result;
}
