/* SPDX-License-Identifier: MIT */
/*
 * A model of two branches that join, for the tests npumem_submit and npumem_fence.
 */
#pragma once

#include "npumem_model.h"

/*
 * Two branches that join, and a tensor that takes the place of a dead one:
 *
 *   X --LEFT--> A --.
 *   Z --RIGHT-> B ---JOIN--> Y        B lies where X does
 *
 * and a second reader of Z, EXTRA, so that Z outlives RIGHT.
 */
enum {
	X,
	Z,
	A,
	B,
	W,
	Y,
	TENSORS,
	LEFT = 0,
	RIGHT,
	EXTRA,
	JOIN,
	STEPS,
	SIZE = 128,
};

static inline struct model model_branches(void)
{
	struct model m = { 0 };
	uint32_t i;

	for (i = 0; i < TENSORS; i++)
		model_tensor(&m,
			     i <= Z ? NPUMEM_TENSOR_INPUT :
			     i == Y ? NPUMEM_TENSOR_OUTPUT :
				      NPUMEM_TENSOR_INTERMEDIATE,
			     SIZE);
	for (i = 0; i < TENSORS; i++)
		model_whole(&m, i);
	model_step_rw(&m, X, A);
	model_step_rw(&m, Z, B);
	model_step_rw(&m, Z, W);
	model_step(&m, 0);
	model_access(&m, A, NPUMEM_ACCESS_READ);
	model_access(&m, B, NPUMEM_ACCESS_READ);
	model_access(&m, W, NPUMEM_ACCESS_READ);
	model_access(&m, Y, NPUMEM_ACCESS_WRITE);
	for (i = 0; i < TENSORS; i++)
		model_place(&m, i, i == B ? 0 : i * SIZE);
	model_schedule(&m);
	return m;
}
