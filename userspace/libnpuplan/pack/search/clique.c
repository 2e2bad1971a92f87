// SPDX-License-Identifier: MIT
/*
 * A lower bound for listed conflicts: items of which no two may share a byte lie one above the
 * other, so the sum of their sizes is a bound. Such sets are looked for greedily, beginning with
 * each item; the one of most bytes is the bound.
 */
#include "pack/greedy/first_fit.h"
#include "searches.h"
#include "base/sorted.h"

/* The limit of work is so many times the entries of the lists of peers. */
#define PASSES	      64
/*
 * The bound takes at most this fraction (one in so many) of the call's limit, since a bound alone
 * is no packing.
 */
#define LIMIT_DIVISOR 4

/*
 * struct clique - the search for a set
 * @candidates: peers of the item at hand: first those that live when it starts, then the others,
 *	both the largest first
 * @met: per item, the number of items in the set with which it may not share a byte
 * @budget: work units that may still be used
 */
struct clique {
	struct npuplan_pack *call;
	struct npuplan_keyed *candidates;
	uint32_t *met;
	uint64_t budget;
	uint64_t work;
};

/*
 * Whether two items may not share a byte. The intervals of a pair neither overlap nor touch, so one
 * of them has to cover all displacements at which the items meet.
 */
static bool is_whole(const struct npuplan_conflicts *c, uint32_t item,
		     const struct npuplan_peer *peer)
{
	const struct npuplan_interval *forbidden;
	struct npuplan_interval whole;
	uint32_t count;

	forbidden = npuplan_forbidden(c, item, peer, &whole, &count);
	for (uint32_t k = 0; k < count; k++)
		if (forbidden[k].low <= -(int64_t)c->items[item].size &&
		    forbidden[k].high >= (int64_t)c->items[peer->item].size)
			return true;
	return false;
}

/*
 * Add @item to the set, which has @count items before: of those that conflict with all of these,
 * count which also conflict with @item.
 */
static void join(struct clique *clique, uint32_t item, uint32_t count)
{
	const struct npuplan_conflicts *c = &clique->call->conflicts;

	for (size_t p = c->peer_start[item]; p < c->peer_start[item + 1]; p++)
		if (clique->met[c->peers[p].item] == count && is_whole(c, item, &c->peers[p]))
			clique->met[c->peers[p].item]++;
	clique->work += c->peer_start[item + 1] - c->peer_start[item];
}

/*
 * Grow a set that has @seed in it, and return its bytes. If the work ends, the set is smaller, but
 * its bytes are a bound as well.
 */
static uint64_t grow_from(struct clique *clique, uint32_t seed)
{
	const struct npuplan_conflicts *c = &clique->call->conflicts;
	uint32_t count = 0, size = 0;
	uint64_t bytes = c->items[seed].size;

	for (size_t p = c->peer_start[seed]; p < c->peer_start[seed + 1]; p++) {
		uint32_t item = c->peers[p].item;
		bool alive = c->items[item].start <= c->items[seed].start &&
			     c->items[seed].start <= c->items[item].end;

		clique->candidates[count++] = (struct npuplan_keyed){
			.key = !alive,
			.second = ~c->items[item].size,
			.item = item,
		};
	}
	npuplan_sort_keyed(clique->candidates, count);
	join(clique, seed, size++);
	for (uint32_t k = 0; k < count && clique->work < clique->budget; k++) {
		uint32_t item = clique->candidates[k].item;

		if (clique->met[item] != size)
			continue;
		bytes += c->items[item].size;
		join(clique, item, size++);
	}
	/* Only peers of the seed were counted, so only these are reset. */
	for (uint32_t k = 0; k < count; k++)
		clique->met[clique->candidates[k].item] = 0;
	clique->work += count;
	return bytes;
}

int npuplan_pack_clique_bound(struct npuplan_pack *call)
{
	const struct npuplan_conflicts *c = &call->conflicts;
	size_t n = c->item_count, total = c->peer_start[n];
	AUTO_POOL struct npuplan_pool pool = { 0 };
	uint32_t *order = npuplan_pool_take(&pool, n, sizeof(*order));
	struct clique clique = {
		.call = call,
		.candidates = npuplan_pool_take(&pool, n, sizeof(*clique.candidates)),
		.met = npuplan_pool_take(&pool, n, sizeof(*clique.met)),
		.budget = PASSES * (total + n),
	};
	uint64_t reported = 0;
	int err = pool.failed ? -ENOMEM : npuplan_order_items(c, NPUPLAN_BY_CONFLICTS, order);

	if (clique.budget > call->effort.work_limit / LIMIT_DIVISOR)
		clique.budget = call->effort.work_limit / LIMIT_DIVISOR;
	for (size_t i = 0; i < n && !err && clique.work < clique.budget; i++) {
		npuplan_pack_prove(call, grow_from(&clique, order[i]));
		call->work += clique.work - reported;
		reported = clique.work;
		if (npuplan_pack_stopped(call))
			break;
	}
	return err;
}
