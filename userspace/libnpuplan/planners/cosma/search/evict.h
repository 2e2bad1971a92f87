/* SPDX-License-Identifier: MIT */
/* Ways to make room: sets of tensors to evict, none larger than need be. */
#pragma once

#include "planners/cosma/state/state.h"

/*
 * struct cosma_eviction - how to make room on a board for an operator
 * @board: state before the operator runs
 * @limit: only sets that cost no more
 * @node_limit: choices that are looked at, at most
 * @nodes: out: that were looked at
 * @truncated: out: the limit left sets out
 * @found: called with each set; anything but 0 ends it
 * @context: for @found
 */
struct cosma_eviction {
	const struct cosma_board *board;
	uint32_t op;
	int64_t limit;
	uint64_t node_limit;
	uint64_t nodes;
	bool truncated;
	int (*found)(void *context, const uint32_t *tensors, uint32_t count, int64_t cost);
	void *context;
};

/* cosma_evict() - find all inclusion-minimal sets of tensors that free so many bytes
 * @loads: bytes to be free while the operator loads
 * @stores: bytes to be free while it stores
 *
 * Inputs that are still needed are in sets, too, if they make room for outputs when they leave with
 * the operator: they then leave after it has loaded.
 *
 * Of tensors that differ in nothing that matters (size, host copy, users to come) only the first
 * ones are taken. Returns what @found returned, or -ENOMEM.
 */
int cosma_evict(struct cosma_eviction *eviction, int64_t loads, int64_t stores);
