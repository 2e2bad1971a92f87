/* SPDX-License-Identifier: MIT */
/*
 * An integer linear program as columns (variables) and rows (constraints), for no
 * solver in particular. All numbers are whole: COSMA's are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* No bound. */
#define ILP_MAX	  INT64_MAX
#define ILP_MIN	  INT64_MIN
/* No such column: a term with it is 0. */
#define ILP_NONE  UINT32_MAX
/* Most columns and rows of a program, together, and most terms of all its rows. */
#define ILP_LIMIT (1u << 22)
#define ILP_TERMS (1u << 25)

/* struct ilp_name - what a column or row is called: "eq10u_3_5_t7"
 * @kind: a literal
 * @a, @b: tensors, @t: timestep; ILP_NONE if it has none
 */
struct ilp_name {
	const char *kind;
	uint32_t a;
	uint32_t b;
	uint32_t t;
};

/** struct ilp_column - variable, @lower <= it <= @upper; its share of the objective */
struct ilp_column {
	struct ilp_name name;
	int64_t lower;
	int64_t upper;
	int64_t cost;
	bool integer;
};

/** struct ilp_row - @lower <= sum of terms <= @upper; terms from @first to the next row's */
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

/* struct ilp_program - minimise the sum of column times cost
 * @note: what is said of it where it is written to a file
 * @unit: bytes that one unit of the objective is
 * @failed: out of memory, or too large; columns and rows are lost from then on
 * @too_large: more than ILP_LIMIT or ILP_TERMS
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

/* ilp_column() - a new column of 0..@upper; ILP_NONE if out of memory
 * @kind: with @a, @b, @t its name
 */
uint32_t ilp_column(struct ilp_program *program, const char *kind, uint32_t a, uint32_t b,
		    uint32_t t, int64_t upper, bool integer);
/* A new row, without terms; the last one is dropped if it had none and holds. */
void ilp_row(struct ilp_program *program, const char *kind, uint32_t a, uint32_t b, uint32_t t,
	     int64_t lower, int64_t upper);
/* Add terms { column, factor } to the last row; each column once a row. */
#define ilp_terms(program, ...)                                          \
	ilp_add_terms(program, (const struct ilp_term[]){ __VA_ARGS__ }, \
		      sizeof((struct ilp_term[]){ __VA_ARGS__ }) / sizeof(struct ilp_term))
void ilp_add_terms(struct ilp_program *program, const struct ilp_term *term, size_t count);
/** ilp_end() - all rows are there; -ENOMEM; -E2BIG: more than ILP_LIMIT or ILP_TERMS */
int ilp_end(struct ilp_program *program);
void ilp_fini(struct ilp_program *program);

/* ilp_write() - the program in CPLEX's LP format: same program, same bytes
 *
 * Errors are left in the stream: ferror().
 */
void ilp_write(const struct ilp_program *program, FILE *file);
