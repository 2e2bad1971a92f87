/* SPDX-License-Identifier: MIT */
/*
 * Loop and Scan of ONNX as loops of the graph.
 *
 * What an iteration hands to the next one is a variable, a tensor that edges carry values to: the
 * node's output. What it appends to an output is stored into that, a variable as well, in place.
 * The runtime counts: where the body reads the number of the iteration, or a slice of what is
 * scanned, an operator at the body's beginning writes that; whether there is a further iteration
 * an operator before each says. None of these is in the file:
 *
 *	loop_test	(most iterations, condition) -> whether to go on
 *	loop_index	() -> number of the iteration, condition
 *	scan_slice	(all) -> slice of this iteration
 *	scan_begin	() -> what is appended to, not appended to yet
 *	scan_store	(what is appended to, slice) -> the same, with the slice
 */
#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* How many iterations there are: not known before the model runs. */
#define UNKNOWN (-1)

/*
 * struct variable - what is carried from iteration to iteration
 * @tensor: NPUMEM_NONE: it has no bytes
 * @begin: tensor with the value that it begins with
 * @next: tensor with that of the next iteration
 */
struct variable {
	uint32_t tensor;
	uint32_t begin;
	uint32_t next;
};

/*
 * struct loop - in the making
 * @n: the node
 * @first_state, @state_count: states, which are handed on: inputs of the node
 * @first_input, @first_output: of the body, that are states
 * @input_count: of the body
 * @stack_count: outputs of the node, and of the body, that are appended to, behind the states
 * @axes: along which, one a stack
 * @trips: iterations, or UNKNOWN
 * @limit: there are no more than that, or UNKNOWN
 * @most, @condition: inputs of Loop, or NULL
 * @variables: of states, of stacks, and of the condition
 */
struct loop {
	const struct onnx_node *n;
	uint32_t first_state;
	uint32_t state_count;
	uint32_t first_input;
	uint32_t first_output;
	uint32_t input_count;
	uint32_t stack_count;
	int64_t *axes;
	int64_t trips;
	int64_t limit;
	struct onnx_value *most;
	struct onnx_value *condition;
	struct variable *variables;
};

static uint32_t variable_count(const struct loop *loop)
{
	return loop->state_count + loop->stack_count + 1;
}

static struct variable *condition_of(const struct loop *loop)
{
	return &loop->variables[loop->state_count + loop->stack_count];
}

/* ------------------------------------------------------------------------- values */

/* A value of the body, or an output of the node, gets a type and a shape. */
static void bind(struct onnx_reader *r, const struct loop *loop, struct onnx_value *value,
		 uint32_t type, const struct onnx_shape *shape)
{
	if (!value)
		return;
	value->type = type;
	value->shape = *shape;
	onnx_finish_output(r, loop->n, value);
}

/* A single value: of the shape that the body declares, if that has one element. */
static void bind_single(struct onnx_reader *r, const struct loop *loop, struct onnx_value *value,
			uint32_t type)
{
	struct onnx_shape shape = { .known = true };
	struct onnx_shape declared;
	uint32_t declared_type;

	if (!value)
		return;
	onnx_declared(r, value, &declared_type, &declared);
	/* Of what is one element, a dimension that is not known has one. */
	for (uint32_t d = 0; d < declared.rank; d++)
		declared.dims[d] = declared.dims[d] < 0 ? 1 : declared.dims[d];
	if (!r->err && declared.known && onnx_elements(&declared, 0, declared.rank) == 1)
		shape = declared;
	bind(r, loop, value, type, &shape);
}

static void check_single(struct onnx_reader *r, const struct loop *loop,
			 const struct onnx_value *value, uint32_t type, const char *what)
{
	if (value &&
	    (value->type != type || onnx_elements(&value->shape, 0, value->shape.rank) != 1))
		onnx_fail(r, -EINVAL, "%s: its %s, %s, is not one %s", onnx_node_text(loop->n).s,
			  what, onnx_value_text(value).s, onnx_type_name(type));
}

