// SPDX-License-Identifier: MIT
/*
 * Plan requests and the daemon's side of them, with a daemon that does what the
 * test says. What happens when one of the two dies: npumem_upcall_death.c.
 */
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <sched.h>
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

#define NOBODY 65534

FIXTURE(upcall)
{
	int fd;
	struct model model;
	struct blob graph_blob, plan_blob;
	uint32_t graph;
	uint32_t sync;
	struct fake_daemon daemon;
	struct drm_npumem_plan_request request;
};

FIXTURE_SETUP(upcall)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	self->graph_blob = model_graph(&self->model);
	self->plan_blob = model_plan(&self->model);
	ASSERT_EQ(0, world_graph(self->fd, &self->graph_blob, &self->graph));
	self->sync = npu_syncobj(self->fd);
	ASSERT_NE(0, self->sync);
	ASSERT_EQ(0, fake_open(&self->daemon));
	self->request = (struct drm_npumem_plan_request){
		.graph = self->graph,
		.deadline_ns = npu_late(),
		.out_sync = self->sync,
	};
}

FIXTURE_TEARDOWN(upcall)
{
	struct drm_npumem_info info;

	fake_close(&self->daemon);
	/* A daemon that has gone is noticed at once. */
	EXPECT_EQ(0, npu_info(self->fd, &info));
	EXPECT_EQ(0, info.daemon);
	close(self->fd);
	blob_free(&self->graph_blob);
	blob_free(&self->plan_blob);
	model_free(&self->model);
}

static int request_plan(int fd, struct drm_npumem_plan_request *args)
{
	return npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, args);
}

static int read_plan(int fd, uint32_t handle, struct drm_npumem_plan_read *args, char *message,
		     size_t size)
{
	memset(args, 0, sizeof(*args));
	args->handle = handle;
	args->message = NPU_BYTES(message, size);
	if (message)
		message[0] = '\0';
	return npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_READ, args);
}

static int register_daemon(struct fake_daemon *daemon)
{
	int err = fake_register(daemon, NPUMEM_VERSION, "test daemon");

	return err ? err : fake_join(daemon, NPUMEM_MCGRP_REQUESTS);
}

/* Everything until the request is in the daemon's hands. */
static int request_and_accept(int fd, struct fake_daemon *daemon,
			      struct drm_npumem_plan_request *args, struct fake_request *request)
{
	int err = request_plan(fd, args);

	if (!err)
		err = fake_wait_ready(daemon);
	return err ? err : fake_accept(daemon, request);
}

/* The request has ended with that errno, and its fence says so too. */
static void expect_failed(struct __test_metadata *_metadata, int fd, uint32_t plan, uint32_t sync,
			  uint32_t error)
{
	struct drm_npumem_run_create run = { .plan = plan };
	struct drm_npumem_plan_read read;

	EXPECT_EQ(0, npu_sync_wait(fd, sync, 0));
	EXPECT_EQ(-(int)error, npu_sync_status(fd, sync));
	EXPECT_EQ(0, read_plan(fd, plan, &read, NULL, 0));
	EXPECT_EQ(NPUMEM_PLAN_STATE_FAILED, read.state);
	EXPECT_EQ(error, read.error);
	EXPECT_EQ(0, read.blob.size);
	EXPECT_EQ(-ENOEXEC, npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));
}

TEST_F(upcall, no_daemon)
{
	struct drm_npumem_info info;

	EXPECT_EQ(0, npu_info(self->fd, &info));
	EXPECT_EQ(0, info.daemon);
	EXPECT_EQ(-ENOTCONN, request_plan(self->fd, &self->request));
	EXPECT_EQ(-ENOENT, npu_sync_status(self->fd, self->sync));
}

TEST_F(upcall, one_daemon_at_a_time)
{
	struct fake_daemon second;
	struct drm_npumem_info info;

	ASSERT_EQ(0, fake_open(&second));
	EXPECT_EQ(0, register_daemon(&self->daemon));
	EXPECT_EQ(0, npu_info(self->fd, &info));
	EXPECT_EQ(1, info.daemon);

	EXPECT_EQ(-EBUSY, fake_register(&second, NPUMEM_VERSION, "second"));
	/* It already is. */
	EXPECT_EQ(0, fake_register(&self->daemon, NPUMEM_VERSION, "the same again"));
	fake_close(&self->daemon);
	EXPECT_EQ(0, fake_register(&second, NPUMEM_VERSION, "second"));
	fake_close(&second);
}

