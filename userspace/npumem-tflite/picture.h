/* SPDX-License-Identifier: MIT */
/* Pictures as inputs: PNG files, by libpng, in the size that a model takes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "refusal.h"
#include "shape.h"

/* enum pixels - what real number a pixel of 0, and one of 255, is for models of floats */
enum pixels {
	PIXELS_SIGNED,	 /* -1 and 1 */
	PIXELS_UNSIGNED, /* 0 and 1 */
	PIXELS_BYTES,	 /* 0 and 255 */
};

/*
 * picture_fill() - a PNG file as the values of a tensor
 * @file, @size: what the file has
 * @data: @shape->bytes bytes, which are filled
 *
 * The picture is stretched to the tensor's height and width (bilinear), and becomes grey where the
 * tensor has one channel; what is transparent lies on black. Pixels of 0 to 255 are the whole range
 * of a tensor of 8-bit integers: what converters of models quantise pictures to.
 *
 * -EOPNOTSUPP: the tensor is none of a picture; -EINVAL: no PNG file, or a damaged one; -EFBIG: one
 * of more than 2^26 pixels; -ENOMEM.
 */
int picture_fill(const void *file, size_t size, enum pixels pixels, const struct shape *shape,
		 void *data, struct refusal *why);
