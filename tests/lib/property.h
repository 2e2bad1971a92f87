/* SPDX-License-Identifier: MIT */
/*
 * What every property test has: PROGRAM [SEED [CASES]], random numbers that each case begins with
 * anew, so that "PROGRAM SEED+i 1" is case i again, and a failure that says so.
 */
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

/*
 * struct property - the run of a property test
 * @name: of the program, as it was called
 * @seed, @cases: of the first case, and how many there are
 * @current: seed of the case that runs
 * @state: of its random numbers
 */
struct property {
	const char *name;
	uint64_t seed;
	uint64_t current;
	uint64_t state;
	unsigned long cases;
};

static struct property property;

/*
 * Reads the command line over these defaults, and prints the seed. NPUMEM_CASES in the environment
 * is a limit: that many cases and no more, where they are slow.
 */
static inline void property_begin(int argc, char **argv, uint64_t seed, unsigned long cases)
{
	const char *limit = getenv("NPUMEM_CASES");

	if (limit && strtoul(limit, NULL, 0) < cases)
		cases = strtoul(limit, NULL, 0);
	property.name = argv[0];
	property.seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
	property.cases = argc > 2 ? strtoul(argv[2], NULL, 0) : cases;
	printf("# seed %" PRIu64 ", %lu cases\n", property.seed, property.cases);
	fflush(stdout);
}

/* Begins case @number; returns its seed. */
static inline uint64_t property_case(unsigned long number)
{
	property.current = property.state = property.seed + number;
	return property.current;
}

/* A random number from @low to @high. */
static inline uint32_t draw(uint32_t low, uint32_t high)
{
	return random_range(&property.state, low, high);
}

__attribute__((format(printf, 1, 2), noreturn)) static inline void fail(const char *format, ...)
{
	va_list args;

	printf("not ok - ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n# this case again: %s %" PRIu64 " 1\n", property.name, property.current);
	exit(1);
}
