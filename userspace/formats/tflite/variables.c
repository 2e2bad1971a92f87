/* SPDX-License-Identifier: MIT */
/*
 * Resource variables of a TFLite model: each becomes one state of the graph.
 *
 * VAR_HANDLE names a variable; its output, a handle, is no tensor of the graph, wherever control
 * flow hands it on. READ_VARIABLE copies the state, or gives its bytes another name if nothing
 * writes them as long as that is read. ASSIGN_VARIABLE updates the state. CALL_ONCE runs before the
 * first inference, which a plan has nothing to do with; but what it assigns has the variable's
 * size.
 */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../grow/grow.h"

/* Each handle is compared with all variables. */
#define MAX_VARIABLES 1024

void tflite_variables_free(struct tflite_reader *r)
{
	for (uint32_t i = 0; i < r->variable_count; i++)
		free(r->variables[i].key);
	free(r->variables);
}

/* ---------------------------------------------------------------- handles */

static bool is_key(const struct tflite_variable *variable, const uint8_t *container,
		   size_t container_size, const uint8_t *name, size_t name_size)
{
	/* Names may have NULs, so that the one between them says nothing of where it is. */
	return variable->key_size == container_size + 1 + name_size &&
	       variable->container_size == container_size &&
	       !memcmp(variable->key, container, container_size) &&
	       !memcmp(variable->key + container_size + 1, name, name_size);
}

static uint32_t add_variable(struct tflite_reader *r, const struct flatbuf_table *options,
			     const struct flatbuf_vector *container,
			     const struct flatbuf_vector *name)
{
	size_t size = (size_t)container->count + 1 + name->count;
	struct tflite_variable *variable;

	if (r->variable_count == MAX_VARIABLES) {
		flatbuf_fail(&r->fb, -E2BIG, "the model has more than %d resource variables",
			     MAX_VARIABLES);
		return NPUMEM_NONE;
	}
	variable = grow_by_one(r->variables, r->variable_count, sizeof(*variable));
	if (variable)
		r->variables = variable;
	variable = variable ? &r->variables[r->variable_count] : NULL;
	if (variable)
		*variable = (struct tflite_variable){
			.key = calloc(1, size),
			.key_size = size,
			.container_size = container->count,
			.name = tflite_name_of(&r->fb, options, VAR_HANDLE_NAME),
			.id = -1,
			.tensor = NPUMEM_NONE,
		};
	if (!variable || !variable->key) {
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
		return NPUMEM_NONE;
	}
	memcpy(variable->key, r->fb.data + container->pos, container->count);
	memcpy(variable->key + container->count + 1, r->fb.data + name->pos, name->count);
	return r->variable_count++;
}

static uint32_t find_variable(struct tflite_reader *r, const struct tflite_node *node)
{
	struct flatbuf_table options = flatbuf_table(&r->fb, &node->table, OPERATOR_OPTIONS);
	struct flatbuf_vector container, name;

	if (flatbuf_u8(&r->fb, &node->table, OPERATOR_OPTIONS_TYPE, 0) != OPTIONS_VAR_HANDLE)
		flatbuf_fail(&r->fb, -EINVAL, "%s (%s) does not name its variable",
			     tflite_place(r->scope, node->number).s, node->type.s);
	container = flatbuf_vector(&r->fb, &options, VAR_HANDLE_CONTAINER, 1);
	name = flatbuf_vector(&r->fb, &options, VAR_HANDLE_NAME, 1);
	if (r->fb.err)
		return NPUMEM_NONE;
	for (uint32_t i = 0; i < r->variable_count; i++)
		if (is_key(&r->variables[i], r->fb.data + container.pos, container.count,
			   r->fb.data + name.pos, name.count))
			return i;
	return add_variable(r, &options, &container, &name);
}

