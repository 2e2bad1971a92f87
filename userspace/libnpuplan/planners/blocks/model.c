// SPDX-License-Identifier: MIT
/* Blocks of graphs with edges as COSMA sees them. */
#include "model.h"

#include <string.h>

#include "base/region.h"
#include "base/sorted.h"
#include "planners/loops/straight.h"

/*
 * struct npuplan_touch - a step that has read or written bytes since they were written last
 * @before: index of another one of the same bytes; NPUMEM_NONE: none
 */
struct npuplan_touch {
	uint32_t step;
	uint32_t before;
};

/* ------------------------------------------------------- what is sure to be needed */

/* Whether a plan may do with less of a name than its straight graph has (see tiles.h). */
static bool is_loose(const struct npuplan_name *name, uint32_t exit)
{
	if (name->live_out)
		return name->sure_end != exit;
	return npuplan_straight_kind(name) == NPUMEM_TENSOR_STATE;
}

/*
 * List the names of a block that are live on entry, by their value in an instance: names that have
 * a group and a colour in common have one value.
 */
static uint32_t list_values(const struct npuplan_flow *flow, uint32_t instance,
			    struct npuplan_keyed *values)
{
	const struct npuplan_instance *at = &flow->instances[instance];
	uint32_t first = flow->first_name[at->block], end = flow->first_name[at->block + 1];
	uint32_t count = 0;

	for (uint32_t i = first; i < end; i++) {
		const struct npuplan_name *name = &flow->names[i];

		if (!name->live_in)
			continue;
		values[count] = (struct npuplan_keyed){
			.key = (uint64_t)flow->groups[name->tensor] << 32 | at->colours[count],
			.item = i - first,
		};
		count++;
	}
	npuplan_sort_keyed(values, count);
	return count;
}

/*
 * Go through an instance's values, and leave out all names of each but one, if @left_out is not
 * NULL. Returns the bytes of the names that are left.
 */
static uint64_t count_values(const struct npuplan_flow *flow, uint32_t block,
			     const struct npuplan_keyed *values, uint32_t count, bool *left_out)
{
	const struct npuplan_name *names = &flow->names[flow->first_name[block]];
	uint32_t exit = 2 * flow->graph->blocks[block].step_count + 1;
	uint64_t bytes = 0;
	bool taken = false;

	for (uint32_t i = 0; i < count; i++) {
		const struct npuplan_name *name = &names[values[i].item];

		taken &= i && values[i].key == values[i - 1].key;
		if (taken && left_out)
			left_out[values[i].item] = true;
		if (taken || is_loose(name, exit))
			continue;
		taken = true;
		bytes += flow->graph->tensors[name->tensor].size;
	}
	return bytes;
}

int npuplan_leave_out(const struct npuplan_flow *flow, uint32_t block, bool every, bool *left_out,
		      bool *any)
{
	uint32_t names = npuplan_name_count(flow, block), best = NPUMEM_NONE, count;
	AUTO_HEAP struct npuplan_keyed *values =
		npuplan_malloc(((size_t)names + 1) * sizeof(*values));
	uint32_t exit = 2 * flow->graph->blocks[block].step_count + 1;
	uint64_t most = 0;

	if (!values)
		return -ENOMEM;
	memset(left_out, 0, names * sizeof(*left_out));
	for (uint32_t i = 0; i < flow->instance_count; i++) {
		uint64_t bytes;

		if (flow->instances[i].block != block)
			continue;
		count = list_values(flow, i, values);
		bytes = count_values(flow, block, values, count, every ? left_out : NULL);
		if (best != NPUMEM_NONE && bytes <= most)
			continue;
		best = i;
		most = bytes;
	}
	if (best != NPUMEM_NONE && !every) {
		count = list_values(flow, best, values);
		count_values(flow, block, values, count, left_out);
	}
	*any = false;
	for (uint32_t i = 0; i < names; i++) {
		left_out[i] |= is_loose(&flow->names[flow->first_name[block] + i], exit);
		*any |= left_out[i];
	}
	return 0;
}

