// SPDX-License-Identifier: MIT
/*
 * Operators that run patch by patch, in real int8 arithmetic: random networks on images, with
 * residuals, concats and branches, in all layouts, some of whose operators run in patches of rows
 * and columns, the others whole, in bands or in rows; with the plans of all planners. Every byte of
 * a patch has to be written once, and outputs to be those of whole operators (int8_run.h). What
 * cannot run in patches says so.
 *
 * usage: prop_patches [SEED [CASES]]
 */
#include <errno.h>
#include <string.h>

#include "int8_property.h"

#define MOST 16

/*
 * struct image - what operators read and write: batch x rows x columns x channels, or, of three
 * spatial dimensions, the first of which is rows
 */
struct image {
	int64_t batch;
	int64_t space[NPUPLAN_MAX_SPATIAL];
	int64_t channels;
};

static struct npuplan_graph *graph;
/* Spatial dimensions of all its images. */
static uint32_t spatial;

static struct {
	struct image image;
	uint32_t tensor;
} known[MOST + 2];
static uint32_t known_count;

static uint32_t add(uint32_t kind, uint32_t rank, const int64_t *shape)
{
	struct npuplan_tensor tensor = {
		.size = 1,
		.align = draw(0, 9) ? 1 : 4,
		.kind = kind,
		.elem_size = 1,
		.dim_count = rank,
		.id = graph->tensor_count,
	};
	int64_t index;

	for (uint32_t d = 0; d < rank; d++) {
		tensor.shape[d] = shape[d];
		tensor.size *= (uint64_t)shape[d];
	}
	index = npuplan_graph_add_tensor(graph, &tensor);
	if (index < 0)
		fail("no tensor added");
	return (uint32_t)index;
}

static uint32_t add_image(uint32_t kind, const struct image *i)
{
	bool nhwc = graph->source_layout == NPUPLAN_NHWC;
	int64_t shape[NPUPLAN_MAX_DIMS] = { i->batch };

	memcpy(shape + (nhwc ? 1 : 2), i->space, spatial * sizeof(*shape));
	shape[nhwc ? spatial + 1 : 1] = i->channels;
	return add(kind, spatial + 2, shape);
}

static int32_t channel_axis(void)
{
	return graph->source_layout == NPUPLAN_NHWC ? (int32_t)spatial + 1 : 1;
}

static bool same_space(const struct image *a, const struct image *b)
{
	return a->batch == b->batch && !memcmp(a->space, b->space, spatial * sizeof(*a->space));
}

/* Whether an image has some elements, and not too many. */
static bool is_small(const struct image *i)
{
	for (uint32_t d = 0; d < spatial; d++)
		if (i->space[d] < 1 || i->space[d] > (spatial > 2 ? 7 : 18))
			return false;
	return true;
}

/* One of the images so far, mostly the last. */
static uint32_t source(void)
{
	return draw(0, 3) ? known_count - 1 : draw(0, known_count - 1);
}

static struct npuplan_op *add_op(const char *type, const uint32_t *inputs, uint32_t count,
				 const struct image *out)
{
	uint32_t output = add_image(NPUMEM_TENSOR_OUTPUT, out);
	struct npuplan_op *op = int8_add_op(graph, type, inputs, count, output);

	if (!op)
		fail("no operator added");
	known[known_count].image = *out;
	known[known_count++].tensor = output;
	return op;
}

/* A window that makes an image of @in. */
static void find_window(struct npuplan_attrs *attrs, const struct image *in, struct image *out)
{
	*out = *in;
	attrs->spatial = spatial;
	do {
		for (uint32_t d = 0; d < spatial; d++) {
			attrs->kernel[d] = (int32_t)draw(1, 4);
			attrs->stride[d] = draw(0, 1) ? 1 : (int32_t)draw(1, 3);
			attrs->dilation[d] = draw(0, 2) ? 1 : 2;
			attrs->pad_begin[d] = (int32_t)draw(0, 3);
			attrs->pad_end[d] = (int32_t)draw(0, 3);
			out->space[d] = windows(attrs, d, in->space[d]);
		}
	} while (!is_small(out));
}

