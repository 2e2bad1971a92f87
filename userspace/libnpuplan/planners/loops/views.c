// SPDX-License-Identifier: MIT
/*
 * Multi-view tensors (NNC): tables that say, by the counters of loops, where a tensor lies.
 *
 * The instances of a loop's head in which its iterations begin are a tail, then a cycle. Without a
 * tail the slot is counter % cycle (type I); a tail of one instance is a first iteration of its own
 * (type II). Longer tails, and iterations whose path decides where the next one begins, have no
 * such table. The plan's edges say where a tensor lies there, as they do everywhere.
 */
#include <stdlib.h>
#include <string.h>

#include "flow.h"

/* The most instances of a tail and its cycle; loops with more get no view. */
#define MAX_ITERATIONS 1024
/* The most loops that get views, and how deep they may be nested. */
#define MAX_LOOPS      256
#define MAX_NESTED     64

/**
 * struct loop - a natural loop
 * @head: the block by which it is entered
 * @edge: the first of its edges back to the head
 * @parent: the smallest loop around it; NPUMEM_NONE: there is none
 * @size: number of blocks
 * @inside: per block, whether it belongs to the loop
 */
struct loop {
	uint32_t head;
	uint32_t edge;
	uint32_t parent;
	uint32_t size;
	bool *inside;
};

/*
 * struct views - makes the views of a plan
 * @inner: per block, the smallest loop that it is in; NPUMEM_NONE: there is none
 * @seen: per instance, number of the iteration in which it was last met
 * @met: instances of the iteration at hand; the first one is the head's
 * @next: the head's instance in which the next iteration begins; NPUMEM_NONE: no edge leads back,
 *	or edges lead back to several
 */
struct views {
	const struct npuplan_flow *flow;
	struct npuplan_pool pool;
	struct npuplan_plan *plan;
	struct loop *loops;
	uint32_t *inner;
	uint32_t *seen;
	uint32_t *met;
	uint32_t *order;
	uint32_t *dominator;
	uint32_t loop_count;
	uint32_t met_count;
	uint32_t round;
	uint32_t next;
};

/* ------------------------------------------------------------------- loops */

/* Number the blocks so that each comes before those that it dominates. */
static int number_blocks(struct views *v)
{
	const struct npuplan_flow *flow = v->flow;
	uint32_t blocks = flow->graph->block_count, depth = 0, number = blocks;
	AUTO_HEAP uint32_t *stack = npuplan_malloc((size_t)blocks * sizeof(*stack));
	AUTO_HEAP uint32_t *next = npuplan_malloc((size_t)blocks * sizeof(*next));

	if (!stack || !next)
		return -ENOMEM;
	memset(v->order, 0xff, blocks * sizeof(*v->order));
	memcpy(next, flow->first_out, blocks * sizeof(*next));
	stack[depth++] = 0;
	v->order[0] = 0;
	while (depth) {
		uint32_t block = stack[depth - 1], to;

		if (next[block] == flow->first_out[block + 1]) {
			v->order[block] = --number;
			depth--;
			continue;
		}
		to = flow->graph->edges[flow->out_edges[next[block]++]].to;
		if (to != NPUMEM_NONE && v->order[to] == NPUMEM_NONE) {
			v->order[to] = 0;
			stack[depth++] = to;
		}
	}
	return 0;
}

static uint32_t meet(const struct views *v, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (v->order[a] > v->order[b])
			a = v->dominator[a];
		while (v->order[b] > v->order[a])
			b = v->dominator[b];
	}
	return a;
}

/*
 * Find the dominators by the algorithm of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
 * Algorithm".
 */
static void find_dominators(struct views *v)
{
	const struct npuplan_graph *graph = v->flow->graph;
	bool changed = true;

	memset(v->dominator, 0xff, graph->block_count * sizeof(*v->dominator));
	v->dominator[0] = 0;
	while (changed) {
		changed = false;
		for (uint32_t e = 0; e < graph->edge_count; e++) {
			uint32_t from = graph->edges[e].from, to = graph->edges[e].to, was;

			if (to == NPUMEM_NONE || !to || v->dominator[from] == NPUMEM_NONE)
				continue;
			was = v->dominator[to];
			v->dominator[to] = was == NPUMEM_NONE ? from : meet(v, was, from);
			changed |= v->dominator[to] != was;
		}
	}
}

static bool dominates(const struct views *v, uint32_t above, uint32_t block)
{
	while (block != above && block)
		block = v->dominator[block];
	return block == above;
}

