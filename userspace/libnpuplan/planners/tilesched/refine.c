// SPDX-License-Identifier: MIT
#include "refine.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/effort.h"
#include "cuts.h"

/* Steps that a segment has at most, and units that it ends. */
#define SEGMENT_STEPS 64
#define SEGMENT_UNITS 4
/* The first limit is a peak lower by one part in so many; where it is not held, by half of that. */
#define FIRST_PART    8
/* So many limits are tried, at least, before the work ends. */
#define LIMITS	      12
/* Where it is one part in so many, the next round begins, with a smaller first part. */
#define LAST_PART     1000
#define PARTS_APART   3
#define ROUNDS	      16
/* Steps that exceed a limit one after another before the order is followed farther than before. */
#define PATIENCE      12
/* Nodes and edges that are looked at for a single cut. */
#define CUT_LOOKS     10000000ull
/* Steps by which one comes earlier at most, so that its operator goes on. */
#define MOVED	      256
/* One part in so many of the work is for that. */
#define JOINING	      4
/* Work units between two looks at the clock. */
#define LOOK_EVERY    1000000

/*
 * struct refine - the search
 * @cuts: cuts of the model
 * @limit: peak that is not to be exceeded
 * @first_reader, @readers: the steps that read unit u are readers[first_reader[u] ..
 *	first_reader[u + 1])
 * @steps: the steps that are done, in order; @depth of them
 * @lives, @peaks: per step that is done, the bytes that lived before it, and while it ran
 * @most_depth: a segment does not go beyond it
 * @touched: units that steps have read or written, with which segments may begin; @touched_count
 * @tried: per unit, how many steps had yet to read it when a segment was last tried with it
 * @guide: the order that is followed
 * @joined: room for the steps that are done, and then the rest of the guide
 * @first: the order that all cuts go by
 * @asked_at: work units when @effort was asked last
 * @over: what @effort said then
 */
struct refine {
	struct tilesched_sim *sim;
	const struct tilesched_model *model;
	struct npuplan_effort *effort;
	struct tilesched_cuts cuts;
	uint64_t limit;
	uint32_t *first_reader;
	uint32_t *readers;
	uint32_t *steps;
	uint64_t *lives;
	uint64_t *peaks;
	uint32_t depth;
	uint32_t most_depth;
	uint32_t *touched;
	uint32_t touched_count;
	uint32_t *tried;
	uint32_t *guide;
	uint32_t *joined;
	uint32_t *first;
	uint64_t asked_at;
	bool over;
	struct npuplan_pool pool;
};

static uint64_t work_of(const struct refine *r)
{
	return r->sim->work + r->cuts.looked;
}

static bool is_over(struct refine *r)
{
	uint64_t work = work_of(r);

	if (!r->over && work - r->asked_at >= LOOK_EVERY) {
		r->asked_at = work;
		r->over = npuplan_effort_over(r->effort, UINT64_MAX, 0, work);
	}
	return r->over;
}

static void list_readers(struct refine *r)
{
	const struct tilesched_model *model = r->model;
	uint32_t reads = model->steps[model->step_count].first_read;

	for (uint32_t k = 0; k < reads; k++)
		r->first_reader[model->reads[k] + 2]++;
	for (uint32_t u = 0; u < model->unit_count; u++)
		r->first_reader[u + 2] += r->first_reader[u + 1];
	/* Filling in moves each begin to the one of the unit behind it. */
	for (uint32_t s = 0; s < model->step_count; s++)
		for (uint32_t k = model->steps[s].first_read; k < model->steps[s + 1].first_read;
		     k++)
			r->readers[r->first_reader[model->reads[k] + 1]++] = s;
}