/* Weights of a convolution, in the order of the source (int8_ops.h). */
static uint32_t weights(const struct npuplan_attrs *attrs, int64_t ins, int64_t outs)
{
	bool nhwc = graph->source_layout == NPUPLAN_NHWC, volume = spatial == 3;
	int64_t shape[NPUPLAN_MAX_DIMS];
	uint32_t first = !nhwc ? 2 : volume ? 0 : 1;

	shape[!nhwc ? attrs->transposed : !volume ? 0 : attrs->transposed ? 3 : 4] = outs;
	shape[!nhwc ? !attrs->transposed : !volume ? 3 : attrs->transposed ? 4 : 3] = ins;
	for (uint32_t d = 0; d < spatial; d++)
		shape[first + d] = attrs->kernel[d];
	return add(NPUMEM_TENSOR_PARAMETER, spatial + 2, shape);
}

static void conv(void)
{
	static const char *const names[2][2] = { { "conv2d", "conv3d" },
						 { "conv_transpose2d", "conv_transpose3d" } };
	struct npuplan_attrs attrs = { .axis = -1, .groups = 1, .transposed = !draw(0, 3) };
	uint32_t from = source(), inputs[2] = { known[from].tensor };
	bool depthwise = !attrs.transposed && spatial == 2 && !draw(0, 2);
	struct image in = known[from].image, out;

	find_window(&attrs, &in, &out);
	if (depthwise)
		attrs.groups = (int32_t)in.channels;
	else
		out.channels = draw(0, 5) ? draw(1, 5) : 33;
	inputs[1] = weights(&attrs, depthwise ? 1 : in.channels, out.channels);
	add_op(names[attrs.transposed][spatial == 3], inputs, 2, &out)->attrs = attrs;
}

static void pool(void)
{
	struct npuplan_attrs attrs = { .axis = -1, .groups = 1 };
	uint32_t from = source();
	struct image out;

	find_window(&attrs, &known[from].image, &out);
	add_op(draw(0, 1) ? "maxpool" : "avgpool", &known[from].tensor, 1, &out)->attrs = attrs;
}

static void unary(void)
{
	uint32_t from = source();
	struct image out = known[from].image;

	add_op(draw(0, 1) ? "relu" : "abs", &known[from].tensor, 1, &out)->attrs.inplace =
		draw(0, 1);
}

static void resize(void)
{
	uint32_t from = source();
	struct image out = known[from].image;

	for (uint32_t d = 0; d < spatial; d++)
		out.space[d] += draw(0, 3);
	if (spatial == 2 && is_small(&out))
		add_op("resize_bilinear", &known[from].tensor, 1, &out);
}

static void softmax(void)
{
	uint32_t from = source();
	struct image out = known[from].image;

	add_op("softmax", &known[from].tensor, 1, &out)->attrs.axis =
		draw(0, 3) ? channel_axis() : (int32_t)draw(1, spatial + 1);
}

/* Two images of one size: added, or one behind the other. */
static void join(void)
{
	uint32_t a = source(), b = draw(0, known_count - 1);
	uint32_t inputs[2] = { known[a].tensor };
	struct image out = known[a].image;

	for (uint32_t i = 0; i < known_count && (b == a || !same_space(&known[b].image, &out)); i++)
		b = (b + 1) % known_count;
	inputs[1] = known[b].tensor;
	if (!same_space(&known[b].image, &out))
		return;
	if (known[b].image.channels == out.channels && draw(0, 2)) {
		add_op("add", inputs, 2, &out)->attrs.inplace = draw(0, 1);
		return;
	}
	out.channels += known[b].image.channels;
	if (out.channels <= 70)
		add_op("cat", inputs, 2, &out)->attrs.axis = channel_axis();
}

