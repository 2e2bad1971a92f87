// SPDX-License-Identifier: MIT
/*
 * Groups of names whose values change places, and how to break them by copies.
 *
 * A group makes as many instances of a block as there are ways in which its values lie in its
 * colours; several groups make the least common multiple of those. One copy changes that number, as
 * it lengthens or shortens a cycle by one; copying all that an edge carries, each value to the
 * bytes of the name that it is carried to, makes it 1.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "copies.h"

/* The most choices that are looked at, and the most numbers that a search keeps. */
#define MAX_CHOSEN    100000
#define MAX_MULTIPLES (1ull << 22)

/* -------------------------------------------------------- copies of an edge */

/* struct assignment - what one carry does; @done: it is copied for good */
struct assignment {
	uint32_t from;
	uint32_t to;
	bool done;
};

static bool is_live_in(const struct npuplan_flow *flow, uint32_t block, uint32_t tensor)
{
	uint32_t name = block == NPUMEM_NONE ? NPUMEM_NONE : npuplan_name_of(flow, block, tensor);

	return name != NPUMEM_NONE && flow->names[name].live_in;
}

/* Whether a carry hands on a value of the group that is needed, and that can be copied. */
static bool is_copied(const struct npuplan_copy_search *search, const struct npumem_edge *edge,
		      const struct npumem_carry *carry, uint32_t group)
{
	const struct npuplan_flow *flow = &search->names;
	const struct npuplan_tensor *from = &search->tiled->tensors[carry->from];

	return flow->groups[carry->to] == group && carry->from != carry->to &&
	       from->kind != NPUMEM_TENSOR_PARAMETER && !(from->flags & NPUMEM_TENSOR_FLAG_ALIAS) &&
	       is_live_in(flow, edge->to, carry->to);
}

static int add_copy(const struct npuplan_copy_search *search, struct npuplan_copy_set *set,
		    uint32_t edge, uint32_t to)
{
	const struct npuplan_tensor *tensor = &search->tiled->tensors[to];
	struct npuplan_carry_copy copy = { .edge = edge, .tensor = tensor->id };

	set->bytes += tensor->size;
	return npuplan_append(&set->list, &set->count, &copy, 1);
}

/*
 * struct parallel - the assignments of an edge, which all happen at once, put in an order
 * @all: the assignments; @count of them
 * @readers: per tensor, how many assignments take its value that are not done yet
 * @by_to: per tensor, 1 more than the number of the assignment to it; 0: there is none
 * @queue: numbers of assignments to names whose value nobody takes any more
 * @head, @tail: of @queue
 */
struct parallel {
	struct assignment *all;
	uint32_t count;
	uint32_t *readers;
	uint32_t *by_to;
	uint32_t *queue;
	uint32_t head;
	uint32_t tail;
};

/* An assignment has taken its value: if it was the last one, that name's place is free. */
static void release(struct parallel *p, uint32_t from)
{
	if (from != NPUMEM_NONE && !--p->readers[from] && p->by_to[from])
		p->queue[p->tail++] = p->by_to[from] - 1;
}

static void begin_edge(struct parallel *p)
{
	p->head = p->tail = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		p->readers[p->all[i].from]++;
		p->by_to[p->all[i].to] = i + 1;
	}
	for (uint32_t i = 0; i < p->count; i++)
		if (!p->readers[p->all[i].to])
			p->queue[p->tail++] = i;
}

static void end_edge(struct parallel *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		p->by_to[p->all[i].to] = 0;
}

/* The first assignment, not done yet, that takes the value of a tensor: there is one. */
static struct assignment *reader_of(const struct parallel *p, uint32_t tensor)
{
	uint32_t i = 0;

	while (p->all[i].done || p->all[i].from != tensor)
		i++;
	return &p->all[i];
}

/*
 * Copy what an edge carries of a group, each value when that of the name it is carried to is not
 * needed any more, so that its bytes can be taken. Where the values go round, one is put aside
 * first.
 */
static int copy_edge(const struct npuplan_copy_search *search, uint32_t edge, struct parallel *p,
		     struct npuplan_copy_set *set)
{
	uint32_t left = p->count, first = 0;
	int err = 0;

