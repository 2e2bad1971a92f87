// SPDX-License-Identifier: MIT
/*
 * Coordinates are whole hundredths of a unit, and times are said in UTC, so that the same recording
 * gives the same bytes everywhere.
 */
#include "drawing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bands.h"
#include "picture/picture.h"
#include "picture_files.h"

#define WIDTH	     1000
#define LEFT	     90
#define PLOT_W	     890
#define TOP	     50
#define BYTES_H	     300
#define JOBS_TOP     (TOP + BYTES_H + 30)
#define JOBS_H	     100
#define MARKS_TOP    (JOBS_TOP + JOBS_H + 14)
#define MARK_H	     16
#define MARKS_BOTTOM (MARKS_TOP + HISTORY_KINDS * MARK_H)
#define KEYS_TOP     (MARKS_BOTTOM + 60)
#define KEY_H	     18
/* Events that the page lists. */
#define LISTED	     500

static const char *const kinds[HISTORY_KINDS] = { "plan refused", "job refused", "job failed" };
static const char *const classes[HISTORY_KINDS] = { "plan-refused", "job-refused", "job-failed" };

/* struct plot - the place of a quantity: its range, and where it is drawn */
struct plot {
	uint64_t range;
	int bottom;
	int height;
};

static uint64_t x_of(const struct bands *bands, int64_t time)
{
	return (uint64_t)LEFT * 100 + (uint64_t)((unsigned __int128)bands_place(bands, time) *
						 PLOT_W * 100 / bands->range);
}

static uint64_t y_of(const struct plot *plot, uint64_t value)
{
	return (uint64_t)plot->bottom * 100 -
	       (uint64_t)((unsigned __int128)value * (unsigned int)plot->height * 100 /
			  plot->range);
}

static void write_milliseconds(FILE *out, int64_t ms)
{
	fprintf(out, "%" PRId64 ".%03" PRId64 " s", ms / 1000, ms % 1000);
}

/* @exact: with milliseconds */
static void write_date(FILE *out, int64_t ms, bool exact)
{
	const time_t seconds = (time_t)(ms / 1000);
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	fputs(text, out);
	if (exact)
		fprintf(out, ".%03" PRId64, ms % 1000);
	fputs(" UTC", out);
}

/* Seconds since the beginning; where the axis has breaks, at which it begins anew, the date. */
static void write_instant(FILE *out, const struct bands *bands, int64_t time)
{
	if (bands->break_count)
		write_date(out, time, true);
	else
		write_milliseconds(out, time - bands->begin);
}

/* --------------------------------------------------------------------- bands */

static void write_client(FILE *out, const struct history_client *client)
{
	picture_write_text(out, *client->command ? client->command : "?");
	if (client->pid)
		fprintf(out, " (pid %" PRId64 ")", client->pid);
	else
		fputs(" (closed)", out);
}

static void write_band_name(FILE *out, const struct bands *bands, unsigned int band)
{
	if (band < bands->client_count)
		write_client(out, bands->clients[band]);
	else if (band + 1 < bands_count(bands))
		fprintf(out, "%zu more clients", bands->others);
	else
		fputs("clients not to be seen by who recorded it", out);
}

static void write_band_look(FILE *out, const struct bands *bands, unsigned int band)
{
	if (band < bands->client_count)
		picture_write_colour(out, band);
	else
		fputs(band + 1 < bands_count(bands) ? " class=\"others\"" : " class=\"unseen\"",
		      out);
}

/* A box of a band: columns that touch and are as high are one. */
static void write_boxes(FILE *out, const struct bands *bands, const struct plot *plot,
			enum bands_quantity quantity, unsigned int band)
{
	uint64_t right = 0, top = 0, bottom = 0;

	for (size_t i = 0; i <= bands->column_count; i++) {
		const struct bands_column *column = &bands->columns[i];
		uint64_t x = 0, x2 = 0, y = 0, y2 = 0;

		if (i < bands->column_count) {
			x = x_of(bands, column->begin);
			x2 = x_of(bands, column->end);
			y = y_of(plot, column->tops[quantity][band]);
			y2 = band ? y_of(plot, column->tops[quantity][band - 1]) :
				    (uint64_t)plot->bottom * 100;
		}
		if (x == right && y == top && y2 == bottom) {
			right = x2;
			continue;
		}
		if (top != bottom)
			fprintf(out, "H%sV%sZ", picture_hundredths(right).s,
				picture_hundredths(bottom).s);
		if (y != y2)
			fprintf(out, "M%s %sV%s", picture_hundredths(x).s, picture_hundredths(y2).s,
				picture_hundredths(y).s);
		right = x2;
		top = y;
		bottom = y2;
	}
}

