// SPDX-License-Identifier: MIT
#include "table.h"

#include <errno.h>

#include "heap.h"

static void put(struct npuplan_table *table, struct npuplan_slot record)
{
	uint32_t at = record.hash & (table->slots - 1);

	while (table->slot[at].index != NPUMEM_NONE)
		at = (at + 1) & (table->slots - 1);
	table->slot[at] = record;
}

static int make_room(struct npuplan_table *table)
{
	struct npuplan_table grown = { .slots = table->slots ? 2 * table->slots : 64 };

	if (table->count < table->slots / 2)
		return 0;
	if (table->slots > 1u << 30)
		return -E2BIG;
	grown.slot = npuplan_malloc(grown.slots * sizeof(*grown.slot));
	if (!grown.slot)
		return -ENOMEM;
	/* All of them free. */
	memset(grown.slot, 0xff, grown.slots * sizeof(*grown.slot));
	for (uint32_t i = 0; i < table->slots; i++)
		if (table->slot[i].index != NPUMEM_NONE)
			put(&grown, table->slot[i]);
	npuplan_free(table->slot);
	table->slot = grown.slot;
	table->slots = grown.slots;
	return 0;
}

int npuplan_table_add(struct npuplan_table *table, uint32_t hash, uint32_t index)
{
	int err = make_room(table);

	if (err)
		return err;
	put(table, (struct npuplan_slot){ .hash = hash, .index = index });
	table->count++;
	return 0;
}

int64_t npuplan_table_enter(struct npuplan_table *table, const void *records, uint32_t count,
			    size_t size, const void *record)
{
	uint32_t hash = npuplan_hash(0, record, size);
	int err;

	npuplan_table_for_each(i, table, hash)
		if (!memcmp((const char *)records + i * size, record, size))
			return i;
	err = npuplan_table_add(table, hash, count);
	return err ? err : (int64_t)count;
}

void npuplan_table_fini(struct npuplan_table *table)
{
	npuplan_free(table->slot);
	*table = (struct npuplan_table){ 0 };
}
