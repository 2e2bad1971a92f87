// SPDX-License-Identifier: MIT
/* libnpumem: where a plan puts the bytes of tensors. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout_build.h"
#include "npumem_fake.h"
#include "unit.h"

/* The answer of a call as text: "tensor:[first, end) MEMORY offset", and frees it. */
static const char *said(int err, struct npumem_range *ranges, uint32_t count)
{
	static const char *const memories[] = { "?", "arena", "host", "bound" };
	static char text[1024];
	size_t used = 0;

	if (err)
		return error.text;
	text[0] = '\0';
	for (uint32_t i = 0; i < count; i++) {
		const struct npumem_range *r = &ranges[i];

		assert_true(!r->pad && !r->reserved[0] && !r->reserved[1]);
		assert_int_equal(r->placement == NPUMEM_NONE, r->memory != NPUMEM_MEMORY_ARENA);
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%u:[%" PRIu64 ", %" PRIu64 ") %s %" PRIu64,
					 i ? "; " : "", r->tensor, r->first, r->first + r->length,
					 memories[r->memory], r->offset);
		assert_true(used < sizeof(text));
	}
	free(ranges);
	return text;
}

#define SAID(call, ...)                                                                  \
	({                                                                               \
		struct npumem_range *ranges = NULL;                                      \
		uint32_t count = 0;                                                      \
		int status = npumem_layout_##call(__VA_ARGS__, &ranges, &count, &error); \
		said(status, ranges, count);                                             \
	})

/* --------------------------------------------------------------------- places */

TEST_WITH(at, chain_setup, layout_teardown)
{
	assert_string_equal(SAID(at, *state, IN, 0), "0:[0, 100) arena 0");
	assert_string_equal(SAID(at, *state, OUT, 1), "2:[0, 100) arena 0");
	assert_string_equal(
		SAID(at, *state, MIDDLE, 1),
		"1:[0, 100) arena 128; 1:[100, 120) arena 512; 1:[120, 140) arena 544; "
		"1:[140, 160) arena 576; 1:[160, 180) arena 608; 1:[180, 200) arena 640");
	assert_string_equal(SAID(at, *state, ALIAS, 1),
			    "3:[0, 10) arena 218; 3:[10, 30) arena 512; 3:[30, 50) arena 544; "
			    "3:[50, 60) arena 576");
	assert_string_equal(SAID(at, *state, OUTSIDE, 1), "4:[0, 40) bound 0");
	assert_string_equal(SAID(at, *state, IN, 1), "tensor 0 is nowhere at position 1");
	assert_int_equal(error.code, -ENOENT);
	assert_string_equal(SAID(at, *state, WEIGHTS, 1), "tensor 5 is nowhere at position 1");
	assert_string_equal(SAID(at, *state, TENSORS, 1), "the graph has no tensor 6");
	assert_int_equal(error.code, -ENOENT);
	assert_string_equal(SAID(at, *state, IN, 2), "the plan has no position 2");
	assert_int_equal(error.code, -ENOENT);
}

TEST_WITH(entry_and_exit, chain_setup, layout_teardown)
{
	assert_string_equal(SAID(entry, *state, 0, IN), "0:[0, 100) arena 0");
	assert_string_equal(SAID(entry, *state, 0, NPUMEM_NONE),
			    "0:[0, 100) arena 0; 4:[0, 40) bound 0");
	assert_string_equal(SAID(entry, *state, 0, MIDDLE),
			    "tensor 1 is not valid when block 0 is entered");
	assert_int_equal(error.code, -ENOENT);
	assert_string_equal(SAID(entry, *state, 0, TENSORS), "the graph has no tensor 6");
	assert_string_equal(SAID(entry, *state, 1, IN), "the plan has no block 1");
	assert_int_equal(error.code, -ENOENT);
	assert_string_equal(SAID(exit, *state, 0, OUT), "2:[0, 100) arena 0");
	assert_string_equal(SAID(exit, *state, 0, OUTSIDE), "4:[0, 40) bound 0");
	assert_string_equal(SAID(exit, *state, 0, IN), "tensor 0 is nowhere at the end of block 0");
	assert_int_equal(error.code, -ENOENT);
	assert_string_equal(SAID(exit, *state, 0, TENSORS), "the graph has no tensor 6");
	assert_string_equal(SAID(exit, *state, 1, OUT), "the plan has no block 1");
	assert_string_equal(SAID(host, *state, OUT), "tensor 2 has no copy in host memory");
	assert_int_equal(error.code, -ENOENT);
	assert_string_equal(SAID(host, *state, TENSORS), "the graph has no tensor 6");
	assert_string_equal(SAID(in_view, *state, 0, NULL, 0), "the plan has no view 0");
	assert_int_equal(error.code, -ENOENT);
}

