/* SPDX-License-Identifier: MIT */
/*
 * Memory with a limit. Packers and searches allocate by these functions, which do what malloc() and
 * its kin do. While a heap is in use in a thread, they also count the bytes of that thread, and
 * fail, as if memory had ended, where the heap's limit would be passed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * struct npuplan_heap - bytes of one search
 * @held: bytes that are allocated now
 * @most: the most bytes that were allocated at once
 * @limit: the most bytes that may be allocated at once
 * @refused: an allocation has failed because of @limit
 */
struct npuplan_heap {
	uint64_t held;
	uint64_t most;
	uint64_t limit;
	bool refused;
};

/* npuplan_heap_use() - count in @heap from now on in this thread; NULL: count nothing
 *
 * Returns the heap that was in use before, or NULL.
 */
struct npuplan_heap *npuplan_heap_use(struct npuplan_heap *heap);

/*
 * What these return is memory of malloc(), so that free() takes it, too, but without counting it.
 */
void *npuplan_malloc(size_t size);
void *npuplan_calloc(size_t count, size_t size);
void *npuplan_realloc(void *old, size_t size);
void npuplan_free(void *old);

/*
 * Free several pointers at once: npuplan_free_all(a, b, c) if npuplan_malloc() and its kin made
 * them, free_all(a, b, c) if malloc() did. Both are made of npuplan_free_each().
 */
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
