// SPDX-License-Identifier: MIT
/*
 * npuplan_cosma() on random small graphs, against an exhaustive search: same least
 * traffic, with and without addresses, any order or a fixed one, with fixed offsets, updates
 * in place and bytes that are kept or without; same least peak;
 * every plan can be executed; the baselines are never better; a fixed order is
 * never better than a free one; same input, same output. So do the planners of these
 * names through npuplan_plan(), and these plans pass the kernel's verifier.
 *
 * usage: prop_cosma [SEED [CASES]]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "cosma_case.h"
#include "cosma_exhaustive.h"
#include "cosma_plan.h"
#include "cosma_updates.h"
#include "planners/cosma/bound/chain.h"

/* What the cases were like. */
static struct {
	unsigned long compared, spilled, apart, infeasible, resident, flagged, parameters, aligned,
		too_large, planned, inplace, staged, yielded, fixed, fixed_moved, fixed_apart, kept,
		collided, chained, chained_all, updated, updated_moved, updated_planned;
} seen;

static struct npuplan_graph *random_graph(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("random");
	/* Chains and branches are longer: operators that may wait, blocks that may not. */
	bool align = !draw(0, 4), chains = !draw(0, 2);
	uint32_t ops = chains ? draw(5, 8) : draw(2, 6), first = draw(1, 2);
	uint32_t most = draw(1, 6), params = chains ? 0 : draw(0, 2);
	bool inplace = draw(0, 2);

	for (uint32_t t = 0; t < first; t++)
		draw_tensor(graph, NPUMEM_TENSOR_INPUT, most, align);
	for (uint32_t t = 0; t < params; t++)
		draw_tensor(graph, NPUMEM_TENSOR_PARAMETER, most, align);
	for (uint32_t v = 0; v < ops; v++) {
		uint32_t inputs[3], outputs[2], made = graph->tensor_count;
		struct npuplan_op op = {
			.inputs = inputs,
			.outputs = outputs,
			.input_count = chains && draw(0, 2) ? 1 : draw(1, 3),
			.output_count = draw(0, chains ? 11 : 5) ? 1 : 2,
			.id = v,
		};

		/* Mostly from what was made lately. */
		for (uint32_t k = 0; k < op.input_count; k++)
			inputs[k] = draw(0, 2) ? draw(made > 4 ? made - 4 : 0, made - 1) :
						 draw(0, made - 1);
		for (uint32_t k = 0; k < op.output_count; k++)
			outputs[k] = draw_tensor(graph,
						 v + 1 == ops || !draw(0, 7) ?
							 NPUMEM_TENSOR_OUTPUT :
							 NPUMEM_TENSOR_INTERMEDIATE,
						 most, align);
		op.attrs.inplace = inplace && draw(0, 2);
		/* Now and then one says so that cannot be. */
		if (op.attrs.inplace && draw(0, 7))
			graph->tensors[outputs[0]].size = graph->tensors[inputs[0]].size;
		npuplan_graph_add_op(graph, &op);
	}
	return graph;
}

/* Whether an operator reads or writes a tensor. */
static bool is_used(const struct npuplan_graph *graph, uint32_t t)
{
	bool used = false;

	for (uint32_t v = 0; v < graph->op_count; v++) {
		const struct npuplan_op *op = &graph->ops[v];

		for (uint32_t k = 0; k < op->input_count; k++)
			used |= op->inputs[k] == t;
		for (uint32_t k = 0; k < op->output_count; k++)
			used |= op->outputs[k] == t;
	}
	return used;
}

/* Fixes some offsets; at @most, all are even, so that alignments are kept. */
static void draw_fixed(struct npuplan_graph *graph, uint32_t most)
{
	uint32_t rare = draw(1, 4);

	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (!draw(0, rare) && is_used(graph, t)) {
			graph->tensors[t].flags |= NPUMEM_TENSOR_FLAG_FIXED;
			graph->tensors[t].fixed_offset = 2 * draw(0, most / 2);
		}
}

