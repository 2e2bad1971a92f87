// SPDX-License-Identifier: MIT
/*
 * GRAPH_CREATE: blobs that are cut short, contradict themselves, count too much,
 * or break a rule of the format, each with the errno, the rule and the words
 * that say where. Each is a good blob but for one field.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_refused.h"

static int create(struct offers *offers, const struct blob *blob)
{
	struct drm_npumem_graph_create args = {
		.blob = NPU_BYTES(blob->data, blob->size),
		.log = npu_log(&offers->log, 1),
		.verdict = NPU_BUFFER(offers->verdict),
	};
	int err = npu_ioctl(offers->fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &args);

	offers->handle = args.handle;
	offers->log_size = args.log.text.size;
	return err;
}

FIXTURE(graph)
{
	struct offers offers;
};

FIXTURE_SETUP(graph)
{
	self->offers = (struct offers){
		.fd = npu_open(),
		.model = model_chain(),
		.make = model_graph,
		.call = create,
	};
	ASSERT_GE(self->offers.fd, 0);
}

FIXTURE_TEARDOWN(graph)
{
	model_free(&self->offers.model);
	close(self->offers.fd);
}

#define HUGE	 0x1000000000000000ull
#define TENSORS	 NPUMEM_GRAPH_SECTION_TENSORS
#define TILES	 NPUMEM_GRAPH_SECTION_TILES
#define ACCESSES NPUMEM_GRAPH_SECTION_ACCESSES
#define STEPS	 NPUMEM_GRAPH_SECTION_STEPS
#define BLOCKS	 NPUMEM_GRAPH_SECTION_BLOCKS
#define FORMAT	 NPUMEM_RULE_FORMAT

TEST_F(graph, framing)
{
	static const struct blob_edit edits[] = {
		EDIT_HEADER(magic, NPUMEM_PLAN_MAGIC, -EBADMSG,
			    "format: magic is 0x4c50504e, expected 0x5247504e\n"),
		EDIT_HEADER(version, 2, -EOPNOTSUPP, "format: version 2, only 1 is known\n"),
		EDIT_HEADER(total_size, 8, -EBADMSG, "format: total_size is 8, the blob has "),
		EDIT_HEADER(total_size, UINT64_MAX, -EBADMSG,
			    "format: total_size is 18446744073709551615, the blob has "),
		EDIT_HEADER(section_count, 33, -EBADMSG, "format: 33 sections, at most 32\n"),
		EDIT_HEADER(section_count, 0xffffffff, -EBADMSG,
			    "format: 4294967295 sections, at most 32\n"),
		EDIT_HEADER(section_count, 0, -EBADMSG, "format: "),
		EDIT_HEADER(section_stride, 24, -EBADMSG, "format: section_stride is 24\n"),
		EDIT_HEADER(section_stride, 36, -EBADMSG, "format: section_stride is 36\n"),
		EDIT_HEADER(section_stride, 0xfffffff8, -EBADMSG,
			    "format: section table of 21474836440 bytes ends beyond the blob\n"),
		EDIT_HEADER(flags, 1, -EBADMSG, "format: header's flags or pad not zero\n"),
		EDIT_HEADER(pad, 1, -EBADMSG, "format: header's flags or pad not zero\n"),
	};

	spoil(_metadata, &self->offers, edits, ARRAY_SIZE(edits));
}

TEST_F(graph, section_table)
{
	static const struct blob_edit edits[] = {
		EDIT_ENTRY(TILES, kind, 0, -EBADMSG, FORMAT,
			   "format: section 1 is of unknown kind 0\n"),
		EDIT_ENTRY(TILES, kind, 9, -EOPNOTSUPP, FORMAT,
			   "format: section 1 is of unknown kind 9\n"),
		EDIT_ENTRY(TILES, kind, TENSORS, -EBADMSG, FORMAT,
			   "format: sections 0 and 1 are of the same kind 1\n"),
		EDIT_ENTRY(TENSORS, kind, NPUMEM_SECTION_OPAQUE + 7, -EBADMSG, FORMAT, "format: "),
		EDIT_ENTRY(TILES, stride, 56, -EBADMSG, FORMAT,
			   "format: stride of section 1 (tiles) is 56, needs 64 or more, "
			   "multiple of 8\n"),
		EDIT_ENTRY(TILES, stride, 68, -EBADMSG, FORMAT,
			   "format: stride of section 1 (tiles) is 68, needs 64 or more, "
			   "multiple of 8\n"),
		EDIT_ENTRY(TILES, offset, 32, -EBADMSG, FORMAT,
			   "format: offset of section 1 (tiles) is 32\n"),
		EDIT_ENTRY(TILES, offset, 196, -EBADMSG, FORMAT,
			   "format: offset of section 1 (tiles) is 196\n"),
		EDIT_ENTRY(TILES, offset, HUGE, -EBADMSG, FORMAT,
			   "format: offset of section 1 (tiles) is 1152921504606846976\n"),
		EDIT_ENTRY(TILES, offset, 192, -EBADMSG, FORMAT,
			   "format: sections 0 and 1 overlap\n"),
		EDIT_ENTRY(TILES, count, 1000, -EBADMSG, FORMAT,
			   "format: section 1 (tiles) of 1000 records ends beyond the blob\n"),
		EDIT_ENTRY(TILES, count, HUGE, -EBADMSG, FORMAT,
			   "format: section 1 (tiles) of 1152921504606846976 records ends beyond "
			   "the blob\n"),
		EDIT_ENTRY(TILES, count, UINT64_MAX, -EBADMSG, FORMAT,
			   "format: section 1 (tiles) of 18446744073709551615 records ends beyond "
			   "the blob\n"),
		EDIT_ENTRY(TILES, count, 0, -EBADMSG, FORMAT, "format: "),
		EDIT_ENTRY(TILES, pad, 1, -EBADMSG, FORMAT,
			   "format: padding of section 1 (tiles) not zero\n"),
	};

	spoil(_metadata, &self->offers, edits, ARRAY_SIZE(edits));
}

TEST_F(graph, tensors)
{
	static const struct blob_edit edits[] = {
		EDIT(TENSORS, npumem_tensor, 1, size, 0, -EINVAL, FORMAT,
		     "format: tensor 1: its size is zero\n"),
		EDIT(TENSORS, npumem_tensor, 1, fixed_offset, 64, -EINVAL, FORMAT,
		     "format: tensor 1: fixed_offset without FIXED\n"),
		EDIT(TENSORS, npumem_tensor, 1, alias_offset, 8, -EINVAL, FORMAT,
		     "format: tensor 1: alias_of or alias_offset without ALIAS\n"),
		EDIT(TENSORS, npumem_tensor, 1, alias_of, 0, -EINVAL, FORMAT,
		     "format: tensor 1: alias_of or alias_offset without ALIAS\n"),
		EDIT(TENSORS, npumem_tensor, 1, align, 0, -EINVAL, FORMAT,
		     "format: tensor 1: its align is not a power of two up to 65536\n"),
		EDIT(TENSORS, npumem_tensor, 1, align, 3, -EINVAL, FORMAT,
		     "format: tensor 1: its align is not a power of two up to 65536\n"),
		EDIT(TENSORS, npumem_tensor, 1, align, 131072, -EINVAL, FORMAT,
		     "format: tensor 1: its align is not a power of two up to 65536\n"),
		EDIT(TENSORS, npumem_tensor, 1, kind, 5, -EINVAL, FORMAT,
		     "format: tensor 1: its kind is unknown\n"),
		EDIT(TENSORS, npumem_tensor, 1, flags, 16, -EINVAL, FORMAT,
		     "format: tensor 1: it has unknown flags\n"),
		EDIT(TENSORS, npumem_tensor, 1, flags,
		     NPUMEM_TENSOR_FLAG_EXTERNAL | NPUMEM_TENSOR_FLAG_FIXED, -EINVAL, FORMAT,
		     "format: tensor 1: EXTERNAL excludes FIXED and ALIAS\n"),
		EDIT(TENSORS, npumem_tensor, 1, flags,
		     NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_FIXED, -EINVAL, FORMAT,
		     "format: tensor 1: ALIAS excludes FIXED\n"),
		EDIT(TENSORS, npumem_tensor, 1, flags, NPUMEM_TENSOR_FLAG_ALIAS, -EINVAL, FORMAT,
		     "format: tensor 1: alias_of is not a tensor\n"),
		EDIT(TENSORS, npumem_tensor, 1, flags, NPUMEM_TENSOR_FLAG_HOST, -EINVAL, FORMAT,
		     "format: tensor 1: HOST is for inputs and parameters\n"),
		EDIT(TENSORS, npumem_tensor, 1, name, 0, -EINVAL, FORMAT,
		     "format: tensor 1: its name lies outside section strings\n"),
		EDIT(TENSORS, npumem_tensor, 1, pad, 1, -EINVAL, FORMAT,
		     "format: tensor 1: its pad is not zero\n"),
	};

	spoil(_metadata, &self->offers, edits, ARRAY_SIZE(edits));
}

TEST_F(graph, tiles)
{
	static const struct blob_edit edits[] = {
		EDIT(TILES, npumem_tile, 2, tensor, CHAIN_TENSORS, -EINVAL, FORMAT,
		     "format: tile 2: tensor 4 is not there\n"),
		EDIT(TILES, npumem_tile, 2, tensor, NPUMEM_NONE, -EINVAL, FORMAT,
		     "format: tile 2: tensor 4294967295 is not there\n"),
		EDIT(TILES, npumem_tile, 2, flags, 1, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: it has unknown flags (used by step 1)\n"),
		EDIT(TILES, npumem_tile, 2, region.offset, 1, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: it ends beyond the tensor (used by step 1)\n"),
		EDIT(TILES, npumem_tile, 2, region.offset, UINT64_MAX, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: it ends beyond the tensor (used by step 1)\n"),
		EDIT(TILES, npumem_tile, 2, region.length, 0, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: its length is zero (used by step 1)\n"),
		EDIT(TILES, npumem_tile, 2, region.length, CHAIN_SIZE + 1, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: it ends beyond the tensor (used by step 1)\n"),
		EDIT(TILES, npumem_tile, 2, region.length, UINT64_MAX, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: it ends beyond the tensor (used by step 1)\n"),
		EDIT(TILES, npumem_tile, 2, region.count[0], 0, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: a count is zero (used by step 1)\n"),
		EDIT(TILES, npumem_tile, 2, region.count[2], 0, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: a count is zero (used by step 1)\n"),
		EDIT(TILES, npumem_tile, 2, region.count[1], 0xffffffff, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: a stride is too small, repetitions overlap (used by step 1)\n"),
		EDIT(TILES, npumem_tile, 2, region.stride[0], 256, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: a stride is not zero where the count is 1 (used by step 1)\n"),
		EDIT(TILES, npumem_tile, 2, region.pad, 1, -EINVAL, FORMAT,
		     "format: tile 2 of tensor 2: its pad is not zero (used by step 1)\n"),
	};
	struct npumem_region *region = &self->offers.model.tiles[2].region;

	spoil(_metadata, &self->offers, edits, ARRAY_SIZE(edits));

	/* Strides: overlapping, and beyond what 64 bits count. */
	region->length = 8;
	region->count[0] = 4;
	region->stride[0] = 7;
	refused(_metadata, &self->offers, -EINVAL, FORMAT,
		"format: tile 2 of tensor 2: a stride is too small, repetitions overlap (used by step 1)\n");
	region->stride[0] = UINT64_MAX;
	refused(_metadata, &self->offers, -EINVAL, FORMAT,
		"format: tile 2 of tensor 2: it ends beyond the tensor (used by step 1)\n");
	region->stride[0] = 8;
	region->count[1] = 2;
	region->stride[1] = 31;
	refused(_metadata, &self->offers, -EINVAL, FORMAT,
		"format: tile 2 of tensor 2: a stride is too small, repetitions overlap (used by step 1)\n");
}

