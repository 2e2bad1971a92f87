// SPDX-License-Identifier: MIT
/*
 * Which operators to run patch by patch, in what patches, so that the fewest bytes live at once.
 *
 * How many bytes live while a range of operators runs in patches does not depend on other ranges.
 * So for a number of bytes the ranges of which least runs again are found from operator to
 * operator: up to one, they are those up to the operator before it, if that many bytes live at it
 * anyway, or some range that ends with it behind those up to where it begins. The number is halved
 * to and fro, until the least for which there are some is known (MCUNetV2, section 3, has one
 * range, from the first operator on).
 *
 * That counts whole tensors, as they live without loops. Steps may share more of them, so that less
 * has to run again for as small an arena; in loops tensors live otherwise, and packing leaves gaps.
 * So patches for several numbers of bytes are planned, and the smallest plan has the last word.
 */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "graph/operations.h"
#include "npuplan_plan.h"
#include "grids.h"
#include "tiling/patches.h"

/* The least number of bytes is known up to a part in so many. */
#define PRECISION    256
/* Plans are made for that, and for multiples of at most such a part of it, up to twice it. */
#define PLAN_PARTS   16
/* Operators of all ranges that are looked at: some ten seconds. */
#define MOST_WORK    300000
/* Ranges of so many operators are looked at anyhow, as long as there is work left. */
#define LEAST_LENGTH 8
/* Work of the planner that has the last word. */
#define PLAN_WORK    200000

/*
 * struct cover - what is best up to an operator
 * @again: operations that are computed again; UINT64_MAX: too many bytes live, whatever is done
 * @steps: of all patches
 * @first: of the last range; the operator itself: none ends before it
 * @grid: of that range
 */
struct cover {
	uint64_t again;
	uint64_t steps;
	uint32_t first;
	struct npuplan_patch_grid grid;
};

/*
 * struct search - for patches of one graph
 * @covers: per operator what is best up to it, itself not included, and of all operators
 */
struct search {
	struct npuplan_patch_grid_table table;
	struct npuplan_lives lives;
	struct npuplan_pool pool;
	struct cover *covers;
};

/* -------------------------------------------------------------- one number of bytes */

static bool is_better(const struct cover *a, const struct cover *b)
{
	return a->again != b->again ? a->again < b->again : a->steps < b->steps;
}

/* The grid of no more than @target bytes of which least runs again, in the fewest patches. */
static const struct npuplan_patch_grid *cheapest(const struct npuplan_patch_grids *grids,
						 uint64_t target)
{
	const struct npuplan_patch_grid *best = NULL;

	for (uint32_t i = 0; i < grids->count && grids->all[i].bytes <= target; i++) {
		const struct npuplan_patch_grid *grid = &grids->all[i];

		if (!best || grid->again < best->again ||
		    (grid->again == best->again && grid->patches < best->patches))
			best = grid;
	}
	return best;
}

/* Take operators @first to @last as the last range, if that is better. -ENOMEM */
static int try_range(struct search *search, uint32_t first, uint32_t last, uint64_t target)
{
	const struct cover *before = &search->covers[first];
	struct cover cover = { .first = first };
	const struct npuplan_patch_grids *grids;
	const struct npuplan_patch_grid *grid;
	int err = npuplan_patch_grids_of(&search->table, first, last, target, &grids);

	if (err)
		return err;
	grid = cheapest(grids, target);
	if (!grid)
		return 0;
	cover.again = before->again + grid->again;
	cover.steps = before->steps + (uint64_t)grid->patches * (last + 1 - first);
	cover.grid = *grid;
	if (cover.again <= search->table.most_again && is_better(&cover, &search->covers[last + 1]))
		search->covers[last + 1] = cover;
	return 0;
}

