// SPDX-License-Identifier: MIT
/* libnpumem: where a plan puts the bytes of tensors. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* First: npumem_fake.h has a variable by the name of its arguments. */
#include "npumem_commands.h"

#include "blob_build.h"
#include "npumem_fake.h"
#include "unit.h"

/* ------------------------------------------------------------------- graphs */

enum { IN, MIDDLE, OUT, ALIAS, OUTSIDE, WEIGHTS, TENSORS };

/*
 * in, outside -> first -> middle; a part of middle -> second -> out. The middle lies in two pieces,
 * the second of which has rows that are not packed; in and out take turns.
 */
static void build_chain(struct build *b)
{
	struct npumem_placement *piece;

	build_init(b);
	build_tensor(b, NPUMEM_TENSOR_INPUT, 100, "in");
	build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 200, "middle");
	build_tensor(b, NPUMEM_TENSOR_OUTPUT, 100, "out");
	build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 60, "alias");
	build_tensor(b, NPUMEM_TENSOR_INPUT, 40, "outside");
	build_tensor(b, NPUMEM_TENSOR_PARAMETER, 10, "weights");
	build_tensor_at(b, ALIAS)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(b, ALIAS)->alias_of = MIDDLE;
	build_tensor_at(b, ALIAS)->alias_offset = 90;
	build_tensor_at(b, OUTSIDE)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	for (uint32_t t = 0; t < TENSORS; t++)
		build_whole(b, t);
	build_step(b, 0, "first");
	build_access(b, IN, NPUMEM_ACCESS_READ);
	build_access(b, OUTSIDE, NPUMEM_ACCESS_READ);
	build_access(b, MIDDLE, NPUMEM_ACCESS_WRITE);
	build_step(b, 0, "second");
	build_access(b, ALIAS, NPUMEM_ACCESS_READ);
	build_access(b, OUT, NPUMEM_ACCESS_WRITE);
	build_finish(b);
	build_place_region(b, MIDDLE, 0, 1, 512, build_strided(100, 20, 5, 20));
	piece = build_placement_at(b, 0);
	piece->stride[0] = 32;
	build_place_region(b, MIDDLE, 0, 1, 128, build_region(0, 100));
	build_place_region(b, IN, 0, 0, 0, build_region(0, 100));
	build_place_region(b, OUT, 1, 1, 0, build_region(0, 100));
	b->info.arena_size = 1024;
}

static struct npumem_layout *layout_of(const struct build *b, int expected)
{
	struct build_blob graph = build_graph(b), plan = build_plan(b);
	struct npumem_layout *layout = NULL;

	assert_int_equal(npumem_layout_new(graph.data, graph.size, plan.data, plan.size, &layout,
					   &error),
			 expected);
	free(graph.data);
	free(plan.data);
	return layout;
}

static int setup(void **state)
{
	struct build b;

	memset(&error, 0, sizeof(error));
	build_chain(&b);
	*state = layout_of(&b, 0);
	build_free(&b);
	return 0;
}

static int teardown(void **state)
{
	npumem_layout_free(*state);
	npumem_layout_free(NULL);
	return 0;
}

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

TEST_WITH(at, setup, teardown)
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

TEST_WITH(entry_and_exit, setup, teardown)
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

TEST_WITH(null, setup, teardown)
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

TEST_WITH(records, setup, teardown)
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

/*
 * Block 0 makes a value and block 1, a loop unrolled twice, another of it; along its edge to itself
 * they swap. The value that a loop's iteration is given lies at 0 and 64 in turn.
 */
static void build_loop(struct build *b)
{
	static const uint32_t slots[] = { 1, 3 };

	build_init(b);
	build_tensor(b, NPUMEM_TENSOR_INPUT, 64, "in");
	build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 64, "value");
	build_tensor(b, NPUMEM_TENSOR_OUTPUT, 64, "next");
	for (uint32_t t = 0; t < 3; t++)
		build_whole(b, t);
	build_block(b, "empty");
	build_step(b, 0, "go round");
	build_access(b, 1, NPUMEM_ACCESS_READ);
	build_access(b, 2, NPUMEM_ACCESS_WRITE);
	build_block(b, "body");
	build_edge(b, 0, 1);
	build_carry(b, 0, 1);
	build_edge(b, 1, 1);
	build_carry(b, 2, 1);
	build_edge(b, 1, NPUMEM_NONE);
	build_instance(b, 0);
	build_enter(b, 0, 0);
	build_instance(b, 1);
	build_enter(b, 1, 0);
	build_place_here(b, 2, 64);
	build_instance(b, 1);
	build_enter(b, 1, 64);
	build_place_here(b, 2, 0);
	build_plan_edge(b, 0, 1, 0);
	build_plan_edge(b, 1, 2, 1);
	build_plan_edge(b, 1, NPUMEM_NONE, 2);
	build_plan_edge(b, 2, 1, 1);
	build_plan_edge(b, 2, NPUMEM_NONE, 2);
	*(struct npumem_view *)build_add(&b->views, 1) = (struct npumem_view){
		.tensor = 1, .type = NPUMEM_VIEW_CYCLIC, .repeat = 2, .loop = 1, .slot_count = 2
	};
	memcpy(build_add(&b->slots, 2), slots, sizeof(slots));
}

