// SPDX-License-Identifier: MIT
/* Fronts: sets of executed operators, each kept once. */
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define NO_FRONT NPUMEM_NONE

int cosma_fronts_init(struct cosma_fronts *fronts, const struct cosma_model *model)
{
	memset(fronts, 0, sizeof(*fronts));
	fronts->model = model;
	fronts->buckets = 64;
	fronts->bucket = malloc(fronts->buckets * sizeof(*fronts->bucket));
	if (!fronts->bucket)
		return -ENOMEM;
	memset(fronts->bucket, 0xff, fronts->buckets * sizeof(*fronts->bucket));
	return 0;
}

void cosma_fronts_fini(struct cosma_fronts *fronts)
{
	for (uint32_t i = 0; i < fronts->count; i++) {
		free(fronts->front[i].executed);
		free(fronts->front[i].live);
		free(fronts->front[i].ready);
		free(fronts->front[i].bound);
	}
	free(fronts->front);
	free(fronts->bucket);
	memset(fronts, 0, sizeof(*fronts));
}

static uint64_t hash_of(const uint64_t *bits, uint32_t words)
{
	uint64_t hash = 0x9e3779b97f4a7c15ull;

	for (uint32_t w = 0; w < words; w++) {
		hash = (hash ^ bits[w]) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	return hash;
}

static int rehash(struct cosma_fronts *fronts)
{
	uint32_t buckets = fronts->buckets * 2, words = fronts->model->words;
	uint32_t *bucket = malloc(buckets * sizeof(*bucket));

	if (!bucket)
		return -ENOMEM;
	memset(bucket, 0xff, buckets * sizeof(*bucket));
	for (uint32_t i = 0; i < fronts->count; i++) {
		uint64_t at = hash_of(fronts->front[i].executed, words) & (buckets - 1);

		fronts->front[i].next = bucket[at];
		bucket[at] = i;
	}
	free(fronts->bucket);
	fronts->bytes += (buckets - fronts->buckets) * sizeof(*bucket);
	fronts->bucket = bucket;
	fronts->buckets = buckets;
	return 0;
}

/* Live: produced or from the host, and somebody is still to use it. */
static bool is_live(const struct cosma_model *model, const uint64_t *executed, uint32_t x)
{
	uint32_t from = model->producer[x];

	if (from != NPUMEM_NONE && !cosma_bit(executed, from))
		return false;
	cosma_for_each(k, model->consumers, x)
		if (!cosma_bit(executed, model->consumers.item[k]))
			return true;
	return false;
}

static int front_fill(struct cosma_front *front, const struct cosma_board *board)
{
	const struct cosma_model *model = board->model;
	uint32_t *live = malloc((model->tensor_count + 1) * sizeof(*live)), *smaller;
	uint32_t count = 0;

	for (uint32_t x = 0; x < model->tensor_count && live; x++)
		if (is_live(model, board->executed, x))
			live[count++] = x;
	smaller = live ? realloc(live, (count + 1) * sizeof(*live)) : NULL;
	front->live = smaller ? smaller : live;
	front->live_count = count;
	front->executed = malloc((model->words + 1) * sizeof(*front->executed));
	front->ready = malloc((board->ready_count + 1) * sizeof(*front->ready));
	if (!front->executed || !front->live || !front->ready) {
		free(front->executed);
		free(front->live);
		free(front->ready);
		return -ENOMEM;
	}
	memcpy(front->executed, board->executed, model->words * sizeof(*front->executed));
	front->words = (count + 63) / 64;
	/* Ascending, so that what is tried first does not depend on the way here. */
	for (uint32_t i = 0; i < board->ready_count; i++) {
		uint32_t at = front->ready_count++;

		for (; at && front->ready[at - 1] > board->ready[i]; at--)
			front->ready[at] = front->ready[at - 1];
		front->ready[at] = board->ready[i];
	}
	front->done = board->done;
	front->states = NPUMEM_NONE;
	return 0;
}

int cosma_fronts_of(struct cosma_fronts *fronts, const struct cosma_board *board, uint32_t *id)
{
	const struct cosma_model *model = fronts->model;
	uint64_t hash = hash_of(board->executed, model->words);
	struct cosma_front front = { 0 };
	int err;

	for (uint32_t i = fronts->bucket[hash & (fronts->buckets - 1)]; i != NO_FRONT;
	     i = fronts->front[i].next)
		if (!memcmp(fronts->front[i].executed, board->executed,
			    model->words * sizeof(*board->executed))) {
			*id = i;
			return 0;
		}
	if (fronts->count >= fronts->buckets) {
		err = rehash(fronts);
		if (err)
			return err;
	}
	err = npuplan_grow(&fronts->front, fronts->count, sizeof(*fronts->front));
	if (!err)
		err = front_fill(&front, board);
	if (err)
		return err;
	*id = fronts->count++;
	front.next = fronts->bucket[hash & (fronts->buckets - 1)];
	fronts->bucket[hash & (fronts->buckets - 1)] = *id;
	fronts->front[*id] = front;
	/* Room for fronts is doubled; each one has three arrays, and what malloc() adds. */
	if (!(*id & (*id - 1)))
		fronts->bytes += (*id ? *id : 1) * sizeof(front);
	fronts->bytes += model->words * sizeof(*front.executed) +
			 (front.live_count + front.ready_count) * sizeof(*front.live) + 64;
	return 0;
}
