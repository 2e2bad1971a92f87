/* SPDX-License-Identifier: MIT */
/*
 * userspace/npumemctl/run/reference.c against an engine in this process: the steps
 * of a plan are carried out in one arena, at the addresses that the kernel's
 * own walk gives, as engine "sim" does. A right plan gives the reference's
 * outputs; a plan spoiled behind the verifier's back does not.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "auto.h"
#include "npumem_mix.h"
#include "npuplan.h"
#include "run/reference.h"
#include "verify/verify.h"
#include "unit.h"

#define KEY 0x1234u

static uint32_t tensor(struct npuplan_graph *graph, const char *name, uint32_t kind, int64_t rows)
{
	struct npuplan_tensor t = {
		.name = (char *)(uintptr_t)name,
		.size = (uint64_t)rows * 5 * 3,
		.align = 1,
		.kind = kind,
		.elem_size = 1,
		.dim_count = 4,
		.shape = { 1, rows, 5, 3 },
		.id = graph->tensor_count,
	};
	int64_t index = npuplan_graph_add_tensor(graph, &t);

	assert_true(index >= 0);
	return (uint32_t)index;
}

static void op(struct npuplan_graph *graph, const char *type, uint32_t *inputs,
	       uint32_t input_count, uint32_t *outputs, uint32_t output_count)
{
	struct npuplan_op o = {
		.name = (char *)(uintptr_t)type,
		.type = (char *)(uintptr_t)type,
		.inputs = inputs,
		.outputs = outputs,
		.input_count = input_count,
		.output_count = output_count,
		.id = graph->op_count,
		.attrs = { .kernel = { 3, 3 },
			   .stride = { 1, 1 },
			   .dilation = { 1, 1 },
			   .pad_begin = { 1, 1 },
			   .pad_end = { 1, 1 },
			   .groups = 1,
			   .axis = -1 },
	};

	if (!strcmp(type, "conv2d"))
		o.attrs.spatial = 2;
	assert_true(npuplan_graph_add_op(graph, &o) >= 0);
}

/* in -> conv -> conv -> add(state updated, skip) -> relu -> out */
static struct npuplan_graph *build(uint32_t bands)
{
	struct npuplan_graph *graph = npuplan_graph_new("reference");
	struct npuplan_error error = { 0 };
	uint32_t in = tensor(graph, "in", NPUMEM_TENSOR_INPUT, 7);
	uint32_t a = tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 7);
	uint32_t b = tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 7);
	uint32_t s = tensor(graph, "s", NPUMEM_TENSOR_STATE, 2);
	uint32_t c = tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 7);
	uint32_t out = tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 7);

	op(graph, "conv2d", (uint32_t[]){ in }, 1, (uint32_t[]){ a }, 1);
	op(graph, "conv2d", (uint32_t[]){ a }, 1, (uint32_t[]){ b }, 1);
	op(graph, "add", (uint32_t[]){ b, s, in }, 3, (uint32_t[]){ c, s }, 2);
	op(graph, "relu", (uint32_t[]){ c }, 1, (uint32_t[]){ out }, 1);
	assert_int_equal(npuplan_graph_tile_bands(graph, bands, false, &error), 0);
	return graph;
}

static uint64_t engine_read(const struct npuv_plan *plan, uint32_t position, uint32_t access,
			    const uint8_t *arena, uint64_t digest)
{
	struct npuv_range range;
	struct npuv_walk walk;

	npuv_walk_begin(&walk, plan, position, access);
	while (npuv_walk_next(&walk, &range))
		for (uint64_t i = 0; i < range.length; i++)
			digest = npumem_mix_read(digest, arena[range.arena + i]);
	return digest;
}

static void engine_write(const struct npuv_plan *plan, uint32_t position, uint32_t access,
			 uint32_t number, uint8_t *arena, uint64_t digest)
{
	struct npuv_range range;
	struct npuv_walk walk;

	npuv_walk_begin(&walk, plan, position, access);
	while (npuv_walk_next(&walk, &range))
		for (uint64_t i = 0; i < range.length; i++) {
			uint64_t linear = range.linear + i;

			arena[range.arena + i] =
				(uint8_t)(npumem_mix_write(digest, number, linear / 8) >>
					  (linear % 8 * 8));
		}
}

