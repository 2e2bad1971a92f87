// SPDX-License-Identifier: MIT
/*
 * The given models, computed: whole, and cut in several ways, each step from the bytes that it
 * accesses alone; and through plans, in one arena. Outputs are compared bit for bit, those of
 * whole operators with what TensorFlow Lite's reference kernels have made of the same inputs.
 *
 * NPUMEM_SHARED names the folder of models (../shared by default); without it the test is
 * skipped, and says so.
 */
#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "engine_run.h"
#include "models.h"

#define SEED	   20261123
#define INFERENCES 2

static const char *shared;

/*
 * SHA-256 of the outputs of two inferences, one behind the other: TensorFlow Lite 2.14.1 as
 * Debian has it (libtensorflow-lite-dev 2.14.1+dfsg-3.1), BuiltinRefOpResolver, inputs drawn as
 * engine_draw_inputs() does from SEED. NULL: it refuses the model.
 */
static const struct model {
	const char *name;
	const char *sha256;
} models[] = {
	{ "coral_mobilenet_v1_0.25_128_quant",
	  "6e022c47bf48f47c5d35b30d542227a251ccf8ae19761f374eb469462abda39f" },
	{ "dtln_noise_suppression",
	  "5f30688912b38e5b3dd183e2be3f41730930f8edf504a7d0f0b660eb680e2614" },
	{ "hello_world_int8", "20c5c5815ad9db403928cf7adb6f689a890a196a4d15599ddfa12ad130ab3549" },
	{ "micro_speech_quantized",
	  "9d2e797cf3474ff84c28d4ebef56e0f768454d77ff46782363d90e26af548a61" },
	{ "mlptiny_ad01_int8", "91d8d05c3f9a31069e5a01cdae78b40be21a916e9c3c1afe3d2fa4907c6a6f02" },
	{ "mlptiny_kws_ref_model",
	  "ae4a9c64198d21447cf040ce1119648f73fabf4da8b1ef9fc059805039e0be9b" },
	{ "mlptiny_pretrainedResnet_quant",
	  "875526cfb823abb62d61020f9c71b5022db28923e3b3a10577b3c6d080f552ef" },
	{ "mlptiny_vww_96_int8",
	  "31d55c113fccc1e8c014a6b4b711e9155c390457d4c030876cbb3828d95751f5" },
	{ "person_detect", NULL },
	{ "trained_lstm_int8", "cd048de662838ce58598f77cb225a79e3cd4758e8588a8c7a4b1edde9df0a99b" },
};

#define MODELS (sizeof(models) / sizeof(models[0]))

/* struct file - a model as it stands on disk */
struct file {
	void *data;
	size_t size;
};

static struct file read_model(const char *name)
{
	struct npuplan_error error;
	struct file file;
	char path[512];

	snprintf(path, sizeof(path), "%s/models/tflite/%s.tflite", shared, name);
	if (npuimport_read_file(path, &file.data, &file.size, &error))
		fail_msg("%s", error.text);
	return file;
}

static struct npuplan_graph *read_graph(const struct file *file)
{
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error;

	if (npuimport_tflite(file->data, file->size, "model", NULL, &graph, NULL, &error))
		fail_msg("%s", error.text);
	return graph;
}

/* All outputs, one behind the other; malloc'ed. */
static uint8_t *outputs_of(const struct engine_net *net, size_t *size)
{
	const struct npuplan_graph *graph = net->graph;
	uint8_t *outputs = NULL;

	*size = 0;
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		if (tensor->kind != NPUMEM_TENSOR_OUTPUT)
			continue;
		outputs = realloc(outputs, *size + tensor->size);
		memcpy(outputs + *size,
		       tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS ?
			       net->values[tensor->alias_of] + tensor->alias_offset :
			       net->values[t],
		       tensor->size);
		*size += tensor->size;
	}
	assert_non_null(outputs);
	return outputs;
}

