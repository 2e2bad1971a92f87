// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How much memory a checked graph, a verified plan and a run's states keep: what
 * the driver charges to the client that wants them. Blobs are the caller's.
 */
#include "base.h"

static u64 allocated(const void *const *arrays, u32 count)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < count; i++)
		bytes += npuv_allocated(arrays[i]);
	return bytes;
}

#define ALLOCATED(...)                                  \
	allocated((const void *const[]){ __VA_ARGS__ }, \
		  sizeof((const void *[]){ __VA_ARGS__ }) / sizeof(void *))

u64 npuv_graph_bytes(const struct npuv_graph *g)
{
	u64 bytes = ALLOCATED(g, g->cells, g->segments, g->read_start, g->read_runs, g->write_start,
			      g->write_runs, g->merged_start, g->merged, g->access_step,
			      g->cell_start, g->touch_start, g->touches, g->spans, g->out_start,
			      g->out_edges);
	u32 i;

	/* As npuv_graph_destroy(): one with transfers borrows what is not its own. */
	if (!g->source)
		return bytes + ALLOCATED(g->alias_start, g->aliases);
	for (i = 0; i < NPUV_OWN_SECTIONS; i++)
		bytes += npuv_allocated(g->own[i]);
	return bytes + ALLOCATED(g->host_of, g->host_copy);
}

u64 npuv_plan_bytes(const struct npuv_plan *p)
{
	u64 bytes = ALLOCATED(p, p->place_start, p->places, p->extents, p->placed, p->cell_base,
			      p->uses, p->pred_start, p->pred_cells, p->last_use, p->overwriter,
			      p->step_at, p->own_placements);

	return p->own_graph ? bytes + npuv_graph_bytes(p->own_graph) : bytes;
}

u64 npuv_states_bytes(const struct npuv_states *s)
{
	return ALLOCATED(s, s->cells, s->submitted);
}
