// SPDX-License-Identifier: MIT
#include "program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npuimport.h"
#include "tflite/commands.h"

void program_free(struct program *program)
{
	if (!program)
		return;
	for (uint32_t i = 0; program->commands && i < program->graph->step_count; i++)
		free(program->commands[i]);
	free(program->commands);
	free(program->sizes);
	free(program->tensors);
	free(program->bytes);
	npuplan_graph_free(program->graph);
	free(program);
}

bool program_is_same(const struct program *a, const struct program *b)
{
	const struct npuplan_graph *graph = a->graph;

	if (graph->step_count != b->graph->step_count ||
	    graph->tensor_count != b->graph->tensor_count)
		return false;
	for (uint32_t i = 0; i < graph->step_count; i++)
		if (a->sizes[i] != b->sizes[i] ||
		    memcmp(a->commands[i], b->commands[i], a->sizes[i]) != 0)
			return false;
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (a->tensors[t] != b->tensors[t] || a->bytes[t] != b->bytes[t])
			return false;
	return true;
}

/* Parameters stay where they are, or lie in a BO of their own: they have no place in the arena. */
static int take_tensors(struct program *p, const struct tfl_context *context,
			const struct model *model, struct npuplan_error *error)
{
	size_t count = (size_t)p->graph->tensor_count + 1;

	p->tensors = calloc(count, sizeof(*p->tensors));
	p->bytes = calloc(count, sizeof(*p->bytes));
	if (!p->tensors || !p->bytes) {
		*error = (struct npuplan_error){ .text = "out of memory" };
		return -ENOMEM;
	}
	for (uint32_t t = 0; t < p->graph->tensor_count; t++) {
		struct npuplan_tensor *tensor = &p->graph->tensors[t];

		/* Copies are not in the file, and nobody but steps has to do with them. */
		p->tensors[t] = tensor->id < model->tensor_count ? model->tensors[tensor->id] : -1;
		if (tensor->kind != NPUMEM_TENSOR_PARAMETER ||
		    tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS)
			continue;
		tensor->flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
		p->bytes[t] = context->tensors[p->tensors[t]].data.raw;
	}
	return 0;
}

/* As npumemctl does where nothing is said: planners have needs of their own. */
static int cut(struct npuplan_graph *graph, const struct options *options,
	       struct npuplan_error *error)
{
	uint32_t traits = options->planner ? npuplan_planner_traits(options->planner) : 0;
	struct npuplan_tiling tiling = { .bands = options->bands,
					 .rows = options->rows,
					 .onchip = options->onchip,
					 .with_parameters = true };

	if (traits & NPUPLAN_PLANNER_MOVES)
		tiling.inputs = NPUPLAN_INPUTS_HOST;
	if (traits & NPUPLAN_PLANNER_TILESCHED && !tiling.bands && !tiling.rows && !tiling.onchip)
		tiling.rows = 1;
	return npuplan_graph_tile(graph, &tiling, error);
}

static int make_commands(struct program *p, const struct model *model, struct npuplan_error *error)
{
	struct tflite_commands *commands = NULL;
	size_t count = (size_t)p->graph->step_count + 1;
	int err;

	/* Nothing but views. */
	if (!p->graph->step_count)
		return 0;

	p->commands = calloc(count, sizeof(*p->commands));
	p->sizes = calloc(count, sizeof(*p->sizes));
	if (!p->commands || !p->sizes) {
		*error = (struct npuplan_error){ .text = "out of memory" };
		return -ENOMEM;
	}
	err = tflite_commands_new(model->data, model->size, p->graph, &commands, error);
	for (uint32_t i = 0; i < p->graph->step_count && !err; i++)
		err = tflite_command(commands, i, &p->commands[i], &p->sizes[i], error);
	tflite_commands_free(commands);
	return err;
}

static int read_model(struct program *p, const struct tfl_context *context,
		      const struct options *options, const struct model *model, struct why *why)
{
	const struct npuimport_options tolerant = { 0 };
	struct npuplan_error error = { 0 };
	int err;

	err = npuimport_tflite(model->data, model->size, "partition", &tolerant, &p->graph, NULL,
			       &error);
	if (!err)
		err = take_tensors(p, context, model, &error);
	if (!err)
		err = cut(p->graph, options, &error);
	if (!err)
		err = make_commands(p, model, &error);
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

int program_new(const struct tfl_context *context, const struct nodes *nodes,
		const struct options *options, struct program **out, struct why *why)
{
	struct program *p = calloc(1, sizeof(*p));
	struct model model = { 0 };
	int err;

	*out = NULL;
	if (!p)
		return why_fail(why, -ENOMEM, "out of memory");
	err = model_new(context, nodes, &model, why);
	if (!err)
		err = read_model(p, context, options, &model, why);
	model_fini(&model);
	if (err) {
		program_free(p);
		return err;
	}
	*out = p;
	return 0;
}
