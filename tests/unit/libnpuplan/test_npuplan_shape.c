// SPDX-License-Identifier: MIT
/* Rows and channels as bytes, and pieces of tensors placed apart. */
#include "npuplan_build.h"

#include <errno.h>

#include "output/piece.h"
#include "random.h"
#include "rows.h"

/* N,H,W,C = 1,4,3,2 as the source has it, with one-byte elements. */
static struct npuplan_graph *small(enum npuplan_layout source, enum npuplan_layout layout)
{
	struct npuplan_graph *graph = npuplan_graph_new("small");

	graph->source_layout = source;
	graph->layout = layout;
	if (source == NPUPLAN_NHWC)
		build_spatial(graph, "t", NPUMEM_TENSOR_INPUT, 1, 4, 3, 2);
	else
		build_spatial(graph, "t", NPUMEM_TENSOR_INPUT, 1, 2, 4, 3);
	return graph;
}

static void assert_region(struct npumem_region region, uint64_t offset, uint64_t length,
			  uint32_t count0, uint64_t stride0, uint32_t count1, uint64_t stride1)
{
	assert_int_equal(region.offset, offset);
	assert_int_equal(region.length, length);
	assert_int_equal(region.count[0], count0);
	assert_int_equal(region.stride[0], stride0);
	assert_int_equal(region.count[1], count1);
	assert_int_equal(region.stride[1], stride1);
	assert_int_equal(region.count[2], 1);
	assert_int_equal(region.stride[2], 0);
	assert_int_equal(region.pad, 0);
}

/* A row of NHWC is W x C = 6 bytes; rows follow one another. */
TEST(rows_nhwc)
{
	static const enum npuplan_layout sources[] = { NPUPLAN_NHWC, NPUPLAN_NCHW };

	for (int i = 0; i < 2; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = small(sources[i], NPUPLAN_NHWC);
		struct npuplan_spatial s;

		assert_true(npuplan_spatial(graph, 0, &s));
		assert_int_equal(s.rows, 4);
		assert_int_equal(s.row, 3);
		assert_int_equal(s.channels, 2);
		assert_region(rows_region(&s, (struct npuplan_rows){ 1, 2 }), 6, 12, 1, 0, 1, 0);
	}
}

/* In NCHW a row is W = 3 bytes in each of 2 planes of 12. */
TEST(rows_nchw)
{
	AUTO_GRAPH struct npuplan_graph *graph = small(NPUPLAN_NCHW, NPUPLAN_NCHW);
	struct npuplan_spatial s;

	assert_true(npuplan_spatial(graph, 0, &s));
	assert_region(rows_region(&s, (struct npuplan_rows){ 1, 2 }), 3, 6, 2, 12, 1, 0);
	/* All rows are all bytes, in one run. */
	assert_region(rows_region(&s, (struct npuplan_rows){ 0, 4 }), 0, 24, 1, 0, 1, 0);
}

/* Two batches of 24 bytes, elements of two bytes. */
TEST(rows_batches)
{
	struct npuplan_spatial s = { .batch = 2, .rows = 4, .row = 3, .channels = 2, .elem = 2 };

	s.layout = NPUPLAN_NHWC;
	assert_region(rows_region(&s, (struct npuplan_rows){ 1, 2 }), 12, 24, 2, 48, 1, 0);
	s.layout = NPUPLAN_NCHW;
	assert_region(rows_region(&s, (struct npuplan_rows){ 1, 2 }), 6, 12, 2, 24, 2, 48);
	s.channels = 1;
	assert_region(rows_region(&s, (struct npuplan_rows){ 1, 2 }), 6, 12, 2, 24, 1, 0);
}

/* Channels in blocks of 32, the last one padded: 40 channels take two. */
TEST(rows_blocks)
{
	struct npuplan_spatial s = { .batch = 2, .rows = 4, .row = 3, .channels = 40, .elem = 2 };
	struct npuplan_rows rows = { 1, 2 }, back;
	struct npumem_region region;

	s.layout = NPUPLAN_NC32HW32;
	region = rows_region(&s, rows);
	assert_region(region, 192, 384, 2, 768, 2, 1536);
	assert_true(region_rows(&s, &region, &back));
	assert_int_equal(back.first, 1);
	assert_int_equal(back.count, 2);
	assert_int_equal(npuplan_spatial_bytes(&s), 2 * 2 * 768);
	/* One block. */
	s.channels = 7;
	s.batch = 1;
	assert_region(rows_region(&s, rows), 192, 384, 1, 0, 1, 0);
	/* One place: as it is. */
	s.rows = s.row = 1;
	assert_int_equal(npuplan_spatial_bytes(&s), 14);
}

