// SPDX-License-Identifier: MIT
/* This file finds the cuts of a model, at which it falls apart into subgraphs. */
#include <string.h>

#include "cuts.h"

/*
 * Finds the operators that every other one runs before or after. @change: room for as many numbers
 * as there are operators, and one more: 0 before and after.
 *
 * Numbers are a topological order. So all operators with a smaller number run before @v if it is
 * the only one of [0, v] that no other one of these follows, and all with a greater number run
 * behind it if it is the only one of [v, n) that follows none of these.
 */
static void find_crossroads(const struct cosma_model *model, bool *cut, int32_t *change)
{
	uint32_t n = model->op_count, ends = 0, begins = 0;

	/* Operator @u is an end of [0, v] for all v from u on until the first that follows it. */
	for (uint32_t u = 0; u < n; u++) {
		uint32_t next = n;

		cosma_for_each(k, model->after, u)
			next = model->after.item[k] < next ? model->after.item[k] : next;
		change[u]++;
		change[next]--;
	}
	for (uint32_t v = 0; v < n; v++) {
		ends += (uint32_t)change[v];
		cut[v] = ends == 1;
	}
	memset(change, 0, ((size_t)n + 1) * sizeof(*change));
	/* And a beginning of [v, n) for all v from u down to the last that it follows. */
	for (uint32_t u = 0; u < n; u++) {
		uint32_t last = 0;

		cosma_for_each(k, model->before, u)
			last = model->before.item[k] >= last ? model->before.item[k] + 1 : last;
		change[last]++;
		change[u + 1]--;
	}
	for (uint32_t v = 0; v < n; v++) {
		begins += (uint32_t)change[v];
		cut[v] &= begins == 1;
	}
	memset(change, 0, ((size_t)n + 1) * sizeof(*change));
}

/* Takes out cuts behind which more than their outputs is alive. */
static void drop_crossed(const struct cosma_model *model, bool *cut, int32_t *change)
{
	int32_t crossing = 0;

	for (uint32_t x = 0; x < model->tensor_count; x++) {
		uint32_t producer = model->producer[x], first = producer, last = 0;

		if (!cosma_users(model, x))
			continue;
		cosma_for_each(k, model->consumers, x) {
			uint32_t user = model->consumers.item[k];

			if (producer == NPUMEM_NONE && user < first)
				first = user;
			last = user > last ? user : last;
		}
		/* What an operator makes crosses those behind it; others, their first user. */
		if (producer != NPUMEM_NONE)
			first++;
		else if (model->flags[x] & COSMA_ENTRY)
			first = 0;
		if (first < last) {
			change[first]++;
			change[last]--;
		}
	}
	for (uint32_t v = 0; v < model->op_count; v++) {
		crossing += change[v];
		cut[v] &= !crossing;
	}
}

int cosma_subgraphs_init(struct cosma_subgraphs *subgraphs, const struct cosma_model *model)
{
	uint32_t n = model->op_count;
	struct npuplan_pool *pool = &subgraphs->pool;
	int32_t *change;
	bool *cut;

	memset(subgraphs, 0, sizeof(*subgraphs));
	subgraphs->first = npuplan_pool_take(pool, (size_t)n + 2, sizeof(*subgraphs->first));
	subgraphs->ops = npuplan_pool_take(pool, n, sizeof(*subgraphs->ops));
	cut = npuplan_pool_take(pool, (size_t)n + 1, sizeof(*cut));
	change = npuplan_pool_take(pool, (size_t)n + 1, sizeof(*change));
	if (pool->failed) {
		cosma_subgraphs_fini(subgraphs);
		return -ENOMEM;
	}
	find_crossroads(model, cut, change);
	drop_crossed(model, cut, change);
	for (uint32_t v = 0; v < n; v++) {
		subgraphs->ops[v] = v;
		/* What comes after the last cut is a subgraph, too. */
		if (cut[v] || v + 1 == n)
			subgraphs->first[++subgraphs->count] = v + 1;
	}
	return 0;
}