/* The file's number of a tensor in a list of @count; NPUMEM_NONE after an error. */
static uint32_t number_at(struct tflite_reader *r, const struct tflite_node *node,
			  const struct flatbuf_vector *list, uint32_t at, uint32_t count,
			  const char *what)
{
	int32_t number = -1;

	if (list->count == count)
		number = flatbuf_vector_i32(&r->fb, list, at);
	else
		flatbuf_fail(&r->fb, -EINVAL, "%s (%s) has %" PRIu32 " %ss, must have %" PRIu32,
			     tflite_place(r->scope, node->number).s, node->type.s, list->count,
			     what, count);
	if (number < 0)
		flatbuf_fail(&r->fb, -EINVAL, "%s (%s) lacks %s %" PRIu32,
			     tflite_place(r->scope, node->number).s, node->type.s, what, at);
	return number < 0 ? NPUMEM_NONE : (uint32_t)number;
}

/* VAR_HANDLE gives nothing but a name: whoever comes first in the subgraph knows it already. */
static void bind_handle(struct tflite_reader *r, const struct tflite_node *node)
{
	struct tflite_scope *scope = r->scope;
	uint32_t output = number_at(r, node, &node->outputs, 0, 1, "output"), variable;
	struct npuplan_tensor tensor;

	if (output == NPUMEM_NONE)
		return;
	if (tflite_describe(r, scope->sub, output, &tensor) != TYPE_RESOURCE ||
	    scope->bound[output])
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s (%s): its output, tensor %" PRIu32 ", cannot be a handle of it",
			     tflite_place(scope, node->number).s, node->type.s, output);
	variable = r->fb.err ? NPUMEM_NONE : find_variable(r, node);
	if (r->fb.err)
		return;
	scope->bound[output] = true;
	scope->values[output].variable = variable;
	if (r->variables[variable].id < 0)
		r->variables[variable].id = (int64_t)(scope->instance * r->tensor_total +
						      scope->sub->first_tensor + output);
}

/* The variable that an operator's first input is a handle of, or NPUMEM_NONE after an error. */
static uint32_t variable_of(struct tflite_reader *r, const struct tflite_node *node,
			    uint32_t inputs)
{
	uint32_t handle = number_at(r, node, &node->inputs, 0, inputs, "input");
	uint32_t variable = NPUMEM_NONE;

	if (handle != NPUMEM_NONE)
		variable = r->scope->values[handle].variable;
	if (variable == NPUMEM_NONE)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s (%s): its first input, tensor %" PRIu32
			     ", is no handle of a variable",
			     tflite_place(r->scope, node->number).s, node->type.s, handle);
	return variable;
}

/* ------------------------------------------------------------------ ahead */

/*
 * Backwards: where each variable is written next. Control flow may write any; so may an assignment
 * whose handle comes from control flow.
 */
static void look_ahead(struct tflite_reader *r, uint32_t *next)
{
	struct tflite_scope *scope = r->scope;
	uint32_t any = NPUMEM_NONE;

	for (uint32_t i = scope->sub->operators.count; i-- > 0 && !r->fb.err;) {
		struct tflite_node node = tflite_node(r, i);
		uint32_t variable = NPUMEM_NONE;
		int32_t handle = node.inputs.count ? flatbuf_vector_i32(&r->fb, &node.inputs, 0) :
						     -1;

		if (handle >= 0)
			variable = scope->values[handle].variable;
		if (node.builtin == BUILTIN_CALL || node.builtin == BUILTIN_IF ||
		    node.builtin == BUILTIN_WHILE)
			any = i;
		else if (node.builtin == BUILTIN_ASSIGN_VARIABLE && variable == NPUMEM_NONE)
			any = i;
		else if (node.builtin == BUILTIN_ASSIGN_VARIABLE)
			next[variable] = i;
		else if (node.builtin == BUILTIN_READ_VARIABLE && variable != NPUMEM_NONE)
			scope->until[i] = next[variable] < any ? next[variable] : any;
	}
}

void tflite_variables_ahead(struct tflite_reader *r)
{
	struct tflite_scope *scope = r->scope;
	uint32_t *next = NULL;
	bool any = false;

	for (uint32_t i = 0; i < scope->sub->operators.count && !r->fb.err; i++) {
		struct tflite_node node = tflite_node(r, i);

		any |= node.builtin == BUILTIN_READ_VARIABLE;
		if (node.builtin == BUILTIN_VAR_HANDLE && !r->fb.err)
			bind_handle(r, &node);
	}
	if (!any || r->fb.err)
		return;
	scope->until = calloc(scope->sub->operators.count, sizeof(*scope->until));
	next = malloc((r->variable_count + (size_t)1) * sizeof(*next));
	if (!scope->until || !next)
		flatbuf_fail(&r->fb, -ENOMEM, "out of memory");
	else
		memset(next, 0xff, (r->variable_count + (size_t)1) * sizeof(*next));
	if (!r->fb.err)
		look_ahead(r, next);
	free(next);
}

