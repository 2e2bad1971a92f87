/* SPDX-License-Identifier: MIT */
/* What the property tests of COSMA share: random tensors, and a failure that shows its case. */
#pragma once

#include "cosma_oracle.h"
#include "npuplan.h"
#include "property.h"

/* Prints the case's graph and options, and then what is wrong with it. */
#define FAIL(graph, options, ...) (cosma_print_case(graph, options), fail(__VA_ARGS__))

/* Adds a tensor of at most @most bytes, now and then aligned to 2 if @align; returns its number. */
static inline uint32_t draw_tensor(struct npuplan_graph *graph, uint32_t kind, uint32_t most,
				   bool align)
{
	struct npuplan_tensor tensor = {
		.size = draw(1, most),
		.align = align && !draw(0, 3) ? 2 : 1,
		.kind = kind,
		.id = graph->tensor_count,
	};

	return (uint32_t)npuplan_graph_add_tensor(graph, &tensor);
}
