// SPDX-License-Identifier: MIT
/*
 * A program that knows nothing of npumem: it runs a model in TensorFlow Lite, twice, and prints the
 * first output's bytes. It is a library, too, which unmodified_host.c loads.
 *
 * usage: unmodified MODEL [WORD]... [dlopen RUNTIME...]
 *
 *   options           interpreters are made with options, the same for both; else with none
 *   thread            options are what a thread does: it is called by none of the program
 *   threads           four threads do all of it, again and again; what each has printed, is printed
 *   resize            inputs become larger after the first inference; the program has a delegate
 *                     that claims nothing, but for which the runtime undoes all of them then
 *   bare-options      options are made by a function that was looked up as no other is
 *   bare-interpreter  interpreters are
 *   next              what the next library has of a function is what a search of all has
 *   dlopen            functions are looked up by dlsym(), in each of these; those of the first are
 *                     called
 *
 * It is linked with functions that do nothing, which LD_PRELOAD puts the runtime before.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tflite_abi.h"

void *TfLiteModelCreateFromFile(const char *path);
void TfLiteModelDelete(void *model);
void *TfLiteInterpreterOptionsCreate(void);
void TfLiteInterpreterOptionsSetNumThreads(void *options, int32_t count);
void TfLiteInterpreterOptionsAddDelegate(void *options, void *delegate);
void TfLiteInterpreterOptionsDelete(void *options);
void *TfLiteInterpreterCreate(const void *model, const void *options);
void TfLiteInterpreterDelete(void *interpreter);
int TfLiteInterpreterResizeInputTensor(void *interpreter, int32_t index, const int *dims,
				       int32_t count);
int TfLiteInterpreterAllocateTensors(void *interpreter);
int TfLiteInterpreterInvoke(void *interpreter);
void *TfLiteInterpreterGetInputTensor(const void *interpreter, int32_t index);
const void *TfLiteInterpreterGetOutputTensor(const void *interpreter, int32_t index);
int32_t TfLiteTensorNumDims(const void *tensor);
int32_t TfLiteTensorDim(const void *tensor, int32_t index);
void *TfLiteTensorData(const void *tensor);
size_t TfLiteTensorByteSize(const void *tensor);

#define EACH(F)                            \
	F(ModelCreateFromFile)             \
	F(ModelDelete)                     \
	F(InterpreterOptionsCreate)        \
	F(InterpreterOptionsSetNumThreads) \
	F(InterpreterOptionsAddDelegate)   \
	F(InterpreterOptionsDelete)        \
	F(InterpreterCreate)               \
	F(InterpreterDelete)               \
	F(InterpreterResizeInputTensor)    \
	F(InterpreterAllocateTensors)      \
	F(InterpreterInvoke)               \
	F(InterpreterGetInputTensor)       \
	F(InterpreterGetOutputTensor)      \
	F(TensorNumDims)                   \
	F(TensorDim)                       \
	F(TensorData)                      \
	F(TensorByteSize)

#define FIELD(name)   __typeof__(&TfLite##name) name;
#define LINKED(name)  .name = TfLite##name,
#define LOOK_UP(name) *(void **)&f.name = dlsym(library, "TfLite" #name);

struct functions {
	EACH(FIELD)
};
static struct functions tfl = { EACH(LINKED) };

/* struct how - what the words say */
struct how {
	bool options;
	bool thread;
	bool threads;
	bool resize;
	bool bare_options;
	bool bare_interpreter;
};

/* A function with a version is found with it by another function than dlsym(). */
static bool look_up_bare(void *library, const char *name, void *function)
{
	void *found = dlvsym(library, name, "VERS_1.0");

	if (!found)
		puts(dlerror());
	else
		memcpy(function, &found, sizeof(found));
	return found;
}

static bool load(const char *path, bool first, const struct how *how)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct functions f;
	const char *error;

	if (!library) {
		puts(dlerror());
		return false;
	}
	EACH(LOOK_UP)
	error = dlerror();
	if (error) {
		puts(error);
		return false;
	}
	if (!first)
		return true;
	tfl = f;
	return (!how->bare_options || look_up_bare(library, "TfLiteInterpreterOptionsCreate",
						   &tfl.InterpreterOptionsCreate)) &&
	       (!how->bare_interpreter ||
		look_up_bare(library, "TfLiteInterpreterCreate", &tfl.InterpreterCreate));
}

static int claim_nothing(struct tfl_context *context, struct tfl_delegate *delegate)
{
	return TFL_OK;
}

/* Without a flag it wants tensors that keep their sizes. */
static struct tfl_delegate own = { .prepare = claim_nothing };

