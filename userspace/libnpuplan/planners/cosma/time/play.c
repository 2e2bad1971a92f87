// SPDX-License-Identifier: MIT
/* This file runs an arrangement of events on two engines, and writes it as a plan. */
#include <string.h>

#include "moves.h"

/*
 * struct playing - while events run
 * @last: per item, the event whose end is the latest of those that have accessed it
 */
struct playing {
	const struct cosma_moves *moves;
	const struct cosma_arrangement *arrangement;
	uint64_t *ends;
	uint32_t *last;
	uint64_t start;
	uint32_t blocker;
};

static void wait_for(struct playing *playing, uint32_t event)
{
	if (event == NPUMEM_NONE || playing->ends[event] <= playing->start)
		return;
	playing->start = playing->ends[event];
	playing->blocker = event;
}

/* What takes bytes waits for all that was done with them before. */
static void wait_for_bytes(struct playing *playing, uint32_t item)
{
	const struct cosma_moves *moves = playing->moves;
	const uint64_t *offset = playing->arrangement->offset;
	uint64_t first = offset[item], end = first + moves->item[item].size;

	for (uint32_t k = 0; k < moves->item_count; k++)
		if (playing->last[k] != NPUMEM_NONE && offset[k] < end &&
		    first < offset[k] + moves->item[k].size)
			wait_for(playing, playing->last[k]);
}

static void touch(struct playing *playing, uint32_t stay, uint32_t event)
{
	uint32_t *last = &playing->last[playing->moves->stay[stay].item];

	if (*last == NPUMEM_NONE || playing->ends[*last] <= playing->ends[event])
		*last = event;
}

static void play_step(struct playing *playing, uint32_t e)
{
	const struct cosma_moves *moves = playing->moves;
	const struct cosma_event *event = &moves->event[e];

	for (uint32_t k = event->first_use; k < event->first_use + event->use_count; k++) {
		const struct cosma_moved_stay *stay = &moves->stay[moves->uses[k]];

		if (moves->written[k])
			wait_for_bytes(playing, stay->item);
		else
			wait_for(playing, stay->writer);
	}
	playing->ends[e] = cosma_later(playing->start, event->time);
	for (uint32_t k = event->first_use; k < event->first_use + event->use_count; k++)
		touch(playing, moves->uses[k], e);
}

static void play_transfer(struct playing *playing, uint32_t e)
{
	const struct cosma_event *event = &playing->moves->event[e];
	const struct cosma_moved_stay *stay = &playing->moves->stay[event->stay];

	if (event->kind == NPUMEM_POSITION_STORE)
		wait_for(playing, stay->writer);
	else
		wait_for_bytes(playing, stay->item);
	playing->ends[e] = cosma_later(playing->start, event->time);
	touch(playing, event->stay, e);
}

void cosma_moves_play(const struct cosma_moves *moves, struct cosma_arrangement *arrangement,
		      uint64_t *ends, uint32_t *blocker, uint32_t *last)
{
	struct playing playing = {
		.moves = moves,
		.arrangement = arrangement,
		.ends = ends,
		.last = last,
	};
	uint32_t before[2] = { NPUMEM_NONE, NPUMEM_NONE };

	memset(last, 0xff, moves->item_count * sizeof(*last));
	arrangement->makespan = 0;
	arrangement->sum = 0;
	for (uint32_t p = 0; p < moves->event_count; p++) {
		uint32_t e = arrangement->order[p];
		bool step = moves->event[e].kind == NPUMEM_POSITION_STEP;

		playing.start = 0;
		playing.blocker = NPUMEM_NONE;
		wait_for(&playing, before[step]);
		if (step)
			play_step(&playing, e);
		else
			play_transfer(&playing, e);
		before[step] = e;
		blocker[e] = playing.blocker;
		if (ends[e] > arrangement->makespan)
			arrangement->makespan = ends[e];
		if (step)
			arrangement->sum = cosma_later(arrangement->sum, ends[e]);
	}
}

/* ------------------------------------------------------------- written */

static uint32_t last_reader(const struct cosma_moves *moves,
			    const struct cosma_arrangement *arrangement,
			    const struct cosma_moved_stay *stay)
{
	uint32_t last = stay->writer;

	for (uint32_t k = 0; k < stay->use_count; k++) {
		uint32_t e = moves->readers[stay->first_use + k];

		if (last == NPUMEM_NONE || arrangement->position[e] > arrangement->position[last])
			last = e;
	}
	return last;
}

static int add(struct npuplan_cosma_plan *plan, uint32_t kind, uint32_t index)
{
	struct npumem_position position = { .kind = kind, .index = index };

	return npuplan_append(&plan->positions, &plan->position_count, &position, 1);
}

