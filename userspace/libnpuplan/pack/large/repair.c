// SPDX-License-Identifier: MIT
#include "repair.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "alive.h"
#include "pack/search/search.h"

#define NONE	  UINT32_MAX
/* Free items at most; of more, some are chosen. */
#define MOST_FREE 1024

/* Items. */
struct list {
	uint32_t *at;
	uint32_t count;
	uint32_t capacity;
};

/*
 * struct npuplan_repair - kept for many runs
 * @found: items of a window
 * @high: items above the top aimed at; @high_at: per item, where in it, or NONE
 * @inside, @crossing: of a window: items within, and those that stick out of it
 * @free: items to pack anew; @is_free: per item
 * @around: obstacles
 * @marks: first and last sections of free items, ascending: the sections of the
 *	small problem
 * @small, @items: the small problem: free items, then obstacles
 * @small_at: where the search puts them
 */
struct npuplan_repair {
	const struct npuplan_units *units;
	struct npuplan_alive alive;
	uint32_t *found;
	struct list high;
	uint32_t *high_at;
	struct list inside;
	struct list crossing;
	struct list free;
	struct list around;
	bool *is_free;
	uint32_t *marks;
	uint32_t mark_count;
	struct npuplan_units small;
	struct npuplan_pack_problem problem;
	struct npuplan_item *items;
	int64_t *small_at;
	uint32_t room;
	uint64_t random;
	uint64_t top;
	uint64_t work;
};

static int add(struct list *list, uint32_t item)
{
	int err = npuplan_reserve(&list->at, &list->capacity, list->count, 64, sizeof(*list->at));

	if (err)
		return err;
	list->at[list->count++] = item;
	return 0;
}

static uint64_t next_random(struct npuplan_repair *repair)
{
	return npuplan_random(&repair->random) >> 16;
}

