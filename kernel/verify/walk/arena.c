// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The interval map of the arena, which tells whose bytes a range is.
 *
 * Time: the ranges that paint() removes were once painted or split off, so n
 * paints cost O(n log n) in all, whatever the order.
 */
#include "check.h"

static_assert(NPUV_ARENA_LEVELS * 6 >= 32);

int npuv_arena_init(struct npuv_arena *map, u64 *bounds, u32 count)
{
	u32 words = count, level = 0;

	memset(map, 0, sizeof(*map));
	map->bounds = bounds;
	map->count = count;
	map->owner = npuv_alloc_array(count, sizeof(u32));
	if (!map->owner)
		return -ENOMEM;
	do {
		words = words / 64 + 1;
		map->begins[level] = npuv_alloc_array(words, sizeof(u64));
		if (!map->begins[level])
			return -ENOMEM;
		level++;
	} while (words > 1);
	map->levels = level;
	if (count)
		npuv_arena_paint(map, 0, count, NPUMEM_NONE);
	return 0;
}

void npuv_arena_fini(struct npuv_arena *map)
{
	u32 i;

	npuv_free(map->bounds);
	npuv_free(map->owner);
	for (i = 0; i < NPUV_ARENA_LEVELS; i++)
		npuv_free(map->begins[i]);
	memset(map, 0, sizeof(*map));
}

static void set_begin(struct npuv_arena *map, u32 i)
{
	u32 level;

	for (level = 0; level < map->levels; level++, i /= 64)
		map->begins[level][i / 64] |= 1ull << (i % 64);
}

static void clear_begin(struct npuv_arena *map, u32 i)
{
	u32 level;

	for (level = 0; level < map->levels; level++, i /= 64) {
		map->begins[level][i / 64] &= ~(1ull << (i % 64));
		if (map->begins[level][i / 64])
			return;
	}
}

u32 npuv_arena_bound(const struct npuv_arena *map, u64 value)
{
	return npuv_upper_bound(map->bounds, map->count, value) - 1;
}

/* The greatest begin <= i. There always is one, since bound 0 begins a range. */
u32 npuv_arena_first(const struct npuv_arena *map, u32 i)
{
	u32 level = 0;
	u64 word;

	word = map->begins[0][i / 64] & (~0ull >> (63 - i % 64));
	while (!word) {
		/* Nothing at or below in this word: words before it, one level up. */
		i /= 64;
		level++;
		word = map->begins[level][i / 64] & ((1ull << (i % 64)) - 1);
	}
	i = i / 64 * 64 + npuv_highest_bit(word);
	while (level--)
		i = i * 64 + npuv_highest_bit(map->begins[level][i]);
	return i;
}

/* The least begin > i. */
u32 npuv_arena_next(const struct npuv_arena *map, u32 i)
{
	u32 level;
	u64 word = 0;

	for (level = 0; level < map->levels; level++, i /= 64) {
		if (i % 64 != 63)
			word = map->begins[level][i / 64] & (~0ull << (i % 64 + 1));
		if (word)
			break;
	}
	if (!word)
		return map->count;
	i = i / 64 * 64 + npuv_lowest_bit(word);
	while (level--)
		i = i * 64 + npuv_lowest_bit(map->begins[level][i]);
	return i;
}

void npuv_arena_paint(struct npuv_arena *map, u32 lo, u32 hi, u32 owner)
{
	u32 i, last;

	/* A range that begins before hi and goes on beyond it begins at hi from now on. */
	if (hi < map->count) {
		last = npuv_arena_first(map, hi);
		map->owner[hi] = map->owner[last];
		set_begin(map, hi);
	}
	set_begin(map, lo);
	map->owner[lo] = owner;
	for (i = npuv_arena_next(map, lo); i < hi; i = npuv_arena_next(map, lo))
		clear_begin(map, i);
}
