// SPDX-License-Identifier: MIT
#include "exact.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/heap.h"
#include "base/sorted.h"
#include "base/table.h"

/* States that are entered before it is asked whether there is time. */
#define STATES_AT_ONCE 1024

/*
 * struct frame - a state, and where to go on from it
 * @depth: number of steps that are done
 * @live: bytes that live
 * @next, @end: choices that are left, in search->choices[]
 */
struct frame {
	uint32_t depth;
	uint64_t live;
	uint32_t next;
	uint32_t end;
};

/*
 * struct search - one search for an order whose peak is not above a limit
 * @ops: operators of the steps that are done, in order; @depth of them
 * @peaks: per step that is done, the bytes that lived when it ran
 * @states, @seen: how many steps of each operator were done in each state entered; @state_count
 * @most_states, @most_work: how many are entered, and work units of the sim, before it ends
 * @choices: operators to go on with, of the frames on the stack; @choice_count of them
 * @keys: room to sort choices
 * @over: a limit ended it
 */
struct search {
	struct tilesched_sim *sim;
	struct npuplan_effort *effort;
	uint64_t limit;
	uint32_t *ops;
	uint64_t *peaks;
	uint32_t depth;
	uint32_t *states;
	struct npuplan_table seen;
	uint32_t state_count;
	uint32_t most_states;
	uint64_t most_work;
	struct frame *frames;
	uint32_t frame_count;
	uint32_t *choices;
	uint32_t choice_count;
	struct npuplan_keyed *keys;
	bool over;
	struct npuplan_pool pool;
};

static bool is_ready(const struct search *s, uint32_t op)
{
	const struct tilesched_model *model = s->sim->model;
	uint32_t number = model->ops[op].first + s->sim->done[op];

	if (s->sim->done[op] == model->ops[op].count)
		return false;
	for (uint32_t k = model->steps[number].first_wait; k < model->steps[number + 1].first_wait;
	     k++)
		if (s->sim->done[model->waits[k].op] < model->waits[k].count)
			return false;
	return true;
}

static void run(struct search *s, uint32_t op)
{
	s->peaks[s->depth] = tilesched_sim_run(s->sim, op);
	s->ops[s->depth++] = op;
}

/* Go back to where @depth steps were done, and so many bytes lived. */
static void go_back(struct search *s, uint32_t depth, uint64_t live)
{
	while (s->depth > depth)
		tilesched_sim_take_back(s->sim, s->ops[--s->depth]);
	s->sim->live = live;
}

/* Run what can be run without any loss; whether there was something. */
static bool run_free(struct search *s)
{
	for (uint32_t op = s->sim->model->op_count; op-- > 0;) {
		uint64_t live = s->sim->live;

		if (!is_ready(s, op))
			continue;
		run(s, op);
		if (s->sim->live <= live && s->peaks[s->depth - 1] <= s->limit)
			return true;
		go_back(s, s->depth - 1, live);
	}
	return false;
}

/* List the operators that can go on within the limit, those first behind which least lives. */
static void list_choices(struct search *s, struct frame *frame)
{
	uint64_t live = s->sim->live;
	uint32_t count = 0;

	for (uint32_t op = 0; op < s->sim->model->op_count; op++) {
		if (!is_ready(s, op))
			continue;
		run(s, op);
		/* Of equal ones later operators come first, as in depth-first order. */
		if (s->peaks[s->depth - 1] <= s->limit)
			s->keys[count++] =
				(struct npuplan_keyed){ s->sim->live, ~(uint64_t)op, 0, op };
		go_back(s, s->depth - 1, live);
	}
	npuplan_sort_items(s->keys, count, s->choices + s->choice_count);
	frame->next = s->choice_count;
	s->choice_count += count;
	frame->end = s->choice_count;
}

/* Enter the state at hand, unless it was entered before. */
static int enter(struct search *s)
{
	uint32_t ops = s->sim->model->op_count;
	size_t size = ops * sizeof(*s->states);
	int64_t at;

	if (s->state_count == s->most_states || s->sim->work > s->most_work ||
	    (s->state_count % STATES_AT_ONCE == 0 && npuplan_effort_ended(s->effort))) {
		s->over = true;
		return 0;
	}
	at = npuplan_table_enter(&s->seen, s->states, s->state_count, size, s->sim->done);
	if (at < 0)
		return (int)at;
	if (at < s->state_count)
		return 0;
	memcpy(s->states + (size_t)s->state_count++ * ops, s->sim->done, size);
	s->frames[s->frame_count] = (struct frame){ .depth = s->depth, .live = s->sim->live };
	list_choices(s, &s->frames[s->frame_count++]);
	return 0;
}

