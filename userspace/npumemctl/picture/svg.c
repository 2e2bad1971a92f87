// SPDX-License-Identifier: MIT
/*
 * Drawing: SVG that needs nothing but itself. Coordinates are whole hundredths of
 * a unit, so that the same plan gives the same bytes everywhere.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kind.h"
#include "picture.h"
#include "picture_files.h"

/* Hundredths: boxes less wide or high have no stroke. */
#define THIN 300

struct picture_number picture_hundredths(uint64_t value)
{
	struct picture_number number;

	snprintf(number.s, sizeof(number.s), "%" PRIu64 ".%02" PRIu64, value / 100, value % 100);
	return number;
}

uint64_t picture_x(const struct picture *picture, uint64_t half)
{
	uint64_t positions = picture->plan->position_count ? picture->plan->position_count : 1;

	return (uint64_t)PICTURE_LEFT * 100 +
	       (uint64_t)PICTURE_PLOT_W * 100 * half / (2 * positions);
}

uint64_t picture_y(const struct picture *picture, uint64_t byte)
{
	return (uint64_t)PICTURE_BOTTOM * 100 -
	       (uint64_t)((unsigned __int128)PICTURE_PLOT_H * 100 * byte / picture->height);
}

void picture_write_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			/* XML has no way to say the other control characters. */
			fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
		}
	}
}

void picture_write_bytes(FILE *out, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned int unit = 0;
	uint64_t hundredths = 100 * bytes;

	if (bytes > UINT64_MAX / 128) {
		fprintf(out, "%" PRIu64 " B", bytes);
		return;
	}
	while (hundredths >= 102400 && unit < 4) {
		hundredths = (hundredths + 512) / 1024;
		unit++;
	}
	fprintf(out, "%" PRIu64, hundredths / 100);
	if (hundredths % 100)
		fprintf(out, hundredths % 10 ? ".%02" PRIu64 : ".%" PRIu64,
			hundredths % 10 ? hundredths % 100 : hundredths % 100 / 10);
	fprintf(out, " %s", units[unit]);
}

void picture_write_position(FILE *out, const struct picture *picture, uint32_t position)
{
	static const char *const kinds[] = { "", "load ", "spill ", "fill ", "drop ", "store " };
	const struct npumem_position *p = &picture->plan->positions[position];

	fprintf(out, "%" PRIu32, position);
	if (p->kind == NPUMEM_POSITION_STEP && *picture->graph->steps[p->index].name) {
		fputc(' ', out);
		picture_write_text(out, picture->graph->steps[p->index].name);
	} else if (p->kind != NPUMEM_POSITION_STEP && p->kind < 6) {
		fprintf(out, " %s", kinds[p->kind]);
		picture_write_tensor(out, picture, p->index);
	}
}

void picture_write_tensor(FILE *out, const struct picture *picture, uint32_t tensor)
{
	const char *name = picture->graph->tensors[tensor].name;

	if (*name)
		picture_write_text(out, name);
	else
		fprintf(out, "tensor %" PRIu32, tensor);
}

/* The text that shows when the pointer rests: name, shape, size, what is drawn, live range. */
static void write_title(FILE *out, const struct picture *picture,
			const struct picture_placement *drawn)
{
	const struct npuplan_tensor *tensor = &picture->graph->tensors[drawn->tensor];

	fputs("<title>", out);
	picture_write_tensor(out, picture, drawn->tensor);
	fprintf(out, "\n%s", kind_name(tensor->kind));
	for (uint32_t d = 0; d < tensor->dim_count; d++)
		fprintf(out, "%s%" PRId64, d ? " x " : ", ", tensor->shape[d]);
	fprintf(out, ", %" PRIu64 " bytes", drawn->hull.length);
	fprintf(out, "\noffset %" PRIu64 " to %" PRIu64, drawn->hull.first,
		drawn->hull.first + drawn->hull.length);
	fputs("\nfrom step ", out);
	picture_write_position(out, picture, drawn->hull.start / 2);
	fputs("\nto step ", out);
	picture_write_position(out, picture, drawn->hull.end / 2);
	fputs("</title>", out);
}

