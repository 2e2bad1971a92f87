// SPDX-License-Identifier: MIT
/*
 * Concats, splits and slices that are joined, in real int8 arithmetic: random networks full of
 * them, along all axes, of inputs that are concats or parts of others, in two concats, twice in
 * one, outputs or inputs of the graph; slices that overlap; parts that are worked on in place; in
 * all layouts, whole and cut; with the plans of all planners. Every byte has to lie where
 * graph->joined says, to be written once, and to come out as it does without any joining
 * (int8_run.h). What is not joined has a reason, and all reasons that there can be here are met.
 *
 * usage: prop_join [SEED [CASES]]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "int8_property.h"

#define MOST	 24
#define CHANNELS 72

static struct npuplan_graph *graph;

/* Tensors that operators may read. */
static uint32_t known[2 * MOST];
static uint32_t known_count;

/* Most parts of a split. */
#define PARTS 3

static uint32_t add_tensor(uint32_t kind, uint32_t rank, const int64_t *shape)
{
	struct npuplan_tensor tensor = {
		.name = (char[]){ "t000" },
		.size = 1,
		.align = draw(0, 9) ? 1 : 1u << draw(1, 3),
		.kind = kind,
		.elem_size = 1,
		.dim_count = rank,
		.id = graph->tensor_count,
	};
	int64_t index;

	snprintf(tensor.name, 5, "t%u", graph->tensor_count % 1000);
	for (uint32_t d = 0; d < rank; d++) {
		tensor.shape[d] = shape[d];
		tensor.size *= shape[d];
	}
	index = npuplan_graph_add_tensor(graph, &tensor);
	if (index < 0)
		fail("no tensor added");
	return index;
}

static struct npuplan_op *add_op(const char *type, const uint32_t *inputs, uint32_t count,
				 uint32_t output)
{
	struct npuplan_op *op = int8_add_op(graph, type, inputs, count, output);

	if (!op)
		fail("no operator added");
	if (output < graph->tensor_count && known_count < 2 * MOST)
		known[known_count++] = output;
	return op;
}

static const struct npuplan_tensor *at(uint32_t tensor)
{
	return &graph->tensors[tensor];
}

/* A known tensor, rather a late one. */
static uint32_t any(void)
{
	uint32_t back = draw(0, 2) ? draw(0, 3) : draw(0, known_count - 1);

	return known[known_count - 1 - (back < known_count ? back : known_count - 1)];
}

static uint32_t of_rank(uint32_t rank)
{
	for (int i = 0; i < 50; i++) {
		uint32_t tensor = any();

		if (at(tensor)->dim_count == rank)
			return tensor;
	}
	return known[0];
}

static uint32_t same_as(uint32_t tensor)
{
	return add_tensor(NPUMEM_TENSOR_OUTPUT, at(tensor)->dim_count, at(tensor)->shape);
}

static void unary(void)
{
	uint32_t input = any();
	struct npuplan_op *op = add_op(draw(0, 1) ? "relu" : "abs", &input, 1, same_as(input));

	op->attrs.inplace = draw(0, 1);
}

/* A window that neighbouring rows need. */
static void window(void)
{
	uint32_t input = of_rank(4);
	struct npuplan_attrs attrs = { .axis = -1, .groups = 1, .spatial = 2 };

	if (at(input)->dim_count != 4)
		return;
	for (int d = 0; d < 2; d++) {
		attrs.kernel[d] = 3;
		attrs.stride[d] = attrs.dilation[d] = 1;
		attrs.pad_begin[d] = attrs.pad_end[d] = 1;
	}
	add_op("maxpool", &input, 1, same_as(input))->attrs = attrs;
}

static bool alike(uint32_t a, uint32_t b, uint32_t but)
{
	if (at(a)->dim_count != at(b)->dim_count)
		return false;
	for (uint32_t d = 0; d < at(a)->dim_count; d++)
		if (d != but && at(a)->shape[d] != at(b)->shape[d])
			return false;
	return true;
}

