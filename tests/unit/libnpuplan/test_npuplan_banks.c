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