static void add_block(struct loop *loop, uint32_t block)
{
	loop->size += !loop->inside[block];
	loop->inside[block] = true;
}

/*
 * Add the blocks from which @from, where an edge leads back to the head, is reached without passing
 * the head.
 */
static void add_tail(const struct views *v, struct loop *loop, uint32_t from)
{
	const struct npuplan_graph *graph = v->flow->graph;
	uint32_t before;

	add_block(loop, from);
	do {
		before = loop->size;
		for (uint32_t e = graph->edge_count; e-- > 0;)
			if (graph->edges[e].to != NPUMEM_NONE && graph->edges[e].to != loop->head &&
			    loop->inside[graph->edges[e].to])
				add_block(loop, graph->edges[e].from);
	} while (loop->size != before);
}

static int add_loop(struct views *v, uint32_t edge)
{
	const struct npumem_edge *e = &v->flow->graph->edges[edge];
	uint32_t i = 0;

	while (i < v->loop_count && v->loops[i].head != e->to)
		i++;
	if (i == MAX_LOOPS)
		return 0;
	if (i == v->loop_count) {
		struct loop loop = {
			.head = e->to,
			.edge = edge,
			.parent = NPUMEM_NONE,
			.inside = npuplan_pool_take(&v->pool, v->flow->graph->block_count, 1),
		};

		if (!loop.inside || npuplan_append(&v->loops, &v->loop_count, &loop, 1))
			return -ENOMEM;
		add_block(&v->loops[i], e->to);
	}
	add_tail(v, &v->loops[i], e->from);
	return 0;
}

static int find_loops(struct views *v)
{
	const struct npuplan_graph *graph = v->flow->graph;
	int err = number_blocks(v);

	if (err)
		return err;
	find_dominators(v);
	for (uint32_t e = 0; e < graph->edge_count && !err; e++)
		if (graph->edges[e].to != NPUMEM_NONE &&
		    dominates(v, graph->edges[e].to, graph->edges[e].from))
			err = add_loop(v, e);
	memset(v->inner, 0xff, graph->block_count * sizeof(*v->inner));
	for (uint32_t i = 0; i < v->loop_count && !err; i++) {
		struct loop *loop = &v->loops[i];

		for (uint32_t b = 0; b < graph->block_count; b++)
			if (loop->inside[b] &&
			    (v->inner[b] == NPUMEM_NONE || v->loops[v->inner[b]].size > loop->size))
				v->inner[b] = i;
		for (uint32_t k = 0; k < v->loop_count; k++)
			if (k != i && v->loops[k].inside[loop->head] &&
			    v->loops[k].size > loop->size &&
			    (loop->parent == NPUMEM_NONE ||
			     v->loops[loop->parent].size > v->loops[k].size))
				loop->parent = k;
	}
	return err;
}

/* -------------------------------------------------------------- iterations */

/* Find all instances that one iteration may go through, and where the next one begins. */
static void walk_iteration(struct views *v, const struct loop *loop, uint32_t head)
{
	const struct npuplan_flow *flow = v->flow;
	bool several = false;

	v->round++;
	v->met_count = 0;
	v->next = NPUMEM_NONE;
	v->seen[head] = v->round;
	v->met[v->met_count++] = head;
	for (uint32_t i = 0; i < v->met_count; i++) {
		const struct npuplan_instance *at = &flow->instances[v->met[i]];

		for (uint32_t k = 0; k < npuplan_out_count(flow, at->block); k++) {
			uint32_t to = flow->successors[at->first_edge + k];

			if (to == NPUMEM_NONE || !loop->inside[flow->instances[to].block])
				continue;
			if (flow->instances[to].block == loop->head) {
				several |= v->next != NPUMEM_NONE && v->next != to;
				v->next = to;
			} else if (v->seen[to] != v->round) {
				v->seen[to] = v->round;
				v->met[v->met_count++] = to;
			}
		}
	}
	if (several)
		v->next = NPUMEM_NONE;
}

/* The one instance of a block among those met; NPUMEM_NONE: there is none, or several. */
static uint32_t met_once(const struct views *v, uint32_t block)
{
	uint32_t found = NPUMEM_NONE;

	for (uint32_t i = 0; i < v->met_count; i++) {
		if (v->flow->instances[v->met[i]].block != block)
			continue;
		if (found != NPUMEM_NONE)
			return NPUMEM_NONE;
		found = v->met[i];
	}
	return found;
}

