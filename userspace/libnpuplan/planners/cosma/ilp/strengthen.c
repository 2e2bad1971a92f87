// SPDX-License-Identifier: MIT
/*
 * Rows that Eq. 1 to 7 imply for whole numbers: they take away no solution, but bound
 * the fractional ones by which a solver searches. Only what operators hand on outside the
 * scratchpad is ordered by "before" alone.
 */
#include "encode.h"

/* Operator @v has run by timestep @t: factor times that, into the last row. */
static void add_run(struct ilp_encoding *encoding, uint32_t v, uint32_t t, int64_t factor)
{
	for (uint32_t k = encoding->early[v]; k <= encoding->late[v] && k <= t; k++)
		ilp_term(&encoding->program, encoding->c[ilp_at(encoding, encoding->output[v], k)],
			 factor);
}

/* Tensor @a has been created by timestep @t. */
static void add_created(struct ilp_encoding *encoding, uint32_t a, uint32_t t, int64_t factor)
{
	const struct ilp_tensor *tensor = &encoding->tensor[a];

	for (uint32_t k = tensor->first; k <= tensor->created && k <= t; k++)
		ilp_term(&encoding->program, encoding->c[ilp_at(encoding, a, k)], factor);
}

/* Whoever has run by @t, what it depends on had run by t - 1. */
static void precede(struct ilp_encoding *encoding, uint32_t u, uint32_t v)
{
	for (uint32_t t = encoding->early[v]; t < encoding->late[v]; t++) {
		ilp_row(&encoding->program,
			(struct ilp_name){ "before", encoding->output[u], encoding->output[v], t },
			ILP_MIN, 0);
		add_run(encoding, v, t, 1);
		add_run(encoding, u, t - 1, -1);
	}
}

/* What is made and still to be used by @v is on chip, or comes back later. */
static void keep_or_return(struct ilp_encoding *encoding, uint32_t b, uint32_t v)
{
	const struct ilp_tensor *tensor = &encoding->tensor[b];

	for (uint32_t t = tensor->first + 1; t <= encoding->late[v]; t++) {
		size_t at = ilp_at(encoding, b, t);

		ilp_row(&encoding->program, (struct ilp_name){ "live", b, encoding->output[v], t },
			0, ILP_MAX);
		/* Created by t - 1 and not used by then: so it is here, or returns. */
		ilp_term(&encoding->program, encoding->p[at], 1);
		for (uint32_t k = t; k <= encoding->late[v]; k++)
			ilp_term(&encoding->program, encoding->r[ilp_at(encoding, b, k)], 1);
		add_created(encoding, b, t - 1, -1);
		add_run(encoding, v, t - 1, 1);
	}
}

void ilp_strengthen(struct ilp_encoding *encoding)
{
	const struct cosma_model *model = encoding->source.model;

	for (uint32_t v = 0; v < model->op_count; v++) {
		cosma_for_each(k, model->before, v)
			precede(encoding, model->before.item[k], v);
		cosma_for_each(k, model->inputs, v)
			keep_or_return(encoding, model->inputs.item[k], v);
	}
}
