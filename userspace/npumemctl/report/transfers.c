/* SPDX-License-Identifier: MIT */
/* What a plan moves between arena and host memory, for people and as JSON. */
#include <inttypes.h>
#include <stdlib.h>

#include "report.h"

/* Names of this many tensors that are moved are printed; JSON has all of them. */
#define MOVED_NAMES 8

/* struct moved - bytes of one tensor moved in an inference, by enum npumem_position_kind */
struct moved {
	uint32_t tensor;
	uint64_t bytes[NPUMEM_POSITION_STORE + 1];
};

/* Bytes that the plan is charged for: those that are compulsory do not count. */
static uint64_t cost(const struct moved *moved)
{
	return moved->bytes[NPUMEM_POSITION_SPILL] + moved->bytes[NPUMEM_POSITION_FILL];
}

static int by_bytes(const void *left, const void *right)
{
	const struct moved *a = left, *b = right;
	uint64_t x = cost(a), y = cost(b);

	if (x != y)
		return x > y ? -1 : 1;
	return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

/* Per tensor that is moved, those that cost most first. */
static struct moved *list_moved(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
				uint32_t *count)
{
	struct moved *list = calloc((size_t)graph->tensor_count + 1, sizeof(*list));
	uint32_t kept = 0;

	if (!list)
		abort();
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		list[t].tensor = t;
	for (uint32_t p = 0; p < plan->position_count; p++) {
		const struct npumem_position *position = &plan->positions[p];

		if (position->kind != NPUMEM_POSITION_STEP &&
		    position->kind != NPUMEM_POSITION_DROP &&
		    position->kind <= NPUMEM_POSITION_STORE &&
		    position->index < graph->tensor_count)
			list[position->index].bytes[position->kind] += position->length;
	}
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (cost(&list[t]) + list[t].bytes[NPUMEM_POSITION_LOAD] +
		    list[t].bytes[NPUMEM_POSITION_STORE])
			list[kept++] = list[t];
	if (kept)
		qsort(list, kept, sizeof(*list), by_bytes);
	*count = kept;
	return list;
}

static bool moves(const struct npuplan_plan *plan)
{
	for (uint32_t p = 0; p < plan->position_count; p++)
		if (plan->positions[p].kind != NPUMEM_POSITION_STEP)
			return true;
	return false;
}

/* Bytes that no plan moves less than; 0: not known. */
static uint64_t traffic_bound(const struct npuplan_plan *plan)
{
	return plan->cosma ? plan->cosma->traffic_bound : 0;
}

/*
 * Whether the plan knows the least traffic that is possible. One that was read as a blob does not.
 */
static bool knows_bound(const struct npuplan_plan *plan)
{
	return traffic_bound(plan) || plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL;
}

/* (traffic - bound) / traffic */
static double gap(const struct npuplan_plan *plan)
{
	uint64_t traffic = plan->info.spill_bytes + plan->info.fill_bytes;

	return traffic ? (double)(traffic - traffic_bound(plan)) / (double)traffic : 0;
}

/* Microseconds of all accesses of the banks, one after the other. */
static double bank_time(const struct npuplan_cosma_result *found)
{
	double time = 0;

	for (int b = 0; b < NPUPLAN_BANKS; b++)
		time += (double)found->accessed[b] / (double)found->banks[b].bandwidth;
	return time;
}

json_t *plan_banks_json(const struct npuplan_plan *plan)
{
	const struct npuplan_cosma_result *found = plan->cosma;
	json_t *list;

	if (!found || !found->banks[0].size)
		return json_null();
	list = json_array();
	for (int b = 0; b < NPUPLAN_BANKS; b++)
		json_array_append_new(list, json_pack("{sI sI sI}", "size",
						      (json_int_t)found->banks[b].size, "bandwidth",
						      (json_int_t)found->banks[b].bandwidth,
						      "accessed", (json_int_t)found->accessed[b]));
	return list;
}

static void print_banks(FILE *out, const struct npuplan_cosma_result *found)
{
	int fast = found->banks[1].bandwidth > found->banks[0].bandwidth;

	for (int b = 0; b < NPUPLAN_BANKS; b++)
		fprintf(out,
			"bank %d       %s at %" PRIu64 " bytes/us: %" PRIu64 " bytes accessed\n", b,
			size_text(found->banks[b].size).s, found->banks[b].bandwidth,
			found->accessed[b]);
	fprintf(out,
		"bank time    %.1f us; at most %" PRIu64
		" bytes can be accessed in bank %d, were they split at will\n",
		bank_time(found), found->accessed_bound, fast);
}

json_t *plan_transfers_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	const struct npumem_plan_info *info = &plan->info;
	json_t *object, *tensors;
	struct moved *list;
	uint32_t count;

	if (!moves(plan))
		return json_null();
	tensors = json_array();
	list = list_moved(graph, plan, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[list[i].tensor];
		const uint64_t *bytes = list[i].bytes;

		json_array_append_new(tensors,
				      json_pack("{sI ss sI sI sI sI}", "id", (json_int_t)tensor->id,
						"name", tensor->name, "spill",
						(json_int_t)bytes[NPUMEM_POSITION_SPILL], "fill",
						(json_int_t)bytes[NPUMEM_POSITION_FILL], "load",
						(json_int_t)bytes[NPUMEM_POSITION_LOAD], "store",
						(json_int_t)bytes[NPUMEM_POSITION_STORE]));
	}
	free(list);
	object = json_pack("{sI sI sI sI}", "spill", (json_int_t)info->spill_bytes, "fill",
			   (json_int_t)info->fill_bytes, "compulsory", (json_int_t)info->load_bytes,
			   "host", (json_int_t)info->host_size);
	if (knows_bound(plan)) {
		json_object_set_new(object, "lower_bound",
				    json_integer((json_int_t)traffic_bound(plan)));
		json_object_set_new(object, "gap", json_real(gap(plan)));
	}
	json_object_set_new(object, "tensors", tensors);
	return object;
}

