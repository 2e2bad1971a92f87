// SPDX-License-Identifier: MIT
/*
 * The exact search for conflicts of any kind.
 *
 * A forbidden interval (low, high) of the displacement d = addr(b) - addr(a) leaves two choices: d
 * >= high, or d <= low. Each is a difference constraint between two addresses. The search keeps the
 * least addresses that satisfy the constraints chosen so far. If no two items are in each other's
 * way at these, they are a packing, and the lowest one for these choices. If two are, their
 * interval is decided next. There are finitely many intervals, so the search ends, and if it ends
 * without a packing there is none.
 */
#include "base/align.h"
#include "searches.h"

#define NONE	  UINT32_MAX
/* Work units between two looks at the clock. */
#define ASK_EVERY 20000

/*
 * struct constraint - a difference constraint, in the list of item @of: addr(@to) >= addr(@of) +
 * @distance
 */
struct constraint {
	int64_t distance;
	uint32_t of;
	uint32_t to;
	uint32_t next;
};

struct raised {
	uint32_t item;
	int64_t low;
};

/*
 * struct decision - the choice that is being tried (@tried), and the one that is still to be tried
 * (@second)
 */
struct decision {
	struct constraint second;
	uint32_t constraints;
	size_t raised;
	bool tried;
};

/*
 * struct disjunctive - a search for a packing of at most a given top
 * @low, @limit: per item, the least and the greatest address that it may have
 * @head: per item, index of its last constraint, from which the others are chained by next; NONE:
 *	it has none
 * @queue: items whose constraints are to be looked at; a ring buffer with room for all items
 * @asked: the call's work when the clock was last looked at
 */
struct disjunctive {
	struct npuplan_pack *call;
	const struct npuplan_conflicts *conflicts;
	int64_t *low;
	int64_t *limit;
	uint32_t *head;
	uint32_t *queue;
	bool *queued;
	uint32_t queue_first;
	uint32_t queue_count;
	struct constraint *constraints;
	uint32_t constraint_count;
	struct raised *raised;
	uint32_t raised_count;
	struct decision *decisions;
	uint32_t decision_count;
	uint64_t asked;
};

/* Raise the least address of an item. Returns 1; 0: it is above the item's limit; -ENOMEM. */
static int raise(struct disjunctive *search, uint32_t item, int64_t low)
{
	low = npuplan_align_up(low, search->call->alignments[item]);
	if (low <= search->low[item])
		return 1;
	if (low > search->limit[item])
		return 0;
	if (npuplan_grow(&search->raised, search->raised_count, sizeof(*search->raised)))
		return -ENOMEM;
	search->raised[search->raised_count++] = (struct raised){ item, search->low[item] };
	search->low[item] = low;
	if (!search->queued[item]) {
		uint32_t n = search->conflicts->item_count;

		search->queued[item] = true;
		search->queue[(search->queue_first + search->queue_count++) % n] = item;
	}
	return 1;
}

static uint32_t take_queued(struct disjunctive *search)
{
	uint32_t item = search->queue[search->queue_first];

	search->queue_first = (search->queue_first + 1) % search->conflicts->item_count;
	search->queue_count--;
	search->queued[item] = false;
	return item;
}

/*
 * Raise all items that the raised ones push up. Returns 1; 0: one does not fit; -EAGAIN: the call
 * was stopped; -ENOMEM.
 */
static int propagate(struct disjunctive *search)
{
	int result = 1;

	while (search->queue_count && result == 1) {
		uint32_t item = take_queued(search);

		for (uint32_t b = search->head[item]; b != NONE && result == 1;
		     b = search->constraints[b].next) {
			const struct constraint *constraint = &search->constraints[b];

			result = raise(search, constraint->to,
				       search->low[item] + constraint->distance);
			search->call->work++;
		}
		/*
		 * Constraints in a circle raise each other step by step up to the limit, which may
		 * take long.
		 */
		if (search->call->work - search->asked >= ASK_EVERY) {
			search->asked = search->call->work;
			if (npuplan_pack_stopped(search->call))
				result = -EAGAIN;
		}
	}
	while (search->queue_count)
		take_queued(search);
	return result;
}

static int enforce(struct disjunctive *search, struct constraint constraint)
{
	int result;

	if (npuplan_grow(&search->constraints, search->constraint_count,
			 sizeof(*search->constraints)))
		return -ENOMEM;
	constraint.next = search->head[constraint.of];
	search->head[constraint.of] = search->constraint_count;
	search->constraints[search->constraint_count++] = constraint;
	result = raise(search, constraint.to, search->low[constraint.of] + constraint.distance);
	return result == 1 ? propagate(search) : result;
}

static void undo(struct disjunctive *search, const struct decision *decision)
{
	while (search->raised_count > decision->raised) {
		const struct raised *last = &search->raised[--search->raised_count];

		search->low[last->item] = last->low;
	}
	while (search->constraint_count > decision->constraints) {
		const struct constraint *last = &search->constraints[--search->constraint_count];

		search->head[last->of] = last->next;
	}
}

