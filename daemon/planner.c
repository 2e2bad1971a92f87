// SPDX-License-Identifier: MIT
#include "planner.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../userspace/monotonic/monotonic.h"

#include "cut.h"
#include "npumem_drm.h"
#include "npuplan.h"
#include "options.h"
#include "rate.h"
#include "transport.h"

static int fail(const struct planner_task *task, int err, const char *what,
		const struct npuplan_error *error, struct worker_reply *reply)
{
	const char *why = error->text[0] ? error->text : strerror(-err);

	if (err == -ENOMEM && task->memory_limit)
		snprintf(reply->text, sizeof(reply->text),
			 "planning needs more memory than %" PRIu64
			 " bytes, the memory-limit of npumemd.conf",
			 task->memory_limit);
	else if (err == -ENOMEM)
		snprintf(reply->text, sizeof(reply->text), "planning ran out of memory");
	else
		snprintf(reply->text, sizeof(reply->text), "%s: %s", what, why);
	return err;
}

/* ------------------------------------------------------------------- a request */

/*
 * struct plan_work - a request at work
 * @graph: the client's, or the one that was made of its model
 * @options: for libnpuplan; @cosma and @tilesched are parts of them
 * @started: seconds of monotonic_seconds()
 * @what: what is being done, for messages
 */
struct plan_work {
	const struct planner_task *task;
	struct asked asked;
	struct npuplan_graph *graph;
	struct npuplan_options options;
	struct npuplan_cosma_options cosma;
	struct npuplan_tilesched_options tilesched;
	double started;
	const char *what;
	struct npuplan_error error;
};

static enum npuplan_objective objective_of(uint32_t objective)
{
	return objective == NPUMEM_OBJECTIVE_TRAFFIC ? NPUPLAN_OBJECTIVE_TRAFFIC :
	       objective == NPUMEM_OBJECTIVE_PEAK    ? NPUPLAN_OBJECTIVE_PEAK :
						       NPUPLAN_OBJECTIVE_OWN;
}

static enum npuplan_schedule schedule_of(uint64_t schedule)
{
	return schedule == NPUMEM_SCHEDULE_GIVEN      ? NPUPLAN_SCHEDULE_GIVEN :
	       schedule == NPUMEM_SCHEDULE_LEAST_PEAK ? NPUPLAN_SCHEDULE_LEAST_PEAK :
	       schedule == NPUMEM_SCHEDULE_TILED      ? NPUPLAN_SCHEDULE_TILED :
							NPUPLAN_SCHEDULE_FREE;
}

/* The smaller of two limits; 0 is none. */
static uint64_t lesser(uint64_t a, uint64_t b)
{
	return !b || (a && a < b) ? a : b;
}

/* What the options say, as libnpuplan takes it. */
static void set_options(struct plan_work *work)
{
	const struct planner_task *task = work->task;
	const struct asked *asked = &work->asked;
	bool unlimited = npuplan_planner_traits(task->planner) & NPUPLAN_PLANNER_TILESCHED;

	work->options = (struct npuplan_options){
		.planner = task->planner,
		.arena_budget = task->arena_budget ? lesser(task->arena_budget, task->arena_limit) :
						     0,
		.alignment = (uint32_t)asked->numbers[NPUMEM_OPTION_ALIGNMENT],
		.schedule = schedule_of(asked->numbers[NPUMEM_OPTION_SCHEDULE]),
		.work_limit = asked->numbers[NPUMEM_OPTION_WORK_LIMIT],
		/*
		 * The other half of the worker's memory is for the graph, the plan and the
		 * program. A planner that takes no such limit has that of the process.
		 */
		.memory_limit = lesser(asked->numbers[NPUMEM_OPTION_MEMORY_LIMIT],
				       unlimited ? 0 : task->memory_limit / 2),
		/* The library tells the client if the planner does not have this objective. */
		.objective = objective_of(task->objective),
		.deadline_seconds = task->seconds,
	};
	if (asked_for(asked, NPUMEM_OPTION_BANKS)) {
		work->cosma = (struct npuplan_cosma_options){ .size = sizeof(work->cosma),
							      .banks = asked->banks };
		work->options.cosma = &work->cosma;
	}
	if (asked_for(asked, NPUMEM_OPTION_TRAFFIC_FACTOR) ||
	    asked_for(asked, NPUMEM_OPTION_WEIGHTS_ON_CHIP)) {
		work->tilesched = (struct npuplan_tilesched_options){
			.size = sizeof(work->tilesched),
			.weights_on_chip = asked->numbers[NPUMEM_OPTION_WEIGHTS_ON_CHIP],
			.traffic_factor =
				(double)asked->numbers[NPUMEM_OPTION_TRAFFIC_FACTOR] / 1e6,
		};
		work->options.tilesched = &work->tilesched;
	}
}

