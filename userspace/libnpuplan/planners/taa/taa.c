// SPDX-License-Identifier: MIT
#include "taa.h"

#include <stdlib.h>
#include <string.h>

#include "pack/exact.h"
#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"
#include "displacements.h"
#include "paper/tensor_allocate.h"

/*
 * Steps of algorithm 1 after which it is given up: some seconds of them, or tenths of a second
 * beside the exact form.
 */
#define PAPER_WORK  2000000000ull
#define BESIDE_WORK 20000000ull

/* ----------------------------------------------------------------- paper method */

/*
 * Put the items with fixed offsets first in the order, since they are placed before all others;
 * returns how many they are.
 */
static uint32_t fixed_first(const struct npuplan_problem *problem, uint32_t *order,
			    uint64_t *offsets)
{
	uint32_t fixed = 0;

	for (uint32_t i = 0; i < problem->item_count; i++) {
		uint32_t item = order[i];

		if (!problem->items[item].fixed)
			continue;
		offsets[item] = problem->items[item].fixed_offset;
		memmove(&order[fixed + 1], &order[fixed], (i - fixed) * sizeof(*order));
		order[fixed++] = item;
	}
	return fixed;
}

/*
 * Whether tiles are of aliases, of which the paper knows nothing: its tiles are of one tensor.
 * Those of joined concats are of the outputs. An alias without a tile may still say how long the
 * bytes of its tensor live, unless it is an intermediate one.
 */
static bool has_aliases(const struct npuplan_graph *graph)
{
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if ((graph->tensors[i].flags & NPUMEM_TENSOR_FLAG_ALIAS) &&
		    graph->tensors[i].kind != NPUMEM_TENSOR_INTERMEDIATE)
			return true;
	for (uint32_t i = 0; i < graph->tile_count; i++)
		if (graph->tensors[graph->tiles[i].tensor].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			return true;
	return false;
}

/*
 * Run algorithm 1 by each order, and keep the best packing. -E2BIG: not even the first order was
 * done before @limit; -EINTR: not before the effort ended.
 */
static int run_paper(const struct npuplan_problem *problem, uint64_t limit,
		     struct npuplan_packing *packing)
{
	/* The orders of section III-A: size, lifetime, number of peers. */
	static const enum npuplan_order rules[] = { NPUPLAN_BY_SIZE, NPUPLAN_BY_DURATION,
						    NPUPLAN_BY_PEERS };
	struct npuplan_member member = { .effort = problem->effort, .best = packing };
	const struct npuplan_until until = { .over = npuplan_member_over, .context = &member };
	size_t n = problem->item_count;
	AUTO_HEAP uint32_t *order = npuplan_malloc(n * sizeof(*order) + 1);
	AUTO_HEAP uint64_t *offsets = npuplan_calloc(n + 1, sizeof(*offsets));
	struct npuplan_conflicts overlap;
	struct npuplan_taa taa = { 0 };
	uint32_t done = 0;
	int err = has_aliases(problem->graph) ? -EOPNOTSUPP : npuplan_taa_init(&taa, problem);

	if (!order || !offsets)
		err = err ? err : -ENOMEM;
	npuplan_conflicts_overlap(&overlap, problem->items, problem->item_count);
	for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]) && !err; r++) {
		uint64_t top = 0;

		err = npuplan_order_items(&overlap, rules[r], order);
		if (!err)
			err = npuplan_taa_allocate(&taa, order,
						   fixed_first(problem, order, offsets), offsets,
						   &member.work, limit, &until);
		if (err)
			break;
		for (uint32_t i = 0; i < n; i++)
			if (offsets[i] + problem->items[i].size > top)
				top = offsets[i] + problem->items[i].size;
		npuplan_packing_keep(packing, offsets, top, problem->item_count);
		done++;
		if (npuplan_member_over(&member))
			break;
	}
	packing->work += member.work;
	npuplan_taa_fini(&taa);
	return done && (err == -E2BIG || err == -EINTR) ? 0 : err;
}

/* ----------------------------------------------------------------- exact method */

static int run_exact(const struct npuplan_problem *problem, struct npuplan_packing *packing,
		     struct npuplan_error *error)
{
	struct npuplan_member member = { .effort = problem->effort, .best = packing };
	struct npuplan_pack_problem pack = npuplan_core_problem(problem);
	const struct npuplan_options *asked = problem->options;
	const struct npuplan_pack_options options = {
		.work_limit = asked->work_limit ? asked->work_limit : NPUPLAN_TAA_WORK,
		.deadline_seconds = npuplan_effort_left(problem->effort),
		.progress = npuplan_member_progress,
		.context = &member,
	};
	struct npuplan_pack_result result;
	struct npuplan_conflicts conflicts;
	bool whole_only;
	AUTO_HEAP uint64_t *offsets =
		npuplan_calloc((size_t)problem->item_count + 1, sizeof(*offsets));
	int err;

