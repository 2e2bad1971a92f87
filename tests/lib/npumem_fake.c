// SPDX-License-Identifier: MIT
#include "npumem_fake.h"

#include <errno.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

#include <cmocka.h>

#define BLOB  "a plan blob"
#define GRAPH "a graph blob"

struct fake fake;

int __wrap_open64(const char *path, int flags, ...);
int __real_open64(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
drmVersionPtr __wrap_drmGetVersion(int fd);
int __wrap_drmCloseBufferHandle(int fd, uint32_t handle);
int __wrap_drmSyncobjCreate(int fd, uint32_t flags, uint32_t *handle);
int __wrap_drmSyncobjDestroy(int fd, uint32_t handle);
int __wrap_drmSyncobjWait(int fd, uint32_t *handles, unsigned int count, int64_t deadline,
			  unsigned int flags, uint32_t *first);
int __wrap_drmSyncobjTimelineWait(int fd, uint32_t *handles, uint64_t *points, unsigned int count,
				  int64_t deadline, unsigned int flags, uint32_t *first);
int __wrap_drmPrimeFDToHandle(int fd, int prime, uint32_t *handle);
int __wrap_drmPrimeHandleToFD(int fd, uint32_t handle, uint32_t flags, int *prime);

void fake_give(struct drm_npumem_buffer *buffer, const void *data, uint64_t size)
{
	uint8_t *at = (void *)(uintptr_t)buffer->ptr;
	uint64_t given = buffer->size < size ? buffer->size : size;

	if (at) {
		memcpy(at, data, given);
		memset(at + given, 0, buffer->size - given);
	}
	buffer->size = size;
}

/* The one record that there is. */
static void answer(struct drm_npumem_dev_query *query, const void *data, uint32_t size)
{
	struct drm_npumem_buffer record = query->answer;

	if (record.size > query->stride)
		record.size = query->stride;
	fake_give(&record, data, size);
	query->answer.size = query->stride;
	query->next = 0;
}

static int dev_query(struct drm_npumem_dev_query *query)
{
	static const struct drm_npumem_info info = {
		.uapi_major = NPUMEM_UAPI_MAJOR,
		.bank_count = 1,
		.engine_count = 1,
	};
	static const struct drm_npumem_bank bank = {
		.size = 1 << 20,
		.free = 8192,
		.largest_free = 4096,
		.alignment = 4096,
		.name = "carveout",
	};
	static const struct drm_npumem_engine engine = { .flags = NPUMEM_ENGINE_TRANSFERS,
							 .version = 1,
							 .name = "sim" };

	switch (query->type) {
	case NPUMEM_QUERY_INFO:
		answer(query, &info, sizeof(info));
		return 0;
	case NPUMEM_QUERY_BANKS:
		answer(query, &bank, sizeof(bank));
		return 0;
	case NPUMEM_QUERY_ENGINES:
		answer(query, &engine, sizeof(engine));
		return 0;
	default:
		return EINVAL;
	}
}

int fake_default(unsigned long request, void *argument)
{
	switch (request) {
	case DRM_IOCTL_NPUMEM_DEV_QUERY:
		return dev_query(argument);
	case DRM_IOCTL_NPUMEM_BO_CREATE: {
		struct drm_npumem_bo_create *args = argument;

		args->size = (args->size + 4095) & ~4095ull;
		args->handle = 5;
		return 0;
	}
	case DRM_IOCTL_NPUMEM_GRAPH_CREATE:
		((struct drm_npumem_graph_create *)argument)->handle = 7;
		return 0;
	case DRM_IOCTL_NPUMEM_PLAN_LOAD:
		((struct drm_npumem_plan_load *)argument)->handle = 8;
		return 0;
	case DRM_IOCTL_NPUMEM_PLAN_REQUEST:
		((struct drm_npumem_plan_request *)argument)->handle = 9;
		return 0;
	case DRM_IOCTL_NPUMEM_PLAN_READ: {
		struct drm_npumem_plan_read *args = argument;

		args->state = NPUMEM_PLAN_STATE_READY;
		args->arena_size = 5000;
		fake_give(&args->blob, BLOB, sizeof(BLOB));
		fake_give(&args->graph, GRAPH, sizeof(GRAPH));
		return 0;
	}
	case DRM_IOCTL_NPUMEM_RUN_CREATE: {
		struct drm_npumem_run_create *args = argument;

		args->handle = 10;
		if (!(args->flags & NPUMEM_RUN_CREATE_SHARED))
			args->arena_bo = 11;
		return 0;
	}
	case DRM_IOCTL_NPUMEM_RUN_QUERY: {
		struct drm_npumem_run_query *args = argument;

		args->block = NPUMEM_NONE;
		args->error = EIO;
		args->submitted = 12;
		args->load_bytes = 1;
		args->spill_bytes = 2;
		args->store_bytes = 3;
		args->fill_bytes = 4;
		return 0;
	}
	case DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET:
	case DRM_IOCTL_NPUMEM_BO_WAIT:
	case DRM_IOCTL_NPUMEM_GRAPH_DESTROY:
	case DRM_IOCTL_NPUMEM_PLAN_DESTROY:
	case DRM_IOCTL_NPUMEM_RUN_RESET:
	case DRM_IOCTL_NPUMEM_RUN_DESTROY:
	case DRM_IOCTL_NPUMEM_RUN_BIND:
	case DRM_IOCTL_NPUMEM_RUN_TURN:
	case DRM_IOCTL_NPUMEM_SUBMIT:
	case UDMABUF_CREATE:
	case DMA_BUF_IOCTL_SYNC:
		return 0;
	default:
		return ENOTTY;
	}
}

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.name = NPUMEM_DRIVER_NAME;
	fake.major = NPUMEM_UAPI_MAJOR;
	fake.handler = fake_default;
}

