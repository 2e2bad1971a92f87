// SPDX-License-Identifier: MIT
/* Tile scheduling: orders against all orders, traffic, pieces, rings, refusals. */
#include "npuplan_build.h"
#include "random.h"

#include <errno.h>

#define ROWS_TILING  (&(struct npuplan_tiling){ .rows = 1 })
#define MAX_EXPLORED 16

static struct npuplan_plan *plan_with(const struct npuplan_graph *graph,
				      const struct npuplan_options *options)
{
	struct npuplan_error error = { "" };
	struct npuplan_plan *plan = NULL;

	if (npuplan_plan(graph, options, &plan, &error))
		fail_msg("%s: %s", options->planner, error.text);
	assert_string_equal(plan->info.planner, options->planner);
	assert_int_equal(npuplan_verify_plan(graph, plan, NULL, &error), 0);
	return plan;
}

static const struct npuplan_options pieces = { .planner = "tile-scheduled" };

/*
 * A chain of windows: input and output external, @rows rows of @width bytes each.
 * @kernels: of each operator, 1 or 3, up to the first 0
 */
static struct npuplan_graph *chain(int64_t rows, int64_t width, const int32_t *kernels)
{
	struct npuplan_graph *graph = npuplan_graph_new("chain");
	uint32_t from = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, rows, width, 1);

	graph->tensors[from].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	for (uint32_t i = 0; kernels[i]; i++) {
		bool last = !kernels[i + 1];
		uint32_t weights = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 10 + i);
		uint32_t to =
			build_spatial(graph, last ? "out" : "mid",
				      last ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE, 1,
				      rows, width, 1);

		if (last)
			graph->tensors[to].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
		build_window(build_op(graph, "conv2d", from, weights, NPUMEM_NONE, to), kernels[i],
			     1, 1, kernels[i] / 2);
		from = to;
	}
	return graph;
}

static void tile(struct npuplan_graph *graph)
{
	struct npuplan_error error;

	if (npuplan_graph_tile(graph, ROWS_TILING, &error))
		fail_msg("%s", error.text);
}

/* --------------------------------------------------- every order, on small graphs */

/* The exit, as a reader of what survives it. */
#define EXIT (1u << 31)

/*
 * struct bytes - a byte of a tensor in the arena, the step that writes it, and a set of the steps
 * that read it; no writer: it is there at the entry
 */
struct bytes {
	uint32_t writer;
	uint32_t readers;
};

static bool is_placed(const struct npuplan_tensor *tensor)
{
	return tensor->kind != NPUMEM_TENSOR_PARAMETER &&
	       !(tensor->flags & NPUMEM_TENSOR_FLAG_EXTERNAL);
}

static uint32_t list_bytes(const struct npuplan_graph *graph, struct bytes *list)
{
	uint32_t first[32], count = 0;

	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		first[t] = count;
		for (uint64_t i = 0; i < tensor->size && is_placed(tensor); i++)
			list[count++] = (struct bytes){
				.readers = tensor->kind == NPUMEM_TENSOR_OUTPUT ? EXIT : 0,
			};
	}
	for (uint32_t s = 0; s < graph->step_count; s++) {
		const struct npuplan_step *step = &graph->steps[s];

		for (uint32_t a = 0; a < step->access_count; a++) {
			const struct npumem_access *access =
				&graph->accesses[step->first_access + a];
			const struct npumem_tile *part = &graph->tiles[access->tile];

			if (!is_placed(&graph->tensors[part->tensor]))
				continue;
			for (uint64_t i = 0; i < part->region.length; i++) {
				struct bytes *byte =
					&list[first[part->tensor] + part->region.offset + i];

				if (access->mode == NPUMEM_ACCESS_WRITE)
					byte->writer = 1u << s;
				else
					byte->readers |= 1u << s;
			}
		}
	}
	return count;
}

