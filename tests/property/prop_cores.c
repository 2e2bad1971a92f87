// SPDX-License-Identifier: MIT
/*
 * Planner cosma for several cores, and with break nodes, on random small graphs: every plan passes
 * the verifier and can be executed byte by byte; all that a core's operators read and write lies in
 * its range; all that a break node needs runs before all else. Against an exhaustive search of all
 * orders and transfers no plan moves less, no bound is above it, and what is called optimal is it.
 *
 * The search for an order of several cores is no proof: how often it reaches the least is printed,
 * and must be most of the times. The exhaustive search has no addresses.
 *
 * usage: prop_cores [SEED [CASES]]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "cosma_case.h"
#include "cosma_plan.h"

#define SLOTS	  (1u << 20)
#define MAX_COST  512
#define NONE	  UINT64_MAX
#define TOO_LARGE (UINT64_MAX - 1)
#define MOST	  16
#define CORES	  3

/*
 * struct machine - a graph and what it runs on
 * @core_of: per operator, where it writes
 * @home: per tensor, the core where it lies
 * @before: per operator, a set of operators that have to run before it
 * @aligned: some tensors lie at multiples of 2
 */
struct machine {
	struct npuplan_graph *graph;
	struct npuplan_core core[CORES];
	uint32_t cores;
	uint32_t core_of[MOST];
	uint32_t home[MOST];
	uint32_t before[MOST];
	bool aligned;
};

static void random_graph(struct machine *machine)
{
	struct npuplan_graph *graph = npuplan_graph_new("random");
	uint32_t ops = draw(6, 9), inputs = draw(1, 2);

	machine->aligned = draw(0, 1);
	for (uint32_t i = 0; i < inputs; i++)
		draw_tensor(graph, NPUMEM_TENSOR_INPUT, 3, machine->aligned);
	for (uint32_t v = 0; v < ops; v++) {
		bool last = v + 1 == ops || !draw(0, 9);
		uint32_t read[3], known = graph->tensor_count;
		uint32_t kind = last ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE;
		uint32_t output = draw_tensor(graph, kind, 6, machine->aligned);
		struct npuplan_op op = {
			.inputs = read,
			.outputs = &output,
			.input_count = draw(1, known < 3 ? known : 3),
			.output_count = 1,
			.attrs = { .groups = 1, .axis = -1 },
			.id = 10 + v,
		};

		/* Few read the one before, so that there are several orders. */
		for (uint32_t k = 0; k < op.input_count; k++)
			read[k] = draw(0, 2) ? draw(0, known - 1) : known - 1;
		if (npuplan_graph_add_op(graph, &op) < 0)
			abort();
	}
	machine->graph = graph;
}

/* ------------------------------------------------------- exhaustive search */

/* On chip, in host memory (16 bits each), what has run, which inputs were loaded. */
static uint64_t *seen;
static uint16_t *seen_cost;
static uint64_t *queue[MAX_COST];
static uint32_t queued[MAX_COST], room[MAX_COST], held;

static uint32_t slot_of(uint64_t key)
{
	uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 44);

	for (; seen[slot] && seen[slot] != key + 1; slot = (slot + 1) % SLOTS)
		;
	return slot;
}

static void push(uint64_t key, uint64_t cost)
{
	uint32_t slot;

	if (cost >= MAX_COST || held > SLOTS / 2)
		return;
	slot = slot_of(key);
	if (seen[slot] && seen_cost[slot] <= cost)
		return;
	held += !seen[slot];
	seen[slot] = key + 1;
	seen_cost[slot] = (uint16_t)cost;
	if (queued[cost] == room[cost]) {
		room[cost] = room[cost] ? 2 * room[cost] : 256;
		queue[cost] = realloc(queue[cost], room[cost] * sizeof(*queue[cost]));
		if (!queue[cost])
			abort();
	}
	queue[cost][queued[cost]++] = key;
}

/* Whether the tensors of a set have room in their cores. */
static bool fits(const struct machine *machine, uint32_t set)
{
	uint64_t bytes[CORES] = { 0 };

	for (uint32_t t = 0; t < machine->graph->tensor_count; t++)
		if (set >> t & 1)
			bytes[machine->home[t]] += machine->graph->tensors[t].size;
	for (uint32_t c = 0; c < machine->cores; c++)
		if (bytes[c] > machine->core[c].size)
			return false;
	return true;
}

