/* SPDX-License-Identifier: MIT */
/*
 * ONNX's own tests, of Debian's libonnx-testdata: a model of each operator, and networks. What a
 * model declares of its outputs is taken away, and the reader must find the same.
 *
 * Where the package is not installed the test is skipped, and says so. Debian 12's has no networks.
 */
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

#include "onnx_check.h"

static const char *folder;

static void *read_all(const char *path, size_t *size)
{
	struct npuplan_error error = { 0 };
	void *data;

	if (npuimport_read_file(path, &data, size, &error))
		return NULL;
	return data;
}

/* ------------------------------------------------------------ what is refused */

/*
 * What no plan can be made of, or not of these models; sentences by a part of them. Anything else
 * that is refused fails the test.
 */
static const char *const reasons[] = {
	"has strings",
	"is a sequence",
	"is an optional value",
	/* Of an older Scan, which has batches. */
	"only that of 9 and later is read",
	"(NonMaxSuppression): values decide",
	"(Unique): values decide",
	"(Compress): values decide",
	"(NonZero): values decide",
	"is not known here, and the file does not say",
	"the graph has no operators",
	"only 7 and later are read",
	"has a dimension 'n' without a size",
	/* Inputs' values, where these are not put in: see give_values(). */
	": values decide",
};

#define REASONS (sizeof(reasons) / sizeof(*reasons))

struct tally {
	unsigned int models;
	unsigned int read;
	unsigned int refused[REASONS];
};

static void count_refusal(struct tally *tally, const char *path, const char *text)
{
	for (size_t i = 0; i < REASONS; i++)
		if (strstr(text, reasons[i])) {
			tally->refused[i]++;
			return;
		}
	fail_msg("%s: %s", path, text);
}

static void print_tally(const char *what, const struct tally *tally)
{
	print_message("# %s: %u of %u models\n", what, tally->read, tally->models);
	for (size_t i = 0; i < REASONS; i++)
		if (tally->refused[i])
			print_message("#   %u refused: %s\n", tally->refused[i], reasons[i]);
}

/* ------------------------------------------------------------- without declarations */

/* Whether a tensor may be a shape, axes, pads, scales or the like. */
static bool is_list(const Onnx__TensorProto *tensor, size_t input)
{
	bool is_integer = tensor->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64 ||
			  tensor->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__INT32;

	return !tensor->n_dims ||
	       (tensor->n_dims == 1 && (is_integer || (input && tensor->dims[0] <= 8)));
}

/* Test data of an input becomes its value: then nothing is left to what values say. */
static void give_values(const char *path, Onnx__ModelProto *model)
{
	Onnx__GraphProto *graph = model->graph;

	graph->initializer = realloc(graph->initializer, (graph->n_initializer + graph->n_input +
							  1) * sizeof(*graph->initializer));
	assert_non_null(graph->initializer);
	for (size_t i = 0; i < graph->n_input; i++) {
		AUTO_TEXT char *name = NULL;
		AUTO_TEXT char *data = NULL;
		Onnx__TensorProto *tensor;
		size_t size;

		if (!graph->input[i]->type || !graph->input[i]->type->tensor_type)
			continue;
		assert_true(asprintf(&name, "%.*s/test_data_set_0/input_%zu.pb",
				     (int)(strrchr(path, '/') - path), path, i) > 0);
		data = read_all(name, &size);
		tensor = data ? onnx__tensor_proto__unpack(NULL, size, (uint8_t *)data) : NULL;
		/* Some have the bits of a type that numpy lacks, as integers. */
		if (tensor && is_list(tensor, i) &&
		    tensor->data_type == graph->input[i]->type->tensor_type->elem_type) {
			free(tensor->name);
			tensor->name = strdup(graph->input[i]->name);
			graph->initializer[graph->n_initializer++] = tensor;
		} else if (tensor) {
			onnx__tensor_proto__free_unpacked(tensor, NULL);
		}
	}
}

/* Shapes that the file declares, and that are taken from it. */
static void take_declared(Onnx__ModelProto *model, Onnx__TensorShapeProto **shapes)
{
	Onnx__GraphProto *graph = model->graph;

	for (size_t i = 0; i < graph->n_output; i++) {
		Onnx__TypeProto *type = graph->output[i]->type;

		shapes[i] = NULL;
		if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
			continue;
		shapes[i] = type->tensor_type->shape;
		type->tensor_type->shape = NULL;
	}
	for (size_t i = 0; i < graph->n_value_info; i++)
		onnx__value_info_proto__free_unpacked(graph->value_info[i], NULL);
	graph->n_value_info = 0;
}

static void check_output(const char *path, const struct npuplan_graph *graph, const char *name,
			 const Onnx__TensorShapeProto *shape)
{
	const struct npuplan_tensor *tensor = NULL;
	bool is_empty = false;

	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (!strcmp(graph->tensors[i].name, name))
			tensor = &graph->tensors[i];
	for (size_t d = 0; shape && d < shape->n_dim; d++)
		is_empty |= shape->dim[d]->value_case ==
				    ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
			    !shape->dim[d]->dim_value;
	if (!shape || is_empty)
		return;
	if (!tensor || tensor->dim_count != shape->n_dim)
		fail_msg("%s: %s is not of %zu dimensions", path, name, shape->n_dim);
	for (size_t d = 0; tensor && d < shape->n_dim; d++)
		if (shape->dim[d]->value_case ==
			    ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
		    tensor->shape[d] != shape->dim[d]->dim_value)
			fail_msg("%s: %s has %lld elements along dimension %zu, not %lld", path,
				 name, (long long)tensor->shape[d], d,
				 (long long)shape->dim[d]->dim_value);
}

