// SPDX-License-Identifier: MIT
/* Conflicts: which items are in each other's way, and at which displacements. */
#include "base/sorted.h"
#include "base/heap.h"
#include "base/pool.h"
#include "conflicts.h"

#include <errno.h>
#include <stdlib.h>

/* Number of pairs or items that are gone through between two questions whether to give up. */
#define ASK_EVERY ((size_t)1 << 18)

NPUPLAN_ORDER(by_item, struct npuplan_peer, item)

/*
 * Go through the items by start, and keep those that still live: each of them is a peer of the next
 * item. This is called twice: first, with @peers NULL, to count the peers of each item in @cursor,
 * then to list them. -E2BIG: there are more than @most pairs; -EINTR: given up.
 */
static int sweep(const struct npuplan_item *items, const struct npuplan_keyed *order,
		 uint32_t count, uint32_t *active, size_t *cursor, struct npuplan_peer *peers,
		 size_t most, const struct npuplan_until *until)
{
	size_t total = 0, looked = 0, asked = 0;
	uint32_t live = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t item = order[i].item, kept = 0;

		for (uint32_t k = 0; k < live; k++)
			if (items[active[k]].end >= items[item].start)
				active[kept++] = active[k];
		looked += live + 1;
		live = kept;
		total += live;
		if (total > most)
			return -E2BIG;
		if (looked - asked >= ASK_EVERY) {
			asked = looked;
			if (npuplan_until_over(until))
				return -EINTR;
		}
		for (uint32_t k = 0; k < live; k++) {
			size_t mine = cursor[item]++, other = cursor[active[k]]++;

			if (!peers)
				continue;
			peers[mine] = (struct npuplan_peer){ .item = active[k] };
			peers[other] = (struct npuplan_peer){ .item = item };
		}
		active[live++] = item;
	}
	return 0;
}

int npuplan_conflicts_whole(struct npuplan_conflicts *conflicts, const struct npuplan_item *items,
			    uint32_t item_count)
{
	return npuplan_conflicts_list(conflicts, items, item_count, NPUPLAN_MAX_PAIRS, NULL);
}

/*
 * Allocate the lists of all items. @cursor: in: per item, how many peers it has; out: where in
 * peers its next one belongs.
 */
static int make_lists(struct npuplan_conflicts *c, size_t *cursor)
{
	size_t total = 0;

	for (uint32_t i = 0; i < c->item_count; i++) {
		c->peer_start[i] = total;
		total += cursor[i];
		cursor[i] = c->peer_start[i];
	}
	c->peer_start[c->item_count] = total;
	c->peers = malloc(total * sizeof(*c->peers) + 1);
	return c->peers ? 0 : -ENOMEM;
}

/* Sort the peers of @item, and return how many there are. */
static size_t sort_peers(struct npuplan_conflicts *c, uint32_t item)
{
	size_t first = c->peer_start[item], count = c->peer_start[item + 1] - first;

	if (count)
		qsort(c->peers + first, count, sizeof(*c->peers), by_item);
	return count;
}

int npuplan_conflicts_list(struct npuplan_conflicts *conflicts, const struct npuplan_item *items,
			   uint32_t item_count, size_t most, const struct npuplan_until *until)
{
	size_t n = item_count, sorted = 0;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct npuplan_keyed *order = npuplan_pool_take(&pool, n, sizeof(*order));
	uint32_t *active = npuplan_pool_take(&pool, n, sizeof(*active));
	size_t *cursor = npuplan_pool_take(&pool, n, sizeof(*cursor));
	int err;

	npuplan_conflicts_overlap(conflicts, items, item_count);
	conflicts->peer_start = malloc((n + 1) * sizeof(*conflicts->peer_start));
	err = pool.failed || !conflicts->peer_start ? -ENOMEM : 0;
	for (uint32_t i = 0; i < item_count && !err; i++)
		order[i] = (struct npuplan_keyed){ .key = items[i].start, .item = i };
	if (!err) {
		npuplan_sort_keyed(order, n);
		err = sweep(items, order, item_count, active, cursor, NULL, most, until);
	}
	if (!err)
		err = make_lists(conflicts, cursor);
	if (!err)
		err = sweep(items, order, item_count, active, cursor, conflicts->peers, most,
			    until);
	for (uint32_t i = 0; i < item_count && !err; i++) {
		sorted += sort_peers(conflicts, i);
		if (sorted < ASK_EVERY)
			continue;
		sorted = 0;
		if (npuplan_until_over(until))
			err = -EINTR;
	}
	if (err)
		npuplan_conflicts_fini(conflicts);
	return err;
}

