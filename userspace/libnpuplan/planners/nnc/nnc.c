// SPDX-License-Identifier: MIT
/* NNC: several constructions (rounds), of which the best is kept; and NNC as a planner. */
#include <string.h>

#include "base/sorted.h"
#include "pack/greedy/first_fit.h"
#include "build.h"

/* The number of rounds without a better packing after which NNC ends. */
#define PATIENCE 48

/*
 * struct rounds - what is kept from round to round
 * @tried: per item, its offset in the round at hand
 * @scratch, @permutation: scratch arrays, per item
 * @keys: scratch array, per item, for sorting
 * @most: the most edges that an item has in the interference graph
 */
struct rounds {
	const struct npuplan_conflicts *conflicts;
	struct npuplan_nnc_options options;
	struct npuplan_nnc_order order;
	uint64_t *tried;
	uint64_t *scratch;
	uint32_t *permutation;
	struct npuplan_keyed *keys;
	uint64_t most;
	uint64_t *work;
};

static uint64_t end_of(const struct rounds *rounds, uint32_t item)
{
	return rounds->tried[item] + rounds->conflicts->items[item].size;
}

static uint64_t top_of(const struct rounds *rounds)
{
	uint64_t top = 0;

	for (uint32_t i = 0; i < rounds->conflicts->item_count; i++)
		if (top < end_of(rounds, i))
			top = end_of(rounds, i);
	return top;
}

/* Move all items down, by first fit in the order of their offsets. */
static int settle(struct rounds *rounds, uint64_t *top)
{
	uint32_t n = rounds->conflicts->item_count, clash[2];
	uint64_t settled;
	int err;

	for (uint32_t i = 0; i < n; i++)
		rounds->keys[i] =
			(struct npuplan_keyed){ rounds->tried[i], rounds->order.rank[i], 0, i };
	npuplan_sort_items(rounds->keys, n, rounds->permutation);
	err = npuplan_first_fit(rounds->conflicts, rounds->permutation, rounds->options.alignment,
				false, NULL, rounds->scratch, &settled, rounds->work, clash);
	if (!err && settled <= *top) {
		memcpy(rounds->tried, rounds->scratch, n * sizeof(*rounds->tried));
		*top = settled;
	}
	return err;
}

/* Make one construction, into rounds->tried. */
static int try_once(struct rounds *rounds, uint64_t *top, uint32_t clash[2])
{
	int err = npuplan_nnc_build(rounds->conflicts, &rounds->options, &rounds->order,
				    rounds->tried, rounds->work, clash);

	if (err)
		return err;
	*top = top_of(rounds);
	return rounds->options.form == NPUPLAN_NNC_PUBLISHED ? 0 : settle(rounds, top);
}

/* Promote the items that end above the capacity, so that the next round inserts them earlier. */
static void promote(struct rounds *rounds)
{
	for (uint32_t i = 0; i < rounds->conflicts->item_count; i++)
		if (end_of(rounds, i) > rounds->options.capacity)
			rounds->order.promoted[i] += rounds->most;
}

static int run_rounds(struct rounds *rounds, uint64_t *offsets, uint64_t *top, uint32_t clash[2])
{
	const struct npuplan_nnc_options *options = &rounds->options;
	uint64_t limit = options->work_limit ? options->work_limit : NPUPLAN_NNC_WORK;
	uint64_t begun = *rounds->work;
	uint32_t idle = 0;

	*top = UINT64_MAX;
	do {
		uint64_t tried;
		int err = try_once(rounds, &tried, clash);

		if (err)
			return err;
		idle++;
		if (tried < *top) {
			*top = tried;
			memcpy(offsets, rounds->tried,
			       rounds->conflicts->item_count * sizeof(*offsets));
			idle = 0;
			if (options->improved)
				options->improved(options->context, tried);
		}
		promote(rounds);
	} while (options->capacity && *top > options->capacity && idle < PATIENCE &&
		 options->form != NPUPLAN_NNC_PUBLISHED && *rounds->work - begun < limit &&
		 !npuplan_until_over(options->until));
	return 0;
}

static int start(struct rounds *rounds)
{
	const struct npuplan_conflicts *c = rounds->conflicts;
	uint32_t n = c->item_count;
	int err = npuplan_count_peers(c, rounds->scratch);

	for (uint32_t i = 0; i < n; i++) {
		rounds->keys[i] =
			(struct npuplan_keyed){ c->items[i].start, c->items[i].end, 0, i };
		if (rounds->most < rounds->scratch[i] + 1)
			rounds->most = rounds->scratch[i] + 1;
	}
	npuplan_sort_items(rounds->keys, n, rounds->order.by_rank);
	for (uint32_t i = 0; i < n; i++)
		rounds->order.rank[rounds->order.by_rank[i]] = i + 1;
	return err;
}

int npuplan_nnc(const struct npuplan_conflicts *conflicts,
		const struct npuplan_nnc_options *options, uint64_t *offsets, uint64_t *top,
		uint64_t *work, uint32_t clash[2])
{
	size_t n = conflicts->item_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct rounds rounds = {
		.conflicts = conflicts,
		.options = *options,
		.order = {
			.rank = npuplan_pool_take(&pool, n, sizeof(*rounds.order.rank)),
			.by_rank = npuplan_pool_take(&pool, n, sizeof(*rounds.order.by_rank)),
			.promoted = npuplan_pool_take(&pool, n, sizeof(*rounds.order.promoted)),
		},
		.tried = npuplan_pool_take(&pool, n, sizeof(*rounds.tried)),
		.scratch = npuplan_pool_take(&pool, n, sizeof(*rounds.scratch)),
		.permutation = npuplan_pool_take(&pool, n, sizeof(*rounds.permutation)),
		.keys = npuplan_pool_take(&pool, n, sizeof(*rounds.keys)),
		.work = work,
	};
	int err = -ENOMEM;

	if (!rounds.options.alignment)
		rounds.options.alignment = 1;
	if (!pool.failed)
		err = start(&rounds);
	return err ? err : run_rounds(&rounds, offsets, top, clash);
}

static void improved(void *context, uint64_t top)
{
	struct npuplan_member *member = context;

	member->best->top = top;
	npuplan_member_tell(member, top, 0, 0);
}

int npuplan_pack_nnc(const struct npuplan_problem *problem, int form,
		     struct npuplan_packing *packing, struct npuplan_error *error)
{
	struct npuplan_member member = { .effort = problem->effort, .best = packing };
	const struct npuplan_until until = { .over = npuplan_member_over, .context = &member };
	const struct npuplan_nnc_options options = {
		.form = form,
		.alignment = problem->alignment,
		.capacity = problem->lower_bound,
		.work_limit = problem->options->work_limit,
		.until = &until,
		.improved = improved,
		.context = &member,
	};
	uint32_t clash[2];
	uint64_t top;
	int err;

	packing->top = UINT64_MAX;
	err = npuplan_nnc(&problem->conflicts, &options, packing->offsets, &top, &packing->work,
			  clash);
	if (err == -EADDRINUSE)
		return npuplan_fail_clash(problem, clash, error);
	if (err)
		return npuplan_fail(error, err, "nnc: %s", strerror(-err));
	packing->top = top;
	packing->status = npuplan_status_of(top, packing->lower_bound);
	return 0;
}
