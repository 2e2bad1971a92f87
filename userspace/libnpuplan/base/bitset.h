/* SPDX-License-Identifier: MIT */
/* Sets of small numbers as arrays of words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words of a set of numbers below @count. */
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
