// SPDX-License-Identifier: MIT
/* Search over the places of a coarse grid. */
#include <stdlib.h>
#include <string.h>

#include "grid.h"

/* Rows of a grid: places are bits of a word. */
#define MAX_ROWS  64
/* Items that are looked at; more make a search without hope. */
#define MAX_ITEMS 1024

/** struct change - places an item had before */
struct change {
	uint32_t item;
	uint64_t places;
};

/*
 * struct grid - the search
 * @rows: of the capacity
 * @size: in rows, per item, falling
 * @places: per item, rows it may begin at
 * @placed: per item
 * @other: per item, those that are there at the same time
 * @instants: those with the most items: every set of items that are there at once is
 *	part of one of theirs. @there: their items
 * @changes: what to undo
 */
struct grid {
	struct npuplan_pool pool;
	const struct cosma_grid_item *items;
	uint32_t count;
	uint32_t rows;
	uint32_t *size;
	uint64_t *places;
	bool *placed;
	struct cosma_list other;
	struct cosma_list there;
	uint32_t instants;
	struct change *changes;
	uint32_t change_count;
	uint64_t work;
	uint64_t work_limit;
};

/* What became of a search. */
enum answer { NONE_FITS, FITS, LIMIT };

static uint64_t rows_between(int64_t low, int64_t high)
{
	if (high < 0 || low > high)
		return 0;
	low = low < 0 ? 0 : low;
	return (high >= 63 ? UINT64_MAX : (1ull << (high + 1)) - 1) & ~((1ull << low) - 1);
}

static bool overlap(const struct cosma_grid_item *a, const struct cosma_grid_item *b)
{
	return a->from <= b->to && b->from <= a->to;
}

/* ------------------------------------------------------------------- the grid */

