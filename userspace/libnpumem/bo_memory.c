// SPDX-License-Identifier: MIT
/* Buffers that are the caller's memory, by udmabuf, or a copy of it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "npumem_memory.h"
#include "sized.h"

#define UDMABUF_PATH "/dev/udmabuf"

static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

int npumem_memory_new(uint64_t size, struct npumem_user_memory *memory, struct npumem_error *error)
{
	uint64_t page = page_size();
	void *map;
	int fd, err;

	if (!memory)
		return npumem_fail(error, -EINVAL, "npumem_memory_new: NULL argument");
	if (!size || size > INT64_MAX - page)
		return npumem_fail(error, -EINVAL, "memory cannot have %llu bytes",
				   (unsigned long long)size);
	size = (size + page - 1) & ~(page - 1);
	fd = memfd_create("npumem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return npumem_fail_errno(error, -errno, "make a memfd");
	if (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		err = -errno;
		goto out;
	}
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		err = -errno;
		goto out;
	}
	*memory = (struct npumem_user_memory){ .address = map, .size = size, .fd = fd };
	return 0;
out:
	close(fd);
	return npumem_fail_errno(error, err, "make memory of %llu bytes", (unsigned long long)size);
}

void npumem_memory_free(struct npumem_user_memory *memory)
{
	if (!memory)
		return;
	munmap(memory->address, memory->size);
	close(memory->fd);
}

/* What the kernel says by one errno is said apart. */
static int check_sharing(const struct npumem_user_memory *memory, struct npumem_error *error)
{
	uint64_t page = page_size();
	int seals;

	if (memory->fd < 0)
		return npumem_fail(error, -EOPNOTSUPP, "memory without a memfd cannot be shared");
	if (memory->size % page || memory->fd_offset % page)
		return npumem_fail(error, -EINVAL,
				   "%llu bytes from byte %llu of a memfd are not whole pages",
				   (unsigned long long)memory->size,
				   (unsigned long long)memory->fd_offset);
	seals = fcntl(memory->fd, F_GET_SEALS);
	if (seals < 0)
		return npumem_fail_errno(error, -errno, "tell the seals of descriptor %d",
					 memory->fd);
	if (!(seals & F_SEAL_SHRINK) || seals & F_SEAL_WRITE)
		return npumem_fail(error, -EINVAL,
				   "the memfd is not sealed by F_SEAL_SHRINK, or by F_SEAL_WRITE "
				   "too");
	return 0;
}

/* A dma-buf of the memory; the caller's from then on. */
static int make_dma_buf(const struct npumem_user_memory *memory, int *fd,
			struct npumem_error *error)
{
	struct udmabuf_create create = {
		.memfd = (uint32_t)memory->fd,
		.flags = UDMABUF_FLAGS_CLOEXEC,
		.offset = memory->fd_offset,
		.size = memory->size,
	};
	int device, err = check_sharing(memory, error);

	if (err)
		return err;
	device = open(UDMABUF_PATH, O_RDWR | O_CLOEXEC);
	if (device < 0 && (errno == ENOENT || errno == ENXIO || errno == ENODEV))
		return npumem_fail(error, -EOPNOTSUPP, "this kernel has no %s", UDMABUF_PATH);
	if (device < 0)
		return npumem_fail_errno(error, -errno, "open %s", UDMABUF_PATH);
	*fd = ioctl(device, UDMABUF_CREATE, &create);
	err = *fd < 0 ? -errno : 0;
	close(device);
	if (err == -EINVAL)
		return npumem_fail(error, err,
				   "udmabuf does not take %llu bytes of this memfd (its limit is "
				   "size_limit_mb in /sys/module/udmabuf/parameters)",
				   (unsigned long long)memory->size);
	return err ? npumem_fail_errno(error, err, "make a dma-buf of %llu bytes",
				       (unsigned long long)memory->size) :
		     0;
}

