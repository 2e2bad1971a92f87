/* SPDX-License-Identifier: MIT */
/*
 * The clock that all deadlines and durations of userspace go by: CLOCK_MONOTONIC, which nobody
 * sets.
 *
 * Header only; used by libnpumem, libnpuplan, npumemctl and npumemd.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/** monotonic_ns() - now, in nanoseconds */
static inline int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** monotonic_seconds() - now, in seconds */
static inline double monotonic_seconds(void)
{
	return 1e-9 * (double)monotonic_ns();
}
