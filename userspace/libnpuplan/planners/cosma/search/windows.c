// SPDX-License-Identifier: MIT
/* This file cuts a model's order into windows, and finds the bound that they give. */
#include <stdlib.h>
#include <string.h>

#include "windows.h"

/* Finds the bytes that are alive between each operator of the order and the next. */
static void find_crossing(const struct cosma_model *model, int64_t *crossing)
{
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		uint32_t first = model->producer[x], last = 0, users = 0;

		cosma_for_each(k, model->consumers, x) {
			uint32_t user = model->consumers.item[k];

			/* Users are listed in the model's order. */
			if (!users++ && first == NPUMEM_NONE)
				first = model->flags[x] & COSMA_ENTRY ? 0 : user;
			last = user;
		}
		for (uint32_t p = first; users && p < last; p++)
			crossing[p + 1] += model->size[x];
	}
}

int cosma_windows_cut(const struct cosma_model *model, uint32_t low, uint32_t high,
		      uint32_t *window, uint32_t *count)
{
	struct npuplan_pool pool = { 0 };
	uint32_t n = model->op_count, at = 0;
	uint32_t *from = npuplan_pool_take(&pool, (size_t)n + 1, sizeof(*from));
	int64_t *crossing = npuplan_pool_take(&pool, (size_t)n + 1, sizeof(*crossing));
	int64_t *best = npuplan_pool_take(&pool, (size_t)n + 1, sizeof(*best));

	if (pool.failed) {
		npuplan_pool_free(&pool);
		return -ENOMEM;
	}
	find_crossing(model, crossing);
	for (uint32_t end = 1; end <= n; end++) {
		best[end] = INT64_MAX;
		for (uint32_t begin = end > high ? end - high : 0; begin < end; begin++) {
			bool wide = end - begin >= low || end == n;

			if (!wide || best[begin] == INT64_MAX ||
			    best[begin] + crossing[end] + 1 >= best[end])
				continue;
			best[end] = best[begin] + crossing[end] + 1;
			from[end] = begin;
		}
	}
	/* Windows are numbered from the last one, then the numbers are turned round. */
	for (uint32_t end = n; end; end = from[end], at++)
		for (uint32_t p = from[end]; p < end; p++)
			window[p] = at;
	for (uint32_t p = 0; p < n; p++)
		window[p] = at - 1 - window[p];
	*count = at;
	npuplan_pool_free(&pool);
	return 0;
}

/* Finds for each tensor the window that uses it most; of several the first. */
static int find_owners(const struct cosma_model *model, const uint32_t *window, uint32_t count,
		       uint32_t *owner)
{
	AUTO_HEAP uint32_t *uses = npuplan_calloc((size_t)count + 1, sizeof(*uses));

	if (!uses)
		return -ENOMEM;
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		uint32_t from = model->producer[x], best = NPUMEM_NONE;

		if (from != NPUMEM_NONE) {
			best = window[from];
			uses[best]++;
		}
		cosma_for_each(k, model->consumers, x)
			uses[window[model->consumers.item[k]]]++;
		cosma_for_each(k, model->consumers, x) {
			uint32_t w = window[model->consumers.item[k]];

			if (best == NPUMEM_NONE || uses[w] > uses[best])
				best = w;
		}
		/* One use in the window leaves no reuse interval. */
		owner[x] = best != NPUMEM_NONE && uses[best] > 1 ? best : NPUMEM_NONE;
		if (from != NPUMEM_NONE)
			uses[window[from]] = 0;
		cosma_for_each(k, model->consumers, x)
			uses[window[model->consumers.item[k]]] = 0;
	}
	return 0;
}

/* Finds the bound of one window. @query: of all windows */
static int bound_window(struct cosma_query query, const uint32_t *ops, uint32_t count,
			const bool *keep, struct cosma_call *call, int64_t *bound)
{
	struct cosma_path path = { 0 };
	struct cosma_model part;
	int outcome = cosma_model_part(&part, query.model, ops, count, keep);

	if (outcome)
		return outcome;
	/* A tensor from outside may come from the host, for nothing. */
	for (uint32_t x = 0; x < part.tensor_count; x++)
		if (part.producer[x] == NPUMEM_NONE)
			part.flags[x] = COSMA_HOST;
	query.model = &part;
	query.window = NULL;
	query.upper = INT64_MAX / 2;
	outcome = cosma_search(&query, call, &path, bound);
	if (outcome == COSMA_EXHAUSTED)
		*bound = 0;
	cosma_path_fini(&path);
	cosma_model_fini(&part);
	return outcome < 0 ? outcome : 0;
}

int cosma_windows_bound(const struct cosma_query *query, uint32_t count, struct cosma_call *call,
			int64_t *bound)
{
	const struct cosma_model *model = query->model;
	const uint32_t *window = query->window;
	struct npuplan_pool pool = { 0 };
	uint32_t *owner = npuplan_pool_take(&pool, model->tensor_count, sizeof(*owner));
	uint32_t *ops = npuplan_pool_take(&pool, model->op_count, sizeof(*ops));
	bool *keep = npuplan_pool_take(&pool, model->tensor_count, sizeof(*keep));
	int err = pool.failed ? -ENOMEM : find_owners(model, window, count, owner);

	*bound = 0;
	for (uint32_t w = 0, v = 0; w < count && !err && !cosma_call_over(call); w++) {
		uint32_t number = 0;
		int64_t more = 0;

		for (; v < model->op_count && window[v] == w; v++) {
			cosma_for_each(k, model->inputs, v)
				keep[model->inputs.item[k]] = owner[model->inputs.item[k]] == w;
			cosma_for_each(k, model->outputs, v)
				keep[model->outputs.item[k]] = owner[model->outputs.item[k]] == w;
			ops[number++] = v;
		}
		err = bound_window(*query, ops, number, keep, call, &more);
		*bound += more;
	}
	npuplan_pool_free(&pool);
	return err;
}
