// SPDX-License-Identifier: MIT
#include "patches.h"

#include <inttypes.h>
#include <stdlib.h>

#include "added.h"
#include "base/sorted.h"
#include "graph/operations.h"

/*
 * struct patcher - operators that run in patches
 * @count: number of the operators, counted from the first one on
 * @partitions: of each, into one tile
 * @needs: per operator, the part of its output that the patch at hand needs; without a row: none
 * @made: per operator, the tensor that has this part
 * @writers: per operator and input the operator that writes it, or @count: none of these does;
 *	those of operator i begin at @first_input[i]
 * @parts: per input of the operator at hand
 */
struct patcher {
	struct npuplan_step_maker *m;
	const struct npuplan_tiling *tiling;
	const struct npuplan_patches *patches;
	struct npuplan_pool pool;
	uint32_t count;
	struct npuplan_partition *partitions;
	struct npuplan_part *needs;
	uint32_t *made;
	uint32_t *writers;
	uint32_t *first_input;
	struct npuplan_part *parts;
};

const struct npuplan_patches *npuplan_patches_of(const struct npuplan_tiling *tiling, uint32_t op)
{
	const struct npuplan_patches *patches = tiling->patches;
	size_t at = npuplan_bisect(i, 0, patches ? tiling->patch_count : 0, patches[i].last < op);

	return patches && at < tiling->patch_count && patches[at].first <= op ? &patches[at] : NULL;
}

/* The last operator's output, cut into patches. */
static void cut_last(struct npuplan_partition *p, const struct npuplan_graph *graph,
		     const struct npuplan_patches *patches)
{
	npuplan_partition_init(p, graph, patches->last, 0);
	npuplan_partition_set(p, &(struct npuplan_tile_choice){ .rows = patches->rows,
								.columns = patches->columns });
}

uint64_t npuplan_patches_count(const struct npuplan_graph *graph,
			       const struct npuplan_patches *patches)
{
	struct npuplan_partition p;

	cut_last(&p, graph, patches);
	return npuplan_partition_tiles(&p);
}

/* ------------------------------------------------------------- checks */

/*
 * struct uses - who uses a tensor
 * @first_reader, @last_reader: operators; NPUMEM_NONE, 0: none
 * @writer: an operator
 * @written_twice: another one writes it, too
 * @aliased: it is the base of an alias
 * @carried: an edge hands it on
 */
struct uses {
	uint32_t first_reader;
	uint32_t last_reader;
	uint32_t writer;
	bool written_twice;
	bool aliased;
	bool carried;
};

static struct uses *find_uses(const struct npuplan_graph *graph, struct npuplan_pool *pool)
{
	struct uses *uses = npuplan_pool_take(pool, graph->tensor_count, sizeof(*uses));

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
			struct uses *u = &uses[op->inputs[k]];

			u->first_reader = v < u->first_reader ? v : u->first_reader;
			u->last_reader = v;
		}
		for (uint32_t k = 0; k < op->output_count; k++) {
			struct uses *u = &uses[op->outputs[k]];

			u->written_twice |= u->writer != NPUMEM_NONE;
			u->writer = v;
		}
	}
	return uses;
}

/* What keeps a tensor from being there in patches alone; NULL: nothing does. */
static const char *bound_by(const struct npuplan_tensor *tensor, const struct uses *uses)
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
			 uint32_t writer, const struct uses *uses, struct npuplan_error *error)
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
			  const struct uses *uses, struct npuplan_error *error)
{
	const struct npuplan_op *op = &graph->ops[index];
	struct npuplan_partition p;
	char label[96];
	const char *bound;

	if (npuplan_told(tiling, index))
		return npuplan_fail(error, -EINVAL,
				    "operator %s runs in patches: no tiles are told of it",
				    op->name);
	if (op->block != graph->ops[patches->last].block)
		return npuplan_fail(error, -EINVAL,
				    "operator %s runs in patches: operator %s is of another block",
				    op->name, graph->ops[patches->last].name);
	if (op->output_count != 1)
		return npuplan_fail(error, -EINVAL,
				    "operator %s runs in patches: it has %u outputs", op->name,
				    op->output_count);
	if (graph->tensors[op->outputs[0]].dim_count != 4 ||
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

/* Check the patches number @index of a tiling. */
static int check_patches(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			 uint32_t index, const struct uses *uses, struct npuplan_error *error)
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
	const struct uses *uses;
	int err = 0;

	if (!tiling->patch_count)
		return 0;
	if (tiling->concat)
		return npuplan_fail(error, -EINVAL, "where operators run in patches, concats copy");
	uses = find_uses(graph, &pool);
	if (!uses)
		err = npuplan_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < tiling->patch_count && !err; i++)
		err = check_patches(graph, tiling, i, uses, error);
	npuplan_pool_free(&pool);
	return err;
}