static bool is_fixed(const struct npuplan_graph *graph)
{
	bool any = false;

	for (uint32_t t = 0; t < graph->tensor_count; t++)
		any |= graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_FIXED;
	return any;
}

/* Keeps one or two ranges, which do not overlap; offsets are even, so that alignments are kept. */
static uint32_t draw_kept(struct cosma_state kept[2])
{
	uint32_t count = draw(1, 2);

	kept[0] = (struct cosma_state){ .offset = 2 * draw(0, 2), .size = draw(1, 3) };
	kept[1] = (struct cosma_state){ .offset = kept[0].offset + 4 + 2 * draw(0, 1),
					.size = draw(1, 3) };
	seen.kept++;
	return count;
}

/* Whether a tensor with a fixed offset comes back. */
static bool moves_fixed(const struct npuplan_graph *graph, const struct npuplan_cosma_plan *plan)
{
	bool moves = false;

	for (uint32_t p = 0; p < plan->position_count; p++)
		moves |= plan->positions[p].kind == NPUMEM_POSITION_FILL &&
			 graph->tensors[plan->positions[p].index].flags & NPUMEM_TENSOR_FLAG_FIXED;
	return moves;
}

/* Whether a tensor that is updated, or was, comes back. */
static bool moves_updated(const struct cosma_settings *options,
			  const struct npuplan_cosma_plan *plan)
{
	bool moves = false;

	for (uint32_t i = 0; i < options->takeover_count; i++) {
		const struct npuplan_cosma_takeover *takeover = &options->takeovers[i];

		for (uint32_t p = 0; p < plan->position_count && takeover->bound; p++)
			moves |= plan->positions[p].kind == NPUMEM_POSITION_FILL &&
				 (plan->positions[p].index == takeover->input ||
				  plan->positions[p].index == takeover->output);
	}
	return moves;
}

static void check_plan(const struct npuplan_graph *graph, const struct cosma_settings *options,
		       const struct npuplan_cosma_plan *plan, const char *what)
{
	struct cosma_oracle oracle;

	if (plan->position_count && !cosma_oracle_run(&oracle, graph, options, plan))
		FAIL(graph, options, "%s: %s", what, oracle.why);
}

/*
 * The bound by chains, which large graphs only are asked for, is none above the least traffic,
 * wherever it has to end.
 */
static void check_chains(const struct npuplan_graph *graph, const struct cosma_settings *options,
			 uint64_t least)
{
	struct cosma_model model;
	struct npuplan_error error;
	struct cosma_call call = { .effort = { .work_limit = UINT64_MAX } };
	int64_t bound, early, budget = (int64_t)options->common.arena_budget;

	if (cosma_model_init(&model, graph, options, &error) || cosma_model_relate(&model) ||
	    cosma_chain_bound(&model, budget, &call, &bound))
		FAIL(graph, options, "no bound by chains");
	for (uint64_t limit = call.work; limit--;) {
		call = (struct cosma_call){ .effort = { .work_limit = limit } };
		if (cosma_chain_bound(&model, budget, &call, &early))
			FAIL(graph, options, "no bound by chains within %" PRIu64, limit);
		if (early < 0 || early > bound)
			FAIL(graph, options,
			     "bound by chains %" PRId64 " within %" PRIu64 " units, but %" PRId64
			     " in all",
			     early, limit, bound);
	}
	if (bound < 0 || (uint64_t)bound > least)
		FAIL(graph, options, "bound by chains %" PRId64 ", but the least is %" PRIu64,
		     bound, least);
	seen.chained += bound > 0;
	seen.chained_all += bound > 0 && (uint64_t)bound == least;
	cosma_model_fini(&model);
}

