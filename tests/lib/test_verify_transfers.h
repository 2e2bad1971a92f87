/* SPDX-License-Identifier: MIT */
/*
 * What the tests of transfers share: schedules with transfers, a small valid plan
 * to spoil, and runs of them.
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

/* build_finish(), and a schedule of nothing to be filled with step() and move(). */
void begin_schedule(struct build *b);
/* Both return the position. A step of the graph: */
uint32_t step(struct build *b, uint32_t index);
/* Bytes [first, first + length) of a tensor, which are at host in host memory. */
uint32_t move(struct build *b, uint32_t kind, uint32_t tensor, uint32_t placement, uint64_t first,
	      uint64_t length, uint64_t host);
uint32_t drop(struct build *b, uint32_t tensor, uint64_t first, uint64_t length);
/* All of a tensor is placed from a position to another one. */
uint32_t stay(struct build *b, uint32_t tensor, uint32_t from, uint32_t to, uint64_t offset);

/* The graph of spilled(), with a schedule of nothing. */
void spilled_graph(struct build *b);
/*
 * x --make_a--> a, x --make_b--> b, (a, b) --join--> y, 8 bytes each. While b is
 * made, a is in host memory; it comes back to where x was.
 */
void spilled(struct build *b);
/* chain() with an x that is loaded first. */
void host_input(struct build *b, uint32_t kind);
/* An output is written, stored, updated, and then moved. */
void accumulator(struct build *b, uint32_t kind);

/* Plan and states of a build, which is freed. */
struct npuv_states *states_of(struct build *b);
void free_states(struct npuv_states *states);
/* A position goes, or is refused by a rule. */
void go(struct npuv_states *states, uint32_t position);
struct npumem_verdict stop(struct npuv_states *states, uint32_t position, uint32_t rule);
/* Accepted, and lets all of its positions go in their order, twice. The build is freed. */
void accept(struct build *b);
