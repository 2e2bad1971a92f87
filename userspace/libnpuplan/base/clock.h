/* SPDX-License-Identifier: MIT */
/* The clock that all deadlines and durations go by. */
#pragma once

#include <time.h>

/** npuplan_now() - seconds of CLOCK_MONOTONIC, which nobody sets */
static inline double npuplan_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
