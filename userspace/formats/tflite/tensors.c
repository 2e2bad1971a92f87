/* SPDX-License-Identifier: MIT */
/* Tensors of a TFLite model: sizes, constant data, kinds. */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../../grow/grow.h"

/* Bits of an element, 0 for types without a size. */
static unsigned int type_bits(uint8_t type)
{
	static const uint8_t bits[] = {
		[TYPE_FLOAT32] = 32,  [TYPE_FLOAT16] = 16,     [TYPE_INT32] = 32,
		[TYPE_UINT8] = 8,     [TYPE_INT64] = 64,       [TYPE_BOOL] = 8,
		[TYPE_INT16] = 16,    [TYPE_COMPLEX64] = 64,   [TYPE_INT8] = 8,
		[TYPE_FLOAT64] = 64,  [TYPE_COMPLEX128] = 128, [TYPE_UINT64] = 64,
		[TYPE_UINT32] = 32,   [TYPE_UINT16] = 16,      [TYPE_INT4] = 4,
		[TYPE_BFLOAT16] = 16,
	};

	return type < sizeof(bits) ? bits[type] : 0;
}

static void unsupported_type(struct tflite_reader *r, const struct npuplan_tensor *tensor,
			     uint8_t type)
{
	if (type == TYPE_STRING)
		flatbuf_fail(&r->fb, -EOPNOTSUPP,
			     "%s has strings: their size is not known before the model runs",
			     import_tensor_text(tensor).s);
	if (type == TYPE_RESOURCE || type == TYPE_VARIANT)
		flatbuf_fail(&r->fb, -EOPNOTSUPP,
			     "%s is a %s: what it stands for is not in the model's plan",
			     import_tensor_text(tensor).s,
			     type == TYPE_RESOURCE ? "resource" : "variant");
	flatbuf_fail(&r->fb, -EOPNOTSUPP, "%s has element type %u, not known here",
		     import_tensor_text(tensor).s, type);
}

/* @tensor->size is 0 for a tensor that has a dimension of 0. */
static void read_shape(struct tflite_reader *r, const struct flatbuf_table *table,
		       unsigned int bits, struct npuplan_tensor *tensor)
{
	struct flatbuf_vector shape = flatbuf_vector(&r->fb, table, TENSOR_SHAPE, 4);
	uint64_t elements = 1;

	if (shape.count > NPUPLAN_MAX_DIMS)
		flatbuf_fail(&r->fb, -EOPNOTSUPP, "%s has %" PRIu32 " dimensions, more than %d",
			     import_tensor_text(tensor).s, shape.count, NPUPLAN_MAX_DIMS);
	for (uint32_t d = 0; d < shape.count && !r->fb.err; d++) {
		int32_t size = flatbuf_vector_i32(&r->fb, &shape, d);

		if (size < 0)
			flatbuf_fail(&r->fb, -EOPNOTSUPP,
				     "%s has an unknown size (%" PRId32 ") in dimension "
				     "%" PRIu32 ": convert the model with fixed shapes",
				     import_tensor_text(tensor).s, size, d);
		tensor->shape[d] = size;
		/* Below 2^41 before, so that this does not wrap. */
		elements = (uint64_t)size && elements > NPUIMPORT_MAX_BYTES / (uint64_t)size ?
				   NPUIMPORT_MAX_BYTES + 1ull :
				   elements * (uint64_t)size;
	}
	tensor->dim_count = shape.count;
	if (elements > NPUIMPORT_MAX_BYTES || (elements * bits + 7) / 8 > NPUIMPORT_MAX_BYTES)
		flatbuf_fail(&r->fb, -E2BIG, "%s is larger than %lld bytes",
			     import_tensor_text(tensor).s, NPUIMPORT_MAX_BYTES);
	tensor->size = (elements * bits + 7) / 8;
	tensor->elem_size = bits % 8 ? 0 : bits / 8;
	tensor->align = tensor->elem_size ? tensor->elem_size : 1;
}

struct flatbuf_vector tflite_buffer(struct flatbuf *fb, const struct flatbuf_vector *buffers,
				    uint32_t index)
{
	struct flatbuf_table buffer = flatbuf_vector_table(fb, buffers, index);
	struct flatbuf_vector data = flatbuf_vector(fb, &buffer, BUFFER_DATA, 1);
	uint64_t offset = flatbuf_u64(fb, &buffer, BUFFER_OFFSET, 0);
	uint64_t size = flatbuf_u64(fb, &buffer, BUFFER_SIZE, 0);

	if (data.count || offset <= 1)
		return data;
	if (offset > fb->size || size > fb->size - offset || size > UINT32_MAX)
		flatbuf_fail(fb, -EBADMSG,
			     "buffer %" PRIu32 " has %" PRIu64 " bytes at byte %" PRIu64
			     ", outside the file of %" PRIu64 " bytes",
			     index, size, offset, fb->size);
	return (struct flatbuf_vector){
		.pos = offset,
		.count = (uint32_t)size,
		.present = true,
	};
}

