/* SPDX-License-Identifier: MIT */
/*
 * Nodes of the runtime as a model's file: an engine's commands are made of that, by what makes them
 * for files.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tflite_abi.h"
#include "why.h"

/*
 * struct nodes - nodes that run one after the other
 * @list: @count of them, @codes their builtin codes
 * @outputs: tensors that others need, which these nodes write; @output_count
 */
struct nodes {
	const struct tfl_node *const *list;
	const int32_t *codes;
	uint32_t count;
	const int *outputs;
	uint32_t output_count;
};

/*
 * struct model - the file
 * @data: @size bytes
 * @tensors: per tensor of the file, the runtime's; @tensor_count
 */
struct model {
	void *data;
	size_t size;
	int *tensors;
	uint32_t tensor_count;
};

/*
 * model_new() - write nodes as a model
 *
 * Tensors that nobody among them writes are inputs, unless they are constant or variable.
 * -EOPNOTSUPP: a tensor is what no file has so; -E2BIG, -ENOMEM. model_fini() in any case.
 */
int model_new(const struct tfl_context *context, const struct nodes *nodes, struct model *model,
	      struct why *why);
void model_fini(struct model *model);
