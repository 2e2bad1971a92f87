// SPDX-License-Identifier: MIT
/*
 * This file looks for an order of all steps in which cores spill and fill little.
 *
 * What a core moves at least in any order is a bound: its own search, with the orders that follow
 * from the whole graph. Where other cores' orders are fixed, a search of one core finds the best
 * that it can do beside them. So orders are tried from which one core after the other answers the
 * others, until none can do better: the graph's; for each core the one that is best for it, then
 * for the next beside it, and so on; that of all room together; and some that are drawn.
 */
#include "cores.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"

/* Limit of the work where none is asked for: about a minute, where searches do not end sooner. */
#define CORES_WORK    2000000000ull
/*
 * Parts of the work, of which a search of one core gets one, once half of it has been for what
 * each does alone.
 */
#define SHARES	      16
/* Rounds in which each core answers the others. */
#define MAX_ROUNDS    4
/* Orders that are drawn, to begin from them. */
#define RANDOM_ORDERS 24

/*
 * struct answers - cores' orders and plans, of one order of all steps
 * @chain: per core, its steps in order; NULL: not said yet
 * @plan: per core
 * @traffic: of all plans; UINT64_MAX: a core has none
 */
struct answers {
	uint32_t *chain[NPUPLAN_CORES];
	struct npuplan_cosma_plan plan[NPUPLAN_CORES];
	uint64_t traffic;
};

/*
 * struct cores_search - the search for an order
 * @asked: what each search is asked for, but for what is the core's own
 * @effort: of the call
 * @limit: units of work
 * @work: units spent
 * @bound: bytes that all cores spill and fill at least
 * @rank: of the graph's order
 * @order: room for all steps
 * @shares: parts of the work, of which a search of one core gets one
 * @alone: each core's best, whatever others do; its plan goes to the first that takes it
 * @best: so far
 * @memory_ended: a search ended at the limit of memory
 */
struct cores_search {
	struct cosma_cores *cores;
	const struct cosma_settings *asked;
	struct npuplan_effort *effort;
	uint64_t limit;
	uint64_t work;
	uint64_t bound;
	uint32_t *rank;
	uint32_t *order;
	uint32_t shares;
	struct answers alone;
	struct answers best;
	bool memory_ended;
};

static void answers_fini(struct answers *answers)
{
	for (uint32_t c = 0; c < NPUPLAN_CORES; c++) {
		npuplan_free(answers->chain[c]);
		npuplan_cosma_plan_free(&answers->plan[c]);
	}
	memset(answers, 0, sizeof(*answers));
}

static bool is_over(const struct cores_search *search)
{
	return search->work >= search->limit || npuplan_effort_ended(search->effort) ||
	       search->best.traffic <= search->bound;
}

/* Sums up what cores move. */
static void count(const struct cores_search *search, struct answers *answers)
{
	answers->traffic = 0;
	for (uint32_t c = 0; c < search->cores->count; c++) {
		if (!answers->plan[c].positions) {
			answers->traffic = UINT64_MAX;
			return;
		}
		answers->traffic += answers->plan[c].spill + answers->plan[c].fill;
	}
}

/* Takes over answers that are better than the best, and empties the others. */
static void keep(struct cores_search *search, struct answers *answers)
{
	count(search, answers);
	if (answers->traffic < search->best.traffic) {
		answers_fini(&search->best);
		search->best = *answers;
		memset(answers, 0, sizeof(*answers));
	}
	answers_fini(answers);
}

/*
 * Searches a core's graph in its share of the work. @order: of all steps, in which its own are
 * first tried; @pairs: orders that they have to keep; @fixed: there is no other
 */
static int search_core(struct cores_search *search, uint32_t c, const uint32_t *order,
		       const struct cosma_pair *pairs, uint32_t pair_count, bool fixed,
		       struct npuplan_cosma_plan *plan)
{
	const struct cosma_core *core = &search->cores->core[c];
	struct cosma_settings asked = *search->asked;
	AUTO_HEAP uint32_t *own =
		npuplan_malloc(((size_t)core->graph->op_count + 1) * sizeof(*own));
	uint32_t found = 0;
	uint64_t left;
	int err;

