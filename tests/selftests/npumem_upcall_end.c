// SPDX-License-Identifier: MIT
/*
 * How the end of a plan request is told: to the requester by a syncobj, which has no
 * fence before; to the daemon by the request's descriptor. And that nobody who is
 * stuck can put it off: a daemon in a page fault, a verification.
 */
#define _GNU_SOURCE /* pthread_tryjoin_np() */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_fake_daemon.h"
#include "npumem_world.h"

#define PATIENCE_MS (300 * 1000) /* of a hang */

FIXTURE(end)
{
	int fd;
	struct model model;
	struct world w;
	struct blob plan;
	uint32_t sync;
	struct fake_daemon daemon;
	struct fake_request request;
	struct drm_npumem_plan_request args;
};

FIXTURE_SETUP(end)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	self->plan = model_plan(&self->model);
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	self->sync = npu_syncobj(self->fd);
	ASSERT_EQ(0, fake_open(&self->daemon));
	ASSERT_EQ(0, fake_register(&self->daemon, NPUMEM_VERSION, "end"));
	self->request.fd = -1;
	self->args = (struct drm_npumem_plan_request){
		.graph = self->w.graph,
		.deadline_ns = npu_late(),
		.out_sync = self->sync,
	};
}

FIXTURE_TEARDOWN(end)
{
	if (self->request.fd >= 0)
		close(self->request.fd);
	fake_close(&self->daemon);
	if (self->fd >= 0) {
		world_close(&self->w);
		close(self->fd);
	}
	blob_free(&self->plan);
	model_free(&self->model);
}

static int ask_and_accept(FIXTURE_DATA(end) * self)
{
	int err = npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->args);

	return err ? err : fake_accept(&self->daemon, &self->request);
}

/* With a deadline that passes soon, but after that. */
static int ask_and_accept_before(FIXTURE_DATA(end) * self)
{
	int64_t ns = FAKE_SOON_NS;

	return fake_accept_before(&self->daemon, self->fd, &self->args, &ns, &self->request);
}

static int destroy(FIXTURE_DATA(end) * self)
{
	return world_destroy(self->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, self->args.handle);
}

static int export_error(int fd, uint32_t sync)
{
	int file;

	if (drmSyncobjExportSyncFile(fd, sync, &file))
		return errno;
	close(file);
	return 0;
}

/* SUBMIT of a job that waits for it. */
static int submit_behind(FIXTURE_DATA(end) * self, uint64_t point)
{
	struct drm_npumem_job job = world_job(&self->w, CHAIN_COPY, NPUMEM_SIM_NOP, 0);
	struct drm_npumem_sync in = { .handle = self->sync, .point = point };
	struct drm_npumem_submit args = {
		.run = self->w.run,
		.jobs = NPU_ARRAY(&job, 1),
		.in_syncs = NPU_ARRAY(&in, 1),
	};

	return npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
}

/* --------------------------------------------------------------- no fence */

TEST_F(end, syncobj_has_no_fence_before)
{
	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(EINVAL, export_error(self->fd, self->sync));
	EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->sync, 0));
	EXPECT_EQ(-EINVAL, submit_behind(self, 0));

	EXPECT_EQ(0, fake_done(&self->daemon, self->request.id, ENOSPC, NULL, NULL));
	EXPECT_EQ(0, export_error(self->fd, self->sync));
	EXPECT_EQ(0, npu_sync_now(self->fd, self->sync, 0));
	EXPECT_EQ(-ENOSPC, npu_sync_status(self->fd, self->sync));
	EXPECT_EQ(0, submit_behind(self, 0));
}

TEST_F(end, timeline_point_has_no_fence_before)
{
	self->args.out_point = 3;
	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->sync, 3));
	EXPECT_EQ(-EINVAL, submit_behind(self, 3));
	EXPECT_EQ(0, fake_done(&self->daemon, self->request.id, ENOSPC, NULL, NULL));
	EXPECT_EQ(0, npu_sync_now(self->fd, self->sync, 3));
	EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->sync, 4));
	EXPECT_EQ(0, submit_behind(self, 3));
}

/* What it held before is no answer to this request. */
TEST_F(end, an_earlier_fence_is_taken_away)
{
	ASSERT_EQ(0, drmSyncobjSignal(self->fd, &self->sync, 1));
	ASSERT_EQ(0, npu_sync_now(self->fd, self->sync, 0));
	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(-EINVAL, npu_sync_now(self->fd, self->sync, 0));
	EXPECT_EQ(0, destroy(self));
	EXPECT_EQ(-ECANCELED, npu_sync_status(self->fd, self->sync));
}

