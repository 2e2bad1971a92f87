/* SPDX-License-Identifier: MIT */
#include "recording.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../grow/grow.h"
#include "../../lines/lines.h"
#include "cli/cli.h"

/* Latest time, in seconds: the year 2286. */
#define LAST	   1e10
/* Most bytes of all banks, and most jobs a second. */
#define MAX_BYTES  (INT64_C(1) << 53)
#define MAX_JOBS   1e9
/* Lines of several processors may come in another order, by less than so many milliseconds. */
#define CLOCK_BACK 1000
/* Most bytes of a line: what top -j prints of some thousand clients. */
#define MAX_LINE   (1u << 20)
/* Most bytes of one that is left out. */
#define MAX_SKIP   (64u << 20)
/* Most lines in a row that are left out. */
#define MAX_ROW	   1000
/* A time in which nobody recorded is a break if it is so many times as long as all the rest. */
#define BREAK	   10

/*
 * struct reader - a line that is read
 * @where: what of it, for messages: "clients[2]."
 * @held: bytes of the clients so far
 * @cut: the line has no end
 * @read: lines that were understood
 * @row: lines since the last one that was
 * @sample_time, @event_time: of the last one before, in milliseconds
 * @err: negative errno of the first error; what is read after it is nothing
 */
struct reader {
	struct history *history;
	unsigned long line;
	char where[48];
	struct npuplan_error *error;
	uint64_t held;
	bool cut;
	unsigned long read;
	unsigned long row;
	int64_t sample_time;
	int64_t event_time;
	struct history_notes *notes;
	int err;
};

__attribute__((format(printf, 2, 3))) static void line_wrong(struct reader *reader,
							     const char *format, ...)
{
	char text[200];
	va_list values;

	if (reader->err)
		return;
	reader->err = -EBADMSG;
	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	snprintf(reader->error->text, sizeof(reader->error->text), "line %lu: %s", reader->line,
		 text);
}

/* A line of that time; @before: of the one before of its kind. */
static void note_time(struct reader *reader, int64_t time, int64_t *before)
{
	struct history_notes *notes = reader->notes;

	if (*before - time >= CLOCK_BACK && !notes->backs++) {
		notes->back = reader->line;
		notes->back_ms = *before - time;
	}
	*before = time;
}

/* -------------------------------------------------------------------- values */

static uint64_t get_number(struct reader *reader, const json_t *object, const char *key,
			   int64_t least, int64_t most)
{
	const json_t *value = json_object_get(object, key);
	int64_t number = json_integer_value(value);

	if (json_is_integer(value) && number >= least && number <= most)
		return (uint64_t)number;
	line_wrong(reader, "%s%s is no whole number from %" PRId64 " to %" PRId64, reader->where,
		   key, least, most);
	return 0;
}

/* A number above @least and up to @most, which is rounded to parts of @unit. */
static int64_t get_real(struct reader *reader, const json_t *object, const char *key, double least,
			double most, double unit)
{
	const json_t *value = json_object_get(object, key);
	double number = json_number_value(value);

	if (json_is_number(value) && number >= least && number <= most)
		return (int64_t)(number * unit + .5);
	line_wrong(reader, "%s%s is no number from %g to %g", reader->where, key, least, most);
	return 0;
}

/* As plain_text(); free() it. NULL after an error. */
static char *get_text(struct reader *reader, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (text)
		return plain_text(text, false);
	line_wrong(reader, "%s%s is no text", reader->where, key);
	return NULL;
}

static const json_t *get_list(struct reader *reader, const json_t *object, const char *key)
{
	const json_t *list = json_object_get(object, key);

	if (!json_is_array(list))
		line_wrong(reader, "%s is no list", key);
	return list;
}

/* ------------------------------------------------------------------- samples */

