// SPDX-License-Identifier: MIT
/*
 * Plan requests of several clients: how many one may have, whose turn it is, and
 * whose memory the plans are. One client asks for all that it can get; beside it
 * another one asks for one plan.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_fake_daemon.h"
#include "npumem_world.h"

#define NOBODY	   65534
#define USER_SHARE 64 /* NPUMEM_MAX_USER_REQUESTS of kernel/base/drv.h */
#define MAX_FILES  8

/*
 * struct client - open file and what it asks for
 * @mark: arena budget of its requests, by which they are told apart
 */
struct client {
	int fd;
	uint32_t graph;
	uint64_t mark;
};

FIXTURE(share)
{
	struct blob graph;
	struct fake_daemon daemon;
	struct client attackers[MAX_FILES], victim;
	uint32_t max; /* requests of one file */
};

static int client_open(struct client *client, const struct blob *graph, uid_t uid, uint64_t mark)
{
	int err = 0;

	client->mark = mark;
	if (seteuid(uid))
		return -errno;
	client->fd = npu_open();
	if (seteuid(0))
		err = -errno;
	if (client->fd < 0)
		return -ENODEV;
	return err ? err : world_graph(client->fd, graph, &client->graph);
}

static int ask(const struct client *client)
{
	struct drm_npumem_plan_request args = {
		.graph = client->graph,
		.arena_budget = client->mark,
		.deadline_ns = npu_late(),
	};

	return npu_ioctl(client->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &args);
}

/* Ask until refused; the number of requests that were taken. */
static uint32_t ask_for_all(const struct client *client, int *err)
{
	uint32_t n = 0;

	while (!(*err = ask(client)))
		n++;
	return n;
}

FIXTURE_SETUP(share)
{
	struct model model = model_chain();
	struct drm_npumem_info info;
	int i, fd = npu_open();

	ASSERT_GE(fd, 0);
	/* Others than root are among the clients. */
	ASSERT_EQ(0, fchmod(fd, 0666));
	ASSERT_EQ(0, npu_info(fd, &info));
	close(fd);
	self->max = info.max_requests;
	self->graph = model_graph(&model);
	model_free(&model);
	ASSERT_EQ(0, fake_open(&self->daemon));
	ASSERT_EQ(0, fake_register(&self->daemon, NPUMEM_VERSION, "share"));
	for (i = 0; i < MAX_FILES; i++)
		ASSERT_EQ(0, client_open(&self->attackers[i], &self->graph, 0, 1));
}

FIXTURE_TEARDOWN(share)
{
	int i;

	for (i = 0; i < MAX_FILES; i++)
		close(self->attackers[i].fd);
	close(self->victim.fd);
	fake_close(&self->daemon);
	blob_free(&self->graph);
}

/* Accept until the victim's comes; how many of others' came before. */
static int accepted_before(struct __test_metadata *_metadata, FIXTURE_DATA(share) * self)
{
	struct fake_request request;
	int n;

	for (n = 0;; n++) {
		ASSERT_EQ(0, fake_accept(&self->daemon, &request));
		close(request.fd);
		if (request.arena_budget == self->victim.mark)
			return n;
	}
}

TEST_F(share, one_file_does_not_take_anothers)
{
	int err, before;

	ASSERT_EQ(0, client_open(&self->victim, &self->graph, 0, 2));
	EXPECT_EQ(self->max, ask_for_all(&self->attackers[0], &err));
	EXPECT_EQ(-EBUSY, err);
	EXPECT_EQ(0, ask(&self->victim));
	/* It waits for one of them, not for all. */
	before = accepted_before(_metadata, self);
	TH_LOG("%u requests of one file queued: the other file's came after %d of them", self->max,
	       before);
	EXPECT_EQ(1, before);
}

TEST_F(share, many_files_of_a_user_leave_each_file_one)
{
	uint32_t taken = 0;
	int i, err;

	for (i = 0; i < MAX_FILES; i++) {
		taken += ask_for_all(&self->attackers[i], &err);
		ASSERT_EQ(-EBUSY, err);
	}
	/* The user's share, and one for each file beyond it. */
	EXPECT_EQ(USER_SHARE + MAX_FILES - USER_SHARE / self->max, taken);
	ASSERT_EQ(0, client_open(&self->victim, &self->graph, 0, 2));
	EXPECT_EQ(0, ask(&self->victim));
	EXPECT_EQ(-EBUSY, ask(&self->victim));
}

