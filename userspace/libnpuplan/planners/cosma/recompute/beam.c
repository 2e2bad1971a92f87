// SPDX-License-Identifier: MIT
/*
 * Operators run in an order that is given. A state says who is on chip and who has a copy in host
 * memory. A tensor leaves when room is needed, and what its return costs is paid when it is used
 * next: then it is filled (if it had no copy, the spill is paid, too, which then was when it left),
 * or made again, with what that needs and what is not there. After each operator of the order the
 * best states are kept, by what they have cost and a guess of what those that are away will.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "beam.h"
#include "beam_path.h"
#include "planners/cosma/model/model.h"

/* States that are kept after each operator of the order; between the runs of one detour. */
#define WIDTH	     64
#define DETOUR_WIDTH 8
/* Operators that run again for one, at most, and choices of them that are tried. */
#define AGAIN	     4
#define DETOURS	     24
/* Tensors that may leave, all sets of which are tried; of more, some rules choose sets. */
#define ALL_SETS     8
/* Sets of tensors that are tried where some have to leave. */
#define LEAVES	     16
/* How far a guess follows operators back. */
#define GUESS_DEPTH  2
#define NEVER	     UINT32_MAX

/*
 * struct beam_state - a state; its sets are in its list
 * @node: of the path that led to it
 * @again: operators that ran again
 * @on_bytes: of what is on chip
 * @cost: bytes
 * @guess: cost, and what is guessed to come
 */
struct beam_state {
	uint32_t node;
	uint32_t again;
	int64_t on_bytes;
	int64_t cost;
	int64_t guess;
};

/*
 * struct state_list - states
 * @sets: per state, who is on chip, then who has a copy in host memory
 */
struct state_list {
	struct beam_state *states;
	uint64_t *sets;
	uint32_t count;
	uint32_t states_room;
	uint32_t sets_room;
};

/* struct detour - operators that run again for the next one of the order, which comes last */
struct detour {
	uint32_t ops[AGAIN + 1];
	uint32_t count;
};

/*
 * struct beam - one search
 * @words: of a set of tensors
 * @place: per operator, its position in the order
 * @next: per tensor, the position of its next use; NEVER: none in the order
 * @alive: tensors that are made, or were loaded, and have a next use
 * @candidates, @leaves, @with, @loss: those that may leave, and a set of them; struct leaving
 * @sets: room for the sets of one state
 * @pinned: those that may not, since the detour needs them
 * @now, @then: states before and behind an operator
 * @partial: states between the runs of a detour
 */
struct beam {
	const struct cosma_model *model;
	const uint32_t *order;
	uint32_t words;
	uint32_t limit;
	int64_t budget;
	uint32_t *place;
	uint32_t *next;
	uint32_t *alive;
	uint32_t alive_count;
	uint32_t *candidates;
	bool *leaves;
	bool *with;
	int64_t *loss;
	uint64_t *pinned;
	uint64_t *sets;
	struct state_list now;
	struct state_list then;
	struct state_list partial[2];
	struct beam_path path;
	uint64_t work;
	struct npuplan_pool pool;
};

/* -------------------------------------------------------------------- states */

static uint64_t *on_of(const struct beam *beam, const struct state_list *list, uint32_t i)
{
	return list->sets + (size_t)i * 2 * beam->words;
}

/* Appends a copy of a state, whose sets are of another list. Returns its number, or -ENOMEM. */
static int64_t push(const struct beam *beam, struct state_list *list,
		    const struct beam_state *state, const uint64_t *sets)
{
	size_t words = 2 * (size_t)beam->words;
	int err = npuplan_reserve(&list->states, &list->states_room, (size_t)list->count + 1,
				  sizeof(*list->states));

	if (!err)
		err = npuplan_reserve(&list->sets, &list->sets_room, (list->count + 1) * words,
				      sizeof(*list->sets));
	if (err)
		return err;
	list->states[list->count] = *state;
	memcpy(list->sets + list->count * words, sets, words * sizeof(*sets));
	return list->count++;
}

static void list_fini(struct state_list *list)
{
	npuplan_free_all(list->states, list->sets);
}

