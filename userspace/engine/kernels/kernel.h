/* SPDX-License-Identifier: MIT */
/*
 * Between command.c and the operators. A kernel sees tiles whose elements lie one behind the
 * other (N x H x W x C), none of whose bytes is another's, and which have been checked to be
 * within their tensors.
 *
 * The same element is the same bytes whatever tile it is computed in: integers are exact, and
 * sums of floats are added in one order, in double precision, and rounded once.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "bits.h"
#include "npumem_command.h"

/* Loops for what the machine has: the results are the same. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
	!defined(__SANITIZE_ADDRESS__)
#define ENGINE_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define ENGINE_CLONES
#endif

enum { DIM_N, DIM_H, DIM_W, DIM_C };

/*
 * struct engine_tile - an operand
 * @count: elements
 * @elem: bytes of one
 * @data: dense, aligned to an element; not there while a command is checked
 */
struct engine_tile {
	uint8_t type;
	uint8_t mode;
	uint8_t elem;
	int32_t zero_point;
	int64_t dims[NPUMEM_COMMAND_DIMS];
	int64_t shape[NPUMEM_COMMAND_DIMS];
	int64_t origin[NPUMEM_COMMAND_DIMS];
	uint64_t count;
	void *data;
};

/*
 * struct engine_call - what a kernel is to compute
 * @scratch: as many bytes as its scratch() said, aligned to 64
 * @why: out of a check that fails: a sentence
 */
struct engine_call {
	const struct engine_tile *tiles;
	uint32_t tile_count;
	const struct npumem_command_scale *scales;
	uint32_t scale_count;
	const int32_t *attributes;
	void *scratch;
	const char *why;
};

/*
 * struct engine_kernel - an operator
 * @updates: bit set of the operands that are updated; the first is written, others are read
 * @splits: all but the last are written
 * @check: 0, -EINVAL or -EOPNOTSUPP; looks at no data
 * @scratch: bytes; NULL: none. Called of what was checked
 */
struct engine_kernel {
	const char *name;
	uint32_t min_tiles;
	uint32_t max_tiles;
	uint32_t attributes;
	uint32_t updates;
	bool splits;
	int (*check)(struct engine_call *call);
	uint64_t (*scratch)(const struct engine_call *call);
	void (*run)(const struct engine_call *call);
};

extern const struct engine_kernel engine_copy, engine_convert, engine_add, engine_mul, engine_conv,
	engine_depthwise, engine_average_pool, engine_max_pool, engine_softmax, engine_logistic,
	engine_tanh, engine_pad, engine_concatenation, engine_resize_bilinear,
	engine_resize_nearest, engine_lstm, engine_slice, engine_split;

static inline int engine_refuse(struct engine_call *call, int err, const char *why)
{
	call->why = why;
	return err;
}

/* 8-bit integers. */
static inline bool is_byte(const struct engine_tile *tile)
{
	return tile->type == NPUMEM_COMMAND_INT8 || tile->type == NPUMEM_COMMAND_UINT8;
}

static inline bool is_float(const struct engine_tile *tile)
{
	return tile->type == NPUMEM_COMMAND_FLOAT32;
}

/** engine_integer() - element of a tile of integers, without its zero point */
static inline int32_t engine_integer(const struct engine_tile *tile, uint64_t index)
{
	int32_t value = 0;

	switch (tile->type) {
	case NPUMEM_COMMAND_INT8:
		value = (int16_t)((const int8_t *)tile->data)[index];
		break;
	case NPUMEM_COMMAND_UINT8:
		value = ((const uint8_t *)tile->data)[index];
		break;
	case NPUMEM_COMMAND_INT16:
		value = ((const int16_t *)tile->data)[index];
		break;
	case NPUMEM_COMMAND_INT32:
		value = ((const int32_t *)tile->data)[index];
		break;
	}
	return value - tile->zero_point;
}

/** engine_range() - smallest and largest integer of a type */
void engine_range(uint8_t type, int32_t *min, int32_t *max);

/** engine_store() - an integer as an element of a tile, clamped to @min and @max */
void engine_store(const struct engine_tile *tile, uint64_t index, int32_t value, int32_t min,
		  int32_t max);

/* engine_check_clamp() - that two attributes are a range of the output's type
 * @attributes: smallest, largest
 */
int engine_check_clamp(struct engine_call *call, const int32_t *attributes);

/** engine_same_box() - whether two tiles are the same part of tensors of the same shape */
bool engine_same_box(const struct engine_tile *a, const struct engine_tile *b);

/** engine_centered() - @count 8-bit integers from @index on, without the zero point */
static inline void engine_centered(const struct engine_tile *tile, uint64_t index, int64_t count,
				   int16_t *out)
{
	const uint8_t *bytes = (const uint8_t *)tile->data + index;
	int16_t zero = (int16_t)tile->zero_point;

	if (tile->type == NPUMEM_COMMAND_INT8)
		for (int64_t i = 0; i < count; i++)
			out[i] = (int16_t)((int8_t)bytes[i] - zero);
	else
		for (int64_t i = 0; i < count; i++)
			out[i] = (int16_t)(bytes[i] - zero);
}

/** engine_clamp() - a value within a range */
static inline int32_t engine_clamp(int32_t value, int32_t min, int32_t max)
{
	return value < min ? min : value > max ? max : value;
}

static inline float engine_clamp_float(float value, float min, float max)
{
	return value < min ? min : value > max ? max : value;
}

/* A window of a convolution or pool, by H and W. */
struct engine_window {
	int64_t stride[2];
	int64_t dilation[2];
	int64_t pad[2];
	int64_t kernel[2];
};

/* engine_window() - what the attributes say
 *
 * Refuses a window that needs rows or columns of the input which are not in its tile.
 */
int engine_window(struct engine_call *call, struct engine_window *window);

/*
 * struct engine_taps - of a window at one place along one dimension, what is in the tensor
 * @first, @end: taps
 * @at: where tap 0 lies in the input's tile; it may be outside
 */
struct engine_taps {
	int64_t first;
	int64_t end;
	int64_t at;
};

/** engine_taps() - @d: 0 for H, 1 for W; @out: of the output's tile */
static inline struct engine_taps engine_taps(const struct engine_window *window,
					     const struct engine_tile *input,
					     const struct engine_tile *output, int d, int64_t out)
{
	int64_t dilation = window->dilation[d];
	int64_t at = (out + output->origin[1 + d]) * window->stride[d] - window->pad[d];
	int64_t left = input->shape[1 + d] - at;
	struct engine_taps taps = {
		.first = at < 0 ? (-at + dilation - 1) / dilation : 0,
		.end = left <= 0 ? 0 : (left + dilation - 1) / dilation,
		.at = at - input->origin[1 + d],
	};

	if (taps.end > window->kernel[d])
		taps.end = window->kernel[d];
	return taps;
}

/* Index of an element of a tile. */
static inline uint64_t engine_index(const struct engine_tile *tile, int64_t n, int64_t h, int64_t w,
				    int64_t c)
{
	return (uint64_t)(((n * tile->dims[DIM_H] + h) * tile->dims[DIM_W] + w) *
				  tile->dims[DIM_C] +
			  c);
}
