// SPDX-License-Identifier: MIT
/*
 * Packers on random small problems, against an exhaustive search that tries
 * every address for every item: the exact packer finds the lowest top there is
 * and proves it, or proves that nothing fits; no packer is below it or returns
 * what is no packing; the two exact searches agree; same input, same output.
 *
 * usage: prop_pack [SEED [CASES]]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack/greedy/first_fit.h"
#include "planners/planners.h"
#include "problem/conflicts.h"
#include "auto.h"
#include "property.h"

#define MAX_ITEMS     6
#define MAX_INTERVALS 3
#define NO_TOP	      UINT64_MAX

/*
 * struct random_case - a problem, and who forbids what
 * @pairs: if @listed, F(a, b) of pairs, d = addr(b) - addr(a), each with some of @intervals, or
 *	with none if they are whole
 * @listed: conflicts are listed; else they are whole, by overlap
 */
struct random_case {
	struct npuplan_item items[MAX_ITEMS];
	struct npuplan_pack_problem problem;
	struct npuplan_conflicts conflicts;
	struct npuplan_pair pairs[MAX_ITEMS * MAX_ITEMS];
	struct npuplan_interval intervals[MAX_ITEMS * MAX_ITEMS * MAX_INTERVALS];
	uint32_t pair_count;
	uint32_t interval_count;
	bool listed;
};

/* What @c is like. */
static void print_case(const struct random_case *c)
{
	printf("# capacity %" PRIu64 " alignment %u\n", c->problem.capacity, c->problem.alignment);
	for (uint32_t i = 0; i < c->problem.item_count; i++) {
		const struct npuplan_item *item = &c->items[i];

		printf("# item %u: size %" PRIu64 " align %u instants %u..%u", i, item->size,
		       item->align, item->start, item->end);
		printf(item->fixed ? " fixed at %" PRIu64 "\n" : "\n", item->fixed_offset);
	}
	for (uint32_t p = 0; p < c->pair_count; p++) {
		printf("# F(%u, %u):", c->pairs[p].a, c->pairs[p].b);
		for (uint32_t k = 0; k < c->pairs[p].interval_count; k++) {
			const struct npuplan_interval *at =
				&c->intervals[c->pairs[p].first_interval + k];

			printf(" (%" PRId64 ", %" PRId64 ")", at->low, at->high);
		}
		puts(c->pairs[p].interval_count ? "" : " whole");
	}
}

/* The case, and what is wrong with it. */
#define FAIL(c, ...) (print_case(c), fail(__VA_ARGS__))

/* ------------------------------------------------------------------ the oracle */

static bool pair_allows(const struct random_case *c, const struct npuplan_pair *pair,
			const uint64_t *at)
{
	int64_t d = (int64_t)(at[pair->b] - at[pair->a]);

	if (!pair->interval_count)
		return d <= -(int64_t)c->items[pair->b].size ||
		       d >= (int64_t)c->items[pair->a].size;
	for (uint32_t k = 0; k < pair->interval_count; k++)
		if (d > c->intervals[pair->first_interval + k].low &&
		    d < c->intervals[pair->first_interval + k].high)
			return false;
	return true;
}

/* Whether item @i may be where it is beside those before it. */
static bool allowed(const struct random_case *c, const uint64_t *at, uint32_t i)
{
	for (uint32_t p = 0; p < c->pair_count && c->listed; p++) {
		const struct npuplan_pair *pair = &c->pairs[p];

		if ((pair->a == i && pair->b < i) || (pair->b == i && pair->a < i))
			if (!pair_allows(c, pair, at))
				return false;
	}
	for (uint32_t j = 0; j < i && !c->listed; j++)
		if (c->items[j].start <= c->items[i].end && c->items[i].start <= c->items[j].end &&
		    at[j] < at[i] + c->items[i].size && at[i] < at[j] + c->items[j].size)
			return false;
	return true;
}

