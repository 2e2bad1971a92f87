// SPDX-License-Identifier: MIT
/*
 * What a plan request carries beyond the graph: options, which the daemon is shown as they
 * are, and the leave to cut the graph anew, with which a daemon answers graph and plan.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_fake_daemon.h"
#include "npumem_world.h"

#define KEY 77

FIXTURE(cut)
{
	int fd;
	struct model model, halves;
	struct blob graph_blob, plan_blob, half_graph, half_plan;
	uint32_t graph;
	struct fake_daemon daemon;
	struct fake_request request;
	struct fake_settled settled;
	struct drm_npumem_plan_request args;
	uint8_t out[8192];
	uint8_t options[NPUMEM_OPTIONS_MAX_BYTES];
};

/* The chain's tensors, at the same places; each of its steps is two, of half a tensor each. */
static struct model model_halves(void)
{
	struct model m = { 0 };
	uint32_t i, half;

	model_tensor(&m, NPUMEM_TENSOR_INPUT, CHAIN_SIZE);
	model_tensor(&m, NPUMEM_TENSOR_INTERMEDIATE, CHAIN_SIZE);
	model_tensor(&m, NPUMEM_TENSOR_INTERMEDIATE, CHAIN_SIZE);
	model_tensor(&m, NPUMEM_TENSOR_OUTPUT, CHAIN_SIZE);
	for (i = 0; i < CHAIN_TENSORS; i++)
		for (half = 0; half < 2; half++)
			model_tile(&m, i, half * CHAIN_SIZE / 2, CHAIN_SIZE / 2);
	for (i = 0; i < CHAIN_STEPS; i++)
		for (half = 0; half < 2; half++)
			model_step_rw(&m, 2 * i + half, 2 * (i + 1) + half);
	for (i = 0; i < CHAIN_TENSORS; i++)
		model_place(&m, i, i * CHAIN_SIZE);
	model_schedule(&m);
	return m;
}

FIXTURE_SETUP(cut)
{
	size_t i;

	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	self->halves = model_halves();
	self->graph_blob = model_graph(&self->model);
	self->plan_blob = model_plan(&self->model);
	self->half_graph = model_graph(&self->halves);
	self->half_plan = model_plan(&self->halves);
	ASSERT_EQ(0, world_graph(self->fd, &self->graph_blob, &self->graph));
	ASSERT_EQ(0, fake_open(&self->daemon));
	ASSERT_EQ(0, fake_register(&self->daemon, NPUMEM_VERSION, "test daemon"));
	for (i = 0; i < sizeof(self->options); i++)
		self->options[i] = i % 251 + 1;
	self->request.fd = -1;
	self->args = (struct drm_npumem_plan_request){
		.graph = self->graph,
		.deadline_ns = npu_late(),
		.out_sync = npu_syncobj(self->fd),
		.flags = NPUMEM_PLAN_REQUEST_CUT,
	};
}

FIXTURE_TEARDOWN(cut)
{
	if (self->request.fd >= 0)
		close(self->request.fd);
	fake_close(&self->daemon);
	close(self->fd);
	blob_free(&self->graph_blob);
	blob_free(&self->plan_blob);
	blob_free(&self->half_graph);
	blob_free(&self->half_plan);
	model_free(&self->model);
	model_free(&self->halves);
}

static int ask(FIXTURE_DATA(cut) * self)
{
	return npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &self->args);
}

static int ask_and_accept(FIXTURE_DATA(cut) * self)
{
	int err = ask(self);

	return err ? err : fake_accept(&self->daemon, &self->request);
}

/* Blobs of an answer, one behind the other. */
static int answer(FIXTURE_DATA(cut) * self, const struct blob *first, const struct blob *second)
{
	if (write(self->request.fd, first->data, first->size) != (ssize_t)first->size)
		return -errno;
	if (second && write(self->request.fd, second->data, second->size) != (ssize_t)second->size)
		return -errno;
	return 0;
}

