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

/* Extent in the arena of a placement, with what gaps it has. */
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

/**
 * struct column - one character of the arena's picture at one position
 * @most: bytes of it that the tensor drawn has, 0 if nobody has any
 * @taken: bytes of it that all tensors have; above its width two overlap
 * @symbol: of the tensor that has most of it
 */
struct column {
	uint64_t most;
	uint64_t taken;
	char symbol;
};

/* Column c shows bytes [c * arena / columns, (c + 1) * arena / columns), at least one. */
static uint64_t column_begin(uint64_t arena, unsigned int columns, unsigned int c)
{
	return (unsigned __int128)arena * c / columns;
}

static uint64_t column_end(uint64_t arena, unsigned int columns, unsigned int c)
{
	uint64_t begin = column_begin(arena, columns, c), end = column_begin(arena, columns, c + 1);

	return end > begin ? end : begin + 1;
}

/* Arena bytes [begin, end). */
struct range {
	uint64_t begin;
	uint64_t end;
};

/**
 * struct ranges - bytes that have a place at a position
 * @ranges: @count of them, room for @capacity
 */
struct ranges {
	struct range *ranges;
	size_t count;
	size_t capacity;
};

static int add_range(struct ranges *all, struct range range)
{
	if (all->count == all->capacity) {
		size_t capacity = all->capacity ? 2 * all->capacity : 64;
		void *grown = realloc(all->ranges, capacity * sizeof(*all->ranges));

		if (!grown)
			return -ENOMEM;
		all->ranges = grown;
		all->capacity = capacity;
	}
	all->ranges[all->count++] = range;
	return 0;
}

static int add_placement(struct ranges *all, const struct npumem_placement *placement)
{
	const struct npumem_region *region = &placement->region;
	uint32_t slots = region->count[2];
	size_t first = all->count;

	if (placement->ring && placement->ring < slots)
		slots = placement->ring;
	for (uint32_t k = 0; k < slots; k++)
		for (uint32_t j = 0; j < region->count[1]; j++)
			for (uint32_t i = 0; i < region->count[0]; i++) {
				uint64_t begin = placement->offset + k * placement->stride[2] +
						 j * placement->stride[1] +
						 i * placement->stride[0];
				struct range *last =
					all->count > first ? &all->ranges[all->count - 1] : NULL;

				if (last && last->end == begin)
					last->end += region->length;
				else if (add_range(all,
						   (struct range){ begin, begin + region->length }))
					return -ENOMEM;
			}
	return 0;
}

static int by_begin(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Bytes in at least one range, which are then in order. */
static uint64_t count_bytes(struct ranges *all)
{
	uint64_t bytes = 0, end = 0;

	if (all->count)
		qsort(all->ranges, all->count, sizeof(*all->ranges), by_begin);
	for (size_t i = 0; i < all->count; i++) {
		const struct range *range = &all->ranges[i];

		if (range->end <= end)
			continue;
		bytes += range->end - (range->begin > end ? range->begin : end);
		end = range->end;
	}
	return bytes;
}

/* A placement's ranges: the character is its tensor's where it has most of a column. */
static void draw(struct column *line, unsigned int columns, uint64_t arena,
		 const struct range *ranges, size_t count, char character)
{
	uint64_t own[MAX_COLUMNS] = { 0 };

	for (size_t i = 0; i < count; i++) {
		uint64_t begin = ranges[i].begin, end = ranges[i].end;

		for (unsigned int c = (unsigned __int128)begin * columns / (arena ? arena : 1);
		     c < columns && column_begin(arena, columns, c) < end; c++) {
			uint64_t first = column_begin(arena, columns, c);
			uint64_t last = column_end(arena, columns, c);
			uint64_t from = begin > first ? begin : first;
			uint64_t to = end < last ? end : last;

			if (from < to)
				own[c] += to - from;
		}
	}
	for (unsigned int c = 0; c < columns; c++) {
		line[c].taken += own[c];
		if (own[c] <= line[c].most)
			continue;
		line[c].most = own[c];
		line[c].symbol = character;
	}
}

/*
 * '.' for nobody; for bytes that two tensors have '+' if one has them after the other,
 * as in all plans that verify, otherwise '!', as TFLM prints them.
 */
static void print_line(const struct column *line, unsigned int columns, uint64_t arena,
		       bool verified, FILE *out)
{
	for (unsigned int c = 0; c < columns; c++) {
		uint64_t width = column_end(arena, columns, c) - column_begin(arena, columns, c);
		char twice = verified ? '+' : '!';

		fputc(!line[c].taken ? '.' : line[c].taken > width ? twice : line[c].symbol, out);
	}
}

/* No more of a tensor than there is: then there are not too many ranges either. */
static bool fits(const struct npuplan_graph *graph, const struct npumem_placement *placement)
{
	uint64_t bytes = placement->region.length, size;

	if (placement->tensor >= graph->tensor_count)
		return false;
	size = graph->tensors[placement->tensor].size;
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		uint64_t count = placement->region.count[d];

		if (!bytes || !count || bytes > size / count)
			return false;
		bytes *= count;
	}
	return true;
}

