// SPDX-License-Identifier: MIT
/*
 * This file runs a plan's events on two engines and chooses the order of the transfers as it goes.
 * What arrives does so in the order of its first use, as soon as the copy engine is free and there
 * is room: beside all that holds bytes then, and beside what each step needs until its first use.
 * Either bytes are counted, and addresses are found later; or addresses are the plan's, and what
 * comes early needs one that is free until its last use: that finds less, but always something.
 * Stores begin when their data is there and no arrival can begin before.
 */
#include "ahead.h"

#include <stdlib.h>
#include <string.h>

/* struct leaving - an item that is not used after @time */
struct leaving {
	uint64_t time;
	uint32_t item;
};

/* struct range - bytes of the arena, up to @end */
struct range {
	uint64_t first;
	uint64_t end;
};

/*
 * struct run - while events are put into an order
 * @starts, @ends, @done: per event that is in the order
 * @due: per transfer, the rank of the step before which it has to be in the order; ranks are
 *	places among the steps
 * @room: as asked; 0: addresses are looked at
 * @order: that is made, and addresses
 * @steps: events that are steps, @step_count of them, of which @next_step is next
 * @arrivals: loads and fills in the order in which they are due, of which @next_arrival is next
 * @ready: stores whose data is there
 * @need: per step, bytes that are held while it reads, and while it writes
 * @step_uses, @uses: per item, how many events are still to use it: steps alone, and all
 * @last: per item, the event that ends last of those that have used it
 * @from, @to: per item, the instants of steps, two of each, at which it is held; an arrival that
 *	is not in the order yet comes when it has to. None if @from is more
 * @taken: scratch: bytes that an arrival cannot have
 * @leaving: items that no event is still to use, the first to leave first
 * @held: bytes of items that are here, and still to be used
 * @left: bytes of @leaving
 * @pending: those of @held that only wait to be stored
 * @step_end, @copy_end: when the engines are free
 */
struct run {
	const struct cosma_moves *moves;
	uint64_t room;
	struct cosma_arrangement *order;
	struct npuplan_pool pool;
	uint64_t *starts;
	uint64_t *ends;
	bool *done;
	uint32_t *due;
	uint32_t *steps;
	uint32_t *arrivals;
	uint32_t *ready;
	uint64_t *need;
	uint32_t *step_uses;
	uint32_t *uses;
	uint32_t *last;
	uint32_t *from;
	uint32_t *to;
	struct leaving *leaving;
	struct range *taken;
	uint32_t step_count, next_step;
	uint32_t arrival_count, next_arrival;
	uint32_t ready_count;
	uint32_t leaving_count;
	uint32_t placed;
	uint64_t held;
	uint64_t left;
	uint64_t pending;
	uint64_t step_end;
	uint64_t copy_end;
	uint64_t work;
};

/*
 * struct choice - what comes next: @event is NPUMEM_NONE if nothing can
 * @offset: of an arrival that is given another address
 */
struct choice {
	uint32_t event;
	uint64_t start;
	uint64_t offset;
};

static const struct choice nothing = { .event = NPUMEM_NONE, .start = COSMA_TIME_MAX };

static bool is_step(const struct run *run, uint32_t e)
{
	return run->moves->event[e].kind == NPUMEM_POSITION_STEP;
}

static bool is_store(const struct run *run, uint32_t e)
{
	return run->moves->event[e].kind == NPUMEM_POSITION_STORE;
}

static uint32_t item_of(const struct run *run, uint32_t arrival)
{
	return run->moves->stay[run->moves->event[arrival].stay].item;
}

/* ------------------------------------------------------------- what has to come before what */

