// SPDX-License-Identifier: MIT
/* Pictures as text, character by character against one that looks at every byte anew. */
#include "npuplan_build.h"
#include "random.h"

#include <stdio.h>

#define STEPS	 24
#define TENSORS	 (STEPS + 1)
#define SIZE	 600
#define PLACES	 70
#define BYTES	 16384
#define MOST_COL 100

/* How many ranges of a placement each byte of the arena is in. */
static void list_bytes(const struct npumem_placement *at, uint8_t *bytes)
{
	const struct npumem_region *region = &at->region;
	uint32_t slots = at->ring && at->ring < region->count[2] ? at->ring : region->count[2];

	for (uint32_t k = 0; k < slots; k++)
		for (uint32_t j = 0; j < region->count[1]; j++)
			for (uint32_t i = 0; i < region->count[0]; i++)
				for (uint64_t b = 0; b < region->length; b++) {
					uint64_t byte = at->offset + k * at->stride[2] +
							j * at->stride[1] + i * at->stride[0] + b;

					assert_true(byte < BYTES);
					bytes[byte]++;
				}
}

static uint64_t extent(const struct npumem_placement *at)
{
	uint64_t bytes = at->region.length;

	for (int d = 0; d < 3; d++) {
		uint32_t count = d == 2 && at->ring ? at->ring : at->region.count[d];

		if (count > 1)
			bytes += at->stride[d] * (count - 1);
	}
	return bytes;
}

static bool lives(const struct npumem_placement *at, uint32_t position)
{
	return at->from <= position && at->to >= position;
}

static bool is_entered(const struct npuplan_plan *plan, uint32_t placement)
{
	for (uint32_t i = 0; i < plan->entry_count; i++)
		if (plan->entries[i].placement == placement)
			return true;
	return false;
}

/* Another one that came in has been drawn for the same bytes. */
static bool is_drawn(const struct npuplan_plan *plan, uint32_t placement, uint32_t position)
{
	const struct npumem_placement *at = &plan->placements[placement];

	for (uint32_t i = 0; i < placement && is_entered(plan, placement); i++)
		if (is_entered(plan, i) && lives(&plan->placements[i], position) &&
		    plan->placements[i].offset == at->offset &&
		    extent(&plan->placements[i]) == extent(at))
			return true;
	return false;
}

/* Step p reads tensor p and writes tensor p + 1, in place or not. */
static bool is_taken(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		     uint32_t placement, uint32_t position)
{
	const struct npumem_placement *at = &plan->placements[placement];
	uint32_t write = graph->steps[position].first_access + 1;

	if (at->to != position || at->tensor != position ||
	    graph->accesses[write].inplace == NPUMEM_NONE)
		return false;
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *other = &plan->placements[i];

		if (other->tensor == position + 1 && lives(other, position) &&
		    other->offset < at->offset + extent(at) &&
		    at->offset < other->offset + extent(other))
			return true;
	}
	return false;
}

static void expect_line(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			uint32_t position, unsigned int columns, FILE *out)
{
	static uint8_t all[BYTES], own[BYTES];
	uint64_t most[MOST_COL] = { 0 }, taken[MOST_COL] = { 0 }, covered = 0;
	uint64_t arena = plan->info.arena_size;
	char symbol[MOST_COL];

	memset(all, 0, sizeof(all));
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *at = &plan->placements[i];

		if (!lives(at, position) || is_drawn(plan, i, position) ||
		    is_taken(graph, plan, i, position))
			continue;
		memset(own, 0, sizeof(own));
		list_bytes(at, own);
		for (size_t b = 0; b < BYTES; b++)
			all[b] |= own[b];
		for (unsigned int c = 0; c < columns; c++) {
			uint64_t begin = arena * c / columns, end = arena * (c + 1) / columns;
			uint64_t bytes = 0;

			end = end > begin ? end : begin + 1;
			for (uint64_t b = begin; b < end && b < BYTES; b++)
				bytes += own[b];
			taken[c] += bytes;
			if (bytes <= most[c])
				continue;
			most[c] = bytes;
			symbol[c] = "0123456789abcdefghijklmnopqrstuvwxyz"[at->tensor % 36];
		}
	}
	for (size_t b = 0; b < BYTES; b++)
		covered += all[b] != 0;
	fprintf(out, "%5u: ", position);
	for (unsigned int c = 0; c < columns; c++) {
		uint64_t begin = arena * c / columns, end = arena * (c + 1) / columns;

		end = end > begin ? end : begin + 1;
		fputc(!taken[c] ? '.' : taken[c] > end - begin ? '!' : symbol[c], out);
	}
	fprintf(out, " (%lluk) step %u\n", (unsigned long long)(covered + 1023) / 1024, position);
}

