// SPDX-License-Identifier: MIT
/* Parts of the planner cosma alone: covers, cuts, evictions, critical operators. */
#include <errno.h>

#include "npuplan_build.h"

#include "planners/cosma/bound/critical.h"
#include "planners/cosma/model/cuts.h"
#include "planners/cosma/place/lattice.h"
#include "planners/cosma/search/evict.h"
#include "planners/cosma/search/nogoods.h"
#include "planners/cosma/search/windows.h"
#include "random.h"

/* All subsets. */
static int64_t cover_all(const struct cosma_cover_item *items, uint32_t count, int64_t excess)
{
	int64_t best = COSMA_NEVER;

	for (uint32_t set = 0; set < 1u << count; set++) {
		int64_t bytes = 0, cost = 0;

		for (uint32_t i = 0; i < count; i++)
			if (set >> i & 1) {
				bytes += items[i].size;
				cost += items[i].price * items[i].size;
			}
		if (bytes >= excess && cost < best)
			best = cost;
	}
	return best;
}

TEST(cover)
{
	uint64_t random = 88172645463325252ull, work = 0;

	for (int i = 0; i < 3000; i++) {
		struct cosma_cover_item items[9];
		uint32_t count = random_next(&random) % 10;
		int64_t excess = random_next(&random) % 40 - 3, expected;

		for (uint32_t k = 0; k < count; k++)
			items[k] = (struct cosma_cover_item){
				.size = 1 + random_next(&random) % 9,
				.price = 1 + random_next(&random) % 2,
			};
		expected = cover_all(items, count, excess);
		assert_int_equal(cosma_cover(items, count, excess, &work), expected);
	}
}

/* Where it would take long the answer is a bound, never above the least. */
TEST(cover_many)
{
	struct cosma_cover_item items[20];
	uint64_t random = 12345, work = 0;

	for (int i = 0; i < 20; i++) {
		int64_t excess = 40000 + i * 1000, expected, found;

		for (uint32_t k = 0; k < 20; k++)
			items[k] = (struct cosma_cover_item){
				.size = 3000 + random_next(&random) % 3000,
				.price = 1 + random_next(&random) % 2,
			};
		expected = cover_all(items, 20, excess);
		found = cosma_cover(items, 20, excess, &work);
		assert_true(found <= expected);
		assert_true(found >= excess);
	}
}

