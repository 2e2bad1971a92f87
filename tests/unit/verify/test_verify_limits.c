// SPDX-License-Identifier: MIT
/*
 * Limits, interruption and lack of memory: refused, and nothing leaks. Built
 * with the verifier's own sources, NPUV_INTERRUPTED=test_interrupted, and
 * calloc() wrapped.
 */
#include "test_verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls that succeed before one fails; negative: none fails. */
static int calls_left = -1;
static int interrupts_left = -1;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
int test_interrupted(void);

void *__wrap_calloc(size_t count, size_t size)
{
	return calls_left-- ? __real_calloc(count, size) : NULL;
}

int test_interrupted(void)
{
	return interrupts_left-- ? 0 : -EINTR;
}

/* A graph of n steps in a row on one tensor each, all read by the last one. */
static void fan(struct build *b, uint32_t n)
{
	uint32_t i;

	build_init(b);
	for (i = 0; i < n; i++) {
		build_whole(b, build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 4, NULL));
		build_step(b, 0, NULL);
		build_access(b, i, NPUMEM_ACCESS_WRITE);
	}
	build_step(b, 0, NULL);
	for (i = 0; i < n; i++)
		build_access(b, i, NPUMEM_ACCESS_READ);
	build_finish(b);
	for (i = 0; i < n; i++)
		build_place(b, i, 4 * i);
}

struct attempt {
	struct build_blob graph, plan;
	struct npumem_verdict verdict;
	char text[256];
	bool planned; /* the graph was accepted */
};

static int try(struct attempt *t, const struct npuv_limits *limits, bool with_states)
{
	struct npuv_graph *graph = NULL;
	struct npuv_plan *plan = NULL;
	struct npuv_states *states = NULL;
	struct npuv_log log;
	int err;

	npuv_log_init(&log, 1, t->text, sizeof(t->text));
	err = npuv_graph_create(t->graph.data, t->graph.size, limits, &log, &t->verdict, &graph);
	t->planned = !err;
	if (!err)
		err = npuv_plan_create(graph, t->plan.data, t->plan.size, limits, &log, &t->verdict,
				       &plan);
	if (!err && with_states)
		err = npuv_states_create(plan, &states);
	npuv_states_destroy(states);
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
	return err;
}

static void begin(struct attempt *t, void (*build)(struct build *b, uint32_t n), uint32_t n)
{
	struct build b;

	build(&b, n);
	t->graph = build_graph(&b);
	t->plan = build_plan(&b);
	build_free(&b);
}

static void end(struct attempt *t)
{
	free(t->graph.data);
	free(t->plan.data);
}

/* The graph of three, refused by limits with a text; in the plan if planned. */
static void refuse(struct npuv_limits limits, bool planned, const char *text)
{
	struct attempt t;

	begin(&t, fan, 3);
	assert_int_equal(try(&t, &limits, false), -E2BIG);
	assert_string_equal(t.text, text);
	assert_int_equal(t.planned, planned);
	assert_int_equal(t.verdict.rule, NPUMEM_RULE_NONE);
	end(&t);
}

TEST(limits)
{
	struct npuv_limits l = npuv_default_limits;

	l.max_blob = 100;
	refuse(l, false, "limit: blob has 736 bytes, at most 100 are taken\n");
	l = npuv_default_limits;
	l.max_accesses = 5;
	refuse(l, false, "limit: section 2 (accesses) has 6 records, at most 5 are taken\n");
	l = npuv_default_limits;
	l.max_chunks = 5;
	refuse(l, false, "limit: more than 5 chunks of tiles, at tensor 2\n");
	l = npuv_default_limits;
	l.max_visits = 20;
	refuse(l, false, "limit: more than 20 visits of chunks and cells\n");
}

