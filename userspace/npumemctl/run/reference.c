/* SPDX-License-Identifier: MIT */
#include "reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../chunks/chunks.h"
#include "npumem_mix.h"

static bool valid_at_entry(const struct npuplan_tensor *tensor)
{
	return tensor->kind == NPUMEM_TENSOR_INPUT || tensor->kind == NPUMEM_TENSOR_STATE ||
	       tensor->kind == NPUMEM_TENSOR_PARAMETER;
}

/* The tensor that has a tensor's bytes. */
static uint32_t base_of(const struct npuplan_graph *graph, uint32_t t)
{
	return graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_ALIAS ? graph->tensors[t].alias_of : t;
}

static int add_buffer(struct reference *ref, uint32_t t)
{
	if (!ref->bytes[t])
		ref->bytes[t] = calloc(ref->graph->tensors[t].size, 1);
	return ref->bytes[t] ? 0 : -ENOMEM;
}

static int add_buffers(struct reference *ref, const struct npuplan_plan *plan)
{
	const struct npuplan_graph *graph = ref->graph;
	int err = 0;

	for (uint32_t i = 0; !err && i < plan->placement_count; i++)
		if (plan->placements[i].tensor < graph->tensor_count)
			err = add_buffer(ref, base_of(graph, plan->placements[i].tensor));
	for (uint32_t i = 0; !err && i < graph->tile_count; i++) {
		uint32_t t = base_of(graph, graph->tiles[i].tensor);

		if (graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
			err = add_buffer(ref, t);
	}
	return err;
}

/* Aliases, once their bases have all there is to have. */
static void share_buffers(struct reference *ref)
{
	const struct npuplan_graph *graph = ref->graph;

	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];
		uint32_t base = base_of(graph, t);

		ref->entry[t] |= valid_at_entry(tensor);
		ref->entry[base] |= valid_at_entry(tensor);
		if (base != t && ref->bytes[base])
			ref->bytes[t] = ref->bytes[base] + tensor->alias_offset;
	}
}

static uint64_t carried_bytes(const struct npuplan_graph *graph)
{
	uint64_t most = 0;

	for (uint32_t e = 0; e < graph->edge_count; e++) {
		const struct npumem_edge *edge = &graph->edges[e];
		uint64_t bytes = 0;

		for (uint32_t i = 0; i < edge->carry_count; i++)
			bytes += graph->tensors[graph->carries[edge->first_carry + i].to].size;
		if (bytes > most)
			most = bytes;
	}
	return most;
}

int reference_init(struct reference *ref, const struct npuplan_graph *graph,
		   const struct npuplan_plan *plan)
{
	ref->graph = graph;
	ref->bytes = calloc(graph->tensor_count + (size_t)1, sizeof(*ref->bytes));
	ref->entry = calloc(graph->tensor_count + (size_t)1, sizeof(*ref->entry));
	ref->carried = malloc(carried_bytes(graph) + 1);
	if (!ref->bytes || !ref->entry || !ref->carried || add_buffers(ref, plan))
		return -ENOMEM;
	share_buffers(ref);
	return 0;
}

void reference_fini(struct reference *ref)
{
	for (uint32_t t = 0; ref->bytes && t < ref->graph->tensor_count; t++)
		if (base_of(ref->graph, t) == t)
			free(ref->bytes[t]);
	free(ref->bytes);
	free(ref->entry);
	free(ref->carried);
	*ref = (struct reference){ 0 };
}

void reference_randomize(struct reference *ref, uint64_t seed, bool state)
{
	for (uint32_t t = 0; t < ref->graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &ref->graph->tensors[t];
		uint64_t random = npumem_mix_begin(seed, t);

		if (!ref->bytes[t] || !valid_at_entry(tensor) ||
		    (tensor->kind == NPUMEM_TENSOR_STATE && !state))
			continue;
		for (uint64_t i = 0; i < tensor->size; i++)
			ref->bytes[t][i] =
				(uint8_t)(npumem_mix_write(random, 0, i / 8) >> (i % 8 * 8));
	}
}

