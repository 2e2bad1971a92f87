/* SPDX-License-Identifier: MIT */
/* Operators of a TFLite model: kind, references, attributes. */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct import_text tflite_place(const struct tflite_scope *scope, uint32_t number)
{
	struct import_text text;

	if (scope->sub->number)
		snprintf(text.s, sizeof(text.s), "operator %" PRIu32 " of subgraph %" PRIu32,
			 number, scope->sub->number);
	else
		snprintf(text.s, sizeof(text.s), "operator %" PRIu32, number);
	return text;
}

/* Name of the operator's type: builtin or custom. */
static void read_type(struct tflite_reader *r, struct tflite_node *node)
{
	const struct import_text place = tflite_place(r->scope, node->number);
	uint32_t index = flatbuf_u32(&r->fb, &node->table, OPERATOR_CODE, 0);
	struct tflite_name *type = &node->type;
	struct flatbuf_table code;
	uint8_t deprecated;
	int32_t old;

	if (index >= r->codes.count)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s has operator code %" PRIu32 ", but there are only %" PRIu32,
			     place.s, index, r->codes.count);
	code = flatbuf_vector_table(&r->fb, &r->codes, index);
	deprecated = flatbuf_u8(&r->fb, &code, CODE_DEPRECATED_BUILTIN, 0);
	node->builtin = flatbuf_i32(&r->fb, &code, CODE_BUILTIN, 0);
	/* Old files have but the deprecated field, a signed byte; new ones both. */
	old = deprecated <= INT8_MAX ? deprecated : -1;
	if (old > node->builtin)
		node->builtin = old;
	if (node->builtin == BUILTIN_CUSTOM) {
		*type = tflite_name_of(&r->fb, &code, CODE_CUSTOM);
		if (!type->s[0])
			flatbuf_fail(&r->fb, -EINVAL, "%s is a custom one without a name", place.s);
		import_type_name(type->s, sizeof(type->s));
	} else if (node->builtin < 0) {
		flatbuf_fail(&r->fb, -EINVAL, "%s has builtin code %" PRId32, place.s,
			     node->builtin);
	} else if (tflite_builtin_name(node->builtin)) {
		snprintf(type->s, sizeof(type->s), "%s", tflite_builtin_name(node->builtin));
	} else {
		snprintf(type->s, sizeof(type->s), "builtin_%" PRId32, node->builtin);
	}
}

struct tflite_node tflite_node(struct tflite_reader *r, uint32_t number)
{
	struct tflite_node node = { .number = number };

	node.table = flatbuf_vector_table(&r->fb, &r->scope->sub->operators, number);
	node.inputs = flatbuf_vector(&r->fb, &node.table, OPERATOR_INPUTS, 4);
	node.outputs = flatbuf_vector(&r->fb, &node.table, OPERATOR_OUTPUTS, 4);
	read_type(r, &node);
	return node;
}

/* An operator that computes does not do so with a handle. */
static void check_no_handle(struct tflite_reader *r, uint32_t number)
{
	struct npuplan_tensor tensor;
	uint8_t type = tflite_describe(r, r->scope->sub, number, &tensor);

	if (type == TYPE_RESOURCE)
		tflite_check_bytes(r, number, type, &tensor);
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
		uint32_t tensor;

		/* Checked by tflite_count_uses(). */
		if (number < 0)
			continue;
		tensor = r->scope->values[number].tensor;
		if (tensor == NPUMEM_NONE) {
			check_no_handle(r, (uint32_t)number);
			continue;
		}
		indices[*count] = tensor;
		sources[*count] = (uint32_t)number;
		(*count)++;
	}
}

/*
 * State among the inputs is updated: an output, too, unless it is one already. @outputs has room
 * for as many more as there are inputs.
 */
static void add_updates(struct tflite_reader *r, struct npuplan_op *op)
{
	uint32_t number = r->graph->op_count;

	for (uint32_t i = 0; i < op->output_count; i++)
		r->facts[op->outputs[i]].writer = number;
	for (uint32_t i = 0; i < op->input_count; i++) {
		uint32_t tensor = op->inputs[i];

		if (r->graph->tensors[tensor].kind != NPUMEM_TENSOR_STATE ||
		    r->facts[tensor].writer == number)
			continue;
		r->facts[tensor].writer = number;
		op->outputs[op->output_count++] = tensor;
	}
}

/* Across blocks nobody else looks at it: import_check_graph() sees to the order within one. */
static void check_order(struct tflite_reader *r, const struct npuplan_op *op)
{
	for (uint32_t i = 0; i < op->input_count && r->graph->block_count > 1; i++)
		if (!tflite_is_defined(r, op->inputs[i]))
			flatbuf_fail(&r->fb, -EINVAL, "%s reads %s, which nothing has written",
				     import_op_text(op).s,
				     import_tensor_text(&r->graph->tensors[op->inputs[i]]).s);
}

