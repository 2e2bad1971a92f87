// SPDX-License-Identifier: MIT
/*
 * Death at every moment of a plan request: of the daemon, of the requester, of
 * the request by its deadline. Each ends the request exactly once, with an
 * errno, and leaves nothing that the next daemon could trip over.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_fake_daemon.h"
#include "npumem_world.h"

/* How far the daemon goes before it stops and waits to be killed. */
enum stage {
	REGISTERED,
	ACCEPTED,
	WRITTEN_HALF,
	WRITTEN,
	DONE,
};

FIXTURE(death)
{
	int fd;
	struct model model;
	struct blob graph_blob, plan_blob;
	uint32_t graph;
	uint32_t sync;
	struct drm_npumem_plan_request request;
};

FIXTURE_SETUP(death)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	self->graph_blob = model_graph(&self->model);
	self->plan_blob = model_plan(&self->model);
	ASSERT_EQ(0, world_graph(self->fd, &self->graph_blob, &self->graph));
	self->sync = npu_syncobj(self->fd);
	ASSERT_NE(0, self->sync);
	self->request = (struct drm_npumem_plan_request){
		.graph = self->graph,
		.deadline_ns = npu_late(),
		.out_sync = self->sync,
	};
}

FIXTURE_TEARDOWN(death)
{
	if (self->fd >= 0)
		close(self->fd);
	blob_free(&self->graph_blob);
	blob_free(&self->plan_blob);
	model_free(&self->model);
}

static void say(int pipe, char what)
{
	if (write(pipe, &what, 1) != 1)
		_exit(1);
}

/* The daemon process: one byte to the pipe when registered, one at its stage. */
static void daemon_main(int pipe, enum stage stage, const struct blob *plan)
{
	struct fake_request request;
	struct fake_settled settled;
	struct fake_daemon daemon;
	size_t size = stage == WRITTEN_HALF ? plan->size / 2 : plan->size;

	if (fake_open(&daemon) || fake_register(&daemon, NPUMEM_VERSION, "doomed") ||
	    fake_join(&daemon, NPUMEM_MCGRP_REQUESTS))
		_exit(1);
	say(pipe, 'r');
	if (stage >= ACCEPTED && (fake_wait_ready(&daemon) || fake_accept(&daemon, &request)))
		_exit(2);
	if (stage >= WRITTEN_HALF && write(request.fd, plan->data, size) != (ssize_t)size)
		_exit(3);
	if (stage == DONE && (fake_done(&daemon, request.id, 0, NULL, &settled) || settled.status))
		_exit(4);
	if (stage > REGISTERED)
		say(pipe, 's');
	for (;;)
		pause();
}

static bool hear(int pipe, char what)
{
	char c = 0;

	return read(pipe, &c, 1) == 1 && c == what;
}

/* Start it, request a plan, and kill it at its stage. */
static void killed_at(struct __test_metadata *_metadata, FIXTURE_DATA(death) * self,
		      enum stage stage)
{
	int fds[2], status;
	pid_t pid;

	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		/* Its file must not keep the device open for the parent. */
		close(self->fd);
		daemon_main(fds[1], stage, &self->plan_blob);
	}
	close(fds[1]);
	ASSERT_TRUE(hear(fds[0], 'r'));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->request));
	if (stage > REGISTERED)
		ASSERT_TRUE(hear(fds[0], 's'));
	if (stage < DONE)
		EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->sync, 0));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	close(fds[0]);
}

static struct drm_npumem_plan_read plan_state(int fd, uint32_t handle)
{
	struct drm_npumem_plan_read read = { .handle = handle };

	if (npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_READ, &read))
		read.state = NPUMEM_NONE;
	return read;
}

static void expect_lost(struct __test_metadata *_metadata, FIXTURE_DATA(death) * self,
			uint32_t error)
{
	struct drm_npumem_run_create run = { .plan = self->request.handle };
	struct drm_npumem_plan_read read;

	EXPECT_EQ(0, npu_sync_wait(self->fd, self->sync, 0));
	EXPECT_EQ(-(int)error, npu_sync_status(self->fd, self->sync));
	read = plan_state(self->fd, self->request.handle);
	EXPECT_EQ(NPUMEM_PLAN_STATE_FAILED, read.state);
	EXPECT_EQ(error, read.error);
	EXPECT_EQ(-ENOEXEC, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));
}

