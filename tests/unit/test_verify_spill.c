// SPDX-License-Identifier: MIT
/*
 * Rules V2 and V5: transfers that are accepted, and each refusal.
 */
#include "test_verify.h"

#include <errno.h>
#include <string.h>

#define V1 NPUMEM_RULE_V1_BOUNDS
#define V2 NPUMEM_RULE_V2_ORDER
#define V3 NPUMEM_RULE_V3_READ
#define V4 NPUMEM_RULE_V4_WRITE
#define V5 NPUMEM_RULE_V5_SPILL
#define V7 NPUMEM_RULE_V7_EXIT

#define LOAD  NPUMEM_POSITION_LOAD
#define SPILL NPUMEM_POSITION_SPILL
#define FILL  NPUMEM_POSITION_FILL
#define DROP  NPUMEM_POSITION_DROP
#define STORE NPUMEM_POSITION_STORE

/* Of spilled(): tensors, steps, placements, positions. */
enum { TX, TA, TB, TY };
enum { MAKE_A, MAKE_B, JOIN };
enum { X_AT_0, A_AT_8, B_AT_8, A_AT_0, Y_AT_16 };
enum { DO_A, SPILL_A, DO_B, FILL_A, DO_Y };

/* A schedule of nothing, to be filled with step() and move(). */
static void begin_schedule(struct build *b)
{
	build_finish(b);
	b->positions.count = 0;
}

static uint32_t add_position(struct build *b)
{
	build_add(&b->positions, 1);
	build_plan_block_at(b, 0)->position_count = b->positions.count;
	build_position_at(b, b->positions.count - 1)->placement = NPUMEM_NONE;
	return b->positions.count - 1;
}

static uint32_t step(struct build *b, uint32_t index)
{
	uint32_t position = add_position(b);

	build_position_at(b, position)->index = index;
	return position;
}

/* Bytes [first, first + length) of a tensor, which are at host in host memory. */
static uint32_t move(struct build *b, uint32_t kind, uint32_t tensor, uint32_t placement,
		     uint64_t first, uint64_t length, uint64_t host)
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

static uint32_t drop(struct build *b, uint32_t tensor, uint64_t first, uint64_t length)
{
	return move(b, DROP, tensor, NPUMEM_NONE, first, length, 0);
}

/* All of a tensor from a position to another one. */
static uint32_t stay(struct build *b, uint32_t tensor, uint32_t from, uint32_t to, uint64_t offset)
{
	return build_place_region(b, tensor, from, to, offset,
				  build_region(0, build_tensor_at(b, tensor)->size));
}

/* A step that reads and writes whole tensors, each of which has the tile of its number. */
static void add_step(struct build *b, const char *name, uint32_t read, uint32_t other,
		     uint32_t write)
{
	build_step(b, 0, name);
	build_access(b, read, NPUMEM_ACCESS_READ);
	if (other != NPUMEM_NONE)
		build_access(b, other, NPUMEM_ACCESS_READ);
	build_access(b, write, NPUMEM_ACCESS_WRITE);
}

static void add_tensor(struct build *b, uint32_t kind, const char *name)
{
	build_whole(b, build_tensor(b, kind, 8, name));
}

static void spilled_graph(struct build *b)
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

/*
 * x --make_a--> a, x --make_b--> b, (a, b) --join--> y, 8 bytes each. While b is
 * made, a is in host memory; it comes back to where x was.
 */
static void spilled(struct build *b)
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

#define REFUSE_SPILLED(spoil, err, rule, text)    \
	do {                                      \
		spilled(&b);                      \
		spoil;                            \
		refuse_plan(&b, err, rule, text); \
	} while (0)

/* Plan and states of a build, which is freed. */
static struct npuv_states *states_of(struct build *b)
{
	struct npuv_plan *plan = accept_plan(b);
	struct npuv_states *states;

	build_free(b);
	assert_int_equal(npuv_states_create(plan, &states), 0);
	return states;
}

static void free_states(struct npuv_states *states)
{
	struct npuv_plan *plan = (struct npuv_plan *)(uintptr_t)states->plan;

	npuv_states_destroy(states);
	free_plan(plan);
}

static void go(struct npuv_states *states, uint32_t position)
{
	struct npumem_verdict v;

	assert_int_equal(npuv_states_submit(states, position, &v), 0);
	assert_int_equal(v.rule, NPUMEM_RULE_NONE);
}

static struct npumem_verdict stop(struct npuv_states *states, uint32_t position, uint32_t rule)
{
	struct npumem_verdict v;

