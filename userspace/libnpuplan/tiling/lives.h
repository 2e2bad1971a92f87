/* SPDX-License-Identifier: MIT */
/*
 * How many bytes live at once, operator by operator, if tensors live whole; and how that changes
 * if a tensor lies in another one. Packers may do better with tensors that live tile by tile, and
 * need not reach this many; to compare one way to place concats with another it is enough.
 */
#pragma once

#include "base/internal.h"
#include "base/pool.h"

/*
 * struct npuplan_lives - lives of tensors, counted in operators
 * @bytes: per operator, bytes that live while it runs
 * @limit: the most of these before any tensor was joined with another one; UINT64_MAX while any
 *	number will do
 * @born, @dies: per tensor that is no alias the first and last operator that it lives at
 * @size: per tensor, its bytes in the arena; 0: it has none there
 * @op_count: number of operators
 */
struct npuplan_lives {
	uint64_t *bytes;
	uint64_t limit;
	uint32_t *born;
	uint32_t *dies;
	uint64_t *size;
	uint32_t op_count;
};

/* npuplan_lives_init() - the lives of a graph's tensors, in memory of the pool; -ENOMEM */
int npuplan_lives_init(struct npuplan_lives *lives, const struct npuplan_graph *graph,
		       struct npuplan_pool *pool);

/** npuplan_lives_born() - the first operator that a tensor lives at */
static inline uint32_t npuplan_lives_born(const struct npuplan_lives *lives, uint32_t tensor)
{
	return lives->born[tensor];
}

/** npuplan_lives_dies() - the last operator that a tensor lives at */
static inline uint32_t npuplan_lives_dies(const struct npuplan_lives *lives, uint32_t tensor)
{
	return lives->dies[tensor];
}

/* npuplan_lives_most() - the most bytes that live at once now */
uint64_t npuplan_lives_most(const struct npuplan_lives *lives);

/* npuplan_lives_join() - let a tensor lie in another one, which then lives as long as both
 *
 * False, and nothing has changed: at some operator there would be more than the limit, and more
 * than there is without.
 */
bool npuplan_lives_join(struct npuplan_lives *lives, uint32_t tensor, uint32_t base);
