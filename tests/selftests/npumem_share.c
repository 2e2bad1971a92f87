// SPDX-License-Identifier: MIT
/*
 * Shares: an attacker takes all that he can get, a victim still gets as much. Each is an
 * unprivileged user of his own. The numbers are printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "modules/npumem_test_exporter.h"
#include "npumem_world.h"

#define PARAMETERS "/sys/module/npumem/parameters/"
#define CGROUP	   "/sys/fs/cgroup/"
#define MIB	   (1ull << 20)

enum { ATTACKER = 60001, VICTIM = 60002, FILES = 4 };

/**
 * struct taken - what somebody has got, in memory that he shares with the test
 * @count: objects
 * @bytes: that they have
 * @err: that he got in the end
 * @ready: set when he has all
 */
struct taken {
	volatile uint64_t count;
	volatile uint64_t bytes;
	volatile int err;
	volatile int ready;
};

FIXTURE(share)
{
	struct taken *attacker, *victim;
	struct drm_npumem_bank bank;
	pid_t pid;
};

FIXTURE_SETUP(share)
{
	int fd = npu_open();

	npu_open_nodes();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, npu_bank(fd, &self->bank));
	close(fd);
	self->attacker =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	self->victim = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->attacker);
	ASSERT_NE(MAP_FAILED, self->victim);
	self->pid = 0;
	/* Small, or it takes an emulated machine minutes. */
	ASSERT_EQ(0, npu_write(PARAMETERS "memory_mib", "1"));
}

FIXTURE_TEARDOWN(share)
{
	if (self->pid > 0) {
		kill(self->pid, SIGKILL);
		waitpid(self->pid, NULL, 0);
	}
	EXPECT_EQ(0, npu_write(PARAMETERS "memory_mib", "0"));
	EXPECT_EQ(0, npu_write(PARAMETERS "carveout_share", "50"));
	EXPECT_EQ(0, npu_write(PARAMETERS "waits", "65536"));
	EXPECT_EQ(0, npu_knob("pause", 0));
	munmap(self->attacker, 4096);
	munmap(self->victim, 4096);
}

typedef void (*take_fn)(struct taken *taken);

/* The attacker keeps what he has until he is killed. */
static pid_t attack(struct taken *taken, take_fn take)
{
	pid_t pid = fork();

	if (!pid) {
		if (npu_become(ATTACKER))
			_exit(1);
		take(taken);
		taken->ready = 1;
		for (;;)
			pause();
	}
	while (pid > 0 && !taken->ready && waitpid(pid, NULL, WNOHANG) == 0)
		usleep(1000);
	return pid;
}

/* Whoever this is: he takes all, and gives it back. 0 if he went by himself. */
static int visit(unsigned int uid, struct taken *taken, take_fn take)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		if (npu_become(uid))
			_exit(1);
		take(taken);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

/* ------------------------------------------------------------------ carveout */

/* By way of several files, piece by piece. */
static void take_carveout(struct taken *taken)
{
	const uint64_t size = 256 << 10;
	int i, fd, err;
	uint32_t bo;

	for (i = 0; i < FILES; i++) {
		fd = npu_open();
		for (;;) {
			err = npu_bo_create(fd, size, NPUMEM_BO_CARVEOUT, &bo);
			if (err)
				break;
			taken->count++;
			taken->bytes += size;
		}
		taken->err = err;
	}
}

TEST_F(share, carveout)
{
	self->pid = attack(self->attacker, take_carveout);
	ASSERT_EQ(0, visit(VICTIM, self->victim, take_carveout));
	TH_LOG("carveout of %llu MiB: attacker %llu, victim %llu", self->bank.size / MIB,
	       (unsigned long long)self->attacker->bytes / MIB,
	       (unsigned long long)self->victim->bytes / MIB);
	EXPECT_EQ(-ENOSPC, self->attacker->err);
	EXPECT_EQ(self->bank.size / 2, self->attacker->bytes);
	EXPECT_EQ(-ENOSPC, self->victim->err);
	EXPECT_EQ(self->bank.size / 2, self->victim->bytes);
}