/* Returns where in the order a tensor is used next, from position @from on, or NEVER. */
static uint32_t next_use(const struct beam *beam, uint32_t x, uint32_t from)
{
	uint32_t next = NEVER;

	cosma_for_each(k, beam->model->consumers, x) {
		uint32_t at = beam->place[beam->model->consumers.item[k]];

		if (at >= from && at < next)
			next = at;
	}
	return next;
}

/* -------------------------------------------------------------------- guesses */

/* What it costs to bring a tensor back that is not on chip. */
static int64_t fill_price(const struct beam *beam, const uint64_t *host, uint32_t x)
{
	bool copied = beam->model->flags[x] & COSMA_COPIED || npuplan_set_has(host, x);

	return copied ? beam->model->size[x] : 2 * beam->model->size[x];
}

/* The less of what fill and another run cost, if what is on chip now were there then. */
static int64_t price(struct beam *beam, const uint64_t *on, const uint64_t *host, uint32_t x,
		     uint32_t depth)
{
	const struct cosma_model *model = beam->model;
	uint32_t v = model->producer[x];
	int64_t fill = fill_price(beam, host, x), again;

	beam->work++;
	if (v == NPUMEM_NONE || !depth)
		return fill;
	again = model->workspace[v];
	cosma_for_each(k, model->inputs, v) {
		uint32_t y = model->inputs.item[k];

		if (again >= fill)
			break;
		if (!npuplan_set_has(on, y))
			again += price(beam, on, host, y, depth - 1);
	}
	return again < fill ? again : fill;
}

static int64_t price_of(struct beam *beam, const struct beam_state *state, const uint64_t *on,
			uint32_t x)
{
	return price(beam, on, on + beam->words, x, state->again < beam->limit ? GUESS_DEPTH : 0);
}

static void guess(struct beam *beam, struct beam_state *state, const uint64_t *on)
{
	beam->work += beam->alive_count / 16;
	state->guess = state->cost;
	for (uint32_t i = 0; i < beam->alive_count; i++)
		if (!npuplan_set_has(on, beam->alive[i]))
			state->guess += price_of(beam, state, on, beam->alive[i]);
}

/* -------------------------------------------------------------------- leaving */

/*
 * struct leaving - who has to leave for a run of an operator
 * @loads, @stores: bytes that have to go before it loads, and before it stores; what leaves with
 *	the operator, in place, counts for the second only
 * @with: per candidate: it leaves with the operator
 * @loss: per candidate, bytes that its return is guessed to cost
 */
struct leaving {
	int64_t loads;
	int64_t stores;
	uint32_t count;
	bool *with;
	int64_t *loss;
};

/* What rules sort candidates by; the first is the first to leave. */
enum rule { RULE_LOSS, RULE_NEXT, RULE_SIZE, RULE_COUNT };

static bool covers(const struct beam *beam, const struct leaving *leaving)
{
	int64_t loads = leaving->loads, stores = leaving->stores;

	for (uint32_t i = 0; i < leaving->count; i++) {
		int64_t size = beam->model->size[beam->candidates[i]];

		if (!beam->leaves[i])
			continue;
		loads -= leaving->with[i] ? 0 : size;
		stores -= size;
	}
	return loads <= 0 && stores <= 0;
}

/* Whether candidate @a should leave before @b. */
static bool sooner(const struct beam *beam, const struct leaving *leaving, enum rule rule,
		   uint32_t a, uint32_t b)
{
	int64_t size_a = beam->model->size[beam->candidates[a]];
	int64_t size_b = beam->model->size[beam->candidates[b]];
	uint32_t next_a = beam->next[beam->candidates[a]], next_b = beam->next[beam->candidates[b]];
	double loss_a = (double)leaving->loss[a] * (double)size_b;
	double loss_b = (double)leaving->loss[b] * (double)size_a;

	if (rule == RULE_LOSS && loss_a != loss_b)
		return loss_a < loss_b;
	if (rule != RULE_SIZE && next_a != next_b)
		return next_a > next_b;
	if (rule == RULE_SIZE) {
		bool enough_a = size_a >= leaving->stores, enough_b = size_b >= leaving->stores;

		if (enough_a != enough_b)
			return enough_a;
		if (enough_a && size_a != size_b)
			return size_a < size_b;
	}
	return size_a != size_b ? size_a > size_b : a < b;
}

