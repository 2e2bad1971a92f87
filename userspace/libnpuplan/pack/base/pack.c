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
static int first_bound(struct npuplan_pack *call)
{
	const struct npuplan_pack_problem *problem = call->problem;
	uint64_t most, *breadths;
	int err;

	call->lower_bound = problem->lower_bound;
	for (uint32_t i = 0; i < problem->item_count; i++) {
		const struct npuplan_item *item = &problem->items[i];
		uint64_t end = item->size + (item->fixed ? item->fixed_offset : 0);

		if (end > call->lower_bound)
			call->lower_bound = end;
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
	if (!err && most > call->lower_bound)
		call->lower_bound = most;
	npuplan_free(breadths);
	return err;
}

static int start(struct npuplan_pack *call)
{
	const struct npuplan_pack_problem *problem = call->problem;
	size_t n = problem->item_count;

	call->offsets = npuplan_pool_take(&call->pool, n, sizeof(*call->offsets));
	call->alignments = npuplan_pool_take(&call->pool, n, sizeof(*call->alignments));
	if (call->pool.failed)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		call->alignments[i] = problem->items[i].align > problem->alignment ?
					      problem->items[i].align :
					      problem->alignment;
	if (problem->conflicts)
		call->conflicts = *problem->conflicts;
	else
		npuplan_conflicts_overlap(&call->conflicts, problem->items, problem->item_count);
	if (call->packer->incumbent) {
		call->top = call->packer->incumbent->top;
		memcpy(call->offsets, call->packer->incumbent->offsets, n * sizeof(*call->offsets));
	}
	return first_bound(call);
}

static uint32_t verdict(const struct npuplan_pack *call)
{
	uint64_t capacity = call->problem->capacity;

	if (call->infeasible || (capacity && call->lower_bound > capacity))
		return NPUMEM_PLAN_STATUS_INFEASIBLE;
	if (call->top == UINT64_MAX || (capacity && call->top > capacity))
		return NPUMEM_PLAN_STATUS_UNKNOWN;
	return call->top <= call->lower_bound ? NPUMEM_PLAN_STATUS_OPTIMAL :
						NPUMEM_PLAN_STATUS_FEASIBLE;
}

static int finish(struct npuplan_pack *call, uint64_t *offsets, struct npuplan_pack_result *result,
		  struct npuplan_error *error)
{
	struct npuplan_error wrong;
	uint64_t top = 0;
	int err;

	*result = (struct npuplan_pack_result){
		.top = call->problem->item_count ? UINT64_MAX : 0,
		.lower_bound = call->lower_bound,
		.work = call->work,
		.status = verdict(call),
		.memory_ended = call->memory_ended,
		.seconds = npuplan_effort_seconds(&call->effort),
	};
	if (call->top == UINT64_MAX)
		return 0;
	memcpy(offsets, call->offsets, call->problem->item_count * sizeof(*offsets));
	err = npuplan_pack_check(call->problem, offsets, &top, &wrong);
	if (err || top != call->top || top < call->lower_bound)
		return npuplan_fail(error, -ENOTRECOVERABLE,
				    "defect of the packer: top %llu of %llu, lower bound %llu%s%s",
				    (unsigned long long)call->top, (unsigned long long)top,
				    (unsigned long long)call->lower_bound, err ? "; " : "",
				    err ? wrong.text : "");
	result->top = top;
	return 0;
}

int npuplan_pack_by(const struct npuplan_packer *packer, const struct npuplan_pack_problem *problem,
		    const struct npuplan_pack_options *options, uint64_t *offsets,
		    struct npuplan_pack_result *result, struct npuplan_error *error)
{
	struct npuplan_pack call = {
		.problem = problem,
		.options = options,
		.packer = packer,
		.top = UINT64_MAX,
	};
	struct npuplan_heap heap = { .limit = options->memory_limit }, *outer = NULL;
	int err = check_problem(problem, error);

	if (err)
		return err;
	call.effort =
		npuplan_effort_begin(options->work_limit ? options->work_limit : NPUPLAN_PACK_WORK,
				     options->deadline_seconds > 0 ? options->deadline_seconds : 0,
				     options->progress, options->context);
	if (options->memory_limit)
		outer = npuplan_heap_use(&heap);
	err = start(&call);
	if (!err)
		err = packer->pack(&call, packer->argument);
	/*
	 * The limit of memory ends the packer as the caller would: its best packing remains.
	 * Checking it takes less memory, and is not limited.
	 */
	if (err == -ENOMEM && heap.refused) {
		call.memory_ended = true;
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
		err = finish(&call, offsets, result, error);
	npuplan_pool_free(&call.pool);
	if (options->memory_limit)
		npuplan_heap_use(outer);
	return err;
}
