// SPDX-License-Identifier: MIT
/*
 * SUBMIT is bounded work: so much of it is refused, exactly, before any is done;
 * up to there nobody's buffers are locked, no signal begins it anew, and a fatal
 * one ends it, after which the run is lost but whole again when it is reset.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define MAX_JOBS 1024
#define PAGE	 4096
#define PAGES	 1024
/* A few are met by any SUBMIT, before and after it has the locks. */
#define FAULTS	 1000

/* Of what takes long enough for a signal or a fault even so. */
#define PART 16

/* A step that reads one byte again and again, and nothing else. */
static uint32_t model_reads(struct model *m, uint32_t tile, uint32_t count)
{
	uint32_t step = model_step(m, 0);

	while (count--)
		model_access(m, tile, NPUMEM_ACCESS_READ);
	return step;
}

/* ------------------------------------------------ externals bound to nothing */

/* What the jobs do not access is bound to nothing, so what they do is looked at. */
TEST(externals_are_not_searched_job_by_job)
{
	const uint32_t accesses = 20000, externals = 64;
	struct drm_npumem_job jobs[MAX_JOBS];
	struct drm_npumem_submit args;
	struct drm_npumem_info info;
	struct model m = { 0 };
	uint32_t i, x, tile, last = 0;
	struct world w;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	x = model_tensor(&m, NPUMEM_TENSOR_INPUT, 64);
	tile = model_whole(&m, x);
	for (i = 0; i < externals; i++) {
		last = model_tensor(&m, NPUMEM_TENSOR_INPUT, 64);
		m.tensors[last].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	}
	model_reads(&m, tile, accesses);
	model_reads(&m, model_whole(&m, last), 1);
	model_place(&m, x, 0);
	model_schedule(&m);
	ASSERT_EQ(0, world_open(&w, fd, &m));
	ASSERT_EQ(0, npu_info(fd, &info));
	ASSERT_EQ(MAX_JOBS, info.max_jobs);
	for (i = 0; i < MAX_JOBS; i++)
		jobs[i] = world_job(&w, 0, NPUMEM_SIM_NOP, 0);

	EXPECT_EQ(-E2BIG, world_submit(&w, jobs, MAX_JOBS, &args));
	/* The first that is too much: each is 1, and 2 an access, and its cell. */
	EXPECT_EQ(info.max_submit_work / (1 + 2 * accesses + 1), args.failed_job);
	EXPECT_EQ(NPUMEM_RULE_NONE, world_verdict(&args)->rule);
	EXPECT_EQ(0, world_submit(&w, jobs, 1, &args));
	/* The rest as before: who accesses what is bound to nothing is told so. */
	jobs[0] = world_job(&w, 1, NPUMEM_SIM_NOP, 0);
	EXPECT_EQ(-ENXIO, world_submit(&w, jobs, 1, &args));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_BIND, world_verdict(&args)->rule);
	EXPECT_EQ(last, world_verdict(&args)->tensor);
	EXPECT_EQ(0, world_wait(&w));
	world_close(&w);
	model_free(&m);
	close(fd);
}

/* ------------------------------------------------------------------ a loop */

/*
 * A block of one large step that leads to itself: as much work as a SUBMIT has
 * jobs. It reads an external tensor, too, which is bound to a BO that may be others'.
 */
FIXTURE(loop)
{
	int fd;
	struct drm_npumem_info info;
	struct model model;
	struct world w;
	struct drm_npumem_job jobs[MAX_JOBS];
	uint32_t bo;
	uint32_t most; /* jobs that are just not too much */
};

enum { ACCESSES = 20000 };

/* What the first jobs are together, by the words of npumem_drm.h: a step, an edge, a step ... */
static uint64_t work_of(uint32_t jobs)
{
	uint64_t step = 1 + 2 * (ACCESSES + 1) + 2, edge = 1 + 1 + 2;

	return (jobs + 1) / 2 * step + jobs / 2 * edge;
}

