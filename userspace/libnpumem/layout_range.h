/* SPDX-License-Identifier: MIT */
/* Lists of ranges in the making: the answer to where bytes of one tensor lie. */
#pragma once

#include "layout.h"

/**
 * struct ranges - ranges of one tensor, or of several in turn, in any order
 * @list: the ranges
 * @count: number of @list
 * @tensor: that was asked for, perhaps an alias
 * @base: the tensor that has its bytes
 * @begin: its first byte in @base
 * @end: the byte after its last one in @base
 * @failed: there was no memory for a range
 */
struct ranges {
	struct npumem_range *list;
	uint32_t count;
	uint32_t tensor;
	uint32_t base;
	uint64_t begin;
	uint64_t end;
	bool failed;
};

/* ranges_of() - no ranges yet of a tensor of the layout */
struct ranges ranges_of(const struct npumem_layout *layout, uint32_t tensor);

/*
 * ranges_add() - bytes lie somewhere, as far as they are the tensor's
 * @first: first byte in the base
 * @placement: or NPUMEM_NONE
 */
void ranges_add(struct ranges *ranges, uint32_t memory, uint32_t placement, uint64_t first,
		uint64_t length, uint64_t offset);

/* ranges_add_placed() - bytes [@first, @first + @length) of the base that a placement has */
void ranges_add_placed(struct ranges *ranges, const struct npumem_layout *layout,
		       uint32_t placement, uint64_t first, uint64_t length);

/* ranges_cut() - bytes of the base do not lie anywhere any more */
void ranges_cut(struct ranges *ranges, uint64_t first, uint64_t length);

/* ranges_take() - add all that @other has; it is given up */
void ranges_take(struct ranges *ranges, struct ranges *other);

/* ranges_complete() - what @other has and @ranges has not is added; @other is given up */
void ranges_complete(struct ranges *ranges, struct ranges *other);

/* ranges_finish() - in order, and joined where they follow one another */
void ranges_finish(struct ranges *ranges);
