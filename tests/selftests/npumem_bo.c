// SPDX-License-Identifier: MIT
/*
 * Buffers: creation and its limits, mapping, what a closed buffer leaves
 * behind (nothing), sharing by PRIME.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_test.h"

#define PATTERN 0xa5

FIXTURE(bo)
{
	int fd;
	uint64_t page;
	struct drm_npumem_bank bank;
};

FIXTURE_SETUP(bo)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->page = sysconf(_SC_PAGESIZE);
	ASSERT_EQ(0, npu_bank(self->fd, &self->bank));
}

FIXTURE_TEARDOWN(bo)
{
	struct drm_npumem_bank after;
	int fd = npu_open();

	/* Whatever a test did: its buffers go with its file. */
	close(self->fd);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, npu_bank(fd, &after));
	EXPECT_EQ(self->bank.free, after.free);
	EXPECT_EQ(self->bank.largest_free, after.largest_free);
	close(fd);
}

FIXTURE_VARIANT(bo)
{
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(bo, carveout){
	.flags = NPUMEM_BO_CARVEOUT,
};

FIXTURE_VARIANT_ADD(bo, system){
	.flags = NPUMEM_BO_SYSTEM,
};

TEST_F(bo, create_rounds_up_and_zeroes)
{
	struct drm_npumem_bo_create args = { .size = 1, .flags = variant->flags };
	uint8_t *mem;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_CREATE, &args));
	EXPECT_NE(0, args.handle);
	EXPECT_EQ(self->page, args.size);

	mem = npu_bo_map(self->fd, args.handle, args.size);
	ASSERT_NE(NULL, mem);
	EXPECT_TRUE(npu_all_bytes(mem, args.size, 0));
	munmap(mem, args.size);
}

TEST_F(bo, mappings_of_one_buffer_show_the_same_bytes)
{
	uint64_t size = 5 * self->page;
	uint8_t *a, *b;
	uint32_t handle;

	ASSERT_EQ(0, npu_bo_create(self->fd, size, variant->flags, &handle));
	a = npu_bo_map(self->fd, handle, size);
	b = npu_bo_map(self->fd, handle, size);
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	memset(a, PATTERN, size);
	EXPECT_TRUE(npu_all_bytes(b, size, PATTERN));
	b[size - 1] = 1;
	EXPECT_EQ(1, a[size - 1]);
	munmap(a, size);
	munmap(b, size);
}

/* No page of it is there yet when a mapping falls into pieces. */
TEST_F(bo, pieces_of_a_mapping_show_their_own_bytes)
{
	uint64_t i, pages = 5, size = pages * self->page;
	uint8_t *a, *b;
	uint32_t handle;

	ASSERT_EQ(0, npu_bo_create(self->fd, size, variant->flags, &handle));
	a = npu_bo_map(self->fd, handle, size);
	b = npu_bo_map(self->fd, handle, size);
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	for (i = 0; i < pages; i++)
		memset(b + i * self->page, i + 1, self->page);
	ASSERT_EQ(0, munmap(a, self->page));
	ASSERT_EQ(0, mprotect(a + 3 * self->page, self->page, PROT_READ));
	for (i = 1; i < pages; i++) {
		EXPECT_TRUE(npu_all_bytes(a + i * self->page, self->page, i + 1))
		{
			TH_LOG("page %u", (unsigned int)i);
		}
	}
	munmap(a + self->page, size - self->page);
	munmap(b, size);
}

TEST_F(bo, buffers_do_not_overlap)
{
	uint8_t *a, *b;
	uint32_t ha, hb;

	ASSERT_EQ(0, npu_bo_create(self->fd, 1, variant->flags, &ha));
	ASSERT_EQ(0, npu_bo_create(self->fd, 1, variant->flags, &hb));
	EXPECT_NE(ha, hb);
	a = npu_bo_map(self->fd, ha, self->page);
	b = npu_bo_map(self->fd, hb, self->page);
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	memset(a, 1, self->page);
	memset(b, 2, self->page);
	EXPECT_TRUE(npu_all_bytes(a, self->page, 1));
	EXPECT_TRUE(npu_all_bytes(b, self->page, 2));
	munmap(a, self->page);
	munmap(b, self->page);
}

TEST_F(bo, create_bad_arguments)
{
	static const struct {
		const char *what;
		struct drm_npumem_bo_create args;
	} cases[] = {
		{ "no size", { .size = 0 } },
		{ "pad", { .size = 1, .pad = 1 } },
		{ "unknown flag", { .size = 1, .flags = 1u << 31 } },
		{ "both kinds", { .size = 1, .flags = NPUMEM_BO_CARVEOUT | NPUMEM_BO_SYSTEM } },
		{ "carveout and shared",
		  { .size = 1, .flags = NPUMEM_BO_CARVEOUT | NPUMEM_BO_SHARED } },
		{ "no such bank", { .size = 1, .bank = 0xfffffff0 } },
	};
	struct drm_npumem_bo_create args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		args = cases[i].args;
		args.flags |= variant->flags;
		EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_CREATE, &args))
		TH_LOG("case: %s", cases[i].what);
	}
	args = (struct drm_npumem_bo_create){ .size = 1 };
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_CREATE, &args));
	/* All of these but for what is wrong with them are fine. */
	args = (struct drm_npumem_bo_create){ .size = 1, .flags = variant->flags };
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_CREATE, &args));
}