static bool is_there(const struct bytes *byte, uint32_t done)
{
	return !byte->writer || byte->writer & done;
}

/*
 * Least peak of all topological orders of the steps: shortest bottleneck over sets of steps. All
 * steps are staged. @kept: of orders that keep the steps of each operator in their order.
 */
static uint64_t least_peak(const struct npuplan_graph *graph, bool kept)
{
	static uint64_t best[1u << MAX_EXPLORED];
	static struct bytes list[4096];
	uint32_t count = list_bytes(graph, list), full = (1u << graph->step_count) - 1;
	uint64_t entry = 0;

	assert_true(graph->step_count <= MAX_EXPLORED);
	for (uint32_t i = 0; i < count; i++)
		entry += !list[i].writer;
	best[full] = 0;
	for (uint32_t done = full; done-- > 0;) {
		best[done] = UINT64_MAX;
		for (uint32_t s = 0; s < graph->step_count; s++) {
			uint32_t after = done | 1u << s;
			uint64_t live = 0, loaded = 0, peak;
			bool ready = after != done &&
				     !(kept && s && graph->steps[s - 1].op == graph->steps[s].op &&
				       !(done & 1u << (s - 1)));

			for (uint32_t i = 0; i < count && ready; i++) {
				if (list[i].readers & 1u << s && !is_there(&list[i], done))
					ready = false;
				if (is_there(&list[i], after) &&
				    (list[i].readers & ~after || list[i].writer == 1u << s))
					live++;
				if (is_there(&list[i], done) && list[i].readers & ~done)
					loaded++;
			}
			peak = live > loaded ? live : loaded;
			peak = peak > best[after] ? peak : best[after];
			if (ready && peak < best[done])
				best[done] = peak;
		}
	}
	return best[0] > entry ? best[0] : entry;
}

TEST(chains_are_optimal)
{
	static const int32_t kernels[][4] = {
		{ 1, 1 }, { 3, 3 }, { 3, 1, 3 }, { 1, 3, 3 }, { 3, 3, 3 }, { 3, 3, 1 },
	};

	for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
		for (int64_t rows = 1; rows <= 5; rows++) {
			AUTO_GRAPH struct npuplan_graph *graph = chain(rows, 3, kernels[k]);
			AUTO_PLAN struct npuplan_plan *plan = NULL;

			tile(graph);
			plan = plan_with(graph, &pieces);
			assert_int_equal(plan->tilesched->cost.peak, least_peak(graph, false));
			assert_int_equal(plan->info.lower_bound, plan->tilesched->cost.peak);
			/* And said to be: of all orders that keep rows in order. */
			assert_int_equal(plan->tilesched->least_kept, plan->tilesched->cost.peak);
		}
	}
}

/*
 * Random graphs of three to four operators over a few rows, with joins and fan-out.
 * @placed: inputs and outputs lie in the arena, sometimes
 */
static struct npuplan_graph *random_graph(uint64_t *random, bool placed)
{
	struct npuplan_graph *graph = npuplan_graph_new("random");
	uint32_t ops = random_range(random, 3, 4), rows = random_range(random, 2, 16 / ops);
	uint32_t made[8], count = 0;

	made[count++] = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, rows, 2, 1);
	if (!placed || random_range(random, 0, 1))
		graph->tensors[0].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	for (uint32_t i = 0; i < ops; i++) {
		bool last = i + 1 == ops, add = count > 1 && random_range(random, 0, 1);
		uint32_t to =
			build_spatial(graph, last ? "out" : "mid",
				      last ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE, 1,
				      rows, 2, random_range(random, 1, 3));

		if (last && (!placed || random_range(random, 0, 1)))
			graph->tensors[to].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
		if (add)
			build_op(graph, "add", made[count - 1],
				 made[random_range(random, 0, count - 2)], NPUMEM_NONE, to);
		else
			build_window(build_op(graph, "conv2d",
					      made[random_range(random, count > 1, count - 1)],
					      NPUMEM_NONE, NPUMEM_NONE, to),
				     random_range(random, 0, 1) ? 3 : 1, 1, 1, 0);
		if (!add) {
			struct npuplan_attrs *attrs = &graph->ops[graph->op_count - 1].attrs;

			for (int d = 0; d < 2; d++)
				attrs->pad_begin[d] = attrs->pad_end[d] = attrs->kernel[d] / 2;
		}
		made[count++] = to;
	}
	return graph;
}

