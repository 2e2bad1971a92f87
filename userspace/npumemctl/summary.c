/* SPDX-License-Identifier: MIT */
/* What there is to know of a plan, for people and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npumemctl.h"

/* Names of this many tensors at the peak are printed; JSON has all of them. */
#define PEAK_NAMES 8

static const char *status_name(uint32_t status)
{
	switch (status) {
	case NPUMEM_PLAN_FEASIBLE:
		return "feasible";
	case NPUMEM_PLAN_OPTIMAL:
		return "optimal";
	case NPUMEM_PLAN_INFEASIBLE:
		return "infeasible";
	default:
		return "unknown";
	}
}

/* Tensors that a placement holds at a position, each once; malloc'ed. */
static uint32_t *tensors_at(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			    uint32_t position, uint32_t *count)
{
	uint32_t *tensors = malloc((graph->tensor_count + (size_t)1) * sizeof(*tensors));
	uint8_t *seen = calloc(graph->tensor_count + (size_t)1, 1);

	if (!tensors || !seen)
		abort();
	*count = 0;
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];

		if (position < p->from || position > p->to || p->tensor >= graph->tensor_count ||
		    seen[p->tensor])
			continue;
		seen[p->tensor] = 1;
		tensors[(*count)++] = p->tensor;
	}
	free(seen);
	return tensors;
}

/* Name of the step at a position of the schedule, or "" */
static const char *step_at(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			   uint32_t position)
{
	const struct npumem_position *p;

	if (position >= plan->position_count)
		return "";
	p = &plan->positions[position];
	return p->kind == NPUMEM_POSITION_STEP && p->index < graph->step_count ?
		       graph->steps[p->index].name :
		       "";
}

static json_t *peak_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	json_t *list = json_array();
	uint32_t *tensors, count;

	if (plan->peak_position == NPUMEM_NONE)
		return json_null();
	tensors = tensors_at(graph, plan, plan->peak_position, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct npuplan_tensor *t = &graph->tensors[tensors[i]];

		json_array_append_new(list, json_pack("{sIsssI}", "id", (json_int_t)t->id, "name",
						      t->name, "bytes", (json_int_t)t->size));
	}
	free(tensors);
	return json_pack("{sIssso}", "position", (json_int_t)plan->peak_position, "step",
			 step_at(graph, plan, plan->peak_position), "tensors", list);
}

json_t *plan_summary(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	return json_pack("{ss ss# ss sI sI sI sI sI sI sI so sf sI}", "graph", graph->name,
			 "planner", plan->info.planner,
			 (int)strnlen(plan->info.planner, sizeof(plan->info.planner)), "status",
			 status_name(plan->info.status), "arena", (json_int_t)plan->info.arena_size,
			 "lower_bound", (json_int_t)plan->info.lower_bound, "tensor_bytes",
			 (json_int_t)model_bytes(graph), "alignment",
			 (json_int_t)plan->info.alignment, "bands", (json_int_t)graph->bands,
			 "steps", (json_int_t)graph->step_count, "placements",
			 (json_int_t)plan->placement_count, "peak", peak_json(graph, plan),
			 "seconds", plan->seconds, "work", (json_int_t)plan->info.work);
}

static void print_peak(FILE *out, const struct npuplan_graph *graph,
		       const struct npuplan_plan *plan)
{
	uint32_t *tensors, count;

	if (plan->peak_position == NPUMEM_NONE)
		return;
	tensors = tensors_at(graph, plan, plan->peak_position, &count);
	fprintf(out, "peak         position %" PRIu32 " (%s): ", plan->peak_position,
		step_at(graph, plan, plan->peak_position));
	for (uint32_t i = 0; i < count && i < PEAK_NAMES; i++)
		fprintf(out, "%s%s", i ? " + " : "", graph->tensors[tensors[i]].name);
	if (count > PEAK_NAMES)
		fprintf(out, " and %" PRIu32 " more", count - PEAK_NAMES);
	fputc('\n', out);
	free(tensors);
}

void plan_summary_print(FILE *out, const struct npuplan_graph *graph,
			const struct npuplan_plan *plan)
{
	uint64_t sum = model_bytes(graph);

	fprintf(out, "graph        %s: %" PRIu32 " steps, %" PRIu32 " tensors placed\n",
		graph->name, graph->step_count, plan->placement_count);
	fprintf(out, "planner      %.32s, %s\n", plan->info.planner,
		status_name(plan->info.status));
	fprintf(out, "arena        %s\n", size_text(plan->info.arena_size).s);
	if (plan->info.lower_bound)
		fprintf(out, "lower bound  %s: the arena is %.4f times that\n",
			size_text(plan->info.lower_bound).s,
			(double)plan->info.arena_size / (double)plan->info.lower_bound);
	if (plan->info.arena_size)
		fprintf(out, "all tensors  %s: %.2f times the arena\n", size_text(sum).s,
			(double)sum / (double)plan->info.arena_size);
	print_peak(out, graph, plan);
}
