/* SPDX-License-Identifier: MIT */
/* Budgets by name, and what is said where there is no plan within one. */
#include <errno.h>
#include <string.h>

#include "model.h"
#include "cli/progress.h"

enum named_budget { NEEDED, PEAK, MIDDLE };

/* The names are the COSMA paper's. */
const char *const budget_names[] = { [NEEDED] = "MR", [PEAK] = "MP", [MIDDLE] = "MH", NULL };

static bool is_budget(const char *text, enum named_budget budget)
{
	return !strcmp(text, budget_names[budget]);
}

bool budget_is_name(const char *text)
{
	return is_budget(text, NEEDED) || is_budget(text, PEAK) || is_budget(text, MIDDLE);
}

/* The search for the least peak; what it takes of the deadline is gone for planning. */
static int search(const struct model *model, struct npuplan_options *options,
		  struct npuplan_budgets *budgets, struct npuplan_error *error)
{
	struct npuplan_options asked = *options;
	double left;
	struct progress progress;
	int err;

	progress_begin(&progress, options->deadline_seconds);
	asked.progress = progress_show;
	asked.context = &progress;
	err = npuplan_budgets_find(model->graph, &asked, budgets, error);
	progress_end(&progress);
	left = options->deadline_seconds - progress.seconds;
	if (options->deadline_seconds > 0)
		options->deadline_seconds = left > 1e-6 ? left : 1e-6;
	return err;
}

bool budget_find(const struct model *model, const char *name, struct npuplan_options *options)
{
	struct npuplan_error error = { 0 };
	struct npuplan_budgets budgets = { .proved = true };
	bool least = is_budget(name, NEEDED);

	if (least ? npuplan_needed_find(model->graph, options, &budgets.needed, &budgets.step,
					&error) :
		    search(model, options, &budgets, &error)) {
		failure(model->path, "%s", error.text);
		return false;
	}
	options->arena_budget = least			? budgets.needed :
				is_budget(name, MIDDLE) ? budgets.middle :
							  budgets.peak;
	if (!budgets.proved)
		fprintf(stderr,
			"npumemctl: %s: note: --budget %s is %s: the least peak is not proved\n",
			model->path, name, size_text(options->arena_budget).s);
	return true;
}

/* The step that needs most, as JSON; null: what is on chip from the start needs most. */
static json_t *step_json(const struct npuplan_graph *graph, uint32_t step)
{
	const struct npuplan_step *s;

	if (step >= graph->step_count)
		return json_null();
	s = &graph->steps[step];
	if (s->op >= graph->op_count)
		return json_pack("{sI ss}", "step", (json_int_t)step, "name", s->name);
	return json_pack("{sI ss}", "op", (json_int_t)graph->ops[s->op].id, "name", s->name);
}

/* Which limit came before there was a plan; NULL: none, or it is not known which. */
static const char *what_ended(const struct npuplan_options *options,
			      const struct progress *progress, int err)
{
	/* That one did, the errno says; where the only one is of work or memory, it was that. */
	bool memory = err == -ETIMEDOUT && options->memory_limit && !options->work_limit;
	bool work = err == -ETIMEDOUT && options->work_limit && !options->memory_limit;

	return progress_ended_by(memory, progress->seconds, options->deadline_seconds,
				 work ? options->work_limit : progress->work, options->work_limit);
}

int no_plan(const struct model *model, const struct npuplan_options *options,
	    const struct progress *progress, int err, const struct npuplan_error *error, bool json)
{
	bool infeasible = error->status == NPUMEM_PLAN_STATUS_INFEASIBLE;
	const char *ended;
	json_t *object;

	failure(model->path, "%s", error->text);
	if (!infeasible && err != -ETIMEDOUT && !(err == -ENOSPC && error->needed))
		return EXIT_FAILED;
	if (json) {
		object = json_pack("{ss ss ss sI}", "graph", model->graph->name, "planner",
				   options->planner ? options->planner : "auto", "status",
				   npuplan_status_name(infeasible ? NPUMEM_PLAN_STATUS_INFEASIBLE :
								    NPUMEM_PLAN_STATUS_UNKNOWN),
				   "budget", (json_int_t)options->arena_budget);
		if (infeasible) {
			json_object_set_new(object, "needed",
					    json_integer((json_int_t)error->needed));
			json_object_set_new(object, "needed_by",
					    step_json(model->graph, error->step));
		}
		ended = infeasible ? NULL : what_ended(options, progress, err);
		json_object_set_new(object, "ended_by", ended ? json_string(ended) : json_null());
		if (print_json(object) != EXIT_OK)
			return EXIT_FAILED;
	}
	return infeasible ? EXIT_INFEASIBLE : EXIT_UNKNOWN;
}
