// SPDX-License-Identifier: MIT
/* This file searches for the minimum peak memory footprint (cosma_mpmf()). */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "planners/cosma/bound/critical.h"
#include "search.h"
#include "tree.h"

/* Operators of a chunk. */
#define CHUNK 1024

/* struct peak_search - a search in which a node costs the most bytes at once on the way to it
 * @certain: per operator, bytes on chip while it runs, in any order
 * @largest: operators by chunks of CHUNK numbers, those of one by falling @certain
 * @adders: per operator, the set of tensors that add to it if they are on chip
 * @masks: of the state that is expanded
 * @fixed: operators run by the model's rank
 * @truncated: a limit came while a state was expanded
 */
struct peak_search {
	const struct cosma_model *model;
	struct cosma_call *call;
	struct cosma_tree tree;
	int64_t *certain;
	uint32_t *largest;
	uint64_t *adders;
	uint64_t *masks;
	bool fixed;
	bool truncated;
};

/* Finds the bytes that are on chip while each operator runs, whatever the order. */
static int find_certain(struct peak_search *search)
{
	const struct cosma_model *model = search->model;
	AUTO_HEAP uint64_t *members = npuplan_malloc(2 * (size_t)model->words * sizeof(*members));
	AUTO_HEAP struct npuplan_keyed *keyed =
		npuplan_malloc(((size_t)model->op_count + 1) * sizeof(*keyed));
	uint64_t *adders;

	if (!members || !keyed)
		return -ENOMEM;
	adders = members + model->words;
	for (uint32_t v = 0; v < model->op_count; v++)
		search->certain[v] = model->need[v];
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		cosma_relations(model, x, members, adders);
		npuplan_set_for_each(v, members, model->words)
			search->certain[v] += model->size[x];
		npuplan_set_for_each(v, adders, model->words)
			npuplan_set_add(
				search->adders + v * (size_t)search->tree.board.tensor_words, x);
	}
	for (uint32_t v = 0; v < model->op_count; v++)
		keyed[v] = (struct npuplan_keyed){
			.key = v / CHUNK,
			.second = ~(uint64_t)search->certain[v],
			.item = v,
		};
	npuplan_sort_items(keyed, model->op_count, search->largest);
	search->call->work += (uint64_t)model->tensor_count * model->words;
	return 0;
}

/* The same as @bound, or more, by the operators of the chunk that begins with number @from. */
static int64_t bound_of_chunk(struct peak_search *search, const struct cosma_board *board,
			      uint32_t from, int64_t bound)
{
	const struct cosma_model *model = search->model;

	for (uint32_t i = from; i < model->op_count && i < from + CHUNK; i++) {
		uint32_t v = search->largest[i], words = board->tensor_words;
		const uint64_t *adders = search->adders + (size_t)v * words;
		int64_t bytes = search->certain[v];

		if (bytes + board->on_bytes <= bound)
			break;
		if (npuplan_set_has(board->executed, v))
			continue;
		for (uint32_t w = 0; w < words; w++)
			for (uint64_t bits = board->on[w] & adders[w]; bits; bits &= bits - 1)
				bytes += model->size[w * 64 + (uint32_t)__builtin_ctzll(bits)];
		search->call->work += words;
		bound = bytes > bound ? bytes : bound;
	}
	return bound;
}

static int64_t bound_of(struct peak_search *search, const struct cosma_board *board, int64_t bound)
{
	uint32_t first = 0;

	/* Of a long graph most has run, or is far: chunks that have run are passed over. */
	while (first < search->model->words && board->executed[first] == UINT64_MAX)
		first++;
	for (uint32_t from = first * 64 / CHUNK * CHUNK; from < search->model->op_count;
	     from += CHUNK)
		bound = bound_of_chunk(search, board, from, bound);
	return bound;
}

static int add_state(struct peak_search *search, int64_t peak, uint32_t parent, uint32_t count)
{
	struct cosma_tree *tree = &search->tree;
	struct cosma_node node = { .parent = parent, .ops = count, .cost = peak };
	const struct cosma_downset *downset;
	int err = cosma_downsets_of(&tree->downsets, &tree->child, &node.downset);

	if (err)
		return err;
	downset = &tree->downsets.downset[node.downset];
	search->call->work += search->model->words + downset->live_count;
	if (downset->states != NPUMEM_NONE) {
		if (tree->node[downset->states].cost <= peak)
			return 0;
		tree->node[downset->states].dominated = true;
	}
	/* A fixed order has one end only. */
	node.bound = search->fixed ? peak : bound_of(search, &tree->child, peak);
	return cosma_tree_add(tree, node);
}

