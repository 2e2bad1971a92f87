// SPDX-License-Identifier: MIT
/*
 * Many short searches, each by another strategy and with its own aim between the
 * lower bound and the best packing so far, in slices that grow. Strategies
 * differ by orders of magnitude from problem to problem, and which one is quick
 * cannot be told beforehand.
 */
#include <stdlib.h>

#include "search.h"

/* Nodes of a slice of the first round, at least; and its growth, in percent. */
#define SLICE_NODES  1024
#define SLICE_GROWTH 125
/* Work of polishing, from the second round on, to that of the rounds. */
#define POLISH_SHARE 3

static const struct npuplan_strategy strategies[] = {
	{ NPUPLAN_SECTION_COUNT, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_RANK, 0, 0 },
	{ NPUPLAN_SECTION_FLOOR_COUNT, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_EXACT, 0, 0 },
	{ NPUPLAN_SECTION_FLOOR_COUNT, NPUPLAN_RANK_START, NPUPLAN_VALUE_RANK, 0, 0 },
	{ NPUPLAN_SECTION_PRODUCT_WEIGHT, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_EXACT, 0, 0 },
	{ NPUPLAN_SECTION_WEIGHT, NPUPLAN_RANK_END, NPUPLAN_VALUE_RANK, 0, 0 },
	{ NPUPLAN_SECTION_FLOOR_COUNT, NPUPLAN_RANK_TOTAL_AREA, NPUPLAN_VALUE_FLUSH, 0, 0 },
	{ NPUPLAN_SECTION_WEIGHT, NPUPLAN_RANK_START, NPUPLAN_VALUE_EXACT, 0, 0 },
	{ NPUPLAN_SECTION_WEIGHT, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_EXACT, 0, 0 },
	{ NPUPLAN_SECTION_FLOOR_COUNT, NPUPLAN_RANK_END, NPUPLAN_VALUE_RANK, 0, 0 },
	{ NPUPLAN_SECTION_COUNT, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_LEVEL, 0, 0 },
	{ NPUPLAN_SECTION_WEIGHT, NPUPLAN_RANK_TOTAL, NPUPLAN_VALUE_EXACT, 0, 0 },
	{ NPUPLAN_SECTION_PRODUCT_WEIGHT, NPUPLAN_RANK_START, NPUPLAN_VALUE_FLUSH, 0, 0 },
	{ NPUPLAN_SECTION_WEIGHT, NPUPLAN_RANK_WIDTH, NPUPLAN_VALUE_RANK, 0, 0 },
	{ NPUPLAN_SECTION_SLACK, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_EXACT, 0, 0 },
};

#define STRATEGY_COUNT (sizeof(strategies) / sizeof(strategies[0]))

/**
 * struct portfolio - one run
 * @tick: slices so far
 * @random: of the polishing
 * @polished: work of polishing
 * @at, @offsets: scratch pads for a packing
 */
struct portfolio {
	struct npuplan_pack *run;
	struct npuplan_units units;
	struct npuplan_search *search;
	uint64_t tick;
	uint64_t random;
	uint64_t polished;
	int64_t *at;
	uint64_t *offsets;
};

/*
 * What to aim at: one slice in six at the lower bound, the others a third of the
 * way up to the best packing. Not above the capacity, if there is one.
 */
static uint64_t aim(const struct portfolio *portfolio, uint64_t tick)
{
	const struct npuplan_pack *run = portfolio->run;
	uint64_t best = npuplan_units_top_to(&portfolio->units, run->top - 1);
	uint64_t least = run->lower_bound, goal = run->goal;

	/* A capacity is all that is asked for: nothing below it is of use. */
	if (goal > least)
		least = goal < best ? npuplan_units_top_to(&portfolio->units, goal) : best;
	if (least >= best || tick % 6 == 0)
		return least < best ? least : best;
	return npuplan_units_top_to(&portfolio->units, least + (best - least) / 3);
}

static struct npuplan_strategy pick(const struct portfolio *portfolio, uint32_t round, uint32_t k)
{
	static const double noises[4] = { 0.02, 0.1, 0.4, 1 };
	struct npuplan_strategy strategy = strategies[k];
	uint64_t tick = portfolio->tick;

	strategy.seed = round;
	/* From the second round on, every third slice stays near the best packing. */
	if (round && tick % 3 == 0) {
		strategy.rank_rule = NPUPLAN_RANK_GUIDE;
		strategy.section_rule = (tick * 7 + round) % NPUPLAN_SECTION_RULES;
		strategy.value_rule = (tick / 4 + round) % 3;
		strategy.noise = (double)portfolio->run->top * noises[tick / 3 % 4];
	}
	return strategy;
}

