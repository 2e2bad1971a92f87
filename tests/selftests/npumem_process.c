// SPDX-License-Identifier: MIT
/*
 * Engines in a process: what they get, what becomes of what they make, who may be one. What
 * one can do wrong is npumem_process_hostile.c.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_attach.h"

#define KEY    0xab1e
#define WINDOW 65536
#define USER   4711
#define SIZE   CHAIN_SIZE

FIXTURE(process)
{
	int fd;
	struct model model;
	struct world w;
	struct attached engine;
};

FIXTURE_SETUP(process)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, attach_engine(&self->engine, self->fd, 0, WINDOW, ATTACH_HANG));
}

FIXTURE_TEARDOWN(process)
{
	if (self->engine.fd >= 0)
		detach_engine(&self->engine);
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
}

static uint8_t *tensor(struct world *w, uint32_t t)
{
	return w->arena + (size_t)t * SIZE;
}

static void fill(uint8_t *bytes, size_t size, unsigned int seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 7 + seed);
}

/* The step's tiles as they are, what is written of zeros, and the commands. */
TEST_F(process, gets_copies_of_the_tiles)
{
	struct drm_npumem_job job = attach_job(&self->w, CHAIN_COPY);
	const char commands[] = "these are the commands of it";
	struct npumem_engine_access in, out;
	struct drm_npumem_submit args;
	struct npumem_engine_next task;

	fill(self->w.arena, self->w.arena_size, 1);
	memset(self->engine.window, 0xee, WINDOW);
	job.commands = NPU_BUFFER(commands);
	EXPECT_EQ(0, attach_poll(&self->engine));
	ASSERT_EQ(0, world_submit(&self->w, &job, 1, &args));
	ASSERT_EQ(0, attach_fetch(&self->engine, &task));
	EXPECT_NE(0, task.task);
	EXPECT_EQ(CHAIN_COPY, task.step);
	EXPECT_EQ(CHAIN_COPY, task.position);
	EXPECT_EQ(CHAIN_COPY, task.first_position);
	EXPECT_EQ(1, task.position_count);
	EXPECT_EQ(2, task.access_count);
	EXPECT_EQ(0, task.commands_offset % NPUMEM_ENGINE_ALIGN);
	ASSERT_EQ(sizeof(commands), task.commands_size);
	EXPECT_STREQ(commands, (char *)self->engine.window + task.commands_offset);
	in = attach_access(&self->engine, 0);
	out = attach_access(&self->engine, 1);
	EXPECT_EQ(NPUMEM_ENGINE_ACCESS_READ, in.flags);
	EXPECT_EQ(NPUMEM_ENGINE_ACCESS_WRITE, out.flags);
	EXPECT_EQ(CHAIN_X, in.tile);
	EXPECT_EQ(CHAIN_A, out.tile);
	ASSERT_EQ(SIZE, in.size);
	ASSERT_EQ(SIZE, out.size);
	EXPECT_EQ(0, in.offset % NPUMEM_ENGINE_ALIGN);
	EXPECT_EQ(0, memcmp(self->engine.window + in.offset, tensor(&self->w, CHAIN_X), SIZE));
	EXPECT_TRUE(npu_all_bytes(self->engine.window + out.offset, SIZE, 0));
	/* It is fetched once. */
	EXPECT_EQ(0, attach_poll(&self->engine));
	EXPECT_EQ(0, attach_commit(&self->engine, task.task, 0));
	EXPECT_EQ(0, attach_outcome(&self->w));
}

