/* SPDX-License-Identifier: MIT */
/*
 * Several cores, each with a scratchpad of its own: a range of the arena. Which core runs which
 * operator is given. What one core makes and another one reads is copied over a link, by an
 * operator that reads in the one range and writes in the other.
 *
 * In a given order of all steps what a core spills and fills does not depend on what others do. So
 * each core's steps are a graph of their own (parts.c), which is searched as any graph is; what
 * cores have to agree on is the order (cores.c). Plans of all cores in one order are one plan
 * (join.c).
 *
 *   cores/parts.c  graphs of the cores, and what other cores' orders leave of a core's
 *   cores/cores.c  the search for an order
 *   cores/join.c   the plans of the cores as one
 */
#pragma once

#include "planners/cosma/model/units.h"

/*
 * struct cosma_core - the steps of a core
 * @asked: as the caller has it
 * @base: first byte of its range
 * @graph: its operators and tensors; what it only orders is no part of it
 * @step_of: per operator, the step
 * @unit_of: per tensor, the unit; NPUMEM_NONE: of none, it stands for what another core has
 * @op_of: per step, the operator; NPUMEM_NONE: it is not the core's
 * @takeovers: @takeover_count of them, as units have them
 * @staged: per operator, likewise
 * @needed: bytes that the operator needs that needs most
 * @bound: bytes that it spills and fills at least in any order
 */
struct cosma_core {
	const struct npuplan_core *asked;
	uint64_t base;
	struct npuplan_graph *graph;
	uint32_t *step_of;
	uint32_t *unit_of;
	uint32_t *op_of;
	struct npuplan_cosma_takeover *takeovers;
	bool *staged;
	uint32_t takeover_count;
	uint64_t needed;
	uint64_t bound;
};

/*
 * struct cosma_cores - a graph that several cores run
 * @graph: as planned; @units: of it
 * @core: @count of them
 * @core_of: per step, its core; that of a copy is where it writes
 * @from_core: per step, the core where a copy reads; of others the same as @core_of
 * @writer: per unit, the step that writes it; NPUMEM_NONE: none does
 * @home: per unit, the core in which it lies; NPUMEM_NONE: it is external
 * @link_bytes: of all units that are copied from core to core
 * @pool: owns the arrays
 */
struct cosma_cores {
	const struct npuplan_graph *graph;
	const struct cosma_units *units;
	struct npuplan_error *error;
	struct cosma_core core[NPUPLAN_CORES];
	uint32_t count;
	uint32_t *core_of;
	uint32_t *from_core;
	uint32_t *writer;
	uint32_t *home;
	uint64_t link_bytes;
	struct npuplan_pool pool;
};

/* struct cosma_cores_plan - what was found
 * @order: of all steps
 * @plan: per core, in that order
 * @traffic: bytes spilled and filled by all cores
 * @work: units
 * @memory_ended: a part of the search ended at the limit of memory
 */
struct cosma_cores_plan {
	uint32_t *order;
	struct npuplan_cosma_plan plan[NPUPLAN_CORES];
	uint64_t traffic;
	uint64_t work;
	bool memory_ended;
};

/* cosma_cores_init() - divide a graph among the cores that are asked for
 * @alignment: of every address
 *
 * -EINVAL: cores that make no sense, an operator without a core, or one that reads in another
 * core's range. -EOPNOTSUPP: operators that are cut into tiles or not known, aliases, state, fixed
 * offsets. -E2BIG: more than 2^14 steps. -ENOMEM. The error says which.
 */
int cosma_cores_init(struct cosma_cores *cores, const struct npuplan_graph *graph,
		     const struct cosma_units *units, const struct npuplan_cosma_options *asked,
		     uint32_t alignment, struct npuplan_error *error);
void cosma_cores_fini(struct cosma_cores *cores);

/* cosma_core_left() - what other cores' orders leave of a core's
 * @chains: per core, its steps in order; NULL: its order is free
 * @rank: per step; of steps that are ready together the one of least rank comes first
 * @order: out: of all steps
 * @c: the core
 * @pairs: out: @pair_count of its operators, of which the first has to run before the second
 *
 * The chains have to be of one order of all steps, or of some. -ENOMEM
 */
int cosma_core_left(const struct cosma_cores *cores, uint32_t *const chains[NPUPLAN_CORES],
		    const uint32_t *rank, uint32_t *order, uint32_t c, struct cosma_pair **pairs,
		    uint32_t *pair_count);

/* cosma_cores_order() - order all steps as cores have theirs; arguments as of cosma_core_left() */
int cosma_cores_order(const struct cosma_cores *cores, uint32_t *const chains[NPUPLAN_CORES],
		      const uint32_t *rank, uint32_t *order);

/* cosma_cores_search() - find an order, and each core's plan in it
 * @asked: settings of a search of @units
 * @effort: of the call
 *
 * core[].needed and core[].bound are found, too. -ENOSPC, with the status in the error: an operator
 * needs more than its core has, or a core's tensors have no addresses, whatever the order.
 * -ETIMEDOUT: no plan was found. -ENOMEM
 */
int cosma_cores_search(struct cosma_cores *cores, const struct cosma_settings *asked,
		       struct npuplan_effort *effort, struct cosma_cores_plan *found);
void cosma_cores_plan_fini(struct cosma_cores_plan *found);

/* cosma_cores_join() - make one plan of the units of the cores' plans; -ENOMEM */
int cosma_cores_join(const struct cosma_cores *cores, const struct cosma_cores_plan *found,
		     struct npuplan_cosma_plan *plan);
