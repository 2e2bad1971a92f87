// SPDX-License-Identifier: MIT
/* This file gives states their places in one of two banks. */
#include "banks.h"

#include "base/align.h"
#include "base/internal.h"
#include "base/region.h"

/* Returns the bytes that a step accesses of states, at most all of them. */
static uint64_t bytes_of_step(const struct cosma_units *units, const struct npuplan_graph *graph,
			      const struct npuplan_step *step)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < units->state_count; i++) {
		uint64_t bytes = 0, size = units->state[i].size;

		for (uint32_t a = 0; a < step->access_count; a++) {
			const struct npumem_tile *tile =
				&graph->tiles[graph->accesses[step->first_access + a].tile];
			const uint32_t *count = tile->region.count;

			if (npuplan_base_of(graph, tile->tensor) == units->state[i].tensor)
				bytes += tile->region.length * count[0] * count[1] * count[2];
		}
		all += bytes < size ? bytes : size;
	}
	return all;
}

/* Returns the alignment of what begins with the states. */
static uint64_t alignment_of(const struct cosma_units *units, const struct npuplan_graph *graph,
			     uint32_t alignment)
{
	uint64_t most = alignment ? alignment : 1;

	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].kind == NPUMEM_TENSOR_STATE && graph->tensors[t].align > most)
			most = graph->tensors[t].align;
	return most;
}

/* Moves the states to the end of bank 1; false if that has no room for them and more. */
static bool move_to_end(struct cosma_units *units, uint64_t align, struct npuplan_bank *room)
{
	uint64_t base;

	if (room[1].size <= units->state_end)
		return false;
	base = (room[0].size + room[1].size - units->state_end) / align * align;
	if (base <= room[0].size)
		return false;
	for (uint32_t i = 0; i < units->state_count; i++)
		units->state[i].offset += base;
	room[1].size = base - room[0].size;
	units->state_end = 0;
	return true;
}

/* Leaves the states at the beginning of bank 0; false if that has no room for them and more. */
static bool leave_at_beginning(const struct cosma_units *units, struct npuplan_bank *room)
{
	if (room[0].size <= units->state_end)
		return false;
	room[0].size -= units->state_end;
	return true;
}

int cosma_banks_states(struct cosma_units *units, const struct npuplan_graph *graph,
		       uint32_t alignment, struct npuplan_bank room[NPUPLAN_BANKS],
		       uint64_t touched[NPUPLAN_BANKS], struct npuplan_error *error)
{
	uint32_t fast = room[1].bandwidth > room[0].bandwidth, bank = NPUPLAN_BANKS;
	uint64_t align = alignment_of(units, graph, alignment), bytes = units->state_end;

	touched[0] = touched[1] = 0;
	for (uint32_t i = 0; i < NPUPLAN_BANKS && bank == NPUPLAN_BANKS; i++) {
		uint32_t next = i ? !fast : fast;

		if (next ? move_to_end(units, align, room) : leave_at_beginning(units, room))
			bank = next;
	}
	if (bank == NPUPLAN_BANKS)
		return npuplan_fail(
			error, -ETIMEDOUT,
			"unknown: state takes %llu bytes, and neither bank has room for "
			"that and more; plans with state in both are not searched",
			(unsigned long long)bytes);
	for (uint32_t s = 0; s < graph->step_count; s++)
		touched[bank] += bytes_of_step(units, graph, &graph->steps[s]);
	return 0;
}
