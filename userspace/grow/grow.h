/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow by one element at a time, and whose capacity nobody keeps: it is the next
 * power of two.
 *
 * Header only; for all of userspace but libnpuplan, which has its own (base/array.h), of memory
 * that it counts.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/**
 * grow_by_one() - room for one more element
 * @array: the array, from malloc() or this function; NULL if @count is 0
 * @count: elements in use
 * @size: bytes of an element
 *
 * Returns the array, which may have moved. NULL: out of memory, and the array is as it was.
 */
static inline void *grow_by_one(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return reallocarray(array, count ? 2 * count : 1, size);
}
