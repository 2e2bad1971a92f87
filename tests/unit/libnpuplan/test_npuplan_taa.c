// SPDX-License-Identifier: MIT
/* TAA as published: its three algorithms by the paper's examples, and the planners. */
#include "npuplan_build.h"

#include <errno.h>

#include "planners/paper/best_shared.h"
#include "planners/planners.h"
#include "planners/taa/paper/interval_tree.h"
#include "planners/taa/paper/tensor_allocate.h"
#include "planners/taa/taa.h"
#include "random.h"

/* A 4x64x128 tile of a 4x128x128 tensor in CHW order (section III-C1). */
static const struct npumem_region upper_half = {
	.length = 128,
	.count = { 64, 4, 1 },
	.stride = { 128, 16384 },
};

static struct npuplan_chunks render(const struct npumem_region *region)
{
	struct npuplan_chunks chunks;

	assert_int_equal(npuplan_render_chunks(region, &chunks), 0);
	return chunks;
}

TEST(render_chunks)
{
	static const uint64_t offsets[] = { 0, 16384, 32768, 49152 };
	struct npuplan_chunks chunks = render(&upper_half);

	assert_int_equal(chunks.count, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(chunks.offsets[i], offsets[i]);
	assert_int_equal(chunks.size, 8192);
	free(chunks.offsets);
}

TEST(render_shapes)
{
	const struct npumem_region whole = { 0, 32, { 8, 4, 1 }, 0, { 32, 256 } };
	const struct npumem_region apart = { 0, 2, { 3, 2, 1 }, 0, { 4, 100 } };
	struct npuplan_chunks chunks = render(&whole);

	assert_int_equal(chunks.count, 1);
	assert_int_equal(chunks.size, 1024);
	free(chunks.offsets);
	/* No dimension is contiguous: element by element. */
	chunks = render(&apart);
	assert_int_equal(chunks.count, 6);
	assert_int_equal(chunks.offsets[2], 8);
	assert_int_equal(chunks.offsets[3], 100);
	assert_int_equal(chunks.size, 2);
	free(chunks.offsets);
}

/* One repetition has no stride, wherever it stands; nor has an offset to do with chunks. */
TEST(regions)
{
	struct npumem_region region = { 7, 8192, { 4, 1, 3 }, 0, { 16384, 0, 70000 } };
	const struct npumem_region same = { 0, 8192, { 1, 4, 3 }, 0, { 9, 16384, 70000 } };
	struct npuplan_chunk_memo memo = { 0 };
	struct npuplan_chunks chunks = render(&region);

	assert_int_equal(chunks.count, 12);
	assert_int_equal(chunks.offsets[5], 70000 + 16384);
	assert_int_equal(chunks.size, 8192);
	free(chunks.offsets);
	assert_int_equal(npuplan_memo_chunks(&memo, &region), 0);
	assert_int_equal(npuplan_memo_chunks(&memo, &same), 0);
	region.stride[2]++;
	assert_int_equal(npuplan_memo_chunks(&memo, &region), 1);
	npuplan_chunk_memo_fini(&memo);
}

TEST(memo)
{
	struct npuplan_chunk_memo memo = { 0 };
	struct npumem_region region = { .count = { 1, 1, 1 } };

	/* The memo's table has to grow for so many shapes. */
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 200; i++) {
			region.length = i + 1;
			assert_int_equal(npuplan_memo_chunks(&memo, &region), i);
		}
	}
	assert_int_equal(memo.count, 200);
	assert_int_equal(memo.chunks[99].size, 100);
	npuplan_chunk_memo_fini(&memo);
}

/* Section III-C2, and what lies beside each other or between each other. */
TEST(collision_size)
{
	struct npuplan_chunks half = render(&upper_half);
	uint64_t work = 0;

	assert_int_equal(npuplan_collision_size(&half, 0, &half, 128, &work), 8064);
	assert_int_equal(npuplan_collision_size(&half, 128, &half, 0, &work), 128 + 8192);
	/* The lower half lies in the gaps of the upper half. */
	assert_int_equal(npuplan_collision_size(&half, 0, &half, 8192, &work), 0);
	assert_int_equal(npuplan_collision_size(&half, 8192, &half, 0, &work), 0);
	assert_int_equal(npuplan_collision_size(&half, 0, &half, 8193, &work), 16384 + 8192 - 8193);
	/* Completely to the left and to the right. */
	assert_int_equal(npuplan_collision_size(&half, 0, &half, 57344, &work), 0);
	assert_int_equal(npuplan_collision_size(&half, 57344, &half, 0, &work), 0);
	free(half.offsets);
}

