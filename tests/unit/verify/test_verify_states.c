// SPDX-License-Identifier: MIT
/* Enforcement: what a run lets go, and when. */
#include "test_verify.h"

#include <errno.h>
#include <string.h>

struct run {
	struct npuv_plan *plan;
	struct npuv_states *states;
	struct npumem_verdict verdict;
};

static struct run start(struct build *b)
{
	struct run r;

	r.plan = accept_plan(b);
	build_free(b);
	assert_int_equal(npuv_states_create(r.plan, &r.states), 0);
	return r;
}

static void stop(struct run *r)
{
	npuv_states_destroy(r->states);
	free_plan(r->plan);
}

/* start() of what @build makes. */
static struct run start_of(void (*build)(struct build *b))
{
	struct build b;

	build(&b);
	return start(&b);
}

static void goes(struct run *r, uint32_t position)
{
	assert_int_equal(npuv_states_submit(r->states, position, &r->verdict), 0);
}

/* Refused by a rule, and no state is changed by it. */
static void stays(struct run *r, uint32_t position, uint32_t rule)
{
	uint32_t count = r->plan->graph->cell_count, before[64];

	assert_true(count <= 64);
	memcpy(before, r->states->cells, count * sizeof(*before));
	assert_int_equal(npuv_states_submit(r->states, position, &r->verdict), -EPERM);
	assert_int_equal(r->verdict.rule, rule);
	assert_int_equal(r->verdict.position, position);
	assert_memory_equal(before, r->states->cells, count * sizeof(*before));
}

/* The second result takes the input's bytes: copy must have gone before it. */
static void tight(struct build *b)
{
	chain(b);
	build_placement_at(b, Y)->offset = 0;
}

TEST(plan_order)
{
	struct run r = start_of(tight);

	goes(&r, 0);
	goes(&r, 1);
	/* And again, after a reset. */
	npuv_states_reset(r.states);
	goes(&r, 0);
	goes(&r, 1);
	stop(&r);
}