/*
 * The peak is what the best order needs that keeps operators' steps in theirs, and is known to be;
 * the bound of any order is never above what the best one needs, and often equal.
 */
static void compare(bool placed, uint32_t total)
{
	uint64_t random = 20261121;
	uint32_t optimal = 0, exact = 0;

	print_message("seed %llu\n", (unsigned long long)random);
	for (uint32_t i = 0; i < total; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = random_graph(&random, placed);
		AUTO_PLAN struct npuplan_plan *plan = NULL;
		const struct npuplan_tilesched_result *found;
		uint64_t least;

		tile(graph);
		least = least_peak(graph, false);
		plan = plan_with(graph, &pieces);
		found = plan->tilesched;
		/* Between the two, so that it need not be looked for where they are equal. */
		if (found->cost.peak != least)
			assert_int_equal(found->cost.peak, least_peak(graph, true));
		assert_int_equal(found->least_kept, found->cost.peak);
		assert_true(found->least <= least);
		optimal += found->cost.peak == least;
		exact += found->least == least;
	}
	print_message("%u of %u at the least peak of all orders, of which %u are known\n", optimal,
		      total, exact);
	assert_true(exact >= total * 8 / 10);
}

TEST(gap)
{
	compare(false, 150);
}

TEST(gap_of_placed_inputs)
{
	compare(true, 50);
}

/* ------------------------------------------------------- orders that no fusions make */

/* Adds an operator of one window and 10 bytes of weights, and its output of @width bytes a row. */
static uint32_t add_rows(struct npuplan_graph *graph, const char *name, uint32_t from, int32_t rows,
			 int64_t width, int32_t kernel)
{
	uint32_t to = build_spatial(graph, name, NPUMEM_TENSOR_INTERMEDIATE, 1, rows, width, 1);

	uint32_t weights = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 10);

	build_window(build_op(graph, "conv2d", from, weights, NPUMEM_NONE, to), kernel, 1, 1,
		     kernel / 2);
	return to;
}

/*
 * Each row of a wide tensor, of 100 bytes, is squeezed into two of 3. One of them is made wide
 * again, and waits for what is made of all rows of the other one.
 */
static struct npuplan_graph *squeezes(int32_t rows)
{
	struct npuplan_graph *graph = npuplan_graph_new("squeezes");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, rows, 3, 1);
	uint32_t wide = add_rows(graph, "wide", in, rows, 100, 1);
	uint32_t first = add_rows(graph, "first", wide, rows, 3, 1);
	uint32_t again = add_rows(graph, "again", first, rows, 100, 1);
	uint32_t second = add_rows(graph, "second", wide, rows, 3, 1);
	uint32_t all = add_rows(graph, "all", second, rows, 3, 2 * rows - 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, rows, 3, 1);

	graph->tensors[in].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	graph->tensors[out].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_op(graph, "add", again, all, NPUMEM_NONE, out);
	return graph;
}

/*
 * Fusions run consecutive operators, so that all of one wide tensor or of the other is there: once
 * its first squeeze goes on to be wide, or because the second one comes later. Nothing can be made
 * of a row that is wide again before both squeezes are there, but for its own row, and a row that
 * is made of all of the second one; or else all of these are there before.
 */
