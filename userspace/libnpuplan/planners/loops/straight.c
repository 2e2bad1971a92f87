// SPDX-License-Identifier: MIT
/* A block of a graph with edges, as a straight graph of its own. */
#include "straight.h"

#include <stdlib.h>

/*
 * struct straight - the graph of one block in the making
 * @graph: its tensor i is the block's i-th name, and after those come external ones, which no
 *	conflict is about, but the steps that access them are there
 * @tensors: per tensor of the flow's graph, its tensor in @graph; NPUMEM_NONE: none yet
 */
struct straight {
	const struct npuplan_flow *flow;
	struct npuplan_graph *graph;
	uint32_t *tensors;
};

static int add_tensor(struct straight *s, uint32_t tensor, uint32_t kind, uint32_t flags)
{
	const struct npuplan_tensor *t = &s->flow->graph->tensors[tensor];
	const struct npuplan_tensor copy = {
		.name = t->name,
		.size = t->size,
		.align = t->align,
		.kind = kind,
		.flags = flags,
	};
	int64_t index = npuplan_graph_add_tensor(s->graph, &copy);

	if (index < 0)
		return (int)index;
	s->tensors[tensor] = (uint32_t)index;
	return 0;
}

uint32_t npuplan_straight_kind(const struct npuplan_name *name)
{
	if (name->live_in)
		return name->live_out || name->update != UINT32_MAX ? NPUMEM_TENSOR_STATE :
								      NPUMEM_TENSOR_INPUT;
	return name->live_out ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE;
}

static int add_access(struct straight *s, const struct npumem_access *from,
		      struct npumem_access *to)
{
	const struct npuplan_graph *graph = s->flow->graph;
	const struct npumem_tile *tile = &graph->tiles[from->tile];
	const struct npuplan_tensor *tensor = &graph->tensors[tile->tensor];
	struct npumem_region region = tile->region;
	uint32_t base = s->flow->bases[tile->tensor];
	int64_t added;
	int err = 0;

	if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS)
		region.offset += tensor->alias_offset;
	if (s->tensors[base] == NPUMEM_NONE)
		err = add_tensor(s, base, NPUMEM_TENSOR_STATE, NPUMEM_TENSOR_FLAG_EXTERNAL);
	if (err)
		return err;
	added = npuplan_graph_add_tile(s->graph, s->tensors[base], &region);
	if (added < 0)
		return (int)added;
	*to = *from;
	to->tile = (uint32_t)added;
	return 0;
}

static int add_step(struct straight *s, uint32_t index)
{
	const struct npuplan_graph *graph = s->flow->graph;
	const struct npuplan_step *from = &graph->steps[index];
	const struct npuplan_step step = { .flags = from->flags, .op = NPUMEM_NONE };
	AUTO_HEAP struct npumem_access *accesses =
		npuplan_malloc((size_t)from->access_count * sizeof(*accesses) + 1);
	int64_t added;
	int err = accesses ? 0 : -ENOMEM;

	for (uint32_t a = 0; a < from->access_count && !err; a++)
		err = add_access(s, &graph->accesses[from->first_access + a], &accesses[a]);
	if (err)
		return err;
	added = npuplan_graph_add_step(s->graph, &step, accesses, from->access_count);
	return added < 0 ? (int)added : 0;
}

static int make_graph(struct straight *s, uint32_t block)
{
	const struct npumem_block *record = &s->flow->graph->blocks[block];
	int err = 0;

	s->graph = npuplan_graph_new(s->flow->graph->name);
	if (!s->graph)
		return -ENOMEM;
	for (uint32_t i = s->flow->first_name[block]; i < s->flow->first_name[block + 1] && !err;
	     i++)
		err = add_tensor(s, s->flow->names[i].tensor,
				 npuplan_straight_kind(&s->flow->names[i]), 0);
	for (uint32_t i = 0; i < record->step_count && !err; i++)
		err = add_step(s, record->first_step + i);
	return err;
}

int npuplan_straight_graph(const struct npuplan_flow *flow, uint32_t block,
			   struct npuplan_graph **graph)
{
	size_t tensors = flow->graph->tensor_count;
	struct straight s = {
		.flow = flow,
		.tensors = malloc(tensors * sizeof(*s.tensors) + 1),
	};
	int err = s.tensors ? 0 : -ENOMEM;

	for (size_t i = 0; i < tensors && !err; i++)
		s.tensors[i] = NPUMEM_NONE;
	if (!err)
		err = make_graph(&s, block);
	free(s.tensors);
	*graph = s.graph;
	return err;
}
