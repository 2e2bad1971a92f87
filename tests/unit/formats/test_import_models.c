/* SPDX-License-Identifier: MIT */
/*
 * Real models: every graph and TFLite file of the shared folder is read, written
 * and read again. NPUMEM_SHARED names the folder (../shared by default); without
 * it the test is skipped, and says so.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <glob.h>

#include "auto.h"
#include "models.h"

static const char *shared;

static char *path_of(const char *folder, const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s%s", shared, folder, name) > 0);
	return path;
}

/* Import, write, import that, write again: same text, same graph. */
static struct npuplan_graph *round_trip(const char *path, struct npuimport_info *info)
{
	struct npuplan_graph *graph = NULL, *again = NULL;
	struct npuplan_error error = { 0 };
	char *first = NULL, *second = NULL;

	if (npuimport_file(path, NULL, &graph, info, &error))
		fail_msg("%s: %s", path, error.text);
	if (npuimport_graph_json_write(graph, &first, &error))
		fail_msg("%s: not written: %s", path, error.text);
	if (npuimport_graph_json(first, strlen(first), NULL, &again, NULL, &error))
		fail_msg("%s: not read again: %s", path, error.text);
	if (npuimport_graph_json_write(again, &second, &error))
		fail_msg("%s: not written again: %s", path, error.text);
	assert_string_equal(first, second);
	assert_int_equal(graph->tensor_count, again->tensor_count);
	assert_int_equal(graph->op_count, again->op_count);
	for (uint32_t i = 0; i < graph->op_count; i++) {
		const struct npuplan_op *a = &graph->ops[i], *b = &again->ops[i];

		assert_memory_equal(&a->attrs, &b->attrs, sizeof(a->attrs));
	}
	npuplan_graph_free(again);
	free(first);
	free(second);
	return graph;
}

TEST(graphs)
{
	AUTO_TEXT char *pattern = path_of("graphs/", "*.json");
	uint64_t tensors = 0, ops = 0;
	glob_t found;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct npuimport_info info;
		AUTO_GRAPH struct npuplan_graph *graph = round_trip(found.gl_pathv[i], &info);

		assert_int_equal(info.format, NPUIMPORT_GRAPH_JSON);
		tensors += graph->tensor_count;
		ops += graph->op_count;
	}
	/* The whole collection was there. */
	assert_int_equal(found.gl_pathc, 71);
	assert_int_equal(tensors, 33312);
	assert_int_equal(ops, 17185);
	globfree(&found);
}

/* Operators and tensors must be as many as MANIFEST.tsv says (columns 7 and 8). */
TEST(tflite)
{
	AUTO_TEXT char *path = path_of("models/", "MANIFEST.tsv");
	FILE *manifest = fopen(path, "r");
	char *line = NULL, name[256];
	size_t capacity = 0;
	unsigned int models = 0, views = 0, ops, tensors;

	if (!manifest) {
		fail_msg("%s: %s", path, strerror(errno));
		return;
	}
	while (getline(&line, &capacity, manifest) > 0) {
		struct npuimport_info info;
		struct npuplan_graph *graph;
		char *model;

		if (!strncmp(line, "file\t", 5))
			continue;
		assert_int_equal(sscanf(line,
					"%255[^\t]\t%*[^\t]\t%*[^\t]\t%*[^\t]\t%*[^\t]\t"
					"%*[^\t]\t%u\t%u",
					name, &ops, &tensors),
				 3);
		model = path_of("models/tflite/", name);
		graph = round_trip(model, &info);
		assert_int_equal(info.format, NPUIMPORT_TFLITE);
		assert_int_equal(info.operators, ops);
		/* Some are no operators: their outputs are aliases. */
		assert_int_equal(graph->op_count + info.views, ops);
		views += info.views;
		/* The manifest counts tensors that have bytes. */
		assert_int_equal(graph->tensor_count, tensors);
		assert_int_equal(info.tensors, tensors + info.left_out);
		npuplan_graph_free(graph);
		free(model);
		models++;
	}
	assert_int_equal(models, 11);
	assert_in_range(views, 1, 100);
	fclose(manifest);
	free(line);
}

static struct npuplan_graph *model(const char *name)
{
	char *path = path_of("models/tflite/", name);
	struct npuplan_graph *graph = round_trip(path, NULL);

	free(path);
	return graph;
}

/* Numbers that can be looked up in the models' own descriptions. */
TEST(details)
{
	struct npuplan_graph *graph = model("person_detect.tflite");
	const struct npuplan_op *op = &graph->ops[0];
	uint32_t states = 0;

	assert_string_equal(op->type, "conv2d");
	assert_int_equal(graph->tensors[op->inputs[0]].kind, NPUMEM_TENSOR_INPUT);
	assert_int_equal(graph->tensors[op->inputs[0]].size, 96 * 96);
	assert_int_equal(op->attrs.stride[0], 2);
	assert_int_equal(op->attrs.pad_begin[0], 0);
	assert_int_equal(op->attrs.pad_end[0], 1);
	assert_int_equal(graph->ops[1].attrs.groups, 8);
	npuplan_graph_free(graph);
	graph = model("keyword_scrambled_8bit.tflite");
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		states += graph->tensors[i].kind == NPUMEM_TENSOR_STATE;
	assert_int_equal(states, 7);
	assert_string_equal(graph->ops[1].type, "svdf");
	npuplan_graph_free(graph);
}

int main(void)
{
	shared = shared_folder("no real model was read");
	if (!shared) {
		puts("1..0 # SKIP the shared folder is not there; set NPUMEM_SHARED");
		return SKIPPED;
	}
	return unit_run(NULL, NULL);
}
