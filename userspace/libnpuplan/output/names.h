/* SPDX-License-Identifier: MIT */
/* The names of plan statuses and transfers, in plan JSON and in all that is printed. */
#pragma once

#include "npuplan.h"

/* The names of enum npumem_plan_status by value, with NULL after the last. */
extern const char *const npuplan_status_names[];

/*
 * The names of enum npumem_position_kind by value; NULL for a step, which is printed by its own
 * name.
 */
extern const char *const npuplan_transfer_names[NPUMEM_POSITION_STORE + 1];