	memset(plan, 0, sizeof(*plan));
	if (!own)
		return -ENOMEM;
	for (uint32_t p = 0; p < search->cores->units->graph->op_count; p++)
		if (core->op_of[order[p]] != NPUMEM_NONE)
			own[found++] = core->op_of[order[p]];
	asked.order = own;
	asked.pairs = pairs;
	asked.pair_count = pair_count;
	asked.takeovers = core->takeovers;
	asked.takeover_count = core->takeover_count;
	asked.staged = core->staged;
	asked.common.arena_budget = core->asked->size;
	asked.common.objective = NPUPLAN_OBJECTIVE_TRAFFIC;
	asked.common.schedule = fixed ? NPUPLAN_SCHEDULE_GIVEN : NPUPLAN_SCHEDULE_FREE;
	left = search->limit > search->work ? search->limit - search->work : 1;
	asked.common.work_limit =
		search->limit / search->shares < left ? search->limit / search->shares + 1 : left;
	asked.common.deadline_seconds = npuplan_effort_left(search->effort) / 2;
	err = npuplan_cosma(core->graph, &asked, plan, search->cores->error);
	if (err)
		return err;
	search->work += plan->work;
	search->memory_ended |= plan->memory_ended;
	return 0;
}

/* Notes the order of a core's plan as its chain. */
static int note_chain(const struct cores_search *search, uint32_t c, struct answers *answers)
{
	const struct npuplan_cosma_plan *plan = &answers->plan[c];
	const struct cosma_core *core = &search->cores->core[c];
	uint32_t found = 0;

	npuplan_free(answers->chain[c]);
	answers->chain[c] = npuplan_malloc(((size_t)core->graph->op_count + 1) * sizeof(uint32_t));
	if (!answers->chain[c])
		return -ENOMEM;
	for (uint32_t p = 0; p < plan->position_count; p++)
		if (plan->positions[p].kind == NPUMEM_POSITION_STEP)
			answers->chain[c][found++] = core->step_of[plan->positions[p].index];
	return 0;
}

/*
 * A core answers the orders that others have: @plan is the best for it beside them. Without
 * positions there is none.
 */
static int answer(struct cores_search *search, struct answers *answers, uint32_t c,
		  struct npuplan_cosma_plan *plan)
{
	uint32_t *own = answers->chain[c], pair_count;
	struct cosma_pair *pairs;
	int err;

	answers->chain[c] = NULL;
	err = cosma_core_left(search->cores, answers->chain, search->rank, search->order, c, &pairs,
			      &pair_count);
	answers->chain[c] = own;
	if (err)
		return err;
	err = search_core(search, c, search->order, pairs, pair_count, false, plan);
	npuplan_free(pairs);
	return err;
}

/* Plans all cores in one order of all steps. */
static int try_order(struct cores_search *search, const uint32_t *order, struct answers *answers)
{
	int err = 0;

	for (uint32_t c = 0; c < search->cores->count && !err; c++) {
		err = search_core(search, c, order, NULL, 0, true, &answers->plan[c]);
		if (!err && answers->plan[c].positions)
			err = note_chain(search, c, answers);
	}
	count(search, answers);
	return err;
}

/* Core @first has the order that is best for it, and one after the other the rest answers. */
static int try_first(struct cores_search *search, uint32_t first, struct answers *answers)
{
	uint32_t cores = search->cores->count;
	int err = 0;

	answers->traffic = UINT64_MAX;
	for (uint32_t i = 0; i < cores && !err; i++) {
		uint32_t c = (first + i) % cores;

		if (!i) {
			answers->plan[c] = search->alone.plan[c];
			memset(&search->alone.plan[c], 0, sizeof(search->alone.plan[c]));
		} else {
			err = answer(search, answers, c, &answers->plan[c]);
		}
		if (err || !answers->plan[c].positions)
			return err;
		err = note_chain(search, c, answers);
	}
	count(search, answers);
	return err;
}

