/* SPDX-License-Identifier: MIT */
/* The packer of more items than a search of all can deal with, and its parts. */
#pragma once

#include "alive.h"
#include "pack/base/granules.h"

/* Items that are copied or looked at in the time of a unit of work. */
#define NPUPLAN_ITEMS_A_UNIT 4

/* npuplan_large_new() - prepare packing many items with conflicts by overlap (large.c)
 * @exact: packs a few of them
 * @ordered: first fit has been tried in all orders
 *
 * -ENOMEM
 */
struct npuplan_large;
int npuplan_large_new(struct npuplan_large **large, struct npuplan_pack *call,
		      npuplan_pack_fn *exact, bool ordered);
void npuplan_large_free(struct npuplan_large *large);
/* Go on with it until the call, or its share, is over. -ENOMEM. */
int npuplan_large_run(struct npuplan_large *large);

/* Pack many items, with a limit of work of its own if the user asks for none. -ENOMEM. */
int npuplan_pack_large(struct npuplan_pack *call, npuplan_pack_fn *exact);
struct npuplan_refit;
struct npuplan_repair;
struct npuplan_tight;

/* npuplan_tight_new() - prepare making packings, the tight items first (tight.c)
 * @count: number of items; none has a fixed offset
 * @exact: packs a few of them
 * @breadths: per item, its breadth
 * @pool: memory of all that it has
 *
 * -ENOMEM
 */
int npuplan_tight_new(struct npuplan_tight **tight, uint32_t count, npuplan_pack_fn *exact,
		      const uint64_t *breadths, struct npuplan_pool *pool);
/*
 * Make packings and offer them, until @work units are spent or the call is over. The next run goes
 * on where this one ended. -ENOMEM.
 */
int npuplan_tight_run(struct npuplan_tight *tight, uint64_t work, struct npuplan_pack *call);

/* npuplan_refit_new() - prepare packing windows anew (refit.c)
 * @breadths: per item, its breadth; @most: the greatest of them
 * @pool: memory of all that it has
 *
 * -ENOMEM
 */
int npuplan_refit_new(struct npuplan_refit **refit, const struct npuplan_granules *granules,
		      const struct npuplan_alive *alive, const uint64_t *breadths, uint64_t most,
		      struct npuplan_pool *pool);
/* Prepare packing neighbourhoods anew, in memory of @pool (repair.c). -ENOMEM. */
int npuplan_repair_new(struct npuplan_repair **repair, const struct npuplan_granules *granules,
		       const struct npuplan_alive *alive, struct npuplan_pool *pool);

/* npuplan_refit_run() - look for a packing of at most @top bytes, starting from another
 * @at: in and out: a packing, per item in granules; it does not become higher, except up to @top
 * @work: work units after which to give up
 * @call: the call, to which work is added, and which is asked now and then whether to stop
 *
 * Returns 1: found; -EAGAIN: given up; -ENOMEM. npuplan_repair_run() does the same by
 * neighbourhoods.
 */
int npuplan_refit_run(struct npuplan_refit *refit, int64_t *at, uint64_t top, uint64_t work,
		      struct npuplan_pack *call);
int npuplan_repair_run(struct npuplan_repair *repair, int64_t *at, uint64_t top, uint64_t work,
		       struct npuplan_pack *call);
