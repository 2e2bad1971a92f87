/* SPDX-License-Identifier: MIT */
/* How long a plan takes, for people and as JSON. */
#include "report.h"

bool plan_timing(const char *path, const struct npuplan_graph *graph,
		 const struct npuplan_plan *plan, const struct npuplan_machine *machine,
		 struct npuplan_timing *timing)
{
	struct npuplan_error error = { 0 };

	if (!npuplan_timing_find(graph, plan, machine, timing, &error))
		return true;
	failure(path, "%s", error.text);
	return false;
}

/* (makespan - bound) / bound */
static double gap(const struct npuplan_timing *timing)
{
	return timing->bound ? (double)(timing->makespan - timing->bound) / (double)timing->bound :
			       0;
}

json_t *timing_json(const struct npuplan_timing *timing)
{
	return json_pack("{sI sI sI sI sI sf}", "makespan", (json_int_t)timing->makespan, "compute",
			 (json_int_t)timing->compute, "copy", (json_int_t)timing->copy, "stall",
			 (json_int_t)timing->stall, "lower_bound", (json_int_t)timing->bound, "gap",
			 gap(timing));
}

static double microseconds(uint64_t picoseconds)
{
	return (double)picoseconds / 1e6;
}

void timing_print(FILE *out, const struct npuplan_timing *timing)
{
	fprintf(out,
		"time         %.3f us: steps %.3f, no step runs %.3f; transfers %.3f; one after the "
		"other %.3f\n",
		microseconds(timing->makespan), microseconds(timing->compute),
		microseconds(timing->stall), microseconds(timing->copy),
		microseconds(timing->compute) + microseconds(timing->copy));
	fprintf(out, "least time   %.3f us, gap %.2f %%\n", microseconds(timing->bound),
		100 * gap(timing));
}
