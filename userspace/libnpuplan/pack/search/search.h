/* SPDX-License-Identifier: MIT */
/*
 * Exact search for a packing no higher than a given top, of items that are in
 * each other's way where their live ranges overlap.
 *
 * If there is a packing there is one in which no item can be moved down: each
 * lies at 0, on an item below it, or where it is fixed. The search builds these
 * from below. Every unplaced item has a lowest address that it can still have;
 * the floor of a section is the least of these over its unplaced items. In a
 * valley (a run of sections of equal floor, both neighbours higher) either one of
 * the items whose lowest address is the floor lies there, or nobody does and
 * each of these items lies on another unplaced one, or on a fixed one: "waste". Fixed
 * items are obstacles: lowest addresses leap over them, and a section's room is
 * what they leave.
 *
 * When a subtree fails, the search knows a set of items whose lowest addresses
 * alone make it fail. If the last decision moved none of these it is not to
 * blame, and neither are its alternatives: conflict-directed backjumping.
 */
#pragma once

#include "pack/base/units.h"

/** enum npuplan_section_rule - where to branch: the section with the least of */
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

/** enum npuplan_rank_rule - which item first: ties by the next one named */
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

/** enum npuplan_value_rule - items that fit the valley well before the others */
enum npuplan_value_rule {
	NPUPLAN_VALUE_RANK,  /* no */
	NPUPLAN_VALUE_FLUSH, /* flush sides, and tops level with a wall */
	NPUPLAN_VALUE_EXACT, /* tops level with a wall, twice; as wide as the valley */
	NPUPLAN_VALUE_SIDES, /* flush sides */
	NPUPLAN_VALUE_LEVEL, /* tops level with a wall */
};

/*
 * struct npuplan_strategy - one way to search
 * @seed: 0, or else rules are blurred: keys times 1 +- 0.2, differently for each
 * @noise: of NPUPLAN_RANK_INCUMBENT, in bytes
 * @slack_weight, @count_weight: of NPUPLAN_SECTION_BLEND: of slack to the floor; of
 *	an item at the floor to the whole capacity
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

/* -ENOMEM; -E2BIG: beyond what can be searched */
int npuplan_search_new(struct npuplan_search **search, const struct npuplan_units *units);
void npuplan_search_free(struct npuplan_search *search);

/* npuplan_search_run() - look for a packing of at most @top bytes
 * @incumbent: offsets, for NPUPLAN_RANK_INCUMBENT
 * @nodes: give up after so many decisions
 * @at: out: units, per item
 * @run: work is added, and looked at now and then, to stop
 *
 * Returns 1 found; 0 proved that there is none; -EAGAIN gave up; -ENOMEM.
 */
int npuplan_search_run(struct npuplan_search *search, const struct npuplan_strategy *strategy,
		       uint64_t top, const uint64_t *incumbent, uint64_t nodes, int64_t *at,
		       struct npuplan_pack *run);
