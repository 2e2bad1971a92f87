/* SPDX-License-Identifier: MIT */
/*
 * libnpuplan: memory planning for neural accelerators. Knows nothing of devices.
 *
 * Pipeline: graph -> tiling -> schedule -> atoms (bytes with one live range) ->
 * forbidden displacements -> packing -> plan -> self-check by the kernel's own
 * verifier -> plan blob or plan JSON.
 *
 * Conventions. Sizes and offsets are bytes. Indices are zero-based 32-bit;
 * NPUMEM_NONE means none. Functions that can fail return 0 or a negative errno
 * and, where they take one, fill a struct npuplan_error with a sentence that
 * names the tensor, operator or step. Nothing is global; different graphs and
 * plans may be used from different threads. Same input, same output bytes.
 */
#ifndef NPUPLAN_H
#define NPUPLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "npumem_graph.h"
#include "npumem_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPUPLAN_EXPORT	    __attribute__((visibility("default")))
#define NPUPLAN_MAX_DIMS    8
#define NPUPLAN_MAX_SPATIAL 3

/** npuplan_version() - of the library, "major.minor.patch" */
NPUPLAN_EXPORT const char *npuplan_version(void);

/**
 * struct npuplan_error - why a call failed
 * @text: a sentence, no newline
 * @needed: bytes that the graph needs on chip at once, if @status is
 *	NPUMEM_PLAN_INFEASIBLE; bytes of the smallest arena found, if -ENOSPC is of one
 *	above the budget that nothing proves too small; else 0
 * @step: that needs them; NPUMEM_NONE: what is on chip from the start does, or it is
 *	not known
 * @status: NPUMEM_PLAN_INFEASIBLE: npuplan_plan() has proved that there is no plan
 *	within the budget: in no order, of planners that move tensors (docs/cosma.md, "What
 *	is proved"); in the order of the graph, of those that keep it; else 0
 */
struct npuplan_error {
	char text[512];
	uint64_t needed;
	uint32_t step;
	uint32_t status;
};

/**
 * struct npuplan_tensor - bytes with a size, an alignment and a live range
 * @name: owned, never NULL
 * @size: bytes
 * @fixed_offset: arena offset asked for, if flags has NPUMEM_TENSOR_FIXED
 * @alias_offset: first byte in @alias_of, if flags has NPUMEM_TENSOR_ALIAS
 * @align: power of two
 * @kind: enum npumem_tensor_kind
 * @flags: NPUMEM_TENSOR_*
 * @alias_of: tensor, or NPUMEM_NONE
 * @dim_count, @shape: elements per dimension; 0 if not known
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
 * @kernel, @stride, @dilation, @pad_begin, @pad_end: per spatial dimension,
 *	outermost (depth or height) first; @spatial of them
 * @spatial: spatial dimensions, 0 for operators without a window
 * @groups: of a convolution
 * @axis: of concat, softmax, reductions (first one), counted from 0; -1 none
 * @transposed: transposed convolution
 * @inplace: may overwrite its first input at displacement 0
 * @whole: what a part of its outputs needs is not known: one step, however the graph
 *	is cut
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
};

/**
 * struct npuplan_op - operator of the source model
 * @name, @type: owned; @type as graph JSON names it ("conv2d", "add", "cat")
 * @inputs, @outputs: tensors; parameters included
 * @block: of the graph, that the operator's steps go to
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
 * @op: index, or NPUMEM_NONE if the source model is not known
 * @tile_index: number of this step among its operator's, 0-based
 * @name: owned, never NULL
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

/** enum npuplan_layout - order in which tensor shapes' bytes lie in memory */
enum npuplan_layout {
	NPUPLAN_NHWC = 0,
	NPUPLAN_NCHW = 1,
	NPUPLAN_NC32HW32 = 2, /* NC/32HWC32: blocks of 32 channels, the last one padded */
};

/** enum npuplan_tile_order - which tiles of an operator that is cut both ways come first */
enum npuplan_tile_order {
	NPUPLAN_ROWS_OUTER = 0,	    /* all channels of some rows, then the next rows */
	NPUPLAN_CHANNELS_OUTER = 1, /* all rows of some channels, then the next channels */
};

/**
 * struct npuplan_tile_choice - how one operator is cut
 * @op: index
 * @rows: output rows a tile, the last one having what is left; 0 for all
 * @channels: output channels a tile, likewise; 0 for all
 * @order: enum npuplan_tile_order
 */
struct npuplan_tile_choice {
	uint32_t op;
	uint32_t rows;
	uint32_t channels;
	uint32_t order;
};

