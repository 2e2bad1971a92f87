// SPDX-License-Identifier: MIT
/* Greedy planners: first fit by one order, or by several, the best kept. */
#include <stdlib.h>
#include <string.h>

#include "pack/greedy/first_fit.h"
#include "planners.h"

int npuplan_pack_greedy(const struct npuplan_problem *problem, int only,
			struct npuplan_packing *packing, struct npuplan_error *error)
{
	size_t count = problem->item_count;
	int first = only == NPUPLAN_ORDER_COUNT ? 0 : only;
	int last = only == NPUPLAN_ORDER_COUNT ? NPUPLAN_ORDER_COUNT - 1 : only;
	uint32_t *order = malloc(count * sizeof(*order) + 1);
	uint64_t *offsets = malloc(count * sizeof(*offsets) + 1);
	struct npuplan_member member = { .effort = problem->effort, .best = packing };
	const struct npuplan_until until = { .over = npuplan_member_over, .context = &member };
	/* What is not listed may be long, and there is something quicker then. */
	bool quick = !problem->conflicts.peer_start &&
		     !npuplan_any_fixed(problem->items, problem->item_count);
	int err = order && offsets ? 0 : -ENOMEM;

	packing->top = UINT64_MAX;
	for (int rule = first; rule <= last && !err; rule++) {
		bool may_end = quick || problem->packed || packing->top != UINT64_MAX;
		uint32_t clash[2];
		uint64_t top;

		err = npuplan_order_items(&problem->conflicts, rule, order);
		if (!err)
			err = npuplan_fit_until(&problem->conflicts, order, problem->alignment,
						false, may_end ? &until : NULL, offsets, &top,
						&packing->work, clash);
		if (err == -EINTR) {
			err = 0;
			break;
		}
		if (err == -EADDRINUSE) {
			err = npuplan_fail_clash(problem, clash, error);
			goto out;
		}
		if (err)
			break;
		npuplan_packing_keep(packing, offsets, top, problem->item_count);
		if (npuplan_member_over(&member) || packing->top <= packing->lower_bound)
			break;
	}
	if (!err && packing->top == UINT64_MAX && quick && !problem->packed)
		err = npuplan_pack_quick(problem, 0, packing, error);
	else if (!err && packing->top == UINT64_MAX && count)
		err = npuplan_fail(error, -ETIMEDOUT, "greedy first fit was called off");
	else if (err)
		npuplan_fail(error, err, "greedy first fit: %s", strerror(-err));
	else
		packing->status = npuplan_status_of(packing->top, packing->lower_bound);
out:
	free(order);
	free(offsets);
	return err;
}
