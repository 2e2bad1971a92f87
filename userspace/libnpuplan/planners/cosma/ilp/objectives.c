// SPDX-License-Identifier: MIT
/* Eq. 12 to 17: what is minimised, and what goes with it. */
#include "encode.h"

static void set_cost(struct ilp_encoding *encoding, uint32_t column, int64_t cost)
{
	if (column != ILP_NONE && !encoding->program.failed)
		encoding->program.column[column].cost = cost;
}

/* Eq. 17 is the same with Eq. 16. */
void ilp_eq12_traffic(struct ilp_encoding *encoding)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		const struct ilp_tensor *tensor = &encoding->tensor[a];

		for (uint32_t t = tensor->first; t <= tensor->last; t++) {
			size_t at = ilp_at(encoding, a, t);

			set_cost(encoding, encoding->s[at], tensor->size);
			set_cost(encoding, encoding->r[at], tensor->size);
			if (tensor->charged)
				set_cost(encoding, encoding->c[at], tensor->size);
		}
	}
}

void ilp_eq13_no_transfers(struct ilp_encoding *encoding)
{
	struct ilp_program *program = &encoding->program;

	for (size_t at = 0; at < (size_t)encoding->tensor_count * encoding->steps; at++) {
		if (encoding->s[at] != ILP_NONE && !program->failed)
			program->column[encoding->s[at]].upper = 0;
		if (encoding->r[at] != ILP_NONE && !program->failed)
			program->column[encoding->r[at]].upper = 0;
	}
}

/* Bytes on chip at @t, into the last row. */
static void add_bytes(struct ilp_encoding *encoding, uint32_t t)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		size_t at = ilp_at(encoding, a, t);
		int64_t size = encoding->tensor[a].size;

		ilp_term(&encoding->program, encoding->c[at], size);
		ilp_term(&encoding->program, encoding->p[at], size);
		if (encoding->peak == ILP_NONE)
			ilp_term(&encoding->program, encoding->r[at], size);
		/* What takes another's bytes has none of its own. */
		ilp_term(&encoding->program, encoding->t[at], -size);
	}
}

void ilp_eq14_footprint(struct ilp_encoding *encoding)
{
	struct ilp_program *program = &encoding->program;

	encoding->peak = ilp_column(program,
				    (struct ilp_name){ "M_peak", ILP_NONE, ILP_NONE, ILP_NONE },
				    ILP_MAX, true);
	for (uint32_t t = 0; t < encoding->steps; t++) {
		ilp_row(program, (struct ilp_name){ "eq14", ILP_NONE, ILP_NONE, t }, ILP_MIN, 0);
		add_bytes(encoding, t);
		ilp_term(program, encoding->peak, -1);
	}
}

void ilp_eq15_peak(struct ilp_encoding *encoding)
{
	set_cost(encoding, encoding->peak, 1);
}

void ilp_eq16_fixed_order(struct ilp_encoding *encoding)
{
	struct ilp_program *program = &encoding->program;

	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		uint32_t producer = encoding->tensor[a].producer, column;

		if (producer == NPUMEM_NONE || program->failed)
			continue;
		column = encoding->c[ilp_at(encoding, a, encoding->source.rank[producer] + 1)];
		program->column[column].lower = 1;
	}
}

/*
 * Bytes on chip are within the budget. Eq. 9 and 10 say so of every solution, but not of
 * the fractional ones whose cost bounds the search of a solver.
 */
void ilp_capacity(struct ilp_encoding *encoding)
{
	for (uint32_t t = 0; t < encoding->steps; t++) {
		ilp_row(&encoding->program, (struct ilp_name){ "bytes", ILP_NONE, ILP_NONE, t },
			ILP_MIN, encoding->budget);
		add_bytes(encoding, t);
	}
}