/** enum npuplan_inputs - where what is there before the first step starts */
enum npuplan_inputs {
	NPUPLAN_INPUTS_GIVEN = 0, /* where the tensors' flags say */
	/* Inputs, and parameters that steps access, in host memory (NPUMEM_TENSOR_HOST). */
	NPUPLAN_INPUTS_HOST = 1,
	NPUPLAN_INPUTS_RESIDENT = 2, /* inputs in the arena; these parameters in host memory */
};

/**
 * struct npuplan_clone - an operator that runs once more, for some of its readers
 * @op: id of the operator
 * @readers: ids of the operators that take what the clone makes; at least one
 */
struct npuplan_clone {
	int64_t op;
	int64_t *readers;
	uint32_t reader_count;
};

/**
 * struct npuplan_tiling - how a graph is cut into steps (docs/tiling.md)
 * @layout: how the tensors' bytes lie
 * @bands: row bands an operator; 1 for whole operators
 * @rows: output rows a tile, of each operator that has rows
 * @onchip: bytes of on-chip memory that each step has to fit into; the tiler
 *	chooses the tiling of each operator that moves the least data
 * @double_buffer: tiles are loaded while others are computed: what changes from
 *	step to step is on chip twice. Needs @onchip
 * @with_parameters: steps access parameters too, so that they are planned. They
 *	count on chip either way
 * @inputs: enum npuplan_inputs
 * @ops: what is said of single operators, by index, ascending; owned where it is
 *	a graph's. With @onchip a graph has one of each operator
 * @clones: operators that run again, one after another (npuplan_graph_clone_op()),
 *	before anything is cut; owned as @ops is. Neither @ops nor @onchip beside them
 *
 * At most one of @bands, @rows and @onchip is not 0. It is for the operators that
 * @ops does not speak of. All 0: not known, or, in asking, whole operators.
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
 * @tiling: how it was cut; all 0 but its layout if it is not, or not known how (a
 *	graph that came as a blob)
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
};

NPUPLAN_EXPORT struct npuplan_graph *npuplan_graph_new(const char *name);
NPUPLAN_EXPORT void npuplan_graph_free(struct npuplan_graph *graph);

/*
 * Append; return the index, or a negative errno. Names are copied. Operators stand
 * block by block, so no operator's block is below that of the one before.
 */
NPUPLAN_EXPORT int64_t npuplan_graph_add_tensor(struct npuplan_graph *graph,
						const struct npuplan_tensor *tensor);
NPUPLAN_EXPORT int64_t npuplan_graph_add_op(struct npuplan_graph *graph,
					    const struct npuplan_op *op);
NPUPLAN_EXPORT int64_t npuplan_graph_add_tile(struct npuplan_graph *graph, uint32_t tensor,
					      const struct npumem_region *region);
/*
 * @accesses: of tiles already added. The step goes to its operator's block; without
 * an operator, to the last one. Steps, too, stand block by block.
 */
NPUPLAN_EXPORT int64_t npuplan_graph_add_step(struct npuplan_graph *graph,
					      const struct npuplan_step *step,
					      const struct npumem_access *accesses,
					      uint32_t access_count);
/* Block without steps; a new graph has one, its entry. */
NPUPLAN_EXPORT int64_t npuplan_graph_add_block(struct npuplan_graph *graph);
/** npuplan_graph_add_edge() - let control pass from the end of a block to another
 * @to: block, or NPUMEM_NONE for the exit
 * @carries: parallel assignments along the edge, of tensors of equal size
 */
NPUPLAN_EXPORT int64_t npuplan_graph_add_edge(struct npuplan_graph *graph, uint32_t from,
					      uint32_t to, const struct npumem_carry *carries,
					      uint32_t carry_count);

/** npuplan_graph_set_layout() - say how the tensors' bytes lie, before tiling
 *
 * Sizes of tensors with rows change with it: NC/32HWC32 pads their channels.
 * Parameters, and tensors of one row of one element, stay as they are.
 * -EINVAL: unknown layout, or the graph is tiled already. -EOPNOTSUPP:
 * NC/32HWC32 of aliases.
 */
NPUPLAN_EXPORT int npuplan_graph_set_layout(struct npuplan_graph *graph, enum npuplan_layout layout,
					    struct npuplan_error *error);

/** npuplan_graph_clone_op() - the graph with one operator twice (clone.c)
 *
 * The clone stands right before the first of its readers and has the largest id
 * of all operators, plus one; so have its outputs among the tensors. They are
 * intermediates, whatever the first ones are.
 * -EINVAL: the graph is tiled, an id is not known, or a reader reads nothing of the
 * operator. -EOPNOTSUPP: loops and branches, state, aliases.
 */
