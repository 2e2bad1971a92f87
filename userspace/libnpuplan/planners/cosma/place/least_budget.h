/* SPDX-License-Identifier: MIT */
/* The least budget of a model: the bytes of the operator that needs most. */
#pragma once

#include "planners/cosma/model/model.h"

/* cosma_least_budget() - find M_R, the least budget with which every operator can run
 * @budget: out; with all that is kept
 * @op: out: operator of the graph that needs it; NPUMEM_NONE: what is on chip at the start does
 *
 * -ENOMEM; other errors are the packer's.
 */
int cosma_least_budget(const struct npuplan_graph *graph, const struct cosma_model *model,
		       const struct cosma_settings *settings, uint64_t *budget, uint32_t *op);
