// SPDX-License-Identifier: MIT
/* Drawn above the boxes: names, transfers, guides, and the legend that explains them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "../../grow/grow.h"

/* Hundredths: of a name's character, about, and of a line of them. */
#define CHARACTER 560
#define LINE	  1200
/* Fewer characters than this, and dots, say nothing. */
#define LEAST	  4

/* Characters of UTF-8. */
static size_t characters(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

/* The last @count characters, which tell more than the first; dots if that is not all. */
static void write_tail(FILE *out, const char *text, size_t count)
{
	size_t skipped = characters(text) > count ? characters(text) - count : 0;

	if (skipped)
		fputs("\xe2\x80\xa6", out);
	while (*text && skipped) {
		text++;
		skipped -= ((unsigned char)*text & 0xc0) != 0x80;
	}
	picture_write_text(out, text);
}

/* struct area - rectangle that a name takes up, in hundredths of the picture's units */
struct area {
	uint64_t x;
	uint64_t y;
	uint64_t width;
	uint64_t height;
};

/* struct names - those that have been written */
struct names {
	struct area *areas;
	uint32_t count;
};

/* Whether there is no other name; then it is one. */
static bool claim(struct names *names, const struct area *area)
{
	struct area *areas;

	for (uint32_t i = 0; i < names->count; i++) {
		const struct area *other = &names->areas[i];

		if (area->x < other->x + other->width && other->x < area->x + area->width &&
		    area->y < other->y + other->height && other->y < area->y + area->height)
			return false;
	}
	areas = grow_by_one(names->areas, names->count, sizeof(*areas));
	if (!areas)
		return false;
	names->areas = areas;
	areas[names->count++] = *area;
	return true;
}

/* A name in a rectangle, across or, where that is better, upwards. */
static void write_name(FILE *out, struct names *names, const char *name, const struct area *in)
{
	size_t length = characters(name);
	size_t across = in->height >= LINE ? in->width / CHARACTER : 0;
	size_t up = in->width >= LINE ? in->height / CHARACTER : 0;
	bool upwards = across < length && up > across;
	size_t room = upwards ? up : across, written = room < length ? room : length;
	uint64_t middle_x = in->x + in->width / 2, middle_y = in->y + in->height / 2;
	uint64_t long_side = written * CHARACTER;
	struct area area = { middle_x - long_side / 2, middle_y - LINE / 2, long_side, LINE };

	if (upwards)
		area = (struct area){ middle_x - LINE / 2, middle_y - long_side / 2, LINE,
				      long_side };
	if (!length || (room < length && room < LEAST) || !claim(names, &area))
		return;
	if (upwards)
		fprintf(out, "<text class=\"name\" transform=\"translate(%s %s) rotate(-90)\">",
			picture_hundredths(middle_x + 350).s, picture_hundredths(middle_y).s);
	else
		fprintf(out, "<text class=\"name\" x=\"%s\" y=\"%s\">",
			picture_hundredths(middle_x).s, picture_hundredths(middle_y + 350).s);
	/* Room for the dots. */
	write_tail(out, name, room < length ? room - 1 : length);
	fputs("</text>\n", out);
}

/*
 * struct bounds - all placements of a tensor together
 * @hull: rectangle around them, in bytes and steps
 * @area: how much of it they fill, in bytes times steps
 */
struct bounds {
	struct picture_box hull;
	double area;
};

static double area_of(const struct picture_box *box)
{
	return (double)box->length * (double)(box->end - box->start + 1);
}

static void widen(struct bounds *bounding, const struct picture_box *box)
{
	if (!bounding->area)
		bounding->hull = *box;
	picture_join(&bounding->hull, box);
	bounding->area += area_of(box);
}

static void write_name_in(FILE *out, struct names *names, const struct picture *picture,
			  uint32_t tensor, const struct picture_box *box)
{
	uint64_t x = picture_x(picture, box->start);
	uint64_t y = picture_y(picture, box->first + box->length);
	const struct area area = { x, y, picture_x(picture, (uint64_t)box->end + 1) - x,
				   picture_y(picture, box->first) - y };

	write_name(out, names, picture->graph->tensors[tensor].name, &area);
}

/* Pieces that fill most of the rectangle around them have one name together, others one each. */
void picture_write_names(FILE *out, const struct picture *picture)
{
	struct bounds *bounds = calloc((size_t)picture->graph->tensor_count + 1, sizeof(*bounds));
	struct names names = { 0 };

	if (!bounds)
		return;
	fputs("<g class=\"names\">\n", out);
	for (uint32_t i = 0; i < picture->placement_count; i++)
		widen(&bounds[picture->placements[i].tensor], &picture->placements[i].hull);
	for (uint32_t i = 0; i < picture->placement_count; i++) {
		const struct picture_placement *drawn = &picture->placements[i];
		struct bounds *bounding = &bounds[drawn->tensor];
		bool apart;

		if (bounding->area < 0)
			continue;
		apart = bounding->area < 0.6 * area_of(&bounding->hull);
		write_name_in(out, &names, picture, drawn->tensor,
			      apart ? &drawn->hull : &bounding->hull);
		if (!apart)
			bounding->area = -1;
	}
	fputs("</g>\n", out);
	free(names.areas);
	free(bounds);
}

/* ------------------------------------------------------------------------ transfers */

static const struct {
	uint32_t kind;
	/* Triangle around where it is: into the arena points down, out of it up. */
	const char *path;
	const char *meaning;
} transfers[] = {
	{ NPUMEM_POSITION_LOAD, "l-5 -8h10z", "load: host memory to arena, first" },
	{ NPUMEM_POSITION_FILL, "l-5 -8h10z", "fill: back again" },
	{ NPUMEM_POSITION_SPILL, "l-5 8h10z", "spill: arena to host memory" },
	{ NPUMEM_POSITION_STORE, "l-5 8h10z", "store: a copy to host memory" },
};

#define TRANSFERS (sizeof(transfers) / sizeof(*transfers))

/* Where the tensor lies then; NULL: nowhere. */
static const struct picture_placement *placement_at(const struct picture *picture, uint32_t tensor,
						    uint32_t position)
{
	for (uint32_t i = 0; i < picture->placement_count; i++) {
		const struct picture_placement *drawn = &picture->placements[i];

		if (drawn->tensor == tensor && drawn->hull.start / 2 <= position &&
		    drawn->hull.end / 2 >= position)
			return drawn;
	}
	return NULL;
}

void picture_write_transfers(FILE *out, const struct picture *picture)
{
	for (uint32_t p = 0; p < picture->plan->position_count; p++) {
		const struct npumem_position *position = &picture->plan->positions[p];
		const struct picture_placement *drawn;
		uint64_t x, y;
		size_t kind = 0;

		while (kind < TRANSFERS && transfers[kind].kind != position->kind)
			kind++;
		if (kind == TRANSFERS)
			continue;
		drawn = placement_at(picture, position->index, p);
		if (!drawn)
			continue;
		x = picture_x(picture, 2 * (uint64_t)p + 1);
		y = picture_y(picture, drawn->hull.first + drawn->hull.length / 2);
		fprintf(out, "<path class=\"%s\" d=\"M%s %s%s\"><title>",
			npuplan_transfer_name(position->kind), picture_hundredths(x).s,
			picture_hundredths(y).s, transfers[kind].path);
		picture_write_position(out, picture, p);
		fprintf(out, "\n%" PRIu64 " bytes</title></path>\n", (uint64_t)position->length);
	}
}

static bool has(const struct picture *picture, uint32_t kind)
{
	for (uint32_t p = 0; p < picture->plan->position_count; p++)
		if (picture->plan->positions[p].kind == kind)
			return true;
	return false;
}

/* ----------------------------------------------------------------- guides and legend */

static void write_guide(FILE *out, const struct picture *picture, const char *class, uint64_t byte,
			uint64_t text_y, const char *text)
{
	fprintf(out,
		"<g class=\"guides\" data-byte=\"%" PRIu64
		"\"><path class=\"%s\" d=\"M%d %sh%d\"/>",
		byte, class, PICTURE_LEFT, picture_hundredths(picture_y(picture, byte)).s,
		PICTURE_PLOT_W);
	fprintf(out,
		"<text class=\"guide\" x=\"%d\" y=\"%s\">%s: ", PICTURE_LEFT + PICTURE_PLOT_W - 4,
		picture_hundredths(text_y).s, text);
	picture_write_bytes(out, byte);
	fputs("</text></g>\n", out);
}

/* Top of the arena and lower bound: one line if they are one. */
void picture_write_guides(FILE *out, const struct picture *picture)
{
	const struct npumem_plan_info *info = &picture->plan->info;
	uint64_t top = picture_y(picture, info->arena_size) - 400;
	bool bound = info->lower_bound && info->lower_bound <= info->arena_size;

	if (bound && info->lower_bound == info->arena_size) {
		write_guide(out, picture, "arena bound", info->arena_size, top,
			    "top of the arena = lower bound");
		return;
	}
	write_guide(out, picture, "arena", info->arena_size, top, "top of the arena");
	/* Below its line, so that it is not where the other text is. */
	if (bound)
		write_guide(out, picture, "bound", info->lower_bound,
			    picture_y(picture, info->lower_bound) + 1200, "lower bound");
}

/* An entry of the legend: @shape with its left edge at x = 0, and what it means. */
static int entry(FILE *out, int x, const char *shape, const char *meaning)
{
	fprintf(out,
		"<g transform=\"translate(%d %d)\">%s<text class=\"key\" x=\"20\" y=\"9\">%s</text></g>\n",
		x, PICTURE_BOTTOM + 44, shape, meaning);
	return x + 34 + (int)strlen(meaning) * 6;
}

void picture_write_legend(FILE *out, const struct picture *picture)
{
	int x = PICTURE_LEFT;

	fputs("<g class=\"legend\">\n", out);
	x = entry(out, x, "<rect class=\"full\" width=\"14\" height=\"10\"/>", "bytes live");
	x = entry(out, x, "<rect class=\"pale\" width=\"14\" height=\"10\"/>",
		  "has its place, but nothing in it: written in the second half of a step");
	entry(out, x, "<rect class=\"peak-step\" width=\"14\" height=\"10\"/>", "most bytes live");
	fputs("</g>\n<g class=\"legend\" transform=\"translate(0 16)\">\n", out);
	x = PICTURE_LEFT;
	for (size_t i = 0; i < TRANSFERS; i++) {
		char shape[96];

		if (!has(picture, transfers[i].kind))
			continue;
		snprintf(shape, sizeof(shape), "<path class=\"%s\" d=\"M7 %d%s\"/>",
			 npuplan_transfer_name(transfers[i].kind),
			 transfers[i].path[4] == '-' ? 9 : 1, transfers[i].path);
		x = entry(out, x, shape, transfers[i].meaning);
	}
	fputs("</g>\n", out);
}