NPUPLAN_EXPORT int npuplan_graph_clone_op(const struct npuplan_graph *graph,
					  const struct npuplan_clone *clone,
					  struct npuplan_graph **out, struct npuplan_error *error);

/** npuplan_graph_tile_whole() - one step an operator, whole tensors as tiles
 * @with_parameters: parameters are accessed, and so planned, too
 */
NPUPLAN_EXPORT int npuplan_graph_tile_whole(struct npuplan_graph *graph, bool with_parameters,
					    struct npuplan_error *error);
/** npuplan_graph_tile_bands() - cut each operator into up to @bands row bands
 *
 * Read ranges with halos from kernel, stride, dilation and padding; operators
 * that need whole inputs (softmax over rows, matmul, mean, ...) read them whole.
 * Steps are staged: a tile step loads, then stores.
 */
NPUPLAN_EXPORT int npuplan_graph_tile_bands(struct npuplan_graph *graph, uint32_t bands,
					    bool with_parameters, struct npuplan_error *error);

/** npuplan_graph_tile() - cut each operator into tiles of rows, channels or both
 *
 * Each tile is a staged step that reads what it needs of each input, halos
 * included, and writes its tile of each output; but whole operators, and nothing
 * said of any, are as npuplan_graph_tile_whole() makes them. graph->tiling then
 * says all of it, what the tiler chose included: tiling a graph like it by that
 * gives the same steps.
 *
 * Tensors get NPUMEM_TENSOR_HOST as tiling->inputs says.
 *
 * -EINVAL: the graph is tiled already, or the tiling says what cannot be done; the
 * error names the operator. -ENOSPC: a step does not fit on chip, however small;
 * the error names the operator, its largest tensor, the step, and bytes needed and
 * given. -EOPNOTSUPP: see npuplan_graph_set_layout(). -E2BIG: more accesses than
 * the verifier takes. The graph is then as it was.
 */
NPUPLAN_EXPORT int npuplan_graph_tile(struct npuplan_graph *graph,
				      const struct npuplan_tiling *tiling,
				      struct npuplan_error *error);
/**
 * struct npuplan_tile_report - how one operator is cut, and what that takes
 * @op: index
 * @rows, @channels: of its outputs, a tile; 0 if it cannot be cut. Of bands those
 *	of the largest
 * @order: enum npuplan_tile_order
 * @steps: tiles
 * @onchip: bytes of the step that has most on chip (docs/tiling.md)
 * @inputs, @weights, @outputs: bytes moved in all steps
 * @least: bytes that are moved if the operator is one step
 */
struct npuplan_tile_report {
	uint32_t op;
	uint32_t order;
	int64_t rows;
	int64_t channels;
	uint64_t steps;
	uint64_t onchip;
	uint64_t inputs;
	uint64_t weights;
	uint64_t outputs;
	uint64_t least;
};

/** npuplan_tiling_report() - of each operator of a tiled graph
 * @reports: out: graph->op_count of them; free() it
 *
 * -EINVAL: it is not tiled, or came as a blob.
 */
NPUPLAN_EXPORT int npuplan_tiling_report(const struct npuplan_graph *graph,
					 struct npuplan_tile_report **reports,
					 struct npuplan_error *error);
/* Frees what a tiling owns, and zeroes it. */
NPUPLAN_EXPORT void npuplan_tiling_fini(struct npuplan_tiling *tiling);

/** npuplan_graph_untile() - a graph without steps and tiles, as before it was tiled
 *
 * But for its layout, NPUMEM_TENSOR_HOST and operators that run again. A graph that
 * came as a blob is left without anything to run.
 */
NPUPLAN_EXPORT void npuplan_graph_untile(struct npuplan_graph *graph);

/** npuplan_layout_name() - "nhwc", "nchw", "nc32hw"; NULL if there is none such */
NPUPLAN_EXPORT const char *npuplan_layout_name(unsigned int layout);

/** npuplan_graph_write() - graph blob (npumem_graph.h); malloc'ed, free() it */
NPUPLAN_EXPORT int npuplan_graph_write(const struct npuplan_graph *graph, void **blob, size_t *size,
				       struct npuplan_error *error);
/** npuplan_graph_read() - from a graph blob; checked by the kernel's verifier */
NPUPLAN_EXPORT int npuplan_graph_read(const void *blob, size_t size, struct npuplan_graph **out,
				      struct npuplan_error *error);

#define NPUPLAN_DIGEST_SIZE 32

/** npuplan_graph_digest() - SHA-256 of what of a tiled graph a plan depends on
 *
 * Two graphs with one digest have the same plans: ids, sizes, alignments and kinds of
 * tensors, aliases, steps and what they access, blocks and edges are the same. Names,
 * fixed offsets and what is external do not count. docs/formats.md has the numbers.
 */
