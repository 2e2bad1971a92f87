// SPDX-License-Identifier: MIT
/*
 * Engines in a process that die, lie, or never answer: it costs their own jobs, within a limit
 * that the driver keeps, and the next one that attaches finds all as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_attach.h"

#define KEY	 0xbad
#define WINDOW	 16384
#define USER	 4712
#define SIZE	 CHAIN_SIZE
#define SHORT_MS 200 /* limit of an engine that will not answer */
#define MANY	 64  /* engines that a user may have attached */

FIXTURE(hostile)
{
	int fd;
	struct model model;
	struct world w;
};

FIXTURE_SETUP(hostile)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
}

FIXTURE_TEARDOWN(hostile)
{
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
}

static uint8_t *tensor(struct world *w, uint32_t t)
{
	return w->arena + (size_t)t * SIZE;
}

/* The next engine computes the whole chain, right. */
static int recovers(FIXTURE_DATA(hostile) * self)
{
	uint8_t **ref = reference_new(&self->model);
	struct attached engine;
	uint32_t i;
	int err;

	memset(ref[CHAIN_X], 0x21, SIZE);
	err = world_reset(&self->w);
	memcpy(tensor(&self->w, CHAIN_X), ref[CHAIN_X], SIZE);
	if (!err)
		err = attach_engine(&engine, self->fd, 0, WINDOW, ATTACH_HANG);
	if (err)
		return err;
	for (i = 0; !err && i < CHAIN_STEPS; i++) {
		reference_step(&self->model, ref, i, NPUMEM_SIM_MIX, KEY);
		err = attach_submit(&self->w, i);
	}
	if (!err)
		err = attach_serve(&engine, CHAIN_STEPS, KEY);
	if (!err)
		err = attach_outcome(&self->w);
	if (!err && memcmp(ref[CHAIN_Y], tensor(&self->w, CHAIN_Y), SIZE))
		err = -EILSEQ;
	detach_engine(&engine);
	reference_free(&self->model, ref);
	return err;
}

/* ---------------------------------------------------------------------- dies */

enum point { ATTACHED, READY, FETCHED, COMMITTED };

/* An engine of its own process that gets so far and no farther. */
static int lives_until(int device, enum point point, int tell)
{
	struct npumem_engine_next task;
	struct attached engine;
	struct pollfd fd;

	if (attach_engine(&engine, device, 0, WINDOW, ATTACH_HANG) || write(tell, "", 1) != 1)
		return 1;
	fd = (struct pollfd){ .fd = engine.fd, .events = POLLIN };
	if (point >= READY && poll(&fd, 1, 300000) != 1)
		return 2;
	if (point >= FETCHED && attach_fetch(&engine, &task))
		return 3;
	if (point >= COMMITTED) {
		attach_mix(&engine, &task, KEY);
		if (attach_commit(&engine, task.task, 0))
			return 4;
	}
	/* Whatever it has goes as it is. */
	_exit(0);
}

/* The job in flight, and whatever else the run would have done. */
static void dies(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) * self, enum point point,
		 int outcome)
{
	int tell[2], status, err;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe2(tell, O_CLOEXEC));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(lives_until(self->fd, point, tell[1]));
	close(tell[1]);
	ASSERT_EQ(1, read(tell[0], &byte, 1));
	close(tell[0]);
	err = attach_submit(&self->w, CHAIN_COPY);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* Without a job to wait for it may have been quicker. */
	if (point != ATTACHED || err != -EUNATCH) {
		EXPECT_EQ(0, err);
		EXPECT_EQ(outcome, attach_outcome(&self->w));
	}
	/* Nobody is attached, whatever the run's state. */
	EXPECT_EQ(-EUNATCH, attach_submit(&self->w, CHAIN_MIX));
	EXPECT_EQ(0, recovers(self));
	EXPECT_EQ(0, world_reset(&self->w));
}

TEST_F(hostile, dies_wherever)
{
	dies(_metadata, self, ATTACHED, ENODEV);
	dies(_metadata, self, READY, ENODEV);
	dies(_metadata, self, FETCHED, ENODEV);
	dies(_metadata, self, COMMITTED, 0);
}

/* Everything that is queued for it, of several runs. */
TEST_F(hostile, closes_while_jobs_are_queued)
{
	struct npumem_engine_next task;
	struct attached engine;
	struct world other;
	int copy;

	ASSERT_EQ(0, world_open(&other, self->fd, &self->model));
	ASSERT_EQ(0, attach_engine(&engine, self->fd, 0, WINDOW, ATTACH_HANG));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_MIX));
	ASSERT_EQ(0, attach_submit(&other, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&engine, &task));
	/* With all its copies. */
	copy = fcntl(engine.fd, F_DUPFD_CLOEXEC, 0);
	ASSERT_GE(copy, 0);
	close(engine.fd);
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->w.arena_bo, 0));
	engine.fd = copy;
	detach_engine(&engine);
	EXPECT_EQ(ENODEV, attach_outcome(&self->w));
	EXPECT_EQ(ENODEV, attach_outcome(&other));
	EXPECT_EQ(0, recovers(self));
	world_close(&other);
}