static bool is_true(const struct onnx_value *value)
{
	return value->numbers && value->count == 1 && value->numbers[0].i;
}

static bool is_false(const struct onnx_value *value)
{
	return value && value->numbers && value->count == 1 && !value->numbers[0].i;
}

/* ------------------------------------------------------------------------- states */

/* The node's outputs are the variables; a state without one has a tensor all the same. */
static void begin_states(struct onnx_reader *r, const struct loop *loop)
{
	const struct onnx_node *n = loop->n;

	for (uint32_t k = 0; k < loop->state_count && !r->err; k++) {
		struct onnx_value *value = n->inputs[loop->first_state + k];
		struct onnx_value *out = k < n->output_count ? n->outputs[k] : NULL;
		struct variable *variable = &loop->variables[k];

		if (!value) {
			onnx_fail(r, -EINVAL, "%s lacks input %" PRIu32, onnx_node_text(n).s,
				  loop->first_state + k);
			return;
		}
		if (out) {
			bind(r, loop, out, value->type, &value->shape);
			/* Not within the body, which may have the name for its own. */
			out->is_defined = false;
		}
		if (out)
			variable->tensor = onnx_tensor(r, out);
		else
			variable->tensor =
				onnx_make_tensor(r, n, "state", value->type, &value->shape);
		if (variable->tensor != NPUMEM_NONE)
			variable->begin = onnx_tensor(r, value);
	}
}

/* The body's states are the variables. */
static void bind_states(struct onnx_reader *r, const struct loop *loop)
{
	for (uint32_t k = 0; k < loop->state_count && !r->err; k++) {
		const struct onnx_value *value = loop->n->inputs[loop->first_state + k];
		struct onnx_value *state = onnx_input_of(r, loop->first_input + k);

		bind(r, loop, state, value->type, &value->shape);
		if (state)
			state->tensor = loop->variables[k].tensor;
	}
}

/* What states are at the end of the body. */
static void next_states(struct onnx_reader *r, const struct loop *loop)
{
	for (uint32_t k = 0; k < loop->state_count && !r->err; k++) {
		const struct onnx_value *value = loop->n->inputs[loop->first_state + k];
		struct onnx_value *next = onnx_output_of(r, loop->first_output + k);

		if (!next)
			return;
		if (next->type != value->type || !onnx_is_same(&value->shape, &next->shape))
			onnx_fail(r, -EOPNOTSUPP,
				  "%s: %s is %s %s, and %s %s in the next iteration: its size is "
				  "not known before the model runs",
				  onnx_node_text(loop->n).s, onnx_value_text(value).s,
				  onnx_type_name(value->type), onnx_shape_text(&value->shape).s,
				  onnx_type_name(next->type), onnx_shape_text(&next->shape).s);
		if (loop->variables[k].tensor != NPUMEM_NONE)
			loop->variables[k].next = onnx_tensor(r, next);
	}
}

/* ------------------------------------------------------------------------- stacks */

static struct onnx_value *stack_of(const struct loop *loop, uint32_t k)
{
	uint32_t output = loop->state_count + k;

	return output < loop->n->output_count ? loop->n->outputs[output] : NULL;
}

/*
 * How large a stack is its slices say, which the body makes: it has one byte until then.
 */
static void begin_stacks(struct onnx_reader *r, const struct loop *loop)
{
	const struct onnx_shape byte = { .known = true };

	for (uint32_t k = 0; k < loop->stack_count && loop->trips && !r->err; k++) {
		struct variable *variable = &loop->variables[loop->state_count + k];
		struct onnx_value *stack = stack_of(loop, k);

		if (!stack)
			continue;
		stack->type = ONNX_UINT8;
		stack->shape = byte;
		variable->tensor = onnx_tensor(r, stack);
		variable->begin = onnx_make_tensor(r, loop->n, "begin", ONNX_UINT8, &byte);
		onnx_make_op(r, loop->n, "begin", "scan_begin",
			     (uint32_t[]){ NPUMEM_NONE, NPUMEM_NONE },
			     (uint32_t[]){ variable->begin, NPUMEM_NONE }, false);
	}
}

