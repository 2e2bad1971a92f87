// SPDX-License-Identifier: MIT
/* Fixed-point arithmetic, against exact rational arithmetic and the math library. */
#include <math.h>

#include "fixed.h"
#include "random.h"
#include "unit.h"

#define SEED  20261123
#define TRIES 200000

/* a b / 2^shift, rounded to nearest, halves upwards: in 128 bits, by flooring. */
static int64_t nearest(__int128 product, int shift)
{
	return (int64_t)((product + ((__int128)1 << (shift - 1))) >> shift);
}

TEST(multiply_high)
{
	uint64_t seed = SEED;

	for (int i = 0; i < TRIES; i++) {
		int32_t a = (int32_t)random_next(&seed), b = (int32_t)random_next(&seed);

		assert_int_equal(fixed_multiply_high(32, a, b), nearest((__int128)a * b, 31));
		a >>= 16;
		b >>= 16;
		assert_int_equal(fixed_multiply_high(16, a, b), nearest((__int128)a * b, 15));
	}
	/* The only product that does not fit. */
	assert_int_equal(fixed_multiply_high(32, INT32_MIN, INT32_MIN), INT32_MAX);
	assert_int_equal(fixed_multiply_high(16, INT16_MIN, INT16_MIN), INT16_MAX);
	/* Halves: gemmlowp's go upwards, of negative products, too. */
	assert_int_equal(fixed_multiply_high(32, 1 << 30, 1), 1);
	assert_int_equal(fixed_multiply_high(32, 1 << 30, -1), 0);
	assert_int_equal(fixed_multiply_high(32, 1 << 30, -3), -1);
}

TEST(divide_pot)
{
	uint64_t seed = SEED;

	for (int i = 0; i < TRIES; i++) {
		int32_t x = (int32_t)random_next(&seed);
		int exponent = (int)random_range(&seed, 0, 31);
		/* Exact in double precision; halves away from zero. */
		double exact = round(ldexp(x, -exponent));

		assert_int_equal(fixed_divide_pot(x, exponent), (int32_t)exact);
	}
	assert_int_equal(fixed_divide_pot(3, 1), 2);
	assert_int_equal(fixed_divide_pot(-3, 1), -2);
	assert_int_equal(fixed_divide_pot(INT32_MIN, 31), -1);
}

TEST(shift_left)
{
	assert_int_equal(fixed_shift_left(16, 0x3fff, 1), 0x7ffe);
	assert_int_equal(fixed_shift_left(16, 0x4000, 1), INT16_MAX);
	assert_int_equal(fixed_shift_left(16, -0x4001, 1), INT16_MIN);
	assert_int_equal(fixed_shift_left(32, 0x4000, 1), 0x8000);
	assert_int_equal(fixed_shift_left(32, INT32_MIN, 31), INT32_MIN);
}

/* Within one of the exact product, since it rounds twice. */
TEST(rescale)
{
	uint64_t seed = SEED;

	for (int i = 0; i < TRIES; i++) {
		int32_t x = (int32_t)random_next(&seed) >> 10, multiplier, shift;
		double factor = ldexp(1 + (double)random_range(&seed, 0, 1 << 30) / (1 << 30),
				      -(int)random_range(&seed, 1, 20));

		fixed_quantize(factor, &multiplier, &shift);
		assert_true(fabs(fixed_rescale(x, multiplier, shift) - x * factor) <= 1.0001);
	}
	/* By powers of two it is exact, to the left, too. */
	assert_int_equal(fixed_rescale(5, 1 << 30, 4), 40);
	assert_int_equal(fixed_rescale(-40, 1 << 30, -2), -5);
	/* What is shifted out of an integer is lost as the machine loses it. */
	assert_int_equal(fixed_rescale(1 << 30, 1 << 30, 2), 0);
}

TEST(quantize)
{
	static const struct {
		double factor;
		int32_t multiplier;
		int32_t shift;
	} cases[] = {
		{ 0, 0, 0 },
		{ 1, 1 << 30, 1 },
		{ 0.75, 3 << 29, 0 },
		{ 0x1.fffffffffp-1, 1 << 30, 1 }, /* the mantissa rounds up to 1 */
		{ 0x1p-32, 1 << 30, -31 },
		{ 0x1p-33, 0, 0 }, /* too small */
		{ 0x1p29, 1 << 30, 30 },
		{ 0x1p31, INT32_MAX, 30 }, /* too large */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int32_t multiplier, shift;

		fixed_quantize(cases[i].factor, &multiplier, &shift);
		assert_int_equal(multiplier, cases[i].multiplier);
		assert_int_equal(shift, cases[i].shift);
	}
}

/* The largest distance from @exact that a function may have, in units of its result's last bit. */
static void close_to(int bits, int32_t result, double exact, double units)
{
	double scale = ldexp(1, bits - 1);

	if (fabs(result - exact * scale) > units)
		fail_msg("%d bits: %d, must be %.1f", bits, result, exact * scale);
}

TEST(curves)
{
	uint64_t seed = SEED;

	for (int i = 0; i < TRIES; i++) {
		for (int bits = 16; bits <= 32; bits += 16) {
			/* Some bits of a result of 32 are what the series leaves out. */
			double units = bits == 16 ? 20 : 2000;
			int integer = (int)random_range(&seed, 0, 6);
			int32_t x = (int32_t)random_next(&seed) >> (32 - bits);
			double value = ldexp(x, integer - bits + 1);

			if (x < 0)
				close_to(bits, fixed_exp(bits, x, integer), exp(value), units);
			close_to(bits, fixed_logistic(bits, x, integer), 1 / (1 + exp(-value)),
				 units);
			close_to(bits, fixed_tanh(bits, x, integer), tanh(value), 4 * units);
			if (x >= 0)
				close_to(bits, fixed_reciprocal(bits, x),
					 1 / (1 + ldexp(x, 1 - bits)), units);
		}
	}
	/* Both ends, and the middle. */
	assert_int_equal(fixed_exp(32, 0, 5), INT32_MAX);
	assert_int_equal(fixed_exp(32, INT32_MIN, 5), 0);
	assert_int_equal(fixed_logistic(16, 0, 3), 1 << 14);
	assert_int_equal(fixed_logistic(16, INT16_MIN, 3), 11);
	assert_int_equal(fixed_tanh(16, 0, 3), 0);
	assert_int_equal(fixed_tanh(16, INT16_MIN, 3), -INT16_MAX);
	assert_int_equal(fixed_tanh(16, INT16_MAX, 3), INT16_MAX);
}