void npuplan_conflicts_overlap(struct npuplan_conflicts *conflicts,
			       const struct npuplan_item *items, uint32_t item_count)
{
	*conflicts = (struct npuplan_conflicts){ .items = items, .item_count = item_count };
}

static bool pair_is_sane(const struct npuplan_pair *pair, uint32_t item_count,
			 const struct npuplan_interval *intervals)
{
	if (pair->a >= item_count || pair->b >= item_count || pair->a == pair->b)
		return false;
	for (size_t k = 0; k < pair->interval_count; k++) {
		const struct npuplan_interval *at = &intervals[pair->first_interval + k];

		if (at->low >= at->high || (k && at->low < at[-1].high))
			return false;
	}
	return true;
}

/*
 * List @pair for both of its items, with its intervals as they are for the one and mirrored for the
 * other.
 */
static void put_pair(struct npuplan_conflicts *c, size_t *cursor, const struct npuplan_pair *pair,
		     const struct npuplan_interval *intervals, size_t *used)
{
	struct npuplan_peer *of_b = &c->peers[cursor[pair->b]++];
	struct npuplan_peer *of_a = &c->peers[cursor[pair->a]++];
	uint32_t count = pair->interval_count;

	*of_b = (struct npuplan_peer){ pair->a, count, *used };
	*of_a = (struct npuplan_peer){ pair->b, count, *used + count };
	for (uint32_t k = 0; k < count; k++) {
		const struct npuplan_interval *at = &intervals[pair->first_interval + k];

		c->intervals[of_b->first_interval + k] = *at;
		c->intervals[of_a->first_interval + count - 1 - k] =
			(struct npuplan_interval){ -at->high, -at->low };
	}
	*used += 2 * (size_t)count;
}

int npuplan_conflicts_pairs(struct npuplan_conflicts *conflicts, const struct npuplan_item *items,
			    uint32_t item_count, const struct npuplan_pair *pairs,
			    size_t pair_count, const struct npuplan_interval *intervals)
{
	size_t n = item_count, used = 0;
	AUTO_HEAP size_t *cursor = npuplan_calloc(n + 1, sizeof(*cursor));
	int err = -ENOMEM;

	npuplan_conflicts_overlap(conflicts, items, item_count);
	conflicts->peer_start = malloc((n + 1) * sizeof(*conflicts->peer_start));
	if (!cursor || !conflicts->peer_start)
		goto out;
	err = -EINVAL;
	for (size_t p = 0; p < pair_count; p++) {
		if (!pair_is_sane(&pairs[p], item_count, intervals))
			goto out;
		cursor[pairs[p].a]++;
		cursor[pairs[p].b]++;
		used += 2 * (size_t)pairs[p].interval_count;
	}
	err = make_lists(conflicts, cursor);
	conflicts->intervals = malloc(used * sizeof(*conflicts->intervals) + 1);
	if (!conflicts->intervals)
		err = -ENOMEM;
	used = 0;
	for (size_t p = 0; p < pair_count && !err; p++)
		put_pair(conflicts, cursor, &pairs[p], intervals, &used);
	for (uint32_t i = 0; i < item_count && !err; i++) {
		const struct npuplan_peer *peers = conflicts->peers + conflicts->peer_start[i];
		size_t count = sort_peers(conflicts, i);

		for (size_t p = 1; p < count; p++)
			if (peers[p - 1].item == peers[p].item)
				err = -EINVAL;
	}
out:
	if (err)
		npuplan_conflicts_fini(conflicts);
	return err;
}

NPUPLAN_ORDER(by_pair, struct npuplan_permit, a, b, d)

struct npuplan_peer *npuplan_find_peer(const struct npuplan_conflicts *conflicts, uint32_t item,
				       uint32_t peer)
{
	struct npuplan_peer *peers = conflicts->peers + conflicts->peer_start[item];
	size_t count = conflicts->peer_start[item + 1] - conflicts->peer_start[item];
	size_t at = npuplan_bisect(i, 0, count, peers[i].item < peer);

	return at < count && peers[at].item == peer ? &peers[at] : NULL;
}

/*
 * The end of the permits that are of the same two items as the one at @first; they follow each
 * other.
 */
static size_t end_of_pair(const struct npuplan_permit *permits, size_t count, size_t first)
{
	size_t end = first + 1;

	while (end < count && permits[end].a == permits[first].a &&
	       permits[end].b == permits[first].b)
		end++;
	return end;
}

/*
 * Make room, behind all intervals, for those that cutting will make. How many they are at most is
 * counted beforehand, so that the array is grown once.
 */
