// SPDX-License-Identifier: MIT
/*
 * This file moves transfers so that a plan is over sooner. It is a descent: what the end of the
 * plan waits for is followed back from one event to the one before it, and each transfer on that
 * way is tried at other places of the order and of the arena. A trial is played, and the best one
 * of a transfer is kept if all is over earlier, or at the same time while steps end earlier.
 *
 * Where many transfers have to come earlier together none of them gains anything alone. So there
 * are two descents: from the plan, and from an order in which all come as early as there is room.
 */
#include "prefetch.h"

#include <stdlib.h>
#include <string.h>

#include "ahead.h"
#include "moves.h"
#include "pack/exact.h"

/* Limit of the packing core's work on one trial. */
#define PACK_WORK   200000
/* The same of an order in which all come early, of which there are few. */
#define AHEAD_WORK  2000000
/* Addresses that are tried for one place in the order. */
#define MAX_PLACES  6
/* What comes early may take so many parts of the arena, of which the half is tried at least. */
#define AHEAD_PARTS 64

/*
 * struct prefetch - one descent
 * @best: the best arrangement so far
 * @trial: what is played
 * @found: the best trial of one transfer
 * @kept: what the first descent has found
 * @span: per item, with its instants in @trial
 * @ends, @blocker, @last: of the arrangement that was played last
 * @packed: addresses of all items anew
 * @path: transfers on the way to the end
 * @traffic: of the plan, which the caller is told
 * @work: units
 * @any: @found is better than @best
 */
struct prefetch {
	struct cosma_moves moves;
	struct npuplan_effort *effort;
	struct npuplan_pool pool;
	struct cosma_arrangement best;
	struct cosma_arrangement trial;
	struct cosma_arrangement found;
	struct cosma_arrangement kept;
	struct npuplan_item *span;
	uint64_t *ends;
	uint32_t *blocker;
	uint32_t *last;
	uint64_t *packed;
	uint32_t *path;
	uint64_t traffic;
	uint64_t work;
	bool any;
};

static bool is_over(struct prefetch *prefetch)
{
	return npuplan_effort_share_over(prefetch->effort, prefetch->traffic, 0, prefetch->work);
}

static void copy(const struct prefetch *prefetch, struct cosma_arrangement *to,
		 const struct cosma_arrangement *from)
{
	uint32_t events = prefetch->moves.event_count, items = prefetch->moves.item_count;

	memcpy(to->order, from->order, events * sizeof(*to->order));
	memcpy(to->position, from->position, events * sizeof(*to->position));
	memcpy(to->offset, from->offset, items * sizeof(*to->offset));
	to->makespan = from->makespan;
	to->sum = from->sum;
}

static bool is_better(const struct cosma_arrangement *a, const struct cosma_arrangement *b)
{
	return a->makespan != b->makespan ? a->makespan < b->makespan : a->sum < b->sum;
}

static void play(struct prefetch *prefetch, struct cosma_arrangement *arrangement)
{
	cosma_moves_play(&prefetch->moves, arrangement, prefetch->ends, prefetch->blocker,
			 prefetch->last);
	prefetch->work += (uint64_t)prefetch->moves.event_count * prefetch->moves.item_count / 4 +
			  prefetch->moves.use_count;
}

/* Plays the trial, and keeps it if it is the best of its transfer. */
static void offer(struct prefetch *prefetch)
{
	play(prefetch, &prefetch->trial);
	if (!is_better(&prefetch->trial, &prefetch->found))
		return;
	copy(prefetch, &prefetch->found, &prefetch->trial);
	prefetch->any = true;
}

/* ------------------------------------------------------------- addresses */

static bool meets(const struct npuplan_item *a, const struct npuplan_item *b)
{
	return a->start <= b->end && b->start <= a->end;
}

/* Whether an item may lie at @offset, if all others lie where they do. */
static bool fits(const struct prefetch *prefetch, uint32_t item, uint64_t offset)
{
	const struct cosma_moves *moves = &prefetch->moves;
	const struct npuplan_item *it = &prefetch->span[item];

	if (it->size > moves->capacity || offset > moves->capacity - it->size)
		return false;
	for (uint32_t k = 0; k < moves->item_count; k++)
		if (k != item && meets(it, &prefetch->span[k]) &&
		    prefetch->trial.offset[k] < offset + it->size &&
		    offset < prefetch->trial.offset[k] + prefetch->span[k].size)
			return false;
	return true;
}

