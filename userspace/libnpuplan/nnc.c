// SPDX-License-Identifier: MIT
#include "nnc.h"

#include <stdlib.h>
#include <string.h>

#include "first_fit.h"
#include "nnc_candidates.h"
#include "planners.h"

#define NONE UINT32_MAX

/* Dead edges that are worth forgetting. */
#define MANY_DEAD 1024

/**
 * struct nnc - one run
 * @rank: per item, 1..: place in the order of access
 * @searched: per item: no edge before this one can take it
 * @end: per item: below this it was seen not to end anywhere, nor ever will
 * @alignments: per item
 */
struct nnc {
	const struct npuplan_conflicts *conflicts;
	const struct npuplan_nnc_options *options;
	struct npuplan_nnc_candidates candidates;
	struct npuplan_nnc_allocation allocation;
	struct npuplan_fit *fit;
	uint64_t *offsets;
	uint32_t *rank;
	uint32_t *searched;
	uint64_t *end;
	uint32_t *alignments;
	uint64_t *work;
};

/* An edge that a tuple would split, and the address that it would have. */
struct place {
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

static uint64_t align_up(uint64_t address, uint32_t alignment)
{
	return (address + alignment - 1) & -(uint64_t)alignment;
}

/* ------------------------------------------------- an edge between two items */

/* Whether @item may be at @base, within this edge. */
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

/* First edge that can take the item alone. Edges die, but never get better. */
static uint32_t first_edge(struct nnc *nnc, uint32_t item)
{
	uint32_t i = nnc->searched[item];

	for (; i < nnc->allocation.edge_count; i++) {
		const struct npuplan_nnc_edge *edge = &nnc->allocation.edges[i];

		if (passes(nnc, edge, item, align_up(edge->low, nnc->alignments[item])))
			break;
	}
	*nnc->work += i - nnc->searched[item];
	nnc->searched[item] = i;
	return i;
}

static bool tighter(const struct place *a, const struct place *b)
{
	if (a->weight != b->weight)
		return a->weight < b->weight;
	if (a->span != b->span)
		return a->span < b->span;
	return a->base < b->base;
}

/* Tightest edge for the tuple that is less tight than @last, if there is one. */
static bool find_place(const struct nnc *nnc, const struct npuplan_nnc_tuple *tuple, uint32_t first,
		       const struct place *last, struct place *best)
{
	uint32_t alignment = tuple_alignment(nnc, tuple);

	best->edge = NONE;
	for (uint32_t i = first; i < nnc->allocation.edge_count; i++) {
		const struct npuplan_nnc_edge *edge = &nnc->allocation.edges[i];
		struct place place = {
			.base = align_up(edge->low, alignment),
			.weight = edge->high - edge->low,
			.span = edge->before - edge->after,
			.edge = i,
		};
		uint32_t k;

		for (k = 0; k < tuple->count; k++)
			if (!passes(nnc, edge, tuple->items[k], place.base))
				break;
		if (k == tuple->count && (best->edge == NONE || tighter(&place, best)) &&
		    (last->edge == NONE || tighter(last, &place)))
			*best = place;
	}
	*nnc->work += nnc->allocation.edge_count - first;
	return best->edge != NONE;
}

/* 1: all that is placed allows the tuple there; 0: it does not; -ENOMEM */
static int is_free(const struct nnc *nnc, const struct npuplan_nnc_tuple *tuple, uint64_t base)
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
 * The tightest edge that the tuple fits into. Neither end interferes with it; in
 * intervals of time then nothing else at these bytes does. Other conflicts may
 * know of somebody further away. 1; 0: there is none; -ENOMEM
 */
static int search_edges(struct nnc *nnc, const struct npuplan_nnc_tuple *tuple, struct place *place)
{
	struct place last = { .edge = NONE };
	uint32_t first = 0;
	int result = 0;

	for (uint32_t i = 0; i < tuple->count; i++) {
		uint32_t edge = first_edge(nnc, tuple->items[i]);

		if (edge == nnc->allocation.edge_count)
			return 0;
		first = edge > first ? edge : first;
	}
	while (!result && find_place(nnc, tuple, first, &last, place)) {
		result = is_free(nnc, tuple, place->base);
		last = *place;
	}
	return result;
}

/* Publication, "Candidate Selection", 1 to 4. 1 and the place; 0: none; -ENOMEM */
static int select_on_edge(struct nnc *nnc, struct npuplan_nnc_tuple *chosen, struct place *place)
{
	struct npuplan_nnc_candidates *c = &nnc->candidates;
	int found = 0;

	for (uint32_t i = 0; i < c->set_count; i++) {
		uint32_t lead = c->by_edges[c->set + i];

		if (first_edge(nnc, lead) == nnc->allocation.edge_count)
			continue;
		for (uint32_t count = NPUPLAN_NNC_TUPLE; count; count--) {
			struct npuplan_nnc_tuple tuple;
			struct place at;
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
			*place = at;
		}
	}
	return found;
}

/* ------------------------------------------------------------ no such edge */

/* The same, 5: the first candidate. */
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
 * Ours: the first item of set 1 that fits below the top of the buffer, in their
 * order. Where it does not, it never will unless the buffer grows: bytes are only
 * ever taken. 1; 0: none; -ENOMEM
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

/* Ours: the lowest address that all of the tuple may have. */
static int lowest_base(struct nnc *nnc, const struct npuplan_nnc_tuple *tuple, uint64_t *base)
{
	uint32_t alignment = tuple_alignment(nnc, tuple), agreed = 0;

	*base = 0;
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

/* Publication, "Insertion", 1 to 7. @edge: NONE: whatever is there, and new bytes. */
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
	int64_t first = 0;
	int err = 0;

	if (edge != NONE) {
		insertion.from = nnc->allocation.edges[edge].from;
		insertion.to = nnc->allocation.edges[edge].to;
		first = npuplan_nnc_allocation_renew(&nnc->allocation, edge);
		if (first < 0)
			return (int)first;
	} else {
		err = npuplan_nnc_allocation_grow(&nnc->allocation, base + tuple->size);
	}
	for (uint32_t i = 0; i < tuple->count && !err; i++) {
		err = insert_item(nnc, tuple->items[i], base, (uint32_t)first);
		if (!err)
			err = npuplan_fit_put(nnc->fit, tuple->items[i], base);
		npuplan_nnc_candidates_remove(&nnc->candidates, tuple->items[i]);
	}
	if (!err && nnc->options->inserted)
		nnc->options->inserted(nnc->options->context, &insertion);
	if (nnc->allocation.dead > MANY_DEAD &&
	    nnc->allocation.dead > nnc->allocation.edge_count / 2)
		npuplan_nnc_allocation_compact(&nnc->allocation, nnc->searched,
					       nnc->conflicts->item_count);
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
	struct place place = { .edge = NONE };
	int result = select_on_edge(nnc, &tuple, &place);

	if (!result) {
		place.edge = NONE;
		if (!published)
			result = select_below_top(nnc, &tuple, &place.base);
	}
	if (!result) {
		select_first(nnc, &tuple);
		if (published)
			place.base = align_up(nnc->allocation.size, tuple_alignment(nnc, &tuple));
		else
			result = lowest_base(nnc, &tuple, &place.base);
	}
	return result < 0 ? result : insert(nnc, &tuple, place.base, place.edge);
}

/* The deadline is past: the rest first fit, largest first. */
static int insert_rest(struct nnc *nnc)
{
	struct npuplan_nnc_candidates *c = &nnc->candidates;
	int err = 0;

	for (uint32_t i = c->head; i != NPUPLAN_NNC_SINK && !err; i = c->next[i]) {
		uint64_t base;

		err = npuplan_fit_lowest(nnc->fit, i, nnc->alignments[i], 0, &base, nnc->work);
		if (!err)
			err = npuplan_fit_put(nnc->fit, i, base);
	}
	return err;
}

static int insert_all(struct nnc *nnc, uint32_t clash[2])
{
	double deadline = nnc->options->deadline;
	int err = insert_fixed(nnc, clash);

	for (uint32_t i = 0; !err && npuplan_nnc_candidates_next(&nnc->candidates); i++) {
		if (deadline && i % 64 == 0 && npuplan_now() >= deadline)
			return insert_rest(nnc);
		err = insert_next(nnc);
	}
	return err;
}

/* ----------------------------------------------------------------- a run */

/* What two items are compared by: their start, end and index; or their address and rank. */
struct key {
	uint64_t first;
	uint32_t second;
	uint32_t item;
};

static int by_key(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static uint64_t top_of(const struct nnc *nnc, const uint64_t *offsets)
{
	uint64_t top = 0;

	for (uint32_t i = 0; i < nnc->conflicts->item_count; i++)
		if (top < offsets[i] + size_of(nnc, i))
			top = offsets[i] + size_of(nnc, i);
	return top;
}

/* Ours: first fit in the order of offsets. */
static int settle(struct nnc *nnc, struct key *keys, uint64_t *top)
{
	uint32_t n = nnc->conflicts->item_count, clash[2];
	uint32_t *order = malloc(n * sizeof(*order) + 1);
	uint64_t *offsets = malloc(n * sizeof(*offsets) + 1), settled;
	int err = order && offsets ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct key){ nnc->offsets[i], nnc->rank[i], i };
	if (n)
		qsort(keys, n, sizeof(*keys), by_key);
	for (uint32_t i = 0; i < n && !err; i++)
		order[i] = keys[i].item;
	if (!err)
		err = npuplan_first_fit(nnc->conflicts, order, nnc->options->alignment, offsets,
					&settled, nnc->work, clash);
	if (!err && settled <= *top) {
		memcpy(nnc->offsets, offsets, n * sizeof(*offsets));
		*top = settled;
	}
	free(order);
	free(offsets);
	return err;
}

static int start(struct nnc *nnc, struct key *keys)
{
	const struct npuplan_conflicts *c = nnc->conflicts;
	uint32_t n = c->item_count;
	int err;

	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct key){ c->items[i].start, c->items[i].end, i };
	if (n)
		qsort(keys, n, sizeof(*keys), by_key);
	for (uint32_t i = 0; i < n; i++) {
		nnc->rank[keys[i].item] = i + 1;
		nnc->alignments[i] = c->items[i].align > nnc->options->alignment ?
					     c->items[i].align :
					     nnc->options->alignment;
	}
	npuplan_nnc_allocation_init(&nnc->allocation, n, nnc->rank);
	err = npuplan_nnc_candidates_init(&nnc->candidates, c, nnc->rank);
	return err ? err : npuplan_fit_new(&nnc->fit, c, nnc->offsets);
}

