// SPDX-License-Identifier: MIT
#include "model.h"

#include <stdlib.h>
#include <string.h>

/*
 * struct maker - the model in the making
 * @op_of: per step of the graph
 * @place: per step of the graph its number in the model
 * @first_before: per step of the graph, in @before: steps that come before it
 * @seen, @late: per unit, step that has read it already; which lasts longer
 * @read_by: per cell, step of the model that has read it last
 * @wait_at: per operator, its entry in waits[] for the step at hand
 */
struct maker {
	struct tilesched_model *model;
	const struct npuplan_graph *graph;
	const struct npuv_graph *cells;
	uint32_t *op_of;
	uint32_t *place;
	uint32_t *first_before;
	uint32_t *before;
	uint32_t before_count;
	uint32_t *seen;
	uint32_t *late;
	uint32_t *read_by;
	uint32_t *wait_at;
};

static uint32_t *array(size_t count, int byte)
{
	uint32_t *made = npuplan_malloc(count * sizeof(*made) + 1);

	if (made)
		memset(made, byte, count * sizeof(*made) + 1);
	return made;
}

static bool is_parameter(const struct npuv_graph *cells, uint32_t cell)
{
	return npuv_tensor(cells, cells->cells[cell].tensor)->kind == NPUMEM_TENSOR_PARAMETER;
}

static uint64_t cell_bytes(const struct npuv_graph *cells, uint32_t cell)
{
	const struct npuv_cell *c = &cells->cells[cell];
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < c->segment_count; k++)
		bytes += cells->segments[c->first_segment + k].length;
	return bytes;
}

/* ------------------------------------------------------- which step before which */

/* Steps that read each cell that is updated: they come before the update. */
static int list_readers(const struct npuv_graph *g, uint32_t **starts, uint32_t **list)
{
	uint32_t *start = array((size_t)g->cell_count + 2, 0), count = 0;
	AUTO_HEAP bool *updated = npuplan_calloc((size_t)g->cell_count + 1, sizeof(*updated));
	struct npuv_cells it;

	*starts = start;
	*list = NULL;
	if (!start || !updated)
		return -ENOMEM;
	for (uint32_t a = 0; a < g->accesses.count; a++)
		npuv_for_each_read(it, g, a)
			updated[it.cell] |= npuv_access(g, a)->mode == NPUMEM_ACCESS_UPDATE;
	for (uint32_t i = 0; i < g->cell_count; i++) {
		start[i + 1] = count;
		count += updated[i] ? g->cells[i].reads : 0;
	}
	*list = array(count, 0);
	if (!*list)
		return -ENOMEM;
	for (uint32_t a = 0; a < g->accesses.count; a++)
		npuv_for_each_read(it, g, a) if (updated[it.cell])(*list)[start[it.cell + 1]++] =
			g->access_step[a];
	return 0;
}

static int add_before(struct maker *m, uint32_t step, uint32_t other)
{
	int err;

	if (other == step)
		return 0;
	err = npuplan_grow(&m->before, m->before_count, sizeof(*m->before));
	if (!err)
		m->before[m->before_count++] = other;
	return err;
}

static int find_before(struct maker *m)
{
	const struct npuv_graph *g = m->cells;
	AUTO_HEAP uint32_t *start = NULL, *readers = NULL;
	struct npuv_cells it;
	int err = list_readers(g, &start, &readers);

	for (uint32_t s = 0; s < g->steps.count && !err; s++) {
		const struct npumem_step *step = npuv_step(g, s);
		uint32_t end = step->first_access + step->access_count;

		m->first_before[s] = m->before_count;
		for (uint32_t a = step->first_access; a < end && !err; a++) {
			npuv_for_each_read(it, g, a)
			{
				uint32_t cell = it.cell;

				if (err)
					break;
				if (g->cells[cell].writer != NPUMEM_NONE)
					err = add_before(m, s,
							 g->access_step[g->cells[cell].writer]);
				if (npuv_access(g, a)->mode != NPUMEM_ACCESS_UPDATE)
					continue;
				for (uint32_t r = start[cell]; r < start[cell + 1] && !err; r++)
					err = add_before(m, s, readers[r]);
			}
		}
	}
	m->first_before[g->steps.count] = m->before_count;
	return err;
}

/* --------------------------------------------------------------------- operators */