/* How many slices the file says that a stack has, where the number of iterations is not known. */
static int64_t declared_trips(struct onnx_reader *r, const struct loop *loop,
			      const struct onnx_value *stack, const struct onnx_value *slice,
			      int64_t axis)
{
	struct onnx_shape declared;
	int64_t trips;
	uint32_t type;

	onnx_declared(r, stack, &type, &declared);
	if (r->err || !declared.known)
		return UNKNOWN;
	if (declared.rank != slice->shape.rank + 1) {
		onnx_fail(r, -EINVAL,
			  "%s stacks slices of shape %s in %s, but the file declares %s",
			  onnx_node_text(loop->n).s, onnx_shape_text(&slice->shape).s,
			  onnx_value_text(stack).s, onnx_shape_text(&declared).s);
		return UNKNOWN;
	}
	trips = declared.dims[axis];
	if (loop->limit != UNKNOWN && trips > loop->limit)
		onnx_fail(r, -EINVAL,
			  "%s has at most %" PRId64
			  " iterations, but the file declares %s of shape "
			  "%s",
			  onnx_node_text(loop->n).s, loop->limit, onnx_value_text(stack).s,
			  onnx_shape_text(&declared).s);
	return trips;
}

/* As many slices as there are iterations; if that is not known the file's word is taken. */
static void shape_stack(struct onnx_reader *r, const struct loop *loop, struct onnx_value *stack,
			const struct onnx_value *slice, int64_t axis)
{
	struct onnx_shape shape = { .known = true, .rank = slice->shape.rank + 1 };
	int64_t trips = loop->trips;

	stack->type = slice->type;
	stack->shape = (struct onnx_shape){ 0 };
	axis += axis < 0 ? shape.rank : 0;
	if (shape.rank > NPUPLAN_MAX_DIMS)
		onnx_fail(r, -EOPNOTSUPP, "%s has %" PRIu32 " dimensions, more than %d",
			  onnx_value_text(stack).s, shape.rank, NPUPLAN_MAX_DIMS);
	else if (axis < 0 || axis >= shape.rank)
		onnx_fail(r, -EINVAL, "%s stacks %s along dimension %" PRId64 " of %" PRIu32,
			  onnx_node_text(loop->n).s, onnx_value_text(stack).s, axis, shape.rank);
	if (!r->err && trips == UNKNOWN)
		trips = declared_trips(r, loop, stack, slice, axis);
	if (r->err || trips == UNKNOWN)
		return;
	for (uint32_t d = 0, from = 0; d < shape.rank; d++)
		shape.dims[d] = d == axis ? trips : slice->shape.dims[from++];
	stack->shape = shape;
}

/* Stores the slices of the iteration, at the end of the body. */
static void store_slices(struct onnx_reader *r, const struct loop *loop)
{
	for (uint32_t k = 0; k < loop->stack_count && !r->err; k++) {
		struct variable *variable = &loop->variables[loop->state_count + k];
		struct onnx_value *stack = stack_of(loop, k);
		struct onnx_value *slice =
			onnx_output_of(r, loop->first_output + loop->state_count + k);

		if (!slice || !stack)
			continue;
		shape_stack(r, loop, stack, slice, loop->axes[k]);
		if (!r->err)
			onnx_finish_output(r, loop->n, stack);
		/* Not within the body, whose further outputs may have the name for their own. */
		stack->is_defined = false;
		if (r->err || variable->tensor == NPUMEM_NONE)
			continue;
		onnx_resize(r, stack, variable->tensor);
		onnx_resize(r, stack, variable->begin);
		variable->next = onnx_make_tensor(r, loop->n, "next", stack->type, &stack->shape);
		onnx_make_op(r, loop->n, "store", "scan_store",
			     (uint32_t[]){ variable->tensor, onnx_tensor(r, slice) },
			     (uint32_t[]){ variable->next, NPUMEM_NONE }, true);
	}
}