static int make_room(struct refine *r, const uint32_t *order)
{
	const struct tilesched_model *model = r->model;
	uint32_t steps = model->step_count;
	uint32_t reads = model->steps[steps].first_read, writes = model->steps[steps].first_write;
	struct npuplan_pool *pool = &r->pool;

	r->first_reader = npuplan_pool_take(pool, (size_t)model->unit_count + 2, sizeof(uint32_t));
	r->readers = npuplan_pool_take(pool, reads, sizeof(*r->readers));
	r->steps = npuplan_pool_take(pool, steps, sizeof(*r->steps));
	r->lives = npuplan_pool_take(pool, steps, sizeof(*r->lives));
	r->peaks = npuplan_pool_take(pool, steps, sizeof(*r->peaks));
	/* Units are listed anew by steps that are done only, each of which is done once. */
	r->touched = npuplan_pool_take(pool, (size_t)reads + writes, sizeof(*r->touched));
	r->tried = npuplan_pool_take(pool, model->unit_count, sizeof(*r->tried));
	r->guide = npuplan_pool_take(pool, steps, sizeof(*r->guide));
	r->joined = npuplan_pool_take(pool, steps, sizeof(*r->joined));
	r->first = npuplan_pool_take(pool, steps, sizeof(*r->first));
	if (pool->failed)
		return -ENOMEM;
	list_readers(r);
	memcpy(r->first, order, steps * sizeof(*order));
	memcpy(r->steps, order, steps * sizeof(*order));
	return tilesched_cuts_init(&r->cuts, model, r->first);
}

/* --------------------------------------------------------------------------- one step */

static bool is_done(const struct refine *r, uint32_t s)
{
	uint32_t op = r->cuts.op_of[s];

	return r->sim->done[op] > s - r->model->ops[op].first;
}

/* Run the next step of an operator, which waits for none; whether it is within the limit. */
static bool run(struct refine *r, uint32_t op)
{
	r->steps[r->depth] = r->model->ops[op].first + r->sim->done[op];
	r->lives[r->depth] = r->sim->live;
	r->peaks[r->depth] = tilesched_sim_run(r->sim, op);
	return r->peaks[r->depth++] <= r->limit;
}

static void go_back(struct refine *r, uint32_t depth)
{
	if (r->depth == depth)
		return;
	r->sim->work += r->depth - depth;
	while (r->depth > depth)
		tilesched_sim_take_back(r->sim, r->cuts.op_of[r->steps[--r->depth]]);
	r->sim->live = r->lives[depth];
}

/* Find a wait of a step that is not over yet; NULL: all are. */
static const struct tilesched_wait *unmet(struct refine *r, uint32_t s)
{
	const struct tilesched_step *step = &r->model->steps[s];

	for (uint32_t k = step->first_wait; k < step[1].first_wait; k++) {
		const struct tilesched_wait *wait = &r->model->waits[k];

		r->sim->work++;
		if (r->sim->done[wait->op] < wait->count)
			return wait;
	}
	return NULL;
}

/* List the units that a step has read or written, and that live. */
static void touch(struct refine *r, uint32_t s)
{
	const struct tilesched_model *model = r->model;
	const struct tilesched_step *step = &model->steps[s];

	for (uint32_t k = step->first_read; k < step[1].first_read; k++)
		if (r->sim->left[model->reads[k]])
			r->touched[r->touched_count++] = model->reads[k];
	for (uint32_t k = step->first_write; k < step[1].first_write; k++)
		if (r->sim->left[model->writes[k]])
			r->touched[r->touched_count++] = model->writes[k];
}

/* -------------------------------------------------------------------------- segments */

/* Run a step, and before it all that it needs; false: that exceeds the limit, or is too long. */
static bool demand(struct refine *r, uint32_t s)
{
	struct tilesched_wait *stack = r->sim->stack;
	uint32_t depth = 0, op = r->cuts.op_of[s];

	stack[depth++] = (struct tilesched_wait){ op, s - r->model->ops[op].first + 1 };
	while (depth) {
		const struct tilesched_wait *wait;

		op = stack[depth - 1].op;
		if (r->sim->done[op] >= stack[depth - 1].count) {
			depth--;
			continue;
		}
		wait = unmet(r, r->model->ops[op].first + r->sim->done[op]);
		if (wait)
			stack[depth++] = *wait;
		else if (r->depth >= r->most_depth || !run(r, op))
			return false;
	}
	return true;
}

