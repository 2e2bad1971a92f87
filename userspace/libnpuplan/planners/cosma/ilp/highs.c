// SPDX-License-Identifier: MIT
/* This file solves programs by HiGHS, through its C interface. */
/* The header defines HiGHS's constants, so that no second file of a program may include it. */
#include <interfaces/highs_c_api.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "solver.h"

/* Seconds between two calls of the caller's progress function while there are no news. */
#define TELL_EVERY 0.1

/** struct arrays - a program as HiGHS takes it, row by row */
struct arrays {
	struct npuplan_pool pool;
	double *cost;
	double *lower;
	double *upper;
	HighsInt *integer;
	double *row_lower;
	double *row_upper;
	HighsInt *first;
	HighsInt *index;
	double *factor;
};

static double number(int64_t value, void *highs)
{
	return value == ILP_MAX ? Highs_getInfinity(highs) :
	       value == ILP_MIN ? -Highs_getInfinity(highs) :
				  (double)value;
}

static int arrays_init(struct arrays *arrays, const struct ilp_program *program, void *highs)
{
	uint32_t columns = program->column_count, rows = program->row_count;
	struct npuplan_pool *pool = &arrays->pool;

	arrays->cost = npuplan_pool_take(pool, columns, sizeof(double));
	arrays->lower = npuplan_pool_take(pool, columns, sizeof(double));
	arrays->upper = npuplan_pool_take(pool, columns, sizeof(double));
	arrays->integer = npuplan_pool_take(pool, columns, sizeof(HighsInt));
	arrays->row_lower = npuplan_pool_take(pool, rows, sizeof(double));
	arrays->row_upper = npuplan_pool_take(pool, rows, sizeof(double));
	arrays->first = npuplan_pool_take(pool, rows, sizeof(HighsInt));
	arrays->index = npuplan_pool_take(pool, program->term_count, sizeof(HighsInt));
	arrays->factor = npuplan_pool_take(pool, program->term_count, sizeof(double));
	if (pool->failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < program->column_count; i++) {
		arrays->cost[i] = (double)program->column[i].cost;
		arrays->lower[i] = number(program->column[i].lower, highs);
		arrays->upper[i] = number(program->column[i].upper, highs);
		arrays->integer[i] = program->column[i].integer ? kHighsVarTypeInteger :
								  kHighsVarTypeContinuous;
	}
	for (uint32_t i = 0; i < program->row_count; i++) {
		arrays->row_lower[i] = number(program->row[i].lower, highs);
		arrays->row_upper[i] = number(program->row[i].upper, highs);
		arrays->first[i] = (HighsInt)program->row[i].first;
	}
	for (uint32_t i = 0; i < program->term_count; i++) {
		arrays->index[i] = (HighsInt)program->term[i].column;
		arrays->factor[i] = (double)program->term[i].factor;
	}
	return 0;
}

/* struct telling - what the callback needs to tell the caller
 * @whole: the program is the whole problem, so that its incumbent and bound are the call's
 * @told: seconds of npuplan_now() when the progress function was called last
 */
struct telling {
	const struct ilp_program *program;
	struct cosma_call *call;
	bool whole;
	double told;
};

/* Rounds a bound of whole numbers up that was computed with a tolerance. */
static int64_t round_up(double bound)
{
	if (!(bound > 0))
		return 0;
	return bound < 1e18 ? (int64_t)(bound + (1 - 1e-4)) : INT64_MAX;
}

static void tell(int type, const char *message, const HighsCallbackDataOut *out,
		 HighsCallbackDataIn *in, void *context)
{
	struct telling *telling = context;
	struct cosma_call *call = telling->call;
	uint64_t unit = (uint64_t)telling->program->unit, incumbent, bound;
	double now = npuplan_now();
	bool news = false;

	(void)message;
	if (type != kHighsCallbackMipInterrupt)
		return;
	if (telling->whole) {
		incumbent = out->mip_primal_bound < 1e18 ?
				    (uint64_t)(out->mip_primal_bound + 0.5) * unit :
				    UINT64_MAX;
		bound = (uint64_t)round_up(out->mip_dual_bound) * unit;
		news = incumbent < call->incumbent || bound > call->lower_bound;
		call->incumbent = incumbent < call->incumbent ? incumbent : call->incumbent;
		if (bound > call->lower_bound && bound <= call->incumbent)
			call->lower_bound = bound;
	}
	if (news || now - telling->told >= TELL_EVERY) {
		telling->told = now;
		cosma_call_report(call);
	}
	in->user_interrupt = call->effort.stopped;
}

