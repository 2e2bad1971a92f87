// SPDX-License-Identifier: MIT
/* The packing core by its one call: statuses, limits, refusals, small packings by hand. */
#include "npuplan_build.h"

#include <errno.h>
#include <inttypes.h>

#include "problem/conflicts.h"
#include "random.h"

static struct npuplan_item item(uint64_t size, uint32_t start, uint32_t end)
{
	return (struct npuplan_item){ .size = size, .align = 1, .start = start, .end = end };
}

static struct npuplan_pack_result pack(const struct npuplan_pack_problem *problem,
				       const char *packer, uint64_t *offsets)
{
	struct npuplan_pack_options options = { .packer = packer };
	struct npuplan_pack_result result;
	struct npuplan_error error = { "" };

	if (npuplan_pack(problem, &options, offsets, &result, &error))
		fail_msg("%s", error.text);
	return result;
}

static void refused(const struct npuplan_pack_problem *problem, const char *packer, int err,
		    const char *why)
{
	struct npuplan_pack_options options = { .packer = packer };
	struct npuplan_pack_result result;
	struct npuplan_error error = { "" };
	uint64_t offsets[4];

	assert_int_equal(npuplan_pack(problem, &options, offsets, &result, &error), err);
	assert_string_equal(error.text, why);
}

TEST(refusals)
{
	struct npuplan_item items[2] = { item(4, 0, 5), item(4, 2, 3) };
	struct npuplan_pack_problem problem = { .items = items, .item_count = 2 };
	struct npuplan_conflicts conflicts;

	refused(&problem, "none", -EOPNOTSUPP, "there is no packer 'none'");
	problem.alignment = 3;
	refused(&problem, NULL, -EINVAL, "alignment 3 is not a power of two");
	problem.alignment = 8;
	items[1].fixed = true;
	items[1].fixed_offset = 4;
	refused(&problem, NULL, -EINVAL, "item 1: fixed offset 4 is not a multiple of 8");
	items[1].fixed_offset = 1ull << 62;
	refused(&problem, NULL, -EINVAL, "sizes and offsets up to item 1 exceed 2^62");
	items[1].fixed_offset = 8;
	refused(&problem, "shared-size", -EOPNOTSUPP,
		"packer 'shared-size' takes no fixed offsets and no listed conflicts");
	items[1] = item(0, 2, 3);
	refused(&problem, NULL, -EINVAL, "item 1 has no size");
	items[1] = item(4, 2, 1);
	refused(&problem, NULL, -EINVAL, "item 1 ends before it starts");
	items[1] = item(4, 2, 3);
	items[1].align = 6;
	refused(&problem, NULL, -EINVAL, "item 1: alignment 6 is not a power of two");
	items[1].align = 0;
	refused(&problem, NULL, -EINVAL, "item 1: alignment 0 is not a power of two");
	items[1].align = 1;
	assert_int_equal(npuplan_conflicts_whole(&conflicts, items, 2), 0);
	problem.conflicts = &conflicts;
	refused(&problem, "shared-breadth", -EOPNOTSUPP,
		"packer 'shared-breadth' takes no fixed offsets and no listed conflicts");
	npuplan_conflicts_fini(&conflicts);
}

static void wrong(const struct npuplan_pack_problem *problem, uint64_t a, uint64_t b,
		  const char *why)
{
	struct npuplan_error error = { "" };
	uint64_t offsets[2] = { a, b };

	assert_int_equal(npuplan_pack_check(problem, offsets, NULL, &error), -EINVAL);
	assert_string_equal(error.text, why);
}

