// SPDX-License-Identifier: MIT
/* Closure runs at once what a state may run without losing anything. */
#include "state.h"

/* Operators of a sequence at most. */
#define MAX_SEQUENCE 32

/*
 * Whether running @v now loses nothing. Let a plan run it later. If its outputs are no larger than
 * an input that dies with it, they may take that input's place from now on: whenever the plan
 * evicts the input, the outputs are evicted. That costs no more if the input has no host copy, or
 * is twice as large.
 */
static bool is_safe(const struct cosma_board *board, uint32_t v, int64_t budget, bool peak)
{
	const struct cosma_model *model = board->model;
	int64_t dying = 0;

	/* To run it right before its follower is as good. */
	if (model->follower[v] != NPUMEM_NONE)
		return false;
	cosma_for_each(k, model->inputs, v)
		if (!npuplan_set_has(board->on, model->inputs.item[k]))
			return false;
	if (board->on_bytes + cosma_board_extra(board, v) > budget)
		return false;
	cosma_for_each(k, model->inputs, v) {
		uint32_t x = model->inputs.item[k];
		int64_t room = model->size[x];

		if (!cosma_board_dying(board, x, v))
			continue;
		if (!peak && npuplan_set_has(board->host, x))
			room /= 2;
		dying = peak ? dying + room : room > dying ? room : dying;
	}
	return model->born[v] <= dying;
}

/*
 * struct op_sequence - operators up to one that uses a tensor last
 * @board: state before they run
 * @ancestors: of the last one
 * @op: @count operators, ascending, so in a topological order; all others are ancestors of the last
 *	one
 */
struct op_sequence {
	const struct cosma_board *board;
	const uint64_t *ancestors;
	uint32_t op[MAX_SEQUENCE];
	uint32_t count;
};

/* Whether @v is among the first @count operators of a sequence. */
static bool is_in(const struct op_sequence *sequence, uint32_t count, uint32_t v)
{
	return count && v <= sequence->op[count - 1] &&
	       !npuplan_set_has(sequence->board->executed, v) &&
	       (v == sequence->op[sequence->count - 1] || npuplan_set_has(sequence->ancestors, v));
}

/* Collects @last and all before it that are still to run; false if they are too many. */
static bool collect(const struct cosma_board *board, uint32_t last, struct op_sequence *sequence)
{
	const struct cosma_model *model = board->model;

	sequence->board = board;
	sequence->ancestors = cosma_ancestors(model, last);
	sequence->count = 0;
	for (uint32_t w = 0; w <= last / 64; w++)
		for (uint64_t bits = sequence->ancestors[w] & ~board->executed[w]; bits;
		     bits &= bits - 1) {
			if (sequence->count == MAX_SEQUENCE - 1)
				return false;
			sequence->op[sequence->count++] = w * 64 + (uint32_t)__builtin_ctzll(bits);
		}
	sequence->op[sequence->count++] = last;
	return true;
}

/* Whether all users of @x have run, or are among the first @count of a sequence. */
static bool is_done(const struct cosma_board *board, const struct op_sequence *sequence,
		    uint32_t count, uint32_t x)
{
	cosma_for_each(k, board->model->consumers, x) {
		uint32_t user = board->model->consumers.item[k];

		if (!npuplan_set_has(board->executed, user) && !is_in(sequence, count, user))
			return false;
	}
	return true;
}

/* Whether the sequence runs as it stands: all inputs are there, and nothing is evicted. */
static bool sequence_fits(const struct cosma_board *board, const struct op_sequence *sequence,
			  int64_t budget)
{
	const struct cosma_model *model = board->model;
	int64_t bytes = board->on_bytes;

	for (uint32_t i = 0; i < sequence->count; i++) {
		uint32_t v = sequence->op[i];
		int64_t made = 0, room = model->staged[v] ? model->workspace[v] : 0;

		cosma_for_each(k, model->inputs, v) {
			uint32_t x = model->inputs.item[k];

			if (!npuplan_set_has(board->on, x) &&
			    (model->producer[x] == NPUMEM_NONE ||
			     !is_in(sequence, i, model->producer[x])))
				return false;
			if (cosma_makes_room(model, v, k) && is_done(board, sequence, i + 1, x))
				room += model->size[x];
		}
		cosma_for_each(k, model->outputs, v)
			made += model->size[model->outputs.item[k]];
		/*
		 * While an operator loads, all its inputs are there; then what makes room is gone.
		 */
		if (bytes + model->workspace[v] > budget ||
		    bytes + model->workspace[v] + made - room > budget)
			return false;
		bytes += model->born[v];
		/* Outputs are used within the sequence, except those of its last operator. */
		cosma_for_each(k, model->outputs, v)
			if (i + 1 < sequence->count &&
			    !is_done(board, sequence, sequence->count, model->outputs.item[k]))
				return false;
		cosma_for_each(k, model->inputs, v)
			if (is_done(board, sequence, i + 1, model->inputs.item[k]))
				bytes -= model->size[model->inputs.item[k]];
	}
	return true;
}

/*
 * Whether running a sequence now loses nothing: everything up to the operator that uses @x last, if
 * nothing else of the sequence survives it. In any plan @x is there until that operator runs, on
 * chip or paid for; its outputs take that place from now on.
 */
static bool is_safe_sequence(const struct cosma_board *board, uint32_t x, int64_t budget, bool peak,
			     struct op_sequence *sequence)
{
	const struct cosma_model *model = board->model;
	uint32_t last = model->closing[x];

	if (last == NPUMEM_NONE)
		return false;
	if (!peak && npuplan_set_has(board->host, x) && model->born[last] > model->size[x] / 2)
		return false;
	return collect(board, last, sequence) && sequence_fits(board, sequence, budget);
}

static bool run_safe_op(struct cosma_board *board, int64_t budget, bool peak, uint32_t *path,
			uint32_t *path_count)
{
	for (uint32_t i = 0; i < board->ready_count; i++) {
		uint32_t v = board->ready[i];

		if (!is_safe(board, v, budget, peak))
			continue;
		cosma_board_run(board, v);
		path[(*path_count)++] = v;
		return true;
	}
	return false;
}

static bool run_safe_block(struct cosma_board *board, int64_t budget, bool peak, uint32_t *path,
			   uint32_t *path_count)
{
	struct op_sequence sequence;

	npuplan_set_for_each(x, board->on, board->tensor_words) {
		if (!is_safe_sequence(board, x, budget, peak, &sequence))
			continue;
		for (uint32_t i = 0; i < sequence.count; i++) {
			cosma_board_run(board, sequence.op[i]);
			path[(*path_count)++] = sequence.op[i];
		}
		return true;
	}
	return false;
}

void cosma_board_close(struct cosma_board *board, int64_t budget, bool peak, uint32_t *path,
		       uint32_t *path_count)
{
	while (run_safe_op(board, budget, peak, path, path_count) ||
	       run_safe_block(board, budget, peak, path, path_count))
		;
}
