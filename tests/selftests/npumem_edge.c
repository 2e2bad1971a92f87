// SPDX-License-Identifier: MIT
/*
 * Loops: jobs that cross edges of the plan, what the block that a run is in allows,
 * and how all of it is taken back when a later job is refused. Branches:
 * npumem_branch.c.
 */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY  77
/* For what takes thousands of jobs, on a slow machine. */
#define LONG 600

/*
 *   block 0:  X --INIT--> A            A is carried to S
 *   block 1:  S --HALF--> U
 *             U, X --BODY--> T         T is carried to S, for the next iteration
 *   block 2:  T --LAST--> Y
 *
 * S and T cannot be in one place, so the loop is unrolled twice: T of the one
 * instance is where S of the other one is. The loop may be left from both, so
 * there are two instances of block 2.
 */
enum {
	X,
	A,
	S,
	U,
	T,
	Y,
	TENSORS,
	/* steps */
	INIT = 0,
	HALF,
	BODY,
	LAST,
	/* positions */
	P_INIT = 0,
	P_HALF,
	P_BODY,
	P_HALF2,
	P_BODY2,
	P_LAST,
	P_LAST2,
	/* plan edges */
	ENTER = 0, /* 0 -> 1 */
	ODD,	   /* 1 -> 2 */
	EVEN,	   /* 2 -> 1 */
	LEAVE,	   /* 1 -> 3 */
	LEAVE2,	   /* 2 -> 4 */
	EXIT,	   /* 3 -> */
	EXIT2,	   /* 4 -> */
	PLAN_EDGES,
	SIZE = 96,
};

static struct model model_loop(void)
{
	struct model m = { 0 };
	uint32_t i;

	for (i = 0; i < TENSORS; i++) {
		model_tensor(&m,
			     i == X ? NPUMEM_TENSOR_INPUT :
			     i == Y ? NPUMEM_TENSOR_OUTPUT :
				      NPUMEM_TENSOR_INTERMEDIATE,
			     SIZE);
		model_whole(&m, i);
	}
	model_block(&m);
	model_step_rw(&m, X, A);
	m.blocks[0].step_count = 1;
	model_block(&m);
	model_step_rw(&m, S, U);
	model_step(&m, 0);
	model_access(&m, U, NPUMEM_ACCESS_READ);
	model_access(&m, X, NPUMEM_ACCESS_READ);
	model_access(&m, T, NPUMEM_ACCESS_WRITE);
	m.blocks[1].step_count = 2;
	model_block(&m);
	model_step_rw(&m, T, Y);
	m.blocks[2].step_count = 1;
	model_edge(&m, 0, 1);
	model_carry(&m, A, S);
	model_edge(&m, 1, 1);
	model_carry(&m, T, S);
	model_edge(&m, 1, 2);
	model_edge(&m, 2, NPUMEM_NONE);

	model_instance(&m, 0);
	model_enter(&m, 0, X, 0);
	model_place_in(&m, 0, A, SIZE);
	for (i = 1; i <= 2; i++) {
		model_instance(&m, 1);
		model_enter(&m, i, X, 0);
		model_enter(&m, i, S, i * SIZE);
		model_place_in(&m, i, U, 3 * SIZE);
		model_place_in(&m, i, T, (3 - i) * SIZE);
	}
	for (i = 3; i <= 4; i++) {
		model_instance(&m, 2);
		model_enter(&m, i, T, (i == 3 ? 2 : 1) * SIZE);
		/* X is not needed any more. */
		model_place_in(&m, i, Y, 0);
	}
	model_plan_edge(&m, 0, 1, 0);
	model_plan_edge(&m, 1, 2, 1);
	model_plan_edge(&m, 2, 1, 1);
	model_plan_edge(&m, 1, 3, 2);
	model_plan_edge(&m, 2, 4, 2);
	model_plan_edge(&m, 3, NPUMEM_NONE, 3);
	model_plan_edge(&m, 4, NPUMEM_NONE, 3);
	return m;
}

