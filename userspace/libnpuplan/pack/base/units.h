/* SPDX-License-Identifier: MIT */
/*
 * A packing problem by overlap, in units instead of bytes.
 *
 * All offsets are multiples of the least alignment, so sizes may be rounded up
 * to it: what is lost above the highest item is given back when a top is turned
 * into a capacity. Then everything is divided by what all sizes and fixed
 * offsets have in common. In a packing that nothing can be moved down in, every
 * offset is a multiple of that.
 */
#pragma once

#include "run.h"
#include "sections.h"

/*
 * struct npuplan_units - the problem in units
 * @problem: in bytes
 * @sections: time
 * @unit: bytes
 * @size: per item, units
 * @align: per item, units; 1 for most
 * @fixed: per item: its offset in units, or -1
 * @residues: distinct sizes modulo @unit, ascending: what a top may be, modulo it
 * @padding: most bytes that rounding up has added to one item
 * @offsets: scratch array: of a packing, in bytes
 */
struct npuplan_units {
	const struct npuplan_pack_problem *problem;
	struct npuplan_sections sections;
	uint64_t unit;
	int64_t *size;
	int64_t *align;
	int64_t *fixed;
	uint64_t *residues;
	uint32_t residue_count;
	uint64_t padding;
	uint64_t *offsets;
	struct npuplan_pool pool;
};

/* -ENOMEM */
int npuplan_units_init(struct npuplan_units *units, const struct npuplan_pack *run);
void npuplan_units_fini(struct npuplan_units *units);

/** npuplan_units_bound() - most units live in one section, as a top in bytes */
int npuplan_units_bound(const struct npuplan_units *units, uint64_t *top);

/* Least top no less than, largest no greater than @top (UINT64_MAX: none). */
uint64_t npuplan_units_top_from(const struct npuplan_units *units, uint64_t top);
uint64_t npuplan_units_top_to(const struct npuplan_units *units, uint64_t top);

/* Keep a packing in units if it is better than what there is. */
void npuplan_units_offer(const struct npuplan_units *units, struct npuplan_pack *run,
			 const int64_t *at);
