// SPDX-License-Identifier: MIT
/*
 * Each run that is not the first one makes a version of its operator's outputs. Who reads which
 * follows from the path: what was made last, or, behind a fill, what has a copy in host memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "beam_path.h"

int beam_path_run(struct beam_path *path, uint32_t *node, uint32_t op, bool again)
{
	int err = npuplan_reserve(&path->nodes, &path->node_room, (size_t)path->node_count + 1,
				  sizeof(*path->nodes));

	if (err)
		return err;
	path->nodes[path->node_count] = (struct beam_node){
		.parent = *node,
		.op = op,
		.first = path->fill_count,
		.again = again,
	};
	*node = path->node_count++;
	return 0;
}

int beam_path_fill(struct beam_path *path, uint32_t tensor)
{
	int err = npuplan_reserve(&path->fills, &path->fill_room, (size_t)path->fill_count + 1,
				  sizeof(*path->fills));

	if (!err)
		path->fills[path->fill_count++] = tensor;
	return err;
}

void beam_path_fini(struct beam_path *path)
{
	npuplan_free_all(path->nodes, path->fills);
	memset(path, 0, sizeof(*path));
}

/*
 * struct versions - who reads which version
 * @runs: nodes, in the order of time
 * @made_by: per entry of the inputs of a run (@first + k): the run that made what it reads, if that
 *	is not the operator's first; else NPUMEM_NONE
 * @first: per run, of @made_by
 * @current, @copied: per tensor, the run that made what was last on chip, and what has a copy;
 *	NPUMEM_NONE: the operator's first
 * @has_copy: per tensor
 * @readers: per run, how many read what it makes
 * @id: per run, that of the clone
 */
struct versions {
	const struct beam_path *path;
	const struct cosma_model *model;
	const struct npuplan_graph *graph;
	uint32_t *runs;
	uint32_t run_count;
	uint32_t *made_by;
	uint32_t *first;
	uint32_t *current;
	uint32_t *copied;
	bool *has_copy;
	uint32_t *readers;
	int64_t *id;
	struct npuplan_pool pool;
};

static int versions_init(struct versions *versions, uint32_t node)
{
	const struct cosma_model *model = versions->model;
	const struct beam_path *path = versions->path;
	struct npuplan_pool *pool = &versions->pool;
	uint32_t tensors = model->tensor_count, runs = 0, entries = 0;

	for (uint32_t n = node; n != NPUMEM_NONE; n = path->nodes[n].parent) {
		uint32_t v = path->nodes[n].op;

		entries += model->inputs.first[v + 1] - model->inputs.first[v];
		runs++;
	}
	versions->run_count = runs;
	versions->runs = npuplan_pool_take(pool, runs, sizeof(uint32_t));
	versions->first = npuplan_pool_take(pool, (size_t)runs + 1, sizeof(uint32_t));
	versions->made_by = npuplan_pool_take(pool, entries, sizeof(uint32_t));
	versions->readers = npuplan_pool_take(pool, runs, sizeof(uint32_t));
	versions->id = npuplan_pool_take(pool, runs, sizeof(int64_t));
	versions->current = npuplan_pool_take(pool, tensors, sizeof(uint32_t));
	versions->copied = npuplan_pool_take(pool, tensors, sizeof(uint32_t));
	versions->has_copy = npuplan_pool_take(pool, tensors, sizeof(bool));
	if (pool->failed)
		return -ENOMEM;
	for (uint32_t n = node; n != NPUMEM_NONE; n = path->nodes[n].parent)
		versions->runs[--runs] = n;
	for (uint32_t x = 0; x < tensors; x++) {
		versions->current[x] = versions->copied[x] = NPUMEM_NONE;
		versions->has_copy[x] = model->flags[x] & COSMA_COPIED;
	}
	return 0;
}

static void fill(struct versions *versions, uint32_t x)
{
	if (versions->has_copy[x])
		versions->current[x] = versions->copied[x];
	else
		versions->copied[x] = versions->current[x];
	versions->has_copy[x] = true;
}

