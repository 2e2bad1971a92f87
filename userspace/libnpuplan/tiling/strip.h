/* SPDX-License-Identifier: MIT */
/*
 * Strips: where the bytes of a tensor lie that has none of its own, but lies in another tensor, its
 * base, in runs at one distance.
 */
#pragma once

#include "graph/shape.h"
#include "parts.h"

/**
 * struct npuplan_strip - where a tensor lies
 * @base: tensor that has its bytes
 * @first: where in the base its first byte lies
 * @run: bytes that lie side by side: all of the tensor, or its bytes are this many times a number
 * @stride: from one run to the next; @run if there is one alone
 */
struct npuplan_strip {
	uint32_t base;
	uint64_t first;
	uint64_t run;
	uint64_t stride;
};

/* npuplan_strip_region() - the bytes of the base that a region of the tensor is
 * @shift: added to the region's offset; the region is within the tensor then
 * @size: bytes of the tensor
 *
 * False: they are no region.
 */
bool npuplan_strip_region(const struct npuplan_strip *strip, uint64_t size, uint64_t shift,
			  const struct npumem_region *region, struct npumem_region *out);

/* npuplan_strip_in() - where a tensor lies that lies in a tensor that lies in another one
 * @inner: of a tensor of @size bytes, in one of @outer_size bytes
 * @outer: of that tensor
 *
 * False: its bytes are not in runs at one distance.
 */
bool npuplan_strip_in(const struct npuplan_strip *inner, uint64_t size,
		      const struct npuplan_strip *outer, uint64_t outer_size,
		      struct npuplan_strip *out);

/* npuplan_part_strips() - where in its whole the parts of an operator lie
 * @op: index of a concat, a split or a slice
 * @parts: what npuplan_parts_of() says of it; its whole is known
 * @strips: out: of each part; their base is the whole
 *
 * Returns enum npuplan_join: NPUPLAN_JOINED, NPUPLAN_JOIN_SHAPE or NPUPLAN_JOIN_BLOCKS.
 */
enum npuplan_join npuplan_part_strips(const struct npuplan_graph *graph, uint32_t op,
				      const struct npuplan_parts *parts,
				      struct npuplan_strip *strips);
