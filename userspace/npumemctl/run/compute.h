/* SPDX-License-Identifier: MIT */
/*
 * A TFLite model computed for real: commands of its steps for a process engine, and the same
 * commands executed here, on tensors each of which has memory of its own.
 */
#pragma once

#include <stddef.h>

#include "npuplan.h"
#include "reference.h"

struct tflite_commands;

/**
 * struct compute - of all steps of a model's graph
 * @graph: cut, with its parameters; it has to stay
 * @source: what makes them
 * @steps: per step of @graph its command, and
 * @sizes: its bytes
 * @draw: state of the inputs' random numbers
 */
struct compute {
	const struct npuplan_graph *graph;
	struct tflite_commands *source;
	void **steps;
	size_t *sizes;
	uint64_t draw;
};

/* compute_init() - make the commands; compute_fini() it, even after a failure
 * @model: the file, of @size bytes, which @graph was read from; it has to stay
 * @seed: of the inputs
 *
 * -EBADMSG, -EINVAL, -EOPNOTSUPP, -ENOMEM, and why.
 */
int compute_init(struct compute *compute, const void *model, size_t size,
		 const struct npuplan_graph *graph, uint64_t seed, struct npuplan_error *error);
void compute_fini(struct compute *compute);

/* compute_begin() - values before an inference: inputs, of the next random numbers
 * @first: parameters and state, too, as the model has them
 *
 * Bytes are splitmix64's lowest ones, floats from -1 to 1 in 128ths.
 */
int compute_begin(struct compute *compute, struct reference *ref, bool first,
		  struct npuplan_error *error);

/* compute_block() - all steps of a block of the graph, computed on the reference's bytes */
int compute_block(struct compute *compute, struct reference *ref, uint32_t block,
		  struct npuplan_error *error);
