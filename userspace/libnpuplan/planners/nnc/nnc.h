/* SPDX-License-Identifier: MIT */
/*
 * The NNC tensor allocation algorithm ("The NNC Tensor Allocation Algorithm",
 * Liu Liu, libnnc.org).
 *
 * Interference graph: a node an item, an edge where two are in each other's way;
 * that is npuplan_conflicts. Allocation graph (planners/nnc/allocation.h): a node an item,
 * a source, a sink, and edges that hand bytes on. Items are inserted a tuple of up
 * to three at a time until none is left.
 *
 * As published (section "The Core Algorithm"):
 *
 * - Set 1: of the items not inserted, those with the most edges in the whole
 *   interference graph. Each is a candidate; so is it with a larger item that it
 *   does not interfere with, and with two such items that do not interfere with
 *   each other either.
 * - Candidates are tried largest first (the largest item of the tuple counts), of
 *   these the one with most edges in all first. The first that finds an edge of the
 *   allocation graph between two items, neither of which interferes with any of
 *   the tuple, is taken. If none does, the first candidate is, with a new edge from
 *   the source to the sink as wide as its largest item.
 * - Insertion splits the edge: the first of the tuple takes its bytes from the
 *   edge's start, the next from the first and, if it is larger, the rest from the
 *   start, and so on; what each leaves over goes to the edge's end.
 * - The buffer is as large as all that leaves the source.
 *
 * What the publication leaves open, and how it is here:
 *
 * - Which larger item: the largest not inserted; of equal ones that with most
 *   edges, then the one accessed first. The third is the next one in that order.
 * - Candidates that are equal: the greater sum of sizes first; then that whose
 *   item of set 1 is accessed first. Accessed first: start, then end, then index.
 * - The edge must be wide enough, and its start accessed before, its end after the
 *   tuple. Of several the narrowest; then that between the two items closest in
 *   the order of access; then the lowest.
 * - Offsets: see planners/nnc/allocation.h. Alignment widens what is taken of an edge;
 *   fixed items are inserted first, at their offsets.
 * - The relation of interference need not be that of intervals of time (loops,
 *   in-place operators): each address is checked against the conflicts of all items
 *   placed, at their displacement, before it is taken.
 *
 * Read to the letter (NPUPLAN_NNC_PUBLISHED) nothing is ever put before the first or
 * after the last item of a flow, so a chain of equal tensors shares nothing. The
 * planner (NPUPLAN_NNC_EXTENDED) goes beyond it:
 *
 * - If no candidate finds an edge, the items of set 1 are tried, in the same order,
 *   at the lowest address below the top of the buffer at which several edges next
 *   to each other, those of the source and the sink too, leave room: an item may
 *   take bytes of any number of predecessors.
 * - If there is none, the first candidate goes where the buffer grows least.
 * - In the end all items are moved down as far as they go, in the order of their
 *   offsets. With whole conflicts the top does not rise by that; otherwise, if it
 *   did, they stay.
 * - If the top is above the capacity (the lower bound), it is all done again, up to the
 *   limit of work: items that ended above the capacity count as having as many more edges as
 *   any item has, and so come first. The best is kept. With small graphs the first
 *   dozen of these rounds finds most of what there is to be found.
 */
#pragma once

#include "allocation.h"
#include "problem/packing.h"

#define NPUPLAN_NNC_TUPLE 3

/** enum npuplan_nnc_form - as published, or with what was added */
enum npuplan_nnc_form {
	NPUPLAN_NNC_EXTENDED,
	NPUPLAN_NNC_PUBLISHED,
};

/*
 * struct npuplan_nnc_tuple - items that are inserted together, in the order of access
 * @size: bytes of the largest item
 * @sum: sum of the sizes of all
 * @edges: edges of all in the interference graph
 * @lead: the one among them that is of set 1
 */
struct npuplan_nnc_tuple {
	uint32_t items[NPUPLAN_NNC_TUPLE];
	uint32_t count;
	uint32_t lead;
	uint64_t size;
	uint64_t sum;
	uint64_t edges;
};

/*
 * struct npuplan_nnc_insertion - one insertion, for a caller that wants to watch the algorithm
 * @tuple: the tuple that was inserted
 * @base: its base address
 * @from, @to: ends of the edge that was split; source and sink if there was none
 * @allocation: the allocation graph after it
 */
struct npuplan_nnc_insertion {
	const struct npuplan_nnc_tuple *tuple;
	uint64_t base;
	uint32_t from;
	uint32_t to;
	const struct npuplan_nnc_allocation *allocation;
};

/*
 * struct npuplan_nnc_options - options of npuplan_nnc(); 0 is the default of each
 * @alignment: bytes that every offset is a multiple of, besides the items' own alignments: a power
 *	of two; 0 is 1
 * @capacity: a top that is low enough; 0: there is one round only
 * @work_limit: work units after which no round begins; 0: NPUPLAN_NNC_WORK
 * @until: may be NULL. When it says to give up, the items that are not inserted are placed by first
 *	fit, the largest first
 * @improved: called with each better packing; may be NULL
 * @inserted: called after each insertion, but not of fixed items; may be NULL
 */
struct npuplan_nnc_options {
	enum npuplan_nnc_form form;
	uint32_t alignment;
	uint64_t capacity;
	uint64_t work_limit;
	const struct npuplan_until *until;
	void (*improved)(void *context, uint64_t top);
	void (*inserted)(void *context, const struct npuplan_nnc_insertion *insertion);
	void *context;
};

/* The default limit of work: about a second. */
#define NPUPLAN_NNC_WORK 100000000ull

/* npuplan_nnc() - place all items
 * @offsets: out: per item, its address
 * @top: out: first byte above all
 * @work: edges and intervals looked at are added
 * @clash: out, on -EADDRINUSE: two items whose fixed offsets collide
 *
 * Sizes and fixed offsets may add up to at most 2^62. This takes O(n) memory, and O(n^2) time in
 * the worst case. -ENOMEM.
 */
int npuplan_nnc(const struct npuplan_conflicts *conflicts,
		const struct npuplan_nnc_options *options, uint64_t *offsets, uint64_t *top,
		uint64_t *work, uint32_t clash[2]);

/* NNC as a planner (planners/planner.h); @form is an enum npuplan_nnc_form. */
int npuplan_pack_nnc(const struct npuplan_problem *problem, int form,
		     struct npuplan_packing *packing, struct npuplan_error *error);
