/* SPDX-License-Identifier: MIT */
/*
 * A TFLite model of one subgraph written from a description: for those who have operators of a
 * model but not its file, a delegate say. What reads models reads it then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npuplan.h"

/*
 * struct tflite_numbers - tensors by their numbers in the model
 * @list: @count numbers; -1: the operator does without that input
 */
struct tflite_numbers {
	const int32_t *list;
	uint32_t count;
};

/*
 * struct tflite_new_tensor - a tensor of the model; nothing of it is kept
 * @name: may be NULL
 * @type: enum tflite_type
 * @variable: its values last from one inference to the next
 * @shape: @rank dimensions
 * @scales, @zero_points: @scale_count and @zero_point_count of them; one, or one a channel
 * @data: @size bytes of a constant; NULL: it is none
 */
struct tflite_new_tensor {
	const char *name;
	uint8_t type;
	bool variable;
	const int32_t *shape;
	uint32_t rank;
	const float *scales;
	uint32_t scale_count;
	const int32_t *zero_points;
	uint32_t zero_point_count;
	const void *data;
	size_t size;
};

/* struct tflite_new_option - field @number of an operator's options, a value of 1 or 4 @bytes */
struct tflite_new_option {
	uint8_t number;
	uint8_t bytes;
	uint32_t value;
};

#define TFLITE_NEW_OPTIONS 8

/*
 * struct tflite_new_operator - an operator of the model
 * @builtin: enum tflite_builtin
 * @inputs, @outputs, @intermediates: its tensors
 * @options_type: enum tflite_options; 0: it has none
 * @options: @option_count of them
 */
struct tflite_new_operator {
	int32_t builtin;
	struct tflite_numbers inputs;
	struct tflite_numbers outputs;
	struct tflite_numbers intermediates;
	uint8_t options_type;
	struct tflite_new_option options[TFLITE_NEW_OPTIONS];
	uint32_t option_count;
};

/*
 * struct tflite_new_model - what is to be written
 * @tensors: @tensor_count of them
 * @operators: @operator_count of them, in the order in which they run
 * @inputs, @outputs: of the model
 */
struct tflite_new_model {
	const struct tflite_new_tensor *tensors;
	uint32_t tensor_count;
	const struct tflite_new_operator *operators;
	uint32_t operator_count;
	struct tflite_numbers inputs;
	struct tflite_numbers outputs;
};

/**
 * tflite_compose() - write a model
 * @model: is not checked: what reads the file does that
 * @out: out: the file; free() it
 * @size: out: bytes at @out
 * @error: filled in if the call fails; may be NULL
 *
 * -E2BIG: more than the 2 GiB that a FlatBuffer's offsets reach; -ENOMEM.
 */
int tflite_compose(const struct tflite_new_model *model, void **out, size_t *size,
		   struct npuplan_error *error);
