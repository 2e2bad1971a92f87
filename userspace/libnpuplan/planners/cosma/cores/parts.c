// SPDX-License-Identifier: MIT
/* This file divides a graph among cores, and finds what the order of some leaves of another's. */
#include <string.h>

#include "base/bitset.h"
#include "cores.h"

/* Limit of steps: which steps run before which is a matrix of bits. */
#define MAX_STEPS (1u << 14)
#define MAX_SIZE  (1ull << 60)

/* Names go into JSON, messages and options as they are. */
static const char name_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_-.";

/* ----------------------------------------------------------- what is refused */

static const char *core_name(const struct cosma_cores *cores, uint32_t c)
{
	return cores->core[c].asked->name;
}

static int check_core(const struct cosma_cores *cores, uint32_t c, uint32_t alignment)
{
	const struct npuplan_core *core = cores->core[c].asked;
	size_t length = strnlen(core->name, sizeof(core->name));

	if (!length || length == sizeof(core->name))
		return npuplan_fail(cores->error, -EINVAL,
				    "core %u: a name has 1 to %zu characters", c,
				    sizeof(core->name) - 1);
	if (strspn(core->name, name_characters) != length)
		return npuplan_fail(cores->error, -EINVAL,
				    "core %u: a name is of letters, digits and _-.", c);
	for (uint32_t b = 0; b < c; b++)
		if (!strcmp(core_name(cores, b), core->name))
			return npuplan_fail(cores->error, -EINVAL, "there are two cores '%s'",
					    core->name);
	if (!core->size || core->size >= MAX_SIZE)
		return npuplan_fail(cores->error, -EINVAL,
				    "core '%s': %llu bytes are no scratchpad", core->name,
				    (unsigned long long)core->size);
	if (core->size % alignment)
		return npuplan_fail(cores->error, -EINVAL,
				    "core '%s': %llu bytes are no multiple of the largest "
				    "alignment, %u",
				    core->name, (unsigned long long)core->size, alignment);
	return 0;
}

static int check_cores(struct cosma_cores *cores, const struct npuplan_cosma_options *asked,
		       uint32_t alignment)
{
	uint64_t base = 0;
	int err = 0;

	if (asked->core_count > NPUPLAN_CORES)
		return npuplan_fail(cores->error, -EINVAL, "%u cores are more than %u",
				    asked->core_count, NPUPLAN_CORES);
	if (!asked->cores || !asked->core_of)
		return npuplan_fail(cores->error, -EINVAL,
				    "it is not said which core runs which operator");
	for (uint32_t t = 0; t < cores->units->graph->tensor_count; t++)
		if (cores->units->graph->tensors[t].align > alignment)
			alignment = cores->units->graph->tensors[t].align;
	for (uint32_t c = 0; c < asked->core_count && !err; c++) {
		cores->core[c].asked = &asked->cores[c];
		cores->core[c].base = base;
		base += asked->cores[c].size;
		cores->count++;
		err = check_core(cores, c, alignment ? alignment : 1);
	}
	return err;
}

static int check_tensors(const struct cosma_cores *cores)
{
	char label[96];

	for (uint32_t t = 0; t < cores->graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &cores->graph->tensors[t];
		const char *what = tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS ? "an alias" :
				   tensor->flags & NPUMEM_TENSOR_FLAG_FIXED ? "at a fixed offset" :
				   tensor->kind == NPUMEM_TENSOR_STATE	    ? "state" :
									      NULL;

		if (what)
			return npuplan_fail(cores->error, -EOPNOTSUPP,
					    "'%s' is %s, which several cores do not have",
					    npuplan_tensor_label(cores->graph, t, label), what);
	}
	return 0;
}

static int check_steps(const struct cosma_cores *cores)
{
	const struct npuplan_graph *graph = cores->graph;

	if (!graph->op_count)
		return npuplan_fail(cores->error, -EOPNOTSUPP,
				    "of steps without operators it is not known which core runs "
				    "them");
	if (graph->step_count > MAX_STEPS)
		return npuplan_fail(cores->error, -E2BIG,
				    "%u steps are more than several cores take, %u",
				    graph->step_count, MAX_STEPS);
	for (uint32_t s = 0; s < graph->step_count; s++)
		if (graph->steps[s].tile_index)
			return npuplan_fail(cores->error, -EOPNOTSUPP,
					    "operator '%s' is cut into tiles: cores run whole ones",
					    graph->ops[graph->steps[s].op].name);
	return 0;
}

/* ------------------------------------------------------------- where all lies */

static const struct npuplan_op *op_at(const struct cosma_cores *cores, uint32_t s)
{
	return &cores->graph->ops[cores->graph->steps[s].op];
}