	if (!offsets)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	err = npuplan_displacement_conflicts(&conflicts, &problem->conflicts, &problem->live,
					     &whole_only);
	if (err)
		return npuplan_fail(error, err, "forbidden displacements of %u tensors: %s",
				    problem->item_count, strerror(-err));
	pack.conflicts = &conflicts;
	/* A bound that holds for whole tensors does not hold for plans. */
	member.bounds = !whole_only;
	err = npuplan_permit_in_place(&conflicts, &problem->live);
	if (err)
		npuplan_fail(error, err, "in-place operators: %s", strerror(-err));
	else
		err = npuplan_pack_exactly(&pack, &options, offsets, &result, error);
	packing->work += err ? 0 : result.work;
	if (!err && member.bounds && result.lower_bound > packing->lower_bound)
		packing->lower_bound = result.lower_bound;
	/* There is always one packing, however soon the call has to end. */
	if (!err && result.top == UINT64_MAX) {
		err = npuplan_pack_in_order(NPUPLAN_BY_SIZE_DURATION, &pack, offsets, &result,
					    error);
		packing->work += err ? 0 : result.work;
	}
	if (!err && result.top == UINT64_MAX)
		err = -EADDRINUSE;
	else if (!err)
		npuplan_packing_keep(packing, offsets, result.top, problem->item_count);
	npuplan_conflicts_fini(&conflicts);
	return err;
}

/* ---------------------------------------------------------------------- planners */

static int finish(const struct npuplan_problem *problem, struct npuplan_packing *packing, int err,
		  struct npuplan_error *error)
{
	if (err == -EADDRINUSE)
		return npuplan_fail(
			error, -EINVAL,
			"fixed offsets collide: two tensors of %s would share bytes that live at once",
			problem->graph->name);
	if (!err)
		packing->status = npuplan_status_of(packing->top, packing->lower_bound);
	return err;
}

static int pack_paper(const struct npuplan_problem *problem, struct npuplan_packing *packing,
		      struct npuplan_error *error)
{
	uint64_t limit = problem->options->work_limit;
	int err = run_paper(problem, limit ? limit : PAPER_WORK, packing);

	if (err == -EINTR || (err == -E2BIG && limit))
		return npuplan_fail(error, -ETIMEDOUT,
				    "%s: TAA's paper engine has no plan before the limits of work "
				    "or time",
				    problem->graph->name);
	if (err == -E2BIG)
		return npuplan_fail(error, err,
				    "%s: too many tiles for TAA's paper engine (%llu steps)",
				    problem->graph->name, PAPER_WORK);
	if (err == -EOPNOTSUPP)
		return npuplan_fail(error, err, "%s: this planner plans no aliases",
				    problem->graph->name);
	if (err && err != -EADDRINUSE)
		return npuplan_fail(error, err, "TAA's paper engine: %s", strerror(-err));
	return finish(problem, packing, err, error);
}

/* The work units that the paper's engine may use beside the exact form. */
static uint64_t work_beside(const struct npuplan_problem *problem,
			    const struct npuplan_packing *packing)
{
	uint64_t limit = problem->options->work_limit, left;

	if (!limit)
		return BESIDE_WORK;
	left = limit > packing->work ? limit - packing->work : 0;
	return left < BESIDE_WORK ? left : BESIDE_WORK;
}

int npuplan_pack_taa(const struct npuplan_problem *problem, int method,
		     struct npuplan_packing *packing, struct npuplan_error *error)
{
	int err = npuplan_check_straight(problem->graph, error);

	if (err)
		return err;
	packing->top = UINT64_MAX;
	if (method == NPUPLAN_TAA_PAPER)
		return pack_paper(problem, packing, error);
	err = run_exact(problem, packing, error);
	if (!err && packing->top > packing->lower_bound && work_beside(problem, packing) &&
	    !npuplan_effort_ended(problem->effort)) {
		/* The paper's algorithm may do better by luck; if it is quick, it is tried, too. */
		int paper = run_paper(problem, work_beside(problem, packing), packing);

		if (paper == -ENOMEM)
			err = npuplan_fail(error, paper, "TAA's paper engine: %s",
					   strerror(-paper));
	}
	return finish(problem, packing, err, error);
}
