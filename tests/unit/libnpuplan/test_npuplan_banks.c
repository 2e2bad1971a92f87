// SPDX-License-Identifier: MIT
/* Two banks: npuplan_cosma_banks(), and dividing stays against trying everything. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "npuplan_build.h"

#include "cosma_oracle.h"
#include "planners/cosma/banks/banks.h"
#include "random.h"

/* in (4) -> a (4) -> b (4) -> out (4): two tensors at a time. */
static struct npuplan_graph *chain(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("chain");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4);

	build_op(graph, "make_a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "make_b", a, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "make_out", b, NPUMEM_NONE, NPUMEM_NONE, out);
	return graph;
}

static void banks_ok(const struct npuplan_graph *graph, struct cosma_settings *options,
		     const struct npuplan_bank banks[NPUPLAN_BANKS], struct npuplan_banked *found)
{
	struct cosma_oracle oracle;
	struct npuplan_error error;

	if (npuplan_cosma_banks(graph, options, banks, found, &error))
		fail_msg("%s", error.text);
	options->common.arena_budget = banks[0].size + banks[1].size;
	if (found->plan.position_count && !cosma_oracle_run(&oracle, graph, options, &found->plan))
		fail_msg("%s", oracle.why);
	for (uint32_t i = 0; i < found->plan.placement_count; i++) {
		const struct npumem_placement *placement = &found->plan.placements[i];
		uint64_t end = placement->offset + graph->tensors[placement->tensor].size;

		/* Never in both. */
		assert_true(end <= banks[0].size || placement->offset >= banks[0].size);
	}
}

TEST(chain)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain();
	struct cosma_settings options = { 0 };
	struct npuplan_bank banks[] = { { 4, 10 }, { 4, 2 } };
	struct npuplan_banked found;

	/*
	 * in: loaded, read; a, b: written, read; out: written, stored. One of two that
	 * live at once: a and out, or in and b, 16 bytes of 32.
	 */
	banks_ok(graph, &options, banks, &found);
	assert_int_equal(found.plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(found.plan.spill + found.plan.fill, 0);
	assert_int_equal(found.accessed[0], 16);
	assert_int_equal(found.accessed[1], 16);
	assert_int_equal(found.accessed_bound, 16);
	assert_true(found.optimal);
	assert_true(found.microseconds == 16 / 10. + 16 / 2.);
	npuplan_banked_free(&found);
	/* The second bank is the faster one, and has room for all. */
	banks[1] = (struct npuplan_bank){ 8, 20 };
	banks_ok(graph, &options, banks, &found);
	assert_int_equal(found.accessed[0], 0);
	assert_int_equal(found.accessed[1], 32);
	assert_true(found.optimal);
	npuplan_banked_free(&found);
}

