// SPDX-License-Identifier: MIT
/* This file builds programs: columns, rows and terms. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "program.h"

/*
 * Makes room for one more in one of the arrays. If that is too many, -E2BIG is what ilp_end() says.
 */
static bool has_room(struct ilp_program *program, void *array, uint32_t count, size_t size,
		     bool full)
{
	if (program->failed)
		return false;
	program->too_large = full;
	program->failed = full || npuplan_grow(array, count, size);
	return !program->failed;
}

static bool is_full(const struct ilp_program *program)
{
	return (uint64_t)program->column_count + program->row_count >= ILP_LIMIT;
}

uint32_t ilp_column(struct ilp_program *program, const char *kind, uint32_t a, uint32_t b,
		    uint32_t t, int64_t upper, bool integer)
{
	if (!has_room(program, &program->column, program->column_count, sizeof(*program->column),
		      is_full(program)))
		return ILP_NONE;
	program->column[program->column_count] = (struct ilp_column){
		.name = { kind, a, b, t },
		.upper = upper,
		.integer = integer,
	};
	return program->column_count++;
}

void ilp_row(struct ilp_program *program, const char *kind, uint32_t a, uint32_t b, uint32_t t,
	     int64_t lower, int64_t upper)
{
	const struct ilp_row *end = program->row + program->row_count;

	/* Pruning may leave rows that say nothing. */
	if (program->row_count && end[-1].first == program->term_count && end[-1].lower <= 0 &&
	    end[-1].upper >= 0)
		program->row_count--;
	if (has_room(program, &program->row, program->row_count, sizeof(*program->row),
		     is_full(program)))
		program->row[program->row_count++] = (struct ilp_row){
			.name = { kind, a, b, t },
			.lower = lower,
			.upper = upper,
			.first = program->term_count,
		};
}

void ilp_add_terms(struct ilp_program *program, const struct ilp_term *term, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (term[i].column != ILP_NONE && term[i].factor &&
		    has_room(program, &program->term, program->term_count, sizeof(*program->term),
			     program->term_count >= ILP_TERMS))
			program->term[program->term_count++] = term[i];
}

int ilp_end(struct ilp_program *program)
{
	/* This row is none of the program's: it says where the terms of the last one end. */
	ilp_row(program, "end", ILP_NONE, ILP_NONE, ILP_NONE, ILP_MIN, ILP_MAX);
	if (program->failed)
		return program->too_large ? -E2BIG : -ENOMEM;
	program->row_count--;
	return 0;
}

void ilp_fini(struct ilp_program *program)
{
	npuplan_free_all(program->column, program->row, program->term);
	memset(program, 0, sizeof(*program));
}