/* Operators from the one to the other are one. */
static void join(int32_t *change, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	change[a < b ? a : b]++;
	change[a < b ? b : a]--;
}

/* Operators by first step; @change: +1 and -1 where ranges of them are one. */
static uint32_t find_operators(struct maker *m, uint32_t *op_of_tensor, int32_t *change)
{
	const struct npuv_graph *g = m->cells;
	uint32_t count = 0;

	for (uint32_t s = 0; s < g->steps.count; s++) {
		const struct npumem_step *step = npuv_step(g, s);
		uint32_t end = step->first_access + step->access_count, op = NPUMEM_NONE;

		for (uint32_t a = step->first_access; a < end; a++) {
			const struct npumem_access *access = npuv_access(g, a);
			uint64_t offset;
			uint32_t tensor =
				npuplan_base(g, npuv_tile(g, access->tile)->tensor, &offset);

			if (access->mode == NPUMEM_ACCESS_READ)
				continue;
			if (op == NPUMEM_NONE)
				op = op_of_tensor[tensor] == NPUMEM_NONE ? count++ :
									   op_of_tensor[tensor];
			if (op_of_tensor[tensor] == NPUMEM_NONE)
				op_of_tensor[tensor] = op;
			join(change, op, op_of_tensor[tensor]);
		}
		m->op_of[s] = op == NPUMEM_NONE ? count++ : op;
	}
	/* An operator that needs a later one is one with it, and what is between. */
	for (uint32_t s = 0; s < g->steps.count; s++)
		for (uint32_t k = m->first_before[s]; k < m->first_before[s + 1]; k++)
			if (m->op_of[m->before[k]] > m->op_of[s])
				join(change, m->op_of[s], m->op_of[m->before[k]]);
	return count;
}

/* Number operators that are one alike, and steps operator by operator. */
static int number(struct maker *m, uint32_t count, const int32_t *change)
{
	struct tilesched_model *model = m->model;
	AUTO_HEAP uint32_t *renumbered = array(count, 0);
	uint32_t steps = m->cells->steps.count, next = 0;
	int32_t depth = 0;

	if (!renumbered)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		/* Is this one with the one before it? */
		model->op_count += depth == 0;
		renumbered[i] = model->op_count - 1;
		depth += change[i];
	}
	model->ops = calloc((size_t)model->op_count + 1, sizeof(*model->ops));
	if (!model->ops)
		return -ENOMEM;
	for (uint32_t s = 0; s < steps; s++) {
		m->op_of[s] = renumbered[m->op_of[s]];
		model->ops[m->op_of[s]].count++;
	}
	for (uint32_t o = 0; o < model->op_count; o++) {
		model->ops[o].first = next;
		next += model->ops[o].count;
		model->ops[o].count = 0;
	}
	for (uint32_t s = 0; s < steps; s++) {
		struct tilesched_op *op = &model->ops[m->op_of[s]];

		m->place[s] = op->first + op->count++;
		model->steps[m->place[s]].step = s;
	}
	model->step_count = steps;
	return 0;
}

static int make_operators(struct maker *m)
{
	size_t tensors = m->cells->tensors.count;
	AUTO_HEAP uint32_t *op_of_tensor = array(tensors, 0xff);
	AUTO_HEAP int32_t *change =
		npuplan_calloc((size_t)m->cells->steps.count + 1, sizeof(*change));
	int err = op_of_tensor && change ? 0 : -ENOMEM;

	if (!err)
		err = number(m, find_operators(m, op_of_tensor, change), change);
	return err;
}

/* Parameters of the source model if it is known, else those that steps access. */
static int find_weights(struct maker *m)
{
	struct tilesched_model *model = m->model;
	const struct npuv_graph *g = m->cells;
	/* Per tensor, one more than the operator that has counted it last. */
	AUTO_HEAP uint32_t *counted = array(g->tensors.count, 0);

	if (!counted)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->step_count; i++) {
		uint32_t s = model->steps[i].step, o = m->op_of[s], source = m->graph->steps[s].op;
		const struct npumem_step *step = npuv_step(g, s);
		bool known = source < m->graph->op_count;
		uint32_t count = known ? m->graph->ops[source].input_count : step->access_count;

		for (uint32_t k = 0; k < count; k++) {
			uint32_t tensor =
				known ? m->graph->ops[source].inputs[k] :
					npuv_tile(g, npuv_access(g, step->first_access + k)->tile)
						->tensor;

			if (npuv_tensor(g, tensor)->kind != NPUMEM_TENSOR_PARAMETER ||
			    counted[tensor] == o + 1)
				continue;
			counted[tensor] = o + 1;
			model->ops[o].weights += npuv_tensor(g, tensor)->size;
		}
	}
	for (uint32_t o = 0; o < model->op_count; o++)
		model->all_weights += model->ops[o].weights;
	return 0;
}