/*
 * The instance of a loop's head by which it is entered: of those met, the one that is reached from
 * outside the loop; NPUMEM_NONE: there is none, or several.
 */
static uint32_t entered_by(const struct views *v, const struct loop *loop)
{
	const struct npuplan_flow *flow = v->flow;
	uint32_t found = NPUMEM_NONE;

	for (uint32_t i = 0; i < v->met_count; i++) {
		const struct npuplan_instance *at = &flow->instances[v->met[i]];

		for (uint32_t k = 0; k < npuplan_out_count(flow, at->block); k++) {
			uint32_t to = flow->successors[at->first_edge + k];

			if (loop->inside[at->block] || to == NPUMEM_NONE ||
			    flow->instances[to].block != loop->head || to == found)
				continue;
			if (found != NPUMEM_NONE)
				return NPUMEM_NONE;
			found = to;
		}
	}
	return found;
}

/* ------------------------------------------------------------------- views */

/* Whether two slots say the same address, whatever the counters are. */
static bool same_slot(const struct npuplan_plan *plan, uint32_t a, uint32_t b)
{
	const struct npumem_view *x, *y;

	if (a == b)
		return true;
	if (!((a | b) & NPUMEM_VIEW_SLOT_NESTED))
		return plan->placements[a].offset == plan->placements[b].offset;
	if (!(a & b & NPUMEM_VIEW_SLOT_NESTED))
		return false;
	x = &plan->views[a & ~NPUMEM_VIEW_SLOT_NESTED];
	y = &plan->views[b & ~NPUMEM_VIEW_SLOT_NESTED];
	if (x->type != y->type || x->loop != y->loop || x->slot_count != y->slot_count)
		return false;
	for (uint32_t i = 0; i < x->slot_count; i++)
		if (!same_slot(plan, plan->view_slots[x->first_slot + i],
			       plan->view_slots[y->first_slot + i]))
			return false;
	return true;
}

static int add_view(struct npuplan_plan *plan, uint32_t tensor, uint32_t loop, uint32_t tail,
		    const uint32_t *slots, uint32_t count, uint32_t *slot)
{
	const struct npumem_view view = {
		.tensor = tensor,
		.type = tail ? NPUMEM_VIEW_FIRST_CYCLIC : NPUMEM_VIEW_CYCLIC,
		.repeat = count - tail,
		.loop = loop,
		.first_slot = plan->view_slot_count,
		.slot_count = count,
	};

	*slot = plan->view_count | NPUMEM_VIEW_SLOT_NESTED;
	return npuplan_append(&plan->views, &plan->view_count, &view, 1) ?:
		       npuplan_append(&plan->view_slots, &plan->view_slot_count, slots, count);
}

/* The slot of a tensor in the iteration that was walked last. */
static uint32_t slot_here(const struct views *v, uint32_t loop, uint32_t tensor)
{
	uint32_t slot = NPUMEM_NONE;

	for (uint32_t i = 0; i < v->met_count; i++) {
		uint32_t block = v->flow->instances[v->met[i]].block;
		uint32_t at = npuplan_name_of(v->flow, block, tensor);

		if (v->inner[block] != loop || at == NPUMEM_NONE || !v->flow->names[at].accessed)
			continue;
		/* Placements are in the order of nodes (planners/loops/plan.c). */
		at = npuplan_node_of(v->flow, v->met[i], at);
		if (slot != NPUMEM_NONE && !same_slot(v->plan, slot, at))
			return NPUMEM_NONE;
		slot = slot == NPUMEM_NONE ? at : slot;
	}
	return slot;
}

/*
 * Make the view of @tensor as it is accessed in chain[0], the innermost loop, seen from
 * chain[depth]; @entry is the head's instance of that loop's first iteration. @slot: out: the view,
 * or a placement if the address is always the same, or NPUMEM_NONE if there is no such table.
 */