/* ------------------------------------------------------- the block's operators */

/*
 * State may be written several times, which no data flow orders: who touches bytes comes before the
 * next one that writes them.
 */
static int order_touches(struct npuplan_block_model *m, uint32_t s, struct npuplan_op *op)
{
	const struct npuv_graph *g = m->checked.cells;
	const struct npumem_step *step = npuv_step(g, s);
	uint32_t end = step->first_access + step->access_count;
	struct npuv_cells it;
	int err = 0;

	for (uint32_t a = step->first_access; a < end; a++)
		npuv_for_each_read(it, g, a)
		{
			const struct npuv_cell *cell = &g->cells[it.cell];
			struct npuplan_touch touch = { s, m->last[cell->first_segment] };

			if (err || m->straight->tensors[cell->tensor].kind != NPUMEM_TENSOR_STATE)
				continue;
			m->last[cell->first_segment] = m->touch_count;
			err = npuplan_append(&m->touches, &m->touch_count, &touch, 1);
		}
	for (uint32_t a = step->first_access; a < end; a++)
		npuv_for_each_write(it, g, a)
		{
			const struct npuv_cell *cell = &g->cells[it.cell];
			uint32_t *last = &m->last[cell->first_segment];
			struct npuplan_touch touch = { s, NPUMEM_NONE };

			if (err || m->straight->tensors[cell->tensor].kind != NPUMEM_TENSOR_STATE)
				continue;
			for (; *last != NPUMEM_NONE && !err; *last = m->touches[*last].before) {
				uint32_t token = m->units.count + m->touches[*last].step;

				if (m->touches[*last].step != s)
					err = npuplan_append(&op->inputs, &op->input_count, &token,
							     1);
			}
			*last = m->touch_count;
			if (!err)
				err = npuplan_append(&m->touches, &m->touch_count, &touch, 1);
		}
	return err;
}

/* Add the operator of a step, which also writes the step's token. */
static int add_step(struct npuplan_block_model *m, uint32_t s)
{
	const struct npuplan_op *from = &m->units.graph->ops[s];
	struct npuplan_op op = { .name = from->name, .type = from->type, .id = s };
	uint32_t token = m->units.count + s;
	int64_t err;

	err = npuplan_append(&op.inputs, &op.input_count, from->inputs, from->input_count);
	if (!err)
		err = npuplan_append(&op.outputs, &op.output_count, from->outputs,
				     from->output_count);
	if (!err)
		err = npuplan_append(&op.outputs, &op.output_count, &token, 1);
	/* The step that stands for the exit waits for all others. */
	for (uint32_t u = m->units.count; u < token && s == m->step_count && !err; u++)
		err = npuplan_append(&op.inputs, &op.input_count, &u, 1);
	if (!err)
		err = order_touches(m, s, &op);
	op.input_count = npuplan_sort_once32(op.inputs, op.input_count);
	if (!err)
		err = npuplan_graph_add_op(m->graph, &op);
	npuplan_free_all(op.inputs, op.outputs);
	return err < 0 ? (int)err : 0;
}

static int add_tensors(struct npuplan_block_model *m)
{
	const struct npuplan_tensor token = {
		.size = 1,
		.align = 1,
		.flags = NPUMEM_TENSOR_FLAG_EXTERNAL,
	};
	int64_t added = 0;

	for (uint32_t u = 0; u < m->units.count && added >= 0; u++)
		added = npuplan_graph_add_tensor(m->graph, &m->units.graph->tensors[u]);
	for (uint32_t s = 0; s <= m->step_count && added >= 0; s++)
		added = npuplan_graph_add_tensor(m->graph, &token);
	return added < 0 ? (int)added : 0;
}

