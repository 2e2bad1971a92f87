// SPDX-License-Identifier: MIT
/* How large a program would be, before it takes memory. */
#include <errno.h>
#include <inttypes.h>

#include "encode.h"

/* Pairs of tensor and timestep: each takes five column numbers. */
#define CELLS (1u << 25)

/* Columns C, P, S, R, L, and rows of Eq. 11. */
static void count_tensors(const struct ilp_encoding *encoding, bool peak, uint64_t *columns,
			  uint64_t *rows)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++) {
		const struct ilp_tensor *tensor = &encoding->tensor[a];
		uint64_t steps = tensor->last - tensor->first, used = ilp_is_used(encoding, a);

		*columns += tensor->created - tensor->first + 1ull;
		*columns += used * steps * (tensor->host ? 2 : 3);
		*columns += peak ? 0 : steps + 1;
		*rows += peak ? 0 : used * 2 * steps;
	}
}

/* Columns u, d, and rows of Eq. 10. */
static void count_pairs(const struct ilp_encoding *encoding, uint64_t *columns, uint64_t *rows)
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		for (uint32_t b = a + 1; b < encoding->tensor_count; b++) {
			const struct ilp_tensor *one = &encoding->tensor[a];
			const struct ilp_tensor *other = &encoding->tensor[b];
			uint32_t first = one->first > other->first ? one->first : other->first;
			uint32_t last = one->last < other->last ? one->last : other->last;
			bool apart = one->size + other->size > encoding->budget;

			if (first > last || !one->size || !other->size ||
			    !ilp_may_meet(encoding, a, b))
				continue;
			*columns += apart ? 0 : 2 * ((uint64_t)last - first + 1);
			*rows += (apart ? 1 : 4) * ((uint64_t)last - first + 1);
		}
}

int ilp_check_size(const struct ilp_encoding *encoding, struct npuplan_error *error)
{
	bool peak = encoding->solve->options->common.objective == NPUPLAN_OBJECTIVE_PEAK;
	uint64_t columns = 0, rows = 0;

	count_tensors(encoding, peak, &columns, &rows);
	if (columns + rows <= ILP_LIMIT) {
		if ((uint64_t)encoding->tensor_count * encoding->steps > CELLS)
			return npuplan_fail(error, -E2BIG,
					    "the integer program of %" PRIu32 " tensors at %" PRIu32
					    " timesteps is too large: at most %u pairs of both",
					    encoding->tensor_count, encoding->steps, CELLS);
		if (!peak)
			count_pairs(encoding, &columns, &rows);
	}
	if (columns + rows <= ILP_LIMIT)
		return 0;
	return npuplan_fail(error, -E2BIG,
			    "the integer program is too large: at least %" PRIu64
			    " columns and %" PRIu64 " rows; at most %u of both together",
			    columns, rows, ILP_LIMIT);
}
