/* SPDX-License-Identifier: MIT */
/*
 * Which record of an array is the same, byte for byte, as another one: a hash table of indices
 * (FNV-1a, linear probing). uthash would want a handle within each record, and these are the
 * records of a blob.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/**
 * struct npuplan_table - hash table of an array's records; all 0: empty
 * @index: per slot a record's index, NPUMEM_NONE where free
 * @slots: a power of two, or 0
 */
struct npuplan_table {
	uint32_t *index;
	uint32_t slots;
};

/* npuplan_table_enter() - index of a record, which the table has from then on
 * @records: the array, of @count records of @size bytes without padding
 * @record: to look for
 *
 * @count if it was not there: the caller then appends it to @records, or does not use the table
 * again. -ENOMEM.
 */
int64_t npuplan_table_enter(struct npuplan_table *table, const void *records, uint32_t count,
			    size_t size, const void *record);

void npuplan_table_fini(struct npuplan_table *table);