/* in -> a -> b -> (c, d) -> e, all of one size; @skip: and (e, a) -> f. */
static struct npuplan_graph *build(bool skip)
{
	struct npuplan_graph *graph = npuplan_graph_new("parts");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t d = build_tensor(graph, "d", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t e = build_tensor(graph, "e", NPUMEM_TENSOR_INTERMEDIATE, 8);

	build_op(graph, "a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "b", a, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "c", b, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "d", b, NPUMEM_NONE, NPUMEM_NONE, d);
	build_op(graph, "e", c, d, NPUMEM_NONE, e);
	if (skip)
		build_op(graph, "f", e, a, NPUMEM_NONE,
			 build_tensor(graph, "f", NPUMEM_TENSOR_OUTPUT, 8));
	return graph;
}

static void model_of(struct cosma_model *model, const struct npuplan_graph *graph)
{
	struct cosma_settings options = { .common.arena_budget = 100 };
	struct npuplan_error error;

	if (cosma_model_init(model, graph, &options, &error))
		fail_msg("%s", error.text);
	assert_int_equal(cosma_model_relate(model), 0);
}

TEST(cuts)
{
	static const uint32_t first[] = { 0, 1, 2, 5 };
	struct npuplan_graph *graph = build(false);
	struct cosma_subgraphs subgraphs;
	struct cosma_model model;

	/* c and d are not comparable; in front of them are two cuts. */
	model_of(&model, graph);
	assert_int_equal(cosma_subgraphs_init(&subgraphs, &model), 0);
	assert_int_equal(subgraphs.count, 3);
	for (uint32_t i = 0; i <= subgraphs.count; i++)
		assert_int_equal(subgraphs.first[i], first[i]);
	for (uint32_t v = 0; v < 5; v++)
		assert_int_equal(subgraphs.ops[v], v);
	cosma_subgraphs_fini(&subgraphs);
	cosma_model_fini(&model);
	npuplan_graph_free(graph);

	/* a crosses b, so only a's own operator is a cut. */
	graph = build(true);
	model_of(&model, graph);
	assert_int_equal(cosma_subgraphs_init(&subgraphs, &model), 0);
	assert_int_equal(subgraphs.count, 2);
	assert_int_equal(subgraphs.first[1], 1);
	cosma_subgraphs_fini(&subgraphs);
	cosma_model_fini(&model);
	npuplan_graph_free(graph);
}

TEST(part)
{
	static const uint32_t ops[] = { 2, 3, 4 };
	AUTO_GRAPH struct npuplan_graph *graph = build(true);
	struct cosma_model model, part;

	model_of(&model, graph);
	assert_int_equal(cosma_model_part(&part, &model, ops, 3, NULL), 0);
	assert_int_equal(part.op_count, 3);
	assert_int_equal(part.tensor_count, 4);
	for (uint32_t x = 0; x < part.tensor_count; x++) {
		bool from_outside = part.tensor_of[x] == 2;

		assert_int_equal(part.producer[x] == NPUMEM_NONE, from_outside);
		assert_int_equal(!!(part.flags[x] & COSMA_ENTRY), from_outside);
	}
	assert_true(cosma_before(&part, 0, 2));
	assert_true(cosma_before(&part, 1, 2));
	assert_false(cosma_before(&part, 0, 1));
	assert_int_equal(part.need[2], 24);
	cosma_model_fini(&part);
	cosma_model_fini(&model);
}

static int64_t bound_of(struct cosma_bounds *bounds, struct cosma_downsets *downsets,
			const struct cosma_board *board)
{
	uint64_t masks[2] = { 0 };
	int64_t bound;
	uint32_t downset;

	assert_int_equal(cosma_downsets_of(downsets, board, &downset), 0);
	cosma_board_pack(board, &downsets->downset[downset], masks);
	assert_int_equal(cosma_bounds_of(bounds, &downsets->downset[downset], masks, &bound), 0);
	return bound;
}

TEST(critical)
{
	uint64_t members[1], adders[1];
	AUTO_GRAPH struct npuplan_graph *graph = build(true);
	struct cosma_bounds bounds;
	struct cosma_downsets downsets;
	struct cosma_board board;
	struct cosma_model model;

	model_of(&model, graph);
	/* a is used last by f, c and d by e. */
	cosma_relations(&model, 1, members, adders);
	assert_int_equal(members[0], 1u << 2 | 1u << 3 | 1u << 4);
	assert_int_equal(adders[0], 0);
	cosma_relations(&model, 3, members, adders);
	assert_int_equal(members[0], 0);
	assert_int_equal(adders[0], 1u << 3);
	cosma_relations(&model, 0, members, adders);
	assert_int_equal(members[0] | adders[0], 0);
	assert_int_equal(cosma_bounds_init(&bounds, &model, 24, NULL), 0);
	assert_int_equal(cosma_downsets_init(&downsets, &model), 0);
	assert_int_equal(cosma_board_init(&board, &model), 0);
	cosma_board_start(&board);
	/* c, d and e fill the chip, so a has to be away then. */
	assert_int_equal(bound_of(&bounds, &downsets, &board), 16);
	for (uint32_t v = 0; v < 3; v++)
		cosma_board_run(&board, v);
	/* While d runs c is on chip, too: there, a or c. */
	assert_int_equal(bound_of(&bounds, &downsets, &board), 16);
	cosma_board_evict(&board, 3);
	assert_int_equal(bound_of(&bounds, &downsets, &board), 16);
	cosma_board_evict(&board, 1);
	assert_int_equal(bound_of(&bounds, &downsets, &board), 0);
	cosma_board_fini(&board);
	cosma_downsets_fini(&downsets);
	cosma_bounds_fini(&bounds);
	cosma_model_fini(&model);
}

struct sets {
	uint32_t count;
	uint32_t sizes[8];
	int64_t costs[8];
};

static int collect(void *context, const uint32_t *tensors, uint32_t count, int64_t cost)
{
	struct sets *sets = context;

	assert_true(sets->count < 8);
	sets->sizes[sets->count] = count;
	sets->costs[sets->count++] = cost;
	return 0;
}

/*
 * m -> s -> z; (s, z) -> big; (big, s) -> t; m -> kv; (t, kv, z) -> out. While t is
 * made z is there or away, and so is m, or kv if that has been made early: 4 bytes.
 */
TEST(deferred)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("decoder");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t m = build_tensor(graph, "m", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t s = build_tensor(graph, "s", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t z = build_tensor(graph, "z", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t big = build_tensor(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t t = build_tensor(graph, "t", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t kv = build_tensor(graph, "kv", NPUMEM_TENSOR_INTERMEDIATE, 4);
	struct cosma_bounds bounds;
	struct cosma_downsets downsets;
	struct cosma_board board;
	struct cosma_model model;

	build_op(graph, "m", in, NPUMEM_NONE, NPUMEM_NONE, m);
	build_op(graph, "s", m, NPUMEM_NONE, NPUMEM_NONE, s);
	build_op(graph, "z", s, NPUMEM_NONE, NPUMEM_NONE, z);
	build_op(graph, "big", s, z, NPUMEM_NONE, big);
	build_op(graph, "t", big, s, NPUMEM_NONE, t);
	build_op(graph, "kv", m, NPUMEM_NONE, NPUMEM_NONE, kv);
	build_op(graph, "out", t, kv, z, build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1));
	model_of(&model, graph);
	assert_int_equal(cosma_bounds_init(&bounds, &model, 14, NULL), 0);
	assert_int_equal(cosma_downsets_init(&downsets, &model), 0);
	assert_int_equal(cosma_board_init(&board, &model), 0);
	cosma_board_start(&board);
	/* t takes 14 bytes: z is away, and m or kv, and each is spilled and filled. */
	assert_int_equal(bound_of(&bounds, &downsets, &board), 12);
	for (uint32_t v = 0; v < 3; v++)
		cosma_board_run(&board, v);
	assert_int_equal(bound_of(&bounds, &downsets, &board), 12);
	cosma_board_run(&board, 5);
	assert_int_equal(bound_of(&bounds, &downsets, &board), 12);
	/* Once kv is away only z is left to pay for. */
	cosma_board_evict(&board, 6);
	assert_int_equal(bound_of(&bounds, &downsets, &board), 4);
	cosma_board_fini(&board);
	cosma_downsets_fini(&downsets);
	cosma_bounds_fini(&bounds);
	cosma_model_fini(&model);
}

TEST(evict)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("evict");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1), t[4], join[3], out;
	static const uint64_t sizes[] = { 3, 3, 5, 1 };
	struct cosma_model model;
	struct cosma_board board;
	struct sets sets = { 0 };
	struct cosma_eviction eviction = {
		.limit = INT64_MAX,
		.node_limit = 1000,
		.found = collect,
		.context = &sets,
	};

	for (int i = 0; i < 4; i++) {
		t[i] = build_tensor(graph, "t", NPUMEM_TENSOR_INTERMEDIATE, sizes[i]);
		build_op(graph, "t", in, NPUMEM_NONE, NPUMEM_NONE, t[i]);
	}
	join[0] = build_tensor(graph, "j", NPUMEM_TENSOR_OUTPUT, 4);
	build_op(graph, "join", in, NPUMEM_NONE, NPUMEM_NONE, join[0]);
	join[1] = build_tensor(graph, "j", NPUMEM_TENSOR_INTERMEDIATE, 1);
	build_op(graph, "join", t[0], t[1], t[2], join[1]);
	out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	build_op(graph, "out", join[1], t[3], NPUMEM_NONE, out);
	model_of(&model, graph);
	assert_int_equal(cosma_board_init(&board, &model), 0);
	cosma_board_start(&board);
	for (uint32_t v = 0; v < 4; v++)
		cosma_board_run(&board, v);
	eviction.board = &board;
	eviction.op = 4;
	/* 4 of {5, 3, 3, 1}: 5 alone, 3 + 3 or 3 + 1; the threes are alike. */
	assert_int_equal(cosma_evict(&eviction, 4, 4), 0);
	assert_int_equal(sets.count, 3);
	assert_int_equal(sets.costs[0], 10);
	assert_int_equal(sets.costs[1], 12);
	assert_int_equal(sets.costs[2], 8);
	assert_false(eviction.truncated);
	/* What only has to be away while it stores, and nothing yields: the same. */
	sets.count = 0;
	assert_int_equal(cosma_evict(&eviction, -1, 4), 0);
	assert_int_equal(sets.count, 3);
	/* No more than 10. */
	sets.count = 0;
	eviction.limit = 10;
	assert_int_equal(cosma_evict(&eviction, 4, 4), 0);
	assert_int_equal(sets.count, 2);
	/* A set is left out, and it says so. */
	sets.count = 0;
	eviction.nodes = 0;
	eviction.node_limit = 1;
	assert_int_equal(cosma_evict(&eviction, 4, 4), 0);
	assert_true(eviction.truncated);
	cosma_board_fini(&board);
	cosma_model_fini(&model);
}

TEST(nogoods)
{
	AUTO_GRAPH struct npuplan_graph *graph = build(true);
	struct cosma_nogoods nogoods = { 0 };
	struct cosma_history history;
	struct cosma_model model;
	uint64_t work = 0;

	model_of(&model, graph);
	assert_int_equal(cosma_history_init(&history, &model), 0);
	for (uint32_t p = 0; p < 5; p++) {
		cosma_history_row(&history, p)[1] = 0x10 + p;
		*cosma_history_row(&history, p) = NPUMEM_NONE;
	}
	assert_int_equal(cosma_nogoods_add(&nogoods, &history, 1, 3), 0);
	assert_true(cosma_nogoods_match(&nogoods, &history, 3, &work));
	assert_false(cosma_nogoods_match(&nogoods, &history, 4, &work));
	assert_false(cosma_nogoods_match(&nogoods, &history, 1, &work));
	/* What moved before the window does not matter, within it it does. */
	cosma_history_row(&history, 1)[2] = 1;
	assert_true(cosma_nogoods_match(&nogoods, &history, 3, &work));
	cosma_history_row(&history, 2)[2] = 1;
	assert_false(cosma_nogoods_match(&nogoods, &history, 3, &work));
	cosma_history_row(&history, 2)[2] = 0;
	*cosma_history_row(&history, 2) = 2;
	assert_false(cosma_nogoods_match(&nogoods, &history, 3, &work));
	cosma_nogoods_fini(&nogoods);
	cosma_history_fini(&history);
	cosma_model_fini(&model);
}

/* Residual blocks: t -> a -> b, (t, b) -> the next t. */
static struct npuplan_graph *residual(uint32_t blocks)
{
	struct npuplan_graph *graph = npuplan_graph_new("residual");
	uint32_t t = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);

	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 10 + i % 3);
		uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 8);
		uint32_t next = build_tensor(graph, "t", NPUMEM_TENSOR_INTERMEDIATE, 8);

