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

#define QUERY_PIECE 64 /* records asked for by one call */

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

/*
 * Whether a device is npumem's. The version of the uapi is what every driver says in the same way,
 * whatever it has else. -ENODEV: it is none any more.
 */
static int is_ours(int fd, int *major, int *minor)
{
	drmVersionPtr version;
	bool ours;

	errno = 0;
	version = drmGetVersion(fd);
	if (!version)
		return errno == ENODEV ? -ENODEV : 0;
	ours = version->name && !strcmp(version->name, NPUMEM_DRIVER_NAME);
	*major = version->version_major;
	*minor = version->version_minor;
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
	int fd = open(path, O_RDWR | O_CLOEXEC), err = 0, major, minor;

	if (fd < 0) {
		*denied += errno == EACCES || errno == EPERM;
		return 0;
	}
	if (is_ours(fd, &major, &minor) > 0)
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
	const char *name = *path ? path : "the file descriptor";
	struct npumem_device *device;
	int major, minor, ours = is_ours(fd, &major, &minor);

	if (ours < 0)
		return npumem_fail_errno(error, ours, "ask %s what it is", name);
	if (!ours)
		return npumem_fail(error, -ENODEV, "%s is not an npumem device", name);
	if (major != NPUMEM_UAPI_MAJOR)
		return npumem_fail(error, -EPROTONOSUPPORT,
				   "the driver speaks version %d.%d of its interface, this library "
				   "%u.%u; install the library that comes with the driver",
				   major, minor, NPUMEM_UAPI_MAJOR, NPUMEM_UAPI_MINOR);
	device = calloc(1, sizeof(*device) + strlen(path) + 1);
	if (!device)
		return npumem_fail_errno(error, -ENOMEM, "open a device");
	atomic_init(&device->refs, 1);
	device->fd = fd;
	memcpy(device->path, path, strlen(path) + 1);
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
	/* One that went after it was found is none. */
	for (uint32_t i = 0; i < count; i++) {
		err = open_path(paths[i], out, error);
		if (err != -ENOENT && err != -ENODEV && err != -ENXIO)
			goto out;
	}
	if (denied)
		err = npumem_fail(error, -EACCES,
				  "no npumem device may be opened: %u device nodes below %s are "
				  "denied to this user (is it in the group that owns them?)",
				  denied, dev);
	else
		err = npumem_fail(error, -ENODEV,
				  "there is no npumem device below %s/accel or %s/dri; is the "
				  "module npumem loaded?",
				  dev, dev);
out:
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

/* What the device is asked for its ... */
static const char *const query_names[] = {
	[NPUMEM_QUERY_INFO] = "limits",	    [NPUMEM_QUERY_BANKS] = "banks",
	[NPUMEM_QUERY_ENGINES] = "engines", [NPUMEM_QUERY_PLANS] = "plans",
	[NPUMEM_QUERY_RUNS] = "runs",	    [NPUMEM_QUERY_HOLDERS] = "holders",
};

/* One call: room for so many records more, of which it says how many there are now. */
static int query_piece(struct npumem_device *device, struct drm_npumem_dev_query *query,
		       uint8_t **list, uint32_t *count)
{
	uint8_t *longer = realloc(*list, ((size_t)*count + QUERY_PIECE) * query->stride);
	int err;

	if (!longer)
		return -ENOMEM;
	*list = longer;
	query->answer = buffer_of(longer + (size_t)*count * query->stride,
				  (uint64_t)QUERY_PIECE * query->stride);
	err = npumem_ioctl(device, DRM_IOCTL_NPUMEM_DEV_QUERY, query);
	if (err)
		return err;
	if (query->answer.size % query->stride)
		return -EPROTO;
	query->answer.size /= query->stride;
	*count += query->answer.size < QUERY_PIECE ? (uint32_t)query->answer.size : QUERY_PIECE;
	return 0;
}

int npumem_device_query(struct npumem_device *device, uint32_t type, size_t record_size,
			void **records, uint32_t *count, struct npumem_error *error)
{
	struct drm_npumem_dev_query query = { .type = type };
	const char *what = type < sizeof(query_names) / sizeof(*query_names) ? query_names[type] :
									       NULL;
	uint8_t *list = NULL;
	uint32_t n = 0;
	int err;

	if (!device || !records || !count)
		return npumem_fail(error, -EINVAL, "npumem_device_query: NULL argument");
	if (!what || !record_size || record_size % 8 || record_size > NPUMEM_MAX_RECORD)
		return npumem_fail(error, -EINVAL, "a query of type %u for records of %zu bytes",
				   type, record_size);
	query.stride = (uint32_t)record_size;
	do {
		query.first = query.next;
		err = query_piece(device, &query, &list, &n);
		/* It goes on further up, or not at all. */
		if (!err && query.next && query.next <= query.first)
			err = -EPROTO;
	} while (!err && query.next);
	if (err) {
		free(list);
		return npumem_fail_errno(error, err, "ask the device for its %s", what);
	}
	*records = list;
	*count = n;
	return 0;
}

int npumem_device_info_sized(struct npumem_device *device, struct drm_npumem_info *info,
			     size_t info_size, struct npumem_error *error)
{
	uint32_t count;
	void *record;
	int err;

	if (!info)
		return npumem_fail(error, -EINVAL, "npumem_device_info: NULL argument");
	err = npumem_device_query(device, NPUMEM_QUERY_INFO, info_size, &record, &count, error);
	if (err)
		return err;
	if (count)
		memcpy(info, record, info_size);
	free(record);
	return count ? 0 : npumem_fail(error, -EPROTO, "the driver says no limits");
}
