/* SPDX-License-Identifier: MIT */
/*
 * Nodes that run graphs of their own, and If, one of them: blocks, edges and carries (../flow.h).
 *
 * A graph that a node runs reads names of those around it. Its nodes and tensors come into the
 * graph once: what runs it stands in the file once. An If whose condition is known runs one branch
 * in its own place.
 */
#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint32_t add_tensor(void *reader, const struct npuplan_tensor *tensor, uint32_t like)
{
	struct onnx_reader *r = reader;
	int64_t index = r->err ? 0 : npuplan_graph_add_tensor(r->graph, tensor);

	if (index < 0)
		onnx_fail(r, (int)index, "%s: %s", import_tensor_text(tensor).s,
			  strerror((int)-index));
	return r->err ? NPUMEM_NONE : (uint32_t)index;
}

static void add_op(void *reader, struct npuplan_op *op)
{
	struct onnx_reader *r = reader;
	int64_t index;

	if (r->err)
		return;
	op->block = r->flow.block;
	index = npuplan_graph_add_op(r->graph, op);
	if (index < 0)
		onnx_fail(r, (int)index, "%s: %s", import_op_text(op).s, strerror((int)-index));
}

const struct import_flow_ops onnx_flow_ops = { .add_tensor = add_tensor, .add_op = add_op };

/* ------------------------------------------------------------- what is not in the file */

struct import_text onnx_part_name(const struct onnx_node *n, const char *part)
{
	struct import_text text;

	if (n->proto->name && *n->proto->name)
		snprintf(text.s, sizeof(text.s), "%.100s/%s", onnx_text(n->proto->name).s, part);
	else
		snprintf(text.s, sizeof(text.s), "%.40s/%s", onnx_text(n->proto->op_type).s, part);
	return text;
}

uint32_t onnx_make_tensor(struct onnx_reader *r, const struct onnx_node *n, const char *part,
			  uint32_t type, const struct onnx_shape *shape)
{
	struct import_text name = onnx_part_name(n, part);
	unsigned int bits = onnx_type_bits(type);
	struct npuplan_tensor tensor = {
		.name = name.s,
		.alias_of = NPUMEM_NONE,
		.kind = NPUMEM_TENSOR_INTERMEDIATE,
		.elem_size = bits % 8 ? 0 : bits / 8,
		.align = bits % 8 ? 1 : bits / 8,
		.dim_count = shape->rank,
		.size = (onnx_elements(shape, 0, shape->rank) * bits + 7) / 8,
	};

	if (r->err || !tensor.size)
		return NPUMEM_NONE;
	memcpy(tensor.shape, shape->dims, shape->rank * sizeof(*tensor.shape));
	tensor.id = import_made_id(&r->flow);
	return add_tensor(r, &tensor, NPUMEM_NONE);
}

void onnx_make_op(struct onnx_reader *r, const struct onnx_node *n, const char *part,
		  const char *kind, const uint32_t inputs[2], const uint32_t outputs[2],
		  bool in_place)
{
	struct import_text name = onnx_part_name(n, part);
	char type[16];
	uint32_t in[2], out[2];
	struct npuplan_op op = {
		.name = name.s,
		.type = type,
		.inputs = in,
		.outputs = out,
		.attrs = { .axis = -1, .groups = 1, .whole = true, .inplace = in_place },
	};

	snprintf(type, sizeof(type), "%s", kind);
	for (int i = 0; i < 2; i++) {
		if (inputs[i] != NPUMEM_NONE)
			in[op.input_count++] = inputs[i];
		if (outputs[i] != NPUMEM_NONE)
			out[op.output_count++] = outputs[i];
	}
	if (r->err || !op.output_count)
		return;
	op.id = import_made_id(&r->flow);
	add_op(r, &op);
}

/* ------------------------------------------------------------------------- graphs */

