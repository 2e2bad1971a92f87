// SPDX-License-Identifier: MIT
/* The exact packer: quick packings first, then the search that suits the conflicts. */
#include "../first_fit.h"
#include "pack.h"

static bool has_fixed(const struct npuplan_pack_problem *problem)
{
	for (uint32_t i = 0; i < problem->item_count; i++)
		if (problem->items[i].fixed)
			return true;
	return false;
}

int npuplan_pack_exact(struct npuplan_pack *run, int unused)
{
	int err = 0;

	if (!run->problem->conflicts && !has_fixed(run->problem))
		err = npuplan_pack_valley(run, NPUPLAN_VALLEY_MODES);
	if (!err && !npuplan_pack_over(run))
		err = npuplan_pack_best_greedy(run, 0);
	if (err || npuplan_pack_over(run))
		return err;
	return run->problem->conflicts ? npuplan_pack_disjunctive(run) :
					 npuplan_pack_portfolio(run);
}
