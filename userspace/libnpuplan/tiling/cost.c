// SPDX-License-Identifier: MIT
#include "cost.h"

#include <stdlib.h>
#include <string.h>

#include "graph/operations.h"
#include "join.h"
#include "patches.h"

/*
 * Memory is read and written in bursts of so many bytes. Each chunk of consecutive bytes costs one
 * burst more, to begin with.
 */
#define BURST 64

static bool same(const struct npumem_region *a, const struct npumem_region *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void npuplan_operands_init(struct npuplan_operands *o, const struct npuplan_partition *p,
			   struct npuplan_pool *pool)
{
	uint32_t count = npuplan_operand_count(p->op) + p->sums;

	*o = (struct npuplan_operands){
		.p = p,
		.count = count,
		.regions = npuplan_pool_take(pool, count, sizeof(*o->regions)),
		.before = npuplan_pool_take(pool, count, sizeof(*o->before)),
		.counted = npuplan_pool_take(pool, count, sizeof(*o->counted)),
	};
}

void npuplan_operands_set(struct npuplan_operands *o, uint64_t index)
{
	struct npumem_region *before = o->regions;

	o->regions = o->before;
	o->before = before;
	o->index = index;
	npuplan_tile_regions(o->p, index, o->regions);
}

void npuplan_operands_count(struct npuplan_operands *o)
{
	for (uint32_t i = 0; i < o->count; i++) {
		o->counted[i] = true;
		if (npuplan_operand_is_sums(o, i))
			continue;
		for (uint32_t k = 0; k < i && o->counted[i]; k++)
			o->counted[i] = npuplan_operand(o->p->op, k) !=
						npuplan_operand(o->p->op, i) ||
					!same(&o->regions[k], &o->regions[i]);
	}
}

bool npuplan_operand_is_new(const struct npuplan_operands *o, uint32_t operand)
{
	return !o->index || !same(&o->regions[operand], &o->before[operand]);
}

uint64_t npuplan_operand_cost(const struct npuplan_operands *o, uint32_t operand)
{
	uint64_t bytes = chunks_bytes(&o->regions[operand]), chunks = 1;

	if (!bytes || npuplan_operand_is_sums(o, operand))
		return 0;
	/* Parameters are constant, so a compiler lays out each tile in one chunk. */
	if (!npuplan_operand_is_parameter(o, operand))
		chunks = bytes / o->regions[operand].length;
	bytes /= chunks;
	return chunks * ((bytes + BURST - 1) / BURST + 1) * BURST;
}

static void count_step(const struct npuplan_operands *o, const bool *streamed,
		       struct npuplan_tile_cost *cost)
{
	struct npuplan_tile_report *report = &cost->report;
	uint64_t onchip = 0, most = 0;
	uint32_t largest = NPUMEM_NONE;
	bool of_sums = false;

	for (uint32_t i = 0; i < o->count; i++) {
		uint64_t bytes = chunks_bytes(&o->regions[i]);
		bool output = npuplan_operand_is_output(o, i), sums = npuplan_operand_is_sums(o, i);
		bool is_new = npuplan_operand_is_new(o, i);

		/* An operand that is both read and written is on chip once, and is moved twice. */
		if (output || (o->counted[i] && is_new))
			cost->transfers += npuplan_operand_cost(o, i);
		if (output)
			report->outputs += bytes;
		if (!o->counted[i])
			continue;
		if (!output && !sums && is_new)
			*(npuplan_operand_is_parameter(o, i) ? &report->weights :
							       &report->inputs) += bytes;
		bytes *= streamed[i] ? 2 : 1;
		onchip += bytes;
		if (bytes > most) {
			most = bytes;
			of_sums = sums;
			largest = sums ? o->p->op->outputs[0] : npuplan_operand(o->p->op, i);
		}
	}
	if (!o->index || onchip > report->onchip) {
		report->onchip = onchip;
		cost->step = o->index;
		cost->tensor = largest;
		cost->of_sums = of_sums;
		cost->tensor_bytes = most;
	}
}

static int find_cost(const struct npuplan_partition *p, bool double_buffer,
		     struct npuplan_tile_cost *cost)
{
	uint64_t steps = npuplan_partition_steps(p);
	struct npuplan_pool pool = { 0 };
	struct npuplan_operands o;
	bool *streamed;
	int err;

	*cost = (struct npuplan_tile_cost){
		.report = {
			.op = (uint32_t)(p->op - p->graph->ops),
			.rows = p->rows,
			.channels = p->channels,
			.columns = p->columns,
			.depth = p->depth,
			.order = p->order,
			.steps = steps,
		},
	};
	if (steps > npuv_default_limits.max_accesses)
		return -E2BIG;
	npuplan_operands_init(&o, p, &pool);
	streamed = npuplan_pool_take(&pool, o.count, sizeof(*streamed));
	/* Which operands change from step to step is known once all steps have been seen. */
	for (uint64_t step = 0; step < steps && !pool.failed && double_buffer; step++) {
		npuplan_operands_set(&o, step);
		for (uint32_t i = 0; i < o.count; i++)
			streamed[i] |= step && npuplan_operand_is_new(&o, i);
	}
	for (uint64_t step = 0; step < steps && !pool.failed; step++) {
		npuplan_operands_set(&o, step);
		npuplan_operands_count(&o);
		count_step(&o, streamed, cost);
	}
	err = pool.failed ? -ENOMEM : 0;
	npuplan_pool_free(&pool);
	return err;
}

int npuplan_choice_cost(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			const struct npuplan_tile_choice *choice, struct npuplan_tile_cost *cost)
{
	struct npuplan_partition p;

	npuplan_partition_init(&p, graph, choice->op, 0);
	npuplan_partition_set(&p, choice);
	return find_cost(&p, tiling->double_buffer, cost);
}

/* Report how an operator is cut, as its own choice or else the tiling of the graph says. */
static int report_op(const struct npuplan_graph *graph, uint32_t op,
		     struct npuplan_tile_report *report)
{
	struct npuplan_tile_cost cost;
	struct npuplan_partition p;
	int err;

	npuplan_partition_of(&p, graph, &graph->tiling, op);
	err = find_cost(&p, graph->tiling.double_buffer, &cost);
	*report = cost.report;
	report->operations = npuplan_operations(graph, op);
	if (npuplan_patches_of(&graph->tiling, op)) {
		*report = (struct npuplan_tile_report){ 0 };
		npuplan_report_patches(graph, op, report);
	}
	/* The least that can be moved is each byte once, as the operator does in one step. */
	npuplan_partition_whole(&p, graph, op);
	if (!err)
		err = find_cost(&p, false, &cost);
	report->least = cost.report.inputs + cost.report.weights + cost.report.outputs;
	return err;
}

/* Whether a part of the operator is joined, so that its steps are copies of others, or none. */
static bool is_joined(const struct npuplan_graph *graph, uint32_t op)
{
	for (uint32_t i = 0; i < graph->concat_input_count; i++)
		if (graph->concat_inputs[i].op == op &&
		    graph->concat_inputs[i].join == NPUPLAN_JOINED)
			return true;
	return false;
}

/* Report the copies of an operator some of whose parts are joined. */
static void report_copies(const struct npuplan_graph *graph, uint32_t op,
			  struct npuplan_tile_report *report)
{
	*report = (struct npuplan_tile_report){ .op = op };
	for (uint32_t s = 0; s < graph->step_count; s++) {
		const struct npuplan_step *step = &graph->steps[s];
		uint64_t bytes;

		if (step->op != op)
			continue;
		bytes = chunks_bytes(
			&graph->tiles[graph->accesses[step->first_access].tile].region);
		report->steps++;
		report->inputs += bytes;
		report->outputs += bytes;
		report->least += 2 * bytes;
		report->onchip = 2 * bytes > report->onchip ? 2 * bytes : report->onchip;
	}
}

int npuplan_tiling_report(const struct npuplan_graph *graph, struct npuplan_tile_report **reports,
			  struct npuplan_error *error)
{
	const struct npuplan_tiling *tiling = &graph->tiling;
	struct npuplan_graph apart = *graph;
	int err = 0;

	if (!tiling->bands && !tiling->rows && !tiling->onchip)
		return npuplan_fail(error, -EINVAL, "graph %s is not tiled, or not known how",
				    graph->name);
	*reports = calloc(graph->op_count + (size_t)1, sizeof(**reports));
	/* Operators are cut by tensors that have bytes of their own. */
	apart.tensors = npuplan_tensors_apart(graph);
	if (!*reports || !apart.tensors)
		err = -ENOMEM;
	for (uint32_t i = 0; i < graph->op_count && !err; i++)
		if (is_joined(graph, i))
			report_copies(graph, i, &(*reports)[i]);
		else
			err = report_op(&apart, i, &(*reports)[i]);
	free(apart.tensors);
	if (!err)
		return 0;
	free(*reports);
	*reports = NULL;
	return npuplan_fail(error, err, "out of memory");
}
