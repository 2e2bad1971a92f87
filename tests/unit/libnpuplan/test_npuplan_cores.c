// SPDX-License-Identifier: MIT
/*
 * npuplan_plan() with planner cosma for several cores, and with break nodes; copies from core to
 * core. What is found, and every refusal.
 */
#include <errno.h>

#include "npuplan_build.h"

static void tile(struct npuplan_graph *graph, struct npuplan_tiling tiling)
{
	struct npuplan_error error;

	tiling.inputs = NPUPLAN_INPUTS_HOST;
	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
}

static uint64_t traffic(const struct npuplan_plan *plan)
{
	return plan->info.spill_bytes + plan->info.fill_bytes;
}

/* ---------------------------------------------------------------- break nodes */

/*
 * Two chains of the input, whose ends are added: in 1 -> a 4 -> b 1, in -> c 4 -> d 1; b, d -> out.
 * Steps: 0 make_a, 1 make_b, 2 make_c, 3 make_d, 4 join.
 */
static struct npuplan_graph *two_chains(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("chains");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t d = build_tensor(graph, "d", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);

	build_op(graph, "make_a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "make_b", a, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "make_c", in, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "make_d", c, NPUMEM_NONE, NPUMEM_NONE, d);
	build_op(graph, "join", b, d, NPUMEM_NONE, out);
	return graph;
}

/* struct asked - options with all that they point to */
struct asked {
	struct npuplan_options options;
	struct npuplan_cosma_options own;
	struct npuplan_core cores[NPUPLAN_CORES + 1];
	uint32_t core_of[8];
	uint32_t breaks[3];
};

static struct asked *asked(struct asked *asked)
{
	*asked = (struct asked){
		.options = { .planner = "cosma", .cosma = &asked->own },
		.own = { .size = sizeof(asked->own) },
	};
	return asked;
}

static struct npuplan_plan *planned(const struct npuplan_graph *graph, const struct asked *asked)
{
	struct npuplan_plan *plan = build_plan_of(graph, &asked->options);
	struct npuplan_error error;

	if (npuplan_verify_plan(graph, plan, NULL, &error))
		fail_msg("%s", error.text);
	return plan;
}

static void refused(const struct npuplan_graph *graph, const struct asked *asked, int status,
		    const char *text)
{
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { 0 };

	assert_int_equal(npuplan_plan(graph, &asked->options, &plan, &error), status);
	assert_string_equal(error.text, text);
	assert_null(plan);
}

static void breaks_at(struct asked *asked, uint32_t count, uint32_t a, uint32_t b, uint32_t c)
{
	asked->own.breaks = asked->breaks;
	asked->own.break_count = count;
	asked->breaks[0] = a;
	asked->breaks[1] = b;
	asked->breaks[2] = c;
}

/* The step that runs at a position among the steps. */
static uint32_t step_at(const struct npuplan_plan *plan, uint32_t number)
{
	for (uint32_t p = 0; p < plan->position_count; p++)
		if (plan->positions[p].kind == NPUMEM_POSITION_STEP && !number--)
			return plan->positions[p].index;
	return NPUMEM_NONE;
}

TEST(breaks)
{
	AUTO_GRAPH struct npuplan_graph *graph = two_chains();
	struct npuplan_plan *plan;
	struct asked all;

	tile(graph, (struct npuplan_tiling){ 0 });
	asked(&all)->options.arena_budget = 6;
	/* What makes d comes first, and nothing need move. */
	breaks_at(&all, 1, 3, 0, 0);
	plan = planned(graph, &all);
	assert_int_equal(step_at(plan, 0), 2);
	assert_int_equal(step_at(plan, 1), 3);
	assert_int_equal(traffic(plan), 0);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	npuplan_plan_free(plan);
	/*
	 * With c on chip it is better to go on with d; divided behind c, that is as well. Of the
	 * free order nothing is proved.
	 */
	all.options.arena_budget = 7;
	breaks_at(&all, 1, 2, 0, 0);
	plan = planned(graph, &all);
	assert_int_equal(step_at(plan, 0), 2);
	npuplan_plan_free(plan);
}

/*
 * in 1 -> a 4, b 4 (both of in); a -> c 1; b -> d 1; c, d -> out 1. Divided behind a where b's
 * chain is short of room: c could run first, which needs no break of its own.
 */
TEST(breaks_prove_of_what)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("wide");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t d = build_tensor(graph, "d", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	struct npuplan_plan *plan;
	struct asked all;

	build_op(graph, "make_b", in, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "make_a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "make_c", a, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "make_d", b, c, NPUMEM_NONE, d);
	build_op(graph, "join", c, d, NPUMEM_NONE, out);
	tile(graph, (struct npuplan_tiling){ 0 });
	asked(&all)->options.arena_budget = 7;
	plan = planned(graph, &all);
	assert_int_equal(traffic(plan), 0);
	npuplan_plan_free(plan);
	/* Behind b a does not fit beside it: b is spilled and filled. */
	breaks_at(&all, 1, 0, 0, 0);
	plan = planned(graph, &all);
	assert_int_equal(traffic(plan), 8);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	assert_int_equal(plan->cosma->traffic_bound, 0);
	assert_int_equal(plan->cosma->split_bound, 8);
	npuplan_plan_free(plan);
	/* For the least peak, too, nothing is proved but of orders that are divided. */
	all.options.arena_budget = 0;
	plan = planned(graph, &all);
	assert_int_equal(plan->info.arena_size, 9);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	assert_int_equal(plan->info.lower_bound, 0);
	npuplan_plan_free(plan);
	/* What a step needs it needs in any order. */
	all.options.arena_budget = 6;
	refused(graph, &all, -ENOSPC,
		"infeasible: make_d needs 7 bytes (7 B), the budget is 6 (6 B)");
	all.options.arena_budget = 7;
	/* Each order is divided behind the step before the last: that proves what it did before. */
	breaks_at(&all, 1, 3, 0, 0);
	plan = planned(graph, &all);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->cosma->split_bound, 0);
	npuplan_plan_free(plan);
}

TEST(breaks_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = two_chains();
	struct npuplan_bank banks[] = { { 8, 1 }, { 8, 2 } };
	struct npuplan_recompute recompute;
	struct npuplan_error error;
	struct asked all;
	char *text;
	size_t size;

	tile(graph, (struct npuplan_tiling){ 0 });
	asked(&all)->options.arena_budget = 9;
	breaks_at(&all, 1, 5, 0, 0);
	refused(graph, &all, -EINVAL, "break nodes: there is no step 5");
	breaks_at(&all, 3, 1, 0, 1);
	refused(graph, &all, -EINVAL, "break node 'make_b' is given twice");
	breaks_at(&all, 2, 3, 1, 0);
	refused(graph, &all, -EINVAL,
		"break nodes 'make_b' and 'make_d' do not depend on one another: what runs between "
		"them is not said");
	breaks_at(&all, 1, 4, 0, 0);
	refused(graph, &all, -EINVAL, "nothing runs behind break node 'join'");
	breaks_at(&all, 1, 1, 0, 0);
	all.options.schedule = NPUPLAN_SCHEDULE_GIVEN;
	refused(graph, &all, -EOPNOTSUPP,
		"break nodes divide an order that the planner chooses, not one that is given");
	all.options.schedule = NPUPLAN_SCHEDULE_FREE;
	all.options.planner = "cosma-belady";
	refused(graph, &all, -EOPNOTSUPP, "break nodes are of planner cosma's search");
	all.options.planner = "cosma";
	assert_int_equal(npuplan_lp_write(graph, &all.options, &text, &size, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "break nodes are of planner cosma's search");
	assert_int_equal(npuplan_recompute_find(graph, &(struct npuplan_tiling){ 0 }, &all.options,
						0, &recompute, &error),
			 -EOPNOTSUPP);
	assert_string_equal(error.text,
			    "operators run again without break nodes and several cores");
	all.options.arena_budget = 0;
	all.own.banks = banks;
	refused(graph, &all, -EOPNOTSUPP, "two banks are planned without break nodes");
}

TEST(loops_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("loop");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4);
	struct npuplan_tiling tiling = { 0 };
	struct npuplan_error error;
	struct asked all;

	build_op(graph, "op", in, NPUMEM_NONE, NPUMEM_NONE, out);
	assert_int_equal(npuplan_graph_add_edge(graph, 0, NPUMEM_NONE, NULL, 0), 0);
	asked(&all);
	assert_int_equal(npuplan_link_copies_find(graph, all.core_of, false, &tiling, &error),
			 -EOPNOTSUPP);
	assert_string_equal(error.text, "what other cores read is copied only in a graph without "
					"loops and branches");
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	breaks_at(&all, 1, 0, 0, 0);
	refused(graph, &all, -EOPNOTSUPP, "break nodes are of graphs without loops and branches");
	all.own.break_count = 0;
	all.own.core_count = 1;
	refused(graph, &all, -EOPNOTSUPP,
		"several cores are planned for graphs without loops and branches");
}

/* ---------------------------------------------------------------- two cores */

/* The same chains, each on a core of its own, b and d being added on the first one. */
static void two_cores(struct asked *all, struct npuplan_graph *graph)
{
	static const uint32_t core_of[] = { 0, 0, 1, 1, 0 };
	struct npuplan_tiling tiling = { 0 };
	struct npuplan_error error;

	asked(all);
	if (npuplan_link_copies_find(graph, core_of, false, &tiling, &error))
		fail_msg("%s", error.text);
	tile(graph, tiling);
	npuplan_tiling_fini(&tiling);
	/* in is read on core 0 first, and copied for make_c; d is copied for join. */
	memcpy(all->core_of, (const uint32_t[]){ 0, 0, NPUMEM_NONE, 1, 1, NPUMEM_NONE, 0 },
	       7 * sizeof(uint32_t));
	memcpy(all->cores, (const struct npuplan_core[]){ { "a", 6 }, { "b", 5 } },
	       2 * sizeof(struct npuplan_core));
	all->own.cores = all->cores;
	all->own.core_count = 2;
	all->own.core_of = all->core_of;
}

TEST(copies)
{
	AUTO_GRAPH struct npuplan_graph *graph = two_chains();
	struct asked all;

	two_cores(&all, graph);
	assert_int_equal(graph->op_count, 7);
	assert_int_equal(graph->tiling.link_copy_count, 2);
	assert_int_equal(graph->tiling.link_copies[0].tensor, 100);
	assert_int_equal(graph->tiling.link_copies[0].reader_count, 1);
	assert_int_equal(graph->tiling.link_copies[0].readers[0], 1002);
	assert_int_equal(graph->tiling.link_copies[1].tensor, 104);
	assert_int_equal(graph->tiling.link_copies[1].readers[0], 1004);
	assert_string_equal(graph->ops[2].type, "copy");
	assert_string_equal(graph->ops[2].name, "copy in#106");
	assert_int_equal(graph->ops[2].id, 1005);
	assert_int_equal(graph->ops[2].inputs[0], 0);
	assert_int_equal(graph->ops[2].outputs[0], 6);
	assert_string_equal(graph->tensors[6].name, "in#106");
	assert_int_equal(graph->tensors[6].kind, NPUMEM_TENSOR_INTERMEDIATE);
	assert_int_equal(graph->ops[3].inputs[0], 6);
	assert_int_equal(graph->ops[6].inputs[0], 2);
	assert_int_equal(graph->ops[6].inputs[1], 7);
}

TEST(cores)
{
	AUTO_GRAPH struct npuplan_graph *graph = two_chains();
	struct npuplan_plan *plan;
	struct asked all;

	two_cores(&all, graph);
	plan = planned(graph, &all);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(traffic(plan), 0);
	assert_int_equal(plan->cosma->core_count, 2);
	assert_int_equal(plan->cosma->link_bytes, 2);
	assert_int_equal(plan->cosma->cores[0].needed, 5);
	assert_int_equal(plan->cosma->cores[1].needed, 5);
	assert_string_equal(plan->cosma->cores[1].core.name, "b");
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		uint32_t t = plan->placements[i].tensor;
		bool second = t == 3 || t == 4 || t == 6;

		assert_int_equal(plan->placements[i].offset >= 6, second);
	}
	npuplan_plan_free(plan);
	/* The graph's order, too. */
	all.options.schedule = NPUPLAN_SCHEDULE_GIVEN;
	plan = planned(graph, &all);
	for (uint32_t s = 0; s < graph->step_count; s++)
		assert_int_equal(step_at(plan, s), s);
	npuplan_plan_free(plan);
}