static void sum(void)
{
	uint32_t inputs[2] = { any() };

	for (int i = 0; i < 20; i++) {
		inputs[1] = any();
		if (alike(inputs[0], inputs[1], NPUMEM_NONE)) {
			add_op("add", inputs, 2, same_as(inputs[0]))->attrs.inplace = draw(0, 1);
			return;
		}
	}
}

/* The axis of channels mostly, else any. */
static uint32_t any_axis(uint32_t rank)
{
	if (rank == 4 && draw(0, 2))
		return graph->source_layout == NPUPLAN_NHWC ? 3 : 1;
	return draw(0, rank - 1);
}

static void concat_of(const uint32_t *inputs, uint32_t count, uint32_t axis)
{
	int64_t shape[NPUPLAN_MAX_DIMS];

	memcpy(shape, at(inputs[0])->shape, sizeof(shape));
	for (uint32_t i = 1; i < count; i++)
		shape[axis] += at(inputs[i])->shape[axis];
	if (shape[axis] > CHANNELS)
		return;
	add_op(draw(0, 1) ? "cat" : "concat", inputs, count,
	       add_tensor(NPUMEM_TENSOR_OUTPUT, at(inputs[0])->dim_count, shape))
		->attrs.axis = (int32_t)axis;
}

static void concat(void)
{
	uint32_t inputs[5] = { any() }, count = 1, want = draw(1, 4);
	uint32_t axis = any_axis(at(inputs[0])->dim_count);

	for (int i = 0; i < 30 && count < want; i++) {
		inputs[count] = any();
		count += alike(inputs[0], inputs[count], axis) &&
			 (inputs[count] != inputs[count - 1] || !draw(0, 4));
	}
	concat_of(inputs, count, axis);
}

/* As DenseNet has it: each layer reads a concat of all before it. */
static void dense(void)
{
	uint32_t parts[6] = { of_rank(4) }, count = 1, layers = draw(2, 4);
	uint32_t axis = graph->source_layout == NPUPLAN_NHWC ? 3 : 1;

	if (at(parts[0])->dim_count != 4)
		return;
	for (; count <= layers; count++) {
		uint32_t last = known_count;

		concat_of(parts, count, axis);
		if (known_count == last)
			return;
		parts[count] = same_as(parts[0]);
		/* Something that reads the concat, and something that makes the next part. */
		unary();
		add_op("relu", &parts[count > 1 ? count - 1 : 0], 1, parts[count]);
	}
	concat_of(parts, count, axis);
}

/* @outputs: out; as importers have it, the axis and the like may be inputs, before the data. */
static struct npuplan_op *add_parts(const char *type, uint32_t input, uint32_t axis,
				    const int64_t *sizes, uint32_t count, uint32_t *outputs)
{
	uint32_t inputs[2] = { input }, input_count = 1;
	int64_t shape[NPUPLAN_MAX_DIMS], one = 1;
	struct npuplan_op *op;

	if (!draw(0, 2)) {
		inputs[0] = add_tensor(NPUMEM_TENSOR_PARAMETER, 1, &one);
		inputs[input_count++] = input;
	}
	memcpy(shape, at(input)->shape, sizeof(shape));
	for (uint32_t i = 0; i < count; i++) {
		shape[axis] = sizes[i];
		outputs[i] = add_tensor(NPUMEM_TENSOR_OUTPUT, at(input)->dim_count, shape);
	}
	op = int8_add_op_of(graph, type, inputs, input_count, outputs, count);
	if (!op)
		fail("no operator added");
	for (uint32_t i = 0; i < count && known_count < 2 * MOST; i++)
		known[known_count++] = outputs[i];
	op->attrs.axis = (int32_t)axis;
	return op;
}

/* Sizes of parts of a random number; returns how many, 0 if there is nothing to split. */
static uint32_t cut(int64_t size, int64_t sizes[PARTS])
{
	uint32_t count = draw(2, PARTS);

	if (size < count)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		sizes[i] = draw(0, 1) ? size / (count - i) : draw(1, size - (count - i - 1));
		/* Blocks of channels, often. */
		if (sizes[i] > 32 && draw(0, 2))
			sizes[i] = 32;
		if (i + 1 == count)
			sizes[i] = size;
		size -= sizes[i];
	}
	return count;
}