FIXTURE_SETUP(loop)
{
	struct model *m = &self->model;
	uint32_t i, x, e, block, again, out, instance;

	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	x = model_tensor(m, NPUMEM_TENSOR_INPUT, 1);
	e = model_tensor(m, NPUMEM_TENSOR_INPUT, PAGE);
	m->tensors[e].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	block = model_block(m);
	model_reads(m, model_whole(m, x), ACCESSES);
	model_access(m, model_whole(m, e), NPUMEM_ACCESS_READ);
	m->blocks[block].step_count = 1;
	again = model_edge(m, block, block);
	out = model_edge(m, block, NPUMEM_NONE);
	instance = model_instance(m, block);
	model_enter(m, instance, x, 0);
	model_plan_edge(m, instance, instance, again);
	model_plan_edge(m, instance, NPUMEM_NONE, out);
	ASSERT_EQ(0, world_open(&self->w, self->fd, m));
	ASSERT_EQ(0, npu_bo_create(self->fd, PAGES * PAGE, NPUMEM_BO_SYSTEM, &self->bo));
	ASSERT_EQ(0, world_bind(&self->w, e, self->bo, 0));
	ASSERT_EQ(0, npu_info(self->fd, &self->info));
	for (i = 0; i < MAX_JOBS; i++)
		self->jobs[i] = i % 2 ? world_edge(0) : world_job(&self->w, 0, NPUMEM_SIM_NOP, 0);
	while (self->most < MAX_JOBS && (!self->info.max_submit_work ||
					 work_of(self->most + 1) <= self->info.max_submit_work))
		self->most++;
}

FIXTURE_TEARDOWN(loop)
{
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
}

static int submit(FIXTURE_DATA(loop) * self, uint32_t count)
{
	struct drm_npumem_submit args;

	return world_submit(&self->w, self->jobs, count, &args);
}

TEST_F(loop, as_much_work_as_the_limit_says_and_no_more)
{
	struct drm_npumem_submit args;

	ASSERT_NE(0, self->info.max_submit_work);
	ASSERT_GT(MAX_JOBS, self->most);
	EXPECT_EQ(-E2BIG, world_submit(&self->w, self->jobs, self->most + 1, &args));
	EXPECT_EQ(self->most, args.failed_job);
	EXPECT_EQ(NPUMEM_RULE_NONE, world_verdict(&args)->rule);
	EXPECT_EQ(0, submit(self, self->most));
	EXPECT_EQ(0, world_wait(&self->w));
}

/* Commands are work by their size, looked at before any of them is copied. */
TEST_F(loop, commands_are_work)
{
	uint32_t i, units = self->info.max_commands / 64, left, with;
	void *bytes = calloc(1, self->info.max_commands);
	struct drm_npumem_submit args;

	left = self->info.max_submit_work - work_of(self->most);
	with = left / units;
	ASSERT_LT(0, with);
	ASSERT_LT((with + 1) * self->info.max_commands, self->info.max_submit_commands);
	/* As many as there is work left for: they are the engine's to refuse. */
	for (i = 0; i < with; i++)
		self->jobs[2 * i].commands = NPU_BYTES(bytes, self->info.max_commands);
	EXPECT_EQ(-EINVAL, world_submit(&self->w, self->jobs, self->most, &args));
	EXPECT_EQ(0, args.failed_job);
	/* To the byte: what is left of a unit is one, too. */
	self->jobs[2 * with].commands = NPU_BYTES(bytes, 64 * (left % units));
	EXPECT_EQ(-EINVAL, world_submit(&self->w, self->jobs, self->most, &args));
	EXPECT_EQ(0, args.failed_job);
	self->jobs[2 * with].commands.size++;
	EXPECT_EQ(-E2BIG, world_submit(&self->w, self->jobs, self->most, &args));
	EXPECT_EQ(self->most - 1, args.failed_job);
	free(bytes);
}

static int pipe_fd[2];
static atomic_int submits, faults_inside;
static atomic_bool over;

/* A SUBMIT that takes a while: as much as there may be, or a part where that is minutes. */
static uint32_t many(FIXTURE_DATA(loop) * self)
{
	return npu_count(self->most, self->most / PART);
}

