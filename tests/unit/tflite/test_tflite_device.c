// SPDX-License-Identifier: MIT
/* The driver as enforcer, with a stand-in for the driver: what it is asked, and what it refuses. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enforcer.h"
#include "npumem_fake.h"
#include "said.h"

/*
 * struct driver - what the stand-in does; @refused: ioctl that ends with @errnum; @options: bytes
 * of those of the last request
 */
static struct {
	unsigned long refused;
	int errnum;
	const char *engine;
	bool daemon;
	unsigned int resets;
	uint32_t positions[4];
	unsigned int submitted;
	uint64_t options;
} driver;

static char node[] = "/tmp/npumem-node-XXXXXX";

static void query(const struct drm_npumem_dev_query *args)
{
	void *record = (void *)(uintptr_t)args->answer.ptr;

	if (!record || !args->answer.size)
		return;
	if (args->type == NPUMEM_QUERY_INFO)
		((struct drm_npumem_info *)record)->daemon = driver.daemon;
	if (args->type == NPUMEM_QUERY_ENGINES)
		snprintf(((struct drm_npumem_engine *)record)->name,
			 sizeof(((struct drm_npumem_engine *)record)->name), "%s", driver.engine);
}

static void submit(const struct drm_npumem_submit *args)
{
	const struct drm_npumem_job *jobs = (const void *)(uintptr_t)args->jobs.ptr;

	assert_int_equal(args->jobs.count, 1);
	assert_int_equal(jobs[0].position_count, 1);
	driver.positions[driver.submitted++ % 4] = jobs[0].first_position;
}

static int handle(unsigned long request, void *argument)
{
	int err;

	if (request == driver.refused)
		return driver.errnum;
	err = fake_default(request, argument);
	if (request == DRM_IOCTL_NPUMEM_DEV_QUERY)
		query(argument);
	if (request == DRM_IOCTL_NPUMEM_RUN_QUERY)
		((struct drm_npumem_run_query *)argument)->error = 0;
	if (request == DRM_IOCTL_NPUMEM_SUBMIT)
		submit(argument);
	driver.resets += request == DRM_IOCTL_NPUMEM_RUN_RESET;
	return err;
}

static int setup(void **state)
{
	int fd = mkstemp(node);

	if (fd < 0 || ftruncate(fd, 1 << 16))
		return -1;
	close(fd);
	fake_reset();
	memset(&driver, 0, sizeof(driver));
	driver.engine = "sim";
	driver.daemon = true;
	fake.handler = handle;
	return 0;
}

static int teardown(void **state)
{
	unlink(node);
	memcpy(node + sizeof(node) - 7, "XXXXXX", 6);
	return 0;
}

/* A graph of two steps. */
static struct blobs graph(void)
{
	const struct npumem_region whole = npumem_region_whole(64);
	struct npumem_builder *builder = npumem_builder_new();
	struct blobs blobs = { 0 };

	for (uint32_t t = 0; t < 3; t++) {
		const struct npumem_tensor_args tensor = {
			.size = 64,
			.kind = t == 2 ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE
		};

		assert_int_equal(npumem_builder_add_tensor(builder, &tensor, NULL), t);
		assert_int_equal(npumem_builder_add_tile(builder, t, &whole, NULL), t);
	}
	for (uint32_t t = 1; t < 3; t++) {
		const struct npumem_access accesses[] = {
			{ .tile = t - 1,
			  .mode = t == 1 ? NPUMEM_ACCESS_WRITE : NPUMEM_ACCESS_READ,
			  .inplace = NPUMEM_NONE },
			{ .tile = t, .mode = NPUMEM_ACCESS_WRITE, .inplace = NPUMEM_NONE },
		};

		npumem_builder_add_step(builder, "step", 0, 0, accesses, 2, NULL);
	}
	assert_int_equal(npumem_builder_finish(builder, &blobs.graph, &blobs.graph_size, NULL), 0);
	npumem_builder_free(builder);
	return blobs;
}

static void free_blobs(struct blobs *blobs)
{
	free(blobs->graph);
	free(blobs->plan);
}

static void open_refused(struct options *options, int code, const char *text)
{
	struct enforcer *enforcer = NULL;
	struct why why;

	assert_int_equal(device_open(options, &enforcer, &why), code);
	assert_string_equal(why.text, text);
}