TEST_F(graph, accesses)
{
	static const struct blob_edit edits[] = {
		EDIT(ACCESSES, npumem_access, 2, tile, CHAIN_TENSORS, -EINVAL, FORMAT,
		     "format: access 0 of step 1: its tile is not there\n"),
		EDIT(ACCESSES, npumem_access, 2, mode, 0, -EINVAL, FORMAT,
		     "format: access 0 of step 1: its mode is unknown\n"),
		EDIT(ACCESSES, npumem_access, 2, mode, 4, -EINVAL, FORMAT,
		     "format: access 0 of step 1: its mode is unknown\n"),
		EDIT(ACCESSES, npumem_access, 2, flags, 1, -EINVAL, FORMAT,
		     "format: access 0 of step 1: it has unknown flags\n"),
		EDIT(ACCESSES, npumem_access, 2, inplace, 1, -EINVAL, FORMAT,
		     "format: access 0 of step 1: inplace is for writes\n"),
		EDIT(ACCESSES, npumem_access, 3, inplace, 2, -EINVAL, FORMAT,
		     "format: access 1 of step 1: inplace is not an access of its step\n"),
		EDIT(ACCESSES, npumem_access, 3, inplace, 1, -EINVAL, FORMAT,
		     "format: access 1 of step 1: inplace is not a read\n"),
		EDIT(ACCESSES, npumem_access, 1, tile, CHAIN_X, -EINVAL, NPUMEM_RULE_V4_WRITE,
		     "V4 write: step 0 writes tile 0 of tensor 0, an input\n"),
		EDIT(ACCESSES, npumem_access, 0, mode, NPUMEM_ACCESS_UPDATE, -EINVAL,
		     NPUMEM_RULE_V4_WRITE,
		     "V4 write: step 0 writes tile 0 of tensor 0, an input\n"),
	};

	spoil(_metadata, &self->offers, edits, ARRAY_SIZE(edits));
	self->offers.model.tensors[CHAIN_X].kind = NPUMEM_TENSOR_PARAMETER;
	self->offers.model.accesses[0].mode = NPUMEM_ACCESS_UPDATE;
	refused(_metadata, &self->offers, -EINVAL, NPUMEM_RULE_V4_WRITE,
		"V4 write: step 0 writes tile 0 of tensor 0, a parameter\n");
}