void tflite_add_op(struct tflite_reader *r, struct npuplan_op *op)
{
	int64_t index;

	check_order(r, op);
	if (r->fb.err)
		return;
	op->block = r->flow.block;
	for (uint32_t i = 0; i < op->output_count; i++)
		r->facts[op->outputs[i]].writer = r->graph->op_count;
	index = npuplan_graph_add_op(r->graph, op);
	if (index < 0)
		flatbuf_fail(&r->fb, (int)index, "%s: %s", import_op_text(op).s,
			     strerror((int)-index));
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

/* With its tensors and its name; what it computes the attributes say. */
static void finish(struct tflite_reader *r, const struct tflite_node *node, uint32_t target,
		   uint32_t *sources, struct npuplan_op *op)
{
	tflite_attrs(r, &node->table, node->builtin, sources, op);
	if (r->fb.err)
		return;
	if (node->builtin != BUILTIN_CUSTOM && !tflite_builtin_name(node->builtin))
		unknown_operator(r, op);
	for (uint32_t i = 0; i < op->input_count; i++)
		r->facts[op->inputs[i]].read = true;
	if (tflite_is_view(r, node->builtin, op, target)) {
		tflite_make_view(r, op);
	} else {
		add_updates(r, op);
		tflite_add_op(r, op);
	}
}

static void compute(struct tflite_reader *r, struct tflite_node *node)
{
	struct npuplan_op op = {
		.id = (int64_t)(r->scope->instance * r->operator_total +
				r->scope->sub->first_operator + node->number),
		.type = node->type.s,
	};
	size_t inputs = node->inputs.count, outputs = node->outputs.count;
	uint32_t *memory = malloc((inputs * 3 + outputs * 2 + 1) * sizeof(*memory));
	uint32_t *sources, target = 0;
	struct tflite_name name;

	if (!memory) {
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
		return;
	}
	op.inputs = memory;
	sources = memory + inputs;
	op.outputs = sources + inputs + outputs;
	read_references(r, &node->outputs, op.outputs, sources, &op.output_count);
	if (op.output_count)
		target = sources[0];
	read_references(r, &node->inputs, op.inputs, sources, &op.input_count);
	/* Operators have no names of their own: that of what they write. */
	if (op.output_count && *r->graph->tensors[op.outputs[0]].name)
		snprintf(name.s, sizeof(name.s), "%s", r->graph->tensors[op.outputs[0]].name);
	else
		snprintf(name.s, sizeof(name.s), "%.200s_%" PRIu32, op.type, node->number);
	op.name = name.s;
	if (!op.output_count)
		flatbuf_fail(&r->fb, -EINVAL, "%s writes no tensor that has bytes",
			     import_op_text(&op).s);
	if (!r->fb.err)
		tflite_check_dynamic(r, node, &op);
	finish(r, node, target, sources, &op);
	free(memory);
}

void tflite_operator(struct tflite_reader *r, uint32_t number)
{
	struct tflite_node node = tflite_node(r, number);

	if (r->fb.err)
		return;
	switch (node.builtin) {
	case BUILTIN_CALL:
	case BUILTIN_IF:
	case BUILTIN_WHILE:
		tflite_control(r, &node);
		break;
	case BUILTIN_CALL_ONCE:
	case BUILTIN_VAR_HANDLE:
	case BUILTIN_READ_VARIABLE:
	case BUILTIN_ASSIGN_VARIABLE:
		tflite_handle(r, &node);
		break;
	default:
		compute(r, &node);
		break;
	}
}

/* --------------------------------------------------------------- not in the file */

static bool is_written(const void *reader, uint32_t tensor)
{
	return tflite_is_defined(reader, tensor);
}

static uint32_t add_tensor(void *reader, const struct npuplan_tensor *tensor, uint32_t like)
{
	struct tflite_reader *r = reader;

	return tflite_add_tensor(r, tensor, r->facts[like].type);
}

static void add_op(void *reader, struct npuplan_op *op)
{
	tflite_add_op(reader, op);
}

const struct import_flow_ops tflite_flow_ops = { is_written, add_tensor, add_op };

void tflite_number_copies(struct tflite_reader *r)
{
	uint64_t most = 1;

	for (uint32_t i = 0; i < r->subgraph_count; i++)
		if (r->subgraphs[i].instances > most)
			most = r->subgraphs[i].instances;
	import_number_made(r->graph, (int64_t)(most * r->tensor_total),
			   (int64_t)(most * r->operator_total));
}
