// SPDX-License-Identifier: MIT
/*
 * The search with addresses enumerates all schedules of a threshold of cost, without the reductions
 * that only keep the cost. A schedule is an order, and for each reuse interval, between two uses of
 * a tensor, whether the tensor is away. Each one is given to the packing core. What is proved not
 * to fit is cut down to the few operators over which it does not, and never looked at again. When a
 * threshold is empty, the next one is the least cost that was cut off.
 *
 * Whether a tensor is away in an interval is decided where that begins, so that each schedule is
 * met once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "planners/cosma/place/addresses.h"
#include "planners/cosma/bound/bounds.h"
#include "planners/cosma/place/lattice.h"
#include "nogoods.h"
#include "solve.h"

/* Limits of the packing core's work: on a schedule, and on an interval of one. */
#define PLACE_WORK    10000000ull
#define INTERVAL_WORK 1000000ull
/* Limit of the lattice's work on an interval. */
#define LATTICE_WORK  4000000ull
/* Tensors at most that one operator touches and that may leave; others stay. */
#define MAX_FREED     16
/* Operators at most of a graph that is searched: each one takes up to a KiB of stack. */
#define MAX_OPS	      6000

/*
 * struct failed - a state from which no schedule is complete that costs @slack more at most
 * @masks: of the state at its downset; owned
 * @last: operator that has run last
 * @hash: of all but @slack
 */
struct failed {
	int64_t slack;
	uint64_t *masks;
	uint32_t downset;
	uint32_t last;
	uint32_t hash;
};

/*
 * struct exact - the enumeration
 * @board: per position, the state before its operator runs
 * @schedule: the order so far
 * @relaxed: best schedule without addresses, whose choices are tried first
 * @relaxed_status: what the packing core says of that
 * @packed: room for the masks of one state
 * @cost: per position, paid so far
 * @over: per position, bytes of the operator before it that have to leave with it
 * @left: tensors that leave: those before position p are left[first_left[p]..first_left[p + 1])
 * @left_room: numbers that @left has room for
 * @failed: states that have failed at this threshold
 * @table: of @failed, by hash
 * @threshold: cost that is allowed
 * @next: least cost that was cut off
 * @back: position to go back to after a conflict
 * @leaves: schedules that were tried, or cut off by no-goods
 * @complete: nothing was left out
 * @found: a schedule of this threshold has addresses
 */
struct exact {
	struct cosma_solver *solver;
	const struct cosma_model *model;
	int64_t budget;
	struct cosma_downsets downsets;
	struct cosma_bounds bounds;
	struct cosma_history history;
	struct cosma_nogoods nogoods;
	struct cosma_board *board;
	struct cosma_schedule schedule;
	const struct cosma_schedule *relaxed;
	uint32_t relaxed_status;
	struct npuplan_pool pool;
	uint64_t *packed;
	int64_t *cost;
	int64_t *over;
	uint32_t *first_left;
	uint32_t *left;
	struct failed *failed;
	struct npuplan_table table;
	uint32_t failed_count;
	uint32_t left_room;
	int64_t threshold;
	int64_t next;
	uint32_t back;
	uint32_t leaves;
	bool complete;
	bool found;
};

/* Whether a limit is reached, so that what is still to be looked at is left out. */
static bool is_over(struct exact *exact)
{
	bool over = cosma_call_over(&exact->solver->call);

	exact->complete &= !over;
	return over;
}

/* --------------------------------------------------------- states that failed */

/* Returns the same state if it has failed before; else NULL. */
static struct failed *find_failed(const struct exact *exact, const struct failed *state)
{
	size_t bytes = 2 * exact->downsets.downset[state->downset].words * sizeof(*state->masks);

	npuplan_table_for_each(i, &exact->table, state->hash) {
		struct failed *failed = &exact->failed[i];

		if (failed->downset == state->downset && failed->last == state->last &&
		    !memcmp(failed->masks, state->masks, bytes))
			return failed;
	}
	return NULL;
}

