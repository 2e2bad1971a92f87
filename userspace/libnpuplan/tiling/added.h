/* SPDX-License-Identifier: MIT */
/* Tensors that a tiling adds to a graph: for one part of another tensor each. */
#pragma once

#include "graph/shape.h"

/* npuplan_add_part() - append a tensor for a part of another one
 * @of: the tensor, one that has a view (npuplan_view())
 * @part: its part, of whole rows if no columns are said
 * @kind: sums have 4 bytes each, whatever the elements of @of have
 *
 * Returns its index. Its name is that of @of, with what it is for and its number among those that
 * were added; its id is the largest of all, plus one. It is an intermediate, as aligned as @of is.
 * -EOVERFLOW: there is no larger id; -E2BIG; -ENOMEM.
 */
int64_t npuplan_add_part(struct npuplan_graph *graph, uint32_t of, const struct npuplan_part *part,
			 enum npuplan_added_kind kind);

/** npuplan_sums_bytes() - bytes of the sums of a part of a tensor that has this view */
uint64_t npuplan_sums_bytes(const struct npuplan_spatial *view, const struct npuplan_part *part);

/* npuplan_drop_added() - the graph without the tensors that were added, which nobody accesses */
void npuplan_drop_added(struct npuplan_graph *graph);
