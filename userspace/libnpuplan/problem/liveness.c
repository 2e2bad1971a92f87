// SPDX-License-Identifier: MIT
/* Live ranges, found from the verifier's cells: bytes with one writer and the same readers. */
#include "liveness.h"

#include <stdlib.h>

#include "base/sorted.h"

static void extend(struct npuplan_live_range *range, uint32_t instant)
{
	if (range->end < instant)
		range->end = instant;
}

/*
 * End the versions of bytes that a step updates. The new version is at the same place and begins
 * where the old one ends, whatever else the step reads, so that no byte counts twice.
 */
static void end_updated(const struct npuv_graph *graph, uint32_t step, uint32_t position,
			struct npuplan_live_range *ranges)
{
	const struct npumem_step *s = npuv_step(graph, step);
	struct npuv_cells it;

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		if (npuv_access(graph, a)->mode != NPUMEM_ACCESS_UPDATE)
			continue;
		npuv_for_each_read(it, graph, a) ranges[it.cell].end =
			npuplan_load_instant(position);
	}
}

void npuplan_cell_ranges(const struct npuv_graph *graph, const uint32_t *positions,
			 struct npuplan_live_range *ranges)
{
	uint32_t exit = 2 * graph->steps.count + 1;
	struct npuv_cells it;

	for (uint32_t i = 0; i < graph->cell_count; i++) {
		uint32_t kind = npuv_tensor(graph, graph->cells[i].tensor)->kind;

		/* A cell is valid at the entry unless it has a writer, as is seen below. */
		ranges[i] = (struct npuplan_live_range){ 0, 0 };
		/*
		 * A parameter in the arena is written once for all inferences of a run, so it lives
		 * until the exit.
		 */
		if (graph->cells[i].survives || kind == NPUMEM_TENSOR_PARAMETER)
			ranges[i].end = exit;
	}
	for (uint32_t s = 0; s < graph->steps.count; s++) {
		const struct npumem_step *step = npuv_step(graph, s);
		bool staged = step->flags & NPUMEM_STEP_STAGED;
		uint32_t end = step->first_access + step->access_count;
		uint32_t p = positions ? positions[s] : s;

		for (uint32_t a = step->first_access; a < end; a++) {
			npuv_for_each_read(it, graph, a)
				extend(&ranges[it.cell],
				       staged ? npuplan_load_instant(p) : npuplan_store_instant(p));
			npuv_for_each_write(it, graph, a)
			{
				ranges[it.cell].start = npuplan_store_instant(p);
				extend(&ranges[it.cell], npuplan_store_instant(p));
			}
		}
		end_updated(graph, s, p, ranges);
	}
}

NPUPLAN_ORDER(by_place, struct npuplan_atom, tensor, first, start)

/* Join atoms that are neighbours and have equal ranges; the array is sorted by place. */
static void merge(struct npuplan_liveness *live)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < live->atom_count; i++) {
		struct npuplan_atom *last = kept ? &live->atoms[kept - 1] : NULL;
		const struct npuplan_atom *atom = &live->atoms[i];

		if (last && last->tensor == atom->tensor && last->start == atom->start &&
		    last->end == atom->end && last->first + last->length == atom->first)
			last->length += atom->length;
		else
			live->atoms[kept++] = *atom;
	}
	live->atom_count = kept;
}

bool *npuplan_tensors_in_arena(const struct npuv_graph *graph)
{
	bool *in_arena = npuplan_calloc((size_t)graph->tensors.count + 1, sizeof(*in_arena));

	if (!in_arena)
		return NULL;
	for (uint32_t i = 0; i < graph->accesses.count; i++) {
		uint32_t tensor = npuv_tile(graph, npuv_access(graph, i)->tile)->tensor;
		uint64_t offset;

		in_arena[npuplan_base(graph, tensor, &offset)] = true;
	}
	for (uint32_t i = 0; i < graph->tensors.count; i++) {
		const struct npumem_tensor *tensor = npuv_tensor(graph, i);

		if (tensor->flags & (NPUMEM_TENSOR_FLAG_EXTERNAL | NPUMEM_TENSOR_FLAG_ALIAS))
			in_arena[i] = false;
		else if (tensor->kind != NPUMEM_TENSOR_PARAMETER)
			in_arena[i] = true;
	}
	return in_arena;
}

int npuplan_liveness_init(struct npuplan_liveness *live, const struct npuv_graph *graph)
{
	AUTO_HEAP struct npuplan_live_range *ranges =
		npuplan_malloc((size_t)graph->cell_count * sizeof(*ranges) + 1);
	AUTO_HEAP bool *in_arena = npuplan_tensors_in_arena(graph);
	size_t count = 0;
	int err;

	*live = (struct npuplan_liveness){ .exit = 2 * graph->steps.count + 1 };
	/* Versions of the same bytes share segments, so there may be more atoms than segments. */
	for (uint32_t i = 0; i < graph->cell_count; i++)
		count += graph->cells[i].segment_count;
	live->atoms = malloc(count * sizeof(*live->atoms) + 1);
	if (!ranges || !live->atoms || !in_arena) {
		npuplan_liveness_fini(live);
		return -ENOMEM;
	}
	npuplan_cell_ranges(graph, NULL, ranges);
	for (uint32_t i = 0; i < graph->cell_count; i++) {
		const struct npuv_cell *cell = &graph->cells[i];

		if (!in_arena[cell->tensor])
			continue;
		for (uint32_t k = 0; k < cell->segment_count; k++) {
			const struct npuv_segment *segment =
				&graph->segments[cell->first_segment + k];

			live->atoms[live->atom_count++] = (struct npuplan_atom){
				.first = segment->first,
				.length = segment->length,
				.tensor = cell->tensor,
				.start = ranges[i].start,
				.end = ranges[i].end,
			};
		}
	}
	if (live->atom_count)
		qsort(live->atoms, live->atom_count, sizeof(*live->atoms), by_place);
	merge(live);
	err = npuplan_takeovers_find(live, graph, ranges, in_arena);
	if (err)
		npuplan_liveness_fini(live);
	return err;
}

void npuplan_liveness_fini(struct npuplan_liveness *live)
{
	free_all(live->atoms, live->takeovers);
	*live = (struct npuplan_liveness){ .exit = live->exit };
}

int npuplan_lower_bound(const struct npuplan_liveness *live, uint64_t *bytes, uint32_t *instant)
{
	/* The sums of the bytes that begin to live at each instant, less those that have ceased. */
	AUTO_HEAP uint64_t *change = npuplan_calloc((size_t)live->exit + 2, sizeof(*change));
	uint64_t now = 0;

	*bytes = 0;
	*instant = 0;
	if (!change)
		return -ENOMEM;
	for (uint32_t i = 0; i < live->atom_count; i++) {
		const struct npuplan_atom *atom = &live->atoms[i];

		/* Unsigned wrap-around is meant: the running sum is never negative. */
		change[atom->start] += atom->length;
		change[atom->end + 1] -= atom->length;
	}
	/* Bytes that an output takes over are counted once, as its own. */
	for (uint32_t i = 0; i < live->takeover_count; i++) {
		const struct npuplan_takeover *taken = &live->takeovers[i];

		change[taken->instant] -= taken->length;
		change[taken->instant + 1] += taken->length;
	}
	for (uint32_t i = 0; i <= live->exit; i++) {
		now += change[i];
		if (now > *bytes) {
			*bytes = now;
			*instant = i;
		}
	}
	return 0;
}
