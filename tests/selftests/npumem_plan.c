// SPDX-License-Identifier: MIT
/*
 * PLAN_LOAD: every rule of the verifier that a plan can break, with its verdict
 * and its words, and the features that are refused until they are verified. The
 * verifier itself is tested far harder on the host (tests/unit, tests/property);
 * this is about what arrives in userspace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_refused.h"

/* Load a plan blob for the model's graph as it is now. */
static int load(struct offers *offers, const struct blob *plan)
{
	struct drm_npumem_plan_load args = {
		.blob = NPU_BYTES(plan->data, plan->size),
		.log = npu_log(&offers->log, 1),
		.verdict = NPU_BUFFER(offers->verdict),
	};
	struct blob graph = model_graph(&offers->model);
	int err = world_graph(offers->fd, &graph, &args.graph);

	blob_free(&graph);
	if (err)
		return -ENOTRECOVERABLE; /* of no PLAN_LOAD */
	err = npu_ioctl(offers->fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args);
	world_destroy(offers->fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, args.graph);
	offers->handle = args.handle;
	offers->log_size = args.log.text.size;
	return err;
}

FIXTURE(plan)
{
	struct offers offers;
};

FIXTURE_SETUP(plan)
{
	self->offers = (struct offers){
		.fd = npu_open(),
		.model = model_chain(),
		.make = model_plan,
		.call = load,
	};
	ASSERT_GE(self->offers.fd, 0);
}

FIXTURE_TEARDOWN(plan)
{
	model_free(&self->offers.model);
	close(self->offers.fd);
}

static void accepted(struct __test_metadata *_metadata, FIXTURE_DATA(plan) * self)
{
	struct blob blob = model_plan(&self->offers.model);

	EXPECT_EQ(0, load(&self->offers, &blob)) TH_LOG("%s", self->offers.log.text);
	EXPECT_EQ(NPUMEM_RULE_NONE, self->offers.verdict.rule);
	EXPECT_NE(0, self->offers.handle);
	blob_free(&blob);
}

#define INFO	 NPUMEM_PLAN_SECTION_INFO
#define PLACES	 NPUMEM_PLAN_SECTION_PLACEMENTS
#define SCHEDULE NPUMEM_PLAN_SECTION_SCHEDULE
#define BLOCKS	 NPUMEM_PLAN_SECTION_BLOCKS
#define FORMAT	 NPUMEM_RULE_FORMAT
#define V1	 NPUMEM_RULE_V1_BOUNDS
#define V2	 NPUMEM_RULE_V2_ORDER
#define V3	 NPUMEM_RULE_V3_READ
#define V4	 NPUMEM_RULE_V4_WRITE

TEST_F(plan, framing)
{
	static const struct blob_edit edits[] = {
		EDIT_HEADER(magic, NPUMEM_GRAPH_MAGIC, -EBADMSG,
			    "format: magic is 0x5247504e, expected 0x4c50504e\n"),
		EDIT_HEADER(version, 0, -EOPNOTSUPP, "format: version 0, only 1 is known\n"),
		EDIT_HEADER(total_size, 16, -EBADMSG, "format: total_size is 16, the blob has "),
		EDIT_HEADER(section_count, 33, -EBADMSG, "format: 33 sections, at most 32\n"),
		EDIT_HEADER(section_stride, 0, -EBADMSG, "format: section_stride is 0\n"),
		EDIT_HEADER(flags, 1, -EBADMSG, "format: header's flags or pad not zero\n"),
		EDIT_HEADER(pad, 1, -EBADMSG, "format: header's flags or pad not zero\n"),
		EDIT_ENTRY(PLACES, kind, 9, -EOPNOTSUPP, FORMAT,
			   "format: section 1 is of unknown kind 9\n"),
		EDIT_ENTRY(PLACES, stride, 104, -EBADMSG, FORMAT,
			   "format: stride of section 1 (placements) is 104, needs 112 or more, "
			   "multiple of 8\n"),
		EDIT_ENTRY(PLACES, count, UINT64_MAX, -EBADMSG, FORMAT,
			   "format: section 1 (placements) of 18446744073709551615 records ends "
			   "beyond the blob\n"),
		EDIT_ENTRY(PLACES, pad, 1, -EBADMSG, FORMAT,
			   "format: padding of section 1 (placements) not zero\n"),
	};

	spoil(_metadata, &self->offers, edits, ARRAY_SIZE(edits));
}

