/* SPDX-License-Identifier: MIT */
/*
 * A real TensorFlow Lite, loaded at run time: what tests use of its C interface, interpreters of
 * its own kernels alone, and random inputs. Only one can be loaded. A test program that cannot go
 * on ends with a sentence and exit status 2.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tflite_abi.h"

/* struct tfl_runtime - its functions, by what they are called there */
struct tfl_runtime {
	void *(*model_new)(const char *path);
	void *(*model_of_bytes)(const void *bytes, size_t size);
	void (*model_free)(void *model);
	void *(*options_new)(void);
	void (*options_free)(void *options);
	void (*options_threads)(void *options, int32_t count);
	void (*options_delegate)(void *options, void *delegate);
	void (*options_reporter)(void *options,
				 void (*report)(void *user, const char *format, va_list list),
				 void *user);
	void *(*interpreter_new)(const void *model, const void *options);
	void (*interpreter_free)(void *interpreter);
	int (*allocate)(void *interpreter);
	int (*resize)(void *interpreter, int32_t index, const int *dims, int32_t count);
	int (*invoke)(void *interpreter);
	int (*reset)(void *interpreter);
	int32_t (*input_count)(const void *interpreter);
	int32_t (*output_count)(const void *interpreter);
	struct tfl_tensor *(*input)(const void *interpreter, int32_t index);
	const struct tfl_tensor *(*output)(const void *interpreter, int32_t index);
};
extern struct tfl_runtime tfl;

/* The first error that the runtime has reported since this was last made empty. */
extern char tfl_said[2048];

/* Look up a function of a library: @function: out: a pointer to it. */
void tfl_find(void *library, const char *name, void *function);

/* Load a library of TensorFlow Lite; "NAME" without a slash is looked for where libraries are. */
void tfl_load(const char *path);

/*
 * An interpreter with its memory, of one thread; NULL: the runtime does not take it
 * @delegate: NULL: the runtime alone. What it leaves is not XNNPACK's, which rounds otherwise
 */
void *tfl_interpreter(const void *model, void *delegate);

/* Fill all inputs: floats from -1 to 1; of all other types any bytes will do. */
void tfl_draw_inputs(void *interpreter, uint64_t seed);

/* A hash of the bytes of all outputs. */
uint64_t tfl_hash_outputs(const void *interpreter);
