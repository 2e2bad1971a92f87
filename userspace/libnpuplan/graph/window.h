/* SPDX-License-Identifier: MIT */
/*
 * Which rows of its input an operator needs for a band of its output rows. This is integer
 * arithmetic on rows alone, without tensors and bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * struct npuplan_window - one spatial dimension of a sliding window
 * @kernel, @stride, @dilation: >= 1
 * @pad_begin: rows of padding before row 0; negative crops
 * @transposed: transposed convolution: output row i * stride - pad_begin +
 *	k * dilation takes input row i through kernel row k
 */
struct npuplan_window {
	int64_t kernel;
	int64_t stride;
	int64_t dilation;
	int64_t pad_begin;
	bool transposed;
};

/** struct npuplan_rows - rows [first, first + count) */
struct npuplan_rows {
	int64_t first;
	int64_t count;
};

/** npuplan_band() - band k of n nearly equal ones of @height rows */
struct npuplan_rows npuplan_band(int64_t height, uint32_t k, uint32_t n);

/* npuplan_window_rows() - smallest range of input rows that holds all needed ones
 * @out: output rows
 * @height: rows of the input
 *
 * The first and the last row of the result are needed; padding is clipped away. The count is 0 if
 * the band is made of padding alone.
 */
struct npuplan_rows npuplan_window_rows(const struct npuplan_window *window,
					struct npuplan_rows out, int64_t height);

/* npuplan_upsample_rows() - input rows that a band of an enlarged output needs
 *
 * The result is enough for nearest neighbour and for bilinear interpolation with aligned corners,
 * with half-pixel centres or with neither, since a model file does not always say which. It is the
 * whole input if that is not enlarged.
 */
struct npuplan_rows npuplan_upsample_rows(struct npuplan_rows out, int64_t out_height,
					  int64_t in_height);