/* What there is beside the options and excludes some of them. */
static int check_asked(const struct plan_work *work, struct npuplan_error *error)
{
	const struct planner_task *task = work->task;
	const struct asked *asked = &work->asked;
	bool named = asked_for(asked, NPUMEM_OPTION_BUDGET);

	if (asked_cut(asked) && !task->cut)
		return options_fail(error, -EINVAL,
				    "the options have the graph cut anew, and the request lets "
				    "nobody do that (NPUMEM_PLAN_REQUEST_CUT)");
	if (named && task->arena_budget)
		return options_fail(error, -EINVAL,
				    "option %d (budget) and an arena budget of %" PRIu64
				    " bytes exclude each other",
				    NPUMEM_OPTION_BUDGET, task->arena_budget);
	if (asked_for(asked, NPUMEM_OPTION_BANKS) && task->arena_budget)
		return options_fail(error, -EINVAL,
				    "option %d (banks) and an arena budget of %" PRIu64
				    " bytes exclude each other",
				    NPUMEM_OPTION_BANKS, task->arena_budget);
	if (named && !(npuplan_planner_traits(task->planner) & NPUPLAN_PLANNER_MOVES))
		return options_fail(error, -EOPNOTSUPP,
				    "option %d (budget) is of planners that move tensors, and %s "
				    "does not",
				    NPUMEM_OPTION_BUDGET, task->planner);
	if (asked_for(asked, NPUMEM_OPTION_RECOMPUTE) &&
	    !(npuplan_planner_traits(task->planner) & NPUPLAN_PLANNER_RECOMPUTES))
		return options_fail(error, -EOPNOTSUPP,
				    "option %d (recompute) is not of planner %s",
				    NPUMEM_OPTION_RECOMPUTE, task->planner);
	return 0;
}

/* Planning has what is left of the time. */
static void set_deadline(struct plan_work *work)
{
	double left = work->task->seconds - (monotonic_seconds() - work->started);

	if (work->task->seconds > 0)
		work->options.deadline_seconds = left > 1e-6 ? left : 1e-6;
}

/* A budget by its name, of a graph that has steps. */
static int find_budget(struct plan_work *work, const struct npuplan_graph *graph)
{
	uint64_t name = work->asked.numbers[NPUMEM_OPTION_BUDGET];
	struct npuplan_budgets budgets = { 0 };
	int err;

	if (!name)
		return 0;
	work->what = "budget";
	set_deadline(work);
	err = name == NPUMEM_BUDGET_NEEDED ?
		      npuplan_needed_find(graph, &work->options, &budgets.needed, &budgets.step,
					  &work->error) :
		      npuplan_budgets_find(graph, &work->options, &budgets, &work->error);
	work->options.arena_budget = name == NPUMEM_BUDGET_NEEDED ? budgets.needed :
				     name == NPUMEM_BUDGET_MIDDLE ? budgets.middle :
								    budgets.peak;
	return err;
}

/* Which operators run again. A budget by name is that of the graph where none does. */
static int recompute(struct plan_work *work, struct cut *cut)
{
	struct npuplan_recompute clones = { 0 };
	int err = find_budget(work, work->graph);

	if (err)
		return err;
	work->what = "recompute";
	set_deadline(work);
	err = npuplan_recompute_find(cut->model, &cut->tiling, &work->options,
				     (uint32_t)work->asked.numbers[NPUMEM_OPTION_RECOMPUTE],
				     &clones, &work->error);
	cut->tiling.clones = clones.clones;
	cut->tiling.clone_count = clones.clone_count;
	return err;
}

