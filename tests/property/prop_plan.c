// SPDX-License-Identifier: MIT
/*
 * Random graphs, every planner: the plan passes the kernel's verifier and an
 * independent check that moves bytes one by one, honours fixed offsets and
 * alignments, needs no less than the lower bound, and is the same each time. Planner
 * cosma, with budgets, has the verifier's word alone.
 *
 * usage: prop_plan [SEED [GRAPHS]]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "any_order.h"
#include "auto.h"
#include "npuplan.h"
#include "place_byte.h"
#include "property.h"

#define MAX_TENSORS 24
#define MAX_BYTES   24
/* Of planners that search: they need not prove anything here. */
#define WORK_LIMIT  200000

/* --------------------------------------------------------- random graphs */

/*
 * struct world - random graph in the making
 * @written: bytes of each tensor that have been written, from its first on
 */
struct world {
	struct npuplan_graph *graph;
	uint64_t written[MAX_TENSORS];
};

static void add_tensor(struct world *w, uint32_t kind)
{
	struct npuplan_tensor tensor = {
		.size = draw(1, MAX_BYTES),
		.align = 1u << draw(0, 3),
		.kind = kind,
		.id = w->graph->tensor_count,
	};
	int64_t index = npuplan_graph_add_tensor(w->graph, &tensor);

	if (index < 0)
		fail("add_tensor: %" PRId64, index);
	w->written[index] = kind == NPUMEM_TENSOR_INTERMEDIATE || kind == NPUMEM_TENSOR_OUTPUT ?
				    0 :
				    tensor.size;
}

/* A run of bytes, or two bytes apart from each other where there is room. */
static uint32_t add_tile(struct world *w, uint32_t tensor, uint64_t first, uint64_t length)
{
	struct npumem_region region = { first, length, { 1, 1, 1 }, 0, { 0 } };
	int64_t tile;

	if (length >= 3 && !draw(0, 3)) {
		region.length = 1;
		region.count[0] = 2;
		region.stride[0] = length - 1;
	}
	tile = npuplan_graph_add_tile(w->graph, tensor, &region);
	if (tile < 0)
		fail("add_tile: %" PRId64, tile);
	return tile;
}

/* A step that reads up to three ranges of what was written, and writes the next. */
static void add_step(struct world *w, uint32_t target, uint64_t length)
{
	struct npuplan_step step = { .op = NPUMEM_NONE };
	struct npumem_access accesses[4];
	uint32_t count = 0, reads = draw(0, 3);
	struct npumem_region region = { w->written[target], length, { 1, 1, 1 }, 0, { 0 } };

	step.flags = draw(0, 1) ? NPUMEM_STEP_STAGED : 0;
	for (uint32_t i = 0; i < reads; i++) {
		uint32_t tensor = draw(0, w->graph->tensor_count - 1);
		uint64_t first;

		if (!w->written[tensor] || tensor == target)
			continue;
		first = draw(0, w->written[tensor] - 1);
		accesses[count++] = (struct npumem_access){
			.tile = add_tile(w, tensor, first, draw(1, w->written[tensor] - first)),
			.mode = NPUMEM_ACCESS_READ,
			.inplace = NPUMEM_NONE,
		};
	}
	accesses[count++] = (struct npumem_access){
		.tile = npuplan_graph_add_tile(w->graph, target, &region),
		.mode = NPUMEM_ACCESS_WRITE,
		.inplace = NPUMEM_NONE,
	};
	w->written[target] += length;
	if (npuplan_graph_add_step(w->graph, &step, accesses, count) < 0)
		fail("add_step");
}

/* A step that updates what was written of a tensor, or a part of that. */
static void add_update(struct world *w, uint32_t tensor)
{
	struct npuplan_step step = { .op = NPUMEM_NONE };
	uint64_t first = draw(0, 1) ? 0 : draw(0, w->written[tensor] - 1);
	uint64_t rest = w->written[tensor] - first;
	struct npumem_access access = { .mode = NPUMEM_ACCESS_UPDATE, .inplace = NPUMEM_NONE };

	step.flags = draw(0, 1) ? NPUMEM_STEP_STAGED : 0;
	access.tile = add_tile(w, tensor, first, draw(0, 1) ? rest : draw(1, rest));
	if (npuplan_graph_add_step(w->graph, &step, &access, 1) < 0)
		fail("add_update");
}

