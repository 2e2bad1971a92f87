// SPDX-License-Identifier: MIT
#include "least.h"

#include <string.h>

#include "base/net.h"
#include "base/sorted.h"

/* Nodes of the network: these two, then the steps, then the units. */
enum { SOURCE, SINK, STEPS };

/* What is known of a step when another one runs. */
enum side { UNKNOWN, HAS_RUN, WAITS };

/* Edges looked at before it is asked whether there is time: some tenths of a second. */
#define LOOKS_AT_ONCE 10000000ull

/*
 * struct least - the search for the bound
 * @writer: per unit, the step that writes it; NPUMEM_NONE: none does
 * @counted: per unit, whether it counts: one step writes it, or it is there at the entry and none
 *	does. What is written anew need not live before that
 * @stays: per unit, whether it survives the exit
 * @edge_of: per entry of the model's reads, the edge from the unit to the step
 * @run, @wait: per step, the edge from the source, and that to the sink
 * @behind: per step, the edge to the step of its operator before it; NPUMEM_NONE: it is the first
 * @op_of: per step, its operator
 * @side: per step, enum side
 * @order: the order given
 * @loads, @stores: per step, bytes that live when it loads and when it stores, in the order given
 * @net: the network, with the edges as they are before something flows, which @whole keeps
 * @looks: number of edges to look at
 */
struct least {
	const struct tilesched_model *model;
	uint32_t *writer;
	bool *counted;
	bool *stays;
	uint32_t *edge_of;
	uint32_t *run;
	uint32_t *wait;
	uint32_t *behind;
	uint32_t *op_of;
	uint8_t *side;
	const uint32_t *order;
	uint64_t *loads;
	uint64_t *stores;
	struct npuplan_net net;
	uint64_t looks;
	struct npuplan_net_edge *whole;
	struct npuplan_pool pool;
	struct tilesched_least found;
};

/* The first of a step's reads that last until it has stored, and whose bytes no output takes. */
static uint32_t late_reads(const struct tilesched_model *model, uint32_t s)
{
	const struct tilesched_step *step = &model->steps[s];

	return tilesched_works_in_place(model->cells, step->step) ? step[1].first_read :
								    step->first_late;
}

/* ------------------------------------------------------------------ the bytes that live */

static int find_units(struct least *l)
{
	const struct tilesched_model *model = l->model;
	uint32_t *reads = npuplan_pool_take(&l->pool, model->unit_count, sizeof(*reads));

	l->writer = npuplan_pool_take(&l->pool, model->unit_count, sizeof(*l->writer));
	l->counted = npuplan_pool_take(&l->pool, model->unit_count, sizeof(*l->counted));
	l->stays = npuplan_pool_take(&l->pool, model->unit_count, sizeof(*l->stays));
	if (l->pool.failed)
		return -ENOMEM;
	for (uint32_t u = 0; u < model->unit_count; u++) {
		l->writer[u] = NPUMEM_NONE;
		l->counted[u] = model->units[u].at_entry;
	}
	for (uint32_t s = 0; s < model->step_count; s++) {
		const struct tilesched_step *step = &model->steps[s];

		for (uint32_t k = step->first_read; k < step[1].first_read; k++)
			reads[model->reads[k]]++;
		for (uint32_t k = step->first_write; k < step[1].first_write; k++) {
			uint32_t u = model->writes[k];

			l->counted[u] = !model->units[u].at_entry &&
					(l->writer[u] == NPUMEM_NONE || l->writer[u] == s);
			l->writer[u] = s;
		}
	}
	for (uint32_t u = 0; u < model->unit_count; u++)
		l->stays[u] = model->units[u].reads > reads[u];
	return 0;
}

/* Whether the read at @k of a step is of bytes that another step writes. */
static bool needs(const struct least *l, uint32_t s, uint32_t k)
{
	uint32_t u = l->model->reads[k];

	return l->counted[u] && l->writer[u] != NPUMEM_NONE && l->writer[u] != s;
}

/* The bytes that a step writes. */
static uint64_t written(const struct least *l, uint32_t s)
{
	const struct tilesched_step *step = &l->model->steps[s];
	uint64_t bytes = 0;

	for (uint32_t k = step->first_write; k < step[1].first_write; k++)
		bytes += l->model->units[l->model->writes[k]].bytes;
	return bytes;
}

/*
 * Find what lives at each step of the order. No other set of steps that have run before a step
 * says that more has to, so that steps at which little lives need not be looked at.
 */
