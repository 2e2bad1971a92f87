// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sorting, growing and grouping of arrays.
 */
#include "base.h"

/* Merge two sorted runs, from[lo, mid) and from[mid, hi), into to[lo, hi). */
static void merge(const u64 *from, u64 *to, u32 lo, u32 mid, u32 hi)
{
	u32 a = lo, b = mid, i;

	for (i = lo; i < hi; i++) {
		if (b == hi || (a < mid && from[a] <= from[b]))
			to[i] = from[a++];
		else
			to[i] = from[b++];
	}
}

static bool sorted(const u64 *values, u32 count)
{
	u32 i;

	for (i = 1; i < count; i++)
		if (values[i - 1] > values[i])
			return false;
	return true;
}

/*
 * Bottom-up merge sort. The kernel's sort() can neither be interrupted nor
 * yield, and millions of values take it seconds.
 */
int npuv_sort(struct npuv_work *w, u64 *values, u32 count)
{
	u64 *from = values, *to, *swap;
	u64 width, lo;
	int err;

	if (sorted(values, count))
		return 0;
	if (count > w->spare_count) {
		npuv_free(w->spare);
		w->spare = npuv_alloc_array(count, sizeof(u64));
		w->spare_count = w->spare ? count : 0;
		if (!w->spare)
			return -ENOMEM;
	}
	to = w->spare;
	for (width = 1; width < count; width *= 2) {
		for (lo = 0; lo < count; lo += 2 * width) {
			u64 mid = lo + width < count ? lo + width : count;
			u64 hi = mid + width < count ? mid + width : count;

			merge(from, to, (u32)lo, (u32)mid, (u32)hi);
		}
		err = count < NPUV_TICKS ? 0 : npuv_interrupted();
		if (err)
			return err;
		swap = from;
		from = to;
		to = swap;
	}
	if (from != values)
		memcpy(values, from, (size_t)count * sizeof(*values));
	return 0;
}

int npuv_sort_unique(struct npuv_work *w, u64 *values, u32 *count)
{
	int err = npuv_sort(w, values, *count);
	u32 i, n = 0;

	for (i = 0; i < *count; i++)
		if (!n || values[n - 1] != values[i])
			values[n++] = values[i];
	*count = n;
	return err;
}

u32 npuv_upper_bound(const u64 *values, u32 count, u64 value)
{
	u32 lo = 0;

	npuv_bisect(lo, count, i, values[i] <= value);
	return lo;
}

static bool vector_resize(struct npuv_vector *v, u32 capacity)
{
	void *data = npuv_alloc_array(capacity, v->size);

	if (!data)
		return false;
	if (v->data)
		memcpy(data, v->data, (size_t)v->count * v->size);
	npuv_free(v->data);
	v->data = data;
	v->capacity = capacity;
	return true;
}

void *npuv_vector_add(struct npuv_vector *v, u32 n)
{
	u32 count, capacity;

	if (check_add_overflow(v->count, n, &count) || count > U32_MAX / 2)
		return NULL;
	if (count > v->capacity || !v->data) {
		capacity = v->capacity < 32 ? 64 : 2 * v->capacity;
		if (!vector_resize(v, capacity > count ? capacity : count))
			return NULL;
	}
	count = v->count;
	v->count += n;
	return (u8 *)v->data + (size_t)count * v->size;
}

void *npuv_vector_take(struct npuv_vector *v)
{
	void *data;

	if ((v->count != v->capacity || !v->data) && !vector_resize(v, v->count))
		return NULL;
	data = v->data;
	v->data = NULL;
	v->count = 0;
	v->capacity = 0;
	return data;
}

void npuv_vector_clear(struct npuv_vector *v)
{
	if (v->count)
		memset(v->data, 0, (size_t)v->count * v->size);
	v->count = 0;
}

int npuv_pair_add(struct npuv_vector *pairs, u32 key, u32 value)
{
	struct npuv_pair *pair = npuv_vector_add(pairs, 1);

	if (!pair)
		return -ENOMEM;
	pair->key = key;
	pair->value = value;
	return 0;
}

int npuv_group(struct npuv_work *w, int err, struct npuv_vector *pairs, u32 keys, u32 **start,
	       void *values)
{
	u32 i, k, at, *first, *out, size = pairs->size / sizeof(u32) - 1;
	const u32 *pair = pairs->data;

	if (err)
		goto out;
	/* There is one entry more, since counts are gathered shifted by two, see below. */
	first = npuv_alloc_array((u64)keys + 2, sizeof(u32));
	out = npuv_alloc_array(pairs->count, size * sizeof(u32));
	*start = first;
	memcpy(values, &out, sizeof(out));
	err = first && out ? 0 : -ENOMEM;
	if (err)
		goto out;
	for (i = 0; i < pairs->count; i++)
		first[pair[(size_t)i * (size + 1)] + 2]++;
	for (i = 2; i < keys + 2; i++)
		first[i] += first[i - 1];
	err = npuv_interrupted();
	if (err)
		goto out;
	/* first[key + 1] runs from the group's begin to its end, the next one's begin. */
	for (i = 0; i < pairs->count; i++, pair += size + 1) {
		at = first[pair[0] + 1]++;
		for (k = 0; k < size; k++)
			out[(size_t)at * size + k] = pair[1 + k];
	}
	err = npuv_visit(w, 0);
out:
	npuv_free(pairs->data);
	*pairs = (struct npuv_vector){ .size = pairs->size };
	return err;
}