/* Along edges goes what is in the arena; copies are of one block alone. */
TEST(copies_in_blocks)
{
	const struct npumem_position store = {
		.kind = NPUMEM_POSITION_STORE,
		.length = 8,
	};
	struct npumem_layout *layout;
	struct build b;

	build_init(&b);
	build_tile(&b, build_tensor(&b, NPUMEM_TENSOR_INPUT, 8, "x"), build_region(0, 8));
	build_tile(&b, build_tensor(&b, NPUMEM_TENSOR_OUTPUT, 8, "y"), build_region(0, 8));
	for (uint32_t i = 0; i < 2; i++) {
		build_step(&b, 0, "s");
		build_access(&b, 0, NPUMEM_ACCESS_READ);
		build_access(&b, 1, i ? NPUMEM_ACCESS_UPDATE : NPUMEM_ACCESS_WRITE);
		build_block(&b, "b");
	}
	build_edge(&b, 0, 1);
	build_edge(&b, 1, NPUMEM_NONE);
	for (uint32_t i = 0; i < 2; i++) {
		struct npumem_position *p;

		build_instance(&b, i);
		p = build_add(&b.positions, 1);
		*p = store;
		p->index = 1;
		p->placement = 2 * i + 1;
		build_plan_block_at(&b, i)->position_count = 2;
		build_enter(&b, 0, 0);
		build_place_here(&b, 1, 8);
		build_plan_edge(&b, i, i ? NPUMEM_NONE : 1, i);
	}
	b.info.host_size = 8;
	layout = layout_of(&b, 0);
	assert_string_equal(SAID(exit, layout, 1, 1), "1:[0, 8) arena 8");
	assert_string_equal(SAID(at, layout, 1, 2), "1:[0, 8) arena 8");
	npumem_layout_free(layout);
	/* What has left the arena is found as long as the block lasts. */
	build_position_at(&b, 1)->kind = NPUMEM_POSITION_SPILL;
	build_placement_at(&b, 1)->to = 0;
	build_placement_at(&b, 3)->from = 3;
	layout = layout_of(&b, 0);
	assert_string_equal(SAID(exit, layout, 0, 1), "1:[0, 8) host 0");
	assert_string_equal(SAID(at, layout, 1, 2), "tensor 1 is nowhere at position 2");
	npumem_layout_free(layout);
	build_free(&b);
}

/* In a ring the rows take turns; rows of one slot never follow one another. */
TEST(ring)
{
	struct npumem_layout *layout;
	struct build b;

	build_chain(&b);
	build_placement_at(&b, 0)->region = build_region(100, 20);
	build_placement_at(&b, 0)->region.count[2] = 5;
	build_placement_at(&b, 0)->region.stride[2] = 20;
	build_placement_at(&b, 0)->stride[0] = 0;
	build_placement_at(&b, 0)->stride[2] = 20;
	build_placement_at(&b, 0)->ring = 2;
	b.info.arena_size = 552;
	layout = layout_of(&b, 0);
	assert_string_equal(SAID(at, layout, MIDDLE, 0),
			    "1:[0, 100) arena 128; 1:[100, 140) arena 512; 1:[140, 180) arena 512; "
			    "1:[180, 200) arena 512");
	npumem_layout_free(layout);
	/* A byte less, and the ring is not within the arena. */
	b.info.arena_size--;
	assert_null(layout_of(&b, -EBADMSG));
	build_free(&b);
}

