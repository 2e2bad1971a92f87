// SPDX-License-Identifier: MIT
#include "engine.h"

#include <string.h>

#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"
#include "tensor_allocate.h"

/*
 * Put the items with fixed offsets first in the order, since they are placed before all others;
 * returns how many they are.
 */
static uint32_t fixed_first(const struct npuplan_problem *problem, uint32_t *order,
			    uint64_t *offsets)
{
	uint32_t fixed = 0;

	for (uint32_t i = 0; i < problem->item_count; i++) {
		uint32_t item = order[i];

		if (!problem->items[item].fixed)
			continue;
		offsets[item] = problem->items[item].fixed_offset;
		memmove(&order[fixed + 1], &order[fixed], (i - fixed) * sizeof(*order));
		order[fixed++] = item;
	}
	return fixed;
}

/*
 * Whether tiles are of aliases, of which the paper knows nothing: its tiles are of one tensor.
 * Those of joined concats are of the outputs. An alias without a tile may still say how long the
 * bytes of its tensor live, unless it is an intermediate one.
 */
static bool has_aliases(const struct npuplan_graph *graph)
{
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if ((graph->tensors[i].flags & NPUMEM_TENSOR_FLAG_ALIAS) &&
		    graph->tensors[i].kind != NPUMEM_TENSOR_INTERMEDIATE)
			return true;
	for (uint32_t i = 0; i < graph->tile_count; i++)
		if (graph->tensors[graph->tiles[i].tensor].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			return true;
	return false;
}

int npuplan_taa_paper(const struct npuplan_problem *problem, uint64_t limit,
		      struct npuplan_packing *packing)
{
	/* The orders of section III-A: size, lifetime, number of peers. */
	static const enum npuplan_order rules[] = { NPUPLAN_BY_SIZE, NPUPLAN_BY_DURATION,
						    NPUPLAN_BY_PEERS };
	struct npuplan_member member = { .effort = problem->effort, .best = packing };
	const struct npuplan_until until = { .over = npuplan_member_over, .context = &member };
	size_t n = problem->item_count;
	AUTO_HEAP uint32_t *order = npuplan_malloc(n * sizeof(*order) + 1);
	AUTO_HEAP uint64_t *offsets = npuplan_calloc(n + 1, sizeof(*offsets));
	struct npuplan_conflicts overlap;
	struct npuplan_taa taa = { 0 };
	uint32_t done = 0;
	int err = has_aliases(problem->graph) ? -EOPNOTSUPP : npuplan_taa_init(&taa, problem);

	if (!order || !offsets)
		err = err ? err : -ENOMEM;
	npuplan_conflicts_overlap(&overlap, problem->items, problem->item_count);
	for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]) && !err; r++) {
		uint64_t top = 0;

		err = npuplan_order_items(&overlap, rules[r], order);
		if (!err)
			err = npuplan_taa_allocate(&taa, order,
						   fixed_first(problem, order, offsets), offsets,
						   &member.work, limit, &until);
		if (err)
			break;
		for (uint32_t i = 0; i < n; i++)
			if (offsets[i] + problem->items[i].size > top)
				top = offsets[i] + problem->items[i].size;
		npuplan_packing_keep(packing, offsets, top, problem->item_count);
		done++;
		if (npuplan_member_over(&member))
			break;
	}
	packing->work += member.work;
	npuplan_taa_fini(&taa);
	return done && (err == -E2BIG || err == -EINTR) ? 0 : err;
}
