// SPDX-License-Identifier: MIT
/*
 * Shared arenas in the hands of those who mean harm, or die: who keeps his mappings sees nothing
 * in another's turn, by whatever call; who does not end his turn, or dies in it or in the line,
 * keeps nobody waiting for longer than they say.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define SIZE (64u << 10)
#define LATE (npu_now() + NPU_PATIENCE_NS)

enum { VICTIM, OTHER, CLIENTS, WAITERS = 8 };

/*
 * struct shared - what a test and its processes tell each other
 * @stage: how far a process is
 * @err: of its call
 * @order: number of turns so far
 * @pid: of a process that says who it is
 */
struct shared {
	atomic_int stage;
	atomic_int err;
	atomic_int order;
	atomic_int pid;
};

FIXTURE(hostile)
{
	struct model model;
	int fd[CLIENTS];
	uint32_t bo[CLIENTS];
	struct world w[CLIENTS];
	struct shared *shared;
};

/* The BO of the first client, as that of another file; 0 on error. */
static uint32_t import(int from, uint32_t bo, int to)
{
	uint32_t handle = 0;
	int buffer;

	if (drmPrimeHandleToFD(from, bo, DRM_CLOEXEC | DRM_RDWR, &buffer))
		return 0;
	if (drmPrimeFDToHandle(to, buffer, &handle))
		handle = 0;
	close(buffer);
	return handle;
}

FIXTURE_SETUP(hostile)
{
	int i;

	self->model = model_chain();
	self->model.info.arena_size = SIZE;
	self->shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	for (i = 0; i < CLIENTS; i++) {
		self->fd[i] = npu_open();
		ASSERT_GE(self->fd[i], 0);
	}
	ASSERT_EQ(0, npu_bo_create(self->fd[0], SIZE, NPUMEM_BO_SHARED, &self->bo[0]));
	self->bo[1] = import(self->fd[0], self->bo[0], self->fd[1]);
	ASSERT_NE(0, self->bo[1]);
	for (i = 0; i < CLIENTS; i++)
		ASSERT_EQ(0,
			  world_open_shared(&self->w[i], self->fd[i], &self->model, self->bo[i]));
}

FIXTURE_TEARDOWN(hostile)
{
	int64_t patience = npu_now() + NPU_PATIENCE_NS;
	struct drm_npumem_bank bank = { 0 };
	int i, fd;

	EXPECT_EQ(0, npu_knob("pause", 0));
	for (i = 0; i < CLIENTS; i++) {
		if (self->fd[i] < 0)
			continue;
		world_close(&self->w[i]);
		close(self->fd[i]);
	}
	model_free(&self->model);
	munmap(self->shared, 4096);
	fd = npu_open();
	while (!npu_bank(fd, &bank) && bank.free != bank.size && npu_now() < patience)
		usleep(1000);
	EXPECT_EQ(bank.size, bank.free);
	close(fd);
}

/* A run has the turn, and its client has filled the arena with what is nobody else's business. */
static void fill_secret(struct __test_metadata *_metadata, struct world *w)
{
	ASSERT_EQ(0, world_begin(w, LATE));
	memset(w->arena, 0x5e, SIZE);
}

/* Whether a task sleeps. What it does when it has said that it is about to is wait. */
static bool sleeps(pid_t pid, pid_t tid)
{
	char path[64], state = 0;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	stat = fopen(path, "r");
	if (!stat)
		return false;
	if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(stat);
	return state == 'S';
}

/* Wait until it has said so and sleeps. */
static bool is_in_line(atomic_int *tid, pid_t pid)
{
	int64_t patience = npu_now() + NPU_PATIENCE_NS;

	while (npu_now() < patience) {
		if (atomic_load(tid) && sleeps(pid, atomic_load(tid)))
			return true;
		usleep(1000);
	}
	return false;
}

/* ------------------------------------------------------------------- bytes */

