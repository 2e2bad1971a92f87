// SPDX-License-Identifier: MIT
/* Downsets: sets of operators that have run, of which each is kept once. */
#include <stdlib.h>
#include <string.h>

#include "state.h"

int cosma_downsets_init(struct cosma_downsets *downsets, const struct cosma_model *model)
{
	memset(downsets, 0, sizeof(*downsets));
	downsets->model = model;
	downsets->live =
		npuplan_malloc(((size_t)model->tensor_count + 1) * sizeof(*downsets->live));
	return downsets->live ? 0 : -ENOMEM;
}

void cosma_downsets_fini(struct cosma_downsets *downsets)
{
	for (uint32_t i = 0; i < downsets->count; i++) {
		npuplan_free(downsets->downset[i].executed);
		npuplan_free(downsets->downset[i].bound);
	}
	npuplan_free_all(downsets->downset, downsets->live);
	npuplan_table_fini(&downsets->table);
	memset(downsets, 0, sizeof(*downsets));
}

/* A tensor is live if it is produced or comes from the host, and an operator is still to use it. */
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
	/* One block of memory begins with the set of operators. */
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
	/* They are ascending, so that what is tried first does not depend on the way here. */
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
	size_t bytes = downsets->model->words * sizeof(*board->executed);
	uint32_t hash = npuplan_hash(0, board->executed, bytes);
	struct cosma_downset downset = { 0 };
	int err;

	npuplan_table_for_each(i, &downsets->table, hash)
		if (!memcmp(downsets->downset[i].executed, board->executed, bytes)) {
			*id = i;
			return 0;
		}
	err = downset_fill(&downset, downsets, board);
	if (err)
		return err;
	*id = downsets->count;
	err = npuplan_append(&downsets->downset, &downsets->count, &downset, 1);
	if (err)
		npuplan_free(downset.executed);
	return err ? err : npuplan_table_add(&downsets->table, hash, *id);
}
