// SPDX-License-Identifier: MIT
/* A board is a state of the search on which tensors can be evicted and operators run. */
#include <string.h>

#include "state.h"

/* Words of all sets of a board, which are one behind the other. */
static size_t set_words(const struct cosma_board *board)
{
	return board->model->words + 2 * (size_t)board->tensor_words;
}

int cosma_board_init(struct cosma_board *board, const struct cosma_model *model)
{
	struct npuplan_pool *pool = &board->pool;

	*board = (struct cosma_board){ .model = model };
	board->tensor_words = (model->tensor_count + 63) / 64;
	board->executed = npuplan_pool_take(pool, set_words(board), sizeof(*board->executed));
	board->ready = npuplan_pool_take(pool, model->op_count, sizeof(*board->ready));
	if (pool->failed)
		return -ENOMEM;
	board->on = board->executed + model->words;
	board->host = board->on + board->tensor_words;
	return 0;
}

static bool is_ready(const struct cosma_board *board, uint32_t v)
{
	cosma_for_each(k, board->model->before, v)
		if (!npuplan_set_has(board->executed, board->model->before.item[k]))
			return false;
	return true;
}

static void blank(struct cosma_board *board)
{
	memset(board->executed, 0, set_words(board) * sizeof(*board->executed));
	board->ready_count = 0;
	board->done = 0;
	board->on_bytes = 0;
}

void cosma_board_start(struct cosma_board *board)
{
	const struct cosma_model *model = board->model;

	blank(board);
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		if (!cosma_users(model, x))
			continue;
		if (model->flags[x] & COSMA_HOST)
			npuplan_set_add(board->host, x);
		if (!(model->flags[x] & COSMA_ENTRY))
			continue;
		npuplan_set_add(board->on, x);
		board->on_bytes += model->size[x];
	}
	for (uint32_t v = 0; v < model->op_count; v++)
		if (is_ready(board, v))
			board->ready[board->ready_count++] = v;
}

void cosma_board_copy(struct cosma_board *to, const struct cosma_board *from)
{
	memcpy(to->executed, from->executed, set_words(from) * sizeof(*to->executed));
	memcpy(to->ready, from->ready, from->ready_count * sizeof(*to->ready));
	to->ready_count = from->ready_count;
	to->done = from->done;
	to->on_bytes = from->on_bytes;
}

void cosma_board_unpack(struct cosma_board *board, const struct cosma_downset *downset,
			const uint64_t *masks)
{
	blank(board);
	memset(board->executed, 0xff, downset->executed_first * sizeof(*board->executed));
	memcpy(board->executed + downset->executed_first, downset->executed,
	       downset->executed_words * sizeof(*board->executed));
	for (uint32_t i = 0; i < downset->live_count; i++) {
		uint32_t x = downset->live[i];

		if (npuplan_set_has(masks, i)) {
			npuplan_set_add(board->on, x);
			board->on_bytes += board->model->size[x];
		}
		if (npuplan_set_has(masks + downset->words, i))
			npuplan_set_add(board->host, x);
	}
	memcpy(board->ready, downset->ready, downset->ready_count * sizeof(*board->ready));
	board->ready_count = downset->ready_count;
	board->done = downset->done;
}

void cosma_board_pack(const struct cosma_board *board, const struct cosma_downset *downset,
		      uint64_t *masks)
{
	memset(masks, 0, 2 * (size_t)downset->words * sizeof(*masks));
	for (uint32_t i = 0; i < downset->live_count; i++) {
		if (npuplan_set_has(board->on, downset->live[i]))
			npuplan_set_add(masks, i);
		if (npuplan_set_has(board->host, downset->live[i]))
			npuplan_set_add(masks + downset->words, i);
	}
}

