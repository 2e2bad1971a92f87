/* SPDX-License-Identifier: MIT */
/* Graphs with their plans, for tests of libnpumem's layouts. */
#pragma once

#include "blob_build.h"
#include "npumem_layout.h"

enum { IN, MIDDLE, OUT, ALIAS, OUTSIDE, WEIGHTS, TENSORS };

/*
 * in, outside -> first -> middle; a part of middle -> second -> out. The middle lies in two pieces,
 * the second of which has rows that are not packed; in and out take turns.
 */
void build_chain(struct build *b);

/*
 * Block 0 makes a value and block 1, a loop unrolled twice, another of it; along its edge to itself
 * they swap. The value that a loop's iteration is given lies at 0 and 64 in turn.
 */
void build_loop(struct build *b);

/*
 * The chain with an input that is loaded in two halves, whose order in host memory is the other
 * one, and a middle that is spilled, filled again, and written once more by another step.
 */
void build_transfers(struct build *b);

/* The layout that npumem_layout_new() makes of them; it returns @expected. */
struct npumem_layout *layout_of(const struct build *b, int expected);

/* Fixtures: a layout of each, which layout_teardown() frees. */
int chain_setup(void **state);
int loop_setup(void **state);
int transfers_setup(void **state);
int layout_teardown(void **state);