/* Page faults in the BO that begin and end while the states are asked. */
static void *fault_in(void *bo)
{
	volatile uint8_t *byte = bo;
	int before, i;

	for (i = 0; !over; i = (i + 1) % PAGES) {
		before = submits;
		byte[i * PAGE]++;
		/* Odd: a SUBMIT is under way, and the same one as before. */
		if (before % 2 && before == submits)
			faults_inside++;
		madvise((void *)(byte + i * PAGE), PAGE, MADV_DONTNEED);
	}
	return NULL;
}

TEST_F(loop, buffers_of_others_are_not_locked_meanwhile)
{
	pthread_t other;
	uint8_t *bo = npu_bo_map(self->fd, self->bo, PAGES * PAGE);
	int i;

	ASSERT_NE(NULL, bo);
	ASSERT_EQ(0, pthread_create(&other, NULL, fault_in, bo));
	/* The other thread may be unlucky, but not each time. */
	for (i = 0; i < 8 && faults_inside < FAULTS; i++) {
		submits++;
		EXPECT_EQ(0, submit(self, many(self)));
		submits++;
		EXPECT_EQ(0, world_wait(&self->w));
		EXPECT_EQ(0, world_reset(&self->w));
	}
	over = true;
	pthread_join(other, NULL);
	TH_LOG("%d page faults in a bound buffer during %d SUBMITs", faults_inside, i);
	EXPECT_LE(FAULTS, faults_inside);
	munmap(bo, PAGES * PAGE);
}

static volatile sig_atomic_t ticks;

static void on_tick(int signal)
{
	ticks++;
}

/* Without SA_RESTART, so that we would be told. */
TEST_F(loop, a_periodic_signal_does_not_interrupt_it)
{
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } }, off = { 0 };
	struct sigaction action = { .sa_handler = on_tick };
	int i, err;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	for (i = 0; i < 64 && ticks < 16; i++) {
		setitimer(ITIMER_REAL, &timer, NULL);
		err = submit(self, many(self));
		setitimer(ITIMER_REAL, &off, NULL);
		ASSERT_EQ(0, err) TH_LOG("after %d signals", (int)ticks);
		ASSERT_EQ(0, world_wait(&self->w));
		ASSERT_EQ(0, world_reset(&self->w));
	}
	EXPECT_LE(16, ticks);
}

/*
 * The file is ours, too, so we see what the dead have left of its run. How much work is
 * done before SIGKILL is seen is counted in tests/unit/verify/test_verify_ticks.c; the time that
 * it takes here is told, but depends on the machine.
 */
TEST_F(loop, killed_in_the_midst)
{
	struct drm_npumem_run_query query;
	int64_t killed, worst = 0;
	int i, status, lost = 0;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(pipe_fd));
	for (i = 0; i < 16; i++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			if (write(pipe_fd[1], "", 1) == 1)
				submit(self, self->most);
			pause();
			_exit(0);
		}
		ASSERT_EQ(1, read(pipe_fd[0], &byte, 1));
		/* Some time later each time: it matters not whether that is too late. */
		usleep(10000 * i);
		killed = npu_now();
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		killed = npu_now() - killed;
		worst = killed > worst ? killed : worst;
		EXPECT_TRUE(WIFSIGNALED(status));

		ASSERT_EQ(0, world_wait(&self->w));
		ASSERT_EQ(0, world_query(&self->w, &query));
		EXPECT_TRUE(!query.error || query.error == EINTR);
		if (query.error) {
			lost++;
			EXPECT_EQ(-EIO, submit(self, 1));
		}
		ASSERT_EQ(0, world_reset(&self->w));
		/* Whatever was half done is as new. */
		ASSERT_EQ(0, submit(self, 4));
		ASSERT_EQ(0, world_wait(&self->w));
		ASSERT_EQ(0, world_reset(&self->w));
	}
	TH_LOG("%d of %d runs were lost; gone at most %lld us after SIGKILL", lost, i,
	       (long long)worst / 1000);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

/* A run of so many cells that a reset takes a while. */
enum { CELLS = 300000, FEW_CELLS = 50000, KILLS = 64 };