	assert_int_equal(npuv_states_submit(states, position, &v), -EPERM);
	assert_int_equal(v.rule, rule);
	assert_int_equal(v.position, position);
	return v;
}

/* Accepted, and lets all of its positions go in their order, twice. */
static void accept(struct build *b)
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

/* The one range of an access at a position. */
static void check_range(const struct npuv_plan *plan, uint32_t position, uint32_t access,
			uint32_t where, uint64_t first, uint64_t length)
{
	struct npuv_range range;
	struct npuv_walk walk;

	npuv_walk_begin(&walk, plan, position, access);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.external, where);
	assert_int_equal(range.arena, first);
	assert_int_equal(range.length, length);
	assert_int_equal(range.linear, 0);
	assert_false(npuv_walk_next(&walk, &range));
}

static void test_spilled(void **state)
{
	struct npuv_plan *plan;
	struct build b;

	(void)state;
	spilled(&b);
	accept(&b);
	spilled(&b);
	b.info.host_size = 100; /* more than it needs */
	move(&b, STORE, TY, Y_AT_16, 0, 8, 92);
	build_placement_at(&b, Y_AT_16)->to = 5;
	plan = accept_plan(&b);
	build_free(&b);
	assert_int_equal(plan->transfers, 3);
	check_range(plan, DO_A, 0, NPUMEM_NONE, 0, 8);
	check_range(plan, DO_A, 1, NPUMEM_NONE, 8, 8);
	check_range(plan, SPILL_A, 0, NPUMEM_NONE, 8, 8);
	check_range(plan, SPILL_A, 1, NPUV_HOST, 0, 8);
	check_range(plan, FILL_A, 0, NPUV_HOST, 0, 8);
	check_range(plan, FILL_A, 1, NPUMEM_NONE, 0, 8);
	check_range(plan, DO_Y, 4, NPUMEM_NONE, 0, 8);
	check_range(plan, 5, 1, NPUV_HOST, 92, 8);
	assert_int_equal(npuv_access_bytes(plan, 4), 8);
	free_plan(plan);
}

/* Spilled once, filled twice; the second eviction is a drop. */
static void test_drop(void **state)
{
	struct build b;

	(void)state;
	build_init(&b);
	add_tensor(&b, NPUMEM_TENSOR_INPUT, "x");
	add_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, "a");
	add_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, "b");
	add_tensor(&b, NPUMEM_TENSOR_OUTPUT, "y");
	add_tensor(&b, NPUMEM_TENSOR_OUTPUT, "z");
	add_step(&b, "make_a", 0, NPUMEM_NONE, 1);
	add_step(&b, "make_b", 1, NPUMEM_NONE, 2);
	add_step(&b, "make_y", 1, 2, 3);
	add_step(&b, "make_z", 1, NPUMEM_NONE, 4);
	begin_schedule(&b);
	step(&b, 0);
	step(&b, 1);
	move(&b, SPILL, 1, 1, 0, 8, 0);
	move(&b, FILL, 1, 2, 0, 8, 0);
	step(&b, 2);
	drop(&b, 1, 0, 8);
	move(&b, FILL, 1, 3, 0, 8, 0);
	step(&b, 3);
	stay(&b, 0, 0, 0, 0);
	stay(&b, 1, 0, 2, 8);
	stay(&b, 1, 3, 4, 0);
	stay(&b, 1, 6, 7, 16);
	stay(&b, 2, 1, 4, 16);
	stay(&b, 3, 4, 7, 8);
	stay(&b, 4, 7, 7, 0);
	accept(&b);
}

static void host_input(struct build *b, uint32_t kind)
{
	chain(b);
	build_tensor_at(b, X)->kind = kind;
	build_tensor_at(b, X)->flags = NPUMEM_TENSOR_HOST;
	b->positions.count = 0;
	move(b, LOAD, X, 0, 0, 8, 0);
	step(b, COPY);
	step(b, MIX);
	build_placement_at(b, A)->to = 2;
	build_placement_at(b, X)->to = 2;
	build_placement_at(b, Y)->to = 2;
}

