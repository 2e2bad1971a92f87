// SPDX-License-Identifier: MIT
#include "packing.h"

#include <stdlib.h>
#include <string.h>

struct npuplan_plan *npuplan_plan_new(const struct npuplan_problem *problem,
				      const struct npuplan_packing *packing, uint32_t placements,
				      uint32_t positions, uint32_t blocks, uint32_t edges)
{
	struct npuplan_plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return NULL;
	*plan = (struct npuplan_plan){
		.info = {
			.arena_size = packing->top,
			.lower_bound = packing->lower_bound,
			.work = packing->work,
			.alignment = problem->alignment,
			.status = packing->status,
		},
		.placements = calloc((size_t)placements + 1, sizeof(*plan->placements)),
		.entries = calloc((size_t)placements + 1, sizeof(*plan->entries)),
		.positions = calloc((size_t)positions + 1, sizeof(*plan->positions)),
		.blocks = calloc((size_t)blocks + 1, sizeof(*plan->blocks)),
		.edges = calloc((size_t)edges + 1, sizeof(*plan->edges)),
		.position_count = positions,
		.block_count = blocks,
		.edge_count = edges,
		.peak_position = npuplan_instant_position(&problem->live, problem->peak_instant),
		.memory_ended = packing->memory_ended,
	};
	if (!plan->placements || !plan->entries || !plan->positions || !plan->blocks ||
	    !plan->edges) {
		npuplan_plan_free(plan);
		return NULL;
	}
	for (uint32_t i = 0; i < positions; i++)
		plan->positions[i] = (struct npumem_position){
			.kind = NPUMEM_POSITION_STEP,
			.index = i,
			.placement = NPUMEM_NONE,
		};
	plan->blocks[0].position_count = positions;
	return plan;
}

void npuplan_packing_keep(struct npuplan_packing *packing, const uint64_t *offsets, uint64_t top,
			  uint32_t item_count)
{
	if (packing->top <= top)
		return;
	packing->top = top;
	memcpy(packing->offsets, offsets, item_count * sizeof(*offsets));
}

bool npuplan_member_tell(struct npuplan_member *member, uint64_t top, uint64_t lower_bound,
			 uint64_t work)
{
	struct npuplan_packing *best = member->best;

	if (member->bounds && best->lower_bound < lower_bound)
		best->lower_bound = lower_bound;
	return npuplan_effort_tell(member->effort, top < best->top ? top : best->top,
				   best->lower_bound, best->work + work);
}

int npuplan_member_progress(void *context, const struct npuplan_pack_progress *now)
{
	return npuplan_member_tell(context, now->top, now->lower_bound, now->work);
}

bool npuplan_member_over(void *context)
{
	struct npuplan_member *member = context;

	return npuplan_member_tell(member, UINT64_MAX, 0, member->work) ||
	       npuplan_effort_late(member->effort);
}
