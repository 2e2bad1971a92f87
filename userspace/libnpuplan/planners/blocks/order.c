// SPDX-License-Identifier: MIT
/* The order of a block's steps, by COSMA's search for the least peak. */
#include "order.h"

#include <string.h>

#include "model.h"
#include "planners/loops/straight.h"

static int search(const struct npuplan_block_model *m, struct npuplan_block_order *found,
		  struct npuplan_cosma_plan *plan)
{
	struct cosma_settings asked =
		npuplan_block_settings(m, found->options, found->effort, found->work_limit);
	int err;

	asked.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	err = npuplan_cosma(m->graph, &asked, plan, NULL);
	if (!err) {
		found->work += plan->work;
		found->memory_ended |= plan->memory_ended;
	}
	return err;
}

/*
 * Run the search once. @order: for the order; @bound: for the bound, of names of which none is that
 * is not sure to be needed.
 */
static int run(const struct npuplan_flow *flow, uint32_t block, const uint8_t *roles, bool order,
	       bool bound, struct npuplan_block_order *found)
{
	struct npuplan_cosma_plan plan = { 0 };
	struct npuplan_block_model m;
	uint32_t count = 0;
	int err = npuplan_block_model_init(&m, flow, block, roles, 0);

	if (!err)
		err = search(&m, found, &plan);
	if (!err && bound && !m.units.mixed)
		found->bound = m.units.state_bytes + plan.lower_bound;
	for (uint32_t i = 0; !err && order && i < plan.position_count; i++)
		if (plan.positions[i].kind == NPUMEM_POSITION_STEP &&
		    plan.positions[i].index < m.step_count)
			found->order[count++] = plan.positions[i].index;
	npuplan_cosma_plan_free(&plan);
	npuplan_block_model_fini(&m);
	return err;
}

/* A block without steps needs what lives in it. */
static uint64_t sum_names(const struct npuplan_flow *flow, uint32_t block, const bool *left_out)
{
	uint32_t first = flow->first_name[block];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < npuplan_name_count(flow, block); i++)
		if (!left_out[i])
			bytes += flow->graph->tensors[flow->names[first + i].tensor].size;
	return bytes;
}

int npuplan_order_block(const struct npuplan_flow *flow, uint32_t block,
			struct npuplan_block_order *found)
{
	uint32_t steps = flow->graph->blocks[block].step_count;
	uint32_t names = npuplan_name_count(flow, block), first = flow->first_name[block];
	AUTO_HEAP bool *left_out = npuplan_calloc((size_t)names + 1, sizeof(*left_out));
	AUTO_HEAP uint8_t *roles = npuplan_calloc((size_t)names + 1, sizeof(*roles));
	bool any = false;
	int err;

	found->bound = 0;
	found->work = 0;
	for (uint32_t i = 0; i < steps; i++)
		found->order[i] = i;
	err = left_out && roles ? npuplan_leave_out(flow, block, false, left_out, &any) : -ENOMEM;
	if (!err && !steps) {
		found->bound = sum_names(flow, block, left_out);
		return 0;
	}
	/* Nothing moves, so that what goes through the block stays there. */
	for (uint32_t i = 0; i < names && !err; i++)
		if (npuplan_straight_kind(&flow->names[first + i]) == NPUMEM_TENSOR_STATE)
			roles[i] = NPUPLAN_ROLE_STAYS;
	if (!err)
		err = run(flow, block, roles, true, !any, found);
	for (uint32_t i = 0; i < names && !err; i++)
		if (left_out[i])
			roles[i] = NPUPLAN_ROLE_LEFT_OUT;
	if (!err && any)
		err = run(flow, block, roles, false, true, found);
	/* What the search does not take keeps its order. */
	return err == -ENOMEM ? err : 0;
}
