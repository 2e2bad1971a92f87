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

/* struct tflite_tables - tables and vectors of the model that are looked into again and again */
struct tflite_tables {
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
static struct name read_name(struct flatbuf *fb, const struct flatbuf_table *table,
			     unsigned int field)
{
	struct flatbuf_vector text = flatbuf_vector(fb, table, field, 1);
	const uint8_t *bytes = fb->data + text.pos;
	struct name name;
	size_t used = 0, i = 0;

	while (i < text.count) {
		size_t length = utf8_length(bytes + i, text.count - i);

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
static struct flatbuf_vector read_data(struct tflite_reader *r, const struct tflite_tables *model,
				       const struct flatbuf_table *table,
				       const struct npuplan_tensor *tensor)
{
	uint32_t index = flatbuf_u32(&r->fb, table, TENSOR_BUFFER, 0);

	if (index >= model->buffers.count && index)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s is in buffer %" PRIu32 ", but there are only %" PRIu32,
			     import_tensor_text(tensor).s, index, model->buffers.count);
	/* Buffer 0 is the empty one by convention. */
	if (!index || r->fb.err)
		return (struct flatbuf_vector){ 0 };
	return tflite_buffer(&r->fb, &model->buffers, index);
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

/* @index: of what the graph was given, or -errno */
static void check_added(struct tflite_reader *r, int64_t index, const char *what)
{
	if (index < 0)
		flatbuf_fail(&r->fb, (int)index, "%s: %s", what, strerror((int)-index));
}

static void read_tensor(struct tflite_reader *r, const struct tflite_tables *model, uint32_t number)
{
	struct flatbuf_table table = flatbuf_vector_table(&r->fb, &model->tensors, number);
	struct npuplan_tensor tensor = { .id = number, .alias_of = NPUMEM_NONE };
	struct flatbuf_vector *data = &r->data[number];
	struct name name = read_name(&r->fb, &table, TENSOR_NAME);
	uint8_t type = flatbuf_u8(&r->fb, &table, TENSOR_TYPE, TYPE_FLOAT32);
	int64_t index;
	bool opaque;

	r->index[number] = NPUMEM_NONE;
	tensor.name = name.s;
	*data = read_data(r, model, &table, &tensor);
	opaque = flatbuf_table(&r->fb, &table, TENSOR_SPARSITY).present || type == TYPE_STRING;
	read_shape(r, &table, type_bits(type), &tensor);
	if (r->fb.err)
		return;
	if (!type_bits(type) && !(type == TYPE_STRING && data->count)) {
		/* Nothing that uses it: then its type does no harm. */
		if (!model->uses[number])
			return;
		unsupported_type(r, &tensor, type);
		if (!data->count || type == TYPE_RESOURCE || type == TYPE_VARIANT)
			return;
		/* A constant is as long as its data, whatever that means. */
		if (!r->doubts.strict)
			r->fb.err = import_doubt(&r->doubts, -EINVAL, NPUIMPORT_DOUBT_SHAPE,
						 "element type", import_tensor_text(&tensor).s,
						 r->fb.error);
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
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s: its buffer has %" PRIu32
			     " bytes, but shape and type make %" PRIu64,
			     import_tensor_text(&tensor).s, data->count, tensor.size);
	}
	/* An empty tensor has no bytes to plan: operators go without it. */
	if (!tensor.size || r->fb.err)
		return;
	tensor.kind =
		kind_of(model->uses[number], data->count && !(model->uses[number] & USE_VARIABLE));
	index = npuplan_graph_add_tensor(r->graph, &tensor);
	check_added(r, index, import_tensor_text(&tensor).s);
	if (index >= 0)
		r->index[number] = (uint32_t)index;
}

/* Name of the operator's type: builtin or custom. */
static struct name read_type(struct tflite_reader *r, const struct tflite_tables *model,
			     const struct flatbuf_table *table, uint32_t number, int32_t *builtin)
{
	uint32_t index = flatbuf_u32(&r->fb, table, OPERATOR_CODE, 0);
	struct name type = { "" };
	struct flatbuf_table code;
	uint8_t deprecated;
	int32_t old;

	if (index >= model->codes.count)
		flatbuf_fail(&r->fb, -EINVAL,
			     "operator %" PRIu32 " has operator code %" PRIu32
			     ", but there are only %" PRIu32,
			     number, index, model->codes.count);
	code = flatbuf_vector_table(&r->fb, &model->codes, index);
	deprecated = flatbuf_u8(&r->fb, &code, CODE_DEPRECATED_BUILTIN, 0);
	*builtin = flatbuf_i32(&r->fb, &code, CODE_BUILTIN, 0);
	/* Old files have but the deprecated field, a signed byte; new ones both. */
	old = deprecated <= INT8_MAX ? deprecated : -1;
	if (old > *builtin)
		*builtin = old;
	if (*builtin == BUILTIN_CUSTOM) {
		type = read_name(&r->fb, &code, CODE_CUSTOM);
		if (!type.s[0])
			flatbuf_fail(&r->fb, -EINVAL,
				     "operator %" PRIu32 " is a custom one without a name", number);
		for (char *c = type.s; *c; c++) {
			if (*c >= 'A' && *c <= 'Z')
				*c = (char)(*c - 'A' + 'a');
		}
	} else if (*builtin < 0) {
		flatbuf_fail(&r->fb, -EINVAL, "operator %" PRIu32 " has builtin code %" PRId32,
			     number, *builtin);
	} else if (tflite_builtin_name(*builtin)) {
		snprintf(type.s, sizeof(type.s), "%s", tflite_builtin_name(*builtin));
	} else {
		snprintf(type.s, sizeof(type.s), "builtin_%" PRId32, *builtin);
	}
	return type;
}

/* Operators that run another subgraph hide memory that a plan would have to hold. */
static void check_control_flow(struct tflite_reader *r, int32_t builtin, uint32_t number,
			       const char *type)
{
	if (builtin == BUILTIN_IF || builtin == BUILTIN_WHILE || builtin == BUILTIN_CALL ||
	    builtin == BUILTIN_CALL_ONCE)
		flatbuf_fail(&r->fb, -EOPNOTSUPP,
			     "operator %" PRIu32 " (%s) runs another subgraph; only subgraph 0 of "
			     "a model is read",
			     number, type);
}

/*
 * Tensors of an operator: optional ones (-1) and empty ones fall away.
 * @sources: the numbers in the file of those that stay
 */
static void read_references(struct tflite_reader *r, const struct flatbuf_vector *numbers,
			    uint32_t *indices, uint32_t *sources, uint32_t *count)
{
	*count = 0;
	for (uint32_t i = 0; i < numbers->count; i++) {
		int32_t number = flatbuf_vector_i32(&r->fb, numbers, i);

		/* Checked by count_uses(). */
		if (number < 0 || r->index[number] == NPUMEM_NONE)
			continue;
		indices[*count] = r->index[number];
		sources[*count] = (uint32_t)number;
		(*count)++;
	}
}

/* State among the inputs is updated: an output, too, unless it is one already. */
static void add_updates(struct tflite_reader *r, struct npuplan_op *op)
{
	uint32_t number = r->graph->op_count;

	for (uint32_t i = 0; i < op->output_count; i++)
		r->writer[op->outputs[i]] = number;
	for (uint32_t i = 0; i < op->input_count; i++) {
		uint32_t tensor = op->inputs[i];

		if (r->graph->tensors[tensor].kind != NPUMEM_TENSOR_STATE ||
		    r->writer[tensor] == number)
			continue;
		r->writer[tensor] = number;
		op->outputs[op->output_count++] = tensor;
	}
}

/* Where the metadata wants both they must want the same place. */
static bool fixed_alike(const struct npuplan_tensor *base, const struct npuplan_tensor *view)
{
	if (!(view->flags & NPUMEM_TENSOR_FLAG_FIXED))
		return true;
	return (base->flags & NPUMEM_TENSOR_FLAG_FIXED) && base->fixed_offset == view->fixed_offset;
}

/*
 * Whether an operator only gives its first input's bytes another shape, and the
 * output can be those bytes: nobody writes them again (as state is), and they
 * are in the arena (constants are not). An input that is handed out as an
 * output is copied.
 * @target: number of the output in the file
 */
static bool is_view(const struct tflite_reader *r, const struct tflite_tables *model,
		    int32_t builtin, const struct npuplan_op *op, uint32_t target)
{
	const struct npuplan_tensor *tensors = r->graph->tensors, *in, *out, *base;

	if ((builtin != BUILTIN_RESHAPE && builtin != BUILTIN_SQUEEZE &&
	     builtin != BUILTIN_EXPAND_DIMS) ||
	    !op->input_count || op->output_count != 1 || op->inputs[0] == op->outputs[0])
		return false;
	in = &tensors[op->inputs[0]];
	out = &tensors[op->outputs[0]];
	base = in->flags & NPUMEM_TENSOR_FLAG_ALIAS ? &tensors[in->alias_of] : in;
	if (in->size != out->size || in->elem_size != out->elem_size || !fixed_alike(base, out))
		return false;
	if (base->kind == NPUMEM_TENSOR_PARAMETER || base->kind == NPUMEM_TENSOR_STATE ||
	    (out->kind != NPUMEM_TENSOR_INTERMEDIATE && out->kind != NPUMEM_TENSOR_OUTPUT) ||
	    (base->kind == NPUMEM_TENSOR_INPUT && out->kind == NPUMEM_TENSOR_OUTPUT))
		return false;
	/* Out of order, or for nobody: import_check_graph() shall see the operator. */
	if (base->kind != NPUMEM_TENSOR_INPUT && base == in &&
	    r->writer[op->inputs[0]] == NPUMEM_NONE)
		return false;
	return !(out->flags & NPUMEM_TENSOR_FLAG_ALIAS) &&
	       r->writer[op->outputs[0]] == NPUMEM_NONE && !(model->uses[target] & USE_READ_YET) &&
	       (model->uses[target] & (USE_READ | USE_OUTPUT));
}

static void make_view(struct tflite_reader *r, const struct npuplan_op *op)
{
	struct npuplan_tensor *in = &r->graph->tensors[op->inputs[0]];
	struct npuplan_tensor *out = &r->graph->tensors[op->outputs[0]];
	bool chained = in->flags & NPUMEM_TENSOR_FLAG_ALIAS;

	out->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	out->fixed_offset = 0;
	out->alias_of = chained ? in->alias_of : op->inputs[0];
	out->alias_offset = chained ? in->alias_offset : 0;
	r->views++;
}

/* Newer than is known here. Its tensors say all that planning it whole needs. */
static void unknown_operator(struct tflite_reader *r, struct npuplan_op *op)
{
	struct import_text where = import_op_text(op);
	char text[sizeof(where.s) + 32];

	snprintf(text, sizeof(text), "%s is not known here", where.s);
	op->attrs.whole = true;
	import_warn(&r->doubts, NPUIMPORT_DOUBT_OPERATOR, op->type, where.s, text);
}

static void read_operator(struct tflite_reader *r, const struct tflite_tables *model,
			  uint32_t number)
{
	struct flatbuf_table table = flatbuf_vector_table(&r->fb, &model->operators, number);
	struct flatbuf_vector inputs = flatbuf_vector(&r->fb, &table, OPERATOR_INPUTS, 4);
	struct flatbuf_vector outputs = flatbuf_vector(&r->fb, &table, OPERATOR_OUTPUTS, 4);
	struct npuplan_op op = { .id = number };
	uint32_t *memory, *sources, target = 0;
	struct name type, name;
	int32_t builtin;

	type = read_type(r, model, &table, number, &builtin);
	check_control_flow(r, builtin, number, type.s);
	if (r->fb.err)
		return;
	memory = malloc(((size_t)inputs.count * 3 + (size_t)outputs.count * 2 + 1) *
			sizeof(*memory));
	if (!memory) {
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
		return;
	}
	op.inputs = memory;
	sources = memory + inputs.count;
	op.outputs = sources + inputs.count + outputs.count;
	op.type = type.s;
	read_references(r, &outputs, op.outputs, sources, &op.output_count);
	if (op.output_count)
		target = sources[0];
	read_references(r, &inputs, op.inputs, sources, &op.input_count);
	/* Operators have no names of their own: that of what they write. */
	if (op.output_count && *r->graph->tensors[op.outputs[0]].name)
		snprintf(name.s, sizeof(name.s), "%s", r->graph->tensors[op.outputs[0]].name);
	else
		snprintf(name.s, sizeof(name.s), "%.200s_%" PRIu32, type.s, number);
	op.name = name.s;
	if (!op.output_count)
		flatbuf_fail(&r->fb, -EINVAL, "%s writes no tensor that has bytes",
			     import_op_text(&op).s);
	tflite_attrs(r, &table, builtin, sources, &op);
	if (!r->fb.err) {
		if (builtin != BUILTIN_CUSTOM && !tflite_builtin_name(builtin))
			unknown_operator(r, &op);
		for (uint32_t i = 0; i < op.input_count; i++)
			model->uses[sources[i]] |= USE_READ_YET;
		if (is_view(r, model, builtin, &op, target)) {
			make_view(r, &op);
		} else {
			add_updates(r, &op);
			check_added(r, npuplan_graph_add_op(r->graph, &op), import_op_text(&op).s);
		}
	}
	free(memory);
}

/* @what: "input" or "output": the operator's, or the model's if @operator_number is NPUMEM_NONE */
static void note_uses(struct tflite_reader *r, const struct tflite_tables *model,
		      const struct flatbuf_vector *numbers, int32_t min, uint8_t use,
		      const char *what, uint32_t operator_number)
{
	char of[32] = "subgraph 0";

	if (operator_number != NPUMEM_NONE)
		snprintf(of, sizeof(of), "operator %" PRIu32, operator_number);
	for (uint32_t i = 0; i < numbers->count; i++) {
		int32_t number = flatbuf_vector_i32(&r->fb, numbers, i);

		if (number == -1 && min == -1)
			continue;
		if (number >= 0 && (uint32_t)number < model->tensors.count)
			model->uses[number] |= use;
		else
			flatbuf_fail(&r->fb, -EINVAL,
				     "%s %" PRIu32 " of %s is tensor %" PRId32
				     ", but there are only %" PRIu32,
				     what, i, of, number, model->tensors.count);
	}
}

/* The uses of each tensor are counted, and all numbers of tensors are checked here. */
static void count_uses(struct tflite_reader *r, struct tflite_tables *model)
{
	uint64_t references = 0;

	note_uses(r, model, &model->inputs, 0, USE_INPUT, "input", NPUMEM_NONE);
	note_uses(r, model, &model->outputs, 0, USE_OUTPUT, "output", NPUMEM_NONE);
	for (uint32_t i = 0; !r->fb.err && i < model->operators.count; i++) {
		struct flatbuf_table table = flatbuf_vector_table(&r->fb, &model->operators, i);
		struct flatbuf_vector inputs = flatbuf_vector(&r->fb, &table, OPERATOR_INPUTS, 4);
		struct flatbuf_vector outputs = flatbuf_vector(&r->fb, &table, OPERATOR_OUTPUTS, 4);

		/* Vectors may overlap: a small file could stand for a huge graph. */
		references += (uint64_t)inputs.count + outputs.count;
		if (references > NPUIMPORT_MAX_REFERENCES) {
			flatbuf_fail(&r->fb, -E2BIG,
				     "operators have more than %u inputs and outputs together",
				     NPUIMPORT_MAX_REFERENCES);
			return;
		}
		note_uses(r, model, &inputs, -1, USE_READ, "input", i);
		note_uses(r, model, &outputs, -1, USE_WRITTEN, "output", i);
	}
	for (uint32_t i = 0; !r->fb.err && i < model->tensors.count; i++) {
		struct flatbuf_table table = flatbuf_vector_table(&r->fb, &model->tensors, i);

		if (flatbuf_u8(&r->fb, &table, TENSOR_IS_VARIABLE, 0) && model->uses[i])
			model->uses[i] |= USE_VARIABLE;
	}
}

static void read_model(struct tflite_reader *r, struct tflite_tables *model)
{
	struct flatbuf *fb = &r->fb;
	struct flatbuf_vector subgraphs;
	uint32_t version;

	model->root = flatbuf_root(fb, TFLITE_IDENTIFIER);
	version = flatbuf_u32(fb, &model->root, MODEL_VERSION, 0);
	if (version != TFLITE_VERSION)
		flatbuf_fail(fb, -EOPNOTSUPP,
			     "the model has schema version %" PRIu32 ", only %d is read", version,
			     TFLITE_VERSION);
	model->codes = flatbuf_vector(fb, &model->root, MODEL_OPERATOR_CODES, 4);
	model->buffers = flatbuf_vector(fb, &model->root, MODEL_BUFFERS, 4);
	subgraphs = flatbuf_vector(fb, &model->root, MODEL_SUBGRAPHS, 4);
	if (!subgraphs.count)
		flatbuf_fail(fb, -EINVAL, "the model has no subgraph");
	model->subgraph = flatbuf_vector_table(fb, &subgraphs, 0);
	model->tensors = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_TENSORS, 4);
	model->operators = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_OPERATORS, 4);
	model->inputs = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_INPUTS, 4);
	model->outputs = flatbuf_vector(fb, &model->subgraph, SUBGRAPH_OUTPUTS, 4);
	model->subgraphs = subgraphs.count;
}