/* ------------------------------------------------------------------ values */

/* What a variable's value is like, by the first tensor that it comes from or goes to. */
static void check_value(struct tflite_reader *r, const struct tflite_node *node,
			struct tflite_variable *variable, uint32_t number)
{
	const struct import_text place = tflite_place(r->scope, node->number);
	struct npuplan_tensor value;
	uint8_t type = tflite_describe(r, r->scope->sub, number, &value);

	tflite_check_bytes(r, number, type, &value);
	if (r->fb.err)
		return;
	if (!variable->known) {
		variable->like = value;
		variable->type = type;
		variable->known = true;
	}
	if (variable->type != type)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s (%s): variable '%.80s' has elements of type %u here, %u before",
			     place.s, node->type.s, variable->name.s, type, variable->type);
	if (variable->like.size != value.size)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s (%s): variable '%.80s' has %" PRIu64 " bytes here, %" PRIu64
			     " before",
			     place.s, node->type.s, variable->name.s, value.size,
			     variable->like.size);
}

/* The state that a variable is; NPUMEM_NONE if it has no bytes. */
static uint32_t state_of(struct tflite_reader *r, struct tflite_variable *variable)
{
	struct npuplan_tensor state = variable->like;

	variable->touched = true;
	if (variable->tensor != NPUMEM_NONE || !state.size || r->fb.err)
		return variable->tensor;
	state.id = variable->id;
	state.name = variable->name.s;
	state.kind = NPUMEM_TENSOR_STATE;
	variable->tensor = tflite_add_tensor(r, &state, variable->type);
	return variable->tensor;
}

static int64_t operator_id(const struct tflite_reader *r, const struct tflite_node *node)
{
	return (int64_t)(r->scope->instance * r->operator_total + r->scope->sub->first_operator +
			 node->number);
}

/* Whether the state's bytes are the value for as long as that is read, and by whom. */
static bool can_be_state(const struct tflite_reader *r, const struct tflite_node *node,
			 uint32_t number, uint32_t value)
{
	const struct tflite_subgraph *sub = r->scope->sub;
	const struct npuplan_tensor *tensor = &r->graph->tensors[value];
	const struct tflite_fact *fact = &r->facts[value];

	return tensor->kind == NPUMEM_TENSOR_INTERMEDIATE && !tensor->flags && !fact->carried &&
	       !fact->read && fact->writer == NPUMEM_NONE && !(sub->uses[number] & USE_OUTPUT) &&
	       (sub->last_read[number] == NPUMEM_NONE ||
		sub->last_read[number] < r->scope->until[node->number]);
}

static void read_variable(struct tflite_reader *r, const struct tflite_node *node)
{
	uint32_t number = number_at(r, node, &node->outputs, 0, 1, "output"), state, value;
	uint32_t index = variable_of(r, node, 1);
	struct tflite_name type = node->type;
	struct npuplan_op op = {
		.id = operator_id(r, node),
		.type = type.s,
		.inputs = &state,
		.outputs = &value,
		.input_count = 1,
		.output_count = 1,
		.attrs = { .axis = -1, .groups = 1 },
	};

	if (r->fb.err)
		return;
	check_value(r, node, &r->variables[index], number);
	state = state_of(r, &r->variables[index]);
	value = r->scope->values[number].tensor;
	if (r->fb.err || state == NPUMEM_NONE || value == NPUMEM_NONE)
		return;
	if (can_be_state(r, node, number, value)) {
		struct npuplan_tensor *tensor = &r->graph->tensors[value];

		tensor->flags = NPUMEM_TENSOR_FLAG_ALIAS;
		tensor->alias_of = state;
		r->views++;
		return;
	}
	op.name = r->graph->tensors[value].name;
	tflite_add_op(r, &op);
}