static uint32_t split_of(uint32_t input, uint32_t axis, uint32_t outputs[PARTS])
{
	int64_t sizes[PARTS];
	uint32_t count = cut(at(input)->shape[axis], sizes);

	if (count)
		add_parts(draw(0, 1) ? "split" : "split_v", input, axis, sizes, count, outputs);
	return count;
}

static void split(void)
{
	uint32_t input = any(), outputs[PARTS];

	split_of(input, any_axis(at(input)->dim_count), outputs);
}

/* One slice, or two that may overlap. */
static void slice(void)
{
	uint32_t input = any(), axis = any_axis(at(input)->dim_count), output;
	int64_t all = at(input)->shape[axis];

	for (uint32_t i = draw(0, 1); i < 2; i++) {
		int64_t first = draw(0, all - 1), size = draw(1, all - first);
		struct npuplan_op *op;

		if (all > 32 && draw(0, 1))
			first = first / 32 * 32;
		op = add_parts(draw(0, 1) ? "slice" : "strided_slice", input, axis, &size, 1,
			       &output);
		op->attrs.stride[0] = 1;
		op->attrs.pad_begin[0] = (int32_t)-first;
	}
}

/*
 * As ShuffleNet has it: halves, of which one is worked on, put together again; or both as they
 * were, or the other way round.
 */
static void shuffle(void)
{
	uint32_t input = any(), axis = any_axis(at(input)->dim_count), outputs[PARTS];
	uint32_t count = split_of(input, axis, outputs), made;

	if (!count)
		return;
	if (draw(0, 2)) {
		made = same_as(outputs[count - 1]);
		add_op("relu", &outputs[count - 1], 1, made)->attrs.inplace = draw(0, 1);
		outputs[count - 1] = made;
	}
	if (!draw(0, 2)) {
		uint32_t first = outputs[0];

		outputs[0] = outputs[count - 1];
		outputs[count - 1] = first;
	}
	concat_of(outputs, count, axis);
}

static void make_graph(void)
{
	static void (*const makers[])(void) = { unary,	unary, window, sum,   concat,
						concat, dense, split,  slice, shuffle };
	uint32_t rank = draw(0, 3) ? 4 : draw(2, 5), count = draw(3, MOST / 2);
	int64_t shape[NPUPLAN_MAX_DIMS];

	graph = npuplan_graph_new("random");
	if (!graph)
		fail("out of memory");
	graph->source_layout = draw(0, 1) ? NPUPLAN_NHWC : NPUPLAN_NCHW;
	known_count = 0;
	for (uint32_t d = 0; d < rank; d++)
		shape[d] = draw(1, 5);
	if (draw(0, 2))
		shape[0] = 1;
	if (rank > 3 && !draw(0, 2))
		shape[graph->source_layout == NPUPLAN_NHWC ? rank - 1 : 1] = draw(0, 1) ? 32 : 17;
	known[known_count++] = add_tensor(NPUMEM_TENSOR_INPUT, rank, shape);
	unary();
	for (uint32_t i = 0; i < count && known_count < MOST; i++)
		makers[draw(0, sizeof(makers) / sizeof(makers[0]) - 1)]();
	/* What is read on is no output, mostly; some are fixed, external, or of no known bytes. */
	for (uint32_t i = 0; i < graph->op_count; i++) {
		for (uint32_t k = 0; k < graph->ops[i].input_count; k++) {
			struct npuplan_tensor *t = &graph->tensors[graph->ops[i].inputs[k]];

			if (t->kind == NPUMEM_TENSOR_OUTPUT && draw(0, 29))
				t->kind = NPUMEM_TENSOR_INTERMEDIATE;
		}
		if (strchr("cs", graph->ops[i].type[0]))
			graph->ops[i].attrs.whole = !draw(0, 29);
	}
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (!draw(0, 59))
			graph->tensors[t].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
}

/* Whole operators, bands, rows; or some operators in tiles of rows and channels. */
static struct npuplan_tiling random_tiling(struct npuplan_tile_choice *choices)
{
	struct npuplan_tiling tiling = {
		.layout = draw(0, 2),
		.concat = draw(0, 3) ? NPUPLAN_CONCAT_JOIN : NPUPLAN_CONCAT_FIT,
	};
	uint32_t granule = tiling.layout == NPUPLAN_NC32HW32 ? 32 : 1;