NPUPLAN_EXPORT void npuplan_graph_digest(const struct npuplan_graph *graph,
					 uint8_t digest[NPUPLAN_DIGEST_SIZE]);

/**
 * struct npuplan_schedule_point - what an order of steps costs
 *
 * An operator fetches its weights, and reads anew what it shares with its step
 * before (halos), whenever it goes on after another one has run.
 *
 * @peak: most bytes of the arena that live at once
 * @weights: bytes of parameters fetched
 * @halos: bytes of activations read again
 */
struct npuplan_schedule_point {
	uint64_t peak;
	uint64_t weights;
	uint64_t halos;
};

#define NPUPLAN_BANKS 2

/** struct npuplan_bank - on-chip memory of one speed
 * @size: bytes, > 0, < 2^60
 * @bandwidth: bytes a microsecond, > 0, < 2^63
 */
struct npuplan_bank {
	uint64_t size;
	uint64_t bandwidth;
};

/**
 * struct npuplan_plan - the records of a plan blob, and what planning found
 *
 * Sections in the order of the blob, @*_count records each; see npumem_plan.h.
 *
 * @peak_position: position at which most bytes are live; NPUMEM_NONE if not
 *	known (a plan that was read). Not part of the blob
 * @scheduled: of a planner that chooses the order of steps, what that costs; zero
 *	of others. Not part of the blob, nor are:
 * @all_weights: bytes of parameters, each operator's once
 * @all_reads: bytes of activations that steps read, if halos are read each time
 * @traffic_bound: bytes that any plan within the budget spills and fills; 0 if not
 *	known. Not part of the blob
 * @banks: bank 0 is the first bytes of the arena, bank 1 what follows; no placement
 *	is in both. Sizes 0: there is but one. Not part of the blob, nor are:
 * @bank_accessed: bytes that steps and transfers read and write, per bank
 * @bank_bound: of these, no choice of banks has more in the faster one; 0 if not
 *	known (a plan that was read)
 * @seconds: wall clock that planning took; not part of the blob
 * @memory_ended: the limit of memory ended the search; not part of the blob
 * @unbound: read from plan JSON that has no digest of its graph: that it is of the
 *	graph at hand only its structure says. Not part of the blob
 * @claims: NPUPLAN_CLAIM_* that the file had that it was read from
 */
struct npuplan_plan {
	struct npumem_plan_info info;
	struct npumem_placement *placements;
	struct npumem_position *positions;
	struct npumem_plan_block *blocks;
	struct npumem_entry *entries;
	struct npumem_plan_edge *edges;
	struct npumem_view *views;
	uint32_t *view_slots;
	uint32_t placement_count;
	uint32_t position_count;
	uint32_t block_count;
	uint32_t entry_count;
	uint32_t edge_count;
	uint32_t view_count;
	uint32_t view_slot_count;
	uint32_t peak_position;
	uint32_t claims;
	struct npuplan_schedule_point scheduled;
	uint64_t all_weights;
	uint64_t all_reads;
	uint64_t traffic_bound;
	struct npuplan_bank banks[NPUPLAN_BANKS];
	uint64_t bank_accessed[NPUPLAN_BANKS];
	uint64_t bank_bound;
	bool memory_ended;
	double seconds;
	bool unbound;
};

/** struct npuplan_pack_progress - what a packer or planner has got so far
 * @top: of the best packing; UINT64_MAX if there is none yet
 * @gap: (top - lower_bound) / lower_bound
 * @seconds: since it began
 * @traffic: @top and @lower_bound are bytes spilled and filled; the gap is relative
 *	to @top
 */
struct npuplan_pack_progress {
	uint64_t top;
	uint64_t lower_bound;
	uint64_t work;
	double gap;
	double seconds;
	bool traffic;
};

/** enum npuplan_objective - what a plan is to be least in */
enum npuplan_objective {
	NPUPLAN_OBJECTIVE_OWN = 0,     /* the planner's: cosma's traffic, others' arena */
	NPUPLAN_OBJECTIVE_TRAFFIC = 1, /* bytes spilled and filled, within the budget */
	NPUPLAN_OBJECTIVE_PEAK = 2,    /* bytes on chip at once, nothing spilled, any order */
};

/** enum npuplan_schedule - in which order the steps run */
enum npuplan_schedule {
	NPUPLAN_SCHEDULE_FREE = 0,	 /* the planner's choice, if it chooses one */
	NPUPLAN_SCHEDULE_GIVEN = 1,	 /* the graph's */
	NPUPLAN_SCHEDULE_LEAST_PEAK = 2, /* of least peak footprint, whatever it moves */
};

