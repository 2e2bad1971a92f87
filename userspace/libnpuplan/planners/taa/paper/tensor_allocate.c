// SPDX-License-Identifier: MIT
#include "tensor_allocate.h"

#include "base/align.h"
#include "interval_tree.h"

/* Number of steps between two questions whether to give up. */
#define ASK_EVERY 20000

/*
 * struct allocation - one call of algorithm 1
 * @peers: the tiles by when they live; those of allocated tensors are in the tree
 * @by_address: the allocated tensors by address, ascending
 * @tile: the tile at hand, of the tensor at hand, whose address is @address
 * @overlap: collision size of @tile and the peer that it collides with, or 0
 * @limit: steps after which to give up, as @work counts them
 * @asked: value of @work when @until was last asked
 * @err: -E2BIG or -EINTR once the call has ended
 */
struct allocation {
	const struct npuplan_taa *taa;
	struct npuplan_interval_tree peers;
	uint32_t *by_address;
	uint32_t allocated;
	uint64_t *offsets;
	const struct npuplan_taa_tile *tile;
	uint64_t address;
	uint64_t overlap;
	uint64_t *work;
	uint64_t limit;
	uint64_t asked;
	const struct npuplan_until *until;
	int err;
};

static bool has_ended(struct allocation *allocation)
{
	if (allocation->err)
		return true;
	if (*allocation->work >= allocation->limit) {
		allocation->err = -E2BIG;
	} else if (allocation->until && *allocation->work - allocation->asked >= ASK_EVERY) {
		allocation->asked = *allocation->work;
		if (npuplan_until_over(allocation->until))
			allocation->err = -EINTR;
	}
	return allocation->err;
}

/*
 * Line 10 of the algorithm, for a peer that the tree has found: whether it does not collide, so
 * that the next one is to be looked at.
 */
static bool no_collision(void *context, uint32_t peer)
{
	struct allocation *allocation = context;
	const struct npuplan_taa *taa = allocation->taa;
	const struct npuplan_taa_tile *tile = allocation->tile, *other = &taa->tiles[peer];

	allocation->overlap = npuplan_collision_size(
		&taa->memo.chunks[tile->chunks], allocation->address + tile->offset,
		&taa->memo.chunks[other->chunks],
		allocation->offsets[other->tensor] + other->offset, allocation->work);
	return !allocation->overlap && !has_ended(allocation);
}

/*
 * Lines 2 and 19: the first address from @start on with a region that is large enough between the
 * allocated tensors that live, as a whole, while this one lives as a whole.
 */
static uint64_t find_region(const struct allocation *allocation, uint32_t tensor, uint64_t start)
{
	const struct npuplan_taa_tensor *tensors = allocation->taa->tensors;
	const struct npuplan_taa_tensor *mine = &tensors[tensor];
	uint64_t address = npuplan_align_up(start, mine->align);

	for (uint32_t i = 0; i < allocation->allocated; i++) {
		const struct npuplan_taa_tensor *other = &tensors[allocation->by_address[i]];
		uint64_t begin = allocation->offsets[allocation->by_address[i]];

		*allocation->work += 1;
		if (mine->first > mine->last || other->first > other->last ||
		    mine->first > other->last || other->first > mine->last)
			continue;
		if (begin >= address + mine->size)
			break;
		if (begin + other->size > address)
			address = npuplan_align_up(begin + other->size, mine->align);
	}
	return address;
}

/*
 * Lines 5 to 18: by how much the tensor collides, or 0. The result means nothing once @allocation
 * has ended.
 */
static uint64_t find_overlap(struct allocation *allocation, uint32_t tensor)
{
	const struct npuplan_taa_tensor *mine = &allocation->taa->tensors[tensor];

	allocation->address = allocation->offsets[tensor];
	allocation->overlap = 0;
	for (uint32_t i = 0; i < mine->tile_count; i++) {
		allocation->tile = &allocation->taa->tiles[mine->first_tile + i];
		*allocation->work += 1;
		if (!npuplan_interval_tree_visit(&allocation->peers, allocation->tile->first,
						 allocation->tile->last, no_collision,
						 allocation) ||
		    has_ended(allocation))
			break;
	}
	return allocation->overlap;
}

static void put(struct allocation *allocation, uint32_t tensor)
{
	const struct npuplan_taa_tensor *mine = &allocation->taa->tensors[tensor];
	uint32_t i = allocation->allocated++;

	for (;
	     i && allocation->offsets[allocation->by_address[i - 1]] > allocation->offsets[tensor];
	     i--)
		allocation->by_address[i] = allocation->by_address[i - 1];
	allocation->by_address[i] = tensor;
	for (i = 0; i < mine->tile_count; i++)
		npuplan_interval_tree_insert(&allocation->peers, mine->first_tile + i);
}

static int allocate(struct allocation *allocation, uint32_t tensor)
{
	uint64_t overlap, start = 0;

	do {
		if (has_ended(allocation))
			return allocation->err;
		allocation->offsets[tensor] = find_region(allocation, tensor, start);
		overlap = find_overlap(allocation, tensor);
		start = allocation->offsets[tensor] + overlap;
	} while (overlap);
	if (allocation->err)
		return allocation->err;
	put(allocation, tensor);
	return 0;
}

int npuplan_taa_allocate(const struct npuplan_taa *taa, const uint32_t *order, uint32_t placed,
			 uint64_t *offsets, uint64_t *work, uint64_t limit,
			 const struct npuplan_until *until)
{
	AUTO_HEAP uint32_t *by_address =
		npuplan_malloc((size_t)taa->tensor_count * sizeof(uint32_t) + 1);
	struct allocation allocation = {
		.taa = taa,
		.offsets = offsets,
		.work = work,
		.limit = limit,
		.asked = *work,
		.until = until,
		.by_address = by_address,
	};
	int err = npuplan_interval_tree_init(&allocation.peers, &taa->tiles->first,
					     &taa->tiles->last, sizeof(*taa->tiles),
					     taa->tile_count);

	if (!by_address)
		err = -ENOMEM;
	for (uint32_t i = 0; i < placed && !err; i++) {
		if (find_region(&allocation, order[i], offsets[order[i]]) != offsets[order[i]] ||
		    find_overlap(&allocation, order[i]))
			err = -EADDRINUSE;
		else if (allocation.err)
			err = allocation.err;
		else
			put(&allocation, order[i]);
	}
	for (uint32_t i = placed; i < taa->tensor_count && !err; i++)
		err = allocate(&allocation, order[i]);
	npuplan_interval_tree_fini(&allocation.peers);
	return err;
}