/* Takes out of the set again whom it does not need, the dearest first. */
static void reduce(struct beam *beam, const struct leaving *leaving)
{
	for (uint32_t tries = 0; tries < leaving->count; tries++) {
		uint32_t worst = NPUMEM_NONE;

		for (uint32_t i = 0; i < leaving->count; i++) {
			if (!beam->leaves[i])
				continue;
			beam->leaves[i] = false;
			if (covers(beam, leaving) &&
			    (worst == NPUMEM_NONE || leaving->loss[i] > leaving->loss[worst]))
				worst = i;
			beam->leaves[i] = true;
		}
		if (worst == NPUMEM_NONE)
			return;
		beam->leaves[worst] = false;
	}
}

/* Chooses a set by a rule, without @barred; false if there is none. */
static bool choose(struct beam *beam, const struct leaving *leaving, enum rule rule,
		   uint32_t barred)
{
	memset(beam->leaves, 0, leaving->count * sizeof(*beam->leaves));
	while (!covers(beam, leaving)) {
		uint32_t best = NPUMEM_NONE;

		for (uint32_t i = 0; i < leaving->count; i++)
			if (!beam->leaves[i] && i != barred &&
			    (best == NPUMEM_NONE || sooner(beam, leaving, rule, i, best)))
				best = i;
		if (best == NPUMEM_NONE)
			return false;
		beam->leaves[best] = true;
		beam->work += leaving->count;
	}
	reduce(beam, leaving);
	beam->work += leaving->count;
	return true;
}

/* -------------------------------------------------------------------- runs */

/* struct run - a run of an operator, from a state in which its inputs are on chip */
struct run {
	const struct beam_state *state;
	const uint64_t *sets;
	uint32_t op;
	struct state_list *to;
};

/* Appends the state behind the run, when those of the set have left. */
static int finish_run(struct beam *beam, const struct run *run, const struct leaving *leaving)
{
	const struct cosma_model *model = beam->model;
	int64_t at = push(beam, run->to, run->state, run->sets);
	struct beam_state *state;
	uint64_t *on;

	if (at < 0)
		return (int)at;
	state = &run->to->states[at];
	on = on_of(beam, run->to, (uint32_t)at);
	for (uint32_t i = 0; i < leaving->count; i++) {
		if (!beam->leaves[i])
			continue;
		npuplan_set_drop(on, beam->candidates[i]);
		state->on_bytes -= model->size[beam->candidates[i]];
	}
	cosma_for_each(k, model->outputs, run->op) {
		uint32_t x = model->outputs.item[k];

		if (!cosma_users(model, x))
			continue;
		npuplan_set_add(on, x);
		state->on_bytes += model->size[x];
	}
	guess(beam, state, on);
	return 0;
}

static bool is_needed(const struct beam *beam, uint32_t op, uint32_t x)
{
	return npuplan_set_has(beam->pinned, x) || cosma_listed(&beam->model->inputs, op, x);
}

/* Lists who may leave, and what has to. Returns whether anything has. */
static bool find_leaving(struct beam *beam, const struct run *run, struct leaving *leaving)
{
	const struct cosma_model *model = beam->model;

	leaving->loads = run->state->on_bytes + model->workspace[run->op] - beam->budget;
	leaving->stores = leaving->loads;
	leaving->count = 0;
	cosma_for_each(k, model->outputs, run->op)
		leaving->stores += model->size[model->outputs.item[k]];
	if (leaving->stores <= 0)
		return false;
	npuplan_set_for_each(x, run->sets, beam->words) {
		beam->work++;
		if (is_needed(beam, run->op, x))
			continue;
		leaving->with[leaving->count] = false;
		beam->candidates[leaving->count++] = x;
	}
	cosma_for_each(k, model->inputs, run->op) {
		uint32_t x = model->inputs.item[k];

		if (!cosma_makes_room(model, run->op, k) || npuplan_set_has(beam->pinned, x))
			continue;
		leaving->with[leaving->count] = true;
		beam->candidates[leaving->count++] = x;
	}
	for (uint32_t i = 0; i < leaving->count; i++) {
		uint32_t x = beam->candidates[i], next = beam->next[x];

		/* The use of the operator itself is over. */
		if (leaving->with[i] && next == beam->place[run->op])
			next = next_use(beam, x, next + 1);
		leaving->loss[i] = next == NEVER ? 0 : price_of(beam, run->state, run->sets, x);
	}
	return true;
}