static bool try_all(const struct random_case *c, uint64_t *at, uint32_t i, uint64_t top)
{
	const struct npuplan_item *item = &c->items[i];
	uint32_t align = item->align;

	if (i == c->problem.item_count)
		return true;
	if (c->problem.alignment > align)
		align = c->problem.alignment;
	for (uint64_t address = 0; address + item->size <= top; address += align) {
		if (item->fixed && address != item->fixed_offset)
			continue;
		at[i] = address;
		if (allowed(c, at, i) && try_all(c, at, i + 1, top))
			return true;
	}
	return false;
}

/* Whether the fixed items are in nobody's way: if so, there is a packing. */
static bool fixed_agree(const struct random_case *c)
{
	uint64_t at[MAX_ITEMS];

	for (uint32_t i = 0; i < c->problem.item_count; i++) {
		at[i] = c->items[i].fixed_offset;
		/* The others far apart, above all that is forbidden. */
		if (!c->items[i].fixed)
			at[i] = 1000 * ((uint64_t)i + 1);
	}
	for (uint32_t i = 0; i < c->problem.item_count; i++)
		if (!allowed(c, at, i))
			return false;
	return true;
}

/* Lowest top there is; NO_TOP: fixed items are in each other's way. */
static uint64_t lowest_top(const struct random_case *c)
{
	uint64_t at[MAX_ITEMS], top = 1;

	if (!fixed_agree(c))
		return NO_TOP;
	while (!try_all(c, at, 0, top))
		top++;
	return top;
}

/* -------------------------------------------------------------- random problems */

static void random_pairs(struct random_case *c)
{
	uint32_t n = c->problem.item_count;

	for (uint32_t a = 0; a < n; a++) {
		for (uint32_t b = a + 1; b < n; b++) {
			struct npuplan_pair *pair = &c->pairs[c->pair_count];
			int64_t low = -(int64_t)draw(0, 8), high;

			if (draw(0, 3) == 0)
				continue;
			*pair = (struct npuplan_pair){ draw(0, 1) ? a : b, 0, draw(0, 3),
						       c->interval_count };
			pair->b = pair->a == a ? b : a;
			for (uint32_t k = 0; k < pair->interval_count; k++) {
				high = low + draw(1, 6);
				c->intervals[c->interval_count++] =
					(struct npuplan_interval){ low, high };
				low = high + draw(0, 2);
			}
			c->pair_count++;
		}
	}
}

static void random_case(struct random_case *c)
{
	uint32_t n = draw(1, MAX_ITEMS), largest = draw(1, 6), instants = draw(0, 6);
	bool aligned = draw(0, 2) == 0, fixed = draw(0, 2) == 0;

	*c = (struct random_case){ .problem = { .items = c->items, .item_count = n } };
	if (draw(0, 3) == 0)
		c->problem.alignment = 1u << draw(0, 2);
	for (uint32_t i = 0; i < n; i++) {
		struct npuplan_item *item = &c->items[i];
		uint32_t align;

		item->size = draw(1, largest);
		item->start = draw(0, instants);
		item->end = item->start + draw(0, instants);
		item->align = aligned ? 1u << draw(0, 3) : 1;
		align = item->align > c->problem.alignment ? item->align : c->problem.alignment;
		item->fixed = fixed && draw(0, 3) == 0;
		if (item->fixed)
			item->fixed_offset = (uint64_t)draw(0, 12 / align) * align;
	}
	c->listed = draw(0, 2) == 0;
	if (!c->listed)
		return;
	random_pairs(c);
	if (npuplan_conflicts_pairs(&c->conflicts, c->items, n, c->pairs, c->pair_count,
				    c->intervals))
		FAIL(c, "npuplan_conflicts_pairs() fails");
	c->problem.conflicts = &c->conflicts;
}

/* The same in larger units, which must not matter. */
static void scale(struct random_case *c, uint32_t factor)
{
	for (uint32_t i = 0; i < c->problem.item_count; i++) {
		c->items[i].size *= factor;
		c->items[i].fixed_offset *= factor;
		c->items[i].align *= c->items[i].align > 1 ? factor : 1;
	}
	c->problem.alignment *= factor;
}

/* ------------------------------------------------------------------- properties */

