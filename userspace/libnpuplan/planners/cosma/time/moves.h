/* SPDX-License-Identifier: MIT */
/*
 * A plan as events that may be moved: steps, and transfers that have no place of their own in the
 * order but between the events that they depend on. Drops are no events: they follow.
 */
#pragma once

#include "prefetch.h"

/*
 * struct cosma_event - a step or a transfer
 * @kind: enum npumem_position_kind; a spill is a store
 * @index: step or unit
 * @time: that it takes
 * @stay: of a transfer, the stay that it moves
 * @first_use, @use_count: of a step, its entries of @uses
 */
struct cosma_event {
	uint32_t kind;
	uint32_t index;
	uint64_t time;
	uint32_t stay;
	uint32_t first_use;
	uint32_t use_count;
};

/*
 * struct cosma_moved_stay - a unit on chip without a break
 * @unit: its unit
 * @writer: event that puts it there; NPUMEM_NONE: it is there from the start
 * @next: the unit's next stay, NPUMEM_NONE if there is none
 * @first_use, @use_count: events that read it: entries of @readers
 * @taker: stay that begins with the last step of this one, and lies where it lies; NPUMEM_NONE:
 *	none does
 * @item: what it is placed as, with those that lie where it lies
 */
struct cosma_moved_stay {
	uint32_t unit;
	uint32_t writer;
	uint32_t next;
	uint32_t first_use;
	uint32_t use_count;
	uint32_t taker;
	uint32_t item;
};

/*
 * struct cosma_moves - the events and stays of a plan
 * @event: @event_count of them
 * @stay: @stay_count of them
 * @item: @item_count stays that lie at one address, and what is kept; the instants of one are 2p
 *	and 2p + 1 if an event at p reads and writes
 * @uses: stays that steps read, then those that they write
 * @written: per entry of @uses: the step writes it
 * @readers: events that read stays: steps and stores
 */
struct cosma_moves {
	const struct cosma_units *units;
	const struct cosma_settings *settings;
	struct npuplan_pool pool;
	struct cosma_event *event;
	struct cosma_moved_stay *stay;
	struct npuplan_item *item;
	uint32_t *uses;
	bool *written;
	uint32_t *readers;
	uint32_t event_count;
	uint32_t stay_count;
	uint32_t item_count;
	uint32_t use_count;
	uint64_t capacity;
	uint32_t alignment;
};

/*
 * struct cosma_arrangement - an order of the events, with addresses
 * @order: events
 * @position: per event, its place in @order
 * @offset: per item
 * @makespan: when all is over
 * @sum: of the ends of all steps: of plans that take as long, less is better
 */
struct cosma_arrangement {
	uint32_t *order;
	uint32_t *position;
	uint64_t *offset;
	uint64_t makespan;
	uint64_t sum;
};

/* cosma_moves_init() - read a plan
 * @arrangement: out: as the plan has it; its arrays are the caller's
 */
int cosma_moves_init(struct cosma_moves *moves, const struct cosma_units *units,
		     const struct cosma_settings *settings, const struct npuplan_machine *machine,
		     const uint64_t *times, const struct npuplan_cosma_plan *plan);
void cosma_moves_fini(struct cosma_moves *moves);
/* Sets an arrangement to that of @plan, which the moves were made of. */
void cosma_moves_arrange(const struct cosma_moves *moves, const struct npuplan_cosma_plan *plan,
			 struct cosma_arrangement *arrangement);
/* Sets the instants of an item as the order has them. */
void cosma_moves_span(const struct cosma_moves *moves, const struct cosma_arrangement *arrangement,
		      uint32_t item, struct npuplan_item *out);
/* The first and the last place in the order that a transfer may have. */
void cosma_moves_range(const struct cosma_moves *moves, const struct cosma_arrangement *arrangement,
		       uint32_t event, uint32_t *first, uint32_t *last);

/* cosma_moves_play() - run the events
 * @ends: out: per event
 * @blocker: out: per event, the one whose end it began with; NPUMEM_NONE: it began at once
 * @last: per item, scratch
 */
void cosma_moves_play(const struct cosma_moves *moves, struct cosma_arrangement *arrangement,
		      uint64_t *ends, uint32_t *blocker, uint32_t *last);

/* Writes an arrangement as positions and placements. -ENOMEM */
int cosma_moves_write(const struct cosma_moves *moves, const struct cosma_arrangement *arrangement,
		      struct npuplan_cosma_plan *plan);
