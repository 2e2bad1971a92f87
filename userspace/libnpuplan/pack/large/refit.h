/* SPDX-License-Identifier: MIT */
/*
 * Windows of time packed anew by first fit: lower the top of a packing of many items.
 *
 * What ends above the top aimed at is in few spans of time as a rule, those in which
 * most bytes live. All that lives in a window about one of these, or only what
 * lives within it, is taken out and placed anew, in an order drawn at random from those
 * that do well; what comes to lie too high is placed sooner in the next round. The
 * window is kept if less is too high than before. So each tight span is put right on
 * its own, where a new packing of all would have to be lucky everywhere at once.
 */
#pragma once

#include "alive.h"
#include "pack/base/units.h"

struct npuplan_refit;

/* npuplan_refit_new() - what is kept for many runs
 * @breadths: per item, most bytes live at one instant of its life; @most: of all items
 * @pool: of all that it has
 *
 * -ENOMEM
 */
int npuplan_refit_new(struct npuplan_refit **refit, const struct npuplan_units *units,
		      const struct npuplan_alive *alive, const uint64_t *breadths, uint64_t most,
		      struct npuplan_pool *pool);

/* npuplan_refit_run() - look for a packing of at most @top bytes, starting from another
 * @at: in and out: units, per item; a packing before and after, no higher than the
 *	higher of what it was and @top
 * @work: give up after so much
 * @run: work is added, and looked at now and then, to stop
 *
 * Returns 1 found; -EAGAIN gave up; -ENOMEM.
 */
int npuplan_refit_run(struct npuplan_refit *refit, int64_t *at, uint64_t top, uint64_t work,
		      struct npuplan_pack *run);
