// SPDX-License-Identifier: MIT
/* The contents of a picture of a plan: which bytes live when, and when most do. */
#include "picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../chunks/chunks.h"
#include "../../grow/grow.h"

#define NONE UINT32_MAX

/*
 * struct use - bytes of a tensor accessed at a position of the schedule
 * @mode: enum npumem_access_mode
 * @loaded: half of the position in which it has been read
 * @number: of uses before it, position by position
 */
struct use {
	struct npumem_region region;
	uint32_t tensor;
	uint32_t position;
	uint32_t mode;
	uint32_t loaded;
	uint32_t number;
};

/* struct uses - all of them, in the end by tensor, then number */
struct uses {
	struct use *list;
	uint32_t count;
};

/* -------------------------------------------------------------- what is accessed */

static int add_use(struct uses *all, struct use use)
{
	struct use *list = grow_by_one(all->list, all->count, sizeof(*list));

	if (!list)
		return -ENOMEM;
	all->list = list;
	use.number = all->count;
	list[all->count++] = use;
	return 0;
}

static int add_transfer(struct uses *all, const struct npumem_position *position, uint32_t p)
{
	bool out = position->kind == NPUMEM_POSITION_SPILL ||
		   position->kind == NPUMEM_POSITION_STORE;

	if (position->kind == NPUMEM_POSITION_DROP)
		return 0;
	return add_use(all, (struct use){
				    { position->first, position->length, { 1, 1, 1 }, 0, { 0 } },
				    position->index,
				    p,
				    out ? NPUMEM_ACCESS_READ : NPUMEM_ACCESS_WRITE,
				    2 * p + 1,
			    });
}

static int add_step(struct uses *all, const struct npuplan_graph *graph,
		    const struct npuplan_step *step, uint32_t p)
{
	int err = 0;

	for (uint32_t a = 0; a < step->access_count && !err; a++) {
		const struct npumem_access *access = &graph->accesses[step->first_access + a];
		const struct npumem_tile *tile = &graph->tiles[access->tile];
		const struct npuplan_tensor *tensor = &graph->tensors[tile->tensor];
		/* A staged step has read all before it stores. */
		struct use use = { tile->region, tile->tensor, p, access->mode,
				   step->flags & NPUMEM_STEP_STAGED ? 2 * p : 2 * p + 1 };

		if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS) {
			use.tensor = tensor->alias_of;
			use.region.offset += tensor->alias_offset;
		}
		err = add_use(all, use);
	}
	return err;
}

static int by_tensor(const void *left, const void *right)
{
	const struct use *a = left, *b = right;

	if (a->tensor != b->tensor)
		return a->tensor < b->tensor ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

static int collect(struct uses *all, const struct npuplan_graph *graph,
		   const struct npuplan_plan *plan)
{
	int err = 0;

	for (uint32_t p = 0; p < plan->position_count && !err; p++) {
		const struct npumem_position *position = &plan->positions[p];
		bool step = position->kind == NPUMEM_POSITION_STEP;

		if (position->index >= (step ? graph->step_count : graph->tensor_count))
			err = -EINVAL;
		else if (step)
			err = add_step(all, graph, &graph->steps[position->index], p);
		else
			err = add_transfer(all, position, p);
	}
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_tensor);
	return err;
}

/* --------------------------------------------------------- bytes with one life each */

/*
 * struct interval - bytes of a tensor from @at to the next one's, within which no access begins
 * or ends: an elementary interval
 * @start, @end: halves of positions between which they live, NONE: never
 */
struct interval {
	uint64_t at;
	uint32_t start;
	uint32_t end;
};

/* struct intervals - of a placement, ascending; the last one is where they end */
struct intervals {
	struct interval *list;
	size_t count;
};

