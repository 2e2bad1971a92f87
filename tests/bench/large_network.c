// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "large_network.h"
#include "random.h"

static uint32_t add_tensor(struct npuplan_graph *graph, uint32_t kind, uint64_t random)
{
	struct npuplan_tensor tensor = {
		.size = 1000 + (random >> 33) % 9000,
		.align = 1,
		.kind = kind,
		.id = graph->tensor_count,
	};

	return (uint32_t)npuplan_graph_add_tensor(graph, &tensor);
}

struct npuplan_graph *large_network(const char *shape, uint32_t ops)
{
	struct npuplan_graph *graph = npuplan_graph_new(shape);
	uint64_t state = 20261121, random = state;

	if (!graph)
		return NULL;
	add_tensor(graph, NPUMEM_TENSOR_INPUT, random);
	for (uint32_t v = 0; v < ops; v++) {
		uint32_t inputs[3] = { v }, output;
		struct npuplan_op op = {
			.inputs = inputs, .outputs = &output, .input_count = 1, .output_count = 1
		};
		uint32_t kind = v + 1 < ops ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT;

		random = random_next(&state);
		if (*shape == 'l') {
			inputs[0] = v > 1 ? v - 1 : 0;
			inputs[1] = v;
			op.input_count = v % 2 && v > 1 ? 2 : 1;
		} else if (*shape == 'r') {
			op.input_count = 1 + (random >> 60) % 3;
			for (uint32_t k = 0; k < op.input_count; k++) {
				uint64_t draw = random >> (10 + 11 * k);
				uint32_t back = v < 20 ? v + 1 : 20;

				/* Mostly what was made lately. */
				inputs[k] = draw % 3 ? v - (uint32_t)(draw >> 2) % back :
						       (uint32_t)(draw >> 2) % (v + 1);
			}
		}
		op.id = v;
		output = add_tensor(graph, kind, random);
		npuplan_graph_add_op(graph, &op);
	}
	return graph;
}

/*
 * struct repetition - a graph that grows by bodies
 * @number: per tensor of the body, its number in the graph
 * @room: for the inputs or outputs of any operator of the body
 * @first, @last: the body's first input and first output; NPUMEM_NONE: there is none
 */
struct repetition {
	const struct npuplan_graph *body;
	struct npuplan_graph *graph;
	uint32_t *number;
	uint32_t *room;
	uint32_t first;
	uint32_t last;
};

static uint32_t find_kind(const struct npuplan_graph *graph, uint32_t kind)
{
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].kind == kind)
			return t;
	return NPUMEM_NONE;
}

/* Adds the tensors of body number @bodies, of which @more come. */
static void add_tensors(struct repetition *made, uint32_t bodies, bool more, bool shared)
{
	const struct npuplan_tensor *tensors = made->body->tensors;
	uint32_t link = bodies ? made->number[made->last] : 0;

	for (uint32_t t = 0; t < made->body->tensor_count; t++) {
		struct npuplan_tensor tensor = tensors[t];

		tensor.id = made->graph->tensor_count;
		if (t == made->last && more) {
			tensor.kind = NPUMEM_TENSOR_INTERMEDIATE;
			tensor.size = tensors[made->first].size;
		}
		if (bodies && t == made->first)
			made->number[t] = link;
		else if (!bodies || !shared || tensor.kind != NPUMEM_TENSOR_INPUT)
			made->number[t] = (uint32_t)npuplan_graph_add_tensor(made->graph, &tensor);
	}
}

static void add_op(struct repetition *made, const struct npuplan_op *of)
{
	struct npuplan_op op = *of;

	op.id = made->graph->op_count;
	op.inputs = made->room;
	op.outputs = made->room + op.input_count;
	for (uint32_t k = 0; k < op.input_count; k++)
		op.inputs[k] = made->number[of->inputs[k]];
	for (uint32_t k = 0; k < op.output_count; k++)
		op.outputs[k] = made->number[of->outputs[k]];
	npuplan_graph_add_op(made->graph, &op);
}

struct npuplan_graph *large_network_of(const struct npuplan_graph *body, uint32_t ops, bool shared)
{
	struct repetition made = {
		.body = body,
		.graph = npuplan_graph_new(body->name),
		.number = calloc((size_t)body->tensor_count + 1, sizeof(uint32_t)),
		.first = find_kind(body, NPUMEM_TENSOR_INPUT),
		.last = find_kind(body, NPUMEM_TENSOR_OUTPUT),
	};
	size_t most = 1;

	for (uint32_t v = 0; v < body->op_count; v++) {
		size_t operands = (size_t)body->ops[v].input_count + body->ops[v].output_count;

		most = operands > most ? operands : most;
	}
	made.room = calloc(most, sizeof(*made.room));
	if (made.first == NPUMEM_NONE || made.last == NPUMEM_NONE || !body->op_count ||
	    !made.graph || !made.number || !made.room) {
		npuplan_graph_free(made.graph);
		made.graph = NULL;
	}
	for (uint32_t bodies = 0; made.graph && made.graph->op_count < ops; bodies++) {
		add_tensors(&made, bodies, made.graph->op_count + body->op_count < ops, shared);
		for (uint32_t v = 0; v < body->op_count; v++)
			add_op(&made, &body->ops[v]);
	}
	free(made.number);
	free(made.room);
	return made.graph;
}
