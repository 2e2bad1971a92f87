// SPDX-License-Identifier: MIT
/*
 * Planning by integer linear programming: what is asked for is checked, encoded and solved, and a
 * plan returned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "planners/cosma/place/addresses.h"
#include "planners/cosma/place/fixed.h"
#include "planners/cosma/place/least_budget.h"
#include "encode.h"
#include "solver.h"

static const struct npuplan_cosma_ilp_options none;

static int offer(struct cosma_solver *cosma, const struct ilp_encoding *encoding,
		 const double *value)
{
	struct cosma_schedule schedule;
	struct cosma_stays stays;
	uint32_t status;
	int err = cosma_schedule_init(&schedule, &cosma->model);

	if (err)
		return err;
	ilp_read_schedule(encoding, value, &schedule);
	err = cosma_stays_init(&stays, &schedule, cosma->graph);
	/* Addresses of a schedule of least peak are not part of its program (Eq. 13-15). */
	if (!err && cosma->options->common.objective == NPUPLAN_OBJECTIVE_PEAK)
		err = cosma_addresses(cosma->graph, &cosma->model, &stays, 0, 0, UINT32_MAX,
				      NPUMEM_NONE, cosma->call.effort.work_limit, &cosma->call,
				      &status);
	else if (!err)
		err = ilp_read_addresses(encoding, value, &stays);
	if (!err)
		cosma_solver_offer(cosma, &schedule, &stays);
	else
		cosma_stays_fini(&stays);
	cosma_schedule_fini(&schedule);
	return err;
}

static int solve_whole(struct cosma_solver *cosma, const struct npuplan_cosma_ilp_options *ilp,
		       const struct ilp_solver *solver, struct npuplan_cosma_plan *plan,
		       struct npuplan_error *error)
{
	static const uint32_t status_of[] = {
		[ILP_OPTIMAL] = NPUMEM_PLAN_STATUS_OPTIMAL,
		[ILP_FEASIBLE] = NPUMEM_PLAN_STATUS_FEASIBLE,
		[ILP_INFEASIBLE] = NPUMEM_PLAN_STATUS_INFEASIBLE,
		[ILP_UNKNOWN] = NPUMEM_PLAN_STATUS_UNKNOWN,
	};
	struct ilp_encoding encoding = {
		.cosma = cosma,
		.model = &cosma->model,
		.spill_steps = ilp->spill_steps,
	};
	struct ilp_answer answer;
	int err = ilp_encode(&encoding, error);

	if (err)
		return err;
	err = solver->solve(&encoding.program, true, &cosma->call, &answer);
	if (!err) {
		plan->status = status_of[answer.status];
		if (answer.bound < INT64_MAX / encoding.granule)
			plan->lower_bound = (uint64_t)(answer.bound * encoding.granule);
	}
	if (!err && answer.value)
		err = offer(cosma, &encoding, answer.value);
	if (!err)
		npuplan_free(answer.value);
	ilp_encoding_fini(&encoding);
	return err;
}

static int solve_parts(struct cosma_solver *cosma, const struct npuplan_cosma_ilp_options *ilp,
		       const struct ilp_solver *solver, struct npuplan_cosma_plan *plan,
		       struct npuplan_error *error)
{
	int err = ilp_divide(cosma, ilp, solver);

	if (err == -E2BIG)
		return npuplan_fail(error, err, "the integer program of a sub-graph is too large");

	plan->status = !cosma->found	     ? NPUMEM_PLAN_STATUS_UNKNOWN :
		       cosma->call.incumbent ? NPUMEM_PLAN_STATUS_FEASIBLE :
					       NPUMEM_PLAN_STATUS_OPTIMAL;
	return err;
}

/* Checks what npuplan_cosma() does not check. */
static int check(const struct npuplan_graph *graph, const struct cosma_settings *options,
		 const struct npuplan_cosma_ilp_options *ilp, struct npuplan_error *error)
{
	const struct npuplan_options *asked = &options->common;

	if (cosma_has_fixed(graph, options))
		return npuplan_fail(error, -EOPNOTSUPP, "the integer program has no fixed offsets");
	if (ilp->divide && asked->objective == NPUPLAN_OBJECTIVE_PEAK)
		return npuplan_fail(error, -EINVAL,
				    "divide and conquer is for the traffic, not for the peak");
	if (ilp->divide && asked->schedule != NPUPLAN_SCHEDULE_FREE)
		return npuplan_fail(error, -EINVAL,
				    "divide and conquer chooses the order: it cannot be fixed");
	return 0;
}

/* Finds M_R; whether that is more than the budget. */
static bool is_too_much(const struct cosma_solver *cosma, uint64_t *needed, uint32_t *op, int *err)
{
	const struct npuplan_options *asked = &cosma->options->common;

	*err = cosma_least_budget(cosma->graph, &cosma->model, cosma->options, needed, op);
	return !*err && asked->objective != NPUPLAN_OBJECTIVE_PEAK && *needed > asked->arena_budget;
}

