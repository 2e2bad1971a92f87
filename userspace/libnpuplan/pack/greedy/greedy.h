/* SPDX-License-Identifier: MIT */
/* Packers that place one item after another and move none again. */
#pragma once

#include "pack/base/call.h"

/* First fit in one order (enum npuplan_order), best fit, and the best of them all (greedy.c). */
int npuplan_pack_first_fit(struct npuplan_pack *call, int order);
int npuplan_pack_best_fit(struct npuplan_pack *call, int unused);
int npuplan_pack_best_greedy(struct npuplan_pack *call, int unused);
/* npuplan_pack() by first fit in one order (enum npuplan_order), without a limit of work. */
int npuplan_pack_in_order(int order, const struct npuplan_pack_problem *problem, uint64_t *offsets,
			  struct npuplan_pack_result *result, struct npuplan_error *error);
/*
 * Place all items of a call once, by first fit or best fit in a given order, and offer the packing.
 * -EINTR: the call was stopped before; -ENOMEM.
 */
int npuplan_pack_fit(struct npuplan_pack *call, const uint32_t *order, bool best,
		     uint64_t *offsets);

/* Squeaky wheel optimisation, of at most @rounds rounds of first fit (squeaky.c). */
int npuplan_pack_squeaky(struct npuplan_pack *call, int rounds);
