/* SPDX-License-Identifier: MIT */
/*
 * Windows: consecutive operators of a model's order, cut where few bytes cross. Searched
 * one after another, with a few states handed on, they give plans (divide and conquer with
 * break points that nobody chose by hand); solved one by one and added up they give a bound.
 */
#pragma once

#include "search.h"

/* cosma_windows_cut() - windows of @low to @high operators each (the last may be smaller)
 * @window: out: per operator, its window; non-decreasing
 * @count: out: windows
 */
int cosma_windows_cut(const struct cosma_model *model, uint32_t low, uint32_t high,
		      uint32_t *window, uint32_t *count);

/* cosma_windows_bound() - sum of what each window must move
 *
 * A tensor counts in the window that uses it most, and there only; in others it
 * takes room while an operator uses it. Whatever the whole does, restricted to a
 * window it is a way to run the window, and moves no less.
 *
 * @query: of the whole, but for its limit of states, which is of each window's search: where it
 *	ends one, its bound counts
 * @count: windows
 */
int cosma_windows_bound(const struct cosma_query *query, uint32_t count, struct cosma_run *run,
			int64_t *bound);
