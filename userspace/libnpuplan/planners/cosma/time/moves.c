// SPDX-License-Identifier: MIT
/* This file reads a plan as events that may be moved, and finds out what depends on what. */
#include "moves.h"

#include <stdlib.h>
#include <string.h>

#include "planners/cosma/place/fixed.h"

static bool is_transfer(const struct cosma_event *event)
{
	return event->kind != NPUMEM_POSITION_STEP;
}

static uint64_t time_of_unit(const struct cosma_units *units, uint32_t u,
			     const struct npuplan_machine *machine)
{
	const struct cosma_unit *unit = &units->unit[u];
	uint64_t time = 0;

	for (uint32_t k = 0; k < unit->fragment_count; k++)
		time = cosma_later(
			time,
			cosma_copy_time(machine, units->fragment[unit->first_fragment + k].length));
	return time;
}

/* The stay of a unit at a position; NPUMEM_NONE if it takes no room. @first: per unit, its first */
static uint32_t stay_at(const struct npuplan_cosma_plan *plan, const uint32_t *first, uint32_t unit,
			uint32_t position)
{
	for (uint32_t i = first[unit];
	     i < plan->placement_count && plan->placements[i].tensor == unit; i++)
		if (plan->placements[i].from <= position && position <= plan->placements[i].to)
			return i;
	return NPUMEM_NONE;
}

static void add_use(struct cosma_moves *moves, struct cosma_event *event, uint32_t e, uint32_t stay,
		    bool written)
{
	if (stay == NPUMEM_NONE)
		return;
	moves->uses[event->first_use + event->use_count] = stay;
	moves->written[event->first_use + event->use_count++] = written;
	if (written)
		moves->stay[stay].writer = e;
	else
		moves->stay[stay].use_count++;
}

static void read_step(struct cosma_moves *moves, const struct npuplan_cosma_plan *plan,
		      const uint32_t *first, uint32_t e, uint32_t position)
{
	struct cosma_event *event = &moves->event[e];
	const struct npuplan_op *op = &moves->units->graph->ops[event->index];

	event->first_use = moves->use_count;
	for (uint32_t k = 0; k < op->input_count; k++)
		add_use(moves, event, e, stay_at(plan, first, op->inputs[k], position), false);
	for (uint32_t k = 0; k < op->output_count; k++)
		add_use(moves, event, e, stay_at(plan, first, op->outputs[k], position), true);
	moves->use_count += event->use_count;
}

static void read_transfer(struct cosma_moves *moves, const struct npuplan_cosma_plan *plan,
			  const uint32_t *first, uint32_t e, uint32_t position)
{
	struct cosma_event *event = &moves->event[e];
	struct cosma_moved_stay *stay;

	event->stay = stay_at(plan, first, event->index, position);
	stay = &moves->stay[event->stay];
	if (event->kind == NPUMEM_POSITION_STORE)
		stay->use_count++;
	else
		stay->writer = e;
}

static void read_events(struct cosma_moves *moves, const struct npuplan_machine *machine,
			const uint64_t *times, const struct npuplan_cosma_plan *plan,
			const uint32_t *first)
{
	for (uint32_t p = 0; p < plan->position_count; p++) {
		const struct npumem_position *at = &plan->positions[p];
		uint32_t e = moves->event_count;
		struct cosma_event *event = &moves->event[e];

		if (at->kind == NPUMEM_POSITION_DROP)
			continue;
		moves->event_count++;
		event->kind = at->kind == NPUMEM_POSITION_SPILL ? NPUMEM_POSITION_STORE : at->kind;
		event->index = at->index;
		event->stay = NPUMEM_NONE;
		event->time = is_transfer(event) ? time_of_unit(moves->units, at->index, machine) :
						   times[at->index];
		if (is_transfer(event))
			read_transfer(moves, plan, first, e, p);
		else
			read_step(moves, plan, first, e, p);
	}
}

/* Lists for each stay the events that read it, in the order of the plan. */
static void list_readers(struct cosma_moves *moves)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < moves->stay_count; i++) {
		moves->stay[i].first_use = next;
		next += moves->stay[i].use_count;
		moves->stay[i].use_count = 0;
	}
	for (uint32_t e = 0; e < moves->event_count; e++) {
		const struct cosma_event *event = &moves->event[e];

		for (uint32_t k = 0; k < event->use_count; k++) {
			struct cosma_moved_stay *stay =
				&moves->stay[moves->uses[event->first_use + k]];

			if (!moves->written[event->first_use + k])
				moves->readers[stay->first_use + stay->use_count++] = e;
		}
		if (event->kind == NPUMEM_POSITION_STORE) {
			struct cosma_moved_stay *stay = &moves->stay[event->stay];

			moves->readers[stay->first_use + stay->use_count++] = e;
		}
	}
}

