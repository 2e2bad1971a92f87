/* SPDX-License-Identifier: MIT */
/*
 * A model is what the search works on: operators and tensors renumbered, lists as arrays, and
 * nothing that COSMA does not look at. A whole graph, one of its subgraphs (cuts.c) and one of
 * their windows (windows.c) are all models.
 */
#pragma once

#include "base/bitset.h"
#include "base/internal.h"
#include "planners/cosma/cosma.h"

/* Flags of a model's tensors. */
enum {
	COSMA_HOST = 1u << 0,	/* it has a host copy from the start */
	COSMA_OUTPUT = 1u << 1, /* it is written to the host once produced, for free */
	COSMA_ENTRY = 1u << 2,	/* it is on chip at the start */
	/* Either of these: when the tensor leaves the chip, nothing has to be written. */
	COSMA_COPIED = COSMA_HOST | COSMA_OUTPUT,
};

/** struct cosma_list - lists of numbers, of which that of i is item[first[i]..first[i + 1]) */
struct cosma_list {
	uint32_t *first;
	uint32_t *item;
};

/* For each entry @k of the list of @i: its number is (list).item[k]. */
#define cosma_for_each(k, list, i) \
	for (uint32_t k = (list).first[i]; (k) < (list).first[(i) + 1]; (k)++)

/*
 * struct cosma_model - operators in a topological order, and their tensors
 * @op_count, @tensor_count: operators, tensors
 * @words: of a set of operators, and so of a row of @ancestors
 * @size: per tensor, bytes
 * @flags: per tensor, COSMA_*
 * @producer: per tensor, the operator that makes it; NPUMEM_NONE: it comes from the host
 * @tensor_of, @op_of: per tensor and operator, its number in the graph, or in the model that this
 *	is a part of
 * @rank: per operator, its position in the order that the caller has given; for a fixed schedule
 * @workspace: per operator, bytes that only it needs, while it runs
 * @need: per operator, bytes that must be on chip while it runs: at least, when all that may make
 *	room for its outputs is gone
 * @born: per operator, bytes of those of its outputs that somebody uses
 * @staged: per operator: it is done with all its inputs before it stores, so that an input that
 *	leaves then makes room for its outputs
 * @taker: per entry of @inputs, the output that may take this input's bytes if the input leaves
 *	with the operator (in place); else NPUMEM_NONE
 * @bound: per entry of @inputs: its taker must have its address, and no operator that may run after
 *	this one uses it (an update)
 * @inputs, @outputs: per operator, distinct tensors
 * @consumers: per tensor, the operators that use it
 * @before: per operator, those that must run before it: at least the producers of its inputs
 * @after: per operator, those that it must run before
 * @closing: per tensor, an operator that runs after all others that use the tensor, and whose
 *	outputs are no larger than what is alive of the tensor until then; else NPUMEM_NONE
 * @follower: per operator, one that may run right after it without loss, so that nothing else has
 *	to be tried; else NPUMEM_NONE
 * @leader: per operator, the one that it follows; else NPUMEM_NONE
 * @ancestors: a matrix of bits, whose row v is the set of operators that must run before v; NULL:
 *	nobody has asked for it (cosma_model_relate())
 * @part_of: per tensor, room for cosma_model_part(): NPUMEM_NONE
 * @pool: owns all arrays but the items of @before, which grow
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
	int64_t *workspace;
	int64_t *need;
	int64_t *born;
	bool *staged;
	uint32_t *taker;
	bool *bound;
	struct cosma_list inputs;
	struct cosma_list outputs;
	struct cosma_list consumers;
	struct cosma_list before;
	struct cosma_list after;
	uint32_t *closing;
	uint32_t *follower;
	uint32_t *leader;
	uint64_t *ancestors;
	uint32_t *part_of;
	struct npuplan_pool pool;
};

/* Returns the set of operators that must run before @v: a row of model->words words. */
static inline uint64_t *cosma_ancestors(const struct cosma_model *model, uint32_t v)
{
	return model->ancestors + (size_t)v * model->words;
}

/* Whether operator @a must run before @b. */
static inline bool cosma_before(const struct cosma_model *model, uint32_t a, uint32_t b)
{
	return npuplan_set_has(cosma_ancestors(model, b), a);
}

/* Returns how many operators use tensor @x. */
static inline uint32_t cosma_users(const struct cosma_model *model, uint32_t x)
{
	return model->consumers.first[x + 1] - model->consumers.first[x];
}

/*
 * cosma_list_invert() - turn lists round: list for each number the lists that contain it
 * @list: out: for each number below @numbers, the numbers of those of the @count lists of @of that
 *	contain it, rising
 * @pool: owns @list
 *
 * -ENOMEM
 */
int cosma_list_invert(struct cosma_list *list, struct npuplan_pool *pool, uint32_t numbers,
		      const struct cosma_list *of, uint32_t count);

/* Whether the list of @i contains @value. */
bool cosma_listed(const struct cosma_list *list, uint32_t i, uint32_t value);

/* Whether the input at entry @k of operator @v makes room for outputs if it leaves with @v. */
static inline bool cosma_makes_room(const struct cosma_model *model, uint32_t v, uint32_t k)
{
	return model->staged[v] || model->taker[k] != NPUMEM_NONE;
}

/*
 * Whether tensor @x, which need not be an input of @v, makes room for outputs if it leaves with @v.
 */
bool cosma_gives_way(const struct cosma_model *model, uint32_t v, uint32_t x);

/*
 * Whether operator @v has inputs that make room: then it matters to others' addresses when they
 * leave.
 */
bool cosma_takes_over(const struct cosma_model *model, uint32_t v);

/* Whether input @k of operator @v is a parameter that takes room and that nobody else uses. */
bool cosma_is_own_parameter(const struct cosma_model *model, const struct npuplan_graph *graph,
			    uint32_t v, uint32_t k);

/* cosma_model_init() - make a model of a graph's operators
 *
 * It has no ancestors, closing operators, followers and leaders: parts have them, which are small
 * where the whole is large.
 *
 * -EINVAL: the graph cannot be executed (a cycle, an operator without outputs, a tensor written
 * twice, an activation nobody writes), or bytes overflow. -EOPNOTSUPP: aliases, state.
 */
int cosma_model_init(struct cosma_model *model, const struct npuplan_graph *graph,
		     const struct cosma_settings *options, struct npuplan_error *error);

/* cosma_model_relate() - find ancestors, closing operators, followers and leaders of a whole model
 *
 * Ancestors take a bit for each pair of operators. -ENOMEM
 */
int cosma_model_relate(struct cosma_model *model);

/* cosma_model_part() - make a model of some operators of a model, with its order
 * @ops: operators of @whole that follow one another, ascending
 * @keep: per tensor of @whole: it is one of the part. The bytes of others are @workspace of the
 *	operators that touch them. NULL: all are
 *
 * Tensors that are produced outside are on chip at the start if they have no host copy. -ENOMEM
 */
int cosma_model_part(struct cosma_model *part, const struct cosma_model *whole, const uint32_t *ops,
		     uint32_t op_count, const bool *keep);

void cosma_model_fini(struct cosma_model *model);

/* Fills closing, follower and leader (chains.c). */
void cosma_model_chains(struct cosma_model *model);
