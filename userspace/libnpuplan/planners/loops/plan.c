// SPDX-License-Identifier: MIT
/* Planning graphs with edges: any planner packs the webs, and the plan is put together of that. */
#include <stdlib.h>
#include <string.h>

#include "planners/taa/taa.h"
#include "tiles.h"

/* struct flow_packing - a packing, and the webs that it is of */
struct flow_packing {
	struct npuplan_webs webs;
	struct npuplan_packing packing;
};

static void packing_fini(struct flow_packing *found)
{
	npuplan_webs_fini(&found->webs);
	free(found->packing.offsets);
	*found = (struct flow_packing){ 0 };
}

static void note_atom(struct npuplan_problem *problem, uint32_t tensor, uint64_t bytes)
{
	problem->live.atoms[problem->live.atom_count++] = (struct npuplan_atom){
		.length = bytes,
		.tensor = tensor,
		.start = problem->peak_instant,
		.end = problem->peak_instant,
	};
}

/*
 * Note what lives at the peak, for messages: atoms of those names of that instance that live at
 * that instant.
 */
static int note_peak(const struct npuplan_flow *flow, const struct npuplan_flow_tiles *tiles,
		     struct npuplan_problem *problem, uint32_t instance, uint32_t instant)
{
	const struct npuplan_instance *at = &flow->instances[instance];
	const struct npuplan_block_tiles *bytes = tiles ? &tiles->blocks[at->block] : NULL;
	uint32_t first = flow->first_name[at->block], end = flow->first_name[at->block + 1];
	uint32_t atom = 0, atoms = bytes ? bytes->live.atom_count : 0;
	size_t most = (size_t)(end - first) + atoms;

	npuplan_liveness_fini(&problem->live);
	problem->live.exit = 2 * flow->position_count + 1;
	problem->peak_instant = 2 * at->first_position + instant;
	problem->live.atoms = malloc(most * sizeof(*problem->live.atoms) + 1);
	if (!problem->live.atoms)
		return -ENOMEM;
	for (uint32_t i = first; i < end; i++) {
		const struct npuplan_name *name = &flow->names[i];
		bool by_bytes = bytes && bytes->exact[i - first];

		if (!by_bytes && name->sure_start <= instant && name->sure_end >= instant)
			note_atom(problem, name->tensor,
				  problem->graph->tensors[name->tensor].size);
		for (; atom < atoms && bytes->live.atoms[atom].tensor == i - first; atom++)
			if (by_bytes && bytes->live.atoms[atom].start <= instant &&
			    bytes->live.atoms[atom].end >= instant)
				note_atom(problem, name->tensor, bytes->live.atoms[atom].length);
	}
	return 0;
}

/* Raise the problem's lower bound to what is sure to live in the flow. */
static int find_bound(const struct npuplan_flow *flow, const struct npuplan_webs *webs,
		      const struct npuplan_flow_tiles *tiles, struct npuplan_problem *problem,
		      struct npuplan_error *error)
{
	uint32_t instance, instant;
	uint64_t bound, fixed;
	int err = npuplan_flow_bound(flow, webs, tiles, &bound, &instance, &instant);

	if (!err && (!problem->live.atoms || bound > problem->lower_bound)) {
		err = note_peak(flow, tiles, problem, instance, instant);
		problem->lower_bound = bound;
	}
	if (err)
		return npuplan_fail(error, err, "lower bound: %s", strerror(-err));
	fixed = npuplan_fixed_top(webs->items, webs->web_count);
	if (problem->lower_bound < fixed)
		problem->lower_bound = fixed;
	return 0;
}

static void use_webs(struct npuplan_problem *problem, const struct npuplan_webs *webs)
{
	problem->items = webs->items;
	problem->item_count = webs->web_count;
	problem->conflicts = webs->conflicts;
}

/*
 * Pack with the nodes merged in one way, and keep the packing if it is better. @tiles: NULL: of
 * whole tensors.
 */
