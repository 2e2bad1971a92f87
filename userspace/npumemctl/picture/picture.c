// SPDX-License-Identifier: MIT
/* What a picture of a plan shows: which bytes live when, and where most do. */
#include "picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/*
 * struct use - bytes of a tensor accessed at a position of the schedule
 * @mode: enum npumem_access_mode
 * @loaded: half of the position in which it has been read
 */
struct use {
	struct npumem_region region;
	uint32_t position;
	uint32_t mode;
	uint32_t loaded;
};

/*
 * struct uses - of all tensors
 * @start: of tensor t uses[start[t] .. start[t + 1]), by position
 */
struct uses {
	struct use *uses;
	size_t *start;
};

/* -------------------------------------------------------------- what is accessed */

/* The tensor whose bytes these are; @shift: where in it. */
static uint32_t base_of(const struct npuplan_graph *graph, uint32_t tensor, uint64_t *shift)
{
	const struct npuplan_tensor *t = &graph->tensors[tensor];

	*shift = 0;
	if (!(t->flags & NPUMEM_TENSOR_ALIAS))
		return tensor;
	*shift = t->alias_offset;
	return t->alias_of;
}

/* Called twice: first to count (@uses NULL), then to fill in. */
static int visit(const struct npuplan_graph *graph, const struct npuplan_plan *plan, size_t *cursor,
		 struct use *uses)
{
	for (uint32_t p = 0; p < plan->position_count; p++) {
		const struct npumem_position *position = &plan->positions[p];
		const struct npuplan_step *step;

		if (position->kind != NPUMEM_POSITION_STEP) {
			if (position->index >= graph->tensor_count)
				return -EINVAL;
			if (position->kind == NPUMEM_POSITION_DROP)
				continue;
			if (uses)
				uses[cursor[position->index]] = (struct use){
					{ position->first,
					  position->length,
					  { 1, 1, 1 },
					  0,
					  { 0 } },
					p,
					position->kind == NPUMEM_POSITION_SPILL ||
							position->kind == NPUMEM_POSITION_STORE ?
						NPUMEM_ACCESS_READ :
						NPUMEM_ACCESS_WRITE,
					2 * p + 1
				};
			cursor[position->index]++;
			continue;
		}
		if (position->index >= graph->step_count)
			return -EINVAL;
		step = &graph->steps[position->index];
		for (uint32_t a = 0; a < step->access_count; a++) {
			const struct npumem_access *access =
				&graph->accesses[step->first_access + a];
			const struct npumem_tile *tile = &graph->tiles[access->tile];
			uint64_t shift;
			uint32_t tensor = base_of(graph, tile->tensor, &shift);

			if (uses) {
				/* A staged step has read all before it stores. */
				uses[cursor[tensor]] = (struct use){
					tile->region, p, access->mode,
					step->flags & NPUMEM_STEP_STAGED ? 2 * p : 2 * p + 1
				};
				uses[cursor[tensor]].region.offset += shift;
			}
			cursor[tensor]++;
		}
	}
	return 0;
}

static int collect(struct uses *all, const struct npuplan_graph *graph,
		   const struct npuplan_plan *plan)
{
	size_t *cursor = calloc((size_t)graph->tensor_count + 1, sizeof(*cursor)), total = 0;
	int err;

	all->start = calloc((size_t)graph->tensor_count + 1, sizeof(*all->start));
	if (!cursor || !all->start) {
		free(cursor);
		return -ENOMEM;
	}
	err = visit(graph, plan, cursor, NULL);
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		all->start[t] = total;
		total += cursor[t];
		cursor[t] = all->start[t];
	}
	all->start[graph->tensor_count] = total;
	if (!err) {
		all->uses = malloc(total * sizeof(*all->uses) + 1);
		err = all->uses ? visit(graph, plan, cursor, all->uses) : -ENOMEM;
	}
	free(cursor);
	return err;
}

