// SPDX-License-Identifier: MIT
/*
 * Copies of what edges carry: prop_copies [SEED [PROGRAMS]].
 *
 * Random models whose loop variables change places, also by way of arms and a loop within, are
 * planned within few instances. The graph with copies means what the one without does: both are
 * computed along random paths. Its plans are verified, played byte by byte and written and read.
 * No copy can be left out, and none lowers the bound.
 */
#include <errno.h>
#include <string.h>

#include "auto.h"
#include "flow_run.h"
#include "npuplan.h"
#include "property.h"

#define MAX_VALUES 32

/* struct tally - what the programs came to */
struct tally {
	unsigned int plans;
	unsigned int copied;
	unsigned int copies;
	unsigned int none;
	unsigned int refused;
	unsigned int smaller;
	unsigned int crossed;
};

/*
 * struct program - a model in the making
 * @values: tensors that have a value where operators are added, @count of them
 * @variables: those of the loop, @variable_count of them
 */
struct program {
	struct npuplan_graph *graph;
	uint32_t values[MAX_VALUES];
	uint32_t count;
	uint32_t variables[8];
	uint32_t variable_count;
};

static uint32_t add_tensor(struct program *p, uint32_t kind, uint64_t size)
{
	struct npuplan_tensor tensor = {
		.size = size,
		.kind = kind,
		.id = p->graph->tensor_count,
	};
	int64_t added = npuplan_graph_add_tensor(p->graph, &tensor);

	if (added < 0)
		fail("tensor: %s", strerror((int)-added));
	return (uint32_t)added;
}

static uint32_t add_op(struct program *p, uint32_t block, uint32_t kind, uint64_t size)
{
	uint32_t out = add_tensor(p, kind, size), inputs[3], count = draw(1, 3);
	struct npuplan_op op = {
		.type = (char *)(uintptr_t)"conv2d",
		.inputs = inputs,
		.outputs = &out,
		.input_count = count,
		.output_count = 1,
		.block = block,
		.attrs = { .axis = -1, .inplace = !draw(0, 3) },
		.id = p->graph->op_count,
	};

	for (uint32_t i = 0; i < count; i++)
		inputs[i] = p->values[draw(0, p->count - 1)];
	if (npuplan_graph_add_op(p->graph, &op) < 0)
		fail("operator");
	return out;
}

static void add_values(struct program *p, uint32_t block, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t out = add_op(p, block, NPUMEM_TENSOR_INTERMEDIATE, 4u << draw(0, 1));

		p->values[p->count++] = out;
	}
}

/* An edge on which each variable takes on a value of its size, or, but at first, keeps its own. */
static void add_edge(struct program *p, uint32_t from, uint32_t to, bool first)
{
	const struct npuplan_tensor *tensors = p->graph->tensors;
	struct npumem_carry carries[8];
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->variable_count; i++) {
		uint32_t variable = p->variables[i], value = p->values[draw(0, p->count - 1)];

		/* Variables change places more often than they take on new values. */
		if (!first && draw(0, 2))
			value = p->variables[(i + draw(0, 1)) % p->variable_count];
		while (tensors[value].size != tensors[variable].size)
			value = p->values[draw(0, p->count - 1)];
		if (value != variable)
			carries[count++] = (struct npumem_carry){ value, variable };
	}
	if (npuplan_graph_add_edge(p->graph, from, to, carries, count) < 0)
		fail("edge");
}

/*
 * Block 0 leads to block 1, from which arms 2 and 3 lead back, and arm 3, at times, to itself;
 * block 4 comes last.
 */
static struct npuplan_graph *random_model(void)
{
	struct program p = { .graph = npuplan_graph_new("model") };
	uint32_t before;

