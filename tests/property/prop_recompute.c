// SPDX-License-Identifier: MIT
/*
 * npuplan_cosma_recompute() on random small graphs: every plan can be executed, never
 * costs more than without, nor less than the least of an exhaustive search in which
 * any operator may run any number of times; applying the clones to the graph gives
 * the graph that was planned; same input, same output.
 *
 * The search is greedy: how often it reaches the least is printed, and must be most
 * of the times.
 *
 * usage: prop_recompute [SEED [CASES]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "cosma_case.h"
#include "planners/cosma/recompute/recompute.h"

#define SLOTS	  (1u << 20)
#define MAX_COST  256
#define NONE	  UINT64_MAX
#define TOO_LARGE (UINT64_MAX - 1)

static struct npuplan_graph *random_graph(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("random");
	uint32_t ops = draw(4, 7), params = draw(0, 3) ? 0 : draw(1, 2), last;
	bool inplace = !draw(0, 2);

	last = draw_tensor(graph, NPUMEM_TENSOR_INPUT, 2, false);
	for (uint32_t t = 0; t < params; t++)
		draw_tensor(graph, NPUMEM_TENSOR_PARAMETER, 3, false);
	for (uint32_t v = 0; v < ops; v++) {
		uint32_t inputs[3], outputs[2], made = graph->tensor_count;
		struct npuplan_op op = {
			.inputs = inputs,
			.outputs = outputs,
			.input_count = draw(1, v > 1 || params ? 3 : 1),
			.output_count = draw(0, 9) ? 1 : 2,
			.id = v,
		};

		/* The one before, and shortcuts. */
		for (uint32_t k = 0; k < op.input_count; k++)
			inputs[k] = k ? draw(0, made - 1) : last;
		/* Now and then an output that somebody reads, too. */
		for (uint32_t k = 0; k < op.output_count; k++)
			outputs[k] = draw_tensor(graph,
						 v + 1 == ops || !draw(0, 9) ?
							 NPUMEM_TENSOR_OUTPUT :
							 NPUMEM_TENSOR_INTERMEDIATE,
						 6, false);
		op.attrs.inplace = inplace && draw(0, 1);
		if (op.attrs.inplace)
			graph->tensors[outputs[0]].size = graph->tensors[inputs[0]].size;
		last = outputs[0];
		npuplan_graph_add_op(graph, &op);
	}
	return graph;
}

/* ------------------------------------------------------- exhaustive search */

/* On chip, in host memory, what has run, which of those that begin in host memory were loaded. */
static uint64_t *seen;
static uint8_t *seen_cost;
static uint64_t *queue[MAX_COST];
static uint32_t queued[MAX_COST], room[MAX_COST], held;

static void push(uint64_t key, uint64_t cost)
{
	uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 44);

	if (cost >= MAX_COST || held > SLOTS / 2)
		return;
	for (; seen[slot] && seen[slot] != key + 1; slot = (slot + 1) % SLOTS)
		;
	if (seen[slot] && seen_cost[slot] <= cost)
		return;
	held += !seen[slot];
	seen[slot] = key + 1;
	seen_cost[slot] = (uint8_t)cost;
	if (queued[cost] == room[cost]) {
		room[cost] = room[cost] ? 2 * room[cost] : 256;
		queue[cost] = realloc(queue[cost], room[cost] * sizeof(*queue[cost]));
		if (!queue[cost])
			abort();
	}
	queue[cost][queued[cost]++] = key;
}

static bool is_stale(uint64_t key, uint64_t cost)
{
	uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 44);

	for (; seen[slot] != key + 1; slot = (slot + 1) % SLOTS)
		;
	return seen_cost[slot] < cost;
}

static uint64_t bytes_of(const struct npuplan_graph *graph, uint32_t set)
{
	uint64_t bytes = 0;

	for (uint32_t t = 0; t < graph->tensor_count; t++)
		bytes += set >> t & 1 ? graph->tensors[t].size : 0;
	return bytes;
}

/* Returns those of a kind. */
static uint32_t of_kind(const struct npuplan_graph *graph, uint32_t kind)
{
	uint32_t set = 0;

	for (uint32_t t = 0; t < graph->tensor_count; t++)
		set |= (uint32_t)(graph->tensors[t].kind == kind) << t;
	return set;
}

static uint32_t begins_in_host_memory(const struct npuplan_graph *graph)
{
	return of_kind(graph, NPUMEM_TENSOR_INPUT) | of_kind(graph, NPUMEM_TENSOR_PARAMETER);
}

static uint64_t key_of(uint32_t chip, uint32_t host, uint32_t done, uint32_t loaded)
{
	return (uint64_t)loaded << 48 | (uint64_t)done << 32 | (uint64_t)host << 16 | chip;
}