/* Go on with the next choice of the frame on top of which one is left; false: there is none. */
static bool choose(struct search *s)
{
	while (s->frame_count) {
		struct frame *frame = &s->frames[s->frame_count - 1];

		go_back(s, frame->depth, frame->live);
		if (frame->next < frame->end) {
			run(s, s->choices[frame->next++]);
			return true;
		}
		s->frame_count--;
		s->choice_count = s->frame_count ? s->frames[s->frame_count - 1].end : 0;
	}
	return false;
}

/* Search for an order within the limit; s->ops has it if all steps are done then. */
static int search_all(struct search *s)
{
	uint32_t steps = s->sim->model->step_count;
	int err = 0;

	go_back(s, 0, s->sim->live);
	tilesched_sim_rewind(s->sim);
	npuplan_table_fini(&s->seen);
	s->seen = (struct npuplan_table){ 0 };
	s->state_count = 0;
	s->frame_count = 0;
	s->choice_count = 0;
	do {
		while (run_free(s))
			;
		if (s->depth == steps)
			return 0;
		err = enter(s);
	} while (!err && !s->over && choose(s));
	return err;
}

static int make_room(struct search *s)
{
	const struct tilesched_model *model = s->sim->model;
	size_t steps = model->step_count, ops = model->op_count;

	s->most_states = TILESCHED_EXACT_KEPT / model->op_count;
	s->ops = npuplan_pool_take(&s->pool, steps, sizeof(*s->ops));
	s->peaks = npuplan_pool_take(&s->pool, steps, sizeof(*s->peaks));
	s->states = npuplan_pool_take(&s->pool, s->most_states, ops * sizeof(*s->states));
	s->frames = npuplan_pool_take(&s->pool, steps + 1, sizeof(*s->frames));
	s->choices = npuplan_pool_take(&s->pool, (steps + 1) * ops, sizeof(*s->choices));
	s->keys = npuplan_pool_take(&s->pool, ops, sizeof(*s->keys));
	return s->pool.failed ? -ENOMEM : 0;
}

/* Keep the order that was found; its peak. */
static uint64_t keep(const struct search *s, uint32_t *ops)
{
	uint64_t peak = s->sim->entry;

	memcpy(ops, s->ops, s->depth * sizeof(*ops));
	for (uint32_t i = 0; i < s->depth; i++)
		peak = s->peaks[i] > peak ? s->peaks[i] : peak;
	return peak;
}

int tilesched_exact_find(struct tilesched_sim *sim, uint64_t peak, uint64_t least, uint64_t work,
			 struct npuplan_effort *effort, struct tilesched_exact *found)
{
	struct search s = {
		.sim = sim,
		.effort = effort,
		.most_work = work < UINT64_MAX - sim->work ? sim->work + work : UINT64_MAX,
	};
	uint32_t steps = sim->model->step_count;
	uint32_t *ops = NULL;
	int err = 0;

	*found = (struct tilesched_exact){ .proved = peak <= least };
	if (!steps || steps > TILESCHED_EXACT_STEPS || found->proved)
		return 0;
	err = make_room(&s);
	while (!err && peak > least && !found->proved && !s.over) {
		s.limit = peak - 1;
		err = search_all(&s);
		if (err || s.over)
			break;
		found->proved = s.depth < steps;
		if (found->proved)
			break;
		if (!ops)
			ops = malloc(steps * sizeof(*ops));
		if (!ops)
			err = -ENOMEM;
		else
			peak = keep(&s, ops);
	}
	found->proved |= peak <= least;
	tilesched_sim_rewind(sim);
	if (ops && !err) {
		tilesched_sim_ops(sim, ops, &found->cost);
		found->ops = ops;
	} else {
		free(ops);
	}
	npuplan_table_fini(&s.seen);
	npuplan_pool_free(&s.pool);
	return err;
}
