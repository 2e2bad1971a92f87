// SPDX-License-Identifier: MIT
/*
 * Lower bound for listed conflicts: items of which no two may share a byte lie one
 * above the other, whatever else may be. Such sets are looked for greedily, from
 * each item; the heaviest is the bound.
 */
#include "pack/greedy/first_fit.h"
#include "searches.h"
#include "base/sorted.h"

/* Work at most, times the entries of the lists of peers. */
#define PASSES	      64
/* Of the run's limit no more than one part in this many: a bound alone is no packing. */
#define LIMIT_DIVISOR 4

/*
 * struct clique - one search
 * @candidates: peers of the item at hand: those that live when it starts, then the others, the
 *	heaviest first
 * @met: per item, how many of the set it may share no byte with
 * @budget: work at most
 */
struct clique {
	struct npuplan_pack *run;
	struct npuplan_keyed *candidates;
	uint32_t *met;
	uint64_t budget;
	uint64_t work;
};

/* Intervals of one pair neither overlap nor join, so one of them has to cover it all. */
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

/* The set has @count items; who meets them all, and @item too, meets one more. */
static void join(struct clique *clique, uint32_t item, uint32_t count)
{
	const struct npuplan_conflicts *c = &clique->run->conflicts;

	for (size_t p = c->peer_start[item]; p < c->peer_start[item + 1]; p++)
		if (clique->met[c->peers[p].item] == count && is_whole(c, item, &c->peers[p]))
			clique->met[c->peers[p].item]++;
	clique->work += c->peer_start[item + 1] - c->peer_start[item];
}

/* Bytes of a set with @seed in it; a smaller set, if the budget ends, is one too. */
static uint64_t grow_from(struct clique *clique, uint32_t seed)
{
	const struct npuplan_conflicts *c = &clique->run->conflicts;
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
	/* Whoever meets any of the set meets the seed, or was never counted. */
	for (uint32_t k = 0; k < count; k++)
		clique->met[clique->candidates[k].item] = 0;
	clique->work += count;
	return bytes;
}

int npuplan_pack_clique_bound(struct npuplan_pack *run)
{
	const struct npuplan_conflicts *c = &run->conflicts;
	size_t n = c->item_count, total = c->peer_start[n];
	AUTO_POOL struct npuplan_pool pool = { 0 };
	uint32_t *order = npuplan_pool_take(&pool, n, sizeof(*order));
	struct clique clique = {
		.run = run,
		.candidates = npuplan_pool_take(&pool, n, sizeof(*clique.candidates)),
		.met = npuplan_pool_take(&pool, n, sizeof(*clique.met)),
		.budget = PASSES * (total + n),
	};
	uint64_t reported = 0;
	int err = pool.failed ? -ENOMEM : npuplan_order_items(c, NPUPLAN_BY_CONFLICTS, order);

	if (clique.budget > run->effort.work_limit / LIMIT_DIVISOR)
		clique.budget = run->effort.work_limit / LIMIT_DIVISOR;
	for (size_t i = 0; i < n && !err && clique.work < clique.budget; i++) {
		npuplan_pack_prove(run, grow_from(&clique, order[i]));
		run->work += clique.work - reported;
		reported = clique.work;
		if (npuplan_pack_stopped(run))
			break;
	}
	return err;
}
