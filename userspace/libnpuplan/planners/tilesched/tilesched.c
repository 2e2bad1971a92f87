// SPDX-License-Identifier: MIT
#include "tilesched.h"

#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "graph/checked.h"
#include "least.h"
#include "problem/packing.h"
#include "refine.h"

/* enum beside - orders that are perhaps no points of the front, since others beat them */
enum beside {
	UNJOINED = UINT32_MAX - 2, /* the refined one of the lowest peak, but for joined turns */
	LOWEST_PATH,		   /* that of the lowest peak of all that fusions make */
	LEAST_TRAFFIC,		   /* layer order, or a path of as little traffic */
};

/*
 * struct tilesched_planning - the fusions of a graph, and the front of the schedules that they
 * make
 * @found: orders that no fusions make, each of a lower peak and more traffic than the one before
 *	it; backwards they are the first points of the front
 * @found_count: how many they are; the points from here on are paths
 * @unjoined: the order of enum beside; ops is NULL: there is none
 * @path_peak: the lowest peak of all paths
 * @least: bytes that orders of the steps need
 * @work: work units of fusions and of refining
 */
struct tilesched_planning {
	const struct npuplan_problem *problem;
	struct tilesched_model model;
	struct tilesched_sim sim;
	struct tilesched_table table;
	struct npuplan_schedule_point *front;
	uint32_t front_count;
	struct tilesched_found *found;
	uint32_t found_count;
	struct tilesched_found unjoined;
	uint64_t path_peak;
	struct tilesched_least least;
	uint64_t work;
};

/* The options of this planner alone, or their defaults. */
static const struct npuplan_tilesched_options *own_of(const struct npuplan_problem *problem)
{
	static const struct npuplan_tilesched_options defaults;

	return problem->options->tilesched ? problem->options->tilesched : &defaults;
}

/* Work units of playing fusions, and of the search after that. */
static uint64_t work_of(const struct npuplan_problem *problem)
{
	uint64_t limit = problem->options->work_limit;

	return limit ? limit : NPUPLAN_TILESCHED_WORK;
}

/*
 * Work units of refining: what fusions have taken, and cuts take, so that the planner takes no more
 * than twice its time.
 */
static uint64_t refining_work_of(const struct tilesched_planning *planning)
{
	uint64_t work = planning->table.work + TILESCHED_LEAST_LOOKS;
	uint64_t limit = planning->problem->options->work_limit;

	return limit && limit < work ? limit : work;
}

static int start(struct tilesched_planning *planning, const struct npuplan_problem *problem,
		 const struct npuv_graph *cells, struct npuplan_error *error)
{
	const struct npuplan_tilesched_options *own = own_of(problem);
	uint64_t resident = own->weights_on_chip ? own->weights_on_chip :
						   NPUPLAN_TILESCHED_RESIDENT;
	int err = npuplan_check_straight(problem->graph, error);

	*planning = (struct tilesched_planning){ .problem = problem };
	if (err)
		return err;
	err = tilesched_model_init(&planning->model, problem->graph, cells);
	if (!err)
		err = tilesched_sim_init(&planning->sim, &planning->model, resident);
	if (!err)
		err = tilesched_table_init(&planning->table, &planning->sim, work_of(problem),
					   problem->effort);
	if (!err)
		err = tilesched_front(&planning->table, &planning->front, &planning->front_count);
	if (!err)
		planning->path_peak = planning->front[0].peak;
	return err ? npuplan_fail(error, err, "tile scheduling: %s", strerror(-err)) : 0;
}

static void finish(struct tilesched_planning *planning)
{
	for (uint32_t i = 0; i < planning->found_count; i++)
		free(planning->found[i].ops);
	npuplan_free(planning->found);
	free_all(planning->front, planning->unjoined.ops);
	tilesched_table_fini(&planning->table);
	npuplan_pool_free(&planning->sim.pool);
	tilesched_model_fini(&planning->model);
}

/* ------------------------------------------------------------------------- schedules */

static void placing_fini(struct tilesched_placing *placing)
{
	free_all(placing->items, placing->of, placing->live.takeovers);
	npuplan_pool_free(&placing->pool);
}

/* Run the fusions of a path, and list their steps in @order. */
static void play_path(struct tilesched_sim *sim, const struct tilesched_path *path, uint32_t *order)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < path->count; i++) {
		uint32_t end = i + 1 < path->count ? path->fusions[i + 1].begin :
						     sim->model->op_count;
		struct npuplan_schedule_point cost;

		tilesched_sim_fusion(sim, end, path->fusions[i].way, UINT64_MAX, &cost);
		memcpy(order + count, sim->order, sim->order_count * sizeof(*sim->order));
		count += sim->order_count;
		tilesched_sim_advance(sim, end);
	}
}

