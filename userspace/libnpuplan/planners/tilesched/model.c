// SPDX-License-Identifier: MIT
#include "model.h"

#include "base/sorted.h"

/* In place of an operator: those of the source model write the tensor, each its part. */
#define SHARED (NPUMEM_NONE - 1)

/*
 * struct model_maker - makes the model of a graph
 * @op_of: per step of the graph, its operator
 * @number: per step of the graph, its number in the model
 * @first_before: per step of the graph, its first entry in @before, which has the steps that come
 *	before it
 * @seen, @late: per unit, the last step that was seen to read it, and the last one whose read lasts
 *	until it has stored
 * @read_by: per cell, the last step of the model that was seen to read it
 * @wait_at: per operator, the entry in waits[] for the step at hand, if that has one
 * @pool: memory of all arrays of this struct but @before
 */
struct model_maker {
	struct tilesched_model *model;
	const struct npuplan_graph *graph;
	const struct npuv_graph *cells;
	uint32_t *op_of;
	uint32_t *number;
	uint32_t *first_before;
	uint32_t *before;
	uint32_t before_count;
	uint32_t *seen;
	uint32_t *late;
	uint32_t *read_by;
	uint32_t *wait_at;
	struct npuplan_pool pool;
};

static uint32_t *zeroes(struct npuplan_pool *pool, size_t count)
{
	return npuplan_pool_take(pool, count, sizeof(uint32_t));
}

static uint32_t *nones(struct npuplan_pool *pool, size_t count)
{
	uint32_t *made = zeroes(pool, count);

	for (size_t i = 0; made && i < count; i++)
		made[i] = NPUMEM_NONE;
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

static int add_before(struct model_maker *m, uint32_t step, uint32_t other)
{
	return other == step ? 0 : npuplan_append(&m->before, &m->before_count, &other, 1);
}

/* Find, per cell, the version of the same bytes before it; NPUMEM_NONE: it is the first. */
static uint32_t *find_versions(struct model_maker *m)
{
	const struct npuv_graph *g = m->cells;
	uint32_t *before = nones(&m->pool, g->cell_count),
		 *last = nones(&m->pool, g->segment_count);

	/* Versions are numbered upwards, and have the same segments. */
	for (uint32_t i = 0; i < g->cell_count && before && last; i++) {
		if (!g->cells[i].segment_count)
			continue;
		before[i] = last[g->cells[i].first_segment];
		last[g->cells[i].first_segment] = i;
	}
	return before;
}

/*
 * Find which steps come before each step: the writer of a cell comes before its readers, and all of
 * these come before a step that updates its bytes, or writes them anew.
 */
static int find_before(struct model_maker *m)
{
	const struct npuv_graph *g = m->cells;
	/* The steps that read cell i are readers[start[i] .. start[i + 1]). */
	uint32_t *start = zeroes(&m->pool, (size_t)g->cell_count + 2), count = 0, *readers;
	const uint32_t *version_before = find_versions(m);
	struct npuv_cells it;
	int err = 0;

	for (uint32_t i = 0; i < g->cell_count && start; i++) {
		start[i + 1] = count;
		count += g->cells[i].reads;
	}
	readers = zeroes(&m->pool, count);
	if (m->pool.failed)
		return -ENOMEM;
	for (uint32_t a = 0; a < g->accesses.count; a++)
		npuv_for_each_read(it, g, a) readers[start[it.cell + 1]++] = g->access_step[a];
	for (uint32_t s = 0; s < g->steps.count && !err; s++) {
		const struct npumem_step *step = npuv_step(g, s);
		uint32_t end = step->first_access + step->access_count;

		m->first_before[s] = m->before_count;
		for (uint32_t a = step->first_access; a < end; a++) {
			npuv_for_each_read(it, g, a)
			{
				uint32_t writer = g->cells[it.cell].writer;

				if (!err && writer != NPUMEM_NONE)
					err = add_before(m, s, g->access_step[writer]);
			}
			npuv_for_each_write(it, g, a)
			{
				uint32_t old = version_before[it.cell], writer;

				if (old == NPUMEM_NONE)
					continue;
				writer = g->cells[old].writer;
				if (!err && writer != NPUMEM_NONE)
					err = add_before(m, s, g->access_step[writer]);
				for (uint32_t r = start[old]; r < start[old + 1] && !err; r++)
					err = add_before(m, s, readers[r]);
			}
		}
	}
	m->first_before[g->steps.count] = m->before_count;
	return err;
}

/* --------------------------------------------------------------------- operators */

/* Note that all operators from a to b are one. */
static void join(int32_t *change, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	change[a < b ? a : b]++;
	change[a < b ? b : a]--;
}

/* Mark the tensors that several operators write, since concats are joined. */
static void mark_shared(const struct model_maker *m, uint32_t *op_of_tensor)
{
	for (uint32_t i = 0; i < m->graph->joined_count; i++)
		op_of_tensor[m->graph->joined[i].base] = SHARED;
}

/*
 * Number operators by their first step, and return how many they are. @op_of_tensor: SHARED: the
 * operators that write it are those of the source model, each of @op_of_source. @change: out: +1
 * and -1 where a range of them that are one begins and ends.
 */
static uint32_t find_operators(struct model_maker *m, uint32_t *op_of_tensor,
			       uint32_t *op_of_source, int32_t *change)
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

			uint32_t *known = &op_of_tensor[tensor];

			if (access->mode == NPUMEM_ACCESS_READ)
				continue;
			if (*known == SHARED)
				known = &op_of_source[m->graph->steps[s].op];
			if (op == NPUMEM_NONE)
				op = *known == NPUMEM_NONE ? count++ : *known;
			if (*known == NPUMEM_NONE)
				*known = op;
			join(change, op, *known);
		}
		m->op_of[s] = op == NPUMEM_NONE ? count++ : op;
	}
	/* An operator that needs a later one is one with that and with all between them. */
	for (uint32_t s = 0; s < g->steps.count; s++)
		for (uint32_t k = m->first_before[s]; k < m->first_before[s + 1]; k++)
			if (m->op_of[m->before[k]] > m->op_of[s])
				join(change, m->op_of[s], m->op_of[m->before[k]]);
	return count;
}