TEST(set_layout)
{
	AUTO_GRAPH struct npuplan_graph *graph = small(NPUPLAN_NCHW, NPUPLAN_NHWC);
	struct npuplan_error error;
	struct npuplan_spatial s;

	build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, 1, 2, 4, 3);
	build_tensor(graph, "flat", NPUMEM_TENSOR_INTERMEDIATE, 24);
	assert_int_equal(npuplan_graph_set_layout(graph, NPUPLAN_NC32HW32, &error), 0);
	assert_int_equal(graph->layout, NPUPLAN_NC32HW32);
	assert_int_equal(graph->tensors[0].size, 4 * 3 * 32);
	assert_true(npuplan_spatial(graph, 0, &s));
	assert_int_equal(graph->tensors[1].size, 24);
	assert_int_equal(graph->tensors[2].size, 24);
	/* And back. */
	assert_int_equal(npuplan_graph_set_layout(graph, NPUPLAN_NCHW, &error), 0);
	assert_int_equal(graph->tensors[0].size, 24);

	assert_int_equal(npuplan_graph_set_layout(graph, 3, &error), -EINVAL);
	ASSERT_TEXT(error, "there is no layout 3");
	graph->tensors[2].flags |= NPUMEM_TENSOR_FLAG_ALIAS;
	assert_int_equal(npuplan_graph_set_layout(graph, NPUPLAN_NC32HW32, &error), -EOPNOTSUPP);
	ASSERT_TEXT(error, "flat: a range of another tensor has no NC/32HWC32");
	graph->tensors[2].flags = 0;
	build_step(graph, 0, 0, NPUMEM_NONE, 2);
	assert_int_equal(npuplan_graph_set_layout(graph, NPUPLAN_NHWC, &error), -EINVAL);
	ASSERT_TEXT(error, "graph small is tiled already");
}

/* Rank 5: rows are the depth, a row is H x W x C. */
TEST(rows_depth)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("depth");
	struct npuplan_spatial s;
	uint32_t t = build_tensor(graph, "t", NPUMEM_TENSOR_INPUT, 2 * 3 * 4 * 5);
	static const int64_t shape[] = { 1, 2, 3, 4, 5 };

	graph->source_layout = NPUPLAN_NCHW;
	graph->tensors[t].dim_count = 5;
	graph->tensors[t].elem_size = 1;
	memcpy(graph->tensors[t].shape, shape, sizeof(shape));
	assert_true(npuplan_spatial(graph, t, &s));
	assert_int_equal(s.rows, 3);
	assert_int_equal(s.row, 20);
	assert_region(rows_region(&s, (struct npuplan_rows){ 2, 1 }), 80, 40, 1, 0, 1, 0);
}

TEST(not_spatial)
{
	AUTO_GRAPH struct npuplan_graph *graph = small(NPUPLAN_NHWC, NPUPLAN_NHWC);
	struct npuplan_tensor *tensor = &graph->tensors[0];
	struct npuplan_spatial s;

	tensor->dim_count = 3;
	assert_false(npuplan_spatial(graph, 0, &s));
	tensor->dim_count = 4;
	tensor->elem_size = 0;
	assert_false(npuplan_spatial(graph, 0, &s));
	tensor->elem_size = 2;
	assert_false(npuplan_spatial(graph, 0, &s)); /* 48 bytes, not 24 */
	tensor->elem_size = 1;
	tensor->shape[3] = -2;
	assert_false(npuplan_spatial(graph, 0, &s));
	tensor->shape[3] = 2;
	assert_true(npuplan_spatial(graph, 0, &s));
}

TEST(region_to_rows)
{
	for (int layout = 0; layout < 2; layout++)
		for (int64_t batch = 1; batch < 3; batch++)
			for (int64_t first = 0; first < 5; first++)
				for (int64_t count = 1; count <= 5 - first; count++) {
					struct npuplan_spatial s = { batch, 5, 3, 2, 4, layout };
					struct npumem_region region = rows_region(
						&s, (struct npuplan_rows){ first, count });
					struct npuplan_rows rows;

					assert_true(region_rows(&s, &region, &rows));
					assert_int_equal(rows.first, first);
					assert_int_equal(rows.count, count);
					region.offset++;
					assert_false(region_rows(&s, &region, &rows));
				}
}