static void check_inferred(const char *path, Onnx__ModelProto *model, struct tally *tally)
{
	const struct npuimport_options options = { 0 };
	Onnx__TensorShapeProto **shapes = calloc(model->graph->n_output + 1, sizeof(*shapes));
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { 0 };
	AUTO_TEXT char *file = NULL;
	size_t size;

	assert_non_null(shapes);
	give_values(path, model);
	take_declared(model, shapes);
	size = onnx__model_proto__get_packed_size(model);
	file = malloc(size);
	assert_non_null(file);
	onnx__model_proto__pack(model, (uint8_t *)file);
	tally->models++;
	if (npuimport_onnx(file, size, "model", &options, &graph, NULL, &error)) {
		count_refusal(tally, path, error.text);
	} else {
		tally->read++;
		for (size_t i = 0; i < model->graph->n_output; i++)
			check_output(path, graph, model->graph->output[i]->name, shapes[i]);
	}
	for (size_t i = 0; i < model->graph->n_output; i++)
		if (shapes[i])
			onnx__tensor_shape_proto__free_unpacked(shapes[i], NULL);
	free(shapes);
}

static void check_models(const char *pattern, struct tally *tally, struct tally *inferred)
{
	const struct npuimport_options options = { 0 };
	AUTO_TEXT char *full = NULL;
	glob_t found;

	assert_true(asprintf(&full, "%s/%s", folder, pattern) > 0);
	assert_int_equal(glob(full, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		struct npuplan_error error = { 0 };
		AUTO_TEXT char *file = NULL;
		Onnx__ModelProto *model;
		size_t size;

		file = read_all(path, &size);
		assert_non_null(file);
		tally->models++;
		if (npuimport_onnx(file, size, "model", &options, &graph, NULL, &error))
			count_refusal(tally, path, error.text);
		else
			tally->read++;
		model = onnx__model_proto__unpack(NULL, size, (uint8_t *)file);
		assert_non_null(model);
		check_inferred(path, model, inferred);
		onnx__model_proto__free_unpacked(model, NULL);
	}
	globfree(&found);
}

TEST(operators)
{
	struct tally declared = { 0 }, inferred = { 0 };

	check_models("node/*/model.onnx", &declared, &inferred);
	check_models("simple/*/model.onnx", &declared, &inferred);
	check_models("pytorch-*/*/model.onnx", &declared, &inferred);
	print_tally("read as they are", &declared);
	print_tally("shapes found without the file's", &inferred);
	/* Of 1072 and 1428. */
	assert_in_range(declared.read, 830, 1428);
	assert_in_range(inferred.read, 800, 1428);
}

/* -------------------------------------------------------------------- networks */

/*
 * Arenas in bytes, which no plan in the order of the nodes can be below. The same squeezenet and
 * resnet50, exported by PyTorch with elements of one byte, take a quarter.
 */
static const struct {
	const char *name;
	uint64_t arena;
} networks[] = {
	{ "bvlc_alexnet", 2239488 }, { "densenet121", 7225344 }, { "inception_v1", 4646400 },
	{ "inception_v2", 4014080 }, { "resnet50", 7225344 },	 { "shufflenet", 3110912 },
	{ "squeezenet", 3928576 },   { "vgg19", 25690112 },	 { "zfnet512", 9124608 },
};

TEST(networks)
{
	const struct npuplan_options options = { 0 };

	for (size_t i = 0; i < sizeof(networks) / sizeof(*networks); i++) {
		AUTO_TEXT char *path = NULL;
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		AUTO_PLAN struct npuplan_plan *plan = NULL;
		struct npuplan_error error = { 0 };

		assert_true(asprintf(&path, "%s/light/light_%s.onnx", folder, networks[i].name) >
			    0);
		if (access(path, R_OK)) {
			print_message("# SKIPPED: no %s: this libonnx-testdata has no networks\n",
				      path);
			free(path);
			path = NULL;
			skip();
		}
		if (npuimport_file(path, NULL, &graph, NULL, &error) ||
		    npuplan_graph_tile_bands(graph, 1, false, &error) ||
		    npuplan_plan(graph, &options, &plan, &error))
			fail_msg("%s: %s", path, error.text);
		print_message("# %s: %llu bytes\n", networks[i].name,
			      (unsigned long long)plan->info.arena_size);
		assert_int_equal(plan->info.arena_size, networks[i].arena);
	}
}

int main(int argc, char **argv)
{
	AUTO_TEXT char *node = NULL;
	size_t size;

	folder = argc > 1 ? argv[1] : "";
	assert_true(asprintf(&node, "%s/node/test_relu/model.onnx", folder) > 0);
	free(read_all(node, &size));
	if (!size) {
		printf("1..0 # SKIP no %s: install libonnx-testdata\n", node);
		return 77;
	}
	return unit_run(NULL, NULL);
}