static void expand(const struct npuplan_graph *graph, uint64_t budget, uint64_t key, uint64_t cost)
{
	uint32_t chip = key & 0xffff, host = key >> 16 & 0xffff, done = key >> 32 & 0xffff;
	uint32_t loaded = (uint32_t)(key >> 48), first = begins_in_host_memory(graph) & ~loaded;
	uint32_t stored = of_kind(graph, NPUMEM_TENSOR_OUTPUT);
	uint64_t used = bytes_of(graph, chip);
	const struct cosma_settings by_attributes = { 0 };

	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		uint64_t size = graph->tensors[t].size;
		uint32_t bit = 1u << t;

		if (chip & bit) {
			push(key_of(chip & ~bit, host, done, loaded), cost);
			if (!(host & bit))
				push(key_of(chip & ~bit, host | bit, done, loaded), cost + size);
		} else if (host & bit && used + size <= budget) {
			push(key_of(chip | bit, host, done, loaded | (first & bit)),
			     cost + (first & bit ? 0 : size));
		}
	}
	for (uint32_t v = 0; v < graph->op_count; v++) {
		const struct npuplan_op *op = &graph->ops[v];
		uint32_t out = 0, in = 0, give = 1u << op->inputs[0];
		uint64_t size = graph->tensors[op->inputs[0]].size;

		for (uint32_t k = 0; k < op->input_count; k++)
			in |= 1u << op->inputs[k];
		for (uint32_t k = 0; k < op->output_count; k++)
			out |= 1u << op->outputs[k];
		if ((chip & in) != in || (chip & out) == out)
			continue;
		if (bytes_of(graph, chip | out) <= budget)
			push(key_of(chip | out, host | (out & stored), done | 1u << v, loaded),
			     cost);
		/* In place: the input leaves, spilled right before or not. */
		if (!cosma_may_take(graph, &by_attributes, v, op->inputs[0], op->outputs[0]) ||
		    bytes_of(graph, chip | out) - size > budget)
			continue;
		push(key_of((chip | out) & ~give, host | (out & stored), done | 1u << v, loaded),
		     cost);
		if (!(host & give))
			push(key_of((chip | out) & ~give, host | (out & stored) | give,
				    done | 1u << v, loaded),
			     cost + size);
	}
}

static uint64_t exhaustive(const struct npuplan_graph *graph, uint64_t budget)
{
	memset(seen, 0, SLOTS * sizeof(*seen));
	memset(queued, 0, sizeof(queued));
	held = 0;
	push(key_of(0, begins_in_host_memory(graph), 0, 0), 0);
	for (uint64_t cost = 0; cost < MAX_COST; cost++)
		for (uint32_t i = 0; i < queued[cost]; i++) {
			uint64_t key = queue[cost][i];

			if (held > SLOTS / 2)
				return TOO_LARGE;
			if (is_stale(key, cost))
				continue;
			if ((key >> 32 & 0xffff) == (1u << graph->op_count) - 1)
				return cost;
			expand(graph, budget, key, cost);
		}
	return NONE;
}

/* ------------------------------------------------------------------- cases */

static void check_clones(const struct npuplan_graph *graph, const struct cosma_settings *options,
			 const struct npuplan_recomputation *found)
{
	struct npuplan_graph *now = NULL, *next;
	void *blob[2];
	size_t size[2];
	struct npuplan_error error;

	for (uint32_t i = 0; i < found->answer.clone_count; i++) {
		if (npuplan_graph_clone_op(now ? now : graph, &found->answer.clones[i], &next,
					   &error))
			FAIL(graph, options, "clone %u: %s", i, error.text);
		npuplan_graph_free(now);
		now = next;
	}
	if (!now != !found->graph)
		FAIL(graph, options, "clones without a graph, or the other way round");
	if (!now)
		return;
	for (int i = 0; i < 2; i++) {
		struct npuplan_graph *g = i ? found->graph : now;

		if (npuplan_graph_tile_bands(g, 1, false, &error) ||
		    npuplan_graph_write(g, &blob[i], &size[i], &error))
			FAIL(graph, options, "%s", error.text);
	}
	if (size[0] != size[1] || memcmp(blob[0], blob[1], size[0]))
		FAIL(graph, options, "the clones do not give the graph that was planned");
	free(blob[0]);
	free(blob[1]);
	npuplan_graph_free(now);
}

static void check_again(const struct npuplan_graph *graph, const struct cosma_settings *options,
			uint32_t limit, const struct npuplan_recomputation *found)
{
	struct npuplan_recomputation again;
	struct npuplan_error error;

	if (npuplan_cosma_recompute(graph, options, limit, &again, &error))
		FAIL(graph, options, "%s", error.text);
	if (again.answer.clone_count != found->answer.clone_count ||
	    again.answer.work != found->answer.work ||
	    again.plan.position_count != found->plan.position_count ||
	    (found->plan.position_count &&
	     memcmp(again.plan.placements, found->plan.placements,
		    found->plan.placement_count * sizeof(*found->plan.placements))))
		FAIL(graph, options, "not the same the second time");
	npuplan_recomputation_free(&again);
}