/* All sets of few candidates that are no larger than they must be. */
static int try_all_sets(struct beam *beam, const struct run *run, const struct leaving *leaving)
{
	int err = 0;

	for (uint32_t set = 1; set < 1u << leaving->count && !err; set++) {
		bool minimal;

		for (uint32_t i = 0; i < leaving->count; i++)
			beam->leaves[i] = set >> i & 1;
		beam->work++;
		minimal = covers(beam, leaving);
		for (uint32_t i = 0; i < leaving->count && minimal; i++) {
			if (!beam->leaves[i])
				continue;
			beam->leaves[i] = false;
			minimal = !covers(beam, leaving);
			beam->leaves[i] = true;
		}
		if (minimal)
			err = finish_run(beam, run, leaving);
	}
	return err;
}

static int try_rules(struct beam *beam, const struct run *run, const struct leaving *leaving)
{
	uint32_t first[LEAVES], count = 0;
	int err = 0;

	for (int rule = 0; rule < RULE_COUNT && !err; rule++) {
		if (!choose(beam, leaving, rule, NPUMEM_NONE))
			return 0;
		err = finish_run(beam, run, leaving);
		for (uint32_t i = 0; i < leaving->count && count < LEAVES - RULE_COUNT; i++)
			if (beam->leaves[i])
				first[count++] = i;
	}
	for (uint32_t i = 0; i < count && !err; i++)
		if (choose(beam, leaving, RULE_LOSS, first[i]))
			err = finish_run(beam, run, leaving);
	return err;
}

/*
 * Runs an operator from a state: what it needs and is not there is filled, then those leave that
 * are in the way. Appends the states that come of it.
 */
static int run_op(struct beam *beam, const struct state_list *list, uint32_t at, uint32_t op,
		  bool again, struct state_list *to)
{
	const struct cosma_model *model = beam->model;
	struct beam_state state = list->states[at];
	uint64_t *sets = beam->sets, *host = sets + beam->words;
	struct leaving leaving = { .with = beam->with, .loss = beam->loss };
	struct run run = { .state = &state, .sets = sets, .op = op, .to = to };
	int err;

	memcpy(sets, on_of(beam, list, at), 2 * (size_t)beam->words * sizeof(*sets));
	err = beam_path_run(&beam->path, &state.node, op, again);
	state.cost += again ? model->workspace[op] : 0;
	state.again += again;
	cosma_for_each(k, model->inputs, op) {
		uint32_t x = model->inputs.item[k];
		bool loaded = again || model->producer[x] != NPUMEM_NONE ||
			      model->flags[x] & COSMA_ENTRY ||
			      next_use(beam, x, 0) < beam->place[op];

		if (err || npuplan_set_has(sets, x))
			continue;
		state.cost += loaded ? fill_price(beam, host, x) : 0;
		state.on_bytes += model->size[x];
		npuplan_set_add(sets, x);
		npuplan_set_add(host, x);
		err = beam_path_fill(&beam->path, x);
	}
	if (err)
		return err;
	if (!find_leaving(beam, &run, &leaving))
		return finish_run(beam, &run, &leaving);
	return leaving.count <= ALL_SETS ? try_all_sets(beam, &run, &leaving) :
					   try_rules(beam, &run, &leaving);
}

/* -------------------------------------------------------------------- detours */

/* Whether an operator may run again where @on is on chip: none of what it makes is there. */
static bool may_run_again(const struct beam *beam, const uint64_t *on, uint32_t v)
{
	bool may = true;

	cosma_for_each(k, beam->model->outputs, v)
		may = may && !npuplan_set_has(on, beam->model->outputs.item[k]);
	return may;
}

/* Whether an operator of the detour makes the tensor. */
static bool is_made(const struct beam *beam, const struct detour *detour, uint32_t x)
{
	for (uint32_t i = 0; i < detour->count; i++)
		if (beam->model->producer[x] == detour->ops[i])
			return true;
	return false;
}

/*
 * Makes of detour @from those in which one operator more runs again, right before the first one
 * that needs what it makes.
 */
