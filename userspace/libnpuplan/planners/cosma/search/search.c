// SPDX-License-Identifier: MIT
/* A* over states, for a whole model or window by window (cosma_search()). */
#include <stdlib.h>
#include <string.h>

#include "dominance.h"
#include "evict.h"
#include "search.h"
#include "tree.h"

/*
 * Limits of the sets of tensors to evict that are looked at for one operator in one state; the
 * small one where only some states are gone on from.
 */
#define EXACT_CHOICES  1000000
#define WINDOW_CHOICES 200
/* This is no error: the state has no more children. */
#define ENOUGH	       1

/*
 * struct search_state - what a state has besides its node
 * @next: next state of the same downset
 * @masks: place in the search's @masks, where the state has twice the downset's words
 */
struct search_state {
	uint32_t next;
	uint32_t masks;
};

struct traffic_search {
	const struct cosma_query *query;
	const struct cosma_model *model;
	struct cosma_call *call;
	struct cosma_tree tree;
	struct cosma_bounds bounds;
	struct npuplan_pool arrays;
	struct search_state *state; /* per node */
	uint64_t *masks;
	uint64_t *packed;
	uint32_t masks_used;
	/* For a search by windows. */
	uint64_t *window_mask;
	uint32_t *beam;
	uint32_t beam_count;
	uint32_t window_count;
	uint32_t window;
	/* While an operator's evictions are tried. */
	uint32_t parent;
	uint32_t op;
	bool incomplete;
};

/* ------------------------------------------------------------------- states */

/* Whether a state of the same downset is as good as this one; those that are worse die. */
static bool is_dominated(struct traffic_search *search, struct cosma_downset *downset,
			 const uint64_t *masks, int64_t cost)
{
	uint32_t *link = &downset->states;

	while (*link != NPUMEM_NONE) {
		struct cosma_node *other = &search->tree.node[*link];
		struct search_state *state = &search->state[*link];
		const uint64_t *theirs = search->masks + state->masks;

		search->call->work += downset->words;
		if (cosma_dominates(search->model, downset, theirs, other->cost, masks, cost))
			return true;
		if (cosma_dominates(search->model, downset, masks, cost, theirs, other->cost)) {
			other->dominated = true;
			*link = state->next;
			continue;
		}
		link = &state->next;
	}
	return false;
}

/*
 * Puts the tree's child into the search, unless it leads nowhere. The first @evicted of its trail
 * are tensors, then come @count operators.
 */
static int add_state(struct traffic_search *search, int64_t cost, uint32_t parent, uint32_t evicted,
		     uint32_t count)
{
	struct cosma_tree *tree = &search->tree;
	struct cosma_node node = { .parent = parent, .cost = cost, .bound = COSMA_NEVER };
	struct cosma_downset *downset;
	struct search_state state = { .masks = search->masks_used };
	uint32_t states = tree->node_count;
	uint64_t before = search->bounds.work;
	int64_t bound;
	int err = cosma_downsets_of(&tree->downsets, &tree->child, &node.downset);

	if (err)
		return err;
	downset = &tree->downsets.downset[node.downset];
	cosma_board_pack(&tree->child, downset, search->packed);
	search->call->work += search->model->words + downset->live_count;
	/* What a dive has passed by, it does not come back to. */
	if (!search->query->dive_end && is_dominated(search, downset, search->packed, cost))
		return 0;
	err = cosma_bounds_of(&search->bounds, downset, search->packed, &bound);
	search->call->work += search->bounds.work - before;
	if (err)
		return err;
	/* Else it leads nowhere, but what it dominates does not either: it is remembered. */
	if (bound != COSMA_NEVER && cost + bound < search->query->upper) {
		node.bound = cost + bound;
		node.evicted = evicted;
		node.ops = count;
	}
	state.next = downset->states;
	err = npuplan_append(&search->state, &states, &state, 1);
	err = err ? err :
		    npuplan_append(&search->masks, &search->masks_used, search->packed,
				   2 * downset->words);
	return err ? err : cosma_tree_add(tree, node);
}

/* Limits are looked at for each child, since one state may have a million. */
static bool is_over(struct traffic_search *search)
{
	uint32_t limit = search->query->state_limit;

	if (search->query->dive_end)
		return search->call->work >= search->query->dive_end;
	return (limit && search->tree.node_count >= limit) || cosma_call_over(search->call);
}

/*
 * Runs the operator on a copy of the board, once @tensors are evicted. Returns ENOUGH, and leaves
 * sets out, when a limit is reached.
 */
