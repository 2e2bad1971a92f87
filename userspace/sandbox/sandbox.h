/* SPDX-License-Identifier: MIT */
/*
 * The sandbox of a process that reads hostile graphs or commands: it may compute, get memory
 * up to a limit, write to the descriptors it has, and end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct sandbox_limits - resource limits; 0 = none
 * @memory: bytes of address space
 * @cpu_seconds: processor time; SIGXCPU ends the process
 * @file_bytes: size of a file written; SIGXFSZ ends the process
 * @seccomp: system calls other than those of computing kill the process
 */
struct sandbox_limits {
	uint64_t memory;
	uint64_t cpu_seconds;
	uint64_t file_bytes;
	bool seccomp;
};

/**
 * struct sandbox_calls - what else the process may do, by system call
 * @fd: a descriptor of its own, which takes
 * @requests: these ioctls and no other
 * @request_count: number of @requests
 * @timer: setitimer() of ITIMER_REAL
 */
struct sandbox_calls {
	int fd;
	unsigned long requests[4];
	uint32_t request_count;
	bool timer;
};

/*
 * sandbox_enter() - give up all other rights of this process, for good
 * @calls: NULL: no calls but those of computing
 * @what: on failure the step that failed
 *
 * Returns 0 or a negative errno, after which the caller must exit.
 */
int sandbox_enter(const struct sandbox_limits *limits, const struct sandbox_calls *calls,
		  const char **what);
