/* SPDX-License-Identifier: MIT */
/*
 * libnpumem: graphs of tensors, tiles and steps, built call by call, for runtimes that make graphs
 * of their own. No device is needed. npumem.h includes this header, and its conventions hold;
 * docs/formats.md says what the blob is.
 */
#ifndef NPUMEM_BUILDER_H
#define NPUMEM_BUILDER_H

#include <string.h>

#include "npumem.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct npumem_tensor_args - tensor to be added; zero = default
 * @name: for people; may be NULL; copied
 * @size: bytes, > 0
 * @fixed_offset: arena offset asked for, with NPUMEM_TENSOR_FLAG_FIXED
 * @alias_offset: first byte in @alias_of, with NPUMEM_TENSOR_FLAG_ALIAS
 * @align: power of two up to 65536; 0 = 1
 * @kind: enum npumem_tensor_kind
 * @flags: NPUMEM_TENSOR_FLAG_*
 * @alias_of: tensor, with NPUMEM_TENSOR_FLAG_ALIAS; ignored without
 */
struct npumem_tensor_args {
	const char *name;
	uint64_t size;
	uint64_t fixed_offset;
	uint64_t alias_offset;
	uint32_t align;
	uint32_t kind;
	uint32_t flags;
	uint32_t alias_of;
};

/**
 * npumem_region_whole() - region of all bytes of a tensor
 * @size: bytes of the tensor
 */
static inline struct npumem_region npumem_region_whole(uint64_t size)
{
	struct npumem_region region;

	memset(&region, 0, sizeof(region));
	region.length = size;
	region.count[0] = 1;
	region.count[1] = 1;
	region.count[2] = 1;
	return region;
}

/**
 * npumem_builder_new() - a graph without anything, to be added to
 *
 * For runtimes that make graphs of their own; needs no device. NULL: out of memory.
 */
NPUMEM_EXPORT struct npumem_builder *npumem_builder_new(void);
/**
 * npumem_builder_free() - give up a builder
 * @builder: may be NULL. Blobs that it has written are not its
 */
NPUMEM_EXPORT void npumem_builder_free(struct npumem_builder *builder);

/**
 * npumem_builder_add_tensor() - append a tensor
 * @builder: the builder
 * @tensor: copied, its name too
 * @error: filled in if the call fails; may be NULL
 *
 * Returns its index, from 0 on. Here as in the functions below only that is checked which the
 * driver's own check of the graph cannot say better. -EINVAL: NULL argument, or an alias of a
 * tensor that has not been added; -E2BIG: names of more than 4 GiB; -ENOMEM.
 */
NPUMEM_EXPORT int64_t npumem_builder_add_tensor(struct npumem_builder *builder,
						const struct npumem_tensor_args *tensor,
						struct npumem_error *error);
/**
 * npumem_builder_add_tile() - append a tile: what a step accesses of a tensor
 * @builder: the builder
 * @tensor: index of the tensor
 * @region: its bytes that the tile has; copied
 * @error: filled in if the call fails; may be NULL
 *
 * Returns its index, from 0 on. -EINVAL: NULL argument, or the tensor has not been added;
 * -ENOMEM.
 */
NPUMEM_EXPORT int64_t npumem_builder_add_tile(struct npumem_builder *builder, uint32_t tensor,
					      const struct npumem_region *region,
					      struct npumem_error *error);
/**
 * npumem_builder_add_block() - begin a block: steps that are added from now on are its
 * @builder: the builder
 * @name: for people; may be NULL; copied
 * @error: filled in if the call fails; may be NULL
 *
 * Returns its index, from 0 on. The first step begins block 0 where this did not. -EINVAL: NULL
 * argument; -E2BIG: names of more than 4 GiB; -ENOMEM.
 */
NPUMEM_EXPORT int64_t npumem_builder_add_block(struct npumem_builder *builder, const char *name,
					       struct npumem_error *error);
/**
 * npumem_builder_add_step() - append a step to the last block
 * @builder: the builder
 * @name: for people; may be NULL
 * @flags: NPUMEM_STEP_*
 * @cookie: the runtime's own
 * @accesses: copied; see struct npumem_access (its inplace is NPUMEM_NONE mostly)
 * @access_count: >= 1
 * @error: filled in if the call fails; may be NULL
 *
 * Returns its index, from 0 on. -EINVAL: NULL argument, no access, or one of a tile that has not
 * been added; -E2BIG: names of more than 4 GiB; -ENOMEM.
 */
NPUMEM_EXPORT int64_t npumem_builder_add_step(struct npumem_builder *builder, const char *name,
					      uint32_t flags, uint64_t cookie,
					      const struct npumem_access *accesses,
					      uint32_t access_count, struct npumem_error *error);
/**
 * npumem_builder_add_edge() - let control pass from the end of a block to another
 * @builder: the builder
 * @from: index of the block that it leaves; may be added later
 * @to: index of the block that it enters, likewise; NPUMEM_NONE: the exit
 * @carries: which tensor takes on which one's value along the edge; copied
 * @carry_count: number of @carries; 0: @carries may be NULL
 * @error: filled in if the call fails; may be NULL
 *
 * Returns its index, from 0 on. -EINVAL: NULL argument, or a carry of a tensor that has not been
 * added; -ENOMEM. Whether the blocks are there npumem_builder_finish() checks.
 */
NPUMEM_EXPORT int64_t npumem_builder_add_edge(struct npumem_builder *builder, uint32_t from,
					      uint32_t to, const struct npumem_carry *carries,
					      uint32_t carry_count, struct npumem_error *error);
/**
 * npumem_builder_set_model() - attach the source model for planners (graph JSON)
 * @builder: the builder
 * @text: the model
 * @size: bytes at @text
 * @error: filled in if the call fails; may be NULL
 *
 * Carried to the daemon unread by the driver. Copied; replaces an earlier one. -EINVAL: NULL
 * argument; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_builder_set_model(struct npumem_builder *builder, const void *text,
					   size_t size, struct npumem_error *error);
/**
 * npumem_builder_finish() - write the graph blob (npumem_graph.h); free() it
 * @builder: the builder
 * @blob: out: the blob
 * @size: out: bytes at @blob
 * @error: filled in if the call fails; may be NULL
 *
 * The builder stays as it was. Same calls, same bytes. -EINVAL: NULL argument, no step, or an
 * edge of a block that has not been added; -E2BIG: more bytes than a blob may have; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_builder_finish(const struct npumem_builder *builder, void **blob,
					size_t *size, struct npumem_error *error);

#ifdef __cplusplus
}
#endif

#endif
