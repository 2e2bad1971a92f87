/* SPDX-License-Identifier: MIT */
/* A plan as the offline memory plan of the TFLite model that it is of. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* TensorFlow Lite Micro's arena is aligned so. */
#define TFLM_ALIGN 16u

bool emit_prepare(struct model *model, const struct tiling *tiling, struct npuplan_options *options)
{
	if (model->info.format != NPUIMPORT_TFLITE) {
		failure(model->path, "--emit-tflite: this is %s, not a TFLite model",
			npuimport_format_name(model->info.format));
		return false;
	}
	if (model->info.subgraphs > 1) {
		failure(model->path,
			"--emit-tflite: the model has %u subgraphs: TensorFlow Lite Micro would "
			"apply the offsets to each of them",
			model->info.subgraphs);
		return false;
	}
	if (tiling->asked.bands > 1 || tiling->asked.rows || tiling->asked.onchip ||
	    tiling->asked.layout != NPUPLAN_NHWC || tiling->tiles.count || tiling->patches.count ||
	    tiling->asked.with_parameters) {
		failure(model->path,
			"--emit-tflite: TensorFlow Lite Micro runs whole operators and keeps "
			"parameters outside the arena: leave out --params and what says how to cut");
		return false;
	}
	if (options->alignment < TFLM_ALIGN)
		options->alignment = TFLM_ALIGN;
	/* TFLM gives variables memory of their own, whatever the plan says. */
	for (uint32_t i = 0; i < model->graph->tensor_count; i++) {
		struct npuplan_tensor *tensor = &model->graph->tensors[i];

		if (tensor->kind == NPUMEM_TENSOR_STATE &&
		    !(tensor->flags & NPUMEM_TENSOR_FLAG_FIXED))
			tensor->flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
	}
	return true;
}

/* Offset of a tensor of the model; false: it does not fit the metadata. */
static bool put_offset(const struct model *model, uint32_t tensor, uint64_t offset,
		       int32_t *offsets)
{
	const struct npuplan_tensor *t = &model->graph->tensors[tensor];

	if (offset > INT32_MAX) {
		failure(model->path, "--emit-tflite: '%s' at %" PRIu64 " is beyond 2 GiB", t->name,
			offset);
		return false;
	}
	offsets[t->id] = (int32_t)offset;
	return true;
}

/* TFLM runs operators in the model's order; a tensor has one address. */
static bool list_offsets(const struct model *model, const struct npuplan_plan *plan,
			 int32_t *offsets)
{
	const struct npuplan_graph *graph = model->graph;

	for (uint32_t i = 0; i < model->info.tensors; i++)
		offsets[i] = -1;
	for (uint32_t i = 0; i < plan->position_count; i++)
		if (plan->positions[i].kind != NPUMEM_POSITION_STEP ||
		    plan->positions[i].index != i) {
			failure(model->path,
				"--emit-tflite: planner %.32s has another order of operators than "
				"the model",
				plan->info.planner);
			return false;
		}
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];
		const struct npuplan_tensor *tensor = &graph->tensors[placement->tensor];

		if (placement->region.length != tensor->size || offsets[tensor->id] >= 0) {
			failure(model->path, "--emit-tflite: planner %.32s places '%s' in pieces",
				plan->info.planner, tensor->name);
			return false;
		}
		if (!put_offset(model, placement->tensor, placement->offset, offsets))
			return false;
	}
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];
		int32_t base;

		if (!(tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS))
			continue;
		base = offsets[graph->tensors[tensor->alias_of].id];
		if (base >= 0 &&
		    !put_offset(model, i, (uint64_t)base + tensor->alias_offset, offsets))
			return false;
	}
	return true;
}

int emit_tflite(const struct model *model, const struct npuplan_plan *plan, struct outputs *outputs,
		const char *path)
{
	int32_t *offsets = malloc(((size_t)model->info.tensors + 1) * sizeof(*offsets));
	struct npuplan_error error = { 0 };
	int status = EXIT_FAILED;
	void *out = NULL;
	size_t size;

	if (!offsets)
		abort();
	if (!list_offsets(model, plan, offsets))
		goto out;
	if (npuimport_tflite_emit(model->data, model->data_size, offsets, model->info.tensors, &out,
				  &size, &error))
		failure(model->path, "--emit-tflite: %s", error.text);
	else
		status = outputs_add(outputs, path, out, size);
out:
	free(out);
	free(offsets);
	return status;
}

void emit_print(FILE *out, const struct model *model, const struct npuplan_plan *plan,
		const char *path)
{
	char *plain = plain_text(path, false);
	uint64_t variables = 0;

	for (uint32_t i = 0; i < model->graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &model->graph->tensors[i];

		if (tensor->kind == NPUMEM_TENSOR_STATE &&
		    !(tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS))
			variables += tensor->size;
	}
	fprintf(out, "tflite       %s: besides these %" PRIu64 " bytes, ", plain,
		(uint64_t)plan->info.arena_size);
	fprintf(out,
		"TFLM's arena holds %" PRIu64
		" bytes of variables, its kernels' scratch buffers and its own records\n",
		variables);
	free(plain);
}
