// SPDX-License-Identifier: MIT
/* libnpumem: engines in a process. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "npumem_serve.h"

/* Its global "error" is not to be shadowed in the headers of the library. */
#include "npumem_fake.h"

/*
 * What the driver does next.
 * @attach: arguments of ENGINE_ATTACH; @attach_error: positive errno
 * @next: arguments of NEXT as they came in, @answers what is said to each, one after the other
 * @slots: the second engine is one
 */
static struct {
	struct drm_npumem_engine_attach attach;
	int attach_error;
	struct npumem_engine_next next[4];
	int answers[4];
	uint32_t count;
	uint64_t alive;
	int alive_error;
	bool slots;
} driver;

static int engines(struct drm_npumem_dev_query *query)
{
	static const struct drm_npumem_engine list[] = {
		{ .flags = NPUMEM_ENGINE_TRANSFERS, .version = 1, .name = "sim" },
		{ .index = 1, .flags = NPUMEM_ENGINE_PROCESS, .name = "process" },
	};
	uint32_t size = driver.slots ? sizeof(list) : sizeof(list[0]);

	if (query->stride != sizeof(list[0]) || query->answer.size < size)
		return EINVAL;
	memcpy((void *)(uintptr_t)query->answer.ptr, list, size);
	query->answer.size = size;
	query->next = 0;
	return 0;
}

static int next(struct npumem_engine_next *args)
{
	uint32_t n = driver.count++;

	assert_in_range(n, 0, 3);
	driver.next[n] = *args;
	/* What the driver has taken it says, whatever comes of the rest. */
	if (driver.answers[n] != ESTALE && driver.answers[n] != EFAULT) {
		args->commit = 0;
		args->status = 0;
	}
	args->task = driver.answers[n] || args->flags & NPUMEM_NEXT_COMMIT_ONLY ? 0 : 100 + n;
	args->commands_offset = 64;
	args->commands_size = 5;
	args->access_count = 2;
	args->step = 3;
	args->position = 4;
	return driver.answers[n];
}

static int handle(unsigned long request, void *argument)
{
	struct drm_npumem_dev_query *query = argument;

	switch (request) {
	case DRM_IOCTL_NPUMEM_DEV_QUERY:
		return query->type == NPUMEM_QUERY_ENGINES ? engines(query) :
							     fake_default(request, argument);
	case DRM_IOCTL_NPUMEM_ENGINE_ATTACH:
		driver.attach = *(struct drm_npumem_engine_attach *)argument;
		((struct drm_npumem_engine_attach *)argument)->fd =
			driver.attach_error ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
		return driver.attach_error;
	case NPUMEM_IOCTL_ENGINE_NEXT:
		return next(argument);
	case NPUMEM_IOCTL_ENGINE_ALIVE:
		driver.alive = ((struct npumem_engine_alive *)argument)->task;
		return driver.alive_error;
	default:
		return fake_default(request, argument);
	}
}

static int setup(void **state)
{
	fake_reset();
	memset(&driver, 0, sizeof(driver));
	memset(&error, 0, sizeof(error));
	driver.slots = true;
	fake.handler = handle;
	*state = fake_device();
	return 0;
}

static int teardown(void **state)
{
	npumem_device_close(*state);
	return 0;
}

static const struct npumem_engine_args args = {
	.name = "mine",
	.window_size = 8192,
	.any_slot = 1,
	.version = 3,
};

TEST_WITH(attaches, setup, teardown)
{
	struct npumem_engine_args other = args;
	struct npumem_engine *engine;

	assert_int_equal(npumem_engine_new(*state, &args, &engine, &error), 0);
	assert_int_equal(driver.attach.engine, 1);
	assert_int_equal(driver.attach.flags, 0);
	assert_int_equal(driver.attach.window, 5);
	assert_int_equal(driver.attach.hang_ms, 10000);
	assert_int_equal(driver.attach.version, 3);
	assert_string_equal(driver.attach.name, "mine");
	assert_true(npumem_engine_fd(engine) >= 0);
	npumem_engine_free(engine);
	assert_int_equal(fake.closed_handle, 5);
	npumem_engine_free(NULL);
	assert_int_equal(npumem_engine_fd(NULL), -EINVAL);

	other.any_slot = 0;
	other.slot = 7;
	other.shared = 1;
	other.hang_ms = 20;
	assert_int_equal(npumem_engine_new(*state, &other, &engine, &error), 0);
	assert_int_equal(driver.attach.engine, 7);
	assert_int_equal(driver.attach.flags, NPUMEM_ATTACH_SHARED);
	assert_int_equal(driver.attach.hang_ms, 20);
	npumem_engine_free(engine);
}

TEST_WITH(is_refused, setup, teardown)
{
	struct npumem_engine_args other = args;
	struct npumem_engine *engine;

	assert_error(npumem_engine_new(*state, NULL, &engine, &error), -EINVAL,
		     "npumem_engine_new: NULL argument");
	other.name = "";
	assert_error(npumem_engine_new(*state, &other, &engine, &error), -EINVAL,
		     "an engine's name has 1 to 31 bytes");
	other.name = "more than thirty-one bytes of it";
	assert_error(npumem_engine_new(*state, &other, &engine, &error), -EINVAL,
		     "an engine's name has 1 to 31 bytes");
	driver.attach_error = EPERM;
	assert_error(npumem_engine_new(*state, &args, &engine, &error), -EPERM,
		     "an engine for everybody sees everybody's tiles: attaching it takes "
		     "CAP_SYS_ADMIN");
	driver.attach_error = EBUSY;
	assert_error(npumem_engine_new(*state, &args, &engine, &error), -EBUSY,
		     "an engine is attached to slot 1 already");
	driver.attach_error = EMFILE;
	assert_error(npumem_engine_new(*state, &args, &engine, &error), -EMFILE,
		     "cannot attach engine mine to slot 1: Too many open files");
	driver.slots = false;
	assert_error(npumem_engine_new(*state, &args, &engine, &error), -ENODEV,
		     "the device has no slot that a process could attach to (module parameter "
		     "process_engines)");
}

