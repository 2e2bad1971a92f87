// SPDX-License-Identifier: MIT
/*
 * This file finds the critical operators of a model: those over which more must be kept than fits.
 */
#include <stdlib.h>
#include <string.h>

#include "critical.h"

/* Limit of the pairs of a critical operator and a tensor that is kept over it. */
#define MAX_PAIRS (1u << 20)

/*
 * Finds operators that use the tensor, whose output may take its bytes, but after which others use
 * it: so it is kept over them, or leaves with them to come back.
 */
static void cosma_yielding(const struct cosma_model *model, uint32_t x, uint64_t *members)
{
	cosma_for_each(k, model->consumers, x) {
		uint32_t v = model->consumers.item[k];
		bool later = false;

		if (model->staged[v] || !cosma_gives_way(model, v, x))
			continue;
		cosma_for_each(j, model->consumers, x)
			later |= cosma_before(model, v, model->consumers.item[j]);
		if (later)
			npuplan_set_add(members, v);
	}
}

bool cosma_exists_before(const struct cosma_model *model, uint32_t x, uint32_t v)
{
	if (model->producer[x] != NPUMEM_NONE)
		return cosma_before(model, model->producer[x], v);
	cosma_for_each(k, model->consumers, x)
		if (cosma_before(model, model->consumers.item[k], v))
			return true;
	return model->flags[x] & COSMA_ENTRY;
}

/* Adds those operators of @within that directly follow @v. */
static void add_next(const struct cosma_model *model, uint32_t v, const uint64_t *within,
		     uint64_t *members)
{
	cosma_for_each(k, model->after, v)
		if (npuplan_set_has(within, model->after.item[k]))
			npuplan_set_add(members, model->after.item[k]);
}

/*
 * Finds the operators of @within, which is closed under ancestors, before which @x exists in every
 * order: those behind its producer, or a use of an input.
 */
static void find_behind(const struct cosma_model *model, uint32_t x, const uint64_t *within,
			uint64_t *members)
{
	uint32_t from = model->producer[x];

	if (from == NPUMEM_NONE && model->flags[x] & COSMA_ENTRY) {
		memcpy(members, within, model->words * sizeof(*members));
		return;
	}
	if (from != NPUMEM_NONE)
		add_next(model, from, within, members);
	cosma_for_each(k, model->consumers, x)
		add_next(model, model->consumers.item[k], within, members);
	npuplan_set_for_each(v, members, model->words)
		add_next(model, v, within, members);
}

void cosma_relations(const struct cosma_model *model, uint32_t x, uint64_t *members,
		     uint64_t *adders)
{
	uint32_t from = model->producer[x], words = model->words;

	/*
	 * At first adders are all operators that run before some use of it; then those that touch
	 * it, and those that run before it is made, are taken out.
	 */
	memset(adders, 0, words * sizeof(*adders));
	memset(members, 0, words * sizeof(*members));
	cosma_for_each(k, model->consumers, x) {
		const uint64_t *row = cosma_ancestors(model, model->consumers.item[k]);

		for (uint32_t w = 0; w < words; w++)
			adders[w] |= row[w];
	}
	find_behind(model, x, adders, members);
	cosma_for_each(k, model->consumers, x) {
		npuplan_set_drop(adders, model->consumers.item[k]);
		npuplan_set_drop(members, model->consumers.item[k]);
	}
	if (from != NPUMEM_NONE) {
		const uint64_t *row = cosma_ancestors(model, from);

		for (uint32_t w = 0; w < words; w++)
			adders[w] &= ~row[w];
		npuplan_set_drop(adders, from);
	}
	cosma_yielding(model, x, members);
	for (uint32_t w = 0; w < words; w++)
		adders[w] &= ~members[w];
}

/*
 * struct finding - the search for critical operators
 * @members, @adders: sets of operators: those that the tensor at hand is a member or an adder of
 * @critical: set of the critical operators
 * @number: per critical operator, its number in bounds->critical
 * @sum, @count: per operator, bytes of its members, and how many these are
 * @more, @adder_count: per operator, the same of its adders
 */
struct finding {
	struct cosma_bounds *bounds;
	uint64_t *members;
	uint64_t *adders;
	uint64_t *critical;
	uint32_t *number;
	int64_t *sum;
	int64_t *more;
	uint32_t *count;
	uint32_t *adder_count;
};

/* Adds @bytes to @sum of each operator in @set, and 1 to its @count. */
static void add_to(const uint64_t *set, uint32_t words, int64_t bytes, int64_t *sum,
		   uint32_t *count)
{
	npuplan_set_for_each(v, set, words) {
		sum[v] += bytes;
		count[v]++;
	}
}

bool cosma_bounds_ended(const struct cosma_bounds *bounds)
{
	const struct cosma_call *call = bounds->call;

	return call && (npuplan_effort_ended(&call->effort) ||
			call->work + bounds->work >= call->effort.work_limit);
}

static void add_up(struct finding *finding)
{
	const struct cosma_model *model = finding->bounds->model;

	for (uint32_t x = 0; x < model->tensor_count && !cosma_bounds_ended(finding->bounds); x++) {
		cosma_relations(model, x, finding->members, finding->adders);
		add_to(finding->members, model->words, model->size[x], finding->sum,
		       finding->count);
		if (!finding->bounds->members_only)
			add_to(finding->adders, model->words, model->size[x], finding->more,
			       finding->adder_count);
		finding->bounds->work += model->words;
	}
}

