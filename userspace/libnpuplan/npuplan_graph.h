/* SPDX-License-Identifier: MIT */
/* Graphs: tensors, operators, and the tiles and steps that they are cut into. Include npuplan.h. */
#ifndef NPUPLAN_GRAPH_H
#define NPUPLAN_GRAPH_H

#include "npuplan_tiling.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPUPLAN_MAX_DIMS    8
#define NPUPLAN_MAX_SPATIAL 3

/**
 * struct npuplan_tensor - bytes with a size, an alignment and a live range
 * @name: owned, never NULL
 * @size: bytes
 * @fixed_offset: arena offset asked for, if flags has NPUMEM_TENSOR_FLAG_FIXED
 * @alias_offset: first byte in @alias_of, if flags has NPUMEM_TENSOR_FLAG_ALIAS
 * @align: power of two
 * @kind: enum npumem_tensor_kind
 * @flags: NPUMEM_TENSOR_FLAG_*
 * @alias_of: tensor, or NPUMEM_NONE
 * @dim_count: dimensions in @shape; 0 if the shape is not known
 * @shape: elements per dimension
 * @elem_size: bytes of one element; 0 if not known
 * @id: the tensor's id in the source file; plan JSON speaks of it
 */
struct npuplan_tensor {
	char *name;
	uint64_t size;
	uint64_t fixed_offset;
	uint64_t alias_offset;
	uint32_t align;
	uint32_t kind;
	uint32_t flags;
	uint32_t alias_of;
	uint32_t dim_count;
	uint32_t elem_size;
	int64_t shape[NPUPLAN_MAX_DIMS];
	int64_t id;
};

/**
 * struct npuplan_attrs - what tiling needs to know of an operator
 * @kernel: elements of the window per spatial dimension, outermost (depth or height)
 *	first; this array and the next four have @spatial of them
 * @stride: elements from one window to the next
 * @dilation: elements from one of a window to the next
 * @pad_begin: elements of padding before the input
 * @pad_end: elements of padding after it
 * @spatial: spatial dimensions, 0 for operators without a window
 * @groups: of a convolution
 * @axis: of concat, split, slice, softmax, reductions (first one), counted from 0; -1 none.
 *	Of a slice without gaps, whose first element is known, @stride[0] is 1 and @pad_begin[0] is
 *	as many elements along the axis as are left out before it, less than 0, though @spatial is 0
 * @transposed: transposed convolution
 * @inplace: may overwrite its first input at displacement 0
 * @whole: what a part of its outputs needs is not known: one step, however the graph
 *	is cut
 * @converts: of a concat, a split or a slice: outputs have other bytes than inputs, since elements
 *	get another scale, or an activation is fused
 */
struct npuplan_attrs {
	int32_t kernel[NPUPLAN_MAX_SPATIAL];
	int32_t stride[NPUPLAN_MAX_SPATIAL];
	int32_t dilation[NPUPLAN_MAX_SPATIAL];
	int32_t pad_begin[NPUPLAN_MAX_SPATIAL];
	int32_t pad_end[NPUPLAN_MAX_SPATIAL];
	uint32_t spatial;
	int32_t groups;
	int32_t axis;
	bool transposed;
	bool inplace;
	bool whole;
	bool converts;
};

/**
 * struct npuplan_op - operator of the source model
 * @name: owned, for people
 * @type: owned, as graph JSON names it ("conv2d", "add", "cat")
 * @inputs: owned, indices of tensors; parameters included
 * @outputs: owned, indices of tensors
 * @input_count: number of @inputs
 * @output_count: number of @outputs
 * @block: of the graph, that the operator's steps go to
 * @attrs: attributes, as far as they are understood
 * @id: the operator's id in the source file; plan JSON speaks of it
 */
struct npuplan_op {
	char *name;
	char *type;
	uint32_t *inputs;
	uint32_t *outputs;
	uint32_t input_count;
	uint32_t output_count;
	uint32_t block;
	struct npuplan_attrs attrs;
	int64_t id;
};