/* Sets @due of arrivals, and lists them. @rank: per event, the steps before it */
static void list_arrivals(struct run *run, const uint32_t *rank)
{
	const struct cosma_moves *moves = run->moves;

	for (uint32_t e = 0; e < moves->event_count; e++) {
		const struct cosma_moved_stay *stay;
		uint32_t i = run->arrival_count;

		if (is_step(run, e) || is_store(run, e))
			continue;
		stay = &moves->stay[moves->event[e].stay];
		run->due[e] = rank[e];
		for (uint32_t k = 0; k < stay->use_count; k++) {
			uint32_t reader = moves->readers[stay->first_use + k];

			/* Readers are in the plan's order. */
			if (!is_step(run, reader))
				continue;
			run->due[e] = rank[reader];
			break;
		}
		/* The plan's order is nearly this one. */
		for (; i > 0 && run->due[run->arrivals[i - 1]] > run->due[e]; i--)
			run->arrivals[i] = run->arrivals[i - 1];
		run->work += run->arrival_count - i;
		run->arrivals[i] = e;
		run->arrival_count++;
	}
}

/* Sets @due of stores: the copy is there before its bytes are another's, and when it is read. */
static void find_due_stores(struct run *run, const uint32_t *rank)
{
	const struct cosma_moves *moves = run->moves;

	for (uint32_t e = 0; e < moves->event_count; e++) {
		const struct cosma_moved_stay *stay;

		if (!is_store(run, e))
			continue;
		stay = &moves->stay[moves->event[e].stay];
		run->due[e] = run->step_count;
		for (int k = 0; k < 2; k++) {
			uint32_t other = k ? stay->taker : stay->next, writer, due;

			if (other == NPUMEM_NONE)
				continue;
			writer = moves->stay[other].writer;
			due = is_step(run, writer) ? rank[writer] : run->due[writer];
			run->due[e] = due < run->due[e] ? due : run->due[e];
		}
	}
}

/* The first event that is not in the order yet but has to be before an arrival; or NPUMEM_NONE. */
static uint32_t waits_for(struct run *run, uint32_t arrival)
{
	const struct cosma_moves *moves = run->moves;
	uint32_t i = moves->event[arrival].stay, unit = moves->stay[i].unit;

	/* Stays of a unit stand together. */
	for (; i > 0 && moves->stay[i - 1].unit == unit; i--) {
		const struct cosma_moved_stay *before = &moves->stay[i - 1];

		if (before->writer != NPUMEM_NONE && !run->done[before->writer])
			return before->writer;
		run->work += before->use_count;
		for (uint32_t k = 0; k < before->use_count; k++)
			if (!run->done[moves->readers[before->first_use + k]])
				return moves->readers[before->first_use + k];
	}
	return NPUMEM_NONE;
}

/* ------------------------------------------------------------- bytes */

/* Finds when an item is held if it comes when it has to. */
static void find_held(struct run *run, uint32_t item, const uint32_t *rank)
{
	const struct cosma_moves *moves = run->moves;
	const bool *staged = moves->settings->staged;
	uint32_t first = moves->item[item].tensor, start = 0, end = 0;
	bool used = first == NPUMEM_NONE;

	if (used) {
		end = 2 * run->step_count;
	} else if (moves->stay[first].writer != NPUMEM_NONE) {
		uint32_t writer = moves->stay[first].writer;

		used = is_step(run, writer);
		start = end = used ? 2 * rank[writer] + 1 : 2 * run->due[writer];
	}
	for (uint32_t i = first; i != NPUMEM_NONE; i = moves->stay[i].taker) {
		const struct cosma_moved_stay *stay = &moves->stay[i];

		if (i != first)
			end = 2 * rank[stay->writer] + 1 > end ? 2 * rank[stay->writer] + 1 : end;
		for (uint32_t k = 0; k < stay->use_count; k++) {
			uint32_t e = moves->readers[stay->first_use + k], at = 2 * rank[e] + 1;

			if (!is_step(run, e))
				continue;
			/* A staged step is done with it before it stores. */
			if (staged && staged[moves->event[e].index])
				at--;
			end = at > end ? at : end;
			used = true;
		}
		run->work += stay->use_count;
	}
	run->from[item] = used ? start : 1;
	run->to[item] = used ? end : 0;
	for (uint32_t at = start; used && at <= end && at < 2 * run->step_count; at++)
		run->need[at] += moves->item[item].size;
	run->work += end - start;
}

