// SPDX-License-Identifier: MIT
/*
 * Two clients at once: no handle, no offset, no byte of one is reachable by the
 * other, and what one does wrong costs the other nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY_A 11
#define KEY_B 22

FIXTURE(clients)
{
	struct model model;
	int fd[2];
	struct world w[2];
};

FIXTURE_SETUP(clients)
{
	int i;

	self->model = model_chain();
	for (i = 0; i < 2; i++) {
		self->fd[i] = npu_open();
		ASSERT_GE(self->fd[i], 0);
		ASSERT_EQ(0, world_open(&self->w[i], self->fd[i], &self->model));
	}
}

FIXTURE_TEARDOWN(clients)
{
	int i;

	for (i = 0; i < 2; i++) {
		world_close(&self->w[i]);
		close(self->fd[i]);
	}
	model_free(&self->model);
}

/*
 * Handles are numbers that both clients count from the same start: so the first
 * makes one more of each kind, whose numbers mean nothing to the second.
 */
TEST_F(clients, handles_are_of_one_file)
{
	struct drm_npumem_bo_mmap_offset offset = { 0 };
	struct drm_npumem_plan_read read = { 0 };
	struct drm_npumem_run_create run = { 0 };
	struct drm_npumem_bo_wait wait = { 0 };
	struct world *a = &self->w[0], *b = &self->w[1];
	uint32_t graph, plan, r, bo;

	{
		struct blob g = model_graph(&self->model), p = model_plan(&self->model);

		ASSERT_EQ(0, world_graph(a->fd, &g, &graph));
		ASSERT_EQ(0, world_plan(a->fd, graph, &p, &plan));
		blob_free(&g);
		blob_free(&p);
	}
	run.plan = plan;
	ASSERT_EQ(0, npu_ioctl(a->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));
	r = run.handle;
	bo = run.arena_bo;

	EXPECT_EQ(-ENOENT, world_destroy(b->fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, graph));
	EXPECT_EQ(-ENOENT, world_destroy(b->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, plan));
	EXPECT_EQ(-ENOENT, world_destroy(b->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, r));
	EXPECT_EQ(-ENOENT, world_destroy(b->fd, DRM_IOCTL_NPUMEM_RUN_RESET, r));
	EXPECT_EQ(-EINVAL, npu_bo_close(b->fd, bo));
	read.handle = plan;
	EXPECT_EQ(-ENOENT, npu_ioctl(b->fd, DRM_IOCTL_NPUMEM_PLAN_READ, &read));
	run.plan = plan;
	EXPECT_EQ(-ENOENT, npu_ioctl(b->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));
	offset.handle = wait.handle = bo;
	EXPECT_EQ(-ENOENT, npu_ioctl(b->fd, DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &offset));
	EXPECT_EQ(-ENOENT, npu_ioctl(b->fd, DRM_IOCTL_NPUMEM_BO_WAIT, &wait));

	/* And the first's are all still there. */
	EXPECT_EQ(0, world_destroy(a->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, r));
	EXPECT_EQ(0, world_destroy(a->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, plan));
	EXPECT_EQ(0, world_destroy(a->fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, graph));
}

TEST_F(clients, mmap_offset_of_the_other_is_refused)
{
	struct drm_npumem_bo_mmap_offset args = { .handle = self->w[0].arena_bo };
	void *mem;

	ASSERT_EQ(0, npu_ioctl(self->fd[0], DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &args));
	mem = mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd[0], args.offset);
	ASSERT_NE(MAP_FAILED, mem);
	munmap(mem, 4096);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd[1], args.offset));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(clients, syncobj_of_the_other_is_refused)
{
	struct drm_npumem_job job = world_job(&self->w[1], CHAIN_COPY, NPUMEM_SIM_NOP, 0);
	struct drm_npumem_sync sync = { 0 };
	struct drm_npumem_submit args = {
		.run = self->w[1].run,
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&sync, 1),
	};

	sync.handle = npu_syncobj(self->fd[0]);
	ASSERT_NE(0, sync.handle);
	EXPECT_EQ(-ENOENT, npu_ioctl(self->fd[1], DRM_IOCTL_NPUMEM_SUBMIT, &args));
	args.in_syncs = args.out_syncs;
	args.out_syncs = NPU_ARRAY(&sync, 0);
	EXPECT_EQ(-ENOENT, npu_ioctl(self->fd[1], DRM_IOCTL_NPUMEM_SUBMIT, &args));
}

/* Names that anybody may use are of no use here: PRIME is the way to share. */
TEST_F(clients, buffers_have_no_global_names)
{
	struct drm_gem_flink flink = { .handle = self->w[0].arena_bo };
	struct drm_gem_open open_args = { .name = 1 };
	char path[64];
	glob_t cards;
	size_t i;
	int fd;

	EXPECT_EQ(-EACCES, npu_ioctl(self->fd[0], DRM_IOCTL_GEM_FLINK, &flink));
	EXPECT_EQ(-EACCES, npu_ioctl(self->fd[1], DRM_IOCTL_GEM_OPEN, &open_args));
	/* Where there is a card node beside the render node, it cannot be opened. */
	if (glob(NPU_DRIVER "*/drm/card*", 0, NULL, &cards))
		return;
	for (i = 0; i < cards.gl_pathc; i++) {
		snprintf(path, sizeof(path), "/dev/dri/%s", strrchr(cards.gl_pathv[i], '/') + 1);
		fd = open(path, O_RDWR | O_CLOEXEC);
		EXPECT_EQ(-1, fd);
		EXPECT_EQ(EOPNOTSUPP, errno);
	}
	globfree(&cards);
}

