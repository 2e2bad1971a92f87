// SPDX-License-Identifier: MIT
/* Minimum peak memory footprint. */
#include <stdlib.h>
#include <string.h>

#include "planners/cosma/bound/critical.h"
#include "base/queue.h"
#include "mpmf.h"

/*
 * struct peak_state - downset reached with so many bytes at most
 * @peak: on the way here; @bound: with what any order still needs
 */
struct peak_state {
	uint32_t downset;
	uint32_t parent;
	uint32_t run;
	bool dead;
	uint64_t path;
	int64_t peak;
	int64_t bound;
};

struct peak_search {
	const struct cosma_model *model;
	bool fixed;
	struct cosma_run *run;
	struct cosma_downsets downsets;
	struct cosma_board board;
	struct cosma_board child;
	struct peak_state *state;
	uint32_t *queue;
	uint32_t queue_count;
	uint32_t *paths;
	uint32_t *trail;
	int64_t *certain;  /* per operator: bytes on chip while it runs, in any order */
	uint32_t *largest; /* operators by falling @certain */
	uint64_t *adders;  /* per operator, bits: tensors that add to it if on chip */
	uint32_t state_count;
	uint32_t paths_count;
	uint64_t held;
	bool full; /* of the memory it may have */
	bool cut;  /* a limit came while a state was expanded */
};

/* The less bound, then the further. */
static bool is_sooner(const struct peak_search *search, const uint32_t *a, const uint32_t *b)
{
	const struct peak_state *x = &search->state[*a], *y = &search->state[*b];
	uint32_t done_x = search->downsets.downset[x->downset].done;
	uint32_t done_y = search->downsets.downset[y->downset].done;

	if (x->bound != y->bound)
		return x->bound < y->bound;
	if (done_x != done_y)
		return done_x > done_y;
	return *a < *b;
}

NPUPLAN_QUEUE(queue, uint32_t, struct peak_search, is_sooner)

/* Puts a state into the queue of those to be expanded; -ENOMEM. */
static int push(struct peak_search *search, uint32_t id)
{
	if (npuplan_grow(&search->queue, search->queue_count, sizeof(*search->queue)))
		return -ENOMEM;
	queue_put(search, search->queue, search->queue_count++, id);
	return 0;
}

/* Bytes that are on chip while an operator runs, whatever the order. */
static int find_certain(struct peak_search *search)
{
	const struct cosma_model *model = search->model;
	uint64_t *members = malloc(2 * ((size_t)model->words + 1) * sizeof(*members));
	uint64_t *adders = members + model->words + 1;

	if (!members)
		return -ENOMEM;
	for (uint32_t v = 0; v < model->op_count; v++)
		search->certain[v] = model->need[v];
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		cosma_relations(model, x, members, adders);
		for (uint32_t w = 0; w < model->words; w++) {
			for (uint64_t bits = members[w]; bits; bits &= bits - 1)
				search->certain[w * 64 + (uint32_t)__builtin_ctzll(bits)] +=
					model->size[x];
			for (uint64_t bits = adders[w]; bits; bits &= bits - 1)
				cosma_set(search->adders +
						  (w * 64 + (size_t)__builtin_ctzll(bits)) *
							  search->board.tensor_words,
					  x);
		}
	}
	free(members);
	for (uint32_t v = 0; v < model->op_count; v++) {
		uint32_t at = v;

		for (; at && search->certain[search->largest[at - 1]] < search->certain[v]; at--)
			search->largest[at] = search->largest[at - 1];
		search->largest[at] = v;
	}
	search->run->work += (uint64_t)model->tensor_count * model->words;
	return 0;
}