static int loop_setup(void **state)
{
	struct build b;

	memset(&error, 0, sizeof(error));
	build_loop(&b);
	*state = layout_of(&b, 0);
	build_free(&b);
	return 0;
}

TEST_WITH(loop, loop_setup, teardown)
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

static void add_transfer(struct build *b, uint32_t kind, uint32_t tensor, uint64_t first,
			 uint64_t length, uint64_t host_offset)
{
	struct npumem_position *p = build_add(&b->positions, 1);

	*p = (struct npumem_position){ .kind = kind,
				       .index = tensor,
				       .placement = NPUMEM_NONE,
				       .first = first,
				       .length = length,
				       .host_offset = host_offset };
}

/*
 * The chain with an input that is loaded in two halves, whose order in host memory is the other
 * one, and a middle that is spilled, filled again, and written once more by another step.
 */
static void build_transfers(struct build *b)
{
	struct npumem_position steps[2];

	build_chain(b);
	build_tensor_at(b, IN)->flags = NPUMEM_TENSOR_FLAG_HOST;
	memcpy(steps, b->positions.data, sizeof(steps));
	b->positions.count = 0;
	add_transfer(b, NPUMEM_POSITION_LOAD, IN, 50, 50, 0);
	add_transfer(b, NPUMEM_POSITION_LOAD, IN, 0, 50, 50);
	*(struct npumem_position *)build_add(&b->positions, 1) = steps[0];
	add_transfer(b, NPUMEM_POSITION_SPILL, MIDDLE, 0, 200, 100);
	add_transfer(b, NPUMEM_POSITION_FILL, MIDDLE, 80, 80, 180);
	*(struct npumem_position *)build_add(&b->positions, 1) = steps[1];
	add_transfer(b, NPUMEM_POSITION_STORE, OUT, 20, 30, 0);
	add_transfer(b, NPUMEM_POSITION_DROP, MIDDLE, 80, 80, 0);
	build_plan_block_at(b, 0)->position_count = 8;
	b->info.host_size = 300;
	for (uint32_t i = 0; i < 2; i++) {
		build_placement_at(b, i)->from = 2;
		build_placement_at(b, i)->to = 3;
	}
	build_placement_at(b, 2)->to = 2;
	build_placement_at(b, 3)->from = 5;
	build_placement_at(b, 3)->to = 7;
	build_place_region(b, MIDDLE, 4, 7, 700, build_region(80, 80));
}

static int transfers_setup(void **state)
{
	struct build b;

	memset(&error, 0, sizeof(error));
	build_transfers(&b);
	*state = layout_of(&b, 0);
	build_free(&b);
	return 0;
}

TEST_WITH(transfers, transfers_setup, teardown)
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

