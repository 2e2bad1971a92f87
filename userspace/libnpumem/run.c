// SPDX-License-Identifier: MIT
/* Runs: their arenas, bindings and jobs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

#include "device.h"
#include "sized.h"

/*
 * struct npumem_run - a run
 * @arena: its own, or the shared one that the caller has
 * @own: the arena if it is the run's own, or NULL
 */
struct npumem_run {
	struct npumem_device *device;
	struct npumem_bo *arena;
	struct npumem_bo *own;
	uint32_t handle;
};

/* What is wrong with the memory that a run of a plan is to have, before the driver is asked. */
static int check_host(const struct npumem_plan_stats *stats, const struct npumem_bo *host,
		      struct npumem_error *error)
{
	if (host && !stats->host_size)
		return npumem_fail(error, -EINVAL,
				   "a host BO was given, but the plan needs no system memory");
	if (stats->host_size && (!host || npumem_bo_size(host) < stats->host_size))
		return npumem_fail(error, -EINVAL,
				   "the plan needs a host BO of %llu bytes, %llu were given",
				   (unsigned long long)stats->host_size,
				   (unsigned long long)(host ? npumem_bo_size(host) : 0));
	return 0;
}

/* A run whose handle is @handle, and that has no arena yet; NULL: the handle is given back. */
static struct npumem_run *run_wrap(struct npumem_device *device, uint32_t handle)
{
	struct npumem_run *run = calloc(1, sizeof(*run));

	if (!run) {
		npumem_handle_destroy(device, DRM_IOCTL_NPUMEM_RUN_DESTROY, handle);
		return NULL;
	}
	run->device = npumem_device_get(device);
	run->handle = handle;
	return run;
}

/* What all runs of the plan have, in @args; and its @stats, which fit the host BO. */
static int fill_in(struct drm_npumem_run_create *args, struct npumem_plan *plan,
		   struct npumem_plan_stats *stats, const struct npumem_bo *host,
		   struct npumem_error *error)
{
	int err = npumem_plan_get_stats(plan, stats, error);

	if (!err)
		err = check_host(stats, host, error);
	args->plan = npumem_plan_handle(plan);
	args->host_bo = host ? npumem_bo_handle(host) : 0;
	return err;
}

int npumem_run_new(struct npumem_plan *plan, uint32_t bank, struct npumem_bo *host,
		   struct npumem_run **out, struct npumem_error *error)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct drm_npumem_run_create args = { .bank = bank };
	struct npumem_plan_stats stats;
	struct npumem_device *device;
	struct npumem_run *run;
	int err;

	if (!plan || !out)
		return npumem_fail(error, -EINVAL, "npumem_run_new: NULL argument");
	device = npumem_plan_device(plan);
	err = fill_in(&args, plan, &stats, host, error);
	if (err)
		return err;
	err = npumem_ioctl(device, DRM_IOCTL_NPUMEM_RUN_CREATE, &args);
	if (err)
		return npumem_fail_errno(error, err,
					 "create a run with an arena of %llu bytes in bank %u",
					 (unsigned long long)stats.arena_size, bank);
	run = run_wrap(device, args.handle);
	if (!run) {
		drmCloseBufferHandle(device->fd, args.arena_bo);
		return npumem_fail_errno(error, -ENOMEM, "create a run");
	}
	err = npumem_bo_wrap(device, args.arena_bo, (stats.arena_size + page - 1) & ~(page - 1),
			     &run->own, error);
	if (err) {
		npumem_run_free(run);
		return err;
	}
	run->arena = run->own;
	*out = run;
	return 0;
}

int npumem_run_new_shared(struct npumem_plan *plan, struct npumem_bo *arena, struct npumem_bo *host,
			  struct npumem_run **out, struct npumem_error *error)
{
	struct drm_npumem_run_create args = { .flags = NPUMEM_RUN_CREATE_SHARED };
	struct npumem_plan_stats stats;
	struct npumem_device *device;
	struct npumem_run *run;
	int err;

