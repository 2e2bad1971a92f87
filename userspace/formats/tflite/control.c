/* SPDX-License-Identifier: MIT */
/*
 * CALL, IF and WHILE of a TFLite model: the subgraphs that they run, as blocks, edges and carries.
 *
 * Each time that an operator runs a subgraph an instance of that comes into the graph, with tensors
 * of its own but for constants and variables. What is handed to it are the caller's tensors under
 * other names. A call's outputs are the caller's tensors, too. Loop variables, and a branch's
 * outputs, are the caller's outputs, which edges carry values to.
 *
 * Blocks, edges and carries: ../flow.h.
 */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Operators that run subgraphs, in each other. */
#define MAX_DEPTH     64
/* Instances of subgraphs. */
#define MAX_INSTANCES 4096

/*
 * struct flow - an operator that runs subgraphs
 * @place: of it, for people
 * @values: those of its inputs that are handed on, @count of them
 * @first: number of its first input that is
 */
struct flow {
	const struct tflite_node *node;
	struct import_text place;
	struct tflite_value *values;
	uint32_t first;
	uint32_t count;
};

/* ----------------------------------------------------------------- values */

/* The file's number of an output or input of the operator; 0 after an error. */
static uint32_t number_of(struct tflite_reader *r, const struct flow *flow,
			  const struct flatbuf_vector *list, uint32_t i, const char *what)
{
	int32_t number = flatbuf_vector_i32(&r->fb, list, i);

	if (number < 0)
		flatbuf_fail(&r->fb, -EINVAL, "%s lacks %s %" PRIu32, flow->place.s, what, i);
	return number < 0 ? 0 : (uint32_t)number;
}

/* What is handed on from one tensor of the file to another has the same bytes in both. */
static void check_alike(struct tflite_reader *r, const struct flow *flow,
			const struct tflite_subgraph *from, uint32_t source,
			const struct tflite_subgraph *to, uint32_t target)
{
	struct npuplan_tensor have, want;
	uint8_t have_type = tflite_describe(r, from, source, &have);
	uint8_t want_type = tflite_describe(r, to, target, &want);

	if (r->fb.err)
		return;
	if (have_type != want_type)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s hands tensor %" PRId64 " of type %u on as tensor %" PRId64
			     " of type %u",
			     flow->place.s, have.id, have_type, want.id, want_type);
	if (have.size != want.size)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s hands tensor %" PRId64 " of %" PRIu64
			     " bytes on as tensor %" PRId64 " of %" PRIu64 " bytes",
			     flow->place.s, have.id, have.size, want.id, want.size);
}

/* What the operator hands on: the values of its inputs from @first on. */
static bool flow_init(struct tflite_reader *r, const struct tflite_node *node, uint32_t first,
		      struct flow *flow)
{
	*flow = (struct flow){ .node = node, .first = first };
	snprintf(flow->place.s, sizeof(flow->place.s), "%.80s (%.24s)",
		 tflite_place(r->scope, node->number).s, node->type.s);
	if (node->inputs.count < first) {
		flatbuf_fail(&r->fb, -EINVAL, "%s lacks its condition", flow->place.s);
		return false;
	}
	flow->count = node->inputs.count - first;
	flow->values = malloc((flow->count + (size_t)1) * sizeof(*flow->values));
	if (!flow->values)
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < flow->count && !r->fb.err; i++) {
		uint32_t number = number_of(r, flow, &node->inputs, first + i, "input");
		struct tflite_value value = r->scope->values[number];
		struct npuplan_tensor tensor;
		uint8_t type = tflite_describe(r, r->scope->sub, number, &tensor);

		flow->values[i] = value;
		if (type != TYPE_RESOURCE || value.variable == NPUMEM_NONE)
			tflite_check_bytes(r, number, type, &tensor);
		if (!r->fb.err && value.tensor != NPUMEM_NONE &&
		    !tflite_is_defined(r, value.tensor))
			flatbuf_fail(&r->fb, -EINVAL, "%s reads %s, which nothing has written",
				     flow->place.s,
				     import_tensor_text(&r->graph->tensors[value.tensor]).s);
	}
	return !r->fb.err;
}

/* -------------------------------------------------------------- instances */

