// SPDX-License-Identifier: MIT
/*
 * Jobs on real hardware, as far as QEMU's device "edu" is that (kernel/edu/edu.c): copies by
 * DMA between arena, host BO, bound BOs and dma-bufs; relocations; what the device does not
 * reach; two jobs at a time, one of which hangs; power; and the device going away.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_edu_test.h"

FIXTURE(edu)
{
	int fd;
	struct model model;
	struct world w;
};

FIXTURE_VARIANT(edu)
{
	const char *parameters;
};

FIXTURE_VARIANT_ADD(edu, device){
	.parameters = EDU_ALL " timeout_ms=3000",
};

FIXTURE_SETUP(edu)
{
	self->fd = edu_open(variant->parameters);
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
}

FIXTURE_TEARDOWN(edu)
{
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
	EXPECT_EQ(0, npu_module_unload(EDU_MODULE));
}

TEST_F(edu, listed)
{
	struct drm_npumem_engine engines[8] = { 0 };
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_ENGINES, engines);

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &query));
	EXPECT_STREQ(NPUMEM_EDU_NAME, engines[0].name);
	EXPECT_EQ(NPUMEM_EDU_VERSION, engines[0].version);
	EXPECT_EQ(-EWOULDBLOCK, npu_module_unload(EDU_MODULE));
}

/* X to A to B to Y, one job each, two of which the engine has at a time. */
TEST_F(edu, chain)
{
	struct drm_npumem_job jobs[CHAIN_STEPS];
	struct drm_npumem_submit args;
	uint32_t i;

	for (i = 0; i < CHAIN_STEPS; i++)
		jobs[i] = edu_job(&self->w, i, 1, true);
	edu_fill(self->w.arena, CHAIN_SIZE, 1);
	ASSERT_EQ(0, world_submit(&self->w, jobs, CHAIN_STEPS, &args));
	ASSERT_EQ(0, world_wait(&self->w));
	for (i = 1; i < CHAIN_TENSORS; i++)
		EXPECT_TRUE(edu_same(self->w.arena + i * CHAIN_SIZE, self->w.arena, CHAIN_SIZE));
	EXPECT_EQ(0, world_reset(&self->w));
}

/* The states say no, whoever the engine is. */
TEST_F(edu, states_are_enforced)
{
	EXPECT_EQ(-EPERM, edu_submit(&self->w, CHAIN_MIX, 1, true));
	EXPECT_EQ(0, edu_submit(&self->w, CHAIN_COPY, 1, false));
	EXPECT_EQ(-EPERM, edu_submit(&self->w, CHAIN_COPY, 1, true));
	EXPECT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(npu_all_bytes(self->w.arena, self->w.arena_size, 0));
}

/* Pieces of the device's buffer, and of the memory's pages: loads, spills, fills, stores. */
TEST_F(edu, transfers)
{
	struct drm_npumem_run_query query;
	struct model m = model_spill();
	struct world w;
	uint32_t i;

	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	memset(w.host, 0xee, w.host_size);
	edu_fill(w.host + spill_host[SPILL_X], SPILL_SIZE, 2);
	edu_fill(w.host + spill_host[SPILL_P], SPILL_SIZE, 3);
	/* A is what X is, B and C what P is; Y has three inputs, so it is not copied. */
	for (i = 0; i < SPILL_POSITIONS; i++)
		ASSERT_EQ(0, edu_submit(&w, i, 1,
					i == SPILL_AT_A || i == SPILL_AT_B || i == SPILL_AT_C))
	TH_LOG("position %u", i);
	ASSERT_EQ(0, world_wait(&w));
	/* A's copy was made of X by way of the arena. */
	EXPECT_TRUE(
		edu_same(w.host + spill_host[SPILL_A], w.host + spill_host[SPILL_X], SPILL_SIZE));
	ASSERT_EQ(0, world_query(&w, &query));
	EXPECT_EQ(2 * SPILL_SIZE, query.load_bytes);
	EXPECT_EQ(SPILL_SIZE, query.spill_bytes);
	EXPECT_EQ(2 * SPILL_SIZE, query.fill_bytes);
	EXPECT_EQ(SPILL_SIZE, query.store_bytes);
	world_close(&w);
	model_free(&m);
}