/* Mappings of all kinds, made before, during and after a turn. */
TEST_F(hostile, mappings_see_nothing)
{
	struct world *victim = &self->w[VICTIM], *other = &self->w[OTHER];
	uint8_t *before, *during, *moved, *after;

	before = npu_bo_map(other->fd, self->bo[OTHER], SIZE);
	ASSERT_NE(NULL, before);
	ASSERT_EQ(0, world_begin(other, LATE));
	during = npu_bo_map(other->fd, self->bo[OTHER], SIZE);
	ASSERT_NE(NULL, during);
	EXPECT_TRUE(npu_all_bytes(before, SIZE, 0));
	EXPECT_TRUE(npu_all_bytes(during, SIZE, 0));
	/* One whose pages are taken along, and one in pieces. */
	moved = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, moved);
	ASSERT_EQ(moved, mremap(during, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, moved));
	ASSERT_EQ(0, mprotect(before + 4096, 4096, PROT_READ));
	ASSERT_EQ(0, munmap(before + 8192, 4096));
	EXPECT_FALSE(npu_read_faults(moved));
	EXPECT_FALSE(npu_read_faults(before + 12288));
	ASSERT_EQ(0, world_end(other));

	fill_secret(_metadata, victim);
	after = npu_bo_map(other->fd, self->bo[OTHER], SIZE);
	ASSERT_NE(NULL, after);
	EXPECT_TRUE(npu_read_faults(before));
	EXPECT_TRUE(npu_read_faults(before + 4096));
	EXPECT_TRUE(npu_read_faults(before + 12288));
	EXPECT_TRUE(npu_read_faults(moved));
	EXPECT_TRUE(npu_read_faults(after));
	EXPECT_TRUE(npu_write_faults(after, 1));
	EXPECT_TRUE(npu_write_faults(moved + SIZE - 1, 1));
	EXPECT_TRUE(npu_all_bytes(victim->arena, SIZE, 0x5e));
	ASSERT_EQ(0, world_end(victim));
	munmap(before, 8192);
	munmap(before + 12288, SIZE - 12288);
	munmap(moved, SIZE);
	munmap(after, SIZE);
}

/* System calls reach device memory by no other way than a mapping's fault. */
TEST_F(hostile, system_calls_see_nothing)
{
	struct world *victim = &self->w[VICTIM];
	uint8_t byte = 0;
	struct iovec here = { &byte, 1 }, there = { victim->arena, 1 };
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), fds[2];
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	fill_secret(_metadata, victim);
	/* Pages cannot be pinned: not even by whose turn it is. */
	EXPECT_FALSE(npu_read_faults(victim->arena));
	EXPECT_EQ(-1, process_vm_readv(getpid(), &here, 1, &there, 1, 0));
	/* Not every kernel has the call; what it does is what /proc does below. */
	EXPECT_TRUE(errno == EFAULT || errno == ENOSYS);
	EXPECT_EQ(-1, pread(mem, &byte, 1, (uintptr_t)victim->arena));
	EXPECT_EQ(EIO, errno);
	ASSERT_EQ(0, pipe(fds));
	EXPECT_EQ(-1, vmsplice(fds[1], &there, 1, 0));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_EQ(0, world_end(victim));
	/* A copy by the kernel is a fault like any other. */
	EXPECT_EQ(-1, write(fds[1], victim->arena, 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, read(zero, victim->arena, 1));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_EQ(0, world_begin(victim, LATE));
	EXPECT_EQ(1, write(fds[1], victim->arena, 1));
	EXPECT_EQ(1, read(zero, victim->arena, 1));
	ASSERT_EQ(0, world_end(victim));
	close(fds[0]);
	close(fds[1]);
	close(mem);
	close(zero);
}

/* A child has its parent's file: it sees its turns, and those of nobody else. */
TEST_F(hostile, child_sees_what_its_parent_sees)
{
	struct shared *s = self->shared;
	int status;
	pid_t pid;

	fill_secret(_metadata, &self->w[OTHER]);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		/* The pages that it has inherited. */
		if (npu_read_faults(self->w[OTHER].arena) || self->w[OTHER].arena[9] != 0x5e)
			_exit(1);
		atomic_store(&s->stage, 1);
		while (atomic_load(&s->stage) != 2)
			usleep(100);
		_exit(npu_read_faults(self->w[OTHER].arena) ? 0 : 2);
	}
	while (!atomic_load(&s->stage) && !waitpid(pid, &status, WNOHANG))
		usleep(100);
	ASSERT_EQ(0, world_end(&self->w[OTHER]));
	fill_secret(_metadata, &self->w[VICTIM]);
	atomic_store(&s->stage, 2);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
}

