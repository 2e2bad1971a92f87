/* SPDX-License-Identifier: MIT */
/*
 * userspace/npumemctl/run/transfers.c: what goes into host memory and comes out of it, and
 * what the driver's counters are compared with.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <errno.h>

#include "run/transfers.h"
#include "unit.h"

#define SIZE 12
#define HOST 64

enum { X, Y, VIEW, TENSORS };

/*
 * X (12 bytes, in host memory) --step 0--> Y --step 1--> bytes 2 and 3, 6 and 7 of Y
 * again, under the name of VIEW, which is Y from byte 2 on.
 */
static struct npuplan_tensor tensors[] = {
	[X] = { .size = SIZE, .kind = NPUMEM_TENSOR_INPUT, .flags = NPUMEM_TENSOR_FLAG_HOST },
	[Y] = { .size = SIZE, .kind = NPUMEM_TENSOR_OUTPUT },
	[VIEW] = { .size = 6, .flags = NPUMEM_TENSOR_FLAG_ALIAS, .alias_of = Y, .alias_offset = 2 },
};
static struct npumem_tile tiles[] = {
	{ .tensor = X, .region = { .length = SIZE, .count = { 1, 1, 1 } } },
	{ .tensor = Y, .region = { .length = SIZE, .count = { 1, 1, 1 } } },
	{ .tensor = VIEW, .region = { .length = 2, .count = { 2, 1, 1 }, .stride = { 4 } } },
};
static struct npumem_access accesses[] = {
	{ .tile = 0, .mode = NPUMEM_ACCESS_READ },
	{ .tile = 1, .mode = NPUMEM_ACCESS_WRITE },
	{ .tile = 2, .mode = NPUMEM_ACCESS_UPDATE },
};
static struct npuplan_step steps[] = {
	{ .first_access = 0, .access_count = 2 },
	{ .first_access = 2, .access_count = 1 },
};
static const struct npuplan_graph graph = {
	.tensors = tensors,
	.tiles = tiles,
	.accesses = accesses,
	.steps = steps,
	.tensor_count = TENSORS,
	.tile_count = 3,
	.access_count = 3,
	.step_count = 2,
};

#define MOVE(k, t, from, bytes, host) \
	{ .kind = (k), .index = (t), .first = (from), .length = (bytes), .host_offset = (host) }
#define STEP(i) { .kind = NPUMEM_POSITION_STEP, .index = (i) }

static struct npumem_position positions[] = {
	MOVE(NPUMEM_POSITION_LOAD, X, 0, 5, 10),
	MOVE(NPUMEM_POSITION_LOAD, X, 5, 7, 40),
	STEP(0),
	MOVE(NPUMEM_POSITION_STORE, Y, 0, 8, 20),
	MOVE(NPUMEM_POSITION_SPILL, Y, 8, 3, 30),
	{ .kind = NPUMEM_POSITION_DROP, .index = Y, .placement = NPUMEM_NONE, .length = 8 },
	MOVE(NPUMEM_POSITION_FILL, Y, 2, 6, 22),
	STEP(1),
	MOVE(NPUMEM_POSITION_STORE, Y, 6, 2, 26),
};

static struct npumem_plan_block blocks[] = { { 0 } };
static struct path_visit visits[] = { { .edge = NPUMEM_NONE } };
static const struct path path = { visits, 1 };

static struct npuplan_plan plan_of(uint32_t count)
{
	blocks[0].position_count = count;
	return (struct npuplan_plan){
		.blocks = blocks,
		.block_count = 1,
		.positions = positions,
		.position_count = count,
		.info = { .load_bytes = 23, .spill_bytes = 2, .fill_bytes = 6 },
	};
}

#define ALL (sizeof(positions) / sizeof(positions[0]))

TEST(traffic)
{
	struct npuplan_plan plan = plan_of(ALL);
	struct traffic t = transfers_traffic(&plan, &path);

	assert_int_equal(t.load, 12);
	assert_int_equal(t.store, 10);
	assert_int_equal(t.spill, 3);
	assert_int_equal(t.fill, 6);
}

TEST(check)
{
	struct npuplan_plan plan = plan_of(ALL);
	struct traffic moved = transfers_traffic(&plan, &path);
	struct npuplan_error error;

	assert_int_equal(transfers_check(&plan, &path, &moved, &error), 0);
	moved.store -= 1;
	moved.spill += 1;
	assert_int_equal(transfers_check(&plan, &path, &moved, &error), -EINVAL);
	assert_string_equal(error.text,
			    "the driver moved 12 bytes by loads, 4 by spills, 9 by stores and 6 "
			    "by fills; the plan's schedule has 12, 3, 10 and 6");
	moved = transfers_traffic(&plan, &path);
	plan.info.fill_bytes = 5;
	assert_int_equal(transfers_check(&plan, &path, &moved, &error), -EINVAL);
	assert_string_equal(error.text, "the driver moved 6 bytes by fills and 25 by all else; "
					"the plan's traffic is 5 and 25");
	plan.info.fill_bytes = 6;
	plan.info.load_bytes = 22;
	assert_int_equal(transfers_check(&plan, &path, &moved, &error), -EINVAL);
	assert_string_equal(error.text, "the driver moved 6 bytes by fills and 25 by all else; "
					"the plan's traffic is 6 and 24");
}

