// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Classes: the bytes of a tensor that the same accesses of a block touch.
 *
 * The ends of all chunks of all accesses cut the tensor into *segments*, which
 * are divided into *classes* by partition refinement: each access splits the
 * classes that it covers in part, so in the end it covers whole classes only.
 */
#include "classes.h"

int npuv_classes_init(struct npuv_classes *c, u64 chunks)
{
	/* There is a class for each segment at most, and class 0. */
	u64 bounds = 2 * chunks + 2;

	c->segments.size = sizeof(struct npuv_segment);
	c->bounds = npuv_alloc_array(bounds, sizeof(u64));
	c->class_of = npuv_alloc_array(bounds, sizeof(u32));
	c->members = npuv_alloc_array(bounds, sizeof(u32));
	c->class_first = npuv_alloc_array(bounds + 1, sizeof(u32));
	c->hits = npuv_alloc_array(bounds, sizeof(u32));
	c->stamp = npuv_alloc_array(bounds, sizeof(u32));
	c->split = npuv_alloc_array(bounds, sizeof(u32));
	c->touched = npuv_alloc_array(bounds, sizeof(u32));
	if (!c->bounds || !c->class_of || !c->members || !c->class_first || !c->hits || !c->stamp ||
	    !c->split || !c->touched)
		return -ENOMEM;
	return 0;
}

void npuv_classes_fini(struct npuv_classes *c)
{
	npuv_free_all(c->bounds, c->class_of, c->members, c->class_first, c->hits, c->stamp,
		      c->split, c->touched, c->segments.data);
}

void npuv_alias_region(const struct npuv_graph *g, u32 alias, struct npumem_region *region)
{
	const struct npumem_tensor *t = npuv_tensor(g, alias);

	npuv_region_range(region, t->alias_offset, t->size);
}

/* Region i of those that divide the tensor: accesses come first, then aliases. */
static bool region_at(const struct npuv_classes *c, u32 i, struct npumem_region *region)
{
	if (i < c->access_count)
		npuv_access_region(c->g, c->accesses[i], region);
	else if (i - c->access_count < c->alias_count)
		npuv_alias_region(c->g, c->aliases[i - c->access_count], region);
	else
		return false;
	return true;
}

static int cut(struct npuv_classes *c)
{
	struct npumem_region region;
	struct npuv_chunks chunks;
	u64 first, arena;
	u32 i, n = 0;
	int err;

	c->bounds[n++] = 0;
	for (i = 0; region_at(c, i, &region); i++) {
		npuv_chunks_begin(&chunks, &region);
		while (npuv_chunks_next(&chunks, &first, &arena)) {
			c->bounds[n++] = first;
			c->bounds[n++] = first + chunks.length;
			err = npuv_visit(c->w, 1);
			if (err)
				return err;
		}
	}
	c->bounds[n++] = npuv_tensor(c->g, c->tensor)->size;
	err = npuv_sort_unique(c->w, c->bounds, &n);
	c->segment_count = n - 1;
	return err;
}

/* The segments that a chunk covers, from @lo on, before @hi. */
static void covered(const struct npuv_classes *c, u64 first, u64 length, u32 *lo, u32 *hi)
{
	*lo = npuv_upper_bound(c->bounds, c->segment_count + 1, first) - 1;
	*hi = *lo;
	while (*hi < c->segment_count && c->bounds[*hi] < first + length)
		++*hi;
}

int npuv_classes_touch(struct npuv_classes *c, const struct npumem_region *region)
{
	struct npuv_chunks chunks;
	u64 first, arena;
	u32 lo, hi;
	int err;

	c->now++;
	c->touched_count = 0;
	npuv_chunks_begin(&chunks, region);
	while (npuv_chunks_next(&chunks, &first, &arena)) {
		covered(c, first, chunks.length, &lo, &hi);
		err = npuv_visit(c->w, hi - lo);
		if (err)
			return err;
		for (; lo < hi; lo++) {
			u32 class = c->class_of[lo];

			if (c->stamp[class] != c->now) {
				c->stamp[class] = c->now;
				c->hits[class] = 0;
				c->touched[c->touched_count++] = class;
			}
			c->hits[class]++;
		}
	}
	return 0;
}

/* Split the classes that a region covers in part, and take it out of class 0. */
static int refine(struct npuv_classes *c, const struct npumem_region *region)
{
	struct npuv_chunks chunks;
	u64 first, arena;
	bool whole = true;
	u32 i, lo, hi;
	int err;

	err = npuv_classes_touch(c, region);
	if (err)
		return err;
	for (i = 0; i < c->touched_count; i++) {
		u32 class = c->touched[i];

		c->split[class] = class;
		if (class && c->hits[class] == c->members[class])
			continue;
		whole = false;
		c->split[class] = c->class_count++;
		c->members[c->split[class]] = c->hits[class];
		c->members[class] -= c->hits[class];
	}
	if (whole)
		return 0;
	npuv_chunks_begin(&chunks, region);
	while (npuv_chunks_next(&chunks, &first, &arena)) {
		covered(c, first, chunks.length, &lo, &hi);
		err = npuv_visit(c->w, hi - lo);
		if (err)
			return err;
		for (; lo < hi; lo++)
			c->class_of[lo] = c->split[c->class_of[lo]];
	}
	return 0;
}

/* Whether segment i continues the one before it in its class. */
static bool continues(const struct npuv_classes *c, u32 i)
{
	return i && c->class_of[i] == c->class_of[i - 1];
}

/* Collect the segments of each class, in the order of the classes, and merge neighbours. */
static int collect(struct npuv_classes *c)
{
	struct npuv_segment *out;
	u32 *next = c->hits; /* not needed for anything else by now */
	u32 i, class, used = 0;

	memset(c->members, 0, (size_t)c->class_count * sizeof(u32));
	for (i = 0; i < c->segment_count; i++)
		c->members[c->class_of[i]] += !continues(c, i);
	for (class = 0; class < c->class_count; class ++) {
		next[class] = used;
		c->class_first[class] = c->segments.count + used;
		used += c->members[class];
	}
	out = npuv_vector_add(&c->segments, used);
	if (!out)
		return -ENOMEM;
	for (i = 0; i < c->segment_count; i++) {
		class = c->class_of[i];
		if (!continues(c, i))
			out[next[class]++].first = c->bounds[i];
		out[next[class] - 1].length += c->bounds[i + 1] - c->bounds[i];
	}
	return npuv_visit(c->w, c->segment_count);
}

int npuv_classes_find(struct npuv_classes *c)
{
	struct npumem_region region;
	u32 i;
	int err;

	err = cut(c);
	if (err)
		return err;
	memset(c->class_of, 0, (size_t)c->segment_count * sizeof(u32));
	c->class_count = 1;
	c->members[0] = c->segment_count;
	for (i = 0; region_at(c, i, &region); i++) {
		err = refine(c, &region);
		if (err)
			return err;
	}
	return collect(c);
}
