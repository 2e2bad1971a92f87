/* SPDX-License-Identifier: MIT */
/* How operators are cut into steps. Include npuplan.h. */
#ifndef NPUPLAN_TILING_H
#define NPUPLAN_TILING_H

#include "npuplan_base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npuplan_graph;

/** enum npuplan_layout - order in which tensor shapes' bytes lie in memory */
enum npuplan_layout {
	NPUPLAN_NHWC = 0,
	NPUPLAN_NCHW = 1,
	NPUPLAN_NC32HW32 = 2, /* NC/32HWC32: blocks of 32 channels, the last one padded */
};

/**
 * enum npuplan_tile_order - which tiles of an operator that is cut both ways come first
 * @NPUPLAN_ROWS_OUTER: all channels of some rows, then the next rows
 * @NPUPLAN_CHANNELS_OUTER: all rows of some channels, then the next channels
 *
 * Columns of some rows come one after the other, before those of the next rows.
 */
enum npuplan_tile_order {
	NPUPLAN_ROWS_OUTER = 0,
	NPUPLAN_CHANNELS_OUTER = 1,
};

/**
 * struct npuplan_tile_choice - how one operator is cut
 * @op: index
 * @rows: output rows a tile, the last one having what is left; 0 for all
 * @channels: output channels a tile, likewise; 0 for all
 * @order: enum npuplan_tile_order
 * @columns: columns of each row of a tile, likewise; 0 for whole rows. Only of an operator on
 *	images (rank 4) that needs columns of its inputs for columns of its outputs
 * @depth: channels of its first input that a step adds up, the last step of a tile having what is
 *	left; 0 for all. Only of an operator that adds up all channels of its first input
 */
struct npuplan_tile_choice {
	uint32_t op;
	uint32_t rows;
	uint32_t channels;
	uint32_t order;
	uint32_t columns;
	uint32_t depth;
};

/** enum npuplan_inputs - where what is there before the first step starts */
enum npuplan_inputs {
	NPUPLAN_INPUTS_GIVEN = 0, /* where the tensors' flags say */
	/* Inputs, and parameters that steps access, in host memory (NPUMEM_TENSOR_FLAG_HOST). */
	NPUPLAN_INPUTS_HOST = 1,
	NPUPLAN_INPUTS_RESIDENT = 2, /* inputs in the arena; these parameters in host memory */
};

/**
 * struct npuplan_patches - operators that run patch by patch (docs/tiling.md)
 * @first: index of the first operator
 * @last: index of the last one, whose output is cut into patches
 * @rows: rows a patch, the last ones having what is left; 0 for all
 * @columns: columns a patch, likewise
 *
 * All operators from @first to @last run for one patch, then for the next. Between them a patch has
 * tensors of its own, of what it needs: what two patches need is computed twice.
 */
struct npuplan_patches {
	uint32_t first;
	uint32_t last;
	uint32_t rows;
	uint32_t columns;
};

/**
 * struct npuplan_clone - an operator that runs once more, for some of its readers
 * @op: id of the operator
 * @readers: ids of the operators that take what the clone makes; at least one
 * @reader_count: number of @readers
 */
struct npuplan_clone {
	int64_t op;
	int64_t *readers;
	uint32_t reader_count;
};

/**
 * struct npuplan_link_copy - a tensor that is copied from one core's scratchpad to another's
 * @tensor: id of the tensor
 * @readers: ids of the operators that read the copy instead; at least one
 * @reader_count: number of @readers
 */
struct npuplan_link_copy {
	int64_t tensor;
	int64_t *readers;
	uint32_t reader_count;
};

/**
 * struct npuplan_carry_copy - a value that is copied before an edge hands it on
 * @edge: index of the edge, in the graph without copies
 * @pad: zero
 * @tensor: id of the tensor that the edge carries it to
 */
struct npuplan_carry_copy {
	uint32_t edge;
	uint32_t pad;
	int64_t tensor;
};

