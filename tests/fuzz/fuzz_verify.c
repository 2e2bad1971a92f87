/* SPDX-License-Identifier: MIT */
/*
 * The verifier: a graph blob and a plan blob, the graph's length before them as
 * a 32-bit little-endian word (what a hostile client and a wrong daemon hand the
 * driver). Whatever is accepted must run: in the plan's order every step goes.
 */
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

static void check_run(const struct npuv_plan *plan)
{
	struct npumem_verdict verdict;
	struct npuv_states *states;
	uint32_t i, a;

	if (npuv_states_create(plan, &states))
		abort();
	for (i = 0; i < plan->positions.count; i++) {
		const struct npumem_step *step =
			npuv_step(plan->graph, npuv_position(plan, i)->index);

		if (npuv_states_submit(states, i, &verdict))
			abort();
		if (!npuv_states_submit(states, i, &verdict))
			abort();
		for (a = step->first_access; a < step->first_access + step->access_count; a++) {
			struct npuv_range range;
			struct npuv_walk walk;

			npuv_walk_begin(&walk, plan, i, a);
			while (npuv_walk_next(&walk, &range))
				if (range.arena + range.length > plan->info->arena_size)
					abort();
		}
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
