// SPDX-License-Identifier: MIT
/* Least traffic of graphs with edges: the blocks' transfers, and addresses for all of them. */
#include "traffic.h"

#include <stdlib.h>
#include <string.h>

#include "spill.h"

/* Work units of a search for one block's transfers, if none are asked for. */
#define BLOCK_WORK 200000000ull
/*
 * Budgets that are tried: blocks planned alone may have no addresses together, and in less room
 * they leave some between them.
 */
#define BUDGETS	   8

/*
 * struct traffic_call - one call
 * @moves: per block
 * @settled: per block, one flag for each tensor (npuplan_spill_keeps()); NULL: there is none such
 * @reached: per block, some path comes to it
 * @bound: per block, bytes that no plan moves less than whenever it runs
 * @least: most bytes that a step needs of any block that has transfers, or could
 * @arena: smallest arena of a plan with transfers that was found; UINT64_MAX: none
 */
struct traffic_call {
	struct npuplan_reordering *r;
	struct npuplan_error *error;
	struct npuplan_flow flow;
	struct npuplan_block_moves *moves;
	bool **settled;
	bool *reached;
	uint64_t *bound;
	uint64_t least;
	uint64_t arena;
	struct npuplan_pool pool;
};

/* ------------------------------------------------------------------ bounds */

static int fail_infeasible(struct traffic_call *call, uint32_t block,
			   const struct npuplan_block_bound *bound)
{
	const struct npuplan_graph *graph = call->flow.graph;
	uint64_t budget = call->r->problem->options->arena_budget;
	uint32_t step = bound->step == NPUMEM_NONE ? NPUMEM_NONE :
						     graph->blocks[block].first_step + bound->step;
	char where[128], label[96];

	npuplan_block_label(graph, block, where);
	if (bound->needed <= budget)
		npuplan_fail(call->error, -ENOSPC,
			     "infeasible: no order of the steps of %s has addresses within %llu "
			     "bytes for tensors in one piece; a single step needs at most %llu",
			     where, (unsigned long long)budget, (unsigned long long)bound->needed);
	else if (step != NPUMEM_NONE)
		npuplan_fail(call->error, -ENOSPC,
			     "infeasible: %s needs %llu bytes, the budget is %llu",
			     npuplan_step_label(graph, step, label),
			     (unsigned long long)bound->needed, (unsigned long long)budget);
	else
		npuplan_fail(call->error, -ENOSPC,
			     "infeasible: what enters or leaves %s needs %llu bytes, the budget "
			     "is %llu",
			     where, (unsigned long long)bound->needed, (unsigned long long)budget);
	if (call->error) {
		call->error->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		call->error->step = step;
		call->error->needed = bound->needed;
	}
	return -ENOSPC;
}

static int fail_unknown(struct traffic_call *call)
{
	uint64_t budget = call->r->problem->options->arena_budget;

	if (call->arena == UINT64_MAX)
		return npuplan_fail(call->error, -ENOSPC,
				    "unknown: no plan within %llu bytes was found",
				    (unsigned long long)budget);
	npuplan_fail(call->error, -ENOSPC,
		     "unknown: no plan within %llu bytes was found; with the transfers that were, "
		     "all blocks together need %llu",
		     (unsigned long long)budget, (unsigned long long)call->arena);
	if (call->error)
		call->error->needed = call->arena;
	return -ENOSPC;
}

/* The order of a block's steps, counted in the block, if one was found that counts. */
static uint32_t *take_order(struct traffic_call *call, uint32_t block)
{
	const struct npuplan_reordering *r = call->r;
	const struct npumem_block *record = &call->flow.graph->blocks[block];
	uint32_t *order;

	if (r->problem->options->schedule != NPUPLAN_SCHEDULE_LEAST_PEAK || !r->order)
		return NULL;
	order = npuplan_pool_take(&call->pool, record->step_count, sizeof(*order));
	for (uint32_t i = 0; order && i < record->step_count; i++)
		order[i] = r->order[record->first_step + i] - record->first_step;
	return order;
}

static void ask(struct traffic_call *call, uint32_t block, uint64_t budget)
{
	const struct npuplan_reordering *r = call->r;
	const struct npuplan_options *options = r->problem->options;
	uint64_t limit = options->work_limit;

	call->moves[block] = (struct npuplan_block_moves){
		.options = options,
		.effort = r->problem->effort,
		.work_limit = limit ? npuplan_effort_work_left(limit, r->work, 0) : BLOCK_WORK,
		.budget = budget,
		.order = take_order(call, block),
		.settled = call->settled[block],
		.status = NPUMEM_PLAN_STATUS_UNKNOWN,
	};
}

