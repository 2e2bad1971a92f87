// SPDX-License-Identifier: MIT
/* Claims: what a plan file says of itself is compared with the plan. */
#include <stdlib.h>
#include <string.h>

#include "../chunks/chunks.h"
#include "base/region.h"
#include "base/sorted.h"
#include "graph/checked.h"
#include "planners/planners.h"

/*
 * struct claims - the plan whose claims are checked
 * @bound: bytes below which no plan in this order of steps is; 0: not known
 */
struct claims {
	const struct npuplan_graph *graph;
	const struct npuplan_plan *plan;
	uint64_t bound;
	uint32_t checked;
	struct npuplan_error *error;
};

static unsigned long long bytes(uint64_t value)
{
	return value;
}

/* Whether the schedule is the steps in the order of the graph, and nothing else. */
static bool in_graph_order(const struct claims *c)
{
	if (c->graph->edge_count || c->graph->block_count != 1 ||
	    c->plan->position_count != c->graph->step_count)
		return false;
	for (uint32_t i = 0; i < c->plan->position_count; i++)
		if (c->plan->positions[i].kind != NPUMEM_POSITION_STEP ||
		    c->plan->positions[i].index != i)
			return false;
	return true;
}

static int find_bound(struct claims *c)
{
	static const struct npuplan_options defaults;
	struct npuplan_problem problem = {
		.graph = c->graph,
		.options = &defaults,
		.alignment = 1,
	};
	struct npuplan_checked checked;
	int err;

	if (!in_graph_order(c))
		return 0;
	err = npuplan_checked_init(&checked, c->graph, c->error);
	if (err)
		return err;
	err = npuplan_problem_init(&problem, checked.cells, c->error);
	c->bound = err ? 0 : problem.lower_bound;
	npuplan_problem_fini(&problem);
	npuplan_checked_fini(&checked);
	return err;
}

static int check_alignment(struct claims *c)
{
	uint32_t alignment = c->plan->info.alignment ? c->plan->info.alignment : 1;
	char label[96];

	for (uint32_t i = 0; i < c->plan->placement_count; i++) {
		const struct npumem_placement *placement = &c->plan->placements[i];

		if (placement->offset % alignment)
			return npuplan_fail(
				c->error, -EINVAL,
				"alignment: placement %u, of %s, is at %llu, which is no multiple of %u",
				i, npuplan_tensor_label(c->graph, placement->tensor, label),
				bytes(placement->offset), alignment);
	}
	c->checked |= NPUPLAN_CLAIM_ALIGNMENT;
	return 0;
}

/* The bytes that the plan needs, however large it says that its arena is. */
static uint64_t top_of(const struct npuplan_plan *plan)
{
	uint64_t top = 0;

	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];
		uint64_t end = placement->offset + chunks_hull(placement);

		top = end > top ? end : top;
	}
	return top;
}

/* Check the lower bound. The plan itself refutes a bound that is above what it needs. */
static int check_bound(struct claims *c)
{
	uint64_t claimed = c->plan->info.lower_bound, top = top_of(c->plan);

	if (claimed > top)
		return npuplan_fail(c->error, -EINVAL,
				    "lower_bound: %llu, but the plan itself needs %llu bytes",
				    bytes(claimed), bytes(top));
	if (claimed <= c->bound)
		c->checked |= NPUPLAN_CLAIM_LOWER_BOUND;
	return 0;
}

static int check_status(struct claims *c)
{
	const struct npumem_plan_info *info = &c->plan->info;
	const struct npuplan_planner *planner;
	char name[sizeof(info->planner) + 1] = "";

	memcpy(name, info->planner, sizeof(info->planner));
	planner = name[0] ? npuplan_planner_find(name) : NULL;
	switch (info->status) {
	case NPUMEM_PLAN_STATUS_INFEASIBLE:
		return npuplan_fail(c->error, -EINVAL,
				    "status: infeasible, but here is a plan, and it is valid");
	case NPUMEM_PLAN_STATUS_FEASIBLE:
		c->checked |= NPUPLAN_CLAIM_STATUS;
		return 0;
	case NPUMEM_PLAN_STATUS_OPTIMAL:
		break;
	default:
		return 0;
	}
	/*
	 * Planners of whole plans claim a bound for the least traffic, or for any order of steps.
	 */
	if (planner && planner->plan)
		return 0;
	/* Nothing is below no bytes, in any order. */
	if (!info->arena_size || (c->bound && info->arena_size == c->bound))
		c->checked |= NPUPLAN_CLAIM_STATUS;
	else if (c->plan->claims & NPUPLAN_CLAIM_LOWER_BOUND &&
		 info->arena_size > info->lower_bound)
		return npuplan_fail(
			c->error, -EINVAL,
			"status: optimal, but the arena is %llu and the lower bound %llu",
			bytes(info->arena_size), bytes(info->lower_bound));
	else if (info->arena_size > top_of(c->plan))
		return npuplan_fail(
			c->error, -EINVAL,
			"status: optimal, but the arena is %llu and the plan itself needs %llu bytes",
			bytes(info->arena_size), bytes(top_of(c->plan)));
	return 0;
}

/*
 * struct byte_range - bytes of a tensor that is not an alias
 * @output: the bytes belong to an output; false: the plan stores them
 */
struct byte_range {
	uint64_t first;
	uint64_t end;
	uint32_t tensor;
	bool output;
};