static void make_graph(void)
{
	static void (*const makers[])(void) = { conv,  conv,   conv, conv, pool,   unary,
						unary, resize, join, join, softmax };
	uint32_t count = draw(2, MOST - 4);
	struct image image = {
		.batch = draw(0, 3) ? 1 : 2,
		.channels = draw(0, 5) ? draw(1, 5) : 34,
	};

	spatial = draw(0, 4) ? 2 : 3;
	for (uint32_t d = 0; d < spatial; d++)
		image.space[d] = draw(1, spatial > 2 ? 6 : 14);
	graph = npuplan_graph_new("random");
	if (!graph)
		fail("out of memory");
	graph->source_layout = draw(0, 1) ? NPUPLAN_NHWC : NPUPLAN_NCHW;
	known_count = 1;
	known[0].image = image;
	known[0].tensor = add_image(NPUMEM_TENSOR_INPUT, &image);
	for (uint32_t i = 0; i < count || graph->op_count < 2; i++)
		makers[draw(0, sizeof(makers) / sizeof(makers[0]) - 1)]();
	no_outputs_read(graph);
}

/* ------------------------------------------------------------------------- one case */

/*
 * struct counts - what was met
 * @refused: tilings that say of what operators they cannot run in patches
 * @unplanned: plans that planners refuse
 * @operators: that run in patches
 * @patches: tensors that patches have
 * @again: operators that compute something again
 * @found: networks for which patches were found
 */
struct counts {
	uint64_t cases;
	uint64_t refused;
	uint64_t operators;
	uint64_t patches;
	uint64_t again;
	uint64_t plans;
	uint64_t unplanned;
	uint64_t found;
};

static struct npuplan_patches random_patches(uint32_t from)
{
	struct npuplan_patches patches = { .first = from + draw(0, 1) };
	const struct image *last;

	if (patches.first >= graph->op_count)
		patches.first = graph->op_count - 1;
	patches.last = draw(patches.first, graph->op_count - 1);
	last = &known[1 + patches.last].image;
	patches.rows = draw(0, 3) ? draw(1, (uint32_t)last->space[0]) : 0;
	if (!patches.rows || (spatial == 2 && draw(0, 2)))
		patches.columns = draw(1, (uint32_t)last->space[1]);
	return patches;
}

/* Tries patches until some can be; false: none of many can. */
static bool tile(struct npuplan_tiling *tiling, struct npuplan_patches *patches,
		 struct counts *counts)
{
	for (int tries = 0; tries < 40; tries++) {
		struct npuplan_error error = { .text = "" };
		int err;

		tiling->patch_count = 1;
		patches[0] = random_patches(0);
		if (patches[0].last + 1 < graph->op_count && draw(0, 1)) {
			patches[1] = random_patches(patches[0].last + 1);
			tiling->patch_count = 2;
		}
		err = npuplan_graph_tile(graph, tiling, &error);
		if (!err)
			return true;
		if (err != -EINVAL || !strstr(error.text, " runs in patches: "))
			fail("%d: %s", err, error.text);
		if (graph->added_count || graph->step_count)
			fail("a tiling that was refused left something behind");
		counts->refused++;
	}
	return false;
}

/* --------------------------------------------------------------- patches that are found */

/* The arena, as npuplan_patches_find() compares it. */
static uint64_t arena_of(const struct npuplan_tiling *tiling)
{
	const struct npuplan_options options = { .planner = "auto", .work_limit = 200000 };
	struct npuplan_error error = { .text = "" };
	struct npuplan_plan *plan = NULL;
	uint64_t arena;

	if (npuplan_graph_tile(graph, tiling, &error) ||
	    npuplan_plan(graph, &options, &plan, &error))
		fail("%s", error.text);
	arena = plan->info.arena_size;
	npuplan_plan_free(plan);
	return arena;
}

/*
 * Patches that are found can be; no more than asked for is computed again; and the arena is smaller
 * than that of whole operators.
 */
