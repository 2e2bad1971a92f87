/* SPDX-License-Identifier: MIT */
/* Looking up a record in an array that is in ascending order of a 32-bit key. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* npuplan_sorted_at() - number of the first record whose key is @key or more
 * @first_key: the key within the first record
 * @count: records
 * @size: bytes of a record
 *
 * @count if all keys are less.
 */
static inline size_t npuplan_sorted_at(const uint32_t *first_key, size_t count, size_t size,
				       uint32_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (*(const uint32_t *)((const char *)first_key + middle * size) < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