/* Make the schedule of a point of the front, or of one of enum beside, by playing it once more. */
static int schedule(struct tilesched_planning *planning, uint32_t point,
		    struct tilesched_placing *placing)
{
	const struct tilesched_model *model = &planning->model;
	struct tilesched_sim *sim = &planning->sim;
	struct tilesched_path path = { 0 };
	const uint32_t *ops = NULL;
	uint64_t limit = UINT64_MAX;
	int err = 0;

	if (point < planning->found_count)
		ops = planning->found[planning->found_count - 1 - point].ops;
	else if (point == UNJOINED)
		ops = planning->unjoined.ops;
	else if (point == LOWEST_PATH)
		limit = planning->path_peak;
	else if (point != LEAST_TRAFFIC)
		limit = planning->front[point].peak;
	if (!ops)
		err = tilesched_path_find(&planning->table, limit, &path);

	*placing = (struct tilesched_placing){
		.problem = planning->problem,
		.model = model,
		.cost = path.cost,
	};
	placing->order = npuplan_pool_take(&placing->pool, model->step_count, sizeof(uint32_t));
	placing->positions = npuplan_pool_take(&placing->pool, model->step_count, sizeof(uint32_t));
	if (placing->pool.failed)
		err = -ENOMEM;
	tilesched_sim_rewind(sim);
	if (!err && ops) {
		tilesched_sim_ops(sim, ops, &placing->cost);
		memcpy(placing->order, sim->order, sim->order_count * sizeof(*sim->order));
	} else if (!err) {
		play_path(sim, &path, placing->order);
	}
	for (uint32_t p = 0; p < model->step_count && !err; p++)
		placing->positions[model->steps[placing->order[p]].step] = p;
	free(path.fusions);
	return err;
}

/*
 * Make an order that was found the first point of the front; those that are not better in traffic
 * go. It is the planning's from now on, also if this fails. -ENOMEM.
 */
static int add_found(struct tilesched_planning *planning, struct tilesched_found *found)
{
	uint64_t traffic = tilesched_traffic(&found->cost);
	struct npuplan_schedule_point *front;
	uint32_t worse = 0, paths;
	int err;

	while (worse < planning->front_count &&
	       tilesched_traffic(&planning->front[worse]) >= traffic)
		worse++;
	for (uint32_t i = 0; i < worse && planning->found_count; i++)
		free(planning->found[--planning->found_count].ops);
	err = npuplan_append(&planning->found, &planning->found_count, found, 1);
	if (err) {
		free(found->ops);
		return err;
	}
	paths = planning->front_count - worse;
	front = malloc((paths + (size_t)1) * sizeof(*front));
	if (!front)
		return -ENOMEM;
	front[0] = found->cost;
	memcpy(front + 1, planning->front + worse, paths * sizeof(*front));
	free(planning->front);
	planning->front = front;
	planning->front_count = paths + 1;
	return 0;
}

/* Refine the schedule of the lowest peak, and note what no order needs less of. -ENOMEM. */
static int refine(struct tilesched_planning *planning)
{
	struct tilesched_refined refined = { 0 };
	struct tilesched_placing placing;
	int err = schedule(planning, 0, &placing);

	tilesched_sim_rewind(&planning->sim);
	if (!err)
		err = tilesched_refine(&planning->sim, placing.order, planning->front[0].peak,
				       refining_work_of(planning), planning->problem->effort,
				       &refined);
	placing_fini(&placing);
	for (uint32_t i = 0; i + 1 < refined.count && !err; i++) {
		err = add_found(planning, &refined.orders[i]);
		refined.orders[i].ops = NULL;
	}
	if (!err && refined.joined.ops) {
		planning->unjoined = refined.orders[refined.count - 1];
		refined.orders[refined.count - 1].ops = NULL;
		err = add_found(planning, &refined.joined);
		refined.joined.ops = NULL;
	}
	planning->least.kept = refined.least;
	planning->work = planning->table.work + refined.work;
	tilesched_refined_fini(&refined);
	return err;
}

/* Search for the lowest peak of a small graph. -ENOMEM. */
static int search(struct tilesched_planning *planning)
{
	struct tilesched_exact exact;
	struct tilesched_found found;
	int err;

	tilesched_sim_rewind(&planning->sim);
	err = tilesched_exact_find(&planning->sim, planning->front[0].peak, planning->least.kept,
				   work_of(planning->problem), planning->problem->effort, &exact);
	found = (struct tilesched_found){ exact.ops, exact.cost };
	if (!err && exact.ops)
		err = add_found(planning, &found);
	if (!err && exact.proved)
		planning->least.kept = planning->front[0].peak;
	return err;
}

