// SPDX-License-Identifier: MIT
/* npuplan_taa_init(): the tiles of TAA as published, with the instants at which they live. */
#include "tensor_allocate.h"

#include <stdlib.h>

#include "base/sorted.h"

#define NONE UINT32_MAX

/*
 * struct lives - when the tiles of a graph are written and read
 * @item_of: per tensor, its item; NONE: it is not in the arena
 * @written, @read: per tile of the graph, instant of its first store and of its last load; NONE:
 *	there is none
 */
struct lives {
	struct npuplan_taa *taa;
	const struct npuplan_graph *graph;
	uint32_t *item_of;
	uint32_t *written;
	uint32_t *read;
};

static uint32_t *nones(struct npuplan_pool *pool, size_t count)
{
	uint32_t *made = npuplan_pool_take(pool, count, sizeof(*made));

	for (size_t i = 0; made && i < count; i++)
		made[i] = NONE;
	return made;
}

/* Find the item of each tensor; tiles of an alias count as tiles of its base. */
static void find_items(struct lives *lives, const struct npuplan_problem *problem)
{
	const struct npuplan_graph *graph = lives->graph;

	for (uint32_t i = 0; i < problem->item_count; i++) {
		const struct npuplan_item *item = &problem->items[i];

		lives->item_of[item->tensor] = i;
		lives->taa->tensors[i] = (struct npuplan_taa_tensor){
			.size = item->size,
			.align = item->align > problem->alignment ? item->align :
								    problem->alignment,
			.last = NONE,
		};
	}
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			lives->item_of[t] = lives->item_of[graph->tensors[t].alias_of];
}

static void collect(struct lives *lives)
{
	const struct npuplan_graph *graph = lives->graph;

	for (uint32_t s = 0; s < graph->step_count; s++) {
		const struct npuplan_step *step = &graph->steps[s];
		uint32_t store = npuplan_store_instant(s), apart = npuplan_load_instant(s);
		uint32_t load = step->flags & NPUMEM_STEP_STAGED ? apart : store;
		uint32_t end = step->first_access + step->access_count;

		for (uint32_t a = step->first_access; a < end; a++) {
			const struct npumem_access *access = &graph->accesses[a];
			uint32_t item = lives->item_of[graph->tiles[access->tile].tensor];
			struct npuplan_taa_tensor *tensor;

			if (item == NONE)
				continue;
			tensor = &lives->taa->tensors[item];
			if (access->mode & NPUMEM_ACCESS_READ) {
				lives->read[access->tile] = load;
				/*
				 * The tensor is whole until its first load, and parted from then
				 * on.
				 */
				if (tensor->last > apart)
					tensor->last = apart;
			}
			if (access->mode & NPUMEM_ACCESS_WRITE) {
				if (lives->written[access->tile] == NONE)
					lives->written[access->tile] = store;
				tensor->first = store;
			}
		}
	}
}

/* Let tensors be whole from the entry, or to the exit, as their kinds ask. */
static void bound(struct lives *lives, const struct npuplan_problem *problem)
{
	for (uint32_t i = 0; i < problem->item_count; i++) {
		uint32_t kind = lives->graph->tensors[problem->items[i].tensor].kind;
		struct npuplan_taa_tensor *tensor = &lives->taa->tensors[i];
		bool kept = kind == NPUMEM_TENSOR_PARAMETER || kind == NPUMEM_TENSOR_STATE;

		if (kept || kind == NPUMEM_TENSOR_INPUT)
			tensor->first = 0;
		if (kept || kind == NPUMEM_TENSOR_OUTPUT)
			tensor->last = problem->live.exit;
		/*
		 * A tensor that is never read only needs room for its stores; an input's bytes are
		 * there whether they are read or not.
		 */
		if (tensor->last == NONE)
			tensor->last = tensor->first;
	}
}

static int add_tile(struct npuplan_taa *taa, uint32_t item, const struct npumem_region *region,
		    uint64_t shift, uint32_t first, uint32_t last)
{
	int64_t chunks = npuplan_memo_chunks(&taa->memo, region);

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

/*
 * Add the two lifetimes of one tile: from its store until the tensor is whole, and from when the
 * tensor is parted to its last load.
 */
static int add_lives(const struct lives *lives, uint32_t tile)
{
	const struct npumem_tile *t = &lives->graph->tiles[tile];
	const struct npuplan_tensor *tensor = &lives->graph->tensors[t->tensor];
	uint32_t item = lives->item_of[t->tensor], first = lives->written[tile];
	uint32_t last = lives->read[tile], whole, apart;
	uint64_t shift = tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS ? tensor->alias_offset : 0;
	int err = 0;

	if (item == NONE)
		return 0;
	whole = lives->taa->tensors[item].first;
	apart = lives->taa->tensors[item].last;
	if (first != NONE)
		err = add_tile(lives->taa, item, &t->region, shift, first,
			       whole > first ? whole : first);
	if (last != NONE && !err)
		err = add_tile(lives->taa, item, &t->region, shift, apart < last ? apart : last,
			       last);
	return err;
}

NPUPLAN_ORDER(by_tensor, struct npuplan_taa_tile, tensor, first, last, offset, chunks)

static int add_tensors(struct npuplan_taa *taa)
{
	uint32_t tile = 0;
	int err = 0;

	for (uint32_t i = 0; i < taa->tensor_count && !err; i++) {
		const struct npuplan_taa_tensor *tensor = &taa->tensors[i];
		struct npumem_region all = { .length = tensor->size, .count = { 1, 1, 1 } };

		/* Other tensors' tiles have to keep away from the tensor while it is whole, too. */
		if (tensor->first <= tensor->last)
			err = add_tile(taa, i, &all, 0, tensor->first, tensor->last);
	}
	if (taa->tile_count)
		qsort(taa->tiles, taa->tile_count, sizeof(*taa->tiles), by_tensor);
	for (uint32_t i = 0; i < taa->tensor_count; i++) {
		taa->tensors[i].first_tile = tile;
		while (tile < taa->tile_count && taa->tiles[tile].tensor == i)
			tile++;
		taa->tensors[i].tile_count = tile - taa->tensors[i].first_tile;
	}
	return err;
}

int npuplan_taa_init(struct npuplan_taa *taa, const struct npuplan_problem *problem)
{
	const struct npuplan_graph *graph = problem->graph;
	size_t most = 2 * (size_t)graph->tile_count + problem->item_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct lives lives = {
		.taa = taa,
		.graph = graph,
		.item_of = nones(&pool, graph->tensor_count),
		.written = nones(&pool, graph->tile_count),
		.read = nones(&pool, graph->tile_count),
	};
	int err = 0;

	*taa = (struct npuplan_taa){
		.tensors = calloc((size_t)problem->item_count + 1, sizeof(*taa->tensors)),
		.tiles = calloc(most + 1, sizeof(*taa->tiles)),
		.tensor_count = problem->item_count,
	};
	if (!taa->tensors || !taa->tiles || pool.failed)
		return -ENOMEM;
	find_items(&lives, problem);
	collect(&lives);
	bound(&lives, problem);
	for (uint32_t i = 0; i < graph->tile_count && !err; i++)
		err = add_lives(&lives, i);
	return err ? err : add_tensors(taa);
}

void npuplan_taa_fini(struct npuplan_taa *taa)
{
	npuplan_chunk_memo_fini(&taa->memo);
	free_all(taa->tensors, taa->tiles);
}
