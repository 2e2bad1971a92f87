/* SPDX-License-Identifier: MIT */
/*
 * The reference: what operator "mix" (npumem_mix.h) computes if no memory is
 * ever used twice. Each tensor has a buffer of its own; steps run in the order
 * of the graph. Whatever a plan does wrong to any byte shows in the outputs.
 */
#ifndef NPUMEMCTL_REFERENCE_H
#define NPUMEMCTL_REFERENCE_H

#include "npuplan.h"

/**
 * struct reference
 * @graph: tiled
 * @bytes: per tensor its buffer, or NULL: nothing accesses it, or it is a
 *	parameter that the plan does not place (and that no engine reads then)
 */
struct reference {
	const struct npuplan_graph *graph;
	uint8_t **bytes;
};

/** reference_init() - buffers for all tensors that @plan places; -ENOMEM
 *
 * Aliases share the buffer of the tensor they are part of.
 */
int reference_init(struct reference *ref, const struct npuplan_graph *graph,
		   const struct npuplan_plan *plan);
void reference_release(struct reference *ref);

/** reference_valid_at_entry() - inputs, state, parameters: written by nobody */
bool reference_valid_at_entry(const struct npuplan_tensor *tensor);

/** reference_randomize() - random bytes, by @seed, into all that is valid at entry
 * @state: into state, too
 */
void reference_randomize(struct reference *ref, uint64_t seed, bool state);

/** reference_run() - all steps, operator mix with @key */
void reference_run(struct reference *ref, uint64_t key);

/** reference_copy() - between a tensor's bytes and a mapped arena
 * @to_arena: or from it
 *
 * -EINVAL if the placement is not inside the tensor or the arena.
 */
int reference_copy(const struct npumem_placement *placement, uint8_t *tensor, uint64_t tensor_size,
		   uint8_t *arena, uint64_t arena_size, bool to_arena);

#endif /* NPUMEMCTL_REFERENCE_H */