/* -------------------------------------------------------------- bound memory */

/* System memory, across the border of two pages, to the carveout, and back. */
TEST_F(edu, bound_memory)
{
	const uint64_t cut = 4096 - 64;
	struct model m = edu_model_bound();
	uint32_t system, carveout;
	uint8_t *a, *b;
	struct world w;

	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	ASSERT_EQ(0, npu_bo_create(self->fd, 8192, NPUMEM_BO_SYSTEM, &system));
	ASSERT_EQ(0, npu_bo_create(self->fd, 8192, NPUMEM_BO_CARVEOUT, &carveout));
	a = npu_bo_map(self->fd, system, 8192);
	b = npu_bo_map(self->fd, carveout, 8192);
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	edu_fill(a + cut, EXTERNAL_SIZE, 4);
	ASSERT_EQ(0, edu_copy_bound(&w, system, cut, carveout, 64));
	EXPECT_TRUE(edu_same(b + 64, a + cut, EXTERNAL_SIZE));
	EXPECT_TRUE(npu_all_bytes(b, 64, 0));
	EXPECT_TRUE(npu_all_bytes(b + 64 + EXTERNAL_SIZE, 8192 - 64 - EXTERNAL_SIZE, 0));
	ASSERT_EQ(0, world_reset(&w));
	/* Both in one BO, and its mapping is one. */
	ASSERT_EQ(0, edu_copy_bound(&w, system, cut, system, 0));
	EXPECT_TRUE(edu_same(a, b + 64, EXTERNAL_SIZE));
	munmap(a, 8192);
	munmap(b, 8192);
	npu_bo_close(self->fd, system);
	npu_bo_close(self->fd, carveout);
	world_close(&w);
	model_free(&m);
}

/* What another device exports: of the npumem device that is "sim". */
TEST_F(edu, imported_memory)
{
	struct model m = edu_model_bound();
	uint32_t theirs, ours, imported;
	int sim = npu_open_with(NPUMEM_SIM_NAME), dmabuf;
	uint8_t *a, *b;
	struct world w;

	ASSERT_GE(sim, 0);
	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	ASSERT_EQ(0, npu_bo_create(sim, 4096, NPUMEM_BO_SYSTEM, &theirs));
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, NPUMEM_BO_CARVEOUT, &ours));
	a = npu_bo_map(sim, theirs, 4096);
	b = npu_bo_map(self->fd, ours, 4096);
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	ASSERT_EQ(0, drmPrimeHandleToFD(sim, theirs, DRM_CLOEXEC | DRM_RDWR, &dmabuf));
	ASSERT_EQ(0, drmPrimeFDToHandle(self->fd, dmabuf, &imported));
	close(dmabuf);
	edu_fill(a, EXTERNAL_SIZE, 5);
	ASSERT_EQ(0, edu_copy_bound(&w, imported, 0, ours, 0));
	EXPECT_TRUE(edu_same(b, a, EXTERNAL_SIZE));
	ASSERT_EQ(0, world_reset(&w));
	memset(a, 0, EXTERNAL_SIZE);
	/* Or what is written and what is read would be the same for a moment. */
	ASSERT_EQ(0, world_bind(&w, 1, 0, 0));
	ASSERT_EQ(0, edu_copy_bound(&w, ours, 0, imported, 1024));
	EXPECT_TRUE(edu_same(a + 1024, b, EXTERNAL_SIZE));
	munmap(a, 4096);
	munmap(b, 4096);
	npu_bo_close(self->fd, imported);
	npu_bo_close(self->fd, ours);
	world_close(&w);
	model_free(&m);
	close(sim);
}

/* --------------------------------------------------------------- relocations */