int npuplan_nnc(const struct npuplan_conflicts *conflicts,
		const struct npuplan_nnc_options *options, uint64_t *offsets, uint64_t *top,
		uint64_t *work, uint32_t clash[2])
{
	size_t n = conflicts->item_count;
	struct npuplan_nnc_options asked = *options;
	struct nnc nnc = {
		.conflicts = conflicts,
		.options = &asked,
		.offsets = offsets,
		.rank = calloc(n + 1, sizeof(*nnc.rank)),
		.searched = calloc(n + 1, sizeof(*nnc.searched)),
		.end = calloc(n + 1, sizeof(*nnc.end)),
		.alignments = calloc(n + 1, sizeof(*nnc.alignments)),
		.work = work,
	};
	struct key *keys = calloc(n + 1, sizeof(*keys));
	int err = -ENOMEM;

	asked.alignment = asked.alignment ? asked.alignment : 1;
	if (nnc.rank && nnc.searched && nnc.end && nnc.alignments && keys)
		err = start(&nnc, keys);
	if (!err)
		err = insert_all(&nnc, clash);
	if (!err) {
		*top = top_of(&nnc, offsets);
		if (options->form != NPUPLAN_NNC_PUBLISHED)
			err = settle(&nnc, keys, top);
	}
	npuplan_fit_free(nnc.fit);
	npuplan_nnc_candidates_fini(&nnc.candidates);
	npuplan_nnc_allocation_fini(&nnc.allocation);
	free(nnc.rank);
	free(nnc.searched);
	free(nnc.end);
	free(nnc.alignments);
	free(keys);
	return err;
}
