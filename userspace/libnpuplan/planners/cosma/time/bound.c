// SPDX-License-Identifier: MIT
/*
 * This file finds a time before which no plan is over, in whatever order the steps run. Each
 * engine alone is a machine whose jobs have heads and tails: a step waits at least for the steps
 * before it, and for loads of what they and it read from host memory; after it run the steps that
 * need it, and what they and it give away is stored.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/queue.h"
#include "base/region.h"
#include "base/sorted.h"
#include "clock.h"

/* Of more steps, loads and stores of those before and after a step are not added up. */
#define MAX_STEPS 4096

/* ------------------------------------------------------------- one machine */

static int by_head(const void *left, const void *right)
{
	const struct cosma_job *a = left, *b = right;

	return npuplan_compare(a->head, b->head) ?: npuplan_compare(b->tail, a->tail);
}

static bool longer_tail(const void *owner, const struct cosma_job *a, const struct cosma_job *b)
{
	(void)owner;
	return a->tail > b->tail;
}

NPUPLAN_QUEUE(jobs, struct cosma_job, void, longer_tail)

int cosma_jobs_bound(struct cosma_job *all, uint32_t count, uint64_t *bound)
{
	AUTO_HEAP struct cosma_job *ready = npuplan_malloc(((size_t)count + 1) * sizeof(*ready));
	uint64_t now = 0, over;
	uint32_t next = 0, queued = 0;

	if (!ready)
		return -ENOMEM;
	if (count)
		qsort(all, count, sizeof(*all), by_head);
	*bound = 0;
	while (next < count || queued) {
		struct cosma_job job;

		if (!queued && now < all[next].head)
			now = all[next].head;
		while (next < count && all[next].head <= now)
			jobs_put(NULL, ready, queued++, all[next++]);
		job = jobs_take(NULL, ready, queued--);
		/* It may be interrupted when another one can begin. */
		if (next < count && all[next].head - now < job.time) {
			job.time -= all[next].head - now;
			now = all[next].head;
			jobs_put(NULL, ready, queued++, job);
			continue;
		}
		now = cosma_later(now, job.time);
		over = cosma_later(now, job.tail);
		*bound = over > *bound ? over : *bound;
	}
	return 0;
}

/* ------------------------------------------------------------- heads and tails */

/*
 * struct time_bound - what is known of each step
 * @before: per step, a set of steps: those that run before it in any order, and itself
 * @after: likewise
 * @words: of such a set
 * @loads, @stores: per tensor, bytes that the plan loads first; stores of an output
 * @head, @tail: per step
 * @seen: per tensor, for one step at a time
 */
struct time_bound {
	const struct npuplan_graph *graph;
	const struct npuv_graph *cells;
	const struct npuplan_machine *machine;
	const uint64_t *times;
	struct npuplan_pool pool;
	uint64_t *before;
	uint64_t *after;
	uint32_t words;
	uint64_t *loads;
	uint64_t *stores;
	uint64_t *head;
	uint64_t *tail;
	uint64_t *seen;
};

static void postpone(uint64_t *time, uint64_t to)
{
	*time = to > *time ? to : *time;
}

/* Finds what any plan moves, of what this one does. */
static void find_compulsory(struct time_bound *bound, const struct npuplan_plan *plan)
{
	const struct npuplan_graph *graph = bound->graph;

	for (uint32_t p = 0; p < plan->position_count; p++) {
		const struct npumem_position *at = &plan->positions[p];
		bool stores = at->kind == NPUMEM_POSITION_STORE ||
			      at->kind == NPUMEM_POSITION_SPILL;

		if (at->kind == NPUMEM_POSITION_LOAD)
			bound->loads[at->index] += at->length;
		else if (stores && graph->tensors[at->index].kind == NPUMEM_TENSOR_OUTPUT)
			bound->stores[at->index] += at->length;
	}
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		uint64_t size = graph->tensors[t].size;

		bound->loads[t] = bound->loads[t] < size ? bound->loads[t] : size;
		/* Of an output of which a part is stored it is not known which steps write that. */
		bound->stores[t] = bound->stores[t] < size ? 0 : size;
	}
}

/* Calls @act for each step that writes what step @s reads; one may come several times. */
static void each_before(struct time_bound *bound, uint32_t s,
			void (*act)(struct time_bound *bound, uint32_t s, uint32_t before))
{
	const struct npuplan_step *step = &bound->graph->steps[s];
	struct npuv_cells it;

	for (uint32_t a = step->first_access; a < step->first_access + step->access_count; a++) {
		npuv_for_each_read(it, bound->cells, a)
		{
			uint32_t writer = bound->cells->cells[it.cell].writer;

			if (writer != NPUMEM_NONE)
				act(bound, s, bound->cells->access_step[writer]);
		}
	}
}

