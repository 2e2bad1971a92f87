/* SPDX-License-Identifier: MIT */
/* The libraries that are loaded: TensorFlow Lite, and a delegate for it. */
#pragma once

#include <stddef.h>

#include "refusal.h"
#include "tflite_api.h"

/*
 * runtime_open() - load TensorFlow Lite, for as long as the program runs
 * @file: the library; NULL: that of the linker's search, by the names that it is known to have
 *
 * Others see its functions, as they do in programs that are linked with it. -ENOENT: there is none;
 * -ENOSYS: the library lacks a function of the C API.
 */
int runtime_open(const char *file, struct tflite *tflite, struct refusal *why);

struct npumem_tflite_stats;

/*
 * struct addition - an external delegate; addition_close() gives it back
 * @delegate: what TensorFlow Lite is given
 */
struct addition {
	struct tfl_delegate *delegate;
	void (*destroy)(struct tfl_delegate *delegate);
	int (*get_stats)(void *delegate, struct npumem_tflite_stats *stats);
};

/*
 * addition_open() - load a delegate's library, for as long as the program runs, and make a delegate
 * @keys, @values: its options
 *
 * -ENOENT: no such library; -ENOSYS: it is no delegate's; -EINVAL: it refuses the options.
 */
int addition_open(struct addition *addition, const char *file, char **keys, char **values,
		  size_t count, struct refusal *why);
void addition_close(struct addition *addition);