static void print_head(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       unsigned int columns, FILE *out)
{
	char arena[32], bound[32];

	npuplan_format_bytes(plan->info.arena_size, arena);
	npuplan_format_bytes(plan->info.lower_bound, bound);
	fprintf(out,
		"%s: planner %s\narena %llu (%s), lower bound %llu (%s), %u columns of %llu bytes\n",
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

/* What has no place of its own. */
static void print_others(const struct npuplan_graph *graph, FILE *out)
{
	char label[96], base[96];

	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];

		if (tensor->flags & NPUMEM_TENSOR_ALIAS)
			fprintf(out, "  (id=%lld): bytes %llu to %llu of %s: %s\n",
				(long long)tensor->id, (unsigned long long)tensor->alias_offset,
				(unsigned long long)(tensor->alias_offset + tensor->size - 1),
				npuplan_tensor_label(graph, tensor->alias_of, base),
				npuplan_tensor_label(graph, i, label));
		else if (tensor->flags & NPUMEM_TENSOR_EXTERNAL)
			fprintf(out, "  (id=%lld): external, %llu bytes: %s\n",
				(long long)tensor->id, (unsigned long long)tensor->size,
				npuplan_tensor_label(graph, i, label));
	}
}

static void print_position(const struct npuplan_graph *graph,
			   const struct npumem_position *position, FILE *out)
{
	static const char *const kinds[] = { "step", "load", "spill", "fill", "drop", "store" };
	char label[96];

	if (position->kind == NPUMEM_POSITION_STEP)
		fprintf(out, "%s", npuplan_step_label(graph, position->index, label));
	else
		fprintf(out, "%s %s", position->kind < 6 ? kinds[position->kind] : "?",
			npuplan_tensor_label(graph, position->index, label));
}

/* "instance 2 of block 1: then 1 or the exit"; nothing for a straight plan. */
static void print_instance(const struct npuplan_plan *plan, uint32_t instance, FILE *out)
{
	const char *separator = ": then ";

	if (!plan->edge_count)
		return;
	fprintf(out, "instance %u of block %u", instance, plan->blocks[instance].block);
	for (uint32_t i = 0; i < plan->edge_count; i++) {
		if (plan->edges[i].from != instance)
			continue;
		if (plan->edges[i].to == NPUMEM_NONE)
			fprintf(out, "%sthe exit", separator);
		else
			fprintf(out, "%s%u", separator, plan->edges[i].to);
		separator = " or ";
	}
	fputc('\n', out);
}

/*
 * Names that come into a block with one value may share its bytes: those are
 * drawn once. Per placement whether it holds such a name.
 */
static bool *list_entered(const struct npuplan_plan *plan)
{
	bool *entered = calloc((size_t)plan->placement_count + 1, sizeof(*entered));

	for (uint32_t i = 0; i < plan->entry_count && entered; i++)
		if (plan->entries[i].placement < plan->placement_count)
			entered[plan->entries[i].placement] = true;
	return entered;
}

static bool is_drawn(const struct npuplan_plan *plan, const bool *entered, uint32_t placement,
		     uint32_t position)
{
	const struct npumem_placement *at = &plan->placements[placement];

	for (uint32_t i = 0; i < placement && entered[placement]; i++) {
		const struct npumem_placement *other = &plan->placements[i];

		/* A block without positions has placements at the next one's first. */
		if (entered[i] && other->block == at->block && other->from <= position &&
		    other->to >= position && other->offset == at->offset &&
		    extent(other) == extent(at))
			return true;
	}
	return false;
}

