/* SPDX-License-Identifier: MIT */
/*
 * TensorFlow Lite's reference kernels, in place of its optimised ones: plain code that says what an
 * operator means, and what npumem's engine has to equal. The C API has no door to them, but a
 * library that shows its C++ functions, too, as Debian's does, has all that it takes.
 */
#pragma once

#include "refusal.h"
#include "tflite_api.h"

/*
 * struct reference - what knows the kernels
 * @resolver: a tflite::ops::builtin::BuiltinRefOpResolver, as large as any version may make it
 */
struct reference {
	void *resolver[512];
	const void *(*find_builtin)(const void *resolver, int code, int version);
	const void *(*find_custom)(const void *resolver, const char *name, int version);
	void (*set)(struct TfLiteInterpreterOptions *options,
		    const void *(*builtin)(void *user, int code, int version),
		    const void *(*custom)(void *user, const char *name, int version), void *user);
};

/*
 * reference_open() - find the kernels, for as long as the program runs
 * @library: of TensorFlow Lite
 *
 * -ENOSYS: it does not show them.
 */
int reference_open(struct reference *reference, void *library, struct refusal *why);
/* Interpreters that are made with these options have them. */
void reference_set(struct reference *reference, struct TfLiteInterpreterOptions *options);