/* A reader takes all that it reads of an operator from one run of it: the first that is met. */
static uint32_t version_for(const struct versions *versions, uint32_t run, uint32_t k)
{
	const struct cosma_model *model = versions->model;
	uint32_t v = versions->path->nodes[versions->runs[run]].op;
	uint32_t x = model->inputs.item[k];

	if (model->producer[x] == NPUMEM_NONE)
		return NPUMEM_NONE;
	for (uint32_t j = model->inputs.first[v]; j < k; j++)
		if (model->producer[model->inputs.item[j]] == model->producer[x])
			return versions->made_by[versions->first[run] + j - model->inputs.first[v]];
	return versions->current[x];
}

/* Goes along the path, and notes for each input who made it. */
static void find_versions(struct versions *versions)
{
	const struct cosma_model *model = versions->model;
	const struct beam_path *path = versions->path;

	for (uint32_t run = 0; run < versions->run_count; run++) {
		uint32_t n = versions->runs[run], v = path->nodes[n].op;
		uint32_t end = n + 1 < path->node_count ? path->nodes[n + 1].first :
							  path->fill_count;
		uint32_t at = versions->first[run];

		for (uint32_t i = path->nodes[n].first; i < end; i++)
			fill(versions, path->fills[i]);
		cosma_for_each(k, model->inputs, v)
			versions->made_by[at++] = version_for(versions, run, k);
		versions->first[run + 1] = at;
		cosma_for_each(k, model->outputs, v)
			versions->current[model->outputs.item[k]] =
				path->nodes[n].again ? run : NPUMEM_NONE;
	}
}

/* Whether a run is in the graph: all are but those again that nobody reads. */
static bool is_real(const struct versions *versions, uint32_t run)
{
	return !versions->path->nodes[versions->runs[run]].again || versions->readers[run];
}

/* Counts readers, the last run first, so that readers which are none themselves do not count. */
static void count_readers(struct versions *versions)
{
	for (uint32_t run = versions->run_count; run--;)
		for (uint32_t i = versions->first[run];
		     i < versions->first[run + 1] && is_real(versions, run); i++)
			if (versions->made_by[i] != NPUMEM_NONE)
				versions->readers[versions->made_by[i]]++;
}

static int64_t last_id(const struct npuplan_graph *graph)
{
	int64_t id = 0;

	for (uint32_t v = 0; v < graph->op_count; v++)
		id = graph->ops[v].id > id ? graph->ops[v].id : id;
	return id;
}

static int list_readers(const struct versions *versions, uint32_t made_by,
			struct npuplan_clone *clone)
{
	int err = 0;

	for (uint32_t run = made_by + 1; run < versions->run_count && !err; run++) {
		bool reads = false;

		for (uint32_t i = versions->first[run]; i < versions->first[run + 1]; i++)
			reads |= versions->made_by[i] == made_by;
		if (reads && is_real(versions, run))
			err = npuplan_append(&clone->readers, &clone->reader_count,
					     &versions->id[run], 1);
	}
	return err;
}

/* The last run comes first: those that it reads may be clones, too, and are given to it then. */
static int list_clones(struct versions *versions, struct cosma_clone_set *set)
{
	int64_t id = last_id(versions->graph);
	int err = 0;

	for (uint32_t run = versions->run_count; run-- && !err;) {
		const struct beam_node *node = &versions->path->nodes[versions->runs[run]];
		struct npuplan_clone clone = {
			.op = versions->graph->ops[versions->model->op_of[node->op]].id,
		};

		versions->id[run] = clone.op;
		if (!node->again || !versions->readers[run])
			continue;
		err = list_readers(versions, run, &clone);
		if (!err)
			err = npuplan_append(&set->clones, &set->count, &clone, 1);
		if (err)
			npuplan_free(clone.readers);
		versions->id[run] = id + set->count;
	}
	return err;
}

int beam_path_clones(const struct beam_path *path, uint32_t node, const struct cosma_model *model,
		     const struct npuplan_graph *graph, struct cosma_clone_set *set)
{
	struct versions versions = { .path = path, .model = model, .graph = graph };
	int err = versions_init(&versions, node);

	memset(set, 0, sizeof(*set));
	if (!err) {
		find_versions(&versions);
		count_readers(&versions);
		err = list_clones(&versions, set);
	}
	if (err)
		cosma_clone_set_fini(set);
	npuplan_pool_free(&versions.pool);
	return err;
}
