// SPDX-License-Identifier: MIT
/*
 * Planners that move tensors to host memory and back: npuplan_plan() by means of npuplan_cosma().
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "graph/checked.h"
#include "planner.h"
#include "planners/cosma/banks/banks.h"
#include "cosma.h"
#include "planners/cosma/cores/cores.h"
#include "planners/cosma/ilp/ilp.h"
#include "planners/cosma/model/breaks.h"
#include "planners/cosma/recompute/recompute.h"
#include "planners/cosma/place/transfers.h"
#include "planners/cosma/time/prefetch.h"
#include "tiled.h"

/* A budget that is more than any graph needs, and the largest that npuplan_cosma() takes. */
#define ANY_BUDGET (INT64_MAX / 4)

/*
 * struct planner_call - one call
 * @taken: what @options points to where the caller's options may be of another size
 * @banks: NPUPLAN_BANKS of them that are asked for; NULL: one
 * @room: what states leave of these
 * @touched: bytes of states that are accessed, per bank
 * @asked: settings of the search
 * @found: plan of the units
 * @order: of all steps, if a schedule is asked for that is not the graph's own
 * @order_work: work units of tile scheduling, which the plan's come on top of
 * @banked: plan in two banks, which @found has taken over
 * @effort: of the call
 * @own_effort: what @effort points to if the call did not begin with npuplan_plan()
 * @cores: that were asked for; none if its count is 0
 * @core_results: of them
 * @breaks: break nodes that were asked for
 * @split: they leave out orders of the steps, of which nothing is proved
 * @loose: there may be plans of a kind that is not searched, so that nothing is proved
 * @times: per step, if the least time is asked for
 * @makespan: of @found, likewise
 */
struct planner_call {
	const struct npuplan_graph *graph;
	const struct npuplan_options *options;
	struct npuplan_taken_options taken;
	const struct npuplan_bank *banks;
	struct npuplan_bank room[NPUPLAN_BANKS];
	uint64_t touched[NPUPLAN_BANKS];
	int planner;
	struct npuplan_error *error;
	struct cosma_units units;
	struct cosma_settings asked;
	struct npuplan_cosma_plan found;
	struct npuplan_banked banked;
	uint32_t *order;
	uint64_t order_work;
	struct npuplan_effort *effort;
	struct npuplan_effort own_effort;
	struct cosma_cores cores;
	struct npuplan_core_result core_results[NPUPLAN_CORES];
	struct cosma_breaks breaks;
	bool split;
	bool loose;
	uint64_t *times;
	uint64_t makespan;
};

/* Returns the bytes of the arena that are not the search's, beside which its budget is. */
static uint64_t taken_by_states(const struct planner_call *call)
{
	return call->units.state_end + cosma_kept_bytes(&call->asked);
}

static const struct npuplan_bank *banks_of(const struct npuplan_options *options)
{
	return options->cosma ? options->cosma->banks : NULL;
}

/* Fills in those settings that follow from the units, whatever is asked for. */
static void ask_of_units(struct planner_call *call)
{
	const struct cosma_units *units = &call->units;
	const struct npuplan_options *options = call->options;
	bool staged = false;

	call->asked = (struct cosma_settings){
		.common = *options,
		.with_parameters = units->with_parameters,
		.inputs_flagged = units->resident,
		.takeovers = units->takeovers,
		.takeover_count = units->takeover_count,
		.staged = units->staged,
		/* Otherwise all that is planned is moved up behind the states. */
		.kept = units->state,
		.kept_count = units->state_end || call->banks ? 0 : units->state_count,
		.started = call->effort->started,
		/* Stays that share bytes are not divided between banks. */
		.out_of_place = call->banks,
	};
	call->asked.common.arena_budget = 0;
	call->asked.common.objective = NPUPLAN_OBJECTIVE_OWN;
	call->asked.common.schedule = NPUPLAN_SCHEDULE_FREE;
	for (uint32_t s = 0; s < call->graph->step_count; s++)
		staged |= units->staged[s];
	call->loose = units->mixed || units->unaligned || units->state_apart ||
		      (call->banks && (units->takeover_count || staged || units->state_count)) ||
		      (call->planner == NPUPLAN_COSMA_BY_ILP && staged);
	/* Integer programs do not know halves of steps either. */
	if (call->banks || call->planner == NPUPLAN_COSMA_BY_ILP)
		call->asked.staged = NULL;
}

