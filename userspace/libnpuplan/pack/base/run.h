/* SPDX-License-Identifier: MIT */
/*
 * One run of the packing core. A packer is given a run, offers each
 * packing that it finds and raises the lower bound as it proves more; the run
 * keeps the best and knows when to stop.
 */
#pragma once

#include "problem/packing.h"
#include "base/internal.h"

struct npuplan_pack;
typedef int npuplan_pack_fn(struct npuplan_pack *run, int argument);

/**
 * struct npuplan_packer - an algorithm that places items, and what it begins with
 * @name: for messages
 * @pack: the algorithm
 * @argument: for @pack, what tells algorithms of one function apart
 * @incumbent: a packing of the same items, which it need not find again; NULL: none
 * @patient: neither a limit nor the caller ends it before it has a packing
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
 * @pool: of @alignments and @offsets
 * @conflicts: the problem's, or by overlap of live ranges
 * @alignments: per item, of its own and the problem's the larger
 * @offsets: of the best packing
 * @top: of the best packing; UINT64_MAX if there is none yet
 * @lower_bound: proved
 * @infeasible: proved: fixed offsets cannot be honoured
 * @effort: limit of work, deadline, cancellation
 * @memory_ended: the limit of memory, though nothing else
 * @packer: that it is a call of
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
	struct npuplan_effort effort;
	const struct npuplan_packer *packer;
	bool infeasible;
	bool memory_ended;
};

/*
 * npuplan_pack_by() - npuplan_pack() with the packer at hand, for those that use packers
 * @packer: the packer; options->packer is not looked at
 *
 * The rest is npuplan_pack()'s.
 */
int npuplan_pack_by(const struct npuplan_packer *packer, const struct npuplan_pack_problem *problem,
		    const struct npuplan_pack_options *options, uint64_t *offsets,
		    struct npuplan_pack_result *result, struct npuplan_error *error);

/* Keep a packing if it is better than what there is. */
void npuplan_pack_offer(struct npuplan_pack *run, const uint64_t *offsets);
/* Nothing is lower than @bound. */
void npuplan_pack_prove(struct npuplan_pack *run, uint64_t bound);
/* Nothing more is to be done, or may be done. Looks at the clock. */
bool npuplan_pack_over(struct npuplan_pack *run);
/* Nothing more may be done: limit, deadline, cancellation. Looks at the clock. */
bool npuplan_pack_stopped(struct npuplan_pack *run);