static int infer(void *interpreter, int value, FILE *out)
{
	const unsigned char *bytes;
	const void *output;
	void *input;

	if (!interpreter || tfl.InterpreterAllocateTensors(interpreter))
		return 1;
	input = tfl.InterpreterGetInputTensor(interpreter, 0);
	memset(tfl.TensorData(input), value, tfl.TensorByteSize(input));
	if (tfl.InterpreterInvoke(interpreter))
		return 1;
	output = tfl.InterpreterGetOutputTensor(interpreter, 0);
	bytes = tfl.TensorData(output);
	for (size_t i = 0; i < tfl.TensorByteSize(output); i++)
		fprintf(out, "%02x", bytes[i]);
	fputs("\n", out);
	return 0;
}

/* The first dimension of the first input becomes 2. */
static int resize(void *interpreter)
{
	const void *input = tfl.InterpreterGetInputTensor(interpreter, 0);
	int32_t count = tfl.TensorNumDims(input);
	int dims[8] = { 2 };

	for (int32_t i = 1; i < count && i < 8; i++)
		dims[i] = tfl.TensorDim(input, i);
	return tfl.InterpreterResizeInputTensor(interpreter, 0, dims, count);
}

/* The C library calls a thread's function, whose argument this one does not look at. */
static void *make_options(bool by_thread)
{
	void *(*make)(void *argument);
	void *options = NULL;
	pthread_t thread;

	if (!by_thread)
		return tfl.InterpreterOptionsCreate();
	memcpy(&make, &tfl.InterpreterOptionsCreate, sizeof(make));
	if (pthread_create(&thread, NULL, make, NULL) || pthread_join(thread, &options))
		return NULL;
	return options;
}

static int run(const char *path, const struct how *how, FILE *out)
{
	void *model = tfl.ModelCreateFromFile(path);
	void *options = how->options ? make_options(how->thread) : NULL;
	void *both[2] = { NULL, NULL };
	int failed = !model;

	if (options)
		tfl.InterpreterOptionsSetNumThreads(options, 1);
	if (options && how->resize)
		tfl.InterpreterOptionsAddDelegate(options, &own);
	for (int i = 0; i < 2 && !failed; i++)
		both[i] = tfl.InterpreterCreate(model, options);
	for (int i = 0; i < 2 && !failed; i++)
		failed = infer(both[i], 20 + i, out);
	for (int i = 0; i < 2 && !failed && how->resize; i++)
		failed = resize(both[i]) || infer(both[i], 30 + i, out);
	for (int i = 0; i < 2; i++)
		if (both[i])
			tfl.InterpreterDelete(both[i]);
	if (options)
		tfl.InterpreterOptionsDelete(options);
	if (model)
		tfl.ModelDelete(model);
	return failed;
}

/* struct part - what a thread does: @text: what it has printed */
struct part {
	const char *path;
	const struct how *how;
	char *text;
	size_t size;
	int failed;
};

#define THREADS 4
#define ROUNDS	5

static void *run_part(void *argument)
{
	struct part *part = argument;
	FILE *out = open_memstream(&part->text, &part->size);

	for (int i = 0; i < ROUNDS && out && !part->failed; i++)
		part->failed = run(part->path, part->how, out);
	part->failed |= !out || fclose(out);
	return NULL;
}

static int run_threads(const char *path, const struct how *how)
{
	struct part parts[THREADS] = { 0 };
	pthread_t threads[THREADS];
	int failed = 0;

	for (int i = 0; i < THREADS; i++) {
		parts[i].path = path;
		parts[i].how = how;
		if (pthread_create(&threads[i], NULL, run_part, &parts[i]))
			return 1;
	}
	for (int i = 0; i < THREADS; i++) {
		failed |= pthread_join(threads[i], NULL) || parts[i].failed;
		if (parts[i].text)
			fputs(parts[i].text, stdout);
		free(parts[i].text);
	}
	return failed;
}

/* Where a program looks for the next, and where it looks for any, the same is first. */
static int check_next(void)
{
	const char *name = "TfLiteInterpreterDelete";
	void *next = dlsym(RTLD_NEXT, name);

	return !next || next != dlsym(RTLD_DEFAULT, name);
}

static bool read_word(const char *word, struct how *how)
{
	if (strcmp(word, "options") == 0)
		return how->options = true;
	if (strcmp(word, "thread") == 0)
		return how->options = how->thread = true;
	if (strcmp(word, "threads") == 0)
		return how->threads = true;
	if (strcmp(word, "resize") == 0)
		return how->options = how->resize = true;
	if (strcmp(word, "bare-options") == 0)
		return how->options = how->bare_options = true;
	if (strcmp(word, "bare-interpreter") == 0)
		return how->options = how->bare_interpreter = true;
	return false;
}

__attribute__((visibility("default"))) int main(int argc, char **argv)
{
	struct how how = { false };
	int i = 2;

	if (argc < 2)
		return 1;
	if (argc == 3 && strcmp(argv[2], "next") == 0)
		return check_next();
	while (i < argc && strcmp(argv[i], "dlopen") != 0)
		if (!read_word(argv[i++], &how))
			return 1;
	for (int first = ++i; i < argc; i++)
		if (!load(argv[i], i == first, &how))
			return 1;
	return how.threads ? run_threads(argv[1], &how) : run(argv[1], &how, stdout);
}