/* Names what is not searched, so that nothing is proved. */
static const char *loose_text(const struct planner_call *call)
{
	const struct cosma_units *units = &call->units;

	if (call->split && !call->loose)
		return "is split at the break nodes";
	if (call->banks && units->state_count)
		return "has all state in one bank";
	if (units->state_apart && !units->state_end)
		return "has each state in the first gap between fixed offsets";
	if (units->state_apart)
		return "has all state before all else";
	if (units->unaligned)
		return "aligns each part of a tensor which steps use apart";
	return "gives each output bytes of its own where operators in place, or cut into tiles, "
	       "may share them in parts";
}

/* Says why there is no plan within @budget bytes; @needed bytes are needed by @op in any case. */
static int fail_infeasible(const struct planner_call *call, uint64_t budget, uint64_t needed,
			   uint32_t op)
{
	struct npuplan_error *error = call->error;
	char label[96], text[32], given[32];
	/* What a step needs it needs in any order. */
	bool known = !call->loose && (!call->split || needed > budget);
	int err;

	npuplan_format_bytes(needed, text);
	npuplan_format_bytes(budget, given);
	if (op != NPUMEM_NONE)
		npuplan_step_label(call->graph, op, label);
	if (call->loose && call->units.state_apart && needed > budget)
		return npuplan_fail(
			error, -ETIMEDOUT,
			"unknown: %s needs %llu bytes (%s) in a plan that %s, and others "
			"are not searched; the budget is %llu (%s)",
			op == NPUMEM_NONE ? "what is on chip from the start" : label,
			(unsigned long long)needed, text, loose_text(call),
			(unsigned long long)budget, given);
	if (!known)
		return npuplan_fail(error, -ETIMEDOUT,
				    "unknown: there is no plan within %llu bytes (%s) that %s; "
				    "others are not searched",
				    (unsigned long long)budget, given, loose_text(call));
	if (call->banks && needed <= budget)
		err = npuplan_fail(
			error, -ENOSPC,
			"infeasible: %s has a tensor of %llu bytes (%s), and no bank has "
			"room for it",
			label, (unsigned long long)needed, text);
	else if (needed <= budget)
		err = npuplan_fail(error, -ENOSPC,
				   "infeasible: no order of the steps has addresses within %llu "
				   "bytes (%s) for tensors in one piece; a single step needs at "
				   "most %llu",
				   (unsigned long long)budget, given, (unsigned long long)needed);
	else
		err = npuplan_fail(error, -ENOSPC,
				   "infeasible: %s needs %llu bytes (%s), the budget is %llu (%s)",
				   op == NPUMEM_NONE ? "what is on chip from the start" : label,
				   (unsigned long long)needed, text, (unsigned long long)budget,
				   given);
	if (error) {
		error->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		error->step = op;
		error->needed = needed;
	}
	return err;
}

/* The state alone, which is always on chip, is more than the budget. */
static int fail_for_state(const struct planner_call *call)
{
	uint64_t needed;
	uint32_t op;
	int err = npuplan_cosma_needed(call->units.graph, &call->asked, &needed, &op, call->error);

	return err ? err :
		     fail_infeasible(call, call->options->arena_budget,
				     call->units.state_end + needed, op);
}

