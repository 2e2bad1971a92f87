// SPDX-License-Identifier: MIT
#include "print_line.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that a placement has of a column. */
struct share {
	uint64_t bytes;
	uint32_t placement;
};

/*
 * struct npuplan_column - one character of the arena's picture
 * @taken: bytes of it that all placements have; above its width two overlap
 * @shares: a heap, the largest first: of placements that are drawn, and of some that
 *	have been wiped since
 */
struct npuplan_column {
	uint64_t taken;
	struct share *shares;
	uint32_t count;
};

char npuplan_symbol(uint32_t tensor)
{
	static const char symbols[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	return symbols[tensor % (sizeof(symbols) - 1)];
}

/* Column c shows bytes [c * arena / columns, (c + 1) * arena / columns), at least one. */
static uint64_t column_begin(const struct npuplan_line *line, unsigned int c)
{
	return (unsigned __int128)line->arena * c / line->column_count;
}

static uint64_t column_end(const struct npuplan_line *line, unsigned int c)
{
	uint64_t begin = column_begin(line, c), end = column_begin(line, c + 1);

	return end > begin ? end : begin + 1;
}

/* ------------------------------------------------------------------------- ranges */

static int add_range(struct npuplan_line *line, struct npuplan_range range)
{
	int err = npuplan_grow(&line->ranges, line->range_count, sizeof(range));

	if (err)
		return err;
	line->ranges[line->range_count++] = range;
	return 0;
}

static int add_placement(struct npuplan_line *line, const struct npumem_placement *placement)
{
	const struct npumem_region *region = &placement->region;
	size_t first = line->range_count;
	uint32_t slots = region->count[2];

	if (placement->ring && placement->ring < slots)
		slots = placement->ring;
	for (uint32_t k = 0; k < slots; k++)
		for (uint32_t j = 0; j < region->count[1]; j++)
			for (uint32_t i = 0; i < region->count[0]; i++) {
				uint64_t begin = placement->offset + k * placement->stride[2] +
						 j * placement->stride[1] +
						 i * placement->stride[0];
				struct npuplan_range *last =
					line->range_count > first ?
						&line->ranges[line->range_count - 1] :
						NULL;

				if (last && last->end == begin)
					last->end += region->length;
				else if (add_range(line, (struct npuplan_range){
								 begin, begin + region->length }))
					return -ENOMEM;
			}
	return 0;
}

int npuplan_line_init(struct npuplan_line *line, const struct npuplan_plan *plan,
		      const uint32_t *placements, uint32_t count, unsigned int columns)
{
	uint64_t *at;

	*line = (struct npuplan_line){
		.first_range = malloc(((size_t)count + 1) * sizeof(*line->first_range)),
		.symbols = malloc((size_t)count + 1),
		.drawn = calloc((size_t)count + 1, sizeof(*line->drawn)),
		.arena = plan->info.arena_size,
		.column_count = columns,
		.columns = calloc(columns, sizeof(*line->columns)),
	};
	if (!line->first_range || !line->symbols || !line->drawn || !line->columns)
		return -ENOMEM;
	for (uint32_t k = 0; k < count; k++) {
		const struct npumem_placement *placement = &plan->placements[placements[k]];

		line->first_range[k] = line->range_count;
		line->symbols[k] = npuplan_symbol(placement->tensor);
		if (add_placement(line, placement))
			return -ENOMEM;
	}
	line->first_range[count] = line->range_count;
	at = malloc(2 * line->range_count * sizeof(*at) + 1);
	for (size_t r = 0; r < line->range_count && at; r++) {
		at[2 * r] = line->ranges[r].begin;
		at[2 * r + 1] = line->ranges[r].end;
	}
	return cover_init(&line->covered, at, 2 * line->range_count);
}

void npuplan_line_fini(struct npuplan_line *line)
{
	for (unsigned int c = 0; c < line->column_count && line->columns; c++)
		free(line->columns[c].shares);
	free_all(line->columns, line->ranges, line->first_range, line->symbols, line->drawn);
	cover_fini(&line->covered);
	*line = (struct npuplan_line){ 0 };
}

/* ------------------------------------------------------------------------ columns */

static bool is_before(const struct share *a, const struct share *b)
{
	return a->bytes != b->bytes ? a->bytes > b->bytes : a->placement < b->placement;
}

static int push(struct npuplan_column *column, struct share share)
{
	uint32_t at = column->count;

	if (npuplan_grow(&column->shares, at, sizeof(share)))
		return -ENOMEM;
	column->count++;
	for (; at && is_before(&share, &column->shares[(at - 1) / 2]); at = (at - 1) / 2)
		column->shares[at] = column->shares[(at - 1) / 2];
	column->shares[at] = share;
	return 0;
}

static void pop(struct npuplan_column *column)
{
	struct share last = column->shares[--column->count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < column->count) {
		if (child + 1 < column->count &&
		    is_before(&column->shares[child + 1], &column->shares[child]))
			child++;
		if (!is_before(&column->shares[child], &last))
			break;
		column->shares[at] = column->shares[child];
		at = child;
	}
	column->shares[at] = last;
}

/* Bytes of each column that a placement has; @first, @end: columns that it touches. */
static void find_shares(const struct npuplan_line *line, uint32_t k, uint64_t *own,
			unsigned int *first, unsigned int *end)
{
	uint64_t arena = line->arena ? line->arena : 1;
	unsigned int columns = line->column_count;

	memset(own, 0, columns * sizeof(*own));
	*first = columns;
	*end = 0;
	for (size_t r = line->first_range[k]; r < line->first_range[k + 1]; r++) {
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

int npuplan_line_draw(struct npuplan_line *line, uint32_t k)
{
	uint64_t own[NPUPLAN_MAX_COLUMNS];
	unsigned int first, end;

	if (line->drawn[k])
		return 0;
	line->drawn[k] = true;
	find_shares(line, k, own, &first, &end);
	for (unsigned int c = first; c < end; c++) {
		line->columns[c].taken += own[c];
		if (own[c] && push(&line->columns[c], (struct share){ own[c], k }))
			return -ENOMEM;
	}
	for (size_t r = line->first_range[k]; r < line->first_range[k + 1]; r++)
		cover_add(&line->covered, line->ranges[r].begin, line->ranges[r].end);
	return 0;
}

void npuplan_line_wipe(struct npuplan_line *line, uint32_t k)
{
	uint64_t own[NPUPLAN_MAX_COLUMNS];
	unsigned int first, end;

	if (!line->drawn[k])
		return;
	line->drawn[k] = false;
	find_shares(line, k, own, &first, &end);
	for (unsigned int c = first; c < end; c++)
		line->columns[c].taken -= own[c];
	for (size_t r = line->first_range[k]; r < line->first_range[k + 1]; r++)
		cover_remove(&line->covered, line->ranges[r].begin, line->ranges[r].end);
}

void npuplan_line_print(struct npuplan_line *line, bool verified, FILE *out)
{
	for (unsigned int c = 0; c < line->column_count; c++) {
		struct npuplan_column *column = &line->columns[c];
		uint64_t width = column_end(line, c) - column_begin(line, c);

		/* Those that have been wiped. */
		while (column->count && !line->drawn[column->shares[0].placement])
			pop(column);
		if (!column->taken)
			fputc('.', out);
		else if (column->taken > width)
			fputc(verified ? '+' : '!', out);
		else
			fputc(line->symbols[column->shares[0].placement], out);
	}
}
