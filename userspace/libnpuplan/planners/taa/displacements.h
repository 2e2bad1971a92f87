/* SPDX-License-Identifier: MIT */
/*
 * Forbidden displacements from byte-level live ranges: TAA's exact form.
 *
 * Two atoms that live at once forbid the displacements at which they share a
 * byte: an open interval. F of two tensors is the union over all their pairs of
 * atoms; it says at once what Algorithm 1 of the paper (tensor_allocate.h) looks
 * for by shifting.
 */
#pragma once

#include "runs.h"

/*
 * struct npuplan_intervals - growing list
 */
struct npuplan_intervals {
	struct npuplan_interval *at;
	size_t count;
	uint32_t capacity;
};

/* npuplan_displacements() - append F(a, b), d being b's address minus a's
 * @listed: out: intervals before those that overlap are joined
 *
 * Ascending, disjoint, none empty. Nothing if they are never in each other's way.
 * Two monotone runs take O(atoms of both); times their repetitions where these
 * do not merge. -ENOMEM; -E2BIG more than 2^20 intervals of one pair.
 */
int npuplan_displacements(const struct npuplan_runs *runs, uint32_t a, uint32_t b,
			  struct npuplan_intervals *list, size_t *listed);

/* npuplan_displacement_conflicts() - F of all pairs of items
 * @whole: conflicts of the items as whole tensors, listed
 * @live: as npuplan_runs_init() takes it
 * @approximated: out: pairs of too many intervals are listed as whole tensors, which
 *	is safe; but what packs lower than these conflicts allow may exist
 *
 * Too many are 2^20 of a pair, 2^24 in all. -ENOMEM.
 */
int npuplan_displacement_conflicts(struct npuplan_conflicts *conflicts,
				   const struct npuplan_conflicts *whole,
				   const struct npuplan_liveness *live, bool *approximated);
