// SPDX-License-Identifier: MIT
/*
 * Many items: first fit and neighbourhoods, whose cost grows with the number of
 * items little faster than reading them does.
 */
#include <stdlib.h>

#include "repair.h"

/* Rounds of first fit, and work of repair an item at first: they take turns. */
#define SQUEAKY_ROUNDS 8
#define REPAIR_WORK    400

/* Neighbourhoods of the best packing: aim at the bound, then half way to it, then lower at all. */
static int repair_best(struct npuplan_pack *run, struct npuplan_repair *repair,
		       const struct npuplan_units *units, uint64_t work, int64_t *at,
		       uint64_t *offsets)
{
	uint32_t n = run->problem->item_count;
	int err = 0;

	for (unsigned int part = 0; part < 3 && err != -ENOMEM && !npuplan_pack_over(run); part++) {
		uint64_t best = npuplan_units_top_to(units, run->top - 1);
		uint64_t least = run->goal > run->lower_bound ? run->goal : run->lower_bound;
		uint64_t top =
			best <= least ?
				best :
				npuplan_units_top_to(units, least + (best - least) / 2 * part);

		for (uint32_t i = 0; i < n; i++)
			at[i] = (int64_t)(run->offsets[i] / units->unit);
		err = npuplan_repair_run(repair, at, top, work, run);
		if (err == 1) {
			npuplan_pack_offer(run, offsets,
					   npuplan_units_to_bytes(units, at, offsets));
			part = UINT32_MAX;
		}
	}
	return err == -ENOMEM ? err : 0;
}

int npuplan_pack_large(struct npuplan_pack *run)
{
	size_t n = run->problem->item_count;
	struct npuplan_repair *repair = NULL;
	uint64_t work = REPAIR_WORK * (uint64_t)n;
	struct npuplan_units units;
	int64_t *at = malloc(n * sizeof(*at) + 1);
	uint64_t *offsets = malloc(n * sizeof(*offsets) + 1);
	int err = npuplan_units_init(&units, run);

	if (!err && (!at || !offsets))
		err = -ENOMEM;
	if (!err)
		err = npuplan_repair_new(&repair, &units);
	for (unsigned int round = 0; !err && !npuplan_pack_over(run); round++, work *= 2) {
		err = repair_best(run, repair, &units, work, at, offsets);
		if (!err && !npuplan_pack_over(run))
			err = round ? npuplan_pack_squeaky(run, SQUEAKY_ROUNDS) :
				      npuplan_pack_best_greedy(run, 0);
	}
	npuplan_repair_free(repair);
	npuplan_units_fini(&units);
	free(at);
	free(offsets);
	return err;
}
