/* SPDX-License-Identifier: MIT */
/*
 * The arena as one line of characters, while placements come and go. Drawing a placement costs time
 * for the columns that it touches, however many others there are.
 */
#pragma once

#include <stdio.h>

#include "../../cover/cover.h"
#include "base/internal.h"

#define NPUPLAN_MAX_COLUMNS 512

/* struct npuplan_print_range - arena bytes [begin, end) */
struct npuplan_print_range {
	uint64_t begin;
	uint64_t end;
};

/*
 * struct npuplan_line - the line, with the placements that are drawn in it
 * @placements: the placements that may be drawn, as indices into the plan's; @count of them
 * @first_range: the bytes of placement k of @placements are ranges[first_range[k] .. first_range[k
 *	+ 1])
 * @drawn: per placement of @placements, whether it is drawn
 * @columns: number of columns, and each with the placements that have bytes of it
 * @covered: which bytes are in some placement that is drawn
 */
struct npuplan_line {
	const struct npuplan_plan *plan;
	const uint32_t *placements;
	struct npuplan_pool pool;
	struct npuplan_print_range *ranges;
	uint32_t range_count;
	uint32_t *first_range;
	bool *drawn;
	unsigned int column_count;
	struct npuplan_column *columns;
	struct cover covered;
};

/* npuplan_line_init() - begin a line with nothing drawn
 * @placements: indices of the plan's placements that may be drawn. If two have as many bytes of a
 *	column, it shows the first of them. Plan and array must outlive the line
 *
 * Returns 0 or -ENOMEM; the caller calls npuplan_line_fini() in any case.
 */
int npuplan_line_init(struct npuplan_line *line, const struct npuplan_plan *plan,
		      const uint32_t *placements, uint32_t count, unsigned int columns);
void npuplan_line_fini(struct npuplan_line *line);

/* npuplan_line_draw() - draw a placement, or wipe it
 * @k: number in the array that npuplan_line_init() was given
 * @drawn: false: wipe it. Drawing or wiping it twice is as once
 *
 * -ENOMEM, but never when wiping.
 */
int npuplan_line_draw(struct npuplan_line *line, uint32_t k, bool drawn);

/* npuplan_line_print() - print a character for each column
 *
 * The character is '.' where nothing is. Where two placements have the same bytes it is '+' in a
 * plan that the verifier accepts, since one has them after the other, and '!' in others, as TFLM
 * prints it.
 */
void npuplan_line_print(struct npuplan_line *line, bool verified, FILE *out);

char npuplan_symbol(uint32_t tensor);