TEST(check)
{
	struct npuplan_item items[2] = { item(4, 0, 5), item(6, 5, 9) };
	struct npuplan_pack_problem problem = { .items = items, .item_count = 2 };
	uint64_t offsets[2] = { 6, 0 }, top;
	struct npuplan_conflicts conflicts;

	assert_int_equal(npuplan_pack_check(&problem, offsets, &top, NULL), 0);
	assert_int_equal(top, 10);
	wrong(&problem, 5, 0, "items 0 at 5 and 1 at 0 collide");
	wrong(&problem, 0, 3, "items 0 at 0 and 1 at 3 collide");
	assert_int_equal(npuplan_conflicts_whole(&conflicts, items, 2), 0);
	problem.conflicts = &conflicts;
	wrong(&problem, 5, 0, "items 1 at 0 and 0 at 5 collide");
	problem.conflicts = NULL;
	npuplan_conflicts_fini(&conflicts);
	items[1].start = 6;
	assert_int_equal(npuplan_pack_check(&problem, (uint64_t[]){ 5, 0 }, &top, NULL), 0);
	items[0].fixed = true;
	wrong(&problem, 1, 0, "item 0 is at 1, but fixed at 0");
	items[1].align = 4;
	wrong(&problem, 0, 6, "item 1 is at 6, which is not a multiple of 4");
	problem.alignment = 8;
	wrong(&problem, 0, 4, "item 1 is at 4, which is not a multiple of 8");
}

TEST(statuses)
{
	/* Two of three live at once, pairwise: 12 at once, but 13 are needed for 5, 4, 4... */
	struct npuplan_item items[3] = { item(4, 0, 5), item(6, 4, 9), item(2, 0, 9) };
	struct npuplan_pack_problem problem = { .items = items, .item_count = 3 };
	const struct npuplan_pack_options short_of_memory = { .memory_limit = 1 };
	struct npuplan_pack_result result;
	uint64_t offsets[3];

	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(result.top, 12);
	assert_int_equal(result.lower_bound, 12);
	problem.capacity = 20;
	result = pack(&problem, NULL, offsets);
	assert_true(result.top <= 20);
	problem.capacity = 11;
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_true(result.lower_bound > 11);
	/* Two fixed ones in each other's way: nothing at all can be done. */
	items[0].fixed = items[1].fixed = true;
	problem.capacity = 0;
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_true(result.top == UINT64_MAX);
	problem.item_count = 0;
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(result.top, 0);
	/* Even a packer that is ended before it begins has the addresses of no items. */
	assert_int_equal(npuplan_pack(&problem, &short_of_memory, offsets, &result, NULL), 0);
	assert_true(result.memory_ended);
	assert_int_equal(result.top, 0);
}

/*
 * A (3) and B (3) do not meet, C (4) meets both, D (2) only A, E (2) only B, and so
 * 9 live at once; a fixed F (1, with all) at 4 leaves 4 below it for C alone:
 * 5 + 3 + 2 = 10 is the least, which the bound of 10 meets only with F counted.
 */
TEST(fixed)
{
	struct npuplan_item items[6] = { item(3, 0, 4), item(3, 5, 9), item(4, 0, 9),
					 item(2, 0, 4), item(2, 5, 9), item(1, 0, 9) };
	struct npuplan_pack_problem problem = { .items = items, .item_count = 6 };
	struct npuplan_pack_result result;
	uint64_t offsets[6];

	items[5].fixed = true;
	items[5].fixed_offset = 4;
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(result.top, 10);
	assert_int_equal(offsets[2], 0);
	/* The skyline has C below A and B, below D and E; about F these lie from 5 upwards. */
	result = pack(&problem, "valley-longest", offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(offsets[2], 0);
	assert_int_equal(offsets[0], 5);
	assert_int_equal(offsets[1], 5);
	assert_int_equal(result.top, 10);
	/* At 3 it leaves 3 below, for A and B; 4 + 2 above: still 10. */
	items[5].fixed_offset = 3;
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.top, 10);
	assert_int_equal(offsets[0], 0);
	assert_int_equal(offsets[1], 0);
	/* At 1 it leaves 1 that nobody wants: 11, and the proof that 10 cannot be. */
	items[5].fixed_offset = 1;
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(result.top, 11);
	problem.capacity = 10;
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
}

