/* SPDX-License-Identifier: MIT */
/*
 * TFLite model, subgraph 0 -> struct npuplan_graph.
 *
 * A tensor whose buffer has data is a parameter; variable tensors are state,
 * and an operator that reads one updates it in place. Operators that only give
 * bytes another shape are no operators here: their outputs are aliases. What
 * takes no part: fused activations, quantization, other subgraphs; tensors that
 * nothing uses and that have no bytes.
 */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npuimport.h"

/* Longest name kept, in bytes: converters join the names of all they fuse. */
#define MAX_NAME 255

enum {
	USE_INPUT = 1,	 /* of the subgraph */
	USE_OUTPUT = 2,	 /* of the subgraph */
	USE_READ = 4,	 /* by an operator */
	USE_WRITTEN = 8, /* by an operator */
	USE_VARIABLE = 16,
	USE_READ_YET = 32, /* by an operator that has been taken over */
};

struct name {
	char s[MAX_NAME + 1];
};

/* The model's tables and vectors that are looked into again and again. */
struct model {
	struct flatbuf_table root;
	struct flatbuf_vector codes;
	struct flatbuf_vector buffers;
	struct flatbuf_table subgraph;
	struct flatbuf_vector tensors;
	struct flatbuf_vector operators;
	struct flatbuf_vector inputs;
	struct flatbuf_vector outputs;
	uint32_t subgraphs;
	uint8_t *uses; /* per tensor, USE_* */
};