TEST_WITH(no_engine, setup, teardown)
{
	struct options options = { .device = node };
	char text[200];

	driver.engine = "npu";
	snprintf(text, sizeof(text), "%s has no engine \"sim\", version 1", node);
	open_refused(&options, -ENOENT, text);
}

TEST_WITH(no_daemon, setup, teardown)
{
	struct options options = { .device = node, .fallback = FALLBACK_ERROR };
	char text[200];

	driver.daemon = false;
	snprintf(text, sizeof(text), "%s has no planning daemon (start npumemd)", node);
	open_refused(&options, -ENOTCONN, text);
	options.fallback = FALLBACK_ASIDE;
	open_refused(&options, -ENOTCONN, text);
}

TEST_WITH(no_driver, setup, teardown)
{
	struct options options = { .device = node };
	char text[200];

	fake.name = "other";
	snprintf(text, sizeof(text), "%s is not an npumem device", node);
	open_refused(&options, -ENOENT, text);
	fake.name = NULL;
	open_refused(&options, -ENOENT, text);
}

/* The plan is made here, and is as good as any. */
static void check_planned_here(int errnum)
{
	struct options options = { .device = node };
	struct blobs blobs = graph();
	struct enforcer *enforcer;
	struct said said;
	struct why why;
	char *text;

	assert_int_equal(device_open(&options, &enforcer, &why), 0);
	driver.refused = DRM_IOCTL_NPUMEM_PLAN_REQUEST;
	driver.errnum = errnum;
	said_begin(&said);
	assert_int_equal(enforcer->ops->plan(enforcer, &blobs, &why), 0);
	text = said_end(&said);
	assert_non_null(strstr(text, ": planned in this process, enforced by the driver\n"));
	assert_non_null(blobs.plan);
	free(text);
	free_blobs(&blobs);
	enforcer->ops->free(enforcer);
}

TEST_WITH(planned_without_daemon, setup, teardown)
{
	check_planned_here(ENOTCONN);
}

/* It died before it answered. */
TEST_WITH(planned_when_the_daemon_is_gone, setup, teardown)
{
	check_planned_here(ECONNRESET);
}

TEST_WITH(planning_fails, setup, teardown)
{
	struct options options = { .device = node };
	struct blobs blobs = graph();
	struct enforcer *enforcer;
	struct why why;

	assert_int_equal(device_open(&options, &enforcer, &why), 0);
	driver.refused = DRM_IOCTL_NPUMEM_PLAN_REQUEST;
	driver.errnum = EBUSY;
	assert_int_equal(enforcer->ops->plan(enforcer, &blobs, &why), -EBUSY);
	assert_non_null(strstr(why.text, "Device or resource busy"));
	assert_null(blobs.plan);
	free_blobs(&blobs);
	enforcer->ops->free(enforcer);
}

TEST_WITH(each_step_is_a_job, setup, teardown)
{
	struct options options = { .device = node };
	struct blobs blobs = graph();
	struct enforcer *enforcer;
	struct enforced *enforced;
	struct npumem_maps maps;
	struct why why;

	assert_int_equal(device_open(&options, &enforcer, &why), 0);
	assert_int_equal(enforcer->ops->plan(enforcer, &blobs, &why), 0);
	assert_int_equal(enforcer->ops->start(enforcer, &blobs, &enforced, &maps, &why), 0);
	*(uint8_t *)maps.arena = 1;
	assert_null(maps.host);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(enforcer->ops->begin(enforced, &why), 0);
		assert_int_equal(enforcer->ops->step(enforced, 0, &why), 0);
		assert_int_equal(enforcer->ops->step(enforced, 1, &why), 0);
	}
	assert_int_equal(driver.submitted, 4);
	assert_int_equal(driver.positions[2], 0);
	assert_int_equal(driver.positions[3], 1);
	/* The run is new the first time. */
	assert_int_equal(driver.resets, 1);
	driver.refused = DRM_IOCTL_NPUMEM_SUBMIT;
	driver.errnum = EPERM;
	assert_int_equal(enforcer->ops->step(enforced, 0, &why), -EPERM);
	driver.refused = DRM_IOCTL_NPUMEM_RUN_RESET;
	driver.errnum = EBUSY;
	assert_int_equal(enforcer->ops->begin(enforced, &why), -EBUSY);
	enforcer->ops->stop(enforced);
	free_blobs(&blobs);
	enforcer->ops->free(enforcer);
}

