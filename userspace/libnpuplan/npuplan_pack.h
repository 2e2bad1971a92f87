/* SPDX-License-Identifier: MIT */
/* Packing alone: buffers with live ranges into one arena. Include npuplan.h. */
#ifndef NPUPLAN_PACK_H
#define NPUPLAN_PACK_H

#include "npuplan_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct npuplan_pack_progress - what a packer or planner has got so far
 * @top: of the best packing; UINT64_MAX if there is none yet
 * @lower_bound: proved; of all packings
 * @work: units of work so far
 * @gap: (top - lower_bound) / lower_bound
 * @seconds: since it began
 * @traffic: @top and @lower_bound are bytes spilled and filled; the gap is relative
 *	to @top
 */
struct npuplan_pack_progress {
	uint64_t top;
	uint64_t lower_bound;
	uint64_t work;
	double gap;
	double seconds;
	bool traffic;
};

/**
 * struct npuplan_item - what is placed at one address
 * @size: bytes, > 0
 * @fixed_offset: its address, if @fixed
 * @align: power of two
 * @start: first instant at which it holds bytes; any unit of time
 * @end: last instant at which it does
 * @tensor: index of the tensor that it stands for; the packer does not look at it
 * @fixed: the item has an address already
 */
struct npuplan_item {
	uint64_t size;
	uint64_t fixed_offset;
	uint32_t align;
	uint32_t start;
	uint32_t end;
	uint32_t tensor;
	bool fixed;
};

struct npuplan_conflicts;

/**
 * struct npuplan_pack_problem - items to place in one arena
 * @items: what is to be placed
 * @capacity: bytes; the packer stops at the first packing within. 0: as low as
 *	can be
 * @lower_bound: bytes that the caller knows no packing to be below; 0 for none
 * @item_count: number of @items
 * @alignment: of every offset, besides the items' own: power of two; 0 = 1
 * @conflicts: who is in whose way; NULL: items whose live ranges overlap
 */
struct npuplan_pack_problem {
	const struct npuplan_item *items;
	const struct npuplan_conflicts *conflicts;
	uint64_t capacity;
	uint64_t lower_bound;
	uint32_t item_count;
	uint32_t alignment;
};

/**
 * struct npuplan_pack_options - zero = default
 * @packer: name, or NULL for "exact"
 * @work_limit: deterministic work units; 0 = NPUPLAN_PACK_WORK
 * @memory_limit: bytes that the packer may hold, besides the problem and the check of
 *	what it found; 0 = any. What would take more ends the search
 * @deadline_seconds: 0 = none. Where it cuts in depends on the machine
 * @context: first argument of @progress
 * @progress: called on each better packing and bound, and now and then; anything
 *	but 0 ends the search, which then returns what it has
 */
struct npuplan_pack_options {
	const char *packer;
	uint64_t work_limit;
	uint64_t memory_limit;
	double deadline_seconds;
	int (*progress)(void *context, const struct npuplan_pack_progress *progress);
	void *context;
};

/* Default limit of work, which takes some seconds. */
#define NPUPLAN_PACK_WORK 2000000000ull

/**
 * struct npuplan_pack_result - what a packer found
 * @top: first byte above all items, 0 if there are no items; UINT64_MAX if no packing was
 *	found. May be above the capacity: the best found, though the status is unknown or
 *	infeasible
 * @lower_bound: proved; of all packings
 * @work: units of work that it took
 * @status: enum npumem_plan_status. A feasible or optimal packing is within the capacity, if
 *	that is not 0. Unknown: none within it was found; infeasible: it is proved that
 *	there is none
 * @memory_ended: the limit of memory ended the search
 * @seconds: wall clock that it took
 * @reserved: room for later versions; zero
 */
struct npuplan_pack_result {
	uint64_t top;
	uint64_t lower_bound;
	uint64_t work;
	uint32_t status;
	bool memory_ended;
	double seconds;
	uint64_t reserved[4];
};

NPUPLAN_EXPORT int npuplan_pack_sized(const struct npuplan_pack_problem *problem,
				      size_t problem_size,
				      const struct npuplan_pack_options *options,
				      size_t options_size, uint64_t *offsets,
				      struct npuplan_pack_result *result,
				      struct npuplan_error *error);
/**
 * npuplan_pack() - place items
 * @problem: what is to be placed
 * @options: may be NULL
 * @offsets: out: per item, unless result->top is UINT64_MAX
 * @result: out: what was found
 * @error: filled in if the call fails; may be NULL
 *
 * Whatever comes back has been checked, independently of how it was found. Same
 * input, same output, unless the deadline or @progress cuts in. Sizes and fixed
 * offsets may add up to at most 2^62.
 *
 * -EINVAL: an item is malformed (the error says which, and what is wrong).
 * -EOPNOTSUPP: unknown packer, or one that cannot pack such items. -ENOMEM.
 */
static inline int npuplan_pack(const struct npuplan_pack_problem *problem,
			       const struct npuplan_pack_options *options, uint64_t *offsets,
			       struct npuplan_pack_result *result, struct npuplan_error *error)
{
	return npuplan_pack_sized(problem, sizeof(*problem), options, sizeof(*options), offsets,
				  result, error);
}

NPUPLAN_EXPORT int npuplan_pack_check_sized(const struct npuplan_pack_problem *problem,
					    size_t problem_size, const uint64_t *offsets,
					    uint64_t *top, struct npuplan_error *error);
/**
 * npuplan_pack_check() - whether a packing is one, pair by pair
 * @problem: what is to be placed
 * @offsets: per item, its address
 * @top: out: first byte above all items; may be NULL
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: it is not; the error names the items by their numbers.
 */
static inline int npuplan_pack_check(const struct npuplan_pack_problem *problem,
				     const uint64_t *offsets, uint64_t *top,
				     struct npuplan_error *error)
{
	return npuplan_pack_check_sized(problem, sizeof(*problem), offsets, top, error);
}

/**
 * npuplan_packer_name() - name of the i-th packer
 * @i: from 0 on
 *
 * NULL past the last. The text is the library's.
 */
NPUPLAN_EXPORT const char *npuplan_packer_name(unsigned int i);
/**
 * npuplan_packer_purpose() - what the i-th packer does, in one line
 * @i: as of npuplan_packer_name()
 *
 * NULL past the last. The text is the library's.
 */
NPUPLAN_EXPORT const char *npuplan_packer_purpose(unsigned int i);
/**
 * npuplan_packer_published() - whether the i-th packer does as a publication says
 * @i: as of npuplan_packer_name()
 *
 * Such packers are there to compare with; false past the last.
 */
NPUPLAN_EXPORT bool npuplan_packer_published(unsigned int i);

#ifdef __cplusplus
}
#endif

#endif /* NPUPLAN_PACK_H */
