// SPDX-License-Identifier: MIT
/*
 * The fd that a daemon is handed with a plan request: what it shows, what it
 * takes, whose it is; and what the kernel makes of the answer besides verifying.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_fake_daemon.h"
#include "npumem_world.h"

FIXTURE(request_fd)
{
	int fd;
	struct model model;
	struct blob graph, plan;
	uint32_t graph_handle;
	struct fake_daemon daemon;
	struct drm_npumem_plan_request args;
	struct fake_request request;
};

/* A registered daemon, a request that waits, nothing accepted. */
FIXTURE_SETUP(request_fd)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	self->graph = model_graph(&self->model);
	self->plan = model_plan(&self->model);
	ASSERT_EQ(0, world_graph(self->fd, &self->graph, &self->graph_handle));
	ASSERT_EQ(0, fake_open(&self->daemon));
	ASSERT_EQ(0, fake_register(&self->daemon, NPUMEM_VERSION, "request_fd"));
	self->args = (struct drm_npumem_plan_request){
		.graph = self->graph_handle,
		.deadline_ns = npu_late(),
		.out_sync = npu_syncobj(self->fd),
	};
	self->request.fd = -1;
}

FIXTURE_TEARDOWN(request_fd)
{
	if (self->request.fd >= 0)
		close(self->request.fd);
	fake_close(&self->daemon);
	close(self->fd);
	blob_free(&self->graph);
	blob_free(&self->plan);
	model_free(&self->model);
}

static int ask(FIXTURE_DATA(request_fd) * self)
{
	return npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->args);
}

static int ask_and_accept(FIXTURE_DATA(request_fd) * self)
{
	int err = ask(self);

	return err ? err : fake_accept(&self->daemon, &self->request);
}

/* Write all of the plan; bytes written or a negative errno. */
static ssize_t answer(FIXTURE_DATA(request_fd) * self)
{
	ssize_t n = write(self->request.fd, self->plan.data, self->plan.size);

	return n < 0 ? -errno : n;
}

/* DONE with status zero; the status that comes back, or a negative errno. */
static int settle(FIXTURE_DATA(request_fd) * self, struct fake_settled *settled)
{
	int err = fake_done(&self->daemon, self->request.id, 0, NULL, settled);

	return err ? err : (int)settled->status;
}

TEST_F(request_fd, shows_the_graph_and_zeros_to_the_end_of_the_page)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = (self->graph.size + page - 1) / page * page;
	uint8_t *map;

	ASSERT_EQ(0, ask_and_accept(self));
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, self->request.fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, memcmp(map, self->graph.data, self->graph.size));
	EXPECT_TRUE(npu_all_bytes(map + self->graph.size, size - self->graph.size, 0));
}

TEST_F(request_fd, never_lets_the_graph_be_written)
{
	size_t size = self->graph.size;
	void *map;

	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->request.fd, 0));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->request.fd, 0));
	EXPECT_EQ(EACCES, errno);
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, self->request.fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(request_fd, maps_nothing_beyond_the_graph)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = (self->graph.size + page - 1) / page * page;

	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, size + page, PROT_READ, MAP_SHARED, self->request.fd, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page, PROT_READ, MAP_SHARED, self->request.fd, size));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page, PROT_READ, MAP_SHARED, self->request.fd, 1ll << 40));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(request_fd, is_not_sought)
{
	char byte;

	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(-1, pread(self->request.fd, &byte, 1, 0));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, lseek(self->request.fd, 0, SEEK_SET));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->request.fd, F_GETFD));
}

TEST_F(request_fd, takes_a_plan_in_pieces_but_with_no_hole)
{
	struct fake_settled settled;
	size_t half = self->plan.size / 2, rest = self->plan.size - half;
	uint8_t *plan = self->plan.data;

	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(-1, pwrite(self->request.fd, plan + half, rest, half));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(rest, pwrite(self->request.fd, plan + half, rest, 0)); /* wrong bytes */
	ASSERT_EQ(half, pwrite(self->request.fd, plan, half, 0));	 /* and mended */
	ASSERT_EQ(rest, pwrite(self->request.fd, plan + half, rest, half));
	ASSERT_EQ(0, write(self->request.fd, plan, 0));
	EXPECT_EQ(0, settle(self, &settled));
	EXPECT_EQ(1, npu_sync_status(self->fd, self->args.out_sync));
}