static uint32_t lengthen(const struct beam *beam, const uint64_t *on, uint32_t from,
			 struct detour *detours, uint32_t count)
{
	const struct cosma_model *model = beam->model;

	for (uint32_t i = 0; i < detours[from].count; i++)
		cosma_for_each(k, model->inputs, detours[from].ops[i]) {
			uint32_t x = model->inputs.item[k], v = model->producer[x];
			struct detour *detour = &detours[count];

			if (count == DETOURS || v == NPUMEM_NONE || npuplan_set_has(on, x) ||
			    is_made(beam, &detours[from], x) || !may_run_again(beam, on, v))
				continue;
			*detour = detours[from];
			memmove(&detour->ops[i + 1], &detour->ops[i],
				(detour->count - i) * sizeof(*detour->ops));
			detour->ops[i] = v;
			detour->count++;
			count++;
		}
	return count;
}

static int by_guess(const void *a, const void *b)
{
	const struct beam_state *const *one = a, *const *other = b;
	const struct beam_state *x = *one, *y = *other;

	if (x->guess != y->guess)
		return x->guess < y->guess ? -1 : 1;
	if (x->again != y->again)
		return x->again < y->again ? -1 : 1;
	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool is_kept(const struct beam *beam, const struct state_list *list, uint32_t first,
		    const uint64_t *sets)
{
	for (uint32_t i = first; i < list->count; i++)
		if (!memcmp(on_of(beam, list, i), sets, 2 * (size_t)beam->words * sizeof(*sets)))
			return true;
	return false;
}

/* Appends the best @width states to another list, each once. */
static int keep_best(struct beam *beam, const struct state_list *from, uint32_t width,
		     struct state_list *to)
{
	AUTO_HEAP const struct beam_state **sorted =
		npuplan_malloc(((size_t)from->count + 1) * sizeof(*sorted));
	uint32_t first = to->count;
	int64_t at = 0;

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->count; i++)
		sorted[i] = &from->states[i];
	beam->work += from->count;
	qsort(sorted, from->count, sizeof(*sorted), by_guess);
	for (uint32_t i = 0; i < from->count && to->count < first + width && at >= 0; i++) {
		const uint64_t *sets = on_of(beam, from, (uint32_t)(sorted[i] - from->states));

		beam->work += to->count - first;
		if (!is_kept(beam, to, first, sets))
			at = push(beam, to, sorted[i], sets);
	}
	return at < 0 ? (int)at : 0;
}

/* Pins what the runs of a detour behind @at need of what is on chip, or is made until then. */
static void pin(struct beam *beam, const struct detour *detour, uint32_t at)
{
	memset(beam->pinned, 0, beam->words * sizeof(*beam->pinned));
	for (uint32_t i = at + 1; i < detour->count; i++)
		cosma_for_each(k, beam->model->inputs, detour->ops[i])
			npuplan_set_add(beam->pinned, beam->model->inputs.item[k]);
}

static int run_detour(struct beam *beam, uint32_t at, const struct detour *detour)
{
	struct state_list *from = &beam->partial[0], *to = &beam->partial[1];
	int64_t pushed;
	int err = 0;

	from->count = 0;
	pushed = push(beam, from, &beam->now.states[at], on_of(beam, &beam->now, at));
	if (pushed < 0)
		return (int)pushed;
	for (uint32_t i = 0; i < detour->count && !err; i++) {
		bool last = i + 1 == detour->count;

		to->count = 0;
		pin(beam, detour, i);
		for (uint32_t j = 0; j < from->count && !err; j++)
			err = run_op(beam, from, j, detour->ops[i], !last, to);
		if (last)
			return err ? err : keep_best(beam, to, DETOUR_WIDTH, &beam->then);
		from->count = 0;
		if (!err)
			err = keep_best(beam, to, DETOUR_WIDTH, from);
	}
	return err;
}

static int expand(struct beam *beam, uint32_t at, uint32_t op)
{
	const uint64_t *on = on_of(beam, &beam->now, at);
	uint32_t left = beam->limit - beam->now.states[at].again;
	struct detour detours[DETOURS] = { { .ops = { op }, .count = 1 } };
	uint32_t count = 1;
	int err = 0;

	for (uint32_t i = 0; i < count; i++)
		if (detours[i].count <= AGAIN && detours[i].count <= left)
			count = lengthen(beam, on, i, detours, count);
	for (uint32_t i = 0; i < count && !err; i++)
		err = run_detour(beam, at, &detours[i]);
	return err;
}