TEST_F(upcall, register_bad_arguments)
{
	char name[65];

	memset(name, 'n', sizeof(name));
	name[64] = '\0';
	EXPECT_EQ(-EINVAL, fake_register(&self->daemon, 0, "no version"));
	EXPECT_EQ(-EINVAL, fake_register(&self->daemon, NPUMEM_VERSION, NULL));
	EXPECT_EQ(-EPROTONOSUPPORT,
		  fake_register(&self->daemon, NPUMEM_VERSION + 1, "from the future"));
	/* Longer than 63 bytes: no NUL where one must be. */
	EXPECT_EQ(-EINVAL, fake_register(&self->daemon, NPUMEM_VERSION, name));
	name[63] = '\0';
	EXPECT_EQ(0, fake_register(&self->daemon, NPUMEM_VERSION, name));
}

TEST_F(upcall, only_an_administrator)
{
	struct fake_request request;
	uint64_t id = 1;
	uint32_t status = 0;

	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, NOBODY));
	EXPECT_EQ(-EPERM, fake_register(&self->daemon, NPUMEM_VERSION, "nobody"));
	EXPECT_EQ(-EPERM, fake_accept(&self->daemon, &request));
	EXPECT_EQ(-EPERM, fake_done_without(&self->daemon, &id, &status));
	EXPECT_EQ(-EPERM, fake_join(&self->daemon, NPUMEM_MCGRP_EVENTS));
	EXPECT_EQ(-EPERM, fake_join(&self->daemon, NPUMEM_MCGRP_REQUESTS));
}

TEST_F(upcall, not_of_another_network_namespace)
{
	struct fake_daemon outside;

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	EXPECT_EQ(-ENOENT, fake_open(&outside));
}

TEST_F(upcall, only_the_registered_socket)
{
	struct fake_request request, other;
	struct fake_daemon second;

	ASSERT_EQ(0, fake_open(&second));
	EXPECT_EQ(-EPERM, fake_accept(&self->daemon, &request));
	ASSERT_EQ(0, register_daemon(&self->daemon));
	EXPECT_EQ(-ENOENT, fake_accept(&self->daemon, &request));
	ASSERT_EQ(0, request_plan(self->fd, &self->request));
	EXPECT_EQ(-EPERM, fake_accept(&second, &other));
	EXPECT_EQ(0, fake_accept(&self->daemon, &request));
	EXPECT_EQ(-EPERM, fake_done(&second, request.id, ENOSPC, NULL, NULL));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, ENOSPC, NULL, NULL));
	fake_close(&second);
}