/**
 * struct npuplan_options - what a planner is asked for; zero = default
 * @planner: name, or NULL for "auto"
 * @arena_budget: bytes; 0 = any
 * @work_limit: deterministic work units that planners which search may spend;
 *	0 = the planner's own. The same input then gives the same plan everywhere
 * @alignment: of every offset, at least; 0 = 1
 * @deadline_seconds: 0 = none. Where it cuts in depends on the machine. One
 *	packing is always made, however long that takes
 * @weights_on_chip: of planners that choose the order of steps: bytes of weights
 *	that stay on chip while operators run interleaved; 0 = the planner's own
 * @traffic_factor: of the same: fetch at most so many times all weights, if the
 *	order can; 0 = the lowest peak whatever it takes
 * @memory_limit: bytes that planners which search may hold, and that lists of pairs may
 *	take; 0 = the planner's own. No planner "tile-scheduled..." looks at it
 * @objective: enum npuplan_objective
 * @schedule: enum npuplan_schedule
 * @banks: of planner "cosma": NPUPLAN_BANKS of them, which take the place of
 *	@arena_budget; NULL = one
 * @progress: called on each better packing and bound, and now and then; anything
 *	but 0 ends the search, and the plan is the best found so far. May be NULL
 * @context: for @progress
 */
struct npuplan_options {
	const char *planner;
	uint64_t arena_budget;
	uint64_t work_limit;
	uint64_t weights_on_chip;
	double traffic_factor;
	uint64_t memory_limit;
	uint32_t alignment;
	uint32_t objective;
	uint32_t schedule;
	const struct npuplan_bank *banks;
	double deadline_seconds;
	int (*progress)(void *context, const struct npuplan_pack_progress *progress);
	void *context;
};

/** npuplan_plan() - plan a tiled graph
 *
 * The graph needs tiles and steps only: operators may be absent, as in a graph
 * that came as a blob. The plan has passed the kernel's verifier.
 *
 * Planners "cosma..." choose the order of the steps, and move tensors to host memory
 * and back where the budget is too small for all; inputs and parameters that start
 * there (NPUMEM_TENSOR_HOST) only they load. Without a budget they plan for the
 * least peak.
 *
 * -ETIMEDOUT: the deadline passed before a loop's instances were settled, or
 * limits came before cosma had any plan within the budget, taa-paper was through with
 * one order, or, called off, shared-objects with one strategy.
 * -ENOSPC: no plan within the budget was found; the error says needed bytes,
 * budget, lower bound and what makes the peak, and its status whether there is
 * none at all. -EOPNOTSUPP: unknown planner, an objective or schedule that is not
 * the planner's, or the graph has what it does not plan. -EINVAL, -EBADMSG,
 * -E2BIG: the graph is refused by the verifier, which the error quotes.
 */
NPUPLAN_EXPORT int npuplan_plan(const struct npuplan_graph *graph,
				const struct npuplan_options *options, struct npuplan_plan **out,
				struct npuplan_error *error);
NPUPLAN_EXPORT void npuplan_plan_free(struct npuplan_plan *plan);

/**
 * struct npuplan_budgets - the three budgets of the COSMA paper (arXiv 2311.18246)
 * @needed: M_R, what the step needs that needs most: less is infeasible
 * @middle: M_H, the mean of the others, rounded down
 * @peak: M_P, the least peak footprint of any order: with as much nothing is spilled
 * @step: that needs @needed; NPUMEM_NONE: what is on chip from the start does
 * @proved: @peak is the least; else limits came first, and it is one of some order
 */
struct npuplan_budgets {
	uint64_t needed;
	uint64_t middle;
	uint64_t peak;
	uint32_t step;
	bool proved;
};

/** npuplan_budgets_find() - budgets between which planning for traffic makes sense
 * @graph: tiled
 * @options: alignment, limits and progress; may be NULL. A limit, or a callback
 *	that ends it, leaves @peak unproved
 *
 * Errors as npuplan_plan()'s with planner "cosma".
 */
NPUPLAN_EXPORT int npuplan_budgets_find(const struct npuplan_graph *graph,
					const struct npuplan_options *options,
					struct npuplan_budgets *budgets,
					struct npuplan_error *error);

/** npuplan_needed_find() - of the budgets the least alone, which takes no search
 * @options: alignment; may be NULL
 * @needed, @step: out: as in struct npuplan_budgets
 */
NPUPLAN_EXPORT int npuplan_needed_find(const struct npuplan_graph *graph,
				       const struct npuplan_options *options, uint64_t *needed,
				       uint32_t *step, struct npuplan_error *error);