TEST(core_too_small)
{
	AUTO_GRAPH struct npuplan_graph *graph = two_chains();
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { 0 };
	struct asked all;

	two_cores(&all, graph);
	all.cores[1].size = 4;
	assert_int_equal(npuplan_plan(graph, &all.options, &plan, &error), -ENOSPC);
	assert_string_equal(error.text,
			    "infeasible: make_c needs 5 bytes (5 B), core 'b' has 4 (4 B)");
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(error.step, 3);
	assert_int_equal(error.needed, 5);
}

/* Inputs that are on chip from the start need room, too. */
TEST(core_too_small_at_first)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("inputs");
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INPUT, 4);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INPUT, 4);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	struct npuplan_error error;
	struct asked all;

	build_op(graph, "make_c", a, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "join", b, c, NPUMEM_NONE, out);
	assert_int_equal(
		npuplan_graph_tile(graph,
				   &(struct npuplan_tiling){ .inputs = NPUPLAN_INPUTS_RESIDENT },
				   &error),
		0);
	asked(&all)->own.cores = all.cores;
	all.own.core_of = all.core_of;
	all.own.core_count = 1;
	all.cores[0] = (struct npuplan_core){ "a", 7 };
	refused(graph, &all, -ENOSPC,
		"infeasible: what is on chip from the start needs 8 bytes (8 B), core 'a' has 7 "
		"(7 B)");
}

