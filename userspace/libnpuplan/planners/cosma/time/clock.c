// SPDX-License-Identifier: MIT
/* This file says how long steps and transfers take. */
#include "clock.h"

#include <string.h>

#include "base/region.h"
#include "graph/operations.h"

#define MAX_RATE    1000000000000ull
#define MAX_LATENCY 1000000000ull
#define PS_PER_US   1000000u
#define PS_PER_NS   1000u

typedef unsigned __int128 wide;

/* Picoseconds of @units at @rate units a microsecond, rounded up; no time at rate 0. */
static uint64_t time_of(uint64_t units, uint64_t rate)
{
	wide time = rate ? ((wide)units * PS_PER_US + rate - 1) / rate : 0;

	return time < COSMA_TIME_MAX ? (uint64_t)time : COSMA_TIME_MAX;
}

int cosma_machine_check(const struct npuplan_machine *machine, struct npuplan_error *error)
{
	const struct {
		bool wrong;
		const char *what;
	} all[] = {
		{ !machine->copy, "it copies no bytes" },
		{ !machine->compute && !machine->access, "its steps take no time" },
		{ machine->compute > MAX_RATE || machine->access > MAX_RATE ||
			  machine->copy > MAX_RATE,
		  "more than 10^12 a microsecond" },
		{ machine->latency > MAX_LATENCY, "a transfer begins after more than a second" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].wrong)
			return npuplan_fail(error, -EINVAL, "a machine that makes no sense: %s",
					    all[i].what);
	return 0;
}

uint64_t cosma_copies_time(const struct npuplan_machine *machine, uint64_t bytes, uint64_t count)
{
	wide latency = (wide)count * machine->latency * PS_PER_NS;

	return cosma_later(time_of(bytes, machine->copy),
			   latency < COSMA_TIME_MAX ? (uint64_t)latency : COSMA_TIME_MAX);
}

uint64_t cosma_copy_time(const struct npuplan_machine *machine, uint64_t bytes)
{
	return cosma_copies_time(machine, bytes, 1);
}

/* Elements whose sums a tensor has in the making; 0: it has none. */
static uint64_t sums_of(const struct npuplan_graph *graph, uint32_t tensor)
{
	uint32_t first = graph->tensor_count - graph->added_count;

	if (tensor < first || graph->added[tensor - first].kind != NPUPLAN_ADDED_SUMS)
		return 0;
	return graph->tensors[tensor].size / graph->tensors[tensor].elem_size;
}

/*
 * Bytes that a step reads and writes; and @written, by which steps share what their operator
 * computes: bytes that it writes, or, of a step that adds up a part of each sum, sums.
 */
static void count_bytes(const struct npuplan_graph *graph, uint32_t s, uint64_t *all,
			uint64_t *written)
{
	const struct npuplan_step *step = &graph->steps[s];
	uint64_t sums = 0;

	*all = *written = 0;
	for (uint32_t a = step->first_access; a < step->first_access + step->access_count; a++) {
		const struct npumem_access *access = &graph->accesses[a];
		const struct npumem_tile *tile = &graph->tiles[access->tile];
		uint64_t bytes = chunks_bytes(&tile->region);

		*all += access->mode & NPUMEM_ACCESS_READ ? bytes : 0;
		*all += access->mode & NPUMEM_ACCESS_WRITE ? bytes : 0;
		*written += access->mode & NPUMEM_ACCESS_WRITE ? bytes : 0;
		sums += sums_of(graph, tile->tensor);
	}
	*written = sums ? sums : *written;
}

/*
 * What steps share of an operator: all that they write together; in patches its outputs, since some
 * of what these have is computed again.
 */
static uint64_t *shares_of(const struct npuplan_graph *graph)
{
	uint64_t *of_op = npuplan_calloc((size_t)graph->op_count + 1, sizeof(*of_op));
	uint64_t all, written;

	for (uint32_t s = 0; s < graph->step_count && of_op; s++) {
		count_bytes(graph, s, &all, &written);
		if (graph->steps[s].op < graph->op_count)
			of_op[graph->steps[s].op] += written;
	}
	for (uint32_t i = 0; i < graph->tiling.patch_count && of_op; i++) {
		const struct npuplan_patches *patches = &graph->tiling.patches[i];

		for (uint32_t v = patches->first; v <= patches->last; v++)
			of_op[v] = graph->tensors[graph->ops[v].outputs[0]].size;
	}
	return of_op;
}

int cosma_step_times(const struct npuplan_graph *graph, const struct npuplan_machine *machine,
		     uint64_t *times, struct npuplan_error *error)
{
	uint64_t *of_op = shares_of(graph);
	uint64_t all, written;
	char label[96];

	if (!of_op)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	for (uint32_t s = 0; s < graph->step_count; s++) {
		uint32_t op = graph->steps[s].op;
		uint64_t bytes, compute = 0;

		count_bytes(graph, s, &all, &written);
		bytes = time_of(all, machine->access);
		if (op < graph->op_count && of_op[op])
			compute =
				time_of((uint64_t)(((wide)npuplan_operations(graph, op) * written +
						    of_op[op] - 1) /
						   of_op[op]),
					machine->compute);
		times[s] = compute > bytes ? compute : bytes;
	}
	npuplan_free(of_op);
	for (uint32_t s = 0; s < graph->step_count && !machine->access; s++)
		if (graph->steps[s].op >= graph->op_count)
			return npuplan_fail(
				error, -EOPNOTSUPP,
				"%s: it is not known what it computes, so it takes the "
				"time of the bytes that it accesses: at which bandwidth?",
				npuplan_step_label(graph, s, label));
	return 0;
}
