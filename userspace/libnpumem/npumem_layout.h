/* SPDX-License-Identifier: MIT */
/*
 * libnpumem: where a plan puts the bytes of tensors, for runtimes that fill in inputs, read
 * outputs, and know where in a loop or branch they are.
 *
 * A layout is made of a graph blob and a plan blob that belongs to it, and keeps neither. It needs
 * no device, and it never changes: several threads may ask it at once. It believes what the two
 * blobs say, after having looked that they say something possible; whether the plan is right, the
 * driver says (npumem_plan_load()). docs/runtime.md walks through the calls. The conventions are
 * those of npumem.h.
 */
#ifndef NPUMEM_LAYOUT_H
#define NPUMEM_LAYOUT_H

#include "npumem.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npumem_layout;

/**
 * npumem_layout_new() - read a graph and its plan
 * @graph: graph blob (npumem_builder_finish())
 * @graph_size: bytes at @graph
 * @plan: plan blob of that graph
 * @plan_size: bytes at @plan
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: NULL argument; -EBADMSG: a blob is not well formed, or they do not belong together, and
 * the error names the record; -EOPNOTSUPP: a blob of another version; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_layout_new(const void *graph, size_t graph_size, const void *plan,
				    size_t plan_size, struct npumem_layout **out,
				    struct npumem_error *error);
/**
 * npumem_plan_layout() - read a ready plan and the graph that it is of, and make a layout of them
 * @plan: the plan
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * The graph is that of npumem_plan_graph(): the daemon's, where it was asked to cut.
 * Errors as of npumem_plan_read() and npumem_layout_new().
 */
NPUMEM_EXPORT int npumem_plan_layout(struct npumem_plan *plan, struct npumem_layout **out,
				     struct npumem_error *error);
/**
 * npumem_layout_free() - give up a layout
 * @layout: may be NULL
 */
NPUMEM_EXPORT void npumem_layout_free(struct npumem_layout *layout);

/* ---------------------------------------------------------------- records */

/**
 * npumem_layout_count() - number of records that a section of the plan has
 * @layout: the layout
 * @section: enum npumem_plan_section
 *
 * 0 if there is none. Cannot fail.
 */
NPUMEM_EXPORT uint32_t npumem_layout_count(const struct npumem_layout *layout, uint32_t section);
/**
 * npumem_layout_record() - a record of the plan
 * @layout: the layout
 * @section: enum npumem_plan_section
 * @index: of the record, from 0
 * @record: out: the record, continued by zeros where the caller's is longer
 * @record_size: bytes of it as the caller's npumem_plan.h has it
 * @error: filled in if the call fails; may be NULL
 *
 * Functions for each section follow. -EINVAL: NULL argument; -ENOENT: there is no such record.
 */
NPUMEM_EXPORT int npumem_layout_record(const struct npumem_layout *layout, uint32_t section,
				       uint32_t index, void *record, size_t record_size,
				       struct npumem_error *error);

/* A function that gives one record of one section, as npumem_layout_record() does. */
#define NPUMEM_LAYOUT_RECORD(NAME, SECTION, RECORD)                                                \
	static inline int npumem_layout_##NAME(const struct npumem_layout *layout, uint32_t index, \
					       struct npumem_##RECORD *NAME,                       \
					       struct npumem_error *error)                         \
	{                                                                                          \
		return npumem_layout_record(layout, NPUMEM_PLAN_SECTION_##SECTION, index, NAME,    \
					    sizeof(*NAME), error);                                 \
	}

/* Placements; positions of the schedule; instances of the graph's blocks; edges between them. */
NPUMEM_LAYOUT_RECORD(placement, PLACEMENTS, placement)
NPUMEM_LAYOUT_RECORD(position, SCHEDULE, position)
NPUMEM_LAYOUT_RECORD(block, BLOCKS, plan_block)
NPUMEM_LAYOUT_RECORD(edge, EDGES, plan_edge)
/* Multi-view tensors, which npumem_layout_in_view() follows. */
NPUMEM_LAYOUT_RECORD(view, VIEWS, view)

/**
 * npumem_layout_find_step() - position at which a step runs
 * @layout: the layout
 * @block: plan block, which says which of a step's positions is meant where a loop was unrolled
 * @step: of the graph
 * @position: out: in the schedule
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: NULL argument; -ENOENT: no such plan block, or it has not that step.
 */
NPUMEM_EXPORT int npumem_layout_find_step(const struct npumem_layout *layout, uint32_t block,
					  uint32_t step, uint32_t *position,
					  struct npumem_error *error);
/**
 * npumem_layout_find_access() - which access of a position has a byte of a tensor
 * @layout: the layout
 * @position: of the schedule
 * @tensor: index in the graph; an alias or its base, whichever name the step has for it
 * @byte: of the tensor
 * @mode: NPUMEM_ACCESS_READ or NPUMEM_ACCESS_WRITE: the access that does it; an update does both
 * @access: out: number within the step; of a transfer 0 is what it reads, 1 what it writes
 * @delta: out: number of the byte in the access, in the order of its region
 * @error: filled in if the call fails; may be NULL
 *
 * For relocations of commands (npumem_commands.h). -EINVAL: NULL argument, or another @mode;
 * -ENOENT: no such tensor or position, or the position does not do that with the byte.
 */
