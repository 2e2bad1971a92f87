// SPDX-License-Identifier: MIT
#include "simulate.h"

#include "base/bitset.h"

#include <string.h>

/*
 * struct play - a fusion that is being played
 * @begin, @end: its operators
 * @cost: its cost so far; its weights are those fetched if none stays on chip
 * @over: the peak is above @limit
 * @last: the operator that ran last
 */
struct play {
	struct tilesched_sim *sim;
	uint32_t begin;
	uint32_t end;
	uint64_t limit;
	struct npuplan_schedule_point cost;
	uint32_t last;
	bool over;
};

/* List, for each operator, those that need it; eager() goes by that. */
static void list_consumers(struct tilesched_sim *sim)
{
	const struct tilesched_model *model = sim->model;
	uint32_t count = 0;

	memset(sim->first_consumer, 0xff, model->op_count * sizeof(*sim->first_consumer));
	for (uint32_t o = 0; o < model->op_count; o++) {
		const struct tilesched_op *op = &model->ops[o];
		uint32_t end = model->steps[op->first + op->count].first_wait;

		for (uint32_t k = model->steps[op->first].first_wait; k < end; k++) {
			uint32_t *first = &sim->first_consumer[model->waits[k].op];

			/* If the operator is listed already, it is at the front. */
			if (*first != NPUMEM_NONE && sim->consumers[*first].op == o)
				continue;
			sim->consumers[count] = (struct tilesched_consumer){ o, *first };
			*first = count++;
		}
	}
}

int tilesched_sim_init(struct tilesched_sim *sim, const struct tilesched_model *model,
		       uint64_t resident)
{
	size_t ops = model->op_count, waits = model->steps[model->step_count].first_wait;
	struct npuplan_pool *pool = &sim->pool;

	*sim = (struct tilesched_sim){ .model = model, .resident = resident };
	sim->left = npuplan_pool_take(pool, model->unit_count, sizeof(*sim->left));
	sim->done = npuplan_pool_take(pool, ops, sizeof(*sim->done));
	sim->order = npuplan_pool_take(pool, model->step_count, sizeof(*sim->order));
	sim->ready = npuplan_pool_take(pool, npuplan_set_words(ops), sizeof(*sim->ready));
	sim->stack = npuplan_pool_take(pool, ops + 1, sizeof(*sim->stack));
	sim->first_consumer = npuplan_pool_take(pool, ops, sizeof(*sim->first_consumer));
	sim->consumers = npuplan_pool_take(pool, waits, sizeof(*sim->consumers));
	if (pool->failed)
		return -ENOMEM;
	list_consumers(sim);
	tilesched_sim_rewind(sim);
	return 0;
}

void tilesched_sim_rewind(struct tilesched_sim *sim)
{
	const struct tilesched_model *model = sim->model;

	sim->next = 0;
	sim->live = 0;
	sim->entry = 0;
	memset(sim->done, 0, (size_t)model->op_count * sizeof(*sim->done));
	for (uint32_t i = 0; i < model->unit_count; i++) {
		const struct tilesched_unit *unit = &model->units[i];

		sim->left[i] = unit->reads;
		if (!unit->at_entry)
			continue;
		sim->entry += unit->bytes;
		sim->live += unit->reads ? unit->bytes : 0;
	}
}

/* ----------------------------------------------------------------------- one step */

static void read_units(struct tilesched_sim *sim, uint32_t first, uint32_t end)
{
	const struct tilesched_model *model = sim->model;

	for (uint32_t k = first; k < end; k++)
		if (!--sim->left[model->reads[k]])
			sim->live -= model->units[model->reads[k]].bytes;
}

static uint64_t play_step(struct tilesched_sim *sim, const struct tilesched_step *step)
{
	const struct tilesched_model *model = sim->model;
	uint64_t unread = 0, peak;

	read_units(sim, step->first_read, step->first_late);
	for (uint32_t k = step->first_write; k < step[1].first_write; k++) {
		uint32_t unit = model->writes[k];

		sim->live += model->units[unit].bytes;
		if (!sim->left[unit])
			unread += model->units[unit].bytes;
	}
	peak = sim->live;
	read_units(sim, step->first_late, step[1].first_read);
	sim->live -= unread;
	sim->work +=
		1 + step[1].first_read - step->first_read + step[1].first_write - step->first_write;
	return peak;
}

