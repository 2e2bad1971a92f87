/* SPDX-License-Identifier: MIT */
/*
 * Lower bounds of the traffic still to come.
 *
 * While an operator v runs, a tensor produced before v and used after it is
 * either on chip or in the host's memory, whatever the order. If v's own bytes
 * and all of these exceed the budget, v is critical: some of them must be away,
 * and bringing each back costs its size, and its spill as much again if it has no
 * host copy. The cheapest choice is a minimum-cost cover of the excess.
 *
 * A tensor's stay away lies in one reuse interval, between two of its uses. Critical
 * operators that share no such interval of any tensor may be added up: they are put into
 * groups so that different groups share none, and the most that a group asks for
 * is added. A tensor's first spill is charged in one group only.
 *
 * What a state adds: tensors that happen to be on chip and must be kept over v
 * though in another order they would not exist yet; and what is away already.
 */
#pragma once

#include "planners/cosma/state/state.h"

/* No state from here ends: the excess cannot be covered. */
#define COSMA_NEVER INT64_MAX

/**
 * struct cosma_member - what every order keeps over a critical operator
 * @tensor: it, or in its place something that is made of it
 * @first: until when it is the tensor's place: operator that uses it (deferred.c);
 *	NPUMEM_NONE: it is the tensor itself
 * @bytes: at least; all of the tensor's if it is the tensor itself
 * @unit: price per byte, in the operator's group: 1, or 2 with the first spill
 */
struct cosma_member {
	uint32_t tensor;
	uint32_t first;
	int64_t bytes;
	uint8_t unit;
};

/*
 * struct cosma_critical - operator over which bytes must be away
 * @excess: need, plus bytes of @member, less the budget; may be negative: only
 *	what a state adds makes it critical
 * @group: NPUMEM_NONE if it is in none
 * @alone, @grouped: what it asks for while none of its members is produced: by
 *	itself, and as one of its group
 */
struct cosma_critical {
	uint32_t op;
	uint32_t group;
	uint32_t member_count;
	struct cosma_member *member;
	int64_t excess;
	int64_t alone;
	int64_t grouped;
};

/* struct cosma_bounds
 * @of_adder: critical operators by tensor: those it must be kept over if it is on chip before
 * @charged: per tensor: some group counts it
 */
struct cosma_bounds {
	const struct cosma_model *model;
	int64_t budget;
	struct cosma_critical *critical;
	uint32_t critical_count;
	uint32_t group_count;
	struct cosma_list of_adder;
	bool *charged;
	struct cosma_scratch *scratch;
	struct npuplan_pool pool;
	uint64_t work;
};

int cosma_bounds_init(struct cosma_bounds *bounds, const struct cosma_model *model, int64_t budget);
void cosma_bounds_fini(struct cosma_bounds *bounds);

/* cosma_bounds_of() - cost that is still to come, at least
 * @masks: of a state at @downset
 * @bound: out; COSMA_NEVER if no plan continues the state
 *
 * -ENOMEM
 */
int cosma_bounds_of(struct cosma_bounds *bounds, struct cosma_downset *downset,
		    const uint64_t *masks, int64_t *bound);
