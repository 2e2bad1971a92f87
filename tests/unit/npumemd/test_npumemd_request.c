// SPDX-License-Identifier: MIT
/*
 * npumemd: what is asked for is planned: planners, objectives, budgets; and graphs that are none.
 */
#include "npumemd_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "npuplan.h"

static size_t read_plan(void *plan, size_t size)
{
	ssize_t n = pread(f.fd, plan, size, (off_t)f.answer_at);

	assert_true(n > 0 && (size_t)n < size);
	return n;
}

/* ---------------------------------------------------------------- real plans */

REQUEST_TEST(planned)
{
	struct accepted accepted = accept_good();
	struct npumem_verdict verdict;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	uint64_t blob[1024];
	char log[512];
	size_t size;

	run_request(&accepted);
	assert_int_equal(f.status, 0);
	size = read_plan(blob, sizeof(blob));
	assert_int_equal(
		npuplan_verify(f.graph, f.graph_size, blob, size, &verdict, log, sizeof(log)), 0);
	assert_int_equal(npuplan_plan_read(blob, size, &plan, NULL), 0);
	assert_int_equal(plan->info.arena_size, 500);
	assert_int_equal(plan->info.lower_bound, 500);
	assert_string_equal(plan->info.planner, "auto");
}

/* Large enough for what small graphs do not reach: qsort() and malloc() at size. */
REQUEST_TEST(large_graph)
{
	static uint64_t sizes[3000];
	struct accepted accepted;

	for (uint32_t i = 0; i < 3000; i++)
		sizes[i] = 64 + i * 7919 % 4096;
	build_chain(sizes, 3000, NULL, NPUMEM_NONE);
	accepted = accept_good();
	run_request(&accepted);
	assert_string_equal(f.message, "");
	assert_int_equal(f.status, 0);
}

REQUEST_TEST(planner_by_name)
{
	struct accepted accepted = accept_good();

	strcpy(accepted.planner, "greedy");
	run_request(&accepted);
	assert_int_equal(f.status, 0);
}

REQUEST_TEST(unknown_planner)
{
	struct accepted accepted = accept_good();

	strcpy(accepted.planner, "magic");
	run_request(&accepted);
	assert_int_equal(f.status, EOPNOTSUPP);
	assert_says("magic");
}

FAILURE(unknown_objective, .objective = 3, .status = EOPNOTSUPP,
	.message = "objective 3 is not supported; this npumemd plans for the "
		   "smallest arena (0), the least traffic (1) and the least peak (2)")

static const uint64_t four_sizes[] = { 100, 400, 400, 50 };

