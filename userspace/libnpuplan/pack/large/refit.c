// SPDX-License-Identifier: MIT
/*
 * Refitting: lower the top of a packing of many items by packing windows of time anew by first fit.
 *
 * As a rule, the items that end above the top aimed at are in a few stretches of time, those in
 * which most bytes live. The items that live in a window about such a stretch, or only those that
 * live within it, are taken out and placed anew, in an order that is drawn at random from those
 * that do well. Items that come to lie too high are placed sooner in the next round. The new
 * packing of the window is kept if fewer granules are too high than before. So each tight stretch
 * is put right on its own, where a new packing of all items would have to be lucky everywhere at
 * once.
 */
#include "large.h"

#include "pack/greedy/first_fit.h"
#include "base/random.h"
#include "pack/greedy/occupancy.h"

/* The number of times that one window is packed. */
#define ROUNDS	  6
/* Work units between two looks at the clock. */
#define ASK_EVERY 20000

/*
 * struct npuplan_refit - arrays for packing windows anew, which are kept for many searches
 * @breadths, @most: per item, its breadth; the greatest of them
 * @high: items above the top aimed at
 * @in: items of the window; those to place anew come first
 * @small: the items of the window again, for an occupancy of their own
 * @turns: the items to place anew: the greater ~key is, the sooner
 * @found: per item of the window, where it came to lie
 */
struct npuplan_refit {
	const struct npuplan_granules *granules;
	const uint64_t *breadths;
	const struct npuplan_alive *alive;
	uint64_t most;
	struct npuplan_high high;
	uint32_t *in;
	uint32_t *around;
	struct npuplan_item *small;
	struct npuplan_keyed *turns;
	int64_t *found;
	uint64_t random;
	int64_t capacity;
	uint64_t work;
};

static uint64_t next_random(struct npuplan_refit *refit)
{
	return npuplan_random(&refit->random) >> 16;
}

int npuplan_refit_new(struct npuplan_refit **out, const struct npuplan_granules *granules,
		      const struct npuplan_alive *alive, const uint64_t *breadths, uint64_t most,
		      struct npuplan_pool *pool)
{
	size_t n = granules->problem->item_count;
	struct npuplan_refit *refit = npuplan_pool_take(pool, 1, sizeof(*refit));

	*out = refit;
	if (!refit)
		return -ENOMEM;
	*refit = (struct npuplan_refit){
		.granules = granules,
		.alive = alive,
		.breadths = breadths,
		.most = most ? most : 1,
		.random = NPUPLAN_RANDOM_SEED,
		.high.items = npuplan_pool_take(pool, n, sizeof(*refit->high.items)),
		.high.where = npuplan_pool_take(pool, n, sizeof(*refit->high.where)),
		.in = npuplan_pool_take(pool, n, sizeof(*refit->in)),
		.around = npuplan_pool_take(pool, n, sizeof(*refit->around)),
		.small = npuplan_pool_take(pool, n, sizeof(*refit->small)),
		.turns = npuplan_pool_take(pool, n, sizeof(*refit->turns)),
		.found = npuplan_pool_take(pool, n, sizeof(*refit->found)),
	};
	return pool->failed ? -ENOMEM : 0;
}

/* The granules by which an item that lies at @at ends above the top aimed at. */
static int64_t above(const struct npuplan_refit *refit, uint32_t item, int64_t at)
{
	int64_t end = at + refit->granules->size[item];

	return end > refit->capacity ? end - refit->capacity : 0;
}

static void add_small(struct npuplan_refit *refit, uint32_t item, uint32_t count)
{
	const struct npuplan_sections *sections = &refit->granules->sections;

	refit->in[count] = item;
	refit->small[count] = (struct npuplan_item){
		.size = (uint64_t)refit->granules->size[item],
		.align = 1,
		.start = sections->first[item],
		.end = sections->end[item] - 1,
	};
}

/*
 * Choose a window about @item: the items that live in it, or only those that live within it, are to
 * be placed anew, and the function returns how many they are. The items that live together with
 * these follow in the list, which has @total in all.
 */
static uint32_t choose(struct npuplan_refit *refit, uint32_t item, uint32_t *total)
{
	const struct npuplan_sections *sections = &refit->granules->sections;
	uint64_t length = sections->end[item] - sections->first[item];
	uint64_t reach = 1 + next_random(refit) % (length << next_random(refit) % 5);
	uint32_t first = sections->first[item] > reach ? sections->first[item] - reach : 0;
	uint64_t limit = sections->end[item] + reach;
	uint32_t end = limit < sections->count ? limit : sections->count;
	bool within = next_random(refit) % 2;
	uint32_t found = npuplan_alive_in(refit->alive, first, end, refit->around, &refit->work);
	uint32_t count = 0, begin = first, stop = end;

	for (uint32_t k = 0; k < found; k++) {
		uint32_t other = refit->around[k];
		bool inside = npuplan_alive_within(refit->alive, other, first, end);

		if (refit->granules->fixed[other] >= 0 || (within && !inside && other != item))
			continue;
		add_small(refit, other, count++);
		begin = sections->first[other] < begin ? sections->first[other] : begin;
		stop = sections->end[other] > stop ? sections->end[other] : stop;
	}
	*total = count;
	found = npuplan_alive_in(refit->alive, begin, stop, refit->around, &refit->work);
	for (uint32_t k = 0; k < found; k++) {
		uint32_t other = refit->around[k];
		bool inside = npuplan_alive_within(refit->alive, other, first, end);
		bool meets = sections->first[other] < end && sections->end[other] > first;

		if (refit->granules->fixed[other] < 0 && meets &&
		    (!within || inside || other == item))
			continue;
		add_small(refit, other, (*total)++);
	}
	return count;
}

