/* SPDX-License-Identifier: MIT */
/*
 * A small network in a runtime that looks like TensorFlow Lite's, of operators that npumem's engine
 * computes. Floats are small integers, so what must come out is exact.
 */
#pragma once

#include "fake_runtime.h"

enum { ROWS = 4, COLUMNS = 4, CHANNELS = 2, MANY = 4, VALUES = ROWS * COLUMNS * CHANNELS };

/* Its tensors: what comes in and goes out, parameters, and what is in between. */
enum { IN, WEIGHTS, BIAS, FIRST, SECOND, TO_MANY, WIDE, TO_FEW, THIRD, LAST, TENSORS };

/* Its operators: a convolution, RELU, two convolutions, and the sum of their output and FIRST. */
#define NETWORK_OPERATORS 5

struct fake *network_new(void);
/* The shape of a tensor, of so many rows where it has rows; returns how many dimensions it has. */
int network_shape(int tensor, int rows, int shape[4]);
/* Give a tensor of floats another shape. */
void network_resize(struct tfl_tensor *t, int rank, const int *shape);
/* Numbers as the runtime has them; free() it. */
struct tfl_ints *network_ints(int count, const int *values);
/* Fill the input with whole numbers that a seed gives. */
void network_fill(struct fake *fake, int seed);
/*
 * What must come out, each value from those of its place
 * @doubled: where RELU stands what is there is doubled
 */
void network_compute(const float *in, float *out, int places, bool doubled);
