/* SPDX-License-Identifier: MIT */
/* What a resource variable begins with: what CALL_ONCE's subgraphs assign to it. */
#pragma once

#include "flatbuf.h"

/**
 * tflite_variable_begins() - the constant that is assigned before the first inference
 * @fb: a model that has been read
 * @handle: number of a tensor of the first subgraph that is a handle of the variable
 *
 * Not present: none is, or what is is no constant.
 */
struct flatbuf_vector tflite_variable_begins(struct flatbuf *fb, uint32_t handle);

/** tflite_builtin() - number of an operator's kind; @codes: the model's; -1: it has none */
int32_t tflite_builtin(struct flatbuf *fb, const struct flatbuf_vector *codes,
		       const struct flatbuf_table *operation);
