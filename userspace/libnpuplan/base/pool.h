/* SPDX-License-Identifier: MIT */
/*
 * Pools: arrays of one owner, which are taken one by one and freed together. The owner checks once,
 * after it has taken the last one, whether there was memory for all of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * struct npuplan_pool - arrays that end together; all 0: none yet
 * @last: block of the array that was taken last, which points to the one before it; NULL: none
 * @failed: there was no memory for one of them
 */
struct npuplan_pool {
	void *last;
	bool failed;
};

/* npuplan_pool_take() - an array of zeroes, which npuplan_pool_free() frees
 * @count: number of elements; the result is not NULL if it is 0, either
 * @size: bytes of an element
 *
 * NULL: there is no memory; @pool->failed is true then, and remains so.
 */
void *npuplan_pool_take(struct npuplan_pool *pool, size_t count, size_t size);

/** npuplan_pool_free() - free all arrays; the pool is empty then */
void npuplan_pool_free(struct npuplan_pool *pool);

/* A pool that is marked AUTO_POOL is freed when it goes out of scope. */
#define AUTO_POOL __attribute__((cleanup(npuplan_pool_free)))
