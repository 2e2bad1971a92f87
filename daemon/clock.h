/* SPDX-License-Identifier: MIT */
/*
 * The daemon's clock.
 */
#pragma once

#include <stdint.h>

#include "../userspace/monotonic/monotonic.h"

/* Microseconds of CLOCK_MONOTONIC. */
static inline uint64_t now_us(void)
{
	return (uint64_t)monotonic_ns() / 1000;
}