FIXTURE(loop)
{
	int fd;
	struct model model;
	struct world w;
};

FIXTURE_SETUP(loop)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_knob("pause", 0));
	self->model = model_loop();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
}

FIXTURE_TEARDOWN(loop)
{
	EXPECT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_knob("fail_next", 0));
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
}

static struct drm_npumem_job mix(const struct world *w, uint32_t position)
{
	return world_job(w, position, NPUMEM_SIM_MIX, KEY);
}

static int cross(struct world *w, uint32_t plan_edge, struct drm_npumem_submit *args)
{
	struct drm_npumem_job job = world_edge(plan_edge);

	return world_submit(w, &job, 1, args);
}

static int step(struct world *w, uint32_t position)
{
	return world_step(w, position, NPUMEM_SIM_MIX, KEY);
}

/* Submit one job that must be refused, and return the verdict. */
static struct npumem_verdict refused(struct __test_metadata *_metadata, struct world *w,
				     struct drm_npumem_job job)
{
	struct drm_npumem_submit args;

	EXPECT_EQ(-EPERM, world_submit(w, &job, 1, &args));
	EXPECT_EQ(0, args.failed_job);
	return *world_verdict(&args);
}

static void set_input(struct world *w, unsigned int seed)
{
	int i;

	for (i = 0; i < SIZE; i++)
		w->arena[i] = i * 5 + seed;
}

/* The output of so many iterations, computed with memory for each tensor. */
static void expected(const struct model *m, unsigned int seed, int iterations, uint8_t *y)
{
	uint8_t **ref = reference_new(m);
	int i;

	for (i = 0; i < SIZE; i++)
		ref[X][i] = i * 5 + seed;
	reference_step(m, ref, INIT, NPUMEM_SIM_MIX, KEY);
	memcpy(ref[S], ref[A], SIZE);
	for (i = 0; i < iterations; i++) {
		if (i)
			memcpy(ref[S], ref[T], SIZE);
		reference_step(m, ref, HALF, NPUMEM_SIM_MIX, KEY);
		reference_step(m, ref, BODY, NPUMEM_SIM_MIX, KEY);
	}
	reference_step(m, ref, LAST, NPUMEM_SIM_MIX, KEY);
	memcpy(y, ref[Y], SIZE);
	reference_free(m, ref);
}

/* All jobs of an inference of so many iterations; malloc'ed. */
static struct drm_npumem_job *inference(const struct world *w, int iterations, uint32_t *count)
{
	struct drm_npumem_job *jobs = calloc(2 * iterations + 4, sizeof(*jobs));
	uint32_t n = 0;
	int i;

	jobs[n++] = mix(w, P_INIT);
	jobs[n++] = world_edge(ENTER);
	for (i = 0; i < iterations; i++) {
		if (i)
			jobs[n++] = world_edge(i % 2 ? ODD : EVEN);
		jobs[n] = mix(w, i % 2 ? P_HALF2 : P_HALF);
		jobs[n++].position_count = 2;
	}
	jobs[n++] = world_edge(iterations % 2 ? LEAVE : LEAVE2);
	jobs[n++] = mix(w, iterations % 2 ? P_LAST : P_LAST2);
	jobs[n++] = world_edge(iterations % 2 ? EXIT : EXIT2);
	*count = n;
	return jobs;
}

/* An inference, in SUBMITs of so many jobs; whether its output is right. */
static bool runs(struct world *w, const struct model *m, int iterations, uint32_t batch)
{
	struct drm_npumem_submit args;
	struct drm_npumem_job *jobs;
	uint8_t y[SIZE];
	uint32_t count, i, n;
	int err = 0;

	set_input(w, iterations);
	jobs = inference(w, iterations, &count);
	for (i = 0; !err && i < count; i += n) {
		n = count - i < batch ? count - i : batch;
		err = world_submit(w, jobs + i, n, &args);
	}
	free(jobs);
	if (!err)
		err = world_wait(w);
	if (err)
		printf("# iterations %d, batch %u, job %u: %s, rule %u\n", iterations, batch, i,
		       strerror(-err), world_verdict(&args)->rule);
	expected(m, iterations, iterations, y);
	return !err && !memcmp(w->arena, y, SIZE);
}