/* When so many bytes are free, not before @from; COSMA_TIME_MAX: others have to leave first. */
static uint64_t free_at(struct run *run, uint64_t from, uint64_t bytes, uint64_t room)
{
	uint64_t taken = run->held + run->left + bytes;

	for (uint32_t i = 0; i < run->leaving_count; i++) {
		if (run->leaving[i].time > from && taken <= room)
			return from;
		from = run->leaving[i].time > from ? run->leaving[i].time : from;
		taken -= run->moves->item[run->leaving[i].item].size;
	}
	run->work += run->leaving_count;
	return taken <= room ? from : COSMA_TIME_MAX;
}

/* Whether each step until its first use has room for what comes now. */
static bool has_room(struct run *run, uint32_t arrival)
{
	uint64_t size = run->moves->item[item_of(run, arrival)].size + run->pending;

	for (uint32_t at = 2 * run->next_step; at < 2 * run->due[arrival]; at++, run->work++)
		if (run->need[at] + size > run->room)
			return false;
	return true;
}

/* ------------------------------------------------------------- addresses */

static bool lies_in(const struct run *run, uint32_t item, uint64_t first, uint64_t end)
{
	uint64_t at = run->order->offset[item];

	return at < end && first < at + run->moves->item[item].size;
}

/* When bytes are free that nobody holds, not before @from. */
static uint64_t left_at(struct run *run, uint64_t from, uint64_t first, uint64_t end)
{
	run->work += run->leaving_count;
	for (uint32_t i = run->leaving_count; i > 0 && run->leaving[i - 1].time > from; i--)
		if (lies_in(run, run->leaving[i - 1].item, first, end))
			return run->leaving[i - 1].time;
	return from;
}

/* Whether an item's bytes hold what only waits to be stored. */
static bool is_behind_store(struct run *run, uint32_t item)
{
	uint64_t first = run->order->offset[item], end = first + run->moves->item[item].size;

	run->work += run->ready_count;
	for (uint32_t i = 0; i < run->ready_count; i++) {
		uint32_t other = item_of(run, run->ready[i]);

		if (!run->step_uses[other] && other != item && lies_in(run, other, first, end))
			return true;
	}
	return false;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *first = a, *second = b;

	if (first->first != second->first)
		return first->first < second->first ? -1 : 1;
	return first->end < second->end ? -1 : first->end > second->end;
}

/* Lists what an item cannot have from now on, sorted. */
static uint32_t list_taken(struct run *run, uint32_t item)
{
	const struct cosma_moves *moves = run->moves;
	uint32_t count = 0, now = 2 * run->next_step;

	for (uint32_t k = 0; k < moves->item_count; k++) {
		uint64_t first = run->order->offset[k];
		bool later = run->from[k] <= run->to[item] && now <= run->to[k] &&
			     run->from[k] <= run->to[k];
		/* It is here, though no step uses it any more. */
		bool waits = run->last[k] != NPUMEM_NONE && run->uses[k];

		if (k != item && (later || waits))
			run->taken[count++] = (struct range){ first, first + moves->item[k].size };
	}
	qsort(run->taken, count, sizeof(*run->taken), compare_ranges);
	run->work += moves->item_count + 4 * (uint64_t)count;
	return count;
}

/* Takes an address between @first and @end if an arrival can begin there earlier. */
static void try_gap(struct run *run, uint64_t first, uint64_t end, struct choice *choice)
{
	const struct cosma_moves *moves = run->moves;
	const struct npuplan_item *it = &moves->item[item_of(run, choice->event)];
	uint64_t align = it->align > moves->alignment ? it->align : moves->alignment;

	/* At its beginning, or right above what leaves it. */
	for (uint32_t i = 0; i <= run->leaving_count; i++) {
		uint64_t at = it->fixed ? it->fixed_offset : first, start;

		if (i) {
			uint32_t other = run->leaving[i - 1].item;

			if (it->fixed)
				return;
			at = run->order->offset[other] + moves->item[other].size;
		}
		at = (at + align - 1) / align * align;
		if (at < first || at + it->size > end)
			continue;
		start = left_at(run, run->copy_end, at, at + it->size);
		if (start < choice->start) {
			choice->start = start;
			choice->offset = at;
		}
	}
}

