/* SPDX-License-Identifier: MIT */
/*
 * The verifier: a graph blob and a plan blob, the graph's length before them as
 * a 32-bit little-endian word (what a hostile client and a wrong daemon hand the
 * driver). Whatever is accepted must run: in the plan's order every step goes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(int err, const struct npuv_log *log)
{
	if (err != -EBADMSG && err != -EINVAL && err != -E2BIG && err != -EOPNOTSUPP)
		abort();
	if (!log->used)
		abort();
}

static void check_ranges(const struct npuv_plan *plan, uint32_t position)
{
	bool transfer = npuv_position(plan, position)->kind != NPUMEM_POSITION_STEP;
	const struct npumem_step *step = npuv_step(plan->graph, npuv_step_at(plan, position));
	uint32_t first = transfer ? 0 : step->first_access, a;

	for (a = first; a < first + step->access_count; a++) {
		struct npuv_range range;
		struct npuv_walk walk;

		npuv_walk_begin(&walk, plan, position, a);
		while (npuv_walk_next(&walk, &range)) {
			uint64_t end = plan->info->arena_size;

			if (range.external == NPUV_HOST)
				end = plan->info->host_size;
			else if (range.external != NPUMEM_NONE)
				end = npuv_tensor(plan->graph, range.external)->size;

			if (range.arena + range.length > end)
				abort();
		}
	}
}

/* The edge from an instance that comes next after one, going round. */
static uint32_t next_edge(const struct npuv_plan *plan, uint32_t instance, uint32_t after)
{
	uint32_t i, edge;

	for (i = 1; i <= plan->edges.count; i++) {
		edge = (uint32_t)(((uint64_t)after + i) % plan->edges.count);
		if (npuv_plan_edge(plan, edge)->from == instance)
			return edge;
	}
	return NPUMEM_NONE;
}

/* In the order of the plan every step goes, once; then along some edges. */
static void check_run(const struct npuv_plan *plan)
{
	struct npumem_verdict verdict;
	struct npuv_states *states;
	uint32_t i, crossed, edge = 0;

	if (npuv_states_create(plan, &states))
		abort();
	for (crossed = 0; crossed < 32; crossed++) {
		const struct npumem_plan_block *b = npuv_plan_block(plan, states->block);

		for (i = b->first_position; i < b->first_position + b->position_count; i++) {
			if (npuv_states_submit(states, i, &verdict))
				abort();
			if (!npuv_states_submit(states, i, &verdict))
				abort();
			check_ranges(plan, i);
		}
		if (!plan->graph->edges.count)
			break;
		edge = next_edge(plan, states->block, edge);
		if (edge == NPUMEM_NONE || npuv_states_cross(states, edge, &verdict))
			abort();
		if (states->block == NPUMEM_NONE)
			npuv_states_uncross(states, edge);
		if (states->block == npuv_plan_edge(plan, edge)->from &&
		    npuv_plan_edge(plan, edge)->to == NPUMEM_NONE)
			npuv_states_reset(states);
	}
	npuv_states_destroy(states);
}

/* Blobs of their own, so that reads beyond them are seen. */
static void *copy(const uint8_t *data, size_t size)
{
	void *blob = malloc(size ? size : 1);

	if (!blob)
		abort();
	memcpy(blob, data, size);
	return blob;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Small limits: what is slow is no finding, what is unbounded is. */
	const struct npuv_limits limits = { 1 << 20, 1 << 12, 1 << 14, 1 << 18 };
	struct npuv_graph *graph = NULL;
	struct npuv_plan *plan = NULL;
	struct npumem_verdict verdict;
	struct npuv_log log;
	void *first, *second;
	char text[512];
	uint32_t length;
	int err;

	if (size < sizeof(length))
		return 0;
	memcpy(&length, data, sizeof(length));
	data += sizeof(length);
	size -= sizeof(length);
	length = length > size ? (uint32_t)size : length;
	first = copy(data, length);
	second = copy(data + length, size - length);
	npuv_log_init(&log, 2, text, sizeof(text));
	err = npuv_graph_create(first, length, &limits, &log, &verdict, &graph);
	if (!err)
		err = npuv_plan_create(graph, second, size - length, &limits, &log, &verdict,
				       &plan);
	if (err)
		check_refusal(err, &log);
	else
		check_run(plan);
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
	free(first);
	free(second);
	return 0;
}