/* This process' line in debugfs: its only run, with the counts of its states. */
static void states(char *line, size_t size)
{
	char pid[32];
	glob_t found;
	FILE *file;

	line[0] = 0;
	snprintf(pid, sizeof(pid), " pid=%d ", getpid());
	if (glob("/sys/kernel/debug/{accel,dri}/*/runs", GLOB_BRACE, NULL, &found))
		return;
	file = fopen(found.gl_pathv[0], "r");
	while (file && fgets(line, size, file) && !strstr(line, pid))
		line[0] = 0;
	if (file)
		fclose(file);
	globfree(&found);
}

static bool in_block(int block)
{
	char line[512], want[32];

	states(line, sizeof(line));
	snprintf(want, sizeof(want), " block=%d ", block);
	return strstr(line, want);
}

/* --------------------------------------------------------------------- runs */

TEST_F(loop, features)
{
	struct drm_npumem_info info;

	ASSERT_EQ(0, npu_info(self->fd, &info));
	EXPECT_EQ(NPUMEM_FEATURE_BLOCKS, info.features & NPUMEM_FEATURE_BLOCKS);
}

TEST_F(loop, once)
{
	EXPECT_TRUE(runs(&self->w, &self->model, 1, 1));
}

TEST_F_TIMEOUT(loop, hundreds_of_iterations, LONG)
{
	EXPECT_TRUE(runs(&self->w, &self->model, 400, 1000));
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_TRUE(runs(&self->w, &self->model, 401, 64));
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_TRUE(runs(&self->w, &self->model, 60, 1));
}

TEST_F_TIMEOUT(loop, every_batch, LONG)
{
	uint32_t batch;

	for (batch = 1; batch <= 12; batch++) {
		EXPECT_TRUE(runs(&self->w, &self->model, 2 + batch % 5, batch));
		ASSERT_EQ(0, world_reset(&self->w));
	}
}

TEST_F(loop, two_runs_of_a_plan_are_where_they_are)
{
	struct drm_npumem_run_create args = { .plan = self->w.plan };
	struct drm_npumem_submit submit;
	struct world other = self->w;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args));
	other.run = args.handle;
	EXPECT_EQ(0, step(&self->w, P_INIT));
	EXPECT_EQ(0, cross(&self->w, ENTER, &submit));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, refused(_metadata, &other, mix(&other, P_HALF)).rule);
	EXPECT_EQ(0, step(&self->w, P_HALF));
	EXPECT_EQ(0, step(&other, P_INIT));
}

TEST_F(loop, reset_goes_back_to_the_first_block)
{
	struct drm_npumem_submit args;

	ASSERT_EQ(0, step(&self->w, P_INIT));
	ASSERT_EQ(0, cross(&self->w, ENTER, &args));
	ASSERT_EQ(0, step(&self->w, P_HALF));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(in_block(1));
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_TRUE(in_block(0));
	EXPECT_EQ(-EPERM, step(&self->w, P_BODY));
	EXPECT_TRUE(runs(&self->w, &self->model, 3, 4));
	EXPECT_TRUE(in_block(-1));
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_TRUE(runs(&self->w, &self->model, 4, 4));
}

/* ----------------------------------------------------------------- refusals */