static void forget_failed(struct exact *exact)
{
	for (uint32_t i = 0; i < exact->failed_count; i++)
		npuplan_free(exact->failed[i].masks);
	npuplan_free(exact->failed);
	exact->failed = NULL;
	exact->failed_count = 0;
	npuplan_table_fini(&exact->table);
}

/* Keeps a failed state. If it is new, it takes over @masks. */
static int note_failed(struct exact *exact, const struct failed *state, uint64_t **masks)
{
	struct failed *failed = find_failed(exact, state);
	uint32_t number = exact->failed_count;
	int err;

	if (failed) {
		failed->slack = state->slack > failed->slack ? state->slack : failed->slack;
		return 0;
	}
	err = npuplan_append(&exact->failed, &exact->failed_count, state, 1);
	if (err)
		return err;
	*masks = NULL;
	return npuplan_table_add(&exact->table, state->hash, number);
}

/* ------------------------------------------------------------------- conflicts */

/*
 * struct schedule_part - positions of a schedule, looked at alone, and what is known of their
 * addresses
 */
struct schedule_part {
	struct cosma_stays *stays;
	uint32_t first;
	uint32_t last;
	bool fits;
	bool infeasible;
};

/* Asks the packing core for addresses of positions @first to @last. */
static int try_interval(struct exact *exact, struct schedule_part *interval, uint32_t first,
			uint32_t last)
{
	uint32_t status;
	int err = cosma_addresses(exact->solver->graph, exact->model, interval->stays,
				  (uint64_t)exact->budget, first + 1, last + 1,
				  exact->schedule.order[last], INTERVAL_WORK, &exact->solver->call,
				  &status);

	interval->fits = !err && cosma_is_placed(status);
	interval->infeasible = !err && status == NPUMEM_PLAN_STATUS_INFEASIBLE;
	return err;
}

/*
 * Whether positions @first to @last have no placement: if @proved, none exists; else none was
 * found.
 */
static bool is_stuck(struct exact *exact, struct schedule_part *interval, bool proved,
		     uint32_t first, uint32_t last, int *err)
{
	*err = *err ? *err : try_interval(exact, interval, first, last);
	return proved ? interval->infeasible : !interval->fits;
}

/*
 * Shortens the interval while it does not fit: first to its shortest beginning, then to the
 * shortest end of that.
 */
static int narrow(struct exact *exact, struct schedule_part *interval, bool proved)
{
	uint32_t last = exact->model->op_count - 1;
	int err = 0;

	last = npuplan_bisect(at, 0, last, !is_stuck(exact, interval, proved, 0, at, &err));
	interval->last = last;
	interval->first =
		last - npuplan_bisect(at, 0, last,
				      !is_stuck(exact, interval, proved, last - at, last, &err));
	return err;
}

/* Asks the lattice about what the packing core could not decide. */
static int refute(struct exact *exact, struct schedule_part *interval)
{
	const struct cosma_stays *stays = interval->stays;
	AUTO_HEAP struct cosma_lattice_item *items =
		npuplan_malloc(((size_t)stays->count + 1) * sizeof(*items));
	uint32_t count = 0, first = 2 * interval->first + 1, last = 2 * interval->last + 2;
	uint32_t last_op = exact->schedule.order[interval->last];

	if (!items)
		return -ENOMEM;
	for (uint32_t i = 0; i < stays->count; i++) {
		const struct cosma_stay *stay = &stays->stay[i];
		uint32_t t = stay->parameter ? stay->tensor : exact->model->tensor_of[stay->tensor];
		uint32_t from = cosma_stay_start(stay), to = cosma_stay_end(stay);

		/* A stay that may take its bytes may lie anywhere then: that refutes less. */
		if (stay->taker != NPUMEM_NONE && !stay->early)
			to--;
		if (to >= last && !stay->parameter &&
		    cosma_gives_way(exact->model, last_op, stay->tensor))
			to = last - 1;
		if (from > last || to < first)
			continue;
		items[count++] = (struct cosma_lattice_item){
			.size = (int64_t)exact->solver->graph->tensors[t].size,
			.from = from > first ? from : first,
			.to = to < last ? to : last,
		};
	}
	return cosma_lattice_refute(items, count, exact->budget, LATTICE_WORK,
				    &exact->solver->call.work, &interval->infeasible);
}