/* Order of records whose first member is the byte that they are of. */
static int by_byte(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/*
 * struct chunk - contiguous bytes of a placement, region.length of them
 * @byte: first, of the tensor
 * @address: where that is in the arena
 */
struct chunk {
	uint64_t byte;
	uint64_t address;
};

/*
 * struct chunk_list - all of a placement, by byte of the tensor
 */
struct chunk_list {
	struct chunk *chunks;
	size_t count;
	uint64_t length;
};

static int list_chunks(struct chunk_list *list, const struct npumem_placement *placement)
{
	struct chunks walk = chunks_of_placement(placement);

	*list = (struct chunk_list){
		.chunks = malloc(chunks_count(&placement->region) * sizeof(*list->chunks) + 1),
		.length = placement->region.length,
	};
	if (!list->chunks)
		return -ENOMEM;
	while (chunks_next(&walk))
		list->chunks[list->count++] = (struct chunk){ walk.byte, walk.address };
	if (list->count)
		qsort(list->chunks, list->count, sizeof(*list->chunks), by_byte);
	return 0;
}

static void add_boundary(struct intervals *intervals, uint64_t at)
{
	intervals->list[intervals->count++] = (struct interval){ at, NONE, NONE };
}

static int find_intervals(struct intervals *intervals, const struct use *uses, size_t use_count,
			  const struct chunk_list *chunks)
{
	uint64_t begin = chunks->chunks[0].byte;
	uint64_t end = chunks->chunks[chunks->count - 1].byte + chunks->length;
	size_t most = 2 * chunks->count, kept = 0;

	for (size_t u = 0; u < use_count; u++)
		most += 2 * chunks_count(&uses[u].region);
	intervals->list = malloc(most * sizeof(*intervals->list));
	if (!intervals->list)
		return -ENOMEM;
	for (size_t c = 0; c < chunks->count; c++) {
		add_boundary(intervals, chunks->chunks[c].byte);
		add_boundary(intervals, chunks->chunks[c].byte + chunks->length);
	}
	for (size_t u = 0; u < use_count; u++) {
		struct chunks walk = chunks_of_region(&uses[u].region);

		while (chunks_next(&walk)) {
			uint64_t first = walk.byte, last = first + uses[u].region.length;

			if (first >= end || last <= begin)
				continue;
			add_boundary(intervals, first > begin ? first : begin);
			add_boundary(intervals, last < end ? last : end);
		}
	}
	qsort(intervals->list, intervals->count, sizeof(*intervals->list), by_byte);
	for (size_t i = 0; i < intervals->count; i++)
		if (!kept || intervals->list[kept - 1].at != intervals->list[i].at)
			intervals->list[kept++] = intervals->list[i];
	/* Behind the last one there is nothing. */
	intervals->count = kept - 1;
	return 0;
}

static size_t first_interval(const struct intervals *intervals, uint64_t byte)
{
	size_t low = 0, high = intervals->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (intervals->list[middle].at < byte)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Bytes that are read before they were written have been there since half step @from. */
static void apply(struct intervals *intervals, const struct use *use, uint32_t from)
{
	struct chunks walk = chunks_of_region(&use->region);
	uint32_t stored = 2 * use->position + 1;

	while (chunks_next(&walk)) {
		uint64_t end = walk.byte + use->region.length;

		for (size_t i = first_interval(intervals, walk.byte);
		     i < intervals->count && intervals->list[i].at < end; i++) {
			struct interval *interval = &intervals->list[i];

			if (interval->start == NONE)
				interval->start = use->mode & NPUMEM_ACCESS_READ ? from : stored;
			interval->end = use->mode & NPUMEM_ACCESS_WRITE ? stored : use->loaded;
		}
	}
}

/* The kind of a tensor says whether its bytes are there from the start, or to the end. */
static void apply_kind(struct intervals *intervals, uint32_t kind, bool blocks, uint32_t from,
		       uint32_t to)
{
	bool kept = kind == NPUMEM_TENSOR_PARAMETER || kind == NPUMEM_TENSOR_STATE;
	bool entry = kept || kind == NPUMEM_TENSOR_INPUT;
	bool exit = kept || kind == NPUMEM_TENSOR_OUTPUT;

	for (size_t i = 0; i < intervals->count; i++) {
		struct interval *interval = &intervals->list[i];

		/* Along an edge values are handed on, whoever reads them. */
		if (entry || (blocks && interval->start == NONE)) {
			interval->start = from;
			if (interval->end == NONE)
				interval->end = from;
		}
		if ((exit || blocks) && interval->start != NONE)
			interval->end = to;
	}
}

static int add_box(struct picture *picture, struct picture_placement *drawn, struct picture_box box)
{
	struct picture_box *last = drawn->box_count ? &picture->boxes[picture->box_count - 1] :
						      NULL;
	struct picture_box *boxes;

	if (last && last->first + last->length == box.first && last->start == box.start &&
	    last->end == box.end) {
		last->length += box.length;
		return 0;
	}
	boxes = grow_by_one(picture->boxes, picture->box_count, sizeof(*boxes));
	if (!boxes)
		return -ENOMEM;
	picture->boxes = boxes;
	boxes[picture->box_count++] = box;
	drawn->box_count++;
	return 0;
}

/* Intervals of the bytes that the placement holds; those between its chunks lie elsewhere. */
static int add_intervals(struct picture *picture, struct picture_placement *drawn,
			 const struct intervals *intervals, const struct chunk_list *chunks)
{
	const struct chunk *chunk = chunks->chunks;
	int err = 0;

	for (size_t i = 0; i < intervals->count && !err; i++) {
		const struct interval *interval = &intervals->list[i];

		while (interval->at >= chunk->byte + chunks->length)
			chunk++;
		if (interval->at < chunk->byte || interval->start == NONE)
			continue;
		err = add_box(picture, drawn,
			      (struct picture_box){
				      .first = chunk->address + (interval->at - chunk->byte),
				      .length = interval[1].at - interval->at,
				      .start = interval->start,
				      .end = interval->end,
			      });
	}
	return err;
}

static int by_address(const void *left, const void *right)
{
	const struct picture_box *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* The first of a tensor's uses at a position or later. */
static size_t first_use(const struct uses *all, uint32_t tensor, uint32_t position)
{
	size_t low = 0, high = all->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct use *use = &all->list[middle];

		if (use->tensor < tensor || (use->tensor == tensor && use->position < position))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_boxes(struct picture *picture, struct picture_placement *drawn,
		     const struct npumem_placement *placement, const struct uses *all)
{
	uint32_t kind = picture->graph->tensors[placement->tensor].kind;
	size_t low = first_use(all, placement->tensor, placement->from);
	size_t high = first_use(all, placement->tensor, placement->to + 1);
	struct intervals intervals = { 0 };
	struct chunk_list chunks;
	int err = list_chunks(&chunks, placement);

	if (!err && chunks.count)
		err = find_intervals(&intervals, all->list + low, high - low, &chunks);
	for (size_t u = low; u < high && !err; u++)
		apply(&intervals, &all->list[u], 2 * placement->from);
	if (!err) {
		apply_kind(&intervals, kind, picture->plan->block_count > 1, 2 * placement->from,
			   2 * placement->to + 1);
		err = add_intervals(picture, drawn, &intervals, &chunks);
	}
	/* Around a ring, addresses come again. */
	if (!err && chunks.count > 1 && drawn->box_count)
		qsort(&picture->boxes[drawn->first_box], drawn->box_count, sizeof(*picture->boxes),
		      by_address);
	free(chunks.chunks);
	free(intervals.list);
	return err;
}

/* ------------------------------------------------------------------- the picture */

/* No more of a tensor than there is: then there are not too many chunks either. */
static bool fits(const struct npumem_region *region, uint64_t size)
{
	uint64_t bytes = region->length;

	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		if (!bytes || !region->count[d] || bytes > size / region->count[d])
			return false;
		bytes *= region->count[d];
	}
	return true;
}

static int add_placement(struct picture *picture, const struct npumem_placement *placement,
			 const struct uses *all)
{
	struct picture_placement *drawn = &picture->placements[picture->placement_count];

	if (placement->tensor >= picture->graph->tensor_count || placement->from > placement->to ||
	    placement->block >= picture->plan->block_count ||
	    !fits(&placement->region, picture->graph->tensors[placement->tensor].size) ||
	    picture->plan->position_count > UINT32_MAX / 2)
		return -EINVAL;
	/* It passes through a block without positions: there is no time to draw it at. */
	if (!picture->plan->blocks[placement->block].position_count)
		return 0;
	if (placement->to >= picture->plan->position_count)
		return -EINVAL;
	*drawn = (struct picture_placement){
		.hull = { placement->offset, chunks_hull(placement), 2 * placement->from,
			  2 * placement->to + 1 },
		.tensor = placement->tensor,
		.first_box = picture->box_count,
	};
	picture->placement_count++;
	if (drawn->hull.first + drawn->hull.length > picture->height)
		picture->height = drawn->hull.first + drawn->hull.length;
	return add_boxes(picture, drawn, placement, all);
}

void picture_join(struct picture_box *into, const struct picture_box *box)
{
	uint64_t end = into->first + into->length, other = box->first + box->length;

	into->first = box->first < into->first ? box->first : into->first;
	into->length = (other > end ? other : end) - into->first;
	into->start = box->start < into->start ? box->start : into->start;
	into->end = box->end > into->end ? box->end : into->end;
}

/* Let @share neighbours of a placement have one box that holds them all. */
static void coarsen(struct picture *picture, uint32_t share)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < picture->placement_count; i++) {
		struct picture_placement *drawn = &picture->placements[i];
		uint32_t first = drawn->first_box, count = drawn->box_count;

		drawn->first_box = kept;
		for (uint32_t b = 0; b < count; b++) {
			const struct picture_box box = picture->boxes[first + b];

			if (b % share == 0)
				picture->boxes[kept++] = box;
			picture_join(&picture->boxes[kept - 1], &box);
		}
		drawn->box_count = kept - drawn->first_box;
	}
	picture->box_count = kept;
}

int picture_init(struct picture *picture, const char *name, const struct npuplan_graph *graph,
		 const struct npuplan_plan *plan)
{
	struct uses all = { 0 };
	int err;

	*picture = (struct picture){
		.name = name,
		.graph = graph,
		.plan = plan,
		.height = plan->info.arena_size ? plan->info.arena_size : 1,
		.placements =
			calloc((size_t)plan->placement_count + 1, sizeof(*picture->placements)),
		.live = calloc(2 * (size_t)plan->position_count + 1, sizeof(*picture->live)),
	};
	err = picture->placements && picture->live ? collect(&all, graph, plan) : -ENOMEM;
	for (uint32_t i = 0; i < plan->placement_count && !err; i++)
		err = add_placement(picture, &plan->placements[i], &all);
	if (!err)
		err = picture_find_peak(picture);
	picture->box_total = picture->box_count;
	if (!err && picture->box_count > PICTURE_BOXES)
		coarsen(picture, (picture->box_count + PICTURE_BOXES - 1) / PICTURE_BOXES);
	free(all.list);
	if (err)
		picture_fini(picture);
	return err;
}

void picture_fini(struct picture *picture)
{
	free(picture->placements);
	free(picture->boxes);
	free(picture->live);
	*picture = (struct picture){ 0 };
}

void picture_same_height(struct picture *pictures, unsigned int count)
{
	uint64_t height = 1;

	for (unsigned int i = 0; i < count; i++)
		height = pictures[i].height > height ? pictures[i].height : height;
	for (unsigned int i = 0; i < count; i++)
		pictures[i].height = height;
}
