/* SPDX-License-Identifier: MIT */
/* The packer that goes on until a packing is proved lowest, or a limit comes. */
#pragma once

#include "pack/base/run.h"

/* Quick packings unless there is an incumbent, then the search that suits the conflicts. */
int npuplan_pack_exact(struct npuplan_pack *run, int unused);

/* npuplan_pack() by that packer; options->packer is not looked at. */
int npuplan_pack_exactly(const struct npuplan_pack_problem *problem,
			 const struct npuplan_pack_options *options, uint64_t *offsets,
			 struct npuplan_pack_result *result, struct npuplan_error *error);