/*
 * Learns where a schedule without addresses does not fit, if that can be proved; exact->back is
 * then the position to blame. @proved: it is proved that the whole does not fit.
 */
static int learn(struct exact *exact, struct cosma_stays *stays, bool proved)
{
	struct schedule_part interval = { .stays = stays };
	int err = narrow(exact, &interval, false);

	err = err ? err : try_interval(exact, &interval, interval.first, interval.last);
	if (!err && !interval.infeasible && !interval.fits)
		err = refute(exact, &interval);
	if (!err && !interval.infeasible && proved) {
		err = narrow(exact, &interval, true);
		interval.infeasible = true;
	}
	if (err || !interval.infeasible) {
		/* What is neither found nor refuted keeps the threshold from being proved empty. */
		exact->complete = false;
		return err;
	}
	exact->back = interval.last;
	return cosma_nogoods_add(&exact->nogoods, &exact->history, interval.first, interval.last);
}

static bool is_relaxed(const struct exact *exact)
{
	const struct cosma_model *model = exact->model;
	size_t uses = model->consumers.first[model->tensor_count];

	return !memcmp(exact->schedule.order, exact->relaxed->order,
		       model->op_count * sizeof(*exact->relaxed->order)) &&
	       !memcmp(exact->schedule.away, exact->relaxed->away,
		       uses * sizeof(*exact->relaxed->away));
}

static int try_schedule(struct exact *exact)
{
	struct cosma_schedule *schedule = &exact->schedule;
	uint32_t status, n = exact->model->op_count;
	struct cosma_stays stays;
	int err = 0;

	exact->leaves++;
	cosma_schedule_order(schedule);
	for (uint32_t p = 0; p < n; p++)
		for (uint32_t k = exact->first_left[p]; k < exact->first_left[p + 1]; k++)
			cosma_schedule_evict(schedule, exact->left[k], p);
	/* The relaxed schedule itself has been tried. */
	status = exact->relaxed_status;
	if (!is_relaxed(exact))
		err = cosma_solver_place(exact->solver, schedule, PLACE_WORK, &status);
	if (err)
		return err;
	exact->found = cosma_is_placed(status);
	if (exact->found)
		return 0;
	err = cosma_stays_init(&stays, schedule, exact->solver->graph);
	err = err ? err : learn(exact, &stays, status == NPUMEM_PLAN_STATUS_INFEASIBLE);
	cosma_stays_fini(&stays);
	return err;
}

/* ----------------------------------------------------------------- enumeration */

static int visit(struct exact *exact, uint32_t p);

/* Adds a tensor that is on chip at @p to those that may leave. */
static void add_freed(struct exact *exact, uint32_t p, uint32_t x, uint32_t *freed, uint32_t *count)
{
	if (!npuplan_set_has(exact->board[p].on, x))
		return;
	if (*count < MAX_FREED)
		freed[(*count)++] = x;
	else
		exact->complete = false;
}

/*
 * Lists tensors that may leave at @p: those on chip that the operator before touched, or that are
 * there at the start.
 */
static uint32_t list_freed(struct exact *exact, uint32_t p, uint32_t *freed)
{
	const struct cosma_model *model = exact->model;
	uint32_t count = 0, v = p ? exact->schedule.order[p - 1] : 0;

	for (uint32_t x = 0; x < model->tensor_count && !p; x++)
		add_freed(exact, p, x, freed, &count);
	if (!p)
		return count;
	cosma_for_each(k, model->inputs, v)
		add_freed(exact, p, model->inputs.item[k], freed, &count);
	cosma_for_each(k, model->outputs, v)
		add_freed(exact, p, model->outputs.item[k], freed, &count);
	return count;
}

