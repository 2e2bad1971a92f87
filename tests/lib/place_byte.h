/* SPDX-License-Identifier: MIT */
/* Finds where a plan puts a byte of a tensor, written from the words of npumem_plan.h alone. */
#pragma once

#include "npuplan.h"

/* Sets *arena to where a placement puts a tensor's byte; false if it does not hold that byte. */
static inline bool place_byte_in(const struct npumem_placement *p, uint64_t byte, uint64_t *arena)
{
	const struct npumem_region *r = &p->region;

	for (uint32_t k = 0; k < r->count[2]; k++)
		for (uint32_t j = 0; j < r->count[1]; j++)
			for (uint32_t i = 0; i < r->count[0]; i++) {
				uint64_t first = r->offset + i * r->stride[0] + j * r->stride[1] +
						 k * r->stride[2];

				if (byte < first || byte - first >= r->length)
					continue;
				*arena = p->offset + i * p->stride[0] + j * p->stride[1] +
					 (p->ring ? k % p->ring : k) * p->stride[2] + byte - first;
				return true;
			}
	return false;
}

/* Where in a placement a byte of its tensor lies, and how many are there in a row; 0: none. */
static inline uint64_t place_run(const struct npumem_placement *at, uint64_t byte,
				 uint64_t *address)
{
	const struct npumem_region *r = &at->region;

	if (byte < r->offset)
		return 0;
	byte -= r->offset;
	*address = at->offset;
	for (int d = 2; d >= 0; d--) {
		uint64_t i = r->count[d] > 1 ? byte / r->stride[d] : 0;

		if (i >= r->count[d])
			return 0;
		byte -= i * r->stride[d];
		if (d == 2 && at->ring)
			i %= at->ring;
		*address += i * at->stride[d];
	}
	*address += byte;
	return byte < r->length ? r->length - byte : 0;
}

/* How many placements of a plan of one block hold a byte at a position; *arena: in the last. */
static inline uint32_t place_byte(const struct npuplan_plan *plan, uint32_t tensor, uint64_t byte,
				  uint32_t position, uint64_t *arena)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];

		if (p->tensor == tensor && p->from <= position && p->to >= position)
			found += place_byte_in(p, byte, arena);
	}
	return found;
}

/* The first byte of the arena above all bytes of a placement. */
static inline uint64_t place_end(const struct npumem_placement *p)
{
	const struct npumem_region *r = &p->region;
	uint32_t slots = p->ring ? p->ring : r->count[2];

	return p->offset + r->length + (r->count[0] - 1) * p->stride[0] +
	       (r->count[1] - 1) * p->stride[1] + (slots - 1) * p->stride[2];
}
