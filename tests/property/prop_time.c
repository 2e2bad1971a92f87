// SPDX-License-Identifier: MIT
/*
 * How long plans take, and plans of planner cosma for the least time, on random small graphs: what
 * npuplan_timing_find() says is what comes out if every byte of the arena remembers when it was
 * written and read last; no plan takes longer than the one of least traffic, or less than the
 * bound; every plan passes the verifier and can be executed byte by byte; same input, same
 * output. Of tiny graphs all places of the transfers, in the order and in the arena, are tried.
 *
 * usage: prop_time [SEED [CASES]]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "cosma_case.h"
#include "cosma_plan.h"

#define MAX_EVENTS 16
#define MAX_STAYS  16
#define MAX_BYTES  64
#define MAX_NODES  300000

static struct {
	unsigned long planned, fixed, states, moved, quicker, at_bound, inplace, staged, tried,
		best, too_large;
} seen;

static struct npuplan_graph *random_graph(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("random");
	uint32_t ops = draw(2, 7), first = draw(1, 2), most = draw(1, 6), params = draw(0, 2);
	bool inplace = draw(0, 1);

	for (uint32_t t = 0; t < first; t++)
		draw_tensor(graph, NPUMEM_TENSOR_INPUT, most, false);
	for (uint32_t t = 0; t < params; t++)
		draw_tensor(graph, NPUMEM_TENSOR_PARAMETER, most, false);
	for (uint32_t v = 0; v < ops; v++) {
		uint32_t inputs[3], outputs[2], made = graph->tensor_count;
		struct npuplan_op op = {
			.inputs = inputs,
			.outputs = outputs,
			.input_count = draw(1, 3),
			.output_count = draw(0, 5) ? 1 : 2,
			.id = v,
		};

		for (uint32_t k = 0; k < op.input_count; k++)
			inputs[k] = draw(0, 1) ? draw(made > 4 ? made - 4 : 0, made - 1) :
						 draw(0, made - 1);
		for (uint32_t k = 0; k < op.output_count; k++)
			outputs[k] = draw_tensor(graph,
						 v + 1 == ops || !draw(0, 7) ?
							 NPUMEM_TENSOR_OUTPUT :
							 NPUMEM_TENSOR_INTERMEDIATE,
						 most, false);
		op.attrs.inplace = inplace && draw(0, 2);
		if (op.attrs.inplace && draw(0, 7))
			graph->tensors[outputs[0]].size = graph->tensors[inputs[0]].size;
		seen.inplace += op.attrs.inplace;
		npuplan_graph_add_op(graph, &op);
	}
	return graph;
}

/* Fixes some offsets of tensors that steps use. */
static void draw_fixed(struct npuplan_graph *graph)
{
	for (uint32_t a = 0; a < graph->access_count; a++) {
		struct npuplan_tensor *tensor =
			&graph->tensors[graph->tiles[graph->accesses[a].tile].tensor];

		if (draw(0, 5) || tensor->flags & NPUMEM_TENSOR_FLAG_FIXED)
			continue;
		tensor->flags |= NPUMEM_TENSOR_FLAG_FIXED;
		tensor->fixed_offset = draw(0, 12);
		seen.fixed++;
	}
}

static void add_state(struct npuplan_graph *graph)
{
	struct npuplan_tensor state = {
		.size = draw(1, 4),
		.align = 1,
		.kind = NPUMEM_TENSOR_STATE,
		.id = graph->tensor_count,
	};

	npuplan_graph_add_tensor(graph, &state);
	seen.states++;
}

static bool has_state(const struct npuplan_graph *graph)
{
	return graph->tensors[graph->tensor_count - 1].kind == NPUMEM_TENSOR_STATE;
}

/* ------------------------------------------------------------- byte by byte */

/* What the time of a step or a transfer is by its definition, in picoseconds. */
static uint64_t over(uint64_t units, uint64_t rate)
{
	return rate ? (units * 1000000 + rate - 1) / rate : 0;
}

static uint64_t step_time(const struct npuplan_graph *graph, const struct npuplan_machine *machine,
			  uint32_t s)
{
	const struct npuplan_op *op = &graph->ops[graph->steps[s].op];
	uint64_t bytes = 0, elements = 0, access, compute;

	for (uint32_t a = 0; a < graph->steps[s].access_count; a++) {
		const struct npumem_access *at = &graph->accesses[graph->steps[s].first_access + a];

		bytes += graph->tensors[graph->tiles[at->tile].tensor].size;
	}
	/* No operator here has a type, so that elements count, of a byte each. */
	for (uint32_t k = 0; k < op->output_count; k++)
		elements += graph->tensors[op->outputs[k]].size;
	access = over(bytes, machine->access);
	compute = over(elements, machine->compute);
	return access > compute ? access : compute;
}

