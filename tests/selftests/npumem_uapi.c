// SPDX-License-Identifier: MIT
/*
 * The uapi as such: for each ioctl one call that works and all that one wrong field can
 * do to it; what becomes of verdicts. Sizes and offsets: tests/abi.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

FIXTURE(uapi)
{
	int fd;
	struct model model;
	struct blob graph_blob, plan_blob;
	struct world w;
	struct npu_log log;
	struct npumem_verdict verdict;
	uint8_t out[4096];
	struct drm_npumem_job job;
};

FIXTURE_SETUP(uapi)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	self->graph_blob = model_graph(&self->model);
	self->plan_blob = model_plan(&self->model);
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	self->job = world_job(&self->w, 0, NPUMEM_SIM_NOP, 0);
}

FIXTURE_TEARDOWN(uapi)
{
	world_close(&self->w);
	blob_free(&self->graph_blob);
	blob_free(&self->plan_blob);
	model_free(&self->model);
	close(self->fd);
}

/*
 * struct field - one field of otherwise valid arguments, made wrong
 * @err: what the ioctl must say then
 */
struct field {
	const char *name;
	size_t offset;
	size_t size;
	uint64_t value;
	int err;
};

#define FIELD(type, member, value, err)                                                          \
	{ #member "=" #value, offsetof(struct type, member), sizeof(((struct type *)0)->member), \
	  value, err }

/*
 * Spoil one field at a time. With no field spoilt the call works, before and
 * after: what is refused is refused for that field, and leaves nothing behind. An error
 * of zero: it is another call, but not a wrong one.
 */
static void spoil_fields(struct __test_metadata *_metadata, int fd, unsigned long request,
			 const void *valid, const struct field *fields, unsigned int count)
{
	size_t size = _IOC_SIZE(request);
	uint8_t args[256];
	unsigned int i;

	ASSERT_LE(size, sizeof(args));
	memcpy(args, valid, size);
	ASSERT_EQ(0, npu_ioctl(fd, request, args));
	for (i = 0; i < count; i++) {
		memcpy(args, valid, size);
		memcpy(args + fields[i].offset, &fields[i].value, fields[i].size);
		EXPECT_EQ(fields[i].err, npu_ioctl(fd, request, args))
		TH_LOG("field: %s", fields[i].name);
	}
	memcpy(args, valid, size);
	EXPECT_EQ(0, npu_ioctl(fd, request, args));
}

TEST_F(uapi, driver_names_itself)
{
	drmVersionPtr version = drmGetVersion(self->fd);

	ASSERT_NE(NULL, version);
	EXPECT_STREQ(NPUMEM_DRIVER_NAME, version->name);
	EXPECT_EQ(NPUMEM_UAPI_MAJOR, version->version_major);
	EXPECT_EQ(NPUMEM_UAPI_MINOR, version->version_minor);
	drmFreeVersion(version);
}

TEST_F(uapi, arguments_in_memory_that_is_not_mapped)
{
	static const unsigned long all[] = {
		DRM_IOCTL_NPUMEM_DEV_QUERY,	 DRM_IOCTL_NPUMEM_BO_CREATE,
		DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, DRM_IOCTL_NPUMEM_BO_WAIT,
		DRM_IOCTL_NPUMEM_GRAPH_CREATE,	 DRM_IOCTL_NPUMEM_GRAPH_DESTROY,
		DRM_IOCTL_NPUMEM_PLAN_REQUEST,	 DRM_IOCTL_NPUMEM_PLAN_LOAD,
		DRM_IOCTL_NPUMEM_PLAN_READ,	 DRM_IOCTL_NPUMEM_PLAN_DESTROY,
		DRM_IOCTL_NPUMEM_RUN_CREATE,	 DRM_IOCTL_NPUMEM_RUN_BIND,
		DRM_IOCTL_NPUMEM_RUN_RESET,	 DRM_IOCTL_NPUMEM_RUN_DESTROY,
		DRM_IOCTL_NPUMEM_SUBMIT,	 DRM_IOCTL_NPUMEM_RUN_QUERY,
		DRM_IOCTL_NPUMEM_ENGINE_ATTACH,	 DRM_IOCTL_NPUMEM_RUN_TURN,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, all[i], (void *)(uintptr_t)NPU_UNMAPPED))
		TH_LOG("ioctl %#lx", all[i]);
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, all[i], NULL))
		TH_LOG("ioctl %#lx", all[i]);
	}
}