/* Records which tensors are on chip while @v runs, for the no-goods. */
static void record(struct exact *exact, uint32_t p, uint32_t v, const struct cosma_board *board,
		   const uint32_t *left, uint32_t count)
{
	const struct cosma_model *model = exact->model;
	uint32_t words = exact->history.words;
	uint64_t *row = cosma_history_row(&exact->history, p), *on = row + 1, *moved = on + words;

	memcpy(on, board->on, words * sizeof(*on));
	memset(moved, 0, words * sizeof(*moved));
	for (uint32_t i = 0; i < count; i++)
		if (cosma_listed(&model->inputs, v, left[i]))
			npuplan_set_add(moved, left[i]);
	cosma_for_each(k, model->inputs, v)
		npuplan_set_add(on, model->inputs.item[k]);
	cosma_for_each(k, model->outputs, v)
		npuplan_set_add(on, model->outputs.item[k]);
	*row = model->workspace[v] || cosma_takes_over(model, v) ? v : NPUMEM_NONE;
}

/* Returns the bytes of the operator's inputs that may leave with it. */
static int64_t may_yield(const struct cosma_board *board, uint32_t v)
{
	const struct cosma_model *model = board->model;
	int64_t bytes = 0;

	cosma_for_each(k, model->inputs, v)
		bytes += cosma_board_may_yield(board, v, k) ? model->size[model->inputs.item[k]] :
							      0;
	return bytes;
}

/* Whether so much leaves with the operator before @p that it had room for its outputs. */
static bool has_stored(const struct exact *exact, uint32_t p, const uint32_t *left, uint32_t count)
{
	const struct cosma_model *model = exact->model;
	int64_t over = exact->over[p];

	for (uint32_t i = 0; i < count && p && over > 0; i++)
		if (cosma_gives_way(model, exact->schedule.order[p - 1], left[i]))
			over -= model->size[left[i]];
	return over <= 0;
}

/* Runs operator @v at @p after tensors @left have left, and then tries the rest. */
static int advance(struct exact *exact, uint32_t p, uint32_t v, const uint32_t *left,
		   uint32_t count)
{
	struct cosma_board *board = &exact->board[p + 1];
	struct cosma_call *call = &exact->solver->call;
	uint64_t before = exact->bounds.work;
	int64_t price = 0, bound, loads, stores;
	uint32_t downset_id;
	struct cosma_downset *downset;
	int err;

	if (!has_stored(exact, p, left, count))
		return 0;
	cosma_board_copy(board, &exact->board[p]);
	for (uint32_t i = 0; i < count; i++) {
		price += cosma_board_price(board, left[i]);
		cosma_board_evict(board, left[i]);
	}
	call->work += exact->model->words + board->tensor_words + 8;
	cosma_board_need(board, v, &loads, &stores);
	exact->over[p + 1] = stores - exact->budget;
	if (loads > exact->budget || exact->over[p + 1] > may_yield(board, v))
		return 0;
	record(exact, p, v, board, left, count);
	if (cosma_nogoods_match(&exact->nogoods, &exact->history, p, &call->work)) {
		exact->leaves++;
		return 0;
	}
	cosma_board_run(board, v);
	exact->cost[p + 1] = exact->cost[p] + price;
	err = cosma_downsets_of(&exact->downsets, board, &downset_id);
	if (err)
		return err;
	downset = &exact->downsets.downset[downset_id];
	cosma_board_pack(board, downset, exact->packed);
	err = cosma_bounds_of(&exact->bounds, downset, exact->packed, &bound);
	call->work += exact->bounds.work - before;
	if (err || bound == COSMA_NEVER)
		return err;
	if (exact->cost[p + 1] + bound > exact->threshold) {
		if (exact->cost[p + 1] + bound < exact->next)
			exact->next = exact->cost[p + 1] + bound;
		return 0;
	}
	if (exact->first_left[p] + count > exact->left_room)
		return -E2BIG;
	if (count)
		memcpy(exact->left + exact->first_left[p], left, count * sizeof(*left));
	exact->first_left[p + 1] = exact->first_left[p] + count;
	exact->schedule.order[p] = v;
	return visit(exact, p + 1);
}