TEST_F(upcall, whole_trip)
{
	struct drm_npumem_run_create run = { 0 };
	struct drm_npumem_plan_read read;
	struct fake_settled settled;
	struct fake_request request;
	uint8_t copy[8192];
	uint8_t *graph;

	ASSERT_EQ(0, register_daemon(&self->daemon));
	strcpy(self->request.planner, "greedy");
	self->request.objective = NPUMEM_OBJECTIVE_TRAFFIC;
	self->request.arena_budget = 123456;
	self->request.deadline_ns = npu_now() + NPU_PATIENCE_NS;
	ASSERT_EQ(0, request_and_accept(self->fd, &self->daemon, &self->request, &request));
	EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->sync, 0));
	EXPECT_EQ(0, read_plan(self->fd, self->request.handle, &read, NULL, 0));
	EXPECT_EQ(NPUMEM_PLAN_STATE_PENDING, read.state);
	EXPECT_EQ(0, read.blob.size);
	run.plan = self->request.handle;
	EXPECT_EQ(-EBUSY, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));

	/* The daemon is told what was asked, and shown the graph. */
	EXPECT_STREQ("greedy", request.planner);
	EXPECT_EQ(NPUMEM_OBJECTIVE_TRAFFIC, request.objective);
	EXPECT_EQ(123456, request.arena_budget);
	EXPECT_EQ(self->request.deadline_ns, request.deadline);
	ASSERT_EQ(self->graph_blob.size, request.graph_size);
	graph = mmap(NULL, request.graph_size, PROT_READ, MAP_SHARED, request.fd, 0);
	ASSERT_NE(MAP_FAILED, graph);
	EXPECT_EQ(0, memcmp(graph, self->graph_blob.data, self->graph_blob.size));

	ASSERT_EQ(self->plan_blob.size,
		  write(request.fd, self->plan_blob.data, self->plan_blob.size));
	EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->sync, 0));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, 0, NULL, &settled));
	EXPECT_EQ(0, settled.status);
	close(request.fd);

	EXPECT_EQ(0, npu_sync_wait(self->fd, self->sync, 0));
	EXPECT_EQ(1, npu_sync_status(self->fd, self->sync));
	memset(&read, 0, sizeof(read));
	read.handle = self->request.handle;
	read.blob = NPU_BUFFER(copy);
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_READ, &read));
	EXPECT_EQ(NPUMEM_PLAN_STATE_READY, read.state);
	EXPECT_EQ(0, read.error);
	EXPECT_EQ(self->model.info.arena_size, read.arena_size);
	ASSERT_EQ(self->plan_blob.size, read.blob.size);
	EXPECT_EQ(0, memcmp(copy, self->plan_blob.data, read.blob.size));
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));

	/* The graph stays mapped for a daemon that keeps it. */
	EXPECT_EQ(0, memcmp(graph, self->graph_blob.data, self->graph_blob.size));
	munmap(graph, request.graph_size);
}

TEST_F(upcall, plan_written_in_parts)
{
	struct fake_request request;
	size_t i, n;

	ASSERT_EQ(0, register_daemon(&self->daemon));
	ASSERT_EQ(0, request_and_accept(self->fd, &self->daemon, &self->request, &request));
	for (i = 0; i < self->plan_blob.size; i += n) {
		n = self->plan_blob.size - i < 100 ? self->plan_blob.size - i : 100;
		ASSERT_EQ(n, write(request.fd, self->plan_blob.data + i, n));
	}
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, 0, NULL, NULL));
	EXPECT_EQ(1, npu_sync_signalled(self->fd, self->sync, 0));
}

TEST_F(upcall, timeline_point_is_signalled)
{
	struct fake_request request;

	ASSERT_EQ(0, register_daemon(&self->daemon));
	self->request.out_point = 7;
	ASSERT_EQ(0, request_and_accept(self->fd, &self->daemon, &self->request, &request));
	EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->sync, 7));
	ASSERT_EQ(self->plan_blob.size,
		  write(request.fd, self->plan_blob.data, self->plan_blob.size));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, 0, NULL, NULL));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->sync, 7));
}

TEST_F(upcall, without_a_syncobj)
{
	struct drm_npumem_plan_read read;
	struct fake_request request;

	ASSERT_EQ(0, register_daemon(&self->daemon));
	self->request.out_sync = 0;
	ASSERT_EQ(0, request_and_accept(self->fd, &self->daemon, &self->request, &request));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, ENOSPC, NULL, NULL));
	EXPECT_EQ(0, read_plan(self->fd, self->request.handle, &read, NULL, 0));
	EXPECT_EQ(NPUMEM_PLAN_STATE_FAILED, read.state);
}

TEST_F(upcall, refusal_with_the_daemons_reason)
{
	static const char reason[] = "needs 1.8 MiB, budget 1.5 MiB, lower bound 1.6 MiB";
	struct drm_npumem_plan_read read;
	struct fake_settled settled;
	struct fake_request request;
	char message[256];

	ASSERT_EQ(0, register_daemon(&self->daemon));
	ASSERT_EQ(0, request_and_accept(self->fd, &self->daemon, &self->request, &request));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, ENOSPC, reason, &settled));
	EXPECT_EQ(ENOSPC, settled.status);
	expect_failed(_metadata, self->fd, self->request.handle, self->sync, ENOSPC);
	EXPECT_EQ(0, read_plan(self->fd, self->request.handle, &read, message, sizeof(message)));
	EXPECT_STREQ(reason, message);
	EXPECT_EQ(sizeof(reason), read.message.size);

	/* Cut short: terminated, and the size is told all the same. */
	EXPECT_EQ(0, read_plan(self->fd, self->request.handle, &read, message, 6));
	EXPECT_STREQ("needs", message);
	EXPECT_EQ(sizeof(reason), read.message.size);
}