static void write_bands(FILE *out, const struct bands *bands, const struct plot *plot,
			enum bands_quantity quantity)
{
	for (unsigned int band = 0; band < bands_count(bands); band++) {
		fputs("<g class=\"band\"><path", out);
		write_band_look(out, bands, band);
		fputs(" d=\"", out);
		write_boxes(out, bands, plot, quantity, band);
		fputs("\"><title>", out);
		write_band_name(out, bands, band);
		fputs("</title></path></g>\n", out);
	}
}

/* ---------------------------------------------------------------------- axes */

static void write_tick(FILE *out, uint64_t y)
{
	fprintf(out, "<path class=\"grid\" d=\"M%d %sh%d\"/><text class=\"y\" x=\"%d\" y=\"%s\">",
		LEFT, picture_hundredths(y).s, PLOT_W, LEFT - 6, picture_hundredths(y + 400).s);
}

static void write_frame(FILE *out, const struct plot *plot, const char *what)
{
	fprintf(out, "<rect class=\"plot\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT,
		plot->bottom - plot->height, PLOT_W, plot->height);
	fprintf(out, "<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n", LEFT,
		plot->bottom - plot->height - 5, what);
}

static void write_bytes(FILE *out, const struct bands *bands, const struct history *history)
{
	const struct plot plot = { bands->size ? bands->size : 1, TOP + BYTES_H, BYTES_H };
	uint64_t step = picture_byte_tick(plot.range, 8), size = history->samples[0].size;

	write_frame(out, &plot, "bytes of the carveout");
	for (uint64_t value = 0; value <= plot.range; value += step) {
		write_tick(out, y_of(&plot, value));
		picture_write_bytes(out, value);
		fputs("</text>\n", out);
	}
	write_bands(out, bands, &plot, BANDS_BYTES);
	fprintf(out, "<path class=\"size\" d=\"M%d %sh%d\"><title>all of it: ", LEFT,
		picture_hundredths(y_of(&plot, size)).s, PLOT_W);
	picture_write_bytes(out, size);
	fputs("</title></path>\n", out);
}

static void write_jobs(FILE *out, const struct bands *bands)
{
	const struct plot plot = { bands->jobs ? bands->jobs : 100, JOBS_TOP + JOBS_H, JOBS_H };
	uint64_t step = picture_step_tick(plot.range / 100, 4);

	write_frame(out, &plot, "jobs that ended, a second");
	for (uint64_t value = 0; value <= plot.range / 100; value += step) {
		write_tick(out, y_of(&plot, 100 * value));
		fprintf(out, "%" PRIu64 "</text>\n", value);
	}
	write_bands(out, bands, &plot, BANDS_JOBS);
}

/* Of a time without a break in it; @from: where the last tick is, and the next one is not near. */
static uint64_t write_ticks(FILE *out, const struct bands *bands, int64_t begin, int64_t end,
			    uint64_t from)
{
	uint64_t unit = bands->range < 5000 ? 100 : 1000;
	uint64_t step = unit * picture_step_tick(bands->range / unit, 12);

	for (uint64_t ms = 0; ms <= (uint64_t)(end - begin); ms += step) {
		uint64_t x = x_of(bands, begin + (int64_t)ms);

		if (from && x < from + 3000)
			continue;
		fprintf(out, "<text class=\"x\" x=\"%s\" y=\"%d\">%" PRIu64,
			picture_hundredths(x).s, MARKS_BOTTOM + 16, ms / 1000);
		if (unit < 1000)
			fprintf(out, ".%" PRIu64, ms % 1000 / 100);
		fputs("</text>\n", out);
		from = x;
	}
	return from;
}

static void write_break(FILE *out, const struct bands *bands, const struct history_break *pause)
{
	uint64_t left = x_of(bands, pause->begin), right = x_of(bands, pause->end);

	fprintf(out,
		"<path class=\"break\" d=\"M%s %dH%sV%dH%sZ\"><title>nothing was recorded for ",
		picture_hundredths(left).s, TOP, picture_hundredths(right).s, MARKS_BOTTOM,
		picture_hundredths(left).s);
	write_milliseconds(out, pause->end - pause->begin);
	fputs(", or the clock was set forward; then it is ", out);
	write_date(out, pause->end, false);
	fputs("</title></path>\n", out);
}

