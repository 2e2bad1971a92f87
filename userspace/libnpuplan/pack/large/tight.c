// SPDX-License-Identifier: MIT
/*
 * Packing the tight items first: those that live at an instant at which nearly as many bytes live
 * as ever do. They are few, and packed alone they come near their bound. The others live where
 * there is room to spare, so that first fit finds places for them about these.
 */
#include "base/sorted.h"
#include "large.h"
#include "pack/search/searches.h"
#include "pack/greedy/first_fit.h"

/*
 * The most work units for each item of the problem that packing the tight items may take, and the
 * most tight items that a search packs.
 */
#define TIGHT_WORK   1000
#define TIGHT_ITEMS  4096
#define TIGHT_ORDERS 4
/* Work units between two looks at the clock. */
#define ASK_EVERY    20000

/*
 * The levels: items are tight where more bytes live than so many per cent of the bound; at 100 none
 * is.
 */
static const uint8_t levels[] = { 96, 100, 98, 94, 92, 99, 90, 87, 84, 80 };

/* Numbers of roots and squares (npuplan_tight_key()) of orders that do well. */
static const uint8_t orders[TIGHT_ORDERS][2] = { { 2, 3 }, { 1, 4 }, { 2, 4 }, { 1, 2 } };

/*
 * struct tight_part - the tight items of one level, and the others
 * @exact: the packer for the tight items, if they are few
 * @breadths: per item, its breadth
 * @items, @at: the tight items, and where they are packed; @numbers: their numbers in the whole
 *	problem
 * @turns: the other items: the greater ~key is, the sooner one is placed
 * @offsets: addresses of all items
 */
struct tight_part {
	struct npuplan_pack *call;
	npuplan_pack_fn *exact;
	const uint64_t *breadths;
	struct npuplan_item *items;
	uint64_t *at;
	uint32_t *numbers;
	uint32_t count;
	struct npuplan_keyed *turns;
	uint64_t *offsets;
};

static int on_progress(void *context, const struct npuplan_pack_progress *progress)
{
	return npuplan_pack_stopped(context);
}

/*
 * Pack the tight items. Returns 1 if that gave a packing that is low enough to be of use, else 0;
 * -ENOMEM.
 */
static int pack_tight(struct tight_part *tight, unsigned int level)
{
	struct npuplan_pack *call = tight->call;
	uint64_t limit = call->lower_bound / 100 * level + call->lower_bound % 100 * level / 100;
	struct npuplan_pack_problem problem = {
		.items = tight->items,
		.alignment = call->problem->alignment,
	};
	struct npuplan_pack_options options = {
		.work_limit = TIGHT_WORK * (uint64_t)call->problem->item_count,
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

	tight->count = 0;
	for (uint32_t i = 0; i < call->problem->item_count; i++) {
		if (tight->breadths[i] <= limit)
			continue;
		tight->items[tight->count] = call->problem->items[i];
		tight->numbers[tight->count++] = i;
	}
	if (!tight->count)
		return 1;
	problem.item_count = tight->count;
	if (tight->count <= TIGHT_ITEMS)
		packer = (struct npuplan_packer){ .name = "exact", .pack = tight->exact };
	if (call->effort.work_limit - call->work < options.work_limit)
		options.work_limit = call->effort.work_limit - call->work + 1;
	err = npuplan_pack_by(&packer, &problem, &options, tight->at, &result, &error);
	if (err)
		return err;
	call->work += result.work;
	return result.top < call->top;
}

/* Place the other items by first fit, in one order. */
static int place_others(struct tight_part *tight, unsigned int roots, unsigned int squares)
{
	struct npuplan_pack *call = tight->call;
	const struct npuplan_item *items = call->problem->items;
	uint32_t n = call->problem->item_count, others = 0;
	uint64_t top = 0, asked = call->work;
	struct npuplan_fit *fit;
	int err = npuplan_fit_new(&fit, &call->conflicts, tight->offsets);

	if (err)
		return err;
	for (uint32_t k = 0; k < tight->count && !err; k++) {
		uint32_t i = tight->numbers[k];

		err = npuplan_fit_put(fit, i, tight->at[k]);
		if (top < tight->at[k] + items[i].size)
			top = tight->at[k] + items[i].size;
	}
	for (uint32_t i = 0, k = 0; i < n; i++) {
		if (k < tight->count && tight->numbers[k] == i) {
			k++;
			continue;
		}
		tight->turns[others++] = (struct npuplan_keyed){
			.key = ~npuplan_tight_key(
				items[i].size, (uint64_t)items[i].end - items[i].start + 1, roots,
				tight->breadths[i], call->lower_bound, squares),
			.item = i,
		};
	}
	npuplan_sort_keyed(tight->turns, others);
	/* A packing that is no lower than the best so far is of no use. */
	for (uint32_t k = 0; k < others && !err && top < call->top; k++) {
		uint32_t i = tight->turns[k].item;
		uint64_t address;

		err = npuplan_fit_lowest(fit, i, call->alignments[i], 0, &address, &call->work);
		if (!err)
			err = npuplan_fit_put(fit, i, address);
		if (!err && top < address + items[i].size)
			top = address + items[i].size;
		if (call->work - asked >= ASK_EVERY) {
			asked = call->work;
			if (npuplan_pack_stopped(call))
				break;
		}
	}
	if (!err && !call->effort.stopped && top < call->top)
		npuplan_pack_offer(call, tight->offsets);
	npuplan_fit_free(fit);
	return err;
}

int npuplan_pack_tight_first(struct npuplan_pack *call, npuplan_pack_fn *exact,
			     const uint64_t *breadths, unsigned int k)
{
	size_t n = call->problem->item_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct tight_part tight = {
		.call = call,
		.exact = exact,
		.breadths = breadths,
		.items = npuplan_pool_take(&pool, n, sizeof(*tight.items)),
		.at = npuplan_pool_take(&pool, n, sizeof(*tight.at)),
		.numbers = npuplan_pool_take(&pool, n, sizeof(*tight.numbers)),
		.turns = npuplan_pool_take(&pool, n, sizeof(*tight.turns)),
		.offsets = npuplan_pool_take(&pool, n, sizeof(*tight.offsets)),
	};
	int err = pool.failed ? -ENOMEM : pack_tight(&tight, levels[k]);

	for (unsigned int o = 0; o < TIGHT_ORDERS && err == 1 && !npuplan_pack_over(call); o++) {
		int placed = place_others(&tight, orders[o][0], orders[o][1]);

		if (placed)
			err = placed;
	}
	return err < 0 ? err : 0;
}

unsigned int npuplan_pack_tight_levels(void)
{
	return sizeof(levels) / sizeof(levels[0]);
}