/* ------------------------------------------------------------------------- units */

/* All versions of the same bytes have the same segments. */
static int make_units(struct maker *m)
{
	struct tilesched_model *model = m->model;
	const struct npuv_graph *g = m->cells;
	AUTO_HEAP bool *in_arena = npuplan_tensors_in_arena(g);
	AUTO_HEAP uint32_t *unit_at = array(g->segment_count, 0xff);

	model->unit_of = array(g->cell_count, 0xff);
	model->units = calloc((size_t)g->cell_count + 1, sizeof(*model->units));
	if (!in_arena || !unit_at || !model->unit_of || !model->units)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->cell_count; i++) {
		const struct npuv_cell *cell = &g->cells[i];
		struct tilesched_unit *unit;
		uint32_t *at = &unit_at[cell->first_segment];

		if (!in_arena[cell->tensor] || !cell->segment_count)
			continue;
		if (*at == NPUMEM_NONE) {
			*at = model->unit_count++;
			model->units[*at] = (struct tilesched_unit){
				.cell = i,
				.bytes = cell_bytes(g, i),
			};
		}
		unit = &model->units[*at];
		model->unit_of[i] = *at;
		unit->at_entry |= cell->writer == NPUMEM_NONE;
		/* Whoever reads what survives comes after these. */
		if (!unit->reads && (cell->survives || is_parameter(g, i)))
			unit->reads = 1;
	}
	return 0;
}

/* ------------------------------------------------------------------------- steps */

static int add_wait(struct maker *m, struct tilesched_step *step, uint32_t own, uint32_t before)
{
	struct tilesched_model *model = m->model;
	uint32_t op = m->op_of[before], count = m->place[before] - model->ops[op].first + 1;
	uint32_t at = m->wait_at[op];

	/* Those of its own operator are in order anyway. */
	if (op == own)
		return 0;
	if (at == NPUMEM_NONE || at < step->first_wait) {
		uint32_t end = step[1].first_wait;

		if (npuplan_grow(&model->waits, end, sizeof(*model->waits)))
			return -ENOMEM;
		model->waits[end] = (struct tilesched_wait){ op, count };
		m->wait_at[op] = end;
		step[1].first_wait = end + 1;
	} else if (model->waits[at].count < count) {
		model->waits[at].count = count;
	}
	return 0;
}

static bool is_late(const struct npumem_step *step, const struct npumem_access *access)
{
	return !(step->flags & NPUMEM_STEP_STAGED) || access->mode == NPUMEM_ACCESS_UPDATE;
}

/* Reads that are over before the step stores, or those that are not. */
static void add_reads(struct maker *m, uint32_t place, bool late)
{
	struct tilesched_model *model = m->model;
	struct tilesched_step *step = &model->steps[place];
	const struct npuv_graph *g = m->cells;
	const struct npumem_step *record = npuv_step(g, step->step);
	uint32_t end = record->first_access + record->access_count;
	struct npuv_cells it;

	for (uint32_t a = record->first_access; a < end; a++) {
		if (is_late(record, npuv_access(g, a)) != late)
			continue;
		npuv_for_each_read(it, g, a)
		{
			uint32_t unit = model->unit_of[it.cell];

			if (unit == NPUMEM_NONE || m->seen[unit] == place ||
			    (!late && m->late[unit] == place))
				continue;
			m->seen[unit] = place;
			model->units[unit].reads++;
			model->reads[step[1].first_read++] = unit;
		}
	}
}

