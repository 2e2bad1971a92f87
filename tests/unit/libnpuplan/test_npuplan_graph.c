// SPDX-License-Identifier: MIT
/* The builder and the graph blob. */
#include "npuplan_build.h"

#include <errno.h>

TEST(new_graph)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("name");

	assert_string_equal(graph->name, "name");
	assert_int_equal(graph->block_count, 1);
	assert_int_equal(graph->layout, NPUPLAN_NHWC);
	npuplan_graph_free(NULL);
}

TEST(tensor_refusals)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("g");
	struct npuplan_tensor good = { .size = 8, .align = 4 }, bad;

	assert_int_equal(npuplan_graph_add_tensor(graph, &good), 0);
	assert_string_equal(graph->tensors[0].name, "");
	assert_int_equal(graph->tensors[0].alias_of, NPUMEM_NONE);
#define REFUSED(FIELD, VALUE)                                                     \
	do {                                                                      \
		bad = good;                                                       \
		bad.FIELD = (VALUE);                                              \
		assert_int_equal(npuplan_graph_add_tensor(graph, &bad), -EINVAL); \
	} while (0)
	REFUSED(size, 0);
	REFUSED(align, 3);
	REFUSED(align, 131072);
	REFUSED(kind, NPUMEM_TENSOR_STATE + 1);
	REFUSED(flags, NPUMEM_TENSOR_FLAGS + 1);
	REFUSED(dim_count, NPUPLAN_MAX_DIMS + 1);
#undef REFUSED
	assert_int_equal(graph->tensor_count, 1);
}

TEST(op_refusals)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("g");
	uint32_t none = 1, zero = 0;
	struct npuplan_op op = { .inputs = &zero, .input_count = 1 };

	build_tensor(graph, "t", NPUMEM_TENSOR_INPUT, 1);
	assert_int_equal(npuplan_graph_add_op(graph, &op), 0);
	op.inputs = &none;
	assert_int_equal(npuplan_graph_add_op(graph, &op), -EINVAL);
	op.inputs = &zero;
	op.outputs = &none;
	op.output_count = 1;
	assert_int_equal(npuplan_graph_add_op(graph, &op), -EINVAL);
	op.outputs = &zero;
	op.attrs.spatial = NPUPLAN_MAX_SPATIAL + 1;
	assert_int_equal(npuplan_graph_add_op(graph, &op), -EINVAL);
	assert_int_equal(graph->op_count, 1);
}

TEST(step_refusals)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("g");
	struct npumem_region region = { .length = 4, .count = { 1, 1, 1 } };
	struct npumem_access access = { .tile = 0,
					.mode = NPUMEM_ACCESS_READ,
					.inplace = NPUMEM_NONE };
	struct npuplan_step step = { .op = NPUMEM_NONE };

	build_tensor(graph, "t", NPUMEM_TENSOR_INPUT, 4);
	assert_int_equal(npuplan_graph_add_tile(graph, 1, &region), -EINVAL);
	assert_int_equal(npuplan_graph_add_tile(graph, 0, &region), 0);
	assert_int_equal(npuplan_graph_add_step(graph, &step, &access, 0), -EINVAL);
	assert_int_equal(npuplan_graph_add_step(graph, &step, &access, 1), 0);
	access.tile = 1;
	assert_int_equal(npuplan_graph_add_step(graph, &step, &access, 1), -EINVAL);
	access.tile = 0;
	step.op = 0;
	assert_int_equal(npuplan_graph_add_step(graph, &step, &access, 1), -EINVAL);
	assert_int_equal(graph->step_count, 1);
	assert_int_equal(graph->blocks[0].step_count, 1);
}

TEST(blob_round_trip)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(NPUMEM_STEP_STAGED), *read = NULL;
	struct npuplan_error error;
	void *blob, *again;
	size_t size, again_size;

	graph->tensors[1].align = 64;
	graph->steps[1].cookie = 77;
	assert_int_equal(npuplan_graph_write(graph, &blob, &size, &error), 0);
	assert_int_equal(npuplan_graph_read(blob, size, &read, &error), 0);
	assert_string_equal(read->name, "chain");
	assert_int_equal(read->tensor_count, 4);
	assert_string_equal(read->tensors[1].name, "a");
	assert_int_equal(read->tensors[1].align, 64);
	assert_int_equal(read->tensors[1].size, 10);
	assert_int_equal(read->tensors[3].kind, NPUMEM_TENSOR_OUTPUT);
	assert_int_equal(read->step_count, 3);
	assert_int_equal(read->steps[1].cookie, 77);
	assert_int_equal(read->steps[1].flags, NPUMEM_STEP_STAGED);
	assert_int_equal(read->steps[1].op, NPUMEM_NONE);
	assert_int_equal(read->op_count, 0);
	assert_int_equal(npuplan_graph_write(read, &again, &again_size, &error), 0);
	assert_int_equal(again_size, size);
	assert_memory_equal(again, blob, size);
	free(blob);
	free(again);
}

/* The verifier's sentence reaches the caller. */
TEST(blob_refused)
{
	struct npuplan_graph *graph = build_chain(0), *read = NULL;
	struct npuplan_error error;
	void *blob;
	size_t size;

	assert_int_equal(npuplan_graph_write(graph, &blob, &size, &error), 0);
	assert_int_equal(npuplan_graph_read(blob, size - 8, &read, &error), -EBADMSG);
	ASSERT_TEXT(error, "graph refused: format: total_size");
	((struct npumem_blob_header *)blob)->version++;
	assert_int_equal(npuplan_graph_read(blob, size, &read, &error), -EOPNOTSUPP);
	ASSERT_TEXT(error, "version 2");
	assert_null(read);
	free(blob);
	npuplan_graph_free(graph);
}

/* No prefix of a blob, and no blob with a byte changed, does harm. */
TEST(blob_mutated)
{
	struct npuplan_graph *graph = build_chain(0), *read;
	struct npuplan_error error;
	uint32_t refused = 0, accepted = 0;
	void *blob;
	uint8_t *copy;
	size_t size;

	assert_int_equal(npuplan_graph_write(graph, &blob, &size, &error), 0);
	copy = malloc(size);
	for (size_t i = 0; i < size; i++) {
		memcpy(copy, blob, size);
		assert_int_not_equal(npuplan_graph_read(copy, i, &read, &error), 0);
		copy[i] ^= 0x40;
		if (npuplan_graph_read(copy, size, &read, &error)) {
			assert_true(error.text[0]);
			refused++;
		} else {
			npuplan_graph_free(read);
			accepted++;
		}
	}
	/* Names, cookies and sizes may change; structure may not. */
	assert_true(refused > size / 2 && accepted > 0);
	free(copy);
	free(blob);
	npuplan_graph_free(graph);
}