TEST_F(graph, steps_and_blocks)
{
	static const struct blob_edit edits[] = {
		EDIT(STEPS, npumem_step, 1, first_access, 3, -EINVAL, FORMAT,
		     "format: step 1: its accesses do not follow those of the step before\n"),
		EDIT(STEPS, npumem_step, 1, first_access, 1, -EINVAL, FORMAT,
		     "format: step 1: its accesses do not follow those of the step before\n"),
		EDIT(STEPS, npumem_step, 1, access_count, 0, -EINVAL, FORMAT,
		     "format: step 1: it has no access\n"),
		EDIT(STEPS, npumem_step, 2, access_count, 3, -EINVAL, FORMAT,
		     "format: step 2: its accesses are not all there\n"),
		EDIT(STEPS, npumem_step, 2, access_count, 0xffffffff, -EINVAL, FORMAT,
		     "format: step 2: its accesses are not all there\n"),
		EDIT(STEPS, npumem_step, 2, access_count, 1, -EINVAL, FORMAT,
		     "format: access 5 belongs to no step\n"),
		EDIT(STEPS, npumem_step, 1, flags, 2, -EINVAL, FORMAT,
		     "format: step 1: it has unknown flags\n"),
		EDIT(STEPS, npumem_step, 1, name, 0, -EINVAL, FORMAT,
		     "format: step 1: its name lies outside section strings\n"),
		EDIT(BLOCKS, npumem_block, 0, first_step, 1, -EINVAL, FORMAT,
		     "format: block 0: its steps do not follow those of the block before\n"),
		EDIT(BLOCKS, npumem_block, 0, step_count, 4, -EINVAL, FORMAT,
		     "format: block 0: its steps are not all there\n"),
		EDIT(BLOCKS, npumem_block, 0, step_count, 2, -EINVAL, FORMAT,
		     "format: step 2 belongs to no block\n"),
		EDIT(BLOCKS, npumem_block, 0, flags, 1, -EINVAL, FORMAT,
		     "format: block 0: it has unknown flags\n"),
		EDIT(BLOCKS, npumem_block, 0, name, 0, -EINVAL, FORMAT,
		     "format: block 0: its name lies outside section strings\n"),
	};

	spoil(_metadata, &self->offers, edits, ARRAY_SIZE(edits));
}