	for (int i = 0; i < 4; i++)
		npuplan_graph_add_block(p.graph);
	p.values[p.count++] = add_tensor(&p, NPUMEM_TENSOR_INPUT, 4);
	p.values[p.count++] = add_tensor(&p, NPUMEM_TENSOR_INPUT, 8);
	add_values(&p, 0, draw(1, 3));
	before = draw(2, 6);
	for (uint32_t i = 0; i < before; i++)
		p.variables[i] = add_tensor(&p, NPUMEM_TENSOR_INTERMEDIATE, 4u << draw(0, 1));
	p.variable_count = before;
	add_edge(&p, 0, 1, true);
	for (uint32_t i = 0; i < p.variable_count; i++)
		p.values[p.count++] = p.variables[i];
	add_values(&p, 1, draw(1, 3));
	before = p.count;
	if (npuplan_graph_add_edge(p.graph, 1, 2, NULL, 0) < 0 ||
	    npuplan_graph_add_edge(p.graph, 1, 3, NULL, 0) < 0 ||
	    npuplan_graph_add_edge(p.graph, 1, 4, NULL, 0) < 0)
		fail("edge");
	for (uint32_t arm = 2; arm < 4; arm++) {
		p.count = before;
		add_values(&p, arm, draw(0, 2));
		add_edge(&p, arm, 1, false);
		if (arm == 3 && draw(0, 1))
			add_edge(&p, arm, arm, false);
	}
	p.count = before;
	add_op(&p, 4, NPUMEM_TENSOR_OUTPUT, 4);
	if (npuplan_graph_add_edge(p.graph, 4, NPUMEM_NONE, NULL, 0) < 0)
		fail("edge");
	return p.graph;
}

/* ---------------------------------------------------------------- meaning */

/*
 * struct machine - a graph that is computed: each tensor's value is a number
 * @trace: of all values that operators have read, but for copies
 */
struct machine {
	const struct npuplan_graph *graph;
	uint64_t values[128];
	uint64_t trace;
	uint32_t block;
};

static void run_block(struct machine *m)
{
	for (uint32_t v = 0; v < m->graph->op_count; v++) {
		const struct npuplan_op *op = &m->graph->ops[v];
		uint64_t value = 0;

		if (op->block != m->block)
			continue;
		if (!strcmp(op->type, "copy")) {
			m->values[op->outputs[0]] = m->values[op->inputs[0]];
			continue;
		}
		for (uint32_t i = 0; i < op->input_count; i++)
			value = random_mix(value + m->values[op->inputs[i]] + i);
		value = random_mix(value + (uint64_t)op->id);
		m->trace = random_mix(m->trace + value);
		m->values[op->outputs[0]] = value + m->trace;
	}
}

static void cross(struct machine *m, uint32_t edge)
{
	const struct npumem_edge *e = &m->graph->edges[edge];
	const struct npumem_carry *carries = &m->graph->carries[e->first_carry];
	uint64_t values[16];

	for (uint32_t i = 0; i < e->carry_count; i++)
		values[i] = m->values[carries[i].from];
	for (uint32_t i = 0; i < e->carry_count; i++)
		m->values[carries[i].to] = values[i];
	m->block = e->to;
}

static uint32_t draw_edge(const struct npuplan_graph *graph, uint32_t block)
{
	uint32_t edge;

	do
		edge = draw(0, graph->edge_count - 1);
	while (graph->edges[edge].from != block);
	return edge;
}

/* The graph with copies computes on every path what the other one does. */
static void check_meaning(const struct npuplan_graph *graph, const struct npuplan_graph *with)
{
	struct machine a = { .graph = graph }, b = { .graph = with };

	if (with->tensor_count > 128)
		return;
	for (uint32_t i = 0; i < 2; i++)
		a.values[i] = b.values[i] = i + 1;
	for (int i = 0; i < 60 && a.block != NPUMEM_NONE; i++) {
		uint32_t edge = draw_edge(graph, a.block);

		run_block(&a);
		run_block(&b);
		cross(&a, edge);
		cross(&b, edge);
		if (b.block != a.block) {
			run_block(&b);
			cross(&b, draw_edge(with, b.block));
		}
		if (a.block != b.block || a.trace != b.trace)
			fail("after %d edges the graph with copies has computed something else", i);
	}
}

