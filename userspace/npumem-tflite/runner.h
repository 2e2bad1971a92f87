/* SPDX-License-Identifier: MIT */
/*
 * An interpreter of a model: with a delegate, or the plain one, to which it is compared.
 *
 * TensorFlow Lite's builds give nodes that no delegate has claimed to XNNPACK, whose results differ
 * from those of its own kernels. The plain interpreter is therefore given a delegate that claims
 * nothing: after one that takes no dynamic tensors the graph is not changed any more, and XNNPACK
 * is left out. Such a delegate also sees where TensorFlow Lite's own planner has put tensors.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "refusal.h"
#include "shape.h"
#include "tflite_api.h"
#include "times.h"

/* struct observer - the delegate that claims nothing, and what it has seen */
struct observer {
	struct tfl_delegate delegate;
	struct tfl_context *context;
	uint32_t operators;
};

/*
 * struct runner - an interpreter, and how long it took
 * @said: what TensorFlow Lite said first when something failed
 * @prepare: nanoseconds that it took to make it, plans and all
 */
struct runner {
	const struct tflite *tflite;
	struct TfLiteInterpreterOptions *options;
	struct TfLiteInterpreter *interpreter;
	struct observer observer;
	char said[200];
	int64_t prepare;
	struct times times;
};

/*
 * runner_open() - make an interpreter; runner_close() gives it back, whatever came of it
 * @delegate: NULL: the plain one
 *
 * A runner may not be moved. -EINVAL: TensorFlow Lite does not take the model, or the delegate;
 * -ENOMEM.
 */
int runner_open(struct runner *runner, const struct tflite *tflite, const struct TfLiteModel *model,
		uint32_t threads, struct tfl_delegate *delegate, struct refusal *why);
void runner_close(struct runner *runner);

/* Run once, and add how long it took to @times, which has room for it. -EIO: it fails. */
int runner_invoke(struct runner *runner, struct refusal *why);

/**
 * struct arena - memory of tensors as TensorFlow Lite's own planner laid them out
 * @bytes: from the first to the end of the last
 * @sum: of all sizes
 * @known: tensors have a place; those of a model whose sizes are known as it runs only have none
 */
struct arena {
	uint64_t bytes;
	uint64_t sum;
	bool known;
};

/* Of the plain interpreter, or of what a delegate has left. */
struct arena runner_arena(const struct runner *runner);

/* What a tensor is. */
struct shape runner_shape(const struct tflite *tflite, const struct tfl_tensor *tensor);