TEST_F(graph, not_topological)
{
	/* MIX reads B, which LAST has yet to write. */
	self->offers.model.accesses[2].tile = CHAIN_B;
	self->offers.model.accesses[3].tile = CHAIN_Y;
	self->offers.model.accesses[4].tile = CHAIN_A;
	self->offers.model.accesses[5].tile = CHAIN_B;
	refused(_metadata, &self->offers, -EINVAL, NPUMEM_RULE_V3_READ,
		"V3 read: step 1 reads tile 2 of tensor 2, whose bytes [0, 256) no earlier step "
		"writes\n");
	EXPECT_EQ(1, self->offers.verdict.step);
	EXPECT_EQ(CHAIN_B, self->offers.verdict.tensor);
	EXPECT_EQ(CHAIN_B, self->offers.verdict.tile);
}

TEST_F(graph, read_of_what_its_own_step_writes)
{
	self->offers.model.accesses[2].tile = CHAIN_B;
	refused(_metadata, &self->offers, -EINVAL, NPUMEM_RULE_V3_READ,
		"V3 read: step 1 reads tile 2 of "
		"tensor 2, whose bytes [0, 256) no earlier step writes\n");
}

TEST_F(graph, read_of_what_is_written_in_part)
{
	self->offers.model.tiles[CHAIN_A].region.length = 100;
	self->offers.model.accesses[2].tile = model_whole(&self->offers.model, CHAIN_A);
	refused(_metadata, &self->offers, -EINVAL, NPUMEM_RULE_V3_READ,
		"V3 read: step 1 reads tile 4 of "
		"tensor 1, whose bytes [100, 256) no earlier step writes\n");
}

