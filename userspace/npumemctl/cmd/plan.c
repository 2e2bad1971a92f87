/* SPDX-License-Identifier: MIT */
/* npumemctl plan: a model is planned without a device, and the plan written and reported. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "plan.h"

/* Into files beside those asked for. */
static int add_outputs(const struct plan_arguments *args, const struct model *model,
		       const struct npuplan_plan *plan, struct outputs *outputs)
{
	struct npuplan_error error = { 0 };
	int status = EXIT_OK;
	char *text = NULL;
	void *blob = NULL;
	size_t size;

	if (args->output) {
		if (npuplan_plan_to_json(model->graph, plan, &text, &error))
			return failure(model->path, "%s", error.text);
		status = outputs_add(outputs, args->output, text, strlen(text));
		free(text);
	}
	if (status == EXIT_OK && args->blob) {
		if (npuplan_plan_write(plan, &blob, &size, &error))
			return failure(model->path, "%s", error.text);
		status = outputs_add(outputs, args->blob, blob, size);
		free(blob);
	}
	if (status == EXIT_OK && args->graph_blob)
		status = outputs_add(outputs, args->graph_blob, model->blob, model->blob_size);
	if (status == EXIT_OK && args->tflite)
		status = emit_tflite(model, plan, outputs, args->tflite);
	return status;
}

/* All files are written or none: a plan and the blob of another one would be worse than neither. */
static int write_outputs(const struct plan_arguments *args, const struct model *model,
			 const struct npuplan_plan *plan)
{
	struct outputs outputs = { 0 };

	return outputs_end(&outputs, add_outputs(args, model, plan, &outputs));
}

/* --pareto: the orders of tiles that there are, instead of a plan. */
static int list_front(const struct plan_arguments *args, const struct model *model)
{
	struct npuplan_error error = { 0 };
	struct npuplan_options asked = args->plan;
	struct npuplan_front *front;
	struct progress progress;
	const char *ended = NULL;
	int err, status = EXIT_OK;

	progress_begin(&progress, asked.deadline_seconds);
	asked.progress = progress_show;
	asked.context = &progress;
	err = npuplan_front_find(model->graph, &asked, &front, &error);
	progress_end(&progress);
	if (err)
		return failure(model->path, "%s", error.text);
	if (args->json) {
		json_t *object = front_report(model->graph, front);

		if (front->left_out)
			ended = progress_ended_by(false, front->seconds, asked.deadline_seconds,
						  front->work, asked.work_limit);
		json_object_set_new(object, "ended_by", ended ? json_string(ended) : json_null());
		json_object_set_new(object, "warnings", warnings_json(&model->warnings));
		status = print_json(object);
	} else {
		plain_names(model->graph);
		front_print(stdout, model->graph, front);
	}
	npuplan_front_free(front);
	return status == EXIT_OK && progress_interrupted() ? EXIT_INTERRUPTED : status;
}

/* Tensors are marked as the command line says, and as the files to be written need them. */
static bool mark_tensors(struct plan_arguments *args, struct model *model)
{
	if (args->external_io && !mark_external_io(model))
		return false;
	for (size_t i = 0; i < args->external.count; i++)
		if (!mark_external(model, args->external.list[i]))
			return false;
	for (size_t i = 0; i < args->fixed.count; i++)
		if (!mark_fixed(model, args->fixed.list[i], args->tiling.asked.with_parameters))
			return false;
	return !args->tflite || emit_prepare(model, &args->tiling, &args->plan);
}

static int write_lp(const struct plan_arguments *args, const struct model *model)
{
	struct npuplan_error error = { 0 };
	char *text;
	size_t size;
	int status;

	if (npuplan_lp_write(model->graph, &args->plan, &text, &size, &error))
		return failure(model->path, "%s", error.text);
	status = write_file(args->lp, text, size);
	free(text);
	return status;
}

/* Planner and engine by one name; NULL if memory ends. */
static char *engine_name(const struct plan_arguments *args)
{
	const char *found = npuplan_engine_planner(args->plan.planner, args->engine);
	char *name;

	if (found)
		return strdup(found);
	/* There is none such, unless it is a planner's name: npuplan_plan() says so. */
	return asprintf(&name, "%s-%s", args->plan.planner, args->engine) < 0 ? NULL : name;
}

