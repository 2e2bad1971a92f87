/* SPDX-License-Identifier: MIT */
/* This turns npuplan_cosma()'s plan of units into a plan of the graph, transfers and all. */
#pragma once

#include "planners/cosma/cosma.h"
#include "planners/cosma/model/units.h"

/* cosma_transfers() - make positions, placements and addresses in host memory
 * @found: plan of the units
 * @out: the plan, for npuplan_plan_free()
 *
 * There is a position for each step that @found runs, and for each fragment that a transfer moves,
 * and a placement for each fragment of each placement. Each copy in host memory has an address of
 * its own for as long as it is needed. Copies of inputs and parameters, which are there before the
 * first position, and those of outputs, which are there after the last, share theirs with nothing
 * in that time.
 */
int cosma_transfers(const struct cosma_units *units, const struct npuplan_cosma_plan *found,
		    struct npuplan_plan **out, struct npuplan_error *error);

/* cosma_place_copies() - find addresses in host memory: first fit, largest first
 * @copies: @count of them, from the first instant at which each is needed to the last one. Those
 *	whose tensor is NPUMEM_NONE get no address; the tensors of others are different ones, and
 *	less than @count
 * @host: out: per tensor, the address of its copy
 * @size: out: bytes of host memory
 *
 * Copies that are needed at one time share no cache line. -ENOMEM and others.
 */
int cosma_place_copies(const struct npuplan_item *copies, uint32_t count, uint64_t *host,
		       uint64_t *size, struct npuplan_error *error);