/* Run all steps that have yet to read a unit; false: they exceed the limit, or are too many. */
static bool end_unit(struct refine *r, uint32_t u)
{
	/* Each of them is a step to run, and what survives the exit does not end. */
	if (r->cuts.stays[u] || r->sim->left[u] > r->most_depth - r->depth)
		return false;
	for (uint32_t k = r->first_reader[u]; k < r->first_reader[u + 1]; k++) {
		r->sim->work++;
		if (!is_done(r, r->readers[k]) && !demand(r, r->readers[k]))
			return false;
	}
	return !r->sim->left[u];
}

/* The largest unit that lives of those listed from @first on; NPUMEM_NONE: none does. */
static uint32_t largest(struct refine *r, uint32_t first)
{
	uint32_t best = NPUMEM_NONE;

	r->sim->work += r->touched_count - first;
	for (uint32_t i = first; i < r->touched_count; i++) {
		uint32_t u = r->touched[i];

		if (r->sim->left[u] &&
		    (best == NPUMEM_NONE || r->model->units[u].bytes > r->model->units[best].bytes))
			best = u;
	}
	return best;
}

/*
 * Run steps that end a unit, and units that these leave, until no more lives than there was. What
 * exceeds a limit before that is taken back.
 */
static void run_segment(struct refine *r, uint32_t u)
{
	uint32_t begin = r->depth, first = r->touched_count, left = r->model->step_count - begin;
	uint64_t live = r->sim->live;

	r->most_depth = begin + (left < SEGMENT_STEPS ? left : SEGMENT_STEPS);
	for (uint32_t n = 0, listed = begin; n < SEGMENT_UNITS && u != NPUMEM_NONE; n++) {
		if (!end_unit(r, u))
			break;
		for (; listed < r->depth; listed++)
			touch(r, r->steps[listed]);
		if (r->sim->live <= live)
			return;
		u = largest(r, first);
	}
	go_back(r, begin);
	r->touched_count = first;
}

/* Forget which segments were tried: other steps have run now. */
static void forget(struct refine *r)
{
	r->touched_count = 0;
	memset(r->tried, 0xff, r->model->unit_count * sizeof(*r->tried));
}

/*
 * Run all segments that begin with units that were read or written since the last time. Where one
 * was tried in vain it is not before half of its readers are done.
 */
static void run_segments(struct refine *r)
{
	while (r->touched_count) {
		uint32_t u = r->touched[--r->touched_count];

		if (!r->sim->left[u] || r->sim->left[u] > r->tried[u] / 2)
			continue;
		r->tried[u] = r->sim->left[u];
		run_segment(r, u);
	}
}

/* ------------------------------------------------------------------------- projections */

/*
 * Make the guide: of what has run and what is left of it, first what the last cut has, then a step
 * with which it goes on, then the rest. *@same: out: number of steps that have run and come first
 * in it. Returns whether it is another guide.
 */
static bool project(struct refine *r, uint32_t s, uint32_t *same)
{
	uint32_t count = r->model->step_count, n = r->depth, missing = 0;

	memcpy(r->joined, r->steps, r->depth * sizeof(*r->joined));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t next = r->guide[i];

		if (is_done(r, next))
			continue;
		r->joined[n++] = next;
		missing += tilesched_cut_has(&r->cuts, next);
	}
	*same = 0;
	while (*same < r->depth && tilesched_cut_has(&r->cuts, r->joined[*same]))
		++*same;
	n = 0;
	for (uint32_t i = 0; i < count; i++)
		if (tilesched_cut_has(&r->cuts, r->joined[i]))
			r->guide[n++] = r->joined[i];
	r->guide[n++] = s;
	for (uint32_t i = 0; i < count; i++)
		if (r->joined[i] != s && !tilesched_cut_has(&r->cuts, r->joined[i]))
			r->guide[n++] = r->joined[i];
	r->sim->work += 4 * (uint64_t)count;
	return missing || *same < r->depth;
}

/*
 * Find the least cut of a step, which is noted as a bound. UINT64_MAX: there is no time for it;
 * what was found until then is a bound, too.
 */
static uint64_t cut(struct refine *r, uint32_t s, uint64_t *least)
{
	struct tilesched_cut at = { .step = s, .stores = true, .siblings = TILESCHED_KEPT };
	bool whole;
	uint64_t bytes = tilesched_cut(&r->cuts, at, CUT_LOOKS, &whole);

	*least = bytes > *least ? bytes : *least;
	return whole ? bytes : UINT64_MAX;
}

