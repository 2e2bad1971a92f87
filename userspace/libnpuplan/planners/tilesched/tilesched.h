/* SPDX-License-Identifier: MIT */
/*
 * Tile scheduling: the steps of consecutive operators interleaved depth-first, so
 * that a tile is read soon after it is written, and tensors placed in pieces
 * (docs/tile-scheduling.md). Nothing is computed twice.
 */
#pragma once

#include "segments.h"

/* Bytes of weights that stay on chip while a segment runs, if none are asked for. */
#define NPUPLAN_TILESCHED_RESIDENT  262144ull
/* Units of work of playing segments, and of packing, if none are asked for: seconds. */
#define NPUPLAN_TILESCHED_WORK	    200000000ull
#define NPUPLAN_TILESCHED_PACK_WORK 100000000ull

/** enum npuplan_tilesched_form - how tensors are placed */
enum npuplan_tilesched_form {
	NPUPLAN_TILESCHED_PIECES, /* each unit at an address of its own */
	NPUPLAN_TILESCHED_RINGS,  /* those of a tensor in a ring, where it has rows */
};

/* A planner (planners.h). -EOPNOTSUPP: loops and branches. */
int npuplan_plan_tilesched(const struct npuplan_problem *problem, const struct npuv_graph *cells,
			   int form, struct npuplan_plan **plan, struct npuplan_error *error);

/*
 * struct tilesched_item - what is placed at one address
 * @first_unit: in placing->units[]; @unit_count of them
 * @ring: slots, each of as many bytes as the first unit; 0: no ring
 * @first_chunk: of a single unit: its chunks from there on,
 * @run, @runs: so many equally far apart, and so often again, packed
 */
struct tilesched_item {
	uint32_t first_unit;
	uint32_t unit_count;
	uint32_t ring;
	uint32_t first_chunk;
	uint32_t run;
	uint32_t runs;
};

/*
 * struct tilesched_placing - a schedule and its addresses
 * @order: steps of the model as they are run
 * @positions: per step of the graph, its position in the schedule
 * @live: atoms are units, by number; takeovers are in no order
 * @units: in the order of tensors and their bytes
 * @items: to pack; @of: what each is made of
 * @lower_bound: most bytes that live at once; no placing needs less
 * @peak_instant: when
 * @least: bytes that any schedule needs
 * @pool: of all arrays but @items, @of and takeovers
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
	uint64_t least;
	struct npuplan_pack_result result;
	struct npuplan_pool pool;
};

/* tilesched_place() - live ranges, items, addresses of a schedule (place.c)
 *
 * -EINVAL: fixed offsets collide. placing->result.top is what is needed.
 */
int tilesched_place(struct tilesched_placing *placing, int form, struct npuplan_error *error);

/* Chunks of a unit, which are those of its first version. */
static inline const struct npuv_segment *tilesched_chunks(const struct tilesched_model *model,
							  uint32_t unit, uint32_t *count)
{
	const struct npuv_cell *cell = &model->cells->cells[model->units[unit].cell];

	*count = cell->segment_count;
	return &model->cells->segments[cell->first_segment];
}

/* Chunks of one cell from the first on that a single placement can hold (records.c). */
void tilesched_even_chunks(const struct npuv_segment *chunks, uint32_t count, uint32_t *run,
			   uint32_t *runs);

/* tilesched_records() - the placements of a plan (records.c)
 *
 * Units of equal length that follow each other in tensor and arena at equal
 * distances are one record. -ENOMEM.
 */
int tilesched_records(const struct tilesched_placing *placing, struct npuplan_plan *plan);
