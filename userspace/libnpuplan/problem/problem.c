// SPDX-License-Identifier: MIT
/*
 * Making a packing problem of a graph: an item for each tensor in the arena, and their conflicts.
 */
#include <stdlib.h>
#include <string.h>

#include "problem.h"

/* Bytes that sizes and fixed offsets may add up to, so that no address comes near an overflow. */
#define MAX_TOTAL ((uint64_t)1 << 62)
#define MAX_ALIGN 65536u

/*
 * Find the alignment of each tensor, which also has to suit the aliases in it. NULL: *err says why.
 */
static uint32_t *find_alignments(const struct npuplan_graph *graph, int *err,
				 struct npuplan_error *error)
{
	uint32_t *aligns = npuplan_malloc(graph->tensor_count * sizeof(*aligns) + 1);
	char label[96], base[96];

	if (!aligns) {
		*err = npuplan_fail(error, -ENOMEM, "out of memory");
		return NULL;
	}
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		aligns[i] = graph->tensors[i].align;
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];

		if (!(tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS))
			continue;
		if (tensor->alias_offset % tensor->align) {
			*err = npuplan_fail(
				error, -EINVAL,
				"%s: byte %llu of %s is not at a multiple of its alignment %u",
				npuplan_tensor_label(graph, i, label),
				(unsigned long long)tensor->alias_offset,
				npuplan_tensor_label(graph, tensor->alias_of, base), tensor->align);
			free(aligns);
			return NULL;
		}
		if (aligns[tensor->alias_of] < tensor->align)
			aligns[tensor->alias_of] = tensor->align;
	}
	return aligns;
}

/* Check a fixed offset by itself; whether it keeps clear of others is for the packer to see. */
static int check_fixed(const struct npuplan_problem *problem, const struct npuplan_item *item,
		       struct npuplan_error *error)
{
	uint32_t align = item->align > problem->alignment ? item->align : problem->alignment;
	uint64_t budget = problem->options->arena_budget;
	char label[96];

	npuplan_tensor_label(problem->graph, item->tensor, label);
	if (item->fixed_offset % align)
		return npuplan_fail(error, -EINVAL,
				    "%s: fixed offset %llu is not a multiple of the alignment %u",
				    label, (unsigned long long)item->fixed_offset, align);
	if (!budget || (item->fixed_offset <= budget && item->size <= budget - item->fixed_offset))
		return 0;
	npuplan_fail(error, -ENOSPC,
		     "%s: %llu bytes at fixed offset %llu are beyond the budget of %llu bytes",
		     label, (unsigned long long)item->size, (unsigned long long)item->fixed_offset,
		     (unsigned long long)budget);
	/* Nothing that a planner does brings the tensor into the budget. */
	if (error) {
		error->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		error->needed = item->fixed_offset + item->size;
	}
	return -ENOSPC;
}

int npuplan_make_items(struct npuplan_problem *problem, struct npuplan_error *error)
{
	const struct npuplan_graph *graph = problem->graph;
	uint64_t total = 0;
	AUTO_HEAP uint32_t *aligns = NULL;
	char label[96];
	int err = 0;

	problem->items = calloc((size_t)graph->tensor_count + 1, sizeof(*problem->items));
	if (!problem->items)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	aligns = find_alignments(graph, &err, error);
	for (uint32_t i = 0; aligns && i < problem->live.atom_count; i++) {
		const struct npuplan_atom *atom = &problem->live.atoms[i];
		const struct npuplan_tensor *tensor = &graph->tensors[atom->tensor];
		struct npuplan_item *item = &problem->items[problem->item_count];

		/* Atoms are sorted by tensor, so that the last item may be this atom's. */
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
			.align = aligns[atom->tensor],
			.start = atom->start,
			.end = atom->end,
			.tensor = atom->tensor,
			.fixed = tensor->flags & NPUMEM_TENSOR_FLAG_FIXED,
		};
		problem->item_count++;
		err = item->fixed ? check_fixed(problem, item, error) : 0;
		if (err)
			break;
		if (__builtin_add_overflow(total, item->size + MAX_ALIGN, &total) ||
		    (item->fixed && __builtin_add_overflow(total, item->fixed_offset, &total)) ||
		    item->size > MAX_TOTAL || total > MAX_TOTAL) {
			err = npuplan_fail(
				error, -E2BIG,
				"%s: sizes and fixed offsets add up to more than 2^62 bytes",
				npuplan_tensor_label(graph, item->tensor, label));
			break;
		}
	}
	return err;
}

