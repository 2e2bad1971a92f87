// SPDX-License-Identifier: MIT
/*
 * Joined splits and slices: where outputs come to lie, what steps are left, and each reason why an
 * output is copied. That computing then gives the same bytes: tests/property/prop_join.c.
 */
#include "graph_check.h"
#include "join_check.h"
#include "npuplan_build.h"

/*
 * struct net - in -> x, split(x) -> a, b; a -> last_a, b -> last_b: all of two rows of three
 * pixels; x has 6 channels, a has 4, b has 2
 */
struct net {
	struct npuplan_graph *graph;
	uint32_t in;
	uint32_t x;
	uint32_t a;
	uint32_t b;
	uint32_t last_b;
	uint32_t split;
};

static void add_split(struct npuplan_graph *graph, uint32_t in, uint32_t first, uint32_t second)
{
	uint32_t inputs[] = { in }, outputs[] = { first, second };
	const struct npuplan_op op = {
		.name = (char[]){ "split" },
		.type = (char[]){ "split" },
		.inputs = inputs,
		.outputs = outputs,
		.input_count = 1,
		.output_count = 2,
		.id = 1000 + graph->op_count,
		.attrs.axis = 1,
	};

	assert_true(npuplan_graph_add_op(graph, &op) >= 0);
}

static struct net make_net(void)
{
	struct npuplan_graph *graph = build_nchw();
	struct net net = {
		.graph = graph,
		.in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 1, 2, 3),
		.x = build_spatial(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 1, 6, 2, 3),
		.a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 4, 2, 3),
		.b = build_spatial(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 1, 2, 2, 3),
		.last_b = build_spatial(graph, "last_b", NPUMEM_TENSOR_OUTPUT, 1, 2, 2, 3),
		.split = 1,
	};
	uint32_t last_a = build_spatial(graph, "last_a", NPUMEM_TENSOR_OUTPUT, 1, 4, 2, 3);

	build_op(graph, "make_x", net.in, NPUMEM_NONE, NPUMEM_NONE, net.x);
	add_split(graph, net.x, net.a, net.b);
	build_op(graph, "relu", net.a, NPUMEM_NONE, NPUMEM_NONE, last_a);
	build_op(graph, "relu", net.b, NPUMEM_NONE, NPUMEM_NONE, net.last_b);
	return net;
}

/* ---------------------------------------------------------------------- where they lie */

TEST(channels_one_behind_the_other)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	struct npumem_tile tile;

	join(graph, NPUPLAN_NCHW, 0);
	assert_int_equal(graph->joined_count, 2);
	assert_joined(graph, net.a, net.x, 0, 24, 24);
	assert_joined(graph, net.b, net.x, 24, 12, 12);
	assert_int_equal(graph->tensors[net.b].alias_offset, 24);
	assert_int_equal(graph->tensors[net.b].size, 12);
	assert_int_equal(graph->step_count, 3);
	assert_int_equal(steps_of(graph, net.split), 0);
	tile = tile_of(graph, 3, NPUMEM_ACCESS_READ);
	assert_int_equal(tile.tensor, net.x);
	assert_region(&tile.region, 24, 12, 1, 0);
}

/* The axis need not be said: it is the one along which an output is smaller. */
TEST(channels_interleaved)
{
	for (int axis = -1; axis <= 1; axis += 2) {
		struct net net = make_net();
		AUTO_GRAPH struct npuplan_graph *graph = net.graph;
		struct npumem_tile tile;

		graph->ops[net.split].attrs.axis = axis;
		join(graph, NPUPLAN_NHWC, 0);
		assert_joined(graph, net.a, net.x, 0, 4, 6);
		assert_joined(graph, net.b, net.x, 4, 2, 6);
		assert_int_equal(steps_of(graph, net.split), 0);
		tile = tile_of(graph, 3, NPUMEM_ACCESS_READ);
		assert_int_equal(tile.tensor, net.x);
		assert_region(&tile.region, 4, 2, 6, 6);
	}
}

