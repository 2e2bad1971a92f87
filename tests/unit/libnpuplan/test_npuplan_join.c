// SPDX-License-Identifier: MIT
/*
 * Joined concats: where inputs come to lie, what steps are left, and each reason why an input is
 * copied. That computing then gives the same bytes: tests/property/prop_join.c.
 */
#include "graph_check.h"
#include "join_check.h"
#include "npuplan_build.h"

#include <errno.h>

/*
 * struct net - in -> a, in -> b, cat(a, b) -> out -> last, all of two rows of three pixels; a has 4
 * channels, b has 2
 */
struct net {
	struct npuplan_graph *graph;
	uint32_t in;
	uint32_t a;
	uint32_t b;
	uint32_t out;
	uint32_t last;
	uint32_t cat;
};

static struct net make_net(void)
{
	struct npuplan_graph *graph = build_nchw();
	struct net net = {
		.graph = graph,
		.in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 1, 2, 3),
		.a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 4, 2, 3),
		.b = build_spatial(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 1, 2, 2, 3),
		.out = build_spatial(graph, "out", NPUMEM_TENSOR_INTERMEDIATE, 1, 6, 2, 3),
		.last = build_spatial(graph, "last", NPUMEM_TENSOR_OUTPUT, 1, 6, 2, 3),
		.cat = 2,
	};

	build_op(graph, "make_a", net.in, NPUMEM_NONE, NPUMEM_NONE, net.a);
	build_op(graph, "make_b", net.in, NPUMEM_NONE, NPUMEM_NONE, net.b);
	build_op(graph, "cat", net.a, net.b, NPUMEM_NONE, net.out)->attrs.axis = 1;
	build_op(graph, "relu", net.out, NPUMEM_NONE, NPUMEM_NONE, net.last);
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
	assert_joined(graph, net.a, net.out, 0, 24, 24);
	assert_joined(graph, net.b, net.out, 24, 12, 12);
	/* They are aliases of just these bytes. */
	assert_int_equal(graph->tensors[net.b].alias_offset, 24);
	assert_int_equal(graph->tensors[net.b].size, 12);
	assert_int_equal(graph->step_count, 3);
	assert_int_equal(steps_of(graph, net.cat), 0);
	tile = tile_of(graph, 1, NPUMEM_ACCESS_WRITE);
	assert_int_equal(tile.tensor, net.out);
	assert_region(&tile.region, 24, 12, 1, 0);
}

TEST(channels_interleaved)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	struct npumem_tile tile;

	join(graph, NPUPLAN_NHWC, 0);
	assert_joined(graph, net.a, net.out, 0, 4, 6);
	assert_joined(graph, net.b, net.out, 4, 2, 6);
	/* No range has just these bytes: they are aliases of all. */
	assert_int_equal(graph->tensors[net.b].alias_offset, 0);
	assert_int_equal(graph->tensors[net.b].size, 36);
	assert_int_equal(steps_of(graph, net.cat), 0);
	tile = tile_of(graph, 1, NPUMEM_ACCESS_WRITE);
	assert_int_equal(tile.tensor, net.out);
	assert_region(&tile.region, 4, 2, 6, 6);
}

TEST(tiles_of_parts_are_tiles_of_the_output)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	struct npumem_tile tile;

	build_window(&graph->ops[1], 1, 1, 1, 0);
	free(graph->ops[1].type);
	graph->ops[1].type = strdup("maxpool");
	join(graph, NPUPLAN_NHWC, 1);
	/* A row of three pixels of two channels of six. */
	tile = tile_of(graph, 1, NPUMEM_ACCESS_WRITE);
	assert_int_equal(tile.tensor, net.out);
	assert_region(&tile.region, 4, 2, 3, 6);
	assert_int_equal(steps_of(graph, net.cat), 0);
}

/* Without joining nothing is different, and nothing is said. */
TEST(copied)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
	assert_int_equal(graph->joined_count, 0);
	assert_int_equal(graph->concat_input_count, 0);
	assert_int_equal(steps_of(graph, net.cat), 1);
	assert_int_equal(graph->tensors[net.a].flags, 0);
}

TEST(untiled)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	join(graph, NPUPLAN_NHWC, 0);
	npuplan_graph_untile(graph);
	assert_int_equal(graph->joined_count, 0);
	assert_null(graph->joined);
	assert_int_equal(graph->tensors[net.b].flags, 0);
	assert_int_equal(graph->tensors[net.b].size, 12);
	assert_int_equal(graph->tensors[net.b].alias_of, NPUMEM_NONE);
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
	assert_int_equal(steps_of(graph, net.cat), 1);
}