static struct model model_cells(void)
{
	struct model m = { 0 };
	uint32_t x, c, whole, cells = npu_count(CELLS, FEW_CELLS);

	x = model_tensor(&m, NPUMEM_TENSOR_INPUT, cells);
	whole = model_whole(&m, x);
	model_reads(&m, whole, 1);
	for (c = 0; c < cells; c++) {
		if (c % 1000 == 0)
			model_step(&m, 0);
		model_access(&m, model_tile(&m, x, c, 1), NPUMEM_ACCESS_READ);
	}
	model_place(&m, x, 0);
	model_schedule(&m);
	return m;
}

TEST(killed_in_a_reset)
{
	struct drm_npumem_run_query query = { 0 };
	struct model m = model_cells();
	int i, fd = npu_open(), status;
	struct world w;
	char byte;
	pid_t pid;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&w, fd, &m));
	ASSERT_EQ(0, pipe(pipe_fd));
	for (i = 0; i < KILLS && query.error != EINTR; i++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			if (world_reset(&w) || write(pipe_fd[1], "", 1) != 1)
				_exit(1);
			while (!world_reset(&w))
				;
			_exit(1);
		}
		ASSERT_EQ(1, read(pipe_fd[0], &byte, 1));
		usleep(1000 * i);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		ASSERT_EQ(0, world_query(&w, &query));
		EXPECT_TRUE(!query.error || query.error == EINTR);
	}
	EXPECT_EQ(EINTR, query.error);
	TH_LOG("lost at kill %d", i);
	/* It means nothing any more, until it is reset to the end. */
	EXPECT_EQ(-EIO, world_step(&w, 0, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_reset(&w));
	EXPECT_EQ(0, world_step(&w, 0, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(0, world_wait(&w));
	world_close(&w);
	model_free(&m);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	close(fd);
}

static void *reset_again_and_again(void *arg)
{
	struct world *w = arg;

	while (!over && !world_reset(w))
		;
	return NULL;
}

/*
 * A call that a signal ends is made again with the same struct, by the kernel or by libdrm: the
 * room that it tells has to be what it was, or the next one writes behind it.
 */
TEST(signals_during_a_query)
{
	struct itimerval timer = { { 0, 500 }, { 0, 500 } }, off = { 0 };
	struct sigaction action = { .sa_handler = on_tick };
	uint8_t bytes[2 * sizeof(struct npumem_verdict)];
	struct drm_npumem_run_query query;
	struct model m = model_cells();
	int err, fd = npu_open();
	unsigned int signals = 0;
	pthread_t other;
	struct world w;
	sigset_t alarm;
	uint32_t i;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&w, fd, &m));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	ASSERT_EQ(0, pthread_sigmask(SIG_BLOCK, &alarm, NULL));
	over = false;
	ASSERT_EQ(0, pthread_create(&other, NULL, reset_again_and_again, &w));
	ASSERT_EQ(0, pthread_sigmask(SIG_UNBLOCK, &alarm, NULL));
	setitimer(ITIMER_REAL, &timer, NULL);
	for (i = 0; i < 100000 && signals < 16; i++) {
		memset(bytes, 0xee, sizeof(bytes));
		query = (struct drm_npumem_run_query){ .run = w.run };
		query.verdict = NPU_BYTES(bytes, 8);
		do {
			err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query);
			signals += err == -EINTR;
		} while (err == -EINTR);
		if (err || !npu_all_bytes(bytes + 8, sizeof(bytes) - 8, 0xee))
			break;
	}
	setitimer(ITIMER_REAL, &off, NULL);
	over = true;
	pthread_join(other, NULL);
	EXPECT_EQ(0, err);
	EXPECT_TRUE(npu_all_bytes(bytes, 8, 0));
	EXPECT_TRUE(npu_all_bytes(bytes + 8, sizeof(bytes) - 8, 0xee)) TH_LOG("query %u", i);
	EXPECT_LE(1, signals);
	world_close(&w);
	model_free(&m);
	close(fd);
}

TEST_HARNESS_MAIN
