/* SPDX-License-Identifier: MIT */
/* Regions of tensors as boxes of their shapes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "npumem_graph.h"

#define TFLITE_BOX_DIMS 4

/*
 * struct tflite_box - part of a tensor of four dimensions
 * @origin, @dims: elements
 */
struct tflite_box {
	uint32_t origin[TFLITE_BOX_DIMS];
	uint32_t dims[TFLITE_BOX_DIMS];
};

/**
 * tflite_box() - the box that a region is
 * @shape: of the tensor, row-major; each at least 1
 * @elem: bytes of an element
 * @region: within the tensor
 * @box: out: what it is
 *
 * False: its bytes are not all elements of a box. If they are, their order is the box's
 * row-major one.
 */
bool tflite_box(const uint32_t shape[TFLITE_BOX_DIMS], uint32_t elem,
		const struct npumem_region *region, struct tflite_box *box);
