// SPDX-License-Identifier: MIT
#include "refit.h"

#include <stdlib.h>

#include "pack/greedy/first_fit.h"
#include "base/random.h"
#include "alive.h"
#include "pack/greedy/occupancy.h"

#define NONE	  UINT32_MAX
/* Times that one window is packed, each time with those sooner that were too high. */
#define ROUNDS	  6
/* Work between two looks at the clock. */
#define ASK_EVERY 20000

/* The greater @value, the sooner @item, of the window, is placed. */
struct turn {
	unsigned __int128 value;
	uint32_t item;
};

/*
 * struct npuplan_refit - kept for many runs
 * @breadths, @most: most bytes live with an item; the greatest of these
 * @high: items above the top aimed at; @high_at: per item, where in it, or NONE
 * @in: items of the window, those to place anew first
 * @small: the same, for an occupancy of their own
 * @turns: of those to place anew
 * @found: where they came to lie, per item of the window
 */
struct npuplan_refit {
	const struct npuplan_units *units;
	const uint64_t *breadths;
	struct npuplan_alive alive;
	uint64_t most;
	uint32_t *high;
	uint32_t high_count;
	uint32_t *high_at;
	uint32_t *in;
	uint32_t *around;
	struct npuplan_item *small;
	struct turn *turns;
	int64_t *found;
	uint64_t random;
	int64_t capacity;
	uint64_t work;
};

static uint64_t next_random(struct npuplan_refit *refit)
{
	return npuplan_random(&refit->random) >> 16;
}

int npuplan_refit_new(struct npuplan_refit **out, const struct npuplan_units *units,
		      const uint64_t *breadths)
{
	size_t n = units->problem->item_count;
	struct npuplan_refit *refit = npuplan_calloc(1, sizeof(*refit));

	*out = refit;
	if (!refit)
		return -ENOMEM;
	refit->units = units;
	refit->breadths = breadths;
	refit->random = 88172645463325252;
	refit->high = npuplan_malloc(n * sizeof(*refit->high) + 1);
	refit->high_at = npuplan_malloc(n * sizeof(*refit->high_at) + 1);
	refit->in = npuplan_malloc(n * sizeof(*refit->in) + 1);
	refit->around = npuplan_malloc(n * sizeof(*refit->around) + 1);
	refit->small = npuplan_malloc(n * sizeof(*refit->small) + 1);
	refit->turns = npuplan_malloc(n * sizeof(*refit->turns) + 1);
	refit->found = npuplan_malloc(n * sizeof(*refit->found) + 1);
	if (!refit->high || !refit->high_at || !refit->in || !refit->around || !refit->small ||
	    !refit->turns || !refit->found ||
	    npuplan_alive_init(&refit->alive, &units->sections, n)) {
		npuplan_refit_free(refit);
		*out = NULL;
		return -ENOMEM;
	}
	refit->most = 1;
	for (size_t i = 0; i < n; i++) {
		refit->high_at[i] = NONE;
		if (breadths[i] > refit->most)
			refit->most = breadths[i];
	}
	return 0;
}

void npuplan_refit_free(struct npuplan_refit *refit)
{
	if (!refit)
		return;
	npuplan_alive_fini(&refit->alive);
	npuplan_free_all(refit->high, refit->high_at, refit->in, refit->around, refit->small,
			 refit->turns, refit->found, refit);
}

/* Units that an item at @at sticks out above the top aimed at. */
static int64_t above(const struct npuplan_refit *refit, uint32_t item, int64_t at)
{
	int64_t end = at + refit->units->size[item];

	return end > refit->capacity ? end - refit->capacity : 0;
}

static void set_high(struct npuplan_refit *refit, uint32_t item, bool high)
{
	uint32_t where = refit->high_at[item], last;

	if (high == (where != NONE))
		return;
	if (high) {
		refit->high_at[item] = refit->high_count;
		refit->high[refit->high_count++] = item;
		return;
	}
	last = refit->high[--refit->high_count];
	refit->high[where] = last;
	refit->high_at[last] = where;
	refit->high_at[item] = NONE;
}

static void add_small(struct npuplan_refit *refit, uint32_t item, uint32_t count)
{
	const struct npuplan_sections *sections = &refit->units->sections;

	refit->in[count] = item;
	refit->small[count] = (struct npuplan_item){
		.size = (uint64_t)refit->units->size[item],
		.align = 1,
		.start = sections->first[item],
		.end = sections->end[item] - 1,
	};
}

/*
 * A window about @item: all that lives in it, or all
 * that lives within. What lives together with these follows. Returns how many are to
 * be placed anew; @total: all.
 */