TEST_F(end, who_waits_for_it_is_woken)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, ask_and_accept(self));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(npu_sync_wait(self->fd, self->sync, 0) ? 1 : 0);
	EXPECT_EQ(0, destroy(self));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(end, deadline_is_bounded)
{
	self->args.deadline_ns = INT64_MAX;
	EXPECT_EQ(-EINVAL, ask_and_accept(self));
	/* More than the test takes. */
	self->args.deadline_ns = npu_now() + NPUMEM_MAX_REQUEST_NS + PATIENCE_MS * 1000000ll;
	EXPECT_EQ(-EINVAL, ask_and_accept(self));
	EXPECT_EQ(-ENOENT, fake_accept(&self->daemon, &self->request));
	self->args.deadline_ns = npu_now() + NPUMEM_MAX_REQUEST_NS;
	EXPECT_EQ(0, ask_and_accept(self));
}

/* ----------------------------------------------------- the daemon is told */

static short polled(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLOUT };

	return poll(&pfd, 1, 0) < 0 ? POLLERR : pfd.revents;
}

/* It was given up: that, and with which errno. */
static void expect_hangup(struct __test_metadata *_metadata, FIXTURE_DATA(end) * self,
			  uint32_t status, const char *reason)
{
	struct npumem_request_outcome outcome;
	struct pollfd pfd = { .fd = self->request.fd, .events = POLLIN };

	/* The requester is told first: the daemon may be a moment later. */
	ASSERT_EQ(1, poll(&pfd, 1, PATIENCE_MS));
	EXPECT_EQ(POLLIN | POLLHUP, pfd.revents);
	ASSERT_EQ(0, fake_outcome(self->request.fd, &outcome));
	EXPECT_EQ(status, outcome.status);
	EXPECT_EQ(NPUMEM_RULE_NONE, outcome.verdict.rule);
	EXPECT_STREQ(reason, outcome.message);
}

TEST_F(end, daemon_is_told_of_a_plan_destroyed)
{
	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(POLLOUT, polled(self->request.fd));
	EXPECT_EQ(0, destroy(self));
	expect_hangup(_metadata, self, ECANCELED, "the requester gave the request up");
}

TEST_F(end, daemon_is_told_of_a_file_closed)
{
	ASSERT_EQ(0, ask_and_accept(self));
	world_close(&self->w);
	close(self->fd);
	self->fd = -1;
	expect_hangup(_metadata, self, ECANCELED, "the requester gave the request up");
}

TEST_F(end, daemon_is_told_of_a_deadline)
{
	ASSERT_EQ(0, ask_and_accept_before(self));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->sync, 0));
	expect_hangup(_metadata, self, ETIMEDOUT, "the deadline passed before the daemon answered");
}

TEST_F(end, daemon_is_told_of_its_socket)
{
	ASSERT_EQ(0, ask_and_accept(self));
	fake_close(&self->daemon);
	expect_hangup(_metadata, self, ECONNRESET,
		      "the daemon went away or closed the request without an answer");
}

