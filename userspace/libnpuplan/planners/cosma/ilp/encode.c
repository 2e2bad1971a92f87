// SPDX-License-Identifier: MIT
/* Which equations make the program. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"

void ilp_encoding_fini(struct ilp_encoding *encoding)
{
	ilp_fini(&encoding->program);
	free_all(encoding->tensor, encoding->early, encoding->late, encoding->output, encoding->c,
		 encoding->p, encoding->s, encoding->r, encoding->l, encoding->t);
	memset(encoding, 0, sizeof(*encoding));
}

/* Rows for every tensor and timestep at which it can be of use. */
static void each_use(struct ilp_encoding *encoding,
		     void (*rows)(struct ilp_encoding *encoding, uint32_t a, uint32_t t))
{
	for (uint32_t a = 0; a < encoding->tensor_count; a++)
		for (uint32_t t = encoding->tensor[a].first; t <= encoding->tensor[a].last; t++)
			rows(encoding, a, t);
}

int ilp_encode(struct ilp_encoding *encoding, const struct ilp_source *source,
	       struct npuplan_error *error)
{
	bool peak = source->options->common.objective == NPUPLAN_OBJECTIVE_PEAK;
	int err;

	memset(encoding, 0, sizeof(*encoding));
	encoding->source = *source;
	encoding->peak = ILP_NONE;
	err = ilp_lifetimes(encoding);
	if (!err)
		err = ilp_check_size(encoding, error);
	if (!err)
		err = ilp_make_columns(encoding);
	if (err) {
		ilp_encoding_fini(encoding);
		return err;
	}
	snprintf(encoding->program.note, sizeof(encoding->program.note),
		 "COSMA (arXiv 2311.18246): %s, %s, %u operators, %u tensors",
		 peak ? "least peak footprint, Eq. 13-15" : "least traffic, Eq. 1-12",
		 source->rank ? "fixed schedule, Eq. 16-17" : "any schedule",
		 source->model->op_count, encoding->tensor_count);
	encoding->program.unit = encoding->unit;
	each_use(encoding, ilp_eq1_one_action);
	each_use(encoding, ilp_eq2_preserve);
	ilp_eq5_dependencies(encoding);
	ilp_eq6_siblings(encoding);
	ilp_eq7_one_creation(encoding);
	ilp_one_operator(encoding);
	ilp_take(encoding);
	if (source->rank)
		ilp_eq16_fixed_order(encoding);
	if (peak) {
		ilp_eq13_no_transfers(encoding);
		ilp_eq14_footprint(encoding);
		ilp_eq15_peak(encoding);
	} else {
		each_use(encoding, ilp_eq3_spill);
		each_use(encoding, ilp_eq4_retrieve);
		ilp_eq8_one_spill(encoding);
		ilp_eq9_within_budget(encoding);
		ilp_eq10_no_overlap(encoding);
		ilp_eq11_same_address(encoding);
		ilp_take_address(encoding);
		ilp_capacity(encoding);
		ilp_strengthen(encoding);
		ilp_eq12_traffic(encoding);
	}
	err = ilp_end(&encoding->program);
	if (err == -E2BIG)
		npuplan_fail(error, err,
			     "the integer program is too large: at most %u columns and rows "
			     "together, and %u terms",
			     ILP_LIMIT, ILP_TERMS);
	if (err)
		ilp_encoding_fini(encoding);
	return err;
}