static uint32_t choose(struct npuplan_refit *refit, uint32_t item, uint32_t *total)
{
	const struct npuplan_sections *sections = &refit->units->sections;
	uint64_t length = sections->end[item] - sections->first[item];
	uint64_t reach = 1 + next_random(refit) % (length << next_random(refit) % 5);
	uint32_t first = sections->first[item] > reach ? sections->first[item] - reach : 0;
	uint64_t limit = sections->end[item] + reach;
	uint32_t end = limit < sections->count ? limit : sections->count;
	bool within = next_random(refit) % 2;
	uint32_t found = npuplan_alive_in(&refit->alive, first, end, refit->around, &refit->work);
	uint32_t count = 0, begin = first, stop = end;

	for (uint32_t k = 0; k < found; k++) {
		uint32_t other = refit->around[k];
		bool inside = sections->first[other] >= first && sections->end[other] <= end;

		if (refit->units->fixed[other] >= 0 || (within && !inside && other != item))
			continue;
		add_small(refit, other, count++);
		begin = sections->first[other] < begin ? sections->first[other] : begin;
		stop = sections->end[other] > stop ? sections->end[other] : stop;
	}
	*total = count;
	found = npuplan_alive_in(&refit->alive, begin, stop, refit->around, &refit->work);
	for (uint32_t k = 0; k < found; k++) {
		uint32_t other = refit->around[k];
		bool inside = sections->first[other] >= first && sections->end[other] <= end;
		bool meets = sections->first[other] < end && sections->end[other] > first;

		if (refit->units->fixed[other] < 0 && meets && (!within || inside || other == item))
			continue;
		add_small(refit, other, (*total)++);
	}
	return count;
}

static int by_value(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* One of the orders that do well, blurred. */
static void draw_order(struct npuplan_refit *refit, uint32_t count)
{
	uint64_t random = next_random(refit);
	unsigned int roots = random % 3, squares = random / 3 % 6;
	uint64_t blur = 1 + (random / 18 % 4) * 40;

	for (uint32_t k = 0; k < count; k++) {
		const struct npuplan_item *item = &refit->small[k];

		refit->turns[k] = (struct turn){
			.value = npuplan_tight_key(item->size, item->end - item->start + 1, roots,
						   refit->breadths[refit->in[k]], refit->most,
						   squares) *
				 (256 + next_random(refit) % blur),
			.item = k,
		};
	}
}

/* First fit in the order of turns; @excess: units that stick out, in all. -EINTR */
static int place(struct npuplan_refit *refit, const int64_t *at, uint32_t count, uint32_t total,
		 uint64_t *excess, struct npuplan_pack *run)
{
	struct npuplan_occupancy occupancy;
	int err = npuplan_occupancy_init(&occupancy, refit->small, total);

	if (err)
		return err;
	for (uint32_t k = count; k < total && !err; k++)
		err = npuplan_occupancy_put(&occupancy, k, (uint64_t)at[refit->in[k]],
					    refit->small[k].size);
	refit->work += 8 * (uint64_t)total;
	*excess = 0;
	for (uint32_t t = 0; t < count && !err; t++) {
		uint32_t k = refit->turns[t].item, item = refit->in[k];
		uint64_t low;

		if (refit->work >= ASK_EVERY) {
			run->work += refit->work;
			refit->work = 0;
			if (npuplan_pack_stopped(run)) {
				err = -EINTR;
				break;
			}
		}
		low = npuplan_occupancy_lowest(&occupancy, k, refit->small[k].size,
					       (uint32_t)refit->units->align[item], 0, false,
					       &refit->work);

		refit->found[k] = (int64_t)low;
		*excess += (uint64_t)above(refit, item, refit->found[k]);
		err = npuplan_occupancy_put(&occupancy, k, low, refit->small[k].size);
	}
	npuplan_occupancy_fini(&occupancy);
	return err;
}

/* Packs one window, drawn at random, anew. */
static int attempt(struct npuplan_refit *refit, int64_t *at, struct npuplan_pack *run)
{
	uint32_t item = refit->high[next_random(refit) % refit->high_count];
	uint32_t total, count;
	uint64_t before = 0, excess;
	int err = 0;

	refit->work++;
	/* Nothing can be done about a fixed one. */
	if (refit->units->fixed[item] >= 0)
		return 0;
	count = choose(refit, item, &total);
	for (uint32_t k = 0; k < count; k++)
		before += (uint64_t)above(refit, refit->in[k], at[refit->in[k]]);
	draw_order(refit, count);
	for (int round = 0; round < ROUNDS; round++) {
		qsort(refit->turns, count, sizeof(*refit->turns), by_value);
		err = place(refit, at, count, total, &excess, run);
		if (err)
			return err;
		if (excess <= before) {
			for (uint32_t k = 0; k < count; k++) {
				at[refit->in[k]] = refit->found[k];
				set_high(refit, refit->in[k],
					 above(refit, refit->in[k], refit->found[k]));
			}
			before = excess;
			if (!excess)
				break;
		}
		for (uint32_t t = 0; t < count; t++)
			if (above(refit, refit->in[refit->turns[t].item],
				  refit->found[refit->turns[t].item]))
				refit->turns[t].value *= 2;
	}
	return 0;
}

int npuplan_refit_run(struct npuplan_refit *refit, int64_t *at, uint64_t top, uint64_t work,
		      struct npuplan_pack *run)
{
	uint32_t n = refit->units->problem->item_count;
	uint64_t end = run->work + work;
	int err = 0;

	refit->capacity = (int64_t)((top + refit->units->padding) / refit->units->unit);
	for (uint32_t i = 0; i < n; i++)
		set_high(refit, i, above(refit, i, at[i]));
	run->work += n;
	while (refit->high_count && !err) {
		if (run->work >= end || npuplan_pack_over(run))
			return -EAGAIN;
		err = attempt(refit, at, run);
		run->work += refit->work;
		refit->work = 0;
	}
	if (err == -EINTR)
		return -EAGAIN;
	return err ? err : 1;
}
