// SPDX-License-Identifier: MIT
/*
 * Copies over links: operators that move a tensor from the scratchpad of the core that makes it to
 * that of another one, whose operators read it there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "base/sorted.h"

/* struct numbered - what has an id, by its number */
struct numbered {
	int64_t id;
	uint32_t number;
};

NPUPLAN_ORDER(by_id, struct numbered, id)

/*
 * struct linking - a graph that is copied with operators more
 * @old: the graph as it is
 * @graph: the copy
 * @copies: what is copied; @count of them
 * @source: per copy, the tensor that it is of
 * @before: per copy, the first of its readers
 * @first: per operator of @old, the first copy that stands right before it, @next per copy the
 *	one behind that; NPUMEM_NONE: none
 * @at: per operator of @old, where it stands in @graph
 * @ops, @tensors: of @old, by id
 */
struct linking {
	const struct npuplan_graph *old;
	struct npuplan_graph *graph;
	const struct npuplan_link_copy *copies;
	uint32_t count;
	struct npuplan_error *error;
	uint32_t *source;
	uint32_t *before;
	uint32_t *first;
	uint32_t *next;
	uint32_t *at;
	struct numbered *ops;
	struct numbered *tensors;
};

/* Refuses graphs in which nothing is copied from core to core. */
static int check_graph(const struct npuplan_graph *graph, struct npuplan_error *error)
{
	if (graph->step_count)
		return npuplan_fail(
			error, -EINVAL,
			"what other cores read is copied only in a graph that is not tiled yet");
	if (graph->edge_count)
		return npuplan_fail(error, -EOPNOTSUPP,
				    "what other cores read is copied only in a graph without "
				    "loops and branches");
	return 0;
}

static int check_tensor(const struct npuplan_graph *graph, uint32_t t, struct npuplan_error *error)
{
	const struct npuplan_tensor *tensor = &graph->tensors[t];
	bool alias = tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS;
	char text[96];

	if (!alias && tensor->kind != NPUMEM_TENSOR_STATE)
		return 0;
	return npuplan_fail(error, -EOPNOTSUPP, "'%s' cannot be copied to another core: it is %s",
			    npuplan_tensor_label(graph, t, text), alias ? "an alias" : "state");
}

static bool reads(const struct npuplan_op *op, uint32_t tensor)
{
	for (uint32_t k = 0; k < op->input_count; k++)
		if (op->inputs[k] == tensor)
			return true;
	return false;
}

static void sort_ids(const struct linking *linking)
{
	const struct npuplan_graph *graph = linking->old;

	for (uint32_t v = 0; v < graph->op_count; v++)
		linking->ops[v] = (struct numbered){ graph->ops[v].id, v };
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		linking->tensors[t] = (struct numbered){ graph->tensors[t].id, t };
	if (graph->op_count)
		qsort(linking->ops, graph->op_count, sizeof(*linking->ops), by_id);
	if (graph->tensor_count)
		qsort(linking->tensors, graph->tensor_count, sizeof(*linking->tensors), by_id);
}

/* The number of what has an id; NPUMEM_NONE: there is nothing. */
static uint32_t find(const struct numbered *all, uint32_t count, int64_t id)
{
	size_t at = npuplan_bisect(i, 0, count, all[i].id < id);

	return at < count && all[at].id == id ? all[at].number : NPUMEM_NONE;
}

static uint32_t find_op(const struct linking *linking, int64_t id)
{
	return find(linking->ops, linking->old->op_count, id);
}

static int check_copy(struct linking *linking, uint32_t i)
{
	const struct npuplan_link_copy *copy = &linking->copies[i];
	const struct npuplan_graph *graph = linking->old;
	uint32_t t = find(linking->tensors, graph->tensor_count, copy->tensor);

	if (t == NPUMEM_NONE)
		return npuplan_fail(linking->error, -EINVAL, "there is no tensor %lld",
				    (long long)copy->tensor);
	if (!copy->reader_count)
		return npuplan_fail(linking->error, -EINVAL, "tensor %lld is copied for nobody",
				    (long long)copy->tensor);
	linking->source[i] = t;
	linking->before[i] = NPUMEM_NONE;
	for (uint32_t k = 0; k < copy->reader_count; k++) {
		uint32_t reader = find_op(linking, copy->readers[k]);

		if (reader == NPUMEM_NONE || !reads(&graph->ops[reader], t))
			return npuplan_fail(linking->error, -EINVAL,
					    "operator %lld does not read tensor %lld",
					    (long long)copy->readers[k], (long long)copy->tensor);
		if (reader < linking->before[i])
			linking->before[i] = reader;
	}
	return check_tensor(graph, t, linking->error);
}

static int check_copies(struct linking *linking)
{
	int err = check_graph(linking->old, linking->error);

	for (uint32_t i = 0; i < linking->count && !err; i++)
		err = check_copy(linking, i);
	for (uint32_t v = 0; v < linking->old->op_count; v++)
		linking->first[v] = NPUMEM_NONE;
	/* Those before one operator stand in the order of the list. */
	for (uint32_t i = linking->count; i-- > 0 && !err;) {
		linking->next[i] = linking->first[linking->before[i]];
		linking->first[linking->before[i]] = i;
	}
	return err;
}

