// SPDX-License-Identifier: MIT
/* This file keeps no-goods, and looks for them in a history. */
#include "nogoods.h"

#include <stdlib.h>
#include <string.h>

int cosma_history_init(struct cosma_history *history, const struct cosma_model *model)
{
	history->words = (model->tensor_count + 63) / 64;
	history->row = npuplan_calloc((size_t)model->op_count * (1 + 2 * history->words),
				      sizeof(uint64_t));
	return history->row ? 0 : -ENOMEM;
}

void cosma_history_fini(struct cosma_history *history)
{
	npuplan_free(history->row);
}

void cosma_nogoods_fini(struct cosma_nogoods *nogoods)
{
	for (uint32_t i = 0; i < nogoods->count; i++)
		npuplan_free(nogoods->nogood[i].row);
	npuplan_free(nogoods->nogood);
}

int cosma_nogoods_add(struct cosma_nogoods *nogoods, const struct cosma_history *history,
		      uint32_t first, uint32_t last)
{
	const uint64_t *from = cosma_history_row(history, first);
	size_t bytes = (size_t)(cosma_history_row(history, last + 1) - from) * sizeof(*from);
	struct cosma_nogood nogood = { .length = last - first + 1 };

	int err;

	nogood.row = npuplan_malloc(bytes);
	if (!nogood.row)
		return -ENOMEM;
	memcpy(nogood.row, from, bytes);
	err = npuplan_append(&nogoods->nogood, &nogoods->count, &nogood, 1);
	if (err)
		npuplan_free(nogood.row);
	return err;
}

static bool matches(const struct cosma_nogood *nogood, const struct cosma_history *history,
		    uint32_t last)
{
	const struct cosma_history part = { nogood->row, history->words };

	/*
	 * The last operators differ most often. What had moved before the first one does not
	 * matter.
	 */
	for (uint32_t k = nogood->length; k-- > 0;)
		if (memcmp(cosma_history_row(history, last + 1 + k - nogood->length),
			   cosma_history_row(&part, k),
			   (1 + (k ? 2 : 1) * (size_t)history->words) * sizeof(*part.row)))
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
