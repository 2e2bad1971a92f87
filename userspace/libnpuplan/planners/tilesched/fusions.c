// SPDX-License-Identifier: MIT
#include "fusions.h"

#include <stdlib.h>
#include <string.h>

/* The ways to run a fusion of several operators, the most useful first. */
static const struct tilesched_way ways[] = {
	{ TILESCHED_DEPTH_FIRST, 1 },  { TILESCHED_REVERSE, 1 },     { TILESCHED_EAGER, 1 },
	{ TILESCHED_DEPTH_FIRST, 2 },  { TILESCHED_DEPTH_FIRST, 4 }, { TILESCHED_DEPTH_FIRST, 8 },
	{ TILESCHED_DEPTH_FIRST, 16 },
};

/* Work units between two looks at the clock. */
#define LOOK_EVERY  1000000
/*
 * Rounds of looking for the next lower peak, after which each peak has to be lower by one part in
 * so many.
 */
#define MANY_ROUNDS 256

/*
 * struct table_maker - plays the fusions, and makes the table
 * @layers: per operator, its peak in layer order
 * @asked_at: work units when @effort was asked last
 * @over: what @effort said then: the rest is left out
 */
struct table_maker {
	struct tilesched_table *table;
	struct tilesched_sim *sim;
	uint64_t *layers;
	uint64_t work_limit;
	struct npuplan_effort *effort;
	uint64_t asked_at;
	bool over;
};

static bool beats(const struct npuplan_schedule_point *a, const struct npuplan_schedule_point *b)
{
	return a->peak <= b->peak && tilesched_traffic(a) <= tilesched_traffic(b);
}

/*
 * Add a fusion to the table unless another one beats it, and drop those that it beats. From @first
 * on, the fusions of this end have the same begin.
 */
static int keep(struct tilesched_table *table, uint32_t end, uint32_t first,
		const struct tilesched_fusion *found)
{
	struct tilesched_fusion *list = table->at[end];
	uint32_t kept = first;

	/*
	 * A fusion that beats the new one is beaten by none, so that none has been dropped when it
	 * is found.
	 */
	for (uint32_t i = first; i < table->count[end]; i++) {
		if (beats(&list[i].cost, &found->cost))
			return 0;
		if (!beats(&found->cost, &list[i].cost))
			list[kept++] = list[i];
	}
	table->count[end] = kept;
	return npuplan_append(&table->at[end], &table->count[end], found, 1);
}

static int play_fusion(struct table_maker *m, uint32_t end)
{
	const struct tilesched_model *model = m->sim->model;
	uint32_t begin = m->sim->next, first = m->table->count[end], most = 0;
	struct tilesched_fusion found = { .begin = begin };
	bool branches = false;
	uint64_t limit = 0;
	int err = 0;

	for (uint32_t o = begin; o < end; o++) {
		/*
		 * If an operator reads from several others, the order in which it asks them
		 * matters.
		 */
		branches |= model->ops[o].branches;
		most = model->ops[o].count > most ? model->ops[o].count : most;
		limit = m->layers[o] > limit ? m->layers[o] : limit;
	}
	/* No way has less traffic than layer order, so one that peaks as high is of no use. */
	if (!limit--)
		return 0;
	for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]) && !err; w++) {
		if ((ways[w].rule == TILESCHED_REVERSE && !branches) || ways[w].quantum > most)
			continue;
		found.way = ways[w];
		if (tilesched_sim_fusion(m->sim, end, found.way, limit, &found.cost))
			err = keep(m->table, end, first, &found);
	}
	return err;
}

/*
 * Play single operators, which are always in the table, and find the peaks that longer fusions
 * have to beat.
 */
static int play_singles(struct table_maker *m)
{
	struct tilesched_fusion found = { .way = { TILESCHED_LAYERS, 1 } };
	int err = 0;

	tilesched_sim_rewind(m->sim);
	for (uint32_t o = 0; o < m->table->op_count && !err; o++) {
		found.begin = o;
		tilesched_sim_fusion(m->sim, o + 1, found.way, UINT64_MAX, &found.cost);
		m->layers[o] = found.cost.peak;
		err = keep(m->table, o + 1, m->table->count[o + 1], &found);
		tilesched_sim_advance(m->sim, o + 1);
	}
	return err;
}

static bool is_over(struct table_maker *m)
{
	uint64_t work = m->sim->work;

	if (work >= m->work_limit || m->over || work - m->asked_at < LOOK_EVERY)
		return work >= m->work_limit || m->over;
	m->asked_at = work;
	m->over = npuplan_effort_over(m->effort, UINT64_MAX, 0, work);
	return m->over;
}

int tilesched_table_init(struct tilesched_table *table, struct tilesched_sim *sim,
			 uint64_t work_limit, struct npuplan_effort *effort)
{
	uint32_t n = sim->model->op_count;
	AUTO_HEAP uint64_t *layers = npuplan_calloc((size_t)n + 1, sizeof(*layers));
	struct table_maker m = { table, sim, layers, work_limit, effort };
	int err;

	*table = (struct tilesched_table){
		.op_count = n,
		.at = calloc((size_t)n + 1, sizeof(*table->at)),
		.count = calloc((size_t)n + 1, sizeof(*table->count)),
	};
	err = table->at && table->count && layers ? play_singles(&m) : -ENOMEM;
	sim->work = 0;
	tilesched_sim_rewind(sim);
	if (!err && n > 1 && !is_over(&m))
		err = play_fusion(&m, n);
	for (uint32_t length = 2; length < n && !err && !table->incomplete; length++) {
		tilesched_sim_rewind(sim);
		for (uint32_t begin = 0; begin + length <= n && !err; begin++) {
			if (is_over(&m)) {
				table->incomplete = true;
				break;
			}
			err = play_fusion(&m, begin + length);
			tilesched_sim_advance(sim, begin + 1);
		}
	}
	table->work = sim->work;
	return err;
}