static int pack_merged(struct npuplan_problem *problem, const struct npuplan_flow *flow,
		       const struct npuplan_flow_tiles *tiles, enum npuplan_web_merge merge,
		       const struct npuplan_planner *planner, struct flow_packing *best,
		       struct npuplan_error *error)
{
	struct flow_packing now = { .packing.top = UINT64_MAX };
	bool memory_ended = best->packing.memory_ended;
	uint64_t work = best->packing.work;
	int err;

	err = npuplan_webs_init(&now.webs, flow, tiles, merge, problem->options->memory_limit,
				error);
	if (!err && merge == NPUPLAN_WEBS_TENSORS)
		err = find_bound(flow, &now.webs, tiles, problem, error);
	if (err)
		goto out;
	use_webs(problem, &now.webs);
	now.packing.lower_bound = problem->lower_bound;
	now.packing.offsets = calloc((size_t)now.webs.web_count + 1, sizeof(uint64_t));
	if (!now.packing.offsets)
		err = npuplan_fail(error, -ENOMEM, "out of memory");
	if (!err)
		err = planner->pack(problem, planner->argument, &now.packing, error);
	if (err)
		goto out;
	/*
	 * What a planner has proved of these webs is not proved of others, so only the problem's
	 * bound counts.
	 */
	now.packing.lower_bound = problem->lower_bound;
	now.packing.status = npuplan_status_of(now.packing.top, problem->lower_bound);
	work += now.packing.work;
	memory_ended |= now.packing.memory_ended;
	if (!best->packing.offsets || now.packing.top < best->packing.top) {
		packing_fini(best);
		*best = now;
		now = (struct flow_packing){ 0 };
	}
	best->packing.work = work;
	best->packing.memory_ended = memory_ended;
out:
	packing_fini(&now);
	return err;
}

/* Whether there is a packing that is as low as any can be, or no time to look for one. */
static bool is_done(const struct npuplan_problem *problem, const struct flow_packing *best)
{
	return best->packing.top <= problem->lower_bound || npuplan_effort_late(problem->effort);
}

/* Pack with the nodes merged in each way, until that is done. */
static int pack_each(struct npuplan_problem *problem, const struct npuplan_flow *flow,
		     const struct npuplan_flow_tiles *tiles, const struct npuplan_planner *planner,
		     struct flow_packing *best, struct npuplan_error *error)
{
	int err = 0;

	for (int merge = 0; merge < NPUPLAN_WEBS_COUNT && !err; merge++) {
		err = pack_merged(problem, flow, tiles, merge, planner, best, error);
		if (!err && is_done(problem, best))
			break;
	}
	return err;
}

/* Pack by single bytes, as TAA does. */
static int pack_bytes(struct npuplan_problem *problem, const struct npuplan_flow *flow,
		      const struct npuplan_planner *planner, struct flow_packing *best,
		      struct npuplan_error *error)
{
	struct npuplan_flow_tiles tiles;
	int err = npuplan_flow_tiles_init(&tiles, flow, error);

	if (!err)
		err = pack_each(problem, flow, &tiles, planner, best, error);
	npuplan_flow_tiles_fini(&tiles);
	return err;
}

static int pack(struct npuplan_problem *problem, const struct npuplan_flow *flow,
		const struct npuplan_planner *planner, struct flow_packing *best,
		struct npuplan_error *error)
{
	static const struct npuplan_planner taa = {
		.pack = npuplan_pack_taa,
		.argument = NPUPLAN_TAA_EXACT,
	};
	bool whole = npuplan_flow_whole(flow);
	int err;

	if (planner->by_bytes && !whole)
		err = pack_bytes(problem, flow, planner, best, error);
	else
		err = pack_each(problem, flow, NULL, planner, best, error);
	/* A failure of TAA does not spoil the packing that there is. */
	if (!err && planner->taa_beside && !whole && !is_done(problem, best))
		pack_bytes(problem, flow, &taa, best, NULL);
	/* Single bytes may have proved more than whole tensors. */
	best->packing.lower_bound = problem->lower_bound;
	best->packing.status = npuplan_status_of(best->packing.top, problem->lower_bound);
	if (!err)
		use_webs(problem, &best->webs);
	if (!err && problem->options->arena_budget &&
	    best->packing.top > problem->options->arena_budget)
		err = npuplan_fail_budget(problem, &best->packing, error);
	return err;
}