static int make_ops(struct npuplan_block_model *m)
{
	uint32_t segments = m->checked.cells->segment_count;
	int err;

	m->graph = npuplan_graph_new("");
	m->last = npuplan_malloc(((size_t)segments + 1) * sizeof(*m->last));
	if (!m->graph || !m->last)
		return -ENOMEM;
	memset(m->last, 0xff, (size_t)segments * sizeof(*m->last));
	err = add_tensors(m);
	for (uint32_t s = 0; s <= m->step_count && !err; s++)
		err = add_step(m, s);
	return err;
}

/* ------------------------------------------------------- the block's straight graph */

/*
 * Make a tensor what the role of its name has it. What leaves the block is read at its end: COSMA's
 * outputs leave the chip as they are written.
 */
static void cast(struct npuplan_block_model *m, uint32_t i)
{
	const struct npuplan_name *name = &m->flow->names[m->flow->first_name[m->block] + i];
	struct npuplan_tensor *tensor = &m->straight->tensors[i];

	switch (m->roles[i]) {
	case NPUPLAN_ROLE_LIVES:
	case NPUPLAN_ROLE_WHOLE:
		tensor->kind = name->live_in ? NPUMEM_TENSOR_INPUT : NPUMEM_TENSOR_INTERMEDIATE;
		m->moving[i] = name->live_in && name->update != UINT32_MAX;
		/* The verifier lets no step update an input. */
		if (m->moving[i])
			tensor->kind = NPUMEM_TENSOR_STATE;
		break;
	case NPUPLAN_ROLE_LEFT_OUT:
		tensor->flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
		if (name->update != UINT32_MAX)
			tensor->kind = NPUMEM_TENSOR_STATE;
		break;
	default:
		tensor->kind = NPUMEM_TENSOR_STATE;
	}
}

static struct npumem_region whole_region(const struct npuplan_tensor *tensor)
{
	return (struct npumem_region){ .length = tensor->size, .count = { 1, 1, 1 } };
}

/* Have the step that stands for the exit read all of a name. */
static int read_at_exit(struct npuplan_block_model *m, uint32_t i, struct npumem_access **accesses,
			uint32_t *count)
{
	const struct npumem_region whole = whole_region(&m->straight->tensors[i]);
	struct npumem_access access = { .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE };
	int64_t added = npuplan_graph_add_tile(m->straight, i, &whole);

	access.tile = (uint32_t)added;
	return added < 0 ? (int)added : npuplan_append(accesses, count, &access, 1);
}

/* Add the step that stands for the exit: it reads what leaves and does not stay anyway. */
static int add_exit(struct npuplan_block_model *m)
{
	const struct npuplan_step step = { .op = NPUMEM_NONE };
	uint32_t first = m->flow->first_name[m->block], count = 0;
	uint32_t names = npuplan_name_count(m->flow, m->block);
	struct npumem_access *accesses = NULL;
	int64_t err = 0;

	for (uint32_t i = 0; i < names && !err; i++)
		if (m->roles[i] <= NPUPLAN_ROLE_WHOLE && m->flow->names[first + i].live_out)
			err = read_at_exit(m, i, &accesses, &count);
	/* A step has an access: where all that leaves stays, it reads some of that. */
	for (uint32_t i = 0; i < names && !count && !err; i++)
		if (m->roles[i] == NPUPLAN_ROLE_STAYS)
			err = read_at_exit(m, i, &accesses, &count);
	if (!err)
		err = npuplan_graph_add_step(m->straight, &step, accesses, count);
	npuplan_free(accesses);
	return err < 0 ? (int)err : 0;
}

static bool is_whole_role(const struct npuplan_block_model *m, uint32_t tensor)
{
	return tensor < npuplan_name_count(m->flow, m->block) &&
	       m->roles[tensor] == NPUPLAN_ROLE_WHOLE;
}

