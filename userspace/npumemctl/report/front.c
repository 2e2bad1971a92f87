/* SPDX-License-Identifier: MIT */
/* Peak against traffic: what orders of tiles there are. */
#include <inttypes.h>

#include "report.h"

/* How many times over; of nothing, once. */
static double times(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 1;
}

json_t *front_report(const struct npuplan_graph *graph, const struct npuplan_front *front)
{
	json_t *points = json_array();

	for (uint32_t i = 0; i < front->count; i++) {
		const struct npuplan_schedule_point *point = &front->points[i];

		json_array_append_new(points, json_pack("{sIsIsfsI}", "peak",
							(json_int_t)point->peak, "weight_bytes",
							(json_int_t)point->weights, "weight_factor",
							times(point->weights, front->all_weights),
							"halo_bytes", (json_int_t)point->halos));
	}
	return json_pack("{sssIsIsIsIsIsbsIso}", "graph", graph->name, "steps",
			 (json_int_t)graph->step_count, "weight_bytes",
			 (json_int_t)front->all_weights, "read_bytes", (json_int_t)front->all_reads,
			 "least_peak", (json_int_t)front->least, "least_peak_kept",
			 (json_int_t)front->least_kept, "complete", !front->left_out, "work",
			 (json_int_t)front->work, "points", points);
}

void front_print(FILE *out, const struct npuplan_graph *graph, const struct npuplan_front *front)
{
	fprintf(out, "graph        %s: %" PRIu32 " steps\n", graph->name, graph->step_count);
	fprintf(out, "weights      %s, each once\n", size_text(front->all_weights).s);
	fprintf(out, "reads        %s of activations, halos each time\n",
		size_text(front->all_reads).s);
	fprintf(out,
		"least peak   %" PRIu64 " bytes, if operators' steps keep their order; %" PRIu64
		" in any order\n",
		front->least_kept, front->least);
	if (front->left_out)
		fprintf(out, "note         not all orders were looked at; --work looks at more\n");
	fprintf(out, "%14s %16s %8s %16s %8s\n", "peak", "weights fetched", "x once",
		"halos re-read", "of reads");
	for (uint32_t i = 0; i < front->count; i++) {
		const struct npuplan_schedule_point *point = &front->points[i];

		fprintf(out, "%14" PRIu64 " %16" PRIu64 " %8.3f %16" PRIu64 " %7.1f%%\n",
			point->peak, point->weights, times(point->weights, front->all_weights),
			point->halos,
			front->all_reads ? 100 * times(point->halos, front->all_reads) : 0);
	}
}