TEST(infeasible)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain();
	struct cosma_settings options = { 0 };
	struct npuplan_bank banks[] = { { 3, 10 }, { 3, 2 } };
	struct npuplan_banked found;

	/* No bank holds a tensor of 4. */
	banks_ok(graph, &options, banks, &found);
	assert_int_equal(found.plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(found.plan.needed, 4);
	npuplan_banked_free(&found);
	/* One does, but an operator needs two. */
	banks[0].size = 4;
	banks_ok(graph, &options, banks, &found);
	assert_int_equal(found.plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(found.plan.needed, 8);
	npuplan_banked_free(&found);
	/* Eight bytes, but the second tensor would lie in both: not a proof of anything. */
	banks[0].size = 5;
	banks_ok(graph, &options, banks, &found);
	assert_int_equal(found.plan.status, NPUMEM_PLAN_STATUS_UNKNOWN);
	assert_null(found.plan.positions);
	npuplan_banked_free(&found);
}

TEST(refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain();
	struct cosma_settings options = { 0 };
	struct npuplan_bank banks[] = { { 0, 10 }, { 4, 2 } };
	struct npuplan_banked found;
	struct npuplan_error error;

	assert_int_equal(npuplan_cosma_banks(graph, &options, banks, &found, &error), -EINVAL);
	assert_string_equal(error.text, "bank 0 has no bytes");
	banks[0].size = 4;
	banks[1].bandwidth = 0;
	assert_int_equal(npuplan_cosma_banks(graph, &options, banks, &found, &error), -EINVAL);
	assert_string_equal(error.text, "bank 1 has no bandwidth");
	banks[1] = (struct npuplan_bank){ UINT64_MAX, 1 };
	assert_int_equal(npuplan_cosma_banks(graph, &options, banks, &found, &error), -EINVAL);
	assert_string_equal(error.text, "bank 1: 18446744073709551615 bytes are too many");
	banks[1] = (struct npuplan_bank){ 4, (uint64_t)INT64_MAX + 1 };
	assert_int_equal(npuplan_cosma_banks(graph, &options, banks, &found, &error), -EINVAL);
	assert_string_equal(error.text,
			    "bank 1: 9223372036854775808 bytes a microsecond are too many");
	banks[1].bandwidth = 1;
	options.common.alignment = 8;
	assert_int_equal(npuplan_cosma_banks(graph, &options, banks, &found, &error), -EINVAL);
	assert_string_equal(error.text, "bank 0: 4 bytes are no multiple of the alignment, 8");
}

/* ------------------------------------------------------ against everything */

static uint64_t random_state;

static uint32_t range(uint32_t low, uint32_t high)
{
	return random_range(&random_state, low, high);
}

#define STAYS 9

/* Whether the stays of @set have addresses in so many bytes, trying all of them. */
static bool fits(const struct cosma_banking *banking, uint32_t set, uint32_t i, uint64_t room,
		 uint64_t *offsets)
{
	const struct cosma_banking_stay *stay = &banking->stays[i];

	if (i == banking->count)
		return true;
	if (!(set >> i & 1))
		return fits(banking, set, i + 1, room, offsets);
	for (uint64_t at = 0; at + stay->size <= room; at += stay->align) {
		bool free = true;

		for (uint32_t j = 0; j < i && free; j++) {
			const struct cosma_banking_stay *other = &banking->stays[j];

			free = !(set >> j & 1) || other->to < stay->from ||
			       stay->to < other->from || offsets[j] + other->size <= at ||
			       at + stay->size <= offsets[j];
		}
		offsets[i] = at;
		if (free && fits(banking, set, i + 1, room, offsets))
			return true;
	}
	return false;
}

static bool try_all(const struct cosma_banking *banking, uint64_t *best)
{
	uint32_t all = (1u << banking->count) - 1;
	uint64_t offsets[STAYS];
	bool found = false;

	*best = 0;
	for (uint32_t set = 0; set <= all; set++) {
		uint64_t now = 0;

		for (uint32_t i = 0; i < banking->count; i++)
			if (set >> i & 1)
				now += banking->stays[i].size * banking->stays[i].touches;
		if ((found && now <= *best) ||
		    !fits(banking, set, 0, banking->capacity[0], offsets) ||
		    !fits(banking, all & ~set, 0, banking->capacity[1], offsets))
			continue;
		found = true;
		*best = now;
	}
	return found;
}

TEST(against_everything)
{
	const uint64_t seed = 7;
	uint32_t found = 0, none = 0, below_bound = 0;

	print_message("# seed %" PRIu64 "\n", seed);
	random_state = seed * 0x9e3779b97f4a7c15ull;
	for (uint32_t n = 0; n < 1500; n++) {
		struct cosma_banking_stay stays[STAYS];
		struct cosma_banking banking = {
			.stays = stays,
			.count = range(1, STAYS),
			.positions = range(1, 8),
			.capacity = { range(2, 8), range(2, 8) },
		};
		uint64_t offsets[STAYS], places[STAYS], accessed, work, bound, best, value = 0;
		uint8_t bank[STAYS];
		bool optimal, any;
		int err;

		for (uint32_t i = 0; i < banking.count; i++) {
			uint32_t from = range(0, banking.positions - 1);

			stays[i] = (struct cosma_banking_stay){
				.size = range(1, 4),
				.align = range(0, 3) ? 1 : 2,
				.from = from,
				.to = range(from, banking.positions - 1),
				.touches = range(1, 4),
			};
		}
		err = cosma_banking_solve(&banking, 100000000, bank, offsets, &accessed, &work,
					  &optimal);
		assert_int_equal(cosma_banking_bound(&banking, &bound), 0);
		any = try_all(&banking, &best);
		assert_true(optimal);
		assert_int_equal(err, any ? 0 : -ENOENT);
		none += !any;
		if (!any)
			continue;
		found++;
		assert_int_equal(accessed, best);
		assert_true(accessed <= bound);
		below_bound += accessed < bound;
		/* What came back is what it says it is. */
		for (uint32_t i = 0; i < banking.count; i++) {
			value += bank[i] ? 0 : stays[i].size * stays[i].touches;
			places[i] = offsets[i] + (bank[i] ? banking.capacity[0] : 0);
			assert_true(offsets[i] + stays[i].size <= banking.capacity[bank[i]]);
			assert_int_equal(offsets[i] % stays[i].align, 0);
			for (uint32_t j = 0; j < i; j++)
				assert_true(stays[j].to < stays[i].from ||
					    stays[i].to < stays[j].from ||
					    places[i] + stays[i].size <= places[j] ||
					    places[j] + stays[j].size <= places[i]);
		}
		assert_int_equal(value, accessed);
	}
	print_message("# %u divided, %u not to be, %u below the bound\n", found, none, below_bound);
	assert_true(found > 100 && none > 100 && below_bound > 10);
}

/* Limits end it; what was found by then is told. */
TEST(limit)
{
	struct cosma_banking_stay stays[40];
	struct cosma_banking banking = {
		.stays = stays,
		.count = 40,
		.positions = 40,
		.capacity = { 50, 60 },
	};
	uint64_t offsets[40], accessed, work;
	uint8_t bank[40];
	bool optimal;

	for (uint32_t i = 0; i < 40; i++)
		stays[i] = (struct cosma_banking_stay){
			.size = 3 + i * 7 % 11,
			.align = 1,
			.from = i,
			.to = i + 9 < 40 ? i + 9 : 39,
			.touches = 1 + i * 5 % 7,
		};
	assert_int_equal(cosma_banking_solve(&banking, 1, bank, offsets, &accessed, &work,
					     &optimal),
			 -ENOENT);
	assert_false(optimal);
	assert_int_equal(cosma_banking_solve(&banking, 1000000, bank, offsets, &accessed, &work,
					     &optimal),
			 0);
	assert_true(accessed > 0);
	assert_false(optimal);
}

/* chain(), and a state of 4 bytes, which a step reads and another one updates. */
static struct npuplan_graph *chain_with_state(void)
{
	const struct npuplan_tiling tiling = { .bands = 1, .inputs = NPUPLAN_INPUTS_HOST };
	struct npuplan_graph *graph = chain();
	uint32_t kept, old;

	assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
	kept = build_tensor(graph, "kept", NPUMEM_TENSOR_STATE, 4);
	old = build_tensor(graph, "old", NPUMEM_TENSOR_OUTPUT, 1);
	graph->tensors[old].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_step(graph, 0, kept, NPUMEM_NONE, old);
	build_update(graph, kept);
	return graph;
}

/* State lies in the faster bank if that has room for it and more, at the arena's one end. */
TEST(state)
{
	static const struct {
		struct npuplan_bank banks[NPUPLAN_BANKS];
		uint64_t offset;
		uint64_t accessed[NPUPLAN_BANKS];
		uint64_t bound;
	} cases[] = {
		{ { { 8, 10 }, { 4, 2 } }, 0, { 16 + 8, 16 }, 16 + 8 },
		{ { { 4, 2 }, { 8, 10 } }, 8, { 16, 16 + 8 }, 16 + 8 },
		{ { { 4, 10 }, { 8, 2 } }, 8, { 16, 16 + 8 }, 16 + 8 },
		{ { { 8, 2 }, { 4, 10 } }, 0, { 16 + 8, 16 }, 16 + 8 },
	};
	AUTO_GRAPH struct npuplan_graph *graph = chain_with_state();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct npuplan_cosma_options cosma = { .size = sizeof(cosma),
						       .banks = cases[i].banks };
		struct npuplan_options options = { .planner = "cosma", .cosma = &cosma };
		AUTO_PLAN struct npuplan_plan *plan = build_plan_of(graph, &options);
		uint64_t end = cases[i].banks[0].size;
		uint32_t states = 0;

		assert_int_equal(npuplan_verify_plan(graph, plan, NULL, NULL), 0);
		for (uint32_t k = 0; k < plan->placement_count; k++) {
			const struct npumem_placement *at = &plan->placements[k];

			assert_true(at->offset + at->region.length <= end || at->offset >= end);
			if (graph->tensors[at->tensor].kind != NPUMEM_TENSOR_STATE)
				continue;
			assert_int_equal(at->offset, cases[i].offset);
			states++;
		}
		assert_int_equal(states, 1);
		assert_int_equal(plan->info.arena_size, 12);
		assert_int_equal(plan->info.spill_bytes + plan->info.fill_bytes, 0);
		assert_int_equal(plan->cosma->accessed_bound, cases[i].bound);
		for (int b = 0; b < NPUPLAN_BANKS; b++) {
			assert_int_equal(plan->cosma->banks[b].size, cases[i].banks[b].size);
			assert_int_equal(plan->cosma->accessed[b], cases[i].accessed[b]);
		}
	}
}