TEST_F(loop, position_of_another_block)
{
	static const uint32_t others[] = { P_HALF, P_BODY, P_HALF2, P_BODY2, P_LAST, P_LAST2 };
	struct npumem_verdict v;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		v = refused(_metadata, &self->w, mix(&self->w, others[i]));
		EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, v.rule);
		EXPECT_EQ(others[i], v.position);
		EXPECT_EQ(self->model.positions[others[i]].index, v.step);
	}
	EXPECT_TRUE(runs(&self->w, &self->model, 2, 8));
}

/* The same step, but of the other instance. */
TEST_F(loop, position_of_another_instance)
{
	struct drm_npumem_submit args;
	struct npumem_verdict v;

	ASSERT_EQ(0, step(&self->w, P_INIT));
	ASSERT_EQ(0, cross(&self->w, ENTER, &args));
	v = refused(_metadata, &self->w, mix(&self->w, P_HALF2));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, v.rule);
	EXPECT_EQ(P_HALF2, v.position);
	EXPECT_EQ(HALF, v.step);
	EXPECT_EQ(0, step(&self->w, P_HALF));
	/* Within a block tile states say no, as ever. */
	v = refused(_metadata, &self->w, mix(&self->w, P_HALF));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_READ, v.rule);
	EXPECT_EQ(S, v.tensor);
}

/* A range that reaches into the next instance goes as a whole, or not. */
TEST_F(loop, range_across_instances)
{
	struct drm_npumem_job job = mix(&self->w, P_HALF);
	struct drm_npumem_submit args;

	ASSERT_EQ(0, step(&self->w, P_INIT));
	ASSERT_EQ(0, cross(&self->w, ENTER, &args));
	job.position_count = 3;
	EXPECT_EQ(-EPERM, world_submit(&self->w, &job, 1, &args));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, world_verdict(&args)->rule);
	EXPECT_EQ(P_HALF2, world_verdict(&args)->position);
	job.position_count = 2;
	EXPECT_EQ(0, world_submit(&self->w, &job, 1, &args));
}

TEST_F(loop, crossing_early)
{
	struct drm_npumem_submit args;
	struct npumem_verdict v;

	v = refused(_metadata, &self->w, world_edge(ENTER));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, v.rule);
	EXPECT_EQ(INIT, v.other_step);
	ASSERT_EQ(0, step(&self->w, P_INIT));
	ASSERT_EQ(0, cross(&self->w, ENTER, &args));
	v = refused(_metadata, &self->w, world_edge(ODD));
	EXPECT_EQ(HALF, v.other_step);
	ASSERT_EQ(0, step(&self->w, P_HALF));
	v = refused(_metadata, &self->w, world_edge(ODD));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, v.rule);
	EXPECT_EQ(BODY, v.other_step);
	v = refused(_metadata, &self->w, world_edge(LEAVE));
	EXPECT_EQ(BODY, v.other_step);
	ASSERT_EQ(0, step(&self->w, P_BODY));
	EXPECT_EQ(0, cross(&self->w, ODD, &args));
}

TEST_F(loop, edge_of_another_block)
{
	struct drm_npumem_submit args;
	struct npumem_verdict v;
	uint32_t e;

	ASSERT_EQ(0, step(&self->w, P_INIT));
	for (e = 0; e < PLAN_EDGES; e++) {
		if (e == ENTER)
			continue;
		v = refused(_metadata, &self->w, world_edge(e));
		EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, v.rule);
		EXPECT_EQ(NPUMEM_NONE, v.other_step);
	}
	ASSERT_EQ(0, cross(&self->w, ENTER, &args));
	ASSERT_EQ(0, step(&self->w, P_HALF));
	ASSERT_EQ(0, step(&self->w, P_BODY));
	/* Those of the loop's other instance as well. */
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, refused(_metadata, &self->w, world_edge(EVEN)).rule);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, refused(_metadata, &self->w, world_edge(LEAVE2)).rule);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, refused(_metadata, &self->w, world_edge(ENTER)).rule);
	EXPECT_EQ(0, cross(&self->w, LEAVE, &args));
}