static uint64_t copy_time(const struct npuplan_machine *machine, uint64_t bytes)
{
	return over(bytes, machine->copy) + machine->latency * 1000;
}

/* struct bytes - per byte of the arena, when it was written last, and used last */
struct bytes {
	uint64_t written[MAX_BYTES];
	uint64_t used[MAX_BYTES];
};

static uint64_t ready(const struct bytes *bytes, uint64_t first, uint64_t size, bool writes)
{
	uint64_t time = 0;

	for (uint64_t b = first; b < first + size; b++) {
		uint64_t at = writes ? bytes->used[b] : bytes->written[b];

		time = at > time ? at : time;
	}
	return time;
}

static void done(struct bytes *bytes, uint64_t first, uint64_t size, bool writes, uint64_t end)
{
	for (uint64_t b = first; b < first + size; b++) {
		if (writes)
			bytes->written[b] = end;
		if (writes || bytes->used[b] < end)
			bytes->used[b] = end;
	}
}

static const struct npumem_placement *placement_at(const struct npuplan_plan *plan, uint32_t tensor,
						   uint32_t position)
{
	for (uint32_t i = 0; i < plan->placement_count; i++)
		if (plan->placements[i].tensor == tensor && plan->placements[i].from <= position &&
		    position <= plan->placements[i].to)
			return &plan->placements[i];
	return NULL;
}

static uint64_t step_end(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			 uint32_t p, uint64_t start, uint64_t time, struct bytes *bytes)
{
	const struct npuplan_step *step = &graph->steps[plan->positions[p].index];

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t a = 0; a < step->access_count; a++) {
			const struct npumem_access *at = &graph->accesses[step->first_access + a];
			const struct npumem_placement *placement =
				placement_at(plan, graph->tiles[at->tile].tensor, p);
			bool writes = at->mode & NPUMEM_ACCESS_WRITE;
			uint64_t size, from;

			if (!placement)
				continue;
			size = placement->region.length;
			from = ready(bytes, placement->offset, size, writes);
			if (pass)
				done(bytes, placement->offset, size, writes, start + time);
			else
				start = from > start ? from : start;
		}
	}
	return start + time;
}

static uint64_t play(const struct npuplan_graph *graph, const struct npuplan_machine *machine,
		     const struct npuplan_plan *plan)
{
	struct bytes bytes = { 0 };
	uint64_t steps = 0, copies = 0;

	for (uint32_t p = 0; p < plan->position_count; p++) {
		const struct npumem_position *at = &plan->positions[p];
		bool writes = at->kind == NPUMEM_POSITION_LOAD || at->kind == NPUMEM_POSITION_FILL;
		uint64_t first, free;

		if (at->kind == NPUMEM_POSITION_DROP)
			continue;
		if (at->kind == NPUMEM_POSITION_STEP) {
			steps = step_end(graph, plan, p, steps,
					 step_time(graph, machine, at->index), &bytes);
			continue;
		}
		first = plan->placements[at->placement].offset;
		free = ready(&bytes, first, at->length, writes);
		copies = (free > copies ? free : copies) + copy_time(machine, at->length);
		done(&bytes, first, at->length, writes, copies);
	}
	return steps > copies ? steps : copies;
}

/* ------------------------------------------------------------- all places */

/*
 * struct event - a step, or a transfer of one stay; stay numbers in sets of bits
 * @reads, @makes: stays
 * @after: events that come before it in any case
 */
struct event {
	uint64_t time;
	uint32_t reads;
	uint32_t makes;
	uint32_t after;
	bool step;
};

static struct trying {
	struct event events[MAX_EVENTS];
	uint32_t event_count;
	uint64_t size[MAX_STAYS];
	uint32_t stay_count;
	uint64_t capacity;
	uint64_t best;
	unsigned long nodes;
} trying;

/*
 * struct world - while events are put one behind the other
 * @at: per stay, its address
 * @live: stays that somebody still reads
 */
struct world {
	struct bytes bytes;
	uint64_t at[MAX_STAYS];
	uint32_t live;
	uint32_t done;
	uint64_t steps;
	uint64_t copies;
};

static uint32_t readers_left(const struct world *world, uint32_t stay)
{
	uint32_t left = 0;

	for (uint32_t e = 0; e < trying.event_count; e++)
		left += !(world->done >> e & 1) && trying.events[e].reads >> stay & 1;
	return left;
}

