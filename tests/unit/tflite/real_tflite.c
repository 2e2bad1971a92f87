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
#include <dlfcn.h>
#include <err.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npumem_tflite.h"
#include "tflite_abi.h"

#define MAX_OPTIONS 16

/* What is used of the C interface of TensorFlow Lite. */
static struct {
	void *(*model_new)(const char *path);
	void (*model_free)(void *model);
	void *(*options_new)(void);
	void (*options_free)(void *options);
	void (*options_threads)(void *options, int32_t count);
	void (*options_delegate)(void *options, void *delegate);
	void *(*interpreter_new)(const void *model, const void *options);
	void (*interpreter_free)(void *interpreter);
	int (*allocate)(void *interpreter);
	int (*resize)(void *interpreter, int32_t index, const int *dims, int32_t count);
	int (*invoke)(void *interpreter);
	int32_t (*input_count)(const void *interpreter);
	int32_t (*output_count)(const void *interpreter);
	struct tfl_tensor *(*input)(const void *interpreter, int32_t index);
	const struct tfl_tensor *(*output)(const void *interpreter, int32_t index);
} tfl;

static struct {
	void *(*create)(char **keys, char **values, size_t count, void (*report)(const char *text));
	void (*destroy)(void *delegate);
	int (*stats)(void *delegate, struct npumem_tflite_stats *stats);
} plugin;

static void find(void *library, const char *name, void *function)
{
	void *address = dlsym(library, name);

	if (!address)
		errx(2, "%s: %s", name, dlerror());
	memcpy(function, &address, sizeof(address));
}

static void load(const char *runtime, const char *delegate)
{
	void *r = dlopen(runtime, RTLD_NOW | RTLD_GLOBAL), *d;

	if (!r)
		errx(2, "%s", dlerror());
	find(r, "TfLiteModelCreateFromFile", &tfl.model_new);
	find(r, "TfLiteModelDelete", &tfl.model_free);
	find(r, "TfLiteInterpreterOptionsCreate", &tfl.options_new);
	find(r, "TfLiteInterpreterOptionsDelete", &tfl.options_free);
	find(r, "TfLiteInterpreterOptionsSetNumThreads", &tfl.options_threads);
	find(r, "TfLiteInterpreterOptionsAddDelegate", &tfl.options_delegate);
	find(r, "TfLiteInterpreterCreate", &tfl.interpreter_new);
	find(r, "TfLiteInterpreterDelete", &tfl.interpreter_free);
	find(r, "TfLiteInterpreterAllocateTensors", &tfl.allocate);
	find(r, "TfLiteInterpreterResizeInputTensor", &tfl.resize);
	find(r, "TfLiteInterpreterInvoke", &tfl.invoke);
	find(r, "TfLiteInterpreterGetInputTensorCount", &tfl.input_count);
	find(r, "TfLiteInterpreterGetOutputTensorCount", &tfl.output_count);
	find(r, "TfLiteInterpreterGetInputTensor", &tfl.input);
	find(r, "TfLiteInterpreterGetOutputTensor", &tfl.output);
	if (strcmp(delegate, "-") == 0)
		return;
	d = dlopen(delegate, RTLD_NOW | RTLD_LOCAL);
	if (!d)
		errx(2, "%s", dlerror());
	find(d, "tflite_plugin_create_delegate", &plugin.create);
	find(d, "tflite_plugin_destroy_delegate", &plugin.destroy);
	find(d, "npumem_tflite_get_stats", &plugin.stats);
}

/*
 * XNNPACK has kernels of its own, of other rounding, and takes what no delegate has. Nodes that
 * have a delegate it leaves alone, so this one says that they are its own.
 */
static int claim_alone(struct tfl_context *context, struct tfl_delegate *delegate)
{
	struct tfl_ints *plan;

	if (context->get_execution_plan(context, &plan) != TFL_OK)
		return TFL_ERROR;
	for (int i = 0; i < plan->size; i++) {
		struct tfl_registration *registration;
		struct tfl_node *node;

		if (context->get_node_and_registration(context, plan->data[i], &node,
						       &registration) != TFL_OK)
			return TFL_ERROR;
		if (!node->delegate)
			node->delegate = delegate;
	}
	return TFL_OK;
}

static struct tfl_delegate no_xnnpack = { .prepare = claim_alone,
					  .flags = TFL_DELEGATE_ALLOW_DYNAMIC };

static void *interpreter_of(const void *model, void *delegate)
{
	void *options = tfl.options_new(), *interpreter;

	tfl.options_threads(options, 1);
	if (delegate)
		tfl.options_delegate(options, delegate);
	tfl.options_delegate(options, &no_xnnpack);
	interpreter = tfl.interpreter_new(model, options);
	tfl.options_free(options);
	if (interpreter && tfl.allocate(interpreter) != TFL_OK) {
		tfl.interpreter_free(interpreter);
		interpreter = NULL;
	}
	return interpreter;
}

/* ---------------------------------------------------------------------- inputs */

static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Floats are from -1 to 1; of all other types any bytes will do. */
static void fill(struct tfl_tensor *t, uint64_t *state)
{
	unsigned char *bytes = t->data.raw;

	if (t->type == TFL_FLOAT32) {
		for (size_t i = 0; i < t->bytes / sizeof(float); i++) {
			float value = (float)(int32_t)random_next(state) / 2147483648.0f;

			memcpy(bytes + i * sizeof(value), &value, sizeof(value));
		}
		return;
	}
	for (size_t i = 0; i < t->bytes; i++)
		bytes[i] = (unsigned char)random_next(state);
}

static void fill_all(void *interpreter, uint64_t seed)
{
	for (int32_t i = 0; i < tfl.input_count(interpreter); i++)
		fill(tfl.input(interpreter, i), &seed);
}

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
		fill_all(plain, seed);
		fill_all(ours, seed);
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
		fill_all(plain, seed);
		if (tfl.invoke(plain) != TFL_OK)
			return 3;
	}
	return 0;
}

static int run_both(const void *model, void *plain, void *delegate, unsigned int seeds, bool once,
		    int batch)
{
	void *ours = delegate ? interpreter_of(model, delegate) : NULL;
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
	load(argv[1], argv[2]);
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
	plain = model ? interpreter_of(model, NULL) : NULL;
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
