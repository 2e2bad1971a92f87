/* SPDX-License-Identifier: MIT */
/*
 * The verifier's tests of transfers build schedules with transfers by these calls, spoil a small
 * valid plan, and run plans.
 */
#pragma once

#include "test_verify.h"

#define LOAD  NPUMEM_POSITION_LOAD
#define SPILL NPUMEM_POSITION_SPILL
#define FILL  NPUMEM_POSITION_FILL
#define DROP  NPUMEM_POSITION_DROP
#define STORE NPUMEM_POSITION_STORE

/* Tensors, steps, placements, positions of spilled(). */
enum { TX, TA, TB, TY };
enum { MAKE_A, MAKE_B, JOIN };
enum { X_AT_0, A_AT_8, B_AT_8, A_AT_0, Y_AT_16 };
enum { DO_A, SPILL_A, DO_B, FILL_A, DO_Y };

/* Adds an instance of a block with an empty schedule, that the calls below then fill. */
void begin_instance(struct build *b, uint32_t block);
/* Calls build_finish(), and leaves an empty schedule that step(), move() and drop() fill. */
void begin_schedule(struct build *b);
/* Adds a step of the graph to the schedule; returns its position, as move() and drop() do. */
uint32_t step(struct build *b, uint32_t index);
/* Moves bytes [first, first + length) of a tensor; their copy is at @host in host memory. */
uint32_t move(struct build *b, uint32_t kind, uint32_t tensor, uint32_t placement, uint64_t first,
	      uint64_t length, uint64_t host);
uint32_t drop(struct build *b, uint32_t tensor, uint64_t first, uint64_t length);
/* Places all of a tensor from one position to another of the last instance. */
uint32_t stay(struct build *b, uint32_t tensor, uint32_t from, uint32_t to, uint64_t offset);

/* Builds the graph of spilled(), with an empty schedule. */
void spilled_graph(struct build *b);
/*
 * x --make_a--> a, x --make_b--> b, (a, b) --join--> y, 8 bytes each. While b is
 * made, a is in host memory; it comes back to where x was.
 */
void spilled(struct build *b);
/* Builds chain() with an x of that kind that begins in host memory and is loaded. */
void host_input(struct build *b, uint32_t kind);
/* Builds an output that is written, stored, updated, and then moved by a transfer of @kind. */
void accumulator(struct build *b, uint32_t kind);

/* Makes the plan of a build, which is freed, and its states; free_states() frees both. */
struct npuv_states *states_of(struct build *b);
void free_states(struct npuv_states *states);
/* The position is accepted; stop(): it is refused by that rule. */
void go(struct npuv_states *states, uint32_t position);
struct npumem_verdict stop(struct npuv_states *states, uint32_t position, uint32_t rule);
/* The plan is accepted, and so are all of its positions in their order, twice. Frees the build. */
void accept(struct build *b);
