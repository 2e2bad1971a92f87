// SPDX-License-Identifier: MIT
/* npuplan_carry_copies_find(): which values that edges carry are copied, so that loops fit. */
#include <stdlib.h>
#include <string.h>

#include "copies.h"
#include "graph/checked.h"

/* How often a choice that did not fit is followed by one for half as many instances. */
#define MAX_HALVES 8
/* Sets of more copies than this are not looked through for copies to leave out. */
#define MAX_SPARED 256

/* ------------------------------------------------------------------ trials */

int npuplan_copies_append(struct npuplan_copy_set *set, const struct npuplan_copy_set *more)
{
	set->bytes += more->bytes;
	return npuplan_append(&set->list, &set->count, more->list, more->count);
}

int npuplan_copies_tile(const struct npuplan_copy_search *search,
			const struct npuplan_copy_set *set, struct npuplan_graph **tiled,
			struct npuplan_error *error)
{
	int err = npuplan_graph_copy_carries(search->graph, set->list, set->count, tiled, error);

	if (!err)
		err = npuplan_graph_tile(*tiled, search->tiling, error);
	if (err) {
		npuplan_graph_free(*tiled);
		*tiled = NULL;
	}
	return err;
}

static void forget_instances(struct npuplan_flow *flow)
{
	free_all(flow->instances, flow->nodes, flow->successors);
	flow->instances = NULL;
	flow->nodes = NULL;
	flow->successors = NULL;
	flow->tracked = NULL;
	flow->instance_count = flow->node_count = flow->edge_count = flow->position_count = 0;
}

/*
 * Count per block the instances that can be entered more than once: those that are left when those
 * that nothing leads to are taken away one by one.
 */
static int count_cycles(const struct npuplan_copy_search *search, const struct npuplan_flow *flow,
			uint32_t *of_block)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	uint32_t count = flow->instance_count, blocks = search->tiled->block_count, ended = 0;
	uint32_t *entered = npuplan_pool_take(&pool, count, sizeof(*entered));
	uint32_t *left = npuplan_pool_take(&pool, count, sizeof(*left));
	uint32_t *all = npuplan_pool_take(&pool, flow->graph->block_count, sizeof(*all));
	uint32_t *cycles = npuplan_pool_take(&pool, flow->graph->block_count, sizeof(*cycles));

	if (pool.failed)
		return -ENOMEM;
	for (uint32_t e = 0; e < flow->edge_count; e++)
		if (flow->successors[e] != NPUMEM_NONE)
			entered[flow->successors[e]]++;
	for (uint32_t i = 0; i < count; i++) {
		all[flow->instances[i].block]++;
		cycles[flow->instances[i].block]++;
		if (!entered[i])
			left[ended++] = i;
	}
	for (uint32_t i = 0; i < ended; i++) {
		const struct npuplan_instance *at = &flow->instances[left[i]];

		cycles[at->block]--;
		for (uint32_t k = 0; k < npuplan_out_count(flow, at->block); k++) {
			uint32_t next = flow->successors[at->first_edge + k];

			if (next != NPUMEM_NONE && !--entered[next])
				left[ended++] = next;
		}
	}
	for (uint32_t b = 0; b < blocks; b++)
		of_block[b] = cycles[b] ? cycles[b] : all[b];
	return 0;
}

/* Find the instances of names, and say whether they fit. @tracked: NULL: of all groups. */
static int try_instances(struct npuplan_copy_search *search, struct npuplan_flow *flow,
			 const bool *tracked, struct npuplan_places *places,
			 struct npuplan_error *error)
{
	int err;

	flow->most_instances = search->limit;
	flow->tracked = tracked;
	err = npuplan_flow_instances(flow, search->effort, error);
	if (flow->instance_count)
		search->work +=
			(uint64_t)flow->node_count * flow->node_count / flow->instance_count;
	places->refused = err;
	places->instances = err ? 0 : flow->instance_count;
	if (!err && places->of_block)
		return count_cycles(search, flow, places->of_block);
	return err == -E2BIG || err == -EOPNOTSUPP ? 0 : err;
}

/* Which tensors of a graph with copies are of a group: those that it had, and the copies. */
static bool *tracked_of(const struct npuplan_copy_search *search, uint32_t group, uint32_t count)
{
	uint32_t old = search->tiled->tensor_count;
	bool *tracked = npuplan_calloc((size_t)count + 1, sizeof(*tracked));

	for (uint32_t t = 0; t < count && tracked; t++)
		tracked[t] = t >= old || search->names.groups[t] == group;
	return tracked;
}

