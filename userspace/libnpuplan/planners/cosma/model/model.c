// SPDX-License-Identifier: MIT
/* From a graph to the model that COSMA searches, and parts of models. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* Sizes times uses up to this: costs and their sums stay far from overflow. */
#define MAX_TRAFFIC (1ull << 60)

bool cosma_listed(const struct cosma_list *list, uint32_t i, uint32_t value)
{
	for (uint32_t k = list->first[i]; k < list->first[i + 1]; k++)
		if (list->item[k] == value)
			return true;
	return false;
}

bool cosma_gives_way(const struct cosma_model *model, uint32_t v, uint32_t x)
{
	cosma_for_each(k, model->inputs, v)
		if (model->inputs.item[k] == x)
			return cosma_makes_room(model, v, k);
	return false;
}

bool cosma_takes_over(const struct cosma_model *model, uint32_t v)
{
	cosma_for_each(k, model->inputs, v)
		if (cosma_makes_room(model, v, k))
			return true;
	return false;
}

void cosma_model_fini(struct cosma_model *model)
{
	struct cosma_list *lists[] = { &model->inputs, &model->outputs, &model->consumers,
				       &model->before, &model->after };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		free(lists[i]->first);
		free(lists[i]->item);
	}
	free(model->size);
	free(model->flags);
	free(model->producer);
	free(model->tensor_of);
	free(model->op_of);
	free(model->work);
	free(model->need);
	free(model->staged);
	free(model->taker);
	free(model->ancestors);
	free(model->closing);
	free(model->follower);
	free(model->leader);
	memset(model, 0, sizeof(*model));
}

static int list_alloc(struct cosma_list *list, uint32_t count, size_t items)
{
	list->first = calloc((size_t)count + 1, sizeof(*list->first));
	list->item = malloc((items + 1) * sizeof(*list->item));
	return list->first && list->item ? 0 : -ENOMEM;
}

/* Arrays for so many operators, tensors, inputs and outputs. */
static int model_alloc(struct cosma_model *model, uint32_t ops, uint32_t tensors, size_t inputs,
		       size_t outputs)
{
	memset(model, 0, sizeof(*model));
	model->words = (ops + 63) / 64;
	model->size = calloc((size_t)tensors + 1, sizeof(*model->size));
	model->flags = calloc((size_t)tensors + 1, sizeof(*model->flags));
	model->producer = calloc((size_t)tensors + 1, sizeof(*model->producer));
	model->tensor_of = calloc((size_t)tensors + 1, sizeof(*model->tensor_of));
	model->op_of = calloc((size_t)ops + 1, sizeof(*model->op_of));
	model->closing = calloc((size_t)tensors + 1, sizeof(*model->closing));
	model->follower = calloc((size_t)ops + 1, sizeof(*model->follower));
	model->leader = calloc((size_t)ops + 1, sizeof(*model->leader));
	model->work = calloc((size_t)ops + 1, sizeof(*model->work));
	model->need = calloc((size_t)ops + 1, sizeof(*model->need));
	model->staged = calloc((size_t)ops + 1, sizeof(*model->staged));
	model->taker = malloc((inputs + 1) * sizeof(*model->taker));
	model->ancestors = calloc((size_t)ops * model->words + 1, sizeof(*model->ancestors));
	if (!model->closing || !model->follower || !model->leader || !model->size ||
	    !model->flags || !model->producer || !model->tensor_of || !model->op_of ||
	    !model->work || !model->need || !model->staged || !model->taker || !model->ancestors ||
	    list_alloc(&model->inputs, ops, inputs) || list_alloc(&model->outputs, ops, outputs) ||
	    list_alloc(&model->consumers, tensors, inputs))
		return -ENOMEM;
	return 0;
}

uint64_t cosma_model_bytes(const struct cosma_model *model)
{
	uint64_t edges = model->inputs.first[model->op_count];

	return (uint64_t)model->op_count * model->words * sizeof(*model->ancestors) +
	       (model->op_count + model->tensor_count + edges) * 8 * sizeof(uint64_t);
}

