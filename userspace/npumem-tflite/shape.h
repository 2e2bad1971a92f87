/* SPDX-License-Identifier: MIT */
/* What a tensor of a model takes: type, shape, and what its integers stand for. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tflite_api.h"

/* Most dimensions that are looked at. */
#define SHAPE_DIMS 8

/*
 * struct shape - a tensor
 * @name: the model's name for it, as plain_line() makes it
 * @type: enum tfl_type
 * @bytes: of all values together
 * @quantization: of integers; a scale of 0: they stand for themselves
 */
struct shape {
	char name[64];
	int type;
	uint32_t dim_count;
	int32_t dims[SHAPE_DIMS];
	size_t bytes;
	struct tfl_quantization quantization;
};

/* struct shape_text - a shape in words, "int8[1,96,96,3]" */
struct shape_text {
	char s[128];
};
struct shape_text shape_text(const struct shape *shape);

/* Name of a type, "int8". */
const char *shape_type_name(int type);

/* Bytes of one value; 0: the type has none of a fixed size. */
size_t type_bytes(int type);

/* How many values a tensor has; 0: of a type whose size is not fixed. */
size_t shape_values(const struct shape *shape);

/*
 * Values as real numbers: @index is that of the value in @data. -EOPNOTSUPP: a type that is no
 * number.
 */
int value_get(const struct shape *shape, const void *data, size_t index, double *value);
/* The nearest value that the type has; the same error. */
int value_put(const struct shape *shape, void *data, size_t index, double value);