TEST_F(uapi, ioctl_numbers_that_do_not_exist)
{
	uint64_t args[32] = { 0 };
	unsigned int nr;

	for (nr = DRM_NPUMEM_RUN_TURN + 1; nr < DRM_COMMAND_END - DRM_COMMAND_BASE; nr++)
		EXPECT_EQ(-EINVAL, npu_ioctl(self->fd,
					     _IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE,
						  DRM_COMMAND_BASE + nr, 64),
					     args))
	TH_LOG("number %#x", nr);
}

/* Older and newer users: a struct cut short is as if the rest were zero. */
TEST_F(uapi, shorter_and_longer_structs)
{
	struct {
		struct drm_npumem_dev_query query;
		uint64_t tail;
	} args = { .query = { .type = NPUMEM_QUERY_INFO,
			      .stride = 8,
			      .answer = NPU_BYTES(NPU_UNMAPPED, 8) } };
	struct {
		struct drm_npumem_submit submit;
		uint64_t tail[2];
	} submit = { .submit = { .run = self->w.run, .jobs = NPU_ARRAY(&self->job, 1) } };

	/* The pointer, which is wrong, is cut off: "tell me the size". */
	EXPECT_EQ(0, npu_ioctl(self->fd, npu_ioctl_resize(DRM_IOCTL_NPUMEM_DEV_QUERY, 8), &args));
	EXPECT_EQ(8, args.query.answer.size);
	EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &args));

	/* Nothing at all is all zeros, and those are no query. */
	EXPECT_EQ(-EINVAL,
		  npu_ioctl(self->fd, npu_ioctl_resize(DRM_IOCTL_NPUMEM_DEV_QUERY, 0), &args));
	EXPECT_EQ(-EINVAL,
		  npu_ioctl(self->fd,
			    _IOC(_IOC_READ, DRM_IOCTL_BASE, DRM_COMMAND_BASE + DRM_NPUMEM_DEV_QUERY,
				 sizeof(args.query)),
			    &args));

	args.query = (struct drm_npumem_dev_query){ .type = NPUMEM_QUERY_INFO, .stride = 8 };
	EXPECT_EQ(0, npu_ioctl(self->fd, npu_ioctl_resize(DRM_IOCTL_NPUMEM_DEV_QUERY, sizeof(args)),
			       &args));

	/* Without room for the verdict; then with more than there is. */
	EXPECT_EQ(0, npu_ioctl(self->fd,
			       npu_ioctl_resize(DRM_IOCTL_NPUMEM_SUBMIT,
						offsetof(struct drm_npumem_submit, failed_job)),
			       &submit));
	self->job.first_position = 1;
	EXPECT_EQ(0, npu_ioctl(self->fd, npu_ioctl_resize(DRM_IOCTL_NPUMEM_SUBMIT, sizeof(submit)),
			       &submit));
	EXPECT_EQ(0, submit.tail[0]);
}

TEST_F(uapi, dev_query)
{
	static const uint32_t types[] = { NPUMEM_QUERY_INFO, NPUMEM_QUERY_BANKS,
					  NPUMEM_QUERY_ENGINES };
	static const uint32_t sizes[] = { sizeof(struct drm_npumem_info),
					  sizeof(struct drm_npumem_bank),
					  sizeof(struct drm_npumem_engine) };
	struct drm_npumem_dev_query args;
	uint8_t whole[1024];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		args = (struct drm_npumem_dev_query){ .type = types[i], .stride = sizes[i] };
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &args));
		EXPECT_EQ(0, args.answer.size % sizes[i]);
		EXPECT_NE(0, args.answer.size);
		EXPECT_EQ(0, args.next);
		ASSERT_LE(args.answer.size, sizeof(whole));
		args.answer.ptr = (uintptr_t)whole;
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &args));
		/* A longer buffer gets what there is, and zeros behind it. */
		memset(self->out, 0xff, sizeof(self->out));
		args.answer = NPU_BUFFER(self->out);
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &args));
		EXPECT_EQ(0, memcmp(self->out, whole, args.answer.size));
		EXPECT_TRUE(npu_all_bytes(self->out + args.answer.size,
					  sizeof(self->out) - args.answer.size, 0));
		/* One that has no room for a record gets none. */
		memset(self->out, 0xff, sizeof(self->out));
		args.answer.size = sizes[i] - 8;
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &args));
		EXPECT_TRUE(npu_all_bytes(self->out, sizes[i] - 8, 0));
		EXPECT_EQ(0xff, self->out[sizes[i] - 8]);
		EXPECT_EQ(0, args.answer.size % sizes[i]);
		EXPECT_EQ(0, args.next);
		/* Records of an older user, and of a newer one. */
		memset(self->out, 0xff, sizeof(self->out));
		args = (struct drm_npumem_dev_query){ .type = types[i], .stride = 8 };
		args.answer = NPU_BYTES(self->out, 8);
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &args));
		EXPECT_EQ(0, memcmp(self->out, whole, 8));
		EXPECT_EQ(0xff, self->out[8]);
		args.next = 0;
		args.stride = sizes[i] + 16;
		args.answer = NPU_BYTES(self->out, args.stride);
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &args));
		EXPECT_EQ(0, memcmp(self->out, whole, sizes[i]));
		EXPECT_TRUE(npu_all_bytes(self->out + sizes[i], 16, 0));
		/* Behind the last one there is none. */
		args.first = UINT64_MAX;
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &args));
		EXPECT_EQ(0, args.answer.size);
	}
}

