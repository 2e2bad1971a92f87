/* SPDX-License-Identifier: MIT */
/*
 * What no order of the steps needs less of: a bound on the peak of all schedules of a graph's
 * tiles, beside which the schedule that was found can be seen.
 */
#pragma once

#include "base/effort.h"
#include "model.h"

/* Edges of a network that are looked at for it, unless the caller has less time. */
#define TILESCHED_LEAST_LOOKS 100000000ull

/**
 * struct tilesched_least - bytes that live at once
 * @any: in any order of the steps
 * @kept: in any that keeps the steps of each operator in their order, as schedules here do
 */
struct tilesched_least {
	uint64_t any;
	uint64_t kept;
};

/* tilesched_least() - find bytes that live at once whatever the order of the steps
 * @order: an order of the model's steps, of a low peak; where it has its peaks is looked first
 * @effort: asked now and then; when it is over, the bounds are what was found until then
 * @least: in: bounds that are known, or 0; out: bounds that are no lower
 *
 * When a step runs, what it needs has run, and what needs it has not: the fewest bytes that live
 * then are a least cut (cuts.h). @kept is the highest of these cuts, where of its own operator the
 * steps before it have run, and those behind it have not. For @any it is only known that one of an
 * operator's steps is its first, and one its last: the lowest cut of these holds. -ENOMEM.
 */
int tilesched_least(const struct tilesched_model *model, const uint32_t *order,
		    struct npuplan_effort *effort, struct tilesched_least *least);