TEST_WITH(null, chain_setup, layout_teardown)
{
	struct npumem_range *ranges;
	struct npumem_maps maps = { 0 };
	char data[100] = "blob";
	uint32_t n;

	assert_error(npumem_layout_new(NULL, 0, data, 1, (struct npumem_layout **)&ranges, &error),
		     -EINVAL, "npumem_layout_new: NULL argument");
	assert_error(npumem_plan_layout(NULL, (struct npumem_layout **)&ranges, &error), -EINVAL,
		     "npumem_plan_layout: NULL argument");
	assert_error(npumem_layout_at(*state, IN, 0, NULL, &n, &error), -EINVAL,
		     "npumem_layout_at: NULL argument");
	assert_error(npumem_layout_entry(NULL, 0, IN, &ranges, &n, &error), -EINVAL,
		     "npumem_layout_entry: NULL argument");
	assert_error(npumem_layout_exit(*state, 0, IN, &ranges, NULL, &error), -EINVAL,
		     "npumem_layout_exit: NULL argument");
	assert_error(npumem_layout_host(NULL, IN, &ranges, &n, &error), -EINVAL,
		     "npumem_layout_host: NULL argument");
	assert_error(npumem_layout_in_view(*state, 0, NULL, 1, &ranges, &n, &error), -EINVAL,
		     "npumem_layout_in_view: NULL argument");
	assert_error(npumem_layout_record(*state, NPUMEM_PLAN_SECTION_EDGES, 0, data, 0, &error),
		     -EINVAL, "npumem_layout_record: NULL argument");
	assert_error(npumem_layout_find_step(*state, 0, 0, NULL, &error), -EINVAL,
		     "npumem_layout_find_step: NULL argument");
	assert_error(npumem_layout_next(*state, 0, 0, &n, NULL, &error), -EINVAL,
		     "npumem_layout_next: NULL argument");
	assert_error(npumem_layout_write(*state, IN, NULL, data, 100, &error), -EINVAL,
		     "npumem_layout_write: NULL argument");
	assert_error(npumem_layout_read(*state, 0, OUT, &maps, NULL, 100, &error), -EINVAL,
		     "npumem_layout_read: NULL argument");
	assert_error(npumem_run_map(NULL, NULL, &maps, &error), -EINVAL,
		     "npumem_run_map: NULL argument");
	assert_int_equal(npumem_layout_count(NULL, NPUMEM_PLAN_SECTION_BLOCKS), 0);
}