/* First byte of an element, as the layouts are defined. */
static uint64_t address(const struct npuplan_spatial *s, int64_t n, int64_t c, int64_t h, int64_t w)
{
	int64_t blocks = (s->channels + 31) / 32, index;

	switch (s->layout) {
	case NPUPLAN_NHWC:
		index = ((n * s->rows + h) * s->row + w) * s->channels + c;
		break;
	case NPUPLAN_NCHW:
		index = ((n * s->channels + c) * s->rows + h) * s->row + w;
		break;
	default:
		index = (((n * blocks + c / 32) * s->rows + h) * s->row + w) * 32 + c % 32;
		break;
	}
	return (uint64_t)(index * s->elem);
}

static void mark_region(const struct npumem_region *region, uint8_t *marks)
{
	for (uint32_t i = 0; i < region->count[2]; i++)
		for (uint32_t k = 0; k < region->count[1]; k++)
			for (uint32_t m = 0; m < region->count[0]; m++)
				for (uint64_t b = 0; b < region->length; b++)
					marks[region->offset + i * region->stride[2] +
					      k * region->stride[1] + m * region->stride[0] + b]++;
}

static bool within(int64_t at, struct npuplan_rows range)
{
	return at >= range.first && at < range.first + range.count;
}

/*
 * Check that a part's region has each byte of its elements once, and no others but the padding of
 * its blocks, and that a part of whole rows is found again from it.
 */
static void check_part(const struct npuplan_spatial *s, const struct npuplan_part *part)
{
	uint64_t size = npuplan_spatial_bytes(s), padding = 0;
	struct npumem_region region = npuplan_part_region(s, part);
	uint8_t *marks = calloc(1, size);
	struct npuplan_part again;

	assert_non_null(marks);
	mark_region(&region, marks);
	for (int64_t i = 0; i < s->batch * s->channels * s->rows * s->row; i++) {
		int64_t w = i % s->row, h = i / s->row % s->rows;
		int64_t c = i / s->row / s->rows % s->channels;
		uint64_t at = address(s, i / s->row / s->rows / s->channels, c, h, w);
		bool inside = within(c, part->channels) && within(h, part->rows) &&
			      (!part->columns.count || within(w, part->columns));

		for (int64_t b = 0; b < s->elem; b++) {
			assert_int_equal(marks[at + b], inside);
			marks[at + b] = 0;
		}
	}
	for (uint64_t i = 0; i < size; i++)
		padding += marks[i];
	if (s->layout != NPUPLAN_NC32HW32)
		assert_int_equal(padding, 0);
	free(marks);
	if (part->columns.count)
		return;
	assert_true(npuplan_region_part(s, &region, &again));
	assert_memory_equal(&again, part, sizeof(again));
}

TEST(parts)
{
	uint64_t random = 20261122;

	print_message("# seed 20261122\n");
	for (int round = 0; round < 2000; round++) {
		struct npuplan_spatial s = {
			.batch = random_range(&random, 1, 2),
			.rows = random_range(&random, 2, 5),
			.row = random_range(&random, 1, 4),
			.channels = random_range(&random, 1, 70),
			.elem = INT64_C(1) << random_range(&random, 0, 2),
			.layout = random_range(&random, 0, 2),
		};
		int64_t granule = npuplan_granule(&s), units = (s.channels + granule - 1) / granule;
		int64_t first = random_range(&random, 0, (uint32_t)units - 1);
		int64_t count = random_range(&random, 1, (uint32_t)(units - first));
		struct npuplan_part part = { 0 };

		part.rows.first = random_range(&random, 0, (uint32_t)s.rows - 1);
		part.rows.count = random_range(&random, 1, (uint32_t)(s.rows - part.rows.first));
		part.channels.first = first * granule;
		part.channels.count = count * granule;
		if (part.channels.first + part.channels.count > s.channels)
			part.channels.count = s.channels - part.channels.first;
		check_part(&s, &part);
		part.columns.first = random_range(&random, 0, (uint32_t)s.row - 1);
		part.columns.count =
			random_range(&random, 1, (uint32_t)(s.row - part.columns.first));
		check_part(&s, &part);
	}
}

