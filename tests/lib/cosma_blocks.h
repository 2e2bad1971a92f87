/* SPDX-License-Identifier: MIT */
/* Graphs with loops and branches that planner cosma plans, and what is expected of that. */
#pragma once

#include "npuplan.h"

/*
 * struct wide - block 0 is empty; block 1 is a loop, x <- in on the way in; block 2 is out = f(y).
 * The loop's body makes a and b (400 bytes each) of x (100), which each iteration needs, then s of
 * a and t of b (10 each), and y (100) of these. In this order x, a, b and s live at once: 910
 * bytes. If s is made before b, x, b, s and t are the most: 520.
 */
struct wide {
	struct npuplan_graph *graph;
	uint32_t in, x, a, b, s, t, y, out;
};

struct wide build_wide(void);

/* Plans by cosma, and holds arena, bound and status against what is expected. */
struct npuplan_plan *expect_plan(const struct npuplan_graph *graph,
				 const struct npuplan_options *asked, uint64_t arena,
				 uint64_t bound, uint32_t status);

/*
 * Plans by cosma within a budget, and holds against what is expected: what is spilled, and filled
 * again, in all instances, once each, and the bound of both.
 */
struct npuplan_plan *expect_moves(const struct npuplan_graph *graph,
				  const struct npuplan_options *asked, uint64_t budget,
				  uint64_t spilled, uint64_t filled, uint64_t bound);

/* expect_moves() of a plan that is proved: as much is spilled as filled. */
void expect_least(const struct npuplan_graph *graph, const struct npuplan_options *asked,
		  uint64_t budget, uint64_t moved);

/* Holds against what is expected why there is no plan within a budget; @step: that it names. */
void expect_infeasible(const struct npuplan_graph *graph, const struct npuplan_options *asked,
		       uint64_t budget, uint64_t needed, uint32_t step, const char *text);

/* The same where nothing is proved. */
void expect_unknown(const struct npuplan_graph *graph, const struct npuplan_options *asked,
		    uint64_t budget, uint64_t needed, const char *text);

/* expect_plan() of an arena that is proved. */
void expect_optimal(const struct npuplan_graph *graph, const struct npuplan_options *asked,
		    uint64_t arena);
