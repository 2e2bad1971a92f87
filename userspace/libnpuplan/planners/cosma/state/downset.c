// SPDX-License-Identifier: MIT
/* Fronts: sets of executed operators, each kept once. */
#include <stdlib.h>
#include <string.h>

#include "state.h"

int cosma_downsets_init(struct cosma_downsets *downsets, const struct cosma_model *model)
{
	memset(downsets, 0, sizeof(*downsets));
	downsets->model = model;
	downsets->buckets = 64;
	downsets->bucket = npuplan_malloc(downsets->buckets * sizeof(*downsets->bucket));
	downsets->live =
		npuplan_malloc(((size_t)model->tensor_count + 1) * sizeof(*downsets->live));
	if (!downsets->bucket || !downsets->live)
		return -ENOMEM;
	memset(downsets->bucket, 0xff, downsets->buckets * sizeof(*downsets->bucket));
	return 0;
}

void cosma_downsets_fini(struct cosma_downsets *downsets)
{
	for (uint32_t i = 0; i < downsets->count; i++) {
		npuplan_free(downsets->downset[i].executed);
		npuplan_free(downsets->downset[i].bound);
	}
	npuplan_free_all(downsets->downset, downsets->bucket, downsets->live);
	memset(downsets, 0, sizeof(*downsets));
}

static uint64_t hash_of(const uint64_t *bits, uint32_t words)
{
	return cosma_hash(0x9e3779b97f4a7c15ull, bits, words);
}

static int rehash(struct cosma_downsets *downsets)
{
	uint32_t buckets = downsets->buckets * 2, words = downsets->model->words;
	uint32_t *bucket = npuplan_malloc(buckets * sizeof(*bucket));

	if (!bucket)
		return -ENOMEM;
	memset(bucket, 0xff, buckets * sizeof(*bucket));
	for (uint32_t i = 0; i < downsets->count; i++) {
		uint64_t at = hash_of(downsets->downset[i].executed, words) & (buckets - 1);

		downsets->downset[i].next = bucket[at];
		bucket[at] = i;
	}
	npuplan_free(downsets->bucket);
	downsets->bucket = bucket;
	downsets->buckets = buckets;
	return 0;
}

/* Live: produced or from the host, and somebody is still to use it. */
static bool is_live(const struct cosma_model *model, const uint64_t *executed, uint32_t x)
{
	uint32_t from = model->producer[x];

	if (from != NPUMEM_NONE && !npuplan_set_has(executed, from))
		return false;
	cosma_for_each(k, model->consumers, x)
		if (!npuplan_set_has(executed, model->consumers.item[k]))
			return true;
	return false;
}

static int downset_fill(struct cosma_downset *downset, const struct cosma_downsets *downsets,
			const struct cosma_board *board)
{
	const struct cosma_model *model = board->model;
	uint32_t *live = downsets->live, count = 0;

	for (uint32_t x = 0; x < model->tensor_count; x++)
		if (is_live(model, board->executed, x))
			live[count++] = x;
	/* One block, which begins with the bits. */
	downset->executed =
		npuplan_malloc(model->words * sizeof(*downset->executed) +
			       ((size_t)count + board->ready_count + 1) * sizeof(*live));
	if (!downset->executed)
		return -ENOMEM;
	downset->live = (uint32_t *)(downset->executed + model->words);
	downset->live_count = count;
	downset->ready = downset->live + count;
	memcpy(downset->executed, board->executed, model->words * sizeof(*downset->executed));
	memcpy(downset->live, live, count * sizeof(*live));
	downset->words = (count + 63) / 64;
	/* Ascending, so that what is tried first does not depend on the way here. */
	for (uint32_t i = 0; i < board->ready_count; i++) {
		uint32_t at = downset->ready_count++;

		for (; at && downset->ready[at - 1] > board->ready[i]; at--)
			downset->ready[at] = downset->ready[at - 1];
		downset->ready[at] = board->ready[i];
	}
	downset->done = board->done;
	downset->states = NPUMEM_NONE;
	return 0;
}

int cosma_downsets_of(struct cosma_downsets *downsets, const struct cosma_board *board,
		      uint32_t *id)
{
	const struct cosma_model *model = downsets->model;
	uint64_t hash = hash_of(board->executed, model->words);
	struct cosma_downset downset = { 0 };
	int err;

	for (uint32_t i = downsets->bucket[hash & (downsets->buckets - 1)]; i != NPUMEM_NONE;
	     i = downsets->downset[i].next)
		if (!memcmp(downsets->downset[i].executed, board->executed,
			    model->words * sizeof(*board->executed))) {
			*id = i;
			return 0;
		}
	if (downsets->count >= downsets->buckets) {
		err = rehash(downsets);
		if (err)
			return err;
	}
	err = downset_fill(&downset, downsets, board);
	if (err)
		return err;
	*id = downsets->count;
	downset.next = downsets->bucket[hash & (downsets->buckets - 1)];
	err = npuplan_append(&downsets->downset, &downsets->count, &downset, 1);
	if (err)
		npuplan_free(downset.executed);
	else
		downsets->bucket[hash & (downsets->buckets - 1)] = *id;
	return err;
}
