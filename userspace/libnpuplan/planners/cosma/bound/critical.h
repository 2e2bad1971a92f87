/* SPDX-License-Identifier: MIT */
/* What the files of bound/ share: finding critical operators, grouping them, covering an excess. */
#pragma once

#include "bounds.h"

/* cosma_relations() - operators over which a tensor has to be kept
 * @members: out: set of operators: in every order the tensor is produced before them and used after
 *	them, and they do not touch it, or do but model->need does not count it
 * @adders: out: the same, but whether the tensor exists before them depends on the order
 */
void cosma_relations(const struct cosma_model *model, uint32_t x, uint64_t *members,
		     uint64_t *adders);

/* Whether @x is made, or on chip as an input, before operator @v in every order. */
bool cosma_exists_before(const struct cosma_model *model, uint32_t x, uint32_t v);

/* Whether a use of @x lies between @first and @last in every order (groups.c). */
bool cosma_used_between(const struct cosma_model *model, uint32_t x, uint32_t first, uint32_t last);

/** struct cosma_cover_item - bytes that may be away; @price, 1 or 2, is that of one */
struct cosma_cover_item {
	int64_t size;
	uint32_t price;
};

/* cosma_cover() - cost of the cheapest set of items that has @excess bytes at least
 * @items: are put in another order
 * @work: units are added to it
 *
 * Returns COSMA_NEVER if all items are not enough. Where the exact answer would take long, a lower
 * bound of it.
 */
int64_t cosma_cover(struct cosma_cover_item *items, uint32_t count, int64_t excess, uint64_t *work);

/* Whether the call that these bounds are made for is to end (critical.c). */
bool cosma_bounds_ended(const struct cosma_bounds *bounds);
/* Finds critical operators (critical.c): fills critical and of_adder; they are in no group yet. */
int cosma_critical_find(struct cosma_bounds *bounds);
/* Puts critical operators into groups (groups.c): fills group_count, and group of each. */
int cosma_critical_group(struct cosma_bounds *bounds);
/* Adds deferred tensors to the members (deferred.c). */
int cosma_critical_defer(struct cosma_bounds *bounds);
/*
 * Charges the first spill of each tensor to one group (groups.c): fills charged, and price of each
 * member.
 */
int cosma_critical_charge(struct cosma_bounds *bounds);