static bool set_options(void *highs, const struct cosma_call *call)
{
	HighsInt bad = Highs_setBoolOptionValue(highs, "output_flag", 0);

	/* With one thread and one seed the same program has the same solution. */
	bad |= Highs_setStringOptionValue(highs, "parallel", "off");
	bad |= Highs_setIntOptionValue(highs, "threads", 1);
	bad |= Highs_setIntOptionValue(highs, "random_seed", 0);
	/* Costs are whole numbers: nothing lies between two that differ by less. */
	bad |= Highs_setDoubleOptionValue(highs, "mip_rel_gap", 0);
	bad |= Highs_setDoubleOptionValue(highs, "mip_abs_gap", 0.5);
	if (call->effort.deadline)
		bad |= Highs_setDoubleOptionValue(highs, "time_limit",
						  npuplan_effort_left(&call->effort));
	return !bad;
}

static int read_answer(void *highs, const struct ilp_program *program, struct cosma_call *call,
		       struct ilp_answer *answer)
{
	HighsInt status = Highs_getModelStatus(highs), found = 0, iterations = 0;
	double bound = 0;

	Highs_getIntInfoValue(highs, "primal_solution_status", &found);
	Highs_getDoubleInfoValue(highs, "mip_dual_bound", &bound);
	if (Highs_getIntInfoValue(highs, "simplex_iteration_count", &iterations) ==
		    kHighsStatusOk &&
	    iterations > 0)
		call->work += (uint64_t)iterations;
	answer->bound = round_up(bound);
	if (status == kHighsModelStatusInfeasible) {
		answer->status = ILP_INFEASIBLE;
		return 0;
	}
	if (status == kHighsModelStatusOptimal)
		answer->status = ILP_OPTIMAL;
	else if (status == kHighsModelStatusTimeLimit || status == kHighsModelStatusInterrupt)
		answer->status = found == kHighsSolutionStatusFeasible ? ILP_FEASIBLE : ILP_UNKNOWN;
	else
		return -EIO;
	if (answer->status == ILP_UNKNOWN)
		return 0;
	answer->value = npuplan_malloc(((size_t)program->column_count + 1) * sizeof(double));
	if (!answer->value)
		return -ENOMEM;
	return Highs_getSolution(highs, answer->value, NULL, NULL, NULL) == kHighsStatusOk ? 0 :
											     -EIO;
}

static int solve(const struct ilp_program *program, bool whole, struct cosma_call *call,
		 struct ilp_answer *answer)
{
	struct telling telling = { .program = program, .call = call, .whole = whole };
	void *highs = Highs_create();
	struct arrays arrays = { 0 };
	int err = highs ? arrays_init(&arrays, program, highs) : -ENOMEM;

	*answer = (struct ilp_answer){ .status = ILP_UNKNOWN };
	if (!err &&
	    (!set_options(highs, call) ||
	     Highs_setCallback(highs, tell, &telling) != kHighsStatusOk ||
	     Highs_startCallback(highs, kHighsCallbackMipInterrupt) != kHighsStatusOk ||
	     Highs_passMip(highs, (HighsInt)program->column_count, (HighsInt)program->row_count,
			   (HighsInt)program->term_count, kHighsMatrixFormatRowwise,
			   kHighsObjSenseMinimize, 0, arrays.cost, arrays.lower, arrays.upper,
			   arrays.row_lower, arrays.row_upper, arrays.first, arrays.index,
			   arrays.factor, arrays.integer) == kHighsStatusError ||
	     Highs_run(highs) == kHighsStatusError))
		err = -EIO;
	err = err ? err : read_answer(highs, program, call, answer);
	npuplan_pool_free(&arrays.pool);
	Highs_destroy(highs);
	if (err) {
		npuplan_free(answer->value);
		answer->value = NULL;
	}
	return err;
}

static int solve_file(const char *path, double *optimum)
{
	void *highs = Highs_create();
	bool solved;

	if (!highs)
		return -ENOMEM;
	solved = Highs_setBoolOptionValue(highs, "output_flag", 0) == kHighsStatusOk &&
		 Highs_setDoubleOptionValue(highs, "mip_rel_gap", 0) == kHighsStatusOk &&
		 Highs_readModel(highs, path) == kHighsStatusOk &&
		 Highs_run(highs) == kHighsStatusOk &&
		 Highs_getModelStatus(highs) == kHighsModelStatusOptimal;
	*optimum = solved ? Highs_getObjectiveValue(highs) : 0;
	Highs_destroy(highs);
	return solved ? 0 : -EIO;
}

const struct ilp_solver ilp_highs = {
	.name = "HiGHS",
	.solve = solve,
	.solve_file = solve_file,
};
