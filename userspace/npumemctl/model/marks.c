/* SPDX-License-Identifier: MIT */
/* Tensors that the command line names: bound outside the arena, or at an address. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/*
 * The tensor of this name, or else of this id. NPUMEM_NONE, after an error message, if none has
 * it.
 */
static uint32_t find_tensor(const struct model *model, const char *option, const char *name)
{
	const struct npuplan_graph *graph = model->graph;
	uint32_t found = NPUMEM_NONE;
	long long id;
	char *end;

	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		if (strcmp(graph->tensors[i].name, name) != 0)
			continue;
		if (found != NPUMEM_NONE) {
			failure(model->path,
				"%s: tensors %" PRId64 " and %" PRId64
				" are both named '%s': give the id",
				option, graph->tensors[found].id, graph->tensors[i].id, name);
			return NPUMEM_NONE;
		}
		found = i;
	}
	id = strtoll(name, &end, 10);
	for (uint32_t i = 0; i < graph->tensor_count && found == NPUMEM_NONE && !*end && *name; i++)
		if (graph->tensors[i].id == id)
			found = i;
	if (found == NPUMEM_NONE)
		failure(model->path, "%s: no tensor has the name or id '%s'", option, name);
	return found;
}

/* Give a tensor a flag; @other: the one that excludes it. False after saying what is wrong. */
static bool mark(struct model *model, const char *option, uint32_t index, uint32_t flag,
		 uint32_t other)
{
	struct npuplan_tensor *tensor;

	if (index == NPUMEM_NONE)
		return false;
	tensor = &model->graph->tensors[index];
	if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS) {
		failure(model->path, "%s: '%s' is part of '%s', which has the bytes", option,
			tensor->name, model->graph->tensors[tensor->alias_of].name);
		return false;
	}
	if (tensor->flags & other) {
		failure(model->path,
			"%s: '%s' cannot be both external and at a fixed offset of the arena",
			option, tensor->name);
		return false;
	}
	tensor->flags |= flag;
	return true;
}

bool mark_external(struct model *model, const char *name)
{
	return mark(model, "--external", find_tensor(model, "--external", name),
		    NPUMEM_TENSOR_FLAG_EXTERNAL, NPUMEM_TENSOR_FLAG_FIXED);
}

bool mark_external_io(struct model *model)
{
	const struct npuplan_graph *graph = model->graph;

	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		uint32_t kind = graph->tensors[i].kind;

		if ((kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_OUTPUT) &&
		    !mark(model, "--external-io", i, NPUMEM_TENSOR_FLAG_EXTERNAL,
			  NPUMEM_TENSOR_FLAG_FIXED))
			return false;
	}
	return true;
}

bool mark_fixed(struct model *model, const char *text, bool parameters)
{
	const char *equals = strrchr(text, '=');
	struct npuplan_tensor *tensor;
	uint64_t offset;
	uint32_t index;
	char *name;

	if (!equals || !parse_size(equals + 1, &offset)) {
		failure(model->path, "--fix: '%s' is not NAME=OFFSET", text);
		return false;
	}
	name = strndup(text, (size_t)(equals - text));
	if (!name)
		abort();
	index = find_tensor(model, "--fix", name);
	free(name);
	/* Which flag it has already, is asked below. */
	if (!mark(model, "--fix", index, 0, NPUMEM_TENSOR_FLAG_EXTERNAL))
		return false;
	tensor = &model->graph->tensors[index];
	if (tensor->kind == NPUMEM_TENSOR_PARAMETER && !parameters) {
		failure(model->path, "--fix: '%s' is a parameter, which only --params places",
			tensor->name);
		return false;
	}
	if (offset % tensor->align) {
		failure(model->path,
			"--fix: %" PRIu64 " is not a multiple of the alignment of '%s', %" PRIu32,
			offset, tensor->name, tensor->align);
		return false;
	}
	if ((tensor->flags & NPUMEM_TENSOR_FLAG_FIXED) && tensor->fixed_offset != offset) {
		failure(model->path,
			"--fix: '%s' has fixed offset %" PRIu64 " already, not %" PRIu64,
			tensor->name, tensor->fixed_offset, offset);
		return false;
	}
	tensor->flags |= NPUMEM_TENSOR_FLAG_FIXED;
	tensor->fixed_offset = offset;
	return true;
}
