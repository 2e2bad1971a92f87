/* SPDX-License-Identifier: MIT */
/* Sets of small numbers as arrays of words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of 64-bit words that a set of numbers below @count takes. */
static inline size_t npuplan_set_words(size_t count)
{
	return (count + 63) / 64;
}

static inline bool npuplan_set_has(const uint64_t *set, uint32_t number)
{
	return set[number / 64] >> number % 64 & 1;
}

static inline void npuplan_set_add(uint64_t *set, uint32_t number)
{
	set[number / 64] |= 1ull << number % 64;
}

static inline void npuplan_set_drop(uint64_t *set, uint32_t number)
{
	set[number / 64] &= ~(1ull << number % 64);
}

/* The first number from @from on in a set of @words words; 64 * @words if there is none. */
static inline uint32_t npuplan_set_next(const uint64_t *set, uint32_t words, uint32_t from)
{
	for (uint32_t w = from / 64, low = from % 64; w < words; w++, low = 0)
		if (set[w] >> low)
			return w * 64 + low + (uint32_t)__builtin_ctzll(set[w] >> low);
	return 64 * words;
}

/*
 * Run the body for each number @x of a set of @words words, in ascending order; a number above @x
 * that the body adds has its turn, too.
 */
#define npuplan_set_for_each(x, set, words)                                    \
	for (uint32_t x = npuplan_set_next(set, words, 0); (x) < 64 * (words); \
	     (x) = npuplan_set_next(set, words, (x) + 1))