struct copies {
	struct npumem_edu_command command;
	struct npumem_edu_copy copies[2];
};

/* X's last bytes to A's first, and X's first to A's last. */
static const struct copies two_copies = {
	.command = { .op = NPUMEM_EDU_COPIES, .copies = 2 },
	.copies = { { .bytes = 100 }, { .bytes = 156 } },
};

static const struct drm_npumem_relocation two_relocations[4] = {
	{ .offset = 8, .access = 0, .delta = 156 },
	{ .offset = 16, .access = 1, .delta = 0 },
	{ .offset = 32, .access = 0, .delta = 0 },
	{ .offset = 40, .access = 1, .delta = 100 },
};

static int submit_copies(struct world *w, const struct copies *copies,
			 const struct drm_npumem_relocation *relocations, uint32_t count)
{
	struct drm_npumem_job job = edu_job(w, CHAIN_COPY, 1, false);
	struct drm_npumem_submit args;

	job.commands = NPU_BUFFER(*copies);
	job.relocations = NPU_ARRAY(relocations, count);
	return world_submit(w, &job, 1, &args);
}

TEST_F(edu, relocations)
{
	uint8_t *x = self->w.arena, *a = x + CHAIN_SIZE;

	edu_fill(x, CHAIN_SIZE, 6);
	ASSERT_EQ(0, submit_copies(&self->w, &two_copies, two_relocations, 4));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(edu_same(a, x + 156, 100));
	EXPECT_TRUE(edu_same(a + 100, x, 156));
	EXPECT_TRUE(npu_all_bytes(a + CHAIN_SIZE, 2 * CHAIN_SIZE, 0));
}

/* One field of one relocation, or of a copy, made wrong. */
TEST_F(edu, bad_relocations)
{
	static const struct {
		const char *what;
		uint32_t index;
		struct drm_npumem_relocation wrong;
	} cases[] = {
		{ "offset not aligned", 0, { .offset = 12, .access = 0, .delta = 156 } },
		{ "offset beyond the commands", 0, { .offset = 56, .access = 0, .delta = 156 } },
		{ "offset far beyond", 0, { .offset = 0xfffffff8, .access = 0, .delta = 156 } },
		{ "another place", 0, { .offset = 16, .access = 0, .delta = 156 } },
		{ "position", 0, { .offset = 8, .position = 1, .delta = 156 } },
		{ "access", 0, { .offset = 8, .access = 2, .delta = 156 } },
		{ "access far beyond", 0, { .offset = 8, .access = 0xffffffff, .delta = 156 } },
		{ "what is written as source", 0, { .offset = 8, .access = 1, .delta = 156 } },
		{ "what is read as target", 1, { .offset = 16, .access = 0 } },
		{ "delta leaves too few bytes", 0, { .offset = 8, .delta = 157 } },
		{ "delta beyond the access", 0, { .offset = 8, .delta = 256 } },
		{ "delta far beyond", 0, { .offset = 8, .delta = ~0ull } },
		{ "pad", 0, { .offset = 8, .delta = 156, .pad = 1 } },
	};
	struct drm_npumem_relocation r[4];
	struct copies copies = two_copies;
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(r, two_relocations, sizeof(r));
		r[cases[i].index] = cases[i].wrong;
		EXPECT_EQ(-EINVAL, submit_copies(&self->w, &two_copies, r, 4))
		TH_LOG("case: %s", cases[i].what);
	}
	EXPECT_EQ(-EINVAL, submit_copies(&self->w, &two_copies, two_relocations, 3));
	EXPECT_EQ(-EINVAL, submit_copies(&self->w, &two_copies, two_relocations, 0));
	/* An address, from user space. */
	copies.copies[1].target = 0x64000000;
	EXPECT_EQ(-EINVAL, submit_copies(&self->w, &copies, two_relocations, 4));
	copies = two_copies;
	copies.copies[0].bytes = ~0ull;
	EXPECT_EQ(-EINVAL, submit_copies(&self->w, &copies, two_relocations, 4));
	copies = two_copies;
	copies.command.copies = 0xffffffff;
	EXPECT_EQ(-EINVAL, submit_copies(&self->w, &copies, two_relocations, 4));
	/* Nothing of these has gone. */
	EXPECT_EQ(0, submit_copies(&self->w, &two_copies, two_relocations, 4));
	EXPECT_EQ(0, world_wait(&self->w));
}