/* Whether the relaxed schedule has the tensor leave at position @p. */
static bool relaxed_leaves(const struct exact *exact, uint32_t p, uint32_t x)
{
	const struct cosma_schedule *relaxed = exact->relaxed;

	cosma_for_each(k, exact->model->consumers, x) {
		uint32_t at = relaxed->position[relaxed->uses[k]];

		if (at >= p)
			return relaxed->away[k];
	}
	return false;
}

static int try_op(struct exact *exact, uint32_t p, uint32_t v)
{
	uint32_t freed[MAX_FREED], left[MAX_FREED], count = list_freed(exact, p, freed);
	uint32_t preferred = 0;
	int err = 0;

	for (uint32_t i = 0; i < count; i++)
		preferred |= relaxed_leaves(exact, p, freed[i]) ? 1u << i : 0;
	/* The relaxed schedule's choice comes first, then all others. */
	for (uint32_t choice = 0; choice < 1u << count; choice++) {
		uint32_t set = choice ^ preferred, leaving = 0;

		for (uint32_t i = 0; i < count; i++)
			if (set >> i & 1)
				left[leaving++] = freed[i];
		err = advance(exact, p, v, left, leaving);
		/* Even of a fixed schedule choices are left out. */
		if (err || exact->found || exact->back < p || is_over(exact))
			break;
		exact->back = NPUMEM_NONE;
	}
	return err;
}

/* Returns the ready operators at @p in the order of the relaxed schedule. */
static uint32_t *sort_ready(const struct exact *exact, uint32_t p)
{
	const struct cosma_board *board = &exact->board[p];
	uint32_t *ready = npuplan_malloc((board->ready_count + 1) * sizeof(*ready));

	for (uint32_t i = 0; i < board->ready_count && ready; i++) {
		uint32_t at = i;

		for (; at && exact->relaxed->position[ready[at - 1]] >
				     exact->relaxed->position[board->ready[i]];
		     at--)
			ready[at] = ready[at - 1];
		ready[at] = board->ready[i];
	}
	return ready;
}

/* Tries all ways to go on once @p operators have run. */
static int visit(struct exact *exact, uint32_t p)
{
	struct failed state = {
		.slack = exact->threshold - exact->cost[p],
		.last = p ? exact->schedule.order[p - 1] : NPUMEM_NONE,
	};
	AUTO_HEAP uint64_t *masks = NULL;
	AUTO_HEAP uint32_t *ready = NULL;
	uint32_t leaves = exact->leaves, words;
	const struct failed *failed;
	bool known;
	int err;

	if (p == exact->model->op_count)
		return try_schedule(exact);
	if (is_over(exact))
		return 0;
	err = cosma_downsets_of(&exact->downsets, &exact->board[p], &state.downset);
	if (err)
		return err;
	words = 2 * exact->downsets.downset[state.downset].words;
	masks = npuplan_malloc((words + 1) * sizeof(*masks));
	ready = sort_ready(exact, p);
	if (!masks || !ready)
		return -ENOMEM;
	cosma_board_pack(&exact->board[p], &exact->downsets.downset[state.downset], masks);
	state.masks = masks;
	state.hash = npuplan_hash((uint64_t)state.downset << 32 | state.last, masks,
				  words * sizeof(*masks));
	failed = find_failed(exact, &state);
	/* Not looked at again: the array may grow, and so move, below. */
	known = failed && failed->slack >= state.slack;
	for (uint32_t i = 0; i < exact->board[p].ready_count && !known; i++) {
		err = try_op(exact, p, ready[i]);
		/* A fixed schedule leaves no other choice. */
		if (err || exact->found || exact->back < p || exact->solver->rank || is_over(exact))
			break;
	}
	if (!err && exact->leaves == leaves && exact->complete)
		err = note_failed(exact, &state, &masks);
	return err;
}

/* ---------------------------------------------------------------- thresholds */