static void add_before(struct time_bound *bound, uint32_t s, uint32_t before)
{
	uint64_t *to = bound->before + (size_t)s * bound->words;
	const uint64_t *from = bound->before + (size_t)before * bound->words;

	postpone(&bound->head[s], cosma_later(bound->head[before], bound->times[before]));
	if (npuplan_set_has(to, before))
		return;
	for (uint32_t w = 0; w < bound->words; w++)
		to[w] |= from[w];
}

static void add_after(struct time_bound *bound, uint32_t s, uint32_t before)
{
	uint64_t *to = bound->after + (size_t)before * bound->words;
	const uint64_t *from = bound->after + (size_t)s * bound->words;

	postpone(&bound->tail[before], cosma_later(bound->times[s], bound->tail[s]));
	if (npuplan_set_has(to, s))
		return;
	for (uint32_t w = 0; w < bound->words; w++)
		to[w] |= from[w];
}

/* The same where sets would take too much memory. */
static void raise_head(struct time_bound *bound, uint32_t s, uint32_t before)
{
	postpone(&bound->head[s], cosma_later(bound->head[before], bound->times[before]));
}

static void raise_tail(struct time_bound *bound, uint32_t s, uint32_t before)
{
	postpone(&bound->tail[before], cosma_later(bound->times[s], bound->tail[s]));
}

/*
 * Adds to @seen what step @s moves of each tensor; @mode says which of its accesses count. Of a
 * tensor, what is moved for several steps may be the same bytes: the most of any step counts.
 */
static void see(struct time_bound *bound, uint32_t s, uint32_t mode, const uint64_t *moved,
		uint64_t *bytes, uint64_t *count)
{
	const struct npuplan_step *step = &bound->graph->steps[s];

	for (uint32_t a = step->first_access; a < step->first_access + step->access_count; a++) {
		const struct npumem_access *access = &bound->graph->accesses[a];
		const struct npumem_tile *tile = &bound->graph->tiles[access->tile];
		uint32_t t = npuplan_base_of(bound->graph, tile->tensor);
		uint64_t part = chunks_bytes(&tile->region);

		part = part < moved[t] ? part : moved[t];
		if (!(access->mode & mode) || part <= bound->seen[t])
			continue;
		*bytes += part - bound->seen[t];
		*count += !bound->seen[t];
		bound->seen[t] = part;
	}
}

/* The time that it takes to move what a set of steps moves. */
static uint64_t time_of_set(struct time_bound *bound, const uint64_t *set, uint32_t s,
			    uint32_t mode, const uint64_t *moved)
{
	uint64_t bytes = 0, count = 0;

	memset(bound->seen, 0, bound->graph->tensor_count * sizeof(*bound->seen));
	if (!bound->words)
		see(bound, s, mode, moved, &bytes, &count);
	else
		npuplan_set_for_each(x, set, bound->words)
			see(bound, x, mode, moved, &bytes, &count);
	return cosma_copies_time(bound->machine, bytes, count);
}

static void find_heads(struct time_bound *bound)
{
	for (uint32_t s = 0; s < bound->graph->step_count; s++) {
		const uint64_t *set = bound->before + (size_t)s * bound->words;
		uint64_t loads;

		if (bound->words)
			npuplan_set_add(bound->before + (size_t)s * bound->words, s);
		each_before(bound, s, bound->words ? add_before : raise_head);
		loads = time_of_set(bound, set, s, NPUMEM_ACCESS_READ, bound->loads);
		postpone(&bound->head[s], loads);
	}
}

static void find_tails(struct time_bound *bound)
{
	for (uint32_t s = bound->graph->step_count; s-- > 0;) {
		const uint64_t *set = bound->after + (size_t)s * bound->words;
		uint64_t stores;

		if (bound->words)
			npuplan_set_add(bound->after + (size_t)s * bound->words, s);
		stores = time_of_set(bound, set, s, NPUMEM_ACCESS_WRITE, bound->stores);
		postpone(&bound->tail[s], stores);
		each_before(bound, s, bound->words ? add_after : raise_tail);
	}
}

/* ------------------------------------------------------------- engines */

