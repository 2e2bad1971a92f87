/* SPDX-License-Identifier: MIT */
/*
 * The model that a graph was made of, and what can be done with it: the graph is cut anew,
 * or has operators that run again. Runs in a worker: the model is a client's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "options.h"

/**
 * struct cut_op - an operator of a model
 * @id: its id in the model
 * @cookie: of the graph's step
 * @op: its index in the model
 */
struct cut_op {
	int64_t id;
	uint64_t cookie;
	uint32_t op;
};

/**
 * struct cut - a model, and the graph that it was attached to
 * @model: whose tensors are marked as the graph's, not tiled
 * @tiling: how the graph is cut: whole operators, until cut_choose()
 * @ops: operators of @model, by ascending id; none of those that run again
 * @op_count: number of @ops
 */
struct cut {
	struct npuplan_graph *model;
	struct npuplan_tiling tiling;
	struct cut_op *ops;
	uint32_t op_count;
};

/*
 * cut_read() - the model that a graph has
 * @blob: the graph's, of @size bytes
 * @graph: the same, read
 * @layout: enum npuplan_layout
 * @out: out: the worker's end frees it
 *
 * The model is held against the graph: tensors, steps and accesses, blocks and edges must be
 * those of its whole operators. -ENODATA: there is no model; -EINVAL: it is another graph's, and
 * the error says where; else what npuimport_graph_json() and npuplan_graph_tile() say.
 */
int cut_read(const void *blob, size_t size, const struct npuplan_graph *graph, uint32_t layout,
	     struct cut *out, struct npuplan_error *error);

/*
 * cut_choose() - how the model is to be cut
 *
 * cut->tiling says it then. -EINVAL: there is no such operator.
 */
int cut_choose(struct cut *cut, const struct asked *asked, struct npuplan_error *error);

/*
 * cut_tile() - cut the model as cut->tiling says, clones and copies of what edges carry among it
 *
 * cut->model is then a graph with steps, which have the cookies of the ones whose operators they
 * are of; those of copies have 0. Errors as npuplan_graph_tile()'s.
 */
int cut_tile(struct cut *cut, struct npuplan_error *error);
