// SPDX-License-Identifier: MIT
/* Buffers (BOs): memory of the carveout or of the system that the CPU can map. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

#include "device.h"

int npumem_bo_wrap(struct npumem_device *device, uint32_t handle, uint64_t size,
		   struct npumem_bo **out, struct npumem_error *error)
{
	struct npumem_bo *bo = calloc(1, sizeof(*bo));

	if (!bo) {
		drmCloseBufferHandle(device->fd, handle);
		return npumem_fail_errno(error, -ENOMEM, "make a BO");
	}
	bo->device = npumem_device_get(device);
	bo->handle = handle;
	bo->size = size;
	bo->dma_buf = -1;
	*out = bo;
	return 0;
}

/* The carveout is full: say how full, if the device still answers. */
static int fail_full(struct npumem_device *device, uint64_t size, uint32_t bank,
		     struct npumem_error *error)
{
	struct drm_npumem_bank *banks;
	uint32_t count;

	if (!npumem_device_banks(device, &banks, &count, NULL)) {
		for (uint32_t i = 0; i < count; i++) {
			if (banks[i].index != bank)
				continue;
			npumem_fail(error, -ENOSPC,
				    "cannot create a BO of %llu bytes in bank %u: of %llu bytes "
				    "%llu are free, the largest range %llu",
				    (unsigned long long)size, bank,
				    (unsigned long long)banks[i].size,
				    (unsigned long long)banks[i].free,
				    (unsigned long long)banks[i].largest_free);
			free(banks);
			return -ENOSPC;
		}
		free(banks);
	}
	return npumem_fail_errno(error, -ENOSPC, "create a BO of %llu bytes in bank %u",
				 (unsigned long long)size, bank);
}

int npumem_bo_new(struct npumem_device *device, uint64_t size, uint32_t flags, uint32_t bank,
		  struct npumem_bo **out, struct npumem_error *error)
{
	struct drm_npumem_bo_create args = { .size = size, .flags = flags, .bank = bank };
	int err;

	if (!device || !out)
		return npumem_fail(error, -EINVAL, "npumem_bo_new: NULL argument");
	if (!size)
		return npumem_fail(error, -EINVAL, "a BO must have at least one byte");
	if (flags != NPUMEM_BO_CARVEOUT && flags != NPUMEM_BO_SYSTEM && flags != NPUMEM_BO_SHARED)
		return npumem_fail(error, -EINVAL,
				   "flags %#x of a BO are not one of NPUMEM_BO_CARVEOUT, "
				   "NPUMEM_BO_SYSTEM, NPUMEM_BO_SHARED",
				   flags);
	if (flags == NPUMEM_BO_SYSTEM && bank)
		return npumem_fail(error, -EINVAL, "bank %u was given for a BO in system memory",
				   bank);
	err = npumem_ioctl(device, DRM_IOCTL_NPUMEM_BO_CREATE, &args);
	if (err == -ENOSPC && flags != NPUMEM_BO_SYSTEM)
		return fail_full(device, size, bank, error);
	if (err)
		return npumem_fail_errno(error, err, "create a BO of %llu bytes",
					 (unsigned long long)size);
	return npumem_bo_wrap(device, args.handle, args.size, out, error);
}

int npumem_bo_import(struct npumem_device *device, int fd, struct npumem_bo **out,
		     struct npumem_error *error)
{
	uint32_t handle;
	off_t size;
	int err;

	if (!device || !out)
		return npumem_fail(error, -EINVAL, "npumem_bo_import: NULL argument");
	if (drmPrimeFDToHandle(device->fd, fd, &handle))
		return npumem_fail_errno(error, -errno, "import descriptor %d as a dma-buf", fd);
	size = lseek(fd, 0, SEEK_END);
	if (size < 0) {
		err = -errno;
		drmCloseBufferHandle(device->fd, handle);
		return npumem_fail_errno(error, err, "tell the size of dma-buf %d", fd);
	}
	return npumem_bo_wrap(device, handle, (uint64_t)size, out, error);
}

int npumem_bo_export(struct npumem_bo *bo, bool writable, int *fd, struct npumem_error *error)
{
	if (!bo || !fd)
		return npumem_fail(error, -EINVAL, "npumem_bo_export: NULL argument");
	if (drmPrimeHandleToFD(bo->device->fd, bo->handle, DRM_CLOEXEC | (writable ? DRM_RDWR : 0),
			       fd))
		return npumem_fail_errno(error, -errno, "export a BO as a dma-buf");
	return 0;
}

void npumem_bo_free(struct npumem_bo *bo)
{
	if (!bo)
		return;
	if (bo->map && bo->size)
		munmap(bo->map, bo->size);
	drmCloseBufferHandle(bo->device->fd, bo->handle);
	if (bo->dma_buf >= 0)
		close(bo->dma_buf);
	npumem_device_put(bo->device);
	free(bo);
}

uint32_t npumem_bo_handle(const struct npumem_bo *bo)
{
	return bo->handle;
}

uint64_t npumem_bo_size(const struct npumem_bo *bo)
{
	return bo->size;
}

/* Of nothing, as malloc(0) has one. mmap() maps no less than a byte, and NULL is not mapped. */
static void *address_of_none(void)
{
	static char none;

	return &none;
}

int npumem_bo_map(struct npumem_bo *bo, void **address, struct npumem_error *error)
{
	struct drm_npumem_bo_mmap_offset args = { 0 };
	void *map;
	int err;

	if (!bo || !address)
		return npumem_fail(error, -EINVAL, "npumem_bo_map: NULL argument");
	if (!bo->size)
		bo->map = address_of_none();
	if (!bo->map) {
		args.handle = bo->handle;
		err = npumem_call(bo->device, DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &args, error,
				  "map a BO");
		if (err)
			return err;
		map = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, bo->device->fd,
			   (off_t)args.offset);
		if (map == MAP_FAILED)
			return npumem_fail_errno(error, -errno, "map a BO of %llu bytes",
						 (unsigned long long)bo->size);
		bo->map = map;
	}
	*address = bo->map;
	return 0;
}

int npumem_bo_wait(struct npumem_bo *bo, int64_t deadline, struct npumem_error *error)
{
	struct drm_npumem_bo_wait args = { .deadline_ns = deadline };

	if (!bo)
		return npumem_fail(error, -EINVAL, "npumem_bo_wait: NULL argument");
	args.handle = bo->handle;
	return npumem_call(bo->device, DRM_IOCTL_NPUMEM_BO_WAIT, &args, error,
			   "wait for the jobs that use a BO");
}