/*
 * Section III-C3: an element-wise layer turns I into O in four tiles. I is whole
 * at 0 and its tiles live until they are loaded, at 1 to 4; those of O live from
 * 2, 3, 4, 5 on until O is whole at 5. (The text says that the tiles are 4x64x128,
 * but that the second one begins at 16384: a quarter of the tensor each.)
 */
static void example(struct npuplan_taa *taa, struct npuplan_taa_tensor tensors[2],
		    struct npuplan_taa_tile tiles[8])
{
	const struct npumem_region quarter = { 0, 128, { 128, 1, 1 }, 0, { 128 } };
	int64_t chunks;

	*taa = (struct npuplan_taa){
		.tensors = tensors, .tiles = tiles, .tensor_count = 2, .tile_count = 8
	};
	chunks = npuplan_memo_chunks(&taa->memo, &quarter);
	assert_int_equal(chunks, 0);
	for (uint32_t k = 0; k < 4; k++) {
		tiles[k] = (struct npuplan_taa_tile){ 16384 * k, 0, 0, 0, k + 1 };
		tiles[4 + k] = (struct npuplan_taa_tile){ 16384 * k, 1, 0, k + 2, 5 };
	}
	tensors[0] = (struct npuplan_taa_tensor){ 65536, 1, 0, 0, 0, 4 };
	tensors[1] = (struct npuplan_taa_tensor){ 65536, 1, 5, 5, 4, 4 };
}

TEST(tensor_allocate)
{
	static const uint32_t order[] = { 0, 1 };
	struct npuplan_taa_tensor tensors[2];
	struct npuplan_taa_tile tiles[8];
	uint64_t offsets[2] = { 77, 77 }, work = 0;
	struct npuplan_taa taa;

	example(&taa, tensors, tiles);
	assert_int_equal(npuplan_taa_allocate(&taa, order, 0, offsets, &work, UINT64_MAX, NULL), 0);
	assert_int_equal(offsets[0], 0);
	assert_int_equal(offsets[1], 0);

	/* First and last tile change places: O goes up tile by tile until it meets I's last one. */
	tiles[0].last = 4;
	tiles[3].last = 1;
	offsets[1] = 77;
	assert_int_equal(npuplan_taa_allocate(&taa, order, 0, offsets, &work, UINT64_MAX, NULL), 0);
	assert_int_equal(offsets[1], 49152);

	/* Both live as wholes: O goes behind I, aligned. */
	tensors[1].last = tensors[1].first = 0;
	tensors[0].size = 65535;
	tensors[1].align = 4096;
	assert_int_equal(npuplan_taa_allocate(&taa, order, 0, offsets, &work, UINT64_MAX, NULL), 0);
	assert_int_equal(offsets[1], 65536);
	npuplan_chunk_memo_fini(&taa.memo);
}

TEST(allocate_errors)
{
	static const uint32_t order[] = { 0, 1 };
	struct npuplan_taa_tensor tensors[2];
	struct npuplan_taa_tile tiles[8];
	uint64_t offsets[2] = { 0, 0 }, work = 0;
	struct npuplan_taa taa;

	example(&taa, tensors, tiles);
	assert_int_equal(npuplan_taa_allocate(&taa, order, 0, offsets, &work, 3, NULL), -E2BIG);
	/*
	 * Both tensors are placed already. At 0 they share bytes, but never at once; one byte on
	 * they do share them at once.
	 */
	assert_int_equal(npuplan_taa_allocate(&taa, order, 2, offsets, &work, UINT64_MAX, NULL), 0);
	offsets[1] = 1;
	assert_int_equal(npuplan_taa_allocate(&taa, order, 2, offsets, &work, UINT64_MAX, NULL),
			 -EADDRINUSE);
	npuplan_chunk_memo_fini(&taa.memo);
}

static bool over_at_once(void *context)
{
	++*(uint32_t *)context;
	return true;
}