/* Whether steps may update a tensor: something of it is written, and that may change. */
static bool may_update(const struct world *w, uint32_t tensor)
{
	uint32_t kind = w->graph->tensors[tensor].kind;

	return w->written[tensor] && kind != NPUMEM_TENSOR_INPUT && kind != NPUMEM_TENSOR_PARAMETER;
}

static struct npuplan_graph *random_graph(void)
{
	struct world w = { .graph = npuplan_graph_new("random") };
	uint32_t count = draw(2, MAX_TENSORS);

	add_tensor(&w, NPUMEM_TENSOR_INPUT);
	/* One that has to be written, so that there is a step. */
	add_tensor(&w, NPUMEM_TENSOR_INTERMEDIATE);
	for (uint32_t i = 2; i < count; i++) {
		uint32_t die = draw(0, 15);

		add_tensor(&w, die == 0 ? NPUMEM_TENSOR_INPUT :
			       die == 1 ? NPUMEM_TENSOR_STATE :
			       die == 2 ? NPUMEM_TENSOR_PARAMETER :
			       die <= 4 ? NPUMEM_TENSOR_OUTPUT :
					  NPUMEM_TENSOR_INTERMEDIATE);
	}
	/* Tensors in parts, their parts interleaved, until all are whole. */
	for (uint32_t left = count; left;) {
		uint32_t tensor = draw(0, count - 1);
		uint64_t rest = w.graph->tensors[tensor].size - w.written[tensor];

		if (may_update(&w, tensor) && !draw(0, 19))
			add_update(&w, tensor);
		else if (rest)
			add_step(&w, tensor, draw(0, 1) ? rest : draw(1, rest));
		left = 0;
		for (uint32_t i = 0; i < count; i++)
			left += w.written[i] < w.graph->tensors[i].size;
	}
	return w.graph;
}

/* ------------------------------------------------------- independent check */

struct bytes {
	uint32_t tensor, byte;
};

static uint32_t list_bytes(const struct npuplan_graph *graph, uint32_t access, struct bytes *list)
{
	const struct npumem_tile *tile = &graph->tiles[graph->accesses[access].tile];
	uint32_t count = 0;

	for (uint32_t c = 0; c < tile->region.count[0]; c++)
		for (uint32_t i = 0; i < tile->region.length; i++)
			list[count++] = (struct bytes){
				tile->tensor,
				tile->region.offset + c * tile->region.stride[0] + i,
			};
	return count;
}

static bool is_placed(const struct npuplan_plan *plan, uint32_t tensor)
{
	for (uint32_t i = 0; i < plan->placement_count; i++)
		if (plan->placements[i].tensor == tensor)
			return true;
	return false;
}

/*
 * struct oracle - memory as a run would leave it
 * @owner: per arena byte who wrote it last; tensor NPUMEM_NONE: nobody
 */
struct oracle {
	const struct npuplan_graph *graph;
	const struct npuplan_plan *plan;
	struct bytes *owner;
};

static uint64_t address(const struct oracle *o, struct bytes byte, uint32_t position)
{
	uint64_t arena;
	uint32_t places = place_byte(o->plan, byte.tensor, byte.byte, position, &arena);

	if (places != 1)
		fail("tensor %u byte %u has %u places at position %u", byte.tensor, byte.byte,
		     places, position);
	if (arena >= o->plan->info.arena_size)
		fail("tensor %u lies beyond the arena", byte.tensor);
	return arena;
}

static void store(struct oracle *o, struct bytes byte, uint32_t position)
{
	o->owner[address(o, byte, position)] = byte;
}

static void expect(const struct oracle *o, struct bytes byte, uint32_t position, const char *when)
{
	const struct bytes *owner = &o->owner[address(o, byte, position)];

	if (owner->tensor != byte.tensor || owner->byte != byte.byte)
		fail("%s %u: tensor %u byte %u is gone, tensor %u byte %u lies there", when,
		     position, byte.tensor, byte.byte, owner->tensor, owner->byte);
}

