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

static void test_chain(void **state)
{
	struct npuv_graph *g;
	struct build b;

	(void)state;
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
static void test_overlap(void **state)
{
	const struct npuv_cell *outer, *middle;
	struct npuv_graph *g;
	struct build b;

	(void)state;
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
	assert_int_equal(g->read_start[2] - g->read_start[1], 2);
	assert_int_equal(g->read_start[3] - g->read_start[2], 1);
	assert_int_equal(g->write_start[1] - g->write_start[0], 2);
	stop(g);
}

/* Updates make versions: the same bytes, other cells. */
static void test_versions(void **state)
{
	const struct npuv_cell *old, *new;
	struct npuv_graph *g;
	struct build b;

	(void)state;
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
static void test_unread_input(void **state)
{
	struct npuv_graph *g;
	struct build b;

	(void)state;
	chain(&b);
	build_tile_at(&b, X)->region.length = 3;
	g = start(&b);
	assert_int_equal(cell_of(g, X, 0, NPUMEM_NONE)->reads, 1);
	assert_int_equal(cell_of(g, X, 3, NPUMEM_NONE)->reads, 0);
	stop(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_unread_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