/* What is set is had, all of it by all files together. */
TEST_F(share, carveout_as_root_says)
{
	ASSERT_EQ(0, npu_write(PARAMETERS "carveout_share", "25"));
	self->pid = attack(self->attacker, take_carveout);
	EXPECT_EQ(-ENOSPC, self->attacker->err);
	EXPECT_EQ(self->bank.size / 4, self->attacker->bytes);
	ASSERT_EQ(0, npu_write(PARAMETERS "carveout_share", "100"));
	ASSERT_EQ(0, visit(VICTIM, self->victim, take_carveout));
	EXPECT_EQ(self->bank.size * 3 / 4, self->victim->bytes);
}

TEST_F(share, root_has_none)
{
	ASSERT_EQ(0, visit(0, self->victim, take_carveout));
	EXPECT_EQ(self->bank.size, self->victim->bytes);
}

/* Runs' arenas are no other carveout. */
static void take_arenas(struct taken *taken)
{
	struct model m = { 0 };
	struct blob g, p;
	uint32_t graph, plan, t;
	struct drm_npumem_run_create run;
	int fd = npu_open();

	t = model_tensor(&m, NPUMEM_TENSOR_OUTPUT, MIB);
	model_step_rw(&m, NPUMEM_NONE, model_whole(&m, t));
	model_place(&m, t, 0);
	model_schedule(&m);
	g = model_graph(&m);
	p = model_plan(&m);
	if (world_graph(fd, &g, &graph) || world_plan(fd, graph, &p, &plan))
		_exit(1);
	do {
		run = (struct drm_npumem_run_create){ .plan = plan };
		taken->err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run);
		taken->count += !taken->err;
	} while (!taken->err);
}

TEST_F(share, arenas)
{
	self->pid = attack(self->attacker, take_arenas);
	ASSERT_EQ(0, visit(VICTIM, self->victim, take_arenas));
	TH_LOG("arenas of 1 MiB: attacker %llu, victim %llu",
	       (unsigned long long)self->attacker->count, (unsigned long long)self->victim->count);
	EXPECT_EQ(-ENOSPC, self->attacker->err);
	EXPECT_EQ(self->bank.size / 2 / MIB, self->attacker->count);
	EXPECT_EQ(self->attacker->count, self->victim->count);
}

/* ------------------------------------------------------------ kernel memory */

/* A graph whose cells take more memory than its blob. */
static struct model big_model(void)
{
	enum { CELLS = 256, READS = 256 };
	struct model m = { 0 };
	uint32_t x = model_tensor(&m, NPUMEM_TENSOR_INPUT, CELLS), all = model_whole(&m, x), i;
	uint32_t y = model_tensor(&m, NPUMEM_TENSOR_OUTPUT, 8);

	model_step(&m, 0);
	for (i = 0; i < CELLS; i++)
		model_access(&m, model_tile(&m, x, i, 1), NPUMEM_ACCESS_READ);
	for (i = 0; i < READS; i++)
		model_access(&m, all, NPUMEM_ACCESS_READ);
	model_access(&m, model_whole(&m, y), NPUMEM_ACCESS_WRITE);
	model_place(&m, x, 0);
	model_place(&m, y, CELLS);
	model_schedule(&m);
	return m;
}

/* The only user's line in "shares" of debugfs that has that uid: what is behind "WHAT=". */
static uint64_t used_of(unsigned int uid, const char *what)
{
	char line[512], want[32], name[32], *at;
	uint64_t used = 0;
	glob_t found;
	FILE *f;

	snprintf(want, sizeof(want), "uid=%u ", uid);
	snprintf(name, sizeof(name), " %s=", what);
	if (glob("/sys/kernel/debug/{accel,dri}/*/shares", GLOB_BRACE, NULL, &found))
		return 0;
	f = fopen(found.gl_pathv[0], "re");
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, name);
		if (!strncmp(line, want, strlen(want)) && at)
			used = strtoull(at + strlen(name), NULL, 10);
	}
	if (f)
		fclose(f);
	globfree(&found);
	return used;
}

