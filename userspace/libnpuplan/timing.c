// SPDX-License-Identifier: MIT
/*
 * How long a plan takes. The verifier's hazards say what a position waits for, as they do for the
 * driver's jobs, so that what is measured here is what would run.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/checked.h"
#include "planners/cosma/time/clock.h"

enum { STEPS, COPIES, ENGINES };

/*
 * struct timing - one call
 * @times: per step
 * @ends: per engine, when each of its jobs is over; job 0 is over at once
 */
struct timing {
	const struct npuplan_graph *graph;
	const struct npuplan_plan *plan;
	const struct npuplan_machine *machine;
	struct npuplan_pool pool;
	uint64_t *times;
	uint64_t *ends[ENGINES];
	struct npuplan_timing found;
};

/* Engines begin their jobs in the order of the plan, each when all that it waits for is over. */
static int play(struct timing *timing, const struct npuv_plan *verified)
{
	const struct npuplan_plan *plan = timing->plan;
	uint32_t number[ENGINES] = { 0 };
	struct npuv_hazards *hazards;
	int err = npuv_hazards_create(verified, ENGINES, &hazards);

	for (uint32_t p = 0; p < plan->position_count && !err; p++) {
		const struct npumem_position *at = &plan->positions[p];
		uint32_t after[ENGINES] = { 0 }, e, other;
		uint64_t start, time;

		/* Nothing is executed, and nobody waits for it. */
		if (at->kind == NPUMEM_POSITION_DROP)
			continue;
		e = at->kind == NPUMEM_POSITION_STEP ? STEPS : COPIES;
		other = e == STEPS ? COPIES : STEPS;
		time = e == STEPS ? timing->times[at->index] :
				    cosma_copy_time(timing->machine, at->length);
		err = npuv_hazards_submit(hazards, p, e, number[e] + 1, after);
		start = timing->ends[e][number[e]];
		if (start < timing->ends[other][after[other]])
			start = timing->ends[other][after[other]];
		timing->ends[e][++number[e]] = cosma_later(start, time);
		if (e == STEPS)
			timing->found.compute = cosma_later(timing->found.compute, time);
		else
			timing->found.copy = cosma_later(timing->found.copy, time);
	}
	npuv_hazards_destroy(hazards);
	for (uint32_t e = 0; e < ENGINES; e++)
		if (timing->found.makespan < timing->ends[e][number[e]])
			timing->found.makespan = timing->ends[e][number[e]];
	return err;
}

static int verify(struct timing *timing, const struct npuv_graph *cells, struct npuv_plan **out,
		  void **blob, struct npuplan_error *error)
{
	struct npumem_verdict verdict;
	struct npuv_log log;
	char text[384] = "";
	size_t size;
	int err = npuplan_plan_write(timing->plan, blob, &size, error);

	if (err)
		return err;
	npuv_log_init(&log, 1, text, sizeof(text));
	err = npuv_plan_create(cells, *blob, size, &npuv_default_limits, &log, &verdict, out);
	return err ? npuplan_fail_verdict(error, err, "plan", text) : 0;
}

static int take_memory(struct timing *timing)
{
	struct npuplan_pool *pool = &timing->pool;
	size_t positions = timing->plan->position_count;

	timing->times = npuplan_pool_take(pool, timing->graph->step_count, sizeof(uint64_t));
	for (uint32_t e = 0; e < ENGINES; e++)
		timing->ends[e] = npuplan_pool_take(pool, positions + 1, sizeof(uint64_t));
	return pool->failed ? -ENOMEM : 0;
}

/* What a plan that was read says of itself is not proved. */
static uint64_t proved_traffic(const struct npuplan_plan *plan)
{
	return plan->cosma && !plan->claims ? plan->cosma->traffic_bound : 0;
}

static int find(struct timing *timing, const struct npuv_graph *cells, struct npuplan_error *error)
{
	struct npuplan_timing *found = &timing->found;
	struct npuv_plan *verified = NULL;
	void *blob = NULL;
	int err = verify(timing, cells, &verified, &blob, error);

	if (!err) {
		err = cosma_step_times(timing->graph, timing->machine, timing->times, error);
		if (!err) {
			err = play(timing, verified);
			err = err ? err :
				    cosma_time_bound(timing->graph, cells, timing->plan,
						     timing->machine, timing->times,
						     proved_traffic(timing->plan), &found->bound);
			if (err)
				npuplan_fail(error, err, "time: %s", strerror(-err));
		}
		npuv_plan_destroy(verified);
	}
	free(blob);
	if (!err && found->makespan >= COSMA_TIME_MAX)
		return npuplan_fail(error, -E2BIG, "the plan takes more than 53 days");
	found->stall = found->makespan - found->compute;
	return err;
}

int npuplan_timing_find(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			const struct npuplan_machine *given, struct npuplan_timing *out,
			struct npuplan_error *error)
{
	struct npuplan_machine machine = { 0 };
	struct npuplan_checked checked;
	struct timing timing = { .graph = graph, .plan = plan, .machine = &machine };
	int err = npuplan_take_machine(&machine, given, error);

	err = err ? err : cosma_machine_check(&machine, error);
	if (!err && !npuplan_is_straight(graph))
		err = npuplan_fail(error, -EOPNOTSUPP,
				   "how long loops and branches take depends on the path");
	err = err ? err : npuplan_checked_init(&checked, graph, error);
	if (err)
		return err;
	err = take_memory(&timing);
	if (err)
		npuplan_fail(error, err, "out of memory");
	else
		err = find(&timing, checked.cells, error);
	npuplan_checked_fini(&checked);
	npuplan_pool_free(&timing.pool);
	if (!err)
		*out = timing.found;
	return err;
}
