// SPDX-License-Identifier: MIT
/*
 * Random programs with loops and branches, whose plans are given random transfers: a tensor goes
 * to host memory and comes back, to the same bytes or others, and now and then another tensor is
 * put where it was; then fields of some transfers are spoilt. Most of that makes no sense. What
 * the kernel's verifier takes is played byte by byte along random paths, and does what the graph
 * means. Then planner cosma plans the programs within budgets that are less than they need without
 * transfers; its plans are played likewise, and what it proves of one budget must not be refuted by
 * its plan within another one.
 *
 * usage: prop_flow_spill [SEED [PROGRAMS]]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "flow_run.h"
#include "property.h"
#include "random_program.h"

#define WORK  20000 /* the planners that search would go on for seconds */
#define MANY  60    /* instances */
#define TRIES 60    /* plans with transfers, of each program */
#define LESS  4	    /* budgets of each program that are less than it needs */

/*
 * struct tally - how much was seen
 * @refused: plans that the verifier has refused, by what their text begins with
 * @looped: plans taken with a transfer in an instance that a path comes to again and again
 * @reused: plans taken in which another tensor was put where one had been that was moved away
 */
struct tally {
	uint32_t plans, transfers, crossed, looped, reused, unrolled;
	uint32_t refused, spill, edge, write, read;
};

/* struct planned - how many of cosma's budgets were met without transfers, with them, or not */
struct planned {
	struct tally moving;
	uint32_t still, optimal, infeasible, unknown;
};

/* ------------------------------------------------------------- transfers */

static bool plain(const struct npumem_placement *p)
{
	return p->region.count[0] * p->region.count[1] * p->region.count[2] == 1 && !p->ring;
}

/* Whether a position accesses a tensor or an alias of it. */
static bool uses(const struct npuplan_graph *graph, const struct npumem_position *position,
		 uint32_t tensor)
{
	const struct npuplan_step *s;

	if (position->kind != NPUMEM_POSITION_STEP)
		return position->index == tensor;
	s = &graph->steps[position->index];
	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		uint32_t t = graph->tiles[graph->accesses[a].tile].tensor;

		if (graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			t = graph->tensors[t].alias_of;
		if (t == tensor)
			return true;
	}
	return false;
}

/* Puts a position before one of @block's, or behind its last. Spans that go beyond it grow. */
static void insert(struct npuplan_plan *plan, uint32_t block, uint32_t at,
		   struct npumem_position position)
{
	plan->positions =
		realloc(plan->positions, (plan->position_count + 1) * sizeof(*plan->positions));
	if (!plan->positions)
		abort();
	memmove(&plan->positions[at + 1], &plan->positions[at],
		(plan->position_count - at) * sizeof(*plan->positions));
	plan->positions[at] = position;
	plan->position_count++;
	plan->blocks[block].position_count++;
	for (uint32_t b = block + 1; b < plan->block_count; b++)
		plan->blocks[b].first_position++;
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		struct npumem_placement *p = &plan->placements[i];
		const struct npumem_plan_block *of = &plan->blocks[block];

		if (p->block < block)
			continue;
		if (p->block > block) {
			p->from++;
			p->to++;
			continue;
		}
		p->from += p->from >= at && p->from != of->first_position;
		p->to += p->to >= at;
		/* What lives to the end lives to the new end. */
		p->to += p->to == at - 1 && at == of->first_position + of->position_count - 1;
	}
}

static uint32_t copy_placement(struct npuplan_plan *plan, uint32_t placement)
{
	plan->placements =
		realloc(plan->placements, (plan->placement_count + 1) * sizeof(*plan->placements));
	if (!plan->placements)
		abort();
	plan->placements[plan->placement_count] = plan->placements[placement];
	return plan->placement_count++;
}

/* Puts, maybe, something else where a tensor is not while it is away. */
static bool reuse(struct npuplan_plan *plan, const struct npumem_placement *left, uint32_t from,
		  uint32_t to)
{
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		struct npumem_placement *p = &plan->placements[i];

		if (p->block == left->block && p->tensor != left->tensor && p->from > from &&
		    p->to < to && draw(0, 1)) {
			p->offset = left->offset;
			return true;
		}
	}
	return false;
}

