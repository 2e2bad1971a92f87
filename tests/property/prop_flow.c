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

#define MAX_TENSORS 200
#define MAX_DEPTH   3
#define SIZES	    3
#define MANY	    300	  /* instances; each planner takes a while */
#define WORK	    20000 /* the planners that search would go on for seconds */
#define ORDERS	    12	  /* random orders of the steps, of each program */

/* -------------------------------------------------------- random programs */

/*
 * struct world - program in the making
 * @defined: tensors that have a value here, whatever path was taken
 * @left: operators to go
 * @tiled: most operators write their outputs tile by tile
 * @odd: there are external tensors, aliases, fixed offsets, strided tiles, reads and updates in
 *	part
 * @external: an external tensor, of odd programs
 */
struct world {
	struct npuplan_graph *graph;
	uint32_t defined[MAX_TENSORS];
	uint32_t defined_count;
	uint32_t left;
	bool tiled;
	bool odd;
	uint32_t external;
};

static const uint64_t sizes[SIZES] = { 8, 12, 20 };

static uint32_t add_tensor(struct world *w, uint32_t kind, uint64_t size)
{
	struct npuplan_tensor tensor = {
		.size = size,
		.align = 1u << draw(0, 2),
		.kind = kind,
		.id = w->graph->tensor_count,
	};
	int64_t index = npuplan_graph_add_tensor(w->graph, &tensor);

	if (index < 0 || index >= MAX_TENSORS)
		fail("add_tensor: %" PRId64, index);
	return index;
}

static void define(struct world *w, uint32_t tensor)
{
	w->defined[w->defined_count++] = tensor;
}

/* Defines, now and then, an alias of a part of a tensor that is defined, too. */
static void maybe_alias(struct world *w, uint32_t of)
{
	struct npuplan_tensor tensor = {
		.size = 4,
		.align = 1,
		.alias_of = of,
		.alias_offset = 4,
		.flags = NPUMEM_TENSOR_FLAG_ALIAS,
		.id = w->graph->tensor_count,
	};
	int64_t index;

	if (!w->odd || draw(0, 5) || w->graph->tensor_count + 8 >= MAX_TENSORS)
		return;
	index = npuplan_graph_add_tensor(w->graph, &tensor);
	if (index < 0)
		fail("add_tensor: %" PRId64, index);
	define(w, index);
}

static uint32_t any_defined(const struct world *w)
{
	return w->defined[draw(0, w->defined_count - 1)];
}

/* Defined tensor of a size; NONE if there is none. Late ones rather than early. */
static uint32_t defined_of(const struct world *w, uint64_t size)
{
	uint32_t found = NPUMEM_NONE;

	for (uint32_t i = 0; i < w->defined_count; i++)
		if (w->graph->tensors[w->defined[i]].size == size &&
		    !(w->graph->tensors[w->defined[i]].flags &
		      (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_EXTERNAL)) &&
		    (found == NPUMEM_NONE || draw(0, 2)))
			found = w->defined[i];
	return found;
}

static uint32_t last_block(const struct world *w)
{
	return w->graph->block_count - 1;
}

static uint32_t add_block(struct world *w)
{
	int64_t block = npuplan_graph_add_block(w->graph);

	if (block < 0)
		fail("add_block");
	return block;
}

static uint32_t add_edge(struct world *w, uint32_t from, uint32_t to,
			 const struct npumem_carry *carries, uint32_t count)
{
	int64_t edge = npuplan_graph_add_edge(w->graph, from, to, carries, count);

	if (edge < 0)
		fail("add_edge");
	return edge;
}

static uint32_t whole_tile(struct world *w, uint32_t tensor)
{
	struct npumem_region region = {
		.length = w->graph->tensors[tensor].size,
		.count = { 1, 1, 1 },
	};

	return npuplan_graph_add_tile(w->graph, tensor, &region);
}

/* The @k-th of @parts tiles of a tensor, whose size is a multiple of 4. */
static uint32_t part_tile(struct world *w, uint32_t tensor, uint32_t k, uint32_t parts)
{
	uint64_t words = w->graph->tensors[tensor].size / 4;
	struct npumem_region region = {
		.offset = 4 * (words * k / parts),
		.length = 4 * (words * (k + 1) / parts - words * k / parts),
		.count = { 1, 1, 1 },
	};

	return npuplan_graph_add_tile(w->graph, tensor, &region);
}

