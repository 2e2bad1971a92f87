// SPDX-License-Identifier: MIT
/* libnpumem: devices, the ioctl wrapper, buffers, syncobjs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "npumem_fake.h"
#include "unit.h"

static int setup(void **state)
{
	fake_reset();
	memset(&error, 0, sizeof(error));
	*state = fake_device();
	fake.calls = 0;
	return 0;
}

static int teardown(void **state)
{
	npumem_device_close(*state);
	return 0;
}

/* ----------------------------------------------------------------- devices */

TEST_WITH(other_driver, setup, teardown)
{
	struct npumem_device *device;

	fake.name = "vc4";
	assert_error(npumem_device_from_fd(0, &device, &error), -ENODEV,
		     "the file descriptor is not an npumem device");
	fake.name = NULL;
	fake.unnamed = ENOTTY;
	assert_error(npumem_device_open("/dev/null", &device, &error), -ENODEV,
		     "/dev/null is not an npumem device");
}

/* It went between open() and the first question. */
TEST_WITH(gone_at_once, setup, teardown)
{
	struct npumem_device *device;

	fake.name = NULL;
	fake.unnamed = ENODEV;
	assert_error(npumem_device_open("/dev/null", &device, &error), -ENODEV,
		     "cannot ask /dev/null what it is: No such device (the device is gone)");
	assert_error(
		npumem_device_from_fd(0, &device, &error), -ENODEV,
		"cannot ask the file descriptor what it is: No such device (the device is gone)");
}

TEST_WITH(other_version, setup, teardown)
{
	struct npumem_device *device;

	fake.major = NPUMEM_UAPI_MAJOR + 1;
	assert_error(npumem_device_open("/dev/null", &device, &error), -EPROTONOSUPPORT,
		     "the driver speaks version 3.0 of its interface, this library 2.0; install "
		     "the library that comes with the driver");
}

TEST_WITH(no_node, setup, teardown)
{
	struct npumem_device *device;

	assert_error(npumem_device_open("/nowhere/accel0", &device, &error), -ENOENT,
		     "cannot open /nowhere/accel0: No such file or directory");
	assert_error(npumem_device_open("/dev/null", NULL, &error), -EINVAL,
		     "npumem_device_open: NULL argument");
	assert_error(npumem_device_from_fd(-1, &device, &error), -EINVAL,
		     "npumem_device_from_fd: bad argument");
	/* The reason may be left out. */
	assert_int_equal(npumem_device_open("/nowhere/accel0", &device, NULL), -ENOENT);
}

TEST_WITH(open_path, setup, teardown)
{
	struct npumem_device *device;

	assert_int_equal(npumem_device_open("/dev/null", &device, &error), 0);
	assert_string_equal(npumem_device_path(device), "/dev/null");
	assert_true(npumem_device_fd(device) >= 0);
	npumem_device_close(device);
	npumem_device_close(NULL);
}