/* Of what it makes, what the step writes gets there, and nothing else. */
TEST_F(process, changes_what_the_step_writes)
{
	uint8_t before[CHAIN_TENSORS * SIZE];
	struct npumem_engine_next task;
	struct npumem_engine_access out;

	fill(self->w.arena, sizeof(before), 3);
	memcpy(before, self->w.arena, sizeof(before));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&self->engine, &task));
	out = attach_access(&self->engine, 1);
	memset(self->engine.window + attach_access(&self->engine, 0).offset, 0x99, SIZE);
	fill(self->engine.window + out.offset, SIZE, 77);
	ASSERT_EQ(0, attach_commit(&self->engine, task.task, 0));
	ASSERT_EQ(0, attach_outcome(&self->w));
	fill(before + CHAIN_A * SIZE, SIZE, 77);
	EXPECT_EQ(0, memcmp(before, self->w.arena, sizeof(before)));
}

/*
 * struct beside - bytes of the window that are nobody's
 * @at: the first one that the engine spoils, in the window
 * @count: of them
 * @tile: of the verdict, and @tensor, since each tile of the model is a tensor
 * @other_tile: of the verdict, likewise
 * @first: of the verdict
 */
struct beside {
	const char *what;
	uint64_t at;
	uint64_t count;
	uint32_t tile;
	uint32_t other_tile;
	uint64_t first;
};

/* It computes what it should, writes beside that too, and says that it is done. */
static void spoil_beside(struct __test_metadata *_metadata, FIXTURE_DATA(process) * self,
			 const struct beside *beside)
{
	uint8_t before[CHAIN_TENSORS * SIZE];
	struct npumem_verdict verdict, *v = &verdict;
	struct drm_npumem_run_query query = { .run = self->w.run, .verdict = NPU_BUFFER(verdict) };
	struct npumem_engine_next task;

	fill(self->w.arena, sizeof(before), 3);
	memcpy(before, self->w.arena, sizeof(before));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&self->engine, &task));
	attach_mix(&self->engine, &task, KEY);
	memset(self->engine.window + beside->at, 0x3c, beside->count);
	ASSERT_EQ(0, attach_commit(&self->engine, task.task, 0));
	EXPECT_EQ(EPROTO, attach_outcome(&self->w)) TH_LOG("%s", beside->what);
	EXPECT_EQ(0, memcmp(before, self->w.arena, sizeof(before)));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_BESIDE, v->rule);
	EXPECT_EQ(CHAIN_COPY, v->position);
	EXPECT_EQ(CHAIN_COPY, v->step);
	EXPECT_EQ(beside->tile, v->tile);
	EXPECT_EQ(beside->tile, v->tensor);
	EXPECT_EQ(NPUMEM_NONE, v->other_step);
	EXPECT_EQ(beside->other_tile, v->other_tile);
	EXPECT_EQ(beside->other_tile, v->other_tensor);
	EXPECT_EQ(beside->first, v->first) TH_LOG("%s", beside->what);
	EXPECT_EQ(beside->count, v->length) TH_LOG("%s", beside->what);
	ASSERT_EQ(0, world_reset(&self->w));
	memset(&verdict, 0xff, sizeof(verdict));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query));
	EXPECT_TRUE(npu_all_bytes(&verdict, sizeof(verdict), 0));
}

/* The next job is as good as ever. What lies behind the last guard is the engine's own. */
static void recovers(struct __test_metadata *_metadata, FIXTURE_DATA(process) * self, uint64_t free)
{
	struct npumem_engine_next task;

	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&self->engine, &task));
	memset(self->engine.window + free, 0x3c, WINDOW - free);
	ASSERT_EQ(0, attach_commit(&self->engine, task.task, 0));
	EXPECT_EQ(0, attach_outcome(&self->w));
}