/* a 100 -> b 400 -> c 400, and d 50 = c + a: c needs 800, and 900 if a stays. */
static void build_skip(void)
{
	static const uint32_t reads[][2] = { { 0, 0 }, { 1, 1 }, { 2, 0 } };
	struct npumem_builder *b = begin_graph(four_sizes, 4);

	for (uint32_t i = 0; i < 3; i++) {
		const struct npumem_access accesses[] = {
			{ i + 1, NPUMEM_ACCESS_WRITE, NPUMEM_NONE, 0 },
			{ reads[i][0], NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
			{ reads[i][1], NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
		};

		assert_int_equal(npumem_builder_add_step(b, "s", 0, 0, accesses,
							 reads[i][0] == reads[i][1] ? 2 : 3, NULL),
				 i);
	}
	end_graph(b);
}

/* a 100 -> b 400 -> c 400 -> d 50, c in place of b: no step needs more than 500. */
static void build_in_place(void)
{
	build_chain(four_sizes, 4, "s", 1);
}

static void run_traffic(const char *planner, uint64_t budget, uint64_t traffic)
{
	struct accepted accepted;
	struct npumem_verdict verdict;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	uint64_t blob[1024];
	size_t size;

	accepted = accept_good();
	strcpy(accepted.planner, planner);
	accepted.objective = planner[0] ? NPUMEM_OBJECTIVE_ARENA : NPUMEM_OBJECTIVE_TRAFFIC;
	accepted.arena_budget = budget;
	run_request(&accepted);
	assert_string_equal(f.message, "");
	assert_int_equal(f.status, 0);
	size = read_plan(blob, sizeof(blob));
	assert_int_equal(npuplan_verify(f.graph, f.graph_size, blob, size, &verdict, NULL, 0), 0);
	assert_int_equal(npuplan_plan_read(blob, size, &plan, NULL), 0);
	assert_string_equal(plan->info.planner, planner[0] ? planner : "cosma");
	assert_in_range(plan->info.arena_size, 1, budget);
	assert_int_equal(plan->info.spill_bytes + plan->info.fill_bytes, traffic);
}

/* a is on chip from the start and has no copy elsewhere: it is spilled and filled. */
REQUEST_TEST(traffic)
{
	build_skip();
	run_traffic("", 800, 200);
}

/* What fits because an operator works in place moves nothing, and is no reason to refuse. */
REQUEST_TEST(traffic_in_place)
{
	build_in_place();
	run_traffic("", 500, 0);
}

REQUEST_TEST(traffic_by_name)
{
	build_skip();
	run_traffic("cosma", 900, 0);
}

FAILURE(traffic_infeasible, .build = build_skip, .objective = NPUMEM_OBJECTIVE_TRAFFIC,
	.budget = 799, .status = ENOSPC,
	.message = "cosma: infeasible: s needs 800 bytes (800 B), the budget is "
		   "799 (799 B)")
FAILURE(traffic_of_another, .objective = NPUMEM_OBJECTIVE_TRAFFIC, .planner = "greedy",
	.status = EOPNOTSUPP,
	.message = "greedy: planner greedy does not take the objectives of planner "
		   "cosma")

/* The memory-limit of the configuration is no reason to refuse a planner that takes none. */
REQUEST_TEST(planner_without_limit_of_memory)
{
	struct accepted accepted = accept_good();

	/* More than AddressSanitizer reserves. */
	f.config.memory_limit = 1ull << 60;
	snprintf(accepted.planner, sizeof(accepted.planner), "tile-scheduled");
	run_request(&accepted);
	assert_int_equal(f.status, 0);
}

/* Planning ends before its process would be killed: what it is told is the least of all. */
static int plan_seconds(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;

	snprintf(reply->text, sizeof(reply->text), "%.0f of %s", task->seconds, task->planner);
	return -ECANCELED;
}

FAILURE(limits_end_planning_first, .objective = NPUMEM_OBJECTIVE_TRAFFIC, .plan = "plan_seconds",
	.cpu_limit = 5, .status = ECANCELED, .message = "4 of cosma")

REQUEST_TEST(budget)
{
	struct accepted accepted = accept_good();

	accepted.arena_budget = 500;
	run_request(&accepted);
	assert_int_equal(f.status, 0);
}

REQUEST_TEST(budget_too_small)
{
	struct accepted accepted = accept_good();

	accepted.arena_budget = 499;
	run_request(&accepted);
	assert_int_equal(f.status, ENOSPC);
	/* Needed, budget, and between what the peak is. */
	assert_says("500");
	assert_says("499");
	assert_says("b");
	assert_says("c");
	assert_int_equal(lseek(f.fd, 0, SEEK_END), f.graph_size);
}

/* ---------------------------------------------------------------- bad graphs */

REQUEST_TEST(garbage_graph)
{
	struct accepted accepted;

	memset(f.graph, 0x5a, f.graph_size);
	accepted = accept_graph(f.graph, f.graph_size);
	run_request(&accepted);
	assert_int_equal(f.status, EBADMSG);
	assert_says("graph: ");
}

REQUEST_TEST(truncated_graph)
{
	struct accepted accepted;

	f.graph_size -= 8;
	accepted = accept_graph(f.graph, f.graph_size);
	run_request(&accepted);
	assert_int_equal(f.status, EBADMSG);
	assert_says("graph: ");
}

REQUEST_TEST(empty_graph)
{
	struct accepted accepted;

	f.graph_size = 0;
	accepted = accept_graph(f.graph, 0);
	run_request(&accepted);
	assert_failed(EINVAL, "a blob of 0 bytes cannot be mapped: Invalid argument");
}

/* The driver said more than its mapping has: touching it is the worker's end. */
REQUEST_TEST(graph_shorter_than_said)
{
	struct npumem_blob_header *header = f.graph;
	struct npumem_blob_section *table = (void *)(header + 1);
	struct accepted accepted;
	size_t end;

	/* Sections that lie behind the end of the file, and nothing before. */
	header->total_size = 1 << 20;
	for (uint32_t i = 0; i < header->section_count; i++)
		table[i].offset = (1 << 19) + 65536 * i;
	end = sizeof(*header) + header->section_count * sizeof(*table);
	memset((char *)f.graph + end, 0, f.graph_size - end);
	accepted = accept_good();
	accepted.graph_size = 1 << 20;
	run_request(&accepted);
	assert_int_equal(f.status, EIO);
	assert_says("the planning process ");
}

const struct worker_job replacements[] = {
	{ "plan_seconds", plan_seconds },
	{ 0 },
};