TEST_F(request_fd, takes_no_more_than_the_largest_blob)
{
	struct drm_npumem_info info;
	void *nowhere = (void *)(uintptr_t)NPU_UNMAPPED;

	ASSERT_EQ(0, npu_info(self->fd, &info));
	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(-1, write(self->request.fd, nowhere, info.max_blob_bytes + 1));
	EXPECT_EQ(EFBIG, errno);
	/* The size itself is no fault. */
	EXPECT_EQ(-1, write(self->request.fd, nowhere, info.max_blob_bytes));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_EQ(1, write(self->request.fd, self->plan.data, 1));
	EXPECT_EQ(-1, write(self->request.fd, nowhere, info.max_blob_bytes));
	EXPECT_EQ(EFBIG, errno);
	/* What could not be written has changed nothing. */
	ASSERT_EQ(self->plan.size - 1,
		  write(self->request.fd, self->plan.data + 1, self->plan.size - 1));
	EXPECT_EQ(0, fake_done(&self->daemon, self->request.id, 0, NULL, NULL));
	EXPECT_EQ(1, npu_sync_status(self->fd, self->args.out_sync));
}

TEST_F(request_fd, truncated_plan_is_malformed)
{
	struct fake_settled settled;

	self->plan.size -= 8;
	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(self->plan.size, answer(self));
	EXPECT_EQ(EBADMSG, settle(self, &settled));
	EXPECT_TRUE(settled.has_verdict);
	EXPECT_EQ(NPUMEM_RULE_FORMAT, settled.verdict.rule);
	EXPECT_EQ(-EBADMSG, npu_sync_status(self->fd, self->args.out_sync));
}

TEST_F(request_fd, takes_nothing_once_settled)
{
	struct fake_settled settled;
	void *map;

	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(self->plan.size, answer(self));
	EXPECT_EQ(0, settle(self, &settled));
	EXPECT_EQ(-EPIPE, answer(self));
	map = mmap(NULL, self->graph.size, PROT_READ, MAP_SHARED, self->request.fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, memcmp(map, self->graph.data, self->graph.size));
	/* Closing it is no second answer. */
	close(self->request.fd);
	self->request.fd = -1;
	EXPECT_EQ(1, npu_sync_status(self->fd, self->args.out_sync));
}

TEST_F(request_fd, may_be_a_workers)
{
	struct fake_settled settled;
	int status;
	pid_t pid;

	ASSERT_EQ(0, ask_and_accept(self));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(answer(self) != (ssize_t)self->plan.size);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	/* Its copy closed when it exited; the daemon's is open. */
	EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->args.out_sync, 0));
	EXPECT_EQ(0, settle(self, &settled));
}

TEST_F(request_fd, none_left_leaves_the_request_waiting)
{
	struct drm_npumem_plan_request second;
	struct rlimit limit, none;
	struct fake_settled settled;
	struct fake_request other;
	int lowest = dup(0);

	ASSERT_GE(lowest, 0);
	close(lowest);
	self->args.arena_budget = 1000000;
	second = self->args;
	second.arena_budget = 2000000;
	second.out_sync = 0;
	ASSERT_EQ(0, ask(self));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &second));

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = lowest;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(-EMFILE, fake_accept(&self->daemon, &self->request));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));

	/* Nothing is lost, not even its place in the queue. */
	EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->args.out_sync, 0));
	ASSERT_EQ(0, fake_accept(&self->daemon, &self->request));
	EXPECT_EQ(1000000, self->request.arena_budget);
	ASSERT_EQ(self->plan.size, answer(self));
	EXPECT_EQ(0, settle(self, &settled));
	ASSERT_EQ(0, fake_accept(&self->daemon, &other));
	EXPECT_EQ(2000000, other.arena_budget);
	close(other.fd);
}

TEST_F(request_fd, sound_plan_above_the_budget_is_refused)
{
	struct drm_npumem_plan_read read = { 0 };
	struct fake_settled settled;
	char message[256], expected[256];

	self->args.arena_budget = self->model.info.arena_size - 1;
	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(self->plan.size, answer(self));
	EXPECT_EQ(ENOSPC, settle(self, &settled));
	EXPECT_FALSE(settled.has_verdict);
	EXPECT_EQ(-ENOSPC, npu_sync_status(self->fd, self->args.out_sync));

	snprintf(expected, sizeof(expected),
		 "the plan needs %llu bytes of arena, the budget is %llu",
		 (unsigned long long)self->model.info.arena_size,
		 (unsigned long long)self->args.arena_budget);
	read.handle = self->args.handle;
	read.message = NPU_BUFFER(message);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_READ, &read));
	EXPECT_EQ(NPUMEM_PLAN_STATE_FAILED, read.state);
	EXPECT_EQ(ENOSPC, read.error);
	EXPECT_EQ(0, read.blob.size);
	EXPECT_STREQ(expected, message);
	EXPECT_STREQ(expected, settled.message);
}

TEST_F(request_fd, plan_of_exactly_the_budget_is_taken)
{
	struct fake_settled settled;

	self->args.arena_budget = self->model.info.arena_size;
	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(self->plan.size, answer(self));
	EXPECT_EQ(0, settle(self, &settled));
	EXPECT_EQ(1, npu_sync_status(self->fd, self->args.out_sync));
}

TEST_HARNESS_MAIN
