// SPDX-License-Identifier: MIT
/*
 * Concats, splits and slices without a copy. Which inputs can be parts of their concat's output is
 * settled from the last concat to the first, so that where an output lies itself is known by then;
 * which outputs can be parts of their split's input then from the first split to the last, for the
 * same reason (join()). All tiles of tensors that are parts become tiles of their base; then steps
 * that would copy parts to where they are have nothing left to do (joined_steps.c).
 *
 * Nothing else has to know of it: that every byte has one writer, and that nobody takes bytes
 * that readers of the whole, or of another part, need, live ranges and the verifier see from the
 * tiles.
 */
#include "join.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "joiner.h"
#include "partition.h"

const char *npuplan_join_text(unsigned int join)
{
	static const char *const texts[NPUPLAN_JOIN_COUNT] = {
		[NPUPLAN_JOINED] = "is part of the output",
		[NPUPLAN_JOIN_FLOW] = "is copied: the graph has loops or branches",
		[NPUPLAN_JOIN_CONVERTS] = "is copied: the output has other bytes than the inputs",
		[NPUPLAN_JOIN_SHAPE] = "is copied: shapes do not say where its bytes lie",
		[NPUPLAN_JOIN_OUTPUT] = "is copied: the output is state, or part of another tensor",
		[NPUPLAN_JOIN_KIND] =
			"is copied: it is an input of the graph, a parameter or state",
		[NPUPLAN_JOIN_KEPT] = "is copied: it is an output of the graph",
		[NPUPLAN_JOIN_PLACED] = "is copied: it is external, or at a fixed offset",
		[NPUPLAN_JOIN_RANGE] = "is copied: it is only a range of another tensor",
		[NPUPLAN_JOIN_TWICE] = "is copied: it is part of an output already",
		[NPUPLAN_JOIN_ALIGNMENT] = "is copied: its bytes would not be aligned",
		[NPUPLAN_JOIN_BLOCKS] = "is copied: blocks of channels do not end where inputs do",
		[NPUPLAN_JOIN_NESTED] = "is copied: its bytes would lie at no one distance",
		[NPUPLAN_JOIN_TILES] = "is copied: what a step accesses would be no region",
		[NPUPLAN_JOIN_EARLY] = "is copied: the output's room would be kept for too long",
		[NPUPLAN_JOIN_INPUT] =
			"is copied: the input is a parameter, state or a range, or not the only one",
		[NPUPLAN_JOIN_LATE] = "is copied: the input's room would be kept for too long",
	};

	return join < NPUPLAN_JOIN_COUNT ? texts[join] : NULL;
}

static int index_graph(struct joiner *j)
{
	const struct npuplan_graph *graph = j->graph;
	struct npuplan_pool *pool = &j->pool;
	uint32_t tensors = graph->tensor_count, *base_of, inputs = 0;

	j->is_part = npuplan_pool_take(pool, tensors, sizeof(*j->is_part));
	j->strips = npuplan_pool_take(pool, tensors, sizeof(*j->strips));
	j->is_kept = npuplan_pool_take(pool, tensors, sizeof(*j->is_kept));
	j->align = npuplan_pool_take(pool, tensors, sizeof(*j->align));
	j->first_tile = npuplan_pool_take(pool, (size_t)tensors + 2, sizeof(*j->first_tile));
	j->tiles = npuplan_pool_take(pool, graph->tile_count, sizeof(*j->tiles));
	j->first_input = npuplan_pool_take(pool, graph->op_count, sizeof(*j->first_input));
	j->is_there = npuplan_pool_take(pool, graph->op_count, sizeof(*j->is_there));
	base_of = npuplan_pool_take(pool, graph->tile_count, sizeof(*base_of));
	for (uint32_t i = 0; i < graph->op_count && !pool->failed; i++) {
		j->first_input[i] = inputs;
		inputs += npuplan_has_parts(&graph->ops[i]) ? npuplan_parts_of(graph, i).count : 0;
	}
	/* It becomes the graph's. */
	j->inputs = calloc((size_t)inputs + 1, sizeof(*j->inputs));
	if (pool->failed || !j->inputs)
		return -ENOMEM;
	j->input_count = inputs;
	for (uint32_t t = 0; t < tensors; t++) {
		uint32_t base = npuplan_base_of(graph, t);

		j->is_kept[base] |= graph->tensors[t].kind == NPUMEM_TENSOR_OUTPUT;
		if (j->align[base] < graph->tensors[t].align)
			j->align[base] = graph->tensors[t].align;
	}
	for (uint32_t i = 0; i < graph->tile_count; i++)
		base_of[i] = npuplan_base_of(graph, graph->tiles[i].tensor);
	npuplan_counting_sort(base_of, graph->tile_count, sizeof(*base_of), 0, tensors,
			      j->first_tile, j->tiles);
	return 0;
}

