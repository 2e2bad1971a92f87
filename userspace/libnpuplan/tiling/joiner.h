/* SPDX-License-Identifier: MIT */
/* Between the parts of join.h: what is joined, and the steps that are left. */
#pragma once

#include "base/pool.h"
#include "lives.h"
#include "strip.h"

/*
 * struct joiner - concats, splits and slices of a graph that are joined
 * @is_part: per tensor that is no alias: it has no bytes of its own any more
 * @strips: per tensor, where it lies if it is a part
 * @is_kept: per tensor, whether one of its aliases, or it, is an output of the graph
 * @align: per tensor, its alignment, its aliases' included
 * @first_tile, @tiles: the tiles of a tensor that is no alias, and of its aliases, are
 *	tiles[first_tile[t]] and those after it
 * @lives: bytes that live at once; NULL: they do not matter
 * @inputs: what became of inputs of concats, and of outputs of splits and slices; @first_input: per
 *	operator its first one
 * @is_there: per operator, whether its whole lies where its parts did already
 */
struct joiner {
	struct npuplan_graph *graph;
	struct npuplan_pool pool;
	bool *is_part;
	struct npuplan_strip *strips;
	bool *is_kept;
	uint32_t *align;
	uint32_t *first_tile;
	uint32_t *tiles;
	struct npuplan_lives *lives;
	struct npuplan_concat_input *inputs;
	uint32_t *first_input;
	bool *is_there;
	uint32_t input_count;
};

/*
 * npuplan_check_parts() - whether a concat, a split or a slice as a whole can be joined
 * @parts: what npuplan_parts_of() says of it
 * @strips: out: of each part, in the last base
 */
enum npuplan_join npuplan_check_parts(const struct joiner *j, uint32_t op,
				      const struct npuplan_parts *parts,
				      struct npuplan_strip *strips);

/* npuplan_join_steps() - the graph's steps anew, once it is settled what is joined; -ENOMEM */
int npuplan_join_steps(struct joiner *j);