/* Bytes while it loads, and while it stores and all have left that may. */
static int64_t derive_need(const struct cosma_model *model, uint32_t v)
{
	int64_t loads = model->work[v], stores = model->staged[v] ? 0 : model->work[v];

	cosma_for_each(k, model->inputs, v) {
		int64_t size = model->size[model->inputs.item[k]];

		loads += size;
		stores += cosma_makes_room(model, v, k) ? 0 : size;
	}
	cosma_for_each(k, model->outputs, v)
		stores += model->size[model->outputs.item[k]];
	return loads > stores ? loads : stores;
}

/* Consumers, producers and needs, from inputs and outputs. */
static void derive_lists(struct cosma_model *model)
{
	struct cosma_list *consumers = &model->consumers;

	for (uint32_t x = 0; x < model->tensor_count; x++)
		model->producer[x] = NPUMEM_NONE;
	for (uint32_t v = 0; v < model->op_count; v++) {
		model->need[v] = derive_need(model, v);
		cosma_for_each(k, model->inputs, v)
			consumers->first[model->inputs.item[k] + 1]++;
		cosma_for_each(k, model->outputs, v)
			model->producer[model->outputs.item[k]] = v;
	}
	for (uint32_t x = 0; x < model->tensor_count; x++)
		consumers->first[x + 1] += consumers->first[x];
	/* Filled from the back, so that first[] ends up where it was. */
	for (uint32_t v = model->op_count; v-- > 0;)
		cosma_for_each(k, model->inputs, v)
			consumers->item[--consumers->first[model->inputs.item[k] + 1]] = v;
	for (uint32_t x = 0; x < model->tensor_count; x++)
		consumers->first[x] = consumers->first[x + 1];
	consumers->first[model->tensor_count] =
		model->op_count ? model->inputs.first[model->op_count] : 0;
}

static void add_before(struct cosma_list *before, uint32_t v, uint32_t from, uint32_t *count)
{
	bool known = from == NPUMEM_NONE;

	for (uint32_t j = before->first[v]; j < *count && !known; j++)
		known = before->item[j] == from;
	if (!known)
		before->item[(*count)++] = from;
}

/*
 * What must have run directly before each: the producers of its inputs, and
 * @external, those of its inputs that have no room on chip.
 */
static int derive_before(struct cosma_model *model, const struct cosma_list *external)
{
	struct cosma_list *before = &model->before;
	uint32_t n = model->op_count, count = 0;

	if (list_alloc(before, n, (size_t)model->inputs.first[n] + external->first[n]))
		return -ENOMEM;
	for (uint32_t v = 0; v < model->op_count; v++) {
		cosma_for_each(k, model->inputs, v)
			add_before(before, v, model->producer[model->inputs.item[k]], &count);
		cosma_for_each(k, *external, v)
			add_before(before, v, external->item[k], &count);
		before->first[v + 1] = count;
	}
	return 0;
}

static int derive_after(struct cosma_model *model)
{
	const struct cosma_list *before = &model->before;
	struct cosma_list *after = &model->after;
	uint32_t n = model->op_count;

	if (list_alloc(after, n, before->first[n]))
		return -ENOMEM;
	for (uint32_t k = 0; k < before->first[n]; k++)
		after->first[before->item[k] + 1]++;
	for (uint32_t v = 0; v < n; v++)
		after->first[v + 1] += after->first[v];
	for (uint32_t v = n; v-- > 0;)
		cosma_for_each(k, *before, v)
			after->item[--after->first[before->item[k] + 1]] = v;
	for (uint32_t v = 0; v < n; v++)
		after->first[v] = after->first[v + 1];
	after->first[n] = before->first[n];
	return 0;
}

static void derive_ancestors(struct cosma_model *model)
{
	for (uint32_t v = 0; v < model->op_count; v++) {
		uint64_t *row = model->ancestors + (size_t)v * model->words;

		cosma_for_each(k, model->before, v) {
			uint32_t from = model->before.item[k];
			const uint64_t *other = model->ancestors + (size_t)from * model->words;

			for (uint32_t w = 0; w < model->words; w++)
				row[w] |= other[w];
			cosma_set(row, from);
		}
	}
}

/* -------------------------------------------------------------- from a graph */

