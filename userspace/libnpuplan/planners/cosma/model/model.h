/* SPDX-License-Identifier: MIT */
/*
 * What the search works on: operators and tensors renumbered, lists as arrays,
 * nothing that COSMA does not look at. A whole graph, one of its segments
 * (cuts.c) and one of their windows (windows.c) are all models.
 */
#pragma once

#include "base/bitset.h"
#include "base/internal.h"
#include "planners/cosma/cosma.h"

/* Flags of a model's tensors. */
enum {
	COSMA_HOST = 1u << 0,	/* has a host copy from the start */
	COSMA_OUTPUT = 1u << 1, /* is written to the host once produced, for free */
	COSMA_ENTRY = 1u << 2,	/* is on chip at the start */
	/* Either: when it leaves the chip, nothing has to be written. */
	COSMA_COPIED = COSMA_HOST | COSMA_OUTPUT,
};

/** struct cosma_list - lists of numbers: that of i is item[first[i]..first[i + 1]) */
struct cosma_list {
	uint32_t *first;
	uint32_t *item;
};

/* For each entry @k of the list of @i: its number is (list).item[k]. */
#define cosma_for_each(k, list, i) \
	for (uint32_t k = (list).first[i]; (k) < (list).first[(i) + 1]; (k)++)

/*
 * struct cosma_model - operators in a topological order, and their tensors
 * @size: bytes, per tensor
 * @flags: COSMA_*, per tensor
 * @producer: operator, or NPUMEM_NONE, per tensor
 * @tensor_of, @op_of: number in the graph (or in the model it is a part of)
 * @rank: position in the order that the caller has given, per operator; for a fixed schedule
 * @work: bytes only this operator needs, while it runs, per operator
 * @need: bytes that must be on chip while it runs, per operator: with all that may
 *	make room for its outputs gone
 * @born: bytes of its outputs that somebody uses, per operator
 * @staged: it is done with all its inputs before it stores, so that what leaves then
 *	makes room for its outputs, per operator
 * @taker: per entry of @inputs: output that may take this input's bytes, if the input
 *	leaves with the operator (in place); else NPUMEM_NONE
 * @inputs, @outputs: distinct tensors, per operator; @consumers, per tensor
 * @before: operators that must have run; at least the producers of @inputs.
 *	@after: the same, seen from the other side
 * @closing: per tensor, an operator that runs after all others that use it, and whose
 *	outputs are no larger than what is alive of it until then; else NPUMEM_NONE
 * @follower: per operator, the one that may run right after it without loss, so that
 *	nothing else has to be tried; else NPUMEM_NONE. @leader: the same, backwards
 * @ancestors: bit matrix: row v has all that must run before v
 * @words: of a row
 * @pool: owns all arrays but those of @before, which grow
 */
struct cosma_model {
	uint32_t op_count;
	uint32_t tensor_count;
	uint32_t words;
	int64_t *size;
	uint8_t *flags;
	uint32_t *producer;
	uint32_t *tensor_of;
	uint32_t *op_of;
	uint32_t *rank;
	int64_t *work;
	int64_t *need;
	int64_t *born;
	bool *staged;
	uint32_t *taker;
	struct cosma_list inputs;
	struct cosma_list outputs;
	struct cosma_list consumers;
	struct cosma_list before;
	struct cosma_list after;
	uint32_t *closing;
	uint32_t *follower;
	uint32_t *leader;
	uint64_t *ancestors;
	struct npuplan_pool pool;
};

/* Operators that must run before @v: a row of model->words words. */
static inline uint64_t *cosma_ancestors(const struct cosma_model *model, uint32_t v)
{
	return model->ancestors + (size_t)v * model->words;
}

/* Whether operator @a must run before @b. */
static inline bool cosma_before(const struct cosma_model *model, uint32_t a, uint32_t b)
{
	return npuplan_set_has(cosma_ancestors(model, b), a);
}

/* Operators that use the tensor. */
static inline uint32_t cosma_users(const struct cosma_model *model, uint32_t x)
{
	return model->consumers.first[x + 1] - model->consumers.first[x];
}

/*
 * cosma_list_invert() - list of each number below @numbers: which of the @count lists of @of
 * contain it, in rising order; -ENOMEM
 */
int cosma_list_invert(struct cosma_list *list, struct npuplan_pool *pool, uint32_t numbers,
		      const struct cosma_list *of, uint32_t count);

bool cosma_listed(const struct cosma_list *list, uint32_t i, uint32_t value);

/* Whether the input at entry @k of operator @v makes room for outputs if it leaves with @v. */
static inline bool cosma_makes_room(const struct cosma_model *model, uint32_t v, uint32_t k)
{
	return model->staged[v] || model->taker[k] != NPUMEM_NONE;
}

/* The same for tensor @x, which may not be an input of @v at all. */
bool cosma_gives_way(const struct cosma_model *model, uint32_t v, uint32_t x);

/* Whether it has inputs that make room, so that when they leave decides where others may lie. */
bool cosma_takes_over(const struct cosma_model *model, uint32_t v);

/* Whether input @k of operator @v is a parameter that takes room and that nobody else uses. */
bool cosma_is_own_parameter(const struct cosma_model *model, const struct npuplan_graph *graph,
			    uint32_t v, uint32_t k);

/* cosma_model_init() - of a graph's operators
 *
 * -EINVAL: not a graph that can be executed (a cycle, an operator without
 * outputs, a tensor written twice, an activation nobody writes), or bytes that
 * overflow. -EOPNOTSUPP: aliases, fixed tensors, state.
 */
int cosma_model_init(struct cosma_model *model, const struct npuplan_graph *graph,
		     const struct cosma_settings *options, struct npuplan_error *error);

/* cosma_model_part() - operators @ops (ascending) of a model, with its order
 * @keep: per tensor of @whole whether it is one of the part; the bytes of others
 *	are @work of the operators that touch them. NULL: all
 *
 * Tensors produced outside are on chip at the start if they have no host copy.
 */
int cosma_model_part(struct cosma_model *part, const struct cosma_model *whole, const uint32_t *ops,
		     uint32_t op_count, const bool *keep);

void cosma_model_fini(struct cosma_model *model);

/* chains.c: fills closing, follower and leader. */
void cosma_model_chains(struct cosma_model *model);