static uint64_t check_traffic(const struct npuplan_graph *graph,
			      const struct cosma_settings *options)
{
	struct npuplan_cosma_plan plan, again;
	struct npuplan_error error;
	uint64_t least, cost;

	if (npuplan_cosma(graph, options, &plan, &error))
		FAIL(graph, options, "%s", error.text);
	check_plan(graph, options, &plan, "plan");
	if (plan.status == NPUMEM_PLAN_STATUS_INFEASIBLE) {
		if (plan.position_count)
			FAIL(graph, options, "infeasible, with a plan");
		least = exhaustive_traffic(graph, options, true);
		if (least < EXHAUSTIVE_TOO_LARGE)
			FAIL(graph, options, "infeasible, but there is a plan");
		seen.too_large += least == EXHAUSTIVE_TOO_LARGE;
		seen.infeasible++;
		npuplan_cosma_plan_free(&plan);
		return EXHAUSTIVE_NONE;
	}
	cost = plan.spill + plan.fill;
	seen.fixed_moved += moves_fixed(graph, &plan);
	seen.updated_moved += moves_updated(options, &plan);
	for (uint32_t p = 0; p + 1 < plan.position_count; p++)
		seen.yielded += plan.positions[p].kind == NPUMEM_POSITION_STORE &&
				graph->tensors[plan.positions[p].index].kind !=
					NPUMEM_TENSOR_OUTPUT;
	least = exhaustive_traffic(graph, options, false);
	if (least == EXHAUSTIVE_TOO_LARGE) {
		seen.too_large++;
		npuplan_cosma_plan_free(&plan);
		return cost;
	}
	if (plan.relaxed_bound != least && plan.relaxed_bound + cost)
		FAIL(graph, options, "without addresses %" PRIu64 ", but the least is %" PRIu64,
		     plan.relaxed_bound, least);
	if (plan.status != NPUMEM_PLAN_STATUS_OPTIMAL || cost != least) {
		seen.apart++;
		seen.fixed_apart += is_fixed(graph);
		least = exhaustive_traffic(graph, options, true);
		if (least == EXHAUSTIVE_TOO_LARGE)
			seen.too_large++;
		else if (least == EXHAUSTIVE_NONE ?
				 plan.status != NPUMEM_PLAN_STATUS_INFEASIBLE :
				 plan.status != NPUMEM_PLAN_STATUS_OPTIMAL || cost != least)
			FAIL(graph, options,
			     "status %u cost %" PRIu64 ", but the least is %" PRIu64, plan.status,
			     cost, least);
	}
	check_chains(graph, options, plan.relaxed_bound);
	seen.compared += least != EXHAUSTIVE_TOO_LARGE;
	seen.spilled += cost > 0;
	if (npuplan_cosma(graph, options, &again, &error) ||
	    again.position_count != plan.position_count || again.work != plan.work ||
	    again.placement_count != plan.placement_count ||
	    (plan.position_count && (memcmp(again.positions, plan.positions,
					    plan.position_count * sizeof(*plan.positions)) ||
				     memcmp(again.placements, plan.placements,
					    plan.placement_count * sizeof(*plan.placements)))))
		FAIL(graph, options, "not the same plan again");
	npuplan_cosma_plan_free(&again);
	npuplan_cosma_plan_free(&plan);
	return cost;
}

static void check_baselines(const struct npuplan_graph *graph, const struct cosma_settings *options,
			    uint64_t least)
{
	for (int policy = NPUPLAN_COSMA_BELADY; policy <= NPUPLAN_COSMA_GREEDY; policy++) {
		struct npuplan_cosma_plan plan;
		struct npuplan_error error;

		if (npuplan_cosma_baseline(graph, options, policy, &plan, &error))
			FAIL(graph, options, "baseline %d: %s", policy, error.text);
		check_plan(graph, options, &plan, "baseline");
		if (plan.position_count && plan.spill + plan.fill < least)
			FAIL(graph, options, "baseline %d: %" PRIu64 " is less than %" PRIu64,
			     policy, plan.spill + plan.fill, least);
		npuplan_cosma_plan_free(&plan);
	}
}

