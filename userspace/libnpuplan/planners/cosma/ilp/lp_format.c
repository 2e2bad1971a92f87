// SPDX-License-Identifier: MIT
/* This file writes programs in CPLEX's LP format, which every solver reads. */
#include <inttypes.h>

#include "program.h"

/* Terms a line at most, since readers limit the length of lines. */
#define TERMS_A_LINE 8

static void write_name(FILE *file, const struct ilp_name *name)
{
	fputs(name->kind, file);
	if (name->a != ILP_NONE)
		fprintf(file, "_%" PRIu32, name->a);
	if (name->b != ILP_NONE)
		fprintf(file, "_%" PRIu32, name->b);
	if (name->t != ILP_NONE)
		fprintf(file, "_t%" PRIu32, name->t);
}

static void write_term(FILE *file, const struct ilp_program *program, uint32_t column,
		       int64_t factor, uint32_t count)
{
	if (count && !(count % TERMS_A_LINE))
		fputs("\n  ", file);
	fprintf(file, " %c ", factor < 0 ? '-' : '+');
	if (factor != 1 && factor != -1)
		fprintf(file, "%" PRId64 " ", factor < 0 ? -factor : factor);
	write_name(file, &program->column[column].name);
}

static void write_objective(FILE *file, const struct ilp_program *program)
{
	uint32_t count = 0;

	fputs("Minimize\n obj:", file);
	for (uint32_t i = 0; i < program->column_count; i++)
		if (program->column[i].cost)
			write_term(file, program, i, program->column[i].cost, count++);
	/* The format wants at least one term. */
	if (!count && program->column_count) {
		fputs(" + 0 ", file);
		write_name(file, &program->column[0].name);
	}
	fputc('\n', file);
}

static void write_row(FILE *file, const struct ilp_program *program, uint32_t i)
{
	const struct ilp_row *row = &program->row[i];
	uint32_t end = program->row[i + 1].first;

	fputc(' ', file);
	write_name(file, &row->name);
	fputc(':', file);
	for (uint32_t k = row->first; k < end; k++)
		write_term(file, program, program->term[k].column, program->term[k].factor,
			   k - row->first);
	if (row->first == end) {
		fputs(" + 0 ", file);
		write_name(file, &program->column[0].name);
	}
	if (row->lower == row->upper)
		fprintf(file, " = %" PRId64 "\n", row->lower);
	else if (row->lower == ILP_MIN)
		fprintf(file, " <= %" PRId64 "\n", row->upper);
	else
		fprintf(file, " >= %" PRId64 "\n", row->lower);
}

static void write_bounds(FILE *file, const struct ilp_program *program)
{
	fputs("Bounds\n", file);
	for (uint32_t i = 0; i < program->column_count; i++) {
		const struct ilp_column *column = &program->column[i];

		fprintf(file, " %" PRId64 " <= ", column->lower);
		write_name(file, &column->name);
		if (column->upper != ILP_MAX)
			fprintf(file, " <= %" PRId64, column->upper);
		fputc('\n', file);
	}
}

void ilp_write(const struct ilp_program *program, FILE *file)
{
	uint32_t count = 0;

	fprintf(file, "\\ %s\n\\ one unit of the objective: %" PRId64 " bytes\n", program->note,
		program->unit);
	write_objective(file, program);
	fputs("Subject To\n", file);
	for (uint32_t i = 0; i < program->row_count; i++)
		write_row(file, program, i);
	write_bounds(file, program);
	fputs("General\n", file);
	for (uint32_t i = 0; i < program->column_count; i++) {
		if (!program->column[i].integer)
			continue;
		fputs(count && !(count % TERMS_A_LINE) ? "\n " : " ", file);
		write_name(file, &program->column[i].name);
		count++;
	}
	fputs("\nEnd\n", file);
}
