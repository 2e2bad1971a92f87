/* SPDX-License-Identifier: MIT */
/* Fixed offsets: tensors that have one lie there whenever they are on chip. */
#pragma once

#include "planners/cosma/model/model.h"

/* cosma_item() - what the packing core is to place for a tensor
 * @alignment: of every address
 *
 * Its instants and its number are the caller's to set. A fixed item has no more alignment than its
 * offset: where only a part of a tensor lies, the tensor's own may be more.
 */
struct npuplan_item cosma_item(const struct npuplan_tensor *tensor, uint32_t alignment);
/** cosma_kept_item() - the same for bytes that are not the planner's */
struct npuplan_item cosma_kept_item(const struct cosma_state *kept);

/* Whether anything has a fixed offset: then items have alignments of their own. */
bool cosma_has_fixed(const struct npuplan_graph *graph, const struct cosma_settings *settings);

/* cosma_check_fixed() - refuse fixed offsets that no plan can keep
 *
 * -EINVAL, naming two tensors that an operator needs at once, or that are on chip at the start, or
 * one of these and bytes that are kept.
 */
int cosma_check_fixed(const struct npuplan_graph *graph, const struct cosma_model *model,
		      const struct cosma_settings *settings, struct npuplan_error *error);