/* The same through npuplan_plan(), of the same graph tiled: returns its traffic. */
static uint64_t check_planner(const struct npuplan_graph *graph, const struct cosma_settings *asked,
			      const char *planner)
{
	struct npuplan_options options = asked->common;
	/* The oracle knows no state, and no tensor of several versions. */
	bool known = !asked->kept_count && !asked->takeovers;
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error;
	struct cosma_oracle oracle;
	uint64_t traffic;
	int err;

	options.planner = planner;
	options.arena_budget += cosma_kept_bytes(asked);
	err = npuplan_plan(graph, &options, &plan, &error);
	if (err == -ENOSPC && (error.status == NPUMEM_PLAN_STATUS_INFEASIBLE ||
			       strstr(error.text, "are beyond the budget of")))
		return EXHAUSTIVE_NONE;
	/* Baselines may find no way where there is one. */
	if (err == -ETIMEDOUT && strcmp(planner, "cosma"))
		return EXHAUSTIVE_NONE;
	if (err)
		FAIL(graph, asked, "planner %s: %s", planner, error.text);
	if (known && !cosma_plan_run(&oracle, graph, asked, plan))
		FAIL(graph, asked, "planner %s: %s", planner, oracle.why);
	if (npuplan_verify_plan(graph, plan, NULL, &error))
		FAIL(graph, asked, "planner %s: %s", planner, error.text);
	traffic = plan->info.spill_bytes + plan->info.fill_bytes;
	npuplan_plan_free(plan);
	return traffic;
}

static void check_planners(struct npuplan_graph *graph, struct cosma_settings options,
			   uint64_t free_order, uint64_t fixed)
{
	struct npuplan_error error;
	uint64_t traffic;

	/* Inputs on chip have no copy in host memory there: another problem. */
	if (options.inputs_resident && !options.inputs_flagged)
		return;
	/* A planner without a budget takes what it needs. */
	if (!options.common.arena_budget)
		return;
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if ((graph->tensors[t].kind == NPUMEM_TENSOR_INPUT && !options.inputs_flagged) ||
		    (graph->tensors[t].kind == NPUMEM_TENSOR_PARAMETER && options.with_parameters))
			graph->tensors[t].flags |= NPUMEM_TENSOR_FLAG_HOST;
	/* What is kept are states whose offsets are fixed. */
	for (uint32_t i = 0; i < options.kept_count; i++) {
		struct npuplan_tensor state = {
			.size = options.kept[i].size,
			.align = 1,
			.kind = NPUMEM_TENSOR_STATE,
			.flags = NPUMEM_TENSOR_FLAG_FIXED,
			.fixed_offset = options.kept[i].offset,
			.id = graph->tensor_count,
		};

		npuplan_graph_add_tensor(graph, &state);
	}
	if (npuplan_graph_tile_bands(graph, 1, options.with_parameters, &error))
		FAIL(graph, &options, "%s", error.text);
	for (uint32_t s = 0; s < graph->step_count; s++)
		if (options.staged && options.staged[graph->steps[s].op])
			graph->steps[s].flags |= NPUMEM_STEP_STAGED;
	traffic = check_planner(graph, &options, "cosma");
	if (traffic != free_order)
		FAIL(graph, &options, "%" PRIu64 " directly, %" PRIu64 " by the planner",
		     free_order, traffic);
	options.common.schedule = NPUPLAN_SCHEDULE_GIVEN;
	traffic = check_planner(graph, &options, "cosma");
	if (traffic != fixed)
		FAIL(graph, &options, "%" PRIu64 " directly, %" PRIu64 " by the planner", fixed,
		     traffic);
	if (check_planner(graph, &options, "cosma-belady") < fixed ||
	    check_planner(graph, &options, "cosma-greedy") < fixed)
		FAIL(graph, &options, "a baseline moves less than the best");
	seen.planned++;
}