struct tflite_subgraph *tflite_subgraph_of(struct tflite_reader *r, const struct tflite_node *node,
					   uint8_t type, unsigned int field)
{
	uint8_t have = flatbuf_u8(&r->fb, &node->table, OPERATOR_OPTIONS_TYPE, 0);
	struct flatbuf_table options = flatbuf_table(&r->fb, &node->table, OPERATOR_OPTIONS);
	uint32_t number = 0;

	if (have != type || !options.present)
		flatbuf_fail(&r->fb, -EINVAL, "%s (%s): its options have type %u, expected %u",
			     tflite_place(r->scope, node->number).s, node->type.s,
			     options.present ? have : 0, type);
	else
		number = flatbuf_u32(&r->fb, &options, field, 0);
	if (number >= r->subgraph_count)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s (%s) runs subgraph %" PRIu32 ", but there are only %" PRIu32,
			     tflite_place(r->scope, node->number).s, node->type.s, number,
			     r->subgraph_count);
	return r->fb.err ? NULL : &r->subgraphs[number];
}

static void check_counts(struct tflite_reader *r, const struct flow *flow,
			 const struct tflite_subgraph *sub, uint32_t outputs)
{
	if (sub->inputs.count != flow->count)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s hands %" PRIu32 " values to subgraph %" PRIu32
			     ", which has %" PRIu32 " inputs",
			     flow->place.s, flow->count, sub->number, sub->inputs.count);
	if (sub->outputs.count != outputs)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s takes %" PRIu32 " values of subgraph %" PRIu32
			     ", which has %" PRIu32 " outputs",
			     flow->place.s, outputs, sub->number, sub->outputs.count);
}

static void check_bounds(struct tflite_reader *r, const struct flow *flow,
			 const struct tflite_subgraph *sub)
{
	if (sub->active)
		flatbuf_fail(&r->fb, -ELOOP, "%s runs subgraph %" PRIu32 ", which it is in",
			     flow->place.s, sub->number);
	if (r->depth == MAX_DEPTH)
		flatbuf_fail(&r->fb, -E2BIG, "%s: subgraphs are nested more than %d deep",
			     flow->place.s, MAX_DEPTH);
	if (r->instances == MAX_INSTANCES)
		flatbuf_fail(&r->fb, -E2BIG,
			     "%s: subgraphs are run in more than %d places, each of which has "
			     "tensors of its own",
			     flow->place.s, MAX_INSTANCES);
	if (r->has_offline)
		flatbuf_fail(&r->fb, -EOPNOTSUPP,
			     "%s runs subgraph %" PRIu32 ", whose tensors metadata %s has no "
			     "offsets for",
			     flow->place.s, sub->number, TFLITE_OFFLINE_NAME);
}

/* The subgraph's inputs are what is handed to it. */
static void bind_inputs(struct tflite_reader *r, const struct flow *flow,
			struct tflite_scope *scope, const struct tflite_value *values)
{
	for (uint32_t i = 0; i < flow->count && !r->fb.err; i++) {
		/* Checked by tflite_count_uses(). */
		uint32_t target = (uint32_t)flatbuf_vector_i32(&r->fb, &scope->sub->inputs, i);
		uint32_t source = number_of(r, flow, &flow->node->inputs, flow->first + i, "input");

		check_alike(r, flow, r->scope->sub, source, scope->sub, target);
		if (scope->bound[target])
			flatbuf_fail(&r->fb, -EINVAL,
				     "input %" PRIu32 " of subgraph %" PRIu32 " is tensor %" PRIu32
				     ", and so is another one",
				     i, scope->sub->number, target);
		if (tflite_has_data(r, scope->sub, target) ||
		    (scope->sub->uses[target] & USE_VARIABLE))
			flatbuf_fail(&r->fb, -EOPNOTSUPP,
				     "input %" PRIu32 " of subgraph %" PRIu32 ", tensor %" PRIu32
				     ", has a value of its own",
				     i, scope->sub->number, target);
		scope->bound[target] = true;
		scope->values[target] = values[i];
	}
}

/* An instance of a subgraph that @values are handed to; NULL after an error. */
static struct tflite_scope *enter(struct tflite_reader *r, const struct flow *flow,
				  struct tflite_subgraph *sub, uint32_t outputs,
				  const struct tflite_value *values)
{
	struct tflite_scope *scope = NULL;

	if (r->fb.err)
		return NULL;
	check_counts(r, flow, sub, outputs);
	check_bounds(r, flow, sub);
	if (!r->fb.err)
		scope = tflite_scope_new(r, sub);
	if (!scope)
		return NULL;
	r->instances++;
	bind_inputs(r, flow, scope, values);
	if (!r->fb.err)
		return scope;
	tflite_scope_free(scope);
	return NULL;
}