/* Outputs of the first inference, of whole operators; @digest: of all inferences, if not NULL. */
static uint8_t *run_whole(const struct file *file, size_t *size, char *digest)
{
	AUTO_GRAPH struct npuplan_graph *graph = read_graph(file);
	struct sha256_ctx sha;
	struct engine_net net;
	uint8_t *first = NULL, bytes[SHA256_DIGEST_SIZE];
	uint64_t seed = SEED;

	sha256_init(&sha);
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
	if (!engine_net_init(&net, file->data, file->size, graph))
		fail_msg("%s", net.text);
	for (int i = 0; i < INFERENCES; i++) {
		uint8_t *outputs;

		engine_draw_inputs(&net, &seed);
		if (!engine_run_tensors(&net))
			fail_msg("%s", net.text);
		outputs = outputs_of(&net, size);
		sha256_update(&sha, *size, outputs);
		if (i)
			free(outputs);
		else
			first = outputs;
	}
	sha256_digest(&sha, sizeof(bytes), bytes);
	for (size_t i = 0; digest && i < sizeof(bytes); i++)
		sprintf(digest + 2 * i, "%02x", bytes[i]);
	engine_net_fini(&net);
	return first;
}

TEST(reference)
{
	unsigned int compared = 0;

	for (size_t i = 0; i < MODELS; i++) {
		struct file file = read_model(models[i].name);
		char digest[2 * SHA256_DIGEST_SIZE + 1];
		size_t size;

		free(run_whole(&file, &size, digest));
		free(file.data);
		if (!models[i].sha256)
			continue;
		if (strcmp(digest, models[i].sha256) != 0)
			fail_msg("%s: outputs have digest %s", models[i].name, digest);
		compared++;
	}
	assert_int_equal(compared, 9);
}

/* The same inference once more, of a graph that is cut; @plan: through its arena. */
static void check_same(const struct file *file, const struct npuplan_graph *graph,
		       const struct npuplan_plan *plan, const uint8_t *expected, size_t size,
		       const char *what)
{
	struct engine_net net;
	uint64_t seed = SEED;
	uint8_t *outputs;
	size_t got;

	if (!engine_net_init(&net, file->data, file->size, graph))
		fail_msg("%s: %s", what, net.text);
	engine_draw_inputs(&net, &seed);
	if (!(plan ? engine_run_plan(&net, plan) : engine_run_tensors(&net)))
		fail_msg("%s: %s", what, net.text);
	outputs = outputs_of(&net, &got);
	assert_int_equal(got, size);
	for (size_t i = 0; i < size; i++)
		if (outputs[i] != expected[i])
			fail_msg("%s: byte %zu of the outputs is %d, must be %d", what, i,
				 outputs[i], expected[i]);
	free(outputs);
	engine_net_fini(&net);
}

/* Counts of what was seen: a test that never gets to it fails. */
static struct {
	unsigned int cuts;
	unsigned int plans;
	unsigned int moved;
} seen;

static void check_plan(const struct file *file, const struct npuplan_graph *graph,
		       const struct npuplan_options *options, const uint8_t *expected, size_t size,
		       const char *what)
{
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;
	int err = npuplan_plan(graph, options, &plan, &error);

	/* Aliases and state are not for all of them; what is counted has to be enough. */
	if (err == -EOPNOTSUPP || err == -ENOSPC) {
		print_message("# %s, %s: %s\n", what, options->planner, error.text);
		return;
	}
	if (err)
		fail_msg("%s, %s: %s", what, options->planner, error.text);
	check_same(file, graph, plan, expected, size, what);
	seen.plans++;
	for (uint32_t p = 0; p < plan->position_count; p++)
		seen.moved += plan->positions[p].kind == NPUMEM_POSITION_SPILL;
}