/* Constant data of a tensor. */
static struct flatbuf_vector read_data(struct tflite_reader *r, const struct flatbuf_table *table,
				       const struct npuplan_tensor *tensor)
{
	uint32_t index = flatbuf_u32(&r->fb, table, TENSOR_BUFFER, 0);

	if (index >= r->buffers.count && index)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s is in buffer %" PRIu32 ", but there are only %" PRIu32,
			     import_tensor_text(tensor).s, index, r->buffers.count);
	/* Buffer 0 is the empty one by convention. */
	if (!index || r->fb.err)
		return (struct flatbuf_vector){ 0 };
	return tflite_buffer(&r->fb, &r->buffers, index);
}

bool tflite_has_data(struct tflite_reader *r, const struct tflite_subgraph *sub, uint32_t number)
{
	struct flatbuf_table table = flatbuf_vector_table(&r->fb, &sub->tensors, number);
	struct tflite_name name = tflite_name_of(&r->fb, &table, TENSOR_NAME);
	struct npuplan_tensor tensor = {
		.id = (int64_t)(sub->first_tensor + number),
		.name = name.s,
	};

	return read_data(r, &table, &tensor).count;
}

uint8_t tflite_describe(struct tflite_reader *r, const struct tflite_subgraph *sub, uint32_t number,
			struct npuplan_tensor *tensor)
{
	struct flatbuf_table table = flatbuf_vector_table(&r->fb, &sub->tensors, number);
	struct tflite_name name = tflite_name_of(&r->fb, &table, TENSOR_NAME);
	uint8_t type = flatbuf_u8(&r->fb, &table, TENSOR_TYPE, TYPE_FLOAT32);

	*tensor = (struct npuplan_tensor){
		.id = (int64_t)(sub->first_tensor + number),
		.name = name.s,
		.alias_of = NPUMEM_NONE,
	};
	read_shape(r, &table, type_bits(type), tensor);
	tensor->name = NULL;
	return type;
}

void tflite_check_bytes(struct tflite_reader *r, uint32_t number, uint8_t type,
			const struct npuplan_tensor *tensor)
{
	struct flatbuf_table table = flatbuf_vector_table(&r->fb, &r->scope->sub->tensors, number);
	struct tflite_name name = tflite_name_of(&r->fb, &table, TENSOR_NAME);

	if (!r->fb.err && !type_bits(type))
		unsupported_type(r, &(struct npuplan_tensor){ .id = tensor->id, .name = name.s },
				 type);
}

/*
 * Kind by use; a tensor that is an input and an output passes through. Inputs and outputs of
 * subgraphs but the first are nobody's but their caller's.
 */
static uint32_t kind_of(const struct tflite_subgraph *sub, uint8_t uses, bool constant)
{
	if (constant)
		return NPUMEM_TENSOR_PARAMETER;
	if (uses & USE_VARIABLE)
		return NPUMEM_TENSOR_STATE;
	if (sub->number)
		return NPUMEM_TENSOR_INTERMEDIATE;
	if ((uses & (USE_INPUT | USE_OUTPUT)) == (USE_INPUT | USE_OUTPUT))
		return NPUMEM_TENSOR_STATE;
	if (uses & USE_INPUT)
		return NPUMEM_TENSOR_INPUT;
	return uses & USE_OUTPUT ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE;
}

uint32_t tflite_add_tensor(struct tflite_reader *r, const struct npuplan_tensor *tensor,
			   uint8_t type)
{
	struct tflite_fact *facts;
	int64_t index;

	if (r->fb.err)
		return NPUMEM_NONE;
	facts = grow_by_one(r->facts, r->fact_count, sizeof(*facts));
	if (!facts) {
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
		return NPUMEM_NONE;
	}
	r->facts = facts;
	index = npuplan_graph_add_tensor(r->graph, tensor);
	if (index < 0) {
		flatbuf_fail(&r->fb, (int)index, "%s: %s", import_tensor_text(tensor).s,
			     strerror((int)-index));
		return NPUMEM_NONE;
	}
	facts[r->fact_count++] = (struct tflite_fact){ .type = type, .writer = NPUMEM_NONE };
	return (uint32_t)index;
}

/*
 * Whether a type without a size is none that a plan has to do with: handles are followed by
 * those operators that have any.
 */
static bool is_harmless(const struct tflite_subgraph *sub, uint32_t number, uint8_t type)
{
	if (!sub->uses[number])
		return true;
	return type == TYPE_RESOURCE &&
	       (sub->number || !(sub->uses[number] & (USE_INPUT | USE_OUTPUT)));
}

