// SPDX-License-Identifier: MIT
#include "cover.h"

#include <errno.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

int cover_init(struct cover *cover, uint64_t *at, size_t count)
{
	uint32_t kept = 0;

	*cover = (struct cover){ .at = at, .leaves = 1 };
	if (!at || count > UINT32_MAX / 4)
		return -ENOMEM;
	if (count)
		qsort(at, count, sizeof(*at), by_value);
	for (size_t i = 0; i < count; i++)
		if (!kept || at[kept - 1] != at[i])
			at[kept++] = at[i];
	cover->count = kept;
	while (cover->leaves < kept)
		cover->leaves *= 2;
	cover->ranges = calloc(2 * (size_t)cover->leaves, sizeof(*cover->ranges));
	cover->bytes = calloc(2 * (size_t)cover->leaves, sizeof(*cover->bytes));
	return cover->ranges && cover->bytes ? 0 : -ENOMEM;
}

void cover_fini(struct cover *cover)
{
	free(cover->at);
	free(cover->ranges);
	free(cover->bytes);
	*cover = (struct cover){ 0 };
}

static uint64_t address(const struct cover *cover, uint32_t boundary)
{
	return cover->at[boundary < cover->count ? boundary : cover->count - 1];
}

/*
 * Count one range more (@by is 1) or less (@by is UINT32_MAX, which wraps around) for leaves
 * [from, to), as far as they are below a node, whose leaves are [low, high).
 */
static void change(struct cover *cover, uint32_t node, uint32_t low, uint32_t high, uint32_t from,
		   uint32_t to, uint32_t by)
{
	uint32_t middle = low + (high - low) / 2;

	if (to <= low || from >= high)
		return;
	if (from <= low && high <= to) {
		cover->ranges[node] += by;
	} else {
		change(cover, 2 * node, low, middle, from, to, by);
		change(cover, 2 * node + 1, middle, high, from, to, by);
	}
	if (cover->ranges[node])
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

void cover_add(struct cover *cover, uint64_t begin, uint64_t end)
{
	change(cover, 1, 0, cover->leaves, leaf(cover, begin), leaf(cover, end), 1);
}

void cover_remove(struct cover *cover, uint64_t begin, uint64_t end)
{
	change(cover, 1, 0, cover->leaves, leaf(cover, begin), leaf(cover, end), (uint32_t)-1);
}

uint64_t cover_bytes(const struct cover *cover)
{
	return cover->bytes[1];
}