TEST_F(uapi, dev_query_fields)
{
	const struct drm_npumem_dev_query valid = {
		.type = NPUMEM_QUERY_INFO,
		.stride = 64,
		.answer = NPU_BYTES(self->out, 64),
		/* Out only. */
		.next = UINT64_MAX,
	};
	static const struct field fields[] = {
		FIELD(drm_npumem_dev_query, type, 0, -EINVAL),
		FIELD(drm_npumem_dev_query, type, NPUMEM_QUERY_HOLDERS + 1, -EINVAL),
		FIELD(drm_npumem_dev_query, type, 0xffffffff, -EINVAL),
		FIELD(drm_npumem_dev_query, stride, 0, -EINVAL),
		FIELD(drm_npumem_dev_query, stride, 12, -EINVAL),
		FIELD(drm_npumem_dev_query, stride, NPUMEM_MAX_RECORD + 8, -E2BIG),
		FIELD(drm_npumem_dev_query, stride, 0xfffffff8, -E2BIG),
		FIELD(drm_npumem_dev_query, answer.ptr, 0, 0),
		FIELD(drm_npumem_dev_query, answer.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_dev_query, answer.size, NPUMEM_BLOB_MAX_BYTES + 1, -E2BIG),
		FIELD(drm_npumem_dev_query, answer.size, UINT64_MAX, -E2BIG),
	};

	spoil_fields(_metadata, self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &valid, fields,
		     ARRAY_SIZE(fields));
}

TEST_F(uapi, info_is_what_the_header_says)
{
	struct drm_npumem_info info;

	ASSERT_EQ(0, npu_info(self->fd, &info));
	EXPECT_EQ(NPUMEM_UAPI_MAJOR, info.uapi_major);
	EXPECT_EQ(NPUMEM_UAPI_MINOR, info.uapi_minor);
	EXPECT_EQ(NPUMEM_BLOB_MAX_BYTES, info.max_blob_bytes);
	EXPECT_LT(0, info.max_log_bytes);
	EXPECT_LT(0, info.max_accesses);
	EXPECT_LT(0, info.max_chunks);
	EXPECT_LT(0, info.max_jobs);
	EXPECT_LT(0, info.max_syncs);
	EXPECT_LT(0, info.max_requests);
	EXPECT_LT(0, info.max_submit_work);
	EXPECT_LT(0, info.max_queued_jobs);
	EXPECT_EQ(1, info.bank_count);
	EXPECT_LE(1, info.engine_count);
	EXPECT_EQ(0, info.daemon);
}

TEST_F(uapi, graph_create_fields)
{
	const struct drm_npumem_graph_create valid = {
		.blob = NPU_BYTES(self->graph_blob.data, self->graph_blob.size),
		.log = npu_log(&self->log, 2),
		.verdict = NPU_BUFFER(self->verdict),
		/* Out only: whatever stands there is ignored. */
		.handle = 0xffffffff,
	};
	static const struct field fields[] = {
		FIELD(drm_npumem_graph_create, blob.ptr, 0, -EINVAL),
		FIELD(drm_npumem_graph_create, blob.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_graph_create, blob.size, 0, -EBADMSG),
		FIELD(drm_npumem_graph_create, blob.size, NPUMEM_BLOB_MAX_BYTES + 1, -E2BIG),
		FIELD(drm_npumem_graph_create, blob.size, UINT64_MAX, -E2BIG),
		FIELD(drm_npumem_graph_create, flags, 1, -EINVAL),
		FIELD(drm_npumem_graph_create, log.level, 3, -EINVAL),
		FIELD(drm_npumem_graph_create, log.level, 0, -EINVAL),
		FIELD(drm_npumem_graph_create, log.pad, 1, -EINVAL),
		FIELD(drm_npumem_graph_create, log.text.size, 0xffffffff, -E2BIG),
		FIELD(drm_npumem_graph_create, log.text.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_graph_create, log.text.ptr, 0, 0),
		FIELD(drm_npumem_graph_create, verdict.size, NPUMEM_MAX_RECORD + 1, -E2BIG),
		FIELD(drm_npumem_graph_create, verdict.size, UINT64_MAX, -E2BIG),
		FIELD(drm_npumem_graph_create, verdict.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_graph_create, verdict.ptr, 0, 0),
	};

	spoil_fields(_metadata, self->fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &valid, fields,
		     ARRAY_SIZE(fields));
}

