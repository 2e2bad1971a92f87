/* SPDX-License-Identifier: MIT */
/* Data of ONNX's constants: its size is checked, and the values of small ones are kept. */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Most values of a constant that are followed. */
static uint64_t most_numbers(uint32_t type)
{
	return onnx_is_float(type) ? ONNX_MAX_FLOATS : ONNX_MAX_NUMBERS;
}

bool onnx_numbers_new(struct onnx_reader *r, struct onnx_value *value, uint64_t count)
{
	if (r->err || count > most_numbers(value->type) ||
	    count > ONNX_MAX_ALL_NUMBERS - r->numbers)
		return false;
	r->numbers += count;
	free(value->numbers);
	value->numbers = calloc(count + 1, sizeof(*value->numbers));
	value->count = value->numbers ? count : 0;
	if (!value->numbers)
		onnx_fail(r, -ENOMEM, "out of memory");
	return value->numbers;
}

/* ------------------------------------------------------------------- values */

static double half_of(uint16_t bits)
{
	double sign = bits >> 15 ? -1 : 1;
	int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;

	if (exponent == 0x1f)
		return mantissa ? __builtin_nan("") : sign * __builtin_inf();
	if (!exponent)
		return sign * __builtin_ldexp(mantissa, -24);
	return sign * __builtin_ldexp(mantissa + 0x400, exponent - 25);
}

/* Little-endian bits of an element as a value of its type. */
static union onnx_number number_of(uint32_t type, uint64_t bits)
{
	union onnx_number number = { .i = (int64_t)bits };
	float single;
	uint32_t narrow = (uint32_t)bits;

	switch (type) {
	case ONNX_BFLOAT16:
		narrow <<= 16;
		/* Fall through. */
	case ONNX_FLOAT:
		memcpy(&single, &narrow, sizeof(single));
		number.f = (double)single;
		break;
	case ONNX_DOUBLE:
		memcpy(&number.f, &bits, sizeof(number.f));
		break;
	case ONNX_FLOAT16:
		number.f = half_of((uint16_t)bits);
		break;
	case ONNX_INT8:
		number.i = (int64_t)((bits & UINT8_MAX) ^ 0x80) - 0x80;
		break;
	case ONNX_INT16:
		number.i = (int16_t)bits;
		break;
	case ONNX_INT32:
		number.i = (int32_t)bits;
		break;
	}
	return number;
}

/* Types whose values are followed: not those of a part of a byte, complex numbers, texts. */
static bool has_numbers(uint32_t type)
{
	return (type >= ONNX_FLOAT && type <= ONNX_BFLOAT16 && type != ONNX_STRING &&
		type != ONNX_COMPLEX64 && type != ONNX_COMPLEX128);
}

static void read_raw(struct onnx_value *value, const uint8_t *data)
{
	unsigned int bytes = onnx_type_bits(value->type) / 8;

	for (uint64_t i = 0; i < value->count; i++) {
		uint64_t bits = 0;

		for (unsigned int b = 0; b < bytes; b++)
			bits |= (uint64_t)data[i * bytes + b] << 8 * b;
		value->numbers[i] = number_of(value->type, bits);
	}
}

static void read_typed(struct onnx_value *value, const Onnx__TensorProto *data)
{
	for (uint64_t i = 0; i < value->count; i++) {
		union onnx_number *number = &value->numbers[i];

		if (value->type == ONNX_FLOAT)
			number->f = (double)data->float_data[i];
		else if (value->type == ONNX_DOUBLE)
			number->f = data->double_data[i];
		else if (value->type == ONNX_INT64)
			number->i = data->int64_data[i];
		else if (value->type == ONNX_UINT32 || value->type == ONNX_UINT64)
			number->i = (int64_t)data->uint64_data[i];
		else
			*number = number_of(value->type, (uint32_t)data->int32_data[i]);
	}
}

