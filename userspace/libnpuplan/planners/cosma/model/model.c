// SPDX-License-Identifier: MIT
/* This file makes the model that COSMA searches from a graph, and parts of models. */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "model.h"

/* Limit of sizes times uses, with which costs and their sums stay far from overflow. */
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

bool cosma_is_own_parameter(const struct cosma_model *model, const struct npuplan_graph *graph,
			    uint32_t v, uint32_t k)
{
	const struct npuplan_op *op = &graph->ops[model->op_of[v]];
	const struct npuplan_tensor *tensor = &graph->tensors[op->inputs[k]];
	bool own = model->workspace[v] && tensor->kind == NPUMEM_TENSOR_PARAMETER &&
		   !(tensor->flags & NPUMEM_TENSOR_FLAG_EXTERNAL);

	/* If an operator names it twice, the first one counts. */
	for (uint32_t j = 0; j < k && own; j++)
		own = op->inputs[j] != op->inputs[k];
	cosma_for_each(j, model->inputs, v)
		own = own && model->tensor_of[model->inputs.item[j]] != op->inputs[k];
	return own;
}

void cosma_model_fini(struct cosma_model *model)
{
	npuplan_pool_free(&model->pool);
	npuplan_free(model->before.item);
	memset(model, 0, sizeof(*model));
}

static void list_take(struct cosma_list *list, struct npuplan_pool *pool, size_t count,
		      size_t items)
{
	list->first = npuplan_pool_take(pool, count + 2, sizeof(*list->first));
	/*
	 * There is room for one more, since an operator's first output is looked at even if it has
	 * none.
	 */
	list->item = npuplan_pool_take(pool, items + 1, sizeof(*list->item));
}

int cosma_list_invert(struct cosma_list *list, struct npuplan_pool *pool, uint32_t numbers,
		      const struct cosma_list *of, uint32_t count)
{
	uint32_t entries = of->first[count];
	AUTO_HEAP uint32_t *owner = npuplan_malloc(((size_t)entries + 1) * sizeof(*owner));

	list_take(list, pool, numbers, entries);
	if (pool->failed || !owner)
		return -ENOMEM;
	npuplan_counting_sort(of->item, entries, sizeof(*of->item), 0, numbers, list->first,
			      list->item);
	for (uint32_t i = 0; i < count; i++)
		cosma_for_each(k, *of, i)
			owner[k] = i;
	for (uint32_t k = 0; k < entries; k++)
		list->item[k] = owner[list->item[k]];
	return 0;
}

/* Makes arrays for so many operators, tensors, inputs and outputs. */
static int model_alloc(struct cosma_model *model, uint32_t ops, uint32_t tensors, size_t inputs,
		       size_t outputs)
{
	struct npuplan_pool *pool = &model->pool;

	memset(model, 0, sizeof(*model));
	model->op_count = ops;
	model->words = (ops + 63) / 64;
	model->size = npuplan_pool_take(pool, tensors, sizeof(*model->size));
	model->flags = npuplan_pool_take(pool, tensors, sizeof(*model->flags));
	model->producer = npuplan_pool_take(pool, tensors, sizeof(*model->producer));
	model->tensor_of = npuplan_pool_take(pool, tensors, sizeof(*model->tensor_of));
	model->closing = npuplan_pool_take(pool, tensors, sizeof(*model->closing));
	model->op_of = npuplan_pool_take(pool, ops, sizeof(*model->op_of));
	model->rank = npuplan_pool_take(pool, ops, sizeof(*model->rank));
	model->follower = npuplan_pool_take(pool, ops, sizeof(*model->follower));
	model->leader = npuplan_pool_take(pool, ops, sizeof(*model->leader));
	model->workspace = npuplan_pool_take(pool, ops, sizeof(*model->workspace));
	model->need = npuplan_pool_take(pool, ops, sizeof(*model->need));
	model->born = npuplan_pool_take(pool, ops, sizeof(*model->born));
	model->staged = npuplan_pool_take(pool, ops, sizeof(*model->staged));
	model->taker = npuplan_pool_take(pool, inputs, sizeof(*model->taker));
	model->bound = npuplan_pool_take(pool, inputs, sizeof(*model->bound));
	list_take(&model->inputs, pool, ops, inputs);
	list_take(&model->outputs, pool, ops, outputs);
	model->before.first = npuplan_pool_take(pool, (size_t)ops + 1, sizeof(uint32_t));
	model->part_of = npuplan_pool_take(pool, tensors, sizeof(*model->part_of));
	for (uint32_t x = 0; x < tensors && !pool->failed; x++)
		model->part_of[x] = NPUMEM_NONE;
	return pool->failed ? -ENOMEM : 0;
}