static void add_place(const struct prefetch *prefetch, uint32_t item, uint64_t at, uint64_t *places,
		      uint32_t *count)
{
	for (uint32_t i = 0; i < *count; i++)
		if (places[i] == at)
			return;
	if (*count < MAX_PLACES && fits(prefetch, item, at))
		places[(*count)++] = at;
}

/*
 * Lists where an item may lie beside others: at either end of the arena, right above one, or right
 * below one.
 */
static uint32_t list_places(const struct prefetch *prefetch, uint32_t item, uint64_t *places)
{
	const struct cosma_moves *moves = &prefetch->moves;
	const struct npuplan_item *it = &prefetch->span[item];
	uint64_t align = it->align > moves->alignment ? it->align : moves->alignment;
	uint32_t count = 0;

	add_place(prefetch, item, 0, places, &count);
	if (moves->capacity >= it->size)
		add_place(prefetch, item, (moves->capacity - it->size) / align * align, places,
			  &count);
	for (uint32_t k = 0; k < moves->item_count && count < MAX_PLACES; k++) {
		uint64_t at = prefetch->trial.offset[k], above = at + prefetch->span[k].size;

		if (k == item || !meets(it, &prefetch->span[k]))
			continue;
		add_place(prefetch, item, (above + align - 1) / align * align, places, &count);
		if (at >= it->size)
			add_place(prefetch, item, (at - it->size) / align * align, places, &count);
	}
	return count;
}

/* Finds addresses for @span, and offers the trial with them. @fits: out: there are some */
static int repack(struct prefetch *prefetch, uint64_t work_limit, bool *fits)
{
	const struct cosma_moves *moves = &prefetch->moves;
	const struct npuplan_pack_problem problem = {
		.items = prefetch->span,
		.item_count = moves->item_count,
		.capacity = moves->capacity,
		.alignment = moves->alignment,
	};
	const uint64_t end = prefetch->effort->share_work;
	const uint64_t left = end > prefetch->work ? end - prefetch->work : 1;
	const struct npuplan_pack_options options = {
		.work_limit = left < work_limit ? left : work_limit,
		.deadline_seconds = npuplan_effort_left(prefetch->effort),
	};
	struct npuplan_pack_result result;
	int err = npuplan_pack_exactly(&problem, &options, prefetch->packed, &result, NULL);

	*fits = false;
	if (err)
		return err;
	prefetch->work += result.work;
	if (result.status != NPUMEM_PLAN_STATUS_OPTIMAL &&
	    result.status != NPUMEM_PLAN_STATUS_FEASIBLE)
		return 0;
	*fits = true;
	memcpy(prefetch->trial.offset, prefetch->packed,
	       moves->item_count * sizeof(*prefetch->packed));
	offer(prefetch);
	return 0;
}

/* ------------------------------------------------------------- places in the order */

static void move_to(struct prefetch *prefetch, uint32_t event, uint32_t to)
{
	struct cosma_arrangement *trial = &prefetch->trial;
	uint32_t at;

	copy(prefetch, trial, &prefetch->best);
	at = trial->position[event];
	for (; at > to; at--)
		trial->order[at] = trial->order[at - 1];
	for (; at < to; at++)
		trial->order[at] = trial->order[at + 1];
	trial->order[at] = event;
	for (uint32_t p = 0; p < prefetch->moves.event_count; p++)
		trial->position[trial->order[p]] = p;
}

/* Sets the instants of all items as the trial has them. */
static void span_all(struct prefetch *prefetch)
{
	const struct cosma_moves *moves = &prefetch->moves;

	for (uint32_t k = 0; k < moves->item_count; k++)
		cosma_moves_span(moves, &prefetch->trial, k, &prefetch->span[k]);
	prefetch->work += moves->item_count;
}

/* Tries a transfer at a place of the order, with as many addresses as there are gaps for it. */
static int try_at(struct prefetch *prefetch, uint32_t event, uint32_t to)
{
	const struct cosma_moves *moves = &prefetch->moves;
	uint32_t item = moves->stay[moves->event[event].stay].item, count;
	uint64_t places[MAX_PLACES], own;
	bool packed;

	move_to(prefetch, event, to);
	span_all(prefetch);
	own = prefetch->trial.offset[item];
	if (fits(prefetch, item, own))
		offer(prefetch);
	if (moves->item[item].fixed)
		return 0;
	count = list_places(prefetch, item, places);
	for (uint32_t i = 0; i < count; i++) {
		prefetch->trial.offset[item] = places[i];
		if (places[i] != own)
			offer(prefetch);
	}
	return count ? 0 : repack(prefetch, PACK_WORK, &packed);
}

