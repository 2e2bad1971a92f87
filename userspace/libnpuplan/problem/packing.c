// SPDX-License-Identifier: MIT
#include "packing.h"

#include <string.h>

void npuplan_packing_keep(struct npuplan_packing *packing, const uint64_t *offsets, uint64_t top,
			  uint32_t item_count)
{
	if (packing->top <= top)
		return;
	packing->top = top;
	memcpy(packing->offsets, offsets, item_count * sizeof(*offsets));
}

bool npuplan_member_tell(struct npuplan_member *member, uint64_t top, uint64_t lower_bound,
			 uint64_t work)
{
	struct npuplan_packing *best = member->best;

	if (member->bounds && best->lower_bound < lower_bound)
		best->lower_bound = lower_bound;
	return npuplan_effort_tell(member->effort, top < best->top ? top : best->top,
				   best->lower_bound, best->work + work);
}

int npuplan_member_progress(void *context, const struct npuplan_pack_progress *now)
{
	return npuplan_member_tell(context, now->top, now->lower_bound, now->work);
}

bool npuplan_member_over(void *context)
{
	struct npuplan_member *member = context;

	return npuplan_member_tell(member, UINT64_MAX, 0, member->work) ||
	       npuplan_effort_late(member->effort);
}
