/* SPDX-License-Identifier: MIT */
/*
 * Positions of a plan executed in this process: steps by the engine's kernels, on the bytes that
 * the plan gives them, and transfers by copying.
 */
#pragma once

#include "npumem_layout.h"
#include "program.h"

struct compute;

/*
 * compute_new() - find out where each access of each step lies
 * @program: what steps compute
 * @layout: of the plan
 * @maps: its memory, which is the caller's; it, and the others, have to stay
 *
 * -EINVAL: a byte that a step accesses has no place; -ENOMEM.
 */
int compute_new(const struct program *program, const struct npumem_layout *layout,
		const struct npumem_maps *maps, struct compute **out, struct why *why);
void compute_free(struct compute *compute);

/* compute_position() - whoever keeps the states has let it go; -EIO: the kernel has refused it */
int compute_position(struct compute *compute, uint32_t position, struct why *why);
