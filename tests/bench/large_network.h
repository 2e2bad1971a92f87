/* SPDX-License-Identifier: MIT */
/* Large networks for benchmarks and tests of planners: the same graph for the same arguments. */
#pragma once

#include "npuplan.h"

/*
 * large_network() - made up
 * @shape: "chain", "ladder" (two chains with rungs) or "random": up to three inputs an operator,
 *	mostly of what was made lately
 * @ops: operators
 *
 * Returns the graph, or NULL.
 */
struct npuplan_graph *large_network(const char *shape, uint32_t ops);

/*
 * large_network_of() - a network's operators, again and again
 * @body: the network: whole operators, without loops
 * @ops: operators at least; the last body is whole
 * @shared: all bodies read the same other inputs (the memory of a decoder); else each has its own
 *
 * The first output of a body is the first input of the next one, with that input's bytes.
 * Parameters are those of each body. Returns the graph, or NULL.
 */
struct npuplan_graph *large_network_of(const struct npuplan_graph *body, uint32_t ops, bool shared);
