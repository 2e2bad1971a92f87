// SPDX-License-Identifier: MIT
/*
 * Many items: nothing that looks at all pairs, nor a search of all of them. First fit
 * about the tight part (tight.c), then windows (refit.c) and neighbourhoods (repair.c)
 * of the best packing, whose cost grows with these and not with the number of items.
 */

#include "large.h"
#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"

/* Work if no limit is asked for: some ten seconds. */
#define LARGE_WORK   1000000000ull
/* Work an item of windows and neighbourhoods, a round; and its growth, in percent. */
#define ROUND_WORK   1000
#define ROUND_GROWTH 125
/* What is aimed at: this part of the way to the bound, in two to the power of. */
#define LEAST_PART   1
#define MOST_PART    7

/*
 * struct large - one run
 * @exact: packs the tight items, if they are few
 * @breadths: per item, most bytes live at one instant of its life; @most: of all items
 * @part: the next aim is gap >> part below the best packing
 * @pool: of all arrays, of @refit's and @repair's, too
 * @at: scratch array for a packing
 */
struct large {
	struct npuplan_pack *run;
	npuplan_pack_fn *exact;
	struct npuplan_pool pool;
	struct npuplan_units units;
	struct npuplan_alive alive;
	struct npuplan_refit *refit;
	struct npuplan_repair *repair;
	uint64_t *breadths;
	uint64_t most;
	unsigned int part;
	int64_t *at;
};

static uint64_t aim(const struct large *large)
{
	const struct npuplan_pack *run = large->run;
	uint64_t best = npuplan_units_top_to(&large->units, run->top - 1);
	uint64_t capacity = run->problem->capacity;
	uint64_t least = capacity > run->lower_bound ? capacity : run->lower_bound;

	if (best <= least)
		return best;
	return npuplan_units_top_to(&large->units, best - ((best - least) >> large->part));
}

/* Lower and lower by windows or by neighbourhoods; nearer aims where one has failed. */
static int improve(struct large *large, bool windows, uint64_t work)
{
	struct npuplan_pack *run = large->run;
	uint64_t end = run->work + work;
	int err = 0;

	while (!npuplan_pack_over(run) && run->work < end) {
		uint64_t top = aim(large), before = run->top;

		for (uint32_t i = 0; i < run->problem->item_count; i++)
			large->at[i] = (int64_t)(run->offsets[i] / large->units.unit);
		if (windows)
			err = npuplan_refit_run(large->refit, large->at, top, work / 2, run);
		else
			err = npuplan_repair_run(large->repair, large->at, top, work / 2, run);
		if (err == -ENOMEM)
			return err;
		/* What was not reached may yet be lower than before. */
		npuplan_units_offer(&large->units, run, large->at);
		if (err == 1 && large->part > LEAST_PART)
			large->part--;
		else if (err != 1 && run->top == before)
			large->part = large->part < MOST_PART ? large->part + 1 : LEAST_PART + 1;
	}
	return 0;
}

static int rounds(struct large *large)
{
	struct npuplan_pack *run = large->run;
	uint64_t work = ROUND_WORK * (uint64_t)run->problem->item_count;
	unsigned int levels = npuplan_any_fixed(run->problem->items, run->problem->item_count) ?
				      0 :
				      npuplan_pack_tight_levels();
	int err = 0;

	for (unsigned int round = 0; !err && !npuplan_pack_over(run); round++) {
		if (round < levels)
			err = npuplan_pack_tight_first(run, large->exact, large->breadths, round);
		if (!err && round < NPUPLAN_ORDER_COUNT && !run->packer->incumbent &&
		    !npuplan_pack_over(run))
			err = npuplan_pack_first_fit(run, (int)round);
		/* Without any packing there is nothing to improve. */
		if (err || run->top == UINT64_MAX)
			continue;
		err = improve(large, false, work / 4);
		if (!err)
			err = improve(large, true, work);
		work += work * (ROUND_GROWTH - 100) / 100;
	}
	return err;
}

int npuplan_pack_large(struct npuplan_pack *run, npuplan_pack_fn *exact)
{
	size_t n = run->problem->item_count;
	struct large large = { .run = run, .exact = exact, .part = LEAST_PART + 2 };
	int err = npuplan_units_init(&large.units, run);

	if (!run->options->work_limit)
		run->effort.work_limit = LARGE_WORK;
	large.at = npuplan_pool_take(&large.pool, n, sizeof(*large.at));
	large.breadths = npuplan_pool_take(&large.pool, n, sizeof(*large.breadths));
	if (!err && large.pool.failed)
		err = -ENOMEM;
	if (!err)
		err = npuplan_breadths(run->problem->items, n, large.breadths, &large.most);
	if (!err)
		err = npuplan_alive_init(&large.alive, &large.units.sections, n, &large.pool);
	if (!err)
		err = npuplan_repair_new(&large.repair, &large.units, &large.alive, &large.pool);
	if (!err)
		err = npuplan_refit_new(&large.refit, &large.units, &large.alive, large.breadths,
					large.most, &large.pool);
	if (!err)
		err = rounds(&large);
	npuplan_units_fini(&large.units);
	npuplan_pool_free(&large.pool);
	return err;
}