/* The limit, of those asked for, that ended the search; null: none did. */
static json_t *ended_by(const struct plan_arguments *args, const struct npuplan_plan *plan)
{
	const char *ended = NULL;

	if (plan->info.status != NPUMEM_PLAN_STATUS_OPTIMAL)
		ended = progress_ended_by(plan->memory_ended, plan->seconds,
					  args->plan.deadline_seconds, plan->info.work,
					  args->plan.work_limit);
	return ended ? json_string(ended) : json_null();
}

/* Everything that goes to standard output, as JSON or text. */
static int report(const struct plan_arguments *args, const struct model *model,
		  const struct npuplan_plan *plan)
{
	const struct asked asked = {
		.options = &args->plan,
		.budget = args->budget && budget_is_name(args->budget) ? args->budget : NULL,
		.savings = args->report,
	};
	const struct npuplan_machine *machine = args->machine.copy ? &args->machine : NULL;
	struct npuplan_timing timing = { 0 };
	json_t *object, *tiles = NULL;
	struct text text;

	if (machine && !plan_timing(model->path, model->graph, plan, machine, &timing))
		return EXIT_FAILED;
	if (args->json) {
		if (args->tiles) {
			tiles = tiling_table_json(model->path, model->graph);
			if (!tiles)
				return EXIT_FAILED;
		}
		object = plan_report(model->graph, plan, &asked);
		json_object_set_new(object, "ended_by", ended_by(args, plan));
		json_object_set_new(object, "warnings", warnings_json(&model->warnings));
		if (machine)
			json_object_set_new(object, "time", timing_json(&timing));
		if (tiles)
			json_object_set_new(object, "tiles", tiles);
		if (args->concats)
			json_object_set_new(object, "concats", concats_json(model->graph));
		if (args->recompute)
			json_object_set_new(object, "recompute",
					    recompute_json(model->graph, &args->recomputed));
		json_object_set_new(object, "breaks", breaks_json(plan, args->cosma.break_count));
		json_object_set_new(object, "cores", cores_json(model->graph, plan));
		if (model->graph->tiling.carry_copy_count)
			json_object_set_new(object, "carry_copies",
					    copies_json(model->graph, &args->copied));
		return print_json(object);
	}
	/* What was written there is not to have text after it. */
	if (is_stdout(args->output) || is_stdout(args->blob) || is_stdout(args->graph_blob) ||
	    is_stdout(args->tflite))
		return EXIT_OK;
	plain_names(model->graph);
	text_begin(&text);
	if (args->tiles && !tiling_table_print(text.out, model->path, model->graph)) {
		text_drop(&text);
		return EXIT_FAILED;
	}
	plan_report_print(text.out, model->graph, plan, &asked);
	if (machine)
		timing_print(text.out, &timing);
	if (args->concats)
		concats_print(text.out, model->graph);
	if (args->tflite)
		emit_print(text.out, model, plan, args->tflite);
	if (args->breaks.count)
		breaks_print(text.out, plan, args->cosma.break_count);
	if (args->core_count)
		cores_print(text.out, model->graph, plan);
	if (args->recompute)
		recompute_print(text.out, model->graph, &args->recomputed);
	if (model->graph->tiling.carry_copy_count)
		copies_print(text.out, model->graph, &args->copied);
	return text_end(&text);
}

/* --recompute: the operators that run again are found, and put into the tiling. */
static bool recompute(struct plan_arguments *args, struct model *model, int *status)
{
	struct npuplan_error error = { 0 };
	struct progress progress;
	int err;

	if (!recompute_possible(model, &args->tiling))
		return false;
	/* Budgets by name are those of the operators that there are. */
	if (budget_is_name(args->budget)) {
		if (!model_tile(model, &args->tiling) ||
		    !budget_find(model, args->budget, &args->plan))
			return false;
		model_untile(model);
	}
	progress_begin(&progress, args->plan.deadline_seconds);
	args->plan.progress = progress_show;
	args->plan.context = &progress;
	err = npuplan_recompute_find(model->graph, &args->tiling.asked, &args->plan,
				     args->recompute_limit, &args->recomputed, &error);
	progress_end(&progress);
	if (err) {
		*status = no_plan(model, &args->plan, &progress, err, &error, args->json);
		return false;
	}
	/* From here on the tiling's, and then the graph's. */
	args->tiling.asked.clones = args->recomputed.clones;
	args->tiling.asked.clone_count = args->recomputed.clone_count;
	args->recomputed.clones = NULL;
	args->recomputed.clone_count = 0;
	return true;
}

