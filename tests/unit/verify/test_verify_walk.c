// SPDX-License-Identifier: MIT
/* Arena ranges of accesses: whole, strided, in pieces, in rings. */
#include "test_verify.h"

/* From each byte of the access on as when it is walked from the beginning; and beyond its end. */
static void check_seek(const struct npuv_plan *plan, uint32_t position, uint32_t access)
{
	uint64_t byte, bytes = npuv_access_bytes(plan, access);
	struct npuv_walk walk, seek;
	struct npuv_range range, at;

	for (byte = 0; byte < bytes; byte++) {
		npuv_walk_begin(&walk, plan, position, access);
		do
			assert_true(npuv_walk_next(&walk, &range));
		while (range.linear + range.length <= byte);
		npuv_walk_begin(&seek, plan, position, access);
		npuv_walk_seek(&seek, byte);
		assert_true(npuv_walk_next(&seek, &at));
		assert_int_equal(at.linear, byte);
		assert_int_equal(at.arena, range.arena + (byte - range.linear));
		assert_int_equal(at.length, range.length - (byte - range.linear));
		assert_int_equal(at.external, range.external);
		while (npuv_walk_next(&walk, &range)) {
			assert_true(npuv_walk_next(&seek, &at));
			assert_int_equal(at.linear, range.linear);
			assert_int_equal(at.arena, range.arena);
			assert_int_equal(at.length, range.length);
		}
		assert_false(npuv_walk_next(&seek, &at));
	}
	npuv_walk_begin(&seek, plan, position, access);
	npuv_walk_seek(&seek, bytes);
	assert_false(npuv_walk_next(&seek, &at));
	npuv_walk_begin(&seek, plan, position, access);
	npuv_walk_seek(&seek, UINT64_MAX);
	assert_false(npuv_walk_next(&seek, &at));
}

/* Ranges as {arena, length, linear}, ended by a length of zero; and their sum. */
static void check_walk(const struct npuv_plan *plan, uint32_t position, uint32_t access,
		       const struct npuv_range *expected)
{
	struct npuv_range range;
	struct npuv_walk walk;
	uint64_t bytes = 0;

	npuv_walk_begin(&walk, plan, position, access);
	for (; expected->length; expected++) {
		bytes += expected->length;
		assert_true(npuv_walk_next(&walk, &range));
		assert_int_equal(range.arena, expected->arena);
		assert_int_equal(range.length, expected->length);
		assert_int_equal(range.linear, expected->linear);
	}
	assert_false(npuv_walk_next(&walk, &range));
	assert_false(npuv_walk_next(&walk, &range));
	assert_int_equal(npuv_access_bytes(plan, access), bytes);
	check_seek(plan, position, access);
}

#define WALK(plan, position, access, ...) \
	check_walk(plan, position, access, (const struct npuv_range[]){ __VA_ARGS__, { 0, 0, 0 } })

static struct npuv_plan *start(struct build *b)
{
	struct npuv_plan *plan = accept_plan(b);

	build_free(b);
	return plan;
}

TEST(whole)
{
	struct npuv_plan *plan;
	struct build b;

	chain(&b);
	plan = start(&b);
	WALK(plan, 0, 0, { 0, 8, 0 });
	WALK(plan, 0, 1, { 8, 8, 0 });
	WALK(plan, 1, 2, { 8, 8, 0 });
	WALK(plan, 1, 3, { 16, 8, 0 });
	free_plan(plan);
}

TEST(strided_tile)
{
	struct npuv_plan *plan;
	struct build b;

	chain(&b);
	build_tile_at(&b, X)->region = build_strided(1, 1, 3, 3);
	/* Rows without a gap are one range. */
	build_tile_at(&b, A)->region = build_strided(0, 2, 4, 2);
	/* Two dimensions: {0, 2}, {4, 6} */
	build_tile_at(&b, Y)->region = build_region(0, 8);
	build_access_at(&b, 2)->tile = build_tile(&b, A, build_strided(0, 1, 2, 2));
	build_tile_at(&b, 3)->region.count[1] = 2;
	build_tile_at(&b, 3)->region.stride[1] = 4;
	plan = start(&b);
	WALK(plan, 0, 0, { 1, 1, 0 }, { 4, 1, 1 }, { 7, 1, 2 });
	WALK(plan, 0, 1, { 8, 8, 0 });
	WALK(plan, 1, 2, { 8, 1, 0 }, { 10, 1, 1 }, { 12, 1, 2 }, { 14, 1, 3 });
	free_plan(plan);
}

TEST(pieces)
{
	struct npuv_plan *plan;
	struct build b;

	chain(&b);
	/* a in two pieces, the second one first; y in even and odd bytes. */
	build_placement_at(&b, A)->region = build_region(0, 3);
	build_placement_at(&b, A)->offset = 13;
	build_place_region(&b, A, 0, 1, 8, build_region(3, 5));
	build_placement_at(&b, Y)->region = build_strided(0, 1, 4, 2);
	build_placement_at(&b, Y)->stride[0] = 1;
	build_placement_at(&b, build_place_region(&b, Y, 1, 1, 20, build_strided(1, 1, 4, 2)))
		->stride[0] = 1;
	b.info.arena_size = 24;
	plan = start(&b);
	WALK(plan, 0, 1, { 13, 3, 0 }, { 8, 5, 3 });
	WALK(plan, 1, 2, { 13, 3, 0 }, { 8, 5, 3 });
	WALK(plan, 1, 3, { 16, 1, 0 }, { 20, 1, 1 }, { 17, 1, 2 }, { 21, 1, 3 }, { 18, 1, 4 },
	     { 22, 1, 5 }, { 19, 1, 6 }, { 23, 1, 7 });
	free_plan(plan);
}