int npuplan_repair_new(struct npuplan_repair **out, const struct npuplan_units *units)
{
	size_t n = units->problem->item_count;
	struct npuplan_repair *repair = npuplan_calloc(1, sizeof(*repair));

	*out = repair;
	if (!repair)
		return -ENOMEM;
	repair->units = units;
	repair->random = 88172645463325252;
	repair->found = npuplan_malloc(n * sizeof(*repair->found) + 1);
	repair->high_at = npuplan_malloc(n * sizeof(*repair->high_at) + 1);
	repair->is_free = npuplan_calloc(n + 1, sizeof(*repair->is_free));
	if (!repair->found || !repair->high_at || !repair->is_free ||
	    npuplan_alive_init(&repair->alive, &units->sections, n)) {
		npuplan_repair_free(repair);
		*out = NULL;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		repair->high_at[i] = NONE;
	return 0;
}

void npuplan_repair_free(struct npuplan_repair *repair)
{
	if (!repair)
		return;
	npuplan_alive_fini(&repair->alive);
	npuplan_free_all(repair->found, repair->high.at, repair->high_at, repair->inside.at,
			 repair->crossing.at, repair->free.at, repair->around.at, repair->is_free,
			 repair->marks, repair->small.sections.first, repair->small.sections.end,
			 repair->small.size, repair->small.align, repair->small.fixed,
			 repair->items, repair->small_at, repair);
}

/* Whether an item is higher than it should be. */
static bool is_high(const struct npuplan_repair *repair, const int64_t *at, uint32_t item)
{
	return (uint64_t)at[item] * repair->units->unit + repair->units->problem->items[item].size >
	       repair->top;
}

static int set_high(struct npuplan_repair *repair, uint32_t item, bool high)
{
	uint32_t where = repair->high_at[item], last;

	if (high == (where != NONE))
		return 0;
	if (high) {
		repair->high_at[item] = repair->high.count;
		return add(&repair->high, item);
	}
	last = repair->high.at[--repair->high.count];
	repair->high.at[where] = last;
	repair->high_at[last] = where;
	repair->high_at[item] = NONE;
	return 0;
}

/* Items in some of the sections [first, end), by first section: within, and sticking out. */
static int look(struct npuplan_repair *repair, uint32_t first, uint32_t end)
{
	const struct npuplan_sections *sections = &repair->units->sections;
	uint32_t count = npuplan_alive_in(&repair->alive, first, end, repair->found, &repair->work);
	int err = 0;

	repair->inside.count = repair->crossing.count = 0;
	for (uint32_t k = 0; k < count && !err; k++) {
		uint32_t item = repair->found[k];

		if (sections->first[item] >= first && sections->end[item] <= end)
			err = add(&repair->inside, item);
		else
			err = add(&repair->crossing, item);
	}
	return err;
}

/* About @wanted items around @item. */
static int choose(struct npuplan_repair *repair, uint32_t item, uint32_t wanted)
{
	const struct npuplan_sections *sections = &repair->units->sections;
	uint32_t first = sections->first[item], end = sections->end[item];
	uint32_t reach = 1, all;
	bool stick_out = next_random(repair) % 2;
	int err;

	for (;;) {
		err = look(repair, first, end);
		if (err)
			return err;
		if (repair->inside.count >= wanted || (!first && end == sections->count))
			break;
		/* Unevenly to both sides. */
		reach += next_random(repair) % (2 * reach);
		all = next_random(repair) % (reach + 1);
		first = first > all ? first - all : 0;
		end = sections->count - end > reach - all ? end + reach - all : sections->count;
	}
	repair->free.count = 0;
	err = add(&repair->free, item);
	all = repair->inside.count + (stick_out ? repair->crossing.count : 0);
	for (uint32_t i = 0; i < all && !err; i++) {
		uint32_t other = i < repair->inside.count ?
					 repair->inside.at[i] :
					 repair->crossing.at[i - repair->inside.count];

		if (other != item && repair->units->fixed[other] < 0 &&
		    (all <= MOST_FREE || next_random(repair) % all < MOST_FREE))
			err = add(&repair->free, other);
	}
	return err;
}

static int by_value(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Index of the last mark that is no greater than @section. */
static uint32_t mark_of(const struct npuplan_repair *repair, uint32_t section)
{
	uint32_t low = 0, high = repair->mark_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (repair->marks[middle] <= section)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

static int reserve(struct npuplan_repair *repair, uint32_t count)
{
	struct npuplan_units *small = &repair->small;
	size_t room = 2 * (size_t)count;

	if (count <= repair->room)
		return 0;
	npuplan_free_all(repair->marks, small->sections.first, small->sections.end, small->size,
			 small->align, small->fixed, repair->items, repair->small_at);
	repair->room = 0;
	repair->marks = npuplan_malloc(2 * room * sizeof(*repair->marks));
	small->sections.first = npuplan_malloc(room * sizeof(*small->sections.first));
	small->sections.end = npuplan_malloc(room * sizeof(*small->sections.end));
	small->size = npuplan_malloc(room * sizeof(*small->size));
	small->align = npuplan_malloc(room * sizeof(*small->align));
	small->fixed = npuplan_malloc(room * sizeof(*small->fixed));
	repair->items = npuplan_malloc(room * sizeof(*repair->items));
	repair->small_at = npuplan_malloc(room * sizeof(*repair->small_at));
	if (!repair->marks || !small->sections.first || !small->sections.end || !small->size ||
	    !small->align || !small->fixed || !repair->items || !repair->small_at)
		return -ENOMEM;
	repair->room = room;
	return 0;
}

/*
 * The small problem. Between two marks all sections are alike for the free items,
 * and an obstacle in one of them is in the way of all that cross it.
 */
static int build(struct npuplan_repair *repair, const int64_t *at)
{
	const struct npuplan_units *units = repair->units;
	const struct npuplan_sections *sections = &units->sections;
	struct npuplan_units *small = &repair->small;
	int64_t capacity = (int64_t)((repair->top + units->padding) / units->unit);
	uint32_t first = UINT32_MAX, end = 0, count = 0, marks = 0;
	int err = 0;

	for (uint32_t f = 0; f < repair->free.count; f++) {
		uint32_t item = repair->free.at[f];

		repair->is_free[item] = true;
		first = sections->first[item] < first ? sections->first[item] : first;
		end = sections->end[item] > end ? sections->end[item] : end;
	}
	err = look(repair, first, end);
	repair->around.count = 0;
	for (uint32_t i = 0; i < repair->inside.count + repair->crossing.count && !err; i++) {
		uint32_t item = i < repair->inside.count ?
					repair->inside.at[i] :
					repair->crossing.at[i - repair->inside.count];

		if (!repair->is_free[item] && at[item] < capacity &&
		    (uint64_t)at[item] <= repair->top / units->unit)
			err = add(&repair->around, item);
	}
	for (uint32_t f = 0; f < repair->free.count; f++)
		repair->is_free[repair->free.at[f]] = false;
	if (!err)
		err = reserve(repair, repair->free.count + repair->around.count);
	if (err)
		return err;
	for (uint32_t f = 0; f < repair->free.count; f++) {
		repair->marks[marks++] = sections->first[repair->free.at[f]];
		repair->marks[marks++] = sections->end[repair->free.at[f]];
	}
	qsort(repair->marks, marks, sizeof(*repair->marks), by_value);
	repair->mark_count = 0;
	for (uint32_t m = 0; m < marks; m++)
		if (!m || repair->marks[m] != repair->marks[m - 1])
			repair->marks[repair->mark_count++] = repair->marks[m];
	small->sections.count = repair->mark_count - 1;
	small->sections.memberships = 0;
	for (uint32_t i = 0; i < repair->free.count + repair->around.count; i++, count++) {
		bool is_free = i < repair->free.count;
		uint32_t item = is_free ? repair->free.at[i] :
					  repair->around.at[i - repair->free.count];
		uint32_t begin = sections->first[item], stop = sections->end[item];

		begin = begin < first ? first : begin;
		stop = stop > end ? end : stop;
		small->sections.first[i] = mark_of(repair, begin);
		small->sections.end[i] = mark_of(repair, stop - 1) + 1;
		small->sections.memberships += small->sections.end[i] - small->sections.first[i];
		small->size[i] = units->size[item];
		small->align[i] = units->align[item];
		small->fixed[i] = -1;
		repair->items[i] = units->problem->items[item];
		if (is_free)
			continue;
		small->fixed[i] = at[item];
		small->align[i] = 1;
		repair->items[i].size = 0;
		if (small->size[i] > capacity - at[item])
			small->size[i] = capacity - at[item];
	}
	repair->problem.items = repair->items;
	repair->problem.item_count = count;
	small->problem = &repair->problem;
	small->unit = units->unit;
	small->padding = units->padding;
	repair->work += 8 * (uint64_t)count;
	return 0;
}

static struct npuplan_strategy pick(struct npuplan_repair *repair, uint64_t *nodes)
{
	static const uint8_t ranks[2] = { NPUPLAN_RANK_TOTAL_AREA, NPUPLAN_RANK_AREA };
	static const double slack_weights[4] = { 0.1, 0.3, 1, 2 };
	uint64_t random = next_random(repair);
	struct npuplan_strategy strategy = {
		.section_rule = NPUPLAN_SECTION_BLEND,
		.rank_rule = ranks[random % 2],
		.value_rule = NPUPLAN_VALUE_FLUSH,
		.seed = (uint32_t)next_random(repair) | 1,
		.slack_weight = slack_weights[random / 2 % 4],
		.count_weight = 0.005,
	};

	*nodes = (uint64_t)repair->free.count << (1 + random / 8 % 3);
	return strategy;
}

/* One neighbourhood. 1 packed anew; 0 or -EAGAIN not; -ENOMEM */
static int attempt(struct npuplan_repair *repair, int64_t *at, struct npuplan_pack *run)
{
	uint32_t item = repair->high.at[next_random(repair) % repair->high.count];
	uint32_t wanted = 8u << next_random(repair) % 8;
	struct npuplan_search *search = NULL;
	struct npuplan_strategy strategy;
	uint64_t nodes;
	/* Nothing can be done about a fixed one. */
	int result = repair->units->fixed[item] < 0 ? choose(repair, item, wanted) : -EAGAIN;

	if (!result)
		result = build(repair, at);
	if (!result)
		result = npuplan_search_new(&search, &repair->small);
	repair->work += wanted;
	if (result)
		return result == -ENOMEM ? result : -EAGAIN;
	strategy = pick(repair, &nodes);
	result = npuplan_search_run(search, &strategy, repair->top, NULL, nodes, repair->small_at,
				    run);
	npuplan_search_free(search);
	for (uint32_t f = 0; f < repair->free.count && result == 1; f++) {
		uint32_t moved = repair->free.at[f];

		at[moved] = repair->small_at[f];
		if (set_high(repair, moved, is_high(repair, at, moved)))
			result = -ENOMEM;
	}
	return result;
}

int npuplan_repair_run(struct npuplan_repair *repair, int64_t *at, uint64_t top, uint64_t work,
		       struct npuplan_pack *run)
{
	uint32_t n = repair->units->problem->item_count;
	uint64_t end = run->work + work;
	int result = 0;

	repair->top = top;
	for (uint32_t i = 0; i < n && !result; i++)
		result = set_high(repair, i, is_high(repair, at, i));
	run->work += n;
	while (repair->high.count) {
		if (result == -ENOMEM)
			return result;
		if (run->work >= end || npuplan_pack_over(run))
			return -EAGAIN;
		result = attempt(repair, at, run);
		run->work += repair->work;
		repair->work = 0;
	}
	return result == -ENOMEM ? result : 1;
}