/* The next daemon starts with a clean slate and serves the next request. */
static void next_daemon_works(struct __test_metadata *_metadata, FIXTURE_DATA(death) * self)
{
	struct drm_npumem_plan_request again = self->request;
	struct fake_request request;
	struct fake_settled settled;
	struct fake_daemon daemon;
	struct drm_npumem_info info;

	EXPECT_EQ(0, npu_info(self->fd, &info));
	EXPECT_EQ(0, info.daemon);
	EXPECT_EQ(-ENOTCONN, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &again));

	ASSERT_EQ(0, fake_open(&daemon));
	ASSERT_EQ(0, fake_register(&daemon, NPUMEM_VERSION, "next"));
	EXPECT_EQ(-ENOENT, fake_accept(&daemon, &request));
	again.out_sync = npu_syncobj(self->fd);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &again));
	ASSERT_EQ(0, fake_accept(&daemon, &request));
	ASSERT_EQ(self->plan_blob.size,
		  write(request.fd, self->plan_blob.data, self->plan_blob.size));
	EXPECT_EQ(0, fake_done(&daemon, request.id, 0, NULL, &settled));
	EXPECT_EQ(0, settled.status);
	EXPECT_EQ(1, npu_sync_signalled(self->fd, again.out_sync, 0));
	close(request.fd);
	fake_close(&daemon);
}

TEST_F(death, daemon_killed_before_accept)
{
	killed_at(_metadata, self, REGISTERED);
	expect_lost(_metadata, self, ENOTCONN);
	next_daemon_works(_metadata, self);
}

TEST_F(death, daemon_killed_after_accept)
{
	killed_at(_metadata, self, ACCEPTED);
	expect_lost(_metadata, self, ECONNRESET);
	next_daemon_works(_metadata, self);
}

TEST_F(death, daemon_killed_with_half_a_plan_written)
{
	killed_at(_metadata, self, WRITTEN_HALF);
	expect_lost(_metadata, self, ECONNRESET);
	next_daemon_works(_metadata, self);
}

TEST_F(death, daemon_killed_with_the_plan_written_but_not_done)
{
	killed_at(_metadata, self, WRITTEN);
	expect_lost(_metadata, self, ECONNRESET);
	next_daemon_works(_metadata, self);
}

TEST_F(death, daemon_killed_after_its_answer)
{
	struct drm_npumem_run_create run = { 0 };

	killed_at(_metadata, self, DONE);
	EXPECT_EQ(1, npu_sync_signalled(self->fd, self->sync, 0));
	EXPECT_EQ(1, npu_sync_status(self->fd, self->sync));
	EXPECT_EQ(NPUMEM_PLAN_STATE_READY, plan_state(self->fd, self->request.handle).state);
	run.plan = self->request.handle;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));
	next_daemon_works(_metadata, self);
	/* What the dead one planned goes on. */
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));
}

/* Death of everything but a living daemon. */
FIXTURE(living)
{
	int fd;
	struct blob graph_blob, plan_blob;
	uint32_t graph;
	uint32_t sync;
	struct fake_daemon daemon;
	struct drm_npumem_plan_request request;
};

FIXTURE_SETUP(living)
{
	struct model model = model_chain();

	self->graph_blob = model_graph(&model);
	self->plan_blob = model_plan(&model);
	model_free(&model);
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, world_graph(self->fd, &self->graph_blob, &self->graph));
	self->sync = npu_syncobj(self->fd);
	ASSERT_EQ(0, fake_open(&self->daemon));
	ASSERT_EQ(0, fake_register(&self->daemon, NPUMEM_VERSION, "living"));
	self->request = (struct drm_npumem_plan_request){
		.graph = self->graph,
		.deadline_ns = npu_late(),
		.out_sync = self->sync,
	};
}

FIXTURE_TEARDOWN(living)
{
	fake_close(&self->daemon);
	if (self->fd >= 0)
		close(self->fd);
	blob_free(&self->graph_blob);
	blob_free(&self->plan_blob);
}

TEST_F(living, request_fd_closed_without_an_answer)
{
	struct drm_npumem_plan_read read;
	struct fake_request request;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->request));
	ASSERT_EQ(0, fake_accept(&self->daemon, &request));
	close(request.fd);
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->sync, 0));
	EXPECT_EQ(-ECONNRESET, npu_sync_status(self->fd, self->sync));
	read = plan_state(self->fd, self->request.handle);
	EXPECT_EQ(NPUMEM_PLAN_STATE_FAILED, read.state);
	EXPECT_EQ(ECONNRESET, read.error);
	EXPECT_EQ(-ENOENT, fake_done(&self->daemon, request.id, 0, NULL, NULL));
}