/* ------------------------------------------------------------- steps */

static struct npuplan_rows hull(struct npuplan_rows a, struct npuplan_rows b)
{
	int64_t first = a.first < b.first ? a.first : b.first;
	int64_t end = a.first + a.count > b.first + b.count ? a.first + a.count : b.first + b.count;

	return (struct npuplan_rows){ first, end - first };
}

/* Note what a reader needs of a writer's output: of several readers' parts, the least around all. */
static void add_need(struct npuplan_part *need, const struct npuplan_part *part)
{
	if (!part->rows.count)
		return;
	if (!need->rows.count) {
		need->rows = part->rows;
		need->columns = part->columns;
		return;
	}
	need->rows = hull(need->rows, part->rows);
	need->columns = hull(need->columns, part->columns);
}

/* Find out, from the last operator to the first, what a patch needs of each. */
static void find_needs(struct patcher *patcher)
{
	for (uint32_t i = 0; i + 1 < patcher->count; i++)
		patcher->needs[i] = (struct npuplan_part){
			.channels = { 0, patcher->partitions[i].output.channels },
		};
	for (uint32_t i = patcher->count; i-- > 0;) {
		const struct npuplan_partition *p = &patcher->partitions[i];

		if (!patcher->needs[i].rows.count)
			continue;
		npuplan_tile_inputs(p, &patcher->needs[i], patcher->m->regions, patcher->parts);
		for (uint32_t k = 0; k < p->op->input_count; k++) {
			uint32_t writer = patcher->writers[patcher->first_input[i] + k];

			if (writer < patcher->count)
				add_need(&patcher->needs[writer], &patcher->parts[k]);
		}
	}
}

/* The bytes of a part that lie in the tensor that a patch has of @writer's output. */
static struct npumem_region region_in_patch(const struct patcher *patcher, uint32_t writer,
					    struct npuplan_part part)
{
	const struct npuplan_part *need = &patcher->needs[writer];
	struct npuplan_spatial view;

	npuplan_view(patcher->m->graph, patcher->made[writer], &view);
	part.rows.first -= need->rows.first;
	part.columns.first -= need->columns.first;
	return npuplan_part_region(&view, &part);
}

/* Which tensors operator @i of the patches accesses for the patch at hand, and where. */
static int set_operands(struct patcher *patcher, uint32_t i)
{
	struct npuplan_step_maker *m = patcher->m;
	const struct npuplan_partition *p = &patcher->partitions[i];
	const struct npuplan_op *op = p->op;
	const struct npuplan_part *need = &patcher->needs[i];
	int64_t made = op->outputs[0];

	npuplan_tile_inputs(p, need, m->regions, patcher->parts);
	for (uint32_t k = 0; k < op->input_count; k++) {
		uint32_t writer = patcher->writers[patcher->first_input[i] + k];

		m->tensors[k] = op->inputs[k];
		if (writer == patcher->count || !m->regions[k].length)
			continue;
		m->tensors[k] = patcher->made[writer];
		m->regions[k] = region_in_patch(patcher, writer, patcher->parts[k]);
	}
	if (i + 1 < patcher->count) {
		made = npuplan_add_part(m->graph, op->outputs[0], need, NPUPLAN_ADDED_PATCH);
		if (made < 0)
			return (int)made;
		m->regions[op->input_count] = npuplan_whole(&m->graph->tensors[made]);
	} else {
		m->regions[op->input_count] = npuplan_part_region(&p->output, need);
	}
	patcher->made[i] = (uint32_t)made;
	m->tensors[op->input_count] = (uint32_t)made;
	return 0;
}

