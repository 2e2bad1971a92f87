// SPDX-License-Identifier: MIT
/* The order of a block's steps, by COSMA's search for the least peak. */
#include "order.h"

#include <string.h>

#include "base/sorted.h"
#include "graph/checked.h"
#include "planners/cosma/model/units.h"
#include "planners/loops/straight.h"

/*
 * struct touch - a step that has read or written bytes of a class since they were written last
 * @before: index of another one of the same bytes; NPUMEM_NONE: none
 */
struct touch {
	uint32_t step;
	uint32_t before;
};

/*
 * struct block_model - a block as COSMA orders it
 * @left_out: per name, its bytes are not counted, since not all of them are sure to be needed, or
 *	since they may be those of another name
 * @straight: graph of the block, whose steps are @cells'
 * @units: what moves in it
 * @graph: the operators of @units, and one more, which runs last and reads all that lives on exit.
 *	Tensor units.count + i is the token of step i, by which other steps wait for it
 * @touches: @touch_count of them
 * @last: per first segment of a cell of state, index of its last touch; NPUMEM_NONE: none
 */
struct block_model {
	const struct npuplan_flow *flow;
	uint32_t block;
	uint32_t step_count;
	bool *left_out;
	struct npuplan_graph *straight;
	struct npuplan_checked checked;
	struct cosma_units units;
	struct npuplan_graph *graph;
	struct touch *touches;
	uint32_t touch_count;
	uint32_t *last;
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

/*
 * Leave out what is not sure to take bytes of its own. Of the block's instances the one counts in
 * which names have most values. @any: out: something is left out.
 */
static int leave_out(struct block_model *m, bool *any)
{
	const struct npuplan_flow *flow = m->flow;
	uint32_t names = npuplan_name_count(flow, m->block), best = NPUMEM_NONE, count;
	AUTO_HEAP struct npuplan_keyed *values =
		npuplan_malloc(((size_t)names + 1) * sizeof(*values));
	uint32_t exit = 2 * m->step_count + 1;
	uint64_t most = 0;

	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < flow->instance_count; i++) {
		uint64_t bytes;

		if (flow->instances[i].block != m->block)
			continue;
		count = list_values(flow, i, values);
		bytes = count_values(flow, m->block, values, count, NULL);
		if (best != NPUMEM_NONE && bytes <= most)
			continue;
		best = i;
		most = bytes;
	}
	if (best != NPUMEM_NONE) {
		count = list_values(flow, best, values);
		count_values(flow, m->block, values, count, m->left_out);
	}
	*any = false;
	for (uint32_t i = 0; i < names; i++) {
		m->left_out[i] |= is_loose(&flow->names[flow->first_name[m->block] + i], exit);
		*any |= m->left_out[i];
	}
	return 0;
}

/* ------------------------------------------------------- the block's operators */

/*
 * State may be written several times, which no data flow orders: who touches bytes comes before the
 * next one that writes them.
 */
static int order_touches(struct block_model *m, uint32_t s, struct npuplan_op *op)
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
			struct touch touch = { s, m->last[cell->first_segment] };

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
			struct touch touch = { s, NPUMEM_NONE };

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
static int add_step(struct block_model *m, uint32_t s)
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
	if (!err)
		err = order_touches(m, s, &op);
	op.input_count = npuplan_sort_once32(op.inputs, op.input_count);
	if (!err)
		err = npuplan_graph_add_op(m->graph, &op);
	npuplan_free_all(op.inputs, op.outputs);
	return err < 0 ? (int)err : 0;
}

/* Add the operator that stands for the exit: it reads what the steps leave, and runs after all. */
static int add_exit(struct block_model *m)
{
	struct npuplan_op op = { .name = (char[]){ "" },
				 .type = (char[]){ "" },
				 .id = m->step_count };
	uint32_t token = m->units.count + m->step_count;
	int64_t err = npuplan_append(&op.outputs, &op.output_count, &token, 1);

	for (uint32_t u = 0; u < m->units.count && !err; u++)
		if (m->units.graph->tensors[u].kind == NPUMEM_TENSOR_OUTPUT)
			err = npuplan_append(&op.inputs, &op.input_count, &u, 1);
	for (uint32_t u = m->units.count; u < token && !err; u++)
		err = npuplan_append(&op.inputs, &op.input_count, &u, 1);
	if (!err)
		err = npuplan_graph_add_op(m->graph, &op);
	npuplan_free_all(op.inputs, op.outputs);
	return err < 0 ? (int)err : 0;
}

static int add_tensors(struct block_model *m)
{
	const struct npuplan_tensor token = {
		.size = 1,
		.align = 1,
		.flags = NPUMEM_TENSOR_FLAG_EXTERNAL,
	};
	int64_t added = 0;

	for (uint32_t u = 0; u < m->units.count && added >= 0; u++) {
		struct npuplan_tensor unit = m->units.graph->tensors[u];

		/* COSMA's outputs leave the chip as they are written, and these stay. */
		if (unit.kind == NPUMEM_TENSOR_OUTPUT)
			unit.kind = NPUMEM_TENSOR_INTERMEDIATE;
		added = npuplan_graph_add_tensor(m->graph, &unit);
	}
	for (uint32_t s = 0; s <= m->step_count && added >= 0; s++)
		added = npuplan_graph_add_tensor(m->graph, &token);
	return added < 0 ? (int)added : 0;
}