/* ------------------------------------------------------------------- which can be joined */

/* Whether a range of a tensor that lies in runs is in runs, too. */
static bool is_range(const struct npuplan_strip *strip, uint64_t shift, uint64_t size)
{
	return shift % strip->run == 0 || shift % strip->run + size <= strip->run;
}

/*
 * Whether all that steps access of a tensor is regions of its base, too, and where its aliases lie
 * can be said.
 */
static bool tiles_fit(const struct joiner *j, uint32_t tensor, const struct npuplan_strip *strip)
{
	const struct npuplan_graph *graph = j->graph;
	uint64_t size = graph->tensors[tensor].size;
	struct npumem_region region;

	for (uint32_t i = j->first_tile[tensor]; i < j->first_tile[tensor + 1]; i++) {
		const struct npumem_tile *tile = &graph->tiles[j->tiles[i]];

		if (!npuplan_strip_region(strip, size,
					  npuplan_base_offset(&graph->tensors[tile->tensor]),
					  &tile->region, &region))
			return false;
	}
	for (uint32_t t = 0; t < graph->tensor_count && strip->run < size; t++)
		if (npuplan_base_of(graph, t) == tensor &&
		    !is_range(strip, npuplan_base_offset(&graph->tensors[t]),
			      graph->tensors[t].size))
			return false;
	return true;
}

/* Whether a tensor may have its bytes in another one: enum npuplan_join. */
static enum npuplan_join check_tensor(const struct joiner *j, uint32_t tensor)
{
	const struct npuplan_graph *graph = j->graph;
	uint32_t base = npuplan_base_of(graph, tensor);
	const struct npuplan_tensor *t = &graph->tensors[base];
	const uint32_t placed = NPUMEM_TENSOR_FLAG_EXTERNAL | NPUMEM_TENSOR_FLAG_FIXED;

	if (t->kind != NPUMEM_TENSOR_INTERMEDIATE && t->kind != NPUMEM_TENSOR_OUTPUT)
		return NPUPLAN_JOIN_KIND;
	if (j->is_kept[base])
		return NPUPLAN_JOIN_KEPT;
	if (t->flags & placed)
		return NPUPLAN_JOIN_PLACED;
	if (graph->tensors[tensor].size != t->size)
		return NPUPLAN_JOIN_RANGE;
	return NPUPLAN_JOINED;
}

static enum npuplan_join check_strip(const struct joiner *j, uint32_t base,
				     const struct npuplan_strip *strip)
{
	uint64_t size = j->graph->tensors[base].size, align = j->align[base];
	bool apart = strip->run < size;

	if (strip->first % align || (apart && (strip->run % align || strip->stride % align)))
		return NPUPLAN_JOIN_ALIGNMENT;
	return tiles_fit(j, base, strip) ? NPUPLAN_JOINED : NPUPLAN_JOIN_TILES;
}

/* Whether parts may lie in the whole of an operator. */
static enum npuplan_join check_whole(const struct joiner *j, const struct npuplan_parts *parts)
{
	const struct npuplan_graph *graph = j->graph;
	const struct npuplan_tensor *whole = &graph->tensors[parts->whole];
	const struct npuplan_tensor *base = &graph->tensors[npuplan_base_of(graph, parts->whole)];
	bool made = base->kind == NPUMEM_TENSOR_INTERMEDIATE || base->kind == NPUMEM_TENSOR_OUTPUT;

	if (!parts->apart)
		return made && whole == base ? NPUPLAN_JOINED : NPUPLAN_JOIN_OUTPUT;
	/* An input of the graph, too, has bytes that nobody writes any more. */
	made |= base->kind == NPUMEM_TENSOR_INPUT;
	return made && whole->size == base->size ? NPUPLAN_JOINED : NPUPLAN_JOIN_INPUT;
}