/* Find the least traffic of each block, and whether there is a block that does not fit. */
static int find_bounds(struct traffic_call *call)
{
	const struct npuplan_graph *graph = call->flow.graph;
	struct npuplan_reordering *r = call->r;

	for (uint32_t b = 0; b < graph->block_count; b++) {
		struct npuplan_block_bound bound;
		int err;

		if (!call->reached[b])
			continue;
		ask(call, b, r->problem->options->arena_budget);
		err = npuplan_bound_block(&call->flow, b, &call->moves[b], &bound);
		r->work += call->moves[b].work;
		r->memory_ended |= call->moves[b].memory_ended;
		if (err)
			return err;
		if (bound.infeasible)
			return fail_infeasible(call, b, &bound);
		call->bound[b] = bound.traffic;
	}
	return 0;
}

/* ------------------------------------------------------------------ plans */

/* Give a block no transfers, and its steps in order. */
static int move_nothing(struct traffic_call *call, uint32_t block)
{
	struct npuplan_block_moves *moves = &call->moves[block];
	int err = 0;

	npuplan_block_moves_fini(moves);
	for (uint32_t i = 0; i < call->flow.graph->blocks[block].step_count && !err; i++) {
		const struct npumem_position step = {
			.kind = NPUMEM_POSITION_STEP,
			.index = moves->order ? moves->order[i] : i,
		};

		err = npuplan_append(&moves->positions, &moves->position_count, &step, 1);
	}
	return err;
}

/*
 * Find the transfers of a block. One for which there are none may fit without: names of one value
 * share bytes, which the search does not know.
 */
static int find_block(struct traffic_call *call, uint32_t block, uint64_t budget)
{
	struct npuplan_block_moves *moves = &call->moves[block];
	struct npuplan_reordering *r = call->r;
	int err;

	npuplan_block_moves_fini(moves);
	ask(call, block, budget);
	err = npuplan_move_block(&call->flow, block, moves);
	r->work += moves->work;
	r->memory_ended |= moves->memory_ended;
	if (err == -ENOMEM)
		return err;
	if (err || (moves->status != NPUMEM_PLAN_STATUS_OPTIMAL &&
		    moves->status != NPUMEM_PLAN_STATUS_FEASIBLE))
		return move_nothing(call, block);
	if (call->least < moves->least)
		call->least = moves->least;
	return 0;
}

/* Find the transfers of all blocks. */
static int find_moves(struct traffic_call *call, uint64_t budget)
{
	int err = 0;

	for (uint32_t b = 0; b < call->flow.graph->block_count && !err; b++)
		if (call->reached[b])
			err = find_block(call, b, budget);
	return err;
}

/* @plan: out: NULL if @graph has none, as one of more instances than may be has none. -ENOMEM. */
static int try_order(struct traffic_call *call, const struct npuplan_graph *graph,
		     struct npuplan_plan **plan)
{
	int err = npuplan_plan_order(call->r, graph, plan, NULL);

	if (err)
		*plan = NULL;
	return err == -ENOMEM ? err : 0;
}

/* Place the graph with the transfers that were found. @plan: out: NULL if that does not fit */
static int place(struct traffic_call *call, struct npuplan_plan **plan)
{
	uint64_t budget = call->r->problem->options->arena_budget;
	struct npuplan_spilling spilling;
	int err = npuplan_spilling_init(&spilling, &call->flow, call->moves);

	if (!err)
		err = try_order(call, spilling.graph, plan);
	if (!err && *plan) {
		if (call->arena > (*plan)->info.arena_size)
			call->arena = (*plan)->info.arena_size;
		if ((*plan)->info.arena_size > budget) {
			npuplan_plan_free(*plan);
			*plan = NULL;
		} else {
			err = npuplan_spilling_back(&spilling, call->flow.graph, *plan,
						    call->error);
		}
	}
	npuplan_spilling_fini(&spilling);
	return err;
}

/* @plan: out: NULL if none was found */
static int find_plan(struct traffic_call *call, struct npuplan_plan **plan)
{
	uint64_t most = call->r->problem->options->arena_budget, budget = most;
	int err = 0;

	*plan = NULL;
	for (uint32_t i = 1; i <= BUDGETS + 1 && !err; i++) {
		err = find_moves(call, budget);
		if (!err)
			err = place(call, plan);
		if (*plan || budget <= call->least ||
		    npuplan_effort_ended(call->r->problem->effort))
			break;
		budget = most - (most - call->least) * i / BUDGETS;
	}
	if (err && *plan) {
		npuplan_plan_free(*plan);
		*plan = NULL;
	}
	return err;
}

