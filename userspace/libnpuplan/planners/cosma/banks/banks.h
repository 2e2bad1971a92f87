/* SPDX-License-Identifier: MIT */
/*
 * Two banks of on-chip memory, of which one is faster than the other: npuplan_cosma() makes a plan,
 * and each stay of a tensor on chip is given a bank to be in.
 */
#pragma once

#include "planners/cosma/model/units.h"

/**
 * struct npuplan_banked - a plan in two banks
 * @plan: bank 0 is bytes [0, its size) of the arena, and bank 1 is what follows. No placement is in
 *	both
 * @budget: bytes that @plan was made for
 * @accessed: per bank, bytes that operators and transfers read and write
 * @accessed_bound: no division of these stays has more bytes accessed in the faster bank
 * @microseconds: time that the accesses take, one after the other
 * @work: units, of all searches
 * @optimal: no other division of these stays takes less time
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
 * @options: the budget is not looked at: it is what both banks have
 *
 * The traffic is that of npuplan_cosma() with all bytes of both banks as its budget, if its stays
 * can be placed so that none lies in both; else it is that of the largest of some smaller budgets
 * whose stays can. Then as many of the accessed bytes as can be found room for are in the faster
 * bank.
 * @out->plan.status is optimal if the traffic is, with one bank of both sizes. It is infeasible if
 *	an operator needs more than both banks have, or a tensor is larger than either
 *	(@out->plan.needed), and unknown if no placement was found. -EINVAL: a bank has no bytes or
 *	no bandwidth, or 2^60 bytes or 2^63 bytes a microsecond and more. Other errors are
 *	npuplan_cosma()'s.
 */
int npuplan_cosma_banks(const struct npuplan_graph *graph, const struct cosma_settings *options,
			const struct npuplan_bank banks[NPUPLAN_BANKS], struct npuplan_banked *out,
			struct npuplan_error *error);
void npuplan_banked_free(struct npuplan_banked *banked);

/* cosma_banks_states() - give states their places in one bank (bank_state.c)
 * @units: of @graph; their states lie at the beginning of the arena, up to units->state_end. If
 *	they are moved to the end of bank 1, that is 0
 * @alignment: of every address
 * @room: the banks; what the states take is taken from them
 * @touched: out: bytes of states that steps access, per bank
 *
 * All states are in the faster bank if that has room for them and more, else in the other one.
 * -ETIMEDOUT: neither has.
 */
int cosma_banks_states(struct cosma_units *units, const struct npuplan_graph *graph,
		       uint32_t alignment, struct npuplan_bank room[NPUPLAN_BANKS],
		       uint64_t touched[NPUPLAN_BANKS], struct npuplan_error *error);

/* ----------------------------------------------------- stays, without a graph */

/**
 * struct cosma_banking - stays that are to be divided between two banks
 * @stays: per stay its size and alignment in bytes, its first and last position, and how often all
 *	its bytes are read or written
 * @count: stays
 * @positions: all positions are below this
 * @alignment: of every offset within a bank
 * @capacity: bytes of the bank that is to be accessed most, and of the other
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

/* cosma_banking_bound() - bytes that can be accessed in bank 0 at most (bank_bound.c)
 * @bound: out
 *
 * The bound holds even if bytes of one stay could lie in both banks, and if the other bank had room
 * enough. -ENOMEM.
 */
int cosma_banking_bound(const struct cosma_banking *banking, uint64_t *bound);

/* cosma_banking_solve() - divide the stays between the banks
 * @bank: out: per stay
 * @offsets: out: per stay, within its bank
 * @accessed: out: bytes accessed in bank 0
 * @work: out: units
 * @optimal: out: no division has more bytes accessed in bank 0; with -ENOENT: there is no division
 *
 * -ENOENT: no division was found. -ENOMEM.
 */
int cosma_banking_solve(const struct cosma_banking *banking, uint64_t work_limit, uint8_t *bank,
			uint64_t *offsets, uint64_t *accessed, uint64_t *work, bool *optimal);
