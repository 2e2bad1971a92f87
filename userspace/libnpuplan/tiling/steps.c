// SPDX-License-Identifier: MIT
/* Making steps and tiles, equal tiles only once. */
#include <stdlib.h>
#include <string.h>

#include "added.h"
#include "join.h"
#include "patches.h"

void npuplan_graph_untile(struct npuplan_graph *graph)
{
	for (uint32_t i = 0; i < graph->step_count; i++)
		free(graph->steps[i].name);
	free_all(graph->steps, graph->accesses, graph->tiles);
	graph->steps = NULL;
	graph->accesses = NULL;
	graph->tiles = NULL;
	graph->step_count = 0;
	graph->access_count = 0;
	graph->tile_count = 0;
	for (uint32_t i = 0; i < graph->block_count; i++)
		graph->blocks[i].first_step = graph->blocks[i].step_count = 0;
	npuplan_part_joined(graph);
	npuplan_drop_added(graph);
	npuplan_tiling_fini(&graph->tiling);
	graph->tiling.layout = graph->layout;
}

int npuplan_fail_accesses(const struct npuplan_op *op, struct npuplan_error *error)
{
	return npuplan_fail(error, -E2BIG, "operator %s: the tiling has more than %llu accesses",
			    op->name, (unsigned long long)npuv_default_limits.max_accesses);
}

static int64_t find_tile(struct npuplan_step_maker *m, uint32_t tensor,
			 const struct npumem_region *region)
{
	struct npuplan_graph *graph = m->graph;
	struct npumem_tile tile = { .tensor = tensor, .region = *region };
	int64_t found = npuplan_table_enter(&m->table, graph->tiles, graph->tile_count,
					    sizeof(tile), &tile);
	int err;

	if (found != graph->tile_count)
		return found;
	err = npuplan_grow(&m->access_of, graph->tile_count, sizeof(*m->access_of));
	if (err)
		return err;
	m->access_of[found] = 0;
	return npuplan_graph_add_tile(graph, tensor, region);
}

/* Whether a tensor, or the one that it is part of, is a parameter. */
static bool is_parameter(const struct npuplan_step_maker *m, uint32_t tensor)
{
	return m->graph->tensors[npuplan_base_of(m->graph, tensor)].kind == NPUMEM_TENSOR_PARAMETER;
}

int64_t npuplan_maker_access(struct npuplan_step_maker *m, uint32_t tensor,
			     const struct npumem_region *region, uint32_t mode)
{
	uint32_t at;
	int64_t tile;

	if (is_parameter(m, tensor) && !m->with_parameters)
		return NPUMEM_NONE;
	tile = find_tile(m, tensor, region);
	if (tile < 0)
		return tile;
	at = m->access_of[tile];
	if (at < m->access_count && m->accesses[at].tile == tile) {
		if (m->accesses[at].mode != mode)
			m->accesses[at].mode = NPUMEM_ACCESS_UPDATE;
		return at;
	}
	m->access_of[tile] = m->access_count;
	m->accesses[m->access_count] = (struct npumem_access){
		.tile = tile,
		.mode = mode,
		.inplace = NPUMEM_NONE,
	};
	return m->access_count++;
}

/*
 * Let the first output take the bytes of the first input. This does nothing unless the two are a
 * read and a write of the same number of bytes: an update, or a parameter that was left out, is not
 * taken.
 */
static void set_inplace(struct npuplan_step_maker *m, const struct npuplan_op *op, int64_t read,
			int64_t write)
{
	struct npumem_access *accesses = m->accesses;

	/* Parameters are read again in the next inference, so their bytes are not taken. */
	if (read != NPUMEM_NONE && write != NPUMEM_NONE && !is_parameter(m, m->tensors[0]) &&
	    npuplan_base_of(m->graph, m->tensors[0]) !=
		    npuplan_base_of(m->graph, m->tensors[op->input_count]) &&
	    chunks_bytes(&m->regions[0]) == chunks_bytes(&m->regions[op->input_count]) &&
	    accesses[read].mode == NPUMEM_ACCESS_READ &&
	    accesses[write].mode == NPUMEM_ACCESS_WRITE)
		accesses[write].inplace = (uint32_t)read;
}

int npuplan_maker_operands(struct npuplan_step_maker *m, const struct npuplan_op *op)
{
	int64_t read = NPUMEM_NONE, write = NPUMEM_NONE, added;

	for (uint32_t i = 0; i < npuplan_operand_count(op); i++) {
		bool output = i >= op->input_count;

		if (!m->regions[i].length)
			continue;
		added = npuplan_maker_access(m, m->tensors[i], &m->regions[i],
					     output ? NPUMEM_ACCESS_WRITE : NPUMEM_ACCESS_READ);
		if (added < 0)
			return (int)added;
		if (i == op->input_count)
			write = added;
		else if (!i)
			read = added;
	}
	/*
	 * A later output may be the first input, so it is known only now which operands are
	 * updated.
	 */
	if (op->attrs.inplace)
		set_inplace(m, op, read, write);
	return 0;
}