static void try_all(const struct world *world);

/* Runs event @e, whose outputs have addresses. */
static void run(const struct world *before, uint32_t e)
{
	const struct event *event = &trying.events[e];
	struct world world = *before;
	uint64_t start = event->step ? world.steps : world.copies, from;

	for (uint32_t i = 0; i < trying.stay_count; i++) {
		if (!((event->reads | event->makes) >> i & 1))
			continue;
		from = ready(&world.bytes, world.at[i], trying.size[i], event->makes >> i & 1);
		start = from > start ? from : start;
	}
	start += event->time;
	for (uint32_t i = 0; i < trying.stay_count; i++)
		if ((event->reads | event->makes) >> i & 1)
			done(&world.bytes, world.at[i], trying.size[i], event->makes >> i & 1,
			     start);
	*(event->step ? &world.steps : &world.copies) = start;
	world.done |= 1u << e;
	world.live |= event->makes;
	for (uint32_t i = 0; i < trying.stay_count; i++)
		if (world.live >> i & 1 && !readers_left(&world, i))
			world.live &= ~(1u << i);
	try_all(&world);
}

/* Gives the stays of @e from @i on all addresses. */
static void place(const struct world *world, uint32_t e, uint32_t i)
{
	while (i < trying.stay_count && !(trying.events[e].makes >> i & 1))
		i++;
	if (i == trying.stay_count) {
		run(world, e);
		return;
	}
	for (uint64_t at = 0; at + trying.size[i] <= trying.capacity; at++) {
		struct world next = *world;
		bool free = true;

		for (uint32_t k = 0; k < trying.stay_count; k++)
			free &= !((world->live | (trying.events[e].makes & ((1u << i) - 1))) >> k &
				  1) ||
				at + trying.size[i] <= world->at[k] ||
				world->at[k] + trying.size[k] <= at;
		next.at[i] = at;
		if (free)
			place(&next, e, i + 1);
	}
}

static void try_all(const struct world *world)
{
	uint64_t now = world->steps > world->copies ? world->steps : world->copies;

	if (trying.nodes++ > MAX_NODES || now >= trying.best)
		return;
	if (world->done == (1u << trying.event_count) - 1) {
		trying.best = now;
		return;
	}
	for (uint32_t e = 0; e < trying.event_count; e++)
		if (!(world->done >> e & 1) && !(trying.events[e].after & ~world->done))
			place(world, e, 0);
}

/* Makes events of a plan's positions; false if there are too many. */
static bool read_plan(const struct npuplan_graph *graph, const struct npuplan_machine *machine,
		      const struct npuplan_plan *plan)
{
	uint32_t made[MAX_STAYS], last_step = NPUMEM_NONE;

	memset(&trying, 0, sizeof(trying));
	if (plan->placement_count > MAX_STAYS)
		return false;
	trying.stay_count = plan->placement_count;
	for (uint32_t i = 0; i < trying.stay_count; i++) {
		trying.size[i] = plan->placements[i].region.length;
		made[i] = NPUMEM_NONE;
	}
	for (uint32_t p = 0; p < plan->position_count; p++) {
		const struct npumem_position *at = &plan->positions[p];
		struct event *event = &trying.events[trying.event_count];
		uint32_t e = trying.event_count;

		if (at->kind == NPUMEM_POSITION_DROP)
			continue;
		if (++trying.event_count >= MAX_EVENTS)
			return false;
		event->step = at->kind == NPUMEM_POSITION_STEP;
		event->time = event->step ? step_time(graph, machine, at->index) :
					    copy_time(machine, at->length);
		for (uint32_t i = 0; i < trying.stay_count; i++) {
			const struct npumem_placement *it = &plan->placements[i];
			bool touched = !event->step && at->placement == i, makes;
			const struct npuplan_op *op =
				event->step ? &graph->ops[graph->steps[at->index].op] : NULL;

			for (uint32_t k = 0; op && k < op->input_count; k++)
				touched |= op->inputs[k] == it->tensor;
			for (uint32_t k = 0; op && k < op->output_count; k++)
				touched |= op->outputs[k] == it->tensor;
			if (!touched || it->from > p || it->to < p)
				continue;
			makes = it->from == p && (!op || made[i] == NPUMEM_NONE);
			for (uint32_t k = 0; op && k < op->input_count; k++)
				makes &= op->inputs[k] != it->tensor;
			makes &= at->kind != NPUMEM_POSITION_STORE &&
				 at->kind != NPUMEM_POSITION_SPILL;
			*(makes ? &event->makes : &event->reads) |= 1u << i;
			if (makes)
				made[i] = e;
			else if (made[i] == NPUMEM_NONE)
				return false;
			else
				event->after |= 1u << made[i];
		}
		if (event->step && last_step != NPUMEM_NONE)
			event->after |= 1u << last_step;
		last_step = event->step ? e : last_step;
	}
	/* A stay begins when the one before of its tensor is over. */
	for (uint32_t i = 0; i < trying.stay_count; i++)
		for (uint32_t k = 0; k < trying.stay_count; k++)
			for (uint32_t e = 0; e < trying.event_count; e++)
				if (plan->placements[i].tensor == plan->placements[k].tensor &&
				    plan->placements[k].from < plan->placements[i].from &&
				    (trying.events[e].reads | trying.events[e].makes) >> k & 1)
					trying.events[made[i]].after |= 1u << e;
	return true;
}

