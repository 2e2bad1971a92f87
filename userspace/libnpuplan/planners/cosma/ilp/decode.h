/* SPDX-License-Identifier: MIT */
/* From a solution of the program to a schedule with addresses. */
#pragma once

#include "planners/cosma/model/stays.h"
#include "encode.h"

/* Operators in their order, and which tensor is away before which use. */
void ilp_read_schedule(const struct ilp_encoding *encoding, const double *value,
		       struct cosma_schedule *schedule);

/* ilp_read_addresses() - the @offset of each stay of that schedule
 *
 * -EIO: the solution's addresses overlap by more than rounding can explain.
 */
int ilp_read_addresses(const struct ilp_encoding *encoding, const double *value,
		       struct cosma_stays *stays);