/* Have steps use all of what is one unit. Parts that they take over in place are not known then. */
static void widen(struct npuplan_block_model *m)
{
	struct npuplan_graph *graph = m->straight;

	for (uint32_t s = 0; s < graph->step_count; s++) {
		struct npumem_access *accesses = &graph->accesses[graph->steps[s].first_access];

		for (uint32_t a = 0; a < graph->steps[s].access_count; a++) {
			uint32_t from = accesses[a].inplace;

			if (from != NPUMEM_NONE &&
			    (is_whole_role(m, graph->tiles[accesses[a].tile].tensor) ||
			     is_whole_role(m, graph->tiles[accesses[from].tile].tensor)))
				accesses[a].inplace = NPUMEM_NONE;
		}
	}
	for (uint32_t t = 0; t < graph->tile_count; t++)
		if (is_whole_role(m, graph->tiles[t].tensor))
			graph->tiles[t].region =
				whole_region(&graph->tensors[graph->tiles[t].tensor]);
}

bool npuplan_may_be_whole(const struct npuplan_block_model *m, uint32_t name)
{
	const struct npuplan_graph *graph = m->straight;
	uint32_t writes = 0;

	for (uint32_t a = 0; a < graph->access_count; a++) {
		const struct npumem_tile *tile = &graph->tiles[graph->accesses[a].tile];

		if (tile->tensor != name || graph->accesses[a].mode == NPUMEM_ACCESS_READ)
			continue;
		if (writes++ || chunks_bytes(&tile->region) != graph->tensors[name].size)
			return false;
	}
	return true;
}

static int make_straight(struct npuplan_block_model *m, uint32_t alignment)
{
	int err = npuplan_straight_graph(m->flow, m->block, &m->straight);

	if (err)
		return err;
	m->moving = npuplan_calloc((size_t)m->straight->tensor_count + 1, sizeof(*m->moving));
	if (!m->moving)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->straight->tensor_count; i++) {
		if (!alignment)
			m->straight->tensors[i].align = 1;
		if (i < npuplan_name_count(m->flow, m->block))
			cast(m, i);
	}
	widen(m);
	return add_exit(m);
}

int npuplan_block_model_init(struct npuplan_block_model *m, const struct npuplan_flow *flow,
			     uint32_t block, const uint8_t *roles, uint32_t alignment)
{
	int err;

	*m = (struct npuplan_block_model){
		.flow = flow,
		.block = block,
		.step_count = flow->graph->blocks[block].step_count,
		.roles = roles,
	};
	err = make_straight(m, alignment);
	if (!err)
		err = npuplan_checked_init(&m->checked, m->straight, NULL);
	if (!err)
		err = cosma_units_init(&m->units, m->straight, m->checked.cells, m->moving,
				       alignment ? alignment : 1, NULL);
	return err ? err : make_ops(m);
}

void npuplan_block_model_fini(struct npuplan_block_model *m)
{
	npuplan_graph_free(m->graph);
	cosma_units_fini(&m->units);
	npuplan_checked_fini(&m->checked);
	npuplan_graph_free(m->straight);
	npuplan_free_all(m->moving, m->touches, m->last);
}

struct cosma_settings npuplan_block_settings(const struct npuplan_block_model *m,
					     const struct npuplan_options *options,
					     const struct npuplan_effort *effort,
					     uint64_t work_limit)
{
	struct cosma_settings asked = {
		.common = *options,
		.inputs_flagged = true,
		.takeovers = m->units.takeovers,
		.takeover_count = m->units.takeover_count,
		.staged = m->units.staged,
		.started = effort->started,
	};

	asked.common.arena_budget = 0;
	asked.common.objective = NPUPLAN_OBJECTIVE_OWN;
	asked.common.schedule = NPUPLAN_SCHEDULE_FREE;
	/* This is one block of many, which callers are not told of. */
	asked.common.progress = NULL;
	asked.common.work_limit = work_limit;
	asked.common.deadline_seconds = npuplan_effort_left(effort);
	return asked;
}