static void touch(const char *dir, const char *path)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	fd = open(full, O_CREAT | O_RDWR, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void remove_all(const char *dir, const char *const *paths, size_t count)
{
	char full[256];

	for (size_t i = 0; i < count; i++) {
		snprintf(full, sizeof(full), "%s/%s", dir, paths[i]);
		remove(full);
	}
	rmdir(dir);
}

TEST_WITH(scan, setup, teardown)
{
	static const char *const nodes[] = {
		"accel/accel10",    "accel/accel2",  "dri/renderD128",
		"accel/accelerate", "accel/accel3x", "dri/card0",
	};
	static const char *const all[] = {
		"accel/accel10", "accel/accel2", "dri/renderD128", "accel/accelerate",
		"accel/accel3x", "dri/card0",	 "accel",	   "dri",
	};
	char dir[] = "/tmp/npumem-scan-XXXXXX", path[256], text[512], **paths;
	struct npumem_device *device;
	uint32_t count, denied;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(npumem_device_scan(dir, &paths, &count, &denied, &error), 0);
	assert_int_equal(count, 0);
	free(paths);
	snprintf(path, sizeof(path), "%s/accel", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/dri", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		touch(dir, nodes[i]);

	assert_int_equal(npumem_device_scan(dir, &paths, &count, &denied, &error), 0);
	assert_int_equal(count, 3);
	assert_int_equal(denied, 0);
	snprintf(path, sizeof(path), "%s/accel/accel2", dir);
	assert_string_equal(paths[0], path);
	snprintf(path, sizeof(path), "%s/accel/accel10", dir);
	assert_string_equal(paths[1], path);
	snprintf(path, sizeof(path), "%s/dri/renderD128", dir);
	assert_string_equal(paths[2], path);
	assert_null(paths[3]);
	free(paths);

	assert_int_equal(npumem_device_open_first(dir, &device, &error), 0);
	snprintf(path, sizeof(path), "%s/accel/accel2", dir);
	assert_string_equal(npumem_device_path(device), path);
	npumem_device_close(device);

	/* One that goes after it was found. */
	fake.goes = path;
	assert_int_equal(npumem_device_open_first(dir, &device, &error), 0);
	snprintf(path, sizeof(path), "%s/accel/accel10", dir);
	assert_string_equal(npumem_device_path(device), path);
	npumem_device_close(device);
	touch(dir, "accel/accel2");

	fake.open_error = EACCES;
	snprintf(text, sizeof(text),
		 "no npumem device may be opened: 3 device nodes below %s are denied to this user "
		 "(is it in the group that owns them?)",
		 dir);
	assert_error(npumem_device_open_first(dir, &device, &error), -EACCES, text);
	fake.open_error = 0;

	fake.name = "vc4";
	assert_int_equal(npumem_device_scan(dir, &paths, &count, &denied, &error), 0);
	assert_int_equal(count, 0);
	free(paths);
	snprintf(text, sizeof(text),
		 "there is no npumem device below %s/accel or %s/dri; is the module npumem loaded?",
		 dir, dir);
	assert_error(npumem_device_open_first(dir, &device, &error), -ENODEV, text);
	fake.name = NPUMEM_DRIVER_NAME;
	remove_all(dir, nodes + 1, 5);
	snprintf(path, sizeof(path), "%s/accel/accel10", dir);
	fake.goes = path;
	touch(dir, "accel/accel10");
	assert_error(npumem_device_open_first(dir, &device, &error), -ENODEV, text);
	remove_all(dir, all, sizeof(all) / sizeof(all[0]));
}

TEST_WITH(query, setup, teardown)
{
	struct drm_npumem_engine *engines;
	struct drm_npumem_info info;
	struct drm_npumem_bank *banks;
	uint32_t count;

	assert_int_equal(npumem_device_info(*state, &info, &error), 0);
	assert_int_equal(info.bank_count, 1);
	assert_int_equal(npumem_device_banks(*state, &banks, &count, &error), 0);
	assert_int_equal(count, 1);
	assert_string_equal(banks[0].name, "carveout");
	free(banks);
	assert_int_equal(npumem_device_engines(*state, &engines, &count, &error), 0);
	assert_int_equal(count, 1);
	assert_string_equal(engines[0].name, "sim");
	free(engines);
	assert_error(npumem_device_info(*state, NULL, &error), -EINVAL,
		     "npumem_device_info: NULL argument");
	assert_error(npumem_device_banks(*state, NULL, &count, &error), -EINVAL,
		     "npumem_device_query: NULL argument");
	assert_error(npumem_device_engines(*state, &engines, NULL, &error), -EINVAL,
		     "npumem_device_query: NULL argument");
}

/* A caller whose header is older, or newer, than the library's. */
TEST_WITH(query_records_of_another_size, setup, teardown)
{
	struct drm_npumem_bank bank;
	uint8_t *bytes;
	void *records;
	uint32_t count;

	assert_int_equal(
		npumem_device_query(*state, NPUMEM_QUERY_BANKS, 16, &records, &count, &error), 0);
	assert_int_equal(count, 1);
	memcpy(&bank, records, 16);
	assert_int_equal(bank.size, 1 << 20);
	assert_int_equal(bank.free, 8192);
	free(records);
	assert_int_equal(npumem_device_query(*state, NPUMEM_QUERY_BANKS, sizeof(bank) + 8, &records,
					     &count, &error),
			 0);
	bytes = records;
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(bytes[sizeof(bank) + i], 0);
	free(records);
	assert_error(npumem_device_query(*state, NPUMEM_QUERY_BANKS, 12, &records, &count, &error),
		     -EINVAL, "a query of type 2 for records of 12 bytes");
	assert_error(npumem_device_query(*state, NPUMEM_QUERY_BANKS, NPUMEM_MAX_RECORD + 8,
					 &records, &count, &error),
		     -EINVAL, "a query of type 2 for records of 4104 bytes");
	assert_error(npumem_device_query(*state, 99, 8, &records, &count, &error), -EINVAL,
		     "a query of type 99 for records of 8 bytes");
}

#define RUNS 150 /* more than one call is asked for */

/* Runs 1, 2, ...; one call looks at 70 of them. */
static int many_runs(unsigned long request, void *argument)
{
	struct drm_npumem_dev_query *query = argument;
	struct drm_npumem_run_record record = { 0 };
	uint64_t i, first = query->first ? query->first : 1, n = 0;
	struct drm_npumem_buffer to;

	assert_int_equal(query->type, NPUMEM_QUERY_RUNS);
	assert_int_equal(query->stride, sizeof(record));
	query->next = 0;
	for (i = first; i <= RUNS && i < first + 70; i++) {
		if (n++ >= query->answer.size / query->stride) {
			if (!query->next)
				query->next = i;
			continue;
		}
		record.handle = (uint32_t)i;
		to = (struct drm_npumem_buffer){ query->answer.ptr + (n - 1) * query->stride,
						 query->stride };
		fake_give(&to, &record, sizeof(record));
	}
	if (!query->next && i <= RUNS)
		query->next = i;
	query->answer.size = n * query->stride;
	return 0;
}

static int no_runs(unsigned long request, void *argument)
{
	struct drm_npumem_dev_query *query = argument;

	query->next = 0;
	query->answer.size = 0;
	return 0;
}

TEST_WITH(query_in_pieces, setup, teardown)
{
	struct drm_npumem_run_record *runs;
	uint32_t count;

	fake.handler = many_runs;
	assert_int_equal(npumem_device_runs(*state, &runs, &count, &error), 0);
	assert_true(fake.calls > 2);
	assert_int_equal(count, RUNS);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(runs[i].handle, i + 1);
	free(runs);
	fake.handler = no_runs;
	assert_int_equal(npumem_device_runs(*state, &runs, &count, &error), 0);
	assert_int_equal(count, 0);
	free(runs);
}

static int odd_size(unsigned long request, void *argument)
{
	((struct drm_npumem_dev_query *)argument)->answer.size = 13;
	return 0;
}

static int in_a_circle(unsigned long request, void *argument)
{
	struct drm_npumem_dev_query *query = argument;

	query->next = query->first ? query->first : 1;
	query->answer.size = 0;
	return 0;
}

static int not_root(unsigned long request, void *argument)
{
	return EACCES;
}

static int unplugged(unsigned long request, void *argument)
{
	return ENODEV;
}

TEST_WITH(query_failures, setup, teardown)
{
	struct drm_npumem_info info;
	struct drm_npumem_holder *holders;
	struct drm_npumem_bank *banks;
	uint32_t count;

	fake.handler = odd_size;
	assert_error(npumem_device_banks(*state, &banks, &count, &error), -EPROTO,
		     "cannot ask the device for its banks: Protocol error");
	fake.handler = in_a_circle;
	assert_error(npumem_device_banks(*state, &banks, &count, &error), -EPROTO,
		     "cannot ask the device for its banks: Protocol error");
	fake.handler = no_runs;
	assert_error(npumem_device_info(*state, &info, &error), -EPROTO,
		     "the driver says no limits");
	fake.handler = not_root;
	assert_error(npumem_device_holders(*state, &holders, &count, &error), -EACCES,
		     "cannot ask the device for its holders: Permission denied");
	fake.handler = unplugged;
	assert_error(npumem_device_info(*state, &info, &error), -ENODEV,
		     "cannot ask the device for its limits: No such device (the device is gone)");
	assert_error(npumem_device_banks(*state, &banks, &count, &error), -ENODEV,
		     "cannot ask the device for its banks: No such device (the device is gone)");
}

/* ------------------------------------------------------------- restarting */

TEST_WITH(restart, setup, teardown)
{
	struct drm_npumem_bo_create *before = (void *)fake.before;
	struct npumem_bo *bo;

	fake.interrupts = 3;
	assert_int_equal(npumem_bo_new(*state, 100, NPUMEM_BO_CARVEOUT, 0, &bo, &error), 0);
	assert_int_equal(fake.calls, 4);
	/* The arguments were put back each time. */
	assert_int_equal(before->size, 100);
	assert_int_equal(before->flags, NPUMEM_BO_CARVEOUT);
	npumem_bo_free(bo);
}

TEST_WITH(no_restart_of_destroy, setup, teardown)
{
	struct npumem_graph *graph;

	assert_int_equal(npumem_graph_new(*state, "blob", 4, NULL, &graph, &error), 0);
	fake.calls = 0;
	fake.interrupts = 1;
	npumem_graph_free(graph);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.interrupts, 0);
}

static int busy(unsigned long request, void *argument)
{
	return EAGAIN;
}

/* drmIoctl() would spin here. */
TEST_WITH(eagain_is_an_error, setup, teardown)
{
	struct drm_npumem_info info;

	fake.handler = busy;
	assert_int_equal(npumem_device_info(*state, &info, &error), -EAGAIN);
	assert_int_equal(fake.calls, 1);
}

/* ----------------------------------------------------------------- buffers */

TEST_WITH(bo, setup, teardown)
{
	struct npumem_bo *bo;
	void *map, *again;

	assert_int_equal(npumem_bo_new(*state, 5000, NPUMEM_BO_SYSTEM, 0, &bo, &error), 0);
	assert_int_equal(npumem_bo_size(bo), 8192);
	assert_int_equal(npumem_bo_handle(bo), 5);
	assert_int_equal(npumem_bo_map(bo, &map, &error), 0);
	memset(map, 1, 8192);
	assert_int_equal(npumem_bo_map(bo, &again, &error), 0);
	assert_ptr_equal(map, again);
	assert_int_equal(npumem_bo_wait(bo, 123, &error), 0);
	assert_int_equal(((struct drm_npumem_bo_wait *)(void *)fake.before)->deadline_ns, 123);
	npumem_bo_free(bo);
	assert_int_equal(fake.closed_handle, 5);
	npumem_bo_free(NULL);
}

/* A plan whose tensors are all outside has an arena of no bytes, and mmap() would refuse it. */
TEST_WITH(bo_of_nothing, setup, teardown)
{
	struct npumem_bo *bo;
	void *map = NULL, *again;

	assert_int_equal(npumem_bo_wrap(*state, 7, 0, &bo, &error), 0);
	assert_int_equal(npumem_bo_map(bo, &map, &error), 0);
	assert_non_null(map);
	assert_int_equal(npumem_bo_map(bo, &again, &error), 0);
	assert_ptr_equal(map, again);
	npumem_bo_free(bo);
	assert_int_equal(fake.closed_handle, 7);
}

/* Objects keep their device. */
TEST_WITH(bo_outlives_device, setup, teardown)
{
	struct npumem_device *device = fake_device();
	struct npumem_bo *bo;
	void *map;

	assert_int_equal(npumem_bo_new(device, 1, NPUMEM_BO_SYSTEM, 0, &bo, &error), 0);
	npumem_device_close(device);
	assert_int_equal(npumem_bo_map(bo, &map, &error), 0);
	npumem_bo_free(bo);
}

TEST_WITH(bo_arguments, setup, teardown)
{
	struct npumem_bo *bo;
	void *map;

	assert_error(npumem_bo_new(*state, 0, NPUMEM_BO_SYSTEM, 0, &bo, &error), -EINVAL,
		     "a BO must have at least one byte");
	assert_error(npumem_bo_new(*state, 1, 3, 0, &bo, &error), -EINVAL,
		     "flags 0x3 of a BO are not one of NPUMEM_BO_CARVEOUT, NPUMEM_BO_SYSTEM, "
		     "NPUMEM_BO_SHARED");
	assert_error(npumem_bo_new(*state, 1, NPUMEM_BO_SYSTEM, 2, &bo, &error), -EINVAL,
		     "bank 2 was given for a BO in system memory");
	assert_error(npumem_bo_new(NULL, 1, NPUMEM_BO_SYSTEM, 0, &bo, &error), -EINVAL,
		     "npumem_bo_new: NULL argument");
	assert_error(npumem_bo_map(NULL, &map, &error), -EINVAL, "npumem_bo_map: NULL argument");
	assert_error(npumem_bo_wait(NULL, 0, &error), -EINVAL, "npumem_bo_wait: NULL argument");
	assert_int_equal(fake.calls, 0);
}

static int full(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_BO_CREATE ? ENOSPC : fake_default(request, argument);
}

static int no_bank(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_BO_CREATE ? EINVAL : fake_default(request, argument);
}

static int in_use(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_BO_WAIT ? ETIMEDOUT : fake_default(request, argument);
}

TEST_WITH(bo_failures, setup, teardown)
{
	struct npumem_bo *bo;
	void *map;

	fake.handler = full;
	assert_error(npumem_bo_new(*state, 100000, NPUMEM_BO_CARVEOUT, 0, &bo, &error), -ENOSPC,
		     "cannot create a BO of 100000 bytes in bank 0: of 1048576 bytes 8192 are "
		     "free, the largest range 4096");
	assert_error(npumem_bo_new(*state, 100000, NPUMEM_BO_CARVEOUT, 5, &bo, &error), -ENOSPC,
		     "cannot create a BO of 100000 bytes in bank 5: No space left on device (the "
		     "carveout has no such range free)");
	assert_error(npumem_bo_new(*state, 100000, NPUMEM_BO_SHARED, 0, &bo, &error), -ENOSPC,
		     "cannot create a BO of 100000 bytes in bank 0: of 1048576 bytes 8192 are "
		     "free, the largest range 4096");
	fake.handler = no_bank;
	assert_error(npumem_bo_new(*state, 100, NPUMEM_BO_CARVEOUT, 5, &bo, &error), -EINVAL,
		     "cannot create a BO of 100 bytes: Invalid argument");
	fake.handler = fake_default;
	assert_int_equal(npumem_bo_new(*state, 100, NPUMEM_BO_SYSTEM, 0, &bo, &error), 0);
	fake.handler = in_use;
	assert_error(npumem_bo_wait(bo, 0, &error), -ETIMEDOUT,
		     "cannot wait for the jobs that use a BO: Connection timed out (the deadline "
		     "passed)");
	fake.handler = unplugged;
	assert_error(npumem_bo_map(bo, &map, &error), -ENODEV,
		     "cannot map a BO: No such device (the device is gone)");
	npumem_bo_free(bo);
}

/* ---------------------------------------------------------------- syncobjs */

TEST_WITH(sync, setup, teardown)
{
	const struct drm_npumem_sync syncs[] = { { .handle = 21 }, { .handle = 22, .point = 7 } };
	uint32_t handle;

	assert_int_equal(npumem_sync_new(*state, &handle, &error), 0);
	assert_int_equal(handle, 21);
	npumem_sync_free(*state, handle);
	assert_int_equal(fake.syncs_gone, 1);
	npumem_sync_free(*state, 0);
	assert_int_equal(fake.syncs_gone, 1);

	assert_int_equal(npumem_sync_wait(*state, syncs, 2, 99, &error), 0);
	assert_true(fake.timeline);
	assert_int_equal(fake.waited[1], 22);
	assert_int_equal(fake.wait_points[0], 0);
	assert_int_equal(fake.wait_points[1], 7);
	assert_int_equal(fake.wait_deadline, 99);
	assert_int_equal(npumem_sync_wait(*state, NULL, 0, 99, &error), 0);
}

TEST_WITH(sync_failures, setup, teardown)
{
	const struct drm_npumem_sync sync = { .handle = 21 };
	uint32_t handle;

	fake.sync_error = ENOMEM;
	assert_error(npumem_sync_new(*state, &handle, &error), -ENOMEM,
		     "cannot create a syncobj: Cannot allocate memory");
	fake.wait_error = -ETIME;
	assert_error(npumem_sync_wait(*state, &sync, 1, 0, &error), -ETIMEDOUT,
		     "cannot wait for 1 syncobjs: Connection timed out (the deadline passed)");
	assert_error(npumem_sync_new(*state, NULL, &error), -EINVAL,
		     "npumem_sync_new: NULL argument");
	assert_error(npumem_sync_wait(*state, NULL, 1, 0, &error), -EINVAL,
		     "npumem_sync_wait: NULL argument");
}

TEST_WITH(deadline, setup, teardown)
{
	int64_t now = npumem_deadline(0), later = npumem_deadline(1000000000);

	assert_true(now > 0);
	assert_true(later - now >= 1000000000);
	assert_int_equal(npumem_deadline(INT64_MAX), INT64_MAX);
	assert_int_equal(npumem_deadline(INT64_MIN), 0);
}

TEST_WITH(version, setup, teardown)
{
	assert_string_equal(npumem_version(), NPUMEM_PACKAGE_VERSION);
}
