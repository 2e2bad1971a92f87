/* SPDX-License-Identifier: MIT */
/*
 * A call of the packing core is one of npuplan_pack(). The packer is given the call, offers it
 * each packing that it finds, and raises its lower bound as it proves more. The call keeps the best
 * packing and knows when to stop.
 */
#pragma once

#include "problem/packing.h"
#include "base/internal.h"

struct npuplan_pack;
typedef int npuplan_pack_fn(struct npuplan_pack *call, int argument);

/**
 * struct npuplan_packer - an algorithm that places items, with what it begins with
 * @name: its name in messages
 * @pack: the algorithm
 * @argument: handed to @pack; tells algorithms that are one function apart
 * @incumbent: a packing of the same items, which it need not find again; NULL: there is none
 * @patient: neither a limit nor the caller ends it before it has found a packing
 */
struct npuplan_packer {
	const char *name;
	npuplan_pack_fn *pack;
	int argument;
	const struct npuplan_packing *incumbent;
	bool patient;
};

/*
 * struct npuplan_pack - one call of npuplan_pack()
 * @pool: memory of @alignments and @offsets
 * @conflicts: the problem's conflicts, or those by overlap of live ranges
 * @alignments: per item, the larger one of its own and the problem's alignment
 * @offsets: per item, its address in the best packing
 * @top: top of the best packing; UINT64_MAX: there is none yet
 * @lower_bound: bytes below which no packing is, as proved so far
 * @infeasible: it is proved that the fixed offsets cannot be kept
 * @effort: limit of work, deadline and the caller, who may end the call
 * @share_end: work units at which the part of the packer that runs now is to end, though the call
 *	goes on; 0: with the call
 * @memory_ended: the limit of memory has ended the call
 * @packer: the packer that is called
 */
struct npuplan_pack {
	const struct npuplan_pack_problem *problem;
	const struct npuplan_pack_options *options;
	struct npuplan_pool pool;
	struct npuplan_conflicts conflicts;
	uint32_t *alignments;
	uint64_t *offsets;
	uint64_t top;
	uint64_t lower_bound;
	uint64_t work;
	uint64_t share_end;
	struct npuplan_effort effort;
	const struct npuplan_packer *packer;
	bool infeasible;
	bool memory_ended;
};

/*
 * npuplan_pack_by() - npuplan_pack() with a given packer, for code that uses packers
 * @packer: the packer, whatever options->packer says
 *
 * All else is as npuplan_pack() has it.
 */
int npuplan_pack_by(const struct npuplan_packer *packer, const struct npuplan_pack_problem *problem,
		    const struct npuplan_pack_options *options, uint64_t *offsets,
		    struct npuplan_pack_result *result, struct npuplan_error *error);

/* Keep a packing if it is lower than the best one so far. */
void npuplan_pack_offer(struct npuplan_pack *call, const uint64_t *offsets);
/* Note that no packing is lower than @bound. */
void npuplan_pack_prove(struct npuplan_pack *call, uint64_t bound);
/*
 * Whether the packer is to end, since it has reached the bound or the capacity, or since it may not
 * go on. This looks at the clock.
 */
bool npuplan_pack_over(struct npuplan_pack *call);
/*
 * Whether the packer may not go on: by its share, its limit of work, the deadline or the caller.
 * This looks at the clock.
 */
bool npuplan_pack_stopped(struct npuplan_pack *call);
