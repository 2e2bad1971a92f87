// SPDX-License-Identifier: MIT
/* NNC: one construction of the allocation graph (a round). */
#include "base/align.h"
#include "pack/greedy/first_fit.h"
#include "base/sorted.h"
#include "build.h"

#define NONE UINT32_MAX

/* The number of empty edges from which on they are taken out. */
#define MANY_EMPTY 1024
/* The number of insertions between two looks at the clock. */
#define LOOK_EVERY 64

/*
 * struct nnc - one construction
 * @searched: per item, number of an edge before which none can take it
 * @hopeful: per item of set 1, whether an edge may take it; these are listed in @hopefuls. No edge
 *	before @seen can take one of the others
 * @rank: per item, its rank; @alignments: per item, its alignment. Both are at hand for the loops
 *	over edges
 * @end: per item, the end of the lowest place that was found for it last; it never fits lower
 */
struct nnc {
	const struct npuplan_conflicts *conflicts;
	const struct npuplan_nnc_options *options;
	const struct npuplan_nnc_order *order;
	const uint32_t *rank;
	uint32_t *alignments;
	struct npuplan_nnc_candidates candidates;
	struct npuplan_nnc_allocation allocation;
	struct npuplan_fit *fit;
	uint64_t *offsets;
	bool *hopeful;
	uint32_t *hopefuls;
	uint32_t hopeful_count;
	uint32_t *searched;
	uint32_t seen;
	uint64_t *end;
	uint64_t *work;
};

/*
 * struct split - an edge that a tuple would split, and the base address that the tuple would have
 */
struct split {
	uint64_t base;
	uint64_t weight;
	uint32_t span;
	uint32_t edge;
};

static uint64_t size_of(const struct nnc *nnc, uint32_t item)
{
	return nnc->conflicts->items[item].size;
}

static uint32_t tuple_alignment(const struct nnc *nnc, const struct npuplan_nnc_tuple *tuple)
{
	uint32_t alignment = 1;

	for (uint32_t i = 0; i < tuple->count; i++)
		if (nnc->alignments[tuple->items[i]] > alignment)
			alignment = nnc->alignments[tuple->items[i]];
	return alignment;
}

/* ------------------------------------------------- an edge between two items */

/* Whether @item may be at @base within an edge. */
static bool passes(const struct nnc *nnc, const struct npuplan_nnc_edge *edge, uint32_t item,
		   uint64_t base)
{
	uint32_t rank = nnc->rank[item];

	return edge->after < rank && rank < edge->before &&
	       base + size_of(nnc, item) <= edge->high && edge->from != NPUPLAN_NNC_SOURCE &&
	       edge->to != NPUPLAN_NNC_SINK &&
	       !npuplan_nnc_interfere(nnc->conflicts, edge->from, item,
				      (int64_t)(base - nnc->offsets[edge->from])) &&
	       !npuplan_nnc_interfere(nnc->conflicts, edge->to, item,
				      (int64_t)(base - nnc->offsets[edge->to]));
}

static bool passes_alone(const struct nnc *nnc, const struct npuplan_nnc_edge *edge, uint32_t item)
{
	return passes(nnc, edge, item, npuplan_align_up(edge->low, nnc->alignments[item]));
}

static bool in_set(const struct nnc *nnc, uint32_t item)
{
	const struct npuplan_nnc_candidates *c = &nnc->candidates;

	return !c->inserted[item] && c->edges[item] == c->edges[c->by_edges[c->set]];
}

static void offer_edge(struct nnc *nnc, uint32_t index, uint32_t item)
{
	if (nnc->hopeful[item] || !in_set(nnc, item) ||
	    !passes_alone(nnc, &nnc->allocation.edges[index], item))
		return;
	nnc->hopeful[item] = true;
	nnc->hopefuls[nnc->hopeful_count++] = item;
	nnc->searched[item] = index;
}

