/* SPDX-License-Identifier: MIT */
/* What npumem's engine computes of a model: a graph cut into steps, and a command for each. */
#pragma once

#include "model.h"
#include "npuplan.h"
#include "options.h"

/*
 * struct program - nodes as the engine computes them
 * @graph: cut, with its parameters, which are external
 * @commands: per step, npumem_command.h; @sizes their bytes
 * @tensors: per tensor of the graph, the runtime's
 * @bytes: per tensor of the graph, those of a parameter, which are the runtime's; else NULL
 */
struct program {
	struct npuplan_graph *graph;
	void **commands;
	size_t *sizes;
	int *tensors;
	const void **bytes;
};

/*
 * program_new() - have nodes read, cut as the options want, and made commands of
 *
 * -EOPNOTSUPP: the engine does not compute them, and @why says which, and why. Others are errors.
 */
int program_new(const struct tfl_context *context, const struct nodes *nodes,
		const struct options *options, struct program **out, struct why *why);
/* Whether they compute the same, of the same constants: a graph has bytes, commands have shapes. */
bool program_is_same(const struct program *a, const struct program *b);
void program_free(struct program *program);
