// SPDX-License-Identifier: MIT
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "initial.h"
#include "operators.h"
#include "schema.h"

/* The parts one behind the other. */
static int put_together(struct command_maker *m, void **command, size_t *size)
{
	size_t operands = m->head.operand_count * sizeof(*m->operands);
	size_t pieces = m->head.piece_count * sizeof(*m->pieces);
	size_t scales = m->head.scale_count * sizeof(*m->scales);
	size_t attributes = m->head.attribute_count * sizeof(*m->attributes);
	const char *why;
	char *at;
	int err;

	*size = sizeof(m->head) + (operands + 7) / 8 * 8 + pieces + scales +
		(attributes + 7) / 8 * 8;
	at = calloc(1, *size);
	*command = at;
	if (!at)
		return flatbuf_fail(m->fb, -ENOMEM, "out of memory");
	m->head.magic = NPUMEM_COMMAND_MAGIC;
	m->head.version = NPUMEM_COMMAND_VERSION;
	m->head.size = (uint32_t)*size;
	memcpy(at, &m->head, sizeof(m->head));
	at += sizeof(m->head);
	memcpy(at, m->operands, operands);
	at += (operands + 7) / 8 * 8;
	memcpy(at, m->pieces, pieces);
	at += pieces;
	if (scales)
		memcpy(at, m->scales, scales);
	at += scales;
	memcpy(at, m->attributes, attributes);
	/* What the engine would refuse is said here, where it is known whose fault it is. */
	err = engine_check(*command, *size, NULL, &why);
	if (!err)
		return 0;
	free(*command);
	*command = NULL;
	return maker_fail(m, err, "step %s: the engine refuses its command: %s", m->step->name,
			  why);
}

int tflite_command(struct tflite_commands *commands, uint32_t step, void **command, size_t *size,
		   struct npuplan_error *error)
{
	struct npuplan_error own;
	struct command_maker m = {
		.all = commands,
		.fb = &commands->fb,
		.graph = commands->graph,
		.step = &commands->graph->steps[step],
	};
	int err;

	*command = NULL;
	*size = 0;
	m.fb->err = 0;
	m.fb->error = error ? error : &own;
	m.op = &m.graph->ops[m.step->op];
	if (m.op->id < 0 || (uint64_t)m.op->id >= commands->operators.count)
		return maker_fail(&m, -EOPNOTSUPP, "it is not in the file: it runs once more");
	m.table = flatbuf_vector_table(m.fb, &commands->operators, (uint32_t)m.op->id);
	m.options = flatbuf_table(m.fb, &m.table, OPERATOR_OPTIONS);
	m.inputs = flatbuf_vector(m.fb, &m.table, OPERATOR_INPUTS, 4);
	m.outputs = flatbuf_vector(m.fb, &m.table, OPERATOR_OUTPUTS, 4);
	m.builtin = tflite_builtin(m.fb, &commands->codes, &m.table);
	/* Checked as the graph was read. */
	if (m.builtin < 0)
		maker_fail(&m, -EINVAL, "it is of another model");
	if (!m.fb->err)
		maker_run(&m);
	err = m.fb->err ? m.fb->err : put_together(&m, command, size);
	free(m.scales);
	return err;
}

static int begin_variable(struct command_maker *m, const struct npuplan_tensor *t, void *value)
{
	struct flatbuf_vector data = tflite_variable_begins(m->fb, (uint32_t)t->id);

	if (!m->fb->err && data.count != t->size)
		return flatbuf_fail(m->fb, -EOPNOTSUPP,
				    "%s is a resource variable: it does not begin with a constant",
				    import_tensor_text(t).s);
	if (!m->fb->err)
		memcpy(value, m->fb->data + data.pos, t->size);
	return m->fb->err;
}

int tflite_initial_value(struct tflite_commands *commands, uint32_t tensor, void *value,
			 struct npuplan_error *error)
{
	const struct npuplan_tensor *t = &commands->graph->tensors[tensor];
	struct npuplan_error own;
	struct npuplan_op none = { 0 };
	struct command_maker m = {
		.all = commands,
		.fb = &commands->fb,
		.graph = commands->graph,
		.op = &none,
	};
	struct flatbuf_vector data;

	m.fb->err = 0;
	m.fb->error = error ? error : &own;
	data = maker_data_of(&m, tensor);
	if (t->kind == NPUMEM_TENSOR_PARAMETER && data.count == t->size && !m.fb->err) {
		memcpy(value, m.fb->data + data.pos, t->size);
		return 0;
	}
	if (t->kind != NPUMEM_TENSOR_STATE || t->elem_size > 4)
		return flatbuf_fail(m.fb, -EINVAL, "the model says nothing of the value of %s",
				    import_tensor_text(t).s);
	if (maker_tensor_type(&m, tensor) == TYPE_RESOURCE)
		return begin_variable(&m, t, value);
	/* Zero of floats, too, is bytes of zero. */
	int32_t zero = maker_zero_point(&m, tensor);

