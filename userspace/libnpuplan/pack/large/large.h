/* SPDX-License-Identifier: MIT */
/* Packers of more items than a search of all can deal with. */
#pragma once

#include "alive.h"
#include "pack/base/units.h"

/* large.c: from a packing by overlap; @exact packs a few of the items. */
int npuplan_pack_large(struct npuplan_pack *run, npuplan_pack_fn *exact);
/* tight.c: some packings by overlap, without fixed offsets, of the @k-th level of tight items. */
int npuplan_pack_tight_first(struct npuplan_pack *run, npuplan_pack_fn *exact,
			     const uint64_t *breadths, unsigned int k);
unsigned int npuplan_pack_tight_levels(void);

struct npuplan_refit;
struct npuplan_repair;

/* npuplan_refit_new() - windows packed anew (refit.c)
 * @breadths: per item, most bytes live at one instant of its life; @most: of all items
 * @pool: of all that it has
 *
 * -ENOMEM
 */
int npuplan_refit_new(struct npuplan_refit **refit, const struct npuplan_units *units,
		      const struct npuplan_alive *alive, const uint64_t *breadths, uint64_t most,
		      struct npuplan_pool *pool);
/* The same for neighbourhoods (repair.c). */
int npuplan_repair_new(struct npuplan_repair **repair, const struct npuplan_units *units,
		       const struct npuplan_alive *alive, struct npuplan_pool *pool);

/* npuplan_refit_run() - look for a packing of at most @top bytes, starting from another
 * @at: in and out: units, per item; a packing before and after, no higher than the
 *	higher of what it was and @top
 * @work: give up after so much
 * @run: work is added, and looked at now and then, to stop
 *
 * Returns 1 found; -EAGAIN gave up; -ENOMEM. npuplan_repair_run() does the same.
 */
int npuplan_refit_run(struct npuplan_refit *refit, int64_t *at, uint64_t top, uint64_t work,
		      struct npuplan_pack *run);
int npuplan_repair_run(struct npuplan_repair *repair, int64_t *at, uint64_t top, uint64_t work,
		       struct npuplan_pack *run);
