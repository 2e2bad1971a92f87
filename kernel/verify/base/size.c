// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memory that a checked graph, a verified plan and a run's states keep: this file counts
 * it, since the driver charges it to the client, and frees it. Blobs belong to the caller.
 */
#include "base.h"

u64 npuv_arrays(void *const *array, u32 count, bool give_back)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		bytes += npuv_allocated(array[i]);
		if (give_back)
			npuv_free(array[i]);
	}
	return bytes;
}

static u64 graph_arrays(const struct npuv_graph *g, bool give_back)
{
	static_assert(NPUV_OWN_SECTIONS == 5);
	u64 bytes = NPUV_ARRAYS(give_back, g->cells, g->segments, g->read_start, g->read_runs,
				g->write_start, g->write_runs, g->merged_start, g->merged,
				g->access_step, g->cell_start, g->touch_start, g->touches,
				g->live_outs, g->out_start, g->out_edges);

	/* A graph with transfers borrows the other arrays of its source. */
	if (!g->source)
		return bytes + NPUV_ARRAYS(give_back, g->alias_start, g->aliases);
	return bytes + NPUV_ARRAYS(give_back, g->own[0], g->own[1], g->own[2], g->own[3], g->own[4],
				   g->host_of, g->host_copy);
}

void npuv_graph_destroy(struct npuv_graph *g)
{
	if (g)
		graph_arrays(g, true);
	npuv_free(g);
}

u64 npuv_graph_bytes(const struct npuv_graph *g)
{
	return npuv_allocated(g) + graph_arrays(g, false);
}

static u64 plan_arrays(const struct npuv_plan *p, bool give_back)
{
	return NPUV_ARRAYS(give_back, p->location_start, p->locations, p->extents, p->placed,
			   p->cell_base, p->uses, p->pred_start, p->pred_cells, p->last_use,
			   p->overwriter, p->step_at, p->own_placements);
}

void npuv_plan_destroy(struct npuv_plan *p)
{
	if (!p)
		return;
	plan_arrays(p, true);
	npuv_graph_destroy(p->own_graph);
	npuv_free(p);
}

u64 npuv_plan_bytes(const struct npuv_plan *p)
{
	u64 bytes = npuv_allocated(p) + plan_arrays(p, false);

	return p->own_graph ? bytes + npuv_graph_bytes(p->own_graph) : bytes;
}

void npuv_states_destroy(struct npuv_states *s)
{
	if (s)
		NPUV_ARRAYS(true, s->cells, s->submitted);
	npuv_free(s);
}

u64 npuv_states_bytes(const struct npuv_states *s)
{
	return npuv_allocated(s) + NPUV_ARRAYS(false, s->cells, s->submitted);
}

void npuv_hazards_destroy(struct npuv_hazards *h)
{
	if (h)
		NPUV_ARRAYS(true, h->writer, h->last);
	npuv_free(h);
}

u64 npuv_hazards_bytes(const struct npuv_hazards *h)
{
	return h ? npuv_allocated(h) + NPUV_ARRAYS(false, h->writer, h->last) : 0;
}
