// SPDX-License-Identifier: MIT
/*
 * This file finds addresses of stays. Where an output may take its input's bytes, the two are tried
 * as one item that stays where it is, which is what the packing core is best at; then as two items,
 * of which the one may lie where the other does. Where it must they are one item in any case.
 */
#include <stdlib.h>

#include "base/sorted.h"
#include "pack/exact.h"
#include "problem/conflicts.h"
#include "addresses.h"
#include "fixed.h"

/* Limit of items whose pairs are listed. */
#define MAX_PERMITTED 4096

/*
 * struct stay_packing - stays on their way to addresses
 * @first, @last: instants (liveness.h) that are looked at
 * @items: @count items, one for each stay that updates do not go on with and for each chain of
 *	those that they do, then one for each range that is kept
 * @item_of: per stay, its item; NPUMEM_NONE: it is not looked at
 * @taker: per item, the one that may take its bytes; else NPUMEM_NONE
 * @takes: per item: it is some item's @taker
 * @places: per item, its address
 * @taken: pairs of item and taker
 * @alignment: of every item; where some are fixed each has its own, since parts of a fixed tensor
 *	lie where they lie
 */
struct stay_packing {
	struct npuplan_pool pool;
	const struct npuplan_graph *graph;
	const struct cosma_model *model;
	const struct cosma_stays *stays;
	struct cosma_call *call;
	uint64_t capacity;
	uint64_t work_limit;
	uint32_t first;
	uint32_t last;
	struct npuplan_item *items;
	uint32_t *item_of;
	uint32_t *taker;
	bool *takes;
	uint64_t *places;
	uint32_t count;
	uint32_t taken;
	uint32_t alignment;
};

/* Whether a use of the stay by the last operator may make room, whatever comes after it. */
static bool yields_at_last(const struct stay_packing *packing, const struct cosma_stay *stay,
			   uint32_t op)
{
	return op != NPUMEM_NONE && !stay->parameter &&
	       cosma_gives_way(packing->model, op, stay->tensor);
}

static uint32_t stay_end(const struct stay_packing *packing, const struct cosma_stay *stay,
			 uint32_t op)
{
	uint32_t end = cosma_stay_end(stay);

	if (end >= packing->last && yields_at_last(packing, stay, op) && packing->model->staged[op])
		end = packing->last - 1;
	return end < packing->last ? end : packing->last;
}

static uint32_t stay_taker(const struct stay_packing *packing, const struct cosma_stay *stay,
			   uint32_t op)
{
	const struct cosma_model *model = packing->model;

	if (2 * stay->to <= packing->last || !yields_at_last(packing, stay, op))
		return stay->taker;
	cosma_for_each(k, model->inputs, op)
		if (model->inputs.item[k] == stay->tensor)
			return model->taker[k];
	return NPUMEM_NONE;
}

/* Others' bytes are in the way all the time. */
static void list_kept(struct stay_packing *packing)
{
	const struct cosma_settings *settings = packing->call->options;

	for (uint32_t i = 0; i < settings->kept_count; i++) {
		struct npuplan_item item = cosma_kept_item(&settings->kept[i]);

		item.start = packing->first;
		item.end = packing->last;
		item.tensor = NPUMEM_NONE;
		packing->items[packing->count++] = item;
	}
}

static void list_items(struct stay_packing *packing, uint32_t op)
{
	bool fixed = cosma_has_fixed(packing->graph, packing->call->options);
	uint32_t least = packing->call->options->common.alignment;

	packing->alignment = fixed ? 1 : least;
	for (uint32_t i = 0; i < packing->stays->count; i++) {
		const struct cosma_stay *stay = &packing->stays->stay[i];
		uint32_t t = stay->parameter ? stay->tensor :
					       packing->model->tensor_of[stay->tensor];
		uint32_t start = cosma_stay_start(stay), end = stay_end(packing, stay, op);
		struct npuplan_item item =
			cosma_item(&packing->graph->tensors[t], fixed ? least : 1);

		packing->item_of[i] = NPUMEM_NONE;
		if (start > packing->last || end < packing->first)
			continue;
		packing->item_of[i] = packing->count;
		item.start = start > packing->first ? start : packing->first;
		item.end = end;
		item.tensor = i;
		packing->items[packing->count++] = item;
	}
	list_kept(packing);
}