/** enum npuplan_concat - what becomes of concats, splits and slices (docs/tiling.md) */
enum npuplan_concat {
	NPUPLAN_CONCAT_COPY = 0, /* they are steps, which copy their inputs */
	/*
	 * Inputs of concats are placed as parts of the output, outputs of splits and slices as
	 * parts of the input, wherever that can be; what has such parts alone has no step.
	 */
	NPUPLAN_CONCAT_JOIN = 1,
	/*
	 * The same, but of parts for which no more bytes are live at once: what is made early
	 * would have room kept for the whole output, and a split's whole input is kept for a part
	 * that is needed late.
	 */
	NPUPLAN_CONCAT_FIT = 2,
};

/** enum npuplan_join - what became of a part of a concat, split or slice: joined, or why copied */
enum npuplan_join {
	NPUPLAN_JOINED = 0,
	NPUPLAN_JOIN_FLOW = 1,	     /* the graph has loops or branches */
	NPUPLAN_JOIN_CONVERTS = 2,   /* the output has other bytes than the inputs */
	NPUPLAN_JOIN_SHAPE = 3,	     /* shapes do not say where the bytes lie */
	NPUPLAN_JOIN_OUTPUT = 4,     /* the concat's output is state, or part of a tensor */
	NPUPLAN_JOIN_KIND = 5,	     /* an input of the graph, a parameter or state */
	NPUPLAN_JOIN_KEPT = 6,	     /* an output of the graph */
	NPUPLAN_JOIN_PLACED = 7,     /* external, or at a fixed offset */
	NPUPLAN_JOIN_RANGE = 8,	     /* only a range of another tensor */
	NPUPLAN_JOIN_TWICE = 9,	     /* part of an output already */
	NPUPLAN_JOIN_ALIGNMENT = 10, /* its bytes would not be aligned */
	NPUPLAN_JOIN_BLOCKS = 11,    /* NC/32HWC32: it does not begin, or end, at a block */
	NPUPLAN_JOIN_NESTED = 12,    /* bytes of parts of parts lie at no one distance */
	NPUPLAN_JOIN_TILES = 13,     /* a step would access what is no region of the output */
	NPUPLAN_JOIN_EARLY = 14,     /* its output's room would be kept for too long */
	NPUPLAN_JOIN_INPUT =
		15, /* a split's input is a parameter, state or a range, or one of several */
	NPUPLAN_JOIN_LATE = 16, /* its input's room would be kept for too long */
	NPUPLAN_JOIN_COUNT = 17,
};

/**
 * struct npuplan_joined - where a tensor lies that is part of a concat's output or of a split's
 * input, or is all of one
 * @tensor: index; while the graph is tiled no step accesses it, and it is an alias: of its bytes,
 *	if they are contiguous, or else of all of @base
 * @base: index of the tensor whose bytes it has
 * @first: where in @base its first byte lies
 * @run: bytes that lie side by side: byte b lies at @first + b / @run * @stride + b % @run
 * @stride: bytes of @base from one run to the next; @run if there is one alone
 * @size: of the tensor; what it was before follows in the next four fields
 * @alias_offset: likewise
 * @alias_of: likewise
 * @flags: likewise
 */
struct npuplan_joined {
	uint32_t tensor;
	uint32_t base;
	uint64_t first;
	uint64_t run;
	uint64_t stride;
	uint64_t size;
	uint64_t alias_offset;
	uint32_t alias_of;
	uint32_t flags;
};

/**
 * struct npuplan_concat_input - what became of an input of a concat, or of an output of a split or
 * a slice
 * @op: index of the concat, the split or the slice
 * @input: number of the input, or of the output
 * @tensor: index of the tensor
 * @join: enum npuplan_join
 */
struct npuplan_concat_input {
	uint32_t op;
	uint32_t input;
	uint32_t tensor;
	uint32_t join;
};

