/* SPDX-License-Identifier: MIT */
/*
 * Least cuts: the fewest bytes that live when a step runs, and what has run by then.
 */
#pragma once

#include "base/net.h"
#include "model.h"

/** enum tilesched_siblings - what is known of the other steps of a step's operator */
enum tilesched_siblings {
	TILESCHED_ANY,	/* nothing */
	TILESCHED_KEPT, /* those before it have run, those behind it wait; so of all operators */
	TILESCHED_WAIT, /* none has run */
	TILESCHED_RUN,	/* all have run */
};

/** enum tilesched_side - what is known of a step when another one runs */
enum tilesched_side { TILESCHED_UNKNOWN, TILESCHED_HAS_RUN, TILESCHED_WAITS };

/*
 * struct tilesched_cuts - cuts of a model
 * @order: an order of all steps in which each comes behind those that it needs
 * @op_of: per step, its operator
 * @writer: per unit, the step that writes it; NPUMEM_NONE: none does
 * @counted: per unit, whether it counts: one step writes it, or it is there at the entry and none
 *	does. What is written anew need not live before that
 * @stays: per unit, whether it survives the exit
 * @side: per step, enum tilesched_side in the cut that was asked for last
 * @step_nodes, @unit_nodes: per step and unit, its node in @net; NPUMEM_NONE: it is not there
 * @held: per unit, whether a step that waits reads it in the cut that was asked for last
 * @needed: room for the steps that one needs
 * @net: the network of the steps of which nothing is known
 * @looked: steps, units and edges that were looked at
 */
struct tilesched_cuts {
	const struct tilesched_model *model;
	const uint32_t *order;
	uint32_t *op_of;
	uint32_t *writer;
	bool *counted;
	bool *stays;
	uint8_t *side;
	uint32_t *step_nodes;
	uint32_t *unit_nodes;
	bool *held;
	uint32_t *needed;
	struct npuplan_net net;
	uint64_t looked;
	struct npuplan_pool pool;
};

/**
 * struct tilesched_cut - a cut
 * @step: the step that runs
 * @stores: whether it stores; else it loads
 * @siblings: enum tilesched_siblings
 */
struct tilesched_cut {
	uint32_t step;
	bool stores;
	enum tilesched_siblings siblings;
};

/* tilesched_cuts_init() - make room for cuts of a model
 * @order: as struct tilesched_cuts has it, which has to remain
 *
 * The caller calls tilesched_cuts_fini() in any case. -ENOMEM.
 */
int tilesched_cuts_init(struct tilesched_cuts *cuts, const struct tilesched_model *model,
			const uint32_t *order);
void tilesched_cuts_fini(struct tilesched_cuts *cuts);

/* tilesched_cut() - find the fewest bytes that live when a step runs, whatever has run before it
 * @looks: nodes and edges to look at
 * @whole: out: the result is the least cut; else time was short, and it is no more than that
 *
 * What the step needs has run, and what needs it has not; where steps keep their order, that is all
 * that its operator and its waits say, else what it reads. Of all sets of steps that may have run
 * besides, the one behind which the fewest bytes live is a least cut of a network of steps and
 * units: a unit that was written and still has a reader is an edge that is cut.
 */
uint64_t tilesched_cut(struct tilesched_cuts *cuts, struct tilesched_cut cut, uint64_t looks,
		       bool *whole);

/* Whether a step is of the smallest set of steps that have run in the cut that was found last. */
bool tilesched_cut_has(const struct tilesched_cuts *cuts, uint32_t step);

/* The first of a step's reads that last until it has stored, and whose bytes no output takes. */
uint32_t tilesched_late_reads(const struct tilesched_model *model, uint32_t step);
