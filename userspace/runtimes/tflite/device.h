/* SPDX-License-Identifier: MIT */
/* Between the parts of the driver as an enforcer. */
#pragma once

#include "enforcer.h"
#include "forked.h"
#include "npumem.h"
#include "npumem_follow.h"

#define SECOND	 1000000000ll
/* A job that touches nothing takes long only on a stopped machine; the driver ends all others. */
#define JOB_TIME (60 * SECOND)

/*
 * struct device - the driver, as an enforcer
 * @engine: number of the one that jobs of steps are for
 * @transfer_engine: of the one that transfers are for
 * @max_jobs: that one submission takes
 * @forked: what a child of this process does not get
 */
struct device {
	struct enforcer base;
	struct npumem_device *device;
	struct forked forked;
	uint32_t engine;
	uint32_t transfer_engine;
	uint32_t max_jobs;
};

/*
 * struct enforced - a run
 * @host: host memory of the plan; NULL: it has none
 * @weights: BO that parameters are bound in; NULL: none
 * @program, @layout: what was loaded
 * @bos: per binding its tensor and its buffer, @bo_count
 * @jobs: room for as many as one submission takes
 * @begun: it has had an inference before
 * @follow: asks for a better plan; NULL: nothing has asked yet
 * @arena_map, @host_map: of the run's memory
 */
struct enforced {
	struct device *device;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_bo *host;
	struct weights *weights;
	struct npumem_run *run;
	const struct program *program;
	const struct npumem_layout *layout;
	struct {
		uint32_t tensor;
		struct npumem_bo *bo;
	} *bos;
	uint32_t bo_count;
	struct drm_npumem_job *jobs;
	bool begun;
	struct npumem_follow *follow;
	struct forked_map arena_map, host_map;
};

/* -ECHILD: a process is forked from the one that has the device. */
int device_check(const struct device *device, struct why *why);

/* The enforcer's load() and run(), see struct enforcer_ops. */
int jobs_load(struct enforced *enforced, const struct program *program,
	      const struct npumem_layout *layout, struct why *why);
int jobs_run(struct enforced *enforced, struct why *why);