TEST_F(loop, nothing_after_the_exit)
{
	uint32_t i;

	ASSERT_TRUE(runs(&self->w, &self->model, 1, 100));
	for (i = P_INIT; i <= P_LAST2; i++)
		EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE,
			  refused(_metadata, &self->w, mix(&self->w, i)).rule);
	for (i = 0; i < PLAN_EDGES; i++)
		EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE,
			  refused(_metadata, &self->w, world_edge(i)).rule);
}

TEST_F(loop, edge_fields)
{
	static const struct {
		const char *what;
		size_t offset;
		size_t size;
		uint64_t value;
	} fields[] = {
#define FIELD(member, value)                                             \
	{ #member " = " #value, offsetof(struct drm_npumem_job, member), \
	  sizeof(((struct drm_npumem_job *)0)->member), value }
		FIELD(first_position, PLAN_EDGES), FIELD(first_position, NPUMEM_NONE),
		FIELD(position_count, 1),	   FIELD(engine, 1),
		FIELD(flags, NPUMEM_JOB_EDGE | 2), FIELD(commands.ptr, 8),
		FIELD(commands.size, 8),
	};
	struct drm_npumem_submit args;
	struct drm_npumem_job job;
	unsigned int i;

	ASSERT_EQ(0, step(&self->w, P_INIT));
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		job = world_edge(ENTER);
		memcpy((uint8_t *)&job + fields[i].offset, &fields[i].value, fields[i].size);
		EXPECT_EQ(-EINVAL, world_submit(&self->w, &job, 1, &args))
		TH_LOG("field: %s", fields[i].what);
		EXPECT_EQ(0, args.failed_job);
		EXPECT_EQ(NPUMEM_RULE_NONE, world_verdict(&args)->rule);
	}
	EXPECT_EQ(0, cross(&self->w, ENTER, &args));
}

TEST_F(loop, refusal_is_in_the_faults)
{
	char line[512], last[512] = "";
	glob_t found;
	FILE *file;

	refused(_metadata, &self->w, world_edge(LEAVE));
	ASSERT_EQ(0, glob("/sys/kernel/debug/{accel,dri}/*/faults", GLOB_BRACE, NULL, &found));
	file = fopen(found.gl_pathv[0], "r");
	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file))
		strcpy(last, line);
	fclose(file);
	globfree(&found);
	snprintf(line, sizeof(line), " pid=%d error=%d rule=%d ", getpid(), -EPERM,
		 NPUMEM_RULE_ENFORCE_EDGE);
	EXPECT_NE(NULL, strstr(last, line))
	TH_LOG("last fault: %s", last);
}

/* -------------------------------------------------------------- all or none */

/*
 * Prefixes of an inference are submitted, then what is left of it with a last job
 * that is wrong: every state is as it was, and the inference goes on from there.
 */
TEST_F_TIMEOUT(loop, undo_across_edges, LONG)
{
	char before[512], after[512];
	struct drm_npumem_submit args;
	struct drm_npumem_job *jobs, bad;
	uint8_t y[SIZE];
	uint32_t count, done, last;

	for (last = 0;; last++) {
		jobs = inference(&self->w, 2, &count);
		if (last > count)
			break;
		/* A position that no state allows after so many jobs: INIT goes once only. */
		bad = last ? mix(&self->w, P_INIT) : mix(&self->w, P_LAST);
		for (done = 0; done <= last; done++) {
			struct drm_npumem_job all[32];

			set_input(&self->w, 3);
			if (done)
				ASSERT_EQ(0, world_submit(&self->w, jobs, done, &args));
			memcpy(all, jobs + done, (last - done) * sizeof(*jobs));
			all[last - done] = bad;
			/* What runs must not be in our way when states are compared. */
			ASSERT_EQ(0, world_wait(&self->w));
			states(before, sizeof(before));
			EXPECT_EQ(-EPERM, world_submit(&self->w, all, last - done + 1, &args));
			EXPECT_EQ(last - done, args.failed_job);
			states(after, sizeof(after));
			EXPECT_STREQ(before, after);
			if (done < count)
				ASSERT_EQ(0,
					  world_submit(&self->w, jobs + done, count - done, &args))
			TH_LOG("%u jobs done, %u taken back: rule %u", done, last - done,
			       world_verdict(&args)->rule);
			ASSERT_EQ(0, world_wait(&self->w));
			expected(&self->model, 3, 2, y);
			EXPECT_EQ(0, memcmp(self->w.arena, y, SIZE));
			ASSERT_EQ(0, world_reset(&self->w));
		}
		free(jobs);
	}
	free(jobs);
	EXPECT_EQ(8, count);
}