	begin_edge(p);
	while (left && !err) {
		struct assignment *next;
		uint32_t from;

		if (p->head < p->tail) {
			next = &p->all[p->queue[p->head++]];
			next->done = true;
			left--;
		} else {
			while (p->all[first].done)
				first++;
			next = reader_of(p, p->all[first].to);
		}
		err = add_copy(search, set, edge, next->to);
		from = next->from;
		next->from = NPUMEM_NONE;
		release(p, from);
	}
	end_edge(p);
	return err;
}

static int copy_group(const struct npuplan_copy_search *search, uint32_t group,
		      struct npuplan_copy_set *set)
{
	const struct npuplan_graph *graph = search->tiled;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct parallel p = {
		.all = npuplan_pool_take(&pool, graph->carry_count, sizeof(*p.all)),
		.readers = npuplan_pool_take(&pool, graph->tensor_count, sizeof(*p.readers)),
		.by_to = npuplan_pool_take(&pool, graph->tensor_count, sizeof(*p.by_to)),
		.queue = npuplan_pool_take(&pool, graph->carry_count, sizeof(*p.queue)),
	};
	int err = pool.failed ? -ENOMEM : 0;

	for (uint32_t e = 0; e < graph->edge_count && !err; e++) {
		const struct npumem_edge *edge = &graph->edges[e];
		const struct npumem_carry *carries = &graph->carries[edge->first_carry];

		p.count = 0;
		for (uint32_t i = 0; i < edge->carry_count; i++)
			if (is_copied(search, edge, &carries[i], group))
				p.all[p.count++] = (struct assignment){ .from = carries[i].from,
									.to = carries[i].to };
		err = copy_edge(search, e, &p, set);
	}
	return err;
}

/* ------------------------------------------------------------------ breaks */

/* Try a way to copy values of a group, and note how many instances it leaves. */
static int try_break(struct npuplan_copy_search *search, struct npuplan_groups *groups,
		     uint32_t group, struct npuplan_break *way)
{
	struct npuplan_places places;
	int err;

	way->of_block = npuplan_pool_take(&groups->pool, search->tiled->block_count,
					  sizeof(*way->of_block));
	if (!way->of_block)
		return -ENOMEM;
	places.of_block = way->of_block;
	err = npuplan_copies_try(search, &way->set, group, &places, NULL);
	way->fits = !err && !places.refused;
	return err;
}

static bool is_like(const struct npuplan_copy_search *search, const struct npuplan_break *a,
		    const struct npuplan_break *b)
{
	return a->fits == b->fits &&
	       (!a->fits || !memcmp(a->of_block, b->of_block,
				    search->tiled->block_count * sizeof(*a->of_block)));
}

/* Keep a break, unless one that is there does the same for as many bytes or fewer. */
static void keep_break(const struct npuplan_copy_search *search, struct npuplan_group *group,
		       struct npuplan_break *way)
{
	for (uint32_t i = 0; i < group->break_count; i++) {
		struct npuplan_break *other = &group->breaks[i];

		if (!is_like(search, other, way))
			continue;
		if (other->set.bytes > way->set.bytes) {
			npuplan_free(other->set.list);
			*other = *way;
		} else {
			npuplan_free(way->set.list);
		}
		*way = (struct npuplan_break){ 0 };
		return;
	}
	group->breaks[group->break_count++] = *way;
	*way = (struct npuplan_break){ 0 };
}

/* Try single copies of a group's carries, one for each. */
static int try_singles(struct npuplan_copy_search *search, struct npuplan_groups *groups,
		       struct npuplan_group *group)
{
	const struct npuplan_graph *graph = search->tiled;
	int err = 0;