/*
 * Offer the new edges to the items of set 1. An item that no edge can take is not looked at again
 * until a new one can: edges lose bytes, but never get any.
 */
static void offer_edges(struct nnc *nnc)
{
	const struct npuplan_nnc_candidates *c = &nnc->candidates;

	for (; nnc->seen < nnc->allocation.edge_count; nnc->seen++) {
		const struct npuplan_nnc_edge *edge = &nnc->allocation.edges[nnc->seen];

		if (edge->from == NPUPLAN_NNC_SOURCE || edge->to == NPUPLAN_NNC_SINK ||
		    edge->low == edge->high)
			continue;
		/*
		 * Look at the items accessed between the edge's ends, or at all of the set if that
		 * is smaller.
		 */
		if (edge->before - edge->after <= c->set_count) {
			for (uint32_t rank = edge->after + 1; rank < edge->before; rank++)
				offer_edge(nnc, nnc->seen, nnc->order->by_rank[rank - 1]);
			*nnc->work += edge->before - edge->after;
		} else {
			for (uint32_t i = 0; i < c->set_count; i++)
				offer_edge(nnc, nnc->seen, c->by_edges[c->set + i]);
			*nnc->work += c->set_count;
		}
	}
}

/* Begin with a new set 1, for which all edges have to be looked at. */
static void offer_all(struct nnc *nnc)
{
	const struct npuplan_nnc_candidates *c = &nnc->candidates;

	nnc->hopeful_count = 0;
	for (uint32_t i = 0; i < c->set_count; i++) {
		uint32_t item = c->by_edges[c->set + i];

		nnc->hopeful[item] = true;
		nnc->hopefuls[nnc->hopeful_count++] = item;
	}
	nnc->seen = nnc->allocation.edge_count;
}

/* Whether an edge can take the item alone; this updates nnc->searched. */
static bool has_edge(struct nnc *nnc, uint32_t item)
{
	uint32_t i = nnc->searched[item];

	if (in_set(nnc, item) && !nnc->hopeful[item])
		return false;
	while (i < nnc->allocation.edge_count &&
	       !passes_alone(nnc, &nnc->allocation.edges[i], item))
		i++;
	*nnc->work += i - nnc->searched[item];
	nnc->searched[item] = i;
	return i < nnc->allocation.edge_count;
}

static bool tighter(const struct split *a, const struct split *b)
{
	int order = npuplan_compare(a->weight, b->weight) ?: npuplan_compare(a->span, b->span);

	return (order ?: npuplan_compare(a->base, b->base)) < 0;
}

/*
 * Find the tightest edge that can take the tuple, of those that are less tight than @last (if that
 * is given). False: there is none.
 */
static bool find_split(const struct nnc *nnc, const struct npuplan_nnc_tuple *tuple, uint32_t first,
		       const struct split *last, struct split *best)
{
	uint32_t alignment = tuple_alignment(nnc, tuple);

	best->edge = NONE;
	for (uint32_t i = first; i < nnc->allocation.edge_count; i++) {
		const struct npuplan_nnc_edge *edge = &nnc->allocation.edges[i];
		struct split split = {
			.base = npuplan_align_up(edge->low, alignment),
			.weight = edge->high - edge->low,
			.span = edge->before - edge->after,
			.edge = i,
		};
		uint32_t k;

		for (k = 0; k < tuple->count; k++)
			if (!passes(nnc, edge, tuple->items[k], split.base))
				break;
		if (k == tuple->count && (best->edge == NONE || tighter(&split, best)) &&
		    (last->edge == NONE || tighter(last, &split)))
			*best = split;
	}
	*nnc->work += nnc->allocation.edge_count - first;
	return best->edge != NONE;
}

/*
 * Whether the placed items allow the tuple at @base. Returns 1: they do; 0: they do not; -ENOMEM.
 */