/* Rounded up to 64, sizes 60, 10 and 100 take 64 + 64 + 100 with 100 on top. */
TEST(alignment)
{
	struct npuplan_item items[3] = { item(60, 0, 1), item(10, 0, 1), item(100, 0, 1) };
	struct npuplan_pack_problem problem = { .items = items, .item_count = 3, .alignment = 64 };
	struct npuplan_pack_result result;
	uint64_t offsets[3];

	/* Above 64 + 128: 10 bytes. */
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(result.top, 64 + 128 + 10);
}

/*
 * B may lie on A at displacement 0 only, and C on neither: an in-place operator. As
 * intervals of F(A, B): (-4, 0) and (0, 4).
 */
TEST(displacements)
{
	static const struct npuplan_interval intervals[2] = { { -4, 0 }, { 0, 4 } };
	static const struct npuplan_pair pairs[3] = { { 0, 1, 2, 0 },
						      { 0, 2, 0, 0 },
						      { 2, 1, 0, 0 } };
	struct npuplan_item items[3] = { item(4, 0, 1), item(4, 1, 2), item(3, 0, 2) };
	struct npuplan_conflicts conflicts;
	struct npuplan_pack_problem problem = { .items = items,
						.item_count = 3,
						.conflicts = &conflicts };
	struct npuplan_pack_result result;
	uint64_t offsets[3];

	assert_int_equal(npuplan_conflicts_pairs(&conflicts, items, 3, pairs, 3, intervals), 0);
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(result.top, 7);
	assert_int_equal(offsets[0], offsets[1]);
	/* In the skyline one of them lies on the other. */
	result = pack(&problem, "valley-area", offsets);
	assert_int_equal(result.top, 7);
	assert_int_equal(offsets[0], offsets[1]);
	problem.capacity = 6;
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	npuplan_conflicts_fini(&conflicts);
}

TEST(bad_pairs)
{
	static const struct npuplan_interval intervals[3] = { { -4, 0 }, { -1, 4 }, { 2, 2 } };
	struct npuplan_item items[2] = { item(4, 0, 1), item(4, 1, 2) };
	static const struct npuplan_pair bad[][2] = {
		{ { 0, 2, 0, 0 } },		    /* no such item */
		{ { 0, 0, 0, 0 } },		    /* itself */
		{ { 0, 1, 2, 0 } },		    /* intervals overlap */
		{ { 0, 1, 1, 2 } },		    /* empty interval */
		{ { 0, 1, 0, 0 }, { 1, 0, 0, 0 } }, /* twice */
	};
	struct npuplan_conflicts conflicts;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(npuplan_conflicts_pairs(&conflicts, items, 2, bad[i],
							 i == 4 ? 2 : 1, intervals),
				 -EINVAL);
	assert_int_equal(npuplan_conflicts_pairs(&conflicts, items, 2, bad[4], 1, intervals), 0);
	npuplan_conflicts_fini(&conflicts);
}

/* Buffers 8 (A, C) and 6 (B): by size A, B, C; C goes to the smallest that is free. */
TEST(shared_objects)
{
	struct npuplan_item items[3] = { item(8, 0, 1), item(6, 1, 2), item(4, 3, 4) };
	struct npuplan_pack_problem problem = { .items = items, .item_count = 3 };
	struct npuplan_pack_result result;
	uint64_t offsets[3];

	result = pack(&problem, "shared-size", offsets);
	assert_int_equal(result.top, 14);
	assert_int_equal(offsets[2], offsets[1]);
	result = pack(&problem, "shared-breadth", offsets);
	assert_int_equal(result.top, 14);
	/* Improved: C follows B at once, A two instants later. */
	result = pack(&problem, "shared-size-improved", offsets);
	assert_int_equal(result.top, 14);
	assert_int_equal(offsets[2], offsets[1]);
}