/* Finds where an arrival can begin at the earliest, before it has to. */
static struct choice find_place(struct run *run, uint32_t arrival)
{
	const struct cosma_moves *moves = run->moves;
	struct choice choice = nothing;
	uint64_t first = 0;
	uint32_t count, item = item_of(run, arrival);

	if (run->from[item] > run->to[item])
		return nothing;
	choice.event = arrival;
	count = list_taken(run, item);
	for (uint32_t i = 0; i <= count; i++) {
		uint64_t end = i < count ? run->taken[i].first : moves->capacity;

		try_gap(run, first, end, &choice);
		if (i < count && run->taken[i].end > first)
			first = run->taken[i].end;
	}
	return choice.start < COSMA_TIME_MAX ? choice : nothing;
}

/* ------------------------------------------------------------- the order */

static void leave(struct run *run, uint32_t item)
{
	uint64_t time = run->ends[run->last[item]], size = run->moves->item[item].size;
	uint32_t i = run->leaving_count++;

	for (; i > 0 && run->leaving[i - 1].time > time; i--)
		run->leaving[i] = run->leaving[i - 1];
	run->leaving[i] = (struct leaving){ .time = time, .item = item };
	run->held -= size;
	run->left += size;
}

/* Forgets what has left before anything else begins. */
static void forget(struct run *run)
{
	uint64_t now = run->step_end < run->copy_end ? run->step_end : run->copy_end;
	uint32_t gone = 0;

	for (; gone < run->leaving_count && run->leaving[gone].time <= now; gone++)
		run->left -= run->moves->item[run->leaving[gone].item].size;
	run->leaving_count -= gone;
	memmove(run->leaving, run->leaving + gone, run->leaving_count * sizeof(*run->leaving));
}

/* Event @e has used a stay. */
static void use(struct run *run, uint32_t e, uint32_t stay)
{
	uint32_t item = run->moves->stay[stay].item, last = run->last[item];
	bool step = is_step(run, e), waits = !run->step_uses[item];

	if (last == NPUMEM_NONE || run->ends[last] <= run->ends[e])
		run->last[item] = e;
	run->step_uses[item] -= step;
	run->uses[item]--;
	if (waits && !run->uses[item])
		run->pending -= run->moves->item[item].size;
	else if (!waits && !run->step_uses[item] && run->uses[item])
		run->pending += run->moves->item[item].size;
	if (!run->uses[item])
		leave(run, item);
}

/* A stay is there: it may be stored. */
static void arrive(struct run *run, uint32_t stay)
{
	const struct cosma_moves *moves = run->moves;
	const struct cosma_moved_stay *at = &moves->stay[stay];
	uint32_t item = at->item;

	if (moves->item[item].tensor == stay) {
		run->held += moves->item[item].size;
		if (!run->step_uses[item])
			run->pending += moves->item[item].size;
	}
	for (uint32_t k = 0; k < at->use_count; k++)
		if (is_store(run, moves->readers[at->first_use + k]))
			run->ready[run->ready_count++] = moves->readers[at->first_use + k];
}

/* An arrival is in the order: until its first use it takes room of the steps. */
static void put_arrival(struct run *run, struct choice choice)
{
	uint32_t e = choice.event, item = item_of(run, e);

	if (!run->room)
		run->order->offset[item] = choice.offset;
	for (uint32_t at = 2 * run->next_step; at < 2 * run->due[e]; at++)
		run->need[at] += run->moves->item[item].size;
	if (run->from[item] > 2 * run->next_step && run->from[item] <= run->to[item])
		run->from[item] = 2 * run->next_step;
	run->next_arrival++;
	arrive(run, run->moves->event[e].stay);
}