int npuplan_problem_init(struct npuplan_problem *problem, const struct npuv_graph *cells,
			 struct npuplan_error *error)
{
	uint64_t fixed;
	int err;

	err = npuplan_liveness_init(&problem->live, cells);
	if (err)
		return npuplan_fail(error, err, "live ranges: %s", strerror(-err));
	err = npuplan_make_items(problem, error);
	if (err)
		return err;
	err = npuplan_lower_bound(&problem->live, &problem->lower_bound, &problem->peak_instant);
	if (err)
		return npuplan_fail(error, err, "lower bound: %s", strerror(-err));
	fixed = npuplan_fixed_top(problem->items, problem->item_count);
	if (problem->lower_bound < fixed)
		problem->lower_bound = fixed;
	return 0;
}

void npuplan_problem_fini(struct npuplan_problem *problem)
{
	npuplan_conflicts_fini(&problem->conflicts);
	npuplan_liveness_fini(&problem->live);
	free(problem->items);
}

/* Whether to stop listing conflicts; there is no packing yet that the caller could be told of. */
static bool is_over(void *context)
{
	const struct npuplan_problem *problem = context;

	return npuplan_effort_over(problem->effort, UINT64_MAX, problem->lower_bound, 0);
}

/*
 * Whether there are both in-place operators and fixed offsets: two tensors may then be fixed where
 * they share bytes, which listed conflicts alone allow.
 */
static bool is_fixed_in_place(const struct npuplan_problem *problem)
{
	return problem->live.takeover_count &&
	       npuplan_any_fixed(problem->items, problem->item_count);
}

int npuplan_make_conflicts(struct npuplan_problem *problem, bool must_list,
			   struct npuplan_error *error)
{
	const struct npuplan_until until = { .over = is_over, .context = problem };
	uint64_t memory = problem->options->memory_limit;
	size_t room = memory ? memory / NPUPLAN_PAIR_BYTES : SIZE_MAX;
	size_t most = room < NPUPLAN_LISTED_PAIRS ? room : NPUPLAN_LISTED_PAIRS;
	int err;

	must_list |= is_fixed_in_place(problem);
	/* A planner that needs the list makes one packing even if its time is over. */
	err = npuplan_conflicts_list(&problem->conflicts, problem->items, problem->item_count, most,
				     must_list ? NULL : &until);
	if (must_list && err == -E2BIG && most == NPUPLAN_LISTED_PAIRS) {
		most = room < NPUPLAN_MAX_PAIRS ? room : NPUPLAN_MAX_PAIRS;
		err = npuplan_conflicts_list(&problem->conflicts, problem->items,
					     problem->item_count, most, &until);
	}
	if (!must_list && (err == -E2BIG || err == -EINTR)) {
		npuplan_conflicts_overlap(&problem->conflicts, problem->items, problem->item_count);
		return 0;
	}
	if (err == -E2BIG)
		return npuplan_fail(error, err,
				    "of %u tensors more than %zu pairs live at the same time",
				    problem->item_count, most);
	if (err == -EINTR)
		return npuplan_fail(error, -ETIMEDOUT,
				    "planning ended before all pairs of %u tensors were listed",
				    problem->item_count);
	if (!err)
		err = npuplan_permit_in_place(&problem->conflicts, &problem->live);
	if (err)
		return npuplan_fail(error, err, "conflicts of %u tensors: %s", problem->item_count,
				    strerror(-err));
	return 0;
}

bool npuplan_lives_whole(const struct npuplan_problem *problem)
{
	/*
	 * In a graph with loops and branches there are no atoms; the items have live ranges of
	 * their own.
	 */
	if (!problem->live.atom_count)
		return true;
	if (problem->live.atom_count != problem->item_count)
		return false;
	for (uint32_t i = 0; i < problem->item_count; i++)
		if (problem->live.atoms[i].length != problem->items[i].size)
			return false;
	return true;
}