struct npumem_device *fake_device(void)
{
	struct npumem_device *device;
	int fd = memfd_create("fake", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 1 << 16), 0);
	assert_int_equal(npumem_device_from_fd(fd, &device, NULL), 0);
	return device;
}

/* What open() is called under _FILE_OFFSET_BITS=64; the library creates no file. */
int __wrap_open64(const char *path, int flags, ...)
{
	bool udmabuf = !strcmp(path, "/dev/udmabuf");
	int err = udmabuf ? fake.udmabuf_error : fake.open_error;

	if (err) {
		errno = err;
		return -1;
	}
	if (udmabuf)
		return memfd_create("udmabuf", MFD_CLOEXEC);
	return __real_open64(path, flags, 0600);
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *argument;
	int err;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	assert_true(_IOC_SIZE(request) <= sizeof(fake.before));
	fake.calls++;
	fake.request = request;
	memcpy(fake.before, argument, _IOC_SIZE(request));
	if (fake.interrupts) {
		fake.interrupts--;
		memset(argument, 0xa5, _IOC_SIZE(request));
		errno = EINTR;
		return -1;
	}
	err = fake.handler(request, argument);
	errno = err;
	if (err)
		return -1;
	/* The memory itself stands for its dma-buf. */
	return request == UDMABUF_CREATE ? dup((int)((struct udmabuf_create *)argument)->memfd) : 0;
}

drmVersionPtr __wrap_drmGetVersion(int fd)
{
	drmVersionPtr version;

	if (fake.goes)
		unlink(fake.goes);
	fake.goes = NULL;
	if (!fake.name) {
		errno = fake.unnamed;
		return NULL;
	}
	/* drmFreeVersion() is libdrm's own: it frees this and its strings. */
	version = calloc(1, sizeof(*version));
	assert_non_null(version);
	version->name = strdup(fake.name);
	version->version_major = fake.major;
	version->version_minor = NPUMEM_UAPI_MINOR;
	return version;
}

int __wrap_drmCloseBufferHandle(int fd, uint32_t handle)
{
	fake.closed_handle = handle;
	return 0;
}

int __wrap_drmSyncobjCreate(int fd, uint32_t flags, uint32_t *handle)
{
	if (fake.sync_error) {
		errno = fake.sync_error;
		return -1;
	}
	fake.syncs_made++;
	*handle = 20 + fake.syncs_made;
	return 0;
}

int __wrap_drmSyncobjDestroy(int fd, uint32_t handle)
{
	fake.syncs_gone++;
	return 0;
}

int __wrap_drmSyncobjWait(int fd, uint32_t *handles, unsigned int count, int64_t deadline,
			  unsigned int flags, uint32_t *first)
{
	assert_int_equal(count, 1);
	fake.waited[0] = handles[0];
	fake.wait_deadline = deadline;
	fake.timeline = false;
	return fake.wait_error;
}

int __wrap_drmSyncobjTimelineWait(int fd, uint32_t *handles, uint64_t *points, unsigned int count,
				  int64_t deadline, unsigned int flags, uint32_t *first)
{
	assert_true(count <= 4);
	memcpy(fake.waited, handles, count * sizeof(*handles));
	memcpy(fake.wait_points, points, count * sizeof(*points));
	fake.wait_deadline = deadline;
	fake.timeline = true;
	assert_true(flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL);
	return fake.wait_error;
}

int __wrap_drmPrimeFDToHandle(int fd, int prime, uint32_t *handle)
{
	if (fake.prime_error) {
		errno = fake.prime_error;
		return -1;
	}
	*handle = 30;
	return 0;
}

int __wrap_drmPrimeHandleToFD(int fd, uint32_t handle, uint32_t flags, int *prime)
{
	if (fake.prime_error) {
		errno = fake.prime_error;
		return -1;
	}
	fake.prime_flags = flags;
	*prime = 31;
	return 0;
}

struct npumem_error error;

void assert_error(int err, int expected, const char *text)
{
	assert_int_equal(err, expected);
	assert_int_equal(error.code, expected);
	assert_string_equal(error.text, text);
}

int objects_setup(void **state)
{
	static struct objects o;

	fake_reset();
	memset(&error, 0, sizeof(error));
	o.device = fake_device();
	assert_int_equal(npumem_graph_new(o.device, "g", 1, NULL, &o.graph, &error), 0);
	assert_int_equal(npumem_plan_load(o.graph, "p", 1, NULL, &o.plan, &error), 0);
	assert_int_equal(npumem_run_new(o.plan, 0, NULL, &o.run, &error), 0);
	fake.calls = 0;
	*state = &o;
	return 0;
}

int objects_teardown(void **state)
{
	struct objects *o = *state;

	/* In an order that nobody would choose. */
	npumem_device_close(o->device);
	npumem_graph_free(o->graph);
	npumem_plan_free(o->plan);
	npumem_run_free(o->run);
	return 0;
}

const struct npumem_verdict no_verdict = {
	.position = NPUMEM_NONE,
	.step = NPUMEM_NONE,
	.tile = NPUMEM_NONE,
	.tensor = NPUMEM_NONE,
	.other_step = NPUMEM_NONE,
	.other_tile = NPUMEM_NONE,
	.other_tensor = NPUMEM_NONE,
};