/* Which stays lie where the last one lay: as the plan has it. */
static void find_takers(struct cosma_moves *moves, const struct npuplan_cosma_plan *plan)
{
	const struct cosma_settings *settings = moves->settings;

	for (uint32_t i = 0; i < moves->stay_count; i++) {
		struct cosma_moved_stay *stay = &moves->stay[i];
		const struct cosma_event *last;

		if (!stay->use_count)
			continue;
		last = &moves->event[moves->readers[stay->first_use + stay->use_count - 1]];
		for (uint32_t k = 0; k < settings->takeover_count && !is_transfer(last); k++) {
			const struct npuplan_cosma_takeover *takeover = &settings->takeovers[k];

			if (takeover->op != last->index || takeover->input != stay->unit)
				continue;
			for (uint32_t u = 0; u < last->use_count; u++) {
				uint32_t b = moves->uses[last->first_use + u];

				if (moves->written[last->first_use + u] &&
				    moves->stay[b].unit == takeover->output &&
				    plan->placements[b].offset == plan->placements[i].offset)
					stay->taker = b;
			}
		}
	}
}

/* Stays that lie at one address are one item. */
static void make_items(struct cosma_moves *moves, const struct npuplan_cosma_plan *plan)
{
	const struct cosma_settings *settings = moves->settings;
	bool fixed = cosma_has_fixed(moves->units->graph, settings);
	uint32_t least = settings->common.alignment;

	moves->alignment = fixed ? 1 : least;
	for (uint32_t i = 0; i < moves->stay_count; i++)
		moves->stay[i].item = NPUMEM_NONE;
	for (uint32_t i = 0; i < moves->stay_count; i++)
		if (moves->stay[i].taker != NPUMEM_NONE)
			moves->stay[moves->stay[i].taker].item = 0;
	for (uint32_t i = 0; i < moves->stay_count; i++) {
		struct npuplan_item *item = &moves->item[moves->item_count];

		if (moves->stay[i].item != NPUMEM_NONE)
			continue;
		*item = (struct npuplan_item){ .align = 1 };
		for (uint32_t k = i; k != NPUMEM_NONE; k = moves->stay[k].taker) {
			struct npuplan_item one =
				cosma_item(&moves->units->graph->tensors[moves->stay[k].unit],
					   fixed ? least : 1);

			item->size = one.size;
			item->align = one.align > item->align ? one.align : item->align;
			item->fixed |= one.fixed;
		}
		item->tensor = i;
		item->fixed_offset = item->fixed ? plan->placements[i].offset : 0;
		item->align = item->fixed ? 1 : item->align;
		moves->item_count++;
	}
	for (uint32_t k = 0; k < moves->item_count; k++)
		for (uint32_t i = moves->item[k].tensor; i != NPUMEM_NONE; i = moves->stay[i].taker)
			moves->stay[i].item = k;
	for (uint32_t k = 0; k < settings->kept_count; k++) {
		struct npuplan_item *item = &moves->item[moves->item_count++];

		*item = cosma_kept_item(&settings->kept[k]);
		item->tensor = NPUMEM_NONE;
		item->end = 2 * moves->event_count + 1;
	}
}

int cosma_moves_init(struct cosma_moves *moves, const struct cosma_units *units,
		     const struct cosma_settings *settings, const struct npuplan_machine *machine,
		     const uint64_t *times, const struct npuplan_cosma_plan *plan)
{
	struct npuplan_pool *pool = &moves->pool;
	size_t uses = plan->position_count, stays = plan->placement_count;
	uint32_t *first;

	for (uint32_t v = 0; v < units->graph->op_count; v++)
		uses += (size_t)units->graph->ops[v].input_count +
			units->graph->ops[v].output_count;
	*moves = (struct cosma_moves){
		.units = units,
		.settings = settings,
		.stay_count = plan->placement_count,
		.capacity = settings->common.arena_budget + cosma_kept_bytes(settings),
	};
	first = npuplan_pool_take(pool, units->count, sizeof(*first));
	moves->event = npuplan_pool_take(pool, plan->position_count, sizeof(*moves->event));
	moves->stay = npuplan_pool_take(pool, stays, sizeof(*moves->stay));
	moves->item = npuplan_pool_take(pool, stays + settings->kept_count, sizeof(*moves->item));
	moves->uses = npuplan_pool_take(pool, uses, sizeof(*moves->uses));
	moves->written = npuplan_pool_take(pool, uses, sizeof(*moves->written));
	moves->readers = npuplan_pool_take(pool, uses, sizeof(*moves->readers));
	if (pool->failed) {
		npuplan_pool_free(pool);
		return -ENOMEM;
	}
	for (uint32_t u = 0; u < units->count; u++)
		first[u] = plan->placement_count;
	for (uint32_t i = plan->placement_count; i-- > 0;) {
		uint32_t unit = plan->placements[i].tensor;

		moves->stay[i] = (struct cosma_moved_stay){
			.unit = unit,
			.writer = NPUMEM_NONE,
			.next = first[unit] < plan->placement_count ? first[unit] : NPUMEM_NONE,
			.taker = NPUMEM_NONE,
		};
		first[unit] = i;
	}
	read_events(moves, machine, times, plan, first);
	list_readers(moves);
	find_takers(moves, plan);
	make_items(moves, plan);
	return 0;
}

