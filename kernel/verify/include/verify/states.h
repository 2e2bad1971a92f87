/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a run may do next: states of its cells, and hazards between its jobs (run/ of the verifier).
 * verify.h includes this header.
 */
#ifndef NPUMEM_VERIFY_STATES_H
#define NPUMEM_VERIFY_STATES_H

#include "verify.h"

/**
 * struct npuv_states - cell states of one run (docs/architecture.md, the verifier, 7)
 * @plan: the plan; must outlive this
 * @cells: per cell of the plan's graph NPUV_EMPTY, or uses left (0 =
 *	NPUV_RETIRED). Only those of the current instance's block mean anything
 * @submitted: bitmap of steps of the plan's graph, likewise
 * @block: plan block (instance) that the run is in; NPUMEM_NONE after the exit
 * @left: steps of that instance that have not been submitted
 * @ticks: units of work since npuv_interrupted() was asked
 *
 * The caller locks. No function but npuv_states_create() allocates. All look for a fatal
 * signal every few thousand units of work, and may schedule: after -EINTR the states mean
 * nothing any more, until npuv_states_reset() has succeeded.
 */
struct npuv_states {
	const struct npuv_plan *plan;
	u32 *cells;
	unsigned long *submitted;
	u32 block;
	u32 left;
	u32 ticks;
};

int npuv_states_create(const struct npuv_plan *plan, struct npuv_states **out);
void npuv_states_destroy(struct npuv_states *states);
/* Bytes of memory that the states keep. */
u64 npuv_states_bytes(const struct npuv_states *states);
/*
 * Set the states to those before the first step of an inference: the run is in instance 0,
 * and all cells are EMPTY but those that are valid at entry. 0 or -EINTR.
 */
int npuv_states_reset(struct npuv_states *states);

/**
 * npuv_states_submit() - let the step or transfer at a position of the schedule execute
 * @states: of the run
 * @position: in the schedule, less than its length
 * @verdict: filled on refusal
 *
 * 0, -EPERM and nothing is changed, or -EINTR. Cost: npuv_states_work(). The
 * verdict of a transfer names its position and its tensor, and neither step nor
 * tile; bytes of host memory are counted from its beginning. So is what a
 * verdict has of another transfer, but without a position. The verdict's rule
 * is, in this order of precedence
 *
 * NPUMEM_RULE_ENFORCE_EDGE: the position is not of the current instance.
 * NPUMEM_RULE_ENFORCE_READ: a tile read is not LIVE. If it is EMPTY, other_*
 * are the access that is to write it; if it is RETIRED (which needs the step
 * to have been submitted before), the access that overwrites its bytes, or
 * none if nothing does.
 * NPUMEM_RULE_ENFORCE_TWICE: the step has been submitted already.
 * NPUMEM_RULE_ENFORCE_WRITE: bytes written are not RETIRED. If they are EMPTY,
 * other_* are the access that is to write them first; if LIVE, the last access
 * in the order of the plan that is to read them, if that is another step's and
 * has not gone yet, else the one that wrote them.
 */
int npuv_states_submit(struct npuv_states *states, u32 position, struct npumem_verdict *verdict);
/*
 * Undo the submission of a position. Positions submitted and edges crossed are undone latest
 * first. 0 or -EINTR.
 */
int npuv_states_undo(struct npuv_states *states, u32 position);

/*
 * Units of work that a position costs npuv_states_submit(), and an edge costs
 * npuv_states_cross(), up to a small factor and at least one. For a position they are its
 * accesses, the cells that these read and write, and the predecessors of the cells; for an
 * edge the steps and cells of the instance entered. They are too low only if a fatal signal
 * is pending. @ticks: see npuv_tick(); counting takes a unit for each access and each cell
 * written at most.
 */
u64 npuv_states_work(const struct npuv_plan *plan, u32 position, u32 *ticks);
u64 npuv_states_cross_work(const struct npuv_plan *plan, u32 plan_edge);

/**
 * npuv_states_cross() - pass along an edge of the plan
 * @states: of the run
 * @plan_edge: index, less than the plan's number of edges
 * @verdict: filled on refusal
 *
 * 0, -EINTR, or -EPERM with NPUMEM_RULE_ENFORCE_EDGE and nothing is changed: the edge is
 * not from the current instance (there is none after the exit), or a step of
 * that, other_step, or the transfer at position, has not been submitted; or the graph
 * is one block without edges, whose end is the exit. Cost: npuv_states_cross_work().
 */
int npuv_states_cross(struct npuv_states *states, u32 plan_edge, struct npumem_verdict *verdict);
/* Undo the crossing of an edge, as npuv_states_undo() does that of a position. */
int npuv_states_uncross(struct npuv_states *states, u32 plan_edge);

#define NPUV_MAX_ENGINES 8

/**
 * struct npuv_hazards - what jobs of a run on several engines have done (run/hazards.c)
 * @plan: the plan; must outlive this
 * @engines: that jobs are on, up to NPUV_MAX_ENGINES
 * @writer: per cell of the plan's graph its writer's engine and number, 0: none
 * @last: per cell and engine the number of the last job that has written or read it, 0:
 *	none
 * @ticks: units of work since npuv_interrupted() was asked
 *
 * Not locked; no function but npuv_hazards_create() allocates.
 */
struct npuv_hazards {
	const struct npuv_plan *plan;
	u32 engines;
	u32 *writer;
	u32 *last;
	u32 ticks;
};

int npuv_hazards_create(const struct npuv_plan *plan, u32 engines, struct npuv_hazards **out);
void npuv_hazards_destroy(struct npuv_hazards *hazards);
/* Bytes of memory that they keep; none for NULL. */
u64 npuv_hazards_bytes(const struct npuv_hazards *hazards);
/*
 * Of the block that is entered with an instance nothing has been done yet, whatever was before:
 * at the beginning of each inference, and when an edge is crossed. 0 or -EINTR.
 */
int npuv_hazards_enter(struct npuv_hazards *hazards, u32 instance);

/**
 * npuv_hazards_submit() - what a position that npuv_states_submit() has let go waits for
 * @hazards: of the run
 * @position: in the schedule
 * @engine: that executes it, with others that have the same number in the order of the calls
 * @number: of its job on that engine: not less than those before, since the block was entered,
 *	and at least 1
 * @after: per engine, number of a job that has to have ended before this one begins; raised where
 *	the position asks for a later one. That of @engine is of no account: an engine keeps
 *	the order of its jobs
 *
 * If a position is taken back (npuv_states_undo()) its number may be given to another one, that may
 * wait for more than it has to then, though never for a number that has not been given yet:
 * the caller takes one that is beyond these for the last of them.
 *
 * Cost: as npuv_states_submit(), times engines.
 *
 * Return: 0, or -EINTR: half done, and of no use until the next inference.
 */
int npuv_hazards_submit(struct npuv_hazards *hazards, u32 position, u32 engine, u32 number,
			u32 *after);

#endif /* NPUMEM_VERIFY_STATES_H */
