/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Plans: their records, and where tensors lie in each instance.
 */
#ifndef NPUMEM_VERIFY_PLAN_H
#define NPUMEM_VERIFY_PLAN_H

#include "../graph/graph.h"

/* Number of cells of all instances together. */
static inline u32 npuv_cell_count(const struct npuv_plan *p)
{
	return p->cell_base[p->blocks.count];
}

/* unknown_tensor.c */

/* Refuse a record, which the text names, for its tensor. The caller sets other fields before. */
__printf(4, 5) int npuv_refuse_unknown_tensor(struct npuv_work *w, u32 rule, u32 tensor,
					      const char *fmt, ...);

/* instance.c */

/* V2: check the instances of blocks, and that each holds the steps of its block. */
int npuv_instances_check(struct npuv_work *w, struct npuv_plan *p);
/* Last position of an instance; its first position if it has none. */
u32 npuv_instance_last(const struct npuv_plan *p, u32 instance);
/* The instance that has a position. */
u32 npuv_instance_at(const struct npuv_plan *p, u32 position);

/* edge.c */

/* V6: check that there is one edge of the plan for each way out of each instance. */
int npuv_edges_check(struct npuv_work *w, struct npuv_plan *p);
/* Group edges by the instance they leave; the caller frees both. After npuv_edges_check(). */
int npuv_edges_group(struct npuv_work *w, const struct npuv_plan *p, u32 **start, u32 **edges);

/* placement.c */

/* V1: check all placements. */
int npuv_placements_check(struct npuv_work *w, struct npuv_plan *p);

/* transfer.c */

/* V2, V5: check the records of transfers. */
int npuv_transfers_check(struct npuv_work *w, const struct npuv_plan *p);
/* V5: give p a graph with its transfers among the steps, and placements of host copies. */
int npuv_transfers_insert(struct npuv_work *w, struct npuv_plan *p);
/* V2: check that the bytes that transfers of an instance move are in the placements named. */
int npuv_transfers_placed(struct npuv_work *w, const struct npuv_plan *p, u32 instance);

/* entry.c */

/*
 * Check the records of entry states. @order gets them by instance and tensor; the caller
 * frees it.
 */
int npuv_entries_check(struct npuv_work *w, struct npuv_plan *p, u32 **order);

/* extent.c */

/* Cut all placements into extents. @entries is the order that npuv_entries_check() found. */
int npuv_extents_cut(struct npuv_work *w, struct npuv_plan *p, const u32 *entries);
/* Where a tensor lies in an instance; NULL if it has no location there. */
const struct npuv_location *npuv_location_of(const struct npuv_plan *p, u32 instance, u32 tensor);
/* First and last position at which an extent is in force. */
u32 npuv_extent_from(const struct npuv_plan *p, const struct npuv_extent *e);
u32 npuv_extent_to(const struct npuv_plan *p, const struct npuv_extent *e);
/* First extent that holds a byte, NULL if none does. More may follow. The location may be NULL. */
const struct npuv_extent *npuv_location_find(const struct npuv_plan *p,
					     const struct npuv_location *location, u64 byte);
/* Number of extents that begin at the same byte as @e, which is the first of them. */
u32 npuv_location_count(const struct npuv_plan *p, const struct npuv_location *location,
			const struct npuv_extent *e);
/* How many of @count extents, in the order in which they come into force, have by a position. */
u32 npuv_extents_begun(const struct npuv_plan *p, const struct npuv_extent *e, u32 count,
		       u32 position);
/* After npuv_locations_compact(): the extent that holds a byte at a position, NULL if none does. */
const struct npuv_extent *npuv_location_find_at(const struct npuv_plan *p,
						const struct npuv_location *location, u64 byte,
						u32 position);
/* First byte after @byte, which no extent holds, that some extent holds; U64 max if none. */
u64 npuv_location_next(const struct npuv_plan *p, const struct npuv_location *location, u64 byte);
/* Forget the extents of an instance that are not used. */
void npuv_locations_compact(struct npuv_plan *p, u32 instance);

/* view.c */

int npuv_views_check(struct npuv_work *w, const struct npuv_plan *p);

#endif /* NPUMEM_VERIFY_PLAN_H */