/* Which values are copied before an edge carries them. */
static int copy_carries(struct plan_work *work, struct cut *cut)
{
	bool smaller = work->asked.numbers[NPUMEM_OPTION_CARRY_COPIES] == NPUMEM_COPIES_SMALLER;
	uint32_t instances = (uint32_t)work->asked.numbers[NPUMEM_OPTION_INSTANCES];
	struct npuplan_carry_copies copies = { 0 };
	int err;

	work->what = "carry copies";
	set_deadline(work);
	err = npuplan_carry_copies_find(cut->model, &cut->tiling, &work->options,
					smaller ? NPUPLAN_COPYING_SMALLER : NPUPLAN_COPYING_NEEDED,
					instances, &copies, &work->error);
	/* If they do not help, planning says what they do not help of; but of fewer instances. */
	if (!instances && (err == -E2BIG || err == -EOPNOTSUPP))
		return 0;
	cut->tiling.carry_copies = copies.copies;
	cut->tiling.carry_copy_count = copies.copy_count;
	return err;
}

/* The graph becomes another one. */
static int cut_anew(struct plan_work *work, const void *blob, size_t size)
{
	struct cut cut;
	int err;

	work->what = "model";
	err = cut_read(blob, size, work->graph, (uint32_t)work->asked.numbers[NPUMEM_OPTION_LAYOUT],
		       &cut, &work->error);
	if (err)
		return err;
	work->what = "cut";
	err = cut_choose(&cut, &work->asked, &work->error);
	if (!err && asked_for(&work->asked, NPUMEM_OPTION_RECOMPUTE))
		err = recompute(work, &cut);
	if (!err && asked_for(&work->asked, NPUMEM_OPTION_CARRY_COPIES))
		err = copy_carries(work, &cut);
	if (err)
		return err;
	work->what = "cut";
	err = cut_tile(&cut, &work->error);
	work->graph = cut.model;
	return err;
}

/* Whether the policy's limit is to be a budget: planners of some have another aim with one. */
static bool exceeds_limit(const struct plan_work *work, const struct npuplan_plan *plan)
{
	uint64_t limit = work->task->arena_limit;

	return limit && plan->info.arena_size > limit && !work->options.arena_budget &&
	       !asked_for(&work->asked, NPUMEM_OPTION_BANKS);
}

static int plan_within_limit(struct plan_work *work, struct npuplan_plan **plan)
{
	npuplan_plan_free(*plan);
	*plan = NULL;
	work->options.arena_budget = work->task->arena_limit;
	set_deadline(work);
	return npuplan_plan(work->graph, &work->options, plan, &work->error);
}

static int plan_graph(struct plan_work *work, const struct worker_input *input,
		      struct npuplan_plan **plan)
{
	int err;

	work->what = "options";
	err = options_read(input->blobs[1], input->blob_sizes[1], &work->asked, &work->error);
	if (!err)
		err = check_asked(work, &work->error);
	if (err)
		return err;
	set_options(work);
	work->what = "graph";
	err = npuplan_graph_read(input->blobs[0], input->blob_sizes[0], &work->graph, &work->error);
	if (!err && asked_cut(&work->asked))
		err = cut_anew(work, input->blobs[0], input->blob_sizes[0]);
	if (!err && !asked_for(&work->asked, NPUMEM_OPTION_RECOMPUTE))
		err = find_budget(work, work->graph);
	if (err)
		return err;
	work->what = work->task->planner;
	set_deadline(work);
	err = npuplan_plan(work->graph, &work->options, plan, &work->error);
	if (!err && exceeds_limit(work, *plan))
		err = plan_within_limit(work, plan);
	return err;
}

/* The blob of the plan, and before it that of a graph that is not the client's. */
static int write_answer(struct plan_work *work, const struct npuplan_plan *plan,
			struct worker_reply *reply)
{
	void *graph = NULL, *blob;
	size_t size;
	int err;

