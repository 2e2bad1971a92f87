/* SPDX-License-Identifier: MIT */
/*
 * What property tests do with a graph of int8 operators that is tiled: compute it tile by tile,
 * plan it, run the plan, and tile it again. All of them fail() with the case's seed.
 */
#pragma once

#include <errno.h>
#include <string.h>

#include "int8_run.h"
#include "property.h"

/* Work of a search: more would take too long for so many cases. */
#define INT8_PROPERTY_WORK 50000

/* What operators read on is no output of the graph. */
static inline void no_outputs_read(struct npuplan_graph *graph)
{
	for (uint32_t i = 0; i < graph->op_count; i++)
		for (uint32_t k = 0; k < graph->ops[i].input_count; k++) {
			struct npuplan_tensor *t = &graph->tensors[graph->ops[i].inputs[k]];

			if (t->kind == NPUMEM_TENSOR_OUTPUT)
				t->kind = NPUMEM_TENSOR_INTERMEDIATE;
		}
}

/* Size of what a window makes of @in elements along dimension @d; < 1: none. */
static inline int64_t windows(const struct npuplan_attrs *attrs, uint32_t d, int64_t in)
{
	int64_t extent = (int64_t)(attrs->kernel[d] - 1) * attrs->dilation[d] + 1;
	int64_t pads = attrs->pad_begin[d] + attrs->pad_end[d];

	if (attrs->transposed)
		return (in - 1) * attrs->stride[d] + extent - pads;
	return in + pads < extent ? 0 : (in + pads - extent) / attrs->stride[d] + 1;
}

static inline const char *random_planner(void)
{
	uint32_t count = 0;

	while (npuplan_planner_name(count))
		count++;
	return npuplan_planner_name(draw(0, count - 1));
}

/*
 * Computes a graph whole, and each step of it from what the step reads alone.
 * @net: int8_net_fini() it; @loaded, @read: as of int8_check_tiles()
 */
static inline void compute_tiles(struct int8_net *net, const struct npuplan_graph *graph,
				 enum int8_resize resize, uint64_t seed, uint64_t *loaded,
				 uint64_t *read)
{
	if (!int8_net_init(net, graph, resize, seed) || !int8_check_tiles(net, loaded, read))
		fail("%s", net->text);
}

/*
 * Plans a graph, which has the plan verified, and runs the plan: all outputs are those of the net.
 * False: it is refused as what this planner does not do, which is a failure unless @may_refuse.
 */
static inline bool plan_and_run(struct int8_net *net, const char *planner, bool may_refuse)
{
	const struct npuplan_options options = {
		.planner = planner,
		/* The paper's engine has nothing before its first order is done. */
		.work_limit = strcmp(planner, "taa-paper") != 0 ? INT8_PROPERTY_WORK : 0,
	};
	struct npuplan_error error = { .text = "" };
	struct npuplan_plan *plan = NULL;
	int err = npuplan_plan(net->graph, &options, &plan, &error);

	if (err == -EOPNOTSUPP && may_refuse)
		return false;
	if (err)
		fail("%s: %s", planner, error.text);
	if (!int8_run_plan(net, plan))
		fail("%s: %s", planner, net->text);
	npuplan_plan_free(plan);
	return true;
}

/*
 * After untiling a graph is what it was, with @tensors tensors, and tiled again as it says itself
 * that it was tiled it is the same. The graph has no aliases of its own.
 */
static inline void tile_again(struct npuplan_graph *graph, uint32_t tensors)
{
	uint8_t digest[NPUPLAN_DIGEST_SIZE], again[NPUPLAN_DIGEST_SIZE];
	struct npuplan_tiling tiling = graph->tiling;
	struct npuplan_error error = { .text = "" };

	npuplan_graph_digest(graph, digest);
	graph->tiling = (struct npuplan_tiling){ 0 };
	npuplan_graph_untile(graph);
	if (graph->added_count || graph->added || graph->tensor_count != tensors)
		fail("something that was added is left");
	if (graph->joined_count || graph->concat_input_count)
		fail("something is joined in a graph that is not tiled");
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			fail("tensor %u is still an alias", t);
	if (npuplan_graph_tile(graph, &tiling, &error))
		fail("%s", error.text);
	npuplan_tiling_fini(&tiling);
	npuplan_graph_digest(graph, again);
	if (memcmp(digest, again, sizeof(digest)) != 0)
		fail("tiled again, it is another graph");
}
