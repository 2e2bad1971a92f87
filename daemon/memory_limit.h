/* SPDX-License-Identifier: MIT */
/* How much memory the daemon and its workers may have together (MemoryMax of the service). */
#pragma once

#include <stdint.h>

#define MEMORY_LIMIT_PROCESS "/proc/self/cgroup"
#define MEMORY_LIMIT_GROUPS  "/sys/fs/cgroup"

/**
 * memory_limit() - the least limit of a process's control group and those that it is in
 * @process: MEMORY_LIMIT_PROCESS, or a test's
 * @groups: MEMORY_LIMIT_GROUPS, where groups of version 2 are mounted, or a test's
 *
 * Bytes; UINT64_MAX: there is none (Documentation/admin-guide/cgroup-v2.rst, memory.max).
 */
uint64_t memory_limit(const char *process, const char *groups);