TEST_F(loop, undo_of_a_refused_edge)
{
	struct drm_npumem_job jobs[] = {
		mix(&self->w, P_INIT), world_edge(ENTER), mix(&self->w, P_HALF),
		mix(&self->w, P_BODY), world_edge(ODD),	  world_edge(EVEN),
	};
	struct drm_npumem_submit args;

	EXPECT_EQ(-EPERM, world_submit(&self->w, jobs, 6, &args));
	EXPECT_EQ(5, args.failed_job);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, world_verdict(&args)->rule);
	EXPECT_EQ(HALF, world_verdict(&args)->other_step);
	EXPECT_TRUE(npu_all_bytes(self->w.arena, self->w.arena_size, 0));
	EXPECT_TRUE(runs(&self->w, &self->model, 5, 100));
}

/* Hundreds of iterations taken back. */
TEST_F_TIMEOUT(loop, undo_of_hundreds_of_iterations, LONG)
{
	struct drm_npumem_submit args;
	struct drm_npumem_job *jobs;
	uint32_t count;

	jobs = inference(&self->w, 400, &count);
	jobs[count - 1] = world_edge(EXIT);
	EXPECT_EQ(-EPERM, world_submit(&self->w, jobs, count, &args));
	EXPECT_EQ(count - 1, args.failed_job);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, world_verdict(&args)->rule);
	free(jobs);
	EXPECT_TRUE(in_block(0));
	EXPECT_TRUE(runs(&self->w, &self->model, 400, 1000));
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	alarms++;
}

/* A signal anywhere in a long SUBMIT changes nothing. */
TEST_F_TIMEOUT(loop, a_signal_in_the_midst, LONG)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval once = { 0 };
	int i, gone = 0;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	for (i = 0; i < 16; i++) {
		once.it_value.tv_usec = 20 + i * i * 60;
		alarms = 0;
		ASSERT_EQ(0, setitimer(ITIMER_REAL, &once, NULL));
		EXPECT_TRUE(runs(&self->w, &self->model, 200 + i % 2, 1000));
		gone += alarms;
		ASSERT_EQ(0, world_reset(&self->w));
	}
	memset(&once, 0, sizeof(once));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &once, NULL));
	EXPECT_LT(0, gone);
}

/* ------------------------------------------------------------------- fences */

TEST_F(loop, edge_alone_signals_after_earlier_work)
{
	struct drm_npumem_sync out = { .handle = npu_syncobj(self->fd) };
	struct drm_npumem_job jobs[] = { mix(&self->w, P_INIT) }, edge = world_edge(ENTER);
	struct drm_npumem_submit args;

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, world_submit(&self->w, jobs, 1, &args));
	args = (struct drm_npumem_submit){
		.run = self->w.run,
		.jobs = NPU_ARRAY(&edge, 1),
		.out_syncs = NPU_ARRAY(&out, 1),
	};
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	EXPECT_EQ(0, npu_sync_signalled(self->fd, out.handle, 0));
	EXPECT_EQ(-EBUSY, world_reset(&self->w));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_sync_wait(self->fd, out.handle, 0));
	EXPECT_EQ(1, npu_sync_status(self->fd, out.handle));
	EXPECT_FALSE(npu_all_bytes(self->w.arena + SIZE, 1, 0) &&
		     npu_all_bytes(self->w.arena + SIZE, SIZE, 0));
}

