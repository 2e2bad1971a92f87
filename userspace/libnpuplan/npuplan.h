/* SPDX-License-Identifier: MIT */
/*
 * libnpuplan: memory planning for neural accelerators. Knows nothing of devices.
 *
 * Pipeline: graph -> tiling -> schedule -> atoms (bytes with one live range) ->
 * forbidden displacements -> packing -> plan -> self-check by the kernel's own
 * verifier -> plan blob or plan JSON.
 *
 * Conventions. Sizes and offsets are bytes. Indices are zero-based 32-bit;
 * NPUMEM_NONE means none. Functions that can fail return 0 or a negative errno
 * and, where they take one, fill a struct npuplan_error with a sentence that
 * names the tensor, operator or step. Nothing is global; different graphs and
 * plans may be used from different threads. Same input, same output bytes.
 */
#ifndef NPUPLAN_H
#define NPUPLAN_H

#include "npuplan_base.h"
#include "npuplan_copies.h"
#include "npuplan_graph.h"
#include "npuplan_pack.h"
#include "npuplan_plan.h"
#include "npuplan_tiling.h"

#endif /* NPUPLAN_H */
