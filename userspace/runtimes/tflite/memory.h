/* SPDX-License-Identifier: MIT */
/* The arena of a graph: planned, or found in the cache, verified, and where each tensor lies. */
#pragma once

#include "enforcer.h"
#include "npumem_layout.h"
#include "npumem_plan.h"
#include "program.h"

/**
 * struct memory - a graph's plan and its memory
 * @enforcer: that it is of
 * @enforced: of the enforcer
 * @blobs: graph and plan
 * @info: what the plan says of itself
 * @maps: where arena and host memory are mapped
 * @layout: of the plan, where a program computes; else NULL, and what follows says where all is
 * @steps: per position of the schedule, the graph's step
 * @step_count: number of @steps
 * @offsets: per tensor of the graph, its first byte in the arena; UINT64_MAX: it has no place there
 * @tensor_count: number of @offsets
 * @in_order: steps are to be in the graph's order
 * @plan_ns: what planning and verifying took
 * @cached: the plan came from the cache
 */
struct memory {
	struct enforcer *enforcer;
	struct enforced *enforced;
	struct blobs blobs;
	struct npumem_plan_info info;
	struct npumem_maps maps;
	struct npumem_layout *layout;
	uint32_t *steps;
	uint32_t step_count;
	uint64_t *offsets;
	uint32_t tensor_count;
	bool in_order;
	uint64_t plan_ns;
	bool cached;
};

/*
 * struct memory_args - what memory is for
 * @graph, @graph_size: graph blob
 * @tensor_count: tensors of the graph
 * @program: computes the graph, and has to stay; NULL: borrowed kernels do
 * @in_order: these want the steps in the graph's order
 */
struct memory_args {
	void *graph;
	size_t graph_size;
	uint32_t tensor_count;
	const struct program *program;
	bool in_order;
};

/*
 * memory_new() - plan a graph and take memory for it
 * @args: its graph becomes the memory's, also on failure
 *
 * -EOPNOTSUPP: the plan moves tensors, or has them in pieces, or steps in another order: no kernel
 * can be borrowed for that. Others are the enforcer's.
 */
int memory_new(struct enforcer *enforcer, const struct memory_args *args, struct memory **out,
	       struct why *why);
/*
 * memory_better() - a better plan of the same graph with memory of its own, if there is one by now
 * @program: as in struct memory_args
 * @out: NULL: there is none. What @memory has is not carried over
 */
int memory_better(const struct memory *memory, const struct program *program, struct memory **out,
		  struct why *why);
/* Whether it is that of a graph blob. */
bool memory_is_of(const struct memory *memory, const void *graph, size_t size);
void memory_free(struct memory *memory);