static void take_graphs(struct taken *taken)
{
	struct model m = big_model();
	struct blob g = model_graph(&m);
	uint32_t graph;
	int i, fd;

	for (i = 0; i < FILES; i++) {
		fd = npu_open();
		for (;;) {
			taken->err = world_graph(fd, &g, &graph);
			if (taken->err)
				break;
			taken->count++;
			taken->bytes += g.size;
		}
	}
}

static void take_plans(struct taken *taken)
{
	struct model m = big_model();
	struct blob g = model_graph(&m), p = model_plan(&m);
	uint32_t graph, plan;
	int fd = npu_open();

	taken->err = world_graph(fd, &g, &graph);
	while (!taken->err) {
		taken->err = world_plan(fd, graph, &p, &plan);
		taken->count += !taken->err;
	}
}

static void compare_memory(struct __test_metadata *_metadata, FIXTURE_DATA(share) * self,
			   take_fn take, const char *what)
{
	uint64_t used;

	self->pid = attack(self->attacker, take);
	used = used_of(ATTACKER, "memory");
	ASSERT_EQ(0, visit(VICTIM, self->victim, take));
	TH_LOG("%s: attacker %llu, which keep %llu KiB of 1024; victim %llu", what,
	       (unsigned long long)self->attacker->count, (unsigned long long)used >> 10,
	       (unsigned long long)self->victim->count);
	EXPECT_EQ(-EDQUOT, self->attacker->err);
	EXPECT_GT(self->attacker->count, 4);
	EXPECT_LE(used, MIB);
	/* And not much less: what another one would have taken. */
	EXPECT_GT(used + used / self->attacker->count * 2, MIB);
	EXPECT_EQ(-EDQUOT, self->victim->err);
	EXPECT_EQ(self->attacker->count, self->victim->count);
	/* It comes back with his death. */
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
	self->pid = 0;
	EXPECT_EQ(0, used_of(ATTACKER, "memory"));
}

TEST_F(share, graphs)
{
	compare_memory(_metadata, self, take_graphs, "graphs");
}

TEST_F(share, plans)
{
	compare_memory(_metadata, self, take_plans, "plans");
}

/* Charged are bytes that are really kept, which are more than those of the blob. */
TEST_F(share, cells_count)
{
	self->pid = attack(self->attacker, take_graphs);
	EXPECT_GT(used_of(ATTACKER, "memory"), self->attacker->bytes);
}

/* A share of the machine's memory, if root says nothing. */
TEST_F(share, memory_by_default)
{
	char line[512] = "", *at;
	uint64_t total = 0, limit = 0;
	glob_t found;
	FILE *f;

	ASSERT_EQ(0, npu_write(PARAMETERS "memory_mib", "0"));
	self->pid = attack(self->attacker, take_arenas);
	f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemTotal: %llu", (unsigned long long *)&total) == 1)
			break;
	if (f)
		fclose(f);
	ASSERT_EQ(0, glob("/sys/kernel/debug/{accel,dri}/*/shares", GLOB_BRACE, NULL, &found));
	f = fopen(found.gl_pathv[0], "re");
	globfree(&found);
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, "memory=");
		if (!strncmp(line, "uid=60001 ", 10) && at && strchr(at, '/'))
			limit = strtoull(strchr(at, '/') + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	EXPECT_EQ(total / 8 << 10, limit & ~1023ull);
}

