// SPDX-License-Identifier: MIT
/*
 * A portfolio of searches: many short searches, each by another strategy and with its own aim
 * between the lower bound and the best packing so far, take turns in slices that grow. The time of
 * a strategy differs by orders of magnitude from problem to problem, and it cannot be told
 * beforehand which one is quick.
 */

#include "base/random.h"
#include "search.h"
#include "searches.h"

/* The least nodes of a slice in the first round, and the growth from round to round in per cent. */
#define SLICE_NODES   1024
#define SLICE_GROWTH  125
/* From the second round on, restarts may take so many times the work of the rounds. */
#define RESTART_RATIO 3
/* The number of restarts without a better packing after which they aim at other tops, too. */
#define PATIENCE      16

/* The strategies of a round: section rule, rank rule and value rule. */
static const uint8_t strategies[][3] = {
	{ NPUPLAN_SECTION_COUNT, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_RANK },
	{ NPUPLAN_SECTION_FLOOR_COUNT, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_EXACT },
	{ NPUPLAN_SECTION_FLOOR_COUNT, NPUPLAN_RANK_START, NPUPLAN_VALUE_RANK },
	{ NPUPLAN_SECTION_PRODUCT_WEIGHT, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_EXACT },
	{ NPUPLAN_SECTION_WEIGHT, NPUPLAN_RANK_END, NPUPLAN_VALUE_RANK },
	{ NPUPLAN_SECTION_FLOOR_COUNT, NPUPLAN_RANK_TOTAL_AREA, NPUPLAN_VALUE_FLUSH },
	{ NPUPLAN_SECTION_WEIGHT, NPUPLAN_RANK_START, NPUPLAN_VALUE_EXACT },
	{ NPUPLAN_SECTION_WEIGHT, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_EXACT },
	{ NPUPLAN_SECTION_FLOOR_COUNT, NPUPLAN_RANK_END, NPUPLAN_VALUE_RANK },
	{ NPUPLAN_SECTION_COUNT, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_LEVEL },
	{ NPUPLAN_SECTION_WEIGHT, NPUPLAN_RANK_TOTAL, NPUPLAN_VALUE_EXACT },
	{ NPUPLAN_SECTION_PRODUCT_WEIGHT, NPUPLAN_RANK_START, NPUPLAN_VALUE_FLUSH },
	{ NPUPLAN_SECTION_WEIGHT, NPUPLAN_RANK_WIDTH, NPUPLAN_VALUE_RANK },
	{ NPUPLAN_SECTION_SLACK, NPUPLAN_RANK_SIZE, NPUPLAN_VALUE_EXACT },
};

#define STRATEGY_COUNT (sizeof(strategies) / sizeof(strategies[0]))

/*
 * struct npuplan_portfolio - the searches of one call
 * @tick: number of slices so far, @round whole rounds and @strategy slices of the next one
 * @nodes: nodes of a slice in this round
 * @searched: work units of all slices
 * @random: state of the random numbers of the restarts
 * @restarts: number of restarts since the best packing had top @top
 * @restarted: work units of all restarts
 * @at: scratch array for a packing
 */
struct npuplan_portfolio {
	struct npuplan_pack *call;
	struct npuplan_granules granules;
	struct npuplan_search *search;
	uint64_t tick;
	uint32_t round;
	uint32_t strategy;
	uint64_t nodes;
	uint64_t searched;
	uint64_t random;
	uint64_t restarts;
	uint64_t restarted;
	uint64_t top;
	int64_t *at;
};

/* The top to aim at: @part / @of of the way from the lower bound to the best packing. */
static uint64_t aim(const struct npuplan_portfolio *portfolio, unsigned int part, unsigned int of)
{
	const struct npuplan_pack *call = portfolio->call;
	uint64_t best = npuplan_granules_top_to(&portfolio->granules, call->top - 1);
	uint64_t least = call->lower_bound, capacity = call->problem->capacity;

	/* If the caller asks for a capacity, nothing below it is of use. */
	if (capacity > least)
		least = capacity < best ? npuplan_granules_top_to(&portfolio->granules, capacity) :
					  best;
	if (least >= best)
		return best;
	return npuplan_granules_top_to(&portfolio->granules, least + (best - least) / of * part);
}

static struct npuplan_strategy pick(const struct npuplan_portfolio *portfolio, uint32_t round,
				    uint32_t k)
{
	static const double noises[4] = { 0.02, 0.1, 0.4, 1 };
	struct npuplan_strategy strategy = {
		.section_rule = strategies[k][0],
		.rank_rule = strategies[k][1],
		.value_rule = strategies[k][2],
	};
	uint64_t tick = portfolio->tick;

	strategy.seed = round;
	/* From the second round on, every third slice looks near the best packing. */
	if (round && tick % 3 == 0) {
		strategy.rank_rule = NPUPLAN_RANK_INCUMBENT;
		strategy.section_rule = (tick * 7 + round) % NPUPLAN_SECTION_BLEND;
		strategy.value_rule = (tick / 4 + round) % 3;
		strategy.noise = (double)portfolio->call->top * noises[tick / 3 % 4];
	}
	return strategy;
}

static int slice(struct npuplan_portfolio *portfolio, const struct npuplan_strategy *strategy,
		 uint64_t target, uint64_t nodes)
{
	struct npuplan_pack *call = portfolio->call;
	int found = npuplan_search_run(portfolio->search, strategy, target, call->offsets, nodes,
				       portfolio->at, call);

	if (found == 1)
		npuplan_granules_offer(&portfolio->granules, call, portfolio->at);
	else if (found == 0)
		npuplan_pack_prove(call,
				   npuplan_granules_top_from(&portfolio->granules, target + 1));
	return found < 0 && found != -EAGAIN ? found : 0;
}