/* Where the copy of a range is to be: where a transfer has it already, mostly, or anywhere. */
static uint64_t host_offset(const struct npuplan_plan *plan, uint32_t tensor, uint64_t first)
{
	for (uint32_t i = 0; i < plan->position_count; i++) {
		const struct npumem_position *p = &plan->positions[i];

		if (p->kind != NPUMEM_POSITION_STEP && p->index == tensor && draw(0, 15) &&
		    p->host_offset + first >= p->first)
			return p->host_offset + first - p->first;
	}
	return draw(0, 3) ? plan->info.host_size : draw(0, (uint32_t)plan->info.host_size);
}

/* Moves a tensor away and back in a random instance. False: there was none to move. */
static bool add_stay_away(const struct npuplan_graph *graph, struct npuplan_plan *plan,
			  bool *reused)
{
	uint32_t pick = draw(0, plan->placement_count - 1), back, out, in, tensor, block;
	struct npumem_placement *p = &plan->placements[pick];
	struct npumem_position move = { .kind = NPUMEM_POSITION_SPILL, .placement = pick };

	tensor = p->tensor;
	block = p->block;
	if (!plain(p) || !plan->blocks[block].position_count)
		return false;
	/* Away before step @out, and back before step @in, or at the end. */
	out = draw(p->from, p->to + 1);
	in = out;
	while (in <= p->to && (draw(0, 7) || in == out) &&
	       (!uses(graph, &plan->positions[in], tensor) || !draw(0, 15)))
		in++;
	move.index = tensor;
	move.first = p->region.offset;
	move.length = p->region.length;
	move.host_offset = host_offset(plan, tensor, move.first);
	if (move.host_offset + move.length > plan->info.host_size)
		plan->info.host_size = move.host_offset + move.length;
	insert(plan, block, in, move);
	insert(plan, block, out, move);
	in++;
	back = copy_placement(plan, pick);
	p = &plan->placements[pick];
	plan->positions[in].kind = NPUMEM_POSITION_FILL;
	plan->positions[in].placement = back;
	plan->placements[back].from = in;
	if (plan->placements[back].to < in)
		plan->placements[back].to = in;
	p->to = out;
	if (p->from > out)
		p->from = out;
	*reused |= reuse(plan, p, out, in);
	if (!draw(0, 3))
		plan->placements[back].offset = draw(0, 3) ? plan->info.arena_size :
							     16 * draw(0, 8);
	if (plan->info.arena_size < plan->placements[back].offset + move.length)
		plan->info.arena_size = plan->placements[back].offset + move.length;
	return true;
}

static void spoil(struct npuplan_plan *plan)
{
	uint32_t i = draw(0, plan->position_count - 1);
	struct npumem_position *p = &plan->positions[i];

	for (uint32_t tries = 0; p->kind == NPUMEM_POSITION_STEP && tries < plan->position_count;
	     tries++) {
		i = (i + 1) % plan->position_count;
		p = &plan->positions[i];
	}
	switch (draw(0, 6)) {
	case 0:
		p->kind = draw(NPUMEM_POSITION_SPILL, NPUMEM_POSITION_STORE);
		break;
	case 1:
		p->length = draw(1, (uint32_t)p->length);
		break;
	case 2:
		p->first = draw(0, (uint32_t)p->length);
		break;
	case 3:
		p->host_offset = draw(0, (uint32_t)plan->info.host_size);
		break;
	case 4:
		*p = plan->positions[draw(0, plan->position_count - 1)];
		break;
	case 5:
		plan->placements[draw(0, plan->placement_count - 1)].offset = 4 * draw(0, 16);
		break;
	default:
		p->kind = NPUMEM_POSITION_STORE;
		break;
	}
}

/* ------------------------------------------------------------- properties */

static void check_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	AUTO_PLAN struct npuplan_plan *again = NULL;
	struct npuplan_error error;
	AUTO_TEXT char *text = NULL;

	if (npuplan_plan_to_json(graph, plan, &text, &error) ||
	    npuplan_plan_from_json(graph, text, strlen(text), &again, &error))
		fail("JSON: %s", error.text);
	if (again->position_count != plan->position_count ||
	    memcmp(again->positions, plan->positions,
		   plan->position_count * sizeof(*plan->positions)))
		fail("JSON: other positions");
}

static void count_refusal(const char *text, struct tally *tally)
{
	tally->refused++;
	tally->spill += !!strstr(text, "V5 spill");
	tally->edge += !!strstr(text, "V6 edge");
	tally->write += !!strstr(text, "V4 write");
	tally->read += !!strstr(text, "V3 read");
}

