/* SPDX-License-Identifier: MIT */
/*
 * What the kernel says of an open file of the driver, in /proc/PID/fdinfo/FD: npumem(4), and
 * Documentation/gpu/drm-usage-stats.rst of the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Names of engines that are told apart; what is beyond is left out. */
#define LIVE_ENGINES 32

/*
 * struct live_engine - what a client has had of an engine, or of several of one name
 * @ns: nanoseconds of jobs that have ended
 * @jobs: number of them
 */
struct live_engine {
	char name[32];
	uint64_t ns;
	uint64_t jobs;
};

/*
 * struct live_file - an open file of the driver
 * @drm_client: its number among those of all DRM drivers; descriptors that share it have it, too
 * @client: its number among the holders of the carveout
 * @carveout: bytes of all banks that its buffers and its runs' arenas take
 * @system, @kernel: bytes of its buffers in system memory, and of kernel memory for its objects
 * @moved: bytes that its transfers have moved
 * @engines: @engine_count of them
 */
struct live_file {
	uint64_t drm_client;
	uint64_t client;
	uint64_t carveout;
	uint64_t system;
	uint64_t kernel;
	uint64_t moved;
	struct live_engine engines[LIVE_ENGINES];
	uint32_t engine_count;
};

/**
 * live_parse() - read such a text
 * @text: the file's, with a NUL
 * @file: out: what it says; zeros where it says nothing
 *
 * Returns whether it is of this driver. Lines that are not known are passed over.
 */
bool live_parse(const char *text, struct live_file *file);

/** live_engine() - the entry of a name, added if there is room; NULL: there is none */
struct live_engine *live_engine(struct live_file *file, const char *name);
