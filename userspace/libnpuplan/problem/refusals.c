// SPDX-License-Identifier: MIT
/* The sentence that says why a plan does not fit, with numbers and names. */
#include <string.h>

#include "base/sorted.h"
#include "packing.h"

#define NAMED 4

/* Name the tensors of the peak, the largest first: "conv3_2/out + add_7/in + 3 more". */
static void name_peak(const struct npuplan_problem *problem, char *text, size_t size)
{
	const struct npuplan_liveness *live = &problem->live;
	AUTO_HEAP struct npuplan_keyed *at_peak =
		npuplan_malloc((size_t)live->atom_count * sizeof(*at_peak) + 1);
	uint32_t count = 0;
	size_t used = 0;

	snprintf(text, size, "nothing");
	if (!at_peak)
		return;
	/* Atoms are sorted by tensor, so those of one tensor follow each other. */
	for (uint32_t i = 0; i < live->atom_count; i++) {
		const struct npuplan_atom *atom = &live->atoms[i];

		if (atom->start > problem->peak_instant || atom->end < problem->peak_instant)
			continue;
		if (!count || at_peak[count - 1].item != atom->tensor)
			at_peak[count++] =
				(struct npuplan_keyed){ .key = -1, .item = atom->tensor };
		/* Keys are sorted ascending, so the one with most bytes has the least. */
		at_peak[count - 1].key -= atom->length;
	}
	npuplan_sort_keyed(at_peak, count);
	for (uint32_t i = 0; i < count && i < NAMED && used < size; i++) {
		char label[96];

		used += snprintf(text + used, size - used, "%s%s", i ? " + " : "",
				 npuplan_tensor_label(problem->graph, at_peak[i].item, label));
	}
	if (count > NAMED && used < size)
		snprintf(text + used, size - used, " + %u more", count - NAMED);
}

int npuplan_fail_budget(const struct npuplan_problem *problem,
			const struct npuplan_packing *packing, struct npuplan_error *error)
{
	uint64_t budget = problem->options->arena_budget;
	uint64_t bytes[3] = { packing->top, budget, packing->lower_bound };
	uint32_t step = npuplan_instant_position(&problem->live, problem->peak_instant);
	char numbers[3][32], peak[300];

	for (int i = 0; i < 3; i++)
		npuplan_format_bytes(bytes[i], numbers[i]);
	/* "needs 1.5 MiB, budget 1.5 MiB" would explain nothing, so bytes are written out then. */
	if (!strcmp(numbers[0], numbers[1]))
		for (int i = 0; i < 3; i++)
			snprintf(numbers[i], sizeof(numbers[i]), "%llu B",
				 (unsigned long long)bytes[i]);
	name_peak(problem, peak, sizeof(peak));
	npuplan_fail(error, -ENOSPC, "needs %s, budget %s, lower bound %s, peak at step %u: %s%s",
		     numbers[0], numbers[1], numbers[2], step, peak,
		     packing->lower_bound > budget ? "; no plan in this order fits" : "");
	if (error && packing->lower_bound > budget) {
		error->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		error->needed = packing->lower_bound;
		/* In a graph with loops and branches a position is not the step of that number. */
		error->step = problem->graph->block_count == 1 ? step : NPUMEM_NONE;
	} else if (error) {
		error->needed = packing->top;
	}
	return -ENOSPC;
}

int npuplan_fail_clash(const struct npuplan_problem *problem, const uint32_t clash[2],
		       struct npuplan_error *error)
{
	const struct npuplan_item *a = &problem->items[clash[0]];
	const struct npuplan_item *b = &problem->items[clash[1]];
	char name_a[96], name_b[96];

	return npuplan_fail(
		error, -EINVAL,
		"fixed offsets collide: %s at %llu, %llu bytes, and %s at %llu, %llu bytes, are live at once",
		npuplan_tensor_label(problem->graph, a->tensor, name_a),
		(unsigned long long)a->fixed_offset, (unsigned long long)a->size,
		npuplan_tensor_label(problem->graph, b->tensor, name_b),
		(unsigned long long)b->fixed_offset, (unsigned long long)b->size);
}

int npuplan_check_straight(const struct npuplan_graph *graph, struct npuplan_error *error)
{
	if (npuplan_is_straight(graph))
		return 0;
	return npuplan_fail(error, -EOPNOTSUPP, "%s: this planner plans no loops and branches",
			    graph->name);
}