static int probe_base(const struct nnc *nnc, const struct npuplan_nnc_tuple *tuple, uint64_t base)
{
	for (uint32_t i = 0; i < tuple->count; i++) {
		uint64_t address;
		int err =
			npuplan_fit_lowest(nnc->fit, tuple->items[i], 1, base, &address, nnc->work);

		if (err)
			return err;
		if (address != base)
			return 0;
	}
	return 1;
}

/*
 * Find the tightest edge that the tuple fits into. Neither end of the edge interferes with it. If
 * conflicts are by overlap, no other item at these bytes does then; with other conflicts one that
 * is further away may, so all are asked. Returns 1; 0: there is no such edge; -ENOMEM.
 */
static int search_edges(struct nnc *nnc, const struct npuplan_nnc_tuple *tuple, struct split *split)
{
	struct split last = { .edge = NONE };
	uint32_t first = 0;
	int result = 0;

	for (uint32_t i = 0; i < tuple->count; i++) {
		if (!has_edge(nnc, tuple->items[i]))
			return 0;
		if (nnc->searched[tuple->items[i]] > first)
			first = nnc->searched[tuple->items[i]];
	}
	while (!result && find_split(nnc, tuple, first, &last, split)) {
		result = probe_base(nnc, tuple, split->base);
		last = *split;
	}
	return result;
}

/*
 * Choose a candidate that fits into an edge, as the publication's "Candidate Selection" has it,
 * steps 1 to 4. Returns 1, with the split; 0: there is none; -ENOMEM.
 *
 * An item that is not hopeful is in no tuple that an edge could take.
 */
static int select_on_edge(struct nnc *nnc, struct npuplan_nnc_tuple *chosen, struct split *split)
{
	struct npuplan_nnc_candidates *c = &nnc->candidates;
	uint32_t kept = 0;
	int found = 0;

	for (uint32_t i = 0; i < nnc->hopeful_count; i++) {
		uint32_t lead = nnc->hopefuls[i];

		/*
		 * It leaves the list, so that it is not in it twice when it becomes hopeful again.
		 */
		if (c->inserted[lead] || !has_edge(nnc, lead)) {
			nnc->hopeful[lead] = false;
			continue;
		}
		nnc->hopefuls[kept++] = lead;
		for (uint32_t count = NPUPLAN_NNC_TUPLE; count; count--) {
			struct npuplan_nnc_tuple tuple;
			struct split at;
			int result;

			if (!npuplan_nnc_candidates_tuple(c, lead, count, &tuple) ||
			    (found && !npuplan_nnc_tuple_before(c, &tuple, chosen)))
				continue;
			result = search_edges(nnc, &tuple, &at);
			if (result < 0)
				return result;
			if (!result)
				continue;
			found = 1;
			*chosen = tuple;
			*split = at;
		}
	}
	nnc->hopeful_count = kept;
	return found;
}

/* ------------------------------------------------------------ no such edge */

/* Choose the first candidate, which is step 5 of the published selection. */
static void select_first(struct nnc *nnc, struct npuplan_nnc_tuple *chosen)
{
	struct npuplan_nnc_candidates *c = &nnc->candidates;

	chosen->count = 0;
	for (uint32_t i = 0; i < c->set_count; i++) {
		for (uint32_t count = NPUPLAN_NNC_TUPLE; count; count--) {
			struct npuplan_nnc_tuple tuple;

			if (npuplan_nnc_candidates_tuple(c, c->by_edges[c->set + i], count,
							 &tuple) &&
			    (!chosen->count || npuplan_nnc_tuple_before(c, &tuple, chosen)))
				*chosen = tuple;
		}
	}
}

/*
 * Choose the first item of set 1, in the order of candidates, that fits below the top of the
 * buffer; this is not in the publication. Where an item does not fit, it never will unless the
 * buffer grows, since bytes are never given back. Returns 1; 0: there is none; -ENOMEM.
 */
