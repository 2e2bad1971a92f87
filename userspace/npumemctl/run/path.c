/* SPDX-License-Identifier: MIT */
#include "path.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "npumem_mix.h"
#include "../../grow/grow.h"

/*
 * What is looked up at each block on the way: edges of the graph by block, edges of
 * the plan by instance (a list each, in their order), and how far away the exit is.
 */
struct path_search {
	const struct npuplan_graph *graph;
	const struct npuplan_plan *plan;
	uint32_t *edge_start, *edges;
	uint32_t *plan_start, *plan_edges;
	uint32_t *distance;
	bool *visited;
	uint64_t random;
	uint32_t iterations;
	uint32_t choice, chosen;
};

static __attribute__((format(printf, 3, 4))) int fail(struct npuplan_error *error, int code,
						      const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error->text, sizeof(error->text), fmt, args);
	va_end(args);
	return code;
}

static void search_fini(struct path_search *s)
{
	free(s->edge_start);
	free(s->edges);
	free(s->plan_start);
	free(s->plan_edges);
	free(s->distance);
	free(s->visited);
}

/* Edges by where they come from: counts first, then places. */
static void index_edges(struct path_search *s)
{
	const struct npuplan_graph *graph = s->graph;
	const struct npuplan_plan *plan = s->plan;

	for (uint32_t i = 0; i < graph->edge_count; i++)
		s->edge_start[graph->edges[i].from + 1]++;
	for (uint32_t i = 0; i < plan->edge_count; i++)
		s->plan_start[plan->edges[i].from + 1]++;
	for (uint32_t i = 0; i < graph->block_count; i++)
		s->edge_start[i + 1] += s->edge_start[i];
	for (uint32_t i = 0; i < plan->block_count; i++)
		s->plan_start[i + 1] += s->plan_start[i];
	/* Backwards, the starts taken for cursors; then they are starts again. */
	for (uint32_t i = graph->edge_count; i-- > 0;)
		s->edges[--s->edge_start[graph->edges[i].from + 1]] = i;
	for (uint32_t i = plan->edge_count; i-- > 0;)
		s->plan_edges[--s->plan_start[plan->edges[i].from + 1]] = i;
	memmove(s->edge_start, s->edge_start + 1, graph->block_count * sizeof(*s->edge_start));
	memmove(s->plan_start, s->plan_start + 1, plan->block_count * sizeof(*s->plan_start));
	s->edge_start[graph->block_count] = graph->edge_count;
	s->plan_start[plan->block_count] = plan->edge_count;
}

static uint32_t distance_of(const struct path_search *s, uint32_t block)
{
	return block == NPUMEM_NONE ? 0 : s->distance[block];
}

/* Edges to the exit, by relaxing all edges until nothing changes. */
static void measure(struct path_search *s)
{
	bool changed = true;

	memset(s->distance, 0xff, s->graph->block_count * sizeof(*s->distance));
	while (changed) {
		changed = false;
		for (uint32_t i = s->graph->edge_count; i-- > 0;) {
			const struct npumem_edge *edge = &s->graph->edges[i];
			uint32_t to = distance_of(s, edge->to);

			if (to == NPUMEM_NONE || to + 1 >= s->distance[edge->from])
				continue;
			s->distance[edge->from] = to + 1;
			changed = true;
		}
	}
}

static int search_init(struct path_search *s, const struct path_rule *rule)
{
	const struct npuplan_graph *graph = s->graph;
	const struct npuplan_plan *plan = s->plan;

	s->edge_start = calloc(graph->block_count + (size_t)2, sizeof(*s->edge_start));
	s->edges = calloc(graph->edge_count + (size_t)1, sizeof(*s->edges));
	s->plan_start = calloc(plan->block_count + (size_t)2, sizeof(*s->plan_start));
	s->plan_edges = calloc(plan->edge_count + (size_t)1, sizeof(*s->plan_edges));
	s->distance = calloc(graph->block_count + (size_t)1, sizeof(*s->distance));
	s->visited = calloc(graph->block_count + (size_t)1, sizeof(*s->visited));
	if (!s->edge_start || !s->edges || !s->plan_start || !s->plan_edges || !s->distance ||
	    !s->visited)
		return -ENOMEM;
	index_edges(s);
	measure(s);
	s->random = npumem_mix_scramble(rule->seed ^ NPUMEM_MIX_PRIME);
	return 0;
}

/* Number among the edges of a block of the one that leads out soonest. */
static uint32_t shortest(const struct path_search *s, uint32_t block)
{
	uint32_t first = s->edge_start[block], best = 0;

	for (uint32_t i = 1; i < s->edge_start[block + 1] - first; i++)
		if (distance_of(s, s->graph->edges[s->edges[first + i]].to) <
		    distance_of(s, s->graph->edges[s->edges[first + best]].to))
			best = i;
	return best;
}