static void engine_run(const struct npuv_plan *plan, uint8_t *arena, uint64_t key)
{
	for (uint32_t p = 0; p < plan->positions.count; p++) {
		uint32_t index = npuv_position(plan, p)->index;
		const struct npumem_step *step = npuv_step(plan->graph, index);
		uint64_t digest = npumem_mix_begin(key, index);

		for (uint32_t i = 0; i < step->access_count; i++) {
			if (npuv_access(plan->graph, step->first_access + i)->mode ==
			    NPUMEM_ACCESS_WRITE)
				continue;
			digest = npumem_mix_access(digest, i);
			digest = engine_read(plan, p, step->first_access + i, arena, digest);
		}
		for (uint32_t i = 0; i < step->access_count; i++) {
			if (npuv_access(plan->graph, step->first_access + i)->mode !=
			    NPUMEM_ACCESS_READ)
				engine_write(plan, p, step->first_access + i, i, arena, digest);
		}
	}
}

/* One inference in an arena; the number of tensors that differ at the end. */
static unsigned int infer(struct npuplan_graph *graph, struct npuplan_plan *plan, uint64_t seed,
			  bool spoil)
{
	const struct npumem_verdict none = { 0 };
	struct npuplan_error error = { 0 };
	struct reference ref = { 0 };
	struct npumem_verdict verdict = none;
	struct npuv_graph *checked;
	struct npuv_plan *verified;
	void *graph_blob, *plan_blob;
	size_t graph_size, plan_size;
	uint8_t *arena = calloc(plan->info.arena_size, 1);
	unsigned int different = 0, compared = 0;

	assert_non_null(arena);
	assert_int_equal(npuplan_graph_write(graph, &graph_blob, &graph_size, &error), 0);
	assert_int_equal(npuplan_plan_write(plan, &plan_blob, &plan_size, &error), 0);
	assert_int_equal(npuv_graph_create(graph_blob, graph_size, &npuv_default_limits, NULL,
					   &verdict, &checked),
			 0);
	assert_int_equal(npuv_plan_create(checked, plan_blob, plan_size, &npuv_default_limits, NULL,
					  &verdict, &verified),
			 0);
	assert_int_equal(reference_init(&ref, graph, plan), 0);
	reference_randomize(&ref, seed, true);
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];

		if (ref.entry[p->tensor])
			assert_int_equal(reference_copy(p, ref.bytes[p->tensor],
							graph->tensors[p->tensor].size, arena,
							plan->info.arena_size, true),
					 0);
	}
	/* A byte of the input, flipped: must be seen in every result. */
	if (spoil)
		arena[plan->placements[0].offset] ^= 1;
	engine_run(verified, arena, KEY);
	reference_block(&ref, 0, KEY);
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];
		const struct npuplan_tensor *t = &graph->tensors[p->tensor];
		uint8_t bytes[7 * 5 * 3] = { 0 };

		if (t->kind != NPUMEM_TENSOR_OUTPUT && t->kind != NPUMEM_TENSOR_STATE)
			continue;
		assert_int_equal(
			reference_copy(p, bytes, t->size, arena, plan->info.arena_size, false), 0);
		different += !!memcmp(bytes, ref.bytes[p->tensor], t->size);
		compared++;
	}
	assert_int_equal(compared, 2);
	reference_fini(&ref);
	npuv_plan_destroy(verified);
	npuv_graph_destroy(checked);
	free(graph_blob);
	free(plan_blob);
	free(arena);
	return different;
}

