/* SPDX-License-Identifier: MIT */
/*
 * A schedule is an order of operators, and for each tensor between which of its uses it is away.
 * The stays of a tensor on chip follow from that: each begins as late and ends as early as the uses
 * allow, which is best for all others. No solution is lost: when a tensor leaves and comes back
 * within a reuse interval (between two of its uses) changes neither the cost nor, to the worse, the
 * room.
 */
#pragma once

#include "model.h"

/**
 * struct cosma_path - operators in the order they run, and the tensors that leave before each
 * @order: operators of the model
 * @evicted: tensors: those that leave just before order[p] runs, or with it if it uses them, are
 *	evicted[first[p]..first[p + 1])
 * @first: see @evicted
 * @op_count: operators
 * @cost: bytes
 * @pool: owns the arrays
 */
struct cosma_path {
	uint32_t *order;
	uint32_t *first;
	uint32_t *evicted;
	uint32_t op_count;
	int64_t cost;
	struct npuplan_pool pool;
};

/* Makes a path with room for so many operators and evictions, which the caller fills in. -ENOMEM */
int cosma_path_init(struct cosma_path *path, uint32_t ops, uint32_t evictions);
static inline void cosma_path_fini(struct cosma_path *path)
{
	npuplan_pool_free(&path->pool);
}

/**
 * struct cosma_schedule - an order, and what is away
 * @model: whose operators and tensors these are
 * @order: operators
 * @position: per operator, its place in @order
 * @uses: the consumers of each tensor in the order they run, where model->consumers.item has them
 * @away: per use: the tensor was away and comes back for it. The first load of a tensor that starts
 *	in host memory does not count
 * @pool: owns the arrays
 */
struct cosma_schedule {
	const struct cosma_model *model;
	uint32_t *order;
	uint32_t *position;
	uint32_t *uses;
	bool *away;
	struct npuplan_pool pool;
};

/* Makes a schedule of a model with room for its order, which is not set yet. -ENOMEM */
int cosma_schedule_init(struct cosma_schedule *schedule, const struct cosma_model *model);
static inline void cosma_schedule_fini(struct cosma_schedule *schedule)
{
	npuplan_pool_free(&schedule->pool);
}
/* Copies a schedule of the same model. */
void cosma_schedule_copy(struct cosma_schedule *to, const struct cosma_schedule *from);

/* Fills in @position and @uses from order[]; no tensor is away. */
void cosma_schedule_order(struct cosma_schedule *schedule);

/* cosma_schedule_part() - put a part's path into the whole's schedule
 * @at: position of the part's first operator
 *
 * Parts come in their order. Then cosma_schedule_evict() says what is away.
 */
void cosma_schedule_part(struct cosma_schedule *schedule, const struct cosma_model *part,
			 const struct cosma_path *path, uint32_t at);
/* Has a tensor leave just before the operator at @position runs. */
void cosma_schedule_evict(struct cosma_schedule *schedule, uint32_t tensor, uint32_t position);

/* Returns the most bytes on chip at once if no tensor is ever away. */
int64_t cosma_schedule_peak(const struct cosma_schedule *schedule);

/* Returns the bytes that are spilled and filled. */
void cosma_schedule_cost(const struct cosma_schedule *schedule, int64_t *spill, int64_t *fill);

/*
 * struct cosma_stay - a tensor on chip without a break
 * @tensor: of the model, or if @parameter of the graph
 * @from, @to: timesteps, inclusive: 0 is before everything, p + 1 while the operator at position p
 *	runs
 * @taker: tensor of the model whose stay, which begins at @to, may begin at the address of this
 *	one; else NPUMEM_NONE
 * @bound: it must
 * @parameter: only the operator that runs at @from uses it
 * @made: the operator at @from makes it, so that it takes room from when that stores
 * @early: the operator at @to is staged, so that it takes room until that stores
 * @offset: address, once it has one
 */
struct cosma_stay {
	uint32_t tensor;
	uint32_t from;
	uint32_t to;
	uint32_t taker;
	bool bound;
	bool parameter;
	bool made;
	bool early;
	uint64_t offset;
};

/*
 * The first and the last instant (liveness.h) of a stay, as the packing core has them: an operator
 * loads, then it stores.
 */
static inline uint32_t cosma_stay_start(const struct cosma_stay *stay)
{
	return stay->from ? 2 * stay->from - !stay->made : 0;
}

static inline uint32_t cosma_stay_end(const struct cosma_stay *stay)
{
	return 2 * stay->to - stay->early;
}

/* Whether the stay's bytes are gone, or are others', before the operator at @to has stored. */
static inline bool cosma_stay_yields(const struct cosma_stay *stay)
{
	return stay->early || stay->taker != NPUMEM_NONE;
}

/** struct cosma_stays - all stays, by tensor and time; those of parameters come last */
struct cosma_stays {
	struct cosma_stay *stay;
	uint32_t count;
};

/* cosma_stays_init() - find the stays of a schedule
 * @graph: for parameters that one operator uses, which stay while it runs; NULL: these are left out
 *
 * -ENOMEM
 */
int cosma_stays_init(struct cosma_stays *stays, const struct cosma_schedule *schedule,
		     const struct npuplan_graph *graph);
/* Appends a stay, which may break the order of stays. -ENOMEM, -E2BIG */
int cosma_stays_add(struct cosma_stays *stays, struct cosma_stay stay);
void cosma_stays_fini(struct cosma_stays *stays);
