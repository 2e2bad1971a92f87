// SPDX-License-Identifier: MIT
#include "layout_build.h"

#include <stdlib.h>
#include <string.h>

#include "npumem_fake.h"
#include "unit.h"

void build_chain(struct build *b)
{
	struct npumem_placement *piece;

	build_init(b);
	build_tensor(b, NPUMEM_TENSOR_INPUT, 100, "in");
	build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 200, "middle");
	build_tensor(b, NPUMEM_TENSOR_OUTPUT, 100, "out");
	build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 60, "alias");
	build_tensor(b, NPUMEM_TENSOR_INPUT, 40, "outside");
	build_tensor(b, NPUMEM_TENSOR_PARAMETER, 10, "weights");
	build_tensor_at(b, ALIAS)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(b, ALIAS)->alias_of = MIDDLE;
	build_tensor_at(b, ALIAS)->alias_offset = 90;
	build_tensor_at(b, OUTSIDE)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	for (uint32_t t = 0; t < TENSORS; t++)
		build_whole(b, t);
	build_step(b, 0, "first");
	build_access(b, IN, NPUMEM_ACCESS_READ);
	build_access(b, OUTSIDE, NPUMEM_ACCESS_READ);
	build_access(b, MIDDLE, NPUMEM_ACCESS_WRITE);
	build_step(b, 0, "second");
	build_access(b, ALIAS, NPUMEM_ACCESS_READ);
	build_access(b, OUT, NPUMEM_ACCESS_WRITE);
	build_finish(b);
	build_place_region(b, MIDDLE, 0, 1, 512, build_strided(100, 20, 5, 20));
	piece = build_placement_at(b, 0);
	piece->stride[0] = 32;
	build_place_region(b, MIDDLE, 0, 1, 128, build_region(0, 100));
	build_place_region(b, IN, 0, 0, 0, build_region(0, 100));
	build_place_region(b, OUT, 1, 1, 0, build_region(0, 100));
	b->info.arena_size = 1024;
}

void build_loop(struct build *b)
{
	static const uint32_t slots[] = { 1, 3 };

	build_init(b);
	build_tensor(b, NPUMEM_TENSOR_INPUT, 64, "in");
	build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 64, "value");
	build_tensor(b, NPUMEM_TENSOR_OUTPUT, 64, "next");
	for (uint32_t t = 0; t < 3; t++)
		build_whole(b, t);
	build_block(b, "empty");
	build_step(b, 0, "go round");
	build_access(b, 1, NPUMEM_ACCESS_READ);
	build_access(b, 2, NPUMEM_ACCESS_WRITE);
	build_block(b, "body");
	build_edge(b, 0, 1);
	build_carry(b, 0, 1);
	build_edge(b, 1, 1);
	build_carry(b, 2, 1);
	build_edge(b, 1, NPUMEM_NONE);
	build_instance(b, 0);
	build_enter(b, 0, 0);
	build_instance(b, 1);
	build_enter(b, 1, 0);
	build_place_here(b, 2, 64);
	build_instance(b, 1);
	build_enter(b, 1, 64);
	build_place_here(b, 2, 0);
	build_plan_edge(b, 0, 1, 0);
	build_plan_edge(b, 1, 2, 1);
	build_plan_edge(b, 1, NPUMEM_NONE, 2);
	build_plan_edge(b, 2, 1, 1);
	build_plan_edge(b, 2, NPUMEM_NONE, 2);
	*(struct npumem_view *)build_add(&b->views, 1) = (struct npumem_view){
		.tensor = 1, .type = NPUMEM_VIEW_CYCLIC, .repeat = 2, .loop = 1, .slot_count = 2
	};
	memcpy(build_add(&b->slots, 2), slots, sizeof(slots));
}

static void add_transfer(struct build *b, uint32_t kind, uint32_t tensor, uint64_t first,
			 uint64_t length, uint64_t host_offset)
{
	struct npumem_position *p = build_add(&b->positions, 1);

	*p = (struct npumem_position){ .kind = kind,
				       .index = tensor,
				       .placement = NPUMEM_NONE,
				       .first = first,
				       .length = length,
				       .host_offset = host_offset };
}

void build_transfers(struct build *b)
{
	struct npumem_position steps[2];

	build_chain(b);
	build_tensor_at(b, IN)->flags = NPUMEM_TENSOR_FLAG_HOST;
	memcpy(steps, b->positions.data, sizeof(steps));
	b->positions.count = 0;
	add_transfer(b, NPUMEM_POSITION_LOAD, IN, 50, 50, 0);
	add_transfer(b, NPUMEM_POSITION_LOAD, IN, 0, 50, 50);
	*(struct npumem_position *)build_add(&b->positions, 1) = steps[0];
	add_transfer(b, NPUMEM_POSITION_SPILL, MIDDLE, 0, 200, 100);
	add_transfer(b, NPUMEM_POSITION_FILL, MIDDLE, 80, 80, 180);
	*(struct npumem_position *)build_add(&b->positions, 1) = steps[1];
	add_transfer(b, NPUMEM_POSITION_STORE, OUT, 20, 30, 0);
	add_transfer(b, NPUMEM_POSITION_DROP, MIDDLE, 80, 80, 0);
	build_plan_block_at(b, 0)->position_count = 8;
	b->info.host_size = 300;
	for (uint32_t i = 0; i < 2; i++) {
		build_placement_at(b, i)->from = 2;
		build_placement_at(b, i)->to = 3;
	}
	build_placement_at(b, 2)->to = 2;
	build_placement_at(b, 3)->from = 5;
	build_placement_at(b, 3)->to = 7;
	build_place_region(b, MIDDLE, 4, 7, 700, build_region(80, 80));
}

struct npumem_layout *layout_of(const struct build *b, int expected)
{
	struct build_blob graph = build_graph(b), plan = build_plan(b);
	struct npumem_layout *layout = NULL;

	assert_int_equal(npumem_layout_new(graph.data, graph.size, plan.data, plan.size, &layout,
					   &error),
			 expected);
	free(graph.data);
	free(plan.data);
	return layout;
}

static int setup(void **state, void (*make)(struct build *b))
{
	struct build b;

	memset(&error, 0, sizeof(error));
	make(&b);
	*state = layout_of(&b, 0);
	build_free(&b);
	return 0;
}

int chain_setup(void **state)
{
	return setup(state, build_chain);
}

int loop_setup(void **state)
{
	return setup(state, build_loop);
}

int transfers_setup(void **state)
{
	return setup(state, build_transfers);
}

int layout_teardown(void **state)
{
	npumem_layout_free(*state);
	npumem_layout_free(NULL);
	return 0;
}
