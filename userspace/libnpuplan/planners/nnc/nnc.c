// SPDX-License-Identifier: MIT
/* NNC: rounds of construction, the best kept. */
#include "nnc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pack/greedy/first_fit.h"
#include "build.h"

/* Rounds without anything better that end it. */
#define PATIENCE 48

/*
 * struct rounds - what goes on from round to round
 * @tried: offsets of the round, per item
 * @scratch: per item
 * @keys: to sort by, per item
 * @most: edges of the item that has most in the interference graph
 */
struct rounds {
	const struct npuplan_conflicts *conflicts;
	struct npuplan_nnc_options options;
	struct npuplan_nnc_order order;
	uint64_t *tried;
	uint64_t *scratch;
	uint32_t *permutation;
	struct key *keys;
	uint64_t most;
	uint64_t *work;
};

/* What items are sorted by: start, end and index; or address, rank and index. */
struct key {
	uint64_t first;
	uint32_t second;
	uint32_t item;
};

static int by_key(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

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

/* Move all down: first fit in the order of offsets. */
static int settle(struct rounds *rounds, uint64_t *top)
{
	uint32_t n = rounds->conflicts->item_count, clash[2];
	uint64_t settled;
	int err;

	for (uint32_t i = 0; i < n; i++)
		rounds->keys[i] = (struct key){ rounds->tried[i], rounds->order.rank[i], i };
	if (n)
		qsort(rounds->keys, n, sizeof(*rounds->keys), by_key);
	for (uint32_t i = 0; i < n; i++)
		rounds->permutation[i] = rounds->keys[i].item;
	err = npuplan_first_fit(rounds->conflicts, rounds->permutation, rounds->options.alignment,
				rounds->scratch, &settled, rounds->work, clash);
	if (!err && settled <= *top) {
		memcpy(rounds->tried, rounds->scratch, n * sizeof(*rounds->tried));
		*top = settled;
	}
	return err;
}

/* One construction, into tried. */
static int try_once(struct rounds *rounds, uint64_t *top, uint32_t clash[2])
{
	int err = npuplan_nnc_build(rounds->conflicts, &rounds->options, &rounds->order,
				    rounds->tried, rounds->work, clash);

	if (err)
		return err;
	*top = top_of(rounds);
	return rounds->options.form == NPUPLAN_NNC_PUBLISHED ? 0 : settle(rounds, top);
}

/* What ends above the goal is inserted earlier next time. */
static void promote(struct rounds *rounds)
{
	for (uint32_t i = 0; i < rounds->conflicts->item_count; i++)
		if (end_of(rounds, i) > rounds->options.goal)
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
	} while (options->goal && *top > options->goal && idle < PATIENCE &&
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
		rounds->keys[i] = (struct key){ c->items[i].start, c->items[i].end, i };
		if (rounds->most < rounds->scratch[i] + 1)
			rounds->most = rounds->scratch[i] + 1;
	}
	if (n)
		qsort(rounds->keys, n, sizeof(*rounds->keys), by_key);
	for (uint32_t i = 0; i < n; i++) {
		rounds->order.by_rank[i] = rounds->keys[i].item;
		rounds->order.rank[rounds->keys[i].item] = i + 1;
	}
	return err;
}

int npuplan_nnc(const struct npuplan_conflicts *conflicts,
		const struct npuplan_nnc_options *options, uint64_t *offsets, uint64_t *top,
		uint64_t *work, uint32_t clash[2])
{
	size_t n = (size_t)conflicts->item_count + 1;
	struct rounds rounds = {
		.conflicts = conflicts,
		.options = *options,
		.order = {
			.rank = calloc(n, sizeof(*rounds.order.rank)),
			.by_rank = calloc(n, sizeof(*rounds.order.by_rank)),
			.promoted = calloc(n, sizeof(*rounds.order.promoted)),
		},
		.tried = calloc(n, sizeof(*rounds.tried)),
		.scratch = calloc(n, sizeof(*rounds.scratch)),
		.permutation = calloc(n, sizeof(*rounds.permutation)),
		.keys = calloc(n, sizeof(*rounds.keys)),
		.work = work,
	};
	int err = -ENOMEM;

	if (!rounds.options.alignment)
		rounds.options.alignment = 1;
	if (rounds.order.rank && rounds.order.by_rank && rounds.order.promoted && rounds.tried &&
	    rounds.scratch && rounds.permutation && rounds.keys)
		err = start(&rounds);
	if (!err)
		err = run_rounds(&rounds, offsets, top, clash);
	free_all(rounds.order.rank, rounds.order.by_rank, rounds.order.promoted, rounds.tried,
		 rounds.scratch, rounds.permutation, rounds.keys);
	return err;
}