/** npuplan_lp_write() - the COSMA paper's integer linear program of a plan
 * @graph: tiled
 * @options: budget, objective, schedule, alignment; others are not looked at
 * @text: out: in CPLEX's LP format, for any solver; free() it
 * @size: out: without the NUL at its end
 *
 * -EINVAL: a step needs more than the budget. -E2BIG: the program has more than 2^22 columns
 * and rows together, 2^25 terms, or 2^25 pairs of tensor and timestep. Others as
 * npuplan_plan()'s with planner "cosma".
 */
NPUPLAN_EXPORT int npuplan_lp_write(const struct npuplan_graph *graph,
				    const struct npuplan_options *options, char **text,
				    size_t *size, struct npuplan_error *error);

/**
 * struct npuplan_recompute - operators that are better run again than kept or spilled
 * @clones: for npuplan_tiling; npuplan_recompute_fini() it
 * @traffic, @traffic_without: bytes spilled and filled that were found with these
 *	operators running again, and without
 * @operations, @operations_again: multiply-accumulates (of operators that do not
 *	multiply: elements written) of an inference without, and what is added
 */
struct npuplan_recompute {
	struct npuplan_clone *clones;
	uint32_t clone_count;
	uint64_t traffic;
	uint64_t traffic_without;
	uint64_t operations;
	uint64_t operations_again;
	uint64_t work;
};

/** npuplan_recompute_find() - which operators to run again, to save traffic
 * @graph: not tiled, one block
 * @tiling: with parameters or without, and where inputs are; cuts nothing
 * @options: those that planner "cosma" is then asked with; a budget is needed
 * @limit: operators that run again, at most; 0 = any number
 *
 * Greedy: as long as one saves traffic, the operator (or short chain of them) that
 * saves most. -ENOSPC: there is no plan within the budget; otherwise as npuplan_plan().
 */
NPUPLAN_EXPORT int npuplan_recompute_find(const struct npuplan_graph *graph,
					  const struct npuplan_tiling *tiling,
					  const struct npuplan_options *options, uint32_t limit,
					  struct npuplan_recompute *out,
					  struct npuplan_error *error);
NPUPLAN_EXPORT void npuplan_recompute_fini(struct npuplan_recompute *recompute);

/**
 * struct npuplan_peak_tensor - one of those that make the peak
 * @tensor: index
 * @bytes: of it that have a place at the peak's position
 * @bindable: the graph can be planned with this tensor external; then
 *	@arena_without and @lower_bound_without are those of the same planner's plan
 */
struct npuplan_peak_tensor {
	uint32_t tensor;
	bool bindable;
	uint64_t bytes;
	uint64_t arena_without;
	uint64_t lower_bound_without;
};

/** struct npuplan_peak - what makes a plan as large as it is; @tensors: largest first */
struct npuplan_peak {
	struct npuplan_peak_tensor *tensors;
	uint32_t count;
	uint32_t position;
};

/** npuplan_peak_find() - which tensors make the peak
 * @options: those of the plan: what binding each of the tensors externally would
 *	save is found by planning once more without it, at their costs and within
 *	their deadline. NULL: is not asked for
 *
 * -EINVAL: the plan was read, and so does not know where its peak is.
 */
NPUPLAN_EXPORT int npuplan_peak_find(const struct npuplan_graph *graph,
				     const struct npuplan_options *options,
				     const struct npuplan_plan *plan, struct npuplan_peak **out,
				     struct npuplan_error *error);
NPUPLAN_EXPORT void npuplan_peak_free(struct npuplan_peak *peak);

/**
 * struct npuplan_front - orders of steps that none beats in both peak and traffic
 * @points: from the lowest peak on; weights and halos together are the traffic
 * @all_weights, @all_reads: as in struct npuplan_plan
 * @left_out: the limit of work, the deadline or the caller ended the search: there may
 *	be better
 * @seconds: wall clock that it took
 */
struct npuplan_front {
	struct npuplan_schedule_point *points;
	uint32_t count;
	uint64_t all_weights;
	uint64_t all_reads;
	uint64_t work;
	bool left_out;
	double seconds;
};

/** npuplan_front_find() - peak against traffic, as planner "tile-scheduled" has it
 * @options: work limit, deadline, weights on chip; may be NULL
 *
 * Peaks are before placing: what an arena cannot be below. -EINVAL: the graph is not
 * tiled. -EOPNOTSUPP: loops and branches.
 */
NPUPLAN_EXPORT int npuplan_front_find(const struct npuplan_graph *graph,
				      const struct npuplan_options *options,
				      struct npuplan_front **out, struct npuplan_error *error);
NPUPLAN_EXPORT void npuplan_front_free(struct npuplan_front *front);

