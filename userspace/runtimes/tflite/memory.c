// SPDX-License-Identifier: MIT
#include "memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../monotonic/monotonic.h"
#include "cache.h"
#include "npumem_layout.h"

void memory_free(struct memory *memory)
{
	if (!memory)
		return;
	if (memory->enforced)
		memory->enforcer->ops->stop(memory->enforced);
	npumem_layout_free(memory->layout);
	free(memory->blobs.graph);
	free(memory->blobs.plan);
	free(memory->steps);
	free(memory->offsets);
	free(memory);
}

/* A kernel has one pointer for a tensor, so the tensor has one range, all its life. */
static int find_tensor(struct memory *m, const struct npumem_placement *placement, struct why *why)
{
	const uint32_t t = placement->tensor;
	uint64_t bytes = placement->region.length;

	for (int d = 0; d < NPUMEM_REGION_DIMS; d++)
		bytes *= placement->region.count[d];
	if (bytes != placement->region.length || placement->region.offset)
		return why_fail(why, -EOPNOTSUPP,
				"the plan has tensor %" PRIu32 " in pieces, which no borrowed "
				"kernel can take (option \"planner\")",
				t);
	if (m->offsets[t] != UINT64_MAX && m->offsets[t] != placement->offset)
		return why_fail(why, -EOPNOTSUPP,
				"the plan moves tensor %" PRIu32 ", which no borrowed kernel can "
				"take (option \"planner\")",
				t);
	m->offsets[t] = placement->offset;
	return 0;
}

static int find_tensors(struct memory *m, const struct npumem_layout *layout, struct why *why)
{
	uint32_t count = npumem_layout_count(layout, NPUMEM_PLAN_SECTION_PLACEMENTS);
	struct npumem_placement placement;
	struct npumem_error error = { 0 };
	int err = 0;

	for (uint32_t t = 0; t < m->tensor_count; t++)
		m->offsets[t] = UINT64_MAX;
	for (uint32_t i = 0; i < count && !err; i++) {
		err = npumem_layout_placement(layout, i, &placement, &error);
		if (err)
			return why_fail(why, err, "%s", error.text);
		err = find_tensor(m, &placement, why);
	}
	return err;
}

/* Variables tie operators together in the order that they have. */
static int find_steps(struct memory *m, const struct npumem_layout *layout, struct why *why)
{
	struct npumem_position position;
	struct npumem_error error = { 0 };

	for (uint32_t i = 0; i < m->step_count; i++) {
		int err = npumem_layout_position(layout, i, &position, &error);

		if (err)
			return why_fail(why, err, "%s", error.text);
		if (position.kind != NPUMEM_POSITION_STEP)
			return why_fail(why, -EOPNOTSUPP,
					"the plan moves tensors to host memory, which engine "
					"\"borrow\" does not (options \"planner\", \"budget\")");
		if (m->in_order && position.index != i)
			return why_fail(why, -EOPNOTSUPP,
					"the plan has another order, which variables do not allow "
					"(option \"planner\")");
		m->steps[i] = position.index;
	}
	return 0;
}

static int find_all(struct memory *m, const struct npumem_layout *layout, struct why *why)
{
	int err = 0;

	free(m->steps);
	free(m->offsets);
	m->step_count = npumem_layout_count(layout, NPUMEM_PLAN_SECTION_SCHEDULE);
	m->steps = calloc(m->step_count + (size_t)1, sizeof(*m->steps));
	m->offsets = calloc(m->tensor_count + (size_t)1, sizeof(*m->offsets));
	if (!m->steps || !m->offsets)
		err = why_fail(why, -ENOMEM, "out of memory");
	if (!err)
		err = find_steps(m, layout, why);
	if (!err)
		err = find_tensors(m, layout, why);
	return err;
}

static int read_layout(struct memory *m, const struct program *program, struct why *why)
{
	struct npumem_layout *layout = NULL;
	struct npumem_error error = { 0 };
	int err;

	err = npumem_layout_new(m->blobs.graph, m->blobs.graph_size, m->blobs.plan,
				m->blobs.plan_size, &layout, &error);
	if (!err)
		err = npumem_layout_record(layout, NPUMEM_PLAN_SECTION_INFO, 0, &m->info,
					   sizeof(m->info), &error);
	if (err)
		why_fail(why, err, "%s", error.text);
	else
		err = program ? m->enforcer->ops->load(m->enforced, program, layout, why) :
				find_all(m, layout, why);
	if (err || !program)
		npumem_layout_free(layout);
	else
		m->layout = layout;
	return err;
}