	work->what = "plan";
	err = npuplan_plan_write(plan, &blob, &size, &work->error);
	if (!err && asked_cut(&work->asked))
		err = npuplan_graph_write(work->graph, &graph, &reply->head, &work->error);
	if (err)
		return err;
	reply->size = reply->head + size;
	reply->data = graph ? realloc(graph, reply->size) : blob;
	if (!reply->data)
		return -ENOMEM;
	if (graph)
		memcpy((char *)reply->data + reply->head, blob, size);
	return 0;
}

void planner_options_blob(struct worker_args *args, const struct accepted *accepted)
{
	if (accepted->options_size)
		args->blobs[1] = (struct worker_blob){
			.fd = accepted->fd,
			.offset = worker_to_page(accepted->graph_size),
			.size = accepted->options_size,
		};
}

void planner_check_args(struct worker_args *args, const struct planner_check *task,
			const struct worker_result *made)
{
	args->job = PLANNER_CHECK;
	args->task = task;
	args->task_size = sizeof(*task);
	args->blobs[1] = made->blob;
	if (!made->head)
		return;
	/* The plan is of the graph that stands before it. */
	args->blobs[0] = made->blob;
	args->blobs[0].size = made->head;
	args->blobs[1].offset += made->head;
	args->blobs[1].size -= made->head;
}

void planner_prepare(void)
{
	/* The reader of JSON takes its seed from a file, which the sandbox lets nobody open. */
	json_object_seed(0);
}

/* Nothing is freed here, since the process is about to end. */
int planner_plan(const struct worker_input *input, struct worker_reply *reply)
{
	struct plan_work work = { .task = input->task, .started = monotonic_seconds() };
	const struct planner_task *task = input->task;
	struct npuplan_plan *plan;
	int err;

	if (task->objective > NPUMEM_OBJECTIVE_PEAK) {
		snprintf(reply->text, sizeof(reply->text),
			 "objective %" PRIu32 " is not supported; this npumemd plans for the "
			 "smallest arena (%d), the least traffic (%d) and the least peak (%d)",
			 task->objective, NPUMEM_OBJECTIVE_ARENA, NPUMEM_OBJECTIVE_TRAFFIC,
			 NPUMEM_OBJECTIVE_PEAK);
		return -EOPNOTSUPP;
	}
	err = plan_graph(&work, input, &plan);
	if (!err)
		err = write_answer(&work, plan, reply);
	if (err)
		return fail(task, err, work.what, &work.error, reply);
	plancache_summary(work.graph, plan, reply->text, sizeof(reply->text));
	reply->cost = plancache_cost(task->planner, task->objective, &plan->info);
	reply->final = plancache_final(plan, task->seconds, monotonic_seconds() - work.started);
	return 0;
}

/* Hold the arena of a plan, which has passed verification, against the policy's limit. */
static int check_arena(const struct planner_check *task, const struct worker_input *input,
		       struct worker_reply *reply)
{
	struct npuplan_error error = { 0 };
	struct npuplan_plan *plan;
	uint64_t arena;
	int err;

	if (!task->arena_limit)
		return 0;
	err = npuplan_plan_read(input->blobs[1], input->blob_sizes[1], &plan, &error);
	if (err) {
		snprintf(reply->text, sizeof(reply->text), "%s", error.text);
		return err;
	}
	arena = plan->info.arena_size;
	npuplan_plan_free(plan);
	if (arena <= task->arena_limit)
		return 0;
	snprintf(reply->text, sizeof(reply->text),
		 "it has an arena of %" PRIu64 " bytes, and %" PRIu64 " are allowed", arena,
		 task->arena_limit);
	return -ENOSPC;
}

int planner_check(const struct worker_input *input, struct worker_reply *reply)
{
	struct npumem_verdict verdict;
	char log[1024] = "";
	int err;

	err = npuplan_verify(input->blobs[0], input->blob_sizes[0], input->blobs[1],
			     input->blob_sizes[1], &verdict, log, sizeof(log));
	if (!err)
		return check_arena(input->task, input, reply);
	snprintf(reply->text, sizeof(reply->text), "%s", log[0] ? log : strerror(-err));
	return err;
}

bool planner_judged(uint32_t status)
{
	return status == EINVAL || status == EBADMSG || status == E2BIG || status == EOPNOTSUPP ||
	       status == ENOSPC;
}