static int bound_steps(struct time_bound *bound, struct cosma_job *jobs, uint64_t *least)
{
	uint32_t count = bound->graph->step_count;

	for (uint32_t s = 0; s < count; s++)
		jobs[s] = (struct cosma_job){ .head = bound->head[s],
					      .time = bound->times[s],
					      .tail = bound->tail[s] };
	return cosma_jobs_bound(jobs, count, least);
}

/* Steps that read or write all that is moved of a tensor do so after its load, before its store. */
static void bound_moves(const struct time_bound *bound, uint32_t s, struct cosma_job *loads,
			struct cosma_job *stores)
{
	const struct npuplan_graph *graph = bound->graph;
	const struct npuplan_step *step = &graph->steps[s];

	for (uint32_t a = step->first_access; a < step->first_access + step->access_count; a++) {
		const struct npumem_access *access = &graph->accesses[a];
		const struct npumem_tile *tile = &graph->tiles[access->tile];
		uint32_t t = npuplan_base_of(graph, tile->tensor);
		uint64_t bytes = chunks_bytes(&tile->region);

		if (access->mode & NPUMEM_ACCESS_READ && bytes >= bound->loads[t])
			postpone(&loads[t].tail, cosma_later(bound->times[s], bound->tail[s]));
		if (access->mode & NPUMEM_ACCESS_WRITE && bytes >= bound->stores[t])
			postpone(&stores[t].head, cosma_later(bound->head[s], bound->times[s]));
	}
}

/* One job for what is loaded of each tensor, one for what is stored, and one for the traffic. */
static int bound_copies(const struct time_bound *bound, struct cosma_job *jobs, uint64_t traffic,
			uint64_t *least)
{
	uint32_t tensors = bound->graph->tensor_count, count = 0;
	struct cosma_job *loads = jobs, *stores = jobs + tensors;

	memset(jobs, 0, (2 * (size_t)tensors + 1) * sizeof(*jobs));
	for (uint32_t t = 0; t < tensors; t++) {
		if (bound->loads[t])
			loads[t].time = cosma_copy_time(bound->machine, bound->loads[t]);
		if (bound->stores[t])
			stores[t].time = cosma_copy_time(bound->machine, bound->stores[t]);
	}
	for (uint32_t s = 0; s < bound->graph->step_count; s++)
		bound_moves(bound, s, loads, stores);
	for (uint32_t i = 0; i < 2 * tensors; i++)
		if (jobs[i].time)
			jobs[count++] = jobs[i];
	if (traffic)
		jobs[count++] =
			(struct cosma_job){ .time = cosma_copy_time(bound->machine, traffic) };
	return cosma_jobs_bound(jobs, count, least);
}

int cosma_time_bound(const struct npuplan_graph *graph, const struct npuv_graph *cells,
		     const struct npuplan_plan *plan, const struct npuplan_machine *machine,
		     const uint64_t *times, uint64_t traffic, uint64_t *out)
{
	struct time_bound bound = {
		.graph = graph,
		.cells = cells,
		.machine = machine,
		.times = times,
		.words = graph->step_count > MAX_STEPS ? 0 : (graph->step_count + 63) / 64,
	};
	struct npuplan_pool *pool = &bound.pool;
	size_t tensors = graph->tensor_count, steps = graph->step_count;
	size_t jobs = steps > 2 * tensors ? steps : 2 * tensors;
	struct cosma_job *list = npuplan_pool_take(pool, jobs + 1, sizeof(*list));
	uint64_t copies = 0, computed = 0;
	int err;

	bound.before = npuplan_pool_take(pool, steps * bound.words, sizeof(uint64_t));
	bound.after = npuplan_pool_take(pool, steps * bound.words, sizeof(uint64_t));
	bound.loads = npuplan_pool_take(pool, tensors, sizeof(uint64_t));
	bound.stores = npuplan_pool_take(pool, tensors, sizeof(uint64_t));
	bound.seen = npuplan_pool_take(pool, tensors, sizeof(uint64_t));
	bound.head = npuplan_pool_take(pool, steps, sizeof(uint64_t));
	bound.tail = npuplan_pool_take(pool, steps, sizeof(uint64_t));
	err = pool->failed ? -ENOMEM : 0;
	if (!err) {
		find_compulsory(&bound, plan);
		find_heads(&bound);
		find_tails(&bound);
		err = bound_steps(&bound, list, &computed);
	}
	if (!err)
		err = bound_copies(&bound, list, traffic, &copies);
	npuplan_pool_free(pool);
	*out = computed > copies ? computed : copies;
	return err;
}
