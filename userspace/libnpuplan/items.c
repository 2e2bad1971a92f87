// SPDX-License-Identifier: MIT
/* What is to be placed: one item a tensor that lives in the arena. */
#include <stdlib.h>
#include <string.h>

#include "planners.h"

/* Addresses stay far from overflow if all that is placed adds up to this. */
#define MAX_TOTAL ((uint64_t)1 << 62)
#define MAX_ALIGN 65536u

int npuplan_make_items(struct npuplan_problem *problem, struct npuplan_error *error)
{
	const struct npuplan_graph *graph = problem->graph;
	uint64_t total = 0;
	char label[96];

	problem->items = calloc((size_t)graph->tensor_count + 1, sizeof(*problem->items));
	if (!problem->items)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < problem->live.atom_count; i++) {
		const struct npuplan_atom *atom = &problem->live.atoms[i];
		const struct npuplan_tensor *tensor = &graph->tensors[atom->tensor];
		struct npuplan_item *item = &problem->items[problem->item_count];

		/* Atoms are in order of tensors. */
		if (problem->item_count && item[-1].tensor == atom->tensor) {
			item--;
			if (item->start > atom->start)
				item->start = atom->start;
			if (item->end < atom->end)
				item->end = atom->end;
			continue;
		}
		*item = (struct npuplan_item){
			.size = tensor->size,
			.fixed_offset = tensor->fixed_offset,
			.align = tensor->align,
			.start = atom->start,
			.end = atom->end,
			.tensor = atom->tensor,
			.fixed = tensor->flags & NPUMEM_TENSOR_FIXED,
		};
		problem->item_count++;
		if (item->fixed && item->fixed_offset % problem->alignment)
			return npuplan_fail(
				error, -EINVAL,
				"%s: fixed offset %llu is not a multiple of the alignment %u",
				npuplan_tensor_label(graph, item->tensor, label),
				(unsigned long long)item->fixed_offset, problem->alignment);
		if (__builtin_add_overflow(total, item->size + MAX_ALIGN, &total) ||
		    (item->fixed && __builtin_add_overflow(total, item->fixed_offset, &total)) ||
		    item->size > MAX_TOTAL || total > MAX_TOTAL)
			return npuplan_fail(
				error, -E2BIG,
				"%s: sizes and fixed offsets add up to more than 2^62 bytes",
				npuplan_tensor_label(graph, item->tensor, label));
	}
	return 0;
}
