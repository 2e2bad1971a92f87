/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Classes of the bytes of one tensor in one block, see classes.c.
 */
#ifndef NPUMEM_VERIFY_CLASSES_H
#define NPUMEM_VERIFY_CLASSES_H

#include "graph.h"

/**
 * struct npuv_classes - classes of one tensor in one block; arrays are reused for the next
 * @w: the call that this is part of
 * @g: see @w
 * @tensor: the tensor
 * @accesses: accesses that touch it, @access_count of them, in order of the graph
 * @aliases: aliases that give some of its bytes another role, @alias_count of them; they
 *	divide classes as accesses do
 * @bounds: of @segment_count segments: bounds[i] .. bounds[i + 1]
 * @class_of: per segment
 * @access_count: number of @accesses
 * @alias_count: number of @aliases
 * @segment_count: number of segments
 * @class_count: classes; class 0 holds the segments that nothing touches
 * @members: per class, segments; merged ones once the classes are found
 * @class_first: per class, first of its merged segments in @segments
 * @hits: per class, segments that the current region covers
 * @stamp: per class, equals @now if @hits and @split are current
 * @split: per class, class that the covered segments go to
 * @touched: classes that the current region covers, @touched_count of them
 * @touched_count: number of @touched
 * @now: number of the current region, for @stamp
 * @segments: found, of all tensors and blocks
 */
struct npuv_classes {
	struct npuv_work *w;
	const struct npuv_graph *g;
	const u32 *accesses, *aliases;
	u64 *bounds;
	u32 *class_of, *members, *class_first, *hits, *stamp, *split, *touched;
	u32 tensor, access_count, alias_count;
	u32 segment_count, class_count, touched_count, now;
	struct npuv_vector segments;
};

/* Allocate room for a tensor with @chunks chunks. The caller frees it even on failure. */
int npuv_classes_init(struct npuv_classes *c, u64 chunks);
void npuv_classes_fini(struct npuv_classes *c);
/* Find the classes of @tensor by @accesses and @aliases. */
int npuv_classes_find(struct npuv_classes *c);
/* Put the classes that a region covers into @touched. Once all are found it covers whole ones. */
int npuv_classes_touch(struct npuv_classes *c, const struct npumem_region *region);
/* The bytes of its base that an alias stands for. */
void npuv_alias_region(const struct npuv_graph *g, u32 alias, struct npumem_region *region);
/* First segment of a class. */
static inline const struct npuv_segment *npuv_class_segment(const struct npuv_classes *c, u32 class)
{
	return (const struct npuv_segment *)c->segments.data + c->class_first[class];
}

#endif /* NPUMEM_VERIFY_CLASSES_H */
