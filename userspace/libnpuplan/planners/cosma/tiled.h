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
