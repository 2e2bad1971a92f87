/* SPDX-License-Identifier: MIT */
/*
 * Playing: steps of consecutive operators are run on a model, in several orders and without
 * addresses, to see how much memory and traffic that costs.
 */
#pragma once

#include "model.h"

/*
 * enum tilesched_rule - the order of the steps of a fusion
 *
 * In depth-first order each step of the last operator asks for the steps that it needs, these ask
 * for those that they need, and so on. An operator that is asked goes on by a quantum of steps.
 * Steps that nobody in the fusion has asked for come last, those of later operators first.
 */
enum tilesched_rule {
	TILESCHED_LAYERS,      /* operator by operator */
	TILESCHED_DEPTH_FIRST, /* inputs asked for in their order */
	TILESCHED_REVERSE,     /* in reverse order */
	TILESCHED_EAGER,       /* not asked for: always the latest operator that can go on */
};

/**
 * struct tilesched_way - a way to run a fusion
 * @rule: enum tilesched_rule
 * @quantum: number of steps that an operator runs in one go, at least 1
 */
struct tilesched_way {
	uint16_t rule;
	uint16_t quantum;
};

/*
 * struct tilesched_consumer - an operator that needs another one
 * @next: number, in sim->consumers, of the next one that needs the same; NPUMEM_NONE: there is none
 */
struct tilesched_consumer {
	uint32_t op;
	uint32_t next;
};

/*
 * struct tilesched_sim - the state of the memory, and the operators that are done
 * @left: per unit, number of steps that have yet to read it
 * @live: bytes of all units that live
 * @entry: bytes that are there at the entry, including those that nobody reads
 * @next: an operator: all before it are done, and none from it on is begun
 * @done: per operator, number of steps that are done
 * @order: steps of the fusion in the order in which they were run; @order_count of them
 * @first_consumer: per operator, number of the first one in @consumers that needs it
 * @ready: for eager order, the set of operators that can go on
 * @stack: for depth-first order, the operators that were asked and wait
 * @resident: bytes of weights that stay on chip while a fusion runs
 * @work: work units: units of memory and waits that were looked at
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

/* Begin with no step done. The caller frees sim->pool in any case. -ENOMEM. */
int tilesched_sim_init(struct tilesched_sim *sim, const struct tilesched_model *model,
		       uint64_t resident);

/* Go back to where no step is done. */
void tilesched_sim_rewind(struct tilesched_sim *sim);
/* tilesched_sim_fusion() - run operators [next, end), find the cost, and take it back
 * @limit: peak above which the rest is not run
 *
 * False: the peak is above the limit, and the cost is not known. sim->order has the steps that were
 * run.
 */
bool tilesched_sim_fusion(struct tilesched_sim *sim, uint32_t end, struct tilesched_way way,
			  uint64_t limit, struct npuplan_schedule_point *cost);
/* Run operators [next, end) for good, in layer order, which leaves the memory as any order does. */
void tilesched_sim_advance(struct tilesched_sim *sim, uint32_t end);

/* Run the next step of an operator, which waits for none; the bytes that live meanwhile. */
uint64_t tilesched_sim_run(struct tilesched_sim *sim, uint32_t op);
/* Take back the last step that an operator has run, but for the bytes that live. */
void tilesched_sim_take_back(struct tilesched_sim *sim, uint32_t op);
/* tilesched_sim_ops() - run all steps, from where none is done, find the cost, and take it back
 * @ops: the operator of each step
 *
 * sim->order has the steps.
 */
void tilesched_sim_ops(struct tilesched_sim *sim, const uint32_t *ops,
		       struct npuplan_schedule_point *cost);