int ilp_plan(const struct npuplan_graph *graph, const struct cosma_settings *options,
	     const struct npuplan_cosma_ilp_options *ilp, const struct ilp_solver *solver,
	     struct npuplan_cosma_plan *plan, struct npuplan_error *error)
{
	struct cosma_solver cosma;
	int err;

	memset(plan, 0, sizeof(*plan));
	ilp = ilp ? ilp : &none;
	err = check(graph, options, ilp, error);
	err = err ? err : cosma_solver_init(&cosma, graph, options, error);
	if (err)
		return err;
	err = cosma_model_relate(&cosma.model);
	if (!err && is_too_much(&cosma, &plan->needed, &plan->needed_op, &err))
		plan->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
	else if (!err && ilp->divide && ilp->divide < cosma.model.op_count)
		err = solve_parts(&cosma, ilp, solver, plan, error);
	else if (!err)
		err = solve_whole(&cosma, ilp, solver, plan, error);
	if (!err && cosma.found)
		err = cosma_steps(graph, &cosma.best, &cosma.stays, plan);
	plan->work = cosma.call.work;
	plan->seconds = npuplan_effort_seconds(&cosma.call.effort);
	cosma_solver_fini(&cosma);
	if (!err)
		return 0;
	npuplan_cosma_plan_free(plan);
	if (err == -E2BIG)
		return err;
	return npuplan_fail(error, err, "cosma: %s: %s", solver->name, strerror(-err));
}

static const struct ilp_solver *own_solver(void)
{
#ifdef NPUPLAN_HIGHS
	return &ilp_highs;
#else
	return NULL;
#endif
}

const char *npuplan_cosma_ilp_solver(void)
{
	return own_solver() ? own_solver()->name : NULL;
}

int npuplan_cosma_ilp(const struct npuplan_graph *graph, const struct cosma_settings *options,
		      const struct npuplan_cosma_ilp_options *ilp, struct npuplan_cosma_plan *plan,
		      struct npuplan_error *error)
{
	if (own_solver())
		return ilp_plan(graph, options, ilp, own_solver(), plan, error);
	memset(plan, 0, sizeof(*plan));
	return npuplan_fail(error, -ENOSYS,
			    "this build has no ILP engine: it was made without HiGHS. The program "
			    "can still be written to a file, for any solver");
}

static int write_encoded(const struct cosma_solver *cosma,
			 const struct npuplan_cosma_ilp_options *ilp, char **text, size_t *size,
			 struct npuplan_error *error)
{
	struct ilp_encoding encoding = {
		.cosma = cosma,
		.model = &cosma->model,
		.spill_steps = ilp->spill_steps,
	};
	int err = ilp_encode(&encoding, error);
	FILE *file = err ? NULL : open_memstream(text, size);

	if (file) {
		ilp_write(&encoding.program, file);
		err = ferror(file) ? -ENOMEM : 0;
		/* fclose() is what makes the text whole. */
		if (fclose(file) || err) {
			err = -ENOMEM;
			free(*text);
			*text = NULL;
		}
	} else if (!err) {
		err = -ENOMEM;
	}
	ilp_encoding_fini(&encoding);
	return err;
}

int npuplan_cosma_ilp_write(const struct npuplan_graph *graph, const struct cosma_settings *options,
			    const struct npuplan_cosma_ilp_options *ilp, char **text, size_t *size,
			    struct npuplan_error *error)
{
	struct cosma_solver cosma;
	uint64_t needed;
	uint32_t op;
	int err;

	*text = NULL;
	*size = 0;
	ilp = ilp ? ilp : &none;
	if (ilp->divide)
		return npuplan_fail(
			error, -EINVAL,
			"divide and conquer makes many programs, of which each needs "
			"the answer to the one before: they cannot be written to a file");
	err = check(graph, options, ilp, error);
	err = err ? err : cosma_solver_init(&cosma, graph, options, error);
	if (err)
		return err;
	err = cosma_model_relate(&cosma.model);
	if (!err && is_too_much(&cosma, &needed, &op, &err)) {
		cosma_solver_fini(&cosma);
		return npuplan_fail(error, -EINVAL,
				    "%s '%s' needs %llu bytes, more than the budget of %llu",
				    op == NPUMEM_NONE ? "what is on chip at the start" : "operator",
				    op == NPUMEM_NONE ? "" : graph->ops[op].name,
				    (unsigned long long)needed,
				    (unsigned long long)options->common.arena_budget);
	}
	err = err ? err : write_encoded(&cosma, ilp, text, size, error);
	cosma_solver_fini(&cosma);
	/* What is too large has been named already. */
	return err && err != -E2BIG ? npuplan_fail(error, err, "cosma: %s", strerror(-err)) : err;
}
