/* SPDX-License-Identifier: MIT */
/*
 * Addresses of stays, found by the packing core within the budget; and the schedule that has them.
 */
#pragma once

#include "planners/cosma/model/call.h"
#include "planners/cosma/model/stays.h"

/* cosma_addresses() - place stays
 * @stays: the offset of each is set; it is 0 for those outside @first..@last
 * @capacity: bytes; 0: as low as can be
 * @first, @last: only stays at these timesteps are placed, cut to them
 * @last_op: operator at @last, whose inputs may make room for its outputs although the stays keep
 *	them: then what is proved is so whatever follows. NPUMEM_NONE: nothing follows the stays
 * @work_limit: of the packing core
 * @status: out: enum npumem_plan_status
 *
 * Returns 0 or -ENOMEM; other errors are the packer's.
 */
int cosma_addresses(const struct npuplan_graph *graph, const struct cosma_model *model,
		    struct cosma_stays *stays, uint64_t capacity, uint32_t first, uint32_t last,
		    uint32_t last_op, uint64_t work_limit, struct cosma_call *call,
		    uint32_t *status);

/* Whether the packing core has given addresses; @status is its enum npumem_plan_status. */
static inline bool cosma_is_placed(uint32_t status)
{
	return status == NPUMEM_PLAN_STATUS_FEASIBLE || status == NPUMEM_PLAN_STATUS_OPTIMAL;
}

/* cosma_steps() - write a schedule as positions, from stays with their addresses
 * @plan: positions, placements, peak, top and traffic are filled in
 *
 * -ENOMEM
 */
int cosma_steps(const struct npuplan_graph *graph, const struct cosma_schedule *schedule,
		const struct cosma_stays *stays, struct npuplan_cosma_plan *plan);