TEST_F(upcall, bad_plan_is_refused_by_the_verifier)
{
	struct drm_npumem_plan_read read;
	struct npumem_verdict verdict;
	struct npumem_placement *places;
	struct fake_settled settled;
	struct fake_request request;
	char message[4096];

	/* A on top of X, which is being read. */
	places = blob_records(&self->plan_blob, NPUMEM_PLAN_SECTION_PLACEMENTS);
	places[CHAIN_A].offset = places[CHAIN_X].offset;
	ASSERT_EQ(0, register_daemon(&self->daemon));
	ASSERT_EQ(0, request_and_accept(self->fd, &self->daemon, &self->request, &request));
	ASSERT_EQ(self->plan_blob.size,
		  write(request.fd, self->plan_blob.data, self->plan_blob.size));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, 0, NULL, &settled));
	EXPECT_EQ(EINVAL, settled.status);
	ASSERT_TRUE(settled.has_verdict);
	EXPECT_EQ(NPUMEM_RULE_V4_WRITE, settled.verdict.rule);
	EXPECT_EQ(CHAIN_A, settled.verdict.tensor);
	EXPECT_EQ(CHAIN_X, settled.verdict.other_tensor);
	EXPECT_NE(NULL, strstr(settled.message, "V4"));

	expect_failed(_metadata, self->fd, self->request.handle, self->sync, EINVAL);
	read = (struct drm_npumem_plan_read){
		.handle = self->request.handle,
		.message = NPU_BUFFER(message),
		.verdict = NPU_BUFFER(verdict),
	};
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_READ, &read));
	EXPECT_EQ(0, memcmp(&settled.verdict, &verdict, sizeof(verdict)));
	EXPECT_EQ(sizeof(verdict), read.verdict.size);
	EXPECT_STREQ(settled.message, message);
}

TEST_F(upcall, done_without_a_plan)
{
	struct fake_settled settled;
	struct fake_request request;

	ASSERT_EQ(0, register_daemon(&self->daemon));
	ASSERT_EQ(0, request_and_accept(self->fd, &self->daemon, &self->request, &request));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, 0, NULL, &settled));
	EXPECT_EQ(EBADMSG, settled.status);
	expect_failed(_metadata, self->fd, self->request.handle, self->sync, EBADMSG);
}

TEST_F(upcall, done_twice)
{
	struct fake_settled settled;
	struct fake_request request;

	ASSERT_EQ(0, register_daemon(&self->daemon));
	ASSERT_EQ(0, request_and_accept(self->fd, &self->daemon, &self->request, &request));
	ASSERT_EQ(self->plan_blob.size,
		  write(request.fd, self->plan_blob.data, self->plan_blob.size));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, 0, NULL, &settled));
	EXPECT_EQ(0, settled.status);
	EXPECT_EQ(-ENOENT, fake_done(&self->daemon, request.id, ENOSPC, "again", &settled));
	/* The first answer stands. */
	EXPECT_EQ(1, npu_sync_status(self->fd, self->sync));
	/* And nothing can be added to it. */
	EXPECT_EQ(-1, write(request.fd, self->plan_blob.data, 8));
}

TEST_F(upcall, done_bad_arguments)
{
	struct fake_request request;
	uint32_t status = ENOSPC;
	char text[NPUMEM_MAX_MESSAGE + 2];

	memset(text, 't', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	ASSERT_EQ(0, register_daemon(&self->daemon));
	ASSERT_EQ(0, request_and_accept(self->fd, &self->daemon, &self->request, &request));
	EXPECT_EQ(-EINVAL, fake_done_without(&self->daemon, NULL, &status));
	EXPECT_EQ(-EINVAL, fake_done_without(&self->daemon, &request.id, NULL));
	EXPECT_EQ(-ERANGE, fake_done(&self->daemon, request.id, NPUMEM_MAX_STATUS + 1, NULL, NULL));
	EXPECT_EQ(-EINVAL, fake_done(&self->daemon, request.id, ENOSPC, text, NULL));
	EXPECT_EQ(-ENOENT, fake_done(&self->daemon, request.id + 1, ENOSPC, NULL, NULL));
	/* The request has survived all that. */
	EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->sync, 0));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, ENOSPC, NULL, NULL));
	expect_failed(_metadata, self->fd, self->request.handle, self->sync, ENOSPC);
}