static void assert_piece(const struct npuplan_spatial *s, struct npuplan_piece piece)
{
	struct npumem_placement placement = { .tensor = 1, .offset = 64 };
	struct npuplan_piece again;

	assert_int_equal(npuplan_piece_set(s, &piece, &placement), 0);
	assert_true(npuplan_piece_get(s, &placement, &again));
	assert_int_equal(again.rows.first, piece.rows.first);
	assert_int_equal(again.rows.count, piece.rows.count);
	assert_int_equal(again.channels.first, piece.channels.first);
	assert_int_equal(again.channels.count, piece.channels.count);
	assert_int_equal(again.ring, piece.ring);
}

/* Rows 1 and 2 of channel 1 alone: 2 x 3 single bytes, packed in the arena. */
TEST(piece_channels)
{
	struct npuplan_spatial s = { 1, 4, 3, 2, 1, NPUPLAN_NHWC };
	struct npuplan_piece piece = { .rows = { 1, 2 }, .channels = { 1, 1 } };
	struct npumem_placement placement = { 0 };

	assert_int_equal(npuplan_piece_set(&s, &piece, &placement), 0);
	assert_int_equal(placement.region.offset, 7);
	assert_int_equal(placement.region.length, 1);
	assert_int_equal(placement.region.count[0], 3);
	assert_int_equal(placement.region.stride[0], 2);
	assert_int_equal(placement.stride[0], 1);
	assert_int_equal(placement.region.count[2], 2);
	assert_int_equal(placement.region.stride[2], 6);
	assert_int_equal(placement.stride[2], 3);
}

/* A ring of two rows of 6 bytes, 8 apart. */
TEST(piece_ring)
{
	struct npuplan_spatial s = { 1, 4, 3, 2, 1, NPUPLAN_NHWC };
	struct npuplan_piece piece = { { 0, 4 }, { 0, 2 }, 8, 2 };
	struct npumem_placement placement = { 0 };

	assert_int_equal(npuplan_piece_set(&s, &piece, &placement), 0);
	assert_int_equal(placement.region.length, 6);
	assert_int_equal(placement.region.count[2], 4);
	assert_int_equal(placement.region.stride[2], 6);
	assert_int_equal(placement.stride[2], 8);
	assert_int_equal(placement.ring, 2);
}

TEST(piece_round_trip)
{
	for (int layout = 0; layout < 2; layout++)
		for (int64_t width = 1; width < 4; width++)
			for (int64_t rows = 1; rows < 4; rows++)
				for (int64_t channels = 1; channels < 4; channels++) {
					struct npuplan_spatial s = { 1, 4, width, 3, 2, layout };
					struct npuplan_piece piece = {
						.rows = { 4 - rows, rows },
						.channels = { 3 - channels, channels },
					};

					assert_piece(&s, piece);
					if (layout == NPUPLAN_NHWC && rows > 1) {
						piece.row_stride = 64;
						assert_piece(&s, piece);
						piece.ring = 2;
						assert_piece(&s, piece);
					}
				}
}

TEST(piece_refusals)
{
	struct npuplan_spatial s = { 1, 4, 3, 2, 1, NPUPLAN_NHWC };
	struct npumem_placement placement = { 0 };
	struct npuplan_piece good = { { 1, 2 }, { 0, 2 }, 6, 0 };
	struct npuplan_piece piece = good;

	assert_int_equal(npuplan_piece_set(&s, &piece, &placement), 0);
	piece.rows.count = 4;
	assert_int_equal(npuplan_piece_set(&s, &piece, &placement), -EINVAL);
	piece = good;
	piece.channels.first = 1;
	assert_int_equal(npuplan_piece_set(&s, &piece, &placement), -EINVAL);
	piece = good;
	piece.row_stride = 5;
	assert_int_equal(npuplan_piece_set(&s, &piece, &placement), -EINVAL);
	s.layout = NPUPLAN_NCHW;
	assert_int_equal(npuplan_piece_set(&s, &good, &placement), -EOPNOTSUPP);
	s.layout = NPUPLAN_NHWC;
	s.batch = 2;
	assert_int_equal(npuplan_piece_set(&s, &good, &placement), -EOPNOTSUPP);
}

/* Blocks of channels, where there is more than one place; 32 channels of one are no block. */
TEST(granule)
{
	struct npuplan_spatial s = { 1, 1, 1, 32, 1, NPUPLAN_NC32HW32 };

	assert_int_equal(npuplan_granule(&s), 1);
	s.rows = 2;
	assert_int_equal(npuplan_granule(&s), 32);
	s.layout = NPUPLAN_NCHW;
	assert_int_equal(npuplan_granule(&s), 1);
}
