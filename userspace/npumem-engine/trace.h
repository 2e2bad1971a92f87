/* SPDX-License-Identifier: MIT */
/*
 * --trace: one line a task, on standard output.
 */
#pragma once

#include <stdint.h>

#include "npumem_serve.h"

/* trace_task() - what was computed
 * @err, @why: of compute_task()
 * @nanoseconds: that it took
 */
void trace_task(const struct npumem_engine_task *task, int err, const char *why,
		int64_t nanoseconds);
