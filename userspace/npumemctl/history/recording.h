/* SPDX-License-Identifier: MIT */
/*
 * What npumemctl top -j and npumemctl monitor -j have printed, read again: what a device did over
 * a time. A file has lines of either, or of both.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "npuplan.h"

/*
 * struct history_look - as what a client was seen
 * @number: the driver's, which no other client has, until the driver is loaded again
 * @pid, @uid: of its process; 0 and -1: not known
 * @command: name of the process, as text that does a terminal no harm; owned
 */
struct history_look {
	uint64_t number;
	int64_t pid;
	int64_t uid;
	char *command;
};

/*
 * struct history_client - a client of the device
 * @number: the driver's; another client may have it after a boot
 * @pid, @uid: of its process; 0 and -1: not known
 * @command: name of the process; a look's
 * @peak: most bytes of the carveout that it was seen to hold
 * @jobs: most jobs a second, in hundredths
 */
struct history_client {
	uint64_t number;
	int64_t pid;
	int64_t uid;
	const char *command;
	uint64_t peak;
	uint64_t jobs;
};

/*
 * struct history_share - what a client had at one time
 * @look: as what it was seen
 * @client: which it is of the history's, from history_end() on
 * @bytes: of the carveout
 * @jobs: that have ended a second, in hundredths; 0 also where it is not known
 */
struct history_share {
	const struct history_look *look;
	size_t client;
	uint64_t bytes;
	uint64_t jobs;
};

/*
 * struct history_sample - a line of npumemctl top
 * @begin, @end: milliseconds since 1970: of the time that its rates are of, in whose end it was
 *	looked at
 * @size, @used: bytes of all banks
 * @first, @count: in history.shares; ascending by client
 * @complete: nobody was hidden from who looked
 */
struct history_sample {
	int64_t begin;
	int64_t end;
	uint64_t size;
	uint64_t used;
	size_t first;
	uint32_t count;
	bool complete;
};

enum history_kind { HISTORY_PLAN_REFUSED, HISTORY_JOB_REFUSED, HISTORY_JOB_FAILED, HISTORY_KINDS };

/*
 * struct history_event - a line of npumemctl monitor
 * @time: milliseconds since 1970
 * @device: minor number of the device that it is of
 * @text: what was refused, and whose it was; owned
 */
struct history_event {
	int64_t time;
	uint32_t device;
	enum history_kind kind;
	char *text;
};

/*
 * struct history_break - a time in which nobody recorded and nothing happened, and beside which
 *	all the rest could not be seen: the clock was set forward, or recording paused
 * @begin, @end: milliseconds since 1970
 */
struct history_break {
	int64_t begin;
	int64_t end;
};

/* There are no more: each is many times as long as all that is shorter, and times have a last. */
#define HISTORY_BREAKS 16

/*
 * struct history - all that was recorded
 * @path: of the device's node; owned
 * @device: its minor number
 * @looks: all looks, a tree of tsearch()
 * @clients: @client_count of them, ascending by their numbers, and of one number by time
 * @samples, @events: ascending by time
 * @foreign: events of other devices, which are left out
 * @breaks: @break_count of them, ascending
 */
struct history {
	char *path;
	uint32_t device;
	void *looks;
	struct history_client *clients;
	size_t client_count;
	struct history_share *shares;
	size_t share_count;
	struct history_sample *samples;
	size_t sample_count;
	struct history_event *events;
	size_t event_count;
	size_t foreign;
	struct history_break breaks[HISTORY_BREAKS];
	unsigned int break_count;
};

/*
 * struct history_notes - what is odd about a file, and no error
 * @cut: number of the last line, which has no end and is left out: nobody wrote it to its end; 0:
 *	there is none
 * @back: number of the first line that is of a time before that of the line before it of its kind,
 *	by a second at least: the clock was set back; 0: there is none
 * @back_ms: by how much
 * @backs: how many lines are so
 * @damaged: number of the first line that is no JSON object, as power loss leaves them where
 *	another recording was added after it; it is left out; 0: there is none
 * @damage: what is wrong with it
 * @damages: how many lines are so
 */
struct history_notes {
	unsigned long cut;
	unsigned long back;
	int64_t back_ms;
	unsigned long backs;
	unsigned long damaged;
	char damage[200];
	unsigned long damages;
};

/*
 * history_read() - add the lines of a file
 * @history: zeros before the first file; history_fini() it, also after an error
 * @notes: out
 * @error: out: what is wrong, beginning with the line's number
 *
 * 0, -EBADMSG, -EIO or -ENOMEM. A file of which no line can be read is an error.
 */
int history_read(struct history *history, FILE *in, struct history_notes *notes,
		 struct npuplan_error *error);
/*
 * history_end() - after the last file: bring all into its order
 * @error: out: why there is nothing to draw
 *
 * 0, -EBADMSG or -ENOMEM.
 */
int history_end(struct history *history, struct npuplan_error *error);
void history_fini(struct history *history);

/* history_look() - the look that is as @look, whose command is taken. NULL: out of memory. */
const struct history_look *history_look(struct history *history, struct history_look look);
void history_free_looks(struct history *history);
/*
 * history_find_clients() - tell clients apart, samples being in their order
 *
 * One number is one client as long as its process or the name of that stays. A file that is closed
 * has no process any more: the one that it had stays. -ENOMEM.
 */
int history_find_clients(struct history *history);
