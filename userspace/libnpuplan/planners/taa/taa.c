// SPDX-License-Identifier: MIT
#include "taa.h"

#include <stdlib.h>
#include <string.h>

#include "pack/exact.h"
#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"
#include "displacements.h"
#include "paper/engine.h"

/*
 * Steps of algorithm 1 after which it is given up: some seconds of them, or tenths of a second
 * beside the exact form.
 */
#define PAPER_WORK  2000000000ull
#define BESIDE_WORK 20000000ull

/* ----------------------------------------------------------------- exact method */

/*
 * Find what single bytes forbid. @bounds: out: a bound that is proved of these conflicts holds for
 * plans; it does not if some tensors are taken as whole.
 */
static int find_conflicts(const struct npuplan_problem *problem,
			  struct npuplan_conflicts *conflicts, bool *bounds,
			  struct npuplan_error *error)
{
	bool whole_only;
	int err = npuplan_displacement_conflicts(conflicts, &problem->conflicts, &problem->live,
						 &whole_only);

	if (err)
		return npuplan_fail(error, err, "forbidden displacements of %u tensors: %s",
				    problem->item_count, strerror(-err));
	*bounds = !whole_only;
	err = npuplan_permit_in_place(conflicts, &problem->live);
	if (err)
		return npuplan_fail(error, err, "in-place operators: %s", strerror(-err));
	return 0;
}

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
	struct npuplan_conflicts conflicts = { 0 };
	AUTO_HEAP uint64_t *offsets =
		npuplan_calloc((size_t)problem->item_count + 1, sizeof(*offsets));
	int err = 0;

	if (!offsets)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	pack.conflicts = &problem->conflicts;
	if (npuplan_is_straight(problem->graph)) {
		err = find_conflicts(problem, &conflicts, &member.bounds, error);
		pack.conflicts = &conflicts;
	}
	if (!err)
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
	int err = npuplan_taa_paper(problem, limit ? limit : PAPER_WORK, packing);

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
	bool straight = npuplan_is_straight(problem->graph);
	int err = 0;

	packing->top = UINT64_MAX;
	if (method == NPUPLAN_TAA_PAPER) {
		err = npuplan_check_straight(problem->graph, error);
		return err ? err : pack_paper(problem, packing, error);
	}
	err = run_exact(problem, packing, error);
	if (!err && straight && packing->top > packing->lower_bound &&
	    work_beside(problem, packing) && !npuplan_effort_ended(problem->effort)) {
		/* The paper's algorithm may do better by luck; if it is quick, it is tried, too. */
		int paper = npuplan_taa_paper(problem, work_beside(problem, packing), packing);

		if (paper == -ENOMEM)
			err = npuplan_fail(error, paper, "TAA's paper engine: %s",
					   strerror(-paper));
	}
	return finish(problem, packing, err, error);
}
