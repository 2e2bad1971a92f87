/* SPDX-License-Identifier: MIT */
/*
 * How long things take: a computing engine that runs steps, and a copy engine that carries out
 * transfers. All times are whole picoseconds.
 */
#pragma once

#include "base/internal.h"

/* No plan takes longer: times add up to this at most, which is 53 days. */
#define COSMA_TIME_MAX (1ull << 62)

/* What is over @b after @a; COSMA_TIME_MAX if that is later. */
static inline uint64_t cosma_later(uint64_t a, uint64_t b)
{
	uint64_t sum = a + b;

	return sum < COSMA_TIME_MAX ? sum : COSMA_TIME_MAX;
}

/*
 * cosma_machine_check() - refuse a machine that makes no sense: -EINVAL
 *
 * Nor does one with more than 10^12 units a microsecond, or a latency of more than 10^9 ns.
 */
int cosma_machine_check(const struct npuplan_machine *machine, struct npuplan_error *error);

/* The time of a transfer of so many bytes. */
uint64_t cosma_copy_time(const struct npuplan_machine *machine, uint64_t bytes);
/* The same of many, of @count transfers. */
uint64_t cosma_copies_time(const struct npuplan_machine *machine, uint64_t bytes, uint64_t count);

/* cosma_step_times() - the time of each step
 * @graph: tiled; the verifier has checked it
 * @times: out: per step
 *
 * -EOPNOTSUPP: only computing takes time, and it is not known what a step computes. -ENOMEM.
 */
int cosma_step_times(const struct npuplan_graph *graph, const struct npuplan_machine *machine,
		     uint64_t *times, struct npuplan_error *error);

/*
 * struct cosma_job - work that one engine does without others' help
 * @head: when it can begin at the earliest
 * @time: how long it takes
 * @tail: how long the plan goes on at least when it is over
 */
struct cosma_job {
	uint64_t head;
	uint64_t time;
	uint64_t tail;
};

/* cosma_jobs_bound() - when all is over at the earliest if one engine does all jobs
 *
 * This is the least makespan of one machine whose jobs may be interrupted (Jackson's preemptive
 * schedule). Jobs are sorted. -ENOMEM.
 */
int cosma_jobs_bound(struct cosma_job *jobs, uint32_t count, uint64_t *bound);

/* cosma_time_bound() - no plan is over earlier (bound.c)
 * @cells: checked form of @graph, of one block
 * @plan: what it loads first is loaded first in any plan; the outputs that it stores are taken to
 *	be stored in any
 * @times: per step
 * @traffic: bytes that any plan spills and fills
 *
 * The bound is of plans in any order of the steps. -ENOMEM.
 */
int cosma_time_bound(const struct npuplan_graph *graph, const struct npuv_graph *cells,
		     const struct npuplan_plan *plan, const struct npuplan_machine *machine,
		     const uint64_t *times, uint64_t traffic, uint64_t *bound);