static int find_lives(struct least *l)
{
	const struct tilesched_model *model = l->model;
	uint32_t *left = npuplan_pool_take(&l->pool, model->unit_count, sizeof(*left));
	uint64_t live = 0, entering = 0, leaving = 0;

	l->loads = npuplan_pool_take(&l->pool, model->step_count, sizeof(*l->loads));
	l->stores = npuplan_pool_take(&l->pool, model->step_count, sizeof(*l->stores));
	if (l->pool.failed)
		return -ENOMEM;
	for (uint32_t u = 0; u < model->unit_count; u++) {
		left[u] = model->units[u].reads;
		if (model->units[u].at_entry && l->counted[u] && left[u])
			live += model->units[u].bytes;
		/* What enters and what leaves is there at once. */
		if (model->units[u].at_entry)
			entering += model->units[u].bytes;
		if (l->stays[u])
			leaving += model->units[u].bytes;
	}
	l->found.any = l->found.kept = leaving > entering ? leaving : entering;
	for (uint32_t i = 0; i < model->step_count; i++) {
		uint32_t s = l->order[i], late = late_reads(model, s);
		const struct tilesched_step *step = &model->steps[s];

		l->loads[s] = live;
		for (uint32_t k = step->first_read; k < step[1].first_read; k++) {
			uint32_t u = model->reads[k];

			if (k == late)
				l->stores[s] = live;
			if (!--left[u] && l->counted[u])
				live -= model->units[u].bytes;
		}
		if (late == step[1].first_read)
			l->stores[s] = live;
		l->stores[s] += written(l, s);
		for (uint32_t k = step->first_write; k < step[1].first_write; k++)
			if (l->counted[model->writes[k]] && left[model->writes[k]])
				live += model->units[model->writes[k]].bytes;
	}
	return 0;
}

/* -------------------------------------------------------------------------- the network */

/*
 * On the source's side are the steps that have run. A step there has those there that it needs; a
 * unit whose writer is there and one of whose readers is not lies on the sink's side, so that its
 * edge from the writer is cut.
 */
static int make_net(struct least *l)
{
	const struct tilesched_model *model = l->model;
	uint32_t steps = model->step_count, units = model->unit_count;
	uint32_t reads = model->steps[steps].first_read;
	struct npuplan_net *net = &l->net;

	l->edge_of = npuplan_pool_take(&l->pool, reads, sizeof(*l->edge_of));
	l->run = npuplan_pool_take(&l->pool, steps, sizeof(*l->run));
	l->wait = npuplan_pool_take(&l->pool, steps, sizeof(*l->wait));
	l->behind = npuplan_pool_take(&l->pool, steps, sizeof(*l->behind));
	l->op_of = npuplan_pool_take(&l->pool, steps, sizeof(*l->op_of));
	l->side = npuplan_pool_take(&l->pool, steps, sizeof(*l->side));
	if (l->pool.failed ||
	    npuplan_net_init(net, STEPS + steps + units, 3 * steps + 2 * (units + reads)))
		return -ENOMEM;
	for (uint32_t s = 0; s < steps; s++) {
		const struct tilesched_step *step = &model->steps[s];

		l->run[s] = npuplan_net_add(net, SOURCE, STEPS + s, 0, 0);
		l->wait[s] = npuplan_net_add(net, STEPS + s, SINK, 0, 0);
		for (uint32_t k = step->first_read; k < step[1].first_read; k++) {
			uint32_t u = model->reads[k], writer = l->writer[u];

			l->edge_of[k] = npuplan_net_add(net, STEPS + steps + u, STEPS + s,
							NPUPLAN_NET_ENDLESS, 0);
			if (needs(l, s, k))
				npuplan_net_add(net, STEPS + s, STEPS + writer, NPUPLAN_NET_ENDLESS,
						0);
		}
	}
	for (uint32_t o = 0; o < model->op_count; o++) {
		const struct tilesched_op *op = &model->ops[o];

		for (uint32_t s = op->first; s < op->first + op->count; s++) {
			l->op_of[s] = o;
			l->behind[s] = s == op->first ?
					       NPUMEM_NONE :
					       npuplan_net_add(net, STEPS + s, STEPS + s - 1, 0, 0);
		}
	}
	for (uint32_t u = 0; u < units; u++) {
		uint32_t writer = l->writer[u];

		if (!l->counted[u])
			continue;
		npuplan_net_add(net, writer == NPUMEM_NONE ? SOURCE : STEPS + writer,
				STEPS + steps + u, model->units[u].bytes, 0);
		if (l->stays[u])
			npuplan_net_add(net, STEPS + steps + u, SINK, NPUPLAN_NET_ENDLESS, 0);
	}
	l->whole = npuplan_pool_take(&l->pool, net->edge_count, sizeof(*l->whole));
	if (!l->whole)
		return -ENOMEM;
	memcpy(l->whole, net->edges, net->edge_count * sizeof(*l->whole));
	return 0;
}