static int64_t bound_of(struct peak_search *search, const struct cosma_board *board, int64_t bound)
{
	const struct cosma_model *model = search->model;

	for (uint32_t i = 0; i < model->op_count; i++) {
		uint32_t v = search->largest[i], words = board->tensor_words;
		const uint64_t *adders = search->adders + (size_t)v * words;
		int64_t bytes = search->certain[v];

		if (bytes + board->on_bytes <= bound)
			break;
		if (cosma_bit(board->executed, v))
			continue;
		for (uint32_t w = 0; w < words; w++)
			for (uint64_t bits = board->on[w] & adders[w]; bits; bits &= bits - 1)
				bytes += model->size[w * 64 + (uint32_t)__builtin_ctzll(bits)];
		search->run->work += words;
		bound = bytes > bound ? bytes : bound;
	}
	return bound;
}

static bool within_memory(struct peak_search *search)
{
	const struct cosma_model *model = search->model;
	uint64_t now = cosma_model_bytes(model) + search->downsets.bytes +
		       (uint64_t)model->op_count * search->board.tensor_words * sizeof(uint64_t) +
		       cosma_grown(search->state_count + 1, sizeof(*search->state)) +
		       cosma_grown(search->queue_count + 1, sizeof(*search->queue)) +
		       cosma_grown(search->paths_count + model->op_count, sizeof(*search->paths));

	if (!cosma_run_hold(search->run, (int64_t)(now - search->held)))
		search->full = true;
	else
		search->held = now;
	return !search->full;
}

static int add_state(struct peak_search *search, int64_t peak, uint32_t parent, uint32_t count)
{
	struct peak_state state = {
		.parent = parent,
		.run = count,
		.path = search->paths_count,
		.peak = peak,
	};
	struct cosma_downset *downset;
	int err;

	if (!within_memory(search))
		return 0;
	err = cosma_downsets_of(&search->downsets, &search->child, &state.downset);
	if (err)
		return err;
	downset = &search->downsets.downset[state.downset];
	search->run->work += search->model->words + downset->live_count;
	if (downset->states != NPUMEM_NONE) {
		struct peak_state *other = &search->state[downset->states];

		if (other->peak <= peak)
			return 0;
		other->dead = true;
	}
	/* A fixed order has one end only. */
	state.bound = search->fixed ? peak : bound_of(search, &search->child, peak);
	if (parent != NPUMEM_NONE && search->state[parent].bound > state.bound)
		state.bound = search->state[parent].bound;
	if (npuplan_grow(&search->state, search->state_count, sizeof(*search->state)))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (npuplan_grow(&search->paths, search->paths_count, sizeof(*search->paths)))
			return -ENOMEM;
		search->paths[search->paths_count++] = search->trail[i];
	}
	downset->states = search->state_count;
	search->state[search->state_count] = state;
	return push(search, search->state_count++);
}

/* Nothing is evicted, so what is on chip follows from what has run. */
static void unpack(struct peak_search *search, const struct cosma_downset *downset)
{
	const struct cosma_model *model = search->model;
	struct cosma_board *board = &search->board;

	memcpy(board->executed, downset->executed, model->words * sizeof(*board->executed));
	memset(board->on, 0, board->tensor_words * sizeof(*board->on));
	memset(board->host, 0, board->tensor_words * sizeof(*board->host));
	board->on_bytes = 0;
	for (uint32_t i = 0; i < downset->live_count; i++) {
		uint32_t x = downset->live[i];
		bool on = model->producer[x] != NPUMEM_NONE || model->flags[x] & COSMA_ENTRY;

		cosma_for_each(k, model->consumers, x)
			on |= cosma_bit(board->executed, model->consumers.item[k]);
		if (!on)
			continue;
		cosma_set(board->on, x);
		board->on_bytes += model->size[x];
	}
	memcpy(board->ready, downset->ready, downset->ready_count * sizeof(*board->ready));
	board->ready_count = downset->ready_count;
	board->done = downset->done;
}

