// SPDX-License-Identifier: MIT
/* This file finds M_R, the least budget with which every operator can run. */
#include <stdlib.h>

#include "pack/exact.h"
#include "fixed.h"
#include "least_budget.h"

/* Limit of the packing core's work on one operator's tensors. */
#define PACK_WORK 1000000

/* An operator loads at one instant (liveness.h) and stores at the next. */
enum { LOADS = 1, STORES = 2 };

/*
 * struct working_set - tensors that must be on chip while an operator runs
 * @item: @count tensors
 * @alignment: the largest of them
 * @at_least: alignment of every tensor
 * @bytes: per instant
 * @mixed: an output may lie where an input does that is not aligned as it is
 * @fixed: something has a fixed offset
 * @fixed_end: where the highest of these ends
 */
struct working_set {
	const struct npuplan_graph *graph;
	const struct cosma_settings *settings;
	struct npuplan_item *item;
	uint32_t count;
	uint32_t alignment;
	uint32_t at_least;
	uint64_t bytes[STORES + 1];
	bool mixed;
	bool fixed;
	uint64_t fixed_end;
};

static int add_item(struct working_set *set, struct npuplan_item item, uint32_t start, uint32_t end)
{
	item.start = start;
	item.end = end;
	for (uint32_t i = start; i <= end; i++)
		set->bytes[i] += item.size;
	if (item.align > set->alignment)
		set->alignment = item.align;
	set->fixed |= item.fixed;
	if (item.fixed && item.fixed_offset + item.size > set->fixed_end)
		set->fixed_end = item.fixed_offset + item.size;
	return npuplan_append(&set->item, &set->count, &item, 1);
}