static void run_step(struct oracle *o, uint32_t position, uint32_t mode)
{
	const struct npuplan_step *step = &o->graph->steps[o->plan->positions[position].index];
	struct bytes list[MAX_BYTES];

	for (uint32_t a = step->first_access; a < step->first_access + step->access_count; a++) {
		uint32_t count;

		if (!(o->graph->accesses[a].mode & mode))
			continue;
		count = list_bytes(o->graph, a, list);
		for (uint32_t i = 0; i < count; i++)
			mode == NPUMEM_ACCESS_READ ? expect(o, list[i], position, "read at") :
						     store(o, list[i], position);
	}
}

static bool is_update(const struct npuplan_graph *graph, const struct npuplan_step *step)
{
	return graph->accesses[step->first_access].mode == NPUMEM_ACCESS_UPDATE;
}

/* Whole tensors of the kinds given, at the first or at the last position. */
static void all_bytes(struct oracle *o, uint32_t kinds, uint32_t position, bool put)
{
	for (uint32_t t = 0; t < o->graph->tensor_count; t++) {
		if (!(kinds >> o->graph->tensors[t].kind & 1) || !is_placed(o->plan, t))
			continue;
		for (uint32_t b = 0; b < o->graph->tensors[t].size; b++) {
			if (put)
				store(o, (struct bytes){ t, b }, position);
			else
				expect(o, (struct bytes){ t, b }, position, "exit at");
		}
	}
}

/*
 * Play the plan: reads must find their own bytes. A step that is not staged may
 * read while it writes, so its reads are looked for after its writes, too. Only
 * our planners keep parameters for the next inference; the verifier leaves that
 * to whoever made the plan.
 */
static void check_by_bytes(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			   bool keep_parameters)
{
	struct oracle o = { graph, plan, calloc(plan->info.arena_size + 1, sizeof(*o.owner)) };
	uint32_t last = plan->position_count - 1;

	if (!o.owner)
		fail("out of memory");
	memset(o.owner, 0xff, (plan->info.arena_size + 1) * sizeof(*o.owner));
	all_bytes(&o,
		  1u << NPUMEM_TENSOR_INPUT | 1u << NPUMEM_TENSOR_STATE |
			  1u << NPUMEM_TENSOR_PARAMETER,
		  0, true);
	for (uint32_t p = 0; p < plan->position_count; p++) {
		const struct npuplan_step *step = &graph->steps[plan->positions[p].index];

		run_step(&o, p, NPUMEM_ACCESS_READ);
		run_step(&o, p, NPUMEM_ACCESS_WRITE);
		if (!(step->flags & NPUMEM_STEP_STAGED) && !is_update(graph, step))
			run_step(&o, p, NPUMEM_ACCESS_READ);
	}
	all_bytes(&o,
		  1u << NPUMEM_TENSOR_OUTPUT | 1u << NPUMEM_TENSOR_STATE |
			  (keep_parameters ? 1u << NPUMEM_TENSOR_PARAMETER : 0),
		  last, false);
	free(o.owner);
}

/* ------------------------------------------------------------- properties */

/**
 * struct results - of one graph at one alignment
 * @automatic: arena of auto, which comes first
 * @proved: lower bound that auto has proved
 * @any: of all planners
 */
struct results {
	uint64_t automatic, proved;
	struct any_order any;
};

/*
 * @cosma, @moving, @states, @updates: plans of planner cosma, those that spill or fill, and those
 *	of such that have state, and that have updates in place of what is none
 * @tiled: plans of planner cosma in an order of tile scheduling
 * @timed: plans of its least time of graphs with such updates
 * @infeasible: graphs that it proved to need what it says
 */
struct tally {
	uint32_t plans, optimal, refused, caught, cosma, moving, states, updates, tiled, timed;
	uint32_t infeasible;
};