/* In place of what is read twice, of which it is not known which one makes room. */
TEST(in_place_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("place");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4);
	const struct npumem_region whole = { .length = 4, .count = { 1, 1, 1 } };
	const struct npumem_access accesses[] = {
		{ (uint32_t)npuplan_graph_add_tile(graph, in, &whole), NPUMEM_ACCESS_READ,
		  NPUMEM_NONE },
		{ (uint32_t)npuplan_graph_add_tile(graph, in, &whole), NPUMEM_ACCESS_READ,
		  NPUMEM_NONE },
		{ (uint32_t)npuplan_graph_add_tile(graph, out, &whole), NPUMEM_ACCESS_WRITE, 0 },
	};
	struct asked all;

	build_op(graph, "op", in, in, NPUMEM_NONE, out);
	assert_int_equal(
		npuplan_graph_add_step(graph, &(struct npuplan_step){ .op = 0 }, accesses, 3), 0);
	asked(&all)->own.cores = all.cores;
	all.own.core_of = all.core_of;
	all.own.core_count = 1;
	all.cores[0] = (struct npuplan_core){ "a", 64 };
	refused(graph, &all, -EOPNOTSUPP,
		"several cores: an operator works in place on bytes that cosma does not know as one "
		"tensor's");
}

TEST(cores_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = two_chains();
	struct npuplan_bank banks[] = { { 8, 1 }, { 8, 2 } };
	struct npuplan_machine machine = { .size = sizeof(machine), .compute = 1, .copy = 1 };
	struct asked all;

	two_cores(&all, graph);
#define REFUSED(STATUS, TEXT, ...)                   \
	do {                                         \
		struct asked now = all;              \
		now.options.cosma = &now.own;        \
		now.own.cores = now.cores;           \
		now.own.core_of = now.core_of;       \
		__VA_ARGS__;                         \
		refused(graph, &now, -STATUS, TEXT); \
	} while (0)
	REFUSED(EOPNOTSUPP, "several cores are of planner cosma's search",
		now.options.planner = "cosma-greedy");
	REFUSED(EOPNOTSUPP, "several cores are planned without banks and break nodes",
		now.own.banks = banks);
	REFUSED(EOPNOTSUPP, "several cores are planned without banks and break nodes",
		breaks_at(&now, 1, 1, 0, 0));
	REFUSED(EOPNOTSUPP, "several cores are planned for the least traffic",
		now.options.objective = NPUPLAN_OBJECTIVE_PEAK);
	REFUSED(EINVAL, "the least time is planned within a budget: which?",
		now.own.machine = &machine, now.options.objective = NPUPLAN_OBJECTIVE_TIME);
	REFUSED(EOPNOTSUPP, "several cores are planned for the least traffic",
		now.own.machine = &machine, now.options.objective = NPUPLAN_OBJECTIVE_TIME,
		now.options.arena_budget = 11);
	REFUSED(EOPNOTSUPP, "several cores are planned in a free order, or the graph's",
		now.options.schedule = NPUPLAN_SCHEDULE_LEAST_PEAK);
	REFUSED(EOPNOTSUPP, "several cores are planned in a free order, or the graph's",
		now.options.schedule = NPUPLAN_SCHEDULE_TILED);
	REFUSED(EINVAL, "several cores have budgets of their own: the arena has none",
		now.options.arena_budget = 11);
	REFUSED(EINVAL, "9 cores are more than 8", now.own.core_count = 9);
	REFUSED(EINVAL, "it is not said which core runs which operator", now.own.cores = NULL);
	REFUSED(EINVAL, "it is not said which core runs which operator", now.own.core_of = NULL);
	REFUSED(EINVAL, "core 1: a name has 1 to 15 characters", now.cores[1].name[0] = '\0');
	REFUSED(EINVAL, "core 1: a name is of letters, digits and _-.",
		now.cores[1].name[0] = '\xff');
	REFUSED(EINVAL, "core 0: a name has 1 to 15 characters",
		memset(now.cores[0].name, 'x', sizeof(now.cores[0].name)));
	REFUSED(EINVAL, "there are two cores 'a'", now.cores[1].name[0] = 'a');
	REFUSED(EINVAL, "core 'b': 0 bytes are no scratchpad", now.cores[1].size = 0);
	REFUSED(EINVAL, "core 'b': 1152921504606846976 bytes are no scratchpad",
		now.cores[1].size = 1ull << 60);
	REFUSED(EINVAL, "core 'b': 5 bytes are no multiple of the largest alignment, 2",
		now.options.alignment = 2);
	REFUSED(EINVAL, "operator 'make_a' has no core", now.core_of[0] = NPUMEM_NONE);
	REFUSED(EINVAL, "operator 'make_b' is of core 2: there are 2", now.core_of[1] = 2);
	REFUSED(EINVAL, "core 'c' runs no operator", now.own.core_count = 3,
		now.cores[2] = ((struct npuplan_core){ "c", 4 }));
	REFUSED(EINVAL,
		"operator 'make_b' of core 'b' reads 'a', which lies in core 'a': a copy is missing",
		now.core_of[1] = 1);
#undef REFUSED
}

