// SPDX-License-Identifier: MIT
/*
 * Where most bytes live. Boxes overlap where an in-place operator's output takes the
 * bytes of what it reads, and where values that come into a block share them: such
 * bytes are there once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../cover/cover.h"
#include "picture.h"

static int init(struct cover *cover, const struct picture *picture)
{
	uint64_t *at = malloc(2 * (size_t)picture->box_count * sizeof(*at) + 1);
	size_t count = 0;

	for (uint32_t i = 0; i < picture->box_count && at; i++) {
		at[count++] = picture->boxes[i].first;
		at[count++] = picture->boxes[i].first + picture->boxes[i].length;
	}
	return cover_init(cover, at, count);
}

/*
 * struct event - a box comes, or has gone
 * @half: of a position
 */
struct event {
	uint32_t half;
	uint32_t box;
	bool comes;
};

static int by_half(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->half != b->half)
		return a->half < b->half ? -1 : 1;
	/* Those that have gone first. */
	if (a->comes != b->comes)
		return a->comes ? 1 : -1;
	return a->box < b->box ? -1 : a->box > b->box;
}

static int sweep(struct picture *picture, struct cover *cover)
{
	uint32_t count = 2 * picture->box_count;
	struct event *events = malloc(count * sizeof(*events) + 1);

	if (!events)
		return -ENOMEM;
	for (uint32_t i = 0; i < picture->box_count; i++) {
		events[2 * (size_t)i] = (struct event){ picture->boxes[i].start, i, true };
		events[2 * (size_t)i + 1] = (struct event){ picture->boxes[i].end + 1, i, false };
	}
	if (count)
		qsort(events, count, sizeof(*events), by_half);
	for (uint32_t e = 0; e < count; e++) {
		const struct picture_box *box = &picture->boxes[events[e].box];

		(events[e].comes ? cover_add : cover_remove)(cover, box->first,
							     box->first + box->length);
		if (e + 1 < count && events[e + 1].half == events[e].half)
			continue;
		/* Until the next one. */
		for (uint32_t half = events[e].half; half < 2 * picture->plan->position_count &&
						     (e + 1 == count || half < events[e + 1].half);
		     half++)
			picture->live[half] = cover_bytes(cover);
		if (cover_bytes(cover) > picture->peak_bytes) {
			picture->peak_bytes = cover_bytes(cover);
			picture->peak = events[e].half;
		}
	}
	free(events);
	return 0;
}

/* Box of a placement that lives at the peak. */
struct living {
	const struct picture_box *box;
	struct picture_placement *drawn;
};

/* Boxes by address; of several at one address the one that has come last has the bytes. */
static int by_owner(const void *left, const void *right)
{
	const struct picture_box *a = ((const struct living *)left)->box;
	const struct picture_box *b = ((const struct living *)right)->box;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->start != b->start)
		return a->start > b->start ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* How much of the peak each placement has: no byte counts twice. */
static int share(struct picture *picture)
{
	struct living *list = malloc(picture->box_count * sizeof(*list) + 1);
	uint64_t covered = 0;
	uint32_t count = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < picture->placement_count; i++) {
		struct picture_placement *drawn = &picture->placements[i];

		for (uint32_t b = 0; b < drawn->box_count; b++) {
			const struct picture_box *box = &picture->boxes[drawn->first_box + b];

			if (box->start <= picture->peak && box->end >= picture->peak)
				list[count++] = (struct living){ box, drawn };
		}
	}
	if (count)
		qsort(list, count, sizeof(*list), by_owner);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t first = list[i].box->first, end = first + list[i].box->length;

		if (end <= covered)
			continue;
		list[i].drawn->peak_bytes += end - (first > covered ? first : covered);
		covered = end;
	}
	free(list);
	return 0;
}

int picture_find_peak(struct picture *picture)
{
	struct cover cover = { 0 };
	int err;

	if (!picture->box_count)
		return 0;
	err = init(&cover, picture);
	if (!err)
		err = sweep(picture, &cover);
	cover_fini(&cover);
	return err ? err : share(picture);
}
