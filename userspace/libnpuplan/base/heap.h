/* SPDX-License-Identifier: MIT */
/*
 * Memory with a limit. What a packing or a search allocates goes through these, which are
 * malloc() and its kin but for one thing: while a heap is in use in this thread, bytes are
 * counted, and what would be more than its limit is refused, as if memory had ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * struct npuplan_heap - bytes of one search
 * @held: now
 * @most: that were held at once
 * @limit: that may be held
 * @refused: once more were asked for
 */
struct npuplan_heap {
	uint64_t held;
	uint64_t most;
	uint64_t limit;
	bool refused;
};

/* npuplan_heap_use() - count in @heap from now on in this thread; NULL: count nothing
 *
 * Returns what was in use before.
 */
struct npuplan_heap *npuplan_heap_use(struct npuplan_heap *heap);

/* Of malloc()'s own kind: free() takes what these return, without counting it. */
void *npuplan_malloc(size_t size);
void *npuplan_calloc(size_t count, size_t size);
void *npuplan_realloc(void *old, size_t size);
void npuplan_free(void *old);

/* Several at once: npuplan_free_all(a, b, c) for these, free_all(a, b, c) for malloc()'s. */
void npuplan_free_each(void *const *old, size_t count, void (*release)(void *old));
#define npuplan_free_list(release, ...)              \
	npuplan_free_each((void *[]){ __VA_ARGS__ }, \
			  sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *), release)
#define npuplan_free_all(...) npuplan_free_list(npuplan_free, __VA_ARGS__)
#define free_all(...)	      npuplan_free_list(free, __VA_ARGS__)

/*
 * A variable that is marked AUTO_HEAP is freed when it goes out of scope, as the kernel's __free()
 * has it. It is NULL or owns what it points to.
 */
void npuplan_auto_heap(void *variable);
#define AUTO_HEAP __attribute__((cleanup(npuplan_auto_heap)))
