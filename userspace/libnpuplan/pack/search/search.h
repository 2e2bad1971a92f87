/* SPDX-License-Identifier: MIT */
/*
 * The exact search for a packing that is no higher than a given top, of items that conflict if
 * their live ranges overlap.
 *
 * If there is a packing, there is one in which no item can be moved down: each lies at 0, on an
 * item below it, or where it is fixed. The search builds these from below. Every unplaced item has
 * a lowest address that it can still have, and the floor of a section is the least of these over
 * its unplaced items. A valley is neighbouring sections of equal floor whose neighbours on both
 * sides are higher. Either one of the items whose lowest address is its floor lies there, or none
 * does, and each of these items lies on another unplaced one or on a fixed one: that is called
 * waste. Fixed items are obstacles: lowest addresses leap over them, and a section's room is what
 * they leave.
 *
 * When a subtree fails, the search knows a set of items whose lowest addresses alone make it fail.
 * If the last decision has moved none of these, neither it nor an alternative to it changes
 * anything, and the search goes back further. This is conflict-directed backjumping.
 */
#pragma once

#include "pack/base/granules.h"

/*
 * enum npuplan_section_rule - at which section to branch: the one where the number named here is
 * least
 */
enum npuplan_section_rule {
	NPUPLAN_SECTION_FLOOR,		 /* floor */
	NPUPLAN_SECTION_COUNT,		 /* items at the floor, then slack */
	NPUPLAN_SECTION_SLACK,		 /* slack, then items at the floor */
	NPUPLAN_SECTION_WEIGHT,		 /* items at the floor / past failures */
	NPUPLAN_SECTION_FLOOR_COUNT,	 /* floor, items at the floor, slack */
	NPUPLAN_SECTION_PRODUCT_WEIGHT,	 /* slack x items / past failures */
	NPUPLAN_SECTION_FLOOR_SLACK,	 /* floor, slack, items at the floor */
	NPUPLAN_SECTION_PRODUCT_WEIGHT1, /* the same, a full section counts one less */
	NPUPLAN_SECTION_BLEND,		 /* floor, slack and items at the floor, weighted */
	NPUPLAN_SECTION_RULES,
};

/** enum npuplan_rank_rule - which item to try first; of equal ones the second word decides */
enum npuplan_rank_rule {
	NPUPLAN_RANK_WIDTH,	 /* longest; area */
	NPUPLAN_RANK_TOTAL_AREA, /* most bytes live with it; area */
	NPUPLAN_RANK_TOTAL,	 /* most bytes live with it; longest */
	NPUPLAN_RANK_AREA,	 /* largest size times duration */
	NPUPLAN_RANK_SIZE,	 /* largest */
	NPUPLAN_RANK_START,	 /* latest start */
	NPUPLAN_RANK_END,	 /* earliest end */
	NPUPLAN_RANK_INCUMBENT,	 /* lowest in the best packing so far */
};

/** enum npuplan_value_rule - which fits of an item to a valley make it come before the others */
enum npuplan_value_rule {
	NPUPLAN_VALUE_RANK,  /* no */
	NPUPLAN_VALUE_FLUSH, /* flush sides, and tops level with a wall */
	NPUPLAN_VALUE_EXACT, /* tops level with a wall, twice; as wide as the valley */
	NPUPLAN_VALUE_SIDES, /* flush sides */
	NPUPLAN_VALUE_LEVEL, /* tops level with a wall */
};

/*
 * struct npuplan_strategy - one way to search
 * @seed: 0, or a seed: the rules are blurred then, their keys being multiplied by factors between
 *	0.8 and 1.2
 * @noise: for NPUPLAN_RANK_INCUMBENT, in bytes: an offset is blurred by up to a fifth of it
 * @slack_weight, @count_weight: for NPUPLAN_SECTION_BLEND: how many granules of floor one of slack
 *	counts for, and what fraction of the capacity an item at the floor counts for
 */
struct npuplan_strategy {
	uint8_t section_rule;
	uint8_t rank_rule;
	uint8_t value_rule;
	uint32_t seed;
	double noise;
	double slack_weight;
	double count_weight;
};

struct npuplan_search;

/* Prepare searching a problem. -ENOMEM; -E2BIG: the problem is too large to be searched. */
int npuplan_search_new(struct npuplan_search **search, const struct npuplan_granules *granules);
void npuplan_search_free(struct npuplan_search *search);

/* npuplan_search_run() - look for a packing of at most @top bytes
 * @incumbent: the best packing, for NPUPLAN_RANK_INCUMBENT: per item, its address in bytes
 * @nodes: number of decisions after which to give up
 * @at: out: per item, its address in granules
 * @call: the call, to which work is added, and which is asked now and then whether to stop
 *
 * Returns 1: found; 0: proved that there is none; -EAGAIN: given up; -ENOMEM.
 */
int npuplan_search_run(struct npuplan_search *search, const struct npuplan_strategy *strategy,
		       uint64_t top, const uint64_t *incumbent, uint64_t nodes, int64_t *at,
		       struct npuplan_pack *call);
