// SPDX-License-Identifier: MIT
/* The dominance rule compares two states at one downset. */
#include "dominance.h"

bool cosma_dominates(const struct cosma_model *model, const struct cosma_downset *downset,
		     const uint64_t *a, int64_t a_cost, const uint64_t *b, int64_t b_cost)
{
	for (uint32_t w = 0; w < downset->words; w++) {
		uint64_t host_a = a[downset->words + w], host_b = b[downset->words + w];
		uint64_t evict = a[w] & ~b[w], spill = a[w] & b[w] & host_b & ~host_a;

		for (; evict && a_cost <= b_cost; evict &= evict - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(evict);
			int64_t size = model->size[downset->live[64 * w + bit]];

			a_cost += host_a >> bit & 1 ? size : 2 * size;
		}
		for (; spill && a_cost <= b_cost; spill &= spill - 1)
			a_cost += model->size[downset->live[64 * w +
							    (uint32_t)__builtin_ctzll(spill)]];
		if (a_cost > b_cost)
			return false;
	}
	return a_cost <= b_cost;
}
