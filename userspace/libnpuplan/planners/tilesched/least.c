// SPDX-License-Identifier: MIT
#include "least.h"

#include <string.h>

#include "base/sorted.h"
#include "cuts.h"

/* Edges looked at before it is asked whether there is time: some tenths of a second. */
#define LOOKS_AT_ONCE 10000000ull

/*
 * struct least - the search for the bound
 * @cuts: cuts of the model; its order is the one given
 * @loads, @stores: per step, bytes that live when it loads and when it stores, in the order given
 * @looks: what is looked at of the cuts until the search ends
 */
struct least {
	const struct tilesched_model *model;
	struct tilesched_cuts cuts;
	uint64_t *loads;
	uint64_t *stores;
	uint64_t looks;
	struct npuplan_pool pool;
	struct tilesched_least found;
};

/*
 * Find what lives at each step of the order. No other set of steps that have run before a step
 * says that more has to, so that steps at which little lives need not be looked at.
 */
static int find_lives(struct least *l)
{
	const struct tilesched_model *model = l->model;
	uint32_t *left = npuplan_pool_take(&l->pool, model->unit_count, sizeof(*left));
	const bool *counted = l->cuts.counted;
	uint64_t live = 0, entering = 0, leaving = 0;

	l->loads = npuplan_pool_take(&l->pool, model->step_count, sizeof(*l->loads));
	l->stores = npuplan_pool_take(&l->pool, model->step_count, sizeof(*l->stores));
	if (l->pool.failed)
		return -ENOMEM;
	for (uint32_t u = 0; u < model->unit_count; u++) {
		left[u] = model->units[u].reads;
		if (model->units[u].at_entry && counted[u] && left[u])
			live += model->units[u].bytes;
		/* What enters and what leaves is there at once. */
		if (model->units[u].at_entry)
			entering += model->units[u].bytes;
		if (l->cuts.stays[u])
			leaving += model->units[u].bytes;
	}
	leaving = leaving > entering ? leaving : entering;
	l->found.any = leaving > l->found.any ? leaving : l->found.any;
	l->found.kept = leaving > l->found.kept ? leaving : l->found.kept;
	for (uint32_t i = 0; i < model->step_count; i++) {
		uint32_t s = l->cuts.order[i], late = tilesched_late_reads(model, s);
		const struct tilesched_step *step = &model->steps[s];

		l->loads[s] = live;
		for (uint32_t k = step->first_read; k < step[1].first_read; k++) {
			uint32_t u = model->reads[k];

			if (k == late)
				l->stores[s] = live;
			if (!--left[u] && counted[u])
				live -= model->units[u].bytes;
		}
		if (late == step[1].first_read)
			l->stores[s] = live;
		for (uint32_t k = step->first_write; k < step[1].first_write; k++) {
			uint32_t u = model->writes[k];

			l->stores[s] += model->units[u].bytes;
			if (counted[u] && left[u])
				live += model->units[u].bytes;
		}
	}
	return 0;
}

static uint64_t cut(struct least *l, uint32_t s, bool stores, enum tilesched_siblings siblings)
{
	uint64_t looks = l->looks > l->cuts.looked ? l->looks - l->cuts.looked : 0;
	bool whole;

	/* Where there is no time for all that flows, what has flown is a bound, too. */
	return tilesched_cut(&l->cuts, (struct tilesched_cut){ s, stores, siblings },
			     looks < LOOKS_AT_ONCE ? looks : LOOKS_AT_ONCE, &whole);
}

/* Whichever of the two is more. */
static uint64_t most_cut(struct least *l, uint32_t s, uint64_t enough,
			 enum tilesched_siblings siblings)
{
	uint64_t loads = cut(l, s, false, siblings), stores;

	if (loads > enough)
		return loads;
	stores = cut(l, s, true, siblings);
	return stores > loads ? stores : loads;
}

/* ------------------------------------------------------------------------------ the bounds */

static uint64_t most_at(const struct least *l, uint32_t s)
{
	return l->loads[s] > l->stores[s] ? l->loads[s] : l->stores[s];
}