/* What a task of a later version of the struct has besides is zero. */
TEST_WITH(serves, setup, teardown)
{
	struct npumem_engine_task task;
	struct npumem_engine *engine;

	assert_int_equal(npumem_engine_new(*state, &args, &engine, &error), 0);
	assert_int_equal(npumem_engine_fetch(engine, 0, 55, &task, &error), 0);
	assert_int_equal(driver.next[0].commit, 0);
	assert_int_equal(driver.next[0].deadline_ns, 55);
	assert_int_equal(task.id, 100);
	assert_int_equal(task.step, 3);
	assert_int_equal(task.position, 4);
	assert_int_equal(task.access_count, 2);
	assert_int_equal(task.commands_size, 5);
	assert_ptr_equal(task.commands, (char *)task.window + 64);
	assert_ptr_equal(task.accesses, task.window);
	assert_int_equal(npumem_engine_keep_alive(engine, &error), 0);
	assert_int_equal(driver.alive, 100);
	/* The one before is committed, as it ended. */
	assert_int_equal(npumem_engine_fetch(engine, -EILSEQ, 0, &task, &error), 0);
	assert_int_equal(driver.next[1].commit, 100);
	assert_int_equal(driver.next[1].status, EILSEQ);
	driver.answers[2] = ETIMEDOUT;
	assert_error(npumem_engine_fetch(engine, 0, 0, &task, &error), -ETIMEDOUT,
		     "there was no task in time");
	assert_int_equal(driver.next[2].commit, 101);
	/* It was taken all the same; a status of no task is nothing. */
	assert_int_equal(npumem_engine_fetch(engine, -EIO, 0, &task, &error), 0);
	assert_int_equal(driver.next[3].commit, 0);
	assert_int_equal(driver.next[3].status, 0);
	npumem_engine_free(engine);
}

TEST_WITH(goes_on, setup, teardown)
{
	struct npumem_engine_task task;
	struct npumem_engine *engine;

	assert_int_equal(npumem_engine_new(*state, &args, &engine, &error), 0);
	assert_int_equal(npumem_engine_fetch(engine, 0, 0, &task, &error), 0);
	/* The job failed meanwhile; then a signal. */
	driver.answers[1] = ESTALE;
	driver.answers[2] = EINTR;
	assert_int_equal(npumem_engine_fetch(engine, -EIO, 77, &task, &error), 0);
	assert_int_equal(driver.count, 4);
	assert_int_equal(driver.next[1].commit, 100);
	assert_int_equal(driver.next[2].commit, 0);
	assert_int_equal(driver.next[2].status, 0);
	assert_int_equal(driver.next[3].commit, 0);
	assert_int_equal(driver.next[3].deadline_ns, 77);
	assert_int_equal(task.id, 103);
	npumem_engine_free(engine);
}

TEST_WITH(ends, setup, teardown)
{
	struct npumem_engine_task task;
	struct npumem_engine *engine;

	assert_int_equal(npumem_engine_new(*state, &args, &engine, &error), 0);
	/* Nothing is in its hands: there is nothing to be said. */
	assert_int_equal(npumem_engine_fetch(engine, 0, 0, NULL, &error), 0);
	assert_int_equal(driver.count, 0);
	assert_int_equal(npumem_engine_fetch(engine, 0, 0, &task, &error), 0);
	assert_int_equal(driver.next[0].flags, 0);
	assert_int_equal(npumem_engine_fetch(engine, 0, 0, NULL, &error), 0);
	assert_int_equal(driver.next[1].commit, 100);
	assert_int_equal(driver.next[1].flags, NPUMEM_NEXT_COMMIT_ONLY);
	assert_int_equal(npumem_engine_fetch(engine, 0, 0, NULL, &error), 0);
	assert_int_equal(driver.count, 2);
	/* It has failed meanwhile. */
	assert_int_equal(npumem_engine_fetch(engine, 0, 0, &task, &error), 0);
	driver.answers[3] = ESTALE;
	assert_int_equal(npumem_engine_fetch(engine, 0, 0, NULL, &error), 0);
	assert_int_equal(driver.count, 4);
	npumem_engine_free(engine);
}

TEST_WITH(is_detached, setup, teardown)
{
	struct npumem_engine_task task;
	struct npumem_engine *engine;

	assert_int_equal(npumem_engine_new(*state, &args, &engine, &error), 0);
	assert_error(npumem_engine_fetch(engine, 5, 0, &task, &error), -EINVAL,
		     "npumem_engine_fetch: status 5");
	assert_error(npumem_engine_fetch(NULL, 0, 0, &task, &error), -EINVAL,
		     "npumem_engine_fetch: NULL argument");
	driver.answers[0] = ENODEV;
	assert_error(npumem_engine_fetch(engine, 0, 0, &task, &error), -ENODEV,
		     "the engine is detached: the device is gone, or it took too long");
	driver.answers[1] = EFAULT;
	assert_error(npumem_engine_fetch(engine, 0, 0, &task, &error), -EFAULT,
		     "cannot fetch a task: Bad address");
	driver.alive_error = ESTALE;
	assert_error(npumem_engine_keep_alive(engine, &error), -ESTALE,
		     "cannot tell the driver that the engine lives: Stale file handle");
	npumem_engine_free(engine);
}
