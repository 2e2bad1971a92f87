/* SPDX-License-Identifier: MIT */
/*
 * Pools: arrays of one owner, taken one by one and freed together. Whether all of them are there
 * is asked once, after the last one has been taken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * struct npuplan_pool - arrays that end together; all 0: none yet
 * @last: the array that was taken last, which knows the one before it
 * @failed: for one of them there was no memory
 */
struct npuplan_pool {
	void *last;
	bool failed;
};

/* npuplan_pool_take() - an array of zeroes, which npuplan_pool_free() frees
 * @count: elements; of 0, too, there is an address
 * @size: bytes of an element
 *
 * NULL if there is no memory, of which the caller then learns from @pool->failed.
 */
void *npuplan_pool_take(struct npuplan_pool *pool, size_t count, size_t size);

/** npuplan_pool_free() - free all arrays; the pool is empty then */
void npuplan_pool_free(struct npuplan_pool *pool);

/* A pool that is marked AUTO_POOL is freed when it goes out of scope. */
#define AUTO_POOL __attribute__((cleanup(npuplan_pool_free)))
