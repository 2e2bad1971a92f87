/* SPDX-License-Identifier: MIT */
/* Floats in attributes of commands, which are 32-bit integers: they are there as their bits. */
#pragma once

#include <stdint.h>
#include <string.h>

/** engine_float() - the float whose bits an attribute has */
static inline float engine_float(int32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/** engine_bits() - the attribute that a float is */
static inline int32_t engine_bits(float value)
{
	int32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}