/* Draw one of the orders that do well, with its keys blurred. */
static void draw_order(struct npuplan_refit *refit, uint32_t count)
{
	uint64_t random = next_random(refit);
	unsigned int roots = random % 3, squares = random / 3 % 6;
	uint64_t blur = 1 + (random / 18 % 4) * 40;

	for (uint32_t k = 0; k < count; k++) {
		const struct npuplan_item *item = &refit->small[k];

		refit->turns[k] = (struct npuplan_keyed){
			.key = ~(npuplan_tight_key(item->size, item->end - item->start + 1, roots,
						   refit->breadths[refit->in[k]], refit->most,
						   squares) *
				 (256 + next_random(refit) % blur)),
			.item = k,
		};
	}
}

/*
 * Place the items by first fit in the order of @turns; @excess: out: the granules above the top
 * aimed at, in all. -EINTR: the call is over; -ENOMEM.
 */
static int place(struct npuplan_refit *refit, const int64_t *at, uint32_t count, uint32_t total,
		 uint64_t *excess, struct npuplan_pack *call)
{
	struct npuplan_occupancy occupancy;
	int err = npuplan_occupancy_init(&occupancy, refit->small, total);

	if (err)
		return err;
	for (uint32_t k = count; k < total && !err; k++)
		err = npuplan_occupancy_put(&occupancy, k, (uint64_t)at[refit->in[k]],
					    refit->small[k].size);
	refit->work += 16 * (uint64_t)total;
	*excess = 0;
	for (uint32_t t = 0; t < count && !err; t++) {
		uint32_t k = refit->turns[t].item, item = refit->in[k];
		uint64_t low;

		if (refit->work >= ASK_EVERY) {
			call->work += refit->work;
			refit->work = 0;
			if (npuplan_pack_stopped(call)) {
				err = -EINTR;
				break;
			}
		}
		low = npuplan_occupancy_lowest(&occupancy, k, refit->small[k].size,
					       (uint32_t)refit->granules->align[item], 0, false,
					       &refit->work);

		refit->found[k] = (int64_t)low;
		*excess += (uint64_t)above(refit, item, refit->found[k]);
		err = npuplan_occupancy_put(&occupancy, k, low, refit->small[k].size);
	}
	npuplan_occupancy_fini(&occupancy);
	return err;
}

/* Pack one window, which is drawn at random, anew. */
static int attempt(struct npuplan_refit *refit, int64_t *at, struct npuplan_pack *call)
{
	uint32_t item = refit->high.items[next_random(refit) % refit->high.count];
	uint32_t total, count;
	uint64_t before = 0, excess;
	int err = 0;

	refit->work++;
	/* A fixed item cannot be moved. */
	if (refit->granules->fixed[item] >= 0)
		return 0;
	count = choose(refit, item, &total);
	for (uint32_t k = 0; k < count; k++)
		before += (uint64_t)above(refit, refit->in[k], at[refit->in[k]]);
	draw_order(refit, count);
	for (int round = 0; round < ROUNDS; round++) {
		npuplan_sort_keyed(refit->turns, count);
		err = place(refit, at, count, total, &excess, call);
		if (err)
			return err;
		if (excess <= before) {
			for (uint32_t k = 0; k < count; k++) {
				at[refit->in[k]] = refit->found[k];
				npuplan_high_set(&refit->high, refit->in[k],
						 above(refit, refit->in[k], refit->found[k]));
			}
			before = excess;
			if (!excess)
				break;
		}
		for (uint32_t t = 0; t < count; t++)
			if (above(refit, refit->in[refit->turns[t].item],
				  refit->found[refit->turns[t].item]))
				refit->turns[t].key = ~(2 * ~refit->turns[t].key);
	}
	return 0;
}

int npuplan_refit_run(struct npuplan_refit *refit, int64_t *at, uint64_t top, uint64_t work,
		      struct npuplan_pack *call)
{
	uint32_t n = refit->granules->problem->item_count;
	uint64_t end = call->work + work;
	int err = 0;

	refit->capacity = (int64_t)((top + refit->granules->padding) / refit->granules->granule);
	for (uint32_t i = 0; i < n; i++)
		npuplan_high_set(&refit->high, i, above(refit, i, at[i]));
	call->work += n;
	while (refit->high.count && !err) {
		if (call->work >= end || npuplan_pack_over(call))
			return -EAGAIN;
		err = attempt(refit, at, call);
		call->work += refit->work;
		refit->work = 0;
	}
	if (err == -EINTR)
		return -EAGAIN;
	return err ? err : 1;
}
