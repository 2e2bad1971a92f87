/* SPDX-License-Identifier: MIT */
/*
 * Fixed-point arithmetic of quantized networks, as TensorFlow Lite's reference kernels and
 * gemmlowp define it: every result is determined to the last bit.
 *
 * Fixed-point numbers have @bits bits, 16 or 32, and are held in an int32_t; of @bits - 1 below
 * the sign @integer_bits are before the point. Functions without that say take and give numbers
 * below 1 in magnitude.
 */
#pragma once

#include <stdint.h>

/** fixed_multiply_high() - a b / 2^(bits - 1), rounded to nearest, halves up, saturated */
static inline int32_t fixed_multiply_high(int bits, int32_t a, int32_t b)
{
	int64_t half = INT64_C(1) << (bits - 2), high = ((int64_t)a * b + half) >> (bits - 1);

	/* The largest is that of two that are smallest. */
	return (int32_t)(high > half * 2 - 1 ? half * 2 - 1 : high);
}

/** fixed_divide_pot() - x / 2^exponent, rounded to nearest, halves away from zero */
static inline int32_t fixed_divide_pot(int32_t x, int exponent)
{
	int64_t mask = (INT64_C(1) << exponent) - 1;
	int64_t threshold = (mask >> 1) + (x < 0);

	return (int32_t)(((int64_t)x >> exponent) + ((x & mask) > threshold));
}

/** fixed_shift_left() - x 2^exponent, saturated to @bits bits */
int32_t fixed_shift_left(int bits, int32_t x, int exponent);

/**
 * fixed_rescale() - x multiplier 2^(shift - 31)
 * @x: the number
 * @multiplier: mantissa, at least 0
 * @shift: exponent, -31 to 30
 *
 * It rounds twice, as TFLite's MultiplyByQuantizedMultiplier() does without its option for
 * single rounding. Nothing here is wider than a product, and nothing branches, so that loops of it
 * become vectors: with a multiplier of at least 0 fixed_multiply_high() does not saturate.
 */
static inline int32_t fixed_rescale(int32_t x, int32_t multiplier, int shift)
{
	int left = shift > 0 ? shift : 0, right = left - shift;
	int64_t product = (int64_t)(int32_t)((uint32_t)x << left) * multiplier;
	int32_t high = (int32_t)((uint64_t)(product + (INT64_C(1) << 30)) >> 31);
	int32_t mask = (int32_t)((1u << right) - 1);

	return (high >> right) + ((high & mask) > (mask >> 1) + (high < 0));
}

/**
 * fixed_quantize() - the multiplier and shift of a factor
 * @factor: at least 0
 * @multiplier: out: 0, or 2^30 to 2^31 - 1
 * @shift: out: -31 to 30; a factor below is 0, one above the largest there is
 */
void fixed_quantize(double factor, int32_t *multiplier, int32_t *shift);

/** fixed_exp() - e^x of x <= 0 */
int32_t fixed_exp(int bits, int32_t x, int integer_bits);
/** fixed_reciprocal() - 1 / (1 + x) of x from 0 to 1 */
int32_t fixed_reciprocal(int bits, int32_t x);
/** fixed_logistic() - 1 / (1 + e^-x) */
int32_t fixed_logistic(int bits, int32_t x, int integer_bits);
/** fixed_tanh() - hyperbolic tangent */
int32_t fixed_tanh(int bits, int32_t x, int integer_bits);
