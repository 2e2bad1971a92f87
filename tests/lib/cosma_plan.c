// SPDX-License-Identifier: MIT
#include "cosma_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool fail(struct cosma_oracle *oracle, uint32_t position, const char *why)
{
	snprintf(oracle->why, sizeof(oracle->why), "position %u: %s", position, why);
	return false;
}

/* Transfers of whole tensors, from and to the placement in force. */
static bool check_transfer(struct cosma_oracle *oracle, const struct npuplan_graph *graph,
			   const struct npuplan_plan *plan, uint32_t p)
{
	const struct npumem_position *position = &plan->positions[p];
	const struct npumem_placement *placement;

	if (position->index >= graph->tensor_count || position->first ||
	    position->length != graph->tensors[position->index].size)
		return fail(oracle, p, "not a whole tensor");
	if (position->kind == NPUMEM_POSITION_DROP)
		return (position->placement == NPUMEM_NONE && !position->host_offset) ||
		       fail(oracle, p, "a drop goes nowhere");
	if (position->placement >= plan->placement_count)
		return fail(oracle, p, "no placement");
	placement = &plan->placements[position->placement];
	return (placement->tensor == position->index && placement->from <= p &&
		placement->to >= p) ||
	       fail(oracle, p, "another tensor's placement, or not in force");
}

/* Byte by byte: whose host memory is, and what is read from there is what was put there. */
static bool check_host(struct cosma_oracle *oracle, const struct npuplan_plan *plan,
		       uint32_t *owner)
{
	bool good = true;

	for (uint64_t b = 0; b < plan->info.host_size; b++)
		owner[b] = NPUMEM_NONE;
	/* The runtime puts inputs and parameters where the loads say. */
	for (uint32_t p = 0; p < plan->position_count && good; p++) {
		const struct npumem_position *at = &plan->positions[p];

		if (at->kind == NPUMEM_POSITION_STEP || at->kind == NPUMEM_POSITION_DROP)
			continue;
		if (at->host_offset + at->length > plan->info.host_size) {
			good = fail(oracle, p, "beyond host memory");
			break;
		}
		for (uint64_t b = 0; b < at->length && at->kind == NPUMEM_POSITION_LOAD; b++) {
			if (owner[at->host_offset + b] != NPUMEM_NONE)
				good = fail(oracle, p, "two tensors start at one host address");
			owner[at->host_offset + b] = at->index;
		}
	}
	for (uint32_t p = 0; p < plan->position_count && good; p++) {
		const struct npumem_position *at = &plan->positions[p];
		bool writes = at->kind == NPUMEM_POSITION_STORE ||
			      at->kind == NPUMEM_POSITION_SPILL;
		bool reads = at->kind == NPUMEM_POSITION_LOAD || at->kind == NPUMEM_POSITION_FILL;

		for (uint64_t b = at->host_offset; b < at->host_offset + at->length; b++) {
			if (reads && owner[b] != at->index)
				good = fail(oracle, p, "reads host memory of another tensor");
			if (writes)
				owner[b] = at->index;
		}
	}
	/* Stored outputs are still there, and inputs and parameters, for the next inference. */
	for (uint32_t p = 0; p < plan->position_count && good; p++) {
		const struct npumem_position *at = &plan->positions[p];

		if (at->kind != NPUMEM_POSITION_STORE && at->kind != NPUMEM_POSITION_LOAD)
			continue;
		for (uint64_t b = at->host_offset; b < at->host_offset + at->length; b++)
			if (owner[b] != at->index)
				good = fail(oracle, p, "its host copy is overwritten");
	}
	return good;
}

/* The same plan as npuplan_cosma() would say it. */
static bool execute(struct cosma_oracle *oracle, const struct npuplan_graph *graph,
		    const struct cosma_settings *options, const struct npuplan_plan *plan,
		    struct npuplan_cosma_plan *said)
{
	for (uint32_t p = 0; p < plan->position_count; p++) {
		const struct npumem_position *position = &plan->positions[p];

		if (position->kind > NPUMEM_POSITION_STORE)
			return fail(oracle, p, "unknown kind");
		if (position->kind != NPUMEM_POSITION_STEP &&
		    !check_transfer(oracle, graph, plan, p))
			return false;
		said->positions[p] = (struct npumem_position){
			.kind = position->kind,
			.index = position->kind == NPUMEM_POSITION_STEP ?
					 graph->steps[position->index].op :
					 position->index,
		};
	}
	return cosma_oracle_run(oracle, graph, options, said);
}

bool cosma_plan_run(struct cosma_oracle *oracle, const struct npuplan_graph *graph,
		    const struct cosma_settings *options, const struct npuplan_plan *plan)
{
	struct npuplan_cosma_plan said = {
		.status = plan->info.status,
		.position_count = plan->position_count,
		.placement_count = plan->placement_count,
		.positions = calloc((size_t)plan->position_count + 1, sizeof(*said.positions)),
		.placements = plan->placements,
		.peak = plan->info.lower_bound,
		.top = plan->info.arena_size,
		.spill = plan->info.spill_bytes,
		.fill = plan->info.fill_bytes,
		.compulsory = plan->info.load_bytes,
		.lower_bound = plan->cosma ? plan->cosma->traffic_bound : 0,
	};
	uint32_t *owner = malloc((plan->info.host_size + 1) * sizeof(*owner));
	bool good = owner && said.positions;

	if (!good)
		fail(oracle, 0, "out of memory");
	good = good && execute(oracle, graph, options, plan, &said) &&
	       check_host(oracle, plan, owner);
	free(owner);
	free(said.positions);
	return good;
}