static uint32_t base_tensor(const struct npuplan_graph *graph, uint32_t tile)
{
	const struct npuplan_tensor *tensor = &graph->tensors[graph->tiles[tile].tensor];

	return tensor->flags & NPUMEM_TENSOR_ALIAS ? tensor->alias_of : graph->tiles[tile].tensor;
}

/*
 * Whether a placement's bytes are taken, at its last position, by an in-place
 * operator: they are the writer's then, and nobody is in anybody's way.
 */
static bool is_taken(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		     uint32_t placement, uint32_t position)
{
	const struct npumem_placement *at = &plan->placements[placement];
	const struct npumem_position *entry = &plan->positions[position];
	const struct npuplan_step *step;

	if (at->to != position || entry->kind != NPUMEM_POSITION_STEP ||
	    entry->index >= graph->step_count)
		return false;
	step = &graph->steps[entry->index];
	for (uint32_t a = step->first_access; a < step->first_access + step->access_count; a++) {
		const struct npumem_access *write = &graph->accesses[a];

		if (write->inplace == NPUMEM_NONE ||
		    base_tensor(graph, graph->accesses[step->first_access + write->inplace].tile) !=
			    at->tensor)
			continue;
		for (uint32_t i = 0; i < plan->placement_count; i++) {
			const struct npumem_placement *other = &plan->placements[i];

			if (other->tensor == base_tensor(graph, write->tile) &&
			    other->from <= position && other->to >= position &&
			    other->offset < at->offset + extent(at) &&
			    at->offset < other->offset + extent(other))
				return true;
		}
	}
	return false;
}

/**
 * struct printing - what is printed, and how
 * @entered: see list_entered()
 * @verified: the plan verifies
 * @ranges: of the position that is printed
 */
struct printing {
	const struct npuplan_graph *graph;
	const struct npuplan_plan *plan;
	bool *entered;
	bool verified;
	unsigned int columns;
	struct ranges ranges;
};

static int print_positions(struct printing *printing, uint32_t instance, FILE *out)
{
	const struct npuplan_graph *graph = printing->graph;
	const struct npuplan_plan *plan = printing->plan;
	unsigned int columns = printing->columns;
	struct ranges *ranges = &printing->ranges;
	const struct npumem_plan_block *block = &plan->blocks[instance];
	struct column line[MAX_COLUMNS];

	for (uint32_t p = block->first_position;
	     p < block->first_position + block->position_count && p < plan->position_count; p++) {
		memset(line, 0, sizeof(line));
		ranges->count = 0;
		for (uint32_t i = 0; i < plan->placement_count; i++) {
			const struct npumem_placement *placement = &plan->placements[i];
			size_t first = ranges->count;

			if (placement->block != instance || placement->from > p ||
			    placement->to < p || is_drawn(plan, printing->entered, i, p) ||
			    is_taken(graph, plan, i, p))
				continue;
			if (add_placement(ranges, placement))
				return -ENOMEM;
			draw(line, columns, plan->info.arena_size, ranges->ranges + first,
			     ranges->count - first, symbol(placement->tensor));
		}
		fprintf(out, "%5u: ", p);
		print_line(line, columns, plan->info.arena_size, printing->verified, out);
		fprintf(out, " (%lluk) ", (unsigned long long)(count_bytes(ranges) + 1023) / 1024);
		print_position(graph, &plan->positions[p], out);
		fputc('\n', out);
	}
	return 0;
}

int npuplan_plan_print(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       unsigned int columns, FILE *out)
{
	struct printing printing = { .graph = graph, .plan = plan, .columns = columns };
	struct npuplan_error error;
	int err;

	if (!columns || columns > MAX_COLUMNS)
		return -EINVAL;
	for (uint32_t i = 0; i < plan->placement_count; i++)
		if (!fits(graph, &plan->placements[i]))
			return -EINVAL;
	err = npuplan_verify_plan(graph, plan, NULL, &error);
	if (err == -ENOMEM)
		return err;
	printing.verified = !err;
	err = 0;
	printing.entered = list_entered(plan);
	if (!printing.entered)
		return -ENOMEM;
	print_head(graph, plan, columns, out);
	print_others(graph, out);
	for (uint32_t i = 0; i < plan->block_count && !err; i++) {
		print_instance(plan, i, out);
		err = print_positions(&printing, i, out);
	}
	free(printing.entered);
	free(printing.ranges.ranges);
	return err ? err : ferror(out) ? -EIO : 0;
}
