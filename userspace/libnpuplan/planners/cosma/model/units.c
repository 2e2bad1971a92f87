// SPDX-License-Identifier: MIT
/* This file finds the units of a tiled graph. */
#include "units.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

/* Limit of steps: relations of steps are matrices of bits, which need too much memory beyond it. */
#define MAX_STEPS (1u << 16)

/*
 * struct unit_reading - units in the making
 * @align: per tensor, its alignment, its aliases' included
 * @unit_of: per cell, its unit; NPUMEM_NONE: it has none
 */
struct unit_reading {
	const struct npuplan_graph *graph;
	const struct npuv_graph *cells;
	struct cosma_units *units;
	struct npuplan_error *error;
	uint32_t *align;
	uint32_t *unit_of;
};

static int check_tensors(const struct unit_reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	char label[96];

	if (graph->edge_count || graph->block_count != 1)
		return npuplan_fail(reading->error, -EOPNOTSUPP,
				    "graph %s: cosma plans no loops and branches", graph->name);
	if (graph->step_count > MAX_STEPS)
		return npuplan_fail(reading->error, -E2BIG,
				    "graph %s has %u steps, cosma plans at most %u", graph->name,
				    graph->step_count, MAX_STEPS);
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];
		bool fixed = tensor->flags & NPUMEM_TENSOR_FLAG_FIXED;

		if (fixed || tensor->kind == NPUMEM_TENSOR_STATE)
			return npuplan_fail(reading->error, -EOPNOTSUPP, "%s: cosma plans no %s",
					    npuplan_tensor_label(graph, t, label),
					    fixed ? "fixed offsets" : "state");
	}
	for (uint32_t s = 0; s < graph->step_count; s++) {
		const struct npuplan_step *step = &graph->steps[s];

		for (uint32_t a = 0; a < step->access_count; a++)
			if (graph->accesses[step->first_access + a].mode == NPUMEM_ACCESS_UPDATE)
				return npuplan_fail(reading->error, -EOPNOTSUPP,
						    "%s: cosma plans no updates in place",
						    npuplan_step_label(graph, s, label));
	}
	return 0;
}

static void find_alignments(struct unit_reading *reading, uint32_t alignment)
{
	const struct npuplan_graph *graph = reading->graph;

	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		uint32_t base = graph->tensors[t].alias_of, align = graph->tensors[t].align;

		align = align > alignment ? align : alignment;
		if (reading->align[t] < align)
			reading->align[t] = align;
		if (base != NPUMEM_NONE && reading->align[base] < align)
			reading->align[base] = align;
	}
}

/* Refuses bytes that are on chip at entry and cannot be planned. */
static int check_entry(const struct unit_reading *reading, const struct npuv_cell *cell)
{
	const struct npuplan_tensor *tensor = &reading->graph->tensors[cell->tensor];
	char label[96];

	if (tensor->flags & NPUMEM_TENSOR_FLAG_HOST)
		return 0;
	npuplan_tensor_label(reading->graph, cell->tensor, label);
	if (tensor->kind == NPUMEM_TENSOR_PARAMETER)
		return npuplan_fail(reading->error, -EOPNOTSUPP,
				    "%s: cosma loads parameters from host memory, and this one is "
				    "not there",
				    label);
	if (cell->survives)
		return npuplan_fail(reading->error, -EOPNOTSUPP,
				    "%s: cosma stores outputs as they are written, and this input "
				    "on chip is one",
				    label);
	return 0;
}

/* Adds the fragments of a cell one after another, each aligned. @size: out: where they end. */
static int add_fragments(struct unit_reading *reading, const struct npuv_cell *cell, uint64_t *size)
{
	bool external = reading->graph->tensors[cell->tensor].flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
	uint64_t align = reading->align[cell->tensor];
	struct cosma_units *units = reading->units;
	int err = 0;

	*size = 0;
	for (uint32_t k = 0; k < cell->segment_count && !err; k++) {
		const struct npuv_segment *segment =
			&reading->cells->segments[cell->first_segment + k];
		struct cosma_fragment fragment;

		/* Within its whole tensor such a fragment needs no place that is aligned. */
		units->unaligned |= !external && (segment->first % align || *size % align);
		*size = (*size + align - 1) / align * align;
		fragment = (struct cosma_fragment){
			.first = segment->first,
			.length = segment->length,
			.at = *size,
		};
		err = npuplan_append(&units->fragment, &units->fragment_count, &fragment, 1);
		*size += segment->length;
	}
	return err;
}

