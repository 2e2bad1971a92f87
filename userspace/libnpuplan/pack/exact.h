/* SPDX-License-Identifier: MIT */
/*
 * The exact packer, which goes on until a packing is proved to be the lowest, or a limit is
 * reached.
 */
#pragma once

#include "pack/base/call.h"

/*
 * Makes quick packings, unless there is an incumbent, and then runs the search that suits the
 * conflicts. Its type is npuplan_pack_fn.
 */
int npuplan_pack_exact(struct npuplan_pack *call, int unused);

/* npuplan_pack() with this packer, whatever options->packer says. */
int npuplan_pack_exactly(const struct npuplan_pack_problem *problem,
			 const struct npuplan_pack_options *options, uint64_t *offsets,
			 struct npuplan_pack_result *result, struct npuplan_error *error);
