// SPDX-License-Identifier: MIT
/*
 * Where most bytes live. Boxes overlap where an in-place operator's output takes the
 * bytes of what it reads, and where values that come into a block share them: such
 * bytes are there once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

/**
 * struct cover - which bytes live now, as a binary tree over addresses
 * @at: @count boundaries, ascending; leaf i is the bytes from at[i] to at[i + 1]
 * @boxes: per node, boxes that take all of it, but not of the node above
 * @bytes: per node, bytes that live
 * @leaves: a power of two
 */
struct cover {
	uint64_t *at;
	uint32_t *boxes;
	uint64_t *bytes;
	uint32_t count;
	uint32_t leaves;
};

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static int cover_init(struct cover *cover, const struct picture *picture)
{
	uint32_t kept = 0;

	cover->at = malloc(2 * (size_t)picture->box_count * sizeof(*cover->at) + 1);
	if (!cover->at)
		return -ENOMEM;
	for (uint32_t i = 0; i < picture->box_count; i++) {
		cover->at[cover->count++] = picture->boxes[i].first;
		cover->at[cover->count++] = picture->boxes[i].first + picture->boxes[i].length;
	}
	if (cover->count)
		qsort(cover->at, cover->count, sizeof(*cover->at), by_value);
	for (uint32_t i = 0; i < cover->count; i++)
		if (!kept || cover->at[kept - 1] != cover->at[i])
			cover->at[kept++] = cover->at[i];
	cover->count = kept;
	cover->leaves = 1;
	while (cover->leaves < kept)
		cover->leaves *= 2;
	cover->boxes = calloc(2 * (size_t)cover->leaves, sizeof(*cover->boxes));
	cover->bytes = calloc(2 * (size_t)cover->leaves, sizeof(*cover->bytes));
	return cover->boxes && cover->bytes ? 0 : -ENOMEM;
}

static void cover_fini(struct cover *cover)
{
	free(cover->at);
	free(cover->boxes);
	free(cover->bytes);
}

static uint64_t address(const struct cover *cover, uint32_t boundary)
{
	return cover->at[boundary < cover->count ? boundary : cover->count - 1];
}

/* Leaves [from, to) of the node of leaves [low, high) get one box more, or less. */
static void change(struct cover *cover, uint32_t node, uint32_t low, uint32_t high, uint32_t from,
		   uint32_t to, uint32_t by)
{
	uint32_t middle = low + (high - low) / 2;

	if (to <= low || from >= high)
		return;
	if (from <= low && high <= to) {
		cover->boxes[node] += by;
	} else {
		change(cover, 2 * node, low, middle, from, to, by);
		change(cover, 2 * node + 1, middle, high, from, to, by);
	}
	if (cover->boxes[node])
		cover->bytes[node] = address(cover, high) - address(cover, low);
	else
		cover->bytes[node] = high - low == 1 ? 0 :
						       cover->bytes[2 * (size_t)node] +
							       cover->bytes[2 * (size_t)node + 1];
}

static uint32_t leaf(const struct cover *cover, uint64_t byte)
{
	const uint64_t *found =
		bsearch(&byte, cover->at, cover->count, sizeof(*cover->at), by_value);

	return (uint32_t)(found - cover->at);
}

/**
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

		change(cover, 1, 0, cover->leaves, leaf(cover, box->first),
		       leaf(cover, box->first + box->length), events[e].comes ? 1 : (uint32_t)-1);
		if (e + 1 < count && events[e + 1].half == events[e].half)
			continue;
		if (cover->bytes[1] > picture->peak_bytes) {
			picture->peak_bytes = cover->bytes[1];
			picture->peak = events[e].half;
		}
	}
	free(events);
	return 0;
}

/* Box of a place that lives at the peak. */
struct living {
	const struct picture_box *box;
	struct picture_place *place;
};

/* By address; of boxes at one, what has come last has the bytes. */
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

/* How much of the peak each place has: no byte counts twice. */
static int share(struct picture *picture)
{
	struct living *list = malloc(picture->box_count * sizeof(*list) + 1);
	uint64_t covered = 0;
	uint32_t count = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < picture->place_count; i++) {
		struct picture_place *place = &picture->places[i];

		for (uint32_t b = 0; b < place->box_count; b++) {
			const struct picture_box *box = &picture->boxes[place->first_box + b];

			if (box->start <= picture->peak && box->end >= picture->peak)
				list[count++] = (struct living){ box, place };
		}
	}
	if (count)
		qsort(list, count, sizeof(*list), by_owner);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t first = list[i].box->first, end = first + list[i].box->length;

		if (end <= covered)
			continue;
		list[i].place->peak_bytes += end - (first > covered ? first : covered);
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
	err = cover_init(&cover, picture);
	if (!err)
		err = sweep(picture, &cover);
	cover_fini(&cover);
	return err ? err : share(picture);
}
