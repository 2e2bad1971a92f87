// SPDX-License-Identifier: MIT
/*
 * This file finds a bound for models in which few critical operators share no reuse interval
 * (bounds.h), so that there are few groups, or one: that of a chain of critical operators, each of
 * which runs before the next one in every order.
 *
 * Let y be 1 of a tensor and a run if the tensor is away over some operator of the run, else 0. A
 * run is operators of the chain over which the tensor is kept, one behind the other, with no use of
 * it between them that every order has there. Each run that has y = 1 has a fill of its own, and
 * the first one pays for a spill if there is no host copy. Over each operator of the chain tensors
 * of its excess are away. This is a linear program once y may be any number from 0 to 1, and each
 * solution of its dual is a bound: with a weight w of each operator, the sum of w * excess, less,
 * for each tensor and run, size * (w * operators of the run - price), if that is more than nothing.
 * The price of a byte is 1, and 2 in the tensor's first run if there is no host copy. What is to be
 * taken off depends on one operator of the chain and the one before it only, so the best chain is a
 * longest path. Weights are all 1, or all 2.
 */
#include <stdlib.h>

#include "chain.h"
#include "critical.h"

/* Critical operators before one that are tried as the one before it in the chain. */
#define MAX_BACK 256

/*
 * Returns what is to be taken off for tensor @x, which is kept over operator @v, the chain's next
 * one after @last (NPUMEM_NONE: @v is the first). @kept: it is kept over @last, too.
 */
static int64_t surplus(const struct cosma_model *model, uint32_t x, uint32_t last, uint32_t v,
		       bool kept, int64_t weight)
{
	int64_t price = model->flags[x] & COSMA_COPIED ? 1 : 2;

	if (last != NPUMEM_NONE && kept && !cosma_used_between(model, x, last, v))
		return weight * model->size[x];
	/* What is there before the last one may have been away before that. */
	if (last != NPUMEM_NONE && (kept || cosma_exists_before(model, x, last)))
		price = 1;
	return weight > price ? (weight - price) * model->size[x] : 0;
}

/* Returns what @critical adds to a bound of a chain that ends with @last; NULL: it begins one. */
static int64_t gain(struct cosma_bounds *bounds, const struct cosma_critical *last,
		    const struct cosma_critical *critical, int64_t weight)
{
	int64_t sum = weight * critical->excess;
	uint32_t i = 0;

	/* Members come by rising tensor. */
	for (uint32_t k = 0; k < critical->member_count; k++) {
		uint32_t x = critical->member[k].tensor;

		while (last && i < last->member_count && last->member[i].tensor < x)
			i++;
		sum -= surplus(bounds->model, x, last ? last->op : NPUMEM_NONE, critical->op,
			       last && i < last->member_count && last->member[i].tensor == x,
			       weight);
	}
	bounds->work += critical->member_count + i + 1;
	return sum;
}

/* Finds the best chain with one weight. @best: room for a number per critical operator */
static int64_t longest(struct cosma_bounds *bounds, int64_t weight, int64_t *best)
{
	int64_t most = 0;

	/* They come by rising operator, which is a topological order. */
	for (uint32_t j = 0; j < bounds->critical_count && !cosma_bounds_ended(bounds); j++) {
		const struct cosma_critical *critical = &bounds->critical[j];

		best[j] = gain(bounds, NULL, critical, weight);
		for (uint32_t i = j > MAX_BACK ? j - MAX_BACK : 0; i < j; i++) {
			const struct cosma_critical *last = &bounds->critical[i];
			int64_t sum;

			/* No gain is above the excess. */
			if (best[i] + weight * critical->excess <= best[j] ||
			    !cosma_before(bounds->model, last->op, critical->op))
				continue;
			sum = best[i] + gain(bounds, last, critical, weight);
			best[j] = sum > best[j] ? sum : best[j];
		}
		most = best[j] > most ? best[j] : most;
	}
	return most;
}

int cosma_chain_bound(const struct cosma_model *model, int64_t budget, struct cosma_call *call,
		      int64_t *bound)
{
	struct cosma_bounds bounds = {
		.model = model,
		.budget = budget,
		.members_only = true,
		.call = call,
	};
	int err = cosma_critical_find(&bounds);
	int64_t *best = npuplan_pool_take(&bounds.pool, bounds.critical_count, sizeof(*best));

	*bound = 0;
	err = err || best ? err : -ENOMEM;
	for (int64_t weight = 1; weight <= 2 && !err; weight++) {
		int64_t found = longest(&bounds, weight, best);

		*bound = found > *bound ? found : *bound;
	}
	call->work += bounds.work;
	cosma_bounds_fini(&bounds);
	return err;
}