TEST_F(share, one_user_does_not_take_anothers)
{
	uint32_t taken = 0, own = 1;
	int i, err, before;

	for (i = 0; i < MAX_FILES; i++)
		taken += ask_for_all(&self->attackers[i], &err);
	ASSERT_EQ(0, client_open(&self->victim, &self->graph, NOBODY, 2));
	ASSERT_EQ(0, ask(&self->victim));
	own += ask_for_all(&self->victim, &err);
	EXPECT_EQ(-EBUSY, err);
	EXPECT_EQ(self->max, own);
	before = accepted_before(_metadata, self);
	TH_LOG("%u requests of %d files of one user queued: another user's first came after %d",
	       taken, MAX_FILES, before);
	EXPECT_EQ(1, before);
}

TEST_F(share, users_and_files_take_turns)
{
	/* Two files of root with marks 1 and 3, and one of nobody with mark 2. */
	static const uint64_t order[] = { 1, 2, 3, 2, 1, 3 };
	struct fake_request request;
	unsigned int i;

	self->attackers[1].mark = 3;
	ASSERT_EQ(0, client_open(&self->victim, &self->graph, NOBODY, 2));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, ask(&self->attackers[0]));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, ask(&self->attackers[1]));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, ask(&self->victim));
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		ASSERT_EQ(0, fake_accept(&self->daemon, &request));
		EXPECT_EQ(order[i], request.arena_budget)
		TH_LOG("turn %u", i);
		close(request.fd);
	}
	EXPECT_EQ(-ENOENT, fake_accept(&self->daemon, &request));
}

TEST_F(share, what_is_settled_is_in_no_share)
{
	struct fake_request request;
	int err;

	ASSERT_EQ(self->max, ask_for_all(&self->attackers[0], &err));
	ASSERT_EQ(0, fake_accept(&self->daemon, &request));
	/* Accepted counts still. */
	EXPECT_EQ(-EBUSY, ask(&self->attackers[0]));
	EXPECT_EQ(0, fake_done(&self->daemon, request.id, ENOSPC, NULL, NULL));
	EXPECT_EQ(0, ask(&self->attackers[0]));
	EXPECT_EQ(-EBUSY, ask(&self->attackers[0]));
	close(request.fd);
}

#define CGROUP	   "/sys/fs/cgroup"
#define SOME_GROUP 60003

/* Opens the victim's file as a process of a group and a control group. */
static int open_in(struct client *client, const struct blob *graph, const char *cgroup)
{
	char path[2 * NPUMEM_MAX_CGROUP];
	int err;

	snprintf(path, sizeof(path), CGROUP "%s/cgroup.procs", cgroup);
	if (npu_write(path, "0") || setegid(SOME_GROUP))
		return -errno;
	err = client_open(client, graph, NOBODY, 2);
	if (setegid(0) || npu_write(CGROUP "/cgroup.procs", "0"))
		return -errno;
	return err;
}

