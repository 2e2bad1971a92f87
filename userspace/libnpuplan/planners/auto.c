// SPDX-License-Identifier: MIT
/*
 * The default planner, a portfolio: it runs the greedy planners, TAA, the exact search for a
 * moment, NNC and then the exact search, until one reaches the lower bound or the limit of work or
 * time is reached. It keeps the best packing, so it is never worse than the best greedy planner
 * that there was time for.
 */
#include <stdlib.h>
#include <string.h>

#include "pack/greedy/first_fit.h"
#include "planners.h"
#include "planners/nnc/nnc.h"
#include "planners/taa/taa.h"

/*
 * Work units of NNC and of the search if the user asks for no limit: some tenths of a second each.
 * Greedy planners have no limit.
 */
#define NNC_WORK    20000000ull
#define SEARCH_WORK 50000000ull
/* What the search has before NNC: many packings are proved, or found, with little. */
#define FIRST_WORK  2000000ull
/* The most items with which a round of NNC takes some tenths of a second: it looks at all pairs. */
#define NNC_ITEMS   1000
/* The most entries of lists of peers with which a round of NNC takes reasonable time. */
#define NNC_PEERS   (1u << 20)

/*
 * struct planner_portfolio - one call of the planner
 * @problem: a copy of @asked for the members, with the best lower bound so far
 * @best: the best packing so far; its top is UINT64_MAX if there is none yet
 * @whole: the best packing in which tensors lie whole, which TAA's need not: the incumbent of other
 *	members
 * @member: tells the caller how far the members are; its @bounds says whether bounds of whole
 *	tensors hold for plans
 * @options, @effort: options and effort that members are given
 */
struct planner_portfolio {
	struct npuplan_problem problem;
	const struct npuplan_problem *asked;
	struct npuplan_packing *best;
	struct npuplan_packing whole;
	struct npuplan_member member;
	struct npuplan_options options;
	struct npuplan_effort effort;
};

static bool is_at_bound(const struct planner_portfolio *portfolio)
{
	return portfolio->best->top <= portfolio->best->lower_bound;
}

/*
 * Hear from a member how far it is, and end it if it need not go on: nothing is better than a
 * packing at the bound.
 */
static int on_progress(void *context, const struct npuplan_pack_progress *member)
{
	struct planner_portfolio *portfolio = context;

	return npuplan_member_progress(&portfolio->member, member) || is_at_bound(portfolio);
}

static bool is_over(const struct planner_portfolio *portfolio)
{
	if (portfolio->best->top == UINT64_MAX)
		return false;
	return portfolio->effort.stopped || is_at_bound(portfolio) ||
	       npuplan_effort_late(portfolio->asked->effort);
}

typedef int (*pack_fn)(const struct npuplan_problem *problem, int argument,
		       struct npuplan_packing *packing, struct npuplan_error *error);

static int run_member(struct planner_portfolio *portfolio, pack_fn pack, int argument,
		      uint64_t work_limit, struct npuplan_error *error)
{
	size_t bytes = (size_t)portfolio->asked->item_count * sizeof(uint64_t);
	struct npuplan_packing *best = portfolio->best;
	struct npuplan_packing found = {
		.offsets = malloc(bytes + 1),
		.lower_bound = best->lower_bound,
	};
	struct npuplan_error why = { "" };
	int err = -ENOMEM;

	portfolio->options.work_limit = work_limit;
	portfolio->problem.lower_bound = best->lower_bound;
	portfolio->problem.incumbent = portfolio->whole.top != UINT64_MAX ? &portfolio->whole :
									    NULL;
	if (found.offsets)
		err = pack(&portfolio->problem, argument, &found, &why);
	else
		npuplan_fail(&why, err, "out of memory");
	if (err == -ENOMEM && best->top != UINT64_MAX) {
		/* The members that follow take more memory than those that have found a packing. */
		portfolio->effort.stopped = true;
		err = 0;
	} else if (err && err != -ENOTRECOVERABLE && best->top != UINT64_MAX) {
		/* A member's failure does not spoil the packing that another one has found. */
		best->work += found.work;
		err = 0;
	} else if (err) {
		npuplan_fail(error, err, "%s", why.text);
	} else {
		if (best->lower_bound < found.lower_bound)
			best->lower_bound = found.lower_bound;
		npuplan_packing_keep(best, found.offsets, found.top, portfolio->asked->item_count);
		if (pack != npuplan_pack_taa)
			npuplan_packing_keep(&portfolio->whole, found.offsets, found.top,
					     portfolio->asked->item_count);
		best->work += found.work;
	}
	best->memory_ended |= found.memory_ended;
	free(found.offsets);
	return err;
}