static void read_subgraph(struct tflite_reader *r, struct tflite_tables *model)
{
	size_t count = (size_t)model->tensors.count + 1;

	r->tensor_count = model->tensors.count;
	r->index = calloc(count, sizeof(*r->index));
	r->data = calloc(count, sizeof(*r->data));
	model->uses = calloc(count, 1);
	r->writer = malloc(count * sizeof(*r->writer));
	if (!r->index || !r->data || !r->writer || !model->uses) {
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
		return;
	}
	memset(r->writer, 0xff, count * sizeof(*r->writer));
	count_uses(r, model);
	for (uint32_t i = 0; !r->fb.err && i < model->tensors.count; i++)
		read_tensor(r, model, i);
	if (!r->fb.err)
		tflite_offline(r, &model->root);
	for (uint32_t i = 0; !r->fb.err && i < model->operators.count; i++)
		read_operator(r, model, i);
	if (!r->fb.err)
		r->fb.err = import_check_graph(r->graph, r->fb.error);
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
	struct tflite_tables model = { 0 };
	int err = import_doubts_of(&reader.doubts, options, options_size, error);

	*out = NULL;
	if (err)
		return err;
	read_model(&reader, &model);
	if (reader.fb.err)
		return reader.fb.err;
	reader.graph = npuplan_graph_new(name);
	if (!reader.graph)
		return import_fail(error, -ENOMEM, "out of memory");
	reader.graph->source_layout = NPUPLAN_NHWC;
	reader.graph->layout = NPUPLAN_NHWC;
	read_subgraph(&reader, &model);
	free(reader.index);
	free(reader.data);
	free(reader.writer);
	free(model.uses);
	if (reader.fb.err) {
		npuplan_graph_free(reader.graph);
		return reader.fb.err;
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