static void move(const struct machine *machine, uint64_t key, uint64_t cost)
{
	uint32_t chip = key & 0xffff, host = key >> 16 & 0xffff;

	for (uint32_t t = 0; t < machine->graph->tensor_count; t++) {
		uint64_t size = machine->graph->tensors[t].size, bit = 1ull << t;
		bool input = machine->graph->tensors[t].kind == NPUMEM_TENSOR_INPUT;

		if (chip & bit) {
			push(key & ~bit, cost);
			if (!(host & bit))
				push((key & ~bit) | bit << 16, cost + size);
		} else if (host & bit && fits(machine, chip | bit)) {
			/* The first load of an input is compulsory. */
			bool first = input && !(key >> 48 & bit);

			push(key | bit | (input ? bit << 48 : 0), cost + (first ? 0 : size));
		}
	}
}

static void expand(const struct machine *machine, uint64_t key, uint64_t cost)
{
	const struct npuplan_graph *graph = machine->graph;
	uint32_t chip = key & 0xffff, done = key >> 32 & 0xffff;

	move(machine, key, cost);
	for (uint32_t v = 0; v < graph->op_count; v++) {
		const struct npuplan_op *op = &graph->ops[v];
		uint64_t out = 1ull << op->outputs[0], next = key | 1ull << (32 + v) | out;
		uint32_t in = 0;

		for (uint32_t k = 0; k < op->input_count; k++)
			in |= 1u << op->inputs[k];
		if (done >> v & 1 || (chip & in) != in || machine->before[v] & ~done ||
		    !fits(machine, chip | (uint32_t)out))
			continue;
		if (graph->tensors[op->outputs[0]].kind == NPUMEM_TENSOR_OUTPUT)
			next |= out << 16;
		push(next, cost);
	}
}

/* The least bytes that are spilled and filled; NONE: there is no way. */
static uint64_t exhaustive(const struct machine *machine)
{
	uint64_t start = 0;

	memset(seen, 0, SLOTS * sizeof(*seen));
	memset(queued, 0, sizeof(queued));
	held = 0;
	for (uint32_t t = 0; t < machine->graph->tensor_count; t++)
		if (machine->graph->tensors[t].kind == NPUMEM_TENSOR_INPUT)
			start |= 1ull << (16 + t);
	push(start, 0);
	for (uint64_t cost = 0; cost < MAX_COST; cost++)
		for (uint32_t i = 0; i < queued[cost]; i++) {
			uint64_t key = queue[cost][i];

			if (held > SLOTS / 2)
				return TOO_LARGE;
			if (seen_cost[slot_of(key)] < cost)
				continue;
			if ((key >> 32 & 0xffff) == (1u << machine->graph->op_count) - 1)
				return cost;
			expand(machine, key, cost);
		}
	return NONE;
}

/* ------------------------------------------------------------------- cases */

/* struct tally - of one kind of case, what came out */
struct tally {
	unsigned long planned, moving, least, optimal, given, too_large, infeasible;
};

static struct cosma_settings settings_of(const struct machine *machine)
{
	struct cosma_settings settings = { 0 };

	for (uint32_t c = 0; c < machine->cores; c++)
		settings.common.arena_budget += machine->core[c].size;
	return settings;
}

static void tile(struct machine *machine, const struct npuplan_tiling *tiling)
{
	struct cosma_settings settings = settings_of(machine);
	struct npuplan_error error;

	if (npuplan_graph_tile(machine->graph, tiling, &error))
		FAIL(machine->graph, &settings, "%s", error.text);
}

/* Finds where tensors lie, by the operators alone. */
static void find_homes(struct machine *machine)
{
	const struct npuplan_graph *graph = machine->graph;
	bool known[MOST] = { false };

	for (uint32_t v = graph->op_count; v-- > 0;) {
		const struct npuplan_op *op = &graph->ops[v];

		/* A copy lies where it is read, what it is of where another one reads it. */
		if (machine->core_of[v] == NPUMEM_NONE)
			machine->core_of[v] = machine->home[op->outputs[0]];
		for (uint32_t k = 0; k < op->input_count; k++)
			if (strcmp(op->type, "copy") || !known[op->inputs[k]]) {
				known[op->inputs[k]] = true;
				machine->home[op->inputs[k]] = machine->core_of[v];
			}
	}
	for (uint32_t v = 0; v < graph->op_count; v++)
		machine->home[graph->ops[v].outputs[0]] = machine->core_of[v];
}

/* Some bytes more than the operators of each core need. */
static void draw_sizes(struct machine *machine)
{
	const struct npuplan_graph *graph = machine->graph;

	for (uint32_t c = 0; c < machine->cores; c++) {
		uint64_t most = 0;

		for (uint32_t v = 0; v < graph->op_count; v++) {
			const struct npuplan_op *op = &graph->ops[v];
			uint32_t set = 1u << op->outputs[0];
			uint64_t bytes = 0;

			for (uint32_t k = 0; k < op->input_count; k++)
				set |= 1u << op->inputs[k];
			for (uint32_t t = 0; t < graph->tensor_count; t++)
				if (set >> t & 1 && machine->home[t] == c)
					bytes += graph->tensors[t].size;
			most = bytes > most ? bytes : most;
		}
		/* Less than is needed once in a while: then there is no plan. */
		most += draw(0, 3) ? 0 : 2;
		most -= draw(0, 24) ? 0 : 2;
		/* A multiple of all alignments. */
		most += machine->aligned ? most % 2 : 0;
		machine->core[c].size = most ? most : 2;
		snprintf(machine->core[c].name, sizeof(machine->core[c].name), "core%" PRIu32, c);
	}
}