/* With nothing before it: the in-syncs are what there is to wait for. */
TEST_F(loop, edge_alone_waits_for_its_in_syncs)
{
	struct drm_npumem_sync in = { .handle = npu_syncobj(self->fd) };
	struct drm_npumem_sync out = { .handle = npu_syncobj(self->fd), .point = 3 };
	struct drm_npumem_job job = mix(&self->w, P_INIT), edge = world_edge(ENTER);
	struct drm_npumem_submit args = {
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&in, 1),
	};
	struct world other;

	/* A job of another run, which is held back. */
	ASSERT_EQ(0, step(&self->w, P_INIT));
	ASSERT_EQ(0, world_wait(&self->w));
	ASSERT_EQ(0, world_open(&other, self->fd, &self->model));
	ASSERT_EQ(0, npu_knob("pause", 1));
	args.run = other.run;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	args = (struct drm_npumem_submit){
		.run = self->w.run,
		.jobs = NPU_ARRAY(&edge, 1),
		.in_syncs = NPU_ARRAY(&in, 1),
		.out_syncs = NPU_ARRAY(&out, 1),
	};
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	EXPECT_EQ(0, npu_sync_signalled(self->fd, out.handle, 3));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_sync_wait(self->fd, out.handle, 3));
	world_close(&other);
}

TEST_F(loop, edge_alone_behind_a_job_that_fails)
{
	struct drm_npumem_sync out = { .handle = npu_syncobj(self->fd) };
	struct drm_npumem_job edge = world_edge(ENTER);
	struct drm_npumem_submit args = {
		.run = self->w.run,
		.jobs = NPU_ARRAY(&edge, 1),
		.out_syncs = NPU_ARRAY(&out, 1),
	};

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, npu_knob("fail_next", 1));
	ASSERT_EQ(0, step(&self->w, P_INIT));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_sync_wait(self->fd, out.handle, 0));
	EXPECT_EQ(-ECANCELED, npu_sync_status(self->fd, out.handle));
	/* Lost: an edge is refused like all else, until the run is reset. */
	edge = world_edge(ODD);
	EXPECT_EQ(-EIO, world_submit(&self->w, &edge, 1, &args));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_LOST, world_verdict(&args)->rule);
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_TRUE(runs(&self->w, &self->model, 3, 5));
}

/* -------------------------------------------------------------------- plans */

/* A plan that loses the value carried around the loop is none. */
TEST(plan_that_moves_a_carried_tensor)
{
	struct npu_log log;
	struct npumem_verdict verdict;
	struct drm_npumem_plan_load args = {
		.log = npu_log(&log, 1),
		.verdict = NPU_BUFFER(verdict),
	};
	struct model m = model_loop();
	struct blob graph = model_graph(&m), plan;
	int fd = npu_open();
	uint32_t i;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_graph(fd, &graph, &args.graph));
	/* S of the second instance where T of the first one is not. */
	for (i = 0; i < m.placement_count; i++)
		if (m.placements[i].block == 2 && m.placements[i].tensor == S)
			m.placements[i].offset = 4 * SIZE;
	m.info.arena_size = 5 * SIZE;
	plan = model_plan(&m);
	args.blob = NPU_BYTES(plan.data, plan.size);
	EXPECT_EQ(-EINVAL, npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args));
	EXPECT_EQ(NPUMEM_RULE_V6_EDGE, verdict.rule)
	TH_LOG("log: %s", log.text);
	EXPECT_EQ(0, args.handle);
	blob_free(&plan);
	blob_free(&graph);
	model_free(&m);
	close(fd);
}

TEST_HARNESS_MAIN
