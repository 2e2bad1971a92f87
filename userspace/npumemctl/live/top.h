/* SPDX-License-Identifier: MIT */
/* What npumemctl top shows of one device. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "clients.h"

/*
 * struct top_sample - a device at one time
 * @path: of its node
 * @time_ns: CLOCK_MONOTONIC nanoseconds
 * @clock: the same time in seconds since 1970, which somebody may set
 * @device: minor number of the device
 * @daemon: npumemd is registered
 * @banks, @bank_count, @engines, @engine_count: of the device
 * @clients: who has it open
 */
struct top_sample {
	const char *path;
	int64_t time_ns;
	double clock;
	uint32_t device;
	bool daemon;
	struct drm_npumem_bank *banks;
	uint32_t bank_count;
	struct drm_npumem_engine *engines;
	uint32_t engine_count;
	struct live_list clients;
};

/*
 * top_print() - print at most @lines lines of at most @width characters
 * @before: the same device some time ago; NULL: rates are not known
 */
void top_print(FILE *out, const struct top_sample *now, const struct top_sample *before,
	       unsigned int width, unsigned int lines);

/** top_json() - the same as an object; rates are null without @before */
json_t *top_json(const struct top_sample *now, const struct top_sample *before);
