// SPDX-License-Identifier: MIT
/* The life of a plan: whoever makes one, from a graph, a blob or JSON, frees it here. */
#include <stdlib.h>

#include "internal.h"

void npuplan_plan_free(struct npuplan_plan *plan)
{
	if (!plan)
		return;
	free_all(plan->placements, plan->positions, plan->blocks, plan->entries, plan->edges,
		 plan->views, plan->view_slots, plan);
}