/* An engine that writes too much: nothing of it arrives, and it is said where. */
TEST_F(process, writes_beside_its_tiles)
{
	/* The table, commands, of which there are none, and two tiles, each with its guard. */
	const uint64_t in = 128 + 64, out = in + SIZE + 64, end = out + SIZE + 64;
	const uint64_t table = 2 * sizeof(struct npumem_engine_access);
	const uint32_t none = NPUMEM_NONE, x = CHAIN_X, a = CHAIN_A;
	/* Where, how much, and of the verdict: tile, the other one, first byte. */
	const struct beside cases[] = {
		{ "behind the table", table, 1, none, none, table },
		{ "before what it reads", in - 1, 1, none, x, in - 1 },
		{ "behind what it reads", in + SIZE, 64, x, a, SIZE },
		{ "before what it writes", out - 1, 1, x, a, SIZE + 63 },
		{ "behind what it writes, one byte", out + SIZE, 1, a, none, SIZE },
		{ "behind what it writes, all", out + SIZE, 64, a, none, SIZE },
		{ "behind what it writes, the last byte", end - 1, 1, a, none, SIZE + 63 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		spoil_beside(_metadata, self, &cases[i]);
	recovers(_metadata, self, end);
}

/* Many steps in one job, one after the other. */
TEST_F(process, takes_a_job_step_by_step)
{
	struct drm_npumem_job job = attach_job(&self->w, 0);
	uint8_t **ref = reference_new(&self->model);
	struct npumem_engine_next task;
	struct drm_npumem_submit args;
	uint32_t i;

	fill(ref[CHAIN_X], SIZE, 5);
	memcpy(tensor(&self->w, CHAIN_X), ref[CHAIN_X], SIZE);
	job.position_count = CHAIN_STEPS;
	ASSERT_EQ(0, world_submit(&self->w, &job, 1, &args));
	for (i = 0; i < CHAIN_STEPS; i++) {
		ASSERT_EQ(0, attach_fetch(&self->engine, &task));
		EXPECT_EQ(i, task.position);
		EXPECT_EQ(0, task.first_position);
		EXPECT_EQ(CHAIN_STEPS, task.position_count);
		attach_mix(&self->engine, &task, KEY);
		ASSERT_EQ(0, attach_commit(&self->engine, task.task, 0));
		reference_step(&self->model, ref, i, NPUMEM_SIM_MIX, KEY);
	}
	ASSERT_EQ(0, attach_outcome(&self->w));
	EXPECT_EQ(0, memcmp(ref[CHAIN_Y], tensor(&self->w, CHAIN_Y), SIZE));
	reference_free(&self->model, ref);
}

/* One field of one relocation made wrong. */
TEST_F(process, bad_relocations)
{
	static const struct {
		const char *what;
		struct drm_npumem_relocation relocation;
		int err;
	} cases[] = {
		{ "offset, not aligned", { .offset = 4 }, -EINVAL },
		{ "offset, behind the commands", { .offset = 16 }, -EINVAL },
		{ "position", { .position = 2 }, -EINVAL },
		{ "access", { .access = 2 }, -EINVAL },
		{ "delta", { .delta = SIZE }, -EINVAL },
		{ "pad", { .pad = 1 }, -EINVAL },
		{ "none", { .offset = 8, .position = 1, .access = 1, .delta = SIZE - 1 }, 0 },
	};
	struct drm_npumem_job job = attach_job(&self->w, CHAIN_COPY);
	const uint64_t commands[2] = { 0 };
	struct drm_npumem_submit args;
	unsigned int i;

	job.position_count = 2;
	job.commands = NPU_BUFFER(commands);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		job.relocations = NPU_ARRAY(&cases[i].relocation, 1);
		EXPECT_EQ(cases[i].err, world_submit(&self->w, &job, 1, &args))
		TH_LOG("%s", cases[i].what);
	}
}

/* Where the commands have an address the window has an offset in itself. */
TEST_F(process, relocations_are_offsets_in_the_window)
{
	static const struct drm_npumem_relocation relocations[] = {
		{ .offset = 0, .position = 0, .access = 0 },
		{ .offset = 16, .position = 0, .access = 1, .delta = 17 },
		{ .offset = 8, .position = 1, .access = 0, .delta = SIZE - 1 },
	};
	const uint64_t commands[4] = { 1, 2, 3, 4 };
	struct drm_npumem_job job = attach_job(&self->w, CHAIN_COPY);
	struct drm_npumem_submit args;
	struct npumem_engine_next task;
	uint64_t seen[4];

	job.position_count = 2;
	job.commands = NPU_BUFFER(commands);
	job.relocations = NPU_ARRAY(relocations, 3);
	ASSERT_EQ(0, world_submit(&self->w, &job, 1, &args));
	ASSERT_EQ(0, attach_fetch(&self->engine, &task));
	memcpy(seen, self->engine.window + task.commands_offset, sizeof(seen));
	EXPECT_EQ(attach_access(&self->engine, 0).offset, seen[0]);
	EXPECT_EQ(NPUMEM_ENGINE_NOWHERE, seen[1]);
	EXPECT_EQ(attach_access(&self->engine, 1).offset + 17, seen[2]);
	EXPECT_EQ(4, seen[3]);
	ASSERT_EQ(0, attach_commit(&self->engine, task.task, 0));
	ASSERT_EQ(0, attach_fetch(&self->engine, &task));
	memcpy(seen, self->engine.window + task.commands_offset, sizeof(seen));
	EXPECT_EQ(NPUMEM_ENGINE_NOWHERE, seen[0]);
	EXPECT_EQ(attach_access(&self->engine, 0).offset + SIZE - 1, seen[1]);
	EXPECT_EQ(NPUMEM_ENGINE_NOWHERE, seen[2]);
	EXPECT_EQ(0, attach_commit(&self->engine, task.task, 0));
	EXPECT_EQ(0, attach_outcome(&self->w));
}

/* One call commits a task and fetches the next. */
TEST_F(process, commits_and_fetches_at_once)
{
	struct drm_npumem_job jobs[] = { attach_job(&self->w, 0), attach_job(&self->w, 1) };
	struct npumem_engine_next task;
	struct drm_npumem_submit args;
	uint64_t first;

	ASSERT_EQ(0, world_submit(&self->w, jobs, 2, &args));
	ASSERT_EQ(0, attach_fetch(&self->engine, &task));
	first = task.task;
	attach_mix(&self->engine, &task, KEY);
	task.commit = first;
	ASSERT_EQ(0, attach_next(&self->engine, &task));
	EXPECT_EQ(0, task.commit);
	EXPECT_NE(first, task.task);
	EXPECT_EQ(1, task.position);
	EXPECT_EQ(0, attach_commit(&self->engine, task.task, 0));
	EXPECT_EQ(0, attach_outcome(&self->w));
}

TEST_F(process, nothing_to_fetch_is_a_timeout)
{
	struct npumem_engine_next task = { .deadline_ns = npu_now() - 1 };
	struct pollfd fd = { .fd = self->engine.fd, .events = POLLIN };

	EXPECT_EQ(-ETIMEDOUT, attach_next(&self->engine, &task));
	EXPECT_EQ(0, task.task);
	task.deadline_ns = npu_now() + 20000000;
	EXPECT_EQ(-ETIMEDOUT, attach_next(&self->engine, &task));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	EXPECT_EQ(1, poll(&fd, 1, 300000));
	EXPECT_EQ(POLLIN, fd.revents);
	task.deadline_ns = 0;
	EXPECT_EQ(0, attach_next(&self->engine, &task));
	EXPECT_EQ(0, attach_commit(&self->engine, task.task, 0));
	EXPECT_EQ(0, attach_outcome(&self->w));
}

static void on_alarm(int signal)
{
}

/* A signal ends the wait; that the task was committed is known all the same. */
TEST_F(process, commit_survives_a_signal)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } }, never = { 0 };
	struct npumem_engine_next task;

	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&self->engine, &task));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	task.commit = task.task;
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	EXPECT_EQ(-EINTR, attach_next(&self->engine, &task));
	setitimer(ITIMER_REAL, &never, NULL);
	EXPECT_EQ(0, task.commit);
	EXPECT_EQ(0, attach_outcome(&self->w));
}

