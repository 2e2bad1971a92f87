// SPDX-License-Identifier: MIT
#include "rate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "npumem_drm.h"

/* So many bytes of a graph's name. */
#define NAME_SHOWN	64
/* A search that took less than this part of its time was not ended by the clock. */
#define ENDED_BY_ITSELF 0.9

static bool has_planner(const char *planner)
{
	const char *name;

	for (unsigned int i = 0; (name = npuplan_planner_name(i)); i++)
		if (!strcmp(name, planner))
			return true;
	return false;
}

enum plancache_counts plancache_counts(const char *planner, uint32_t objective)
{
	bool moves = npuplan_planner_traits(planner) & NPUPLAN_PLANNER_MOVES;

	if (!has_planner(planner))
		return PLANCACHE_COUNTS_UNKNOWN;
	/* Whatever moves tensors keeps to its budget: a smaller arena is no aim of its own. */
	return moves && objective != NPUMEM_OBJECTIVE_PEAK ? PLANCACHE_COUNTS_TRAFFIC :
							     PLANCACHE_COUNTS_ARENA;
}

const char *plancache_counted(enum plancache_counts counts)
{
	return counts == PLANCACHE_COUNTS_ARENA	  ? " of arena" :
	       counts == PLANCACHE_COUNTS_TRAFFIC ? " moved" :
						    "";
}

uint64_t plancache_cost(const char *planner, uint32_t objective,
			const struct npumem_plan_info *info)
{
	return plancache_counts(planner, objective) == PLANCACHE_COUNTS_TRAFFIC ?
		       info->spill_bytes + info->fill_bytes :
		       info->arena_size;
}

bool plancache_final(const struct npuplan_plan *plan, double given, double spent)
{
	return plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL ||
	       (!plan->memory_ended && (!given || spent < ENDED_BY_ITSELF * given));
}

bool plancache_no_worse(const struct plancache_entry *before, uint64_t cost)
{
	return before->data && before->cost <= cost;
}

const struct plancache_entry *plancache_better(struct plancache_entry *before,
					       struct plancache_entry *made)
{
	if (before->data && made->given_us < before->given_us)
		made->given_us = before->given_us;
	before->given_us = made->given_us;
	if (made->data && !plancache_no_worse(before, made->cost)) {
		before->final = made->final;
		return made;
	}
	/* A search that ended by itself with a worse one has looked at all that it looks at. */
	before->final = before->final || made->final;
	return before;
}

/* How many bytes of a name are shown: not a part of a character of UTF-8. */
static int shown(const char *name)
{
	size_t length = strnlen(name, NAME_SHOWN + 1);

	if (length <= NAME_SHOWN)
		return (int)length;
	/* What is cut off begins with a character. */
	for (length = NAME_SHOWN; length && (name[length] & 0xc0) == 0x80;)
		length--;
	return (int)length;
}

void plancache_summary(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       char *text, size_t size)
{
	const struct npumem_plan_info *info = &plan->info;
	uint64_t bound = plan->cosma ? plan->cosma->traffic_bound : 0;
	int used;

	used = snprintf(text, size,
			"%.*s%s%" PRIu32 " steps, %" PRIu32 " placements, arena %" PRIu64
			" bytes, lower bound %" PRIu64,
			shown(graph->name), graph->name, graph->name[0] ? ": " : "",
			graph->step_count, plan->placement_count, (uint64_t)info->arena_size,
			(uint64_t)info->lower_bound);
	if (info->host_size && used > 0 && (size_t)used < size)
		snprintf(text + used, size - (size_t)used,
			 ", traffic %" PRIu64 " bytes, lower bound %" PRIu64 "%s",
			 (uint64_t)(info->spill_bytes + info->fill_bytes), bound,
			 info->status == NPUMEM_PLAN_STATUS_OPTIMAL ? ", optimal" : "");
}