/**
 * struct npuplan_step - npumem_step, and what it does of which operator
 * @first_access: index of its first access in the graph
 * @access_count: number of its accesses, which follow one another
 * @flags: NPUMEM_STEP_*
 * @op: index, or NPUMEM_NONE if the source model is not known
 * @tile_index: number of this step among its operator's, 0-based
 * @name: owned, never NULL
 * @cookie: the runtime's own; carried along
 */
struct npuplan_step {
	uint32_t first_access;
	uint32_t access_count;
	uint32_t flags;
	uint32_t op;
	uint32_t tile_index;
	char *name;
	uint64_t cookie;
};

/** enum npuplan_added_kind - what a tensor that a tiling added is for (docs/tiling.md) */
enum npuplan_added_kind {
	NPUPLAN_ADDED_SUMS = 0,	 /* sums in the making of a tile; 4 bytes each */
	NPUPLAN_ADDED_PATCH = 1, /* elements that one patch needs of a tensor */
};

/**
 * struct npuplan_added - a tensor that a tiling added to the graph
 * @of: index of the tensor a part of which it is for; it has that one's elements from
 *	@first_row, @first_channel and @first_column on, as many as its shape says, of all batches
 * @kind: enum npuplan_added_kind
 * @first_row: of @of as docs/formats.md, "Tiling", counts rows
 * @first_channel: likewise channels
 * @first_column: likewise columns of each row
 */
struct npuplan_added {
	uint32_t of;
	uint32_t kind;
	int64_t first_row;
	int64_t first_channel;
	int64_t first_column;
};

/**
 * struct npuplan_graph - the one graph type of all planners
 *
 * Arrays are owned; counts beside them. @ops may be empty (a graph that came as
 * a blob). @steps, @accesses, @tiles are empty until a tiling makes them.
 * Shapes are stored as the source has them: @source_layout says whether they
 * read N,C,H,W or N,H,W,C; the bytes of a tensor lie in @layout order. A new
 * graph has one block, and both layouts are NPUPLAN_NHWC.
 *
 * @name: owned, never NULL
 * @tensors: array of @tensor_count records
 * @ops: array of @op_count records
 * @tiles: array of @tile_count records
 * @accesses: array of @access_count records
 * @steps: array of @step_count records
 * @blocks: array of @block_count records
 * @edges: array of @edge_count records
 * @carries: array of @carry_count records
 * @tensor_count: number of @tensors
 * @op_count: number of @ops
 * @tile_count: number of @tiles
 * @access_count: number of @accesses
 * @step_count: number of @steps
 * @block_count: number of @blocks
 * @edge_count: number of @edges
 * @carry_count: number of @carries
 * @source_layout: order in which shapes name their dimensions
 * @layout: order in which the bytes of tensors lie
 * @tiling: how it was cut; all 0 but its layout if it is not, or not known how (a
 *	graph that came as a blob)
 * @joined: array of @joined_count records, of tensors in ascending order: where tensors lie that
 *	have no bytes of their own since concats, splits and slices are joined (NPUPLAN_CONCAT_JOIN)
 * @concat_inputs: array of @concat_input_count records: of each concat each input, of each split
 *	and slice each output, if they were asked to be joined
 * @joined_count: number of @joined
 * @concat_input_count: number of @concat_inputs
 * @added: array of @added_count records, of the last @added_count tensors, which the tiling added;
 *	none in a graph that came as a blob, which has them like any other
 * @added_count: number of @added
 */
struct npuplan_graph {
	char *name;
	struct npuplan_tensor *tensors;
	struct npuplan_op *ops;
	struct npumem_tile *tiles;
	struct npumem_access *accesses;
	struct npuplan_step *steps;
	struct npumem_block *blocks;
	struct npumem_edge *edges;
	struct npumem_carry *carries;
	uint32_t tensor_count;
	uint32_t op_count;
	uint32_t tile_count;
	uint32_t access_count;
	uint32_t step_count;
	uint32_t block_count;
	uint32_t edge_count;
	uint32_t carry_count;
	enum npuplan_layout source_layout;
	enum npuplan_layout layout;
	struct npuplan_tiling tiling;
	struct npuplan_joined *joined;
	struct npuplan_concat_input *concat_inputs;
	uint32_t joined_count;
	uint32_t concat_input_count;
	struct npuplan_added *added;
	uint32_t added_count;
};

