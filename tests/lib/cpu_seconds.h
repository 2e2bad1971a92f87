/* SPDX-License-Identifier: MIT */
/* The clock of benchmarks: processor time, which other programs of the machine do not change. */
#pragma once

#include <time.h>

/* Seconds of processor time that the process has used. */
static inline double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
