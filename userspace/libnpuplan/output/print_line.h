/* SPDX-License-Identifier: MIT */
/*
 * The arena as one line of characters, while placements come and go: what a placement
 * costs is the columns that it touches, not how many others there are.
 */
#pragma once

#include <stdio.h>

#include "../../cover/cover.h"
#include "base/internal.h"
#include "base/region.h"

#define NPUPLAN_MAX_COLUMNS 512

/* Arena bytes [begin, end). */
struct npuplan_range {
	uint64_t begin;
	uint64_t end;
};

/*
 * struct npuplan_line - one line
 * @first_range: of placement k of those given, ranges[first_range[k] ...
 *	first_range[k + 1])
 * @symbols, @drawn: per placement
 * @columns: of them, each with bytes that placements have in it
 * @covered: bytes that have a place
 */
struct npuplan_line {
	struct npuplan_range *ranges;
	size_t range_count;
	size_t *first_range;
	char *symbols;
	bool *drawn;
	uint64_t arena;
	unsigned int column_count;
	struct npuplan_column *columns;
	struct cover covered;
};

/* npuplan_line_init() - a line with nothing in it
 * @placements: indices, into those of the plan, of the ones that may be drawn; a column
 *	that two have as much of is the first's of them
 *
 * 0 or -ENOMEM; npuplan_line_fini() in any case.
 */
int npuplan_line_init(struct npuplan_line *line, const struct npuplan_plan *plan,
		      const uint32_t *placements, uint32_t count, unsigned int columns);
void npuplan_line_fini(struct npuplan_line *line);

/* @k: which of those given. Twice is once. -ENOMEM */
int npuplan_line_draw(struct npuplan_line *line, uint32_t k);
void npuplan_line_wipe(struct npuplan_line *line, uint32_t k);

/* npuplan_line_print() - a character a column
 *
 * '.' for nobody; for bytes that two have '+' if one has them after the other, as in all
 * plans that verify, otherwise '!', as TFLM prints them.
 */
void npuplan_line_print(struct npuplan_line *line, bool verified, FILE *out);

char npuplan_symbol(uint32_t tensor);