/* A run is charged before there is memory for it: so memory is what is missed first. */
TEST_F(share, runs_are_charged_first)
{
	struct drm_npumem_run_create run;
	struct model m = model_chain();
	uint32_t graph, plan, bo, other;
	struct blob g, p;
	int fd, err;

	ASSERT_EQ(0, seteuid(ATTACKER));
	fd = npu_open();
	ASSERT_EQ(0, seteuid(0));
	ASSERT_GE(fd, 0);
	g = model_graph(&m);
	p = model_plan(&m);
	ASSERT_EQ(0, world_graph(fd, &g, &graph));
	ASSERT_EQ(0, world_plan(fd, graph, &p, &plan));
	while (!(err = npu_bo_create(fd, 256 << 10, NPUMEM_BO_CARVEOUT, &bo)))
		;
	EXPECT_EQ(-ENOSPC, err);
	run = (struct drm_npumem_run_create){ .plan = plan };
	EXPECT_EQ(-ENOSPC, npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));
	while (!(err = world_plan(fd, graph, &p, &other)))
		;
	EXPECT_EQ(-EDQUOT, err);
	run = (struct drm_npumem_run_create){ .plan = plan };
	EXPECT_EQ(-EDQUOT, npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));
	close(fd);
	EXPECT_EQ(0, used_of(ATTACKER, "memory"));
	blob_free(&g);
	blob_free(&p);
	model_free(&m);
}

/* ------------------------------------------------------------------ bindings */

/* One run with more external tensors than it may have BOs bound. */
TEST_F(share, bound_buffers)
{
	enum { BOUND = 1024, TENSORS = BOUND + 1 };
	struct model m = { 0 };
	uint32_t i, y, bo[TENSORS];
	struct world w;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	for (i = 0; i < TENSORS; i++) {
		model_tensor(&m, NPUMEM_TENSOR_INPUT, 8);
		m.tensors[i].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
	}
	y = model_tensor(&m, NPUMEM_TENSOR_OUTPUT, 8);
	model_step_rw(&m, model_whole(&m, 0), model_whole(&m, y));
	for (i = 1; i < TENSORS; i++)
		model_access(&m, model_whole(&m, i), NPUMEM_ACCESS_READ);
	model_place(&m, y, 0);
	model_schedule(&m);
	ASSERT_EQ(0, world_open(&w, fd, &m));
	for (i = 0; i < TENSORS; i++)
		ASSERT_EQ(0, npu_bo_create(fd, 4096, NPUMEM_BO_SYSTEM, &bo[i]));
	for (i = 0; i < BOUND; i++)
		ASSERT_EQ(0, world_bind(&w, i, bo[i], 0));
	EXPECT_EQ(-EMFILE, world_bind(&w, i, bo[i], 0));
	/* In a BO that is bound already there is room. */
	EXPECT_EQ(0, world_bind(&w, i, bo[0], 8));
	EXPECT_EQ(0, world_step(&w, 0, NPUMEM_SIM_MIX, 1));
	EXPECT_EQ(0, world_wait(&w));
	world_close(&w);
	model_free(&m);
	close(fd);
}

/* --------------------------------------------------------------------- waits */

/* A run that goes round and round in an empty block; SUBMITs of edges alone have no other end. */
static struct model endless_model(void)
{
	struct model m = { 0 };
	uint32_t y = model_tensor(&m, NPUMEM_TENSOR_OUTPUT, 8), ring, out, again, on, end;

	ring = model_block(&m);
	out = model_block(&m);
	model_step_rw(&m, NPUMEM_NONE, model_whole(&m, y));
	m.blocks[out].step_count = 1;
	again = model_edge(&m, ring, ring);
	on = model_edge(&m, ring, out);
	end = model_edge(&m, out, NPUMEM_NONE);
	ring = model_instance(&m, ring);
	out = model_instance(&m, out);
	model_place_in(&m, out, y, 0);
	model_plan_edge(&m, ring, ring, again);
	model_plan_edge(&m, ring, out, on);
	model_plan_edge(&m, out, NPUMEM_NONE, end);
	return m;
}

enum { WAITS = 256, MAX_WAITS = 2048 };