static int read_plan(FIXTURE_DATA(cut) * self, struct drm_npumem_plan_read *read)
{
	*read = (struct drm_npumem_plan_read){ .handle = self->args.handle,
					       .graph = NPU_BUFFER(self->out) };
	return npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_READ, read);
}

/* ------------------------------------------------------------------- options */

TEST_F(cut, nothing_asked_for)
{
	self->args.flags = 0;
	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(0, self->request.options_size);
	EXPECT_FALSE(self->request.cut);
}

TEST_F(cut, options_are_shown_behind_the_graph)
{
	static const size_t sizes[] = { 1, 100, 4096, 4097, NPUMEM_OPTIONS_MAX_BYTES };
	size_t page = sysconf(_SC_PAGESIZE);
	size_t at = (self->graph_blob.size + page - 1) / page * page;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t size = (sizes[i] + page - 1) / page * page;
		uint8_t *map;

		self->args.options = NPU_BYTES(self->options, sizes[i]);
		ASSERT_EQ(0, ask_and_accept(self));
		EXPECT_TRUE(self->request.cut);
		ASSERT_EQ(sizes[i], self->request.options_size);
		ASSERT_EQ(self->graph_blob.size, self->request.graph_size);
		map = mmap(NULL, at + size, PROT_READ, MAP_SHARED, self->request.fd, 0);
		ASSERT_NE(MAP_FAILED, map);
		EXPECT_EQ(0, memcmp(map, self->graph_blob.data, self->graph_blob.size));
		EXPECT_TRUE(
			npu_all_bytes(map + self->graph_blob.size, at - self->graph_blob.size, 0));
		EXPECT_EQ(0, memcmp(map + at, self->options, sizes[i]));
		EXPECT_TRUE(npu_all_bytes(map + at + sizes[i], size - sizes[i], 0));
		munmap(map, at + size);
		/* They can be had by themselves, and behind them there is nothing. */
		map = mmap(NULL, size, PROT_READ, MAP_SHARED, self->request.fd, at);
		ASSERT_NE(MAP_FAILED, map);
		EXPECT_EQ(0, memcmp(map, self->options, sizes[i]));
		EXPECT_EQ(MAP_FAILED,
			  mmap(NULL, at + size + page, PROT_READ, MAP_SHARED, self->request.fd, 0));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(MAP_FAILED, mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
					   self->request.fd, at));
		EXPECT_EQ(EACCES, errno);
		EXPECT_EQ(0, fake_done(&self->daemon, self->request.id, ENOSPC, NULL, NULL));
		/* They stay for a daemon that keeps them mapped. */
		close(self->request.fd);
		EXPECT_EQ(0, memcmp(map, self->options, sizes[i]));
		munmap(map, size);
	}
	self->request.fd = -1;
}

TEST_F(cut, options_that_cannot_be_read)
{
	self->args.options = NPU_BYTES(self->options, NPUMEM_OPTIONS_MAX_BYTES + 1);
	EXPECT_EQ(-E2BIG, ask(self));
	self->args.options = NPU_BYTES(self->options, UINT64_MAX);
	EXPECT_EQ(-E2BIG, ask(self));
	self->args.options = NPU_BYTES(0, 8);
	EXPECT_EQ(-EINVAL, ask(self));
	self->args.options = NPU_BYTES(NPU_UNMAPPED, 8);
	EXPECT_EQ(-EFAULT, ask(self));
	/* None of these was queued. */
	EXPECT_EQ(-ENOENT, fake_accept(&self->daemon, &self->request));
	self->args.options = NPU_BYTES(self->options, 8);
	EXPECT_EQ(0, ask(self));
}

/* ----------------------------------------------------------------- answers */

