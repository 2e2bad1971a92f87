// SPDX-License-Identifier: MIT
/*
 * DEV_QUERY of plans, runs and holders: what there is, in pieces, to whom it is told.
 * Arguments, and what is asked of the device itself: npumem_uapi.c.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

enum {
	MANY = 600,   /* more than one call looks at */
	LOOKS = 256,  /* so many are those */
	OTHER = 60001 /* user without privileges */
};

FIXTURE(query)
{
	int fd;
	int64_t began;
	struct model model;
	struct blob graph_blob, plan_blob;
	struct world w;
};

FIXTURE_SETUP(query)
{
	self->began = npu_now();
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	self->graph_blob = model_graph(&self->model);
	self->plan_blob = model_plan(&self->model);
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
}

FIXTURE_TEARDOWN(query)
{
	npu_knob("pause", 0);
	world_close(&self->w);
	blob_free(&self->graph_blob);
	blob_free(&self->plan_blob);
	model_free(&self->model);
	close(self->fd);
}

static int ask(int fd, struct drm_npumem_dev_query *query)
{
	return npu_ioctl(fd, DRM_IOCTL_NPUMEM_DEV_QUERY, query);
}

/* The run of a file that has one, with all that is asked for at once. */
static struct drm_npumem_run_record the_run(struct __test_metadata *_metadata, int fd)
{
	struct drm_npumem_run_record runs[2];
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_RUNS, runs);

	EXPECT_EQ(0, ask(fd, &query));
	EXPECT_EQ(sizeof(runs[0]), query.answer.size);
	EXPECT_EQ(0, query.next);
	EXPECT_TRUE(npu_all_bytes(&runs[1], sizeof(runs[1]), 0));
	return runs[0];
}

TEST_F(query, plan_of_this_file)
{
	struct drm_npumem_plan_record plans[2];
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_PLANS, plans);

	ASSERT_EQ(0, ask(self->fd, &query));
	ASSERT_EQ(sizeof(plans[0]), query.answer.size);
	EXPECT_EQ(0, query.next);
	EXPECT_EQ(self->w.plan, plans[0].handle);
	EXPECT_EQ(self->w.graph, plans[0].graph);
	EXPECT_EQ(NPUMEM_PLAN_STATE_READY, plans[0].state);
	EXPECT_EQ(0, plans[0].error);
	EXPECT_EQ(self->model.info.arena_size, plans[0].arena_size);
	EXPECT_EQ(0, plans[0].host_size);
	EXPECT_LE(self->plan_blob.size, plans[0].memory_bytes);
	EXPECT_LE(self->began, plans[0].created_ns);
	EXPECT_GE(npu_now(), plans[0].created_ns);
	EXPECT_TRUE(npu_all_bytes(&plans[1], sizeof(plans[1]), 0));
}

TEST_F(query, run_of_this_file)
{
	struct drm_npumem_run_record run = the_run(_metadata, self->fd);
	uint64_t page = sysconf(_SC_PAGESIZE);

	EXPECT_EQ(self->w.run, run.handle);
	EXPECT_EQ(self->w.plan, run.plan);
	EXPECT_EQ(self->w.graph, run.graph);
	EXPECT_EQ(0, run.bank);
	EXPECT_EQ(0, run.flags);
	EXPECT_EQ(0, run.error);
	EXPECT_LE(self->began, run.created_ns);
	EXPECT_GE(npu_now(), run.created_ns);
	EXPECT_EQ((self->model.info.arena_size + page - 1) / page * page, run.arena_size);
	EXPECT_EQ(0, run.submitted);
}

TEST_F(query, run_under_way_and_lost)
{
	struct drm_npumem_run_record run;

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, world_step(&self->w, CHAIN_COPY, NPUMEM_SIM_FILL, 1));
	run = the_run(_metadata, self->fd);
	EXPECT_EQ(NPUMEM_RUN_BUSY, run.flags);
	EXPECT_EQ(1, run.submitted);
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_EQ(0, the_run(_metadata, self->fd).flags);
	ASSERT_EQ(0, npu_knob("fail_next", 1));
	ASSERT_EQ(0, world_step(&self->w, CHAIN_MIX, NPUMEM_SIM_FILL, 1));
	ASSERT_EQ(0, world_wait(&self->w));
	run = the_run(_metadata, self->fd);
	EXPECT_EQ(EIO, run.error);
	EXPECT_EQ(2, run.submitted);
	ASSERT_EQ(0, world_reset(&self->w));
	run = the_run(_metadata, self->fd);
	EXPECT_EQ(0, run.error);
	EXPECT_EQ(0, run.submitted);
}