/*
 * Returns the bytes that operator @v needs while it loads, or while it stores and all that may
 * leave have left: whichever are more.
 */
static int64_t derive_need(const struct cosma_model *model, uint32_t v)
{
	int64_t loads = model->workspace[v], stores = model->staged[v] ? 0 : model->workspace[v];

	cosma_for_each(k, model->inputs, v) {
		int64_t size = model->size[model->inputs.item[k]];

		loads += size;
		stores += cosma_makes_room(model, v, k) ? 0 : size;
	}
	cosma_for_each(k, model->outputs, v)
		stores += model->size[model->outputs.item[k]];
	return loads > stores ? loads : stores;
}

/* Derives consumers, producers, need and born from inputs and outputs. */
static int derive_lists(struct cosma_model *model)
{
	for (uint32_t x = 0; x < model->tensor_count; x++)
		model->producer[x] = NPUMEM_NONE;
	for (uint32_t v = 0; v < model->op_count; v++) {
		model->need[v] = derive_need(model, v);
		cosma_for_each(k, model->outputs, v)
			model->producer[model->outputs.item[k]] = v;
	}
	if (cosma_list_invert(&model->consumers, &model->pool, model->tensor_count, &model->inputs,
			      model->op_count))
		return -ENOMEM;
	for (uint32_t v = 0; v < model->op_count; v++)
		cosma_for_each(k, model->outputs, v)
			if (cosma_users(model, model->outputs.item[k]))
				model->born[v] += model->size[model->outputs.item[k]];
	return 0;
}

/*
 * Adds an operator that has to run directly before @v, whose list is the last one, unless it is
 * there.
 */
static int add_before(struct cosma_list *before, uint32_t v, uint32_t from)
{
	if (cosma_listed(before, v, from))
		return 0;
	return npuplan_append(&before->item, &before->first[v + 1], &from, 1);
}

static int derive_after(struct cosma_model *model)
{
	return cosma_list_invert(&model->after, &model->pool, model->op_count, &model->before,
				 model->op_count);
}

/* Makes room for the sets of ancestors, which are empty. */
static int take_ancestors(struct cosma_model *model)
{
	model->ancestors = npuplan_pool_take(&model->pool, (size_t)model->op_count * model->words,
					     sizeof(*model->ancestors));
	return model->ancestors ? 0 : -ENOMEM;
}

/* Adds @from, which runs directly before @v, and what runs before that, to @v's ancestors. */
static void add_ancestors(struct cosma_model *model, uint32_t v, uint32_t from)
{
	const uint64_t *other = cosma_ancestors(model, from);
	uint64_t *row = cosma_ancestors(model, v);

	/* Numbers are a topological order: no ancestor has a greater one. */
	for (uint32_t w = 0; w <= from / 64; w++)
		row[w] |= other[w];
	npuplan_set_add(row, from);
}

int cosma_model_relate(struct cosma_model *model)
{
	if (model->ancestors)
		return 0;
	if (take_ancestors(model))
		return -ENOMEM;
	for (uint32_t v = 0; v < model->op_count; v++)
		cosma_for_each(k, model->before, v)
			add_ancestors(model, v, model->before.item[k]);
	cosma_model_chains(model);
	return 0;
}

/* -------------------------------------------------------------- from a graph */

/*
 * struct graph_reading - what reading a graph needs besides the model
 * @pool: of all arrays
 * @writer: per tensor of the graph, the operator that writes it, or NPUMEM_NONE
 * @model_of: per tensor of the graph, its number in the model, or NPUMEM_NONE
 * @order: the graph's operators as the model numbers them
 * @waiting: per operator of the graph, inputs that are not produced yet
 * @ready: set of operators that wait for no input, and have not run
 * @reads: per operator, the distinct tensors that it reads
 * @readers: per tensor, the operators that read it
 * @earlier: per operator, those that the caller's pairs have run before it
 * @later: per operator, those that they have run after it
 */
struct graph_reading {
	const struct npuplan_graph *graph;
	const struct cosma_settings *options;
	struct npuplan_error *error;
	struct npuplan_pool pool;
	uint32_t *writer;
	uint32_t *model_of;
	uint32_t *order;
	uint32_t *waiting;
	uint64_t *ready;
	struct cosma_list reads;
	struct cosma_list readers;
	struct cosma_list earlier;
	struct cosma_list later;
};