/* The next distance that is tried: 1, 2, 3, 4, 6, 8, 12, 16, 24 ... */
static uint32_t next_distance(uint32_t distance)
{
	if (distance < 4)
		return distance + 1;
	return distance & (distance - 1) ? (distance / 3) * 4 : distance / 2 * 3;
}

/* Tries all places of a transfer. @better: is set if one was better, which is the best now */
static int improve(struct prefetch *prefetch, uint32_t event, bool *better)
{
	uint32_t at = prefetch->best.position[event], first, last;
	int err = 0;

	cosma_moves_range(&prefetch->moves, &prefetch->best, event, &first, &last);
	copy(prefetch, &prefetch->found, &prefetch->best);
	prefetch->any = false;
	err = try_at(prefetch, event, at);
	for (uint32_t d = 1; at - first >= d && !err && !is_over(prefetch); d = next_distance(d))
		err = try_at(prefetch, event, at - d);
	if (at > first && !err)
		err = try_at(prefetch, event, first);
	for (uint32_t d = 1; last - at >= d && !err && !is_over(prefetch); d = next_distance(d))
		err = try_at(prefetch, event, at + d);
	if (prefetch->any && !err)
		copy(prefetch, &prefetch->best, &prefetch->found);
	*better |= prefetch->any;
	return err;
}

/* Lists the transfers on the way to the end, the first of them last. */
static uint32_t list_path(struct prefetch *prefetch)
{
	const struct cosma_moves *moves = &prefetch->moves;
	uint32_t at = NPUMEM_NONE, count = 0;

	play(prefetch, &prefetch->best);
	for (uint32_t e = 0; e < moves->event_count; e++)
		if (prefetch->ends[e] == prefetch->best.makespan)
			at = e;
	for (; at != NPUMEM_NONE; at = prefetch->blocker[at])
		if (moves->event[at].kind != NPUMEM_POSITION_STEP)
			prefetch->path[count++] = at;
	return count;
}

static int descend(struct prefetch *prefetch)
{
	bool better = true;
	int err = 0;

	while (better && !err && !is_over(prefetch)) {
		uint32_t count = list_path(prefetch);

		better = false;
		/* The way may be another one by then, but each gain is found by playing. */
		while (count-- > 0 && !err && !is_over(prefetch))
			err = improve(prefetch, prefetch->path[count], &better);
	}
	return err;
}

/* ------------------------------------------------------------- two beginnings */

/* Offers an order in which all comes as early as these bytes have room. @fits: out: as intended */
static int offer_ahead(struct prefetch *prefetch, uint64_t room, bool *fits)
{
	bool packed;
	int err = cosma_ahead_order(&prefetch->moves, room, &prefetch->trial, prefetch->span,
				    &prefetch->work);

	err = err ? err : repack(prefetch, AHEAD_WORK, fits);
	if (err || *fits || is_over(prefetch))
		return err;
	/* It may still gain if something waits for bytes. */
	span_all(prefetch);
	return repack(prefetch, AHEAD_WORK, &packed);
}

/* The same, beside what lies where the plan has it. */
static int offer_beside(struct prefetch *prefetch, const struct npuplan_cosma_plan *plan)
{
	const struct cosma_moves *moves = &prefetch->moves;
	int err;

	cosma_moves_arrange(moves, plan, &prefetch->trial);
	err = cosma_ahead_order(moves, 0, &prefetch->trial, prefetch->span, &prefetch->work);
	if (err)
		return err;
	span_all(prefetch);
	prefetch->work += (uint64_t)moves->item_count * moves->item_count / 4;
	for (uint32_t k = 0; k < moves->item_count; k++)
		if (!fits(prefetch, k, prefetch->trial.offset[k]))
			return 0;
	offer(prefetch);
	return 0;
}

/*
 * Offers orders in which all comes as early as there is room. The more of the arena they take, the
 * sooner they are over, but the more often there are no addresses for them.
 */
static int try_ahead(struct prefetch *prefetch, const struct npuplan_cosma_plan *plan)
{
	uint64_t part = prefetch->moves.capacity / AHEAD_PARTS;
	uint64_t rest = prefetch->moves.capacity % AHEAD_PARTS;
	uint64_t least = AHEAD_PARTS / 2, most = AHEAD_PARTS, at = most;
	bool fits = false;
	int err = offer_beside(prefetch, plan);

	while (least <= most && !err && !is_over(prefetch)) {
		uint64_t room = part * at + rest * at / AHEAD_PARTS;

		if (!room)
			break;
		err = offer_ahead(prefetch, room, &fits);
		if (fits)
			least = at + 1;
		else
			most = at - 1;
		at = (least + most) / 2;
	}
	return err;
}