/* A handle that is another object's by now is not said to be the plan's or graph's. */
TEST_F(query, handles_that_are_gone)
{
	struct drm_npumem_plan_record plans[2];
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_PLANS, plans);
	struct drm_npumem_run_record run;
	uint32_t graph, plan;

	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, self->w.graph));
	ASSERT_EQ(0, world_graph(self->fd, &self->graph_blob, &graph));
	ASSERT_EQ(self->w.graph, graph);
	ASSERT_EQ(0, ask(self->fd, &query));
	EXPECT_EQ(self->w.plan, plans[0].handle);
	EXPECT_EQ(0, plans[0].graph);
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, self->w.plan));
	ASSERT_EQ(0, world_plan(self->fd, graph, &self->plan_blob, &plan));
	ASSERT_EQ(self->w.plan, plan);
	run = the_run(_metadata, self->fd);
	EXPECT_EQ(self->w.run, run.handle);
	EXPECT_EQ(0, run.plan);
	EXPECT_EQ(0, run.graph);
}

/* Handles are those of the file that asks. */
TEST_F(query, nothing_of_other_files)
{
	struct drm_npumem_plan_record plans[2];
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_PLANS, plans);
	int other = npu_open();

	ASSERT_GE(other, 0);
	ASSERT_EQ(0, ask(other, &query));
	EXPECT_EQ(0, query.answer.size);
	EXPECT_EQ(0, query.next);
	EXPECT_TRUE(npu_all_bytes(plans, sizeof(plans), 0));
	query = NPU_QUERY(NPUMEM_QUERY_RUNS, plans);
	ASSERT_EQ(0, ask(other, &query));
	EXPECT_EQ(0, query.answer.size);
	EXPECT_TRUE(npu_all_bytes(plans, sizeof(plans), 0));
	close(other);
}

/* Each of many exactly once, however few are asked for at a time. */
TEST_F(query, in_pieces)
{
	static const uint32_t rooms[] = { 1, 7, LOOKS, MANY };
	static struct drm_npumem_plan_record plans[MANY];
	static bool seen[2 * MANY];
	struct drm_npumem_dev_query query;
	uint32_t i, p, given, calls, handle;

	for (i = 1; i < MANY; i++)
		ASSERT_EQ(0, world_plan(self->fd, self->w.graph, &self->plan_blob, &handle));
	for (i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		memset(seen, 0, sizeof(seen));
		query = NPU_QUERY(NPUMEM_QUERY_PLANS, plans);
		p = calls = 0;
		do {
			query.answer = NPU_BYTES(plans, rooms[i] * sizeof(plans[0]));
			query.first = query.next;
			ASSERT_EQ(0, ask(self->fd, &query));
			given = query.answer.size / sizeof(plans[0]);
			/* One call looks at so many, and tells of all that it has found. */
			EXPECT_GE(LOOKS, given);
			given = given < rooms[i] ? given : rooms[i];
			for (handle = 0; handle < given; handle++) {
				ASSERT_LT(plans[handle].handle, 2 * MANY);
				EXPECT_FALSE(seen[plans[handle].handle]);
				seen[plans[handle].handle] = true;
			}
			p += given;
			ASSERT_GT(MANY, calls++);
		} while (query.next);
		EXPECT_EQ(MANY, p);
		EXPECT_LE((uint32_t)MANY / LOOKS, calls);
	}
	/* Only how many there are, up to the limit. */
	query = (struct drm_npumem_dev_query){ .type = NPUMEM_QUERY_PLANS, .stride = 8 };
	ASSERT_EQ(0, ask(self->fd, &query));
	EXPECT_EQ(8 * LOOKS, query.answer.size);
	EXPECT_NE(0, query.next);
}

/* ----------------------------------------------------------------- holders */

/* What a process holds of bank 0; all zero: nothing. Looks at all holders. */
static struct drm_npumem_holder holder_of(struct __test_metadata *_metadata, int fd, pid_t pid)
{
	struct drm_npumem_holder holders[3], found = { 0 };
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_HOLDERS, holders);
	uint32_t i, given;

	do {
		query.answer = NPU_BUFFER(holders);
		query.first = query.next;
		EXPECT_EQ(0, ask(fd, &query));
		given = query.answer.size / sizeof(holders[0]);
		for (i = 0; i < given && i < 3; i++) {
			EXPECT_NE(0, holders[i].bytes);
			EXPECT_EQ(0, holders[i].pad);
			if (holders[i].pid != (uint32_t)pid || holders[i].bank)
				continue;
			EXPECT_EQ(0, found.client);
			found = holders[i];
		}
	} while (query.next);
	return found;
}

/* What an arena takes of the bank: whole units. */
static uint64_t arena_bytes(struct __test_metadata *_metadata, int fd)
{
	uint64_t size = the_run(_metadata, fd).arena_size;
	struct drm_npumem_bank bank;

	EXPECT_EQ(0, npu_bank(fd, &bank));
	EXPECT_NE(0, size);
	return (size + bank.alignment - 1) / bank.alignment * bank.alignment;
}