/* What reading a graph needs besides the model. */
struct reading {
	const struct npuplan_graph *graph;
	const struct npuplan_cosma_options *options;
	struct npuplan_error *error;
	uint32_t *writer;	   /* per tensor */
	uint32_t *uses;		   /* distinct operators that read it, per tensor */
	uint32_t *last;		   /* operator that touched it last, per tensor */
	uint32_t *model_of;	   /* per tensor */
	uint32_t *order;	   /* of operators */
	uint32_t *waiting;	   /* inputs not yet produced, per operator */
	uint64_t *ready;	   /* bits of operators that wait for none, and have not run */
	struct cosma_list readers; /* per tensor, distinct operators */
};

static const char *op_label(const struct npuplan_graph *graph, uint32_t op, char text[96])
{
	if (graph->ops[op].name[0])
		snprintf(text, 96, "%s", graph->ops[op].name);
	else
		snprintf(text, 96, "operator %u", op);
	return text;
}

static int check_tensor(struct reading *reading, uint32_t i)
{
	const struct npuplan_tensor *tensor = &reading->graph->tensors[i];
	uint32_t wrong = NPUMEM_TENSOR_FIXED | NPUMEM_TENSOR_ALIAS;
	char text[96];

	if (tensor->flags & wrong || tensor->kind == NPUMEM_TENSOR_STATE)
		return npuplan_fail(reading->error, -EOPNOTSUPP, "tensor '%s': cosma plans no %s",
				    npuplan_tensor_label(reading->graph, i, text),
				    tensor->flags & NPUMEM_TENSOR_ALIAS ? "aliases" :
				    tensor->flags & NPUMEM_TENSOR_FIXED ? "fixed offsets" :
									  "state");
	return 0;
}

/* Who writes and who reads; an operator may list a tensor several times. */
static int count_uses(struct reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	char name[96], other[96];

	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		reading->writer[i] = NPUMEM_NONE;
		reading->last[i] = NPUMEM_NONE;
		reading->model_of[i] = NPUMEM_NONE;
	}
	for (uint32_t v = 0; v < graph->op_count; v++) {
		const struct npuplan_op *op = &graph->ops[v];

		if (!op->output_count)
			return npuplan_fail(reading->error, -EINVAL, "'%s' has no outputs",
					    op_label(graph, v, name));
		for (uint32_t k = 0; k < op->output_count; k++) {
			uint32_t t = op->outputs[k], kind = graph->tensors[t].kind;

			if (reading->writer[t] != NPUMEM_NONE || kind == NPUMEM_TENSOR_INPUT ||
			    kind == NPUMEM_TENSOR_PARAMETER)
				return npuplan_fail(reading->error, -EINVAL,
						    "'%s' writes '%s', which %s",
						    op_label(graph, v, name),
						    npuplan_tensor_label(graph, t, other),
						    reading->writer[t] != NPUMEM_NONE ?
							    "was written before" :
							    "is never written");
			reading->writer[t] = v;
		}
	}
	for (uint32_t v = 0; v < graph->op_count; v++)
		for (uint32_t k = 0; k < graph->ops[v].input_count; k++) {
			uint32_t t = graph->ops[v].inputs[k], kind = graph->tensors[t].kind;

			if (reading->last[t] == v)
				continue;
			reading->last[t] = v;
			reading->uses[t]++;
			if (reading->writer[t] != NPUMEM_NONE)
				reading->waiting[v]++;
			else if (kind != NPUMEM_TENSOR_INPUT && kind != NPUMEM_TENSOR_PARAMETER)
				return npuplan_fail(reading->error, -EINVAL,
						    "'%s' reads '%s', which nothing writes",
						    op_label(graph, v, name),
						    npuplan_tensor_label(graph, t, other));
		}
	return 0;
}