/* A mapping of the graph keeps its file, and so the request, alive. */
TEST_F(living, request_fd_closed_but_still_mapped)
{
	struct fake_request request;
	uint8_t *graph;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->request));
	ASSERT_EQ(0, fake_accept(&self->daemon, &request));
	graph = mmap(NULL, request.graph_size, PROT_READ, MAP_SHARED, request.fd, 0);
	ASSERT_NE(MAP_FAILED, graph);
	close(request.fd);
	EXPECT_EQ(0, memcmp(graph, self->graph_blob.data, self->graph_blob.size));
	munmap(graph, request.graph_size);
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->sync, 0));
	EXPECT_EQ(-ECONNRESET, npu_sync_status(self->fd, self->sync));
}

TEST_F(living, deadline_before_accept)
{
	struct drm_npumem_plan_read read;
	struct fake_request request;

	self->request.deadline_ns = npu_now() + 200 * 1000 * 1000;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->request));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->sync, 0));
	EXPECT_GE(npu_now(), self->request.deadline_ns);
	EXPECT_EQ(-ETIMEDOUT, npu_sync_status(self->fd, self->sync));
	read = plan_state(self->fd, self->request.handle);
	EXPECT_EQ(NPUMEM_PLAN_STATE_FAILED, read.state);
	EXPECT_EQ(ETIMEDOUT, read.error);
	EXPECT_EQ(-ENOENT, fake_accept(&self->daemon, &request));
}

TEST_F(living, deadline_after_accept)
{
	int64_t ns = FAKE_SOON_NS;
	struct fake_request request;

	ASSERT_EQ(0, fake_accept_before(&self->daemon, self->fd, &self->request, &ns, &request));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->sync, 0));
	EXPECT_GE(npu_now(), self->request.deadline_ns);
	EXPECT_EQ(-ETIMEDOUT, npu_sync_status(self->fd, self->sync));
	EXPECT_EQ(-ENOENT, fake_done(&self->daemon, request.id, 0, NULL, NULL));
	/* Exactly once: closing it now changes nothing. */
	close(request.fd);
	EXPECT_EQ(ETIMEDOUT, plan_state(self->fd, self->request.handle).error);
	EXPECT_EQ(-ETIMEDOUT, npu_sync_status(self->fd, self->sync));
}

TEST_F(living, requester_destroys_the_plan_before_accept)
{
	struct fake_request request;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->request));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, self->request.handle));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->sync, 0));
	EXPECT_EQ(-ECANCELED, npu_sync_status(self->fd, self->sync));
	EXPECT_EQ(-ENOENT, fake_accept(&self->daemon, &request));
}

TEST_F(living, requester_destroys_the_plan_after_accept)
{
	struct fake_request request;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->request));
	ASSERT_EQ(0, fake_accept(&self->daemon, &request));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, self->request.handle));
	EXPECT_EQ(-ECANCELED, npu_sync_status(self->fd, self->sync));
	EXPECT_EQ(-ENOENT, fake_done(&self->daemon, request.id, 0, NULL, NULL));
	close(request.fd);
}

TEST_F(living, requester_goes_before_accept)
{
	struct fake_request request;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->request));
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(-ENOENT, fake_accept(&self->daemon, &request));
}

TEST_F(living, requester_goes_after_accept)
{
	struct fake_request request;
	uint8_t *graph;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->request));
	ASSERT_EQ(0, fake_accept(&self->daemon, &request));
	graph = mmap(NULL, request.graph_size, PROT_READ, MAP_SHARED, request.fd, 0);
	ASSERT_NE(MAP_FAILED, graph);
	close(self->fd);
	self->fd = -1;
	/* The daemon may read the graph to its end, and is then told. */
	EXPECT_EQ(0, memcmp(graph, self->graph_blob.data, self->graph_blob.size));
	EXPECT_EQ(-ENOENT, fake_done(&self->daemon, request.id, ENOSPC, NULL, NULL));
	munmap(graph, request.graph_size);
	close(request.fd);
}

/* The graph's handle may go while its plan is being made. */
TEST_F(living, graph_destroyed_while_it_is_planned)
{
	struct fake_request request;
	struct fake_settled settled;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->request));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, self->graph));
	ASSERT_EQ(0, fake_accept(&self->daemon, &request));
	ASSERT_EQ(self->plan_blob.size,
		  write(request.fd, self->plan_blob.data, self->plan_blob.size));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, 0, NULL, &settled));
	EXPECT_EQ(0, settled.status);
	EXPECT_EQ(1, npu_sync_status(self->fd, self->sync));
}

TEST_HARNESS_MAIN
