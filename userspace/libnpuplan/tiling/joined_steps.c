// SPDX-License-Identifier: MIT
/* The steps of a graph anew, without the copies of what is joined. */
#include "joiner.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/table.h"
#include "partition.h"

/*
 * struct rewriting - the steps of a graph in the making, as they are without what is joined
 * @old: the graph's steps, accesses and tiles as they were
 * @table: finds equal tiles
 * @parts, @strips: of the operator at hand
 * @accesses: room for the accesses of a step
 */
struct rewriting {
	struct joiner *j;
	struct npuplan_graph old;
	struct npuplan_table table;
	struct npuplan_parts parts;
	struct npuplan_strip *strips;
	struct npumem_access *accesses;
};

static int64_t find_tile(struct rewriting *w, uint32_t tensor, const struct npumem_region *region)
{
	struct npuplan_graph *graph = w->j->graph;
	const struct npumem_tile tile = { .tensor = tensor, .region = *region };
	int64_t found = npuplan_table_enter(&w->table, graph->tiles, graph->tile_count,
					    sizeof(tile), &tile);

	return found == graph->tile_count ? npuplan_graph_add_tile(graph, tensor, region) : found;
}

/* The tile of the base that a tile is. */
static int64_t mapped(struct rewriting *w, const struct npumem_tile *tile)
{
	const struct npuplan_graph *graph = w->j->graph;
	uint32_t base = npuplan_base_of(graph, tile->tensor);
	const struct npuplan_strip *strip = &w->j->strips[base];
	struct npumem_region region = tile->region;

	if (!w->j->is_part[base])
		return find_tile(w, tile->tensor, &tile->region);
	npuplan_strip_region(strip, graph->tensors[base].size,
			     npuplan_base_offset(&graph->tensors[tile->tensor]), &tile->region,
			     &region);
	return find_tile(w, strip->base, &region);
}

static int keep_step(struct rewriting *w, const struct npuplan_step *step)
{
	struct npuplan_graph *graph = w->j->graph;
	int64_t err = 0;

	for (uint32_t a = 0; a < step->access_count && err >= 0; a++) {
		struct npumem_access *access = &w->accesses[a];

		*access = w->old.accesses[step->first_access + a];
		err = mapped(w, &w->old.tiles[access->tile]);
		access->tile = (uint32_t)err;
	}
	/* Bytes of one tensor are no other's to take. */
	for (uint32_t a = 0; a < step->access_count && err >= 0; a++) {
		struct npumem_access *access = &w->accesses[a];

		if (access->inplace != NPUMEM_NONE &&
		    npuplan_base_of(graph, graph->tiles[access->tile].tensor) ==
			    npuplan_base_of(graph,
					    graph->tiles[w->accesses[access->inplace].tile].tensor))
			access->inplace = NPUMEM_NONE;
	}
	if (err >= 0)
		err = npuplan_graph_add_step(graph, step, w->accesses, step->access_count);
	return err < 0 ? (int)err : 0;
}

/*
 * A step that copies a region of a part to where it lies in the whole; or, of a split, from there.
 */
static int add_copy(struct rewriting *w, const struct npuplan_step *step, uint32_t part,
		    const struct npumem_region *region, uint32_t number)
{
	struct npuplan_graph *graph = w->j->graph;
	const struct npuplan_op *op = &graph->ops[step->op];
	const struct npumem_tile apart = { .tensor = w->parts.parts[part], .region = *region };
	struct npuplan_step copy = *step;
	struct npumem_region within;
	int64_t tile, place = -EINVAL;

	copy.tile_index = number;
	if (asprintf(&copy.name, "%s[%u]", op->name, number) < 0)
		return -ENOMEM;
	npuplan_strip_region(&w->strips[part], graph->tensors[apart.tensor].size, 0, region,
			     &within);
	tile = mapped(w, &apart);
	if (tile >= 0)
		place = find_tile(w, w->strips[part].base, &within);
	if (tile >= 0 && place >= 0) {
		const uint32_t from = (uint32_t)(w->parts.apart ? place : tile);
		const uint32_t to = (uint32_t)(w->parts.apart ? tile : place);
		const struct npumem_access accesses[2] = {
			{ .tile = from, .mode = NPUMEM_ACCESS_READ, NPUMEM_NONE },
			{ .tile = to, .mode = NPUMEM_ACCESS_WRITE, NPUMEM_NONE },
		};

		place = npuplan_graph_add_step(graph, &copy, accesses, 2);
	}
	free(copy.name);
	return tile < 0 ? (int)tile : place < 0 ? (int)place : 0;
}

/*
 * What of a part each of the operator's steps accesses, if that is all of it, once, and can be said
 * of the whole; 0 bytes: it is not. @number: out: more by the copies that were added.
 */
