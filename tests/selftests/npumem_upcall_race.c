// SPDX-License-Identifier: MIT
/*
 * All who may end a plan request at once: a daemon that answers well, badly or
 * not at all and is killed over and over, requesters that wait, give up or close
 * their file, and deadlines that pass meanwhile. Whoever wins, each request ends
 * once, and its fence and its plan tell the same story.
 *
 * What everybody does is drawn from a seed, which is printed; who wins is not.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_fake_daemon.h"
#include "npumem_world.h"

#define SEED	   20261121u
#define REQUESTERS 3
#define ROUNDS	   60 /* requests that each of them has settled */
#define LIVES	   12 /* requests that a daemon settles at most before it is killed */

/* ------------------------------------------------------------------ daemon */

static void serve(struct fake_daemon *daemon, const struct blob *plan, uint32_t *random, int told)
{
	static const uint32_t refusals[] = { ENOSPC, EOPNOTSUPP, EINVAL };
	struct fake_request request;
	uint32_t status = 0;
	size_t size = plan->size;
	int err;

	err = fake_accept(daemon, &request);
	if (err == -ENOENT) {
		if (fake_wait_ready(daemon))
			_exit(3);
		return;
	}
	if (err)
		_exit(4);
	switch (npu_draw(random, 6)) {
	case 0:
		size = npu_draw(random, size);
		break;
	case 1:
		status = refusals[npu_draw(random, 3)];
		break;
	case 2:
		/* Forget it. */
		close(request.fd);
		goto out;
	}
	/* EPIPE: it was settled meanwhile. */
	if (write(request.fd, plan->data, size) < 0 && errno != EPIPE)
		_exit(5);
	err = fake_done(daemon, request.id, status, NULL, NULL);
	if (err && err != -ENOENT)
		_exit(6);
	close(request.fd);
out:
	if (write(told, "s", 1) != 1)
		_exit(7);
}

static pid_t start_daemon(const struct blob *plan, uint32_t seed, int told)
{
	struct fake_daemon daemon;
	uint32_t random = seed;
	pid_t pid = fork();

	if (pid)
		return pid;
	if (fake_open(&daemon) || fake_register(&daemon, NPUMEM_VERSION, "short-lived"))
		_exit(1);
	if (fake_join(&daemon, NPUMEM_MCGRP_REQUESTS))
		_exit(2);
	for (;;)
		serve(&daemon, plan, &random, told);
}

/* --------------------------------------------------------------- requesters */

static bool possible(int status)
{
	static const int ends[] = { 1,		 -EBADMSG,  -ENOSPC,	-EOPNOTSUPP, -EINVAL,
				    -ECONNRESET, -ENOTCONN, -ETIMEDOUT, -ECANCELED };
	unsigned int i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (ends[i] == status)
			return true;
	}
	return false;
}

/* One request from its beginning to its end; false if it ended in a lie. */
static bool round_trip(int fd, uint32_t graph, uint32_t *random)
{
	struct drm_npumem_plan_read read = { 0 };
	struct drm_npumem_plan_request args = {
		.graph = graph,
		.deadline_ns = npu_late(),
		.out_sync = npu_syncobj(fd),
	};
	bool destroy = npu_draw(random, 4) == 0;
	int err, status;

	if (npu_draw(random, 3) == 0)
		args.deadline_ns = npu_now() + npu_draw(random, 8000000);
	do {
		err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &args);
		if (err == -ENOTCONN)
			sched_yield();
	} while (err == -ENOTCONN);
	if (err == -ETIMEDOUT) {
		drmSyncobjDestroy(fd, args.out_sync);
		return true;
	}
	if (err) {
		printf("# request: %s\n", strerror(-err));
		return false;
	}
	if (destroy && world_destroy(fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, args.handle))
		return false;
	err = npu_sync_wait(fd, args.out_sync, 0);
	status = npu_sync_status(fd, args.out_sync);
	drmSyncobjDestroy(fd, args.out_sync);
	if (err || !possible(status)) {
		printf("# fence: %d, status %d\n", err, status);
		return false;
	}
	read.handle = args.handle;
	err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_READ, &read);
	if (destroy)
		return err == -ENOENT;
	if (err ||
	    read.state != (status == 1 ? NPUMEM_PLAN_STATE_READY : NPUMEM_PLAN_STATE_FAILED) ||
	    read.error != (status == 1 ? 0 : (uint32_t)-status)) {
		printf("# fence says %d, plan: %d, state %u, error %u\n", status, err, read.state,
		       read.error);
		return false;
	}
	return world_destroy(fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, args.handle) == 0;
}

