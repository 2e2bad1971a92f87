/* SPDX-License-Identifier: MIT */
/* The clock that all deadlines and durations go by. */
#pragma once

#include "../../monotonic/monotonic.h"

/** npuplan_now() - seconds of CLOCK_MONOTONIC, which nobody sets */
static inline double npuplan_now(void)
{
	return monotonic_seconds();
}
