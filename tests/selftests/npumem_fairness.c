// SPDX-License-Identifier: MIT
/*
 * Engine time is shared out among clients: however much one has queued, another's
 * job is next after the one in flight; a queue is bounded; and what a client that is
 * gone has queued goes with it. What has run before what is told by the times of
 * fences, and counted.
 */
#include <errno.h>
#include <linux/sync_file.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

enum {
	NOBODY = 65534,
	JOBS = 60, /* of each attacker */
	VICTIMS = 8,
	SMALL = 64,
	LARGE = 4096,
};

/*
 * struct client - open file with a run of JOBS steps that depend on nothing
 * @out: syncobj of each step's job
 */
struct client {
	int fd;
	struct model model;
	struct world w;
	uint32_t out[JOBS];
};

/* The file is of a user: who it is when it is opened. */
static int open_as(uid_t uid)
{
	int fd;

	if (seteuid(uid))
		return -1;
	fd = npu_open();
	return seteuid(0) ? -1 : fd;
}

static int client_open(struct client *c, uid_t uid, uint32_t size)
{
	struct model *m = &c->model;
	uint32_t i, t;

	*c = (struct client){ .fd = open_as(uid) };
	if (c->fd < 0)
		return -ENODEV;
	for (i = 0; i < JOBS; i++) {
		t = model_tensor(m, NPUMEM_TENSOR_OUTPUT, size);
		model_step_rw(m, NPUMEM_NONE, model_whole(m, t));
		c->out[i] = npu_syncobj(c->fd);
	}
	for (i = 0; i < JOBS; i++)
		model_place(m, i, (uint64_t)i * size);
	model_schedule(m);
	return world_open(&c->w, c->fd, m);
}

static void client_close(struct client *c)
{
	world_close(&c->w);
	model_free(&c->model);
	close(c->fd);
}

/* One step, in a SUBMIT of its own. */
static int client_submit(struct client *c, uint32_t step)
{
	struct drm_npumem_job job = world_job(&c->w, step, NPUMEM_SIM_FILL, 1);
	struct drm_npumem_sync sync = { .handle = c->out[step] };
	struct drm_npumem_submit args = {
		.run = c->w.run,
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&sync, 1),
	};

	return npu_ioctl(c->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
}

/* When a step's job ended; 0 if that cannot be told. */
static uint64_t client_time(const struct client *c, uint32_t step)
{
	struct sync_fence_info fence = { 0 };
	struct sync_file_info info = {
		.num_fences = 1,
		.sync_fence_info = (uintptr_t)&fence,
	};
	int file;

	if (npu_sync_wait(c->fd, c->out[step], 0) ||
	    drmSyncobjExportSyncFile(c->fd, c->out[step], &file))
		return 0;
	if (ioctl(file, SYNC_IOC_FILE_INFO, &info) || fence.status != 1)
		fence.timestamp_ns = 0;
	close(file);
	return fence.timestamp_ns;
}

/* Jobs of a client that ended before a moment. */
static int client_before(struct __test_metadata *_metadata, const struct client *c, uint64_t time)
{
	int i, n = 0;
	uint64_t t;

	for (i = 0; i < JOBS; i++) {
		t = client_time(c, i);
		EXPECT_NE(0, t);
		n += t < time;
	}
	return n;
}

FIXTURE(fairness)
{
	int fd;
	struct client attackers[3], victim;
	int count; /* of attackers */
};

FIXTURE_VARIANT(fairness)
{
	int files; /* of attackers */
	uid_t uid; /* theirs; the victim's is 0 */
	/*
	 * Of their jobs before the victim's, at most: the one in flight, the first one of
	 * each file that came before, and one more if the scheduler has yet to notice ours.
	 */
	int before;
};

FIXTURE_VARIANT_ADD(fairness, another_file_of_the_user){
	.files = 1,
	.before = 2,
};

FIXTURE_VARIANT_ADD(fairness, two_other_files_of_the_user){
	.files = 2,
	.before = 3,
};

FIXTURE_VARIANT_ADD(fairness, three_files_of_another_user){
	.files = 3,
	.uid = NOBODY,
	.before = 4,
};