/* The caller is asked every 20000 steps, not sooner. */
TEST(allocate_until)
{
	static const uint32_t order[] = { 0, 1 };
	struct npuplan_taa_tensor tensors[2];
	struct npuplan_taa_tile tiles[8];
	uint64_t offsets[2] = { 0, 0 }, work = 0;
	uint32_t asked = 0;
	struct npuplan_until until = { .over = over_at_once, .context = &asked };
	struct npuplan_taa taa;

	example(&taa, tensors, tiles);
	assert_int_equal(npuplan_taa_allocate(&taa, order, 0, offsets, &work, UINT64_MAX, &until),
			 0);
	assert_int_equal(asked, 0);
	npuplan_chunk_memo_fini(&taa.memo);
}

struct seen {
	bool is[64];
	uint32_t left;
};

static bool see(void *context, uint32_t interval)
{
	struct seen *seen = context;

	assert_false(seen->is[interval]);
	seen->is[interval] = true;
	return seen->left-- > 0;
}

TEST(interval_tree)
{
	uint64_t random = 20261121;

	for (int round = 0; round < 300; round++) {
		uint32_t n = random_range(&random, 0, 40), starts[40], ends[40];
		struct npuplan_interval_tree tree;
		bool in[40] = { 0 };

		for (uint32_t i = 0; i < n; i++) {
			starts[i] = random_range(&random, 0, 30);
			ends[i] = starts[i] + random_range(&random, 0, 9);
		}
		assert_int_equal(
			npuplan_interval_tree_init(&tree, starts, ends, sizeof(*starts), n), 0);
		for (uint32_t i = 0; i <= n; i++) {
			uint32_t first = random_range(&random, 0, 35);
			uint32_t last = first + random_range(&random, 0, 9);
			struct seen seen = { .left = 100 };

			assert_true(npuplan_interval_tree_visit(&tree, first, last, see, &seen));
			for (uint32_t k = 0; k < n; k++)
				assert_int_equal(seen.is[k],
						 in[k] && starts[k] <= last && ends[k] >= first);
			if (i < n) {
				npuplan_interval_tree_insert(&tree, i);
				in[i] = true;
			}
		}
		npuplan_interval_tree_fini(&tree);
	}
}

TEST(interval_tree_stops)
{
	static const uint32_t starts[] = { 3, 1, 2 }, ends[] = { 9, 9, 9 };
	struct npuplan_interval_tree tree;
	struct seen seen = { .left = 1 };

	assert_int_equal(npuplan_interval_tree_init(&tree, starts, ends, sizeof(*starts), 3), 0);
	for (uint32_t i = 0; i < 3; i++)
		npuplan_interval_tree_insert(&tree, i);
	assert_false(npuplan_interval_tree_visit(&tree, 0, 9, see, &seen));
	/* In order of start. */
	assert_true(seen.is[1] && seen.is[2] && !seen.is[0]);
	npuplan_interval_tree_fini(&tree);
}

/* ---------------------------------------------------------------------- planners */

/* input -> a -> output, all 8 rows of 4 bytes, element-wise in @bands. */
static struct npuplan_graph *element_wise(uint32_t bands)
{
	struct npuplan_graph *graph = npuplan_graph_new("element-wise");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 8, 2, 2);
	uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 8, 2, 2);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 8, 2, 2);
	struct npuplan_error error;

	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "relu", a, NPUMEM_NONE, NPUMEM_NONE, out);
	assert_int_equal(npuplan_graph_tile_bands(graph, bands, false, &error), 0);
	return graph;
}

static struct npuplan_plan *plan_with(const struct npuplan_graph *graph, const char *planner)
{
	struct npuplan_options options = { .planner = planner };
	struct npuplan_error error = { "" };
	struct npuplan_plan *plan;

	if (npuplan_plan(graph, &options, &plan, &error))
		fail_msg("%s: %s", planner, error.text);
	assert_string_equal(plan->info.planner, planner);
	return plan;
}

