/* SPDX-License-Identifier: MIT */
/* The arena of a graph: planned, or found in the cache, verified, and where each tensor lies. */
#pragma once

#include "enforcer.h"
#include "npumem_layout.h"
#include "npumem_plan.h"
#include "program.h"

/*
 * struct memory - a graph's plan and its memory
 * @enforcer: that it is of
 * @session: of the enforcer
 * @blobs: graph and plan
 * @info: what the plan says of itself
 * @maps: where arena and host memory are mapped
 * @layout: of the plan, where a program computes; else NULL, and what follows says where all is
 * @steps: per position of the schedule, the graph's step
 * @step_count: number of @steps
 * @offsets: per tensor of the graph, its first byte in the arena; UINT64_MAX: it has no place there
 * @tensor_count: number of @offsets
 * @plan_ns: what planning and verifying took
 * @cached: the plan came from the cache
 */
struct memory {
	struct enforcer *enforcer;
	struct session *session;
	struct blobs blobs;
	struct npumem_plan_info info;
	struct npumem_maps maps;
	struct npumem_layout *layout;
	uint32_t *steps;
	uint32_t step_count;
	uint64_t *offsets;
	uint32_t tensor_count;
	uint64_t plan_ns;
	bool cached;
};

/*
 * memory_new() - plan a graph and take memory for it
 * @graph: graph blob, which becomes the memory's, also on failure
 * @tensor_count: tensors of the graph
 * @program: computes the graph, and has to stay; NULL: borrowed kernels do
 *
 * -EOPNOTSUPP: the plan moves tensors, or has them in pieces: no kernel can be borrowed for that.
 * Others are the enforcer's.
 */
int memory_new(struct enforcer *enforcer, void *graph, size_t graph_size, uint32_t tensor_count,
	       const struct program *program, struct memory **out, struct why *why);
/* Whether it is that of a graph blob. */
bool memory_is_of(const struct memory *memory, const void *graph, size_t size);
void memory_free(struct memory *memory);