/* Have blocks move nothing that they update. @any: out: there is such a name */
static int settle_updates(struct traffic_call *call, bool *any)
{
	const struct npuplan_flow *flow = &call->flow;

	*any = false;
	for (uint32_t b = 0; b < flow->graph->block_count; b++)
		for (uint32_t i = flow->first_name[b]; i < flow->first_name[b + 1]; i++) {
			if (flow->names[i].update == UINT32_MAX)
				continue;
			if (!call->settled[b])
				call->settled[b] = npuplan_pool_take(&call->pool,
								     flow->graph->tensor_count,
								     sizeof(**call->settled));
			if (!call->settled[b])
				return -ENOMEM;
			call->settled[b][flow->names[i].tensor] = true;
			*any = true;
		}
	return 0;
}

/*
 * Find a plan. What blocks update has one place in all of a loop more often if it does not move, so
 * that there may be one then.
 */
static int find_any_plan(struct traffic_call *call, struct npuplan_plan **plan)
{
	bool any = false;
	int err = find_plan(call, plan);

	if (!err && !*plan && !npuplan_effort_ended(call->r->problem->effort))
		err = settle_updates(call, &any);
	if (!err && any) {
		call->least = 0;
		err = find_plan(call, plan);
	}
	return err || *plan ? err : fail_unknown(call);
}

static int judge(const struct traffic_call *call, struct npuplan_plan *plan)
{
	uint64_t traffic = plan->info.spill_bytes + plan->info.fill_bytes;

	plan->cosma = calloc(1, sizeof(*plan->cosma));
	if (!plan->cosma)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->block_count; i++)
		plan->cosma->traffic_bound += call->bound[plan->blocks[i].block];
	plan->info.status = traffic <= plan->cosma->traffic_bound ? NPUMEM_PLAN_STATUS_OPTIMAL :
								    NPUMEM_PLAN_STATUS_FEASIBLE;
	return 0;
}

/* ------------------------------------------------------------------ calls */

/* Note what must not be moved in a block, though the search would. */
static int settle(struct traffic_call *call, uint32_t block)
{
	const struct npuplan_graph *graph = call->flow.graph;
	bool *settled = npuplan_pool_take(&call->pool, graph->tensor_count, sizeof(*settled));

	if (!settled)
		return -ENOMEM;
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		settled[t] = npuplan_spill_keeps(&call->flow, block, t);
	call->settled[block] = settled;
	return 0;
}

static int call_init(struct traffic_call *call)
{
	const struct npuplan_graph *graph = call->r->problem->graph;
	uint32_t blocks = graph->block_count;
	int err = npuplan_flow_names(&call->flow, graph, call->error);

	if (!err)
		err = npuplan_flow_instances(&call->flow, call->r->problem->effort, call->error);
	if (err)
		return err;
	call->moves = npuplan_pool_take(&call->pool, blocks, sizeof(*call->moves));
	call->bound = npuplan_pool_take(&call->pool, blocks, sizeof(*call->bound));
	call->settled = npuplan_pool_take(&call->pool, blocks, sizeof(*call->settled));
	call->reached = npuplan_pool_take(&call->pool, blocks, sizeof(*call->reached));
	if (call->pool.failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < call->flow.instance_count; i++)
		call->reached[call->flow.instances[i].block] = true;
	return settle(call, 0);
}

int npuplan_plan_traffic(struct npuplan_reordering *r, struct npuplan_plan **plan,
			 struct npuplan_error *error)
{
	struct traffic_call call = { .r = r, .error = error, .arena = UINT64_MAX };
	int err = call_init(&call);

	*plan = NULL;
	if (!err)
		err = find_bounds(&call);
	if (!err)
		err = find_any_plan(&call, plan);
	if (!err)
		err = judge(&call, *plan);
	for (uint32_t b = 0; call.moves && b < r->problem->graph->block_count; b++)
		npuplan_block_moves_fini(&call.moves[b]);
	npuplan_pool_free(&call.pool);
	npuplan_flow_fini(&call.flow);
	if (err && *plan) {
		npuplan_plan_free(*plan);
		*plan = NULL;
	}
	if (err == -ENOMEM)
		npuplan_fail(error, err, "out of memory");
	return err;
}