enum npuplan_join npuplan_check_parts(const struct joiner *j, uint32_t op_index,
				      const struct npuplan_parts *parts,
				      struct npuplan_strip *strips)
{
	const struct npuplan_graph *graph = j->graph;
	const struct npuplan_attrs *attrs = &graph->ops[op_index].attrs;
	enum npuplan_join join;
	uint32_t base;

	if (graph->edge_count)
		return NPUPLAN_JOIN_FLOW;
	if (attrs->converts)
		return NPUPLAN_JOIN_CONVERTS;
	if (parts->whole == NPUMEM_NONE && parts->apart)
		return NPUPLAN_JOIN_INPUT;
	if (attrs->whole || parts->whole == NPUMEM_NONE)
		return NPUPLAN_JOIN_SHAPE;
	base = npuplan_base_of(graph, parts->whole);
	join = check_whole(j, parts);
	if (!join)
		join = npuplan_part_strips(graph, op_index, parts, strips);
	for (uint32_t i = 0; i < parts->count && !join; i++) {
		struct npuplan_strip inner = strips[i];

		strips[i].base = base;
		if (j->is_part[base] &&
		    !npuplan_strip_in(&inner, graph->tensors[parts->parts[i]].size,
				      &j->strips[base], graph->tensors[base].size, &strips[i]))
			join = NPUPLAN_JOIN_NESTED;
	}
	return join;
}

/*
 * Whether all parts lie already as the whole wants them, as parts of the output of a later concat:
 * then the whole lies there, too. @strips: of the parts in the whole. @strip: out: where it lies.
 */
static bool is_there(const struct joiner *j, const struct npuplan_parts *parts,
		     const struct npuplan_strip *strips, struct npuplan_strip *strip)
{
	const struct npuplan_graph *graph = j->graph;
	uint32_t whole = npuplan_base_of(graph, parts->whole);
	uint64_t size = graph->tensors[whole].size, run = 0;

	if (j->is_part[whole] || check_tensor(j, parts->whole))
		return false;
	for (uint32_t i = 0; i < parts->count; i++) {
		uint32_t tensor = npuplan_base_of(graph, parts->parts[i]);

		if (!j->is_part[tensor] || check_tensor(j, parts->parts[i]))
			return false;
		if (!i)
			*strip = j->strips[tensor];
		run += j->strips[tensor].run;
	}
	/* One run behind the other is one run. */
	if (run && run == strip->stride && size % run == 0)
		run = size;
	strip->run = run;
	if (run >= size)
		strip->stride = run;
	if (!run || size % run)
		return false;
	for (uint32_t i = 0; i < parts->count; i++) {
		uint32_t tensor = npuplan_base_of(graph, parts->parts[i]);
		const struct npuplan_strip *at = &j->strips[tensor];
		struct npuplan_strip same;

		if (!npuplan_strip_in(&strips[i], graph->tensors[tensor].size, strip, size,
				      &same) ||
		    same.base != at->base || same.first != at->first || same.run != at->run ||
		    same.stride != at->stride)
			return false;
	}
	return check_strip(j, whole, strip) == NPUPLAN_JOINED;
}

/* False: it would have more bytes live at once than there were before any was placed. */
static bool place(struct joiner *j, uint32_t tensor, const struct npuplan_strip *strip)
{
	if (j->lives && !npuplan_lives_join(j->lives, tensor, strip->base))
		return false;
	j->is_part[tensor] = true;
	j->strips[tensor] = *strip;
	return true;
}

/*
 * The part to settle next: in order; or, if room matters, the one for which it is kept the
 * shortest: the input of a concat that is made last, the output of a split that is needed least
 * long. @done: parts that are settled.
 */
static uint32_t next_part(const struct joiner *j, const struct npuplan_parts *parts,
			  const bool *done)
{
	uint32_t best = NPUMEM_NONE, least = 0;

	for (uint32_t i = 0; i < parts->count; i++) {
		uint32_t tensor = npuplan_base_of(j->graph, parts->parts[i]), kept;

		if (done[i])
			continue;
		if (!j->lives)
			return i;
		kept = parts->apart ? npuplan_lives_dies(j->lives, tensor) :
				      j->graph->op_count - npuplan_lives_born(j->lives, tensor);
		if (best != NPUMEM_NONE && kept >= least)
			continue;
		best = i;
		least = kept;
	}
	return best;
}

