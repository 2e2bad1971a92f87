// SPDX-License-Identifier: MIT
#include "print_line.h"

#include <stdlib.h>
#include <string.h>

#include "../../chunks/chunks.h"
#include "base/queue.h"

/* struct overlap - the bytes of a column that a placement has */
struct overlap {
	uint64_t bytes;
	uint32_t placement;
};

/*
 * struct npuplan_column - one character of the arena's picture
 * @taken: sum of the bytes that placements have of it; more than its width: two of them overlap
 * @overlaps: a heap with the largest overlap first, of placements that are drawn, and of some that
 *	have been wiped since
 */
struct npuplan_column {
	uint64_t taken;
	struct overlap *overlaps;
	uint32_t count;
};

char npuplan_symbol(uint32_t tensor)
{
	static const char symbols[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	return symbols[tensor % (sizeof(symbols) - 1)];
}

/*
 * The first byte of a column. Column c shows bytes [c * arena / columns, (c + 1) * arena /
 * columns), at least one.
 */
static uint64_t column_begin(const struct npuplan_line *line, unsigned int c)
{
	return (unsigned __int128)line->plan->info.arena_size * c / line->column_count;
}

static uint64_t column_end(const struct npuplan_line *line, unsigned int c)
{
	uint64_t begin = column_begin(line, c), end = column_begin(line, c + 1);

	return end > begin ? end : begin + 1;
}

/* ------------------------------------------------------------------------- ranges */

static int add_placement(struct npuplan_line *line, const struct npumem_placement *placement)
{
	struct npumem_placement slots = *placement;
	struct chunks walk = chunks_of_placement(&slots);
	uint32_t first = line->range_count;
	int err = 0;

	/* One turn of a ring is enough: its other repetitions lie on the same bytes. */
	if (placement->ring && placement->ring < slots.region.count[2])
		slots.region.count[2] = placement->ring;
	while (!err && chunks_next(&walk)) {
		struct npuplan_print_range range = { walk.address,
						     walk.address + slots.region.length };
		struct npuplan_print_range *end = line->ranges + line->range_count;

		if (line->range_count > first && end[-1].end == range.begin)
			end[-1].end = range.end;
		else
			err = npuplan_append(&line->ranges, &line->range_count, &range, 1);
	}
	return err;
}

int npuplan_line_init(struct npuplan_line *line, const struct npuplan_plan *plan,
		      const uint32_t *placements, uint32_t count, unsigned int columns)
{
	uint64_t *at;

	*line = (struct npuplan_line){
		.plan = plan,
		.placements = placements,
		.column_count = columns,
	};
	line->first_range = npuplan_pool_take(&line->pool, (size_t)count + 1, sizeof(uint32_t));
	line->drawn = npuplan_pool_take(&line->pool, count, sizeof(*line->drawn));
	line->columns = npuplan_pool_take(&line->pool, columns, sizeof(*line->columns));
	if (line->pool.failed)
		return -ENOMEM;
	for (uint32_t k = 0; k < count; k++) {
		if (add_placement(line, &plan->placements[placements[k]]))
			return -ENOMEM;
		line->first_range[k + 1] = line->range_count;
	}
	at = malloc(line->range_count * sizeof(*line->ranges) + 1);
	if (at && line->range_count)
		memcpy(at, line->ranges, line->range_count * sizeof(*line->ranges));
	return cover_init(&line->covered, at, 2 * (size_t)line->range_count);
}

void npuplan_line_fini(struct npuplan_line *line)
{
	for (unsigned int c = 0; c < line->column_count && line->columns; c++)
		free(line->columns[c].overlaps);
	npuplan_pool_free(&line->pool);
	free(line->ranges);
	cover_fini(&line->covered);
}

/* ------------------------------------------------------------------------ columns */

static bool is_before(const struct npuplan_column *column, const struct overlap *a,
		      const struct overlap *b)
{
	return a->bytes != b->bytes ? a->bytes > b->bytes : a->placement < b->placement;
}

NPUPLAN_QUEUE(overlap, struct overlap, struct npuplan_column, is_before)

/*
 * Find the bytes that a placement has of each column, into @own, and the columns [@first, @end)
 * that it touches.
 */
static void find_overlaps(const struct npuplan_line *line, uint32_t k, uint64_t *own,
			  unsigned int *first, unsigned int *end)
{
	uint64_t arena = line->plan->info.arena_size ?: 1;
	unsigned int columns = line->column_count;

	memset(own, 0, columns * sizeof(*own));
	*first = columns;
	*end = 0;
	for (uint32_t r = line->first_range[k]; r < line->first_range[k + 1]; r++) {
		uint64_t low = line->ranges[r].begin, high = line->ranges[r].end;
		unsigned __int128 c = (unsigned __int128)low * columns / arena;

		for (; c < columns && column_begin(line, c) < high; c++) {
			uint64_t begin = column_begin(line, c), stop = column_end(line, c);
			uint64_t from = low > begin ? low : begin;
			uint64_t to = high < stop ? high : stop;

			if (from >= to)
				continue;
			own[c] += to - from;
			*first = c < *first ? c : *first;
			*end = c >= *end ? c + 1 : *end;
		}
	}
}

int npuplan_line_draw(struct npuplan_line *line, uint32_t k, bool drawn)
{
	uint64_t own[NPUPLAN_MAX_COLUMNS];
	unsigned int first, end;

	if (line->drawn[k] == drawn)
		return 0;
	line->drawn[k] = drawn;
	find_overlaps(line, k, own, &first, &end);
	for (unsigned int c = first; c < end; c++) {
		struct npuplan_column *column = &line->columns[c];

		column->taken += drawn ? own[c] : -own[c];
		if (!drawn || !own[c])
			continue;
		if (npuplan_grow(&column->overlaps, column->count, sizeof(*column->overlaps)))
			return -ENOMEM;
		overlap_put(column, column->overlaps, column->count, (struct overlap){ own[c], k });
		column->count++;
	}
	for (uint32_t r = line->first_range[k]; r < line->first_range[k + 1]; r++)
		(drawn ? cover_add : cover_remove)(&line->covered, line->ranges[r].begin,
						   line->ranges[r].end);
	return 0;
}

void npuplan_line_print(struct npuplan_line *line, bool verified, FILE *out)
{
	for (unsigned int c = 0; c < line->column_count; c++) {
		struct npuplan_column *column = &line->columns[c];
		uint64_t width = column_end(line, c) - column_begin(line, c);
		uint32_t k;

		/* Drop overlaps of placements that have been wiped. */
		while (column->count && !line->drawn[column->overlaps[0].placement])
			overlap_take(column, column->overlaps, column->count--);
		if (!column->taken) {
			fputc('.', out);
		} else if (column->taken > width) {
			fputc(verified ? '+' : '!', out);
		} else {
			k = line->placements[column->overlaps[0].placement];
			fputc(npuplan_symbol(line->plan->placements[k].tensor), out);
		}
	}
}