/* What it leaves behind is not given to who attaches next. */
TEST_F(hostile, jobs_are_of_one_engine)
{
	struct npumem_engine_next task = { 0 };
	struct attached first, second;

	ASSERT_EQ(0, attach_engine(&first, self->fd, 0, WINDOW, ATTACH_HANG));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_MIX));
	detach_engine(&first);
	ASSERT_EQ(0, attach_engine(&second, self->fd, 0, WINDOW, ATTACH_HANG));
	EXPECT_EQ(ENODEV, attach_outcome(&self->w));
	EXPECT_EQ(-ETIMEDOUT, attach_next(&second, &task));
	detach_engine(&second);
	EXPECT_EQ(0, recovers(self));
}

/* ------------------------------------------------------------- never answers */

TEST_F(hostile, answers_too_late)
{
	struct npumem_engine_next task;
	struct attached engine;

	memset(tensor(&self->w, CHAIN_A), 0x44, SIZE);
	ASSERT_EQ(0, attach_engine(&engine, self->fd, 0, WINDOW, SHORT_MS));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&engine, &task));
	attach_mix(&engine, &task, KEY);
	EXPECT_EQ(ETIMEDOUT, attach_outcome(&self->w));
	EXPECT_EQ(-ESTALE, attach_alive(&engine, task.task));
	EXPECT_EQ(-ESTALE, attach_commit(&engine, task.task, 0));
	EXPECT_TRUE(npu_all_bytes(tensor(&self->w, CHAIN_A), SIZE, 0x44));
	/* It is back, so it is not thrown out. */
	ASSERT_EQ(0, world_reset(&self->w));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	EXPECT_EQ(ETIMEDOUT, attach_outcome(&self->w));
	EXPECT_EQ(0, attach_poll(&engine));
	detach_engine(&engine);
	EXPECT_EQ(0, recovers(self));
}

/* Its next job waits for it, and then it is no engine any more. */
TEST_F(hostile, never_comes_back)
{
	struct npumem_engine_next task, next = { 0 };
	struct attached engine;
	struct world other;

	ASSERT_EQ(0, world_open(&other, self->fd, &self->model));
	ASSERT_EQ(0, attach_engine(&engine, self->fd, 0, WINDOW, SHORT_MS));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&engine, &task));
	EXPECT_EQ(ETIMEDOUT, attach_outcome(&self->w));
	ASSERT_EQ(0, attach_submit(&other, CHAIN_COPY));
	EXPECT_EQ(ENODEV, attach_outcome(&other));
	EXPECT_EQ(POLLHUP, attach_poll(&engine));
	EXPECT_EQ(-ENODEV, attach_next(&engine, &next));
	EXPECT_EQ(-ENODEV, attach_commit(&engine, task.task, 0));
	EXPECT_EQ(-ENODEV, attach_alive(&engine, task.task));
	EXPECT_EQ(-EUNATCH, attach_submit(&other, CHAIN_MIX));
	/* Though its descriptor is open. */
	ASSERT_EQ(0, world_reset(&other));
	EXPECT_EQ(0, recovers(self));
	detach_engine(&engine);
	world_close(&other);
}

/* A sign of life is worth something, but the job's limit is the driver's. */
TEST_F(hostile, says_that_it_lives_for_ever)
{
	struct npumem_engine_next task;
	struct attached engine;
	int64_t start;
	int err;

	ASSERT_EQ(0, attach_engine(&engine, self->fd, 0, WINDOW, 4000));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	start = npu_now();
	ASSERT_EQ(0, attach_fetch(&engine, &task));
	do {
		usleep(20000);
		err = attach_alive(&engine, task.task);
	} while (!err);
	EXPECT_EQ(-ESTALE, err);
	/* Longer than without, if it was not held up itself for seconds. */
	EXPECT_GT(npu_now() - start, 4000 * 1000000ll);
	EXPECT_EQ(ETIMEDOUT, attach_outcome(&self->w));
	detach_engine(&engine);
	EXPECT_EQ(0, recovers(self));
}

/* One step that writes an output, which is stored again and again. */
static struct model model_stores(uint32_t stores, uint64_t size)
{
	struct model m = { 0 };
	uint32_t y = model_tensor(&m, NPUMEM_TENSOR_OUTPUT, size), i;

	model_step_rw(&m, NPUMEM_NONE, model_whole(&m, y));
	model_place(&m, y, 0);
	model_schedule(&m);
	for (i = 0; i < stores; i++)
		model_store(&m, y, 0);
	m.placements[0].to = stores;
	m.info.host_size = size;
	return m;
}