/* Close the file on requests that nobody has ended yet. */
static bool walk_away(int fd, uint32_t graph)
{
	struct drm_npumem_plan_request args = { .graph = graph, .deadline_ns = npu_late() };
	int i, err;

	for (i = 0; i < 3; i++) {
		err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &args);
		if (err && err != -ENOTCONN)
			return false;
	}
	return true;
}

static void requester(const struct blob *graph_blob, uint32_t seed)
{
	uint32_t random = seed, graph = 0;
	int i, fd = -1;

	for (i = 0; i < ROUNDS; i++) {
		if (fd < 0) {
			fd = npu_open();
			if (fd < 0 || world_graph(fd, graph_blob, &graph))
				_exit(1);
		}
		if (!round_trip(fd, graph, &random)) {
			fflush(stdout);
			_exit(2);
		}
		if (npu_draw(&random, 16) == 0) {
			if (!walk_away(fd, graph))
				_exit(3);
			close(fd);
			fd = -1;
		}
	}
	_exit(0);
}

FIXTURE(race){};

FIXTURE_SETUP(race)
{
}

FIXTURE_TEARDOWN(race)
{
}

/* Seconds: a debug kernel in an emulator is slow. */
TEST_F_TIMEOUT(race, every_request_ends_once_whoever_ends_it, 600)
{
	struct model model = model_chain();
	struct blob graph = model_graph(&model), plan = model_plan(&model);
	pid_t requesters[REQUESTERS], daemon;
	uint32_t random = SEED, life, daemons = 1;
	struct pollfd polls[2];
	int told[2], gone[2], i, status;
	char c;

	TH_LOG("seed %u", SEED);
	ASSERT_EQ(0, pipe(told));
	ASSERT_EQ(0, pipe(gone));
	for (i = 0; i < REQUESTERS; i++) {
		requesters[i] = fork();
		ASSERT_GE(requesters[i], 0);
		if (!requesters[i]) {
			close(gone[0]);
			requester(&graph, SEED + 1 + i);
		}
	}
	/* It ends when the last requester does. */
	close(gone[1]);

	life = npu_draw(&random, LIVES);
	daemon = start_daemon(&plan, SEED - daemons, told[1]);
	ASSERT_GE(daemon, 0);
	polls[0] = (struct pollfd){ .fd = gone[0], .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = told[0], .events = POLLIN };
	for (;;) {
		ASSERT_LT(0, poll(polls, 2, NPU_PATIENCE_NS / 1000000));
		if (polls[0].revents)
			break;
		ASSERT_EQ(1, read(told[0], &c, 1));
		if (life--)
			continue;
		ASSERT_EQ(0, kill(daemon, SIGKILL));
		ASSERT_EQ(daemon, waitpid(daemon, &status, 0));
		ASSERT_TRUE(WIFSIGNALED(status))
		{
			TH_LOG("daemon %u exited with %d", daemons, WEXITSTATUS(status));
		}
		life = npu_draw(&random, LIVES);
		daemons++;
		daemon = start_daemon(&plan, SEED - daemons, told[1]);
		ASSERT_GE(daemon, 0);
	}
	for (i = 0; i < REQUESTERS; i++) {
		ASSERT_EQ(requesters[i], waitpid(requesters[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	ASSERT_EQ(0, kill(daemon, SIGKILL));
	ASSERT_EQ(daemon, waitpid(daemon, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_LT(2, daemons);
	TH_LOG("%u daemons", daemons);
	blob_free(&graph);
	blob_free(&plan);
	model_free(&model);
}

TEST_HARNESS_MAIN
