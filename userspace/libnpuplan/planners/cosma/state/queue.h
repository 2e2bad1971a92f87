/* SPDX-License-Identifier: MIT */
/*
 * A priority queue of a best-first search: indices of its states in a binary heap, the one
 * that is to be expanded first on top. Functions are inline, so that the search's comparison
 * costs no call.
 */
#ifndef NPUPLAN_COSMA_QUEUE_H
#define NPUPLAN_COSMA_QUEUE_H

#include "base/internal.h"

/** struct cosma_queue - states to be expanded; the owner frees @state */
struct cosma_queue {
	uint32_t *state;
	uint32_t count;
};

/* Whether state @a is to be expanded before state @b; never true of both ways. */
typedef bool cosma_sooner(const void *search, uint32_t a, uint32_t b);

/* -ENOMEM. */
static inline int cosma_queue_push(struct cosma_queue *queue, cosma_sooner *sooner,
				   const void *search, uint32_t id)
{
	uint32_t at = queue->count;

	if (npuplan_grow(&queue->state, at, sizeof(*queue->state)))
		return -ENOMEM;
	queue->count++;
	while (at && sooner(search, id, queue->state[(at - 1) / 2])) {
		queue->state[at] = queue->state[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	queue->state[at] = id;
	return 0;
}

/* Takes the first state out of a queue that is not empty. */
static inline uint32_t cosma_queue_pop(struct cosma_queue *queue, cosma_sooner *sooner,
				       const void *search)
{
	uint32_t top = queue->state[0], id = queue->state[--queue->count], at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= queue->count)
			break;
		if (child + 1 < queue->count &&
		    sooner(search, queue->state[child + 1], queue->state[child]))
			child++;
		if (!sooner(search, queue->state[child], id))
			break;
		queue->state[at] = queue->state[child];
		at = child;
	}
	queue->state[at] = id;
	return top;
}

#endif /* NPUPLAN_COSMA_QUEUE_H */
