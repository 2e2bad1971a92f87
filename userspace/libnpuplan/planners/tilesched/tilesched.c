// SPDX-License-Identifier: MIT
#include "tilesched.h"

#include <stdlib.h>
#include <string.h>

#include "problem/packing.h"

/* Work between two looks at the clock. */
#define LOOK_EVERY 1000000

/*
 * struct run - one planning
 * @told_at: work when the caller was asked last
 */
struct run {
	const struct npuplan_problem *problem;
	struct tilesched_model model;
	struct tilesched_sim sim;
	struct tilesched_table table;
	struct tilesched_cost *front;
	uint32_t front_count;
	uint64_t told_at;
	bool stopped;
};

static bool is_over(void *context, uint64_t work)
{
	struct run *run = context;

	if (run->stopped || work - run->told_at < LOOK_EVERY)
		return run->stopped;
	run->told_at = work;
	run->stopped = npuplan_effort_over(run->problem->effort, UINT64_MAX, 0, work);
	return run->stopped;
}

/* Model, segments and the front of what they make. */
static int start(struct run *run, const struct npuplan_problem *problem,
		 const struct npuv_graph *cells, struct npuplan_error *error)
{
	const struct npuplan_options *options = problem->options;
	uint64_t resident = options->weights_on_chip ? options->weights_on_chip :
						       NPUPLAN_TILESCHED_RESIDENT;
	uint64_t work = options->work_limit ? options->work_limit : NPUPLAN_TILESCHED_WORK;
	int err = npuplan_check_straight(problem->graph, error);

	*run = (struct run){ .problem = problem };
	if (err)
		return err;
	err = tilesched_model_init(&run->model, problem->graph, cells);
	if (!err)
		err = tilesched_sim_init(&run->sim, &run->model, resident);
	if (!err)
		err = tilesched_table_init(&run->table, &run->sim, work, is_over, run);
	if (!err)
		err = tilesched_front(&run->table, &run->front, &run->front_count);
	return err ? npuplan_fail(error, err, "tile scheduling: %s", strerror(-err)) : 0;
}

static void finish(struct run *run)
{
	free(run->front);
	tilesched_table_fini(&run->table);
	tilesched_sim_fini(&run->sim);
	tilesched_model_fini(&run->model);
}

/* ------------------------------------------------------------------------- schedules */

static void schedule_fini(struct tilesched_schedule *schedule)
{
	free(schedule->order);
	free(schedule->positions);
	*schedule = (struct tilesched_schedule){ 0 };
}

/* The schedule of a point of the front: its path, played once more. */
static int schedule_init(struct tilesched_schedule *schedule, struct run *run, uint64_t peak)
{
	const struct tilesched_model *model = &run->model;
	struct tilesched_path path;
	uint32_t count = 0;
	int err = tilesched_path_find(&run->table, peak, &path);

	if (err)
		return err;
	*schedule = (struct tilesched_schedule){ .model = model, .cost = path.cost };
	schedule->order = malloc((size_t)model->step_count * sizeof(*schedule->order) + 1);
	schedule->positions = malloc((size_t)model->step_count * sizeof(*schedule->order) + 1);
	if (!schedule->order || !schedule->positions) {
		schedule_fini(schedule);
		tilesched_path_fini(&path);
		return -ENOMEM;
	}
	tilesched_sim_rewind(&run->sim);
	for (uint32_t i = 0; i < path.count; i++) {
		uint32_t end = i + 1 < path.count ? path.segments[i + 1].begin : model->op_count;
		struct tilesched_cost cost;

		tilesched_sim_segment(&run->sim, end, path.segments[i].way, UINT64_MAX, &cost);
		memcpy(schedule->order + count, run->sim.order,
		       run->sim.order_count * sizeof(*schedule->order));
		count += run->sim.order_count;
		tilesched_sim_advance(&run->sim, end);
	}
	for (uint32_t p = 0; p < count; p++)
		schedule->positions[model->steps[schedule->order[p]].step] = p;
	tilesched_path_fini(&path);
	return 0;
}

/* ------------------------------------------------------------------------------ plans */

static struct npuplan_plan *make_plan(const struct run *run,
				      const struct tilesched_placing *placing)
{
	const struct tilesched_schedule *schedule = placing->schedule;
	const struct tilesched_model *model = &run->model;
	struct npuplan_plan *plan = calloc(1, sizeof(*plan));
	uint64_t top = placing->result.top;

	if (!plan)
		return NULL;
	plan->positions = calloc((size_t)model->step_count + 1, sizeof(*plan->positions));
	plan->blocks = calloc(1, sizeof(*plan->blocks));
	if (!plan->positions || !plan->blocks || tilesched_records(placing, plan)) {
		npuplan_plan_free(plan);
		return NULL;
	}
	plan->info = (struct npumem_plan_info){
		.arena_size = top,
		/* What is proved of pieces is not of bytes. */
		.lower_bound = placing->lower_bound,
		.work = run->table.work + placing->result.work,
		.alignment = run->problem->alignment,
		.status = npuplan_status_of(top, placing->least),
	};
	for (uint32_t p = 0; p < model->step_count; p++)
		plan->positions[p] = (struct npumem_position){
			.kind = NPUMEM_POSITION_STEP,
			.index = model->steps[schedule->order[p]].step,
			.placement = NPUMEM_NONE,
		};
	plan->position_count = model->step_count;
	plan->blocks[0].position_count = model->step_count;
	plan->block_count = 1;
	plan->peak_position = placing->peak_instant ? (placing->peak_instant - 1) / 2 : 0;
	if (plan->peak_position >= model->step_count)
		plan->peak_position = model->step_count - 1;
	plan->scheduled = (struct npuplan_schedule_point){
		.peak = schedule->cost.peak,
		.weights = schedule->cost.weights,
		.halos = schedule->cost.halos,
	};
	plan->all_weights = model->all_weights;
	plan->all_reads = model->all_reads;
	return plan;
}