static int copy_tiles(struct rewriting *w, const struct npuplan_step *step, uint32_t count,
		      uint32_t part, uint32_t *number, bool count_only, uint64_t *bytes)
{
	const struct npuplan_graph *graph = w->j->graph;
	const uint32_t mode = w->parts.apart ? NPUMEM_ACCESS_WRITE : NPUMEM_ACCESS_READ;
	uint32_t tensor = w->parts.parts[part];
	int err = 0;

	*bytes = 0;
	for (uint32_t s = 0; s < count && !err; s++)
		for (uint32_t a = 0; a < step[s].access_count && !err; a++) {
			const struct npumem_access *access =
				&w->old.accesses[step[s].first_access + a];
			const struct npumem_tile *tile = &w->old.tiles[access->tile];
			struct npumem_region to;

			if (tile->tensor != tensor || access->mode != mode)
				continue;
			if (!npuplan_strip_region(&w->strips[part], graph->tensors[tensor].size, 0,
						  &tile->region, &to)) {
				*bytes = 0;
				return 0;
			}
			*bytes += chunks_bytes(&tile->region);
			if (!count_only)
				err = add_copy(w, step, part, &tile->region, (*number)++);
		}
	return err;
}

/* The steps of an operator of which some parts are copied. */
static int copy_parts(struct rewriting *w, const struct npuplan_step *step, uint32_t count)
{
	const struct joiner *j = w->j;
	uint32_t number = 0;
	int err = 0;

	w->parts = npuplan_parts_of(j->graph, step->op);
	/* That it can be done, and where, has been found before; tensors are as they were. */
	npuplan_check_parts(j, step->op, &w->parts, w->strips);
	for (uint32_t i = 0; i < w->parts.count && !err; i++) {
		const struct npuplan_tensor *tensor = &j->graph->tensors[w->parts.parts[i]];
		const struct npumem_region whole = npuplan_whole(tensor);
		uint64_t bytes;

		if (j->inputs[j->first_input[step->op] + i].join == NPUPLAN_JOINED)
			continue;
		err = copy_tiles(w, step, count, i, &number, true, &bytes);
		if (!err && bytes == tensor->size)
			err = copy_tiles(w, step, count, i, &number, false, &bytes);
		else if (!err)
			err = add_copy(w, step, i, &whole, number++);
	}
	return err;
}

/* How many parts of an operator are joined; none of one that has no parts. */
static uint32_t count_joined(const struct joiner *j, uint32_t op)
{
	uint32_t count = 0;

	if (op >= j->graph->op_count || !npuplan_has_parts(&j->graph->ops[op]))
		return 0;
	for (uint32_t i = 0; i < npuplan_parts_of(j->graph, op).count; i++)
		count += j->inputs[j->first_input[op] + i].join == NPUPLAN_JOINED;
	return count;
}

static int rewrite_steps(struct rewriting *w)
{
	const struct npuplan_step *steps = w->old.steps;
	int err = 0;

	for (uint32_t s = 0, count; s < w->old.step_count && !err; s += count) {
		uint32_t joined = count_joined(w->j, steps[s].op);

		for (count = 1;
		     joined && s + count < w->old.step_count && steps[s + count].op == steps[s].op;)
			count++;
		if (!joined)
			err = keep_step(w, &steps[s]);
		else if (joined < npuplan_parts_of(w->j->graph, steps[s].op).count)
			err = copy_parts(w, &steps[s], count);
	}
	return err;
}

int npuplan_join_steps(struct joiner *j)
{
	struct npuplan_graph *graph = j->graph;
	struct rewriting w = { .j = j, .old = *graph };
	uint32_t most = 2, parts = 0;
	int err;

	for (uint32_t s = 0; s < graph->step_count; s++)
		if (graph->steps[s].access_count > most)
			most = graph->steps[s].access_count;
	for (uint32_t i = 0; i < graph->op_count; i++)
		if (npuplan_has_parts(&graph->ops[i]) && npuplan_parts_of(graph, i).count > parts)
			parts = npuplan_parts_of(graph, i).count;
	w.strips = npuplan_pool_take(&j->pool, parts, sizeof(*w.strips));
	w.accesses = npuplan_pool_take(&j->pool, most, sizeof(*w.accesses));
	if (j->pool.failed)
		return -ENOMEM;
	graph->steps = NULL;
	graph->accesses = NULL;
	graph->tiles = NULL;
	graph->step_count = graph->access_count = graph->tile_count = 0;
	for (uint32_t i = 0; i < graph->block_count; i++)
		graph->blocks[i].first_step = graph->blocks[i].step_count = 0;
	err = rewrite_steps(&w);
	for (uint32_t s = 0; s < w.old.step_count; s++)
		free(w.old.steps[s].name);
	free_all(w.old.steps, w.old.accesses, w.old.tiles);
	npuplan_table_fini(&w.table);
	return err;
}
