// SPDX-License-Identifier: MIT
#include "tiles.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/*
 * struct lives - of what the graph accesses
 * @item_of: per tensor, NONE if it is not in the arena
 * @whole: per item, instant from which the tensor is whole
 * @parted: per item, instant at which it is taken apart
 * @written, @read: per tile of the graph, first store and last load, NONE for
 *	neither
 */
struct lives {
	uint32_t *item_of;
	uint32_t *whole;
	uint32_t *parted;
	uint32_t *written;
	uint32_t *read;
};

static void lives_fini(struct lives *lives)
{
	free_all(lives->item_of, lives->whole, lives->parted, lives->written, lives->read);
}

static int lives_init(struct lives *lives, const struct npuplan_problem *problem)
{
	const struct npuplan_graph *graph = problem->graph;
	size_t tensors = graph->tensor_count, items = problem->item_count;
	size_t tiles = graph->tile_count;

	*lives = (struct lives){
		.item_of = malloc(tensors * sizeof(uint32_t) + 1),
		.whole = calloc(items + 1, sizeof(uint32_t)),
		.parted = malloc(items * sizeof(uint32_t) + 1),
		.written = malloc(tiles * sizeof(uint32_t) + 1),
		.read = malloc(tiles * sizeof(uint32_t) + 1),
	};
	if (!lives->item_of || !lives->whole || !lives->parted || !lives->written || !lives->read)
		return -ENOMEM;
	memset(lives->item_of, 0xff, tensors * sizeof(uint32_t));
	memset(lives->parted, 0xff, items * sizeof(uint32_t));
	memset(lives->written, 0xff, tiles * sizeof(uint32_t));
	memset(lives->read, 0xff, tiles * sizeof(uint32_t));
	for (uint32_t i = 0; i < items; i++)
		lives->item_of[problem->items[i].tensor] = i;
	/* A range of another tensor's bytes is tiles of that tensor. */
	for (uint32_t t = 0; t < tensors; t++)
		if (graph->tensors[t].flags & NPUMEM_TENSOR_ALIAS)
			lives->item_of[t] = lives->item_of[graph->tensors[t].alias_of];
	return 0;
}

/* Instants as liveness.h has them. */
static void collect(struct lives *lives, const struct npuplan_graph *graph)
{
	for (uint32_t s = 0; s < graph->step_count; s++) {
		const struct npuplan_step *step = &graph->steps[s];
		uint32_t load = step->flags & NPUMEM_STEP_STAGED ? 2 * s + 1 : 2 * s + 2;
		uint32_t store = 2 * s + 2, end = step->first_access + step->access_count;

		for (uint32_t a = step->first_access; a < end; a++) {
			const struct npumem_access *access = &graph->accesses[a];
			uint32_t item = lives->item_of[graph->tiles[access->tile].tensor];

			if (item == NONE)
				continue;
			if (access->mode & NPUMEM_ACCESS_READ) {
				lives->read[access->tile] = load;
				/* From before the first load on its tiles are apart. */
				if (lives->parted[item] > 2 * s + 1)
					lives->parted[item] = 2 * s + 1;
			}
			if (access->mode & NPUMEM_ACCESS_WRITE) {
				if (lives->written[access->tile] == NONE)
					lives->written[access->tile] = store;
				lives->whole[item] = store;
			}
		}
	}
}

/* When the tensors are whole: from the entry, or to the exit, as their kinds say. */
static void bound(struct lives *lives, const struct npuplan_problem *problem)
{
	for (uint32_t i = 0; i < problem->item_count; i++) {
		uint32_t exit = problem->live.exit;

		switch (problem->graph->tensors[problem->items[i].tensor].kind) {
		case NPUMEM_TENSOR_INPUT:
			lives->whole[i] = 0;
			/* Its bytes are there, read or not. */
			if (lives->parted[i] == NONE)
				lives->parted[i] = 0;
			break;
		case NPUMEM_TENSOR_PARAMETER:
		case NPUMEM_TENSOR_STATE:
			lives->whole[i] = 0;
			lives->parted[i] = exit;
			break;
		case NPUMEM_TENSOR_OUTPUT:
			lives->parted[i] = exit;
			break;
		default:
			/* Never read: room for the stores is all it takes. */
			if (lives->parted[i] == NONE)
				lives->parted[i] = lives->whole[i];
		}
	}
}