/* What says that it has not done it costs its job, and the run can begin again. */
TEST_F(process, failure_of_the_engine)
{
	struct npumem_engine_next task;

	memset(tensor(&self->w, CHAIN_A), 0x44, SIZE);
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&self->engine, &task));
	memset(self->engine.window + attach_access(&self->engine, 1).offset, 0x55, SIZE);
	ASSERT_EQ(0, attach_commit(&self->engine, task.task, EOPNOTSUPP));
	EXPECT_EQ(EIO, attach_outcome(&self->w));
	EXPECT_TRUE(npu_all_bytes(tensor(&self->w, CHAIN_A), SIZE, 0x44));
	EXPECT_EQ(-EIO, attach_submit(&self->w, CHAIN_MIX));
	ASSERT_EQ(0, world_reset(&self->w));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	EXPECT_EQ(0, attach_serve(&self->engine, 1, KEY));
	EXPECT_EQ(0, attach_outcome(&self->w));
}

/* Before anything of the SUBMIT has gone. */
TEST_F(process, no_engine_is_said_at_once)
{
	detach_engine(&self->engine);
	EXPECT_EQ(-EUNATCH, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_engine(&self->engine, self->fd, 0, WINDOW, ATTACH_HANG));
	EXPECT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	EXPECT_EQ(0, attach_serve(&self->engine, 1, KEY));
	EXPECT_EQ(0, attach_outcome(&self->w));
}

