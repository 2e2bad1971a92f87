// SPDX-License-Identifier: MIT
/*
 * Clones: operators that run once more, so that what they made need not be kept until its last use.
 */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"

/*
 * struct rewriting - a graph that is copied with one operator cloned
 * @old: the graph as it is
 * @graph: the copy
 * @clone: which operator is cloned, and for which readers
 * @op: the operator that is cloned
 * @first: the first of those readers, before which the clone stands
 * @outputs: tensors of the copy that are the clone's outputs
 * @switched: per tensor, what the readers read instead of it: the clone's output, or itself
 */
struct rewriting {
	const struct npuplan_graph *old;
	struct npuplan_graph *graph;
	const struct npuplan_clone *clone;
	struct npuplan_error *error;
	uint32_t op;
	uint32_t first;
	uint32_t *outputs;
	uint32_t *switched;
};

static uint32_t find_op(const struct npuplan_graph *graph, int64_t id)
{
	for (uint32_t v = 0; v < graph->op_count; v++)
		if (graph->ops[v].id == id)
			return v;
	return NPUMEM_NONE;
}

static bool reads_from(const struct npuplan_graph *graph, uint32_t reader, uint32_t writer)
{
	for (uint32_t k = 0; k < graph->ops[reader].input_count; k++)
		for (uint32_t j = 0; j < graph->ops[writer].output_count; j++)
			if (graph->ops[reader].inputs[k] == graph->ops[writer].outputs[j])
				return true;
	return false;
}

static bool is_reader(const struct rewriting *rewriting, uint32_t op)
{
	for (uint32_t i = 0; i < rewriting->clone->reader_count; i++)
		if (rewriting->clone->readers[i] == rewriting->old->ops[op].id)
			return true;
	return false;
}

/*
 * Check that the operator can run again: it is a function of its inputs, and its outputs are
 * written once.
 */
static int check_op(const struct rewriting *rewriting)
{
	const struct npuplan_graph *graph = rewriting->old;
	const struct npuplan_op *op = &graph->ops[rewriting->op];
	char text[96];

	for (uint32_t k = 0; k < op->input_count + op->output_count; k++) {
		uint32_t t = k < op->input_count ? op->inputs[k] : op->outputs[k - op->input_count];
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		if (tensor->kind == NPUMEM_TENSOR_STATE || tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS)
			return npuplan_fail(rewriting->error, -EOPNOTSUPP,
					    "operator '%s' cannot run again: '%s' is %s", op->name,
					    npuplan_tensor_label(graph, t, text),
					    tensor->kind == NPUMEM_TENSOR_STATE ? "state" :
										  "an alias");
	}
	return 0;
}

static int check_clone(struct rewriting *rewriting)
{
	const struct npuplan_graph *graph = rewriting->old;
	const struct npuplan_clone *clone = rewriting->clone;

	if (graph->step_count)
		return npuplan_fail(rewriting->error, -EINVAL,
				    "operators run again only in a graph that is not tiled yet");
	if (graph->edge_count)
		return npuplan_fail(rewriting->error, -EOPNOTSUPP,
				    "operators run again only in a graph without loops and "
				    "branches");
	rewriting->op = find_op(graph, clone->op);
	if (rewriting->op == NPUMEM_NONE)
		return npuplan_fail(rewriting->error, -EINVAL, "there is no operator %lld",
				    (long long)clone->op);
	if (!clone->reader_count)
		return npuplan_fail(rewriting->error, -EINVAL,
				    "operator %lld is to run again for nobody",
				    (long long)clone->op);
	rewriting->first = NPUMEM_NONE;
	for (uint32_t i = 0; i < clone->reader_count; i++) {
		uint32_t reader = find_op(graph, clone->readers[i]);

		if (reader == NPUMEM_NONE || !reads_from(graph, reader, rewriting->op))
			return npuplan_fail(rewriting->error, -EINVAL,
					    "operator %lld reads nothing of operator %lld",
					    (long long)clone->readers[i], (long long)clone->op);
		if (reader < rewriting->first)
			rewriting->first = reader;
	}
	return check_op(rewriting);
}

