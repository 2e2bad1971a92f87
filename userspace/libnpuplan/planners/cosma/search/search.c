// SPDX-License-Identifier: MIT
/* A* over states, and the same window by window. */
#include <stdlib.h>
#include <string.h>

#include "planners/cosma/bound/bounds.h"
#include "base/queue.h"
#include "dominance.h"
#include "evict.h"
#include "search.h"

/* Sets of tensors to evict that are looked at for one operator in one state. */
#define EXACT_CHOICES  1000000
#define WINDOW_CHOICES 200
/* No error: no more children of this state. */
#define ENOUGH	       1

/*
 * struct state - node of the search
 * @path: in @paths of the search: evicted tensors, then operators run, from the parent to here
 * @masks: in its @masks, two of the downset's words each
 * @next: the list of the downset's states
 * @cost: paid so far; @bound: with what is still to come, at least
 */
struct state {
	uint32_t downset;
	uint32_t parent;
	uint32_t next;
	uint32_t evicted;
	uint32_t run;
	bool dead;
	bool goal;
	uint64_t path;
	uint64_t masks;
	int64_t cost;
	int64_t bound;
};

struct search {
	const struct cosma_query *query;
	const struct cosma_model *model;
	struct cosma_run *run;
	struct cosma_downsets downsets;
	struct cosma_bounds bounds;
	struct cosma_board board; /* of the state that is expanded */
	struct cosma_board child;
	struct npuplan_pool arrays;
	struct state *state;
	uint64_t *masks;
	uint32_t *paths;
	uint32_t *queue;
	uint32_t queue_count;
	uint32_t *trail;
	uint64_t *packed;
	uint64_t masks_used, masks_room;
	uint64_t paths_used, paths_room;
	uint32_t state_count;
	uint64_t base; /* bytes it starts with; @held: it has told the run of */
	uint64_t held;
	/* Search by windows. */
	uint64_t *window_mask;
	uint32_t *goals;
	uint32_t goal_count;
	uint32_t window_count;
	uint32_t window;
	/* While an operator's evictions are tried. */
	uint32_t parent;
	uint32_t op;
	bool incomplete;
	bool full; /* of the memory it may have */
};

/* The less bound, then the further. */
static bool is_sooner(const struct search *search, const uint32_t *a, const uint32_t *b)
{
	const struct state *x = &search->state[*a], *y = &search->state[*b];
	uint32_t done_x = search->downsets.downset[x->downset].done;
	uint32_t done_y = search->downsets.downset[y->downset].done;

	if (x->bound != y->bound)
		return x->bound < y->bound;
	if (done_x != done_y)
		return done_x > done_y;
	return *a < *b;
}

NPUPLAN_QUEUE(queue, uint32_t, struct search, is_sooner)

/* Puts a state into the queue of those to be expanded; -ENOMEM. */
static int push(struct search *search, uint32_t id)
{
	if (npuplan_grow(&search->queue, search->queue_count, sizeof(*search->queue)))
		return -ENOMEM;
	queue_put(search, search->queue, search->queue_count++, id);
	return 0;
}

/* ------------------------------------------------------------------- states */

/* Whether a state of the same downset is as good; those that are worse die. */
static bool is_dominated(struct search *search, struct cosma_downset *downset,
			 const uint64_t *masks, int64_t cost)
{
	uint32_t *link = &downset->states;

	while (*link != NPUMEM_NONE) {
		struct state *other = &search->state[*link];
		const uint64_t *theirs = search->masks + other->masks;

		search->run->work += downset->words;
		if (cosma_dominates(search->model, downset, theirs, other->cost, masks, cost))
			return true;
		if (cosma_dominates(search->model, downset, masks, cost, theirs, other->cost)) {
			other->dead = true;
			*link = other->next;
			continue;
		}
		link = &other->next;
	}
	return false;
}

/* Items of an array that reserve() makes for @needed. */
static uint64_t reserved(uint64_t room, uint64_t needed)
{
	while (room < needed)
		room = room ? 2 * room : 1024;
	return room;
}

static int reserve(void *array, uint64_t *room, uint64_t needed, size_t size)
{
	uint64_t more = reserved(*room, needed);
	void *old, *grown;

	if (more == *room)
		return 0;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, more * size);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*room = more;
	return 0;
}