/* SUBMITs, each of which waits for a job that does not end, as often as it may; at most so many. */
static void submit_waits(struct taken *taken, unsigned int most)
{
	struct model chain = model_chain(), endless = endless_model();
	struct drm_npumem_sync in[WAITS], out;
	struct drm_npumem_submit args;
	struct drm_npumem_job job;
	struct world w, first;
	int fd = npu_open();
	unsigned int i;

	if (world_open(&first, fd, &chain) || world_open(&w, fd, &endless))
		_exit(1);
	out = (struct drm_npumem_sync){ .handle = npu_syncobj(fd) };
	job = world_job(&first, 0, NPUMEM_SIM_NOP, 0);
	args = (struct drm_npumem_submit){
		.run = first.run,
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&out, 1),
	};
	if (npu_ioctl(fd, DRM_IOCTL_NPUMEM_SUBMIT, &args))
		_exit(2);
	for (i = 0; i < WAITS; i++)
		in[i] = out;
	job = world_edge(0);
	args = (struct drm_npumem_submit){
		.run = w.run,
		.jobs = NPU_ARRAY(&job, 1),
		.in_syncs = NPU_ARRAY(in, WAITS),
	};
	do {
		taken->err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
		taken->count += !taken->err;
	} while (!taken->err && taken->count < most);
	/* What waits for less has room still. */
	args.in_syncs.count = 0;
	taken->bytes = npu_ioctl(fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
}

static void take_waits(struct taken *taken)
{
	submit_waits(taken, MAX_WAITS);
}

static void take_some_waits(struct taken *taken)
{
	submit_waits(taken, 2);
}

/* Fences to wait for cost memory, and time under locks of all. */
TEST_F(share, waits)
{
	char text[16] = "";
	uint64_t used;
	FILE *f;

	f = fopen(PARAMETERS "waits", "re");
	ASSERT_NE(NULL, f);
	EXPECT_EQ(1, fscanf(f, "%15s", text));
	fclose(f);
	EXPECT_STREQ("65536", text);
	/* Fewer, or it takes an emulated machine minutes. */
	ASSERT_EQ(0, npu_write(PARAMETERS "waits", "2048"));
	ASSERT_EQ(0, npu_knob("pause", 1));
	self->pid = attack(self->attacker, take_waits);
	used = used_of(ATTACKER, "waits");
	TH_LOG("%llu SUBMITs that wait for %u fences wait for %llu",
	       (unsigned long long)self->attacker->count, WAITS, (unsigned long long)used);
	EXPECT_EQ(-EBUSY, self->attacker->err);
	EXPECT_EQ(0, self->attacker->bytes);
	EXPECT_LE(self->attacker->count * WAITS, used);
	EXPECT_LE(used, MAX_WAITS);
	EXPECT_GT(used, MAX_WAITS - 2 * WAITS);
	/* Another one has as many. */
	EXPECT_EQ(0, visit(VICTIM, self->victim, take_some_waits));
	EXPECT_EQ(0, self->victim->err);
	EXPECT_EQ(2, self->victim->count);
	/* They are given back, whether the fences have signalled or not. */
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
	self->pid = 0;
	EXPECT_EQ(0, used_of(ATTACKER, "waits"));
}

/* -------------------------------------------------------------------- cgroup */

