// SPDX-License-Identifier: MIT
/* The transfers of one block, by COSMA's search for the least traffic. */
#include "moves.h"

#include <string.h>

#include "model.h"

/* ------------------------------------------------------------------ the search */

/* Run the search on a model within what the names that stay leave of the budget. */
static int search(const struct npuplan_block_model *m, struct npuplan_block_moves *moves,
		  struct npuplan_cosma_plan *plan)
{
	uint64_t stay = m->units.state_bytes, work = moves->work_limit;
	struct cosma_settings asked;
	AUTO_HEAP uint32_t *order = npuplan_malloc(((size_t)m->step_count + 1) * sizeof(*order));
	int err;

	if (!order)
		return -ENOMEM;
	asked = npuplan_block_settings(m, moves->options, moves->effort,
				       npuplan_effort_work_left(work, moves->work, 0));
	for (uint32_t s = 0; s <= m->step_count; s++)
		order[s] = moves->order && s < m->step_count ? moves->order[s] : s;
	asked.order = order;
	asked.common.schedule = moves->options->schedule == NPUPLAN_SCHEDULE_FREE ?
					NPUPLAN_SCHEDULE_FREE :
					NPUPLAN_SCHEDULE_GIVEN;
	asked.common.arena_budget = moves->budget > stay ? moves->budget - stay : 0;
	err = npuplan_cosma(m->graph, &asked, plan, NULL);
	if (err)
		return err;
	moves->work += plan->work;
	moves->memory_ended |= plan->memory_ended;
	/* What stays alone may be more than the budget. */
	if (moves->budget < stay)
		plan->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
	return 0;
}

/* ------------------------------------------------------------------ moves */

/* Whether a name must not be moved, whatever the search says. */
static bool is_settled(const struct npuplan_flow *flow, const struct npuplan_name *name,
		       const struct npuplan_block_moves *moves)
{
	uint32_t kind = flow->graph->tensors[name->tensor].kind;

	return kind == NPUMEM_TENSOR_STATE || kind == NPUMEM_TENSOR_PARAMETER ||
	       (moves->settled && moves->settled[name->tensor]);
}

/* Whether a unit is a name, all of it. */
static bool is_whole(const struct npuplan_block_model *m, uint32_t u)
{
	const struct cosma_unit *unit = &m->units.unit[u];
	const struct cosma_fragment *fragment = &m->units.fragment[unit->first_fragment];

	return unit->fragment_count == 1 && !fragment->first &&
	       fragment->length == m->straight->tensors[unit->tensor].size;
}

/* Whether a tensor is an output, or has one in it. */
static bool has_output(const struct npuplan_flow *flow, uint32_t tensor)
{
	for (uint32_t t = 0; t < flow->graph->tensor_count; t++)
		if (flow->bases[t] == tensor &&
		    flow->graph->tensors[t].kind == NPUMEM_TENSOR_OUTPUT)
			return true;
	return false;
}

/*
 * Have those names be moved as a whole of which a plan moves parts, or not at all, and not those
 * outputs that it stores while they stay here: plans count the first store of an output as
 * compulsory, which it is not here. Returns whether there are any.
 */
static bool settle(const struct npuplan_block_model *m, const struct npuplan_cosma_plan *plan,
		   uint8_t *roles)
{
	const struct npuplan_name *names = &m->flow->names[m->flow->first_name[m->block]];
	bool any = false;

	for (uint32_t i = 0; i < plan->position_count; i++) {
		uint32_t u = plan->positions[i].index, kind = plan->positions[i].kind, name;

		if (kind == NPUMEM_POSITION_STEP)
			continue;
		name = m->units.unit[u].tensor;
		if (is_whole(m, u) &&
		    (kind != NPUMEM_POSITION_STORE || !has_output(m->flow, names[name].tensor)))
			continue;
		roles[name] = !is_whole(m, u) && npuplan_may_be_whole(m, name) ?
				      NPUPLAN_ROLE_WHOLE :
				      NPUPLAN_ROLE_STAYS;
		any = true;
	}
	return any;
}

static int take_positions(const struct npuplan_block_model *m,
			  const struct npuplan_cosma_plan *plan, struct npuplan_block_moves *moves)
{
	int err = 0;

	for (uint32_t i = 0; i < plan->position_count && !err; i++) {
		struct npumem_position position = plan->positions[i];

		if (position.kind != NPUMEM_POSITION_STEP)
			position.index = m->units.unit[position.index].tensor;
		else if (position.index == m->step_count)
			continue;
		err = npuplan_append(&moves->positions, &moves->position_count, &position, 1);
	}
	return err;
}

