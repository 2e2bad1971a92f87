// SPDX-License-Identifier: MIT
#include "test_verify_transfers.h"

#include <errno.h>

void begin_schedule(struct build *b)
{
	build_finish(b);
	b->positions.count = 0;
}

void begin_instance(struct build *b, uint32_t block)
{
	uint32_t i = build_instance(b, block);

	b->positions.count = build_plan_block_at(b, i)->first_position;
	build_plan_block_at(b, i)->position_count = 0;
}

static uint32_t add_position(struct build *b)
{
	struct npumem_plan_block *last;

	build_add(&b->positions, 1);
	last = build_plan_block_at(b, b->plan_blocks.count - 1);
	last->position_count = b->positions.count - last->first_position;
	build_position_at(b, b->positions.count - 1)->placement = NPUMEM_NONE;
	return b->positions.count - 1;
}

uint32_t step(struct build *b, uint32_t index)
{
	uint32_t position = add_position(b);

	build_position_at(b, position)->index = index;
	return position;
}

uint32_t move(struct build *b, uint32_t kind, uint32_t tensor, uint32_t placement, uint64_t first,
	      uint64_t length, uint64_t host)
{
	uint32_t position = add_position(b);
	struct npumem_position *p = build_position_at(b, position);

	p->kind = kind;
	p->index = tensor;
	p->placement = placement;
	p->first = first;
	p->length = length;
	p->host_offset = host;
	if (host + length > b->info.host_size && kind != DROP)
		b->info.host_size = host + length;
	return position;
}

uint32_t drop(struct build *b, uint32_t tensor, uint64_t first, uint64_t length)
{
	return move(b, DROP, tensor, NPUMEM_NONE, first, length, 0);
}

uint32_t stay(struct build *b, uint32_t tensor, uint32_t from, uint32_t to, uint64_t offset)
{
	uint32_t p = build_place_region(b, tensor, from, to, offset,
					build_region(0, build_tensor_at(b, tensor)->size));

	build_placement_at(b, p)->block = b->plan_blocks.count - 1;
	return p;
}

void spilled_graph(struct build *b)
{
	build_init(b);
	add_tensor(b, NPUMEM_TENSOR_INPUT, "x");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "a");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "b");
	add_tensor(b, NPUMEM_TENSOR_OUTPUT, "y");
	add_step(b, "make_a", TX, NPUMEM_NONE, TA);
	add_step(b, "make_b", TX, NPUMEM_NONE, TB);
	add_step(b, "join", TA, TB, TY);
	begin_schedule(b);
}

void spilled(struct build *b)
{
	spilled_graph(b);
	step(b, MAKE_A);
	move(b, SPILL, TA, A_AT_8, 0, 8, 0);
	step(b, MAKE_B);
	move(b, FILL, TA, A_AT_0, 0, 8, 0);
	step(b, JOIN);
	stay(b, TX, DO_A, DO_B, 0);
	stay(b, TA, DO_A, SPILL_A, 8);
	stay(b, TB, DO_B, DO_Y, 8);
	stay(b, TA, FILL_A, DO_Y, 0);
	stay(b, TY, DO_Y, DO_Y, 16);
}

void host_input(struct build *b, uint32_t kind)
{
	chain(b);
	build_tensor_at(b, X)->kind = kind;
	build_tensor_at(b, X)->flags = NPUMEM_TENSOR_FLAG_HOST;
	b->positions.count = 0;
	move(b, LOAD, X, 0, 0, 8, 0);
	step(b, COPY);
	step(b, MIX);
	build_placement_at(b, A)->to = 2;
	build_placement_at(b, X)->to = 2;
	build_placement_at(b, Y)->to = 2;
}

void accumulator(struct build *b, uint32_t kind)
{
	build_init(b);
	add_tensor(b, NPUMEM_TENSOR_OUTPUT, "a");
	build_step(b, 0, "first");
	build_access(b, 0, NPUMEM_ACCESS_WRITE);
	build_step(b, 0, "more");
	build_access(b, 0, NPUMEM_ACCESS_UPDATE);
	begin_schedule(b);
	step(b, 0);
	move(b, STORE, 0, 0, 0, 8, 0);
	step(b, 1);
	if (kind == DROP)
		drop(b, 0, 0, 8);
	else
		move(b, kind, 0, 0, 0, 8, 0);
	stay(b, 0, 0, 3, 0);
}

struct npuv_states *states_of(struct build *b)
{
	struct npuv_plan *plan = accept_plan(b);
	struct npuv_states *states;

	build_free(b);
	assert_int_equal(npuv_states_create(plan, &states), 0);
	return states;
}

void free_states(struct npuv_states *states)
{
	struct npuv_plan *plan = (struct npuv_plan *)(uintptr_t)states->plan;

	npuv_states_destroy(states);
	free_plan(plan);
}

void go(struct npuv_states *states, uint32_t position)
{
	struct npumem_verdict v;

	assert_int_equal(npuv_states_submit(states, position, &v), 0);
	assert_int_equal(v.rule, NPUMEM_RULE_NONE);
}

struct npumem_verdict stop(struct npuv_states *states, uint32_t position, uint32_t rule)
{
	struct npumem_verdict v;

	assert_int_equal(npuv_states_submit(states, position, &v), -EPERM);
	assert_int_equal(v.rule, rule);
	assert_int_equal(v.position, position);
	return v;
}

void accept(struct build *b)
{
	struct npuv_states *states = states_of(b);
	uint32_t round, i;

	for (round = 0; round < 2; round++) {
		npuv_states_reset(states);
		for (i = 0; i < states->plan->positions.count; i++)
			go(states, i);
		assert_int_equal(states->left, 0);
	}
	free_states(states);
}
