// SPDX-License-Identifier: MIT
#include "nogoods.h"

#include <stdlib.h>
#include <string.h>

/* What a no-good takes besides its bits, with what malloc() adds. */
#define NOGOOD_BYTES 56

int cosma_history_init(struct cosma_history *history, const struct cosma_model *model)
{
	history->words = (model->tensor_count + 63) / 64;
	history->row = calloc((size_t)model->op_count * (1 + 2 * history->words), sizeof(uint64_t));
	return history->row ? 0 : -ENOMEM;
}

void cosma_history_fini(struct cosma_history *history)
{
	free(history->row);
}

void cosma_nogoods_fini(struct cosma_nogoods *nogoods)
{
	for (uint32_t i = 0; i < nogoods->count; i++)
		free(nogoods->nogood[i].row);
	free(nogoods->nogood);
}

uint64_t cosma_nogood_bytes(const struct cosma_history *history, uint32_t length)
{
	return (uint64_t)length * history->words * 2 * sizeof(*history->row) + NOGOOD_BYTES;
}

int cosma_nogoods_add(struct cosma_nogoods *nogoods, const struct cosma_history *history,
		      uint32_t first, uint32_t last)
{
	const uint64_t *from = cosma_history_row(history, first);
	size_t bytes = (size_t)(cosma_history_row(history, last + 1) - from) * sizeof(*from);
	struct cosma_nogood nogood = { .length = last - first + 1 };

	if (npuplan_grow(&nogoods->nogood, nogoods->count, sizeof(nogood)))
		return -ENOMEM;
	nogood.row = malloc(bytes);
	if (!nogood.row)
		return -ENOMEM;
	memcpy(nogood.row, from, bytes);
	nogoods->nogood[nogoods->count++] = nogood;
	return 0;
}

static bool matches(const struct cosma_nogood *nogood, const struct cosma_history *history,
		    uint32_t last)
{
	const struct cosma_history window = { nogood->row, history->words };

	/* The end differs most often; what had moved before the first one is of no concern. */
	for (uint32_t k = nogood->length; k-- > 0;)
		if (memcmp(cosma_history_row(history, last + 1 + k - nogood->length),
			   cosma_history_row(&window, k),
			   (1 + (k ? 2 : 1) * (size_t)history->words) * sizeof(*window.row)))
			return false;
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
