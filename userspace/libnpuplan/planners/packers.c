// SPDX-License-Identifier: MIT
/* Packers as planners: the greedy ones, which always make one packing, and the exact one. */
#include <stdlib.h>

#include "pack/exact.h"
#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"
#include "pack/search/searches.h"
#include "planners.h"

/* Work units of the exact planner if the user asks for no limit: about a second. */
#define DEFAULT_WORK 200000000ull

/* Whether each listed pair is of whole items that live together. */
static bool pairs_overlap(const struct npuplan_conflicts *c)
{
	for (uint32_t i = 0; i < c->item_count; i++) {
		for (size_t p = c->peer_start[i]; p < c->peer_start[i + 1]; p++) {
			const struct npuplan_item *peer = &c->items[c->peers[p].item];

			if (c->peers[p].interval_count || peer->start > c->items[i].end ||
			    peer->end < c->items[i].start)
				return false;
		}
	}
	return true;
}

/*
 * Find out, in @same, whether the listed pairs are exactly those of whole items that live together.
 * The search by overlap, which is far quicker, answers the same question then. Returns 0 or
 * -ENOMEM.
 */
static int compare_with_overlap(const struct npuplan_conflicts *c, bool *same)
{
	struct npuplan_conflicts overlap;
	AUTO_HEAP uint64_t *counts = NULL;
	int err;

	*same = !c->peer_start;
	if (*same || !pairs_overlap(c))
		return 0;
	counts = npuplan_malloc((size_t)c->item_count * sizeof(*counts) + 1);
	if (!counts)
		return -ENOMEM;
	npuplan_conflicts_overlap(&overlap, c->items, c->item_count);
	err = npuplan_count_peers(&overlap, counts);
	*same = !err;
	for (uint32_t i = 0; i < c->item_count && *same; i++)
		*same = counts[i] == c->peer_start[i + 1] - c->peer_start[i];
	return err;
}

int npuplan_pack_quick(const struct npuplan_problem *problem, int unused,
		       struct npuplan_packing *packing, struct npuplan_error *error)
{
	static const struct npuplan_packer packer = {
		.name = "valley-area",
		.pack = npuplan_pack_valley,
		.argument = NPUPLAN_VALLEY_AREA,
	};
	const struct npuplan_pack_problem core = npuplan_core_problem(problem);
	const struct npuplan_pack_options options = { .work_limit = UINT64_MAX };
	struct npuplan_pack_result result;
	int err;

	if (problem->conflicts.peer_start)
		return npuplan_fail(error, -EOPNOTSUPP, "conflicts are listed");
	err = npuplan_pack_by(&packer, &core, &options, packing->offsets, &result, error);
	if (err)
		return err;
	packing->top = result.top;
	packing->work += result.work;
	packing->status = npuplan_status_of(result.top, packing->lower_bound);
	return 0;
}

/* Fixed offsets collide; first fit in any order finds out which two. */
static int name_clash(const struct npuplan_problem *problem, struct npuplan_packing *packing,
		      struct npuplan_error *error)
{
	struct npuplan_fit *fit;
	uint32_t clash[2];
	int err = npuplan_fit_new(&fit, &problem->conflicts, packing->offsets);

	for (uint32_t i = 0; i < problem->item_count && !err; i++)
		if (problem->items[i].fixed)
			err = npuplan_fit_put_fixed(fit, i, clash);
	npuplan_fit_free(fit);
	if (err == -EADDRINUSE)
		return npuplan_fail_clash(problem, clash, error);
	return npuplan_fail(error, -ENOMEM, "out of memory");
}

int npuplan_pack_greedy(const struct npuplan_problem *problem, int order,
			struct npuplan_packing *packing, struct npuplan_error *error)
{
	struct npuplan_member member = { .effort = problem->effort, .best = packing };
	struct npuplan_pack_problem core = npuplan_core_problem(problem);
	/*
	 * First fit may take long where conflicts are too many to be listed. It is not made to
	 * finish then, since the quick packer can step in.
	 */
	bool quick = !problem->conflicts.peer_start &&
		     !npuplan_any_fixed(problem->items, problem->item_count);
	const struct npuplan_packer packer = {
		.name = "first fit",
		.pack = order == NPUPLAN_ORDER_COUNT ? npuplan_pack_best_greedy :
						       npuplan_pack_first_fit,
		.argument = order,
		.patient = !quick && !problem->incumbent,
	};
	const struct npuplan_pack_options options = {
		.work_limit = UINT64_MAX,
		.deadline_seconds = npuplan_effort_left(problem->effort),
		.progress = npuplan_member_progress,
		.context = &member,
	};
	struct npuplan_pack_result result;
	int err;

	if (problem->conflicts.peer_start)
		core.conflicts = &problem->conflicts;
	packing->top = UINT64_MAX;
	err = npuplan_pack_by(&packer, &core, &options, packing->offsets, &result, error);
	if (err)
		return err;
	packing->work += result.work;
	if (result.top == UINT64_MAX) {
		if (result.status == NPUMEM_PLAN_STATUS_INFEASIBLE)
			return name_clash(problem, packing, error);
		if (quick && !problem->incumbent)
			return npuplan_pack_quick(problem, 0, packing, error);
		return npuplan_fail(error, -ETIMEDOUT, "greedy first fit was called off");
	}
	packing->top = result.top;
	packing->status = npuplan_status_of(packing->top, packing->lower_bound);
	return 0;
}

int npuplan_pack_searched(const struct npuplan_problem *problem, int unused,
			  struct npuplan_packing *packing, struct npuplan_error *error)
{
	const struct npuplan_options *asked = problem->options;
	struct npuplan_packing heard = { .top = UINT64_MAX, .lower_bound = problem->lower_bound };
	struct npuplan_member member = { .effort = problem->effort,
					 .best = &heard,
					 .bounds = true };
	struct npuplan_pack_problem core = npuplan_core_problem(problem);
	struct npuplan_pack_options options = {
		.work_limit = asked->work_limit ? asked->work_limit : DEFAULT_WORK,
		.memory_limit = asked->memory_limit,
		.deadline_seconds = npuplan_effort_left(problem->effort),
		.progress = npuplan_member_progress,
		.context = &member,
	};
	const struct npuplan_packer packer = {
		.name = "exact",
		.pack = npuplan_pack_exact,
		.incumbent = problem->incumbent,
	};
	struct npuplan_pack_result result;
	bool by_overlap;
	int err = compare_with_overlap(&problem->conflicts, &by_overlap);

	if (err)
		return npuplan_fail(error, err, "out of memory");
	if (!by_overlap)
		core.conflicts = &problem->conflicts;
	err = npuplan_pack_by(&packer, &core, &options, packing->offsets, &result, error);
	if (err)
		return err;
	packing->memory_ended = result.memory_ended;
	if (result.top == UINT64_MAX)
		/*
		 * Either fixed offsets collide, which the greedy planner says in a sentence, or
		 * time is up.
		 */
		return npuplan_pack_greedy(problem, NPUPLAN_BY_SIZE, packing, error);
	packing->top = result.top;
	packing->work += result.work;
	if (npuplan_lives_whole(problem)) {
		packing->lower_bound = result.lower_bound;
		packing->status = result.status;
	} else {
		packing->status = npuplan_status_of(result.top, problem->lower_bound);
	}
	return 0;
}