TEST(read_of_empty)
{
	struct run r = start_of(tight);

	stays(&r, 1, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(r.verdict.step, MIX);
	assert_int_equal(r.verdict.tile, A);
	assert_int_equal(r.verdict.tensor, A);
	assert_int_equal(r.verdict.other_step, COPY);
	assert_int_equal(r.verdict.other_tile, A);
	assert_int_equal(r.verdict.other_tensor, A);
	assert_int_equal(r.verdict.first, 8);
	assert_int_equal(r.verdict.length, 8);
	goes(&r, 0);
	goes(&r, 1);
	stop(&r);
}

TEST(read_of_retired)
{
	struct run r = start_of(tight);

	goes(&r, 0);
	/* x is retired now, and y is to take its bytes. */
	stays(&r, 0, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(r.verdict.step, COPY);
	assert_int_equal(r.verdict.tile, X);
	assert_int_equal(r.verdict.other_step, MIX);
	assert_int_equal(r.verdict.other_tile, Y);
	assert_int_equal(r.verdict.other_tensor, Y);
	goes(&r, 1);
	/* Nobody takes the bytes of a. */
	stays(&r, 1, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(r.verdict.tile, A);
	assert_int_equal(r.verdict.other_step, NPUMEM_NONE);
	assert_int_equal(r.verdict.other_tensor, NPUMEM_NONE);
	stop(&r);
}

/* A step without reads, and one whose reads are still LIVE. */
TEST(twice)
{
	struct build b;
	struct run r;

	chain(&b);
	build_access_at(&b, 0)->tile = A;
	build_access_at(&b, 0)->mode = NPUMEM_ACCESS_WRITE;
	build_access_at(&b, 1)->tile = X;
	build_access_at(&b, 1)->mode = NPUMEM_ACCESS_READ;
	build_access_at(&b, 2)->tile = X;
	r = start(&b);
	goes(&r, 0);
	stays(&r, 0, NPUMEM_RULE_ENFORCE_TWICE);
	assert_int_equal(r.verdict.step, COPY);
	assert_int_equal(r.verdict.tile, NPUMEM_NONE);
	goes(&r, 1);
	stop(&r);
}

/*
 * x -> copy -> a, x -> mix -> y, a -> late -> z where z takes the bytes of x:
 * late must wait for both readers of x.
 */
static void two_readers(struct build *b)
{
	chain(b);
	build_access_at(b, 2)->tile = X;
	b->positions.count = 0;
	b->blocks.count = 0;
	b->plan_blocks.count = 0;
	b->placements.count = 0;
	build_step(b, 0, "late");
	build_access(b, A, NPUMEM_ACCESS_READ);
	build_access(b, build_whole(b, build_tensor(b, NPUMEM_TENSOR_OUTPUT, 8, "z")),
		     NPUMEM_ACCESS_WRITE);
	build_finish(b);
	build_place(b, X, 0);
	build_place(b, A, 8);
	build_place(b, Y, 16);
	build_place(b, 3, 0);
}

TEST(write_over_live)
{
	struct run r = start_of(two_readers);

	goes(&r, 0);
	stays(&r, 2, NPUMEM_RULE_ENFORCE_WRITE);
	assert_int_equal(r.verdict.step, 2);
	assert_int_equal(r.verdict.tile, 3);
	assert_int_equal(r.verdict.tensor, 3);
	assert_int_equal(r.verdict.other_step, MIX);
	assert_int_equal(r.verdict.other_tile, X);
	assert_int_equal(r.verdict.other_tensor, X);
	assert_int_equal(r.verdict.first, 0);
	assert_int_equal(r.verdict.length, 8);
	goes(&r, 1);
	goes(&r, 2);
	stop(&r);
}

/* A result that nobody reads, and one that takes its bytes: in this order only. */
TEST(write_over_empty)
{
	struct build b;
	struct run r;

	two_readers(&b);
	/* mix writes an intermediate that nobody reads where z comes. */
	build_tensor_at(&b, Y)->kind = NPUMEM_TENSOR_INTERMEDIATE;
	build_access_at(&b, 0)->tile = X;
	build_access_at(&b, 2)->tile = build_tile(&b, X, build_region(0, 8));
	build_placement_at(&b, 3)->offset = 16;
	r = start(&b);
	goes(&r, 0);
	stays(&r, 2, NPUMEM_RULE_ENFORCE_WRITE);
	assert_int_equal(r.verdict.other_step, MIX);
	assert_int_equal(r.verdict.other_tile, Y);
	assert_int_equal(r.verdict.other_tensor, Y);
	goes(&r, 1);
	goes(&r, 2);
	stop(&r);
}

/* An order that is not the plan's own, but as good. */
TEST(other_order)
{
	struct run r = start_of(two_readers);

	goes(&r, 1);
	stays(&r, 2, NPUMEM_RULE_ENFORCE_READ);
	goes(&r, 0);
	goes(&r, 2);
	stop(&r);
}

TEST(undo)
{
	uint32_t fresh[8], count;
	struct run r = start_of(two_readers);

	count = r.plan->graph->cell_count;
	assert_true(count <= 8);
	memcpy(fresh, r.states->cells, count * sizeof(*fresh));
	goes(&r, 0);
	goes(&r, 1);
	goes(&r, 2);
	npuv_states_undo(r.states, 2);
	goes(&r, 2);
	npuv_states_undo(r.states, 2);
	npuv_states_undo(r.states, 1);
	stays(&r, 2, NPUMEM_RULE_ENFORCE_WRITE);
	npuv_states_undo(r.states, 0);
	assert_memory_equal(fresh, r.states->cells, count * sizeof(*fresh));
	goes(&r, 0);
	goes(&r, 1);
	goes(&r, 2);
	npuv_states_reset(r.states);
	assert_memory_equal(fresh, r.states->cells, count * sizeof(*fresh));
	stop(&r);
}

/* An update waits for the readers of the old version, those of the new for it. */
TEST(update)
{
	struct build b;
	struct run r;

	two_readers(&b);
	/* copy: x -> a; mix: a -> y; late: a updated in place, -> z */
	build_access_at(&b, 2)->tile = A;
	build_access_at(&b, 4)->mode = NPUMEM_ACCESS_UPDATE;
	r = start(&b);
	goes(&r, 0);
	stays(&r, 2, NPUMEM_RULE_ENFORCE_WRITE);
	assert_int_equal(r.verdict.tensor, A);
	/* The last one to read the old bytes is late itself, so who wrote them. */
	assert_int_equal(r.verdict.other_step, COPY);
	assert_int_equal(r.verdict.other_tensor, A);
	goes(&r, 1);
	goes(&r, 2);
	stop(&r);
}

/*
 * A step that reads the same cells again and again: they are looked at once, but
 * a refusal names the access, and what is counted can be taken back.
 */
TEST(read_again)
{
	const uint32_t cells = 16, reads = 20;
	uint32_t fresh[16], i;
	struct build b;
	struct run r;

	build_init(&b);
	build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, cells, NULL);
	for (i = 0; i < cells; i++) {
		build_step(&b, 0, NULL);
		build_access(&b, build_tile(&b, 0, build_region(i, 1)), NPUMEM_ACCESS_WRITE);
	}
	build_whole(&b, 0);
	build_step(&b, 0, NULL);
	for (i = 0; i < reads; i++)
		build_access(&b, i < reads - 1 ? cells : 3, NPUMEM_ACCESS_READ);
	build_finish(&b);
	build_place(&b, 0, 0);
	r = start(&b);
	assert_true(r.plan->graph->merged_start[cells + 1] > r.plan->graph->merged_start[cells]);
	for (i = 0; i < cells - 1; i++)
		goes(&r, i);
	stays(&r, cells, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(r.verdict.tile, cells);
	assert_int_equal(r.verdict.other_step, cells - 1);
	goes(&r, cells - 1);
	memcpy(fresh, r.states->cells, sizeof(fresh));
	goes(&r, cells);
	for (i = 0; i < cells; i++)
		assert_int_equal(r.states->cells[i], NPUV_RETIRED);
	npuv_states_undo(r.states, cells);
	assert_memory_equal(fresh, r.states->cells, sizeof(fresh));
	goes(&r, cells);
	stays(&r, cells, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(r.verdict.other_step, NPUMEM_NONE);
	stop(&r);
}