/* Hues a golden angle apart, of a lightness that shows on white and on black. */
void picture_write_colour(FILE *out, uint32_t number)
{
	uint32_t hue = number * 137 % 360, sector = hue / 60, part = hue % 60;
	uint32_t high = 205, low = 95, rise = low + (high - low) * part / 60;
	uint32_t fall = high - (high - low) * part / 60;
	const uint32_t rgb[6][3] = {
		{ high, rise, low }, { fall, high, low }, { low, high, rise },
		{ low, fall, high }, { rise, low, high }, { high, low, fall },
	};

	fprintf(out, " fill=\"#%02x%02x%02x\"", rgb[sector][0], rgb[sector][1], rgb[sector][2]);
}

static void write_rect(FILE *out, const struct picture *picture, const char *class,
		       const struct picture_box *box)
{
	uint64_t x = picture_x(picture, box->start),
		 y = picture_y(picture, box->first + box->length);
	uint64_t width = picture_x(picture, (uint64_t)box->end + 1) - x;
	uint64_t height = picture_y(picture, box->first) - y;
	/* A stroke around it would be most of what is seen. */
	bool thin = width < THIN || height < THIN;

	fprintf(out, "<rect class=\"%s%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"", class,
		thin ? " thin" : "", picture_hundredths(x).s, picture_hundredths(y).s,
		picture_hundredths(width).s, picture_hundredths(height).s);
}

static void write_placement(FILE *out, const struct picture *picture,
			    const struct picture_placement *drawn)
{
	fprintf(out, "<g class=\"tensor%s\" tabindex=\"-1\" role=\"img\"",
		drawn->peak_bytes ? " peak" : "");
	picture_write_colour(out, drawn->tensor);
	fputs(" aria-label=\"", out);
	picture_write_tensor(out, picture, drawn->tensor);
	fputs("\">", out);
	write_title(out, picture, drawn);
	fputc('\n', out);
	write_rect(out, picture, "hull", &drawn->hull);
	fputs("/>\n", out);
	for (uint32_t b = 0; b < drawn->box_count; b++) {
		const struct picture_box *box = &picture->boxes[drawn->first_box + b];

		write_rect(out, picture, "tile", box);
		if (drawn->box_count == 1) {
			fputs("/>\n", out);
			continue;
		}
		fputs("><title>", out);
		picture_write_tensor(out, picture, drawn->tensor);
		fprintf(out,
			"\nbytes %" PRIu64 " to %" PRIu64 ", offset %" PRIu64 "\nsteps %" PRIu32
			" to %" PRIu32 "</title></rect>\n",
			box->first - drawn->hull.first,
			box->first - drawn->hull.first + box->length, box->first, box->start / 2,
			box->end / 2);
	}
	fputs("</g>\n", out);
}

/* A power of two that gives few ticks. */
uint64_t picture_byte_tick(uint64_t range, uint64_t most)
{
	uint64_t step = 1;

	while (range / step > most)
		step *= 2;
	return step;
}

/* 1, 2, 5, 10, ... */
uint64_t picture_step_tick(uint64_t range, uint64_t most)
{
	uint64_t step = 1;

	for (int i = 0; range / step > most; i++)
		step = i % 3 == 1 ? step / 2 * 5 : step * 2;
	return step;
}

/* A script draws them anew where the picture can be zoomed. */
static void write_axes(FILE *out, const struct picture *picture)
{
	uint64_t bytes = picture_byte_tick(picture->height, 8);
	uint64_t steps = picture_step_tick(picture->plan->position_count, 12);

	fputs("<g class=\"axes\">\n", out);
	for (uint64_t b = 0; b <= picture->height; b += bytes) {
		uint64_t y = picture_y(picture, b);

		fprintf(out, "<path class=\"grid\" d=\"M%d %sh%d\"/>", PICTURE_LEFT,
			picture_hundredths(y).s, PICTURE_PLOT_W);
		fprintf(out, "<text class=\"y\" x=\"%d\" y=\"%s\">", PICTURE_LEFT - 6,
			picture_hundredths(y + 400).s);
		picture_write_bytes(out, b);
		fputs("</text>\n", out);
	}
	for (uint64_t p = 0; p < picture->plan->position_count; p += steps)
		fprintf(out, "<text class=\"x\" x=\"%s\" y=\"%d\">%" PRIu64 "</text>\n",
			picture_hundredths(picture_x(picture, 2 * p)).s, PICTURE_BOTTOM + 16, p);
	fputs("</g>\n", out);
	fprintf(out, "<text class=\"x\" x=\"%d\" y=\"%d\">step</text>\n",
		PICTURE_LEFT + PICTURE_PLOT_W / 2, PICTURE_BOTTOM + 32);
}

