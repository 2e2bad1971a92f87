/* SPDX-License-Identifier: MIT */
/* Branches and loops of models, as blocks, edges and carries. */
#include "flow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static void fail(struct import_flow *flow, int err,
						       const char *fmt, ...)
{
	va_list args;

	if (*flow->err)
		return;
	*flow->err = err;
	if (!flow->error)
		return;
	va_start(args, fmt);
	vsnprintf(flow->error->text, sizeof(flow->error->text), fmt, args);
	va_end(args);
}

/* ------------------------------------------------------- what is not in the file */

int64_t import_made_id(struct import_flow *flow)
{
	return -1 - (int64_t)flow->made++;
}

void import_number_made(struct npuplan_graph *graph, int64_t tensors, int64_t ops)
{
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].id < 0)
			graph->tensors[i].id = tensors - 1 - graph->tensors[i].id;
	for (uint32_t i = 0; i < graph->op_count; i++)
		if (graph->ops[i].id < 0)
			graph->ops[i].id = ops - 1 - graph->ops[i].id;
}

static void check_written(struct import_flow *flow, uint32_t tensor)
{
	if (!*flow->err && flow->ops->is_written && !flow->ops->is_written(flow->reader, tensor))
		fail(flow, -EINVAL, "%s is handed on, but nothing has written it",
		     import_tensor_text(&flow->graph->tensors[tensor]).s);
}

/* A tensor for a copy of @from. */
static uint32_t room_for_copy(struct import_flow *flow, uint32_t from, int64_t id)
{
	struct npuplan_tensor like = flow->graph->tensors[from];
	char *name;
	uint32_t to;

	if (asprintf(&name, "%s/copy", like.name) < 0) {
		fail(flow, -ENOMEM, "out of memory");
		return NPUMEM_NONE;
	}
	like.name = name;
	like.id = id;
	like.kind = NPUMEM_TENSOR_INTERMEDIATE;
	like.flags = 0;
	like.fixed_offset = like.alias_offset = 0;
	like.alias_of = NPUMEM_NONE;
	to = flow->ops->add_tensor(flow->reader, &like, from);
	free(name);
	return to;
}

uint32_t import_copy(struct import_flow *flow, uint32_t from, uint32_t to)
{
	char type[] = "copy";
	struct npuplan_op op = {
		.type = type,
		.inputs = &from,
		.outputs = &to,
		.input_count = 1,
		.output_count = 1,
		.attrs = { .axis = -1, .groups = 1 },
	};

	check_written(flow, from);
	if (*flow->err)
		return NPUMEM_NONE;
	op.id = import_made_id(flow);
	if (to == NPUMEM_NONE)
		to = room_for_copy(flow, from, op.id);
	if (*flow->err)
		return NPUMEM_NONE;
	op.name = flow->graph->tensors[to].name;
	flow->ops->add_op(flow->reader, &op);
	return *flow->err ? NPUMEM_NONE : to;
}

/* --------------------------------------------------------------- blocks and edges */

static uint32_t new_block(struct import_flow *flow)
{
	int64_t block = *flow->err ? 0 : npuplan_graph_add_block(flow->graph);

	if (block < 0)
		fail(flow, (int)block, "the graph cannot have more blocks: %s",
		     strerror((int)-block));
	return block < 0 ? 0 : (uint32_t)block;
}

/* The edge's number; 0 after an error. The carries are freed. */
static uint32_t new_edge(struct import_flow *flow, uint32_t from, uint32_t to,
			 struct import_carries *carries)
{
	int64_t edge = 0;

	if (!*flow->err)
		edge = npuplan_graph_add_edge(flow->graph, from, to, carries ? carries->list : NULL,
					      carries ? carries->count : 0);
	if (edge < 0)
		fail(flow, (int)edge, "the graph cannot have more edges: %s", strerror((int)-edge));
	if (carries)
		free(carries->list);
	return edge < 0 ? 0 : (uint32_t)edge;
}