TEST(state_refused)
{
	struct npuplan_bank banks[NPUPLAN_BANKS] = { { 4, 10 }, { 4, 2 } };
	struct npuplan_cosma_options cosma = { .size = sizeof(cosma), .banks = banks };
	struct npuplan_options options = { .planner = "cosma", .cosma = &cosma };
	AUTO_GRAPH struct npuplan_graph *graph = chain_with_state();

	refuse_planning(graph, &options, -ETIMEDOUT,
			"unknown: state takes 4 bytes, and neither bank has room for that and "
			"more; plans with state in both are not searched");
	/* Were the state in both, there would be 4 bytes in each. */
	banks[0].size = 6;
	banks[1].size = 6;
	refuse_planning(graph, &options, -ETIMEDOUT,
			"unknown: no plan within 12 bytes was found before the limits of work, "
			"memory or time");
	banks[0].size = 5;
	refuse_planning(graph, &options, -ETIMEDOUT,
			"unknown: there is no plan within 11 bytes (11 B) that has all state in "
			"one bank; others are not searched");
	banks[1].size = 0;
	refuse_planning(graph, &options, -EINVAL, "bank 1 has no bytes");
}

/* The state is aligned at the arena's end, too. */
TEST(state_aligned)
{
	struct npuplan_bank banks[NPUPLAN_BANKS] = { { 16, 2 }, { 43, 10 } };
	struct npuplan_cosma_options cosma = { .size = sizeof(cosma), .banks = banks };
	struct npuplan_options options = { .planner = "cosma", .cosma = &cosma, .alignment = 8 };
	AUTO_GRAPH struct npuplan_graph *graph = chain_with_state();
	AUTO_PLAN struct npuplan_plan *plan = build_plan_of(graph, &options);

	assert_int_equal(npuplan_verify_plan(graph, plan, NULL, NULL), 0);
	for (uint32_t k = 0; k < plan->placement_count; k++)
		if (graph->tensors[plan->placements[k].tensor].kind == NPUMEM_TENSOR_STATE)
			assert_int_equal(plan->placements[k].offset, 48);
	/* All else finds room in the faster bank, beside the state. */
	assert_int_equal(plan->cosma->accessed[1], 32 + 8);
	assert_int_equal(plan->cosma->accessed[0], 0);
}