TEST_F(end, daemon_that_waits_is_woken)
{
	struct pollfd pfd;
	int status;
	pid_t pid;

	ASSERT_EQ(0, ask_and_accept(self));
	pfd = (struct pollfd){ .fd = self->request.fd, .events = POLLIN };
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(poll(&pfd, 1, PATIENCE_MS) == 1 && pfd.revents == (POLLIN | POLLHUP) ? 0 : 1);
	EXPECT_EQ(0, destroy(self));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(end, its_own_answer_is_no_hangup)
{
	struct npumem_request_outcome outcome;

	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(0, fake_done(&self->daemon, self->request.id, ENOSPC, "no room", NULL));
	EXPECT_EQ(POLLIN, polled(self->request.fd));
	ASSERT_EQ(0, fake_outcome(self->request.fd, &outcome));
	EXPECT_EQ(ENOSPC, outcome.status);
	EXPECT_STREQ("no room", outcome.message);
}

TEST_F(end, outcome_can_be_read_in_part_and_not_before)
{
	uint32_t status = 0;

	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(0, fcntl(self->request.fd, F_SETFL, O_RDWR | O_NONBLOCK));
	EXPECT_EQ(-1, read(self->request.fd, &status, sizeof(status)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, destroy(self));
	EXPECT_EQ(-1, read(self->request.fd, (void *)(uintptr_t)NPU_UNMAPPED, sizeof(status)));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ((ssize_t)sizeof(status), read(self->request.fd, &status, sizeof(status)));
	EXPECT_EQ(ECANCELED, status);
}

/* ----------------------------------------------------------- nobody is in the way */

/*
 * A page that blocks whoever touches it, until the test says otherwise. Only where
 * the kernel has userfaultfd; where it has lockdep instead, a write from a page not
 * there yet is enough: lockdep knows that the locks it takes must not be held then.
 */
struct stuck {
	int uffd;
	uint8_t *page;
	size_t size;
	int request;
	ssize_t written;
	int error;
};

static int stuck_page(struct stuck *stuck)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	stuck->size = sysconf(_SC_PAGESIZE);
	stuck->page =
		mmap(NULL, stuck->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stuck->page == MAP_FAILED)
		return -errno;
	stuck->uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (stuck->uffd < 0)
		return -errno;
	range.range.start = (uintptr_t)stuck->page;
	range.range.len = stuck->size;
	return ioctl(stuck->uffd, UFFDIO_API, &api) || ioctl(stuck->uffd, UFFDIO_REGISTER, &range) ?
		       -errno :
		       0;
}

static void *write_stuck(void *data)
{
	struct stuck *stuck = data;

	stuck->written = write(stuck->request, stuck->page, 64);
	stuck->error = errno;
	return NULL;
}

/* -EPIPE: the request was over before the thread came so far. It is joined then. */
static int wait_stuck(const struct stuck *stuck, pthread_t thread)
{
	struct pollfd pfd = { .fd = stuck->uffd, .events = POLLIN };
	struct uffd_msg msg;
	int waited;

	for (waited = 0; poll(&pfd, 1, 10) != 1; waited += 10) {
		if (!pthread_tryjoin_np(thread, NULL))
			return -stuck->error;
		if (waited > PATIENCE_MS)
			return -ETIMEDOUT;
	}
	return read(stuck->uffd, &msg, sizeof(msg)) == sizeof(msg) &&
			       msg.event == UFFD_EVENT_PAGEFAULT ?
		       0 :
		       -EIO;
}

static int release_stuck(const struct stuck *stuck)
{
	struct uffdio_zeropage zero = {
		.range = { .start = (uintptr_t)stuck->page, .len = stuck->size },
	};

	return ioctl(stuck->uffd, UFFDIO_ZEROPAGE, &zero) ? -errno : 0;
}

/* All but unbind; that goes the same way as these (requests_fail() in upcall.c). */
enum ending { BY_DESTROY, BY_CLOSE, BY_DEADLINE, BY_SOCKET };

/* A request, and the daemon is in the midst of writing its plan. */
static int begin_stuck(FIXTURE_DATA(end) * self, struct stuck *stuck, pthread_t *thread,
		       enum ending ending)
{
	int64_t ns = FAKE_SOON_NS;
	int err;

	for (;; ns *= 2) {
		if (ending == BY_DEADLINE)
			err = fake_accept_before(&self->daemon, self->fd, &self->args, &ns,
						 &self->request);
		else
			err = ask_and_accept(self);
		if (err)
			return err;
		stuck->request = self->request.fd;
		err = -pthread_create(thread, NULL, write_stuck, stuck);
		if (!err)
			err = wait_stuck(stuck, *thread);
		if (err != -EPIPE || ending != BY_DEADLINE)
			return err;
		/* Slower than the deadline was near. */
		destroy(self);
		close(self->request.fd);
		self->request.fd = -1;
	}
}

static void ends_beside_a_stuck_writer(struct __test_metadata *_metadata, FIXTURE_DATA(end) * self,
				       enum ending ending)
{
	struct npumem_request_outcome outcome;
	struct stuck stuck = { 0 };
	pthread_t thread;
	int err;

	err = stuck_page(&stuck);
	if (err == -ENOSYS) {
		ASSERT_TRUE(npu_has_lockdep());
		ASSERT_EQ(0, ask_and_accept(self));
		stuck.request = self->request.fd;
		write_stuck(&stuck);
		EXPECT_EQ(64, stuck.written);
		return;
	}
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, begin_stuck(self, &stuck, &thread, ending));

	switch (ending) {
	case BY_DESTROY:
		EXPECT_EQ(0, destroy(self));
		break;
	case BY_CLOSE:
		world_close(&self->w);
		close(self->fd);
		self->fd = -1;
		break;
	case BY_DEADLINE:
		break;
	case BY_SOCKET:
		fake_close(&self->daemon);
		break;
	}
	/* It ends while the writer is where it was. */
	EXPECT_EQ(0, fake_outcome(self->request.fd, &outcome));
	if (self->fd >= 0)
		EXPECT_EQ(0, npu_sync_wait(self->fd, self->sync, 0));
	ASSERT_EQ(0, release_stuck(&stuck));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-1, stuck.written);
	EXPECT_EQ(EPIPE, stuck.error);
	close(stuck.uffd);
	munmap(stuck.page, stuck.size);
}

