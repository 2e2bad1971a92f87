/* SPDX-License-Identifier: MIT */
/* How the operators of a graph are cut into tiles, for people and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static const char *const orders[] = { "rows", "channels" };

static struct npuplan_tile_report *reports_of(const char *path, const struct npuplan_graph *graph)
{
	struct npuplan_tile_report *reports = NULL;
	struct npuplan_error error = { 0 };

	if (npuplan_tiling_report(graph, &reports, &error))
		failure(path, "%s", error.text);
	return reports;
}

static uint64_t moved(const struct npuplan_tile_report *report)
{
	return report->inputs + report->weights + report->outputs;
}

/* The sums over all operators; on chip it is the one that has most. */
static struct npuplan_tile_report total_of(const struct npuplan_tile_report *reports,
					   uint32_t count)
{
	struct npuplan_tile_report total = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		total.steps += reports[i].steps;
		total.inputs += reports[i].inputs;
		total.weights += reports[i].weights;
		total.outputs += reports[i].outputs;
		total.least += reports[i].least;
		total.operations += reports[i].operations;
		total.again += reports[i].again;
		if (reports[i].onchip > total.onchip)
			total.onchip = reports[i].onchip;
	}
	return total;
}

/*
 * "14x96x7x32,channels": rows x channels of a tile, columns if it has no whole rows, or "all" if
 * depth follows, input channels of a step if it has not all; and what is gone through last, if that
 * is channels.
 */
static void tile_text(const struct npuplan_tile_report *report, char text[64])
{
	char columns[24] = "", depth[24] = "";

	if (report->columns)
		snprintf(columns, sizeof(columns), "x%" PRId64, report->columns);
	else if (report->depth)
		strcpy(columns, "xall");
	if (report->depth)
		snprintf(depth, sizeof(depth), "x%" PRId64, report->depth);
	if (!report->steps)
		snprintf(text, 64, "joined");
	else if (report->steps == 1)
		snprintf(text, 64, "whole");
	else if (!report->rows)
		snprintf(text, 64, "copies");
	else
		snprintf(text, 64, "%" PRId64 "x%" PRId64 "%s%s%s", report->rows, report->channels,
			 columns, depth,
			 report->order == NPUPLAN_CHANNELS_OUTER ? ",channels" : "");
}

static void print_row(FILE *out, const char *name, const char *tile,
		      const struct npuplan_tile_report *report)
{
	fprintf(out,
		"%-32s %18s %7" PRIu64 " %10" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
		" %12" PRIu64 " %6.2f\n",
		name, tile, report->steps, report->onchip, report->inputs, report->weights,
		report->outputs, moved(report),
		report->least ? (double)moved(report) / (double)report->least : 1.0);
}

bool tiling_table_print(FILE *out, const char *path, const struct npuplan_graph *graph)
{
	struct npuplan_tile_report *reports = reports_of(path, graph), total;
	char tile[64];

	if (!reports)
		return false;
	fprintf(out, "%-32s %18s %7s %10s %12s %12s %12s %12s %6s\n", "operator", "rows x channels",
		"steps", "on chip", "inputs", "weights", "outputs", "moved", "x");
	for (uint32_t i = 0; i < graph->op_count; i++) {
		tile_text(&reports[i], tile);
		print_row(out, graph->ops[i].name, tile, &reports[i]);
	}
	total = total_of(reports, graph->op_count);
	print_row(out, "all", "", &total);
	free(reports);
	return true;
}

json_t *tiling_table_json(const char *path, const struct npuplan_graph *graph)
{
	struct npuplan_tile_report *reports = reports_of(path, graph);
	json_t *list = reports ? json_array() : NULL;

	for (uint32_t i = 0; reports && i < graph->op_count; i++) {
		const struct npuplan_tile_report *report = &reports[i];

		json_array_append_new(
			list,
			json_pack("{sI ss sI sI sI sI ss sI sI s{sI sI sI} sI sI sI}", "op",
				  (json_int_t)graph->ops[i].id, "name", graph->ops[i].name, "rows",
				  (json_int_t)report->rows, "channels",
				  (json_int_t)report->channels, "columns",
				  (json_int_t)report->columns, "depth", (json_int_t)report->depth,
				  "outer", orders[report->order], "steps",
				  (json_int_t)report->steps, "onchip", (json_int_t)report->onchip,
				  "moved", "inputs", (json_int_t)report->inputs, "weights",
				  (json_int_t)report->weights, "outputs",
				  (json_int_t)report->outputs, "least", (json_int_t)report->least,
				  "operations", (json_int_t)report->operations, "again",
				  (json_int_t)report->again));
	}
	free(reports);
	return list;
}

/* The patches as --patches takes them, and how much runs again for them. */
static void print_patches(FILE *out, const struct npuplan_graph *graph,
			  const struct npuplan_tile_report *total)
{
	fprintf(out, "patches      %.1f %% of all operations run again; patches are\n",
		total->operations ? 100.0 * (double)total->again / (double)total->operations : 0.0);
	for (uint32_t i = 0; i < graph->tiling.patch_count; i++) {
		const struct npuplan_patches *patches = &graph->tiling.patches[i];
		char rows[16] = "all", columns[16] = "";

		if (patches->rows)
			snprintf(rows, sizeof(rows), "%" PRIu32, patches->rows);
		if (patches->columns)
			snprintf(columns, sizeof(columns), "x%" PRIu32, patches->columns);
		fprintf(out, "             %s..%s=%s%s\n", graph->ops[patches->first].name,
			graph->ops[patches->last].name, rows, columns);
	}
}

void tiling_summary_print(FILE *out, const struct npuplan_graph *graph)
{
	const struct npuplan_tiling *tiling = &graph->tiling;
	struct npuplan_tile_report *reports, total;

	if ((!tiling->rows && !tiling->onchip && !tiling->op_count && !tiling->patch_count) ||
	    npuplan_tiling_report(graph, &reports, NULL))
		return;
	total = total_of(reports, graph->op_count);
	free(reports);
	fprintf(out, "tiling       %s, at most %s on chip", npuplan_layout_name(tiling->layout),
		size_text(total.onchip).s);
	fprintf(out, "; moves %s, %.2f times the least\n", size_text(moved(&total)).s,
		total.least ? (double)moved(&total) / (double)total.least : 1.0);
	if (tiling->patch_count)
		print_patches(out, graph, &total);
}