/* Refine the schedule, and find what no order needs less of; of small graphs, the lowest peak. */
static int find_least(struct tilesched_planning *planning, struct npuplan_error *error)
{
	struct tilesched_placing placing;
	int err = refine(planning);

	placing = (struct tilesched_placing){ 0 };
	if (!err)
		err = schedule(planning, 0, &placing);
	if (!err)
		err = tilesched_least(&planning->model, placing.order, planning->problem->effort,
				      &planning->least);
	placing_fini(&placing);
	if (!err)
		err = search(planning);
	return err ? npuplan_fail(error, err, "tile scheduling: %s", strerror(-err)) : 0;
}

int tilesched_order(const struct npuplan_problem *problem, const struct npuv_graph *cells,
		    uint32_t *order, uint64_t *work)
{
	struct tilesched_placing placing = { 0 };
	struct tilesched_planning planning;
	int err = start(&planning, problem, cells, NULL);

	if (!err)
		err = refine(&planning);
	if (!err)
		err = schedule(&planning, 0, &placing);
	for (uint32_t p = 0; p < planning.model.step_count && !err; p++)
		order[p] = planning.model.steps[placing.order[p]].step;
	*work = planning.work;
	placing_fini(&placing);
	finish(&planning);
	return err;
}

/* ------------------------------------------------------------------------------ plans */

static struct npuplan_plan *make_plan(const struct tilesched_planning *planning,
				      const struct tilesched_placing *placing)
{
	const struct npuplan_problem *problem = planning->problem;
	const struct tilesched_model *model = &planning->model;
	const struct npuplan_packing packing = {
		.top = placing->result.top,
		/* A bound that is proved for pieces does not hold for single bytes. */
		.lower_bound = placing->lower_bound,
		.work = planning->work + placing->result.work,
		.status = npuplan_status_of(placing->result.top, planning->least.any),
	};
	struct npuplan_plan *plan = npuplan_plan_new(problem, &packing, 0, model->step_count, 1, 0);

	if (!plan)
		return NULL;
	plan->tilesched = malloc(sizeof(*plan->tilesched));
	if (!plan->tilesched || tilesched_records(placing, plan)) {
		npuplan_plan_free(plan);
		return NULL;
	}
	for (uint32_t p = 0; p < model->step_count; p++)
		plan->positions[p].index = model->steps[placing->order[p]].step;
	plan->peak_position = npuplan_instant_position(&problem->live, placing->peak_instant);
	*plan->tilesched = (struct npuplan_tilesched_result){
		.cost = placing->cost,
		.all_weights = model->all_weights,
		.all_reads = model->all_reads,
		.least = planning->least.any,
		.least_kept = planning->least.kept,
	};
	return plan;
}

static bool is_allowed(const struct tilesched_planning *planning,
		       const struct npuplan_schedule_point *cost)
{
	double factor = own_of(planning->problem)->traffic_factor;

	return !(factor > 0) ||
	       (double)cost->weights <= factor * (double)planning->model.all_weights;
}

/* The first point of the front to try: the one of lowest peak whose traffic the options allow. */
static uint32_t first_point(const struct tilesched_planning *planning)
{
	uint32_t point = 0;

	/* Traffic falls along the front, so the last point has the least. */
	while (point + 1 < planning->front_count && !is_allowed(planning, &planning->front[point]))
		point++;
	return point;
}

/* Place the schedule of a point, instead of the one that was placed before. */
static int place_point(struct tilesched_planning *planning, uint32_t point, int form,
		       struct tilesched_placing *placing, struct npuplan_error *error)
{
	int err;

	placing_fini(placing);
	err = schedule(planning, point, placing);
	if (err)
		return npuplan_fail(error, err, "tile scheduling: %s", strerror(-err));
	return tilesched_place(placing, form, error);
}

/*
 * Place the schedule of a point. Tensors with fixed offsets may collide in this order, but not in
 * that of a path, and not in layer order.
 */
static int place_any(struct tilesched_planning *planning, uint32_t point, int form,
		     struct tilesched_placing *placing, struct npuplan_error *error)
{
	int err = place_point(planning, point, form, placing, error);

	if (err == -EINVAL && point < planning->found_count)
		err = place_point(planning, LOWEST_PATH, form, placing, error);
	if (err == -EINVAL)
		err = place_point(planning, LEAST_TRAFFIC, form, placing, error);
	return err;
}

/*
 * Place an order of enum beside instead if that needs less: one of less traffic, or one that no
 * fusions make, may leave more gaps.
 */
static int place_beside(struct tilesched_planning *planning, enum beside order, int form,
			struct tilesched_placing *placing, struct npuplan_error *error)
{
	uint64_t peak = order == UNJOINED ? planning->unjoined.cost.peak : planning->path_peak;
	struct tilesched_placing other = { 0 }, larger;
	int err;

