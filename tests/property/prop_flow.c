// SPDX-License-Identifier: MIT
/*
 * Random programs with loops, branches, swaps, carries over several iterations
 * and values that go to several names, every planner: the plan passes the
 * kernel's verifier, and played byte by byte along random paths it does what the
 * graph means. It has no copies, is no smaller than its lower bound, comes back
 * from JSON, and is the same each time. No planner's arena is below another's
 * lower bound, and no arena of any order of the steps is below what cosma, which chooses
 * the order, has proved. Operators may be whole, or in tiles, strided ones too. Tensors may
 * be external, fixed, or have aliases; state and values may be updated in part.
 *
 * usage: prop_flow [SEED [PROGRAMS]]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "flow_run.h"
#include "property.h"
#include "random_program.h"

#define MANY   300   /* instances; each planner takes a while */
#define WORK   20000 /* the planners that search would go on for seconds */
#define ORDERS 12    /* random orders of the steps, of each program */

/* ------------------------------------------------------------- properties */

/*
 * struct tally - how much was seen
 * @orders: plans in other orders than the program's
 * @moved: plans in which cosma needs fewer bytes than the program's own order
 * @proved: of these, those that are proved
 * @pieces: programs of which tile scheduling needs fewer bytes than their own order does
 */
struct tally {
	uint32_t plans, optimal, unrolled, copies, large, crossed, views, fewer;
	uint32_t orders, moved, proved, pieces;
};

static void same_plan(const struct npuplan_plan *a, const struct npuplan_plan *b, const char *how)
{
	void *blobs[2];
	size_t bytes[2];

	if (npuplan_plan_write(a, &blobs[0], &bytes[0], NULL) ||
	    npuplan_plan_write(b, &blobs[1], &bytes[1], NULL))
		fail("plan_write");
	if (bytes[0] != bytes[1] || memcmp(blobs[0], blobs[1], bytes[0]))
		fail("%s: not the same plan", how);
	free(blobs[0]);
	free(blobs[1]);
}

static void check_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	AUTO_PLAN struct npuplan_plan *again = NULL;
	struct npuplan_error error;
	AUTO_TEXT char *text = NULL;

	if (npuplan_plan_to_json(graph, plan, &text, &error) ||
	    npuplan_plan_from_json(graph, text, strlen(text), &again, &error))
		fail("JSON: %s", error.text);
	same_plan(plan, again, "JSON");
}

/* A slot of a view must be where some instance of its loop has the tensor. */
static void check_views(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			struct tally *tally)
{
	for (uint32_t i = 0; i < plan->view_count; i++) {
		const struct npumem_view *view = &plan->views[i];

		if (view->loop >= graph->edge_count || !view->repeat)
			fail("view %u is malformed", i);
		for (uint32_t k = 0; k < view->slot_count; k++) {
			uint32_t slot = plan->view_slots[view->first_slot + k];

			if (slot & NPUMEM_VIEW_SLOT_NESTED ?
				    (slot & ~NPUMEM_VIEW_SLOT_NESTED) >= i :
				    plan->placements[slot].tensor != view->tensor)
				fail("view %u, slot %u: of another tensor", i, k);
		}
		tally->views++;
	}
}

/*
 * struct extremes - what planners have said of one graph
 * @alignment: of every offset
 * @bound: the greatest lower bound
 * @arena: the smallest arena; 0: none yet
 * @whole: the smallest arena of a planner of whole tensors
 * @free_bound: what cosma has proved of all orders of the steps
 * @free_arena: the smallest arena of a planner that chooses the order; 0: none yet
 * @cosma: cosma's
 * @pieces: the smallest one of tile scheduling
 */
struct extremes {
	uint32_t alignment;
	uint64_t bound;
	uint64_t arena;
	uint64_t whole;
	uint64_t free_bound;
	uint64_t free_arena;
	uint64_t cosma;
	uint64_t pieces;
};

/* What one planner proves is so for the plans of all others. */
static void check_extremes(const struct npuplan_plan *plan, const char *name,
			   struct extremes *extremes)
{
	uint64_t arena = plan->info.arena_size;
	bool bytes = !strcmp(name, "taa") || !strcmp(name, "auto") || !strcmp(name, "cosma");

	if (extremes->bound < plan->info.lower_bound)
		extremes->bound = plan->info.lower_bound;
	if (!extremes->arena || extremes->arena > arena)
		extremes->arena = arena;
	if (!bytes && (!extremes->whole || extremes->whole > arena))
		extremes->whole = arena;
	if (extremes->arena < extremes->bound)
		fail("%s: lower bound %" PRIu64 ", and there is an arena of %" PRIu64, name,
		     extremes->bound, extremes->arena);
}

