// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Runs: the cells of an access, as ranges of consecutive numbers.
 *
 * A graph may have thousands of accesses that all read the same thousands of cells. These
 * are few runs; and a cell that many accesses of a step read is handled once for the step,
 * together with the number of these accesses.
 */
#include "graph.h"

int npuv_run_add(struct npuv_vector *runs, u32 key, u32 cell)
{
	struct npuv_keyed_run *last;

	if (runs->count) {
		last = (struct npuv_keyed_run *)runs->data + runs->count - 1;
		if (last->key == key && last->run.first + last->run.count == cell) {
			last->run.count++;
			return 0;
		}
	}
	last = npuv_vector_add(runs, 1);
	if (!last)
		return -ENOMEM;
	last->key = key;
	last->run.first = cell;
	last->run.count = 1;
	return 0;
}

/* ---------------------------------------------------------------- of a step */

/* If a step's accesses read fewer cells than this together, they are not merged. */
#define WORTHWHILE 64

/*
 * struct merging - state of merging the reads of each step
 * @g: the graph
 * @events: begins and ends of a step's runs: twice the cell, plus one for a begin
 * @found: merged runs of all steps so far
 */
struct merging {
	struct npuv_graph *g;
	u64 *events;
	struct npuv_vector found;
};

/* The runs of all accesses of a step. Returns how many cells they have, counted each time. */
static u64 step_runs(const struct npuv_graph *g, u32 step, u32 *first, u32 *end)
{
	const struct npumem_step *s = npuv_step(g, step);
	u64 cells = 0;
	u32 i;

	if (s->access_count < 2)
		return 0;
	*first = g->read_start[s->first_access];
	*end = g->read_start[s->first_access + s->access_count];
	for (i = *first; i < *end; i++)
		cells += g->read_runs[i].count;
	return cells;
}

/* Go through sorted events. Returns the number of cells, each once; @out gets the merged runs. */
static u32 sweep(const u64 *events, u32 count, struct npuv_reads *out, u32 *runs)
{
	u32 i, depth = 0, begin = 0, cells = 0;

	*runs = 0;
	for (i = 0; i < count; i++) {
		u32 at = (u32)(events[i] >> 1);

		if (depth && at > begin) {
			if (out) {
				out[*runs].first = begin;
				out[*runs].count = at - begin;
				out[*runs].times = depth;
			}
			++*runs;
			cells += at - begin;
		}
		begin = at;
		depth += events[i] & 1 ? 1 : -1u;
	}
	return cells;
}

static int merge_step(struct npuv_work *w, struct merging *m, u32 step)
{
	u64 cells;
	u32 i, first, end, runs, n = 0;
	int err;

	cells = step_runs(m->g, step, &first, &end);
	if (cells < WORTHWHILE)
		return 0;
	for (i = first; i < end; i++) {
		const struct npuv_run *run = &m->g->read_runs[i];

		m->events[n++] = (u64)run->first << 1 | 1;
		m->events[n++] = ((u64)run->first + run->count) << 1;
	}
	err = npuv_sort(w, m->events, n);
	if (!err)
		err = npuv_visit(w, 0);
	if (err)
		return err;
	if (sweep(m->events, n, NULL, &runs) <= cells / 2) {
		struct npuv_reads *out = npuv_vector_add(&m->found, runs);

		if (!out)
			return -ENOMEM;
		sweep(m->events, n, out, &runs);
	}
	return 0;
}

int npuv_reads_merge(struct npuv_work *w, struct npuv_graph *g)
{
	struct merging m = { .g = g, .found = { .size = sizeof(struct npuv_reads) } };
	u32 i, first, end, most = 0;
	int err = 0;

	g->merged_start = npuv_alloc_array((u64)g->steps.count + 1, sizeof(u32));
	if (!g->merged_start)
		return -ENOMEM;
	for (i = 0; i < g->steps.count; i++)
		if (step_runs(g, i, &first, &end) >= WORTHWHILE)
			most = end - first > most ? end - first : most;
	m.events = npuv_alloc_array(2 * (u64)most, sizeof(u64));
	if (!m.events)
		err = -ENOMEM;
	for (i = 0; !err && most && i < g->steps.count; i++) {
		err = merge_step(w, &m, i);
		g->merged_start[i + 1] = m.found.count;
	}
	if (!err) {
		g->merged = npuv_vector_take(&m.found);
		err = g->merged ? 0 : -ENOMEM;
	}
	npuv_free_all(m.events, m.found.data);
	return err;
}
