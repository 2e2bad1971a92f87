/* SPDX-License-Identifier: MIT */
/*
 * The model of tile scheduling: a tiled graph, seen as operators, each of them a list of steps that
 * keep their order, and as units of memory that the steps read and write.
 */
#pragma once

#include "problem/problem.h"

/*
 * struct tilesched_op - an operator: the steps that write the same tensor
 * @first, @count: its steps, as struct tilesched_model numbers them
 * @weights: bytes of parameters that it reads
 * @branches: it reads what more than one operator has written
 */
struct tilesched_op {
	uint32_t first;
	uint32_t count;
	uint64_t weights;
	bool branches;
};

/**
 * struct tilesched_wait - the steps of an operator that have to come before a step
 * @op: the operator, which is never later than the step's own
 * @count: number of its steps, the first ones, that come before
 */
struct tilesched_wait {
	uint32_t op;
	uint32_t count;
};

/*
 * struct tilesched_step - one step of the graph
 * @step: number of the step in the graph
 * @first_read: its first entry in reads[]; from @first_late on are the reads that last until it has
 *	stored, before those that are over earlier
 * @first_write: its first entry in writes[]
 * @first_wait: its first entry in waits[]
 * @kept: halos: bytes of activations that it reads and that the step of its operator just before it
 *	has read, too
 *
 * A step's entries end where those of the next step begin; there is one more step, which ends the
 * last one's.
 */
struct tilesched_step {
	uint32_t step;
	uint32_t first_read;
	uint32_t first_late;
	uint32_t first_write;
	uint32_t first_wait;
	uint64_t kept;
};

/**
 * struct tilesched_unit - bytes of a tensor in the arena that live and die together
 * @cell: the verifier's cell that is the first version of these bytes
 * @bytes: number of bytes
 * @reads: number of steps that read it, and one more if it survives the exit
 * @at_entry: it is valid at the entry
 *
 * A unit is a cell of the verifier, or all versions of bytes that are updated in place.
 */
struct tilesched_unit {
	uint32_t cell;
	uint32_t reads;
	uint64_t bytes;
	bool at_entry;
};

/*
 * struct tilesched_model - the model of a graph of one block
 *
 * Steps are numbered operator by operator, and operators by their first step. No operator needs a
 * later one: where one of the graph does, the operators from the one to the other are one in the
 * model.
 *
 * @unit_of: per cell, its unit; NPUMEM_NONE: it is not in the arena
 * @all_weights: bytes of weights if each operator fetches its own once
 * @all_reads: bytes of activations that the steps read, one by one
 * @pool: memory of all arrays but @waits
 */
struct tilesched_model {
	const struct npuv_graph *cells;
	struct tilesched_op *ops;
	struct tilesched_step *steps;
	struct tilesched_unit *units;
	struct tilesched_wait *waits;
	uint32_t *reads;
	uint32_t *writes;
	uint32_t *unit_of;
	uint32_t op_count;
	uint32_t step_count;
	uint32_t unit_count;
	uint64_t all_weights;
	uint64_t all_reads;
	struct npuplan_pool pool;
};

/*
 * Make the model of a graph. @graph says which parameters its operators have; it may know no
 * operators. The caller calls tilesched_model_fini() in any case. -ENOMEM.
 */
int tilesched_model_init(struct tilesched_model *model, const struct npuplan_graph *graph,
			 const struct npuv_graph *cells);
void tilesched_model_fini(struct tilesched_model *model);

/* Whether a step of the graph works in place: its outputs may take the bytes of what it reads. */
bool tilesched_works_in_place(const struct npuv_graph *cells, uint32_t step);
