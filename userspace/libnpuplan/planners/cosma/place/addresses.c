// SPDX-License-Identifier: MIT
/*
 * Addresses of stays. Where an output may take its input's bytes, the two are tried as one
 * item that stays where it is, which is what the packing core is best at; then as two, of
 * which the one may lie where the other does.
 */
#include <stdlib.h>

#include "base/sorted.h"
#include "pack/exact.h"
#include "problem/conflicts.h"
#include "addresses.h"

/* Items whose pairs are listed, at most. */
#define MAX_PERMITTED 4096

/*
 * struct placing - stays on their way to addresses
 * @first, @last: half instants that are looked at
 * @items: one a stay; @item_of: per stay, NPUMEM_NONE if it is not looked at
 * @taker: per item, the one that may take its bytes; else NPUMEM_NONE
 * @takes: per item: it is somebody's @taker; @taken such pairs
 */
struct placing {
	struct npuplan_pool pool;
	const struct npuplan_graph *graph;
	const struct cosma_model *model;
	const struct cosma_stays *stays;
	struct cosma_run *run;
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
};

/* Whether a use of the stay by the last operator may make room, whatever comes after it. */
static bool yields_at_last(const struct placing *placing, const struct cosma_stay *stay,
			   uint32_t op)
{
	return op != NPUMEM_NONE && !stay->parameter &&
	       cosma_gives_way(placing->model, op, stay->tensor);
}

static uint32_t stay_end(const struct placing *placing, const struct cosma_stay *stay, uint32_t op)
{
	uint32_t end = cosma_stay_end(stay);

	if (end >= placing->last && yields_at_last(placing, stay, op) && placing->model->staged[op])
		end = placing->last - 1;
	return end < placing->last ? end : placing->last;
}

static uint32_t stay_taker(const struct placing *placing, const struct cosma_stay *stay,
			   uint32_t op)
{
	const struct cosma_model *model = placing->model;

	if (2 * stay->to <= placing->last || !yields_at_last(placing, stay, op))
		return stay->taker;
	cosma_for_each(k, model->inputs, op)
		if (model->inputs.item[k] == stay->tensor)
			return model->taker[k];
	return NPUMEM_NONE;
}

static void list_items(struct placing *placing, uint32_t op)
{
	for (uint32_t i = 0; i < placing->stays->count; i++) {
		const struct cosma_stay *stay = &placing->stays->stay[i];
		uint32_t t = stay->parameter ? stay->tensor :
					       placing->model->tensor_of[stay->tensor];
		uint32_t start = cosma_stay_start(stay), end = stay_end(placing, stay, op);

		placing->item_of[i] = NPUMEM_NONE;
		if (start > placing->last || end < placing->first)
			continue;
		placing->item_of[i] = placing->count;
		placing->items[placing->count++] = (struct npuplan_item){
			.size = placing->graph->tensors[t].size,
			.align = placing->graph->tensors[t].align,
			.start = start > placing->first ? start : placing->first,
			.end = end,
			.tensor = i,
		};
	}
}

/* The item of the stay with which a tensor begins, if that is looked at. */
static uint32_t first_item(const struct placing *placing, uint32_t x)
{
	const struct cosma_stay *stay = placing->stays->stay;

	/* Stays come by tensor, then parameters. */
	return placing->item_of[npuplan_bisect(at, 0, placing->stays->count,
					       !stay[at].parameter && stay[at].tensor < x)];
}

static void list_takers(struct placing *placing, uint32_t op)
{
	for (uint32_t i = 0; i < placing->count; i++) {
		const struct cosma_stay *stay = &placing->stays->stay[placing->items[i].tensor];
		uint32_t x = stay_taker(placing, stay, op);

		placing->taker[i] = x == NPUMEM_NONE ? x : first_item(placing, x);
		if (placing->taker[i] == NPUMEM_NONE)
			continue;
		placing->takes[placing->taker[i]] = true;
		placing->taken++;
	}
}

/* Most bytes on chip at once, those that are taken once. */
static int most_live(const struct placing *placing, uint64_t *most)
{
	AUTO_HEAP uint64_t *change =
		npuplan_calloc((size_t)placing->last - placing->first + 2, sizeof(*change));
	uint64_t now = 0;

	*most = 0;
	if (!change)
		return -ENOMEM;
	/* Unsigned wrap-around is meant: the running sum is never negative. */
	for (uint32_t i = 0; i < placing->count; i++) {
		const struct npuplan_item *item = &placing->items[i];
		uint32_t end = item->end - (placing->taker[i] != NPUMEM_NONE);

		change[item->start - placing->first] += item->size;
		change[end + 1 - placing->first] -= item->size;
	}
	for (uint32_t t = 0; t <= placing->last - placing->first; t++) {
		now += change[t];
		*most = now > *most ? now : *most;
	}
	return 0;
}

static int pack(struct placing *placing, const struct npuplan_item *items, uint32_t count,
		const struct npuplan_conflicts *conflicts, uint64_t bound, uint64_t *places,
		struct npuplan_pack_result *result)
{
	const struct npuplan_pack_problem problem = {
		.items = items,
		.item_count = count,
		.conflicts = conflicts,
		.capacity = placing->capacity,
		.lower_bound = bound,
		.alignment = placing->run->options->common.alignment,
	};
	const struct npuplan_pack_options options = {
		.work_limit = placing->work_limit,
		.deadline_seconds = npuplan_effort_left(&placing->run->effort),
	};
	int err = npuplan_pack_exactly(&problem, &options, places, result, NULL);

	if (!err)
		placing->run->work += result->work;
	return err;
}

