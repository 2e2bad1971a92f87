/* SPDX-License-Identifier: MIT */
/* COSMA's dominance rule: which of two states of the search need not be looked at. */
#pragma once

#include "planners/cosma/state/state.h"

/**
 * cosma_dominates() - whether all that one state can still do, another can do for no more
 * @model: that is searched
 * @downset: of both states
 * @a: masks of the state that may dominate: what is on chip, then what has a host copy;
 *	downset->words words each
 * @a_cost: bytes that it has paid so far
 * @b: masks of the other one
 * @b_cost: bytes that it has paid
 *
 * The first state imitates @b. At once it evicts what @b has away, and pays for that what @b has
 * paid. What only @b has on chip it brings back when @b uses it, which is paid for already. A
 * tensor of which only @b has a host copy costs it that tensor's spill, once.
 */
bool cosma_dominates(const struct cosma_model *model, const struct cosma_downset *downset,
		     const uint64_t *a, int64_t a_cost, const uint64_t *b, int64_t b_cost);