static void put_store(struct run *run, uint32_t e)
{
	uint32_t i = 0;

	while (run->ready[i] != e)
		i++;
	run->ready_count--;
	memmove(run->ready + i, run->ready + i + 1, (run->ready_count - i) * sizeof(*run->ready));
}

static void put(struct run *run, struct choice choice)
{
	const struct cosma_moves *moves = run->moves;
	uint32_t e = choice.event;
	const struct cosma_event *event = &moves->event[e];

	run->order->position[e] = run->placed;
	run->order->order[run->placed++] = e;
	run->starts[e] = choice.start;
	run->ends[e] = cosma_later(choice.start, event->time);
	run->done[e] = true;
	*(is_step(run, e) ? &run->step_end : &run->copy_end) = run->ends[e];
	if (is_step(run, e))
		run->next_step++;
	else if (is_store(run, e))
		put_store(run, e);
	else
		put_arrival(run, choice);
	for (uint32_t k = event->first_use; k < event->first_use + event->use_count; k++)
		if (moves->written[k])
			arrive(run, moves->uses[k]);
	for (uint32_t k = event->first_use; k < event->first_use + event->use_count; k++)
		use(run, e, moves->uses[k]);
	if (event->stay != NPUMEM_NONE)
		use(run, e, event->stay);
	forget(run);
	run->work += event->use_count + run->ready_count + run->leaving_count + 1;
}

static struct choice store(const struct run *run, uint32_t e)
{
	uint32_t writer = run->moves->stay[run->moves->event[e].stay].writer;
	uint64_t start = run->copy_end;

	if (writer != NPUMEM_NONE && run->ends[writer] > start)
		start = run->ends[writer];
	return (struct choice){ .event = e, .start = start };
}

static struct choice first_store(const struct run *run)
{
	return run->ready_count ? store(run, run->ready[0]) : nothing;
}

/* An arrival that cannot wait any longer, or a store that makes room for it. */
static struct choice arrive_now(struct run *run, uint32_t e)
{
	const struct cosma_moves *moves = run->moves;
	uint32_t before = waits_for(run, e), item = item_of(run, e);
	uint64_t size = moves->item[item].size, at = run->order->offset[item];
	struct choice choice = { .event = e, .offset = at };

	if (before != NPUMEM_NONE)
		return store(run, before);
	if (!run->room) {
		if (is_behind_store(run, item))
			return first_store(run);
		choice.start = left_at(run, run->copy_end, at, at + size);
		return choice;
	}
	choice.start = free_at(run, run->copy_end, size, moves->capacity);
	if (choice.start < COSMA_TIME_MAX)
		return choice;
	/* Once stores are over there is room, since there was in the plan. */
	if (run->ready_count)
		return first_store(run);
	choice.start = run->copy_end;
	if (run->leaving_count && run->leaving[run->leaving_count - 1].time > choice.start)
		choice.start = run->leaving[run->leaving_count - 1].time;
	return choice;
}

/* The store, or the arrival, without which the next step cannot run; if there is one. */
static struct choice next_due(struct run *run)
{
	uint32_t e;

	for (uint32_t i = 0; i < run->ready_count && run->next_step < run->step_count; i++)
		if (run->due[run->ready[i]] <= run->next_step)
			return store(run, run->ready[i]);
	if (run->next_arrival == run->arrival_count)
		return nothing;
	e = run->arrivals[run->next_arrival];
	return run->due[e] <= run->next_step ? arrive_now(run, e) : nothing;
}

/* An arrival that comes before it has to, or a store. */
static struct choice next_transfer(struct run *run)
{
	struct choice stored = first_store(run), ahead = nothing;

	if (run->next_arrival < run->arrival_count) {
		uint32_t e = run->arrivals[run->next_arrival];

		if (waits_for(run, e) == NPUMEM_NONE) {
			if (!run->room) {
				ahead = find_place(run, e);
			} else if (has_room(run, e)) {
				ahead.event = e;
				ahead.start = free_at(run, run->copy_end,
						      run->moves->item[item_of(run, e)].size,
						      run->room);
			}
		}
	}
	return ahead.start <= stored.start ? ahead : stored;
}

