/* SPDX-License-Identifier: MIT */
/*
 * Time instead of bytes: transfers of a plan of npuplan_cosma() begin earlier, or later, so that
 * they run beside steps.
 */
#pragma once

#include "clock.h"
#include "planners/cosma/model/units.h"

/* Limit of the work of one plan, if none is asked for: some seconds. */
#define COSMA_PREFETCH_WORK 500000000ull

/* cosma_prefetch() - move a plan's transfers so that it is over sooner
 * @units: of the graph; its steps are those that @times are of
 * @settings: what @plan was asked with: the budget, what is kept, the alignment
 * @plan: found by npuplan_cosma(); out: its positions and placements are others, unless there is
 *	nothing to gain. Steps keep their order, and what is moved stays the same
 * @effort: of the call; may end it early
 * @makespan: out: picoseconds
 *
 * The plan never takes longer than it did. -ENOMEM.
 */
int cosma_prefetch(const struct cosma_units *units, const struct cosma_settings *settings,
		   const struct npuplan_machine *machine, const uint64_t *times,
		   struct npuplan_effort *effort, struct npuplan_cosma_plan *plan,
		   uint64_t *makespan);
