/* SPDX-License-Identifier: MIT */
/* Numbers that look random and are the same on every machine: Marsaglia's xorshift. */
#pragma once

#include <stdint.h>

/* The state that a search begins with, so that it draws the same numbers in every call. */
#define NPUPLAN_RANDOM_SEED 88172645463325252ull

/**
 * npuplan_random() - the next number; its highest bits are the best
 * @state: kept by the caller from number to number; at first it is anything but 0
 */
static inline uint64_t npuplan_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/** npuplan_random32() - the same with 32 bits of state */
static inline uint32_t npuplan_random32(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}