/* The old tensors, and one for each copy. */
static int add_tensors(struct linking *linking)
{
	const struct npuplan_graph *old = linking->old;
	int64_t id = 0, added = 0;

	for (uint32_t t = 0; t < old->tensor_count && added >= 0; t++) {
		added = npuplan_graph_add_tensor(linking->graph, &old->tensors[t]);
		id = old->tensors[t].id > id ? old->tensors[t].id : id;
	}
	if (id > INT64_MAX - linking->count)
		return -EOVERFLOW;
	for (uint32_t i = 0; i < linking->count && added >= 0; i++) {
		struct npuplan_tensor tensor = old->tensors[linking->source[i]];

		if (asprintf(&tensor.name, "%s#%lld", tensor.name, (long long)++id) < 0)
			return -ENOMEM;
		tensor.id = id;
		tensor.kind = NPUMEM_TENSOR_INTERMEDIATE;
		tensor.flags = 0;
		tensor.fixed_offset = 0;
		added = npuplan_graph_add_tensor(linking->graph, &tensor);
		free(tensor.name);
	}
	return added < 0 ? (int)added : 0;
}

static int add_copy(struct linking *linking, uint32_t i, int64_t id)
{
	uint32_t input = linking->source[i], output = linking->old->tensor_count + i;
	struct npuplan_op op = {
		.type = (char[]){ "copy" },
		.inputs = &input,
		.outputs = &output,
		.input_count = 1,
		.output_count = 1,
		.attrs = { .groups = 1, .axis = -1 },
		.id = id,
	};
	int64_t added;

	if (asprintf(&op.name, "copy %s", linking->graph->tensors[output].name) < 0)
		return -ENOMEM;
	added = npuplan_graph_add_op(linking->graph, &op);
	free(op.name);
	return added < 0 ? (int)added : 0;
}

/* The old operators, and each copy right before the first of its readers. */
static int add_ops(struct linking *linking)
{
	const struct npuplan_graph *old = linking->old;
	int64_t id = 0;
	int err = 0;

	for (uint32_t v = 0; v < old->op_count; v++)
		id = old->ops[v].id > id ? old->ops[v].id : id;
	if (id > INT64_MAX - linking->count)
		return -EOVERFLOW;
	for (uint32_t v = 0; v < old->op_count && !err; v++) {
		int64_t added = 0;

		for (uint32_t i = linking->first[v]; i != NPUMEM_NONE && !err; i = linking->next[i])
			err = add_copy(linking, i, ++id);
		if (!err)
			added = npuplan_graph_add_op(linking->graph, &old->ops[v]);
		if (added < 0)
			err = (int)added;
	}
	return err;
}

/* Makes an operator read a copy instead of what that is of; false: it reads another one already. */
static bool switch_reader(const struct linking *linking, uint32_t i, uint32_t v)
{
	struct npuplan_op *op = &linking->graph->ops[linking->at[v]];
	bool found = false;

	for (uint32_t k = 0; k < op->input_count; k++)
		if (op->inputs[k] == linking->source[i]) {
			op->inputs[k] = linking->old->tensor_count + i;
			found = true;
		}
	return found;
}

/* Who reads copies reads them instead of what they are of. */
static int switch_readers(struct linking *linking)
{
	const struct npuplan_graph *old = linking->old;

	for (uint32_t v = 0, moved = 0; v < old->op_count; v++) {
		for (uint32_t i = linking->first[v]; i != NPUMEM_NONE; i = linking->next[i])
			moved++;
		linking->at[v] = v + moved;
	}
	for (uint32_t i = 0; i < linking->count; i++) {
		const struct npuplan_link_copy *copy = &linking->copies[i];

		for (uint32_t k = 0; k < copy->reader_count; k++)
			if (!switch_reader(linking, i, find_op(linking, copy->readers[k])))
				return npuplan_fail(linking->error, -EINVAL,
						    "tensor %lld is copied twice for operator %lld",
						    (long long)copy->tensor,
						    (long long)copy->readers[k]);
	}
	return 0;
}

int npuplan_graph_copy_links(const struct npuplan_graph *graph,
			     const struct npuplan_link_copy *copies, uint32_t copy_count,
			     struct npuplan_graph **out, struct npuplan_error *error)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct linking linking = {
		.old = graph,
		.copies = copies,
		.count = copy_count,
		.error = error,
		.source = npuplan_pool_take(&pool, copy_count, sizeof(uint32_t)),
		.before = npuplan_pool_take(&pool, copy_count, sizeof(uint32_t)),
		.next = npuplan_pool_take(&pool, copy_count, sizeof(uint32_t)),
		.first = npuplan_pool_take(&pool, graph->op_count, sizeof(uint32_t)),
		.at = npuplan_pool_take(&pool, graph->op_count, sizeof(uint32_t)),
		.ops = npuplan_pool_take(&pool, graph->op_count, sizeof(struct numbered)),
		.tensors = npuplan_pool_take(&pool, graph->tensor_count, sizeof(struct numbered)),
	};
	int err;

	*out = NULL;
	if (pool.failed)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	sort_ids(&linking);
	err = check_copies(&linking);
	if (err)
		return err;
	linking.graph = npuplan_graph_new(graph->name);
	err = linking.graph ? add_tensors(&linking) : -ENOMEM;
	err = err ? err : add_ops(&linking);
	if (err) {
		npuplan_graph_free(linking.graph);
		return npuplan_fail(error, err, "what other cores read cannot be copied: %s",
				    strerror(-err));
	}
	err = switch_readers(&linking);
	if (err) {
		npuplan_graph_free(linking.graph);
		return err;
	}
	linking.graph->source_layout = graph->source_layout;
	linking.graph->layout = graph->layout;
	*out = linking.graph;
	return 0;
}