/*
 * The peak was where out is made: a, b and out. Now it is where the last part is made while the
 * input is still read.
 */
TEST(arena)
{
	for (uint32_t layout = NPUPLAN_NHWC; layout <= NPUPLAN_NCHW; layout++) {
		struct net net = make_net();
		AUTO_GRAPH struct npuplan_graph *graph = net.graph;
		AUTO_PLAN struct npuplan_plan *copied = NULL;
		AUTO_PLAN struct npuplan_plan *plan = NULL;

		graph->ops[3].attrs.inplace = true;
		assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
		copied = build_plan_of(graph, NULL);
		assert_int_equal(copied->info.arena_size, 24 + 12 + 36);
		npuplan_graph_untile(graph);
		join(graph, layout, 0);
		plan = build_plan_of(graph, NULL);
		assert_int_equal(plan->info.arena_size, 36 + 6);
		assert_int_equal(plan->info.lower_bound, 36 + 6);
		assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	}
}

/* cat(cat(a, b), b'): parts of parts, in either layout. */
TEST(chained)
{
	for (uint32_t layout = NPUPLAN_NHWC; layout <= NPUPLAN_NCHW; layout++) {
		struct net net = make_net();
		AUTO_GRAPH struct npuplan_graph *graph = net.graph;
		uint32_t c = build_spatial(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 2, 3);
		uint32_t all = build_spatial(graph, "all", NPUMEM_TENSOR_OUTPUT, 1, 7, 2, 3);
		bool inside = layout == NPUPLAN_NHWC;

		build_op(graph, "make_c", net.in, NPUMEM_NONE, NPUMEM_NONE, c);
		build_op(graph, "cat", c, net.out, NPUMEM_NONE, all)->attrs.axis = 1;
		join(graph, layout, 0);
		assert_joined(graph, c, all, 0, inside ? 1 : 6, inside ? 7 : 6);
		assert_joined(graph, net.out, all, inside ? 1 : 6, inside ? 6 : 36,
			      inside ? 7 : 36);
		assert_joined(graph, net.a, all, inside ? 1 : 6, inside ? 4 : 24, inside ? 7 : 24);
		assert_joined(graph, net.b, all, inside ? 5 : 30, inside ? 2 : 12, inside ? 7 : 12);
	}
}

/* As in DenseNet: cat(a, b), then cat(a, b, c), and the first is the beginning of the second. */
TEST(concat_of_the_same_again)
{
	for (uint32_t layout = NPUPLAN_NHWC; layout <= NPUPLAN_NCHW; layout++) {
		struct net net = make_net();
		AUTO_GRAPH struct npuplan_graph *graph = net.graph;
		uint32_t c = build_spatial(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 2, 3);
		uint32_t all = build_spatial(graph, "all", NPUMEM_TENSOR_OUTPUT, 1, 7, 2, 3);
		bool inside = layout == NPUPLAN_NHWC;

		build_op(graph, "make_c", net.out, NPUMEM_NONE, NPUMEM_NONE, c);
		build_op(graph, "cat", net.a, net.b, c, all)->attrs.axis = 1;
		join(graph, layout, 0);
		assert_joined(graph, net.out, all, 0, inside ? 6 : 36, inside ? 7 : 36);
		assert_said(graph, net.cat, 0, NPUPLAN_JOINED);
		assert_said(graph, net.cat, 1, NPUPLAN_JOINED);
		assert_int_equal(steps_of(graph, net.cat), 0);
		assert_int_equal(graph->step_count, 4);
	}
}

/* A view of an input: what is seen by its shape is a part, and so is what it is a view of. */
TEST(views)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	uint32_t view = build_spatial(graph, "view", NPUMEM_TENSOR_INTERMEDIATE, 1, 4, 2, 3);

	graph->tensors[view].flags |= NPUMEM_TENSOR_FLAG_ALIAS;
	graph->tensors[view].alias_of = net.a;
	graph->ops[net.cat].inputs[0] = view;
	join(graph, NPUPLAN_NHWC, 0);
	assert_joined(graph, net.a, net.out, 0, 4, 6);
	assert_joined(graph, view, net.out, 0, 4, 6);
	assert_int_equal(steps_of(graph, net.cat), 0);
	npuplan_graph_untile(graph);
	assert_int_equal(graph->tensors[view].alias_of, net.a);
}

