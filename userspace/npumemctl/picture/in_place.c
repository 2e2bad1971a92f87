// SPDX-License-Identifier: MIT
/*
 * Which writes are in place: a graph says which may be, but only where a plan has put input and
 * output at the same bytes they are.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../../chunks/chunks.h"
#include "picture.h"

/*
 * struct places - a plan's placements, tensor by tensor
 * @first: per tensor, number of a placement, or NPUMEM_NONE
 * @next: per placement, of the same tensor
 */
struct places {
	const struct npuplan_plan *plan;
	uint32_t *first;
	uint32_t *next;
};

static void places_init(struct places *places, const struct picture *picture)
{
	const struct npuplan_plan *plan = picture->plan;

	*places = (struct places){
		.plan = plan,
		.first = calloc(picture->graph->tensor_count + (size_t)1, sizeof(*places->first)),
		.next = calloc(plan->placement_count + (size_t)1, sizeof(*places->next)),
	};
	if (!places->first || !places->next)
		abort();
	for (uint32_t t = 0; t < picture->graph->tensor_count; t++)
		places->first[t] = NPUMEM_NONE;
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		places->next[i] = places->first[plan->placements[i].tensor];
		places->first[plan->placements[i].tensor] = i;
	}
}

static void places_fini(struct places *places)
{
	free(places->first);
	free(places->next);
}

/* Shorten @left to the bytes that follow @byte in one chunk. False: the piece does not have it. */
static bool find_in(const struct npumem_placement *p, uint64_t byte, uint64_t *address,
		    uint64_t *left)
{
	uint64_t rest = byte - p->region.offset;

	if (byte < p->region.offset)
		return false;
	*address = p->offset;
	/* Dimensions are nested: the last repetition that begins at the byte or before has it. */
	for (int d = NPUMEM_REGION_DIMS - 1; d >= 0; d--) {
		uint64_t slot;

		if (p->region.count[d] == 1)
			continue;
		if (!p->region.stride[d])
			return false;
		slot = rest / p->region.stride[d];
		if (slot >= p->region.count[d])
			slot = p->region.count[d] - 1;
		rest -= slot * p->region.stride[d];
		if (d == NPUMEM_REGION_DIMS - 1 && p->ring)
			slot %= p->ring;
		*address += slot * p->stride[d];
	}
	if (rest >= p->region.length)
		return false;
	*address += rest;
	if (*left > p->region.length - rest)
		*left = p->region.length - rest;
	return true;
}

/*
 * struct accessed - bytes of a tile, in their order, at a position of the schedule
 * @tensor: whose bytes they are; no alias
 */
struct accessed {
	struct npumem_region region;
	uint32_t tensor;
	uint32_t position;
};

static struct accessed accessed_by(const struct npuplan_graph *graph,
				   const struct npumem_access *access, uint32_t position)
{
	const struct npumem_tile *tile = &graph->tiles[access->tile];
	const struct npuplan_tensor *tensor = &graph->tensors[tile->tensor];
	struct accessed accessed = { tile->region, tile->tensor, position };

	if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS) {
		accessed.tensor = tensor->alias_of;
		accessed.region.offset += tensor->alias_offset;
	}
	return accessed;
}

/* Where the tile's byte of that number lies, and how many of the next @left lie behind it. */
static bool find(const struct places *places, const struct accessed *accessed, uint64_t number,
		 uint64_t *address, uint64_t *left)
{
	const struct npumem_region *region = &accessed->region;
	uint64_t chunk = number / region->length, rest = number % region->length;
	uint64_t byte = region->offset + rest;

	if (*left > region->length - rest)
		*left = region->length - rest;
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		byte += chunk % region->count[d] * region->stride[d];
		chunk /= region->count[d];
	}
	for (uint32_t i = places->first[accessed->tensor]; i != NPUMEM_NONE; i = places->next[i]) {
		const struct npumem_placement *p = &places->plan->placements[i];

		if (p->from <= accessed->position && accessed->position <= p->to &&
		    find_in(p, byte, address, left))
			return true;
	}
	return false;
}

/* Whether all bytes of both lie at the same addresses, in the same order. */
static bool same_bytes(const struct places *places, const struct accessed *a,
		       const struct accessed *b)
{
	uint64_t bytes = chunks_bytes(&a->region), left;

	if (!bytes || bytes != chunks_bytes(&b->region))
		return false;
	for (uint64_t number = 0; number < bytes; number += left) {
		uint64_t at_a, at_b;

		left = bytes - number;
		if (!find(places, a, number, &at_a, &left) ||
		    !find(places, b, number, &at_b, &left) || at_a != at_b)
			return false;
	}
	return true;
}

void picture_write_in_place(FILE *out, const struct picture *picture)
{
	const struct npuplan_graph *graph = picture->graph;
	const struct npuplan_plan *plan = picture->plan;
	const char *before = "";
	struct places places;

	places_init(&places, picture);
	for (uint32_t p = 0; p < plan->position_count; p++) {
		const struct npuplan_step *step;

		if (plan->positions[p].kind != NPUMEM_POSITION_STEP)
			continue;
		step = &graph->steps[plan->positions[p].index];
		for (uint32_t a = 0; a < step->access_count; a++) {
			const struct npumem_access *all = &graph->accesses[step->first_access];
			struct accessed writes, reads;

			if (all[a].inplace >= step->access_count)
				continue;
			writes = accessed_by(graph, &all[a], p);
			reads = accessed_by(graph, &all[all[a].inplace], p);
			if (!same_bytes(&places, &writes, &reads))
				continue;
			fprintf(out, "%s%" PRIu32 ",%" PRIu32, before, p, a);
			before = ",";
		}
	}
	places_fini(&places);
}
