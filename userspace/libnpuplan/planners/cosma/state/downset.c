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

/*
 * Lists live tensors: produced or from the host, and an operator is still to use them. Each of them
 * is on chip, or the host has a copy; a board forgets those that nobody uses any more.
 */
static uint32_t list_live(const struct cosma_board *board, uint32_t *live)
{
	uint32_t count = 0;

	for (uint32_t w = 0; w < board->tensor_words; w++)
		for (uint64_t bits = board->on[w] | board->host[w]; bits; bits &= bits - 1)
			live[count++] = w * 64 + (uint32_t)__builtin_ctzll(bits);
	return count;
}

/* Finds the words of the set of operators that are neither full nor empty, and those between. */
static void find_words(const struct cosma_board *board, uint32_t *first, uint32_t *count)
{
	uint32_t end = board->model->words;

	*first = 0;
	while (*first < end && board->executed[*first] == UINT64_MAX)
		++*first;
	while (end > *first && !board->executed[end - 1])
		end--;
	*count = end - *first;
}

static int downset_fill(struct cosma_downset *downset, const struct cosma_downsets *downsets,
			const struct cosma_board *board)
{
	uint32_t *live = downsets->live, count = list_live(board, live);
	size_t bytes = downset->executed_words * sizeof(*downset->executed);

	/* One block of memory begins with the set of operators. */
	downset->executed =
		npuplan_malloc(bytes + ((size_t)count + board->ready_count + 1) * sizeof(*live));
	if (!downset->executed)
		return -ENOMEM;
	downset->live = (uint32_t *)(downset->executed + downset->executed_words);
	downset->live_count = count;
	downset->ready = downset->live + count;
	memcpy(downset->executed, board->executed + downset->executed_first, bytes);
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
	struct cosma_downset downset = { 0 };
	const uint64_t *executed;
	uint32_t hash;
	size_t bytes;
	int err;

	find_words(board, &downset.executed_first, &downset.executed_words);
	executed = board->executed + downset.executed_first;
	bytes = downset.executed_words * sizeof(*executed);
	hash = npuplan_hash(downset.executed_first, executed, bytes);
	npuplan_table_for_each(i, &downsets->table, hash) {
		const struct cosma_downset *other = &downsets->downset[i];

		if (other->executed_first == downset.executed_first &&
		    other->executed_words == downset.executed_words &&
		    !memcmp(other->executed, executed, bytes)) {
			*id = i;
			return 0;
		}
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
