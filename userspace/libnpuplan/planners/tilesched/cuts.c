// SPDX-License-Identifier: MIT
#include "cuts.h"

#include <string.h>

/* Nodes of the network: these two, then steps and units of which not all is known. */
enum { SOURCE, SINK, FIRST };

uint32_t tilesched_late_reads(const struct tilesched_model *model, uint32_t s)
{
	const struct tilesched_step *step = &model->steps[s];

	return tilesched_works_in_place(model->cells, step->step) ? step[1].first_read :
								    step->first_late;
}

static int find_units(struct tilesched_cuts *cuts)
{
	const struct tilesched_model *model = cuts->model;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	uint32_t *reads = npuplan_pool_take(&pool, model->unit_count, sizeof(*reads));

	if (!reads)
		return -ENOMEM;
	for (uint32_t u = 0; u < model->unit_count; u++) {
		cuts->writer[u] = NPUMEM_NONE;
		cuts->counted[u] = model->units[u].at_entry;
	}
	for (uint32_t s = 0; s < model->step_count; s++) {
		const struct tilesched_step *step = &model->steps[s];

		for (uint32_t k = step->first_read; k < step[1].first_read; k++)
			reads[model->reads[k]]++;
		for (uint32_t k = step->first_write; k < step[1].first_write; k++) {
			uint32_t u = model->writes[k];

			cuts->counted[u] = !model->units[u].at_entry &&
					   (cuts->writer[u] == NPUMEM_NONE || cuts->writer[u] == s);
			cuts->writer[u] = s;
		}
	}
	for (uint32_t u = 0; u < model->unit_count; u++)
		cuts->stays[u] = model->units[u].reads > reads[u];
	return 0;
}

/* At most so many steps are needed by one. */
static uint32_t most_needed(const struct tilesched_model *model, uint32_t s)
{
	const struct tilesched_step *step = &model->steps[s];
	uint32_t reads = step[1].first_read - step->first_read;
	uint32_t waits = step[1].first_wait - step->first_wait + 1;

	return waits > reads ? waits : reads;
}

int tilesched_cuts_init(struct tilesched_cuts *cuts, const struct tilesched_model *model,
			const uint32_t *order)
{
	uint32_t steps = model->step_count, units = model->unit_count;
	uint32_t reads = model->steps[steps].first_read, waits = model->steps[steps].first_wait;
	struct npuplan_pool *pool = &cuts->pool;
	uint32_t most = 0;

	*cuts = (struct tilesched_cuts){ .model = model, .order = order };
	cuts->op_of = npuplan_pool_take(pool, steps, sizeof(*cuts->op_of));
	cuts->writer = npuplan_pool_take(pool, units, sizeof(*cuts->writer));
	cuts->counted = npuplan_pool_take(pool, units, sizeof(*cuts->counted));
	cuts->stays = npuplan_pool_take(pool, units, sizeof(*cuts->stays));
	cuts->side = npuplan_pool_take(pool, steps, sizeof(*cuts->side));
	cuts->step_nodes = npuplan_pool_take(pool, steps, sizeof(*cuts->step_nodes));
	cuts->unit_nodes = npuplan_pool_take(pool, units, sizeof(*cuts->unit_nodes));
	cuts->held = npuplan_pool_take(pool, units, sizeof(*cuts->held));
	for (uint32_t s = 0; s < steps; s++)
		most = most_needed(model, s) > most ? most_needed(model, s) : most;
	cuts->needed = npuplan_pool_take(pool, most, sizeof(*cuts->needed));
	/* A step's edges to what it needs, and those of units and reads. */
	if (pool->failed ||
	    npuplan_net_init(&cuts->net, FIRST + steps + units,
			     steps + units + reads + (waits > reads ? waits : reads)))
		return -ENOMEM;
	for (uint32_t o = 0; o < model->op_count; o++)
		for (uint32_t i = 0; i < model->ops[o].count; i++)
			cuts->op_of[model->ops[o].first + i] = o;
	return find_units(cuts);
}

void tilesched_cuts_fini(struct tilesched_cuts *cuts)
{
	npuplan_pool_free(&cuts->net.pool);
	npuplan_pool_free(&cuts->pool);
}

/* --------------------------------------------------------------------- what is known */

/*
 * List the steps that a step needs: those that its waits name and the one before it, where all
 * operators' steps keep their order; else those that write what it reads. Returns their number.
 */