/* The graph has six chunks; the plan of many small pieces has more. */
TEST(plan_limits)
{
	struct npuv_limits l = npuv_default_limits;
	struct attempt t;
	struct build b;

	l.max_chunks = 6;
	fan(&b, 3);
	build_placement_at(&b, 1)->region = build_strided(0, 1, 4, 1);
	build_placement_at(&b, 1)->stride[0] = 2;
	build_placement_at(&b, 1)->offset = 16;
	b.info.arena_size = 64;
	build_place(&b, 0, 30);
	t.graph = build_graph(&b);
	t.plan = build_plan(&b);
	assert_int_equal(try(&t, &l, false), -E2BIG);
	assert_string_equal(t.text, "limit: more than 6 chunks of placements, at tensor 2\n");
	assert_true(t.planned);
	end(&t);
	/* Five chunks of one tensor that cut each other into more extents. */
	b.placements.count = 2;
	build_placement_at(&b, 1)->tensor = 0;
	build_placement_at(&b, 1)->from = 3;
	t.graph = build_graph(&b);
	t.plan = build_plan(&b);
	assert_int_equal(try(&t, &l, false), -E2BIG);
	assert_string_equal(t.text, "limit: more than 6 extents of placements, at tensor 0\n");
	end(&t);
	build_free(&b);
}

/*
 * loop() with its body unrolled into n instances, n even, in a ring; with views,
 * an alias and an external tensor.
 */
static void ring(struct build *b, uint32_t n)
{
	uint32_t i, *slots;
	struct npumem_view *view;

	loop(b);
	build_tensor(b, NPUMEM_TENSOR_INPUT, 4, "seen");
	build_tensor_at(b, 4)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_tensor(b, NPUMEM_TENSOR_OUTPUT, 4, "view");
	build_tensor_at(b, 5)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(b, 5)->alias_of = LY;
	build_access_at(b, 5)->inplace = 0;
	b->placements.count = 2;
	b->entries.count = 1;
	b->positions.count = 1;
	b->plan_blocks.count = 1;
	b->plan_edges.count = 1;
	view = build_add(&b->views, 1);
	view->tensor = LH;
	view->type = NPUMEM_VIEW_CYCLIC;
	view->repeat = n;
	view->loop = 1;
	view->slot_count = n;
	slots = build_add(&b->slots, n);
	for (i = 0; i < n; i++) {
		build_instance(b, 1);
		slots[i] = build_enter(b, LH, i % 2 ? 16 : 8);
		build_place_here(b, LT, i % 2 ? 8 : 16);
		build_plan_edge(b, 1 + i, 1 + (i + 1) % n, 1);
		build_plan_edge(b, 1 + i, n + 1 + i % 2, 2);
	}
	for (i = 0; i < 2; i++) {
		build_instance(b, 2);
		build_enter(b, LH, i ? 8 : 16);
		build_place_here(b, LY, i ? 8 : 16);
		build_plan_edge(b, n + 1 + i, NPUMEM_NONE, 3);
	}
}

/* The same with n tensors that are spilled and filled, the first one loaded. */
static void moved(struct build *b, uint32_t n)
{
	uint32_t i, last = 3 * n + 1;

	fan(b, n);
	build_whole(b, build_tensor(b, NPUMEM_TENSOR_INPUT, 4, NULL));
	build_tensor_at(b, n)->flags = NPUMEM_TENSOR_FLAG_HOST;
	build_access(b, n, NPUMEM_ACCESS_READ);
	b->positions.count = 0;
	b->placements.count = 0;
	for (i = 0; i <= last; i++) {
		struct npumem_position *p = build_add(&b->positions, 1);

		/* Written, spilled, next one; filled, next one; the first one's load; read. */
		p->placement = NPUMEM_NONE;
		if (i == last || (i < 2 * n && i % 2 == 0)) {
			p->index = i == last ? n : i / 2;
			continue;
		}
		p->kind = i < 2 * n ? NPUMEM_POSITION_SPILL :
			  i < 3 * n ? NPUMEM_POSITION_FILL :
				      NPUMEM_POSITION_LOAD;
		p->index = i < 2 * n ? i / 2 : i - 2 * n;
		p->length = 4;
		p->host_offset = 4ull * p->index;
		p->placement = p->kind == NPUMEM_POSITION_SPILL ? p->index : n + p->index;
	}
	for (i = 0; i < n; i++)
		build_place_region(b, i, 2 * i, 2 * i + 1, 0, build_region(0, 4));
	for (i = 0; i <= n; i++)
		build_place_region(b, i, 2 * n + i, last, 4ull * i, build_region(0, 4));
	b->info.host_size = 4ull * (n + 1);
	build_plan_block_at(b, 0)->position_count = b->positions.count;
}

