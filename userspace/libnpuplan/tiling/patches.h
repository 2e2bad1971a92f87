/* SPDX-License-Identifier: MIT */
/*
 * Operators that run patch by patch: all of them for a part of the last one's output, then for the
 * next part, so that of what is between them there is never more than a patch
 * (MCUNetV2: Lin et al., "Memory-efficient Patch-based Inference for Tiny Deep Learning", 2021,
 * section 3; fused-layer accelerators before it: Alwani et al., MICRO 2016).
 */
#pragma once

#include "step_maker.h"

/* npuplan_check_patches() - whether operators can run in the patches that a tiling says
 *
 * -EINVAL, naming the operator: they cannot.
 */
int npuplan_check_patches(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			  struct npuplan_error *error);

/* The patches that an operator runs in; NULL: none. */
const struct npuplan_patches *npuplan_patches_of(const struct npuplan_tiling *tiling, uint32_t op);

/* The last operator's output, cut into patches. */
void npuplan_patches_cut(struct npuplan_partition *p, const struct npuplan_graph *graph,
			 const struct npuplan_patches *patches);

/* npuplan_make_patches() - make the steps of all operators that run in some patches
 *
 * Errors as npuplan_make_steps(); -ENOSPC: with tiling->onchip, a step does not fit.
 */
int npuplan_make_patches(struct npuplan_step_maker *m, const struct npuplan_tiling *tiling,
			 const struct npuplan_patches *patches, struct npuplan_error *error);

/* npuplan_report_patches() - report the steps of an operator of a tiled graph that runs in patches
 * @report: out: all but the least that could be moved
 */
void npuplan_report_patches(const struct npuplan_graph *graph, uint32_t op,
			    struct npuplan_tile_report *report);
