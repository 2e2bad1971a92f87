/* SPDX-License-Identifier: MIT */
/* What all of libnpuplan's headers share. Include npuplan.h. */
#ifndef NPUPLAN_BASE_H
#define NPUPLAN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npumem_graph.h"
#include "npumem_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPUPLAN_EXPORT __attribute__((visibility("default")))

/** npuplan_version() - of the library, "major.minor.patch" */
NPUPLAN_EXPORT const char *npuplan_version(void);

/**
 * struct npuplan_error - why a call failed
 * @text: a sentence, no newline
 * @needed: bytes that the graph needs on chip at once, if @status is
 *	NPUMEM_PLAN_INFEASIBLE; bytes of the smallest arena found, if -ENOSPC is of one
 *	above the budget that nothing proves too small; else 0
 * @step: that needs them; NPUMEM_NONE: what is on chip from the start does, or it is
 *	not known
 * @status: NPUMEM_PLAN_INFEASIBLE: npuplan_plan() has proved that there is no plan
 *	within the budget: in no order, of planners that move tensors (docs/cosma.md, "What
 *	is proved"); in the order of the graph, of those that keep it; else 0
 */
struct npuplan_error {
	char text[512];
	uint64_t needed;
	uint32_t step;
	uint32_t status;
};

#ifdef __cplusplus
}
#endif

#endif /* NPUPLAN_BASE_H */