static uint32_t list_needed(struct tilesched_cuts *cuts, uint32_t s,
			    enum tilesched_siblings siblings)
{
	const struct tilesched_model *model = cuts->model;
	const struct tilesched_step *step = &model->steps[s];
	uint32_t count = 0;

	if (siblings == TILESCHED_KEPT) {
		if (s > model->ops[cuts->op_of[s]].first)
			cuts->needed[count++] = s - 1;
		for (uint32_t k = step->first_wait; k < step[1].first_wait; k++)
			cuts->needed[count++] =
				model->ops[model->waits[k].op].first + model->waits[k].count - 1;
		return count;
	}
	for (uint32_t k = step->first_read; k < step[1].first_read; k++) {
		uint32_t u = model->reads[k];

		if (cuts->counted[u] && cuts->writer[u] != NPUMEM_NONE && cuts->writer[u] != s)
			cuts->needed[count++] = cuts->writer[u];
	}
	return count;
}

static void set_siblings(struct tilesched_cuts *cuts, uint32_t s, enum tilesched_siblings siblings)
{
	const struct tilesched_op *op = &cuts->model->ops[cuts->op_of[s]];

	if (siblings == TILESCHED_ANY)
		return;
	for (uint32_t i = op->first; i < op->first + op->count; i++)
		cuts->side[i] = siblings == TILESCHED_RUN || (siblings == TILESCHED_KEPT && i < s) ?
					TILESCHED_HAS_RUN :
					TILESCHED_WAITS;
}

/* Whether a step of the graph needs one that waits. */
static bool has_to_wait(struct tilesched_cuts *cuts, uint32_t s, enum tilesched_siblings siblings)
{
	for (uint32_t i = list_needed(cuts, s, siblings); i-- > 0;)
		if (cuts->side[cuts->needed[i]] == TILESCHED_WAITS)
			return true;
	return false;
}

static void let_run(struct tilesched_cuts *cuts, uint32_t s, enum tilesched_siblings siblings)
{
	for (uint32_t i = list_needed(cuts, s, siblings); i-- > 0;)
		cuts->side[cuts->needed[i]] = TILESCHED_HAS_RUN;
}

/*
 * Find the steps that have run for certain, and those that wait: what these need, and what needs
 * those. The network has only the others.
 */
static void find_sides(struct tilesched_cuts *cuts, struct tilesched_cut cut)
{
	uint32_t count = cuts->model->step_count;

	memset(cuts->side, TILESCHED_UNKNOWN, count * sizeof(*cuts->side));
	set_siblings(cuts, cut.step, cut.siblings);
	let_run(cuts, cut.step, cut.siblings);
	cuts->side[cut.step] = TILESCHED_WAITS;
	for (uint32_t i = count; i-- > 0;)
		if (cuts->side[cuts->order[i]] == TILESCHED_HAS_RUN)
			let_run(cuts, cuts->order[i], cut.siblings);
	for (uint32_t i = 0; i < count; i++)
		if (cuts->side[cuts->order[i]] == TILESCHED_UNKNOWN &&
		    has_to_wait(cuts, cuts->order[i], cut.siblings))
			cuts->side[cuts->order[i]] = TILESCHED_WAITS;
}

/* ----------------------------------------------------------------------- the network */

/* Find the units that a step reads which waits; of the step that stores, only its late reads do. */
static void find_held(struct tilesched_cuts *cuts, struct tilesched_cut cut)
{
	const struct tilesched_model *model = cuts->model;

	memcpy(cuts->held, cuts->stays, model->unit_count * sizeof(*cuts->held));
	for (uint32_t s = 0; s < model->step_count; s++) {
		uint32_t first = model->steps[s].first_read, end = model->steps[s + 1].first_read;

		if (cuts->side[s] != TILESCHED_WAITS)
			continue;
		if (s == cut.step && cut.stores)
			first = tilesched_late_reads(model, s);
		for (uint32_t k = first; k < end; k++)
			cuts->held[model->reads[k]] = true;
	}
}

/* The node of a unit's writer, or the source if it has run; NPUMEM_NONE: it waits. */
static uint32_t writer_node(const struct tilesched_cuts *cuts, uint32_t u)
{
	uint32_t writer = cuts->writer[u];

	if (writer == NPUMEM_NONE || cuts->side[writer] == TILESCHED_HAS_RUN)
		return SOURCE;
	return cuts->side[writer] == TILESCHED_WAITS ? NPUMEM_NONE : cuts->step_nodes[writer];
}