/* The next step, when all that it reads is there and there is room for what it writes. */
static struct choice next_step(struct run *run)
{
	const struct cosma_moves *moves = run->moves;
	uint64_t start = run->step_end, made = 0, at;
	const struct cosma_event *event;
	struct choice step = nothing;

	if (run->next_step == run->step_count)
		return step;
	step.event = run->steps[run->next_step];
	event = &moves->event[step.event];
	for (uint32_t k = event->first_use; k < event->first_use + event->use_count; k++) {
		const struct cosma_moved_stay *stay = &moves->stay[moves->uses[k]];
		const struct npuplan_item *it = &moves->item[stay->item];

		if (moves->written[k] && it->tensor == moves->uses[k]) {
			at = run->order->offset[stay->item];
			made += it->size;
			if (!run->room)
				start = left_at(run, start, at, at + it->size);
		} else if (!moves->written[k] && stay->writer != NPUMEM_NONE &&
			   run->ends[stay->writer] > start) {
			start = run->ends[stay->writer];
		}
	}
	run->work += event->use_count;
	at = run->room ? free_at(run, start, made, moves->capacity) : start;
	step.start = at < COSMA_TIME_MAX ? at : start;
	return step;
}

/* Whether the next step needs the room of what waits to be stored. */
static bool needs_stores(struct run *run)
{
	const struct cosma_moves *moves = run->moves;
	const uint64_t *need = &run->need[2 * run->next_step];
	uint64_t most = need[0] > need[1] ? need[0] : need[1];
	const struct cosma_event *step = &moves->event[run->steps[run->next_step]];

	if (!run->pending || !run->ready_count)
		return false;
	if (run->room)
		return most + run->pending > moves->capacity;
	for (uint32_t k = step->first_use; k < step->first_use + step->use_count; k++) {
		uint32_t item = moves->stay[moves->uses[k]].item;

		if (moves->item[item].tensor == moves->uses[k] && moves->written[k] &&
		    is_behind_store(run, item))
			return true;
	}
	return false;
}

static struct choice choose(struct run *run)
{
	struct choice due = next_due(run), step, transfer;

	if (due.event != NPUMEM_NONE)
		return due;
	step = next_step(run);
	if (step.event == NPUMEM_NONE || needs_stores(run))
		return first_store(run);
	transfer = next_transfer(run);
	return transfer.start < step.start ? transfer : step;
}

/* ------------------------------------------------------------- begin, and end */

static void count_uses(struct run *run)
{
	const struct cosma_moves *moves = run->moves;

	for (uint32_t e = 0; e < moves->event_count; e++) {
		const struct cosma_event *event = &moves->event[e];

		for (uint32_t k = 0; k < event->use_count; k++) {
			uint32_t item = moves->stay[moves->uses[event->first_use + k]].item;

			run->step_uses[item]++;
			run->uses[item]++;
		}
		if (event->stay != NPUMEM_NONE)
			run->uses[moves->stay[event->stay].item]++;
	}
}