/* Pieces that lie as the whole would are one range. */
TEST(neighbours)
{
	struct npuv_plan *plan;
	struct build b;

	chain(&b);
	build_placement_at(&b, A)->region = build_region(0, 3);
	build_place_region(&b, A, 0, 1, 11, build_region(3, 5));
	plan = start(&b);
	WALK(plan, 1, 2, { 8, 8, 0 });
	free_plan(plan);
}

/* Four rows of two bytes go through a ring of two rows. */
TEST(ring)
{
	struct npumem_placement *p;
	struct npuv_plan *plan;
	struct build b;
	uint32_t i;

	build_init(&b);
	build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 8, "rows");
	build_tensor(&b, NPUMEM_TENSOR_OUTPUT, 8, "y");
	for (i = 0; i < 4; i++) {
		uint32_t first = i ? 2 * i - 2 : 0;

		build_step(&b, 0, NULL);
		build_access(&b, build_tile(&b, 0, build_region(2 * i, 2)), NPUMEM_ACCESS_WRITE);
		build_step(&b, 0, NULL);
		build_access(&b, build_tile(&b, 0, build_region(first, 2 * i + 2 - first)),
			     NPUMEM_ACCESS_READ);
		build_access(&b, build_tile(&b, 1, build_region(2 * i, 2)), NPUMEM_ACCESS_WRITE);
	}
	build_finish(&b);
	build_place(&b, 1, 4);
	p = build_placement_at(&b, build_place_region(&b, 0, 0, 7, 0, build_region(0, 2)));
	p->region.count[2] = 4;
	p->region.stride[2] = 2;
	p->stride[2] = 2;
	p->ring = 2;
	plan = start(&b);
	WALK(plan, 0, 0, { 0, 2, 0 });
	WALK(plan, 1, 1, { 0, 2, 0 });
	WALK(plan, 2, 3, { 2, 2, 0 });
	WALK(plan, 3, 4, { 0, 4, 0 });
	WALK(plan, 4, 6, { 0, 2, 0 });
	/* Rows 1 and 2: the newer one lies before the older one. */
	WALK(plan, 5, 7, { 2, 2, 0 }, { 0, 2, 2 });
	WALK(plan, 7, 10, { 0, 4, 0 });
	free_plan(plan);
}

/*
 * Each byte is written, then read, then gone; each time all of the tensor lies
 * elsewhere, so all its placements cover the same bytes. They come in any order.
 */
TEST(many_places)
{
	const uint32_t count = 50;
	struct npuv_plan *plan;
	struct build b;
	uint32_t i;

	build_init(&b);
	build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, count, "t");
	for (i = 0; i < count; i++) {
		build_step(&b, 0, NULL);
		build_access(&b, build_tile(&b, 0, build_region(i, 1)), NPUMEM_ACCESS_WRITE);
		build_step(&b, 0, NULL);
		build_access(&b, i, NPUMEM_ACCESS_READ);
	}
	build_finish(&b);
	for (i = 0; i < count; i++) {
		uint32_t k = 7 * i % count;

		build_place_region(&b, 0, 2 * k, 2 * k + 1, 3 * k, build_region(0, count));
	}
	plan = start(&b);
	for (i = 0; i < count; i++) {
		WALK(plan, 2 * i, 2 * i, { 4 * i, 1, 0 });
		WALK(plan, 2 * i + 1, 2 * i + 1, { 4 * i, 1, 0 });
	}
	free_plan(plan);
}

/* The same bytes in two places, one after the other: state before and after. */
TEST(versions)
{
	struct npumem_placement *p;
	struct npuv_plan *plan;
	struct build b;

	chain(&b);
	build_tensor_at(&b, X)->kind = NPUMEM_TENSOR_STATE;
	/* The state's upper half is written anew, lower half stays. */
	build_access(&b, build_tile(&b, X, build_region(4, 4)), NPUMEM_ACCESS_WRITE);
	p = build_placement_at(&b, X);
	p->region = build_region(0, 4);
	build_place_region(&b, X, 0, 1, 4, build_region(4, 4));
	plan = start(&b);
	WALK(plan, 0, 0, { 0, 8, 0 });
	WALK(plan, 1, 4, { 4, 4, 0 });
	free_plan(plan);
}

TEST(parameter_outside)
{
	struct npuv_range range;
	struct npuv_plan *plan;
	struct npuv_walk walk;
	struct build b;

	chain(&b);
	build_tensor_at(&b, X)->kind = NPUMEM_TENSOR_PARAMETER;
	*build_placement_at(&b, X) = *build_placement_at(&b, Y);
	b.placements.count = 2;
	plan = start(&b);
	npuv_walk_begin(&walk, plan, 0, 0);
	assert_false(npuv_walk_next(&walk, &range));
	WALK(plan, 0, 1, { 8, 8, 0 });
	free_plan(plan);
}