/* Planners that choose an order of their own; cosma keeps to the program's if it is asked to. */
static bool chooses(const char *name)
{
	return !strcmp(name, "cosma") || !strncmp(name, "tile-", 5);
}

/* What planners that choose an order have found; that it is the least cosma alone proves. */
static void check_free(const struct npuplan_plan *plan, const char *name, struct extremes *extremes)
{
	uint64_t arena = plan->info.arena_size;

	if (!extremes->free_arena || extremes->free_arena > arena)
		extremes->free_arena = arena;
	if (strcmp(name, "cosma")) {
		if (!extremes->pieces || extremes->pieces > arena)
			extremes->pieces = arena;
		return;
	}
	extremes->free_bound = plan->info.lower_bound;
	extremes->cosma = arena;
}

/* What these do of programs without loops and branches is other tests' matter. */
static bool takes(const struct npuplan_graph *graph, const char *name)
{
	return flow_planner(name) && (graph->edge_count || !chooses(name));
}

/*
 * False if the other planners need not be tried: the program cannot be planned
 * without a copy, or takes very many instances.
 */
static bool check_planner(const struct npuplan_graph *graph, const char *name, uint32_t schedule,
			  struct tally *tally, struct extremes *extremes)
{
	struct npuplan_options options = {
		.planner = name,
		.alignment = extremes->alignment,
		.work_limit = strcmp(name, "cosma") ? WORK : 20 * WORK,
		.schedule = schedule,
	};
	bool free_order = chooses(name) && schedule == NPUPLAN_SCHEDULE_FREE;
	struct npuplan_plan *plan, *again;
	struct npuplan_error error;
	bool large;
	int err;

	err = npuplan_plan(graph, &options, &plan, &error);
	if (err == -EOPNOTSUPP && strstr(error.text, "takes a copy")) {
		tally->copies++;
		return false;
	}
	if (err == -E2BIG && strstr(error.text, "rotate through more places")) {
		tally->large++;
		return false;
	}
	if (err)
		fail("%s: %s", name, error.text);
	if (npuplan_verify_plan(graph, plan, NULL, &error))
		fail("%s: %s", name, error.text);
	if (plan->info.arena_size < plan->info.lower_bound)
		fail("%s: arena %" PRIu64 " is below the lower bound %" PRIu64, name,
		     (uint64_t)plan->info.arena_size, (uint64_t)plan->info.lower_bound);
	if (!free_order)
		check_extremes(plan, name, extremes);
	else
		check_free(plan, name, extremes);
	for (uint32_t i = 0; i < plan->position_count; i++)
		if (plan->positions[i].kind != NPUMEM_POSITION_STEP)
			fail("%s: position %u is no step", name, i);
	for (uint32_t i = 0; i < 4 && graph->edge_count; i++) {
		struct flow_run run = {
			.seed = property.current + i,
			.edges = 12 * i,
			.inferences = 2,
		};

		if (!flow_run(graph, plan, &run))
			fail("%s: %s", name, run.text);
		tally->crossed += run.crossed;
	}
	if (npuplan_plan(graph, &options, &again, &error))
		fail("%s, once more: %s", name, error.text);
	same_plan(plan, again, name);
	check_json(graph, plan);
	check_views(graph, plan, tally);
	tally->plans++;
	tally->optimal += plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL;
	tally->unrolled += plan->block_count > graph->block_count;
	large = plan->block_count > MANY;
	npuplan_plan_free(again);
	npuplan_plan_free(plan);
	return !large;
}

/* ----------------------------------------------------------------- orders */

/* Swaps two steps of a block that follow each other, whether or not that makes sense. */
static void swap_steps(const struct npuplan_graph *graph, struct npuplan_step *steps,
		       uint32_t *order)
{
	const struct npumem_block *block = &graph->blocks[draw(0, graph->block_count - 1)];
	struct npuplan_step step;
	uint32_t at, number;

	if (block->step_count < 2)
		return;
	at = block->first_step + draw(0, block->step_count - 2);
	step = steps[at];
	steps[at] = steps[at + 1];
	steps[at + 1] = step;
	number = order[at];
	order[at] = order[at + 1];
	order[at + 1] = number;
}

/*
 * Plans the program in another order. Whether that is one of its orders the verifier says of the
 * plan; then what cosma has proved of all orders is so for this one. Whether it is one: returned.
 */
static bool check_order(const struct npuplan_graph *graph, struct npuplan_graph *ordered,
			const uint32_t *order, const struct extremes *extremes)
{
	struct npuplan_options options = { .planner = "auto", .work_limit = WORK };
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;

	if (npuplan_plan(ordered, &options, &plan, &error))
		return false;
	for (uint32_t i = 0; i < plan->position_count; i++)
		plan->positions[i].index = order[plan->positions[i].index];
	if (npuplan_verify_plan(graph, plan, NULL, &error))
		return false;
	if (plan->info.arena_size < extremes->free_bound)
		fail("cosma: lower bound %" PRIu64 ", and another order has an arena of %" PRIu64,
		     extremes->free_bound, (uint64_t)plan->info.arena_size);
	return true;
}