static int add_unit(struct unit_reading *reading, uint32_t c)
{
	const struct npuv_cell *cell = &reading->cells->cells[c];
	const struct npuplan_tensor *tensor = &reading->graph->tensors[cell->tensor];
	bool external = tensor->flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
	struct cosma_units *units = reading->units;
	struct npuplan_tensor unit = {
		.name = tensor->name,
		.align = reading->align[cell->tensor],
		.kind = NPUMEM_TENSOR_INTERMEDIATE,
		.alias_of = NPUMEM_NONE,
		.id = units->count,
	};
	struct cosma_unit made = {
		.tensor = cell->tensor,
		.first_fragment = units->fragment_count,
	};
	uint32_t number = units->count;
	int64_t added;
	int err = 0;

	/* Bytes that nobody writes order no steps; bytes that nobody needs have no unit. */
	if (cell->writer == NPUMEM_NONE && (external || !cell->reads))
		return 0;
	if (cell->writer == NPUMEM_NONE) {
		unit.kind = tensor->kind;
		unit.flags = tensor->flags & NPUMEM_TENSOR_FLAG_HOST;
		units->with_parameters |= unit.kind == NPUMEM_TENSOR_PARAMETER;
		units->resident |= !unit.flags;
		err = check_entry(reading, cell);
	} else if (external) {
		unit.flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	} else if (cell->survives) {
		unit.kind = NPUMEM_TENSOR_OUTPUT;
	}
	if (err)
		return err;
	err = add_fragments(reading, cell, &unit.size);
	made.fragment_count = units->fragment_count - made.first_fragment;
	added = err ? err : npuplan_graph_add_tensor(units->graph, &unit);
	if (added < 0)
		return (int)added;
	reading->unit_of[c] = number;
	return npuplan_append(&units->unit, &units->count, &made, 1);
}

/* Lists the units of the cells that an access reads, or writes. */
static int list_units(const struct unit_reading *reading, struct npuv_cells it, uint32_t **list,
		      uint32_t *count)
{
	int err = 0;

	while (!err && npuv_cells_next(&it)) {
		uint32_t unit = reading->unit_of[it.cell];

		if (unit != NPUMEM_NONE)
			err = npuplan_append(list, count, &unit, 1);
	}
	return err;
}

/* Returns the only cell of @it, if it is all that an access reads, or writes; else NULL. */
static const struct npuv_cell *only_cell(const struct npuv_graph *g, struct npuv_cells it,
					 uint32_t access, uint32_t *number)
{
	const struct npumem_tile *tile = npuv_tile(g, npuv_access(g, access)->tile);
	const struct npuv_cell *cell;

	if (!npuv_cells_next(&it))
		return NULL;
	*number = it.cell;
	if (npuv_cells_next(&it))
		return NULL;
	cell = &g->cells[*number];
	/*
	 * The cell is in one piece, as the access goes through it: then linear indices are bytes.
	 */
	if (cell->segment_count != 1 ||
	    tile->region.count[0] * tile->region.count[1] * tile->region.count[2] != 1 ||
	    g->segments[cell->first_segment].length != tile->region.length)
		return NULL;
	return cell;
}

/* Returns how often a step reads a cell. */
static uint32_t count_reads(const struct npuv_graph *g, const struct npumem_step *step,
			    uint32_t cell)
{
	uint32_t first = step->first_access, end = first + step->access_count, count = 0;
	struct npuv_cells it;

	for (uint32_t a = first; a < end; a++)
		npuv_for_each_read(it, g, a) count += it.cell == cell;
	return count;
}

/*
 * Adds the takeover of an in-place write, if one unit takes the place of one unit; anything else
 * COSMA does not know.
 */
static int add_takeover(struct unit_reading *reading, uint32_t s, uint32_t write)
{
	const struct npuv_graph *g = reading->cells;
	const struct npumem_step *step = npuv_step(g, s);
	uint32_t read = step->first_access + npuv_access(g, write)->inplace, from, to;
	struct cosma_units *units = reading->units;
	const struct npuv_cell *source =
		only_cell(g, npuv_cells_begin(g->read_start, g->read_runs, read), read, &from);
	const struct npuv_cell *target =
		only_cell(g, npuv_cells_begin(g->write_start, g->write_runs, write), write, &to);
	struct npuplan_cosma_takeover takeover;

	if (source && target &&
	    (reading->unit_of[from] == NPUMEM_NONE || reading->unit_of[to] == NPUMEM_NONE))
		return 0;
	/* An input has one taker. */
	for (uint32_t i = units->takeover_count; i && source; i--) {
		const struct npuplan_cosma_takeover *other = &units->takeovers[i - 1];

		if (other->op != s)
			break;
		if (other->input == reading->unit_of[from])
			source = NULL;
	}
	if (!source || !target || count_reads(g, step, from) != 1 ||
	    units->graph->tensors[reading->unit_of[from]].kind == NPUMEM_TENSOR_PARAMETER) {
		units->mixed = true;
		return 0;
	}
	takeover = (struct npuplan_cosma_takeover){
		.op = s,
		.input = reading->unit_of[from],
		.output = reading->unit_of[to],
	};
	return npuplan_append(&units->takeovers, &units->takeover_count, &takeover, 1);
}

