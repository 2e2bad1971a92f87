// SPDX-License-Identifier: MIT
/*
 * What a driver that is only pretended is asked for when its engines compute: jobs with the
 * commands of their steps, transfers, and parameters in BOs that delegates share.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "enforcer.h"
#include "npumem_command.h"
#include "npuplan.h"
#include "program.h"
#include "weights.h"

/* It has a variable by the name of many parameters. */
#include "npumem_fake.h"

#define BYTES	 64
#define STEPS	 2
/* The descriptor that the stand-in makes of all exported BOs. */
#define EXPORTED 31

/* struct asked - a job as it was submitted; @size: bytes of commands */
struct asked {
	uint32_t first, count, engine, size;
};

/*
 * struct driver - what the stand-in does
 * @refused: ioctl that ends with @errnum, the next @times times
 * @engines, @engine_count: what it has
 * @most_bytes: of commands that it takes at once
 * @jobs, @job_count: so far; @submits: calls that went well
 * @bos: that were made; @bound: offset of the tensor that was bound last
 */
static struct {
	unsigned long refused;
	int errnum;
	unsigned int times;
	struct drm_npumem_engine engines[3];
	unsigned int engine_count;
	uint64_t most_bytes;
	struct asked jobs[32];
	unsigned int job_count, submits, bos, binds, waits;
	uint64_t bound;
} driver;

static char node[] = "/tmp/npumem-jobs-XXXXXX";

static void query(struct drm_npumem_dev_query *args)
{
	char *record = (void *)(uintptr_t)args->answer.ptr;

	if (args->type == NPUMEM_QUERY_INFO && record)
		((struct drm_npumem_info *)(void *)record)->max_jobs = 4;
	if (args->type != NPUMEM_QUERY_ENGINES)
		return;
	for (unsigned int i = 0; i < driver.engine_count && record && args->answer.size; i++)
		memcpy(record + i * args->stride, &driver.engines[i], args->stride);
	args->answer.size = driver.engine_count * args->stride;
}

static int submit(const struct drm_npumem_submit *args)
{
	const struct drm_npumem_job *jobs = (const void *)(uintptr_t)args->jobs.ptr;
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < args->jobs.count; i++)
		bytes += jobs[i].commands.size;
	if (bytes > driver.most_bytes)
		return E2BIG;
	for (uint64_t i = 0; i < args->jobs.count; i++) {
		assert_true(driver.job_count < 32);
		driver.jobs[driver.job_count++] =
			(struct asked){ jobs[i].first_position, jobs[i].position_count,
					jobs[i].engine, (uint32_t)jobs[i].commands.size };
	}
	driver.submits++;
	return 0;
}

static int handle(unsigned long request, void *argument)
{
	int err;

	if (request == driver.refused && driver.times) {
		driver.times--;
		return driver.errnum;
	}
	err = fake_default(request, argument);
	if (request == DRM_IOCTL_NPUMEM_DEV_QUERY)
		query(argument);
	if (request == DRM_IOCTL_NPUMEM_RUN_QUERY)
		((struct drm_npumem_run_query *)argument)->error = 0;
	if (request == DRM_IOCTL_NPUMEM_PLAN_READ)
		((struct drm_npumem_plan_read *)argument)->host_size = 4096;
	/* The arena has other bytes than the other BOs, which have the same. */
	if (request == DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET &&
	    ((struct drm_npumem_bo_mmap_offset *)argument)->handle == 11)
		((struct drm_npumem_bo_mmap_offset *)argument)->offset = 1 << 15;
	if (request == DRM_IOCTL_NPUMEM_RUN_BIND)
		driver.bound = ((struct drm_npumem_run_bind *)argument)->offset;
	driver.bos += request == DRM_IOCTL_NPUMEM_BO_CREATE;
	driver.binds += request == DRM_IOCTL_NPUMEM_RUN_BIND;
	driver.waits += request == DRM_IOCTL_NPUMEM_BO_WAIT;
	return request == DRM_IOCTL_NPUMEM_SUBMIT ? submit(argument) : err;
}