/* The graph gets the clones, and has a plan that passes the verifier, which moves no more. */
static void check_plan(struct npuplan_graph *graph, const struct cosma_settings *options,
		       const struct npuplan_recomputation *found)
{
	struct npuplan_options asked = {
		.planner = "cosma",
		.arena_budget = options->common.arena_budget,
		.schedule = options->common.schedule,
	};
	const struct npuplan_tiling tiling = {
		.clones = found->answer.clones,
		.clone_count = found->answer.clone_count,
		.inputs = NPUPLAN_INPUTS_HOST,
		.with_parameters = options->with_parameters,
	};
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;

	if (npuplan_graph_tile(graph, &tiling, &error) ||
	    npuplan_plan(graph, &asked, &plan, &error))
		FAIL(graph, options, "%s", error.text);
	if (plan->info.spill_bytes + plan->info.fill_bytes > found->answer.traffic)
		FAIL(graph, options, "planned, %" PRIu64 " bytes move, not %" PRIu64,
		     (uint64_t)(plan->info.spill_bytes + plan->info.fill_bytes),
		     found->answer.traffic);
}

/* What the cases were like; of those whose order is free and whose clones have no limit. */
static struct {
	unsigned long planned, helps, helped, least, too_large, inplace, parameters, limited, given;
} seen_cases;

static void check_traffic(const struct npuplan_graph *graph, const struct cosma_settings *options,
			  uint32_t limit, const struct npuplan_recomputation *found)
{
	uint64_t best = exhaustive(graph, options->common.arena_budget);
	uint64_t cost = found->plan.spill + found->plan.fill;
	uint64_t without = found->answer.traffic_without;

	if (best == TOO_LARGE) {
		seen_cases.too_large++;
		return;
	}
	seen_cases.planned++;
	if (cost > without || cost != found->answer.traffic)
		FAIL(graph, options, "%" PRIu64 " bytes, %" PRIu64 " without", cost, without);
	if (cost < best)
		FAIL(graph, options, "%" PRIu64 " bytes, the least is %" PRIu64, cost, best);
	if (limit && found->answer.clone_count > limit)
		FAIL(graph, options, "%u clones, not %u", found->answer.clone_count, limit);
	if (limit || options->common.schedule != NPUPLAN_SCHEDULE_FREE) {
		seen_cases.limited += limit && found->answer.clone_count == limit;
		seen_cases.given += !limit && cost < without;
		return;
	}
	seen_cases.helps += best < without;
	seen_cases.helped += cost < without;
	seen_cases.least += best < without && cost == best;
	seen_cases.parameters += cost < without && options->with_parameters;
	for (uint32_t v = 0; v < graph->op_count; v++)
		if (cost < without && graph->ops[v].attrs.inplace) {
			seen_cases.inplace++;
			break;
		}
}

int main(int argc, char **argv)
{
	property_begin(argc, argv, 20241, 1500);
	seen = malloc(SLOTS * sizeof(*seen));
	seen_cost = malloc(SLOTS);
	if (!seen || !seen_cost)
		abort();
	for (unsigned long i = 0; i < property.cases; i++) {
		struct cosma_settings options = { 0 };
		struct npuplan_recomputation found;
		struct npuplan_budgets budgets;
		struct cosma_oracle oracle;
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		struct npuplan_error error;
		uint32_t limit;

		property_case(i);
		graph = random_graph();
		options.with_parameters = of_kind(graph, NPUMEM_TENSOR_PARAMETER);
		limit = draw(0, 5) ? 0 : draw(1, 2);
		if (!draw(0, 7))
			options.common.schedule = NPUPLAN_SCHEDULE_GIVEN;
		if (npuplan_cosma_budgets(graph, &options, &budgets, &error))
			FAIL(graph, &options, "%s", error.text);
		options.common.arena_budget = budgets.needed + draw(0, 2);
		if (npuplan_cosma_recompute(graph, &options, limit, &found, &error))
			FAIL(graph, &options, "%s", error.text);
		if (found.plan.position_count &&
		    !cosma_oracle_run(&oracle, found.graph ? found.graph : graph, &options,
				      &found.plan))
			FAIL(graph, &options, "%s", oracle.why);
		check_clones(graph, &options, &found);
		check_again(graph, &options, limit, &found);
		if (found.plan.position_count) {
			check_traffic(graph, &options, limit, &found);
			check_plan(graph, &options, &found);
		}
		npuplan_recomputation_free(&found);
	}
	for (uint32_t i = 0; i < MAX_COST; i++)
		free(queue[i]);
	free(seen);
	free(seen_cost);
	printf("# with parameters %lu, in place %lu, as many clones as may be %lu, in the graph's "
	       "order %lu; %lu too large to tell\n",
	       seen_cases.parameters, seen_cases.inplace, seen_cases.limited, seen_cases.given,
	       seen_cases.too_large);
	printf("# %lu planned; running operators again helps in %lu, did in %lu, and came to the "
	       "least in %lu\n",
	       seen_cases.planned, seen_cases.helps, seen_cases.helped, seen_cases.least);
	if (property.cases >= 1000 &&
	    (seen_cases.helps < property.cases / 20 ||
	     10 * seen_cases.least < 9 * seen_cases.helps || !seen_cases.parameters ||
	     !seen_cases.inplace || !seen_cases.limited || !seen_cases.given)) {
		printf("not ok - running again helps too seldom, or a kind of case was not there\n");
		return 1;
	}
	printf("ok - %lu graphs\n", property.cases);
	return 0;
}
