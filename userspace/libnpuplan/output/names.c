// SPDX-License-Identifier: MIT
#include "names.h"

const char *const npuplan_status_names[] = { "unknown", "feasible", "optimal", "infeasible", NULL };
const char *const npuplan_transfer_names[NPUMEM_POSITION_STORE + 1] = { NULL,	"load", "spill",
									"fill", "drop", "store" };

const char *npuplan_status_name(uint32_t status)
{
	return npuplan_status_names[status <= NPUMEM_PLAN_STATUS_INFEASIBLE ?
					    status :
					    NPUMEM_PLAN_STATUS_UNKNOWN];
}

const char *npuplan_transfer_name(uint32_t kind)
{
	return kind <= NPUMEM_POSITION_STORE ? npuplan_transfer_names[kind] : NULL;
}