/* More of them than places in the commands are not even copied. */
TEST_F(edu, too_many_relocations)
{
	static struct drm_npumem_relocation many[8];

	EXPECT_EQ(-EINVAL, submit_copies(&self->w, &two_copies, many, 8));
}

/* ----------------------------------------------------------- hangs and power */

/* The next job never ends; the engine has two at a time, and the other is somebody else's. */
TEST_F(edu, hang_costs_one_run)
{
	uint32_t first = npu_syncobj(self->fd), second = npu_syncobj(self->fd);
	struct drm_npumem_sync syncs[2] = { { .handle = first }, { .handle = second } };
	struct drm_npumem_job job;
	struct drm_npumem_submit args;
	struct world other;

	ASSERT_EQ(0, world_open(&other, self->fd, &self->model));
	edu_fill(other.arena, CHAIN_SIZE, 7);
	ASSERT_EQ(0, npu_knob_of(self->fd, "edu/hang_next", 1));
	job = edu_job(&self->w, CHAIN_COPY, 1, true);
	args = (struct drm_npumem_submit){ .run = self->w.run,
					   .jobs = NPU_ARRAY(&job, 1),
					   .out_syncs = NPU_ARRAY(&syncs[0], 1) };
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	args.run = other.run;
	args.out_syncs = NPU_ARRAY(&syncs[1], 1);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	EXPECT_EQ(0, npu_sync_wait(self->fd, first, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_sync_status(self->fd, first));
	EXPECT_EQ(0, npu_sync_wait(self->fd, second, 0));
	EXPECT_EQ(1, npu_sync_status(self->fd, second));
	EXPECT_TRUE(edu_same(other.arena + CHAIN_SIZE, other.arena, CHAIN_SIZE));
	EXPECT_EQ(-EIO, edu_submit(&self->w, CHAIN_MIX, 1, true));
	/* And on it goes. */
	EXPECT_EQ(0, world_reset(&self->w));
	EXPECT_EQ(0, edu_submit(&self->w, CHAIN_COPY, 1, true));
	EXPECT_EQ(0, world_wait(&self->w));
	world_close(&other);
}

/*
 * The engine takes two jobs at a time, and who fills it does not keep others waiting for more
 * than these: somebody who comes later is next.
 */
TEST_F(edu, two_at_a_time_are_shared)
{
	enum { MANY = 6 };
	struct world many[MANY], other;
	uint32_t syncs[MANY + 1], i;
	struct drm_npumem_submit args;
	struct drm_npumem_sync out;
	struct drm_npumem_job job;
	int fd = npu_open_with(NPUMEM_EDU_NAME);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&other, fd, &self->model));
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0, world_open(&many[i], self->fd, &self->model));
	for (i = 0; i <= MANY; i++) {
		struct world *w = i < MANY ? &many[i] : &other;

		syncs[i] = npu_syncobj(w->fd);
		out = (struct drm_npumem_sync){ .handle = syncs[i] };
		job = edu_job(w, CHAIN_COPY, 1, true);
		args = (struct drm_npumem_submit){ .run = w->run,
						   .jobs = NPU_ARRAY(&job, 1),
						   .out_syncs = NPU_ARRAY(&out, 1) };
		ASSERT_EQ(0, npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	}
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(0, npu_sync_wait(self->fd, syncs[i], 0));
	EXPECT_EQ(0, npu_sync_wait(fd, syncs[MANY], 0));
	/* Two were ahead of it, and one more was perhaps chosen when it came. */
	for (i = 3; i < MANY; i++)
		EXPECT_LT(npu_sync_time(fd, syncs[MANY]), npu_sync_time(self->fd, syncs[i]));
	for (i = 0; i < MANY; i++)
		world_close(&many[i]);
	world_close(&other);
	close(fd);
}