/* --------------------------------------------------------------------- what is copied */

/* Input @input of the concat is copied by one step, the other one is a part. */
static void assert_copied(struct net *net, uint32_t input, enum npuplan_join reason)
{
	struct npuplan_graph *graph = net->graph;
	struct npumem_tile tile;

	join(graph, NPUPLAN_NHWC, 0);
	assert_said(graph, net->cat, input, reason);
	assert_said(graph, net->cat, !input, NPUPLAN_JOINED);
	assert_int_equal(steps_of(graph, net->cat), 1);
	tile = tile_of(graph, net->cat, NPUMEM_ACCESS_READ);
	assert_int_equal(tile.tensor, graph->ops[net->cat].inputs[input]);
	tile = tile_of(graph, net->cat, NPUMEM_ACCESS_WRITE);
	assert_int_equal(tile.tensor, net->out);
	assert_region(&tile.region, input ? 4 : 0, input ? 2 : 4, 6, 6);
}

TEST(copied_output_of_the_graph)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->tensors[net.b].kind = NPUMEM_TENSOR_OUTPUT;
	assert_copied(&net, 1, NPUPLAN_JOIN_KEPT);
}

TEST(copied_input_of_the_graph)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->ops[net.cat].inputs[1] =
		build_spatial(graph, "in2", NPUMEM_TENSOR_INPUT, 1, 2, 2, 3);
	assert_copied(&net, 1, NPUPLAN_JOIN_KIND);
}

TEST(copied_external)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->tensors[net.a].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
	assert_copied(&net, 0, NPUPLAN_JOIN_PLACED);
}

TEST(copied_fixed)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->tensors[net.a].flags |= NPUMEM_TENSOR_FLAG_FIXED;
	assert_copied(&net, 0, NPUPLAN_JOIN_PLACED);
}

TEST(copied_range)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	uint32_t more = build_spatial(graph, "more", NPUMEM_TENSOR_INTERMEDIATE, 1, 3, 2, 3);

	graph->ops[1].outputs[0] = more;
	graph->tensors[net.b].flags |= NPUMEM_TENSOR_FLAG_ALIAS;
	graph->tensors[net.b].alias_of = more;
	assert_copied(&net, 1, NPUPLAN_JOIN_RANGE);
}

TEST(copied_alignment)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	/* A part at byte 4, 2 bytes every 6: a multiple of 2, not of 4. */
	graph->tensors[net.b].align = 4;
	assert_copied(&net, 1, NPUPLAN_JOIN_ALIGNMENT);
	npuplan_graph_untile(graph);
	graph->tensors[net.b].align = 2;
	join(graph, NPUPLAN_NHWC, 0);
	assert_said(graph, net.cat, 1, NPUPLAN_JOINED);
}

/* The second time, and in the concat before the last. */
TEST(copied_twice)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	uint32_t twice = build_spatial(graph, "twice", NPUMEM_TENSOR_OUTPUT, 1, 8, 2, 3);
	struct npumem_tile tile;

	build_op(graph, "cat", net.a, net.a, NPUMEM_NONE, twice)->attrs.axis = 1;
	join(graph, NPUPLAN_NHWC, 0);
	assert_said(graph, 4, 0, NPUPLAN_JOINED);
	assert_said(graph, 4, 1, NPUPLAN_JOIN_TWICE);
	assert_said(graph, net.cat, 0, NPUPLAN_JOIN_TWICE);
	assert_said(graph, net.cat, 1, NPUPLAN_JOINED);
	assert_joined(graph, net.a, twice, 0, 4, 8);
	tile = tile_of(graph, 4, NPUMEM_ACCESS_READ);
	assert_int_equal(tile.tensor, twice);
	assert_region(&tile.region, 0, 4, 6, 8);
	tile = tile_of(graph, 4, NPUMEM_ACCESS_WRITE);
	assert_region(&tile.region, 4, 4, 6, 8);
	npuplan_plan_free(build_plan_of(graph, NULL));
}

