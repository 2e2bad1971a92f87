/* SPDX-License-Identifier: MIT */
/* Operators that depend on a tensor, as far as something of it is alive until they run. */
#pragma once

#include "model.h"

/* Operators that are looked at. */
#define COSMA_REACH 32

/**
 * struct cosma_route - a path of tensors from one tensor to an operator
 * @op: where it ends
 * @first: operator of the path that uses the tensor it begins with
 * @via: tensor of the path that @op uses
 * @width: bytes of the smallest tensor of the path: so many, at least, are alive until
 *	@op runs
 */
struct cosma_route {
	uint32_t op;
	uint32_t first;
	uint32_t via;
	int64_t width;
};

/** struct cosma_reach - routes to operators, of these ascending, so in a topological order */
struct cosma_reach {
	struct cosma_route route[COSMA_REACH];
	uint32_t count;
};

/* A route, kept if it is the widest to its operator; false if there is no room (chains.c). */
bool cosma_reach_add(struct cosma_reach *reach, struct cosma_route route);
