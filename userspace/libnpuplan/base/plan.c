// SPDX-License-Identifier: MIT
/* Freeing a plan, whether it was made from a graph, a blob or JSON. */
#include <stdlib.h>

#include "internal.h"

void npuplan_plan_free(struct npuplan_plan *plan)
{
	if (!plan)
		return;
	free_all(plan->placements, plan->positions, plan->blocks, plan->entries, plan->edges,
		 plan->views, plan->view_slots, plan->cosma, plan->tilesched, plan);
}