/* First fit takes the first gap, TFLite's best fit the smallest. */
TEST(gaps)
{
	/* Fixed ones leave [0, 4) and [5, 8) free for the last item, of 3. */
	struct npuplan_item items[3] = { item(1, 0, 9), item(2, 0, 9), item(3, 0, 9) };
	struct npuplan_pack_problem problem = { .items = items, .item_count = 3 };
	uint64_t offsets[3];

	items[0].fixed = items[1].fixed = true;
	items[0].fixed_offset = 4;
	items[1].fixed_offset = 8;
	pack(&problem, "greedy-size", offsets);
	assert_int_equal(offsets[2], 0);
	pack(&problem, "tflm", offsets);
	assert_int_equal(offsets[2], 0);
	pack(&problem, "tflite", offsets);
	assert_int_equal(offsets[2], 5);
}

/* Pseudo-random items that no valley and no greedy packer packs to the bound. */
static void hard(struct npuplan_item *items, uint32_t count)
{
	uint32_t random = 7;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t start, length, size;

		random = random * 1664525 + 1013904223;
		start = (random >> 16) % 20;
		random = random * 1664525 + 1013904223;
		length = (random >> 16) % 6;
		random = random * 1664525 + 1013904223;
		size = 1 + (random >> 16) % 30;
		items[i] = item(size, start, start + length);
	}
}

struct watch {
	unsigned int calls;
	unsigned int cancel_at;
	uint64_t top;
	uint64_t bound;
};

static int watch(void *context, const struct npuplan_pack_progress *progress)
{
	struct watch *seen = context;

	assert_true(progress->top <= seen->top);
	assert_true(progress->lower_bound >= seen->bound);
	assert_true(progress->top == UINT64_MAX || progress->gap >= 0);
	seen->top = progress->top;
	seen->bound = progress->lower_bound;
	return ++seen->calls == seen->cancel_at;
}

TEST(progress)
{
	struct npuplan_item items[80];
	struct npuplan_pack_problem problem = { .items = items, .item_count = 80 };
	struct watch seen = { .top = UINT64_MAX };
	struct npuplan_pack_options options = { .progress = watch, .context = &seen };
	struct npuplan_pack_result result;
	uint64_t offsets[80];

	hard(items, 80);
	options.work_limit = 3000000;
	assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
	assert_true(seen.calls > 1);
	assert_int_equal(seen.top, result.top);
	/* A call that is ended at its second report has one packing, which is valid. */
	seen = (struct watch){ .top = UINT64_MAX, .cancel_at = 2 };
	assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
	assert_int_equal(seen.calls, 2);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	/* A call that is ended at its first report has none. */
	seen = (struct watch){ .top = UINT64_MAX, .cancel_at = 1 };
	assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_UNKNOWN);
	assert_true(result.top == UINT64_MAX);
}

/* More work never makes it worse, and the same work gives the same. */
TEST(work_limit)
{
	struct npuplan_item items[80];
	struct npuplan_pack_problem problem = { .items = items, .item_count = 80 };
	uint64_t offsets[80], again[80], last = UINT64_MAX;

	hard(items, 80);
	for (uint64_t limit = 500; limit < 5000000; limit *= 10) {
		struct npuplan_pack_options options = { .work_limit = limit };
		struct npuplan_pack_result result, second;

		assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
		assert_int_equal(npuplan_pack(&problem, &options, again, &second, NULL), 0);
		assert_int_equal(result.work, second.work);
		assert_memory_equal(offsets, again, sizeof(offsets));
		assert_true(result.top <= last);
		last = result.top;
	}
}

/*
 * Listed pairs bound the top by what lies one above the other: A, B, C, all whole,
 * 12; D only meets A. E and F may be at one address, or side by side.
 */
