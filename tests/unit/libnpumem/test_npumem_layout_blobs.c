// SPDX-License-Identifier: MIT
/* libnpumem: blobs of which no layout is made, each for one reason. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout_build.h"
#include "npumem_fake.h"
#include "unit.h"

static void assert_blobs(struct build_blob graph, struct build_blob plan, int expected,
			 const char *text)
{
	struct npumem_layout *layout;

	assert_error(npumem_layout_new(graph.data, graph.size, plan.data, plan.size, &layout,
				       &error),
		     expected, text);
}

TEST(headers)
{
	struct npumem_blob_header *header;
	struct build_blob graph, plan;
	struct build b;

	build_chain(&b);
	graph = build_graph(&b);
	plan = build_plan(&b);
	header = plan.data;
	plan.size -= 8;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: it has another length than it says");
	plan.size = 31;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: it is shorter than its header");
	plan.size = header->total_size;
	header->magic++;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: it has another magic number");
	header->magic--;
	header->version++;
	assert_blobs(graph, plan, -EOPNOTSUPP,
		     "the plan blob is of version 2, which is not known here");
	header->version--;
	header->section_count = 33333;
	assert_blobs(graph, plan, -EBADMSG,
		     "the plan blob: its table of sections is beyond its end");
	header->section_count = 0;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob has no info");
	free(graph.data);
	free(plan.data);
	build_free(&b);
}

TEST(sections)
{
	struct npumem_blob_section *section;
	struct build_blob graph, plan;
	struct build b;

	build_chain(&b);
	graph = build_graph(&b);
	plan = build_plan(&b);
	section = build_section(plan, NPUMEM_PLAN_SECTION_SCHEDULE);
	section->count += 1000;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: section 3 is beyond its end");
	section->count -= 1000;
	section->stride--;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: section 3 is beyond its end");
	section->stride++;
	section->kind = NPUMEM_PLAN_SECTION_PLACEMENTS;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob: it has section 2 twice");
	section->kind = NPUMEM_SECTION_OPAQUE;
	assert_blobs(graph, plan, -EBADMSG, "the plan blob has no position");
	section = build_section(graph, NPUMEM_GRAPH_SECTION_STEPS);
	section->kind = NPUMEM_SECTION_OPAQUE;
	assert_blobs(graph, plan, -EBADMSG, "the graph blob has no step");
	free(graph.data);
	free(plan.data);
	build_free(&b);
}

/* Records of other lengths than the library's are cut, or continued by zeros. */
TEST(strides)
{
	static const int more[] = { 8, -8 };
	struct npumem_placement piece;
	struct npumem_layout *layout;
	struct build b;

	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		struct build_blob graph, plan, other;
		struct npumem_blob_section *section;
		uint8_t *records;

		build_chain(&b);
		graph = build_graph(&b);
		plan = build_plan(&b);
		other.size = plan.size + 4 * (sizeof(piece) + 8);
		other.data = calloc(1, other.size);
		assert_non_null(other.data);
		memcpy(other.data, plan.data, plan.size);
		((struct npumem_blob_header *)other.data)->total_size = other.size;
		section = build_section(other, NPUMEM_PLAN_SECTION_PLACEMENTS);
		records = (uint8_t *)other.data + plan.size;
		for (uint32_t p = 0; p < 4; p++)
			memcpy(records + p * (sizeof(piece) + more[i]), build_placement_at(&b, p),
			       sizeof(piece) + (more[i] < 0 ? more[i] : 0));
		section->offset = plan.size;
		section->stride = sizeof(piece) + more[i];
		assert_int_equal(npumem_layout_new(graph.data, graph.size, other.data, other.size,
						   &layout, &error),
				 0);
		for (uint32_t p = 0; p < 4; p++) {
			assert_int_equal(npumem_layout_placement(layout, p, &piece, &error), 0);
			assert_memory_equal(&piece, build_placement_at(&b, p), sizeof(piece));
		}
		npumem_layout_free(layout);
		free(graph.data);
		free(plan.data);
		free(other.data);
		build_free(&b);
	}
}

/* Whatever a record says that cannot be is refused, and named. */
struct spoiled {
	void (*build)(struct build *b);
	void (*spoil)(struct build *b);
	const char *text;
};

static void refuses(void **state)
{
	const struct spoiled *s = *state;
	struct build_blob graph, plan;
	struct build b;

	s->build(&b);
	s->spoil(&b);
	graph = build_graph(&b);
	plan = build_plan(&b);
	assert_blobs(graph, plan, -EBADMSG, s->text);
	free(graph.data);
	free(plan.data);
	build_free(&b);
}