	for (uint64_t i = 0; t->elem_size && i < t->size / t->elem_size; i++)
		memcpy((char *)value + i * t->elem_size, &zero, t->elem_size);
	return m.fb->err;
}

/* The vectors that are looked into again and again, as read.c has checked them. */
static int open_model(struct tflite_commands *c)
{
	struct flatbuf_table root = flatbuf_root(&c->fb, TFLITE_IDENTIFIER), subgraph;
	struct flatbuf_vector subgraphs = flatbuf_vector(&c->fb, &root, MODEL_SUBGRAPHS, 4);

	if (!subgraphs.count)
		return flatbuf_fail(&c->fb, -EINVAL, "the model has no subgraph");
	subgraph = flatbuf_vector_table(&c->fb, &subgraphs, 0);
	c->codes = flatbuf_vector(&c->fb, &root, MODEL_OPERATOR_CODES, 4);
	c->buffers = flatbuf_vector(&c->fb, &root, MODEL_BUFFERS, 4);
	c->tensors = flatbuf_vector(&c->fb, &subgraph, SUBGRAPH_TENSORS, 4);
	c->operators = flatbuf_vector(&c->fb, &subgraph, SUBGRAPH_OPERATORS, 4);
	c->subgraphs = subgraphs.count;
	return c->fb.err;
}

static int index_tensors(struct tflite_commands *c)
{
	const struct npuplan_graph *graph = c->graph;

	c->index = malloc(((size_t)c->tensors.count + 1) * sizeof(*c->index));
	if (!c->index)
		return flatbuf_fail(&c->fb, -ENOMEM, "out of memory");
	memset(c->index, 0xff, ((size_t)c->tensors.count + 1) * sizeof(*c->index));
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		int64_t id = graph->tensors[t].id;

		/* Those of other subgraphs are none that a command has to do with. */
		if (id >= 0 && (uint64_t)id >= c->tensors.count && c->subgraphs > 1)
			continue;
		if (id < 0 || (uint64_t)id >= c->tensors.count)
			return flatbuf_fail(&c->fb, -EINVAL, "%s is not in the model",
					    import_tensor_text(&graph->tensors[t]).s);
		c->index[id] = t;
	}
	return 0;
}

/* Operators of the first subgraph have its numbers. */
static int check_operators(struct tflite_commands *c)
{
	const struct npuplan_graph *graph = c->graph;

	if (graph->block_count > 1)
		return flatbuf_fail(&c->fb, -EOPNOTSUPP,
				    "graph %s has loops or branches: which way to go an engine's "
				    "commands do not say",
				    graph->name);
	if (graph->added_count)
		return flatbuf_fail(&c->fb, -EOPNOTSUPP,
				    "%s is made %s: an engine has no commands for these",
				    import_tensor_text(&graph->tensors[graph->added[0].of]).s,
				    graph->added[0].kind == NPUPLAN_ADDED_SUMS ? "of partial sums" :
										 "in patches");
	for (uint32_t i = 0; i < graph->op_count && c->subgraphs > 1; i++)
		if ((uint64_t)graph->ops[i].id >= c->operators.count)
			return flatbuf_fail(&c->fb, -EOPNOTSUPP,
					    "%s is not in the model's first subgraph: an engine "
					    "has no commands for others",
					    import_op_text(&graph->ops[i]).s);
	return 0;
}

int tflite_commands_new(const void *model, size_t size, const struct npuplan_graph *graph,
			struct tflite_commands **out, struct npuplan_error *error)
{
	struct npuplan_error own;
	struct tflite_commands *c = calloc(1, sizeof(*c));
	int err;

	*out = NULL;
	if (!c)
		return import_fail(error, -ENOMEM, "out of memory");
	c->fb = (struct flatbuf){ .data = model, .size = size, .error = error ? error : &own };
	c->graph = graph;
	err = open_model(c);
	if (!err)
		err = check_operators(c);
	if (!err)
		err = index_tensors(c);
	if (!err && !graph->step_count)
		err = flatbuf_fail(&c->fb, -EINVAL, "graph %s is not cut into steps", graph->name);
	if (!err && graph->layout != NPUPLAN_NHWC)
		err = flatbuf_fail(&c->fb, -EOPNOTSUPP, "graph %s is laid out as %s", graph->name,
				   npuplan_layout_name(graph->layout));
	if (err)
		tflite_commands_free(c);
	else
		*out = c;
	return err;
}

void tflite_commands_free(struct tflite_commands *commands)
{
	if (!commands)
		return;
	free(commands->index);
	free(commands);
}