/* A part that is an image of other rows than the tiles that a reader takes of its bytes. */
TEST(copied_tiles)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	uint32_t view = build_spatial(graph, "view", NPUMEM_TENSOR_INTERMEDIATE, 1, 4, 2, 3);
	uint32_t other = build_spatial(graph, "other", NPUMEM_TENSOR_OUTPUT, 1, 4, 2, 3);

	/* Bytes 1 to 24 of a in rows of 3, which are not in its runs of 4. */
	graph->tensors[view].flags |= NPUMEM_TENSOR_FLAG_ALIAS;
	graph->tensors[view].alias_of = net.a;
	graph->tensors[view].shape[1] = 1;
	graph->tensors[view].shape[2] = 8;
	graph->tensors[other].shape[1] = 1;
	graph->tensors[other].shape[2] = 8;
	build_op(graph, "relu", view, NPUMEM_NONE, NPUMEM_NONE, other);
	join(graph, NPUPLAN_NHWC, 1);
	assert_said(graph, net.cat, 0, NPUPLAN_JOIN_TILES);
	assert_said(graph, net.cat, 1, NPUPLAN_JOINED);
	/* Row by row, as the concat is cut. */
	assert_int_equal(steps_of(graph, net.cat), 2);
}

/*
 * Where a large tensor lives between two parts, room for the output is kept from the second one on.
 */
TEST(fits)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	/* Nothing lives between them: at b 24 + 12 + 6 bytes, now 36 + 6. */
	join_what_fits(graph);
	assert_said(graph, net.cat, 0, NPUPLAN_JOINED);
	assert_said(graph, net.cat, 1, NPUPLAN_JOINED);
}

/*
 * a, then cat(a, b), of which c is made, then cat(a, b, c): if only c and b were parts of the last
 * one there would be room for three outputs at once.
 */
TEST(fits_together)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 1, 1, 4);
	uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 8, 1, 4);
	uint32_t b = build_spatial(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 1, 8, 1, 4);
	uint32_t two = build_spatial(graph, "two", NPUMEM_TENSOR_INTERMEDIATE, 1, 16, 1, 4);
	uint32_t c = build_spatial(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 1, 8, 1, 4);
	uint32_t three = build_spatial(graph, "three", NPUMEM_TENSOR_OUTPUT, 1, 24, 1, 4);

	build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "conv2d", a, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "cat", a, b, NPUMEM_NONE, two)->attrs.axis = 1;
	build_op(graph, "conv2d", two, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "cat", a, b, c, three)->attrs.axis = 1;
	join_what_fits(graph);
	for (uint32_t i = 0; i < 3; i++)
		assert_said(graph, 4, i, NPUPLAN_JOINED);
	assert_said(graph, 2, 0, NPUPLAN_JOINED);
	assert_said(graph, 2, 1, NPUPLAN_JOINED);
	assert_int_equal(graph->step_count, 3);
}

TEST(copied_early)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 1, 1, 4);
	uint32_t by = build_spatial(graph, "by", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 1, 4);
	uint32_t big = build_spatial(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 1, 25, 1, 4);
	uint32_t small = build_spatial(graph, "small", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 1, 4);
	uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 15, 1, 4);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 16, 1, 4);

	build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, by);
	build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, big);
	build_op(graph, "conv2d", big, NPUMEM_NONE, NPUMEM_NONE, small);
	build_op(graph, "conv2d", small, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "cat", by, a, NPUMEM_NONE, out)->attrs.axis = 1;
	join_what_fits(graph);
	/* Room for out beside big would be 64 + 104 bytes; the most was 4 + 60 + 64. */
	assert_said(graph, 4, 0, NPUPLAN_JOIN_EARLY);
	assert_said(graph, 4, 1, NPUPLAN_JOINED);
}

/* An operator that works in place before them leaves no more room than without its input. */
TEST(copied_early_behind_one_in_place)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 1, 1, 4);
	uint32_t wide = build_spatial(graph, "wide", NPUMEM_TENSOR_INTERMEDIATE, 1, 25, 1, 4);
	uint32_t relu = build_spatial(graph, "relu", NPUMEM_TENSOR_INTERMEDIATE, 1, 25, 1, 4);
	uint32_t by = build_spatial(graph, "by", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 1, 4);
	uint32_t big = build_spatial(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 1, 25, 1, 4);
	uint32_t small = build_spatial(graph, "small", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 1, 4);
	uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 15, 1, 4);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 16, 1, 4);

	build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, wide);
	build_op(graph, "relu", wide, NPUMEM_NONE, NPUMEM_NONE, relu)->attrs.inplace = true;
	build_op(graph, "conv2d", relu, NPUMEM_NONE, NPUMEM_NONE, by);
	build_op(graph, "conv2d", by, NPUMEM_NONE, NPUMEM_NONE, big);
	build_op(graph, "conv2d", big, NPUMEM_NONE, NPUMEM_NONE, small);
	build_op(graph, "conv2d", small, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "cat", by, a, NPUMEM_NONE, out)->attrs.axis = 1;
	join_what_fits(graph);
	/* 168 bytes with out beside big: wide and relu together would be 200, they are 100. */
	assert_said(graph, 6, 0, NPUPLAN_JOIN_EARLY);
	assert_said(graph, 6, 1, NPUPLAN_JOINED);
}