/**
 * struct npuplan_tiling - how a graph is cut into steps (docs/tiling.md)
 * @layout: how the tensors' bytes lie
 * @bands: row bands an operator; 1 for whole operators
 * @rows: output rows a tile, of each operator that has rows
 * @columns: with @rows, columns a tile, of each operator on images that needs columns of its inputs
 *	for columns of its outputs; 0: rows are not cut
 * @onchip: bytes of on-chip memory that each step has to fit into; the tiler
 *	chooses the tiling of each operator that moves the least data
 * @double_buffer: tiles are loaded while others are computed: what changes from
 *	step to step is on chip twice. Needs @onchip
 * @with_parameters: steps access parameters too, so that they are planned. They
 *	count on chip either way
 * @inputs: enum npuplan_inputs
 * @ops: what is said of single operators, by index, ascending; owned where it is
 *	a graph's. With @onchip a graph has one of each operator that runs in no patches
 * @clones: operators that run again, one after another (npuplan_graph_clone_op()),
 *	before anything is cut; owned as @ops is. Neither @ops nor @onchip beside them
 * @op_count: number of @ops
 * @clone_count: number of @clones
 * @concat: enum npuplan_concat
 * @carry_copy_count: number of @carry_copies
 * @carry_copies: values that edges carry are copied first (npuplan_graph_copy_carries()), before
 *	anything is cut; owned as @ops is. Neither @ops nor @onchip nor @clones beside them
 * @link_copies: tensors that are copied from core to core (npuplan_graph_copy_links()), before
 *	anything is cut; owned as @ops is. Neither @ops nor @onchip nor @clones nor @carry_copies
 *	beside them
 * @link_copy_count: number of @link_copies
 * @patches: operators that run patch by patch, ascending; owned as @ops is. Of none of them @ops
 *	says anything. Neither @concat nor operators that are added beside them
 * @patch_count: number of @patches
 * @partial_sums: the tiler may have steps add up some input channels alone. Needs @onchip
 *
 * At most one of @bands, @rows and @onchip is not 0. It is for the operators that
 * @ops and @patches do not speak of. All 0: not known, or, in asking, whole operators.
 * @reserved: room for later versions; zero
 */
struct npuplan_tiling {
	enum npuplan_layout layout;
	uint32_t bands;
	uint32_t rows;
	uint64_t onchip;
	bool double_buffer;
	bool with_parameters;
	uint32_t inputs;
	struct npuplan_tile_choice *ops;
	struct npuplan_clone *clones;
	uint32_t op_count;
	uint32_t clone_count;
	uint32_t concat;
	uint32_t carry_copy_count;
	struct npuplan_carry_copy *carry_copies;
	struct npuplan_link_copy *link_copies;
	uint32_t link_copy_count;
	uint32_t columns;
	struct npuplan_patches *patches;
	uint32_t patch_count;
	bool partial_sums;
	uint64_t reserved[2];
};

/**
 * npuplan_graph_clone_op() - the graph with one operator twice (clone.c)
 * @graph: the graph
 * @clone: which operator, and for whom
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * The clone stands right before the first of its readers and has the largest id
 * of all operators, plus one; so have its outputs among the tensors. They are
 * intermediates, whatever the first ones are.
 * -EINVAL: the graph is tiled, an id is not known, or a reader reads nothing of the
 * operator. -EOPNOTSUPP: loops and branches, state, aliases. -EOVERFLOW: there is no larger id.
 */
NPUPLAN_EXPORT int npuplan_graph_clone_op(const struct npuplan_graph *graph,
					  const struct npuplan_clone *clone,
					  struct npuplan_graph **out, struct npuplan_error *error);

/**
 * npuplan_graph_copy_carries() - the graph with copies of what edges carry (carry_copies.c)
 * @graph: the graph
 * @copies: what is copied, in the order in which that is done
 * @copy_count: number of @copies
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * A copy is an operator of type "copy", which reads the value and writes a tensor of its own; the
 * edge then carries that one. If the same carry is copied again, that copies the copy. Copies stand
 * at the end of the block that the edge leaves; or, if it is not the only one that does, in a block
 * of their own, which the edge leads to and another edge leaves: new blocks and edges have the
 * largest numbers. Ids of operators and tensors are the largest so far, plus one.
 * -EINVAL: the graph is tiled, or there is no such edge or carry. -EOPNOTSUPP: a parameter or an
 * alias. -EOVERFLOW: there is no larger id.
 */
