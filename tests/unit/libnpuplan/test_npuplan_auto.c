// SPDX-License-Identifier: MIT
/* Planners auto and exact: bounds, limits, progress, cancellation. */
#include "npuplan_build.h"

#include "planners/planners.h"
#include "random.h"

#define ITEMS 120

/*
 * struct listener - hears of a call's progress
 * @last: the last progress that it was told
 * @stop_after: number of calls after which it ends the planning; 0: never
 */
struct listener {
	struct npuplan_pack_progress last;
	uint32_t calls;
	uint32_t stop_after;
};

static struct npuplan_item items[ITEMS];
static uint64_t offsets[ITEMS];

/* Live ranges that no greedy planner packs to the bound. */
static struct npuplan_problem hard(const struct npuplan_options *options)
{
	struct npuplan_problem problem = {
		.options = options,
		.items = items,
		.item_count = ITEMS,
		.alignment = 1,
	};
	uint64_t random = 5;

	for (uint32_t i = 0; i < ITEMS; i++) {
		uint32_t start = random_range(&random, 0, 60);

		items[i] = (struct npuplan_item){
			.size = random_range(&random, 1, 400),
			.align = 1,
			.start = start,
			.end = start + random_range(&random, 0, 25),
		};
	}
	for (uint32_t instant = 0; instant < 90; instant++) {
		uint64_t live = 0;

		for (uint32_t i = 0; i < ITEMS; i++)
			if (items[i].start <= instant && items[i].end >= instant)
				live += items[i].size;
		if (problem.lower_bound < live)
			problem.lower_bound = live;
	}
	assert_int_equal(npuplan_conflicts_whole(&problem.conflicts, items, ITEMS), 0);
	return problem;
}

static struct npuplan_packing pack(struct npuplan_problem *problem, const char *name)
{
	const struct npuplan_planner *planner = npuplan_planner_find(name);
	struct npuplan_packing packing = {
		.offsets = offsets,
		.lower_bound = problem->lower_bound,
	};
	struct npuplan_pack_problem check = {
		.items = items,
		.item_count = ITEMS,
		.alignment = 1,
	};
	struct npuplan_effort effort =
		npuplan_effort_begin(UINT64_MAX, problem->options->deadline_seconds,
				     problem->options->progress, problem->options->context);
	struct npuplan_error error = { "" };
	uint64_t top;

	problem->effort = &effort;
	if (planner->pack(problem, planner->argument, &packing, &error))
		fail_msg("%s: %s", name, error.text);
	if (npuplan_pack_check(&check, offsets, &top, &error))
		fail_msg("%s: %s", name, error.text);
	problem->effort = NULL;
	assert_int_equal(top, packing.top);
	assert_true(packing.top >= packing.lower_bound);
	return packing;
}

static int listen(void *context, const struct npuplan_pack_progress *now)
{
	struct listener *listener = context;

	/* From call to call, the best packing never becomes worse. */
	if (listener->calls) {
		assert_true(now->top <= listener->last.top);
		assert_true(now->lower_bound >= listener->last.lower_bound);
	}
	assert_true(now->gap >= 0);
	listener->last = *now;
	listener->calls++;
	return listener->stop_after && listener->calls >= listener->stop_after;
}

/* Auto and exact find packings that no greedy planner finds. */
TEST(better_than_greedy)
{
	static const struct npuplan_options options = { .work_limit = 20000000 };
	struct npuplan_problem problem = hard(&options);
	struct npuplan_packing greedy = pack(&problem, "greedy");
	struct npuplan_packing nnc = pack(&problem, "nnc");
	struct npuplan_packing all = pack(&problem, "auto");

	assert_true(greedy.top > problem.lower_bound);
	assert_int_equal(greedy.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	assert_true(all.top < greedy.top);
	assert_true(all.top <= nnc.top);
	npuplan_conflicts_fini(&problem.conflicts);
}

TEST(progress)
{
	struct listener listener = { .calls = 0 };
	struct npuplan_options options = {
		.work_limit = 3000000,
		.progress = listen,
		.context = &listener,
	};
	static const char *const names[] = { "auto", "exact", "nnc", "greedy" };
	struct npuplan_problem problem = hard(&options);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct npuplan_packing packing;

		listener = (struct listener){ .calls = 0 };
		packing = pack(&problem, names[i]);
		assert_true(listener.calls > 1);
		assert_int_equal(listener.last.top, packing.top);
		assert_true(listener.last.lower_bound <= packing.lower_bound);
	}
	npuplan_conflicts_fini(&problem.conflicts);
}