/* The @k-th of two tiles that have half of each of two channels, as in NCHW. */
static uint32_t strided_tile(struct world *w, uint32_t tensor, uint32_t k)
{
	uint64_t quarter = w->graph->tensors[tensor].size / 4;
	struct npumem_region region = {
		.offset = k * quarter,
		.length = quarter,
		.count = { 2, 1, 1 },
		.stride = { 2 * quarter },
	};

	return npuplan_graph_add_tile(w->graph, tensor, &region);
}

/* What a step reads of a tensor: all of it, or in odd programs maybe a part. */
static uint32_t some_tile(struct world *w, uint32_t tensor)
{
	if (!w->odd || draw(0, 3) || w->graph->tensors[tensor].size < 8)
		return whole_tile(w, tensor);
	return draw(0, 1) ? part_tile(w, tensor, draw(0, 1), 2) :
			    strided_tile(w, tensor, draw(0, 1));
}

/*
 * Writes @target in two tiles, each of the same part, or of all, of one or two tensors; maybe in
 * place of the first one.
 */
static void add_tiled(struct world *w, uint32_t target)
{
	const struct npuplan_tensor *t = w->graph->tensors;
	uint32_t reads = draw(1, 2), from[2], flags = draw(0, 2) ? 0 : NPUMEM_STEP_STAGED;
	bool in_parts[2], inplace, strided = w->odd && draw(0, 1);

	for (uint32_t i = 0; i < reads; i++) {
		from[i] = any_defined(w);
		in_parts[i] = draw(0, 2) && t[from[i]].size >= 8;
	}
	if (reads == 2 && from[0] == from[1])
		reads = 1;
	inplace = draw(0, 1) && in_parts[0] && t[from[0]].size == t[target].size;
	for (uint32_t k = 0; k < 2; k++) {
		struct npuplan_step step = { .op = NPUMEM_NONE, .flags = flags };
		struct npumem_access accesses[3];

		for (uint32_t i = 0; i < reads; i++)
			accesses[i] = (struct npumem_access){
				.tile = !in_parts[i] ? some_tile(w, from[i]) :
					strided	     ? strided_tile(w, from[i], k) :
						       part_tile(w, from[i], k, 2),
				.mode = NPUMEM_ACCESS_READ,
				.inplace = NPUMEM_NONE,
			};
		accesses[reads] = (struct npumem_access){
			.tile = strided ? strided_tile(w, target, k) : part_tile(w, target, k, 2),
			.mode = NPUMEM_ACCESS_WRITE,
			.inplace = inplace ? 0 : NPUMEM_NONE,
		};
		if (npuplan_graph_add_step(w->graph, &step, accesses, reads + 1) < 0)
			fail("add_step");
	}
	define(w, target);
	maybe_alias(w, target);
}