static int keep(struct finding *finding, uint32_t v, int64_t excess)
{
	struct cosma_bounds *bounds = finding->bounds;
	struct cosma_critical critical = {
		.op = v,
		.group = NPUMEM_NONE,
		.excess = excess,
	};

	finding->number[v] = bounds->critical_count;
	npuplan_set_add(finding->critical, v);
	return npuplan_append(&bounds->critical, &bounds->critical_count, &critical, 1);
}

/* Returns of how many operators with members only the next critical one is taken. */
static uint64_t stride_of(const struct finding *finding)
{
	const struct cosma_bounds *bounds = finding->bounds;
	const struct cosma_model *model = bounds->model;
	uint64_t pairs = 0;

	for (uint32_t v = 0; v < model->op_count && bounds->members_only; v++)
		if (model->need[v] - bounds->budget + finding->sum[v] > 0)
			pairs += finding->count[v];
	return pairs / MAX_PAIRS + 1;
}

static int choose(struct finding *finding)
{
	struct cosma_bounds *bounds = finding->bounds;
	const struct cosma_model *model = bounds->model;
	uint64_t pairs = 0, stride = stride_of(finding), seen = 0;
	int err = 0;

	for (uint32_t v = 0; v < model->op_count && !err; v++) {
		int64_t excess = model->need[v] - bounds->budget + finding->sum[v];
		uint64_t more = (uint64_t)finding->count[v] + finding->adder_count[v];

		/* Without the rest the bounds get weaker, not wrong. */
		if (excess + finding->more[v] <= 0 || seen++ % stride || pairs + more > MAX_PAIRS)
			continue;
		pairs += more;
		err = keep(finding, v, excess);
	}
	return err;
}

/* Takes no operator as critical: with a part of its members one would say too much. */
static void forget(struct cosma_bounds *bounds)
{
	for (uint32_t i = 0; i < bounds->critical_count; i++)
		npuplan_free(bounds->critical[i].member);
	bounds->critical_count = 0;
	memset(bounds->of_adder.first, 0,
	       ((size_t)bounds->model->tensor_count + 1) * sizeof(*bounds->of_adder.first));
}

/*
 * Lists the members of each critical operator by rising tensor, and for each tensor the critical
 * operators it is an adder of.
 */
static int list_pairs(struct finding *finding)
{
	struct cosma_bounds *bounds = finding->bounds;
	const struct cosma_model *model = bounds->model;
	struct cosma_list *of_adder = &bounds->of_adder;
	uint32_t adders = 0;
	int err = 0;

	of_adder->first = npuplan_pool_take(&bounds->pool, (size_t)model->tensor_count + 1,
					    sizeof(*of_adder->first));
	if (!of_adder->first)
		return -ENOMEM;
	for (uint32_t x = 0; x < model->tensor_count && bounds->critical_count && !err; x++) {
		if (cosma_bounds_ended(bounds)) {
			forget(bounds);
			break;
		}
		cosma_relations(model, x, finding->members, finding->adders);
		for (uint32_t w = 0; w < model->words; w++) {
			finding->members[w] &= finding->critical[w];
			finding->adders[w] &= bounds->members_only ? 0 : finding->critical[w];
		}
		npuplan_set_for_each(v, finding->members, model->words) {
			struct cosma_critical *critical = &bounds->critical[finding->number[v]];
			struct cosma_member member = {
				.tensor = x,
				.first = NPUMEM_NONE,
				.bytes = model->size[x],
			};

			err = err ? err :
				    npuplan_append(&critical->member, &critical->member_count,
						   &member, 1);
		}
		npuplan_set_for_each(v, finding->adders, model->words)
			err = err ? err :
				    npuplan_append(&of_adder->item, &adders, &finding->number[v],
						   1);
		of_adder->first[x + 1] = adders;
	}
	return err;
}

int cosma_critical_find(struct cosma_bounds *bounds)
{
	const struct cosma_model *model = bounds->model;
	uint32_t ops = model->op_count, words = model->words;
	struct npuplan_pool pool = { 0 };
	struct finding finding = {
		.bounds = bounds,
		.members = npuplan_pool_take(&pool, words, sizeof(uint64_t)),
		.adders = npuplan_pool_take(&pool, words, sizeof(uint64_t)),
		.critical = npuplan_pool_take(&pool, words, sizeof(uint64_t)),
		.number = npuplan_pool_take(&pool, ops, sizeof(uint32_t)),
		.sum = npuplan_pool_take(&pool, ops, sizeof(int64_t)),
		.more = npuplan_pool_take(&pool, ops, sizeof(int64_t)),
		.count = npuplan_pool_take(&pool, ops, sizeof(uint32_t)),
		.adder_count = npuplan_pool_take(&pool, ops, sizeof(uint32_t)),
	};
	int err = -ENOMEM;

	if (!pool.failed) {
		add_up(&finding);
		err = choose(&finding);
		err = err ? err : list_pairs(&finding);
	}
	npuplan_pool_free(&pool);
	return err;
}