TEST_F(uapi, plan_load_fields)
{
	const struct drm_npumem_plan_load valid = {
		.graph = self->w.graph,
		.blob = NPU_BYTES(self->plan_blob.data, self->plan_blob.size),
		.log = npu_log(&self->log, 2),
		.verdict = NPU_BUFFER(self->verdict),
		.handle = 0xffffffff,
	};
	static const struct field fields[] = {
		FIELD(drm_npumem_plan_load, graph, 0, -ENOENT),
		FIELD(drm_npumem_plan_load, graph, 0x7fffffff, -ENOENT),
		FIELD(drm_npumem_plan_load, flags, 1, -EINVAL),
		FIELD(drm_npumem_plan_load, pad, 1, -EINVAL),
		FIELD(drm_npumem_plan_load, blob.ptr, 0, -EINVAL),
		FIELD(drm_npumem_plan_load, blob.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_plan_load, blob.size, 0, -EBADMSG),
		FIELD(drm_npumem_plan_load, blob.size, NPUMEM_BLOB_MAX_BYTES + 1, -E2BIG),
		FIELD(drm_npumem_plan_load, blob.size, UINT64_MAX, -E2BIG),
		FIELD(drm_npumem_plan_load, log.level, 3, -EINVAL),
		FIELD(drm_npumem_plan_load, log.level, 0, -EINVAL),
		FIELD(drm_npumem_plan_load, log.pad, 1, -EINVAL),
		FIELD(drm_npumem_plan_load, log.text.size, 0xffffffff, -E2BIG),
		FIELD(drm_npumem_plan_load, log.text.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_plan_load, log.text.ptr, 0, 0),
		FIELD(drm_npumem_plan_load, verdict.size, NPUMEM_MAX_RECORD + 1, -E2BIG),
		FIELD(drm_npumem_plan_load, verdict.size, UINT64_MAX, -E2BIG),
		FIELD(drm_npumem_plan_load, verdict.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_plan_load, verdict.ptr, 0, 0),
	};

	spoil_fields(_metadata, self->fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &valid, fields,
		     ARRAY_SIZE(fields));
}

TEST_F(uapi, plan_read)
{
	struct drm_npumem_plan_read args = { .handle = self->w.plan };

	/* Sizes only. */
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_READ, &args));
	EXPECT_EQ(NPUMEM_PLAN_STATE_READY, args.state);
	EXPECT_EQ(0, args.error);
	EXPECT_EQ(self->plan_blob.size, args.blob.size);
	EXPECT_EQ(self->graph_blob.size, args.graph.size);
	EXPECT_EQ(1, args.message.size);
	EXPECT_EQ(sizeof(struct npumem_verdict), args.verdict.size);
	EXPECT_EQ(self->model.info.arena_size, args.arena_size);
	EXPECT_EQ(0, args.host_size);
	EXPECT_EQ(self->model.info.lower_bound, args.lower_bound);
	EXPECT_LE(CHAIN_TENSORS, args.tile_states);
	EXPECT_NE(0, args.verify_ns);

	/* The blob, with zeros behind it, and cut short; no text, and no verdict. */
	memset(self->out, 0xff, sizeof(self->out));
	memset(&self->verdict, 0xff, sizeof(self->verdict));
	memset(self->log.text, 0xff, sizeof(self->log.text));
	args.blob = NPU_BUFFER(self->out);
	args.message = NPU_BUFFER(self->log.text);
	args.verdict = NPU_BUFFER(self->verdict);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_READ, &args));
	EXPECT_EQ(self->plan_blob.size, args.blob.size);
	EXPECT_EQ(0, memcmp(self->out, self->plan_blob.data, args.blob.size));
	EXPECT_TRUE(
		npu_all_bytes(self->out + args.blob.size, sizeof(self->out) - args.blob.size, 0));
	EXPECT_TRUE(npu_all_bytes(self->log.text, sizeof(self->log.text), 0));
	EXPECT_TRUE(npu_all_bytes(&self->verdict, sizeof(self->verdict), 0));
	memset(self->out, 0xff, sizeof(self->out));
	args.blob = NPU_BYTES(self->out, 16);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_READ, &args));
	EXPECT_EQ(self->plan_blob.size, args.blob.size);
	EXPECT_EQ(0, memcmp(self->out, self->plan_blob.data, 16));
	EXPECT_EQ(0xff, self->out[16]);

	/* The graph that it was loaded for, likewise. */
	args.blob = (struct drm_npumem_buffer){ 0 };
	args.graph = NPU_BUFFER(self->out);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_READ, &args));
	EXPECT_EQ(self->plan_blob.size, args.blob.size);
	EXPECT_EQ(self->graph_blob.size, args.graph.size);
	EXPECT_EQ(0, memcmp(self->out, self->graph_blob.data, args.graph.size));
	EXPECT_TRUE(
		npu_all_bytes(self->out + args.graph.size, sizeof(self->out) - args.graph.size, 0));
	memset(self->out, 0xff, sizeof(self->out));
	args.graph = NPU_BYTES(self->out, 16);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_READ, &args));
	EXPECT_EQ(self->graph_blob.size, args.graph.size);
	EXPECT_EQ(0, memcmp(self->out, self->graph_blob.data, 16));
	EXPECT_EQ(0xff, self->out[16]);
}

