// SPDX-License-Identifier: MIT
/*
 * TAA's exact form on random small tensors, against all displacements tried one
 * by one and byte by byte; and on random chains of tiled operators, where every
 * plan passes the kernel's verifier, is never above the paper's engine and never
 * below the most bytes that live at once.
 *
 * usage: prop_taa [SEED [CASES]]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "planners/taa/displacements.h"
#include "auto.h"
#include "property.h"

#define MAX_BYTES    96
#define MAX_VERSIONS 3
#define MAX_ATOMS    (MAX_BYTES * MAX_VERSIONS)

/* ------------------------------------------------------ random live ranges */

struct range {
	uint32_t start, end;
};

/*
 * struct bytes - tensor by the byte
 * @lives: of each byte, @count of them; disjoint
 */
struct bytes {
	struct range lives[MAX_BYTES][MAX_VERSIONS];
	uint32_t count[MAX_BYTES];
	uint32_t size;
};

/* Rows x channels written and read band by band, in one of three layouts. */
static void random_layout(struct bytes *tensor)
{
	uint32_t rows = draw(1, 6), width = draw(1, 3), groups = draw(1, 4);
	uint32_t layout = draw(0, 2), block = draw(1, groups), wild = !draw(0, 3), at = draw(0, 6);
	struct range life[6][4];

	for (uint32_t y = 0; y < rows; y++) {
		for (uint32_t c = 0; c < groups; c++) {
			struct range *l = &life[y][c];

			l->start = wild ? draw(0, 12) : at + y * draw(0, 2);
			l->end = l->start + draw(0, 6);
			if (!wild && y && l->start < life[y - 1][c].start)
				l->start = life[y - 1][c].start;
			if (!wild && y && l->end < life[y - 1][c].end)
				l->end = life[y - 1][c].end;
			if (!wild && c && draw(0, 2))
				*l = life[y][c - 1];
		}
	}
	tensor->size = 0;
	if (layout == 0)
		block = groups;
	else if (layout == 1)
		block = 1;
	/* NHWC is one block of all channels, NCHW blocks of one, NC/32HW32 between. */
	for (uint32_t b = 0; b < groups; b += block)
		for (uint32_t y = 0; y < rows; y++)
			for (uint32_t x = 0; x < width; x++)
				for (uint32_t c = b; c < b + block && c < groups; c++) {
					tensor->lives[tensor->size][0] = life[y][c];
					tensor->count[tensor->size++] = 1;
				}
}

/* Any bytes, some never live, some with several versions. */
static void random_versions(struct bytes *tensor)
{
	uint32_t stretch = draw(1, 9);

	tensor->size = draw(1, MAX_BYTES);
	for (uint32_t i = 0; i < tensor->size; i++) {
		uint32_t start = draw(0, 6);

		if (i && draw(0, stretch)) {
			tensor->count[i] = tensor->count[i - 1];
			memcpy(tensor->lives[i], tensor->lives[i - 1], sizeof(tensor->lives[i]));
			continue;
		}
		tensor->count[i] = draw(0, MAX_VERSIONS);
		for (uint32_t v = 0; v < tensor->count[i]; v++) {
			tensor->lives[i][v].start = start;
			tensor->lives[i][v].end = start + draw(0, 3);
			start = tensor->lives[i][v].end + draw(1, 4);
		}
	}
}

