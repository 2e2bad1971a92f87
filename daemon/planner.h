/* SPDX-License-Identifier: MIT */
/*
 * The daemon's jobs for workers: make a plan, check a plan. All that reads
 * graphs and plans is here, and runs in sandboxed processes only.
 */
#ifndef NPUMEMD_PLANNER_H
#define NPUMEMD_PLANNER_H

#include <stddef.h>
#include <stdint.h>

#include "worker.h"

/**
 * struct planner_task - of planner_plan()
 * @graph, @graph_size: graph blob, as the driver shows it
 * @planner: name, never NULL
 * @objective: enum drm_npumem_objective
 * @arena_budget: bytes, 0 = any
 * @seconds: that planning should take at most, 0 = any
 * @memory_limit: of the worker, for the reason when it is reached
 */
struct planner_task {
	const void *graph;
	size_t graph_size;
	const char *planner;
	uint32_t objective;
	uint64_t arena_budget;
	double seconds;
	uint64_t memory_limit;
};

/**
 * planner_plan() - worker_job: graph -> plan blob
 *
 * Fails with libnpuplan's errno and reason, and -EOPNOTSUPP for an objective
 * that no planner has.
 */
int planner_plan(const void *task, struct worker_answer *answer);

/** struct planner_check_task - of planner_check(): two blobs */
struct planner_check_task {
	const void *graph;
	size_t graph_size;
	const void *plan;
	size_t plan_size;
};

/**
 * planner_check() - worker_job: has the kernel's verifier look at the plan
 *
 * In a process of its own: what made the plan had read the graph before, and
 * might not be itself any more.
 */
int planner_check(const void *task, struct worker_answer *answer);

#endif /* NPUMEMD_PLANNER_H */
