/* SPDX-License-Identifier: MIT */
/*
 * The daemon's clock.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#include "../userspace/monotonic/monotonic.h"

/* Microseconds of CLOCK_MONOTONIC. */
static inline uint64_t now_us(void)
{
	return (uint64_t)monotonic_ns() / 1000;
}

/* Nanoseconds of processor time that the daemon's thread has had. */
static inline uint64_t own_cpu_ns(void)
{
	struct timespec had;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had);
	return (uint64_t)had.tv_sec * 1000000000 + (uint64_t)had.tv_nsec;
}