/* Returns the item of the stay with which a tensor begins, if that is looked at. */
static uint32_t first_item(const struct stay_packing *packing, uint32_t x)
{
	const struct cosma_stay *stay = packing->stays->stay;

	/* Stays come by tensor, then parameters. */
	return packing->item_of[npuplan_bisect(at, 0, packing->stays->count,
					       !stay[at].parameter && stay[at].tensor < x)];
}

static void list_takers(struct stay_packing *packing, uint32_t op)
{
	for (uint32_t i = 0; i < packing->count; i++) {
		uint32_t stay = packing->items[i].tensor, x = NPUMEM_NONE;

		if (stay != NPUMEM_NONE)
			x = stay_taker(packing, &packing->stays->stay[stay], op);
		packing->taker[i] = x == NPUMEM_NONE ? x : first_item(packing, x);
	}
}

static void count_takers(struct stay_packing *packing)
{
	for (uint32_t i = 0; i < packing->count; i++) {
		if (packing->taker[i] == NPUMEM_NONE)
			continue;
		packing->takes[packing->taker[i]] = true;
		packing->taken++;
	}
}

/* Finds the most bytes on chip at once; bytes that are taken count once. */
static int most_live(const struct stay_packing *packing, uint64_t *most)
{
	AUTO_HEAP uint64_t *change =
		npuplan_calloc((size_t)packing->last - packing->first + 2, sizeof(*change));
	uint64_t now = 0;

	*most = 0;
	if (!change)
		return -ENOMEM;
	/* Unsigned wrap-around is meant: the running sum is never negative. */
	for (uint32_t i = 0; i < packing->count; i++) {
		const struct npuplan_item *item = &packing->items[i];
		uint32_t end = item->end - (packing->taker[i] != NPUMEM_NONE);

		change[item->start - packing->first] += item->size;
		change[end + 1 - packing->first] -= item->size;
	}
	for (uint32_t t = 0; t <= packing->last - packing->first; t++) {
		now += change[t];
		*most = now > *most ? now : *most;
	}
	return 0;
}

static int pack(struct stay_packing *packing, const struct npuplan_item *items, uint32_t count,
		const struct npuplan_conflicts *conflicts, uint64_t bound, uint64_t *places,
		struct npuplan_pack_result *result)
{
	const struct npuplan_pack_problem problem = {
		.items = items,
		.item_count = count,
		.conflicts = conflicts,
		.capacity = packing->capacity,
		.lower_bound = bound,
		.alignment = packing->alignment,
	};
	const struct npuplan_pack_options options = {
		.work_limit = packing->work_limit,
		.deadline_seconds = npuplan_effort_left(&packing->call->effort),
	};
	int err = npuplan_pack_exactly(&problem, &options, places, result, NULL);

	if (!err)
		packing->call->work += result->work;
	return err;
}

/* Lets @all lie where @one does, too; false if that cannot be. */
static bool merge(struct npuplan_item *all, const struct npuplan_item *one)
{
	uint64_t offset = one->fixed ? one->fixed_offset : all->fixed_offset;
	uint32_t align = one->align > all->align ? one->align : all->align;

	if (all->fixed && one->fixed && all->fixed_offset != one->fixed_offset)
		return false;
	if ((all->fixed && all->fixed_offset % one->align) ||
	    (one->fixed && one->fixed_offset % all->align))
		return false;
	all->fixed |= one->fixed;
	all->fixed_offset = all->fixed ? offset : 0;
	all->align = align;
	all->end = one->end;
	return true;
}

