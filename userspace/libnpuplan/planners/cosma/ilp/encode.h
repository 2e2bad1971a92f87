/* SPDX-License-Identifier: MIT */
/*
 * COSMA as an integer linear program (arXiv 2311.18246, section III). Timestep t
 * runs the operator at position t - 1; timestep 0 is before everything, where inputs
 * that are resident from the start are created.
 *
 * Columns, as in the paper: C tensor created (or first loaded) at t; P kept from
 * t - 1; S spilled between t - 1 and t; R retrieved for t; L address at t; u, d one
 * of two tensors lies above, below the other at t. V is P: Eq. 2 has P only where
 * the tensor was there before, and then the last three rows of Eq. 11 say V = P.
 *
 * What the paper leaves open, and how it is here (docs/cosma.md):
 * - Graph inputs and parameters are created by a load at any timestep, which takes no
 *   operator; they, and graph outputs, have a host copy from their creation: Eq. 4 lets
 *   them be retrieved without a spill, and they have no S.
 * - A parameter that one operator uses is created and gone with it.
 * - One operator a timestep, as section III-A says but no equation.
 * - Columns T: an output takes its input's bytes at t (model.h's taker), which the paper
 *	does not have: then the two have one address, are allowed to overlap, and the input is not
 *	kept for t + 1. Inplace operators only; staged ones are not known here.
 * - Eq. 1 forbids that a tensor is spilled and retrieved at one timestep, to come
 *   back to another address. Here it may, unless spill_steps asks for the letter.
 */
#pragma once

#include "planners/cosma/model/model.h"
#include "program.h"

/*
 * struct ilp_tensor - what has columns
 * @x: of the model; NPUMEM_NONE: only @producer has it
 * @graph: of the graph; NPUMEM_NONE: stands for outputs outside, and has no bytes
 * @producer: operator of the model; NPUMEM_NONE: comes from the host
 * @source: tensor whose bytes it may take when it is created; else NPUMEM_NONE
 * @size: units
 * @step: units that one unit of column L is
 * @host: has a host copy as soon as it is created
 * @charged: its first load is no compulsory one (divide.c)
 * @first, @last: timesteps at which it can be of use, inclusive
 * @created: last timestep at which it can be created; @first is the first
 */
struct ilp_tensor {
	uint32_t x;
	uint32_t graph;
	uint32_t producer;
	uint32_t source;
	int64_t size;
	int64_t step;
	bool host;
	bool charged;
	uint32_t first;
	uint32_t last;
	uint32_t created;
};

/* struct ilp_source - what is encoded
 * @model: of the whole graph, or a part of it
 * @whole: the model that @model is a part of; NULL: @model is of the graph
 * @rank: per operator its place in the order, if the schedule is fixed; else NULL
 * @charged: per tensor of @model; NULL: none
 * @spill_steps: Eq. 1 to the letter
 */
struct ilp_source {
	const struct npuplan_graph *graph;
	const struct cosma_model *model;
	const struct cosma_model *whole;
	const struct npuplan_cosma_options *options;
	const uint32_t *rank;
	const bool *charged;
	bool spill_steps;
};

/*
 * struct ilp_encoding - a program, and where its columns are
 * @tensor: the model's tensors, then parameters
 * @steps: timesteps, with 0
 * @unit: bytes a unit: what divides all sizes
 * @budget: units
 * @early, @late: per operator, timesteps at which it can run
 * @output: per operator, the first tensor it creates
 * @c, @p, @s, @r, @l, @t: columns, [tensor * steps + timestep]
 * @peak: column M_peak, or ILP_NONE
 */
struct ilp_encoding {
	struct ilp_source source;
	struct ilp_program program;
	struct ilp_tensor *tensor;
	uint32_t tensor_count;
	uint32_t steps;
	int64_t unit;
	int64_t budget;
	uint32_t *early;
	uint32_t *late;
	uint32_t *output;
	uint32_t *c;
	uint32_t *p;
	uint32_t *s;
	uint32_t *r;
	uint32_t *l;
	uint32_t *t;
	uint32_t peak;
};

/* ilp_encode() - the whole program
 * @error: says what is too large; or NULL
 *
 * -ENOMEM; -E2BIG: more than ILP_LIMIT columns and rows, more than ILP_TERMS terms, or more
 * than 2^25 pairs of tensor and timestep.
 */
int ilp_encode(struct ilp_encoding *encoding, const struct ilp_source *source,
	       struct npuplan_error *error);
void ilp_encoding_fini(struct ilp_encoding *encoding);

static inline size_t ilp_at(const struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	return (size_t)a * encoding->steps + t;
}

/* Number in the graph of an operator of the source's model. */
static inline uint32_t ilp_graph_op(const struct ilp_source *source, uint32_t v)
{
	uint32_t op = source->model->op_of[v];

	return source->whole ? source->whole->op_of[op] : op;
}

/* lifetimes.c: tensors, and when they can be of use. */
int ilp_lifetimes(struct ilp_encoding *encoding);
/* Columns C, P, S, R, T; numbers of columns L, which there are none of yet. */
int ilp_make_columns(struct ilp_encoding *encoding);
/* Whether two tensors may be on chip at once in some order. */
bool ilp_may_meet(const struct ilp_encoding *encoding, uint32_t a, uint32_t b);

/* ilp_check_size() - once there are tensors, but no columns: -E2BIG
 *
 * Counts all columns, but of rows only those of Eq. 10 and 11.
 */
int ilp_check_size(const struct ilp_encoding *encoding, struct npuplan_error *error);

/*
 * schedule.c: Eq. 1 to 8, and one operator a timestep. Those that are of one tensor and one
 * timestep are asked for it.
 */
void ilp_eq1_one_action(struct ilp_encoding *encoding, uint32_t a, uint32_t t);
void ilp_eq2_preserve(struct ilp_encoding *encoding, uint32_t a, uint32_t t);
void ilp_eq3_spill(struct ilp_encoding *encoding, uint32_t a, uint32_t t);
void ilp_eq4_retrieve(struct ilp_encoding *encoding, uint32_t a, uint32_t t);
void ilp_eq5_dependencies(struct ilp_encoding *encoding);
void ilp_eq6_siblings(struct ilp_encoding *encoding);
void ilp_eq7_one_creation(struct ilp_encoding *encoding);
void ilp_eq8_one_spill(struct ilp_encoding *encoding);
void ilp_one_operator(struct ilp_encoding *encoding);

/* memory.c: Eq. 9 to 11. */
void ilp_eq9_within_budget(struct ilp_encoding *encoding);
void ilp_eq10_no_overlap(struct ilp_encoding *encoding);
void ilp_eq11_same_address(struct ilp_encoding *encoding);
/* An output takes its input's bytes: who may, and where both are. */
void ilp_take(struct ilp_encoding *encoding);
void ilp_take_address(struct ilp_encoding *encoding);
/* Column T of two tensors at @t, whichever takes the other's bytes; ILP_NONE if neither may. */
uint32_t ilp_taken(const struct ilp_encoding *encoding, uint32_t a, uint32_t b, uint32_t t);

/* objectives.c: Eq. 12 to 17, and the bytes on chip. */
void ilp_eq12_traffic(struct ilp_encoding *encoding);
void ilp_eq13_no_transfers(struct ilp_encoding *encoding);
void ilp_eq14_footprint(struct ilp_encoding *encoding);
void ilp_eq15_peak(struct ilp_encoding *encoding);
void ilp_eq16_fixed_order(struct ilp_encoding *encoding);
void ilp_capacity(struct ilp_encoding *encoding);

/* strengthen.c */
void ilp_strengthen(struct ilp_encoding *encoding);