static void check_found(struct counts *counts)
{
	const struct npuplan_tiling whole = { .layout = draw(0, 2) };
	struct npuplan_tiling tiling = whole;
	struct npuplan_error error = { .text = "" };
	struct npuplan_tile_report *reports;
	uint64_t again = 0, once = 0, before, arena;
	uint32_t most_again = draw(0, 60);

	if (npuplan_patches_find(graph, &tiling, most_again, &error))
		fail("%s", error.text);
	if (graph->layout != NPUPLAN_NHWC || graph->added_count)
		fail("looking for patches left something behind");
	if (tiling.patch_count) {
		before = arena_of(&whole);
		npuplan_graph_untile(graph);
		graph->layout = NPUPLAN_NHWC;
		arena = arena_of(&tiling);
		if (arena >= before)
			fail("the arena is %" PRIu64 " bytes in patches, %" PRIu64 " without",
			     arena, before);
		if (npuplan_tiling_report(graph, &reports, &error))
			fail("%s", error.text);
		for (uint32_t i = 0; i < graph->op_count; i++) {
			again += reports[i].again;
			once += reports[i].operations;
		}
		free(reports);
		if (again > once * most_again / 100)
			fail("%" PRIu64 " of %" PRIu64 " operations run again, %u %% may", again,
			     once, most_again);
		npuplan_graph_untile(graph);
		graph->layout = NPUPLAN_NHWC;
		counts->found++;
	}
	npuplan_tiling_fini(&tiling);
}

static void check_plan(struct int8_net *net, const char *planner, struct counts *counts)
{
	bool planned = plan_and_run(net, planner, true);

	counts->plans += planned;
	counts->unplanned += !planned;
}

static void count(const struct npuplan_tiling *tiling, struct counts *counts)
{
	struct npuplan_error error = { .text = "" };
	struct npuplan_tile_report *reports;

	if (npuplan_tiling_report(graph, &reports, &error))
		fail("%s", error.text);
	for (uint32_t i = 0; i < graph->op_count; i++)
		counts->again += reports[i].again > 0;
	free(reports);
	for (uint32_t i = 0; i < tiling->patch_count; i++)
		counts->operators += tiling->patches[i].last - tiling->patches[i].first + 1;
	counts->patches += graph->added_count;
	counts->cases++;
}

static void run_case(uint64_t seed, struct counts *counts)
{
	struct npuplan_patches patches[2];
	struct npuplan_tiling tiling = { .layout = draw(0, 2), .patches = patches };
	enum int8_resize resize = draw(INT8_BILINEAR, INT8_BILINEAR_ALIGNED);
	uint32_t tensors;
	struct int8_net net;

	make_graph();
	tiling.bands = draw(0, 1) ? draw(1, 4) : 0;
	tiling.rows = tiling.bands ? 0 : draw(0, 2);
	tiling.with_parameters = !draw(0, 3);
	tensors = graph->tensor_count;
	check_found(counts);
	if (tile(&tiling, patches, counts)) {
		tile_again(graph, tensors);
		count(&tiling, counts);
		compute_tiles(&net, graph, resize, seed, NULL, NULL);
		check_plan(&net, "auto", counts);
		check_plan(&net, "taa", counts);
		check_plan(&net, random_planner(), counts);
		check_plan(&net, random_planner(), counts);
		int8_net_fini(&net);
	}
	npuplan_graph_free(graph);
}

int main(int argc, char **argv)
{
	struct counts counts = { 0 };

	property_begin(argc, argv, 20261201, 400);
	for (unsigned long i = 0; i < property.cases; i++)
		run_case(property_case(i), &counts);
	printf("%" PRIu64 " networks, %" PRIu64 " operators in patches, %" PRIu64
	       " of them compute something again, %" PRIu64 " tensors of patches; %" PRIu64
	       " plans, %" PRIu64 " not planned, %" PRIu64
	       " tilings refused; patches found for %" PRIu64 "\n",
	       counts.cases, counts.operators, counts.again, counts.patches, counts.plans,
	       counts.unplanned, counts.refused, counts.found);
	if (property.cases >= 400 && (counts.cases < 300 || counts.operators < 600 ||
				      counts.again < 100 || counts.plans < 600)) {
		printf("not ok - too little was met\n");
		return 1;
	}
	return 0;
}