static int try_copies(struct npuplan_copy_search *search, const struct npuplan_copy_set *set,
		      uint32_t group, struct npuplan_places *places, struct npuplan_error *error)
{
	struct npuplan_graph *tiled;
	AUTO_HEAP bool *tracked = NULL;
	struct npuplan_flow flow;
	int err = npuplan_copies_tile(search, set, &tiled, error);

	if (err)
		return err;
	if (group != NPUMEM_NONE)
		tracked = tracked_of(search, group, tiled->tensor_count);
	err = npuplan_flow_names(&flow, tiled, error);
	if (!err && group != NPUMEM_NONE && !tracked)
		err = -ENOMEM;
	if (!err)
		err = try_instances(search, &flow, tracked, places, error);
	npuplan_flow_fini(&flow);
	npuplan_graph_free(tiled);
	return err;
}

int npuplan_copies_try(struct npuplan_copy_search *search, const struct npuplan_copy_set *set,
		       uint32_t group, struct npuplan_places *places, struct npuplan_error *error)
{
	AUTO_HEAP bool *tracked = NULL;
	int err;

	places->refused = -ENOMEM;
	places->instances = 0;
	if (set->count)
		return try_copies(search, set, group, places, error);
	if (group != NPUMEM_NONE)
		tracked = tracked_of(search, group, search->tiled->tensor_count);
	if (group != NPUMEM_NONE && !tracked)
		return -ENOMEM;
	err = try_instances(search, &search->names, tracked, places, error);
	forget_instances(&search->names);
	return err;
}

/* ------------------------------------------------------------------ search */

static int fits(void *search, const struct npuplan_copy_set *set, bool *fit)
{
	struct npuplan_places places = { 0 };
	int err = npuplan_copies_try(search, set, NPUMEM_NONE, &places, NULL);

	*fit = !err && !places.refused;
	return err;
}

/* The copies of the breaks that were picked; of NULL, of the last break of each group. */
static int gather(const struct npuplan_groups *groups, const uint32_t *picked,
		  struct npuplan_copy_set *set)
{
	int err = 0;

	set->count = 0;
	set->bytes = 0;
	for (uint32_t g = 0; g < groups->count && !err; g++) {
		const struct npuplan_group *group = &groups->list[g];
		uint32_t at = picked ? picked[g] : group->break_count - 1;

		err = npuplan_copies_append(set, &group->breaks[at].set);
	}
	return err;
}

static uint64_t bytes_of(const struct npuplan_copy_search *search,
			 const struct npuplan_carry_copy *copy)
{
	const struct npuplan_graph *graph = search->tiled;
	const struct npumem_edge *edge = &graph->edges[copy->edge];

	for (uint32_t i = edge->first_carry; i < edge->first_carry + edge->carry_count; i++)
		if (graph->tensors[graph->carries[i].to].id == copy->tensor)
			return graph->tensors[graph->carries[i].to].size;
	return 0;
}

static void drop(const struct npuplan_copy_search *search, struct npuplan_copy_set *set,
		 uint32_t copy)
{
	set->bytes -= bytes_of(search, &set->list[copy]);
	memmove(&set->list[copy], &set->list[copy + 1],
		(set->count - copy - 1) * sizeof(*set->list));
	set->count--;
}

/* The largest copy that has not been tried to be left out, the last of them; NONE: there is none */
static uint32_t largest(const struct npuplan_copy_search *search,
			const struct npuplan_copy_set *set, const bool *tried)
{
	uint32_t found = NPUMEM_NONE;
	uint64_t most = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		uint64_t bytes = bytes_of(search, &set->list[i]);

		if (tried[i] || bytes < most)
			continue;
		found = i;
		most = bytes;
	}
	return found;
}

/* struct spared - what a set without some of its copies still has to do
 * @keeps: whether it does; may be asked of sets that do not
 */
struct spared {
	int (*keeps)(void *context, const struct npuplan_copy_set *set, bool *fit);
	void *context;
};

/* Leave out what can be left out, the largest copies first. */
static int spare(const struct npuplan_copy_search *search, const struct spared *spared,
		 struct npuplan_copy_set *set)
{
	bool tried[MAX_SPARED] = { false };
	uint32_t at;

	if (set->count > MAX_SPARED)
		return 0;
	while (search->work < NPUPLAN_TRIAL_WORK &&
	       (at = largest(search, set, tried)) != NPUMEM_NONE) {
		struct npuplan_copy_set less = { 0 };
		bool fit = false;
		int err = npuplan_copies_append(&less, set);

		if (!err) {
			drop(search, &less, at);
			err = spared->keeps(spared->context, &less, &fit);
		}
		npuplan_free(less.list);
		if (err)
			return err;
		tried[at] = true;
		if (!fit)
			continue;
		/* With one less, another one may be in vain, too. */
		drop(search, set, at);
		memset(tried, false, sizeof(tried));
	}
	return 0;
}

