/* SPDX-License-Identifier: MIT */
/* What operators compute, as far as their attributes say. */
#pragma once

#include "base/internal.h"

/*
 * npuplan_operations() - multiply-accumulates of an operator; of one that does not multiply, the
 * elements that it writes
 */
uint64_t npuplan_operations(const struct npuplan_graph *graph, uint32_t op);