/* One core after the other answers the rest, as long as that makes one move less. */
static int improve(struct cores_search *search, struct answers *answers)
{
	uint32_t cores = search->cores->count, unchanged = 0;

	for (uint32_t i = 0; i < MAX_ROUNDS * cores && unchanged < cores; i++) {
		uint32_t c = i % cores;
		struct npuplan_cosma_plan *old = &answers->plan[c], plan;
		int err;

		if (answers->traffic == UINT64_MAX || is_over(search))
			break;
		unchanged++;
		if (old->spill + old->fill <= search->cores->core[c].bound)
			continue;
		err = answer(search, answers, c, &plan);
		if (err)
			return err;
		if (!plan.positions || plan.spill + plan.fill >= old->spill + old->fill) {
			npuplan_cosma_plan_free(&plan);
			continue;
		}
		npuplan_cosma_plan_free(old);
		*old = plan;
		unchanged = 1;
		err = note_chain(search, c, answers);
		if (err)
			return err;
		count(search, answers);
	}
	return 0;
}

/* The order of least traffic if all room were one. */
static int try_together(struct cores_search *search, struct answers *answers)
{
	struct cosma_settings asked = *search->asked;
	struct npuplan_cosma_plan plan;
	uint32_t found = 0;
	int err;

	answers->traffic = UINT64_MAX;
	asked.common.arena_budget = 0;
	for (uint32_t c = 0; c < search->cores->count; c++)
		asked.common.arena_budget += search->cores->core[c].asked->size;
	asked.common.work_limit = search->limit / search->shares + 1;
	asked.common.deadline_seconds = npuplan_effort_left(search->effort) / 2;
	err = npuplan_cosma(search->cores->units->graph, &asked, &plan, search->cores->error);
	if (err)
		return err;
	search->work += plan.work;
	search->memory_ended |= plan.memory_ended;
	for (uint32_t p = 0; p < plan.position_count; p++)
		if (plan.positions[p].kind == NPUMEM_POSITION_STEP)
			search->order[found++] = plan.positions[p].index;
	if (plan.positions)
		err = try_order(search, search->order, answers);
	npuplan_cosma_plan_free(&plan);
	return err;
}

/* Any order: of those that are ready the next one is drawn. */
static int try_random(struct cores_search *search, uint32_t number, struct answers *answers)
{
	static uint32_t *const none[NPUPLAN_CORES];
	uint32_t n = search->cores->units->graph->op_count;
	AUTO_HEAP uint32_t *rank = npuplan_calloc((size_t)n + 1, sizeof(*rank));
	uint64_t random = NPUPLAN_RANDOM_SEED + number;
	int err;

	if (!rank)
		return -ENOMEM;
	for (uint32_t s = 0; s < n; s++) {
		uint32_t other = (uint32_t)((npuplan_random(&random) >> 32) % (s + 1));

		rank[s] = rank[other];
		rank[other] = s;
	}
	err = cosma_cores_order(search->cores, none, rank, search->order);
	return err ? err : try_order(search, search->order, answers);
}

/* Tries the @i-th way to begin, and improves it. */
static int try_way(struct cores_search *search, uint32_t i)
{
	uint32_t cores = search->cores->count;
	struct answers answers = { 0 };
	int err = i < cores  ? try_first(search, i, &answers) :
		  i == cores ? try_together(search, &answers) :
			       try_random(search, i - cores, &answers);

	err = err ? err : improve(search, &answers);
	if (err)
		answers_fini(&answers);
	else
		keep(search, &answers);
	return err;
}

/* ------------------------------------------------------------------- bounds */

/* A core has no plan, whatever the order: says why. */
static int fail_core(const struct cores_search *search, uint32_t c,
		     const struct npuplan_cosma_plan *plan)
{
	const struct cosma_core *core = &search->cores->core[c];
	struct npuplan_error *error = search->cores->error;
	uint32_t s = plan->needed_op == NPUMEM_NONE ? NPUMEM_NONE : core->step_of[plan->needed_op];
	char label[96], needed[32], size[32];
	int err;

	npuplan_format_bytes(plan->needed, needed);
	npuplan_format_bytes(core->asked->size, size);
	if (s == NPUMEM_NONE)
		snprintf(label, sizeof(label), "what is on chip from the start");
	else
		npuplan_step_label(search->cores->graph, s, label);
	if (plan->needed > core->asked->size)
		err = npuplan_fail(error, -ENOSPC,
				   "infeasible: %s needs %llu bytes (%s), core '%s' has %llu (%s)",
				   label, (unsigned long long)plan->needed, needed,
				   core->asked->name, (unsigned long long)core->asked->size, size);
	else
		err = npuplan_fail(error, -ENOSPC,
				   "infeasible: no order of the steps has addresses within the "
				   "%llu bytes (%s) of core '%s' for tensors in one piece; a "
				   "single step needs at most %llu",
				   (unsigned long long)core->asked->size, size, core->asked->name,
				   (unsigned long long)plan->needed);
	if (error) {
		error->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		error->step = s;
		error->needed = plan->needed;
	}
	return err;
}

