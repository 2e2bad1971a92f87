// SPDX-License-Identifier: MIT
/* Graphs with edges, byte by byte: each block as a straight graph, and what webs forbid of that. */
#include "tiles.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "graph/checked.h"
#include "straight.h"

bool npuplan_flow_whole(const struct npuplan_flow *flow)
{
	uint32_t count = flow->first_name[flow->graph->block_count];

	for (uint32_t i = 0; i < count; i++)
		if (flow->names[i].start != flow->names[i].sure_start ||
		    flow->names[i].end != flow->names[i].sure_end)
			return false;
	return true;
}

/* ------------------------------------------------------- a block's conflicts */

/* A block without steps has no graph: its names live from its entry to its exit. */
static int pass_on(struct npuplan_block_tiles *tiles, const struct npuplan_flow *flow,
		   uint32_t block)
{
	uint32_t first = flow->first_name[block], count = npuplan_name_count(flow, block);

	tiles->live.exit = 1;
	tiles->live.atoms = malloc((size_t)count * sizeof(*tiles->live.atoms) + 1);
	if (!tiles->live.atoms)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		tiles->live.atoms[tiles->live.atom_count++] = (struct npuplan_atom){
			.length = flow->graph->tensors[flow->names[first + i].tensor].size,
			.tensor = i,
			.start = flow->names[first + i].start,
			.end = flow->names[first + i].end,
		};
	return 0;
}

static int find_lives(struct npuplan_block_tiles *tiles, const struct npuplan_flow *flow,
		      uint32_t block, struct npuplan_error *error)
{
	struct npuplan_checked checked = { 0 };
	struct npuplan_graph *graph = NULL;
	int err = npuplan_straight_graph(flow, block, &graph);

	if (!err)
		err = npuplan_checked_init(&checked, graph, error);
	if (!err)
		err = npuplan_liveness_init(&tiles->live, checked.cells);
	npuplan_checked_fini(&checked);
	npuplan_graph_free(graph);
	return err;
}

/* Make an item for each name; every one has bytes that live at some instant. */
static int make_items(struct npuplan_block_tiles *tiles, const struct npuplan_flow *flow,
		      uint32_t block)
{
	uint32_t first = flow->first_name[block], count = npuplan_name_count(flow, block);

	tiles->items = malloc((size_t)count * sizeof(*tiles->items) + 1);
	if (!tiles->items)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		tiles->items[i] = (struct npuplan_item){
			.size = flow->graph->tensors[flow->names[first + i].tensor].size,
			.align = 1,
			.start = UINT32_MAX,
			.tensor = i,
		};
	for (uint32_t i = 0; i < tiles->live.atom_count; i++) {
		const struct npuplan_atom *atom = &tiles->live.atoms[i];
		struct npuplan_item *item = &tiles->items[atom->tensor];

		if (item->start > atom->start)
			item->start = atom->start;
		if (item->end < atom->end)
			item->end = atom->end;
	}
	return 0;
}

/*
 * Find the names of which live ranges say no more than must be. What is updated and not needed
 * afterwards is taken to live until the exit, and what leaves the block to live whole until then,
 * though what follows may need a part of it.
 */
static int find_exact(struct npuplan_block_tiles *tiles, const struct npuplan_flow *flow,
		      uint32_t block)
{
	uint32_t first = flow->first_name[block], count = npuplan_name_count(flow, block);

	tiles->exact = malloc((size_t)count * sizeof(*tiles->exact) + 1);
	if (!tiles->exact)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct npuplan_name *name = &flow->names[first + i];

		tiles->exact[i] = name->live_out ?
					  name->sure_end == tiles->live.exit :
					  npuplan_straight_kind(name) != NPUMEM_TENSOR_STATE;
	}
	return 0;
}

static int sum_taken(struct npuplan_block_tiles *tiles)
{
	tiles->taken = calloc((size_t)tiles->live.exit + 1, sizeof(*tiles->taken));
	if (!tiles->taken)
		return -ENOMEM;
	for (uint32_t i = 0; i < tiles->live.takeover_count; i++)
		tiles->taken[tiles->live.takeovers[i].instant] += tiles->live.takeovers[i].length;
	return 0;
}

