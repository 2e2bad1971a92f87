// SPDX-License-Identifier: MIT
/* This file enumerates inclusion-minimal evictions. */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "evict.h"

/* struct alike - tensors that are as good as each other
 * @size, @price: of each, bytes
 * @rest: bytes of these and those behind them
 * @others: the same of those that do not yield
 * @yields: they are inputs of the operator, and leave with it
 * @first: place in the list of tensors
 * @count: tensors
 * @take: tensors that the set at hand has
 */
struct alike {
	int64_t size;
	int64_t price;
	int64_t rest;
	int64_t others;
	bool yields;
	uint32_t first;
	uint32_t count;
	uint32_t take;
};

/** struct evicting - the enumeration; behind the last of @alike there is an empty one */
struct evicting {
	struct cosma_eviction *eviction;
	struct alike *alike;
	uint32_t *tensor;
	uint32_t *chosen;
	uint32_t alike_count;
	uint32_t count;
};

/* Orders tensors by falling size, so that those that are alike are neighbours. */
static int compare(const struct cosma_board *board, uint32_t a, uint32_t b)
{
	const struct cosma_model *model = board->model;
	uint32_t i = model->consumers.first[a], k = model->consumers.first[b];
	uint32_t i_end = model->consumers.first[a + 1], k_end = model->consumers.first[b + 1];
	int host_a = npuplan_set_has(board->host, a), host_b = npuplan_set_has(board->host, b);

	if (model->size[a] != model->size[b])
		return model->size[a] > model->size[b] ? -1 : 1;
	if (host_a != host_b)
		return host_b - host_a;
	for (;; i++, k++) {
		while (i < i_end && npuplan_set_has(board->executed, model->consumers.item[i]))
			i++;
		while (k < k_end && npuplan_set_has(board->executed, model->consumers.item[k]))
			k++;
		if (i == i_end || k == k_end)
			return (i < i_end) - (k < k_end);
		if (model->consumers.item[i] != model->consumers.item[k])
			return model->consumers.item[i] < model->consumers.item[k] ? -1 : 1;
	}
}

/* Puts a tensor into the list, in the order of compare(). */
static void list_tensor(struct evicting *evicting, uint32_t x)
{
	const struct cosma_board *board = evicting->eviction->board;
	uint32_t *list = evicting->tensor;
	uint32_t place = npuplan_bisect(at, 0, evicting->count, compare(board, list[at], x) <= 0);

	memmove(list + place + 1, list + place, (evicting->count - place) * sizeof(*list));
	list[place] = x;
	evicting->count++;
}

static void list_tensors(struct evicting *evicting)
{
	const struct cosma_board *board = evicting->eviction->board;
	const struct cosma_model *model = board->model;
	uint32_t op = evicting->eviction->op;

	npuplan_set_for_each(x, board->on, board->tensor_words)
		if (!cosma_listed(&model->inputs, op, x))
			list_tensor(evicting, x);
	/* Tensors that the operator uses differ from all others in that. */
	cosma_for_each(k, model->inputs, op)
		if (cosma_board_may_yield(board, op, k))
			list_tensor(evicting, model->inputs.item[k]);
	for (uint32_t i = 0; i < evicting->count; i++) {
		struct alike *alike = &evicting->alike[evicting->alike_count];

		if (i && !compare(board, evicting->tensor[i - 1], evicting->tensor[i])) {
			alike[-1].count++;
			continue;
		}
		*alike = (struct alike){
			.size = model->size[evicting->tensor[i]],
			.price = cosma_board_price(board, evicting->tensor[i]),
			.yields = cosma_listed(&model->inputs, op, evicting->tensor[i]),
			.first = i,
			.count = 1,
		};
		evicting->alike_count++;
	}
	for (uint32_t i = evicting->alike_count; i-- > 0;) {
		struct alike *alike = &evicting->alike[i];
		int64_t bytes = alike->count * alike->size;

		alike->rest = alike[1].rest + bytes;
		alike->others = alike[1].others + (alike->yields ? 0 : bytes);
	}
}

static int report(struct evicting *evicting, int64_t cost)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < evicting->alike_count; i++)
		for (uint32_t k = 0; k < evicting->alike[i].take; k++)
			evicting->chosen[count++] = evicting->tensor[evicting->alike[i].first + k];
	return evicting->eviction->found(evicting->eviction->context, evicting->chosen, count,
					 cost);
}

/*
 * Classes of alike tensors come by falling size, so that a set is minimal if its last, smallest
 * tensor is needed; and as soon as nothing is in excess, the set is complete.
 */
static int choose(struct evicting *evicting, uint32_t i, int64_t loads, int64_t stores,
		  int64_t cost)
{
	struct cosma_eviction *eviction = evicting->eviction;
	struct alike *alike = &evicting->alike[i];
	int err = 0;

	if (loads <= 0 && stores <= 0)
		return report(evicting, cost);
	if (i == evicting->alike_count || alike->rest < stores || alike->others < loads)
		return 0;
	if (++eviction->nodes > eviction->node_limit) {
		eviction->truncated = true;
		return 0;
	}
	for (uint32_t take = alike->count + 1; take-- > 0 && !err;) {
		int64_t freed = take * alike->size, price = cost + take * alike->price;
		int64_t early = alike->yields ? 0 : freed, without = freed - alike->size;

		/* Without its last tensor the set would be enough. */
		if (price > eviction->limit ||
		    (take && without >= stores && (alike->yields || without >= loads)))
			continue;
		alike->take = take;
		err = choose(evicting, i + 1, loads - early, stores - freed, price);
	}
	alike->take = 0;
	return err;
}

int cosma_evict(struct cosma_eviction *eviction, int64_t loads, int64_t stores)
{
	const struct cosma_list *inputs = &eviction->board->model->inputs;
	size_t most = inputs->first[eviction->op + 1] - inputs->first[eviction->op];
	struct evicting evicting = { .eviction = eviction };
	struct npuplan_pool pool = { 0 };
	int err = -ENOMEM;

	for (uint32_t w = 0; w < eviction->board->tensor_words; w++)
		most += (size_t)__builtin_popcountll(eviction->board->on[w]);
	evicting.alike = npuplan_pool_take(&pool, most + 1, sizeof(*evicting.alike));
	evicting.tensor = npuplan_pool_take(&pool, most, sizeof(*evicting.tensor));
	evicting.chosen = npuplan_pool_take(&pool, most, sizeof(*evicting.chosen));
	if (!pool.failed) {
		list_tensors(&evicting);
		err = choose(&evicting, 0, loads, stores, 0);
	}
	npuplan_pool_free(&pool);
	return err;
}