NPUPLAN_EXPORT int npuplan_graph_copy_carries(const struct npuplan_graph *graph,
					      const struct npuplan_carry_copy *copies,
					      uint32_t copy_count, struct npuplan_graph **out,
					      struct npuplan_error *error);

/**
 * npuplan_link_copies_find() - what each core's operators read there, and is copied for it
 * @graph: not tiled
 * @core_of: per operator, a number of its core
 * @with_parameters: parameters are on chip, too
 * @tiling: out: its link_copies are found, the rest stays as it is
 * @error: filled in if the call fails; may be NULL
 *
 * A tensor lies in the core of the operator that writes it, or else of the first one that reads it.
 * Each other core whose operators read it gets one copy. -EINVAL: the graph is tiled.
 * -EOPNOTSUPP, naming the tensor: loops and branches, an alias or state; -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_link_copies_find(const struct npuplan_graph *graph,
					    const uint32_t *core_of, bool with_parameters,
					    struct npuplan_tiling *tiling,
					    struct npuplan_error *error);

/**
 * npuplan_graph_copy_links() - the graph with copies of what other cores read (link_copies.c)
 * @graph: the graph
 * @copies: what is copied
 * @copy_count: number of @copies
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * A copy is an operator of type "copy" right before the first of its readers. Its id is the largest
 * of all operators, plus one, and so is that of what it writes among the tensors, an intermediate.
 * -EINVAL: the graph is tiled, there is no such tensor, or a reader does not read it, or is named
 * twice. -EOPNOTSUPP: loops and branches, an alias or state. -EOVERFLOW: there is no larger id.
 */
NPUPLAN_EXPORT int npuplan_graph_copy_links(const struct npuplan_graph *graph,
					    const struct npuplan_link_copy *copies,
					    uint32_t copy_count, struct npuplan_graph **out,
					    struct npuplan_error *error);

/**
 * npuplan_graph_tile_bands() - cut each operator into up to @bands row bands
 * @graph: the graph
 * @bands: row bands an operator; 1: one step an operator, with whole tensors as tiles
 * @with_parameters: steps access parameters, which are so planned, too
 * @error: filled in if the call fails; may be NULL
 *
 * Read ranges with halos from kernel, stride, dilation and padding; operators
 * that need whole inputs (softmax over rows, matmul, mean, ...) read them whole.
 * Steps are staged: a tile step loads, then stores. npuplan_graph_tile() has all other ways to
 * cut; errors as there, and -EINVAL: no band.
 */
NPUPLAN_EXPORT int npuplan_graph_tile_bands(struct npuplan_graph *graph, uint32_t bands,
					    bool with_parameters, struct npuplan_error *error);

/**
 * npuplan_graph_tile() - cut each operator into tiles of rows, channels, columns or all of these
 * @graph: the graph
 * @tiling: how it is cut
 * @error: filled in if the call fails; may be NULL
 *
 * Each tile is a staged step that reads what it needs of each input, halos
 * included, and writes its tile of each output; but whole operators, and nothing
 * said of any, are one step each, with whole tensors as tiles. Where depth is cut a
 * tile has several steps, which add up its sums in a tensor that is added to the
 * graph (struct npuplan_added). graph->tiling then
 * says all of it, what the tiler chose included: tiling a graph like it by that
 * gives the same steps.
 *
 * Tensors get NPUMEM_TENSOR_FLAG_HOST as tiling->inputs says.
 *
 * -EINVAL: the graph is tiled already, or the tiling says what cannot be done; the
 * error names the operator. -ENOSPC: a step does not fit on chip, however small;
 * the error names the operator, its largest tensor, the step, and bytes needed and
 * given. -EOPNOTSUPP: see npuplan_graph_set_layout(). -E2BIG: more accesses than
 * the verifier takes. -EOVERFLOW: there are no larger ids for the tensors that the
 * tiling adds. The graph is then as it was.
 */
