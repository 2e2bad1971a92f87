// SPDX-License-Identifier: MIT
/* libnpumem: buffers that are the caller's memory, or a copy of it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* First: npumem_fake.h has a variable by the name of its arguments. */
#include "npumem_memory.h"

#include "npumem_fake.h"

#define PAGE 4096

/* A device, and a page of memory that can be shared. */
struct world {
	struct npumem_device *device;
	struct npumem_user_memory memory;
};

static int setup(void **state)
{
	static struct world w;

	fake_reset();
	memset(&error, 0, sizeof(error));
	w.device = fake_device();
	assert_int_equal(npumem_memory_new(100, &w.memory, &error), 0);
	fake.calls = 0;
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	npumem_memory_free(&w->memory);
	npumem_memory_free(NULL);
	npumem_device_close(w->device);
	return 0;
}

TEST_WITH(memory, setup, teardown)
{
	struct world *w = *state;
	struct npumem_user_memory none;

	assert_int_equal(w->memory.size, PAGE);
	assert_int_equal(w->memory.flags, 0);
	assert_int_equal(fcntl(w->memory.fd, F_GET_SEALS), F_SEAL_SHRINK);
	assert_true(fcntl(w->memory.fd, F_GETFD) & FD_CLOEXEC);
	strcpy(w->memory.address, "bytes");
	assert_error(npumem_memory_new(1, NULL, &error), -EINVAL,
		     "npumem_memory_new: NULL argument");
	assert_error(npumem_memory_new(0, &none, &error), -EINVAL, "memory cannot have 0 bytes");
	assert_error(npumem_memory_new(UINT64_MAX, &none, &error), -EINVAL,
		     "memory cannot have 18446744073709551615 bytes");
	/* More than a process can map. */
	assert_error(npumem_memory_new(1ull << 62, &none, &error), -ENOMEM,
		     "cannot make memory of 4611686018427387904 bytes: Cannot allocate memory");
}

static uint32_t created;
static uint64_t synced[2];
static int sync_errors;

static int sees_sharing(unsigned long request, void *argument)
{
	if (request == UDMABUF_CREATE) {
		const struct udmabuf_create *create = argument;

		created++;
		assert_int_equal(create->flags, UDMABUF_FLAGS_CLOEXEC);
		assert_int_equal(create->offset, 0);
		assert_int_equal(create->size, PAGE);
	}
	if (request == DMA_BUF_IOCTL_SYNC) {
		if (sync_errors-- > 0)
			return sync_errors ? EAGAIN : EINTR;
		synced[0] = synced[1];
		synced[1] = ((struct dma_buf_sync *)argument)->flags;
	}
	return fake_default(request, argument);
}

