/* SPDX-License-Identifier: MIT */
/* What there is to know of a plan, for people and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* Most bytes of the line of the peak; JSON has the names of all tensors. */
#define PEAK_LINE 160

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

static json_t *peak_tensor_json(const struct npuplan_graph *graph,
				const struct npuplan_peak_tensor *found)
{
	const struct npuplan_tensor *tensor = &graph->tensors[found->tensor];
	json_t *object = json_pack("{sIsssI}", "id", (json_int_t)tensor->id, "name", tensor->name,
				   "bytes", (json_int_t)found->bytes);

	if (found->bindable)
		json_object_set_new(object, "if_external",
				    json_pack("{sIsI}", "arena", (json_int_t)found->arena_without,
					      "lower_bound",
					      (json_int_t)found->lower_bound_without));
	return object;
}

static json_t *peak_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			 const struct npuplan_options *options)
{
	json_t *list = json_array();
	struct npuplan_peak *peak;

	if (npuplan_peak_find(graph, options, plan, &peak, NULL)) {
		json_decref(list);
		return json_null();
	}
	for (uint32_t i = 0; i < peak->count; i++)
		json_array_append_new(list, peak_tensor_json(graph, &peak->tensors[i]));
	npuplan_peak_free(peak);
	return json_pack("{sIssso}", "position", (json_int_t)plan->peak_position, "step",
			 step_at(graph, plan, plan->peak_position), "tensors", list);
}

/* What the order of the tiles costs, of a planner that has chosen it. */
static json_t *traffic_json(const struct npuplan_tilesched_result *result)
{
	if (!result || !result->all_reads)
		return json_null();
	return json_pack("{sIsIsIsIsIsIsI}", "weight_bytes", (json_int_t)result->cost.weights,
			 "weight_bytes_once", (json_int_t)result->all_weights, "halo_bytes",
			 (json_int_t)result->cost.halos, "read_bytes",
			 (json_int_t)result->all_reads, "peak", (json_int_t)result->cost.peak,
			 "least_peak", (json_int_t)result->least, "least_peak_kept",
			 (json_int_t)result->least_kept);
}

static void print_traffic(FILE *out, const struct npuplan_tilesched_result *result)
{
	if (!result || !result->all_reads)
		return;
	fprintf(out, "traffic      weights %" PRIu64 " bytes (%.3f times all), halos read again ",
		result->cost.weights,
		result->all_weights ? (double)result->cost.weights / (double)result->all_weights :
				      1);
	fprintf(out, "%" PRIu64 " bytes (%.1f %% of reads)\n", result->cost.halos,
		100 * (double)result->cost.halos / (double)result->all_reads);
	fprintf(out,
		"orders       %" PRIu64 " bytes live at once in this one, %" PRIu64
		" in any that keeps operators' steps in order (gap %.2f %%), %" PRIu64 " in any\n",
		result->cost.peak, result->least_kept,
		result->least_kept ?
			100 * ((double)result->cost.peak / (double)result->least_kept - 1) :
			0,
		result->least);
}

/* Tensors with at least one placement. */
static uint32_t placed_tensors(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	uint8_t *seen = calloc(graph->tensor_count + (size_t)1, 1);
	uint32_t count = 0;

	if (!seen)
		abort();
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		count += !seen[plan->placements[i].tensor];
		seen[plan->placements[i].tensor] = 1;
	}
	free(seen);
	return count;
}

/*
 * The sentence that says in what an optimal plan is best, and among which plans; NULL if that is
 * not known.
 */
static const char *optimal_in(const struct npuplan_plan *plan, const struct asked *asked)
{
	static const char *const texts[2][2] = {
		{ "no plan in any order of the steps moves less within the budget",
		  "no plan in this order of the steps moves less within the budget" },
		{ "no plan in any order of the steps needs less without moving",
		  "no plan in this order of the steps needs less without moving" },
	};
	const struct npuplan_options *options = asked->options;
	uint32_t traits;
	bool peak, fixed;

	if (plan->info.status != NPUMEM_PLAN_STATUS_OPTIMAL)
		return NULL;
	traits = npuplan_planner_traits(plan->info.planner);
	if (traits & NPUPLAN_PLANNER_TILESCHED)
		return "no order of its tiles needs less";
	if (!(traits & NPUPLAN_PLANNER_MOVES))
		return "no plan in this order of the steps needs less";
	if (!options)
		return NULL;
	if (plan->cosma && plan->cosma->core_count)
		return "no plan with these copies moves less, in any order";
	fixed = options->schedule != NPUPLAN_SCHEDULE_FREE;
	if (options->objective == NPUPLAN_OBJECTIVE_TIME)
		return "no plan within the budget takes less time";
	peak = options->objective == NPUPLAN_OBJECTIVE_PEAK ||
	       (!options->arena_budget && !(options->cosma && options->cosma->banks));
	return texts[peak][fixed];
}