TEST_F(bo, output_handle_is_not_an_input)
{
	struct drm_npumem_bo_create args = { .size = 1,
					     .flags = variant->flags,
					     .handle = 0xffffffff };

	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_CREATE, &args));
	EXPECT_NE(0xffffffff, args.handle);
}

TEST_F(bo, closed_handle_is_gone)
{
	struct drm_npumem_bo_mmap_offset map = { 0 };
	struct drm_npumem_bo_wait wait = { 0 };
	uint32_t handle;

	ASSERT_EQ(0, npu_bo_create(self->fd, 1, variant->flags, &handle));
	map.handle = wait.handle = handle;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &map));
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_WAIT, &wait));
	ASSERT_EQ(0, npu_bo_close(self->fd, handle));
	EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &map));
	EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_WAIT, &wait));
	EXPECT_EQ(-EINVAL, npu_bo_close(self->fd, handle));
}

TEST_F(bo, mmap_offset_and_wait_bad_arguments)
{
	struct drm_npumem_bo_mmap_offset map = { .pad = 1 };
	struct drm_npumem_bo_wait wait = { .pad = 1 };
	uint32_t handle;

	ASSERT_EQ(0, npu_bo_create(self->fd, 1, variant->flags, &handle));
	map.handle = wait.handle = handle;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &map));
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_WAIT, &wait));
}

TEST_F(bo, wait_of_an_idle_buffer_returns_at_once)
{
	static const int64_t times[] = { INT64_MIN, -1, 0, 1, INT64_MAX };
	unsigned int i;
	uint32_t handle;

	ASSERT_EQ(0, npu_bo_create(self->fd, 1, variant->flags, &handle));
	for (i = 0; i < ARRAY_SIZE(times); i++)
		EXPECT_EQ(0, npu_bo_wait(self->fd, handle, times[i]));
}

TEST_F(bo, mmap_stays_inside)
{
	struct drm_npumem_bo_mmap_offset args = { 0 };
	uint64_t size = 2 * self->page;
	uint32_t handle;
	void *mem;

	ASSERT_EQ(0, npu_bo_create(self->fd, size, variant->flags, &handle));
	args.handle = handle;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &args));
	mem = mmap(NULL, size, PROT_READ, MAP_SHARED, self->fd, args.offset);
	ASSERT_NE(MAP_FAILED, mem);
	munmap(mem, size);

	/* One page too many; starting inside; and an offset of nobody. */
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, size + self->page, PROT_READ, MAP_SHARED, self->fd, args.offset));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, size, PROT_READ, MAP_SHARED, self->fd, args.offset + self->page));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, size, PROT_READ, MAP_SHARED, self->fd, args.offset + (1ull << 40)));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(bo, prime_shares_between_files_on_purpose)
{
	uint64_t size = 3 * self->page;
	int other, dmabuf;
	uint32_t handle, theirs;
	uint8_t *mine, *his;

	other = npu_open();
	ASSERT_GE(other, 0);
	ASSERT_EQ(0, npu_bo_create(self->fd, size, variant->flags, &handle));
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, handle, DRM_CLOEXEC | DRM_RDWR, &dmabuf));
	ASSERT_EQ(0, drmPrimeFDToHandle(other, dmabuf, &theirs));

	mine = npu_bo_map(self->fd, handle, size);
	his = npu_bo_map(other, theirs, size);
	ASSERT_NE(NULL, mine);
	ASSERT_NE(NULL, his);
	memset(mine, PATTERN, size);
	EXPECT_TRUE(npu_all_bytes(his, size, PATTERN));

	/* The bytes outlive the file that made them. */
	munmap(mine, size);
	ASSERT_EQ(0, npu_bo_close(self->fd, handle));
	EXPECT_TRUE(npu_all_bytes(his, size, PATTERN));
	munmap(his, size);
	close(dmabuf);
	close(other);
}

TEST_F(bo, too_large)
{
	int err = variant->flags == NPUMEM_BO_CARVEOUT ? -ENOSPC : -ENOMEM;
	uint32_t handle;

	EXPECT_EQ(err, npu_bo_create(self->fd, 1ull << 50, variant->flags, &handle));
	EXPECT_EQ(err, npu_bo_create(self->fd, UINT64_MAX, variant->flags, &handle));
	EXPECT_EQ(err, npu_bo_create(self->fd, UINT64_MAX - self->page, variant->flags, &handle));
}

FIXTURE(carveout)
{
	int fd;
	uint64_t page;
	struct drm_npumem_bank bank;
};

FIXTURE_SETUP(carveout)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->page = sysconf(_SC_PAGESIZE);
	ASSERT_EQ(0, npu_bank(self->fd, &self->bank));
}

FIXTURE_TEARDOWN(carveout)
{
	close(self->fd);
}