static const char *op_label(const struct npuplan_graph *graph, uint32_t op, char text[96])
{
	if (graph->ops[op].name[0])
		snprintf(text, 96, "%s", graph->ops[op].name);
	else
		snprintf(text, 96, "operator %u", op);
	return text;
}

static int check_tensor(struct graph_reading *reading, uint32_t i)
{
	const struct npuplan_tensor *tensor = &reading->graph->tensors[i];
	bool alias = tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS;
	char text[96];

	if (alias || tensor->kind == NPUMEM_TENSOR_STATE)
		return npuplan_fail(reading->error, -EOPNOTSUPP, "tensor '%s': cosma plans no %s",
				    npuplan_tensor_label(reading->graph, i, text),
				    alias ? "aliases" : "state");
	if (tensor->flags & NPUMEM_TENSOR_FLAG_FIXED && tensor->fixed_offset > MAX_TRAFFIC)
		return npuplan_fail(reading->error, -EINVAL,
				    "tensor '%s': fixed offset %llu is beyond 2^60",
				    npuplan_tensor_label(reading->graph, i, text),
				    (unsigned long long)tensor->fixed_offset);
	return 0;
}

/* Lists the operator that writes each tensor. */
static int list_writers(struct graph_reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	char name[96], other[96];

	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		reading->writer[i] = NPUMEM_NONE;
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
	return 0;
}

/* Lists what each operator reads, once each: an operator may list a tensor several times. */
static int list_reads(struct graph_reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	struct cosma_list *reads = &reading->reads;
	char name[96], other[96];

	for (uint32_t v = 0; v < graph->op_count; v++) {
		reads->first[v + 1] = reads->first[v];
		for (uint32_t k = 0; k < graph->ops[v].input_count; k++) {
			uint32_t t = graph->ops[v].inputs[k], kind = graph->tensors[t].kind;

			if (cosma_listed(reads, v, t))
				continue;
			reads->item[reads->first[v + 1]++] = t;
			if (reading->writer[t] != NPUMEM_NONE)
				reading->waiting[v]++;
			else if (kind != NPUMEM_TENSOR_INPUT && kind != NPUMEM_TENSOR_PARAMETER)
				return npuplan_fail(reading->error, -EINVAL,
						    "'%s' reads '%s', which nothing writes",
						    op_label(graph, v, name),
						    npuplan_tensor_label(graph, t, other));
		}
	}
	return cosma_list_invert(&reading->readers, &reading->pool, graph->tensor_count, reads,
				 graph->op_count);
}

/* Lists the pairs of operators whose order the caller has given. */
static int list_pairs(struct graph_reading *reading)
{
	const struct cosma_settings *options = reading->options;
	struct cosma_list *earlier = &reading->earlier;
	uint32_t n = reading->graph->op_count;

	list_take(earlier, &reading->pool, n, options->pair_count);
	if (reading->pool.failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < options->pair_count; i++) {
		earlier->first[options->pairs[i].after + 1]++;
		reading->waiting[options->pairs[i].after]++;
	}
	for (uint32_t v = 0; v < n; v++)
		earlier->first[v + 1] += earlier->first[v];
	/* Each list is filled from its end. */
	for (uint32_t i = options->pair_count; i-- > 0;)
		earlier->item[--earlier->first[options->pairs[i].after + 1]] =
			options->pairs[i].before;
	for (uint32_t v = 0; v < n; v++)
		earlier->first[v] = earlier->first[v + 1];
	earlier->first[n] = options->pair_count;
	return cosma_list_invert(&reading->later, &reading->pool, n, earlier, n);
}

/* Returns how many operators read the tensor. */
static uint32_t uses_of(const struct graph_reading *reading, uint32_t t)
{
	return reading->readers.first[t + 1] - reading->readers.first[t];
}

/* Operator @v has run: those that read what it writes wait for one input less. */
static void wake_readers(struct graph_reading *reading, uint32_t v)
{
	const struct npuplan_op *op = &reading->graph->ops[v];

	for (uint32_t k = 0; k < op->output_count; k++)
		cosma_for_each(i, reading->readers, op->outputs[k]) {
			uint32_t u = reading->readers.item[i];

			if (!--reading->waiting[u])
				npuplan_set_add(reading->ready, u);
		}
	cosma_for_each(i, reading->later, v)
		if (!--reading->waiting[reading->later.item[i]])
			npuplan_set_add(reading->ready, reading->later.item[i]);
}