/**
 * npuplan_graph_new() - graph of one block, without anything in it
 * @name: for people; copied
 *
 * npuplan_graph_free() it. NULL: out of memory.
 */
NPUPLAN_EXPORT struct npuplan_graph *npuplan_graph_new(const char *name);
/**
 * npuplan_graph_free() - give up a graph, with all that it owns
 * @graph: may be NULL
 */
NPUPLAN_EXPORT void npuplan_graph_free(struct npuplan_graph *graph);

/**
 * npuplan_graph_add_tensor() - append a tensor
 * @graph: the graph
 * @tensor: copied, its name too, which may be NULL; an alignment of 0 is 1
 *
 * Returns its index, from 0 on. -EINVAL: no bytes, an alignment that is not a power of two up to
 * 65536, an unknown kind or flag, or too many dimensions; -E2BIG: 2^31 tensors; -ENOMEM.
 */
NPUPLAN_EXPORT int64_t npuplan_graph_add_tensor(struct npuplan_graph *graph,
						const struct npuplan_tensor *tensor);
/**
 * npuplan_graph_add_op() - append an operator
 * @graph: the graph
 * @op: copied, with its names, which may be NULL, and the indices of its tensors
 *
 * Returns its index, from 0 on. Operators stand block by block. -EINVAL: a tensor or block that
 * is not there, a block below that of the operator before, or too many spatial dimensions;
 * -E2BIG: 2^31 operators; -ENOMEM.
 */
NPUPLAN_EXPORT int64_t npuplan_graph_add_op(struct npuplan_graph *graph,
					    const struct npuplan_op *op);
/**
 * npuplan_graph_add_tile() - append a tile: what a step accesses of a tensor
 * @graph: the graph
 * @tensor: index of the tensor
 * @region: its bytes that the tile has; copied
 *
 * Returns its index, from 0 on. -EINVAL: there is no such tensor; -E2BIG: 2^31 tiles; -ENOMEM.
 * Whether the region is within the tensor planning checks.
 */
NPUPLAN_EXPORT int64_t npuplan_graph_add_tile(struct npuplan_graph *graph, uint32_t tensor,
					      const struct npumem_region *region);
/**
 * npuplan_graph_add_step() - append a step
 * @graph: the graph
 * @step: copied, its name too, which may be NULL; @step->first_access and
 *	@step->access_count are not looked at
 * @accesses: of tiles that have been added; copied
 * @access_count: number of @accesses, at least 1
 *
 * Returns its index, from 0 on. The step goes to its operator's block; without an operator, to
 * the last one. Steps, too, stand block by block. -EINVAL: no access, a tile or operator that is
 * not there, or a block below that of the step before; -E2BIG: 2^31 steps; -ENOMEM.
 */
NPUPLAN_EXPORT int64_t npuplan_graph_add_step(struct npuplan_graph *graph,
					      const struct npuplan_step *step,
					      const struct npumem_access *accesses,
					      uint32_t access_count);
/**
 * npuplan_graph_add_block() - append a block without steps
 * @graph: the graph, which has one block from the beginning: its entry
 *
 * Returns its index. -E2BIG: 2^31 blocks; -ENOMEM.
 */
NPUPLAN_EXPORT int64_t npuplan_graph_add_block(struct npuplan_graph *graph);
/**
 * npuplan_graph_add_edge() - let control pass from the end of a block to another
 * @graph: the graph
 * @from: block
 * @to: block, or NPUMEM_NONE for the exit
 * @carries: parallel assignments along the edge, of tensors of equal size
 * @carry_count: number of @carries
 *
 * Returns its index, from 0 on. -EINVAL: a block or tensor that is not there, or a carry between
 * tensors of different size; -E2BIG: 2^31 edges; -ENOMEM.
 */