TEST(squeezes_of_many_steps)
{
	AUTO_GRAPH struct npuplan_graph *few = squeezes(2), *graph = squeezes(60);
	AUTO_PLAN struct npuplan_plan *small = NULL, *plan = NULL;

	tile(few);
	small = plan_with(few, &pieces);
	assert_int_equal(small->tilesched->cost.peak, least_peak(few, true));
	tile(graph);
	/* More than are searched exhaustively. */
	assert_true(graph->step_count > 256);
	plan = plan_with(graph, &pieces);
	assert_int_equal(plan->tilesched->cost.peak, 59 * 3 + 60 * 3 + 100 + 3);
	/* When the last wide row is written, all squeezes but its own are there. */
	assert_true(plan->tilesched->least_kept >= 59 * 2 * 3 + 100);
}

/* At that peak, operators go on while there is room: most steps do not fetch weights again. */
TEST(squeezes_in_few_turns)
{
	AUTO_GRAPH struct npuplan_graph *graph = squeezes(60);
	const struct npuplan_tilesched_options own = { sizeof(own), .weights_on_chip = 1 };
	const struct npuplan_options options = { .planner = "tile-scheduled", .tilesched = &own };
	struct npuplan_front *front;
	struct npuplan_error error;

	tile(graph);
	assert_int_equal(npuplan_front_find(graph, &options, &front, &error), 0);
	assert_int_equal(front->all_weights, 5 * 10);
	assert_int_equal(front->points[0].peak, 59 * 3 + 60 * 3 + 100 + 3);
	print_message("weights fetched %llu times of %u\n",
		      (unsigned long long)front->points[0].weights / 10, 5 * 60);
	assert_true(front->points[0].weights < 5 * 60 * 10 / 2);
	npuplan_front_free(front);
}

/* ---------------------------------------------------------------- peak and traffic */

/* What row r of the first needs is there when r is asked for: three rows, and the next. */
TEST(known_peak)
{
	static const int32_t kernels[] = { 1, 3, 0 };
	AUTO_GRAPH struct npuplan_graph *graph = chain(20, 7, kernels);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	tile(graph);
	plan = plan_with(graph, &pieces);
	assert_int_equal(plan->tilesched->cost.peak, 3 * 7);
	assert_int_equal(plan->info.arena_size, 3 * 7);
	/* A step of the second reads so much at once: nothing can need less. */
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->position_count, 40);
}

TEST(traffic)
{
	static const int32_t kernels[] = { 3, 3, 3, 0 };
	AUTO_GRAPH struct npuplan_graph *graph = chain(12, 5, kernels);
	/* Weights of 10, 11 and 12 bytes never stay. */
	const struct npuplan_tilesched_options low_weights = { sizeof(low_weights),
							       .weights_on_chip = 1 };
	struct npuplan_tilesched_options own = low_weights;
	struct npuplan_options options = { .planner = "tile-scheduled", .tilesched = &own };
	struct npuplan_plan *low, *once;
	struct npuplan_front *front;
	struct npuplan_error error;

	tile(graph);
	low = plan_with(graph, &options);
	assert_int_equal(low->tilesched->all_weights, 33);
	assert_true(low->tilesched->cost.weights > 33);
	/* Rows of 5 bytes: 2 x 2 + 10 x 3 of them for each of three operators. */
	assert_int_equal(low->tilesched->all_reads, 3 * 34 * 5);
	assert_true(low->tilesched->cost.halos > 0);

	/* In order of layers: each weight once, no halo twice, a tensor and a row's reach. */
	own.traffic_factor = 1;
	once = plan_with(graph, &options);
	assert_int_equal(once->tilesched->cost.weights, 33);
	assert_true(once->tilesched->cost.peak > low->tilesched->cost.peak);

	assert_int_equal(npuplan_front_find(graph, &options, &front, &error), 0);
	assert_true(front->count >= 3);
	assert_false(front->left_out);
	assert_int_equal(front->all_weights, 33);
	assert_int_equal(front->all_reads, low->tilesched->all_reads);
	assert_int_equal(front->points[0].peak, low->tilesched->cost.peak);
	assert_int_equal(front->points[front->count - 1].halos, 0);
	assert_int_equal(front->points[front->count - 1].weights, 33);
	for (uint32_t i = 1; i < front->count; i++) {
		assert_true(front->points[i].peak > front->points[i - 1].peak);
		assert_true(front->points[i].weights + front->points[i].halos <
			    front->points[i - 1].weights + front->points[i - 1].halos);
	}
	/* Each point is what a budget of its peak gets. */
	for (uint32_t i = 0; i < front->count; i++) {
		struct npuplan_options within = { .planner = "tile-scheduled",
						  .tilesched = &low_weights,
						  .arena_budget = front->points[i].peak };
		AUTO_PLAN struct npuplan_plan *plan = plan_with(graph, &within);

		assert_true(plan->info.arena_size <= front->points[i].peak);
		assert_int_equal(plan->tilesched->cost.weights + plan->tilesched->cost.halos,
				 front->points[i].weights + front->points[i].halos);
	}
	/* Weights that stay are fetched once, whatever the order. */
	own = (struct npuplan_tilesched_options){ sizeof(own), .weights_on_chip = 33 };
	npuplan_plan_free(low);
	low = plan_with(graph, &options);
	assert_int_equal(low->tilesched->cost.weights, 33);
	npuplan_front_free(front);
	npuplan_plan_free(once);
	npuplan_plan_free(low);
}