/* Whether a step reads one tensor and writes another one with the same bytes. */
static bool is_copy(const struct cosma_cores *cores, uint32_t s)
{
	const struct npuplan_op *op = op_at(cores, s);

	return !strcmp(op->type, "copy") && op->input_count == 1 && op->output_count == 1 &&
	       cores->units->graph->ops[s].input_count == 1 &&
	       cores->units->graph->ops[s].output_count == 1;
}

static bool is_external(const struct cosma_cores *cores, uint32_t unit)
{
	return cores->units->graph->tensors[unit].flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
}

/* Gives each step its core; copies without one get it from who reads what they write. */
static int take_cores(struct cosma_cores *cores, const uint32_t *core_of)
{
	const struct npuplan_graph *units = cores->units->graph;

	for (uint32_t s = units->op_count; s-- > 0;) {
		uint32_t c = core_of[cores->graph->steps[s].op];

		if (c == NPUMEM_NONE && is_copy(cores, s))
			c = cores->home[units->ops[s].outputs[0]];
		if (c == NPUMEM_NONE)
			return npuplan_fail(cores->error, -EINVAL, "operator '%s' has no core",
					    op_at(cores, s)->name);
		if (c >= cores->count)
			return npuplan_fail(cores->error, -EINVAL,
					    "operator '%s' is of core %u: there are %u",
					    op_at(cores, s)->name, c, cores->count);
		cores->core_of[s] = c;
		cores->from_core[s] = c;
		/* Going backwards, the first reader is the last one here. */
		for (uint32_t k = 0; k < units->ops[s].input_count; k++)
			cores->home[units->ops[s].inputs[k]] = c;
	}
	return 0;
}

/* Finds where each unit lies: where it is written, or else where the first one reads it. */
static int find_homes(struct cosma_cores *cores, const uint32_t *core_of)
{
	const struct npuplan_graph *units = cores->units->graph;
	int err = take_cores(cores, core_of);

	for (uint32_t u = 0; u < units->tensor_count; u++)
		cores->home[u] = cores->writer[u] = NPUMEM_NONE;
	for (uint32_t s = 0; s < units->op_count && !err; s++)
		for (uint32_t k = 0; k < units->ops[s].output_count; k++) {
			cores->writer[units->ops[s].outputs[k]] = s;
			cores->home[units->ops[s].outputs[k]] = cores->core_of[s];
		}
	/* Of what comes from outside a copy reads only if it has to. */
	for (int copies = 0; copies <= 1 && !err; copies++)
		for (uint32_t s = 0; s < units->op_count; s++)
			for (uint32_t k = 0; k < units->ops[s].input_count; k++) {
				uint32_t *home = &cores->home[units->ops[s].inputs[k]];

				if (*home == NPUMEM_NONE && is_copy(cores, s) == copies)
					*home = cores->core_of[s];
			}
	for (uint32_t u = 0; u < units->tensor_count; u++)
		if (is_external(cores, u))
			cores->home[u] = NPUMEM_NONE;
	return err;
}

/* Only copies read in another core's range. */
static int check_reads(struct cosma_cores *cores)
{
	const struct npuplan_graph *units = cores->units->graph;
	char label[96];

	for (uint32_t s = 0; s < units->op_count; s++)
		for (uint32_t k = 0; k < units->ops[s].input_count; k++) {
			uint32_t u = units->ops[s].inputs[k], home = cores->home[u];

			if (home == NPUMEM_NONE || home == cores->core_of[s])
				continue;
			if (!is_copy(cores, s))
				return npuplan_fail(
					cores->error, -EINVAL,
					"operator '%s' of core '%s' reads '%s', which lies in "
					"core '%s': a copy is missing",
					op_at(cores, s)->name, core_name(cores, cores->core_of[s]),
					npuplan_tensor_label(cores->graph,
							     cores->units->unit[u].tensor, label),
					core_name(cores, home));
			cores->from_core[s] = home;
			cores->link_bytes += units->tensors[u].size;
		}
	return 0;
}

/* ---------------------------------------------------------- graphs of the cores */

/* struct core_filling - a core's graph in the making; @tensor_of: per unit, its tensor there */
struct core_filling {
	struct cosma_cores *cores;
	struct cosma_core *core;
	uint32_t c;
	uint32_t *tensor_of;
};

