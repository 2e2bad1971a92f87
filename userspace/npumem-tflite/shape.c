// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shape.h"

static const struct {
	int type;
	unsigned int bytes;
	const char *name;
} types[] = {
	{ TFL_FLOAT32, 4, "float32" }, { TFL_INT32, 4, "int32" },
	{ TFL_UINT8, 1, "uint8" },     { TFL_INT64, 8, "int64" },
	{ TFL_STRING, 0, "string" },   { TFL_BOOL, 1, "bool" },
	{ TFL_INT16, 2, "int16" },     { TFL_COMPLEX64, 8, "complex64" },
	{ TFL_INT8, 1, "int8" },       { TFL_FLOAT16, 2, "float16" },
	{ TFL_FLOAT64, 8, "float64" }, { TFL_COMPLEX128, 16, "complex128" },
	{ TFL_UINT64, 8, "uint64" },   { TFL_RESOURCE, 0, "resource" },
	{ TFL_VARIANT, 0, "variant" }, { TFL_UINT32, 4, "uint32" },
	{ TFL_UINT16, 2, "uint16" },
};

#define TYPES (sizeof(types) / sizeof(types[0]))

const char *shape_type_name(int type)
{
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].type == type)
			return types[i].name;
	return "unknown";
}

size_t type_bytes(int type)
{
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].type == type)
			return types[i].bytes;
	return 0;
}

size_t shape_values(const struct shape *shape)
{
	size_t bytes = type_bytes(shape->type);

	return bytes ? shape->bytes / bytes : 0;
}

struct shape_text shape_text(const struct shape *shape)
{
	struct shape_text text;
	size_t used = (size_t)snprintf(text.s, sizeof(text.s), "%s[", shape_type_name(shape->type));

	for (uint32_t i = 0; i < shape->dim_count && used < sizeof(text.s) - 16; i++)
		used += (size_t)snprintf(text.s + used, sizeof(text.s) - used, "%s%d", i ? "," : "",
					 shape->dims[i]);
	snprintf(text.s + used, sizeof(text.s) - used, "]");
	return text;
}

/* What an integer of the model is as a real number, and the other way round. */
static double to_real(const struct shape *shape, double integer)
{
	const struct tfl_quantization *q = &shape->quantization;

	return q->scale > 0 ? (double)q->scale * (integer - q->zero_point) : integer;
}

static double to_integer(const struct shape *shape, double value, double min, double max)
{
	const struct tfl_quantization *q = &shape->quantization;
	double integer = q->scale > 0 ? value / (double)q->scale + q->zero_point : value;

	/* What is no number has no nearest one. */
	if (isnan(integer))
		return 0;
	return fmin(fmax(nearbyint(integer), min), max);
}

#define GET(ctype)                                                                            \
	do {                                                                                  \
		ctype number;                                                                 \
		memcpy(&number, (const char *)data + index * sizeof(number), sizeof(number)); \
		raw = (double)number;                                                         \
	} while (0)

int value_get(const struct shape *shape, const void *data, size_t index, double *value)
{
	double raw;

	switch (shape->type) {
	case TFL_FLOAT32:
		GET(float);
		*value = raw;
		return 0;
	case TFL_FLOAT64:
		GET(double);
		*value = raw;
		return 0;
	case TFL_INT8:
		GET(int8_t);
		break;
	case TFL_UINT8:
	case TFL_BOOL:
		GET(uint8_t);
		break;
	case TFL_INT16:
		GET(int16_t);
		break;
	case TFL_INT32:
		GET(int32_t);
		break;
	default:
		return -EOPNOTSUPP;
	}
	*value = to_real(shape, raw);
	return 0;
}

#define PUT(ctype, number)                                                        \
	do {                                                                      \
		ctype bits = (ctype)(number);                                     \
		memcpy((char *)data + index * sizeof(bits), &bits, sizeof(bits)); \
	} while (0)

int value_put(const struct shape *shape, void *data, size_t index, double value)
{
	switch (shape->type) {
	case TFL_FLOAT32:
		PUT(float, value);
		return 0;
	case TFL_FLOAT64:
		PUT(double, value);
		return 0;
	case TFL_INT8:
		PUT(int8_t, to_integer(shape, value, INT8_MIN, INT8_MAX));
		return 0;
	case TFL_UINT8:
		PUT(uint8_t, to_integer(shape, value, 0, UINT8_MAX));
		return 0;
	case TFL_INT16:
		PUT(int16_t, to_integer(shape, value, INT16_MIN, INT16_MAX));
		return 0;
	case TFL_INT32:
		PUT(int32_t, to_integer(shape, value, INT32_MIN, INT32_MAX));
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}
