// SPDX-License-Identifier: MIT
/*
 * steps - inferences of a model one after the other in plain TensorFlow Lite, of the inputs that
 * npumemctl run --engine npumem-engine draws. State lasts from one to the next.
 *
 * usage: npumem_steps RUNTIME MODEL SEED COUNT
 *
 * Prints the SHA-256 of all outputs, one inference's behind the other's, as npumemctl run does, and
 * how many inferences have other outputs than the one before.
 */
#include <err.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "tflite/tflite_runtime.h"

/* Floats are from -1 to 1 in 128ths; of all other types any bytes will do. */
static void draw(struct tfl_tensor *t, uint64_t *seed)
{
	uint8_t *bytes = t->data.raw;

	for (size_t i = 0; i < t->bytes; i++) {
		float value;

		if (t->type != TFL_FLOAT32) {
			bytes[i] = (uint8_t)random_next(seed);
			continue;
		}
		value = (float)(int8_t)random_next(seed) / 128.0f;
		memcpy(&bytes[i], &value, sizeof(value));
		i += sizeof(value) - 1;
	}
}

/* Whether the outputs are others than those of the inference before, which @before has. */
static bool add_outputs(const void *interpreter, struct sha256_ctx *sha, uint8_t **before)
{
	bool changed = false;
	size_t size = 0;

	for (int32_t i = 0; i < tfl.output_count(interpreter); i++) {
		const struct tfl_tensor *t = tfl.output(interpreter, i);

		*before = realloc(*before, size + t->bytes);
		if (!*before)
			errx(1, "out of memory");
		changed |= memcmp(*before + size, t->data.raw, t->bytes) != 0;
		memcpy(*before + size, t->data.raw, t->bytes);
		sha256_update(sha, t->bytes, t->data.raw);
		size += t->bytes;
	}
	return changed;
}

int main(int argc, char **argv)
{
	uint8_t *before = NULL, digest[SHA256_DIGEST_SIZE];
	unsigned long count, changes = 0;
	struct sha256_ctx sha;
	void *model, *interpreter;
	uint64_t seed;

	if (argc != 5)
		errx(2, "usage: npumem_steps RUNTIME MODEL SEED COUNT");
	seed = strtoull(argv[3], NULL, 10);
	count = strtoul(argv[4], NULL, 10);
	tfl_load(argv[1]);
	model = tfl.model_new(argv[2]);
	interpreter = model ? tfl_interpreter(model, NULL) : NULL;
	if (!interpreter)
		errx(1, "%s: TensorFlow Lite does not take it", argv[2]);
	sha256_init(&sha);
	for (unsigned long n = 0; n < count; n++) {
		for (int32_t i = 0; i < tfl.input_count(interpreter); i++)
			draw(tfl.input(interpreter, i), &seed);
		if (tfl.invoke(interpreter) != TFL_OK)
			errx(1, "inference %lu fails", n);
		changes += add_outputs(interpreter, &sha, &before) && n;
	}
	sha256_digest(&sha, sizeof(digest), digest);
	printf("sha256 ");
	for (size_t i = 0; i < sizeof(digest); i++)
		printf("%02x", digest[i]);
	printf("\n%lu inferences, %lu changes of the outputs\n", count, changes);
	free(before);
	tfl.interpreter_free(interpreter);
	tfl.model_free(model);
	return 0;
}
