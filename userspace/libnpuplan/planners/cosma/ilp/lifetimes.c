// SPDX-License-Identifier: MIT
/*
 * This file finds out which tensors the program has, when they can be of use, which columns they
 * have, and how large that makes the program.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"

static uint32_t alignment(const struct ilp_encoding *encoding, uint32_t t)
{
	uint32_t asked = encoding->cosma->options->common.alignment;
	uint32_t own = t == NPUMEM_NONE ? 1 : encoding->cosma->graph->tensors[t].align;

	return asked > own ? asked : own;
}

/* The granule divides every size, and if need be every alignment. */
static void find_unit(struct ilp_encoding *encoding)
{
	bool aligned = true;
	uint64_t granule = 0;

	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		granule = npuplan_gcd(granule, (uint64_t)encoding->tensor[a].size);
	if (!granule)
		granule = 1;
	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		aligned &= !(granule % alignment(encoding, encoding->tensor[a].graph));
	for (uint32_t a = 0; a < encoding->tensor_count && !aligned; a++)
		granule = npuplan_gcd(granule, alignment(encoding, encoding->tensor[a].graph));
	encoding->granule = (int64_t)granule;
	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		struct ilp_tensor *tensor = &encoding->tensor[a];

		tensor->size /= encoding->granule;
		tensor->pitch = aligned ? 1 :
					  alignment(encoding, tensor->graph) / encoding->granule;
	}
	encoding->budget =
		(int64_t)encoding->cosma->options->common.arena_budget / encoding->granule;
}

/*
 * Finds the timesteps at which an operator can run: after all that must run before it, and before
 * all that must run behind it.
 */
static int find_range(struct ilp_encoding *encoding)
{
	const struct cosma_model *model = encoding->model;
	const uint32_t *rank = encoding->cosma->rank;

	encoding->steps = model->op_count + 1;
	encoding->op = npuplan_calloc(encoding->steps, sizeof(*encoding->op));
	if (!encoding->op)
		return -ENOMEM;
	for (uint32_t v = 0; v < model->op_count; v++) {
		encoding->op[v].early = rank ? rank[v] + 1 : 1;
		encoding->op[v].late = rank ? rank[v] + 1 : model->op_count;
	}
	for (uint32_t v = 0; v < model->op_count && !rank; v++)
		for (uint32_t u = 0; u < v; u++)
			if (cosma_before(model, u, v)) {
				encoding->op[v].early++;
				encoding->op[u].late--;
			}
	return 0;
}

static int add_tensor(struct ilp_encoding *encoding, struct ilp_tensor tensor)
{
	return npuplan_append(&encoding->tensor, &encoding->tensor_count, &tensor, 1);
}

/*
 * Operator and tensor of the whole graph's model, for one of @encoding's model, which may be a
 * part.
 */
static uint32_t whole_op(const struct ilp_encoding *encoding, uint32_t v)
{
	return encoding->model == &encoding->cosma->model ? v : encoding->model->op_of[v];
}

static uint32_t whole_tensor(const struct ilp_encoding *encoding, uint32_t x)
{
	return encoding->model == &encoding->cosma->model ? x : encoding->model->tensor_of[x];
}

static int add_own(struct ilp_encoding *encoding, uint32_t x)
{
	const struct cosma_model *model = encoding->model;
	struct ilp_tensor tensor = {
		.x = x,
		.graph = encoding->cosma->model.tensor_of[whole_tensor(encoding, x)],
		.producer = model->producer[x],
		.source = NPUMEM_NONE,
		.size = model->size[x],
		.host = model->flags[x] & COSMA_COPIED,
		.reloaded = encoding->reloaded && encoding->reloaded[x],
	};

	if (tensor.producer != NPUMEM_NONE) {
		tensor.first = encoding->op[tensor.producer].early;
		tensor.created = encoding->op[tensor.producer].late;
		tensor.last = tensor.created;
	} else if (!(model->flags[x] & COSMA_ENTRY)) {
		tensor.first = UINT32_MAX;
		tensor.created = UINT32_MAX;
	}
	cosma_for_each(k, model->consumers, x) {
		const struct ilp_op *user = &encoding->op[model->consumers.item[k]];

		if (user->late > tensor.last)
			tensor.last = user->late;
		/* The operator that may run first needs it then. */
		if (user->early < tensor.first)
			tensor.first = user->early;
		if (user->late < tensor.created && tensor.first && tensor.producer == NPUMEM_NONE)
			tensor.created = user->late;
	}
	return add_tensor(encoding, tensor);
}

