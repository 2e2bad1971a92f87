/* SPDX-License-Identifier: MIT */
/* Nodes of an ONNX graph: operators of the graph, aliases, or constants. */
#include "nodes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------- before the nodes */

static bool is_own_domain(const char *domain)
{
	return !domain || !*domain || !strcmp(domain, "ai.onnx");
}

/* Each name has one writer. */
static void read_outputs(struct onnx_reader *r, const struct onnx_node *n)
{
	for (size_t i = 0; i < n->proto->n_output && !r->err; i++) {
		const struct onnx_value *outside = onnx_find(r->scope->outer, n->proto->output[i]);
		struct onnx_value *value = onnx_value(r, n->proto->output[i]);

		if (!value)
			continue;
		if (value->writer)
			onnx_fail(r, -EINVAL, "%s writes %s, which node %" PRIu32 " writes already",
				  onnx_node_text(n).s, onnx_value_text(value).s, value->writer - 1);
		else if (value->data || value->is_input || value->is_bound)
			onnx_fail(r, -EINVAL, "%s writes %s, which is %s of the graph",
				  onnx_node_text(n).s, onnx_value_text(value).s,
				  value->data ? "an initializer" : "an input");
		else if (outside && outside->is_defined)
			onnx_fail(r, -EINVAL, "%s writes %s, which has a value outside",
				  onnx_node_text(n).s, onnx_value_text(value).s);
		value->writer = n->number + 1;
		onnx_list_value(r, value);
	}
}

/*
 * Who reads a name of the graph is counted, graphs that its nodes run among them. A name that is
 * another one there is counted, too: it is only taken to be read then.
 */
static void count_readers(struct onnx_reader *r, const Onnx__GraphProto *graph)
{
	for (size_t i = 0; i < graph->n_node; i++) {
		const Onnx__NodeProto *node = graph->node[i];

		for (size_t k = 0; k < node->n_input; k++) {
			const struct onnx_scope only = { .names = r->scope->names };
			struct onnx_value *value = onnx_find(&only, node->input[k]);

			if (value)
				value->readers++;
		}
		for (size_t k = 0; k < node->n_attribute; k++)
			if (node->attribute[k]->g)
				count_readers(r, node->attribute[k]->g);
	}
	for (size_t i = 0; i < graph->n_output && graph != r->model->graph; i++) {
		const struct onnx_scope only = { .names = r->scope->names };
		struct onnx_value *value = onnx_find(&only, graph->output[i]->name);

		if (value)
			value->readers++;
	}
}

/* Outputs of the model's graph that nothing gives a value. */
static void check_outputs(struct onnx_reader *r)
{
	const Onnx__GraphProto *graph = r->scope->graph;

	for (size_t i = 0; i < graph->n_output && !r->scope->outer && !r->err; i++) {
		const struct onnx_value *value = onnx_value(r, graph->output[i]->name);

		if (value && !value->writer && !value->is_defined)
			onnx_fail(r, -EINVAL, "%s is an output of the graph, but nothing writes it",
				  onnx_value_text(value).s);
	}
}

/* --------------------------------------------------------------- what it is */

static void check_graphs(struct onnx_reader *r, const struct onnx_node *n)
{
	for (size_t i = 0; i < n->proto->n_attribute; i++)
		if (n->proto->attribute[i]->g || n->proto->attribute[i]->n_graphs)
			onnx_fail(r, -EOPNOTSUPP,
				  "%s runs graphs of its own, which only If, Loop and Scan are "
				  "known to do",
				  onnx_node_text(n).s);
}

/* The type that the graph's operator has: a name of graph JSON, or ONNX's in small letters. */
static void name_type(struct onnx_node *n)
{
	struct onnx_name own = onnx_text(n->proto->op_type);

	if (n->known && n->known->type) {
		snprintf(n->type, sizeof(n->type), "%s", n->known->type);
		return;
	}
	memcpy(n->type, own.s, sizeof(own.s));
	import_type_name(n->type, sizeof(n->type));
}