/* ------------------------------------------------------------ what is copied */

/*
 * struct finding - copies that are being found
 * @home: per tensor, the core in which it lies; NPUMEM_NONE: not known yet
 * @last: per tensor, its last copy; @previous per copy the one before; NPUMEM_NONE: none
 * @core: per copy, that of its readers
 */
struct finding {
	const struct npuplan_graph *graph;
	struct npuplan_tiling *tiling;
	uint32_t *home;
	uint32_t *last;
	uint32_t *previous;
	uint32_t *core;
};

/* Operator @v of a core reads the copy of tensor @t there, which is added if there is none. */
static int add_reader(struct finding *finding, uint32_t t, uint32_t v, uint32_t core)
{
	struct npuplan_tiling *tiling = finding->tiling;
	struct npuplan_link_copy *copy, new = { .tensor = finding->graph->tensors[t].id };
	uint32_t i = finding->last[t];

	while (i != NPUMEM_NONE && finding->core[i] != core)
		i = finding->previous[i];
	if (i == NPUMEM_NONE) {
		i = tiling->link_copy_count;
		if (npuplan_append(&tiling->link_copies, &tiling->link_copy_count, &new, 1))
			return -ENOMEM;
		finding->core[i] = core;
		finding->previous[i] = finding->last[t];
		finding->last[t] = i;
	}
	copy = &tiling->link_copies[i];
	/* It may name a tensor twice. */
	if (copy->reader_count &&
	    copy->readers[copy->reader_count - 1] == finding->graph->ops[v].id)
		return 0;
	return npuplan_append(&copy->readers, &copy->reader_count, &finding->graph->ops[v].id, 1);
}

static int find_copies(struct finding *finding, const uint32_t *core_of, bool with_parameters,
		       struct npuplan_error *error)
{
	const struct npuplan_graph *graph = finding->graph;

	for (uint32_t t = 0; t < graph->tensor_count; t++)
		finding->home[t] = finding->last[t] = NPUMEM_NONE;
	for (uint32_t v = 0; v < graph->op_count; v++)
		for (uint32_t k = 0; k < graph->ops[v].output_count; k++)
			finding->home[graph->ops[v].outputs[k]] = core_of[v];
	for (uint32_t v = 0; v < graph->op_count; v++)
		for (uint32_t k = 0; k < graph->ops[v].input_count; k++) {
			uint32_t t = graph->ops[v].inputs[k];
			const struct npuplan_tensor *tensor = &graph->tensors[t];
			int err;

			if (tensor->flags & NPUMEM_TENSOR_FLAG_EXTERNAL ||
			    (tensor->kind == NPUMEM_TENSOR_PARAMETER && !with_parameters))
				continue;
			if (finding->home[t] == NPUMEM_NONE)
				finding->home[t] = core_of[v];
			if (finding->home[t] == core_of[v])
				continue;
			err = check_tensor(graph, t, error);
			if (err)
				return err;
			if (add_reader(finding, t, v, core_of[v]))
				return npuplan_fail(error, -ENOMEM, "out of memory");
		}
	return 0;
}

int npuplan_link_copies_find(const struct npuplan_graph *graph, const uint32_t *core_of,
			     bool with_parameters, struct npuplan_tiling *tiling,
			     struct npuplan_error *error)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct finding finding = { .graph = graph, .tiling = tiling };
	size_t inputs = 0;
	int err = check_graph(graph, error);

	if (err)
		return err;
	for (uint32_t v = 0; v < graph->op_count; v++)
		inputs += graph->ops[v].input_count;
	finding.home = npuplan_pool_take(&pool, graph->tensor_count, sizeof(uint32_t));
	finding.last = npuplan_pool_take(&pool, graph->tensor_count, sizeof(uint32_t));
	finding.previous = npuplan_pool_take(&pool, inputs, sizeof(uint32_t));
	finding.core = npuplan_pool_take(&pool, inputs, sizeof(uint32_t));
	if (pool.failed)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	err = find_copies(&finding, core_of, with_parameters, error);
	for (uint32_t i = 0; err && i < tiling->link_copy_count; i++)
		npuplan_free(tiling->link_copies[i].readers);
	if (err) {
		npuplan_free(tiling->link_copies);
		tiling->link_copies = NULL;
		tiling->link_copy_count = 0;
	}
	return err;
}