TEST_WITH(records, chain_setup, layout_teardown)
{
	struct npumem_plan_block block;
	struct npumem_placement piece;
	struct npumem_position position;
	struct npumem_plan_edge edge;
	struct npumem_view view;
	struct {
		uint32_t kind;
		uint32_t index;
	} shorter;
	uint32_t n;

	assert_int_equal(npumem_layout_count(*state, NPUMEM_PLAN_SECTION_PLACEMENTS), 4);
	assert_int_equal(npumem_layout_count(*state, NPUMEM_PLAN_SECTION_INFO), 1);
	assert_int_equal(npumem_layout_count(*state, NPUMEM_PLAN_SECTION_EDGES), 0);
	assert_int_equal(npumem_layout_count(*state, 99), 0);
	assert_int_equal(npumem_layout_block(*state, 0, &block, &error), 0);
	assert_int_equal(block.position_count, 2);
	assert_int_equal(npumem_layout_placement(*state, 0, &piece, &error), 0);
	assert_int_equal(piece.stride[0], 32);
	assert_int_equal(npumem_layout_position(*state, 1, &position, &error), 0);
	assert_int_equal(position.index, 1);
	assert_int_equal(npumem_layout_record(*state, NPUMEM_PLAN_SECTION_SCHEDULE, 1, &shorter,
					      sizeof(shorter), &error),
			 0);
	assert_int_equal(shorter.index, 1);
	assert_error(npumem_layout_position(*state, 2, &position, &error), -ENOENT,
		     "the plan has no position 2");
	assert_error(npumem_layout_edge(*state, 0, &edge, &error), -ENOENT,
		     "the plan has no edge 0");
	assert_error(npumem_layout_view(*state, 0, &view, &error), -ENOENT,
		     "the plan has no view 0");
	assert_error(npumem_layout_record(*state, 99, 0, &shorter, sizeof(shorter), &error),
		     -ENOENT, "plans have no section 99");
	assert_int_equal(npumem_layout_find_step(*state, 0, 1, &n, &error), 0);
	assert_int_equal(n, 1);
	assert_error(npumem_layout_find_step(*state, 0, 2, &n, &error), -ENOENT,
		     "block 0 of the plan has no step 2");
	assert_error(npumem_layout_find_step(*state, 1, 1, &n, &error), -ENOENT,
		     "the plan has no block 1");
	assert_error(npumem_layout_next(*state, 0, 0, &n, &n, &error), -ENOENT,
		     "edge 0 does not leave block 0 of the plan");
	assert_error(npumem_layout_next(*state, 7, 0, &n, &n, &error), -ENOENT,
		     "the plan has no block 7");
}

/* ---------------------------------------------------------------- control flow */

TEST_WITH(loop, loop_setup, layout_teardown)
{
	uint32_t plan_edge = 9, to = 9, position;

	/* Block 0 has no position; what is placed in it is not in force at those of the next. */
	assert_string_equal(SAID(entry, *state, 0, NPUMEM_NONE), "0:[0, 64) arena 0");
	assert_string_equal(SAID(exit, *state, 0, 0), "0:[0, 64) arena 0");
	assert_string_equal(SAID(at, *state, 0, 0), "tensor 0 is nowhere at position 0");
	assert_string_equal(SAID(entry, *state, 1, NPUMEM_NONE), "1:[0, 64) arena 0");
	assert_string_equal(SAID(entry, *state, 2, NPUMEM_NONE), "1:[0, 64) arena 64");
	assert_string_equal(SAID(at, *state, 2, 0), "2:[0, 64) arena 64");
	assert_string_equal(SAID(at, *state, 2, 1), "2:[0, 64) arena 0");
	assert_string_equal(SAID(exit, *state, 1, 2), "2:[0, 64) arena 64");
	assert_string_equal(SAID(exit, *state, 2, 2), "2:[0, 64) arena 0");
	assert_int_equal(npumem_layout_next(*state, 2, 1, &plan_edge, &to, &error), 0);
	assert_int_equal(plan_edge, 3);
	assert_int_equal(to, 1);
	assert_int_equal(npumem_layout_next(*state, 1, 2, &plan_edge, &to, &error), 0);
	assert_int_equal(plan_edge, 2);
	assert_int_equal(to, NPUMEM_NONE);
	assert_error(npumem_layout_next(*state, 1, 0, &plan_edge, &to, &error), -ENOENT,
		     "edge 0 does not leave block 1 of the plan");
	assert_int_equal(npumem_layout_find_step(*state, 2, 0, &position, &error), 0);
	assert_int_equal(position, 1);
}

/* Nothing is listed: nothing is valid. */
TEST(no_entry)
{
	struct npumem_layout *layout;
	struct build b;

	build_loop(&b);
	build_plan_block_at(&b, 0)->entry_count = 0;
	layout = layout_of(&b, 0);
	assert_string_equal(SAID(entry, layout, 0, NPUMEM_NONE),
			    "nothing is valid when block 0 is entered");
	assert_int_equal(error.code, -ENOENT);
	npumem_layout_free(layout);
	build_free(&b);
}