static struct npuplan_pack_result run(const struct random_case *c, const char *packer, uint64_t *at)
{
	struct npuplan_pack_options options = { .packer = packer };
	struct npuplan_pack_result result;
	struct npuplan_error error;
	uint64_t top;

	if (npuplan_pack(&c->problem, &options, at, &result, &error))
		FAIL(c, "%s: %s", packer, error.text);
	if (result.top == UINT64_MAX)
		return result;
	if (npuplan_pack_check(&c->problem, at, &top, &error) || top != result.top)
		FAIL(c, "%s: %s", packer, error.text);
	for (uint32_t i = 0; i < c->problem.item_count; i++)
		if (!allowed(c, at, i) || at[i] + c->items[i].size > result.top ||
		    (c->items[i].fixed && at[i] != c->items[i].fixed_offset))
			FAIL(c, "%s: item %u is misplaced at %" PRIu64, packer, i, at[i]);
	return result;
}

static void expect(const struct random_case *c, uint32_t status, uint64_t least, uint64_t most)
{
	uint64_t at[MAX_ITEMS], again[MAX_ITEMS];
	struct npuplan_pack_result result = run(c, "exact", at), second = run(c, "exact", again);

	if (result.status != status)
		FAIL(c, "exact: status %u, top %" PRIu64 ", bound %" PRIu64 ", but %u is true",
		     result.status, result.top, result.lower_bound, status);
	if (status != NPUMEM_PLAN_STATUS_INFEASIBLE && (result.top < least || result.top > most))
		FAIL(c, "exact: top %" PRIu64 " is not in %" PRIu64 "..%" PRIu64, result.top, least,
		     most);
	if (result.top != second.top || result.work != second.work ||
	    result.status != second.status ||
	    (result.top != UINT64_MAX &&
	     memcmp(at, again, c->problem.item_count * sizeof(*at)) != 0))
		FAIL(c, "exact: not the same again");
}

/* Within a capacity: found, or proved that it cannot be. */
static void check_capacities(struct random_case *c, uint64_t lowest)
{
	for (uint32_t extra = 0; extra < 3; extra++) {
		uint64_t at[MAX_ITEMS];
		struct npuplan_pack_result result;

		c->problem.capacity = lowest + extra * draw(1, 4);
		result = run(c, "exact", at);
		if ((result.status != NPUMEM_PLAN_STATUS_OPTIMAL &&
		     result.status != NPUMEM_PLAN_STATUS_FEASIBLE) ||
		    result.top > c->problem.capacity || result.top < lowest)
			FAIL(c, "exact: status %u, top %" PRIu64 ", but %" PRIu64 " is possible",
			     result.status, result.top, lowest);
	}
	if (lowest > 1) {
		c->problem.capacity = lowest - 1;
		expect(c, NPUMEM_PLAN_STATUS_INFEASIBLE, 0, 0);
	}
	c->problem.capacity = 0;
}

static bool any_fixed(const struct random_case *c)
{
	for (uint32_t i = 0; i < c->problem.item_count; i++)
		if (c->items[i].fixed)
			return true;
	return false;
}

static void check_others(const struct random_case *c, uint64_t lowest)
{
	for (unsigned int p = 0; npuplan_packer_name(p); p++) {
		struct npuplan_pack_options options = { .packer = npuplan_packer_name(p) };
		struct npuplan_pack_result result;
		struct npuplan_error error;
		uint64_t at[MAX_ITEMS];
		int err;

		err = npuplan_pack(&c->problem, &options, at, &result, &error);
		if (err == -EOPNOTSUPP && (any_fixed(c) || c->listed) &&
		    !strncmp(options.packer, "shared", 6))
			continue;
		if (err)
			FAIL(c, "%s: %s", options.packer, error.text);
		result = run(c, options.packer, at);
		if (result.top == UINT64_MAX || result.top < lowest || result.lower_bound > lowest)
			FAIL(c,
			     "%s: top %" PRIu64 ", bound %" PRIu64 ", but the lowest is %" PRIu64,
			     options.packer, result.top, result.lower_bound, lowest);
		if (result.status == NPUMEM_PLAN_STATUS_OPTIMAL && result.top != lowest)
			FAIL(c, "%s: %" PRIu64 " is not optimal", options.packer, result.top);
	}
}

