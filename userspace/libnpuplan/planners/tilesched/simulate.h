/* SPDX-License-Identifier: MIT */
/*
 * Orders of the steps of consecutive operators, and what memory and traffic they
 * cost: played on a model, without addresses.
 */
#pragma once

#include "model.h"

/*
 * enum tilesched_rule - order of the steps of a segment
 *
 * Depth-first: each step of the last operator asks for what it needs,
 * these steps for what they need, and so on; an operator that is asked goes on by
 * a quantum of steps. What nobody in the segment has asked for comes last, later
 * operators first.
 */
enum tilesched_rule {
	TILESCHED_LAYERS,      /* operator by operator */
	TILESCHED_DEPTH_FIRST, /* inputs asked for in their order */
	TILESCHED_REVERSE,     /* in reverse order */
	TILESCHED_EAGER,       /* not asked for: always the latest operator that can go on */
};

/**
 * struct tilesched_way - to run a segment
 * @rule: enum tilesched_rule
 * @quantum: steps of an operator in one go, > 0
 */
struct tilesched_way {
	uint16_t rule;
	uint16_t quantum;
};

/*
 * struct tilesched_consumer - operator that needs another one
 * @next: in sim->consumers, the next one that needs the same; NPUMEM_NONE: there is none
 */
struct tilesched_consumer {
	uint32_t op;
	uint32_t next;
};

/*
 * struct tilesched_sim - state of the memory
 * @left: per unit, steps that have yet to read it
 * @live: bytes
 * @entry: bytes that are there at first, those included that nobody reads
 * @next: operator; all before it are done, none from it on is begun
 * @done: per operator, steps that are done
 * @order: steps of the segment, as they were run; @order_count of them
 * @first_consumer: per operator, in @consumers: who needs it
 * @ready: of eager order, a bit an operator
 * @stack: of depth-first order
 * @resident: bytes of weights that stay on chip while a segment runs
 * @work: units and waits looked at
 */
struct tilesched_sim {
	const struct tilesched_model *model;
	uint32_t *left;
	uint64_t live;
	uint64_t entry;
	uint32_t next;
	uint32_t *done;
	uint32_t *order;
	uint32_t order_count;
	uint32_t *first_consumer;
	struct tilesched_consumer *consumers;
	uint64_t *ready;
	struct tilesched_wait *stack;
	uint64_t resident;
	uint64_t work;
	struct npuplan_pool pool;
};

/* npuplan_pool_free() its pool in any case. -ENOMEM */
int tilesched_sim_init(struct tilesched_sim *sim, const struct tilesched_model *model,
		       uint64_t resident);

/* Nothing is done. */
void tilesched_sim_rewind(struct tilesched_sim *sim);
/* tilesched_sim_segment() - run operators [next, end), and take it back
 * @limit: above this peak the rest is not run
 *
 * False: it goes above the limit; the cost is not known then. sim->order has the
 * steps that were run.
 */
bool tilesched_sim_segment(struct tilesched_sim *sim, uint32_t end, struct tilesched_way way,
			   uint64_t limit, struct npuplan_schedule_point *cost);
/* Run operators [next, end) for good, in layer order, which leaves what any order does. */
void tilesched_sim_advance(struct tilesched_sim *sim, uint32_t end);
