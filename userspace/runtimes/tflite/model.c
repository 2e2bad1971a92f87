// SPDX-License-Identifier: MIT
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "params.h"
#include "tflite/compose.h"
#include "tflite/schema.h"

#define NOT_THERE (-1)

/*
 * struct writing - a model in the making
 * @number_of: per tensor of the runtime, its number in the file, or NOT_THERE
 * @read, @written: per tensor of the file: a node reads, or writes it
 * @lists: room for all lists of numbers, of which @used are in use
 */
struct writing {
	const struct tfl_context *context;
	const struct nodes *nodes;
	struct model *model;
	struct why *why;
	int32_t *number_of;
	struct tflite_new_tensor *tensors;
	bool *read;
	bool *written;
	struct tflite_new_operator *operators;
	int32_t *lists;
	size_t used;
};

static uint32_t length(const struct tfl_ints *list)
{
	return list && list->size > 0 ? (uint32_t)list->size : 0;
}

/* ---------------------------------------------------------------------- tensors */

/* enum tflite_type, or -1 */
static int file_type(int type)
{
	static const int8_t types[] = {
		[TFL_FLOAT32] = TYPE_FLOAT32, [TFL_INT32] = TYPE_INT32,
		[TFL_UINT8] = TYPE_UINT8,     [TFL_INT64] = TYPE_INT64,
		[TFL_STRING] = TYPE_STRING,   [TFL_BOOL] = TYPE_BOOL,
		[TFL_INT16] = TYPE_INT16,     [TFL_COMPLEX64] = TYPE_COMPLEX64,
		[TFL_INT8] = TYPE_INT8,	      [TFL_FLOAT16] = TYPE_FLOAT16,
		[TFL_FLOAT64] = TYPE_FLOAT64, [TFL_COMPLEX128] = TYPE_COMPLEX128,
		[TFL_UINT64] = TYPE_UINT64,   [TFL_RESOURCE] = TYPE_RESOURCE,
		[TFL_VARIANT] = TYPE_VARIANT, [TFL_UINT32] = TYPE_UINT32,
		[TFL_UINT16] = TYPE_UINT16,
	};

	return type > 0 && (size_t)type < sizeof(types) / sizeof(types[0]) ? types[type] : -1;
}

static bool is_constant(const struct tfl_tensor *t)
{
	return (t->allocation_type == TFL_MMAP_RO || t->allocation_type == TFL_PERSISTENT_RO) &&
	       t->data.raw && t->bytes;
}

static void set_quantization(struct tflite_new_tensor *to, const struct tfl_tensor *t)
{
	const struct tfl_affine *affine = t->quantization.params;

	if (t->quantization.type == TFL_AFFINE && affine && affine->scale) {
		to->scales = affine->scale->data;
		to->scale_count = affine->scale->size > 0 ? (uint32_t)affine->scale->size : 0;
		to->zero_points = affine->zero_point ? affine->zero_point->data : NULL;
		to->zero_point_count = length(affine->zero_point);
	} else if (t->params.scale != 0) {
		to->scales = &t->params.scale;
		to->scale_count = 1;
		to->zero_points = &t->params.zero_point;
		to->zero_point_count = 1;
	}
}

/* The runtime's tensor gets a number in the file, if it has none yet. */
static int add_tensor(struct writing *w, int index)
{
	const struct tfl_tensor *t = &w->context->tensors[index];
	struct tflite_new_tensor *to = &w->tensors[w->model->tensor_count];
	int type = file_type(t->type);

	if (w->number_of[index] != NOT_THERE)
		return 0;
	if (type < 0 || t->sparsity)
		return why_fail(w->why, -EOPNOTSUPP, "tensor %d \"%.100s\" %s", index,
				t->name ? t->name : "",
				t->sparsity ? "is sparse" :
					      "has elements of a type that is not known");
	to->name = t->name;
	to->type = (uint8_t)type;
	to->variable = t->is_variable;
	to->shape = t->dims ? t->dims->data : NULL;
	to->rank = length(t->dims);
	set_quantization(to, t);
	if (is_constant(t)) {
		to->data = t->data.raw;
		to->size = t->bytes;
	}
	w->model->tensors[w->model->tensor_count] = index;
	w->number_of[index] = (int32_t)w->model->tensor_count++;
	return 0;
}