NPUMEM_EXPORT int npumem_layout_find_access(const struct npumem_layout *layout, uint32_t position,
					    uint32_t tensor, uint64_t byte, uint32_t mode,
					    uint32_t *access, uint64_t *delta,
					    struct npumem_error *error);
/**
 * npumem_layout_next() - where control goes from the end of a plan block
 * @layout: the layout
 * @block: plan block that the run is in: 0 at first
 * @edge: of the graph, from the graph's block: the way that the program takes
 * @plan_edge: out: number for npumem_job_edge()
 * @to: out: plan block that the run is in then, NPUMEM_NONE after the exit
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: NULL argument; -ENOENT: that edge does not leave the block; a graph of one
 * block without edges has none to cross.
 */
NPUMEM_EXPORT int npumem_layout_next(const struct npumem_layout *layout, uint32_t block,
				     uint32_t edge, uint32_t *plan_edge, uint32_t *to,
				     struct npumem_error *error);

/* ----------------------------------------------------------- where bytes lie */

enum npumem_memory {
	NPUMEM_MEMORY_ARENA = 1,   /* npumem_run_arena() */
	NPUMEM_MEMORY_HOST = 2,	   /* the host BO given to npumem_run_new() */
	NPUMEM_MEMORY_BINDING = 3, /* what npumem_run_bind() has bound the tensor to */
};

/**
 * struct npumem_range - bytes that follow one another both in a tensor and in memory
 * @first: first byte, counted in the tensor
 * @length: bytes
 * @offset: of the first byte: from the beginning of the arena or host BO, or from where the
 *	tensor is bound
 * @memory: enum npumem_memory
 * @tensor: whose bytes they are
 * @placement: number of the placement, whose region and strides say how the rest of the piece
 *	lies; NPUMEM_NONE outside the arena
 * @pad: zero
 * @reserved: room for later versions; zero
 */
struct npumem_range {
	uint64_t first;
	uint64_t length;
	uint64_t offset;
	uint32_t memory;
	uint32_t tensor;
	uint32_t placement;
	uint32_t pad;
	uint64_t reserved[2];
};

/**
 * npumem_layout_at() - where a tensor lies while a position runs
 * @layout: the layout
 * @tensor: index in the graph; an alias too, whose bytes lie in its base's
 * @position: of the schedule
 * @ranges: out: array of @count ranges, ascending by their bytes; free() it
 * @count: out: number of @ranges; 1 if the tensor lies in one piece
 * @error: filled in if the call fails; may be NULL
 *
 * Where the plan has room for it in the arena; bytes that it has not room for there but whose copy
 * in host memory is valid when the position begins, in host memory. Whether a step has written them
 * yet is the schedule's to say. -EINVAL: NULL argument; -ENOENT: no such tensor or position, or the
 * tensor is nowhere then; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_layout_at(const struct npumem_layout *layout, uint32_t tensor,
				   uint32_t position, struct npumem_range **ranges, uint32_t *count,
				   struct npumem_error *error);
/**
 * npumem_layout_entry() - what is valid whenever a plan block is entered, and where it lies
 * @layout: the layout
 * @block: plan block; 0: where an inference begins, and so where its inputs belong
 * @tensor: index in the graph; NPUMEM_NONE: all but aliases
 * @ranges: out: array of @count ranges, by tensor, ascending by their bytes; free() it
 * @count: out: number of @ranges
 * @error: filled in if the call fails; may be NULL
 *
 * Of a tensor that starts in host memory: where loads take its bytes from. -EINVAL: NULL
 * argument; -ENOENT: no such tensor or plan block, or nothing is valid there; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_layout_entry(const struct npumem_layout *layout, uint32_t block,
				      uint32_t tensor, struct npumem_range **ranges,
				      uint32_t *count, struct npumem_error *error);
/**
 * npumem_layout_exit() - where a tensor lies at the end of a plan block
 * @layout: the layout
 * @block: plan block; the one from which control leaves the graph, for outputs
 * @tensor: index in the graph; an output or state
 * @ranges: out: array of @count ranges, ascending by their bytes; free() it
 * @count: out: number of @ranges
 * @error: filled in if the call fails; may be NULL
 *
 * Bytes with a valid copy in host memory are there, others in the arena; in a graph with edges
 * only what is not in the arena is there. Errors as of npumem_layout_entry().
 */
NPUMEM_EXPORT int npumem_layout_exit(const struct npumem_layout *layout, uint32_t block,
				     uint32_t tensor, struct npumem_range **ranges, uint32_t *count,
				     struct npumem_error *error);
