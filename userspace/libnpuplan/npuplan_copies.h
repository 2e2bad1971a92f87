/* SPDX-License-Identifier: MIT */
/* Copies of what the edges of a graph carry, so that loops can be planned. Include npuplan.h. */
#ifndef NPUPLAN_COPIES_H
#define NPUPLAN_COPIES_H

#include "npuplan_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** enum npuplan_copying - when values that edges carry are copied (docs/planners.md) */
enum npuplan_copying {
	NPUPLAN_COPYING_NEEDED = 0,  /* where a graph could not be planned otherwise */
	NPUPLAN_COPYING_SMALLER = 1, /* there, and where the arena is smaller for it */
};

/**
 * struct npuplan_carry_copies - values that edges carry and that are better copied first
 * @copies: for npuplan_tiling; npuplan_carry_copies_fini() it
 * @copy_count: number of @copies; 0: none are needed, or none help
 * @instances: of all blocks, with these copies; 0: not known
 * @bytes: copied if each of the edges is taken once
 * @arena_without: arena of the plan without copies, or with those that are needed alone; 0: nobody
 *	asked for less
 * @reserved: room for later versions; zero
 */
struct npuplan_carry_copies {
	struct npuplan_carry_copy *copies;
	uint32_t copy_count;
	uint32_t instances;
	uint64_t bytes;
	uint64_t arena_without;
	uint64_t reserved[4];
};

NPUPLAN_EXPORT int npuplan_carry_copies_find_sized(
	const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
	const struct npuplan_options *options, size_t options_size, uint32_t copying,
	uint32_t instances, struct npuplan_carry_copies *out, struct npuplan_error *error);
/**
 * npuplan_carry_copies_find() - which values that edges carry to copy, so that loops can be planned
 * @graph: not tiled
 * @tiling: how it is to be cut, without ways of single operators and clones
 * @options: those that the graph is then planned with; may be NULL
 * @copying: enum npuplan_copying
 * @instances: of blocks, at most, below the planners' limit of 4096; 0: that
 * @out: out: what was found, all zeros if the call fails; npuplan_carry_copies_fini() it
 * @error: filled in if the call fails; may be NULL
 *
 * Of ways to stay within the limit it takes one that copies few bytes; where work lasts none of its
 * copies can be left out. A graph that cannot be tiled or planned for another reason is not looked
 * at: planning says that. Bound and status of a plan are those of the graph with its copies.
 * -E2BIG, -EOPNOTSUPP: copies do not help; the error is that of the graph without. -ETIMEDOUT: the
 * deadline came first. -EINVAL: there is no such way of copying, or the limit is too high.
 * Otherwise as npuplan_plan().
 */
static inline int npuplan_carry_copies_find(const struct npuplan_graph *graph,
					    const struct npuplan_tiling *tiling,
					    const struct npuplan_options *options, uint32_t copying,
					    uint32_t instances, struct npuplan_carry_copies *out,
					    struct npuplan_error *error)
{
	return npuplan_carry_copies_find_sized(graph, tiling, options, sizeof(*options), copying,
					       instances, out, error);
}
/**
 * npuplan_carry_copies_fini() - free what a struct npuplan_carry_copies owns
 * @copies: is zeroed; the struct itself is the caller's
 */
NPUPLAN_EXPORT void npuplan_carry_copies_fini(struct npuplan_carry_copies *copies);

#ifdef __cplusplus
}
#endif

#endif /* NPUPLAN_COPIES_H */