static void print_moved(FILE *out, const struct npuplan_graph *graph,
			const struct npuplan_plan *plan)
{
	uint32_t count, named = 0;
	struct moved *list = list_moved(graph, plan, &count);

	while (count && !cost(&list[count - 1]))
		count--;
	for (; named < count && named < MOVED_NAMES; named++)
		fprintf(out, "  moved      %s: spilled %" PRIu64 ", filled %" PRIu64 " bytes\n",
			graph->tensors[list[named].tensor].name,
			list[named].bytes[NPUMEM_POSITION_SPILL],
			list[named].bytes[NPUMEM_POSITION_FILL]);
	if (count > named)
		fprintf(out, "  moved      and %" PRIu32 " more\n", count - named);
	free(list);
}

void plan_transfers_print(FILE *out, const struct npuplan_graph *graph,
			  const struct npuplan_plan *plan)
{
	const struct npumem_plan_info *info = &plan->info;

	/* Of a plan that was read it is not known what is accessed. */
	if (plan->cosma && plan->cosma->banks[0].size && plan->cosma->accessed_bound)
		print_banks(out, plan->cosma);
	if (!moves(plan))
		return;
	fprintf(out, "transfers    %s: %" PRIu64 " spilled, %" PRIu64 " filled",
		size_text(info->spill_bytes + info->fill_bytes).s, (uint64_t)info->spill_bytes,
		(uint64_t)info->fill_bytes);
	if (knows_bound(plan))
		fprintf(out, "; lower bound %" PRIu64 ", gap %.2f %%", traffic_bound(plan),
			100 * gap(plan));
	fprintf(out, "\ncompulsory   %s: first loads, and stores of outputs\n",
		size_text(info->load_bytes).s);
	fprintf(out, "host memory  %s\n", size_text(info->host_size).s);
	print_moved(out, graph, plan);
}