static void compare_with_all(const struct npuplan_graph *graph, const struct cosma_settings *asked,
			     const struct npuplan_machine *machine, const struct npuplan_plan *plan,
			     const struct npuplan_timing *timing)
{
	uint64_t makespan = timing->makespan;
	struct world world = { 0 };

	if (!read_plan(graph, machine, plan)) {
		seen.too_large++;
		return;
	}
	trying.capacity = asked->common.arena_budget;
	trying.best = makespan + 1;
	try_all(&world);
	if (trying.nodes > MAX_NODES) {
		seen.too_large++;
		return;
	}
	if (trying.best > makespan)
		FAIL(graph, asked, "it takes %" PRIu64 ", but nothing takes so little", makespan);
	if (trying.best < timing->bound)
		FAIL(graph, asked, "it can take %" PRIu64 ", less than the bound %llu", trying.best,
		     (unsigned long long)timing->bound);
	seen.tried++;
	seen.best += trying.best == makespan;
}

/* ------------------------------------------------------------- cases */

static struct npuplan_plan *make_plan(const struct npuplan_graph *graph,
				      const struct cosma_settings *asked, uint32_t objective,
				      const struct npuplan_machine *machine,
				      struct npuplan_timing *timing)
{
	const struct npuplan_cosma_options cosma = { .size = sizeof(cosma), .machine = machine };
	struct npuplan_options options = asked->common;
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error;
	struct cosma_oracle oracle;
	int err;

	options.planner = "cosma";
	options.objective = objective;
	options.cosma = &cosma;
	err = npuplan_plan(graph, &options, &plan, &error);
	if (err == -ENOSPC)
		return NULL;
	if (err)
		FAIL(graph, asked, "%s", error.text);
	if (npuplan_verify_plan(graph, plan, NULL, &error) ||
	    npuplan_timing_find(graph, plan, machine, timing, &error))
		FAIL(graph, asked, "%s", error.text);
	if (objective == NPUPLAN_OBJECTIVE_TIME &&
	    (plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL) !=
		    (timing->makespan == timing->bound))
		FAIL(graph, asked, "status %u, it takes %llu, bound %llu", plan->info.status,
		     (unsigned long long)timing->makespan, (unsigned long long)timing->bound);
	/* The oracle compares with what is said of traffic. */
	plan->info.status = NPUMEM_PLAN_STATUS_FEASIBLE;
	/* It knows no state. */
	if (!has_state(graph) && !cosma_plan_run(&oracle, graph, asked, plan))
		FAIL(graph, asked, "objective %u: %s", objective, oracle.why);
	if (timing->makespan != play(graph, machine, plan))
		FAIL(graph, asked, "it takes %" PRIu64 ", not %llu", play(graph, machine, plan),
		     (unsigned long long)timing->makespan);
	if (timing->makespan < timing->bound)
		FAIL(graph, asked, "it takes %llu, less than the bound %llu",
		     (unsigned long long)timing->makespan, (unsigned long long)timing->bound);
	return plan;
}

static bool is_same(const struct npuplan_plan *a, const struct npuplan_plan *b)
{
	return a->position_count == b->position_count && a->placement_count == b->placement_count &&
	       !memcmp(a->positions, b->positions, a->position_count * sizeof(*a->positions)) &&
	       !memcmp(a->placements, b->placements, a->placement_count * sizeof(*a->placements));
}