static int by_place(const void *left, const void *right)
{
	const struct npuplan_atom *a = left, *b = right;

	if (a->tensor != b->tensor)
		return a->tensor < b->tensor ? -1 : 1;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Bytes in a row with a life in common make an atom, of at most @longest bytes. */
static void add_atoms(struct npuplan_liveness *live, uint32_t index, const struct bytes *tensor)
{
	uint32_t longest = draw(0, 3) ? MAX_BYTES : draw(1, 4), begin = live->atom_count;

	for (uint32_t i = 0; i < tensor->size; i++) {
		for (uint32_t v = 0; v < tensor->count[i]; v++) {
			struct range life = tensor->lives[i][v];
			struct npuplan_atom *into = NULL;

			for (uint32_t k = begin; k < live->atom_count; k++) {
				struct npuplan_atom *atom = &live->atoms[k];

				if (atom->first + atom->length == i && atom->start == life.start &&
				    atom->end == life.end && atom->length < longest)
					into = atom;
			}
			if (into)
				into->length++;
			else
				live->atoms[live->atom_count++] =
					(struct npuplan_atom){ i, 1, index, life.start, life.end };
		}
	}
	qsort(live->atoms + begin, live->atom_count - begin, sizeof(*live->atoms), by_place);
}

static bool share(const struct bytes *a, const struct bytes *b, int64_t d)
{
	for (int64_t i = 0; i < b->size; i++) {
		int64_t at = i + d;

		if (at < 0 || at >= a->size)
			continue;
		for (uint32_t v = 0; v < a->count[at]; v++)
			for (uint32_t w = 0; w < b->count[i]; w++)
				if (a->lives[at][v].start <= b->lives[i][w].end &&
				    b->lives[i][w].start <= a->lives[at][v].end)
					return true;
	}
	return false;
}

static void check_displacements(uint64_t *intervals)
{
	struct npuplan_atom atoms[2 * MAX_ATOMS];
	struct npuplan_liveness live = { .atoms = atoms };
	struct npuplan_item items[2] = { { .tensor = 0 }, { .tensor = 1 } };
	struct npuplan_intervals list = { 0 };
	size_t listed;
	struct bytes tensors[2];
	struct npuplan_staircases staircases;

	for (uint32_t i = 0; i < 2; i++) {
		draw(0, 1) ? random_layout(&tensors[i]) : random_versions(&tensors[i]);
		add_atoms(&live, i, &tensors[i]);
	}
	if (npuplan_staircases_init(&staircases, &live, items, 2) ||
	    npuplan_displacements(&staircases, 0, 1, &list, &listed))
		fail("out of memory");
	for (int64_t d = -(int64_t)tensors[1].size - 1; d <= (int64_t)tensors[0].size + 1; d++) {
		bool forbidden = false;

		for (size_t k = 0; k < list.count; k++)
			forbidden |= d > list.at[k].low && d < list.at[k].high;
		if (forbidden != share(&tensors[0], &tensors[1], d))
			fail("displacement %" PRId64 " is %sforbidden", d, forbidden ? "" : "not ");
	}
	for (size_t k = 1; k < list.count; k++)
		if (list.at[k].low < list.at[k - 1].high)
			fail("intervals %zu and %zu overlap", k - 1, k);
	*intervals += list.count;
	free(list.at);
	npuplan_staircases_fini(&staircases);
}

/* --------------------------------------------------------- random tiled chains */

/* Tilings that did not fit on chip. */
static uint32_t refused;

static uint32_t add_tensor(struct npuplan_graph *graph, uint32_t kind, int64_t rows, int64_t width,
			   int64_t channels)
{
	struct npuplan_tensor tensor = {
		.size = rows * width * channels,
		.align = 1u << draw(0, 2),
		.kind = kind,
		.dim_count = 4,
		.elem_size = 1,
		.shape = { 1, rows, width, channels },
		.id = graph->tensor_count,
	};
	int64_t index = npuplan_graph_add_tensor(graph, &tensor);

	if (index < 0)
		fail("add_tensor");
	return index;
}

/* Convolutions, additions and concatenations of what there is so far. */
static struct npuplan_graph *random_chain(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("chain");
	uint32_t ops = draw(1, 8);

	graph->source_layout = NPUPLAN_NHWC;
	add_tensor(graph, NPUMEM_TENSOR_INPUT, draw(4, 16), draw(1, 3), draw(1, 4));
	for (uint32_t i = 0; i < ops; i++) {
		uint32_t from = draw(0, 2) ? graph->tensor_count - 1 :
					     draw(0, graph->tensor_count - 1);
		const int64_t *shape = graph->tensors[from].shape;
		int64_t rows = shape[1], width = shape[2], channels = shape[3];
		uint32_t inputs[2] = { from, 0 }, kind = draw(0, 2), output;
		struct npuplan_op op = {
			.inputs = inputs,
			.input_count = 1,
			.outputs = &output,
			.output_count = 1,
			.id = i,
			.attrs = { .axis = kind == 1 ? 3 : -1 },
		};
		static char types[3][8] = { "conv2d", "cat", "add" };

		op.type = types[kind];
		if (kind == 0) {
			op.attrs.spatial = 2;
			for (int k = 0; k < 2; k++) {
				op.attrs.kernel[k] = 3;
				op.attrs.dilation[k] = 1;
				op.attrs.pad_begin[k] = op.attrs.pad_end[k] = 1;
				op.attrs.stride[k] = 1;
			}
			op.attrs.stride[0] = (int32_t)draw(1, 2);
			rows = (rows - 1) / op.attrs.stride[0] + 1;
			channels = draw(1, 6);
		} else {
			for (uint32_t t = 0; t < graph->tensor_count; t++) {
				const int64_t *other = graph->tensors[t].shape;

				if (t != from && other[1] == rows && other[2] == width &&
				    (kind == 1 || other[3] == channels)) {
					inputs[op.input_count++] = t;
					channels += kind == 1 ? other[3] : 0;
					break;
				}
			}
		}
		output = add_tensor(
			graph, i + 1 == ops ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE,
			rows, width, channels);
		if (npuplan_graph_add_op(graph, &op) < 0)
			fail("add_op");
	}
	return graph;
}

static uint64_t plan_arena(const struct npuplan_graph *graph, const char *planner, uint64_t *bound)
{
	struct npuplan_options options = { .planner = planner };
	struct npuplan_error error = { "" };
	struct npuplan_plan *plan;
	uint64_t arena;

	if (npuplan_plan(graph, &options, &plan, &error) ||
	    npuplan_verify_plan(graph, plan, NULL, &error))
		fail("%s: %s", planner, error.text);
	arena = plan->info.arena_size;
	*bound = plan->info.lower_bound;
	npuplan_plan_free(plan);
	return arena;
}

/* Bands, tiles of rows x channels in any order, or what the tiler makes of them. */
static void tile_at_random(struct npuplan_graph *graph)
{
	struct npuplan_tile_choice choices[8];
	struct npuplan_tiling tiling = { .layout = draw(0, 2), .ops = choices };
	struct npuplan_error error = { "" };
	uint32_t kind = draw(0, 2);

	if (kind == 0)
		tiling.bands = draw(1, 17);
	if (kind == 1) {
		tiling.onchip = draw(100, 1500);
		tiling.double_buffer = draw(0, 1);
	}
	for (uint32_t i = 0; i < graph->op_count && kind != 0; i++) {
		const int64_t *shape = graph->tensors[graph->ops[i].outputs[0]].shape;

		/* The tiler is told of few. */
		if (kind == 1 && draw(0, 3))
			continue;
		choices[tiling.op_count++] = (struct npuplan_tile_choice){
			.op = i,
			.rows = draw(0, (uint32_t)shape[1]),
			.channels = tiling.layout == NPUPLAN_NC32HW32 ? 0 :
									draw(0, (uint32_t)shape[3]),
			.order = draw(0, 1),
		};
	}
	/* Too little on chip for some: as it is said. */
	if (npuplan_graph_tile(graph, &tiling, &error) == -ENOSPC && kind == 1) {
		refused++;
		tiling = (struct npuplan_tiling){ .layout = tiling.layout, .bands = 3 };
		error.text[0] = '\0';
		if (npuplan_graph_tile(graph, &tiling, &error))
			fail("%s", error.text);
	} else if (error.text[0]) {
		fail("%s", error.text);
	}
}

static void check_chain(uint32_t *at_bound)
{
	AUTO_GRAPH struct npuplan_graph *graph = random_chain();
	uint64_t exact, paper, shared, greedy, bound, other;

	tile_at_random(graph);
	exact = plan_arena(graph, "taa", &bound);
	paper = plan_arena(graph, "taa-paper", &other);
	shared = plan_arena(graph, "shared-objects", &other);
	greedy = plan_arena(graph, "greedy", &other);
	if (exact > paper || exact < bound || exact > greedy)
		fail("bound %" PRIu64 ", exact %" PRIu64 ", paper %" PRIu64 ", greedy %" PRIu64
		     ", shared objects %" PRIu64,
		     bound, exact, paper, greedy, shared);
	*at_bound += exact == bound;
}

int main(int argc, char **argv)
{
	uint32_t chains = 0, at_bound = 0;
	uint64_t intervals = 0;

	property_begin(argc, argv, 20261121, 4000);
	for (unsigned long i = 0; i < property.cases; i++) {
		property_case(i);
		check_displacements(&intervals);
		if (i % 20)
			continue;
		check_chain(&at_bound);
		chains++;
	}
	printf("%lu pairs, %.2f intervals each; %u chains, %u at the lower bound, %u refused first\n",
	       property.cases, (double)intervals / property.cases, chains, at_bound, refused);
	/* A draw that reaches nothing proves nothing. */
	if (property.cases >= 1000 &&
	    (intervals < property.cases || at_bound < chains / 2 || refused > chains / 2))
		fail("too few of some kind");
	return 0;
}
