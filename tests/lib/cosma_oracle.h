/* SPDX-License-Identifier: MIT */
/*
 * Executes a plan of npuplan_cosma(), position by position, knowing nothing of how
 * it was found: what is on chip and where, what the host has, what moves.
 */
#pragma once

#include "planners/cosma/cosma.h"

/* Whether a tensor has a copy in host memory at first, and whether it is on chip then. */
static inline bool cosma_starts_in_host(const struct npuplan_tensor *tensor,
					const struct cosma_settings *options)
{
	return tensor->kind == NPUMEM_TENSOR_PARAMETER ||
	       (tensor->kind == NPUMEM_TENSOR_INPUT &&
		(!options->inputs_flagged || tensor->flags & NPUMEM_TENSOR_FLAG_HOST));
}

static inline bool cosma_starts_on_chip(const struct npuplan_tensor *tensor,
					const struct cosma_settings *options)
{
	return tensor->kind == NPUMEM_TENSOR_INPUT &&
	       (options->inputs_flagged ? !(tensor->flags & NPUMEM_TENSOR_FLAG_HOST) :
					  options->inputs_resident);
}

/* Whether a tensor lies where another one does without harm when the operator stores it. */
static inline bool cosma_may_take(const struct npuplan_graph *graph,
				  const struct cosma_settings *options, uint32_t v, uint32_t from,
				  uint32_t to)
{
	const struct npuplan_op *op = &graph->ops[v];

	for (uint32_t i = 0; i < options->takeover_count && !options->out_of_place; i++)
		if (options->takeovers[i].op == v && options->takeovers[i].input == from &&
		    options->takeovers[i].output == to)
			return true;
	return !options->takeovers && !options->out_of_place && op->attrs.inplace &&
	       op->inputs[0] == from && op->outputs[0] == to &&
	       graph->tensors[from].kind != NPUMEM_TENSOR_PARAMETER &&
	       graph->tensors[from].size == graph->tensors[to].size;
}

static inline bool cosma_is_staged(const struct cosma_settings *options, uint32_t v)
{
	return options->staged && options->staged[v];
}

/** struct cosma_oracle - what executing the plan came to; bytes */
struct cosma_oracle {
	uint64_t spill;
	uint64_t fill;
	uint64_t compulsory;
	uint64_t peak;
	uint64_t top;
	char why[256];
};

/* cosma_oracle_run() - true if every position can be executed
 *
 * Else oracle->why says which cannot, and why. Also compares with the plan's own
 * figures, the budget (unless the objective is the peak) and the order asked for.
 */
bool cosma_oracle_run(struct cosma_oracle *oracle, const struct npuplan_graph *graph,
		      const struct cosma_settings *options, const struct npuplan_cosma_plan *plan);

/* End the line; print a failed case's graph and the options of its plan as comments of TAP. */
void cosma_print_case(const struct npuplan_graph *graph, const struct cosma_settings *options);
