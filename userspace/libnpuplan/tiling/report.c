// SPDX-License-Identifier: MIT
/* What the tiling of a graph is, operator by operator, and what it moves. */
#include <stdlib.h>
#include <string.h>

#include "cost.h"

/* How an operator is cut: what is said of it, or of all. */
static int report_op(const struct npuplan_graph *graph, uint32_t op,
		     const struct npuplan_tile_choice *told, struct npuplan_tile_report *report)
{
	const struct npuplan_tiling *tiling = &graph->tiling;
	struct npuplan_tile_choice choice = { .op = op, .rows = tiling->rows };
	struct npuplan_tile_cost cost;
	bool bands = tiling->bands && !told;
	struct npuplan_grid grid;
	struct npuplan_cut cut;
	bool is_cut = npuplan_cut_of(graph, op, bands, &cut);
	int err;

	if (told)
		choice = *told;
	if (is_cut) {
		npuplan_grid_init(&grid, &cut, &choice);
		if (bands)
			npuplan_grid_bands(&grid, tiling->bands);
	}
	err = npuplan_tile_cost(graph, op, &cut, is_cut ? &grid : NULL, tiling->double_buffer,
				&cost);
	*report = (struct npuplan_tile_report){
		.op = op,
		.rows = is_cut ? grid.rows : 0,
		.channels = is_cut ? grid.channels : 0,
		.order = choice.order,
		.steps = cost.steps,
		.onchip = cost.onchip,
		.inputs = cost.inputs,
		.weights = cost.weights,
		.outputs = cost.outputs,
	};
	if (err)
		return err;
	/* In one step each byte is moved once. */
	err = npuplan_tile_cost(graph, op, NULL, NULL, false, &cost);
	report->least = npuplan_tile_traffic(&cost);
	return err;
}

int npuplan_tiling_report(const struct npuplan_graph *graph, struct npuplan_tile_report **reports,
			  struct npuplan_error *error)
{
	const struct npuplan_tiling *tiling = &graph->tiling;
	uint32_t told = 0;
	int err = 0;

	if (!tiling->bands && !tiling->rows && !tiling->onchip)
		return npuplan_fail(error, -EINVAL, "graph %s is not tiled, or not known how",
				    graph->name);
	*reports = calloc(graph->op_count + (size_t)1, sizeof(**reports));
	if (!*reports)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < graph->op_count && !err; i++) {
		bool is_told = told < tiling->op_count && tiling->ops[told].op == i;

		err = report_op(graph, i, is_told ? &tiling->ops[told] : NULL, &(*reports)[i]);
		told += is_told;
	}
	if (!err)
		return 0;
	free(*reports);
	*reports = NULL;
	return npuplan_fail(error, err, "out of memory");
}