/* Which values that edges carry are copied is found, and put into the tiling. */
static bool copy_carries(struct plan_arguments *args, struct model *model, int *status)
{
	bool asked = args->copying == NPUPLAN_COPYING_SMALLER;
	struct npuplan_error error = { 0 };
	struct npuplan_tiling tiling;
	struct progress progress;
	int err;

	if (args->copying == COPY_NEVER)
		return true;
	if (!copies_possible(model, &args->tiling, asked))
		return !asked || !model->graph->edge_count;
	if (!tiling_of(&args->tiling, model->path, model->graph, NULL, &tiling))
		return false;
	progress_begin(&progress, args->plan.deadline_seconds);
	args->plan.progress = progress_show;
	args->plan.context = &progress;
	err = npuplan_carry_copies_find(model->graph, &tiling, &args->plan, args->copying,
					args->instances, &args->copied, &error);
	progress_end(&progress);
	args->plan.progress = NULL;
	npuplan_tiling_fini(&tiling);
	/* If copies do not help, planning says what they do not help of; but of fewer instances. */
	if (err && ((err != -E2BIG && err != -EOPNOTSUPP) || args->instances)) {
		*status = no_plan(model, &args->plan, &progress, err, &error, args->json);
		return false;
	}
	/* From here on the tiling's, and then the graph's. */
	args->tiling.asked.carry_copies = args->copied.copies;
	args->tiling.asked.carry_copy_count = args->copied.copy_count;
	args->copied.copies = NULL;
	args->copied.copy_count = 0;
	return true;
}

/* --cores: what is copied from core to core is found, and put into the tiling. */
static bool assign_cores(struct plan_arguments *args, struct model *model)
{
	struct npuplan_error error = { 0 };

	if (!cores_possible(model, &args->tiling))
		return false;
	args->core_of = cores_assign(model, args->cores, args->core_count, &args->assign);
	if (!args->core_of)
		return false;
	if (!npuplan_link_copies_find(model->graph, args->core_of,
				      args->tiling.asked.with_parameters, &args->tiling.asked,
				      &error))
		return true;
	failure(model->path, "%s", error.text);
	return false;
}

/* Steps and cores by name are found in the tiled graph. */
static bool name_steps(struct plan_arguments *args, const struct model *model)
{
	if (args->core_count) {
		args->core_of = cores_with_copies(model->graph, args->core_of);
		args->cosma.cores = args->cores;
		args->cosma.core_count = args->core_count;
		args->cosma.core_of = args->core_of;
	}
	if (!args->breaks.count)
		return true;
	if (!breaks_find(model, &args->breaks, &args->break_steps, &args->cosma.break_count))
		return false;
	args->cosma.breaks = args->break_steps;
	return true;
}

/*
 * Whether one plan is better than another: it moves less between arena and host memory, or moves as
 * much in a smaller arena.
 */
static bool is_better(const struct npuplan_plan *a, const struct npuplan_plan *b)
{
	uint64_t moved = a->info.spill_bytes + a->info.fill_bytes;
	uint64_t other = b->info.spill_bytes + b->info.fill_bytes;

	return moved != other ? moved < other : a->info.arena_size < b->info.arena_size;
}

static int make_plan(struct plan_arguments *args, const struct model *model,
		     struct progress *progress, struct npuplan_plan **plan,
		     struct npuplan_error *error)
{
	int err;