/* Find patches with which no more than @target bytes live. @any: out: there are some. -ENOMEM */
static int try_target(struct search *search, uint64_t target, bool *any)
{
	const uint32_t count = search->table.graph->op_count;
	struct cover *covers = search->covers;
	int err = 0;

	covers[0] = (struct cover){ 0 };
	for (uint32_t v = 0; v < count && !err; v++) {
		uint32_t behind = v < search->table.length ? 0 : v + 1 - search->table.length;
		bool high = search->lives.bytes[v] > target;

		covers[v + 1] = covers[v];
		covers[v + 1].first = v + 1;
		if (high)
			covers[v + 1].again = UINT64_MAX;
		/* Where no operator has too many bytes patches are of no use. */
		for (uint32_t first = v; first-- > behind && !err;) {
			high |= search->lives.bytes[first] > target;
			if (high && covers[first].again != UINT64_MAX)
				err = try_range(search, first, v, target);
		}
	}
	*any = !err && covers[count].again != UINT64_MAX;
	return err;
}

static int by_first(const void *left, const void *right)
{
	const struct npuplan_patches *a = left, *b = right;

	return a->first < b->first ? -1 : a->first > b->first;
}

/* The tiling's patches become those of the target at hand. -ENOMEM */
static int take(const struct search *search, struct npuplan_tiling *tiling)
{
	uint32_t v = search->table.graph->op_count;
	int err = 0;

	tiling->patch_count = 0;
	while (v && !err) {
		const struct cover *cover = &search->covers[v];
		struct npuplan_patches patches = { cover->first, v - 1, cover->grid.rows,
						   cover->grid.columns };

		if (cover->first == v) {
			v--;
			continue;
		}
		err = npuplan_append(&tiling->patches, &tiling->patch_count, &patches, 1);
		v = cover->first;
	}
	if (!err && tiling->patch_count)
		qsort(tiling->patches, tiling->patch_count, sizeof(*tiling->patches), by_first);
	return err;
}

/* ------------------------------------------------------------------------ all */

/* In large graphs short ranges everywhere are of more use than long ones in the beginning. */
static uint32_t longest(uint32_t op_count)
{
	uint64_t length = NPUPLAN_PATCH_LENGTH;

	while (length > LEAST_LENGTH && op_count * length * length / 2 > MOST_WORK)
		length--;
	return (uint32_t)length;
}

static int search_init(struct search *search, const struct npuplan_graph *graph,
		       const struct npuplan_tiling *tiling, uint32_t most_again)
{
	struct npuplan_pool *pool = &search->pool;
	uint64_t operations = 0;
	int err = npuplan_lives_init(&search->lives, graph, pool);

	if (err)
		return err;
	for (uint32_t v = 0; v < graph->op_count; v++)
		operations += npuplan_operations(graph, v);
	search->covers = npuplan_pool_take(pool, graph->op_count + 1, sizeof(*search->covers));
	search->table = (struct npuplan_patch_grid_table){
		.graph = graph,
		.tiling = tiling,
		.lives = &search->lives,
		.uses = npuplan_uses_find(graph, pool),
		.most_again = (uint64_t)((unsigned __int128)operations * most_again / 100),
		.most_bytes = npuplan_lives_most(&search->lives),
		.length = longest(graph->op_count),
		.work = MOST_WORK,
		.ranges = npuplan_pool_take(pool, graph->op_count, sizeof(*search->table.ranges)),
		.pool = pool,
	};
	return pool->failed ? -ENOMEM : 0;
}

/* The fewest bytes that there are patches for; the most that live without any: none. -ENOMEM */
static int find_least(struct search *search, uint64_t *least)
{
	uint64_t low = 0;
	int err = 0;

	*least = search->table.most_bytes;
	while (!err && *least - low > *least / PRECISION + 1) {
		uint64_t target = low + (*least - low) / 2;
		bool any;

		err = try_target(search, target, &any);
		*(any ? least : &low) = target;
	}
	return err;
}

/* ----------------------------------------------------------------------- plans */

