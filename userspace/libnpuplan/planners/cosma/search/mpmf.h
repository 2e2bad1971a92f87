/* SPDX-License-Identifier: MIT */
/*
 * Minimum peak memory footprint: an order of operators, nothing spilled, whose
 * most bytes live at once are as few as can be (the paper's Eq. 13-15).
 * Best-first over downsets; what a downset has reached at most, or will reach in any
 * order, is its key.
 */
#pragma once

#include "search.h"

/* cosma_mpmf() - least peak
 * @floor: a peak that counts as none: no order has less, or nobody cares
 * @fixed: operators run by the model's rank; else in any order
 * @path: out, if COSMA_SOLVED; its cost is the peak (of this model, or @floor)
 * @lower_bound: out
 *
 * Returns an enum cosma_outcome (COSMA_SOLVED or COSMA_STOPPED), or -ENOMEM.
 */
int cosma_mpmf(const struct cosma_model *model, int64_t floor, bool fixed, struct cosma_run *run,
	       struct cosma_path *path, int64_t *lower_bound);