static void test_loaded(void **state)
{
	struct npuv_states *states;
	struct npumem_verdict v;
	struct build b;

	(void)state;
	host_input(&b, NPUMEM_TENSOR_INPUT);
	accept(&b);
	host_input(&b, NPUMEM_TENSOR_PARAMETER);
	accept(&b);
	/* No placement, so it is outside of the arena. */
	chain(&b);
	build_tensor_at(&b, X)->kind = NPUMEM_TENSOR_PARAMETER;
	build_tensor_at(&b, X)->flags = NPUMEM_TENSOR_HOST;
	*build_placement_at(&b, X) = *build_placement_at(&b, A);
	*build_placement_at(&b, A) = *build_placement_at(&b, Y);
	b.placements.count = 2;
	accept(&b);
	/* Nobody reads it. */
	chain(&b);
	build_whole(&b, build_tensor(&b, NPUMEM_TENSOR_INPUT, 8, "w"));
	build_tensor_at(&b, 3)->flags = NPUMEM_TENSOR_HOST;
	accept(&b);

	host_input(&b, NPUMEM_TENSOR_INPUT);
	states = states_of(&b);
	v = stop(states, 1, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, COPY);
	assert_int_equal(v.tensor, X);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	assert_int_equal(v.other_tile, NPUMEM_NONE);
	assert_int_equal(v.other_tensor, X);
	go(states, 0);
	v = stop(states, 0, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tile, NPUMEM_NONE);
	assert_int_equal(v.tensor, X);
	npuv_states_undo(states, 0);
	stop(states, 1, NPUMEM_RULE_ENFORCE_READ);
	go(states, 0);
	go(states, 1);
	free_states(states);
}

/* An output that is stored and read on; one that is stored and gone; one of each half. */
static void test_outputs(void **state)
{
	struct build b;

	(void)state;
	chain(&b);
	build_tensor_at(&b, A)->kind = NPUMEM_TENSOR_OUTPUT;
	b.positions.count = 0;
	step(&b, COPY);
	move(&b, STORE, A, 1, 0, 8, 8);
	step(&b, MIX);
	move(&b, SPILL, Y, 2, 0, 4, 0);
	build_placement_at(&b, X)->to = 0;
	build_placement_at(&b, A)->to = 2;
	build_placement_at(&b, Y)->from = 2;
	build_placement_at(&b, Y)->to = 3;
	accept(&b);
}

/* Half of a goes and comes back, to the other half's side and elsewhere. */
static void test_partial(void **state)
{
	struct npuv_plan *plan;
	struct npuv_range range;
	struct npuv_walk walk;
	struct build b;

	(void)state;
	spilled_graph(&b);
	step(&b, MAKE_A);
	move(&b, SPILL, TA, 1, 4, 4, 4);
	step(&b, MAKE_B);
	move(&b, FILL, TA, 3, 4, 2, 4);
	move(&b, FILL, TA, 4, 6, 2, 6);
	step(&b, JOIN);
	stay(&b, TX, 0, 2, 0);
	build_place_region(&b, TA, 0, 1, 12, build_region(4, 4));
	build_place_region(&b, TA, 0, 5, 8, build_region(0, 4));
	build_place_region(&b, TA, 3, 5, 0, build_region(4, 2));
	build_place_region(&b, TA, 4, 5, 6, build_region(6, 2));
	stay(&b, TB, 2, 5, 12);
	stay(&b, TY, 5, 5, 20);
	plan = accept_plan(&b);
	accept(&b);
	npuv_walk_begin(&walk, plan, 5, 4);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.arena, 8);
	assert_int_equal(range.length, 4);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.arena, 0);
	assert_int_equal(range.length, 2);
	assert_int_equal(range.linear, 4);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.arena, 6);
	assert_int_equal(range.length, 2);
	assert_false(npuv_walk_next(&walk, &range));
	check_range(plan, 4, 0, NPUV_HOST, 6, 2);
	check_range(plan, 4, 1, NPUMEM_NONE, 6, 2);
	free_plan(plan);
}

/* Host memory is used again when what was there is no longer needed. */
static void test_host_reuse(void **state)
{
	struct npuv_states *states;
	struct npumem_verdict v;
	struct build b;

	(void)state;
	spilled(&b);
	move(&b, SPILL, TY, Y_AT_16, 0, 8, 0);
	build_placement_at(&b, Y_AT_16)->to = 5;
	accept(&b);

	spilled(&b);
	move(&b, SPILL, TY, Y_AT_16, 0, 8, 4);
	build_placement_at(&b, Y_AT_16)->to = 5;
	b.placements.count = 5;
	stay(&b, TB, DO_B, DO_Y, 8);
	b.placements.count = 5;
	states = states_of(&b);
	go(states, DO_A);
	go(states, SPILL_A);
	go(states, DO_B);
	v = stop(states, DO_Y, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, JOIN);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.first, 0);
	assert_int_equal(v.other_tensor, TA);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	v = stop(states, SPILL_A, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.step, NPUMEM_NONE);
	free_states(states);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spilled), cmocka_unit_test(test_drop),
		cmocka_unit_test(test_loaded),	cmocka_unit_test(test_outputs),
		cmocka_unit_test(test_partial), cmocka_unit_test(test_host_reuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