/* When it goes on behind breaks, so that what is there can be found in a journal. */
static void write_resumptions(FILE *out, const struct bands *bands)
{
	const uint64_t width = 20000, right = (uint64_t)(LEFT + PLOT_W) * 100;
	uint64_t free = 0;

	for (unsigned int i = 0; i < bands->break_count; i++) {
		uint64_t x = x_of(bands, bands->breaks[i].end);

		if (x + width > right)
			x = right - width;
		/* Two dates in one place could not be read; the break has it, too. */
		if (x < free)
			continue;
		fprintf(out, "<text class=\"note\" x=\"%s\" y=\"%d\">from ",
			picture_hundredths(x).s, MARKS_BOTTOM + 46);
		write_date(out, bands->breaks[i].end, false);
		fputs("</text>\n", out);
		free = x + width;
	}
}

/*
 * Ticks of time, in whole seconds, or in tenths where there are few; they begin anew after each
 * break.
 */
static void write_time(FILE *out, const struct bands *bands)
{
	int64_t begin = bands->begin;
	uint64_t last = 0;

	for (unsigned int i = 0; i < bands->break_count; i++)
		write_break(out, bands, &bands->breaks[i]);
	fputs("<g class=\"axes\">\n", out);
	for (unsigned int i = 0; i < bands->break_count; i++) {
		last = write_ticks(out, bands, begin, bands->breaks[i].begin, last);
		begin = bands->breaks[i].end;
	}
	write_ticks(out, bands, begin, bands->end, last);
	fputs("</g>\n", out);
	write_resumptions(out, bands);
	fprintf(out, "<text class=\"x\" x=\"%d\" y=\"%d\">seconds</text>\n", LEFT + PLOT_W / 2,
		MARKS_BOTTOM + 32);
}

/* --------------------------------------------------------------------- marks */

/* Events of one kind that are too near to be told apart have one mark. */
static void write_marks_of(FILE *out, const struct bands *bands, const struct history *history,
			   enum history_kind kind)
{
	int y = MARKS_TOP + (int)kind * MARK_H;
	const struct history_event *first = NULL;
	uint64_t more = 0;

	for (size_t i = 0; i <= history->event_count; i++) {
		const struct history_event *event = i < history->event_count ? &history->events[i] :
									       NULL;
		uint64_t x = first ? x_of(bands, first->time) : 0;

		if (event && event->kind != kind)
			continue;
		if (event && first && x_of(bands, event->time) < x + 200) {
			more++;
			continue;
		}
		if (first) {
			fprintf(out, "<path d=\"M%s %dV%d\"/>", picture_hundredths(x).s, TOP, y);
			fprintf(out, "<rect x=\"%s\" y=\"%d\" width=\"3\" height=\"%d\"><title>",
				picture_hundredths(x - 150).s, y + 2, MARK_H - 4);
			write_instant(out, bands, first->time);
			fprintf(out, ", %s: ", kinds[kind]);
			picture_write_text(out, first->text);
			if (more)
				fprintf(out, "\nand %" PRIu64 " more", more);
			fputs("</title></rect>\n", out);
		}
		first = event;
		more = 0;
	}
}

static void write_marks(FILE *out, const struct bands *bands, const struct history *history)
{
	for (int kind = 0; kind < HISTORY_KINDS; kind++) {
		fprintf(out,
			"<g class=\"marks %s\"><text class=\"y\" x=\"%d\" y=\"%d\">%s</text>\n",
			classes[kind], LEFT - 6, MARKS_TOP + kind * MARK_H + 12, kinds[kind]);
		write_marks_of(out, bands, history, (enum history_kind)kind);
		fputs("</g>\n", out);
	}
}

/* ---------------------------------------------------------------------- page */

static void write_key(FILE *out, const struct bands *bands, unsigned int band)
{
	int x = LEFT + (int)(band % 2) * PLOT_W / 2, y = KEYS_TOP + (int)(band / 2) * KEY_H;

	fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\"", x, y - 10);
	write_band_look(out, bands, band);
	fprintf(out, "/><text class=\"key\" x=\"%d\" y=\"%d\">", x + 18, y);
	write_band_name(out, bands, band);
	if (band < bands->client_count) {
		fputs(": at most ", out);
		picture_write_bytes(out, bands->clients[band]->peak);
	}
	fputs("</text>\n", out);
}

static void write_heading(FILE *out, const struct bands *bands, const struct history *history)
{
	fprintf(out, "<text class=\"heading\" x=\"%d\" y=\"14\">", LEFT);
	picture_write_text(out, history->path);
	fputs(", from ", out);
	write_date(out, bands->begin, false);
	fputs("</text>\n", out);
	fprintf(out, "<text class=\"note\" x=\"%d\" y=\"30\">", LEFT);
	if (bands->break_count)
		fputs("until ", out);
	write_instant(out, bands, bands->end);
	fprintf(out, ", %zu samples, %zu clients, %zu refusals and failures", history->sample_count,
		history->client_count, history->event_count);
	if (history->foreign)
		fprintf(out, ", %zu more of other devices", history->foreign);
	fputs("</text>\n", out);
}