NPUPLAN_ORDER(by_tensor_and_byte, struct byte_range, tensor, first)

/*
 * Count the bytes that belong to an output and are stored, each once; @ranges is sorted by tensor
 * and byte.
 */
static uint64_t in_both(const struct byte_range *ranges, size_t count)
{
	uint64_t ends[2] = { 0 }, counted = 0, bytes = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t *end = &ends[ranges[i].output], both;

		if (i && ranges[i].tensor != ranges[i - 1].tensor)
			ends[0] = ends[1] = counted = 0;
		*end = ranges[i].end > *end ? ranges[i].end : *end;
		/*
		 * From this range's first byte on, both kinds reach to where the shorter one ends.
		 */
		both = ends[0] < ends[1] ? ends[0] : ends[1];
		counted = counted > ranges[i].first ? counted : ranges[i].first;
		if (both > counted) {
			bytes += both - counted;
			counted = both;
		}
	}
	return bytes;
}

/* Find the bytes of first stores of outputs. Returns 0 or -ENOMEM. */
static int first_stores(const struct claims *c, uint64_t *bytes)
{
	const struct npuplan_graph *graph = c->graph;
	AUTO_HEAP struct byte_range *ranges = npuplan_calloc(
		(size_t)graph->tensor_count + c->plan->position_count + 1, sizeof(*ranges));
	size_t count = 0;

	if (!ranges)
		return npuplan_fail(c->error, -ENOMEM, "out of memory");
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];
		uint64_t first = npuplan_base_offset(tensor);

		if (tensor->kind == NPUMEM_TENSOR_OUTPUT)
			ranges[count++] = (struct byte_range){ first, first + tensor->size,
							       npuplan_base_of(graph, t), true };
	}
	for (uint32_t i = 0; i < c->plan->position_count; i++) {
		const struct npumem_position *position = &c->plan->positions[i];

		if (position->kind == NPUMEM_POSITION_STORE)
			ranges[count++] = (struct byte_range){ position->first,
							       position->first + position->length,
							       position->index, false };
	}
	qsort(ranges, count, sizeof(*ranges), by_tensor_and_byte);
	*bytes = in_both(ranges, count);
	return 0;
}

static int check_traffic(struct claims *c)
{
	const struct npumem_plan_info *info = &c->plan->info;
	uint64_t moved[NPUMEM_POSITION_STORE + 1] = { 0 }, first = 0, spills;
	int err = first_stores(c, &first);

	if (err)
		return err;
	for (uint32_t i = 0; i < c->plan->position_count; i++)
		if (c->plan->positions[i].kind <= NPUMEM_POSITION_STORE)
			moved[c->plan->positions[i].kind] += c->plan->positions[i].length;
	spills = moved[NPUMEM_POSITION_SPILL] + moved[NPUMEM_POSITION_STORE] - first;
	if (info->fill_bytes != moved[NPUMEM_POSITION_FILL])
		return npuplan_fail(c->error, -EINVAL,
				    "traffic: %llu bytes filled, but the schedule fills %llu",
				    bytes(info->fill_bytes), bytes(moved[NPUMEM_POSITION_FILL]));
	if (info->spill_bytes != spills)
		return npuplan_fail(c->error, -EINVAL,
				    "traffic: %llu bytes spilled, but the schedule spills %llu",
				    bytes(info->spill_bytes), bytes(spills));
	if (info->load_bytes != moved[NPUMEM_POSITION_LOAD] + first)
		return npuplan_fail(
			c->error, -EINVAL,
			"traffic: %llu bytes compulsory, but the schedule loads and first stores %llu",
			bytes(info->load_bytes), bytes(moved[NPUMEM_POSITION_LOAD] + first));
	c->checked |= NPUPLAN_CLAIM_TRAFFIC;
	return 0;
}

/*
 * Check the bound of traffic. Only planning could prove it, but the plan itself refutes a bound
 * that is above what it moves.
 */
static int check_traffic_bound(struct claims *c)
{
	const struct npumem_plan_info *info = &c->plan->info;
	uint64_t moved = info->spill_bytes + info->fill_bytes;
	uint64_t bound = c->plan->cosma ? c->plan->cosma->traffic_bound : 0;

	if (bound > moved)
		return npuplan_fail(
			c->error, -EINVAL,
			"traffic: lower_bound %llu, but the plan itself moves %llu bytes",
			bytes(bound), bytes(moved));
	return 0;
}

int npuplan_claims_check(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			 uint32_t *checked, uint64_t *bound, struct npuplan_error *error)
{
	static const struct {
		uint32_t claim;
		int (*check)(struct claims *c);
	} checks[] = {
		{ NPUPLAN_CLAIM_ALIGNMENT, check_alignment },
		{ NPUPLAN_CLAIM_LOWER_BOUND, check_bound },
		{ NPUPLAN_CLAIM_STATUS, check_status },
		{ NPUPLAN_CLAIM_TRAFFIC, check_traffic },
		{ NPUPLAN_CLAIM_TRAFFIC_BOUND, check_traffic_bound },
	};
	struct claims c = { .graph = graph, .plan = plan, .error = error };
	int err = find_bound(&c);

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && !err; i++)
		if (plan->claims & checks[i].claim)
			err = checks[i].check(&c);
	*checked = c.checked;
	if (bound)
		*bound = c.bound;
	return err;
}
