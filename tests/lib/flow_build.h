/* SPDX-License-Identifier: MIT */
/* Blocks and edges of small graphs, and plans of them played on many paths. */
#pragma once

#include "flow_run.h"
#include "npuplan_build.h"

/* Adds a block behind the last one. */
static inline void build_block(struct npuplan_graph *graph)
{
	assert_true(npuplan_graph_add_block(graph) >= 0);
}

/* Adds an edge that carries one tensor to another name, or (NPUMEM_NONE) none. */
static inline uint32_t build_edge(struct npuplan_graph *graph, uint32_t from, uint32_t to,
				  uint32_t carry_from, uint32_t carry_to)
{
	struct npumem_carry carry = { carry_from, carry_to };
	int64_t edge = npuplan_graph_add_edge(graph, from, to, &carry, carry_from != NPUMEM_NONE);

	assert_true(edge >= 0);
	return edge;
}

/* Paths of up to 40 edges, three inferences each, find what the graph means. */
static inline void play_paths(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	uint32_t crossed = 0;

	for (uint32_t edges = 0; edges < 40; edges += 3) {
		struct flow_run run = { .seed = edges, .edges = edges, .inferences = 3 };

		if (!flow_run(graph, plan, &run))
			fail_msg("%s, %s: %s", graph->name, plan->info.planner, run.text);
		assert_true(run.steps);
		crossed += run.crossed;
	}
	assert_true(crossed);
}