TEST_F(carveout, bank_tells_the_truth)
{
	struct drm_npumem_bank *bank = &self->bank, now;
	uint32_t handle;

	EXPECT_EQ(0, bank->index);
	EXPECT_NE('\0', bank->name[0]);
	EXPECT_EQ('\0', bank->name[sizeof(bank->name) - 1]);
	EXPECT_EQ(bank->size, bank->free);
	EXPECT_EQ(bank->size, bank->largest_free);
	EXPECT_NE(0, bank->alignment);
	EXPECT_EQ(0, bank->alignment & (bank->alignment - 1));
	EXPECT_EQ(0, bank->alignment % self->page);
	EXPECT_EQ(0, bank->size % bank->alignment);

	ASSERT_EQ(0, npu_bo_create(self->fd, 1, NPUMEM_BO_CARVEOUT, &handle));
	ASSERT_EQ(0, npu_bank(self->fd, &now));
	EXPECT_GE(bank->free - self->page, now.free);
	EXPECT_LE(bank->free - bank->alignment, now.free);
	/* What is left starts, or ends, at a multiple of the alignment. */
	EXPECT_EQ(0, now.largest_free % self->page);

	ASSERT_EQ(0, npu_bo_create(self->fd, 1, NPUMEM_BO_SYSTEM, &handle));
	ASSERT_EQ(0, npu_bank(self->fd, bank));
	EXPECT_EQ(now.free, bank->free);
}

TEST_F(carveout, full)
{
	uint32_t first, handle;
	int err;

	EXPECT_EQ(-ENOSPC,
		  npu_bo_create(self->fd, self->bank.size + 1, NPUMEM_BO_CARVEOUT, &handle));
	EXPECT_EQ(-ENOSPC, npu_bo_create(self->fd, 1ull << 50, NPUMEM_BO_CARVEOUT, &handle));

	ASSERT_EQ(0, npu_bo_create(self->fd, self->bank.size / 4, NPUMEM_BO_CARVEOUT, &first));
	do {
		err = npu_bo_create(self->fd, self->bank.size / 4, NPUMEM_BO_CARVEOUT, &handle);
	} while (!err);
	EXPECT_EQ(-ENOSPC, err);

	/* One goes, another fits, and no second one. */
	ASSERT_EQ(0, npu_bo_close(self->fd, first));
	EXPECT_EQ(0, npu_bo_create(self->fd, self->bank.size / 4, NPUMEM_BO_CARVEOUT, &handle));
	EXPECT_EQ(-ENOSPC,
		  npu_bo_create(self->fd, self->bank.size / 4, NPUMEM_BO_CARVEOUT, &handle));
}

TEST_F(carveout, whole_bank_is_scrubbed_between_clients)
{
	size_t size = self->bank.size;
	uint32_t handle;
	uint8_t *mem;
	int other;

	ASSERT_EQ(0, npu_bo_create(self->fd, size, NPUMEM_BO_CARVEOUT, &handle));
	mem = npu_bo_map(self->fd, handle, size);
	ASSERT_NE(NULL, mem);
	memset(mem, PATTERN, size);
	munmap(mem, size);
	close(self->fd);

	other = npu_open();
	ASSERT_GE(other, 0);
	ASSERT_EQ(0, npu_bo_create(other, size, NPUMEM_BO_CARVEOUT, &handle));
	mem = npu_bo_map(other, handle, size);
	ASSERT_NE(NULL, mem);
	EXPECT_TRUE(npu_all_bytes(mem, size, 0));
	munmap(mem, size);
	close(other);

	self->fd = npu_open();
}

/*
 * A mapping that outlives its handle never shows, and never changes, bytes
 * that another client has got since.
 */
TEST_F(carveout, stale_mapping_reaches_nobody)
{
	size_t size = self->bank.size / 2;
	struct drm_npumem_bank now;
	uint8_t *stale, *theirs;
	uint32_t handle;
	int other;

	ASSERT_EQ(0, npu_bo_create(self->fd, size, NPUMEM_BO_CARVEOUT, &handle));
	stale = npu_bo_map(self->fd, handle, size);
	ASSERT_NE(NULL, stale);
	memset(stale, PATTERN, size);
	ASSERT_EQ(0, npu_bo_close(self->fd, handle));

	/* Everything that can be had. */
	other = npu_open();
	ASSERT_GE(other, 0);
	ASSERT_EQ(0, npu_bank(other, &now));
	ASSERT_EQ(0, npu_bo_create(other, now.largest_free, NPUMEM_BO_CARVEOUT, &handle));
	theirs = npu_bo_map(other, handle, now.largest_free);
	ASSERT_NE(NULL, theirs);
	EXPECT_TRUE(npu_all_bytes(theirs, now.largest_free, 0));
	memset(stale, 0x11, size);
	EXPECT_TRUE(npu_all_bytes(theirs, now.largest_free, 0));
	memset(theirs, 0x22, now.largest_free);
	EXPECT_TRUE(npu_all_bytes(stale, size, 0x11));

	munmap(stale, size);
	munmap(theirs, now.largest_free);
	close(other);
}

TEST_HARNESS_MAIN