/* Whether there is memory for one more state, whatever it has to be grown for. */
static bool within_memory(struct search *search)
{
	const struct cosma_model *model = search->model;
	uint64_t words = 2 * ((uint64_t)model->tensor_count / 64 + 1);
	uint64_t path = (uint64_t)model->tensor_count + model->op_count;
	uint64_t now =
		search->base + search->downsets.bytes +
		cosma_grown(search->state_count + 1, sizeof(*search->state)) +
		cosma_grown(search->queue_count + 1, sizeof(*search->queue)) +
		reserved(search->masks_room, search->masks_used + words) * sizeof(*search->masks) +
		reserved(search->paths_room, search->paths_used + path) * sizeof(*search->paths);

	if (!cosma_run_hold(search->run, (int64_t)(now - search->held)))
		search->full = true;
	else
		search->held = now;
	return !search->full;
}

/*
 * Put search->child into the search, unless it leads nowhere. @path: @evicted
 * tensors, then @count operators.
 */
static int add_state(struct search *search, int64_t cost, uint32_t parent, const uint32_t *path,
		     uint32_t evicted, uint32_t count)
{
	uint32_t id = search->state_count, downset_id;
	struct cosma_downset *downset;
	struct state *state;
	uint64_t before = search->bounds.work;
	bool hopeless = false;
	int64_t bound;
	int err;

	/* One state may have very many children. */
	if (!within_memory(search)) {
		search->incomplete = true;
		return 0;
	}
	err = cosma_downsets_of(&search->downsets, &search->child, &downset_id);
	if (err)
		return err;
	downset = &search->downsets.downset[downset_id];
	cosma_board_pack(&search->child, downset, search->packed);
	search->run->work += search->model->words + downset->live_count;
	if (is_dominated(search, downset, search->packed, cost))
		return 0;
	err = cosma_bounds_of(&search->bounds, downset, search->packed, &bound,
			      &search->downsets.bytes);
	search->run->work += search->bounds.work - before;
	if (err)
		return err;
	/* It leads nowhere, but what it dominates does not either: remember it. */
	if (bound == COSMA_NEVER || cost + bound >= search->query->upper)
		hopeless = true;
	if (hopeless)
		evicted = count = 0;
	if (npuplan_grow(&search->state, id, sizeof(*search->state)) ||
	    reserve(&search->masks, &search->masks_room, search->masks_used + 2 * downset->words,
		    sizeof(*search->masks)) ||
	    reserve(&search->paths, &search->paths_room, search->paths_used + evicted + count,
		    sizeof(*search->paths)))
		return -ENOMEM;
	state = &search->state[id];
	*state = (struct state){
		.downset = downset_id,
		.parent = parent,
		.next = downset->states,
		.evicted = evicted,
		.run = count,
		.path = search->paths_used,
		.masks = search->masks_used,
		.cost = cost,
		.bound = hopeless ? COSMA_NEVER : cost + bound,
	};
	/* A child is never below its parent. */
	if (parent != NPUMEM_NONE && search->state[parent].bound > state->bound)
		state->bound = search->state[parent].bound;
	if (downset->words)
		memcpy(search->masks + search->masks_used, search->packed,
		       2 * downset->words * sizeof(*search->packed));
	search->masks_used += 2 * downset->words;
	if (evicted + count)
		memcpy(search->paths + search->paths_used, path,
		       (evicted + count) * sizeof(*search->paths));
	search->paths_used += evicted + count;
	downset->states = id;
	search->state_count++;
	return hopeless ? 0 : push(search, id);
}

/* Limits are looked at for each child: one state may have a million. */
static bool is_over(struct search *search)
{
	uint32_t limit = search->query->state_limit;

	return search->full || (limit && search->state_count >= limit) ||
	       cosma_run_over(search->run);
}

/*
 * The operator runs on a copy of the board, once @tensors are evicted. Returns
 * ENOUGH, and leaves sets out, when a limit is reached.
 */
