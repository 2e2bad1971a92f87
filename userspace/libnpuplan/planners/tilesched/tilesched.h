/* SPDX-License-Identifier: MIT */
/*
 * Tile scheduling: the steps of consecutive operators are interleaved depth-first, so that a tile
 * is read soon after it is written, and tensors are placed in pieces (docs/tile-scheduling.md).
 * Nothing is computed twice.
 */
#pragma once

#include "fusions.h"

/* Bytes of weights that stay on chip while a fusion runs, if the user does not say how many. */
#define NPUPLAN_TILESCHED_RESIDENT  262144ull
/* Work units of playing fusions, and of packing, if the user asks for no limit: some seconds. */
#define NPUPLAN_TILESCHED_WORK	    200000000ull
#define NPUPLAN_TILESCHED_PACK_WORK 100000000ull

/** enum npuplan_tilesched_form - how tensors are placed */
enum npuplan_tilesched_form {
	NPUPLAN_TILESCHED_PIECES, /* each unit at an address of its own */
	NPUPLAN_TILESCHED_RINGS,  /* those of a tensor in a ring, where it has rows */
};

/* Tile scheduling of straight graphs as a planner (planners/planner.h). */
int npuplan_plan_tilesched(const struct npuplan_problem *problem, const struct npuv_graph *cells,
			   int form, struct npuplan_plan **plan, struct npuplan_error *error);

/* tilesched_order() - find the order of lowest peak of a straight graph
 * @order: out: all steps of the graph
 * @work: out: work units
 *
 * -ENOMEM.
 */
int tilesched_order(const struct npuplan_problem *problem, const struct npuv_graph *cells,
		    uint32_t *order, uint64_t *work);

/*
 * struct tilesched_item - the units, or the part of one, that are placed at one address
 * @first_unit: its first unit, in placing->units[]; @unit_count of them
 * @ring: number of slots of a ring, each of as many bytes as the first unit; 0: it is no ring
 * @first_chunk: of a single unit, the first of the chunks that are placed
 * @even, @repeats: number of chunks that are equally far apart, and number of times that these
 *	repeat; they are packed one after another
 */
struct tilesched_item {
	uint32_t first_unit;
	uint32_t unit_count;
	uint32_t ring;
	uint32_t first_chunk;
	uint32_t even;
	uint32_t repeats;
};

/*
 * struct tilesched_placing - a schedule, and its addresses
 * @order: steps of the model in the order in which they are run
 * @positions: per step of the graph, its position in the schedule
 * @live: live ranges: its atoms are the units, by number, and its takeovers are not sorted
 * @units: numbers of the units, sorted by tensor and first byte
 * @items: items to pack; @of: what each of them is made of
 * @lower_bound: the most bytes that live at once; no placing of this schedule needs less
 * @peak_instant: the instant at which they live
 * @pool: memory of all arrays but @items, @of and takeovers
 */
struct tilesched_placing {
	const struct npuplan_problem *problem;
	const struct tilesched_model *model;
	struct npuplan_schedule_point cost;
	uint32_t *order;
	uint32_t *positions;
	struct npuplan_liveness live;
	uint32_t *units;
	struct npuplan_item *items;
	struct tilesched_item *of;
	uint64_t *offsets;
	uint32_t item_count;
	uint32_t peak_instant;
	uint64_t lower_bound;
	struct npuplan_pack_result result;
	struct npuplan_pool pool;
};

/* tilesched_place() - find live ranges, items and addresses of a schedule (place.c)
 *
 * placing->result.top becomes the bytes that the schedule needs. -EINVAL: fixed offsets collide;
 * -ENOMEM.
 */
int tilesched_place(struct tilesched_placing *placing, int form, struct npuplan_error *error);

/* The chunks of a unit, which are those of its first version. */
static inline const struct npuv_segment *tilesched_chunks(const struct tilesched_model *model,
							  uint32_t unit, uint32_t *count)
{
	const struct npuv_cell *cell = &model->cells->cells[model->units[unit].cell];

	*count = cell->segment_count;
	return &model->cells->segments[cell->first_segment];
}

/*
 * Find how many chunks of a cell, from the first on, a single placement can hold: @even chunks
 * equally far apart, and these @repeats times (records.c).
 */
void tilesched_even_chunks(const struct npuv_segment *chunks, uint32_t count, uint32_t *even,
			   uint32_t *repeats);

/* tilesched_records() - make the placements of a plan (records.c)
 *
 * Units of equal length that follow each other in tensor and arena at equal distances become one
 * record. -ENOMEM.
 */
int tilesched_records(const struct tilesched_placing *placing, struct npuplan_plan *plan);
