/* SPDX-License-Identifier: MIT */
/*
 * Networks repeat their blocks, so that subgraphs of a large one are alike: one search is enough
 * for all of them.
 */
#pragma once

#include "search.h"

/* Subgraphs that are remembered. */
#define COSMA_ALIKE 16

/*
 * struct cosma_answer - what the search for one subgraph found
 * @part: the subgraph
 * @path: of operators and tensors of @part; it has no order if there is none
 * @bound: of the subgraph's cost
 * @outcome: enum cosma_outcome
 */
struct cosma_answer {
	struct cosma_model part;
	struct cosma_path path;
	int64_t bound;
	int outcome;
};

/* struct cosma_answers - of the subgraphs that came last; all 0: none yet
 * @count: that were remembered, of which the last COSMA_ALIKE are left
 */
struct cosma_answers {
	struct cosma_answer answer[COSMA_ALIKE];
	uint32_t count;
};

/*
 * Returns the answer of a subgraph that is the same but for its operators' and tensors' numbers in
 * the whole; NULL if none is remembered.
 */
const struct cosma_answer *cosma_answers_find(const struct cosma_answers *answers,
					      const struct cosma_model *part);

/* Remembers an answer, whose part and path it takes over, instead of the one that came first. */
void cosma_answers_add(struct cosma_answers *answers, const struct cosma_answer *answer);
void cosma_answers_fini(struct cosma_answers *answers);