static void check_rules(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			uint32_t alignment)
{
	uint64_t top = 0;

	if (plan->info.arena_size < plan->info.lower_bound)
		fail("arena %" PRIu64 " is below the lower bound %" PRIu64,
		     (uint64_t)plan->info.arena_size, (uint64_t)plan->info.lower_bound);
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];
		const struct npuplan_tensor *tensor = &graph->tensors[p->tensor];

		if (p->offset % tensor->align || p->offset % alignment)
			fail("tensor %u is not aligned", p->tensor);
		if (tensor->flags & NPUMEM_TENSOR_FLAG_FIXED && p->offset != tensor->fixed_offset)
			fail("tensor %u is not at its fixed offset", p->tensor);
		if (top < place_end(p))
			top = place_end(p);
	}
	if (top != plan->info.arena_size)
		fail("arena is %" PRIu64 ", placements end at %" PRIu64,
		     (uint64_t)plan->info.arena_size, top);
}

static void write_plan(const struct npuplan_plan *plan, void **blob, size_t *size)
{
	if (npuplan_plan_write(plan, blob, size, NULL))
		fail("plan_write");
}

/* Lay one tensor on another: the verifier must say no whenever bytes get lost. */
static void mutate(const struct npuplan_graph *graph, struct npuplan_plan *plan,
		   struct tally *tally)
{
	struct npumem_placement *p = &plan->placements[draw(0, plan->placement_count - 1)];
	uint64_t kept = p->offset;
	struct npumem_verdict verdict;

	p->offset = plan->placements[draw(0, plan->placement_count - 1)].offset;
	if (!npuplan_verify_plan(graph, plan, &verdict, NULL))
		check_by_bytes(graph, plan, false);
	else
		tally->caught++;
	p->offset = kept;
}

static bool starts_with(const char *name, const char *start)
{
	return !strncmp(name, start, strlen(start));
}

/*
 * What planners promise about each other: auto is no worse than any greedy one; none
 * is below what exact or auto has proved. Planners that know of tiles (taa) have
 * other conflicts, and some another order of steps (tile-scheduled).
 */
static void compare(struct results *results, const char *name, const struct npuplan_plan *plan)
{
	uint64_t arena = plan->info.arena_size;

	if (starts_with(name, "taa") || starts_with(name, "shared") || starts_with(name, "tile-"))
		return;
	if (!strcmp(name, "auto")) {
		results->automatic = arena;
		results->proved = plan->info.lower_bound;
	} else if (starts_with(name, "greedy") && arena < results->automatic) {
		fail("auto needs %" PRIu64 ", %s %" PRIu64, results->automatic, name, arena);
	} else if (!strcmp(name, "exact") && plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL &&
		   results->automatic < arena) {
		fail("exact says that %" PRIu64 " is optimal, auto needs %" PRIu64, arena,
		     results->automatic);
	}
	if (arena < results->proved)
		fail("auto has proved %" PRIu64 ", %s needs %" PRIu64, results->proved, name,
		     arena);
	if (plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL && plan->info.lower_bound != arena)
		fail("%s: optimal at %" PRIu64 ", but the bound is %" PRIu64, name, arena,
		     (uint64_t)plan->info.lower_bound);
}

static void check_planner(const struct npuplan_graph *graph, const char *name, uint32_t alignment,
			  struct results *results, struct tally *tally)
{
	struct npuplan_options options = {
		.planner = name,
		.alignment = alignment,
		/* The paper's engine has nothing before its first order is done. */
		.work_limit = strcmp(name, "taa-paper") != 0 ? WORK_LIMIT : 0,
	};
	AUTO_PLAN struct npuplan_plan *plan = NULL, *again = NULL;
	struct npumem_verdict verdict;
	struct npuplan_error error;
	void *blobs[2];
	size_t sizes[2];
	int err;

