/* SPDX-License-Identifier: MIT */
/* Arrays that grow, of the memory that heap.h counts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* npuplan_grow() - make room for one more in an array whose capacity is not kept
 * @array: pointer to the array
 * @count: elements in use; the capacity is the next power of two (0 for none)
 * @size: bytes of an element
 *
 * -E2BIG: 2^31 elements or more; -ENOMEM.
 */
int npuplan_grow(void *array, uint32_t count, size_t size);

/* npuplan_append() - the same, and put records there
 * @count: elements in use; out: @more than before, unless it fails
 * @records: @more of them; may be NULL if that is 0
 */
int npuplan_append(void *array, uint32_t *count, size_t size, const void *records, uint32_t more);

/* npuplan_reserve() - make room for @count elements in an array whose capacity is kept
 * @array: pointer to the array
 * @capacity: elements that it has room for, which becomes twice @count if that is more
 * @size: bytes of an element
 *
 * -ENOMEM: array and capacity are as they were.
 */
int npuplan_reserve(void *array, uint32_t *capacity, size_t count, size_t size);