/* Add the units that live for certain once they are written; the bytes of those that are. */
static uint64_t add_held(struct tilesched_cuts *cuts)
{
	const struct tilesched_model *model = cuts->model;
	uint64_t bytes = 0;

	for (uint32_t u = 0; u < model->unit_count; u++) {
		uint32_t from = cuts->counted[u] && cuts->held[u] ? writer_node(cuts, u) :
								    NPUMEM_NONE;

		cuts->unit_nodes[u] = NPUMEM_NONE;
		if (from == SOURCE)
			bytes += model->units[u].bytes;
		else if (from != NPUMEM_NONE)
			npuplan_net_add(&cuts->net, from, SINK, model->units[u].bytes, 0);
	}
	return bytes;
}

/* Add what a step of which nothing is known needs and reads. */
static void add_step(struct tilesched_cuts *cuts, uint32_t s, enum tilesched_siblings siblings,
		     uint32_t *nodes)
{
	const struct tilesched_model *model = cuts->model;
	uint32_t node = cuts->step_nodes[s];

	for (uint32_t i = list_needed(cuts, s, siblings); i-- > 0;)
		if (cuts->side[cuts->needed[i]] == TILESCHED_UNKNOWN)
			npuplan_net_add(&cuts->net, node, cuts->step_nodes[cuts->needed[i]],
					NPUPLAN_NET_ENDLESS, 0);
	for (uint32_t k = model->steps[s].first_read; k < model->steps[s + 1].first_read; k++) {
		uint32_t u = model->reads[k], from;

		if (!cuts->counted[u])
			continue;
		from = writer_node(cuts, u);
		if (cuts->held[u] || from == node)
			continue;
		if (cuts->unit_nodes[u] == NPUMEM_NONE) {
			cuts->unit_nodes[u] = (*nodes)++;
			npuplan_net_add(&cuts->net, from, cuts->unit_nodes[u],
					model->units[u].bytes, 0);
		}
		npuplan_net_add(&cuts->net, cuts->unit_nodes[u], node, NPUPLAN_NET_ENDLESS, 0);
	}
}

/*
 * Make the network. On the source's side are the steps that have run. A step there has those there
 * that it needs; a unit whose writer is there and one of whose readers is not lies on the sink's
 * side, so that its edge from the writer is cut. Returns the bytes that live anyway.
 */
static uint64_t make_net(struct tilesched_cuts *cuts, struct tilesched_cut cut)
{
	const struct tilesched_model *model = cuts->model;
	uint32_t nodes = FIRST;
	uint64_t bytes;

	find_held(cuts, cut);
	for (uint32_t s = 0; s < model->step_count; s++)
		cuts->step_nodes[s] = cuts->side[s] == TILESCHED_UNKNOWN ? nodes++ : NPUMEM_NONE;
	npuplan_net_clear(&cuts->net, nodes + model->unit_count);
	bytes = add_held(cuts);
	for (uint32_t s = 0; s < model->step_count; s++)
		if (cuts->side[s] == TILESCHED_UNKNOWN)
			add_step(cuts, s, cut.siblings, &nodes);
	cuts->net.node_count = nodes;
	return bytes;
}

/* The bytes that a step writes. */
static uint64_t written(const struct tilesched_model *model, uint32_t s)
{
	uint64_t bytes = 0;

	for (uint32_t k = model->steps[s].first_write; k < model->steps[s + 1].first_write; k++)
		bytes += model->units[model->writes[k]].bytes;
	return bytes;
}

uint64_t tilesched_cut(struct tilesched_cuts *cuts, struct tilesched_cut cut, uint64_t looks,
		       bool *whole)
{
	const struct tilesched_model *model = cuts->model;
	uint64_t bytes = cut.stores ? written(model, cut.step) : 0, end;

	find_sides(cuts, cut);
	bytes += make_net(cuts, cut);
	cuts->net.looked = 0;
	end = looks < UINT64_MAX ? looks : UINT64_MAX - 1;
	bytes += npuplan_net_flow(&cuts->net, SOURCE, SINK, end);
	*whole = cuts->net.looked < end;
	cuts->looked += cuts->net.looked + model->step_count + model->unit_count +
			2 * (uint64_t)model->steps[model->step_count].first_read;
	return bytes;
}

bool tilesched_cut_has(const struct tilesched_cuts *cuts, uint32_t step)
{
	if (cuts->side[step] != TILESCHED_UNKNOWN)
		return cuts->side[step] == TILESCHED_HAS_RUN;
	return cuts->net.level[cuts->step_nodes[step]] != NPUMEM_NONE;
}
