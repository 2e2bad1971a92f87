// SPDX-License-Identifier: MIT
/* Cells: which bytes share a writer and readers. */
#include "test_verify.h"

#include <stdlib.h>

static struct npuv_graph *start(struct build *b)
{
	struct npuv_graph *graph = NULL;
	struct npumem_verdict verdict;
	struct build_blob blob;

	if (!b->blocks.count)
		build_finish(b);
	blob = build_graph(b);
	build_free(b);
	assert_int_equal(npuv_graph_create(blob.data, blob.size, &npuv_default_limits, NULL,
					   &verdict, &graph),
			 0);
	return graph;
}

static void stop(struct npuv_graph *graph)
{
	void *blob = (void *)(uintptr_t)graph->blob;

	npuv_graph_destroy(graph);
	free(blob);
}

/* The cell of a tensor's byte that a writer made. */
static const struct npuv_cell *cell_of(const struct npuv_graph *g, uint32_t tensor, uint64_t byte,
				       uint32_t writer)
{
	const struct npuv_cell *found = NULL;
	uint32_t i, k;

	for (i = 0; i < g->cell_count; i++) {
		const struct npuv_cell *c = &g->cells[i];

		if (c->tensor != tensor || c->writer != writer)
			continue;
		for (k = 0; k < c->segment_count; k++) {
			const struct npuv_segment *s = &g->segments[c->first_segment + k];

			if (byte - s->first < s->length) {
				assert_null(found);
				found = c;
			}
		}
	}
	assert_non_null(found);
	return found;
}

/* The cells that an access reads or writes are one run. */
static void assert_run(const uint32_t *start, const struct npuv_run *runs, uint32_t access,
		       uint32_t first, uint32_t count)
{
	assert_int_equal(start[access + 1] - start[access], 1);
	assert_int_equal(runs[start[access]].first, first);
	assert_int_equal(runs[start[access]].count, count);
}

TEST(chain)
{
	struct npuv_graph *g;
	struct build b;

	chain(&b);
	g = start(&b);
	assert_int_equal(g->cell_count, 3);
	assert_int_equal(cell_of(g, X, 0, NPUMEM_NONE)->reads, 1);
	assert_int_equal(cell_of(g, A, 0, 1)->reads, 1);
	assert_int_equal(cell_of(g, A, 0, 1)->survives, 0);
	assert_int_equal(cell_of(g, Y, 0, 3)->reads, 0);
	assert_int_equal(cell_of(g, Y, 0, 3)->survives, NPUV_SURVIVES_OUTPUT);
	stop(g);
}

/* One write, two reads that overlap: three cells, one of two segments. */
TEST(overlap)
{
	const struct npuv_cell *outer, *middle;
	struct npuv_graph *g;
	struct build b;

	build_init(&b);
	build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 12, NULL);
	build_step(&b, 0, NULL);
	build_access(&b, build_whole(&b, 0), NPUMEM_ACCESS_WRITE);
	build_step(&b, 0, NULL);
	build_access(&b, build_whole(&b, 0), NPUMEM_ACCESS_READ);
	build_access(&b, build_tile(&b, 0, build_strided(2, 2, 2, 5)), NPUMEM_ACCESS_READ);
	g = start(&b);
	assert_int_equal(g->cell_count, 2);
	outer = cell_of(g, 0, 0, 0);
	middle = cell_of(g, 0, 2, 0);
	assert_ptr_equal(cell_of(g, 0, 8, 0), middle);
	assert_ptr_equal(cell_of(g, 0, 4, 0), outer);
	assert_ptr_equal(cell_of(g, 0, 11, 0), outer);
	assert_int_equal(outer->reads, 1);
	assert_int_equal(outer->segment_count, 3);
	assert_int_equal(middle->reads, 2);
	assert_int_equal(middle->segment_count, 2);
	assert_run(g->read_start, g->read_runs, 1, 0, 2);
	assert_run(g->read_start, g->read_runs, 2, (uint32_t)(middle - g->cells), 1);
	assert_run(g->write_start, g->write_runs, 0, 0, 2);
	stop(g);
}

/* Chunks that follow each other in the tensor are one segment of their cell. */
TEST(neighbours)
{
	struct npumem_region region = build_strided(0, 2, 2, 6);
	const struct npuv_cell *cell;
	struct npuv_graph *g;
	struct build b;

	/* [0, 2), [6, 8), [8, 10), [14, 16) */
	region.count[1] = 2;
	region.stride[1] = 8;
	build_init(&b);
	build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 16, NULL);
	build_step(&b, 0, NULL);
	build_access(&b, build_whole(&b, 0), NPUMEM_ACCESS_WRITE);
	build_step(&b, 0, NULL);
	build_access(&b, build_tile(&b, 0, region), NPUMEM_ACCESS_READ);
	g = start(&b);
	assert_int_equal(g->cell_count, 2);
	cell = cell_of(g, 0, 0, 0);
	assert_int_equal(cell->segment_count, 3);
	assert_int_equal(g->segments[cell->first_segment + 1].first, 6);
	assert_int_equal(g->segments[cell->first_segment + 1].length, 4);
	stop(g);
}