/* Verified first: the layout believes what it reads. */
static int take_plan(struct memory *m, const struct program *program, struct why *why)
{
	int err = m->enforcer->ops->start(m->enforcer, &m->blobs, &m->enforced, &m->maps, why);

	if (err)
		return err;
	err = read_layout(m, program, why);
	if (err) {
		m->enforcer->ops->stop(m->enforced);
		m->enforced = NULL;
	}
	return err;
}

/* -ENOENT: there is none, or none that is right, of which a line says why. */
static int take_cached(struct memory *m, const struct program *program)
{
	const struct options *options = m->enforcer->options;
	struct why why;
	int err;

	if (!options->cache)
		return -ENOENT;
	err = cache_read(options, &m->blobs, &why);
	if (!err && take_plan(m, program, &why))
		err = -EBADMSG;
	if (err == -EBADMSG) {
		say("the cached plan is no good, so it is made anew: %s", why.text);
		free(m->blobs.plan);
		m->blobs.plan = NULL;
	}
	m->cached = !err;
	return err ? -ENOENT : 0;
}

/* A plan that was just made. */
static int take_made(struct memory *m, const struct program *program, struct why *why)
{
	const struct options *options = m->enforcer->options;
	struct why unsaved;
	int err = take_plan(m, program, why);

	if (!err && options->cache && cache_write(options, &m->blobs, &unsaved))
		say("the plan is not cached: %s", unsaved.text);
	return err;
}

static int make_plan(struct memory *m, const struct program *program, struct why *why)
{
	int err = m->enforcer->ops->plan(m->enforcer, &m->blobs, why);

	return err ? err : take_made(m, program, why);
}

/* @plan: becomes the memory's, also on failure */
static int memory_of_plan(const struct memory *m, const struct program *program, void *plan,
			  size_t size, struct memory **out, struct why *why)
{
	struct memory *next = calloc(1, sizeof(*next));
	void *graph = malloc(m->blobs.graph_size);
	int err;

	if (!next || !graph) {
		free(next);
		free(graph);
		free(plan);
		return why_fail(why, -ENOMEM, "out of memory");
	}
	memcpy(graph, m->blobs.graph, m->blobs.graph_size);
	next->enforcer = m->enforcer;
	next->blobs = (struct blobs){ graph, m->blobs.graph_size, plan, size };
	next->tensor_count = m->tensor_count;
	next->in_order = m->in_order;
	err = take_made(next, program, why);
	if (err)
		memory_free(next);
	else
		*out = next;
	return err;
}

int memory_better(const struct memory *m, const struct program *program, struct memory **out,
		  struct why *why)
{
	int64_t before = monotonic_ns();
	size_t size = 0;
	void *plan;
	int err;

	*out = NULL;
	err = m->enforcer->ops->improved(m->enforced, &plan, &size, why);
	if (!err && plan)
		err = memory_of_plan(m, program, plan, size, out, why);
	if (*out)
		(*out)->plan_ns = m->plan_ns + (uint64_t)(monotonic_ns() - before);
	return err;
}

bool memory_is_of(const struct memory *memory, const void *graph, size_t size)
{
	return memory->blobs.graph_size == size && memcmp(memory->blobs.graph, graph, size) == 0;
}

int memory_new(struct enforcer *enforcer, const struct memory_args *args, struct memory **out,
	       struct why *why)
{
	struct memory *m = calloc(1, sizeof(*m));
	int64_t before = monotonic_ns();
	int err;

	if (!m) {
		free(args->graph);
		return why_fail(why, -ENOMEM, "out of memory");
	}
	m->enforcer = enforcer;
	m->blobs.graph = args->graph;
	m->blobs.graph_size = args->graph_size;
	m->tensor_count = args->tensor_count;
	m->in_order = args->in_order;
	err = take_cached(m, args->program);
	if (err)
		err = make_plan(m, args->program, why);
	if (err) {
		memory_free(m);
		return err;
	}
	m->plan_ns = (uint64_t)(monotonic_ns() - before);
	*out = m;
	return 0;
}