/* A node's list of tensors, by their numbers in the file. */
static int add_list(struct writing *w, const struct tfl_ints *list, struct tflite_numbers *out)
{
	int err = 0;

	out->list = w->lists + w->used;
	out->count = length(list);
	for (uint32_t i = 0; i < out->count && !err; i++) {
		int index = list->data[i];

		if (index >= 0 && (size_t)index >= w->context->tensors_size)
			return why_fail(w->why, -EINVAL, "there is no tensor %d", index);
		w->lists[w->used] = TFL_OPTIONAL;
		if (index >= 0) {
			err = add_tensor(w, index);
			w->lists[w->used] = w->number_of[index];
		}
		w->used++;
	}
	return err;
}

static void mark(const struct tflite_numbers *list, bool *marks)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->list[i] >= 0)
			marks[list->list[i]] = true;
}

/* -------------------------------------------------------------------- operators */

static int add_operator(struct writing *w, uint32_t n)
{
	const struct tfl_node *node = w->nodes->list[n];
	struct tflite_new_operator *op = &w->operators[n];
	int err;

	op->builtin = w->nodes->codes[n];
	params_read(op, node->builtin_data);
	err = add_list(w, node->inputs, &op->inputs);
	if (!err)
		err = add_list(w, node->intermediates, &op->intermediates);
	if (!err)
		err = add_list(w, node->outputs, &op->outputs);
	if (err)
		return err;
	mark(&op->inputs, w->read);
	mark(&op->outputs, w->written);
	return 0;
}

/* What is read, and comes from outside. */
static struct tflite_numbers add_inputs(struct writing *w)
{
	struct tflite_numbers inputs = { .list = w->lists + w->used };

	for (uint32_t t = 0; t < w->model->tensor_count; t++)
		if (w->read[t] && !w->written[t] && !w->tensors[t].data && !w->tensors[t].variable)
			w->lists[w->used + inputs.count++] = (int32_t)t;
	w->used += inputs.count;
	return inputs;
}

static struct tflite_numbers add_outputs(struct writing *w)
{
	struct tflite_numbers outputs = { .list = w->lists + w->used };

	for (uint32_t i = 0; i < w->nodes->output_count; i++) {
		int index = w->nodes->outputs[i];

		if (index >= 0 && w->number_of[index] != NOT_THERE)
			w->lists[w->used + outputs.count++] = w->number_of[index];
	}
	w->used += outputs.count;
	return outputs;
}

/* ------------------------------------------------------------------------ model */

/* Room for all that the nodes can have. */
static int begin(struct writing *w)
{
	size_t count = w->context->tensors_size, numbers = count + w->nodes->output_count;

	for (uint32_t i = 0; i < w->nodes->count; i++)
		numbers += (size_t)length(w->nodes->list[i]->inputs) +
			   length(w->nodes->list[i]->outputs) +
			   length(w->nodes->list[i]->intermediates);
	w->number_of = malloc((count + 1) * sizeof(*w->number_of));
	w->tensors = calloc(count + 1, sizeof(*w->tensors));
	w->read = calloc(count + 1, sizeof(*w->read));
	w->written = calloc(count + 1, sizeof(*w->written));
	w->operators = calloc((size_t)w->nodes->count + 1, sizeof(*w->operators));
	w->lists = calloc(numbers + 1, sizeof(*w->lists));
	w->model->tensors = calloc(count + 1, sizeof(*w->model->tensors));
	if (!w->number_of || !w->tensors || !w->read || !w->written || !w->operators || !w->lists ||
	    !w->model->tensors)
		return why_fail(w->why, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		w->number_of[i] = NOT_THERE;
	return 0;
}

static int compose(struct writing *w)
{
	struct tflite_new_model all = { .tensors = w->tensors,
					.operators = w->operators,
					.operator_count = w->nodes->count };
	struct npuplan_error error = { 0 };
	int err;

	all.inputs = add_inputs(w);
	all.outputs = add_outputs(w);
	all.tensor_count = w->model->tensor_count;
	err = tflite_compose(&all, &w->model->data, &w->model->size, &error);
	return err ? why_fail(w->why, err, "%s", error.text) : 0;
}

int model_new(const struct tfl_context *context, const struct nodes *nodes, struct model *model,
	      struct why *why)
{
	struct writing w = { .context = context, .nodes = nodes, .model = model, .why = why };
	int err;

	*model = (struct model){ 0 };
	err = begin(&w);
	for (uint32_t i = 0; i < nodes->count && !err; i++)
		err = add_operator(&w, i);
	if (!err)
		err = compose(&w);
	free(w.number_of);
	free(w.tensors);
	free(w.read);
	free(w.written);
	free(w.operators);
	free(w.lists);
	return err;
}

void model_fini(struct model *model)
{
	free(model->data);
	free(model->tensors);
	*model = (struct model){ 0 };
}