/* ---------------------------------------------------------------- the plan */

/* The position, in the schedule, of an instant of an instance. */
static uint32_t position_at(const struct npuplan_flow *flow, const struct npuplan_instance *at,
			    uint32_t instant)
{
	uint32_t count = flow->graph->blocks[at->block].step_count;
	uint32_t position = instant ? (instant - 1) / 2 : 0;

	if (position >= count)
		position = count ? count - 1 : 0;
	return at->first_position + position;
}

static void put_instance(const struct npuplan_flow *flow, uint32_t instance,
			 const struct flow_packing *found, struct npuplan_plan *plan)
{
	const struct npuplan_instance *at = &flow->instances[instance];
	const struct npumem_block *block = &flow->graph->blocks[at->block];
	struct npumem_plan_block *record = &plan->blocks[instance];

	*record = (struct npumem_plan_block){
		.block = at->block,
		.first_position = at->first_position,
		.position_count = block->step_count,
		.first_entry = plan->entry_count,
	};
	for (uint32_t i = flow->first_name[at->block]; i < flow->first_name[at->block + 1]; i++) {
		const struct npuplan_name *name = &flow->names[i];
		uint64_t size = flow->graph->tensors[name->tensor].size;
		uint32_t node = npuplan_node_of(flow, instance, i);

		if (name->live_in)
			plan->entries[plan->entry_count++] = (struct npumem_entry){
				.tensor = name->tensor,
				.placement = plan->placement_count,
				.flags = NPUMEM_ENTRY_RESIDENT,
				.length = size,
			};
		plan->placements[plan->placement_count++] = (struct npumem_placement){
			.tensor = name->tensor,
			.block = instance,
			.from = position_at(flow, at, name->start),
			.to = position_at(flow, at, name->end),
			.offset = found->packing.offsets[found->webs.web_of[node]],
			.region = { .length = size, .count = { 1, 1, 1 } },
		};
	}
	record->entry_count = plan->entry_count - record->first_entry;
	for (uint32_t i = 0; i < block->step_count; i++)
		plan->positions[at->first_position + i].index = block->first_step + i;
	for (uint32_t k = 0; k < npuplan_out_count(flow, at->block); k++)
		plan->edges[at->first_edge + k] = (struct npumem_plan_edge){
			.from = instance,
			.to = flow->successors[at->first_edge + k],
			.edge = flow->out_edges[flow->first_out[at->block] + k],
		};
}

static struct npuplan_plan *make_plan(const struct npuplan_problem *problem,
				      const struct npuplan_flow *flow,
				      const struct flow_packing *found)
{
	struct npuplan_plan *plan = npuplan_plan_new(problem, &found->packing, flow->node_count,
						     flow->position_count, flow->instance_count,
						     flow->edge_count);

	for (uint32_t i = 0; plan && i < flow->instance_count; i++)
		put_instance(flow, i, found, plan);
	return plan;
}

int npuplan_flow_plan(struct npuplan_problem *problem, const struct npuplan_planner *planner,
		      struct npuplan_plan **plan, struct npuplan_error *error)
{
	struct flow_packing found = { 0 };
	struct npuplan_flow flow;
	int err;

	if (error)
		error->text[0] = '\0';
	err = npuplan_flow_names(&flow, problem->graph, error);
	if (!err)
		err = npuplan_flow_instances(&flow, problem->effort, error);
	if (err == -ENOMEM)
		npuplan_fail(error, err, "out of memory");
	if (!err)
		err = pack(problem, &flow, planner, &found, error);
	if (!err) {
		*plan = make_plan(problem, &flow, &found);
		if (!*plan || npuplan_flow_views(&flow, *plan)) {
			npuplan_plan_free(*plan);
			*plan = NULL;
			err = npuplan_fail(error, -ENOMEM, "out of memory");
		}
	}
	/* Items and conflicts belong to the webs. */
	problem->items = NULL;
	problem->conflicts = (struct npuplan_conflicts){ 0 };
	packing_fini(&found);
	npuplan_flow_fini(&flow);
	return err;
}