/* --------------------------------------------------------------- pieces and rings */

static void check_round_trip(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	AUTO_PLAN struct npuplan_plan *again = NULL;
	struct npuplan_error error;
	void *blobs[2];
	size_t sizes[2];
	AUTO_TEXT char *text = NULL;

	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, &error), 0);
	if (npuplan_plan_from_json(graph, text, strlen(text), &again, &error))
		fail_msg("%s", error.text);
	assert_int_equal(npuplan_plan_write(plan, &blobs[0], &sizes[0], &error), 0);
	assert_int_equal(npuplan_plan_write(again, &blobs[1], &sizes[1], &error), 0);
	assert_int_equal(sizes[0], sizes[1]);
	assert_memory_equal(blobs[0], blobs[1], sizes[0]);
	free(blobs[0]);
	free(blobs[1]);
}

TEST(pieces)
{
	static const int32_t kernels[] = { 3, 3, 3, 0 };

	for (unsigned int layout = 0; layout < 3; layout++) {
		AUTO_GRAPH struct npuplan_graph *graph = chain(9, 4, kernels);
		struct npuplan_tiling tiling = { .layout = layout, .rows = 1 };
		AUTO_PLAN struct npuplan_plan *plan = NULL;
		struct npuplan_error error;

		assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
		plan = plan_with(graph, &pieces);
		assert_true(plan->placement_count > 2);
		check_round_trip(graph, plan);
	}
}

TEST(rings)
{
	static const int32_t kernels[] = { 1, 3, 3, 0 };
	struct npuplan_options options = { .planner = "tile-scheduled-rings" };
	AUTO_GRAPH struct npuplan_graph *graph = chain(10, 6, kernels);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	tile(graph);
	plan = plan_with(graph, &options);
	/* One placement a tensor: rows r, r - 1 and r - 2 are read while r + 1 is not there yet. */
	assert_int_equal(plan->placement_count, 2);
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		assert_int_equal(plan->placements[i].ring, 3);
		assert_int_equal(plan->placements[i].region.count[2], 10);
		assert_int_equal(plan->placements[i].stride[2], 6);
	}
	assert_int_equal(plan->info.arena_size, 2 * 3 * 6);
	check_round_trip(graph, plan);
}