static void run(struct tflite_reader *r, struct tflite_scope *scope)
{
	struct tflite_scope *outside = r->scope;

	if (!scope)
		return;
	r->scope = scope;
	r->depth++;
	tflite_scope_run(r, scope);
	r->depth--;
	r->scope = outside;
}

/* The number, in its file, of an output of an instance. */
static uint32_t output_of(struct tflite_reader *r, const struct tflite_scope *scope, uint32_t i)
{
	return (uint32_t)flatbuf_vector_i32(&r->fb, &scope->sub->outputs, i);
}

/* ------------------------------------------------------------- conditions */

/* The block's last operator writes the condition, which is one bool. */
static void decide(struct tflite_reader *r, const struct flow *flow,
		   const struct tflite_scope *scope, uint32_t number)
{
	struct npuplan_tensor tensor;

	if (tflite_describe(r, scope->sub, number, &tensor) != TYPE_BOOL || tensor.size != 1)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s: its condition, tensor %" PRId64 ", is not one bool",
			     flow->place.s, tensor.id);
	if (!r->fb.err)
		import_decide(&r->flow, scope->values[number].tensor);
}

/*
 * The operator's own outputs: nothing else gives them values.
 * @carried: edges do
 */
static void check_targets(struct tflite_reader *r, const struct flow *flow, bool carried)
{
	const struct flatbuf_vector *outputs = &flow->node->outputs;

	for (uint32_t i = 0; i < outputs->count && !r->fb.err; i++) {
		uint32_t number = number_of(r, flow, outputs, i, "output");
		struct tflite_value value = r->scope->values[number];

		if (r->fb.err || value.tensor == NPUMEM_NONE)
			continue;
		if (tflite_is_defined(r, value.tensor))
			flatbuf_fail(&r->fb, -EINVAL,
				     "%s gives %s a value, but it has one from elsewhere",
				     flow->place.s,
				     import_tensor_text(&r->graph->tensors[value.tensor]).s);
		r->facts[value.tensor].carried |= carried;
	}
}

/*
 * Output @i of the operator is a handle: of the variable that the subgraph's is, on whichever way.
 */
static void hand_variable(struct tflite_reader *r, const struct flow *flow, uint32_t target,
			  uint32_t variable)
{
	struct tflite_scope *scope = r->scope;

	if (variable == NPUMEM_NONE ||
	    (scope->bound[target] && scope->values[target].variable != variable))
		flatbuf_fail(&r->fb, -EOPNOTSUPP,
			     "%s: which variable tensor %" PRIu64
			     " is a handle of depends on the way",
			     flow->place.s, scope->sub->first_tensor + target);
	scope->bound[target] = true;
	scope->values[target].variable = variable;
}

/* -------------------------------------------------------------------- IF */

/* What an arm gives, as carries to the operator's outputs. */
static struct import_carries give(struct tflite_reader *r, const struct flow *flow,
				  const struct tflite_scope *arm)
{
	const struct flatbuf_vector *outputs = &flow->node->outputs;
	struct import_carries carries = import_new_carries(&r->flow, outputs->count);

	for (uint32_t i = 0; i < outputs->count && !r->fb.err; i++) {
		uint32_t target = number_of(r, flow, outputs, i, "output");
		uint32_t source = output_of(r, arm, i);
		struct tflite_value value = arm->values[source];

		check_alike(r, flow, arm->sub, source, r->scope->sub, target);
		if (r->fb.err)
			break;
		if (r->scope->values[target].tensor != NPUMEM_NONE)
			import_carry(&r->flow, &carries, value.tensor,
				     r->scope->values[target].tensor);
		else if (value.variable != NPUMEM_NONE || r->scope->bound[target])
			hand_variable(r, flow, target, value.variable);
	}
	return carries;
}

/* The edge that leads from the arm's end to whatever follows. */
static uint32_t read_arm(struct tflite_reader *r, const struct flow *flow, uint32_t from,
			 struct tflite_subgraph *sub)
{
	struct tflite_scope *arm = enter(r, flow, sub, flow->node->outputs.count, flow->values);
	struct import_carries carries = { 0 };
	uint32_t edge;

