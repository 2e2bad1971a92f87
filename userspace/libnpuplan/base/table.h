/* SPDX-License-Identifier: MIT */
/*
 * Hash tables of indices. The records stay where their owner has them, mostly in an array; the
 * table says which of them have a hash, and the owner compares (linear probing; at most half of
 * the slots are taken). uthash would want a handle within each record, and some of these are the
 * records of a blob.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "npuplan.h"

/**
 * struct npuplan_table - hash table; all 0: empty
 * @slot: hash and index of a record; the index is NPUMEM_NONE where the slot is free
 * @slots: a power of two, or 0
 * @count: slots that are taken
 */
struct npuplan_table {
	struct npuplan_slot {
		uint32_t hash;
		uint32_t index;
	} *slot;
	uint32_t slots;
	uint32_t count;
};

/* A hash of @size bytes, another one for each @seed: of words, since COSMA hashes each state. */
static inline uint32_t npuplan_hash(uint64_t seed, const void *bytes, size_t size)
{
	uint64_t hash = seed ^ 0x9e3779b97f4a7c15ull, word;
	const char *at = bytes;

	for (size_t left = size; left; at += sizeof(word)) {
		size_t part = left < sizeof(word) ? left : sizeof(word);

		word = 0;
		memcpy(&word, at, part);
		hash = (hash ^ word) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
		left -= part;
	}
	return (uint32_t)hash;
}

/* npuplan_table_next() - index of a record with a hash; NPUMEM_NONE: there are no more
 * @probe: 0 at first; out: where to go on
 */
static inline uint32_t npuplan_table_next(const struct npuplan_table *table, uint32_t hash,
					  uint32_t *probe)
{
	while (table->slots) {
		const struct npuplan_slot *slot =
			&table->slot[(hash + (*probe)++) & (table->slots - 1)];

		if (slot->hash == hash || slot->index == NPUMEM_NONE)
			return slot->index;
	}
	return NPUMEM_NONE;
}

/* For each index @i that the table has of records with a hash, most of which are the one. */
#define npuplan_table_for_each(i, table, hash)                                      \
	for (uint32_t probe_ = 0, i = npuplan_table_next((table), (hash), &probe_); \
	     (i) != NPUMEM_NONE; (i) = npuplan_table_next((table), (hash), &probe_))

/* npuplan_table_add() - the record with this index has this hash
 *
 * -ENOMEM; -E2BIG: 2^30 records.
 */
int npuplan_table_add(struct npuplan_table *table, uint32_t hash, uint32_t index);

/* npuplan_table_enter() - index of a record that is the same, byte for byte
 * @records: the array, of @count records of @size bytes without padding, all of which are in
 *	the table
 * @record: to look for; the table has it from then on
 *
 * @count if it was not there: the caller then appends it to @records, or does not use the table
 * again. The errnos of npuplan_table_add().
 */
int64_t npuplan_table_enter(struct npuplan_table *table, const void *records, uint32_t count,
			    size_t size, const void *record);

void npuplan_table_fini(struct npuplan_table *table);
