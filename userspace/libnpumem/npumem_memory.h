/* SPDX-License-Identifier: MIT */
/*
 * libnpumem: memory of the caller's own as a buffer, without a copy where the kernel can.
 *
 * docs/runtime.md walks through the calls. The conventions are those of npumem.h.
 */
#ifndef NPUMEM_MEMORY_H
#define NPUMEM_MEMORY_H

#include "npumem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* It is an error if the memory cannot be shared. */
#define NPUMEM_USER_MEMORY_SHARE (1u << 0)
/* The memory is not shared. Needed for runs on engines in a process: these take no dma-buf. */
#define NPUMEM_USER_MEMORY_COPY	 (1u << 1)

/**
 * struct npumem_user_memory - memory of the caller's; zero = default, but for @fd
 * @address: first byte
 * @size: bytes
 * @fd_offset: of the first byte in @fd
 * @fd: memfd that is mapped at @address, so that it can be shared; -1: it is none
 * @flags: NPUMEM_USER_MEMORY_SHARE, NPUMEM_USER_MEMORY_COPY, or neither: shared where that is
 *	possible
 */
struct npumem_user_memory {
	void *address;
	uint64_t size;
	uint64_t fd_offset;
	int fd;
	uint32_t flags;
};

/**
 * npumem_memory_new() - memory that can be shared with a device, of zero bytes
 * @size: bytes, > 0; rounded up to whole pages
 * @memory: out: a memfd that cannot shrink, and where it is mapped; no flags
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: NULL argument, or no bytes; -EMFILE, -ENFILE: no descriptor is left; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_memory_new(uint64_t size, struct npumem_user_memory *memory,
				    struct npumem_error *error);
/**
 * npumem_memory_free() - give up memory of npumem_memory_new()
 * @memory: NULL does nothing. BOs that it is shared with keep its pages
 */
NPUMEM_EXPORT void npumem_memory_free(struct npumem_user_memory *memory);

NPUMEM_EXPORT int npumem_bo_from_memory_sized(struct npumem_device *device,
					      const struct npumem_user_memory *memory,
					      size_t memory_size, struct npumem_bo **out,
					      struct npumem_error *error);
/**
 * npumem_bo_from_memory() - buffer for npumem_run_bind() that is the caller's memory, or a copy of
 * it
 * @device: the device
 * @memory: which stays the caller's, and mapped as long as the BO lives
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * Whole pages of a memfd that is sealed by F_SEAL_SHRINK can be shared, if the kernel has udmabuf
 * and the caller may open /dev/udmabuf; nothing is copied then. npumem_bo_is_shared() says which it
 * is; the caller's code is the same: jobs see the bytes as they are now, or at the last
 * npumem_bo_end_access(). Between npumem_bo_begin_access() and that the memory is the caller's.
 *
 * With NPUMEM_USER_MEMORY_SHARE also: -EOPNOTSUPP: @memory has no memfd, or the kernel no udmabuf;
 * -EACCES: /dev/udmabuf may not be opened; -EINVAL: no whole pages, not sealed, or more than
 * udmabuf takes; and what npumem_bo_import() gives. In any case -EINVAL: NULL argument, no bytes,
 * flags that are unknown or exclude each other; -ENOMEM.
 */
static inline int npumem_bo_from_memory(struct npumem_device *device,
					const struct npumem_user_memory *memory,
					struct npumem_bo **out, struct npumem_error *error)
{
	return npumem_bo_from_memory_sized(device, memory, sizeof(*memory), out, error);
}
/**
 * npumem_bo_is_shared() - whether a buffer is the caller's memory itself
 * @bo: the buffer
 *
 * False of a copy, and of every buffer that npumem_bo_from_memory() has not made.
 */
NPUMEM_EXPORT bool npumem_bo_is_shared(const struct npumem_bo *bo);
/**
 * npumem_bo_begin_access() - the caller's memory has what jobs have written
 * @bo: of npumem_bo_from_memory(); no job that uses it may be under way (npumem_bo_wait())
 * @error: filled in if the call fails; may be NULL
 *
 * Of a copy all bytes are copied back. -EINVAL: NULL argument, or no such BO.
 */
NPUMEM_EXPORT int npumem_bo_begin_access(struct npumem_bo *bo, struct npumem_error *error);
/**
 * npumem_bo_end_access() - jobs see what the caller's memory has
 * @bo: of npumem_bo_from_memory(); no job that uses it may be under way
 * @error: filled in if the call fails; may be NULL
 *
 * Of a copy all bytes are copied. The caller leaves the memory alone until
 * npumem_bo_begin_access(). -EINVAL: NULL argument, or no such BO.
 */
NPUMEM_EXPORT int npumem_bo_end_access(struct npumem_bo *bo, struct npumem_error *error);

#ifdef __cplusplus
}
#endif

#endif /* NPUMEM_MEMORY_H */