TEST_F(process, step_that_the_window_cannot_hold)
{
	struct drm_npumem_job job = attach_job(&self->w, CHAIN_COPY);
	uint8_t commands[4096] = { 0 };
	struct drm_npumem_submit args;
	struct attached small;

	detach_engine(&self->engine);
	ASSERT_EQ(0, attach_engine(&small, self->fd, 0, 4096, ATTACH_HANG));
	/* Table, commands and two tiles, each at a multiple of 64, and 64 bytes behind it. */
	job.commands = NPU_BYTES(commands, 4096 - 128 - 64 - 2 * (SIZE + 64) + 1);
	EXPECT_EQ(-EMSGSIZE, world_submit(&self->w, &job, 1, &args));
	EXPECT_EQ(0, args.failed_job);
	job.commands.size--;
	EXPECT_EQ(0, world_submit(&self->w, &job, 1, &args));
	EXPECT_EQ(0, attach_serve(&small, 1, KEY));
	EXPECT_EQ(0, attach_outcome(&self->w));
	detach_engine(&small);
	self->engine.fd = -1;
}

/* Those of a plan are the driver's: the process has no part in them. */
TEST_F(process, transfers_are_not_its_affair)
{
	struct model model = model_spill();
	uint8_t **ref = reference_new(&model);
	struct drm_npumem_submit args;
	struct drm_npumem_job job;
	struct world w;
	uint32_t i;

	ASSERT_EQ(0, world_open(&w, self->fd, &model));
	fill(ref[SPILL_X], SPILL_SIZE, 1);
	fill(ref[SPILL_P], SPILL_SIZE, 2);
	memcpy(w.host + spill_host[SPILL_X], ref[SPILL_X], SPILL_SIZE);
	memcpy(w.host + spill_host[SPILL_P], ref[SPILL_P], SPILL_SIZE);
	for (i = 0; i < SPILL_STEPS; i++)
		reference_step(&model, ref, i, NPUMEM_SIM_MIX, KEY);
	job = attach_job(&w, 0);
	job.position_count = SPILL_POSITIONS;
	ASSERT_EQ(0, world_submit(&w, &job, 1, &args));
	EXPECT_EQ(0, attach_serve(&self->engine, SPILL_STEPS, KEY));
	EXPECT_EQ(0, attach_outcome(&w));
	EXPECT_EQ(0, memcmp(ref[SPILL_Y], w.host + spill_host[SPILL_Y], SPILL_SIZE));
	world_close(&w);
	reference_free(&model, ref);
	model_free(&model);
}

