// SPDX-License-Identifier: MIT
/*
 * How much is done between two looks for a fatal signal, on every path of SUBMIT and
 * RUN_RESET that is the verifier's. Not in time, which a machine may take as much of as
 * it likes, but in basic blocks: the verifier's own sources are built so that each tells
 * when it is executed.
 */
#include "test_verify.h"

#include <errno.h>
#include <stdio.h>

/* A few dozen instructions a unit; what is not counted at all would have far more. */
#define BLOCKS_MAX (16 * NPUV_TICKS)
#define CELLS	   300000

void __sanitizer_cov_trace_pc(void);
int test_interrupted(void);

static uint64_t blocks, longest, all;

void __sanitizer_cov_trace_pc(void)
{
	blocks++;
}

static void look(void)
{
	all += blocks;
	longest = blocks > longest ? blocks : longest;
	blocks = 0;
}

int test_interrupted(void)
{
	look();
	return 0;
}

static void begin(void)
{
	blocks = longest = all = 0;
}

/* Since begin(): much was done, and never much of it without a look. */
static void looked(const char *what)
{
	look();
	printf("%s: %llu blocks, at most %llu without a look\n", what, (unsigned long long)all,
	       (unsigned long long)longest);
	assert_true(all > 2 * BLOCKS_MAX);
	assert_true(longest <= BLOCKS_MAX);
}

/*
 * One step writes T, byte by byte other cells, since one reads half of them one by one,
 * and many small steps read the rest. What the last one writes is in all their places.
 */
enum { T, U };
enum { WRITER, READER, SMALL };
enum { SMALL_COUNT = CELLS / 2 / 4 };

static void many_cells(struct build *b)
{
	uint32_t i, k, whole;

	build_init(b);
	build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, CELLS, NULL);
	build_tensor(b, NPUMEM_TENSOR_OUTPUT, CELLS, NULL);
	whole = build_whole(b, T);
	build_step(b, 0, NULL);
	build_access(b, whole, NPUMEM_ACCESS_WRITE);
	build_step(b, 0, NULL);
	for (i = 0; i < CELLS / 2; i++)
		build_access(b, build_tile(b, T, build_region(i, 1)), NPUMEM_ACCESS_READ);
	for (k = 0; k < SMALL_COUNT; k++) {
		build_step(b, 0, NULL);
		for (; i < CELLS / 2 + 4 * (k + 1); i++)
			build_access(b, build_tile(b, T, build_region(i, 1)), NPUMEM_ACCESS_READ);
	}
	build_step(b, 0, NULL);
	build_access(b, build_whole(b, U), NPUMEM_ACCESS_WRITE);
	build_finish(b);
	build_place(b, T, 0);
	build_place(b, U, 0);
}

struct fixture {
	struct npuv_plan *plan;
	struct npuv_states *states;
	struct npuv_hazards *hazards;
};

static int setup(void **state)
{
	static struct fixture f;
	struct build b;

	many_cells(&b);
	f.plan = accept_plan(&b);
	build_free(&b);
	assert_int_equal(npuv_states_create(f.plan, &f.states), 0);
	assert_int_equal(npuv_hazards_create(f.plan, 4, &f.hazards), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	npuv_hazards_destroy(f->hazards);
	npuv_states_destroy(f->states);
	free_plan(f->plan);
	return 0;
}

/* How SUBMIT counts what there is to do, position by position. */
TEST(counting)
{
	struct fixture *f = *state;
	uint32_t i, ticks = 0;

	begin();
	for (i = 0; i < f->plan->positions.count; i++)
		npuv_states_work(f->plan, i, &ticks);
	looked("work");
}

TEST(copies)
{
	struct fixture *f = *state;
	u64 read, written;
	uint32_t i, ticks = 0;

	begin();
	for (i = 0; i < f->plan->positions.count; i++)
		assert_int_equal(npuv_copy_bytes(f->plan, i, &ticks, &read, &written), 0);
	looked("copies");
	assert_int_equal(read, 0);
	assert_int_equal(written, CELLS);
	assert_int_equal(npuv_copy_bytes(f->plan, READER, &ticks, &read, &written), 0);
	assert_int_equal(read, CELLS / 2);
	assert_int_equal(written, 0);
}

TEST(states)
{
	struct fixture *f = *state;
	uint32_t i, count = f->plan->positions.count;
	struct npumem_verdict v;

	begin();
	assert_int_equal(npuv_states_reset(f->states), 0);
	looked("reset");
	begin();
	for (i = 0; i < count; i++)
		assert_int_equal(npuv_states_submit(f->states, i, &v), 0);
	looked("submit");
	begin();
	while (i--)
		assert_int_equal(npuv_states_undo(f->states, i), 0);
	looked("undo");
}

/* Each position on another engine than the one before. */
TEST(hazards)
{
	struct fixture *f = *state;
	uint32_t i, after[4] = { 0 };

	begin();
	assert_int_equal(npuv_hazards_enter(f->hazards, 0), 0);
	looked("enter");
	begin();
	for (i = 0; i < f->plan->positions.count; i++)
		assert_int_equal(npuv_hazards_submit(f->hazards, i, i % 4, i / 4 + 1, after), 0);
	looked("hazards");
}

int main(void)
{
	return unit_run(setup, teardown);
}
