// SPDX-License-Identifier: MIT
#include "fixed.h"

#include <math.h>

static int32_t largest(int bits)
{
	return bits == 16 ? INT16_MAX : INT32_MAX;
}

static int32_t saturated(int bits, int64_t x)
{
	int64_t max = largest(bits);

	return (int32_t)(x > max ? max : x < -max - 1 ? -max - 1 : x);
}

int32_t fixed_shift_left(int bits, int32_t x, int exponent)
{
	return saturated(bits, (int64_t)x * (INT64_C(1) << exponent));
}

void fixed_quantize(double factor, int32_t *multiplier, int32_t *shift)
{
	int exponent;
	int64_t mantissa = (int64_t)round(frexp(factor, &exponent) * (double)(INT64_C(1) << 31));

	if (mantissa == INT64_C(1) << 31) {
		mantissa /= 2;
		exponent++;
	}
	if (exponent < -31) {
		mantissa = 0;
		exponent = 0;
	}
	if (exponent > 30) {
		mantissa = INT32_MAX;
		exponent = 30;
	}
	*multiplier = (int32_t)mantissa;
	*shift = exponent;
}

/* A constant that is given with 31 bits below the sign. */
static int32_t constant(int bits, int32_t value)
{
	return bits == 16 ? fixed_divide_pot(value, 16) : value;
}

/* Sums wrap as the machine's do. */
static int32_t add(int32_t a, int32_t b)
{
	return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* e^x of x from -1/4 to 0: Taylor's series around -1/8. */
static int32_t exp_of_quarter(int bits, int32_t a)
{
	int32_t factor = constant(bits, 1895147668); /* e^(-1/8) */
	int32_t third = constant(bits, 715827883);
	int32_t x = add(a, constant(bits, 1 << 28));
	int32_t x2 = fixed_multiply_high(bits, x, x);
	int32_t x3 = fixed_multiply_high(bits, x2, x);
	int32_t x4 = fixed_multiply_high(bits, x2, x2);
	int32_t sum;

	/* x^4 / 24 + x^3 / 6 + x^2 / 2 */
	sum = fixed_multiply_high(bits, add(fixed_divide_pot(x4, 2), x3), third);
	sum = fixed_divide_pot(add(sum, x2), 1);
	sum = fixed_multiply_high(bits, factor, add(x, sum));
	return bits == 16 ? saturated(bits, (int64_t)factor + sum) : add(factor, sum);
}

int32_t fixed_exp(int bits, int32_t x, int integer_bits)
{
	/* e^(-2^i), of i from -2 on. */
	static const int32_t powers[] = { 1672461947, 1302514674, 790015084, 290630308,
					  39332535,   720401,	  242 };
	int fraction_bits = bits - 1 - integer_bits;
	int32_t quarter = INT32_C(1) << (fraction_bits - 2);
	int32_t within = (x & (quarter - 1)) - quarter;
	int32_t result = exp_of_quarter(bits, fixed_shift_left(bits, within, integer_bits));
	int32_t rest = add(within, (int32_t)(0u - (uint32_t)x));

	for (int i = -2; i <= 4; i++)
		if (integer_bits > i && rest & INT32_C(1) << (fraction_bits + i))
			result = fixed_multiply_high(bits, result, constant(bits, powers[i + 2]));
	if (integer_bits > 5 && x < -(INT32_C(1) << (fraction_bits + 5)))
		result = 0;
	return x ? result : largest(bits);
}

/* Newton and Raphson: 2 / (1 + x) with two bits before the point, x from 0 to 1. */
static int32_t two_over(int bits, int32_t a)
{
	int64_t sum = (int64_t)a + largest(bits);
	int32_t half = (int32_t)((sum + (sum >= 0 ? 1 : -1)) / 2);
	int32_t one = INT32_C(1) << (bits - 3);
	int32_t x = add(constant(bits, 1515870810), /* 48/17 and -32/17 */
			fixed_multiply_high(bits, half, constant(bits, -1010580540)));

	for (int i = 0; i < 3; i++) {
		int32_t rest = add(one, -fixed_multiply_high(bits, half, x));

		x = add(x, fixed_shift_left(bits, fixed_multiply_high(bits, x, rest), 2));
	}
	return x;
}

int32_t fixed_reciprocal(int bits, int32_t x)
{
	/* The half of it has one bit before the point. */
	return fixed_shift_left(bits, two_over(bits, x), 1);
}

static int32_t magnitude(int bits, int32_t x)
{
	return x < -largest(bits) ? x : x < 0 ? -x : x;
}

int32_t fixed_logistic(int bits, int32_t x, int integer_bits)
{
	int32_t negative = magnitude(bits, x), result;

	if (!x)
		return INT32_C(1) << (bits - 2);
	if (negative > 0)
		negative = -negative;
	result = fixed_reciprocal(bits, fixed_exp(bits, negative, integer_bits));
	return x > 0 ? result : largest(bits) - result;
}

int32_t fixed_tanh(int bits, int32_t x, int integer_bits)
{
	int32_t negative = magnitude(bits, x), result;

	if (!x)
		return 0;
	if (negative > 0)
		negative = -negative;
	/* (1 - e^-2x) / (1 + e^-2x); twice x are the same bits with the point moved. */
	result = two_over(bits, fixed_exp(bits, negative, integer_bits + 1));
	result = fixed_shift_left(bits, add(result, -(INT32_C(1) << (bits - 3))), 2);
	return x < 0 ? -result : result;
}