#define REFUSES(name, made, change, ...)                                            \
	static void spoil_##name(struct build *b)                                   \
	{                                                                           \
		change;                                                             \
	}                                                                           \
	TEST_CASE(name, refuses, NULL, NULL, struct spoiled, .build = build_##made, \
		  .spoil = spoil_##name, .text = __VA_ARGS__)

REFUSES(alias_of_none, chain, build_tensor_at(b, ALIAS)->alias_of = TENSORS,
	"tensor 3 of the graph: it is an alias of no tensor that has bytes")
REFUSES(alias_of_alias, chain, build_tensor_at(b, ALIAS)->alias_of = ALIAS,
	"tensor 3 of the graph: it is an alias of no tensor that has bytes")
REFUSES(alias_beyond, chain, build_tensor_at(b, ALIAS)->alias_offset = 141,
	"tensor 3 of the graph: it is an alias of bytes that its base has not")
REFUSES(tile_of_none, chain, build_tile_at(b, 2)->tensor = TENSORS,
	"tile 2 of the graph: its tensor is not there")
REFUSES(tile_beyond, chain, build_tile_at(b, 2)->region.length++,
	"tile 2 of the graph: it is not within its tensor")
REFUSES(tile_overflow, chain, build_tile_at(b, 2)->region.offset = UINT64_MAX,
	"tile 2 of the graph: it is not within its tensor")
REFUSES(tile_empty, chain, build_tile_at(b, 2)->region.length = 0,
	"tile 2 of the graph: it is not within its tensor")
REFUSES(tile_none, chain, build_tile_at(b, 2)->region.count[1] = 0,
	"tile 2 of the graph: it is not within its tensor")
REFUSES(tile_many, chain, build_tile_at(b, 2)->region.count[1] = UINT32_MAX,
	"tile 2 of the graph: it is not within its tensor")
REFUSES(tile_twice, chain,
	(build_tile_at(b, 2)->region.count[1] = 3, build_tile_at(b, 2)->region.length = 34),
	"tile 2 of the graph: it is not within its tensor")
REFUSES(access_of_none, chain, build_access_at(b, 4)->tile = TENSORS,
	"access 4 of the graph: its tile is not there")
REFUSES(step_beyond, chain, build_step_at(b, 1)->access_count++,
	"step 1 of the graph: its accesses are not there")
REFUSES(placement_of_none, chain, build_placement_at(b, 1)->tensor = TENSORS,
	"placement 1 of the plan: its tensor is not there, or is an alias")
REFUSES(placement_of_alias, chain, build_placement_at(b, 1)->tensor = ALIAS,
	"placement 1 of the plan: its tensor is not there, or is an alias")
REFUSES(placement_block, chain, build_placement_at(b, 1)->block = 1,
	"placement 1 of the plan: its block is not there")
REFUSES(placement_region, chain, build_placement_at(b, 1)->region.offset = 101,
	"placement 1 of the plan: it is not within its tensor")
REFUSES(placement_arena, chain, build_placement_at(b, 1)->offset = 925,
	"placement 1 of the plan: it is not within the arena")
REFUSES(placement_stride, chain, build_placement_at(b, 0)->stride[0] = UINT64_MAX / 2,
	"placement 0 of the plan: it is not within the arena")
REFUSES(position_step, chain, build_position_at(b, 1)->index = 2,
	"position 1 of the plan: its step is not there")
REFUSES(position_kind, chain, build_position_at(b, 1)->kind = NPUMEM_POSITION_STORE + 1,
	"position 1 of the plan: it is of a kind that is not known here")
REFUSES(transfer_of_none, transfers, build_position_at(b, 0)->index = TENSORS,
	"position 0 of the plan: it moves bytes of no tensor")
REFUSES(transfer_beyond, transfers, build_position_at(b, 0)->length++,
	"position 0 of the plan: it moves bytes of no tensor")
REFUSES(transfer_host, transfers, build_position_at(b, 0)->host_offset = 251,
	"position 0 of the plan: it is not within host memory")
REFUSES(block_positions, chain, build_plan_block_at(b, 0)->position_count++,
	"block 0 of the plan: its positions are not there")
REFUSES(block_entries, chain, build_plan_block_at(b, 0)->entry_count++,
	"block 0 of the plan: its entries are not there")
REFUSES(entry_of_none, loop, build_entry_at(b, 1)->tensor = 3,
	"entry 1 of the plan: it is of bytes of no tensor")
REFUSES(entry_beyond, loop, build_entry_at(b, 1)->length++,
	"entry 1 of the plan: it is of bytes of no tensor")
REFUSES(entry_placement, loop, build_entry_at(b, 1)->placement = 0,
	"entry 1 of the plan: its placement is not one of its tensor")
REFUSES(entry_host, loop, build_entry_at(b, 1)->flags = NPUMEM_ENTRY_HOST,
	"entry 1 of the plan: it is not within host memory")
REFUSES(edge_from, loop, build_plan_edge_at(b, 4)->from = 3,
	"edge 4 of the plan: its blocks are not there")
REFUSES(edge_to, loop, build_plan_edge_at(b, 3)->to = 3,
	"edge 3 of the plan: its blocks are not there")
REFUSES(view_type, loop, build_view_at(b, 0)->type = 0,
	"view 0 of the plan: it is of a type that is not known here")
REFUSES(view_repeat, loop, build_view_at(b, 0)->repeat = 3,
	"view 0 of the plan: its slots are not there")
REFUSES(view_slots, loop, build_view_at(b, 0)->first_slot = 1,
	"view 0 of the plan: its slots are not there")
REFUSES(view_empty, loop, (build_view_at(b, 0)->repeat = 0, build_view_at(b, 0)->slot_count = 0),
	"view 0 of the plan: its slots are not there")
REFUSES(view_placement, loop, *(uint32_t *)b->slots.data = 2,
	"view 0 of the plan: a slot leads to what is not of its tensor")
REFUSES(view_nested, loop, *(uint32_t *)b->slots.data = 1 | NPUMEM_VIEW_SLOT_NESTED,
	"view 0 of the plan: a slot leads to what is not of its tensor")
