// SPDX-License-Identifier: MIT
/* This file finds the cuts of a model, at which it falls apart into subgraphs. */
#include <string.h>

#include "cuts.h"

/*
 * Returns how many operators run before @v, if every other one runs before or after it; else
 * NPUMEM_NONE.
 */
static uint32_t rank_of(const struct cosma_model *model, uint32_t v)
{
	const uint64_t *row = cosma_ancestors(model, v);
	uint32_t before = 0;

	for (uint32_t w = 0; w < model->words; w++)
		before += (uint32_t)__builtin_popcountll(row[w]);
	/* Numbers are a topological order, so nothing after @v has a smaller one. */
	for (uint32_t u = 0; u < model->op_count; u++)
		if (u != v && !cosma_before(model, u, v) && !cosma_before(model, v, u))
			return NPUMEM_NONE;
	return before;
}

/* Whether nothing but outputs of @v is alive once @v and all before it have run. */
static bool nothing_crosses(const struct cosma_model *model, uint32_t v)
{
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		uint32_t producer = model->producer[x];
		bool touched = model->flags[x] & COSMA_ENTRY, later = false;

		if (producer == v)
			continue;
		if (producer != NPUMEM_NONE) {
			if (!cosma_before(model, producer, v))
				continue;
			touched = true;
		}
		cosma_for_each(k, model->consumers, x) {
			uint32_t user = model->consumers.item[k];

			touched |= user == v || cosma_before(model, user, v);
			later |= cosma_before(model, v, user);
		}
		if (touched && later)
			return false;
	}
	return true;
}

int cosma_subgraphs_init(struct cosma_subgraphs *subgraphs, const struct cosma_model *model)
{
	uint32_t n = model->op_count, filled = 0, *cut_at;
	struct npuplan_pool *pool = &subgraphs->pool;
	bool *taken;

	memset(subgraphs, 0, sizeof(*subgraphs));
	subgraphs->first = npuplan_pool_take(pool, (size_t)n + 2, sizeof(*subgraphs->first));
	subgraphs->ops = npuplan_pool_take(pool, n, sizeof(*subgraphs->ops));
	cut_at = npuplan_pool_take(pool, (size_t)n + 1, sizeof(*cut_at));
	taken = npuplan_pool_take(pool, n, sizeof(*taken));
	if (pool->failed) {
		cosma_subgraphs_fini(subgraphs);
		return -ENOMEM;
	}
	/* The number of operators before a cut gives the order of cuts. */
	for (uint32_t v = 0; v < n; v++) {
		uint32_t rank = rank_of(model, v);

		if (rank != NPUMEM_NONE && nothing_crosses(model, v))
			cut_at[rank] = v + 1;
	}
	/* What comes after the last cut is a subgraph, too. */
	for (uint32_t rank = 0; rank <= n && filled < n; rank++) {
		uint32_t cut = cut_at[rank] - 1;

		if (rank < n && !cut_at[rank])
			continue;
		for (uint32_t u = 0; u < n; u++) {
			if (taken[u] || (rank < n && u != cut && !cosma_before(model, u, cut)))
				continue;
			taken[u] = true;
			subgraphs->ops[filled++] = u;
		}
		subgraphs->first[++subgraphs->count] = filled;
	}
	return 0;
}
