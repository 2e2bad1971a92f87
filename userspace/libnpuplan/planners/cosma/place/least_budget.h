/* SPDX-License-Identifier: MIT */
/* The least budget of a model: what the operator needs that needs most. */
#pragma once

#include "planners/cosma/model/model.h"

/* cosma_least_budget() - M_R: the least budget with which every operator can run
 * @op: out: of the graph; NPUMEM_NONE if what is on chip at the start needs most
 */
int cosma_least_budget(const struct npuplan_graph *graph, const struct cosma_model *model,
		       uint32_t alignment, uint64_t *budget, uint32_t *op);
