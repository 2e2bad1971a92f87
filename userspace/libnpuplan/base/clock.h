/* SPDX-License-Identifier: MIT */
/* The clock that all deadlines and durations go by. */
#ifndef NPUPLAN_CLOCK_H
#define NPUPLAN_CLOCK_H

#include <time.h>

/** npuplan_now() - seconds of CLOCK_MONOTONIC, which nobody sets */
static inline double npuplan_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif /* NPUPLAN_CLOCK_H */
