/* SPDX-License-Identifier: MIT */
/*
 * An integer linear program as columns (variables) and rows (constraints), for no
 * solver in particular. All numbers are whole: COSMA's are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A column or row without a bound has this one. */
#define ILP_MAX	  INT64_MAX
#define ILP_MIN	  INT64_MIN
/* A column that is not there: a term with it is 0. */
#define ILP_NONE  UINT32_MAX
/* Limits of a program: of columns and rows together, and of the terms of all its rows. */
#define ILP_LIMIT (1u << 22)
#define ILP_TERMS (1u << 25)

/* struct ilp_name - name of a column or row, as "eq10u_3_5_t7"
 * @kind: a literal
 * @a, @b: tensors; ILP_NONE if it has none
 * @t: timestep; ILP_NONE if it has none
 */
struct ilp_name {
	const char *kind;
	uint32_t a;
	uint32_t b;
	uint32_t t;
};

/** struct ilp_column - a variable within @lower and @upper, which costs @cost a unit */
struct ilp_column {
	struct ilp_name name;
	int64_t lower;
	int64_t upper;
	int64_t cost;
	bool integer;
};

/*
 * struct ilp_row - @lower <= sum of terms <= @upper; its terms are from @first to the next row's
 */
struct ilp_row {
	struct ilp_name name;
	int64_t lower;
	int64_t upper;
	uint32_t first;
};

struct ilp_term {
	uint32_t column;
	int64_t factor;
};

/* struct ilp_program - a program: minimise the sum of each column times its cost
 * @note: a line about it for the file that it is written to
 * @unit: bytes that one unit of the objective is
 * @failed: there was no memory, or it is too large; columns and rows are lost from then on
 * @too_large: it has more than ILP_LIMIT or ILP_TERMS
 */
struct ilp_program {
	struct ilp_column *column;
	struct ilp_row *row;
	struct ilp_term *term;
	uint32_t column_count;
	uint32_t row_count;
	uint32_t term_count;
	int64_t unit;
	char note[160];
	bool failed;
	bool too_large;
};

/* ilp_column() - add a column of 0..@upper; ILP_NONE if there is no memory
 * @kind: its name, with @a, @b and @t
 */
uint32_t ilp_column(struct ilp_program *program, const char *kind, uint32_t a, uint32_t b,
		    uint32_t t, int64_t upper, bool integer);
/* Adds a row without terms. The row before it is dropped if it has none and holds anyway. */
void ilp_row(struct ilp_program *program, const char *kind, uint32_t a, uint32_t b, uint32_t t,
	     int64_t lower, int64_t upper);
/* Adds terms { column, factor } to the last row, to which each column is added once. */
#define ilp_terms(program, ...)                                          \
	ilp_add_terms(program, (const struct ilp_term[]){ __VA_ARGS__ }, \
		      sizeof((struct ilp_term[]){ __VA_ARGS__ }) / sizeof(struct ilp_term))
/* Adds @count terms to the last row; see ilp_terms(). */
void ilp_add_terms(struct ilp_program *program, const struct ilp_term *term, size_t count);
/*
 * ilp_end() - end a program, whose rows are all there; -ENOMEM; -E2BIG: more than ILP_LIMIT or
 * ILP_TERMS
 */
int ilp_end(struct ilp_program *program);
void ilp_fini(struct ilp_program *program);

/* ilp_write() - the program in CPLEX's LP format: same program, same bytes
 *
 * Errors are left in the stream: ferror().
 */
void ilp_write(const struct ilp_program *program, FILE *file);
