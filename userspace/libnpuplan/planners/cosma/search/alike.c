// SPDX-License-Identifier: MIT
/* This file remembers what was found for subgraphs, for others that are the same. */
#include <string.h>

#include "alike.h"

static bool same(const void *a, const void *b, size_t count, size_t size)
{
	return !count || !memcmp(a, b, count * size);
}

static bool same_lists(const struct cosma_list *a, const struct cosma_list *b, uint32_t count)
{
	return same(a->first, b->first, (size_t)count + 1, sizeof(*a->first)) &&
	       same(a->item, b->item, a->first[count], sizeof(*a->item));
}

/* Whether operators come in the same order if that is given. */
static bool same_ranks(const struct cosma_model *a, const struct cosma_model *b)
{
	for (uint32_t v = 1; v < a->op_count; v++)
		if (a->rank[v] - a->rank[0] != b->rank[v] - b->rank[0])
			return false;
	return true;
}

/* All else of a model follows from what is compared. */
static bool is_alike(const struct cosma_model *a, const struct cosma_model *b)
{
	uint32_t ops = a->op_count, tensors = a->tensor_count;

	return ops == b->op_count && tensors == b->tensor_count &&
	       same(a->size, b->size, tensors, sizeof(*a->size)) &&
	       same(a->flags, b->flags, tensors, sizeof(*a->flags)) &&
	       same(a->workspace, b->workspace, ops, sizeof(*a->workspace)) &&
	       same(a->staged, b->staged, ops, sizeof(*a->staged)) &&
	       same_lists(&a->inputs, &b->inputs, ops) &&
	       same_lists(&a->outputs, &b->outputs, ops) &&
	       same_lists(&a->before, &b->before, ops) &&
	       same(a->taker, b->taker, a->inputs.first[ops], sizeof(*a->taker)) &&
	       same(a->bound, b->bound, a->inputs.first[ops], sizeof(*a->bound)) &&
	       same_ranks(a, b);
}

const struct cosma_answer *cosma_answers_find(const struct cosma_answers *answers,
					      const struct cosma_model *part)
{
	for (uint32_t i = 0; i < answers->count && i < COSMA_ALIKE; i++)
		if (is_alike(&answers->answer[i].part, part))
			return &answers->answer[i];
	return NULL;
}

static void answer_fini(struct cosma_answer *answer)
{
	cosma_path_fini(&answer->path);
	cosma_model_fini(&answer->part);
}

void cosma_answers_add(struct cosma_answers *answers, const struct cosma_answer *answer)
{
	struct cosma_answer *to = &answers->answer[answers->count++ % COSMA_ALIKE];

	answer_fini(to);
	*to = *answer;
}

void cosma_answers_fini(struct cosma_answers *answers)
{
	for (uint32_t i = 0; i < COSMA_ALIKE; i++)
		answer_fini(&answers->answer[i]);
}
