// SPDX-License-Identifier: MIT
/* Ranks: the order in which the search tries items, which is fixed before it begins. */
#include <stdlib.h>

#include "base/random.h"
#include "state.h"

/*
 * struct rank_key - numbers by which an item is ranked, the lowest first; where the greatest is to
 * come first, it is negated
 */
struct rank_key {
	double value[3];
	uint32_t item;
};

NPUPLAN_ORDER(by_key, struct rank_key, value[0], value[1], value[2], item)

static struct rank_key key_of(const struct npuplan_strategy *strategy,
			      const struct npuplan_item *item, uint32_t number, double blur,
			      double total, double spread, const uint64_t *incumbent)
{
	double width = ((double)item->end - item->start + 1) * (1 + blur);
	double area = width * (double)item->size;

	switch ((enum npuplan_rank_rule)strategy->rank_rule) {
	case NPUPLAN_RANK_WIDTH:
		return (struct rank_key){ { -width, -area, -total }, number };
	case NPUPLAN_RANK_TOTAL_AREA:
		return (struct rank_key){ { -total, -area, -width }, number };
	case NPUPLAN_RANK_TOTAL:
		return (struct rank_key){ { -total, -width, -area }, number };
	case NPUPLAN_RANK_AREA:
		return (struct rank_key){ { -area }, number };
	case NPUPLAN_RANK_SIZE:
		return (struct rank_key){ { -((double)item->size * (1 + blur)) }, number };
	case NPUPLAN_RANK_START:
		return (struct rank_key){ { -(item->start + blur * spread) }, number };
	case NPUPLAN_RANK_END:
		return (struct rank_key){ { item->end + blur * spread }, number };
	case NPUPLAN_RANK_INCUMBENT:
		return (struct rank_key){ { (double)incumbent[number] + blur * strategy->noise },
					  number };
	}
	return (struct rank_key){ .item = number };
}

int npuplan_rank(struct npuplan_state *state, const struct npuplan_strategy *strategy,
		 const uint64_t *incumbent)
{
	const struct npuplan_item *items = state->granules->problem->items;
	uint32_t random = strategy->seed * 2654435761u + 12345 + strategy->rank_rule;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct rank_key *keys = npuplan_pool_take(&pool, state->n, sizeof(*keys));
	uint64_t *total = npuplan_pool_take(&pool, state->n, sizeof(*total)), most;
	double spread = 0;

	if (pool.failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < state->n; i++)
		total[i] = (uint64_t)state->granules->size[i];
	if (npuplan_sections_most(&state->granules->sections, state->n, total, &most))
		return -ENOMEM;
	if (!random)
		random = 1;
	for (int i = 0; i < 8; i++)
		npuplan_random32(&random);
	for (uint32_t i = 0; i < state->n; i++)
		spread += ((double)items[i].end - items[i].start + 1) / (2.0 * state->n);
	for (uint32_t i = 0; i < state->n; i++) {
		double blur = 0;

		if (strategy->seed)
			blur = ((npuplan_random32(&random) & 0xffff) / 65536.0 - 0.5) * 0.4;
		keys[i] = key_of(strategy, &items[i], i, blur, (double)total[i], spread, incumbent);
	}
	if (state->n)
		qsort(keys, state->n, sizeof(*keys), by_key);
	for (uint32_t r = 0; r < state->n; r++)
		state->rank[keys[r].item] = r;
	state->work += 8 * (uint64_t)state->n;
	return 0;
}