static int add(struct working_set *set, uint32_t t, uint32_t start, uint32_t end)
{
	const struct npuplan_tensor *tensor = &set->graph->tensors[t];

	if (tensor->flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
		return 0;
	return add_item(set, cosma_item(tensor, set->at_least), start, end);
}

/* Finds the bytes with which all tensors of the set have an address. */
static int measure(const struct working_set *set, uint64_t *bytes)
{
	struct npuplan_pack_problem problem = {
		.items = set->item,
		.item_count = set->count,
		/* Items have their own. */
		.alignment = 1,
	};
	struct npuplan_pack_options options = { .work_limit = PACK_WORK };
	uint64_t *offsets = npuplan_malloc(((size_t)set->count + 1) * sizeof(*offsets));
	struct npuplan_pack_result result;
	int err = offsets ? npuplan_pack_exactly(&problem, &options, offsets, &result, NULL) :
			    -ENOMEM;

	npuplan_free(offsets);
	/*
	 * If the least is not known, its lower bound is taken: an upper one would refuse what may
	 * fit.
	 */
	if (!err)
		*bytes = result.status == NPUMEM_PLAN_STATUS_OPTIMAL ? result.top :
								       result.lower_bound;
	return err;
}

static uint32_t aligned(const struct working_set *set, uint32_t t)
{
	uint32_t align = set->graph->tensors[t].align;

	return align > set->at_least ? align : set->at_least;
}

/* Whether two tensors may have one address. */
static bool may_share(const struct working_set *set, uint32_t a, uint32_t b)
{
	const struct npuplan_tensor *x = &set->graph->tensors[a], *y = &set->graph->tensors[b];

	return !(x->flags & y->flags & NPUMEM_TENSOR_FLAG_FIXED) ||
	       x->fixed_offset == y->fixed_offset;
}

/*
 * Returns until when an input is on chip at least. If an output takes its bytes, the output has its
 * place from the start: that is as good as any place, if it is aligned for both.
 */
static uint32_t end_of(struct working_set *set, const struct cosma_model *model, uint32_t v,
		       uint32_t t)
{
	if (model->staged[v])
		return LOADS;
	cosma_for_each(k, model->inputs, v) {
		uint32_t y = model->taker[k];

		if (model->tensor_of[model->inputs.item[k]] != t || y == NPUMEM_NONE ||
		    !may_share(set, t, model->tensor_of[y]))
			continue;
		set->mixed |= aligned(set, t) != aligned(set, model->tensor_of[y]);
		return LOADS;
	}
	return STORES;
}

/* Returns the input whose bytes output @t takes; NPUMEM_NONE if it takes none. */
static uint32_t taken_by(const struct working_set *set, const struct cosma_model *model, uint32_t v,
			 uint32_t t)
{
	cosma_for_each(k, model->inputs, v) {
		uint32_t x = model->tensor_of[model->inputs.item[k]];

		if (!model->staged[v] && model->taker[k] != NPUMEM_NONE &&
		    model->tensor_of[model->taker[k]] == t && may_share(set, x, t))
			return x;
	}
	return NPUMEM_NONE;
}

/* An output that takes the bytes of an input with a fixed offset lies there, too. */
static int add_output(struct working_set *set, const struct cosma_model *model, uint32_t v,
		      uint32_t t)
{
	uint32_t x = taken_by(set, model, v, t);

	if (x != NPUMEM_NONE && set->graph->tensors[x].flags & NPUMEM_TENSOR_FLAG_FIXED)
		return add(set, x, LOADS, STORES);
	return add(set, t, x != NPUMEM_NONE ? LOADS : STORES, STORES);
}

/* Collects operator @v's tensors; with NPUMEM_NONE those that are on chip at the start. */
static int collect(struct working_set *set, const struct cosma_model *model, uint32_t v)
{
	const struct npuplan_op *op;
	int err = 0;

	set->count = 0;
	set->bytes[LOADS] = 0;
	set->bytes[STORES] = 0;
	set->alignment = 1;
	set->mixed = false;
	set->fixed = false;
	set->fixed_end = 0;
	for (uint32_t i = 0; i < set->settings->kept_count && !err; i++)
		err = add_item(set, cosma_kept_item(&set->settings->kept[i]), LOADS, STORES);
	for (uint32_t x = 0; x < model->tensor_count && v == NPUMEM_NONE && !err; x++)
		if (model->flags[x] & COSMA_ENTRY)
			err = add(set, model->tensor_of[x], LOADS, LOADS);
	if (v == NPUMEM_NONE)
		return err;
	op = &set->graph->ops[model->op_of[v]];
	for (uint32_t k = 0; k < op->input_count && !err; k++) {
		bool known = set->graph->tensors[op->inputs[k]].kind == NPUMEM_TENSOR_PARAMETER &&
			     !model->workspace[v];

		cosma_for_each(j, model->inputs, v)
			if (model->tensor_of[model->inputs.item[j]] == op->inputs[k])
				known = false;
		for (uint32_t j = 0; j < k && !known; j++)
			known = op->inputs[j] == op->inputs[k];
		if (!known && end_of(set, model, v, op->inputs[k]) == STORES)
			err = add(set, op->inputs[k], LOADS, STORES);
		else if (!known && model->staged[v])
			err = add(set, op->inputs[k], LOADS, LOADS);
	}
	for (uint32_t k = 0; k < op->output_count && !err; k++)
		err = add_output(set, model, v, op->outputs[k]);
	return err;
}

int cosma_least_budget(const struct npuplan_graph *graph, const struct cosma_model *model,
		       const struct cosma_settings *settings, uint64_t *budget, uint32_t *op)
{
	struct working_set set = {
		.graph = graph,
		.settings = settings,
		.at_least = settings->common.alignment,
	};
	int err = 0;

	*budget = 0;
	*op = NPUMEM_NONE;
	for (uint32_t i = 0; i <= model->op_count && !err; i++) {
		uint32_t v = i ? i - 1 : NPUMEM_NONE;
		uint64_t bytes;

		err = collect(&set, model, v);
		bytes = set.bytes[LOADS] > set.bytes[STORES] ? set.bytes[LOADS] : set.bytes[STORES];
		bytes = bytes > set.fixed_end ? bytes : set.fixed_end;
		if (!err && bytes && !set.mixed && (set.fixed || set.alignment > 1))
			err = measure(&set, &bytes);
		if (err || bytes <= *budget)
			continue;
		*budget = bytes;
		*op = v == NPUMEM_NONE ? v : model->op_of[v];
	}
	npuplan_free(set.item);
	return err;
}
