/* SPDX-License-Identifier: MIT */
/*
 * Finds the least traffic of a small graph by trying everything: every order, every set of tensors
 * to evict before every operator, and every address. It has no bounds and no dominance; it only
 * does not look twice at one state.
 */
#pragma once

#include "planners/cosma/cosma.h"

#define EXHAUSTIVE_TENSORS   16
#define EXHAUSTIVE_OPS	     10
#define EXHAUSTIVE_NONE	     UINT64_MAX
#define EXHAUSTIVE_TOO_LARGE (UINT64_MAX - 1)

/* exhaustive_traffic() - least spills and fills
 * @addresses: with addresses; else only the number of bytes counts
 *
 * EXHAUSTIVE_NONE if no plan exists, EXHAUSTIVE_TOO_LARGE if that is not known
 * after hundreds of thousands of states. Sizes and budget below 255.
 */
uint64_t exhaustive_traffic(const struct npuplan_graph *graph, const struct cosma_settings *options,
			    bool addresses);

/* The least peak of any order in which nothing is evicted. */
uint64_t exhaustive_peak(const struct npuplan_graph *graph, const struct cosma_settings *options);