int npuplan_maker_step(struct npuplan_step_maker *m, const struct npuplan_op *op, uint64_t index,
		       uint64_t count, uint32_t flags, struct npuplan_error *error)
{
	struct npuplan_step step = {
		.op = (uint32_t)(op - m->graph->ops),
		.tile_index = (uint32_t)index,
		.flags = flags,
	};
	uint32_t accesses = m->access_count;
	int64_t added;

	m->access_count = 0;
	if (!accesses)
		return npuplan_fail(error, -EINVAL,
				    "operator %s accesses no tensor (parameters left out)",
				    op->name);
	if (m->graph->access_count + (uint64_t)accesses > npuv_default_limits.max_accesses)
		return npuplan_fail_accesses(op, error);
	if (count > 1 ? asprintf(&step.name, "%s[%llu/%llu]", op->name, (unsigned long long)index,
				 (unsigned long long)count) < 0 :
			!(step.name = strdup(op->name)))
		return npuplan_fail(error, -ENOMEM, "out of memory");
	added = npuplan_graph_add_step(m->graph, &step, m->accesses, accesses);
	free(step.name);
	if (added < 0)
		return npuplan_fail(error, (int)added, "operator %s: %s", op->name,
				    strerror((int)-added));
	return 0;
}

/*
 * Add the access of the sums of the tile at hand, which are made with its first step and are the
 * tensor that was added last.
 */
static int access_sums(struct npuplan_step_maker *m, const struct npuplan_partition *p,
		       uint64_t index)
{
	struct npuplan_part tile;
	int64_t at = (int64_t)(index % (uint64_t)p->depth_steps), sums = m->graph->tensor_count - 1;
	uint32_t mode = !at			 ? NPUMEM_ACCESS_WRITE :
			at == p->depth_steps - 1 ? NPUMEM_ACCESS_READ :
						   NPUMEM_ACCESS_UPDATE;
	struct npumem_region whole;

	npuplan_partition_tile(p, index, &tile);
	if (!at)
		sums = npuplan_add_part(m->graph, p->op->outputs[0], &tile, NPUPLAN_ADDED_SUMS);
	if (sums < 0)
		return (int)sums;
	whole = npuplan_whole(&m->graph->tensors[sums]);
	sums = npuplan_maker_access(m, (uint32_t)sums, &whole, mode);
	return sums < 0 ? (int)sums : 0;
}

/* Make step @index of @count. */
static int make_step(struct npuplan_step_maker *m, const struct npuplan_partition *p,
		     uint64_t index, uint64_t count, uint32_t flags, struct npuplan_error *error)
{
	int err;

	npuplan_tile_regions(p, index, m->regions);
	for (uint32_t i = 0; i < npuplan_operand_count(p->op); i++)
		m->tensors[i] = npuplan_operand(p->op, i);
	err = npuplan_maker_operands(m, p->op);
	if (!err && p->sums)
		err = access_sums(m, p, index);
	if (err == -EOVERFLOW)
		return npuplan_fail(error, err, "operator %s: there is no id left for its sums",
				    p->op->name);
	if (err)
		return npuplan_fail(error, err, "operator %s: %s", p->op->name, strerror(-err));
	return npuplan_maker_step(m, p->op, index, count, flags, error);
}

static int make_steps(struct npuplan_step_maker *m, const struct npuplan_tiling *tiling,
		      uint32_t op, struct npuplan_error *error)
{
	bool whole = tiling->bands == 1 && !tiling->op_count;
	struct npuplan_partition p;
	uint64_t count;
	int err = 0;

	if (whole)
		npuplan_partition_whole(&p, m->graph, op);
	else
		npuplan_partition_of(&p, m->graph, tiling, op);
	count = npuplan_partition_steps(&p);
	if (count > npuv_default_limits.max_accesses)
		return npuplan_fail_accesses(p.op, error);
	for (uint64_t k = 0; k < count && !err; k++)
		err = make_step(m, &p, k, count, whole ? 0 : NPUMEM_STEP_STAGED, error);
	return err;
}

int npuplan_make_steps(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		       struct npuplan_error *error)
{
	struct npuplan_step_maker m = { .graph = graph,
					.with_parameters = tiling->with_parameters };
	uint32_t most = 1;
	int err = 0;

	if (!graph->op_count)
		return npuplan_fail(error, -EINVAL, "graph %s has no operators", graph->name);
	for (uint32_t i = 0; i < graph->op_count; i++)
		if (npuplan_operand_count(&graph->ops[i]) > most)
			most = npuplan_operand_count(&graph->ops[i]);
	m.tensors = calloc(most, sizeof(*m.tensors));
	m.regions = calloc(most + 1, sizeof(*m.regions));
	m.accesses = calloc(most + 2, sizeof(*m.accesses));
	if (!m.tensors || !m.regions || !m.accesses)
		err = npuplan_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < graph->op_count && !err; i++) {
		const struct npuplan_patches *patches = npuplan_patches_of(tiling, i);

		if (!patches)
			err = make_steps(&m, tiling, i, error);
		else if (patches->first == i)
			err = npuplan_make_patches(&m, tiling, patches, error);
	}
	if (err)
		npuplan_graph_untile(graph);
	/* A block without steps begins where the block before it ends. */
	for (uint32_t i = 1; i < graph->block_count; i++)
		graph->blocks[i].first_step =
			graph->blocks[i - 1].first_step + graph->blocks[i - 1].step_count;
	npuplan_table_fini(&m.table);
	free_all(m.tensors, m.regions, m.accesses, m.access_of);
	return err;
}
