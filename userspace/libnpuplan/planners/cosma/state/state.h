/* SPDX-License-Identifier: MIT */
/*
 * States of the search. A downset is a set of operators that have run, and is kept once; it knows
 * which tensors are live after them and which operators are ready. A state adds which of the live
 * tensors are on chip and which have a host copy: two masks of bits over the downset's live list. A
 * board is a state unpacked, on which operators are tried.
 */
#pragma once

#include "base/table.h"
#include "planners/cosma/model/model.h"

struct cosma_downset_bound;

/*
 * struct cosma_downset - operators that have run, and what follows from that. With an operator it
 * has all that must run before it: it is a downset of the dependence order
 * @executed: @executed_words words of the set of operators, from number @executed_first on: all
 *	operators of the words before these have run, and none of those behind. @live and @ready are
 *	behind it in the same block of memory
 * @live: @live_count tensors that operators are still to use, and that are produced or come from
 *	the host
 * @ready: @ready_count operators that may run next, ascending
 * @words: of each mask
 * @done: operators that have run
 * @states: first of the search's states at this downset, which are a list
 * @bound: made by bounds.c when first needed; owned
 */
struct cosma_downset {
	uint64_t *executed;
	uint32_t *live;
	uint32_t *ready;
	uint32_t executed_first;
	uint32_t executed_words;
	uint32_t live_count;
	uint32_t ready_count;
	uint32_t words;
	uint32_t done;
	uint32_t states;
	struct cosma_downset_bound *bound;
};

/* Returns word @w of the set of operators that have run. */
static inline uint64_t cosma_downset_word(const struct cosma_downset *downset, uint32_t w)
{
	if (w < downset->executed_first)
		return UINT64_MAX;
	w -= downset->executed_first;
	return w < downset->executed_words ? downset->executed[w] : 0;
}

/* Whether operator @v has run. */
static inline bool cosma_downset_has(const struct cosma_downset *downset, uint32_t v)
{
	return cosma_downset_word(downset, v / 64) >> v % 64 & 1;
}

/*
 * struct cosma_downsets - all downsets met so far
 * @downset: @count of them
 * @table: of their numbers, by what has run
 * @live: room for the live tensors of one
 */
struct cosma_downsets {
	const struct cosma_model *model;
	struct cosma_downset *downset;
	struct npuplan_table table;
	uint32_t *live;
	uint32_t count;
};

/* Makes an empty set of downsets. -ENOMEM: cosma_downsets_fini() it, all the same. */
int cosma_downsets_init(struct cosma_downsets *downsets, const struct cosma_model *model);
void cosma_downsets_fini(struct cosma_downsets *downsets);

/*
 * struct cosma_board - a state, unpacked
 * @executed: set of operators that have run
 * @on, @host: sets of live tensors that are on chip, and that have a host copy
 * @ready: @ready_count operators that may run next
 * @done: operators that have run
 * @tensor_words: of a set of tensors
 * @on_bytes: sum of sizes on chip
 * @pool: owns the sets
 */
struct cosma_board {
	const struct cosma_model *model;
	uint64_t *executed;
	uint64_t *on;
	uint64_t *host;
	uint32_t *ready;
	uint32_t ready_count;
	uint32_t done;
	uint32_t tensor_words;
	int64_t on_bytes;
	struct npuplan_pool pool;
};

/* Makes a board of a model, whose sets are not set yet. -ENOMEM: cosma_board_fini() it. */
int cosma_board_init(struct cosma_board *board, const struct cosma_model *model);
static inline void cosma_board_fini(struct cosma_board *board)
{
	npuplan_pool_free(&board->pool);
}
/* Starts over: nothing has run, and entry tensors are on chip. */
void cosma_board_start(struct cosma_board *board);
/* Copies a state of the same model. */
void cosma_board_copy(struct cosma_board *to, const struct cosma_board *from);
/* Unpacks a state: a downset and the masks that cosma_board_pack() makes. */
void cosma_board_unpack(struct cosma_board *board, const struct cosma_downset *downset,
			const uint64_t *masks);
/* cosma_board_need() - bytes on chip while operator @v runs, if nothing leaves for it
 * @loads: out: while it loads
 * @stores: out: while it stores, when inputs that nobody else needs have made room for outputs that
 *	may take it
 */
void cosma_board_need(const struct cosma_board *board, uint32_t v, int64_t *loads, int64_t *stores);
/* Returns the larger of both, without what is on chip already. */
int64_t cosma_board_extra(const struct cosma_board *board, uint32_t v);
/* Whether no operator but @v is still to use @x. */
bool cosma_board_dying(const struct cosma_board *board, uint32_t x, uint32_t v);
/* Returns what it costs that @x leaves the chip, to come back later. */
static inline int64_t cosma_board_price(const struct cosma_board *board, uint32_t x)
{
	return npuplan_set_has(board->host, x) ? board->model->size[x] : 2 * board->model->size[x];
}
/* Has tensor @x leave the chip; the host has a copy then. */
void cosma_board_evict(struct cosma_board *board, uint32_t x);
/* Whether the input at entry @k of @v is still needed, but could leave with @v to make room. */
static inline bool cosma_board_may_yield(const struct cosma_board *board, uint32_t v, uint32_t k)
{
	return cosma_makes_room(board->model, v, k) &&
	       !cosma_board_dying(board, board->model->inputs.item[k], v);
}
/* Runs an operator: its inputs come to the chip, and what nobody needs any more goes. */
void cosma_board_run(struct cosma_board *board, uint32_t v);

/* cosma_board_only() - the only operator that has to be tried; else NPUMEM_NONE
 * @fixed: operators run by the model's rank; else it is one whose leader has just run
 */
uint32_t cosma_board_only(const struct cosma_board *board, bool fixed);
/* cosma_board_may_start() - whether @v, and what follows it at once, can run
 * @end: out: the last of these
 */
bool cosma_board_may_start(const struct cosma_board *board, uint32_t v, uint32_t *end);

/* cosma_downsets_of() - find the downset of a board's operators, or make it if it is new
 * @id: out: its number
 *
 * -ENOMEM, -E2BIG
 */
int cosma_downsets_of(struct cosma_downsets *downsets, const struct cosma_board *board,
		      uint32_t *id);
/*
 * Packs a board into masks of its downset: what is on chip, then what has a host copy;
 * downset->words words each.
 */
void cosma_board_pack(const struct cosma_board *board, const struct cosma_downset *downset,
		      uint64_t *masks);

/* cosma_board_close() - run whatever is safe to run at once (closure.c)
 * @budget: bytes
 * @peak: nothing can be evicted; @budget is what has been reached anyway
 * @path: operators that are run are appended
 * @path_count: operators in @path
 */
void cosma_board_close(struct cosma_board *board, int64_t budget, bool peak, uint32_t *path,
		       uint32_t *path_count);