static int try_eviction(void *context, const uint32_t *tensors, uint32_t count, int64_t cost)
{
	struct traffic_search *search = context;
	struct cosma_board *child = &search->tree.child;
	const struct cosma_list *inputs = &search->model->inputs;
	uint32_t ops = 1, *trail = search->tree.trail;

	if (is_over(search)) {
		search->incomplete = true;
		return ENOUGH;
	}
	cosma_board_copy(child, &search->tree.board);
	for (uint32_t i = 0; i < count; i++) {
		if (!cosma_listed(inputs, search->op, tensors[i]))
			cosma_board_evict(child, tensors[i]);
		trail[i] = tensors[i];
	}
	cosma_board_run(child, search->op);
	/* Inputs of the operator leave with it. */
	for (uint32_t i = 0; i < count; i++)
		if (cosma_listed(inputs, search->op, tensors[i]))
			cosma_board_evict(child, tensors[i]);
	trail[count] = search->op;
	if (!search->query->fixed)
		cosma_board_close(child, search->query->budget, false, trail + count, &ops);
	search->call->work += search->model->words + child->tensor_words + ops;
	return add_state(search, search->tree.node[search->parent].cost + cost, search->parent,
			 count, ops);
}

static bool is_allowed(const struct traffic_search *search, uint32_t v)
{
	return !search->query->window || search->query->window[v] <= search->window + 1;
}

static int expand(struct traffic_search *search, uint32_t id)
{
	const struct cosma_query *query = search->query;
	const struct cosma_node *node = &search->tree.node[id];
	struct cosma_board *board = &search->tree.board;
	int64_t left = query->upper - 1 - node->cost;
	uint32_t only;
	int err = 0;

	cosma_board_unpack(board, &search->tree.downsets.downset[node->downset],
			   search->masks + search->state[id].masks);
	only = cosma_board_only(board, query->fixed);
	search->parent = id;
	for (uint32_t i = 0; i < board->ready_count && !err; i++) {
		struct cosma_eviction eviction = {
			.board = board,
			.op = board->ready[i],
			.limit = left,
			.node_limit = query->window || query->dive_end ? WINDOW_CHOICES :
									 EXACT_CHOICES,
			.found = try_eviction,
			.context = search,
		};
		int64_t loads, stores;
		uint32_t end;

		search->op = board->ready[i];
		if ((only != NPUMEM_NONE && search->op != only) || !is_allowed(search, search->op))
			continue;
		/* A chain that has to stop half-way waits for the next window. */
		if (only == NPUMEM_NONE &&
		    (!cosma_board_may_start(board, search->op, &end) || !is_allowed(search, end)))
			continue;
		cosma_board_need(board, search->op, &loads, &stores);
		if (loads <= query->budget && stores <= query->budget) {
			err = try_eviction(search, NULL, 0, 0);
			continue;
		}
		err = cosma_evict(&eviction, loads - query->budget, stores - query->budget);
		search->call->work += eviction.nodes;
		search->incomplete |= eviction.truncated;
	}
	return err == ENOUGH ? 0 : err;
}

/* ------------------------------------------------------------------- windows */

static int windows_init(struct traffic_search *search)
{
	const struct cosma_query *query = search->query;
	uint32_t words = search->model->words;

	if (!query->window)
		return 0;
	for (uint32_t v = 0; v < search->model->op_count; v++)
		if (query->window[v] >= search->window_count)
			search->window_count = query->window[v] + 1;
	search->window_mask = npuplan_pool_take(
		&search->arrays, (size_t)search->window_count * words, sizeof(uint64_t));
	search->beam = npuplan_pool_take(&search->arrays, query->beam_width, sizeof(*search->beam));
	if (search->arrays.failed)
		return -ENOMEM;
	for (uint32_t v = 0; v < search->model->op_count; v++)
		for (uint32_t s = query->window[v]; s < search->window_count; s++)
			npuplan_set_add(search->window_mask + (size_t)s * words, v);
	return 0;
}

static bool ends_window(const struct traffic_search *search, uint32_t id)
{
	const struct cosma_downset *downset =
		&search->tree.downsets.downset[search->tree.node[id].downset];
	const uint64_t *mask = search->window_mask + (size_t)search->window * search->model->words;

	for (uint32_t w = 0; w < search->model->words; w++)
		if (mask[w] & ~cosma_downset_word(downset, w))
			return false;
	return true;
}