TEST(tiles_of_parts_are_tiles_of_the_input)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	struct npumem_tile tile;

	join(graph, NPUPLAN_NHWC, 1);
	/* A row of three pixels of two channels of six. */
	tile = tile_of(graph, 3, NPUMEM_ACCESS_READ);
	assert_int_equal(tile.tensor, net.x);
	assert_region(&tile.region, 4, 2, 3, 6);
	assert_int_equal(steps_of(graph, net.split), 0);
}

TEST(untiled)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	join(graph, NPUPLAN_NHWC, 0);
	npuplan_graph_untile(graph);
	assert_int_equal(graph->joined_count, 0);
	assert_int_equal(graph->tensors[net.b].flags, 0);
	assert_int_equal(graph->tensors[net.b].size, 12);
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
	assert_int_equal(graph->concat_input_count, 0);
	assert_int_equal(steps_of(graph, net.split), 1);
}

/*
 * The peak was where x is split: x, a and b. Now it is where the readers write; what b's one writes
 * has no room between b's bytes in NHWC, but for the first ones.
 */
TEST(arena)
{
	for (uint32_t layout = NPUPLAN_NHWC; layout <= NPUPLAN_NCHW; layout++) {
		struct net net = make_net();
		AUTO_GRAPH struct npuplan_graph *graph = net.graph;
		AUTO_PLAN struct npuplan_plan *copied = NULL;
		AUTO_PLAN struct npuplan_plan *plan = NULL;

		assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
		copied = build_plan_of(graph, NULL);
		assert_int_equal(copied->info.arena_size, 36 + 24 + 12);
		npuplan_graph_untile(graph);
		join(graph, layout, 0);
		plan = build_plan_of(graph, NULL);
		assert_int_equal(plan->info.arena_size,
				 layout == NPUPLAN_NHWC ? 24 + 36 + 12 - 4 : 24 + 36);
	}
}

/* An input of the graph is split in place, too. */
TEST(input_of_the_graph)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->tensors[net.x].kind = NPUMEM_TENSOR_INPUT;
	graph->ops[0].outputs[0] = build_spatial(graph, "other", NPUMEM_TENSOR_OUTPUT, 1, 1, 2, 3);
	join(graph, NPUPLAN_NHWC, 0);
	assert_joined(graph, net.b, net.x, 4, 2, 6);
	npuplan_plan_free(build_plan_of(graph, NULL));
}

/* A view of what is made: parts lie in what it is a view of. */
TEST(view)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	uint32_t made = build_spatial(graph, "made", NPUMEM_TENSOR_INTERMEDIATE, 1, 3, 3, 4);

	graph->ops[0].outputs[0] = made;
	graph->tensors[net.x].flags |= NPUMEM_TENSOR_FLAG_ALIAS;
	graph->tensors[net.x].alias_of = made;
	join(graph, NPUPLAN_NHWC, 0);
	assert_joined(graph, net.b, made, 4, 2, 6);
	assert_int_equal(steps_of(graph, net.split), 0);
	npuplan_plan_free(build_plan_of(graph, NULL));
}

/* split(split(x)): parts of parts. */
TEST(chained)
{
	for (uint32_t layout = NPUPLAN_NHWC; layout <= NPUPLAN_NCHW; layout++) {
		struct net net = make_net();
		AUTO_GRAPH struct npuplan_graph *graph = net.graph;
		uint32_t c = build_spatial(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 2, 3);
		uint32_t d = build_spatial(graph, "d", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 2, 3);
		uint32_t last = build_spatial(graph, "last", NPUMEM_TENSOR_OUTPUT, 1, 1, 2, 3);
		bool inside = layout == NPUPLAN_NHWC;

		add_split(graph, net.b, c, d);
		build_op(graph, "add", c, d, NPUMEM_NONE, last);
		join(graph, layout, 0);
		assert_joined(graph, c, net.x, inside ? 4 : 24, inside ? 1 : 6, 6);
		assert_joined(graph, d, net.x, inside ? 5 : 30, inside ? 1 : 6, 6);
		assert_int_equal(graph->step_count, 4);
		npuplan_plan_free(build_plan_of(graph, NULL));
	}
}