	import_begin_arm(&r->flow, from);
	run(r, arm);
	if (arm && !r->fb.err)
		carries = give(r, flow, arm);
	edge = import_end_arm(&r->flow, &carries);
	tflite_scope_free(arm);
	return edge;
}

static void read_if(struct tflite_reader *r, const struct tflite_node *node)
{
	struct tflite_subgraph *yes = tflite_subgraph_of(r, node, OPTIONS_IF, IF_THEN);
	struct tflite_subgraph *no = yes ? tflite_subgraph_of(r, node, OPTIONS_IF, IF_ELSE) : NULL;
	uint32_t from, edges[2];
	struct flow flow;

	if (!no)
		return;
	if (flow_init(r, node, 1, &flow))
		decide(r, &flow, r->scope, number_of(r, &flow, &node->inputs, 0, "input"));
	check_targets(r, &flow, true);
	from = r->flow.block;
	edges[0] = read_arm(r, &flow, from, yes);
	edges[1] = read_arm(r, &flow, from, no);
	import_join(&r->flow, edges, 2);
	free(flow.values);
}

/* ----------------------------------------------------------------- WHILE */

/*
 * The loop's variables: the operator's outputs, and handles, which no iteration changes.
 * @variables: out: @flow->count of them
 */
static struct import_carries begin_loop(struct tflite_reader *r, const struct flow *flow,
					struct tflite_value *variables)
{
	const struct tflite_subgraph *sub = r->scope->sub;
	struct import_carries carries = import_new_carries(&r->flow, flow->count);

	for (uint32_t i = 0; i < flow->count && !r->fb.err; i++) {
		uint32_t source = number_of(r, flow, &flow->node->inputs, i, "input");
		uint32_t target = number_of(r, flow, &flow->node->outputs, i, "output");

		variables[i] = r->scope->values[target];
		check_alike(r, flow, sub, source, sub, target);
		if (r->fb.err)
			break;
		if (flow->values[i].variable != NPUMEM_NONE) {
			hand_variable(r, flow, target, flow->values[i].variable);
			variables[i] = r->scope->values[target];
		} else if (variables[i].tensor != NPUMEM_NONE) {
			import_carry(&r->flow, &carries, flow->values[i].tensor,
				     variables[i].tensor);
		}
	}
	return carries;
}

/* What the next iteration begins with. */
static struct import_carries next_iteration(struct tflite_reader *r, const struct flow *flow,
					    const struct tflite_scope *body,
					    const struct tflite_value *variables)
{
	struct import_carries carries = import_new_carries(&r->flow, flow->count);

	for (uint32_t i = 0; i < flow->count && !r->fb.err; i++) {
		uint32_t source = output_of(r, body, i);
		uint32_t target = number_of(r, flow, &flow->node->outputs, i, "output");
		struct tflite_value value = body->values[source];

		check_alike(r, flow, body->sub, source, r->scope->sub, target);
		if (r->fb.err)
			break;
		if (variables[i].tensor != NPUMEM_NONE)
			import_carry(&r->flow, &carries, value.tensor, variables[i].tensor);
		else if (variables[i].variable != NPUMEM_NONE)
			hand_variable(r, flow, target, value.variable);
	}
	return carries;
}

/* The block before each iteration, and after the last: from its end the loop is left. */
static void read_test(struct tflite_reader *r, const struct flow *flow, struct tflite_subgraph *sub,
		      const struct tflite_value *variables)
{
	struct tflite_scope *scope = enter(r, flow, sub, 1, variables);

	run(r, scope);
	if (scope && !r->fb.err)
		decide(r, flow, scope, output_of(r, scope, 0));
	tflite_scope_free(scope);
}

/* Returns what the next iteration begins with. */
static struct import_carries read_body(struct tflite_reader *r, const struct flow *flow,
				       struct tflite_subgraph *sub,
				       const struct tflite_value *variables)
{
	struct tflite_scope *scope = enter(r, flow, sub, flow->count, variables);
	struct import_carries carries = { 0 };

	run(r, scope);
	if (scope && !r->fb.err)
		carries = next_iteration(r, flow, scope, variables);
	tflite_scope_free(scope);
	return carries;
}

