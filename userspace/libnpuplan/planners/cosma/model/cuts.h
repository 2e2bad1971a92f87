/* SPDX-License-Identifier: MIT */
/*
 * Cuts are operators that every other one runs before or after, and after which nothing but their
 * own outputs is alive. What comes before a cut and what comes after it can be planned apart, and
 * costs add up.
 */
#pragma once

#include "model.h"

/* struct cosma_subgraphs - operators between cuts: those of subgraph i are ops[first[i]..first[i +
 * 1]), ascending
 */
struct cosma_subgraphs {
	uint32_t *first;
	uint32_t *ops;
	uint32_t count;
	struct npuplan_pool pool;
};

/* Cuts a model into subgraphs. -ENOMEM */
int cosma_subgraphs_init(struct cosma_subgraphs *subgraphs, const struct cosma_model *model);
static inline void cosma_subgraphs_fini(struct cosma_subgraphs *subgraphs)
{
	npuplan_pool_free(&subgraphs->pool);
}