/* Give operators that are one the same number, and number the steps operator by operator. */
static int make_operators(struct model_maker *m)
{
	struct tilesched_model *model = m->model;
	uint32_t *op_of_tensor = nones(&m->pool, m->cells->tensors.count);
	uint32_t *op_of_source = nones(&m->pool, m->graph->op_count);
	uint32_t steps = m->cells->steps.count, count, *first, *by_op;
	int32_t *change = npuplan_pool_take(&m->pool, (size_t)steps + 1, sizeof(*change));
	int32_t depth = 0;

	if (m->pool.failed)
		return -ENOMEM;
	mark_shared(m, op_of_tensor);
	count = find_operators(m, op_of_tensor, op_of_source, change);
	for (uint32_t i = 0; i < count; i++) {
		/* The operator has a new number unless it is one with the operator before it. */
		model->op_count += depth == 0;
		depth += change[i];
		change[i] = (int32_t)model->op_count - 1;
	}
	model->ops = npuplan_pool_take(&model->pool, model->op_count, sizeof(*model->ops));
	first = zeroes(&m->pool, (size_t)model->op_count + 2);
	by_op = zeroes(&m->pool, steps);
	if (model->pool.failed || m->pool.failed)
		return -ENOMEM;
	for (uint32_t s = 0; s < steps; s++)
		m->op_of[s] = change[m->op_of[s]];
	npuplan_counting_sort(m->op_of, steps, sizeof(*m->op_of), 0, model->op_count, first, by_op);
	for (uint32_t o = 0; o < model->op_count; o++)
		model->ops[o] = (struct tilesched_op){ first[o], first[o + 1] - first[o] };
	for (uint32_t i = 0; i < steps; i++) {
		model->steps[i].step = by_op[i];
		m->number[by_op[i]] = i;
	}
	model->step_count = steps;
	return 0;
}

/*
 * Find the bytes of weights of each operator: the parameters of the source model's operator if it
 * is known, or else those that the steps access.
 */
static int find_weights(struct model_maker *m)
{
	struct tilesched_model *model = m->model;
	const struct npuv_graph *g = m->cells;
	/* Per tensor, one more than the number of the operator that has counted it last. */
	uint32_t *counted = zeroes(&m->pool, g->tensors.count);

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

/*
 * Make the units of the cells; all versions of the same bytes have the same segments, and are one
 * unit.
 */
static int make_units(struct model_maker *m)
{
	struct tilesched_model *model = m->model;
	const struct npuv_graph *g = m->cells;
	AUTO_HEAP bool *in_arena = npuplan_tensors_in_arena(g);
	uint32_t *unit_at = nones(&m->pool, g->segment_count);

	model->unit_of = nones(&model->pool, g->cell_count);
	model->units = npuplan_pool_take(&model->pool, g->cell_count, sizeof(*model->units));
	if (!in_arena || m->pool.failed || model->pool.failed)
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
		/* What survives the exit has one reader more, who comes after all steps. */
		if (!unit->reads && (cell->survives || is_parameter(g, i)))
			unit->reads = 1;
	}
	return 0;
}

/* ------------------------------------------------------------------------- steps */

static int add_wait(struct model_maker *m, struct tilesched_step *step, uint32_t own,
		    uint32_t before)
{
	struct tilesched_model *model = m->model;
	uint32_t op = m->op_of[before], count = m->number[before] - model->ops[op].first + 1;
	uint32_t at = m->wait_at[op];

	/* Steps of one operator are in order anyway. */
	if (op == own)
		return 0;
	if (at == NPUMEM_NONE || at < step->first_wait) {
		struct tilesched_wait wait = { op, count };

		m->wait_at[op] = step[1].first_wait;
		return npuplan_append(&model->waits, &step[1].first_wait, &wait, 1);
	} else if (model->waits[at].count < count) {
		model->waits[at].count = count;
	}
	return 0;
}

/*
 * List the units that a step reads, each once, and count the bytes that the step before it has
 * read, too.
 */