static int make_ops(struct block_model *m)
{
	uint32_t segments = m->checked.cells->segment_count;
	int err;

	m->graph = npuplan_graph_new("");
	m->last = npuplan_malloc(((size_t)segments + 1) * sizeof(*m->last));
	if (!m->graph || !m->last)
		return -ENOMEM;
	memset(m->last, 0xff, (size_t)segments * sizeof(*m->last));
	err = add_tensors(m);
	for (uint32_t s = 0; s < m->step_count && !err; s++)
		err = add_step(m, s);
	return err ? err : add_exit(m);
}

/* Make the model. @sure: without the names that are left out. */
static int make_model(struct block_model *m, bool sure)
{
	int err = npuplan_straight_graph(m->flow, m->block, &m->straight);

	for (uint32_t i = 0; !err && i < m->straight->tensor_count; i++) {
		/* Alignments are for addresses, and here bytes are counted. */
		m->straight->tensors[i].align = 1;
		if (sure && i < npuplan_name_count(m->flow, m->block) && m->left_out[i])
			m->straight->tensors[i].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
	}
	if (!err)
		err = npuplan_checked_init(&m->checked, m->straight, NULL);
	if (!err)
		err = cosma_units_init(&m->units, m->straight, m->checked.cells, 1, NULL);
	return err ? err : make_ops(m);
}

static void model_fini(struct block_model *m)
{
	npuplan_graph_free(m->graph);
	cosma_units_fini(&m->units);
	npuplan_checked_fini(&m->checked);
	npuplan_graph_free(m->straight);
	npuplan_free_all(m->touches, m->last);
}

/* ------------------------------------------------------------------ the search */

static int search(const struct block_model *m, struct npuplan_block_order *found,
		  struct npuplan_cosma_plan *plan)
{
	struct cosma_settings asked = {
		.common = *found->options,
		.inputs_flagged = true,
		.takeovers = m->units.takeovers,
		.takeover_count = m->units.takeover_count,
		.staged = m->units.staged,
		.started = found->effort->started,
	};
	int err;

	asked.common.arena_budget = 0;
	asked.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	asked.common.schedule = NPUPLAN_SCHEDULE_FREE;
	/* This is one block of many, and no traffic to tell of. */
	asked.common.progress = NULL;
	asked.common.work_limit = found->work_limit;
	asked.common.deadline_seconds = npuplan_effort_left(found->effort);
	err = npuplan_cosma(m->graph, &asked, plan, NULL);
	if (!err) {
		found->work += plan->work;
		found->memory_ended |= plan->memory_ended;
	}
	return err;
}

/*
 * Run the search once. @sure: for the bound, without the names that are left out; else for the
 * order. @both: nothing is left out, so that one search is for both.
 */
static int run(struct block_model *m, struct npuplan_block_order *found, bool sure, bool both)
{
	struct npuplan_cosma_plan plan = { 0 };
	uint32_t count = 0;
	int err = make_model(m, sure);

	if (!err)
		err = search(m, found, &plan);
	if (!err && (sure || both) && !m->units.mixed)
		found->bound = m->units.state_bytes + plan.lower_bound;
	for (uint32_t i = 0; !err && !sure && i < plan.position_count; i++)
		if (plan.positions[i].kind == NPUMEM_POSITION_STEP &&
		    plan.positions[i].index < m->step_count)
			found->order[count++] = plan.positions[i].index;
	npuplan_cosma_plan_free(&plan);
	model_fini(m);
	return err;
}

/* A block without steps needs what lives in it. */
static uint64_t sum_names(const struct block_model *m)
{
	uint32_t first = m->flow->first_name[m->block];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < npuplan_name_count(m->flow, m->block); i++)
		if (!m->left_out[i])
			bytes += m->flow->graph->tensors[m->flow->names[first + i].tensor].size;
	return bytes;
}

int npuplan_order_block(const struct npuplan_flow *flow, uint32_t block,
			struct npuplan_block_order *found)
{
	struct block_model clear = {
		.flow = flow,
		.block = block,
		.step_count = flow->graph->blocks[block].step_count,
	};
	AUTO_HEAP bool *left_out = npuplan_calloc((size_t)npuplan_name_count(flow, block) + 1, 1);
	struct block_model m;
	bool any = false;
	int err;

	found->bound = 0;
	found->work = 0;
	for (uint32_t i = 0; i < clear.step_count; i++)
		found->order[i] = i;
	clear.left_out = left_out;
	err = left_out ? leave_out(&clear, &any) : -ENOMEM;
	if (!err && !clear.step_count) {
		found->bound = sum_names(&clear);
		return 0;
	}
	m = clear;
	if (!err)
		err = run(&m, found, false, !any);
	m = clear;
	if (!err && any)
		err = run(&m, found, true, false);
	/* What the search does not take keeps its order. */
	return err == -ENOMEM ? err : 0;
}