/* Adds tensor @t of the graph, which is there while operator @v runs. */
static int add_brief(struct ilp_encoding *encoding, uint32_t v, uint32_t t)
{
	return add_tensor(encoding,
			  (struct ilp_tensor){
				  .x = NPUMEM_NONE,
				  .graph = t,
				  .producer = v,
				  .source = NPUMEM_NONE,
				  .size = t == NPUMEM_NONE ?
						  0 :
						  (int64_t)encoding->cosma->graph->tensors[t].size,
				  .first = encoding->op[v].early,
				  .created = encoding->op[v].late,
				  .last = encoding->op[v].late,
			  });
}

/* Adds the parameters that only operator @v uses. */
static int add_parameters(struct ilp_encoding *encoding, uint32_t v)
{
	const struct cosma_solver *cosma = encoding->cosma;
	uint32_t whole = whole_op(encoding, v);
	const struct npuplan_op *op = &cosma->graph->ops[cosma->model.op_of[whole]];
	int err = 0;

	for (uint32_t k = 0; k < op->input_count && !err; k++)
		if (cosma_is_own_parameter(&cosma->model, cosma->graph, whole, k))
			err = add_brief(encoding, v, op->inputs[k]);
	return err;
}

/*
 * An operator's first output tells when it runs. Where all of its outputs are outside, one of no
 * bytes takes their place.
 */
static int find_output(struct ilp_encoding *encoding, uint32_t v)
{
	const struct cosma_list *outputs = &encoding->model->outputs;

	encoding->op[v].output = encoding->tensor_count;
	if (outputs->first[v] == outputs->first[v + 1])
		return add_brief(encoding, v, NPUMEM_NONE);
	encoding->op[v].output = outputs->item[outputs->first[v]];
	return 0;
}

/* Whether the tensor is used, so that it may stay, leave and return. */
static bool is_used(const struct ilp_encoding *encoding, uint32_t a)
{
	uint32_t x = encoding->tensor[a].x;

	return x != NPUMEM_NONE && cosma_users(encoding->model, x);
}

static void add_columns(struct ilp_encoding *encoding, uint32_t a, uint32_t t)
{
	const struct ilp_tensor *tensor = &encoding->tensor[a];
	struct ilp_program *program = &encoding->program;
	struct ilp_cell *at = ilp_at(encoding, a, t);

	if (t <= tensor->created)
		at->c = ilp_column(program, "C", a, ILP_NONE, t, 1, true);
	if (t <= tensor->created && tensor->source != NPUMEM_NONE && tensor->size)
		at->t = ilp_column(program, "T", a, ILP_NONE, t, 1, true);
	if (t == tensor->first || !is_used(encoding, a))
		return;
	at->p = ilp_column(program, "P", a, ILP_NONE, t, 1, true);
	at->r = ilp_column(program, "R", a, ILP_NONE, t, 1, true);
	if (!tensor->host)
		at->s = ilp_column(program, "S", a, ILP_NONE, t, 1, true);
}

int ilp_make_columns(struct ilp_encoding *encoding)
{
	size_t count = (size_t)encoding->tensor_count * encoding->steps;

	encoding->cell = npuplan_malloc((count + 1) * sizeof(*encoding->cell));
	if (!encoding->cell)
		return -ENOMEM;
	/* All columns are ILP_NONE at first. */
	memset(encoding->cell, 0xff, count * sizeof(*encoding->cell));
	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		for (uint32_t t = encoding->tensor[a].first; t <= encoding->tensor[a].last; t++)
			add_columns(encoding, a, t);
	return encoding->program.failed ? -ENOMEM : 0;
}