	if (!plan || !arena || !out)
		return npumem_fail(error, -EINVAL, "npumem_run_new_shared: NULL argument");
	device = npumem_plan_device(plan);
	if (arena->device != device)
		return npumem_fail(error, -EINVAL,
				   "the arena is of another open device file: import it");
	args.arena_bo = npumem_bo_handle(arena);
	err = fill_in(&args, plan, &stats, host, error);
	if (err)
		return err;
	err = npumem_ioctl(device, DRM_IOCTL_NPUMEM_RUN_CREATE, &args);
	if (err == -EOPNOTSUPP)
		return npumem_fail(error, err,
				   "a plan with state in its arena cannot share one: make the "
				   "state external");
	if (err)
		return npumem_fail_errno(error, err,
					 "create a run of %llu bytes in a shared arena of %llu",
					 (unsigned long long)stats.arena_size,
					 (unsigned long long)npumem_bo_size(arena));
	run = run_wrap(device, args.handle);
	if (!run)
		return npumem_fail_errno(error, -ENOMEM, "create a run");
	run->arena = arena;
	*out = run;
	return 0;
}

static int run_turn(struct npumem_run *run, uint32_t flags, int64_t deadline,
		    struct npumem_error *error, const char *what)
{
	struct drm_npumem_run_turn args = {
		.run = run->handle,
		.flags = flags,
		.deadline_ns = deadline,
	};

	return npumem_call(run->device, DRM_IOCTL_NPUMEM_RUN_TURN, &args, error, what);
}

int npumem_run_begin_turn(struct npumem_run *run, int64_t deadline, struct npumem_error *error)
{
	if (!run)
		return npumem_fail(error, -EINVAL, "npumem_run_begin_turn: NULL argument");
	return run_turn(run, NPUMEM_TURN_BEGIN, deadline, error, "begin the turn of a run");
}

int npumem_run_end_turn(struct npumem_run *run, struct npumem_error *error)
{
	if (!run)
		return npumem_fail(error, -EINVAL, "npumem_run_end_turn: NULL argument");
	return run_turn(run, NPUMEM_TURN_END, 0, error, "end the turn of a run");
}

void npumem_run_free(struct npumem_run *run)
{
	if (!run)
		return;
	npumem_bo_free(run->own);
	npumem_handle_destroy(run->device, DRM_IOCTL_NPUMEM_RUN_DESTROY, run->handle);
	npumem_device_put(run->device);
	free(run);
}

struct npumem_bo *npumem_run_arena(struct npumem_run *run)
{
	return run->arena;
}

int npumem_run_bind(struct npumem_run *run, uint32_t tensor, struct npumem_bo *bo, uint64_t offset,
		    struct npumem_error *error)
{
	struct drm_npumem_run_bind args = { .tensor = tensor, .offset = offset };
	int err;

	if (!run)
		return npumem_fail(error, -EINVAL, "npumem_run_bind: NULL argument");
	args.run = run->handle;
	args.bo = bo ? npumem_bo_handle(bo) : 0;
	err = npumem_ioctl(run->device, DRM_IOCTL_NPUMEM_RUN_BIND, &args);
	if (!err)
		return 0;
	if (!bo)
		return npumem_fail_errno(error, err, "bind tensor %u to nothing", tensor);
	return npumem_fail_errno(error, err, "bind tensor %u to bytes from %llu of a BO of %llu",
				 tensor, (unsigned long long)offset,
				 (unsigned long long)npumem_bo_size(bo));
}

int npumem_run_reset(struct npumem_run *run, struct npumem_error *error)
{
	struct drm_npumem_handle args = { 0 };

	if (!run)
		return npumem_fail(error, -EINVAL, "npumem_run_reset: NULL argument");
	args.handle = run->handle;
	return npumem_call(run->device, DRM_IOCTL_NPUMEM_RUN_RESET, &args, error, "reset a run");
}

