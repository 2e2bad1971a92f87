/* SPDX-License-Identifier: MIT */
/*
 * Tile scheduling: what is scheduled. A tiled graph seen as operators, each a
 * list of steps that keep their order, and units of memory that steps read and
 * write.
 */
#pragma once

#include "problem/problem.h"

/*
 * struct tilesched_op - steps that write the same tensor
 * @first, @count: its steps, see struct tilesched_model
 * @weights: bytes of parameters that it takes
 * @branches: takes from more than one operator
 */
struct tilesched_op {
	uint32_t first;
	uint32_t count;
	uint64_t weights;
	bool branches;
};

/**
 * struct tilesched_wait - steps of an operator that come before a step
 * @op: operator, never a later one than the step's
 * @count: of its steps, the first ones
 */
struct tilesched_wait {
	uint32_t op;
	uint32_t count;
};

/*
 * struct tilesched_step - one step of the graph
 * @step: its number there
 * @first_read: in reads[]: those over before it stores; from @first_late on those
 *	that last until it has stored
 * @first_write: in writes[]
 * @first_wait: in waits[]
 * @kept: activation bytes that it reads and the step of its operator just before
 *	has read too: halos
 *
 * What is a step's ends where the next one's begins; one more step ends the last.
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
 * @cell: of the verifier: first version of these bytes
 * @bytes: in the arena
 * @reads: steps that read it, and one more if it must survive the exit
 * @at_entry: there from the beginning
 *
 * The verifier's cells; of bytes that are updated in place all versions are one.
 */
struct tilesched_unit {
	uint32_t cell;
	uint32_t reads;
	uint64_t bytes;
	bool at_entry;
};

/*
 * struct tilesched_model - of a graph of one block
 *
 * Steps are numbered operator by operator, operators by their first step, and no
 * operator needs one after it: where the graph has it otherwise, the operators
 * from the one to the other are one.
 *
 * @unit_of: per cell its unit; NPUMEM_NONE: not in the arena
 * @all_weights: each operator's once
 * @all_reads: bytes of activations that the steps read, one by one
 * @pool: of all arrays but @waits
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
 * @graph has the operators' weights and may have no operators. The caller calls
 * tilesched_model_fini() in any case. -ENOMEM.
 */
int tilesched_model_init(struct tilesched_model *model, const struct npuplan_graph *graph,
			 const struct npuv_graph *cells);
void tilesched_model_fini(struct tilesched_model *model);
