/* SPDX-License-Identifier: MIT */
/*
 * Graphs with edges, byte by byte: TAA's forbidden displacements (taa/displacements.h) of the names
 * of each block, and of webs.
 *
 * What lives at a block's entry and at its exit lives whole. Between the two a block is a straight
 * graph of its own, whose inputs are the names that are live on entry and whose outputs are those
 * that are live on exit, and its bytes have the live ranges that liveness.h finds in any straight
 * graph. Two webs forbid each other what any two of their names forbid in any block.
 */
#pragma once

#include "flow.h"
#include "planners/taa/displacements.h"

/*
 * struct npuplan_block_tiles - the names of one block as a straight graph
 * @live: live ranges of its bytes; tensor i is the block's i-th name
 * @items: an item for each name, in their order; instants are counted in the block
 * @conflicts: what they forbid each other
 * @exact: per name, no plan can do with less of it than @live says, but for bytes that only live at
 *	the entry
 * @taken: per instant, bytes that operators in place take over
 */
struct npuplan_block_tiles {
	struct npuplan_liveness live;
	struct npuplan_item *items;
	struct npuplan_conflicts conflicts;
	bool *exact;
	uint64_t *taken;
};

/* struct npuplan_flow_tiles - the tiles of all @count blocks of a flow */
struct npuplan_flow_tiles {
	struct npuplan_block_tiles *blocks;
	uint32_t count;
};

/** npuplan_flow_whole() - whether all bytes of each name live from its start to its end */
bool npuplan_flow_whole(const struct npuplan_flow *flow);

/* npuplan_flow_tiles_init() - find the live ranges and conflicts of all blocks
 *
 * The caller calls npuplan_flow_tiles_fini() in any case. -E2BIG: too many names of a block live
 * together; -ENOMEM.
 */
int npuplan_flow_tiles_init(struct npuplan_flow_tiles *tiles, const struct npuplan_flow *flow,
			    struct npuplan_error *error);
void npuplan_flow_tiles_fini(struct npuplan_flow_tiles *tiles);

/* npuplan_tiles_conflicts() - list the conflicts of webs, whose web_of and items are filled in
 * @most: number of pairs of names, in all instances, that may be looked at
 *
 * -E2BIG: there are more than @most; -ENOMEM.
 */
int npuplan_tiles_conflicts(struct npuplan_webs *webs, const struct npuplan_flow *flow,
			    const struct npuplan_flow_tiles *tiles, uint32_t most);