/*
 * Find copies with which the graph fits, if there are any. How many instances groups make together
 * is an estimate, so what is chosen is tried, and chosen again for fewer.
 */
static int find_needed(struct npuplan_copy_search *search, const struct npuplan_groups *groups,
		       struct npuplan_copy_set *set, bool *fit)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	uint32_t *picked = npuplan_pool_take(&pool, groups->count, sizeof(*picked));
	uint32_t limit = search->limit;
	int err = picked ? 0 : -ENOMEM;

	*fit = false;
	for (int i = 0; i < MAX_HALVES && !*fit && !err; i++, limit /= 2) {
		if (!npuplan_groups_choose(search, groups, limit, picked))
			break;
		err = gather(groups, picked, set);
		if (!err)
			err = fits(search, set, fit);
	}
	if (!*fit && !err) {
		err = gather(groups, NULL, set);
		if (!err)
			err = fits(search, set, fit);
	}
	return err || !*fit ? err : spare(search, &(struct spared){ fits, search }, set);
}

/* ----------------------------------------------------------------- smaller */

/* struct smaller - plans with more and more copies
 * @options: of all plans
 * @best: the smallest one
 */
struct smaller {
	struct npuplan_copy_search *search;
	struct npuplan_options options;
	struct npuplan_plan *best;
};

/* Plan with the copies of a set; NULL: there is no plan that fits. */
static int plan_with(struct smaller *s, const struct npuplan_copy_set *set,
		     struct npuplan_plan **plan, struct npuplan_error *error)
{
	struct npuplan_graph *tiled;
	bool fit;
	int err = fits(s->search, set, &fit);

	*plan = NULL;
	if (err || !fit)
		return err;
	err = npuplan_copies_tile(s->search, set, &tiled, error);
	if (err)
		return err;
	if (s->options.deadline_seconds > 0)
		s->options.deadline_seconds = npuplan_effort_left(s->search->effort);
	err = npuplan_plan(tiled, &s->options, plan, error);
	npuplan_graph_free(tiled);
	return err == -ENOSPC || err == -E2BIG || err == -ETIMEDOUT || err == -EOPNOTSUPP ? 0 : err;
}

/* No plan is smaller than one at its bound, since copies only add to what lives. */
static bool is_least(const struct smaller *s)
{
	return (s->best && s->best->info.status == NPUMEM_PLAN_STATUS_OPTIMAL) ||
	       npuplan_effort_late(s->search->effort);
}

static bool has_copy(const struct npuplan_copy_set *set, const struct npuplan_copy_set *of)
{
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t k = 0; k < of->count; k++)
			if (set->list[i].edge == of->list[k].edge &&
			    set->list[i].tensor == of->list[k].tensor)
				return true;
	return false;
}

/* Copy all of one group more, if the plan is smaller for it. */
static int try_group(struct smaller *s, const struct npuplan_group *group,
		     struct npuplan_copy_set *set)
{
	const struct npuplan_break *way = &group->breaks[group->break_count - 1];
	struct npuplan_copy_set more = { 0 };
	struct npuplan_plan *plan = NULL;
	int err = 0;

	if (!way->set.count || has_copy(set, &way->set))
		return 0;
	err = npuplan_copies_append(&more, set);
	if (!err)
		err = npuplan_copies_append(&more, &way->set);
	if (!err)
		err = plan_with(s, &more, &plan, NULL);
	if (plan && (!s->best || plan->info.arena_size < s->best->info.arena_size)) {
		struct npuplan_plan *old = s->best;
		struct npuplan_copy_set less = *set;

		s->best = plan;
		*set = more;
		plan = old;
		more = less;
	}
	npuplan_plan_free(plan);
	npuplan_free(more.list);
	return err;
}

/* Whether a plan with these copies is as small as the best one. */
static int is_as_small(void *smaller, const struct npuplan_copy_set *set, bool *fit)
{
	struct smaller *s = smaller;
	struct npuplan_plan *plan = NULL;
	int err = 0;

	if (!npuplan_effort_late(s->search->effort))
		err = plan_with(s, set, &plan, NULL);
	*fit = plan && plan->info.arena_size <= s->best->info.arena_size;
	npuplan_plan_free(plan);
	return err;
}

static int find_smaller(struct npuplan_copy_search *search, const struct npuplan_groups *groups,
			const struct npuplan_options *options, struct npuplan_copy_set *set,
			uint64_t *arena, struct npuplan_error *error)
{
	struct smaller s = { .search = search, .options = *options };
	int err = plan_with(&s, set, &s.best, error);

	*arena = s.best ? s.best->info.arena_size : 0;
	for (uint32_t g = 0; g < groups->count && !err && !is_least(&s); g++)
		err = try_group(&s, &groups->list[g], set);
	if (!err && s.best && s.best->info.arena_size < *arena)
		err = spare(search, &(struct spared){ is_as_small, &s }, set);
	npuplan_plan_free(s.best);
	return err;
}