static int share(struct npumem_device *device, const struct npumem_user_memory *memory,
		 struct npumem_bo **out, struct npumem_error *error)
{
	int fd = -1, err = make_dma_buf(memory, &fd, error);

	if (err)
		return err;
	err = npumem_bo_import(device, fd, out, error);
	if (err)
		close(fd);
	else
		(*out)->dma_buf = fd;
	return err;
}

static int copy(struct npumem_device *device, const struct npumem_user_memory *memory,
		struct npumem_bo **out, struct npumem_error *error)
{
	int err = npumem_bo_new(device, memory->size, NPUMEM_BO_SYSTEM, 0, out, error);
	void *map;

	if (err)
		return err;
	err = npumem_bo_map(*out, &map, error);
	if (err)
		npumem_bo_free(*out);
	else
		memcpy(map, memory->address, memory->size);
	return err;
}

int npumem_bo_from_memory_sized(struct npumem_device *device,
				const struct npumem_user_memory *given, size_t given_size,
				struct npumem_bo **out, struct npumem_error *error)
{
	struct npumem_user_memory memory;
	struct npumem_error unshared;
	struct npumem_bo *bo;
	int err;

	if (!device || !given || !out)
		return npumem_fail(error, -EINVAL, "npumem_bo_from_memory: NULL argument");
	if (!sized_take(&memory, sizeof(memory), given, given_size))
		return npumem_fail_later(error, "memory");
	if (!memory.address || !memory.size)
		return npumem_fail(error, -EINVAL, "the memory has no address, or no bytes");
	if (memory.flags & ~(NPUMEM_USER_MEMORY_SHARE | NPUMEM_USER_MEMORY_COPY) ||
	    memory.flags == (NPUMEM_USER_MEMORY_SHARE | NPUMEM_USER_MEMORY_COPY))
		return npumem_fail(error, -EINVAL,
				   "flags %#x of memory are not one of NPUMEM_USER_MEMORY_SHARE, "
				   "NPUMEM_USER_MEMORY_COPY, or none",
				   memory.flags);
	if (memory.flags & NPUMEM_USER_MEMORY_SHARE)
		err = share(device, &memory, &bo, error);
	else if (memory.flags & NPUMEM_USER_MEMORY_COPY || share(device, &memory, &bo, &unshared))
		err = copy(device, &memory, &bo, error);
	else
		err = 0;
	if (err)
		return err;
	bo->memory = memory.address;
	bo->memory_size = memory.size;
	*out = bo;
	return 0;
}

bool npumem_bo_is_shared(const struct npumem_bo *bo)
{
	return bo->dma_buf >= 0;
}

static int sync_dma_buf(const struct npumem_bo *bo, uint64_t flags, struct npumem_error *error)
{
	struct dma_buf_sync sync = { .flags = flags | DMA_BUF_SYNC_RW };

	while (ioctl(bo->dma_buf, DMA_BUF_IOCTL_SYNC, &sync) < 0)
		if (errno != EINTR && errno != EAGAIN)
			return npumem_fail_errno(error, -errno, "access the memory of a dma-buf");
	return 0;
}

/* A copy is mapped since it was made. */
int npumem_bo_begin_access(struct npumem_bo *bo, struct npumem_error *error)
{
	if (!bo || !bo->memory)
		return npumem_fail(error, -EINVAL, "npumem_bo_begin_access: no BO of memory");
	if (npumem_bo_is_shared(bo))
		return sync_dma_buf(bo, DMA_BUF_SYNC_START, error);
	memcpy(bo->memory, bo->map, bo->memory_size);
	return 0;
}

int npumem_bo_end_access(struct npumem_bo *bo, struct npumem_error *error)
{
	if (!bo || !bo->memory)
		return npumem_fail(error, -EINVAL, "npumem_bo_end_access: no BO of memory");
	if (npumem_bo_is_shared(bo))
		return sync_dma_buf(bo, DMA_BUF_SYNC_END, error);
	memcpy(bo->map, bo->memory, bo->memory_size);
	return 0;
}