/* xorshift64 */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int slice(struct portfolio *portfolio, const struct npuplan_strategy *strategy,
		 uint64_t target, uint64_t nodes)
{
	struct npuplan_pack *run = portfolio->run;
	int found = npuplan_search_run(portfolio->search, strategy, target, run->offsets, nodes,
				       portfolio->at, run);

	if (found == 1)
		npuplan_pack_offer(run, portfolio->offsets,
				   npuplan_units_to_bytes(&portfolio->units, portfolio->at,
							  portfolio->offsets));
	else if (found == 0)
		npuplan_pack_prove(run, npuplan_units_top_from(&portfolio->units, target + 1));
	return found < 0 && found != -EAGAIN ? found : 0;
}

static struct npuplan_strategy pick_polish(struct portfolio *portfolio, uint64_t *nodes)
{
	static const uint8_t ranks[3] = { NPUPLAN_RANK_TOTAL_AREA, NPUPLAN_RANK_TOTAL,
					  NPUPLAN_RANK_AREA };
	static const uint8_t values[2] = { NPUPLAN_VALUE_FLUSH, NPUPLAN_VALUE_LEVEL };
	uint64_t random = next_random(&portfolio->random);
	struct npuplan_strategy strategy = {
		.section_rule = NPUPLAN_SECTION_FLOOR_COUNT,
		.rank_rule = ranks[random % 3],
		.value_rule = values[random / 3 % 2],
		.seed = (uint32_t)(random >> 32) | 1,
	};

	/* Twice to thirty times the items, small ones as likely as large ones. */
	*nodes = 2 * (uint64_t)portfolio->run->problem->item_count << random / 6 % 5;
	return strategy;
}

/*
 * Many short, blurred searches for anything better than the best packing at all:
 * these still move where long ones are stuck.
 */
static int polish(struct portfolio *portfolio, uint64_t work)
{
	struct npuplan_pack *run = portfolio->run;
	int err = 0;

	while (portfolio->polished < work && !err && !npuplan_pack_over(run)) {
		uint64_t nodes, before = run->work;
		struct npuplan_strategy strategy = pick_polish(portfolio, &nodes);

		err = slice(portfolio, &strategy,
			    npuplan_units_top_to(&portfolio->units, run->top - 1), nodes);
		portfolio->polished += run->work - before;
	}
	return err;
}

static int rounds(struct portfolio *portfolio)
{
	struct npuplan_pack *run = portfolio->run;
	uint64_t nodes = SLICE_NODES;
	uint64_t searched = 0;
	int err = 0;

	if (nodes < 2 * (uint64_t)run->problem->item_count)
		nodes = 2 * (uint64_t)run->problem->item_count;
	for (uint32_t round = 0; !err; round++) {
		for (uint32_t k = 0; k < STRATEGY_COUNT && !err; k++, portfolio->tick++) {
			struct npuplan_strategy strategy = pick(portfolio, round, k);

			uint64_t before = run->work;

			if (npuplan_pack_over(run))
				return 0;
			err = slice(portfolio, &strategy, aim(portfolio, portfolio->tick + round),
				    nodes);
			searched += run->work - before;
			if (!err && round)
				err = polish(portfolio, searched * POLISH_SHARE);
		}
		nodes += nodes * (SLICE_GROWTH - 100) / 100;
	}
	return err;
}

int npuplan_pack_portfolio(struct npuplan_pack *run)
{
	struct portfolio portfolio = { .run = run, .random = 88172645463325252 };
	size_t n = run->problem->item_count;
	uint64_t bound;
	int err = npuplan_units_init(&portfolio.units, run);

	if (err)
		return err;
	err = npuplan_units_bound(&portfolio.units, &bound);
	if (!err) {
		npuplan_pack_prove(run, bound);
		/* Between two possible tops there is nothing. */
		npuplan_pack_prove(run, npuplan_units_top_from(&portfolio.units, run->lower_bound));
	}
	portfolio.at = malloc(n * sizeof(*portfolio.at) + 1);
	portfolio.offsets = malloc(n * sizeof(*portfolio.offsets) + 1);
	if (!err && (!portfolio.at || !portfolio.offsets))
		err = -ENOMEM;
	if (!err && !npuplan_pack_over(run))
		err = npuplan_search_new(&portfolio.search, &portfolio.units);
	if (!err && portfolio.search)
		err = rounds(&portfolio);
	npuplan_search_free(portfolio.search);
	npuplan_units_fini(&portfolio.units);
	free(portfolio.at);
	free(portfolio.offsets);
	return err;
}