static void check_count(struct onnx_reader *r, const struct onnx_node *n)
{
	const struct onnx_operator *known = n->known;

	if (n->input_count < known->least)
		onnx_fail(r, -EINVAL, "%s has %" PRIu32 " inputs, must have %" PRIu32,
			  onnx_node_text(n).s, n->input_count, known->least);
	if (known->most && n->input_count > known->most)
		onnx_fail(r, -EINVAL, "%s has %" PRIu32 " inputs, must have at most %" PRIu32,
			  onnx_node_text(n).s, n->input_count, known->most);
	for (uint32_t i = 0; i < known->least && i < n->input_count; i++)
		if (!n->inputs[i])
			onnx_fail(r, -EINVAL, "%s lacks input %" PRIu32, onnx_node_text(n).s, i);
	if ((!n->output_count || !n->outputs[0]) && !(known->flags & ONNX_ANY_OUTPUT))
		onnx_fail(r, -EINVAL, "%s lacks output 0", onnx_node_text(n).s);
}

static void find_values(struct onnx_reader *r, struct onnx_node *n)
{
	for (uint32_t i = 0; i < n->input_count; i++) {
		n->inputs[i] = onnx_find(r->scope, n->proto->input[i]);
		/* Of no graph; nothing writes it. */
		if (!n->inputs[i])
			n->inputs[i] = onnx_value(r, n->proto->input[i]);
		if (n->inputs[i] && !n->inputs[i]->is_defined)
			onnx_fail(r, -EINVAL, "%s reads %s, which nothing before it writes",
				  onnx_node_text(n).s, onnx_value_text(n->inputs[i]).s);
	}
	for (uint32_t i = 0; i < n->output_count; i++)
		n->outputs[i] = onnx_value(r, n->proto->output[i]);
}

/* --------------------------------------------------------------- its outputs */

static bool is_function(const struct onnx_reader *r, const struct onnx_node *n)
{
	for (size_t i = 0; i < r->model->n_functions; i++) {
		const Onnx__FunctionProto *function = r->model->functions[i];

		if (function->name && !strcmp(function->name, n->proto->op_type) &&
		    !strcmp(function->domain ? function->domain : "",
			    n->proto->domain ? n->proto->domain : ""))
			return true;
	}
	return false;
}

/* Where the file is silent an operator must tell, and the other way round. */
static void unknown_size(struct onnx_reader *r, const struct onnx_node *n,
			 const struct onnx_value *value)
{
	const char *domain = n->proto->domain;

	if (n->known && r->elsewhere)
		onnx_fail(r, -EOPNOTSUPP,
			  "%s: values decide how large %s is, and those of %s are in another file, "
			  "which could not be read",
			  onnx_node_text(n).s, onnx_value_text(value).s,
			  onnx_value_text(r->elsewhere).s);
	else if (n->known)
		onnx_fail(r, -EOPNOTSUPP,
			  "%s: values decide how large %s is, which is not known before the model "
			  "runs",
			  onnx_node_text(n).s, onnx_value_text(value).s);
	else if (is_function(r, n))
		onnx_fail(r, -EOPNOTSUPP,
			  "%s is a function of the model, and the file does not say how large %s "
			  "is: export the model with its functions inlined",
			  onnx_node_text(n).s, onnx_value_text(value).s);
	else
		onnx_fail(r, -EOPNOTSUPP,
			  "%s, of domain '%.60s', is not known here, and the file does not say how "
			  "large %s is",
			  onnx_node_text(n).s,
			  is_own_domain(domain) ? "ai.onnx" : onnx_text(domain).s,
			  onnx_value_text(value).s);
}

bool onnx_is_complete(const struct onnx_shape *shape)
{
	for (uint32_t d = 0; d < shape->rank; d++)
		if (shape->dims[d] < 0)
			return false;
	return shape->known;
}

/* What the file declares, and what the operator makes, are one. */
bool onnx_is_same(const struct onnx_shape *declared, const struct onnx_shape *made)
{
	if (declared->rank != made->rank)
		return false;
	for (uint32_t d = 0; d < made->rank; d++)
		if (declared->dims[d] >= 0 && declared->dims[d] != made->dims[d])
			return false;
	return true;
}