static int select_below_top(struct nnc *nnc, struct npuplan_nnc_tuple *chosen, uint64_t *base)
{
	struct npuplan_nnc_candidates *c = &nnc->candidates;

	for (uint32_t i = 0; i < c->set_count; i++) {
		uint32_t item = c->by_edges[c->set + i];
		int err;

		if (nnc->end[item] > nnc->allocation.size)
			continue;
		err = npuplan_fit_lowest(nnc->fit, item, nnc->alignments[item], 0, base, nnc->work);
		if (err)
			return err;
		nnc->end[item] = *base + size_of(nnc, item);
		if (nnc->end[item] <= nnc->allocation.size) {
			npuplan_nnc_candidates_tuple(c, item, 1, chosen);
			return 1;
		}
	}
	return 0;
}

/*
 * Find the lowest address from @from on that all items of the tuple may have. New bytes of the
 * buffer are free, but a displacement may be forbidden even to items that do not share bytes.
 */
static int lowest_base(struct nnc *nnc, const struct npuplan_nnc_tuple *tuple, uint64_t from,
		       uint64_t *base)
{
	uint32_t alignment = tuple_alignment(nnc, tuple), agreed = 0;

	*base = from;
	for (uint32_t i = 0; agreed < tuple->count; i = (i + 1) % tuple->count) {
		uint64_t address;
		int err = npuplan_fit_lowest(nnc->fit, tuple->items[i], alignment, *base, &address,
					     nnc->work);

		if (err)
			return err;
		agreed = address == *base ? agreed + 1 : 1;
		*base = address;
	}
	return 0;
}

/* --------------------------------------------------------------- insertion */

static int insert_item(struct nnc *nnc, uint32_t item, uint64_t base, uint32_t first)
{
	uint64_t end = base + size_of(nnc, item);
	int err = npuplan_nnc_allocation_grow(&nnc->allocation, end);

	if (!err)
		err = npuplan_nnc_allocation_insert(&nnc->allocation, item, base, end, first);
	*nnc->work += nnc->allocation.edge_count - first + 1;
	return err;
}

/*
 * Insert a tuple, as the publication's "Insertion" has it, steps 1 to 7. @edge: the edge to split;
 * NONE: take all edges that are there, and new bytes.
 */
static int insert(struct nnc *nnc, const struct npuplan_nnc_tuple *tuple, uint64_t base,
		  uint32_t edge)
{
	struct npuplan_nnc_insertion insertion = {
		.tuple = tuple,
		.base = base,
		.from = NPUPLAN_NNC_SOURCE,
		.to = NPUPLAN_NNC_SINK,
		.allocation = &nnc->allocation,
	};
	uint32_t first = 0;
	int err;

	if (edge != NONE) {
		insertion.from = nnc->allocation.edges[edge].from;
		insertion.to = nnc->allocation.edges[edge].to;
		first = nnc->allocation.edge_count;
		err = npuplan_nnc_allocation_renew(&nnc->allocation, edge);
	} else {
		err = npuplan_nnc_allocation_grow(&nnc->allocation, base + tuple->size);
	}
	for (uint32_t i = 0; i < tuple->count && !err; i++) {
		err = insert_item(nnc, tuple->items[i], base, first);
		if (!err)
			err = npuplan_fit_put(nnc->fit, tuple->items[i], base);
		npuplan_nnc_candidates_remove(&nnc->candidates, tuple->items[i]);
	}
	if (!err && nnc->options->inserted)
		nnc->options->inserted(nnc->options->context, &insertion);
	if (nnc->allocation.empty > MANY_EMPTY &&
	    nnc->allocation.empty > nnc->allocation.edge_count / 2) {
		offer_edges(nnc);
		npuplan_nnc_allocation_compact(&nnc->allocation, nnc->searched,
					       nnc->conflicts->item_count);
		nnc->seen = nnc->allocation.edge_count;
	}
	return err;
}