TEST_F(graph, written_twice)
{
	self->offers.model.accesses[3].tile = CHAIN_A;
	self->offers.model.accesses[4].tile = CHAIN_A;
	refused(_metadata, &self->offers, -EINVAL, NPUMEM_RULE_V4_WRITE,
		"V4 write: step 1 writes tile 1 of "
		"tensor 1, whose bytes [0, 256) step 0 writes too\n");
	EXPECT_EQ(0, self->offers.verdict.other_step);
}

TEST_F(graph, output_with_a_hole)
{
	self->offers.model.tiles[CHAIN_Y].region.length = 200;
	refused(_metadata, &self->offers, -EINVAL, NPUMEM_RULE_V7_EXIT,
		"V7 exit: bytes [200, 256) of output tensor 3 are never written\n");
}

TEST_F_TIMEOUT(graph, cut_short_anywhere, 600)
{
	struct blob whole = model_graph(&self->offers.model), cut = whole;
	uint8_t *copy;

	for (cut.size = 0; cut.size < whole.size; cut.size += 3) {
		/* As it is, and with a header that says so. */
		EXPECT_EQ(-EBADMSG, create(&self->offers, &cut)) TH_LOG("%zu bytes", cut.size);
		if (cut.size < sizeof(struct npumem_blob_header))
			continue;
		copy = malloc(cut.size);
		ASSERT_NE(NULL, copy);
		memcpy(copy, whole.data, cut.size);
		((struct npumem_blob_header *)copy)->total_size = cut.size;
		cut.data = copy;
		EXPECT_EQ(-EBADMSG, create(&self->offers, &cut))
		TH_LOG("%zu bytes, and says so", cut.size);
		cut.data = whole.data;
		free(copy);
	}
	EXPECT_EQ(0, create(&self->offers, &whole));
	blob_free(&whole);
}

TEST_F(graph, bytes_nobody_owns)
{
	struct blob blob = model_graph(&self->offers.model);

	/* A gap: the last section claims one record less. */
	blob_section(&blob, STEPS)->count--;
	EXPECT_EQ(-EBADMSG, create(&self->offers, &blob));
	EXPECT_STREQ("format: bytes between sections not zero\n", self->offers.log.text);
	blob_free(&blob);
}

TEST_F(graph, wider_records_of_a_newer_writer)
{
	struct blob old = model_graph(&self->offers.model), wide = { 0 };
	struct npumem_blob_section *section;
	uint64_t extra = CHAIN_TENSORS * 16ull;
	uint8_t *to;
	uint32_t i;

	/* The tensors move to the end and get 16 bytes more each. */
	wide.size = old.size + CHAIN_TENSORS * sizeof(struct npumem_tensor) + extra;
	wide.data = calloc(1, wide.size);
	ASSERT_NE(NULL, wide.data);
	memcpy(wide.data, old.data, old.size);
	memset(blob_records(&wide, TENSORS), 0, CHAIN_TENSORS * sizeof(struct npumem_tensor));
	blob_header(&wide)->total_size = wide.size;
	section = blob_section(&wide, TENSORS);
	section->offset = old.size;
	section->stride += 16;
	to = wide.data + old.size;
	for (i = 0; i < CHAIN_TENSORS; i++)
		memcpy(to + i * section->stride, &self->offers.model.tensors[i],
		       sizeof(struct npumem_tensor));
	EXPECT_EQ(0, create(&self->offers, &wide)) TH_LOG("%s", self->offers.log.text);

	to[2 * section->stride + section->stride - 1] = 1;
	EXPECT_EQ(-EBADMSG, create(&self->offers, &wide));
	EXPECT_STREQ("format: record 2 of section tensors has bytes beyond the 48 known that are "
		     "not zero\n",
		     self->offers.log.text);
	blob_free(&old);
	blob_free(&wide);
}