static const char *type_text(uint32_t type)
{
	return onnx_type_name(type) ? onnx_type_name(type) : "not known here";
}

/* The file's word for a shape that values decide; what is a view has as many elements. */
static void take_declared(struct onnx_reader *r, const struct onnx_node *n,
			  struct onnx_value *value, const struct onnx_shape *declared)
{
	const struct onnx_shape *in = n->input_count && n->inputs[0] ? &n->inputs[0]->shape : NULL;

	if (n->known && (n->known->flags & ONNX_VIEW) && value == n->outputs[0] && in &&
	    onnx_elements(in, 0, in->rank) != onnx_elements(declared, 0, declared->rank))
		onnx_fail(r, -EINVAL, "%s: %s cannot become %s", onnx_node_text(n).s,
			  onnx_shape_text(in).s, onnx_shape_text(declared).s);
	value->shape = *declared;
}

void onnx_finish_output(struct onnx_reader *r, const struct onnx_node *n, struct onnx_value *value)
{
	struct onnx_shape declared;
	uint32_t type;

	onnx_declared(r, value, &type, &declared);
	if (r->err)
		return;
	if (!value->type)
		value->type = type;
	else if (type && type != value->type)
		onnx_fail(r, -EINVAL,
			  "%s makes %s of type %" PRIu32 " (%s), but the file declares %" PRIu32
			  " (%s)",
			  onnx_node_text(n).s, onnx_value_text(value).s, value->type,
			  type_text(value->type), type, type_text(type));
	if (value->shape.known && declared.known && !onnx_is_same(&declared, &value->shape))
		onnx_fail(r, -EINVAL, "%s makes %s of shape %s, but the file declares %s",
			  onnx_node_text(n).s, onnx_value_text(value).s,
			  onnx_shape_text(&value->shape).s, onnx_shape_text(&declared).s);
	if (!value->shape.known && onnx_is_complete(&declared) &&
	    !(n->known && (n->known->flags & ONNX_BY_VALUES)))
		take_declared(r, n, value, &declared);
	if (!value->shape.known || !value->type)
		unknown_size(r, n, value);
	onnx_check_size(r, value);
	value->is_defined = true;
}

/*
 * What constants alone make is the same each time: it is computed before the first inference, and
 * has no place in the arena. Outputs of the graph have.
 */
static bool is_constant(const struct onnx_node *n)
{
	if (!n->known || (n->known->flags & ONNX_RANDOM))
		return false;
	for (uint32_t i = 0; i < n->input_count; i++)
		if (n->inputs[i] && !n->inputs[i]->is_constant)
			return false;
	for (uint32_t i = 0; i < n->output_count; i++)
		if (n->outputs[i] && n->outputs[i]->is_output)
			return false;
	return true;
}

/* Values that are known, of a tensor that is not in the arena: sizes of shapes, say. */
static bool is_known(const struct onnx_node *n)
{
	for (uint32_t i = 0; i < n->output_count; i++)
		if (n->outputs[i] && (!n->outputs[i]->numbers || n->outputs[i]->is_output))
			return false;
	return true;
}

/* ------------------------------------------------------------------- aliases */

/* Whether the order of a tensor's bytes is another in another layout of images. */
static bool has_layouts(const struct onnx_shape *shape)
{
	if (shape->rank != 4 && shape->rank != 5)
		return false;
	return shape->dims[1] > 1 && onnx_elements(shape, 2, shape->rank) > 1;
}

static bool is_same_order(const struct onnx_value *in, const struct onnx_value *out)
{
	return onnx_is_same(&in->shape, &out->shape) ||
	       (!has_layouts(&in->shape) && !has_layouts(&out->shape));
}

/*
 * Whether the output can be the first input's bytes: nobody writes them again, as state is, and
 * they are in the arena, as constants are not. An input that is handed out as an output is copied.
 */
