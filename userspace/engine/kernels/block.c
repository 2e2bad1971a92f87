// SPDX-License-Identifier: MIT
#include "block.h"

#include "kernel.h"

/* Half a unit: what a register of AVX2 holds. Other machines have it in parts. */
typedef int32_t integers __attribute__((vector_size(BLOCK_UNIT / 2)));
typedef double floats __attribute__((vector_size(BLOCK_UNIT / 2)));

ENGINE_CLONES
void engine_block_integers(const int32_t *patches, const int32_t *weights, const int32_t *begin,
			   int64_t size, int64_t blocks, int32_t *sums)
{
	const integers *unit = (const integers *)weights, *start = (const integers *)begin;
	integers *end = (integers *)sums;

	for (int64_t b = 0; b < blocks; b++, start += 2, end += 2) {
		integers left[BLOCK_PLACES], right[BLOCK_PLACES];

		for (int p = 0; p < BLOCK_PLACES; p++) {
			left[p] = start[0];
			right[p] = start[1];
		}
		for (int64_t i = 0; i < size; i++, unit += 2)
			for (int p = 0; p < BLOCK_PLACES; p++) {
				left[p] += unit[0] * patches[p * size + i];
				right[p] += unit[1] * patches[p * size + i];
			}
		for (int p = 0; p < BLOCK_PLACES; p++) {
			end[p * blocks * 2] = left[p];
			end[p * blocks * 2 + 1] = right[p];
		}
	}
}

ENGINE_CLONES
void engine_block_floats(const double *patches, const double *weights, const double *begin,
			 int64_t size, int64_t blocks, double *sums)
{
	const floats *unit = (const floats *)weights, *start = (const floats *)begin;
	floats *end = (floats *)sums;

	for (int64_t b = 0; b < blocks; b++, start += 2, end += 2) {
		floats left[BLOCK_PLACES], right[BLOCK_PLACES];

		for (int p = 0; p < BLOCK_PLACES; p++) {
			left[p] = start[0];
			right[p] = start[1];
		}
		for (int64_t i = 0; i < size; i++, unit += 2)
			for (int p = 0; p < BLOCK_PLACES; p++) {
				left[p] += unit[0] * patches[p * size + i];
				right[p] += unit[1] * patches[p * size + i];
			}
		for (int p = 0; p < BLOCK_PLACES; p++) {
			end[p * blocks * 2] = left[p];
			end[p * blocks * 2 + 1] = right[p];
		}
	}
}
