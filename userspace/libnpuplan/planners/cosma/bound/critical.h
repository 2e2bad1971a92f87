/* SPDX-License-Identifier: MIT */
/* Finding critical operators, grouping them, covering an excess. */
#pragma once

#include "bounds.h"

/* cosma_relations() - operators that a tensor has to be kept over
 * @members: out: bits: it is produced before them and used after them, in every order,
 *	and they do not touch it, or model->need does not count it though they do
 * @adders: out: the same, but whether it exists before them depends on the order
 */
void cosma_relations(const struct cosma_model *model, uint32_t x, uint64_t *members,
		     uint64_t *adders);

/* Whether @x is made, or on chip as an input, before operator @v in every order. */
bool cosma_exists_before(const struct cosma_model *model, uint32_t x, uint32_t v);

/* Whether a use of @x lies between @first and @last in every order (groups.c). */
bool cosma_used_between(const struct cosma_model *model, uint32_t x, uint32_t first, uint32_t last);

/** struct cosma_cover_item - bytes that may be away, for @unit a byte (1 or 2) */
struct cosma_cover_item {
	int64_t size;
	uint32_t unit;
};

/* cosma_cover() - cheapest set of items of at least @excess bytes
 *
 * Items are reordered. COSMA_NEVER if all of them are not enough. Where the exact
 * answer would take long, a bound below it.
 */
int64_t cosma_cover(struct cosma_cover_item *items, uint32_t count, int64_t excess, uint64_t *work);

/* critical.c: fills critical, of_adder; no groups yet. */
int cosma_critical_find(struct cosma_bounds *bounds);
/* groups.c: fills group_count and group. */
int cosma_critical_group(struct cosma_bounds *bounds);
/* deferred.c: adds members of which a part is kept at least. */
int cosma_critical_defer(struct cosma_bounds *bounds);
/* groups.c: fills unit and charged. */
int cosma_critical_charge(struct cosma_bounds *bounds);
