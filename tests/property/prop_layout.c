// SPDX-License-Identifier: MIT
/*
 * libnpumem's layouts, on random plans of the verifier's property test: a plan that the verifier
 * takes has a layout, each byte that a step accesses lies where the words of npumem_plan.h say,
 * and npumem_layout_find_access() finds it. Blobs with random bytes changed must do no harm.
 *
 * usage: prop_layout [SEED [CASES]]
 */
#include <string.h>

#include "npumem_commands.h"
#include "place_byte.h"
#include "property.h"
#include "random_case.h"

#define DEFAULT_SEED  20261124
#define DEFAULT_CASES 2000

struct counts {
	unsigned long layouts, bytes, flow, moves, spoilt, spoilt_taken;
};

static struct npumem_error error;

/* The bytes of a region in their order; at most @room of them are written. Returns how many. */
static uint64_t bytes_of(const struct npumem_region *r, uint64_t *bytes, uint64_t room)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < r->count[2]; k++)
		for (uint32_t j = 0; j < r->count[1]; j++)
			for (uint32_t i = 0; i < r->count[0]; i++)
				for (uint64_t b = 0; b < r->length; b++, n++)
					if (n < room)
						bytes[n] = r->offset + i * r->stride[0] +
							   j * r->stride[1] + k * r->stride[2] + b;
	return n;
}

static uint32_t block_at(const struct build *b, uint32_t position)
{
	uint32_t i = 0;

	while (build_plan_block_at(b, i)->first_position +
		       build_plan_block_at(b, i)->position_count <=
	       position)
		i++;
	return i;
}

/* Where the plan's placements put a byte at a position; false: nowhere. */
static bool in_arena(const struct build *b, uint32_t tensor, uint64_t byte, uint32_t position,
		     uint64_t *arena)
{
	for (uint32_t i = 0; i < b->placements.count; i++) {
		const struct npumem_placement *p = build_placement_at(b, i);

		if (p->tensor == tensor && p->block == block_at(b, position) &&
		    p->from <= position && p->to >= position && place_byte_in(p, byte, arena))
			return true;
	}
	return false;
}

static void check_access(const struct build *b, const struct npumem_layout *layout,
			 uint32_t position, uint32_t first, uint32_t number, struct counts *counts)
{
	const struct npumem_access *access = build_access_at(b, first + number);
	const struct npumem_tile *tile = build_tile_at(b, access->tile);
	const struct npumem_tensor *tensor = build_tensor_at(b, tile->tensor);
	uint32_t base = build_base_of(b, tile->tensor), mode = access->mode, count, found, read = 0;
	bool alias = tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS;
	bool bound = build_tensor_at(b, base)->flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
	uint64_t bytes[4096], more[4096], n = bytes_of(&tile->region, bytes, 4096), at, delta;
	struct npumem_range *ranges = NULL;
	int err = npumem_layout_at(layout, tile->tensor, position, &ranges, &count, &error);

	if (mode == NPUMEM_ACCESS_UPDATE)
		mode = NPUMEM_ACCESS_READ;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t byte = bytes[i], base_byte = byte + (alias ? tensor->alias_offset : 0);
		bool placed = !bound && in_arena(b, base, base_byte, position, &at);
		uint32_t r = 0;

		while (!err && r < count && byte - ranges[r].first >= ranges[r].length)
			r++;
		if (placed && (err || r == count || ranges[r].memory != NPUMEM_MEMORY_ARENA ||
			       ranges[r].offset + (byte - ranges[r].first) != at))
			fail("position %u: byte %" PRIu64 " of tensor %u is not at %" PRIu64,
			     position, byte, tile->tensor, at);
		if (bound && (err || ranges[r].memory != NPUMEM_MEMORY_BINDING ||
			      ranges[r].offset + (byte - ranges[r].first) != base_byte))
			fail("position %u: tensor %u is not bound", position, tile->tensor);
		if (npumem_layout_find_access(layout, position, tile->tensor, byte, mode, &found,
					      &delta, &error))
			fail("position %u: %s", position, error.text);
		/* Another access of the step may have the byte, too. */
		read = build_access_at(b, first + found)->tile;
		tile = build_tile_at(b, read);
		if (build_base_of(b, tile->tensor) != base ||
		    delta >= bytes_of(&tile->region, more, 4096) ||
		    more[delta] + (build_tensor_at(b, tile->tensor)->flags &
						   NPUMEM_TENSOR_FLAG_ALIAS ?
					   build_tensor_at(b, tile->tensor)->alias_offset :
					   0) !=
			    base_byte)
			fail("position %u: byte %" PRIu64 " is not the %" PRIu64 "th of access %u",
			     position, byte, delta, found);
		tile = build_tile_at(b, access->tile);
		counts->bytes++;
	}
	free(ranges);
}

