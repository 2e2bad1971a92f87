// SPDX-License-Identifier: MIT
/* Greedy packers: one item after another, none moved again. */
#include <stdlib.h>

#include "../first_fit.h"
#include "pack.h"

static int fit(struct npuplan_pack *run, enum npuplan_order rule, bool best)
{
	size_t n = run->problem->item_count;
	uint32_t alignment = run->problem->alignment ? run->problem->alignment : 1;
	uint32_t *order = malloc(n * sizeof(*order) + 1);
	uint64_t *offsets = malloc(n * sizeof(*offsets) + 1);
	int err = order && offsets ? 0 : -ENOMEM;
	uint32_t clash[2];
	uint64_t top;

	if (!err)
		err = npuplan_order_items(&run->conflicts, rule, order);
	if (!err && best)
		err = npuplan_best_fit(&run->conflicts, order, alignment, offsets, &top, &run->work,
				       clash);
	else if (!err)
		err = npuplan_first_fit(&run->conflicts, order, alignment, offsets, &top,
					&run->work, clash);
	if (err == -EADDRINUSE) {
		run->infeasible = true;
		err = 0;
	} else if (!err) {
		npuplan_pack_offer(run, offsets, top);
	}
	free(order);
	free(offsets);
	return err;
}

int npuplan_pack_first_fit(struct npuplan_pack *run, int order)
{
	return fit(run, order, false);
}

int npuplan_pack_best_fit(struct npuplan_pack *run, int unused)
{
	return fit(run, NPUPLAN_BY_SIZE, true);
}

int npuplan_pack_best_greedy(struct npuplan_pack *run, int unused)
{
	int err = 0;

	for (int rule = 0; rule < NPUPLAN_ORDER_COUNT && !err && !npuplan_pack_over(run); rule++)
		err = fit(run, rule, false);
	if (!err && !npuplan_pack_over(run))
		err = fit(run, NPUPLAN_BY_SIZE, true);
	return err;
}