/* Tensors that lie beyond the arena. */
TEST_F(process, external_tensors)
{
	static const uint64_t offsets[EXTERNAL_TENSORS] = { 0, 512, 0, 1024, 2048 };
	struct model model = model_external();
	uint8_t **ref = reference_new(&model), *map;
	struct world w;
	uint32_t bo, t;

	ASSERT_EQ(0, world_open(&w, self->fd, &model));
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, NPUMEM_BO_SYSTEM, &bo));
	map = npu_bo_map(self->fd, bo, 4096);
	ASSERT_NE(NULL, map);
	for (t = 0; t < EXTERNAL_TENSORS; t++)
		if (t != EXTERNAL_A)
			ASSERT_EQ(0, world_bind(&w, t, bo, offsets[t]));
	for (t = EXTERNAL_X; t <= EXTERNAL_P; t++) {
		fill(ref[t], EXTERNAL_SIZE, t);
		memcpy(map + offsets[t], ref[t], EXTERNAL_SIZE);
	}
	for (t = 0; t < EXTERNAL_STEPS; t++) {
		reference_step(&model, ref, t, NPUMEM_SIM_MIX, KEY);
		ASSERT_EQ(0, attach_submit(&w, t));
	}
	EXPECT_EQ(0, attach_serve(&self->engine, EXTERNAL_STEPS, KEY));
	EXPECT_EQ(0, attach_outcome(&w));
	EXPECT_EQ(0, memcmp(ref[EXTERNAL_Y], map + offsets[EXTERNAL_Y], EXTERNAL_SIZE));
	munmap(map, 4096);
	npu_bo_close(self->fd, bo);
	world_close(&w);
	reference_free(&model, ref);
	model_free(&model);
}

/* ------------------------------------------------------------------ who may */

/* A private engine serves its own file, a shared one the others. */
TEST_F(process, whose_runs_it_serves)
{
	struct drm_npumem_engine engine;
	struct attached shared;
	struct world other;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&other, fd, &self->model));
	ASSERT_EQ(0, attach_query(self->fd, &engine));
	EXPECT_EQ(NPUMEM_ENGINE_PROCESS | NPUMEM_ENGINE_ATTACHED | NPUMEM_ENGINE_TRANSFERS,
		  engine.flags);
	EXPECT_STREQ("test", engine.name);
	EXPECT_EQ(7, engine.version);
	ASSERT_EQ(0, attach_query(fd, &engine));
	EXPECT_EQ(NPUMEM_ENGINE_PROCESS | NPUMEM_ENGINE_TRANSFERS, engine.flags);
	EXPECT_STREQ("process", engine.name);
	EXPECT_EQ(0, engine.version);
	EXPECT_EQ(-EUNATCH, attach_submit(&other, CHAIN_COPY));
	ASSERT_EQ(0, attach_engine(&shared, self->fd, NPUMEM_ATTACH_SHARED, WINDOW, ATTACH_HANG));
	ASSERT_EQ(0, attach_query(fd, &engine));
	EXPECT_STREQ("test", engine.name);
	EXPECT_EQ(0, attach_submit(&other, CHAIN_COPY));
	EXPECT_EQ(0, attach_serve(&shared, 1, KEY));
	EXPECT_EQ(0, attach_outcome(&other));
	EXPECT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	EXPECT_EQ(0, attach_serve(&self->engine, 1, KEY));
	EXPECT_EQ(0, attach_outcome(&self->w));
	EXPECT_EQ(0, attach_poll(&shared));
	detach_engine(&shared);
	world_close(&other);
	close(fd);
}

/* One of each kind. */
TEST_F(process, second_one_is_refused)
{
	struct attached second, shared;

	EXPECT_EQ(-EBUSY, attach_engine(&second, self->fd, 0, WINDOW, ATTACH_HANG));
	ASSERT_EQ(0, attach_engine(&shared, self->fd, NPUMEM_ATTACH_SHARED, WINDOW, ATTACH_HANG));
	EXPECT_EQ(-EBUSY,
		  attach_engine(&second, self->fd, NPUMEM_ATTACH_SHARED, WINDOW, ATTACH_HANG));
	detach_engine(&shared);
	ASSERT_EQ(0, attach_engine(&shared, self->fd, NPUMEM_ATTACH_SHARED, WINDOW, ATTACH_HANG));
	detach_engine(&shared);
}