TEST_F(cut, answer_with_a_graph)
{
	struct drm_npumem_run_create run = { 0 };
	struct drm_npumem_submit submit;
	struct drm_npumem_plan_read read;
	struct world w = { 0 };
	uint8_t **ref, *arena;
	unsigned int i;

	ASSERT_EQ(0, world_open(&w, self->fd, &self->model));
	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(0, answer(self, &self->half_graph, &self->half_plan));
	ASSERT_EQ(0, fake_done_cut(&self->daemon, self->request.id, 0, self->half_graph.size,
				   &self->settled));
	EXPECT_EQ(0, self->settled.status);
	EXPECT_STREQ("", self->settled.message);

	/* The plan is that graph's. */
	ASSERT_EQ(0, read_plan(self, &read));
	EXPECT_EQ(NPUMEM_PLAN_STATE_READY, read.state);
	EXPECT_EQ(self->half_plan.size, read.blob.size);
	ASSERT_EQ(self->half_graph.size, read.graph.size);
	EXPECT_EQ(0, memcmp(self->out, self->half_graph.data, read.graph.size));

	/* So are its runs: twice the steps, the same bytes. */
	run.plan = self->args.handle;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run));
	arena = npu_bo_map(self->fd, run.arena_bo, w.arena_size);
	ASSERT_NE(NULL, arena);
	w.run = run.handle;
	w.arena_bo = run.arena_bo;
	memset(arena, 5, CHAIN_SIZE);
	EXPECT_EQ(-EINVAL, world_mix(&w, 0, 2 * CHAIN_STEPS + 1, KEY, &submit));
	ASSERT_EQ(0, world_mix(&w, 0, 2 * CHAIN_STEPS, KEY, &submit));
	ASSERT_EQ(0, world_wait(&w));
	ref = reference_new(&self->halves);
	memset(ref[CHAIN_X], 5, CHAIN_SIZE);
	reference_mix(&self->halves, ref, KEY);
	for (i = 0; i < CHAIN_TENSORS; i++)
		EXPECT_EQ(0, memcmp(arena + i * CHAIN_SIZE, ref[i], CHAIN_SIZE))
	TH_LOG("tensor %u", i);
	reference_free(&self->halves, ref);
	munmap(arena, w.arena_size);
}

/* With the leave to cut a daemon may do without, too. */
TEST_F(cut, answer_without_a_graph)
{
	struct drm_npumem_plan_read read;

	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(0, answer(self, &self->plan_blob, NULL));
	ASSERT_EQ(0, fake_done(&self->daemon, self->request.id, 0, NULL, &self->settled));
	EXPECT_EQ(0, self->settled.status);
	ASSERT_EQ(0, read_plan(self, &read));
	ASSERT_EQ(self->graph_blob.size, read.graph.size);
	EXPECT_EQ(0, memcmp(self->out, self->graph_blob.data, read.graph.size));
}

/* The request goes on after each of these. */
TEST_F(cut, answer_that_is_malformed)
{
	uint64_t size = self->half_graph.size;

	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(0, answer(self, &self->half_graph, &self->half_plan));
	EXPECT_EQ(-EINVAL, fake_done_cut(&self->daemon, self->request.id, 0, 0, NULL));
	EXPECT_EQ(-EINVAL, fake_done_cut(&self->daemon, self->request.id, 0, size - 4, NULL));
	EXPECT_EQ(-EINVAL, fake_done_cut(&self->daemon, self->request.id, EIO, size, NULL));
	EXPECT_EQ(-ENOENT, fake_done_cut(&self->daemon, self->request.id + 1, 0, size, NULL));
	ASSERT_EQ(0, fake_done_cut(&self->daemon, self->request.id, 0, size, &self->settled));
	EXPECT_EQ(0, self->settled.status);
}

TEST_F(cut, graph_that_nobody_wants)
{
	self->args.flags = 0;
	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(0, answer(self, &self->half_graph, &self->half_plan));
	EXPECT_EQ(-EINVAL,
		  fake_done_cut(&self->daemon, self->request.id, 0, self->half_graph.size, NULL));
	/* Nor is it a plan. */
	ASSERT_EQ(0, fake_done(&self->daemon, self->request.id, 0, NULL, &self->settled));
	EXPECT_EQ(EBADMSG, self->settled.status);
}