		build_op(graph, "a", t, NPUMEM_NONE, NPUMEM_NONE, a);
		build_op(graph, "b", a, NPUMEM_NONE, NPUMEM_NONE, b);
		build_op(graph, "add", t, b, NPUMEM_NONE, next);
		t = next;
	}
	build_op(graph, "out", t, NPUMEM_NONE, NPUMEM_NONE,
		 build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 8));
	return graph;
}

TEST(windows)
{
	AUTO_GRAPH struct npuplan_graph *graph = residual(8);
	struct cosma_settings options = { .common.arena_budget = 24 };
	uint32_t window[25], count, size[25] = { 0 };
	struct cosma_query query = { .budget = 24, .upper = INT64_MAX / 2, .beam_width = 4 };
	struct cosma_path path;
	struct cosma_model model;
	struct cosma_call call;
	int64_t least, bound, unused;

	model_of(&model, graph);
	cosma_call_start(&call, &options);
	query.model = &model;
	assert_int_equal(cosma_search(&query, &call, &path, &bound), COSMA_SOLVED);
	least = path.cost;
	assert_int_equal(bound, least);
	/* In each block but the first, whose t has a host copy, t is away while b is made. */
	assert_true(least > 0);
	cosma_path_fini(&path);
	for (uint32_t low = 2; low <= 12; low++) {
		assert_int_equal(cosma_windows_cut(&model, low, 2 * low, window, &count), 0);
		memset(size, 0, sizeof(size));
		for (uint32_t v = 0; v < model.op_count; v++) {
			assert_true(window[v] < count);
			assert_true(!v || window[v] >= window[v - 1]);
			size[window[v]]++;
		}
		for (uint32_t w = 0; w < count; w++)
			assert_true(size[w] <= 2 * low && (size[w] >= low || w + 1 == count));
		query.window = window;
		query.state_limit = 1000;
		assert_int_equal(cosma_windows_bound(&query, count, &call, &bound), 0);
		assert_true(bound <= least);
		query.state_limit = 0;
		assert_int_equal(cosma_search(&query, &call, &path, &unused), COSMA_FOUND);
		assert_true(path.cost >= least);
		cosma_path_fini(&path);
	}
	/* One window is the whole. */
	memset(window, 0, sizeof(window));
	assert_int_equal(cosma_windows_bound(&query, 1, &call, &bound), 0);
	assert_int_equal(bound, least);
	cosma_model_fini(&model);
	cosma_call_end(&call);
}