static int init_block(struct npuplan_block_tiles *tiles, const struct npuplan_flow *flow,
		      uint32_t block, struct npuplan_error *error)
{
	struct npuplan_conflicts whole;
	bool approximated;
	int err;

	if (flow->graph->blocks[block].step_count)
		err = find_lives(tiles, flow, block, error);
	else
		err = pass_on(tiles, flow, block);
	if (!err)
		err = make_items(tiles, flow, block);
	if (!err)
		err = npuplan_conflicts_whole(&whole, tiles->items,
					      npuplan_name_count(flow, block));
	if (err)
		return err;
	/* Names of too many pieces are taken as whole, which is safe. */
	err = npuplan_displacement_conflicts(&tiles->conflicts, &whole, &tiles->live,
					     &approximated);
	npuplan_conflicts_fini(&whole);
	if (!err)
		err = npuplan_permit_in_place(&tiles->conflicts, &tiles->live);
	if (!err)
		err = find_exact(tiles, flow, block);
	return err ? err : sum_taken(tiles);
}

int npuplan_flow_tiles_init(struct npuplan_flow_tiles *tiles, const struct npuplan_flow *flow,
			    struct npuplan_error *error)
{
	uint32_t count = flow->graph->block_count;
	struct npuplan_error why = { "" };
	char label[128];
	int err = 0;

	*tiles = (struct npuplan_flow_tiles){
		.blocks = calloc((size_t)count + 1, sizeof(*tiles->blocks)),
	};
	if (!tiles->blocks)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	for (; tiles->count < count && !err; tiles->count++)
		err = init_block(&tiles->blocks[tiles->count], flow, tiles->count, &why);
	if (err)
		return npuplan_fail(error, err, "tiles of %s: %s",
				    npuplan_block_label(flow->graph, tiles->count - 1, label),
				    why.text[0] ? why.text : strerror(-err));
	return 0;
}

void npuplan_flow_tiles_fini(struct npuplan_flow_tiles *tiles)
{
	for (uint32_t i = 0; i < tiles->count; i++) {
		npuplan_conflicts_fini(&tiles->blocks[i].conflicts);
		npuplan_liveness_fini(&tiles->blocks[i].live);
		free_all(tiles->blocks[i].items, tiles->blocks[i].exact, tiles->blocks[i].taken);
	}
	free(tiles->blocks);
	*tiles = (struct npuplan_flow_tiles){ 0 };
}

/* ------------------------------------------------------- conflicts of webs */

/*
 * struct tile_tie - two webs that two names of a block put in each other's way
 * @peer: what the names forbid, as the list of the one in @item has it: number in the peers of
 *	the block's conflicts
 * @mirrored: @item is of web @a, so that displacements are those of @a, less @b
 */
struct tile_tie {
	uint32_t a;
	uint32_t b;
	uint32_t block;
	uint32_t item;
	size_t peer;
	bool mirrored;
};

NPUPLAN_ORDER(by_webs, struct tile_tie, a, b, block, peer, mirrored)

/* struct tile_ties - a list of ties that may grow to @most of them */
struct tile_ties {
	struct tile_tie *list;
	uint32_t count;
	uint32_t most;
};

static int tie_instance(const struct npuplan_webs *webs, const struct npuplan_flow *flow,
			uint32_t instance, const struct npuplan_conflicts *conflicts,
			struct tile_ties *ties)
{
	uint32_t block = flow->instances[instance].block;
	const uint32_t *web_of = webs->web_of + flow->instances[instance].first_node;
	int err = 0;