void cosma_board_need(const struct cosma_board *board, uint32_t v, int64_t *loads, int64_t *stores)
{
	const struct cosma_model *model = board->model;

	*loads = board->on_bytes + model->workspace[v];
	*stores = board->on_bytes + (model->staged[v] ? 0 : model->workspace[v]);
	cosma_for_each(k, model->inputs, v) {
		uint32_t x = model->inputs.item[k];

		if (!npuplan_set_has(board->on, x)) {
			*loads += model->size[x];
			*stores += model->size[x];
		}
		if (cosma_makes_room(model, v, k) && cosma_board_dying(board, x, v))
			*stores -= model->size[x];
	}
	cosma_for_each(k, model->outputs, v)
		*stores += model->size[model->outputs.item[k]];
}

int64_t cosma_board_extra(const struct cosma_board *board, uint32_t v)
{
	int64_t loads, stores;

	cosma_board_need(board, v, &loads, &stores);
	return (loads > stores ? loads : stores) - board->on_bytes;
}

bool cosma_board_dying(const struct cosma_board *board, uint32_t x, uint32_t v)
{
	const struct cosma_model *model = board->model;

	cosma_for_each(k, model->consumers, x) {
		uint32_t user = model->consumers.item[k];

		if (user != v && !npuplan_set_has(board->executed, user))
			return false;
	}
	return true;
}

void cosma_board_evict(struct cosma_board *board, uint32_t x)
{
	npuplan_set_drop(board->on, x);
	npuplan_set_add(board->host, x);
	board->on_bytes -= board->model->size[x];
}

void cosma_board_run(struct cosma_board *board, uint32_t v)
{
	const struct cosma_model *model = board->model;
	uint32_t kept = 0;

	cosma_for_each(k, model->inputs, v) {
		uint32_t x = model->inputs.item[k];

		if (!npuplan_set_has(board->on, x)) {
			npuplan_set_add(board->on, x);
			board->on_bytes += model->size[x];
		}
	}
	npuplan_set_add(board->executed, v);
	board->done++;
	for (uint32_t i = 0; i < board->ready_count; i++)
		if (board->ready[i] != v)
			board->ready[kept++] = board->ready[i];
	board->ready_count = kept;
	cosma_for_each(k, model->inputs, v) {
		uint32_t x = model->inputs.item[k];

		if (!cosma_board_dying(board, x, v))
			continue;
		npuplan_set_drop(board->on, x);
		npuplan_set_drop(board->host, x);
		board->on_bytes -= model->size[x];
	}
	cosma_for_each(k, model->outputs, v) {
		uint32_t x = model->outputs.item[k];

		if (!cosma_users(model, x))
			continue;
		npuplan_set_add(board->on, x);
		board->on_bytes += model->size[x];
		if (model->flags[x] & COSMA_OUTPUT)
			npuplan_set_add(board->host, x);
	}
	cosma_for_each(k, model->after, v) {
		uint32_t next = model->after.item[k];

		if (is_ready(board, next))
			board->ready[board->ready_count++] = next;
	}
}

uint32_t cosma_board_only(const struct cosma_board *board, bool fixed)
{
	const uint32_t *rank = board->model->rank;
	uint32_t best = NPUMEM_NONE;

	for (uint32_t i = 0; i < board->ready_count; i++) {
		uint32_t v = board->ready[i], leader = board->model->leader[v];

		if (fixed && (best == NPUMEM_NONE || rank[v] < rank[best]))
			best = v;
		if (!fixed && leader != NPUMEM_NONE && npuplan_set_has(board->executed, leader))
			best = v;
	}
	return best;
}

bool cosma_board_may_start(const struct cosma_board *board, uint32_t v, uint32_t *end)
{
	const struct cosma_model *model = board->model;

	for (uint32_t next; next = model->follower[v], next != NPUMEM_NONE; v = next)
		cosma_for_each(k, model->before, next) {
			uint32_t u = model->before.item[k];

			if (u != v && !npuplan_set_has(board->executed, u))
				return false;
		}
	*end = v;
	return true;
}
