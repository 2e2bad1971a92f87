// SPDX-License-Identifier: MIT
#include "planner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "npumem_drm.h"
#include "npuplan.h"

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

/* Write the figures that the request's objective is about, for the log. */
static void summarize(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		      struct worker_reply *reply)
{
	const struct npumem_plan_info *info = &plan->info;
	uint64_t bound = plan->cosma ? plan->cosma->traffic_bound : 0;
	int used;

	used = snprintf(reply->text, sizeof(reply->text),
			"%" PRIu32 " steps, %" PRIu32 " placements, arena %" PRIu64
			" bytes, lower bound %" PRIu64,
			graph->step_count, plan->placement_count, (uint64_t)info->arena_size,
			(uint64_t)info->lower_bound);
	if (info->host_size)
		snprintf(reply->text + used, sizeof(reply->text) - used,
			 ", traffic %" PRIu64 " bytes, lower bound %" PRIu64 "%s",
			 (uint64_t)(info->spill_bytes + info->fill_bytes), bound,
			 info->status == NPUMEM_PLAN_STATUS_OPTIMAL ? ", optimal" : "");
}

/* Nothing is freed here, since the process is about to end. */
int planner_plan(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;
	bool unlimited = npuplan_planner_traits(task->planner) & NPUPLAN_PLANNER_TILESCHED;
	const struct npuplan_options options = {
		.planner = task->planner,
		.arena_budget = task->arena_budget,
		/*
		 * The other half of the worker's memory is for the graph, the plan and the
		 * program. A planner that takes no such limit has that of the process.
		 */
		.memory_limit = unlimited ? 0 : task->memory_limit / 2,
		/* The library tells the client if the planner does not have this objective. */
		.objective = task->objective == NPUMEM_OBJECTIVE_TRAFFIC ?
				     NPUPLAN_OBJECTIVE_TRAFFIC :
				     NPUPLAN_OBJECTIVE_OWN,
		.deadline_seconds = task->seconds,
	};
	struct npuplan_error error = { "" };
	struct npuplan_graph *graph;
	struct npuplan_plan *plan;
	int err;

	if (task->objective != NPUMEM_OBJECTIVE_ARENA &&
	    task->objective != NPUMEM_OBJECTIVE_TRAFFIC) {
		snprintf(reply->text, sizeof(reply->text),
			 "objective %" PRIu32 " is not supported; this npumemd plans for the "
			 "smallest arena (%d) and the least traffic (%d)",
			 task->objective, NPUMEM_OBJECTIVE_ARENA, NPUMEM_OBJECTIVE_TRAFFIC);
		return -EOPNOTSUPP;
	}
	err = npuplan_graph_read(input->blobs[0], input->blob_sizes[0], &graph, &error);
	if (err)
		return fail(task, err, "graph", &error, reply);
	err = npuplan_plan(graph, &options, &plan, &error);
	if (err)
		return fail(task, err, task->planner, &error, reply);
	err = npuplan_plan_write(plan, &reply->data, &reply->size, &error);
	if (err)
		return fail(task, err, "plan", &error, reply);
	summarize(graph, plan, reply);
	return 0;
}

int planner_check(const struct worker_input *input, struct worker_reply *reply)
{
	struct npumem_verdict verdict;
	char log[1024] = "";
	int err;

	err = npuplan_verify(input->blobs[0], input->blob_sizes[0], input->blobs[1],
			     input->blob_sizes[1], &verdict, log, sizeof(log));
	if (err)
		snprintf(reply->text, sizeof(reply->text), "%s", log[0] ? log : strerror(-err));
	return err;
}
