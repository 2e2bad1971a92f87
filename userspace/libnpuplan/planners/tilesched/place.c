// SPDX-License-Identifier: MIT
/* Placing a schedule: when each unit lives, and at which address. */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "pack/exact.h"
#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"
#include "tilesched.h"

static const struct npuv_cell *cell_of(const struct tilesched_model *model, uint32_t unit)
{
	return &model->cells->cells[model->units[unit].cell];
}

/* ------------------------------------------------------------------- live ranges */

/* Find the live ranges of the units, over all versions of their bytes, which are at one place. */
static int find_ranges(struct tilesched_placing *placing)
{
	const struct tilesched_model *model = placing->model;
	const struct npuv_graph *cells = model->cells;
	AUTO_HEAP struct npuplan_live_range *ranges =
		npuplan_calloc((size_t)cells->cell_count + 1, sizeof(*ranges));
	struct npuplan_atom *units =
		npuplan_pool_take(&placing->pool, model->unit_count, sizeof(*units));

	if (!ranges || !units)
		return -ENOMEM;
	placing->live.atoms = units;
	placing->live.atom_count = model->unit_count;
	placing->live.exit = placing->problem->live.exit;
	npuplan_cell_ranges(cells, placing->positions, ranges);
	for (uint32_t u = 0; u < model->unit_count; u++)
		units[u] = (struct npuplan_atom){
			.length = model->units[u].bytes,
			.start = UINT32_MAX,
		};
	for (uint32_t i = 0; i < cells->cell_count; i++) {
		struct npuplan_atom *unit;

		if (model->unit_of[i] == NPUMEM_NONE)
			continue;
		unit = &units[model->unit_of[i]];
		unit->start = ranges[i].start < unit->start ? ranges[i].start : unit->start;
		unit->end = ranges[i].end > unit->end ? ranges[i].end : unit->end;
	}
	return 0;
}

/*
 * Find the most bytes that live at once. What a step that works in place reads for the last time
 * counts as gone when it stores, which is the most that it could take.
 */
static int find_bound(struct tilesched_placing *placing)
{
	const struct tilesched_model *model = placing->model;
	struct npuplan_liveness *live = &placing->live;
	int err = 0;

	for (uint32_t p = 0; p < model->step_count; p++) {
		const struct tilesched_step *step = &model->steps[placing->order[p]];
		uint32_t stores = npuplan_store_instant(p);
		bool in_place = tilesched_works_in_place(model->cells, step->step);

		for (uint32_t k = step->first_late; k < step[1].first_read && in_place; k++) {
			const struct npuplan_atom *unit = &live->atoms[model->reads[k]];
			struct npuplan_takeover takeover = {
				.instant = stores,
				.length = unit->length,
			};

			if (unit->end == stores)
				err = npuplan_append(&live->takeovers, &live->takeover_count,
						     &takeover, 1);
			if (err)
				return err;
		}
	}
	return npuplan_lower_bound(live, &placing->lower_bound, &placing->peak_instant);
}

/* ------------------------------------------------------------------------- items */

/* List the units, sorted by tensor and first byte. */
static int sort_units(struct tilesched_placing *placing)
{
	const struct tilesched_model *model = placing->model;
	AUTO_HEAP struct npuplan_keyed *keys =
		npuplan_malloc((size_t)model->unit_count * sizeof(*keys) + 1);

	placing->units =
		npuplan_pool_take(&placing->pool, model->unit_count, sizeof(*placing->units));
	if (!placing->units || !keys)
		return -ENOMEM;
	for (uint32_t u = 0; u < model->unit_count; u++) {
		const struct npuv_cell *cell = cell_of(model, u);
		uint64_t first = model->cells->segments[cell->first_segment].first;

		keys[u] = (struct npuplan_keyed){ cell->tensor, first, 0, u };
	}
	npuplan_sort_items(keys, model->unit_count, placing->units);
	return 0;
}

static int add_item(struct tilesched_placing *placing, const struct npuplan_item *tensor,
		    const struct tilesched_item *of, uint64_t size)
{
	struct npuplan_item *item;

	if (npuplan_grow(&placing->items, placing->item_count, sizeof(*placing->items)) ||
	    npuplan_grow(&placing->of, placing->item_count, sizeof(*placing->of)))
		return -ENOMEM;
	item = &placing->items[placing->item_count];
	*item = *tensor;
	item->size = size;
	item->start = UINT32_MAX;
	item->end = 0;
	for (uint32_t i = of->first_unit; i < of->first_unit + of->unit_count; i++) {
		const struct npuplan_atom *unit = &placing->live.atoms[placing->units[i]];

		item->start = unit->start < item->start ? unit->start : item->start;
		item->end = unit->end > item->end ? unit->end : item->end;
	}
	placing->of[placing->item_count++] = *of;
	return 0;
}

/*
 * Add the items of a unit, each of which becomes a placement: as few as there are series of chunks
 * that are equally far apart.
 */
static int add_unit(struct tilesched_placing *placing, const struct npuplan_item *tensor,
		    uint32_t index)
{
	struct tilesched_item item = { .first_unit = index, .unit_count = 1 };
	uint32_t count;
	const struct npuv_segment *chunks =
		tilesched_chunks(placing->model, placing->units[index], &count);
	int err = 0;

	while (item.first_chunk < count && !err) {
		const struct npuv_segment *first = &chunks[item.first_chunk];

		tilesched_even_chunks(first, count - item.first_chunk, &item.even, &item.repeats);
		err = add_item(placing, tensor, &item, first->length * item.even * item.repeats);
		item.first_chunk += item.even * item.repeats;
	}
	return err;
}