static int add_tensors(struct rewriting *rewriting)
{
	const struct npuplan_graph *old = rewriting->old;
	const struct npuplan_op *op = &old->ops[rewriting->op];
	int64_t id = 0;

	for (uint32_t t = 0; t < old->tensor_count; t++) {
		int64_t added = npuplan_graph_add_tensor(rewriting->graph, &old->tensors[t]);

		if (added < 0)
			return (int)added;
		rewriting->switched[t] = t;
		id = old->tensors[t].id > id ? old->tensors[t].id : id;
	}
	if (id > INT64_MAX - op->output_count)
		return -EOVERFLOW;
	for (uint32_t k = 0; k < op->output_count; k++) {
		struct npuplan_tensor tensor = old->tensors[op->outputs[k]];
		int64_t added;

		if (asprintf(&tensor.name, "%s#%lld", tensor.name, (long long)++id) < 0)
			return -ENOMEM;
		tensor.id = id;
		/*
		 * The runtime finds the value in the output of the first run, at the address that
		 * it asks for.
		 */
		tensor.kind = NPUMEM_TENSOR_INTERMEDIATE;
		tensor.flags &= ~(uint32_t)(NPUMEM_TENSOR_FLAG_FIXED | NPUMEM_TENSOR_FLAG_EXTERNAL);
		tensor.fixed_offset = 0;
		added = npuplan_graph_add_tensor(rewriting->graph, &tensor);
		free(tensor.name);
		if (added < 0)
			return (int)added;
		rewriting->outputs[k] = (uint32_t)added;
		rewriting->switched[op->outputs[k]] = (uint32_t)added;
	}
	return 0;
}

static int add_clone(struct rewriting *rewriting)
{
	const struct npuplan_graph *old = rewriting->old;
	struct npuplan_op op = old->ops[rewriting->op];
	int64_t id = 0, added;

	for (uint32_t v = 0; v < old->op_count; v++)
		id = old->ops[v].id > id ? old->ops[v].id : id;
	if (id == INT64_MAX)
		return -EOVERFLOW;
	op.id = id + 1;
	op.outputs = rewriting->outputs;
	if (asprintf(&op.name, "%s#%lld", op.name, (long long)op.id) < 0)
		return -ENOMEM;
	added = npuplan_graph_add_op(rewriting->graph, &op);
	free(op.name);
	return added < 0 ? (int)added : 0;
}

static int add_ops(struct rewriting *rewriting)
{
	const struct npuplan_graph *old = rewriting->old;
	int err = 0;

	for (uint32_t v = 0; v < old->op_count && !err; v++) {
		int64_t added;

		if (v == rewriting->first)
			err = add_clone(rewriting);
		added = err ? err : npuplan_graph_add_op(rewriting->graph, &old->ops[v]);
		if (added < 0)
			return (int)added;
		if (!is_reader(rewriting, v))
			continue;
		for (uint32_t k = 0; k < old->ops[v].input_count; k++)
			rewriting->graph->ops[added].inputs[k] =
				rewriting->switched[old->ops[v].inputs[k]];
	}
	return err;
}

int npuplan_graph_clone_op(const struct npuplan_graph *graph, const struct npuplan_clone *clone,
			   struct npuplan_graph **out, struct npuplan_error *error)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct rewriting rewriting = { .old = graph, .clone = clone, .error = error };
	int err = check_clone(&rewriting);

	*out = NULL;
	if (err)
		return err;
	rewriting.graph = npuplan_graph_new(graph->name);
	rewriting.switched = npuplan_pool_take(&pool, graph->tensor_count, sizeof(uint32_t));
	rewriting.outputs =
		npuplan_pool_take(&pool, graph->ops[rewriting.op].output_count, sizeof(uint32_t));
	err = rewriting.graph && !pool.failed ? add_tensors(&rewriting) : -ENOMEM;
	if (!err)
		err = add_ops(&rewriting);
	if (err) {
		npuplan_graph_free(rewriting.graph);
		return npuplan_fail(error, err, "operator %lld cannot run again: %s",
				    (long long)clone->op, strerror(-err));
	}
	rewriting.graph->source_layout = graph->source_layout;
	rewriting.graph->layout = graph->layout;
	*out = rewriting.graph;
	return 0;
}