static void check_orders(const struct npuplan_graph *graph, const struct extremes *extremes,
			 struct tally *tally)
{
	struct npuplan_step *steps = calloc(graph->step_count + 1, sizeof(*steps));
	struct npuplan_step *before = calloc(graph->step_count + 1, sizeof(*before));
	uint32_t *order = calloc(graph->step_count + 1, sizeof(*order));
	uint32_t *order_before = calloc(graph->step_count + 1, sizeof(*order_before));
	struct npuplan_graph ordered = *graph;

	if (!steps || !before || !order || !order_before)
		abort();
	ordered.steps = steps;
	memcpy(steps, graph->steps, graph->step_count * sizeof(*steps));
	for (uint32_t i = 0; i < graph->step_count; i++)
		order[i] = i;
	for (uint32_t k = 0; k < ORDERS; k++) {
		memcpy(before, steps, graph->step_count * sizeof(*steps));
		memcpy(order_before, order, graph->step_count * sizeof(*order));
		for (uint32_t swaps = draw(1, 3); swaps; swaps--)
			swap_steps(graph, steps, order);
		if (check_order(graph, &ordered, order, extremes)) {
			tally->orders++;
			continue;
		}
		memcpy(steps, before, graph->step_count * sizeof(*steps));
		memcpy(order, order_before, graph->step_count * sizeof(*order));
	}
	free(steps);
	free(before);
	free(order);
	free(order_before);
}

/* What cosma finds in any order, beside what there is in the program's own. */
static void check_cosma(const struct npuplan_graph *graph, struct tally *tally,
			struct extremes *extremes)
{
	if (!takes(graph, "cosma"))
		return;
	if (!check_planner(graph, "cosma", NPUPLAN_SCHEDULE_FREE, tally, extremes))
		return;
	if (extremes->arena && extremes->arena < extremes->free_bound)
		fail("cosma: lower bound %" PRIu64 ", and there is an arena of %" PRIu64,
		     extremes->free_bound, extremes->arena);
	if (extremes->free_arena < extremes->free_bound)
		fail("cosma: lower bound %" PRIu64 ", and tile scheduling has an arena of %" PRIu64,
		     extremes->free_bound, extremes->free_arena);
	if (extremes->cosma < extremes->bound) {
		tally->moved++;
		tally->proved += extremes->cosma == extremes->free_bound;
	}
	tally->pieces += extremes->pieces && extremes->pieces < extremes->bound;
	check_orders(graph, extremes, tally);
}

int main(int argc, char **argv)
{
	struct tally tally = { 0 };
	unsigned int planners = 0;

	while (npuplan_planner_name(planners))
		planners++;
	property_begin(argc, argv, 20261121, 150);
	for (unsigned long i = 0; i < property.cases; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		struct extremes extremes = { 0 };
		const char *name;
		bool go_on = true;

		property_case(i);
		graph = random_program();
		extremes.alignment = 1u << draw(0, 4);
		/* A large program goes through one planner, each time another. */
		for (unsigned int p = 0; p < planners && go_on; p++) {
			name = npuplan_planner_name((i + p) % planners);
			if (takes(graph, name))
				go_on = check_planner(graph, name,
						      strncmp(name, "tile-", 5) ?
							      NPUPLAN_SCHEDULE_GIVEN :
							      NPUPLAN_SCHEDULE_FREE,
						      &tally, &extremes);
		}
		if (go_on)
			check_cosma(graph, &tally, &extremes);
		tally.fewer += extremes.arena < extremes.whole;
	}
	printf("%u plans verified and played, %u edges crossed, %u plans at the lower bound, %u with more instances than blocks, %u views; %u programs need fewer bytes in tiles, %u need a copy, %u too many instances; %u plans in other orders, %u smaller in cosma's, %u of them proved, %u in pieces\n",
	       tally.plans, tally.crossed, tally.optimal, tally.unrolled, tally.views, tally.fewer,
	       tally.copies, tally.large, tally.orders, tally.moved, tally.proved, tally.pieces);
	/* A draw that reaches nothing proves nothing. */
	if (property.cases >= 100 &&
	    (tally.plans < property.cases || !tally.optimal || !tally.unrolled || !tally.copies ||
	     !tally.views || !tally.fewer || !tally.orders || !tally.moved || !tally.proved ||
	     !tally.pieces))
		fail("too few of some kind");
	return 0;
}