TEST_F_TIMEOUT(end, destroy_beside_a_stuck_writer, 300)
{
	ends_beside_a_stuck_writer(_metadata, self, BY_DESTROY);
}

TEST_F_TIMEOUT(end, close_beside_a_stuck_writer, 300)
{
	ends_beside_a_stuck_writer(_metadata, self, BY_CLOSE);
}

TEST_F_TIMEOUT(end, deadline_beside_a_stuck_writer, 300)
{
	ends_beside_a_stuck_writer(_metadata, self, BY_DEADLINE);
}

TEST_F_TIMEOUT(end, socket_closed_beside_a_stuck_writer, 300)
{
	ends_beside_a_stuck_writer(_metadata, self, BY_SOCKET);
}

/*
 * DONE, with which netlink holds a lock, is over before a large plan is verified. A
 * busy machine may run the verifier first; not every time.
 */
TEST_F_TIMEOUT(end, netlink_does_not_wait_for_the_verifier, 600)
{
	enum { STEPS = 20000, TRIES = 50 };
	struct npumem_request_outcome outcome;
	struct model m = { 0 };
	uint32_t x = model_tensor(&m, NPUMEM_TENSOR_INPUT, 8);
	uint32_t y = model_tensor(&m, NPUMEM_TENSOR_OUTPUT, 8 * STEPS);
	uint32_t i, whole = model_whole(&m, x), graph;
	struct blob graph_blob, plan_blob;
	bool pending = false;

	for (i = 0; i < STEPS; i++)
		model_step_rw(&m, whole, model_tile(&m, y, 8 * i, 8));
	model_place(&m, x, 0);
	model_place(&m, y, 8);
	model_schedule(&m);
	graph_blob = model_graph(&m);
	plan_blob = model_plan(&m);
	model_free(&m);
	ASSERT_EQ(0, world_graph(self->fd, &graph_blob, &graph));
	self->args.graph = graph;
	for (i = 0; !pending && i < TRIES; i++) {
		ASSERT_EQ(0, ask_and_accept(self));
		ASSERT_EQ((ssize_t)plan_blob.size,
			  write(self->request.fd, plan_blob.data, plan_blob.size));
		ASSERT_EQ(0, fake_done_only(&self->daemon, self->request.id));
		pending = polled(self->request.fd) == POLLOUT;
		ASSERT_EQ(0, fake_outcome(self->request.fd, &outcome));
		ASSERT_EQ(0, outcome.status);
		ASSERT_EQ(0, destroy(self));
		close(self->request.fd);
		self->request.fd = -1;
	}
	EXPECT_TRUE(pending);
	TH_LOG("DONE came back before the verifier did, at try %u", i);
	blob_free(&graph_blob);
	blob_free(&plan_blob);
}

/*
 * A socket's portid is free before netlink has told that it was closed. The next
 * daemon may have it by then, and is not the one that has gone. Who comes first is
 * not drawn: it is tried often.
 */
enum { PORT = 0x6e707500, ROUNDS = 1000, FEW_ROUNDS = 200 };

static void *close_daemon(void *data)
{
	fake_close(data);
	return NULL;
}

TEST_F_TIMEOUT(end, a_portid_is_not_a_daemon, 600)
{
	struct fake_daemon old, next;
	struct drm_npumem_info info;
	pthread_t thread;
	int round, rounds = npu_count(ROUNDS, FEW_ROUNDS), err, early = 0;

	fake_close(&self->daemon);
	ASSERT_EQ(0, fake_open_port(&old, PORT));
	ASSERT_EQ(0, fake_register(&old, NPUMEM_VERSION, "old"));
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, pthread_create(&thread, NULL, close_daemon, &old));
		while (fake_open_port(&next, PORT))
			;
		err = fake_register(&next, NPUMEM_VERSION, "next");
		early += pthread_tryjoin_np(thread, NULL) == EBUSY;
		pthread_join(thread, NULL);
		ASSERT_EQ(0, err);
		ASSERT_EQ(0, npu_info(self->fd, &info));
		ASSERT_EQ(1, info.daemon)
		TH_LOG("round %d: a daemon that lives was unregistered", round);
		old = next;
	}
	fake_close(&old);
	TH_LOG("%d of %d registered before the other's close() was back", early, rounds);
}

TEST_HARNESS_MAIN
