/* SPDX-License-Identifier: MIT */
/* Tensors in tiles with the paper's lifetimes, from a graph. */
#pragma once

#include "problem/problem.h"
#include "tensor_allocate.h"

/* npuplan_taa_init() - tiles of the problem's items; tensor i is item i
 *
 * Steps run in the order of the graph. -ENOMEM.
 */
int npuplan_taa_init(struct npuplan_taa *taa, const struct npuplan_problem *problem);