static int view_of(struct views *v, const uint32_t *chain, uint32_t depth, uint32_t entry,
		   uint32_t tensor, uint32_t *slot)
{
	const struct loop *loop = &v->loops[chain[depth]];
	AUTO_HEAP uint32_t *heads = npuplan_malloc(MAX_ITERATIONS * sizeof(*heads));
	AUTO_HEAP uint32_t *slots = npuplan_malloc(MAX_ITERATIONS * sizeof(*slots));
	uint32_t count = 0, tail = 0, head = entry, views = 0, view_slots = 0;
	bool same = true;

	*slot = NPUMEM_NONE;
	if (!heads || !slots)
		return -ENOMEM;
	for (;;) {
		uint32_t next, at;

		for (tail = 0; tail < count && heads[tail] != head; tail++)
			;
		if (tail < count)
			break;
		if (count == MAX_ITERATIONS)
			return 0;
		walk_iteration(v, loop, head);
		next = v->next;
		if (next == NPUMEM_NONE)
			return 0;
		if (depth) {
			const struct loop *within = &v->loops[chain[depth - 1]];
			uint32_t inner = entered_by(v, within);
			int err = 0;

			/* The outer loop may begin with the inner one. */
			if (inner == NPUMEM_NONE)
				inner = met_once(v, within->head);
			at = NPUMEM_NONE;
			if (inner != NPUMEM_NONE)
				err = view_of(v, chain, depth - 1, inner, tensor, &at);
			if (err)
				return err;
		} else {
			at = slot_here(v, chain[0], tensor);
		}
		if (at == NPUMEM_NONE)
			return 0;
		heads[count] = head;
		slots[count++] = at;
		if (count == 1) {
			views = v->plan->view_count;
			view_slots = v->plan->view_slot_count;
		}
		same = same && same_slot(v->plan, slots[0], at);
		head = next;
	}
	if (!same)
		return tail > 1 ? 0 :
				  add_view(v->plan, tensor, loop->edge, tail, slots, count, slot);
	/* The table of the first iteration is right for all. */
	*slot = slots[0];
	v->plan->view_count = views;
	v->plan->view_slot_count = view_slots;
	return 0;
}

/* Make the views of all tensors that blocks of a loop access, without blocks of loops within it. */
static int view_loop(struct views *v, uint32_t loop)
{
	const struct npuplan_flow *flow = v->flow;
	AUTO_HEAP bool *done = npuplan_calloc((size_t)flow->graph->tensor_count + 1, sizeof(*done));
	uint32_t chain[MAX_NESTED], depth = 0, entry;
	int err = done ? 0 : -ENOMEM;

	for (chain[0] = loop; v->loops[chain[depth]].parent != NPUMEM_NONE; depth++) {
		if (depth + 1 == MAX_NESTED)
			return 0;
		chain[depth + 1] = v->loops[chain[depth]].parent;
	}
	/* All instances count as met, to find the one by which the outermost loop is entered. */
	for (v->met_count = 0; v->met_count < flow->instance_count; v->met_count++)
		v->met[v->met_count] = v->met_count;
	entry = entered_by(v, &v->loops[chain[depth]]);
	if (entry == NPUMEM_NONE)
		return 0;
	for (uint32_t b = 0; b < flow->graph->block_count && !err; b++) {
		if (v->inner[b] != loop)
			continue;
		for (uint32_t i = flow->first_name[b]; i < flow->first_name[b + 1] && !err; i++) {
			uint32_t tensor = flow->names[i].tensor, views = v->plan->view_count;
			uint32_t slots = v->plan->view_slot_count, slot;

			if (done[tensor] || !flow->names[i].accessed)
				continue;
			done[tensor] = true;
			err = view_of(v, chain, depth, entry, tensor, &slot);
			/*
			 * Inner tables are of no use without one around them, and are taken back.
			 */
			if (!err && slot == NPUMEM_NONE) {
				v->plan->view_count = views;
				v->plan->view_slot_count = slots;
			}
		}
	}
	return err;
}

int npuplan_flow_views(const struct npuplan_flow *flow, struct npuplan_plan *plan)
{
	size_t blocks = flow->graph->block_count, number = sizeof(uint32_t);
	struct views v = { .flow = flow, .plan = plan };
	int err = -ENOMEM;

	v.inner = npuplan_pool_take(&v.pool, blocks, number);
	v.order = npuplan_pool_take(&v.pool, blocks, number);
	v.dominator = npuplan_pool_take(&v.pool, blocks, number);
	v.seen = npuplan_pool_take(&v.pool, flow->instance_count, number);
	v.met = npuplan_pool_take(&v.pool, flow->instance_count, number);
	if (!v.pool.failed)
		err = find_loops(&v);
	for (uint32_t i = 0; i < v.loop_count && !err; i++)
		err = view_loop(&v, i);
	npuplan_pool_free(&v.pool);
	free(v.loops);
	return err;
}