TEST_F(uapi, plan_read_fields)
{
	const struct drm_npumem_plan_read valid = {
		.handle = self->w.plan,
		.blob = NPU_BUFFER(self->out),
		.graph = NPU_BUFFER(self->out),
		.message = NPU_BUFFER(self->log.text),
		.verdict = NPU_BUFFER(self->verdict),
	};
	static const struct field fields[] = {
		FIELD(drm_npumem_plan_read, handle, 0, -ENOENT),
		FIELD(drm_npumem_plan_read, handle, 0x7fffffff, -ENOENT),
		FIELD(drm_npumem_plan_read, pad, 1, -EINVAL),
		FIELD(drm_npumem_plan_read, blob.ptr, 0, 0),
		FIELD(drm_npumem_plan_read, blob.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_plan_read, blob.size, NPUMEM_BLOB_MAX_BYTES + 1, -E2BIG),
		FIELD(drm_npumem_plan_read, graph.ptr, 0, 0),
		FIELD(drm_npumem_plan_read, graph.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_plan_read, graph.size, NPUMEM_BLOB_MAX_BYTES + 1, -E2BIG),
		FIELD(drm_npumem_plan_read, message.ptr, 0, 0),
		FIELD(drm_npumem_plan_read, message.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_plan_read, message.size, 0xffffffff, -E2BIG),
		FIELD(drm_npumem_plan_read, verdict.size, NPUMEM_MAX_RECORD + 1, -E2BIG),
		FIELD(drm_npumem_plan_read, verdict.size, UINT64_MAX, -E2BIG),
		FIELD(drm_npumem_plan_read, verdict.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_plan_read, verdict.ptr, 0, 0),
	};

	spoil_fields(_metadata, self->fd, DRM_IOCTL_NPUMEM_PLAN_READ, &valid, fields,
		     ARRAY_SIZE(fields));
}

/* ----------------------------------------------------------------- verdicts */

/* A plan that breaks V4: A on top of X, which is being read. */
static int load_bad_plan(FIXTURE_DATA(uapi) * self, struct drm_npumem_buffer *verdict)
{
	struct npumem_placement *places =
		blob_records(&self->plan_blob, NPUMEM_PLAN_SECTION_PLACEMENTS);
	struct drm_npumem_plan_load args = {
		.graph = self->w.graph,
		.blob = NPU_BYTES(self->plan_blob.data, self->plan_blob.size),
		.verdict = *verdict,
	};
	int err;

	places[CHAIN_A].offset = places[CHAIN_X].offset;
	err = npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args);
	*verdict = args.verdict;
	return err;
}