/* Bytes on chip of the step at hand; parameters are there once, since all patches need the same. */
static uint64_t onchip(const struct patcher *patcher, const struct npuplan_op *op)
{
	const struct npuplan_step_maker *m = patcher->m;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < npuplan_operand_count(op); i++) {
		bool parameter = m->graph->tensors[m->tensors[i]].kind == NPUMEM_TENSOR_PARAMETER;
		uint32_t k = 0;

		while (k < i && (m->tensors[k] != m->tensors[i] ||
				 memcmp(&m->regions[k], &m->regions[i], sizeof(*m->regions)) != 0))
			k++;
		if (k == i)
			bytes += chunks_bytes(&m->regions[i]) *
				 (patcher->tiling->double_buffer && !parameter ? 2 : 1);
	}
	return bytes;
}

/* Make the step of operator @i for patch @index of @count. */
static int make_step(struct patcher *patcher, uint32_t i, uint64_t index, uint64_t count,
		     struct npuplan_error *error)
{
	const struct npuplan_op *op = patcher->partitions[i].op;
	uint64_t bytes;
	int err = set_operands(patcher, i);

	if (!err)
		err = npuplan_maker_operands(patcher->m, op);
	if (err == -EOVERFLOW)
		return npuplan_fail(error, err,
				    "operator %s: there is no id left for what a patch needs of it",
				    op->name);
	if (err)
		return npuplan_fail(error, err, "operator %s: %s", op->name, strerror(-err));
	bytes = onchip(patcher, op);
	if (patcher->tiling->onchip && bytes > patcher->tiling->onchip)
		return npuplan_fail(error, -ENOSPC,
				    "operator %s in patches: step %" PRIu64 " of %" PRIu64
				    " needs %" PRIu64 " bytes on chip; there are %" PRIu64,
				    op->name, index, count, bytes, patcher->tiling->onchip);
	return npuplan_maker_step(patcher->m, op, index, count, NPUMEM_STEP_STAGED, error);
}

/* Note which operators of the patches write the inputs of others. */
static int find_writers(struct patcher *patcher)
{
	const struct npuplan_graph *graph = patcher->m->graph;
	struct npuplan_pool pool = { 0 };
	uint32_t *of_tensor = npuplan_pool_take(&pool, graph->tensor_count, sizeof(*of_tensor));

	for (uint32_t t = 0; t < graph->tensor_count && of_tensor; t++)
		of_tensor[t] = patcher->count;
	for (uint32_t i = 0; i < patcher->count && of_tensor; i++) {
		const struct npuplan_op *op = patcher->partitions[i].op;

		for (uint32_t k = 0; k < op->input_count; k++)
			patcher->writers[patcher->first_input[i] + k] = of_tensor[op->inputs[k]];
		of_tensor[op->outputs[0]] = i;
	}
	npuplan_pool_free(&pool);
	return of_tensor ? 0 : -ENOMEM;
}

static int patcher_init(struct patcher *patcher)
{
	const struct npuplan_graph *graph = patcher->m->graph;
	struct npuplan_pool *pool = &patcher->pool;
	uint32_t first = patcher->patches->first, most = 1, inputs = 0;

	patcher->count = patcher->patches->last - first + 1;
	patcher->partitions = npuplan_pool_take(pool, patcher->count, sizeof(*patcher->partitions));
	patcher->needs = npuplan_pool_take(pool, patcher->count, sizeof(*patcher->needs));
	patcher->made = npuplan_pool_take(pool, patcher->count, sizeof(*patcher->made));
	patcher->first_input =
		npuplan_pool_take(pool, patcher->count, sizeof(*patcher->first_input));
	for (uint32_t i = 0; i < patcher->count && !pool->failed; i++) {
		uint32_t own = graph->ops[first + i].input_count;

		npuplan_partition_init(&patcher->partitions[i], graph, first + i, 0);
		patcher->first_input[i] = inputs;
		inputs += own;
		most = own > most ? own : most;
	}
	patcher->writers = npuplan_pool_take(pool, inputs, sizeof(*patcher->writers));
	patcher->parts = npuplan_pool_take(pool, most, sizeof(*patcher->parts));
	return pool->failed ? -ENOMEM : find_writers(patcher);
}