TEST_WITH(commands, transfers_setup, teardown)
{
	struct npumem_commands *c = npumem_commands_new();
	const struct drm_npumem_relocation *r;
	struct drm_npumem_job job;

	assert_non_null(c);
	job = npumem_commands_job(c, 1, 2, 3);
	assert_int_equal(job.engine, 1);
	assert_int_equal(job.first_position, 2);
	assert_int_equal(job.position_count, 3);
	assert_int_equal(job.commands.ptr, 0);
	assert_int_equal(job.relocations.stride, 0);
	assert_int_equal(npumem_commands_append(c, "abc", 3, &error), 0);
	assert_int_equal(npumem_commands_append(c, NULL, 100, &error), 8);
	assert_int_equal(npumem_commands_relocate(c, 8, 7, 6, 5, &error), 0);
	assert_int_equal(npumem_commands_relocate_tensor(c, 96, *state, 2, 5, MIDDLE, 91,
							 NPUMEM_ACCESS_READ, &error),
			 0);
	job = npumem_commands_job(c, 0, 2, 6);
	assert_int_equal(job.commands.size, 108);
	assert_memory_equal((void *)(uintptr_t)job.commands.ptr, "abc\0\0\0\0\0\0", 9);
	assert_int_equal(job.relocations.stride, sizeof(*r));
	assert_int_equal(job.relocations.count, 2);
	r = (const void *)(uintptr_t)job.relocations.ptr;
	assert_true(r[0].offset == 8 && r[0].position == 7 && r[0].access == 6 && r[0].delta == 5);
	assert_true(r[1].offset == 96 && r[1].position == 3 && !r[1].access && r[1].delta == 1);
	assert_true(!r[0].pad && !r[1].pad);

	assert_error(npumem_commands_relocate(c, 8, 0, 0, 0, &error), -EINVAL,
		     "byte 8 of the commands has a relocation");
	assert_error(npumem_commands_relocate(c, 12, 0, 0, 0, &error), -EINVAL,
		     "byte 12 of commands of 108 bytes does not begin 8 bytes");
	assert_error(npumem_commands_relocate(c, 104, 0, 0, 0, &error), -EINVAL,
		     "byte 104 of commands of 108 bytes does not begin 8 bytes");
	assert_error(npumem_commands_relocate(c, 112, 0, 0, 0, &error), -EINVAL,
		     "byte 112 of commands of 108 bytes does not begin 8 bytes");
	assert_error(npumem_commands_relocate(NULL, 0, 0, 0, 0, &error), -EINVAL,
		     "npumem_commands_relocate: NULL argument");
	assert_error(npumem_commands_relocate_tensor(c, 16, *state, 3, 2, IN, 0, NPUMEM_ACCESS_READ,
						     &error),
		     -EINVAL, "position 2 is before the job's first, 3");
	assert_error(npumem_commands_relocate_tensor(c, 16, *state, 2, 2, OUT, 0,
						     NPUMEM_ACCESS_READ, &error),
		     -ENOENT, "position 2 does not read byte 0 of tensor 2");
	assert_error((int)npumem_commands_append(c, "", 0, &error), -EINVAL,
		     "npumem_commands_append: NULL argument");
	assert_error((int)npumem_commands_append(NULL, "", 1, &error), -EINVAL,
		     "npumem_commands_append: NULL argument");
	assert_error((int)npumem_commands_append(c, "", UINT32_MAX, &error), -E2BIG,
		     "commands cannot have more than 4 GiB");
	npumem_commands_clear(c);
	job = npumem_commands_job(c, 0, 0, 1);
	assert_int_equal(job.commands.size, 0);
	assert_int_equal(job.relocations.count, 0);
	assert_int_equal(npumem_commands_append(c, NULL, 8, &error), 0);
	/* As many as there are words, and the words are found again. */
	for (uint64_t i = 0; i < 100; i++) {
		npumem_commands_append(c, NULL, 8, &error);
		assert_int_equal(npumem_commands_relocate(c, 8 * i, 0, 0, i, &error), 0);
	}
	job = npumem_commands_job(c, 0, 0, 1);
	r = (const void *)(uintptr_t)job.relocations.ptr;
	assert_int_equal(job.relocations.count, 100);
	for (uint64_t i = 0; i < 100; i++)
		assert_true(r[i].offset == 8 * i && r[i].delta == i);
	npumem_commands_free(c);
	npumem_commands_free(NULL);
}

/* ----------------------------------------------------------------- CPU's access */

TEST_WITH(write_and_read, transfers_setup, teardown)
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

/* --------------------------------------------------------------------- blobs */

static void assert_blobs(struct build_blob graph, struct build_blob plan, int expected,
			 const char *text)
{
	struct npumem_layout *layout;

	assert_error(npumem_layout_new(graph.data, graph.size, plan.data, plan.size, &layout,
				       &error),
		     expected, text);
}

TEST(headers)
{
	struct npumem_blob_header *header;
	struct build_blob graph, plan;
	struct build b;

	build_chain(&b);
	graph = build_graph(&b);
	plan = build_plan(&b);
	header = plan.data;
	plan.size -= 8;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: it has another length than it says");
	plan.size = 31;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: it is shorter than its header");
	plan.size = header->total_size;
	header->magic++;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: it has another magic number");
	header->magic--;
	header->version++;
	assert_blobs(graph, plan, -EOPNOTSUPP,
		     "the plan blob is of version 2, which is not known here");
	header->version--;
	header->section_count = 33333;
	assert_blobs(graph, plan, -EBADMSG,
		     "the plan blob: its table of sections is beyond its end");
	header->section_count = 0;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob has no info");
	free(graph.data);
	free(plan.data);
	build_free(&b);
}