/* Whatever room there is for it: the beginning, zeros behind, and the size that it has. */
TEST_F(uapi, verdicts_of_all_sizes)
{
	struct npumem_verdict whole;
	struct drm_npumem_buffer buffer = NPU_BUFFER(whole);
	size_t size;

	ASSERT_EQ(-EINVAL, load_bad_plan(self, &buffer));
	ASSERT_EQ(sizeof(whole), buffer.size);
	ASSERT_EQ(NPUMEM_RULE_V4_WRITE, whole.rule);
	EXPECT_EQ(CHAIN_A, whole.tensor);
	EXPECT_TRUE(npu_all_bytes(whole.reserved, sizeof(whole.reserved), 0));
	for (size = 0; size <= 2 * sizeof(whole); size++) {
		memset(self->out, 0xff, sizeof(self->out));
		buffer = NPU_BYTES(self->out, size);
		ASSERT_EQ(-EINVAL, load_bad_plan(self, &buffer));
		EXPECT_EQ(sizeof(whole), buffer.size);
		EXPECT_EQ(0,
			  memcmp(self->out, &whole, size < sizeof(whole) ? size : sizeof(whole)));
		if (size > sizeof(whole))
			EXPECT_TRUE(
				npu_all_bytes(self->out + sizeof(whole), size - sizeof(whole), 0));
		EXPECT_EQ(0xff, self->out[size]);
	}
	/* Nobody wants it: the size is told all the same, and may be given back. */
	buffer = (struct drm_npumem_buffer){ 0 };
	for (size = 0; size < 2; size++) {
		EXPECT_EQ(-EINVAL, load_bad_plan(self, &buffer));
		EXPECT_EQ(sizeof(whole), buffer.size);
		EXPECT_EQ(0, buffer.ptr);
	}
}

/* Of a call that is refused for something else it is all zero, as of one that succeeds. */
TEST_F(uapi, verdict_of_no_rule)
{
	struct drm_npumem_plan_load args = {
		.graph = 0x7fffffff,
		.blob = NPU_BYTES(self->plan_blob.data, self->plan_blob.size),
		.verdict = NPU_BUFFER(self->verdict),
	};

	args.graph = self->w.graph;
	args.blob.ptr = NPU_UNMAPPED;
	memset(&self->verdict, 0xff, sizeof(self->verdict));
	EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args));
	EXPECT_TRUE(npu_all_bytes(&self->verdict, sizeof(self->verdict), 0));
	args.blob = NPU_BYTES(self->plan_blob.data, self->plan_blob.size);
	memset(&self->verdict, 0xff, sizeof(self->verdict));
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args));
	EXPECT_TRUE(npu_all_bytes(&self->verdict, sizeof(self->verdict), 0));
}

/* EFAULT of a verdict hides no errno, and is said where there is none. */
TEST_F(uapi, verdict_in_memory_that_is_not_mapped)
{
	struct drm_npumem_buffer nowhere = NPU_BYTES(NPU_UNMAPPED, sizeof(struct npumem_verdict));
	struct drm_npumem_buffer buffer = nowhere;
	struct drm_npumem_graph_create graph = {
		.blob = NPU_BYTES(self->graph_blob.data, 8),
		.verdict = nowhere,
	};
	struct drm_npumem_submit submit = {
		.run = self->w.run,
		.jobs = NPU_ARRAY(&self->job, 1),
		.verdict = nowhere,
	};

	EXPECT_EQ(-EINVAL, load_bad_plan(self, &buffer));
	EXPECT_EQ(-EBADMSG, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &graph));
	/* The last step, before the others. */
	self->job.first_position = CHAIN_LAST;
	EXPECT_EQ(-EPERM, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &submit));
	EXPECT_EQ(0, submit.failed_job);
	/* What would go does not, and no state has moved. */
	self->job.first_position = 0;
	submit.verdict = nowhere;
	EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &submit));
	EXPECT_EQ(NPUMEM_NONE, submit.failed_job);
	submit.verdict.ptr = 0;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &submit));
	EXPECT_EQ(0, world_wait(&self->w));
}

TEST_F(uapi, destroy_and_reset_fields)
{
	static const struct {
		unsigned long request;
		size_t handle; /* of the world */
	} cases[] = {
		{ DRM_IOCTL_NPUMEM_RUN_RESET, offsetof(struct world, run) },
		{ DRM_IOCTL_NPUMEM_RUN_DESTROY, offsetof(struct world, run) },
		{ DRM_IOCTL_NPUMEM_PLAN_DESTROY, offsetof(struct world, plan) },
		{ DRM_IOCTL_NPUMEM_GRAPH_DESTROY, offsetof(struct world, graph) },
	};
	struct drm_npumem_handle args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(&args.handle, (uint8_t *)&self->w + cases[i].handle, sizeof(args.handle));
		args.pad = 1;
		EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, cases[i].request, &args));
		args.pad = 0;
		EXPECT_EQ(0, npu_ioctl(self->fd, cases[i].request, &args));
		if (cases[i].request != DRM_IOCTL_NPUMEM_RUN_RESET)
			EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, cases[i].request, &args));
		EXPECT_EQ(-ENOENT, world_destroy(self->fd, cases[i].request, 0));
		EXPECT_EQ(-ENOENT, world_destroy(self->fd, cases[i].request, 0x7fffffff));
	}
}

