// SPDX-License-Identifier: MIT
/* This file finds the units of a tiled graph. */
#include "units.h"

#include <stdlib.h>
#include <string.h>

#include "base/align.h"
#include "base/region.h"
#include "base/sorted.h"

/* Limit of steps: relations of steps are matrices of bits, which need too much memory beyond it. */
#define MAX_STEPS (1u << 16)
/* Limit of bytes of all states, and of fixed offsets, so that sums of bytes fit. */
#define MAX_BYTES (1ull << 60)

/*
 * struct unit_order - a step reads bytes of a state, which another step updates
 * @unit: of no bytes, which the first step writes and the second one reads
 * @before: index of another one of the same cell; NPUMEM_NONE: none
 */
struct unit_order {
	uint32_t unit;
	uint32_t before;
};

/*
 * struct unit_reading - units in the making
 * @moving: per tensor: it is an input, though the graph calls it state; NULL: none is
 * @align: per tensor, its alignment, its aliases' included
 * @unit_of: per cell, its first unit; NPUMEM_NONE: it has none
 * @unit_end: per cell, the number behind its last unit
 * @updater: per cell, the step that updates its bytes, or writes them anew; NPUMEM_NONE: none does
 * @version_before: per cell, the version of the same bytes before it; NPUMEM_NONE: it is the first
 * @any_fixed: a tensor has a fixed offset
 * @orders: @order_count of them
 * @last_order: per cell, the last one; NPUMEM_NONE: there is none
 */
struct unit_reading {
	const struct npuplan_graph *graph;
	const struct npuv_graph *cells;
	struct cosma_units *units;
	struct npuplan_error *error;
	const bool *moving;
	uint32_t *align;
	uint32_t *unit_of;
	uint32_t *unit_end;
	uint32_t *updater;
	uint32_t *version_before;
	bool any_fixed;
	struct unit_order *orders;
	uint32_t order_count;
	uint32_t *last_order;
};

static bool is_state(const struct npuplan_graph *graph, uint32_t tensor)
{
	return graph->tensors[npuplan_base_of(graph, tensor)].kind == NPUMEM_TENSOR_STATE;
}

/* Returns whether a tensor is an input, though the graph calls it state. */
static bool is_moving(const struct unit_reading *reading, uint32_t tensor)
{
	return reading->moving && reading->moving[npuplan_base_of(reading->graph, tensor)];
}

/* Returns whether a tensor's bytes are not COSMA's to place or to move. */
static bool is_kept(const struct unit_reading *reading, uint32_t tensor)
{
	return (is_state(reading->graph, tensor) && !is_moving(reading, tensor)) ||
	       reading->graph->tensors[tensor].flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
}

static bool is_fixed(const struct npuplan_tensor *tensor)
{
	return tensor->flags & NPUMEM_TENSOR_FLAG_FIXED;
}

static int check_tensors(const struct unit_reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	char label[96];

	if (graph->edge_count || graph->block_count != 1)
		return npuplan_fail(reading->error, -EOPNOTSUPP,
				    "graph %s: budgets by name and integer programs are "
				    "of graphs without loops and branches",
				    graph->name);
	if (graph->step_count > MAX_STEPS)
		return npuplan_fail(reading->error, -E2BIG,
				    "graph %s has %u steps, cosma plans at most %u", graph->name,
				    graph->step_count, MAX_STEPS);
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		if (tensor->kind == NPUMEM_TENSOR_STATE && !is_state(graph, t))
			return npuplan_fail(
				reading->error, -EOPNOTSUPP,
				"%s: cosma plans no state that is a part of another tensor",
				npuplan_tensor_label(graph, t, label));
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

/* Returns the largest alignment of what lies in the arena and is no state. */
static uint64_t largest_alignment(const struct unit_reading *reading)
{
	uint64_t most = 1;

	for (uint32_t c = 0; c < reading->cells->cell_count; c++) {
		uint32_t tensor = reading->cells->cells[c].tensor;

		if (!is_kept(reading, tensor) && reading->align[tensor] > most)
			most = reading->align[tensor];
	}
	return most;
}

/* Refuses fixed offsets that are not aligned, or are too large. */
static int check_fixed(struct unit_reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	char label[96];

	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		if (!is_fixed(tensor))
			continue;
		reading->any_fixed = true;
		npuplan_tensor_label(graph, t, label);
		if (tensor->fixed_offset % reading->align[t])
			return npuplan_fail(
				reading->error, -EINVAL,
				"%s: fixed offset %llu is not a multiple of the alignment %u",
				label, (unsigned long long)tensor->fixed_offset, reading->align[t]);
		if (tensor->fixed_offset > MAX_BYTES)
			return npuplan_fail(reading->error, -E2BIG,
					    "%s: fixed offset %llu, cosma plans at most 2^60",
					    label, (unsigned long long)tensor->fixed_offset);
	}
	return 0;
}