/* As the daemon has it: a blob, without operators. Weights are then not known. */
TEST(blob)
{
	static const int32_t kernels[] = { 3, 3, 3, 0 };
	AUTO_GRAPH struct npuplan_graph *graph = chain(9, 4, kernels), *read = NULL;
	AUTO_PLAN struct npuplan_plan *plan = NULL, *blind = NULL;
	struct npuplan_error error;
	void *blob;
	size_t size;

	tile(graph);
	assert_int_equal(npuplan_graph_write(graph, &blob, &size, &error), 0);
	assert_int_equal(npuplan_graph_read(blob, size, &read, &error), 0);
	plan = plan_with(graph, &pieces);
	blind = plan_with(read, &pieces);
	assert_int_equal(blind->info.arena_size, plan->info.arena_size);
	assert_int_equal(blind->tilesched->all_weights, 0);
	assert_int_equal(blind->tilesched->all_reads, plan->tilesched->all_reads);
	free(blob);
}

/* Steps of two tensors that need each other in turns go as one operator. */
TEST(entangled)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("entangled");
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_OUTPUT, 4);
	struct npuplan_step step = { .flags = NPUMEM_STEP_STAGED, .op = NPUMEM_NONE };
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	/* a[0], b[0] of a[0], a[1] of b[0], b[1] of a[1], ... */
	for (uint32_t i = 0; i < 8; i++) {
		struct npumem_region write = { i / 2, 1, { 1, 1, 1 }, 0, { 0 } };
		struct npumem_region read = { i ? (i - 1) / 2 : 0, 1, { 1, 1, 1 }, 0, { 0 } };
		struct npumem_access accesses[2] = {
			{ 0, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
			{ 0, NPUMEM_ACCESS_WRITE, NPUMEM_NONE, 0 },
		};

		accesses[1].tile = npuplan_graph_add_tile(graph, i % 2 ? b : a, &write);
		if (i)
			accesses[0].tile = npuplan_graph_add_tile(graph, i % 2 ? a : b, &read);
		assert_true(npuplan_graph_add_step(graph, &step, accesses + !i, 2 - !i) >= 0);
	}
	plan = plan_with(graph, &pieces);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(plan->positions[i].index, i);
	assert_int_equal(plan->info.arena_size, 4);
}

/* ----------------------------------------------------------------- limits, refusals */

static int stop(void *context, const struct npuplan_pack_progress *progress)
{
	++*(uint32_t *)context;
	return 1;
}

TEST(limits)
{
	static const int32_t kernels[] = { 3, 3, 3, 0 };
	AUTO_GRAPH struct npuplan_graph *graph = chain(300, 4, kernels);
	struct npuplan_options options = { .planner = "tile-scheduled", .deadline_seconds = 1e-9 };
	struct npuplan_front *front;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;
	uint32_t calls = 0;

	tile(graph);
	npuplan_plan_free(plan_with(graph, &options));
	options = (struct npuplan_options){
		.planner = "tile-scheduled",
		.progress = stop,
		.context = &calls,
	};
	npuplan_plan_free(plan_with(graph, &options));
	assert_true(calls > 0);
	/* One unit of work is the whole graph, and nothing else: layers are always there. */
	options = (struct npuplan_options){ .planner = "tile-scheduled", .work_limit = 1 };
	plan = plan_with(graph, &options);
	assert_int_equal(npuplan_front_find(graph, &options, &front, &error), 0);
	assert_true(front->left_out);
	assert_int_equal(front->points[0].peak, plan->tilesched->cost.peak);
	npuplan_front_free(front);
}

