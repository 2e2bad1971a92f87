/* SPDX-License-Identifier: MIT */
/*
 * Draws random programs with loops, branches, swaps, carries over several iterations and values
 * that go to several names; operators are whole or in tiles, strided ones too. Tensors may be
 * external, fixed, or have aliases; state and values may be updated in part. For property tests.
 */
#pragma once

#include <stdbool.h>

#include "npuplan.h"
#include "property.h"

#define MAX_TENSORS 200
#define MAX_DEPTH   3
#define SIZES	    3

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
