// SPDX-License-Identifier: MIT
#include "tflite_runtime.h"

#include <dlfcn.h>
#include <err.h>
#include <stdio.h>
#include <string.h>

struct tfl_runtime tfl;
char tfl_said[2048];

void tfl_find(void *library, const char *name, void *function)
{
	void *address = dlsym(library, name);

	if (!address)
		errx(2, "%s: %s", name, dlerror());
	memcpy(function, &address, sizeof(address));
}

void tfl_load(const char *path)
{
	void *r = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	if (!r)
		errx(2, "%s", dlerror());
	tfl_find(r, "TfLiteModelCreateFromFile", &tfl.model_new);
	tfl_find(r, "TfLiteModelCreate", &tfl.model_of_bytes);
	tfl_find(r, "TfLiteModelDelete", &tfl.model_free);
	tfl_find(r, "TfLiteInterpreterOptionsCreate", &tfl.options_new);
	tfl_find(r, "TfLiteInterpreterOptionsDelete", &tfl.options_free);
	tfl_find(r, "TfLiteInterpreterOptionsSetNumThreads", &tfl.options_threads);
	tfl_find(r, "TfLiteInterpreterOptionsAddDelegate", &tfl.options_delegate);
	tfl_find(r, "TfLiteInterpreterOptionsSetErrorReporter", &tfl.options_reporter);
	tfl_find(r, "TfLiteInterpreterCreate", &tfl.interpreter_new);
	tfl_find(r, "TfLiteInterpreterDelete", &tfl.interpreter_free);
	tfl_find(r, "TfLiteInterpreterAllocateTensors", &tfl.allocate);
	tfl_find(r, "TfLiteInterpreterResizeInputTensor", &tfl.resize);
	tfl_find(r, "TfLiteInterpreterInvoke", &tfl.invoke);
	tfl_find(r, "TfLiteInterpreterResetVariableTensors", &tfl.reset);
	tfl_find(r, "TfLiteInterpreterGetInputTensorCount", &tfl.input_count);
	tfl_find(r, "TfLiteInterpreterGetOutputTensorCount", &tfl.output_count);
	tfl_find(r, "TfLiteInterpreterGetInputTensor", &tfl.input);
	tfl_find(r, "TfLiteInterpreterGetOutputTensor", &tfl.output);
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

static void report(void *user, const char *format, va_list list)
{
	char line[sizeof(tfl_said)];

	vsnprintf(line, sizeof(line), format, list);
	fprintf(stderr, "%s\n", line);
	if (!*tfl_said)
		memcpy(tfl_said, line, sizeof(line));
}

void *tfl_interpreter(const void *model, void *delegate)
{
	void *options = tfl.options_new(), *interpreter;

	tfl.options_threads(options, 1);
	tfl.options_reporter(options, report, NULL);
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

void tfl_draw_inputs(void *interpreter, uint64_t seed)
{
	for (int32_t i = 0; i < tfl.input_count(interpreter); i++)
		fill(tfl.input(interpreter, i), &seed);
}

uint64_t tfl_hash_outputs(const void *interpreter)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (int32_t i = 0; i < tfl.output_count(interpreter); i++) {
		const struct tfl_tensor *t = tfl.output(interpreter, i);

		for (size_t j = 0; t && t->data.raw && j < t->bytes; j++)
			hash = (hash ^ ((const unsigned char *)t->data.raw)[j]) * 0x100000001b3;
	}
	return hash;
}