TEST(refused)
{
	static const int32_t kernels[] = { 1, 3, 0 };
	struct npuplan_tilesched_options own = { sizeof(own) };
	struct npuplan_options options = pieces;
	struct npuplan_graph *graph = chain(20, 7, kernels);
	struct npuplan_front *front = NULL;
	struct npuplan_plan *plan;
	struct npuplan_error error = { "" };

	refuse_planning(graph, &options, -EINVAL, "graph chain has no steps: tile it first");
	assert_int_equal(npuplan_front_find(graph, &options, &front, &error), -EINVAL);
	assert_string_equal(error.text, "graph chain has no steps: tile it first");

	tile(graph);
	options.arena_budget = 20;
	refuse_planning(
		graph, &options, -ENOSPC,
		"needs 21 bytes, budget 20, lower bound 21; that is the order of tiles with the lowest peak; no order needs less than 21");
	own.traffic_factor = 1;
	options.tilesched = &own;
	refuse_planning(
		graph, &options, -ENOSPC,
		"needs 21 bytes, budget 20, lower bound 21; that is the order of tiles with the lowest peak within the traffic factor; no order needs less than 21");
	options.tilesched = NULL;
	options.arena_budget = 21;
	npuplan_plan_free(plan_with(graph, &options));

	/* A tensor with a place of its own is not cut. */
	options.arena_budget = 0;
	graph->tensors[2].flags = NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[2].fixed_offset = 7;
	plan = plan_with(graph, &options);
	assert_int_equal(plan->placement_count, 1);
	assert_int_equal(plan->placements[0].offset, 7);
	assert_int_equal(plan->info.arena_size, 7 + 20 * 7);
	npuplan_plan_free(plan);
	npuplan_graph_free(graph);

	graph = npuplan_graph_new("two");
	for (int i = 0; i < 2; i++) {
		uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 8);

		graph->tensors[out].flags = NPUMEM_TENSOR_FLAG_FIXED;
		graph->tensors[out].fixed_offset = 4 * i;
		build_step(graph, 0, NPUMEM_NONE, NPUMEM_NONE, out);
	}
	refuse_planning(
		graph, &options, -EINVAL,
		"fixed offsets collide: two tensors of two would share bytes that live at once");
	npuplan_graph_free(graph);
}

/* Who reads state, and who has written it, comes before a step that writes it anew. */
TEST(state_written_anew)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("anew");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 10);
	uint32_t kept = build_tensor(graph, "kept", NPUMEM_TENSOR_STATE, 10);
	uint32_t r = build_tensor(graph, "r", NPUMEM_TENSOR_INTERMEDIATE, 300);
	uint32_t wide = build_tensor(graph, "wide", NPUMEM_TENSOR_INTERMEDIATE, 500);
	uint32_t w = build_tensor(graph, "w", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 1);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	build_step(graph, 0, kept, NPUMEM_NONE, r);
	build_step(graph, 0, x, NPUMEM_NONE, kept);
	build_step(graph, 0, kept, NPUMEM_NONE, wide);
	build_step(graph, 0, wide, NPUMEM_NONE, w);
	build_step(graph, 0, r, w, y);
	/* The state, r, wide and w. If r could come last, it would be 511. */
	plan = build_plan_of(graph, &pieces);
	assert_int_equal(plan->info.arena_size, 811);
}

/* The orders that there are to choose from are listed of graphs of one block. */
TEST(flow_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	struct npuplan_tilesched_options own = { .size = sizeof(own) };
	struct npuplan_options options = pieces;
	struct npuplan_front *front = NULL;
	struct npuplan_error error = { "" };

	assert_true(npuplan_graph_add_block(graph) == 1);
	build_step(graph, 0, 2, NPUMEM_NONE, build_tensor(graph, "more", NPUMEM_TENSOR_OUTPUT, 3));
	assert_int_equal(npuplan_graph_add_edge(graph, 0, 1, NULL, 0), 0);
	assert_int_equal(npuplan_graph_add_edge(graph, 1, NPUMEM_NONE, NULL, 0), 1);
	own.traffic_factor = 1.5;
	options.tilesched = &own;
	refuse_planning(graph, &options, -EOPNOTSUPP,
			"chain: traffic is not weighed in graphs with loops and branches");
	options.tilesched = NULL;
	assert_int_equal(npuplan_front_find(graph, &options, &front, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "chain: this planner plans no loops and branches");
}