static bool is_view(struct onnx_reader *r, const struct onnx_node *n)
{
	const struct onnx_value *in = n->input_count ? n->inputs[0] : NULL;
	const struct onnx_value *out = n->output_count ? n->outputs[0] : NULL;
	const struct npuplan_tensor *tensors = r->graph->tensors, *base;

	if (!n->is_view || !in || !out || in->tensor == NPUMEM_NONE || out->tensor == NPUMEM_NONE)
		return false;
	for (uint32_t i = 1; i < n->output_count; i++)
		if (n->outputs[i] && (n->outputs[i]->readers || n->outputs[i]->is_output))
			return false;
	base = &tensors[in->tensor];
	if (base->flags & NPUMEM_TENSOR_FLAG_ALIAS)
		base = &tensors[base->alias_of];
	if (tensors[in->tensor].size != tensors[out->tensor].size ||
	    tensors[in->tensor].elem_size != tensors[out->tensor].elem_size ||
	    !is_same_order(in, out))
		return false;
	if (base->kind == NPUMEM_TENSOR_PARAMETER || base->kind == NPUMEM_TENSOR_STATE ||
	    (base->kind == NPUMEM_TENSOR_INPUT && out->is_output))
		return false;
	return out->readers || out->is_output;
}

static void make_view(struct onnx_reader *r, const struct onnx_node *n)
{
	uint32_t in = n->inputs[0]->tensor;
	struct npuplan_tensor *tensors = r->graph->tensors;
	bool is_chained = tensors[in].flags & NPUMEM_TENSOR_FLAG_ALIAS;
	struct npuplan_tensor *out = &tensors[n->outputs[0]->tensor];

	out->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	out->alias_of = is_chained ? tensors[in].alias_of : in;
	out->alias_offset = is_chained ? tensors[in].alias_offset : 0;
	r->views++;
}

/* ------------------------------------------------------------------ operators */

/* Tensors that have bytes, of @count values. */
static uint32_t tensors_of(struct onnx_reader *r, struct onnx_value **values, uint32_t count,
			   uint32_t *tensors)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t tensor = values[i] ? onnx_tensor(r, values[i]) : NPUMEM_NONE;

		if (tensor != NPUMEM_NONE)
			tensors[used++] = tensor;
	}
	return used;
}

static void unknown_operator(struct onnx_reader *r, const struct onnx_node *n,
			     struct npuplan_op *op)
{
	struct import_text where = onnx_node_text(n);
	char text[sizeof(where.s) + 32];

	snprintf(text, sizeof(text), "%s is not known here", where.s);
	op->attrs.whole = true;
	import_warn(&r->doubts, NPUIMPORT_DOUBT_OPERATOR, op->type, where.s, text);
}

static void add_op(struct onnx_reader *r, struct onnx_node *n, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = r->graph->tensors;
	int64_t index;

	op->attrs = n->attrs;
	/* Whose first input is left out, or empty, has nothing to slide over. */
	if (!op->input_count || !n->inputs[0] || n->inputs[0]->tensor != op->inputs[0])
		op->attrs = (struct npuplan_attrs){ .axis = -1, .groups = 1, .whole = true };
	else
		op->attrs.inplace = n->known && (n->known->flags & (ONNX_IN_PLACE | ONNX_VIEW)) &&
				    is_same_order(n->inputs[0], n->outputs[0]) &&
				    tensors[op->inputs[0]].size == tensors[op->outputs[0]].size &&
				    tensors[op->inputs[0]].elem_size ==
					    tensors[op->outputs[0]].elem_size;
	if (!n->known)
		unknown_operator(r, n, op);
	if (npuplan_is_concat(op))
		r->err = import_check_cat(r->graph, op, r->error);
	if (r->err)
		return;
	op->block = r->flow.block;
	index = npuplan_graph_add_op(r->graph, op);
	if (index < 0)
		onnx_fail(r, (int)index, "%s: %s", onnx_node_text(n).s, strerror((int)-index));
}