/* What is put together again as it was is no copy; the other way round each part is one. */
TEST(put_together_again)
{
	for (int swapped = 0; swapped <= 1; swapped++) {
		struct net net = make_net();
		AUTO_GRAPH struct npuplan_graph *graph = net.graph;
		uint32_t all = build_spatial(graph, "all", NPUMEM_TENSOR_INTERMEDIATE, 1, 6, 2, 3);
		uint32_t last = build_spatial(graph, "last", NPUMEM_TENSOR_OUTPUT, 1, 6, 2, 3);

		build_op(graph, "cat", swapped ? net.b : net.a, swapped ? net.a : net.b,
			 NPUMEM_NONE, all)
			->attrs.axis = 1;
		build_op(graph, "relu", all, NPUMEM_NONE, NPUMEM_NONE, last);
		join(graph, NPUPLAN_NHWC, 0);
		assert_int_equal(steps_of(graph, 4), 0);
		assert_joined(graph, net.a, all, swapped ? 2 : 0, 4, 6);
		if (swapped) {
			assert_said(graph, net.split, 0, NPUPLAN_JOIN_TWICE);
			assert_int_equal(steps_of(graph, net.split), 1);
		} else {
			assert_joined(graph, net.x, all, 0, 36, 36);
			assert_said(graph, net.split, 0, NPUPLAN_JOINED);
			assert_int_equal(steps_of(graph, net.split), 0);
		}
		npuplan_plan_free(build_plan_of(graph, NULL));
	}
}

static struct npuplan_op *make_slice(struct npuplan_graph *graph, uint32_t op, const char *type,
				     int32_t axis, int32_t first)
{
	struct npuplan_op *slice = &graph->ops[op];

	free(slice->type);
	slice->type = strdup(type);
	slice->output_count = 1;
	slice->attrs.axis = axis;
	slice->attrs.stride[0] = 1;
	slice->attrs.pad_begin[0] = -first;
	return slice;
}

/* a is channels 1 to 4 of x; or, if the slice's first element is not known, a copy. */
TEST(slice)
{
	static const char *const types[] = { "slice", "strided_slice" };

	for (int known = 0; known <= 1; known++) {
		struct net net = make_net();
		AUTO_GRAPH struct npuplan_graph *graph = net.graph;

		graph->tensors[net.b].kind = NPUMEM_TENSOR_INPUT;
		make_slice(graph, net.split, types[known], 1, 1)->attrs.stride[0] = known;
		join(graph, NPUPLAN_NHWC, 0);
		assert_said(graph, net.split, 0, known ? NPUPLAN_JOINED : NPUPLAN_JOIN_SHAPE);
		assert_int_equal(graph->joined_count, known);
		assert_int_equal(steps_of(graph, net.split), !known);
		if (known)
			assert_joined(graph, net.a, net.x, 1, 4, 6);
	}
}

/* A slice that would go beyond its input. */
TEST(slice_beyond)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->tensors[net.b].kind = NPUMEM_TENSOR_INPUT;
	make_slice(graph, net.split, "slice", 1, 3);
	join(graph, NPUPLAN_NHWC, 0);
	assert_said(graph, net.split, 0, NPUPLAN_JOIN_SHAPE);
	assert_int_equal(graph->joined_count, 0);
}

