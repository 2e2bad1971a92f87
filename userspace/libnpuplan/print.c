// SPDX-License-Identifier: MIT
/*
 * A plan as text, in the style of TensorFlow Lite Micro's PrintMemoryPlan():
 * one line a step, a character for each of the arena's columns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAX_COLUMNS 512

static char symbol(uint32_t tensor)
{
	static const char symbols[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	return symbols[tensor % (sizeof(symbols) - 1)];
}

/* Extent in the arena of a placement; a ring or piece is drawn from end to end. */
static uint64_t extent(const struct npumem_placement *placement)
{
	uint64_t bytes = placement->region.length;

	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		uint64_t count = placement->region.count[d];

		if (d == 2 && placement->ring)
			count = placement->ring;
		if (count > 1)
			bytes += placement->stride[d] * (count - 1);
	}
	return bytes;
}

static void draw(char *line, unsigned int columns, uint64_t arena,
		 const struct npumem_placement *placement)
{
	uint64_t end = placement->offset + extent(placement);
	/* A column is marked if any byte of it is taken. */
	unsigned int first = (unsigned __int128)placement->offset * columns / arena;
	unsigned int last = ((unsigned __int128)end * columns + arena - 1) / arena;

	for (unsigned int c = first; c < last && c < columns; c++)
		line[c] = line[c] == '.' ? symbol(placement->tensor) : '!';
}

static void print_head(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       unsigned int columns, FILE *out)
{
	char arena[32], bound[32];

	npuplan_format_bytes(plan->info.arena_size, arena);
	npuplan_format_bytes(plan->info.lower_bound, bound);
	fprintf(out,
		"%s: planner %s, arena %llu (%s), lower bound %llu (%s), %u columns of %llu bytes\n",
		graph->name, plan->info.planner, (unsigned long long)plan->info.arena_size, arena,
		(unsigned long long)plan->info.lower_bound, bound, columns,
		(unsigned long long)((plan->info.arena_size + columns - 1) / columns));
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];
		long long id = graph->tensors[placement->tensor].id;
		char label[96];

		fprintf(out, "%c (id=%lld): offset %llu, %llu bytes, positions %u to %u: %s\n",
			symbol(placement->tensor), id, (unsigned long long)placement->offset,
			(unsigned long long)extent(placement), placement->from, placement->to,
			npuplan_tensor_label(graph, placement->tensor, label));
	}
}

static void print_position(const struct npuplan_graph *graph,
			   const struct npumem_position *position, FILE *out)
{
	static const char *const kinds[] = { "step", "load", "spill", "fill", "drop" };
	char label[96];

	if (position->kind == NPUMEM_POSITION_STEP)
		fprintf(out, "%s", npuplan_step_label(graph, position->index, label));
	else
		fprintf(out, "%s %s", position->kind < 5 ? kinds[position->kind] : "?",
			npuplan_tensor_label(graph, position->index, label));
}

int npuplan_plan_print(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       unsigned int columns, FILE *out)
{
	char line[MAX_COLUMNS + 1];

	if (!columns || columns > MAX_COLUMNS)
		return -EINVAL;
	print_head(graph, plan, columns, out);
	for (uint32_t p = 0; p < plan->position_count; p++) {
		uint64_t live = 0;

		memset(line, '.', columns);
		line[columns] = '\0';
		for (uint32_t i = 0; i < plan->placement_count; i++) {
			const struct npumem_placement *placement = &plan->placements[i];

			if (placement->from > p || placement->to < p)
				continue;
			live += extent(placement);
			if (plan->info.arena_size)
				draw(line, columns, plan->info.arena_size, placement);
		}
		fprintf(out, "%5u: %s (%lluk) ", p, line, (unsigned long long)(live + 1023) / 1024);
		print_position(graph, &plan->positions[p], out);
		fputc('\n', out);
	}
	return ferror(out) ? -EIO : 0;
}