/* With room enough residual blocks run at once, all of them; else nothing does. */
TEST(closure)
{
	AUTO_GRAPH struct npuplan_graph *graph = residual(3);
	uint32_t path[10], count = 0;
	struct cosma_board board;
	struct cosma_model model;

	model_of(&model, graph);
	assert_int_equal(cosma_board_init(&board, &model), 0);
	cosma_board_start(&board);
	/* Where the input comes from the host, it is not on chip yet. */
	cosma_board_close(&board, 100, false, path, &count);
	assert_int_equal(count, 0);
	cosma_board_run(&board, 0);
	cosma_board_run(&board, 1);
	cosma_board_run(&board, 2);
	/* The second block needs 27 bytes, the third 28. */
	cosma_board_close(&board, 26, false, path, &count);
	assert_int_equal(count, 0);
	cosma_board_close(&board, 27, false, path, &count);
	assert_int_equal(count, 3);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(path[i], 3 + i);
	assert_int_equal(board.on_bytes, 8);
	cosma_board_close(&board, 28, false, path, &count);
	assert_int_equal(count, 7);
	assert_int_equal(board.done, model.op_count);
	cosma_board_fini(&board);
	cosma_model_fini(&model);
}

/*
 * An operator that waits for its only user: relu and pad of a branch. Not if what it
 * makes is smaller than what it takes, if its user makes less than it takes, or if
 * somebody else uses it, too.
 */
