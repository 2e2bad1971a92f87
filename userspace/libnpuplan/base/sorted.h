/* SPDX-License-Identifier: MIT */
/* Ascending order: comparing numbers, looking up a record by a 32-bit key, sorting by a small one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Which number is less, as qsort() wants it: for the next key write ?: and compare that. */
static inline int npuplan_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

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

/* npuplan_counting_sort() - numbers of records by a 32-bit key of each, in order where it is equal
 * @records: @count of them, of @size bytes, the key at @key; one of @keys or more is passed over
 * @first: @keys + 2 zeros; out: of key k sorted[first[k] .. first[k + 1])
 * @sorted: out: room for all
 */
static inline void npuplan_counting_sort(const void *records, uint32_t count, size_t size,
					 size_t key, uint32_t keys, uint32_t *first,
					 uint32_t *sorted)
{
	const char *at = records;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = *(const uint32_t *)(at + i * size + key);

		if (k < keys)
			first[k + 2]++;
	}
	for (uint32_t k = 2; k <= keys; k++)
		first[k] += first[k - 1];
	/* Each one's beginning moves to its end, which is the next one's beginning. */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = *(const uint32_t *)(at + i * size + key);

		if (k < keys)
			sorted[first[k + 1]++] = i;
	}
}