static bool has_dmem(void)
{
	char text[256] = "";
	int fd = open(CGROUP "cgroup.controllers", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 && strstr(text, "dmem");
}

/* The name of bank 0 for the controller. */
static int dmem_region(char *name, size_t size)
{
	char line[256];
	FILE *f = fopen(CGROUP "dmem.capacity", "re");
	int err = -ENOENT;

	while (f && err && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/bank0 "))
			continue;
		snprintf(name, size, "%.*s", (int)strcspn(line, " "), line);
		err = 0;
	}
	if (f)
		fclose(f);
	return err;
}

/* In a cgroup that may have 1 MiB, or in one of no such limit if there is no controller. */
TEST_F(share, cgroup)
{
	char region[200], text[256];
	uint64_t limit = self->bank.size;

	ASSERT_TRUE(!mkdir(CGROUP "npumem", 0755) || errno == EEXIST);
	if (has_dmem()) {
		ASSERT_EQ(0, npu_write(CGROUP "cgroup.subtree_control", "+dmem"));
		ASSERT_EQ(0, dmem_region(region, sizeof(region)));
		limit = MIB;
		snprintf(text, sizeof(text), "%s %llu", region, (unsigned long long)limit);
		ASSERT_EQ(0, npu_write(CGROUP "npumem/dmem.max", text));
	}
	snprintf(text, sizeof(text), "%d", getpid());
	ASSERT_EQ(0, npu_write(CGROUP "npumem/cgroup.procs", text));
	EXPECT_EQ(0, visit(0, self->victim, take_carveout));
	ASSERT_EQ(0, npu_write(CGROUP "cgroup.procs", text));
	TH_LOG("cgroup of 1 MiB, controller %s: %llu KiB", has_dmem() ? "there" : "not there",
	       (unsigned long long)self->victim->bytes >> 10);
	EXPECT_EQ(-ENOSPC, self->victim->err);
	EXPECT_EQ(limit, self->victim->bytes);
	EXPECT_EQ(0, rmdir(CGROUP "npumem"));
}

/* -------------------------------------------------------------------- faults */

/* Submits what is refused: that many faults. */
static void make_faults(uint32_t count)
{
	struct model m = model_chain();
	struct world w;
	int fd = npu_open();

	if (fd < 0 || world_open(&w, fd, &m))
		_exit(1);
	while (count--)
		if (world_step(&w, CHAIN_LAST, NPUMEM_SIM_NOP, 0) != -EPERM)
			_exit(1);
}

static void make_one_fault(struct taken *taken)
{
	taken->count = getpid();
	make_faults(1);
}

static void make_many_faults(struct taken *taken)
{
	taken->count = getpid();
	make_faults(500);
}

/* Lines of "faults" in debugfs that are of a process. */
static unsigned int faults_of(uint64_t pid)
{
	char line[512], want[32];
	unsigned int n = 0;
	glob_t found;
	FILE *f;

	snprintf(want, sizeof(want), " pid=%llu ", (unsigned long long)pid);
	if (glob("/sys/kernel/debug/{accel,dri}/*/faults", GLOB_BRACE, NULL, &found))
		return 0;
	f = fopen(found.gl_pathv[0], "re");
	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, want);
	if (f)
		fclose(f);
	globfree(&found);
	return n;
}

/* The faults of one are not lost in the many of another. */
TEST_F(share, faults)
{
	ASSERT_EQ(0, visit(VICTIM, self->victim, make_one_fault));
	ASSERT_EQ(0, visit(ATTACKER, self->attacker, make_many_faults));
	TH_LOG("faults kept: attacker %u of 500, victim %u of 1", faults_of(self->attacker->count),
	       faults_of(self->victim->count));
	EXPECT_EQ(1, faults_of(self->victim->count));
	EXPECT_GT(faults_of(self->attacker->count), 1);
}

/* ------------------------------------------------------------- a user's processes */

/* Blobs in memory whose pages never come. */
static void *stuck_blob;

static void take_stuck_graph(struct taken *taken)
{
	struct drm_npumem_graph_create args = { .blob = NPU_BYTES(stuck_blob, 4096) };

	npu_ioctl(npu_open(), DRM_IOCTL_NPUMEM_GRAPH_CREATE, &args);
}

static void take_stuck_plan(struct taken *taken)
{
	struct drm_npumem_plan_load args = { .blob = NPU_BYTES(stuck_blob, 4096) };
	struct model m = model_chain();
	struct blob blob = model_graph(&m);
	int fd = npu_open();

	if (!world_graph(fd, &blob, &args.graph))
		npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args);
}

static void take_world(struct taken *taken)
{
	struct model m = model_chain();
	struct world w;

	taken->err = world_open(&w, npu_open(), &m);
}