TEST(sections)
{
	struct npumem_blob_section *section;
	struct build_blob graph, plan;
	struct build b;

	build_chain(&b);
	graph = build_graph(&b);
	plan = build_plan(&b);
	section = build_section(plan, NPUMEM_PLAN_SECTION_SCHEDULE);
	section->count += 1000;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: section 3 is beyond its end");
	section->count -= 1000;
	section->stride--;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: section 3 is beyond its end");
	section->stride++;
	section->kind = NPUMEM_PLAN_SECTION_PLACEMENTS;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: it has section 2 twice");
	section->kind = NPUMEM_SECTION_OPAQUE;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob has no position");
	section = build_section(graph, NPUMEM_GRAPH_SECTION_STEPS);
	section->kind = NPUMEM_SECTION_OPAQUE;
	assert_blobs(graph, plan, -EBADMSG, "the graph blob has no step");
	free(graph.data);
	free(plan.data);
	build_free(&b);
}

/* Records of other lengths than the library's are cut, or continued by zeros. */
TEST(strides)
{
	static const int more[] = { 8, -8 };
	struct npumem_placement piece;
	struct npumem_layout *layout;
	struct build b;

	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		struct build_blob graph, plan, other;
		struct npumem_blob_section *section;
		uint8_t *records;

		build_chain(&b);
		graph = build_graph(&b);
		plan = build_plan(&b);
		other.size = plan.size + 4 * (sizeof(piece) + 8);
		other.data = calloc(1, other.size);
		assert_non_null(other.data);
		memcpy(other.data, plan.data, plan.size);
		((struct npumem_blob_header *)other.data)->total_size = other.size;
		section = build_section(other, NPUMEM_PLAN_SECTION_PLACEMENTS);
		records = (uint8_t *)other.data + plan.size;
		for (uint32_t p = 0; p < 4; p++)
			memcpy(records + p * (sizeof(piece) + more[i]), build_placement_at(&b, p),
			       sizeof(piece) + (more[i] < 0 ? more[i] : 0));
		section->offset = plan.size;
		section->stride = sizeof(piece) + more[i];
		assert_int_equal(npumem_layout_new(graph.data, graph.size, other.data, other.size,
						   &layout, &error),
				 0);
		for (uint32_t p = 0; p < 4; p++) {
			assert_int_equal(npumem_layout_placement(layout, p, &piece, &error), 0);
			assert_memory_equal(&piece, build_placement_at(&b, p), sizeof(piece));
		}
		npumem_layout_free(layout);
		free(graph.data);
		free(plan.data);
		free(other.data);
		build_free(&b);
	}
}

/* Whatever a record says that cannot be is refused, and named. */
struct spoiled {
	void (*build)(struct build *b);
	void (*spoil)(struct build *b);
	const char *text;
};

static void refuses(void **state)
{
	const struct spoiled *s = *state;
	struct build_blob graph, plan;
	struct build b;

	s->build(&b);
	s->spoil(&b);
	graph = build_graph(&b);
	plan = build_plan(&b);
	assert_blobs(graph, plan, -EBADMSG, s->text);
	free(graph.data);
	free(plan.data);
	build_free(&b);
}