/* All placements of a tensor are in the range of the core where it lies. */
static void check_ranges(const struct machine *machine, const struct npuplan_plan *plan)
{
	struct cosma_settings settings = settings_of(machine);

	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];
		uint32_t home = machine->home[placement->tensor];
		uint64_t first = 0;

		for (uint32_t c = 0; c < home; c++)
			first += machine->core[c].size;
		if (placement->offset < first ||
		    placement->offset + placement->region.length > first + machine->core[home].size)
			FAIL(machine->graph, &settings,
			     "placement %" PRIu32 " of tensor %" PRIu32 " is not in core %" PRIu32,
			     i, placement->tensor, home);
	}
}

/* Each operator runs behind those that have to run before it. */
static void check_order(const struct machine *machine, const struct npuplan_plan *plan)
{
	struct cosma_settings settings = settings_of(machine);
	uint32_t done = 0;

	for (uint32_t p = 0; p < plan->position_count; p++) {
		if (plan->positions[p].kind != NPUMEM_POSITION_STEP)
			continue;
		if (machine->before[plan->positions[p].index] & ~done)
			FAIL(machine->graph, &settings, "step %" PRIu32 " runs too early",
			     plan->positions[p].index);
		done |= 1u << plan->positions[p].index;
	}
}

/* Compares a plan, or that there is none, with what is the least. Returns its traffic. */
static uint64_t check_plan(const struct machine *machine, const struct npuplan_options *options,
			   uint64_t least, struct tally *tally)
{
	struct cosma_settings settings = settings_of(machine);
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { 0 };
	struct cosma_oracle oracle;
	uint64_t traffic, bound;
	int err = npuplan_plan(machine->graph, options, &plan, &error);

	/* There may be no addresses where the bytes would be enough. */
	if (err == -ENOSPC && error.status == NPUMEM_PLAN_STATUS_INFEASIBLE) {
		if (strstr(error.text, " needs ") && least != NONE && !machine->aligned)
			FAIL(machine->graph, &settings, "%s; the least is %" PRIu64, error.text,
			     least);
		tally->infeasible++;
		return NONE;
	}
	if (err == -ETIMEDOUT && strstr(error.text, "unknown: "))
		return NONE;
	if (err)
		FAIL(machine->graph, &settings, "%s", error.text);
	if (!cosma_plan_run(&oracle, machine->graph, &settings, plan))
		FAIL(machine->graph, &settings, "%s", oracle.why);
	check_ranges(machine, plan);
	check_order(machine, plan);
	traffic = plan->info.spill_bytes + plan->info.fill_bytes;
	bound = plan->cosma->split_bound > plan->cosma->traffic_bound ? plan->cosma->split_bound :
									plan->cosma->traffic_bound;
	if (least == NONE)
		FAIL(machine->graph, &settings, "a plan where there is none");
	if (traffic < least || bound > traffic)
		FAIL(machine->graph, &settings,
		     "%" PRIu64 " bytes, bound %" PRIu64 ", the least is %" PRIu64, traffic, bound,
		     least);
	tally->planned++;
	tally->moving += traffic > 0;
	tally->least += traffic == least;
	tally->optimal += plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL;
	npuplan_plan_free(plan);
	return traffic;
}