static struct npuplan_graph *build(uint64_t *random)
{
	struct npuplan_graph *graph = npuplan_graph_new("many");

	for (uint32_t t = 0; t < TENSORS; t++)
		build_tensor(graph, "t",
			     !t		? NPUMEM_TENSOR_INPUT :
			     t == STEPS ? NPUMEM_TENSOR_OUTPUT :
					  NPUMEM_TENSOR_INTERMEDIATE,
			     SIZE);
	for (uint32_t s = 0; s < STEPS; s++)
		build_step(graph, 0, s, NPUMEM_NONE, s + 1);
	for (uint32_t s = 0; s < STEPS; s++) {
		struct npuplan_step *step = &graph->steps[s];

		assert_int_equal(step->access_count, 2);
		if (random_next(random) % 2)
			graph->accesses[step->first_access + 1].inplace = 0;
	}
	return graph;
}

/* Anything: pieces, rings, overlaps, twins. It verifies only by chance, and never did. */
static void scatter(struct npuplan_plan *plan, uint64_t *random)
{
	plan->placements = realloc(plan->placements, PLACES * sizeof(*plan->placements));
	plan->entries = realloc(plan->entries, PLACES * sizeof(*plan->entries));
	assert_non_null(plan->placements);
	assert_non_null(plan->entries);
	plan->placement_count = PLACES;
	plan->entry_count = 0;
	for (uint32_t i = 0; i < PLACES; i++) {
		struct npumem_placement *at = &plan->placements[i];

		*at = (struct npumem_placement){
			.tensor = (uint32_t)(random_next(random) % TENSORS),
			.offset = random_next(random) % 4 ? random_next(random) % 2000 :
							    random_next(random) % 4 * 100,
			.region = { .length = 1 + random_next(random) % 100, .count = { 1, 1, 1 } },
		};
		at->from = (uint32_t)(random_next(random) % STEPS);
		at->to = at->from + (uint32_t)(random_next(random) % (STEPS - at->from));
		/* Where an operator may take it. */
		if (random_next(random) % 2 && at->tensor < STEPS) {
			at->to = at->tensor;
			at->from = at->to - (uint32_t)(random_next(random) % (at->to + 1));
		}
		if (random_next(random) % 2) {
			for (int d = 0; d < 3; d++) {
				at->region.count[d] = 1 + random_next(random) % 2;
				at->region.stride[d] = 200;
				at->stride[d] = random_next(random) % 300;
			}
			at->region.length = 1 + at->region.length % 70;
			at->ring = random_next(random) % 3;
		}
		if (random_next(random) % 3 == 0)
			plan->entries[plan->entry_count++] =
				(struct npumem_entry){ .placement = i };
	}
	plan->info.arena_size = random_next(random) % 3 ? 100 + random_next(random) % 4000 :
							  1 + random_next(random) % 100;
}

TEST(lines)
{
	uint64_t random = 20261122;

	print_message("seed %llu\n", (unsigned long long)random);
	for (int round = 0; round < 100; round++) {
		AUTO_GRAPH struct npuplan_graph *graph = build(&random);
		struct npuplan_plan *plan = NULL;
		unsigned int columns = 1 + random_next(&random) % MOST_COL;
		char *got = NULL, *expected = NULL, *lines;
		size_t size;
		FILE *out;

		assert_int_equal(npuplan_plan(graph, NULL, &plan, NULL), 0);
		scatter(plan, &random);
		assert_int_not_equal(npuplan_verify_plan(graph, plan, NULL, NULL), 0);
		out = open_memstream(&got, &size);
		assert_int_equal(npuplan_plan_print(graph, plan, columns, out), 0);
		fclose(out);
		out = open_memstream(&expected, &size);
		for (uint32_t p = 0; p < STEPS; p++)
			expect_line(graph, plan, p, columns, out);
		fclose(out);
		lines = strstr(got, "    0: ");
		assert_non_null(lines);
		assert_string_equal(lines, expected);
		free(got);
		free(expected);
		npuplan_plan_free(plan);
	}
}
