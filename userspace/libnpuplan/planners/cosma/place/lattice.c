// SPDX-License-Identifier: MIT
/* This file searches the addresses of a lattice for a placement. */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "lattice.h"

/* Rows of a lattice at most, since domains are the bits of a word. */
#define MAX_ROWS  64
/* Items at most; with more of them a search is without hope. */
#define MAX_ITEMS 1024

/** struct domain_change - the domain that an item had before */
struct domain_change {
	uint32_t item;
	uint64_t domain;
};

/*
 * struct lattice - the search
 * @items: @count items, largest first
 * @rows: of the capacity
 * @size: per item, rows
 * @domain: per item, rows that it may begin at
 * @placed: per item
 * @other: per item, the items that are there at the same time
 * @there: per instant, the items that are there
 * @instants: those with the most items: every set of items that are there at once is part of one of
 *	theirs
 * @changes: @change_count changes, to be undone
 * @work: units so far
 */
struct lattice {
	struct npuplan_pool pool;
	const struct cosma_lattice_item *items;
	uint32_t count;
	uint32_t rows;
	uint32_t *size;
	uint64_t *domain;
	bool *placed;
	struct cosma_list other;
	struct cosma_list there;
	uint32_t instants;
	struct domain_change *changes;
	uint32_t change_count;
	uint64_t work;
	uint64_t work_limit;
};

/* How a search ended. */
enum lattice_outcome { NONE_FITS, FITS, LIMIT };

static uint64_t rows_between(int64_t low, int64_t high)
{
	if (high < 0 || low > high)
		return 0;
	low = low < 0 ? 0 : low;
	return (high >= 63 ? UINT64_MAX : (1ull << (high + 1)) - 1) & ~((1ull << low) - 1);
}

static bool overlap(const struct cosma_lattice_item *a, const struct cosma_lattice_item *b)
{
	return a->from <= b->to && b->from <= a->to;
}

/* ------------------------------------------------------------------- the lattice */

static int by_size(const void *a, const void *b)
{
	const struct cosma_lattice_item *x = a, *y = b;

	return npuplan_compare(y->size, x->size)	 ?:
		       npuplan_compare(x->from, y->from) ?:
							   npuplan_compare(x->to, y->to);
}

/* Returns the size whose multiples take most bytes for most of the time. */
static int64_t choose_unit(const struct cosma_lattice_item *items, uint32_t count, int64_t capacity)
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

static int list_others(struct lattice *lattice)
{
	uint32_t filled = 0;
	int err = 0;

	for (uint32_t i = 0; i < lattice->count; i++) {
		for (uint32_t k = 0; k < lattice->count && !err; k++)
			if (k != i && overlap(&lattice->items[i], &lattice->items[k]))
				err = npuplan_append(&lattice->other.item, &filled, &k, 1);
		lattice->other.first[i + 1] = filled;
	}
	return err;
}

/* Whether an item that is there at @instant ends before another one begins. */
static bool is_full(const struct lattice *lattice, uint32_t instant)
{
	uint32_t next = UINT32_MAX, end = UINT32_MAX;

	for (uint32_t k = 0; k < lattice->count; k++) {
		const struct cosma_lattice_item *item = &lattice->items[k];

		if (item->from > instant && item->from < next)
			next = item->from;
		if (item->from <= instant && item->to >= instant && item->to < end)
			end = item->to;
	}
	return end < next || next == UINT32_MAX;
}

/* Lists the instants at which an item begins, and one ends before another begins. */
static int list_instants(struct lattice *lattice)
{
	uint32_t filled = 0;
	int err = 0;

	for (uint32_t i = 0; i < lattice->count; i++) {
		uint32_t instant = lattice->items[i].from;
		bool known = !is_full(lattice, instant);

		for (uint32_t k = 0; k < i && !known; k++)
			known = lattice->items[k].from == instant;
		if (known)
			continue;
		for (uint32_t k = 0; k < lattice->count && !err; k++)
			if (lattice->items[k].from <= instant && lattice->items[k].to >= instant)
				err = npuplan_append(&lattice->there.item, &filled, &k, 1);
		lattice->there.first[++lattice->instants] = filled;
	}
	return err;
}

static void lattice_fini(struct lattice *lattice)
{
	npuplan_pool_free(&lattice->pool);
	npuplan_free(lattice->other.item);
	npuplan_free(lattice->there.item);
}

static int lattice_init(struct lattice *lattice, int64_t unit)
{
	struct npuplan_pool *pool = &lattice->pool;
	int err;

	lattice->size = npuplan_pool_take(pool, lattice->count, sizeof(*lattice->size));
	lattice->domain = npuplan_pool_take(pool, lattice->count, sizeof(*lattice->domain));
	lattice->placed = npuplan_pool_take(pool, lattice->count, sizeof(*lattice->placed));
	lattice->other.first =
		npuplan_pool_take(pool, (size_t)lattice->count + 1, sizeof(uint32_t));
	lattice->there.first =
		npuplan_pool_take(pool, (size_t)lattice->count + 1, sizeof(uint32_t));
	if (pool->failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < lattice->count; i++) {
		lattice->size[i] = (uint32_t)(lattice->items[i].size / unit);
		lattice->domain[i] = rows_between(0, (int64_t)lattice->rows - lattice->size[i]);
	}
	err = list_others(lattice);
	err = err ? err : list_instants(lattice);
	if (err)
		return err;
	/* Each item is placed once on the way, and changes others only. */
	lattice->changes = npuplan_pool_take(pool, lattice->other.first[lattice->count],
					     sizeof(*lattice->changes));
	return lattice->changes ? 0 : -ENOMEM;
}

/* ------------------------------------------------------------------- the search */