static bool is_over(const struct least *l, struct npuplan_effort *effort)
{
	return l->cuts.looked >= l->looks || npuplan_effort_ended(effort);
}

/*
 * List the steps: first of each operator the one at which most lives, since neighbours say nearly
 * the same, then all others; among them those first at which more lives.
 */
static int list_steps(struct least *l, uint32_t *listed)
{
	const struct tilesched_model *model = l->model;
	AUTO_HEAP struct npuplan_keyed *keys =
		npuplan_malloc((size_t)model->step_count * sizeof(*keys) + 1);

	if (!keys)
		return -ENOMEM;
	for (uint32_t o = 0; o < model->op_count; o++) {
		const struct tilesched_op *op = &model->ops[o];
		uint32_t best = op->first;

		for (uint32_t s = op->first; s < op->first + op->count; s++) {
			keys[s] = (struct npuplan_keyed){ 1, ~most_at(l, s), 0, s };
			if (most_at(l, s) > most_at(l, best))
				best = s;
		}
		keys[best].key = 0;
	}
	npuplan_sort_items(keys, model->step_count, listed);
	return 0;
}

static int find_kept(struct least *l, struct npuplan_effort *effort)
{
	uint32_t count = l->model->step_count;
	uint32_t *listed = npuplan_pool_take(&l->pool, count, sizeof(*listed));
	int err = listed ? list_steps(l, listed) : -ENOMEM;

	l->looks = TILESCHED_LEAST_LOOKS / 2;
	for (uint32_t i = 0; i < count && !err && !is_over(l, effort); i++) {
		for (int stores = 0; stores < 2; stores++) {
			uint64_t bytes;

			if ((stores ? l->stores : l->loads)[listed[i]] <= l->found.kept)
				continue;
			bytes = cut(l, listed[i], stores, TILESCHED_KEPT);
			l->found.kept = bytes > l->found.kept ? bytes : l->found.kept;
		}
	}
	return err;
}

/* Whichever of an operator's steps is the first, or the last. */
static void try_operator(struct least *l, uint32_t o, enum tilesched_siblings siblings,
			 struct npuplan_effort *effort)
{
	const struct tilesched_op *op = &l->model->ops[o];
	uint64_t least = UINT64_MAX;

	/* The outer ones are the likeliest to need least. */
	for (uint32_t i = 0; i < op->count && least > l->found.any; i++) {
		uint32_t s = op->first + (i % 2 ? op->count - 1 - i / 2 : i / 2);
		uint64_t bytes = most_cut(l, s, least, siblings);

		least = bytes < least ? bytes : least;
		if (is_over(l, effort))
			return;
	}
	l->found.any = least > l->found.any ? least : l->found.any;
}

static void find_any(struct least *l, struct npuplan_effort *effort)
{
	const struct tilesched_model *model = l->model;

	l->looks = TILESCHED_LEAST_LOOKS;
	for (uint32_t s = 0; s < model->step_count && !is_over(l, effort); s++) {
		uint64_t bytes = most_at(l, s) > l->found.any ?
					 most_cut(l, s, UINT64_MAX, TILESCHED_ANY) :
					 0;

		l->found.any = bytes > l->found.any ? bytes : l->found.any;
	}
	for (uint32_t o = 0; o < model->op_count && !is_over(l, effort); o++) {
		try_operator(l, o, TILESCHED_WAIT, effort);
		try_operator(l, o, TILESCHED_RUN, effort);
	}
}

int tilesched_least(const struct tilesched_model *model, const uint32_t *order,
		    struct npuplan_effort *effort, struct tilesched_least *least)
{
	struct least l = { .model = model, .found = *least };
	int err = tilesched_cuts_init(&l.cuts, model, order);

	if (!err)
		err = find_lives(&l);
	if (!err)
		err = find_kept(&l, effort);
	if (!err)
		find_any(&l, effort);
	/* What any order needs is what those need that keep steps in order, too. */
	if (l.found.kept < l.found.any)
		l.found.kept = l.found.any;
	*least = l.found;
	tilesched_cuts_fini(&l.cuts);
	npuplan_pool_free(&l.pool);
	return err;
}