/* Which edge of the graph to take from a block, in *edge. */
static int choose(struct path_search *s, const struct path_rule *rule, uint32_t block,
		  uint32_t *edge, struct npuplan_error *error)
{
	uint32_t first = s->edge_start[block], count = s->edge_start[block + 1] - first, n = 0;

	if (s->distance[block] == NPUMEM_NONE)
		return fail(error, -EINVAL, "no way leads from block %u to the exit", block);
	if (count > 1 && rule->choice_count) {
		if (s->choice == rule->choice_count) {
			n = shortest(s, block);
		} else {
			n = rule->choices[s->choice].edge;
			if (n >= count)
				return fail(error, -EINVAL,
					    "choice %u at block %u: it has %u edges", n, block,
					    count);
			if (++s->chosen == rule->choices[s->choice].count) {
				s->choice++;
				s->chosen = 0;
			}
		}
	} else if (count > 1 && s->iterations >= rule->max_iterations) {
		n = shortest(s, block);
	} else if (count > 1) {
		s->random = npumem_mix_scramble(s->random + NPUMEM_MIX_PRIME);
		n = (uint32_t)((s->random >> 32) % count);
	}
	*edge = s->edges[first + n];
	return 0;
}

static uint32_t plan_edge(const struct path_search *s, uint32_t instance, uint32_t edge)
{
	for (uint32_t i = s->plan_start[instance]; i < s->plan_start[instance + 1]; i++)
		if (s->plan->edges[s->plan_edges[i]].edge == edge)
			return s->plan_edges[i];
	return NPUMEM_NONE;
}

static int append(struct path *path, struct path_visit visit, struct npuplan_error *error)
{
	struct path_visit *visits;

	if (path->count == PATH_MAX_VISITS)
		return fail(error, -E2BIG, "the path has more than %u blocks", PATH_MAX_VISITS);
	visits = grow_by_one(path->visits, path->count, sizeof(*visits));
	if (!visits)
		return fail(error, -ENOMEM, "out of memory");
	path->visits = visits;
	visits[path->count++] = visit;
	return 0;
}

static int walk(struct path_search *s, const struct path_rule *rule, struct path *path,
		struct npuplan_error *error)
{
	struct path_visit visit = { 0 };
	uint32_t block, edge = NPUMEM_NONE;
	int err;

	while (visit.instance != NPUMEM_NONE) {
		block = s->plan->blocks[visit.instance].block;
		s->visited[block] = true;
		err = choose(s, rule, block, &edge, error);
		if (err)
			return err;
		visit.edge = plan_edge(s, visit.instance, edge);
		if (visit.edge == NPUMEM_NONE)
			return fail(error, -EINVAL, "the plan has no edge %u from its block %u",
				    edge, visit.instance);
		err = append(path, visit, error);
		if (err)
			return err;
		block = s->graph->edges[edge].to;
		s->iterations += block != NPUMEM_NONE && s->visited[block];
		visit.instance = s->plan->edges[visit.edge].to;
	}
	if (s->choice < rule->choice_count)
		return fail(error, -EINVAL, "the exit is reached with choices left over");
	return 0;
}

/* Indices are not trusted: a plan is read before the driver sees it. */
static int check_indices(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			 struct npuplan_error *error)
{
	for (uint32_t i = 0; i < graph->edge_count; i++)
		if (graph->edges[i].from >= graph->block_count ||
		    (graph->edges[i].to >= graph->block_count && graph->edges[i].to != NPUMEM_NONE))
			return fail(error, -EINVAL, "edge %u is between no blocks", i);
	for (uint32_t i = 0; i < plan->block_count; i++)
		if (plan->blocks[i].block >= graph->block_count)
			return fail(error, -EINVAL, "plan block %u is of no block", i);
	for (uint32_t i = 0; i < plan->edge_count; i++)
		if (plan->edges[i].from >= plan->block_count ||
		    (plan->edges[i].to >= plan->block_count && plan->edges[i].to != NPUMEM_NONE))
			return fail(error, -EINVAL, "plan edge %u is between no plan blocks", i);
	if (!plan->block_count)
		return fail(error, -EINVAL, "the plan has no block");
	return 0;
}

int path_find(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
	      const struct path_rule *rule, struct path *path, struct npuplan_error *error)
{
	struct path_search s = { .graph = graph, .plan = plan };
	int err = check_indices(graph, plan, error);

	*path = (struct path){ 0 };
	if (err)
		return err;
	if (!graph->edge_count) {
		if (rule->choice_count)
			return fail(error, -EINVAL, "the graph has no edges to choose from");
		return append(path, (struct path_visit){ .edge = NPUMEM_NONE }, error);
	}
	err = search_init(&s, rule);
	if (err)
		fail(error, err, "out of memory");
	else
		err = walk(&s, rule, path, error);
	search_fini(&s);
	if (err)
		path_fini(path);
	return err;
}

void path_fini(struct path *path)
{
	free(path->visits);
	*path = (struct path){ 0 };
}

/* A decimal number of 32 bits; moves past it. */
static bool number(const char **text, uint32_t *value)
{
	unsigned long long n;
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	n = strtoull(*text, &end, 10);
	if (errno || n >= NPUMEM_NONE)
		return false;
	*value = (uint32_t)n;
	*text = end;
	return true;
}

int path_choices(const char *text, struct path_choice **choices, uint32_t *count)
{
	struct path_choice *list;
	size_t most = 1;

	for (const char *p = text; *p; p++)
		most += *p == ',';
	list = calloc(most, sizeof(*list));
	*count = 0;
	if (!list)
		return -ENOMEM;
	for (;;) {
		struct path_choice *choice = &list[*count];

		choice->count = 1;
		if (!number(&text, &choice->edge))
			break;
		if (*text == '*') {
			text++;
			if (!number(&text, &choice->count) || !choice->count)
				break;
		}
		++*count;
		if (!*text) {
			*choices = list;
			return 0;
		}
		if (*text++ != ',')
			break;
	}
	free(list);
	return -EINVAL;
}
