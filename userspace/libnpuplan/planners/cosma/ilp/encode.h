/* SPDX-License-Identifier: MIT */
/*
 * COSMA as an integer linear program (arXiv 2311.18246, section III). Timestep t runs the operator
 * at position t - 1; timestep 0 is before everything, where inputs that are resident from the start
 * are created.
 *
 * The columns are the paper's. C: a tensor is created (or first loaded) at t. P: it is kept from t
 * - 1. S: it is spilled between t - 1 and t. R: it is retrieved for t. L: its address at t. u, d:
 * one of two tensors lies above, below the other at t. V is P: Eq. 2 has P only where the tensor
 * was there before, and then the last three rows of Eq. 11 say V = P.
 *
 * The paper leaves these things open, and docs/cosma.md says why they are as they are here:
 * - Graph inputs and parameters are created by a load at any timestep, which takes no operator.
 *   They, and graph outputs, have a host copy from their creation: Eq. 4 lets them be retrieved
 *   without a spill, and they have no S.
 * - A parameter that one operator uses is created and gone with it.
 * - There is one operator a timestep, as section III-A says but no equation.
 * - Columns T, which the paper does not have, say that an output takes its input's bytes at t
 *   (model.h's taker). Then the two have one address and are allowed to overlap, and the input is
 *   not kept for t + 1. Only in-place operators have them; staged ones are not known here.
 * - Eq. 1 forbids that a tensor is spilled and retrieved at one timestep to come back to another
 *   address. Here it may, unless spill_steps asks for the letter.
 */
#pragma once

#include "planners/cosma/search/solve.h"
#include "program.h"

/*
 * struct ilp_tensor - a tensor that has columns
 * @x: its number in the model; NPUMEM_NONE: only operator @producer uses it
 * @graph: its number in the graph; NPUMEM_NONE: it stands for outputs outside, and has no bytes
 * @producer: operator of the model; NPUMEM_NONE: it comes from the host
 * @source: tensor whose bytes it may take when it is created; else NPUMEM_NONE
 * @size: granules
 * @pitch: granules that column L has as one
 * @host: it has a host copy as soon as it is created
 * @reloaded: its first load is a reload, which costs (divide.c)
 * @first, @last: timesteps at which it can be of use, inclusive
 * @created: last timestep at which it can be created; @first is the first
 */
struct ilp_tensor {
	uint32_t x;
	uint32_t graph;
	uint32_t producer;
	uint32_t source;
	int64_t size;
	int64_t pitch;
	bool host;
	bool reloaded;
	uint32_t first;
	uint32_t last;
	uint32_t created;
};

/*
 * struct ilp_cell - the columns of one tensor at one timestep; ILP_NONE: there is no such column
 */
struct ilp_cell {
	uint32_t c;
	uint32_t p;
	uint32_t s;
	uint32_t r;
	uint32_t l;
	uint32_t t;
};

/*
 * struct ilp_op - an operator of the model
 * @early, @late: timesteps at which it can run
 * @output: the first tensor it creates
 */
struct ilp_op {
	uint32_t early;
	uint32_t late;
	uint32_t output;
};

/*
 * struct ilp_encoding - a program, and where its columns are
 * @cosma: what was asked; if the schedule is fixed, its rank is set
 * @model: of the whole graph, or a part of @cosma's
 * @reloaded: per tensor of @model, as struct ilp_tensor has it; NULL: none is
 * @spill_steps: Eq. 1 holds to the letter
 * @tensor: the model's tensors, then parameters
 * @op: per operator
 * @cell: of tensor a at timestep t: cell[a * steps + t]
 * @steps: timesteps, with 0
 * @granule: bytes; it divides all sizes, and sizes, pitches and addresses are numbers of it
 * @budget: granules
 * @peak: column M_peak, or ILP_NONE
 */
struct ilp_encoding {
	const struct cosma_solver *cosma;
	const struct cosma_model *model;
	const bool *reloaded;
	bool spill_steps;
	struct ilp_program program;
	struct ilp_tensor *tensor;
	struct ilp_op *op;
	struct ilp_cell *cell;
	uint32_t tensor_count;
	uint32_t steps;
	int64_t granule;
	int64_t budget;
	uint32_t peak;
};

/**
 * ilp_encode() - make the whole program
 * @encoding: its first fields, up to @spill_steps, are set, all others are zero
 * @error: says what is too large; or NULL
 *
 * -ENOMEM; -E2BIG: there are more than ILP_LIMIT columns and rows, more than ILP_TERMS terms, or
 * more than 2^25 pairs of tensor and timestep.
 */
int ilp_encode(struct ilp_encoding *encoding, struct npuplan_error *error);
void ilp_encoding_fini(struct ilp_encoding *encoding);

/* Returns the columns of tensor @a at timestep @t. */
static inline struct ilp_cell *ilp_at(const struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	return &encoding->cell[(size_t)a * encoding->steps + t];
}

/* Lists the tensors, and when they can be of use (lifetimes.c). */
int ilp_lifetimes(struct ilp_encoding *encoding);
/* Makes columns C, P, S, R and T, and room for the numbers of columns L, which are made later. */
int ilp_make_columns(struct ilp_encoding *encoding);
/* Whether two tensors may be on chip at once in some order. */
bool ilp_may_meet(const struct ilp_encoding *encoding, uint32_t a, uint32_t b);

/* ilp_check_size() - -E2BIG if the program would be too large
 *
 * This is asked once there are tensors, but no columns. It counts all columns, but of rows only
 * those of Eq. 10 and 11.
 */
int ilp_check_size(const struct ilp_encoding *encoding, struct npuplan_error *error);

/* Reads the order of operators, and which tensor is away before which use (decode.c). */
void ilp_read_schedule(const struct ilp_encoding *encoding, const double *value,
		       struct cosma_schedule *schedule);

/* ilp_read_addresses() - set the offset of each stay of that schedule
 *
 * -EIO: the solution's addresses overlap by more than rounding can explain.
 */
int ilp_read_addresses(const struct ilp_encoding *encoding, const double *value,
		       struct cosma_stays *stays);
