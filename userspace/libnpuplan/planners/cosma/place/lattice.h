/* SPDX-License-Identifier: MIT */
/*
 * Proofs that stays do not fit. Where sizes are small multiples of one size, as those of neural
 * networks often are, addresses may be multiples of it, too (push everything down as far as it
 * goes), and few are left to try. What the packing core cannot decide, since its parts each fit, is
 * decided here by trying large items first and by counting rows for the smallest.
 */
#pragma once

#include "planners/cosma/model/stays.h"

/** struct cosma_lattice_item - @size bytes that are needed at instants @from..@to */
struct cosma_lattice_item {
	int64_t size;
	uint32_t from;
	uint32_t to;
};

/* cosma_lattice_refute() - try to prove that items have no addresses within a capacity
 * @items: are put in another order
 * @work_limit: of the search
 * @work: units are added to it
 * @refuted: out: it is proved. Else nothing is known: items that are no multiples of the lattice's
 *	unit are left out, so that what fits here may not fit in full
 *
 * Returns 0 or -ENOMEM.
 */
int cosma_lattice_refute(struct cosma_lattice_item *items, uint32_t count, int64_t capacity,
			 uint64_t work_limit, uint64_t *work, bool *refuted);