static void read_client(struct reader *reader, const json_t *object)
{
	struct history *history = reader->history;
	struct history_share *shares;
	struct history_look look = {
		.number = get_number(reader, object, "client", 0, INT64_MAX),
		.pid = (int64_t)get_number(reader, object, "pid", 0, INT32_MAX),
		.uid = (int64_t)get_number(reader, object, "uid", -1, UINT32_MAX),
		.command = get_text(reader, object, "command"),
	};
	struct history_share share = {
		.bytes = get_number(reader, object, "carveout", 0,
				    MAX_BYTES - (int64_t)reader->held),
	};

	reader->held += share.bytes;
	if (!json_is_null(json_object_get(object, "jobs_per_second")))
		share.jobs =
			(uint64_t)get_real(reader, object, "jobs_per_second", 0, MAX_JOBS, 100);
	if (reader->err) {
		free(look.command);
		return;
	}
	share.look = history_look(history, look);
	shares = share.look ? grow_by_one(history->shares, history->share_count, sizeof(*shares)) :
			      NULL;
	if (!shares) {
		reader->err = -ENOMEM;
		return;
	}
	history->shares = shares;
	shares[history->share_count++] = share;
}

static int by_client(const void *left, const void *right)
{
	const struct history_share *a = left, *b = right;

	return a->look->number < b->look->number ? -1 : a->look->number > b->look->number;
}

static void read_clients(struct reader *reader, const json_t *object, struct history_sample *sample)
{
	const json_t *list = get_list(reader, object, "clients"), *client;
	struct history *history = reader->history;
	size_t i;

	sample->first = history->share_count;
	reader->held = 0;
	json_array_foreach(list, i, client) {
		snprintf(reader->where, sizeof(reader->where), "clients[%zu].", i);
		read_client(reader, client);
	}
	*reader->where = '\0';
	if (reader->err)
		return;
	sample->count = (uint32_t)(history->share_count - sample->first);
	if (sample->count)
		qsort(history->shares + sample->first, sample->count, sizeof(*history->shares),
		      by_client);
	for (i = sample->first + 1; i < history->share_count; i++)
		if (history->shares[i].look->number == history->shares[i - 1].look->number)
			line_wrong(reader, "client %" PRIu64 " is there twice",
				   history->shares[i].look->number);
}

static void read_banks(struct reader *reader, const json_t *object, struct history_sample *sample)
{
	const json_t *list = get_list(reader, object, "banks"), *bank;
	size_t i;

	json_array_foreach(list, i, bank) {
		uint64_t size, left;

		snprintf(reader->where, sizeof(reader->where), "banks[%zu].", i);
		size = get_number(reader, bank, "size", 0, MAX_BYTES - (int64_t)sample->size);
		left = get_number(reader, bank, "free", 0, (int64_t)size);
		sample->size += size;
		sample->used += size - left;
	}
	*reader->where = '\0';
}

/* All samples are of one device. */
static void read_device(struct reader *reader, const json_t *object)
{
	struct history *history = reader->history;
	char *path = get_text(reader, object, "path");

	if (!path)
		return;
	if (!history->path) {
		history->path = path;
		history->device = (uint32_t)get_number(reader, object, "device", 0, UINT32_MAX);
		return;
	}
	if (strcmp(history->path, path) != 0)
		line_wrong(reader, "it is of device %s, what is above of %s", path, history->path);
	free(path);
}

static void read_sample(struct reader *reader, const json_t *object)
{
	struct history *history = reader->history;
	struct history_sample sample = { .end = get_real(reader, object, "time", 0, LAST, 1000) };
	struct history_sample *samples;

	sample.begin = sample.end - get_real(reader, object, "seconds", 0.0001, 1e6, 1000);
	sample.complete = json_is_true(json_object_get(object, "complete"));
	read_device(reader, object);
	read_banks(reader, object, &sample);
	read_clients(reader, object, &sample);
	if (reader->err)
		return;
	samples = grow_by_one(history->samples, history->sample_count, sizeof(*samples));
	if (!samples) {
		reader->err = -ENOMEM;
		return;
	}
	history->samples = samples;
	samples[history->sample_count++] = sample;
	note_time(reader, sample.end, &reader->sample_time);
}

/* -------------------------------------------------------------------- events */