static int try_eviction(void *context, const uint32_t *tensors, uint32_t count, int64_t cost)
{
	struct search *search = context;
	uint32_t run = 0, *trail = search->trail;
	const struct cosma_model *model = search->model;
	bool close = !search->query->fixed;

	if (is_over(search)) {
		search->incomplete = true;
		return ENOUGH;
	}
	cosma_board_copy(&search->child, &search->board);
	for (uint32_t i = 0; i < count; i++) {
		if (!cosma_listed(&model->inputs, search->op, tensors[i]))
			cosma_board_evict(&search->child, tensors[i]);
		trail[i] = tensors[i];
	}
	cosma_board_run(&search->child, search->op);
	/* Its own inputs leave with it. */
	for (uint32_t i = 0; i < count; i++)
		if (cosma_listed(&model->inputs, search->op, tensors[i]))
			cosma_board_evict(&search->child, tensors[i]);
	trail[count + run++] = search->op;
	if (close) {
		uint32_t *path = trail + count;

		cosma_board_close(&search->child, search->query->budget, false, path, &run);
	}
	search->run->work += search->model->words + search->board.tensor_words + run;
	return add_state(search, search->state[search->parent].cost + cost, search->parent, trail,
			 count, run);
}

static bool is_allowed(const struct search *search, uint32_t v)
{
	return !search->query->window || search->query->window[v] <= search->window + 1;
}

static int expand(struct search *search, uint32_t id)
{
	const struct cosma_query *query = search->query;
	uint32_t downset_id = search->state[id].downset, only, count;
	int err = 0;

	cosma_board_unpack(&search->board, &search->downsets.downset[downset_id],
			   search->masks + search->state[id].masks);
	count = search->board.ready_count;
	only = cosma_board_only(&search->board, query->fixed);
	search->parent = id;
	for (uint32_t i = 0; i < count && !err; i++) {
		int64_t loads, stores;
		uint32_t end;

		search->op = search->board.ready[i];
		if ((only != NPUMEM_NONE && search->op != only) || !is_allowed(search, search->op))
			continue;
		/* A chain that has to stop half-way waits for the next window. */
		if (only == NPUMEM_NONE &&
		    (!cosma_board_may_start(&search->board, search->op, &end) ||
		     !is_allowed(search, end)))
			continue;
		cosma_board_need(&search->board, search->op, &loads, &stores);
		if (loads <= query->budget && stores <= query->budget) {
			err = try_eviction(search, NULL, 0, 0);
		} else {
			struct cosma_eviction eviction = {
				.board = &search->board,
				.op = search->op,
				.limit = query->upper - 1 - search->state[id].cost,
				.node_limit = query->window ? WINDOW_CHOICES : EXACT_CHOICES,
				.found = try_eviction,
				.context = search,
			};

			err = cosma_evict(&eviction, loads - query->budget, stores - query->budget);
			search->run->work += eviction.nodes;
			search->incomplete |= eviction.cut;
		}
	}
	return err == ENOUGH ? 0 : err;
}

/* ------------------------------------------------------------------- windows */

static int windows_init(struct search *search)
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
	search->goals =
		npuplan_pool_take(&search->arrays, query->window_goals, sizeof(*search->goals));
	if (search->arrays.failed)
		return -ENOMEM;
	for (uint32_t v = 0; v < search->model->op_count; v++)
		for (uint32_t s = query->window[v]; s < search->window_count; s++)
			cosma_set(search->window_mask + (size_t)s * words, v);
	return 0;
}

static bool ends_window(const struct search *search, uint32_t id)
{
	const uint64_t *executed = search->downsets.downset[search->state[id].downset].executed;
	const uint64_t *mask = search->window_mask + (size_t)search->window * search->model->words;

	for (uint32_t w = 0; w < search->model->words; w++)
		if (mask[w] & ~executed[w])
			return false;
	return true;
}

/* The goals of this window are what the next one starts from. */
static int next_window(struct search *search)
{
	int err = 0;

	search->window++;
	search->queue_count = 0;
	for (uint32_t i = 0; i < search->goal_count && !err; i++)
		err = push(search, search->goals[i]);
	search->goal_count = 0;
	return err;
}

/* ------------------------------------------------------------------- search */