static void exact_fini(struct exact *exact)
{
	for (uint32_t p = 0; exact->board && p <= exact->model->op_count; p++)
		cosma_board_fini(&exact->board[p]);
	npuplan_pool_free(&exact->pool);
	forget_failed(exact);
	cosma_schedule_fini(&exact->schedule);
	cosma_history_fini(&exact->history);
	cosma_nogoods_fini(&exact->nogoods);
	cosma_bounds_fini(&exact->bounds);
	cosma_downsets_fini(&exact->downsets);
}

static int exact_init(struct exact *exact)
{
	const struct cosma_model *model = exact->model;
	struct npuplan_pool *pool = &exact->pool;
	size_t n = (size_t)model->op_count + 1;
	int err = cosma_downsets_init(&exact->downsets, model);

	exact->left_room = model->tensor_count + model->consumers.first[model->tensor_count];
	exact->board = npuplan_pool_take(pool, n, sizeof(*exact->board));
	exact->packed =
		npuplan_pool_take(pool, 2 * (model->tensor_count / 64 + 1), sizeof(uint64_t));
	exact->cost = npuplan_pool_take(pool, n, sizeof(*exact->cost));
	exact->over = npuplan_pool_take(pool, n, sizeof(*exact->over));
	exact->first_left = npuplan_pool_take(pool, n, sizeof(*exact->first_left));
	exact->left = npuplan_pool_take(pool, exact->left_room, sizeof(*exact->left));
	if (pool->failed)
		return -ENOMEM;
	for (uint32_t p = 0; p <= model->op_count && !err; p++)
		err = cosma_board_init(&exact->board[p], model);
	err = err ? err : cosma_bounds_init(&exact->bounds, model, exact->budget, NULL);
	err = err ? err : cosma_history_init(&exact->history, model);
	return err ? err : cosma_schedule_init(&exact->schedule, model);
}

/*
 * Looks through all schedules of a threshold, then of the next. Returns an enum cosma_outcome, or
 * an error.
 */
static int search_thresholds(struct exact *exact)
{
	struct cosma_solver *solver = exact->solver;

	while (!solver->found || (uint64_t)exact->threshold < solver->call.incumbent) {
		int err;

		exact->next = COSMA_NEVER;
		exact->back = NPUMEM_NONE;
		cosma_board_start(&exact->board[0]);
		err = visit(exact, 0);
		if (err || exact->found)
			return err ? err : COSMA_SOLVED;
		if (!exact->complete)
			return COSMA_STOPPED;
		if (exact->next == COSMA_NEVER && !solver->found)
			return COSMA_EXHAUSTED;
		if (exact->next == COSMA_NEVER) {
			exact->threshold = (int64_t)solver->call.incumbent;
			break;
		}
		exact->threshold = exact->next;
		solver->call.lower_bound = (uint64_t)exact->threshold;
		forget_failed(exact);
	}
	return COSMA_SOLVED;
}

int cosma_exact(struct cosma_solver *solver, const struct cosma_schedule *relaxed,
		uint32_t relaxed_status, uint64_t work_limit, int64_t *threshold)
{
	const struct cosma_model *model = &solver->model;
	struct exact exact = {
		.solver = solver,
		.model = model,
		.budget = (int64_t)solver->options->common.arena_budget,
		.relaxed = relaxed,
		.relaxed_status = relaxed_status,
		.threshold = *threshold,
		.complete = true,
	};
	int outcome;

	cosma_call_share(&solver->call, work_limit, 1);
	/* The search calls itself once an operator, and has a board for each. */
	if (model->op_count > MAX_OPS || is_over(&exact))
		return COSMA_STOPPED;
	outcome = cosma_model_relate(&solver->model);
	outcome = outcome ? outcome : exact_init(&exact);
	if (!outcome)
		outcome = search_thresholds(&exact);
	*threshold = exact.threshold;
	exact_fini(&exact);
	cosma_call_share(&solver->call, 0, 1);
	return cosma_call_refused(&solver->call, outcome) ? COSMA_STOPPED : outcome;
}