json_t *plan_report(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		    const struct asked *asked)
{
	const struct npuplan_options *options = asked->savings ? asked->options : NULL;
	uint64_t budget = asked->options ? asked->options->arena_budget : 0;

	return json_pack("{ss ss# ss ss? so sI sI sI sI sI sI sI so so so so sf sI}", "graph",
			 graph->name, "planner", plan->info.planner,
			 (int)strnlen(plan->info.planner, sizeof(plan->info.planner)), "status",
			 npuplan_status_name(plan->info.status), "optimal", optimal_in(plan, asked),
			 "budget", budget ? json_integer((json_int_t)budget) : json_null(), "arena",
			 (json_int_t)plan->info.arena_size, "lower_bound",
			 (json_int_t)plan->info.lower_bound, "tensor_bytes",
			 (json_int_t)model_bytes(graph), "alignment",
			 (json_int_t)plan->info.alignment, "bands", (json_int_t)graph->tiling.bands,
			 "steps", (json_int_t)graph->step_count, "placements",
			 (json_int_t)plan->placement_count, "peak", peak_json(graph, plan, options),
			 "traffic", traffic_json(plan->tilesched), "transfers",
			 plan_transfers_json(graph, plan), "banks", plan_banks_json(plan),
			 "seconds", plan->seconds, "work", (json_int_t)plan->info.work);
}

/* How many bytes fewer @after is; "none" also where another plan happened to be larger. */
static struct size_text less(uint64_t before, uint64_t after)
{
	struct size_text text = { "none" };

	if (after < before)
		text = size_text(before - after);
	return text;
}

/* One line a tensor, with what it would save. */
static void print_savings(FILE *out, const struct npuplan_graph *graph,
			  const struct npuplan_plan *plan, const struct npuplan_peak *peak)
{
	for (uint32_t i = 0; i < peak->count; i++) {
		const struct npuplan_peak_tensor *found = &peak->tensors[i];

		fprintf(out, "  if external  %s: ", graph->tensors[found->tensor].name);
		if (!found->bindable) {
			fprintf(out, "cannot be bound outside the arena\n");
			continue;
		}
		fprintf(out, "arena %s, %s less; lower bound %s less\n",
			size_text(found->arena_without).s,
			less(plan->info.arena_size, found->arena_without).s,
			less(plan->info.lower_bound, found->lower_bound_without).s);
	}
}

/* The line of the peak has as many names as fit, and says how many are left. */
static void print_peak(FILE *out, const struct npuplan_graph *graph,
		       const struct npuplan_plan *plan, const struct npuplan_options *options)
{
	struct npuplan_peak *peak;
	uint64_t rest = 0;
	uint32_t named = 0;
	int used;

	if (npuplan_peak_find(graph, options, plan, &peak, NULL))
		return;
	/* Nothing is in the arena at any time. */
	if (!peak->count) {
		npuplan_peak_free(peak);
		return;
	}
	used = fprintf(out, "peak         position %" PRIu32 " (%s): ", peak->position,
		       short_text(step_at(graph, plan, peak->position)).s);
	for (; named < peak->count; named++) {
		const struct npuplan_peak_tensor *found = &peak->tensors[named];
		char text[SHORT_NAME + 32];
		int length = snprintf(text, sizeof(text), "%s%s %" PRIu64, named ? " + " : "",
				      short_text(graph->tensors[found->tensor].name).s,
				      found->bytes);

		if (named && used + length > PEAK_LINE)
			break;
		used += fprintf(out, "%s", text);
	}
	for (uint32_t i = named; i < peak->count; i++)
		rest += peak->tensors[i].bytes;
	if (named < peak->count)
		fprintf(out, " + %" PRIu32 " more %" PRIu64, peak->count - named, rest);
	fprintf(out, " bytes\n");
	if (options)
		print_savings(out, graph, plan, peak);
	npuplan_peak_free(peak);
}

/* Names of the tensors that are bound at run time. */
static void print_external(FILE *out, const struct npuplan_graph *graph)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
			fprintf(out, "%s%s", count++ ? ", " : "external     ",
				graph->tensors[i].name);
	if (count)
		fputc('\n', out);
}

void plan_report_print(FILE *out, const struct npuplan_graph *graph,
		       const struct npuplan_plan *plan, const struct asked *asked)
{
	uint32_t tensors = placed_tensors(graph, plan);
	const char *optimal = optimal_in(plan, asked);
	uint64_t sum = model_bytes(graph);

	fprintf(out, "graph        %s: %" PRIu32 " steps, %" PRIu32 " tensors placed", graph->name,
		graph->step_count, tensors);
	if (plan->placement_count > tensors)
		fprintf(out, " in %" PRIu32 " pieces", plan->placement_count);
	fputc('\n', out);
	tiling_summary_print(out, graph);
	fprintf(out, "planner      %.32s, %s%s%s\n", plan->info.planner,
		npuplan_status_name(plan->info.status), optimal ? ": " : "",
		optimal ? optimal : "");
	if (asked->options && asked->options->arena_budget)
		fprintf(out, "budget       %s%s%s\n", asked->budget ? asked->budget : "",
			asked->budget ? ": " : "", size_text(asked->options->arena_budget).s);
	fprintf(out, "arena        %s\n", size_text(plan->info.arena_size).s);
	if (plan->info.lower_bound)
		fprintf(out, "lower bound  %s: the arena is %.4f times that\n",
			size_text(plan->info.lower_bound).s,
			(double)plan->info.arena_size / (double)plan->info.lower_bound);
	if (plan->info.arena_size)
		fprintf(out, "all tensors  %s: %.2f times the arena\n", size_text(sum).s,
			(double)sum / (double)plan->info.arena_size);
	print_traffic(out, plan->tilesched);
	plan_transfers_print(out, graph, plan);
	print_external(out, graph);
	print_peak(out, graph, plan, asked->savings ? asked->options : NULL);
}