/* Updates make versions: the same bytes, other cells. */
TEST(versions)
{
	const struct npuv_cell *old, *new;
	struct npuv_graph *g;
	struct build b;

	build_init(&b);
	build_tensor(&b, NPUMEM_TENSOR_STATE, 8, NULL);
	build_step(&b, 0, NULL);
	build_access(&b, build_tile(&b, 0, build_region(0, 4)), NPUMEM_ACCESS_UPDATE);
	build_step(&b, 0, NULL);
	build_access(&b, build_tile(&b, 0, build_region(0, 4)), NPUMEM_ACCESS_WRITE);
	g = start(&b);
	assert_int_equal(g->cell_count, 4);
	old = cell_of(g, 0, 0, NPUMEM_NONE);
	new = cell_of(g, 0, 0, 0);
	assert_int_equal(old->first_segment, new->first_segment);
	assert_int_equal(old->reads, 1);
	assert_int_equal(old->survives, 0);
	assert_int_equal(new->reads, 0);
	assert_int_equal(cell_of(g, 0, 0, 1)->survives, NPUV_SURVIVES_STATE);
	/* The half that no step touches must survive as it is. */
	assert_int_equal(cell_of(g, 0, 4, NPUMEM_NONE)->survives, NPUV_SURVIVES_STATE);
	assert_int_equal(cell_of(g, 0, 4, NPUMEM_NONE)->reads, 0);
	stop(g);
}

/* Bytes of an input that nobody reads are a cell of no use. */
TEST(unread_input)
{
	struct npuv_graph *g;
	struct build b;

	chain(&b);
	build_tile_at(&b, X)->region.length = 3;
	g = start(&b);
	assert_int_equal(cell_of(g, X, 0, NPUMEM_NONE)->reads, 1);
	assert_int_equal(cell_of(g, X, 3, NPUMEM_NONE)->reads, 0);
	stop(g);
}

/*
 * Tiles that are written one by one in any order, and read all together by many
 * accesses: a run an access, whatever the order, and one for the step of them all.
 */
TEST(runs)
{
	const uint32_t cells = 128, reads = 200;
	struct npuv_graph *g;
	struct build b;
	uint32_t i;

	build_init(&b);
	build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, cells, NULL);
	for (i = 0; i < cells; i++) {
		build_step(&b, 0, NULL);
		/* 37 is prime to their number: each once. */
		build_access(&b, build_tile(&b, 0, build_region(i * 37 % cells, 1)),
			     NPUMEM_ACCESS_WRITE);
	}
	build_whole(&b, 0);
	build_step(&b, 0, NULL);
	for (i = 0; i < reads; i++)
		build_access(&b, cells, NPUMEM_ACCESS_READ);
	build_access(&b, build_tile(&b, 0, build_region(37, 1)), NPUMEM_ACCESS_READ);
	/* What is read once is among them, too; and a run ends at a cell that is not read. */
	build_access(&b, build_whole(&b, build_tensor(&b, NPUMEM_TENSOR_INPUT, 1, NULL)),
		     NPUMEM_ACCESS_READ);
	build_step(&b, 0, NULL);
	build_access(&b, build_tile(&b, 0, build_strided(0, 1, 2, 2 * 37)), NPUMEM_ACCESS_READ);
	g = start(&b);
	assert_int_equal(g->cell_count, cells + 1);
	for (i = 0; i < reads; i++)
		assert_run(g->read_start, g->read_runs, cells + i, 0, cells);
	assert_run(g->read_start, g->read_runs, cells + reads, 1, 1);
	assert_int_equal(g->merged_start[cells], 0);
	assert_int_equal(g->merged_start[cells + 1], 4);
	assert_int_equal(g->merged_start[cells + 2], 4);
	assert_int_equal(g->merged[0].first, 0);
	assert_int_equal(g->merged[0].count, 1);
	assert_int_equal(g->merged[0].times, reads);
	assert_int_equal(g->merged[1].first, 1);
	assert_int_equal(g->merged[1].count, 1);
	assert_int_equal(g->merged[1].times, reads + 1);
	assert_int_equal(g->merged[2].first, 2);
	assert_int_equal(g->merged[2].count, cells - 2);
	assert_int_equal(g->merged[2].times, reads);
	assert_int_equal(g->merged[3].first, cells);
	assert_int_equal(g->merged[3].count, 1);
	assert_int_equal(g->merged[3].times, 1);
	/* Cells 0 and 2. */
	i = g->read_start[cells + reads + 2];
	assert_int_equal(g->read_start[cells + reads + 3] - i, 2);
	assert_int_equal(g->read_runs[i].first, 0);
	assert_int_equal(g->read_runs[i].count, 1);
	assert_int_equal(g->read_runs[i + 1].first, 2);
	assert_int_equal(g->read_runs[i + 1].count, 1);
	stop(g);
}