/* A policy of the daemon's is about who opened the file, whoever asks by it. */
TEST_F(share, daemon_is_told_who_opened_the_file)
{
	struct fake_request request;
	int status;
	pid_t pid;

	ASSERT_EQ(0, mkdir(CGROUP "/npumem_who.service", 0755));
	ASSERT_EQ(0, open_in(&self->victim, &self->graph, "/npumem_who.service"));
	EXPECT_EQ(0, rmdir(CGROUP "/npumem_who.service"));
	pid = fork();
	if (!pid)
		_exit(ask(&self->victim) ? 1 : 0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(0, ask(&self->attackers[0]));
	ASSERT_EQ(0, fake_accept(&self->daemon, &request));
	EXPECT_EQ(2, request.arena_budget);
	EXPECT_EQ(NOBODY, request.uid);
	EXPECT_EQ(SOME_GROUP, request.gid);
	/* Not the one that asked. */
	EXPECT_EQ(getpid(), request.pid);
	EXPECT_STREQ("/npumem_who.service", request.cgroup);
	close(request.fd);
	ASSERT_EQ(0, fake_accept(&self->daemon, &request));
	EXPECT_EQ(0, request.uid);
	EXPECT_EQ(0, request.gid);
	EXPECT_STREQ("/", request.cgroup);
	close(request.fd);
}

/* Of a path that is too long the daemon gets the beginning, which says whose it is. */
TEST_F(share, daemon_is_told_the_beginning_of_a_long_path)
{
	static const char *const parts[] = { "/npumem_who.service", NULL, NULL, NULL };
	char path[2 * NPUMEM_MAX_CGROUP] = "", name[202];
	struct fake_request request;
	unsigned int i;

	memset(name, 'x', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		char folder[sizeof(path) + sizeof(CGROUP)];

		strcat(path, parts[i] ?: name);
		snprintf(folder, sizeof(folder), CGROUP "%s", path);
		ASSERT_EQ(0, mkdir(folder, 0755));
	}
	ASSERT_EQ(0, open_in(&self->victim, &self->graph, path));
	for (i = ARRAY_SIZE(parts); i--; *strrchr(path, '/') = '\0') {
		char folder[sizeof(path) + sizeof(CGROUP)];

		snprintf(folder, sizeof(folder), CGROUP "%s", path);
		EXPECT_EQ(0, rmdir(folder));
	}
	ASSERT_EQ(0, ask(&self->victim));
	ASSERT_EQ(0, fake_accept(&self->daemon, &request));
	EXPECT_EQ(0, strncmp(request.cgroup, "/npumem_who.service/xxx", 23));
	EXPECT_LE(strlen(request.cgroup), NPUMEM_MAX_CGROUP);
	TH_LOG("%zu bytes of the path", strlen(request.cgroup));
	close(request.fd);
}

/* ---------------------------------------------------------------- memory */

#define CGROUPS	   "/tmp/npumem_cgroups"
#define PLANS	   24
#define MIB(bytes) ((bytes) >> 20)

/* Of the graph, and bytes that the client may have: about 16 plans. */
static uint32_t steps(void)
{
	return npu_count(50000, 20000);
}

static long long client_limit(void)
{
	return npu_count(64, 26) * (1ll << 20);
}

FIXTURE(memory)
{
	struct blob graph, plan;
	pid_t daemon;
};

static long long get(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	return atoll(text);
}

static int enter(const char *cgroup)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUPS "/%s/cgroup.procs", cgroup);
	return npu_write(path, "0");
}

/* A graph of many small steps, and its plan: megabytes of each verified form. */
static void build(struct blob *graph, struct blob *plan)
{
	uint32_t count = steps();
	struct model m = { 0 };
	uint32_t x = model_tensor(&m, NPUMEM_TENSOR_INPUT, 8);
	uint32_t y = model_tensor(&m, NPUMEM_TENSOR_OUTPUT, 8 * count);
	uint32_t i, whole = model_whole(&m, x);

	for (i = 0; i < count; i++)
		model_step_rw(&m, whole, model_tile(&m, y, 8 * i, 8));
	model_place(&m, x, 0);
	model_place(&m, y, 8);
	model_schedule(&m);
	*graph = model_graph(&m);
	*plan = model_plan(&m);
	model_free(&m);
}

/* Plans whatever it is asked for, until it is killed. */
static void daemon_main(const struct blob *plan, int ready)
{
	struct fake_daemon daemon;
	struct fake_request request;

	if (enter("daemon") || fake_open(&daemon) ||
	    fake_register(&daemon, NPUMEM_VERSION, "memory") ||
	    fake_join(&daemon, NPUMEM_MCGRP_REQUESTS) || write(ready, "r", 1) != 1)
		_exit(1);
	for (;;) {
		int err = fake_accept(&daemon, &request);
		uint32_t status = 0;

		if (err == -ENOENT) {
			fake_wait_ready(&daemon);
			continue;
		}
		if (err)
			_exit(2);
		/* The client's limit is the client's affair. */
		if (write(request.fd, plan->data, plan->size) != (ssize_t)plan->size)
			status = errno;
		fake_done(&daemon, request.id, status, NULL, NULL);
		close(request.fd);
	}
}

