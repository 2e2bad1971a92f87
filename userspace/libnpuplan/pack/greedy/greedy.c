// SPDX-License-Identifier: MIT
/* Greedy packers, which place one item after another and move none again. */
#include "first_fit.h"
#include "greedy.h"

static bool stopped(void *run)
{
	return npuplan_pack_stopped(run);
}

int npuplan_pack_fit(struct npuplan_pack *run, const uint32_t *order, bool best, uint64_t *offsets)
{
	uint32_t alignment = run->problem->alignment ? run->problem->alignment : 1;
	struct npuplan_until until = { .over = stopped, .context = run };
	uint32_t clash[2];
	uint64_t top;
	int err = npuplan_first_fit(&run->conflicts, order, alignment, best, &until, offsets, &top,
				    &run->work, clash);

	run->infeasible |= err == -EADDRINUSE;
	if (!err)
		npuplan_pack_offer(run, offsets);
	return err == -EADDRINUSE ? 0 : err;
}

static int fit(struct npuplan_pack *run, enum npuplan_order rule, bool best)
{
	size_t n = run->problem->item_count;
	AUTO_HEAP uint32_t *order = npuplan_malloc(n * sizeof(*order) + 1);
	AUTO_HEAP uint64_t *offsets = npuplan_malloc(n * sizeof(*offsets) + 1);
	int err = order && offsets ? 0 : -ENOMEM;

	if (!err)
		err = npuplan_order_items(&run->conflicts, rule, order);
	if (!err)
		err = npuplan_pack_fit(run, order, best, offsets);
	return err == -EINTR ? 0 : err;
}

int npuplan_pack_first_fit(struct npuplan_pack *run, int order)
{
	return fit(run, order, false);
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

int npuplan_pack_best_fit(struct npuplan_pack *run, int unused)
{
	return fit(run, NPUPLAN_BY_SIZE, true);
}

int npuplan_pack_best_greedy(struct npuplan_pack *run, int unused)
{
	/* A caller that has an incumbent has gone through the orders before. */
	int rule = run->packer->incumbent ? NPUPLAN_ORDER_COUNT : 0, err = 0;

	for (; rule < NPUPLAN_ORDER_COUNT && !err && !npuplan_pack_over(run); rule++)
		err = fit(run, rule, false);
	if (!err && !npuplan_pack_over(run))
		err = fit(run, NPUPLAN_BY_SIZE, true);
	if (!err && !npuplan_pack_over(run))
		err = fit(run, NPUPLAN_BY_SIZE_DURATION, false);
	return err;
}
