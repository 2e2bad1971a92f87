// SPDX-License-Identifier: MIT
/*
 * Device nodes: found, opened, asked.
 *
 * libdrm 2.4.114 does not know /dev/accel, so nodes are looked for here and
 * told apart by the driver's name alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

#include "device.h"
#include "../monotonic/monotonic.h"

#define QUERY_TRIES 8 /* the answer's size may change between two calls */

const char *npumem_version(void)
{
	return NPUMEM_PACKAGE_VERSION;
}

int64_t npumem_deadline(int64_t nanoseconds)
{
	int64_t sum;

	if (__builtin_add_overflow(monotonic_ns(), nanoseconds, &sum))
		return nanoseconds < 0 ? 0 : INT64_MAX;
	return sum < 0 ? 0 : sum;
}

/* ---------------------------------------------------------------- finding */

static bool is_ours(int fd)
{
	drmVersionPtr version = drmGetVersion(fd);
	bool ours;

	if (!version)
		return false;
	ours = version->name && !strcmp(version->name, NPUMEM_DRIVER_NAME);
	drmFreeVersion(version);
	return ours;
}

/* Paths found so far, one after another, NUL-terminated. */
struct path_list {
	char *bytes;
	size_t size;
	uint32_t count;
};

static int add_path(struct path_list *paths, const char *path)
{
	size_t length = strlen(path) + 1;
	char *bytes = realloc(paths->bytes, paths->size + length);

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes + paths->size, path, length);
	paths->bytes = bytes;
	paths->size += length;
	paths->count++;
	return 0;
}

/* Is it called <prefix>N? */
static bool is_node(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);
	unsigned int number;
	char end;

	return !strncmp(name, prefix, length) && sscanf(name + length, "%9u%c", &number, &end) == 1;
}

static int scan_node(const char *path, struct path_list *paths, uint32_t *denied)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), err = 0;

	if (fd < 0) {
		*denied += errno == EACCES || errno == EPERM;
		return 0;
	}
	if (is_ours(fd))
		err = add_path(paths, path);
	close(fd);
	return err;
}