/* -------------------------------------------------------------------- search */

/* Goes on to the position behind @at: next uses, and who is alive. */
static void advance(struct beam *beam, uint32_t at)
{
	const struct cosma_model *model = beam->model;
	uint32_t op = beam->order[at], count = 0;

	cosma_for_each(k, model->inputs, op) {
		uint32_t x = model->inputs.item[k];

		if (model->producer[x] == NPUMEM_NONE && next_use(beam, x, 0) == at &&
		    !(model->flags[x] & COSMA_ENTRY))
			beam->alive[beam->alive_count++] = x;
		beam->next[x] = next_use(beam, x, at + 1);
	}
	cosma_for_each(k, model->outputs, op)
		beam->alive[beam->alive_count++] = model->outputs.item[k];
	for (uint32_t i = 0; i < beam->alive_count; i++)
		if (beam->next[beam->alive[i]] != NEVER)
			beam->alive[count++] = beam->alive[i];
	beam->alive_count = count;
}

/* Returns 1 if a limit or the caller ended the search. */
static int search(struct beam *beam, uint64_t work_limit, const struct npuplan_until *ended)
{
	const struct cosma_model *model = beam->model;
	uint64_t asked_at = 0;
	int err = 0;

	for (uint32_t p = 0; p < model->op_count && !err; p++) {
		beam->partial[0].count = beam->then.count = 0;
		for (uint32_t i = 0; i < beam->now.count && !err; i++)
			err = expand(beam, i, beam->order[p]);
		/* States are told apart by what comes after the operator. */
		advance(beam, p);
		for (uint32_t i = 0; i < beam->then.count; i++)
			guess(beam, &beam->then.states[i], on_of(beam, &beam->then, i));
		beam->now.count = 0;
		if (!err)
			err = keep_best(beam, &beam->then, WIDTH, &beam->now);
		if (!err && beam->work > work_limit)
			err = 1;
		if (err || beam->work - asked_at < NPUPLAN_EFFORT_LOOK)
			continue;
		asked_at = beam->work;
		err = npuplan_until_over(ended);
	}
	return err;
}

/* Fills in what follows from graph and order; the states begin with one. */
static int start(struct beam *beam)
{
	const struct cosma_model *model = beam->model;
	struct npuplan_pool *pool = &beam->pool;
	struct beam_state state = { .node = NPUMEM_NONE };
	uint64_t *sets;

	beam->words = (uint32_t)npuplan_set_words(model->tensor_count);
	beam->place = npuplan_pool_take(pool, model->op_count, sizeof(*beam->place));
	beam->next = npuplan_pool_take(pool, model->tensor_count, sizeof(*beam->next));
	beam->alive = npuplan_pool_take(pool, model->tensor_count, sizeof(*beam->alive));
	beam->candidates = npuplan_pool_take(pool, model->tensor_count, sizeof(*beam->candidates));
	beam->leaves = npuplan_pool_take(pool, model->tensor_count, sizeof(*beam->leaves));
	beam->with = npuplan_pool_take(pool, model->tensor_count, sizeof(*beam->with));
	beam->loss = npuplan_pool_take(pool, model->tensor_count, sizeof(*beam->loss));
	beam->pinned = npuplan_pool_take(pool, beam->words, sizeof(*beam->pinned));
	beam->sets = sets = npuplan_pool_take(pool, 2 * (size_t)beam->words, sizeof(*sets));
	if (pool->failed)
		return -ENOMEM;
	for (uint32_t p = 0; p < model->op_count; p++)
		beam->place[beam->order[p]] = p;
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		beam->next[x] = next_use(beam, x, 0);
		if (!(model->flags[x] & COSMA_ENTRY) || beam->next[x] == NEVER)
			continue;
		beam->alive[beam->alive_count++] = x;
		npuplan_set_add(sets, x);
		state.on_bytes += model->size[x];
	}
	return push(beam, &beam->now, &state, sets) < 0 ? -ENOMEM : 0;
}