TEST_WITH(shared, setup, teardown)
{
	struct world *w = *state;
	struct npumem_bo *bo;

	created = 0;
	sync_errors = 2;
	fake.handler = sees_sharing;
	w->memory.flags = NPUMEM_USER_MEMORY_SHARE;
	assert_int_equal(npumem_bo_from_memory(w->device, &w->memory, &bo, &error), 0);
	assert_int_equal(created, 1);
	assert_int_equal(npumem_bo_handle(bo), 30);
	assert_int_equal(npumem_bo_size(bo), PAGE);
	assert_true(npumem_bo_is_shared(bo));
	/* Interrupted, it begins again. */
	assert_int_equal(npumem_bo_begin_access(bo, &error), 0);
	assert_int_equal(npumem_bo_end_access(bo, &error), 0);
	assert_int_equal(synced[0], DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
	assert_int_equal(synced[1], DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
	npumem_bo_free(bo);
	assert_int_equal(fake.closed_handle, 30);
	w->memory.flags = 0;
	assert_int_equal(npumem_bo_from_memory(w->device, &w->memory, &bo, &error), 0);
	assert_true(npumem_bo_is_shared(bo));
	npumem_bo_free(bo);
}

static int no_sync(unsigned long request, void *argument)
{
	return request == DMA_BUF_IOCTL_SYNC ? ENOMEM : fake_default(request, argument);
}

TEST_WITH(sync_fails, setup, teardown)
{
	struct world *w = *state;
	struct npumem_bo *bo;

	fake.handler = no_sync;
	assert_int_equal(npumem_bo_from_memory(w->device, &w->memory, &bo, &error), 0);
	assert_error(npumem_bo_begin_access(bo, &error), -ENOMEM,
		     "cannot access the memory of a dma-buf: Cannot allocate memory");
	assert_error(npumem_bo_end_access(bo, &error), -ENOMEM,
		     "cannot access the memory of a dma-buf: Cannot allocate memory");
	npumem_bo_free(bo);
}

/* A copy goes to and fro, and no further than the memory, though a BO has whole pages. */
TEST_WITH(copied, setup, teardown)
{
	char bytes[8] = "before", *map;
	struct npumem_user_memory memory = { .address = bytes, .size = 6, .fd = -1 };
	struct world *w = *state;
	struct npumem_bo *bo;

	bytes[6] = 'x';
	assert_int_equal(npumem_bo_from_memory(w->device, &memory, &bo, &error), 0);
	assert_false(npumem_bo_is_shared(bo));
	assert_int_equal(npumem_bo_handle(bo), 5);
	assert_int_equal(npumem_bo_map(bo, (void **)&map, &error), 0);
	assert_memory_equal(map, "before", 7);
	memcpy(map, "during!", 7);
	assert_int_equal(npumem_bo_begin_access(bo, &error), 0);
	assert_memory_equal(bytes, "duringx", 7);
	memcpy(bytes, "after!", 6);
	assert_int_equal(npumem_bo_end_access(bo, &error), 0);
	assert_memory_equal(map, "after!!", 7);
	npumem_bo_free(bo);
}

static void assert_copied(struct world *w)
{
	struct npumem_bo *bo;

	w->memory.flags &= ~NPUMEM_USER_MEMORY_SHARE;
	assert_int_equal(npumem_bo_from_memory(w->device, &w->memory, &bo, &error), 0);
	assert_false(npumem_bo_is_shared(bo));
	npumem_bo_free(bo);
}

/* It is not shared for some reason: said if that was asked for, and copied else. */
static void assert_unshared(struct world *w, int expected, const char *text)
{
	struct npumem_bo *bo;

	w->memory.flags = NPUMEM_USER_MEMORY_SHARE;
	assert_error(npumem_bo_from_memory(w->device, &w->memory, &bo, &error), expected, text);
	assert_copied(w);
}

static int too_much(unsigned long request, void *argument)
{
	return request == UDMABUF_CREATE ? EINVAL : fake_default(request, argument);
}

static int no_memory(unsigned long request, void *argument)
{
	return request == UDMABUF_CREATE ? ENOMEM : fake_default(request, argument);
}

TEST_WITH(not_shared, setup, teardown)
{
	struct world *w = *state;
	int fd = w->memory.fd, length = 0;
	struct npumem_bo *bo;

	w->memory.fd = -1;
	assert_unshared(w, -EOPNOTSUPP, "memory without a memfd cannot be shared");
	w->memory.fd = fd;
	w->memory.size--;
	assert_unshared(w, -EINVAL, "4095 bytes from byte 0 of a memfd are not whole pages");
	w->memory.size++;
	w->memory.fd_offset = 1;
	assert_unshared(w, -EINVAL, "4096 bytes from byte 1 of a memfd are not whole pages");
	w->memory.fd_offset = 0;
	w->memory.fd = 1000;
	assert_unshared(w, -EBADF, "cannot tell the seals of descriptor 1000: Bad file descriptor");
	w->memory.fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_unshared(w, -EINVAL,
			"the memfd is not sealed by F_SEAL_SHRINK, or by F_SEAL_WRITE too");
	assert_int_equal(fcntl(w->memory.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
	assert_unshared(w, -EINVAL,
			"the memfd is not sealed by F_SEAL_SHRINK, or by F_SEAL_WRITE too");
	close(w->memory.fd);
	w->memory.fd = fd;
	fake.udmabuf_error = ENOENT;
	assert_unshared(w, -EOPNOTSUPP, "this kernel has no /dev/udmabuf");
	fake.udmabuf_error = ENODEV;
	assert_unshared(w, -EOPNOTSUPP, "this kernel has no /dev/udmabuf");
	fake.udmabuf_error = EACCES;
	assert_unshared(w, -EACCES, "cannot open /dev/udmabuf: Permission denied");
	fake.udmabuf_error = 0;
	fake.handler = too_much;
	assert_unshared(
		w, -EINVAL,
		"udmabuf does not take 4096 bytes of this memfd (its limit is size_limit_mb "
		"in /sys/module/udmabuf/parameters)");
	fake.handler = no_memory;
	assert_unshared(w, -ENOMEM, "cannot make a dma-buf of 4096 bytes: Cannot allocate memory");
	fake.handler = fake_default;
	/* The descriptor is a number of the process's. */
	fake.prime_error = ENOSYS;
	w->memory.flags = NPUMEM_USER_MEMORY_SHARE;
	assert_int_equal(npumem_bo_from_memory(w->device, &w->memory, &bo, &error), -ENOSYS);
	assert_int_equal(sscanf(error.text,
				"cannot import descriptor %d as a dma-buf: Function not "
				"implemented%n",
				&fd, &length),
			 1);
	assert_int_equal(length, strlen(error.text));
	assert_copied(w);
	w->memory.flags = NPUMEM_USER_MEMORY_COPY;
	fake.prime_error = 0;
	assert_copied(w);
}

static int full(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_BO_CREATE ? ENOMEM : fake_default(request, argument);
}

static int no_map(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET ? ENOENT :
							    fake_default(request, argument);
}

TEST_WITH(failures, setup, teardown)
{
	struct {
		struct npumem_user_memory memory;
		uint64_t more;
	} later = { .more = 1 };
	struct world *w = *state;
	struct npumem_bo *bo;

	assert_error(npumem_bo_from_memory(NULL, &w->memory, &bo, &error), -EINVAL,
		     "npumem_bo_from_memory: NULL argument");
	later.memory = w->memory;
	assert_int_equal(npumem_bo_from_memory_sized(w->device, &later.memory, sizeof(later), &bo,
						     &error),
			 -E2BIG);
	w->memory.flags = 3;
	assert_error(
		npumem_bo_from_memory(w->device, &w->memory, &bo, &error), -EINVAL,
		"flags 0x3 of memory are not one of NPUMEM_USER_MEMORY_SHARE, NPUMEM_USER_MEMORY_COPY, "
		"or none");
	w->memory.flags = 4;
	assert_error(
		npumem_bo_from_memory(w->device, &w->memory, &bo, &error), -EINVAL,
		"flags 0x4 of memory are not one of NPUMEM_USER_MEMORY_SHARE, NPUMEM_USER_MEMORY_COPY, "
		"or none");
	w->memory.flags = NPUMEM_USER_MEMORY_COPY;
	later.memory = (struct npumem_user_memory){ .address = w, .fd = -1 };
	assert_error(npumem_bo_from_memory(w->device, &later.memory, &bo, &error), -EINVAL,
		     "the memory has no address, or no bytes");
	later.memory = (struct npumem_user_memory){ .size = 1, .fd = -1 };
	assert_error(npumem_bo_from_memory(w->device, &later.memory, &bo, &error), -EINVAL,
		     "the memory has no address, or no bytes");
	fake.handler = full;
	assert_error(npumem_bo_from_memory(w->device, &w->memory, &bo, &error), -ENOMEM,
		     "cannot create a BO of 4096 bytes: Cannot allocate memory");
	fake.handler = no_map;
	fake.closed_handle = 0;
	assert_error(npumem_bo_from_memory(w->device, &w->memory, &bo, &error), -ENOENT,
		     "cannot map a BO: No such file or directory");
	assert_int_equal(fake.closed_handle, 5);
	fake.handler = fake_default;
	assert_int_equal(npumem_bo_new(w->device, 1, NPUMEM_BO_SYSTEM, 0, &bo, &error), 0);
	assert_false(npumem_bo_is_shared(bo));
	assert_error(npumem_bo_begin_access(bo, &error), -EINVAL,
		     "npumem_bo_begin_access: no BO of memory");
	assert_error(npumem_bo_end_access(bo, &error), -EINVAL,
		     "npumem_bo_end_access: no BO of memory");
	npumem_bo_free(bo);
	assert_error(npumem_bo_begin_access(NULL, &error), -EINVAL,
		     "npumem_bo_begin_access: no BO of memory");
	assert_error(npumem_bo_end_access(NULL, &error), -EINVAL,
		     "npumem_bo_end_access: no BO of memory");
}