/* The arena of a graph that is cut as a tiling says; any error but -ENOMEM: there is none. */
static int find_arena(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		      uint64_t *bytes)
{
	const struct npuplan_options options = { .planner = "auto", .work_limit = PLAN_WORK };
	struct npuplan_tiling given = *tiling;
	struct npuplan_plan *plan = NULL;
	int err;

	/* Where inputs begin is noted in the tensors, and does not matter here. */
	given.inputs = NPUPLAN_INPUTS_GIVEN;
	err = npuplan_graph_tile(graph, &given, NULL);
	if (err)
		return err;
	err = npuplan_plan(graph, &options, &plan, NULL);
	if (!err)
		*bytes = plan->info.arena_size;
	npuplan_plan_free(plan);
	npuplan_graph_untile(graph);
	return err;
}

/*
 * struct best - the best plan so far
 * @tiling: by which it is cut
 * @arena: its bytes
 * @again: operations that it computes again
 */
struct best {
	struct npuplan_tiling tiling;
	uint64_t arena;
	uint64_t again;
};

/* Plan with the patches of the target at hand. -ENOMEM */
static int try_plan(struct search *search, struct npuplan_graph *graph, struct best *best)
{
	struct best other = {
		.tiling = *search->table.tiling,
		.again = search->covers[graph->op_count].again,
	};
	int err;

	other.tiling.patches = NULL;
	err = take(search, &other.tiling);
	err = err ? err : find_arena(graph, &other.tiling, &other.arena);
	if (!err && (other.arena < best->arena ||
		     (other.arena == best->arena && other.again < best->again))) {
		free(best->tiling.patches);
		*best = other;
	} else {
		free(other.tiling.patches);
	}
	/* Patches that are too many for a plan are none. */
	return err == -ENOMEM ? err : 0;
}

/*
 * The part of @whole that numbers of bytes are multiples of: with more that may run again there are
 * plans for all numbers that there are plans for with less.
 */
static uint64_t part_of(uint64_t whole, uint64_t least)
{
	while (whole > least / PLAN_PARTS)
		whole /= 2;
	return whole ? whole : 1;
}

/* Find patches that make the arena smaller; the tiling's are those, or none. -ENOMEM */
static int find(struct search *search, struct npuplan_graph *graph, struct npuplan_tiling *tiling)
{
	const struct cover *all = &search->covers[graph->op_count];
	struct cover last = { .again = UINT64_MAX };
	struct best best = { .tiling = *tiling };
	uint64_t least, part, target;
	bool any = true;
	int err = find_least(search, &least);

	/* Without a plan of it whole nobody knows which one is smaller. */
	if (err || least == search->table.most_bytes || find_arena(graph, tiling, &best.arena))
		return err;
	best.tiling.patches = NULL;
	part = part_of(search->table.most_bytes, least);
	for (target = least; any && !err && target < 2 * least; target += part - target % part) {
		if (target >= search->table.most_bytes)
			break;
		err = try_target(search, target, &any);
		if (!err && any && is_better(all, &last))
			err = try_plan(search, graph, &best);
		last = *all;
	}
	if (err) {
		free(best.tiling.patches);
		return err;
	}
	free(tiling->patches);
	*tiling = best.tiling;
	return 0;
}

int npuplan_patches_find(struct npuplan_graph *graph, struct npuplan_tiling *tiling,
			 uint32_t most_again, struct npuplan_error *error)
{
	enum npuplan_layout before = graph->layout;
	struct search search = { 0 };
	int err;

	if (graph->step_count || graph->tile_count)
		return npuplan_fail(error, -EINVAL, "graph %s is tiled already", graph->name);
	if (tiling->patch_count)
		return npuplan_fail(error, -EINVAL, "patches are told already");
	if (tiling->onchip || tiling->concat || tiling->op_count || tiling->clone_count ||
	    tiling->carry_copy_count || tiling->link_copy_count)
		return npuplan_fail(error, -EINVAL,
				    "patches are found where operators are cut alike, concats copy "
				    "and nothing is added");
	err = npuplan_graph_set_layout(graph, tiling->layout, error);
	if (err)
		return err;
	err = search_init(&search, graph, tiling, most_again);
	if (!err && graph->op_count)
		err = find(&search, graph, tiling);
	npuplan_pool_free(&search.pool);
	if (err)
		npuplan_fail(error, err, "out of memory");
	npuplan_graph_set_layout(graph, before, NULL);
	return err;
}