/* What a child finds: nothing of the parent's, and a refusal of all that needs it. */
static void be_child(struct enforcer *enforcer, struct enforced *enforced, uint8_t *arena)
{
	static const char text[] =
		"the plan is of the process that this one was forked from: here it "
		"takes another interpreter with another delegate";
	struct blobs blobs = graph();
	void *plan = NULL;
	size_t size;
	struct why why;
	bool good = arena[0] == 1;

	arena[0] = 2;
	good = good && enforcer->ops->begin(enforced, &why) == -ECHILD && !strcmp(why.text, text);
	good = good && enforcer->ops->bind(enforced, 0, -1, 0, &why) == -ECHILD &&
	       !strcmp(why.text, text);
	good = good && enforcer->ops->plan(enforcer, &blobs, &why) == -ECHILD &&
	       !strcmp(why.text, text);
	good = good && enforcer->ops->improved(enforced, &plan, &size, &why) == -ECHILD &&
	       !strcmp(why.text, text) && !plan;
	enforcer->ops->stop(enforced);
	free_blobs(&blobs);
	enforcer->ops->free(enforcer);
	_exit(good ? 0 : 1);
}

TEST_WITH(a_child_has_nothing_of_its_parents, setup, teardown)
{
	struct options options = { .device = node };
	struct blobs blobs = graph();
	struct enforcer *enforcer;
	struct enforced *enforced;
	struct npumem_maps maps;
	struct why why;
	int status = 1;
	pid_t pid;

	assert_int_equal(device_open(&options, &enforcer, &why), 0);
	assert_int_equal(enforcer->ops->plan(enforcer, &blobs, &why), 0);
	assert_int_equal(enforcer->ops->start(enforcer, &blobs, &enforced, &maps, &why), 0);
	*(uint8_t *)maps.arena = 1;
	pid = fork();
	if (!pid)
		be_child(enforcer, enforced, maps.arena);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(*(uint8_t *)maps.arena, 1);
	assert_int_equal(enforcer->ops->begin(enforced, &why), 0);
	assert_int_equal(enforcer->ops->step(enforced, 0, &why), 0);
	enforcer->ops->stop(enforced);
	/* Of a run that is given up there is nothing to take from a child. */
	pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	free_blobs(&blobs);
	enforcer->ops->free(enforcer);
}

/* What was loaded has handle 8, what is asked for 9, and the daemon's plan is the smaller one. */
static int improving(unsigned long request, void *argument)
{
	int err = handle(request, argument);

	if (request == DRM_IOCTL_NPUMEM_PLAN_READ &&
	    ((struct drm_npumem_plan_read *)argument)->handle == 9)
		((struct drm_npumem_plan_read *)argument)->arena_size = 4000;
	if (request == DRM_IOCTL_NPUMEM_PLAN_REQUEST)
		driver.options = ((struct drm_npumem_plan_request *)argument)->options.size;
	return err;
}

/* Until something has come of asking, every now and then. */
static int follow(struct enforcer *enforcer, struct enforced *enforced, void **plan,
		  struct why *why)
{
	size_t size;

	for (int i = 0; i < 30000; i++) {
		int err = enforcer->ops->improved(enforced, plan, &size, why);

		if (err || *plan)
			return err;
		usleep(10000);
	}
	return -ETIMEDOUT;
}