/* The file of a device in sysfs; the path is good until the next call. */
static bool power_is(const char *status)
{
	char text[32] = "";
	int fd = open(edu_device_file("power/runtime_status"), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	text[strcspn(text, "\n")] = '\0';
	return !strcmp(text, status);
}

/* Asleep when there is nothing to do, and awake for a job, however often. */
TEST_F(edu, power)
{
	int64_t end;
	int i;

	for (i = 0; i < 2; i++) {
		end = npu_now() + NPU_PATIENCE_NS;
		while (!power_is("suspended") && npu_now() < end)
			sched_yield();
		ASSERT_TRUE(power_is("suspended"));
		edu_fill(self->w.arena, CHAIN_SIZE, 8 + i);
		ASSERT_EQ(0, edu_submit(&self->w, CHAIN_COPY, 1, true));
		end = npu_now() + NPU_PATIENCE_NS;
		while (!power_is("active") && npu_now() < end)
			sched_yield();
		EXPECT_TRUE(power_is("active"));
		ASSERT_EQ(0, world_wait(&self->w));
		EXPECT_TRUE(edu_same(self->w.arena + CHAIN_SIZE, self->w.arena, CHAIN_SIZE));
		ASSERT_EQ(0, world_reset(&self->w));
	}
}

/* Two jobs in flight, and a third in the queue. */
TEST_F(edu, device_goes)
{
	uint32_t sync = npu_syncobj(self->fd);
	struct drm_npumem_sync out = { .handle = sync };
	struct drm_npumem_job jobs[CHAIN_STEPS];
	struct drm_npumem_submit args;
	uint32_t i;

	for (i = 0; i < CHAIN_STEPS; i++)
		jobs[i] = edu_job(&self->w, i, 1, true);
	args = (struct drm_npumem_submit){ .run = self->w.run,
					   .jobs = NPU_ARRAY(jobs, CHAIN_STEPS),
					   .out_syncs = NPU_ARRAY(&out, 1) };
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	ASSERT_EQ(0, edu_unbind());
	EXPECT_EQ(-ENODEV, edu_submit(&self->w, CHAIN_COPY, 1, true));
	ASSERT_EQ(0, edu_bind());
}

/* ------------------------------------------------------------- out of reach */

/* Nothing of this device: its carveout is beyond what it addresses. */
TEST(carveout_out_of_reach)
{
	ASSERT_EQ(0, npu_module_load(EDU_MODULE));
	EXPECT_EQ(-1, npu_open_with(NPUMEM_EDU_NAME));
	EXPECT_EQ(0, npu_module_unload(EDU_MODULE));
}

/* Its carveout, but not all memory: what is not in the carveout is refused when it is named. */
TEST(memory_out_of_reach)
{
	struct model bound = edu_model_bound(), spill = model_spill();
	uint32_t system, carveout;
	struct world w, s;
	int fd = edu_open(EDU_CARVEOUT_ONLY);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&w, fd, &bound));
	ASSERT_EQ(0, npu_bo_create(fd, 4096, NPUMEM_BO_SYSTEM, &system));
	ASSERT_EQ(0, npu_bo_create(fd, 4096, NPUMEM_BO_CARVEOUT, &carveout));
	EXPECT_EQ(-EOPNOTSUPP, world_bind(&w, 0, system, 0));
	EXPECT_EQ(0, edu_copy_bound(&w, carveout, 0, carveout, 2048));
	/* A host BO is in system memory. */
	EXPECT_EQ(-EOPNOTSUPP, world_open(&s, fd, &spill));
	world_close(&s);
	world_close(&w);
	model_free(&bound);
	model_free(&spill);
	close(fd);
	EXPECT_EQ(0, npu_module_unload(EDU_MODULE));
}

TEST_HARNESS_MAIN
