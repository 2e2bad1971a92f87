// SPDX-License-Identifier: MIT
/* libnpumem: graph builder, judged by the kernel's own reader. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npumem.h"
#include "verify/verify.h"
#include "unit.h"

static struct npumem_error error;

static void assert_error(int64_t err, int expected, const char *text)
{
	assert_int_equal(err, expected);
	assert_int_equal(error.code, expected);
	assert_string_equal(error.text, text);
}

static int setup(void **state)
{
	memset(&error, 0, sizeof(error));
	*state = npumem_builder_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	npumem_builder_free(*state);
	npumem_builder_free(NULL);
	return 0;
}

static uint32_t add_tensor(struct npumem_builder *b, const char *name, uint64_t size, uint32_t kind)
{
	const struct npumem_tensor_args args = {
		.name = name, .size = size, .kind = kind, .align = 16
	};
	const struct npumem_region whole = npumem_region_whole(size);
	int64_t tensor = npumem_builder_add_tensor(b, &args, &error);

	assert_true(tensor >= 0);
	/* Tile and tensor have the same number. */
	assert_int_equal(npumem_builder_add_tile(b, tensor, &whole, &error), tensor);
	return tensor;
}

/* in -> step "double" -> out; the model's text beside it. */
static void build(struct npumem_builder *b)
{
	const struct npumem_access accesses[] = {
		{ 0, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
		{ 1, NPUMEM_ACCESS_WRITE, NPUMEM_NONE, 0 },
	};

	assert_int_equal(add_tensor(b, "in", 100, NPUMEM_TENSOR_INPUT), 0);
	assert_int_equal(add_tensor(b, NULL, 200, NPUMEM_TENSOR_OUTPUT), 1);
	assert_int_equal(npumem_builder_add_step(b, "double", NPUMEM_STEP_STAGED, 42, accesses, 2,
						 &error),
			 0);
	assert_int_equal(npumem_builder_set_model(b, "{}", 2, &error), 0);
}

TEST_WITH(accepted_by_verifier, setup, teardown)
{
	struct npumem_verdict verdict;
	struct npuv_graph *graph;
	size_t size;
	void *blob;

	build(*state);
	assert_int_equal(npumem_builder_finish(*state, &blob, &size, &error), 0);
	assert_int_equal(
		npuv_graph_create(blob, size, &npuv_default_limits, NULL, &verdict, &graph), 0);
	assert_int_equal(graph->tensors.count, 2);
	assert_int_equal(graph->tiles.count, 2);
	assert_int_equal(graph->accesses.count, 2);
	assert_int_equal(graph->steps.count, 1);
	assert_int_equal(graph->blocks.count, 1);
	assert_string_equal(npuv_name(graph, npuv_tensor(graph, 0)->name), "in");
	assert_string_equal(npuv_name(graph, npuv_tensor(graph, 1)->name), "");
	assert_int_equal(npuv_tensor(graph, 0)->align, 16);
	assert_int_equal(npuv_tensor(graph, 0)->alias_of, NPUMEM_NONE);
	assert_string_equal(npuv_name(graph, npuv_step(graph, 0)->name), "double");
	assert_int_equal(npuv_step(graph, 0)->cookie, 42);
	assert_int_equal(npuv_step(graph, 0)->flags, NPUMEM_STEP_STAGED);
	assert_int_equal(npuv_step(graph, 0)->access_count, 2);
	assert_int_equal(npuv_block(graph, 0)->step_count, 1);
	npuv_graph_destroy(graph);
	free(blob);
}

TEST_WITH(same_bytes, setup, teardown)
{
	struct npumem_builder *other = npumem_builder_new();
	size_t size[3];
	void *blob[3];

	build(*state);
	build(other);
	assert_int_equal(npumem_builder_finish(*state, &blob[0], &size[0], &error), 0);
	assert_int_equal(npumem_builder_finish(*state, &blob[1], &size[1], &error), 0);
	assert_int_equal(npumem_builder_finish(other, &blob[2], &size[2], &error), 0);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(size[i], size[0]);
		assert_memory_equal(blob[i], blob[0], size[0]);
	}
	for (int i = 0; i < 3; i++)
		free(blob[i]);
	npumem_builder_free(other);
}