TEST(planners)
{
	static const struct {
		const char *planner;
		uint32_t bands;
		uint64_t arena;
		uint32_t status;
	} cases[] = {
		/* Whole operators: each beside its input. */
		{ "shared-objects", 1, 64, NPUMEM_PLAN_STATUS_OPTIMAL },
		{ "taa-paper", 1, 64, NPUMEM_PLAN_STATUS_OPTIMAL },
		{ "taa", 1, 64, NPUMEM_PLAN_STATUS_OPTIMAL },
		/* In bands each takes its input's place as that is read. */
		{ "shared-objects", 8, 64, NPUMEM_PLAN_STATUS_FEASIBLE },
		{ "taa-paper", 8, 32, NPUMEM_PLAN_STATUS_OPTIMAL },
		{ "taa", 8, 32, NPUMEM_PLAN_STATUS_OPTIMAL },
		/* Proofs about whole tensors are none about tiles; the default knows tiles. */
		{ "exact", 1, 64, NPUMEM_PLAN_STATUS_OPTIMAL },
		{ "exact", 8, 64, NPUMEM_PLAN_STATUS_FEASIBLE },
		{ "auto", 8, 32, NPUMEM_PLAN_STATUS_OPTIMAL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = element_wise(cases[i].bands);
		AUTO_PLAN struct npuplan_plan *plan = plan_with(graph, cases[i].planner);

		assert_int_equal(plan->info.arena_size, cases[i].arena);
		assert_int_equal(plan->info.status, cases[i].status);
		assert_int_equal(plan->info.lower_bound, cases[i].bands == 1 ? 64 : 32);
	}
}

static void refused(const struct npuplan_graph *graph, const char *planner, int err,
		    const char *why)
{
	struct npuplan_options options = { .planner = planner };
	struct npuplan_error error = planning_error(graph, &options, err);

	assert_string_equal(error.text, why);
}

TEST(fixed)
{
	AUTO_GRAPH struct npuplan_graph *graph = element_wise(8);
	struct npuplan_plan *plan;

	for (int i = 0; i < 2; i++) {
		graph->tensors[i].flags |= NPUMEM_TENSOR_FLAG_FIXED;
		graph->tensors[i].fixed_offset = 32;
	}
	/* Tile by tile they do not collide, as whole tensors they would. */
	refused(graph, "greedy", -EINVAL,
		"fixed offsets collide: in at 32, 32 bytes, and a at 32, 32 bytes, are live at once");
	refused(graph, "shared-objects", -EOPNOTSUPP,
		"packer 'shared-breadth' takes no fixed offsets and no listed conflicts");
	for (int i = 0; i < 2; i++) {
		plan = plan_with(graph, i ? "taa" : "taa-paper");
		assert_int_equal(plan->info.arena_size, 64);
		npuplan_plan_free(plan);
	}
	graph->tensors[1].fixed_offset = 36;
	refused(graph, "taa", -EINVAL,
		"fixed offsets collide: two tensors of element-wise would share bytes that live at once");
	refused(graph, "taa-paper", -EINVAL,
		"fixed offsets collide: two tensors of element-wise would share bytes that live at once");
}

TEST(blocks)
{
	AUTO_GRAPH struct npuplan_graph *graph = element_wise(2);
	struct npuplan_problem problem = { .graph = graph };
	struct npuplan_packing packing = { 0 };
	struct npuplan_error error = { "" };

	graph->block_count = 2;
	assert_int_equal(npuplan_pack_taa(&problem, NPUPLAN_TAA_PAPER, &packing, &error),
			 -EOPNOTSUPP);
	assert_string_equal(error.text, "element-wise: this planner plans no loops and branches");
	error.text[0] = 0;
	assert_int_equal(npuplan_pack_best_shared(&problem, 0, &packing, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "element-wise: this planner plans no loops and branches");
	graph->block_count = 1;
}

/* ------------------------------------------------------------------------ limits */

#define FAN 1000

/* One tensor read @count times, and what is made of it read again last first: all live at once. */
static struct npuplan_graph *fan_out(uint32_t count)
{
	struct npuplan_graph *graph = npuplan_graph_new("fan");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t made[FAN], sum = NPUMEM_NONE;
	uint64_t random = 7;

	for (uint32_t i = 0; i < count; i++) {
		made[i] = build_tensor(graph, "made", NPUMEM_TENSOR_INTERMEDIATE,
				       random_range(&random, 1, 400));
		build_step(graph, NPUMEM_STEP_STAGED, in, NPUMEM_NONE, made[i]);
	}
	for (uint32_t i = count; i--;) {
		uint32_t kind = i ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT;
		uint32_t next = build_tensor(graph, "sum", kind, 4);

		build_step(graph, NPUMEM_STEP_STAGED, made[i], sum, next);
		sum = next;
	}
	return graph;
}

static int stop_at(void *context, const struct npuplan_pack_progress *now)
{
	uint32_t *left = context;

	assert_true(now->gap >= 0);
	if (*left)
		--*left;
	return !*left;
}

/* Without limits there is a plan that the verifier accepts. */
TEST(fan_out)
{
	static const char *const planners[] = { "taa", "auto" };
	AUTO_GRAPH struct npuplan_graph *graph = fan_out(FAN);

	for (size_t i = 0; i < sizeof(planners) / sizeof(planners[0]); i++) {
		AUTO_PLAN struct npuplan_plan *plan = plan_with(graph, planners[i]);

		assert_true(plan->info.arena_size >= plan->info.lower_bound);
	}
}

/*
 * A limit gives the best packing so far, and is kept except for the one packing that is always
 * made.
 */
TEST(limits)
{
	static const struct {
		struct npuplan_options options;
		uint64_t work;
	} cases[] = {
		{ { .planner = "taa", .work_limit = 1 }, 10000000 },
		{ { .planner = "taa", .work_limit = 100 }, 10000000 },
		{ { .planner = "taa", .deadline_seconds = 1e-9 }, 10000000 },
		{ { .planner = "shared-objects", .work_limit = 1 }, 10000000 },
		{ { .planner = "shared-objects", .deadline_seconds = 1e-9 }, 10000000 },
		{ { .planner = "auto", .work_limit = 100 }, 50000000 },
	};
	AUTO_GRAPH struct npuplan_graph *graph = fan_out(FAN);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct npuplan_error error = { "" };
		AUTO_PLAN struct npuplan_plan *plan = NULL;

		if (npuplan_plan(graph, &cases[i].options, &plan, &error))
			fail_msg("case %zu: %s", i, error.text);
		assert_in_range(plan->info.work, 1, cases[i].work);
	}
}

TEST(cancelled)
{
	static const char *const planners[] = { "taa", "auto" };
	AUTO_GRAPH struct npuplan_graph *graph = fan_out(FAN);
	uint32_t left;
	struct npuplan_options options = { .progress = stop_at, .context = &left };
	struct npuplan_error error = { "" };
	struct npuplan_plan *plan;

	for (size_t i = 0; i < sizeof(planners) / sizeof(planners[0]); i++) {
		options.planner = planners[i];
		left = 1;
		if (npuplan_plan(graph, &options, &plan, &error))
			fail_msg("%s: %s", planners[i], error.text);
		assert_int_equal(left, 0);
		npuplan_plan_free(plan);
	}
	/* Shared Objects makes no packing beyond the limit. */
	options.planner = "shared-objects";
	left = 1;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ETIMEDOUT);
	ASSERT_TEXT(error, "fan: Shared Objects has no plan before the limits of work or time");
}

/* A limit within the first order gives no plan, and a later one gives that of the orders done. */
TEST(paper_limits)
{
	static const char why[] =
		"fan: TAA's paper engine has no plan before the limits of work or time";
	AUTO_GRAPH struct npuplan_graph *graph = fan_out(100);
	struct npuplan_plan *plan = plan_with(graph, "taa-paper");
	uint64_t work = plan->info.work;
	struct npuplan_options options = { .planner = "taa-paper" };
	struct npuplan_error error = { "" };
	uint32_t left = 1;

	npuplan_plan_free(plan);
	options.work_limit = 1000;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ETIMEDOUT);
	assert_string_equal(error.text, why);
	/* Three orders: the last is not done. */
	options.work_limit = work - 1;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), 0);
	assert_int_equal(plan->info.work, work - 1);
	npuplan_plan_free(plan);
	options.work_limit = 0;
	options.deadline_seconds = 1e-9;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ETIMEDOUT);
	assert_string_equal(error.text, why);
	options.deadline_seconds = 0;
	options.progress = stop_at;
	options.context = &left;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ETIMEDOUT);
	assert_string_equal(error.text, why);
	assert_int_equal(left, 0);
}