/* Writes @target in two tiles, in place of a whole tensor each if their sizes are so: a concat. */
static void add_concat(struct world *w, uint32_t target)
{
	for (uint32_t k = 0; k < 2; k++) {
		struct npuplan_step step = { .op = NPUMEM_NONE };
		uint32_t tile = part_tile(w, target, k, 2);
		uint64_t bytes = w->graph->tiles[tile].region.length;
		uint32_t from = defined_of(w, bytes);
		struct npumem_access accesses[2] = {
			{ whole_tile(w, from == NPUMEM_NONE ? any_defined(w) : from),
			  NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
			{ tile, NPUMEM_ACCESS_WRITE, from == NPUMEM_NONE ? NPUMEM_NONE : 0, 0 },
		};

		if (npuplan_graph_add_step(w->graph, &step, accesses, 2) < 0)
			fail("add_step");
	}
	define(w, target);
}

/* Reads up to three tensors, writes @target; maybe in place of one of them. */
static void add_step(struct world *w, uint32_t target)
{
	struct npuplan_step step = {
		.op = NPUMEM_NONE,
		.flags = draw(0, 2) ? 0 : NPUMEM_STEP_STAGED,
	};
	struct npumem_access accesses[4];
	uint32_t count = 0;

	if (w->odd && w->tiled && !draw(0, 3)) {
		add_concat(w, target);
		return;
	}
	if (w->tiled && draw(0, 3)) {
		add_tiled(w, target);
		return;
	}
	for (uint32_t reads = draw(1, 3); count < reads;) {
		uint32_t tensor = any_defined(w);
		bool twice = false;

		for (uint32_t i = 0; i < count; i++)
			twice |= w->graph->tiles[accesses[i].tile].tensor == tensor;
		if (twice)
			break;
		accesses[count++] = (struct npumem_access){
			.tile = some_tile(w, tensor),
			.mode = NPUMEM_ACCESS_READ,
			.inplace = NPUMEM_NONE,
		};
	}
	accesses[count] = (struct npumem_access){
		.tile = whole_tile(w, target),
		.mode = NPUMEM_ACCESS_WRITE,
		.inplace = NPUMEM_NONE,
	};
	if (!draw(0, 3) &&
	    w->graph->tiles[accesses[0].tile].region.length == w->graph->tensors[target].size)
		accesses[count].inplace = 0;
	if (npuplan_graph_add_step(w->graph, &step, accesses, count + 1) < 0)
		fail("add_step");
	define(w, target);
	maybe_alias(w, target);
}

/* A step that reads one tensor and writes another one, whole. */
static void add_plain(struct world *w, uint32_t from, uint32_t to)
{
	struct npuplan_step step = { .op = NPUMEM_NONE };
	struct npumem_access accesses[2] = {
		{ whole_tile(w, from), NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
		{ whole_tile(w, to), NPUMEM_ACCESS_WRITE, NPUMEM_NONE, 0 },
	};

	if (npuplan_graph_add_step(w->graph, &step, accesses, 2) < 0)
		fail("add_plain");
}

/* Large tensors, then a small one of each: they need not all live at once, but in this order do. */
static void add_fan(struct world *w)
{
	uint32_t count = draw(2, 3), from = any_defined(w), large[3], small;

	for (uint32_t i = 0; i < count; i++) {
		large[i] = add_tensor(w, NPUMEM_TENSOR_INTERMEDIATE, sizes[SIZES - 1]);
		add_plain(w, from, large[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		small = add_tensor(w, NPUMEM_TENSOR_INTERMEDIATE, sizes[0]);
		add_plain(w, large[i], small);
		define(w, small);
	}
}

/* A step that has nothing in the arena. */
static void add_outside(struct world *w)
{
	struct npuplan_step step = { .op = NPUMEM_NONE };
	struct npumem_access access = {
		.tile = some_tile(w, w->external),
		.mode = NPUMEM_ACCESS_READ,
		.inplace = NPUMEM_NONE,
	};

	if (npuplan_graph_add_step(w->graph, &step, &access, 1) < 0)
		fail("add_outside");
}

static void add_update(struct world *w, uint32_t tensor)
{
	struct npuplan_step step = { .op = NPUMEM_NONE };
	struct npumem_access access = {
		.tile = some_tile(w, tensor),
		.mode = NPUMEM_ACCESS_UPDATE,
		.inplace = NPUMEM_NONE,
	};

	if (npuplan_graph_add_step(w->graph, &step, &access, 1) < 0)
		fail("add_update");
}

static void add_ops(struct world *w, uint32_t depth);

/* Names that take over values: of one size, all new. */
static uint32_t draw_carries(struct world *w, struct npumem_carry *carries)
{
	uint64_t size = sizes[draw(0, SIZES - 1)];
	uint32_t count = 0;

	for (uint32_t wanted = draw(0, 3); count < wanted; count++) {
		uint32_t from = defined_of(w, size);

		if (from == NPUMEM_NONE || w->graph->tensor_count + 4 >= MAX_TENSORS)
			break;
		carries[count].from = from;
		carries[count].to = add_tensor(w, NPUMEM_TENSOR_INTERMEDIATE, size);
	}
	for (uint32_t i = 0; i < count; i++)
		define(w, carries[i].to);
	return count;
}

/*
 * The loop: its carried names take new values, each other's (swaps, chains) or
 * two of them the same.
 */
static void add_loop(struct world *w, uint32_t depth)
{
	bool top = draw(0, 1);
	struct npumem_carry carries[4];
	uint32_t from = last_block(w), count = draw_carries(w, carries), head, test, mark, end;

	head = add_block(w);
	add_edge(w, from, head, carries, count);
	if (top && draw(0, 1))
		add_step(w, add_tensor(w, NPUMEM_TENSOR_INTERMEDIATE, sizes[0]));
	mark = w->defined_count;
	test = last_block(w);
	if (top)
		add_edge(w, test, add_block(w), NULL, 0);
	add_ops(w, depth + 1);
	end = last_block(w);
	for (uint32_t i = 0; i < count; i++)
		carries[i].from = defined_of(w, w->graph->tensors[carries[i].to].size);
	add_edge(w, end, head, carries, count);
	if (top)
		w->defined_count = mark;
	add_edge(w, top ? test : end, add_block(w), NULL, 0);
}

static void add_branch(struct world *w, uint32_t depth)
{
	struct npumem_carry carries[3][4], outs[4];
	uint32_t arms = draw(1, 3), from = last_block(w), mark = w->defined_count, ends[3], join;
	uint32_t count = draw_carries(w, outs);

	for (uint32_t a = 0; a < arms; a++) {
		w->defined_count = mark;
		ends[a] = from;
		/* An arm may be empty. */
		if (draw(0, 3)) {
			add_edge(w, from, add_block(w), NULL, 0);
			add_ops(w, depth + 1);
			ends[a] = last_block(w);
		}
		for (uint32_t i = 0; i < count; i++) {
			carries[a][i].to = outs[i].to;
			carries[a][i].from = defined_of(w, w->graph->tensors[outs[i].to].size);
		}
	}
	join = add_block(w);
	for (uint32_t a = 0; a < arms; a++)
		add_edge(w, ends[a], join, carries[a], count);
	w->defined_count = mark;
	for (uint32_t i = 0; i < count; i++)
		define(w, outs[i].to);
}

/* The tensor defined last, if it may be updated. */
static uint32_t last_name(const struct world *w)
{
	uint32_t last = w->defined[w->defined_count - 1];
	const struct npuplan_tensor *tensor = &w->graph->tensors[last];

	return tensor->kind == NPUMEM_TENSOR_INTERMEDIATE && !tensor->flags ? last : NPUMEM_NONE;
}

static void add_ops(struct world *w, uint32_t depth)
{
	for (uint32_t count = draw(1, 4); count && w->left; count--, w->left--) {
		uint32_t die = draw(0, 11);

		if (w->graph->tensor_count + 12 >= MAX_TENSORS)
			return;
		if (die < 2 && depth < MAX_DEPTH)
			add_loop(w, depth);
		else if (die < 4 && depth < MAX_DEPTH)
			add_branch(w, depth);
		else if (die == 4 && w->graph->tensors[w->defined[0]].kind == NPUMEM_TENSOR_STATE)
			add_update(w, w->defined[0]);
		else if (die == 5 && w->odd)
			add_outside(w);
		else if (die == 6 && w->odd && !draw(0, 2) && last_name(w) != NPUMEM_NONE)
			add_update(w, last_name(w));
		else if (die == 7 && draw(0, 1))
			add_fan(w);
		else
			add_step(w, add_tensor(w, NPUMEM_TENSOR_INTERMEDIATE,
					       sizes[draw(0, SIZES - 1)]));
	}
}

static struct npuplan_graph *random_program(void)
{
	struct world w = { .graph = npuplan_graph_new("random"),
			   .left = draw(4, 16),
			   .tiled = draw(0, 1),
			   .odd = draw(0, 1) };

	if (draw(0, 1))
		define(&w, add_tensor(&w, NPUMEM_TENSOR_STATE, sizes[draw(0, SIZES - 1)]));
	for (uint32_t i = 0; i < SIZES; i++)
		define(&w, add_tensor(&w, NPUMEM_TENSOR_INPUT, sizes[i]));
	if (draw(0, 1))
		define(&w, add_tensor(&w, NPUMEM_TENSOR_PARAMETER, sizes[draw(0, SIZES - 1)]));
	if (w.odd) {
		w.external = add_tensor(&w,
					draw(0, 1) ? NPUMEM_TENSOR_INPUT : NPUMEM_TENSOR_PARAMETER,
					sizes[draw(0, SIZES - 1)]);
		w.graph->tensors[w.external].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
		define(&w, w.external);
		maybe_alias(&w, w.defined[0]);
		if (!draw(0, 2)) {
			struct npuplan_tensor *fixed = &w.graph->tensors[w.defined[draw(0, 2)]];

			fixed->flags |= NPUMEM_TENSOR_FLAG_FIXED;
			fixed->fixed_offset = 16 * draw(0, 4);
		}
	}
	add_ops(&w, 0);
	for (uint32_t i = draw(1, 2); i; i--)
		add_step(&w, add_tensor(&w, NPUMEM_TENSOR_OUTPUT, sizes[draw(0, SIZES - 1)]));
	if (w.graph->block_count > 1)
		add_edge(&w, last_block(&w), NPUMEM_NONE, NULL, 0);
	return w.graph;
}

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