/* What waits for a process is no dependency for another device: npumem_exporter.c. */

/* Bytes of one client's are not in the window when another's task is. */
TEST_F(process, window_is_scrubbed_between_runs)
{
	struct npumem_engine_next task;
	struct attached shared;
	struct world other;
	int fd = npu_open();
	size_t i, secrets = 0;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&other, fd, &self->model));
	detach_engine(&self->engine);
	self->engine.fd = -1;
	ASSERT_EQ(0, attach_engine(&shared, self->fd, NPUMEM_ATTACH_SHARED, WINDOW, ATTACH_HANG));
	memset(self->w.arena, 0xd7, self->w.arena_size);
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&shared, &task));
	memcpy(shared.window + attach_access(&shared, 1).offset,
	       shared.window + attach_access(&shared, 0).offset, SIZE);
	ASSERT_EQ(0, attach_commit(&shared, task.task, 0));
	ASSERT_EQ(0, attach_outcome(&self->w));
	EXPECT_TRUE(npu_all_bytes(tensor(&self->w, CHAIN_A), SIZE, 0xd7));
	ASSERT_EQ(0, attach_submit(&other, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&shared, &task));
	for (i = 0; i < WINDOW; i++)
		secrets += shared.window[i] == 0xd7;
	EXPECT_EQ(0, secrets);
	/* It does nothing: what it has not written is of no other client's. */
	ASSERT_EQ(0, attach_commit(&shared, task.task, 0));
	ASSERT_EQ(0, attach_outcome(&other));
	EXPECT_TRUE(npu_all_bytes(tensor(&other, CHAIN_A), SIZE, 0));
	detach_engine(&shared);
	world_close(&other);
	close(fd);
}

/* The process's own file is the runtime's, and needs no privilege; a shared one does. */
static int unprivileged(void)
{
	struct model model = model_chain();
	struct attached engine;
	struct world w;
	int fd;

	if (npu_become(USER))
		return 1;
	fd = npu_open();
	if (fd < 0 || world_open(&w, fd, &model))
		return 2;
	if (attach_engine(&engine, fd, NPUMEM_ATTACH_SHARED, WINDOW, ATTACH_HANG) != -EPERM)
		return 3;
	if (attach_engine(&engine, fd, 0, WINDOW, ATTACH_HANG) || attach_submit(&w, CHAIN_COPY))
		return 4;
	return attach_serve(&engine, 1, KEY) || attach_outcome(&w) ? 5 : 0;
}