NPUPLAN_EXPORT int64_t npuplan_graph_add_edge(struct npuplan_graph *graph, uint32_t from,
					      uint32_t to, const struct npumem_carry *carries,
					      uint32_t carry_count);

/**
 * npuplan_graph_set_layout() - say how the tensors' bytes lie, before tiling
 * @graph: the graph
 * @layout: how the bytes lie
 * @error: filled in if the call fails; may be NULL
 *
 * Sizes of tensors with rows change with it: NC/32HWC32 pads their channels.
 * Parameters, and tensors of one row of one element, stay as they are.
 * -EINVAL: unknown layout, or the graph is tiled already. -EOPNOTSUPP:
 * NC/32HWC32 of aliases.
 */
NPUPLAN_EXPORT int npuplan_graph_set_layout(struct npuplan_graph *graph, enum npuplan_layout layout,
					    struct npuplan_error *error);

/**
 * npuplan_graph_write() - graph blob (npumem_graph.h) of a tiled graph
 * @graph: the graph
 * @blob: out: the blob, malloc'ed; free() it
 * @size: out: bytes at @blob
 * @error: filled in if the call fails; may be NULL
 *
 * -E2BIG: more bytes than a blob may have; -ENOMEM. What planning would refuse is written, too.
 */
NPUPLAN_EXPORT int npuplan_graph_write(const struct npuplan_graph *graph, void **blob, size_t *size,
				       struct npuplan_error *error);
/**
 * npuplan_graph_write_model() - the same, with the model that the graph was made of
 * @graph: the graph
 * @model: graph JSON (docs/formats.md), as npuimport_graph_json_write() has it
 * @model_size: bytes at @model; 0: none
 * @blob: out: the blob, malloc'ed; free() it
 * @size: out: bytes at @blob
 * @error: filled in if the call fails; may be NULL
 *
 * The driver carries it to the planning daemon, which can cut such a graph anew. Errors as
 * npuplan_graph_write().
 */
NPUPLAN_EXPORT int npuplan_graph_write_model(const struct npuplan_graph *graph, const void *model,
					     size_t model_size, void **blob, size_t *size,
					     struct npuplan_error *error);
/**
 * npuplan_graph_model() - the model that a graph blob has
 * @blob: the blob, aligned to 8 bytes
 * @size: bytes at @blob
 * @model: out: the model, a part of @blob; nobody has looked at it
 * @model_size: out: bytes at @model
 * @error: filled in if the call fails; may be NULL
 *
 * -ENODATA: it has none. Errors otherwise as npuplan_graph_read(), by the blob's structure.
 */
NPUPLAN_EXPORT int npuplan_graph_model(const void *blob, size_t size, const void **model,
				       size_t *model_size, struct npuplan_error *error);
/**
 * npuplan_graph_read() - graph of a graph blob, which the kernel's verifier has checked
 * @blob: the blob, aligned to 8 bytes
 * @size: bytes at @blob
 * @out: out: the graph, without operators; npuplan_graph_free() it
 * @error: filled in if the call fails; may be NULL
 *
 * -EBADMSG: not well formed; -EINVAL: a rule of the format is broken, and the error quotes the
 * verifier; -EOPNOTSUPP: another version, or a feature that is not known; -E2BIG: more than the
 * verifier takes; -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_graph_read(const void *blob, size_t size, struct npuplan_graph **out,
				      struct npuplan_error *error);

#define NPUPLAN_DIGEST_SIZE 32

/**
 * npuplan_graph_digest() - SHA-256 of what of a tiled graph a plan depends on
 * @graph: the graph
 * @digest: out: SHA-256
 *
 * Two graphs with one digest have the same plans: ids, sizes, alignments and kinds of
 * tensors, aliases, steps and what they access, blocks and edges are the same. Names,
 * fixed offsets and what is external do not count. docs/formats.md has the numbers.
 */
NPUPLAN_EXPORT void npuplan_graph_digest(const struct npuplan_graph *graph,
					 uint8_t digest[NPUPLAN_DIGEST_SIZE]);

#ifdef __cplusplus
}
#endif

#endif /* NPUPLAN_GRAPH_H */