/* Whose it was, the rule, and what the driver says of it; free() it. */
static char *event_text(struct reader *reader, const json_t *object)
{
	uint64_t pid = get_number(reader, object, "pid", 0, INT32_MAX);
	char *command = get_text(reader, object, "command"), *rule, *message, *text = NULL;
	size_t size;
	FILE *out;

	rule = get_text(reader, object, "rule");
	message = get_text(reader, object, "message");
	out = reader->err ? NULL : open_memstream(&text, &size);
	if (out) {
		if (pid)
			fprintf(out, "pid %" PRIu64 " (%s): ", pid, command);
		/* The sentence of a refused plan begins with its rule. */
		if (strncmp(message, rule, strlen(rule)) != 0)
			fprintf(out, "%s%s", rule, *message ? ": " : "");
		fputs(message, out);
		fclose(out);
	}
	free(command);
	free(rule);
	free(message);
	return text;
}

static void read_event(struct reader *reader, const json_t *object)
{
	struct history *history = reader->history;
	const char *what = json_string_value(json_object_get(object, "event"));
	struct history_event event = { .time = get_real(reader, object, "time", 0, LAST, 1000) };
	uint64_t device = get_number(reader, object, "device", 0, UINT32_MAX);
	struct history_event *events;
	bool is_plan = what && !strcmp(what, "plan");

	if (!is_plan && (!what || strcmp(what, "job") != 0))
		line_wrong(reader, "event is neither \"plan\" nor \"job\"");
	event.text = event_text(reader, object);
	event.kind = is_plan						? HISTORY_PLAN_REFUSED :
		     json_integer_value(json_object_get(object, "pid")) ? HISTORY_JOB_REFUSED :
									  HISTORY_JOB_FAILED;
	events = reader->err ? NULL :
			       grow_by_one(history->events, history->event_count, sizeof(*events));
	if (!events || !event.text) {
		reader->err = reader->err ? reader->err : -ENOMEM;
		free(event.text);
		return;
	}
	/* The device that is drawn may not be known yet: history_end() looks. */
	event.device = (uint32_t)device;
	history->events = events;
	events[history->event_count++] = event;
	note_time(reader, event.time, &reader->event_time);
}

/* --------------------------------------------------------------------- lines */

__attribute__((format(printf, 2, 3))) static void damaged(struct reader *reader, const char *format,
							  ...)
{
	struct history_notes *notes = reader->notes;
	va_list values;

	if (++reader->row == MAX_ROW)
		line_wrong(reader, "this and %u lines before it are no lines of a recording",
			   MAX_ROW - 1);
	if (notes->damages++)
		return;
	notes->damaged = reader->line;
	va_start(values, format);
	vsnprintf(notes->damage, sizeof(notes->damage), format, values);
	va_end(values);
}

static void read_line(struct reader *reader, const char *line, size_t length)
{
	json_error_t error;
	json_t *object;

	/* NULs are what power loss may leave before what is written then. */
	while (length && !*line) {
		line++;
		length--;
	}
	object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	/* Power that is lost while a line is written is how many recordings end. */
	if (!object && reader->cut)
		reader->notes->cut = reader->line;
	else if (!object)
		damaged(reader, "no JSON object: %s", error.text);
	else if (json_object_get(object, "event"))
		read_event(reader, object);
	else if (json_object_get(object, "banks"))
		read_sample(reader, object);
	else
		line_wrong(reader, "neither of npumemctl top -j nor of npumemctl monitor -j");
	if (object) {
		reader->read++;
		reader->row = 0;
	}
	json_decref(object);
}

static void skip_line(struct reader *reader, struct lines *lines)
{
	int err = lines_skip(lines, MAX_SKIP);

	reader->line = lines->number;
	if (err == -E2BIG)
		line_wrong(reader, "the line is longer than %u bytes", MAX_LINE);
	else if (err)
		reader->err = err;
	else
		damaged(reader, "the line is longer than %u bytes", MAX_LINE);
}

int history_read(struct history *history, FILE *in, struct history_notes *notes,
		 struct npuplan_error *error)
{
	struct reader reader = { .history = history, .notes = notes, .error = error };
	struct lines lines = { .in = in, .most = MAX_LINE };
	int got = 0;

