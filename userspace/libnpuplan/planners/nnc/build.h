/* SPDX-License-Identifier: MIT */
/* NNC: one construction of the allocation graph, and the addresses that it gives. */
#pragma once

#include "nnc.h"

/**
 * struct npuplan_nnc_order - in which order things are looked at
 * @rank: per item, 1..: place in the order of access
 * @by_rank: items in that order
 * @promoted: per item: edges that it is thought to have besides its own, so that it
 *	is inserted earlier
 */
struct npuplan_nnc_order {
	uint32_t *rank;
	uint32_t *by_rank;
	uint64_t *promoted;
};

/* As npuplan_nnc(), without its rounds. Alignment is not 0. */
int npuplan_nnc_build(const struct npuplan_conflicts *conflicts,
		      const struct npuplan_nnc_options *options,
		      const struct npuplan_nnc_order *order, uint64_t *offsets, uint64_t *work,
		      uint32_t clash[2]);
