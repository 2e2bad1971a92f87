/* SPDX-License-Identifier: MIT */
/*
 * TAA's exact form: forbidden displacements, found from the live ranges of single bytes.
 *
 * Two atoms that live at once forbid the displacements at which they share a byte, which are an
 * open interval. F of two tensors is the union of these over all pairs of their atoms. It says at
 * once what algorithm 1 of the paper (paper/tensor_allocate.h) looks for by shifting.
 */
#pragma once

#include "staircases.h"

/* struct npuplan_intervals - a list of intervals that grows */
struct npuplan_intervals {
	struct npuplan_interval *at;
	size_t count;
	uint32_t capacity;
};

/*
 * npuplan_intervals_unite() - sort the intervals from @from on, and join those that overlap or
 * touch, so that they are ascending and disjoint
 */
void npuplan_intervals_unite(struct npuplan_intervals *list, size_t from);

/* npuplan_displacements() - append F(a, b), whose displacements are b's address minus a's
 * @listed: out: number of intervals before those that overlap are joined
 *
 * The intervals are ascending, disjoint and not empty; there are none if the two are never in each
 * other's way. Two staircases take O(atoms of both) time, times their repetitions where these do
 * not merge. -ENOMEM; -E2BIG: there are more than 2^20 intervals.
 */
int npuplan_displacements(const struct npuplan_staircases *staircases, uint32_t a, uint32_t b,
			  struct npuplan_intervals *list, size_t *listed);

/* npuplan_displacement_conflicts() - list the conflicts of items by F of all their pairs
 * @whole: listed conflicts of the items as whole tensors
 * @live: the live ranges, as npuplan_staircases_init() takes them
 * @approximated: out: some pairs had too many intervals and are listed as whole tensors. That is
 *	safe, but lower packings than these conflicts allow may exist
 *
 * More than 2^20 intervals of a pair, or 2^24 in all, are too many. -ENOMEM.
 */
int npuplan_displacement_conflicts(struct npuplan_conflicts *conflicts,
				   const struct npuplan_conflicts *whole,
				   const struct npuplan_liveness *live, bool *approximated);