/* Finds the order of least peak footprint, which the plan then keeps to. */
static int find_order(struct planner_call *call)
{
	struct cosma_settings asked = call->asked;
	struct npuplan_cosma_plan found;
	uint32_t count = 0;
	int err;

	asked.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	asked.common.schedule = NPUPLAN_SCHEDULE_FREE;
	/* The least peak is no traffic to tell of. */
	asked.common.progress = NULL;
	err = npuplan_cosma(call->units.graph, &asked, &found, call->error);
	if (err)
		return err;
	call->order = npuplan_malloc((call->graph->step_count + (size_t)1) * sizeof(uint32_t));
	for (uint32_t i = 0; i < found.position_count && call->order; i++)
		if (found.positions[i].kind == NPUMEM_POSITION_STEP)
			call->order[count++] = found.positions[i].index;
	npuplan_cosma_plan_free(&found);
	if (!call->order)
		return npuplan_fail(call->error, -ENOMEM, "out of memory");
	call->asked.order = call->order;
	call->asked.common.deadline_seconds = npuplan_effort_left(call->effort);
	return 0;
}

/* Finds tile scheduling's order, which the plan then keeps to. */
static int find_tiled(struct planner_call *call)
{
	call->order = npuplan_malloc((call->graph->step_count + (size_t)1) * sizeof(uint32_t));
	if (!call->order)
		return npuplan_fail(call->error, -ENOMEM, "out of memory");
	return cosma_ask_tiled(call->graph, call->options, call->effort, call->order, &call->asked,
			       &call->order_work, call->error);
}

/* Finds out what is left of the banks beside states. */
static int read_banks(struct planner_call *call)
{
	memcpy(call->room, call->banks, sizeof(call->room));
	/* Banks that make no sense are refused as they were given. */
	if (!call->units.state_count || !call->room[0].size || !call->room[1].size ||
	    call->room[0].size > ANY_BUDGET / 2 || call->room[1].size > ANY_BUDGET / 2)
		return 0;
	return cosma_banks_states(&call->units, call->graph, call->options->alignment, call->room,
				  call->touched, call->error);
}

static bool asks_for_time(const struct planner_call *call)
{
	return call->options->objective == NPUPLAN_OBJECTIVE_TIME;
}

/* What least time cannot be asked of is refused; then it is found out how long steps take. */
static int ask_for_time(struct planner_call *call)
{
	const struct npuplan_machine *machine =
		call->options->cosma ? call->options->cosma->machine : NULL;
	int err;

	if (call->planner != NPUPLAN_COSMA_BY_SEARCH)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "the least time is planned by planner cosma's search");
	if (call->banks)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "two banks are planned for the least traffic, not time");
	if (!machine)
		return npuplan_fail(call->error, -EINVAL,
				    "the least time of which machine? It is not said how fast "
				    "steps and transfers are");
	if (!call->options->arena_budget)
		return npuplan_fail(call->error, -EINVAL,
				    "the least time is planned within a budget: which?");
	err = cosma_machine_check(machine, call->error);
	if (err)
		return err;
	call->times = npuplan_calloc((size_t)call->graph->step_count + 1, sizeof(uint64_t));
	if (!call->times)
		return npuplan_fail(call->error, -ENOMEM, "out of memory");
	return cosma_step_times(call->graph, machine, call->times, call->error);
}

/* What break nodes do not go with is refused; then the orders are found that they leave. */
static int ask_for_breaks(struct planner_call *call)
{
	const struct npuplan_cosma_options *own = call->options->cosma;
	int err;

	if (!own || !own->break_count)
		return 0;
	if (call->planner != NPUPLAN_COSMA_BY_SEARCH)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "break nodes are of planner cosma's search");
	if (call->banks)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "two banks are planned without break nodes");
	if (call->options->schedule != NPUPLAN_SCHEDULE_FREE)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "break nodes divide an order that the planner chooses, not "
				    "one that is given");
	err = cosma_breaks_init(&call->breaks, call->graph, &call->units, own->breaks,
				own->break_count, call->error);
	if (err)
		return err;
	call->split = call->breaks.pair_count;
	call->asked.pairs = call->breaks.pairs;
	call->asked.pair_count = call->breaks.pair_count;
	call->asked.order = call->breaks.order;
	return 0;
}

