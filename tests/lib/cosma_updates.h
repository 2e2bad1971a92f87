/* SPDX-License-Identifier: MIT */
/*
 * Updates in place in a random graph of operators, for property tests of COSMA: an output that must
 * lie where an input does, since it is the same bytes, a version later. The same graph with one
 * tensor for all versions is what planners take.
 */
#pragma once

#include "npuplan.h"
#include "planners/cosma/cosma.h"
#include "property.h"

#define UPDATES_MAX_TAKEOVERS 32
#define UPDATES_MAX_PAIRS     64

/*
 * struct cosma_updates - what makes operators of a graph updates
 * @takeovers: of all operators in place, as settings have them; those of updates are bound
 * @pairs: who reads the old version runs before its update
 * @count: bound takeovers
 */
struct cosma_updates {
	struct npuplan_cosma_takeover takeovers[UPDATES_MAX_TAKEOVERS];
	struct cosma_pair pairs[UPDATES_MAX_PAIRS];
	uint32_t takeover_count;
	uint32_t pair_count;
	uint32_t count;
};

static inline bool updates_reads(const struct npuplan_op *op, uint32_t t)
{
	bool reads = false;

	for (uint32_t k = 0; k < op->input_count; k++)
		reads |= op->inputs[k] == t;
	return reads;
}

/* Whether a bound takeover has the tensor as its input, or (@output) as its output. */
static inline bool updates_has(const struct cosma_updates *updates, uint32_t t, bool output)
{
	bool has = false;

	for (uint32_t i = 0; i < updates->takeover_count; i++) {
		const struct npuplan_cosma_takeover *takeover = &updates->takeovers[i];

		has |= takeover->bound && (output ? takeover->output : takeover->input) == t;
	}
	return has;
}

static inline void updates_add(struct cosma_updates *updates,
			       struct npuplan_cosma_takeover takeover)
{
	if (updates->takeover_count == UPDATES_MAX_TAKEOVERS)
		fail("too many takeovers");
	updates->takeovers[updates->takeover_count++] = takeover;
}

/* Whether operator @v may update @x: no operator behind it reads that, and its bytes may change. */
static inline bool updates_may(const struct cosma_updates *updates,
			       const struct npuplan_graph *graph, uint32_t v, uint32_t x,
			       bool inputs)
{
	uint32_t kind = graph->tensors[x].kind;

	for (uint32_t u = v + 1; u < graph->op_count; u++)
		if (updates_reads(&graph->ops[u], x))
			return false;
	return ((inputs && kind == NPUMEM_TENSOR_INPUT) || kind == NPUMEM_TENSOR_INTERMEDIATE) &&
	       !updates_has(updates, x, false);
}

/* Makes output @y of operator @v a new version of its input @x. */
static inline void updates_bind(struct cosma_updates *updates, struct npuplan_graph *graph,
				uint32_t v, uint32_t x, uint32_t y)
{
	graph->tensors[y].size = graph->tensors[x].size;
	graph->tensors[y].align = graph->tensors[x].align;
	graph->ops[v].attrs.inplace = false;
	updates_add(updates, (struct npuplan_cosma_takeover){
				     .op = v, .input = x, .output = y, .bound = true });
	for (uint32_t u = 0; u < v; u++) {
		if (!updates_reads(&graph->ops[u], x))
			continue;
		if (updates->pair_count == UPDATES_MAX_PAIRS)
			fail("too many pairs");
		updates->pairs[updates->pair_count++] = (struct cosma_pair){ u, v };
	}
	updates->count++;
}

/* Lists what operators that work in place without updates may take, behind the bound takeovers. */
static inline void updates_list_inplace(struct cosma_updates *updates,
					const struct npuplan_graph *graph, uint32_t v)
{
	const struct npuplan_op *op = &graph->ops[v];
	uint32_t x = op->inputs[0], y = op->outputs[0];

	if (op->attrs.inplace && graph->tensors[x].kind != NPUMEM_TENSOR_PARAMETER &&
	    graph->tensors[x].size == graph->tensors[y].size)
		updates_add(updates,
			    (struct npuplan_cosma_takeover){ .op = v, .input = x, .output = y });
}