static int expand(struct peak_search *search, uint32_t id)
{
	uint32_t only, end;
	int err = 0;

	unpack(search, &search->downsets.downset[search->state[id].downset]);
	only = cosma_board_only(&search->board, search->fixed);
	for (uint32_t i = 0; i < search->board.ready_count && !err; i++) {
		uint32_t v = search->board.ready[i], count = 1;
		int64_t peak = search->board.on_bytes + cosma_board_extra(&search->board, v);
		int64_t reached = search->state[id].bound;

		if (only != NPUMEM_NONE ? v != only :
					  !cosma_board_may_start(&search->board, v, &end))
			continue;
		/* A wide graph has many children, each as long as the graph. */
		if (cosma_run_over(search->run)) {
			search->cut = true;
			break;
		}
		cosma_board_copy(&search->child, &search->board);
		cosma_board_run(&search->child, v);
		search->trail[0] = v;
		peak = peak > search->state[id].peak ? peak : search->state[id].peak;
		/* Every order needs as much as this state is known to. */
		reached = peak > reached ? peak : reached;
		if (!search->fixed) {
			cosma_board_close(&search->child, reached, true, search->trail, &count);
			peak = count > 1 ? reached : peak;
		}
		search->run->work += search->model->words + search->board.tensor_words + count;
		err = add_state(search, peak, id, count);
	}
	return err;
}

static int fill_path(const struct peak_search *search, uint32_t goal, struct cosma_path *path)
{
	uint32_t n = search->model->op_count, at = n;

	if (cosma_path_init(path, n, 0))
		return -ENOMEM;
	path->cost = search->state[goal].bound;
	for (uint32_t id = goal; id != NPUMEM_NONE; id = search->state[id].parent) {
		at -= search->state[id].run;
		memcpy(path->order + at, search->paths + search->state[id].path,
		       search->state[id].run * sizeof(*search->paths));
	}
	return 0;
}

static int loop(struct peak_search *search, int64_t floor, struct cosma_path *path,
		int64_t *lower_bound)
{
	uint32_t count = 0;
	int err;

	cosma_board_start(&search->child);
	floor = search->child.on_bytes > floor ? search->child.on_bytes : floor;
	floor = bound_of(search, &search->child, floor);
	*lower_bound = floor;
	if (!search->fixed)
		cosma_board_close(&search->child, floor, true, search->trail, &count);
	err = add_state(search, floor, NPUMEM_NONE, count);
	while (!err && search->queue_count) {
		uint32_t id = queue_take(search, search->queue, search->queue_count--);
		struct peak_state *state = &search->state[id];

		if (state->dead)
			continue;
		/* What had no room, or no time, may need less. */
		if (search->full || search->cut)
			return COSMA_STOPPED;
		*lower_bound = state->bound;
		if (search->downsets.downset[state->downset].done == search->model->op_count) {
			err = fill_path(search, id, path);
			return err ? err : COSMA_SOLVED;
		}
		if (cosma_run_over(search->run) || !within_memory(search))
			return COSMA_STOPPED;
		err = expand(search, id);
	}
	return err ? err : COSMA_STOPPED;
}

int cosma_mpmf(const struct cosma_model *model, int64_t floor, bool fixed, struct cosma_run *run,
	       struct cosma_path *path, int64_t *lower_bound)
{
	struct peak_search search = { .model = model, .fixed = fixed, .run = run };
	struct npuplan_pool pool = { 0 };
	size_t n = model->op_count;
	int err = cosma_downsets_init(&search.downsets, model), outcome;

	*lower_bound = 0;
	err = err ? err : cosma_board_init(&search.board, model);
	err = err ? err : cosma_board_init(&search.child, model);
	search.trail = npuplan_pool_take(&pool, n, sizeof(*search.trail));
	search.certain = npuplan_pool_take(&pool, n, sizeof(*search.certain));
	search.largest = npuplan_pool_take(&pool, n, sizeof(*search.largest));
	search.adders =
		npuplan_pool_take(&pool, n * search.board.tensor_words, sizeof(*search.adders));
	if (pool.failed)
		err = -ENOMEM;
	err = err ? err : find_certain(&search);
	outcome = err ? err : loop(&search, floor, path, lower_bound);
	cosma_run_hold(run, -(int64_t)search.held);
	cosma_downsets_fini(&search.downsets);
	cosma_board_fini(&search.board);
	cosma_board_fini(&search.child);
	free_all(search.state, search.queue, search.paths);
	npuplan_pool_free(&pool);
	return outcome;
}
