/* SPDX-License-Identifier: MIT */
/*
 * Concats, splits and slices without a copy: inputs of concats are placed as parts of outputs,
 * outputs of splits and slices as parts of inputs.
 */
#pragma once

#include "base/internal.h"

/* npuplan_join_concats() - let parts of concats, splits and slices lie in the whole
 * @graph: tiled
 * @fit: those alone for which no more bytes are live at once (NPUPLAN_CONCAT_FIT)
 *
 * Steps then access the whole instead; an operator all of whose parts lie there has no step, and
 * others have one for each part that is copied, or for each of its tiles. graph->joined and
 * graph->concat_inputs say what became of which tensor. -ENOMEM: the graph has no steps then.
 */
int npuplan_join_concats(struct npuplan_graph *graph, bool fit, struct npuplan_error *error);

/* npuplan_part_joined() - the tensors of a graph are again what they were before */
void npuplan_part_joined(struct npuplan_graph *graph);

/*
 * The tensors of a graph as they were before concats were joined, which the caller frees: their
 * names are the graph's. NULL: out of memory.
 */
struct npuplan_tensor *npuplan_tensors_apart(const struct npuplan_graph *graph);
