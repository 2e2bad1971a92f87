/* SPDX-License-Identifier: MIT */
/*
 * Two banks of on-chip memory, one faster than the other: a plan of
 * npuplan_cosma(), and for each stay of a tensor on chip the bank that it is in.
 */
#pragma once

#include "planners/cosma/cosma.h"

/*
 * struct npuplan_banked - a plan in two banks
 * @plan: bank 0 is bytes [0, its size) of the arena, bank 1 what follows. No
 *	placement is in both. The budget that it was planned for is @budget
 * @accessed: bytes that operators and transfers read and write, per bank
 * @accessed_bound: of these, no choice of banks for these stays has more in the
 *	faster bank
 * @microseconds: that the accesses take, one after the other
 * @optimal: no other banks for these stays take less time
 */
struct npuplan_banked {
	struct npuplan_cosma_plan plan;
	uint64_t budget;
	uint64_t accessed[NPUPLAN_BANKS];
	uint64_t accessed_bound;
	double microseconds;
	uint64_t work;
	bool optimal;
};

/* npuplan_cosma_banks() - least traffic first, then least time of the banks
 * @options: budget is ignored: it is what both banks have
 *
 * The traffic is that of npuplan_cosma() with all bytes of both banks as budget, if
 * its stays can be placed without one lying in both; else that of the largest of some
 * smaller budgets whose stays can. Then as many of the accessed bytes as can be
 * found room for are in the faster bank.
 * @out->plan.status: optimal is the traffic's, with one bank of both sizes;
 * infeasible: an operator needs more than both, or a tensor is larger than either
 * (@out->plan.needed); unknown: no placement was found. -EINVAL: a bank without
 * bytes or bandwidth, or of 2^60 bytes or 2^63 bytes a microsecond and more;
 * otherwise as npuplan_cosma().
 */
int npuplan_cosma_banks(const struct npuplan_graph *graph, const struct cosma_settings *options,
			const struct npuplan_bank banks[NPUPLAN_BANKS], struct npuplan_banked *out,
			struct npuplan_error *error);
void npuplan_banked_free(struct npuplan_banked *banked);

/* ----------------------------------------------------- stays, without a graph */

/*
 * struct cosma_banking - stays to divide between two banks
 * @size, @align: bytes; @from, @to: positions, inclusive; @touches: how often all
 *	its bytes are read or written
 * @positions: all are below this
 * @capacity: of the bank that is to be accessed most, and of the other
 */
struct cosma_banking {
	struct cosma_banking_stay {
		uint64_t size;
		uint32_t align;
		uint32_t from;
		uint32_t to;
		uint32_t touches;
	} *stays;
	uint32_t count;
	uint32_t positions;
	uint32_t alignment;
	uint64_t capacity[NPUPLAN_BANKS];
};

/* cosma_banking_bound() - most bytes that can be accessed in bank 0 (bank_bound.c)
 *
 * As if bytes of one stay could lie in both banks, and the other had room enough: a
 * flow of @capacity[0] bytes through time, of greatest gain. -ENOMEM.
 */
int cosma_banking_bound(const struct cosma_banking *banking, uint64_t *bound);

/* cosma_banking_solve() - divide
 * @bank: out, per stay; @offsets: out: within its bank
 * @accessed: out: bytes accessed in bank 0; @optimal: out: there is no better one
 *
 * -ENOENT: none was found; @optimal: there is none. -ENOMEM.
 */
int cosma_banking_solve(const struct cosma_banking *banking, uint64_t work_limit, uint8_t *bank,
			uint64_t *offsets, uint64_t *accessed, uint64_t *work, bool *optimal);
