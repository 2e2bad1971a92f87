/* SPDX-License-Identifier: MIT */
/*
 * Windows are consecutive operators of a model's order, cut where few bytes cross. Searched one
 * after another, with a few states handed on, they give plans: this is divide and conquer with
 * break points that nobody chose by hand. Solved one by one and added up they give a bound.
 */
#pragma once

#include "search.h"

/* cosma_windows_cut() - cut the order into windows of @low to @high operators each
 * @window: out: per operator, its window; it never falls
 * @count: out: windows; the last one may be smaller
 *
 * -ENOMEM
 */
int cosma_windows_cut(const struct cosma_model *model, uint32_t low, uint32_t high,
		      uint32_t *window, uint32_t *count);

/* cosma_windows_bound() - sum of what each window must move
 * @query: of the whole, but that its limit of states is that of each window's search: where it ends
 *	one, that search's bound counts
 * @count: windows
 * @bound: out
 *
 * A tensor counts in the window that uses it most, and there only; in others it takes room while an
 * operator uses it. Whatever the whole does, restricted to a window it is a way to run the window,
 * and moves no less. -ENOMEM
 */
int cosma_windows_bound(const struct cosma_query *query, uint32_t count, struct cosma_call *call,
			int64_t *bound);