/* Somebody who has the buffer's descriptor, and no run, has no turn and no byte. */
TEST_F(hostile, descriptor_alone_is_of_no_use)
{
	int fd = npu_open();
	uint32_t bo = import(self->fd[0], self->bo[0], fd);
	uint8_t *mem;

	ASSERT_NE(0, bo);
	mem = npu_bo_map(fd, bo, SIZE);
	ASSERT_NE(NULL, mem);
	EXPECT_TRUE(npu_read_faults(mem));
	fill_secret(_metadata, &self->w[VICTIM]);
	EXPECT_TRUE(npu_read_faults(mem));
	EXPECT_TRUE(npu_write_faults(mem, 1));
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
	EXPECT_TRUE(npu_read_faults(mem));
	munmap(mem, SIZE);
	close(fd);
}

/* --------------------------------------------------------------------- time */

/* He never ends it: others are told so when their time is up, and get it when he goes. */
TEST_F(hostile, never_ends_its_turn)
{
	int i;

	ASSERT_EQ(0, world_begin(&self->w[OTHER], 0));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ETIMEDOUT, world_begin(&self->w[VICTIM], npu_now() + 1000000));
	memset(self->w[OTHER].arena, 0x66, SIZE);
	/* The run, and then the file; the arena's maker need not be there. */
	ASSERT_EQ(0,
		  world_destroy(self->fd[OTHER], DRM_IOCTL_NPUMEM_RUN_DESTROY, self->w[OTHER].run));
	self->w[OTHER].run = 0;
	EXPECT_EQ(0, world_begin(&self->w[VICTIM], 0));
	EXPECT_TRUE(npu_read_faults(self->w[OTHER].arena));
	EXPECT_TRUE(npu_all_bytes(self->w[VICTIM].arena, SIZE, 0));
	EXPECT_EQ(0, world_end(&self->w[VICTIM]));
}

/* Destroyed with a job in flight, which still writes to the arena: it keeps it until then. */
TEST_F(hostile, destroyed_before_its_jobs_have_ended)
{
	struct world *other = &self->w[OTHER];

	ASSERT_EQ(0, world_begin(other, 0));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, world_step(other, CHAIN_COPY, NPUMEM_SIM_FILL, 0x77));
	ASSERT_EQ(0, world_destroy(self->fd[OTHER], DRM_IOCTL_NPUMEM_RUN_DESTROY, other->run));
	other->run = 0;
	EXPECT_EQ(-ETIMEDOUT, world_begin(&self->w[VICTIM], npu_now() + 20 * 1000000));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, world_begin(&self->w[VICTIM], LATE));
	EXPECT_TRUE(npu_all_bytes(self->w[VICTIM].arena, SIZE, 0));
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
}

/* The same, and the file is closed: the jobs that have not begun are cancelled. */
TEST_F(hostile, closes_its_file)
{
	struct world *other = &self->w[OTHER];
	uint32_t i;
	int err;

	ASSERT_EQ(0, world_begin(other, 0));
	memset(other->arena, 0x66, SIZE);
	ASSERT_EQ(0, npu_knob("pause", 1));
	for (i = 0; i < CHAIN_STEPS; i++)
		ASSERT_EQ(0, world_step(other, i, NPUMEM_SIM_FILL, 0x77));
	munmap(other->arena, other->arena_size);
	close(self->fd[OTHER]);
	self->fd[OTHER] = -1;
	/* The engine has the first job, which keeps the arena, or that came too late. */
	err = world_begin(&self->w[VICTIM], npu_now() + 20 * 1000000);
	ASSERT_TRUE(err == -ETIMEDOUT || !err);
	ASSERT_EQ(0, npu_knob("pause", 0));
	if (err)
		ASSERT_EQ(0, world_begin(&self->w[VICTIM], LATE));
	EXPECT_TRUE(npu_all_bytes(self->w[VICTIM].arena, SIZE, 0));
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
}