/* Those that take any items and conflicts; the others know of tiles or of buffers. */
static bool takes_any(const char *planner)
{
	return !strcmp(planner, "auto") || !strcmp(planner, "exact") ||
	       !strncmp(planner, "greedy", 6) || !strncmp(planner, "nnc", 3);
}

/*
 * Planners on the bare problem: each makes a packing, none is below the lowest, exact and
 * auto are at it and say so; auto is no worse than any. @lowest NO_TOP: all refuse it.
 */
static void check_planners(struct random_case *c, uint64_t lowest)
{
	static const struct npuplan_options options;
	struct npuplan_problem problem = {
		.options = &options,
		.items = c->items,
		.item_count = c->problem.item_count,
		.alignment = c->problem.alignment ? c->problem.alignment : 1,
	};
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("random");
	const char *name;

	if (c->listed)
		problem.conflicts = c->conflicts;
	else
		npuplan_conflicts_overlap(&problem.conflicts, c->items, c->problem.item_count);
	problem.graph = graph;
	/* Items stand for the first tensor, for messages. */
	if (!graph ||
	    npuplan_graph_add_tensor(graph, &(struct npuplan_tensor){ .size = 1, .align = 1 }) < 0)
		FAIL(c, "out of memory");
	for (unsigned int p = 0; (name = npuplan_planner_name(p)); p++) {
		const struct npuplan_planner *planner = npuplan_planner_find(name);
		uint64_t at[MAX_ITEMS], top = 0;
		struct npuplan_packing packing = { .offsets = at };
		struct npuplan_error error = { "" };
		int err;

		if (!takes_any(name))
			continue;
		err = planner->pack(&problem, planner->argument, &packing, &error);
		if (lowest == NO_TOP) {
			if (err != -EINVAL || !strstr(error.text, "fixed offsets collide"))
				FAIL(c, "planner %s: %d %s", name, err, error.text);
			continue;
		}
		if (err)
			FAIL(c, "planner %s: %s", name, error.text);
		for (uint32_t i = 0; i < c->problem.item_count; i++) {
			if (!allowed(c, at, i) || at[i] % problem.alignment ||
			    at[i] % c->items[i].align ||
			    (c->items[i].fixed && at[i] != c->items[i].fixed_offset))
				FAIL(c, "planner %s: item %u is misplaced at %" PRIu64, name, i,
				     at[i]);
			if (top < at[i] + c->items[i].size)
				top = at[i] + c->items[i].size;
		}
		if (top != packing.top || top < lowest || packing.lower_bound > lowest)
			FAIL(c,
			     "planner %s: top %" PRIu64 " of %" PRIu64 ", bound %" PRIu64
			     ", but the lowest is %" PRIu64,
			     name, packing.top, top, packing.lower_bound, lowest);
		if ((packing.status == NPUMEM_PLAN_STATUS_OPTIMAL && top != lowest) ||
		    ((!strcmp(name, "exact") || !strcmp(name, "auto")) &&
		     packing.status != NPUMEM_PLAN_STATUS_OPTIMAL))
			FAIL(c, "planner %s: status %u at %" PRIu64 ", the lowest is %" PRIu64,
			     name, packing.status, top, lowest);
	}
}