TEST(follower)
{
	for (int i = 0; i < 4; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("branch");
		uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
		uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, i == 1 ? 7 : 8);
		uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, i == 2 ? 7 : 9);
		struct cosma_model model;
		bool follows = !i;

		build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, a);
		build_op(graph, "pad", a, NPUMEM_NONE, NPUMEM_NONE, b);
		build_op(graph, "conv", b, in, i == 3 ? a : NPUMEM_NONE,
			 build_tensor(graph, "c", NPUMEM_TENSOR_OUTPUT, 2));
		model_of(&model, graph);
		assert_int_equal(model.follower[0], follows ? 1 : NPUMEM_NONE);
		assert_int_equal(model.leader[1], follows ? 0 : NPUMEM_NONE);
		assert_int_equal(model.follower[1], NPUMEM_NONE);
		cosma_model_fini(&model);
	}
}

/* Along a path that gets wider first, a tensor's place is taken where it is narrow. */
TEST(closing)
{
	for (int i = 0; i < 2; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("chain");
		uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
		uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 12);
		uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, i ? 3 : 6);
		uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 5);
		struct cosma_model model;

		build_op(graph, "wide", in, NPUMEM_NONE, NPUMEM_NONE, a);
		build_op(graph, "b", a, NPUMEM_NONE, NPUMEM_NONE, b);
		build_op(graph, "c", a, b, NPUMEM_NONE, c);
		build_op(graph, "end", c, NPUMEM_NONE, NPUMEM_NONE,
			 build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1));
		model_of(&model, graph);
		/* "c" ends both: what it makes is smaller than each of in, a. */
		assert_int_equal(model.closing[0], 2);
		assert_int_equal(model.closing[1], 2);
		/* If b is smaller than c, only what comes behind takes its place. */
		assert_int_equal(model.closing[2], i ? 3 : 2);
		cosma_model_fini(&model);
	}
}

