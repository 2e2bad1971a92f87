/* SPDX-License-Identifier: MIT */
/* Between the parts of join.h: which concats are joined, and the steps that are left. */
#pragma once

#include "base/pool.h"
#include "lives.h"
#include "strip.h"

/*
 * struct joiner - concats of a graph that are joined
 * @is_part: per tensor that is no alias: it has no bytes of its own any more
 * @strips: per tensor, where it lies if it is a part
 * @is_kept: per tensor, whether one of its aliases, or it, is an output of the graph
 * @align: per tensor, its alignment, its aliases' included
 * @first_tile, @tiles: the tiles of a tensor that is no alias, and of its aliases, are
 *	tiles[first_tile[t]] and those after it
 * @lives: bytes that live at once; NULL: they do not matter
 * @inputs: what became of inputs of concats; @first_input: per operator its first one
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
	uint32_t input_count;
};

/*
 * npuplan_check_concat() - whether a concat as a whole can be joined
 * @strips: out: of each input, in the last base
 */
enum npuplan_join npuplan_check_concat(const struct joiner *j, uint32_t op,
				       struct npuplan_strip *strips);

/* npuplan_join_steps() - the graph's steps anew, once it is settled what is joined; -ENOMEM */
int npuplan_join_steps(struct joiner *j);