TEST_F(query, holder_this_process)
{
	uint64_t arena = arena_bytes(_metadata, self->fd);
	struct drm_npumem_holder holder = holder_of(_metadata, self->fd, getpid());
	struct drm_npumem_holder more;
	char name[16];
	uint32_t bo;

	ASSERT_NE(0, holder.client);
	EXPECT_EQ(arena, holder.bytes);
	EXPECT_EQ(getuid(), holder.uid);
	EXPECT_LE(self->began, holder.since_ns);
	EXPECT_GE(npu_now(), holder.since_ns);
	EXPECT_LT(self->plan_blob.size, holder.memory_bytes);
	ASSERT_EQ(0, prctl(PR_GET_NAME, name));
	EXPECT_STREQ(name, holder.comm);
	/* More of it, since the same time; then none, and again since later. */
	ASSERT_EQ(0, npu_bo_create(self->fd, arena, NPUMEM_BO_CARVEOUT, &bo));
	more = holder_of(_metadata, self->fd, getpid());
	EXPECT_EQ(2 * arena, more.bytes);
	EXPECT_EQ(holder.since_ns, more.since_ns);
	EXPECT_EQ(holder.client, more.client);
	ASSERT_EQ(0, npu_bo_close(self->fd, bo));
	world_close(&self->w);
	EXPECT_EQ(0, holder_of(_metadata, self->fd, getpid()).client);
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	more = holder_of(_metadata, self->fd, getpid());
	EXPECT_EQ(holder.bytes, more.bytes);
	EXPECT_EQ(holder.client, more.client);
	EXPECT_LT(holder.since_ns, more.since_ns);
}

/* Somebody else, who holds an arena until he is killed, and may not ask who does. */
static pid_t somebody(int ready, const struct model *model)
{
	struct drm_npumem_holder holders[1];
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_HOLDERS, holders);
	struct world w;
	pid_t pid = fork();
	int fd, answer;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "some\nbody");
	answer = npu_become(OTHER);
	fd = npu_open();
	if (!answer)
		answer = fd < 0 ? -ENODEV : world_open(&w, fd, model);
	if (!answer)
		answer = ask(fd, &query);
	if (write(ready, &answer, sizeof(answer)) != sizeof(answer))
		_exit(1);
	for (;;)
		pause();
}

TEST_F(query, holders_are_told_to_an_administrator_only)
{
	struct drm_npumem_holder holder;
	int ready[2], answer;
	pid_t pid;

	npu_open_nodes();
	ASSERT_EQ(0, pipe(ready));
	pid = somebody(ready[1], &self->model);
	ASSERT_LT(0, pid);
	ASSERT_EQ(sizeof(answer), read(ready[0], &answer, sizeof(answer)));
	EXPECT_EQ(-EACCES, answer);
	holder = holder_of(_metadata, self->fd, pid);
	EXPECT_EQ(OTHER, holder.uid);
	EXPECT_STREQ("some\nbody", holder.comm);
	EXPECT_EQ(arena_bytes(_metadata, self->fd), holder.bytes);
	EXPECT_NE(holder.client, holder_of(_metadata, self->fd, getpid()).client);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(0, holder_of(_metadata, self->fd, pid).client);
	close(ready[0]);
	close(ready[1]);
}

/* A process of its own submits a job to an engine that pauses, and ends. */
static void leave_job(struct __test_metadata *_metadata, const struct model *model)
{
	struct world w;
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		int fd = npu_open();

		_exit(fd < 0 || world_open(&w, fd, model) ||
		      world_step(&w, CHAIN_COPY, NPUMEM_SIM_FILL, 1));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
}

/* A file that is closed holds its arena as long as a job does. */
TEST_F(query, holder_that_has_closed_its_file)
{
	uint64_t bytes = 0;

	ASSERT_EQ(0, npu_knob("pause", 1));
	/* A job that no engine has taken yet goes with its file; then another one is left. */
	for (int i = 0; i < 100 && !bytes; i++) {
		leave_job(_metadata, &self->model);
		bytes = holder_of(_metadata, self->fd, 0).bytes;
	}
	/* Its process is gone, and so is its number; what it holds is not. */
	EXPECT_EQ(arena_bytes(_metadata, self->fd), bytes);
	ASSERT_EQ(0, npu_knob("pause", 0));
	for (int i = 0; i < 1000 && holder_of(_metadata, self->fd, 0).client; i++)
		usleep(10000);
	EXPECT_EQ(0, holder_of(_metadata, self->fd, 0).client);
}

TEST_HARNESS_MAIN