TEST(clique_bound)
{
	static const struct npuplan_interval inplace[2] = { { -4, 0 }, { 0, 4 } };
	static const struct npuplan_pair pairs[] = {
		{ 0, 1, 0, 0 }, { 0, 2, 0, 0 }, { 1, 2, 0, 0 }, { 3, 0, 0, 0 }, { 4, 5, 2, 0 },
	};
	struct npuplan_item items[6] = { item(3, 0, 1), item(4, 3, 3), item(5, 6, 7),
					 item(8, 0, 9), item(4, 0, 9), item(4, 0, 9) };
	struct npuplan_pack_problem problem = { .items = items, .item_count = 6 };
	struct npuplan_pack_result result;
	struct npuplan_conflicts conflicts;
	uint64_t offsets[6];

	assert_int_equal(npuplan_conflicts_pairs(&conflicts, items, 6, pairs, 5, inplace), 0);
	problem.conflicts = &conflicts;
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(result.top, 12);
	/* Too little for a packing that low is proved to be too little. */
	problem.capacity = 11;
	assert_int_equal(pack(&problem, NULL, offsets).status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	problem.capacity = 0;
	npuplan_conflicts_fini(&conflicts);
	/* E and F alone share all their bytes. */
	assert_int_equal(npuplan_conflicts_pairs(&conflicts, items, 6, pairs + 4, 1, inplace), 0);
	items[3].size = 1;
	items[2].size = 1;
	result = pack(&problem, NULL, offsets);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(result.top, 4);
	assert_int_equal(offsets[4], offsets[5]);
	npuplan_conflicts_fini(&conflicts);
}

#define MANY 6000

/* Live ranges of random lengths, long ones as likely as short ones. */
static void scatter(struct npuplan_item *items)
{
	uint64_t state = 1;

	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t start = random_range(&state, 0, MANY - 1);

		items[i] = item(random_range(&state, 1, 256), start,
				start + (1u << random_range(&state, 0, 10)));
	}
}

/* No packer goes far beyond its limit of work, and none goes on when its caller has ended it. */
TEST(limits_are_kept)
{
	static struct npuplan_item items[MANY];
	static uint64_t offsets[MANY];
	struct npuplan_pack_problem problem = { .items = items, .item_count = MANY };

	scatter(items);
	for (unsigned int p = 0; npuplan_packer_name(p); p++) {
		struct npuplan_pack_options options = {
			.packer = npuplan_packer_name(p),
			.work_limit = 50000,
		};
		struct watch seen = { .top = UINT64_MAX, .cancel_at = 1 };
		struct npuplan_pack_result result;

		assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
		assert_true(result.work < 100000);
		options.work_limit = 0;
		options.progress = watch;
		options.context = &seen;
		assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
		assert_int_equal(seen.calls, 1);
		assert_true(result.work < 50000);
	}
}

/*
 * However little memory a packer may have, it ends with what it has by then: nothing at
 * first, and with enough what it finds without a limit, too. @bytes an item are enough.
 */
static void check_memory(const struct npuplan_pack_problem *problem, const char *packer,
			 uint64_t work, uint64_t bytes)
{
	static uint64_t offsets[MANY];
	struct npuplan_pack_options options = { .packer = packer, .work_limit = work };
	struct npuplan_pack_result free, result;
	uint64_t before = UINT64_MAX;
	int steps = 0;

	assert_int_equal(npuplan_pack(problem, &options, offsets, &free, NULL), 0);
	assert_false(free.memory_ended);
	for (options.memory_limit = 1;; options.memory_limit += 1 + options.memory_limit / 2) {
		assert_int_equal(npuplan_pack(problem, &options, offsets, &result, NULL), 0);
		if (!result.memory_ended)
			break;
		assert_true(result.work <= free.work);
		assert_true(result.status == NPUMEM_PLAN_STATUS_UNKNOWN ||
			    result.status == NPUMEM_PLAN_STATUS_FEASIBLE);
		assert_true((result.status == NPUMEM_PLAN_STATUS_UNKNOWN) ==
			    (result.top == UINT64_MAX));
		assert_true(steps++ || result.top == UINT64_MAX);
		/* With more memory the packer first does all that it did with less. */
		assert_true(result.top <= before);
		before = result.top;
	}
	assert_true(steps > 2);
	assert_int_equal(result.top, free.top);
	assert_int_equal(result.work, free.work);
	assert_int_equal(result.status, free.status);
	/* 8 bytes an item of offsets at the least, and nothing quadratic in items. */
	assert_true(options.memory_limit > 8ull * problem->item_count);
	assert_true(options.memory_limit < bytes * problem->item_count);
}