static uint64_t read_tile(const uint8_t *bytes, const struct npumem_region *region, uint64_t digest)
{
	struct chunks walk = chunks_of_region(region);

	while (chunks_next(&walk))
		for (uint64_t i = 0; i < region->length; i++)
			digest = npumem_mix_read(digest, bytes[walk.byte + i]);
	return digest;
}

static void write_tile(uint8_t *bytes, const struct npumem_region *region, uint64_t digest,
		       uint32_t access)
{
	struct chunks walk = chunks_of_region(region);
	uint64_t linear = 0, word = 0;

	while (chunks_next(&walk))
		for (uint64_t i = 0; i < region->length; i++, linear++) {
			if (linear % 8 == 0)
				word = npumem_mix_write(digest, access, linear / 8);
			bytes[walk.byte + i] = (uint8_t)(word >> (linear % 8 * 8));
		}
}

static void run_step(struct reference *ref, uint32_t index, uint64_t key)
{
	const struct npuplan_step *step = &ref->graph->steps[index];
	uint64_t digest = npumem_mix_begin(key, index);

	for (uint32_t i = 0; i < step->access_count; i++) {
		const struct npumem_access *access = &ref->graph->accesses[step->first_access + i];
		const struct npumem_tile *tile = &ref->graph->tiles[access->tile];

		if (access->mode == NPUMEM_ACCESS_WRITE)
			continue;
		digest = npumem_mix_access(digest, i);
		if (ref->bytes[tile->tensor])
			digest = read_tile(ref->bytes[tile->tensor], &tile->region, digest);
	}
	for (uint32_t i = 0; i < step->access_count; i++) {
		const struct npumem_access *access = &ref->graph->accesses[step->first_access + i];
		const struct npumem_tile *tile = &ref->graph->tiles[access->tile];

		if (access->mode != NPUMEM_ACCESS_READ && ref->bytes[tile->tensor])
			write_tile(ref->bytes[tile->tensor], &tile->region, digest, i);
	}
}

void reference_block(struct reference *ref, uint32_t block, uint64_t key)
{
	const struct npumem_block *b = &ref->graph->blocks[block];

	for (uint32_t i = 0; i < b->step_count; i++)
		run_step(ref, b->first_step + i, key);
}

void reference_edge(struct reference *ref, uint32_t edge)
{
	const struct npumem_edge *e = &ref->graph->edges[edge];
	const struct npumem_carry *carries = &ref->graph->carries[e->first_carry];
	uint8_t *at = ref->carried;

	/* A tensor without bytes is one that no step needs on this way. */
	for (uint32_t i = 0; i < e->carry_count; i++) {
		uint64_t size = ref->graph->tensors[carries[i].to].size;

		if (ref->bytes[carries[i].from])
			memcpy(at, ref->bytes[carries[i].from], size);
		at += size;
	}
	at = ref->carried;
	for (uint32_t i = 0; i < e->carry_count; i++) {
		uint64_t size = ref->graph->tensors[carries[i].to].size;

		if (ref->bytes[carries[i].from] && ref->bytes[carries[i].to])
			memcpy(ref->bytes[carries[i].to], at, size);
		at += size;
	}
}

int reference_copy(const struct npumem_placement *placement, uint8_t *tensor, uint64_t tensor_size,
		   uint8_t *arena, uint64_t arena_size, bool to_arena)
{
	struct chunks walk = chunks_of_placement(placement);
	uint64_t length = placement->region.length;

	while (chunks_next(&walk)) {
		if (walk.byte > tensor_size || length > tensor_size - walk.byte ||
		    walk.address > arena_size || length > arena_size - walk.address)
			return -EINVAL;
		if (to_arena)
			memcpy(arena + walk.address, tensor + walk.byte, length);
		else
			memcpy(tensor + walk.byte, arena + walk.address, length);
	}
	return 0;
}