/* Whether units have equal sizes, one chunk each, and follow each other in the tensor. */
static bool is_even(const struct tilesched_placing *placing, uint32_t first, uint32_t count)
{
	struct npuv_segment at = { 0 };

	for (uint32_t i = first; i < first + count; i++, at.first += at.length) {
		uint32_t chunks;
		const struct npuv_segment *chunk =
			tilesched_chunks(placing->model, placing->units[i], &chunks);

		if (i == first)
			at = *chunk;
		if (chunks != 1 || chunk->first != at.first || chunk->length != at.length)
			return false;
	}
	return true;
}

/*
 * Whether a ring of @slots holds the units: each begins to live after the end of all that are
 * @slots or more before it.
 */
static bool ring_holds(const struct tilesched_placing *placing, uint32_t first, uint32_t count,
		       uint32_t slots)
{
	uint32_t end = 0;

	for (uint32_t i = first + slots; i < first + count; i++) {
		const struct npuplan_atom *old = &placing->live.atoms[placing->units[i - slots]];

		end = old->end > end ? old->end : end;
		if (placing->live.atoms[placing->units[i]].start <= end)
			return false;
	}
	return true;
}

/*
 * The fewest slots of a ring that holds a tensor's units; 0: no ring of fewer slots than there are
 * units does.
 */
static uint32_t ring_slots(const struct tilesched_placing *placing, uint32_t first, uint32_t count)
{
	uint32_t least;

	if (!count || !is_even(placing, first, count))
		return 0;
	least = npuplan_bisect(slots, 1, count, !ring_holds(placing, first, count, slots));
	return least < count ? least : 0;
}

static int add_tensor(struct tilesched_placing *placing, const struct npuplan_item *tensor,
		      uint32_t first, uint32_t count, int form)
{
	const struct tilesched_model *model = placing->model;
	struct tilesched_item whole = { .first_unit = first, .unit_count = count };
	int err = 0;

	if (tensor->fixed)
		return add_item(placing, tensor, &whole, tensor->size);
	if (form == NPUPLAN_TILESCHED_RINGS)
		whole.ring = ring_slots(placing, first, count);
	if (whole.ring)
		return add_item(placing, tensor, &whole,
				whole.ring * model->units[placing->units[first]].bytes);
	for (uint32_t i = first; i < first + count && !err; i++)
		err = add_unit(placing, tensor, i);
	return err;
}

/*
 * Make the items of all tensors; each has alignment and fixed offset of the one that
 * npuplan_make_items() has made.
 */
static int make_items(struct tilesched_placing *placing, int form)
{
	const struct npuplan_problem *problem = placing->problem;
	const struct tilesched_model *model = placing->model;
	uint32_t first = 0;
	int err = 0;

	for (uint32_t t = 0; t < problem->item_count && !err; t++) {
		uint32_t end = first;

		while (end < model->unit_count &&
		       cell_of(model, placing->units[end])->tensor == problem->items[t].tensor)
			end++;
		err = add_tensor(placing, &problem->items[t], first, end - first, form);
		first = end;
	}
	placing->offsets =
		npuplan_pool_take(&placing->pool, placing->item_count, sizeof(*placing->offsets));
	return placing->offsets ? err : -ENOMEM;
}

/* ----------------------------------------------------------------------- addresses */

static int pack(struct tilesched_placing *placing, struct npuplan_error *error)
{
	const struct npuplan_problem *problem = placing->problem;
	uint64_t limit = problem->options->work_limit;
	/*
	 * The packer is the only member of this call, so the caller hears what it has found and
	 * proved.
	 */
	struct npuplan_packing none = { .top = UINT64_MAX };
	struct npuplan_member member = {
		.effort = problem->effort,
		.best = &none,
		.bounds = true,
	};
	struct npuplan_pack_problem pack = {
		.items = placing->items,
		.item_count = placing->item_count,
		.alignment = problem->alignment,
	};
	const struct npuplan_pack_options options = {
		.work_limit = limit ? limit : NPUPLAN_TILESCHED_PACK_WORK,
		.deadline_seconds = npuplan_effort_left(problem->effort),
		.progress = npuplan_member_progress,
		.context = &member,
	};
	int err;

	err = npuplan_pack_exactly(&pack, &options, placing->offsets, &placing->result, error);
	/* There is always one packing, however soon the call has to end. */
	if (!err && placing->result.top == UINT64_MAX)
		err = npuplan_pack_in_order(NPUPLAN_BY_SIZE_DURATION, &pack, placing->offsets,
					    &placing->result, error);
	if (!err && placing->result.top == UINT64_MAX)
		err = npuplan_fail(
			error, -EINVAL,
			"fixed offsets collide: two tensors of %s would share bytes that live at once",
			problem->graph->name);
	return err;
}

int tilesched_place(struct tilesched_placing *placing, int form, struct npuplan_error *error)
{
	int err = find_ranges(placing);

	if (!err)
		err = find_bound(placing);
	if (!err)
		err = sort_units(placing);
	if (!err)
		err = make_items(placing, form);
	if (err)
		return npuplan_fail(error, err, "pieces of tensors: %s", strerror(-err));
	return pack(placing, error);
}
