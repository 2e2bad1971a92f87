// SPDX-License-Identifier: MIT
#include "heap.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Well below the size from which allocators map blocks (glibc: 128 KiB, and more later). */
#define MAPPED 65536

static _Thread_local struct npuplan_heap *in_use;

struct npuplan_heap *npuplan_heap_use(struct npuplan_heap *heap)
{
	struct npuplan_heap *before = in_use;

	in_use = heap;
	return before;
}

/*
 * Whether @size bytes may be allocated where @freed bytes are given back. What is counted is what
 * the allocator gives, which may be more than what is asked for: up to 32 bytes, or a page for
 * blocks that it maps, which are large.
 */
static bool has_room(uint64_t size, uint64_t freed)
{
	uint64_t most = size + (size < MAPPED ? 32 : 4096);
	uint64_t more = most > freed ? most - freed : 0;

	if (!in_use || (in_use->held <= in_use->limit && more <= in_use->limit - in_use->held))
		return true;
	in_use->refused = true;
	return false;
}

/*
 * Count a block of which @freed bytes were counted before, and return it. A block that was
 * allocated before the heap came into use was not counted, so @freed may exceed what is held.
 */
static void *count(void *block, size_t freed)
{
	if (!in_use)
		return block;
	in_use->held -= freed < in_use->held ? freed : in_use->held;
	in_use->held += malloc_usable_size(block);
	if (in_use->held > in_use->most)
		in_use->most = in_use->held;
	return block;
}

void *npuplan_malloc(size_t size)
{
	return has_room(size, 0) ? count(malloc(size), 0) : NULL;
}

void *npuplan_calloc(size_t number, size_t size)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(number, size, &bytes))
		return NULL;
	return has_room(bytes, 0) ? count(calloc(number, size), 0) : NULL;
}

void *npuplan_realloc(void *old, size_t size)
{
	size_t before = in_use ? malloc_usable_size(old) : 0;
	void *grown = NULL;

	if (size <= before || has_room(size, before))
		grown = realloc(old, size ? size : 1);
	return grown ? count(grown, before) : NULL;
}

void npuplan_free(void *old)
{
	if (in_use)
		count(NULL, malloc_usable_size(old));
	free(old);
}

void npuplan_free_each(void *const *old, size_t count, void (*release)(void *old))
{
	for (size_t i = 0; i < count; i++)
		release(old[i]);
}

void npuplan_auto_heap(void *variable)
{
	void *pointer;

	/* The variable may be a pointer to any type, so it is read as bytes. */
	memcpy(&pointer, variable, sizeof(pointer));
	npuplan_free(pointer);
}