/* Whoever is taken lies where its taker does: chains become one item. */
static int pack_merged(struct placing *placing, uint64_t bound, struct npuplan_pack_result *result)
{
	struct npuplan_pool *pool = &placing->pool;
	struct npuplan_item *merged = npuplan_pool_take(pool, placing->count, sizeof(*merged));
	uint32_t *into = npuplan_pool_take(pool, placing->count, sizeof(*into)), count = 0;
	uint64_t *places = npuplan_pool_take(pool, placing->count, sizeof(*places));
	int err;

	if (pool->failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < placing->count; i++) {
		struct npuplan_item *all = &merged[count];

		if (placing->takes[i])
			continue;
		*all = placing->items[i];
		into[i] = count++;
		for (uint32_t k = placing->taker[i]; k != NPUMEM_NONE; k = placing->taker[k]) {
			const struct npuplan_item *one = &placing->items[k];

			into[k] = into[i];
			all->end = one->end;
			all->align = one->align > all->align ? one->align : all->align;
		}
	}
	err = pack(placing, merged, count, NULL, bound, places, result);
	for (uint32_t i = 0; i < placing->count && !err && result->top; i++)
		placing->places[i] = places[into[i]];
	return err;
}

static int pack_permitted(struct placing *placing, uint64_t bound, uint64_t *places,
			  struct npuplan_pack_result *result)
{
	struct npuplan_permit *permits =
		npuplan_pool_take(&placing->pool, placing->taken, sizeof(*permits));
	struct npuplan_conflicts conflicts = { 0 };
	size_t count = 0;
	int err = permits ? npuplan_conflicts_whole(&conflicts, placing->items, placing->count) :
			    -ENOMEM;

	for (uint32_t i = 0; i < placing->count && !err; i++)
		if (placing->taker[i] != NPUMEM_NONE)
			permits[count++] =
				(struct npuplan_permit){ .a = i, .b = placing->taker[i] };
	err = err ? err : npuplan_conflicts_permit(&conflicts, permits, count);
	err = err ? err :
		    pack(placing, placing->items, placing->count, &conflicts, bound, places,
			 result);
	npuplan_conflicts_fini(&conflicts);
	return err;
}

/* @result->status is of all ways to place the stays, merged or not. */
static int place(struct placing *placing, struct npuplan_pack_result *result)
{
	struct npuplan_pack_result other = { 0 };
	uint64_t bound, *places;
	int err;

	if (!placing->taken)
		return pack(placing, placing->items, placing->count, NULL, 0, placing->places,
			    result);
	err = most_live(placing, &bound);
	if (err)
		return err;
	if (placing->capacity && bound > placing->capacity) {
		result->status = NPUPLAN_PACK_INFEASIBLE;
		return 0;
	}
	err = pack_merged(placing, bound, result);
	if (err || (cosma_is_placed(result->status) && (placing->capacity || result->top <= bound)))
		return err;
	/* What is proved of merged items is not of others. */
	if (placing->count > MAX_PERMITTED) {
		result->status = cosma_is_placed(result->status) ? NPUPLAN_PACK_FEASIBLE :
								   NPUPLAN_PACK_UNKNOWN;
		return 0;
	}
	places = npuplan_pool_take(&placing->pool, placing->count, sizeof(*places));
	err = places ? pack_permitted(placing, bound, places, &other) : -ENOMEM;
	if (err)
		return err;
	if (!cosma_is_placed(result->status) ||
	    (cosma_is_placed(other.status) && other.top < result->top)) {
		*result = other;
		placing->places = places;
		return 0;
	}
	if (cosma_is_placed(other.status))
		result->lower_bound = other.lower_bound;
	result->status = result->top <= result->lower_bound ? NPUPLAN_PACK_OPTIMAL :
							      NPUPLAN_PACK_FEASIBLE;
	return 0;
}

int cosma_addresses(const struct npuplan_graph *graph, const struct cosma_model *model,
		    struct cosma_stays *stays, uint64_t capacity, uint32_t first, uint32_t last,
		    uint32_t last_op, uint64_t work_limit, struct cosma_run *run, uint32_t *status)
{
	struct placing placing = {
		.graph = graph,
		.model = model,
		.stays = stays,
		.run = run,
		.capacity = capacity,
		.work_limit = work_limit,
		.first = first ? 2 * first - 1 : 0,
		.last = last < model->op_count ? 2 * last : 2 * model->op_count,
	};
	struct npuplan_pool *pool = &placing.pool;
	struct npuplan_pack_result result = { 0 };
	int err;

	placing.items = npuplan_pool_take(pool, stays->count, sizeof(*placing.items));
	placing.item_of = npuplan_pool_take(pool, stays->count + (size_t)1, sizeof(uint32_t));
	placing.taker = npuplan_pool_take(pool, stays->count, sizeof(*placing.taker));
	placing.takes = npuplan_pool_take(pool, stays->count, sizeof(*placing.takes));
	placing.places = npuplan_pool_take(pool, stays->count, sizeof(*placing.places));
	err = pool->failed ? -ENOMEM : 0;
	if (!err) {
		placing.item_of[stays->count] = NPUMEM_NONE;
		list_items(&placing, last_op);
		list_takers(&placing, last_op);
		err = place(&placing, &result);
	}
	if (!err) {
		*status = result.status;
		for (uint32_t i = 0; i < stays->count; i++)
			stays->stay[i].offset = 0;
		for (uint32_t i = 0; i < placing.count && result.top; i++)
			stays->stay[placing.items[i].tensor].offset = placing.places[i];
	}
	npuplan_pool_free(pool);
	return err;
}
