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
	uint32_t ops = draw(4, 7);

	for (uint32_t v = 0; v <= ops; v++) {
		struct npuplan_tensor tensor = {
			.size = v ? draw(1, 6) : draw(1, 2),
			.align = 1,
			.kind = !v	 ? NPUMEM_TENSOR_INPUT :
				v == ops ? NPUMEM_TENSOR_OUTPUT :
					   NPUMEM_TENSOR_INTERMEDIATE,
			.id = v,
		};
		uint32_t inputs[3], output = v;
		struct npuplan_op op = {
			.inputs = inputs,
			.outputs = &output,
			.input_count = draw(1, v > 2 ? 3 : 1),
			.output_count = 1,
			.id = v,
		};

		/* Nobody reads it later: it is an output. */
		if (v && v < ops && !draw(0, 9))
			tensor.kind = NPUMEM_TENSOR_OUTPUT;
		npuplan_graph_add_tensor(graph, &tensor);
		if (!v)
			continue;
		/* The one before, and shortcuts. */
		for (uint32_t k = 0; k < op.input_count; k++)
			inputs[k] = k ? draw(0, v - 1) : v - 1;
		npuplan_graph_add_op(graph, &op);
	}
	return graph;
}

/* ------------------------------------------------------- exhaustive search */

/* On chip, in host memory (16 bits each), what has run, whether the input was loaded. */
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

static void expand(const struct npuplan_graph *graph, uint64_t budget, uint64_t key, uint64_t cost)
{
	uint32_t chip = key & 0xffff, host = key >> 16 & 0xffff, done = key >> 32 & 0xffff;
	uint64_t loaded = key >> 48;
	uint64_t used = bytes_of(graph, chip);

	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		uint64_t rest = (uint64_t)done << 32 | loaded << 48, size = graph->tensors[t].size;
		uint32_t bit = 1u << t;

		if (chip & bit) {
			push(rest | host << 16 | (chip & ~bit), cost);
			if (!(host & bit))
				push(rest | (uint64_t)(host | bit) << 16 | (chip & ~bit),
				     cost + size);
		} else if (host & bit && used + size <= budget) {
			if (!t)
				rest |= 1ull << 48;
			push(rest | (uint64_t)host << 16 | chip | bit,
			     cost + (!t && !loaded ? 0 : size));
		}
	}
	for (uint32_t v = 0; v < graph->op_count; v++) {
		const struct npuplan_op *op = &graph->ops[v];
		uint32_t out = 1u << op->outputs[0], in = 0;

		for (uint32_t k = 0; k < op->input_count; k++)
			in |= 1u << op->inputs[k];
		if ((chip & in) != in || chip & out || bytes_of(graph, chip | out) > budget)
			continue;
		push(loaded << 48 | (uint64_t)(done | 1u << v) << 32 |
			     (uint64_t)(host | (graph->tensors[op->outputs[0]].kind ==
								NPUMEM_TENSOR_OUTPUT ?
							out :
							0))
				     << 16 |
			     chip | out,
		     cost);
	}
}

static uint64_t exhaustive(const struct npuplan_graph *graph, uint64_t budget)
{
	memset(seen, 0, SLOTS * sizeof(*seen));
	memset(queued, 0, sizeof(queued));
	held = 0;
	push(1ull << 16, 0);
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
			const struct npuplan_recomputation *found)
{
	struct npuplan_recomputation again;
	struct npuplan_error error;

	if (npuplan_cosma_recompute(graph, options, 0, &again, &error))
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

int main(int argc, char **argv)
{
	unsigned long helps = 0, helped = 0, least = 0, planned = 0, too_large = 0;

	property_begin(argc, argv, 20241, 600);
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
		uint64_t best, cost;

		property_case(i);
		graph = random_graph();
		if (npuplan_cosma_budgets(graph, &options, &budgets, &error))
			FAIL(graph, &options, "%s", error.text);
		options.common.arena_budget = budgets.needed + draw(0, 2);
		if (npuplan_cosma_recompute(graph, &options, 0, &found, &error))
			FAIL(graph, &options, "%s", error.text);
		if (found.plan.position_count &&
		    !cosma_oracle_run(&oracle, found.graph ? found.graph : graph, &options,
				      &found.plan))
			FAIL(graph, &options, "%s", oracle.why);
		check_clones(graph, &options, &found);
		check_again(graph, &options, &found);
		best = exhaustive(graph, options.common.arena_budget);
		cost = found.plan.spill + found.plan.fill;
		too_large += best == TOO_LARGE;
		if (found.plan.position_count && best < TOO_LARGE) {
			planned++;
			if (cost > found.answer.traffic_without)
				FAIL(graph, &options, "%" PRIu64 " bytes, %" PRIu64 " without",
				     cost, found.answer.traffic_without);
			if (cost < best)
				FAIL(graph, &options, "%" PRIu64 " bytes, the least is %" PRIu64,
				     cost, best);
			helps += best < found.answer.traffic_without;
			helped += cost < found.answer.traffic_without;
			least += best < found.answer.traffic_without && cost == best;
		}
		npuplan_recomputation_free(&found);
	}
	for (uint32_t i = 0; i < MAX_COST; i++)
		free(queue[i]);
	free(seen);
	free(seen_cost);
	if (property.cases >= 300 && (helps < property.cases / 20 || 10 * least < 7 * helps)) {
		printf("not ok - running again helps in %lu cases of %lu; the "
		       "least was found in %lu\n",
		       helps, property.cases, least);
		return 1;
	}
	printf("ok - %lu graphs, %lu planned; running operators again helps in "
	       "%lu, did in %lu, and came to the least in %lu; %lu too large to tell\n",
	       property.cases, planned, helps, helped, least, too_large);
	return 0;
}
