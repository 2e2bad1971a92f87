// SPDX-License-Identifier: MIT
/*
 * Copies of what edges carry: operators that move a value to other bytes before an edge hands it
 * on, so that a loop whose values would change places need not be unrolled.
 */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"

/*
 * struct copying - a graph that is copied with operators more
 * @old: the graph as it is
 * @graph: the copy
 * @copies: what is copied; @count of them
 * @carries: carries of @old, with what is carried in the end; tensors of @graph
 * @blocks: per edge of @old, the block that its copies stand in; NPUMEM_NONE: it has none
 * @sources, @results: per copy, the tensors of @graph that it reads and writes
 */
struct copying {
	const struct npuplan_graph *old;
	struct npuplan_graph *graph;
	const struct npuplan_carry_copy *copies;
	uint32_t count;
	struct npuplan_error *error;
	struct npumem_carry *carries;
	uint32_t *blocks;
	uint32_t *sources;
	uint32_t *results;
};

/* The carry that a copy is of; NPUMEM_NONE: there is none. */
static uint32_t find_carry(const struct npuplan_graph *graph, const struct npuplan_carry_copy *copy)
{
	const struct npumem_edge *edge;

	if (copy->edge >= graph->edge_count)
		return NPUMEM_NONE;
	edge = &graph->edges[copy->edge];
	for (uint32_t i = edge->first_carry; i < edge->first_carry + edge->carry_count; i++)
		if (graph->tensors[graph->carries[i].to].id == copy->tensor)
			return i;
	return NPUMEM_NONE;
}

static int check_copy(const struct copying *c, const struct npuplan_carry_copy *copy)
{
	const struct npuplan_graph *graph = c->old;
	uint32_t carry = find_carry(graph, copy);
	const struct npuplan_tensor *from;
	char text[96];

	if (carry == NPUMEM_NONE)
		return npuplan_fail(c->error, -EINVAL,
				    copy->edge < graph->edge_count ?
					    "edge %u carries nothing to a tensor with id %lld" :
					    "there is no edge %u, which would carry to tensor %lld",
				    copy->edge, (long long)copy->tensor);
	from = &graph->tensors[graph->carries[carry].from];
	if (from->kind != NPUMEM_TENSOR_PARAMETER && !(from->flags & NPUMEM_TENSOR_FLAG_ALIAS))
		return 0;
	return npuplan_fail(c->error, -EOPNOTSUPP,
			    "%s cannot be copied before edge %u carries it: it is %s",
			    npuplan_tensor_label(graph, graph->carries[carry].from, text),
			    copy->edge,
			    from->kind == NPUMEM_TENSOR_PARAMETER ? "a parameter" : "an alias");
}

static int check_copies(const struct copying *c)
{
	int err = 0;

	if (c->old->step_count)
		return npuplan_fail(
			c->error, -EINVAL,
			"what edges carry is copied only in a graph that is not tiled yet");
	for (uint32_t i = 0; i < c->count && !err; i++)
		err = check_copy(c, &c->copies[i]);
	return err;
}

/* The old blocks, and new ones for edges that are not alone in leaving theirs. */
static int add_blocks(struct copying *c)
{
	const struct npuplan_graph *old = c->old;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	uint32_t *leaving = npuplan_pool_take(&pool, old->block_count, sizeof(*leaving));

	if (pool.failed)
		return -ENOMEM;
	memset(c->blocks, 0xff, old->edge_count * sizeof(*c->blocks));
	for (uint32_t e = 0; e < old->edge_count; e++)
		leaving[old->edges[e].from]++;
	while (c->graph->block_count < old->block_count) {
		int64_t added = npuplan_graph_add_block(c->graph);

		if (added < 0)
			return (int)added;
	}
	for (uint32_t i = 0; i < c->count; i++)
		c->blocks[c->copies[i].edge] = old->edges[c->copies[i].edge].from;
	for (uint32_t e = 0; e < old->edge_count; e++) {
		int64_t added;

		if (c->blocks[e] == NPUMEM_NONE || leaving[old->edges[e].from] == 1)
			continue;
		added = npuplan_graph_add_block(c->graph);
		if (added < 0)
			return (int)added;
		c->blocks[e] = (uint32_t)added;
	}
	return 0;
}

static int add_result(struct copying *c, uint32_t copy, int64_t id)
{
	struct npumem_carry *carry = &c->carries[find_carry(c->old, &c->copies[copy])];
	struct npuplan_tensor tensor = c->graph->tensors[carry->from];
	const char *name = c->old->tensors[c->old->carries[carry - c->carries].from].name;
	int64_t added;

	if (asprintf(&tensor.name, "%s#%lld", name, (long long)id) < 0)
		return -ENOMEM;
	tensor.id = id;
	tensor.kind = NPUMEM_TENSOR_INTERMEDIATE;
	tensor.flags = 0;
	tensor.fixed_offset = 0;
	added = npuplan_graph_add_tensor(c->graph, &tensor);
	free(tensor.name);
	if (added < 0)
		return (int)added;
	c->sources[copy] = carry->from;
	c->results[copy] = carry->from = (uint32_t)added;
	return 0;
}

