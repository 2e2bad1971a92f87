/* SPDX-License-Identifier: MIT */
/*
 * The inner loop of convolutions: several places of the output and several channels at a time, so
 * that sums stay in registers. Vectors go across channels; each sum has its terms in the order of
 * the patch.
 *
 * Memory is in units of 64 bytes, a unit for the channels of one block: 16 integers, or 8 numbers
 * in double precision. All of it is aligned to 64.
 */
#pragma once

#include <stdint.h>

/* Places of the output that are computed together. */
#define BLOCK_PLACES	      6
#define BLOCK_UNIT	      64
/* Channels of a block, by the bytes of a sum. */
#define BLOCK_CHANNELS(bytes) ((int64_t)(BLOCK_UNIT / (bytes)))

/**
 * engine_block_integers() - sums of products, which wrap
 * @patches: BLOCK_PLACES times @size elements of the input
 * @weights: per block @size units
 * @begin: per block a unit: what sums begin with
 * @size: elements of a patch
 * @blocks: how many there are
 * @sums: out: BLOCK_PLACES times @blocks units
 */
void engine_block_integers(const int32_t *patches, const int32_t *weights, const int32_t *begin,
			   int64_t size, int64_t blocks, int32_t *sums);

/* engine_block_floats() - the same in double precision, each sum in the order of the patch */
void engine_block_floats(const double *patches, const double *weights, const double *begin,
			 int64_t size, int64_t blocks, double *sums);
