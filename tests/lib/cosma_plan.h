/* SPDX-License-Identifier: MIT */
/*
 * Executes plans that npuplan_plan() made with planner cosma of graphs of whole operators: as plans
 * of npuplan_cosma(), and with host memory byte by byte.
 */
#pragma once

#include "cosma_oracle.h"

/* cosma_plan_run() - true if the plan can be executed
 * @options: what npuplan_cosma() would have been asked for
 *
 * Else oracle->why says why not.
 */
bool cosma_plan_run(struct cosma_oracle *oracle, const struct npuplan_graph *graph,
		    const struct cosma_settings *options, const struct npuplan_plan *plan);