static const struct npumem_blob_section *section(const void *blob, uint32_t kind)
{
	const struct npumem_blob_header *header = blob;
	const struct npumem_blob_section *table = (const void *)(header + 1);

	for (uint32_t i = 0; i < header->section_count; i++)
		if (table[i].kind == kind)
			return &table[i];
	return NULL;
}

/* What is none is absent; what is there lies where the table says. */
TEST_WITH(sections, setup, teardown)
{
	const struct npumem_blob_section *model;
	size_t size;
	void *blob;

	build(*state);
	assert_int_equal(npumem_builder_finish(*state, &blob, &size, &error), 0);
	assert_null(section(blob, NPUMEM_GRAPH_SECTION_EDGES));
	assert_null(section(blob, NPUMEM_GRAPH_SECTION_CARRIES));
	model = section(blob, NPUMEM_GRAPH_SECTION_MODEL);
	assert_non_null(model);
	assert_int_equal(model->count, 2);
	assert_int_equal(model->offset % 8, 0);
	assert_memory_equal((const char *)blob + model->offset, "{}", 2);
	free(blob);

	assert_int_equal(npumem_builder_set_model(*state, NULL, 0, &error), 0);
	assert_int_equal(npumem_builder_finish(*state, &blob, &size, &error), 0);
	assert_null(section(blob, NPUMEM_GRAPH_SECTION_MODEL));
	free(blob);
}

