/* SPDX-License-Identifier: MIT */
/*
 * A block of a graph with edges, as COSMA sees it: operators for its steps, and one more, which
 * runs last and reads what lives on exit. What lives on entry is on chip from the start.
 */
#pragma once

#include "graph/checked.h"
#include "planners/cosma/model/units.h"
#include "planners/loops/flow.h"

/* enum npuplan_role - what a search does with a name of a block
 * @NPUPLAN_ROLE_LIVES: it lives as data flow has it: on entry, if it enters, and on exit, if it
 *	leaves
 * @NPUPLAN_ROLE_WHOLE: likewise, and steps that use a part of it need all of it, so that it is one
 *	unit; only of names of which npuplan_may_be_whole() is true
 * @NPUPLAN_ROLE_STAYS: it is there throughout
 * @NPUPLAN_ROLE_LEFT_OUT: its bytes are not counted
 */
enum npuplan_role {
	NPUPLAN_ROLE_LIVES,
	NPUPLAN_ROLE_WHOLE,
	NPUPLAN_ROLE_STAYS,
	NPUPLAN_ROLE_LEFT_OUT,
};

/*
 * struct npuplan_block_model - a block as COSMA takes it
 * @roles: per name, enum npuplan_role; the caller's
 * @straight: graph of the block, whose steps are @checked's; its tensor i is the block's i-th name,
 *	and its last step stands for the exit
 * @moving: per tensor of @straight: it is there on entry and may leave, though it is called state,
 *	since the block updates it
 * @units: what moves in it
 * @graph: the operators of @units, one for each step. Tensor units.count + i is the token of step
 *	i, by which other steps wait for it
 * @touches, @touch_count, @last: used while it is made
 */
struct npuplan_block_model {
	const struct npuplan_flow *flow;
	uint32_t block;
	uint32_t step_count;
	const uint8_t *roles;
	struct npuplan_graph *straight;
	bool *moving;
	struct npuplan_checked checked;
	struct cosma_units units;
	struct npuplan_graph *graph;
	struct npuplan_touch *touches;
	uint32_t touch_count;
	uint32_t *last;
};

/* npuplan_block_model_init() - make the model of a block
 * @flow: names and instances are found
 * @roles: per name of the block; has to live as long as the model
 * @alignment: of every address; 0: bytes are counted, and tensors' own alignments do not matter
 *	either
 *
 * Fixed offsets are not looked at. The caller calls npuplan_block_model_fini() in any case.
 * -ENOMEM, -E2BIG.
 */
int npuplan_block_model_init(struct npuplan_block_model *m, const struct npuplan_flow *flow,
			     uint32_t block, const uint8_t *roles, uint32_t alignment);
void npuplan_block_model_fini(struct npuplan_block_model *m);

/* npuplan_may_be_whole() - whether a name of a model may be one unit
 *
 * The block does not write it, or writes it all by one access.
 */
bool npuplan_may_be_whole(const struct npuplan_block_model *m, uint32_t name);

/* npuplan_block_settings() - what any search of the model is asked for
 * @options: those of the caller, of which budget, objective and schedule are not taken over
 * @effort: of the call
 * @work_limit: work units
 */
struct cosma_settings npuplan_block_settings(const struct npuplan_block_model *m,
					     const struct npuplan_options *options,
					     const struct npuplan_effort *effort,
					     uint64_t work_limit);

/* npuplan_leave_out() - find what is not sure to take bytes of its own
 * @every: in every instance of the block; else in the one in which names have most values
 * @left_out: out: per name of the block: not all of its bytes are sure to be needed, or they may be
 *	those of another name
 * @any: out: there is such a name
 *
 * -ENOMEM.
 */
int npuplan_leave_out(const struct npuplan_flow *flow, uint32_t block, bool every, bool *left_out,
		      bool *any);