/* Whether an item, which is a stay yet, is updated in place, and its taker is looked at, too. */
static bool goes_on(const struct stay_packing *packing, uint32_t i)
{
	uint32_t stay = packing->items[i].tensor;

	return stay != NPUMEM_NONE && packing->stays->stay[stay].bound &&
	       packing->taker[i] != NPUMEM_NONE;
}

/* Makes one item of each chain of stays that updates go on with. */
static int join_updated(struct stay_packing *packing)
{
	struct npuplan_pool *pool = &packing->pool;
	uint32_t *into = npuplan_pool_take(pool, packing->count, sizeof(*into)), count = 0;
	uint32_t *last = npuplan_pool_take(pool, packing->count, sizeof(*last));
	bool *behind = npuplan_pool_take(pool, packing->count, sizeof(*behind)), any = false;
	struct npuplan_item *joined = npuplan_pool_take(pool, packing->count, sizeof(*joined));

	if (pool->failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < packing->count; i++) {
		if (!goes_on(packing, i))
			continue;
		behind[packing->taker[i]] = true;
		any = true;
	}
	if (!any)
		return 0;
	for (uint32_t i = 0; i < packing->count; i++) {
		uint32_t k = i;

		if (behind[i])
			continue;
		joined[count] = packing->items[i];
		into[k] = count;
		while (goes_on(packing, k)) {
			k = packing->taker[k];
			/* They are the same bytes, fixed to one offset or not at all. */
			merge(&joined[count], &packing->items[k]);
			into[k] = count;
		}
		last[count++] = packing->taker[k];
	}
	for (uint32_t i = 0; i < count; i++)
		packing->taker[i] = last[i] == NPUMEM_NONE ? NPUMEM_NONE : into[last[i]];
	for (uint32_t i = 0; i < packing->stays->count; i++)
		if (packing->item_of[i] != NPUMEM_NONE)
			packing->item_of[i] = into[packing->item_of[i]];
	packing->items = joined;
	packing->count = count;
	return 0;
}

/*
 * Packs items so that each lies where its taker does: chains of them become one item, but where
 * items of a chain are fixed apart.
 */
static int pack_merged(struct stay_packing *packing, uint64_t bound,
		       struct npuplan_pack_result *result)
{
	struct npuplan_pool *pool = &packing->pool;
	struct npuplan_item *merged = npuplan_pool_take(pool, packing->count, sizeof(*merged));
	uint32_t *into = npuplan_pool_take(pool, packing->count, sizeof(*into)), count = 0;
	uint64_t *places = npuplan_pool_take(pool, packing->count, sizeof(*places));
	int err;

	if (pool->failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < packing->count; i++) {
		if (packing->takes[i])
			continue;
		merged[count] = packing->items[i];
		into[i] = count++;
		for (uint32_t k = packing->taker[i]; k != NPUMEM_NONE; k = packing->taker[k]) {
			if (!merge(&merged[count - 1], &packing->items[k]))
				merged[count++] = packing->items[k];
			into[k] = count - 1;
		}
	}
	err = pack(packing, merged, count, NULL, bound, places, result);
	for (uint32_t i = 0; i < packing->count && !err && result->top != UINT64_MAX; i++)
		packing->places[i] = places[into[i]];
	return err;
}

static int pack_permitted(struct stay_packing *packing, uint64_t bound, uint64_t *places,
			  struct npuplan_pack_result *result)
{
	struct npuplan_permit *permits =
		npuplan_pool_take(&packing->pool, packing->taken, sizeof(*permits));
	struct npuplan_conflicts conflicts = { 0 };
	size_t count = 0;
	int err = permits ? npuplan_conflicts_whole(&conflicts, packing->items, packing->count) :
			    -ENOMEM;

	for (uint32_t i = 0; i < packing->count && !err; i++)
		if (packing->taker[i] != NPUMEM_NONE)
			permits[count++] =
				(struct npuplan_permit){ .a = i, .b = packing->taker[i] };
	err = err ? err : npuplan_conflicts_permit(&conflicts, permits, count);
	err = err ? err :
		    pack(packing, packing->items, packing->count, &conflicts, bound, places,
			 result);
	npuplan_conflicts_fini(&conflicts);
	return err;
}

