/* SPDX-License-Identifier: MIT */
/*
 * The daemon's two jobs for workers: to make a plan and to check one. All code of the daemon
 * that reads graphs and plans is here, and runs in sandboxed processes only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker.h"

/**
 * struct planner_task - task of planner_plan()
 *
 * Blob 0 is the graph as the driver shows it, blob 1 the options, if there are any.
 * @planner: name of the planner, never empty
 * @objective: enum drm_npumem_objective
 * @arena_budget: bytes, 0 = any
 * @arena_limit: bytes that the daemon's policy allows, 0 = any
 * @seconds: most seconds that planning should take, 0 = any
 * @memory_limit: bytes of address space of the worker; 0 = no limit
 * @cut: the plan may be of another graph
 */
struct planner_task {
	char planner[32];
	uint32_t objective;
	uint64_t arena_budget;
	uint64_t arena_limit;
	double seconds;
	uint64_t memory_limit;
	bool cut;
};

/*
 * planner_plan() - worker's job: make a plan blob for a graph
 *
 * The plan of a graph that was cut anew stands behind that graph's blob, whose size is
 * @reply->head. Fails with libnpuplan's errno and reason, with options_read()'s and
 * cut_read()'s, and -EOPNOTSUPP for an objective that no planner has.
 */
int planner_plan(const struct worker_input *input, struct worker_reply *reply);
/* What planner_plan() has to have from outside. */
void planner_prepare(void);

/**
 * struct planner_check - task of planner_check()
 * @arena_limit: as in struct planner_task
 */
struct planner_check {
	uint64_t arena_limit;
};

/*
 * planner_check() - worker's job: check a plan with the kernel's verifier
 *
 * Blob 0 is the graph, blob 1 the plan. -ENOSPC: it needs more than the arena's limit. It runs in
 * a process of its own: the one that made the plan had read the hostile graph, which may have taken
 * it over.
 */
int planner_check(const struct worker_input *input, struct worker_reply *reply);

/*
 * Whether a positive errno of planner_check(), or of the driver behind it, is a verdict on the
 * plan: else nobody has judged it, as where a process was killed. ENOSPC is one: the budget is a
 * part of what was asked for.
 */
bool planner_judged(uint32_t status);

struct accepted;

/* Blobs of a planning worker beside the graph: the options of a request, if there are any. */
void planner_options_blob(struct worker_args *args, const struct accepted *accepted);
/*
 * The job of a checking worker: blobs of what a planning worker has answered and of the client's
 * graph, and the task, which has to stay until worker_start().
 */
void planner_check_args(struct worker_args *args, const struct planner_check *task,
			const struct worker_result *made);

/* The names of these jobs, for worker_start(). */
#define PLANNER_PLAN  "plan"
#define PLANNER_CHECK "check"