FIXTURE_SETUP(memory)
{
	char limit[32], ready;
	int fds[2];

	build(&self->graph, &self->plan);
	mkdir(CGROUPS, 0755);
	ASSERT_EQ(0, mount("none", CGROUPS, "cgroup2", 0, NULL));
	ASSERT_EQ(0, npu_write(CGROUPS "/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, mkdir(CGROUPS "/client", 0755));
	ASSERT_EQ(0, mkdir(CGROUPS "/daemon", 0755));
	snprintf(limit, sizeof(limit), "%lld", client_limit());
	ASSERT_EQ(0, npu_write(CGROUPS "/client/memory.max", limit));
	ASSERT_EQ(0, pipe(fds));
	self->daemon = fork();
	if (!self->daemon)
		daemon_main(&self->plan, fds[1]);
	close(fds[1]);
	ASSERT_EQ(1, read(fds[0], &ready, 1));
	close(fds[0]);
}

FIXTURE_TEARDOWN(memory)
{
	int status;

	kill(self->daemon, SIGKILL);
	EXPECT_EQ(self->daemon, waitpid(self->daemon, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	/* A cgroup is busy until its last process is gone for good. */
	while (rmdir(CGROUPS "/daemon") && errno == EBUSY)
		;
	while (rmdir(CGROUPS "/client") && errno == EBUSY)
		;
	npu_write(CGROUPS "/cgroup.subtree_control", "-memory");
	EXPECT_EQ(0, umount(CGROUPS));
	rmdir(CGROUPS);
	blob_free(&self->graph);
	blob_free(&self->plan);
}

static long long used(const char *cgroup)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUPS "/%s/memory.current", cgroup);
	return get(path);
}

/* Ask for plans and keep them; the number that there was memory for. */
static int collect(const struct blob *graph, int plans)
{
	struct client client;
	int i;

	if (enter("client") || client_open(&client, graph, 0, 0))
		_exit(100);
	for (i = 0; i < plans; i++) {
		struct drm_npumem_plan_request args = {
			.graph = client.graph,
			.deadline_ns = npu_late(),
			.out_sync = npu_syncobj(client.fd),
		};
		struct drm_npumem_plan_read read = { 0 };

		if (npu_ioctl(client.fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &args) ||
		    npu_sync_wait(client.fd, args.out_sync, 0))
			break;
		read.handle = args.handle;
		if (npu_ioctl(client.fd, DRM_IOCTL_NPUMEM_PLAN_READ, &read) ||
		    read.state != NPUMEM_PLAN_STATE_READY)
			break;
		if (i % 4 == 3) {
			printf("# %2d plans of %zu bytes: client %lld MiB, daemon %lld MiB\n",
			       i + 1, graph->size, MIB(used("client")), MIB(used("daemon")));
			fflush(stdout);
		}
	}
	return i;
}

/* In a process of its own, which may be killed for its memory. */
static int collected(const struct blob *graph, int plans, long long *client, long long *daemon)
{
	int fds[2], status, n = -1;
	pid_t pid;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (!pid) {
		long long what[3];

		what[0] = collect(graph, plans);
		what[1] = used("client");
		what[2] = used("daemon");
		_exit(write(fds[1], what, sizeof(what)) != sizeof(what));
	}
	close(fds[1]);
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status)) {
		long long what[3];

		if (read(fds[0], what, sizeof(what)) == sizeof(what)) {
			n = what[0];
			*client = what[1];
			*daemon = what[2];
		}
	} else if (WIFSIGNALED(status)) {
		n = plans + WTERMSIG(status);
	}
	close(fds[0]);
	return n;
}

/* Few enough to stay below the limit: they are there, and are the client's. */
TEST_F_TIMEOUT(memory, of_a_plan_is_its_requesters, 600)
{
	long long client, daemon, before = used("daemon");

	ASSERT_EQ(8, collected(&self->graph, 8, &client, &daemon));
	TH_LOG("8 plans of %zu bytes: client %lld MiB, daemon %lld MiB more", self->plan.size,
	       MIB(client), MIB(daemon - before));
	EXPECT_GT(client, (long long)(8 * self->plan.size));
	EXPECT_LT(daemon - before, (long long)(2 * self->plan.size));
}

/*
 * More than the limit allows: the client runs into its own, by ENOMEM or by its
 * death, and the daemon grows by nothing.
 */
TEST_F_TIMEOUT(memory, of_plans_is_bounded_by_their_requesters_limit, 600)
{
	long long client = 0, daemon = used("daemon"), before = daemon;
	int n = collected(&self->graph, PLANS, &client, &daemon);

	ASSERT_GE(n, 0);
	if (n > PLANS) {
		EXPECT_EQ(PLANS + SIGKILL, n);
		daemon = used("daemon");
	} else {
		EXPECT_LT(n, PLANS);
		EXPECT_LE(client, client_limit());
	}
	TH_LOG("asked for %d plans: %s, daemon %lld MiB more", PLANS,
	       n > PLANS ? "killed for its memory" : "refused at its limit", MIB(daemon - before));
	EXPECT_LT(daemon - before, (long long)(2 * self->plan.size));
	/* And it lives. */
	EXPECT_EQ(0, waitpid(self->daemon, NULL, WNOHANG));
}

TEST_HARNESS_MAIN