TEST_F(upcall, request_fd_does_what_it_should_and_no_more)
{
	struct fake_request request;

	ASSERT_EQ(0, register_daemon(&self->daemon));
	ASSERT_EQ(0, request_and_accept(self->fd, &self->daemon, &self->request, &request));
	/* The graph is immutable, and ends where it ends. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, request.graph_size, PROT_READ | PROT_WRITE, MAP_SHARED,
				   request.fd, 0));
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, request.graph_size + 65536, PROT_READ, MAP_SHARED, request.fd, 0));
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, request.graph_size, PROT_READ, MAP_SHARED, request.fd, 1 << 20));
	EXPECT_EQ(-1, write(request.fd, (void *)(uintptr_t)NPU_UNMAPPED, 64));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, ENOSPC, NULL, NULL));
}

TEST_F(upcall, request_bad_arguments)
{
	static const struct {
		const char *what;
		struct drm_npumem_plan_request change;
		int err;
	} cases[] = {
		{ "graph", { .graph = 0x7fffffff }, -ENOENT },
		{ "objective", { .objective = NPUMEM_OBJECTIVE_PEAK + 1 }, -EINVAL },
		{ "flags", { .flags = NPUMEM_PLAN_REQUEST_CUT << 1 }, -EINVAL },
		{ "pad", { .pad = 1 }, -EINVAL },
		{ "out_sync", { .out_sync = 0x7fffffff }, -ENOENT },
	};
	struct drm_npumem_plan_request args;
	struct fake_request request;
	unsigned int i;

	ASSERT_EQ(0, register_daemon(&self->daemon));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		args = self->request;
		args.graph = cases[i].change.graph ?: args.graph;
		args.objective = cases[i].change.objective;
		args.flags = cases[i].change.flags;
		args.pad = cases[i].change.pad;
		args.out_sync = cases[i].change.out_sync ?: args.out_sync;
		EXPECT_EQ(cases[i].err, request_plan(self->fd, &args))
		TH_LOG("case: %s", cases[i].what);
	}
	args = self->request;
	memset(args.planner, 'p', sizeof(args.planner));
	EXPECT_EQ(-EINVAL, request_plan(self->fd, &args));
	/* Bytes after the name's end. */
	args = self->request;
	args.planner[10] = 'p';
	EXPECT_EQ(-EINVAL, request_plan(self->fd, &args));
	args = self->request;
	args.out_sync = 0;
	args.out_point = 1;
	EXPECT_EQ(-EINVAL, request_plan(self->fd, &args));
	args = self->request;
	args.deadline_ns = npu_now() - 1;
	EXPECT_EQ(-ETIMEDOUT, request_plan(self->fd, &args));

	/* None of these was queued, nor touched the syncobj. */
	EXPECT_EQ(-ENOENT, fake_accept(&self->daemon, &request));
	EXPECT_EQ(-ENOENT, npu_sync_status(self->fd, self->sync));
	EXPECT_EQ(0, request_plan(self->fd, &self->request));
}

TEST_F(upcall, oldest_first)
{
	struct drm_npumem_plan_request first = self->request, second = self->request;
	struct fake_request a, b;

	first.out_sync = second.out_sync = 0;
	first.arena_budget = 1;
	second.arena_budget = 2;
	ASSERT_EQ(0, register_daemon(&self->daemon));
	ASSERT_EQ(0, request_plan(self->fd, &first));
	ASSERT_EQ(0, request_plan(self->fd, &second));
	ASSERT_EQ(0, fake_accept(&self->daemon, &a));
	ASSERT_EQ(0, fake_accept(&self->daemon, &b));
	EXPECT_EQ(1, a.arena_budget);
	EXPECT_EQ(2, b.arena_budget);
	EXPECT_NE(a.id, b.id);
	/* Answered in the other order. */
	EXPECT_EQ(0, fake_done(&self->daemon, b.id, ENOSPC, NULL, NULL));
	EXPECT_EQ(0, fake_done(&self->daemon, a.id, ENOSPC, NULL, NULL));
}