/* Finds what each core moves at least: alone, in any order that the graph allows. */
static int find_bounds(struct cores_search *search)
{
	struct answers none = { 0 };
	int err = 0;

	search->shares = 2 * search->cores->count;
	for (uint32_t c = 0; c < search->cores->count && !err; c++) {
		struct cosma_core *core = &search->cores->core[c];
		struct npuplan_cosma_plan *plan = &search->alone.plan[c];

		err = answer(search, &none, c, plan);
		if (err)
			return err;
		core->needed = plan->needed;
		core->bound = plan->lower_bound;
		search->bound += plan->lower_bound;
		if (plan->status == NPUMEM_PLAN_STATUS_INFEASIBLE)
			err = fail_core(search, c, plan);
	}
	search->shares = SHARES;
	return err;
}

/* ------------------------------------------------------------------ the whole */

static int search_all(struct cores_search *search, struct cosma_cores_plan *found)
{
	struct answers given = { 0 };
	int err;

	for (uint32_t s = 0; s < search->cores->units->graph->op_count; s++)
		search->rank[s] = search->order[s] = s;
	err = find_bounds(search);
	if (err)
		return err;
	err = try_order(search, search->rank, &given);
	if (!err && search->asked->common.schedule == NPUPLAN_SCHEDULE_FREE)
		err = improve(search, &given);
	if (err) {
		answers_fini(&given);
		return err;
	}
	keep(search, &given);
	for (uint32_t i = 0; i <= search->cores->count + RANDOM_ORDERS && !err; i++)
		if (search->asked->common.schedule == NPUPLAN_SCHEDULE_FREE && !is_over(search))
			err = try_way(search, i);
	if (!err && search->best.traffic == UINT64_MAX)
		return npuplan_fail(search->cores->error, -ETIMEDOUT,
				    "unknown: no order of the steps was found in which the tensors "
				    "of each core have addresses in its range");
	return err ? err :
		     cosma_cores_order(search->cores, search->best.chain, search->rank,
				       found->order);
}

int cosma_cores_search(struct cosma_cores *cores, const struct cosma_settings *asked,
		       struct npuplan_effort *effort, struct cosma_cores_plan *found)
{
	uint32_t n = cores->units->graph->op_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct cores_search search = {
		.cores = cores,
		.asked = asked,
		.effort = effort,
		.limit = asked->common.work_limit ? asked->common.work_limit : CORES_WORK,
		.rank = npuplan_pool_take(&pool, n, sizeof(uint32_t)),
		.order = npuplan_pool_take(&pool, n, sizeof(uint32_t)),
		.best = { .traffic = UINT64_MAX },
	};
	int err;

	memset(found, 0, sizeof(*found));
	found->order = npuplan_malloc(((size_t)n + 1) * sizeof(*found->order));
	err = pool.failed || !found->order ? -ENOMEM : search_all(&search, found);
	if (!err) {
		memcpy(found->plan, search.best.plan, sizeof(found->plan));
		memset(search.best.plan, 0, sizeof(search.best.plan));
		found->traffic = search.best.traffic;
		found->work = search.work;
		found->memory_ended = search.memory_ended;
	}
	answers_fini(&search.best);
	answers_fini(&search.alone);
	if (err)
		cosma_cores_plan_fini(found);
	return err == -ENOMEM ? npuplan_fail(cores->error, err, "out of memory") : err;
}

void cosma_cores_plan_fini(struct cosma_cores_plan *found)
{
	npuplan_free(found->order);
	for (uint32_t c = 0; c < NPUPLAN_CORES; c++)
		npuplan_cosma_plan_free(&found->plan[c]);
	memset(found, 0, sizeof(*found));
}
