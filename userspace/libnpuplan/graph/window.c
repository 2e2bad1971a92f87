// SPDX-License-Identifier: MIT
/* Rows of an input that a band of the output needs, halos included. */
#include "window.h"

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

struct npuplan_rows npuplan_band(int64_t height, uint32_t k, uint32_t n)
{
	int64_t first = height * k / n;

	return (struct npuplan_rows){ first, height * (k + 1) / n - first };
}

/*
 * Find the least and the greatest row i = o * stride + shift with o in [first, last] and i in [0,
 * height); false: there is none.
 */
static bool strided_rows(int64_t first, int64_t last, int64_t stride, int64_t shift, int64_t height,
			 int64_t *lo, int64_t *hi)
{
	first = max64(first, ceil_div(-shift, stride));
	last = min64(last, floor_div(height - 1 - shift, stride));
	*lo = first * stride + shift;
	*hi = last * stride + shift;
	return first <= last;
}

/*
 * Find the least and the greatest row i in [0, height) with i * stride = o + shift and o in [first,
 * last]; false: there is none.
 */
static bool divided_rows(int64_t first, int64_t last, int64_t stride, int64_t shift, int64_t height,
			 int64_t *lo, int64_t *hi)
{
	*lo = max64(0, ceil_div(first + shift, stride));
	*hi = min64(height - 1, floor_div(last + shift, stride));
	return *lo <= *hi;
}

struct npuplan_rows npuplan_window_rows(const struct npuplan_window *w, struct npuplan_rows out,
					int64_t height)
{
	int64_t first = out.first, last = out.first + out.count - 1;
	int64_t min = INT64_MAX, max = -1;

	/*
	 * This goes kernel row by kernel row. With dilation the outermost one may fall on padding
	 * while an inner one does not, so that the whole window, clipped, would have too many rows.
	 */
	for (int64_t k = 0; k < w->kernel; k++) {
		int64_t shift = k * w->dilation - w->pad_begin, lo, hi;
		bool any = w->transposed ?
				   divided_rows(first, last, w->stride, -shift, height, &lo, &hi) :
				   strided_rows(first, last, w->stride, shift, height, &lo, &hi);

		if (any) {
			min = min64(min, lo);
			max = max64(max, hi);
		}
	}
	if (max < 0)
		return (struct npuplan_rows){ 0, 0 };
	return (struct npuplan_rows){ min, max - min + 1 };
}

struct npuplan_rows npuplan_upsample_rows(struct npuplan_rows out, int64_t out_height,
					  int64_t in_height)
{
	int64_t first = out.first, last = out.first + out.count - 1, lo, hi;

	if (in_height >= out_height || in_height < 2)
		return (struct npuplan_rows){ 0, in_height };
	/* Of the three ways, half-pixel centres begin lowest: (o + 1/2) * in / out - 1/2. */
	lo = floor_div((2 * first + 1) * in_height - out_height, 2 * out_height);
	hi = ceil_div((2 * last + 1) * in_height - out_height, 2 * out_height);
	/* TFLite's default, o * in / out, ends highest. */
	hi = max64(hi, ceil_div(last * in_height, out_height));
	/* Aligned corners are o * (in - 1) / (out - 1), which may be lower or higher than both. */
	lo = min64(lo, floor_div(first * (in_height - 1), out_height - 1));
	hi = max64(hi, ceil_div(last * (in_height - 1), out_height - 1));
	lo = max64(lo, 0);
	hi = min64(hi, in_height - 1);
	return (struct npuplan_rows){ lo, hi - lo + 1 };
}