/* --------------------------------------------------------- bytes with one life each */

/*
 * struct cut - bytes of a tensor, cut wherever an access begins or ends
 * @at: @count boundaries, ascending
 * @start, @end: halves of positions between which the bytes from a boundary on
 *	live, NONE: never
 */
struct cut {
	uint64_t *at;
	uint32_t *start;
	uint32_t *end;
	size_t count;
};

/* Chunks of a region, in turn; false after the last. */
static bool next_chunk(const struct npumem_region *region, uint32_t index[3], uint64_t *first)
{
	if (index[2] >= region->count[2])
		return false;
	*first = region->offset;
	for (int d = 0; d < 3; d++)
		*first += index[d] * region->stride[d];
	for (int d = 0; d < 3; d++) {
		if (++index[d] < region->count[d] || d == 2)
			break;
		index[d] = 0;
	}
	return true;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static uint64_t clip(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/**
 * struct chunk - contiguous bytes of a placement, region.length of them
 * @byte: first, of the tensor
 * @address: where that is in the arena
 */
struct chunk {
	uint64_t byte;
	uint64_t address;
};

/*
 * struct chunks - all of a placement, by byte of the tensor
 */
struct chunks {
	struct chunk *chunks;
	size_t count;
	uint64_t length;
};

static int by_byte(const void *left, const void *right)
{
	return by_value(&((const struct chunk *)left)->byte, &((const struct chunk *)right)->byte);
}

/* A repetition of a ring lies where the one of @ring before lay. */
static int list_chunks(struct chunks *list, const struct npumem_placement *placement)
{
	const struct npumem_region *region = &placement->region;
	size_t most = (size_t)region->count[0] * region->count[1] * region->count[2];
	uint32_t index[3] = { 0 }, at[3] = { 0 };
	uint64_t byte;

	*list = (struct chunks){ malloc(most * sizeof(*list->chunks) + 1), 0, region->length };
	if (!list->chunks)
		return -ENOMEM;
	while (next_chunk(region, index, &byte)) {
		uint64_t address = placement->offset;

		if (placement->ring)
			at[2] %= placement->ring;
		for (int d = 0; d < 3; d++)
			address += at[d] * placement->stride[d];
		list->chunks[list->count++] = (struct chunk){ byte, address };
		memcpy(at, index, sizeof(at));
	}
	if (list->count)
		qsort(list->chunks, list->count, sizeof(*list->chunks), by_byte);
	return 0;
}

static int find_boundaries(struct cut *cut, const struct use *uses, size_t use_count,
			   const struct chunks *chunks)
{
	uint64_t begin = chunks->chunks[0].byte;
	uint64_t end = chunks->chunks[chunks->count - 1].byte + chunks->length;
	size_t most = 2 * chunks->count, kept = 0;

	for (size_t u = 0; u < use_count; u++)
		most += 2 * (size_t)uses[u].region.count[0] * uses[u].region.count[1] *
			uses[u].region.count[2];
	cut->at = malloc(most * sizeof(*cut->at));
	if (!cut->at)
		return -ENOMEM;
	for (size_t c = 0; c < chunks->count; c++) {
		cut->at[cut->count++] = chunks->chunks[c].byte;
		cut->at[cut->count++] = chunks->chunks[c].byte + chunks->length;
	}
	for (size_t u = 0; u < use_count; u++) {
		uint32_t index[3] = { 0 };
		uint64_t first;

		while (next_chunk(&uses[u].region, index, &first)) {
			if (first >= end || first + uses[u].region.length <= begin)
				continue;
			cut->at[cut->count++] = clip(first, begin, end);
			cut->at[cut->count++] = clip(first + uses[u].region.length, begin, end);
		}
	}
	qsort(cut->at, cut->count, sizeof(*cut->at), by_value);
	for (size_t i = 0; i < cut->count; i++)
		if (!kept || cut->at[kept - 1] != cut->at[i])
			cut->at[kept++] = cut->at[i];
	cut->count = kept;
	cut->start = malloc(kept * sizeof(*cut->start));
	cut->end = malloc(kept * sizeof(*cut->end));
	if (!cut->start || !cut->end)
		return -ENOMEM;
	memset(cut->start, 0xff, kept * sizeof(*cut->start));
	memset(cut->end, 0xff, kept * sizeof(*cut->end));
	return 0;
}

static size_t boundary(const struct cut *cut, uint64_t byte)
{
	size_t low = 0, high = cut->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cut->at[middle] < byte)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What is read before it was written has been there since half @from. */
static void apply(struct cut *cut, const struct use *use, uint32_t from)
{
	uint32_t index[3] = { 0 };
	uint64_t first;

	while (next_chunk(&use->region, index, &first)) {
		for (size_t i = boundary(cut, first);
		     i + 1 < cut->count && cut->at[i] < first + use->region.length; i++) {
			if (cut->start[i] == NONE)
				cut->start[i] = use->mode & NPUMEM_ACCESS_READ ?
							from :
							2 * use->position + 1;
			cut->end[i] = use->mode & NPUMEM_ACCESS_WRITE ? 2 * use->position + 1 :
									use->loaded;
		}
	}
}

/* What must be there from the start, or to the end. */
static void apply_kind(struct cut *cut, uint32_t kind, bool blocks, uint32_t from, uint32_t to)
{
	bool entry = kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_PARAMETER ||
		     kind == NPUMEM_TENSOR_STATE;
	bool exit = kind == NPUMEM_TENSOR_OUTPUT || kind == NPUMEM_TENSOR_PARAMETER ||
		    kind == NPUMEM_TENSOR_STATE;

	for (size_t i = 0; i + 1 < cut->count; i++) {
		/* Along an edge values are handed on, whoever reads them. */
		if (entry || (blocks && cut->start[i] == NONE)) {
			cut->start[i] = from;
			if (cut->end[i] == NONE)
				cut->end[i] = from;
		}
		if ((exit || blocks) && cut->start[i] != NONE)
			cut->end[i] = to;
	}
}

static int add_box(struct picture *picture, struct picture_place *place, struct picture_box box)
{
	struct picture_box *last = place->box_count ? &picture->boxes[picture->box_count - 1] :
						      NULL;

	if (last && last->first + last->length == box.first && last->start == box.start &&
	    last->end == box.end) {
		last->length += box.length;
		return 0;
	}
	/* The capacity is the next power of two. */
	if (!(picture->box_count & (picture->box_count - 1))) {
		size_t capacity = picture->box_count ? 2 * (size_t)picture->box_count : 1;
		void *grown = realloc(picture->boxes, capacity * sizeof(*picture->boxes));

		if (!grown)
			return -ENOMEM;
		picture->boxes = grown;
	}
	picture->boxes[picture->box_count++] = box;
	place->box_count++;
	return 0;
}

/* Of the bytes that the placement holds: what lies between its chunks is elsewhere. */
static int add_cut(struct picture *picture, struct picture_place *place, const struct cut *cut,
		   const struct chunks *chunks)
{
	const struct chunk *chunk = chunks->chunks;
	int err = 0;

	for (size_t i = 0; i + 1 < cut->count && !err; i++) {
		struct picture_box box = {
			.length = cut->at[i + 1] - cut->at[i],
			.start = cut->start[i],
			.end = cut->end[i],
		};

		while (cut->at[i] >= chunk->byte + chunks->length)
			chunk++;
		if (cut->at[i] < chunk->byte || cut->start[i] == NONE)
			continue;
		box.first = chunk->address + (cut->at[i] - chunk->byte);
		err = add_box(picture, place, box);
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
	size_t low = all->start[tensor], high = all->start[tensor + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all->uses[middle].position < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_boxes(struct picture *picture, struct picture_place *place,
		     const struct npumem_placement *placement, const struct uses *all)
{
	uint32_t kind = picture->graph->tensors[placement->tensor].kind;
	size_t low = first_use(all, placement->tensor, placement->from);
	size_t high = first_use(all, placement->tensor, placement->to + 1);
	struct chunks chunks;
	struct cut cut = { 0 };
	int err = list_chunks(&chunks, placement);

	if (err || !chunks.count) {
		free(chunks.chunks);
		return err;
	}
	err = find_boundaries(&cut, all->uses + low, high - low, &chunks);
	for (size_t u = low; u < high && !err; u++)
		apply(&cut, &all->uses[u], 2 * placement->from);
	if (!err) {
		apply_kind(&cut, kind, picture->plan->block_count > 1, 2 * placement->from,
			   2 * placement->to + 1);
		err = add_cut(picture, place, &cut, &chunks);
	}
	/* Around a ring, addresses come again. */
	if (!err && chunks.count > 1 && place->box_count)
		qsort(&picture->boxes[place->first_box], place->box_count, sizeof(*picture->boxes),
		      by_address);
	free(chunks.chunks);
	free(cut.at);
	free(cut.start);
	free(cut.end);
	return err;
}

/* ------------------------------------------------------------------- the picture */

/* From end to end, if it is a ring or has gaps. */
static uint64_t extent(const struct npumem_placement *placement)
{
	uint64_t bytes = placement->region.length;

	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		uint64_t count = placement->region.count[d];

		if (d == 2 && placement->ring)
			count = placement->ring;
		if (count > 1)
			bytes += placement->stride[d] * (count - 1);
	}
	return bytes;
}

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

static int add_place(struct picture *picture, const struct npumem_placement *placement,
		     const struct uses *all)
{
	struct picture_place *place = &picture->places[picture->place_count];

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
	*place = (struct picture_place){
		.hull = { placement->offset, extent(placement), 2 * placement->from,
			  2 * placement->to + 1 },
		.tensor = placement->tensor,
		.first_box = picture->box_count,
	};
	picture->place_count++;
	if (place->hull.first + place->hull.length > picture->height)
		picture->height = place->hull.first + place->hull.length;
	return add_boxes(picture, place, placement, all);
}

/* Let @share neighbours of a place have one box that holds them all. */
static void coarsen(struct picture *picture, uint32_t share)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < picture->place_count; i++) {
		struct picture_place *place = &picture->places[i];
		uint32_t first = place->first_box, count = place->box_count;

		place->first_box = kept;
		for (uint32_t b = 0; b < count; b++) {
			struct picture_box *box = &picture->boxes[first + b], *into;
			uint64_t end = box->first + box->length;

			if (b % share == 0) {
				picture->boxes[kept++] = *box;
				continue;
			}
			into = &picture->boxes[kept - 1];
			if (end > into->first + into->length)
				into->length = end - into->first;
			into->start = box->start < into->start ? box->start : into->start;
			into->end = box->end > into->end ? box->end : into->end;
		}
		place->box_count = kept - place->first_box;
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
		.places = calloc((size_t)plan->placement_count + 1, sizeof(*picture->places)),
	};
	err = picture->places ? collect(&all, graph, plan) : -ENOMEM;
	for (uint32_t i = 0; i < plan->placement_count && !err; i++)
		err = add_place(picture, &plan->placements[i], &all);
	if (!err)
		err = picture_find_peak(picture);
	picture->box_total = picture->box_count;
	if (!err && picture->box_count > PICTURE_BOXES)
		coarsen(picture, (picture->box_count + PICTURE_BOXES - 1) / PICTURE_BOXES);
	free(all.uses);
	free(all.start);
	if (err)
		picture_fini(picture);
	return err;
}

void picture_fini(struct picture *picture)
{
	free(picture->places);
	free(picture->boxes);
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
