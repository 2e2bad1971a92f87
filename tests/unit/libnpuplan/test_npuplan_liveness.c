// SPDX-License-Identifier: MIT
/* Live ranges and the lower bound, worked by hand. */
#include "npuplan_build.h"

#include "graph/checked.h"
#include "problem/liveness.h"

static struct npuplan_checked checked;

static struct npuplan_liveness live_of(const struct npuplan_graph *graph)
{
	struct npuplan_liveness live;
	struct npuplan_error error;
	int err = npuplan_checked_init(&checked, graph, &error);

	if (err)
		fail_msg("%s", error.text);
	assert_int_equal(npuplan_liveness_init(&live, checked.cells), 0);
	npuplan_checked_fini(&checked);
	return live;
}

static void assert_atom(const struct npuplan_liveness *live, uint32_t i, uint32_t tensor,
			uint64_t first, uint64_t length, uint32_t start, uint32_t end)
{
	assert_in_range(i, 0, live->atom_count - 1);
	assert_int_equal(live->atoms[i].tensor, tensor);
	assert_int_equal(live->atoms[i].first, first);
	assert_int_equal(live->atoms[i].length, length);
	assert_int_equal(live->atoms[i].start, start);
	assert_int_equal(live->atoms[i].end, end);
}

static void assert_bound(const struct npuplan_liveness *live, uint64_t want, uint32_t at)
{
	uint64_t bytes;
	uint32_t instant;

	assert_int_equal(npuplan_lower_bound(live, &bytes, &instant), 0);
	assert_int_equal(bytes, want);
	assert_int_equal(instant, at);
}

/*
 * in 4 -> a 10 -> b 6 -> out 2, three steps; step p loads at 2p + 1, stores at
 * 2p + 2; the exit is 7. Not staged, a step's reads last until it stores:
 *   in  0..2   a 2..4   b 4..6   out 6..7
 * Live at 2: 4 + 10, at 4: 10 + 6, at 6: 6 + 2. Most: 16.
 */
TEST(chain)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	struct npuplan_liveness live = live_of(graph);

	assert_int_equal(live.exit, 7);
	assert_int_equal(live.atom_count, 4);
	assert_atom(&live, 0, 0, 0, 4, 0, 2);
	assert_atom(&live, 1, 1, 0, 10, 2, 4);
	assert_atom(&live, 2, 2, 0, 6, 4, 6);
	assert_atom(&live, 3, 3, 0, 2, 6, 7);
	assert_bound(&live, 16, 4);
	assert_int_equal(npuplan_instant_position(&live, 0), 0);
	assert_int_equal(npuplan_instant_position(&live, 4), 1);
	assert_int_equal(npuplan_instant_position(&live, 7), 2);
	npuplan_liveness_fini(&live);
}

/* Staged, a step's last reads are over before it stores: nothing adds up. */
TEST(chain_staged)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(NPUMEM_STEP_STAGED);
	struct npuplan_liveness live = live_of(graph);

	assert_atom(&live, 0, 0, 0, 4, 0, 1);
	assert_atom(&live, 1, 1, 0, 10, 2, 3);
	assert_atom(&live, 2, 2, 0, 6, 4, 5);
	assert_atom(&live, 3, 3, 0, 2, 6, 7);
	assert_bound(&live, 10, 2);
	npuplan_liveness_fini(&live);
}

/*
 * t of 8 bytes is written at step 0; step 1 reads bytes 0..5, step 2 bytes 4..7.
 * So 0..3 live 2..4, 4..7 live 2..6: two atoms.
 */
TEST(tiles_make_atoms)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("tiles");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t t = build_tensor(graph, "t", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t out[2] = { build_tensor(graph, "o0", NPUMEM_TENSOR_OUTPUT, 1),
			    build_tensor(graph, "o1", NPUMEM_TENSOR_OUTPUT, 1) };
	static const uint64_t offsets[2] = { 0, 4 }, lengths[2] = { 6, 4 };
	struct npuplan_liveness live;

	build_step(graph, 0, in, NPUMEM_NONE, t);
	for (int i = 0; i < 2; i++) {
		struct npumem_region part = { offsets[i], lengths[i], { 1, 1, 1 }, 0, { 0 } };
		struct npumem_region whole = { 0, 1, { 1, 1, 1 }, 0, { 0 } };
		struct npumem_access accesses[2] = {
			{ npuplan_graph_add_tile(graph, t, &part), NPUMEM_ACCESS_READ, NPUMEM_NONE,
			  0 },
			{ npuplan_graph_add_tile(graph, out[i], &whole), NPUMEM_ACCESS_WRITE,
			  NPUMEM_NONE, 0 },
		};
		struct npuplan_step step = { .op = NPUMEM_NONE };

		assert_true(npuplan_graph_add_step(graph, &step, accesses, 2) >= 0);
	}
	live = live_of(graph);
	assert_int_equal(live.atom_count, 5);
	assert_atom(&live, 1, t, 0, 4, 2, 4);
	assert_atom(&live, 2, t, 4, 4, 2, 6);
	/* At 4: t 8, out0 1. */
	assert_bound(&live, 9, 2);
	npuplan_liveness_fini(&live);
}

/*
 * An input that nobody reads lives at the entry; a tensor that is only written lives while it is
 * written.
 */
TEST(unread)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("unread");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t idle = build_tensor(graph, "idle", NPUMEM_TENSOR_INPUT, 5);
	uint32_t dead = build_tensor(graph, "dead", NPUMEM_TENSOR_INTERMEDIATE, 6);
	struct npuplan_liveness live;

	build_step(graph, 0, in, NPUMEM_NONE, dead);
	live = live_of(graph);
	assert_int_equal(live.atom_count, 3);
	assert_atom(&live, 0, in, 0, 4, 0, 2);
	assert_atom(&live, 1, idle, 0, 5, 0, 0);
	assert_atom(&live, 2, dead, 0, 6, 2, 2);
	npuplan_liveness_fini(&live);
}

/* State lives from entry to exit, whoever updates it. */
TEST(state)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("state");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t cell = build_tensor(graph, "cell", NPUMEM_TENSOR_STATE, 8);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);
	struct npuplan_liveness live;
	uint64_t bytes;
	uint32_t instant;

	build_op(graph, "lstm", in, cell, NPUMEM_NONE, cell);
	build_op(graph, "linear", cell, NPUMEM_NONE, NPUMEM_NONE, out);
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
	live = live_of(graph);
	/* Two versions of the cell's bytes, the one ending where the other begins. */
	assert_int_equal(live.atom_count, 4);
	assert_atom(&live, 1, cell, 0, 8, 0, 1);
	assert_atom(&live, 2, cell, 0, 8, 2, 5);
	/* An update counts its bytes once: 4 + 8 at step 0, 8 + 2 at step 1. */
	assert_int_equal(npuplan_lower_bound(&live, &bytes, &instant), 0);
	assert_int_equal(bytes, 12);
	npuplan_liveness_fini(&live);
}

/* Parameters lie outside the arena unless a step accesses them; then they live for good. */
TEST(parameters)
{
	for (int with = 0; with < 2; with++) {
		AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("parameters");
		uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
		uint32_t weights = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 9);
		uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);
		struct npuplan_liveness live;

		build_op(graph, "linear", in, weights, NPUMEM_NONE, out);
		assert_int_equal(npuplan_graph_tile_bands(graph, 1, with, NULL), 0);
		live = live_of(graph);
		assert_int_equal(live.atom_count, 2 + with);
		if (with)
			assert_atom(&live, 1, weights, 0, 9, 0, live.exit);
		npuplan_liveness_fini(&live);
	}
}