TEST(equal)
{
	for (uint32_t bands = 1; bands <= 7; bands++) {
		AUTO_GRAPH struct npuplan_graph *graph = build(bands);
		struct npuplan_options options = { 0 };
		struct npuplan_plan *plan = NULL;
		struct npuplan_error error = { 0 };

		if (npuplan_plan(graph, &options, &plan, &error))
			fail_msg("%s", error.text);
		assert_int_equal(plan->placements[0].tensor, 0);
		assert_int_equal(infer(graph, plan, bands, false), 0);
		assert_int_equal(infer(graph, plan, bands, true), 2);
		npuplan_plan_free(plan);
	}
}

TEST(seed)
{
	AUTO_GRAPH struct npuplan_graph *graph = build(1);
	struct npuplan_options options = { 0 };
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { 0 };
	struct reference one = { 0 }, two = { 0 };

	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), 0);
	assert_int_equal(reference_init(&one, graph, plan), 0);
	assert_int_equal(reference_init(&two, graph, plan), 0);
	reference_randomize(&one, 5, true);
	reference_randomize(&two, 5, true);
	assert_memory_equal(one.bytes[0], two.bytes[0], graph->tensors[0].size);
	assert_memory_equal(one.bytes[3], two.bytes[3], graph->tensors[3].size);
	/* State goes on from one inference to the next. */
	reference_randomize(&two, 6, false);
	assert_memory_not_equal(one.bytes[0], two.bytes[0], graph->tensors[0].size);
	assert_memory_equal(one.bytes[3], two.bytes[3], graph->tensors[3].size);
	/* The key matters, and every result depends on it. */
	reference_randomize(&two, 5, true);
	reference_block(&one, 0, 1);
	reference_block(&two, 0, 2);
	assert_memory_not_equal(one.bytes[5], two.bytes[5], graph->tensors[5].size);
	assert_memory_not_equal(one.bytes[3], two.bytes[3], graph->tensors[3].size);
	reference_fini(&one);
	reference_fini(&two);
	npuplan_plan_free(plan);
}

/* Rows in a ring of two slots: the last two rows are what is there. */
TEST(copy_pieces)
{
	const struct npumem_placement ring = {
		.offset = 2,
		.region = { .length = 3, .count = { 1, 1, 4 }, .stride = { 0, 0, 3 } },
		.stride = { 0, 0, 4 },
		.ring = 2,
	};
	uint8_t tensor_bytes[12], arena[16] = { 0 }, back[12] = { 0 };

	for (uint8_t i = 0; i < 12; i++)
		tensor_bytes[i] = (uint8_t)(i + 1);
	assert_int_equal(reference_copy(&ring, tensor_bytes, 12, arena, 16, true), 0);
	assert_memory_equal(arena,
			    ((uint8_t[]){ 0, 0, 7, 8, 9, 0, 10, 11, 12, 0, 0, 0, 0, 0, 0, 0 }), 16);
	assert_int_equal(reference_copy(&ring, back, 12, arena, 16, false), 0);
	assert_memory_equal(back, ((uint8_t[]){ 7, 8, 9, 10, 11, 12, 7, 8, 9, 10, 11, 12 }), 12);
	assert_int_equal(reference_copy(&ring, tensor_bytes, 11, arena, 16, true), -EINVAL);
	assert_int_equal(reference_copy(&ring, tensor_bytes, 12, arena, 8, true), -EINVAL);
}

/* Tensors of one size, all of them placed, side by side. */
static struct npuplan_plan place_all(const struct npuplan_graph *graph,
				     struct npumem_placement *placements, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		placements[i] = (struct npumem_placement){
			.tensor = i,
			.offset = i * 8,
			.region = { .length = graph->tensors[i].size, .count = { 1, 1, 1 } },
		};
	return (struct npuplan_plan){ .placements = placements, .placement_count = count };
}

static uint32_t plain(struct npuplan_graph *graph, uint32_t kind, uint32_t flags)
{
	struct npuplan_tensor t = {
		.name = (char *)(uintptr_t)"t",
		.size = 8,
		.align = 1,
		.kind = kind,
		.flags = flags,
		.alias_of = NPUMEM_NONE,
	};
	int64_t index = npuplan_graph_add_tensor(graph, &t);

	assert_true(index >= 0);
	return (uint32_t)index;
}