/* ------------------------------------------------------------------ whole */

/* The graph without copies, with its names; false: it is refused for another reason. */
static bool begin(struct npuplan_copy_search *search)
{
	const struct npuplan_copy_set none = { 0 };
	struct npuplan_checked checked;

	if (npuplan_copies_tile(search, &none, &search->tiled, NULL))
		return false;
	if (npuplan_checked_init(&checked, search->tiled, NULL))
		return false;
	npuplan_checked_fini(&checked);
	return !npuplan_flow_names(&search->names, search->tiled, NULL);
}

/* Whether operators are cut in ways of their own, by numbers that a graph with more has not. */
static bool cuts_single(const struct npuplan_tiling *tiling)
{
	return tiling->op_count || tiling->onchip || tiling->clone_count || tiling->patch_count;
}

static int search_copies(struct npuplan_copy_search *search, const struct npuplan_options *options,
			 uint32_t copying, struct npuplan_copy_set *set,
			 struct npuplan_carry_copies *out, struct npuplan_error *error)
{
	struct npuplan_groups groups = { 0 };
	struct npuplan_places places = { 0 };
	int err = npuplan_copies_try(search, set, NPUMEM_NONE, &places, error);
	bool fit = !places.refused;

	if (err || (fit && copying == NPUPLAN_COPYING_NEEDED))
		return err;
	if (cuts_single(search->tiling))
		return fit ? 0 : places.refused;
	err = npuplan_groups_find(search, &groups);
	if (!err && !fit) {
		err = find_needed(search, &groups, set, &fit);
		/* The sentence is that of the graph without copies. */
		if (!err && !fit)
			err = places.refused;
	}
	if (!err && copying == NPUPLAN_COPYING_SMALLER)
		err = find_smaller(search, &groups, options, set, &out->arena_without, error);
	if (!err)
		err = npuplan_copies_try(search, set, NPUMEM_NONE, &places, NULL);
	out->instances = places.instances;
	npuplan_groups_fini(&groups);
	return err;
}

static int check_asked(const struct npuplan_graph *graph, uint32_t copying, uint32_t instances,
		       struct npuplan_error *error)
{
	if (graph->step_count)
		return npuplan_fail(
			error, -EINVAL,
			"what edges carry is copied only in a graph that is not tiled yet");
	if (copying > NPUPLAN_COPYING_SMALLER)
		return npuplan_fail(error, -EINVAL, "copies: there is no way %u to choose them",
				    copying);
	if (instances > NPUPLAN_MAX_INSTANCES)
		return npuplan_fail(error, -EINVAL, "%u instances of blocks: a plan has at most %u",
				    instances, NPUPLAN_MAX_INSTANCES);
	return 0;
}

int npuplan_carry_copies_find_sized(const struct npuplan_graph *graph,
				    const struct npuplan_tiling *tiling,
				    const struct npuplan_options *given, size_t given_size,
				    uint32_t copying, uint32_t instances,
				    struct npuplan_carry_copies *out, struct npuplan_error *error)
{
	struct npuplan_copy_search search = { .graph = graph, .tiling = tiling };
	struct npuplan_copy_set set = { 0 };
	struct npuplan_taken_options taken;
	struct npuplan_effort effort;
	int err = npuplan_take_options(&taken, given, given_size, error);

	*out = (struct npuplan_carry_copies){ 0 };
	if (!err)
		err = check_asked(graph, copying, instances, error);
	if (err || npuplan_is_straight(graph))
		return err;
	effort = npuplan_effort_begin(UINT64_MAX, taken.all.deadline_seconds, NULL, NULL);
	search.effort = &effort;
	search.limit = instances ? instances : NPUPLAN_MAX_INSTANCES;
	if (begin(&search))
		err = search_copies(&search, &taken.all, copying, &set, out, error);
	npuplan_flow_fini(&search.names);
	npuplan_graph_free(search.tiled);
	if (err) {
		npuplan_free(set.list);
		*out = (struct npuplan_carry_copies){ 0 };
		return err == -ENOMEM ? npuplan_fail(error, err, "out of memory") : err;
	}
	out->copies = set.list;
	out->copy_count = set.count;
	out->bytes = set.bytes;
	return 0;
}

void npuplan_carry_copies_fini(struct npuplan_carry_copies *copies)
{
	npuplan_free(copies->copies);
	*copies = (struct npuplan_carry_copies){ 0 };
}