	err = npuplan_plan(graph, &options, &plan, &error);
	/* Shared Objects are buffers, not addresses. */
	if ((err == -EINVAL && strstr(error.text, "fixed offsets collide")) ||
	    (err == -EOPNOTSUPP && !strcmp(name, "shared-objects") &&
	     strstr(error.text, "takes no fixed offsets"))) {
		tally->refused++;
		return;
	}
	if (err)
		fail("%s: %s", name, error.text);
	if (npuplan_verify_plan(graph, plan, &verdict, &error))
		fail("%s: %s", name, error.text);
	check_rules(graph, plan, alignment);
	check_by_bytes(graph, plan, true);
	compare(results, name, plan);
	any_order_check(&results->any, name, plan);
	if (npuplan_plan(graph, &options, &again, &error))
		fail("%s, once more: %s", name, error.text);
	write_plan(plan, &blobs[0], &sizes[0]);
	write_plan(again, &blobs[1], &sizes[1]);
	if (sizes[0] != sizes[1] || memcmp(blobs[0], blobs[1], sizes[0]))
		fail("%s: not the same bytes twice", name);
	tally->plans++;
	tally->optimal += plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL;
	mutate(graph, plan, tally);
	free(blobs[0]);
	free(blobs[1]);
}

static bool has_state(const struct npuplan_graph *graph)
{
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].kind == NPUMEM_TENSOR_STATE)
			return true;
	return false;
}

static bool has_updates(const struct npuplan_graph *graph)
{
	for (uint32_t a = 0; a < graph->access_count; a++)
		if (graph->accesses[a].mode == NPUMEM_ACCESS_UPDATE &&
		    graph->tensors[graph->tiles[graph->accesses[a].tile].tensor].kind !=
			    NPUMEM_TENSOR_STATE)
			return true;
	return false;
}

static void cosma_traffic(const struct npuplan_graph *graph, uint64_t budget, uint32_t alignment,
			  uint32_t schedule, struct tally *tally)
{
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = budget,
		.work_limit = WORK_LIMIT,
		.alignment = alignment,
		.schedule = schedule,
	};
	struct npuplan_plan *plan = NULL, *again = NULL;
	struct npuplan_error error;
	void *blobs[2];
	size_t sizes[2];
	uint64_t traffic;
	int err = npuplan_plan(graph, &options, &plan, &error);

	/* Alignments may leave no way, or none that is found in this time. */
	if ((err == -ENOSPC && error.status == NPUMEM_PLAN_STATUS_INFEASIBLE) || err == -ETIMEDOUT)
		return;
	if (err || npuplan_plan(graph, &options, &again, &error))
		fail("cosma, schedule %u: %s", schedule, error.text);
	if (plan->info.arena_size > budget)
		fail("cosma: arena %" PRIu64 ", budget %" PRIu64, (uint64_t)plan->info.arena_size,
		     budget);
	write_plan(plan, &blobs[0], &sizes[0]);
	write_plan(again, &blobs[1], &sizes[1]);
	if (sizes[0] != sizes[1] || memcmp(blobs[0], blobs[1], sizes[0]))
		fail("cosma: not the same bytes twice");
	traffic = plan->info.spill_bytes + plan->info.fill_bytes;
	if (traffic < plan->cosma->traffic_bound)
		fail("cosma: %" PRIu64 " bytes move, the bound is %" PRIu64, traffic,
		     plan->cosma->traffic_bound);
	tally->moving += traffic > 0;
	tally->states += traffic > 0 && has_state(graph);
	tally->updates += traffic > 0 && has_updates(graph);
	tally->cosma++;
	tally->tiled += schedule == NPUPLAN_SCHEDULE_TILED;
	free(blobs[0]);
	free(blobs[1]);
	npuplan_plan_free(plan);
	npuplan_plan_free(again);
}

/* A plan of least time keeps what is updated in its place, too; the planner has it verified. */
static void check_time(const struct npuplan_graph *graph, uint64_t budget, uint32_t alignment,
		       struct tally *tally)
{
	const struct npuplan_machine machine = {
		.size = sizeof(machine),
		.compute = 3,
		.access = 2,
		.copy = 1,
	};
	const struct npuplan_cosma_options own = { .size = sizeof(own), .machine = &machine };
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = budget,
		.objective = NPUPLAN_OBJECTIVE_TIME,
		.work_limit = WORK_LIMIT,
		.alignment = alignment,
		.cosma = &own,
	};
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;
	int err = npuplan_plan(graph, &options, &plan, &error);

	if (err && err != -ETIMEDOUT &&
	    (err != -ENOSPC || error.status != NPUMEM_PLAN_STATUS_INFEASIBLE))
		fail("cosma, least time: %s", error.text);
	tally->timed += !err && has_updates(graph);
}