const Onnx__GraphProto *onnx_graph_of(struct onnx_reader *r, const struct onnx_node *n,
				      const char *attribute)
{
	const Onnx__AttributeProto *attr = onnx_attr(n, attribute);

	if (!attr || !attr->g)
		onnx_fail(r, -EINVAL, "%s lacks attribute '%s', a graph", onnx_node_text(n).s,
			  attribute);
	return r->err ? NULL : attr->g;
}

bool onnx_enter(struct onnx_reader *r, const struct onnx_node *n, const char *attribute,
		uint32_t inputs, struct onnx_scope *scope)
{
	const Onnx__GraphProto *graph = onnx_graph_of(r, n, attribute);

	if (!graph)
		return false;
	if (graph->n_input != inputs) {
		onnx_fail(r, -EINVAL, "%s hands %" PRIu32 " values to its %s, which has %zu inputs",
			  onnx_node_text(n).s, inputs, attribute, graph->n_input);
		return false;
	}
	*scope = (struct onnx_scope){ .graph = graph, .outer = r->scope };
	snprintf(scope->where, sizeof(scope->where), " in %s of node %" PRIu32, attribute,
		 r->scope->first_node + n->number);
	r->scope = scope;
	r->instances++;
	onnx_values(r);
	onnx_names(r);
	return true;
}

void onnx_leave(struct onnx_reader *r)
{
	struct onnx_scope *scope = r->scope;

	r->scope = scope->outer;
	onnx_scope_free(scope);
}

struct onnx_value *onnx_input_of(struct onnx_reader *r, uint32_t k)
{
	return onnx_value(r, r->scope->graph->input[k]->name);
}

struct onnx_value *onnx_output_of(struct onnx_reader *r, uint32_t k)
{
	const char *name = r->scope->graph->output[k]->name;
	struct onnx_value *value = onnx_find(r->scope, name);

	if (!r->err && (!value || !value->is_defined))
		onnx_fail(r, -EINVAL, "tensor '%.100s' is an output, but nothing writes it%s",
			  onnx_text(name).s, r->scope->where);
	return r->err ? NULL : value;
}

/* ----------------------------------------------------------------------------- If */

static void check_outputs(struct onnx_reader *r, const struct onnx_node *n, const char *attribute)
{
	size_t count = r->scope->graph->n_output;

	if (!r->err && count != n->output_count)
		onnx_fail(r, -EINVAL, "%s has %" PRIu32 " outputs, its %s %zu", onnx_node_text(n).s,
			  n->output_count, attribute, count);
}

/* The k-th output has what the first branch gives, and so does the other one. */
static void take_shape(struct onnx_reader *r, const struct onnx_node *n, uint32_t k,
		       const struct onnx_value *given, bool is_first)
{
	struct onnx_value *value = n->outputs[k];

	if (is_first) {
		value->type = given->type;
		value->shape = given->shape;
		onnx_finish_output(r, n, value);
		onnx_tensor(r, value);
		/* Not within the other branch, which may have the name for its own. */
		value->is_defined = false;
		return;
	}
	if (value->type != given->type)
		onnx_fail(r, -EINVAL,
			  "%s gives %s type %" PRIu32 " in one branch, and %" PRIu32
			  " in the other",
			  onnx_node_text(n).s, onnx_value_text(value).s, value->type, given->type);
	if (!onnx_is_same(&value->shape, &given->shape))
		onnx_fail(
			r, -EOPNOTSUPP,
			"%s gives %s shape %s in one branch, and %s in the other: its size is not "
			"known before the model runs",
			onnx_node_text(n).s, onnx_value_text(value).s,
			onnx_shape_text(&value->shape).s, onnx_shape_text(&given->shape).s);
}

/* What a branch gives, as carries to the node's outputs. */
static struct import_carries give(struct onnx_reader *r, const struct onnx_node *n, bool is_first)
{
	struct import_carries carries = import_new_carries(&r->flow, n->output_count);