/* ---------------------------------------------------------------------- condition */

static void begin_condition(struct onnx_reader *r, const struct loop *loop)
{
	const struct onnx_shape one = { .known = true };
	struct variable *variable = condition_of(loop);

	if (!loop->condition || r->err)
		return;
	variable->tensor = onnx_make_tensor(r, loop->n, "condition", ONNX_BOOL, &one);
	variable->begin = onnx_tensor(r, loop->condition);
}

/* Before each iteration, and after the last one. The runtime has the number of iterations. */
static void test(struct onnx_reader *r, const struct loop *loop)
{
	const struct onnx_shape one = { .known = true };
	const struct variable *variable = condition_of(loop);
	uint32_t go_on = onnx_make_tensor(r, loop->n, "go_on", ONNX_BOOL, &one);
	uint32_t most = NPUMEM_NONE;

	if (loop->most && !loop->most->numbers)
		most = onnx_tensor(r, loop->most);
	onnx_make_op(r, loop->n, "test", "loop_test", (uint32_t[]){ most, variable->tensor },
		     (uint32_t[]){ go_on, NPUMEM_NONE }, false);
}

/* ---------------------------------------------------------------------- iterations */

static struct import_carries carries_of(struct onnx_reader *r, const struct loop *loop,
					bool is_first)
{
	struct import_carries carries = import_new_carries(&r->flow, variable_count(loop));

	for (uint32_t k = 0; k < variable_count(loop); k++) {
		const struct variable *variable = &loop->variables[k];

		if (variable->tensor != NPUMEM_NONE && !r->err)
			import_carry(&r->flow, &carries,
				     is_first ? variable->begin : variable->next, variable->tensor);
	}
	return carries;
}

/* Loop's body begins with the number of the iteration, and the condition, which is true. */
static void bind_loop(struct onnx_reader *r, const struct loop *loop)
{
	struct onnx_value *index = onnx_input_of(r, 0), *condition = onnx_input_of(r, 1);
	uint32_t made[2] = { NPUMEM_NONE, NPUMEM_NONE };

	bind_single(r, loop, index, ONNX_INT64);
	bind_single(r, loop, condition, ONNX_BOOL);
	if (r->err)
		return;
	/* Without a condition it is what the body has made of it, and nobody minds. */
	if (loop->condition && onnx_numbers_new(r, condition, 1)) {
		condition->numbers[0].i = 1;
		condition->is_constant = true;
	}
	if (index->readers)
		made[0] = onnx_tensor(r, index);
	if (condition->readers && !condition->is_constant)
		made[1] = onnx_tensor(r, condition);
	onnx_make_op(r, loop->n, "index", "loop_index", (uint32_t[]){ NPUMEM_NONE, NPUMEM_NONE },
		     made, false);
}

static void next_loop(struct onnx_reader *r, struct loop *loop)
{
	struct onnx_value *condition = onnx_output_of(r, 0);

	if (!condition)
		return;
	check_single(r, loop, condition, ONNX_BOOL, "next condition");
	if (!loop->condition || r->err)
		return;
	condition_of(loop)->next = onnx_tensor(r, condition);
	/* It may end before all iterations, or before the first one. */
	if (!is_true(loop->condition) || (!is_true(condition) && loop->limit != 1))
		loop->trips = loop->limit ? UNKNOWN : 0;
	else if (loop->limit == UNKNOWN && !loop->most && is_true(condition))
		onnx_fail(r, -EINVAL, "%s never ends", onnx_node_text(loop->n).s);
}