/* What is listed of an external tensor, which others are not if they are given. */
TEST(entry_outside)
{
	struct npumem_layout *layout;
	struct build b;

	build_loop(&b);
	build_tensor_at(&b, 0)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_tensor_at(&b, 1)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_entry_at(&b, 1)->flags = 0;
	build_entry_at(&b, 1)->placement = NPUMEM_NONE;
	build_entry_at(&b, 1)->first = 16;
	build_entry_at(&b, 1)->length = 8;
	layout = layout_of(&b, 0);
	assert_string_equal(SAID(entry, layout, 1, NPUMEM_NONE),
			    "0:[0, 64) bound 0; 1:[16, 24) bound 16");
	npumem_layout_free(layout);
	build_free(&b);
}

static const char *in_view(const struct npumem_layout *layout, uint32_t view, uint64_t outer,
			   uint64_t inner)
{
	const struct npumem_loop_count counts[] = { { .loop = 5, .count = outer },
						    { .loop = 1, .count = inner } };

	return SAID(in_view, layout, view, counts, 2);
}

TEST(views)
{
	static const uint32_t slots[] = { 2, 0 | NPUMEM_VIEW_SLOT_NESTED };
	struct npumem_layout *layout;
	struct npumem_view view;
	struct build b;

	build_loop(&b);
	/* A loop around: its first iteration has an address of its own. */
	*(struct npumem_view *)build_add(&b.views, 1) =
		(struct npumem_view){ .tensor = 1,
				      .type = NPUMEM_VIEW_FIRST_CYCLIC,
				      .repeat = 1,
				      .loop = 5,
				      .first_slot = 2,
				      .slot_count = 2 };
	memcpy(build_add(&b.slots, 2), slots, sizeof(slots));
	build_placement_at(&b, 2)->tensor = 1;
	layout = layout_of(&b, 0);
	assert_int_equal(npumem_layout_view(layout, 1, &view, &error), 0);
	assert_int_equal(view.loop, 5);
	assert_string_equal(in_view(layout, 0, 0, 0), "1:[0, 64) arena 0");
	assert_string_equal(in_view(layout, 0, 0, 1), "1:[0, 64) arena 64");
	assert_string_equal(in_view(layout, 0, 0, 1001), "1:[0, 64) arena 64");
	assert_string_equal(in_view(layout, 1, 0, 1), "1:[0, 64) arena 64");
	assert_string_equal(in_view(layout, 1, 1, 0), "1:[0, 64) arena 0");
	assert_string_equal(in_view(layout, 1, 2, 1), "1:[0, 64) arena 64");
	assert_string_equal(in_view(layout, 2, 0, 0), "the plan has no view 2");
	assert_string_equal(
		SAID(in_view, layout, 1, &(struct npumem_loop_count){ .loop = 5, .count = 1 }, 1),
		"view 1 goes by the loop that edge 1 closes, whose counter was not given");
	assert_int_equal(error.code, -EINVAL);
	npumem_layout_free(layout);
	/* Views in one another, which the driver refuses. */
	((uint32_t *)b.slots.data)[0] = 1 | NPUMEM_VIEW_SLOT_NESTED;
	layout = layout_of(&b, 0);
	assert_string_equal(in_view(layout, 0, 1, 0), "view 0 is in itself");
	assert_int_equal(error.code, -EBADMSG);
	npumem_layout_free(layout);
	build_free(&b);
}

/* ------------------------------------------------------------------- transfers */