static int fill_path(const struct search *search, uint32_t goal, struct cosma_path *path)
{
	uint32_t n = search->model->op_count, evictions = 0, at = n, gone;

	for (uint32_t id = goal; id != NPUMEM_NONE; id = search->state[id].parent)
		evictions += search->state[id].evicted;
	if (cosma_path_init(path, n, evictions))
		return -ENOMEM;
	path->cost = search->state[goal].cost;
	gone = evictions;
	path->first[n] = evictions;
	for (uint32_t id = goal; id != NPUMEM_NONE; id = search->state[id].parent) {
		const struct state *state = &search->state[id];
		const uint32_t *from = search->paths + state->path;

		at -= state->run;
		memcpy(path->order + at, from + state->evicted, state->run * sizeof(*from));
		for (uint32_t k = state->run; k-- > 1;)
			path->first[at + k] = gone;
		gone -= state->evicted;
		memcpy(path->evicted + gone, from, state->evicted * sizeof(*from));
		path->first[at] = gone;
	}
	return 0;
}

static int start(struct search *search)
{
	const struct cosma_query *query = search->query;
	uint32_t count = 0;

	cosma_board_start(&search->child);
	if (!query->fixed)
		cosma_board_close(&search->child, query->budget, false, search->trail, &count);
	return add_state(search, 0, NPUMEM_NONE, search->trail, 0, count);
}

static int loop(struct search *search, struct cosma_path *path, int64_t *lower_bound)
{
	const struct cosma_query *query = search->query;
	int err = start(search);

	while (!err) {
		bool last = !query->window || search->window + 1 >= search->window_count;
		struct state *state;
		uint32_t id;

		if (!last && search->goal_count &&
		    (!search->queue_count || search->goal_count >= query->window_goals)) {
			err = next_window(search);
			continue;
		}
		if (!search->queue_count)
			return search->incomplete || query->window ? COSMA_STOPPED :
								     COSMA_EXHAUSTED;
		id = queue_take(search, search->queue, search->queue_count--);
		state = &search->state[id];
		if (state->dead)
			continue;
		/* What has been left out may cost less. */
		if (!query->window && !search->incomplete && state->bound > *lower_bound)
			*lower_bound = state->bound;
		if (search->downsets.downset[state->downset].done == search->model->op_count) {
			err = fill_path(search, id, path);
			if (err)
				return err;
			return search->incomplete || query->window ? COSMA_FOUND : COSMA_SOLVED;
		}
		if (!last && ends_window(search, id)) {
			search->goals[search->goal_count++] = id;
			continue;
		}
		if (cosma_run_over(search->run) || !within_memory(search) ||
		    (query->state_limit && search->state_count >= query->state_limit)) {
			if (last || !search->goal_count)
				return COSMA_STOPPED;
			err = next_window(search);
			continue;
		}
		err = expand(search, id);
	}
	return err;
}

int cosma_search(const struct cosma_query *query, struct cosma_run *run, struct cosma_path *path,
		 int64_t *lower_bound)
{
	struct search search = {
		.query = query,
		.model = query->model,
		.run = run,
	};
	size_t tensors = query->model->tensor_count;
	int outcome, err;

	*lower_bound = 0;
	search.trail = npuplan_pool_take(&search.arrays, query->model->op_count + tensors,
					 sizeof(*search.trail));
	search.packed = npuplan_pool_take(&search.arrays, 2 * (tensors / 64 + 1), sizeof(uint64_t));
	err = search.arrays.failed ? -ENOMEM : 0;
	err = err ? err : cosma_downsets_init(&search.downsets, query->model);
	err = err ? err : cosma_board_init(&search.board, query->model);
	err = err ? err : cosma_board_init(&search.child, query->model);
	err = err ? err : cosma_bounds_init(&search.bounds, query->model, query->budget);
	err = err ? err : windows_init(&search);
	run->work += search.bounds.work;
	search.base = search.bounds.bytes + cosma_model_bytes(query->model) +
		      (uint64_t)search.window_count * query->model->words * sizeof(uint64_t);
	outcome = err ? err : loop(&search, path, lower_bound);
	if (outcome == COSMA_EXHAUSTED)
		*lower_bound = query->upper;
	cosma_run_hold(run, -(int64_t)search.held);
	cosma_bounds_fini(&search.bounds);
	cosma_downsets_fini(&search.downsets);
	cosma_board_fini(&search.board);
	cosma_board_fini(&search.child);
	free_all(search.state, search.masks, search.paths, search.queue);
	npuplan_pool_free(&search.arrays);
	return outcome;
}