/* Returns the end of what is fixed, or a state, in [offset, offset + size); 0: nothing is. */
static uint64_t end_in_the_way(const struct unit_reading *reading, uint64_t offset, uint64_t size)
{
	const struct npuplan_graph *graph = reading->graph;
	const struct cosma_units *units = reading->units;
	uint64_t end = 0;

	for (uint32_t t = 0; t < graph->tensor_count && !end; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		if (is_fixed(tensor) && tensor->fixed_offset < offset + size &&
		    offset < tensor->fixed_offset + tensor->size)
			end = tensor->fixed_offset + tensor->size;
	}
	for (uint32_t i = 0; i < units->state_count && !end; i++)
		if (units->state[i].offset < offset + size &&
		    offset < units->state[i].offset + units->state[i].size)
			end = units->state[i].offset + units->state[i].size;
	return end;
}

/* Returns the lowest place for a state beside all fixed offsets and the states before it. */
static uint64_t lowest_place(const struct unit_reading *reading, uint64_t size, uint64_t align)
{
	uint64_t offset = 0, end;

	while (end = end_in_the_way(reading, offset, size), end)
		offset = npuplan_align_up(end, align);
	return offset;
}

/* Gives each state a place; what comes behind them may be aligned to anything. */
static int place_states(struct unit_reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	struct cosma_units *units = reading->units;
	uint64_t most = largest_alignment(reading);
	int err = 0;

	for (uint32_t t = 0; t < graph->tensor_count && !err; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];
		uint64_t align = reading->align[t];
		struct cosma_state state = { .tensor = t, .size = tensor->size };

		if (tensor->kind != NPUMEM_TENSOR_STATE || is_moving(reading, t) ||
		    tensor->flags & (NPUMEM_TENSOR_FLAG_EXTERNAL | NPUMEM_TENSOR_FLAG_ALIAS))
			continue;
		if (is_fixed(tensor))
			state.offset = tensor->fixed_offset;
		else if (reading->any_fixed)
			state.offset = lowest_place(reading, state.size, align);
		else
			state.offset = npuplan_align_up(units->state_end, align);
		if (state.size > MAX_BYTES || state.offset > MAX_BYTES - state.size)
			return npuplan_fail(reading->error, -E2BIG,
					    "graph %s: cosma plans at most 2^60 bytes of state",
					    graph->name);
		units->state_end = state.offset + state.size;
		if (is_fixed(tensor) && units->state_end > units->fixed_end)
			units->fixed_end = units->state_end;
		units->state_bytes += state.size;
		units->state_apart |= reading->any_fixed ?
					      !is_fixed(tensor) :
					      state.size % (align > most ? align : most) > 0;
		err = npuplan_append(&units->state, &units->state_count, &state, 1);
	}
	if (reading->any_fixed) {
		units->state_end = 0;
		return err;
	}
	units->state_apart |= units->state_end > units->state_bytes;
	units->state_end = npuplan_align_up(units->state_end, most);
	return err;
}