TEST_F(plan, info)
{
	static const struct blob_edit edits[] = {
		EDIT(INFO, npumem_plan_info, 0, alignment, 0, -EINVAL, FORMAT,
		     "format: info: alignment is not a power of two\n"),
		EDIT(INFO, npumem_plan_info, 0, alignment, 48, -EINVAL, FORMAT,
		     "format: info: alignment is not a power of two\n"),
		EDIT(INFO, npumem_plan_info, 0, status, 4, -EINVAL, FORMAT,
		     "format: info: status is unknown\n"),
		EDIT(INFO, npumem_plan_info, 0, status, NPUMEM_PLAN_STATUS_INFEASIBLE, -EINVAL,
		     FORMAT, "format: info: status is INFEASIBLE, there is no plan\n"),
		EDIT(INFO, npumem_plan_info, 0, planner[31], 'x', -EINVAL, FORMAT,
		     "format: info: planner is not terminated and padded with NULs\n"),
		EDIT(INFO, npumem_plan_info, 0, host_size, 4096, -EINVAL, FORMAT,
		     "format: info: host_size is not zero, "),
	};

	spoil(_metadata, &self->offers, edits, ARRAY_SIZE(edits));
}

TEST_F(plan, v1_bounds)
{
	static const struct blob_edit edits[] = {
		EDIT(INFO, npumem_plan_info, 0, arena_size, 4 * CHAIN_SIZE - 1, -EINVAL, V1,
		     "V1 bounds: placement 3 of tensor 3: it ends beyond the arena\n"),
		EDIT(INFO, npumem_plan_info, 0, arena_size, 0, -EINVAL, V1,
		     "V1 bounds: placement 0 of tensor 0: it ends beyond the arena\n"),
		EDIT(PLACES, npumem_placement, 1, tensor, CHAIN_TENSORS, -EINVAL, V1,
		     "V1 bounds: placement 1: tensor 4 is not there\n"),
		EDIT(PLACES, npumem_placement, 1, block, 1, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: its block is not in the plan\n"),
		EDIT(PLACES, npumem_placement, 1, from, 3, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: its span is not within the schedule\n"),
		EDIT(PLACES, npumem_placement, 1, to, 3, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: its span is not within the schedule\n"),
		EDIT(PLACES, npumem_placement, 1, offset, 4 * CHAIN_SIZE, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: it ends beyond the arena\n"),
		EDIT(PLACES, npumem_placement, 1, offset, UINT64_MAX, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: it ends beyond the arena\n"),
		EDIT(PLACES, npumem_placement, 1, region.length, 0, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: its length is zero\n"),
		EDIT(PLACES, npumem_placement, 1, region.length, CHAIN_SIZE + 1, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: it ends beyond the tensor\n"),
		EDIT(PLACES, npumem_placement, 1, region.pad, 1, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: its pad is not zero\n"),
		EDIT(PLACES, npumem_placement, 1, stride[0], 8, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: an arena stride is not zero where the "
		     "count is 1\n"),
		EDIT(PLACES, npumem_placement, 1, ring, 2, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: its ring has more slots than dimension "
		     "2 repetitions\n"),
		EDIT(PLACES, npumem_placement, 1, flags, 1, -EINVAL, V1,
		     "V1 bounds: placement 1 of tensor 1: it has unknown flags\n"),
	};

	spoil(_metadata, &self->offers, edits, ARRAY_SIZE(edits));
}

TEST_F(plan, v1_alignment_and_fixed_offsets)
{
	struct npumem_tensor *a = &self->offers.model.tensors[CHAIN_A];

	a->align = 64;
	accepted(_metadata, self);
	self->offers.model.placements[CHAIN_A].offset += 32;
	refused(_metadata, &self->offers, -EINVAL, V1,
		"V1 bounds: placement 1 of tensor 1: its offset is not a multiple of the tensor's "
		"align\n");
	self->offers.model.placements[CHAIN_A].offset -= 32;
	a->flags = NPUMEM_TENSOR_FLAG_FIXED;
	a->fixed_offset = CHAIN_A * CHAIN_SIZE;
	accepted(_metadata, self);
	a->fixed_offset += 64;
	refused(_metadata, &self->offers, -EINVAL, V1,
		"V1 bounds: placement 1 of tensor 1: it is not at the tensor's fixed offset\n");
	EXPECT_EQ(CHAIN_A, self->offers.verdict.tensor);
}

TEST_F(plan, v2_order)
{
	static const struct blob_edit edits[] = {
		EDIT(SCHEDULE, npumem_position, 1, kind, NPUMEM_POSITION_STORE + 1, -EINVAL, V2,
		     "V2 order: position 1: its kind is unknown\n"),
		EDIT(SCHEDULE, npumem_position, 1, index, CHAIN_STEPS, -EINVAL, V2,
		     "V2 order: position 1: its step is not there\n"),
		EDIT(SCHEDULE, npumem_position, 1, index, 0, -EINVAL, V2,
		     "V2 order: position 1, step 0: the step stands at an earlier one too\n"),
		EDIT(SCHEDULE, npumem_position, 1, placement, 0, -EINVAL, V2,
		     "V2 order: position 1, step 1: fields of a transfer are not empty\n"),
		EDIT(SCHEDULE, npumem_position, 1, pad, 1, -EINVAL, V2,
		     "V2 order: position 1, step 1: fields of a transfer are not empty\n"),
		EDIT(SCHEDULE, npumem_position, 1, length, 8, -EINVAL, V2,
		     "V2 order: position 1, step 1: fields of a transfer are not empty\n"),
		EDIT(BLOCKS, npumem_plan_block, 0, block, 1, -EINVAL, V2,
		     "V2 order: block 0 of the plan is not the whole schedule of block 0, "),
		EDIT(BLOCKS, npumem_plan_block, 0, first_position, 1, -EINVAL, V2,
		     "V2 order: block 0 of the plan is not the whole schedule of block 0, "),
		EDIT(BLOCKS, npumem_plan_block, 0, position_count, 2, -EINVAL, V2,
		     "V2 order: block 0 of the plan is not the whole schedule of block 0, "),
		EDIT(BLOCKS, npumem_plan_block, 0, pad, 1, -EINVAL, V2,
		     "V2 order: block 0 of the plan is not the whole schedule of block 0, "),
	};

	spoil(_metadata, &self->offers, edits, ARRAY_SIZE(edits));
}

TEST_F(plan, v2_step_left_out)
{
	uint32_t i;

	self->offers.model.position_count--;
	self->offers.model.instances[0].position_count--;
	for (i = 0; i < CHAIN_TENSORS; i++)
		self->offers.model.placements[i].to--;
	refused(_metadata, &self->offers, -EINVAL, V2, "V2 order: step 2 is not in the schedule\n");
	EXPECT_EQ(CHAIN_LAST, self->offers.verdict.step);
}

TEST_F(plan, v3_schedule_against_the_data)
{
	const struct npumem_verdict *v;

	self->offers.model.positions[1].index = CHAIN_LAST;
	self->offers.model.positions[2].index = CHAIN_MIX;
	v = refused(_metadata, &self->offers, -EINVAL, V3,
		    "V3 read: step 2 reads tile 2 of tensor 2 before step 1 writes it\n");
	EXPECT_EQ(1, v->position);
	EXPECT_EQ(CHAIN_LAST, v->step);
	EXPECT_EQ(CHAIN_B, v->tile);
	EXPECT_EQ(CHAIN_MIX, v->other_step);
}

TEST_F(plan, v3_no_placement)
{
	self->offers.model.placements[CHAIN_A] = self->offers.model.placements[CHAIN_Y];
	self->offers.model.placement_count--;
	refused(_metadata, &self->offers, -EINVAL, V3,
		"V3 read: tensor 1 bytes [0, 256) have no placement at position 0, where step 0 "
		"writes them\n");
	EXPECT_EQ(CHAIN_A, self->offers.verdict.tensor);
}

TEST_F(plan, v3_placement_ends_before_the_read)
{
	self->offers.model.placements[CHAIN_A].to = 0;
	refused(_metadata, &self->offers, -EINVAL, V3,
		"V3 read: tensor 1 bytes [0, 256) are placed up to position 0 only, but step 1 "
		"reads tile 1 of them at position 1\n");
}

TEST_F(plan, v3_two_homes)
{
	struct npumem_placement second = self->offers.model.placements[CHAIN_A];

	model_place(&self->offers.model, CHAIN_A, 4 * CHAIN_SIZE);
	self->offers.model.placements[CHAIN_TENSORS].to = second.to;
	refused(_metadata, &self->offers, -EINVAL, V3,
		"V3 read: tensor 1 bytes [0, 256) are in both placement 1 and placement 4\n");
}

TEST_F(plan, v4_live_tensors_overlap)
{
	const struct npumem_verdict *v;

	/* Y over B, which LAST reads to write Y: by its last byte. */
	self->offers.model.placements[CHAIN_Y].offset -= 1;
	v = refused(_metadata, &self->offers, -EINVAL, V4,
		    "V4 write: step 2 writes tensor 3 to bytes [767, 768) of the arena, where it "
		    "reads tile 2 of tensor 2 itself and is not staged\n");
	EXPECT_EQ(CHAIN_LAST, v->step);
	EXPECT_EQ(2, v->position);
	EXPECT_EQ(CHAIN_Y, v->tensor);
	EXPECT_EQ(CHAIN_B, v->other_tensor);
	EXPECT_EQ(CHAIN_LAST, v->other_step);
	EXPECT_EQ(767, v->first);
	EXPECT_EQ(1, v->length);

	/* Staged, it reads all before it writes. */
	self->offers.model.steps[CHAIN_LAST].flags = NPUMEM_STEP_STAGED;
	accepted(_metadata, self);
}

TEST_F(plan, v4_still_needed_by_a_later_step)
{
	const struct npumem_verdict *v;

	/* LAST reads A too; B is written over it before. */
	self->offers.model.accesses[4].tile = CHAIN_A;
	self->offers.model.placements[CHAIN_B].offset = CHAIN_A * CHAIN_SIZE + 16;
	self->offers.model.steps[CHAIN_MIX].flags = NPUMEM_STEP_STAGED;
	v = refused(_metadata, &self->offers, -EINVAL, V4,
		    "V4 write: step 1 writes tensor 2 to bytes [272, 512) of the arena, still "
		    "needed by step 2 which reads tile 1 of tensor 1\n");
	EXPECT_EQ(CHAIN_MIX, v->step);
	EXPECT_EQ(CHAIN_LAST, v->other_step);
	EXPECT_EQ(272, v->first);
	EXPECT_EQ(240, v->length);
}

TEST_F(plan, v4_inputs_overlap)
{
	uint32_t z = model_tensor(&self->offers.model, NPUMEM_TENSOR_INPUT, 64);

	model_place(&self->offers.model, z, 32);
	refused(_metadata, &self->offers, -EINVAL, V4,
		"V4 write: tensor 4 and tensor 0 are both at bytes [32, 96) of the arena when the "
		"schedule begins\n");
}

TEST_F(plan, v4_over_an_output)
{
	/* A second output, written first and then written over. */
	self->offers.model.tensors[CHAIN_A].kind = NPUMEM_TENSOR_OUTPUT;
	self->offers.model.placements[CHAIN_Y].offset = CHAIN_A * CHAIN_SIZE;
	refused(_metadata, &self->offers, -EINVAL, V4,
		"V4 write: step 2 writes tensor 3 to bytes [256, 512) of the arena, where tensor 1 "
		"must survive the exit\n");
}

TEST_F(plan, v4_reuse_of_dead_bytes_is_fine)
{
	/* Y where X was: X is dead by then. */
	self->offers.model.placements[CHAIN_Y].offset = 0;
	self->offers.model.info.arena_size = 3 * CHAIN_SIZE;
	accepted(_metadata, self);
}

TEST_F(plan, v7_output_leaves_before_the_exit)
{
	self->offers.model.tensors[CHAIN_A].kind = NPUMEM_TENSOR_OUTPUT;
	self->offers.model.placements[CHAIN_A].to = 1;
	refused(_metadata, &self->offers, -EINVAL, NPUMEM_RULE_V7_EXIT,
		"V7 exit: tensor 1 bytes [0, 256) are placed up to position 1 only, but must "
		"survive the exit\n");
}

/* What begins in host memory is loaded before it is read; more in npumem_spill.c. */
TEST_F(plan, input_not_loaded)
{
	struct npumem_tensor *x = &self->offers.model.tensors[CHAIN_X];
	struct drm_npumem_info info;

	x->flags = NPUMEM_TENSOR_FLAG_HOST;
	refused(_metadata, &self->offers, -EINVAL, NPUMEM_RULE_V5_SPILL,
		"V5 spill: step 0 reads tile 0 of tensor 0 at position 0, whose bytes [0, 256) are "
		"not loaded yet\n");
	x->flags = 0;

	/* The device says beforehand that it knows of them. */
	ASSERT_EQ(0, npu_info(self->offers.fd, &info));
	EXPECT_NE(0, info.features & NPUMEM_FEATURE_SPILL);
}

TEST_F(plan, tensor_in_pieces_that_move)
{
	struct npumem_placement *a = &self->offers.model.placements[CHAIN_A];
	uint32_t second;

	/* Two halves, swapped. */
	second = model_place(&self->offers.model, CHAIN_A, CHAIN_A * CHAIN_SIZE);
	a = &self->offers.model.placements[CHAIN_A];
	a->region.length = CHAIN_SIZE / 2;
	a->offset += CHAIN_SIZE / 2;
	a = &self->offers.model.placements[second];
	a->region.offset = CHAIN_SIZE / 2;
	a->region.length = CHAIN_SIZE / 2;
	accepted(_metadata, self);
	/* The second on top of the first. */
	a->offset += CHAIN_SIZE / 2;
	refused(_metadata, &self->offers, -EINVAL, V4,
		"V4 write: step 0 writes both tensor 1 and tensor 1 to bytes [384, 512) of the "
		"arena\n");
}

TEST_F(plan, log_of_success)
{
	struct blob graph = model_graph(&self->offers.model),
		    plan = model_plan(&self->offers.model);
	struct drm_npumem_plan_load args = {
		.blob = NPU_BYTES(plan.data, plan.size),
		.log = npu_log(&self->offers.log, 2),
	};

	ASSERT_EQ(0, world_graph(self->offers.fd, &graph, &args.graph));
	EXPECT_EQ(0, npu_ioctl(self->offers.fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args));
	EXPECT_EQ(0, strncmp("plan: 3 positions, 4 placements, ", self->offers.log.text, 33))
	TH_LOG("%s", self->offers.log.text);
	EXPECT_EQ(strlen(self->offers.log.text) + 1, args.log.text.size);
	blob_free(&graph);
	blob_free(&plan);
}

TEST_F(plan, of_another_graph)
{
	struct blob plan = model_plan(&self->offers.model);

	/* The same plan, for a graph whose A is one byte longer. */
	self->offers.model.tensors[CHAIN_A].size++;
	self->offers.model.tiles[CHAIN_A].region.length++;
	EXPECT_EQ(-EINVAL, load(&self->offers, &plan));
	EXPECT_EQ(V3, self->offers.verdict.rule);
	blob_free(&plan);
}

TEST_F_TIMEOUT(plan, cut_short_anywhere, 600)
{
	struct blob graph = model_graph(&self->offers.model),
		    plan = model_plan(&self->offers.model);
	struct drm_npumem_plan_load args = { 0 };
	size_t size;

	ASSERT_EQ(0, world_graph(self->offers.fd, &graph, &args.graph));
	for (size = 0; size < plan.size; size += 3) {
		args.blob = NPU_BYTES(plan.data, size);
		EXPECT_EQ(-EBADMSG, npu_ioctl(self->offers.fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args))
		TH_LOG("%zu bytes", size);
	}
	args.blob = NPU_BYTES(plan.data, plan.size - 1);
	EXPECT_EQ(-EBADMSG, npu_ioctl(self->offers.fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args));
	args.blob = NPU_BYTES(plan.data, plan.size);
	EXPECT_EQ(0, npu_ioctl(self->offers.fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args));
	blob_free(&graph);
	blob_free(&plan);
}

TEST_HARNESS_MAIN