static void check_peak(const struct npuplan_graph *graph, struct cosma_settings options)
{
	struct npuplan_cosma_plan plan;
	struct npuplan_error error;
	uint64_t least = exhaustive_peak(graph, &options);

	options.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	if (npuplan_cosma(graph, &options, &plan, &error))
		FAIL(graph, &options, "%s", error.text);
	check_plan(graph, &options, &plan, "peak");
	/* Those with fixed offsets may be in each other's way in the best order. */
	if ((is_fixed(graph) || options.kept_count) && plan.status != NPUMEM_PLAN_STATUS_OPTIMAL) {
		if (plan.lower_bound != least || (plan.position_count && plan.peak < least))
			FAIL(graph, &options, "peak %" PRIu64 ", bound %" PRIu64 ", least %" PRIu64,
			     plan.peak, plan.lower_bound, least);
		npuplan_cosma_plan_free(&plan);
		return;
	}
	if (plan.status != NPUMEM_PLAN_STATUS_OPTIMAL || plan.peak != least)
		FAIL(graph, &options, "status %u peak %" PRIu64 ", but the least is %" PRIu64,
		     plan.status, plan.peak, least);
	npuplan_cosma_plan_free(&plan);
}

static void check_case(void)
{
	AUTO_GRAPH struct npuplan_graph *graph = random_graph();
	struct cosma_settings options = { 0 };
	struct npuplan_budgets budgets;
	struct npuplan_error error;
	uint64_t free_order, fixed, peak;
	bool staged[EXHAUSTIVE_OPS] = { false };
	AUTO_GRAPH struct npuplan_graph *merged = NULL;
	struct npuplan_graph *planned = graph;
	struct cosma_updates updates = { 0 };
	struct cosma_state kept[2];
	int err;

	/* An initializer would not say in what order they are drawn. */
	options.with_parameters = draw(0, 1);
	options.inputs_resident = !draw(0, 3);
	options.inputs_flagged = !draw(0, 2);
	options.common.alignment = draw(0, 9) ? 0 : 2;
	cosma_updates_draw(&updates, graph, draw(0, 3));
	if (updates.count) {
		options.takeovers = updates.takeovers;
		options.takeover_count = updates.takeover_count;
		options.pairs = updates.pairs;
		options.pair_count = updates.pair_count;
		seen.updated++;
	}
	for (uint32_t v = 0; v < graph->op_count; v++)
		seen.inplace += graph->ops[v].attrs.inplace;
	if (!draw(0, 3)) {
		options.staged = staged;
		for (uint32_t v = 0; v < graph->op_count; v++) {
			staged[v] = draw(0, 1);
			seen.staged += staged[v];
		}
	}
	for (uint32_t t = 0; t < graph->tensor_count && options.inputs_flagged; t++)
		if (graph->tensors[t].kind == NPUMEM_TENSOR_INPUT && draw(0, 1))
			graph->tensors[t].flags |= NPUMEM_TENSOR_FLAG_HOST;
	if (!draw(0, 3))
		draw_fixed(graph, draw(0, 8));
	cosma_updates_fix(&updates, graph);
	if (!draw(0, 7)) {
		options.kept = kept;
		options.kept_count = draw_kept(kept);
	}
	seen.fixed += is_fixed(graph);
	err = npuplan_cosma_budgets(graph, &options, &budgets, &error);
	if (err == -EINVAL && !strncmp(error.text, "fixed offsets collide", 21)) {
		/* Of larger graphs there is too much to try in vain. */
		options.common.arena_budget = 12;
		if (graph->op_count < 5 &&
		    exhaustive_traffic(graph, &options, true) < EXHAUSTIVE_TOO_LARGE)
			FAIL(graph, &options, "%s, but there is a plan", error.text);
		seen.collided++;
		return;
	}
	if (err)
		FAIL(graph, &options, "%s", error.text);
	/* Where alignments or fixed offsets make an operator need more, M_P is that. */
	peak = exhaustive_peak(graph, &options) + cosma_kept_bytes(&options);
	if (budgets.proved == (is_fixed(graph) || options.kept_count) ||
	    budgets.peak != (peak > budgets.needed ? peak : budgets.needed))
		FAIL(graph, &options, "M_R %" PRIu64 " M_P %" PRIu64, budgets.needed, budgets.peak);
	options.common.arena_budget = draw(0, 9) ? draw(0, 2) ? budgets.needed : budgets.middle :
						   budgets.needed - 1;
	if (options.common.arena_budget < budgets.needed)
		options.common.arena_budget = budgets.needed - draw(0, 1);
	if (options.common.arena_budget < cosma_kept_bytes(&options))
		options.common.arena_budget = cosma_kept_bytes(&options);
	options.common.arena_budget -= cosma_kept_bytes(&options);
	seen.resident += options.inputs_resident;
	seen.flagged += options.inputs_flagged;
	seen.parameters += options.with_parameters;
	seen.aligned += options.common.alignment == 2;
	free_order = check_traffic(graph, &options);
	options.common.schedule = NPUPLAN_SCHEDULE_GIVEN;
	fixed = check_traffic(graph, &options);
	if (free_order > fixed)
		FAIL(graph, &options, "%" PRIu64 " fixed, %" PRIu64 " free", fixed, free_order);
	if (fixed != EXHAUSTIVE_NONE)
		check_baselines(graph, &options, fixed);
	check_peak(graph, options);
	options.common.schedule = NPUPLAN_SCHEDULE_FREE;
	check_peak(graph, options);
	if (updates.count)
		planned = merged = cosma_updates_merge(&updates, graph);
	seen.updated_planned += merged != NULL;
	if (planned)
		check_planners(planned, options, free_order, fixed);
}

