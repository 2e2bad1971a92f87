/* SPDX-License-Identifier: MIT */
/*
 * Tensors of a tiled graph that are parts of others (docs/tiling.md): those that are joined, and
 * those that the tiling added, for sums in the making and for patches; and which input channels a
 * step adds up. Written from the headers alone, without a line of libnpuplan's.
 */
#pragma once

#include "npuplan.h"

/** int8_joined() - where a tensor lies that is joined; NULL: it has bytes of its own */
const struct npuplan_joined *int8_joined(const struct npuplan_graph *graph, uint32_t tensor);

/** int8_size() - bytes of a tensor, as its shape has them */
uint64_t int8_size(const struct npuplan_graph *graph, uint32_t tensor);

/** int8_locate() - of a tensor's byte the tensor and byte that it is */
void int8_locate(const struct npuplan_graph *graph, uint32_t *tensor, uint64_t *byte);

/* int8_locate_back() - the other way round
 *
 * The byte of @tensor that a byte of its base is; false: it is none.
 */
bool int8_locate_back(const struct npuplan_graph *graph, uint32_t tensor, uint64_t *byte);

/*
 * struct int8_depth - input channels that a step adds up
 * @last: the sums are complete with it
 */
struct int8_depth {
	int64_t first;
	int64_t count;
	bool last;
};

/** int8_depth_of() - what a step adds up, as the tiling says; false: all input channels */
bool int8_depth_of(const struct npuplan_graph *graph, uint32_t step, struct int8_depth *depth);

/* int8_added() - the record of a tensor that the tiling added for @kind; NULL: it did not */
const struct npuplan_added *int8_added(const struct npuplan_graph *graph, uint32_t tensor,
				       enum npuplan_added_kind kind);

/* int8_of_part() - the element of the tensor that an element of its part is for
 * @own: element of the tensor that was added, in the source's order
 * @at: out: element of added->of
 */
void int8_of_part(const struct npuplan_graph *graph, const struct npuplan_added *added,
		  const int64_t *own, int64_t *at);

/** int8_in_part() - the other way round; false: @tensor, which was added, has not that element */
bool int8_in_part(const struct npuplan_graph *graph, uint32_t tensor, const int64_t *at,
		  int64_t *own);