/* enum sibling - what is known of the other steps of a step's operator */
enum sibling {
	SIBLINGS_ANY,  /* nothing */
	SIBLINGS_KEPT, /* those before it have run, those behind it have not; so of all operators */
	SIBLINGS_WAIT, /* none has run */
	SIBLINGS_RUN,  /* all have run */
};

static void set_siblings(struct least *l, uint32_t s, enum sibling siblings)
{
	const struct tilesched_op *op = &l->model->ops[l->op_of[s]];

	if (siblings == SIBLINGS_ANY)
		return;
	for (uint32_t i = op->first; i < op->first + op->count; i++)
		l->side[i] = siblings == SIBLINGS_RUN || (siblings == SIBLINGS_KEPT && i < s) ?
				     HAS_RUN :
				     WAITS;
}

/* Whether a step of the graph needs one that waits. */
static bool has_to_wait(const struct least *l, uint32_t s, bool kept)
{
	const struct tilesched_step *step = &l->model->steps[s];

	if (kept && l->behind[s] != NPUMEM_NONE && l->side[s - 1] == WAITS)
		return true;
	for (uint32_t k = step->first_read; k < step[1].first_read; k++)
		if (needs(l, s, k) && l->side[l->writer[l->model->reads[k]]] == WAITS)
			return true;
	return false;
}

static void let_run(struct least *l, uint32_t s, bool kept)
{
	const struct tilesched_step *step = &l->model->steps[s];

	if (kept && l->behind[s] != NPUMEM_NONE)
		l->side[s - 1] = HAS_RUN;
	for (uint32_t k = step->first_read; k < step[1].first_read; k++)
		if (needs(l, s, k))
			l->side[l->writer[l->model->reads[k]]] = HAS_RUN;
}

/*
 * Find the steps that have run for certain, and those that wait: what these need, and what needs
 * those. Paths of the flow are short then, since they end at the first of such steps.
 */
static void find_sides(struct least *l, uint32_t s, enum sibling siblings)
{
	uint32_t count = l->model->step_count;
	bool kept = siblings == SIBLINGS_KEPT;

	memset(l->side, 0, count * sizeof(*l->side));
	set_siblings(l, s, siblings);
	let_run(l, s, kept);
	l->side[s] = WAITS;
	for (uint32_t i = count; i-- > 0;)
		if (l->side[l->order[i]] == HAS_RUN)
			let_run(l, l->order[i], kept);
	for (uint32_t i = 0; i < count; i++)
		if (l->side[l->order[i]] == UNKNOWN && has_to_wait(l, l->order[i], kept))
			l->side[l->order[i]] = WAITS;
	l->net.looked += 2 * (uint64_t)l->model->steps[count].first_read;
}

/*
 * The bytes that live when a step loads, or stores, whatever has run before it. Where there is no
 * time for all that flows, what has flown is a bound, too.
 */
static uint64_t cut(struct least *l, uint32_t s, bool stores, enum sibling siblings)
{
	const struct tilesched_model *model = l->model;
	const struct tilesched_step *step = &model->steps[s];
	uint32_t late = late_reads(model, s);
	struct npuplan_net *net = &l->net;
	uint64_t looks;

	memcpy(net->edges, l->whole, net->edge_count * sizeof(*net->edges));
	find_sides(l, s, siblings);
	for (uint32_t i = 0; i < model->step_count; i++) {
		if (l->side[i] == HAS_RUN)
			net->edges[l->run[i]].left = NPUPLAN_NET_ENDLESS;
		else if (l->side[i] == WAITS)
			net->edges[l->wait[i]].left = NPUPLAN_NET_ENDLESS;
		if (siblings == SIBLINGS_KEPT && l->behind[i] != NPUMEM_NONE)
			net->edges[l->behind[i]].left = NPUPLAN_NET_ENDLESS;
	}
	for (uint32_t k = step->first_read; k < late && stores; k++)
		net->edges[l->edge_of[k]].left = 0;
	looks = l->looks > net->looked ? l->looks - net->looked : 0;
	return npuplan_net_flow(net, SOURCE, SINK, looks < LOOKS_AT_ONCE ? looks : LOOKS_AT_ONCE) +
	       (stores ? written(l, s) : 0);
}

