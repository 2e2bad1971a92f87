/* SPDX-License-Identifier: MIT */
/* Sounds as inputs: WAV files of one channel with 16 bits a sample (PCM). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "refusal.h"
#include "shape.h"

/*
 * sound_fill() - the samples of a WAV file as the values of a tensor
 * @file, @size: what the file has
 * @data: @shape->bytes bytes, which are filled
 * @samples: out: how many samples the file has; where the tensor takes more, silence follows, and
 *	where it takes less, its end is not heard
 *
 * A sample of -32768 to 32767 is itself where the tensor has 16-bit integers, and -1 to (below) 1
 * where it has floats or 8-bit integers, quantised as the model says.
 *
 * -EOPNOTSUPP: the tensor is none of a sound, or the file is of another kind; -EINVAL: no WAV file,
 * or a damaged one.
 */
int sound_fill(const void *file, size_t size, const struct shape *shape, void *data,
	       size_t *samples, struct refusal *why);