void cosma_moves_fini(struct cosma_moves *moves)
{
	npuplan_pool_free(&moves->pool);
}

void cosma_moves_arrange(const struct cosma_moves *moves, const struct npuplan_cosma_plan *plan,
			 struct cosma_arrangement *arrangement)
{
	for (uint32_t e = 0; e < moves->event_count; e++)
		arrangement->order[e] = arrangement->position[e] = e;
	for (uint32_t k = 0; k < moves->item_count; k++)
		arrangement->offset[k] = moves->item[k].tensor == NPUMEM_NONE ?
						 moves->item[k].fixed_offset :
						 plan->placements[moves->item[k].tensor].offset;
}

/* The instants at which a stay is on chip. */
static void span_of_stay(const struct cosma_moves *moves,
			 const struct cosma_arrangement *arrangement,
			 const struct cosma_moved_stay *stay, uint32_t *start, uint32_t *end)
{
	*start = 0;
	if (stay->writer != NPUMEM_NONE)
		*start = 2 * arrangement->position[stay->writer] +
			 !is_transfer(&moves->event[stay->writer]);
	*end = *start | 1;
	for (uint32_t k = 0; k < stay->use_count; k++) {
		uint32_t e = moves->readers[stay->first_use + k];
		const struct cosma_event *event = &moves->event[e];
		uint32_t at = 2 * arrangement->position[e] + 1;

		/* A staged step is done with it before it stores. */
		if (!is_transfer(event) && moves->settings->staged &&
		    moves->settings->staged[event->index])
			at--;
		*end = at > *end ? at : *end;
	}
}

void cosma_moves_span(const struct cosma_moves *moves, const struct cosma_arrangement *arrangement,
		      uint32_t item, struct npuplan_item *out)
{
	uint32_t first = moves->item[item].tensor, start, end;

	*out = moves->item[item];
	if (first == NPUMEM_NONE)
		return;
	out->start = UINT32_MAX;
	out->end = 0;
	for (uint32_t i = first; i != NPUMEM_NONE; i = moves->stay[i].taker) {
		span_of_stay(moves, arrangement, &moves->stay[i], &start, &end);
		out->start = start < out->start ? start : out->start;
		out->end = end > out->end ? end : out->end;
	}
}

static void range_of_arrival(const struct cosma_moves *moves,
			     const struct cosma_arrangement *arrangement, uint32_t i,
			     uint32_t *first, uint32_t *last)
{
	const struct cosma_moved_stay *stay = &moves->stay[i];

	for (uint32_t k = 0; k < stay->use_count; k++) {
		uint32_t at = arrangement->position[moves->readers[stay->first_use + k]];

		*last = at <= *last ? at - 1 : *last;
	}
	/* Stays of a unit stand together. */
	for (; i > 0 && moves->stay[i - 1].unit == stay->unit; i--) {
		const struct cosma_moved_stay *before = &moves->stay[i - 1];

		if (before->writer != NPUMEM_NONE &&
		    arrangement->position[before->writer] >= *first)
			*first = arrangement->position[before->writer] + 1;
		for (uint32_t k = 0; k < before->use_count; k++) {
			uint32_t at = arrangement->position[moves->readers[before->first_use + k]];

			*first = at >= *first ? at + 1 : *first;
		}
	}
}

void cosma_moves_range(const struct cosma_moves *moves, const struct cosma_arrangement *arrangement,
		       uint32_t event, uint32_t *first, uint32_t *last)
{
	const struct cosma_event *at = &moves->event[event];
	const struct cosma_moved_stay *stay = &moves->stay[at->stay];
	uint32_t before;

	*first = 0;
	*last = moves->event_count - 1;
	if (at->kind != NPUMEM_POSITION_STORE) {
		range_of_arrival(moves, arrangement, at->stay, first, last);
		return;
	}
	if (stay->writer != NPUMEM_NONE)
		*first = arrangement->position[stay->writer] + 1;
	/* The copy is there when it comes back, and before its bytes are another's. */
	for (int k = 0; k < 2; k++) {
		uint32_t other = k ? stay->taker : stay->next;

		if (other == NPUMEM_NONE)
			continue;
		before = arrangement->position[moves->stay[other].writer];
		*last = before <= *last ? before - 1 : *last;
	}
}