/* Scan's body begins with slices of what is scanned: along an axis, which is gone then. */
static void bind_scan(struct onnx_reader *r, const struct loop *loop)
{
	for (uint32_t k = loop->state_count; k < loop->input_count && !r->err; k++) {
		struct onnx_value *all = loop->n->inputs[k], *slice = onnx_input_of(r, k);
		struct onnx_shape shape = { .known = true, .rank = all->shape.rank - 1 };

		for (uint32_t d = 0, to = 0; d < all->shape.rank; d++)
			if (d != loop->axes[loop->stack_count + k - loop->state_count])
				shape.dims[to++] = all->shape.dims[d];
		bind(r, loop, slice, all->type, &shape);
		if (!r->err && slice->readers)
			onnx_make_op(r, loop->n, "slice", "scan_slice",
				     (uint32_t[]){ onnx_tensor(r, all), NPUMEM_NONE },
				     (uint32_t[]){ onnx_tensor(r, slice), NPUMEM_NONE }, false);
	}
}

/* Returns what the next iteration begins with. */
static struct import_carries read_body(struct onnx_reader *r, struct loop *loop)
{
	struct import_carries carries = { 0 };
	struct onnx_scope scope;

	if (r->err || !onnx_enter(r, loop->n, "body", loop->input_count, &scope))
		return carries;
	bind_states(r, loop);
	if (loop->first_input)
		bind_loop(r, loop);
	else
		bind_scan(r, loop);
	onnx_nodes(r);
	next_states(r, loop);
	if (loop->first_input)
		next_loop(r, loop);
	store_slices(r, loop);
	if (!r->err)
		carries = carries_of(r, loop, false);
	onnx_leave(r);
	return carries;
}

static void read_loop(struct onnx_reader *r, struct loop *loop)
{
	struct import_carries carries;
	uint32_t head, last;

	begin_states(r, loop);
	begin_stacks(r, loop);
	begin_condition(r, loop);
	carries = carries_of(r, loop, true);
	head = import_begin_loop(&r->flow, &carries);
	test(r, loop);
	last = import_begin_body(&r->flow);
	carries = read_body(r, loop);
	import_end_loop(&r->flow, head, last, &carries);
	for (uint32_t k = 0; k < loop->n->output_count; k++)
		if (loop->n->outputs[k])
			loop->n->outputs[k]->is_defined = true;
}

/* Room for what depends on numbers of inputs and outputs. @scanned: inputs that have an axis */
static bool make_room(struct onnx_reader *r, struct loop *loop, uint32_t scanned)
{
	const struct onnx_node *n = loop->n;
	const Onnx__GraphProto *body = onnx_graph_of(r, n, "body");
	uint32_t least = loop->first_output + loop->state_count;

	if (!body)
		return false;
	if (body->n_output < least || n->output_count > body->n_output - loop->first_output) {
		onnx_fail(r, -EINVAL,
			  "%s has %" PRIu32 " states and %" PRIu32 " outputs, its body %zu outputs",
			  onnx_node_text(n).s, loop->state_count, n->output_count, body->n_output);
		return false;
	}
	loop->stack_count = (uint32_t)body->n_output - least;
	loop->variables = calloc(variable_count(loop), sizeof(*loop->variables));
	loop->axes = calloc((size_t)loop->stack_count + scanned + 1, sizeof(*loop->axes));
	if (!loop->variables || !loop->axes)
		onnx_fail(r, -ENOMEM, "out of memory");
	for (uint32_t k = 0; k < variable_count(loop) && loop->variables; k++)
		loop->variables[k] = (struct variable){ NPUMEM_NONE, NPUMEM_NONE, NPUMEM_NONE };
	return !r->err;
}

static void free_room(struct loop *loop)
{
	free(loop->variables);
	free(loop->axes);
}

