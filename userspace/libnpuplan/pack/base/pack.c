// SPDX-License-Identifier: MIT
/* npuplan_pack_by(): checks the problem, runs a packer, and checks the packing that it found. */
#include <string.h>

#include "call.h"
#include "sections.h"

#define MAX_BYTES (1ull << 62)

static int check_problem(const struct npuplan_pack_problem *problem, struct npuplan_error *error)
{
	uint32_t alignment = problem->alignment;
	uint64_t sum = 0;

	if (alignment & (alignment - 1))
		return npuplan_fail(error, -EINVAL, "alignment %u is not a power of two",
				    alignment);
	for (uint32_t i = 0; i < problem->item_count; i++) {
		const struct npuplan_item *item = &problem->items[i];
		uint32_t align = item->align > alignment ? item->align : alignment;
		uint64_t padded = item->fixed ? item->fixed_offset : align;

		if (!item->size)
			return npuplan_fail(error, -EINVAL, "item %u has no size", i);
		if (!item->align || item->align & (item->align - 1))
			return npuplan_fail(error, -EINVAL,
					    "item %u: alignment %u is not a power of two", i,
					    item->align);
		if (item->start > item->end)
			return npuplan_fail(error, -EINVAL, "item %u ends before it starts", i);
		if (item->fixed && align && item->fixed_offset % align)
			return npuplan_fail(error, -EINVAL,
					    "item %u: fixed offset %llu is not a multiple of %u", i,
					    (unsigned long long)item->fixed_offset, align);
		if (__builtin_add_overflow(sum, item->size, &sum) ||
		    __builtin_add_overflow(sum, padded, &sum) || sum > MAX_BYTES)
			return npuplan_fail(error, -EINVAL,
					    "sizes and offsets up to item %u exceed 2^62", i);
	}
	return 0;
}

/*
 * The lower bound to begin with: the most bytes that live at once, the largest item, and the
 * highest end of a fixed one.
 */
static int first_bound(struct npuplan_pack *run)
{
	const struct npuplan_pack_problem *problem = run->problem;
	uint64_t most, *breadths;
	int err;

	run->lower_bound = problem->lower_bound;
	for (uint32_t i = 0; i < problem->item_count; i++) {
		const struct npuplan_item *item = &problem->items[i];
		uint64_t end = item->size + (item->fixed ? item->fixed_offset : 0);

		if (end > run->lower_bound)
			run->lower_bound = end;
	}
	/*
	 * Listed conflicts may let items share bytes though they live together, so the bytes that
	 * live at once are no bound.
	 */
	if (problem->conflicts)
		return 0;
	breadths = npuplan_malloc(problem->item_count * sizeof(*breadths) + 1);
	err = breadths ? npuplan_breadths(problem->items, problem->item_count, breadths, &most) :
			 -ENOMEM;
	if (!err && most > run->lower_bound)
		run->lower_bound = most;
	npuplan_free(breadths);
	return err;
}

static int start(struct npuplan_pack *run)
{
	const struct npuplan_pack_problem *problem = run->problem;
	size_t n = problem->item_count;

	run->offsets = npuplan_pool_take(&run->pool, n, sizeof(*run->offsets));
	run->alignments = npuplan_pool_take(&run->pool, n, sizeof(*run->alignments));
	if (run->pool.failed)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		run->alignments[i] = problem->items[i].align > problem->alignment ?
					     problem->items[i].align :
					     problem->alignment;
	if (problem->conflicts)
		run->conflicts = *problem->conflicts;
	else
		npuplan_conflicts_overlap(&run->conflicts, problem->items, problem->item_count);
	if (run->packer->incumbent) {
		run->top = run->packer->incumbent->top;
		memcpy(run->offsets, run->packer->incumbent->offsets, n * sizeof(*run->offsets));
	}
	return first_bound(run);
}

static uint32_t verdict(const struct npuplan_pack *run)
{
	uint64_t capacity = run->problem->capacity;

	if (run->infeasible || (capacity && run->lower_bound > capacity))
		return NPUMEM_PLAN_STATUS_INFEASIBLE;
	if (run->top == UINT64_MAX || (capacity && run->top > capacity))
		return NPUMEM_PLAN_STATUS_UNKNOWN;
	return run->top <= run->lower_bound ? NPUMEM_PLAN_STATUS_OPTIMAL :
					      NPUMEM_PLAN_STATUS_FEASIBLE;
}

static int finish(struct npuplan_pack *run, uint64_t *offsets, struct npuplan_pack_result *result,
		  struct npuplan_error *error)
{
	struct npuplan_error wrong;
	uint64_t top = 0;
	int err;

	*result = (struct npuplan_pack_result){
		.top = run->problem->item_count ? UINT64_MAX : 0,
		.lower_bound = run->lower_bound,
		.work = run->work,
		.status = verdict(run),
		.memory_ended = run->memory_ended,
		.seconds = npuplan_effort_seconds(&run->effort),
	};
	if (run->top == UINT64_MAX)
		return 0;
	memcpy(offsets, run->offsets, run->problem->item_count * sizeof(*offsets));
	err = npuplan_pack_check(run->problem, offsets, &top, &wrong);
	if (err || top != run->top || top < run->lower_bound)
		return npuplan_fail(error, -ENOTRECOVERABLE,
				    "defect of the packer: top %llu of %llu, lower bound %llu%s%s",
				    (unsigned long long)run->top, (unsigned long long)top,
				    (unsigned long long)run->lower_bound, err ? "; " : "",
				    err ? wrong.text : "");
	result->top = top;
	return 0;
}

int npuplan_pack_by(const struct npuplan_packer *packer, const struct npuplan_pack_problem *problem,
		    const struct npuplan_pack_options *options, uint64_t *offsets,
		    struct npuplan_pack_result *result, struct npuplan_error *error)
{
	struct npuplan_pack run = {
		.problem = problem,
		.options = options,
		.packer = packer,
		.top = UINT64_MAX,
	};
	struct npuplan_heap heap = { .limit = options->memory_limit }, *outer = NULL;
	int err = check_problem(problem, error);

	if (err)
		return err;
	run.effort =
		npuplan_effort_begin(options->work_limit ? options->work_limit : NPUPLAN_PACK_WORK,
				     options->deadline_seconds > 0 ? options->deadline_seconds : 0,
				     options->progress, options->context);
	if (options->memory_limit)
		outer = npuplan_heap_use(&heap);
	err = start(&run);
	if (!err)
		err = packer->pack(&run, packer->argument);
	/*
	 * The limit of memory ends the packer as the caller would: its best packing remains.
	 * Checking it takes less memory, and is not limited.
	 */
	if (err == -ENOMEM && heap.refused) {
		run.memory_ended = true;
		err = 0;
	}
	heap.limit = UINT64_MAX;
	if (err == -EOPNOTSUPP)
		npuplan_fail(error, err,
			     "packer '%s' takes no fixed offsets and no listed conflicts",
			     packer->name);
	else if (err)
		npuplan_fail(error, err, "packer '%s': %s", packer->name, strerror(-err));
	else
		err = finish(&run, offsets, result, error);
	npuplan_pool_free(&run.pool);
	if (options->memory_limit)
		npuplan_heap_use(outer);
	return err;
}