static int height_of(const struct bands *bands)
{
	return KEYS_TOP + (int)((bands_count(bands) + 1) / 2) * KEY_H;
}

static void write_picture(FILE *out, const struct bands *bands, const struct history *history)
{
	write_bytes(out, bands, history);
	write_jobs(out, bands);
	write_marks(out, bands, history);
	write_time(out, bands);
	for (unsigned int band = 0; band < bands_count(bands); band++)
		write_key(out, bands, band);
	write_heading(out, bands, history);
}

int history_write_svg(FILE *out, const struct history *history)
{
	struct bands bands;
	int err = bands_init(&bands, history, PLOT_W);

	if (!err) {
		fprintf(out,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
			"<style>\n%s%s%s</style>\n",
			WIDTH, height_of(&bands), PICTURE_COLOURS_CSS, PICTURE_BOXES_CSS,
			PICTURE_HISTORY_CSS);
		fprintf(out, "<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n", WIDTH,
			height_of(&bands));
		write_picture(out, &bands, history);
		fputs("</svg>\n", out);
	}
	bands_fini(&bands);
	return err;
}

static void write_client_row(FILE *out, const struct history_client *client)
{
	fprintf(out, "<tr><td class=\"number\">%" PRIu64 "</td><td class=\"number\">",
		client->number);
	if (client->pid)
		fprintf(out, "%" PRId64, client->pid);
	fputs("</td><td class=\"number\">", out);
	if (client->uid >= 0 && client->uid < UINT32_MAX)
		fprintf(out, "%" PRId64, client->uid);
	fputs("</td><td>", out);
	picture_write_text(out, client->command);
	fprintf(out,
		"</td><td class=\"number\">%" PRIu64 "</td><td class=\"number\">%s</td></tr>\n",
		client->peak, picture_hundredths(client->jobs).s);
}

static void write_clients(FILE *out, const struct bands *bands)
{
	fputs("<h2>Clients</h2>\n<table id=\"clients\" class=\"list\"><thead><tr><th>client</th>"
	      "<th>pid</th><th>uid</th><th>command</th><th>most bytes</th><th>most jobs a second</th>"
	      "</tr></thead>\n<tbody>\n",
	      out);
	for (unsigned int i = 0; i < bands->client_count; i++)
		write_client_row(out, bands->clients[i]);
	fputs("</tbody></table>\n", out);
	if (bands->others)
		fprintf(out, "<p>and %zu more, who held less.</p>\n", bands->others);
}

static void write_events(FILE *out, const struct bands *bands, const struct history *history)
{
	size_t count = history->event_count < LISTED ? history->event_count : LISTED;

	if (!count)
		return;
	fputs("<h2>Refusals and failures</h2>\n<table id=\"events\" class=\"list\"><thead><tr>"
	      "<th>time</th><th>what</th><th>of</th></tr></thead>\n<tbody>\n",
	      out);
	for (size_t i = 0; i < count; i++) {
		const struct history_event *event = &history->events[i];

		fputs("<tr><td class=\"number\">", out);
		write_instant(out, bands, event->time);
		fprintf(out, "</td><td>%s</td><td>", kinds[event->kind]);
		picture_write_text(out, event->text);
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table>\n", out);
	if (count < history->event_count)
		fprintf(out, "<p>and %zu more.</p>\n", history->event_count - count);
}

int history_write_html(FILE *out, const struct history *history)
{
	struct bands bands;
	int err = bands_init(&bands, history, PLOT_W);

	if (!err) {
		fputs("<!DOCTYPE html>\n"
		      "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
		      "<meta charset=\"utf-8\"/>\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
		      out);
		picture_write_text(out, history->path);
		fputs(": what it did</title>\n<style>\n" PICTURE_COLOURS_CSS PICTURE_BOXES_CSS
			      PICTURE_PAGE_CSS PICTURE_HISTORY_CSS "</style>\n</head>\n<body>\n",
		      out);
		fprintf(out,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"history\" viewBox=\"0 0 %d %d\" role=\"group\" aria-label=\"the device over time\">\n",
			WIDTH, height_of(&bands));
		write_picture(out, &bands, history);
		fputs("</svg>\n", out);
		write_clients(out, &bands);
		write_events(out, &bands, history);
		fputs("</body>\n</html>\n", out);
	}
	bands_fini(&bands);
	return err;
}