	progress_begin(progress, args->plan.deadline_seconds);
	args->plan.progress = progress_show;
	args->plan.context = progress;
	err = npuplan_plan(model->graph, &args->plan, plan, error);
	progress_end(progress);
	/* What plan_report() plans once more is not shown. */
	args->plan.progress = NULL;
	return err;
}

/*
 * --concat best: the best of @joined, a plan of the graph as it is or NULL, and those of the other
 * ways to do concats; the graph is then the one that it is of. NULL: there is none at all, or the
 * graph is not tiled, which is said.
 */
static struct npuplan_plan *best_plan(struct plan_arguments *args, struct model *model,
				      struct npuplan_plan *joined)
{
	static const uint32_t others[] = { NPUPLAN_CONCAT_FIT, NPUPLAN_CONCAT_COPY };
	uint32_t *concat = &args->tiling.asked.concat, chosen = *concat;
	struct npuplan_plan *best = joined;
	struct progress progress;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct npuplan_error error = { 0 };
		struct npuplan_plan *plan = NULL;

		model_untile(model);
		*concat = others[i];
		if (!model_tile(model, &args->tiling))
			goto out;
		if (make_plan(args, model, &progress, &plan, &error) ||
		    (best && !is_better(plan, best))) {
			npuplan_plan_free(plan);
			continue;
		}
		npuplan_plan_free(best);
		best = plan;
		chosen = others[i];
	}
	model_untile(model);
	*concat = chosen;
	if (model_tile(model, &args->tiling))
		return best;
out:
	npuplan_plan_free(best);
	return NULL;
}

int cmd_plan(int argc, char **argv)
{
	struct plan_arguments args = {
		.tiling.takes_best = true,
		.cosma.size = sizeof(args.cosma),
		.machine.size = sizeof(args.machine),
		.tilesched.size = sizeof(args.tilesched),
	};
	struct npuplan_error error = { 0 };
	struct npuplan_plan *plan = NULL;
	struct model model = { 0 };
	char *engine = NULL;
	struct progress progress;
	int err, status = EXIT_FAILED;

	command_parse(&plan_command, argc, argv, &args);
	if (args.engine) {
		engine = engine_name(&args);
		if (!engine)
			return failure(args.engine, "out of memory");
		args.plan.planner = engine;
	}
	tiling_for_planner(&args.tiling, args.plan.planner);
	if (!model_import(&model, args.graph, &args.reading) || !mark_tensors(&args, &model) ||
	    (args.recompute && !recompute(&args, &model, &status)) ||
	    !copy_carries(&args, &model, &status) ||
	    (args.core_count && !assign_cores(&args, &model)) ||
	    !model_tile(&model, &args.tiling) || !name_steps(&args, &model))
		goto out;
	if (args.budget && budget_is_name(args.budget) && !args.recompute &&
	    !budget_find(&model, args.budget, &args.plan))
		goto out;
	if (args.lp) {
		status = write_lp(&args, &model);
		goto out;
	}
	if (args.pareto) {
		status = list_front(&args, &model);
		goto out;
	}
	err = make_plan(&args, &model, &progress, &plan, &error);
	if (args.tiling.concat == CONCAT_BEST && model.graph->joined_count) {
		plan = best_plan(&args, &model, plan);
		if (!plan && !err)
			goto out;
	}
	/* If there is no plan at all, why is said of the graph that was planned first. */
	if (!plan) {
		status = no_plan(&model, &args.plan, &progress, err, &error, args.json);
		goto out;
	}
	status = write_outputs(&args, &model, plan);
	if (status == EXIT_OK)
		status = report(&args, &model, plan);
	if (status == EXIT_OK && progress_interrupted() &&
	    plan->info.status != NPUMEM_PLAN_STATUS_OPTIMAL)
		status = EXIT_INTERRUPTED;
out:
	free(engine);
	npuplan_plan_free(plan);
	model_fini(&model);
	tiling_fini(&args.tiling);
	reading_fini(&args.reading);
	npuplan_recompute_fini(&args.recomputed);
	npuplan_carry_copies_fini(&args.copied);
	free(args.external.list);
	free(args.fixed.list);
	free(args.breaks.list);
	free(args.assign.list);
	free(args.break_steps);
	free(args.core_of);
	return status;
}