static int add_tensor(struct core_filling *filling, uint32_t unit, uint32_t *tensor)
{
	static const struct npuplan_tensor order = {
		.size = 1,
		.align = 1,
		.flags = NPUMEM_TENSOR_FLAG_EXTERNAL,
		.alias_of = NPUMEM_NONE,
	};
	struct npuplan_graph *graph = filling->core->graph;
	int64_t added = npuplan_graph_add_tensor(
		graph, unit == NPUMEM_NONE ? &order : &filling->cores->units->graph->tensors[unit]);

	if (added < 0)
		return (int)added;
	*tensor = (uint32_t)added;
	filling->core->unit_of[*tensor] = unit;
	return 0;
}

/* Lists those units of a step that lie in the core's range, as its tensors. */
static int list_tensors(struct core_filling *filling, const uint32_t *units, uint32_t count,
			uint32_t *tensors, uint32_t *found)
{
	int err = 0;

	for (uint32_t k = 0; k < count && !err; k++) {
		uint32_t u = units[k];

		if (filling->cores->home[u] != filling->c)
			continue;
		if (filling->tensor_of[u] == NPUMEM_NONE)
			err = add_tensor(filling, u, &filling->tensor_of[u]);
		tensors[(*found)++] = filling->tensor_of[u];
	}
	return err;
}

static int add_step(struct core_filling *filling, uint32_t s)
{
	const struct cosma_units *units = filling->cores->units;
	const struct npuplan_op *from = &units->graph->ops[s];
	struct cosma_core *core = filling->core;
	AUTO_HEAP uint32_t *tensors = npuplan_malloc(
		((size_t)from->input_count + from->output_count + 1) * sizeof(*tensors));
	struct npuplan_op op = {
		.name = from->name,
		.inputs = tensors,
		.outputs = tensors + from->input_count,
		.id = s,
	};
	int64_t added;
	int err;

	if (!tensors)
		return -ENOMEM;
	err = list_tensors(filling, from->inputs, from->input_count, op.inputs, &op.input_count);
	err = err ? err :
		    list_tensors(filling, from->outputs, from->output_count, op.outputs,
				 &op.output_count);
	/* An operator has an output: what others' ranges or nobody's have is one of no bytes. */
	if (!err && !op.output_count)
		err = add_tensor(filling, NPUMEM_NONE, &op.outputs[op.output_count++]);
	if (err)
		return err;
	added = npuplan_graph_add_op(core->graph, &op);
	if (added < 0)
		return (int)added;
	core->op_of[s] = (uint32_t)added;
	core->step_of[added] = s;
	core->staged[added] = units->staged[s];
	return 0;
}

static int fill_core(struct cosma_cores *cores, uint32_t c)
{
	const struct cosma_units *units = cores->units;
	struct cosma_core *core = &cores->core[c];
	uint32_t n = units->graph->op_count, tensors = units->graph->tensor_count;
	struct npuplan_pool *pool = &cores->pool;
	struct core_filling filling = { .cores = cores, .core = core, .c = c };
	int err = 0;

	core->graph = npuplan_graph_new(core->asked->name);
	core->step_of = npuplan_pool_take(pool, n, sizeof(*core->step_of));
	core->op_of = npuplan_pool_take(pool, n, sizeof(*core->op_of));
	core->unit_of = npuplan_pool_take(pool, (size_t)tensors + n, sizeof(*core->unit_of));
	core->staged = npuplan_pool_take(pool, n, sizeof(*core->staged));
	core->takeovers = npuplan_pool_take(pool, units->takeover_count, sizeof(*core->takeovers));
	filling.tensor_of = npuplan_pool_take(pool, tensors, sizeof(*filling.tensor_of));
	if (!core->graph || pool->failed)
		return -ENOMEM;
	for (uint32_t u = 0; u < tensors; u++)
		filling.tensor_of[u] = NPUMEM_NONE;
	for (uint32_t s = 0; s < n && !err; s++) {
		core->op_of[s] = NPUMEM_NONE;
		if (cores->core_of[s] == c || cores->from_core[s] == c)
			err = add_step(&filling, s);
	}
	if (!err && !core->graph->op_count)
		return npuplan_fail(cores->error, -EINVAL, "core '%s' runs no operator",
				    core->asked->name);
	for (uint32_t i = 0; i < units->takeover_count && !err; i++) {
		const struct npuplan_cosma_takeover *from = &units->takeovers[i];

		/* What is external takes nobody's place. */
		if (cores->core_of[from->op] == c && cores->home[from->input] == c &&
		    cores->home[from->output] == c)
			core->takeovers[core->takeover_count++] = (struct npuplan_cosma_takeover){
				.op = core->op_of[from->op],
				.input = filling.tensor_of[from->input],
				.output = filling.tensor_of[from->output],
			};
	}
	return err;
}

