// SPDX-License-Identifier: MIT
/* Greedy packers, which place one item after another and move none again. */
#include "first_fit.h"
#include "greedy.h"

static bool stopped(void *call)
{
	return npuplan_pack_stopped(call);
}

int npuplan_pack_fit(struct npuplan_pack *call, const uint32_t *order, bool best, uint64_t *offsets)
{
	uint32_t alignment = call->problem->alignment ? call->problem->alignment : 1;
	struct npuplan_until until = { .over = stopped, .context = call };
	uint32_t clash[2];
	uint64_t top;
	int err = npuplan_first_fit(&call->conflicts, order, alignment, best, &until, offsets, &top,
				    &call->work, clash);

	call->infeasible |= err == -EADDRINUSE;
	if (!err)
		npuplan_pack_offer(call, offsets);
	return err == -EADDRINUSE ? 0 : err;
}

static int fit(struct npuplan_pack *call, enum npuplan_order rule, bool best)
{
	size_t n = call->problem->item_count;
	AUTO_HEAP uint32_t *order = npuplan_malloc(n * sizeof(*order) + 1);
	AUTO_HEAP uint64_t *offsets = npuplan_malloc(n * sizeof(*offsets) + 1);
	int err = order && offsets ? 0 : -ENOMEM;

	if (!err)
		err = npuplan_order_items(&call->conflicts, rule, order);
	if (!err)
		err = npuplan_pack_fit(call, order, best, offsets);
	return err == -EINTR ? 0 : err;
}

int npuplan_pack_first_fit(struct npuplan_pack *call, int order)
{
	return fit(call, order, false);
}

int npuplan_pack_in_order(int order, const struct npuplan_pack_problem *problem, uint64_t *offsets,
			  struct npuplan_pack_result *result, struct npuplan_error *error)
{
	const struct npuplan_packer packer = {
		.name = "first fit",
		.pack = npuplan_pack_first_fit,
		.argument = order,
	};
	const struct npuplan_pack_options options = { .work_limit = UINT64_MAX };

	return npuplan_pack_by(&packer, problem, &options, offsets, result, error);
}

int npuplan_pack_best_fit(struct npuplan_pack *call, int unused)
{
	return fit(call, NPUPLAN_BY_SIZE, true);
}

int npuplan_pack_best_greedy(struct npuplan_pack *call, int unused)
{
	/* A caller that has an incumbent has gone through the orders before. */
	int rule = call->packer->incumbent ? NPUPLAN_ORDER_COUNT : 0, err = 0;

	for (; rule < NPUPLAN_ORDER_COUNT && !err && !npuplan_pack_over(call); rule++)
		err = fit(call, rule, false);
	if (!err && !npuplan_pack_over(call))
		err = fit(call, NPUPLAN_BY_SIZE, true);
	if (!err && !npuplan_pack_over(call))
		err = fit(call, NPUPLAN_BY_SIZE_DURATION, false);
	return err;
}
