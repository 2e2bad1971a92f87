// SPDX-License-Identifier: MIT
/*
 * Divide and conquer (arXiv 2311.18246, section IV): break nodes cut the order into sub-graphs that
 * are solved one by one. A tensor that crosses a break is stored for the one side and loaded for
 * the other. Break nodes are not chosen by hand: windows.c finds them.
 */
#include <stdlib.h>
#include <string.h>

#include "planners/cosma/place/addresses.h"
#include "planners/cosma/search/windows.h"
#include "encode.h"
#include "solver.h"

/* Limit of the packing core's work on one change of the combined plan. */
#define TRY_WORK 10000000ull

/*
 * struct divide - sub-graphs on their way to one plan
 * @window: per operator, the number of its sub-graph
 * @windows: sub-graphs
 * @seen: per tensor: an earlier sub-graph had it on chip
 * @later: per tensor: the last sub-graph that uses it
 * @order: operators so far, @done of them
 * @returns: per use (as model->consumers.item): the tensor is away before it
 * @placed: stays so far, with the addresses that the sub-graphs' plans gave them; @tensor and @from
 *	of each are the whole's
 * @found: each sub-graph so far has a plan
 */
struct divide {
	struct npuplan_pool pool;
	struct cosma_solver *cosma;
	const struct npuplan_cosma_ilp_options *ilp;
	const struct ilp_solver *solver;
	uint32_t *window;
	uint32_t windows;
	bool *seen;
	uint32_t *later;
	uint32_t *order;
	uint32_t done;
	bool *returns;
	struct cosma_stays placed;
	bool found;
};

static void mark_return(struct divide *divide, uint32_t x, uint32_t v)
{
	const struct cosma_list *consumers = &divide->cosma->model.consumers;

	cosma_for_each(k, *consumers, x)
		if (consumers->item[k] == v)
			divide->returns[k] = true;
}

/*
 * A tensor of an earlier sub-graph has a host copy, and its first load counts; a tensor that a
 * later sub-graph needs is stored when it is made.
 */
static void set_flags(const struct divide *divide, struct cosma_model *part, uint32_t window,
		      bool *reloaded)
{
	for (uint32_t x = 0; x < part->tensor_count; x++) {
		uint32_t whole = part->tensor_of[x];

		reloaded[x] = divide->seen[whole];
		if (reloaded[x]) {
			part->flags[x] &= (uint8_t)~COSMA_ENTRY;
			part->flags[x] |= COSMA_HOST;
		} else if (part->producer[x] != NPUMEM_NONE && divide->later[whole] > window) {
			part->flags[x] |= COSMA_OUTPUT;
		}
	}
}

/* Keeps the stays of a sub-graph's schedule, with their addresses. */
static int keep_addresses(struct divide *divide, const struct ilp_encoding *encoding,
			  const double *value, const struct cosma_schedule *schedule)
{
	const struct cosma_model *part = schedule->model;
	struct cosma_stays stays;
	int err = cosma_stays_init(&stays, schedule, NULL);

	/* Parameters go by their number in the graph. */
	for (uint32_t a = part->tensor_count; a < encoding->tensor_count && !err; a++) {
		uint32_t at = schedule->position[encoding->tensor[a].producer] + 1;

		if (encoding->tensor[a].graph != NPUMEM_NONE)
			err = cosma_stays_add(&stays, (struct cosma_stay){
							      .tensor = encoding->tensor[a].graph,
							      .from = at,
							      .to = at,
							      .parameter = true,
						      });
	}
	err = err ? err : ilp_read_addresses(encoding, value, &stays);
	for (uint32_t i = 0; i < stays.count && !err; i++) {
		struct cosma_stay stay = stays.stay[i];

		stay.tensor = stay.parameter ? stay.tensor : part->tensor_of[stay.tensor];
		stay.from += stay.from ? divide->done : 0;
		err = cosma_stays_add(&divide->placed, stay);
	}
	cosma_stays_fini(&stays);
	return err;
}

/* Appends a sub-graph's schedule to the whole's. */
static int append(struct divide *divide, const struct ilp_encoding *encoding, const double *value,
		  const struct cosma_schedule *schedule)
{
	const struct cosma_model *part = schedule->model;
	int err = keep_addresses(divide, encoding, value, schedule);

	for (uint32_t x = 0; x < part->tensor_count; x++) {
		bool back = encoding->tensor[x].reloaded;

		cosma_for_each(k, part->consumers, x) {
			if (back || schedule->away[k])
				mark_return(divide, part->tensor_of[x],
					    part->op_of[schedule->uses[k]]);
			back = false;
		}
		divide->seen[part->tensor_of[x]] = true;
	}
	for (uint32_t p = 0; p < part->op_count; p++)
		divide->order[divide->done++] = part->op_of[schedule->order[p]];
	return err;
}

static int solve_part(struct divide *divide, struct cosma_model *part, uint32_t window)
{
	struct cosma_solver *cosma = divide->cosma;
	AUTO_HEAP bool *reloaded =
		npuplan_calloc((size_t)part->tensor_count + 1, sizeof(*reloaded));
	struct ilp_encoding encoding = {
		.cosma = cosma,
		.model = part,
		.reloaded = reloaded,
		.spill_steps = divide->ilp->spill_steps,
	};
	struct ilp_answer answer = { 0 };
	struct cosma_schedule schedule;
	int err = reloaded ? cosma_schedule_init(&schedule, part) : -ENOMEM;

	if (err)
		return err;
	set_flags(divide, part, window, reloaded);
	err = ilp_encode(&encoding, NULL);
	err = err ? err : divide->solver->solve(&encoding.program, false, &cosma->call, &answer);
	divide->found = !err && answer.value;
	if (divide->found) {
		ilp_read_schedule(&encoding, answer.value, &schedule);
		err = append(divide, &encoding, answer.value, &schedule);
	}
	npuplan_free(answer.value);
	ilp_encoding_fini(&encoding);
	cosma_schedule_fini(&schedule);
	return err;
}