/* What becomes of part @i, which may lie at @strip. */
static enum npuplan_join join_part(struct joiner *j, const struct npuplan_parts *parts, uint32_t i,
				   const struct npuplan_strip *strip)
{
	uint32_t tensor = npuplan_base_of(j->graph, parts->parts[i]);
	enum npuplan_join join = check_tensor(j, parts->parts[i]);

	if (!join && j->is_part[tensor])
		join = NPUPLAN_JOIN_TWICE;
	/* A tensor cannot lie in itself, nor in one that is part of it. */
	if (!join && strip->base == tensor)
		join = NPUPLAN_JOIN_RANGE;
	if (!join)
		join = check_strip(j, tensor, strip);
	if (!join && !place(j, tensor, strip))
		join = parts->apart ? NPUPLAN_JOIN_LATE : NPUPLAN_JOIN_EARLY;
	return join;
}

/*
 * Settle what becomes of the parts of one operator. @only_there: only if all lie where they should.
 * @strips: room for one for each part. @done: likewise
 */
static void join(struct joiner *j, uint32_t op_index, bool only_there, struct npuplan_strip *strips,
		 bool *done)
{
	const struct npuplan_graph *graph = j->graph;
	const struct npuplan_parts parts = npuplan_parts_of(graph, op_index);
	enum npuplan_join all = npuplan_check_parts(j, op_index, &parts, strips);
	struct npuplan_strip strip;
	/* What a slice leaves out would lie in bytes of others. */
	bool there = !all && !npuplan_is_slice(&graph->ops[op_index]) &&
		     is_there(j, &parts, strips, &strip) &&
		     place(j, npuplan_base_of(graph, parts.whole), &strip);

	j->is_there[op_index] = there;
	if (only_there && !there)
		return;
	memset(done, 0, parts.count * sizeof(*done));
	for (uint32_t k = 0; k < parts.count; k++) {
		uint32_t i = next_part(j, &parts, done);
		enum npuplan_join join = all;

		if (!join && !there)
			join = join_part(j, &parts, i, &strips[i]);
		done[i] = true;
		j->inputs[j->first_input[op_index] + i] = (struct npuplan_concat_input){
			.op = op_index,
			.input = i,
			.tensor = parts.parts[i],
			.join = join,
		};
	}
}

static bool any_part(const struct joiner *j)
{
	for (uint32_t t = 0; t < j->graph->tensor_count; t++)
		if (j->is_part[t])
			return true;
	return false;
}

static int join_all(struct joiner *j)
{
	const struct npuplan_graph *graph = j->graph;
	struct npuplan_strip *strips;
	uint32_t most = 0;
	bool *done;

	for (uint32_t i = 0; i < graph->op_count; i++) {
		const struct npuplan_op *op = &graph->ops[i];

		most = op->input_count > most ? op->input_count : most;
		most = op->output_count > most ? op->output_count : most;
	}
	strips = npuplan_pool_take(&j->pool, most, sizeof(*strips));
	done = npuplan_pool_take(&j->pool, most, sizeof(*done));
	if (j->pool.failed)
		return -ENOMEM;
	/*
	 * Backwards, a split whose outputs make up a part of a later concat lets its input be that
	 * part. Nothing lies in that input yet: only outputs of concats have parts by then, and
	 * the concat that made it comes before.
	 */
	for (uint32_t i = graph->op_count; i-- > 0;)
		if (npuplan_has_parts(&graph->ops[i]))
			join(j, i, !npuplan_is_concat(&graph->ops[i]), strips, done);
	for (uint32_t i = 0; i < graph->op_count; i++)
		if (npuplan_has_parts(&graph->ops[i]) && !npuplan_is_concat(&graph->ops[i]) &&
		    !j->is_there[i])
			join(j, i, false, strips, done);
	return 0;
}

/*
 * Join what fits. If all fits together, all is joined, though one part after the other might not:
 * of a chain of concats each part takes room until the last one is joined.
 */
static int join_what_fits(struct joiner *j)
{
	struct npuplan_lives lives;
	uint64_t limit;
	int err = npuplan_lives_init(&lives, j->graph, &j->pool);

	if (err)
		return err;
	j->lives = &lives;
	limit = lives.limit;
	lives.limit = UINT64_MAX;
	err = join_all(j);
	if (!err && npuplan_lives_most(&lives) > limit) {
		memset(j->is_part, 0, j->graph->tensor_count * sizeof(*j->is_part));
		err = npuplan_lives_init(&lives, j->graph, &j->pool);
		if (!err)
			err = join_all(j);
	}
	j->lives = NULL;
	return err;
}