static int submit_one(int fd, uint32_t run, const struct drm_npumem_job *job)
{
	struct drm_npumem_submit args = { .run = run, .jobs = NPU_ARRAY(job, 1) };

	return npu_ioctl(fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
}

TEST_F(uapi, run_query_fields)
{
	static const struct field fields[] = {
		FIELD(drm_npumem_run_query, run, 0, -ENOENT),
		FIELD(drm_npumem_run_query, flags, 1, -EINVAL),
		FIELD(drm_npumem_run_query, verdict.size, NPUMEM_MAX_RECORD + 1, -E2BIG),
		FIELD(drm_npumem_run_query, verdict.size, UINT64_MAX, -E2BIG),
		FIELD(drm_npumem_run_query, verdict.ptr, NPU_UNMAPPED, -EFAULT),
		FIELD(drm_npumem_run_query, verdict.ptr, 0, 0),
	};
	struct drm_npumem_run_query args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		memset(&args, 0, sizeof(args));
		args.run = self->w.run;
		args.verdict = NPU_BUFFER(self->verdict);
		memcpy((uint8_t *)&args + fields[i].offset, &fields[i].value, fields[i].size);
		EXPECT_EQ(fields[i].err, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &args))
		TH_LOG("field: %s", fields[i].name);
		if (!fields[i].err)
			EXPECT_EQ(sizeof(struct npumem_verdict), args.verdict.size);
	}
}

TEST_F(uapi, submit_fields)
{
	struct drm_npumem_submit args;
	static const struct field fields[] = {
		FIELD(drm_npumem_submit, run, 0, -ENOENT),
		FIELD(drm_npumem_submit, run, 0x7fffffff, -ENOENT),
		FIELD(drm_npumem_submit, flags, 1, -EINVAL),
		FIELD(drm_npumem_submit, pad, 1, -EINVAL),
		FIELD(drm_npumem_submit, jobs.count, 0, -EINVAL),
		FIELD(drm_npumem_submit, verdict.size, NPUMEM_MAX_RECORD + 1, -E2BIG),
		FIELD(drm_npumem_submit, verdict.size, UINT64_MAX, -E2BIG),
		FIELD(drm_npumem_submit, verdict.ptr, NPU_UNMAPPED, -EFAULT),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		memset(&args, 0, sizeof(args));
		args.run = self->w.run;
		args.jobs = NPU_ARRAY(&self->job, 1);
		args.verdict = NPU_BUFFER(self->verdict);
		memcpy((uint8_t *)&args + fields[i].offset, &fields[i].value, fields[i].size);
		EXPECT_EQ(fields[i].err, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args))
		TH_LOG("field: %s", fields[i].name);
	}
	EXPECT_EQ(0, submit_one(self->fd, self->w.run, &self->job));
}

TEST_F(uapi, job_fields)
{
	static const struct field fields[] = {
		FIELD(drm_npumem_job, first_position, CHAIN_STEPS, -EINVAL),
		FIELD(drm_npumem_job, first_position, 0xffffffff, -EINVAL),
		FIELD(drm_npumem_job, position_count, 0, -EINVAL),
		FIELD(drm_npumem_job, position_count, CHAIN_STEPS + 1, -EINVAL),
		FIELD(drm_npumem_job, position_count, 0xffffffff, -EINVAL),
		FIELD(drm_npumem_job, engine, 0x7fffffff, -EINVAL),
		/* An edge has no positions, and this plan no edges. */
		FIELD(drm_npumem_job, flags, NPUMEM_JOB_EDGE, -EINVAL),
		FIELD(drm_npumem_job, flags, NPUMEM_JOB_EDGE << 1, -EINVAL),
		/* Commands without a size, and a size without commands. */
		FIELD(drm_npumem_job, commands.ptr, 8, -EINVAL),
		FIELD(drm_npumem_job, commands.size, 16, -EINVAL),
	};
	struct drm_npumem_job job;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		job = self->job;
		memcpy((uint8_t *)&job + fields[i].offset, &fields[i].value, fields[i].size);
		EXPECT_EQ(fields[i].err, submit_one(self->fd, self->w.run, &job))
		TH_LOG("field: %s", fields[i].name);
	}
	EXPECT_EQ(0, submit_one(self->fd, self->w.run, &self->job));
}

