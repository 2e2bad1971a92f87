// SPDX-License-Identifier: MIT
/* Columns, rows and terms. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "program.h"

/* One more is too many; -E2BIG is then what ilp_end() says. */
static bool no_more(struct ilp_program *program, bool full)
{
	if (full && !program->failed) {
		program->too_large = true;
		program->failed = true;
	}
	return program->failed;
}

static bool is_full(const struct ilp_program *program)
{
	return (uint64_t)program->column_count + program->row_count >= ILP_LIMIT;
}

uint32_t ilp_column(struct ilp_program *program, struct ilp_name name, int64_t upper, bool integer)
{
	if (no_more(program, is_full(program)) ||
	    npuplan_grow(&program->column, program->column_count, sizeof(*program->column))) {
		program->failed = true;
		return ILP_NONE;
	}
	program->column[program->column_count] = (struct ilp_column){
		.name = name,
		.upper = upper,
		.integer = integer,
	};
	return program->column_count++;
}

/* Pruning may leave rows that say nothing. */
static void drop_empty(struct ilp_program *program)
{
	const struct ilp_row *last;

	if (!program->row_count)
		return;
	last = &program->row[program->row_count - 1];
	if (last->first == program->term_count && last->lower <= 0 && last->upper >= 0)
		program->row_count--;
}

void ilp_row(struct ilp_program *program, struct ilp_name name, int64_t lower, int64_t upper)
{
	drop_empty(program);
	if (no_more(program, is_full(program)) ||
	    npuplan_grow(&program->row, program->row_count, sizeof(*program->row))) {
		program->failed = true;
		return;
	}
	program->row[program->row_count++] = (struct ilp_row){
		.name = name,
		.lower = lower,
		.upper = upper,
		.first = program->term_count,
	};
}

void ilp_term(struct ilp_program *program, uint32_t column, int64_t factor)
{
	if (column == ILP_NONE || !factor)
		return;
	if (no_more(program, program->term_count >= ILP_TERMS) ||
	    npuplan_grow(&program->term, program->term_count, sizeof(*program->term))) {
		program->failed = true;
		return;
	}
	program->term[program->term_count++] =
		(struct ilp_term){ .column = column, .factor = factor };
}

int ilp_end(struct ilp_program *program)
{
	/* One row more, that is none: where the last one's terms end. */
	ilp_row(program, (struct ilp_name){ .kind = "end" }, ILP_MIN, ILP_MAX);
	if (program->failed)
		return program->too_large ? -E2BIG : -ENOMEM;
	program->row_count--;
	return 0;
}

void ilp_fini(struct ilp_program *program)
{
	free_all(program->column, program->row, program->term);
	memset(program, 0, sizeof(*program));
}
