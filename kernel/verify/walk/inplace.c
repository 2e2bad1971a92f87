// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Writes in place: an operator that is done with byte i of its input when it
 * stores byte i of its output may have both at one address.
 */
#include "check.h"

/* The read whose bytes an access may take, or NPUMEM_NONE. */
static u32 source_of(const struct npuv_graph *g, u32 access)
{
	const struct npumem_step *s = npuv_step(g, g->access_step[access]);

	return s->first_access + npuv_access(g, access)->inplace;
}

int npuv_inplace_begin(struct npuv_check *k, u32 access)
{
	const struct npuv_graph *g = k->g;
	struct npuv_cells it;
	u32 source, n = 0;

	if (npuv_access(g, access)->inplace == NPUMEM_NONE)
		return 0;
	source = source_of(g, access);
	npuv_for_each_read(it, g, source)
	{
		k->replaced[it.cell] = access + 1;
		n++;
	}
	return npuv_visit(k->w, n);
}

/*
 * Count the step's reads of the tile that a write may take, since the step is done with byte
 * i in all of them at once. It is counted once for an access, and only if it matters.
 */
static int count_same(struct npuv_check *k, u32 access, u32 source)
{
	const struct npumem_step *s = npuv_step(k->g, k->g->access_step[access]);
	u32 a, tile = npuv_access(k->g, source)->tile;

	if (k->same_access == access + 1)
		return 0;
	k->same_access = access + 1;
	k->same_reads = 0;
	for (a = s->first_access; a < s->first_access + s->access_count; a++)
		k->same_reads += npuv_access(k->g, a)->mode == NPUMEM_ACCESS_READ &&
				 npuv_access(k->g, a)->tile == tile;
	return npuv_visit(k->w, s->access_count);
}

/*
 * The owner's last uses must be that read and the step's other reads of the same tile, and
 * each byte must be where the read finds its byte of the same linear index. Bytes read are
 * LIVE, so the cell that the step reads is the owner of these bytes.
 */
int npuv_inplace_may(struct npuv_check *k, u32 cell, u32 owner, u64 tensor_first, u64 first,
		     u64 end)
{
	u32 access = k->g->cells[cell].writer, position = npuv_position_of(k, access);
	struct npumem_region write, read;
	const struct npuv_location *location;
	u32 source;
	int err;

	if (k->replaced[owner] != access + 1)
		return 0;
	source = source_of(k->g, access);
	if (k->left[owner] != 1) {
		err = count_same(k, access, source);
		if (err)
			return err;
		if (k->left[owner] != k->same_reads)
			return 0;
	}
	npuv_access_region(k->g, access, &write);
	location = npuv_location_of(k->p, k->instance, npuv_access_region(k->g, source, &read));
	while (first < end) {
		u64 n = end - first, left, byte, at;
		const struct npuv_extent *e;

		at = npuv_region_linear(&write, tensor_first, &left);
		n = left < n ? left : n;
		byte = npuv_region_byte(&read, at, &left);
		n = left < n ? left : n;
		e = npuv_location_find_at(k->p, location, byte, position);
		if (!e || e->arena + (byte - e->first) != first)
			return 0;
		left = e->length - (byte - e->first);
		n = left < n ? left : n;
		first += n;
		tensor_first += n;
		err = npuv_visit(k->w, 1);
		if (err)
			return err;
	}
	return 1;
}