/* The next window starts from the beam of this one. */
static int next_window(struct traffic_search *search)
{
	int err = 0;

	search->window++;
	search->tree.queue_count = 0;
	for (uint32_t i = 0; i < search->beam_count && !err; i++)
		err = cosma_tree_push(&search->tree, search->beam[i]);
	search->beam_count = 0;
	return err;
}

/* ------------------------------------------------------------------- search */

static int start(struct traffic_search *search)
{
	struct cosma_tree *tree = &search->tree;
	uint32_t count = 0;

	cosma_board_start(&tree->child);
	if (!search->query->fixed)
		cosma_board_close(&tree->child, search->query->budget, false, tree->trail, &count);
	return add_state(search, 0, NPUMEM_NONE, 0, count);
}

static int loop(struct traffic_search *search, struct cosma_path *path, int64_t *lower_bound)
{
	const struct cosma_query *query = search->query;
	struct cosma_tree *tree = &search->tree;
	int err = start(search);

	while (!err) {
		bool last = !query->window || search->window + 1 >= search->window_count;
		uint32_t id;

		if (!last && search->beam_count &&
		    (!tree->queue_count || search->beam_count >= query->beam_width)) {
			err = next_window(search);
			continue;
		}
		if (!tree->queue_count)
			return search->incomplete || query->window ? COSMA_STOPPED :
								     COSMA_EXHAUSTED;
		id = cosma_tree_take(tree);
		if (tree->node[id].dominated)
			continue;
		/* What has been left out may cost less. */
		if (!query->window && !search->incomplete && tree->node[id].bound > *lower_bound)
			*lower_bound = tree->node[id].bound;
		if (cosma_tree_is_complete(tree, id)) {
			err = cosma_tree_path(tree, id, path);
			if (err)
				return err;
			return search->incomplete || query->window ? COSMA_FOUND : COSMA_SOLVED;
		}
		if (!last && ends_window(search, id)) {
			search->beam[search->beam_count++] = id;
			continue;
		}
		if (cosma_call_over(search->call) ||
		    (query->state_limit && tree->node_count >= query->state_limit)) {
			if (last || !search->beam_count)
				return COSMA_STOPPED;
			err = next_window(search);
			continue;
		}
		err = expand(search, id);
	}
	return err;
}

/* From the best child to its best child, and so on. */
static int dive(struct traffic_search *search, struct cosma_path *path)
{
	struct cosma_tree *tree = &search->tree;
	int err = start(search);

	while (!err && tree->queue_count && !is_over(search)) {
		uint32_t id = cosma_tree_take(tree);

		tree->queue_count = 0;
		if (cosma_tree_is_complete(tree, id)) {
			err = cosma_tree_path(tree, id, path);
			return err ? err : COSMA_FOUND;
		}
		err = expand(search, id);
	}
	return err ? err : COSMA_STOPPED;
}

int cosma_search(const struct cosma_query *query, struct cosma_call *call, struct cosma_path *path,
		 int64_t *lower_bound)
{
	const struct cosma_model *model = query->model;
	struct traffic_search search = {
		.query = query,
		.model = model,
		.call = call,
		.tree = {
			.model = model,
			.call = call,
			.longest = model->op_count + model->tensor_count,
		},
	};
	/* A dive looks at a state once: to know more of it takes longer than it is worth. */
	const struct cosma_call ended = { .effort.stopped = true };
	int outcome, err = cosma_tree_init(&search.tree);

	*lower_bound = 0;
	search.packed = npuplan_pool_take(
		&search.arrays, 2 * ((size_t)model->tensor_count / 64 + 1), sizeof(*search.packed));
	err = err || search.packed ? err : -ENOMEM;
	err = err ? err :
		    cosma_bounds_init(&search.bounds, model, query->budget,
				      query->dive_end ? &ended : call);
	err = err ? err : windows_init(&search);
	call->work += search.bounds.work;
	outcome = err		  ? err :
		  query->dive_end ? dive(&search, path) :
				    loop(&search, path, lower_bound);
	/* There is no room for more states. */
	if (cosma_call_refused(call, outcome) || outcome == -E2BIG)
		outcome = COSMA_STOPPED;
	if (outcome == COSMA_EXHAUSTED)
		*lower_bound = query->upper;
	cosma_tree_fini(&search.tree);
	cosma_bounds_fini(&search.bounds);
	npuplan_free_all(search.state, search.masks);
	npuplan_pool_free(&search.arrays);
	return outcome;
}
