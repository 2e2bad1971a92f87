/* SPDX-License-Identifier: MIT */
/* Arrays that grow, of the memory that heap.h counts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * npuplan_grow() - make room for one more in an array whose capacity is not kept
 * @array: pointer to the array
 * @count: elements in use; the array has room for the next power of two of them (0 for none)
 * @size: bytes of an element
 *
 * -E2BIG: 2^31 elements or more; -ENOMEM.
 */
int npuplan_grow(void *array, uint32_t count, size_t size);

/* npuplan_append() - append records to such an array
 * @ARRAY: pointer to the array; the compiler checks that its elements have the records' type
 * @COUNT: pointer to the elements in use; out: @MORE than before, unless it fails
 * @RECORDS: pointer to @MORE of them; may be NULL if that is 0
 *
 * The errnos are those of npuplan_grow().
 */
#define npuplan_append(ARRAY, COUNT, RECORDS, MORE)                                            \
	npuplan_append_sized((ARRAY), (COUNT), sizeof(**(ARRAY)), true ? (RECORDS) : *(ARRAY), \
			     (MORE))

/* npuplan_append_sized() - npuplan_append() for elements of @size bytes whose type is not known */
int npuplan_append_sized(void *array, uint32_t *count, size_t size, const void *records,
			 uint32_t more);

/* npuplan_reserve() - make room for @count elements in an array whose capacity is kept
 * @array: pointer to the array
 * @capacity: elements that it has room for, which becomes twice @count if that is more
 * @size: bytes of an element
 *
 * -ENOMEM: array and capacity are as they were.
 */
int npuplan_reserve(void *array, uint32_t *capacity, size_t count, size_t size);
