// SPDX-License-Identifier: MIT
/* Which tensors there are, at which timesteps they can be of use, and their columns. */
#include <stdlib.h>

#include "encode.h"

static int64_t common(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static int64_t alignment(const struct ilp_source *source, uint32_t t)
{
	int64_t own = t == NPUMEM_NONE ? 1 : source->graph->tensors[t].align;

	return source->options->common.alignment > own ? source->options->common.alignment : own;
}

/* A whole number of units is what every size is, and if need be every alignment. */
static void find_unit(struct ilp_encoding *encoding)
{
	const struct ilp_source *source = &encoding->source;
	bool aligned = true;

	encoding->unit = 0;
	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		encoding->unit = common(encoding->unit, encoding->tensor[a].size);
	if (!encoding->unit)
		encoding->unit = 1;
	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		aligned &= !(encoding->unit % alignment(source, encoding->tensor[a].graph));
	for (uint32_t a = 0; a < encoding->tensor_count && !aligned; a++)
		encoding->unit =
			common(encoding->unit, alignment(source, encoding->tensor[a].graph));
	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		struct ilp_tensor *tensor = &encoding->tensor[a];

		tensor->size /= encoding->unit;
		tensor->step = aligned ? 1 : alignment(source, tensor->graph) / encoding->unit;
	}
	encoding->budget = (int64_t)source->options->common.arena_budget / encoding->unit;
}

/* Timesteps between those that must run before and those that must run behind. */
static int find_range(struct ilp_encoding *encoding)
{
	const struct cosma_model *model = encoding->source.model;
	const uint32_t *rank = encoding->source.rank;
	uint32_t n = model->op_count;

	encoding->early = calloc((size_t)n + 1, sizeof(*encoding->early));
	encoding->late = calloc((size_t)n + 1, sizeof(*encoding->late));
	encoding->output = calloc((size_t)n + 1, sizeof(*encoding->output));
	if (!encoding->early || !encoding->late || !encoding->output)
		return -ENOMEM;
	for (uint32_t v = 0; v < n; v++) {
		encoding->early[v] = 1;
		encoding->late[v] = n;
	}
	for (uint32_t v = 0; v < n; v++)
		for (uint32_t u = 0; u < v; u++)
			if (cosma_before(model, u, v)) {
				encoding->early[v]++;
				encoding->late[u]--;
			}
	for (uint32_t v = 0; v < n && rank; v++) {
		encoding->early[v] = rank[v] + 1;
		encoding->late[v] = rank[v] + 1;
	}
	return 0;
}

static int add_tensor(struct ilp_encoding *encoding, struct ilp_tensor tensor)
{
	if (npuplan_grow(&encoding->tensor, encoding->tensor_count, sizeof(*encoding->tensor)))
		return -ENOMEM;
	encoding->tensor[encoding->tensor_count++] = tensor;
	return 0;
}

static int add_own(struct ilp_encoding *encoding, uint32_t x)
{
	const struct ilp_source *source = &encoding->source;
	const struct cosma_model *model = source->model;
	struct ilp_tensor tensor = {
		.x = x,
		.graph = source->whole ? source->whole->tensor_of[model->tensor_of[x]] :
					 model->tensor_of[x],
		.producer = model->producer[x],
		.source = NPUMEM_NONE,
		.size = model->size[x],
		.host = model->flags[x] & (COSMA_HOST | COSMA_OUTPUT),
		.charged = source->charged && source->charged[x],
	};

	if (tensor.producer != NPUMEM_NONE) {
		tensor.first = encoding->early[tensor.producer];
		tensor.created = encoding->late[tensor.producer];
		tensor.last = tensor.created;
	} else if (!(model->flags[x] & COSMA_ENTRY)) {
		tensor.first = UINT32_MAX;
		tensor.created = UINT32_MAX;
	}
	cosma_for_each(k, model->consumers, x) {
		uint32_t user = model->consumers.item[k];

		if (encoding->late[user] > tensor.last)
			tensor.last = encoding->late[user];
		/* Whoever needs it first needs it then at the latest. */
		if (encoding->early[user] < tensor.first)
			tensor.first = encoding->early[user];
		if (encoding->late[user] < tensor.created && tensor.first &&
		    tensor.producer == NPUMEM_NONE)
			tensor.created = encoding->late[user];
	}
	return add_tensor(encoding, tensor);
}

/* Parameters that only operator @v uses: there while it runs. */
static int add_parameters(struct ilp_encoding *encoding, uint32_t v)
{
	const struct ilp_source *source = &encoding->source;
	const struct cosma_model *model = source->model;
	const struct npuplan_op *op = &source->graph->ops[ilp_graph_op(source, v)];
	int err = 0;

	for (uint32_t k = 0; k < op->input_count && model->work[v] && !err; k++) {
		uint32_t t = op->inputs[k];
		bool known = source->graph->tensors[t].kind != NPUMEM_TENSOR_PARAMETER ||
			     source->graph->tensors[t].flags & NPUMEM_TENSOR_EXTERNAL;

		for (uint32_t j = 0; j < k && !known; j++)
			known = op->inputs[j] == t;
		cosma_for_each(j, model->inputs, v)
			known |= encoding->tensor[model->inputs.item[j]].graph == t;
		if (!known)
			err = add_tensor(encoding,
					 (struct ilp_tensor){
						 .x = NPUMEM_NONE,
						 .graph = t,
						 .producer = v,
						 .source = NPUMEM_NONE,
						 .size = (int64_t)source->graph->tensors[t].size,
						 .first = encoding->early[v],
						 .created = encoding->late[v],
						 .last = encoding->late[v],
					 });
	}
	return err;
}