TEST_WITH(transfers, transfers_setup, layout_teardown)
{
	assert_string_equal(SAID(entry, *state, 0, IN), "0:[0, 50) host 50; 0:[50, 100) host 0");
	assert_string_equal(SAID(host, *state, IN), "0:[0, 50) host 50; 0:[50, 100) host 0");
	assert_string_equal(SAID(host, *state, MIDDLE), "1:[0, 200) host 100");
	assert_string_equal(SAID(host, *state, ALIAS), "3:[0, 60) host 190");
	assert_string_equal(SAID(at, *state, IN, 0), "0:[0, 100) arena 0");
	assert_string_equal(SAID(at, *state, IN, 5), "0:[0, 50) host 50; 0:[50, 100) host 0");
	/* The spill itself still has it in the arena. */
	assert_string_equal(SAID(at, *state, ALIAS, 3),
			    "3:[0, 10) arena 218; 3:[10, 30) arena 512; 3:[30, 50) arena 544; "
			    "3:[50, 60) arena 576");
	assert_string_equal(SAID(at, *state, MIDDLE, 5),
			    "1:[0, 80) host 100; 1:[80, 160) arena 700; 1:[160, 200) host 260");
	assert_string_equal(SAID(at, *state, MIDDLE, 1), "tensor 1 is nowhere at position 1");
	/* What is stored is in host memory, the rest in the arena. */
	assert_string_equal(SAID(exit, *state, 0, OUT),
			    "2:[0, 20) arena 0; 2:[20, 50) host 0; 2:[50, 100) arena 50");
	assert_string_equal(SAID(exit, *state, 0, MIDDLE), "1:[0, 200) host 100");
}

/* A copy is out of date once a step has written the bytes, under whatever name. */
TEST(copies_end)
{
	struct npumem_layout *layout;
	struct build b;

	build_transfers(&b);
	/* The second step writes the part that it read. */
	build_access_at(&b, 3)->mode = NPUMEM_ACCESS_UPDATE;
	layout = layout_of(&b, 0);
	assert_string_equal(SAID(at, layout, MIDDLE, 5),
			    "1:[0, 80) host 100; 1:[80, 160) arena 700; 1:[160, 200) host 260");
	assert_string_equal(SAID(exit, layout, 0, MIDDLE),
			    "1:[0, 90) host 100; 1:[90, 150) arena 710; 1:[150, 200) host 250");
	npumem_layout_free(layout);
	build_free(&b);
}

/* ------------------------------------------------------------------ relocations */

/* "access N, byte M", or what is wrong. */
static const char *found(const struct npumem_layout *layout, uint32_t position, uint32_t tensor,
			 uint64_t byte, uint32_t mode)
{
	static char text[64];
	uint32_t access;
	uint64_t delta;

	if (npumem_layout_find_access(layout, position, tensor, byte, mode, &access, &delta,
				      &error))
		return error.text;
	snprintf(text, sizeof(text), "access %u, byte %llu", access, (unsigned long long)delta);
	return text;
}