int cosma_cores_init(struct cosma_cores *cores, const struct npuplan_graph *graph,
		     const struct cosma_units *units, const struct npuplan_cosma_options *asked,
		     uint32_t alignment, struct npuplan_error *error)
{
	struct npuplan_pool *pool = &cores->pool;
	int err;

	memset(cores, 0, sizeof(*cores));
	cores->graph = graph;
	cores->units = units;
	cores->error = error;
	cores->core_of = npuplan_pool_take(pool, graph->step_count, sizeof(uint32_t));
	cores->from_core = npuplan_pool_take(pool, graph->step_count, sizeof(uint32_t));
	cores->writer = npuplan_pool_take(pool, units->graph->tensor_count, sizeof(uint32_t));
	cores->home = npuplan_pool_take(pool, units->graph->tensor_count, sizeof(uint32_t));
	err = pool->failed ? -ENOMEM : check_cores(cores, asked, alignment);
	err = err ? err : check_tensors(cores);
	err = err ? err : check_steps(cores);
	for (uint32_t u = 0; u < units->graph->tensor_count && !err; u++)
		cores->home[u] = NPUMEM_NONE;
	err = err ? err : find_homes(cores, asked->core_of);
	err = err ? err : check_reads(cores);
	for (uint32_t c = 0; c < cores->count && !err; c++)
		err = fill_core(cores, c);
	if (err)
		cosma_cores_fini(cores);
	return err == -ENOMEM ? npuplan_fail(error, err, "out of memory") : err;
}

void cosma_cores_fini(struct cosma_cores *cores)
{
	for (uint32_t c = 0; c < cores->count; c++)
		npuplan_graph_free(cores->core[c].graph);
	npuplan_pool_free(&cores->pool);
	memset(cores, 0, sizeof(*cores));
}

/* ------------------------------------------------------------------- orders */

/* struct ordering - all that runs before what: lists of steps, each with its direct predecessors */
struct ordering {
	const struct cosma_cores *cores;
	struct npuplan_pool pool;
	uint32_t *first;
	uint32_t *item;
	uint32_t *waiting;
	uint32_t *chained; /* per step and core, the step before it in the core's chain */
};

static uint32_t chained(const struct ordering *ordering, uint32_t s, uint32_t c)
{
	return ordering->chained[(size_t)s * ordering->cores->count + c];
}

/* Lists what runs directly before each step: who writes what it reads, and before it in chains. */
static int list_before(struct ordering *ordering, uint32_t *const chains[NPUPLAN_CORES])
{
	const struct cosma_cores *cores = ordering->cores;
	const struct npuplan_graph *units = cores->units->graph;
	uint32_t n = units->op_count, count = cores->count;
	size_t inputs = (size_t)n * count;

	for (uint32_t s = 0; s < n; s++)
		inputs += units->ops[s].input_count;
	ordering->first = npuplan_pool_take(&ordering->pool, (size_t)n + 1, sizeof(uint32_t));
	ordering->item = npuplan_pool_take(&ordering->pool, inputs, sizeof(uint32_t));
	ordering->waiting = npuplan_pool_take(&ordering->pool, n, sizeof(uint32_t));
	ordering->chained = npuplan_pool_take(&ordering->pool, (size_t)n * count, sizeof(uint32_t));
	if (ordering->pool.failed)
		return -ENOMEM;
	memset(ordering->chained, 0xff, (size_t)n * count * sizeof(uint32_t));
	for (uint32_t c = 0; c < count; c++)
		for (uint32_t i = 1; chains[c] && i < cores->core[c].graph->op_count; i++)
			ordering->chained[(size_t)chains[c][i] * count + c] = chains[c][i - 1];
	for (uint32_t s = 0, at = 0; s < n; s++) {
		for (uint32_t k = 0; k < units->ops[s].input_count; k++) {
			uint32_t from = cores->writer[units->ops[s].inputs[k]];

			if (from != NPUMEM_NONE)
				ordering->item[at++] = from;
		}
		for (uint32_t c = 0; c < count; c++)
			if (chained(ordering, s, c) != NPUMEM_NONE)
				ordering->item[at++] = chained(ordering, s, c);
		ordering->first[s + 1] = at;
		ordering->waiting[s] = at - ordering->first[s];
	}
	return 0;
}

