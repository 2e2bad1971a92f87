// SPDX-License-Identifier: MIT
/* Whole operators: one step each, whole tensors as tiles. */
#include <string.h>

#include "tile.h"

static int whole_access(struct npuplan_tiler *tiler, uint32_t tensor, uint32_t mode)
{
	struct npumem_region region = npuplan_whole(&tiler->graph->tensors[tensor]);

	return npuplan_tiler_access(tiler, tensor, &region, mode);
}

/* The first output may take the first input's bytes. */
static void whole_inplace(struct npuplan_tiler *tiler, const struct npuplan_op *op)
{
	struct npumem_region read, write;

	if (!op->attrs.inplace || !op->input_count || !op->output_count)
		return;
	read = npuplan_whole(&tiler->graph->tensors[op->inputs[0]]);
	write = npuplan_whole(&tiler->graph->tensors[op->outputs[0]]);
	npuplan_tiler_inplace(tiler, op->inputs[0], &read, op->outputs[0], &write);
}

int npuplan_tile_whole(struct npuplan_graph *graph, bool with_parameters,
		       struct npuplan_error *error)
{
	struct npuplan_tiler tiler;
	int err;

	err = npuplan_tiler_init(&tiler, graph, with_parameters, error);
	if (err)
		return err;
	for (uint32_t i = 0; i < graph->op_count && !err; i++) {
		const struct npuplan_op *op = &graph->ops[i];

		for (uint32_t k = 0; k < op->input_count && !err; k++)
			err = whole_access(&tiler, op->inputs[k], NPUMEM_ACCESS_READ);
		for (uint32_t k = 0; k < op->output_count && !err; k++)
			err = whole_access(&tiler, op->outputs[k], NPUMEM_ACCESS_WRITE);
		if (!err)
			whole_inplace(&tiler, op);
		if (err)
			npuplan_fail(error, err, "operator %s: %s", op->name, strerror(-err));
		else
			err = npuplan_tiler_step(&tiler, i, 0, 1, 0, error);
	}
	npuplan_tiler_fini(&tiler, err);
	return err;
}
