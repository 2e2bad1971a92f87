// SPDX-License-Identifier: MIT
#include "patches.h"

#include <inttypes.h>
#include <stdlib.h>

#include "added.h"
#include "base/sorted.h"
#include "graph/operations.h"
#include "patch_range.h"

/*
 * struct patcher - makes the steps of operators that run in patches
 * @made: per operator, the tensor that has what the patch at hand needs of it
 */
struct patcher {
	struct npuplan_step_maker *m;
	const struct npuplan_tiling *tiling;
	struct npuplan_patch_range range;
	uint32_t *made;
};

const struct npuplan_patches *npuplan_patches_of(const struct npuplan_tiling *tiling, uint32_t op)
{
	const struct npuplan_patches *patches = tiling->patches;
	size_t at = npuplan_bisect(i, 0, patches ? tiling->patch_count : 0, patches[i].last < op);

	return patches && at < tiling->patch_count && patches[at].first <= op ? &patches[at] : NULL;
}

void npuplan_patches_cut(struct npuplan_partition *p, const struct npuplan_graph *graph,
			 const struct npuplan_patches *patches)
{
	npuplan_partition_init(p, graph, patches->last, 0);
	npuplan_partition_set(p, &(struct npuplan_tile_choice){ .rows = patches->rows,
								.columns = patches->columns });
}

/* ------------------------------------------------------------- steps */

/* The bytes of a part that lie in the tensor that a patch has of @writer's output. */
static struct npumem_region region_in_patch(const struct patcher *patcher, uint32_t writer,
					    struct npuplan_part part)
{
	const struct npuplan_part *need = &patcher->range.needs[writer];
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
	struct npuplan_patch_range *range = &patcher->range;
	const struct npuplan_partition *p = &range->partitions[i];
	const struct npuplan_op *op = p->op;
	const struct npuplan_part *need = &range->needs[i];
	int64_t made = op->outputs[0];

	npuplan_patch_inputs(range, i);
	for (uint32_t k = 0; k < op->input_count; k++) {
		uint32_t writer = npuplan_patch_writer(range, i, k);

		m->tensors[k] = op->inputs[k];
		m->regions[k] = range->regions[k];
		if (writer == range->count || !m->regions[k].length)
			continue;
		m->tensors[k] = patcher->made[writer];
		m->regions[k] = region_in_patch(patcher, writer, range->parts[k]);
	}
	if (i + 1 < range->count) {
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
	const struct npuplan_op *op = patcher->range.partitions[i].op;
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

int npuplan_make_patches(struct npuplan_step_maker *m, const struct npuplan_tiling *tiling,
			 const struct npuplan_patches *patches, struct npuplan_error *error)
{
	struct patcher patcher = { .m = m, .tiling = tiling };
	struct npuplan_patch_range *range = &patcher.range;
	struct npuplan_partition last;
	struct npuplan_part patch;
	uint64_t count;
	int err = npuplan_patch_range_init(range, m->graph, patches->first, patches->last);

	patcher.made = npuplan_pool_take(&range->pool, range->count, sizeof(*patcher.made));
	if (err || !patcher.made)
		err = npuplan_fail(error, -ENOMEM, "out of memory");
	npuplan_patches_cut(&last, m->graph, patches);
	count = npuplan_partition_tiles(&last);
	if (!err && count > npuv_default_limits.max_accesses)
		err = npuplan_fail_accesses(last.op, error);
	for (uint64_t k = 0; k < count && !err; k++) {
		npuplan_partition_tile(&last, k, &patch);
		npuplan_patch_needs(range, &patch);
		for (uint32_t i = 0; i < range->count && !err; i++)
			if (range->needs[i].rows.count)
				err = make_step(&patcher, i, k, count, error);
	}
	npuplan_pool_free(&range->pool);
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
		npuplan_patches_cut(&last, graph, patches);
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
		if (patches->columns && view.row > report->columns)
			report->columns = view.row;
	}
}

void npuplan_report_patches(const struct npuplan_graph *graph, uint32_t op,
			    struct npuplan_tile_report *report)
{
	const struct npuplan_op *o = &graph->ops[op];
	uint64_t all = graph->tensors[o->outputs[0]].size, once = npuplan_operations(graph, op);
	uint64_t made;
	struct npuplan_partition p;

	npuplan_partition_init(&p, graph, op, 0);
	report->op = op;
	report->channels = p.channels;
	report_size(graph, op, npuplan_patches_of(&graph->tiling, op), report);
	for (uint32_t s = 0; s < graph->step_count; s++)
		if (graph->steps[s].op == op)
			report_step(graph, &graph->steps[s], report);
	for (uint32_t i = 0; i < o->input_count; i++)
		if (graph->tensors[o->inputs[i]].kind == NPUMEM_TENSOR_PARAMETER)
			report->weights += graph->tensors[o->inputs[i]].size;
	report->onchip += report->weights;
	/* Each patch reads them again. */
	report->weights *= report->steps;
	report->operations = once;
	made = (uint64_t)((unsigned __int128)once * report->outputs / all);
	report->again = made > once ? made - once : 0;
}
