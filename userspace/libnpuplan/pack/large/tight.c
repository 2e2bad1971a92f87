// SPDX-License-Identifier: MIT
/*
 * Packing the tight items first: those that live at an instant at which nearly as many bytes live
 * as ever do. They are few, and packed alone they come near their bound. The others live where
 * there is room to spare, so that first fit finds places for them about these. Those that it puts
 * too high all the same are tight, too: they are packed with the tight ones the next time, until
 * none of the others is too high.
 */
#include "base/sorted.h"
#include "large.h"
#include "pack/search/searches.h"
#include "pack/greedy/first_fit.h"

/*
 * The most work units for each item of the problem that packing the tight items once may take when
 * the levels are gone through for the first time; each time after that they are four times as many.
 * The most tight items that a search packs.
 */
#define TIGHT_WORK  100
#define MOST_TIMES  8
#define TIGHT_ITEMS 4096
/* The most times that the tight items of one level are packed; others join them each time. */
#define MOST_GROWTH 16
/* Work units between two looks at the clock. */
#define ASK_EVERY   20000

/*
 * The levels to begin from: items are tight where more bytes live than so many per cent of the
 * bound; at 100 none is.
 */
static const uint8_t levels[] = { 98, 99, 96, 100, 94, 92, 90, 87, 84, 80 };
#define LEVEL_COUNT (sizeof(levels) / sizeof(levels[0]))

/* Numbers of roots and squares (npuplan_tight_key()) of orders that do well. */
static const uint8_t orders[][2] = { { 2, 3 }, { 1, 4 }, { 2, 4 }, { 1, 2 } };
#define ORDER_COUNT (sizeof(orders) / sizeof(orders[0]))

/*
 * struct npuplan_tight - the tight items of one level, and the others
 * @exact: the packer for the tight items, if they are few
 * @breadths: per item, its breadth
 * @is_tight: per item, whether it is tight
 * @items, @at: the tight items, and where they are packed; @numbers: their numbers in the whole
 *	problem
 * @top: top of the tight items' packing
 * @turns: the other items: the greater ~key is, the sooner one is placed
 * @high: those of them that came to lie above @top and above what the caller wants
 * @offsets: addresses of all items
 * @begun: how many levels were begun; @grows: the last of them is not at its end
 * @grown: how many times its tight items were packed
 */
struct npuplan_tight {
	npuplan_pack_fn *exact;
	const uint64_t *breadths;
	bool *is_tight;
	struct npuplan_item *items;
	uint64_t *at;
	uint32_t *numbers;
	uint32_t count;
	uint64_t top;
	struct npuplan_keyed *turns;
	uint32_t *high;
	uint32_t high_count;
	uint64_t *offsets;
	unsigned int begun;
	unsigned int grown;
	bool grows;
};

int npuplan_tight_new(struct npuplan_tight **out, uint32_t count, npuplan_pack_fn *exact,
		      const uint64_t *breadths, struct npuplan_pool *pool)
{
	struct npuplan_tight *tight = npuplan_pool_take(pool, 1, sizeof(*tight));
	size_t n = count;

	*out = tight;
	if (!tight)
		return -ENOMEM;
	*tight = (struct npuplan_tight){
		.exact = exact,
		.breadths = breadths,
		.is_tight = npuplan_pool_take(pool, n, sizeof(*tight->is_tight)),
		.items = npuplan_pool_take(pool, n, sizeof(*tight->items)),
		.at = npuplan_pool_take(pool, n, sizeof(*tight->at)),
		.numbers = npuplan_pool_take(pool, n, sizeof(*tight->numbers)),
		.turns = npuplan_pool_take(pool, n, sizeof(*tight->turns)),
		.high = npuplan_pool_take(pool, n, sizeof(*tight->high)),
		.offsets = npuplan_pool_take(pool, n, sizeof(*tight->offsets)),
	};
	return pool->failed ? -ENOMEM : 0;
}

static void begin_level(struct npuplan_tight *tight, const struct npuplan_pack *call)
{
	uint64_t level = levels[tight->begun++ % LEVEL_COUNT];
	uint64_t limit = call->lower_bound / 100 * level + call->lower_bound % 100 * level / 100;

	for (uint32_t i = 0; i < call->problem->item_count; i++)
		tight->is_tight[i] = tight->breadths[i] > limit || call->problem->items[i].fixed;
	tight->grown = 0;
	tight->grows = true;
}

static void list_tight(struct npuplan_tight *tight, const struct npuplan_pack *call)
{
	tight->count = 0;
	for (uint32_t i = 0; i < call->problem->item_count; i++) {
		if (!tight->is_tight[i])
			continue;
		tight->items[tight->count] = call->problem->items[i];
		tight->numbers[tight->count++] = i;
	}
}

static int on_progress(void *context, const struct npuplan_pack_progress *progress)
{
	return npuplan_pack_stopped(context);
}

/*
 * Pack the tight items. Returns 1 if that gave a packing that is low enough to be of use, else 0;
 * -ENOMEM.
 */
