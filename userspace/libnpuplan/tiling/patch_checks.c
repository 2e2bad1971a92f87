// SPDX-License-Identifier: MIT
/* Which operators can run patch by patch. */
#include "base/internal.h"
#include "patch_range.h"
#include "patches.h"

struct npuplan_tensor_uses *npuplan_uses_find(const struct npuplan_graph *graph,
					      struct npuplan_pool *pool)
{
	struct npuplan_tensor_uses *uses =
		npuplan_pool_take(pool, graph->tensor_count, sizeof(*uses));

	for (uint32_t t = 0; t < graph->tensor_count && uses; t++)
		uses[t].first_reader = uses[t].writer = NPUMEM_NONE;
	for (uint32_t t = 0; t < graph->tensor_count && uses; t++)
		if (graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			uses[graph->tensors[t].alias_of].aliased = true;
	for (uint32_t i = 0; i < graph->carry_count && uses; i++) {
		uses[graph->carries[i].from].carried = true;
		uses[graph->carries[i].to].carried = true;
	}
	for (uint32_t v = 0; v < graph->op_count && uses; v++) {
		const struct npuplan_op *op = &graph->ops[v];

		for (uint32_t k = 0; k < op->input_count; k++) {
			struct npuplan_tensor_uses *u = &uses[op->inputs[k]];

			u->first_reader = v < u->first_reader ? v : u->first_reader;
			u->last_reader = v;
		}
		for (uint32_t k = 0; k < op->output_count; k++) {
			struct npuplan_tensor_uses *u = &uses[op->outputs[k]];

			u->written_twice |= u->writer != NPUMEM_NONE;
			u->writer = v;
		}
	}
	return uses;
}

/* What keeps a tensor from being there in patches alone; NULL: nothing does. */
static const char *bound_by(const struct npuplan_tensor *tensor,
			    const struct npuplan_tensor_uses *uses)
{
	if (tensor->kind == NPUMEM_TENSOR_OUTPUT)
		return "an output of the graph";
	if (tensor->kind != NPUMEM_TENSOR_INTERMEDIATE)
		return "no intermediate";
	if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS || uses->aliased)
		return "an alias, or has one";
	if (tensor->flags & (NPUMEM_TENSOR_FLAG_FIXED | NPUMEM_TENSOR_FLAG_EXTERNAL))
		return "external, or at a fixed offset";
	if (uses->carried)
		return "carried along an edge";
	return uses->written_twice ? "written by several operators" : NULL;
}

/* Whether operators of the patches read a tensor behind its writer, and only these. */
static int check_readers(const struct npuplan_graph *graph, const struct npuplan_patches *patches,
			 uint32_t writer, const struct npuplan_tensor_uses *uses,
			 struct npuplan_error *error)
{
	const char *name = graph->ops[writer].name;
	uint32_t other = NPUMEM_NONE;

	if (uses->first_reader == NPUMEM_NONE)
		return npuplan_fail(error, -EINVAL,
				    "operator %s runs in patches: nobody reads its output", name);
	if (uses->first_reader <= writer)
		other = uses->first_reader;
	else if (uses->last_reader > patches->last)
		other = uses->last_reader;
	if (other == NPUMEM_NONE)
		return 0;
	return npuplan_fail(error, -EINVAL,
			    "operator %s runs in patches: operator %s reads its output and is none "
			    "of those behind it that do",
			    name, graph->ops[other].name);
}

static int check_operator(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			  const struct npuplan_patches *patches, uint32_t index,
			  const struct npuplan_tensor_uses *uses, struct npuplan_error *error)
{
	const struct npuplan_op *op = &graph->ops[index];
	struct npuplan_partition p;
	char label[96];
	const char *bound;

	if (npuplan_told(tiling, index))
		return npuplan_fail(error, -EINVAL,
				    "operator %s runs in patches: it has no tiles of its own",
				    op->name);
	if (op->block != graph->ops[patches->last].block)
		return npuplan_fail(error, -EINVAL,
				    "operator %s runs in patches: operator %s is of another block",
				    op->name, graph->ops[patches->last].name);
	if (op->output_count != 1)
		return npuplan_fail(error, -EINVAL,
				    "operator %s runs in patches: it has %u outputs", op->name,
				    op->output_count);
	if (graph->tensors[op->outputs[0]].dim_count < 4 ||
	    !npuplan_partition_init(&p, graph, index, 0))
		return npuplan_fail(error, -EINVAL,
				    "operator %s runs in patches: its output is no image that "
				    "could be cut",
				    op->name);
	if (patches->columns && !npuplan_has_columns(&p))
		return npuplan_fail(error, -EINVAL,
				    "operator %s runs in patches: it needs whole rows of its "
				    "inputs, so that no columns can be cut",
				    op->name);
	for (uint32_t i = 0; i < op->input_count; i++)
		if (op->inputs[i] == op->outputs[0])
			return npuplan_fail(error, -EINVAL,
					    "operator %s runs in patches: it updates its output",
					    op->name);
	if (index == patches->last)
		return 0;
	uses = &uses[op->outputs[0]];
	bound = bound_by(&graph->tensors[op->outputs[0]], uses);
	if (bound)
		return npuplan_fail(error, -EINVAL,
				    "operator %s runs in patches: its output %s is %s", op->name,
				    npuplan_tensor_label(graph, op->outputs[0], label), bound);
	return check_readers(graph, patches, index, uses, error);
}

static int check_size(const struct npuplan_graph *graph, const struct npuplan_patches *patches,
		      struct npuplan_error *error)
{
	const struct npuplan_op *op = &graph->ops[patches->last];
	struct npuplan_partition p;

	npuplan_partition_init(&p, graph, patches->last, 0);
	if (patches->rows > p.output.rows)
		return npuplan_fail(error, -EINVAL, "operator %s: patches of %u rows, it has %lld",
				    op->name, patches->rows, (long long)p.output.rows);
	if (patches->columns > p.output.row)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: patches of %u columns, it has %lld", op->name,
				    patches->columns, (long long)p.output.row);
	return 0;
}

int npuplan_check_range(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			uint32_t index, const struct npuplan_tensor_uses *uses,
			struct npuplan_error *error)
{
	const struct npuplan_patches *patches = &tiling->patches[index];
	uint32_t last = patches->last;
	int err = 0;

	if (last >= graph->op_count)
		return npuplan_fail(error, -EINVAL, "graph %s has no operator %u", graph->name,
				    last);
	if (patches->first > last)
		return npuplan_fail(error, -EINVAL, "patches up to operator %s begin behind it",
				    graph->ops[last].name);
	if (index && patches->first <= patches[-1].last)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: patches are said twice, or not in order",
				    graph->ops[patches->first].name);
	if (!patches->rows && !patches->columns)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: a patch of all rows and columns is none",
				    graph->ops[last].name);
	for (uint32_t v = patches->first; v <= last && !err; v++)
		err = check_operator(graph, tiling, patches, v, uses, error);
	return err ? err : check_size(graph, patches, error);
}

int npuplan_check_patches(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			  struct npuplan_error *error)
{
	struct npuplan_pool pool = { 0 };
	const struct npuplan_tensor_uses *uses;
	int err = 0;

	if (!tiling->patch_count)
		return 0;
	if (tiling->concat)
		return npuplan_fail(error, -EINVAL, "where operators run in patches, concats copy");
	uses = npuplan_uses_find(graph, &pool);
	if (!uses)
		err = npuplan_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < tiling->patch_count && !err; i++)
		err = npuplan_check_range(graph, tiling, i, uses, error);
	npuplan_pool_free(&pool);
	return err;
}