/* Per tensor, the operators that read it, each once. */
static int list_readers(struct reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	struct cosma_list *readers = &reading->readers;
	size_t count = 0;

	for (uint32_t t = 0; t < graph->tensor_count; t++)
		count += reading->uses[t];
	if (list_alloc(readers, graph->tensor_count, count))
		return npuplan_fail(reading->error, -ENOMEM, "out of memory");
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		readers->first[t + 1] = readers->first[t] + reading->uses[t];
		reading->last[t] = NPUMEM_NONE;
	}
	/* Filled from the back, so that first[] ends up where it was. */
	for (uint32_t v = graph->op_count; v-- > 0;)
		for (uint32_t k = 0; k < graph->ops[v].input_count; k++) {
			uint32_t t = graph->ops[v].inputs[k];

			if (reading->last[t] == v)
				continue;
			reading->last[t] = v;
			readers->item[--readers->first[t + 1]] = v;
		}
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		readers->first[t] = readers->first[t + 1];
	readers->first[graph->tensor_count] = (uint32_t)count;
	return 0;
}

/* It has run: those that read what it writes wait for one input less. */
static void wake_readers(struct reading *reading, uint32_t v)
{
	const struct npuplan_op *op = &reading->graph->ops[v];

	for (uint32_t k = 0; k < op->output_count; k++)
		cosma_for_each(i, reading->readers, op->outputs[k]) {
			uint32_t u = reading->readers.item[i];

			if (!--reading->waiting[u])
				cosma_set(reading->ready, u);
		}
}

/*
 * The graph's own order if it is one, else the topological order nearest to it:
 * again and again from the first operator to the last, whoever is ready.
 */
static int find_order(struct reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	uint32_t count = 0, words = (graph->op_count + 63) / 64;
	char name[96];
	int err = list_readers(reading);

	if (err)
		return err;
	for (uint32_t v = 0; v < graph->op_count; v++)
		if (!reading->waiting[v])
			cosma_set(reading->ready, v);
	for (bool moved = true; moved;) {
		moved = false;
		for (uint32_t w = 0; w < words; w++) {
			/* Readers further on may get ready meanwhile. */
			for (uint64_t behind = ~0ull; reading->ready[w] & behind;) {
				uint64_t bits = reading->ready[w] & behind;
				uint32_t bit = (uint32_t)__builtin_ctzll(bits), v = w * 64 + bit;

				behind = bit == 63 ? 0 : ~0ull << (bit + 1);
				reading->ready[w] &= ~(1ull << bit);
				reading->waiting[v] = NPUMEM_NONE;
				reading->order[count++] = v;
				wake_readers(reading, v);
				moved = true;
			}
		}
	}
	for (uint32_t v = 0; v < graph->op_count; v++)
		if (reading->waiting[v] != NPUMEM_NONE)
			return npuplan_fail(reading->error, -EINVAL,
					    "'%s' is on a cycle, or behind one",
					    op_label(graph, v, name));
	return 0;
}

static bool is_external(const struct reading *reading, uint32_t t)
{
	return reading->graph->tensors[t].flags & NPUMEM_TENSOR_EXTERNAL;
}

/* Whether the tensor is searched for a place of its own. */
static bool is_placed(const struct reading *reading, uint32_t t)
{
	uint32_t kind = reading->graph->tensors[t].kind;

	if (is_external(reading, t))
		return false;
	if (kind == NPUMEM_TENSOR_PARAMETER)
		return reading->options->with_parameters && reading->uses[t] > 1;
	return kind != NPUMEM_TENSOR_INPUT || reading->uses[t];
}

static int check_sizes(struct reading *reading)
{
	uint64_t sum = 0;

	for (uint32_t t = 0; t < reading->graph->tensor_count; t++) {
		uint64_t bytes = reading->graph->tensors[t].size;

		if (__builtin_mul_overflow(bytes, reading->uses[t] + 2ull, &bytes) ||
		    __builtin_add_overflow(sum, bytes, &sum) || sum > MAX_TRAFFIC)
			return npuplan_fail(reading->error, -EINVAL,
					    "sizes up to tensor %u, times their uses, exceed 2^60",
					    t);
	}
	return 0;
}

/* The operator's first output may take its first input's bytes, as tilers have it. */
static uint32_t taker_of_op(const struct reading *reading, uint32_t op, uint32_t input)
{
	const struct npuplan_op *o = &reading->graph->ops[op];
	uint32_t output = o->output_count ? o->outputs[0] : NPUMEM_NONE;

	if (!o->attrs.inplace || output == NPUMEM_NONE || o->inputs[0] != input ||
	    reading->graph->tensors[input].kind == NPUMEM_TENSOR_PARAMETER)
		return NPUMEM_NONE;
	return output;
}