/*
 * struct exhausted - a program that is tried until nothing fails any more
 * @build: what is tried, of size @n
 * @least: how many tries fail at least
 */
struct exhausted {
	void (*build)(struct build *b, uint32_t n);
	uint32_t n;
	int least;
};

/* One more @left each time is there before @error. */
static void exhaust(const struct exhausted *e, int *left, int error)
{
	struct attempt t;
	int n, err;

	begin(&t, e->build, e->n);
	for (n = 0;; n++) {
		*left = n;
		err = try(&t, &npuv_default_limits, true);
		*left = -1;
		if (!err)
			break;
		assert_int_equal(err, error);
		if (error == -ENOMEM)
			assert_string_equal(t.text, "");
	}
	assert_true(n > e->least);
	end(&t);
}

/* Each call for memory fails once. */
static void no_memory(void **state)
{
	exhaust(*state, &calls_left, -ENOMEM);
}

/* A fatal signal at each of the places where one is looked for. */
static void interrupt(void **state)
{
	exhaust(*state, &interrupts_left, -EINTR);
}

#define EXHAUST(name, function, ...) \
	TEST_CASE(name, function, NULL, NULL, struct exhausted, __VA_ARGS__)
EXHAUST(no_memory, no_memory, fan, 3, 30)
EXHAUST(interrupt, interrupt, fan, 10000, 10)
EXHAUST(moved_no_memory, no_memory, moved, 3, 100)
EXHAUST(moved_interrupt, interrupt, moved, 10000, 30)
EXHAUST(ring_no_memory, no_memory, ring, 4, 150)
EXHAUST(ring_interrupt, interrupt, ring, 400, 10)

/* Whatever the limit on visits is, it is kept to and said. */
TEST(moved_limits)
{
	struct npuv_limits l = npuv_default_limits;
	bool planned = false;
	struct attempt t;
	char text[64];
	int err;

	begin(&t, moved, 3);
	for (l.max_visits = 0;; l.max_visits++) {
		err = try(&t, &l, false);
		if (!err)
			break;
		assert_int_equal(err, -E2BIG);
		snprintf(text, sizeof(text), "limit: more than %llu visits of chunks and cells\n",
			 l.max_visits);
		assert_string_equal(t.text, text);
		planned |= t.planned;
	}
	assert_true(planned);
	end(&t);
}

/* Instances and cells are counted before there is memory for both together. */
TEST(ring_limits)
{
	struct npuv_limits l = npuv_default_limits;
	struct attempt t;

	begin(&t, ring, 1000);
	l.max_accesses = 1000;
	assert_int_equal(try(&t, &l, false), -E2BIG);
	assert_string_equal(t.text,
			    "limit: section 1 (placements) has 2006 records, at most 1000 are "
			    "taken\n");
	l = npuv_default_limits;
	l.max_visits = 20000;
	assert_int_equal(try(&t, &l, false), -E2BIG);
	assert_string_equal(t.text, "limit: more than 20000 visits of chunks and cells\n");
	assert_true(t.planned);
	assert_int_equal(t.verdict.rule, NPUMEM_RULE_NONE);
	end(&t);
}

/* All steps of a fan but the last, which reads what they wrote; nothing interrupts them. */
static void write_fan(struct npuv_states *states, uint32_t n)
{
	struct npumem_verdict v;
	uint32_t i;

	interrupts_left = -1;
	npuv_states_reset(states);
	for (i = 0; i < n; i++)
		assert_int_equal(npuv_states_submit(states, i, &v), 0);
}