static void emit(struct onnx_reader *r, struct onnx_node *n)
{
	uint32_t count = n->input_count + n->output_count;
	uint32_t *tensors = malloc((count + (size_t)1) * sizeof(*tensors));
	struct npuplan_op op = { .id = r->scope->first_node + n->number, .type = n->type };
	struct onnx_name name = onnx_text(n->proto->name);

	if (!tensors) {
		onnx_fail(r, -ENOMEM, "out of memory");
		return;
	}
	op.inputs = tensors;
	op.outputs = tensors + n->input_count;
	op.input_count = tensors_of(r, n->inputs, n->input_count, op.inputs);
	op.output_count = tensors_of(r, n->outputs, n->output_count, op.outputs);
	if (!r->err && op.output_count) {
		if (!*name.s)
			snprintf(name.s, sizeof(name.s), "%s",
				 r->graph->tensors[op.outputs[0]].name);
		op.name = name.s;
		if (is_view(r, n))
			make_view(r, n);
		else
			add_op(r, n, &op);
	}
	/* Else all that it makes is empty: there is nothing to plan. */
	free(tensors);
}

static void read_values(struct onnx_reader *r, struct onnx_node *n)
{
	bool constant;

	if (n->known && !r->err) {
		check_count(r, n);
		if (!r->err)
			n->known->infer(r, n);
		if (!r->err)
			onnx_fold(r, n);
	}
	for (uint32_t i = 0; i < n->output_count && !r->err; i++)
		if (n->outputs[i])
			onnx_finish_output(r, n, n->outputs[i]);
	if (r->err)
		return;
	constant = is_constant(n) || is_known(n);
	for (uint32_t i = 0; i < n->output_count; i++)
		if (n->outputs[i])
			n->outputs[i]->is_constant = constant;
	if (!constant)
		emit(r, n);
}

static void read_node(struct onnx_reader *r, struct onnx_node *n)
{
	size_t count = n->proto->n_input + n->proto->n_output;
	struct onnx_value **values = calloc(count + 1, sizeof(*values));

	if (!values) {
		onnx_fail(r, -ENOMEM, "out of memory");
		return;
	}
	n->inputs = values;
	n->outputs = values + n->proto->n_input;
	n->input_count = (uint32_t)n->proto->n_input;
	n->output_count = (uint32_t)n->proto->n_output;
	n->opset = r->opset;
	n->attrs = (struct npuplan_attrs){ .axis = -1, .groups = 1 };
	if (!n->proto->op_type || !*n->proto->op_type)
		onnx_fail(r, -EINVAL, "%s has no operator", onnx_node_text(n).s);
	else if (is_own_domain(n->proto->domain))
		n->known = onnx_operator(n->proto->op_type);
	/* Which version of the operator is meant nobody could tell. */
	if (n->known && !r->opset)
		onnx_fail(r, -EINVAL, "%s: the model imports no operator set of ONNX's",
			  onnx_node_text(n).s);
	n->is_view = n->known && (n->known->flags & ONNX_VIEW);
	if (!r->err && !onnx_is_control(n))
		check_graphs(r, n);
	if (!r->err)
		name_type(n);
	if (!r->err)
		find_values(r, n);
	if (!r->err && onnx_is_control(n)) {
		check_count(r, n);
		if (!r->err)
			onnx_control(r, n);
	} else {
		read_values(r, n);
	}
	free(values);
}

void onnx_names(struct onnx_reader *r)
{
	const Onnx__GraphProto *graph = r->scope->graph;
	struct onnx_node n = { .where = r->scope->where };

	r->scope->first_node = r->node_count;
	r->node_count += (uint32_t)graph->n_node;
	for (size_t i = 0; !r->err && i < graph->n_node; i++) {
		n.proto = graph->node[i];
		n.number = (uint32_t)i;
		read_outputs(r, &n);
	}
	if (r->err)
		return;
	count_readers(r, graph);
	check_outputs(r);
}

void onnx_nodes(struct onnx_reader *r)
{
	const Onnx__GraphProto *graph = r->scope->graph;
	struct onnx_node n;

	for (size_t i = 0; !r->err && i < graph->n_node; i++) {
		n = (struct onnx_node){
			.proto = graph->node[i],
			.number = (uint32_t)i,
			.where = r->scope->where,
		};
		read_node(r, &n);
	}
}