/*
 * Finds the graph's own order if it is a topological one, else the nearest to it: again and again
 * from the first operator to the last, each one runs that is ready.
 */
static int find_order(struct graph_reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	uint32_t count = 0, words = (graph->op_count + 63) / 64;
	char name[96];

	for (uint32_t v = 0; v < graph->op_count; v++)
		if (!reading->waiting[v])
			npuplan_set_add(reading->ready, v);
	for (bool moved = true; moved;) {
		moved = false;
		/* Readers further on may get ready meanwhile. */
		npuplan_set_for_each(v, reading->ready, words) {
			npuplan_set_drop(reading->ready, v);
			reading->waiting[v] = NPUMEM_NONE;
			reading->order[count++] = v;
			wake_readers(reading, v);
			moved = true;
		}
	}
	for (uint32_t v = 0; v < graph->op_count; v++)
		if (reading->waiting[v] != NPUMEM_NONE)
			return npuplan_fail(reading->error, -EINVAL,
					    "'%s' is on a cycle, or behind one",
					    op_label(graph, v, name));
	return 0;
}

static bool is_external(const struct graph_reading *reading, uint32_t t)
{
	return reading->graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
}

static int check_sizes(struct graph_reading *reading)
{
	uint64_t sum = 0;

	for (uint32_t t = 0; t < reading->graph->tensor_count; t++) {
		uint64_t bytes = reading->graph->tensors[t].size;

		if (__builtin_mul_overflow(bytes, uses_of(reading, t) + 2ull, &bytes) ||
		    __builtin_add_overflow(sum, bytes, &sum) || sum > MAX_TRAFFIC)
			return npuplan_fail(reading->error, -EINVAL,
					    "sizes up to tensor %u, times their uses, exceed 2^60",
					    t);
	}
	return 0;
}

/*
 * Returns the tensor of the model that may take what operator @op reads of tensor @input, or
 * NPUMEM_NONE. @bound: out: it must
 */
static uint32_t find_taker(const struct graph_reading *reading, uint32_t op, uint32_t input,
			   bool *bound)
{
	const struct cosma_settings *options = reading->options;
	const struct npuplan_cosma_takeover *takeovers = options->takeovers;
	const struct npuplan_tensor *tensors = reading->graph->tensors;
	const struct npuplan_op *o = &reading->graph->ops[op];
	uint32_t output = NPUMEM_NONE, count = options->takeover_count;

	*bound = false;
	if (options->out_of_place)
		return NPUMEM_NONE;
	/* The first output may take the first input's bytes, as tilers have it. */
	if (!takeovers && o->attrs.inplace && o->inputs[0] == input &&
	    tensors[input].kind != NPUMEM_TENSOR_PARAMETER)
		output = o->outputs[0];
	for (size_t i = npuplan_bisect(at, 0, count, takeovers[at].op < op);
	     i < count && takeovers[i].op == op; i++)
		if (takeovers[i].input == input) {
			output = takeovers[i].output;
			*bound = takeovers[i].bound;
		}
	if (output == NPUMEM_NONE || tensors[output].size != tensors[input].size)
		return NPUMEM_NONE;
	return reading->model_of[output];
}

static void fill_op(struct cosma_model *model, const struct graph_reading *reading, uint32_t v)
{
	const struct npuplan_op *op = &reading->graph->ops[reading->order[v]];
	uint32_t in = model->inputs.first[v], out = model->outputs.first[v];

	model->op_of[v] = reading->order[v];
	model->staged[v] = reading->options->staged && reading->options->staged[model->op_of[v]];
	cosma_for_each(k, reading->reads, model->op_of[v]) {
		uint32_t t = reading->reads.item[k], x = reading->model_of[t];

		if (x != NPUMEM_NONE) {
			model->taker[in] =
				find_taker(reading, model->op_of[v], t, &model->bound[in]);
			model->inputs.item[in++] = x;
		} else if (reading->options->with_parameters && !is_external(reading, t)) {
			model->workspace[v] += reading->graph->tensors[t].size;
		}
	}
	for (uint32_t k = 0; k < op->output_count; k++)
		if (!is_external(reading, op->outputs[k]))
			model->outputs.item[out++] = reading->model_of[op->outputs[k]];
	model->inputs.first[v + 1] = in;
	model->outputs.first[v + 1] = out;
}

/*
 * Lists the operators that must run directly before each one: those that write what it reads, on
 * chip or outside, and those of the caller's pairs.
 */
