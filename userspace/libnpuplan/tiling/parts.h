/* SPDX-License-Identifier: MIT */
/*
 * Operators that only copy: concats put parts together to a whole, splits and slices take parts out
 * of one. Where the parts lie in the whole is the same question of both.
 */
#pragma once

#include "base/region.h"

/**
 * struct npuplan_parts - what an operator puts together, or takes apart
 * @whole: tensor, or NPUMEM_NONE: it is not known which
 * @parts: tensors; the operator's
 * @count: number of @parts
 * @apart: the operator reads the whole, and writes the parts
 */
struct npuplan_parts {
	uint32_t whole;
	const uint32_t *parts;
	uint32_t count;
	bool apart;
};

/** npuplan_has_parts() - whether an operator is a concat, a split or a slice */
static inline bool npuplan_has_parts(const struct npuplan_op *op)
{
	return npuplan_is_concat(op) || npuplan_is_split(op) || npuplan_is_slice(op);
}

/*
 * npuplan_parts_of() - the whole and the parts of an operator that has some
 *
 * A split's input is the one that is no parameter, since axis and sizes may be inputs, too.
 */
static inline struct npuplan_parts npuplan_parts_of(const struct npuplan_graph *graph, uint32_t op)
{
	const struct npuplan_op *o = &graph->ops[op];
	struct npuplan_parts parts = { NPUMEM_NONE, o->outputs, o->output_count, true };

	if (npuplan_is_concat(o))
		return (struct npuplan_parts){
			.whole = o->output_count == 1 ? o->outputs[0] : NPUMEM_NONE,
			.parts = o->inputs,
			.count = o->input_count,
		};
	for (uint32_t i = 0; i < o->input_count; i++) {
		if (graph->tensors[o->inputs[i]].kind == NPUMEM_TENSOR_PARAMETER)
			continue;
		if (parts.whole != NPUMEM_NONE) {
			parts.whole = NPUMEM_NONE;
			break;
		}
		parts.whole = o->inputs[i];
	}
	return parts;
}
