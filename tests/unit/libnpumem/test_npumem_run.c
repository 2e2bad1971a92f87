// SPDX-License-Identifier: MIT
/* libnpumem: runs, bindings, jobs; and callers of other versions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "npumem_fake.h"

TEST_WITH(run, objects_setup, objects_teardown)
{
	struct objects *o = *state;
	struct npumem_bo *arena = npumem_run_arena(o->run);
	void *map;

	assert_int_equal(npumem_bo_handle(arena), 11);
	assert_int_equal(npumem_bo_size(arena), 8192);
	assert_int_equal(npumem_bo_map(arena, &map, &error), 0);
	assert_int_equal(npumem_run_reset(o->run, &error), 0);
}

static int refuses_query(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_RUN_QUERY ? ENOENT : fake_default(request, argument);
}

TEST_WITH(run_stats, objects_setup, objects_teardown)
{
	const struct drm_npumem_run_query *args = (const void *)fake.before;
	struct npumem_run_stats stats;
	struct objects *o = *state;

	fake.interrupts = 1;
	assert_int_equal(npumem_run_get_stats(o->run, &stats, &error), 0);
	assert_int_equal(args->run, 10);
	assert_int_equal(args->flags, 0);
	assert_int_equal(stats.block, NPUMEM_NONE);
	assert_int_equal(stats.error, EIO);
	assert_int_equal(stats.submitted, 12);
	assert_int_equal(stats.load_bytes, 1);
	assert_int_equal(stats.spill_bytes, 2);
	assert_int_equal(stats.store_bytes, 3);
	assert_int_equal(stats.fill_bytes, 4);
	fake.handler = refuses_query;
	assert_error(npumem_run_get_stats(o->run, &stats, &error), -ENOENT,
		     "cannot query a run: No such file or directory");
}

static int says_well(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_RUN_QUERY ? 0 : fake_default(request, argument);
}

/* An engine in a process wrote behind a tile; the window's part before the tiles. */
static const struct npumem_verdict beside = {
	.rule = NPUMEM_RULE_ENFORCE_BESIDE,
	.position = 3,
	.step = 3,
	.tile = 7,
	.tensor = 5,
	.other_step = NPUMEM_NONE,
	.other_tile = 8,
	.other_tensor = 6,
	.first = 100,
	.length = 4,
};
static struct npumem_verdict lost_by;

static int says_how(unsigned long request, void *argument)
{
	struct drm_npumem_run_query *args = argument;

	if (request != DRM_IOCTL_NPUMEM_RUN_QUERY)
		return fake_default(request, argument);
	args->error = EPROTO;
	fake_give(&args->verdict, &lost_by, sizeof(lost_by));
	return 0;
}

TEST_WITH(run_wait_says_how, objects_setup, objects_teardown)
{
	struct npumem_run_stats stats;
	struct objects *o = *state;

	fake.handler = says_how;
	lost_by = beside;
	assert_error(
		npumem_run_wait(o->run, 0, &error), -EIO,
		"the run is lost, a job of it failed: Protocol error: rule \"engine wrote beside a "
		"tile\", position 3, step 3, tile 7, tensor 5, bytes [100, 104) of the copy of the "
		"tile; against tensor 6, tile 8");
	assert_memory_equal(&error.verdict, &beside, sizeof(beside));
	assert_int_equal(npumem_run_get_stats(o->run, &stats, &error), 0);
	assert_memory_equal(&stats.lost, &beside, sizeof(beside));
	lost_by.tile = lost_by.tensor = NPUMEM_NONE;
	assert_error(
		npumem_run_wait(o->run, 0, &error), -EIO,
		"the run is lost, a job of it failed: Protocol error: rule \"engine wrote beside a "
		"tile\", position 3, step 3, bytes [100, 104) of the engine's window; against "
		"tensor 6, tile 8");
	/* No more than that it failed. */
	lost_by = (struct npumem_verdict){ .rule = NPUMEM_RULE_ENFORCE_LOST, .position = 3 };
	assert_error(npumem_run_wait(o->run, 0, &error), -EIO,
		     "the run is lost, a job of it failed: Protocol error");
	assert_int_equal(npumem_run_wait(o->run, 0, NULL), -EIO);
}

static int says_late(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_BO_WAIT ? ETIMEDOUT : fake_default(request, argument);
}