/* Both fill all they have, step by step in turns; neither sees the other's. */
TEST_F(clients, arenas_do_not_overlap)
{
	static const uint64_t keys[] = { KEY_A, KEY_B };
	uint8_t **ref[2];
	uint32_t step;
	int i;

	for (i = 0; i < 2; i++) {
		ref[i] = reference_new(&self->model);
		memset(ref[i][CHAIN_X], 0x10 + i, CHAIN_SIZE);
		memset(self->w[i].arena, 0x10 + i, self->w[i].arena_size);
	}
	for (step = 0; step < CHAIN_STEPS; step++)
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, world_step(&self->w[i], step, NPUMEM_SIM_MIX, keys[i]));
			reference_step(&self->model, ref[i], step, NPUMEM_SIM_MIX, keys[i]);
		}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, world_wait(&self->w[i]));
		for (step = 0; step < CHAIN_TENSORS; step++)
			EXPECT_EQ(0, memcmp(self->w[i].arena + self->model.placements[step].offset,
					    ref[i][step], CHAIN_SIZE))
		TH_LOG("client %d tensor %u", i, step);
		reference_free(&self->model, ref[i]);
	}
}

TEST_F(clients, arena_is_scrubbed_before_the_next_client)
{
	struct drm_npumem_bank bank;
	uint32_t handle;
	uint8_t *mem;

	memset(self->w[0].arena, 0xee, self->w[0].arena_size);
	ASSERT_EQ(0, world_step(&self->w[0], CHAIN_COPY, NPUMEM_SIM_FILL, 0xee));
	ASSERT_EQ(0, world_wait(&self->w[0]));
	world_close(&self->w[0]);

	/* All that is free, in pieces: his arena is among them. */
	for (;;) {
		ASSERT_EQ(0, npu_bank(self->fd[1], &bank));
		if (!bank.largest_free)
			break;
		ASSERT_EQ(0, npu_bo_create(self->fd[1], bank.largest_free, NPUMEM_BO_CARVEOUT,
					   &handle));
		mem = npu_bo_map(self->fd[1], handle, bank.largest_free);
		ASSERT_NE(NULL, mem);
		EXPECT_TRUE(npu_all_bytes(mem, bank.largest_free, 0));
		munmap(mem, bank.largest_free);
	}
	EXPECT_EQ(0, bank.free);
}

TEST_F(clients, mistakes_of_one_cost_the_other_nothing)
{
	struct blob bad = model_plan(&self->model);
	struct npumem_placement *places = blob_records(&bad, NPUMEM_PLAN_SECTION_PLACEMENTS);
	struct world *a = &self->w[0], *b = &self->w[1];
	uint32_t i, handle;

	ASSERT_EQ(0, world_step(a, CHAIN_COPY, NPUMEM_SIM_FILL, 1));
	places[CHAIN_A].offset = 1;
	EXPECT_EQ(-EINVAL, world_plan(b->fd, b->graph, &bad, &handle));
	blob_free(&bad);
	EXPECT_EQ(-EPERM, world_step(b, CHAIN_LAST, NPUMEM_SIM_FILL, 9));
	while (!npu_bo_create(b->fd, 1 << 20, NPUMEM_BO_CARVEOUT, &handle))
		;
	for (i = CHAIN_MIX; i < CHAIN_STEPS; i++)
		EXPECT_EQ(0, world_step(a, i, NPUMEM_SIM_FILL, i + 1));
	EXPECT_EQ(0, world_wait(a));
	EXPECT_TRUE(npu_all_bytes(a->arena + self->model.placements[CHAIN_Y].offset, CHAIN_SIZE,
				  CHAIN_STEPS));
}

TEST_F(clients, death_of_one_costs_the_other_nothing)
{
	uint32_t i, handle;
	int status;
	pid_t pid;

	/* The doomed one: its own file, a run, a job. */
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		struct world w;
		int fd = npu_open();

		if (fd < 0 || world_open(&w, fd, &self->model) ||
		    world_step(&w, CHAIN_COPY, NPUMEM_SIM_FILL, 5) ||
		    npu_bo_create(fd, 1 << 20, NPUMEM_BO_CARVEOUT, &handle))
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	for (i = 0; i < CHAIN_STEPS; i++)
		EXPECT_EQ(0, world_step(&self->w[0], i, NPUMEM_SIM_FILL, i + 1));
	EXPECT_EQ(0, world_wait(&self->w[0]));
	EXPECT_TRUE(npu_all_bytes(self->w[0].arena + self->model.placements[CHAIN_Y].offset,
				  CHAIN_SIZE, CHAIN_STEPS));
}

TEST_HARNESS_MAIN