/* Length of the UTF-8 sequence at @s of at most @size bytes; 0 if it is none. */
static size_t utf8_length(const uint8_t *s, size_t size)
{
	size_t length = s[0] < 0x80		    ? 1 :
			s[0] >= 0xc2 && s[0] < 0xe0 ? 2 :
			s[0] >= 0xe0 && s[0] < 0xf0 ? 3 :
			s[0] >= 0xf0 && s[0] < 0xf5 ? 4 :
						      0;

	if (!length || length > size)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong, surrogates, beyond the last code point. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

/* Name as clean UTF-8, cut short to MAX_NAME; bytes that are none become '?'. */
static struct name clean_name(const struct flatbuf *fb, const struct flatbuf_vector *text)
{
	const uint8_t *bytes = fb->data + text->pos;
	struct name name;
	size_t used = 0, i = 0;

	while (i < text->count) {
		size_t length = utf8_length(bytes + i, text->count - i);

		if (used + (length ? length : 1) > MAX_NAME)
			break;
		if (length && bytes[i] >= ' ' && bytes[i] != 0x7f) {
			memcpy(name.s + used, bytes + i, length);
			used += length;
			i += length;
		} else {
			name.s[used++] = '?';
			i++;
		}
	}
	name.s[used] = '\0';
	return name;
}

static int read_name(struct flatbuf *fb, const struct flatbuf_table *table, unsigned int field,
		     struct name *name)
{
	struct flatbuf_vector text;
	int err = flatbuf_vector(fb, table, field, 1, &text);

	name->s[0] = '\0';
	if (!err && text.present)
		*name = clean_name(fb, &text);
	return err;
}

/* Bits of an element, 0 for types without a size. */
static unsigned int type_bits(uint8_t type)
{
	switch (type) {
	case TYPE_INT4:
		return 4;
	case TYPE_UINT8:
	case TYPE_BOOL:
	case TYPE_INT8:
		return 8;
	case TYPE_FLOAT16:
	case TYPE_INT16:
	case TYPE_UINT16:
	case TYPE_BFLOAT16:
		return 16;
	case TYPE_FLOAT32:
	case TYPE_INT32:
	case TYPE_UINT32:
		return 32;
	case TYPE_INT64:
	case TYPE_COMPLEX64:
	case TYPE_FLOAT64:
	case TYPE_UINT64:
		return 64;
	case TYPE_COMPLEX128:
		return 128;
	default:
		return 0;
	}
}

static int unsupported_type(struct tflite_reader *reader, const struct npuplan_tensor *tensor,
			    uint8_t type)
{
	if (type == TYPE_STRING)
		return import_fail(reader->fb.error, -EOPNOTSUPP,
				   "%s has strings: their size is not known before the model runs",
				   import_tensor_text(tensor).s);
	if (type == TYPE_RESOURCE || type == TYPE_VARIANT)
		return import_fail(reader->fb.error, -EOPNOTSUPP,
				   "%s is a %s: what it stands for is not in the model's plan",
				   import_tensor_text(tensor).s,
				   type == TYPE_RESOURCE ? "resource" : "variant");
	return import_fail(reader->fb.error, -EOPNOTSUPP, "%s has element type %u, not known here",
			   import_tensor_text(tensor).s, type);
}

/* @tensor->size is 0 for a tensor that has a dimension of 0. */
static int read_shape(struct tflite_reader *reader, const struct flatbuf_table *table,
		      unsigned int bits, struct npuplan_tensor *tensor)
{
	struct flatbuf_vector shape;
	uint64_t elements = 1;
	int err = flatbuf_vector(&reader->fb, table, TENSOR_SHAPE, 4, &shape);

	if (err)
		return err;
	if (shape.count > NPUPLAN_MAX_DIMS)
		return import_fail(reader->fb.error, -EOPNOTSUPP,
				   "%s has %" PRIu32 " dimensions, more than %d",
				   import_tensor_text(tensor).s, shape.count, NPUPLAN_MAX_DIMS);
	for (uint32_t d = 0; d < shape.count; d++) {
		int32_t size = flatbuf_vector_i32(&reader->fb, &shape, d);

		if (size < 0)
			return import_fail(reader->fb.error, -EOPNOTSUPP,
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
		return import_fail(reader->fb.error, -E2BIG, "%s is larger than %lld bytes",
				   import_tensor_text(tensor).s, NPUIMPORT_MAX_BYTES);
	tensor->size = (elements * bits + 7) / 8;
	tensor->elem_size = bits % 8 ? 0 : bits / 8;
	tensor->align = tensor->elem_size ? tensor->elem_size : 1;
	return 0;
}

int tflite_buffer(struct flatbuf *fb, const struct flatbuf_vector *buffers, uint32_t index,
		  struct flatbuf_vector *data)
{
	struct flatbuf_table buffer;
	uint64_t offset, size;
	int err = flatbuf_vector_table(fb, buffers, index, &buffer);

	*data = (struct flatbuf_vector){ 0 };
	if (!err)
		err = flatbuf_vector(fb, &buffer, BUFFER_DATA, 1, data);
	if (!err)
		err = flatbuf_u64(fb, &buffer, BUFFER_OFFSET, 0, &offset);
	if (!err)
		err = flatbuf_u64(fb, &buffer, BUFFER_SIZE, 0, &size);
	if (err || data->count || offset <= 1)
		return err;
	if (offset > fb->size || size > fb->size - offset || size > UINT32_MAX)
		return import_fail(fb->error, -EBADMSG,
				   "buffer %" PRIu32 " has %" PRIu64 " bytes at byte %" PRIu64
				   ", outside the file of %" PRIu64 " bytes",
				   index, size, offset, fb->size);
	*data = (struct flatbuf_vector){
		.pos = offset,
		.count = (uint32_t)size,
		.present = true,
	};
	return 0;
}

/* Constant data of a tensor. */
static int read_data(struct tflite_reader *reader, const struct model *model,
		     const struct flatbuf_table *table, const struct npuplan_tensor *tensor,
		     struct flatbuf_vector *data)
{
	uint32_t index;
	int err = flatbuf_u32(&reader->fb, table, TENSOR_BUFFER, 0, &index);

	*data = (struct flatbuf_vector){ 0 };
	/* Buffer 0 is the empty one by convention. */
	if (err || !index)
		return err;
	if (index >= model->buffers.count)
		return import_fail(reader->fb.error, -EINVAL,
				   "%s is in buffer %" PRIu32 ", but there are only %" PRIu32,
				   import_tensor_text(tensor).s, index, model->buffers.count);
	return tflite_buffer(&reader->fb, &model->buffers, index, data);
}

/* Kind by use; a tensor that is an input and an output passes through. */
static uint32_t kind_of(uint8_t uses, bool constant)
{
	if (constant)
		return NPUMEM_TENSOR_PARAMETER;
	if ((uses & USE_VARIABLE) || (uses & (USE_INPUT | USE_OUTPUT)) == (USE_INPUT | USE_OUTPUT))
		return NPUMEM_TENSOR_STATE;
	if (uses & USE_INPUT)
		return NPUMEM_TENSOR_INPUT;
	return uses & USE_OUTPUT ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE;
}

static int read_tensor(struct tflite_reader *reader, const struct model *model, uint32_t number)
{
	struct flatbuf_table table;
	struct npuplan_tensor tensor = { .id = number, .alias_of = NPUMEM_NONE };
	struct flatbuf_vector *data = &reader->data[number];
	bool opaque;
	uint8_t type;
	struct flatbuf_table sparsity;
	struct name name;
	int64_t index;
	int err;

	reader->index[number] = NPUMEM_NONE;
	err = flatbuf_vector_table(&reader->fb, &model->tensors, number, &table);
	if (!err)
		err = read_name(&reader->fb, &table, TENSOR_NAME, &name);
	if (!err)
		err = flatbuf_u8(&reader->fb, &table, TENSOR_TYPE, TYPE_FLOAT32, &type);
	if (err)
		return err;
	tensor.name = name.s;
	err = read_data(reader, model, &table, &tensor, data);
	if (!err)
		err = flatbuf_table(&reader->fb, &table, TENSOR_SPARSITY, &sparsity);
	if (!err)
		err = read_shape(reader, &table, type_bits(type), &tensor);
	if (err)
		return err;
	opaque = sparsity.present || type == TYPE_STRING;
	if (!type_bits(type) && !(type == TYPE_STRING && data->count)) {
		/* Nothing that uses it: then its type does no harm. */
		if (!model->uses[number])
			return 0;
		err = unsupported_type(reader, &tensor, type);
		if (!data->count || type == TYPE_RESOURCE || type == TYPE_VARIANT)
			return err;
		/* A constant is as long as its data, whatever that means. */
		err = import_doubt(&reader->doubts, reader->doubts.strict ? err : -EINVAL,
				   NPUIMPORT_DOUBT_SHAPE, "element type",
				   import_tensor_text(&tensor).s, reader->fb.error);
		if (err)
			return err;
		opaque = true;
	}
	if (data->count && opaque) {
		/* A shape without elements says nothing of data that is there. */
		for (uint32_t d = tensor.dim_count; d--;)
			if (!tensor.shape[d])
				tensor.dim_count = 0;
		tensor.size = data->count;
		tensor.elem_size = 0;
		tensor.align = 1;
	} else if (data->count && data->count != tensor.size) {
		return import_fail(reader->fb.error, -EINVAL,
				   "%s: its buffer has %" PRIu32
				   " bytes, but shape and type make %" PRIu64,
				   import_tensor_text(&tensor).s, data->count, tensor.size);
	}
	/* An empty tensor has no bytes to plan: operators go without it. */
	if (!tensor.size)
		return 0;
	tensor.kind =
		kind_of(model->uses[number], data->count && !(model->uses[number] & USE_VARIABLE));
	index = npuplan_graph_add_tensor(reader->graph, &tensor);
	if (index < 0)
		return import_fail(reader->fb.error, (int)index, "%s: %s",
				   import_tensor_text(&tensor).s, strerror((int)-index));
	reader->index[number] = (uint32_t)index;
	return 0;
}

/* Name of the operator's type: builtin or custom. */
static int read_type(struct tflite_reader *reader, const struct model *model,
		     const struct flatbuf_table *table, uint32_t number, int32_t *builtin,
		     struct name *type)
{
	struct flatbuf_table code;
	uint8_t deprecated;
	uint32_t index;
	int32_t old;
	int err = flatbuf_u32(&reader->fb, table, OPERATOR_CODE, 0, &index);

	if (err)
		return err;
	if (index >= model->codes.count)
		return import_fail(reader->fb.error, -EINVAL,
				   "operator %" PRIu32 " has operator code %" PRIu32
				   ", but there are only %" PRIu32,
				   number, index, model->codes.count);
	err = flatbuf_vector_table(&reader->fb, &model->codes, index, &code);
	if (!err)
		err = flatbuf_u8(&reader->fb, &code, CODE_DEPRECATED_BUILTIN, 0, &deprecated);
	if (!err)
		err = flatbuf_i32(&reader->fb, &code, CODE_BUILTIN, 0, builtin);
	if (err)
		return err;
	/* Old files have but the deprecated field, a signed byte; new ones both. */
	old = deprecated <= INT8_MAX ? deprecated : -1;
	if (old > *builtin)
		*builtin = old;
	if (*builtin == BUILTIN_CUSTOM) {
		err = read_name(&reader->fb, &code, CODE_CUSTOM, type);
		if (!err && !type->s[0])
			err = import_fail(reader->fb.error, -EINVAL,
					  "operator %" PRIu32 " is a custom one without a name",
					  number);
		for (char *c = type->s; *c; c++) {
			if (*c >= 'A' && *c <= 'Z')
				*c = (char)(*c - 'A' + 'a');
		}
		return err;
	}
	if (*builtin < 0)
		return import_fail(reader->fb.error, -EINVAL,
				   "operator %" PRIu32 " has builtin code %" PRId32, number,
				   *builtin);
	if (tflite_builtin_name(*builtin))
		snprintf(type->s, sizeof(type->s), "%s", tflite_builtin_name(*builtin));
	else
		snprintf(type->s, sizeof(type->s), "builtin_%" PRId32, *builtin);
	return 0;
}

/* Operators that run another subgraph hide memory that a plan would have to hold. */
static int check_control_flow(struct tflite_reader *reader, int32_t builtin, uint32_t number,
			      const char *type)
{
	if (builtin != BUILTIN_IF && builtin != BUILTIN_WHILE && builtin != BUILTIN_CALL &&
	    builtin != BUILTIN_CALL_ONCE)
		return 0;
	return import_fail(reader->fb.error, -EOPNOTSUPP,
			   "operator %" PRIu32 " (%s) runs another subgraph; only subgraph 0 of a "
			   "model is read",
			   number, type);
}

/*
 * Tensors of an operator: optional ones (-1) and empty ones fall away.
 * @sources: the numbers in the file of those that stay
 */
static void read_references(struct tflite_reader *reader, const struct flatbuf_vector *numbers,
			    uint32_t *indices, uint32_t *sources, uint32_t *count)
{
	*count = 0;
	for (uint32_t i = 0; i < numbers->count; i++) {
		int32_t number = flatbuf_vector_i32(&reader->fb, numbers, i);

		/* Checked by count_uses(). */
		if (number < 0 || reader->index[number] == NPUMEM_NONE)
			continue;
		indices[*count] = reader->index[number];
		sources[*count] = (uint32_t)number;
		(*count)++;
	}
}

/* State among the inputs is updated: an output, too, unless it is one already. */
static void add_updates(struct tflite_reader *reader, struct npuplan_op *op)
{
	uint32_t number = reader->graph->op_count;

	for (uint32_t i = 0; i < op->output_count; i++)
		reader->writer[op->outputs[i]] = number;
	for (uint32_t i = 0; i < op->input_count; i++) {
		uint32_t tensor = op->inputs[i];

		if (reader->graph->tensors[tensor].kind != NPUMEM_TENSOR_STATE ||
		    reader->writer[tensor] == number)
			continue;
		reader->writer[tensor] = number;
		op->outputs[op->output_count++] = tensor;
	}
}

/* Where the metadata wants both they must want the same place. */
static bool fixed_alike(const struct npuplan_tensor *base, const struct npuplan_tensor *view)
{
	if (!(view->flags & NPUMEM_TENSOR_FIXED))
		return true;
	return (base->flags & NPUMEM_TENSOR_FIXED) && base->fixed_offset == view->fixed_offset;
}

/*
 * Whether an operator only gives its first input's bytes another shape, and the
 * output can be those bytes: nobody writes them again (as state is), and they
 * are in the arena (constants are not). An input that is handed out as an
 * output is copied.
 * @target: number of the output in the file
 */
static bool is_view(const struct tflite_reader *reader, const struct model *model, int32_t builtin,
		    const struct npuplan_op *op, uint32_t target)
{
	const struct npuplan_tensor *tensors = reader->graph->tensors, *in, *out, *base;

	if ((builtin != BUILTIN_RESHAPE && builtin != BUILTIN_SQUEEZE &&
	     builtin != BUILTIN_EXPAND_DIMS) ||
	    !op->input_count || op->output_count != 1 || op->inputs[0] == op->outputs[0])
		return false;
	in = &tensors[op->inputs[0]];
	out = &tensors[op->outputs[0]];
	base = in->flags & NPUMEM_TENSOR_ALIAS ? &tensors[in->alias_of] : in;
	if (in->size != out->size || in->elem_size != out->elem_size || !fixed_alike(base, out))
		return false;
	if (base->kind == NPUMEM_TENSOR_PARAMETER || base->kind == NPUMEM_TENSOR_STATE ||
	    (out->kind != NPUMEM_TENSOR_INTERMEDIATE && out->kind != NPUMEM_TENSOR_OUTPUT) ||
	    (base->kind == NPUMEM_TENSOR_INPUT && out->kind == NPUMEM_TENSOR_OUTPUT))
		return false;
	/* Out of order, or for nobody: import_check_graph() shall see the operator. */
	if (base->kind != NPUMEM_TENSOR_INPUT && base == in &&
	    reader->writer[op->inputs[0]] == NPUMEM_NONE)
		return false;
	return !(out->flags & NPUMEM_TENSOR_ALIAS) &&
	       reader->writer[op->outputs[0]] == NPUMEM_NONE &&
	       !(model->uses[target] & USE_READ_YET) &&
	       (model->uses[target] & (USE_READ | USE_OUTPUT));
}

static void make_view(struct tflite_reader *reader, const struct npuplan_op *op)
{
	struct npuplan_tensor *in = &reader->graph->tensors[op->inputs[0]];
	struct npuplan_tensor *out = &reader->graph->tensors[op->outputs[0]];
	bool chained = in->flags & NPUMEM_TENSOR_ALIAS;

	out->flags = NPUMEM_TENSOR_ALIAS;
	out->fixed_offset = 0;
	out->alias_of = chained ? in->alias_of : op->inputs[0];
	out->alias_offset = chained ? in->alias_offset : 0;
	reader->views++;
}

static int add_operator(struct tflite_reader *reader, struct npuplan_op *op)
{
	int64_t index;

	add_updates(reader, op);
	index = npuplan_graph_add_op(reader->graph, op);
	if (index >= 0)
		return 0;
	return import_fail(reader->fb.error, (int)index, "%s: %s", import_op_text(op).s,
			   strerror((int)-index));
}

/* Newer than is known here. Its tensors say all that planning it whole needs. */
static void unknown_operator(struct tflite_reader *reader, struct npuplan_op *op)
{
	struct import_text place = import_op_text(op);
	char text[sizeof(place.s) + 32];

	snprintf(text, sizeof(text), "%s is not known here", place.s);
	op->attrs.whole = true;
	import_warn(&reader->doubts, NPUIMPORT_DOUBT_OPERATOR, op->type, place.s, text);
}

static int read_operator(struct tflite_reader *reader, const struct model *model, uint32_t number)
{
	struct flatbuf_vector inputs = { 0 }, outputs = { 0 };
	struct flatbuf_table table;
	struct npuplan_op op = { .id = number };
	uint32_t *memory = NULL, *sources, target = 0;
	struct name type, name;
	int32_t builtin = 0;
	int err;

	err = flatbuf_vector_table(&reader->fb, &model->operators, number, &table);
	if (!err)
		err = read_type(reader, model, &table, number, &builtin, &type);
	if (!err)
		err = check_control_flow(reader, builtin, number, type.s);
	if (!err)
		err = flatbuf_vector(&reader->fb, &table, OPERATOR_INPUTS, 4, &inputs);
	if (!err)
		err = flatbuf_vector(&reader->fb, &table, OPERATOR_OUTPUTS, 4, &outputs);
	if (err)
		return err;
	memory = malloc(((size_t)inputs.count * 3 + (size_t)outputs.count * 2 + 1) *
			sizeof(*memory));
	if (!memory)
		return import_fail(reader->fb.error, -ENOMEM, "out of memory");
	op.inputs = memory;
	sources = memory + inputs.count;
	op.outputs = sources + inputs.count + outputs.count;
	op.type = type.s;
	read_references(reader, &outputs, op.outputs, sources, &op.output_count);
	if (op.output_count)
		target = sources[0];
	read_references(reader, &inputs, op.inputs, sources, &op.input_count);
	/* Operators have no names of their own: that of what they write. */
	if (op.output_count && *reader->graph->tensors[op.outputs[0]].name)
		snprintf(name.s, sizeof(name.s), "%s", reader->graph->tensors[op.outputs[0]].name);
	else
		snprintf(name.s, sizeof(name.s), "%.200s_%" PRIu32, type.s, number);
	op.name = name.s;
	if (!op.output_count)
		err = import_fail(reader->fb.error, -EINVAL, "%s writes no tensor that has bytes",
				  import_op_text(&op).s);
	if (!err)
		err = tflite_attrs(reader, &table, builtin, sources, &op);
	if (!err && builtin != BUILTIN_CUSTOM && !tflite_builtin_name(builtin))
		unknown_operator(reader, &op);
	for (uint32_t i = 0; !err && i < op.input_count; i++)
		model->uses[sources[i]] |= USE_READ_YET;
	if (!err && is_view(reader, model, builtin, &op, target))
		make_view(reader, &op);
	else if (!err)
		err = add_operator(reader, &op);
	free(memory);
	return err;
}

static int mark(struct tflite_reader *reader, const struct model *model,
		const struct flatbuf_vector *numbers, int32_t min, uint8_t use, const char *what,
		uint32_t operator_number)
{
	for (uint32_t i = 0; i < numbers->count; i++) {
		int32_t number = flatbuf_vector_i32(&reader->fb, numbers, i);

		if (number == -1 && min == -1)
			continue;
		if (number >= 0 && (uint32_t)number < model->tensors.count) {
			model->uses[number] |= use;
			continue;
		}
		if (operator_number == NPUMEM_NONE)
			return import_fail(reader->fb.error, -EINVAL,
					   "%s %" PRIu32 " of subgraph 0 is tensor %" PRId32
					   ", but there are only %" PRIu32,
					   what, i, number, model->tensors.count);
		return import_fail(reader->fb.error, -EINVAL,
				   "%s %" PRIu32 " of operator %" PRIu32 " is tensor %" PRId32
				   ", but there are only %" PRIu32,
				   what, i, operator_number, number, model->tensors.count);
	}
	return 0;
}

/* Who uses each tensor; all numbers of tensors are checked here. */
static int count_uses(struct tflite_reader *reader, struct model *model)
{
	uint64_t references = 0;
	int err;

	err = mark(reader, model, &model->inputs, 0, USE_INPUT, "input", NPUMEM_NONE);
	if (!err)
		err = mark(reader, model, &model->outputs, 0, USE_OUTPUT, "output", NPUMEM_NONE);
	for (uint32_t i = 0; !err && i < model->operators.count; i++) {
		struct flatbuf_vector inputs, outputs;
		struct flatbuf_table table;

		err = flatbuf_vector_table(&reader->fb, &model->operators, i, &table);
		if (!err)
			err = flatbuf_vector(&reader->fb, &table, OPERATOR_INPUTS, 4, &inputs);
		if (!err)
			err = flatbuf_vector(&reader->fb, &table, OPERATOR_OUTPUTS, 4, &outputs);
		if (err)
			break;
		/* Vectors may overlap: a small file could stand for a huge graph. */
		references += (uint64_t)inputs.count + outputs.count;
		if (references > NPUIMPORT_MAX_REFERENCES)
			return import_fail(reader->fb.error, -E2BIG,
					   "operators have more than %u inputs and outputs "
					   "together",
					   NPUIMPORT_MAX_REFERENCES);
		err = mark(reader, model, &inputs, -1, USE_READ, "input", i);
		if (!err)
			err = mark(reader, model, &outputs, -1, USE_WRITTEN, "output", i);
	}
	for (uint32_t i = 0; !err && i < model->tensors.count; i++) {
		struct flatbuf_table table;
		uint8_t variable = 0;

		err = flatbuf_vector_table(&reader->fb, &model->tensors, i, &table);
		if (!err)
			err = flatbuf_u8(&reader->fb, &table, TENSOR_IS_VARIABLE, 0, &variable);
		if (variable && model->uses[i])
			model->uses[i] |= USE_VARIABLE;
	}
	return err;
}

static int read_model(struct tflite_reader *reader, struct model *model)
{
	struct flatbuf *fb = &reader->fb;
	struct flatbuf_vector subgraphs = { 0 };
	uint32_t version;
	int err = flatbuf_root(fb, TFLITE_IDENTIFIER, &model->root);

	if (!err)
		err = flatbuf_u32(fb, &model->root, MODEL_VERSION, 0, &version);
	if (!err && version != TFLITE_VERSION)
		return import_fail(fb->error, -EOPNOTSUPP,
				   "the model has schema version %" PRIu32 ", only %d is read",
				   version, TFLITE_VERSION);
	if (!err)
		err = flatbuf_vector(fb, &model->root, MODEL_OPERATOR_CODES, 4, &model->codes);
	if (!err)
		err = flatbuf_vector(fb, &model->root, MODEL_BUFFERS, 4, &model->buffers);
	if (!err)
		err = flatbuf_vector(fb, &model->root, MODEL_SUBGRAPHS, 4, &subgraphs);
	if (!err && !subgraphs.count)
		return import_fail(fb->error, -EINVAL, "the model has no subgraph");
	if (!err)
		err = flatbuf_vector_table(fb, &subgraphs, 0, &model->subgraph);
	if (!err)
		err = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_TENSORS, 4, &model->tensors);
	if (!err)
		err = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_OPERATORS, 4,
				     &model->operators);
	if (!err)
		err = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_INPUTS, 4, &model->inputs);
	if (!err)
		err = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_OUTPUTS, 4, &model->outputs);
	model->subgraphs = subgraphs.count;
	return err;
}

