/* SPDX-License-Identifier: MIT */
/* From npuplan_cosma()'s plan of units to a plan of the graph, transfers and all. */
#pragma once

#include "planners/cosma/cosma.h"
#include "planners/cosma/model/units.h"

/* cosma_transfers() - positions, placements, addresses in host memory
 *
 * A position for each step that @found runs, and for each fragment that a transfer moves; a
 * placement for each fragment of each of its placements. Host addresses: each copy has one of
 * its own for as long as it is needed. Those of inputs and parameters, which are
 * there before the first position, and those of outputs, which are there after the
 * last, share theirs with nothing in that time.
 */
int cosma_transfers(const struct cosma_units *units, const struct npuplan_cosma_plan *found,
		    struct npuplan_plan **out, struct npuplan_error *error);