static int add_tensors(struct copying *c)
{
	const struct npuplan_graph *old = c->old;
	int64_t id = 0;
	int err = 0;

	for (uint32_t t = 0; t < old->tensor_count; t++) {
		int64_t added = npuplan_graph_add_tensor(c->graph, &old->tensors[t]);

		if (added < 0)
			return (int)added;
		id = old->tensors[t].id > id ? old->tensors[t].id : id;
	}
	if (id > INT64_MAX - c->count)
		return -EOVERFLOW;
	for (uint32_t i = 0; i < c->count && !err; i++)
		err = add_result(c, i, ++id);
	return err;
}

static int add_copy_op(struct copying *c, uint32_t copy, int64_t id)
{
	struct npuplan_op op = {
		.type = (char *)(uintptr_t)"copy",
		.inputs = &c->sources[copy],
		.outputs = &c->results[copy],
		.input_count = 1,
		.output_count = 1,
		.block = c->blocks[c->copies[copy].edge],
		.attrs = { .axis = -1, .groups = 1 },
		.id = id,
	};
	char *text, label[96];
	int64_t added;

	npuplan_tensor_label(c->graph, c->results[copy], label);
	if (asprintf(&text, "copy %s", label) < 0)
		return -ENOMEM;
	op.name = text;
	added = npuplan_graph_add_op(c->graph, &op);
	free(text);
	return added < 0 ? (int)added : 0;
}

/* The operators of each block, and the copies that stand behind them. */
static int add_ops(struct copying *c)
{
	const struct npuplan_graph *old = c->old;
	uint32_t next = 0;
	int64_t id = 0, added = 0;
	int err = 0;

	for (uint32_t v = 0; v < old->op_count; v++)
		id = old->ops[v].id > id ? old->ops[v].id : id;
	if (id > INT64_MAX - c->count)
		return -EOVERFLOW;
	for (uint32_t b = 0; b < c->graph->block_count && !err; b++) {
		for (; next < old->op_count && old->ops[next].block == b && added >= 0; next++)
			added = npuplan_graph_add_op(c->graph, &old->ops[next]);
		err = added < 0 ? (int)added : 0;
		for (uint32_t i = 0; i < c->count && !err; i++)
			if (c->blocks[c->copies[i].edge] == b)
				err = add_copy_op(c, i, id + 1 + i);
	}
	return err;
}

static int add_edges(struct copying *c)
{
	const struct npuplan_graph *old = c->old;

	for (int parts = 0; parts < 2; parts++)
		for (uint32_t e = 0; e < old->edge_count; e++) {
			const struct npumem_edge *edge = &old->edges[e];
			const struct npumem_carry *carries = &c->carries[edge->first_carry];
			uint32_t block = c->blocks[e];
			bool split = block != NPUMEM_NONE && block != edge->from;
			int64_t added = 0;

			/* First what has the number that it had, then what leaves new blocks. */
			if (!parts && split)
				added = npuplan_graph_add_edge(c->graph, edge->from, block, NULL,
							       0);
			else if (!parts || split)
				added = npuplan_graph_add_edge(c->graph, parts ? block : edge->from,
							       edge->to, carries,
							       edge->carry_count);
			if (added < 0)
				return (int)added;
		}
	return 0;
}

static int copy_all(struct copying *c)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	const struct npuplan_graph *old = c->old;
	int err;

	c->carries = npuplan_pool_take(&pool, old->carry_count, sizeof(*c->carries));
	c->blocks = npuplan_pool_take(&pool, old->edge_count, sizeof(*c->blocks));
	c->sources = npuplan_pool_take(&pool, c->count, sizeof(*c->sources));
	c->results = npuplan_pool_take(&pool, c->count, sizeof(*c->results));
	c->graph = npuplan_graph_new(old->name);
	if (pool.failed || !c->graph)
		return -ENOMEM;
	for (uint32_t i = 0; i < old->carry_count; i++)
		c->carries[i] = old->carries[i];
	c->graph->source_layout = old->source_layout;
	c->graph->layout = old->layout;
	err = add_blocks(c);
	if (!err)
		err = add_tensors(c);
	if (!err)
		err = add_ops(c);
	return err ? err : add_edges(c);
}

int npuplan_graph_copy_carries(const struct npuplan_graph *graph,
			       const struct npuplan_carry_copy *copies, uint32_t copy_count,
			       struct npuplan_graph **out, struct npuplan_error *error)
{
	struct copying c = { .old = graph, .copies = copies, .count = copy_count, .error = error };
	int err = check_copies(&c);

	*out = NULL;
	if (err)
		return err;
	err = copy_all(&c);
	if (err) {
		npuplan_graph_free(c.graph);
		return npuplan_fail(error, err, "what edges carry cannot be copied: %s",
				    strerror(-err));
	}
	*out = c.graph;
	return 0;
}