static void add_engine(const char *name, uint32_t version, uint32_t flags)
{
	struct drm_npumem_engine *engine = &driver.engines[driver.engine_count];

	*engine = (struct drm_npumem_engine){ .index = driver.engine_count++,
					      .version = version,
					      .flags = flags };
	snprintf(engine->name, sizeof(engine->name), "%s", name);
}

/* Who closes the one closes all of them. */
static void make_exported(void)
{
	int fd = memfd_create("exported", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(dup2(fd, EXPORTED), EXPORTED);
	close(fd);
}

static int setup(void **state)
{
	int fd = mkstemp(node);

	if (fd < 0 || ftruncate(fd, 1 << 16))
		return -1;
	close(fd);
	make_exported();
	fake_reset();
	memset(&driver, 0, sizeof(driver));
	driver.most_bytes = UINT64_MAX;
	add_engine("sim", 1, NPUMEM_ENGINE_TRANSFERS);
	add_engine("npumem-engine", NPUMEM_COMMAND_VERSION,
		   NPUMEM_ENGINE_TRANSFERS | NPUMEM_ENGINE_PROCESS);
	fake.handler = handle;
	return 0;
}

static int teardown(void **state)
{
	close(EXPORTED);
	unlink(node);
	memcpy(node + sizeof(node) - 7, "XXXXXX", 6);
	return 0;
}

/* ------------------------------------------------------------------------ programs */

/*
 * struct world - two steps that read a parameter each, and the first one an input in host memory
 * @weights: of the parameters
 */
struct world {
	struct options options;
	struct blobs blobs;
	struct npumem_layout *layout;
	struct program program;
	void *commands[STEPS];
	size_t sizes[STEPS];
	const void *bytes[5];
	uint8_t weights[2 * BYTES];
	struct enforcer *enforcer;
	struct enforced *enforced;
};

/* Tensors, whose tiles have the same numbers. */
enum { INPUT, FIRST_WEIGHTS, BETWEEN, SECOND_WEIGHTS, OUTPUT, TENSORS };

static void make_graph(struct world *w)
{
	static const uint32_t kinds[TENSORS] = { NPUMEM_TENSOR_INPUT, NPUMEM_TENSOR_PARAMETER,
						 NPUMEM_TENSOR_INTERMEDIATE,
						 NPUMEM_TENSOR_PARAMETER, NPUMEM_TENSOR_OUTPUT };
	const struct npumem_region whole = npumem_region_whole(BYTES);
	struct npumem_builder *builder = npumem_builder_new();

	for (uint32_t t = 0; t < TENSORS; t++) {
		const struct npumem_tensor_args tensor = {
			.size = BYTES,
			.kind = kinds[t],
			.flags = t == INPUT  ? NPUMEM_TENSOR_FLAG_HOST :
				 w->bytes[t] ? NPUMEM_TENSOR_FLAG_EXTERNAL :
					       0
		};

		npumem_builder_add_tensor(builder, &tensor, NULL);
		npumem_builder_add_tile(builder, t, &whole, NULL);
	}
	for (uint32_t s = 0; s < STEPS; s++) {
		const struct npumem_access accesses[] = {
			{ .tile = 2 * s, .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE },
			{ .tile = 2 * s + 1, .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE },
			{ .tile = 2 * s + 2, .mode = NPUMEM_ACCESS_WRITE, .inplace = NPUMEM_NONE },
		};

		npumem_builder_add_step(builder, "step", 0, 0, accesses, 3, NULL);
	}
	assert_int_equal(
		npumem_builder_finish(builder, &w->blobs.graph, &w->blobs.graph_size, NULL), 0);
	npumem_builder_free(builder);
}

static void make_world(struct world *w)
{
	static char cosma[] = "cosma";
	struct why why;

	memset(w, 0, sizeof(*w));
	w->options = (struct options){ .device = node, .engine = ENGINE_COMPUTE, .planner = cosma };
	memset(w->weights, 3, BYTES);
	memset(w->weights + BYTES, 4, BYTES);
	w->bytes[FIRST_WEIGHTS] = w->weights;
	w->bytes[SECOND_WEIGHTS] = w->weights + BYTES;
	make_graph(w);
	assert_int_equal(npuplan_graph_read(w->blobs.graph, w->blobs.graph_size, &w->program.graph,
					    NULL),
			 0);
	if (process_plan(&w->options, &w->blobs, &why))
		fail_msg("%s", why.text);
	assert_int_equal(npumem_layout_new(w->blobs.graph, w->blobs.graph_size, w->blobs.plan,
					   w->blobs.plan_size, &w->layout, NULL),
			 0);
	for (int s = 0; s < STEPS; s++) {
		w->commands[s] = w->weights;
		w->sizes[s] = s ? 32 : 16;
	}
	w->program.commands = w->commands;
	w->program.sizes = w->sizes;
	w->program.bytes = w->bytes;
}

static void open_world(struct world *w)
{
	struct npumem_maps maps = { 0 };
	struct why why;

	make_world(w);
	assert_int_equal(device_open(&w->options, &w->enforcer, &why), 0);
	assert_int_equal(w->enforcer->ops->start(w->enforcer, &w->blobs, &w->enforced, &maps, &why),
			 0);
	assert_non_null(maps.host);
}

static void close_world(struct world *w)
{
	if (w->enforced)
		w->enforcer->ops->stop(w->enforced);
	if (w->enforcer)
		w->enforcer->ops->free(w->enforcer);
	npumem_layout_free(w->layout);
	npuplan_graph_free(w->program.graph);
	free(w->blobs.graph);
	free(w->blobs.plan);
}

static int load(struct world *w, struct why *why)
{
	return w->enforcer->ops->load(w->enforced, &w->program, w->layout, why);
}

static void assert_job(unsigned int number, uint32_t first, uint32_t count, uint32_t engine,
		       uint32_t size)
{
	const struct asked *job = &driver.jobs[number];

	assert_int_equal(job->first, first);
	assert_int_equal(job->count, count);
	assert_int_equal(job->engine, engine);
	assert_int_equal(job->size, size);
}

/* ---------------------------------------------------------------------------- jobs */

/* What the plan has is what the tests below are about: a load, two steps, a store. */
#define POSITIONS 4

TEST_WITH(each_step_has_its_command, setup, teardown)
{
	struct world w;
	struct why why;

	open_world(&w);
	assert_int_equal(npumem_layout_count(w.layout, NPUMEM_PLAN_SECTION_SCHEDULE), POSITIONS);
	assert_int_equal(load(&w, &why), 0);
	assert_int_equal(driver.binds, 2);
	assert_int_equal(driver.bound, BYTES);
	for (int i = 0; i < 2; i++) {
		driver.job_count = 0;
		assert_int_equal(w.enforcer->ops->begin(w.enforced, &why), 0);
		assert_int_equal(w.enforcer->ops->run(w.enforced, &why), 0);
		assert_int_equal(driver.job_count, POSITIONS);
		assert_job(0, 0, 1, 0, 0);
		assert_job(1, 1, 1, 1, 16);
		assert_job(2, 2, 1, 1, 32);
		assert_job(3, 3, 1, 0, 0);
		assert_int_equal(driver.submits, i + 1);
	}
	close_world(&w);
}

/* Without another engine that moves tensors, the one that computes does. */
TEST_WITH(one_engine_for_all, setup, teardown)
{
	struct world w;
	struct why why;

	driver.engines[0].flags = 0;
	open_world(&w);
	assert_int_equal(load(&w, &why), 0);
	assert_int_equal(w.enforcer->ops->run(w.enforced, &why), 0);
	assert_job(0, 0, 1, 1, 0);
	close_world(&w);
}

TEST_WITH(fewer_at_once, setup, teardown)
{
	struct world w;
	struct why why;

	open_world(&w);
	assert_int_equal(load(&w, &why), 0);
	driver.most_bytes = 32;
	assert_int_equal(w.enforcer->ops->run(w.enforced, &why), 0);
	/* All four, then the first two, then the others. */
	assert_int_equal(driver.submits, 2);
	assert_int_equal(driver.job_count, POSITIONS);
	assert_job(3, 3, 1, 0, 0);
	/* A single one that is too much is too much. */
	driver.most_bytes = 8;
	driver.waits = 0;
	assert_int_equal(w.enforcer->ops->run(w.enforced, &why), -E2BIG);
	/* Others may be on their way. */
	assert_int_equal(driver.waits, 1);
	assert_non_null(strstr(why.text, "Argument list too long"));
	close_world(&w);
}

TEST_WITH(others_are_in_the_way, setup, teardown)
{
	struct world w;
	struct why why;

	open_world(&w);
	assert_int_equal(load(&w, &why), 0);
	driver.refused = DRM_IOCTL_NPUMEM_SUBMIT;
	driver.errnum = EBUSY;
	driver.times = 3;
	driver.waits = 0;
	assert_int_equal(w.enforcer->ops->run(w.enforced, &why), 0);
	assert_int_equal(driver.submits, 1);
	/* After each refusal, and at the end. */
	assert_int_equal(driver.waits, 4);
	close_world(&w);
}

TEST_WITH(jobs_are_refused, setup, teardown)
{
	struct world w;
	struct why why;

	open_world(&w);
	assert_int_equal(load(&w, &why), 0);
	driver.refused = DRM_IOCTL_NPUMEM_SUBMIT;
	driver.errnum = EUNATCH;
	driver.times = 1;
	assert_int_equal(w.enforcer->ops->run(w.enforced, &why), -EUNATCH);
	assert_non_null(strstr(why.text, "Protocol driver not attached"));
	driver.refused = DRM_IOCTL_NPUMEM_RUN_QUERY;
	driver.errnum = ENODEV;
	driver.times = 1;
	assert_int_equal(w.enforcer->ops->run(w.enforced, &why), -ENODEV);
	close_world(&w);
}

/* ------------------------------------------------------------------------- engines */

static void not_opened(void)
{
	struct options options = { .device = node, .engine = ENGINE_COMPUTE };
	struct enforcer *enforcer = NULL;
	char expected[200];
	struct why why;

	assert_int_equal(device_open(&options, &enforcer, &why), -ENOENT);
	snprintf(expected, sizeof(expected),
		 "%s has no engine \"npumem-engine\", version 1 (start npumem-engine)", node);
	assert_string_equal(why.text, expected);
}

TEST_WITH(no_engine, setup, teardown)
{
	driver.engine_count = 1;
	not_opened();
	driver.engine_count = 2;
	driver.engines[1].version = 77;
	not_opened();
}

static void start_refused(unsigned long request, int errnum)
{
	struct npumem_maps maps;
	struct world w;
	struct why why;

	make_world(&w);
	assert_int_equal(device_open(&w.options, &w.enforcer, &why), 0);
	driver.refused = request;
	driver.errnum = errnum;
	driver.times = 1;
	assert_int_equal(w.enforcer->ops->start(w.enforcer, &w.blobs, &w.enforced, &maps, &why),
			 -errnum);
	assert_ptr_equal(strstr(why.text, "the driver refuses the plan: "), why.text);
	assert_null(w.enforced);
	close_world(&w);
}

TEST_WITH(no_memory, setup, teardown)
{
	start_refused(DRM_IOCTL_NPUMEM_PLAN_READ, ENOMEM);
	start_refused(DRM_IOCTL_NPUMEM_BO_CREATE, ENOMEM);
	start_refused(DRM_IOCTL_NPUMEM_RUN_CREATE, ENOSPC);
}

/* ------------------------------------------------------------------------- weights */

static struct weights *weights_of(struct npumem_device *device, struct world *w)
{
	struct weights *weights = NULL;
	struct why why;

	if (weights_new(device, &w->program, &weights, &why))
		fail_msg("%s", why.text);
	return weights;
}

/* Once for two devices' objects; one object has one of its own each time. */
TEST_WITH(weights_are_shared, setup, teardown)
{
	struct npumem_device *a, *b;
	struct weights *first, *second, *third;
	struct world w;

	make_world(&w);
	assert_int_equal(npumem_device_open(node, &a, NULL), 0);
	assert_int_equal(npumem_device_open(node, &b, NULL), 0);
	first = weights_of(a, &w);
	assert_int_equal(driver.bos, 1);
	assert_true(fake.prime_flags & O_RDWR);
	second = weights_of(b, &w);
	assert_int_equal(driver.bos, 1);
	third = weights_of(a, &w);
	assert_int_equal(driver.bos, 2);
	weights_free(third);
	make_exported();
	weights_free(first);
	/* The one that is left still has them. */
	third = weights_of(a, &w);
	assert_int_equal(driver.bos, 2);
	weights_free(second);
	weights_free(third);
	close_world(&w);
	npumem_device_close(a);
	npumem_device_close(b);
}

TEST_WITH(other_weights_are_not, setup, teardown)
{
	struct npumem_device *a, *b;
	struct weights *first, *second;
	struct world w;

	make_world(&w);
	assert_int_equal(npumem_device_open(node, &a, NULL), 0);
	assert_int_equal(npumem_device_open(node, &b, NULL), 0);
	first = weights_of(a, &w);
	w.weights[BYTES + 5]++;
	second = weights_of(b, &w);
	assert_int_equal(driver.bos, 2);
	weights_free(second);
	weights_free(first);
	close_world(&w);
	npumem_device_close(a);
	npumem_device_close(b);
}

/* A BO that cannot be had from the other is made. */
TEST_WITH(not_imported, setup, teardown)
{
	struct npumem_device *a, *b;
	struct weights *first, *second = NULL;
	struct world w;
	struct why why;

	make_world(&w);
	assert_int_equal(npumem_device_open(node, &a, NULL), 0);
	assert_int_equal(npumem_device_open(node, &b, NULL), 0);
	first = weights_of(a, &w);
	fake.prime_error = EMFILE;
	assert_int_equal(weights_new(b, &w.program, &second, &why), -EMFILE);
	assert_int_equal(driver.bos, 2);
	assert_null(second);
	assert_string_equal(why.text,
			    "weights: cannot export a BO as a dma-buf: Too many open files");
	fake.prime_error = 0;
	weights_free(first);
	close_world(&w);
	npumem_device_close(a);
	npumem_device_close(b);
}

static void not_loaded(unsigned long request, int errnum, const char *text)
{
	struct world w;
	struct why why;

	open_world(&w);
	driver.refused = request;
	driver.errnum = errnum;
	driver.times = 1;
	assert_int_equal(load(&w, &why), -errnum);
	assert_ptr_equal(strstr(why.text, text), why.text);
	close_world(&w);
}

TEST_WITH(weights_refused, setup, teardown)
{
	not_loaded(DRM_IOCTL_NPUMEM_BO_CREATE, ENOSPC, "weights: ");
	not_loaded(DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, ENOMEM, "weights: ");
	not_loaded(DRM_IOCTL_NPUMEM_RUN_BIND, EACCES, "weights: ");
}

/* Of a program without parameters there is nothing to share. */
TEST_WITH(no_weights, setup, teardown)
{
	struct npumem_device *device;
	struct world w;

	make_world(&w);
	memset(w.bytes, 0, sizeof(w.bytes));
	assert_int_equal(npumem_device_open(node, &device, NULL), 0);
	assert_null(weights_of(device, &w));
	assert_int_equal(driver.bos, 0);
	close_world(&w);
	npumem_device_close(device);
}