TEST_WITH(run_wait, objects_setup, objects_teardown)
{
	struct objects *o = *state;

	fake.handler = says_well;
	assert_int_equal(npumem_run_wait(o->run, 0, &error), 0);
	fake.handler = fake_default;
	assert_error(npumem_run_wait(o->run, 0, &error), -EIO,
		     "the run is lost, a job of it failed: Input/output error");
	fake.handler = refuses_query;
	assert_error(npumem_run_wait(o->run, 0, &error), -ENOENT,
		     "cannot query a run: No such file or directory");
	fake.handler = says_late;
	assert_error(npumem_run_wait(o->run, 0, &error), -ETIMEDOUT,
		     "cannot wait for the jobs that use a BO: Connection timed out "
		     "(the deadline passed)");
	assert_error(npumem_run_wait(NULL, 0, &error), -EINVAL, "npumem_run_wait: NULL argument");
}

static int refuses_binding(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_RUN_BIND ? EBUSY : fake_default(request, argument);
}

TEST_WITH(bind, objects_setup, objects_teardown)
{
	struct drm_npumem_run_bind *args = (void *)fake.before;
	struct objects *o = *state;
	struct npumem_bo *bo;

	assert_int_equal(npumem_bo_new(o->device, 5000, NPUMEM_BO_SYSTEM, 0, &bo, &error), 0);
	assert_int_equal(npumem_run_bind(o->run, 3, bo, 64, &error), 0);
	assert_int_equal(args->run, 10);
	assert_int_equal(args->tensor, 3);
	assert_int_equal(args->bo, 5);
	assert_int_equal(args->flags, 0);
	assert_int_equal(args->offset, 64);
	assert_int_equal(npumem_run_bind(o->run, 3, NULL, 0, &error), 0);
	assert_int_equal(args->bo, 0);
	fake.handler = refuses_binding;
	assert_error(npumem_run_bind(o->run, 3, bo, 64, &error), -EBUSY,
		     "cannot bind tensor 3 to bytes from 64 of a BO of 8192: Device or resource "
		     "busy (jobs or requests are under way; wait for them)");
	assert_error(npumem_run_bind(o->run, 3, NULL, 0, &error), -EBUSY,
		     "cannot bind tensor 3 to nothing: Device or resource busy (jobs or requests "
		     "are under way; wait for them)");
	npumem_bo_free(bo);
}

TEST_WITH(dmabuf, objects_setup, objects_teardown)
{
	struct objects *o = *state;
	struct npumem_bo *bo;
	FILE *file = tmpfile();
	int fd;

	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), 12288), 0);
	assert_int_equal(npumem_bo_import(o->device, fileno(file), &bo, &error), 0);
	assert_int_equal(npumem_bo_handle(bo), 30);
	assert_int_equal(npumem_bo_size(bo), 12288);
	assert_int_equal(npumem_bo_export(bo, false, &fd, &error), 0);
	assert_int_equal(fd, 31);
	assert_int_equal(fake.prime_flags, DRM_CLOEXEC);
	assert_int_equal(npumem_bo_export(bo, true, &fd, &error), 0);
	assert_int_equal(fake.prime_flags, DRM_CLOEXEC | DRM_RDWR);
	fake.prime_error = ENOSYS;
	assert_error(npumem_bo_export(bo, true, &fd, &error), -ENOSYS,
		     "cannot export a BO as a dma-buf: Function not implemented");
	npumem_bo_free(bo);
	assert_int_equal(fake.closed_handle, 30);
	assert_error(npumem_bo_import(o->device, 77, &bo, &error), -ENOSYS,
		     "cannot import descriptor 77 as a dma-buf: Function not implemented");
	/* Its size cannot be told: the handle is given back. */
	fake.prime_error = 0;
	fake.closed_handle = 0;
	assert_error(npumem_bo_import(o->device, -1, &bo, &error), -EBADF,
		     "cannot tell the size of dma-buf -1: Bad file descriptor");
	assert_int_equal(fake.closed_handle, 30);
	assert_error(npumem_bo_import(NULL, 0, &bo, &error), -EINVAL,
		     "npumem_bo_import: NULL argument");
	assert_error(npumem_bo_export(NULL, false, &fd, &error), -EINVAL,
		     "npumem_bo_export: NULL argument");
	fclose(file);
}

TEST_WITH(jobs, objects_setup, objects_teardown)
{
	struct drm_npumem_job expected = {
		.first_position = 4,
		.position_count = 2,
		.engine = 1,
		.commands = { (uintptr_t)"commands", 9 },
	};
	struct drm_npumem_job job =
		npumem_job_positions(1, 4, 2, (const void *)(uintptr_t)expected.commands.ptr, 9);

	assert_memory_equal(&job, &expected, sizeof(job));
	expected = (struct drm_npumem_job){ .first_position = 6, .flags = NPUMEM_JOB_EDGE };
	job = npumem_job_edge(6);
	assert_memory_equal(&job, &expected, sizeof(job));
}

