/* SPDX-License-Identifier: MIT */
/*
 * Values of keys in npumemd.conf. Each reader returns NULL, or a text that says what is wrong with
 * the value, to follow it in a sentence; the result is unchanged then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The most that a key of seconds may have. */
#define VALUE_MAX_SECONDS (30ull * 24 * 3600)

/*
 * struct value_range - numbers that a key may have
 * @least, @most: the smallest and the largest one
 * @sentence: said of one that is out of this range
 * @bytes: the number may have a unit
 * @or_zero: zero is allowed, too
 */
struct value_range {
	uint64_t least, most;
	const char *sentence;
	bool bytes, or_zero;
};

const char *value_number(const char *value, const struct value_range *range, uint64_t *out);
const char *value_yes(const char *value, bool *out);

/* The number of a planner by npuplan_planner_name(). */
const char *value_planner(const char *value, unsigned int *out);
