/* SPDX-License-Identifier: MIT */
/* Words that plans are printed with, and that plan JSON has. */
#pragma once

#include "npuplan.h"

/* Names of enum npumem_plan_status by value, then NULL. */
extern const char *const npuplan_status_names[];

/* Names of enum npumem_position_kind by value; NULL for a step, which has a name of its own. */
extern const char *const npuplan_transfer_names[NPUMEM_POSITION_STORE + 1];