	for (uint32_t e = 0; e < graph->edge_count && !err; e++) {
		const struct npumem_edge *edge = &graph->edges[e];
		const struct npumem_carry *carries = &graph->carries[edge->first_carry];

		for (uint32_t i = 0; i < edge->carry_count && !err; i++) {
			struct npuplan_break way = { 0 };

			if (!is_copied(search, edge, &carries[i], group->group))
				continue;
			if (group->break_count >= NPUPLAN_MAX_BREAKS - 1 ||
			    search->work >= NPUPLAN_TRIAL_WORK)
				return 0;
			err = add_copy(search, &way.set, e, carries[i].to);
			if (!err)
				err = try_break(search, groups, group->group, &way);
			if (!err && way.fits)
				keep_break(search, group, &way);
			npuplan_free(way.set.list);
		}
	}
	return err;
}

/* Whether values of a group lie elsewhere from one time to the next: else it makes no instance. */
static bool is_moving(const struct npuplan_copy_search *search, const struct npuplan_break *none)
{
	if (!none->fits)
		return true;
	for (uint32_t b = 0; b < search->tiled->block_count; b++)
		if (none->of_block[b] > 1)
			return true;
	return false;
}

static int add_group(struct npuplan_copy_search *search, struct npuplan_groups *groups,
		     uint32_t tensor)
{
	struct npuplan_group *group = &groups->list[groups->count];
	struct npuplan_break none = { 0 }, all = { 0 };
	int err;

	*group = (struct npuplan_group){ .group = tensor };
	err = try_break(search, groups, tensor, &none);
	if (err || !is_moving(search, &none))
		return err;
	groups->count++;
	group->breaks[group->break_count++] = none;
	err = try_singles(search, groups, group);
	if (!err)
		err = copy_group(search, tensor, &all.set);
	if (!err)
		err = try_break(search, groups, tensor, &all);
	group->breaks[group->break_count++] = all;
	return err;
}

static int by_last_break(const void *p, const void *q)
{
	const struct npuplan_group *a = p, *b = q;
	uint64_t x = a->breaks[a->break_count - 1].set.bytes;
	uint64_t y = b->breaks[b->break_count - 1].set.bytes;

	return npuplan_compare(x, y) ?: npuplan_compare(a->group, b->group);
}

int npuplan_groups_find(struct npuplan_copy_search *search, struct npuplan_groups *groups)
{
	const struct npuplan_graph *graph = search->tiled;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	bool *carried = npuplan_pool_take(&pool, graph->tensor_count, sizeof(*carried));
	uint32_t count = 0;
	int err = 0;

	*groups = (struct npuplan_groups){ 0 };
	if (pool.failed)
		return -ENOMEM;
	for (uint32_t e = 0; e < graph->edge_count; e++)
		for (uint32_t i = 0; i < graph->edges[e].carry_count; i++) {
			const struct npumem_carry *carry =
				&graph->carries[graph->edges[e].first_carry + i];
			uint32_t group = search->names.groups[carry->to];

			if (!carried[group] && is_copied(search, &graph->edges[e], carry, group))
				count += carried[group] = true;
		}
	groups->list = npuplan_pool_take(&groups->pool, count, sizeof(*groups->list));
	if (!groups->list)
		return -ENOMEM;
	for (uint32_t t = 0; t < graph->tensor_count && !err; t++)
		if (carried[t])
			err = add_group(search, groups, t);
	if (!err && groups->count > 1)
		qsort(groups->list, groups->count, sizeof(*groups->list), by_last_break);
	return err;
}

void npuplan_groups_fini(struct npuplan_groups *groups)
{
	for (uint32_t g = 0; g < groups->count; g++)
		for (uint32_t i = 0; i < groups->list[g].break_count; i++)
			npuplan_free(groups->list[g].breaks[i].set.list);
	npuplan_pool_free(&groups->pool);
	*groups = (struct npuplan_groups){ 0 };
}

/* ------------------------------------------------------------------ choice */

/*
 * struct choice - a break of each group, for the least bytes
 * @graph: without copies, cut
 * @multiples: per group and block, the instances of the block that the groups before it make
 * @copied: per group and edge, whether the groups before it copy what the edge carries
 * @leaving: per block, number of edges that leave it
 * @blocks, @edges: number of blocks and edges
 * @now, @best: per group, its break
 * @best_bytes, @best_copies: of @best; UINT64_MAX: there is none yet
 * @looked: choices looked at so far
 */