/** npuplan_planner_name() - name of the i-th planner, NULL past the last */
NPUPLAN_EXPORT const char *npuplan_planner_name(unsigned int i);
/** npuplan_planner_purpose() - what it is for, one line; NULL past the last */
NPUPLAN_EXPORT const char *npuplan_planner_purpose(unsigned int i);

NPUPLAN_EXPORT int npuplan_plan_write(const struct npuplan_plan *plan, void **blob, size_t *size,
				      struct npuplan_error *error);
NPUPLAN_EXPORT int npuplan_plan_read(const void *blob, size_t size, struct npuplan_plan **out,
				     struct npuplan_error *error);

/* What a plan file says of itself, beyond what the verifier looks at. */
#define NPUPLAN_CLAIM_LOWER_BOUND   (1u << 0)
#define NPUPLAN_CLAIM_STATUS	    (1u << 1)
#define NPUPLAN_CLAIM_TRAFFIC	    (1u << 2)
#define NPUPLAN_CLAIM_ALIGNMENT	    (1u << 3)
#define NPUPLAN_CLAIM_TRAFFIC_BOUND (1u << 4) /* one that is above 0 */

/** npuplan_claims_check() - hold a plan's claims against the plan
 * @plan: read from a file, and accepted by the verifier
 * @checked: out: NPUPLAN_CLAIM_* that are true; others of plan->claims can neither be
 *	shown nor refuted without planning anew
 * @bound: out: lower bound found anew; 0: the steps are not in the graph's order, or
 *	there are transfers, loops or branches. May be NULL
 *
 * -EINVAL: a claim is false; the error says which and why. -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_claims_check(const struct npuplan_graph *graph,
					const struct npuplan_plan *plan, uint32_t *checked,
					uint64_t *bound, struct npuplan_error *error);

/** npuplan_verify() - the kernel's own verifier, in this process
 * @log: may be NULL; a NUL-terminated text of at most @log_size bytes
 */
NPUPLAN_EXPORT int npuplan_verify(const void *graph_blob, size_t graph_size, const void *plan_blob,
				  size_t plan_size, struct npumem_verdict *verdict, char *log,
				  size_t log_size);

/**
 * npuplan_verify_plan() - verify a plan that is not a blob yet
 *
 * As npuplan_verify(); the error quotes the verifier's log. @verdict may be NULL.
 */
NPUPLAN_EXPORT int npuplan_verify_plan(const struct npuplan_graph *graph,
				       const struct npuplan_plan *plan,
				       struct npumem_verdict *verdict, struct npuplan_error *error);

/** npuplan_json_tiling() - how a graph must be tiled for a plan JSON to fit it
 * @graph: the plan is for; gives the operators' ids
 * @tiling: out: all 0 if the plan does not say; npuplan_tiling_fini() it
 *
 * -EBADMSG: not JSON; -EINVAL: the field is malformed, or does not fit the graph.
 */
NPUPLAN_EXPORT int npuplan_json_tiling(const struct npuplan_graph *graph, const char *text,
				       size_t size, struct npuplan_tiling *tiling,
				       struct npuplan_error *error);

/** npuplan_json_external() - mark the tensors that a plan JSON has external
 *
 * Of a graph that is not tiled yet, so that a plan made with tensors bound
 * outside fits the model it was made of. What cannot be external (aliases, fixed
 * tensors, ids that are not there) is left as it is: npuplan_plan_from_json()
 * then says that the plan does not fit.
 *
 * -EBADMSG: not JSON; -EINVAL: two tensors of the graph have one id; -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_json_external(struct npuplan_graph *graph, const char *text, size_t size,
					 struct npuplan_error *error);

/*
 * Plan JSON (docs/formats.md). The graph gives ids and names, and must be tiled
 * as the plan's was, its external tensors marked. The text is malloc'ed and NUL-terminated; free() it.
 * -EBADMSG: not JSON; -EINVAL: a field is missing, unknown or of the wrong type, or does
 * not fit the graph; the error names the field. Whether it is a plan of that very graph
 * its digest says; the graph's name is compared where it has none.
 */
NPUPLAN_EXPORT int npuplan_plan_to_json(const struct npuplan_graph *graph,
					const struct npuplan_plan *plan, char **text,
					struct npuplan_error *error);
NPUPLAN_EXPORT int npuplan_plan_from_json(const struct npuplan_graph *graph, const char *text,
					  size_t size, struct npuplan_plan **out,
					  struct npuplan_error *error);

/** npuplan_plan_print() - one line a step, in TFLM's PrintMemoryPlan style
 * @columns: characters that the arena is drawn with, 1..512
 */
