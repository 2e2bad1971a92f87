/* SPDX-License-Identifier: MIT */
/*
 * Large neighbourhood search: lower the top of a packing by packing a few items
 * anew at a time.
 *
 * An item above the top aimed at is freed, together with others that live about
 * then; all else stays, as obstacles. The exact search (search.h) looks for room
 * for the free ones below the new top. Where many things would have to go right
 * at once for a search from scratch, each is put right on its own here, at a cost
 * that depends on the neighbourhood alone and not on how many items there are.
 */
#pragma once

#include "alive.h"
#include "pack/base/units.h"

struct npuplan_repair;

/* All that it has is of @pool. -ENOMEM */
int npuplan_repair_new(struct npuplan_repair **repair, const struct npuplan_units *units,
		       const struct npuplan_alive *alive, struct npuplan_pool *pool);

/* npuplan_repair_run() - look for a packing of at most @top bytes, starting from another
 * @at: in and out: units, per item; a packing before and after, no higher than
 *	the higher of what it was and @top
 * @work: give up after so much
 * @run: work is added, and looked at now and then, to stop
 *
 * Returns 1 found; -EAGAIN gave up; -ENOMEM.
 */
int npuplan_repair_run(struct npuplan_repair *repair, int64_t *at, uint64_t top, uint64_t work,
		       struct npuplan_pack *run);