/* Nobody computes what is only moved, and yet it is a job, and others wait for it. */
TEST_F_TIMEOUT(hostile, has_more_moved_than_there_is_time_for, 600)
{
	/* 400 GB are too much for any machine. */
	enum { STORES = 100000, BYTES = 4 << 20 };
	struct model m = model_stores(STORES, BYTES);
	struct drm_npumem_run_query query;
	struct drm_npumem_submit args;
	struct attached engine;
	struct drm_npumem_job job;
	struct world w;

	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	ASSERT_EQ(0, attach_engine(&engine, self->fd, 0, WINDOW, ATTACH_HANG));
	ASSERT_EQ(0, world_step(&w, 0, NPUMEM_SIM_NOP, 0));
	job = attach_job(&w, 1);
	job.position_count = STORES;
	ASSERT_EQ(0, world_submit(&w, &job, 1, &args));
	EXPECT_EQ(0, npu_bo_wait(self->fd, w.arena_bo, npu_now() + 100000000000ll));
	ASSERT_EQ(0, world_query(&w, &query));
	EXPECT_EQ(ETIMEDOUT, query.error);
	detach_engine(&engine);
	EXPECT_EQ(0, recovers(self));
	world_close(&w);
	model_free(&m);
}

/* ---------------------------------------------------------------------- lies */

TEST_F(hostile, answers_twice_and_for_others)
{
	struct npumem_engine_next task, shared_task;
	struct attached engine, shared;
	struct world other;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&other, fd, &self->model));
	ASSERT_EQ(0, attach_engine(&engine, self->fd, 0, WINDOW, ATTACH_HANG));
	ASSERT_EQ(0, attach_engine(&shared, fd, NPUMEM_ATTACH_SHARED, WINDOW, ATTACH_HANG));
	/* Before there is one. */
	EXPECT_EQ(-ESTALE, attach_commit(&engine, 1, 0));
	ASSERT_EQ(0, attach_submit(&other, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&shared, &shared_task));
	/* Another engine's. */
	EXPECT_EQ(-ESTALE, attach_commit(&engine, shared_task.task, 0));
	EXPECT_EQ(-ESTALE, attach_alive(&engine, shared_task.task));
	/* What is to come. */
	EXPECT_EQ(-ESTALE, attach_commit(&shared, shared_task.task + 1, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(fd, other.arena_bo, 0));
	EXPECT_EQ(0, attach_commit(&shared, shared_task.task, 0));
	EXPECT_EQ(-ESTALE, attach_commit(&shared, shared_task.task, 0));
	EXPECT_EQ(-ESTALE, attach_commit(&shared, shared_task.task, EIO));
	EXPECT_EQ(0, attach_outcome(&other));
	/* One that nobody has fetched. */
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	while (!(attach_poll(&engine) & POLLIN))
		;
	EXPECT_EQ(-ESTALE, attach_commit(&engine, shared_task.task + 1, 0));
	ASSERT_EQ(0, attach_fetch(&engine, &task));
	EXPECT_EQ(0, attach_commit(&engine, task.task, 0));
	EXPECT_EQ(0, attach_outcome(&self->w));
	detach_engine(&shared);
	detach_engine(&engine);
	world_close(&other);
	close(fd);
}

/* Parent and child answer the same task. */
TEST_F(hostile, forks)
{
	struct npumem_engine_next task;
	struct attached engine;
	int status, err;
	pid_t pid;

	ASSERT_EQ(0, attach_engine(&engine, self->fd, 0, WINDOW, ATTACH_HANG));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&engine, &task));
	attach_mix(&engine, &task, KEY);
	pid = fork();
	ASSERT_GE(pid, 0);
	err = attach_commit(&engine, task.task, 0);
	if (!pid)
		_exit(-err);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	/* One of the two. */
	EXPECT_TRUE(!err || !WEXITSTATUS(status));
	EXPECT_EQ(-ESTALE, err - WEXITSTATUS(status));
	EXPECT_EQ(0, attach_outcome(&self->w));
	detach_engine(&engine);
	EXPECT_EQ(0, recovers(self));
}

static atomic_bool scribbling;

struct scribbled {
	uint8_t *at;
	size_t size;
};

static void *scribble(void *argument)
{
	const struct scribbled *where = argument;
	unsigned int n = 0;

	while (scribbling)
		memset(where->at, n++, where->size);
	return NULL;
}

/* What it writes then and whenever else, in all of the window or in its own tile alone. */
static void writes_after(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) * self,
			 struct attached *engine, struct scribbled where, bool own)
{
	uint8_t before[CHAIN_TENSORS * SIZE], after[SIZE];
	struct npumem_engine_next task;
	pthread_t thread;
	int i, err;

