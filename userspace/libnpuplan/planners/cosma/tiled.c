// SPDX-License-Identifier: MIT
#include "tiled.h"

#include <string.h>

#include "graph/checked.h"
#include "planners/tilesched/tilesched.h"

/* Whether a tensor is loaded when it is needed, or stored as it is made. */
static bool comes_or_goes(const struct npuplan_tensor *tensor)
{
	/* The verifier has no external tensors that are one of these. */
	if (tensor->flags & (NPUMEM_TENSOR_FLAG_FIXED | NPUMEM_TENSOR_FLAG_ALIAS))
		return false;
	return tensor->flags & NPUMEM_TENSOR_FLAG_HOST || tensor->kind == NPUMEM_TENSOR_OUTPUT;
}

/* Returns tensors of a graph in which what comes or goes is external; NULL: out of memory. */
static struct npuplan_tensor *tensors_of(const struct npuplan_graph *graph)
{
	size_t size = graph->tensor_count * sizeof(*graph->tensors);
	struct npuplan_tensor *tensors = npuplan_malloc(size);

	if (!tensors)
		return NULL;
	memcpy(tensors, graph->tensors, size);
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (comes_or_goes(&tensors[t]))
			tensors[t].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	return tensors;
}

/*
 * The limit of work of tile scheduling, which takes as much for fusions and, at most, once more for
 * refining.
 */
static uint64_t work_of(const struct npuplan_options *options)
{
	uint64_t quarter = options->work_limit / 4;

	if (!options->work_limit || quarter > NPUPLAN_TILESCHED_WORK)
		return NPUPLAN_TILESCHED_WORK;
	return quarter ? quarter : 1;
}

static int find_order(const struct npuplan_graph *graph, const struct npuplan_options *options,
		      struct npuplan_effort *effort, uint32_t *order, uint64_t *work,
		      struct npuplan_error *error)
{
	const struct npuplan_options asked = { .work_limit = work_of(options) };
	struct npuplan_graph outside = *graph;
	const struct npuplan_problem problem = {
		.graph = &outside,
		.options = &asked,
		.alignment = 1,
		.effort = effort,
	};
	struct npuplan_checked checked;
	int err;

	outside.tensors = tensors_of(graph);
	if (!outside.tensors)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	err = npuplan_checked_init(&checked, &outside, error);
	if (!err) {
		err = tilesched_order(&problem, checked.cells, order, work);
		npuplan_checked_fini(&checked);
		if (err)
			npuplan_fail(error, err, "tile scheduling: %s", strerror(-err));
	}
	npuplan_free(outside.tensors);
	return err;
}

int cosma_ask_tiled(const struct npuplan_graph *graph, const struct npuplan_options *options,
		    const struct npuplan_effort *effort, uint32_t *order,
		    struct cosma_settings *asked, uint64_t *work, struct npuplan_error *error)
{
	struct npuplan_effort part =
		npuplan_effort_begin(UINT64_MAX, npuplan_effort_left(effort) / 2,
				     asked->common.progress, asked->common.context);
	int err;

	part.started = effort->started;
	part.traffic = true;
	err = find_order(graph, options, &part, order, work, error);
	if (err)
		return err;
	asked->order = order;
	asked->common.schedule = NPUPLAN_SCHEDULE_GIVEN;
	asked->common.work_limit = npuplan_effort_work_left(options->work_limit, *work, 0);
	asked->common.deadline_seconds = npuplan_effort_left(effort);
	/* A caller that has ended the call is not asked again: there is a plan from the start. */
	if (part.stopped) {
		asked->common.progress = NULL;
		asked->common.deadline_seconds = 1e-6;
	}
	return 0;
}