static int insert_fixed(struct nnc *nnc, uint32_t clash[2])
{
	int err = 0;

	for (uint32_t i = 0; i < nnc->conflicts->item_count && !err; i++) {
		if (!nnc->conflicts->items[i].fixed)
			continue;
		err = npuplan_fit_put_fixed(nnc->fit, i, clash);
		if (!err)
			err = insert_item(nnc, i, nnc->conflicts->items[i].fixed_offset, 0);
		npuplan_nnc_candidates_remove(&nnc->candidates, i);
	}
	return err;
}

static int insert_next(struct nnc *nnc)
{
	bool published = nnc->options->form == NPUPLAN_NNC_PUBLISHED;
	struct npuplan_nnc_tuple tuple;
	struct split split = { .edge = NONE };
	int result = select_on_edge(nnc, &tuple, &split);

	if (!result) {
		split.edge = NONE;
		if (!published)
			result = select_below_top(nnc, &tuple, &split.base);
	}
	if (!result) {
		select_first(nnc, &tuple);
		result =
			lowest_base(nnc, &tuple, published ? nnc->allocation.size : 0, &split.base);
	}
	return result < 0 ? result : insert(nnc, &tuple, split.base, split.edge);
}

/* Time is up: place the items that are left by first fit, the largest first. */
static int insert_rest(struct nnc *nnc)
{
	struct npuplan_nnc_candidates *c = &nnc->candidates;
	int err = 0;

	for (uint32_t n = nnc->conflicts->item_count, i = c->next[n]; i != n && !err;
	     i = c->next[i]) {
		uint64_t base;

		err = npuplan_fit_lowest(nnc->fit, i, nnc->alignments[i], 0, &base, nnc->work);
		if (!err)
			err = npuplan_fit_put(nnc->fit, i, base);
	}
	return err;
}

static int insert_all(struct nnc *nnc, uint32_t clash[2])
{
	uint32_t rest = 0;
	int err = insert_fixed(nnc, clash);

	for (uint32_t i = 0; !err && npuplan_nnc_candidates_next(&nnc->candidates); i++) {
		if (nnc->candidates.rest != rest)
			offer_all(nnc);
		else
			offer_edges(nnc);
		rest = nnc->candidates.rest;
		if (i % LOOK_EVERY == 0 && npuplan_until_over(nnc->options->until))
			return insert_rest(nnc);
		err = insert_next(nnc);
	}
	return err;
}

int npuplan_nnc_build(const struct npuplan_conflicts *conflicts,
		      const struct npuplan_nnc_options *options,
		      const struct npuplan_nnc_order *order, uint64_t *offsets, uint64_t *work,
		      uint32_t clash[2])
{
	size_t n = conflicts->item_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct nnc nnc = {
		.conflicts = conflicts,
		.options = options,
		.order = order,
		.rank = order->rank,
		.alignments = npuplan_pool_take(&pool, n, sizeof(*nnc.alignments)),
		.allocation = { .rank = order->rank, .item_count = n },
		.offsets = offsets,
		.hopeful = npuplan_pool_take(&pool, n, sizeof(*nnc.hopeful)),
		.hopefuls = npuplan_pool_take(&pool, n, sizeof(*nnc.hopefuls)),
		.searched = npuplan_pool_take(&pool, n, sizeof(*nnc.searched)),
		.end = npuplan_pool_take(&pool, n, sizeof(*nnc.end)),
		.work = work,
	};
	int err = npuplan_nnc_candidates_init(&nnc.candidates, &pool, conflicts, order);

	for (size_t i = 0; i < n && !err; i++)
		nnc.alignments[i] = conflicts->items[i].align > options->alignment ?
					    conflicts->items[i].align :
					    options->alignment;
	if (!err)
		err = npuplan_fit_new(&nnc.fit, conflicts, offsets);
	if (!err)
		err = insert_all(&nnc, clash);
	npuplan_fit_free(nnc.fit);
	npuplan_nnc_allocation_fini(&nnc.allocation);
	return err;
}