	memset(before, 0x3c, sizeof(before));
	scribbling = true;
	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &where));
	for (i = 0; i < 50; i++) {
		memcpy(self->w.arena, before, sizeof(before));
		ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
		ASSERT_EQ(0, attach_fetch(engine, &task));
		ASSERT_EQ(0, attach_commit(engine, task.task, 0));
		err = attach_outcome(&self->w);
		/* Whether it is found out depends on when it writes; nothing else does. */
		ASSERT_TRUE(!err || (err == EPROTO && !own));
		memcpy(after, tensor(&self->w, CHAIN_A), SIZE);
		ASSERT_EQ(0, memcmp(before, self->w.arena, SIZE));
		ASSERT_EQ(0, memcmp(before, tensor(&self->w, CHAIN_B), 2 * SIZE));
		usleep(1000);
		ASSERT_EQ(0, memcmp(after, tensor(&self->w, CHAIN_A), SIZE));
		ASSERT_EQ(0, world_reset(&self->w));
	}
	scribbling = false;
	pthread_join(thread, NULL);
}

/* Its own tile may be anything; all else is as it should be, and stays so. */
TEST_F(hostile, writes_after_the_commit)
{
	struct npumem_engine_next task;
	struct attached engine;
	uint8_t *own;

	ASSERT_EQ(0, attach_engine(&engine, self->fd, 0, WINDOW, ATTACH_HANG));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&engine, &task));
	own = engine.window + attach_access(&engine, 1).offset;
	ASSERT_EQ(0, attach_commit(&engine, task.task, 0));
	ASSERT_EQ(0, attach_outcome(&self->w));
	ASSERT_EQ(0, world_reset(&self->w));
	writes_after(_metadata, self, &engine, (struct scribbled){ own, SIZE }, true);
	writes_after(_metadata, self, &engine, (struct scribbled){ engine.window, WINDOW }, false);
	detach_engine(&engine);
	EXPECT_EQ(0, recovers(self));
}

/* ---------------------------------------------------------- takes what it can */

/* How many engines a user can attach, each on a file of its own; -1: something else failed. */
static int attach_all(void)
{
	struct attached engine;
	int i, fd, err;

	for (i = 0; i <= MANY; i++) {
		fd = npu_open();
		if (fd < 0)
			return -1;
		err = attach_engine(&engine, fd, 0, 4096, ATTACH_HANG);
		if (err)
			return err == -EMFILE ? i : -1;
	}
	return i;
}

/* One user's are counted, and another one's are not fewer. */
TEST_F(hostile, exhausts_attachments)
{
	int status, user;
	pid_t pid;

	npu_open_nodes();
	for (user = USER; user < USER + 2; user++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid)
			_exit(npu_become(user) ? 255 : attach_all());
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFEXITED(status));
		EXPECT_EQ(MANY, WEXITSTATUS(status));
	}
	EXPECT_EQ(0, recovers(self));
}

/* Its client is closed while it computes: the engine hears of it when it comes back. */
TEST_F(hostile, outlives_its_client)
{
	struct npumem_engine_next task;
	struct attached shared;
	struct world other;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&other, fd, &self->model));
	ASSERT_EQ(0, attach_engine(&shared, self->fd, NPUMEM_ATTACH_SHARED, WINDOW, ATTACH_HANG));
	ASSERT_EQ(0, attach_submit(&other, CHAIN_COPY));
	ASSERT_EQ(0, attach_fetch(&shared, &task));
	munmap(other.arena, other.arena_size);
	close(fd);
	/* In a moment, not at the limit. */
	while (!attach_alive(&shared, task.task))
		usleep(10000);
	EXPECT_EQ(-ESTALE, attach_commit(&shared, task.task, 0));
	EXPECT_EQ(0, attach_poll(&shared));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	EXPECT_EQ(0, attach_serve(&shared, 1, KEY));
	EXPECT_EQ(0, attach_outcome(&self->w));
	detach_engine(&shared);
}

/* A private engine serves nobody any more once its file is closed. */
TEST_F(hostile, outlives_its_file)
{
	struct attached engine;
	struct world other;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&other, fd, &self->model));
	ASSERT_EQ(0, attach_engine(&engine, fd, 0, WINDOW, ATTACH_HANG));
	munmap(engine.window, WINDOW);
	ASSERT_EQ(0, attach_submit(&other, CHAIN_COPY));
	munmap(other.arena, other.arena_size);
	EXPECT_EQ(0, attach_poll(&engine) & POLLHUP);
	close(fd);
	EXPECT_EQ(POLLHUP, attach_poll(&engine));
	EXPECT_EQ(-ENODEV, attach_commit(&engine, 1, 0));
	close(engine.fd);
	EXPECT_EQ(0, recovers(self));
}

TEST_HARNESS_MAIN