/* What several cores do not go with is refused; then the graph is divided among them. */
static int ask_for_cores(struct planner_call *call)
{
	const struct npuplan_options *options = call->options;
	const struct npuplan_cosma_options *own = options->cosma;
	const char *why = NULL;

	if (!own || !own->core_count)
		return 0;
	if (call->planner != NPUPLAN_COSMA_BY_SEARCH)
		why = "several cores are of planner cosma's search";
	else if (call->banks || own->break_count)
		why = "several cores are planned without banks and break nodes";
	else if (options->objective == NPUPLAN_OBJECTIVE_PEAK || asks_for_time(call))
		why = "several cores are planned for the least traffic";
	else if (options->schedule > NPUPLAN_SCHEDULE_GIVEN)
		why = "several cores are planned in a free order, or the graph's";
	else if (call->units.updates)
		why = "several cores are planned for graphs without updates in place but of state";
	else if (call->loose)
		why = "several cores: an operator works in place on bytes that cosma does not know "
		      "as one tensor's";
	if (why)
		return npuplan_fail(call->error, -EOPNOTSUPP, "%s", why);
	if (options->arena_budget)
		return npuplan_fail(call->error, -EINVAL,
				    "several cores have budgets of their own: the arena has none");
	return cosma_cores_init(&call->cores, call->graph, &call->units, own, options->alignment,
				call->error);
}

static int ask(struct planner_call *call)
{
	const struct npuplan_options *options = call->options;
	bool peak = options->objective == NPUPLAN_OBJECTIVE_PEAK;
	int err;

	if (asks_for_time(call)) {
		err = ask_for_time(call);
		if (err)
			return err;
	}
	if (peak &&
	    (call->planner == NPUPLAN_COSMA_BY_BELADY || call->planner == NPUPLAN_COSMA_BY_GREEDY))
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "the baselines have no objective but the traffic");
	if (call->banks && (peak || call->planner != NPUPLAN_COSMA_BY_SEARCH))
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "two banks are planned for least traffic, by planner cosma");
	if (call->banks && call->units.fixed_end)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "two banks are planned for graphs without fixed offsets");
	if (call->units.updates && call->banks)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "two banks are planned for graphs without updates in place "
				    "but of state");
	if (call->units.updates && call->planner == NPUPLAN_COSMA_BY_ILP)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "integer programs are of graphs without updates in place "
				    "but of state");
	if (call->banks) {
		err = read_banks(call);
		if (err)
			return err;
	}
	ask_of_units(call);
	err = ask_for_breaks(call);
	err = err ? err : ask_for_cores(call);
	if (err)
		return err;
	if (options->arena_budget && options->arena_budget < taken_by_states(call))
		return fail_for_state(call);
	call->asked.common.arena_budget =
		options->arena_budget ? options->arena_budget - taken_by_states(call) : ANY_BUDGET;
	/* With any budget nothing need move: then the least arena is asked for. */
	if (peak || (!options->arena_budget && !call->banks && !call->cores.count))
		call->asked.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	call->asked.common.schedule = options->schedule;
	if (options->schedule == NPUPLAN_SCHEDULE_TILED)
		return find_tiled(call);
	return options->schedule == NPUPLAN_SCHEDULE_LEAST_PEAK ? find_order(call) : 0;
}

static int run_banks(struct planner_call *call)
{
	const struct npuplan_bank *banks = call->room;
	struct npuplan_banked *banked = &call->banked;
	int err = npuplan_cosma_banks(call->units.graph, &call->asked, banks, banked, call->error);

	if (err)
		return err;
	call->found = banked->plan;
	memset(&banked->plan, 0, sizeof(banked->plan));
	/* Where there is no plan, the sentence names the bytes of both banks. */
	call->asked.common.arena_budget = banks[0].size + banks[1].size;
	return 0;
}