/* Blocks of 32 channels: a slice may end within one only where its input does. */
TEST(slice_of_blocks)
{
	static const struct {
		int64_t channels;
		int32_t first;
		enum npuplan_join join;
	} cases[] = {
		{ 32, 32, NPUPLAN_JOINED },	 { 8, 64, NPUPLAN_JOINED },
		{ 40, 32, NPUPLAN_JOINED },	 { 16, 32, NPUPLAN_JOIN_BLOCKS },
		{ 32, 16, NPUPLAN_JOIN_BLOCKS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
		uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 72, 2, 3);
		uint32_t x = build_spatial(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 1, 72, 2, 3);
		uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1,
					   cases[i].channels, 2, 3);
		uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1,
					     cases[i].channels, 2, 3);

		build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, x);
		build_op(graph, "slice", x, NPUMEM_NONE, NPUMEM_NONE, a);
		build_op(graph, "relu", a, NPUMEM_NONE, NPUMEM_NONE, out);
		make_slice(graph, 1, "slice", 1, cases[i].first);
		join(graph, NPUPLAN_NC32HW32, 0);
		assert_said(graph, 1, 0, cases[i].join);
		if (!cases[i].join)
			assert_joined(graph, a, x, (uint64_t)cases[i].first * 6,
				      graph->joined[0].size, graph->joined[0].size);
		npuplan_plan_free(build_plan_of(graph, NULL));
	}
}

/* ----------------------------------------------------------------------- what is copied */

/* Output @output of the split is copied by one step, the other one is a part. */
static void assert_copied(struct net *net, uint32_t output, enum npuplan_join reason)
{
	struct npuplan_graph *graph = net->graph;
	struct npumem_tile tile;

	join(graph, NPUPLAN_NHWC, 0);
	assert_said(graph, net->split, output, reason);
	assert_said(graph, net->split, !output, NPUPLAN_JOINED);
	assert_int_equal(steps_of(graph, net->split), 1);
	tile = tile_of(graph, net->split, NPUMEM_ACCESS_WRITE);
	assert_int_equal(tile.tensor, graph->ops[net->split].outputs[output]);
	tile = tile_of(graph, net->split, NPUMEM_ACCESS_READ);
	assert_int_equal(tile.tensor, net->x);
	assert_region(&tile.region, output ? 4 : 0, output ? 2 : 4, 6, 6);
	npuplan_plan_free(build_plan_of(graph, NULL));
}

TEST(copied_output_of_the_graph)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->tensors[net.b].kind = NPUMEM_TENSOR_OUTPUT;
	assert_copied(&net, 1, NPUPLAN_JOIN_KEPT);
}

TEST(copied_external)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->tensors[net.a].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
	assert_copied(&net, 0, NPUPLAN_JOIN_PLACED);
}

TEST(copied_alignment)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->tensors[net.b].align = 4;
	assert_copied(&net, 1, NPUPLAN_JOIN_ALIGNMENT);
}

/* It is part of a concat's output already. */
TEST(copied_twice)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	uint32_t all = build_spatial(graph, "all", NPUMEM_TENSOR_OUTPUT, 1, 4, 2, 3);
	struct npumem_tile tile;

	build_op(graph, "cat", net.last_b, net.b, NPUMEM_NONE, all)->attrs.axis = 1;
	join(graph, NPUPLAN_NHWC, 0);
	assert_said(graph, net.split, 0, NPUPLAN_JOINED);
	assert_said(graph, net.split, 1, NPUPLAN_JOIN_TWICE);
	/* So it is copied to where the concat wants it. */
	tile = tile_of(graph, net.split, NPUMEM_ACCESS_WRITE);
	assert_int_equal(tile.tensor, all);
	assert_region(&tile.region, 2, 2, 6, 4);
	npuplan_plan_free(build_plan_of(graph, NULL));
}

/* What is copied in tiles is copied in tiles still. */
TEST(copied_in_tiles)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	struct npumem_tile tile;

	graph->tensors[net.b].kind = NPUMEM_TENSOR_OUTPUT;
	/* Outputs of different channels are cut in bands alone. */
	assert_int_equal(npuplan_graph_tile(graph,
					    &(struct npuplan_tiling){
						    .bands = 2,
						    .concat = NPUPLAN_CONCAT_JOIN,
					    },
					    NULL),
			 0);
	assert_int_equal(steps_of(graph, net.split), 2);
	tile = tile_of(graph, net.split, NPUMEM_ACCESS_WRITE);
	assert_region(&tile.region, 0, 6, 1, 0);
	tile = tile_of(graph, net.split, NPUMEM_ACCESS_READ);
	assert_region(&tile.region, 4, 2, 3, 6);
}

