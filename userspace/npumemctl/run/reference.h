/* SPDX-License-Identifier: MIT */
/*
 * The reference: what operator "mix" (npumem_mix.h) computes if no memory is
 * ever used twice. Each tensor has a buffer of its own; steps run in the order
 * of the graph, block after block; what an edge carries is copied. Whatever a plan
 * does wrong to any byte shows in the outputs.
 */
#pragma once

#include "npuplan.h"

/**
 * struct reference
 * @graph: tiled
 * @bytes: per tensor its buffer, or NULL: nothing accesses it, or it is a
 *	parameter that the plan does not place (and that no engine reads then)
 * @entry: per tensor whether it, or part of it under another name, is valid
 *	before the first step
 * @carried: room for what one edge carries
 */
struct reference {
	const struct npuplan_graph *graph;
	uint8_t **bytes;
	bool *entry;
	uint8_t *carried;
};

/* reference_init() - buffers for all tensors that are external or that @plan places
 *
 * Aliases share the buffer of the tensor they are part of. -ENOMEM.
 */
int reference_init(struct reference *ref, const struct npuplan_graph *graph,
		   const struct npuplan_plan *plan);
void reference_fini(struct reference *ref);

/* reference_randomize() - random bytes, by @seed, into all that is valid at entry
 * @state: into state, too
 */
void reference_randomize(struct reference *ref, uint64_t seed, bool state);

/** reference_block() - all steps of a block of the graph, operator mix with @key */
void reference_block(struct reference *ref, uint32_t block, uint64_t key);

/** reference_edge() - what an edge of the graph carries, all at once */
void reference_edge(struct reference *ref, uint32_t edge);

/* reference_copy() - between a tensor's bytes and a mapped arena
 * @to_arena: or from it
 *
 * -EINVAL if the placement is not inside the tensor or the arena.
 */
int reference_copy(const struct npumem_placement *placement, uint8_t *tensor, uint64_t tensor_size,
		   uint8_t *arena, uint64_t arena_size, bool to_arena);