/*
 * Make the guide anew, so that a step that has exceeded the limit does not, and go back to where it
 * differs; false: there is no such guide, or none is known, and nothing has changed.
 */
static bool make_way(struct refine *r, uint64_t *least)
{
	uint32_t s = r->steps[r->depth - 1], same;

	go_back(r, r->depth - 1);
	if (cut(r, s, least) > r->limit || !project(r, s, &same)) {
		run(r, r->cuts.op_of[s]);
		return false;
	}
	go_back(r, same);
	forget(r);
	return true;
}

/* ------------------------------------------------------------------------------ orders */

/*
 * Follow the guide until all steps are done; false: the peak is not below @peak, or the caller's
 * time is over. The guide is made anew where it exceeds the limit, until there is no use, or that
 * leads no further, or so much work is done; then a higher limit is good enough.
 */
static bool follow(struct refine *r, uint64_t peak, uint64_t most_work, uint64_t *least)
{
	uint32_t farthest = 0, patience = PATIENCE;

	tilesched_sim_rewind(r->sim);
	r->depth = 0;
	forget(r);
	for (uint32_t i = 0; i < r->model->step_count && !is_over(r); i++) {
		uint32_t s = r->guide[i];

		if (is_done(r, s))
			continue;
		if (!run(r, r->cuts.op_of[s])) {
			patience = r->depth > farthest ? PATIENCE : patience - (patience > 0);
			farthest = r->depth > farthest ? r->depth : farthest;
			if (patience && work_of(r) < most_work && make_way(r, least)) {
				i = NPUMEM_NONE; /* It begins again. */
				continue;
			}
			patience = 0;
			farthest = NPUMEM_NONE;
			r->limit = r->peaks[r->depth - 1];
			if (r->limit >= peak)
				return false;
		}
		touch(r, s);
		run_segments(r);
	}
	return !r->over;
}

/* The number, in order, of the step with the highest peak. */
static uint32_t highest(const struct refine *r)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < r->depth; i++)
		if (r->peaks[i] > r->peaks[best])
			best = i;
	return best;
}

/*
 * Whether the next step of an operator can be run now, before the guide from @i on, so that the
 * limit is held until it would be its turn; nothing has changed then.
 */
static bool fits_early(struct refine *r, uint32_t op, uint32_t i)
{
	uint32_t next = r->model->ops[op].first + r->sim->done[op], begin = r->depth;
	uint32_t end = r->model->step_count - i < MOVED ? r->model->step_count : i + MOVED;
	bool fits;

	if (r->sim->done[op] == r->model->ops[op].count || unmet(r, next))
		return false;
	fits = run(r, op);
	while (fits && i < end && r->guide[i] != next) {
		if (!is_done(r, r->guide[i]))
			fits = run(r, r->cuts.op_of[r->guide[i]]);
		i++;
	}
	go_back(r, begin);
	return fits && i < end;
}

/*
 * Have operators of an order go on where its peak allows that, so that they take turns, and fetch
 * weights and halos, less often. Where time is over the rest remains as it is.
 */
static void join_turns(struct refine *r, const uint32_t *order, uint64_t peak, uint64_t most_work)
{
	tilesched_sim_rewind(r->sim);
	r->depth = 0;
	r->limit = peak;
	memcpy(r->guide, order, r->model->step_count * sizeof(*order));
	for (uint32_t i = 0; i < r->model->step_count; i++) {
		uint32_t op = r->cuts.op_of[r->guide[i]];

		if (is_done(r, r->guide[i]))
			continue;
		run(r, op);
		while (work_of(r) < most_work && !is_over(r) && fits_early(r, op, i + 1))
			run(r, op);
	}
}

/* Note the order that was run, and what it costs. -ENOMEM. */
static int note(struct refine *r, struct tilesched_found *found)
{
	uint32_t steps = r->model->step_count;

	if (!found->ops)
		found->ops = malloc(steps * sizeof(*found->ops));
	if (!found->ops)
		return -ENOMEM;
	for (uint32_t i = 0; i < steps; i++)
		found->ops[i] = r->cuts.op_of[r->steps[i]];
	tilesched_sim_rewind(r->sim);
	tilesched_sim_ops(r->sim, found->ops, &found->cost);
	return 0;
}