FIXTURE_SETUP(fairness)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	/* For the user that is not root. */
	ASSERT_EQ(0, fchmod(self->fd, 0666));
	ASSERT_EQ(0, npu_knob("pause", 0));
	for (; self->count < variant->files; self->count++)
		ASSERT_EQ(0, client_open(&self->attackers[self->count], variant->uid, LARGE));
	ASSERT_EQ(0, client_open(&self->victim, 0, SMALL));
}

FIXTURE_TEARDOWN(fairness)
{
	EXPECT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_knob("bytes_per_second", 0));
	while (self->count--)
		client_close(&self->attackers[self->count]);
	client_close(&self->victim);
	close(self->fd);
}

static void attack(struct __test_metadata *_metadata, FIXTURE_DATA(fairness) * self)
{
	int i, k;

	for (k = 0; k < self->count; k++)
		for (i = 0; i < JOBS; i++)
			ASSERT_EQ(0, client_submit(&self->attackers[k], i));
}

static int attackers_before(struct __test_metadata *_metadata, FIXTURE_DATA(fairness) * self,
			    uint64_t time)
{
	int k, n = 0;

	for (k = 0; k < self->count; k++)
		n += client_before(_metadata, &self->attackers[k], time);
	return n;
}

TEST_F(fairness, a_job_is_next_after_the_one_in_flight)
{
	int n;

	ASSERT_EQ(0, npu_knob("pause", 1));
	attack(_metadata, self);
	ASSERT_EQ(0, client_submit(&self->victim, 0));
	ASSERT_EQ(0, npu_knob("pause", 0));
	n = attackers_before(_metadata, self, client_time(&self->victim, 0));
	TH_LOG("%d of the attackers' %d jobs came before the victim's", n, self->count * JOBS);
	EXPECT_LE(n, variant->before);
}

TEST_F(fairness, jobs_of_one_submit_give_way_too)
{
	struct client *a = &self->attackers[0];
	struct drm_npumem_sync sync = { .handle = a->out[0] };
	struct drm_npumem_job jobs[JOBS];
	struct drm_npumem_submit args = {
		.run = a->w.run,
		.jobs = NPU_ARRAY(jobs, JOBS),
		.out_syncs = NPU_ARRAY(&sync, 1),
	};
	uint64_t all, mine;
	int i;

	for (i = 0; i < JOBS; i++)
		jobs[i] = world_job(&a->w, i, NPUMEM_SIM_FILL, 1);
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, npu_ioctl(a->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	ASSERT_EQ(0, client_submit(&self->victim, 0));
	ASSERT_EQ(0, npu_knob("pause", 0));
	mine = client_time(&self->victim, 0);
	all = client_time(a, 0);
	EXPECT_NE(0, mine);
	EXPECT_LT(mine, all);
}

/*
 * Short jobs, one after another, beside long ones: after each, one of each attacker at
 * most. Half of all is far from that, and from what others' queues would cost.
 */
TEST_F(fairness, time_is_shared_not_jobs_counted)
{
	int i, n;

	/* 4 ms each of theirs. */
	ASSERT_EQ(0, npu_knob("bytes_per_second", 1000000));
	ASSERT_EQ(0, npu_knob("pause", 1));
	attack(_metadata, self);
	ASSERT_EQ(0, npu_knob("pause", 0));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, client_submit(&self->victim, i));
		EXPECT_NE(0, client_time(&self->victim, i));
	}
	n = attackers_before(_metadata, self, client_time(&self->victim, 4));
	TH_LOG("%d of the attackers' %d jobs came before the victim's 5", n, self->count * JOBS);
	EXPECT_LE(n, self->count * JOBS / 2);
}

/* ------------------------------------------------------------------- debts */

FIXTURE(debt)
{
	int fd;
	struct client first, victims[VICTIMS], attacker;
};

FIXTURE_SETUP(debt)
{
	int i;

	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, fchmod(self->fd, 0666));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, client_open(&self->first, NOBODY - 1, SMALL));
	for (i = 0; i < VICTIMS; i++)
		ASSERT_EQ(0, client_open(&self->victims[i], 0, SMALL));
	ASSERT_EQ(0, client_open(&self->attacker, NOBODY, LARGE));
}

