/* SPDX-License-Identifier: MIT */
#pragma once

#include "bounds.h"

/* cosma_chain_bound() - bound of a model's cost by chains of critical operators
 * @budget: bytes; no operator needs more
 * @call: where it ends first, the bound is a weaker one, or 0
 * @bound: out: no plan costs less, whatever its order
 *
 * -ENOMEM
 */
int cosma_chain_bound(const struct cosma_model *model, int64_t budget, struct cosma_call *call,
		      int64_t *bound);