	switch (draw(0, 3)) {
	case 0:
		tiling.bands = draw(2, 4);
		break;
	case 1:
		tiling.rows = draw(1, 2);
		tiling.columns = draw(0, 3);
		break;
	case 2:
		tiling.ops = choices;
		for (uint32_t i = 0; i < graph->op_count; i++) {
			const struct npuplan_tensor *t = at(graph->ops[i].outputs[0]);
			bool nhwc = graph->source_layout == NPUPLAN_NHWC;

			bool same = true;

			for (uint32_t k = 1; k < graph->ops[i].output_count; k++)
				same &= alike(graph->ops[i].outputs[0], graph->ops[i].outputs[k],
					      NPUMEM_NONE);
			if (t->dim_count != 4 || graph->ops[i].attrs.whole || !same || draw(0, 1))
				continue;
			choices[tiling.op_count++] = (struct npuplan_tile_choice){
				.op = i,
				.rows = draw(1, t->shape[nhwc ? 1 : 2]),
				.channels = granule == 1 ? draw(1, t->shape[nhwc ? 3 : 1]) : 0,
				.order = draw(0, 1),
			};
		}
		break;
	}
	return tiling;
}

/* ------------------------------------------------------------------------- one case */

/*
 * struct counts - what was met
 * @joins: inputs of concats by what became of them
 * @parts: outputs of splits and slices, likewise
 * @apart: parts in several runs; @split_apart: of these outputs of splits and slices
 * @chained: outputs of concats that are parts; @split_chained: inputs of splits and slices
 * @inplace: steps that may overwrite such a part
 * @tile_scheduled: plans by that planner with joined splits
 */
struct counts {
	uint64_t joins[NPUPLAN_JOIN_COUNT];
	uint64_t parts[NPUPLAN_JOIN_COUNT];
	uint64_t split_apart;
	uint64_t split_chained;
	uint64_t inplace;
	uint64_t tile_scheduled;
	uint64_t apart;
	uint64_t chained;
	uint64_t plans;
	uint64_t refused;
};

/* Whether an operator takes a tensor apart. */
static bool is_split(uint32_t op)
{
	return !strncmp(graph->ops[op].type, "sl", 2) || !strncmp(graph->ops[op].type, "sp", 2) ||
	       !strncmp(graph->ops[op].type, "st", 2);
}

static const struct npuplan_joined *joined_of(uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->joined_count; i++)
		if (graph->joined[i].tensor == tensor)
			return &graph->joined[i];
	return NULL;
}

static void count_inplace(uint32_t part, struct counts *counts)
{
	for (uint32_t s = 0; s < graph->step_count; s++) {
		const struct npuplan_step *step = &graph->steps[s];

		for (uint32_t a = 0; a < step->access_count; a++)
			counts->inplace += graph->ops[step->op].inputs[0] == part &&
					   graph->accesses[step->first_access + a].inplace !=
						   NPUMEM_NONE;
	}
}

/* Returns how many outputs of splits and slices are joined. */
static uint32_t count_parts(struct counts *counts)
{
	uint32_t joined = 0;

	for (uint32_t i = 0; i < graph->concat_input_count; i++) {
		const struct npuplan_concat_input *said = &graph->concat_inputs[i];
		const struct npuplan_joined *part = joined_of(said->tensor);
		const struct npuplan_op *op = &graph->ops[said->op];

		if (!is_split(said->op)) {
			counts->joins[said->join]++;
			if (said->join == NPUPLAN_JOINED)
				counts->apart += part->run < part->size;
			counts->chained += !said->input && joined_of(op->outputs[0]);
			continue;
		}
		counts->parts[said->join]++;
		if (said->join != NPUPLAN_JOINED)
			continue;
		joined++;
		counts->split_apart += part->run < part->size;
		counts->split_chained += !said->input && joined_of(op->inputs[op->input_count - 1]);
		count_inplace(said->tensor, counts);
	}
	return joined;
}