int npumem_run_get_stats_sized(struct npumem_run *run, struct npumem_run_stats *stats,
			       size_t stats_size, struct npumem_error *error)
{
	struct npumem_run_stats found;
	struct drm_npumem_run_query args = { 0 };
	struct npumem_verdict lost = { 0 };
	int err;

	if (!run || !stats)
		return npumem_fail(error, -EINVAL, "npumem_run_stats: NULL argument");
	args.run = run->handle;
	args.verdict = buffer_of(&lost, sizeof(lost));
	err = npumem_call(run->device, DRM_IOCTL_NPUMEM_RUN_QUERY, &args, error, "query a run");
	if (err)
		return err;
	found = (struct npumem_run_stats){
		.block = args.block,
		.error = args.error,
		.submitted = args.submitted,
		.load_bytes = args.load_bytes,
		.spill_bytes = args.spill_bytes,
		.store_bytes = args.store_bytes,
		.fill_bytes = args.fill_bytes,
		.lost = lost,
	};
	sized_give(stats, stats_size, &found, sizeof(found));
	return 0;
}

int npumem_run_wait(struct npumem_run *run, int64_t deadline, struct npumem_error *error)
{
	struct npumem_run_stats stats;
	int err;

	if (!run)
		return npumem_fail(error, -EINVAL, "npumem_run_wait: NULL argument");
	err = npumem_bo_wait(run->arena, deadline, error);
	if (!err)
		err = npumem_run_get_stats(run, &stats, error);
	if (err || !stats.error)
		return err;
	return npumem_fail_lost(error, (int)stats.error, &stats.lost);
}

/* An array for the driver; one without records is all zero. */
static struct drm_npumem_array array_of(const void *records, uint32_t count, uint32_t stride)
{
	if (!count)
		return (struct drm_npumem_array){ 0 };
	return (struct drm_npumem_array){
		.stride = stride,
		.count = count,
		.ptr = (uintptr_t)records,
	};
}

int npumem_run_submit_sized(struct npumem_run *run, struct npumem_submit *given, size_t given_size,
			    struct npumem_error *error)
{
	struct npumem_submit submit;
	struct drm_npumem_submit args = { .failed_job = NPUMEM_NONE };
	struct npumem_verdict verdict = { 0 };
	char what[32];
	int err;

	if (!run || !given)
		return npumem_fail(error, -EINVAL, "npumem_run_submit: NULL argument");
	/* The first version's struct; failed_job is written. */
	if (given_size < offsetof(struct npumem_submit, failed_job) + sizeof(given->failed_job))
		return npumem_fail(error, -EINVAL, "npumem_run_submit: %zu bytes are too few",
				   given_size);
	if (!sized_take(&submit, sizeof(submit), given, given_size))
		return npumem_fail_later(error, "submission");
	if (!submit.jobs || (submit.in_count && !submit.in_syncs) ||
	    (submit.out_count && !submit.out_syncs))
		return npumem_fail(error, -EINVAL, "npumem_run_submit: NULL argument");
	if (!submit.job_count)
		return npumem_fail(error, -EINVAL, "no job was given to submit");
	args.run = run->handle;
	args.jobs = array_of(submit.jobs, submit.job_count, sizeof(*submit.jobs));
	args.in_syncs = array_of(submit.in_syncs, submit.in_count, sizeof(*submit.in_syncs));
	args.out_syncs = array_of(submit.out_syncs, submit.out_count, sizeof(*submit.out_syncs));
	args.verdict = buffer_of(&verdict, sizeof(verdict));
	err = npumem_ioctl(run->device, DRM_IOCTL_NPUMEM_SUBMIT, &args);
	given->failed_job = err ? args.failed_job : NPUMEM_NONE;
	if (!err)
		return 0;
	if (args.failed_job == NPUMEM_NONE)
		return npumem_fail_verdict(error, err, "the submission", &verdict, NULL);
	snprintf(what, sizeof(what), "job %u", args.failed_job);
	return npumem_fail_verdict(error, err, what, &verdict, NULL);
}
