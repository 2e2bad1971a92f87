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
 * The most items that are all searched from scratch. Of a thousand or more large.h finds lower
 * packings in the same time, but it proves nothing, which a search does at once where fixed offsets
 * or alignments keep the bound from being met.
 */
#define LARGE	       4096
/* Rounds of squeaky wheel optimisation before the search, if conflicts are listed. */
#define SQUEAKY_ROUNDS 16

/* A quick packing first. */
static int begin(struct npuplan_pack *call, int valleys)
{
	if (call->problem->conflicts)
		return npuplan_pack_clique_bound(call);
	if (npuplan_any_fixed(call->problem->items, call->problem->item_count))
		return 0;
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

int npuplan_pack_exact(struct npuplan_pack *call, int unused)
{
	int err;

	if (call->problem->item_count <= LARGE || call->problem->conflicts)
		return search(call, 0);
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