/* By number: node 2 comes before node 10. */
static int scan_dir(const char *dev, const char *sub, const char *prefix, struct path_list *paths,
		    uint32_t *denied)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count, err = 0;

	if (snprintf(path, sizeof(path), "%s/%s", dev, sub) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	count = scandir(path, &entries, NULL, versionsort);
	if (count < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		if (!err && is_node(name, prefix)) {
			if (snprintf(path, sizeof(path), "%s/%s/%s", dev, sub, name) >=
			    (int)sizeof(path))
				err = -ENAMETOOLONG;
			else
				err = scan_node(path, paths, denied);
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}

int npumem_device_scan(const char *dev, char ***paths, uint32_t *count, uint32_t *denied,
		       struct npumem_error *error)
{
	struct path_list found = { 0 };
	size_t table;
	char *bytes;
	int err;

	*denied = 0;
	err = scan_dir(dev, "accel", "accel", &found, denied);
	if (!err)
		err = scan_dir(dev, "dri", "renderD", &found, denied);
	if (!err) {
		table = ((size_t)found.count + 1) * sizeof(**paths);
		*paths = malloc(table + found.size);
		err = *paths ? 0 : -ENOMEM;
	}
	if (err) {
		free(found.bytes);
		return npumem_fail_errno(error, err, "look for devices below %s", dev);
	}
	bytes = (char *)*paths + table;
	if (found.size)
		memcpy(bytes, found.bytes, found.size);
	for (uint32_t i = 0; i < found.count; i++, bytes += strlen(bytes) + 1)
		(*paths)[i] = bytes;
	(*paths)[found.count] = NULL;
	*count = found.count;
	free(found.bytes);
	return 0;
}

int npumem_device_list(char ***paths, uint32_t *count, struct npumem_error *error)
{
	uint32_t denied;

	if (!paths || !count)
		return npumem_fail(error, -EINVAL, "npumem_device_list: NULL argument");
	return npumem_device_scan("/dev", paths, count, &denied, error);
}

/* ---------------------------------------------------------------- opening */

static int make_device(int fd, const char *path, struct npumem_device **out,
		       struct npumem_error *error)
{
	struct drm_npumem_info info = { 0 };
	struct npumem_device *device;
	int err;

	if (!is_ours(fd))
		return npumem_fail(error, -ENODEV, "%s is not an npumem device",
				   *path ? path : "the file descriptor");
	device = calloc(1, sizeof(*device) + strlen(path) + 1);
	if (!device)
		return npumem_fail_errno(error, -ENOMEM, "open a device");
	atomic_init(&device->refs, 1);
	device->fd = fd;
	memcpy(device->path, path, strlen(path) + 1);
	err = npumem_device_info(device, &info, error);
	if (!err && info.uapi_major != NPUMEM_UAPI_MAJOR)
		err = npumem_fail(error, -EPROTONOSUPPORT,
				  "the driver speaks version %u.%u of its interface, this library "
				  "%u.%u; install the library that comes with the driver",
				  info.uapi_major, info.uapi_minor, NPUMEM_UAPI_MAJOR,
				  NPUMEM_UAPI_MINOR);
	if (err) {
		free(device);
		return err;
	}
	*out = device;
	return 0;
}

static int open_path(const char *path, struct npumem_device **out, struct npumem_error *error)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return npumem_fail_errno(error, -errno, "open %s", path);
	err = make_device(fd, path, out, error);
	if (err)
		close(fd);
	return err;
}

int npumem_device_open_first(const char *dev, struct npumem_device **out,
			     struct npumem_error *error)
{
	uint32_t count = 0, denied = 0;
	char **paths = NULL;
	int err;

	err = npumem_device_scan(dev, &paths, &count, &denied, error);
	if (err)
		return err;
	if (count)
		err = open_path(paths[0], out, error);
	else if (denied)
		err = npumem_fail(error, -EACCES,
				  "no npumem device may be opened: %u device nodes below %s are "
				  "denied to this user (is it in the group that owns them?)",
				  denied, dev);
	else
		err = npumem_fail(error, -ENODEV,
				  "there is no npumem device below %s/accel or %s/dri; is the "
				  "module npumem loaded?",
				  dev, dev);
	free(paths);
	return err;
}

int npumem_device_open(const char *path, struct npumem_device **out, struct npumem_error *error)
{
	if (!out)
		return npumem_fail(error, -EINVAL, "npumem_device_open: NULL argument");
	return path ? open_path(path, out, error) : npumem_device_open_first("/dev", out, error);
}

int npumem_device_from_fd(int fd, struct npumem_device **out, struct npumem_error *error)
{
	if (fd < 0 || !out)
		return npumem_fail(error, -EINVAL, "npumem_device_from_fd: bad argument");
	return make_device(fd, "", out, error);
}

struct npumem_device *npumem_device_get(struct npumem_device *device)
{
	atomic_fetch_add(&device->refs, 1);
	return device;
}

void npumem_device_put(struct npumem_device *device)
{
	if (atomic_fetch_sub(&device->refs, 1) != 1)
		return;
	close(device->fd);
	free(device);
}

void npumem_handle_destroy(struct npumem_device *device, unsigned long request, uint32_t handle)
{
	struct drm_npumem_handle args = { .handle = handle };

	npumem_ioctl(device, request, &args);
}

void npumem_device_close(struct npumem_device *device)
{
	if (device)
		npumem_device_put(device);
}

int npumem_device_fd(const struct npumem_device *device)
{
	return device->fd;
}

const char *npumem_device_path(const struct npumem_device *device)
{
	return device->path;
}

/* ----------------------------------------------------------------- asking */

int npumem_device_info(struct npumem_device *device, struct drm_npumem_info *info,
		       struct npumem_error *error)
{
	struct drm_npumem_dev_query query = {
		.type = NPUMEM_QUERY_INFO,
		.size = sizeof(*info),
		.ptr = (uintptr_t)info,
	};

	if (!device || !info)
		return npumem_fail(error, -EINVAL, "npumem_device_info: NULL argument");
	/* An older driver answers with less: what it does not know is zero. */
	memset(info, 0, sizeof(*info));
	return npumem_call(device, DRM_IOCTL_NPUMEM_DEV_QUERY, &query, error,
			   "ask the device for its limits");
}

/* @out: of the pointer that is to point at the records, for the caller to free. */
static int query_array(struct npumem_device *device, uint32_t type, const char *what, size_t record,
		       void *out, uint32_t *count, struct npumem_error *error)
{
	struct drm_npumem_dev_query query = { .type = type };
	void *array = NULL;
	uint32_t size = 0;

	if (!device || !out || !count)
		return npumem_fail(error, -EINVAL, "npumem_device_%s: NULL argument", what);
	for (int i = 0; i < QUERY_TRIES; i++) {
		int err;

		query.size = size;
		query.ptr = size ? (uintptr_t)array : 0;
		err = npumem_ioctl(device, DRM_IOCTL_NPUMEM_DEV_QUERY, &query);
		if (err) {
			free(array);
			return npumem_fail_errno(error, err, "ask the device for its %s", what);
		}
		if (query.size % record) {
			free(array);
			return npumem_fail(error, -EPROTO,
					   "the driver's answer of %u bytes is not a list of %s",
					   query.size, what);
		}
		if (query.size <= size || !query.size) {
			memcpy(out, &array, sizeof(array));
			*count = query.size / record;
			return 0;
		}
		free(array);
		size = query.size;
		array = calloc(1, size);
		if (!array)
			return npumem_fail_errno(error, -ENOMEM, "ask the device for its %s", what);
	}
	free(array);
	return npumem_fail(error, -EPROTO, "the device's list of %s keeps growing", what);
}

int npumem_device_banks(struct npumem_device *device, struct drm_npumem_bank **banks,
			uint32_t *count, struct npumem_error *error)
{
	return query_array(device, NPUMEM_QUERY_BANKS, "banks", sizeof(**banks), banks, count,
			   error);
}

int npumem_device_engines(struct npumem_device *device, struct drm_npumem_engine **engines,
			  uint32_t *count, struct npumem_error *error)
{
	return query_array(device, NPUMEM_QUERY_ENGINES, "engines", sizeof(**engines), engines,
			   count, error);
}