/* A step of many cells ends in the midst of them, and states are whole after a reset. */
TEST(states_interrupted)
{
	const uint32_t n = 50000;
	struct npuv_graph *graph = NULL;
	struct npuv_plan *plan = NULL;
	struct npuv_states *states = NULL;
	struct attempt t;
	uint32_t ticks = 0;
	int i, err = -EINTR;

	begin(&t, fan, n);
	assert_int_equal(npuv_graph_create(t.graph.data, t.graph.size, &npuv_default_limits, NULL,
					   &t.verdict, &graph),
			 0);
	assert_int_equal(npuv_plan_create(graph, t.plan.data, t.plan.size, &npuv_default_limits,
					  NULL, &t.verdict, &plan),
			 0);
	assert_int_equal(npuv_states_create(plan, &states), 0);
	/* A position, its accesses, and a cell of each. */
	assert_int_equal(npuv_states_work(plan, 0, &ticks), 3);
	assert_int_equal(npuv_states_work(plan, n, &ticks), 1 + n + n);
	for (i = 0; err; i++) {
		write_fan(states, n);
		interrupts_left = i;
		err = npuv_states_submit(states, n, &t.verdict);
		assert_true(!err || err == -EINTR);
	}
	/* Asked every 8192 units of work, of which it had five an access of one cell. */
	assert_in_range(i, 5 * n / 8192, 5 * n / 8192 + 2);
	interrupts_left = 0;
	assert_int_equal(npuv_states_undo(states, n), -EINTR);
	write_fan(states, n);
	assert_int_equal(npuv_states_submit(states, n, &t.verdict), 0);
	assert_int_equal(npuv_states_undo(states, n), 0);
	assert_int_equal(npuv_states_submit(states, n, &t.verdict), 0);
	interrupts_left = -1;
	npuv_states_destroy(states);
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
	end(&t);
}

TEST(log)
{
	struct attempt t;
	struct npuv_graph *graph = NULL;
	struct npuv_plan *plan = NULL;
	struct npuv_log log;
	char small[8];

	begin(&t, fan, 3);
	/* Statistics at level 2. */
	npuv_log_init(&log, 2, t.text, sizeof(t.text));
	assert_int_equal(npuv_graph_create(t.graph.data, t.graph.size, &npuv_default_limits, &log,
					   &t.verdict, &graph),
			 0);
	assert_int_equal(npuv_plan_create(graph, t.plan.data, t.plan.size, &npuv_default_limits,
					  &log, &t.verdict, &plan),
			 0);
	assert_non_null(strstr(t.text, "graph: 3 tensors, 4 steps, 6 accesses, 3 cells, "));
	assert_non_null(strstr(t.text, "plan: 4 positions, 3 placements, 3 extents, 0 predecessors "
				       "of 3 cells, arena of 12 bytes, "));
	assert_int_equal(log.used, strlen(t.text));
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
	/* What does not fit is counted. */
	((struct npumem_blob_header *)t.graph.data)->version = 9;
	npuv_log_init(&log, 1, small, sizeof(small));
	assert_int_equal(npuv_graph_create(t.graph.data, t.graph.size, &npuv_default_limits, &log,
					   &t.verdict, &graph),
			 -EOPNOTSUPP);
	assert_string_equal(small, "format:");
	assert_int_equal(log.used, strlen("format: version 9, only 1 is known\n"));
	/* Level 0, and no buffer. */
	npuv_log_init(&log, 0, t.text, sizeof(t.text));
	npuv_log(&log, "%d", 1);
	assert_string_equal(t.text, "");
	npuv_log_init(&log, 1, NULL, 77);
	npuv_log(&log, "%d", 123);
	assert_int_equal(log.used, 4);
	npuv_log(NULL, "nobody listens");
	end(&t);
}
