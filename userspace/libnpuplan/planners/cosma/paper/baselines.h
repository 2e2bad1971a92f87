/* SPDX-License-Identifier: MIT */
/* Linear allocation with replacement, which the paper compares with. */
#pragma once

#include "planners/cosma/model/stays.h"

/* cosma_linear() - run a schedule's order with TFLite's linear allocation
 * @schedule: its order is taken; what is away is filled in
 * @options: budget, alignment, and what is kept
 * @stays: out, with addresses; the caller calls cosma_stays_fini()
 *
 * -ENOSPC: an operator's tensors do not fit even alone, because of their alignments
 * or fixed offsets. -ENOMEM
 */
int cosma_linear(const struct npuplan_graph *graph, struct cosma_schedule *schedule,
		 const struct cosma_settings *options, enum npuplan_cosma_policy policy,
		 struct cosma_stays *stays);