TEST_WITH(better_plans_are_asked_for, setup, teardown)
{
	struct options options = { .device = node, .follow = 1 };
	struct blobs blobs = graph();
	struct enforcer *enforcer;
	struct enforced *enforced;
	struct npumem_maps maps;
	struct why why;
	void *plan;

	fake.handler = improving;
	assert_int_equal(device_open(&options, &enforcer, &why), 0);
	driver.options = 1;
	assert_int_equal(enforcer->ops->plan(enforcer, &blobs, &why), 0);
	/* A search that npumemd makes later has no limit of work. */
	assert_int_equal(driver.options, 0);
	assert_int_equal(enforcer->ops->start(enforcer, &blobs, &enforced, &maps, &why), 0);
	assert_int_equal(follow(enforcer, enforced, &plan, &why), 0);
	assert_string_equal(plan, "a plan blob");
	free(plan);
	driver.refused = DRM_IOCTL_NPUMEM_PLAN_REQUEST;
	driver.errnum = ENOTCONN;
	assert_int_equal(follow(enforcer, enforced, &plan, &why), -ENOTCONN);
	assert_ptr_equal(strstr(why.text, "cannot request a plan: "), why.text);
	enforcer->ops->stop(enforced);
	enforcer->ops->free(enforcer);
	/* Who does not follow waits for the answer, whose search has one. */
	driver.refused = 0;
	options.follow = 0;
	free_blobs(&blobs);
	blobs = graph();
	assert_int_equal(device_open(&options, &enforcer, &why), 0);
	assert_int_equal(enforcer->ops->plan(enforcer, &blobs, &why), 0);
	assert_true(driver.options > 0);
	free_blobs(&blobs);
	enforcer->ops->free(enforcer);
}

static void start_refused(unsigned long request, int errnum)
{
	struct options options = { .device = node };
	struct blobs blobs = graph();
	struct enforced *enforced = NULL;
	struct enforcer *enforcer;
	struct npumem_maps maps;
	struct why why;

	driver.refused = 0;
	assert_int_equal(device_open(&options, &enforcer, &why), 0);
	assert_int_equal(enforcer->ops->plan(enforcer, &blobs, &why), 0);
	driver.refused = request;
	driver.errnum = errnum;
	assert_int_equal(enforcer->ops->start(enforcer, &blobs, &enforced, &maps, &why), -errnum);
	assert_ptr_equal(strstr(why.text, "the driver refuses the plan: "), why.text);
	assert_null(enforced);
	free_blobs(&blobs);
	enforcer->ops->free(enforcer);
}

TEST_WITH(sessions_that_do_not_start, setup, teardown)
{
	start_refused(DRM_IOCTL_NPUMEM_GRAPH_CREATE, EINVAL);
	start_refused(DRM_IOCTL_NPUMEM_PLAN_LOAD, EINVAL);
	start_refused(DRM_IOCTL_NPUMEM_RUN_CREATE, ENOSPC);
	start_refused(DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, ENOMEM);
}

/* The buffer before is given up first: the driver has the same dma-buf only once. */
TEST_WITH(inputs_are_imported, setup, teardown)
{
	struct options options = { .device = node };
	struct blobs blobs = graph();
	struct enforcer *enforcer;
	struct enforced *enforced;
	struct npumem_maps maps;
	struct why why;
	int fd = open(node, O_RDWR | O_CLOEXEC);

	assert_int_equal(device_open(&options, &enforcer, &why), 0);
	assert_int_equal(enforcer->ops->plan(enforcer, &blobs, &why), 0);
	assert_int_equal(enforcer->ops->start(enforcer, &blobs, &enforced, &maps, &why), 0);
	for (int i = 0; i < 2; i++) {
		fake.closed_handle = 0;
		assert_int_equal(enforcer->ops->bind(enforced, 0, fd, 64, &why), 0);
		assert_int_equal(fake.closed_handle, i ? 30 : 0);
	}
	/* An inference that ended half-way is given up: it would still read what is bound. */
	assert_int_equal(enforcer->ops->begin(enforced, &why), 0);
	assert_int_equal(enforcer->ops->step(enforced, 0, &why), 0);
	assert_int_equal(driver.resets, 0);
	assert_int_equal(enforcer->ops->bind(enforced, 0, -1, 0, &why), 0);
	assert_int_equal(driver.resets, 1);
	assert_int_equal(enforcer->ops->begin(enforced, &why), 0);
	assert_int_equal(driver.resets, 1);
	fake.prime_error = EBADF;
	assert_int_equal(enforcer->ops->bind(enforced, 0, fd, 0, &why), -EBADF);
	fake.prime_error = 0;
	driver.refused = DRM_IOCTL_NPUMEM_RUN_BIND;
	driver.errnum = EINVAL;
	assert_int_equal(enforcer->ops->bind(enforced, 0, fd, 0, &why), -EINVAL);
	close(fd);
	enforcer->ops->stop(enforced);
	free_blobs(&blobs);
	enforcer->ops->free(enforcer);
}