static int run_cores(struct planner_call *call)
{
	struct cosma_cores *cores = &call->cores;
	struct cosma_cores_plan found;
	uint64_t bound = 0;
	int err = cosma_cores_search(cores, &call->asked, call->effort, &found);

	if (err)
		return err;
	err = cosma_cores_join(cores, &found, &call->found);
	for (uint32_t c = 0; c < cores->count; c++) {
		struct npuplan_core_result *result = &call->core_results[c];

		*result = (struct npuplan_core_result){
			.core = *cores->core[c].asked,
			.needed = cores->core[c].needed,
			.spill = found.plan[c].spill,
			.fill = found.plan[c].fill,
			.bound = cores->core[c].bound,
		};
		bound += cores->core[c].bound;
	}
	call->found.lower_bound = call->found.relaxed_bound = bound;
	call->found.status = found.traffic <= bound ? NPUMEM_PLAN_STATUS_OPTIMAL :
						      NPUMEM_PLAN_STATUS_FEASIBLE;
	cosma_cores_plan_fini(&found);
	return err ? npuplan_fail(call->error, err, "cosma: %s", strerror(-err)) : 0;
}

/* Whether tile scheduling's order is tried beside any other: for the traffic, in a free order. */
static bool tries_turns(const struct planner_call *call)
{
	return call->options->schedule == NPUPLAN_SCHEDULE_FREE && !call->breaks.order &&
	       call->asked.common.objective != NPUPLAN_OBJECTIVE_PEAK;
}

static int run_search(struct planner_call *call)
{
	const struct npuplan_graph *graph = call->units.graph;
	int err;

	if (tries_turns(call))
		return cosma_search_turns(call->graph, graph, call->options, call->effort,
					  &call->asked, &call->found, call->error);
	err = npuplan_cosma(graph, &call->asked, &call->found, call->error);
	/* Tensors with fixed offsets that are in each other's way can take turns. */
	if (err || call->found.status != NPUMEM_PLAN_STATUS_UNKNOWN ||
	    call->asked.common.objective != NPUPLAN_OBJECTIVE_PEAK ||
	    call->options->objective == NPUPLAN_OBJECTIVE_PEAK)
		return err;
	npuplan_cosma_plan_free(&call->found);
	call->asked.common.objective = NPUPLAN_OBJECTIVE_OWN;
	call->asked.common.deadline_seconds = npuplan_effort_left(call->effort);
	return npuplan_cosma(graph, &call->asked, &call->found, call->error);
}

/* @used: units of work before this plan's own */
static int prefetch(struct planner_call *call, uint64_t used, struct npuplan_cosma_plan *plan,
		    uint64_t *makespan)
{
	struct cosma_settings asked = call->asked;
	int err;

	asked.common.work_limit = npuplan_effort_work_left(asked.common.work_limit,
							   used + plan->work, COSMA_PREFETCH_WORK);
	err = cosma_prefetch(&call->units, &asked, call->options->cosma->machine, call->times,
			     call->effort, plan, makespan);
	return err ? npuplan_fail(call->error, err, "cosma: %s", strerror(-err)) : 0;
}

/* Makes a plan for @part eighths of the budget. Without one @makespan is UINT64_MAX. */
static int plan_smaller(struct planner_call *call, uint64_t part, struct npuplan_cosma_plan *plan,
			uint64_t *makespan)
{
	struct cosma_settings asked = call->asked;
	int err;

	*makespan = UINT64_MAX;
	asked.common.arena_budget = asked.common.arena_budget / 8 * part;
	asked.common.work_limit = npuplan_effort_work_left(asked.common.work_limit,
							   call->found.work, NPUPLAN_COSMA_WORK);
	asked.common.deadline_seconds = npuplan_effort_left(call->effort);
	asked.common.progress = NULL;
	err = npuplan_cosma(call->units.graph, &asked, plan, call->error);
	if (!err && plan->positions) {
		err = prefetch(call, call->found.work, plan, makespan);
		if (err)
			npuplan_cosma_plan_free(plan);
	}
	return err;
}