/* A tensor's alignment counts, as that of all does. */
TEST(core_alignment)
{
	AUTO_GRAPH struct npuplan_graph *graph = two_chains();
	struct asked all;

	graph->tensors[1].align = 4;
	two_cores(&all, graph);
	refused(graph, &all, -EINVAL,
		"core 'a': 6 bytes are no multiple of the largest alignment, 4");
}

static void refused_tensor(uint32_t kind, uint32_t flags, uint32_t alias_of, const char *text)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("one");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t a = build_tensor(graph, "a", kind, 4);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4);
	struct asked all;

	graph->tensors[a].flags = flags;
	graph->tensors[a].alias_of = alias_of;
	if (kind == NPUMEM_TENSOR_STATE || flags & NPUMEM_TENSOR_FLAG_ALIAS) {
		build_op(graph, "first", in, NPUMEM_NONE, NPUMEM_NONE, out);
		build_op(graph, "second", out, a, NPUMEM_NONE,
			 build_tensor(graph, "more", NPUMEM_TENSOR_OUTPUT, 4));
	} else {
		build_op(graph, "first", in, NPUMEM_NONE, NPUMEM_NONE, a);
		build_op(graph, "second", a, NPUMEM_NONE, NPUMEM_NONE, out);
	}
	tile(graph, (struct npuplan_tiling){ 0 });
	asked(&all)->own.cores = all.cores;
	all.own.core_of = all.core_of;
	all.own.core_count = 1;
	all.cores[0] = (struct npuplan_core){ "a", 64 };
	refused(graph, &all, -EOPNOTSUPP, text);
}