/* The one who made the arena goes, with his handle of it; those who share it go on. */
TEST_F(hostile, maker_goes)
{
	ASSERT_EQ(0, world_begin(&self->w[VICTIM], 0));
	memset(self->w[VICTIM].arena, 0x66, SIZE);
	world_close(&self->w[VICTIM]);
	close(self->fd[VICTIM]);
	self->fd[VICTIM] = -1;
	ASSERT_EQ(0, world_begin(&self->w[OTHER], LATE));
	EXPECT_TRUE(npu_all_bytes(self->w[OTHER].arena, SIZE, 0));
	EXPECT_EQ(0, world_step(&self->w[OTHER], CHAIN_COPY, NPUMEM_SIM_FILL, 3));
	EXPECT_EQ(0, world_wait(&self->w[OTHER]));
	ASSERT_EQ(0, npu_bo_close(self->fd[OTHER], self->bo[OTHER]));
	EXPECT_EQ(0, world_end(&self->w[OTHER]));
	EXPECT_EQ(0, world_begin(&self->w[OTHER], 0));
	EXPECT_EQ(0, world_end(&self->w[OTHER]));
}

/* A process with a file and a run of its own; what it does with them is said by @stage. */
static pid_t somebody(FIXTURE_DATA(hostile) * self, int buffer, bool begins)
{
	struct shared *s = self->shared;
	struct world w;
	pid_t pid = fork();
	uint32_t bo;
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(self->fd[0]);
	close(self->fd[1]);
	fd = npu_open();
	if (fd < 0 || drmPrimeFDToHandle(fd, buffer, &bo) ||
	    world_open_shared(&w, fd, &self->model, bo))
		_exit(1);
	atomic_store(&s->pid, getpid());
	atomic_store(&s->err, world_begin(&w, LATE));
	if (begins)
		memset(w.arena, 0x77, SIZE);
	atomic_store(&s->stage, 1);
	for (;;)
		pause();
}

static void killed(struct __test_metadata *_metadata, pid_t pid)
{
	int status;

	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(hostile, dies_in_its_turn)
{
	pid_t pid;
	int buffer;

	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd[0], self->bo[0], DRM_CLOEXEC | DRM_RDWR, &buffer));
	pid = somebody(self, buffer, true);
	ASSERT_GE(pid, 0);
	while (!atomic_load(&self->shared->stage))
		usleep(100);
	EXPECT_EQ(0, atomic_load(&self->shared->err));
	EXPECT_EQ(-ETIMEDOUT, world_begin(&self->w[VICTIM], 0));
	killed(_metadata, pid);
	ASSERT_EQ(0, world_begin(&self->w[VICTIM], LATE));
	EXPECT_TRUE(npu_all_bytes(self->w[VICTIM].arena, SIZE, 0));
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
	close(buffer);
}

TEST_F(hostile, dies_in_the_line)
{
	pid_t pid;
	int buffer;

	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd[0], self->bo[0], DRM_CLOEXEC | DRM_RDWR, &buffer));
	ASSERT_EQ(0, world_begin(&self->w[VICTIM], 0));
	pid = somebody(self, buffer, false);
	ASSERT_GE(pid, 0);
	ASSERT_TRUE(is_in_line(&self->shared->pid, pid));
	EXPECT_EQ(0, atomic_load(&self->shared->stage));
	killed(_metadata, pid);
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
	EXPECT_EQ(0, world_begin(&self->w[OTHER], 0));
	EXPECT_EQ(0, world_end(&self->w[OTHER]));
	close(buffer);
}

/* ----------------------------------------------------------------- the line */

/**
 * struct waiter - a thread that waits for the turn of a run of its own
 * @order: counts turns
 * @thread: its handle
 * @w: its run
 * @deadline: of its wait
 * @tid: set when it is about to wait
 * @err: what its wait said
 * @number: of its turn, from 1
 */
struct waiter {
	atomic_int *order;
	pthread_t thread;
	struct world w;
	int64_t deadline;
	atomic_int tid;
	int err;
	int number;
};

static void *wait_thread(void *data)
{
	struct waiter *waiter = data;

	atomic_store(&waiter->tid, (int)syscall(SYS_gettid));
	waiter->err = world_begin(&waiter->w, waiter->deadline);
	if (!waiter->err) {
		waiter->number = atomic_fetch_add(waiter->order, 1) + 1;
		waiter->err = world_end(&waiter->w);
	}
	return NULL;
}

static bool wait_starts(struct waiter *waiter, atomic_int *order)
{
	waiter->order = order;
	waiter->deadline = LATE;
	atomic_store(&waiter->tid, 0);
	return !pthread_create(&waiter->thread, NULL, wait_thread, waiter) &&
	       is_in_line(&waiter->tid, getpid());
}