TEST_F(process, needs_no_privilege_unless_it_is_shared)
{
	int status;
	pid_t pid;

	npu_open_nodes();
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(unprivileged());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* ---------------------------------------------------------------- arguments */

/* As the fixture's, on a file without one. */
static struct drm_npumem_engine_attach arguments(int fd, uint32_t window)
{
	return (struct drm_npumem_engine_attach){
		.engine = attach_slot(fd),
		.window = window,
		.hang_ms = ATTACH_HANG,
		.name = "test",
	};
}

#define REFUSED(err, change)                                                          \
	do {                                                                          \
		struct drm_npumem_engine_attach args = arguments(fd, window);         \
		change;                                                               \
		EXPECT_EQ(err, npu_ioctl(fd, DRM_IOCTL_NPUMEM_ENGINE_ATTACH, &args)); \
		EXPECT_EQ(-1, args.fd);                                               \
	} while (0)

TEST_F(process, arguments_of_attach)
{
	uint32_t window, carveout, large, sim = self->w.engine;
	struct drm_npumem_engine_attach good;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, npu_bo_create(fd, WINDOW, NPUMEM_BO_SYSTEM, &window));
	ASSERT_EQ(0, npu_bo_create(fd, WINDOW, NPUMEM_BO_CARVEOUT, &carveout));
	ASSERT_EQ(0, npu_bo_create(fd, (256u << 20) + 4096, NPUMEM_BO_SYSTEM, &large));
	REFUSED(-EINVAL, args.flags = NPUMEM_ATTACH_SHARED << 1);
	REFUSED(-EINVAL, args.name[0] = '\0');
	REFUSED(-EINVAL, memset(args.name, 'x', sizeof(args.name)));
	REFUSED(-EINVAL, args.hang_ms = 0);
	REFUSED(-EINVAL, args.hang_ms = NPUMEM_ENGINE_JOB_MS + 1);
	REFUSED(-EINVAL, args.engine = sim);
	REFUSED(-EINVAL, args.engine = NPUMEM_NONE);
	REFUSED(-EINVAL, args.window = carveout);
	REFUSED(-ENOENT, args.window = 0);
	REFUSED(-ENOENT, args.window = 99);
	REFUSED(-E2BIG, args.window = large);
	good = arguments(fd, window);
	ASSERT_EQ(0, npu_ioctl(fd, DRM_IOCTL_NPUMEM_ENGINE_ATTACH, &good));
	REFUSED(-EBUSY, args.flags = NPUMEM_ATTACH_SHARED);
	close(good.fd);
	close(fd);
}

/* One that ends takes nothing with it, though the next task may be there at once. */
TEST_F(process, commits_only)
{
	struct npumem_engine_next task;
	uint32_t i;

	for (i = 0; i < CHAIN_STEPS; i++)
		ASSERT_EQ(0, attach_submit(&self->w, i));
	for (i = 0; i < CHAIN_STEPS; i++) {
		ASSERT_EQ(0, attach_fetch(&self->engine, &task));
		EXPECT_EQ(i, task.position);
		attach_mix(&self->engine, &task, KEY);
		/* The next one's copies are made while this call returns, or before. */
		ASSERT_EQ(0, attach_commit(&self->engine, task.task, 0));
	}
	EXPECT_EQ(0, attach_outcome(&self->w));
}

TEST_F(process, arguments_of_next)
{
	struct npumem_engine_next next = { .commit = 1, .flags = NPUMEM_NEXT_COMMIT_ONLY << 1 };
	struct npumem_engine_next *nowhere = (void *)NPU_UNMAPPED;
	struct npumem_engine_next task;

	EXPECT_EQ(-EINVAL, attach_next(&self->engine, &next));
	next = (struct npumem_engine_next){ .status = EIO };
	EXPECT_EQ(-EINVAL, attach_next(&self->engine, &next));
	next = (struct npumem_engine_next){ .flags = NPUMEM_NEXT_COMMIT_ONLY };
	EXPECT_EQ(-EINVAL, attach_next(&self->engine, &next));
	next = (struct npumem_engine_next){ .commit = 1, .status = 4096 };
	EXPECT_EQ(-EINVAL, attach_next(&self->engine, &next));
	EXPECT_EQ(-EFAULT, attach_next(&self->engine, nowhere));
	EXPECT_EQ(-EFAULT, npu_ioctl(self->engine.fd, NPUMEM_IOCTL_ENGINE_ALIVE, nowhere));
	EXPECT_EQ(-ENOTTY, npu_ioctl(self->engine.fd, NPUMEM_IOCTL_ENGINE_ALIVE + 1, &next));
	/* A task that could not be told of is not lost. */
	nowhere = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)nowhere);
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	while (!(attach_poll(&self->engine) & POLLIN))
		;
	EXPECT_EQ(-EFAULT, attach_next(&self->engine, nowhere));
	ASSERT_EQ(0, attach_fetch(&self->engine, &task));
	EXPECT_EQ(0, attach_commit(&self->engine, task.task, 0));
	EXPECT_EQ(0, attach_outcome(&self->w));
}

TEST_HARNESS_MAIN