/* The request has failed like that, and there is neither graph nor plan. */
static void expect_failed(struct __test_metadata *_metadata, FIXTURE_DATA(cut) * self,
			  uint32_t status, const char *message)
{
	struct drm_npumem_plan_read read;

	EXPECT_EQ(status, self->settled.status);
	EXPECT_STREQ(message, self->settled.message);
	ASSERT_EQ(0, read_plan(self, &read));
	EXPECT_EQ(NPUMEM_PLAN_STATE_FAILED, read.state);
	EXPECT_EQ(status, read.error);
	EXPECT_EQ(0, read.blob.size);
	EXPECT_EQ(0, read.graph.size);
}

TEST_F(cut, graph_without_a_plan)
{
	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(0, answer(self, &self->half_graph, NULL));
	ASSERT_EQ(0, fake_done_cut(&self->daemon, self->request.id, 0, self->half_graph.size,
				   &self->settled));
	expect_failed(_metadata, self, EBADMSG, "the daemon gave no plan");
}

TEST_F(cut, graph_that_is_none)
{
	blob_header(&self->half_graph)->magic ^= 1;
	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(0, answer(self, &self->half_graph, &self->half_plan));
	ASSERT_EQ(0, fake_done_cut(&self->daemon, self->request.id, 0, self->half_graph.size,
				   &self->settled));
	EXPECT_TRUE(self->settled.has_verdict);
	EXPECT_EQ(NPUMEM_RULE_FORMAT, self->settled.verdict.rule);
	expect_failed(_metadata, self, EBADMSG,
		      "the daemon's graph: format: magic is 0x5247504f, expected 0x5247504e\n");
}

/* A plan of the graph that was asked for is none of the one before it. */
TEST_F(cut, plan_of_another_graph)
{
	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(0, answer(self, &self->half_graph, &self->plan_blob));
	ASSERT_EQ(0, fake_done_cut(&self->daemon, self->request.id, 0, self->half_graph.size,
				   &self->settled));
	EXPECT_TRUE(self->settled.has_verdict);
	EXPECT_EQ(NPUMEM_RULE_V2_ORDER, self->settled.verdict.rule);
	expect_failed(_metadata, self, EINVAL, self->settled.message);
}

/* A plan that needs more than its budget is refused, whose graph it may be of. */
TEST_F(cut, budget_holds)
{
	self->args.arena_budget = self->halves.info.arena_size - 1;
	ASSERT_EQ(0, ask_and_accept(self));
	ASSERT_EQ(0, answer(self, &self->half_graph, &self->half_plan));
	ASSERT_EQ(0, fake_done_cut(&self->daemon, self->request.id, 0, self->half_graph.size,
				   &self->settled));
	expect_failed(_metadata, self, ENOSPC,
		      "the plan needs 1024 bytes of arena, the budget is 1023");
}

/* As much as two blobs have may be written, and only where there may be two. */
TEST_F(cut, answers_of_any_size)
{
	char byte = 0;

	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(-1, pwrite(self->request.fd, &byte, 1, 2 * NPUMEM_BLOB_MAX_BYTES));
	EXPECT_EQ(EINVAL, errno); /* a hole */
	EXPECT_EQ(-1, write(self->request.fd, (void *)(uintptr_t)NPU_UNMAPPED,
			    2 * NPUMEM_BLOB_MAX_BYTES + 1));
	EXPECT_EQ(EFBIG, errno);
	EXPECT_EQ(-1, write(self->request.fd, (void *)(uintptr_t)NPU_UNMAPPED,
			    NPUMEM_BLOB_MAX_BYTES + 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, fake_done(&self->daemon, self->request.id, ENOSPC, NULL, NULL));
	close(self->request.fd);
	self->args.flags = 0;
	ASSERT_EQ(0, ask_and_accept(self));
	EXPECT_EQ(-1, write(self->request.fd, (void *)(uintptr_t)NPU_UNMAPPED,
			    NPUMEM_BLOB_MAX_BYTES + 1));
	EXPECT_EQ(EFBIG, errno);
}

TEST_HARNESS_MAIN