/* Orders all steps; of those that are ready the one of least rank is next. */
static int order_all(struct ordering *ordering, const uint32_t *rank, uint32_t *order)
{
	uint32_t n = ordering->cores->units->graph->op_count, entries = ordering->first[n];
	struct npuplan_pool *pool = &ordering->pool;
	uint32_t *start = npuplan_pool_take(pool, (size_t)n + 2, sizeof(*start));
	uint32_t *after = npuplan_pool_take(pool, entries, sizeof(*after));
	uint32_t *of_rank = npuplan_pool_take(pool, n, sizeof(*of_rank));
	uint64_t *ready = npuplan_pool_take(pool, n / 64 + 1, sizeof(*ready));

	if (pool->failed)
		return -ENOMEM;
	for (uint32_t k = 0; k < entries; k++)
		start[ordering->item[k] + 2]++;
	for (uint32_t s = 0; s < n; s++)
		start[s + 2] += start[s + 1];
	for (uint32_t s = 0; s < n; s++)
		for (uint32_t k = ordering->first[s]; k < ordering->first[s + 1]; k++)
			after[start[ordering->item[k] + 1]++] = s;
	for (uint32_t s = 0; s < n; s++) {
		of_rank[rank[s]] = s;
		if (!ordering->waiting[s])
			npuplan_set_add(ready, rank[s]);
	}
	for (uint32_t p = 0; p < n; p++) {
		uint32_t w = 0, s;

		while (!ready[w])
			w++;
		s = of_rank[64 * w + (uint32_t)__builtin_ctzll(ready[w])];
		npuplan_set_drop(ready, rank[s]);
		order[p] = s;
		for (uint32_t k = start[s]; k < start[s + 1]; k++)
			if (!--ordering->waiting[after[k]])
				npuplan_set_add(ready, rank[after[k]]);
	}
	return 0;
}

int cosma_cores_order(const struct cosma_cores *cores, uint32_t *const chains[NPUPLAN_CORES],
		      const uint32_t *rank, uint32_t *order)
{
	struct ordering ordering = { .cores = cores };
	int err = list_before(&ordering, chains);

	err = err ? err : order_all(&ordering, rank, order);
	npuplan_pool_free(&ordering.pool);
	return err;
}

/*
 * Of a core's operators numbered in @order, lists for each those that run before it and before no
 * other one that does.
 */
static int list_pairs(struct ordering *ordering, const uint32_t *order, uint32_t c,
		      struct cosma_pair **pairs, uint32_t *pair_count)
{
	const struct cosma_core *core = &ordering->cores->core[c];
	uint32_t n = ordering->cores->units->graph->op_count, own = core->graph->op_count;
	uint32_t words = own / 64 + 1, count = 0;
	struct npuplan_pool *pool = &ordering->pool;
	uint64_t *before = npuplan_pool_take(pool, (size_t)n * words, sizeof(*before));
	uint64_t *implied = npuplan_pool_take(pool, words, sizeof(*implied));
	uint32_t *step_at = npuplan_pool_take(pool, own, sizeof(*step_at));
	uint32_t *number = npuplan_pool_take(pool, n, sizeof(*number));

	if (pool->failed)
		return -ENOMEM;
	for (uint32_t p = 0; p < n; p++) {
		uint32_t s = order[p];
		uint64_t *row = before + (size_t)s * words;

		for (uint32_t k = ordering->first[s]; k < ordering->first[s + 1]; k++) {
			uint32_t from = ordering->item[k];

			for (uint32_t w = 0; w < words; w++)
				row[w] |= before[(size_t)from * words + w];
			if (core->op_of[from] != NPUMEM_NONE)
				npuplan_set_add(row, number[from]);
		}
		if (core->op_of[s] == NPUMEM_NONE)
			continue;
		memset(implied, 0, words * sizeof(*implied));
		/* The latest come first, since only these imply others. */
		for (uint32_t i = count; i-- > 0;) {
			struct cosma_pair pair = { core->op_of[step_at[i]], core->op_of[s] };

			if (!npuplan_set_has(row, i) || npuplan_set_has(implied, i))
				continue;
			if (npuplan_append(pairs, pair_count, &pair, 1))
				return -ENOMEM;
			for (uint32_t w = 0; w < words; w++)
				implied[w] |= before[(size_t)step_at[i] * words + w];
		}
		number[s] = count;
		step_at[count++] = s;
	}
	return 0;
}

int cosma_core_left(const struct cosma_cores *cores, uint32_t *const chains[NPUPLAN_CORES],
		    const uint32_t *rank, uint32_t *order, uint32_t c, struct cosma_pair **pairs,
		    uint32_t *pair_count)
{
	struct ordering ordering = { .cores = cores };
	int err = list_before(&ordering, chains);

	*pairs = NULL;
	*pair_count = 0;
	err = err ? err : order_all(&ordering, rank, order);
	err = err ? err : list_pairs(&ordering, order, c, pairs, pair_count);
	npuplan_pool_free(&ordering.pool);
	if (err)
		npuplan_free(*pairs);
	return err;
}