static void read_loop(struct tflite_reader *r, const struct flow *flow,
		      struct tflite_subgraph *test, struct tflite_subgraph *body,
		      struct tflite_value *variables)
{
	struct import_carries carries;
	uint32_t head, last;

	check_targets(r, flow, true);
	carries = begin_loop(r, flow, variables);
	head = import_begin_loop(&r->flow, &carries);
	read_test(r, flow, test, variables);
	last = import_begin_body(&r->flow);
	carries = read_body(r, flow, body, variables);
	import_end_loop(&r->flow, head, last, &carries);
}

static void read_while(struct tflite_reader *r, const struct tflite_node *node)
{
	struct tflite_subgraph *test = tflite_subgraph_of(r, node, OPTIONS_WHILE, WHILE_TEST);
	struct tflite_subgraph *body =
		test ? tflite_subgraph_of(r, node, OPTIONS_WHILE, WHILE_BODY) : NULL;
	struct tflite_value *variables;
	struct flow flow;

	if (!body)
		return;
	if (flow_init(r, node, 0, &flow) && flow.count != node->outputs.count)
		flatbuf_fail(&r->fb, -EINVAL, "%s has %" PRIu32 " inputs, but %" PRIu32 " outputs",
			     flow.place.s, flow.count, node->outputs.count);
	variables = malloc((flow.count + (size_t)1) * sizeof(*variables));
	if (!variables)
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
	if (!r->fb.err)
		read_loop(r, &flow, test, body, variables);
	free(variables);
	free(flow.values);
}

/* ------------------------------------------------------------------ CALL */

/* Whether an output of the subgraph can be the caller's tensor from the beginning. */
static bool can_be_target(struct tflite_reader *r, const struct tflite_scope *scope,
			  uint32_t source, uint32_t target)
{
	return r->scope->values[target].tensor != NPUMEM_NONE && !scope->bound[source] &&
	       !(scope->sub->uses[source] & USE_VARIABLE) &&
	       !tflite_has_data(r, scope->sub, source);
}

static void bind_outputs(struct tflite_reader *r, const struct flow *flow,
			 struct tflite_scope *scope)
{
	for (uint32_t i = 0; i < flow->node->outputs.count && !r->fb.err; i++) {
		uint32_t target = number_of(r, flow, &flow->node->outputs, i, "output");
		uint32_t source = output_of(r, scope, i);

		check_alike(r, flow, scope->sub, source, r->scope->sub, target);
		if (r->fb.err || !can_be_target(r, scope, source, target))
			continue;
		scope->bound[source] = true;
		scope->values[source] = r->scope->values[target];
	}
}

/* What has gone to other tensors: an input that is an output, a constant, one of two names. */
static void take_outputs(struct tflite_reader *r, const struct flow *flow,
			 const struct tflite_scope *scope)
{
	for (uint32_t i = 0; i < flow->node->outputs.count && !r->fb.err; i++) {
		uint32_t target = number_of(r, flow, &flow->node->outputs, i, "output");
		struct tflite_value value = scope->values[output_of(r, scope, i)];
		uint32_t tensor = r->scope->values[target].tensor;

		if (value.variable != NPUMEM_NONE) {
			hand_variable(r, flow, target, value.variable);
		} else if (tensor != NPUMEM_NONE && value.tensor != tensor) {
			import_copy(&r->flow, value.tensor, tensor);
		}
	}
}

static void read_call(struct tflite_reader *r, const struct tflite_node *node)
{
	struct tflite_subgraph *sub = tflite_subgraph_of(r, node, OPTIONS_CALL, CALL_SUBGRAPH);
	struct tflite_scope *scope = NULL;
	struct flow flow;

	if (!sub)
		return;
	if (flow_init(r, node, 0, &flow))
		check_targets(r, &flow, false);
	if (!r->fb.err)
		scope = enter(r, &flow, sub, node->outputs.count, flow.values);
	if (scope)
		bind_outputs(r, &flow, scope);
	if (!r->fb.err)
		run(r, scope);
	if (scope && !r->fb.err)
		take_outputs(r, &flow, scope);
	tflite_scope_free(scope);
	free(flow.values);
}

void tflite_control(struct tflite_reader *r, const struct tflite_node *node)
{
	if (node->builtin == BUILTIN_CALL)
		read_call(r, node);
	else if (node->builtin == BUILTIN_IF)
		read_if(r, node);
	else
		read_while(r, node);
}
