/* SPDX-License-Identifier: MIT */
/*
 * A small streaming model, as wake words are: each inference gets two rows of floats, and what it
 * makes depends on those of all inferences before. Its state is two resource variables: a window of
 * the last six rows, and a sum that fades; CALL_ONCE says what they begin with. And the same once
 * more in plain C.
 */
#pragma once

#include "tflite_build.h"

#define STREAM_CHANNELS 8
#define STREAM_NEW	2
#define STREAM_OLD	6
#define STREAM_ROWS	(STREAM_NEW + STREAM_OLD)
#define STREAM_HALF	(STREAM_CHANNELS / 2)
#define STREAM_INPUTS	(STREAM_NEW * STREAM_CHANNELS)
#define STREAM_OUTPUTS	(STREAM_ROWS * STREAM_HALF)

/* struct stream - the state, row by row */
struct stream {
	float window[STREAM_OLD][STREAM_CHANNELS];
	float sum[STREAM_ROWS][STREAM_HALF];
};

/** stream_model() - the model; what it points to stays as it is */
struct tb_model stream_model(void);
/** stream_fill() - random numbers from -1 to 1, which @seed gives */
void stream_fill(float *values, size_t count, uint32_t seed);
/** stream_begin() - the state before the first inference */
void stream_begin(struct stream *stream);
/** stream_step() - one inference; @out: STREAM_OUTPUTS of them, as the model has them */
void stream_step(struct stream *stream, const float in[STREAM_INPUTS], float *out);
