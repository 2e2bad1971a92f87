/* SPDX-License-Identifier: MIT */
/*
 * The arena as one line of characters, while placements come and go: what a placement
 * costs is the columns that it touches, not how many others there are.
 */
#pragma once

#include <stdio.h>

#include "../../cover/cover.h"
#include "base/internal.h"

#define NPUPLAN_MAX_COLUMNS 512

/* Arena bytes [begin, end). */
struct npuplan_print_range {
	uint64_t begin;
	uint64_t end;
};

/*
 * struct npuplan_line - one line
 * @placements: those given, indices into the plan's
 * @first_range: of placement k of those given, ranges[first_range[k] ...
 *	first_range[k + 1])
 * @drawn: per placement
 * @columns: of them, each with bytes that placements have in it
 * @covered: bytes that have a place
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

/* npuplan_line_init() - a line with nothing in it
 * @placements: indices, into those of the plan, of the ones that may be drawn; a column
 *	that two have as much of is the first's of them. Both are to outlive the line
 *
 * 0 or -ENOMEM; npuplan_line_fini() in any case.
 */
int npuplan_line_init(struct npuplan_line *line, const struct npuplan_plan *plan,
		      const uint32_t *placements, uint32_t count, unsigned int columns);
void npuplan_line_fini(struct npuplan_line *line);

/* npuplan_line_draw() - draw a placement, or wipe it
 * @k: which of those given
 * @drawn: false: wiped. Twice is once
 *
 * -ENOMEM, which wiping never is.
 */
int npuplan_line_draw(struct npuplan_line *line, uint32_t k, bool drawn);

/* npuplan_line_print() - a character a column
 *
 * '.' for nobody; for bytes that two have '+' if one has them after the other, as in all
 * plans that verify, otherwise '!', as TFLM prints them.
 */
void npuplan_line_print(struct npuplan_line *line, bool verified, FILE *out);

char npuplan_symbol(uint32_t tensor);