/* @result->status is that of all ways to place the stays, merged or not. */
static int place(struct stay_packing *packing, struct npuplan_pack_result *result)
{
	struct npuplan_pack_result other = { 0 };
	uint64_t bound, *places;
	int err;

	if (!packing->taken)
		return pack(packing, packing->items, packing->count, NULL, 0, packing->places,
			    result);
	err = most_live(packing, &bound);
	if (err)
		return err;
	if (packing->capacity && bound > packing->capacity) {
		result->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		return 0;
	}
	err = pack_merged(packing, bound, result);
	if (err || (cosma_is_placed(result->status) && (packing->capacity || result->top <= bound)))
		return err;
	/* What is proved of merged items is not proved of others. */
	if (packing->count > MAX_PERMITTED) {
		result->status = cosma_is_placed(result->status) ? NPUMEM_PLAN_STATUS_FEASIBLE :
								   NPUMEM_PLAN_STATUS_UNKNOWN;
		return 0;
	}
	places = npuplan_pool_take(&packing->pool, packing->count, sizeof(*places));
	err = places ? pack_permitted(packing, bound, places, &other) : -ENOMEM;
	if (err)
		return err;
	if (!cosma_is_placed(result->status) ||
	    (cosma_is_placed(other.status) && other.top < result->top)) {
		*result = other;
		packing->places = places;
		return 0;
	}
	if (cosma_is_placed(other.status))
		result->lower_bound = other.lower_bound;
	result->status = result->top <= result->lower_bound ? NPUMEM_PLAN_STATUS_OPTIMAL :
							      NPUMEM_PLAN_STATUS_FEASIBLE;
	return 0;
}

int cosma_addresses(const struct npuplan_graph *graph, const struct cosma_model *model,
		    struct cosma_stays *stays, uint64_t capacity, uint32_t first, uint32_t last,
		    uint32_t last_op, uint64_t work_limit, struct cosma_call *call,
		    uint32_t *status)
{
	const struct cosma_settings *settings = call->options;
	size_t most = (size_t)stays->count + settings->kept_count;
	struct stay_packing packing = {
		.graph = graph,
		.model = model,
		.stays = stays,
		.call = call,
		.capacity = capacity ? capacity + cosma_kept_bytes(settings) : 0,
		.work_limit = work_limit,
		.first = first ? 2 * first - 1 : 0,
		.last = last < model->op_count ? 2 * last : 2 * model->op_count,
	};
	struct npuplan_pool *pool = &packing.pool;
	struct npuplan_pack_result result = { .top = UINT64_MAX };
	int err;

	packing.items = npuplan_pool_take(pool, most, sizeof(*packing.items));
	packing.item_of = npuplan_pool_take(pool, stays->count + (size_t)1, sizeof(uint32_t));
	packing.taker = npuplan_pool_take(pool, most, sizeof(*packing.taker));
	packing.takes = npuplan_pool_take(pool, most, sizeof(*packing.takes));
	packing.places = npuplan_pool_take(pool, most, sizeof(*packing.places));
	err = pool->failed ? -ENOMEM : 0;
	if (!err) {
		packing.item_of[stays->count] = NPUMEM_NONE;
		list_items(&packing, last_op);
		list_takers(&packing, last_op);
		err = join_updated(&packing);
	}
	if (!err) {
		count_takers(&packing);
		err = place(&packing, &result);
	}
	if (!err) {
		*status = result.status;
		for (uint32_t i = 0; i < stays->count; i++) {
			uint32_t item = packing.item_of[i];

			stays->stay[i].offset = 0;
			if (item != NPUMEM_NONE && result.top != UINT64_MAX)
				stays->stay[i].offset = packing.places[item];
		}
	}
	npuplan_pool_free(pool);
	return err;
}