static int by_size(const void *a, const void *b)
{
	const struct cosma_grid_item *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Size whose multiples take most bytes for most of the time. */
static int64_t choose_unit(const struct cosma_grid_item *items, uint32_t count, int64_t capacity)
{
	int64_t best = 0;
	double most = 0;

	for (uint32_t i = 0; i < count; i++) {
		int64_t unit = items[i].size;
		double area = 0;

		if ((i && items[i - 1].size == unit) || unit <= 0 || capacity / unit > MAX_ROWS)
			continue;
		for (uint32_t k = 0; k < count; k++)
			if (items[k].size % unit == 0)
				area += (double)items[k].size * (items[k].to - items[k].from + 1);
		if (area > most) {
			most = area;
			best = unit;
		}
	}
	return best;
}

static int list_others(struct grid *grid)
{
	uint32_t filled = 0;

	for (uint32_t i = 0; i < grid->count; i++) {
		for (uint32_t k = 0; k < grid->count; k++) {
			if (k == i || !overlap(&grid->items[i], &grid->items[k]))
				continue;
			if (npuplan_grow(&grid->other.item, filled, sizeof(uint32_t)))
				return -ENOMEM;
			grid->other.item[filled++] = k;
		}
		grid->other.first[i + 1] = filled;
	}
	return 0;
}

/* Whether an item ends between @instant and the next begin behind it. */
static bool is_full(const struct grid *grid, uint32_t instant)
{
	uint32_t next = UINT32_MAX, end = UINT32_MAX;

	for (uint32_t k = 0; k < grid->count; k++) {
		const struct cosma_grid_item *item = &grid->items[k];

		if (item->from > instant && item->from < next)
			next = item->from;
		if (item->from <= instant && item->to >= instant && item->to < end)
			end = item->to;
	}
	return end < next || next == UINT32_MAX;
}

/* Instants at which an item begins, and one ends before another begins. */
static int list_instants(struct grid *grid)
{
	uint32_t filled = 0;

	for (uint32_t i = 0; i < grid->count; i++) {
		uint32_t instant = grid->items[i].from;
		bool known = !is_full(grid, instant);

		for (uint32_t k = 0; k < i && !known; k++)
			known = grid->items[k].from == instant;
		if (known)
			continue;
		for (uint32_t k = 0; k < grid->count; k++) {
			if (grid->items[k].from > instant || grid->items[k].to < instant)
				continue;
			if (npuplan_grow(&grid->there.item, filled, sizeof(uint32_t)))
				return -ENOMEM;
			grid->there.item[filled++] = k;
		}
		grid->there.first[++grid->instants] = filled;
	}
	return 0;
}

static void grid_fini(struct grid *grid)
{
	npuplan_pool_free(&grid->pool);
	free(grid->other.item);
	free(grid->there.item);
}

static int grid_init(struct grid *grid, int64_t unit)
{
	struct npuplan_pool *pool = &grid->pool;
	int err;

	grid->size = npuplan_pool_take(pool, grid->count, sizeof(*grid->size));
	grid->places = npuplan_pool_take(pool, grid->count, sizeof(*grid->places));
	grid->placed = npuplan_pool_take(pool, grid->count, sizeof(*grid->placed));
	grid->other.first = npuplan_pool_take(pool, (size_t)grid->count + 1, sizeof(uint32_t));
	grid->there.first = npuplan_pool_take(pool, (size_t)grid->count + 1, sizeof(uint32_t));
	if (pool->failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < grid->count; i++) {
		grid->size[i] = (uint32_t)(grid->items[i].size / unit);
		grid->places[i] = rows_between(0, (int64_t)grid->rows - grid->size[i]);
	}
	err = list_others(grid);
	err = err ? err : list_instants(grid);
	if (err)
		return err;
	/* Each item is placed once on the way, and changes others only. */
	grid->changes =
		npuplan_pool_take(pool, grid->other.first[grid->count], sizeof(*grid->changes));
	return grid->changes ? 0 : -ENOMEM;
}

/* ------------------------------------------------------------------- the search */

/*
 * struct matching - rows for the items of one row each
 * @owner: per row, the one that has it so far, plus one
 */
struct matching {
	const struct grid *grid;
	const uint32_t *item;
	uint8_t owner[MAX_ROWS];
	uint64_t tried;
};

/* A row for number @k, for which others may move to another row. */
static bool match(struct matching *matching, uint32_t k)
{
	uint64_t rows;

	while (rows = matching->grid->places[matching->item[k]] & ~matching->tried, rows) {
		uint32_t row = (uint32_t)__builtin_ctzll(rows);

		matching->tried |= 1ull << row;
		if (matching->owner[row] && !match(matching, matching->owner[row] - 1u))
			continue;
		matching->owner[row] = (uint8_t)(k + 1);
		return true;
	}
	return false;
}

/* Whether an instant's items may still have room: enough rows, and one for each small one. */
static bool has_room(struct grid *grid, uint32_t instant)
{
	uint32_t item[MAX_ROWS], count = 0, needed = 0;
	struct matching matching = { .grid = grid, .item = item };

	cosma_for_each(k, grid->there, instant) {
		uint32_t i = grid->there.item[k];

		needed += grid->size[i];
		if (needed > grid->rows)
			return false;
		if (grid->size[i] == 1 && !grid->placed[i])
			item[count++] = i;
	}
	grid->work += 1 + count;
	for (uint32_t k = 0; k < count; k++) {
		matching.tried = 0;
		if (!match(&matching, k))
			return false;
	}
	return true;
}

/* Item @i begins at @row: what that leaves to others. False if one has no place. */
static bool put(struct grid *grid, uint32_t i, uint32_t row)
{
	grid->placed[i] = true;
	cosma_for_each(k, grid->other, i) {
		uint32_t j = grid->other.item[k];
		uint64_t places = grid->places[j] & ~rows_between((int64_t)row - grid->size[j] + 1,
								  (int64_t)row + grid->size[i] - 1);

		if (grid->placed[j] || places == grid->places[j])
			continue;
		grid->changes[grid->change_count++] =
			(struct change){ .item = j, .places = grid->places[j] };
		grid->places[j] = places;
		if (!places)
			return false;
	}
	grid->work += grid->other.first[i + 1] - grid->other.first[i];
	return true;
}

static void take_back(struct grid *grid, uint32_t i, uint32_t change_count)
{
	while (grid->change_count > change_count) {
		const struct change *change = &grid->changes[--grid->change_count];

		grid->places[change->item] = change->places;
	}
	grid->placed[i] = false;
}

/* Instants at which something has changed since @change_count. */
static bool all_have_room(struct grid *grid, uint32_t change_count)
{
	for (uint32_t t = 0; t < grid->instants; t++) {
		bool touched = false;

		cosma_for_each(k, grid->there, t)
			for (uint32_t c = change_count; c < grid->change_count && !touched; c++)
				touched = grid->changes[c].item == grid->there.item[k];
		if (touched && !has_room(grid, t))
			return false;
	}
	return true;
}

/* The largest one that is left; of several the one with the fewest places. */
static uint32_t choose_item(const struct grid *grid)
{
	uint32_t best = NPUMEM_NONE;
	int fewest = 0;

	for (uint32_t i = 0; i < grid->count; i++) {
		int places;

		if (grid->placed[i])
			continue;
		if (best != NPUMEM_NONE && grid->size[i] < grid->size[best])
			break;
		places = __builtin_popcountll(grid->places[i]);
		if (best != NPUMEM_NONE && places >= fewest)
			continue;
		best = i;
		fewest = places;
	}
	return best;
}

static enum answer search(struct grid *grid, uint32_t left)
{
	uint32_t i = choose_item(grid), changes = grid->change_count;
	uint64_t places;

	if (i == NPUMEM_NONE)
		return FITS;
	grid->work += grid->count;
	places = grid->places[i];
	/* Upside down is as good. */
	if (left == grid->count)
		places &= rows_between(0, (int64_t)(grid->rows - grid->size[i]) / 2);
	for (; places; places &= places - 1) {
		enum answer answer = NONE_FITS;

		if (grid->work > grid->work_limit)
			return LIMIT;
		if (put(grid, i, (uint32_t)__builtin_ctzll(places)) && all_have_room(grid, changes))
			answer = search(grid, left - 1);
		if (answer != NONE_FITS)
			return answer;
		take_back(grid, i, changes);
	}
	return NONE_FITS;
}

int cosma_grid_refute(struct cosma_grid_item *items, uint32_t count, int64_t capacity,
		      uint64_t work_limit, uint64_t *work, bool *refuted)
{
	struct grid grid = { .items = items, .work_limit = work_limit };
	int64_t unit;
	int err;

	*refuted = false;
	qsort(items, count, sizeof(*items), by_size);
	unit = choose_unit(items, count, capacity);
	if (!unit)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		if (items[i].size % unit == 0 && items[i].size)
			items[grid.count++] = items[i];
	if (grid.count > MAX_ITEMS)
		return 0;
	grid.rows = (uint32_t)(capacity / unit);
	err = grid_init(&grid, unit);
	if (!err)
		*refuted = search(&grid, grid.count) == NONE_FITS;
	*work += grid.work;
	grid_fini(&grid);
	return err;
}