TEST(memory_limit)
{
	static struct npuplan_item items[MANY];
	struct npuplan_pack_problem problem = { .items = items, .item_count = 400 };

	scatter(items);
	for (unsigned int p = 0; npuplan_packer_name(p); p++)
		check_memory(&problem, npuplan_packer_name(p), 3000000, 3000);
	problem.item_count = MANY;
	check_memory(&problem, NULL, 20000000, 3000);
	/* The search has a table that grows with the items that live at once. */
	problem.item_count = 2000;
	check_memory(&problem, NULL, 20000000, 20000);
}

/*
 * Addresses that do not fit into 32 bits are found as lower ones are: of sizes that are so many
 * times as large, all lie so many times as high. In the midst of it addresses become wide.
 */
TEST(wide_addresses)
{
	static const char *const packers[] = { "greedy-size", "greedy-start", "tflite" };
	static struct npuplan_item items[MANY];
	static uint64_t offsets[MANY], wide[MANY];
	struct npuplan_pack_problem problem = { .items = items, .item_count = MANY };
	const uint64_t times = 1 << 24;

	for (size_t p = 0; p < sizeof(packers) / sizeof(packers[0]); p++) {
		uint64_t top;

		scatter(items);
		items[7].fixed = true;
		items[7].fixed_offset = 40;
		top = pack(&problem, packers[p], offsets).top;
		for (uint32_t i = 0; i < MANY; i++)
			items[i].size *= times;
		items[7].fixed_offset *= times;
		assert_true(top * times > 2ull * UINT32_MAX);
		assert_int_equal(pack(&problem, packers[p], wide).top, top * times);
		for (uint32_t i = 0; i < MANY; i++)
			assert_int_equal(wide[i], offsets[i] * times);
	}
}

/* First fit takes at most 200 bytes an item where addresses fit into 32 bits. */
TEST(memory_of_first_fit)
{
	static struct npuplan_item items[MANY];
	static uint64_t offsets[MANY];
	struct npuplan_pack_problem problem = { .items = items, .item_count = MANY };
	struct npuplan_pack_options options = {
		.packer = "greedy-size",
		.memory_limit = 200 * MANY,
	};
	struct npuplan_pack_result result;

	scatter(items);
	assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
	assert_false(result.memory_ended);
	assert_int_equal(result.status, NPUMEM_PLAN_STATUS_FEASIBLE);
}

/*
 * Beyond what is searched from scratch: the tight part, windows, neighbourhoods. All
 * that is a packing at last, with fixed items and alignments, too.
 */
TEST(many)
{
	static struct npuplan_item items[MANY];
	static uint64_t offsets[MANY];
	struct npuplan_pack_problem problem = { .items = items, .item_count = MANY };
	struct npuplan_pack_options options = { .work_limit = 150000000 };
	struct npuplan_pack_result result, again;
	uint64_t greedy;

	scatter(items);
	greedy = pack(&problem, "greedy-size", offsets).top;
	assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
	assert_true((result.top - result.lower_bound) * 3 < (greedy - result.lower_bound) * 2);
	/* More work makes it no worse, and less is enough for more than a greedy packing. */
	options.work_limit = 30000000;
	assert_int_equal(npuplan_pack(&problem, &options, offsets, &again, NULL), 0);
	assert_true(again.top >= result.top);
	assert_true(again.top < greedy);
	/* A few are fixed about the middle of the bound, and all are aligned. */
	for (uint32_t i = 0; i < MANY; i += MANY / 5) {
		items[i].fixed = true;
		items[i].fixed_offset = result.lower_bound / 16 * 8;
	}
	problem.alignment = 8;
	greedy = pack(&problem, "greedy-size", offsets).top;
	assert_int_equal(npuplan_pack(&problem, &options, offsets, &again, NULL), 0);
	assert_true(again.top < greedy);
	problem.alignment = 0;
	/* A network, layer by layer. */
	for (uint32_t i = 0; i < MANY; i++)
		items[i] = item(10 + i % 7, i / 3, i / 3 + i % 3);
	assert_int_equal(pack(&problem, NULL, offsets).status, NPUMEM_PLAN_STATUS_OPTIMAL);
}