TEST(find_access)
{
	struct npumem_layout *layout;
	uint32_t access;
	uint64_t delta;
	struct build b;

	build_transfers(&b);
	/* The first step writes the middle from its end on, row by row. */
	build_tile_at(&b, MIDDLE)->region = build_strided(0, 50, 2, 100);
	layout = layout_of(&b, 0);
	assert_string_equal(found(layout, 2, IN, 99, NPUMEM_ACCESS_READ), "access 0, byte 99");
	assert_string_equal(found(layout, 2, OUTSIDE, 1, NPUMEM_ACCESS_READ), "access 1, byte 1");
	assert_string_equal(found(layout, 2, MIDDLE, 49, NPUMEM_ACCESS_WRITE), "access 2, byte 49");
	assert_string_equal(found(layout, 2, MIDDLE, 50, NPUMEM_ACCESS_WRITE),
			    "position 2 does not write byte 50 of tensor 1");
	assert_int_equal(error.code, -ENOENT);
	assert_string_equal(found(layout, 2, MIDDLE, 101, NPUMEM_ACCESS_WRITE),
			    "access 2, byte 51");
	assert_string_equal(found(layout, 2, MIDDLE, 101, NPUMEM_ACCESS_READ),
			    "position 2 does not read byte 101 of tensor 1");
	/* By another name than the step has, both ways. */
	assert_string_equal(found(layout, 2, ALIAS, 11, NPUMEM_ACCESS_WRITE), "access 2, byte 51");
	assert_string_equal(found(layout, 5, MIDDLE, 90, NPUMEM_ACCESS_READ), "access 0, byte 0");
	assert_string_equal(found(layout, 5, MIDDLE, 89, NPUMEM_ACCESS_READ),
			    "position 5 does not read byte 89 of tensor 1");
	assert_string_equal(found(layout, 5, ALIAS, 60, NPUMEM_ACCESS_READ),
			    "position 5 does not read byte 60 of tensor 3");
	/* Transfers read and write what they move. */
	assert_string_equal(found(layout, 0, IN, 50, NPUMEM_ACCESS_READ), "access 0, byte 0");
	assert_string_equal(found(layout, 0, IN, 99, NPUMEM_ACCESS_WRITE), "access 1, byte 49");
	assert_string_equal(found(layout, 0, IN, 49, NPUMEM_ACCESS_WRITE),
			    "position 0 does not write byte 49 of tensor 0");
	assert_string_equal(found(layout, 1, IN, 50, NPUMEM_ACCESS_WRITE),
			    "position 1 does not write byte 50 of tensor 0");
	assert_string_equal(found(layout, 0, OUT, 50, NPUMEM_ACCESS_READ),
			    "position 0 does not read byte 50 of tensor 2");
	assert_string_equal(found(layout, 7, MIDDLE, 80, NPUMEM_ACCESS_READ),
			    "position 7 does not read byte 80 of tensor 1");
	assert_string_equal(found(layout, 8, IN, 0, NPUMEM_ACCESS_READ),
			    "the plan has no position 8");
	assert_string_equal(found(layout, 0, TENSORS, 0, NPUMEM_ACCESS_READ),
			    "the graph has no tensor 6");
	assert_string_equal(found(layout, 0, IN, 0, NPUMEM_ACCESS_UPDATE),
			    "mode 3 is not to read or to write");
	assert_int_equal(error.code, -EINVAL);
	assert_error(npumem_layout_find_access(layout, 0, IN, 0, NPUMEM_ACCESS_READ, NULL, &delta,
					       &error),
		     -EINVAL, "npumem_layout_find_access: NULL argument");
	npumem_layout_free(layout);
	/* What is updated is both read and written. */
	build_access_at(&b, 2)->mode = NPUMEM_ACCESS_UPDATE;
	layout = layout_of(&b, 0);
	assert_int_equal(npumem_layout_find_access(layout, 2, MIDDLE, 0, NPUMEM_ACCESS_READ,
						   &access, &delta, &error),
			 0);
	assert_int_equal(access, 2);
	npumem_layout_free(layout);
	build_free(&b);
}

/* ----------------------------------------------------------------- CPU's access */

TEST_WITH(write_and_read, transfers_setup, layout_teardown)
{
	char arena[1024] = { 0 }, host[300] = { 0 }, data[100], found[100];
	struct npumem_maps maps = { .arena = arena, .host = host };

	for (int i = 0; i < 100; i++)
		data[i] = (char)i;
	assert_int_equal(npumem_layout_write(*state, IN, &maps, data, 100, &error), 0);
	assert_memory_equal(host, data + 50, 50);
	assert_memory_equal(host + 50, data, 50);
	memcpy(arena, data, 100);
	memset(arena + 20, 0x55, 30);
	memcpy(host, data + 20, 30);
	assert_int_equal(npumem_layout_read(*state, 0, OUT, &maps, found, 100, &error), 0);
	assert_memory_equal(found, data, 100);

	assert_error(npumem_layout_write(*state, TENSORS, &maps, data, 100, &error), -ENOENT,
		     "the graph has no tensor 6");
	assert_error(npumem_layout_write(*state, IN, &maps, data, 99, &error), -EINVAL,
		     "tensor 0 has 100 bytes, 99 were given");
	assert_error(npumem_layout_write(*state, OUTSIDE, &maps, data, 40, &error), -EOPNOTSUPP,
		     "tensor 4 is external: its bytes are where it is bound");
	assert_error(npumem_layout_write(*state, OUT, &maps, data, 100, &error), -ENOENT,
		     "tensor 2 is not valid when block 0 is entered");
	assert_error(npumem_layout_read(*state, 1, OUT, &maps, found, 100, &error), -ENOENT,
		     "the plan has no block 1");
	assert_error(npumem_layout_read(*state, 0, WEIGHTS, &maps, found, 10, &error), -ENOENT,
		     "tensor 5 is nowhere at the end of block 0");
	maps.host = NULL;
	assert_error(npumem_layout_write(*state, IN, &maps, data, 100, &error), -EINVAL,
		     "tensor 0 lies in host memory, which is not mapped");
	maps.arena = NULL;
	assert_error(npumem_layout_read(*state, 0, OUT, &maps, found, 100, &error), -EINVAL,
		     "tensor 2 lies in the arena, which is not mapped");
}