#define REFUSES(name, made, change, ...)                                            \
	static void spoil_##name(struct build *b)                                   \
	{                                                                           \
		change;                                                             \
	}                                                                           \
	TEST_CASE(name, refuses, NULL, NULL, struct spoiled, .build = build_##made, \
		  .spoil = spoil_##name, .text = __VA_ARGS__)

REFUSES(alias_of_none, chain, build_tensor_at(b, ALIAS)->alias_of = TENSORS,
	"tensor 3 of the graph: it is an alias of no tensor that has bytes")
REFUSES(alias_of_alias, chain, build_tensor_at(b, ALIAS)->alias_of = ALIAS,
	"tensor 3 of the graph: it is an alias of no tensor that has bytes")
REFUSES(alias_beyond, chain, build_tensor_at(b, ALIAS)->alias_offset = 141,
	"tensor 3 of the graph: it is an alias of bytes that its base has not")
REFUSES(tile_of_none, chain, build_tile_at(b, 2)->tensor = TENSORS,
	"tile 2 of the graph: its tensor is not there")
REFUSES(tile_beyond, chain, build_tile_at(b, 2)->region.length++,
	"tile 2 of the graph: it is not within its tensor")
REFUSES(tile_overflow, chain, build_tile_at(b, 2)->region.offset = UINT64_MAX,
	"tile 2 of the graph: it is not within its tensor")
REFUSES(tile_empty, chain, build_tile_at(b, 2)->region.length = 0,
	"tile 2 of the graph: it is not within its tensor")
REFUSES(tile_none, chain, build_tile_at(b, 2)->region.count[1] = 0,
	"tile 2 of the graph: it is not within its tensor")
REFUSES(tile_many, chain, build_tile_at(b, 2)->region.count[1] = UINT32_MAX,
	"tile 2 of the graph: it is not within its tensor")
REFUSES(tile_twice, chain,
	(build_tile_at(b, 2)->region.count[1] = 3, build_tile_at(b, 2)->region.length = 34),
	"tile 2 of the graph: it is not within its tensor")
REFUSES(access_of_none, chain, build_access_at(b, 4)->tile = TENSORS,
	"access 4 of the graph: its tile is not there")
REFUSES(step_beyond, chain, build_step_at(b, 1)->access_count++,
	"step 1 of the graph: its accesses are not there")
REFUSES(placement_of_none, chain, build_placement_at(b, 1)->tensor = TENSORS,
	"placement 1 of the plan: its tensor is not there, or is an alias")
REFUSES(placement_of_alias, chain, build_placement_at(b, 1)->tensor = ALIAS,
	"placement 1 of the plan: its tensor is not there, or is an alias")
REFUSES(placement_block, chain, build_placement_at(b, 1)->block = 1,
	"placement 1 of the plan: its block is not there")
REFUSES(placement_region, chain, build_placement_at(b, 1)->region.offset = 101,
	"placement 1 of the plan: it is not within its tensor")
REFUSES(placement_arena, chain, build_placement_at(b, 1)->offset = 925,
	"placement 1 of the plan: it is not within the arena")
REFUSES(placement_stride, chain, build_placement_at(b, 0)->stride[0] = UINT64_MAX / 2,
	"placement 0 of the plan: it is not within the arena")
REFUSES(position_step, chain, build_position_at(b, 1)->index = 2,
	"position 1 of the plan: its step is not there")
REFUSES(position_kind, chain, build_position_at(b, 1)->kind = NPUMEM_POSITION_STORE + 1,
	"position 1 of the plan: it is of a kind that is not known here")
REFUSES(transfer_of_none, transfers, build_position_at(b, 0)->index = TENSORS,
	"position 0 of the plan: it moves bytes of no tensor")
REFUSES(transfer_beyond, transfers, build_position_at(b, 0)->length++,
	"position 0 of the plan: it moves bytes of no tensor")
REFUSES(transfer_host, transfers, build_position_at(b, 0)->host_offset = 251,
	"position 0 of the plan: it is not within host memory")
REFUSES(block_positions, chain, build_plan_block_at(b, 0)->position_count++,
	"block 0 of the plan: its positions are not there")
REFUSES(block_entries, chain, build_plan_block_at(b, 0)->entry_count++,
	"block 0 of the plan: its entries are not there")
REFUSES(entry_of_none, loop, build_entry_at(b, 1)->tensor = 3,
	"entry 1 of the plan: it is of bytes of no tensor")
REFUSES(entry_beyond, loop, build_entry_at(b, 1)->length++,
	"entry 1 of the plan: it is of bytes of no tensor")
REFUSES(entry_placement, loop, build_entry_at(b, 1)->placement = 0,
	"entry 1 of the plan: its placement is not one of its tensor")
REFUSES(entry_host, loop, build_entry_at(b, 1)->flags = NPUMEM_ENTRY_HOST,
	"entry 1 of the plan: it is not within host memory")
REFUSES(edge_from, loop, build_plan_edge_at(b, 4)->from = 3,
	"edge 4 of the plan: its blocks are not there")
REFUSES(edge_to, loop, build_plan_edge_at(b, 3)->to = 3,
	"edge 3 of the plan: its blocks are not there")
REFUSES(view_type, loop, build_view_at(b, 0)->type = 0,
	"view 0 of the plan: it is of a type that is not known here")
REFUSES(view_repeat, loop, build_view_at(b, 0)->repeat = 3,
	"view 0 of the plan: its slots are not there")
REFUSES(view_slots, loop, build_view_at(b, 0)->first_slot = 1,
	"view 0 of the plan: its slots are not there")
REFUSES(view_empty, loop, (build_view_at(b, 0)->repeat = 0, build_view_at(b, 0)->slot_count = 0),
	"view 0 of the plan: its slots are not there")
REFUSES(view_placement, loop, *(uint32_t *)b->slots.data = 2,
	"view 0 of the plan: a slot leads to what is not of its tensor")
REFUSES(view_nested, loop, *(uint32_t *)b->slots.data = 1 | NPUMEM_VIEW_SLOT_NESTED,
	"view 0 of the plan: a slot leads to what is not of its tensor")
