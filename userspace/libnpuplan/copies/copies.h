/* SPDX-License-Identifier: MIT */
/*
 * Which values that edges carry are copied: where the instances of a loop would be more than are
 * allowed, or where a plan is smaller for it.
 *
 *   copies/find.c     the search, and its trials: graphs with copies, and their instances
 *   copies/breaks.c   groups of names, how many instances each makes, and ways to break them
 */
#pragma once

#include "planners/loops/flow.h"

/*
 * The most work of trials, in pairs of names in instances. Beyond it no more single copies are
 * tried: what is left of the groups then is copied whole, or not; nor is it tried to leave out
 * copies.
 */
#define NPUPLAN_TRIAL_WORK 4000000000ull

/* struct npuplan_copy_set - copies, in order
 * @bytes: of all of them
 */
struct npuplan_copy_set {
	struct npuplan_carry_copy *list;
	uint32_t count;
	uint64_t bytes;
};

/*
 * struct npuplan_copy_search - a search for copies
 * @graph: the graph, not tiled
 * @tiling: how it is cut
 * @limit: instances, at most
 * @tiled: the graph without copies, cut
 * @names: its names; it has no instances
 * @work: of all trials so far
 */
struct npuplan_copy_search {
	const struct npuplan_graph *graph;
	const struct npuplan_tiling *tiling;
	const struct npuplan_effort *effort;
	uint32_t limit;
	struct npuplan_graph *tiled;
	struct npuplan_flow names;
	uint64_t work;
};

/* npuplan_copies_append() - add copies to a set, which the caller frees by npuplan_free() */
int npuplan_copies_append(struct npuplan_copy_set *set, const struct npuplan_copy_set *more);

/* npuplan_copies_tile() - the graph with the copies of a set, cut; the caller frees it */
int npuplan_copies_tile(const struct npuplan_copy_search *search,
			const struct npuplan_copy_set *set, struct npuplan_graph **tiled,
			struct npuplan_error *error);

/* struct npuplan_places - what instances a graph has
 * @refused: 0: no more than are allowed, and it can be planned without a further copy; else -E2BIG
 *	or -EOPNOTSUPP
 * @instances: of all blocks; 0: it is refused
 * @of_block: out, if it is not NULL: per block of the graph without copies, instances that are
 *	entered again and again; if there are none, all of it
 */
struct npuplan_places {
	int refused;
	uint32_t instances;
	uint32_t *of_block;
};

/* npuplan_copies_try() - find the instances of the graph with the copies of a set
 * @group: group whose values alone are looked at; NPUMEM_NONE: all
 *
 * -ENOMEM, -ETIMEDOUT, and what tiling fails with; that it does not fit is no failure, but has its
 * reason in @error.
 */
int npuplan_copies_try(struct npuplan_copy_search *search, const struct npuplan_copy_set *set,
		       uint32_t group, struct npuplan_places *places, struct npuplan_error *error);

/* struct npuplan_break - a way to copy values of a group
 * @fits: the instances that the group alone makes are few enough
 * @of_block: per block, how many that are
 */
struct npuplan_break {
	struct npuplan_copy_set set;
	bool fits;
	uint32_t *of_block;
};

/*
 * The most ways that are looked at for one group: no copy, single ones, and one that keeps each
 * name where it is.
 */
#define NPUPLAN_MAX_BREAKS 18

/* struct npuplan_group - names that carries join, whose values change places
 * @group: the lowest of its tensors
 * @breaks: ways to copy values, that without a copy first, the one that copies most last
 */
struct npuplan_group {
	uint32_t group;
	uint32_t break_count;
	struct npuplan_break breaks[NPUPLAN_MAX_BREAKS];
};

/* struct npuplan_groups - those of a graph that make instances */
struct npuplan_groups {
	struct npuplan_group *list;
	uint32_t count;
	struct npuplan_pool pool;
};

/* npuplan_groups_find() - find them, by ascending bytes of their last break
 *
 * The caller calls npuplan_groups_fini() in any case.
 */
int npuplan_groups_find(struct npuplan_copy_search *search, struct npuplan_groups *groups);
void npuplan_groups_fini(struct npuplan_groups *groups);

/* npuplan_groups_choose() - choose a break of each group, so that least bytes are copied
 * @limit: instances of all groups together, as far as can be told
 *
 * False: there is no such choice, or none was found soon enough.
 */
bool npuplan_groups_choose(const struct npuplan_copy_search *search,
			   const struct npuplan_groups *groups, uint32_t limit, uint32_t *picked);
