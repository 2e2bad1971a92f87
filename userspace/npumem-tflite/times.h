/* SPDX-License-Identifier: MIT */
/* How long things took. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* struct times - of each inference, in nanoseconds, in the order in which they ran */
struct times {
	int64_t *list;
	size_t count;
};

/* struct times_summary - of the first one, and of all; 0 of none */
struct times_summary {
	int64_t first;
	int64_t median;
	int64_t p99;
};

/* The smallest time that half of all, or 99 of 100, are not above; @list is sorted thereafter. */
struct times_summary times_summary(struct times *times);