/* Whether the instance is in a cycle of the plan's edges, of one or two. */
static bool in_loop(const struct npuplan_plan *plan, uint32_t block)
{
	for (uint32_t i = 0; i < plan->edge_count; i++)
		for (uint32_t k = 0; plan->edges[i].from == block && k < plan->edge_count; k++)
			if (plan->edges[i].to == block ||
			    (plan->edges[k].from == plan->edges[i].to &&
			     plan->edges[k].to == block))
				return true;
	return false;
}

static void check_taken(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			bool reused, struct tally *tally)
{
	bool looped = false;

	for (uint32_t i = 0; i < 3; i++) {
		struct flow_run run = {
			.seed = property.current + i,
			.edges = 12 * i,
			.inferences = 2,
			/* Planners keep them; the verifier does not ask for that. */
			.anew = true,
		};

		if (!flow_run(graph, plan, &run))
			fail("taken, but %s", run.text);
		tally->crossed += run.crossed;
	}
	for (uint32_t b = 0; b < plan->block_count; b++)
		for (uint32_t i = 0; i < plan->blocks[b].position_count; i++)
			if (plan->positions[plan->blocks[b].first_position + i].kind !=
			    NPUMEM_POSITION_STEP) {
				tally->transfers++;
				looped |= in_loop(plan, b);
			}
	check_json(graph, plan);
	tally->plans++;
	tally->looped += looped;
	tally->reused += reused;
	tally->unrolled += plan->block_count > graph->block_count;
}

static void try_transfers(const struct npuplan_graph *graph, const struct npuplan_options *options,
			  struct tally *tally)
{
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;
	bool moved = false, reused = false;

	if (npuplan_plan(graph, options, &plan, &error))
		fail("%s", error.text);
	for (uint32_t n = draw(1, 4); n; n--)
		moved |= add_stay_away(graph, plan, &reused);
	if (!moved)
		return;
	for (uint32_t n = draw(0, 2); n; n--)
		spoil(plan);
	if (npuplan_verify_plan(graph, plan, NULL, &error))
		count_refusal(error.text, tally);
	else
		check_taken(graph, plan, reused, tally);
}

/* ------------------------------------------------------------- cosma */

/*
 * struct proofs - what cosma has said of budgets of one program
 * @optimal: per block, largest budget within which a plan was proved the best; @moved: the bytes
 *	that it moves whenever the block runs
 * @infeasible: largest budget that was said to be too small
 * @least: least arena of a plan
 */
struct proofs {
	uint64_t optimal[MANY], moved[MANY], infeasible, least;
};

static void count_failure(const struct npuplan_error *error, int err, uint64_t budget,
			  struct proofs *proofs, struct planned *planned)
{
	if (err != -ENOSPC)
		fail("cosma within %" PRIu64 ": %d: %s", budget, err, error->text);
	if (error->status != NPUMEM_PLAN_STATUS_INFEASIBLE) {
		planned->unknown++;
		return;
	}
	planned->infeasible++;
	if (proofs->infeasible < budget)
		proofs->infeasible = budget;
}

/* Bytes that an instance spills, stores and fills. */
static uint64_t moved_in(const struct npuplan_plan *plan, uint32_t instance)
{
	const struct npumem_plan_block *block = &plan->blocks[instance];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < block->position_count; i++) {
		const struct npumem_position *p = &plan->positions[block->first_position + i];

		if (p->kind != NPUMEM_POSITION_STEP && p->kind != NPUMEM_POSITION_DROP)
			bytes += p->length;
	}
	return bytes;
}

/* Compares a plan with what has been said of other budgets. */
static void check_proofs(const struct npuplan_plan *plan, uint64_t budget, struct proofs *proofs)
{
	if (plan->info.arena_size > budget)
		fail("an arena of %" PRIu64 " within %" PRIu64, (uint64_t)plan->info.arena_size,
		     budget);
	for (uint32_t i = 0; i < plan->block_count; i++) {
		uint32_t b = plan->blocks[i].block;
		uint64_t bytes = moved_in(plan, i);

		if (b >= MANY)
			continue;
		if (budget <= proofs->optimal[b] && bytes < proofs->moved[b])
			fail("block %u moves %" PRIu64 " bytes within %" PRIu64 ", and %" PRIu64
			     " are the least within %" PRIu64,
			     b, bytes, budget, proofs->moved[b], proofs->optimal[b]);
		if (plan->info.status != NPUMEM_PLAN_STATUS_OPTIMAL || budget <= proofs->optimal[b])
			continue;
		proofs->optimal[b] = budget;
		proofs->moved[b] = bytes;
	}
	if (plan->info.arena_size < proofs->least)
		proofs->least = plan->info.arena_size;
}