NPUPLAN_EXPORT int npuplan_graph_tile(struct npuplan_graph *graph,
				      const struct npuplan_tiling *tiling,
				      struct npuplan_error *error);

/**
 * npuplan_patches_find() - find operators to run patch by patch (patches/find.c)
 * @graph: not tiled; as it was, in the end
 * @tiling: how all else is cut; out: its patches, if there are any that help; npuplan_tiling_fini()
 * @most_again: of 100 operations, how many may be computed again; more than 100 is no error
 * @error: filled in if the call fails; may be NULL
 *
 * Those are found with which the arena of planner "auto", in the graph's order, is the smallest of
 * some that are tried; there are none if it is not smaller than without. The same each time.
 * -EINVAL: the graph is tiled, or the tiling has patches, on-chip memory, operators of its own, or
 * what excludes patches; -EOPNOTSUPP: see npuplan_graph_set_layout(); -ENOMEM: nothing is found.
 */
NPUPLAN_EXPORT int npuplan_patches_find(struct npuplan_graph *graph, struct npuplan_tiling *tiling,
					uint32_t most_again, struct npuplan_error *error);

/**
 * struct npuplan_tile_report - how one operator is cut, and what that takes
 * @op: index
 * @rows: output rows of a tile, of bands those of the largest; 0 if it cannot be cut
 * @channels: output channels of a tile, likewise
 * @columns: columns of each row of a tile; 0 if it has whole rows
 * @depth: input channels of a step; 0 if it has all of them
 * @order: enum npuplan_tile_order
 * @steps: tiles, as often as each is gone through
 * @onchip: bytes of the step that has most on chip (docs/tiling.md)
 * @inputs: bytes of inputs that all steps move together
 * @weights: bytes of weights, likewise
 * @outputs: bytes of outputs, likewise
 * @least: bytes that are moved if the operator is one step
 * @operations: multiply-accumulates, or elements, that the operator computes in one step
 * @again: what its steps compute beyond that, since patches need some of it twice
 */
struct npuplan_tile_report {
	uint32_t op;
	uint32_t order;
	int64_t rows;
	int64_t channels;
	int64_t columns;
	int64_t depth;
	uint64_t steps;
	uint64_t onchip;
	uint64_t inputs;
	uint64_t weights;
	uint64_t outputs;
	uint64_t least;
	uint64_t operations;
	uint64_t again;
};

/**
 * npuplan_tiling_report() - of each operator of a tiled graph
 * @graph: the graph
 * @reports: out: graph->op_count of them; free() it
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: it is not tiled, or came as a blob.
 */
NPUPLAN_EXPORT int npuplan_tiling_report(const struct npuplan_graph *graph,
					 struct npuplan_tile_report **reports,
					 struct npuplan_error *error);
/**
 * npuplan_tiling_fini() - free what a tiling owns
 * @tiling: is zeroed; the struct itself is the caller's. Not of a graph: that frees its own
 */
NPUPLAN_EXPORT void npuplan_tiling_fini(struct npuplan_tiling *tiling);

/**
 * npuplan_graph_untile() - a graph without steps and tiles, as before it was tiled
 * @graph: the graph
 *
 * But for its layout, NPUMEM_TENSOR_FLAG_HOST, operators that run again and copies of what edges
 * carry. A graph that came as a blob is left without anything to run.
 */
NPUPLAN_EXPORT void npuplan_graph_untile(struct npuplan_graph *graph);

/**
 * npuplan_join_text() - what became of an input of a concat, or of an output of a split, for people
 * @join: enum npuplan_join
 *
 * NULL of any other number. The text is the library's.
 */
NPUPLAN_EXPORT const char *npuplan_join_text(unsigned int join);

/**
 * npuplan_layout_name() - "nhwc", "nchw" or "nc32hw"
 * @layout: enum npuplan_layout
 *
 * NULL of any other number. The text is the library's.
 */
NPUPLAN_EXPORT const char *npuplan_layout_name(unsigned int layout);

#ifdef __cplusplus
}
#endif

#endif /* NPUPLAN_TILING_H */