/* Search once. @again: out: there are names more that have to stay. */
static int try_moves(const struct npuplan_flow *flow, uint32_t block, uint8_t *roles,
		     struct npuplan_block_moves *moves, bool *again)
{
	struct npuplan_cosma_plan plan = { 0 };
	struct npuplan_block_model m;
	int err = npuplan_block_model_init(&m, flow, block, roles, moves->options->alignment);

	*again = false;
	if (!err)
		err = search(&m, moves, &plan);
	if (!err) {
		*again = settle(&m, &plan, roles);
		moves->status = plan.status;
		moves->traffic = plan.spill + plan.fill;
		moves->least = m.units.state_bytes + plan.needed;
	}
	if (!err && !*again)
		err = take_positions(&m, &plan, moves);
	npuplan_cosma_plan_free(&plan);
	npuplan_block_model_fini(&m);
	return err;
}

int npuplan_move_block(const struct npuplan_flow *flow, uint32_t block,
		       struct npuplan_block_moves *moves)
{
	uint32_t names = npuplan_name_count(flow, block), first = flow->first_name[block];
	AUTO_HEAP uint8_t *roles = npuplan_calloc((size_t)names + 1, sizeof(*roles));
	bool again = true;
	int err = roles ? 0 : -ENOMEM;

	moves->status = NPUMEM_PLAN_STATUS_UNKNOWN;
	for (uint32_t i = 0; i < names && !err; i++)
		roles[i] = is_settled(flow, &flow->names[first + i], moves) ? NPUPLAN_ROLE_STAYS :
									      NPUPLAN_ROLE_LIVES;
	while (!err && again)
		err = try_moves(flow, block, roles, moves, &again);
	return err;
}

void npuplan_block_moves_fini(struct npuplan_block_moves *moves)
{
	npuplan_free(moves->positions);
	moves->positions = NULL;
	moves->position_count = 0;
}

/* ------------------------------------------------------------------ bounds */

static uint8_t bound_role(const struct npuplan_flow *flow, const struct npuplan_name *name,
			  bool left_out)
{
	bool state = flow->graph->tensors[name->tensor].kind == NPUMEM_TENSOR_STATE;

	if (left_out)
		return NPUPLAN_ROLE_LEFT_OUT;
	return state ? NPUPLAN_ROLE_STAYS : NPUPLAN_ROLE_LIVES;
}

/* Search once for a bound, without the names that are left out. */
static int search_bound(const struct npuplan_flow *flow, uint32_t block, const bool *left_out,
			struct npuplan_block_moves *moves, struct npuplan_block_bound *bound)
{
	uint32_t names = npuplan_name_count(flow, block), first = flow->first_name[block];
	AUTO_HEAP uint8_t *roles = npuplan_calloc((size_t)names + 1, sizeof(*roles));
	struct npuplan_cosma_plan plan = { 0 };
	struct npuplan_block_model m = { 0 };
	int err = roles ? 0 : -ENOMEM;

	*bound = (struct npuplan_block_bound){ .step = NPUMEM_NONE };
	for (uint32_t i = 0; i < names && !err; i++)
		roles[i] = bound_role(flow, &flow->names[first + i], left_out[i]);
	/* Addresses of parts may be any, so that alignments do not count. */
	if (!err)
		err = npuplan_block_model_init(&m, flow, block, roles, 0);
	if (!err)
		err = search(&m, moves, &plan);
	if (!err && !m.units.mixed) {
		bound->infeasible = plan.status == NPUMEM_PLAN_STATUS_INFEASIBLE;
		bound->traffic = plan.lower_bound;
		bound->needed = m.units.state_bytes + plan.needed;
		if (plan.needed_op < m.step_count)
			bound->step = plan.needed_op;
	}
	npuplan_cosma_plan_free(&plan);
	npuplan_block_model_fini(&m);
	/* Of what the search does not take nothing is known. */
	return err == -ENOMEM ? err : 0;
}

int npuplan_bound_block(const struct npuplan_flow *flow, uint32_t block,
			struct npuplan_block_moves *moves, struct npuplan_block_bound *bound)
{
	uint32_t names = npuplan_name_count(flow, block);
	AUTO_HEAP bool *once = npuplan_calloc((size_t)names + 1, sizeof(*once));
	AUTO_HEAP bool *every = npuplan_calloc((size_t)names + 1, sizeof(*every));
	bool any;
	int err = once && every ? 0 : -ENOMEM;

	if (!err)
		err = npuplan_leave_out(flow, block, false, once, &any);
	if (!err)
		err = npuplan_leave_out(flow, block, true, every, &any);
	/* A budget is too small if it is in one instance; traffic is in each of them. */
	if (!err)
		err = search_bound(flow, block, once, moves, bound);
	if (err || bound->infeasible || !memcmp(once, every, names * sizeof(*once)))
		return err;
	return search_bound(flow, block, every, moves, bound);
}
