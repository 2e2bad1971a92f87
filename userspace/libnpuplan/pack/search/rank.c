// SPDX-License-Identifier: MIT
/* In which order the search tries items: a static rank for each. */
#include <stdlib.h>

#include "base/random.h"
#include "state.h"

/* Greater first; then lower item. */
struct key {
	double value[3];
	uint32_t item;
};

static int by_key(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	for (int i = 0; i < 3; i++)
		if (a->value[i] != b->value[i])
			return a->value[i] > b->value[i] ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* Most units live in one of each item's sections, for all items. */
static int totals(const struct npuplan_state *state, double *most)
{
	const struct npuplan_sections *sections = &state->units->sections;
	size_t width = (size_t)sections->count + 1;
	double *tree = npuplan_calloc(2 * width, sizeof(*tree)), now = 0;

	if (!tree)
		return -ENOMEM;
	for (uint32_t i = 0; i < state->n; i++) {
		tree[width + sections->first[i]] += (double)state->units->size[i];
		tree[width + sections->end[i]] -= (double)state->units->size[i];
	}
	for (size_t i = width; i < 2 * width; i++)
		tree[i] = now += tree[i];
	for (size_t i = width - 1; i > 0; i--)
		tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
	for (uint32_t i = 0; i < state->n; i++) {
		size_t low = width + sections->first[i], high = width + sections->end[i];
		bool had_last;

		for (most[i] = 0; low < high; low /= 2, high /= 2) {
			if (low & 1 && tree[low] > most[i])
				most[i] = tree[low];
			low += low & 1;
			had_last = high & 1;
			high -= high & 1;
			if (had_last && tree[high] > most[i])
				most[i] = tree[high];
		}
	}
	npuplan_free(tree);
	return 0;
}

static void set_key(struct key *key, const struct npuplan_strategy *strategy,
		    const struct npuplan_item *item, double blur, double total, double spread,
		    const uint64_t *guide)
{
	double width = ((double)item->end - item->start + 1) * (1 + blur);
	double area = width * (double)item->size;

	key->value[0] = key->value[1] = key->value[2] = 0;
	switch ((enum npuplan_rank_rule)strategy->rank_rule) {
	case NPUPLAN_RANK_WIDTH:
		key->value[0] = width;
		key->value[1] = area;
		key->value[2] = total;
		break;
	case NPUPLAN_RANK_TOTAL_AREA:
		key->value[0] = total;
		key->value[1] = area;
		key->value[2] = width;
		break;
	case NPUPLAN_RANK_TOTAL:
		key->value[0] = total;
		key->value[1] = width;
		key->value[2] = area;
		break;
	case NPUPLAN_RANK_AREA:
		key->value[0] = area;
		break;
	case NPUPLAN_RANK_SIZE:
		key->value[0] = (double)item->size * (1 + blur);
		break;
	case NPUPLAN_RANK_START:
		key->value[0] = item->start + blur * spread;
		break;
	case NPUPLAN_RANK_END:
		key->value[0] = -(item->end + blur * spread);
		break;
	case NPUPLAN_RANK_GUIDE:
		key->value[0] = -((double)guide[key->item] + blur * strategy->noise);
		break;
	}
}

int npuplan_rank(struct npuplan_state *state, const struct npuplan_strategy *strategy,
		 const uint64_t *guide)
{
	const struct npuplan_item *items = state->units->problem->items;
	uint32_t random = strategy->seed * 2654435761u + 12345 + strategy->rank_rule;
	struct key *keys = npuplan_malloc((size_t)state->n * sizeof(*keys) + 1);
	AUTO_HEAP double *total = npuplan_malloc((size_t)state->n * sizeof(*total) + 1);
	double spread = 0;
	int err = keys && total ? totals(state, total) : -ENOMEM;

	if (!random)
		random = 1;
	for (int i = 0; i < 8; i++)
		npuplan_random32(&random);
	for (uint32_t i = 0; i < state->n && !err; i++)
		spread += ((double)items[i].end - items[i].start + 1) / (2.0 * state->n);
	for (uint32_t i = 0; i < state->n && !err; i++) {
		double blur = 0;

		if (strategy->seed)
			blur = ((npuplan_random32(&random) & 0xffff) / 65536.0 - 0.5) * 0.4;
		keys[i].item = i;
		set_key(&keys[i], strategy, &items[i], blur, total[i], spread, guide);
	}
	if (!err && state->n)
		qsort(keys, state->n, sizeof(*keys), by_key);
	for (uint32_t r = 0; r < state->n && !err; r++)
		state->rank[keys[r].item] = r;
	state->work += 8 * (uint64_t)state->n;
	npuplan_free(keys);
	return err;
}