/* Every question; nothing but that each is answered is looked at. */
static void ask_all(const struct npumem_layout *layout, uint32_t tensors)
{
	uint32_t positions = npumem_layout_count(layout, NPUMEM_PLAN_SECTION_SCHEDULE), count;
	uint32_t blocks = npumem_layout_count(layout, NPUMEM_PLAN_SECTION_BLOCKS);
	const struct npumem_loop_count loops[] = { { .loop = 0, .count = 3 }, { .loop = 1 } };
	struct npumem_range *ranges;

	for (uint32_t t = 0; t < tensors; t++) {
		for (uint32_t p = 0; p < positions; p++)
			if (!npumem_layout_at(layout, t, p, &ranges, &count, NULL))
				free(ranges);
		for (uint32_t b = 0; b < blocks; b++) {
			if (!npumem_layout_entry(layout, b, t, &ranges, &count, NULL))
				free(ranges);
			if (!npumem_layout_exit(layout, b, t, &ranges, &count, NULL))
				free(ranges);
		}
		if (!npumem_layout_host(layout, t, &ranges, &count, NULL))
			free(ranges);
	}
	for (uint32_t v = 0; v < npumem_layout_count(layout, NPUMEM_PLAN_SECTION_VIEWS); v++)
		if (!npumem_layout_in_view(layout, v, loops, 2, &ranges, &count, NULL))
			free(ranges);
}

static void spoil(struct rng *r, const struct build *b, struct counts *counts)
{
	struct build_blob graph = build_graph(b), plan = build_plan(b);
	struct npumem_layout *layout;
	int err;

	mutate_bytes(r, &plan);
	if (rng_chance(r, 30))
		mutate_bytes(r, &graph);
	err = npumem_layout_new(graph.data, graph.size, plan.data, plan.size, &layout, &error);
	counts->spoilt++;
	if (!err) {
		counts->spoilt_taken++;
		ask_all(layout, b->tensors.count);
		npumem_layout_free(layout);
	} else if (!error.text[0]) {
		fail("refused by %d without a sentence", err);
	}
	free(graph.data);
	free(plan.data);
}

static void one(unsigned long number, struct counts *counts)
{
	struct rng r = { .state = property_case(number) };
	struct build_blob graph, plan;
	struct npumem_layout *layout;
	struct build b;

	build_init(&b);
	random_case(&r, &b);
	graph = build_graph(&b);
	plan = build_plan(&b);
	if (!npuplan_verify(graph.data, graph.size, plan.data, plan.size, NULL, NULL, 0)) {
		if (npumem_layout_new(graph.data, graph.size, plan.data, plan.size, &layout,
				      &error))
			fail("the verifier takes it: %s", error.text);
		counts->layouts++;
		counts->flow += b.plan_edges.count > 0;
		counts->moves += b.info.host_size > 0;
		for (uint32_t p = 0; p < b.positions.count; p++) {
			const struct npumem_position *at = build_position_at(&b, p);
			const struct npumem_step *s;

			if (at->kind != NPUMEM_POSITION_STEP)
				continue;
			s = build_step_at(&b, at->index);
			for (uint32_t a = 0; a < s->access_count; a++)
				check_access(&b, layout, p, s->first_access, a, counts);
		}
		ask_all(layout, b.tensors.count);
		npumem_layout_free(layout);
	}
	free(graph.data);
	free(plan.data);
	for (int i = 0; i < 4; i++)
		spoil(&r, &b, counts);
	build_free(&b);
}

int main(int argc, char **argv)
{
	struct counts c = { 0 };

	property_begin(argc, argv, DEFAULT_SEED, DEFAULT_CASES);
	for (unsigned long i = 0; i < property.cases; i++)
		one(i, &c);
	printf("%lu layouts (%lu of loops or branches, %lu with transfers), %lu bytes; "
	       "%lu of %lu spoilt plans taken\n",
	       c.layouts, c.flow, c.moves, c.bytes, c.spoilt_taken, c.spoilt);
	if (property.cases >= DEFAULT_CASES && (!c.flow || !c.moves || !c.spoilt_taken))
		fail("a kind of plan was never drawn");
	return 0;
}