static void take_arrangement(struct prefetch *prefetch, struct cosma_arrangement *arrangement)
{
	struct npuplan_pool *pool = &prefetch->pool;
	size_t events = prefetch->moves.event_count, items = prefetch->moves.item_count;

	arrangement->order = npuplan_pool_take(pool, events, sizeof(uint32_t));
	arrangement->position = npuplan_pool_take(pool, events, sizeof(uint32_t));
	arrangement->offset = npuplan_pool_take(pool, items, sizeof(uint64_t));
}

static int take_memory(struct prefetch *prefetch)
{
	struct npuplan_pool *pool = &prefetch->pool;
	size_t events = prefetch->moves.event_count, items = prefetch->moves.item_count;

	take_arrangement(prefetch, &prefetch->best);
	take_arrangement(prefetch, &prefetch->trial);
	take_arrangement(prefetch, &prefetch->found);
	take_arrangement(prefetch, &prefetch->kept);
	prefetch->span = npuplan_pool_take(pool, items, sizeof(*prefetch->span));
	prefetch->ends = npuplan_pool_take(pool, events, sizeof(*prefetch->ends));
	prefetch->blocker = npuplan_pool_take(pool, events, sizeof(*prefetch->blocker));
	prefetch->last = npuplan_pool_take(pool, items, sizeof(*prefetch->last));
	prefetch->packed = npuplan_pool_take(pool, items, sizeof(*prefetch->packed));
	prefetch->path = npuplan_pool_take(pool, events, sizeof(*prefetch->path));
	return pool->failed ? -ENOMEM : 0;
}

/* Descends from an order in which all comes early. The better one stays. */
static int descend_ahead(struct prefetch *prefetch, const struct npuplan_cosma_plan *plan)
{
	int err;

	copy(prefetch, &prefetch->kept, &prefetch->best);
	prefetch->found.makespan = UINT64_MAX;
	err = try_ahead(prefetch, plan);
	if (err || prefetch->found.makespan == UINT64_MAX)
		return err;
	copy(prefetch, &prefetch->best, &prefetch->found);
	err = descend(prefetch);
	if (!is_better(&prefetch->best, &prefetch->kept))
		copy(prefetch, &prefetch->best, &prefetch->kept);
	return err;
}

/* Descends from both beginnings, with half of the work and of the time, then with the rest. */
static int descend_twice(struct prefetch *prefetch, const struct npuplan_cosma_plan *plan,
			 uint64_t work_limit)
{
	int err;

	npuplan_effort_share(prefetch->effort, prefetch->work, work_limit / 2 + 1, 0.5);
	err = descend(prefetch);
	if (!err && prefetch->work < work_limit) {
		npuplan_effort_share(prefetch->effort, prefetch->work, work_limit - prefetch->work,
				     1);
		if (!is_over(prefetch))
			err = descend_ahead(prefetch, plan);
	}
	npuplan_effort_share(prefetch->effort, prefetch->work, 0, 1);
	return err;
}

int cosma_prefetch(const struct cosma_units *units, const struct cosma_settings *settings,
		   const struct npuplan_machine *machine, const uint64_t *times,
		   struct npuplan_effort *effort, struct npuplan_cosma_plan *plan,
		   uint64_t *makespan)
{
	struct prefetch prefetch = {
		.effort = effort,
		.traffic = plan->spill + plan->fill,
	};
	uint64_t before, sum;
	int err;

	effort->traffic = true;
	err = cosma_moves_init(&prefetch.moves, units, settings, machine, times, plan);

	if (err)
		return err;
	err = take_memory(&prefetch);
	if (!err) {
		cosma_moves_arrange(&prefetch.moves, plan, &prefetch.best);
		play(&prefetch, &prefetch.best);
		before = prefetch.best.makespan;
		sum = prefetch.best.sum;
		err = descend_twice(&prefetch, plan,
				    settings->common.work_limit ? settings->common.work_limit :
								  COSMA_PREFETCH_WORK);
		*makespan = prefetch.best.makespan;
		if (!err && (*makespan < before || prefetch.best.sum < sum))
			err = cosma_moves_write(&prefetch.moves, &prefetch.best, plan);
		plan->work += prefetch.work;
	}
	npuplan_pool_free(&prefetch.pool);
	cosma_moves_fini(&prefetch.moves);
	return err;
}