/* A constant of a type without a size is as long as its data. False: it is left out. */
static bool check_type(struct tflite_reader *r, uint32_t number, uint8_t type,
		       const struct npuplan_tensor *tensor, bool *opaque)
{
	const struct tflite_subgraph *sub = r->scope->sub;
	bool constant = sub->data[number].count;

	if (type_bits(type) || (type == TYPE_STRING && constant))
		return true;
	if (is_harmless(sub, number, type))
		return false;
	unsupported_type(r, tensor, type);
	if (!constant || type == TYPE_RESOURCE || type == TYPE_VARIANT)
		return false;
	/* Whatever that means. */
	if (!r->doubts.strict)
		r->fb.err = import_doubt(&r->doubts, -EINVAL, NPUIMPORT_DOUBT_SHAPE, "element type",
					 import_tensor_text(tensor).s, r->fb.error);
	*opaque = true;
	return true;
}

static void set_size(struct tflite_reader *r, const struct flatbuf_vector *data, bool opaque,
		     struct npuplan_tensor *tensor)
{
	if (data->count && opaque) {
		/* A shape without elements says nothing of data that is there. */
		for (uint32_t d = tensor->dim_count; d--;)
			if (!tensor->shape[d])
				tensor->dim_count = 0;
		tensor->size = data->count;
		tensor->elem_size = 0;
		tensor->align = 1;
	} else if (data->count && data->count != tensor->size) {
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s: its buffer has %" PRIu32
			     " bytes, but shape and type make %" PRIu64,
			     import_tensor_text(tensor).s, data->count, tensor->size);
	}
}

/* What a concat has to know of a tensor. A quantization that is not understood is like no other. */
static void note_scale(struct tflite_reader *r, const struct flatbuf_table *table,
		       struct tflite_fact *fact)
{
	struct flatbuf_table quantization = flatbuf_table(&r->fb, table, TENSOR_QUANTIZATION);
	struct flatbuf_vector scales = flatbuf_vector(&r->fb, &quantization, QUANTIZATION_SCALE, 4);
	struct flatbuf_vector zeros =
		flatbuf_vector(&r->fb, &quantization, QUANTIZATION_ZERO_POINT, 8);

	if (r->fb.err) {
		r->fb.err = 0;
		fact->scales = UINT32_MAX;
		return;
	}
	fact->scales = scales.count;
	if (scales.count)
		fact->scale = (uint32_t)flatbuf_vector_i32(&r->fb, &scales, 0);
	if (zeros.count)
		fact->zero_point = flatbuf_vector_i64(&r->fb, &zeros, 0);
}

/* Tensor @number, without a value so far, of which no other instance has one either. */
static void add_own(struct tflite_reader *r, uint32_t number)
{
	struct tflite_subgraph *sub = r->scope->sub;
	struct flatbuf_table table = flatbuf_vector_table(&r->fb, &sub->tensors, number);
	struct npuplan_tensor tensor = {
		.id = (int64_t)(r->scope->instance * r->tensor_total + sub->first_tensor + number),
		.alias_of = NPUMEM_NONE,
	};
	struct flatbuf_vector *data = &sub->data[number];
	struct tflite_name name = tflite_name_of(&r->fb, &table, TENSOR_NAME);
	uint8_t type = flatbuf_u8(&r->fb, &table, TENSOR_TYPE, TYPE_FLOAT32), uses;
	uint32_t index;
	bool opaque;

	tensor.name = name.s;
	*data = read_data(r, &table, &tensor);
	opaque = flatbuf_table(&r->fb, &table, TENSOR_SPARSITY).present || type == TYPE_STRING;
	read_shape(r, &table, type_bits(type), &tensor);
	if (r->fb.err || !check_type(r, number, type, &tensor, &opaque))
		return;
	set_size(r, data, opaque, &tensor);
	/* An empty tensor has no bytes to plan: operators go without it. */
	if (!tensor.size || r->fb.err)
		return;
	uses = sub->uses[number];
	tensor.kind = kind_of(sub, uses, data->count && !(uses & USE_VARIABLE));
	index = tflite_add_tensor(r, &tensor, type);
	if (index != NPUMEM_NONE)
		note_scale(r, &table, &r->facts[index]);
	r->scope->values[number].tensor = index;
	if (tensor.kind == NPUMEM_TENSOR_PARAMETER || (uses & USE_VARIABLE))
		sub->kept[number] = index;
}

void tflite_tensor(struct tflite_reader *r, uint32_t number)
{
	struct tflite_scope *scope = r->scope;
	bool handed = scope->sub->uses[number] & (USE_INPUT | USE_OUTPUT);

	/* Handles stay inside of the model. */
	if (scope->bound[number] && (scope->sub->number || !handed))
		return;
	/* What no operator of an instance uses is not there; of the model itself it is kept. */
	if (scope->sub->number && !scope->sub->uses[number])
		return;
	if (scope->sub->kept[number] != NPUMEM_NONE)
		scope->values[number].tensor = scope->sub->kept[number];
	else
		add_own(r, number);
}