static int solve_window(struct divide *divide, uint32_t window)
{
	const struct cosma_model *model = &divide->cosma->model;
	uint32_t *ops = npuplan_pool_take(&divide->pool, model->op_count, sizeof(*ops));
	struct cosma_model part;
	uint32_t count = 0;
	int err;

	if (!ops)
		return -ENOMEM;
	for (uint32_t v = 0; v < model->op_count; v++)
		if (divide->window[v] == window)
			ops[count++] = v;
	err = cosma_model_part(&part, model, ops, count, NULL);
	if (err)
		return err;
	err = solve_part(divide, &part, window);
	cosma_model_fini(&part);
	return err;
}

/* Makes the whole's schedule from the order and the returns. */
static void combine(const struct divide *divide, struct cosma_schedule *schedule)
{
	const struct cosma_model *model = &divide->cosma->model;

	memcpy(schedule->order, divide->order, model->op_count * sizeof(*schedule->order));
	cosma_schedule_order(schedule);
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		cosma_for_each(k, model->consumers, x) {
			cosma_for_each(j, model->consumers, x)
				if (model->consumers.item[j] == schedule->uses[k])
					schedule->away[k] = divide->returns[j];
		}
	}
}

/* Gives the sub-graphs' addresses to the stays, if each has one. */
static bool find_addresses(const struct divide *divide, struct cosma_stays *stays)
{
	for (uint32_t i = 0; i < stays->count; i++) {
		struct cosma_stay *stay = &stays->stay[i];
		const struct cosma_stay *at = divide->placed.stay;
		const struct cosma_stay *end = at + divide->placed.count;

		while (at < end && (at->tensor != stay->tensor || at->from != stay->from ||
				    at->parameter != stay->parameter))
			at++;
		if (at == end)
			return false;
		stay->offset = at->offset;
	}
	return true;
}

static int offer_parts(struct divide *divide, const struct cosma_schedule *schedule)
{
	struct cosma_stays stays;
	uint32_t status;
	int err = cosma_stays_init(&stays, schedule, divide->cosma->graph);

	if (!err && find_addresses(divide, &stays)) {
		cosma_solver_offer(divide->cosma, schedule, &stays);
		return 0;
	}
	cosma_stays_fini(&stays);
	return err ? err : cosma_solver_place(divide->cosma, schedule, TRY_WORK, &status);
}

/*
 * Takes back what a break moved for nothing: one by one, tensors that were stored and loaded stay,
 * if there are addresses for that.
 */
static int take_back(struct divide *divide, struct cosma_schedule *schedule)
{
	struct cosma_solver *cosma = divide->cosma;
	const struct cosma_model *model = &cosma->model;
	uint32_t status;
	int err = 0;

	for (uint32_t x = 0; x < model->tensor_count && !err; x++)
		for (uint32_t k = model->consumers.first[x];
		     k < model->consumers.first[x + 1] && !err && !cosma->call.effort.stopped;
		     k++) {
			if (!schedule->away[k])
				continue;
			schedule->away[k] = false;
			err = cosma_solver_place(cosma, schedule, TRY_WORK, &status);
			if (!cosma_is_placed(status))
				schedule->away[k] = true;
		}
	return err;
}

static int divide_init(struct divide *divide)
{
	const struct cosma_model *model = &divide->cosma->model;
	uint32_t ops = model->op_count, tensors = model->tensor_count;
	struct npuplan_pool *pool = &divide->pool;

	divide->window = npuplan_pool_take(pool, ops, sizeof(*divide->window));
	divide->order = npuplan_pool_take(pool, ops, sizeof(*divide->order));
	divide->seen = npuplan_pool_take(pool, tensors, sizeof(*divide->seen));
	divide->later = npuplan_pool_take(pool, tensors, sizeof(*divide->later));
	divide->returns =
		npuplan_pool_take(pool, model->consumers.first[tensors], sizeof(*divide->returns));
	if (pool->failed ||
	    cosma_windows_cut(model, (divide->ilp->divide + 1) / 2, divide->ilp->divide,
			      divide->window, &divide->windows))
		return -ENOMEM;
	for (uint32_t x = 0; x < tensors; x++) {
		divide->seen[x] = model->flags[x] & COSMA_ENTRY;
		cosma_for_each(k, model->consumers, x) {
			uint32_t window = divide->window[model->consumers.item[k]];

			if (window > divide->later[x])
				divide->later[x] = window;
			/*
			 * A tensor that is on chip at the start has been seen by nobody when the
			 * first sub-graph uses it.
			 */
			if (!window)
				divide->seen[x] = false;
		}
	}
	return 0;
}

int ilp_divide(struct cosma_solver *cosma, const struct npuplan_cosma_ilp_options *ilp,
	       const struct ilp_solver *solver)
{
	struct divide divide = { .cosma = cosma, .ilp = ilp, .solver = solver, .found = true };
	struct cosma_schedule schedule = { 0 };
	int err = divide_init(&divide);

	for (uint32_t window = 0; window < divide.windows && !err && divide.found; window++)
		err = solve_window(&divide, window);
	err = err ? err : cosma_schedule_init(&schedule, &cosma->model);
	if (!err && divide.found) {
		combine(&divide, &schedule);
		err = offer_parts(&divide, &schedule);
		if (!err && cosma->found)
			err = take_back(&divide, &schedule);
	}
	cosma_schedule_fini(&schedule);
	cosma_stays_fini(&divide.placed);
	npuplan_pool_free(&divide.pool);
	return err;
}
