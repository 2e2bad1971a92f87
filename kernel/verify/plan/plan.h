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

/* Refuse a record, which the text names, for its tensor. Other fields are set by the caller. */
__printf(4, 5) int npuv_refuse_unknown_tensor(struct npuv_work *w, u32 rule, u32 tensor,
					      const char *fmt, ...);

/* instance.c */

/* V2: the instances of blocks, and that each holds the steps of its block. */
int npuv_instances_check(struct npuv_work *w, struct npuv_plan *p);
/* Last position of an instance; its first position if it has none. */
u32 npuv_instance_last(const struct npuv_plan *p, u32 instance);
/* Instance that a position is of. */
u32 npuv_instance_at(const struct npuv_plan *p, u32 position);

/* edge.c */

/* V6, the records: one edge of the plan for each way out of each instance. */
int npuv_edges_check(struct npuv_work *w, struct npuv_plan *p);
/* By instance, its edges, for the caller to free; after npuv_edges_check(). */
int npuv_edges_group(struct npuv_work *w, const struct npuv_plan *p, u32 **start, u32 **edges);

/* placement.c */

/* V1 */
int npuv_placements_check(struct npuv_work *w, struct npuv_plan *p);

/* transfer.c */

/* V2, V5: the records of transfers. */
int npuv_transfers_check(struct npuv_work *w, const struct npuv_plan *p);
/* V5: p gets its graph and placements, with transfers among the steps. */
int npuv_transfers_insert(struct npuv_work *w, struct npuv_plan *p);
/* V2: what transfers move lies in the placements that they name. */
int npuv_transfers_placed(struct npuv_work *w, const struct npuv_plan *p);

/* entry.c */

/* Records of entry states; order: by instance and tensor, for the caller to free. */
int npuv_entries_check(struct npuv_work *w, struct npuv_plan *p, u32 **order);

/* extent.c */

/* Locations and extents of all placements; entries in the order of npuv_entries_check(). */
int npuv_extents_cut(struct npuv_work *w, struct npuv_plan *p, const u32 *entries);
/* Where a tensor lies in an instance; NULL if it has no location there. */
const struct npuv_location *npuv_location_of(const struct npuv_plan *p, u32 instance, u32 tensor);
/* First and last position at which an extent is in force. */
u32 npuv_extent_from(const struct npuv_plan *p, const struct npuv_extent *e);
u32 npuv_extent_to(const struct npuv_plan *p, const struct npuv_extent *e);
/* First extent that holds a byte, NULL if none does. More may follow. The location may be NULL. */
const struct npuv_extent *npuv_location_find(const struct npuv_plan *p,
					     const struct npuv_location *location, u64 byte);
/* Number of extents that begin where the first one that does so does. */
u32 npuv_location_count(const struct npuv_plan *p, const struct npuv_location *location,
			const struct npuv_extent *e);
/* Of extents in the order in which they come into force, those that have by then. */
u32 npuv_extents_begun(const struct npuv_plan *p, const struct npuv_extent *e, u32 count,
		       u32 position);
/* After npuv_locations_compact(): the extent that holds a byte at a position, NULL if none does. */
const struct npuv_extent *npuv_location_find_at(const struct npuv_plan *p,
						const struct npuv_location *location, u64 byte,
						u32 position);
/* First byte after one that no extent holds that one does hold; U64 max if none. */
u64 npuv_location_next(const struct npuv_plan *p, const struct npuv_location *location, u64 byte);
/* Forget the extents of an instance that are not used. */
void npuv_locations_compact(struct npuv_plan *p, u32 instance);

/* view.c */

int npuv_views_check(struct npuv_work *w, const struct npuv_plan *p);

#endif /* NPUMEM_VERIFY_PLAN_H */