void tilesched_table_fini(struct tilesched_table *table)
{
	for (uint32_t e = 0; table->at && e <= table->op_count; e++)
		free(table->at[e]);
	free_all(table->at, table->count);
}

/* ---------------------------------------------------------------------------- paths */

/*
 * struct path_node - the best path for operators [0, e)
 * @fusions: number of its fusions; 0: there is no path
 * @taken: its last fusion, in table->at[e]
 */
struct path_node {
	struct npuplan_schedule_point cost;
	uint32_t fusions;
	uint32_t taken;
};

/*
 * Whether path a is better: it has less traffic, or else a lower peak, or else more fusions, so
 * that fewer operators are interleaved.
 */
static bool is_better(const struct path_node *a, const struct path_node *b)
{
	uint64_t left = tilesched_traffic(&a->cost), right = tilesched_traffic(&b->cost);

	if (!b->fusions || left != right)
		return !b->fusions || left < right;
	if (a->cost.peak != b->cost.peak)
		return a->cost.peak < b->cost.peak;
	return a->fusions > b->fusions;
}

/* Find the best paths for all e, whose peak is not above @limit; NULL: out of memory. */
static struct path_node *find_nodes(const struct tilesched_table *table, uint64_t limit)
{
	struct path_node *nodes = npuplan_calloc((size_t)table->op_count + 1, sizeof(*nodes));

	for (uint32_t e = 1; nodes && e <= table->op_count; e++) {
		for (uint32_t i = 0; i < table->count[e]; i++) {
			const struct tilesched_fusion *s = &table->at[e][i];
			const struct path_node *from = &nodes[s->begin];
			struct path_node to = { from->cost, from->fusions + 1, i };

			if (s->cost.peak > limit || (s->begin && !from->fusions))
				continue;
			to.cost.weights += s->cost.weights;
			to.cost.halos += s->cost.halos;
			if (s->cost.peak > to.cost.peak)
				to.cost.peak = s->cost.peak;
			if (is_better(&to, &nodes[e]))
				nodes[e] = to;
		}
	}
	return nodes;
}

int tilesched_path_find(const struct tilesched_table *table, uint64_t limit,
			struct tilesched_path *path)
{
	AUTO_HEAP struct path_node *nodes = find_nodes(table, limit);
	const struct path_node *last = nodes ? &nodes[table->op_count] : NULL;
	uint32_t at = table->op_count;

	*path = (struct tilesched_path){ 0 };
	if (!nodes)
		return -ENOMEM;
	if (table->op_count && !last->fusions)
		return -ENOENT;
	path->cost = last->cost;
	path->count = last->fusions;
	path->fusions = malloc((size_t)path->count * sizeof(*path->fusions) + 1);
	for (uint32_t i = path->count; i-- > 0 && path->fusions;) {
		path->fusions[i] = table->at[at][nodes[at].taken];
		at = path->fusions[i].begin;
	}
	return path->fusions ? 0 : -ENOMEM;
}

/* Find the least peak of all paths. -ENOMEM. */
static int least_peak(const struct tilesched_table *table, uint64_t *peak)
{
	AUTO_HEAP uint64_t *best = npuplan_calloc((size_t)table->op_count + 1, sizeof(*best));

	if (!best)
		return -ENOMEM;
	for (uint32_t e = 1; e <= table->op_count; e++) {
		best[e] = UINT64_MAX;
		for (uint32_t i = 0; i < table->count[e]; i++) {
			const struct tilesched_fusion *s = &table->at[e][i];
			uint64_t to = best[s->begin];

			if (s->cost.peak > to)
				to = s->cost.peak;
			if (to < best[e])
				best[e] = to;
		}
	}
	*peak = best[table->op_count];
	return 0;
}

int tilesched_front(const struct tilesched_table *table, struct npuplan_schedule_point **costs,
		    uint32_t *count)
{
	struct npuplan_schedule_point *list = NULL, swap;
	uint64_t limit = UINT64_MAX, least;
	uint32_t n = 0;
	int err = least_peak(table, &least);

	/* The points are found from the least traffic down to the least peak. */
	for (uint32_t round = 0; !err; round++) {
		AUTO_HEAP struct path_node *nodes = find_nodes(table, limit);
		struct npuplan_schedule_point cost;

		err = nodes ? 0 : -ENOMEM;
		if (err)
			break;
		cost = nodes[table->op_count].cost;
		/*
		 * A point with no more traffic and a lower peak beats the one before it, which is
		 * not in the front then.
		 */
		if (n && tilesched_traffic(&list[n - 1]) >= tilesched_traffic(&cost))
			n--;
		err = npuplan_append(&list, &n, &cost, 1);
		if (err || cost.peak <= least)
			break;
		limit = cost.peak - 1;
		if (round >= MANY_ROUNDS)
			limit -= limit / MANY_ROUNDS;
		if (limit < least)
			limit = least;
	}
	for (uint32_t i = 0; i < n / 2; i++) {
		swap = list[i];
		list[i] = list[n - 1 - i];
		list[n - 1 - i] = swap;
	}
	*costs = list;
	*count = n;
	return err;
}