/* What the step reads, counted once; and what the one before it has read, too. */
static void count_reads(struct maker *m, uint32_t place, uint32_t first_of_op)
{
	struct tilesched_model *model = m->model;
	struct tilesched_step *step = &model->steps[place];
	const struct npuv_graph *g = m->cells;
	const struct npumem_step *record = npuv_step(g, step->step);
	uint32_t end = record->first_access + record->access_count;
	struct npuv_cells it;

	for (uint32_t a = record->first_access; a < end; a++) {
		npuv_for_each_read(it, g, a)
		{
			uint32_t cell = it.cell;
			uint64_t bytes = cell_bytes(g, cell);

			if (is_late(record, npuv_access(g, a)) &&
			    model->unit_of[cell] != NPUMEM_NONE)
				m->late[model->unit_of[cell]] = place;
			if (is_parameter(g, cell) || m->read_by[cell] == place)
				continue;
			if (place > first_of_op && m->read_by[cell] == place - 1)
				step->kept += bytes;
			model->all_reads += bytes;
			m->read_by[cell] = place;
		}
	}
}

static int make_step(struct maker *m, uint32_t place)
{
	struct tilesched_model *model = m->model;
	struct tilesched_step *step = &model->steps[place];
	const struct npuv_graph *g = m->cells;
	const struct npumem_step *record = npuv_step(g, step->step);
	uint32_t op = m->op_of[step->step];
	uint32_t end = record->first_access + record->access_count;
	struct npuv_cells it;
	int err = 0;

	step[1].first_read = step->first_read;
	step[1].first_write = step->first_write;
	step[1].first_wait = step->first_wait;
	count_reads(m, place, model->ops[op].first);
	add_reads(m, place, false);
	step->first_late = step[1].first_read;
	add_reads(m, place, true);
	for (uint32_t a = record->first_access; a < end; a++) {
		/* What is updated is there already. */
		if (npuv_access(g, a)->mode != NPUMEM_ACCESS_WRITE)
			continue;
		npuv_for_each_write(it, g, a) if (model->unit_of[it.cell] != NPUMEM_NONE)
			model->writes[step[1].first_write++] = model->unit_of[it.cell];
	}
	for (uint32_t k = m->first_before[step->step]; k < m->first_before[step->step + 1] && !err;
	     k++)
		err = add_wait(m, step, op, m->before[k]);
	if (step[1].first_wait - step->first_wait > 1)
		model->ops[op].branches = true;
	return err;
}

static int make(struct maker *m)
{
	struct tilesched_model *model = m->model;
	const struct npuv_graph *g = m->cells;
	size_t steps = g->steps.count, reads = 0;
	int err;

	m->op_of = array(steps, 0);
	m->place = array(steps, 0);
	m->first_before = array(steps + 1, 0);
	m->read_by = array(g->cell_count, 0xff);
	model->steps = calloc(steps + 1, sizeof(*model->steps));
	for (uint32_t i = 0; i < g->cell_count; i++)
		reads += g->cells[i].reads;
	model->reads = array(reads, 0);
	model->writes = array(g->cell_count, 0);
	if (!m->op_of || !m->place || !m->first_before || !m->read_by || !model->steps ||
	    !model->reads || !model->writes)
		return -ENOMEM;
	err = find_before(m);
	if (!err)
		err = make_operators(m);
	if (!err)
		err = find_weights(m);
	if (!err)
		err = make_units(m);
	if (err)
		return err;
	m->seen = array(model->unit_count, 0xff);
	m->late = array(model->unit_count, 0xff);
	m->wait_at = array(model->op_count, 0xff);
	if (!m->seen || !m->late || !m->wait_at)
		return -ENOMEM;
	for (uint32_t i = 0; i < steps && !err; i++)
		err = make_step(m, i);
	return err;
}

int tilesched_model_init(struct tilesched_model *model, const struct npuplan_graph *graph,
			 const struct npuv_graph *cells)
{
	struct maker m = { .model = model, .graph = graph, .cells = cells };
	int err;

	*model = (struct tilesched_model){ .cells = cells };
	err = make(&m);
	free_all(m.op_of, m.place, m.first_before, m.before, m.seen, m.late, m.read_by, m.wait_at);
	if (err)
		tilesched_model_fini(model);
	return err;
}

void tilesched_model_fini(struct tilesched_model *model)
{
	free_all(model->ops, model->steps, model->units, model->waits, model->reads, model->writes,
		 model->unit_of);
	*model = (struct tilesched_model){ 0 };
}