/* Nothing is evicted, so what is on chip follows from what has run. */
static void unpack(struct peak_search *search, const struct cosma_downset *downset)
{
	const struct cosma_model *model = search->model;

	memset(search->masks, 0, 2 * downset->words * sizeof(*search->masks));
	for (uint32_t i = 0; i < downset->live_count; i++) {
		uint32_t x = downset->live[i];
		bool on = model->producer[x] != NPUMEM_NONE || model->flags[x] & COSMA_ENTRY;

		cosma_for_each(k, model->consumers, x)
			on |= cosma_downset_has(downset, model->consumers.item[k]);
		if (on)
			npuplan_set_add(search->masks, i);
		if (model->flags[x] & COSMA_HOST)
			npuplan_set_add(search->masks + downset->words, i);
	}
	cosma_board_unpack(&search->tree.board, downset, search->masks);
}

static int expand(struct peak_search *search, uint32_t id)
{
	struct cosma_board *board = &search->tree.board, *child = &search->tree.child;
	const struct cosma_node node = search->tree.node[id];
	uint32_t only, end;
	int err = 0;

	unpack(search, &search->tree.downsets.downset[node.downset]);
	only = cosma_board_only(board, search->fixed);
	for (uint32_t i = 0; i < board->ready_count && !err; i++) {
		uint32_t v = board->ready[i], count = 1;
		int64_t peak = board->on_bytes + cosma_board_extra(board, v), reached;

		if (only != NPUMEM_NONE ? v != only : !cosma_board_may_start(board, v, &end))
			continue;
		/* A wide graph has many children, each as long as the graph. */
		if (cosma_call_over(search->call)) {
			search->truncated = true;
			break;
		}
		cosma_board_copy(child, board);
		cosma_board_run(child, v);
		search->tree.trail[0] = v;
		/* Every order needs as much as this state is known to need. */
		reached = peak > node.bound ? peak : node.bound;
		peak = peak > node.cost ? peak : node.cost;
		if (!search->fixed) {
			cosma_board_close(child, reached, true, search->tree.trail, &count);
			peak = count > 1 ? reached : peak;
		}
		search->call->work += search->model->words + board->tensor_words + count;
		err = add_state(search, peak, id, count);
	}
	return err;
}

static int loop(struct peak_search *search, int64_t at_least, struct cosma_path *path,
		int64_t *lower_bound)
{
	struct cosma_tree *tree = &search->tree;
	uint32_t count = 0;
	int err;

	cosma_board_start(&tree->child);
	at_least = tree->child.on_bytes > at_least ? tree->child.on_bytes : at_least;
	at_least = bound_of(search, &tree->child, at_least);
	*lower_bound = at_least;
	if (!search->fixed)
		cosma_board_close(&tree->child, at_least, true, tree->trail, &count);
	err = add_state(search, at_least, NPUMEM_NONE, count);
	while (!err && tree->queue_count) {
		uint32_t id = cosma_tree_take(tree);

		if (tree->node[id].dominated)
			continue;
		/* A child that there was no time for may need less. */
		if (search->truncated)
			return COSMA_STOPPED;
		*lower_bound = tree->node[id].bound;
		if (cosma_tree_is_complete(tree, id)) {
			err = cosma_tree_path(tree, id, path);
			path->cost = *lower_bound;
			return err ? err : COSMA_SOLVED;
		}
		if (cosma_call_over(search->call))
			return COSMA_STOPPED;
		err = expand(search, id);
	}
	return err ? err : COSMA_STOPPED;
}

int cosma_mpmf(const struct cosma_model *model, int64_t at_least, bool fixed,
	       struct cosma_call *call, struct cosma_path *path, int64_t *lower_bound)
{
	uint32_t n = model->op_count;
	struct peak_search search = {
		.model = model,
		.call = call,
		.tree = { .model = model, .call = call, .longest = n },
		.fixed = fixed,
	};
	struct npuplan_pool pool = { 0 };
	int err = cosma_tree_init(&search.tree), outcome;
	size_t adders = (size_t)n * search.tree.board.tensor_words;

	*lower_bound = 0;
	search.certain = npuplan_pool_take(&pool, n, sizeof(*search.certain));
	search.largest = npuplan_pool_take(&pool, n, sizeof(*search.largest));
	search.adders = npuplan_pool_take(&pool, adders, sizeof(*search.adders));
	search.masks = npuplan_pool_take(&pool, 2 * ((size_t)model->tensor_count / 64 + 1),
					 sizeof(*search.masks));
	if (pool.failed)
		err = -ENOMEM;
	err = err ? err : find_certain(&search);
	outcome = err ? err : loop(&search, at_least, path, lower_bound);
	/* There is no room for more states. */
	if (cosma_call_refused(call, outcome) || outcome == -E2BIG)
		outcome = COSMA_STOPPED;
	cosma_tree_fini(&search.tree);
	npuplan_pool_free(&pool);
	return outcome;
}