/* A caller that ends planning gets a packing, and soon. */
TEST(cancel)
{
	struct listener listener = { .stop_after = 1 };
	struct npuplan_options options = { .progress = listen, .context = &listener };
	static const char *const names[] = { "auto", "exact", "nnc", "greedy" };
	struct npuplan_problem problem = hard(&options);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		listener = (struct listener){ .stop_after = 1 };
		pack(&problem, names[i]);
		/* There is one call more if planning was stopped before there was any packing. */
		assert_in_range(listener.calls, 1, 2);
	}
	npuplan_conflicts_fini(&problem.conflicts);
}

/* Even with a deadline that is past before planning begins there is a packing. */
TEST(deadline)
{
	static const struct npuplan_options options = { .deadline_seconds = -1 };
	static const char *const names[] = { "auto", "exact", "nnc", "greedy" };
	struct npuplan_problem problem = hard(&options);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		pack(&problem, names[i]);
	npuplan_conflicts_fini(&problem.conflicts);
}

/* A limit of work gives the same plan each time, and more work never gives a worse one. */
TEST(work_limit)
{
	struct npuplan_options options = { 0 };
	struct npuplan_problem problem = hard(&options);
	uint64_t last = UINT64_MAX, first[ITEMS];

	for (uint64_t limit = 1; limit <= 10000000; limit *= 100) {
		struct npuplan_packing once, again;

		options.work_limit = limit;
		once = pack(&problem, "auto");
		memcpy(first, offsets, sizeof(first));
		again = pack(&problem, "auto");
		assert_int_equal(once.top, again.top);
		assert_int_equal(once.work, again.work);
		assert_memory_equal(first, offsets, sizeof(first));
		assert_true(once.top <= last);
		last = once.top;
	}
	npuplan_conflicts_fini(&problem.conflicts);
}

/* No packing reaches the bound of 5, and both planners prove that. */
TEST(proves_more)
{
	static const struct npuplan_options options;
	static const char *const names[] = { "auto", "exact" };
	struct npuplan_item two[] = {
		{ .size = 3, .align = 4, .start = 0, .end = 0 },
		{ .size = 2, .align = 4, .start = 0, .end = 0 },
	};
	struct npuplan_problem problem = {
		.options = &options,
		.items = two,
		.item_count = 2,
		.alignment = 1,
		.lower_bound = 5,
	};

	assert_int_equal(npuplan_conflicts_whole(&problem.conflicts, two, 2), 0);
	for (size_t i = 0; i < 2; i++) {
		struct npuplan_packing packing = { .offsets = offsets, .lower_bound = 5 };
		const struct npuplan_planner *planner = npuplan_planner_find(names[i]);

		assert_int_equal(planner->pack(&problem, planner->argument, &packing, NULL), 0);
		assert_int_equal(packing.top, 6);
		assert_int_equal(packing.lower_bound, 6);
		assert_int_equal(packing.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	}
	npuplan_conflicts_fini(&problem.conflicts);
}

/* The search begins with the incumbent, and does not make the greedy packings again. */
TEST(incumbent)
{
	static const struct npuplan_options options = { .work_limit = 20000000 };
	struct npuplan_problem problem = hard(&options);
	struct npuplan_packing incumbent, alone, found;
	uint64_t kept[ITEMS];

	/* The valley packers reach the bound without any fixed offset, not about this one. */
	items[2].fixed = true;
	incumbent = pack(&problem, "greedy");
	memcpy(kept, offsets, sizeof(kept));
	incumbent.offsets = kept;
	alone = pack(&problem, "exact");
	problem.incumbent = &incumbent;
	found = pack(&problem, "exact");
	assert_true(found.top < incumbent.top);
	assert_int_equal(found.top, alone.top);
	/* First fit by live ranges has half the units of that by conflicts, or a little more. */
	assert_true(found.work + incumbent.work / 2 <= alone.work);
	npuplan_conflicts_fini(&problem.conflicts);
}