struct choice {
	const struct npuplan_graph *graph;
	const struct npuplan_groups *groups;
	uint64_t *multiples;
	bool *copied;
	uint32_t *leaving;
	uint32_t blocks;
	uint32_t edges;
	uint32_t limit;
	uint32_t *now;
	uint32_t *best;
	uint64_t best_bytes;
	uint32_t best_copies;
	uint32_t looked;
};

/*
 * Instances of the blocks that copies stand in, of those edges that are not alone in leaving
 * theirs.
 */
static uint64_t of_copies(const struct choice *c, uint32_t group, const struct npuplan_break *way)
{
	const bool *before = &c->copied[(size_t)group * c->edges];
	const uint64_t *multiples = &c->multiples[(size_t)(group + 1) * c->blocks];
	bool *after = &c->copied[(size_t)(group + 1) * c->edges];
	uint64_t sum = 0;

	memcpy(after, before, c->edges * sizeof(*after));
	for (uint32_t i = 0; i < way->set.count; i++)
		after[way->set.list[i].edge] = true;
	for (uint32_t e = 0; e < c->edges; e++)
		if (after[e] && c->leaving[c->graph->edges[e].from] > 1)
			sum += multiples[c->graph->edges[e].from];
	return sum;
}

/* Whether the instances are within the limit with one more group's break. */
static bool combine(const struct choice *c, uint32_t group, const struct npuplan_break *way)
{
	const uint64_t *before = &c->multiples[(size_t)group * c->blocks];
	uint64_t *after = &c->multiples[(size_t)(group + 1) * c->blocks], sum = 0;

	for (uint32_t b = 0; b < c->blocks; b++) {
		uint64_t more = way->of_block[b] ? way->of_block[b] : 1;

		after[b] = before[b] / npuplan_gcd(before[b], more) * more;
		sum += after[b];
		if (sum > c->limit)
			return false;
	}
	return sum + of_copies(c, group, way) <= c->limit;
}

static void choose(struct choice *c, uint32_t group, uint64_t bytes, uint32_t copies)
{
	const struct npuplan_group *at = &c->groups->list[group];

	if (bytes > c->best_bytes || (bytes == c->best_bytes && copies >= c->best_copies) ||
	    c->looked++ >= MAX_CHOSEN)
		return;
	if (group == c->groups->count) {
		c->best_bytes = bytes;
		c->best_copies = copies;
		memcpy(c->best, c->now, group * sizeof(*c->best));
		return;
	}
	for (uint32_t i = 0; i < at->break_count; i++) {
		const struct npuplan_break *way = &at->breaks[i];

		if (!way->fits || !combine(c, group, way))
			continue;
		c->now[group] = i;
		choose(c, group + 1, bytes + way->set.bytes, copies + way->set.count);
	}
}

bool npuplan_groups_choose(const struct npuplan_copy_search *search,
			   const struct npuplan_groups *groups, uint32_t limit, uint32_t *picked)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct choice c = {
		.graph = search->tiled,
		.groups = groups,
		.edges = search->tiled->edge_count,
		.blocks = search->tiled->block_count,
		.limit = limit,
		.best = picked,
		.best_bytes = UINT64_MAX,
	};

	if ((groups->count + 1ull) * (c.blocks + c.edges) > MAX_MULTIPLES)
		return false;
	c.now = npuplan_pool_take(&pool, groups->count, sizeof(*c.now));
	c.multiples = npuplan_pool_take(&pool, ((size_t)groups->count + 1) * c.blocks,
					sizeof(*c.multiples));
	c.copied =
		npuplan_pool_take(&pool, ((size_t)groups->count + 1) * c.edges, sizeof(*c.copied));
	c.leaving = npuplan_pool_take(&pool, c.blocks, sizeof(*c.leaving));
	if (pool.failed)
		return false;
	for (uint32_t e = 0; e < c.edges; e++)
		c.leaving[c.graph->edges[e].from]++;
	for (uint32_t b = 0; b < c.blocks; b++)
		c.multiples[b] = 1;
	choose(&c, 0, 0, 0);
	return c.best_bytes != UINT64_MAX;
}