/* @alone: each tensor has bytes of its own, wherever that is */
static void check_plans(const struct npuplan_graph *graph, const struct cosma_settings *asked,
			const struct npuplan_machine *machine, bool alone)
{
	struct npuplan_timing least, quick, again;
	struct npuplan_plan *traffic =
		make_plan(graph, asked, NPUPLAN_OBJECTIVE_TRAFFIC, machine, &least);
	struct npuplan_plan *plan, *twice;

	if (!traffic)
		return;
	plan = make_plan(graph, asked, NPUPLAN_OBJECTIVE_TIME, machine, &quick);
	twice = make_plan(graph, asked, NPUPLAN_OBJECTIVE_TIME, machine, &again);
	if (!plan || !twice || !is_same(plan, twice))
		FAIL(graph, asked, "not the same plan again");
	if (quick.makespan > least.makespan)
		FAIL(graph, asked, "it takes %llu, and that of least traffic %llu",
		     (unsigned long long)quick.makespan, (unsigned long long)least.makespan);
	seen.planned++;
	seen.moved += plan->info.fill_bytes > 0;
	seen.quicker += quick.makespan < least.makespan;
	seen.at_bound += quick.makespan == quick.bound;
	if (!asked->staged && alone)
		compare_with_all(graph, asked, machine, plan, &quick);
	npuplan_plan_free(traffic);
	npuplan_plan_free(plan);
	npuplan_plan_free(twice);
}

static void check_case(void)
{
	AUTO_GRAPH struct npuplan_graph *graph = random_graph();
	struct cosma_settings asked = { .inputs_flagged = true };
	bool alone = true;
	struct npuplan_machine machine = { .size = sizeof(machine) };
	struct npuplan_budgets budgets;
	struct npuplan_error error;
	bool staged[16] = { false };

	machine.compute = draw(0, 4);
	machine.access = machine.compute ? draw(0, 9) : draw(1, 9);
	machine.copy = draw(1, 9);
	machine.latency = draw(0, 2) ? 0 : draw(1, 2000);
	asked.with_parameters = draw(0, 1);
	asked.common.schedule = draw(0, 3) ? NPUPLAN_SCHEDULE_FREE : NPUPLAN_SCHEDULE_GIVEN;
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if ((graph->tensors[t].kind == NPUMEM_TENSOR_INPUT && draw(0, 3)) ||
		    (graph->tensors[t].kind == NPUMEM_TENSOR_PARAMETER && asked.with_parameters))
			graph->tensors[t].flags |= NPUMEM_TENSOR_FLAG_HOST;
	for (uint32_t v = 0; v < graph->op_count; v++)
		alone &= !graph->ops[v].attrs.inplace;
	if (npuplan_graph_tile_bands(graph, 1, asked.with_parameters, &error))
		FAIL(graph, &asked, "%s", error.text);
	if (!draw(0, 3)) {
		asked.staged = staged;
		for (uint32_t s = 0; s < graph->step_count; s++)
			if (draw(0, 1)) {
				staged[graph->steps[s].op] = true;
				graph->steps[s].flags |= NPUMEM_STEP_STAGED;
				seen.staged++;
			}
	}
	if (!draw(0, 3)) {
		draw_fixed(graph);
		alone = false;
	}
	if (!draw(0, 7)) {
		add_state(graph);
		alone = false;
	}
	if (npuplan_budgets_find(graph, NULL, &budgets, &error)) {
		if (strncmp(error.text, "fixed offsets collide", 21))
			FAIL(graph, &asked, "%s", error.text);
		return;
	}
	asked.common.arena_budget = draw(0, 1) ? budgets.needed : budgets.middle;
	asked.common.arena_budget += draw(0, 2) ? 0 : draw(1, 4);
	check_plans(graph, &asked, &machine, alone);
}

int main(int argc, char **argv)
{
	property_begin(argc, argv, 20261128, 2000);
	for (unsigned long i = 0; i < property.cases; i++) {
		property_case(i);
		check_case();
	}
	printf("ok - %lu plans, %lu of them with fills, %lu quicker than those of least traffic, "
	       "%lu proved to be as quick as can be; %lu operators in place, %lu staged; %lu fixed "
	       "offsets, %lu states; %lu "
	       "compared with all places of their transfers, %lu of them the quickest; %lu too "
	       "large for that\n",
	       seen.planned, seen.moved, seen.quicker, seen.at_bound, seen.inplace, seen.staged,
	       seen.fixed, seen.states, seen.tried, seen.best, seen.too_large);
	if (property.cases < 1000)
		return 0;
	if (2 * seen.planned < property.cases || !seen.moved || !seen.at_bound || !seen.inplace ||
	    !seen.staged || !seen.fixed || !seen.states || 10 * seen.quicker < seen.planned ||
	    20 * seen.tried < seen.planned || 10 * seen.best < 7 * seen.tried) {
		puts("not ok - too few cases were compared, or too few of them the quickest");
		return 1;
	}
	return 0;
}
