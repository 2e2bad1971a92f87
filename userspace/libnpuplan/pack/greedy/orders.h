/* SPDX-License-Identifier: MIT */
/* The orders in which first fit places items. */
#pragma once

#include <stdint.h>

/*
 * The greedy orders, a line each: ORDER(value, planner, purpose, key)
 *
 * The line makes the value of enum npuplan_order, the planner and packer of that name
 * (planners/planners.c), and a member of "greedy", "auto" and "exact". Items of the greatest key
 * come first; it is an expression of @item, of its @duration in instants, of its @area (size times
 * duration), and of @sum, which sum_up() in orders.c finds for those orders that look at other
 * items, too.
 *
 * Size, duration and peers are the three of TAA (Tensor Allocation Algorithm); breadth is that of
 * Pisarchyk & Lee (arXiv 2001.03288, section 4). NPUPLAN_BY_START is the order of execution.
 */
#define NPUPLAN_GREEDY_ORDERS(ORDER)                                                              \
	ORDER(NPUPLAN_BY_SIZE, "greedy-size", "first fit, largest tensors first", item->size)     \
	ORDER(NPUPLAN_BY_DURATION, "greedy-duration", "first fit, longest lives first", duration) \
	ORDER(NPUPLAN_BY_PEERS, "greedy-peers",                                                   \
	      "first fit, tensors that live with most others first", sum)                         \
	ORDER(NPUPLAN_BY_BREADTH, "greedy-breadth",                                               \
	      "first fit, tensors of the step with most bytes live first", sum)                   \
	ORDER(NPUPLAN_BY_START, "greedy-start", "first fit, in the order in which lives begin",   \
	      UINT32_MAX - item->start)                                                           \
	ORDER(NPUPLAN_BY_AREA, "greedy-area", "first fit, largest size times life first", area)   \
	ORDER(NPUPLAN_BY_CONFLICTS, "greedy-conflicts",                                           \
	      "first fit, by bytes of others that live meanwhile", sum)

/*
 * enum npuplan_order - rule by which first fit orders the items
 *
 * Between items of one key the larger one comes first, then the earlier one, then the one of lower
 * index.
 */
enum npuplan_order {
/* clang-format off */
#define ORDER_VALUE(order, planner, purpose, key) order,
	NPUPLAN_GREEDY_ORDERS(ORDER_VALUE)
#undef ORDER_VALUE
	/* clang-format on */
	NPUPLAN_ORDER_COUNT,
	/*
	 * Largest first, and between equal ones lower index first, as TFLM's greedy planner has it.
	 */
	NPUPLAN_BY_SIZE_ALONE,
	/*
	 * Largest size times the fourth root of duration first, which is best for tens of
	 * thousands.
	 */
	NPUPLAN_BY_SIZE_DURATION,
};
