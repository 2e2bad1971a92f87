// SPDX-License-Identifier: MIT
/*
 * The exact packer: it makes quick packings first, and then runs the search that suits the
 * conflicts.
 */
#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"
#include "pack/large/large.h"
#include "pack/search/searches.h"
#include "exact.h"

/*
 * Up to so many items are searched from scratch alone, and beyond LARGE ones large.h alone packs
 * them. Between, both take turns: large.h finds lower packings in the same time, but it proves
 * nothing, which a search does at once where fixed offsets or alignments keep the bound from being
 * met.
 */
#define FEW	       1024
#define LARGE	       4096
/*
 * Work units for each item that large.h has in the first turn, the growth from turn to turn in per
 * cent, and how many times as many the search has, whose units take a third of the time. In its
 * first turn it has more: of the tiles of a network it finds the best packing soon, and large.h
 * does not.
 */
#define TURN_WORK      1000
#define FIRST_SEARCH   100000000ull
#define TURN_GROWTH    150
#define SEARCH_TIMES   2
/* Rounds of squeaky wheel optimisation before the search, if conflicts are listed. */
#define SQUEAKY_ROUNDS 16

/* A quick packing first. */
static int begin(struct npuplan_pack *call, int valleys)
{
	if (call->problem->conflicts)
		return npuplan_pack_clique_bound(call);
	return npuplan_pack_valley(call, valleys);
}

/* Search all items, however many. */
static int search(struct npuplan_pack *call, int unused)
{
	int err = begin(call, NPUPLAN_VALLEY_MODES);

	if (!err && !npuplan_pack_over(call))
		err = npuplan_pack_best_greedy(call, 0);
	if (err || npuplan_pack_over(call))
		return err;
	if (!call->problem->conflicts)
		return npuplan_pack_portfolio(call);
	err = npuplan_pack_squeaky(call, SQUEAKY_ROUNDS);
	return err || npuplan_pack_over(call) ? err : npuplan_pack_disjunctive(call);
}

/* Search and pack by large.h in turns. What the search finds or proves at once comes first. */
static int take_turns(struct npuplan_pack *call, struct npuplan_portfolio *portfolio)
{
	uint64_t work = TURN_WORK * (uint64_t)call->problem->item_count;
	struct npuplan_large *large = NULL;
	int err = 0;

	while (!err && !npuplan_pack_over(call)) {
		call->share_end = call->work + SEARCH_TIMES * work + (large ? 0 : FIRST_SEARCH);
		err = npuplan_portfolio_run(portfolio);
		call->share_end = 0;
		if (!err && !large && !npuplan_pack_over(call))
			err = npuplan_large_new(&large, call, search, true);
		call->share_end = call->work + work;
		if (!err && large)
			err = npuplan_large_run(large);
		call->share_end = 0;
		work += work / 100 * (TURN_GROWTH - 100);
	}
	npuplan_large_free(large);
	return err;
}

/* Pack more items than a few, but not too many for a search. */
static int both(struct npuplan_pack *call)
{
	struct npuplan_portfolio *portfolio = NULL;
	int err = begin(call, NPUPLAN_VALLEY_MODES);

	if (!err && !npuplan_pack_over(call))
		err = npuplan_pack_best_greedy(call, 0);
	if (err || npuplan_pack_over(call))
		return err;
	err = npuplan_portfolio_new(&portfolio, call);
	if (err == -E2BIG)
		return npuplan_pack_large(call, search);
	if (!err)
		err = take_turns(call, portfolio);
	npuplan_portfolio_free(portfolio);
	return err;
}

int npuplan_pack_exact(struct npuplan_pack *call, int unused)
{
	int err;

	if (call->problem->item_count <= FEW || call->problem->conflicts)
		return search(call, 0);
	if (call->problem->item_count <= LARGE)
		return both(call);
	/* One quick packing of each kind comes first, and then what improves these. */
	err = begin(call, NPUPLAN_VALLEY_AREA);
	if (!err && !npuplan_pack_over(call))
		err = npuplan_pack_first_fit(call, NPUPLAN_BY_SIZE);
	return err || npuplan_pack_over(call) ? err : npuplan_pack_large(call, search);
}

int npuplan_pack_exactly(const struct npuplan_pack_problem *problem,
			 const struct npuplan_pack_options *options, uint64_t *offsets,
			 struct npuplan_pack_result *result, struct npuplan_error *error)
{
	static const struct npuplan_packer packer = { .name = "exact", .pack = npuplan_pack_exact };

	return npuplan_pack_by(&packer, problem, options, offsets, result, error);
}
