// SPDX-License-Identifier: MIT
#include "bound.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/dma-buf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void bound_unmap(struct bound *b)
{
	if (b->map)
		munmap(b->map, b->map_size);
	if (b->fd >= 0)
		close(b->fd);
	b->map = NULL;
	b->address = NULL;
	b->fd = -1;
}

/*
 * What somebody may shrink meanwhile would end the program by SIGBUS: a dma-buf keeps its size, and
 * memory that is sealed against it.
 */
static int check_lasting(const struct bound *b, struct why *why)
{
	/* No such access: a dma-buf says EINVAL, and others that they know no such call. */
	const struct dma_buf_sync none = { .flags = ~0ull };
	int seals;

	if (!ioctl(b->fd, DMA_BUF_IOCTL_SYNC, &none) || errno == EINVAL)
		return 0;
	seals = fcntl(b->fd, F_GET_SEALS);
	if (seals >= 0 && seals & F_SEAL_SHRINK)
		return 0;
	return why_fail(why, -EBADF,
			"the descriptor is neither a dma-buf nor memory that is sealed against "
			"being shrunk (F_SEAL_SHRINK)");
}

static int check_range(const struct bound *b, uint64_t offset, struct why *why)
{
	struct stat status;
	off_t end;

	/* Dma-bufs say their size by seeking only; of a file, the position is the caller's, too. */
	if (!fstat(b->fd, &status) && S_ISREG(status.st_mode))
		end = status.st_size;
	else
		end = lseek(b->fd, 0, SEEK_END);
	if (end < 0)
		return why_fail(why, -EBADF, "the descriptor has no size: %s", strerror(errno));
	if (offset > (uint64_t)end || b->bytes > (uint64_t)end - offset)
		return why_fail(why, -ERANGE,
				"the tensor has %" PRIu64 " bytes, and from byte %" PRIu64
				" on the dma-buf has %" PRIu64,
				b->bytes, offset,
				offset > (uint64_t)end ? 0 : (uint64_t)end - offset);
	return 0;
}

static int map_pages(struct bound *b, uint64_t offset, struct why *why)
{
	uint64_t within = offset % (uint64_t)sysconf(_SC_PAGESIZE);
	void *map;

	b->map_size = (size_t)(within + b->bytes);
	map = mmap(NULL, b->map_size, PROT_READ, MAP_SHARED, b->fd, (off_t)(offset - within));
	if (map == MAP_FAILED)
		return why_fail(why, -errno, "the dma-buf cannot be mapped: %s", strerror(errno));
	b->map = map;
	b->address = (char *)map + within;
	return 0;
}

int bound_map(struct bound *b, int dma_buf, uint64_t offset, struct why *why)
{
	int err;

	if (offset % BOUND_ALIGNMENT)
		return why_fail(why, -EINVAL, "byte %" PRIu64 " is no multiple of %d", offset,
				BOUND_ALIGNMENT);
	b->fd = fcntl(dma_buf, F_DUPFD_CLOEXEC, 0);
	if (b->fd < 0)
		return why_fail(why, -errno, "descriptor %d: %s", dma_buf, strerror(errno));
	err = check_range(b, offset, why);
	if (!err)
		err = check_lasting(b, why);
	if (!err)
		err = map_pages(b, offset, why);
	if (err)
		bound_unmap(b);
	return err;
}

static int synchronize(const struct bound *b, uint64_t when, struct why *why)
{
	struct dma_buf_sync access = { .flags = DMA_BUF_SYNC_READ | when };
	int result;

	do
		result = ioctl(b->fd, DMA_BUF_IOCTL_SYNC, &access);
	while (result < 0 && (errno == EINTR || errno == EAGAIN));
	if (result < 0 && errno != ENOTTY)
		return why_fail(why, -errno, "DMA_BUF_IOCTL_SYNC: %s", strerror(errno));
	return 0;
}

int bound_begin(const struct bound *b, struct why *why)
{
	return synchronize(b, DMA_BUF_SYNC_START, why);
}

int bound_end(const struct bound *b, struct why *why)
{
	return synchronize(b, DMA_BUF_SYNC_END, why);
}