/* Few bytes that mean much work: capped before memory is allocated for it. */
TEST_F(graph, huge_counts_in_small_blobs)
{
	struct npumem_region *region;
	struct drm_npumem_info info;
	uint64_t tensor = 1ull << 40;

	ASSERT_EQ(0, npu_info(self->offers.fd, &info));
	self->offers.model.tensors[CHAIN_A].size = tensor;
	region = &self->offers.model.tiles[CHAIN_A].region;
	region->length = 1;
	region->count[0] = info.max_chunks + 1;
	region->stride[0] = 2;
	refused(_metadata, &self->offers, -E2BIG, NPUMEM_RULE_NONE, "limit: more than ");
	region->count[0] = 0xffffffff;
	region->stride[0] = 2;
	region->count[1] = 16;
	region->stride[1] = 1ull << 34;
	refused(_metadata, &self->offers, -E2BIG, NPUMEM_RULE_NONE, "limit: more than ");
}

TEST_F(graph, log_levels_and_truncation)
{
	struct blob good = model_graph(&self->offers.model), bad = model_graph(&self->offers.model);
	struct drm_npumem_graph_create args;
	struct npumem_verdict verdict;
	uint64_t size;

	blob_header(&bad)->flags = 1;
	/* Level 0: no log, the same verdict. */
	args = (struct drm_npumem_graph_create){
		.blob = NPU_BYTES(bad.data, bad.size),
		.log = npu_log(&self->offers.log, 0),
		.verdict = NPU_BUFFER(verdict),
	};
	EXPECT_EQ(-EBADMSG, npu_ioctl(self->offers.fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &args));
	EXPECT_EQ(NPUMEM_RULE_FORMAT, verdict.rule);
	EXPECT_EQ(offsetof(struct npumem_blob_header, flags), verdict.first);

	/* Level 1 says nothing of success; level 2 does. */
	EXPECT_EQ(0, create(&self->offers, &good));
	EXPECT_STREQ("", self->offers.log.text);
	EXPECT_EQ(1, self->offers.log_size);
	args = (struct drm_npumem_graph_create){
		.blob = NPU_BYTES(good.data, good.size),
		.log = npu_log(&self->offers.log, 2),
	};
	EXPECT_EQ(0, npu_ioctl(self->offers.fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &args));
	EXPECT_EQ(0, strncmp("graph: 4 tensors, 3 steps, 6 accesses, 4 cells, ",
			     self->offers.log.text, 48))
	TH_LOG("%s", self->offers.log.text);

	/* Cut short at every size: terminated, and nothing is written beyond. */
	EXPECT_EQ(-EBADMSG, create(&self->offers, &bad));
	size = self->offers.log_size;
	for (uint64_t room = 0; room <= size + 8; room++) {
		memset(self->offers.log.text, 'x', sizeof(self->offers.log.text));
		args.blob = NPU_BYTES(bad.data, bad.size);
		args.log.level = 1;
		args.log.text = NPU_BYTES(self->offers.log.text, room);
		EXPECT_EQ(-EBADMSG,
			  npu_ioctl(self->offers.fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &args));
		EXPECT_EQ(size, args.log.text.size);
		EXPECT_EQ('x', self->offers.log.text[room]);
		if (room && room <= size)
			EXPECT_EQ(room - 1, strlen(self->offers.log.text));
		/* Behind it there are zeros. */
		if (room > size)
			EXPECT_TRUE(npu_all_bytes(self->offers.log.text + size, room - size, 0));
	}

	/* Nowhere to write it: the reason of the refusal is not hidden. */
	args.log.text = NPU_BYTES(NPU_UNMAPPED, 64);
	EXPECT_EQ(-EBADMSG, npu_ioctl(self->offers.fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &args));
	blob_free(&good);
	blob_free(&bad);
}

/* Tensors in host memory and external ones are taken by themselves; plans tell more. */
TEST_F(graph, host_and_external_tensors)
{
	struct npumem_tensor *x = &self->offers.model.tensors[CHAIN_X];
	struct blob blob;

	x->flags = NPUMEM_TENSOR_FLAG_HOST;
	blob = model_graph(&self->offers.model);
	EXPECT_EQ(0, create(&self->offers, &blob)) TH_LOG("%s", self->offers.log.text);
	blob_free(&blob);
	x->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	blob = model_graph(&self->offers.model);
	EXPECT_EQ(0, create(&self->offers, &blob)) TH_LOG("%s", self->offers.log.text);
	blob_free(&blob);
}

TEST_HARNESS_MAIN