/* A budget in which something has to be spilled, if there is one. */
static uint64_t small_budget(const struct npuplan_graph *graph)
{
	struct npuplan_options options = { .planner = "cosma", .work_limit = 2000 };
	struct npuplan_budgets budgets;

	if (npuplan_budgets_find(graph, &options, &budgets, NULL))
		return 0;
	return budgets.needed + (budgets.peak - budgets.needed) / 16;
}

static void check_cut(const struct file *file, const struct npuplan_tiling *tiling,
		      const uint8_t *expected, size_t size, const char *what)
{
	AUTO_GRAPH struct npuplan_graph *graph = read_graph(file);
	struct npuplan_error error;
	int err = npuplan_graph_tile(graph, tiling, &error);

	if (err == -ENOSPC) {
		print_message("# %s: %s\n", what, error.text);
		return;
	}
	if (err)
		fail_msg("%s: %s", what, error.text);
	check_same(file, graph, NULL, expected, size, what);
	seen.cuts++;
	check_plan(file, graph, &(struct npuplan_options){ .planner = "greedy" }, expected, size,
		   what);
	check_plan(file, graph,
		   &(struct npuplan_options){ .planner = "tile-scheduled", .work_limit = 20000 },
		   expected, size, what);
}

/* Whole operators whose tensors have to leave the arena and come back. */
static void check_spilled(const struct file *file, const uint8_t *expected, size_t size,
			  const char *what)
{
	AUTO_GRAPH struct npuplan_graph *graph = read_graph(file);
	struct npuplan_tiling tiling = {
		.with_parameters = true,
		.inputs = NPUPLAN_INPUTS_HOST,
	};
	struct npuplan_options options = { .planner = "cosma", .work_limit = 2000 };
	struct npuplan_error error;

	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s: %s", what, error.text);
	options.arena_budget = small_budget(graph);
	if (options.arena_budget)
		check_plan(file, graph, &options, expected, size, what);
}

TEST(cut)
{
	static const struct npuplan_tiling tilings[] = {
		{ .bands = 3, .with_parameters = true },
		{ .rows = 1, .with_parameters = true },
		{ .rows = 2, .columns = 5, .with_parameters = true },
		{ .onchip = 48 << 10, .with_parameters = true },
	};
	static const char *const names[] = { "bands", "rows", "columns", "on-chip" };

	for (size_t i = 0; i < MODELS; i++) {
		struct file file = read_model(models[i].name);
		size_t size;
		uint8_t *expected = run_whole(&file, &size, NULL);
		char what[128];

		for (size_t t = 0; t < sizeof(tilings) / sizeof(tilings[0]); t++) {
			snprintf(what, sizeof(what), "%s, %s", models[i].name, names[t]);
			check_cut(&file, &tilings[t], expected, size, what);
		}
		snprintf(what, sizeof(what), "%s, spilled", models[i].name);
		check_spilled(&file, expected, size, what);
		free(expected);
		free(file.data);
	}
	print_message("# %u ways of cutting, %u plans, %u spills\n", seen.cuts, seen.plans,
		      seen.moved);
	assert_in_range(seen.cuts, 30, 40);
	assert_in_range(seen.plans, 60, 100);
	assert_true(seen.moved > 0);
}

/* The engine has no SVDF: the sentence says so. */
TEST(unknown_operator)
{
	struct file file = read_model("keyword_scrambled_8bit");
	AUTO_GRAPH struct npuplan_graph *graph = read_graph(&file);
	struct engine_net net;
	uint64_t seed = SEED;

	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
	assert_true(engine_net_init(&net, file.data, file.size, graph));
	engine_draw_inputs(&net, &seed);
	assert_false(engine_run_tensors(&net));
	assert_string_equal(net.text,
			    "operator 1 'svdf_1' (svdf): the engine has no such operator");
	engine_net_fini(&net);
	free(file.data);
}

int main(void)
{
	shared = shared_folder("no model was computed");
	if (!shared) {
		puts("1..0 # SKIP the shared folder is not there; set NPUMEM_SHARED");
		return SKIPPED;
	}
	return unit_run(NULL, NULL);
}