/*
 * Parts of tensors, with holes: every plan passes the verifier, within the budget;
 * below the least budget there is none.
 */
static void check_cosma(struct npuplan_graph *graph, uint32_t alignment, struct tally *tally)
{
	static const uint32_t schedules[] = { NPUPLAN_SCHEDULE_FREE, NPUPLAN_SCHEDULE_TILED };
	struct npuplan_options options = { .planner = "cosma", .alignment = alignment };
	struct npuplan_budgets budgets;
	struct npuplan_error error;
	struct npuplan_plan *plan;
	int err;

	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].kind == NPUMEM_TENSOR_PARAMETER ||
		    (graph->tensors[t].kind == NPUMEM_TENSOR_INPUT && (property.current + t) % 2))
			graph->tensors[t].flags |= NPUMEM_TENSOR_FLAG_HOST;
	if (npuplan_budgets_find(graph, &options, &budgets, &error))
		fail("cosma: %s", error.text);
	for (size_t i = 0; i < sizeof(schedules) / sizeof(schedules[0]); i++) {
		cosma_traffic(graph, budgets.needed, alignment, schedules[i], tally);
		cosma_traffic(graph, budgets.middle, alignment, schedules[i], tally);
		cosma_traffic(graph, budgets.peak, alignment, schedules[i], tally);
	}
	if (!(property.current % 8) && budgets.middle)
		check_time(graph, budgets.middle, alignment, tally);
	options.arena_budget = budgets.needed - 1;
	if (options.arena_budget) {
		err = npuplan_plan(graph, &options, &plan, &error);
		if (err == -ENOSPC && error.status == NPUMEM_PLAN_STATUS_INFEASIBLE &&
		    error.needed == budgets.needed)
			tally->infeasible++;
		/* What of a tensor or of all state is not aligned: nothing is proved. */
		else if (err != -ETIMEDOUT || error.status == NPUMEM_PLAN_STATUS_INFEASIBLE ||
			 (!strstr(error.text, "aligns each part") &&
			  !strstr(error.text, "has all state before")))
			fail("cosma: within %" PRIu64 " bytes: %s", options.arena_budget,
			     error.text);
	}
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		graph->tensors[t].flags &= ~NPUMEM_TENSOR_FLAG_HOST;
}

int main(int argc, char **argv)
{
	struct tally tally = { 0 };

	property_begin(argc, argv, 20260404, 400);
	for (unsigned long i = 0; i < property.cases; i++) {
		struct results results = { 0 };
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		uint32_t alignment;
		const char *name;

		property_case(i);
		graph = random_graph();
		check_cosma(graph, 1u << property.current % 3, &tally);
		for (uint32_t t = 0; t < graph->tensor_count && !draw(0, 2); t++) {
			graph->tensors[t].flags |= NPUMEM_TENSOR_FLAG_FIXED;
			graph->tensors[t].fixed_offset = 16 * draw(0, 10);
		}
		alignment = 1u << draw(0, 4);
		for (unsigned int p = 0; (name = npuplan_planner_name(p)); p++)
			if (strncmp(name, "cosma", 5)) /* above, and in prop_cosma */
				check_planner(graph, name, alignment, &results, &tally);
	}
	printf("%u plans verified, %u at the lower bound, %u with fixed offsets that collide, %u mutants refused; %u plans of cosma, %u of them in an order of tile scheduling, %u spill or fill, %u of them beside state, %u with updates in place of what is none, %u of least time with such, %u budgets proved infeasible\n",
	       tally.plans, tally.optimal, tally.refused, tally.caught, tally.cosma, tally.tiled,
	       tally.moving, tally.states, tally.updates, tally.timed, tally.infeasible);
	/* A draw that reaches nothing proves nothing. */
	if (tally.plans < property.cases ||
	    (property.cases >= 100 &&
	     (!tally.optimal || !tally.refused || !tally.caught ||
	      tally.cosma < property.cases / 4 || tally.tiled < property.cases / 4 ||
	      !tally.moving || !tally.states || !tally.updates || !tally.timed ||
	      !tally.infeasible)))
		fail("too few of some kind");
	return 0;
}