/*
 * Plans for less than the budget move more, but leave room for what comes early. The quickest one
 * is kept; what is proved is of the whole budget.
 */
static int try_smaller(struct planner_call *call)
{
	struct npuplan_cosma_plan *found = &call->found;
	uint64_t limit = call->asked.common.work_limit;

	for (uint64_t part = 7; part >= 4; part--) {
		struct npuplan_cosma_plan plan;
		uint64_t makespan;
		int err;

		if (npuplan_effort_ended(call->effort) || (limit && found->work >= limit))
			break;
		err = plan_smaller(call, part, &plan, &makespan);
		if (err)
			return err;
		plan.work += found->work;
		found->work = plan.work;
		if (makespan < call->makespan) {
			plan.lower_bound = found->lower_bound;
			plan.relaxed_bound = found->relaxed_bound;
			plan.memory_ended |= found->memory_ended;
			npuplan_cosma_plan_free(found);
			*found = plan;
			call->makespan = makespan;
		} else {
			npuplan_cosma_plan_free(&plan);
		}
	}
	return 0;
}

/* First comes the plan of least traffic, which no plan is worse than. */
static int run_time(struct planner_call *call)
{
	int err = npuplan_cosma(call->units.graph, &call->asked, &call->found, call->error);

	if (err || !call->found.positions)
		return err;
	err = prefetch(call, 0, &call->found, &call->makespan);
	return err ? err : try_smaller(call);
}

static int run(struct planner_call *call)
{
	const struct npuplan_graph *graph = call->units.graph;

	switch (call->planner) {
	case NPUPLAN_COSMA_BY_ILP:
		return npuplan_cosma_ilp(graph, &call->asked, NULL, &call->found, call->error);
	case NPUPLAN_COSMA_BY_BELADY:
	case NPUPLAN_COSMA_BY_GREEDY:
		return npuplan_cosma_baseline(graph, &call->asked,
					      call->planner == NPUPLAN_COSMA_BY_BELADY ?
						      NPUPLAN_COSMA_BELADY :
						      NPUPLAN_COSMA_GREEDY,
					      &call->found, call->error);
	default:
		if (asks_for_time(call))
			return run_time(call);
		if (call->cores.count)
			return run_cores(call);
		return call->banks ? run_banks(call) : run_search(call);
	}
}

/* A plan without traffic is judged by its arena. */
static int judge_peak(const struct planner_call *call, struct npuplan_plan *plan)
{
	struct npumem_plan_info *info = &plan->info;
	uint64_t budget = call->options->arena_budget;

	info->lower_bound =
		call->loose || call->split ? 0 : call->units.state_bytes + call->found.lower_bound;
	if (!call->loose && info->lower_bound < call->units.fixed_end)
		info->lower_bound = call->units.fixed_end;
	if (info->arena_size > info->lower_bound)
		info->status = NPUMEM_PLAN_STATUS_FEASIBLE;
	if (!budget || info->arena_size <= budget)
		return 0;
	npuplan_fail(
		call->error, -ENOSPC,
		"without spilling %llu bytes are needed, the budget is %llu, the lower bound %llu",
		(unsigned long long)info->arena_size, (unsigned long long)budget,
		(unsigned long long)info->lower_bound);
	if (call->error && info->lower_bound > budget) {
		call->error->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		call->error->step = NPUMEM_NONE;
		call->error->needed = info->lower_bound;
	} else if (call->error) {
		call->error->needed = info->arena_size;
	}
	return -ENOSPC;
}