FIXTURE_TEARDOWN(debt)
{
	int i;

	EXPECT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_knob("bytes_per_second", 0));
	client_close(&self->attacker);
	for (i = 0; i < VICTIMS; i++)
		client_close(&self->victims[i]);
	client_close(&self->first);
	close(self->fd);
}

/*
 * Two seconds had by a user are not forgotten because it has closed all its files and come
 * back: another one, who waits as long as it does, has what it has waiting first.
 */
TEST_F(debt, is_not_got_rid_of_by_closing_the_file)
{
	uint64_t mine, time;
	int i, n = 0;

	ASSERT_EQ(0, npu_knob("bytes_per_second", 2000));
	ASSERT_EQ(0, client_submit(&self->attacker, 0));
	ASSERT_NE(0, client_time(&self->attacker, 0));
	client_close(&self->attacker);
	ASSERT_EQ(0, client_open(&self->attacker, NOBODY, LARGE));
	ASSERT_EQ(0, npu_knob("bytes_per_second", 0));

	/* Somebody has the turn while the others queue, and pays for the time of that. */
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, client_submit(&self->first, 0));
	for (i = 0; i < VICTIMS; i++)
		ASSERT_EQ(0, client_submit(&self->victims[i], 0));
	ASSERT_EQ(0, client_submit(&self->attacker, 0));
	/* Until the scheduler has noticed most of them. */
	sleep(1);
	ASSERT_EQ(0, npu_knob("pause", 0));
	time = client_time(&self->attacker, 0);
	ASSERT_NE(0, time);
	for (i = 0; i < VICTIMS; i++) {
		mine = client_time(&self->victims[i], 0);
		EXPECT_NE(0, mine);
		n += mine < time;
	}
	TH_LOG("%d of the victim's %d jobs came before the attacker's", n, VICTIMS);
	/* One if they took turns. */
	EXPECT_LE(VICTIMS / 2, n);
}

/* ------------------------------------------------------------------ queues */

/*
 * A block that leads to itself, with a step of nothing: work without end for one run;
 * and, from there, one of no step at all that does.
 */
enum { AGAIN, INTO_EMPTY, EMPTY_AGAIN, EMPTY_OUT };

static struct model model_endless(void)
{
	struct model m = { 0 };
	uint32_t x = model_tensor(&m, NPUMEM_TENSOR_INPUT, 64), whole = model_whole(&m, x);
	uint32_t block = model_block(&m), empty, i;

	/* There is no graph without any. */
	model_tensor(&m, NPUMEM_TENSOR_PARAMETER, 64);
	model_step(&m, 0);
	model_access(&m, whole, NPUMEM_ACCESS_READ);
	m.blocks[block].step_count = 1;
	empty = model_block(&m);
	model_edge(&m, block, block);
	model_edge(&m, block, empty);
	model_edge(&m, empty, empty);
	model_edge(&m, empty, NPUMEM_NONE);
	model_enter(&m, model_instance(&m, block), x, 0);
	model_instance(&m, empty);
	for (i = AGAIN; i <= EMPTY_OUT; i++)
		model_plan_edge(&m, m.edges[i].from, m.edges[i].to, i);
	return m;
}

/* So many jobs, in SUBMITs as long as can be; and an edge after each. */
static int queue_jobs(struct world *w, uint32_t count)
{
	struct drm_npumem_job jobs[1024];
	struct drm_npumem_submit args;
	uint32_t i, n;
	int err = 0;

	for (; !err && count; count -= n) {
		n = count < 512 ? count : 512;
		for (i = 0; i < n; i++) {
			jobs[2 * i] = world_job(w, 0, NPUMEM_SIM_NOP, 0);
			jobs[2 * i + 1] = world_edge(AGAIN);
		}
		err = world_submit(w, jobs, 2 * n, &args);
	}
	return err;
}

static int queue_edge(struct world *w, uint32_t plan_edge)
{
	struct drm_npumem_job edge = world_edge(plan_edge);
	struct drm_npumem_submit args;

	return world_submit(w, &edge, 1, &args);
}