/* All outputs are copied, as they were without joining. */
static void assert_all_copied(struct net *net, enum npuplan_join reason)
{
	struct npuplan_graph *graph = net->graph;

	join(graph, NPUPLAN_NHWC, 0);
	assert_said(graph, net->split, 0, reason);
	assert_said(graph, net->split, 1, reason);
	assert_int_equal(graph->joined_count, 0);
	assert_int_equal(steps_of(graph, net->split), 1);
}

TEST(copied_converts)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->ops[net.split].attrs.converts = true;
	assert_all_copied(&net, NPUPLAN_JOIN_CONVERTS);
}

TEST(copied_whole)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->ops[net.split].attrs.whole = true;
	assert_all_copied(&net, NPUPLAN_JOIN_SHAPE);
}

/* Parts that do not make up the input. */
TEST(copied_shape)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->tensors[net.b].shape[1] = 1;
	graph->tensors[net.b].size = 6;
	assert_all_copied(&net, NPUPLAN_JOIN_SHAPE);
}

/* What else has the input's bytes may write them; or they are no bytes of a plan. */
TEST(copied_input)
{
	static const uint32_t kinds[] = { NPUMEM_TENSOR_STATE, NPUMEM_TENSOR_PARAMETER };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct net net = make_net();
		AUTO_GRAPH struct npuplan_graph *graph = net.graph;

		graph->tensors[net.x].kind = kinds[i];
		graph->ops[0].outputs[0] =
			build_spatial(graph, "other", NPUMEM_TENSOR_OUTPUT, 1, 1, 2, 3);
		assert_all_copied(&net, NPUPLAN_JOIN_INPUT);
	}
}

/* Of two inputs that are computed it is not known which one is split. */
TEST(copied_input_of_several)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	struct npuplan_op *op = &graph->ops[net.split];

	op->inputs = realloc(op->inputs, 2 * sizeof(*op->inputs));
	op->inputs[1] = op->inputs[0];
	op->inputs[0] = net.in;
	op->input_count = 2;
	assert_all_copied(&net, NPUPLAN_JOIN_INPUT);
}

TEST(copied_range)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	uint32_t more = build_spatial(graph, "more", NPUMEM_TENSOR_INTERMEDIATE, 1, 7, 2, 3);

	graph->ops[0].outputs[0] = more;
	graph->tensors[net.x].flags |= NPUMEM_TENSOR_FLAG_ALIAS;
	graph->tensors[net.x].alias_of = more;
	assert_all_copied(&net, NPUPLAN_JOIN_INPUT);
}

TEST(copied_flow)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	assert_true(npuplan_graph_add_edge(graph, 0, NPUMEM_NONE, NULL, 0) >= 0);
	assert_all_copied(&net, NPUPLAN_JOIN_FLOW);
}

/*
 * b is needed late, when something large lives: a copy of it takes less room there than all of x.
 */
TEST(copied_late)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	uint32_t big = build_spatial(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 1, 16, 2, 3);
	uint32_t small = build_spatial(graph, "small", NPUMEM_TENSOR_OUTPUT, 1, 1, 2, 3);
	struct npuplan_op late;

	build_op(graph, "make_big", net.in, NPUMEM_NONE, NPUMEM_NONE, big);
	build_op(graph, "make_small", big, NPUMEM_NONE, NPUMEM_NONE, small);
	/* b's reader comes last. */
	late = graph->ops[3];
	graph->ops[3] = graph->ops[4];
	graph->ops[4] = graph->ops[5];
	graph->ops[5] = late;
	join_what_fits(graph);
	assert_said(graph, net.split, 0, NPUPLAN_JOINED);
	assert_said(graph, net.split, 1, NPUPLAN_JOIN_LATE);
	npuplan_plan_free(build_plan_of(graph, NULL));
}