/* The work units that are left for a member; @own if the user set no limit. */
static uint64_t work_left(const struct planner_portfolio *portfolio, uint64_t own)
{
	return npuplan_effort_work_left(portfolio->asked->options->work_limit,
					portfolio->best->work, own);
}

int npuplan_pack_auto(const struct npuplan_problem *problem, int unused,
		      struct npuplan_packing *packing, struct npuplan_error *error)
{
	struct planner_portfolio portfolio = {
		.problem = *problem,
		.asked = problem,
		.best = packing,
		.whole = { .offsets = malloc((size_t)problem->item_count * sizeof(uint64_t) + 1),
			   .top = UINT64_MAX },
		.member = { .effort = problem->effort,
			    .best = packing,
			    .bounds = npuplan_lives_whole(problem) },
		.options = *problem->options,
		.effort = { .progress = on_progress, .context = &portfolio },
	};
	const size_t *peer_start = problem->conflicts.peer_start;
	uint64_t n = problem->item_count, limit;
	uint64_t peers = peer_start ? peer_start[n] : 0;
	struct npuplan_error ignored;
	int err = 0;

	packing->top = UINT64_MAX;
	if (!portfolio.whole.offsets)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	if (problem->effort)
		portfolio.effort.started = problem->effort->started;
	if (problem->effort)
		portfolio.effort.deadline = problem->effort->deadline;
	portfolio.problem.options = &portfolio.options;
	portfolio.problem.effort = &portfolio.effort;
	/*
	 * First fit takes seconds if there are many pairs. The quick packer does not, but it takes
	 * no fixed items.
	 */
	if (!peer_start && run_member(&portfolio, npuplan_pack_quick, 0, 0, &ignored))
		packing->top = UINT64_MAX;
	for (int order = 0; order < NPUPLAN_ORDER_COUNT && !err && !is_over(&portfolio); order++)
		err = run_member(&portfolio, npuplan_pack_greedy, order, 0, error);
	/*
	 * TAA is worth trying where parts of tensors live apart; the other members place tensors
	 * whole.
	 */
	limit = work_left(&portfolio, 0);
	if (!err && !is_over(&portfolio) && !portfolio.member.bounds && peer_start &&
	    npuplan_is_straight(problem->graph))
		err = run_member(&portfolio, npuplan_pack_taa, NPUPLAN_TAA_EXACT, limit, error);
	limit = work_left(&portfolio, FIRST_WORK);
	if (!err && !is_over(&portfolio))
		err = run_member(&portfolio, npuplan_pack_searched, 0,
				 limit < FIRST_WORK ? limit : FIRST_WORK, error);
	limit = work_left(&portfolio, NNC_WORK);
	if (!err && !is_over(&portfolio) && n <= NNC_ITEMS && peer_start && peers <= NNC_PEERS)
		err = run_member(&portfolio, npuplan_pack_nnc, 0, limit, error);
	limit = work_left(&portfolio, SEARCH_WORK);
	if (!err && !is_over(&portfolio))
		err = run_member(&portfolio, npuplan_pack_searched, 0, limit, error);
	if (!err)
		packing->status = npuplan_status_of(packing->top, packing->lower_bound);
	free(portfolio.whole.offsets);
	return err;
}