static void add_reads(struct model_maker *m, uint32_t number, const struct npumem_step *record)
{
	struct tilesched_model *model = m->model;
	struct tilesched_step *step = &model->steps[number];
	const struct npuv_graph *g = m->cells;
	uint32_t first_of_op = model->ops[m->op_of[step->step]].first, unit;
	struct npuv_cells it;

	for (uint32_t i = 0; i < record->access_count; i++) {
		uint32_t a = record->first_access + i;
		bool late = !(record->flags & NPUMEM_STEP_STAGED) ||
			    npuv_access(g, a)->mode == NPUMEM_ACCESS_UPDATE;

		npuv_for_each_read(it, g, a)
		{
			uint32_t cell = it.cell;
			uint64_t bytes = cell_bytes(g, cell);

			unit = model->unit_of[cell];
			if (unit != NPUMEM_NONE && m->seen[unit] != number) {
				m->seen[unit] = number;
				model->units[unit].reads++;
				model->reads[step[1].first_read++] = unit;
			}
			if (unit != NPUMEM_NONE && late)
				m->late[unit] = number;
			if (is_parameter(g, cell) || m->read_by[cell] == number)
				continue;
			if (number > first_of_op && m->read_by[cell] == number - 1)
				step->kept += bytes;
			model->all_reads += bytes;
			m->read_by[cell] = number;
		}
	}
	/* Reads that are over before the step stores come first. */
	for (uint32_t k = step->first_late = step->first_read; k < step[1].first_read; k++) {
		unit = model->reads[k];
		if (m->late[unit] == number)
			continue;
		model->reads[k] = model->reads[step->first_late];
		model->reads[step->first_late++] = unit;
	}
}

static int make_step(struct model_maker *m, uint32_t number)
{
	struct tilesched_model *model = m->model;
	struct tilesched_step *step = &model->steps[number];
	const struct npuv_graph *g = m->cells;
	const struct npumem_step *record = npuv_step(g, step->step);
	uint32_t op = m->op_of[step->step];
	uint32_t end = m->first_before[step->step + 1];
	struct npuv_cells it;
	int err = 0;

	step[1].first_read = step->first_read;
	step[1].first_write = step->first_write;
	step[1].first_wait = step->first_wait;
	add_reads(m, number, record);
	for (uint32_t i = 0; i < record->access_count; i++) {
		/* Bytes that are updated are there already, so only writes make new ones. */
		if (npuv_access(g, record->first_access + i)->mode != NPUMEM_ACCESS_WRITE)
			continue;
		npuv_for_each_write(it, g, record->first_access + i)
		{
			if (model->unit_of[it.cell] != NPUMEM_NONE)
				model->writes[step[1].first_write++] = model->unit_of[it.cell];
		}
	}
	for (uint32_t k = m->first_before[step->step]; k < end && !err; k++)
		err = add_wait(m, step, op, m->before[k]);
	model->ops[op].branches |= step[1].first_wait - step->first_wait > 1;
	return err;
}

static int make(struct model_maker *m)
{
	struct tilesched_model *model = m->model;
	const struct npuv_graph *g = m->cells;
	size_t steps = g->steps.count, reads = 0;
	int err;

	for (uint32_t i = 0; i < g->cell_count; i++)
		reads += g->cells[i].reads;
	m->op_of = zeroes(&m->pool, steps);
	m->number = zeroes(&m->pool, steps);
	m->first_before = zeroes(&m->pool, steps + 1);
	m->read_by = nones(&m->pool, g->cell_count);
	model->steps = npuplan_pool_take(&model->pool, steps + 1, sizeof(*model->steps));
	model->reads = zeroes(&model->pool, reads);
	model->writes = zeroes(&model->pool, g->cell_count);
	if (m->pool.failed || model->pool.failed)
		return -ENOMEM;
	err = find_before(m);
	if (!err)
		err = make_operators(m);
	if (!err)
		err = find_weights(m);
	if (!err)
		err = make_units(m);
	m->seen = nones(&m->pool, model->unit_count);
	m->late = nones(&m->pool, model->unit_count);
	m->wait_at = nones(&m->pool, model->op_count);
	if (!err && m->pool.failed)
		err = -ENOMEM;
	for (uint32_t i = 0; i < steps && !err; i++)
		err = make_step(m, i);
	return err;
}

int tilesched_model_init(struct tilesched_model *model, const struct npuplan_graph *graph,
			 const struct npuv_graph *cells)
{
	struct model_maker m = { .model = model, .graph = graph, .cells = cells };
	int err;

	*model = (struct tilesched_model){ .cells = cells };
	err = make(&m);
	npuplan_free(m.before);
	npuplan_pool_free(&m.pool);
	return err;
}

void tilesched_model_fini(struct tilesched_model *model)
{
	npuplan_free(model->waits);
	npuplan_pool_free(&model->pool);
}

bool tilesched_works_in_place(const struct npuv_graph *cells, uint32_t step)
{
	const struct npumem_step *record = npuv_step(cells, step);

	for (uint32_t a = 0; a < record->access_count; a++)
		if (npuv_access(cells, record->first_access + a)->inplace != NPUMEM_NONE)
			return true;
	return false;
}