/* A stay that event @e, at @position, is the last to use leaves, if it comes back. */
static int leave(const struct cosma_moves *moves, const struct cosma_arrangement *arrangement,
		 uint32_t e, uint32_t position, uint32_t i, struct npuplan_cosma_plan *plan)
{
	const struct cosma_moved_stay *stay = &moves->stay[i];
	struct npumem_placement *placement = &plan->placements[i];

	if (last_reader(moves, arrangement, stay) != e)
		return 0;
	/* Once: a step may read it twice. */
	if (placement->to != NPUMEM_NONE)
		return 0;
	placement->to = position;
	if (stay->next == NPUMEM_NONE)
		return 0;
	if (moves->event[e].kind == NPUMEM_POSITION_STORE) {
		struct npumem_position *at = &plan->positions[position];

		if (moves->units->graph->tensors[stay->unit].kind != NPUMEM_TENSOR_OUTPUT) {
			at->kind = NPUMEM_POSITION_SPILL;
			return 0;
		}
		placement->to = plan->position_count;
	}
	return add(plan, NPUMEM_POSITION_DROP, stay->unit);
}

static int write_event(const struct cosma_moves *moves, const struct cosma_arrangement *arrangement,
		       uint32_t e, struct npuplan_cosma_plan *plan)
{
	const struct cosma_event *event = &moves->event[e];
	uint32_t position = plan->position_count;
	int err = add(plan, event->kind, event->index);

	if (event->kind == NPUMEM_POSITION_LOAD || event->kind == NPUMEM_POSITION_FILL)
		plan->placements[event->stay].from = position;
	for (uint32_t k = event->first_use; k < event->first_use + event->use_count; k++)
		if (moves->written[k])
			plan->placements[moves->uses[k]].from = position;
	for (uint32_t k = event->first_use; k < event->first_use + event->use_count && !err; k++)
		err = leave(moves, arrangement, e, position, moves->uses[k], plan);
	return err || event->stay == NPUMEM_NONE ?
		       err :
		       leave(moves, arrangement, e, position, event->stay, plan);
}

/* Whether the step that a stay ends with may put others' bytes where it lies. */
static bool yields(const struct cosma_moves *moves, const struct cosma_moved_stay *stay,
		   uint32_t step)
{
	const struct cosma_settings *settings = moves->settings;

	if (settings->staged && settings->staged[step])
		return true;
	for (uint32_t k = 0; k < settings->takeover_count; k++)
		if (settings->takeovers[k].op == step && settings->takeovers[k].input == stay->unit)
			return true;
	return false;
}

static int find_peak(const struct cosma_moves *moves, struct npuplan_cosma_plan *plan)
{
	AUTO_HEAP uint64_t *change =
		npuplan_calloc(2 * (size_t)plan->position_count + 2, sizeof(*change));
	uint64_t now = 0;

	if (!change)
		return -ENOMEM;
	plan->peak = 0;
	plan->top = 0;
	/* Unsigned wrap-around is meant: the running sum is never negative. */
	for (uint32_t i = 0; i < moves->stay_count; i++) {
		const struct cosma_moved_stay *stay = &moves->stay[i];
		const struct npumem_placement *at = &plan->placements[i];
		uint64_t size = moves->units->graph->tensors[stay->unit].size;
		const struct npumem_position *last = &plan->positions[at->to];
		bool made = stay->writer != NPUMEM_NONE &&
			    moves->event[stay->writer].kind == NPUMEM_POSITION_STEP;
		bool early = last->kind == NPUMEM_POSITION_STEP && at->to != at->from &&
			     yields(moves, stay, last->index);

		if (last->kind == NPUMEM_POSITION_STEP && at->to == at->from && !made)
			early = yields(moves, stay, last->index);
		change[2 * (size_t)at->from + made] += size;
		change[2 * (size_t)at->to + 2 - early] -= size;
		plan->top = at->offset + size > plan->top ? at->offset + size : plan->top;
	}
	for (uint32_t p = 0; p < 2 * plan->position_count; p++) {
		now += change[p];
		plan->peak = now > plan->peak ? now : plan->peak;
	}
	return 0;
}

int cosma_moves_write(const struct cosma_moves *moves, const struct cosma_arrangement *arrangement,
		      struct npuplan_cosma_plan *plan)
{
	struct npuplan_cosma_plan made = *plan;
	int err = 0;

	made.positions = NULL;
	made.position_count = 0;
	made.placements = npuplan_calloc((size_t)moves->stay_count + 1, sizeof(*made.placements));
	if (!made.placements)
		return -ENOMEM;
	for (uint32_t i = 0; i < moves->stay_count; i++) {
		made.placements[i] = plan->placements[i];
		made.placements[i].from = 0;
		made.placements[i].to = NPUMEM_NONE;
		made.placements[i].offset = arrangement->offset[moves->stay[i].item];
	}
	for (uint32_t p = 0; p < moves->event_count && !err; p++)
		err = write_event(moves, arrangement, arrangement->order[p], &made);
	/* What was there from the start and is not used. */
	for (uint32_t i = 0; i < moves->stay_count && !err; i++)
		if (made.placements[i].to == NPUMEM_NONE)
			made.placements[i].to = made.placements[i].from;
	err = err ? err : find_peak(moves, &made);
	if (err) {
		npuplan_cosma_plan_free(&made);
		return err;
	}
	npuplan_free(plan->positions);
	npuplan_free(plan->placements);
	*plan = made;
	return 0;
}
