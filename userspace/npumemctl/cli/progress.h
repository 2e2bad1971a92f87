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
 * @drawn: when the line was drawn last, in seconds since planning began; < 0: not yet
 * @started: when planning began, in seconds of the monotonic clock
 * @seconds: how long planning took, once it has ended
 * @work: units of work that planning has told of last
 */
struct progress {
	bool draws;
	double limit;
	double drawn;
	double started;
	double seconds;
	uint64_t work;
};

/* Begin to draw, and to hear signals; @limit: seconds that planning may take, 0: not known. */
void progress_begin(struct progress *progress, double limit);
/* The callback of npuplan_options.progress, whose context is the struct progress. */
int progress_show(void *context, const struct npuplan_pack_progress *now);
/* Wipe the line; signals end the program again. */
void progress_end(struct progress *progress);

/** progress_interrupted() - whether a signal has ended a search of this program */
bool progress_interrupted(void);
/*
 * The word for what ended a search before it was through: a signal, the limit of memory (@memory
 * says whether it did), the deadline or the limit of work. The last two are told by what the search
 * took, @seconds and @work, beside what was asked for, @deadline and @work_limit (0: nothing was).
 * NULL: none of these did.
 */
const char *progress_ended_by(bool memory, double seconds, double deadline, uint64_t work,
			      uint64_t work_limit);

/*
 * Write the line of @now, "arena 4.8 MiB, bound 4.7 MiB, gap 0.9 %, 1.2 s", into the @size bytes at
 * @text; @limit is as in struct progress.
 */
void progress_text(const struct npuplan_pack_progress *now, double limit, char *text, size_t size);
