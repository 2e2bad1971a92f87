// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Regions: strided bytes, chunk by chunk.
 */
#include "graph.h"

const char *npuv_region_check(const struct npumem_region *r, u64 size)
{
	u64 extent = r->length, end;
	u32 d;

	if (!r->length)
		return "its length is zero";
	if (r->pad)
		return "its pad is not zero";
	for (d = 0; d < NPUMEM_REGION_DIMS; d++) {
		u64 span;

		if (!r->count[d])
			return "a count is zero";
		if (r->count[d] == 1) {
			if (r->stride[d])
				return "a stride is not zero where the count is 1";
			continue;
		}
		if (r->stride[d] < extent)
			return "a stride is too small, repetitions overlap";
		if (check_mul_overflow(r->stride[d], (u64)r->count[d] - 1, &span) ||
		    check_add_overflow(span, extent, &extent))
			return "it ends beyond the tensor";
	}
	if (check_add_overflow(r->offset, extent, &end) || end > size)
		return "it ends beyond the tensor";
	return NULL;
}

void npuv_region_range(struct npumem_region *r, u64 first, u64 length)
{
	u32 d;

	memset(r, 0, sizeof(*r));
	r->offset = first;
	r->length = length;
	for (d = 0; d < NPUMEM_REGION_DIMS; d++)
		r->count[d] = 1;
}

u64 npuv_region_bytes(const struct npumem_region *r)
{
	/* No overflow: the bytes are all different ones of one tensor. */
	return r->length * r->count[0] * r->count[1] * r->count[2];
}

u32 npuv_access_region(const struct npuv_graph *g, u32 access, struct npumem_region *region)
{
	const struct npumem_tile *tile = npuv_tile(g, npuv_access(g, access)->tile);
	const struct npumem_tensor *tensor = npuv_tensor(g, tile->tensor);

	*region = tile->region;
	if (!(tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS))
		return tile->tensor;
	region->offset += tensor->alias_offset;
	return tensor->alias_of;
}

/*
 * Dimensions are nested and ascending: the outermost index whose repetition
 * begins at or before the byte is the right one, and so on inwards.
 */
u64 npuv_region_linear(const struct npumem_region *r, u64 byte, u64 *left)
{
	u64 rest = byte - r->offset, linear = 0, index;
	u32 d;

	for (d = NPUMEM_REGION_DIMS; d--;) {
		index = 0;
		if (r->count[d] > 1) {
			index = rest / r->stride[d];
			if (index >= r->count[d])
				index = r->count[d] - 1;
			rest -= index * r->stride[d];
		}
		linear = linear * r->count[d] + index;
	}
	*left = r->length - rest;
	return linear * r->length + rest;
}

u64 npuv_region_byte(const struct npumem_region *r, u64 linear, u64 *left)
{
	u64 chunk = linear / r->length, rest = linear % r->length, byte = r->offset + rest;
	u32 d;

	for (d = 0; d < NPUMEM_REGION_DIMS; d++) {
		byte += chunk % r->count[d] * r->stride[d];
		chunk /= r->count[d];
	}
	*left = r->length - rest;
	return byte;
}

/* Chunks that follow each other both in tensor and arena become one. */
static void fold(struct npuv_chunks *c)
{
	u32 d;

	for (d = 0; d < NPUMEM_REGION_DIMS; d++) {
		if (c->count[d] == 1)
			continue;
		if (c->stride[d] != c->length || c->arena_stride[d] != c->length ||
		    (d == 2 && c->ring))
			return;
		c->length *= c->count[d];
		c->count[d] = 1;
	}
}

void npuv_chunks_begin(struct npuv_chunks *c, const struct npumem_region *r)
{
	memset(c, 0, sizeof(*c));
	c->length = r->length;
	c->first = r->offset;
	memcpy(c->count, r->count, sizeof(c->count));
	memcpy(c->stride, r->stride, sizeof(c->stride));
	memcpy(c->arena_stride, r->stride, sizeof(c->arena_stride));
	fold(c);
}

void npuv_chunks_begin_placed(struct npuv_chunks *c, const struct npumem_placement *p)
{
	npuv_chunks_begin(c, &p->region);
	c->length = p->region.length;
	memcpy(c->count, p->region.count, sizeof(c->count));
	memcpy(c->arena_stride, p->stride, sizeof(c->arena_stride));
	c->arena = p->offset;
	c->ring = p->ring;
	fold(c);
}

u64 npuv_chunks_count(const struct npuv_chunks *c)
{
	return (u64)c->count[0] * c->count[1] * c->count[2];
}

bool npuv_chunks_next(struct npuv_chunks *c, u64 *first, u64 *arena)
{
	u32 slot = c->ring ? c->index[2] % c->ring : c->index[2];
	u32 d;

	if (c->done)
		return false;
	*first = c->first + c->index[0] * c->stride[0] + c->index[1] * c->stride[1] +
		 c->index[2] * c->stride[2];
	*arena = c->arena + c->index[0] * c->arena_stride[0] + c->index[1] * c->arena_stride[1] +
		 slot * c->arena_stride[2];
	for (d = 0; d < NPUMEM_REGION_DIMS; d++) {
		if (++c->index[d] < c->count[d])
			return true;
		c->index[d] = 0;
	}
	c->done = true;
	return true;
}
