// SPDX-License-Identifier: MIT
#include "sorted.h"

#include <stdlib.h>
#include <string.h>

NPUPLAN_ORDER(by_key, struct npuplan_keyed, key, second, third, item)

void npuplan_sort_keyed(struct npuplan_keyed *keyed, size_t count)
{
	if (count)
		qsort(keyed, count, sizeof(*keyed), by_key);
}

void npuplan_sort_items(struct npuplan_keyed *keyed, uint32_t count, uint32_t *items)
{
	npuplan_sort_keyed(keyed, count);
	for (uint32_t i = 0; i < count; i++)
		items[i] = keyed[i].item;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return npuplan_compare(*a, *b);
}

static int by_value32(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return npuplan_compare(*a, *b);
}

static uint32_t sort_once(char *numbers, uint32_t count, size_t size,
			  int (*compare)(const void *left, const void *right))
{
	uint32_t distinct = 0;

	if (count)
		qsort(numbers, count, size, compare);
	for (uint32_t i = 0; i < count; i++)
		if (!distinct || compare(numbers + (distinct - 1) * size, numbers + i * size))
			memmove(numbers + distinct++ * size, numbers + i * size, size);
	return distinct;
}

uint32_t npuplan_sort_once(uint64_t *numbers, uint32_t count)
{
	return sort_once((char *)numbers, count, sizeof(*numbers), by_value);
}

uint32_t npuplan_sort_once32(uint32_t *numbers, uint32_t count)
{
	return sort_once((char *)numbers, count, sizeof(*numbers), by_value32);
}

void npuplan_counting_sort(const void *records, uint32_t count, size_t size, size_t key_offset,
			   uint32_t keys, uint32_t *first, uint32_t *sorted)
{
	const char *at = records;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = *(const uint32_t *)(at + i * size + key_offset);

		if (k < keys)
			first[k + 2]++;
	}
	for (uint32_t k = 2; k <= keys; k++)
		first[k] += first[k - 1];
	/*
	 * first[k + 1] is where key k begins; it moves on with each record, and ends where key k +
	 * 1 begins.
	 */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = *(const uint32_t *)(at + i * size + key_offset);

		if (k < keys)
			sorted[first[k + 1]++] = i;
	}
}
