/* SPDX-License-Identifier: MIT */
/*
 * Pictures of plans: time across, offset up, a box for each placement and in
 * it one for each range of bytes with one live range.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "npuplan.h"

/* Most plans of a page. */
#define PICTURE_PLANS 32

/* Most boxes drawn; beyond it neighbours share one. */
#define PICTURE_BOXES 40000

/*
 * struct picture_box - bytes of the arena that live at the same time
 * @first, @length: arena bytes
 * @start, @end: halves of positions of the schedule, inclusive: position p loads
 *	in half 2p and stores in 2p + 1
 */
struct picture_box {
	uint64_t first;
	uint64_t length;
	uint32_t start;
	uint32_t end;
};

/*
 * struct picture_placement - a placement, as it is drawn
 * @hull: all of it
 * @first_box, @box_count: in picture.boxes; in order of arena bytes, then of time
 * @peak_bytes: that live at the peak; what two placements share counts for one
 */
struct picture_placement {
	struct picture_box hull;
	uint32_t tensor;
	uint32_t first_box;
	uint32_t box_count;
	uint64_t peak_bytes;
};

/*
 * struct picture - a plan, ready to be drawn
 * @name: where the plan came from
 * @box_total: boxes before neighbours were joined
 * @peak: half of a position in which most bytes live, @peak_bytes of them
 * @live: bytes that live in each half of each position
 * @height: bytes that the vertical axis shows, >= 1
 */
struct picture {
	const char *name;
	const struct npuplan_graph *graph;
	const struct npuplan_plan *plan;
	struct picture_placement *placements;
	struct picture_box *boxes;
	uint32_t placement_count;
	uint32_t box_count;
	uint32_t box_total;
	uint32_t peak;
	uint64_t peak_bytes;
	uint64_t *live;
	uint64_t height;
};

/* picture_init() - find the boxes of a plan that fits its graph
 * @name: not copied; nor are the graph and the plan
 *
 * A piece that is not contiguous in the arena, or a ring, has boxes of its own for each
 * of its rows: where they lie, while they live. 0 or -ENOMEM; -EINVAL: the plan does not
 * fit.
 */
int picture_init(struct picture *picture, const char *name, const struct npuplan_graph *graph,
		 const struct npuplan_plan *plan);
void picture_fini(struct picture *picture);

/* Where there are several, they stand side by side, at one scale of bytes. */

/** picture_write_svg() - a document of its own (picture/svg.c) */
void picture_write_svg(FILE *out, struct picture *pictures, unsigned int count);
/*
 * struct picture_refusal - a plan that there is not, for a line of the page's table
 * @why: one line
 */
struct picture_refusal {
	const char *planner;
	const char *why;
};

/*
 * struct picture_page - what a page shows
 * @pictures, @count: two side by side; of more, or where there are refusals, a table says which
 */
struct picture_page {
	struct picture *pictures;
	unsigned int count;
	const struct picture_refusal *refusals;
	unsigned int refusal_count;
};

/** picture_write_html() - one self-contained page (picture/html.c) */
void picture_write_html(FILE *out, const struct picture_page *page);

/* picture/plans.c: the table of all plans of a page, if it has one. */
void picture_write_plans(FILE *out, const struct picture_page *page);

/* Make a box hold another one, too. */
void picture_join(struct picture_box *into, const struct picture_box *box);

/* picture/peak.c: fill in peak, peak_bytes and those of the placements, and live. -ENOMEM. */
int picture_find_peak(struct picture *picture);

/* picture/data.c: what the page's script is to know, as JSON. */
void picture_write_data(FILE *out, const struct picture *pictures, unsigned int count);

/* picture/in_place.c: "P,A,P,A": access A of the step at position P takes bytes of its input. */
void picture_write_in_place(FILE *out, const struct picture *picture);

/* picture/annotations.c: what is drawn above the boxes. */
void picture_write_names(FILE *out, const struct picture *picture);
void picture_write_transfers(FILE *out, const struct picture *picture);
void picture_write_guides(FILE *out, const struct picture *picture);
void picture_write_legend(FILE *out, const struct picture *picture);

/* picture/svg.c: units of one picture, and of the part of it where the arena is. */
#define PICTURE_WIDTH  1000
#define PICTURE_HEIGHT 630
#define PICTURE_LEFT   90
#define PICTURE_TOP    50
#define PICTURE_PLOT_W 890
#define PICTURE_PLOT_H 500
#define PICTURE_BOTTOM (PICTURE_TOP + PICTURE_PLOT_H)

/* Hundredths of a unit: left edge of half a position; of an arena byte, addresses go up. */
uint64_t picture_x(const struct picture *picture, uint64_t half);
uint64_t picture_y(const struct picture *picture, uint64_t byte);
/* "1.23" */
struct picture_number {
	char s[24];
};
struct picture_number picture_hundredths(uint64_t value);
/* "1.5 MiB" */
void picture_write_bytes(FILE *out, uint64_t bytes);

/* picture/svg.c, for other pictures, too: the attribute "fill" of the number-th thing. */
void picture_write_colour(FILE *out, uint32_t number);
/* Distance of ticks, so that a range has few: a power of two; 1, 2, 5, 10 and so on. */
uint64_t picture_byte_tick(uint64_t range, uint64_t most);
uint64_t picture_step_tick(uint64_t range, uint64_t most);

/* picture/svg.c, for the page: one picture as an svg element; text escaped. */
void picture_write_panel(FILE *out, const struct picture *picture);
void picture_write_text(FILE *out, const char *text);
/* Name of the step at a position, or what else is done there. */
void picture_write_position(FILE *out, const struct picture *picture, uint32_t position);
void picture_write_tensor(FILE *out, const struct picture *picture, uint32_t tensor);
/* Show as many bytes as the highest. */
void picture_same_height(struct picture *pictures, unsigned int count);