/*
 * Of some thousands of items, a search from scratch and windows of the best packing take turns:
 * what the one does not find in any time the other finds at once.
 */
TEST(turns)
{
	static struct npuplan_item items[MANY];
	static uint64_t offsets[MANY];
	struct npuplan_pack_problem problem = { .items = items };
	struct npuplan_pack_options options = { .work_limit = 200000000 };
	struct npuplan_pack_result result;

	scatter(items);
	for (problem.item_count = 2500; problem.item_count <= 3500; problem.item_count += 1000) {
		assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
		assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	}
}

/* Of up to 4096 items, what a small search proves is proved, however many others there are. */
TEST(proved_among_many)
{
	static const uint32_t counts[] = { 1024, 1025, 4096 };
	static struct npuplan_item items[4096];
	static uint64_t offsets[4096];
	struct npuplan_pack_options options = { .work_limit = 20000000 };
	struct npuplan_pack_result result;

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		struct npuplan_pack_problem problem = { .items = items, .item_count = counts[c] };

		for (uint32_t i = 0; i < counts[c]; i++)
			items[i] = item(1 + i % 7, 10 + i, 10 + i);
		/* Beside a fixed one there is room above it alone. */
		items[0] = item(100, 5, 5);
		items[0].fixed = true;
		items[0].fixed_offset = 100;
		items[1] = item(150, 5, 5);
		assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
		assert_int_equal(result.top, 350);
		assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
		problem.capacity = 349;
		assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
		assert_int_equal(result.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	}
}

/* A network by layers: outputs, residuals, workspaces, and few that live for long. */
static void layers(uint64_t seed, struct npuplan_item *items)
{
	uint64_t state = seed;
	uint32_t n = 0;

	for (uint32_t step = 0; n < MANY - 4; step++) {
		items[n++] = item(random_range(&state, 64, 1087), step, step + 1);
		if (step % 3 == 0)
			items[n++] = item(random_range(&state, 64, 575), step, step + 3);
		if (random_range(&state, 0, 1))
			items[n++] = item(random_range(&state, 1, 2048), step, step);
		if (!random_range(&state, 0, 49))
			items[n++] = item(random_range(&state, 1, 256), step,
					  step + random_range(&state, 99, 498));
	}
	while (n < MANY)
		items[n++] = item(1, 0, 0);
}

/* What first fit puts too high is packed with the tight part until all of it is at the bound. */
TEST(layered)
{
	static struct npuplan_item items[MANY];
	static uint64_t offsets[MANY];
	struct npuplan_pack_problem problem = { .items = items, .item_count = MANY };
	struct npuplan_pack_options options = { .work_limit = 40000000 };

	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct npuplan_pack_result result;

		layers(seed, items);
		assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
		print_message("# seed %" PRIu64 ": top %" PRIu64 ", bound %" PRIu64
			      ", work %" PRIu64 "\n",
			      seed, result.top, result.lower_bound, result.work);
		assert_int_equal(result.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	}
}

TEST(names)
{
	struct npuplan_item items[2] = { item(4, 0, 5), item(6, 5, 9) };
	struct npuplan_pack_problem problem = { .items = items, .item_count = 2 };
	unsigned int count = 0;
	uint64_t offsets[2];

	assert_string_equal(npuplan_packer_name(0), "exact");
	for (; npuplan_packer_name(count); count++)
		assert_int_equal(pack(&problem, npuplan_packer_name(count), offsets).top, 10);
	assert_int_equal(count, 22);
}