/* First fit and best fit do the same whether peers are listed or not. */
static void check_listed_fit(const struct random_case *c)
{
	uint32_t n = c->problem.item_count, order[MAX_ITEMS], clash[2];
	uint32_t alignment = c->problem.alignment ? c->problem.alignment : 1;
	struct npuplan_conflicts listed, overlap;
	uint64_t at[2][MAX_ITEMS], top[2], work = 0;
	int err[2];

	if (npuplan_conflicts_whole(&listed, c->items, n))
		FAIL(c, "npuplan_conflicts_whole() fails");
	npuplan_conflicts_overlap(&overlap, c->items, n);
	for (int rule = 0; rule < NPUPLAN_ORDER_COUNT; rule++) {
		uint32_t same[MAX_ITEMS];

		if (npuplan_order_items(&listed, rule, order) ||
		    npuplan_order_items(&overlap, rule, same) ||
		    memcmp(order, same, n * sizeof(*order)) != 0)
			FAIL(c, "order %d depends on listing", rule);
		for (int best = 0; best < 2; best++) {
			err[0] = npuplan_first_fit(&listed, order, alignment, best, NULL, at[0],
						   &top[0], &work, clash);
			err[1] = npuplan_first_fit(&overlap, order, alignment, best, NULL, at[1],
						   &top[1], &work, clash);
			if (err[0] != err[1] ||
			    (!err[0] &&
			     (top[0] != top[1] || memcmp(at[0], at[1], n * sizeof(**at)) != 0)))
				FAIL(c, "order %d: listed %d, %" PRIu64 "; by overlap %d, %" PRIu64,
				     rule, err[0], top[0], err[1], top[1]);
		}
	}
	npuplan_conflicts_fini(&listed);
}

/* Placed again by first fit nothing lies higher than in a skyline of the same items. */
static void check_valleys(struct random_case *c)
{
	static const char *const packers[] = { "valley-longest", "valley-first", "valley-last",
					       "valley-flush", "valley-area" };
	struct npuplan_conflicts listed;

	if (npuplan_conflicts_whole(&listed, c->items, c->problem.item_count))
		FAIL(c, "npuplan_conflicts_whole() fails");
	for (size_t p = 0; p < sizeof(packers) / sizeof(packers[0]); p++) {
		uint64_t at[MAX_ITEMS], again[MAX_ITEMS];

		run(c, packers[p], at);
		c->problem.conflicts = &listed;
		run(c, packers[p], again);
		c->problem.conflicts = NULL;
		for (uint32_t i = 0; i < c->problem.item_count; i++)
			if (again[i] > at[i])
				FAIL(c,
				     "%s: item %u is at %" PRIu64 " with conflicts listed, at "
				     "%" PRIu64 " without",
				     packers[p], i, again[i], at[i]);
	}
	npuplan_conflicts_fini(&listed);
}

/* Both exact searches on one problem: by overlap, and with the pairs listed. */
static void check_searches_agree(struct random_case *c, uint64_t lowest)
{
	struct npuplan_conflicts listed;

	if (npuplan_conflicts_whole(&listed, c->items, c->problem.item_count))
		FAIL(c, "npuplan_conflicts_whole() fails");
	c->problem.conflicts = &listed;
	if (lowest == NO_TOP)
		expect(c, NPUMEM_PLAN_STATUS_INFEASIBLE, 0, 0);
	else
		expect(c, NPUMEM_PLAN_STATUS_OPTIMAL, lowest, lowest);
	c->problem.conflicts = NULL;
	npuplan_conflicts_fini(&listed);
}

static void check(struct random_case *c)
{
	uint64_t lowest;
	uint32_t factor = c->listed ? 1 : 1u << draw(0, 2);

	lowest = lowest_top(c);
	if (lowest != NO_TOP)
		lowest *= factor;
	scale(c, factor);
	if (lowest == NO_TOP)
		expect(c, NPUMEM_PLAN_STATUS_INFEASIBLE, 0, 0);
	else
		expect(c, NPUMEM_PLAN_STATUS_OPTIMAL, lowest, lowest);
	if (!c->listed) {
		check_listed_fit(c);
		check_searches_agree(c, lowest);
		if (!any_fixed(c))
			check_valleys(c);
	}
	check_planners(c, lowest);
	if (lowest != NO_TOP) {
		check_capacities(c, lowest);
		check_others(c, lowest);
	}
	npuplan_conflicts_fini(&c->conflicts);
}

int main(int argc, char **argv)
{
	unsigned long listed = 0;
	struct random_case c;

	property_begin(argc, argv, 20260303, 3000);
	for (unsigned long i = 0; i < property.cases; i++) {
		property_case(i);
		random_case(&c);
		listed += c.listed;
		check(&c);
	}
	printf("ok - %lu cases, %lu with displacement sets\n", property.cases, listed);
	return 0;
}