static int make_room(struct npuplan_conflicts *c, const struct npuplan_permit *permits,
		     size_t count, size_t *used)
{
	struct npuplan_interval *grown;
	size_t more = 0;

	*used = 0;
	for (size_t p = 0; p < c->peer_start[c->item_count]; p++)
		if (c->peers[p].interval_count &&
		    *used < c->peers[p].first_interval + c->peers[p].interval_count)
			*used = c->peers[p].first_interval + c->peers[p].interval_count;
	for (size_t first = 0; first < count; first = end_of_pair(permits, count, first)) {
		const struct npuplan_peer *peer =
			npuplan_find_peer(c, permits[first].a, permits[first].b);

		if (peer)
			more += 2 * ((size_t)peer->interval_count + 1 +
				     end_of_pair(permits, count, first) - first);
	}
	grown = realloc(c->intervals, (*used + more) * sizeof(*grown) + 1);
	if (!grown)
		return -ENOMEM;
	c->intervals = grown;
	return 0;
}

/*
 * Cut the permitted displacements of one pair out of the intervals of F(a, b), and mirror what is
 * left for F(b, a).
 */
static void cut(struct npuplan_conflicts *c, const struct npuplan_permit *permits, size_t count,
		size_t *used)
{
	uint32_t a = permits[0].a, b = permits[0].b, found = 0, old_count;
	struct npuplan_peer *of_a = npuplan_find_peer(c, a, b), *of_b = npuplan_find_peer(c, b, a);
	struct npuplan_interval *first = &c->intervals[*used], whole;
	const struct npuplan_interval *old;
	size_t i = 0;

	if (!of_a || !of_b)
		return;
	old = npuplan_forbidden(c, b, of_b, &whole, &old_count);
	for (uint32_t k = 0; k < old_count; k++) {
		int64_t low = old[k].low;

		for (; i < count && permits[i].d < old[k].high; i++) {
			if (permits[i].d <= low)
				continue;
			first[found++] = (struct npuplan_interval){ low, permits[i].d };
			low = permits[i].d;
		}
		first[found++] = (struct npuplan_interval){ low, old[k].high };
	}
	/* Nothing was cut, so the pair keeps its intervals. */
	if (found == old_count)
		return;
	for (uint32_t k = 0; k < found; k++)
		first[2 * found - 1 - k] =
			(struct npuplan_interval){ -first[k].high, -first[k].low };
	of_b->interval_count = of_a->interval_count = found;
	of_b->first_interval = *used;
	of_a->first_interval = *used + found;
	*used += 2 * (size_t)found;
}

int npuplan_conflicts_permit(struct npuplan_conflicts *conflicts, struct npuplan_permit *permits,
			     size_t count)
{
	size_t used;
	int err;

	if (!conflicts->peer_start)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		struct npuplan_permit *p = &permits[i];

		if (p->a >= conflicts->item_count || p->b >= conflicts->item_count || p->a == p->b)
			return -EINVAL;
		if (p->a > p->b)
			*p = (struct npuplan_permit){ p->b, p->a, -p->d };
	}
	if (!count)
		return 0;
	qsort(permits, count, sizeof(*permits), by_pair);
	err = make_room(conflicts, permits, count, &used);
	for (size_t first = 0; first < count && !err;) {
		size_t end = end_of_pair(permits, count, first);

		cut(conflicts, permits + first, end - first, &used);
		first = end;
	}
	return err;
}

void npuplan_conflicts_fini(struct npuplan_conflicts *conflicts)
{
	free_all(conflicts->peer_start, conflicts->peers, conflicts->intervals);
	*conflicts = (struct npuplan_conflicts){ 0 };
}

const struct npuplan_interval *npuplan_forbidden(const struct npuplan_conflicts *conflicts,
						 uint32_t item, const struct npuplan_peer *peer,
						 struct npuplan_interval *whole, uint32_t *count)
{
	if (peer->interval_count) {
		*count = peer->interval_count;
		return &conflicts->intervals[peer->first_interval];
	}
	*whole = (struct npuplan_interval){
		.low = -(int64_t)conflicts->items[item].size,
		.high = conflicts->items[peer->item].size,
	};
	*count = 1;
	return whole;
}

bool npuplan_is_forbidden(const struct npuplan_conflicts *conflicts, uint32_t item,
			  const struct npuplan_peer *peer, int64_t d)
{
	struct npuplan_interval whole;
	const struct npuplan_interval *forbidden;
	uint32_t count;

	forbidden = npuplan_forbidden(conflicts, item, peer, &whole, &count);
	for (uint32_t k = 0; k < count; k++)
		if (d > forbidden[k].low && d < forbidden[k].high)
			return true;
	return false;
}