static void assign_variable(struct tflite_reader *r, const struct tflite_node *node)
{
	uint32_t index = variable_of(r, node, 2), number, inputs[2];
	struct tflite_name type = node->type;
	struct npuplan_op op = {
		.id = operator_id(r, node),
		.type = type.s,
		.inputs = inputs,
		.outputs = &inputs[1],
		.input_count = 2,
		.output_count = 1,
		.attrs = { .axis = -1, .groups = 1 },
	};

	if (node->outputs.count)
		flatbuf_fail(&r->fb, -EINVAL, "%s (%s) has %" PRIu32 " outputs, must have 0",
			     tflite_place(r->scope, node->number).s, node->type.s,
			     node->outputs.count);
	if (r->fb.err)
		return;
	number = number_at(r, node, &node->inputs, 1, 2, "input");
	if (number != NPUMEM_NONE)
		check_value(r, node, &r->variables[index], number);
	if (r->fb.err)
		return;
	inputs[0] = r->scope->values[number].tensor;
	inputs[1] = state_of(r, &r->variables[index]);
	if (inputs[0] == NPUMEM_NONE || inputs[1] == NPUMEM_NONE)
		return;
	r->facts[inputs[0]].read = true;
	op.name = r->graph->tensors[inputs[1]].name;
	tflite_add_op(r, &op);
}

/* --------------------------------------------------------------- call once */

/* What CALL_ONCE's subgraph assigns. */
static void learn_sizes(struct tflite_reader *r)
{
	for (uint32_t i = 0; i < r->scope->sub->operators.count && !r->fb.err; i++) {
		struct tflite_node node = tflite_node(r, i);
		uint32_t index, number;

		if (r->fb.err || node.builtin != BUILTIN_ASSIGN_VARIABLE)
			continue;
		index = variable_of(r, &node, 2);
		number = r->fb.err ? NPUMEM_NONE : number_at(r, &node, &node.inputs, 1, 2, "input");
		if (number == NPUMEM_NONE)
			return;
		check_value(r, &node, &r->variables[index], number);
		if (r->variables[index].touched)
			flatbuf_fail(&r->fb, -EOPNOTSUPP,
				     "%s assigns variable '%.80s' once, after others have used it",
				     tflite_place(r->scope, i).s, r->variables[index].name.s);
	}
}

static void call_once(struct tflite_reader *r, const struct tflite_node *node)
{
	struct tflite_subgraph *sub =
		tflite_subgraph_of(r, node, OPTIONS_CALL_ONCE, CALL_ONCE_SUBGRAPH);
	struct tflite_scope *outside = r->scope;
	const struct import_text place = tflite_place(outside, node->number);

	if (!sub)
		return;
	if (r->graph->block_count > 1)
		flatbuf_fail(&r->fb, -EOPNOTSUPP,
			     "%s (%s) stands in or after a loop or branch: when it runs is not "
			     "known",
			     place.s, node->type.s);
	if (sub->active)
		flatbuf_fail(&r->fb, -ELOOP, "%s (%s) runs subgraph %" PRIu32 ", which it is in",
			     place.s, node->type.s, sub->number);
	if (sub->inputs.count || sub->outputs.count || node->inputs.count || node->outputs.count)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s (%s) hands values on, but runs before the first inference",
			     place.s, node->type.s);
	if (r->fb.err)
		return;
	r->scope = tflite_scope_new(r, sub);
	if (r->scope)
		tflite_variables_ahead(r);
	if (r->scope)
		learn_sizes(r);
	tflite_scope_free(r->scope);
	r->scope = outside;
}

void tflite_handle(struct tflite_reader *r, const struct tflite_node *node)
{
	switch (node->builtin) {
	case BUILTIN_READ_VARIABLE:
		read_variable(r, node);
		break;
	case BUILTIN_ASSIGN_VARIABLE:
		assign_variable(r, node);
		break;
	case BUILTIN_CALL_ONCE:
		call_once(r, node);
		break;
	default:
		/* VAR_HANDLE: see tflite_variables_ahead(). */
		break;
	}
}
