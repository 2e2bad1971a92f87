// SPDX-License-Identifier: MIT
/*
 * How long a plan's jobs take on one engine, and on two, one for steps and one for transfers.
 *
 * usage: npumem_overlap GRAPH-BLOB PLAN-BLOB STEPS-MS TRANSFERS-MS
 *
 * Speeds are such that all steps take STEPS-MS, and all transfers TRANSFERS-MS, on whichever
 * engine. Every position is a job, submitted in the order of the plan; an
 * engine executes its jobs in this order, and each when what it waits for has ended
 * (kernel/verify/run/hazards.c).
 * Prints the speeds, in bytes a second, and the times, in ms: of all jobs on the steps'
 * engine, and of two engines.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/verify.h"

enum { STEPS, TRANSFERS, ENGINES };

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	void *bytes = NULL;
	long end = -1;

	if (f && !fseek(f, 0, SEEK_END))
		end = ftell(f);
	if (end > 0 && !fseek(f, 0, SEEK_SET))
		bytes = malloc((size_t)end);
	if (!bytes || fread(bytes, 1, (size_t)end, f) != (size_t)end) {
		fprintf(stderr, "npumem_overlap: %s cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	*size = (size_t)end;
	return bytes;
}

/* What engine "sim" reads and writes for a position. */
static uint64_t bytes_at(const struct npuv_plan *plan, uint32_t position)
{
	const struct npumem_position *p = npuv_position(plan, position);
	u64 read, written;
	u32 ticks = 0;

	if (p->kind != NPUMEM_POSITION_STEP)
		return p->kind == NPUMEM_POSITION_DROP ? 0 : p->length;
	npuv_copy_bytes(plan, position, &ticks, &read, &written);
	return read + written;
}

static uint32_t engine_of(const struct npuv_plan *plan, uint32_t position)
{
	return npuv_position(plan, position)->kind == NPUMEM_POSITION_STEP ? STEPS : TRANSFERS;
}

/* When the last job ends, in seconds. */
static double two_engines(const struct npuv_plan *plan, const double *rate)
{
	double *ends[ENGINES], end = 0;
	uint32_t i, number[ENGINES] = { 0 };
	struct npuv_hazards *hazards;

	for (i = 0; i < ENGINES; i++)
		ends[i] = calloc(plan->positions.count + 1, sizeof(double));
	if (npuv_hazards_create(plan, ENGINES, &hazards) || !ends[0] || !ends[1])
		abort();
	for (i = 0; i < plan->positions.count; i++) {
		uint32_t after[ENGINES] = { 0 }, e = engine_of(plan, i), other = !e;
		double start;

		npuv_hazards_submit(hazards, i, e, ++number[e], after);
		start = ends[e][number[e] - 1];
		if (start < ends[other][after[other]])
			start = ends[other][after[other]];
		ends[e][number[e]] = start + (double)bytes_at(plan, i) / rate[e];
		if (end < ends[e][number[e]])
			end = ends[e][number[e]];
	}
	npuv_hazards_destroy(hazards);
	free(ends[0]);
	free(ends[1]);
	return end;
}

int main(int argc, char **argv)
{
	double rate[ENGINES] = { 0 }, bytes[ENGINES] = { 0 };
	struct npumem_verdict verdict;
	struct npuv_graph *graph;
	struct npuv_plan *plan;
	size_t graph_size, plan_size;
	void *graph_blob, *plan_blob;
	uint32_t i;

	if (argc != 5) {
		fprintf(stderr,
			"usage: npumem_overlap GRAPH-BLOB PLAN-BLOB STEPS-MS TRANSFERS-MS\n");
		return 2;
	}
	graph_blob = read_file(argv[1], &graph_size);
	plan_blob = read_file(argv[2], &plan_size);
	if (npuv_graph_create(graph_blob, graph_size, &npuv_default_limits, NULL, &verdict,
			      &graph) ||
	    npuv_plan_create(graph, plan_blob, plan_size, &npuv_default_limits, NULL, &verdict,
			     &plan)) {
		fprintf(stderr, "npumem_overlap: the plan is refused\n");
		return 1;
	}
	for (i = 0; i < plan->positions.count; i++)
		bytes[engine_of(plan, i)] += (double)bytes_at(plan, i);
	rate[STEPS] = bytes[STEPS] * 1000 / atof(argv[3]);
	rate[TRANSFERS] = bytes[TRANSFERS] * 1000 / atof(argv[4]);
	printf("steps_rate=%.0f transfers_rate=%.0f one_ms=%.0f two_ms=%.0f\n", rate[STEPS],
	       rate[TRANSFERS],
	       1000 * (bytes[STEPS] / rate[STEPS] + bytes[TRANSFERS] / rate[TRANSFERS]),
	       1000 * two_engines(plan, rate));
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
	free(graph_blob);
	free(plan_blob);
	return 0;
}