	for (uint32_t i = 0; i < conflicts->item_count; i++) {
		for (size_t p = conflicts->peer_start[i]; p < conflicts->peer_start[i + 1] && !err;
		     p++) {
			const struct npuplan_peer *peer = &conflicts->peers[p];
			uint32_t a = web_of[peer->item], b = web_of[i];
			const struct tile_tie tie = { a < b ? a : b, a < b ? b : a, block, i, p,
						      b < a };

			/* Each pair is listed twice, and names of one web have one value. */
			if (peer->item > i || a == b)
				continue;
			if (ties->count == ties->most)
				return -E2BIG;
			err = npuplan_append(&ties->list, &ties->count, &tie, 1);
		}
	}
	return err;
}

/* Append what a tie forbids: displacements that are the address of web b, less that of web a. */
static int add_intervals(const struct npuplan_flow_tiles *tiles, const struct tile_tie *tie,
			 struct npuplan_intervals *list)
{
	struct npuplan_interval whole;
	uint32_t count;
	const struct npuplan_conflicts *conflicts = &tiles->blocks[tie->block].conflicts;
	const struct npuplan_interval *at = npuplan_forbidden(
		conflicts, tie->item, &conflicts->peers[tie->peer], &whole, &count);
	int err = npuplan_reserve(&list->at, &list->capacity, (uint32_t)list->count + count,
				  sizeof(*list->at));

	for (uint32_t k = 0; k < count && !err; k++)
		list->at[list->count++] =
			tie->mirrored ? (struct npuplan_interval){ -at[k].high, -at[k].low } :
					at[k];
	return err;
}

/* Add the pair of webs that the ties @first .. @end are of. */
static int add_pair(const struct npuplan_webs *webs, const struct npuplan_flow_tiles *tiles,
		    const struct tile_tie *first, const struct tile_tie *end,
		    struct npuplan_intervals *list, struct npuplan_pair *pair)
{
	size_t before = list->count;
	int err = 0;

	for (const struct tile_tie *tie = first; tie < end && !err; tie++)
		/* Instances of a block may tie the same webs by the same names. */
		if (tie == first || tie->block != tie[-1].block || tie->peer != tie[-1].peer ||
		    tie->mirrored != tie[-1].mirrored)
			err = add_intervals(tiles, tie, list);
	if (err)
		return err;
	npuplan_intervals_unite(list, before);
	*pair = (struct npuplan_pair){
		.a = first->a,
		.b = first->b,
		.interval_count = (uint32_t)(list->count - before),
		.first_interval = before,
	};
	if (pair->interval_count == 1 &&
	    list->at[before].low == -(int64_t)webs->items[pair->b].size &&
	    list->at[before].high == (int64_t)webs->items[pair->a].size) {
		list->count--;
		pair->interval_count = 0;
	}
	return 0;
}

int npuplan_tiles_conflicts(struct npuplan_webs *webs, const struct npuplan_flow *flow,
			    const struct npuplan_flow_tiles *tiles, uint32_t most)
{
	struct tile_ties ties = { .most = most };
	struct npuplan_intervals list = { 0 };
	struct npuplan_pair *pairs = NULL;
	size_t count = 0;
	int err = 0;

	for (uint32_t p = 0; p < flow->instance_count && !err; p++)
		err = tie_instance(webs, flow, p,
				   &tiles->blocks[flow->instances[p].block].conflicts, &ties);
	if (!err && ties.count)
		qsort(ties.list, ties.count, sizeof(*ties.list), by_webs);
	pairs = malloc((size_t)ties.count * sizeof(*pairs) + 1);
	if (!pairs)
		err = -ENOMEM;
	for (uint32_t i = 0, end; i < ties.count && !err; i = end) {
		for (end = i + 1; end < ties.count && ties.list[end].a == ties.list[i].a &&
				  ties.list[end].b == ties.list[i].b;
		     end++)
			;
		err = add_pair(webs, tiles, &ties.list[i], &ties.list[end], &list, &pairs[count++]);
	}
	if (!err)
		err = npuplan_conflicts_pairs(&webs->conflicts, webs->items, webs->web_count, pairs,
					      count, list.at);
	npuplan_free_all(ties.list, list.at);
	free(pairs);
	return err;
}