/* How many elements there are in the field that has those of the type. */
static size_t typed_count(uint32_t type, const Onnx__TensorProto *data)
{
	switch (type) {
	case ONNX_FLOAT:
		return data->n_float_data;
	case ONNX_COMPLEX64:
		return data->n_float_data / 2;
	case ONNX_DOUBLE:
		return data->n_double_data;
	case ONNX_COMPLEX128:
		return data->n_double_data / 2;
	case ONNX_INT64:
		return data->n_int64_data;
	case ONNX_UINT32:
	case ONNX_UINT64:
		return data->n_uint64_data;
	case ONNX_STRING:
		return data->n_string_data;
	default:
		return data->n_int32_data;
	}
}

/* The values of a small constant, if its file is there; of others sizes are enough. */
static void read_external(struct onnx_reader *r, struct onnx_value *value,
			  const Onnx__TensorProto *data, uint64_t bytes, uint64_t elements)
{
	struct onnx_external where;
	uint8_t *read = NULL;

	if (!onnx_external_check(r, value, data, bytes, &where) || !elements ||
	    !has_numbers(value->type) || elements > most_numbers(value->type))
		return;
	read = onnx_external_read(r, value, &where);
	if (read && onnx_numbers_new(r, value, elements))
		read_raw(value, read);
	free(read);
}

/* Data must be there, and as much as shape and type make. False: it is in another file. */
static bool check_data(struct onnx_reader *r, struct onnx_value *value,
		       const Onnx__TensorProto *data, uint64_t elements)
{
	unsigned int bits = onnx_type_bits(value->type);
	uint64_t bytes = (elements * bits + 7) / 8, count;

	if (data->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
		read_external(r, value, data, bytes, elements);
		return false;
	}
	if (data->has_raw_data && value->type != ONNX_STRING) {
		if (data->raw_data.len != bytes)
			onnx_fail(r, -EINVAL,
				  "%s: its data has %zu bytes, but shape and type make %" PRIu64,
				  onnx_value_text(value).s, data->raw_data.len, bytes);
		return true;
	}
	/* Two elements of four bits share one of the field. */
	count = bits == 4 ? (elements + 1) / 2 : elements;
	if (typed_count(value->type, data) != count)
		onnx_fail(r, -EINVAL, "%s: its data has %zu elements, but its shape makes %" PRIu64,
			  onnx_value_text(value).s, typed_count(value->type, data), count);
	return true;
}

void onnx_initializer(struct onnx_reader *r, struct onnx_value *value,
		      const Onnx__TensorProto *data)
{
	uint64_t elements;
	bool is_here;

	value->data = data;
	value->type = (uint32_t)data->data_type;
	if (data->n_dims > NPUPLAN_MAX_DIMS) {
		onnx_fail(r, -EOPNOTSUPP, "%s has %zu dimensions, more than %d",
			  onnx_value_text(value).s, data->n_dims, NPUPLAN_MAX_DIMS);
		return;
	}
	value->shape = (struct onnx_shape){ .known = true, .rank = (uint32_t)data->n_dims };
	for (size_t d = 0; d < data->n_dims; d++)
		value->shape.dims[d] = data->dims[d];
	if (!onnx_type_name(value->type)) {
		onnx_fail(r, -EOPNOTSUPP, "%s has element type %" PRIu32 ", not known here",
			  onnx_value_text(value).s, value->type);
		return;
	}
	if (data->segment)
		onnx_fail(r, -EOPNOTSUPP, "%s is one segment of a tensor, which is not read",
			  onnx_value_text(value).s);
	onnx_check_size(r, value);
	if (r->err)
		return;
	elements = onnx_elements(&value->shape, 0, value->shape.rank);
	is_here = check_data(r, value, data, elements);
	value->is_constant = value->is_defined = true;
	if (!is_here || !has_numbers(value->type) || !onnx_numbers_new(r, value, elements))
		return;
	if (data->has_raw_data)
		read_raw(value, data->raw_data.data);
	else
		read_typed(value, data);
}