static int begin(struct run *run)
{
	const struct cosma_moves *moves = run->moves;
	size_t events = moves->event_count, items = moves->item_count;
	struct npuplan_pool *pool = &run->pool;
	uint32_t *rank = npuplan_pool_take(pool, events, sizeof(*rank));

	run->starts = npuplan_pool_take(pool, events, sizeof(*run->starts));
	run->ends = npuplan_pool_take(pool, events, sizeof(*run->ends));
	run->done = npuplan_pool_take(pool, events, sizeof(*run->done));
	run->due = npuplan_pool_take(pool, events, sizeof(*run->due));
	run->steps = npuplan_pool_take(pool, events, sizeof(*run->steps));
	run->arrivals = npuplan_pool_take(pool, events, sizeof(*run->arrivals));
	run->ready = npuplan_pool_take(pool, events, sizeof(*run->ready));
	run->need = npuplan_pool_take(pool, 2 * events, sizeof(*run->need));
	run->step_uses = npuplan_pool_take(pool, items, sizeof(*run->step_uses));
	run->uses = npuplan_pool_take(pool, items, sizeof(*run->uses));
	run->last = npuplan_pool_take(pool, items, sizeof(*run->last));
	run->from = npuplan_pool_take(pool, items, sizeof(*run->from));
	run->to = npuplan_pool_take(pool, items, sizeof(*run->to));
	run->leaving = npuplan_pool_take(pool, items, sizeof(*run->leaving));
	run->taken = npuplan_pool_take(pool, items, sizeof(*run->taken));
	if (pool->failed)
		return -ENOMEM;
	for (uint32_t e = 0; e < events; e++) {
		rank[e] = run->step_count;
		if (is_step(run, e))
			run->steps[run->step_count++] = e;
	}
	memset(run->last, 0xff, items * sizeof(*run->last));
	list_arrivals(run, rank);
	find_due_stores(run, rank);
	count_uses(run);
	for (uint32_t k = 0; k < items; k++)
		find_held(run, k, rank);
	/* What is there from the start, and what stays. */
	for (uint32_t k = 0; k < items; k++)
		if (moves->item[k].tensor == NPUMEM_NONE)
			run->held += moves->item[k].size;
	for (uint32_t i = 0; i < moves->stay_count; i++)
		if (moves->stay[i].writer == NPUMEM_NONE && run->uses[moves->stay[i].item])
			arrive(run, i);
	run->work += events + items + moves->stay_count;
	return 0;
}

/*
 * Finds for each place in the order the last one of what begins while its step runs: its own, if it
 * is no step's.
 */
static void find_beside(const struct run *run, uint32_t *beside)
{
	const uint32_t *order = run->order->order;
	uint32_t last = 0;

	for (uint32_t p = 0; p < run->placed; p++) {
		last = p > last ? p : last;
		while (is_step(run, order[p]) && last + 1 < run->placed &&
		       run->starts[order[last + 1]] < run->ends[order[p]])
			last++;
		beside[p] = last;
	}
}

/*
 * Sets the instants of items. An item is held until what begins while it is still in use has begun:
 * it shall not be given bytes that it would wait for. What a staged step reads makes way for what
 * it writes, which is as if that came behind what begins beside the step; so all that ends there
 * ends later.
 */
static void find_spans(struct run *run, const uint32_t *beside, struct npuplan_item *spans)
{
	const struct cosma_moves *moves = run->moves;

	for (uint32_t k = 0; k < moves->item_count; k++) {
		struct npuplan_item *span = &spans[k];
		uint32_t last = run->last[k], p, end;

		cosma_moves_span(moves, run->order, k, span);
		if (last == NPUMEM_NONE)
			continue;
		p = span->end / 2;
		end = is_step(run, run->order->order[p]) ? span->end : 2 * beside[p] + 1;
		if (span->start & 1)
			span->start = 2 * beside[span->start / 2] + 1;
		for (p = run->order->position[last]; p + 1 < run->placed; p++, run->work++)
			if (run->starts[run->order->order[p + 1]] >= run->ends[last])
				break;
		p = 2 * p + (span->end & 1);
		span->end = p > end ? p : end;
	}
	run->work += run->placed + moves->item_count + moves->use_count;
}

int cosma_ahead_order(const struct cosma_moves *moves, uint64_t room,
		      struct cosma_arrangement *arrangement, struct npuplan_item *spans,
		      uint64_t *work)
{
	struct run run = { .moves = moves, .room = room, .order = arrangement };
	int err = begin(&run);

	while (!err && run.placed < moves->event_count)
		put(&run, choose(&run));
	if (!err) {
		/* Nobody asks any more when transfers are due. */
		find_beside(&run, run.due);
		find_spans(&run, run.due, spans);
	}
	*work += run.work;
	npuplan_pool_free(&run.pool);
	return err;
}