static void run_step(struct play *play, uint32_t op)
{
	struct tilesched_sim *sim = play->sim;
	const struct tilesched_model *model = sim->model;
	uint32_t number = model->ops[op].first + sim->done[op];
	const struct tilesched_step *step = &model->steps[number];
	uint64_t peak = play_step(sim, step);

	sim->done[op]++;
	sim->order[sim->order_count++] = number;
	if (play->last != op) {
		play->cost.weights += model->ops[op].weights;
		play->cost.halos += step->kept;
		play->last = op;
	}
	if (peak > play->cost.peak)
		play->cost.peak = peak;
	play->over |= peak > play->limit;
}

/* ------------------------------------------------------------------- depth-first */

/* Find a wait of the next @count steps of @op that is not over yet; false: all are. */
static bool unmet(struct play *play, uint32_t op, uint32_t count, bool reverse,
		  struct tilesched_wait *found)
{
	struct tilesched_sim *sim = play->sim;
	const struct tilesched_model *model = sim->model;
	uint32_t first = model->ops[op].first + sim->done[op];

	for (uint32_t s = first + count; s-- > first;) {
		uint32_t begin = model->steps[s].first_wait, end = model->steps[s + 1].first_wait;

		sim->work += end - begin;
		for (uint32_t k = 0; k < end - begin; k++) {
			const struct tilesched_wait *wait =
				&model->waits[reverse ? end - 1 - k : begin + k];

			if (wait->op >= play->begin && sim->done[wait->op] < wait->count) {
				*found = *wait;
				return true;
			}
		}
	}
	return false;
}

/* Run @op until @count of its steps are done, and before each the steps that it needs. */
static void depth_first(struct play *play, uint32_t op, uint32_t count, struct tilesched_way way)
{
	struct tilesched_sim *sim = play->sim;
	const struct tilesched_model *model = sim->model;
	/* An operator needs earlier ones only, so the stack is never deeper than their number. */
	uint32_t depth = 0;

	sim->stack[depth++] = (struct tilesched_wait){ op, count };
	while (depth && !play->over) {
		const struct tilesched_wait *top = &sim->stack[depth - 1];
		uint32_t done = sim->done[top->op], steps;
		struct tilesched_wait wait;

		if (done >= top->count) {
			depth--;
			continue;
		}
		/*
		 * Quanta begin at multiples of their size, so that all ways cut an operator alike.
		 */
		steps = way.quantum - done % way.quantum;
		if (steps > model->ops[top->op].count - done)
			steps = model->ops[top->op].count - done;
		if (unmet(play, top->op, steps, way.rule == TILESCHED_REVERSE, &wait)) {
			sim->stack[depth++] = wait;
			continue;
		}
		for (uint32_t i = 0; i < steps && !play->over; i++)
			run_step(play, top->op);
	}
}

/* ------------------------------------------------------------------------- eagerly */

static void set_ready(struct play *play, uint32_t op)
{
	struct tilesched_sim *sim = play->sim;
	struct tilesched_wait wait;
	bool ready = sim->done[op] < sim->model->ops[op].count && !unmet(play, op, 1, false, &wait);

	if (ready)
		npuplan_set_add(sim->ready, op);
	else
		npuplan_set_drop(sim->ready, op);
}

static void eager(struct play *play)
{
	struct tilesched_sim *sim = play->sim;
	uint32_t first = play->begin / 64, words = (play->end - 1) / 64 + 1;

	memset(sim->ready + first, 0, (words - first) * sizeof(*sim->ready));
	for (uint32_t o = play->begin; o < play->end; o++)
		set_ready(play, o);
	while (!play->over) {
		uint32_t w = words, op;

		while (w > first && !sim->ready[w - 1])
			w--;
		if (w == first)
			return;
		op = 64 * w - 1 - (uint32_t)__builtin_clzll(sim->ready[w - 1]);
		run_step(play, op);
		set_ready(play, op);
		for (uint32_t k = sim->first_consumer[op]; k != NPUMEM_NONE;
		     k = sim->consumers[k].next)
			if (sim->consumers[k].op < play->end)
				set_ready(play, sim->consumers[k].op);
	}
}

