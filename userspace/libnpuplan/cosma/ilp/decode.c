// SPDX-License-Identifier: MIT
/* From a solution of the program to a schedule with addresses. */
#include <stdlib.h>

#include "decode.h"

static bool is_set(const double *value, uint32_t column)
{
	return column != ILP_NONE && value[column] > 0.5;
}

static void read_order(const struct ilp_encoding *encoding, const double *value,
		       struct cosma_schedule *schedule)
{
	for (uint32_t v = 0; v < encoding->source.model->op_count; v++)
		for (uint32_t t = encoding->early[v]; t <= encoding->late[v]; t++)
			if (is_set(value, encoding->c[ilp_at(encoding, encoding->output[v], t)]))
				schedule->order[t - 1] = v;
}

/* Timestep at which a tensor is created. */
static uint32_t created_at(const struct ilp_encoding *encoding, const double *value, uint32_t a)
{
	uint32_t t = encoding->tensor[a].first;

	while (t < encoding->tensor[a].created &&
	       !is_set(value, encoding->c[ilp_at(encoding, a, t)]))
		t++;
	return t;
}

void ilp_read_schedule(const struct ilp_encoding *encoding, const double *value,
		       struct cosma_schedule *schedule)
{
	const struct cosma_model *model = encoding->source.model;

	read_order(encoding, value, schedule);
	cosma_schedule_order(schedule);
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		uint32_t t = created_at(encoding, value, x) + 1, use;
		/* The first use of what is loaded for it is no return. */
		bool loaded = model->producer[x] != NPUMEM_NONE || (model->flags[x] & COSMA_ENTRY);

		for
			cosma_each(k, model->consumers, x)
			{
				use = schedule->position[schedule->uses[k]] + 1;
				for (; t <= use; t++)
					if (loaded &&
					    is_set(value, encoding->r[ilp_at(encoding, x, t)]))
						schedule->away[k] = true;
				loaded = true;
			}
	}
}

/** struct placing - a stay to be placed
 * @value: the solution's address, units
 */
struct placing {
	double value;
	uint64_t size;
	uint64_t align;
	uint32_t stay;
};

static int by_address(const void *a, const void *b)
{
	const struct placing *one = a, *other = b;

	if (one->value != other->value)
		return one->value < other->value ? -1 : 1;
	return one->stay < other->stay ? -1 : 1;
}

static struct placing read_stay(const struct ilp_encoding *encoding, const double *value,
				const struct cosma_stays *stays, uint32_t i)
{
	const struct cosma_stay *stay = &stays->stay[i];
	const struct ilp_tensor *tensor;
	uint32_t a = stay->tensor;

	/* A parameter that one operator uses has a number behind the model's tensors. */
	for (uint32_t b = encoding->source.model->tensor_count;
	     stay->parameter && b < encoding->tensor_count; b++)
		if (encoding->tensor[b].graph == stay->tensor)
			a = b;
	tensor = &encoding->tensor[a];
	return (struct placing){
		.value = value[encoding->l[ilp_at(encoding, a, stay->to)]] * (double)tensor->step,
		.size = (uint64_t)(tensor->size * encoding->unit),
		.align = (uint64_t)(tensor->step * encoding->unit),
		.stay = i,
	};
}

/*
 * The solver's addresses are right to within its tolerance. Their order is what counts:
 * each stay begins where the highest of those below it ends, so that nothing moves up.
 */
int ilp_read_offsets(const struct ilp_encoding *encoding, const double *value,
		     const struct cosma_stays *stays, uint64_t *offsets)
{
	struct placing *placing = malloc(((size_t)stays->count + 1) * sizeof(*placing));

	if (!placing)
		return -ENOMEM;
	for (uint32_t i = 0; i < stays->count; i++)
		placing[i] = read_stay(encoding, value, stays, i);
	qsort(placing, stays->count, sizeof(*placing), by_address);
	for (uint32_t i = 0; i < stays->count; i++) {
		const struct cosma_stay *stay = &stays->stay[placing[i].stay];
		uint64_t offset = 0;

		for (uint32_t j = 0; j < i; j++) {
			const struct cosma_stay *below = &stays->stay[placing[j].stay];
			uint64_t end = offsets[placing[j].stay] + placing[j].size;

			if (below->from <= stay->to && stay->from <= below->to && end > offset)
				offset = end;
		}
		offset = (offset + placing[i].align - 1) / placing[i].align * placing[i].align;
		if (offset + placing[i].size > encoding->source.options->budget) {
			free(placing);
			return -EIO;
		}
		offsets[placing[i].stay] = offset;
	}
	free(placing);
	return 0;
}