/* Tensor of the model that may take what operator @op reads of tensor @input. */
static uint32_t find_taker(const struct reading *reading, uint32_t op, uint32_t input)
{
	const struct npuplan_cosma_options *options = reading->options;
	uint32_t output = NPUMEM_NONE, low = 0, high = options->takeover_count;

	if (options->out_of_place)
		return NPUMEM_NONE;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (options->takeovers[middle].op < op)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < options->takeover_count && options->takeovers[low].op == op; low++)
		if (options->takeovers[low].input == input)
			output = options->takeovers[low].output;
	if (!options->takeovers)
		output = taker_of_op(reading, op, input);
	if (output == NPUMEM_NONE ||
	    reading->graph->tensors[output].size != reading->graph->tensors[input].size)
		return NPUMEM_NONE;
	return reading->model_of[output];
}

static void fill_op(struct cosma_model *model, struct reading *reading, uint32_t v, uint32_t *in,
		    uint32_t *out)
{
	const struct npuplan_op *op = &reading->graph->ops[reading->order[v]];

	model->op_of[v] = reading->order[v];
	model->staged[v] = reading->options->staged && reading->options->staged[model->op_of[v]];
	for (uint32_t k = 0; k < op->input_count; k++) {
		uint32_t t = op->inputs[k], x = reading->model_of[t];
		bool again = false;

		for (uint32_t j = 0; j < k && !again; j++)
			again = op->inputs[j] == t;
		if (again)
			continue;
		if (x != NPUMEM_NONE) {
			model->taker[*in] = find_taker(reading, model->op_of[v], t);
			model->inputs.item[(*in)++] = x;
		} else if (reading->options->with_parameters && !is_external(reading, t))
			model->work[v] += reading->graph->tensors[t].size;
	}
	for (uint32_t k = 0; k < op->output_count; k++)
		if (!is_external(reading, op->outputs[k]))
			model->outputs.item[(*out)++] = reading->model_of[op->outputs[k]];
	model->inputs.first[v + 1] = *in;
	model->outputs.first[v + 1] = *out;
}

/* Per operator of the model, those that write what it reads outside. */
static int list_external(const struct cosma_model *model, const struct reading *reading,
			 struct cosma_list *external, size_t inputs)
{
	const struct npuplan_graph *graph = reading->graph;
	uint32_t *place = malloc(((size_t)model->op_count + 1) * sizeof(*place)), count = 0;

	if (!place || list_alloc(external, model->op_count, inputs)) {
		free(place);
		return -ENOMEM;
	}
	for (uint32_t v = 0; v < model->op_count; v++)
		place[model->op_of[v]] = v;
	for (uint32_t v = 0; v < model->op_count; v++) {
		const struct npuplan_op *op = &graph->ops[model->op_of[v]];

		for (uint32_t k = 0; k < op->input_count; k++) {
			uint32_t writer = reading->writer[op->inputs[k]];

			if (is_external(reading, op->inputs[k]) && writer != NPUMEM_NONE)
				external->item[count++] = place[writer];
		}
		external->first[v + 1] = count;
	}
	free(place);
	return 0;
}

static uint8_t input_flags(const struct reading *reading, uint32_t t)
{
	if (reading->options->inputs_flagged)
		return reading->graph->tensors[t].flags & NPUMEM_TENSOR_HOST ? COSMA_HOST :
									       COSMA_ENTRY;
	return COSMA_HOST | (reading->options->inputs_resident ? COSMA_ENTRY : 0);
}