/* ------------------------------------------------------------------ plans */

static int tile(const struct npuplan_graph *graph, const struct npuplan_carry_copy *copies,
		uint32_t count, struct npuplan_graph **tiled)
{
	struct npuplan_tiling tiling = {
		.carry_copies = (struct npuplan_carry_copy *)(uintptr_t)copies,
		.carry_copy_count = count,
	};
	int err = npuplan_graph_copy_carries(graph, NULL, 0, tiled, NULL);

	return err ? err : npuplan_graph_tile(*tiled, &tiling, NULL);
}

static void check_json(const struct npuplan_graph *graph, const struct npuplan_graph *tiled,
		       const struct npuplan_plan *plan)
{
	AUTO_GRAPH struct npuplan_graph *again = NULL;
	AUTO_PLAN struct npuplan_plan *back = NULL;
	struct npuplan_tiling tiling;
	struct npuplan_error error = { 0 };
	char *text, *more;

	if (npuplan_plan_to_json(tiled, plan, &text, &error) ||
	    npuplan_json_tiling(graph, text, strlen(text), &tiling, &error))
		fail("plan JSON: %s", error.text);
	if (tile(graph, tiling.carry_copies, tiling.carry_copy_count, &again) ||
	    npuplan_plan_from_json(again, text, strlen(text), &back, &error) ||
	    npuplan_plan_to_json(again, back, &more, &error))
		fail("plan JSON: %s", error.text);
	if (strcmp(text, more))
		fail("plan JSON differs once it is read");
	npuplan_tiling_fini(&tiling);
	free(text);
	free(more);
}

/* A plan by one planner; NULL if that refuses the graph. */
static struct npuplan_plan *plan_by(const struct npuplan_graph *tiled, const char *name)
{
	struct npuplan_options options = { .planner = name, .work_limit = 1000000 };
	struct npuplan_error error;
	struct npuplan_plan *plan;

	if (npuplan_plan(tiled, &options, &plan, &error)) {
		if (!strstr(error.text, "rotate through") && !strstr(error.text, "takes a copy"))
			fail("%s: %s", name, error.text);
		return NULL;
	}
	return plan;
}

static void check_plan(const struct npuplan_graph *graph, const struct npuplan_graph *tiled,
		       const char *name, struct tally *tally)
{
	AUTO_PLAN struct npuplan_plan *plan = plan_by(tiled, name);
	struct npuplan_error error;

	if (!plan)
		fail("%s plans nothing", name);
	if (npuplan_verify_plan(tiled, plan, NULL, &error))
		fail("%s: %s", name, error.text);
	for (uint32_t i = 0; i < 4; i++) {
		struct flow_run run = {
			.seed = property.current + i,
			.edges = 12 * i,
			.inferences = 2,
		};

		if (!flow_run(tiled, plan, &run))
			fail("%s: %s", name, run.text);
		tally->crossed += run.crossed;
	}
	check_json(graph, tiled, plan);
	tally->plans++;
}

/* Without any one of the copies there are too many instances. */
static void check_least(const struct npuplan_graph *graph, const struct npuplan_carry_copies *found,
			uint32_t limit)
{
	for (uint32_t i = 0; i < found->copy_count; i++) {
		struct npuplan_carry_copy less[64];
		AUTO_GRAPH struct npuplan_graph *tiled = NULL;
		AUTO_PLAN struct npuplan_plan *plan = NULL;
		uint32_t count = 0;

		if (found->copy_count > 64)
			return;
		for (uint32_t k = 0; k < found->copy_count; k++)
			if (k != i)
				less[count++] = found->copies[k];
		if (tile(graph, less, count, &tiled))
			fail("a copy less cannot be tiled");
		plan = plan_by(tiled, "greedy-size");
		if (plan && plan->block_count <= limit)
			fail("copy %u can be left out", i);
	}
}

