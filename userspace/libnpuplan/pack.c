// SPDX-License-Identifier: MIT
/* npuplan_pack(): finds the packer by its name, in the table of planners, and calls it. */
#include "planners/planners.h"
#include "sized.h"

int npuplan_pack_sized(const struct npuplan_pack_problem *given_problem, size_t problem_size,
		       const struct npuplan_pack_options *given_options, size_t options_size,
		       uint64_t *offsets, struct npuplan_pack_result *result,
		       struct npuplan_error *error)
{
	struct npuplan_pack_problem problem;
	struct npuplan_pack_options options;
	const struct npuplan_planner *found;
	struct npuplan_packer packer;

	if (!sized_take(&problem, sizeof(problem), given_problem, problem_size))
		return npuplan_fail_later(error, "packings");
	if (!sized_take(&options, sizeof(options), given_options, options_size))
		return npuplan_fail_later(error, "options");
	found = npuplan_packer_find(options.packer ? options.packer : "exact");
	if (!found)
		return npuplan_fail(error, -EOPNOTSUPP, "there is no packer '%s'", options.packer);
	packer = (struct npuplan_packer){
		.name = found->name,
		.pack = found->packer,
		.argument = found->argument,
	};
	return npuplan_pack_by(&packer, &problem, &options, offsets, result, error);
}