bool cosma_clone_set_is_same(const struct cosma_clone_set *a, const struct cosma_clone_set *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; i < a->count && same; i++) {
		const struct npuplan_clone *x = &a->clones[i], *y = &b->clones[i];

		same = x->op == y->op && x->reader_count == y->reader_count &&
		       !memcmp(x->readers, y->readers, x->reader_count * sizeof(*x->readers));
	}
	return same;
}

/* The last states, by what they have cost, are what is proposed. */
static int propose(const struct beam *beam, const struct npuplan_graph *graph, uint64_t traffic,
		   struct cosma_beam_answer *answer)
{
	int err = 0;

	for (uint32_t i = 0; i < beam->now.count && answer->count < COSMA_BEAM_SETS; i++) {
		const struct beam_state *state = &beam->now.states[i];
		struct cosma_clone_set *set = &answer->sets[answer->count];
		bool known = false;

		if (!state->again || (uint64_t)state->cost >= traffic)
			continue;
		err = beam_path_clones(&beam->path, state->node, beam->model, graph, set);
		if (err)
			break;
		for (uint32_t j = 0; j < answer->count; j++)
			known |= cosma_clone_set_is_same(set, &answer->sets[j]);
		if (known || !set->count)
			cosma_clone_set_fini(set);
		else
			answer->count++;
	}
	return err;
}

void cosma_clone_set_fini(struct cosma_clone_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		npuplan_free(set->clones[i].readers);
	npuplan_free(set->clones);
	memset(set, 0, sizeof(*set));
}

/* Makes the model's order of the graph's. */
static int read_order(const struct cosma_model *model, const uint32_t *order, uint32_t *ops,
		      struct npuplan_pool *pool)
{
	uint32_t *op_at = npuplan_pool_take(pool, model->op_count, sizeof(*op_at));

	if (pool->failed)
		return -ENOMEM;
	for (uint32_t v = 0; v < model->op_count; v++)
		op_at[model->op_of[v]] = v;
	for (uint32_t p = 0; p < model->op_count; p++)
		ops[p] = op_at[order[p]];
	return 0;
}

static int run_beam(struct beam *beam, const struct npuplan_graph *graph, const uint32_t *order,
		    uint64_t traffic, uint64_t work_limit, const struct npuplan_until *ended,
		    struct cosma_beam_answer *answer)
{
	const struct cosma_model *model = beam->model;
	uint32_t *ops = npuplan_pool_take(&beam->pool, model->op_count, sizeof(*ops));
	int err = read_order(model, order, ops, &beam->pool);

	beam->order = ops;
	if (!err)
		err = start(beam);
	if (!err)
		err = search(beam, work_limit, ended);
	if (!err)
		err = propose(beam, graph, traffic, answer);
	answer->work = beam->work;
	list_fini(&beam->now);
	list_fini(&beam->then);
	list_fini(&beam->partial[0]);
	list_fini(&beam->partial[1]);
	beam_path_fini(&beam->path);
	npuplan_pool_free(&beam->pool);
	return err > 0 ? 0 : err;
}

int cosma_beam(const struct npuplan_graph *graph, const struct cosma_settings *settings,
	       const uint32_t *order, uint32_t limit, uint64_t traffic, uint64_t work_limit,
	       const struct npuplan_until *ended, struct cosma_beam_answer *answer)
{
	uint64_t memory = settings->common.memory_limit;
	struct npuplan_heap heap = { .limit = memory ? memory : NPUPLAN_COSMA_MEMORY };
	struct npuplan_heap *outer = npuplan_heap_use(&heap);
	struct cosma_model model;
	struct beam beam = {
		.model = &model,
		.limit = limit,
		.budget = (int64_t)settings->common.arena_budget,
	};
	int err = cosma_model_init(&model, graph, settings, NULL);

	memset(answer, 0, sizeof(*answer));
	if (!err) {
		err = run_beam(&beam, graph, order, traffic, work_limit, ended, answer);
		cosma_model_fini(&model);
	}
	npuplan_heap_use(outer);
	if (!err)
		return 0;
	for (uint32_t i = 0; i < answer->count; i++)
		cosma_clone_set_fini(&answer->sets[i]);
	answer->count = 0;
	return err == -ENOMEM && heap.refused ? 0 : err;
}