/*
 * Find the two choices for a pair of items that are in each other's way; of several pairs, the one
 * whose better choice costs most. False: there is no such pair.
 */
static bool find_clash(struct disjunctive *search, struct constraint *first,
		       struct constraint *second)
{
	const struct npuplan_conflicts *c = search->conflicts;
	int64_t most = -1;

	for (uint32_t i = 0; i < c->item_count; i++) {
		for (size_t p = c->peer_start[i]; p < c->peer_start[i + 1]; p++) {
			uint32_t peer = c->peers[p].item, count;
			const struct npuplan_interval *forbidden;
			struct npuplan_interval whole;
			int64_t d, up, down;

			if (peer > i)
				break;
			forbidden = npuplan_forbidden(c, i, &c->peers[p], &whole, &count);
			d = search->low[i] - search->low[peer];
			for (uint32_t k = 0; k < count; k++) {
				if (d <= forbidden[k].low || d >= forbidden[k].high)
					continue;
				up = forbidden[k].high - d;
				down = d - forbidden[k].low;
				if ((up < down ? up : down) <= most)
					break;
				most = up < down ? up : down;
				*(down < up ? second : first) =
					(struct constraint){ forbidden[k].high, peer, i, NONE };
				*(down < up ? first : second) =
					(struct constraint){ -forbidden[k].low, i, peer, NONE };
				break;
			}
			search->call->work += count;
		}
	}
	return most >= 0;
}

/*
 * Run the search. Returns 1: found; 0: there is no packing; -EAGAIN: the call was stopped; -ENOMEM.
 */
static int explore(struct disjunctive *search)
{
	int result = 1;

	for (;;) {
		struct decision *last;
		struct constraint first, second;

		if (result == 1) {
			if (npuplan_pack_over(search->call))
				return -EAGAIN;
			if (!find_clash(search, &first, &second))
				return 1;
			if (npuplan_grow(&search->decisions, search->decision_count,
					 sizeof(*search->decisions)))
				return -ENOMEM;
			search->decisions[search->decision_count++] = (struct decision){
				.second = second,
				.constraints = search->constraint_count,
				.raised = search->raised_count,
			};
			result = enforce(search, first);
			continue;
		}
		if (result < 0)
			return result;
		while (search->decision_count &&
		       search->decisions[search->decision_count - 1].tried)
			undo(search, &search->decisions[--search->decision_count]);
		if (!search->decision_count)
			return 0;
		last = &search->decisions[search->decision_count - 1];
		undo(search, last);
		last->tried = true;
		result = enforce(search, last->second);
	}
}

static int search_top(struct disjunctive *search, uint64_t top)
{
	const struct npuplan_pack_problem *problem = search->call->problem;

	search->constraint_count = 0;
	search->raised_count = 0;
	search->decision_count = 0;
	for (uint32_t i = 0; i < problem->item_count; i++) {
		const struct npuplan_item *item = &problem->items[i];
		int64_t align = search->call->alignments[i];

		search->head[i] = NONE;
		search->low[i] = 0;
		if (item->size > top)
			return 0;
		search->limit[i] = (int64_t)(top - item->size) & -align;
		if (!item->fixed)
			continue;
		if ((int64_t)item->fixed_offset > search->limit[i])
			return 0;
		search->low[i] = search->limit[i] = (int64_t)item->fixed_offset;
	}
	return explore(search);
}

static int descend(struct disjunctive *search, uint64_t *offsets)
{
	struct npuplan_pack *call = search->call;
	int err = 0;

	while (!err && !npuplan_pack_over(call)) {
		uint64_t capacity = call->problem->capacity;
		uint64_t target = capacity ? capacity : call->top - 1;
		int result = search_top(search, target);

		if (result < 0) {
			err = result;
		} else if (result == 0) {
			npuplan_pack_prove(call, target + 1);
		} else {
			for (uint32_t i = 0; i < call->problem->item_count; i++)
				offsets[i] = (uint64_t)search->low[i];
			npuplan_pack_offer(call, offsets);
		}
	}
	return err == -EAGAIN ? 0 : err;
}

int npuplan_pack_disjunctive(struct npuplan_pack *call)
{
	size_t n = call->problem->item_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct disjunctive search = {
		.call = call,
		.conflicts = &call->conflicts,
		.low = npuplan_pool_take(&pool, n, sizeof(*search.low)),
		.limit = npuplan_pool_take(&pool, n, sizeof(*search.limit)),
		.head = npuplan_pool_take(&pool, n, sizeof(*search.head)),
		.queue = npuplan_pool_take(&pool, n, sizeof(*search.queue)),
		.queued = npuplan_pool_take(&pool, n, sizeof(*search.queued)),
	};
	uint64_t *offsets = npuplan_pool_take(&pool, n, sizeof(*offsets));
	int err = pool.failed ? -ENOMEM : descend(&search, offsets);

	npuplan_free_all(search.constraints, search.raised, search.decisions);
	return err;
}
