// SPDX-License-Identifier: MIT
/* This file divides a graph's steps at break nodes. */
#include "breaks.h"

#include <string.h>

#include "base/sorted.h"

/*
 * struct division - steps that are divided
 * @nodes: break nodes, ascending; @node_count of them
 * @writer: per unit, the step that writes it; NPUMEM_NONE: none does
 * @part: per step, the break node that it is needed for, the first of these; @node_count: none
 * @stack: room for all steps
 * @placed: steps that have a part before @node_count
 */
struct division {
	const struct npuplan_graph *graph;
	const struct npuplan_graph *units;
	struct npuplan_error *error;
	uint32_t *nodes;
	uint32_t node_count;
	uint32_t *writer;
	uint32_t *part;
	uint32_t *stack;
	uint32_t placed;
};

/* Takes the break nodes as they were given; those that make no sense by themselves are refused. */
static int take_nodes(struct division *division, const uint32_t *nodes)
{
	char label[96];

	for (uint32_t i = 0; i < division->node_count; i++) {
		uint32_t s = nodes[i];

		if (s >= division->graph->step_count)
			return npuplan_fail(division->error, -EINVAL,
					    "break nodes: there is no step %u", s);
		if (division->part[s])
			return npuplan_fail(division->error, -EINVAL,
					    "break node '%s' is given twice",
					    npuplan_step_label(division->graph, s, label));
		division->part[s] = 1;
		division->nodes[i] = s;
	}
	npuplan_sort_once32(division->nodes, division->node_count);
	return 0;
}

/* Gives a step a part, unless it has one, and puts it on the stack then. */
static void place(struct division *division, uint32_t s, uint32_t part, uint32_t *depth)
{
	if (division->part[s] != division->node_count)
		return;
	division->part[s] = part;
	division->placed++;
	division->stack[(*depth)++] = s;
}

/* Finds the part that ends with break node @i: all that it depends on, and that no part has. */
static int find_part(struct division *division, uint32_t i)
{
	bool follows = false;
	char one[96], other[96];
	uint32_t depth = 0;

	place(division, division->nodes[i], i, &depth);
	while (depth) {
		const struct npuplan_op *op = &division->units->ops[division->stack[--depth]];

		for (uint32_t k = 0; k < op->input_count; k++) {
			uint32_t from = division->writer[op->inputs[k]];

			if (from == NPUMEM_NONE)
				continue;
			follows |= i && from == division->nodes[i - 1];
			place(division, from, i, &depth);
		}
	}
	if (i && !follows)
		return npuplan_fail(
			division->error, -EINVAL,
			"break nodes '%s' and '%s' do not depend on one another: what runs "
			"between them is not said",
			npuplan_step_label(division->graph, division->nodes[i - 1], one),
			npuplan_step_label(division->graph, division->nodes[i], other));
	if (division->placed == division->graph->step_count)
		return npuplan_fail(division->error, -EINVAL, "nothing runs behind break node '%s'",
				    npuplan_step_label(division->graph, division->nodes[i], one));
	return 0;
}

/*
 * Adds the order of a step and the break node before its part. If a step of the part runs before
 * it, that one is behind the break node, and so is this one. What remains of paths from the break
 * node is a step that reads what it writes.
 */
static int add_pair(const struct division *division, struct cosma_breaks *breaks, uint32_t s)
{
	const struct npuplan_op *op = &division->units->ops[s];
	uint32_t part = division->part[s];
	struct cosma_pair pair = { .after = s };

	if (!part)
		return 0;
	pair.before = division->nodes[part - 1];
	for (uint32_t k = 0; k < op->input_count; k++) {
		uint32_t from = division->writer[op->inputs[k]];

		if (from != NPUMEM_NONE && (division->part[from] == part || from == pair.before))
			return 0;
	}
	return npuplan_append(&breaks->pairs, &breaks->pair_count, &pair, 1);
}

static int divide(struct division *division, struct cosma_breaks *breaks)
{
	uint32_t n = division->graph->step_count, count = 0;
	int err = 0;

	for (uint32_t u = 0; u < division->units->tensor_count; u++)
		division->writer[u] = NPUMEM_NONE;
	for (uint32_t s = 0; s < n; s++) {
		division->part[s] = division->node_count;
		for (uint32_t k = 0; k < division->units->ops[s].output_count; k++)
			division->writer[division->units->ops[s].outputs[k]] = s;
	}
	for (uint32_t i = 0; i < division->node_count && !err; i++)
		err = find_part(division, i);
	for (uint32_t s = 0; s < n && !err; s++)
		err = add_pair(division, breaks, s);
	for (uint32_t i = 0; i <= division->node_count && !err; i++)
		for (uint32_t s = 0; s < n; s++)
			if (division->part[s] == i)
				breaks->order[count++] = s;
	return err;
}

int cosma_breaks_init(struct cosma_breaks *breaks, const struct npuplan_graph *graph,
		      const struct cosma_units *units, const uint32_t *nodes, uint32_t node_count,
		      struct npuplan_error *error)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct division division = {
		.graph = graph,
		.units = units->graph,
		.error = error,
		.nodes = npuplan_pool_take(&pool, node_count, sizeof(uint32_t)),
		.node_count = node_count,
		.writer = npuplan_pool_take(&pool, units->graph->tensor_count, sizeof(uint32_t)),
		.part = npuplan_pool_take(&pool, graph->step_count, sizeof(uint32_t)),
		.stack = npuplan_pool_take(&pool, graph->step_count, sizeof(uint32_t)),
	};
	int err = -ENOMEM;

	memset(breaks, 0, sizeof(*breaks));
	breaks->order = npuplan_malloc(((size_t)graph->step_count + 1) * sizeof(uint32_t));
	if (!pool.failed && breaks->order) {
		err = take_nodes(&division, nodes);
		err = err ? err : divide(&division, breaks);
	}
	if (err)
		cosma_breaks_fini(breaks);
	return err == -ENOMEM ? npuplan_fail(error, err, "out of memory") : err;
}

void cosma_breaks_fini(struct cosma_breaks *breaks)
{
	npuplan_free_all(breaks->pairs, breaks->order);
	memset(breaks, 0, sizeof(*breaks));
}
