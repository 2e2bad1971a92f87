/* SPDX-License-Identifier: MIT */
/* What the runtime knows of an operator's options, as the options of a model's file. */
#pragma once

#include "tflite/compose.h"

/**
 * params_read() - options of an operator of a kind that engines compute
 * @op: its builtin is filled in; out: its options, and their type
 * @data: the node's builtin_data; NULL: the runtime has none, and neither has the operator
 *
 * Of other kinds none are read.
 */
void params_read(struct tflite_new_operator *op, const void *data);
