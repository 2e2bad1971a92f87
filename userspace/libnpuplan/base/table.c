// SPDX-License-Identifier: MIT
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npuplan.h"

static uint32_t find(const struct npuplan_table *table, const uint8_t *records, size_t size,
		     const uint8_t *record)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	uint32_t slot;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ record[i]) * 0x100000001b3ull;
	for (slot = hash ^ hash >> 32;; slot++) {
		slot &= table->slots - 1;
		if (table->index[slot] == NPUMEM_NONE ||
		    !memcmp(records + table->index[slot] * size, record, size))
			return slot;
	}
}

/* At most half of the slots are taken. */
static int make_room(struct npuplan_table *table, const uint8_t *records, uint32_t count,
		     size_t size)
{
	uint32_t slots = table->slots ? 2 * table->slots : 64, *index;

	if (count < table->slots / 2)
		return 0;
	index = malloc(slots * sizeof(*index));
	if (!index)
		return -ENOMEM;
	memset(index, 0xff, slots * sizeof(*index));
	free(table->index);
	table->index = index;
	table->slots = slots;
	for (uint32_t i = 0; i < count; i++)
		index[find(table, records, size, records + i * size)] = i;
	return 0;
}

int64_t npuplan_table_enter(struct npuplan_table *table, const void *records, uint32_t count,
			    size_t size, const void *record)
{
	int err = make_room(table, records, count, size);
	uint32_t *index;

	if (err)
		return err;
	index = &table->index[find(table, records, size, record)];
	if (*index == NPUMEM_NONE)
		*index = count;
	return *index;
}

void npuplan_table_fini(struct npuplan_table *table)
{
	free(table->index);
	*table = (struct npuplan_table){ 0 };
}