static int full(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_RUN_CREATE ? ENOSPC : fake_default(request, argument);
}

static int wants_host(unsigned long request, void *argument)
{
	int err = fake_default(request, argument);

	if (request == DRM_IOCTL_NPUMEM_PLAN_READ)
		((struct drm_npumem_plan_read *)argument)->host_size = 4097;
	return err;
}

TEST_WITH(run_failures, objects_setup, objects_teardown)
{
	struct objects *o = *state;
	struct npumem_run *run;
	struct npumem_bo *bo;

	fake.handler = full;
	assert_error(npumem_run_new(o->plan, 0, NULL, &run, &error), -ENOSPC,
		     "cannot create a run with an arena of 5000 bytes in bank 0: No space left on "
		     "device (the carveout has no such range free)");
	fake.handler = fake_default;
	assert_int_equal(npumem_bo_new(o->device, 1, NPUMEM_BO_SYSTEM, 0, &bo, &error), 0);
	assert_error(npumem_run_new(o->plan, 0, bo, &run, &error), -EINVAL,
		     "a host BO was given, but the plan needs no system memory");
	fake.handler = wants_host;
	assert_error(npumem_run_new(o->plan, 0, bo, &run, &error), -EINVAL,
		     "the plan needs a host BO of 4097 bytes, 4096 were given");
	assert_error(npumem_run_new(o->plan, 0, NULL, &run, &error), -EINVAL,
		     "the plan needs a host BO of 4097 bytes, 0 were given");
	npumem_bo_free(bo);
	assert_int_equal(npumem_bo_new(o->device, 5000, NPUMEM_BO_SYSTEM, 0, &bo, &error), 0);
	assert_int_equal(npumem_run_new(o->plan, 0, bo, &run, &error), 0);
	npumem_run_free(run);
	npumem_bo_free(bo);
}

static int keeps_state(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_RUN_CREATE ? EOPNOTSUPP :
							fake_default(request, argument);
}

static int no_turn(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_RUN_TURN ? ENOLCK : fake_default(request, argument);
}

TEST_WITH(run_shared, objects_setup, objects_teardown)
{
	const struct drm_npumem_run_create *create = (const void *)fake.before;
	const struct drm_npumem_run_turn *turn = (const void *)fake.before;
	struct npumem_device *other = fake_device();
	struct objects *o = *state;
	struct npumem_bo *arena, *theirs;
	struct npumem_run *run;

	assert_int_equal(npumem_bo_new(o->device, 8192, NPUMEM_BO_SHARED, 0, &arena, &error), 0);
	assert_int_equal(npumem_run_new_shared(o->plan, arena, NULL, &run, &error), 0);
	assert_int_equal(create->flags, NPUMEM_RUN_CREATE_SHARED);
	assert_int_equal(create->bank, 0);
	assert_int_equal(create->arena_bo, 5);
	assert_int_equal(create->host_bo, 0);
	assert_ptr_equal(npumem_run_arena(run), arena);

	/* A wait that is interrupted goes on with the same deadline. */
	fake.interrupts = 2;
	assert_int_equal(npumem_run_begin_turn(run, 77, &error), 0);
	assert_int_equal(turn->run, 10);
	assert_int_equal(turn->flags, NPUMEM_TURN_BEGIN);
	assert_int_equal(turn->deadline_ns, 77);
	assert_int_equal(npumem_run_end_turn(run, &error), 0);
	assert_int_equal(turn->run, 10);
	assert_int_equal(turn->flags, NPUMEM_TURN_END);
	assert_int_equal(turn->deadline_ns, 0);
	fake.handler = no_turn;
	assert_error(npumem_run_end_turn(run, &error), -ENOLCK,
		     "cannot end the turn of a run: No locks available (the arena is shared, and "
		     "it is not the turn of the run)");
	assert_error(npumem_run_begin_turn(run, 0, &error), -ENOLCK,
		     "cannot begin the turn of a run: No locks available (the arena is shared, "
		     "and it is not the turn of the run)");
	assert_error(npumem_run_begin_turn(NULL, 0, &error), -EINVAL,
		     "npumem_run_begin_turn: NULL argument");
	assert_error(npumem_run_end_turn(NULL, &error), -EINVAL,
		     "npumem_run_end_turn: NULL argument");
	/* The arena is the caller's. */
	fake.closed_handle = 0;
	npumem_run_free(run);
	assert_int_equal(fake.closed_handle, 0);

	fake.handler = keeps_state;
	assert_error(npumem_run_new_shared(o->plan, arena, NULL, &run, &error), -EOPNOTSUPP,
		     "a plan with state in its arena cannot share one: make the state external");
	fake.handler = full;
	assert_error(npumem_run_new_shared(o->plan, arena, NULL, &run, &error), -ENOSPC,
		     "cannot create a run of 5000 bytes in a shared arena of 8192: No space left "
		     "on device (the carveout has no such range free)");
	fake.handler = wants_host;
	assert_error(npumem_run_new_shared(o->plan, arena, NULL, &run, &error), -EINVAL,
		     "the plan needs a host BO of 4097 bytes, 0 were given");
	fake.handler = fake_default;
	assert_int_equal(npumem_bo_new(other, 8192, NPUMEM_BO_SHARED, 0, &theirs, &error), 0);
	assert_error(npumem_run_new_shared(o->plan, theirs, NULL, &run, &error), -EINVAL,
		     "the arena is of another open device file: import it");
	assert_error(npumem_run_new_shared(o->plan, NULL, NULL, &run, &error), -EINVAL,
		     "npumem_run_new_shared: NULL argument");
	assert_error(npumem_run_new_shared(NULL, arena, NULL, &run, &error), -EINVAL,
		     "npumem_run_new_shared: NULL argument");
	npumem_bo_free(theirs);
	npumem_bo_free(arena);
	npumem_device_close(other);
}

