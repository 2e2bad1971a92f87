/* SPDX-License-Identifier: MIT */
/*
 * Schedules: an order of operators, and for each tensor between which of its uses
 * it is away. A tensor's stays on chip follow: each begins as late and ends as
 * early as the uses allow, which is best for all others. No solution is lost: when
 * within a reuse interval (between two uses of it) a tensor leaves and comes back
 * changes neither cost nor, to its disadvantage, room.
 */
#pragma once

#include "model.h"

/*
 * struct cosma_path - operators in the order they run, and who leaves before
 * @order: operators of the model
 * @evicted: tensors, by position: those that leave just before order[p] runs, or with
 *	it if it uses them, are evicted[first[p]..first[p + 1])
 * @cost: bytes
 */
struct cosma_path {
	uint32_t *order;
	uint32_t *first;
	uint32_t *evicted;
	uint32_t op_count;
	int64_t cost;
	struct npuplan_pool pool;
};

/* For so many operators and evictions, which are for the caller to fill in. -ENOMEM. */
int cosma_path_init(struct cosma_path *path, uint32_t ops, uint32_t evictions);
static inline void cosma_path_fini(struct cosma_path *path)
{
	npuplan_pool_free(&path->pool);
}

/*
 * struct cosma_schedule
 * @order: operators
 * @uses: consumers of each tensor in the order they run (indexed like
 *	model->consumers.item)
 * @away: per use: the tensor was away and comes back for it. A first load of a
 *	tensor that starts in host memory does not count
 */
struct cosma_schedule {
	const struct cosma_model *model;
	uint32_t *order;
	uint32_t *position;
	uint32_t *uses;
	bool *away;
	struct npuplan_pool pool;
};

int cosma_schedule_init(struct cosma_schedule *schedule, const struct cosma_model *model);
static inline void cosma_schedule_fini(struct cosma_schedule *schedule)
{
	npuplan_pool_free(&schedule->pool);
}
void cosma_schedule_copy(struct cosma_schedule *to, const struct cosma_schedule *from);

/* order[] is set: fill in @position and @uses, nobody is away. */
void cosma_schedule_order(struct cosma_schedule *schedule);

/* cosma_schedule_part() - put a part's path into the whole's schedule
 * @at: position of its first operator
 *
 * Parts come in their order; then cosma_schedule_evict() marks who is away.
 */
void cosma_schedule_part(struct cosma_schedule *schedule, const struct cosma_model *part,
			 const struct cosma_path *path, uint32_t at);
/* @tensor leaves just before the operator at @position runs. */
void cosma_schedule_evict(struct cosma_schedule *schedule, uint32_t tensor, uint32_t position);

/* Most bytes on chip at once, if nobody is ever away. */
int64_t cosma_schedule_peak(const struct cosma_schedule *schedule);

/* Bytes spilled and filled. */
void cosma_schedule_cost(const struct cosma_schedule *schedule, int64_t *spill, int64_t *fill);

/*
 * struct cosma_stay - a tensor on chip without a break
 * @tensor: of the model, or if @parameter of the graph
 * @from, @to: instants, inclusive: 0 is before everything, p + 1 while the
 *	operator at position p runs
 * @made: the operator at @from makes it, so it takes room from when that stores
 * @early: the operator at @to is staged, so it takes room until that stores
 * @taker: tensor of the model whose stay, which begins at @to, may begin at the address
 *	of this one; else NPUMEM_NONE
 * @offset: address, once it has one
 */
struct cosma_stay {
	uint32_t tensor;
	uint32_t from;
	uint32_t to;
	uint32_t taker;
	bool parameter;
	bool made;
	bool early;
	uint64_t offset;
};

/* The same in half instants, for the packing core: an operator loads, then stores. */
static inline uint32_t cosma_stay_start(const struct cosma_stay *stay)
{
	return stay->from ? 2 * stay->from - !stay->made : 0;
}

static inline uint32_t cosma_stay_end(const struct cosma_stay *stay)
{
	return 2 * stay->to - stay->early;
}

/* Whether its bytes are gone, or others', before the operator at @to has stored. */
static inline bool cosma_stay_yields(const struct cosma_stay *stay)
{
	return stay->early || stay->taker != NPUMEM_NONE;
}

/** struct cosma_stays - all stays, by tensor and time */
struct cosma_stays {
	struct cosma_stay *stay;
	uint32_t count;
};

/* cosma_stays_init() - stays of a schedule
 * @graph: parameters that one operator uses stay while it runs; NULL: leave out
 */
int cosma_stays_init(struct cosma_stays *stays, const struct cosma_schedule *schedule,
		     const struct npuplan_graph *graph);
int cosma_stays_add(struct cosma_stays *stays, struct cosma_stay stay);
void cosma_stays_fini(struct cosma_stays *stays);