/* Carries are one assignment: two tensors that change places. */
TEST(edge)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("carries");
	struct npumem_carry carries[] = { { 0, 2 }, { 0, 1 }, { 1, 0 } };
	struct npumem_edge edges[] = { { .carry_count = 1 },
				       { .first_carry = 1, .carry_count = 2 } };
	struct npumem_placement placements[3];
	struct reference ref = { 0 };
	struct npuplan_graph with;
	struct npuplan_plan plan;

	for (int i = 0; i < 4; i++)
		plain(graph, NPUMEM_TENSOR_INTERMEDIATE, 0);
	plan = place_all(graph, placements, 3);
	with = *graph;
	with.edges = edges;
	with.edge_count = 2;
	with.carries = carries;
	with.carry_count = 3;
	assert_int_equal(reference_init(&ref, &with, &plan), 0);
	for (int i = 0; i < 3; i++)
		memset(ref.bytes[i], i + 1, 8);
	reference_edge(&ref, 1);
	assert_int_equal(ref.bytes[0][0], 2);
	assert_int_equal(ref.bytes[1][7], 1);
	assert_int_equal(ref.bytes[2][7], 3);
	reference_edge(&ref, 0);
	assert_int_equal(ref.bytes[2][7], 2);
	assert_int_equal(ref.bytes[0][7], 2);
	/* Tensors that nothing places have no bytes to carry. */
	assert_null(ref.bytes[3]);
	carries[0].to = 3;
	reference_edge(&ref, 0);
	carries[0] = (struct npumem_carry){ 3, 2 };
	reference_edge(&ref, 0);
	assert_int_equal(ref.bytes[2][0], 2);
	reference_fini(&ref);
}

/* What aliases and external tensors have for bytes, and when. */
TEST(buffers)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("aliases");
	struct npuplan_plan plan = { 0 };
	struct reference ref = { 0 };
	struct npumem_region whole = { .length = 8, .count = { 1, 1, 1 } };
	struct npumem_placement placement;
	uint32_t base, alias, external, idle, input;

	base = plain(graph, NPUMEM_TENSOR_INTERMEDIATE, 0);
	alias = plain(graph, NPUMEM_TENSOR_INPUT, NPUMEM_TENSOR_FLAG_ALIAS);
	graph->tensors[alias].alias_of = base;
	graph->tensors[alias].alias_offset = 4;
	graph->tensors[alias].size = 4;
	external = plain(graph, NPUMEM_TENSOR_OUTPUT, NPUMEM_TENSOR_FLAG_EXTERNAL);
	idle = plain(graph, NPUMEM_TENSOR_OUTPUT, NPUMEM_TENSOR_FLAG_EXTERNAL);
	input = plain(graph, NPUMEM_TENSOR_PARAMETER, 0);
	assert_true(npuplan_graph_add_tile(graph, external, &whole) >= 0);
	plan = place_all(graph, &placement, 1);
	assert_int_equal(reference_init(&ref, graph, &plan), 0);
	assert_ptr_equal(ref.bytes[alias], ref.bytes[base] + 4);
	assert_non_null(ref.bytes[external]);
	assert_null(ref.bytes[idle]);
	assert_null(ref.bytes[input]);
	/* Part of it is valid at entry, under the alias' name. */
	assert_true(ref.entry[base]);
	assert_true(ref.entry[alias]);
	assert_false(ref.entry[external]);
	reference_randomize(&ref, 3, true);
	assert_memory_equal(ref.bytes[base], "\0\0\0\0", 4);
	assert_memory_not_equal(ref.bytes[alias], "\0\0\0\0", 4);
	reference_fini(&ref);
	/* An alias that is placed itself: no plan has that, but it leaks nothing. */
	placement.tensor = alias;
	assert_int_equal(reference_init(&ref, graph, &plan), 0);
	reference_fini(&ref);
}
