// SPDX-License-Identifier: MIT
/* This file makes one plan of those that cores have in one order. */
#include <string.h>

#include "base/sorted.h"
#include "cores.h"

/*
 * struct joining - the plan in the making
 * @at: per core, its next position
 * @position: per core and position, that of the whole
 */
struct joining {
	const struct cosma_cores *cores;
	const struct cosma_cores_plan *found;
	struct npuplan_cosma_plan *plan;
	uint32_t at[NPUPLAN_CORES];
	uint32_t *position[NPUPLAN_CORES];
};

static int add_position(struct joining *joining, uint32_t kind, uint32_t index)
{
	struct npuplan_cosma_plan *plan = joining->plan;
	struct npumem_position position = { .kind = kind, .index = index };

	return npuplan_append(&plan->positions, &plan->position_count, &position, 1);
}

/* Adds a core's transfers up to its next step. */
static int add_transfers(struct joining *joining, uint32_t c)
{
	const struct npuplan_cosma_plan *own = &joining->found->plan[c];
	uint32_t *at = &joining->at[c];
	int err = 0;

	for (;
	     *at < own->position_count && own->positions[*at].kind != NPUMEM_POSITION_STEP && !err;
	     ++*at) {
		joining->position[c][*at] = joining->plan->position_count;
		err = add_position(joining, own->positions[*at].kind,
				   joining->cores->core[c].unit_of[own->positions[*at].index]);
	}
	return err;
}

/* Adds a step, before it what its core and that where a copy reads move before it. */
static int add_step(struct joining *joining, uint32_t s)
{
	uint32_t from = joining->cores->from_core[s], to = joining->cores->core_of[s];
	int err = add_transfers(joining, from);

	if (!err && to != from)
		err = add_transfers(joining, to);
	if (err)
		return err;
	joining->position[from][joining->at[from]++] = joining->plan->position_count;
	if (to != from)
		joining->position[to][joining->at[to]++] = joining->plan->position_count;
	return add_position(joining, NPUMEM_POSITION_STEP, s);
}

/* Adds a core's placements, in its range. */
static int add_placements(struct joining *joining, uint32_t c)
{
	const struct cosma_core *core = &joining->cores->core[c];
	const struct npuplan_cosma_plan *own = &joining->found->plan[c];
	struct npuplan_cosma_plan *plan = joining->plan;

	for (uint32_t i = 0; i < own->placement_count; i++) {
		struct npumem_placement placement = own->placements[i];

		placement.tensor = core->unit_of[placement.tensor];
		placement.from = joining->position[c][placement.from];
		placement.to = joining->position[c][placement.to];
		placement.offset += core->base;
		if (npuplan_append(&plan->placements, &plan->placement_count, &placement, 1))
			return -ENOMEM;
	}
	plan->top = core->base + own->top > plan->top ? core->base + own->top : plan->top;
	plan->spill += own->spill;
	plan->fill += own->fill;
	plan->compulsory += own->compulsory;
	return 0;
}

/* Whether placement @i ends with a step that puts an output in its place. */
static bool is_taken(const struct joining *joining, const uint32_t *first, uint32_t i)
{
	const struct npuplan_cosma_plan *plan = joining->plan;
	const struct cosma_units *units = joining->cores->units;
	const struct npumem_placement *placement = &plan->placements[i];
	const struct npumem_position *at = &plan->positions[placement->to];
	size_t k = npuplan_bisect(j, 0, units->takeover_count, units->takeovers[j].op < at->index);

	for (; at->kind == NPUMEM_POSITION_STEP && k < units->takeover_count &&
	       units->takeovers[k].op == at->index;
	     k++) {
		uint32_t output = first[units->takeovers[k].output];

		if (units->takeovers[k].input == placement->tensor && output != NPUMEM_NONE &&
		    plan->placements[output].from == placement->to &&
		    plan->placements[output].offset == placement->offset)
			return true;
	}
	return false;
}

/*
 * Finds the most bytes on chip at once. A step first has its inputs on chip; when it stores, what
 * it writes, and no longer what lay in its place.
 */
static int find_peak(struct joining *joining)
{
	struct npuplan_cosma_plan *plan = joining->plan;
	const struct npuplan_graph *units = joining->cores->units->graph;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	int64_t *change =
		npuplan_pool_take(&pool, 2 * ((size_t)plan->position_count + 1), sizeof(*change));
	uint32_t *first = npuplan_pool_take(&pool, units->tensor_count, sizeof(*first));
	int64_t now = 0;

	if (pool.failed)
		return -ENOMEM;
	memset(first, 0xff, units->tensor_count * sizeof(*first));
	for (uint32_t i = plan->placement_count; i-- > 0;)
		first[plan->placements[i].tensor] = i;
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];
		uint32_t writer = joining->cores->writer[placement->tensor];
		const struct npumem_position *from = &plan->positions[placement->from];
		bool written = from->kind == NPUMEM_POSITION_STEP && from->index == writer;
		int64_t size = (int64_t)units->tensors[placement->tensor].size;

		change[2 * placement->from + written] += size;
		change[2 * placement->to + (is_taken(joining, first, i) ? 1 : 2)] -= size;
	}
	for (uint32_t k = 0; k < 2 * plan->position_count; k++) {
		now += change[k];
		plan->peak = now > (int64_t)plan->peak ? (uint64_t)now : plan->peak;
	}
	return 0;
}

int cosma_cores_join(const struct cosma_cores *cores, const struct cosma_cores_plan *found,
		     struct npuplan_cosma_plan *plan)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct joining joining = { .cores = cores, .found = found, .plan = plan };
	int err = 0;

	memset(plan, 0, sizeof(*plan));
	for (uint32_t c = 0; c < cores->count; c++)
		joining.position[c] = npuplan_pool_take(&pool, found->plan[c].position_count,
							sizeof(**joining.position));
	if (pool.failed)
		return -ENOMEM;
	for (uint32_t p = 0; p < cores->units->graph->op_count && !err; p++)
		err = add_step(&joining, found->order[p]);
	for (uint32_t c = 0; c < cores->count && !err; c++) {
		err = add_transfers(&joining, c);
		err = err ? err : add_placements(&joining, c);
	}
	err = err ? err : find_peak(&joining);
	if (err)
		npuplan_cosma_plan_free(plan);
	plan->work = found->work;
	plan->memory_ended = found->memory_ended;
	return err;
}