static void plan_within(const struct npuplan_graph *graph, uint64_t budget, struct proofs *proofs,
			struct planned *planned)
{
	struct npuplan_options options = { .planner = "cosma",
					   .work_limit = WORK,
					   .arena_budget = budget,
					   .schedule = draw(0, 3) ? NPUPLAN_SCHEDULE_FREE :
								    draw(1, 2) };
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;
	uint64_t moved;
	int err = npuplan_plan(graph, &options, &plan, &error);

	if (err) {
		/* In a given order less is possible. */
		if (options.schedule == NPUPLAN_SCHEDULE_FREE)
			count_failure(&error, err, budget, proofs, planned);
		return;
	}
	if (npuplan_verify_plan(graph, plan, NULL, &error))
		fail("cosma within %" PRIu64 ": %s", budget, error.text);
	if (options.schedule == NPUPLAN_SCHEDULE_FREE)
		check_proofs(plan, budget, proofs);
	moved = plan->info.spill_bytes + plan->info.fill_bytes;
	planned->still += !moved;
	if (!moved)
		return;
	planned->optimal += plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL;
	check_taken(graph, plan, false, &planned->moving);
}

static void check_cosma(const struct npuplan_graph *graph, struct planned *planned)
{
	struct npuplan_options options = { .planner = "cosma", .work_limit = WORK };
	struct proofs proofs = { .least = UINT64_MAX };
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;

	if (npuplan_plan(graph, &options, &plan, &error))
		fail("cosma: %s", error.text);
	for (uint32_t i = 0; i < LESS; i++) {
		uint64_t needed = plan->info.arena_size;

		plan_within(graph, draw((uint32_t)needed / 2, (uint32_t)needed - 1), &proofs,
			    planned);
	}
	if (proofs.infeasible >= proofs.least)
		fail("%" PRIu64 " bytes are too few, but a plan needs %" PRIu64, proofs.infeasible,
		     proofs.least);
}

/* ------------------------------------------------------------- programs */

static void check_program(const struct npuplan_graph *graph, struct tally *tally,
			  struct planned *planned)
{
	struct npuplan_options options = { .planner = "greedy", .work_limit = WORK };
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;

	if (npuplan_plan(graph, &options, &plan, &error)) {
		if (!strstr(error.text, "takes a copy") &&
		    !strstr(error.text, "rotate through more places"))
			fail("%s", error.text);
		return;
	}
	if (!graph->edge_count || plan->block_count > MANY)
		return;
	for (uint32_t i = 0; i < TRIES; i++)
		try_transfers(graph, &options, tally);
	check_cosma(graph, planned);
}

static void print_tally(const char *who, const struct tally *tally)
{
	printf("%s: %u plans taken and played, %u transfers in them, %u edges crossed; %u have "
	       "transfers in loops, %u more instances than blocks\n",
	       who, tally->plans, tally->transfers, tally->crossed, tally->looped, tally->unrolled);
}

int main(int argc, char **argv)
{
	struct planned planned = { 0 };
	struct tally tally = { 0 };

	property_begin(argc, argv, 20261128, 150);
	for (unsigned long i = 0; i < property.cases; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = NULL;

		property_case(i);
		graph = random_program();
		check_program(graph, &tally, &planned);
	}
	print_tally("at random", &tally);
	printf("  %u reuse bytes; %u refused: %u by V3, %u by V4, %u by V5, %u by V6\n",
	       tally.reused, tally.refused, tally.read, tally.write, tally.spill, tally.edge);
	print_tally("cosma", &planned.moving);
	printf("  %u of them optimal; %u plans move nothing, %u budgets infeasible, %u unknown\n",
	       planned.optimal, planned.still, planned.infeasible, planned.unknown);
	/* A draw that reaches nothing proves nothing. */
	if (property.cases >= 100 &&
	    (tally.plans < property.cases || !tally.looped || !tally.reused || !tally.unrolled ||
	     !tally.read || !tally.write || !tally.spill || !tally.edge))
		fail("too few of some kind");
	if (property.cases >= 100 &&
	    (!planned.moving.plans || !planned.moving.looped || !planned.moving.unrolled ||
	     !planned.optimal || !planned.infeasible))
		fail("too few of some kind of cosma's plans");
	return 0;
}