struct import_carries import_new_carries(struct import_flow *flow, uint32_t most)
{
	struct import_carries carries = { malloc((most + (size_t)1) * sizeof(*carries.list)), 0 };

	if (!carries.list)
		fail(flow, -ENOMEM, "out of memory");
	return carries;
}

/*
 * A tensor whose bytes can be handed on along an edge, and have that value. What has no bytes of
 * its own to hand on (a constant, a state, a part of a tensor) is copied first.
 */
static uint32_t carried_from(struct import_flow *flow, uint32_t tensor)
{
	const struct npuplan_tensor *tensors = flow->graph->tensors;
	uint32_t base = npuplan_base_of(flow->graph, tensor), kind = tensors[base].kind;

	if (kind == NPUMEM_TENSOR_PARAMETER || kind == NPUMEM_TENSOR_STATE ||
	    tensors[base].size != tensors[tensor].size)
		return import_copy(flow, tensor, NPUMEM_NONE);
	return base;
}

void import_carry(struct import_flow *flow, struct import_carries *carries, uint32_t from,
		  uint32_t to)
{
	const struct npuplan_tensor *tensors = flow->graph->tensors;

	if (*flow->err || from == to)
		return;
	check_written(flow, from);
	/* Of sparse data shapes say another size than the bytes have. */
	if (tensors[from].size != tensors[to].size)
		fail(flow, -EINVAL,
		     "%s of %" PRIu64 " bytes is handed on as %s of %" PRIu64 " bytes",
		     import_tensor_text(&tensors[from]).s, tensors[from].size,
		     import_tensor_text(&tensors[to]).s, tensors[to].size);
	if (*flow->err)
		return;
	from = carried_from(flow, from);
	if (!*flow->err && from != to)
		carries->list[carries->count++] = (struct npumem_carry){ from, to };
}

void import_decide(struct import_flow *flow, uint32_t condition)
{
	const struct npuplan_graph *graph = flow->graph;
	const struct npuplan_op *last;

	check_written(flow, condition);
	if (*flow->err)
		return;
	last = graph->op_count ? &graph->ops[graph->op_count - 1] : NULL;
	for (uint32_t i = 0; last && last->block == flow->block && i < last->output_count; i++)
		if (last->outputs[i] == condition)
			return;
	import_copy(flow, condition, NPUMEM_NONE);
}

/* ------------------------------------------------------------- branches and loops */

void import_begin_arm(struct import_flow *flow, uint32_t from)
{
	flow->block = new_block(flow);
	new_edge(flow, from, flow->block, NULL);
}

uint32_t import_end_arm(struct import_flow *flow, struct import_carries *carries)
{
	return new_edge(flow, flow->block, NPUMEM_NONE, carries);
}

void import_join(struct import_flow *flow, const uint32_t *edges, uint32_t count)
{
	flow->block = new_block(flow);
	for (uint32_t i = 0; i < count && !*flow->err; i++)
		flow->graph->edges[edges[i]].to = flow->block;
	flow->branches++;
}

uint32_t import_begin_loop(struct import_flow *flow, struct import_carries *carries)
{
	uint32_t before = flow->block;

	flow->block = new_block(flow);
	new_edge(flow, before, flow->block, carries);
	return flow->block;
}

uint32_t import_begin_body(struct import_flow *flow)
{
	uint32_t last = flow->block;

	import_begin_arm(flow, last);
	return last;
}

void import_end_loop(struct import_flow *flow, uint32_t head, uint32_t last,
		     struct import_carries *carries)
{
	new_edge(flow, flow->block, head, carries);
	import_begin_arm(flow, last);
	flow->loops++;
}

void import_end_flow(struct import_flow *flow)
{
	if (!*flow->err && flow->graph->block_count > 1)
		new_edge(flow, flow->block, NPUMEM_NONE, NULL);
}