/* ------------------------------------------------------------------------ fusions */

static void unread(struct tilesched_sim *sim, const struct tilesched_step *step)
{
	for (uint32_t k = step->first_read; k < step[1].first_read; k++)
		sim->left[sim->model->reads[k]]++;
}

static void undo(struct tilesched_sim *sim, uint32_t begin, uint32_t end, uint64_t live)
{
	for (uint32_t i = 0; i < sim->order_count; i++)
		unread(sim, &sim->model->steps[sim->order[i]]);
	memset(sim->done + begin, 0, (end - begin) * sizeof(*sim->done));
	sim->live = live;
}

/* Take a fusion back, and tell what it costs: weights that stay are fetched once. */
static void end_play(struct play *play, uint64_t live, struct npuplan_schedule_point *cost)
{
	struct tilesched_sim *sim = play->sim;
	uint64_t weights = 0;

	undo(sim, play->begin, play->end, live);
	for (uint32_t o = play->begin; o < play->end; o++)
		weights += sim->model->ops[o].weights;
	if (weights <= sim->resident)
		play->cost.weights = weights;
	*cost = play->cost;
}

bool tilesched_sim_fusion(struct tilesched_sim *sim, uint32_t end, struct tilesched_way way,
			  uint64_t limit, struct npuplan_schedule_point *cost)
{
	const struct tilesched_model *model = sim->model;
	struct play play = {
		.sim = sim,
		.begin = sim->next,
		.end = end,
		.limit = limit,
		.cost.peak = sim->next ? sim->live : sim->entry,
		.last = NPUMEM_NONE,
	};
	uint64_t live = sim->live;

	play.over = play.cost.peak > limit;
	sim->order_count = 0;
	if (way.rule == TILESCHED_EAGER) {
		eager(&play);
	} else if (way.rule == TILESCHED_LAYERS) {
		for (uint32_t o = play.begin; o < end; o++)
			for (uint32_t s = 0; s < model->ops[o].count && !play.over; s++)
				run_step(&play, o);
	} else {
		/*
		 * Later operators ask first, and earlier ones then run the steps that nobody has
		 * asked for.
		 */
		for (uint32_t o = end; o-- > play.begin && !play.over;)
			depth_first(&play, o, model->ops[o].count, way);
	}
	end_play(&play, live, cost);
	return !play.over;
}

void tilesched_sim_ops(struct tilesched_sim *sim, const uint32_t *ops,
		       struct npuplan_schedule_point *cost)
{
	struct play play = {
		.sim = sim,
		.end = sim->model->op_count,
		.limit = UINT64_MAX,
		.cost.peak = sim->entry,
		.last = NPUMEM_NONE,
	};
	uint64_t live = sim->live;

	sim->order_count = 0;
	for (uint32_t i = 0; i < sim->model->step_count; i++)
		run_step(&play, ops[i]);
	end_play(&play, live, cost);
}

uint64_t tilesched_sim_run(struct tilesched_sim *sim, uint32_t op)
{
	const struct tilesched_model *model = sim->model;

	return play_step(sim, &model->steps[model->ops[op].first + sim->done[op]++]);
}

void tilesched_sim_take_back(struct tilesched_sim *sim, uint32_t op)
{
	const struct tilesched_model *model = sim->model;

	unread(sim, &model->steps[model->ops[op].first + --sim->done[op]]);
}

void tilesched_sim_advance(struct tilesched_sim *sim, uint32_t end)
{
	const struct tilesched_model *model = sim->model;

	for (; sim->next < end; sim->next++) {
		const struct tilesched_op *op = &model->ops[sim->next];

		for (uint32_t s = op->first; s < op->first + op->count; s++)
			play_step(sim, &model->steps[s]);
		sim->done[sim->next] = op->count;
	}
}
