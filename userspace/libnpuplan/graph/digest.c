// SPDX-License-Identifier: MIT
/*
 * The digest of a graph, over all that a plan depends on: tensors, steps and their accesses, blocks
 * and edges. docs/formats.md says which numbers are hashed, in which order.
 *
 * Names are for people and are not hashed. Nor are fixed offsets and whether a tensor is external:
 * the command line may say that of any model, and the verifier refuses a plan that is wrong about
 * it.
 */
#include <nettle/sha2.h>
#include <string.h>

#include "base/internal.h"

#define HASHED_FLAGS (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_HOST)

static void add(struct sha256_ctx *hash, uint64_t number)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	sha256_update(hash, sizeof(bytes), bytes);
}

/* Hash a 32-bit index as 64 bits; NPUMEM_NONE becomes UINT64_MAX. */
static void add_index(struct sha256_ctx *hash, uint32_t index)
{
	add(hash, index == NPUMEM_NONE ? UINT64_MAX : index);
}

static void add_region(struct sha256_ctx *hash, const struct npumem_region *region)
{
	add(hash, region->offset);
	add(hash, region->length);
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		add(hash, region->count[d]);
		/* The stride of a dimension without repetitions means nothing. */
		add(hash, region->count[d] > 1 ? region->stride[d] : 0);
	}
}

static void add_step(struct sha256_ctx *hash, const struct npuplan_graph *graph,
		     const struct npuplan_step *step)
{
	bool known = step->op < graph->op_count;

	add(hash, known ? (uint64_t)graph->ops[step->op].id : UINT64_MAX);
	add(hash, known ? step->tile_index : 0);
	add(hash, step->flags);
	add(hash, step->access_count);
	for (uint32_t i = 0; i < step->access_count; i++) {
		const struct npumem_access *access = &graph->accesses[step->first_access + i];
		const struct npumem_tile *tile = &graph->tiles[access->tile];

		add(hash, access->mode);
		add_index(hash, access->inplace);
		add(hash, tile->tensor);
		add_region(hash, &tile->region);
	}
}

void npuplan_graph_digest(const struct npuplan_graph *graph, uint8_t digest[NPUPLAN_DIGEST_SIZE])
{
	static const uint8_t version[8] = "npumem1";
	struct sha256_ctx hash;

	_Static_assert(NPUPLAN_DIGEST_SIZE == SHA256_DIGEST_SIZE, "it is SHA-256");
	sha256_init(&hash);
	sha256_update(&hash, sizeof(version), version);
	add(&hash, graph->tensor_count);
	add(&hash, graph->step_count);
	add(&hash, graph->block_count);
	add(&hash, graph->edge_count);
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];
		bool alias = tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS;

		add(&hash, (uint64_t)tensor->id);
		add(&hash, tensor->size);
		add(&hash, tensor->align);
		add(&hash, tensor->kind);
		add(&hash, tensor->flags & HASHED_FLAGS);
		add_index(&hash, alias ? tensor->alias_of : NPUMEM_NONE);
		add(&hash, alias ? tensor->alias_offset : 0);
	}
	for (uint32_t i = 0; i < graph->step_count; i++)
		add_step(&hash, graph, &graph->steps[i]);
	for (uint32_t i = 0; i < graph->block_count; i++)
		add(&hash, graph->blocks[i].step_count);
	for (uint32_t i = 0; i < graph->edge_count; i++) {
		const struct npumem_edge *edge = &graph->edges[i];

		add(&hash, edge->from);
		add_index(&hash, edge->to);
		add(&hash, edge->carry_count);
		for (uint32_t k = edge->first_carry; k < edge->first_carry + edge->carry_count;
		     k++) {
			add(&hash, graph->carries[k].from);
			add(&hash, graph->carries[k].to);
		}
	}
	sha256_digest(&hash, NPUPLAN_DIGEST_SIZE, digest);
}