/* ----------------------------------------------------------------------- tensors anew */

/* Where a tensor lies that is a part, or an alias of one. */
static struct npuplan_joined joined_of(const struct joiner *j, uint32_t tensor)
{
	const struct npuplan_tensor *t = &j->graph->tensors[tensor];
	const struct npuplan_strip *strip = &j->strips[npuplan_base_of(j->graph, tensor)];
	uint64_t shift = npuplan_base_offset(t), within = shift % strip->run;
	bool alone = within + t->size <= strip->run;

	return (struct npuplan_joined){
		.tensor = tensor,
		.base = strip->base,
		.first = strip->first + shift / strip->run * strip->stride + within,
		.run = alone ? t->size : strip->run,
		.stride = alone ? t->size : strip->stride,
		.size = t->size,
		.alias_offset = t->alias_offset,
		.alias_of = t->alias_of,
		.flags = t->flags,
	};
}

/* A part is an alias from now on, and so are its aliases. */
static int make_aliases(struct joiner *j)
{
	struct npuplan_graph *graph = j->graph;
	int err = 0;

	for (uint32_t t = 0; t < graph->tensor_count && !err; t++) {
		struct npuplan_joined joined;

		if (!j->is_part[npuplan_base_of(graph, t)])
			continue;
		joined = joined_of(j, t);
		err = npuplan_append(&graph->joined, &graph->joined_count, &joined, 1);
	}
	for (uint32_t i = 0; i < graph->joined_count && !err; i++) {
		const struct npuplan_joined *joined = &graph->joined[i];
		struct npuplan_tensor *tensor = &graph->tensors[joined->tensor];
		bool apart = joined->run < tensor->size;

		tensor->flags |= NPUMEM_TENSOR_FLAG_ALIAS;
		tensor->alias_of = joined->base;
		tensor->alias_offset = apart ? 0 : joined->first;
		tensor->size = apart ? graph->tensors[joined->base].size : tensor->size;
	}
	return err;
}

static void restore(const struct npuplan_graph *graph, struct npuplan_tensor *tensors)
{
	for (uint32_t i = 0; i < graph->joined_count; i++) {
		const struct npuplan_joined *joined = &graph->joined[i];
		struct npuplan_tensor *tensor = &tensors[joined->tensor];

		tensor->flags = joined->flags;
		tensor->size = joined->size;
		tensor->alias_of = joined->alias_of;
		tensor->alias_offset = joined->alias_offset;
	}
}

struct npuplan_tensor *npuplan_tensors_apart(const struct npuplan_graph *graph)
{
	size_t bytes = graph->tensor_count * sizeof(*graph->tensors);
	struct npuplan_tensor *tensors = malloc(bytes + 1);

	if (!tensors)
		return NULL;
	if (bytes)
		memcpy(tensors, graph->tensors, bytes);
	restore(graph, tensors);
	return tensors;
}

void npuplan_part_joined(struct npuplan_graph *graph)
{
	restore(graph, graph->tensors);
	free_all(graph->joined, graph->concat_inputs);
	graph->joined = NULL;
	graph->concat_inputs = NULL;
	graph->joined_count = graph->concat_input_count = 0;
}

int npuplan_join_concats(struct npuplan_graph *graph, bool fit, struct npuplan_error *error)
{
	struct joiner j = { .graph = graph };
	int err = index_graph(&j);

	if (!err)
		err = fit ? join_what_fits(&j) : join_all(&j);
	/* Without parts the steps stay as they are; so do blocks, which such a graph has alone. */
	if (!err && any_part(&j))
		err = npuplan_join_steps(&j);
	/* Tiles are told by tensors as they were, so these come last. */
	if (!err)
		err = make_aliases(&j);
	if (!err) {
		graph->concat_inputs = j.inputs;
		graph->concat_input_count = j.input_count;
		j.inputs = NULL;
	}
	free(j.inputs);
	npuplan_pool_free(&j.pool);
	if (!err)
		return 0;
	npuplan_graph_untile(graph);
	return npuplan_fail(error, err, "concats of graph %s: %s", graph->name, strerror(-err));
}