/*
 * cosma_updates_draw() - make up to @most outputs updates of inputs
 * @graph: sizes and alignments of such outputs are their inputs'; such operators do not work in
 *	place otherwise. In some graphs inputs are updated, too, which planners do not take
 */
static inline void cosma_updates_draw(struct cosma_updates *updates, struct npuplan_graph *graph,
				      uint32_t most)
{
	bool inputs = !draw(0, 5);

	*updates = (struct cosma_updates){ 0 };
	/* Takeovers come by rising operator; what an output becomes its own updates see. */
	for (uint32_t v = 0; v < graph->op_count; v++) {
		const struct npuplan_op *op = &graph->ops[v];

		for (uint32_t k = 0; k < op->input_count; k++) {
			uint32_t y = op->outputs[draw(0, op->output_count - 1)];

			if (updates->count < most && draw(0, 2) && !updates_has(updates, y, true) &&
			    updates_may(updates, graph, v, op->inputs[k], inputs))
				updates_bind(updates, graph, v, op->inputs[k], y);
		}
		updates_list_inplace(updates, graph, v);
	}
}

/* Fixes all versions of a tensor where the first one is fixed, or none. */
static inline void cosma_updates_fix(const struct cosma_updates *updates,
				     struct npuplan_graph *graph)
{
	for (uint32_t i = 0; i < updates->takeover_count; i++) {
		const struct npuplan_tensor *x = &graph->tensors[updates->takeovers[i].input];
		struct npuplan_tensor *y = &graph->tensors[updates->takeovers[i].output];

		if (!updates->takeovers[i].bound)
			continue;
		y->flags &= ~(uint32_t)NPUMEM_TENSOR_FLAG_FIXED;
		y->flags |= x->flags & NPUMEM_TENSOR_FLAG_FIXED;
		y->fixed_offset = x->fixed_offset;
	}
}

/*
 * cosma_updates_merge() - make a graph in which all versions are one tensor
 *
 * NULL if an input is updated, which no graph may have. The caller frees it.
 */
static inline struct npuplan_graph *cosma_updates_merge(const struct cosma_updates *updates,
							const struct npuplan_graph *graph)
{
	struct npuplan_graph *merged = npuplan_graph_new(graph->name);
	uint32_t *into = calloc((size_t)graph->tensor_count + 1, sizeof(*into));
	bool updated_input = false;

	if (!merged || !into)
		fail("out of memory");
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		into[t] = NPUMEM_NONE;
		for (uint32_t i = 0; i < updates->takeover_count; i++)
			if (updates->takeovers[i].bound && updates->takeovers[i].output == t)
				into[t] = into[updates->takeovers[i].input];
		if (into[t] == NPUMEM_NONE) {
			into[t] = merged->tensor_count;
			npuplan_graph_add_tensor(merged, &graph->tensors[t]);
			continue;
		}
		updated_input |= merged->tensors[into[t]].kind == NPUMEM_TENSOR_INPUT;
		merged->tensors[into[t]].kind = graph->tensors[t].kind;
	}
	for (uint32_t v = 0; v < graph->op_count; v++) {
		struct npuplan_op op = graph->ops[v];
		uint32_t tensors[16];

		if (op.input_count + op.output_count > 16)
			fail("operator %u has too many tensors", v);
		for (uint32_t k = 0; k < op.input_count; k++)
			tensors[k] = into[op.inputs[k]];
		for (uint32_t k = 0; k < op.output_count; k++)
			tensors[op.input_count + k] = into[op.outputs[k]];
		op.inputs = tensors;
		op.outputs = tensors + op.input_count;
		if (npuplan_graph_add_op(merged, &op) < 0)
			fail("add_op");
	}
	free(into);
	if (!updated_input)
		return merged;
	npuplan_graph_free(merged);
	return NULL;
}