	if (!planning->unjoined.ops || peak >= placing->result.top)
		return 0;
	/* Placing takes longer than so little is worth, where traffic is less. */
	if (order == UNJOINED && placing->result.top - peak < placing->result.top / 100)
		return 0;
	err = place_point(planning, order, form, &other, error);
	if (!err && other.result.top < placing->result.top && is_allowed(planning, &other.cost)) {
		larger = *placing;
		*placing = other;
		other = larger;
	}
	placing_fini(&other);
	return err == -EINVAL ? 0 : err;
}

/*
 * Choose the point that the options ask for. Within a budget it is the one of least traffic that
 * fits, so points are tried from the highest peak that might fit on down.
 */
static int choose(struct tilesched_planning *planning, int form, struct tilesched_placing *placing,
		  struct npuplan_error *error)
{
	const struct npuplan_options *options = planning->problem->options;
	uint32_t first = first_point(planning), point = first;
	uint32_t last = planning->front_count - 1;
	uint64_t budget = options->arena_budget;
	int err;

	while (budget && point < last && planning->front[point + 1].peak <= budget)
		point++;
	do {
		err = place_any(planning, point, form, placing, error);
	} while (!err && budget && placing->result.top > budget && point-- > first);
	if (!err && (!budget || placing->result.top > budget))
		err = place_beside(planning, UNJOINED, form, placing, error);
	if (!err && (!budget || placing->result.top > budget))
		err = place_beside(planning, LOWEST_PATH, form, placing, error);
	return err;
}

int npuplan_plan_tilesched(const struct npuplan_problem *problem, const struct npuv_graph *cells,
			   int form, struct npuplan_plan **plan, struct npuplan_error *error)
{
	uint64_t budget = problem->options->arena_budget;
	struct tilesched_placing placing = { 0 };
	struct tilesched_planning planning;
	int err = start(&planning, problem, cells, error);

	if (!err)
		err = find_least(&planning, error);
	if (!err)
		err = choose(&planning, form, &placing, error);
	if (!err && budget && placing.result.top > budget) {
		err = npuplan_fail(
			error, -ENOSPC,
			"needs %llu bytes, budget %llu, lower bound %llu; that is the order of tiles with the lowest peak%s; no order needs less than %llu",
			(unsigned long long)placing.result.top, (unsigned long long)budget,
			(unsigned long long)placing.lower_bound,
			own_of(problem)->traffic_factor > 0 ? " within the traffic factor" : "",
			(unsigned long long)planning.least.any);
		/* The first bound holds for this order only. */
		if (error)
			error->needed = placing.result.top;
	}
	if (!err) {
		*plan = make_plan(&planning, &placing);
		if (!*plan)
			err = npuplan_fail(error, -ENOMEM, "out of memory");
	}
	placing_fini(&placing);
	finish(&planning);
	return err;
}

/* ------------------------------------------------------------------------------ front */

int npuplan_front_find_sized(const struct npuplan_graph *graph, const struct npuplan_options *given,
			     size_t given_size, struct npuplan_front **out,
			     struct npuplan_error *error)
{
	struct npuplan_taken_options taken;
	const struct npuplan_options *options = &taken.all;
	struct npuplan_effort effort;
	struct npuplan_problem problem = {
		.graph = graph,
		.options = options,
		.effort = &effort,
	};
	struct npuplan_checked checked;
	struct tilesched_planning planning = { 0 };
	int err = npuplan_take_options(&taken, given, given_size, error);

	if (!err)
		err = npuplan_check_taken("tile-scheduled", NPUPLAN_PLANNER_TILESCHED, options,
					  error);
	if (err)
		return err;
	if (!graph->step_count)
		return npuplan_fail(error, -EINVAL, "graph %s has no steps: tile it first",
				    graph->name);
	effort = npuplan_effort_begin(UINT64_MAX, options->deadline_seconds, options->progress,
				      options->context);
	err = npuplan_checked_init(&checked, graph, error);
	if (err)
		return err;
	err = start(&planning, &problem, checked.cells, error);
	if (!err)
		err = find_least(&planning, error);
	if (!err) {
		*out = malloc(sizeof(**out));
		if (!*out)
			err = npuplan_fail(error, -ENOMEM, "out of memory");
	}
	if (!err) {
		**out = (struct npuplan_front){
			.points = planning.front,
			.count = planning.front_count,
			.all_weights = planning.model.all_weights,
			.all_reads = planning.model.all_reads,
			.least = planning.least.any,
			.least_kept = planning.least.kept,
			.work = planning.work,
			.left_out = planning.table.incomplete,
			.seconds = npuplan_effort_seconds(&effort),
		};
		planning.front = NULL;
	}
	finish(&planning);
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