/*
 * struct matching - a matching of rows and the items of one row each
 * @item: the items
 * @owner: per row, the number of the item that has it so far, plus one
 * @tried: rows that were tried for the item at hand
 */
struct matching {
	const struct lattice *lattice;
	const uint32_t *item;
	uint8_t owner[MAX_ROWS];
	uint64_t tried;
};

/* Finds a row for number @k, for which others may move to other rows. */
static bool match(struct matching *matching, uint32_t k)
{
	uint64_t rows;

	while (rows = matching->lattice->domain[matching->item[k]] & ~matching->tried, rows) {
		uint32_t row = (uint32_t)__builtin_ctzll(rows);

		matching->tried |= 1ull << row;
		if (matching->owner[row] && !match(matching, matching->owner[row] - 1u))
			continue;
		matching->owner[row] = (uint8_t)(k + 1);
		return true;
	}
	return false;
}

/*
 * Whether the items of an instant may still have room: there are enough rows, and one for each
 * small item.
 */
static bool has_room(struct lattice *lattice, uint32_t instant)
{
	uint32_t item[MAX_ROWS], count = 0, needed = 0;
	struct matching matching = { .lattice = lattice, .item = item };

	cosma_for_each(k, lattice->there, instant) {
		uint32_t i = lattice->there.item[k];

		needed += lattice->size[i];
		if (needed > lattice->rows)
			return false;
		if (lattice->size[i] == 1 && !lattice->placed[i])
			item[count++] = i;
	}
	lattice->work += 1 + count;
	for (uint32_t k = 0; k < count; k++) {
		matching.tried = 0;
		if (!match(&matching, k))
			return false;
	}
	return true;
}

/*
 * Lets item @i begin at @row, and takes that from the domains of others; false if one has no place
 * left.
 */
static bool put(struct lattice *lattice, uint32_t i, uint32_t row)
{
	lattice->placed[i] = true;
	cosma_for_each(k, lattice->other, i) {
		uint32_t j = lattice->other.item[k];
		uint64_t domain = lattice->domain[j] &
				  ~rows_between((int64_t)row - lattice->size[j] + 1,
						(int64_t)row + lattice->size[i] - 1);

		if (lattice->placed[j] || domain == lattice->domain[j])
			continue;
		lattice->changes[lattice->change_count++] =
			(struct domain_change){ .item = j, .domain = lattice->domain[j] };
		lattice->domain[j] = domain;
		if (!domain)
			return false;
	}
	lattice->work += lattice->other.first[i + 1] - lattice->other.first[i];
	return true;
}

static void take_back(struct lattice *lattice, uint32_t i, uint32_t change_count)
{
	while (lattice->change_count > change_count) {
		const struct domain_change *change = &lattice->changes[--lattice->change_count];

		lattice->domain[change->item] = change->domain;
	}
	lattice->placed[i] = false;
}

/* Whether there is room at all instants at which something has changed since @change_count. */
static bool all_have_room(struct lattice *lattice, uint32_t change_count)
{
	for (uint32_t t = 0; t < lattice->instants; t++) {
		bool touched = false;

		cosma_for_each(k, lattice->there, t)
			for (uint32_t c = change_count; c < lattice->change_count && !touched; c++)
				touched = lattice->changes[c].item == lattice->there.item[k];
		if (touched && !has_room(lattice, t))
			return false;
	}
	return true;
}

/* Returns the largest item that is not placed; of several the one with the smallest domain. */
static uint32_t choose_item(const struct lattice *lattice)
{
	uint32_t best = NPUMEM_NONE;
	int fewest = 0;

	for (uint32_t i = 0; i < lattice->count; i++) {
		int rows;

		if (lattice->placed[i])
			continue;
		if (best != NPUMEM_NONE && lattice->size[i] < lattice->size[best])
			break;
		rows = __builtin_popcountll(lattice->domain[i]);
		if (best != NPUMEM_NONE && rows >= fewest)
			continue;
		best = i;
		fewest = rows;
	}
	return best;
}

static enum lattice_outcome search(struct lattice *lattice, uint32_t left)
{
	uint32_t i = choose_item(lattice), changes = lattice->change_count;
	uint64_t domain;

	if (i == NPUMEM_NONE)
		return FITS;
	lattice->work += lattice->count;
	domain = lattice->domain[i];
	/* A placement upside down is as good. */
	if (left == lattice->count)
		domain &= rows_between(0, (int64_t)(lattice->rows - lattice->size[i]) / 2);
	for (; domain; domain &= domain - 1) {
		enum lattice_outcome outcome = NONE_FITS;

		if (lattice->work > lattice->work_limit)
			return LIMIT;
		if (put(lattice, i, (uint32_t)__builtin_ctzll(domain)) &&
		    all_have_room(lattice, changes))
			outcome = search(lattice, left - 1);
		if (outcome != NONE_FITS)
			return outcome;
		take_back(lattice, i, changes);
	}
	return NONE_FITS;
}

int cosma_lattice_refute(struct cosma_lattice_item *items, uint32_t count, int64_t capacity,
			 uint64_t work_limit, uint64_t *work, bool *refuted)
{
	struct lattice lattice = { .items = items, .work_limit = work_limit };
	int64_t unit;
	int err;

	*refuted = false;
	qsort(items, count, sizeof(*items), by_size);
	unit = choose_unit(items, count, capacity);
	if (!unit)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		if (items[i].size % unit == 0 && items[i].size)
			items[lattice.count++] = items[i];
	if (lattice.count > MAX_ITEMS)
		return 0;
	lattice.rows = (uint32_t)(capacity / unit);
	err = lattice_init(&lattice, unit);
	if (!err)
		*refuted = search(&lattice, lattice.count) == NONE_FITS;
	*work += lattice.work;
	lattice_fini(&lattice);
	return err;
}
