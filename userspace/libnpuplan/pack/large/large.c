// SPDX-License-Identifier: MIT
/*
 * The packer of many items, where nothing may look at all pairs or search all items. It places
 * items by first fit about the tight part (tight.c), and then improves windows (refit.c) and
 * neighbourhoods (repair.c) of the best packing, whose cost grows with their size and not with the
 * number of items.
 */

#include "large.h"
#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"

/* Work units if the user asks for no limit: some ten seconds. */
#define LARGE_WORK   1000000000ull
/*
 * Work units for each item that windows and neighbourhoods have in the first round, and the growth
 * from round to round in per cent.
 */
#define ROUND_WORK   1000
#define ROUND_GROWTH 125
/* Packing the tight part first has so many times as many. */
#define TIGHT_SHARE  4
/*
 * The aim is 1 / 2^part of the way from the best packing to the bound; these are the least and the
 * greatest part.
 */
#define LEAST_PART   1
#define MOST_PART    7

/*
 * struct npuplan_large - one call of the packer
 * @breadths: per item, its breadth; @most: the greatest of them
 * @round: number of rounds so far; windows have @work units in the next one
 * @ordered: first fit has been tried in all orders
 * @part: the next aim is (gap >> part) below the best packing
 * @pool: memory of all arrays, also of those of @tight, @refit and @repair
 * @at: scratch array for a packing
 */
struct npuplan_large {
	struct npuplan_pack *call;
	struct npuplan_pool pool;
	struct npuplan_granules granules;
	struct npuplan_alive alive;
	struct npuplan_tight *tight;
	struct npuplan_refit *refit;
	struct npuplan_repair *repair;
	uint64_t *breadths;
	uint64_t most;
	unsigned int round;
	uint64_t work;
	bool ordered;
	unsigned int part;
	int64_t *at;
};

static uint64_t aim(const struct npuplan_large *large)
{
	const struct npuplan_pack *call = large->call;
	uint64_t best = npuplan_granules_top_to(&large->granules, call->top - 1);
	uint64_t capacity = call->problem->capacity;
	uint64_t least = capacity > call->lower_bound ? capacity : call->lower_bound;

	if (best <= least)
		return best;
	return npuplan_granules_top_to(&large->granules, best - ((best - least) >> large->part));
}

/*
 * Lower the packing again and again, by windows or by neighbourhoods; where one aim fails, the next
 * one is nearer.
 */
static int improve(struct npuplan_large *large, bool windows, uint64_t work)
{
	struct npuplan_pack *call = large->call;
	uint64_t end = call->work + work;
	int err = 0;

	while (!npuplan_pack_over(call) && call->work < end) {
		uint64_t top = aim(large), before = call->top;

		/* Where an aim fails at once, this is all that is done. */
		call->work += call->problem->item_count / NPUPLAN_ITEMS_A_UNIT + 1;
		for (uint32_t i = 0; i < call->problem->item_count; i++)
			large->at[i] = (int64_t)(call->offsets[i] / large->granules.granule);
		if (windows)
			err = npuplan_refit_run(large->refit, large->at, top, work / 2, call);
		else
			err = npuplan_repair_run(large->repair, large->at, top, work / 2, call);
		if (err == -ENOMEM)
			return err;
		/* Even if the aim was not reached, the packing may be lower than before. */
		npuplan_granules_offer(&large->granules, call, large->at);
		if (err == 1 && large->part > LEAST_PART)
			large->part--;
		else if (err != 1 && call->top == before)
			large->part = large->part < MOST_PART ? large->part + 1 : LEAST_PART + 1;
	}
	return 0;
}

/* The order of first fit in a round: that by size has been tried before. */
static int order_of(unsigned int round)
{
	return round == NPUPLAN_BY_SIZE ? NPUPLAN_BY_SIZE_DURATION : (int)round;
}

int npuplan_large_run(struct npuplan_large *large)
{
	struct npuplan_pack *call = large->call;
	int err = 0;

	for (; !err && !npuplan_pack_over(call); large->round++) {
		err = npuplan_tight_run(large->tight, TIGHT_SHARE * large->work, call);
		if (!err && large->round < NPUPLAN_ORDER_COUNT && !large->ordered &&
		    !npuplan_pack_over(call))
			err = npuplan_pack_first_fit(call, order_of(large->round));
		/* If there is no packing yet, there is nothing to improve. */
		if (err || call->top == UINT64_MAX)
			continue;
		err = improve(large, false, large->work / 4);
		if (!err)
			err = improve(large, true, large->work);
		large->work += large->work * (ROUND_GROWTH - 100) / 100;
	}
	return err;
}

void npuplan_large_free(struct npuplan_large *large)
{
	if (!large)
		return;
	npuplan_granules_fini(&large->granules);
	npuplan_pool_free(&large->pool);
	npuplan_free(large);
}

static int prepare(struct npuplan_large *large, npuplan_pack_fn *exact)
{
	struct npuplan_pack *call = large->call;
	size_t n = call->problem->item_count;
	int err = npuplan_granules_init(&large->granules, call);

	large->at = npuplan_pool_take(&large->pool, n, sizeof(*large->at));
	large->breadths = npuplan_pool_take(&large->pool, n, sizeof(*large->breadths));
	if (!err && large->pool.failed)
		err = -ENOMEM;
	if (!err)
		err = npuplan_granules_prove(&large->granules, call);
	if (!err)
		err = npuplan_breadths(call->problem->items, n, large->breadths, &large->most);
	if (!err)
		err = npuplan_alive_init(&large->alive, &large->granules.sections, n, &large->pool);
	if (!err)
		err = npuplan_tight_new(&large->tight, n, exact, large->breadths, &large->pool);
	if (!err)
		err = npuplan_repair_new(&large->repair, &large->granules, &large->alive,
					 &large->pool);
	if (!err)
		err = npuplan_refit_new(&large->refit, &large->granules, &large->alive,
					large->breadths, large->most, &large->pool);
	return err;
}

int npuplan_large_new(struct npuplan_large **out, struct npuplan_pack *call, npuplan_pack_fn *exact,
		      bool ordered)
{
	struct npuplan_large *large = npuplan_calloc(1, sizeof(*large));
	int err;

	*out = large;
	if (!large)
		return -ENOMEM;
	large->call = call;
	large->part = LEAST_PART + 2;
	large->work = ROUND_WORK * (uint64_t)call->problem->item_count;
	large->ordered = ordered;
	err = prepare(large, exact);
	if (err) {
		npuplan_large_free(large);
		*out = NULL;
	}
	return err;
}

int npuplan_pack_large(struct npuplan_pack *call, npuplan_pack_fn *exact)
{
	struct npuplan_large *large;
	int err = npuplan_large_new(&large, call, exact, call->packer->incumbent);

	if (!call->options->work_limit)
		call->effort.work_limit = LARGE_WORK;
	if (!err)
		err = npuplan_large_run(large);
	npuplan_large_free(large);
	return err;
}
