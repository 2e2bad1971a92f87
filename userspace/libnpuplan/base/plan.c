// SPDX-License-Identifier: MIT
/* The life of a plan: whoever makes one, from a graph, a blob or JSON, frees it here. */
#include <stdlib.h>

#include "internal.h"

void npuplan_plan_free(struct npuplan_plan *plan)
{
	if (!plan)
		return;
	free(plan->placements);
	free(plan->positions);
	free(plan->blocks);
	free(plan->entries);
	free(plan->edges);
	free(plan->views);
	free(plan->view_slots);
	free(plan);
}
