/* SPDX-License-Identifier: MIT */
/*
 * The verifier, asked about a plan that is being made.
 */
#pragma once

#include "base/internal.h"

/* npuplan_verify_cells() - verify a plan that is not a blob yet
 * @cells: checked form of its graph
 * @what: what the error calls the plan
 * @verdict: may be NULL
 *
 * The error quotes the first line of the verifier's log.
 */
int npuplan_verify_cells(const struct npuv_graph *cells, const struct npuplan_plan *plan,
			 const char *what, struct npumem_verdict *verdict,
			 struct npuplan_error *error);