/* An output of which the plan keeps a part is not given out. */
TEST(read_part)
{
	struct npumem_layout *layout;
	char arena[1024] = { 0 }, found[100] = { 0 }, zeros[100] = { 0 };
	struct npumem_maps maps = { .arena = arena };
	struct build b;

	memset(arena, 0x55, sizeof(arena));
	build_chain(&b);
	build_placement_at(&b, 3)->region = build_region(0, 99);
	layout = layout_of(&b, 0);
	assert_error(npumem_layout_read(layout, 0, OUT, &maps, found, 100, &error), -ENOENT,
		     "byte 99 of tensor 2 is nowhere at the end of block 0");
	npumem_layout_free(layout);
	build_placement_at(&b, 3)->region = build_region(1, 99);
	layout = layout_of(&b, 0);
	assert_error(npumem_layout_read(layout, 0, OUT, &maps, found, 100, &error), -ENOENT,
		     "byte 0 of tensor 2 is nowhere at the end of block 0");
	assert_memory_equal(found, zeros, sizeof(found));
	npumem_layout_free(layout);
	build_free(&b);
}

/* What the driver has. */
static struct build_blob driver_graph, driver_plan;

static int says_plan(unsigned long request, void *argument)
{
	struct drm_npumem_plan_read *args = argument;

	if (request != DRM_IOCTL_NPUMEM_PLAN_READ)
		return fake_default(request, argument);
	args->state = NPUMEM_PLAN_STATE_READY;
	fake_give(&args->blob, driver_plan.data, driver_plan.size);
	fake_give(&args->graph, driver_graph.data, driver_graph.size);
	return 0;
}

TEST_WITH(of_a_plan, objects_setup, objects_teardown)
{
	struct npumem_layout *layout;
	struct objects *o = *state;
	struct npumem_maps maps;
	void *arena;
	struct build b;

	build_chain(&b);
	driver_graph = build_graph(&b);
	driver_plan = build_plan(&b);
	fake.handler = says_plan;
	assert_int_equal(npumem_plan_layout(o->plan, &layout, &error), 0);
	assert_string_equal(SAID(at, layout, IN, 0), "0:[0, 100) arena 0");
	npumem_layout_free(layout);
	fake.handler = fake_default;
	assert_int_equal(npumem_run_map(o->run, NULL, &maps, &error), 0);
	assert_int_equal(npumem_bo_map(npumem_run_arena(o->run), &arena, &error), 0);
	assert_ptr_equal(maps.arena, arena);
	assert_null(maps.host);
	free(driver_graph.data);
	free(driver_plan.data);
	build_free(&b);
}

static int says_pending(unsigned long request, void *argument)
{
	struct drm_npumem_plan_read *args = argument;

	if (request != DRM_IOCTL_NPUMEM_PLAN_READ)
		return fake_default(request, argument);
	args->state = NPUMEM_PLAN_STATE_PENDING;
	return 0;
}

TEST_WITH(not_ready, objects_setup, objects_teardown)
{
	struct npumem_layout *layout;
	struct objects *o = *state;

	fake.handler = says_pending;
	assert_error(npumem_plan_layout(o->plan, &layout, &error), -EBUSY,
		     "the plan is still being made");
}