static void judge_traffic(const struct planner_call *call, struct npuplan_plan *plan)
{
	bool proved = !call->loose && !call->split;

	plan->cosma->traffic_bound = proved ? call->found.lower_bound : 0;
	if (call->split && !call->loose)
		plan->cosma->split_bound = call->found.lower_bound;
	if (proved)
		return;
	if (call->loose)
		plan->info.lower_bound = 0;
	if (plan->info.spill_bytes + plan->info.fill_bytes)
		plan->info.status = NPUMEM_PLAN_STATUS_FEASIBLE;
}

/* A plan is optimal if it takes no longer than what is proved. */
static int judge_time(const struct planner_call *call, const struct npuv_graph *cells,
		      struct npuplan_plan *plan)
{
	uint64_t bound;
	int err = cosma_time_bound(call->graph, cells, plan, call->options->cosma->machine,
				   call->times, plan->cosma->traffic_bound, &bound);

	if (err)
		return npuplan_fail(call->error, err, "cosma: %s", strerror(-err));
	plan->info.status = call->makespan <= bound ? NPUMEM_PLAN_STATUS_OPTIMAL :
						      NPUMEM_PLAN_STATUS_FEASIBLE;
	return 0;
}

static int make_plan(struct planner_call *call, const struct npuv_graph *cells,
		     struct npuplan_plan **out)
{
	uint32_t alignment = call->options->alignment;
	uint64_t state = call->units.state_end;
	uint64_t budget = call->asked.common.arena_budget + taken_by_states(call);
	struct npuplan_plan *plan;
	int err;

	if (call->found.status == NPUMEM_PLAN_STATUS_UNKNOWN &&
	    call->asked.common.objective == NPUPLAN_OBJECTIVE_PEAK)
		return npuplan_fail(call->error, -ETIMEDOUT,
				    "unknown: no order of the steps was found in which no tensors "
				    "with fixed offsets are in each other's way; for the least "
				    "traffic they take turns");
	if (call->found.status == NPUMEM_PLAN_STATUS_UNKNOWN)
		return npuplan_fail(call->error, -ETIMEDOUT,
				    "unknown: no plan within %llu bytes was found before the "
				    "limits of work, memory or time",
				    (unsigned long long)budget);
	if (call->found.status == NPUMEM_PLAN_STATUS_INFEASIBLE)
		return fail_infeasible(call, budget, call->found.needed + state,
				       call->found.needed_op);
	err = cosma_transfers(&call->units, &call->found, &plan, call->error);
	if (err)
		return err;
	plan->cosma = calloc(1, sizeof(*plan->cosma));
	if (!plan->cosma) {
		npuplan_plan_free(plan);
		return npuplan_fail(call->error, -ENOMEM, "out of memory");
	}
	plan->info.alignment = alignment ? alignment : 1;
	plan->info.work += call->order_work;
	plan->memory_ended = call->found.memory_ended;
	if (call->asked.common.objective == NPUPLAN_OBJECTIVE_PEAK)
		err = judge_peak(call, plan);
	else
		judge_traffic(call, plan);
	if (!err && asks_for_time(call))
		err = judge_time(call, cells, plan);
	for (int b = 0; b < NPUPLAN_BANKS && call->banks; b++) {
		plan->cosma->banks[b] = call->banks[b];
		plan->cosma->accessed[b] = call->banked.accessed[b] + call->touched[b];
	}
	memcpy(plan->cosma->cores, call->core_results, sizeof(call->core_results));
	plan->cosma->core_count = call->cores.count;
	plan->cosma->link_bytes = call->cores.link_bytes;
	plan->cosma->accessed_bound =
		call->banked.accessed_bound + call->touched[0] + call->touched[1];
	if (err)
		npuplan_plan_free(plan);
	else
		*out = plan;
	return err;
}