TEST(tensors_refused)
{
	refused_tensor(NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_FLAG_FIXED, NPUMEM_NONE,
		       "'a' is at a fixed offset, which several cores do not have");
	refused_tensor(NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_FLAG_ALIAS, 0,
		       "'a' is an alias, which several cores do not have");
	refused_tensor(NPUMEM_TENSOR_STATE, 0, NPUMEM_NONE,
		       "'a' is state, which several cores do not have");
}

TEST(steps_refused)
{
	AUTO_GRAPH struct npuplan_graph *blob = npuplan_graph_new("blob");
	AUTO_GRAPH struct npuplan_graph *tiles = npuplan_graph_new("tiles");
	uint32_t in = build_tensor(blob, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t out = build_tensor(blob, "out", NPUMEM_TENSOR_OUTPUT, 4);
	struct asked all;

	build_step(blob, 0, in, NPUMEM_NONE, out);
	asked(&all)->own.cores = all.cores;
	all.own.core_of = all.core_of;
	all.own.core_count = 1;
	all.cores[0] = (struct npuplan_core){ "a", 64 };
	refused(blob, &all, -EOPNOTSUPP,
		"of steps without operators it is not known which core runs them");
	in = build_spatial(tiles, "in", NPUMEM_TENSOR_INPUT, 1, 1, 4, 4);
	out = build_spatial(tiles, "out", NPUMEM_TENSOR_OUTPUT, 1, 1, 4, 4);
	build_op(tiles, "relu", in, NPUMEM_NONE, NPUMEM_NONE, out);
	tiles->source_layout = NPUPLAN_NCHW;
	tile(tiles, (struct npuplan_tiling){ .bands = 2 });
	refused(tiles, &all, -EOPNOTSUPP,
		"operator 'relu' is cut into tiles: cores run whole ones");
}

TEST(too_many_steps)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("long");
	uint32_t last = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	static const uint32_t core_of[16385];
	struct asked all;

	for (uint32_t v = 0; v < 16385; v++) {
		uint32_t next = build_tensor(
			graph, "", v < 16384 ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT,
			1);

		build_op(graph, "op", last, NPUMEM_NONE, NPUMEM_NONE, next);
		last = next;
	}
	tile(graph, (struct npuplan_tiling){ 0 });
	asked(&all)->own.cores = all.cores;
	all.own.core_of = core_of;
	all.own.core_count = 1;
	all.cores[0] = (struct npuplan_core){ "a", 64 };
	refused(graph, &all, -E2BIG, "16385 steps are more than several cores take, 16384");
}

