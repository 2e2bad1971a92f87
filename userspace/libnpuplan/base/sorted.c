// SPDX-License-Identifier: MIT
#include "sorted.h"

#include <stdlib.h>

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

uint32_t npuplan_sort_once(uint64_t *numbers, uint32_t count)
{
	uint32_t distinct = 0;

	if (count)
		qsort(numbers, count, sizeof(*numbers), by_value);
	for (uint32_t i = 0; i < count; i++)
		if (!distinct || numbers[distinct - 1] != numbers[i])
			numbers[distinct++] = numbers[i];
	return distinct;
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
	/* Each one's beginning moves to its end, which is the next one's beginning. */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = *(const uint32_t *)(at + i * size + key_offset);

		if (k < keys)
			sorted[first[k + 1]++] = i;
	}
}