TEST_F(upcall, queue_is_bounded)
{
	struct drm_npumem_plan_request args;
	struct drm_npumem_info info;
	struct fake_request request;
	unsigned int i;

	ASSERT_EQ(0, npu_info(self->fd, &info));
	ASSERT_EQ(0, register_daemon(&self->daemon));
	for (i = 0; i < info.max_requests; i++) {
		args = self->request;
		args.out_sync = 0;
		ASSERT_EQ(0, request_plan(self->fd, &args));
	}
	args = self->request;
	EXPECT_EQ(-EBUSY, request_plan(self->fd, &args));
	EXPECT_EQ(-ENOENT, npu_sync_status(self->fd, self->sync));

	/* One settled makes room for one. */
	ASSERT_EQ(0, fake_accept(&self->daemon, &request));
	ASSERT_EQ(0, fake_done(&self->daemon, request.id, ENOSPC, NULL, NULL));
	args = self->request;
	EXPECT_EQ(0, request_plan(self->fd, &args));
	EXPECT_EQ(-EBUSY, request_plan(self->fd, &args));
}

TEST_F(upcall, ready_is_told_to_who_comes_late)
{
	struct fake_request request;

	ASSERT_EQ(0, fake_register(&self->daemon, NPUMEM_VERSION, "late"));
	ASSERT_EQ(0, request_plan(self->fd, &self->request));
	/* Joined after READY was sent: ACCEPT finds the request all the same. */
	ASSERT_EQ(0, fake_join(&self->daemon, NPUMEM_MCGRP_REQUESTS));
	EXPECT_EQ(0, fake_accept(&self->daemon, &request));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, ENOSPC, NULL, NULL));
}