/* ---------------------------------------------------------------- link copies */

static void copy_refused(const struct npuplan_graph *graph, int status, int64_t tensor,
			 const int64_t *readers, uint32_t count, const char *text)
{
	struct npuplan_link_copy copy = {
		.tensor = tensor,
		.readers = (int64_t *)(uintptr_t)readers,
		.reader_count = count,
	};
	struct npuplan_graph *out;
	struct npuplan_error error = { 0 };

	assert_int_equal(npuplan_graph_copy_links(graph, &copy, 1, &out, &error), status);
	assert_string_equal(error.text, text);
	assert_null(out);
}

TEST(copies_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = two_chains();
	struct npuplan_link_copy copy = { .tensor = 100,
					  .readers = (int64_t[]){ 1002 },
					  .reader_count = 1 };
	struct npuplan_tiling tiling = { .link_copies = &copy, .link_copy_count = 1 };
	struct npuplan_tile_choice choice = { 0 };
	struct npuplan_error error = { 0 };

	copy_refused(graph, -EINVAL, 99, (int64_t[]){ 1002 }, 1, "there is no tensor 99");
	copy_refused(graph, -EINVAL, 100, NULL, 0, "tensor 100 is copied for nobody");
	copy_refused(graph, -EINVAL, 100, (int64_t[]){ 7 }, 1,
		     "operator 7 does not read tensor 100");
	copy_refused(graph, -EINVAL, 100, (int64_t[]){ 1003 }, 1,
		     "operator 1003 does not read tensor 100");
	copy_refused(graph, -EINVAL, 100, (int64_t[]){ 1000, 1000 }, 2,
		     "tensor 100 is copied twice for operator 1000");
	/* By two copies. */
	tiling.link_copies = (struct npuplan_link_copy[]){ copy, copy };
	tiling.link_copy_count = 2;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -EINVAL);
	assert_string_equal(error.text, "tensor 100 is copied twice for operator 1002");
	tiling.link_copies = &copy;
	tiling.link_copy_count = 1;
	tiling.ops = &choice;
	tiling.op_count = 1;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -EINVAL);
	assert_string_equal(error.text,
			    "where what other cores read is copied, no operator is cut in a way of "
			    "its own, or runs again, and no carry is copied");
	graph->tensors[5].id = INT64_MAX;
	copy_refused(
		graph, -EOVERFLOW, 100, (int64_t[]){ 1002 }, 1,
		"what other cores read cannot be copied: Value too large for defined data type");
	graph->tensors[5].id = 105;
	graph->ops[4].id = INT64_MAX;
	copy_refused(
		graph, -EOVERFLOW, 100, (int64_t[]){ 1002 }, 1,
		"what other cores read cannot be copied: Value too large for defined data type");
	graph->ops[4].id = 1004;
	graph->tensors[0].kind = NPUMEM_TENSOR_STATE;
	copy_refused(graph, -EOPNOTSUPP, 100, (int64_t[]){ 1002 }, 1,
		     "'in' cannot be copied to another core: it is state");
	tiling = (struct npuplan_tiling){ 0 };
	assert_int_equal(npuplan_link_copies_find(graph, (uint32_t[]){ 0, 0, 1, 1, 0 }, false,
						  &tiling, &error),
			 -EOPNOTSUPP);
	assert_null(tiling.link_copies);
	graph->tensors[0].kind = NPUMEM_TENSOR_INPUT;
	tile(graph, tiling);
	copy_refused(graph, -EINVAL, 100, (int64_t[]){ 1002 }, 1,
		     "what other cores read is copied only in a graph that is not tiled yet");
}