TEST_WITH(submit, objects_setup, objects_teardown)
{
	const struct drm_npumem_job jobs[2] = { { .position_count = 1 } };
	const struct drm_npumem_sync in = { .handle = 1 }, out = { .handle = 2 };
	struct npumem_submit submit = {
		.jobs = jobs,
		.job_count = 2,
		.in_syncs = &in,
		.in_count = 1,
		.out_syncs = &out,
		.out_count = 1,
	};
	struct drm_npumem_submit *args = (void *)fake.before;
	struct objects *o = *state;

	assert_int_equal(npumem_run_submit(o->run, &submit, &error), 0);
	assert_int_equal(submit.failed_job, NPUMEM_NONE);
	assert_int_equal(args->run, 10);
	assert_int_equal(args->jobs.stride, sizeof(jobs[0]));
	assert_int_equal(args->jobs.count, 2);
	assert_int_equal(args->jobs.ptr, (uintptr_t)jobs);
	assert_int_equal(args->in_syncs.ptr, (uintptr_t)&in);
	assert_int_equal(args->out_syncs.ptr, (uintptr_t)&out);
	assert_int_equal(args->out_syncs.stride, sizeof(out));

	/* Empty arrays are zero, as the driver wants them. */
	submit.in_count = 0;
	submit.out_count = 0;
	assert_int_equal(npumem_run_submit(o->run, &submit, &error), 0);
	assert_int_equal(args->in_syncs.stride, 0);
	assert_int_equal(args->in_syncs.ptr, 0);
	assert_int_equal(args->out_syncs.ptr, 0);

	submit.job_count = 0;
	assert_error(npumem_run_submit(o->run, &submit, &error), -EINVAL,
		     "no job was given to submit");
	submit.job_count = 2;
	submit.in_count = 1;
	submit.in_syncs = NULL;
	assert_error(npumem_run_submit(o->run, &submit, &error), -EINVAL,
		     "npumem_run_submit: NULL argument");
}

static int retired(unsigned long request, void *argument)
{
	struct drm_npumem_submit *args = argument;
	struct npumem_verdict verdict = no_verdict;

	if (request != DRM_IOCTL_NPUMEM_SUBMIT)
		return fake_default(request, argument);
	args->failed_job = 1;
	verdict.rule = NPUMEM_RULE_ENFORCE_READ;
	verdict.step = 4;
	verdict.tile = 2;
	fake_give(&args->verdict, &verdict, sizeof(verdict));
	return EPERM;
}

static int unbound(unsigned long request, void *argument)
{
	struct drm_npumem_submit *args = argument;
	struct npumem_verdict verdict = no_verdict;

	if (request != DRM_IOCTL_NPUMEM_SUBMIT)
		return fake_default(request, argument);
	args->failed_job = 1;
	verdict.rule = NPUMEM_RULE_ENFORCE_BIND;
	verdict.tensor = 3;
	fake_give(&args->verdict, &verdict, sizeof(verdict));
	return ENXIO;
}

