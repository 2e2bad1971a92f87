// SPDX-License-Identifier: MIT
/* Windows of histories that do not fit. */
#include <stdlib.h>
#include <string.h>

#include "nogoods.h"

static int history_alloc(struct cosma_history *history, uint32_t positions, uint32_t words)
{
	struct npuplan_pool *pool = &history->pool;
	size_t bits = (size_t)positions * words;

	*history = (struct cosma_history){ .words = words };
	history->on = npuplan_pool_take(pool, bits, sizeof(*history->on));
	history->moved = npuplan_pool_take(pool, bits, sizeof(*history->moved));
	history->op = npuplan_pool_take(pool, positions, sizeof(*history->op));
	if (!pool->failed)
		return 0;
	cosma_history_fini(history);
	return -ENOMEM;
}

int cosma_history_init(struct cosma_history *history, const struct cosma_model *model)
{
	return history_alloc(history, model->op_count, (model->tensor_count + 63) / 64);
}

void cosma_history_fini(struct cosma_history *history)
{
	npuplan_pool_free(&history->pool);
	memset(history, 0, sizeof(*history));
}

void cosma_nogoods_fini(struct cosma_nogoods *nogoods)
{
	for (uint32_t i = 0; i < nogoods->count; i++)
		cosma_history_fini(&nogoods->nogood[i].window);
	free(nogoods->nogood);
	memset(nogoods, 0, sizeof(*nogoods));
}

uint64_t cosma_nogood_bytes(const struct cosma_history *history, uint32_t length)
{
	return (uint64_t)length * history->words *
		       (sizeof(*history->on) + sizeof(*history->moved)) +
	       sizeof(struct cosma_nogood);
}

int cosma_nogoods_add(struct cosma_nogoods *nogoods, const struct cosma_history *history,
		      uint32_t first, uint32_t last)
{
	struct cosma_nogood nogood = { .length = last - first + 1 };
	size_t bytes = (size_t)nogood.length * history->words * sizeof(*history->on);
	size_t at = (size_t)first * history->words;

	if (npuplan_grow(&nogoods->nogood, nogoods->count, sizeof(nogood)) ||
	    history_alloc(&nogood.window, nogood.length, history->words))
		return -ENOMEM;
	memcpy(nogood.window.on, history->on + at, bytes);
	memcpy(nogood.window.moved, history->moved + at, bytes);
	memcpy(nogood.window.op, history->op + first, nogood.length * sizeof(*history->op));
	nogoods->nogood[nogoods->count++] = nogood;
	return 0;
}

static bool matches(const struct cosma_nogood *nogood, const struct cosma_history *history,
		    uint32_t last)
{
	const struct cosma_history *window = &nogood->window;
	size_t bytes = window->words * sizeof(*window->on);

	/* The end differs most often. */
	for (uint32_t k = nogood->length; k-- > 0;) {
		uint32_t p = last + 1 + k - nogood->length;
		size_t at = (size_t)p * window->words, with = (size_t)k * window->words;

		if (history->op[p] != window->op[k] ||
		    memcmp(history->on + at, window->on + with, bytes) ||
		    (k && memcmp(history->moved + at, window->moved + with, bytes)))
			return false;
	}
	return true;
}

bool cosma_nogoods_match(const struct cosma_nogoods *nogoods, const struct cosma_history *history,
			 uint32_t last, uint64_t *work)
{
	*work += nogoods->count;
	for (uint32_t i = 0; i < nogoods->count; i++)
		if (nogoods->nogood[i].length <= last + 1 &&
		    matches(&nogoods->nogood[i], history, last))
			return true;
	return false;
}