	*notes = (struct history_notes){ 0 };
	while (!reader.err && (got = lines_next(&lines)) != 0) {
		if (got == -E2BIG) {
			skip_line(&reader, &lines);
			continue;
		}
		if (got < 0) {
			reader.err = got;
			break;
		}
		reader.line = lines.number;
		reader.cut = lines.text[lines.length - 1] != '\n';
		/* NULs, which power loss may leave in a file, are not blank. */
		if (strspn(lines.text, " \t\r\n") < lines.length)
			read_line(&reader, lines.text, lines.length);
	}
	lines_free(&lines);
	if (notes->damages && !reader.read) {
		reader.line = notes->damaged;
		line_wrong(&reader, "%s", notes->damage);
	}
	if (reader.err && reader.err != -EBADMSG)
		snprintf(error->text, sizeof(error->text), "%s", strerror(-reader.err));
	return reader.err;
}

static int by_time(const void *left, const void *right)
{
	const struct history_sample *a = left, *b = right;

	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Those of one time by what they say, so that it does not matter which file was read first. */
static int events_by_time(const void *left, const void *right)
{
	const struct history_event *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : strcmp(a->text, b->text);
}

static void drop_foreign(struct history *history)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->event_count; i++)
		if (history->events[i].device == history->device)
			history->events[kept++] = history->events[i];
		else
			free(history->events[i].text);
	history->foreign = history->event_count - kept;
	history->event_count = kept;
}

/* -------------------------------------------------------------------- breaks */

static int by_begin(const void *left, const void *right)
{
	const struct history_break *a = left, *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int by_length(const void *left, const void *right)
{
	const struct history_break *a = left, *b = right;
	int64_t first = a->end - a->begin, second = b->end - b->begin;

	if (first != second)
		return first > second ? -1 : 1;
	return by_begin(left, right);
}

/* In the place of @times of samples and events the times between them; returns how many. */
static size_t find_pauses(struct history_break *times, size_t count)
{
	int64_t end = times[0].end;
	size_t pauses = 0;

	for (size_t i = 1; i < count; i++) {
		struct history_break time = times[i];

		if (time.begin > end)
			times[pauses++] = (struct history_break){ end, time.begin };
		if (time.end > end)
			end = time.end;
	}
	return pauses;
}

/* The longest pause is a break if there is little beside it; so is the next one of the rest. */
static int find_breaks(struct history *history)
{
	size_t count = history->sample_count + history->event_count, pauses;
	struct history_break *times = calloc(count, sizeof(*times));
	int64_t first, rest;

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < history->sample_count; i++)
		times[i] = (struct history_break){ history->samples[i].begin,
						   history->samples[i].end };
	for (size_t i = history->sample_count; i < count; i++) {
		int64_t time = history->events[i - history->sample_count].time;

		times[i] = (struct history_break){ time, time };
	}
	qsort(times, count, sizeof(*times), by_begin);
	first = rest = times[0].begin;
	for (size_t i = 0; i < count; i++)
		rest = times[i].end > rest ? times[i].end : rest;
	rest -= first;
	pauses = find_pauses(times, count);
	if (pauses)
		qsort(times, pauses, sizeof(*times), by_length);
	for (size_t i = 0; i < pauses && history->break_count < HISTORY_BREAKS; i++) {
		int64_t length = times[i].end - times[i].begin;

		if (length / BREAK <= rest - length)
			break;
		rest -= length;
		history->breaks[history->break_count++] = times[i];
	}
	free(times);
	qsort(history->breaks, history->break_count, sizeof(*history->breaks), by_begin);
	return 0;
}

int history_end(struct history *history, struct npuplan_error *error)
{
	if (!history->sample_count) {
		snprintf(error->text, sizeof(error->text),
			 "there is no line of npumemctl top -j: nothing to draw");
		return -EBADMSG;
	}
	qsort(history->samples, history->sample_count, sizeof(*history->samples), by_time);
	drop_foreign(history);
	if (history->event_count)
		qsort(history->events, history->event_count, sizeof(*history->events),
		      events_by_time);
	if (!find_breaks(history) && !history_find_clients(history))
		return 0;
	snprintf(error->text, sizeof(error->text), "%s", strerror(ENOMEM));
	return -ENOMEM;
}

void history_fini(struct history *history)
{
	history_free_looks(history);
	for (size_t i = 0; i < history->event_count; i++)
		free(history->events[i].text);
	free(history->path);
	free(history->clients);
	free(history->shares);
	free(history->samples);
	free(history->events);
	*history = (struct history){ 0 };
}