static int read_subgraph(struct tflite_reader *reader, struct model *model)
{
	size_t count = (size_t)model->tensors.count + 1;
	int err;

	reader->tensor_count = model->tensors.count;
	reader->index = calloc(count, sizeof(*reader->index));
	reader->data = calloc(count, sizeof(*reader->data));
	model->uses = calloc(count, 1);
	reader->writer = malloc(count * sizeof(*reader->writer));
	if (!reader->index || !reader->data || !reader->writer || !model->uses)
		return import_fail(reader->fb.error, -ENOMEM, "out of memory");
	memset(reader->writer, 0xff, count * sizeof(*reader->writer));
	err = count_uses(reader, model);
	for (uint32_t i = 0; !err && i < model->tensors.count; i++)
		err = read_tensor(reader, model, i);
	if (!err)
		err = tflite_offline(reader, &model->root);
	for (uint32_t i = 0; !err && i < model->operators.count; i++)
		err = read_operator(reader, model, i);
	if (!err)
		err = import_check_graph(reader->graph, reader->fb.error);
	return err;
}

int npuimport_tflite_sized(const void *data, size_t size, const char *name,
			   const struct npuimport_options *options, size_t options_size,
			   struct npuplan_graph **out, struct npuimport_info *info,
			   struct npuplan_error *error)
{
	struct npuplan_error own;
	struct tflite_reader reader = {
		.fb = { .data = data, .size = size, .error = error ? error : &own },
	};
	struct model model = { 0 };
	int err = import_doubts_of(&reader.doubts, options, options_size, error);

	*out = NULL;
	if (!err)
		err = read_model(&reader, &model);
	if (err)
		return err;
	reader.graph = npuplan_graph_new(name);
	if (!reader.graph)
		return import_fail(error, -ENOMEM, "out of memory");
	reader.graph->source_layout = NPUPLAN_NHWC;
	reader.graph->layout = NPUPLAN_NHWC;
	err = read_subgraph(&reader, &model);
	free(reader.index);
	free(reader.data);
	free(reader.writer);
	free(model.uses);
	if (err) {
		npuplan_graph_free(reader.graph);
		return err;
	}
	if (info)
		*info = (struct npuimport_info){
			.format = NPUIMPORT_TFLITE,
			.subgraphs = model.subgraphs,
			.operators = model.operators.count,
			.tensors = model.tensors.count,
			.left_out = model.tensors.count - reader.graph->tensor_count,
			.views = reader.views,
		};
	*out = reader.graph;
	return 0;
}