static int derive_before(struct cosma_model *model, struct graph_reading *reading)
{
	uint32_t *number_of =
		npuplan_pool_take(&reading->pool, model->op_count, sizeof(*number_of));
	int err = number_of ? 0 : -ENOMEM;

	for (uint32_t v = 0; v < model->op_count && !err; v++)
		number_of[model->op_of[v]] = v;
	for (uint32_t v = 0; v < model->op_count && !err; v++) {
		model->before.first[v + 1] = model->before.first[v];
		cosma_for_each(k, reading->reads, model->op_of[v]) {
			uint32_t writer = reading->writer[reading->reads.item[k]];

			if (writer != NPUMEM_NONE && !err)
				err = add_before(&model->before, v, number_of[writer]);
		}
		cosma_for_each(k, reading->earlier, model->op_of[v])
			err = err ? err :
				    add_before(&model->before, v,
					       number_of[reading->earlier.item[k]]);
	}
	return err;
}

static uint8_t input_flags(const struct graph_reading *reading, uint32_t t)
{
	if (reading->options->inputs_flagged)
		return reading->graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_HOST ? COSMA_HOST :
										    COSMA_ENTRY;
	return COSMA_HOST | (reading->options->inputs_resident ? COSMA_ENTRY : 0);
}

static int fill_model(struct cosma_model *model, struct graph_reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	size_t inputs = reading->reads.first[graph->op_count], outputs = 0;

	for (uint32_t v = 0; v < graph->op_count; v++)
		outputs += graph->ops[v].output_count;
	if (model_alloc(model, graph->op_count, graph->tensor_count, inputs, outputs))
		return -ENOMEM;
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		uint32_t kind = graph->tensors[t].kind, x = model->tensor_count;
		uint32_t uses = uses_of(reading, t);

		if (is_external(reading, t) || (!uses && reading->writer[t] == NPUMEM_NONE) ||
		    (kind == NPUMEM_TENSOR_PARAMETER &&
		     (uses < 2 || !reading->options->with_parameters)))
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
		fill_op(model, reading, v);
	if (derive_lists(model) || derive_before(model, reading) || derive_after(model))
		return -ENOMEM;
	return 0;
}

static int read_graph(struct cosma_model *model, struct graph_reading *reading)
{
	const struct npuplan_graph *graph = reading->graph;
	size_t inputs = 0;
	int err = 0;

	memset(model, 0, sizeof(*model));
	if (!graph->op_count)
		return npuplan_fail(reading->error, -EINVAL, "the graph has no operators");
	for (uint32_t t = 0; t < graph->tensor_count && !err; t++)
		err = check_tensor(reading, t);
	for (uint32_t v = 0; v < graph->op_count; v++)
		inputs += graph->ops[v].input_count;
	reading->writer = npuplan_pool_take(&reading->pool, graph->tensor_count, sizeof(uint32_t));
	reading->model_of =
		npuplan_pool_take(&reading->pool, graph->tensor_count, sizeof(uint32_t));
	reading->order = npuplan_pool_take(&reading->pool, graph->op_count, sizeof(uint32_t));
	reading->waiting = npuplan_pool_take(&reading->pool, graph->op_count, sizeof(uint32_t));
	reading->ready =
		npuplan_pool_take(&reading->pool, graph->op_count / 64 + 1, sizeof(uint64_t));
	list_take(&reading->reads, &reading->pool, graph->op_count, inputs);
	if (!err && reading->pool.failed)
		err = -ENOMEM;
	err = err ? err : list_writers(reading);
	err = err ? err : list_reads(reading);
	err = err ? err : list_pairs(reading);
	err = err ? err : check_sizes(reading);
	err = err ? err : find_order(reading);
	return err ? err : fill_model(model, reading);
}

int cosma_model_init(struct cosma_model *model, const struct npuplan_graph *graph,
		     const struct cosma_settings *options, struct npuplan_error *error)
{
	struct graph_reading reading = { .graph = graph, .options = options, .error = error };
	int err = read_graph(model, &reading);

	npuplan_pool_free(&reading.pool);
	if (err)
		cosma_model_fini(model);
	return err == -ENOMEM ? npuplan_fail(error, err, "out of memory") : err;
}

/* ------------------------------------------------------------ part of a model */

