// SPDX-License-Identifier: MIT
#include "pool.h"

#include <string.h>

#include "heap.h"

/** union block - stands before each array, and points to the block of the array taken before it */
union block {
	union block *before;
	max_align_t align;
};

void *npuplan_pool_take(struct npuplan_pool *pool, size_t count, size_t size)
{
	union block *block = NULL;
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes) &&
	    !__builtin_add_overflow(bytes, sizeof(*block), &bytes))
		block = npuplan_calloc(1, bytes);
	if (!block) {
		pool->failed = true;
		return NULL;
	}
	block->before = pool->last;
	pool->last = block;
	return block + 1;
}

void npuplan_pool_free(struct npuplan_pool *pool)
{
	union block *block = pool->last;

	while (block) {
		union block *before = block->before;

		npuplan_free(block);
		block = before;
	}
	memset(pool, 0, sizeof(*pool));
}