/* The step at which most bytes live. */
static void write_peak(FILE *out, const struct picture *picture)
{
	struct picture_box column = { 0, picture->height, picture->peak, picture->peak };

	if (!picture->plan->position_count)
		return;
	write_rect(out, picture, "peak-step", &column);
	fprintf(out, "><title>peak: %" PRIu64 " bytes live at step ", picture->peak_bytes);
	picture_write_position(out, picture, picture->peak / 2);
	fputs("</title></rect>\n", out);
}

static void write_heading(FILE *out, const struct picture *picture)
{
	const struct npumem_plan_info *info = &picture->plan->info;

	fprintf(out, "<text class=\"heading\" x=\"%d\" y=\"14\">", PICTURE_LEFT);
	picture_write_text(out, picture->graph->name);
	fputs(", ", out);
	picture_write_text(out, info->planner);
	fputs("</text>\n", out);
	fprintf(out, "<text class=\"note\" x=\"%d\" y=\"30\">arena %" PRIu64 " bytes (",
		PICTURE_LEFT, (uint64_t)info->arena_size);
	picture_write_bytes(out, info->arena_size);
	fprintf(out, "), lower bound %" PRIu64 "; %" PRIu64 " live at step ",
		(uint64_t)info->lower_bound, picture->peak_bytes);
	if (picture->plan->position_count)
		picture_write_position(out, picture, picture->peak / 2);
	fputs("</text>\n", out);
}

/* The part of the picture that moves and grows when it is zoomed. */
static void write_plot(FILE *out, const struct picture *picture)
{
	fputs("<g class=\"boxes\">\n", out);
	for (uint32_t i = 0; i < picture->placement_count; i++)
		write_placement(out, picture, &picture->placements[i]);
	fputs("</g>\n", out);
	write_peak(out, picture);
	picture_write_transfers(out, picture);
}

static void write_frame(FILE *out, const struct picture *picture)
{
	fprintf(out, "<rect class=\"plot\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
		PICTURE_LEFT, PICTURE_TOP, PICTURE_PLOT_W, PICTURE_PLOT_H);
	write_axes(out, picture);
}

/* The part that stays where it is, or as large as it is, when the picture is zoomed. */
static void write_overlay(FILE *out, const struct picture *picture)
{
	picture_write_names(out, picture);
	picture_write_guides(out, picture);
	write_heading(out, picture);
	picture_write_legend(out, picture);
}

void picture_write_panel(FILE *out, const struct picture *picture)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plan\" tabindex=\"0\" viewBox=\"0 0 %d %d\" role=\"group\" data-bytes=\"%" PRIu64
		"\" data-steps=\"%" PRIu32 "\" aria-label=\"",
		PICTURE_WIDTH, PICTURE_HEIGHT, picture->height, picture->plan->position_count);
	picture_write_text(out, picture->name);
	fputs("\">\n", out);
	write_frame(out, picture);
	/* In the units of what is around it, until it is zoomed. */
	fprintf(out,
		"<svg class=\"view\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" viewBox=\"%d %d %d %d\" preserveAspectRatio=\"none\">\n",
		PICTURE_LEFT, PICTURE_TOP, PICTURE_PLOT_W, PICTURE_PLOT_H, PICTURE_LEFT,
		PICTURE_TOP, PICTURE_PLOT_W, PICTURE_PLOT_H);
	write_plot(out, picture);
	fputs("</svg>\n", out);
	write_overlay(out, picture);
	fputs("</svg>\n", out);
}

void picture_write_svg(FILE *out, struct picture *pictures, unsigned int count)
{
	picture_same_height(pictures, count);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<style>\n%s%s%s</style>\n",
		PICTURE_WIDTH * count, PICTURE_HEIGHT, PICTURE_COLOURS_CSS, PICTURE_BOXES_CSS,
		PICTURE_SVG_CSS);
	fprintf(out, "<rect class=\"back\" width=\"%u\" height=\"%d\"/>\n", PICTURE_WIDTH * count,
		PICTURE_HEIGHT);
	for (unsigned int i = 0; i < count; i++) {
		fprintf(out, "<g class=\"plan\" transform=\"translate(%u 0)\">\n",
			PICTURE_WIDTH * i);
		write_frame(out, &pictures[i]);
		write_plot(out, &pictures[i]);
		write_overlay(out, &pictures[i]);
		fputs("</g>\n", out);
	}
	fputs("</svg>\n", out);
}
