/* SPDX-License-Identifier: MIT */
/*
 * Packing core: what its files share. A packer is given a run, offers each
 * packing that it finds and raises the lower bound as it proves more; the run
 * keeps the best and knows when to stop.
 */
#ifndef NPUPLAN_PACK_PACK_H
#define NPUPLAN_PACK_PACK_H

#include "problem/conflicts.h"
#include "base/internal.h"

/**
 * struct npuplan_pack - one call of npuplan_pack()
 * @conflicts: the problem's, or by overlap of live ranges
 * @alignments: per item, of its own and the problem's the larger
 * @offsets: of the best packing
 * @top: of the best packing; UINT64_MAX if there is none yet
 * @lower_bound: proved
 * @goal: a packing no higher than this ends the run
 * @infeasible: proved: fixed offsets cannot be honoured
 * @deadline: CLOCK_MONOTONIC seconds, 0 for none
 * @stopped: limit, deadline or cancellation
 * @memory_ended: the limit of memory, though nothing else
 */
struct npuplan_pack {
	const struct npuplan_pack_problem *problem;
	const struct npuplan_pack_options *options;
	struct npuplan_conflicts conflicts;
	uint32_t *alignments;
	uint64_t *offsets;
	uint64_t top;
	uint64_t lower_bound;
	uint64_t goal;
	uint64_t work;
	uint64_t work_limit;
	double started;
	double deadline;
	bool infeasible;
	bool stopped;
	bool memory_ended;
};

/* Keep a packing if it is better than what there is. */
void npuplan_pack_offer(struct npuplan_pack *run, const uint64_t *offsets, uint64_t top);
/* Nothing is lower than @bound. */
void npuplan_pack_prove(struct npuplan_pack *run, uint64_t bound);
/* Nothing more is to be done, or may be done. Looks at the clock. */
bool npuplan_pack_over(struct npuplan_pack *run);
/* Nothing more may be done: limit, deadline, cancellation. Looks at the clock. */
bool npuplan_pack_stopped(struct npuplan_pack *run);

/** struct npuplan_packer - named packer; @argument tells those of one function apart */
struct npuplan_packer {
	const char *name;
	int argument;
	int (*pack)(struct npuplan_pack *run, int argument);
};

/* packers.c */
const struct npuplan_packer *npuplan_packer_find(const char *name);

/* greedy.c: first fit in an order (enum npuplan_order); best fit; the best of them all. */
int npuplan_pack_first_fit(struct npuplan_pack *run, int order);
int npuplan_pack_best_fit(struct npuplan_pack *run, int unused);
int npuplan_pack_best_greedy(struct npuplan_pack *run, int unused);
/* One first fit (or best fit) in a given order. */
int npuplan_pack_fit(struct npuplan_pack *run, const uint32_t *order, bool best, uint64_t *offsets,
		     uint64_t *top);

/** enum npuplan_sharing - Pisarchyk & Lee's strategies for Shared Objects */
enum npuplan_sharing {
	NPUPLAN_SHARE_BY_BREADTH,
	NPUPLAN_SHARE_BY_SIZE,
	NPUPLAN_SHARE_BY_SIZE_IMPROVED,
};

/* squeaky.c: first fit again and again, @rounds times; a few rounds in a row may be no better. */
int npuplan_pack_squeaky(struct npuplan_pack *run, int rounds);

/* shared_objects.c; items without fixed offsets and whole conflicts only: -EOPNOTSUPP. */
int npuplan_pack_shared_objects(struct npuplan_pack *run, int sharing);

/* valley.c: the better of all modes if @mode is NPUPLAN_VALLEY_MODES; no fixed offsets. */
#define NPUPLAN_VALLEY_AREA  4
#define NPUPLAN_VALLEY_MODES 5
int npuplan_pack_valley(struct npuplan_pack *run, int mode);

/* exact.c: all of the above, then the search that suits the conflicts. */
int npuplan_pack_exact(struct npuplan_pack *run, int unused);
/* portfolio.c: search.h by overlap of live ranges. */
int npuplan_pack_portfolio(struct npuplan_pack *run);
/* large.c: from a packing by overlap, for more items than a search of all can deal with. */
int npuplan_pack_large(struct npuplan_pack *run);
/* tight.c: some packings by overlap, without fixed offsets, of the @k-th share of tight items. */
int npuplan_pack_tight_first(struct npuplan_pack *run, const uint64_t *breadths, unsigned int k);
unsigned int npuplan_pack_tight_shares(void);
/* clique.c: a lower bound from listed conflicts. */
int npuplan_pack_clique_bound(struct npuplan_pack *run);
/* disjunctive.c: any conflicts. */
int npuplan_pack_disjunctive(struct npuplan_pack *run);

#endif /* NPUPLAN_PACK_PACK_H */