static uint32_t part_tensor(struct cosma_model *part, const struct cosma_model *whole, uint32_t x)
{
	uint32_t *part_of = whole->part_of;

	if (part_of[x] == NPUMEM_NONE) {
		part_of[x] = part->tensor_count;
		part->tensor_of[part->tensor_count] = x;
		part->size[part->tensor_count] = whole->size[x];
		part->flags[part->tensor_count++] = whole->flags[x];
	}
	return part_of[x];
}

/*
 * Returns the bytes of an operator's outputs that are no tensors of the part, without what these
 * may take. An input of the part may leave with the operator, so that bytes count only if they have
 * to.
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

/* Makes operator @v of the whole operator number @i of the part. */
static void part_op(struct cosma_model *part, const struct cosma_model *whole, uint32_t v,
		    uint32_t i, const bool *keep)
{
	uint32_t in = part->inputs.first[i], out = part->outputs.first[i];

	part->op_of[i] = v;
	part->rank[i] = whole->rank[v];
	part->workspace[i] = whole->workspace[v];
	part->staged[i] = whole->staged[v];
	cosma_for_each(k, whole->inputs, v) {
		uint32_t x = whole->inputs.item[k], y = whole->taker[k];

		if (keep && !keep[x]) {
			part->workspace[i] += whole->size[x];
			continue;
		}
		part->inputs.item[in] = part_tensor(part, whole, x);
		if (keep && y != NPUMEM_NONE && !keep[y])
			y = NPUMEM_NONE;
		part->taker[in] = y != NPUMEM_NONE ? part_tensor(part, whole, y) : NPUMEM_NONE;
		part->bound[in++] = y != NPUMEM_NONE && whole->bound[k];
	}
	cosma_for_each(k, whole->outputs, v) {
		uint32_t x = whole->outputs.item[k];

		if (!keep || keep[x])
			part->outputs.item[out++] = part_tensor(part, whole, x);
	}
	if (keep)
		part->workspace[i] += outside_outputs(whole, v, keep);
	part->inputs.first[i + 1] = in;
	part->outputs.first[i + 1] = out;
}

/*
 * Lists what runs directly before each operator. What is between two operators of the part is in
 * it, so that the whole's lists say all of it, and more: an operator that another one implies is
 * not listed.
 */
static int part_order(struct cosma_model *part, const struct cosma_model *whole)
{
	struct cosma_list *before = &part->before;
	uint32_t base = part->op_of[0];

	if (take_ancestors(part))
		return -ENOMEM;
	for (uint32_t v = 0; v < part->op_count; v++) {
		uint32_t last = v;

		before->first[v + 1] = before->first[v];
		/* The latest come first, since only these imply others. */
		for (;;) {
			uint32_t u = NPUMEM_NONE;

			cosma_for_each(k, whole->before, base + v) {
				uint32_t from = whole->before.item[k];

				if (from >= base && from - base < last &&
				    (u == NPUMEM_NONE || from - base > u))
					u = from - base;
			}
			if (u == NPUMEM_NONE)
				break;
			last = u;
			if (cosma_before(part, u, v))
				continue;
			add_ancestors(part, v, u);
			if (add_before(before, v, u))
				return -ENOMEM;
		}
	}
	return derive_after(part);
}

int cosma_model_part(struct cosma_model *part, const struct cosma_model *whole, const uint32_t *ops,
		     uint32_t op_count, const bool *keep)
{
	size_t inputs = 0, outputs = 0;
	int err;

	for (uint32_t i = 0; i < op_count; i++) {
		inputs += whole->inputs.first[ops[i] + 1] - whole->inputs.first[ops[i]];
		outputs += whole->outputs.first[ops[i] + 1] - whole->outputs.first[ops[i]];
	}
	err = model_alloc(part, op_count, (uint32_t)(inputs + outputs), inputs, outputs);
	for (uint32_t i = 0; i < op_count && !err; i++)
		part_op(part, whole, ops[i], i, keep);
	for (uint32_t x = 0; x < part->tensor_count; x++)
		whole->part_of[part->tensor_of[x]] = NPUMEM_NONE;
	err = err ? err : derive_lists(part);
	for (uint32_t x = 0; x < part->tensor_count && !err; x++) {
		if (part->producer[x] != NPUMEM_NONE ||
		    whole->producer[part->tensor_of[x]] == NPUMEM_NONE)
			continue;
		part->flags[x] |= COSMA_ENTRY;
		if (part->flags[x] & COSMA_OUTPUT)
			part->flags[x] |= COSMA_HOST;
	}
	err = err ? err : part_order(part, whole);
	if (err)
		cosma_model_fini(part);
	else
		cosma_model_chains(part);
	return err;
}
