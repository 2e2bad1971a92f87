/* SPDX-License-Identifier: MIT */
/*
 * A packing problem with conflicts by overlap, in granules instead of bytes.
 *
 * All offsets are multiples of the least alignment, so sizes may be rounded up to it; what this
 * adds above the highest item is taken off again when a top in bytes becomes a capacity in
 * granules. Then everything is divided by the greatest common divisor of all sizes and fixed
 * offsets, the granule. In a packing in which no item can be moved down, every offset is a multiple
 * of it.
 */
#pragma once

#include "call.h"
#include "sections.h"

/*
 * struct npuplan_granules - the problem in granules
 * @problem: the problem in bytes
 * @sections: the sections of its items
 * @granule: bytes of a granule
 * @size: per item, its size in granules
 * @align: per item, its alignment in granules, which is 1 for most
 * @fixed: per item, its fixed offset in granules; -1: it has none
 * @residues: distinct sizes modulo @granule, ascending: the values that a top may have, modulo
 *	@granule
 * @padding: the most bytes that rounding up has added to one item
 * @offsets: scratch array for a packing in bytes
 */
struct npuplan_granules {
	const struct npuplan_pack_problem *problem;
	struct npuplan_sections sections;
	uint64_t granule;
	int64_t *size;
	int64_t *align;
	int64_t *fixed;
	uint64_t *residues;
	uint32_t residue_count;
	uint64_t padding;
	uint64_t *offsets;
	struct npuplan_pool pool;
};

/* Convert the problem of a call. The caller calls npuplan_granules_fini() in any case. -ENOMEM. */
int npuplan_granules_init(struct npuplan_granules *granules, const struct npuplan_pack *call);
void npuplan_granules_fini(struct npuplan_granules *granules);

/*
 * npuplan_granules_prove() - raise the call's bound to the most granules that live in one section,
 * and then to the least top that is possible. -ENOMEM.
 */
int npuplan_granules_prove(const struct npuplan_granules *granules, struct npuplan_pack *call);

/*
 * The least possible top that is not below @top, and the greatest one that is not above it, all in
 * bytes; UINT64_MAX: there is none.
 */
uint64_t npuplan_granules_top_from(const struct npuplan_granules *granules, uint64_t top);
uint64_t npuplan_granules_top_to(const struct npuplan_granules *granules, uint64_t top);

/* Offer a packing in granules to a call. */
void npuplan_granules_offer(const struct npuplan_granules *granules, struct npuplan_pack *call,
			    const int64_t *at);
