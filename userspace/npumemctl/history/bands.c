/* SPDX-License-Identifier: MIT */
#include "bands.h"

#include <errno.h>
#include <stdlib.h>

/* Who held most first; of those that held nothing, whose jobs were most. */
static int by_peak(const void *left, const void *right)
{
	const struct history_client *a = *(const struct history_client *const *)left;
	const struct history_client *b = *(const struct history_client *const *)right;

	if (a->peak != b->peak)
		return a->peak > b->peak ? -1 : 1;
	if (a->jobs != b->jobs)
		return a->jobs > b->jobs ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	/* Of one number the earlier one. */
	return a < b ? -1 : a > b;
}

static int choose_clients(struct bands *bands, const struct history *history)
{
	size_t count = history->client_count;
	const struct history_client **all = malloc((count + 1) * sizeof(const void *));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		all[i] = &history->clients[i];
	qsort(all, count, sizeof(*all), by_peak);
	bands->client_count = count < BANDS_CLIENTS ? (unsigned int)count : BANDS_CLIENTS;
	for (unsigned int i = 0; i < bands->client_count; i++)
		bands->clients[i] = all[i];
	bands->others = count - bands->client_count;
	free(all);
	return 0;
}

static void find_range(struct bands *bands, const struct history *history)
{
	bands->begin = history->samples[0].begin;
	bands->end = history->samples[history->sample_count - 1].end;
	for (size_t i = 0; i < history->sample_count; i++) {
		if (history->samples[i].begin < bands->begin)
			bands->begin = history->samples[i].begin;
		if (history->samples[i].size > bands->size)
			bands->size = history->samples[i].size;
	}
	if (history->event_count) {
		if (history->events[0].time < bands->begin)
			bands->begin = history->events[0].time;
		if (history->events[history->event_count - 1].time > bands->end)
			bands->end = history->events[history->event_count - 1].time;
	}
	if (bands->end <= bands->begin)
		bands->end = bands->begin + 1;
}

/* After find_range(). */
static void take_breaks(struct bands *bands, const struct history *history)
{
	uint64_t rest = (uint64_t)(bands->end - bands->begin);

	bands->breaks = history->breaks;
	bands->break_count = history->break_count;
	for (unsigned int i = 0; i < bands->break_count; i++)
		rest -= (uint64_t)(bands->breaks[i].end - bands->breaks[i].begin);
	bands->shown = rest / 20 + 1;
	bands->range = rest + bands->break_count * bands->shown;
}

uint64_t bands_place(const struct bands *bands, int64_t time)
{
	uint64_t place = (uint64_t)(time - bands->begin);

	for (unsigned int i = 0; i < bands->break_count && bands->breaks[i].begin < time; i++) {
		const struct history_break *pause = &bands->breaks[i];
		uint64_t length = (uint64_t)(pause->end - pause->begin);
		uint64_t within = (uint64_t)(time - pause->begin);

		place -= within < length ? within : length;
		place += within < length ?
				 (uint64_t)((unsigned __int128)bands->shown * within / length) :
				 bands->shown;
	}
	return place;
}

static unsigned int band_of(const struct bands *bands, const struct history_client *client)
{
	unsigned int band = 0;

	while (band < bands->client_count && bands->clients[band] != client)
		band++;
	return band;
}

static void fill(struct bands *bands, struct bands_column *column, const struct history *history,
		 const struct history_sample *sample)
{
	uint64_t(*tops)[BANDS_MAX] = column->tops;
	unsigned int count = bands_count(bands);
	uint64_t seen = 0;

	for (uint32_t i = 0; i < sample->count; i++) {
		const struct history_share *share = &history->shares[sample->first + i];
		unsigned int band = band_of(bands, &history->clients[share->client]);

		tops[BANDS_BYTES][band] += share->bytes;
		tops[BANDS_JOBS][band] += share->jobs;
		seen += share->bytes;
	}
	tops[BANDS_BYTES][count - 1] = sample->used > seen ? sample->used - seen : 0;
	for (unsigned int i = 1; i < count; i++) {
		tops[BANDS_BYTES][i] += tops[BANDS_BYTES][i - 1];
		tops[BANDS_JOBS][i] += tops[BANDS_JOBS][i - 1];
	}
	if (tops[BANDS_JOBS][count - 1] > bands->jobs)
		bands->jobs = tops[BANDS_JOBS][count - 1];
	/* What two clients share counts for both. */
	if (tops[BANDS_BYTES][count - 1] > bands->size)
		bands->size = tops[BANDS_BYTES][count - 1];
}

/* Which of @most columns a time is in. */
static uint64_t column_at(const struct bands *bands, int64_t time, unsigned int most)
{
	return (uint64_t)((unsigned __int128)bands_place(bands, time) * most / bands->range);
}

/*
 * A column is of all samples whose time ends in it, and is filled in with the one at which most
 * was held: what is there for a short time is seen.
 */
static int find_columns(struct bands *bands, const struct history *history, unsigned int most)
{
	const struct history_sample *samples = history->samples, *fullest = samples;
	size_t count = history->sample_count;
	int64_t last = bands->begin;

	bands->columns = calloc(count < most ? count : most + 1u, sizeof(*bands->columns));
	if (!bands->columns)
		return -ENOMEM;
	for (size_t i = 0, first = 0; i < count; i++) {
		struct bands_column *column = &bands->columns[bands->column_count];

		if (i == first || samples[i].used > fullest->used)
			fullest = &samples[i];
		if (i + 1 < count && column_at(bands, samples[i + 1].end, most) ==
					     column_at(bands, samples[first].end, most))
			continue;
		column->begin = samples[first].begin > last ? samples[first].begin : last;
		column->end = samples[i].end;
		fill(bands, column, history, fullest);
		last = column->end;
		first = i + 1;
		bands->column_count++;
	}
	return 0;
}

int bands_init(struct bands *bands, const struct history *history, unsigned int most)
{
	int err;

	*bands = (struct bands){ 0 };
	find_range(bands, history);
	take_breaks(bands, history);
	err = choose_clients(bands, history);
	return err ? err : find_columns(bands, history, most);
}

void bands_fini(struct bands *bands)
{
	free(bands->columns);
	*bands = (struct bands){ 0 };
}

unsigned int bands_count(const struct bands *bands)
{
	return bands->client_count + (bands->others != 0) + 1;
}