/* A plan block counts as often as a path comes to it. */
TEST(path_of_blocks)
{
	struct npumem_plan_block two[] = {
		{ .position_count = 4 },
		{ .first_position = 4, .position_count = 3 },
	};
	struct path_visit way[] = { { .instance = 0 }, { .instance = 1 }, { .instance = 1 } };
	const struct path there = { way, 3 };
	struct npuplan_plan plan = plan_of(ALL);
	struct traffic moved;
	struct npuplan_error error;

	plan.blocks = two;
	plan.block_count = 2;
	plan.edge_count = 1;
	moved = transfers_traffic(&plan, &there);
	assert_int_equal(moved.load, 12);
	assert_int_equal(moved.store, 8);
	assert_int_equal(moved.spill, 6);
	assert_int_equal(moved.fill, 12);
	/* The claim is of another number of iterations. */
	assert_int_equal(transfers_check(&plan, &there, &moved, &error), 0);
	moved.fill += 6;
	assert_int_equal(transfers_check(&plan, &there, &moved, &error), -EINVAL);
	assert_string_equal(error.text,
			    "the driver moved 12 bytes by loads, 6 by spills, 8 by stores and 18 "
			    "by fills; the plan's schedule has 12, 6, 8 and 12");
}

TEST(put)
{
	uint8_t x[SIZE] = "abcdefghijkl", host[HOST] = { 0 }, expected[HOST] = { 0 };
	uint8_t *bytes[TENSORS] = { [X] = x };
	struct npuplan_plan plan = plan_of(ALL);

	memcpy(expected + 10, "abcde", 5);
	memcpy(expected + 40, "fghijkl", 7);
	assert_int_equal(transfers_put(&graph, &plan, bytes, host, HOST), 0);
	assert_memory_equal(host, expected, HOST);
	/* Just enough room, and a byte too little. */
	assert_int_equal(transfers_put(&graph, &plan, bytes, host, 47), 0);
	assert_int_equal(transfers_put(&graph, &plan, bytes, host, 46), -EINVAL);
	bytes[X] = NULL;
	assert_int_equal(transfers_put(&graph, &plan, bytes, host, HOST), -EINVAL);
}

TEST(put_beyond_the_tensor)
{
	struct npumem_position bad[] = {
		MOVE(NPUMEM_POSITION_LOAD, X, SIZE, 1, 0),
		MOVE(NPUMEM_POSITION_LOAD, X, SIZE + 1, 0, 0),
		MOVE(NPUMEM_POSITION_LOAD, X, 1, UINT64_MAX, 0),
		MOVE(NPUMEM_POSITION_LOAD, X, 0, 1, UINT64_MAX),
		MOVE(NPUMEM_POSITION_LOAD, TENSORS, 0, 1, 0),
	};
	uint8_t x[SIZE] = { 0 }, host[HOST];
	uint8_t *bytes[TENSORS] = { [X] = x };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct npuplan_plan plan = { .positions = &bad[i], .position_count = 1 };

		assert_int_equal(transfers_put(&graph, &plan, bytes, host, HOST), -EINVAL);
	}
}

static void get(uint32_t positions_done, const char *expected)
{
	static const uint8_t host[HOST] = "....................ABCDEFGHIJKLMNOPQRSTUVW";
	struct npuplan_plan plan = plan_of(positions_done);
	uint8_t bytes[SIZE + 1] = "------------";

	assert_int_equal(transfers_get(&graph, &plan, Y, bytes, host, HOST), 0);
	assert_string_equal((const char *)bytes, expected);
}

TEST(get)
{
	/* Not stored yet; stored; stored and spilled. */
	get(3, "------------");
	get(4, "ABCDEFGH----");
	get(5, "ABCDEFGHKLM-");
	/* Dropped and filled, the copies stay as they are. */
	get(7, "ABCDEFGHKLM-");
	/* Written again: bytes 2 to 4 of the view's, and 6 to 8. */
	get(8, "AB--EF--KLM-");
	get(9, "AB--EFGHKLM-");
}

/* With edges a block's copies are gone at its end, so that nothing is found there. */
TEST(get_with_edges)
{
	const uint8_t host[HOST] = { 0 };
	struct npuplan_plan plan = plan_of(ALL);
	uint8_t bytes[SIZE + 1] = "------------";

	plan.edge_count = 1;
	assert_int_equal(transfers_get(&graph, &plan, Y, bytes, host, HOST), 0);
	assert_string_equal((const char *)bytes, "------------");
}

TEST(get_beyond_host_memory)
{
	struct npuplan_plan plan = plan_of(ALL);
	uint8_t bytes[SIZE], host[HOST] = { 0 };

	assert_int_equal(transfers_get(&graph, &plan, Y, bytes, host, 33), 0);
	assert_int_equal(transfers_get(&graph, &plan, Y, bytes, host, 32), -EINVAL);
}
