/* SPDX-License-Identifier: MIT */
/*
 * Lower bounds of the traffic still to come.
 *
 * While an operator v runs, a tensor that is produced before v and used after it is either on chip
 * or in the host's memory, whatever the order. If v's own bytes and all of these exceed the budget,
 * v is critical: some of them must be away. Bringing one back costs its size, and its spill costs
 * as much again if it has no host copy. The cheapest choice is a minimum-cost cover of the excess;
 * its cost is v's price.
 *
 * A tensor is away within one reuse interval, between two of its uses. The prices of critical
 * operators that share no such interval of any tensor may be added up. So they are put into groups
 * of which no two share an interval, and the greatest price of each group is added. A tensor's
 * first spill is charged in one group only.
 *
 * A state raises the price of v by tensors that happen to be on chip and must be kept over v,
 * though in another order they would not exist yet. It lowers the price by what is away already.
 */
#pragma once

#include "planners/cosma/model/call.h"
#include "planners/cosma/state/state.h"

/* The bound of a state from which no plan is complete: an excess cannot be covered. */
#define COSMA_NEVER INT64_MAX

/**
 * struct cosma_member - a tensor that every order keeps over a critical operator
 * @tensor: it is kept; if it is deferred, it or a tensor of its route (deferred.c)
 * @first: if it is deferred, the operator of the route that uses it: once that has run, what it
 *	made is an adder, and the member counts no more; NPUMEM_NONE: it is not deferred
 * @bytes: that are kept at least; all of the tensor's if it is not deferred
 * @price: of a byte in the operator's group: 1, or 2 with the first spill
 */
struct cosma_member {
	uint32_t tensor;
	uint32_t first;
	int64_t bytes;
	uint8_t price;
};

/*
 * struct cosma_critical - an operator over which bytes must be away
 * @op: operator
 * @group: NPUMEM_NONE if it is in none
 * @member: tensors that are kept over it; owned
 * @excess: bytes of its need and of its members, less the budget. It may be negative: then only
 *	tensors that a state adds make it critical
 * @alone, @grouped: its price while none of its members is produced: by itself, and in its group
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

/* struct cosma_bounds - critical operators of a model, and room to ask them in
 * @budget: bytes
 * @of_adder: per tensor, the numbers of those critical operators over which it must be kept if it
 *	is on chip before
 * @members_only: critical operators are wanted for their members alone, and from all over the model
 *	if they are too many
 * @call: may end the finding of critical operators, and then there are none; NULL: nobody does
 * @charged: per tensor: some group counts it
 * @work: units so far
 */
struct cosma_bounds {
	const struct cosma_model *model;
	int64_t budget;
	struct cosma_critical *critical;
	uint32_t critical_count;
	uint32_t group_count;
	struct cosma_list of_adder;
	bool members_only;
	const struct cosma_call *call;
	bool *charged;
	struct cosma_scratch *scratch;
	struct npuplan_pool pool;
	uint64_t work;
};

/* Finds a model's critical operators within a budget of bytes. -ENOMEM: cosma_bounds_fini() it, all
 * the same. @call: where it ends first there are none, and bounds are weak; NULL: nobody ends it
 */
int cosma_bounds_init(struct cosma_bounds *bounds, const struct cosma_model *model, int64_t budget,
		      const struct cosma_call *call);
void cosma_bounds_fini(struct cosma_bounds *bounds);

/* cosma_bounds_of() - cost that is still to come at least
 * @downset: gets its part of the bounds when it is asked for the first time
 * @masks: of a state at @downset
 * @bound: out; COSMA_NEVER if no plan continues the state
 *
 * -ENOMEM
 */
int cosma_bounds_of(struct cosma_bounds *bounds, struct cosma_downset *downset,
		    const uint64_t *masks, int64_t *bound);