static bool may_refuse(const char *planner)
{
	return !strncmp(planner, "cosma", 5) || !strncmp(planner, "tile-scheduled", 14);
}

/* False: it does not plan such graphs. */
static bool check_plan(struct int8_net *net, const char *planner, struct counts *counts)
{
	bool planned = plan_and_run(net, planner, may_refuse(planner));

	counts->plans += planned;
	counts->refused += !planned;
	return planned;
}

static void run_case(uint64_t seed, struct counts *counts)
{
	struct npuplan_tile_choice choices[2 * MOST + 8];
	struct npuplan_error error = { .text = "" };
	struct npuplan_tiling tiling;
	uint32_t joined, tensors;
	struct int8_net net;

	make_graph();
	tensors = graph->tensor_count;
	tiling = random_tiling(choices);
	if (npuplan_graph_tile(graph, &tiling, &error))
		fail("%s", error.text);
	tile_again(graph, tensors);
	joined = count_parts(counts);
	compute_tiles(&net, graph, INT8_NEAREST, seed, NULL, NULL);
	check_plan(&net, "auto", counts);
	check_plan(&net, "taa", counts);
	check_plan(&net, random_planner(), counts);
	check_plan(&net, random_planner(), counts);
	if (joined && check_plan(&net, "tile-scheduled", counts))
		counts->tile_scheduled++;
	int8_net_fini(&net);
	npuplan_graph_free(graph);
}

/* False: some reason was not met, of those that there are here. */
static bool print_joins(const uint64_t counts[NPUPLAN_JOIN_COUNT],
			const bool elsewhere[NPUPLAN_JOIN_COUNT], const char *what)
{
	bool good = true;

	for (uint32_t i = 0; i < NPUPLAN_JOIN_COUNT; i++) {
		printf("%7" PRIu64 " %s %s\n", counts[i], what, npuplan_join_text(i));
		good = good && (counts[i] || elsewhere[i]);
	}
	return good;
}

int main(int argc, char **argv)
{
	/*
	 * Those for which the graphs above have no cause: loops, state, scales, ranges; and what
	 * is of concats, or of splits, alone.
	 */
	static const bool elsewhere[NPUPLAN_JOIN_COUNT] = {
		[NPUPLAN_JOIN_FLOW] = true,   [NPUPLAN_JOIN_CONVERTS] = true,
		[NPUPLAN_JOIN_OUTPUT] = true, [NPUPLAN_JOIN_RANGE] = true,
		[NPUPLAN_JOIN_INPUT] = true,  [NPUPLAN_JOIN_LATE] = true,
	};
	static const bool split_elsewhere[NPUPLAN_JOIN_COUNT] = {
		[NPUPLAN_JOIN_FLOW] = true,   [NPUPLAN_JOIN_CONVERTS] = true,
		[NPUPLAN_JOIN_OUTPUT] = true, [NPUPLAN_JOIN_RANGE] = true,
		[NPUPLAN_JOIN_INPUT] = true,  [NPUPLAN_JOIN_EARLY] = true,
		[NPUPLAN_JOIN_KIND] = true,
	};
	struct counts counts = { 0 };
	bool good;

	property_begin(argc, argv, 20261126, 400);
	for (unsigned long i = 0; i < property.cases; i++)
		run_case(property_case(i), &counts);
	good = print_joins(counts.joins, elsewhere, "inputs of concats:");
	good = print_joins(counts.parts, split_elsewhere, "outputs of splits:") && good;
	printf("%" PRIu64 " and %" PRIu64 " parts in several runs, %" PRIu64 " and %" PRIu64
	       " of chains, %" PRIu64 " worked on in place; %" PRIu64 " plans, %" PRIu64
	       " of splits by tile-scheduled, %" PRIu64 " refused\n",
	       counts.apart, counts.split_apart, counts.chained, counts.split_chained,
	       counts.inplace, counts.plans, counts.tile_scheduled, counts.refused);
	good = good && counts.apart && counts.chained && counts.split_apart &&
	       counts.split_chained && counts.inplace && counts.tile_scheduled;
	if (property.cases >= 400 && !good) {
		printf("not ok - something was not met\n");
		return 1;
	}
	return 0;
}
