// SPDX-License-Identifier: MIT
/* This file has what fixed offsets ask of addresses, and refuses those that collide. */
#include <stdlib.h>

#include "fixed.h"

struct npuplan_item cosma_item(const struct npuplan_tensor *tensor, uint32_t alignment)
{
	struct npuplan_item item = {
		.size = tensor->size,
		.align = tensor->align > alignment ? tensor->align : alignment,
		.fixed_offset = tensor->fixed_offset,
		.fixed = tensor->flags & NPUMEM_TENSOR_FLAG_FIXED,
	};

	while (item.fixed && item.fixed_offset % item.align)
		item.align /= 2;
	return item;
}

struct npuplan_item cosma_kept_item(const struct cosma_state *kept)
{
	const struct npuplan_tensor tensor = {
		.size = kept->size,
		.align = 1,
		.fixed_offset = kept->offset,
		.flags = NPUMEM_TENSOR_FLAG_FIXED,
	};

	return cosma_item(&tensor, 1);
}

bool cosma_has_fixed(const struct npuplan_graph *graph, const struct cosma_settings *settings)
{
	bool any = settings->kept_count;

	for (uint32_t t = 0; t < graph->tensor_count && !any; t++)
		any = graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_FIXED;
	return any;
}

/*
 * struct fixed_reading - tensors that are on chip at once
 * @tensor: @count tensors of the graph that have a fixed offset
 */
struct fixed_reading {
	const struct npuplan_graph *graph;
	const struct cosma_model *model;
	const struct cosma_settings *settings;
	struct npuplan_error *error;
	uint32_t *tensor;
	uint32_t count;
};

static bool overlap(const struct npuplan_tensor *a, uint64_t offset, uint64_t size)
{
	return a->fixed_offset < offset + size && offset < a->fixed_offset + a->size;
}

/* Adds tensor @t, unless its fixed offset collides with something that is kept. */
static int add(struct fixed_reading *reading, uint32_t t)
{
	const struct npuplan_tensor *tensor = &reading->graph->tensors[t];
	const struct cosma_settings *settings = reading->settings;
	char label[96];

	if (!(tensor->flags & NPUMEM_TENSOR_FLAG_FIXED))
		return 0;
	for (uint32_t i = 0; i < settings->kept_count; i++) {
		const struct cosma_state *kept = &settings->kept[i];

		if (overlap(tensor, kept->offset, kept->size))
			return npuplan_fail(
				reading->error, -EINVAL,
				"fixed offsets collide: %s at %llu, %llu bytes, and a state at "
				"%llu, %llu bytes, are live at once",
				npuplan_tensor_label(reading->graph, t, label),
				(unsigned long long)tensor->fixed_offset,
				(unsigned long long)tensor->size, (unsigned long long)kept->offset,
				(unsigned long long)kept->size);
	}
	return npuplan_append(&reading->tensor, &reading->count, &t, 1);
}

/* Whether output @b may lie where input @a of operator @v does. */
static bool may_share(const struct fixed_reading *reading, uint32_t v, uint32_t a, uint32_t b)
{
	const struct cosma_model *model = reading->model;
	const struct npuplan_tensor *tensors = reading->graph->tensors;

	if (model->staged[v])
		return true;
	cosma_for_each(k, model->inputs, v)
		if (model->tensor_of[model->inputs.item[k]] == a &&
		    model->taker[k] != NPUMEM_NONE && model->tensor_of[model->taker[k]] == b)
			return tensors[a].fixed_offset == tensors[b].fixed_offset;
	return false;
}

/*
 * Compares all pairs. Those from @outputs on are outputs of operator @v, others are on chip before
 * it.
 */
static int compare(struct fixed_reading *reading, uint32_t v, uint32_t outputs)
{
	char one[96], other[96];

	for (uint32_t i = 0; i < reading->count; i++)
		for (uint32_t k = i + 1; k < reading->count; k++) {
			uint32_t a = reading->tensor[i], b = reading->tensor[k];
			const struct npuplan_tensor *x = &reading->graph->tensors[a];
			const struct npuplan_tensor *y = &reading->graph->tensors[b];

			if (a == b || !overlap(x, y->fixed_offset, y->size) ||
			    (i < outputs && k >= outputs && may_share(reading, v, a, b)))
				continue;
			return npuplan_fail(
				reading->error, -EINVAL,
				"fixed offsets collide: %s at %llu, %llu bytes, and %s at %llu, "
				"%llu bytes, are live at once",
				npuplan_tensor_label(reading->graph, a, one),
				(unsigned long long)x->fixed_offset, (unsigned long long)x->size,
				npuplan_tensor_label(reading->graph, b, other),
				(unsigned long long)y->fixed_offset, (unsigned long long)y->size);
		}
	return 0;
}

static int check_op(struct fixed_reading *reading, uint32_t v)
{
	const struct cosma_model *model = reading->model;
	const struct npuplan_op *op = &reading->graph->ops[model->op_of[v]];
	uint32_t outputs;
	int err = 0;

	reading->count = 0;
	cosma_for_each(k, model->inputs, v)
		err = err ? err : add(reading, model->tensor_of[model->inputs.item[k]]);
	for (uint32_t k = 0; k < op->input_count && !err; k++)
		if (cosma_is_own_parameter(model, reading->graph, v, k))
			err = add(reading, op->inputs[k]);
	outputs = reading->count;
	cosma_for_each(k, model->outputs, v)
		err = err ? err : add(reading, model->tensor_of[model->outputs.item[k]]);
	return err ? err : compare(reading, v, outputs);
}

int cosma_check_fixed(const struct npuplan_graph *graph, const struct cosma_model *model,
		      const struct cosma_settings *settings, struct npuplan_error *error)
{
	struct fixed_reading reading = {
		.graph = graph,
		.model = model,
		.settings = settings,
		.error = error,
	};
	int err = 0;

	if (!cosma_has_fixed(graph, settings))
		return 0;
	for (uint32_t x = 0; x < model->tensor_count && !err; x++)
		if (model->flags[x] & COSMA_ENTRY)
			err = add(&reading, model->tensor_of[x]);
	err = err ? err : compare(&reading, NPUMEM_NONE, reading.count);
	for (uint32_t v = 0; v < model->op_count && !err; v++)
		err = check_op(&reading, v);
	npuplan_free(reading.tensor);
	return err == -ENOMEM ? npuplan_fail(error, err, "out of memory") : err;
}