/**
 * npumem_layout_host() - where in host memory copies of a tensor lie
 * @layout: the layout
 * @tensor: index in the graph
 * @ranges: out: array of @count ranges, ascending by their bytes; free() it
 * @count: out: number of @ranges
 * @error: filled in if the call fails; may be NULL
 *
 * A byte's copy has one address in all of the plan; others may have it before and after.
 * -EINVAL: NULL argument; -ENOENT: no such tensor, or the plan does not copy it; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_layout_host(const struct npumem_layout *layout, uint32_t tensor,
				     struct npumem_range **ranges, uint32_t *count,
				     struct npumem_error *error);

/**
 * struct npumem_loop_count - how often a loop has gone round
 * @loop: edge of the graph that closes it, as in struct npumem_view
 * @pad: zero
 * @count: how often it has been crossed since the loop was entered; 0 in the first iteration
 */
struct npumem_loop_count {
	uint32_t loop;
	uint32_t pad;
	uint64_t count;
};

/**
 * npumem_layout_in_view() - where a multi-view tensor lies in an iteration
 * @layout: the layout
 * @view: number of the view (npumem_layout_view() gives its tensor and loop)
 * @counts: @count_count counters: of the view's loop and, if that has views in its slots, of
 *	theirs; others are passed over
 * @count_count: number of @counts
 * @ranges: out: array of @count ranges, ascending by their bytes; free() it
 * @count: out: number of @ranges
 * @error: filled in if the call fails; may be NULL
 *
 * For a runtime that counts instead of following plan blocks. -EINVAL: NULL argument, or the
 * counter of a loop that the view goes by is not given; -ENOENT: no such view; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_layout_in_view(const struct npumem_layout *layout, uint32_t view,
					const struct npumem_loop_count *counts,
					uint32_t count_count, struct npumem_range **ranges,
					uint32_t *count, struct npumem_error *error);

/* ------------------------------------------------------------ the CPU's access */

/**
 * struct npumem_maps - where the memory of a run is mapped
 * @arena: first byte of its arena; NULL: not mapped
 * @host: first byte of its host BO; NULL: not mapped, or it has none
 */
struct npumem_maps {
	void *arena;
	void *host;
};

/**
 * npumem_run_map() - map the arena of a run, and its host BO
 * @run: the run
 * @host: the BO that npumem_run_new() got, or NULL
 * @maps: out: where they are; as long as @run and @host live
 * @error: filled in if the call fails; may be NULL
 *
 * Errors as of npumem_bo_map().
 */
NPUMEM_EXPORT int npumem_run_map(struct npumem_run *run, struct npumem_bo *host,
				 struct npumem_maps *maps, struct npumem_error *error);

/**
 * npumem_range_address() - where the CPU finds a range, to read or write it without a copy
 * @range: the range
 * @maps: of the run
 *
 * NULL: that memory is not mapped, or it is a binding, whose memory the caller has bound.
 */
static inline void *npumem_range_address(const struct npumem_range *range,
					 const struct npumem_maps *maps)
{
	void *base = range->memory == NPUMEM_MEMORY_ARENA ? maps->arena :
		     range->memory == NPUMEM_MEMORY_HOST  ? maps->host :
							    NULL;

	return base ? (char *)base + range->offset : NULL;
}

/**
 * npumem_layout_write() - put an input's bytes where an inference expects them
 * @layout: the layout
 * @tensor: index in the graph: an input, state, or a parameter that the plan places or loads
 * @maps: of the run, of which no job may be under way
 * @data: all bytes of the tensor, which are copied; those that the plan never needs are not
 * @size: bytes at @data: the tensor's size
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: NULL argument, another size, or memory that is not mapped; -EOPNOTSUPP: an external
 * tensor, whose bytes are where it is bound; -ENOENT: no such tensor, or it is not valid
 * when an inference begins; -ENOMEM.
 */
NPUMEM_EXPORT int npumem_layout_write(const struct npumem_layout *layout, uint32_t tensor,
				      const struct npumem_maps *maps, const void *data, size_t size,
				      struct npumem_error *error);
/**
 * npumem_layout_read() - copy an output's bytes from where an inference has left them
 * @layout: the layout
 * @block: plan block from which control has left the graph; 0 in a graph of one block
 * @tensor: index in the graph: an output or state
 * @maps: of the run, whose jobs have ended
 * @data: out: all bytes of the tensor
 * @size: bytes at @data: the tensor's size
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL, -EOPNOTSUPP, -ENOMEM: as of npumem_layout_write(); -ENOENT: no such tensor or plan
 * block, or some of its bytes are nowhere at its end.
 */
NPUMEM_EXPORT int npumem_layout_read(const struct npumem_layout *layout, uint32_t block,
				     uint32_t tensor, const struct npumem_maps *maps, void *data,
				     size_t size, struct npumem_error *error);

#ifdef __cplusplus
}
#endif

#endif /* NPUMEM_LAYOUT_H */