/*
 * What tells when an operator runs: its first output. Where all of them are outside, one of
 * no bytes takes their place.
 */
static int find_output(struct ilp_encoding *encoding, uint32_t v)
{
	const struct cosma_model *model = encoding->source.model;

	encoding->output[v] = encoding->tensor_count;
	if (model->outputs.first[v] == model->outputs.first[v + 1])
		return add_tensor(encoding, (struct ilp_tensor){
						    .x = NPUMEM_NONE,
						    .graph = NPUMEM_NONE,
						    .producer = v,
						    .source = NPUMEM_NONE,
						    .first = encoding->early[v],
						    .created = encoding->late[v],
						    .last = encoding->late[v],
					    });
	encoding->output[v] = model->outputs.item[model->outputs.first[v]];
	return 0;
}

static void add_columns(struct ilp_encoding *encoding, uint32_t a)
{
	const struct ilp_tensor *tensor = &encoding->tensor[a];
	const struct cosma_model *model = encoding->source.model;
	bool used = tensor->x != NPUMEM_NONE &&
		    model->consumers.first[tensor->x] != model->consumers.first[tensor->x + 1];

	for (uint32_t t = tensor->first; t <= tensor->last; t++) {
		size_t at = ilp_at(encoding, a, t);
		struct ilp_name name = { "C", a, ILP_NONE, t };

		if (t <= tensor->created)
			encoding->c[at] = ilp_column(&encoding->program, name, 1, true);
		name.kind = "T";
		if (t <= tensor->created && tensor->source != NPUMEM_NONE && tensor->size)
			encoding->t[at] = ilp_column(&encoding->program, name, 1, true);
		if (t == tensor->first || !used)
			continue;
		name.kind = "P";
		encoding->p[at] = ilp_column(&encoding->program, name, 1, true);
		name.kind = "R";
		encoding->r[at] = ilp_column(&encoding->program, name, 1, true);
		name.kind = "S";
		if (!tensor->host)
			encoding->s[at] = ilp_column(&encoding->program, name, 1, true);
	}
}

int ilp_make_columns(struct ilp_encoding *encoding)
{
	uint32_t **columns[] = { &encoding->c, &encoding->p, &encoding->s,
				 &encoding->r, &encoding->l, &encoding->t };
	size_t count = (size_t)encoding->tensor_count * encoding->steps;

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		*columns[i] = malloc((count + 1) * sizeof(uint32_t));
		if (!*columns[i])
			return -ENOMEM;
		for (size_t at = 0; at < count; at++)
			(*columns[i])[at] = ILP_NONE;
	}
	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		add_columns(encoding, a);
	return encoding->program.failed ? -ENOMEM : 0;
}

int ilp_lifetimes(struct ilp_encoding *encoding)
{
	const struct cosma_model *model = encoding->source.model;
	int err = find_range(encoding);

	encoding->steps = model->op_count + 1;
	for (uint32_t x = 0; x < model->tensor_count && !err; x++)
		err = add_own(encoding, x);
	for (uint32_t v = 0; v < model->op_count && !err; v++)
		cosma_for_each(k, model->inputs, v)
			if (model->taker[k] != NPUMEM_NONE)
				encoding->tensor[model->taker[k]].source = model->inputs.item[k];
	for (uint32_t v = 0; v < model->op_count && !err; v++)
		err = add_parameters(encoding, v);
	for (uint32_t v = 0; v < model->op_count && !err; v++)
		err = find_output(encoding, v);
	if (err)
		return err;
	find_unit(encoding);
	return 0;
}

/* Whether operator @v is behind all that make or use tensor @a. */
static bool behind(const struct ilp_encoding *encoding, uint32_t v, uint32_t a)
{
	const struct cosma_model *model = encoding->source.model;
	const struct ilp_tensor *tensor = &encoding->tensor[a];

	if (tensor->producer != NPUMEM_NONE && !cosma_before(model, tensor->producer, v))
		return false;
	for (uint32_t k = tensor->x == NPUMEM_NONE ? 0 : model->consumers.first[tensor->x];
	     tensor->x != NPUMEM_NONE && k < model->consumers.first[tensor->x + 1]; k++)
		if (!cosma_before(model, model->consumers.item[k], v))
			return false;
	return true;
}

/*
 * Not if one is dead in every order when the other one comes. A solution that keeps a
 * dead tensor is none the worse: it is gone when the solution is read.
 */
bool ilp_may_meet(const struct ilp_encoding *encoding, uint32_t a, uint32_t b)
{
	uint32_t made_a = encoding->tensor[a].producer, made_b = encoding->tensor[b].producer;

	if (made_b != NPUMEM_NONE && behind(encoding, made_b, a))
		return false;
	return made_a == NPUMEM_NONE || !behind(encoding, made_a, b);
}