/* None of the inputs is a part; the concat is as it was. */
static void assert_whole_copied(struct net *net, enum npuplan_layout layout,
				enum npuplan_join reason)
{
	struct npuplan_graph *graph = net->graph;

	join(graph, layout, 0);
	assert_said(graph, net->cat, 0, reason);
	assert_said(graph, net->cat, 1, reason);
	assert_int_equal(graph->joined_count, 0);
	assert_int_equal(steps_of(graph, net->cat), 1);
	assert_int_equal(graph->steps[net->cat].access_count, 3);
}

TEST(copied_that_converts)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->ops[net.cat].attrs.converts = true;
	assert_whole_copied(&net, NPUPLAN_NHWC, NPUPLAN_JOIN_CONVERTS);
}

TEST(copied_of_no_known_shape)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->tensors[net.b].dim_count = 0;
	assert_whole_copied(&net, NPUPLAN_NHWC, NPUPLAN_JOIN_SHAPE);
}

TEST(copied_of_no_known_axis)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->ops[net.cat].attrs.axis = -1;
	assert_whole_copied(&net, NPUPLAN_NHWC, NPUPLAN_JOIN_SHAPE);
}

TEST(copied_whole)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	graph->ops[net.cat].attrs.whole = true;
	assert_whole_copied(&net, NPUPLAN_NHWC, NPUPLAN_JOIN_SHAPE);
}

TEST(copied_into_a_part)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	uint32_t more = build_spatial(graph, "more", NPUMEM_TENSOR_OUTPUT, 1, 8, 2, 3);

	graph->tensors[net.out].flags |= NPUMEM_TENSOR_FLAG_ALIAS;
	graph->tensors[net.out].alias_of = more;
	assert_whole_copied(&net, NPUPLAN_NHWC, NPUPLAN_JOIN_OUTPUT);
}

/* 4 and 2 channels are no blocks of 32. */
TEST(copied_within_blocks)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;

	assert_whole_copied(&net, NPUPLAN_NC32HW32, NPUPLAN_JOIN_BLOCKS);
}

TEST(blocks)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 1, 2, 3);
	uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 32, 2, 3);
	uint32_t b = build_spatial(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 1, 5, 2, 3);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 37, 2, 3);

	build_op(graph, "make_a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "make_b", in, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "cat", a, b, NPUMEM_NONE, out)->attrs.axis = 1;
	join(graph, NPUPLAN_NC32HW32, 0);
	assert_joined(graph, a, out, 0, 192, 192);
	assert_joined(graph, b, out, 192, 192, 192);
}

/* Rows of a part that itself is some channels of each pixel: no one distance. */
TEST(copied_nested)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("g");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 2, 1, 3, 2);
	uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 2, 1, 3, 2);
	uint32_t b = build_spatial(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 2, 1, 3, 2);
	uint32_t rows = build_spatial(graph, "rows", NPUMEM_TENSOR_INTERMEDIATE, 2, 2, 3, 2);
	uint32_t c = build_spatial(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 2, 2, 3, 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 2, 2, 3, 3);

	build_op(graph, "make_a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "make_b", in, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "make_c", in, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "cat", a, b, NPUMEM_NONE, rows)->attrs.axis = 1;
	build_op(graph, "cat", rows, c, NPUMEM_NONE, out)->attrs.axis = 3;
	join(graph, NPUPLAN_NHWC, 0);
	assert_said(graph, 3, 0, NPUPLAN_JOIN_NESTED);
	assert_said(graph, 3, 1, NPUPLAN_JOIN_NESTED);
	assert_said(graph, 4, 0, NPUPLAN_JOINED);
	assert_int_equal(steps_of(graph, 3), 1);
	assert_int_equal(steps_of(graph, 4), 0);
}

