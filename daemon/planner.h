/* SPDX-License-Identifier: MIT */
/*
 * The daemon's two jobs for workers: to make a plan and to check one. All code of the daemon
 * that reads graphs and plans is here, and runs in sandboxed processes only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "worker.h"

/**
 * struct planner_task - task of planner_plan(), whose blob 0 is the graph as the driver shows it
 * @planner: name of the planner, never empty
 * @objective: enum drm_npumem_objective
 * @arena_budget: bytes, 0 = any
 * @seconds: most seconds that planning should take, 0 = any
 * @memory_limit: bytes of address space of the worker; 0 = no limit
 */
struct planner_task {
	char planner[32];
	uint32_t objective;
	uint64_t arena_budget;
	double seconds;
	uint64_t memory_limit;
};

/*
 * planner_plan() - worker's job: make a plan blob for a graph
 *
 * Fails with libnpuplan's errno and reason, and -EOPNOTSUPP for an objective
 * that no planner has.
 */
int planner_plan(const struct worker_input *input, struct worker_reply *reply);

/*
 * planner_check() - worker's job: check a plan with the kernel's verifier
 *
 * It has no task; blob 0 is the graph, blob 1 the plan. It runs in a process of its own: the
 * one that made the plan had read the hostile graph, which may have taken it over.
 */
int planner_check(const struct worker_input *input, struct worker_reply *reply);

/* The names of these jobs, for worker_start(). */
#define PLANNER_PLAN  "plan"
#define PLANNER_CHECK "check"
