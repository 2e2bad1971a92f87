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

/* The most items that are all searched from scratch. */
#define LARGE	       4096
/* Rounds of squeaky wheel optimisation before the search, if conflicts are listed. */
#define SQUEAKY_ROUNDS 16

int npuplan_pack_exact(struct npuplan_pack *call, int unused)
{
	bool large = call->problem->item_count > LARGE;
	int err = 0;

	/*
	 * With many items, one quick packing of each kind comes first, and then what improves
	 * these.
	 */
	if (call->problem->conflicts)
		err = npuplan_pack_clique_bound(call);
	else if (!npuplan_any_fixed(call->problem->items, call->problem->item_count))
		err = npuplan_pack_valley(call, large ? NPUPLAN_VALLEY_AREA : NPUPLAN_VALLEY_MODES);
	if (large && !err && !npuplan_pack_over(call))
		err = npuplan_pack_first_fit(call, NPUPLAN_BY_SIZE_DURATION);
	if (large && !call->problem->conflicts && !err && !npuplan_pack_over(call))
		return npuplan_pack_large(call, npuplan_pack_exact);
	if (!err && !npuplan_pack_over(call))
		err = npuplan_pack_best_greedy(call, 0);
	if (err || npuplan_pack_over(call))
		return err;
	if (!call->problem->conflicts)
		return npuplan_pack_portfolio(call);
	err = npuplan_pack_squeaky(call, SQUEAKY_ROUNDS);
	return err || npuplan_pack_over(call) ? err : npuplan_pack_disjunctive(call);
}

int npuplan_pack_exactly(const struct npuplan_pack_problem *problem,
			 const struct npuplan_pack_options *options, uint64_t *offsets,
			 struct npuplan_pack_result *result, struct npuplan_error *error)
{
	static const struct npuplan_packer packer = { .name = "exact", .pack = npuplan_pack_exact };

	return npuplan_pack_by(&packer, problem, options, offsets, result, error);
}
