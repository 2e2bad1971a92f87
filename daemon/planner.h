/* SPDX-License-Identifier: MIT */
/*
 * The daemon's jobs for workers: make a plan, check a plan. All that reads
 * graphs and plans is here, and runs in sandboxed processes only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "worker.h"

/**
 * struct planner_task - of planner_plan(), whose blob 0 is the graph as the driver shows it
 * @planner: name, never empty
 * @objective: enum drm_npumem_objective
 * @arena_budget: bytes, 0 = any
 * @seconds: that planning should take at most, 0 = any
 * @memory_limit: of the worker, for the reason when it is reached
 */
struct planner_task {
	char planner[32];
	uint32_t objective;
	uint64_t arena_budget;
	double seconds;
	uint64_t memory_limit;
};

/*
 * planner_plan() - worker's job: graph -> plan blob
 *
 * Fails with libnpuplan's errno and reason, and -EOPNOTSUPP for an objective
 * that no planner has.
 */
int planner_plan(const struct worker_input *input, struct worker_reply *reply);

/*
 * planner_check() - worker's job: has the kernel's verifier look at a plan
 *
 * No task; blob 0 is the graph, blob 1 the plan. In a process of its own: what made
 * the plan had read the graph before, and might not be itself any more.
 */
int planner_check(const struct worker_input *input, struct worker_reply *reply);

/* Their names, for worker_start(). */
#define PLANNER_PLAN  "plan"
#define PLANNER_CHECK "check"