	for (uint32_t k = 0; k < n->output_count && !r->err; k++) {
		struct onnx_value *given = onnx_output_of(r, k);

		if (!given || !n->outputs[k])
			continue;
		take_shape(r, n, k, given, is_first);
		if (!r->err && n->outputs[k]->tensor != NPUMEM_NONE)
			import_carry(&r->flow, &carries, onnx_tensor(r, given),
				     n->outputs[k]->tensor);
	}
	return carries;
}

static uint32_t read_branch(struct onnx_reader *r, const struct onnx_node *n, const char *attribute,
			    uint32_t from, bool is_first)
{
	struct import_carries carries = { 0 };
	struct onnx_scope scope;

	import_begin_arm(&r->flow, from);
	if (!onnx_enter(r, n, attribute, 0, &scope))
		return 0;
	check_outputs(r, n, attribute);
	onnx_nodes(r);
	if (!r->err)
		carries = give(r, n, is_first);
	onnx_leave(r);
	return import_end_arm(&r->flow, &carries);
}

/* A value takes the place of another one, which a graph gives that runs in its place. */
static void replace(struct onnx_reader *r, const struct onnx_node *n, struct onnx_value *value,
		    struct onnx_value *given)
{
	value->type = given->type;
	value->shape = given->shape;
	if (given->numbers && onnx_numbers_new(r, value, given->count))
		memcpy(value->numbers, given->numbers, given->count * sizeof(*given->numbers));
	onnx_finish_output(r, n, value);
	/* An output of the model has bytes of its own, a constant those that it is given. */
	value->is_constant = given->is_constant && !value->is_output;
	if (r->err || value->is_constant || onnx_tensor(r, given) == NPUMEM_NONE)
		return;
	if (value->is_output)
		import_copy(&r->flow, given->tensor, onnx_tensor(r, value));
	else
		value->tensor = given->tensor;
}

/* The one branch that is ever taken stands in the node's place. */
static void run_branch(struct onnx_reader *r, const struct onnx_node *n, const char *attribute)
{
	struct onnx_scope scope;

	if (!onnx_enter(r, n, attribute, 0, &scope))
		return;
	check_outputs(r, n, attribute);
	onnx_nodes(r);
	for (uint32_t k = 0; k < n->output_count && !r->err; k++) {
		struct onnx_value *given = onnx_output_of(r, k);

		if (given && n->outputs[k])
			replace(r, n, n->outputs[k], given);
	}
	onnx_leave(r);
}

static void check_condition(struct onnx_reader *r, const struct onnx_node *n)
{
	const struct onnx_value *condition = n->inputs[0];

	if (condition->type != ONNX_BOOL ||
	    onnx_elements(&condition->shape, 0, condition->shape.rank) != 1)
		onnx_fail(r, -EINVAL, "%s: its condition, %s, is not one bool", onnx_node_text(n).s,
			  onnx_value_text(condition).s);
}

static void read_if(struct onnx_reader *r, const struct onnx_node *n)
{
	const struct onnx_value *condition = n->inputs[0];
	uint32_t edges[2], from;

	check_condition(r, n);
	if (r->err)
		return;
	if (condition->numbers) {
		run_branch(r, n, condition->numbers[0].i ? "then_branch" : "else_branch");
		return;
	}
	import_decide(&r->flow, onnx_tensor(r, n->inputs[0]));
	from = r->flow.block;
	edges[0] = read_branch(r, n, "then_branch", from, true);
	edges[1] = read_branch(r, n, "else_branch", from, false);
	import_join(&r->flow, edges, 2);
	for (uint32_t k = 0; k < n->output_count; k++)
		if (n->outputs[k])
			n->outputs[k]->is_defined = true;
}

bool onnx_is_control(const struct onnx_node *n)
{
	return n->known && (!strcmp(n->known->name, "If") || !strcmp(n->known->name, "Loop") ||
			    !strcmp(n->known->name, "Scan"));
}

void onnx_control(struct onnx_reader *r, struct onnx_node *n)
{
	if (!strcmp(n->known->name, "If"))
		read_if(r, n);
	else if (!strcmp(n->known->name, "Loop"))
		onnx_loop(r, n);
	else
		onnx_scan(r, n);
}
