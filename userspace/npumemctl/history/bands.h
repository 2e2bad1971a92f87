/* SPDX-License-Identifier: MIT */
/* What of a recording is drawn: times that can be told apart, clients that there is room for. */
#pragma once

#include "recording.h"

/* Clients that have a band of their own. */
#define BANDS_CLIENTS 12
/* And one for the other clients, one for those whom the user who recorded may not see. */
#define BANDS_MAX     (BANDS_CLIENTS + 2)

enum bands_quantity { BANDS_BYTES, BANDS_JOBS, BANDS_QUANTITIES };

/*
 * struct bands_column - samples that are drawn as one, by the one at which most was held
 * @begin, @end: milliseconds since 1970
 * @tops: bytes, or hundredths of jobs a second, up to which each band reaches
 */
struct bands_column {
	int64_t begin;
	int64_t end;
	uint64_t tops[BANDS_QUANTITIES][BANDS_MAX];
};

/*
 * struct bands - what is drawn
 * @begin, @end: of all samples and events; @end is later
 * @breaks: @break_count of the history's, not owned
 * @shown: milliseconds as which each of them is drawn
 * @range: milliseconds that are drawn, from @begin to @end
 * @clients: @client_count of them, who held most first; they have the lowest bands
 * @others: clients that share the band above theirs
 * @columns: @column_count of them, ascending; owned
 * @size: most bytes that all banks had
 * @jobs: most hundredths of jobs a second of all clients together
 */
struct bands {
	int64_t begin;
	int64_t end;
	const struct history_break *breaks;
	unsigned int break_count;
	uint64_t shown;
	uint64_t range;
	const struct history_client *clients[BANDS_CLIENTS];
	unsigned int client_count;
	size_t others;
	struct bands_column *columns;
	size_t column_count;
	uint64_t size;
	uint64_t jobs;
};

/*
 * bands_init() - find them
 * @most: columns that there may be
 *
 * 0 or -ENOMEM. Give it back with bands_fini().
 */
int bands_init(struct bands *bands, const struct history *history, unsigned int most);
void bands_fini(struct bands *bands);

/* Where a time is drawn: of @bands->range. Within a break time runs faster. */
uint64_t bands_place(const struct bands *bands, int64_t time);

/* Bands that there are: of clients, of the others if there are any, of the unseen. */
unsigned int bands_count(const struct bands *bands);