TEST_F(upcall, events)
{
	struct npumem_placement *places;
	struct fake_event event;
	struct fake_daemon listener;
	struct world world;
	uint32_t handle;

	ASSERT_EQ(0, fake_open(&listener));
	ASSERT_EQ(0, fake_join(&listener, NPUMEM_MCGRP_EVENTS));
	places = blob_records(&self->plan_blob, NPUMEM_PLAN_SECTION_PLACEMENTS);
	places[CHAIN_A].offset = places[CHAIN_X].offset;
	EXPECT_EQ(-EINVAL, world_plan(self->fd, self->graph, &self->plan_blob, &handle));
	ASSERT_EQ(0, fake_wait_event(&listener, &event));
	EXPECT_EQ(NPUMEM_CMD_VERDICT, event.cmd);
	EXPECT_EQ(getpid(), event.pid);
	EXPECT_EQ(NPUMEM_RULE_V4_WRITE, event.verdict.rule);
	EXPECT_EQ(CHAIN_A, event.verdict.tensor);
	EXPECT_EQ(CHAIN_X, event.verdict.other_tensor);
	EXPECT_EQ(self->model.placements[CHAIN_X].offset, event.verdict.first);
	EXPECT_LT(0, event.verdict.length);
	EXPECT_STREQ("V4 write: step 0 writes tensor 1 to bytes [0, 256) of the arena, where it "
		     "reads tile 0 of tensor 0 itself and is not staged",
		     event.message);

	ASSERT_EQ(0, world_open(&world, self->fd, &self->model));
	EXPECT_EQ(-EPERM, world_step(&world, CHAIN_LAST, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, fake_wait_event(&listener, &event));
	EXPECT_EQ(NPUMEM_CMD_FAULT, event.cmd);
	EXPECT_EQ(getpid(), event.pid);
	EXPECT_NE(0, event.run);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_READ, event.verdict.rule);
	EXPECT_EQ(CHAIN_LAST, event.verdict.step);
	EXPECT_EQ(CHAIN_MIX, event.verdict.other_step);
	EXPECT_EQ(CHAIN_B, event.verdict.other_tensor);
	EXPECT_STREQ("step 2, tensor 2; step 1, tensor 2", event.message);

	/* Left out is what is none: nobody writes X, which is gone after its last use. */
	EXPECT_EQ(0, world_step(&world, CHAIN_COPY, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(-EPERM, world_step(&world, CHAIN_COPY, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, fake_wait_event(&listener, &event));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_READ, event.verdict.rule);
	EXPECT_EQ(CHAIN_COPY, event.verdict.position);
	EXPECT_EQ(CHAIN_X, event.verdict.tensor);
	EXPECT_EQ(NPUMEM_NONE, event.verdict.other_step);
	EXPECT_EQ(NPUMEM_NONE, event.verdict.other_tile);
	EXPECT_EQ(NPUMEM_NONE, event.verdict.other_tensor);
	EXPECT_EQ(0, world_wait(&world));
	world_close(&world);
	fake_close(&listener);
}

enum { FLOODER = 60001, BYSTANDER = 60002 };

/**
 * struct flood - somebody who makes one mistake again and again
 * @count: times that he did
 * @stop: to be seen by him
 * @stopped: he will make no more, but keeps his file
 */
struct flood {
	volatile uint64_t count;
	volatile int stop;
	volatile int stopped;
};

/* Until he is told to stop, or once. */
static pid_t flood(struct flood *f, const struct model *m, unsigned int uid, bool once)
{
	struct world w;
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = npu_become(uid) ? -1 : npu_open();
	if (fd < 0 || world_open(&w, fd, m))
		_exit(1);
	do {
		if (world_step(&w, CHAIN_LAST, NPUMEM_SIM_NOP, 0) != -EPERM)
			_exit(1);
		f->count++;
	} while (!once && !f->stop);
	f->stopped = 1;
	for (;;)
		pause();
}

/* Of a user, in "shares" of debugfs; -1: no such line. */
static long long suppressed(unsigned int uid)
{
	char line[512], start[32];
	long long value = -1;
	glob_t found;
	FILE *f;

	snprintf(start, sizeof(start), "uid=%u ", uid);
	if (glob("/sys/kernel/debug/{accel,dri}/*/shares", GLOB_BRACE, NULL, &found))
		return -1;
	f = fopen(found.gl_pathv[0], "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, start, strlen(start)) && strstr(line, "events_suppressed="))
			sscanf(strstr(line, "events_suppressed="), "events_suppressed=%lld",
			       &value);
	if (f)
		fclose(f);
	globfree(&found);
	return value;
}

/* A user who does nothing but mistakes fills nobody's socket; others' are heard of. */
TEST_F_TIMEOUT(upcall, events_are_not_flooded, 600)
{
	const uint64_t plenty = 100000;
	struct fake_event event;
	struct fake_daemon listener;
	struct flood *f;
	pid_t pid, other;
	uint64_t heard = 0;

	npu_open_nodes();
	f = mmap(NULL, 2 * sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, f);
	ASSERT_EQ(0, fake_open(&listener));
	ASSERT_EQ(0, fake_join(&listener, NPUMEM_MCGRP_EVENTS));
	pid = flood(&f[0], &self->model, FLOODER, false);
	ASSERT_LT(0, pid);
	/* The first is heard; there may be no other for a while. */
	ASSERT_EQ(0, fake_wait_event(&listener, &event));
	heard++;
	while (suppressed(FLOODER) <= 0 && f[0].count < plenty)
		usleep(1000);
	f[0].stop = 1;
	while (!f[0].stopped)
		usleep(1000);
	other = flood(&f[1], &self->model, BYSTANDER, true);
	ASSERT_LT(0, other);
	for (;;) {
		ASSERT_EQ(0, fake_wait_event(&listener, &event));
		if ((pid_t)event.pid == other)
			break;
		EXPECT_EQ(pid, (pid_t)event.pid);
		heard++;
	}
	TH_LOG("%llu mistakes, %llu heard, %lld suppressed", (unsigned long long)f[0].count,
	       (unsigned long long)heard, suppressed(FLOODER));
	EXPECT_LT(0, suppressed(FLOODER));
	EXPECT_EQ(f[0].count, heard + suppressed(FLOODER));
	while (!f[1].stopped)
		usleep(1000);
	EXPECT_EQ(0, suppressed(BYSTANDER));
	kill(pid, SIGKILL);
	kill(other, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(other, waitpid(other, NULL, 0));
	munmap(f, 2 * sizeof(*f));
	fake_close(&listener);
}

TEST_HARNESS_MAIN