static const char *random_planner(void)
{
	const char *name;

	do
		name = npuplan_planner_name(draw(0, 40));
	while (!name || !flow_planner(name));
	return name;
}

static void check_needed(const struct npuplan_graph *graph, const struct npuplan_plan *without,
			 struct tally *tally)
{
	const struct npuplan_tiling whole = { 0 };
	uint32_t limit = graph->block_count + draw(0, 8);
	AUTO_GRAPH struct npuplan_graph *tiled = NULL;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_carry_copies found;
	struct npuplan_error error;
	int err = npuplan_carry_copies_find(graph, &whole, NULL, NPUPLAN_COPYING_NEEDED, limit,
					    &found, &error);

	if (err == -E2BIG && strstr(error.text, "rotate through more places")) {
		tally->refused++;
		return;
	}
	if (err)
		fail("%s", error.text);
	if (!found.copy_count) {
		if (without && without->block_count > limit)
			fail("%u instances, and nothing is copied", without->block_count);
		tally->none++;
		return;
	}
	if (tile(graph, found.copies, found.copy_count, &tiled))
		fail("the copies cannot be tiled");
	check_meaning(graph, tiled);
	plan = plan_by(tiled, "auto");
	if (!plan || plan->block_count > limit || plan->block_count != found.instances)
		fail("%u instances, not %u", plan ? plan->block_count : 0, found.instances);
	if (without && plan->info.lower_bound < without->info.lower_bound)
		fail("with copies the bound is lower");
	check_plan(graph, tiled, "auto", tally);
	check_plan(graph, tiled, random_planner(), tally);
	check_least(graph, &found, limit);
	tally->copied++;
	tally->copies += found.copy_count;
	npuplan_carry_copies_fini(&found);
}

static void check_smaller(const struct npuplan_graph *graph, struct tally *tally)
{
	const struct npuplan_options options = { .planner = "greedy-size" };
	const struct npuplan_tiling whole = { 0 };
	AUTO_GRAPH struct npuplan_graph *tiled = NULL;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_carry_copies found;
	struct npuplan_error error;

	if (npuplan_carry_copies_find(graph, &whole, &options, NPUPLAN_COPYING_SMALLER, 0, &found,
				      &error))
		fail("smaller: %s", error.text);
	if (found.copy_count && !tile(graph, found.copies, found.copy_count, &tiled)) {
		check_meaning(graph, tiled);
		if (npuplan_plan(tiled, &options, &plan, &error))
			fail("smaller: %s", error.text);
		if (plan->info.arena_size >= found.arena_without)
			fail("an arena of %llu with copies, %llu without",
			     (unsigned long long)plan->info.arena_size,
			     (unsigned long long)found.arena_without);
		check_plan(graph, tiled, "greedy-size", tally);
		tally->smaller++;
	}
	npuplan_carry_copies_fini(&found);
}

int main(int argc, char **argv)
{
	struct tally tally = { 0 };

	property_begin(argc, argv, 20261128, 400);
	for (unsigned long i = 0; i < property.cases; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = NULL, *tiled = NULL;
		AUTO_PLAN struct npuplan_plan *without = NULL;

		property_case(i);
		graph = random_model();
		if (tile(graph, NULL, 0, &tiled))
			fail("the model cannot be tiled");
		without = plan_by(tiled, "auto");
		check_needed(graph, without, &tally);
		if (without && without->block_count < 200)
			check_smaller(graph, &tally);
	}
	printf("%u plans verified and played, %u edges crossed, %u programs with %u copies, %u need none, %u cannot have as few instances; %u smaller with copies\n",
	       tally.plans, tally.crossed, tally.copied, tally.copies, tally.none, tally.refused,
	       tally.smaller);
	if (property.cases >= 400 &&
	    (tally.copied < 40 || !tally.none || !tally.refused || !tally.smaller))
		fail("too few of some kind");
	return 0;
}
