/* SPDX-License-Identifier: MIT */
/*
 * Tile scheduling's order of the steps for COSMA, which moves what that order cannot keep.
 */
#pragma once

#include "cosma.h"

/* cosma_ask_tiled() - find the order of lowest peak in which tiles take turns, and ask for it
 * @graph: a straight one, which passes the verifier
 * @options: with the limits of the call
 * @effort: of the call
 * @order: out: all steps of the graph; it has to remain
 * @asked: its schedule becomes @order, and its limits what is left of those of the call
 * @work: out: work units
 *
 * Tensors that start in host memory, and outputs, are outside the arena for that order: they are
 * loaded when they are needed, and stored as they are made. Half of the time, and of the work, is
 * left for the search, but for what single operators take. -ENOMEM.
 */
int cosma_ask_tiled(const struct npuplan_graph *graph, const struct npuplan_options *options,
		    const struct npuplan_effort *effort, uint32_t *order,
		    struct cosma_settings *asked, uint64_t *work, struct npuplan_error *error);

/* cosma_search_turns() - search in any order, and then in tile scheduling's
 * @graph, @options, @effort: as cosma_ask_tiled() has them
 * @units: the graph as COSMA sees it
 * @asked: for npuplan_cosma(): the least traffic, in a free order
 * @plan: out: the better plan; all that is proved holds for any order
 *
 * A quarter of the work, and of the time, is kept for tile scheduling's order. It is not looked for
 * if the first search proves its plan, or that there is none, or if the caller ends it. So the plan
 * is never worse than that of the first search, and where @graph is not cut into tiles it is the
 * plan of npuplan_cosma(). Where memory ends after the first search, its plan remains, with
 * memory_ended. Fails as npuplan_cosma() does.
 */
int cosma_search_turns(const struct npuplan_graph *graph, const struct npuplan_graph *units,
		       const struct npuplan_options *options, const struct npuplan_effort *effort,
		       const struct cosma_settings *asked, struct npuplan_cosma_plan *plan,
		       struct npuplan_error *error);