/* Refuses bytes that are on chip at entry and cannot be planned. */
static int check_entry(const struct unit_reading *reading, const struct npuv_cell *cell)
{
	const struct npuplan_tensor *tensor = &reading->graph->tensors[cell->tensor];
	char label[96];

	if (tensor->flags & NPUMEM_TENSOR_FLAG_HOST || is_moving(reading, cell->tensor))
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

/*
 * Adds @count fragments of a cell from its segment @first on, one after another, each aligned.
 * @size: out: where they end
 */
static int add_fragments(struct unit_reading *reading, const struct npuv_cell *cell, uint32_t first,
			 uint32_t count, uint64_t *size)
{
	bool kept = is_kept(reading, cell->tensor);
	uint64_t align = reading->align[cell->tensor];
	struct cosma_units *units = reading->units;
	int err = 0;

	*size = 0;
	for (uint32_t k = first; k < first + count && !err; k++) {
		const struct npuv_segment *segment =
			&reading->cells->segments[cell->first_segment + k];
		struct cosma_fragment fragment;

		/* Within its whole tensor such a fragment needs no place that is aligned. */
		units->unaligned |= !kept && !is_fixed(&reading->graph->tensors[cell->tensor]) &&
				    (segment->first % align || *size % align);
		*size = npuplan_align_up(*size, align);
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

/* Gives a unit of one fragment its place within a tensor with a fixed offset. */
static int fix(struct unit_reading *reading, const struct npuv_cell *cell, uint32_t segment,
	       struct npuplan_tensor *unit)
{
	const struct npuplan_tensor *tensor = &reading->graph->tensors[cell->tensor];
	uint64_t first = reading->cells->segments[cell->first_segment + segment].first;
	char label[96];

	if (first % tensor->align)
		return npuplan_fail(
			reading->error, -EOPNOTSUPP,
			"%s: its offset is fixed, and steps use parts of it that begin at "
			"no multiple of its alignment, as byte %llu: cosma moves parts",
			npuplan_tensor_label(reading->graph, cell->tensor, label),
			(unsigned long long)first);
	unit->flags |= NPUMEM_TENSOR_FLAG_FIXED;
	unit->fixed_offset = tensor->fixed_offset + first;
	if (unit->fixed_offset + unit->size > reading->units->fixed_end)
		reading->units->fixed_end = unit->fixed_offset + unit->size;
	return 0;
}

/* Adds a unit of @count of a cell's segments, from segment @first on. */
static int add_unit(struct unit_reading *reading, uint32_t c, uint32_t first, uint32_t count)
{
	const struct npuv_cell *cell = &reading->cells->cells[c];
	const struct npuplan_tensor *tensor = &reading->graph->tensors[cell->tensor];
	bool kept = is_kept(reading, cell->tensor);
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
	int64_t added;
	int err = 0;

	if (cell->writer == NPUMEM_NONE) {
		unit.kind = is_moving(reading, cell->tensor) ? NPUMEM_TENSOR_INPUT : tensor->kind;
		unit.flags = tensor->flags & NPUMEM_TENSOR_FLAG_HOST;
		units->with_parameters |= unit.kind == NPUMEM_TENSOR_PARAMETER;
		units->resident |= !unit.flags;
		err = check_entry(reading, cell);
	} else if (kept) {
		unit.flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	} else if (cell->survives && !is_moving(reading, cell->tensor)) {
		unit.kind = NPUMEM_TENSOR_OUTPUT;
	}
	if (err)
		return err;
	err = add_fragments(reading, cell, first, count, &unit.size);
	if (!err && is_fixed(tensor) && !kept)
		err = fix(reading, cell, first, &unit);
	made.fragment_count = units->fragment_count - made.first_fragment;
	added = err ? err : npuplan_graph_add_tensor(units->graph, &unit);
	if (added < 0)
		return (int)added;
	return npuplan_append(&units->unit, &units->count, &made, 1);
}

/* Adds a cell's unit; where its bytes are fixed each segment is one, since they do not meet. */
static int add_cell(struct unit_reading *reading, uint32_t c)
{
	const struct npuv_cell *cell = &reading->cells->cells[c];
	bool kept = is_kept(reading, cell->tensor);
	uint32_t step = cell->segment_count;
	int err = 0;

	/* Bytes that nobody writes order no steps; bytes that nobody needs have no unit. */
	if (cell->writer == NPUMEM_NONE && (kept || !cell->reads))
		return 0;
	if (is_fixed(&reading->graph->tensors[cell->tensor]) && !kept)
		step = 1;
	reading->unit_of[c] = reading->units->count;
	for (uint32_t k = 0; k < cell->segment_count && !err; k += step)
		err = add_unit(reading, c, k, step);
	reading->unit_end[c] = reading->units->count;
	return err;
}

/* Lists the units of the cells that an access reads, or writes. */
static int list_units(const struct unit_reading *reading, struct npuv_cells it, uint32_t **list,
		      uint32_t *count)
{
	int err = 0;

	while (!err && npuv_cells_next(&it)) {
		uint32_t unit = reading->unit_of[it.cell];

		for (; unit != NPUMEM_NONE && unit < reading->unit_end[it.cell] && !err; unit++)
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

/* Refuses two fixed offsets that overlap, which the verifier allows and COSMA does not know. */
static int check_mixed(struct unit_reading *reading, uint32_t s, uint32_t read, uint32_t write)
{
	const struct npuplan_graph *graph = reading->graph;
	uint32_t from = graph->tiles[graph->accesses[read].tile].tensor;
	uint32_t to = graph->tiles[graph->accesses[write].tile].tensor;
	const struct npuplan_tensor *x = &graph->tensors[npuplan_base_of(graph, from)];
	const struct npuplan_tensor *y = &graph->tensors[npuplan_base_of(graph, to)];
	char label[96];

	if (!is_fixed(x) || !is_fixed(y) || x->fixed_offset >= y->fixed_offset + y->size ||
	    y->fixed_offset >= x->fixed_offset + x->size)
		return 0;
	return npuplan_fail(
		reading->error, -EOPNOTSUPP,
		"%s: works in place on parts of tensors whose fixed offsets overlap, and "
		"cosma has whole ones share bytes only",
		npuplan_step_label(graph, s, label));
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
		return check_mixed(reading, s, read, write);
	}
	takeover = (struct npuplan_cosma_takeover){
		.op = s,
		.input = reading->unit_of[from],
		.output = reading->unit_of[to],
	};
	return npuplan_append(&units->takeovers, &units->takeover_count, &takeover, 1);
}

/*
 * Adds the takeovers of an access that updates bytes in place: the new version of each cell lies
 * where the old one does, unit by unit, since both have the same segments.
 */
static int add_updates(struct unit_reading *reading, uint32_t s, uint32_t access)
{
	struct cosma_units *units = reading->units;
	struct npuv_cells it;
	int err = 0;

	npuv_for_each_write(it, reading->cells, access)
	{
		uint32_t old = reading->version_before[it.cell], to = reading->unit_of[it.cell];
		struct npuplan_cosma_takeover takeover = { .op = s, .bound = true };

		if (err || old == NPUMEM_NONE ||
		    is_kept(reading, reading->cells->cells[old].tensor))
			continue;
		takeover.input = reading->unit_of[old];
		for (takeover.output = to; takeover.output < reading->unit_end[it.cell] && !err;
		     takeover.output++, takeover.input++)
			err = npuplan_append(&units->takeovers, &units->takeover_count, &takeover,
					     1);
		units->updates = true;
	}
	return err;
}

static int add_takeovers(struct unit_reading *reading, uint32_t s)
{
	const struct npumem_step *step = npuv_step(reading->cells, s);
	uint32_t end = step->first_access + step->access_count;
	int err = 0;

	for (uint32_t a = step->first_access; a < end && !err; a++)
		if (npuv_access(reading->cells, a)->mode == NPUMEM_ACCESS_UPDATE)
			err = add_updates(reading, s, a);
	reading->units->staged[s] = step->flags & NPUMEM_STEP_STAGED;
	if (reading->units->staged[s])
		return err;
	for (uint32_t a = step->first_access; a < end && !err; a++)
		if (npuv_access(reading->cells, a)->inplace != NPUMEM_NONE)
			err = add_takeover(reading, s, a);
	return err;
}

/* Notes which step writes which cells anew, or updates them: that of the next version. */
static int find_updaters(struct unit_reading *reading)
{
	const struct npuv_graph *g = reading->cells;
	AUTO_HEAP uint32_t *last = npuplan_malloc((size_t)g->segment_count * sizeof(*last) + 1);

	if (!last)
		return -ENOMEM;
	memset(last, 0xff, g->segment_count * sizeof(*last));
	/* Versions of the same bytes are numbered upwards, and have the same segments. */
	for (uint32_t c = 0; c < g->cell_count; c++) {
		const struct npuv_cell *cell = &g->cells[c];
		uint32_t old;

		if (!cell->segment_count)
			continue;
		old = last[cell->first_segment];
		last[cell->first_segment] = c;
		reading->version_before[c] = old;
		if (old != NPUMEM_NONE && cell->writer != NPUMEM_NONE)
			reading->updater[old] = g->access_step[cell->writer];
	}
	return 0;
}

/* Adds the unit of no bytes that a step writes which has to run before another one. */
static int add_token(struct unit_reading *reading, uint32_t *token)
{
	struct cosma_units *units = reading->units;
	struct npuplan_tensor unit = {
		.name = (char[]){ "" },
		.size = 1,
		.align = 1,
		.flags = NPUMEM_TENSOR_FLAG_EXTERNAL,
		.alias_of = NPUMEM_NONE,
		.id = units->count,
	};
	const struct cosma_unit made = { .tensor = NPUMEM_NONE };
	int64_t added = npuplan_graph_add_tensor(units->graph, &unit);

	*token = units->count;
	return added < 0 ? (int)added : npuplan_append(&units->unit, &units->count, &made, 1);
}

/* A step that reads or writes a version of bytes runs before the one that writes the next one. */
static int order_before(struct unit_reading *reading, uint32_t s, uint32_t cell, uint32_t *token,
			struct npuplan_op *op)
{
	struct unit_order order = { .before = reading->last_order[cell] };
	int err = 0;

	if (reading->updater[cell] == NPUMEM_NONE || reading->updater[cell] == s)
		return 0;
	if (*token == NPUMEM_NONE) {
		err = add_token(reading, token);
		if (!err)
			err = npuplan_append(&op->outputs, &op->output_count, token, 1);
	}
	order.unit = *token;
	reading->last_order[cell] = reading->order_count;
	return err ? err : npuplan_append(&reading->orders, &reading->order_count, &order, 1);
}

/* A step that writes the next version of bytes finds here who has to have run. */
static int order_after(struct unit_reading *reading, uint32_t cell, struct npuplan_op *op)
{
	uint32_t old = reading->version_before[cell];
	int err = 0;

	if (old == NPUMEM_NONE)
		return 0;
	for (uint32_t k = reading->last_order[old]; k != NPUMEM_NONE && !err;
	     k = reading->orders[k].before)
		err = npuplan_append(&op->inputs, &op->input_count, &reading->orders[k].unit, 1);
	return err;
}

/*
 * A step that reads bytes of a state runs before the one that updates them, or writes them anew: in
 * the graph's order it does.
 */
static int order_updates(struct unit_reading *reading, uint32_t s, struct npuplan_op *op)
{
	const struct npuv_graph *g = reading->cells;
	const struct npuplan_step *step = &reading->graph->steps[s];
	uint32_t token = NPUMEM_NONE;
	struct npuv_cells it;
	int err = 0;

	for (uint32_t a = step->first_access; a < step->first_access + step->access_count; a++) {
		npuv_for_each_read(it, g, a)
			err = err ? err : order_before(reading, s, it.cell, &token, op);
		npuv_for_each_write(it, g, a)
		{
			err = err ? err : order_after(reading, it.cell, op);
			/* Else it has run before its readers, and these run before that one. */
			if (!err && !g->cells[it.cell].reads)
				err = order_before(reading, s, it.cell, &token, op);
		}
	}
	return err;
}

static int add_op(struct unit_reading *reading, uint32_t s)
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
	if (!err)
		err = order_updates(reading, s, &op);
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
		     const struct npuv_graph *cells, const bool *moving, uint32_t alignment,
		     struct npuplan_error *error)
{
	struct npuplan_pool pool = { 0 };
	struct unit_reading reading = {
		.graph = graph,
		.cells = cells,
		.units = units,
		.error = error,
		.moving = moving,
		.align = npuplan_pool_take(&pool, graph->tensor_count, sizeof(*reading.align)),
		.unit_of = npuplan_pool_take(&pool, cells->cell_count, sizeof(*reading.unit_of)),
		.unit_end = npuplan_pool_take(&pool, cells->cell_count, sizeof(*reading.unit_end)),
		.updater = npuplan_pool_take(&pool, cells->cell_count, sizeof(*reading.updater)),
		.version_before = npuplan_pool_take(&pool, cells->cell_count,
						    sizeof(*reading.version_before)),
		.last_order =
			npuplan_pool_take(&pool, cells->cell_count, sizeof(*reading.last_order)),
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
	if (!err) {
		find_alignments(&reading, alignment);
		err = check_fixed(&reading);
		err = err ? err : place_states(&reading);
	}
	for (uint32_t c = 0; c < cells->cell_count && !err; c++) {
		reading.unit_of[c] = NPUMEM_NONE;
		reading.updater[c] = NPUMEM_NONE;
		reading.version_before[c] = NPUMEM_NONE;
		reading.last_order[c] = NPUMEM_NONE;
		err = add_cell(&reading, c);
	}
	if (!err)
		err = find_updaters(&reading);
	for (uint32_t s = 0; s < graph->step_count && !err; s++) {
		err = add_op(&reading, s);
		err = err ? err : add_takeovers(&reading, s);
	}
	npuplan_pool_free(&pool);
	npuplan_free(reading.orders);
	if (!err)
		return 0;
	cosma_units_fini(units);
	return err == -EOPNOTSUPP || err == -E2BIG || err == -EINVAL ?
		       err :
		       npuplan_fail(error, err, "cosma: %s", strerror(-err));
}

void cosma_units_fini(struct cosma_units *units)
{
	npuplan_graph_free(units->graph);
	npuplan_free_all(units->unit, units->fragment, units->takeovers, units->staged,
			 units->state);
	memset(units, 0, sizeof(*units));
}
