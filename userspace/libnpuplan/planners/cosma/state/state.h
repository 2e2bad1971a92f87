/* SPDX-License-Identifier: MIT */
/*
 * States of the search. A downset is a set of executed operators, kept once; it
 * knows which tensors are live after them and which operators are ready. A state
 * adds, for the live tensors, who is on chip and who has a host copy: two bit
 * masks over the downset's live list. A board is a state unpacked, to play on.
 */
#pragma once

#include "base/table.h"
#include "planners/cosma/model/model.h"

struct cosma_downset_bound;

/*
 * struct cosma_downset - operators that have run, and what follows from that. With an operator
 *	it has all that must run before it: a downset of the dependence order
 * @executed: bits; @live and @ready are behind them in the same block
 * @live: tensors with users to come that are produced or come from the host
 * @ready: operators that may run next, ascending
 * @words: of each mask
 * @done: operators that have run
 * @states: of the search, the first of the list of states at this downset
 * @bound: bounds.c's, made when first needed
 */
struct cosma_downset {
	uint64_t *executed;
	uint32_t *live;
	uint32_t *ready;
	uint32_t live_count;
	uint32_t ready_count;
	uint32_t words;
	uint32_t done;
	uint32_t states;
	struct cosma_downset_bound *bound;
};

/*
 * struct cosma_downsets - all downsets met so far
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

int cosma_downsets_init(struct cosma_downsets *downsets, const struct cosma_model *model);
void cosma_downsets_fini(struct cosma_downsets *downsets);

/*
 * struct cosma_board - a state, unpacked
 * @executed: bits, per operator
 * @on, @host: bits, per tensor; of live tensors only
 * @ready: operators that may run next; @ready_count of them
 * @on_bytes: sum of sizes on chip
 * @done: operators executed
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

int cosma_board_init(struct cosma_board *board, const struct cosma_model *model);
static inline void cosma_board_fini(struct cosma_board *board)
{
	npuplan_pool_free(&board->pool);
}
/* Nothing has run; entry tensors are on chip. */
void cosma_board_start(struct cosma_board *board);
void cosma_board_copy(struct cosma_board *to, const struct cosma_board *from);
void cosma_board_unpack(struct cosma_board *board, const struct cosma_downset *downset,
			const uint64_t *masks);
/* cosma_board_need() - bytes on chip while @v runs, if nothing leaves for it
 * @loads: out: while it loads; @stores: out: while it stores, when inputs that nobody
 *	else needs have made room for outputs that may take it
 */
void cosma_board_need(const struct cosma_board *board, uint32_t v, int64_t *loads, int64_t *stores);
/* The larger of both, besides what is on chip. */
int64_t cosma_board_extra(const struct cosma_board *board, uint32_t v);
/* Whether nobody but @v is still to use @x. */
bool cosma_board_dying(const struct cosma_board *board, uint32_t x, uint32_t v);
/* What it costs that @x leaves the chip, to come back later. */
static inline int64_t cosma_board_price(const struct cosma_board *board, uint32_t x)
{
	return npuplan_set_has(board->host, x) ? board->model->size[x] : 2 * board->model->size[x];
}
void cosma_board_evict(struct cosma_board *board, uint32_t x);
/* Whether the input at entry @k of @v is still needed, but could leave with @v to make room. */
static inline bool cosma_board_may_yield(const struct cosma_board *board, uint32_t v, uint32_t k)
{
	return cosma_makes_room(board->model, v, k) &&
	       !cosma_board_dying(board, board->model->inputs.item[k], v);
}
/* Its inputs come to the chip, it runs, what nobody needs any more goes. */
void cosma_board_run(struct cosma_board *board, uint32_t v);

/* cosma_board_only() - the only operator that has to be tried; else NPUMEM_NONE
 * @fixed: the schedule is; else one whose leader has just run
 */
uint32_t cosma_board_only(const struct cosma_board *board, bool fixed);
/* cosma_board_may_start() - whether @v, and what follows it at once, can run
 * @end: out: the last of these
 */
bool cosma_board_may_start(const struct cosma_board *board, uint32_t v, uint32_t *end);

/* cosma_downsets_of() - downset of a board's executed operators, made if new
 * @id: out
 */
int cosma_downsets_of(struct cosma_downsets *downsets, const struct cosma_board *board,
		      uint32_t *id);
/* Masks of a board at its downset: on, then host, downset->words each. */
void cosma_board_pack(const struct cosma_board *board, const struct cosma_downset *downset,
		      uint64_t *masks);

/* cosma_board_close() - run whatever is safe to run at once (closure.c)
 * @budget: bytes
 * @peak: nothing can be evicted; @budget is what has been reached anyway
 * @path: the operators run are appended; @path_count of them so far
 */
void cosma_board_close(struct cosma_board *board, int64_t budget, bool peak, uint32_t *path,
		       uint32_t *path_count);