void onnx_loop(struct onnx_reader *r, struct onnx_node *n)
{
	struct loop loop = {
		.n = n,
		.first_state = 2,
		.state_count = n->input_count > 2 ? n->input_count - 2 : 0,
		.first_input = 2,
		.first_output = 1,
		.limit = UNKNOWN,
		.most = n->input_count > 0 ? n->inputs[0] : NULL,
		.condition = n->input_count > 1 ? n->inputs[1] : NULL,
	};

	loop.input_count = 2 + loop.state_count;
	check_single(r, &loop, loop.most, ONNX_INT64, "number of iterations");
	check_single(r, &loop, loop.condition, ONNX_BOOL, "condition");
	if (!loop.most && !loop.condition)
		onnx_fail(r, -EINVAL, "%s never ends", onnx_node_text(n).s);
	if (!r->err && loop.most && loop.most->numbers)
		loop.limit = loop.most->numbers[0].i > 0 ? loop.most->numbers[0].i : 0;
	if (!r->err && is_false(loop.condition))
		loop.limit = 0;
	loop.trips = loop.limit;
	if (!r->err && make_room(r, &loop, 0))
		read_loop(r, &loop);
	free_room(&loop);
}

/* ---------------------------------------------------------------------------- Scan */

/* Axes of an attribute, one each for @count; 0 without it. */
static void read_axes(struct onnx_reader *r, const struct onnx_node *n, const char *name,
		      uint32_t count, int64_t *axes)
{
	size_t given;
	const int64_t *list = onnx_attr_ints(r, n, name, &given);

	if (!r->err && list && given != count)
		onnx_fail(r, -EINVAL, "%s: attribute '%s' has %zu numbers, must have %" PRIu32,
			  onnx_node_text(n).s, name, given, count);
	for (uint32_t k = 0; k < count && list && !r->err; k++)
		axes[k] = list[k];
}

/* All that is scanned has as many slices. */
static void count_slices(struct onnx_reader *r, struct loop *loop, uint32_t k)
{
	const struct onnx_value *all = loop->n->inputs[loop->state_count + k];
	int64_t *axis = &loop->axes[loop->stack_count + k];

	if (!all) {
		onnx_fail(r, -EINVAL, "%s lacks input %" PRIu32, onnx_node_text(loop->n).s,
			  loop->state_count + k);
		return;
	}
	*axis += *axis < 0 ? all->shape.rank : 0;
	if (*axis < 0 || *axis >= all->shape.rank) {
		onnx_fail(r, -EINVAL, "%s scans %s along a dimension that %s lacks",
			  onnx_node_text(loop->n).s, onnx_value_text(all).s,
			  onnx_shape_text(&all->shape).s);
		return;
	}
	if (loop->trips != UNKNOWN && loop->trips != all->shape.dims[*axis])
		onnx_fail(r, -EINVAL, "%s scans %s of %" PRId64 " slices, others have %" PRId64,
			  onnx_node_text(loop->n).s, onnx_value_text(all).s, all->shape.dims[*axis],
			  loop->trips);
	loop->trips = all->shape.dims[*axis];
}

void onnx_scan(struct onnx_reader *r, struct onnx_node *n)
{
	int64_t scanned = onnx_attr_int(r, n, "num_scan_inputs", 0);
	struct loop loop = { .n = n, .input_count = n->input_count, .trips = UNKNOWN };

	if (n->opset < 9)
		onnx_fail(r, -EOPNOTSUPP,
			  "%s is of operator set %" PRId64 ": only that of 9 and later is read",
			  onnx_node_text(n).s, n->opset);
	else if (scanned < 1 || scanned > n->input_count)
		onnx_fail(r, -EINVAL, "%s scans %" PRId64 " of its %" PRIu32 " inputs",
			  onnx_node_text(n).s, scanned, n->input_count);
	if (r->err)
		return;
	loop.state_count = n->input_count - (uint32_t)scanned;
	if (make_room(r, &loop, (uint32_t)scanned)) {
		read_axes(r, n, "scan_output_axes", loop.stack_count, loop.axes);
		read_axes(r, n, "scan_input_axes", (uint32_t)scanned, loop.axes + loop.stack_count);
	}
	for (uint32_t k = 0; k < scanned && !r->err; k++)
		count_slices(r, &loop, k);
	if (!r->err)
		read_loop(r, &loop);
	free_room(&loop);
}