NPUPLAN_EXPORT int npuplan_plan_print(const struct npuplan_graph *graph,
				      const struct npuplan_plan *plan, unsigned int columns,
				      FILE *out);

/* ------------------------------------------------------------- packing alone */

/**
 * struct npuplan_item - what is placed at one address
 * @size: bytes, > 0
 * @fixed_offset: its address, if @fixed
 * @align: power of two
 * @start, @end: instants between which it holds bytes, inclusive (liveness.h)
 * @tensor: it stands for
 */
struct npuplan_item {
	uint64_t size;
	uint64_t fixed_offset;
	uint32_t align;
	uint32_t start;
	uint32_t end;
	uint32_t tensor;
	bool fixed;
};

/** enum npuplan_pack_status - how good a packing is known to be */
enum npuplan_pack_status {
	NPUPLAN_PACK_UNKNOWN = NPUMEM_PLAN_UNKNOWN,	  /* none within the capacity found */
	NPUPLAN_PACK_FEASIBLE = NPUMEM_PLAN_FEASIBLE,	  /* within the capacity, if any */
	NPUPLAN_PACK_OPTIMAL = NPUMEM_PLAN_OPTIMAL,	  /* and none is lower: proved */
	NPUPLAN_PACK_INFEASIBLE = NPUMEM_PLAN_INFEASIBLE, /* none within the capacity: proved */
};

struct npuplan_conflicts;

/**
 * struct npuplan_pack_problem - items to place in one arena
 * @capacity: bytes; the packer stops at the first packing within. 0: as low as
 *	can be
 * @lower_bound: bytes that the caller knows no packing to be below; 0 for none
 * @alignment: of every offset, besides the items' own: power of two; 0 = 1
 * @conflicts: who is in whose way; NULL: items whose live ranges overlap
 */
struct npuplan_pack_problem {
	const struct npuplan_item *items;
	const struct npuplan_conflicts *conflicts;
	uint64_t capacity;
	uint64_t lower_bound;
	uint32_t item_count;
	uint32_t alignment;
};

/**
 * struct npuplan_pack_options - zero = default
 * @packer: name, or NULL for "exact"
 * @work_limit: deterministic work units; 0 = NPUPLAN_PACK_WORK
 * @memory_limit: bytes that the packer may hold, besides the problem and the check of
 *	what it found; 0 = any. What would take more ends the search
 * @deadline_seconds: 0 = none. Where it cuts in depends on the machine
 * @progress: called on each better packing and bound, and now and then; anything
 *	but 0 ends the search, which then returns what it has
 */
struct npuplan_pack_options {
	const char *packer;
	uint64_t work_limit;
	uint64_t memory_limit;
	double deadline_seconds;
	int (*progress)(void *context, const struct npuplan_pack_progress *progress);
	void *context;
};

/* Default limit of work, which takes some seconds. */
#define NPUPLAN_PACK_WORK 2000000000ull

/**
 * struct npuplan_pack_result - what a packer found
 * @top: first byte above all items; 0 if no packing was found. May be above the
 *	capacity: the best found, though the status is unknown or infeasible
 * @lower_bound: proved; of all packings
 * @status: enum npuplan_pack_status
 * @memory_ended: the limit of memory ended the search
 */
struct npuplan_pack_result {
	uint64_t top;
	uint64_t lower_bound;
	uint64_t work;
	uint32_t status;
	bool memory_ended;
	double seconds;
};

/** npuplan_pack() - place items
 * @offsets: out: per item, unless result->top is 0
 *
 * Whatever comes back has been checked, independently of how it was found. Same
 * input, same output, unless the deadline or @progress cuts in. Sizes and fixed
 * offsets may add up to at most 2^62.
 *
 * -EINVAL: an item is malformed (the error says which, and what is wrong).
 * -EOPNOTSUPP: unknown packer, or one that cannot pack such items. -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_pack(const struct npuplan_pack_problem *problem,
				const struct npuplan_pack_options *options, uint64_t *offsets,
				struct npuplan_pack_result *result, struct npuplan_error *error);

/** npuplan_pack_check() - whether a packing is one, pair by pair
 * @top: out: first byte above all items; may be NULL
 *
 * -EINVAL: it is not; the error names the items by their numbers.
 */
NPUPLAN_EXPORT int npuplan_pack_check(const struct npuplan_pack_problem *problem,
				      const uint64_t *offsets, uint64_t *top,
				      struct npuplan_error *error);

/** npuplan_packer_name() - name of the i-th packer, NULL past the last */
NPUPLAN_EXPORT const char *npuplan_packer_name(unsigned int i);

#ifdef __cplusplus
}
#endif

#endif /* NPUPLAN_H */