/* Refuted is what the packing core proves infeasible, at any addresses. */
TEST(lattice)
{
	uint64_t random = 20261121;
	int refuted_count = 0;

	for (int i = 0; i < 1500; i++) {
		uint32_t count = 3 + random_next(&random) % 9;
		uint64_t capacity = 6 + random_next(&random) % 8, offsets[12], work = 0;
		bool same = random_next(&random) % 2, refuted;
		struct cosma_lattice_item items[12];
		struct npuplan_item packed[12];
		struct npuplan_pack_problem problem = {
			.items = packed,
			.item_count = count,
			.capacity = same ? 10 * capacity + random_next(&random) % 10 : capacity,
		};
		struct npuplan_pack_options options = { 0 };
		struct npuplan_pack_result result;

		for (uint32_t k = 0; k < count; k++) {
			uint32_t from = random_next(&random) % 8;

			items[k] = (struct cosma_lattice_item){
				.size = (1 + random_next(&random) % 4) * (same ? 10 : 1),
				.from = from,
				.to = from + random_next(&random) % 4,
			};
			/* One unit for all. */
			if (!k)
				items[k].size = same ? 10 : 1;
			packed[k] = (struct npuplan_item){
				.size = (uint64_t)items[k].size,
				.align = 1,
				.start = items[k].from,
				.end = items[k].to,
			};
		}
		assert_int_equal(npuplan_pack(&problem, &options, offsets, &result, NULL), 0);
		assert_int_equal(cosma_lattice_refute(items, count, (int64_t)problem.capacity,
						      1000000, &work, &refuted),
				 0);
		if (refuted)
			assert_int_equal(result.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
		refuted_count += refuted;
	}
	assert_in_range(refuted_count, 100, 1400);
}

/*
 * A cell, again and again: six small tensors become a large one, and the large one of
 * the cell before goes. Where both and the small ones fill the budget there are three
 * slots, and each time what is behind the next cell has to be at an end: two cells fit
 * in a row, three do not. Sizes of NASNet-A's normal cells, in its default order.
 */
TEST(lattice_cells)
{
	static const struct cosma_lattice_item cell[] = {
		{ 60, 0, 44 },	{ 60, 1, 2 },	{ 10, 2, 43 },	{ 60, 3, 4 },	{ 10, 4, 42 },
		{ 10, 17, 43 }, { 10, 30, 43 }, { 10, 32, 43 }, { 10, 35, 43 }, { 10, 42, 43 },
	};

	for (uint32_t cells = 1; cells <= 3; cells++) {
		struct cosma_lattice_item items[31];
		uint32_t count = 0;
		uint64_t work = 0;
		bool refuted;

		for (uint32_t i = 0; i < cells * 10; i++) {
			items[count] = cell[i % 10];
			items[count].from += i / 10 * 43;
			items[count++].to += i / 10 * 43;
		}
		items[count++] = (struct cosma_lattice_item){ 60, cells * 43, cells * 43 };
		assert_int_equal(cosma_lattice_refute(items, count, 189, 1000000, &work, &refuted),
				 0);
		assert_int_equal(refuted, cells == 3);
	}
}