/*
 * Random graphs with state: the verifier accepts each plan, the state is where it is said to be,
 * and no tensor is in both banks.
 */
TEST(random_with_state)
{
	uint64_t random = 20261128;
	uint32_t planned = 0, moved = 0;

	printf("# seed %" PRIu64 "\n", random);
	for (int i = 0; i < 300; i++) {
		const struct npuplan_tiling tiling = { .bands = 1, .inputs = NPUPLAN_INPUTS_HOST };
		struct npuplan_bank banks[NPUPLAN_BANKS] = {
			{ 5 + random_next(&random) % 8, 1 + random_next(&random) % 3 },
			{ 5 + random_next(&random) % 8, 2 },
		};
		struct npuplan_cosma_options cosma = { .size = sizeof(cosma), .banks = banks };
		struct npuplan_options options = { .planner = "cosma", .cosma = &cosma };
		AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("random");
		AUTO_PLAN struct npuplan_plan *plan = NULL;
		struct npuplan_error error;
		uint32_t kept, old, ops = 5 + random_next(&random) % 5;
		int err;

		build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1 + random_next(&random) % 4);
		for (uint32_t v = 0; v < ops; v++) {
			uint32_t made = graph->tensor_count;
			uint32_t one = random_next(&random) % made;
			uint32_t other = random_next(&random) % made;

			build_op(graph, "op", one, one == other ? NPUMEM_NONE : other, NPUMEM_NONE,
				 build_tensor(graph, "",
					      v + 1 < ops ? NPUMEM_TENSOR_INTERMEDIATE :
							    NPUMEM_TENSOR_OUTPUT,
					      1 + random_next(&random) % 5));
		}
		assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
		kept = build_tensor(graph, "kept", NPUMEM_TENSOR_STATE,
				    1 + random_next(&random) % 5);
		old = build_tensor(graph, "old", NPUMEM_TENSOR_OUTPUT, 1);
		graph->tensors[old].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
		build_step(graph, 0, kept, NPUMEM_NONE, old);
		build_update(graph, kept);
		err = npuplan_plan(graph, &options, &plan, &error);
		/* Nothing is proved to be infeasible. */
		if (err == -ETIMEDOUT)
			continue;
		if (err || npuplan_verify_plan(graph, plan, NULL, &error))
			fail_msg("case %d: %s", i, error.text);
		for (uint32_t k = 0; k < plan->placement_count; k++) {
			const struct npumem_placement *at = &plan->placements[k];

			assert_true(at->offset + at->region.length <= banks[0].size ||
				    at->offset >= banks[0].size);
			assert_true(at->offset + at->region.length <=
				    banks[0].size + banks[1].size);
		}
		assert_true(plan->cosma->accessed[banks[1].bandwidth > banks[0].bandwidth] <=
			    plan->cosma->accessed_bound);
		assert_int_equal(plan->cosma->traffic_bound, 0);
		planned++;
		moved += plan->info.fill_bytes > 0;
	}
	printf("# %u planned, %u of them move\n", planned, moved);
	assert_true(planned > 100 && moved > 10 && planned < 300);
}