static int add_takeovers(struct unit_reading *reading, uint32_t s)
{
	const struct npumem_step *step = npuv_step(reading->cells, s);
	uint32_t end = step->first_access + step->access_count;
	int err = 0;

	reading->units->staged[s] = step->flags & NPUMEM_STEP_STAGED;
	if (reading->units->staged[s])
		return 0;
	for (uint32_t a = step->first_access; a < end && !err; a++)
		if (npuv_access(reading->cells, a)->inplace != NPUMEM_NONE)
			err = add_takeover(reading, s, a);
	return err;
}

static int add_op(const struct unit_reading *reading, uint32_t s)
{
	const struct npuv_graph *cells = reading->cells;
	const struct npuplan_step *step = &reading->graph->steps[s];
	struct npuplan_op op = { .type = (char[]){ "" }, .id = s };
	char label[96];
	int64_t err = 0;

	op.name = (char *)(uintptr_t)npuplan_step_label(reading->graph, s, label);
	for (uint32_t a = step->first_access; a < step->first_access + step->access_count && !err;
	     a++) {
		err = list_units(reading, npuv_cells_begin(cells->read_start, cells->read_runs, a),
				 &op.inputs, &op.input_count);
		if (!err)
			err = list_units(reading,
					 npuv_cells_begin(cells->write_start, cells->write_runs, a),
					 &op.outputs, &op.output_count);
	}
	/* Tiles of a step may overlap; each unit is listed once. */
	op.input_count = npuplan_sort_once32(op.inputs, op.input_count);
	op.output_count = npuplan_sort_once32(op.outputs, op.output_count);
	if (!err)
		err = npuplan_graph_add_op(reading->units->graph, &op);
	npuplan_free(op.inputs);
	npuplan_free(op.outputs);
	return err < 0 ? (int)err : 0;
}

int cosma_units_init(struct cosma_units *units, const struct npuplan_graph *graph,
		     const struct npuv_graph *cells, uint32_t alignment,
		     struct npuplan_error *error)
{
	struct npuplan_pool pool = { 0 };
	struct unit_reading reading = {
		.graph = graph,
		.cells = cells,
		.units = units,
		.error = error,
		.align = npuplan_pool_take(&pool, graph->tensor_count, sizeof(*reading.align)),
		.unit_of = npuplan_pool_take(&pool, cells->cell_count, sizeof(*reading.unit_of)),
	};
	int err;

	memset(units, 0, sizeof(*units));
	units->graph = npuplan_graph_new(graph->name);
	units->staged = npuplan_calloc((size_t)graph->step_count + 1, sizeof(*units->staged));
	/* An address is needed, since NULL would stand for what operators' attributes say. */
	units->takeovers = npuplan_malloc(sizeof(*units->takeovers));
	err = -ENOMEM;
	if (units->graph && units->staged && units->takeovers && !pool.failed)
		err = check_tensors(&reading);
	if (!err)
		find_alignments(&reading, alignment);
	for (uint32_t c = 0; c < cells->cell_count && !err; c++) {
		reading.unit_of[c] = NPUMEM_NONE;
		err = add_unit(&reading, c);
	}
	for (uint32_t s = 0; s < graph->step_count && !err; s++) {
		err = add_op(&reading, s);
		err = err ? err : add_takeovers(&reading, s);
	}
	npuplan_pool_free(&pool);
	if (!err)
		return 0;
	cosma_units_fini(units);
	return err == -EOPNOTSUPP || err == -E2BIG ?
		       err :
		       npuplan_fail(error, err, "cosma: %s", strerror(-err));
}

void cosma_units_fini(struct cosma_units *units)
{
	npuplan_graph_free(units->graph);
	npuplan_free_all(units->unit, units->fragment, units->takeovers, units->staged);
	memset(units, 0, sizeof(*units));
}