/* Add the order that was followed to those found. -ENOMEM. */
static int add(struct refine *r, struct tilesched_refined *refined)
{
	uint64_t kept = (refined->count + (uint64_t)1) * r->model->step_count;
	struct tilesched_found none = { 0 };
	int err = 0;

	/* Where there is no room for all, it takes the place of the one before it. */
	if (!refined->count || kept <= TILESCHED_REFINED_KEPT)
		err = npuplan_append(&refined->orders, &refined->count, &none, 1);
	return err ? err : note(r, &refined->orders[refined->count - 1]);
}

/*
 * The next limit below a peak; 0: none is left. *@part: by how much it is lower, which is halved
 * whenever a limit was not held. Where that is little, other parts of the peak are tried, since
 * other limits lead to other orders.
 */
static uint64_t next_limit(uint64_t peak, uint64_t least, uint64_t *part, uint32_t *round)
{
	if (*part > peak / 2)
		*part = peak / FIRST_PART;
	if (*part <= peak / LAST_PART)
		*part = peak / (FIRST_PART + PARTS_APART * ++*round);
	while (*part && peak - *part < least)
		*part /= 2;
	return *part && *round < ROUNDS ? peak - *part : 0;
}

/* Find orders of ever lower peaks; r->steps has the one to begin with. */
static int find(struct refine *r, uint64_t peak, uint64_t work, struct tilesched_refined *refined)
{
	uint32_t steps = r->model->step_count, round = 0;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	uint32_t *best = npuplan_pool_take(&pool, steps, sizeof(*best));
	uint64_t begin = work_of(r), part = peak / FIRST_PART;
	/* At first the order is only followed, so that segments run and its peak is known. */
	uint64_t limit = peak, below = UINT64_MAX;
	int err = best ? 0 : -ENOMEM;

	if (!err)
		memcpy(best, r->steps, steps * sizeof(*best));
	while (!err && limit && peak > refined->least && work_of(r) - begin < work) {
		uint64_t found = UINT64_MAX;

		r->limit = limit;
		memcpy(r->guide, best, steps * sizeof(*best));
		if (follow(r, below, work_of(r) + work / LIMITS, &refined->least)) {
			uint32_t at = highest(r);

			found = r->peaks[at] > r->sim->entry ? r->peaks[at] : r->sim->entry;
			if (found <= limit)
				cut(r, r->steps[at], &refined->least);
		}
		if (r->over)
			break;
		if (found < peak) {
			memcpy(best, r->steps, steps * sizeof(*best));
			peak = found;
			err = add(r, refined);
		}
		if (found > limit)
			part /= 2;
		below = peak;
		limit = next_limit(peak, refined->least, &part, &round);
	}
	if (!err && refined->count) {
		join_turns(r, best, peak, work_of(r) + work / JOINING);
		err = note(r, &refined->joined);
	}
	return err;
}

int tilesched_refine(struct tilesched_sim *sim, const uint32_t *order, uint64_t peak, uint64_t work,
		     struct npuplan_effort *effort, struct tilesched_refined *refined)
{
	struct refine r = { .sim = sim, .model = sim->model, .effort = effort };
	uint64_t begin = work_of(&r);
	int err = 0;

	*refined = (struct tilesched_refined){ .least = sim->entry };
	if (sim->model->step_count)
		err = make_room(&r, order);
	r.asked_at = begin;
	if (!err && sim->model->step_count)
		err = find(&r, peak, work, refined);
	refined->work = work_of(&r) - begin;
	tilesched_sim_rewind(sim);
	tilesched_cuts_fini(&r.cuts);
	npuplan_pool_free(&r.pool);
	return err;
}

void tilesched_refined_fini(struct tilesched_refined *refined)
{
	for (uint32_t i = 0; i < refined->count; i++)
		free(refined->orders[i].ops);
	free(refined->joined.ops);
	npuplan_free(refined->orders);
	*refined = (struct tilesched_refined){ 0 };
}