static int fill_model(struct cosma_model *model, struct reading *reading)
{
	struct cosma_list external = { 0 };
	int err;

	const struct npuplan_graph *graph = reading->graph;
	size_t inputs = 0, outputs = 0;
	uint32_t in = 0, out = 0;

	for (uint32_t v = 0; v < graph->op_count; v++) {
		inputs += graph->ops[v].input_count;
		outputs += graph->ops[v].output_count;
	}
	if (model_alloc(model, graph->op_count, graph->tensor_count, inputs, outputs))
		return -ENOMEM;
	model->op_count = graph->op_count;
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		uint32_t kind = graph->tensors[t].kind, x = model->tensor_count;

		if (!is_placed(reading, t) ||
		    (!reading->uses[t] && reading->writer[t] == NPUMEM_NONE))
			continue;
		reading->model_of[t] = x;
		model->tensor_of[x] = t;
		model->size[x] = (int64_t)graph->tensors[t].size;
		if (kind == NPUMEM_TENSOR_OUTPUT)
			model->flags[x] = COSMA_OUTPUT;
		else if (kind == NPUMEM_TENSOR_PARAMETER)
			model->flags[x] = COSMA_HOST;
		else if (kind == NPUMEM_TENSOR_INPUT)
			model->flags[x] = input_flags(reading, t);
		model->tensor_count++;
	}
	for (uint32_t v = 0; v < graph->op_count; v++)
		fill_op(model, reading, v, &in, &out);
	derive_lists(model);
	err = list_external(model, reading, &external, inputs);
	if (!err && (derive_before(model, &external) || derive_after(model)))
		err = -ENOMEM;
	free(external.first);
	free(external.item);
	if (err)
		return err;
	derive_ancestors(model);
	cosma_model_chains(model);
	return 0;
}

int cosma_model_init(struct cosma_model *model, const struct npuplan_graph *graph,
		     const struct npuplan_cosma_options *options, struct npuplan_error *error)
{
	size_t tensors = (size_t)graph->tensor_count + 1, ops = (size_t)graph->op_count + 1;
	struct reading reading = {
		.graph = graph,
		.options = options,
		.error = error,
		.writer = calloc(tensors, sizeof(uint32_t)),
		.uses = calloc(tensors, sizeof(uint32_t)),
		.last = calloc(tensors, sizeof(uint32_t)),
		.model_of = calloc(tensors, sizeof(uint32_t)),
		.order = calloc(ops, sizeof(uint32_t)),
		.waiting = calloc(ops, sizeof(uint32_t)),
		.ready = calloc(ops / 64 + 1, sizeof(uint64_t)),
	};
	int err = 0;

	memset(model, 0, sizeof(*model));
	if (!reading.writer || !reading.uses || !reading.last || !reading.model_of ||
	    !reading.order || !reading.waiting || !reading.ready)
		err = npuplan_fail(error, -ENOMEM, "out of memory");
	if (!err && !graph->op_count)
		err = npuplan_fail(error, -EINVAL, "the graph has no operators");
	for (uint32_t t = 0; t < graph->tensor_count && !err; t++)
		err = check_tensor(&reading, t);
	err = err ? err : count_uses(&reading);
	err = err ? err : check_sizes(&reading);
	err = err ? err : find_order(&reading);
	if (!err && fill_model(model, &reading))
		err = npuplan_fail(error, -ENOMEM, "out of memory");
	free(reading.writer);
	free(reading.uses);
	free(reading.last);
	free(reading.model_of);
	free(reading.order);
	free(reading.waiting);
	free(reading.ready);
	free(reading.readers.first);
	free(reading.readers.item);
	if (err)
		cosma_model_fini(model);
	return err;
}

/* ------------------------------------------------------------ part of a model */

static uint32_t part_tensor(struct cosma_model *part, const struct cosma_model *whole, uint32_t x,
			    uint32_t *part_of)
{
	if (part_of[x] == NPUMEM_NONE) {
		part_of[x] = part->tensor_count;
		part->tensor_of[part->tensor_count] = x;
		part->size[part->tensor_count] = whole->size[x];
		part->flags[part->tensor_count++] = whole->flags[x];
	}
	return part_of[x];
}

/*
 * An operator's outputs that are no tensors of the part, and what they may take. An
 * input of the part may leave with it, so such bytes count only if they have to.
 */