TEST(copied_in_flow)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 1, 2, 3);
	uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 2, 3);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 2, 2, 3);

	build_op(graph, "make_a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "cat", a, a, NPUMEM_NONE, out)->attrs.axis = 1;
	/* A block without steps behind it, which begins where the first one ends. */
	assert_int_equal(npuplan_graph_add_block(graph), 1);
	assert_int_equal(npuplan_graph_add_edge(graph, 0, 1, NULL, 0), 0);
	assert_int_equal(npuplan_graph_add_edge(graph, 1, NPUMEM_NONE, NULL, 0), 1);
	join(graph, NPUPLAN_NHWC, 0);
	assert_said(graph, 1, 0, NPUPLAN_JOIN_FLOW);
	assert_int_equal(steps_of(graph, 1), 1);
	assert_int_equal(graph->blocks[1].first_step, 2);
	npuplan_plan_free(build_plan_of(graph, NULL));
}

TEST(texts)
{
	for (uint32_t i = 0; i < NPUPLAN_JOIN_COUNT; i++)
		assert_non_null(npuplan_join_text(i));
	assert_null(npuplan_join_text(NPUPLAN_JOIN_COUNT));
}

TEST(refused)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	struct npuplan_tiling tiling = { .concat = 3 };
	struct npuplan_error error;

	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -EINVAL);
	assert_string_equal(error.text, "concats: there is no way 3 to do them");
	tiling = (struct npuplan_tiling){ .reserved = { 1 } };
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -E2BIG);
}

/* What is reported of a joined concat: no step, and nothing that moves. */
TEST(report)
{
	struct net net = make_net();
	AUTO_GRAPH struct npuplan_graph *graph = net.graph;
	struct npuplan_tile_report *reports;

	graph->tensors[net.b].kind = NPUMEM_TENSOR_OUTPUT;
	join(graph, NPUPLAN_NHWC, 0);
	assert_int_equal(npuplan_tiling_report(graph, &reports, NULL), 0);
	assert_int_equal(reports[net.cat].steps, 1);
	assert_int_equal(reports[net.cat].inputs, 12);
	assert_int_equal(reports[net.cat].outputs, 12);
	assert_int_equal(reports[net.cat].onchip, 24);
	assert_int_equal(reports[0].outputs, 24);
	assert_int_equal(reports[0].steps, 1);
	free(reports);
	npuplan_graph_untile(graph);
	graph->tensors[net.b].kind = NPUMEM_TENSOR_INTERMEDIATE;
	join(graph, NPUPLAN_NHWC, 0);
	assert_int_equal(npuplan_tiling_report(graph, &reports, NULL), 0);
	assert_int_equal(reports[net.cat].steps, 0);
	assert_int_equal(reports[net.cat].inputs + reports[net.cat].outputs, 0);
	free(reports);
}

/* Each operator's rows are its own still, though others write the same tensor. */
TEST(tile_scheduled)
{
	const struct npuplan_options options = { .planner = "tile-scheduled" };
	uint64_t arenas[2];

	for (uint32_t concat = NPUPLAN_CONCAT_COPY; concat <= NPUPLAN_CONCAT_JOIN; concat++) {
		AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
		uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 1, 16, 4);
		uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 16, 4);
		uint32_t b = build_spatial(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 1, 1, 16, 4);
		uint32_t cat = build_spatial(graph, "cat", NPUMEM_TENSOR_INTERMEDIATE, 1, 2, 16, 4);
		uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 2, 16, 4);
		const struct npuplan_tiling tiling = { .rows = 1, .concat = concat };
		AUTO_PLAN struct npuplan_plan *plan = NULL;

		graph->tensors[in].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
		graph->tensors[out].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
		build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, a);
		build_op(graph, "abs", in, NPUMEM_NONE, NPUMEM_NONE, b);
		build_op(graph, "cat", a, b, NPUMEM_NONE, cat)->attrs.axis = 1;
		build_op(graph, "relu", cat, NPUMEM_NONE, NPUMEM_NONE, out);
		assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
		plan = build_plan_of(graph, &options);
		arenas[concat] = plan->info.arena_size;
	}
	/* A row of both. */
	assert_int_equal(arenas[NPUPLAN_CONCAT_JOIN], 8);
	assert_true(arenas[NPUPLAN_CONCAT_COPY] >= arenas[NPUPLAN_CONCAT_JOIN]);
}