int ilp_lifetimes(struct ilp_encoding *encoding)
{
	const struct cosma_model *model = encoding->model;
	int err = find_range(encoding);

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
	if (!err)
		find_unit(encoding);
	return err;
}

/* Whether operator @v runs behind all operators that make or use tensor @a, in every order. */
static bool behind(const struct ilp_encoding *encoding, uint32_t v, uint32_t a)
{
	const struct cosma_model *model = encoding->model;
	const struct ilp_tensor *tensor = &encoding->tensor[a];
	bool behind = tensor->producer == NPUMEM_NONE || cosma_before(model, tensor->producer, v);

	if (tensor->x != NPUMEM_NONE)
		cosma_for_each(k, model->consumers, tensor->x)
			behind = behind && cosma_before(model, model->consumers.item[k], v);
	return behind;
}

/*
 * Two tensors do not meet if one is dead in every order when the other one comes. A solution that
 * keeps a dead tensor is none the worse: it is gone when the solution is read.
 */
bool ilp_may_meet(const struct ilp_encoding *encoding, uint32_t a, uint32_t b)
{
	uint32_t made_a = encoding->tensor[a].producer, made_b = encoding->tensor[b].producer;

	if (made_b != NPUMEM_NONE && behind(encoding, made_b, a))
		return false;
	return made_a == NPUMEM_NONE || !behind(encoding, made_a, b);
}

/* ------------------- how large the program would be, before it takes memory */

/* Limit of pairs of tensor and timestep, each of which takes six column numbers. */
#define CELLS (1u << 25)

/* Counts columns C, P, S, R and L, and rows of Eq. 11. */
static void count_tensors(const struct ilp_encoding *encoding, bool peak, uint64_t *columns,
			  uint64_t *rows)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		const struct ilp_tensor *tensor = &encoding->tensor[a];
		uint64_t steps = tensor->last - tensor->first, used = is_used(encoding, a);

		*columns += tensor->created - tensor->first + 1ull;
		*columns += used * steps * (tensor->host ? 2 : 3);
		*columns += peak ? 0 : steps + 1;
		*rows += peak ? 0 : used * 2 * steps;
	}
}

/* Counts columns u and d, and rows of Eq. 10. */
static void count_pairs(const struct ilp_encoding *encoding, uint64_t *columns, uint64_t *rows)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		for (uint32_t b = a + 1; b < encoding->tensor_count; b++) {
			const struct ilp_tensor *one = &encoding->tensor[a];
			const struct ilp_tensor *other = &encoding->tensor[b];
			uint32_t first = one->first > other->first ? one->first : other->first;
			uint32_t last = one->last < other->last ? one->last : other->last;
			bool apart = one->size + other->size > encoding->budget;

			if (first > last || !one->size || !other->size ||
			    !ilp_may_meet(encoding, a, b))
				continue;
			*columns += apart ? 0 : 2 * ((uint64_t)last - first + 1);
			*rows += (apart ? 1 : 4) * ((uint64_t)last - first + 1);
		}
}

int ilp_check_size(const struct ilp_encoding *encoding, struct npuplan_error *error)
{
	bool peak = encoding->cosma->options->common.objective == NPUPLAN_OBJECTIVE_PEAK;
	uint64_t columns = 0, rows = 0;

	count_tensors(encoding, peak, &columns, &rows);
	if (columns + rows <= ILP_LIMIT) {
		if ((uint64_t)encoding->tensor_count * encoding->steps > CELLS)
			return npuplan_fail(error, -E2BIG,
					    "the integer program of %" PRIu32 " tensors at %" PRIu32
					    " timesteps is too large: at most %u pairs of both",
					    encoding->tensor_count, encoding->steps, CELLS);
		if (!peak)
			count_pairs(encoding, &columns, &rows);
	}
	if (columns + rows <= ILP_LIMIT)
		return 0;
	return npuplan_fail(error, -E2BIG,
			    "the integer program is too large: at least %" PRIu64
			    " columns and %" PRIu64 " rows; at most %u of both together",
			    columns, rows, ILP_LIMIT);
}
