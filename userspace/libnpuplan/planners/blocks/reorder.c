// SPDX-License-Identifier: MIT
/* Plans of graphs with edges, with the steps of each block in an order that somebody chooses. */
#include "reorder.h"

/* Work units of the search for one block's order, and of that for all, if none are asked for. */
#define BLOCK_WORK 200000000ull
#define ALL_WORK   2000000000ull

/* ------------------------------------------------------------------ orders */

/* A tensor at a fixed offset ends there in every plan. */
static uint64_t fixed_top(const struct npuplan_reordering *r, uint32_t block)
{
	const struct npuplan_flow *flow = &r->flow;
	uint64_t top = 0;

	for (uint32_t i = flow->first_name[block]; i < flow->first_name[block + 1]; i++) {
		const struct npuplan_tensor *tensor = &flow->graph->tensors[flow->names[i].tensor];

		if (tensor->flags & NPUMEM_TENSOR_FLAG_FIXED &&
		    tensor->fixed_offset + tensor->size > top)
			top = tensor->fixed_offset + tensor->size;
	}
	return top;
}

static int order_block(struct npuplan_reordering *r, uint32_t block)
{
	const struct npuplan_options *options = r->problem->options;
	const struct npumem_block *record = &r->flow.graph->blocks[block];
	uint64_t fixed = fixed_top(r, block);
	struct npuplan_block_order found = {
		.options = options,
		.effort = r->problem->effort,
		.work_limit = options->work_limit ?
				      npuplan_effort_work_left(options->work_limit, r->work, 0) :
				      BLOCK_WORK,
		.order = &r->order[record->first_step],
	};
	int err = r->order_block(&r->flow, block, &found);

	for (uint32_t i = 0; i < record->step_count; i++) {
		r->moved |= found.order[i] != i;
		found.order[i] += record->first_step;
	}
	r->work += found.work;
	r->memory_ended |= found.memory_ended;
	if (r->bound < found.bound)
		r->bound = found.bound;
	if (r->bound < fixed)
		r->bound = fixed;
	return err;
}

/* Whether there is nothing left to search with. */
static bool is_over(const struct npuplan_reordering *r)
{
	uint64_t limit = r->problem->options->work_limit;

	return npuplan_effort_ended(r->problem->effort) || r->work >= (limit ? limit : ALL_WORK);
}

/* Find the order of each block; when the limits come, the blocks that are left keep theirs. */
static int find_orders(struct npuplan_reordering *r)
{
	const struct npuplan_graph *graph = r->problem->graph;
	AUTO_HEAP bool *reached = npuplan_calloc(graph->block_count, sizeof(*reached));
	int err = reached ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < r->flow.instance_count && !err; i++)
		reached[r->flow.instances[i].block] = true;
	for (uint32_t b = 0; b < graph->block_count && !err && !is_over(r); b++)
		if (reached[b])
			err = order_block(r, b);
	return err;
}

static int order_graph(struct npuplan_reordering *r)
{
	const struct npuplan_graph *graph = r->problem->graph;
	int err;

	r->ordered = *graph;
	r->ordered.steps = npuplan_malloc((size_t)graph->step_count * sizeof(*graph->steps) + 1);
	r->order = npuplan_malloc((size_t)graph->step_count * sizeof(*r->order) + 1);
	if (!r->ordered.steps || !r->order)
		return -ENOMEM;
	for (uint32_t s = 0; s < graph->step_count; s++)
		r->order[s] = s;
	err = find_orders(r);
	for (uint32_t s = 0; s < graph->step_count; s++)
		r->ordered.steps[s] = graph->steps[r->order[s]];
	return err;
}

/* ------------------------------------------------------------------- plans */

int npuplan_plan_order(struct npuplan_reordering *r, const struct npuplan_graph *graph,
		       struct npuplan_plan **plan, struct npuplan_error *error)
{
	struct npuplan_options options = *r->problem->options;
	struct npuplan_problem problem = {
		.graph = graph,
		.options = &options,
		.alignment = r->problem->alignment,
		.effort = r->problem->effort,
	};
	int err;

	options.arena_budget = 0;
	if (options.work_limit)
		options.work_limit = npuplan_effort_work_left(options.work_limit, r->work, 0);
	err = npuplan_flow_plan(&problem, r->packer, plan, error);
	npuplan_problem_fini(&problem);
	if (!err)
		r->work += (*plan)->info.work;
	return err;
}

/* Plan the order that was found, and take the plan if it is better than @plan. */
static void better(struct npuplan_reordering *r, struct npuplan_plan **plan)
{
	struct npuplan_plan *found = NULL;

	/* Another order may want a copy, or more instances; then the graph's has to do. */
	if (!r->moved || npuplan_effort_ended(r->problem->effort) ||
	    npuplan_plan_order(r, &r->ordered, &found, NULL))
		return;
	if (found->info.arena_size < (*plan)->info.arena_size) {
		struct npuplan_plan *other = *plan;

		for (uint32_t i = 0; i < found->position_count; i++)
			found->positions[i].index = r->order[found->positions[i].index];
		*plan = found;
		found = other;
	}
	npuplan_plan_free(found);
}

void npuplan_reorder(struct npuplan_reordering *r, struct npuplan_plan **plan)
{
	int err;

	r->bound = 0;
	if (npuplan_effort_ended(r->problem->effort))
		return;
	err = npuplan_flow_names(&r->flow, r->problem->graph, NULL);
	if (!err)
		err = npuplan_flow_instances(&r->flow, r->problem->effort, NULL);
	if (!err)
		err = order_graph(r);
	npuplan_flow_fini(&r->flow);
	if (!err && (*plan)->info.arena_size > r->bound)
		better(r, plan);
}

void npuplan_reordering_fini(struct npuplan_reordering *r)
{
	npuplan_free_all(r->ordered.steps, r->order);
}