/* A loop: block 0 -> block 1 -> block 1, its value carried; exit. */
TEST_WITH(blocks_and_edges, setup, teardown)
{
	const struct npumem_access first[] = {
		{ 0, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
		{ 1, NPUMEM_ACCESS_WRITE, NPUMEM_NONE, 0 },
	};
	const struct npumem_access second[] = {
		{ 1, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
		{ 2, NPUMEM_ACCESS_WRITE, NPUMEM_NONE, 0 },
	};
	const struct npumem_carry carry = { .from = 2, .to = 1 };
	struct npumem_builder *b = *state;
	const struct npumem_block *blocks;
	const struct npumem_edge *edges;
	const struct npumem_carry *carries;
	size_t size;
	void *blob;

	add_tensor(b, "a", 8, NPUMEM_TENSOR_INPUT);
	add_tensor(b, "b", 8, NPUMEM_TENSOR_INTERMEDIATE);
	add_tensor(b, "c", 8, NPUMEM_TENSOR_OUTPUT);
	assert_int_equal(npumem_builder_add_step(b, NULL, 0, 0, first, 2, &error), 0);
	assert_int_equal(npumem_builder_add_block(b, "body", &error), 1);
	assert_int_equal(npumem_builder_add_step(b, NULL, 0, 0, second, 2, &error), 1);
	assert_int_equal(npumem_builder_add_edge(b, 0, 1, NULL, 0, &error), 0);
	assert_int_equal(npumem_builder_add_edge(b, 1, 1, &carry, 1, &error), 1);
	assert_int_equal(npumem_builder_add_edge(b, 1, NPUMEM_NONE, NULL, 0, &error), 2);
	assert_int_equal(npumem_builder_finish(b, &blob, &size, &error), 0);

	blocks = (const void *)((const char *)blob +
				section(blob, NPUMEM_GRAPH_SECTION_BLOCKS)->offset);
	assert_int_equal(section(blob, NPUMEM_GRAPH_SECTION_BLOCKS)->count, 2);
	assert_int_equal(blocks[0].first_step, 0);
	assert_int_equal(blocks[0].step_count, 1);
	assert_int_equal(blocks[0].name, NPUMEM_NONE);
	assert_int_equal(blocks[1].first_step, 1);
	assert_int_equal(blocks[1].step_count, 1);
	assert_int_not_equal(blocks[1].name, NPUMEM_NONE);
	edges = (const void *)((const char *)blob +
			       section(blob, NPUMEM_GRAPH_SECTION_EDGES)->offset);
	assert_int_equal(section(blob, NPUMEM_GRAPH_SECTION_EDGES)->count, 3);
	assert_int_equal(edges[1].first_carry, 0);
	assert_int_equal(edges[1].carry_count, 1);
	assert_int_equal(edges[2].first_carry, 1);
	assert_int_equal(edges[2].to, NPUMEM_NONE);
	carries = (const void *)((const char *)blob +
				 section(blob, NPUMEM_GRAPH_SECTION_CARRIES)->offset);
	assert_int_equal(carries[0].from, 2);
	assert_int_equal(carries[0].to, 1);
	free(blob);
}

TEST_WITH(alias, setup, teardown)
{
	struct npumem_tensor_args args = { .size = 8, .alias_of = 5 };
	const struct npumem_tensor *tensors;
	struct npumem_builder *b = *state;
	size_t size;
	void *blob;

	/* Without the flag the field means nothing. */
	build(b);
	assert_int_equal(npumem_builder_add_tensor(b, &args, &error), 2);
	args.flags = NPUMEM_TENSOR_FLAG_ALIAS;
	assert_error(npumem_builder_add_tensor(b, &args, &error), -EINVAL,
		     "tensor 3 is an alias of tensor 5, which has not been added");
	args.alias_of = 0;
	args.alias_offset = 4;
	assert_int_equal(npumem_builder_add_tensor(b, &args, &error), 3);
	assert_int_equal(npumem_builder_finish(b, &blob, &size, &error), 0);
	tensors = (const void *)((const char *)blob +
				 section(blob, NPUMEM_GRAPH_SECTION_TENSORS)->offset);
	assert_int_equal(tensors[2].alias_of, NPUMEM_NONE);
	assert_int_equal(tensors[2].align, 1);
	assert_int_equal(tensors[3].alias_of, 0);
	assert_int_equal(tensors[3].alias_offset, 4);
	free(blob);
}

TEST_WITH(rejections, setup, teardown)
{
	const struct npumem_access access = { 1, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 };
	const struct npumem_region whole = npumem_region_whole(8);
	const struct npumem_carry carry = { .from = 0, .to = 1 };
	struct npumem_builder *b = *state;
	size_t size;
	void *blob;

	assert_error(npumem_builder_finish(b, &blob, &size, &error), -EINVAL,
		     "the graph has no step");
	assert_error(npumem_builder_add_tile(b, 0, &whole, &error), -EINVAL,
		     "tile 0 is of tensor 0, which has not been added");
	add_tensor(b, "a", 8, NPUMEM_TENSOR_INPUT);
	assert_error(npumem_builder_add_step(b, NULL, 0, 0, &access, 1, &error), -EINVAL,
		     "access 0 of step 0 is of tile 1, which has not been added");
	assert_error(npumem_builder_add_step(b, NULL, 0, 0, &access, 0, &error), -EINVAL,
		     "step 0 has no accesses");
	assert_error(npumem_builder_add_edge(b, 0, 1, &carry, 1, &error), -EINVAL,
		     "carry 0 of edge 0 is from tensor 0 to tensor 1, of 1 added");
	add_tensor(b, "b", 8, NPUMEM_TENSOR_OUTPUT);
	assert_int_equal(npumem_builder_add_step(b, NULL, 0, 0, &access, 1, &error), 0);
	assert_int_equal(npumem_builder_add_edge(b, 0, 1, NULL, 0, &error), 0);
	assert_error(npumem_builder_finish(b, &blob, &size, &error), -EINVAL,
		     "edge 0 is from block 0 to block 1, of 1 added");

	assert_error(npumem_builder_add_tensor(b, NULL, &error), -EINVAL,
		     "npumem_builder_add_tensor: NULL argument");
	assert_error(npumem_builder_add_tile(b, 0, NULL, &error), -EINVAL,
		     "npumem_builder_add_tile: NULL argument");
	assert_error(npumem_builder_add_block(NULL, NULL, &error), -EINVAL,
		     "npumem_builder_add_block: NULL argument");
	assert_error(npumem_builder_add_step(b, NULL, 0, 0, NULL, 1, &error), -EINVAL,
		     "npumem_builder_add_step: NULL argument");
	assert_error(npumem_builder_add_edge(b, 0, 0, NULL, 1, &error), -EINVAL,
		     "npumem_builder_add_edge: NULL argument");
	assert_error(npumem_builder_set_model(b, NULL, 1, &error), -EINVAL,
		     "npumem_builder_set_model: NULL argument");
	assert_error(npumem_builder_finish(b, NULL, &size, &error), -EINVAL,
		     "npumem_builder_finish: NULL argument");
}