static int pack_tight(struct npuplan_tight *tight, struct npuplan_pack *call)
{
	struct npuplan_pack_problem problem = {
		.items = tight->items,
		.item_count = tight->count,
		.alignment = call->problem->alignment,
	};
	unsigned int times = (tight->begun - 1) / LEVEL_COUNT;
	struct npuplan_pack_options options = {
		.work_limit = TIGHT_WORK * (uint64_t)call->problem->item_count
			      << (times < MOST_TIMES ? 2 * times : 2 * MOST_TIMES),
		.progress = on_progress,
		.context = call,
	};
	struct npuplan_packer packer = {
		.name = "valley",
		.pack = npuplan_pack_valley,
		.argument = NPUPLAN_VALLEY_MODES,
	};
	struct npuplan_pack_result result;
	struct npuplan_error error;
	int err;

	tight->top = 0;
	if (!tight->count)
		return 1;
	/* About fixed items the valley packer is no better than first fit of all, a quick one. */
	if (tight->count > TIGHT_ITEMS && npuplan_any_fixed(tight->items, tight->count))
		return 0;
	if (tight->count <= TIGHT_ITEMS)
		packer = (struct npuplan_packer){ .name = "exact", .pack = tight->exact };
	if (call->effort.work_limit - call->work < options.work_limit)
		options.work_limit = call->effort.work_limit - call->work + 1;
	err = npuplan_pack_by(&packer, &problem, &options, tight->at, &result, &error);
	if (err)
		return err;
	call->work += result.work;
	tight->top = result.top;
	return result.top < call->top;
}

/* List the items that are not tight in the order in which they are placed; returns their number. */
static uint32_t list_others(struct npuplan_tight *tight, const struct npuplan_pack *call)
{
	const uint8_t *order = orders[(tight->begun - 1) % ORDER_COUNT];
	uint32_t others = 0;

	for (uint32_t i = 0; i < call->problem->item_count; i++) {
		const struct npuplan_item *item = &call->problem->items[i];

		if (tight->is_tight[i])
			continue;
		tight->turns[others++] = (struct npuplan_keyed){
			.key = ~npuplan_tight_key(item->size, (uint64_t)item->end - item->start + 1,
						  order[0], tight->breadths[i], call->lower_bound,
						  order[1]),
			.item = i,
		};
	}
	npuplan_sort_keyed(tight->turns, others);
	return others;
}

/* Place the other items by first fit; -EINTR: the call is over. */
static int place_others(struct npuplan_tight *tight, struct npuplan_pack *call,
			struct npuplan_fit *fit, uint64_t aim)
{
	uint32_t others = list_others(tight, call);
	uint64_t asked = call->work;
	int err = 0;

	tight->high_count = 0;
	for (uint32_t k = 0; k < others && !err; k++) {
		uint32_t i = tight->turns[k].item;
		uint64_t address;

		err = npuplan_fit_lowest(fit, i, call->alignments[i], 0, &address, &call->work);
		if (!err)
			err = npuplan_fit_put(fit, i, address);
		if (!err && address + call->problem->items[i].size > aim)
			tight->high[tight->high_count++] = i;
		if (!err && call->work - asked >= ASK_EVERY) {
			asked = call->work;
			if (npuplan_pack_stopped(call))
				err = -EINTR;
		}
	}
	return err;
}

/* Place all items, the tight ones where they are packed. */
static int place(struct npuplan_tight *tight, struct npuplan_pack *call)
{
	uint64_t capacity = call->problem->capacity;
	uint64_t aim = capacity > call->lower_bound ? capacity : call->lower_bound;
	struct npuplan_fit *fit;
	int err = npuplan_fit_new(&fit, &call->conflicts, tight->offsets);

	if (err)
		return err;
	for (uint32_t k = 0; k < tight->count && !err; k++)
		err = npuplan_fit_put(fit, tight->numbers[k], tight->at[k]);
	if (!err)
		err = place_others(tight, call, fit, tight->top > aim ? tight->top : aim);
	if (!err)
		npuplan_pack_offer(call, tight->offsets);
	npuplan_fit_free(fit);
	return err;
}

int npuplan_tight_run(struct npuplan_tight *tight, uint64_t work, struct npuplan_pack *call)
{
	uint64_t end = call->work + work;
	int err = 0;

	while (!err && call->work < end && !npuplan_pack_over(call)) {
		if (!tight->grows)
			begin_level(tight, call);
		/* Where they are packed too high, or are none, this is all that is done. */
		call->work += call->problem->item_count / NPUPLAN_ITEMS_A_UNIT + 1;
		list_tight(tight, call);
		err = pack_tight(tight, call);
		/* More tight items are packed no lower, so this level is of no more use. */
		tight->grows = err == 1;
		if (err == 1)
			err = place(tight, call);
		if (err || !tight->grows)
			continue;
		for (uint32_t k = 0; k < tight->high_count; k++)
			tight->is_tight[tight->high[k]] = true;
		tight->grows = tight->high_count && ++tight->grown < MOST_GROWTH;
	}
	return err == -EINTR ? 0 : err;
}
