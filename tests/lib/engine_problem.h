/* SPDX-License-Identifier: MIT */
/*
 * Operators of the process engine, element by element once more: from their definitions, without
 * a line of the engine's. Problems are random ones.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "npumem_command.h"

#define OPERANDS   4
#define MAX_COUNT  4096
#define MAX_SCALES 64

/*
 * struct problem - an operator with its operands, all there
 * @data: as they lie in memory, row-major
 * @low, @high: per operand the elements that were loaded since they were reset
 * @sum: of magnitudes that were added up
 * @element: of the output, as a number
 */
struct problem {
	unsigned int operation;
	unsigned int type;
	uint32_t operand_count;
	uint32_t shape[OPERANDS][4];
	unsigned int types[OPERANDS];
	int32_t zero[OPERANDS];
	_Alignas(8) uint8_t data[OPERANDS][MAX_COUNT * 4];
	uint32_t low[OPERANDS][4];
	uint32_t high[OPERANDS][4];
	int32_t multiplier[MAX_SCALES];
	int32_t shift[MAX_SCALES];
	uint32_t scale_count;
	int32_t attributes[16];
	uint32_t attribute_count;
	long double sum;
	long double (*element)(struct problem *p, const uint32_t at[4]);
};

static inline uint32_t count_of(const uint32_t shape[4])
{
	return shape[0] * shape[1] * shape[2] * shape[3];
}

static inline uint32_t index_of(const uint32_t shape[4], const uint32_t at[4])
{
	return ((at[0] * shape[1] + at[1]) * shape[2] + at[2]) * shape[3] + at[3];
}

static inline bool of_floats(const struct problem *p)
{
	return p->type == NPUMEM_COMMAND_FLOAT32;
}

static inline int32_t bits_of(float value)
{
	int32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* How many kinds of problems there are: operators. */
extern const unsigned int problem_kinds;

/* A random problem of a kind, from 0 on. */
void draw_problem(struct problem *p, unsigned int number, uint64_t *seed);

/* The problem is a convolution, of any kind. */
bool is_conv(const struct problem *p);
