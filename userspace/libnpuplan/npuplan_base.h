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

/*
 * Functions that take a struct of the caller's, as options, are inline: each hands the struct's
 * size to a function of the same name with _sized behind it. So the struct can get more fields
 * at its end: a library that is older than the caller takes zero there, which means what was
 * before, and answers anything else with -E2BIG; one that is newer adds zeros. A struct that
 * such a struct points to, as the options of one planner, follows the same rule, and says its
 * size itself, in its first field; a size that has no room for that field is -EINVAL. Callers
 * through a foreign function interface call the _sized functions. Structs that only the library
 * fills have room (@reserved) instead, and those that it allocates may get longer; records in
 * arrays (tensors, operators, items, ...) stay as they are while the soname does.
 */

/**
 * npuplan_version() - version of the library, as "major.minor.patch"
 *
 * The text is the library's.
 */
NPUPLAN_EXPORT const char *npuplan_version(void);

/**
 * struct npuplan_error - why a call failed
 * @text: a sentence, no newline
 * @needed: bytes that the graph needs on chip at once, if @status is
 *	NPUMEM_PLAN_STATUS_INFEASIBLE; bytes of the smallest arena found, if -ENOSPC is of one
 *	above the budget that nothing proves too small; else 0
 * @step: that needs them; NPUMEM_NONE: what is on chip from the start does, or it is
 *	not known
 * @status: NPUMEM_PLAN_STATUS_INFEASIBLE: npuplan_plan() has proved that there is no plan
 *	within the budget: in no order, of planners that move tensors (docs/cosma.md, "What
 *	is proved"); in the order of the graph, of those that keep it; else 0
 * @reserved: room for later versions; zero
 */
struct npuplan_error {
	char text[512];
	uint64_t needed;
	uint32_t step;
	uint32_t status;
	uint64_t reserved[4];
};

#ifdef __cplusplus
}
#endif

#endif /* NPUPLAN_BASE_H */