/* Whichever of the two is more. */
static uint64_t cuts(struct least *l, uint32_t s, uint64_t enough, enum sibling siblings)
{
	uint64_t loads = cut(l, s, false, siblings), stores;

	if (loads > enough)
		return loads;
	stores = cut(l, s, true, siblings);
	return stores > loads ? stores : loads;
}

/* ------------------------------------------------------------------------------ the bounds */

static uint64_t most_at(const struct least *l, uint32_t s)
{
	return l->loads[s] > l->stores[s] ? l->loads[s] : l->stores[s];
}

static bool is_over(const struct least *l, struct npuplan_effort *effort)
{
	return l->net.looked >= l->looks || npuplan_effort_ended(effort);
}

/*
 * List the steps: first of each operator the one at which most lives, since neighbours say nearly
 * the same, then all others; among them those first at which more lives.
 */
static int list_steps(struct least *l, uint32_t *listed)
{
	const struct tilesched_model *model = l->model;
	AUTO_HEAP struct npuplan_keyed *keys =
		npuplan_malloc((size_t)model->step_count * sizeof(*keys) + 1);

	if (!keys)
		return -ENOMEM;
	for (uint32_t o = 0; o < model->op_count; o++) {
		const struct tilesched_op *op = &model->ops[o];
		uint32_t best = op->first;

		for (uint32_t s = op->first; s < op->first + op->count; s++) {
			keys[s] = (struct npuplan_keyed){ 1, ~most_at(l, s), 0, s };
			if (most_at(l, s) > most_at(l, best))
				best = s;
		}
		keys[best].key = 0;
	}
	npuplan_sort_items(keys, model->step_count, listed);
	return 0;
}

static int find_kept(struct least *l, struct npuplan_effort *effort)
{
	uint32_t count = l->model->step_count;
	uint32_t *listed = npuplan_pool_take(&l->pool, count, sizeof(*listed));
	int err = listed ? list_steps(l, listed) : -ENOMEM;

	l->looks = TILESCHED_LEAST_LOOKS / 2;
	for (uint32_t i = 0; i < count && !err && !is_over(l, effort); i++) {
		for (int stores = 0; stores < 2; stores++) {
			uint64_t bytes;

			if ((stores ? l->stores : l->loads)[listed[i]] <= l->found.kept)
				continue;
			bytes = cut(l, listed[i], stores, SIBLINGS_KEPT);
			l->found.kept = bytes > l->found.kept ? bytes : l->found.kept;
		}
	}
	return err;
}

/* Whichever of an operator's steps is the first, or the last. */
static void try_operator(struct least *l, uint32_t o, enum sibling siblings,
			 struct npuplan_effort *effort)
{
	const struct tilesched_op *op = &l->model->ops[o];
	uint64_t least = UINT64_MAX;

	/* The outer ones are the likeliest to need least. */
	for (uint32_t i = 0; i < op->count && least > l->found.any; i++) {
		uint32_t s = op->first + (i % 2 ? op->count - 1 - i / 2 : i / 2);
		uint64_t bytes = cuts(l, s, least, siblings);

		least = bytes < least ? bytes : least;
		if (is_over(l, effort))
			return;
	}
	l->found.any = least > l->found.any ? least : l->found.any;
}

static void find_any(struct least *l, struct npuplan_effort *effort)
{
	const struct tilesched_model *model = l->model;

	l->looks = TILESCHED_LEAST_LOOKS;
	for (uint32_t s = 0; s < model->step_count && !is_over(l, effort); s++) {
		uint64_t bytes =
			most_at(l, s) > l->found.any ? cuts(l, s, UINT64_MAX, SIBLINGS_ANY) : 0;

		l->found.any = bytes > l->found.any ? bytes : l->found.any;
	}
	for (uint32_t o = 0; o < model->op_count && !is_over(l, effort); o++) {
		try_operator(l, o, SIBLINGS_WAIT, effort);
		try_operator(l, o, SIBLINGS_RUN, effort);
	}
}

int tilesched_least(const struct tilesched_model *model, const uint32_t *order,
		    struct npuplan_effort *effort, struct tilesched_least *least)
{
	struct least l = { .model = model, .order = order };
	int err = find_units(&l);

	if (!err)
		err = find_lives(&l);
	if (!err)
		err = make_net(&l);
	if (!err)
		err = find_kept(&l, effort);
	if (!err)
		find_any(&l, effort);
	*least = l.found;
	npuplan_pool_free(&l.net.pool);
	npuplan_pool_free(&l.pool);
	return err;
}