static struct npuplan_strategy pick_restart(struct npuplan_portfolio *portfolio, uint64_t *nodes)
{
	static const uint8_t ranks[3] = { NPUPLAN_RANK_TOTAL_AREA, NPUPLAN_RANK_AREA,
					  NPUPLAN_RANK_WIDTH };
	static const uint8_t values[2] = { NPUPLAN_VALUE_FLUSH, NPUPLAN_VALUE_EXACT };
	static const double slack_weights[4] = { 0.1, 0.3, 1, 2 };
	static const double count_weights[4] = { 0.001, 0.002, 0.005, 0.01 };
	uint64_t random = npuplan_random(&portfolio->random) >> 8;
	struct npuplan_strategy strategy = {
		.section_rule = NPUPLAN_SECTION_BLEND,
		.rank_rule = ranks[random % 3],
		.value_rule = values[random / 3 % 2],
		.seed = (uint32_t)(random >> 24) | 1,
		.slack_weight = slack_weights[random / 6 % 4],
		.count_weight = count_weights[random / 24 % 4],
	};

	/* A restart has two to eight times as many nodes as there are items. */
	*nodes = (2 * (uint64_t)portfolio->call->problem->item_count) << random / 96 % 3;
	return strategy;
}

/*
 * The aim of a restart is half way to the bound at first. Where that has failed for a while, it is
 * sometimes the bound itself, or just below the best packing.
 */
static uint64_t aim_restart(struct npuplan_portfolio *portfolio)
{
	if (portfolio->top != portfolio->call->top)
		portfolio->restarts = 0;
	portfolio->top = portfolio->call->top;
	if (portfolio->restarts++ < PATIENCE)
		return aim(portfolio, 1, 2);
	switch (portfolio->restarts % 4) {
	case 0:
		return aim(portfolio, 0, 1);
	case 1:
		return aim(portfolio, 1, 1);
	default:
		return aim(portfolio, 1, 2);
	}
}

/*
 * Run short searches with blurred rules, between the longer ones: the lower the aim, the more of
 * them fail, but those that reach it do so quickly.
 */
static int restarts(struct npuplan_portfolio *portfolio, uint64_t work)
{
	struct npuplan_pack *call = portfolio->call;
	int err = 0;

	while (portfolio->restarted < work && !err && !npuplan_pack_over(call)) {
		uint64_t nodes, before = call->work;
		struct npuplan_strategy strategy = pick_restart(portfolio, &nodes);

		err = slice(portfolio, &strategy, aim_restart(portfolio), nodes);
		portfolio->restarted += call->work - before;
	}
	return err;
}

int npuplan_portfolio_run(struct npuplan_portfolio *portfolio)
{
	struct npuplan_pack *call = portfolio->call;
	int err = 0;

	while (!err && !npuplan_pack_over(call)) {
		uint32_t round = portfolio->round;
		struct npuplan_strategy strategy = pick(portfolio, round, portfolio->strategy);
		unsigned int part = (portfolio->tick + round) % 6 ? 1 : 0;
		uint64_t before = call->work;

		err = slice(portfolio, &strategy, aim(portfolio, part, 3), portfolio->nodes);
		portfolio->searched += call->work - before;
		if (!err && round)
			err = restarts(portfolio, portfolio->searched * RESTART_RATIO);
		portfolio->tick++;
		if (++portfolio->strategy < STRATEGY_COUNT)
			continue;
		portfolio->strategy = 0;
		portfolio->round++;
		portfolio->nodes += portfolio->nodes * (SLICE_GROWTH - 100) / 100;
	}
	return err;
}

void npuplan_portfolio_free(struct npuplan_portfolio *portfolio)
{
	if (!portfolio)
		return;
	npuplan_search_free(portfolio->search);
	npuplan_granules_fini(&portfolio->granules);
	npuplan_free(portfolio);
}

int npuplan_portfolio_new(struct npuplan_portfolio **out, struct npuplan_pack *call)
{
	uint32_t n = call->problem->item_count;
	struct npuplan_portfolio *portfolio = npuplan_calloc(1, sizeof(*portfolio));
	int err;

	*out = portfolio;
	if (!portfolio)
		return -ENOMEM;
	portfolio->call = call;
	portfolio->random = NPUPLAN_RANDOM_SEED;
	portfolio->nodes = SLICE_NODES > 2 * (uint64_t)n ? SLICE_NODES : 2 * (uint64_t)n;
	err = npuplan_granules_init(&portfolio->granules, call);
	if (!err)
		err = npuplan_granules_prove(&portfolio->granules, call);
	portfolio->at = npuplan_pool_take(&portfolio->granules.pool, n, sizeof(*portfolio->at));
	if (!err && !portfolio->at)
		err = -ENOMEM;
	if (!err && !npuplan_pack_over(call))
		err = npuplan_search_new(&portfolio->search, &portfolio->granules);
	if (err) {
		npuplan_portfolio_free(portfolio);
		*out = NULL;
	}
	return err;
}

int npuplan_pack_portfolio(struct npuplan_pack *call)
{
	struct npuplan_portfolio *portfolio;
	int err = npuplan_portfolio_new(&portfolio, call);

	if (!err)
		err = npuplan_portfolio_run(portfolio);
	npuplan_portfolio_free(portfolio);
	/* If the problem is too large to be searched, the best packing remains. */
	return err == -E2BIG ? 0 : err;
}