int main(int argc, char **argv)
{
	property_begin(argc, argv, 20261121, 3000);
	for (unsigned long i = 0; i < property.cases; i++) {
		property_case(i);
		check_case();
	}
	printf("ok - %lu graphs, each in a free and a fixed order; %lu compared with "
	       "an exhaustive search, %lu spill, "
	       "%lu where addresses cost, %lu infeasible, %lu with parameters, %lu with resident "
	       "inputs, %lu with inputs as flagged, %lu aligned, %lu too large to try everything, "
	       "%lu verified, %lu operators in place, %lu staged, %lu tensors that left as their "
	       "bytes were taken, %lu with fixed offsets (%lu where these collide, %lu where they cost, "
	       "%lu plans that move such tensors), %lu with bytes that are kept, %lu with a bound by "
	       "chains, %lu of these the least; %lu with updates in place, %lu plans that move what is "
	       "updated, %lu of such graphs verified\n",
	       property.cases, seen.compared, seen.spilled, seen.apart, seen.infeasible,
	       seen.parameters, seen.resident, seen.flagged, seen.aligned, seen.too_large,
	       seen.planned, seen.inplace, seen.staged, seen.yielded, seen.fixed, seen.collided,
	       seen.fixed_apart, seen.fixed_moved, seen.kept, seen.chained, seen.chained_all,
	       seen.updated, seen.updated_moved, seen.updated_planned);
	if (property.cases < 1000)
		return 0;
	if (10 * seen.compared < 17 * property.cases || 20 * seen.too_large > property.cases ||
	    !seen.apart || !seen.spilled || 2 * seen.planned < property.cases || !seen.inplace ||
	    !seen.staged || !seen.yielded || !seen.collided || !seen.fixed_apart ||
	    !seen.fixed_moved || !seen.kept || 10 * seen.chained < seen.spilled || !seen.updated ||
	    !seen.updated_moved || !seen.updated_planned) {
		puts("not ok - too few cases were compared");
		return 1;
	}
	return 0;
}
