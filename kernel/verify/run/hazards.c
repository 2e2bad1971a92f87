// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Hazards: which jobs of a run wait for which, if several engines execute them.
 *
 * Enforcement (states.c) lets jobs go in an order in which they may execute one after
 * another. An engine keeps that order; engines beside each other do not, so a job has to
 * wait for those submitted before that it has a hazard with: it reads what they write, or
 * it writes bytes that they read or write. Cells tell: a read finds the cell's writer, a write
 * of a cell finds all that was done with its predecessors, whose bytes it takes. That is
 * all, for what was done with the owners of a byte before these has been waited for by them:
 * owners form a sequence (verify.h). It is the same in arena, host memory and bindings.
 *
 * Jobs are known by their engine and their number on it. An engine ends its jobs in their
 * order, so the last one that is to be waited for stands for all before it: a job waits
 * for one job of each other engine at most, however many accesses it has.
 *
 * Bytes of a block that is entered along an edge may be those of any tensor of the block
 * before. Edges are rare: what is submitted after one waits for all that was before.
 */
#include "../plan/plan.h"

/* Of an engine beside the number of a job; steps that a block can have leave room for them. */
#define ENGINE_BITS 3

static_assert(NPUV_MAX_ENGINES <= 1 << ENGINE_BITS);

int npuv_hazards_create(const struct npuv_plan *plan, u32 engines, struct npuv_hazards **out)
{
	struct npuv_hazards *h = npuv_alloc_array(1, sizeof(*h));
	u64 cells = plan->graph->cell_count;

	if (!h)
		return -ENOMEM;
	h->plan = plan;
	h->engines = engines;
	h->writer = npuv_alloc_array(cells, sizeof(*h->writer));
	h->last = npuv_alloc_array(cells * engines, sizeof(*h->last));
	if (!h->writer || !h->last) {
		npuv_hazards_destroy(h);
		return -ENOMEM;
	}
	*out = h;
	return 0;
}

static u32 *last_of(const struct npuv_hazards *h, u32 cell)
{
	return h->last + (u64)cell * h->engines;
}

int npuv_hazards_enter(struct npuv_hazards *h, u32 instance)
{
	const struct npuv_graph *g = h->plan->graph;
	u32 block = npuv_block_of(h->plan, instance);
	u32 cell, e;

	for (cell = g->cell_start[block]; cell < g->cell_start[block + 1]; cell++) {
		if (npuv_tick(&h->ticks, h->engines))
			return -EINTR;
		h->writer[cell] = 0;
		for (e = 0; e < h->engines; e++)
			last_of(h, cell)[e] = 0;
	}
	return 0;
}

static void wait_for(u32 *after, u32 engine, u32 number)
{
	if (after[engine] < number)
		after[engine] = number;
}

/* Read after write. */
static int read_cells(struct npuv_hazards *h, u32 first, u32 count, u32 engine, u32 number,
		      u32 *after)
{
	u32 cell, writer;

	for (cell = first; cell < first + count; cell++) {
		if (npuv_tick(&h->ticks, 1))
			return -EINTR;
		writer = h->writer[cell];
		wait_for(after, writer & ((1u << ENGINE_BITS) - 1), writer >> ENGINE_BITS);
		wait_for(last_of(h, cell), engine, number);
	}
	return 0;
}

static int read_step(struct npuv_hazards *h, u32 index, u32 engine, u32 number, u32 *after)
{
	const struct npuv_graph *g = h->plan->graph;
	const struct npumem_step *step = npuv_step(g, index);
	u32 i, end = g->merged_start[index + 1];
	int err = 0;

	for (i = g->merged_start[index]; !err && i < end; i++)
		err = read_cells(h, g->merged[i].first, g->merged[i].count, engine, number, after);
	if (g->merged_start[index] < end)
		return err;
	end = g->read_start[step->first_access + step->access_count];
	for (i = g->read_start[step->first_access]; !err && i < end; i++)
		err = read_cells(h, g->read_runs[i].first, g->read_runs[i].count, engine, number,
				 after);
	return err;
}

/* Write after read, and write after write, of what has had the bytes before. */
static int write_cell(struct npuv_hazards *h, u32 instance, u32 cell, u32 *after)
{
	const struct npuv_plan *p = h->plan;
	u32 c = npuv_plan_cell(p, instance, cell);
	const u32 *last;
	u32 k, e;

	for (k = p->pred_start[c]; k < p->pred_start[c + 1]; k++) {
		if (npuv_tick(&h->ticks, h->engines))
			return -EINTR;
		last = last_of(h, p->pred_cells[k]);
		for (e = 0; e < h->engines; e++)
			wait_for(after, e, last[e]);
	}
	return 0;
}

static int write_step(struct npuv_hazards *h, u32 instance, u32 index, u32 engine, u32 number,
		      u32 *after)
{
	const struct npuv_graph *g = h->plan->graph;
	const struct npumem_step *step = npuv_step(g, index);
	struct npuv_cells it;
	u32 a, e;

	for (a = step->first_access; a < step->first_access + step->access_count; a++) {
		if (npuv_tick(&h->ticks, 1))
			return -EINTR;
		npuv_for_each_write(it, g, a)
		{
			if (write_cell(h, instance, it.cell, after) ||
			    npuv_tick(&h->ticks, h->engines))
				return -EINTR;
			for (e = 0; e < h->engines; e++)
				last_of(h, it.cell)[e] = e == engine ? number : 0;
			h->writer[it.cell] = number << ENGINE_BITS | engine;
		}
	}
	return 0;
}

int npuv_hazards_submit(struct npuv_hazards *h, u32 position, u32 engine, u32 number, u32 *after)
{
	u32 index = npuv_step_at(h->plan, position);
	int err;

	err = read_step(h, index, engine, number, after);
	if (err)
		return err;
	return write_step(h, npuv_instance_at(h->plan, position), index, engine, number, after);
}
