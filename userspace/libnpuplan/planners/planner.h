/* SPDX-License-Identifier: MIT */
/* What planners and packers are: they make addresses of items, or whole plans of graphs. */
#pragma once

#include "pack/base/run.h"

/*
 * struct npuplan_planner - one named algorithm: a planner, a packer, or both
 * @argument: for @packer, @pack or @plan; what tells algorithms of one function apart
 * @packer: places items for npuplan_pack(); NULL: it is a planner only
 * @pack: offsets is allocated, lower_bound the problem's. Fills @error if it fails
 * @plan: instead of @pack: makes the whole plan, its schedule too. Of straight graphs
 *	only; @problem has been filled in for the order of the graph
 * @moves: between arena and host memory, for other objectives and orders, too
 * @lists: @pack looks at pairs one by one
 * @published: as somebody has published it, to compare with
 * @solver: needs one, which not every build has
 * @purpose: what it is for, one line
 *
 * Without @pack and @plan it is a packer only.
 */
struct npuplan_planner {
	const char *name;
	const char *purpose;
	int (*pack)(const struct npuplan_problem *problem, int argument,
		    struct npuplan_packing *packing, struct npuplan_error *error);
	int (*plan)(const struct npuplan_problem *problem, const struct npuv_graph *cells,
		    int argument, struct npuplan_plan **plan, struct npuplan_error *error);
	npuplan_pack_fn *packer;
	int argument;
	bool moves;
	bool lists;
	bool published;
	bool solver;
};