static void call_fini(struct planner_call *call)
{
	npuplan_cosma_plan_free(&call->found);
	cosma_units_fini(&call->units);
	npuplan_free(call->order);
	npuplan_free(call->times);
	cosma_breaks_fini(&call->breaks);
	cosma_cores_fini(&call->cores);
}

int npuplan_plan_cosma(const struct npuplan_problem *problem, const struct npuv_graph *cells,
		       int argument, struct npuplan_plan **out, struct npuplan_error *error)
{
	struct planner_call call = {
		.graph = problem->graph,
		.options = problem->options,
		.banks = banks_of(problem->options),
		.planner = argument,
		.error = error,
		.effort = problem->effort,
	};
	int err = cosma_units_init(&call.units, problem->graph, cells, NULL,
				   problem->options->alignment, error);

	if (err)
		return err;
	err = ask(&call);
	if (!err)
		err = run(&call);
	if (!err)
		err = make_plan(&call, cells, out);
	call_fini(&call);
	return err;
}

/* Takes options as they were given, and finds the units of a graph that nobody has checked. */
static int call_read(struct planner_call *call, const struct npuplan_options *given,
		     size_t given_size)
{
	struct npuplan_checked checked;
	int err = npuplan_take_options(&call->taken, given, given_size, call->error);

	call->options = &call->taken.all;
	call->banks = banks_of(call->options);
	call->own_effort =
		npuplan_effort_begin(UINT64_MAX, call->options->deadline_seconds, NULL, NULL);
	call->effort = &call->own_effort;
	if (!err)
		err = npuplan_check_taken("cosma", NPUPLAN_PLANNER_COSMA | NPUPLAN_PLANNER_MOVES,
					  call->options, call->error);
	if (!err)
		err = npuplan_checked_init(&checked, call->graph, call->error);
	if (err)
		return err;
	err = cosma_units_init(&call->units, call->graph, checked.cells, NULL,
			       call->options->alignment, call->error);
	npuplan_checked_fini(&checked);
	if (!err)
		ask_of_units(call);
	return err;
}

int npuplan_budgets_find_sized(const struct npuplan_graph *graph,
			       const struct npuplan_options *given, size_t given_size,
			       struct npuplan_budgets *budgets, struct npuplan_error *error)
{
	struct planner_call call = { .graph = graph, .error = error };
	struct npuplan_budgets found;
	int err = call_read(&call, given, given_size);

	if (err)
		return err;
	err = npuplan_cosma_budgets(call.units.graph, &call.asked, &found, error);
	found.needed += call.units.state_end;
	found.middle += call.units.state_end;
	found.peak += call.units.state_end;
	call_fini(&call);
	if (err)
		return err;
	found.proved = found.proved && !call.loose;
	*budgets = found;
	return 0;
}

int npuplan_needed_find_sized(const struct npuplan_graph *graph,
			      const struct npuplan_options *given, size_t given_size,
			      uint64_t *needed, uint32_t *step, struct npuplan_error *error)
{
	struct planner_call call = { .graph = graph, .error = error };
	int err = call_read(&call, given, given_size);

	if (err)
		return err;
	err = npuplan_cosma_needed(call.units.graph, &call.asked, needed, step, error);
	if (!err)
		*needed += call.units.state_end;
	call_fini(&call);
	return err;
}

int npuplan_lp_write_sized(const struct npuplan_graph *graph, const struct npuplan_options *given,
			   size_t given_size, char **text, size_t *size,
			   struct npuplan_error *error)
{
	struct planner_call call = {
		.graph = graph,
		.planner = NPUPLAN_COSMA_BY_ILP,
		.error = error,
	};
	int err = call_read(&call, given, given_size);

	if (err)
		return err;
	err = ask(&call);
	call.asked.common.progress = NULL;
	if (!err)
		err = npuplan_cosma_ilp_write(call.units.graph, &call.asked, NULL, text, size,
					      error);
	call_fini(&call);
	return err;
}
