/* SPDX-License-Identifier: MIT */
/*
 * A graph of int8 operators (int8_ops.h), run whole, step by step, and through a
 * plan's arena. What comes out must be the same bytes.
 */
#pragma once

#include "int8_ops.h"

/*
 * struct int8_net - a graph and the values of all its tensors, operator by operator
 * @bytes: per tensor its bytes, in the graph's layout
 * @element: per tensor and byte which element it is, in the source's order; -1: none
 * @text: what is wrong
 */
struct int8_net {
	const struct npuplan_graph *graph;
	enum int8_resize resize;
	int8_t **bytes;
	int64_t **element;
	char text[400];
};

/* int8_net_init() - draw inputs, parameters and state, and compute all else whole
 *
 * The graph has its layout by now; it may be tiled before or after. False: an
 * operator is not known here; a tensor is an alias, but of a joined concat or split (text says
 * which).
 */
bool int8_net_init(struct int8_net *net, const struct npuplan_graph *graph, enum int8_resize resize,
		   uint64_t seed);
void int8_net_fini(struct int8_net *net);

/*
 * int8_check_tiles() - each step, from the bytes that it reads alone
 *
 * All that a step writes is computed from what it reads, and compared; any other
 * byte of its inputs is not there. Every byte of an output must be written once.
 * @loaded, @read: add up, if not NULL, bytes that arithmetic needed and bytes that
 * steps read. False: text says operator, step, tile and byte.
 */
bool int8_check_tiles(struct int8_net *net, uint64_t *loaded, uint64_t *read);

/*
 * int8_run_plan() - the steps in the plan's order, in the plan's arena
 *
 * The arena and the host buffer begin full of noise. A staged step takes all that it
 * reads before it stores; another one loads and stores element by element. Loads,
 * stores, spills and fills copy. All outputs must be those of the net. False: text
 * says what differs.
 */
bool int8_run_plan(struct int8_net *net, const struct npuplan_plan *plan);