/* A process that waits for its own memory keeps no other one of the user from verifying. */
static void beside_a_stuck_one(struct __test_metadata *_metadata, FIXTURE_DATA(share) * self,
			       take_fn stuck)
{
	struct exporter_counts counts = { 0 };
	int exporter;

	ASSERT_EQ(0, npu_module_load("npumem_test_exporter"));
	exporter = open("/dev/npumem_test_exporter", O_RDWR | O_CLOEXEC);
	ASSERT_GE(exporter, 0);
	stuck_blob = mmap(NULL, 4096, PROT_READ, MAP_SHARED, exporter, 0);
	ASSERT_NE(MAP_FAILED, stuck_blob);
	self->pid = fork();
	if (!self->pid) {
		if (npu_become(ATTACKER))
			_exit(1);
		stuck(self->attacker);
		_exit(2);
	}
	while (!counts.faults) {
		ASSERT_EQ(0, ioctl(exporter, EXPORTER_COUNTS, &counts));
		usleep(1000);
	}
	self->victim->err = -1;
	ASSERT_EQ(0, visit(ATTACKER, self->victim, take_world));
	EXPECT_EQ(0, self->victim->err);
	/* It is stuck still. */
	EXPECT_EQ(0, waitpid(self->pid, NULL, WNOHANG));
	EXPECT_EQ(0, kill(self->pid, SIGKILL));
	EXPECT_EQ(self->pid, waitpid(self->pid, NULL, 0));
	self->pid = 0;
	munmap(stuck_blob, 4096);
	close(exporter);
	EXPECT_EQ(0, npu_module_unload("npumem_test_exporter"));
}

/* Seconds until a hang is one. */
TEST_F_TIMEOUT(share, beside_a_graph_that_does_not_come, 300)
{
	beside_a_stuck_one(_metadata, self, take_stuck_graph);
}

TEST_F_TIMEOUT(share, beside_a_plan_that_does_not_come, 300)
{
	beside_a_stuck_one(_metadata, self, take_stuck_plan);
}

/* In a user namespace of his own, where he is root, a user is still himself. */
static void take_in_namespace(struct taken *taken)
{
	char map[32];

	taken->err = -1;
	snprintf(map, sizeof(map), "0 %u 1", ATTACKER);
	/* Else its files in /proc are root's. */
	if (prctl(PR_SET_DUMPABLE, 1) || unshare(CLONE_NEWUSER) ||
	    npu_write("/proc/self/uid_map", map) || geteuid())
		return;
	take_carveout(taken);
}

TEST_F(share, a_user_namespace_makes_no_other_user)
{
	self->pid = attack(self->attacker, take_carveout);
	EXPECT_EQ(self->bank.size / 2, self->attacker->bytes);
	ASSERT_EQ(0, visit(ATTACKER, self->victim, take_in_namespace));
	EXPECT_EQ(-ENOSPC, self->victim->err);
	EXPECT_EQ(0, self->victim->bytes);
}

/* Whoever has a file spends its opener's share. */
static int passed_on;

static void take_with_passed_file(struct taken *taken)
{
	uint32_t bo;

	taken->err = npu_bo_create(passed_on, 256 << 10, NPUMEM_BO_CARVEOUT, &bo);
}

TEST_F(share, a_file_passed_on_is_its_openers)
{
	ASSERT_EQ(0, seteuid(ATTACKER));
	passed_on = npu_open();
	ASSERT_EQ(0, seteuid(0));
	ASSERT_GE(passed_on, 0);
	self->pid = attack(self->attacker, take_carveout);
	ASSERT_EQ(0, visit(VICTIM, self->victim, take_with_passed_file));
	EXPECT_EQ(-ENOSPC, self->victim->err);
	/* Not root's either, who has none. */
	take_with_passed_file(self->victim);
	EXPECT_EQ(-ENOSPC, self->victim->err);
	close(passed_on);
}

TEST_HARNESS_MAIN
