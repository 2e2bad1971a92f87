/* SPDX-License-Identifier: MIT */
/*
 * Random numbers for seeded tests: the same everywhere for the same seed. The generator's
 * whole state is one number, which belongs to the caller.
 */
#pragma once

#include <stdint.h>

/* The step of splitmix64: 2^64 divided by the golden ratio. */
#define RANDOM_STEP 0x9e3779b97f4a7c15ull

/* splitmix64's output for a state: each bit depends on all of them. */
static inline uint64_t random_mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* splitmix64: any state will do. */
static inline uint64_t random_next(uint64_t *state)
{
	return random_mix(*state += RANDOM_STEP);
}

/* A number from @low to @high by splitmix64. */
static inline uint32_t random_range(uint64_t *state, uint32_t low, uint32_t high)
{
	return low + (uint32_t)(random_next(state) % ((uint64_t)high - low + 1));
}
