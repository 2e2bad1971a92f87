/* SPDX-License-Identifier: MIT */
/* Addresses of stays: the packing core, within the budget. */
#pragma once

#include "planners/cosma/model/run.h"
#include "planners/cosma/model/stays.h"

/* cosma_addresses() - place stays
 * @stays: the offset of each is set; of those outside @first..@last to 0
 * @capacity: bytes; 0: as low as can be
 * @first, @last: only stays at these instants, cut to them
 * @last_op: operator at @last, of which its inputs may make room for its outputs although
 *	the stays have them stay: then what is proved is so whatever follows. NPUMEM_NONE:
 *	the stays are all there is
 * @work_limit: of the packing core
 * @status: out: enum npuplan_pack_status
 *
 * Returns 0 or -ENOMEM; other errors are the packer's.
 */
int cosma_addresses(const struct npuplan_graph *graph, const struct cosma_model *model,
		    struct cosma_stays *stays, uint64_t capacity, uint32_t first, uint32_t last,
		    uint32_t last_op, uint64_t work_limit, struct cosma_run *run, uint32_t *status);

/* Whether the packing core has given them addresses; @status is its enum npuplan_pack_status. */
static inline bool cosma_is_placed(uint32_t status)
{
	return status == NPUPLAN_PACK_FEASIBLE || status == NPUPLAN_PACK_OPTIMAL;
}

/* cosma_steps() - the schedule as positions, from stays with their addresses
 * @plan: positions, placements, peak, top and traffic are filled in
 */
int cosma_steps(const struct npuplan_graph *graph, const struct cosma_schedule *schedule,
		const struct cosma_stays *stays, struct npuplan_cosma_plan *plan);