static int64_t outside_outputs(const struct cosma_model *whole, uint32_t v, const bool *keep)
{
	int64_t bytes = 0;

	/* While it loads they are not there yet. */
	if (whole->staged[v])
		return 0;
	cosma_for_each(k, whole->outputs, v)
		if (!keep[whole->outputs.item[k]])
			bytes += whole->size[whole->outputs.item[k]];
	cosma_for_each(k, whole->inputs, v)
		if (whole->taker[k] != NPUMEM_NONE &&
		    !(keep[whole->inputs.item[k]] && keep[whole->taker[k]]))
			bytes -= whole->size[whole->taker[k]];
	return bytes;
}

static int part_order(struct cosma_model *part, const struct cosma_model *whole)
{
	struct cosma_list *before = &part->before;
	uint32_t count = 0;

	before->first = calloc((size_t)part->op_count + 1, sizeof(*before->first));
	if (!before->first)
		return -ENOMEM;
	for (uint32_t v = 0; v < part->op_count; v++) {
		uint64_t *row = part->ancestors + (size_t)v * part->words;

		for (uint32_t u = 0; u < v; u++)
			if (cosma_before(whole, part->op_of[u], part->op_of[v]))
				cosma_set(row, u);
		for (uint32_t u = v; u-- > 0;) {
			bool implied = !cosma_bit(row, u);

			/* Only those that no other one implies. */
			for (uint32_t k = before->first[v]; k < count && !implied; k++)
				implied = cosma_before(part, u, before->item[k]);
			if (implied)
				continue;
			if (npuplan_grow(&before->item, count, sizeof(*before->item)))
				return -ENOMEM;
			before->item[count++] = u;
		}
		before->first[v + 1] = count;
	}
	return derive_after(part);
}

int cosma_model_part(struct cosma_model *part, const struct cosma_model *whole, const uint32_t *ops,
		     uint32_t op_count, const bool *keep)
{
	uint32_t *part_of = malloc(((size_t)whole->tensor_count + 1) * sizeof(*part_of));
	uint32_t in = 0, out = 0;
	size_t inputs = 0, outputs = 0;
	int err;

	for (uint32_t i = 0; i < op_count; i++) {
		inputs += whole->inputs.first[ops[i] + 1] - whole->inputs.first[ops[i]];
		outputs += whole->outputs.first[ops[i] + 1] - whole->outputs.first[ops[i]];
	}
	err = model_alloc(part, op_count, (uint32_t)(inputs + outputs), inputs, outputs);
	if (!part_of || err) {
		free(part_of);
		cosma_model_fini(part);
		return -ENOMEM;
	}
	for (uint32_t x = 0; x < whole->tensor_count; x++)
		part_of[x] = NPUMEM_NONE;
	part->op_count = op_count;
	for (uint32_t i = 0; i < op_count; i++) {
		uint32_t v = ops[i];

		part->op_of[i] = v;
		part->work[i] = whole->work[v];
		part->staged[i] = whole->staged[v];
		cosma_for_each(k, whole->inputs, v) {
			uint32_t x = whole->inputs.item[k], y = whole->taker[k];

			if (keep && !keep[x]) {
				part->work[i] += whole->size[x];
				continue;
			}
			part->inputs.item[in] = part_tensor(part, whole, x, part_of);
			part->taker[in++] = y != NPUMEM_NONE && (!keep || keep[y]) ?
						    part_tensor(part, whole, y, part_of) :
						    NPUMEM_NONE;
		}
		cosma_for_each(k, whole->outputs, v) {
			uint32_t x = whole->outputs.item[k];

			if (!keep || keep[x])
				part->outputs.item[out++] = part_tensor(part, whole, x, part_of);
		}
		if (keep)
			part->work[i] += outside_outputs(whole, v, keep);
		part->inputs.first[i + 1] = in;
		part->outputs.first[i + 1] = out;
	}
	derive_lists(part);
	for (uint32_t x = 0; x < part->tensor_count; x++) {
		if (part->producer[x] != NPUMEM_NONE ||
		    whole->producer[part->tensor_of[x]] == NPUMEM_NONE)
			continue;
		part->flags[x] |= COSMA_ENTRY;
		if (part->flags[x] & COSMA_OUTPUT)
			part->flags[x] |= COSMA_HOST;
	}
	err = part_order(part, whole);
	free(part_of);
	if (err)
		cosma_model_fini(part);
	else
		cosma_model_chains(part);
	return err;
}
