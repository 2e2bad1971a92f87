/* SPDX-License-Identifier: MIT */
/* Operators of a TFLite model: kind, references, attributes. */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Name of the operator's type: builtin or custom. */
static struct tflite_name read_type(struct tflite_reader *r, const struct tflite_tables *model,
				    const struct flatbuf_table *table, uint32_t number,
				    int32_t *builtin)
{
	uint32_t index = flatbuf_u32(&r->fb, table, OPERATOR_CODE, 0);
	struct tflite_name type = { "" };
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
		type = tflite_name_of(&r->fb, &code, CODE_CUSTOM);
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

		/* Checked by tflite_count_uses(). */
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

/* Newer than is known here. Its tensors say all that planning it whole needs. */
static void unknown_operator(struct tflite_reader *r, struct npuplan_op *op)
{
	struct import_text where = import_op_text(op);
	char text[sizeof(where.s) + 32];

	snprintf(text, sizeof(text), "%s is not known here", where.s);
	op->attrs.whole = true;
	import_warn(&r->doubts, NPUIMPORT_DOUBT_OPERATOR, op->type, where.s, text);
}

void tflite_operator(struct tflite_reader *r, const struct tflite_tables *model, uint32_t number)
{
	struct flatbuf_table table = flatbuf_vector_table(&r->fb, &model->operators, number);
	struct flatbuf_vector inputs = flatbuf_vector(&r->fb, &table, OPERATOR_INPUTS, 4);
	struct flatbuf_vector outputs = flatbuf_vector(&r->fb, &table, OPERATOR_OUTPUTS, 4);
	struct npuplan_op op = { .id = number };
	uint32_t *memory, *sources, target = 0;
	struct tflite_name type, name;
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
		if (tflite_is_view(r, model, builtin, &op, target)) {
			tflite_make_view(r, &op);
		} else {
			add_updates(r, &op);
			tflite_check_added(r, npuplan_graph_add_op(r->graph, &op),
					   import_op_text(&op).s);
		}
	}
	free(memory);
}