TEST_F(hostile, first_come_first_served)
{
	struct waiter waiters[WAITERS] = { 0 };
	int i, client;

	ASSERT_EQ(0, world_begin(&self->w[VICTIM], 0));
	for (i = 0; i < WAITERS; i++) {
		client = i % CLIENTS;
		ASSERT_EQ(0, world_open_shared(&waiters[i].w, self->fd[client], &self->model,
					       self->bo[client]));
		ASSERT_TRUE(wait_starts(&waiters[i], &self->shared->order));
	}
	/* There is a line, so nobody who comes now is before them. */
	EXPECT_EQ(-EBUSY, world_begin(&waiters[0].w, 0));
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
	for (i = 0; i < WAITERS; i++) {
		pthread_join(waiters[i].thread, NULL);
		EXPECT_EQ(0, waiters[i].err);
		EXPECT_EQ(i + 1, waiters[i].number);
		world_close(&waiters[i].w);
	}
}

TEST_F(hostile, destroyed_in_the_line)
{
	struct waiter waiters[2] = { 0 };
	int i;

	ASSERT_EQ(0, world_begin(&self->w[VICTIM], 0));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0,
			  world_open_shared(&waiters[i].w, self->fd[i], &self->model, self->bo[i]));
		ASSERT_TRUE(wait_starts(&waiters[i], &self->shared->order));
	}
	ASSERT_EQ(0, world_destroy(self->fd[0], DRM_IOCTL_NPUMEM_RUN_DESTROY, waiters[0].w.run));
	pthread_join(waiters[0].thread, NULL);
	EXPECT_EQ(-ECANCELED, waiters[0].err);
	waiters[0].w.run = 0;
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
	pthread_join(waiters[1].thread, NULL);
	EXPECT_EQ(0, waiters[1].err);
	for (i = 0; i < 2; i++)
		world_close(&waiters[i].w);
}

static void on_signal(int signal)
{
}

/* Be interrupted in the line, once it is there. */
static bool interrupted(struct waiter *waiter, atomic_int *order)
{
	if (!wait_starts(waiter, order))
		return false;
	pthread_kill(waiter->thread, SIGUSR1);
	pthread_join(waiter->thread, NULL);
	return waiter->err == -EINTR;
}

/* Who is interrupted keeps his place for when he comes back, and is in nobody's way meanwhile. */
TEST_F(hostile, signals_cost_no_place)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct waiter first = { 0 }, second = { 0 };

	sigaction(SIGUSR1, &action, NULL);
	ASSERT_EQ(0, world_open_shared(&first.w, self->fd[0], &self->model, self->bo[0]));
	ASSERT_EQ(0, world_open_shared(&second.w, self->fd[1], &self->model, self->bo[1]));

	/* He comes back in time. */
	ASSERT_EQ(0, world_begin(&self->w[VICTIM], 0));
	ASSERT_TRUE(interrupted(&first, &self->shared->order));
	ASSERT_TRUE(wait_starts(&second, &self->shared->order));
	ASSERT_TRUE(wait_starts(&first, &self->shared->order));
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
	pthread_join(first.thread, NULL);
	pthread_join(second.thread, NULL);
	EXPECT_EQ(0, first.err);
	EXPECT_EQ(0, second.err);
	EXPECT_EQ(1, first.number);
	EXPECT_EQ(2, second.number);

	/* He does not. */
	ASSERT_EQ(0, world_begin(&self->w[VICTIM], 0));
	ASSERT_TRUE(interrupted(&first, &self->shared->order));
	ASSERT_TRUE(wait_starts(&second, &self->shared->order));
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
	pthread_join(second.thread, NULL);
	EXPECT_EQ(0, second.err);
	EXPECT_EQ(3, second.number);

	/* And nor does a wait that has run out keep a place. */
	ASSERT_EQ(0, world_begin(&self->w[VICTIM], 0));
	EXPECT_EQ(-ETIMEDOUT, world_begin(&first.w, npu_now() + 1000000));
	ASSERT_TRUE(wait_starts(&second, &self->shared->order));
	ASSERT_TRUE(wait_starts(&first, &self->shared->order));
	ASSERT_EQ(0, world_end(&self->w[VICTIM]));
	pthread_join(second.thread, NULL);
	pthread_join(first.thread, NULL);
	EXPECT_EQ(4, second.number);
	EXPECT_EQ(5, first.number);
	world_close(&first.w);
	world_close(&second.w);
}

TEST_HARNESS_MAIN