static int no_engine(unsigned long request, void *argument)
{
	struct drm_npumem_submit *args = argument;

	if (request != DRM_IOCTL_NPUMEM_SUBMIT)
		return fake_default(request, argument);
	args->failed_job = 1;
	return EUNATCH;
}

static int lost(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_SUBMIT ? EIO : fake_default(request, argument);
}

TEST_WITH(submit_refused, objects_setup, objects_teardown)
{
	const struct drm_npumem_job jobs[2] = { { .position_count = 1 } };
	struct npumem_submit submit = { .jobs = jobs, .job_count = 2 };
	struct objects *o = *state;

	fake.handler = retired;
	assert_error(npumem_run_submit(o->run, &submit, &error), -EPERM,
		     "job 1 was refused: rule \"read of a tile that is not live\", step 4, tile 2");
	assert_int_equal(submit.failed_job, 1);
	assert_int_equal(error.verdict.step, 4);
	fake.handler = unbound;
	assert_error(npumem_run_submit(o->run, &submit, &error), -ENXIO,
		     "job 1 was refused: rule \"external tensor that is not bound\", tensor 3");
	fake.handler = no_engine;
	assert_error(npumem_run_submit(o->run, &submit, &error), -EUNATCH,
		     "cannot accept job 1: Protocol driver not attached (no process is attached to "
		     "the slot of the engine)");
	assert_int_equal(submit.failed_job, 1);
	fake.handler = lost;
	assert_error(npumem_run_submit(o->run, &submit, &error), -EIO,
		     "cannot accept the submission: Input/output error (an earlier job of the run "
		     "failed; reset the run)");
	assert_int_equal(submit.failed_job, NPUMEM_NONE);
}

/* Callers whose headers are older or newer than the library. */
TEST_WITH(sized, objects_setup, objects_teardown)
{
	struct {
		struct npumem_request now;
		uint64_t later;
	} request = { .now = { .planner = "nnc", .deadline = npumem_deadline(1000000) } };
	struct drm_npumem_job job = npumem_job_positions(0, 0, 2, NULL, 0);
	struct {
		struct npumem_submit now;
		uint64_t later;
	} submit = { .now = { .jobs = &job, .job_count = 1 } };
	struct {
		struct npumem_run_stats now;
		uint64_t later;
	} run = { .later = 5 };
	struct {
		struct npumem_plan_stats now;
		uint64_t later;
	} plan = { .later = 5 };
	struct objects *o = *state;
	struct npumem_plan *pending;

	assert_int_equal(npumem_plan_request_sized(o->graph, &request.now, sizeof(request),
						   &pending, &error),
			 0);
	npumem_plan_free(pending);
	request.later = 1;
	assert_error(
		npumem_plan_request_sized(o->graph, &request.now, sizeof(request), &pending,
					  &error),
		-E2BIG,
		"the plan request is of a version later than this library's, " NPUMEM_PACKAGE_VERSION);
	assert_int_equal(npumem_run_submit_sized(o->run, &submit.now, sizeof(submit), &error), 0);
	submit.later = 1;
	assert_error(
		npumem_run_submit_sized(o->run, &submit.now, sizeof(submit), &error), -E2BIG,
		"the submission is of a version later than this library's, " NPUMEM_PACKAGE_VERSION);
	assert_error(npumem_run_submit_sized(o->run, &submit.now, 8, &error), -EINVAL,
		     "npumem_run_submit: 8 bytes are too few");

	/* What the library does not know is zero; what the caller does not know stays. */
	assert_int_equal(npumem_run_get_stats_sized(o->run, &run.now, sizeof(run), &error), 0);
	assert_int_equal(run.now.fill_bytes, 4);
	assert_int_equal(run.later, 0);
	run.now.fill_bytes = 99;
	assert_int_equal(npumem_run_get_stats_sized(o->run, &run.now,
						    offsetof(struct npumem_run_stats, fill_bytes),
						    &error),
			 0);
	assert_int_equal(run.now.store_bytes, 3);
	assert_int_equal(run.now.fill_bytes, 99);
	assert_int_equal(npumem_plan_get_stats_sized(o->plan, &plan.now, sizeof(plan), &error), 0);
	assert_int_equal(plan.now.arena_size, 5000);
	assert_int_equal(plan.later, 0);
}
