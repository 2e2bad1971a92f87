// SPDX-License-Identifier: MIT
/* The arena's interval map against an array with an owner for each byte. */
#include "test_verify.h"

#include <stdlib.h>

#include "random.h"
#include "walk/check.h"

#define MOST 5000

static uint64_t random_state = 42;

static uint32_t below(uint32_t n)
{
	return random_range(&random_state, 0, n - 1);
}

/* A map whose bounds are 3, 6, 9 ... */
static void make(struct npuv_arena *map, uint32_t count)
{
	u64 *bounds = calloc(count, sizeof(*bounds));
	uint32_t i;

	for (i = 0; i < count; i++)
		bounds[i] = 3 * (i + 1);
	assert_int_equal(npuv_arena_init(map, bounds, count), 0);
}

/* begins[i]: does a range begin at bound i? */
static void compare(const struct npuv_arena *map, uint32_t count, const uint32_t *owner,
		    const unsigned char *begins)
{
	uint32_t i, begin = 0, found = 0;

	for (i = 0; i < count; i++) {
		if (begins[i]) {
			if (i)
				assert_int_equal(npuv_arena_next(map, begin), i);
			begin = i;
			found++;
		}
		assert_int_equal(npuv_arena_first(map, i), begin);
		assert_int_equal(map->owner[begin], owner[i]);
	}
	assert_int_equal(npuv_arena_next(map, begin), count);
	assert_true(found);
}

static void paint_randomly(uint32_t count, uint32_t paints, uint32_t every)
{
	static uint32_t owner[MOST];
	static unsigned char begins[MOST];
	struct npuv_arena map;
	uint32_t i, k;

	make(&map, count);
	for (i = 0; i < count; i++) {
		owner[i] = NPUMEM_NONE;
		begins[i] = !i;
	}
	for (k = 0; k < paints; k++) {
		uint32_t lo = below(count), hi = lo + 1 + below(k % 3 ? 9 : count - lo);

		hi = hi > count ? count : hi;
		if (hi < count)
			begins[hi] = 1;
		for (i = lo; i < hi; i++) {
			owner[i] = k;
			begins[i] = i == lo;
		}
		npuv_arena_paint(&map, lo, hi, k);
		if (k % every == 0)
			compare(&map, count, owner, begins);
	}
	compare(&map, count, owner, begins);
	npuv_arena_fini(&map);
}

/* Around the sizes at which words fill up and levels are added. */
TEST(against_array)
{
	static const uint32_t sizes[] = { 1, 2, 63, 64, 65, 128, 700, 4095, 4096, 4097, MOST };
	uint32_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		paint_randomly(sizes[i], 3000, sizes[i] > 700 ? 500 : 10);
}

TEST(bounds)
{
	struct npuv_arena map;

	make(&map, 300);
	assert_int_equal(npuv_arena_bound(&map, 3), 0);
	assert_int_equal(npuv_arena_bound(&map, 450), 149);
	assert_int_equal(npuv_arena_bound(&map, 900), 299);
	npuv_arena_fini(&map);
}

/* Nothing placed at all: a map without bounds. */
TEST(empty)
{
	struct npuv_arena map;

	make(&map, 0);
	assert_int_equal(map.count, 0);
	npuv_arena_fini(&map);
}

TEST(sort)
{
	struct npuv_work w = { 0 };
	static u64 values[1000];
	uint32_t n, i;

	for (n = 0; n <= 1000; n += n < 20 ? 1 : 49) {
		uint64_t sum = 0, sorted_sum = 0;

		for (i = 0; i < n; i++)
			sum += values[i] = below(n);
		assert_int_equal(npuv_sort(&w, values, n), 0);
		for (i = 0; i < n; i++) {
			sorted_sum += values[i];
			assert_true(!i || values[i - 1] <= values[i]);
		}
		assert_int_equal(sum, sorted_sum);
	}
	for (i = 0; i < 10; i++)
		values[i] = i / 3;
	n = 10;
	assert_int_equal(npuv_sort_unique(&w, values, &n), 0);
	assert_int_equal(n, 4);
	assert_int_equal(values[3], 3);
	assert_int_equal(npuv_upper_bound(values, 4, 1), 2);
	assert_int_equal(npuv_upper_bound(values, 4, 9), 4);
	npuv_work_fini(&w);
}
