/* SPDX-License-Identifier: MIT */
/*
 * How far long planning has come: one line on standard error, if that is a
 * terminal, drawn anew some times a second and wiped at the end. Interrupt (^C) and
 * SIGTERM end the search, not the program, terminal or not; a second one ends that, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "npuplan.h"

/**
 * struct progress - line on a terminal
 * @draws: the terminal can draw a line anew
 * @limit: seconds that planning may take; 0: not known
 * @drawn: when, in seconds since planning began; < 0: not yet
 * @started: seconds of the monotonic clock
 * @seconds: that planning took, once it has ended
 * @work: that planning has told of last
 */
struct progress {
	bool draws;
	double limit;
	double drawn;
	double started;
	double seconds;
	uint64_t work;
};

void progress_begin(struct progress *progress, double limit);
/* The callback of npuplan_options.progress, whose context is the struct progress. */
int progress_show(void *context, const struct npuplan_pack_progress *now);
void progress_end(struct progress *progress);

/** progress_interrupted() - a signal has ended a search of this program */
bool progress_interrupted(void);
/* progress_ended_by() - what ended a search before it was through; NULL: nothing known
 * @memory: the limit of memory did
 * @seconds, @work: that it took; @deadline, @work_limit: that were asked for, 0: none
 */
const char *progress_ended_by(bool memory, double seconds, double deadline, uint64_t work,
			      uint64_t work_limit);

/* progress_text() - the line: "arena 4.8 MiB, bound 4.7 MiB, gap 0.9 %, 1.2 s" and so on */
void progress_text(const struct npuplan_pack_progress *now, double limit, char *text, size_t size);
