/* SPDX-License-Identifier: MIT */
/*
 * The type of planners and packers, which find addresses of items, or make whole plans of graphs.
 */
#pragma once

#include "pack/base/call.h"

/*
 * struct npuplan_planner - one named algorithm: a planner, a packer, or both
 * @argument: handed to @packer, @pack or @plan; tells algorithms that are one function apart
 * @packer: places items for npuplan_pack(); NULL: it is a planner only
 * @pack: places the items of a graph; in @packing, offsets is allocated and lower_bound the
 *	problem's. If it fails, it says why in @error
 * @plan: instead of @pack: makes a whole plan, with its schedule, of a graph of one block;
 *	@problem is filled in for the order of the graph
 * @blocks: of a planner with @plan: likewise, of a graph with edges, of which there is no order to
 *	fill in; NULL: it plans none. @packer, one with @pack, packs what it wants packed
 * @traits: enum npuplan_planner_trait: what it takes and does that others do not
 * @engine_of: name of the planner that this one is an engine of: another one, or itself for the
 *	engine that it is by default; NULL: of none
 * @engine: word of the engine
 * @lists: @pack needs the list of conflicts
 * @by_bytes: conflicts of graphs with edges are those of single bytes (loops/tiles.h)
 * @taa_beside: where whole tensors miss the bound of a graph with edges, TAA is tried, too
 * @published: it does as a publication says, to compare with
 * @solver: it needs a solver, which not every build has
 * @purpose: its purpose in one line
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
	int (*blocks)(const struct npuplan_problem *problem, int argument,
		      const struct npuplan_planner *packer, struct npuplan_plan **plan,
		      struct npuplan_error *error);
	npuplan_pack_fn *packer;
	int argument;
	uint32_t traits;
	const char *engine_of;
	const char *engine;
	bool lists;
	bool by_bytes;
	bool taa_beside;
	bool published;
	bool solver;
};