int npuplan_make_patches(struct npuplan_step_maker *m, const struct npuplan_tiling *tiling,
			 const struct npuplan_patches *patches, struct npuplan_error *error)
{
	struct patcher patcher = { .m = m, .tiling = tiling, .patches = patches };
	struct npuplan_partition last;
	uint64_t count;
	int err = patcher_init(&patcher);

	if (err)
		npuplan_fail(error, err, "out of memory");
	cut_last(&last, m->graph, patches);
	count = npuplan_partition_tiles(&last);
	if (!err && count > npuv_default_limits.max_accesses)
		err = npuplan_fail_accesses(last.op, error);
	for (uint64_t k = 0; k < count && !err; k++) {
		npuplan_partition_tile(&last, k, &patcher.needs[patcher.count - 1]);
		find_needs(&patcher);
		for (uint32_t i = 0; i < patcher.count && !err; i++)
			if (patcher.needs[i].rows.count)
				err = make_step(&patcher, i, k, count, error);
	}
	npuplan_pool_free(&patcher.pool);
	return err;
}

/* ------------------------------------------------------------- report */

/* Add to a report what a step reads and writes. */
static void report_step(const struct npuplan_graph *graph, const struct npuplan_step *step,
			struct npuplan_tile_report *report)
{
	uint64_t bytes = 0;

	for (uint32_t a = step->first_access; a < step->first_access + step->access_count; a++) {
		const struct npumem_tile *tile = &graph->tiles[graph->accesses[a].tile];
		uint64_t length = chunks_bytes(&tile->region);
		bool parameter = graph->tensors[tile->tensor].kind == NPUMEM_TENSOR_PARAMETER;

		if (parameter)
			continue;
		bytes += graph->tiling.double_buffer ? 2 * length : length;
		if (graph->accesses[a].mode & NPUMEM_ACCESS_READ)
			report->inputs += length;
		if (graph->accesses[a].mode & NPUMEM_ACCESS_WRITE)
			report->outputs += length;
	}
	report->steps++;
	report->onchip = bytes > report->onchip ? bytes : report->onchip;
}

/* The largest part of its output that a patch has of an operator. */
static void report_size(const struct npuplan_graph *graph, uint32_t op,
			const struct npuplan_patches *patches, struct npuplan_tile_report *report)
{
	struct npuplan_partition last;

	if (op == patches->last) {
		cut_last(&last, graph, patches);
		report->rows = last.rows;
		report->columns = last.columns;
		return;
	}
	for (uint32_t i = 0; i < graph->added_count; i++) {
		uint32_t tensor = graph->tensor_count - graph->added_count + i;
		struct npuplan_spatial view;

		if (graph->added[i].of != graph->ops[op].outputs[0])
			continue;
		npuplan_view(graph, tensor, &view);
		report->rows = view.rows > report->rows ? view.rows : report->rows;
		report->columns = view.row > report->columns ? view.row : report->columns;
	}
}

void npuplan_report_patches(const struct npuplan_graph *graph, uint32_t op,
			    struct npuplan_tile_report *report)
{
	const struct npuplan_op *o = &graph->ops[op];
	uint64_t all = graph->tensors[o->outputs[0]].size, once = npuplan_operations(graph, op);
	struct npuplan_partition p;

	npuplan_partition_init(&p, graph, op, 0);
	report->op = op;
	report->channels = p.channels;
	report_size(graph, op, npuplan_patches_of(&graph->tiling, op), report);
	for (uint32_t s = 0; s < graph->step_count; s++)
		if (graph->steps[s].op == op)
			report_step(graph, &graph->steps[s], report);
	/* All patches need the same weights. */
	for (uint32_t i = 0; i < o->input_count; i++)
		if (graph->tensors[o->inputs[i]].kind == NPUMEM_TENSOR_PARAMETER)
			report->weights += graph->tensors[o->inputs[i]].size;
	report->onchip += report->weights;
	report->operations = (uint64_t)((unsigned __int128)once * report->outputs / all);
	report->again = report->operations > once ? report->operations - once : 0;
}