static void check_cores(struct machine *machine, struct tally *tally)
{
	struct npuplan_tiling tiling = { .inputs = NPUPLAN_INPUTS_HOST };
	struct npuplan_cosma_options own = { .size = sizeof(own) };
	struct npuplan_options options = { .planner = "cosma", .cosma = &own };
	uint32_t core_of[MOST], ops = machine->graph->op_count, at = 0;
	struct cosma_settings settings = settings_of(machine);
	struct npuplan_error error;
	uint64_t least, traffic, given;

	machine->cores = draw(0, 5) ? 2 : CORES;
	for (uint32_t v = 0; v < ops; v++)
		core_of[v] = v < machine->cores ? v : draw(0, machine->cores - 1);
	if (npuplan_link_copies_find(machine->graph, core_of, false, &tiling, &error))
		FAIL(machine->graph, &settings, "%s", error.text);
	tally->too_large += machine->graph->tensor_count + tiling.link_copy_count > MOST;
	if (machine->graph->tensor_count + tiling.link_copy_count > MOST) {
		npuplan_tiling_fini(&tiling);
		return;
	}
	tile(machine, &tiling);
	npuplan_tiling_fini(&tiling);
	for (uint32_t v = 0; v < machine->graph->op_count; v++)
		machine->core_of[v] =
			machine->graph->ops[v].id < 10 + (int64_t)ops ? core_of[at++] : NPUMEM_NONE;
	own.cores = machine->core;
	own.core_count = machine->cores;
	own.core_of = memcpy(core_of, machine->core_of, sizeof(core_of));
	find_homes(machine);
	draw_sizes(machine);
	least = exhaustive(machine);
	tally->too_large += least == TOO_LARGE;
	if (least == TOO_LARGE)
		return;
	traffic = check_plan(machine, &options, least, tally);
	/* In the order that is given it can be no less. */
	options.schedule = NPUPLAN_SCHEDULE_GIVEN;
	given = check_plan(machine, &options, least, &(struct tally){ 0 });
	if (given < traffic)
		FAIL(machine->graph, &settings,
		     "%" PRIu64 " bytes, %" PRIu64 " in the graph's order", traffic, given);
	tally->given += given == traffic;
}

/* All that an operator needs, itself included. */
static uint32_t needs(const struct npuplan_graph *graph, uint32_t v)
{
	uint32_t set = 1u << v;

	for (uint32_t u = v + 1; u-- > 0;)
		for (uint32_t w = 0; set >> u & 1 && w < u; w++)
			for (uint32_t k = 0; k < graph->ops[u].input_count; k++)
				if (graph->ops[u].inputs[k] == graph->ops[w].outputs[0])
					set |= 1u << w;
	return set;
}

static void check_breaks(struct machine *machine, struct tally *tally)
{
	const struct npuplan_tiling tiling = { .inputs = NPUPLAN_INPUTS_HOST };
	struct npuplan_cosma_options own = { .size = sizeof(own) };
	struct npuplan_options options = { .planner = "cosma", .cosma = &own };
	uint32_t nodes[2], n = machine->graph->op_count, all = (1u << n) - 1, set = 0;

	own.breaks = nodes;
	machine->cores = 1;
	tile(machine, &tiling);
	find_homes(machine);
	draw_sizes(machine);
	/* Each one depends on the one before, and something runs behind it. */
	for (uint32_t v = 0; v < n && own.break_count < 2; v++) {
		uint32_t more = needs(machine->graph, v);

		if ((set & ~more) || more == all || draw(0, 1))
			continue;
		set = more;
		for (uint32_t u = 0; u < n; u++)
			machine->before[u] |= set >> u & 1 ? 0 : set;
		nodes[own.break_count++] = v;
	}
	if (own.break_count == 2 && draw(0, 1)) {
		uint32_t other = nodes[0];

		nodes[0] = nodes[1];
		nodes[1] = other;
	}
	options.arena_budget = machine->core[0].size;
	check_plan(machine, &options, exhaustive(machine), tally);
}

static bool print(const char *what, const struct tally *tally)
{
	printf("# %s: %lu planned, of which %lu move; %lu at the least of all orders, %lu called "
	       "optimal; %lu infeasible; %lu too large to tell\n",
	       what, tally->planned, tally->moving, tally->least, tally->optimal, tally->infeasible,
	       tally->too_large);
	return 20 * tally->least >= 19 * tally->planned && 10 * tally->moving >= tally->planned;
}

int main(int argc, char **argv)
{
	struct tally cores = { 0 }, breaks = { 0 };
	bool ok;

	property_begin(argc, argv, 30311, 1000);
	seen = malloc(SLOTS * sizeof(*seen));
	seen_cost = malloc(SLOTS * sizeof(*seen_cost));
	if (!seen || !seen_cost)
		abort();
	for (unsigned long i = 0; i < property.cases; i++) {
		struct machine machine = { 0 };

		property_case(i);
		random_graph(&machine);
		if (draw(0, 2))
			check_cores(&machine, &cores);
		else
			check_breaks(&machine, &breaks);
		npuplan_graph_free(machine.graph);
	}
	for (uint32_t i = 0; i < MAX_COST; i++)
		free(queue[i]);
	free(seen);
	free(seen_cost);
	ok = print("cores", &cores);
	ok = print("break nodes", &breaks) && ok;
	if (property.cases >= 300 && !ok) {
		printf("not ok - too few plans move anything, or are at the least\n");
		return 1;
	}
	printf("ok - %lu graphs; in the order of the graph %lu of %lu plans for cores move as "
	       "little\n",
	       property.cases, cores.given, cores.planned);
	return 0;
}
