/* SPDX-License-Identifier: MIT */
/*
 * The reach of a tensor is the operators that depend on it, as far as something of it is alive
 * until they run.
 */
#pragma once

#include "model.h"

/* Operators of a reach at most. */
#define COSMA_REACH 32

/**
 * struct cosma_route - a path of tensors from one tensor to an operator
 * @op: operator that it ends at
 * @first: operator of the path that uses the tensor it begins with
 * @via: tensor of the path that @op uses
 * @width: bytes of the smallest tensor of the path: so many, at least, are alive until @op runs
 */
struct cosma_route {
	uint32_t op;
	uint32_t first;
	uint32_t via;
	int64_t width;
};

/*
 * struct cosma_reach - routes by the operators they end at, ascending, so in a topological order
 */
struct cosma_reach {
	struct cosma_route route[COSMA_REACH];
	uint32_t count;
};

/*
 * Adds a route, if it is the widest to its operator (chains.c); false if there is no room for it.
 */
bool cosma_reach_add(struct cosma_reach *reach, struct cosma_route route);