static int add_tile(struct npuplan_taa *taa, uint32_t item, const struct npumem_region *region,
		    uint64_t shift, uint32_t first, uint32_t last)
{
	struct npuplan_tile_shape shape = npuplan_region_shape(region);
	int64_t chunks = npuplan_memo_chunks(&taa->memo, &shape);

	if (chunks < 0)
		return chunks;
	taa->tiles[taa->tile_count++] = (struct npuplan_taa_tile){
		.offset = region->offset + shift,
		.tensor = item,
		.chunks = chunks,
		.first = first,
		.last = last,
	};
	return 0;
}

/* The parts of one tile's life: until the tensor is whole, since it is apart. */
static int add_lives(struct npuplan_taa *taa, const struct lives *lives,
		     const struct npuplan_graph *graph, uint32_t tile)
{
	const struct npumem_tile *t = &graph->tiles[tile];
	uint32_t item = lives->item_of[t->tensor], first, last;
	uint64_t shift = 0;
	int err = 0;

	if (item == NONE)
		return 0;
	if (graph->tensors[t->tensor].flags & NPUMEM_TENSOR_ALIAS)
		shift = graph->tensors[t->tensor].alias_offset;
	if (lives->written[tile] != NONE) {
		first = lives->written[tile];
		last = lives->whole[item] > first ? lives->whole[item] : first;
		err = add_tile(taa, item, &t->region, shift, first, last);
	}
	if (lives->read[tile] != NONE && !err) {
		last = lives->read[tile];
		first = lives->parted[item] < last ? lives->parted[item] : last;
		err = add_tile(taa, item, &t->region, shift, first, last);
	}
	return err;
}

static int by_tensor(const void *left, const void *right)
{
	const struct npuplan_taa_tile *a = left, *b = right;

	if (a->tensor != b->tensor)
		return a->tensor < b->tensor ? -1 : 1;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->last != b->last)
		return a->last < b->last ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->chunks < b->chunks ? -1 : a->chunks > b->chunks;
}

static int add_tensors(struct npuplan_taa *taa, const struct lives *lives,
		       const struct npuplan_problem *problem)
{
	uint32_t tile = 0;
	int err = 0;

	for (uint32_t i = 0; i < problem->item_count && !err; i++) {
		const struct npuplan_item *item = &problem->items[i];
		struct npumem_region all = { .length = item->size, .count = { 1, 1, 1 } };

		taa->tensors[i] = (struct npuplan_taa_tensor){
			.size = item->size,
			.align = item->align > problem->alignment ? item->align :
								    problem->alignment,
			.first = lives->whole[i],
			.last = lives->parted[i],
		};
		/* Another tensor's tiles must keep away from it while it is whole, too. */
		if (lives->whole[i] <= lives->parted[i])
			err = add_tile(taa, i, &all, 0, lives->whole[i], lives->parted[i]);
	}
	if (err)
		return err;
	if (taa->tile_count)
		qsort(taa->tiles, taa->tile_count, sizeof(*taa->tiles), by_tensor);
	for (uint32_t i = 0; i < problem->item_count; i++) {
		taa->tensors[i].first_tile = tile;
		while (tile < taa->tile_count && taa->tiles[tile].tensor == i)
			tile++;
		taa->tensors[i].tile_count = tile - taa->tensors[i].first_tile;
	}
	return 0;
}

int npuplan_taa_init(struct npuplan_taa *taa, const struct npuplan_problem *problem)
{
	const struct npuplan_graph *graph = problem->graph;
	size_t most = 2 * (size_t)graph->tile_count + problem->item_count;
	struct lives lives;
	int err;

	*taa = (struct npuplan_taa){
		.tensors = calloc((size_t)problem->item_count + 1, sizeof(*taa->tensors)),
		.tiles = calloc(most + 1, sizeof(*taa->tiles)),
		.tensor_count = problem->item_count,
	};
	err = lives_init(&lives, problem);
	if (!taa->tensors || !taa->tiles)
		err = -ENOMEM;
	if (!err) {
		collect(&lives, graph);
		bound(&lives, problem);
	}
	for (uint32_t i = 0; i < graph->tile_count && !err; i++)
		err = add_lives(taa, &lives, graph, i);
	if (!err)
		err = add_tensors(taa, &lives, problem);
	lives_fini(&lives);
	if (err)
		npuplan_taa_fini(taa);
	return err;
}