FIXTURE(queue)
{
	struct model model;
	struct drm_npumem_info info;
	struct world w[4];
	int fd[4];
};

FIXTURE_SETUP(queue)
{
	int i;

	self->model = model_endless();
	self->fd[0] = npu_open();
	ASSERT_GE(self->fd[0], 0);
	ASSERT_EQ(0, fchmod(self->fd[0], 0666));
	for (i = 1; i < 4; i++) {
		self->fd[i] = open_as(NOBODY);
		ASSERT_GE(self->fd[i], 0);
	}
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, world_open(&self->w[i], self->fd[i], &self->model));
	ASSERT_EQ(0, npu_info(self->fd[0], &self->info));
	ASSERT_EQ(0, npu_knob("pause", 1));
}

FIXTURE_TEARDOWN(queue)
{
	struct drm_npumem_bank bank;
	int i, fd = npu_open();

	EXPECT_EQ(0, npu_knob("pause", 0));
	for (i = 0; i < 4; i++) {
		if (self->fd[i] < 0)
			continue;
		world_close(&self->w[i]);
		close(self->fd[i]);
	}
	model_free(&self->model);
	while (!npu_bank(fd, &bank) && bank.free != bank.size)
		sched_yield();
	EXPECT_EQ(bank.size, bank.free);
	close(fd);
}

TEST_F(queue, of_a_file_and_of_a_user_are_bounded)
{
	uint32_t most = self->info.max_queued_jobs;

	ASSERT_NE(0, most);
	/* All or none: there is room for one. */
	ASSERT_EQ(0, queue_jobs(&self->w[1], most - 1));
	EXPECT_EQ(-EBUSY, queue_jobs(&self->w[1], 2));
	EXPECT_EQ(0, queue_jobs(&self->w[1], 1));
	EXPECT_EQ(-EBUSY, queue_jobs(&self->w[1], 1));
	/* All that was refused has left no job behind: another file has room for as many. */
	EXPECT_EQ(0, queue_jobs(&self->w[2], most));
	/* Each of the user's files but the third has had its share: it is the user's. */
	EXPECT_EQ(-EBUSY, queue_jobs(&self->w[3], 1));
	/* Others have theirs. */
	EXPECT_EQ(0, queue_jobs(&self->w[0], 1));
	/* Room is made by what is cancelled, too. */
	world_close(&self->w[2]);
	close(self->fd[2]);
	self->fd[2] = -1;
	while (queue_jobs(&self->w[3], 1) == -EBUSY)
		sched_yield();
}

TEST_F(queue, of_edges_alone_is_bounded)
{
	struct drm_npumem_job job = world_job(&self->w[0], 0, NPUMEM_SIM_NOP, 0);
	uint32_t i, most = self->info.max_queued_jobs;
	struct drm_npumem_submit args;

	/* One that waits, then edges, each of which is a job of nothing. */
	ASSERT_EQ(0, world_submit(&self->w[0], &job, 1, &args));
	ASSERT_EQ(0, queue_edge(&self->w[0], INTO_EMPTY));
	for (i = 2; i < most; i++)
		ASSERT_EQ(0, queue_edge(&self->w[0], EMPTY_AGAIN));
	EXPECT_EQ(-EBUSY, queue_edge(&self->w[0], EMPTY_AGAIN));
}

/* The engine is paused with another one's job: nothing gets to its head. */
TEST_F(queue, goes_at_once_with_the_file)
{
	int64_t patience = npu_now() + NPU_PATIENCE_NS;
	struct drm_npumem_bank before, after;

	ASSERT_EQ(0, queue_jobs(&self->w[0], 1));
	ASSERT_EQ(0, npu_bank(self->fd[0], &before));
	ASSERT_EQ(0, queue_jobs(&self->w[1], 100));
	world_close(&self->w[1]);
	close(self->fd[1]);
	self->fd[1] = -1;
	do {
		ASSERT_EQ(0, npu_bank(self->fd[0], &after));
	} while (after.free <= before.free && npu_now() < patience);
	EXPECT_LT(before.free, after.free);
	/* Whose job it is has it still. */
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd[0], self->w[0].arena_bo, 0));
}

TEST_HARNESS_MAIN