/* What is wrong with commands: of any engine first, then of engine "sim". */
TEST_F(uapi, job_commands)
{
	static const struct {
		struct npumem_sim_command command;
		int err;
	} cases[] = {
		{ { .op = NPUMEM_SIM_FILL, .value = 255 }, 0 },
		{ { .op = NPUMEM_SIM_FILL, .value = 256 }, -EINVAL },
		{ { .op = NPUMEM_SIM_FILL, .pad = 1 }, -EINVAL },
		{ { .op = NPUMEM_SIM_NOP }, 0 },
		{ { .op = NPUMEM_SIM_NOP, .value = 1 }, -EINVAL },
		{ { .op = NPUMEM_SIM_COPY, .value = 1 }, -EINVAL },
		{ { .op = NPUMEM_SIM_MIX, .value = UINT64_MAX }, 0 },
		{ { .op = NPUMEM_SIM_MIX + 1 }, -EINVAL },
		{ { .op = UINT32_MAX }, -EINVAL },
	};
	struct drm_npumem_job job = self->job;
	struct drm_npumem_info info;
	struct npumem_sim_command *command;
	uint8_t *bytes;
	size_t i;

	ASSERT_EQ(0, npu_info(self->fd, &info));
	ASSERT_LE(4096, info.max_commands);
	bytes = calloc(1, info.max_commands + 1);
	command = (struct npumem_sim_command *)bytes;
	job.commands = NPU_BYTES(bytes, sizeof(*command));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		*command = cases[i].command;
		EXPECT_EQ(cases[i].err, submit_one(self->fd, self->w.run, &job))
		TH_LOG("case: %zu", i);
		ASSERT_EQ(0, world_wait(&self->w));
		ASSERT_EQ(0, world_reset(&self->w));
	}
	*command = (struct npumem_sim_command){ .op = NPUMEM_SIM_MIX };
	/* "sim" has one command a job. */
	for (job.commands.size = 1; job.commands.size <= 40; job.commands.size++)
		EXPECT_EQ(job.commands.size == sizeof(*command) ? 0 : -EINVAL,
			  submit_one(self->fd, self->w.run, &job));
	job.commands.size = info.max_commands;
	EXPECT_EQ(-EINVAL, submit_one(self->fd, self->w.run, &job));
	job.commands.size = info.max_commands + 1;
	EXPECT_EQ(-E2BIG, submit_one(self->fd, self->w.run, &job));
	job.commands.size = UINT64_MAX;
	EXPECT_EQ(-E2BIG, submit_one(self->fd, self->w.run, &job));
	/* They are read from user memory, once, and nothing else. */
	job.commands = NPU_BYTES(8, sizeof(*command));
	EXPECT_EQ(-EFAULT, submit_one(self->fd, self->w.run, &job));
	job.commands.ptr = UINT64_MAX - 7;
	EXPECT_EQ(-EFAULT, submit_one(self->fd, self->w.run, &job));
	ASSERT_EQ(0, world_wait(&self->w));
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_EQ(0, submit_one(self->fd, self->w.run, &self->job));
	free(bytes);
}

/* All jobs together have a limit, too. What is below it is the engine's to refuse. */
TEST_F(uapi, commands_of_a_submit)
{
	struct drm_npumem_job jobs[128];
	struct drm_npumem_submit args = { .run = self->w.run };
	struct drm_npumem_info info;
	uint32_t most, i;
	void *bytes;

	ASSERT_EQ(0, npu_info(self->fd, &info));
	most = info.max_submit_commands / info.max_commands;
	ASSERT_EQ(info.max_submit_commands, (uint64_t)most * info.max_commands);
	ASSERT_LT(most, ARRAY_SIZE(jobs));
	bytes = calloc(1, info.max_commands);
	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i] = self->job;
		jobs[i].commands = NPU_BYTES(bytes, info.max_commands);
	}
	args.jobs = NPU_ARRAY(jobs, most);
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	EXPECT_EQ(0, args.failed_job);
	/* One byte too many. */
	jobs[most].commands.size = 1;
	args.jobs.count = most + 1;
	EXPECT_EQ(-E2BIG, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	EXPECT_EQ(most, args.failed_job);
	free(bytes);
}

TEST_HARNESS_MAIN
