/* SPDX-License-Identifier: MIT */
/*
 * TFLite models that a test has composed: read, and computed by the engine's commands whole, in
 * bands and through plans, with concats, splits and slices copied and joined.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "engine_run.h"
#include "npuimport.h"
#include "tflite/compose.h"
#include "unit.h"

struct composed {
	void *data;
	size_t size;
};

static inline struct tflite_numbers numbers(const int32_t *list, uint32_t count)
{
	return (struct tflite_numbers){ list, count };
}

/* The file of a model; free() its data. */
static inline struct composed composed_file(const struct tflite_new_model *model)
{
	struct npuplan_error error = { 0 };
	struct composed file;

	if (tflite_compose(model, &file.data, &file.size, &error))
		fail_msg("%s", error.text);
	return file;
}

static inline struct npuplan_graph *composed_read(const struct composed *file)
{
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error;

	if (npuimport_tflite(file->data, file->size, "m", NULL, &graph, NULL, &error))
		fail_msg("%s", error.text);
	return graph;
}

/*
 * What a way to cut gives by the planner, or, without one, with each tensor apart: the bytes of
 * tensor @output, which are @size. Returns the number of steps.
 */
static inline uint32_t composed_compute(const struct composed *file,
					const struct npuplan_tiling *tiling, const char *planner,
					uint64_t seed, uint32_t output, uint8_t *bytes, size_t size)
{
	AUTO_GRAPH struct npuplan_graph *graph = composed_read(file);
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	const struct npuplan_options options = { .planner = planner };
	struct npuplan_error error = { 0 };
	struct engine_net net;

	if (npuplan_graph_tile(graph, tiling, &error) ||
	    (planner && npuplan_plan(graph, &options, &plan, &error)))
		fail_msg("%s", error.text);
	if (!engine_net_init(&net, file->data, file->size, graph))
		fail_msg("%s", net.text);
	engine_draw_inputs(&net, &seed);
	if (plan ? !engine_run_plan(&net, plan) : !engine_run_tensors(&net))
		fail_msg("%s", net.text);
	assert_int_equal(graph->tensors[output].size, size);
	memcpy(bytes, net.values[output], size);
	engine_net_fini(&net);
	return graph->step_count;
}

/*
 * What is copied and what is joined gives the same bytes of @output, of height 6 and @size bytes,
 * by all planners; @copied, @joined: steps of whole operators then.
 */
static inline void composed_joins(const struct composed *file, uint64_t seed, uint32_t output,
				  size_t size, uint32_t copied, uint32_t joined)
{
	static const char *const planners[] = { NULL, "auto", "nnc", "taa", "tile-scheduled" };
	struct npuplan_tiling tiling = { .bands = 1, .with_parameters = true };
	uint8_t *expected = malloc(size), *bytes = malloc(size);

	assert_non_null(expected);
	assert_non_null(bytes);
	assert_int_equal(composed_compute(file, &tiling, NULL, seed, output, expected, size),
			 copied);
	for (uint32_t concat = NPUPLAN_CONCAT_JOIN; concat <= NPUPLAN_CONCAT_FIT; concat++)
		for (uint32_t bands = 1; bands <= 6; bands += 5)
			for (size_t p = 0; p < sizeof(planners) / sizeof(planners[0]); p++) {
				uint32_t steps;

				tiling.concat = concat;
				tiling.bands = bands;
				steps = composed_compute(file, &tiling, planners[p], seed, output,
							 bytes, size);
				assert_memory_equal(bytes, expected, size);
				if (concat == NPUPLAN_CONCAT_JOIN)
					assert_int_equal(steps, joined * bands);
			}
	free(expected);
	free(bytes);
}
