// SPDX-License-Identifier: MIT
/* userspace/chunks/chunks.h: chunks in their order, around a ring, and none at all. */
#include "../../../userspace/chunks/chunks.h"

#include "unit.h"

/* 2 x 3 x 4 chunks of 2 bytes, each dimension with a gap of its own. */
static const struct npumem_region box = {
	.offset = 5,
	.length = 2,
	.count = { 2, 3, 4 },
	.stride = { 3, 10, 100 },
};

TEST(the_first_dimension_goes_round_first)
{
	struct chunks walk = chunks_of_region(&box);

	assert_int_equal(chunks_count(&box), 24);
	for (uint32_t n = 0; n < 24; n++) {
		assert_true(chunks_next(&walk));
		assert_int_equal(walk.index[0], n % 2);
		assert_int_equal(walk.index[1], n / 2 % 3);
		assert_int_equal(walk.index[2], n / 6);
		assert_int_equal(walk.byte, 5 + n % 2 * 3 + n / 2 % 3 * 10 + n / 6 * 100);
		assert_int_equal(walk.address, 0);
	}
	assert_false(chunks_next(&walk));
}

TEST(a_placement_has_strides_of_its_own)
{
	const struct npumem_placement placement = {
		.region = box,
		.offset = 1000,
		.stride = { 2, 4, 12 },
	};
	struct chunks walk = chunks_of_placement(&placement);

	for (uint32_t n = 0; n < 24; n++) {
		assert_true(chunks_next(&walk));
		assert_int_equal(walk.byte, 5 + n % 2 * 3 + n / 2 % 3 * 10 + n / 6 * 100);
		assert_int_equal(walk.address, 1000 + 2 * n);
	}
	assert_false(chunks_next(&walk));
	assert_int_equal(chunks_hull(&placement), 48);
}

TEST(a_ring_comes_back_to_its_first_slot)
{
	const struct npumem_placement placement = {
		.region = { .length = 8, .count = { 1, 1, 5 }, .stride = { 0, 0, 8 } },
		.offset = 64,
		.stride = { 0, 0, 16 },
		.ring = 2,
	};
	const uint64_t addresses[] = { 64, 80, 64, 80, 64 };
	struct chunks walk = chunks_of_placement(&placement);

	for (uint32_t n = 0; n < 5; n++) {
		assert_true(chunks_next(&walk));
		assert_int_equal(walk.byte, 8 * n);
		assert_int_equal(walk.address, addresses[n]);
	}
	assert_false(chunks_next(&walk));
	assert_int_equal(chunks_hull(&placement), 24);
}

TEST(a_hull_has_the_gaps_in_it)
{
	const struct npumem_placement placement = {
		.region = box,
		.stride = { 7, 50, 1000 },
	};

	assert_int_equal(chunks_hull(&placement), 2 + 7 + 2 * 50 + 3 * 1000);
}

TEST(no_repetition_is_no_chunk)
{
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		struct npumem_region none = box;
		struct chunks walk = chunks_of_region(&none);

		none.count[d] = 0;
		assert_false(chunks_next(&walk));
	}
}
