/* SPDX-License-Identifier: MIT */
/*
 * A no-good is what is on chip over a few consecutive operators, if that has been proved not to fit
 * at any addresses. A schedule that repeats it is cut off.
 */
#pragma once

#include "planners/cosma/model/model.h"

/**
 * struct cosma_history - which tensors are on chip while each position's operator runs
 * @row: per position: first the operator if it has bytes of its own, else NPUMEM_NONE; then the set
 *	of tensors on chip; then the set of those that left and came back just before, so that they
 *	may be at another address than before
 * @words: of a set of tensors
 */
struct cosma_history {
	uint64_t *row;
	uint32_t words;
};

/* Makes a history with a row for each position. -ENOMEM */
int cosma_history_init(struct cosma_history *history, const struct cosma_model *model);
void cosma_history_fini(struct cosma_history *history);

/* Returns the row of a position; see struct cosma_history. */
static inline uint64_t *cosma_history_row(const struct cosma_history *history, uint32_t position)
{
	return history->row + (size_t)position * (1 + 2 * history->words);
}

/** struct cosma_nogoods - rows of histories, of which each no-good has @length */
struct cosma_nogoods {
	struct cosma_nogood {
		uint64_t *row;
		uint32_t length;
	} *nogood;
	uint32_t count;
};

void cosma_nogoods_fini(struct cosma_nogoods *nogoods);

/* Keeps positions @first..@last of a history, which do not fit. -ENOMEM */
int cosma_nogoods_add(struct cosma_nogoods *nogoods, const struct cosma_history *history,
		      uint32_t first, uint32_t last);

/* Whether a no-good ends at position @last of a history. */
bool cosma_nogoods_match(const struct cosma_nogoods *nogoods, const struct cosma_history *history,
			 uint32_t last, uint64_t *work);
