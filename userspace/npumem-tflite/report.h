/* SPDX-License-Identifier: MIT */
/* What a run of the program tells: tables for people, JSON for programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "inference.h"
#include "labels.h"
#include "../runtimes/tflite/npumem_tflite.h"

/**
 * struct report - all that is told
 * @model: its file
 * @load: nanoseconds that reading it took
 * @work: what was done; its runners are open still
 * @delegate: file of the delegate; NULL: there is none
 * @stats: what it says of itself
 * @has_stats: it is npumem's, which does
 * @labels: names of the first output's classes; none: the output is not looked at
 */
struct report {
	const char *model;
	int64_t load;
	struct work *work;
	const char *delegate;
	struct npumem_tflite_stats stats;
	bool has_stats;
	struct labels labels;
};

/* -EOPNOTSUPP, -EINVAL: the labels are not those of the first output. */
int report_check(const struct report *report, struct refusal *why);

/* Print it to standard output; times are sorted as it does so. */
void report_text(struct report *report);
/* Likewise; false: there is no memory for it. */
bool report_json(struct report *report);