/* First point of the front to try: the lowest peak that what was asked for allows. */
static uint32_t first_point(const struct run *run, double factor)
{
	uint32_t point = 0;

	/* Traffic falls along the front, so the last point has the least there is. */
	while (factor > 0 && point + 1 < run->front_count &&
	       (double)run->front[point].weights > factor * (double)run->model.all_weights)
		point++;
	return point;
}

static int pack_point(struct run *run, uint32_t point, int form,
		      struct tilesched_schedule *schedule, struct tilesched_placing *placing,
		      struct npuplan_error *error)
{
	int err = schedule_init(schedule, run, run->front[point].peak);

	if (err)
		return npuplan_fail(error, err, "tile scheduling: %s", strerror(-err));
	err = tilesched_place(placing, run->problem, schedule, form, error);
	if (err)
		schedule_fini(schedule);
	return err;
}

/*
 * The point that was asked for; within a budget the one of least traffic that
 * fits, so from the highest peak that might on down.
 */
static int choose(struct run *run, int form, struct tilesched_schedule *schedule,
		  struct tilesched_placing *placing, struct npuplan_error *error)
{
	const struct npuplan_options *options = run->problem->options;
	uint64_t budget = options->arena_budget;
	uint32_t first = first_point(run, options->traffic_factor), point = first;
	int err;

	while (budget && point + 1 < run->front_count && run->front[point + 1].peak <= budget)
		point++;
	for (;;) {
		err = pack_point(run, point, form, schedule, placing, error);
		/* Tensors with fixed offsets may meet in this order, and not in that of layers. */
		if (err == -EINVAL && point + 1 < run->front_count)
			return pack_point(run, run->front_count - 1, form, schedule, placing,
					  error);
		if (err || !budget || placing->result.top <= budget || point == first)
			return err;
		schedule_fini(schedule);
		tilesched_placing_fini(placing);
		point--;
	}
}

int npuplan_plan_tilesched(const struct npuplan_problem *problem, const struct npuv_graph *cells,
			   int form, struct npuplan_plan **plan, struct npuplan_error *error)
{
	struct tilesched_schedule schedule = { 0 };
	struct tilesched_placing placing = { 0 };
	struct run run;
	int err = start(&run, problem, cells, error);

	if (!err)
		err = choose(&run, form, &schedule, &placing, error);
	if (!err && problem->options->arena_budget &&
	    placing.result.top > problem->options->arena_budget) {
		err = npuplan_fail(
			error, -ENOSPC,
			"needs %llu bytes, budget %llu, lower bound %llu; that is the order of tiles with the lowest peak%s",
			(unsigned long long)placing.result.top,
			(unsigned long long)problem->options->arena_budget,
			(unsigned long long)placing.lower_bound,
			problem->options->traffic_factor > 0 ? " within the traffic factor" : "");
		/* The bound is of this order; others are not proved to be above the budget. */
		if (error)
			error->needed = placing.result.top;
	}
	if (!err) {
		*plan = make_plan(&run, &placing);
		if (!*plan)
			err = npuplan_fail(error, -ENOMEM, "out of memory");
	}
	tilesched_placing_fini(&placing);
	schedule_fini(&schedule);
	finish(&run);
	return err;
}

/* ------------------------------------------------------------------------------ front */

static struct npuplan_front *make_front(const struct run *run)
{
	struct npuplan_front *front = calloc(1, sizeof(*front));

	if (!front)
		return NULL;
	front->points = calloc((size_t)run->front_count + 1, sizeof(*front->points));
	if (!front->points) {
		free(front);
		return NULL;
	}
	for (uint32_t i = 0; i < run->front_count; i++)
		front->points[i] = (struct npuplan_schedule_point){
			.peak = run->front[i].peak,
			.weights = run->front[i].weights,
			.halos = run->front[i].halos,
		};
	front->count = run->front_count;
	front->all_weights = run->model.all_weights;
	front->all_reads = run->model.all_reads;
	front->work = run->table.work;
	front->left_out = run->table.left_out;
	return front;
}

int npuplan_front_find_sized(const struct npuplan_graph *graph, const struct npuplan_options *given,
			     size_t given_size, struct npuplan_front **out,
			     struct npuplan_error *error)
{
	struct npuplan_options options;
	struct npuplan_effort effort;
	struct npuplan_problem problem = {
		.graph = graph,
		.options = &options,
		.effort = &effort,
	};
	struct npuplan_checked checked;
	struct run run = { 0 };
	int err = npuplan_take_options(&options, given, given_size, error);

	if (err)
		return err;
	if (!graph->step_count)
		return npuplan_fail(error, -EINVAL, "graph %s has no steps: tile it first",
				    graph->name);
	effort = npuplan_effort_begin(UINT64_MAX, options.deadline_seconds, options.progress,
				      options.context);
	err = npuplan_checked_init(&checked, graph, error);
	if (err)
		return err;
	err = start(&run, &problem, checked.cells, error);
	if (!err) {
		*out = make_front(&run);
		if (!*out)
			err = npuplan_fail(error, -ENOMEM, "out of memory");
		else
			(*out)->seconds = npuplan_effort_seconds(&effort);
	}
	finish(&run);
	npuplan_checked_fini(&checked);
	return err;
}

void npuplan_front_free(struct npuplan_front *front)
{
	if (!front)
		return;
	free(front->points);
	free(front);
}
